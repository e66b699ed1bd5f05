"""The members and valid texts of one world at any moment, from the rows of the tables as arrays.

The arrays have everything that the world ever contained, at any depth, with all versions. Each line is a rectangle:
between two commits it was known that a version holds, or that a world contains another, between two valid times. So a
view is computed by a few comparisons of whole arrays, at any commit and any valid time, from the same lines.

A view stays the same between two commits that concern the world, and between two times at which something in it begins
or ends by itself: :class:`Stability` gives that period.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from worlddb.log.model import times
from worlddb.projections.tables.reads.asof import Moment
from worlddb.projections.tables.storage import schema, timeline_rows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from worlddb.projections.indexes.vector_rows import Numbers
    from worlddb.projections.tables.storage.rows import Tables

    Mask = NDArray[np.bool_]

LITERAL: Final = 3
"""Stands for the literal of a statement among the texts."""
MAX_CHANGES: Final = 16
"""How many changes of one timeline the arrays have; the tables answer for what was known before those."""

SHALLOW: Final = 12
"""Up to so many levels, all edges are scanned for each, which is quick where there are few levels."""

SUBJECT, KNOWN_FROM, KNOWN_TO, START, END = range(5)
"""The columns of rectangles; containment has the target behind them."""
TARGET: Final = 5

Line = tuple[int, ...]


class Column:
    """Lines of whole numbers that can be appended to; arrays that were handed out never change."""

    def __init__(self, width: int, lines: Numbers | None = None) -> None:
        import numpy as np

        self._room = np.zeros((width, 0), dtype=np.int64) if lines is None else lines
        self._count = int(self._room.shape[1])

    def __len__(self) -> int:
        return self._count

    @property
    def lines(self) -> Numbers:
        """One row for each column of the lines."""
        return self._room[:, : self._count]

    def add(self, lines: Sequence[Line]) -> None:
        """Add some lines."""
        import numpy as np

        if not lines:
            return
        end = self._count + len(lines)
        if end > self._room.shape[1]:
            room = np.zeros((self._room.shape[0], max(end, 2 * self._count)), dtype=np.int64)
            room[:, : self._count] = self.lines
            self._room = room
        self._room[:, self._count : end] = np.array(lines, dtype=np.int64).T
        self._count = end

    def without(self, subjects: Iterable[int]) -> None:
        """Remove the lines of some subjects; arrays that were handed out keep them."""
        import numpy as np

        gone = np.isin(self.lines[SUBJECT], np.fromiter(subjects, dtype=np.int64))
        if gone.any():
            self._room = self.lines[:, ~gone]
            self._count = int(self._room.shape[1])


class Stability(NamedTuple):
    """The half-open period of valid times around a moment in which a view stays the same."""

    start: int
    end: int


class VersionChoice(NamedTuple):
    """Which versions of a world a view chooses: by default the valid one.

    ``span``: those valid in it, throughout or at some instant. ``earlier``: also those valid before the valid one.
    ``ended``: of a world without a valid version the newest one, with ``earlier`` all.
    """

    ended: bool = False
    earlier: bool = False
    span: tuple[int, int] | None = None
    throughout: bool = False


class Moments:
    """The rectangles of one world."""

    def __init__(self, top: int) -> None:
        self.top = top
        self.nodes = Column(1)
        """The worlds that were ever inside, the top first; the other arrays refer to them by their places."""
        self.texts = Column(4)
        """For each version the place of its world, its number, its commit, and 1 for a text, 2 for an empty one; for
        each literal of a statement the same, and :data:`LITERAL`."""
        self.holding = Column(5)
        """The rectangles of versions and literals, by their place in ``texts``."""
        self.containing = Column(7)
        """The rectangles of containment, by the places of container and member, with the number of the edge last."""
        self.complete_from = 0
        """The commit from which on everything is here."""

    # -- what a moment sees

    def inside(self, moment: Moment, within: int = 0) -> tuple[Mask, Stability]:
        """Which worlds lie inside the one at a place (by default the top), and how long that stays so."""
        import numpy as np

        count = len(self.nodes)
        lines = self.containing.lines
        known = _known_at(lines, moment.seq)
        now = known & (lines[START] <= moment.valid) & (moment.valid < lines[END])
        stay = _stable_period(lines, known, moment.valid)
        sources, targets = lines[SUBJECT][now], lines[TARGET][now]
        found = np.zeros(count, dtype=bool)
        found[within] = True
        reached = 1
        for _ in range(SHALLOW):
            found[targets[found[sources]]] = True
            before, reached = reached, int(np.count_nonzero(found))
            if reached == before:
                break
        else:
            found = _reachable_places(sources, targets, count, within)
        found[within] = False
        return found, stay

    def seen(self, moment: Moment, choice: VersionChoice, inside: Mask) -> tuple[Mask, Stability]:
        """Which texts of the worlds inside a view chooses at a moment, and how long that stays so."""
        import numpy as np

        texts, lines = self.texts.lines, self.holding.lines
        known = _known_at(lines, moment.seq)
        stay = _stable_period(lines, known, moment.valid)
        start, end = choice.span or (moment.valid, moment.valid + 1)
        if choice.throughout:
            fits = known & (lines[START] <= start) & (end <= lines[END])
        else:
            fits = known & (np.maximum(lines[START], start) < np.minimum(lines[END], end))
        chosen = np.zeros(texts.shape[1], dtype=bool)
        chosen[lines[SUBJECT][fits]] = True
        if choice.span is None and (choice.ended or choice.earlier):
            chosen = self._others(moment, choice, chosen)
        chosen &= inside[texts[0]] & (texts[3] > 0)
        literals = texts[3] == LITERAL
        if literals.any():
            # The literals of a world count where one of its versions does.
            shown = np.zeros(len(self.nodes), dtype=bool)
            shown[texts[0][chosen & ~literals]] = True
            chosen &= shown[texts[0]] | ~literals
        return chosen, stay

    def _others(self, moment: Moment, choice: VersionChoice, valid: Mask) -> Mask:
        """The chosen versions with the valid ones, where a view also chooses others."""
        import numpy as np

        nodes, _, seqs, _ = self.texts.lines
        known_texts = (seqs <= moment.seq) & (self.texts.lines[3] != LITERAL)
        if choice.ended and choice.earlier:
            every: Mask = known_texts | valid
            return every
        has_valid = np.zeros(len(self.nodes), dtype=bool)
        has_valid[nodes[valid & (self.texts.lines[3] != LITERAL)]] = True
        if choice.earlier:
            lines = self.holding.lines
            before = _known_at(lines, moment.seq) & (lines[START] <= moment.valid) & (lines[START] < lines[END])
            chosen = np.zeros(len(valid), dtype=bool)
            chosen[lines[SUBJECT][before]] = True
            chosen &= has_valid[nodes] & (self.texts.lines[3] != LITERAL)
            return chosen | valid
        # Of the versions of a world, the one that was written last has the highest number.
        newest = np.zeros(len(self.nodes), dtype=np.int64)
        np.maximum.at(newest, nodes[known_texts], self.texts.lines[1][known_texts])
        valid |= known_texts & ~has_valid[nodes] & (self.texts.lines[1] == newest[nodes])
        return valid

    # -- reading the tables

    def add_containment(self, lines: list[Line], edges: set[int]) -> None:
        """Add rectangles of containment, replacing those of some edges."""
        if edges and len(self.containing):
            self._drop_edges(edges)
        self.containing.add(lines)

    def _drop_edges(self, edges: set[int]) -> None:
        import numpy as np

        lines = self.containing.lines
        gone = np.isin(lines[6], np.fromiter(edges, dtype=np.int64))
        if gone.any():
            self.containing = Column(7, lines[:, ~gone])

    def raise_complete_from(self, seq: int) -> None:
        """Note that the arrays lack something that was known before a commit."""
        self.complete_from = max(self.complete_from, seq)


def _reachable_places(sources: Numbers, targets: Numbers, count: int, within: int) -> Mask:
    """Places that can be reached from one, level by level, in time linear in the number of edges at any depth."""
    import numpy as np

    order = np.argsort(sources, kind="stable")
    sources, targets = sources[order], targets[order]
    begins = np.searchsorted(sources, np.arange(count + 1))
    found = np.zeros(count, dtype=bool)
    level = np.array([within], dtype=np.int64)
    while len(level):
        firsts, counts = begins[level], begins[level + 1] - begins[level]
        at = np.repeat(firsts - np.cumsum(counts) + counts, counts) + np.arange(int(counts.sum()))
        level = np.unique(targets[at])
        level = level[~found[level]]
        found[level] = True
    return found


def _known_at(lines: Numbers, seq: int) -> Mask:
    found: Mask = (lines[KNOWN_FROM] <= seq) & (seq < lines[KNOWN_TO])
    return found


def _stable_period(lines: Numbers, known: Mask, valid: int) -> Stability:
    """The period around a valid time in which no known line begins or ends."""
    import numpy as np

    start, end = times.ALWAYS, times.FOREVER
    for bounds in (lines[START], lines[END]):
        is_past = bounds <= valid
        start = max(start, int(np.max(bounds, where=known & is_past, initial=times.ALWAYS)))
        end = min(end, int(np.min(bounds, where=known & ~is_past, initial=times.FOREVER)))
    return Stability(start, end)


def edge_lines(
    tables: Tables, place: schema.EdgePlace, row: schema.EdgeRow, source: int, target: int
) -> Iterator[tuple[Line, int]]:
    """The rectangles of a containment, each with the commit from which on they are complete."""
    line = timeline_rows.Place(timeline_rows.OF_EDGE, place.edge)
    until = _bounded_seq(row.unlinked)
    if not row.closed:
        yield (source, row.seq, until, row.valid_from, row.valid_to, target, place.edge), 0
        return
    for number, since, to, span, complete in _rectangles(tables, line):
        if number == timeline_rows.HOLDS and since < until:
            yield (source, since, min(to, until), *span, target, place.edge), complete


def version_lines(
    tables: Tables, node: int, versions: Sequence[tuple[int, schema.VersionRow]], texts: dict[int, int]
) -> Iterator[tuple[Line, int]]:
    """The rectangles of all versions of a world, at their places in ``texts``, each with the commit from which on they
    are complete."""
    there = False
    if len(versions) > 1 or versions[0][1].closed:
        line = timeline_rows.Place(timeline_rows.OF_LINEAGE, node)
        for number, since, to, span, complete in _rectangles(tables, line):
            there = True
            if number not in timeline_rows.NO_VERSION:
                yield (texts[number], since, to, *span), complete
    if not there:
        for number, row in versions:
            yield (texts[number], row.seq, _bounded_seq(schema.LIVE), row.valid_from, row.valid_to), 0


def _rectangles(tables: Tables, place: timeline_rows.Place) -> Iterator[tuple[int, int, int, tuple[int, int], int]]:
    """Number, first commit, commit behind the last, span, and from which commit on all of them are told."""
    every = timeline_rows.changes(tables.timelines, place, _bounded_seq(schema.LIVE))
    changes = every[-MAX_CHANGES:]
    complete = changes[0] if len(every) > len(changes) else 0
    open_since: dict[tuple[int, int, int], int] = {}
    for commit in changes:
        line = timeline_rows.steps(tables.timelines, place, commit) or []
        there = {(piece.number, *piece.span) for piece in timeline_rows.pieces(line)}
        for gone in open_since.keys() - there:
            yield gone[0], open_since.pop(gone), commit, gone[1:], complete
        for fresh in there - open_since.keys():
            open_since[fresh] = commit
    for (number, start, end), since in open_since.items():
        yield number, since, _bounded_seq(schema.LIVE), (start, end), complete


def statement_line(text: int, since: int, until: int, valid_from: int, valid_to: int) -> Line:
    """The rectangle of a statement, by the place of its literal among the texts."""
    return text, since, _bounded_seq(until), valid_from, valid_to


def _bounded_seq(number: int) -> int:
    """A number of a commit as the arrays have it: what is without an end has the highest there."""
    return min(number, 2**63 - 1)
