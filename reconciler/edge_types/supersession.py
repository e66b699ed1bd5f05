"""Supersession: which worlds end, and which follow, when one statement replaces another.

A statement may begin before the one that it corrects, or replace a world that another one replaces later. Of the worlds
that ``supersedes`` joins at most one holds at a time, in whatever order they were joined. A world that is replaced,
directly or not, does not hold from where its successor begins; of two worlds of which neither replaces the other, the
one that begins later holds.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import ChainMap, defaultdict
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, Self

from worlddb.log.model.times import ALWAYS, FOREVER, Interval
from worlddb.reconciler.edge_types.handler import HandledEdge, HandlerContext

if TYPE_CHECKING:
    from worlddb.projections.tables.storage.transaction import KnownWorlds

SUPERSEDES: Final = "supersedes"
CONTRADICTS: Final = "contradicts"
CONTAINS: Final = "contains"
DERIVED_FROM: Final = "derived_from"
MAX_TOLD: Final = 20
"""How many worlds of each kind a note of a receipt names."""
MAX_CONFLICTS_TOLD: Final = 20
"""How many contradicted worlds are noted when a world ends."""


class Takeover(NamedTuple):
    """The time from which something is taken, and the world that takes it."""

    begins: int
    world: int


class Statement(NamedTuple):
    """A span in which a version of a world holds.

    The order is that of succession: of two statements the one that begins later holds, and of two that begin at one
    time the one that was written later.
    """

    begins: int
    seq: int
    world: int
    span: Interval


class Succession(HandlerContext, Protocol):
    """What a succession needs of a context, beyond :class:`HandlerContext`."""

    @property
    def known_worlds(self) -> KnownWorlds: ...

    def statements_of(self, node: int, /) -> list[Statement]: ...

    def holds_in(self, node: int, windows: Sequence[Interval], /) -> bool: ...

    def starts(self, node: int, /) -> set[int]: ...
    def targets(self, node: int, type_name: str, /) -> list[int]: ...

    def sources(self, node: int, type_name: str, /) -> list[int]: ...

    def lose(self, node: int, window: Interval, /, *, by: bytes = b"") -> bool: ...

    def void(self, node: int, window: Interval, /) -> None: ...
    def times_of(self, edge: HandledEdge, /) -> tuple[Interval, ...]: ...


def has_begun_by(ctx: HandlerContext, world: int, at: int) -> bool:
    """True if a world is valid at some time, and began at or before ``at``."""
    return any(span.start <= at for span in ctx.spans(world))


def earliest_start(ctx: HandlerContext, world: int) -> int | None:
    """The earliest start of validity of a world; ``None`` if it is valid at no time."""
    return min((span.start for span in ctx.spans(world)), default=None)


def end_predecessors(ctx: Succession, world: int, at: int, by: bytes) -> None:
    """End all predecessors of a world, at any remove, no later than ``at``.

    ``at`` is a time before that world began. Its predecessors were closed where it began, so they would now overlap the
    world that begins earlier, whose full reference is ``by``. The search stops at predecessors that had begun by
    ``at``: their own predecessors had ended by then.
    """
    pending, seen = [world], {world}
    for node in pending:
        for edge in list(ctx.edges(node, SUPERSEDES)):
            if edge.target in seen or not _is_in_force(edge):
                continue
            seen.add(edge.target)
            began = has_begun_by(ctx, edge.target, at)
            window = Interval(at, FOREVER)
            note_conflicts_left(ctx, edge.target, window, by)
            if ctx.close(edge.target, at, by=by):
                ctx.note("ends_earlier" if began else "never_valid", ctx.lineage(edge.target))
                note_touched(ctx, edge.target, [window])
            if not began:
                pending.append(edge.target)


def first_takeover(ctx: HandlerContext, world: int, begins: int) -> Takeover:
    """The earliest takeover from a world that begins at ``begins``.

    It is the world itself, or a successor that took its place before it had begun.
    """
    found = Takeover(begins, world)
    pending, seen = [world], {world}
    for node in pending:
        for edge in ctx.edges(node, SUPERSEDES, incoming=True):
            if edge.source in seen or not _is_in_force(edge) or has_begun_by(ctx, node, edge.valid_from):
                continue
            seen.add(edge.source)
            pending.append(edge.source)
            if edge.valid_from < found.begins:
                found = Takeover(edge.valid_from, edge.source)
    return found


def is_joined(ctx: HandlerContext, world: int) -> bool:
    """True if ``supersedes`` joins a world with another one."""
    return next(_supersedes_edges(ctx, world), None) is not None


def replaces_from(ctx: HandlerContext, world: int, at: int) -> bool:
    """True if a ``supersedes`` edge says that a world replaces another exactly from ``at`` on.

    As long as no version of the world begins at that time, both may hold until then.
    """
    return any(edge.valid_from == at for edge in ctx.edges(world, SUPERSEDES))


def _supersedes_edges(ctx: HandlerContext, world: int) -> Iterator[HandledEdge]:
    """The ``supersedes`` edges of a world, in both directions."""
    for incoming in (False, True):
        yield from ctx.edges(world, SUPERSEDES, incoming=incoming)


class JoinedWorlds:
    """Worlds that ``supersedes`` edges join, in either direction, at any distance: all of them, or those known so far.

    A writer caches them between commands (:class:`KnownWorlds`), since there may be thousands. Two worlds that were
    compared are compared again only if the times of one have changed.
    """

    __slots__ = ("changed", "lineages", "moments", "retimed", "spans", "starts", "statements", "when")

    def __init__(self) -> None:
        self.changed: set[int] = set()
        """Worlds to compare with the others again."""
        self.retimed: set[int] = set()
        """Worlds whose versions have changed since they were read; they are compared again too."""
        self.statements: dict[int, list[Statement]] = {}
        self.lineages: dict[int, bytes] = {}
        """The full reference of each."""
        self.starts: dict[int, int] = {}
        """The number of distinct start times of a world's versions."""
        self.when: dict[tuple[int, int], int] = {}
        """From when one world, the newer one, replaces another; ``ALWAYS`` where a version of the newer begins then."""
        self.moments: set[int] = set()
        """The other values of ``when``, and some that were."""
        self.spans = SpanBlocks()

    def __len__(self) -> int:
        return len(self.statements)

    def __iter__(self) -> Iterator[int]:
        return iter(self.statements)

    def read_world(self, ctx: Succession, world: int) -> None:
        """Read the statements of a world and their spans."""
        before, held = self.statements.get(world, []), ctx.statements_of(world)
        if held != before:
            for statement in before:
                self.spans.discard(statement)
            for statement in held:
                self.spans.add(statement)
        self.statements[world] = held
        self.lineages[world] = ctx.lineage(world)
        count = len(ctx.starts(world))
        if self.starts.get(world, count) != count:
            own = [edge for edge in ctx.edges(world, SUPERSEDES) if _is_in_force(edge)]
            for edge in own:
                self.when.pop((world, edge.target), None)
            for edge in own:
                self.add_replacement(ctx, world, edge.target, edge.valid_from)
        self.starts[world] = count

    def add_replacement(self, ctx: Succession, newer: int, older: int, at: int) -> None:
        """Record that one world replaces another from a time on."""
        self.when[newer, older] = begins = min(
            _replacement_start(ctx, newer, at), self.when.get((newer, older), FOREVER)
        )
        if begins != ALWAYS:
            self.moments.add(begins)

    def merge(self, other: Self) -> None:
        """Merge another set that belongs to this one; its worlds are compared on the next :func:`settle`."""
        self.changed |= other.changed
        self.retimed |= other.retimed
        self.changed.update(other.statements)
        for held in other.statements.values():
            for statement in held:
                self.spans.add(statement)
        self.statements |= other.statements
        self.lineages |= other.lineages
        self.starts |= other.starts
        self.when |= other.when
        self.moments |= other.moments


def _replacement_start(ctx: Succession, newer: int, at: int) -> int:
    return ALWAYS if at in ctx.starts(newer) else at


MAX_BLOCK_STATEMENTS: Final = 64


class SpanBlocks:
    """Statements in the order of their spans, in blocks that each know the latest end of their spans."""

    __slots__ = ("_blocks", "_ends", "_firsts")

    def __init__(self) -> None:
        self._blocks: list[list[Statement]] = []
        self._firsts: list[tuple[Interval, int]] = []
        self._ends: list[int] = []

    def add(self, statement: Statement) -> None:
        if not self._blocks:
            self._replace_blocks(0, 0, [[statement]])
            return
        at = self._block_of(statement)
        block = self._blocks[at]
        insort(block, statement, key=_place)
        if len(block) > MAX_BLOCK_STATEMENTS:
            half = len(block) // 2
            self._replace_blocks(at, at + 1, [block[:half], block[half:]])
        else:
            self._firsts[at] = _place(block[0])
            self._ends[at] = max(self._ends[at], statement.span.end)

    def discard(self, statement: Statement) -> None:
        at = self._block_of(statement)
        block = self._blocks[at]
        del block[bisect_left(block, _place(statement), key=_place)]
        if not block:
            self._replace_blocks(at, at + 1, [])
        elif statement.span.end == self._ends[at]:
            self._firsts[at] = _place(block[0])
            self._ends[at] = max([each[3][1] for each in block])
        else:
            self._firsts[at] = _place(block[0])

    def overlapping(self, window: Interval) -> list[Statement]:
        """The statements that hold at some time of a window."""
        begins, ends = window
        found: list[Statement] = []
        for block, ((start, _), _), end in zip(self._blocks, self._firsts, self._ends, strict=True):
            if start >= ends:
                break
            if end > begins:
                # Only the last block that begins in the window has statements that begin behind it.
                some = block if block[-1][3][0] < ends else block[: bisect_left(block, ends, key=_start)]
                # By places, which are found faster than names: this reads more statements than all else here.
                found += [each for each in some if each[3][1] > begins]
        return found

    def _block_of(self, statement: Statement) -> int:
        return max(0, bisect_right(self._firsts, _place(statement)) - 1)

    def _replace_blocks(self, first: int, beyond: int, blocks: list[list[Statement]]) -> None:
        self._blocks[first:beyond] = blocks
        self._firsts[first:beyond] = [_place(block[0]) for block in blocks]
        self._ends[first:beyond] = [max(each.span.end for each in block) for block in blocks]


_place: Final[Callable[[Statement], tuple[Interval, int]]] = itemgetter(
    Statement._fields.index("span"), Statement._fields.index("world")
)
"""The order of spans."""


def _start(statement: Statement) -> int:
    return statement.span.start


def joined(ctx: Succession, world: int) -> JoinedWorlds:
    """The worlds that ``supersedes`` joins with a world, itself included."""
    known = ctx.known_worlds
    joins, known.joins = known.joins, []
    for source, target, when in joins:
        if when.start < when.end == FOREVER:
            _record_join(ctx, source, target, when.start)
    found = _joined_worlds(ctx, world)
    retimed, found.retimed = found.retimed, set()
    for node in retimed:
        found.read_world(ctx, node)
    found.changed |= retimed
    return found


def _record_join(ctx: Succession, source: int, target: int, at: int) -> None:
    """Record that a known world replaces another one, or is replaced."""
    known = ctx.known_worlds.joined
    if source not in known and target not in known:
        return
    for world in (source, target):
        _joined_worlds(ctx, world)
    # Finding one set may have merged it with the other.
    one, other = _joined_worlds(ctx, source), _joined_worlds(ctx, target)
    both = one if one is other else _merge_joined(ctx, [one, other])
    both.add_replacement(ctx, source, target, at)
    both.changed |= {source, target}


def _joined_worlds(ctx: Succession, world: int) -> JoinedWorlds:
    """The cached set of worlds that are joined with one; it is built on the first call."""
    known = ctx.known_worlds.joined.get(world)
    if known is not None:
        assert isinstance(known, JoinedWorlds)
        return known
    new, parts = JoinedWorlds(), dict[int, JoinedWorlds]()
    pending, seen = [world], {world}
    for node in pending:
        for incoming in (False, True):
            for edge in ctx.edges(node, SUPERSEDES, incoming=incoming):
                if not _is_in_force(edge):
                    continue
                other = edge.source if incoming else edge.target
                part = ctx.known_worlds.joined.get(other)
                if part is not None:
                    assert isinstance(part, JoinedWorlds)
                    parts[id(part)] = part
                elif other not in seen:
                    seen.add(other)
                    pending.append(other)
                if not incoming or part is not None:
                    # Any other edge goes out from one of them.
                    new.add_replacement(ctx, edge.source, edge.target, edge.valid_from)
        new.read_world(ctx, node)
        new.changed.add(node)
    ctx.known_worlds.joined.update(dict.fromkeys(new, new))
    return _merge_joined(ctx, [new, *parts.values()])


def _merge_joined(ctx: Succession, parts: list[JoinedWorlds]) -> JoinedWorlds:
    """Merge sets of joined worlds into the largest of them."""
    whole = max(parts, key=len)
    for part in parts:
        if part is not whole:
            whole.merge(part)
            ctx.known_worlds.joined.update(dict.fromkeys(part, whole))
    return whole


def replace(ctx: Succession, source: int, target: int, at: int) -> None:
    """End a world where another one, or an earlier successor of that one, takes its place."""
    begins, first = first_takeover(ctx, source, at)
    by = ctx.lineage(first)
    held = ctx.statements_of(target)
    whole = covers(held, Interval(begins, FOREVER)) and not has_begun_by(ctx, source, begins - 1)
    # A world that held the whole time held alone, except beside worlds that were said to replace it later.
    alone = (
        whole and not is_joined(ctx, source) and not any(e.valid_from > begins for e in _supersedes_edges(ctx, target))
    )
    began = any(each.span.start <= begins for each in held)
    ctx.end(target, begins, by=by)
    note_touched(ctx, target, [Interval(begins, FOREVER)], {source, first})
    if not began:
        end_predecessors(ctx, target, begins, by)
    if not alone:
        settle(ctx, source, target, at)


def settle(ctx: Succession, world: int, target: int | None = None, at: int = ALWAYS) -> None:
    """Make at most one of the worlds that are joined with one hold at a time.

    Where two statements overlap, the one that begins later keeps the common time and the other loses it. Two worlds may
    hold together only until the time from which one was said to replace the other, if that is later than its start.
    With a ``target``, the world is about to replace that from ``at`` on.
    """
    parts = {id(part): part for part in (joined(ctx, each) for each in (world, target) if each is not None)}
    less, more = (sorted(parts.values(), key=len) * 2)[:2]
    asked = {*less.changed, *more.changed, *(less if less is not more else ())}
    when, moments = ChainMap[tuple[int, int], int]({}, more.when, less.when), more.moments | less.moments
    if target is not None:
        asked |= {world, target}
        begins = min(_replacement_start(ctx, world, at), when.get((world, target), FOREVER))
        when[world, target] = begins
        if begins != ALWAYS:
            moments.add(begins)
    lost = _find_losses(_statements_around(asked, [less] if less is more else [less, more]), when, moments)
    for part in parts.values():
        part.changed.clear()
    few, many = less.lineages, more.lineages
    for loser in sorted(lost):
        taken = sorted(lost[loser].items())
        _take_windows(ctx, loser, [(winner, few.get(winner) or many[winner], windows) for winner, windows in taken])


def _take_windows(ctx: Succession, loser: int, losses: Sequence[tuple[int, bytes, list[Interval]]]) -> None:
    """Take from a world the windows that it loses to some others, in the order of their numbers.

    Adjacent windows become one loss, even if several worlds hold in them: their own times tell which holds when. The
    loss names the one of them that was written last.
    """
    contradictions, loser_lineage = _ContradictionsOf(ctx, loser), ctx.lineage(loser)
    for _, by, windows in losses:
        if contradictions.edges:
            for window in windows:
                contradictions.note_left(ctx, window, by)
        ctx.note("until_successor", loser_lineage, by)
    stretches: list[tuple[int, Interval]] = []
    begins = until = last = 0
    for start, end, winner in sorted([(start, end, winner) for winner, _, windows in losses for start, end in windows]):
        if begins < until == start:
            last, until = max(last, winner), end
            continue
        if begins < until:
            stretches.append((last, Interval(begins, until)))
        last, begins, until = winner, start, end
    stretches.append((last, Interval(begins, until)))
    for winner, window in sorted(stretches):
        ctx.lose(loser, window, by=ctx.lineage(winner))
    note_touched(ctx, loser, [window for _, window in stretches], {winner for winner, _, _ in losses})


def _statements_around(worlds: set[int], parts: Sequence[JoinedWorlds]) -> list[Statement]:
    """The statements of some worlds and all statements that overlap them, in the order of time."""
    if len(worlds) * MAX_BLOCK_STATEMENTS > sum(map(len, parts)):
        spans = [
            said.span for part in parts for each in worlds & part.statements.keys() for said in part.statements[each]
        ]
        window = Interval(min((start for start, _ in spans), default=0), max((end for _, end in spans), default=0))
        few = [part.spans.overlapping(window) for part in parts]
        if len(few) == 2 and len(few[0]) == 1:
            # Usually one of the two worlds is not joined with any other yet.
            insort(few[1], few[0][0], key=_place)
            return few[1]
        return few[0] if len(few) == 1 else sorted(chain.from_iterable(few), key=_place)
    overlapping: set[Statement] = set()
    for part in parts:
        for each in worlds & part.statements.keys():
            for statement in part.statements[each]:
                for other in parts:
                    overlapping.update(other.spans.overlapping(statement.span))
    return sorted(overlapping, key=_place)


# As `rows.py` makes its rows: a world may lose hundreds of windows to those that follow each other.
_interval: Final[Callable[[tuple[int, int]], Interval]] = partial(tuple.__new__, Interval)
_LossesByWorld = defaultdict[int, dict[int, list[Interval]]]
"""What each world loses to which others, in the order of time."""


def _find_losses(
    statements: Sequence[Statement], when: Mapping[tuple[int, int], int], moments: set[int]
) -> _LossesByWorld:
    """The windows that statements lose to others, in the order of time; ``when`` changes at some of the ``moments``.

    Without moments, the last of the statements that hold takes all of their common time.
    """
    statements = _overlapping_statements(statements)
    spans = [each.span for each in statements]
    times = sorted(moments.union(chain.from_iterable(spans)))
    lost: _LossesByWorld = defaultdict(dict)
    holding: list[Statement] = []
    following, until = 0, FOREVER
    starts = [*(start for start, _ in spans), FOREVER + 1]
    for begins, ends in pairwise(times):
        if until <= begins:
            holding = [each for each in holding if each[3][1] > begins]
        while starts[following] <= begins:
            holding.append(statements[following])
            following += 1
        if len(holding) < 2:
            until = holding[0].span.end if holding else FOREVER
            continue
        until = ends
        if moments:
            _divide_window(holding, Interval(begins, ends), when, lost)
            continue
        winner = max(holding)
        for each in holding:
            if each is not winner:
                _add_window(lost[each.world], winner.world, begins, ends)
    return lost


def _overlapping_statements(statements: Sequence[Statement]) -> list[Statement]:
    """The statements that overlap another one, in the order of time."""
    found: list[Statement] = []
    before: Statement | None = None
    until = ALWAYS
    for each in statements:
        start, end = each[3]
        if start >= until:
            before, until = each, end
            continue
        if before is not None:
            found.append(before)
            before = None
        found.append(each)
        until = max(until, end)
    return found


def _add_window(lost: dict[int, list[Interval]], winner: int, begins: int, ends: int) -> None:
    """Append a window to those that one world loses to another; an adjacent window extends the last one."""
    windows = lost.get(winner)
    if windows is None:
        lost[winner] = [_interval((begins, ends))]
    elif windows[-1].end == begins:
        windows[-1] = _interval((windows[-1].start, ends))
    else:
        windows.append(_interval((begins, ends)))


def _divide_window(
    holding: list[Statement],
    window: Interval,
    from_when: Mapping[tuple[int, int], int],
    lost: _LossesByWorld,
) -> None:
    """Record which of the statements that hold throughout a window lose it, and to which."""
    stay: list[int] = []
    for each in sorted(holding, reverse=True):
        for winner in stay:
            pairs = (winner, each.world), (each.world, winner)
            if window.start >= max(from_when.get(pair, ALWAYS) for pair in pairs):
                _add_window(lost[each.world], winner, *window)
                break
        else:
            stay.append(each.world)


def settle_unlinked(ctx: Succession, source: int, target: int) -> None:
    """Settle two worlds after the edge between them was unlinked: other edges may still join them."""
    one, other = ctx.statements_of(source), ctx.statements_of(target)
    if any(each.span.overlaps(another.span) for each in one for another in other):
        settle(ctx, source)
        settle(ctx, target)


def covers(statements: Sequence[Statement], window: Interval) -> bool:
    """True if a world's statements cover a window."""
    at = window.start
    for statement in statements:
        if statement.span.start <= at < statement.span.end:
            at = statement.span.end
    return at >= window.end


def predecessors_ended_at_start(ctx: HandlerContext, world: int) -> list[int]:
    """The worlds joined with a world by ``supersedes`` that ended exactly where it begins.

    They are its predecessors and the worlds that held in their place until it begins. If the world becomes valid at no
    time, nothing follows them.
    """
    begins = earliest_start(ctx, world) if is_joined(ctx, world) else None
    found: list[int] = []
    pending, seen = [world] if begins is not None else [], {world}
    for node in pending:
        for edge in _supersedes_edges(ctx, node):
            other = edge.target if edge.source == node else edge.source
            if other in seen or not _is_in_force(edge):
                continue
            seen.add(other)
            pending.append(other)
            if max((span.end for span in ctx.spans(other)), default=None) == begins:
                found.append(other)
    return found


def note_touched(ctx: Succession, world: int, windows: Sequence[Interval], ending: Container[int] = ()) -> None:
    """Note the members of a world that hold in windows in which it does not, and the worlds derived from it.

    But for those that are ``ending``, or take its place.
    """
    if targets := ctx.targets(world, CONTAINS):
        members = (target for target in targets if target not in ending)
        still = (each for each in members if ctx.holds_in(each, windows))
        told = [ctx.lineage(member) for member in islice(still, MAX_TOLD)]
        if told:
            ctx.note("members_remain", ctx.lineage(world), *told)
    note_derived(ctx, world, ending)


def note_derived(ctx: Succession, world: int, ending: Container[int] = ()) -> None:
    """Note the worlds derived from a world that ends or changes."""
    sources = [each for each in ctx.sources(world, DERIVED_FROM) if each != world and each not in ending]
    if len(sources) > MAX_TOLD:
        told = _derived_by_container(
            ctx, world, [edge for edge in derived_edges(ctx, world) if edge.source not in ending]
        )
    else:
        told = list(dict.fromkeys(sources))
    if told:
        ctx.note("now_stale", ctx.lineage(world), *map(ctx.lineage, told))


def derived_edges(ctx: HandlerContext, world: int) -> Iterator[HandledEdge]:
    """The edges by which other worlds are derived from one."""
    return (edge for edge in ctx.edges(world, DERIVED_FROM, incoming=True) if edge.source != world)


def _derived_by_container(ctx: HandlerContext, world: int, derived: Sequence[HandledEdge]) -> list[int]:
    """The worlds derived from a world: the first few inside each of its containers.

    Each container has its own limit, so that a confined view gets the same number whatever is outside.
    """
    around = dict.fromkeys(_with_containers(ctx, world), 0)
    told: dict[int, None] = {}
    for edge in derived:
        inside = _with_containers(ctx, edge.source) & _with_containers(ctx, edge.home) & around.keys()
        if edge.source not in told and any(around[each] < MAX_TOLD for each in inside):
            told[edge.source] = None
            for each in inside:
                around[each] += 1
    return list(told)


def _with_containers(ctx: HandlerContext, world: int) -> set[int]:
    """A world and all its containers, at any depth, including the root."""
    above = {world, ctx.root}
    pending = [world]
    for each in pending:
        fresh = [container for container in ctx.containers(each) if container not in above]
        above.update(fresh)
        pending += fresh
    return above


def note_conflicts_left(ctx: Succession, world: int, window: Interval, by: bytes) -> None:
    """Note the contradictions of a world that end in a window that it is about to lose.

    A contradiction is between two statements that hold, so it ends with either. It is not passed on to the world that
    takes the place, and that world is not noted for a contradiction with itself.
    """
    _ContradictionsOf(ctx, world).note_left(ctx, window, by)


class _ContradictionsOf:
    """The contradictions of a world that is about to lose windows, each read once."""

    def __init__(self, ctx: Succession, world: int) -> None:
        self.edges: list[tuple[HandledEdge, int, bytes]] = []
        for incoming in (False, True):
            for edge in ctx.edges(world, CONTRADICTS, incoming=incoming):
                other = edge.source if incoming else edge.target
                self.edges.append((edge, other, ctx.lineage(other)))
        if self.edges:
            self._lineage = ctx.lineage(world)
            self._held = list(ctx.spans(world))
            self._open: dict[int, list[Interval]] = {}

    def note_left(self, ctx: Succession, window: Interval, by: bytes) -> None:
        """Note the contradictions that end in a window. The other sides must have lost nothing meanwhile."""
        if not self.edges or not _any_overlaps(self._held, window):
            return
        told: dict[int, int] = {}
        for at, (edge, other, lineage) in enumerate(self.edges):
            if lineage == by or told.get(edge.home) == MAX_CONFLICTS_TOLD:
                continue
            pieces = self._open.get(at)
            if pieces is None:
                pieces = self._open[at] = self._spans_in_force(ctx, edge, other)
            if _any_overlaps(pieces, window):
                told[edge.home] = told.get(edge.home, 0) + 1
                ctx.note("conflict_left", self._lineage, lineage)

    def _spans_in_force(self, ctx: Succession, edge: HandledEdge, other: int) -> list[Interval]:
        """The spans in which both sides hold and the contradiction is in force."""
        held = list(ctx.spans(other))
        both = [shared for one in self._held for two in held if not (shared := one.intersect(two)).is_empty]
        said = ctx.times_of(edge) if both else ()
        return [piece for shared in both for one in said if not (piece := shared.intersect(one)).is_empty]


def _any_overlaps(spans: Sequence[Interval], window: Interval) -> bool:
    """True if a span overlaps a window."""
    begins, ends = window
    return any(max(start, begins) < min(end, ends) for start, end in spans)


def _is_in_force(edge: HandledEdge) -> bool:
    """True if an edge is in force from some time on without end; one with an end makes a hole and joins nothing."""
    return edge.valid_from < edge.valid_to == FOREVER
