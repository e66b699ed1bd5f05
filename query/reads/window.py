"""The window of a view: its moment, its outermost world and its edge rules.

It also opens the transactions and the indexes of the view. :class:`Windows` pins a window at a moment that a caller
names: it chooses the commit and the edge rules in force then.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence, Set
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from worlddb.log.model import errors, limits, times
from worlddb.log.model.clock import Clock, Entropy, now_of
from worlddb.projections.tables.apply.settings import registered
from worlddb.projections.tables.reads.asof import Moment, OpenSpace
from worlddb.projections.tables.storage.schema import ROOT_NODE
from worlddb.query.lanes.text_lane import ExactTextLane, PresentTextLane, TextLane, WorldTextLane
from worlddb.query.lanes.vector_lane import SeenVectors, VectorLane, VectorQuery, WorldVectors
from worlddb.query.reads.store_facts import bookmarked_commit
from worlddb.query.snapshot import edge_rules, valid_period, visible
from worlddb.query.snapshot.snapshot import InteriorCache, Snapshot, SnapshotSource

if TYPE_CHECKING:
    from worlddb.projections.indexes.composed_vectors import ComposedFollower
    from worlddb.projections.indexes.kept_worlds import WorldCache
    from worlddb.projections.indexes.world_index import WorldView

MAX_KEPT: Final = 100_000
"""For how many nodes a confined view caches whether they are inside; beyond that the cache is cleared."""


_MAX_STANDING_KEYS: Final = 64
"""For how many keys a view caches standing instructions."""
ErasuresSeen = tuple[int, int | None]
"""How often the data file was found replaced, and the erasure whose bytes still lie in files."""


class _ViewCache(NamedTuple):
    """The caches of a view; they are valid until the next erasure.

    ``lanes`` and ``vectors`` are the exact indexes of a confined view; ``standing`` are the worlds with standing
    instructions, by the key of the search.
    """

    erasures: ErasuresSeen
    lanes: dict[valid_period.Choice, ExactTextLane]
    vectors: dict[tuple[int, valid_period.Choice], SeenVectors]
    standing: dict[Hashable, tuple[int, ...]]


class Reader(SnapshotSource, Protocol):
    """Opens short read transactions on a store, and its indexes."""

    interiors: InteriorCache
    """The cache of interiors."""
    worlds: WorldCache
    """The cached indexes of worlds with confined views."""
    store_id: bytes
    entropy: Entropy
    """Where the keys of receipts come from."""

    def erasures(self) -> tuple[int, int | None]:
        """How often the data file was found replaced, and the erasure whose bytes still lie in files."""

    @property
    def generation(self) -> int:
        """How often the data file was found replaced, as an erasure does at its end."""

    def head(self) -> int:
        """The sequence number of the last commit."""

    def present(self, now: int) -> int:
        """The present time; within a block of reads one that notes how long they stay the same."""

    def text_lane(self, head: int) -> PresentTextLane:
        """The text index, up to ``head``."""

    def vector_query(self, text: str, spaces: Sequence[OpenSpace]) -> VectorQuery | str:
        """The text as a vector of the first space whose model is here, or why there is none."""

    def why_no_vector(self, spaces: Sequence[OpenSpace]) -> str:
        """Why there can be no vector of a text in any of the spaces, without asking a model; ``""`` if there can."""

    def given_vector(self, values: Sequence[float], spaces: Sequence[OpenSpace]) -> VectorQuery | str:
        """A caller's vector in the first of some spaces, or in words why there is none.

        Raises:
            InputError: it has another number of numbers than they have.
        """

    def composed(self, space: int, dimension: int, pool: str) -> ComposedFollower:
        """The composed embeddings of the store's present in a space."""

    def vector_lane(self, query: VectorQuery, before: int | None, head: int) -> VectorLane:
        """The vector index of a query's space up to ``head``; with ``before``, of lower worlds."""

    def pending_vectors(self, snapshot: Snapshot, space: int | None) -> int:
        """How many texts have no vector in a space, or in the one that answers, up to a bound."""

    def wake_embedding(self) -> None:
        """Wake the background thread: texts without a vector were found, perhaps written by another process."""

    @property
    def on_hits(self) -> Callable[[Any], object]:
        """Called with what each recall has found."""


class Window:
    """Opens a transaction for each read of a view, as far as its place may see.

    The view keeps it, and does not hand it out.
    """

    def __init__(
        self,
        reader: Reader,
        place: visible.Place,
        built_in: edge_rules.Spec,
        spec: edge_rules.Spec,
        *,
        unify: bool = False,
        shows: visible.Shown = visible.BY_DEFAULT,
    ) -> None:
        self.shows = shows
        """What is shown although reads leave it out by default."""
        self._excluded = visible.NONE_EXCLUDED
        self.reader = reader
        self.place = place
        self.spec = spec
        self.unify = unify
        """True if the worlds of one identity are seen as one."""
        self._built_in = built_in
        self._cache: _ViewCache | None = None
        self._inside: dict[int, bool] = {}
        self._also_at: Moment | None = None

    def narrowed(self, top: int) -> Window:
        """The same moment, from inside a world."""
        inner = self._copy(self.place._replace(top=top))
        with inner.snapshot() as snapshot:
            inner.spec = edge_rules.spec_of(self._built_in, snapshot.registered(), self.spec.codes)
        return inner

    def for_users(self, users: frozenset[str]) -> Window:
        """The same window without what belongs to other users than these alone; for fewer, if it was for some."""
        before = self.place.users
        made = self._copy(self.place._replace(users=users if before is None else users & before))
        made._also_at = self._also_at
        return made

    def at_valid(self, valid: int) -> Window:
        """The same window at another valid time."""
        place = self.place._replace(moment=self.place.moment._replace(valid=valid))
        return self._copy(place)

    def revealing(self, *, expired: bool = True, deprecated: bool = False) -> Window:
        """The same window, which also shows expired worlds, or deprecated ones."""
        before = self.shows
        shown = self._copy(self.place, visible.Shown(before.expired or expired, before.deprecated or deprecated))
        shown._also_at = self._also_at
        return shown

    def _copy(self, place: visible.Place, shows: visible.Shown | None = None) -> Window:
        shown = self.shows if shows is None else shows
        made = Window(self.reader, place, self._built_in, self.spec, unify=self.unify, shows=shown)
        made._excluded = self._excluded
        return made

    def excluding(self, nodes: frozenset[int], *, unindexed: bool) -> Window:
        """The same window without some worlds; ``unindexed``: their texts do not count in statistics either."""
        without = self._copy(self.place)
        without._excluded = visible.ExcludedWorlds(nodes, unindexed and bool(nodes))
        without._also_at = self._also_at
        return without

    def at(self, moment: Moment) -> Window:
        """The same window at an earlier moment. A confined one shows what is inside at both moments."""
        earlier = self._copy(self.place._replace(moment=moment))
        earlier._also_at = self.place.moment
        with earlier.snapshot() as snapshot:
            earlier.spec = edge_rules.spec_of(self._built_in, snapshot.registered(), self.spec.codes)
        return earlier

    @contextmanager
    def snapshot(self) -> Iterator[visible.VisibleSnapshot]:
        """One short read transaction, restricted to what the window may see."""
        if len(self._inside) > MAX_KEPT:
            self._inside = {}
        with self.reader.snapshot() as snapshot:
            seen = visible.VisibleSnapshot(
                snapshot,
                self.place,
                self._inside,
                also_at=self._also_at,
                interiors=self.reader.interiors,
                shows=self.shows,
                excluded=self._excluded,
            )
            try:
                yield seen
            finally:
                # The caches of a read refer to its snapshot; cleared here, they need no garbage collector.
                seen.release()

    def present_lane(self, head: int) -> PresentTextLane:
        """The text index of the whole store, up to its ``head``."""
        return self.reader.text_lane(head)

    def present_vectors(self, snapshot: visible.VisibleSnapshot, query: VectorQuery, head: int) -> VectorLane:
        """The vector index of the whole store, of worlds that the moment's commit knew.

        Without that limit the nearest vectors would be those of later worlds, the more the earlier the moment is.
        """
        before = None if self.place.moment.seq >= head else snapshot.worlds_known()
        return self.reader.vector_lane(query, before, head)

    def exact_lane(self, snapshot: visible.VisibleSnapshot, choice: valid_period.Choice) -> TextLane:
        """The texts of precisely what is visible.

        For a confined view they come from the world's cached index (:mod:`worlddb.projections.indexes.world_index`).
        If that does not apply, as for a moment within another moment, they are indexed anew. A confined view caches
        this index, except for periods, of which there may be any number. An erasure discards it.
        """
        known = self.use_kept_world(snapshot, choice)
        if known is not None:
            return WorldTextLane(known.seen, self.place.moment.seq)
        lanes = self._cache_for(snapshot).lanes
        lane = lanes.get(choice)
        if lane is None:
            lane = ExactTextLane(snapshot, choice)
            if self.place.is_confined and choice.period is None:
                lanes[choice] = lane
        return lane

    def exact_vectors(
        self, snapshot: visible.VisibleSnapshot, space: int, dimension: int, choice: valid_period.Choice
    ) -> SeenVectors | WorldVectors:
        """The vectors of precisely what is visible; cached as :meth:`exact_lane` is."""
        near = snapshot.kept_vectors(self.reader.worlds, self.reader.generation, choice, space, dimension)
        if near is not None:
            return WorldVectors(near)
        key, vectors = (space, choice), self._cache_for(snapshot).vectors
        seen = vectors.get(key)
        if seen is None:
            seen = SeenVectors(snapshot, space, dimension, choice)
            if self.place.is_confined and choice.period is None:
                vectors[key] = seen
        return seen

    def standing(
        self, snapshot: visible.VisibleSnapshot, asked: Hashable, find: Callable[[], tuple[int, ...]]
    ) -> tuple[int, ...]:
        """The worlds with standing instructions that ``find`` returns, cached by the key ``asked``."""
        kept = self._cache_for(snapshot).standing
        found = kept.get(asked)
        if found is None:
            if len(kept) >= _MAX_STANDING_KEYS:
                kept.clear()
            found = kept[asked] = find()
        return found

    def use_kept_world(self, snapshot: visible.VisibleSnapshot, choice: valid_period.Choice) -> WorldView | None:
        """Give a confined snapshot the members in its world's cached index, and return that index."""
        return snapshot.kept_world(self.reader.worlds, self.reader.generation, choice)

    def keep(self) -> None:
        """Write the caches of this view, or those of the whole store, to disk. Call it outside of transactions."""
        if self.place.is_confined:
            self.reader.worlds.keep(self.place.top, self.reader.erasures)
        else:
            for each in self.reader.interiors.kept.values():
                each.write()

    def _cache_for(self, snapshot: visible.VisibleSnapshot) -> _ViewCache:
        """The caches of the view, or empty ones if texts were erased since.

        A thread that is still in a transaction from before an erasure goes on with the old caches.
        """
        seen, kept = (self.reader.generation, snapshot.erasure_due()), self._cache
        if kept is None or kept.erasures != seen:
            kept = self._cache = _ViewCache(seen, {}, {}, {})
        return kept


HandlerCodes = Set[tuple[str, int, bytes]]
"""Type, version and digest of the edge handlers that a process has."""


class IngestPoint(NamedTuple):
    """A caller's moment on the ingest axis: a time, a commit or a bookmark; with none, the head."""

    ingested: times.TimeLike | None
    seq: int | None
    bookmark: str | None

    def given_name(self) -> str:
        """The name of the argument that was given; empty for the head.

        Raises:
            InputError: more than one was.
        """
        given = [name for name, moment in zip(self._fields, self, strict=True) if moment is not None]
        if len(given) > 1:
            raise errors.InputError(f"Both {given[0]} and {given[1]} were given", "Give one of them")
        return given[0] if given else ""

    def commit(self, snapshot: Snapshot) -> int:
        """The last commit at the moment.

        Raises:
            InputError: there is no such commit.
            UnknownReference: there is no such bookmark.
        """
        log = snapshot.log
        head = log.head().seq
        if self.ingested is not None:
            return log.seq_at(times.parse_time(self.ingested, "ingested"))
        if self.bookmark is not None:
            return bookmarked_commit(snapshot, self.bookmark, head)
        if self.seq is None:
            return head
        limits.checked_number(self.seq, "seq", -limits.HIGHEST_SEQ, limits.HIGHEST_SEQ)
        if not 0 <= self.seq <= head:
            raise errors.InputError(f"There is no commit {self.seq}", f"The store has commits 1 to {head}")
        return self.seq


class Windows:
    """Pins windows on one open store. ``codes`` tells which edge handlers the process has."""

    def __init__(self, reader: Reader, clock: Clock, built_in: edge_rules.Spec, codes: HandlerCodes) -> None:
        self._reader = reader
        self._clock = clock
        self._built_in = built_in
        self._codes = codes
        self._newest: tuple[int, edge_rules.Spec] | None = None

    def at(self, known: IngestPoint, valid: times.TimeLike | None, *, unify: bool) -> tuple[Window, int]:
        """The window at a moment, and when that moment was on the ingest axis.

        ``valid`` defaults to the time of a given moment, else to now.
        """
        is_past = bool(known.given_name())
        with self._reader.snapshot() as snapshot:
            at = known.commit(snapshot)
            ingested = snapshot.log.header(at).ingest_time if at else 0
            spec = self._spec_at(snapshot, at)
        if known.ingested is not None:
            ingested = times.parse_time(known.ingested, "ingested")
        default = ingested if is_past else max(now_of(self._clock), ingested)
        true_at = default if valid is None else times.parse_time(valid, "valid")
        if valid is None and not is_past:
            true_at = self._reader.present(default)
        place = visible.Place(Moment(at, true_at), ROOT_NODE)
        return Window(self._reader, place, self._built_in, spec, unify=unify), ingested

    def _spec_at(self, snapshot: Snapshot, seq: int) -> edge_rules.Spec:
        """How queries see edges at a commit; cached until a new registration or handler."""
        changed, codes = snapshot.tables.last_registration(), self._codes
        if seq < changed:
            return edge_rules.spec_of(self._built_in, registered(snapshot.tables, seq), frozenset(codes))
        newest = self._newest
        if newest is None or newest[0] != changed or newest[1].codes != codes:
            newest = changed, edge_rules.spec_of(self._built_in, registered(snapshot.tables, seq), frozenset(codes))
            self._newest = newest
        return newest[1]
