"""Decide what is stated in a world, and what of it is taken back.

A quad that holds in the window already is not stated again, and one that holds in a part of it only in the rest.
"""

from collections import defaultdict
from collections.abc import Iterable

from worlddb.log.model import bundle as fr
from worlddb.log.model import errors, ids, times
from worlddb.log.model import events as ev
from worlddb.projections.tables.statements import statement_rows
from worlddb.reconciler.commands import commands as cmd
from worlddb.reconciler.transaction import context, draft


def state(ctx: context.Context, command: cmd.State, details: int) -> draft.Decision:
    """State quads; their terms are numbered here, so that a replay that has no texts any more numbers them so too."""
    node = context.node_ref(ctx, command.ref)
    lineage = ctx.lineage(node)
    if node and ctx.body(node) is None:
        ctx.refuse("erased", f"The text of {ids.short(lineage)} was erased", "Create another world")
    begins = ctx.now if command.valid_from is None else command.valid_from
    until = times.FOREVER if command.valid_to is None else command.valid_to
    window = times.checked_interval(begins, until)
    terms, first_new = _numbered(ctx, node, command.aliases)
    named = [*terms, statement_rows.DEFAULT_GRAPH]  # Position -1 is the default graph's.
    quads = dict.fromkeys(ev.quads_of([named[at] for at in command.quads]))
    lacking: dict[times.Interval, list[statement_rows.Quad]] = defaultdict(list)
    for quad in quads:
        if max(quad) >= first_new:
            lacking[window].append(quad)
            continue
        for piece in missing(statement_rows.live(ctx.tables, node, quad), window):
            lacking[piece].append(quad)
    for piece, stated in lacking.items() if window.start < window.end else ():
        event = ev.Stated(lineage, details, terms, statement_rows.flat(stated), piece.start, piece.end)
        ctx.draft.emit(event)
    return draft.Decision(lineage)


def _numbered(ctx: context.Context, node: int, texts: tuple[str, ...]) -> tuple[list[int], int]:
    """The numbers of terms in a world, and the first that is given out here."""
    last = statement_rows.last_term(ctx.tables, node)
    first_new, numbers = last + 1, []
    for text in texts:
        found = statement_rows.number_of(ctx.tables, node, text)
        if found is None:
            found = last = last + 1
        numbers.append(found)
    if last > statement_rows.MAX_TERMS:
        raise errors.LimitExceeded("The world has too many terms", "State the rest in another world")
    return numbers, first_new


def missing(held: Iterable[statement_rows.Stating | fr.StatedFrame], window: times.Interval) -> list[times.Interval]:
    """The parts of a window in which a quad does not hold."""
    left, at = [], window.start
    for start, end in sorted((each.valid_from, each.valid_to) for each in held):
        if end <= at or start >= window.end:
            continue
        if start > at:
            left.append(times.Interval(at, start))
        at = end
    if at < window.end:
        left.append(times.Interval(at, window.end))
    return left


def unstate(ctx: context.Context, command: cmd.Unstate, details: int) -> draft.Decision:
    """Let quads hold no longer; those that do not hold anyway are passed over."""
    node = context.node_ref(ctx, command.ref)
    lineage, at = ctx.lineage(node), times.ALWAYS if command.at is None else command.at
    numbers = [statement_rows.number_of(ctx.tables, node, text) for text in command.aliases]
    named = [*numbers, statement_rows.DEFAULT_GRAPH]
    ending: list[statement_rows.Quad] = []
    for start in range(0, len(command.quads), 4):
        subject, predicate, object_, graph = (named[place] for place in command.quads[start : start + 4])
        if subject is None or predicate is None or object_ is None or graph is None:
            continue
        quad = (subject, predicate, object_, graph)
        if any(each.valid_to > at for each in statement_rows.live(ctx.tables, node, quad)):
            ending.append(quad)
    if ending:
        ctx.draft.emit(ev.Unstated(lineage, details, statement_rows.flat(dict.fromkeys(ending)), at))
    return draft.Decision(lineage)
