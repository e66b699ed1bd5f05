"""Find fresh summaries, which reads show in place of the details that they sum up (paper §6).

A summary is fresh if the witness that it was written with equals that of its world's content, at the view's moment and
as known to the view. Checking reads every member once. Verdicts are cached between reads and follow the log; while
nothing inside a world has changed, only its hash is read. Larger batches of new verdicts are also written to disk for
the next process, as are those at the end of a consolidation.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Final, NamedTuple

from worlddb.log.model import events as ev
from worlddb.log.model.blobs import IMPORTED
from worlddb.projections.tables.consolidation import interior_witness as witness
from worlddb.projections.tables.consolidation.interior_witness import Verdict
from worlddb.projections.tables.reads import asof
from worlddb.projections.tables.reads.table_reads import TableReads
from worlddb.projections.tables.storage import schema
from worlddb.query.reads.window import Window
from worlddb.query.snapshot import visible
from worlddb.query.snapshot.snapshot import Snapshot

if TYPE_CHECKING:
    from worlddb.projections.indexes.composed_vectors import CompositionFolder

MAX_KEPT: Final = 200_000
MAX_AT_HAND: Final = 16_384
"""Of how many worlds the summary's rows are kept, too, for the next reads of the same commit: a kilobyte each."""
MAX_EVENTS: Final = 20_000
"""After more events what is kept is forgotten rather than brought up to date."""
WORTH_KEEPING: Final = 64
"""From how many new ones on, and a tenth of all, what was found is written down."""

_TOGETHER: Final = 512
"""Of how many worlds rows are looked up together."""

_OF_A_WORLD: Final = (ev.Closed, ev.Lost, ev.Ended, ev.Voided, ev.Erased, ev.Expires, ev.Deprecated, ev.Pinned)
"""What changes what holds inside a world, or is seen there, and not its hash."""
_OF_AN_EDGE: Final = (ev.EdgeClosed, ev.EdgeLost)
_OF_ALL: Final = (ev.Filled, ev.Imported, ev.Forked, ev.ErasedElsewhere)


class Fresh(NamedTuple):
    """The fresh summary of a world: its node, the version that holds, and the edge by which the world contains it."""

    node: int
    seen: asof.SeenVersion
    place: schema.EdgePlace
    row: schema.EdgeRow


class KnownVerdict(NamedTuple):
    """A cached verdict on a world's summary.

    ``is_as_found``: its hash is known to be the same, and ``fresh`` has the rows of its summary if they are at hand.
    """

    verdict: Verdict
    is_as_found: bool
    fresh: Fresh | None


class FreshSummaryCache:
    """A cache of verdicts on the summaries of the whole store, by world. Thread-safe."""

    def __init__(self, place: "CompositionFolder") -> None:
        self._guard = Lock()
        self._through = 0
        self._fresh: dict[int, Verdict] = {}
        self._made_of: dict[int, int] = {}
        """The world of each summary that was found fresh at some time."""
        self._as_found: dict[int, Fresh | None] = {}
        """The worlds whose hash is, after the last commit that was followed, that of what was found of them; with the
        rows of the summary, if somebody has read them since."""
        self._place: Final = place
        self._is_loaded = False
        self._new = 0

    def at(self, snapshot: Snapshot, worlds: Iterable[int], moment: asof.Moment) -> dict[int, KnownVerdict]:
        """The cached verdicts on some worlds in which nothing but perhaps the hash has changed since."""
        with self._guard:
            if not self._is_loaded:
                self._load(snapshot, moment.seq)
            self._follow(snapshot, moment.seq)
            if moment.seq < self._through:
                return {}
            found = ((world, self._fresh.get(world)) for world in worlds)
            return {
                world: KnownVerdict(verdict, world in self._as_found, self._as_found.get(world))
                for world, verdict in found
                if verdict is not None and verdict.start <= moment.valid < verdict.end
            }

    def keep_as_found(self, world: int, verdict: Verdict, seq: int, fresh: Fresh | None = None) -> None:
        """Cache that a world's hash as of a commit is the verdict's, and the rows of its summary."""
        with self._guard:
            if seq == self._through and self._fresh.get(world) == verdict:
                at_hand = fresh if len(self._as_found) < MAX_AT_HAND else None
                self._as_found[world] = at_hand or self._as_found.get(world)

    def made_of(self, node: int) -> int | None:
        """The world that a summary was found to be a fresh one of, at some time."""
        return self._made_of.get(node)

    def keep(self, world: int, verdict: Verdict, seq: int) -> None:
        """Cache a verdict as of a commit, unless a later one is cached."""
        with self._guard:
            if seq == self._through:
                if len(self._fresh) >= MAX_KEPT:
                    self._fresh.clear()
                    self._made_of.clear()
                self._fresh[world] = verdict
                self._as_found[world] = None
                self._made_of[verdict.node] = world
                self._new += 1

    def write(self) -> None:
        """Write the cache to the disk if much of it is new. Must be called outside of transactions."""
        with self._guard:
            if self._new < max(WORTH_KEEPING, len(self._fresh) // 10):
                return
            self._new, seq, fresh = 0, self._through, dict(self._fresh)
        # Loaded once there is much to write: it knows the text index, and most reads need neither.
        from worlddb.query.consolidation import kept_verdicts

        kept_verdicts.write(self._place, seq, fresh)

    def _load(self, snapshot: Snapshot, seq: int) -> None:
        """Load the verdicts on disk; a read of the past leaves that to reads of the present."""
        if seq != snapshot.log.head().seq:
            return
        self._is_loaded = True
        if not self._place.folder.exists():
            return
        from worlddb.query.consolidation import kept_verdicts

        found = kept_verdicts.load(self._place, snapshot.log)
        if found is not None and found.marker.seq >= self._through:
            self._through, self._fresh = found.marker.seq, found.fresh
            self._made_of = {verdict.node: world for world, verdict in found.fresh.items()}

    def _follow(self, snapshot: Snapshot, seq: int) -> None:
        log, tables = snapshot
        if seq <= self._through:
            return
        self._as_found.clear()
        left = MAX_EVENTS
        for commit in range(self._through + 1, seq + 1) if self._fresh else ():
            left -= log.header(commit).event_count
            if left < 0:
                self._fresh.clear()
            if not self._fresh:
                break
            for event in log.events(commit).events:
                if isinstance(event, _OF_ALL):
                    self._fresh.clear()
                elif isinstance(event, _OF_A_WORLD):
                    node = tables.node_of(event.lineage)
                    self._forget([] if node is None else [node], tables.containers)
                elif isinstance(event, _OF_AN_EDGE):
                    place = tables.place_of(event.edge)
                    ends = [] if place is None or place.type != schema.CONTAINS_CODE else [place.source]
                    self._forget(ends, tables.containers)
        self._through = seq

    def _forget(self, nodes: list[int], above: Callable[[int], Iterable[int]]) -> None:
        """Drop the verdicts on worlds and on all of their containers."""
        passed = set(nodes)
        for node in nodes:
            self._fresh.pop(node, None)
            further = [each for each in above(node) if each not in passed]
            passed.update(further)
            nodes += further


class Summaries:
    """The summaries that one read may put in the place of details, each looked up once."""

    def __init__(self, snapshot: visible.VisibleSnapshot) -> None:
        self._snapshot = snapshot
        self._own_secret = b""
        self._known: dict[int, Fresh | None] = {}
        # What is found where some worlds are left out, to see what would be said then, is true of that read alone.
        self._kept = None if snapshot.excluded.nodes else snapshot.shared_cache(FreshSummaryCache)
        self._shows_all = snapshot.shows != visible.BY_DEFAULT
        self.stale: set[int] = set()
        """The summaries that were found to be stale."""

    @property
    def _secret(self) -> bytes:
        if not self._own_secret:
            self._own_secret = self._snapshot.secret()
        return self._own_secret

    def of(self, world: int) -> Fresh | None:
        """The fresh summary of a world; ``None`` if it has none, or a stale one."""
        if world not in self._known:
            self._known[world] = None if self._shows_all else self._find_fresh(world)
        return self._known[world]

    def of_each(self, worlds: Sequence[int]) -> list[Fresh | None]:
        """As :meth:`of`, of many worlds, for which rows are looked up together."""
        new = () if self._shows_all else [world for world in worlds if world not in self._known]
        for begin in range(0, len(new), _TOGETHER):
            self._known.update(self._cached_summaries(new[begin : begin + _TOGETHER]))
        return list(map(self.of, worlds))

    def is_fresh(self, node: int, seen: asof.SeenVersion) -> bool:
        """True of a summary that consolidation made and that is fresh: what it rests on holds, and need not be read."""
        if seen.row.type != witness.SUMMARY_TYPE:
            return False
        world = None if self._kept is None else self._kept.made_of(node)
        if world is not None and world not in self._known and self._is_kept(world, node, seen.number):
            return True
        world = self.made_of(node)
        found = None if world is None else self.of(world)
        return found is not None and (found.node, found.seen.number) == (node, seen.number)

    def filter_fresh(self, found: Mapping[int, asof.SeenVersion]) -> set[int]:
        """Those of some worlds of which :meth:`is_fresh` is true; what was found before is asked together."""
        short = {node: seen for node, seen in found.items() if seen.row.type == witness.SUMMARY_TYPE}
        kept, whole = self._kept, self._snapshot.whole
        if not short or kept is None or whole is None or self._shows_all:
            return {node for node, seen in short.items() if self.is_fresh(node, seen)}
        worlds = {node: world for node in short if (world := kept.made_of(node)) is not None}
        known = kept.at(whole, worlds.values(), self._snapshot.place.moment)
        same = {
            (each.verdict.node, each.verdict.version)
            for world, each in known.items()
            if each.is_as_found and world not in self._known
        }
        return {node for node, seen in short.items() if (node, seen.number) in same or self.is_fresh(node, seen)}

    def _is_kept(self, world: int, node: int, number: int) -> bool:
        """True if a version of a summary that is seen was found to be the fresh one of a world, and is still."""
        snapshot = self._snapshot
        moment = snapshot.place.moment
        if self._kept is None or snapshot.whole is None or self._shows_all:
            return False
        kept = self._kept.at(snapshot.whole, (world,), moment).get(world)
        if kept is None or (kept.verdict.node, kept.verdict.version) != (node, number):
            return False
        return self._is_as_found(world, kept)

    def _is_as_found(self, world: int, kept: KnownVerdict) -> bool:
        """True if the hash of a world is that of its cached verdict."""
        seq = self._snapshot.place.moment.seq
        if kept.is_as_found:
            return True
        is_same = kept.verdict.hashed == _last_hash_seq(self._snapshot.tables, world, seq)
        if is_same and self._kept is not None:
            self._kept.keep_as_found(world, kept.verdict, seq)
        return is_same

    def made_of(self, node: int) -> int | None:
        """The world that consolidation made a summary of; ``None`` if it did not make it, as of nearly all."""
        seen = asof.newest_version(self._snapshot.tables, node, self._snapshot.place.moment.seq)
        if seen is None or seen.row.type != witness.SUMMARY_TYPE:
            return None
        tables, moment = self._snapshot.tables, self._snapshot.place.moment
        for place, _ in tables.incoming(node, schema.CONTAINS_CODE, known_by=moment.seq):
            if witness.summary_node(tables, self._secret, place.source) == node:
                return place.source
        return None

    def is_fresh_import(self, node: int, seen: asof.SeenVersion) -> bool | None:
        """Whether an imported summary of another store's consolidation matches the worlds here; ``None`` for others."""
        snapshot = self._snapshot
        told = snapshot.details(seen.row.seq, seen.row.details)
        if IMPORTED not in told.source or told.source.get("by") != witness.AUTHOR:
            return None
        worlds = set(snapshot.containers(node))
        inside = {self._interiors.of(world).witness for world in worlds}
        return told.properties.get(witness.WITNESS) in inside

    def _cached_summaries(self, worlds: Sequence[int]) -> dict[int, Fresh]:
        """The fresh summaries of some worlds that an earlier check found and that are still fresh."""
        snapshot = self._snapshot
        if self._kept is None or snapshot.whole is None:
            return {}
        tables, moment = snapshot.tables, snapshot.place.moment
        kept = self._kept.at(snapshot.whole, worlds, moment)
        if snapshot.hides_any:
            kept = {world: each for world, each in kept.items() if not snapshot.hides(each.verdict.node)}
        found = {world: each.fresh for world, each in kept.items() if each.fresh is not None}
        new = {world: each for world, each in kept.items() if each.fresh is None}
        nodes = [each.verdict.node for each in new.values()]
        edges = tables.edges_of_each(nodes, (schema.CONTAINS_CODE,), incoming=True, known_by=moment.seq)
        for (world, each), seen in zip(new.items(), asof.versions_at(tables, nodes, moment), strict=True):
            node, version = each.verdict.node, each.verdict.version
            if seen is None or seen.number != version or seen.row.type != witness.SUMMARY_TYPE:
                continue
            placed = (edge for edge in edges.get(node) or () if edge[0].source == world)
            inside = next((edge for edge in placed if asof.edge_seen(tables, *edge, moment)), None)
            if inside is not None and self._is_as_found(world, each):
                found[world] = fresh = Fresh(node, seen, *inside)
                self._kept.keep_as_found(world, each.verdict, moment.seq, fresh)
        return found

    @cached_property
    def _interiors(self) -> witness.Interiors:
        """What worlds contain, without what marks hide, if there are any."""
        snapshot, marks = self._snapshot, None
        if snapshot.has_marks or snapshot.excluded.nodes:
            marks = witness.Marks(snapshot.hides, snapshot.deadline, snapshot.store_tables)
        return witness.Interiors(snapshot.tables, snapshot.place.moment, marks)

    def _find_fresh(self, world: int) -> Fresh | None:
        snapshot = self._snapshot
        tables, moment = snapshot.tables, snapshot.place.moment
        kept = None
        if self._kept is not None and snapshot.whole is not None:
            kept = self._kept.at(snapshot.whole, (world,), moment).get(world)
        node = witness.summary_node(tables, self._secret, world) if kept is None else kept.verdict.node
        if node is None or tables.node(node).created > moment.seq or snapshot.hides(node):
            return None
        seen = asof.version_at(tables, node, moment)
        if seen is None or seen.row.type != witness.SUMMARY_TYPE:
            return None
        into = tables.incoming(node, schema.CONTAINS_CODE, known_after=moment.seq, known_by=moment.seq)
        placed = ((place, row) for place, row in into if place.source == world)
        inside = next((each for each in placed if asof.edge_seen(tables, *each, moment)), None)
        if inside is None:
            return None
        fresh = Fresh(node, seen, *inside)
        if kept is not None and kept.verdict.version == seen.number and self._is_as_found(world, kept):
            return fresh
        now = self._interiors.of(world)
        if snapshot.details(seen.row.seq, seen.row.details).properties.get(witness.WITNESS) != now.witness:
            self.stale.add(node)
            return None
        if self._kept is not None:
            hashed = _last_hash_seq(tables, world, moment.seq)
            self._kept.keep(world, Verdict(node, seen.number, hashed, now.start, now.end), moment.seq)
        return fresh


def _last_hash_seq(tables: TableReads, world: int, seq: int) -> int:
    """The commit that gave a world its last hash as of a commit; 0 if none did."""
    stored = tables.hash_row(world, seq)
    return 0 if stored is None else stored[0]


def judge_summaries(window: Window) -> None:
    """Find out of every summary whether it is fresh, so that the reads after a consolidation need not."""
    with window.snapshot() as snapshot:
        summaries = summaries_in(snapshot)
        for node, _ in snapshot.tables.typed(witness.SUMMARY_TYPE):
            world = summaries.made_of(node)
            if world is not None:
                summaries.of(world)
    window.keep()


def summaries_in(snapshot: visible.VisibleSnapshot) -> Summaries:
    """The summaries of one read, made once."""
    return snapshot.once(Summaries)


def summaries_of_containers(snapshot: visible.VisibleSnapshot, node: int) -> Iterator[Fresh]:
    """The fresh summaries of the worlds that contain a node directly, in log order."""
    summaries = summaries_in(snapshot)
    for container in snapshot.containers(node):
        found = summaries.of(container)
        if found is not None and found.node != node:
            yield found
