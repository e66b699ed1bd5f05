"""The statements that a bundle, or a fork, brings to a world.

Terms keep what stands for them in hashes, so that a world that is new here has the hash that it comes with. What was
ever stated here stays as it is: what was taken back does not come again.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import Protocol

from worlddb.log.model import errors, hashing, ids, times
from worlddb.log.model import events as ev
from worlddb.log.statements import bundled_statements, terms
from worlddb.log.store.bundle_contents import BundledWorld
from worlddb.projections.tables.statements import statement_rows
from worlddb.projections.tables.statements.statement_rows import DEFAULT_GRAPH, Quad
from worlddb.projections.tables.storage.rows import Tables
from worlddb.reconciler.statements.statement_changes import missing


class Blobs(Protocol):
    """The texts that come with a bundle, and their positions in the commit of its import."""

    def text(self, blob: bytes) -> bytes | None:
        """The bytes that came for an id."""

    def position(self, blob: bytes) -> int:
        """The position of a blob under the id that it came with."""

    def of_statements(self, details: bytes, seq: int) -> int:
        """The position of the source of statements, with where they come from."""


def events(tables: Tables, node: int | None, world: BundledWorld, blobs: Blobs) -> Iterator[ev.Stated]:
    """What a world is told to state and never did here; ``node`` is ``None`` if it is new.

    Raises:
        InvalidBundle: something that is said is no statement.
        LimitExceeded: the world would have too many terms.
    """
    if not world.stated:
        return
    arriving = _Arriving(tables, node, world, blobs)
    yield from arriving.terms()
    yield from arriving.statements()


class _Arriving:
    def __init__(self, tables: Tables, node: int | None, world: BundledWorld, blobs: Blobs) -> None:
        self._tables, self._node, self._world, self._blobs = tables, node, world, blobs
        self._lineage = world.frame.lineage
        known = [] if node is None else list(statement_rows.terms_of(tables, node))
        self._known = {row.identity: number for number, row in known}
        self._last = self._first_new = 1 + (known[-1][0] if known else DEFAULT_GRAPH)
        self._made: dict[str, int] = {}
        self._checked: set[str] = set()
        self._numbers = [DEFAULT_GRAPH]
        self._texts: list[str | None] = [""]

    def terms(self) -> Iterator[ev.Stated]:
        """The terms that are new here, by the texts in which they stand."""
        for frame in self._world.terms:
            texts = bundled_statements.texts_of(self._blobs.text(frame.details), frame.seq)
            new = [0] * (frame.places[-1] + 1)
            for place in frame.places:
                text = None if texts is None else texts[place]
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
                details = self._blobs.position(frame.details)
                yield ev.Stated(self._lineage, details, new, [], times.ALWAYS, times.FOREVER)
        if self._last > statement_rows.MAX_TERMS:
            raise errors.LimitExceeded(f"{ids.short(self._lineage)} would have too many terms", "Leave some out")

    def _number(self, identity: bytes, text: str | None) -> int | None:
        found = self._known.get(identity)
        if found is not None or text is None:
            return found
        here = None if self._node is None else statement_rows.number_of(self._tables, self._node, text)
        return self._made.get(text) if here is None else here

    def statements(self) -> Iterator[ev.Stated]:
        """The statements, each in the windows in which it never was stated here."""
        for frame in self._world.stated:
            window = times.Interval(frame.valid_from, frame.valid_to)
            lacking: dict[times.Interval, list[Quad]] = defaultdict(list)
            for told in ev.quads_of(frame.quads):
                self._check(told)
                subject, predicate, object_, graph = (self._numbers[number] for number in told)
                quad = subject, predicate, object_, graph
                if self._node is None or max(quad) >= self._first_new:
                    lacking[window].append(quad)
                    continue
                held = statement_rows.matching(self._tables, self._node, quad)
                for piece in missing(held, window):
                    lacking[piece].append(quad)
            for piece, quads in lacking.items():
                details = self._blobs.of_statements(frame.details, frame.seq)
                flat = statement_rows.flat(quads)
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
            raise errors.InvalidBundle(f"{ids.short(self._lineage)} states what is no statement")
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
            raise errors.InvalidBundle(f"{ids.short(self._lineage)} states {errors.shown(text)}, which is no term")
        self._checked.add(text)
