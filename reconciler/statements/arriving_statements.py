"""The statements that a bundle, or a fork, brings to a world.

Terms keep what stands for them in hashes, so that a world that is new here has the hash that it comes with. What was
ever stated here stays as it is: what was taken back does not come again. What came from the store of the bundle, and is
not stated there any more as of its commit, is taken back here too.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

from worlddb.log.model import blobs as stored_blobs
from worlddb.log.model import bundle as fr
from worlddb.log.model import codec, errors, hashing, ids, times
from worlddb.log.model import events as ev
from worlddb.log.statements import bundled_statements, terms
from worlddb.log.store.bundle_contents import BundledWorld
from worlddb.log.store.log import LmdbLog
from worlddb.projections.tables.statements import statement_rows
from worlddb.projections.tables.statements.statement_rows import DEFAULT_GRAPH, Quad, Stating
from worlddb.projections.tables.storage import schema
from worlddb.projections.tables.storage.rows import Tables
from worlddb.reconciler.statements.statement_changes import missing


class Blobs(Protocol):
    """The texts that come with a bundle, and their positions in the commit of its import."""

    def text(self, blob: bytes, of: bytes) -> bytes | None:
        """The bytes that came for an id of a world."""

    def position(self, blob: bytes, of: bytes) -> int:
        """The position of a blob of a world under the id that it came with."""

    def strike(self, blob: bytes, places: Iterable[int], of: bytes) -> None:
        """Leave the texts at some places of a world's blob out, before it is given a position."""

    def left_of(self, position: int) -> tuple[list[int], bytes] | None:
        """The places of erased texts in a blob, and the hash of the rest; ``None`` if it is complete."""

    def of_statements(self, details: bytes, seq: int, of: bytes) -> int:
        """The position of the source of statements, with where they come from."""


class Here(NamedTuple):
    """The store that statements arrive in, and the heading of their bundle."""

    log: LmdbLog
    tables: Tables
    heading: fr.Heading


def events(here: Here, node: int | None, world: BundledWorld, blobs: Blobs) -> Iterator[ev.StatementEvent | ev.Struck]:
    """The events that state what a bundle brings for a world and retract what it no longer has; ``node`` is ``None``
    for a new world.

    Raises:
        InvalidBundle: something that is said is no statement.
        LimitExceeded: the world would have too many terms.
    """
    if not world.stated and (node is None or not statement_rows.has_statements(here.tables, node)):
        return
    arriving = _Arriving(here, node, world, blobs)
    yield from arriving.terms()
    yield from arriving.retracted()
    yield from arriving.statements()


class _Said(NamedTuple):
    """The store that said something first, and its commit."""

    store: str
    seq: int

    def follows(self, other: "_Said | None") -> bool:
        """Whether the same store said this later."""
        return other is not None and other.store == self.store and other.seq < self.seq


def _said_first(stored: bytes | None, seq: int) -> _Said | None:
    """What the details of commit ``seq`` say of an import; ``None`` if they say nothing."""
    found = None if stored is None else codec.decode_blob(stored, seq)
    for record in (found.source, found.properties) if isinstance(found, stored_blobs.Details) else ():
        origin = stored_blobs.first_origin_in(record)
        if origin is not None:
            return _Said(str(origin["store"]), int(origin["seq"]))
    return None


class _Arriving:
    def __init__(self, here: Here, node: int | None, world: BundledWorld, blobs: Blobs) -> None:
        self._log, self._tables, self._heading = here
        self._node, self._world, self._blobs = node, world, blobs
        self._lineage = world.frame.lineage
        known = [] if node is None else list(statement_rows.terms_of(self._tables, node))
        self._known = {row.identity: number for number, row in known}
        self._erased = {row.identity for _, row in known if row.digest == statement_rows.NO_DIGEST}
        self._last = self._first_new = 1 + (known[-1][0] if known else DEFAULT_GRAPH)
        self._made: dict[str, int] = {}
        self._checked: set[str] = set()
        self._said: dict[tuple[int, int], _Said | None] = {}
        self._numbers = [DEFAULT_GRAPH]
        self._texts: list[str | None] = [""]

    def _gone(self) -> set[str]:
        """The texts that come with terms whose texts were erased here, and that were not stated again."""
        if self._node is None or not self._erased:
            return set()
        gone: set[str] = set()
        for frame in self._world.terms:
            texts = bundled_statements.texts_of(self._blobs.text(frame.details, self._lineage), frame.seq) or []
            gone.update(
                texts[place]
                for place in frame.places
                if place < len(texts) and hashing.term_identity(frame.details, place) in self._erased
            )
        return {text for text in gone if text and statement_rows.number_of(self._tables, self._node, text) is None}

    def terms(self) -> Iterator[ev.StatementEvent | ev.Struck]:
        """The terms that are new here, by the texts in which they stand. What was erased here does not come again."""
        gone = self._gone()
        for frame in self._world.terms:
            texts = bundled_statements.texts_of(self._blobs.text(frame.details, self._lineage), frame.seq)
            if texts is not None and not gone.isdisjoint(texts):
                places = [place for place, text in enumerate(texts) if text in gone]
                self._blobs.strike(frame.details, places, self._lineage)
                texts = ["" if text in gone else text for text in texts]
            new = [0] * (frame.places[-1] + 1)
            for place in frame.places:
                text = None if texts is None else texts[place] or None
                identity = hashing.term_identity(frame.details, place)
                number = self._number(identity, text)
                if number is None:
                    number = new[place] = self._known[identity] = self._last
                    self._last += 1
                    if text is not None:
                        self._made[text] = number
                self._numbers.append(number)
                self._texts.append(text)
            if any(new):
                details = self._blobs.position(frame.details, self._lineage)
                yield ev.Stated(self._lineage, details, new, [], times.ALWAYS, times.FOREVER)
                left = self._blobs.left_of(details)
                if left is not None:
                    blob = self._log.head().seq + 1, details
                    yield ev.Struck(self._lineage, [blob], [left[0]], [left[1]], [], ev.NONE)
        if self._last > statement_rows.MAX_TERMS:
            raise errors.LimitExceeded(f"{ids.short(self._lineage)} would have too many terms", "Leave some out")

    def _number(self, identity: bytes, text: str | None) -> int | None:
        found = self._known.get(identity)
        if found is not None or text is None:
            return found
        here = None if self._node is None else statement_rows.number_of(self._tables, self._node, text)
        return self._made.get(text) if here is None else here

    def retracted(self) -> Iterator[ev.StatementEvent]:
        """Retract statements that came from the bundle's store and are no longer in force there, unless others also
        stated them."""
        if self._node is None:
            return
        bundled_frames: dict[Quad, list[fr.StatedFrame]] = defaultdict(list)
        for frame in self._world.stated:
            for quad in ev.quads_of(frame.quads):
                bundled_frames[self._numbered(quad)].append(frame)
        live_statings: dict[Quad, list[Stating]] = defaultdict(list)
        for stating in statement_rows.matching(self._tables, self._node, (None,) * 4):
            if stating.until == schema.LIVE:
                live_statings[stating.quad].append(stating)
        store = self._heading.store_id.hex()
        for quad, statings in live_statings.items():
            origins = [self._said_here(each) for each in statings]
            is_from_bundle = [of is not None and of.store == store and of.seq <= self._heading.seq for of in origins]
            own = [each for each, is_own in zip(statings, is_from_bundle, strict=True) if is_own]
            if own:
                yield from self._ended(quad, own, [each for each in statings if each not in own], bundled_frames[quad])

    def _said_here(self, stating: Stating) -> "_Said | None":
        """Which store was the first to say what was brought here; ``None`` if it was said here."""
        place = stating.origin, stating.details
        if place not in self._said:
            stored = None if stating.details == ev.NONE else self._log.blob(*place)
            self._said[place] = _said_first(stored, stating.origin)
        return self._said[place]

    def _ended(
        self, quad: Quad, own: list[Stating], others: list[Stating], told: list[fr.StatedFrame]
    ) -> Iterator[ev.StatementEvent]:
        gone = [piece for each in own for piece in missing(told, times.Interval(each.valid_from, each.valid_to))]
        # Who takes a quad back takes all behind that back with it, and what others said is not ours to say again.
        after = max((each.valid_to for each in others), default=times.ALWAYS)
        begins = min((piece.start for piece in gone if piece.start >= after), default=None)
        if begins is None:
            return
        yield ev.Unstated(self._lineage, ev.NONE, list(quad), begins)
        for frame in told:
            for each in own:
                start, end = max(begins, each.valid_from, frame.valid_from), min(each.valid_to, frame.valid_to)
                if start < end:
                    details = self._blobs.of_statements(frame.details, frame.seq, self._lineage)
                    yield ev.Stated(self._lineage, details, [], list(quad), start, end)

    def _numbered(self, quad: Quad) -> Quad:
        subject, predicate, object_, graph = (self._numbers[number] for number in quad)
        return subject, predicate, object_, graph

    def statements(self) -> Iterator[ev.Stated]:
        """The statements, each in the windows in which it never was stated here, or was said again since."""
        store = self._heading.store_id.hex()
        for frame in self._world.stated:
            said = _said_first(self._blobs.text(frame.details, self._lineage), frame.seq) or _Said(store, frame.seq)
            window = times.Interval(frame.valid_from, frame.valid_to)
            lacking: dict[times.Interval, list[Quad]] = defaultdict(list)
            for told in ev.quads_of(frame.quads):
                self._check(told)
                quad = self._numbered(told)
                if self._node is None or max(quad) >= self._first_new:
                    lacking[window].append(quad)
                    continue
                held = [
                    each
                    for each in statement_rows.matching(self._tables, self._node, quad)
                    if each.until == schema.LIVE or not said.follows(self._said_here(each))
                ]
                for piece in missing(held, window):
                    lacking[piece].append(quad)
            for piece, quads in lacking.items():
                details = self._blobs.of_statements(frame.details, frame.seq, self._lineage)
                flat = statement_rows.flat_quads(quads)
                yield ev.Stated(self._lineage, details, [], flat, piece.start, piece.end)

    def _check(self, quad: Quad) -> None:
        """See that terms stand where they may."""
        texts = [self._texts[number] for number in quad]
        if None in texts:
            return
        subject, predicate, object_, graph = (text or "" for text in texts)
        is_node = all(
            each.startswith("<") and not each.startswith("<<(") for each in (subject, predicate, graph or "<")
        )
        if not is_node or predicate.startswith(f"<{terms.SKOLEM}"):
            raise errors.InvalidBundle(f"{ids.short(self._lineage)} has a statement that is not one")
        for text in (subject, predicate, object_, graph):
            self._check_term(text)

    def _check_term(self, text: str) -> None:
        if not text or terms.is_plain(text) or text in self._checked:
            return
        try:
            canonical = terms.stored_text(terms.term_of(text))
        except errors.InputError:
            canonical = ""
        if canonical != text:
            raise errors.InvalidBundle(f"{ids.short(self._lineage)} states {errors.shown(text)}, which is not a term")
        self._checked.add(text)
