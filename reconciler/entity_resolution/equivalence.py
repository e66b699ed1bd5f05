"""Equivalence classes of worlds, made by accepted ``same_as`` edges and edges of unifying registered types.

They are read as of the commit that is being decided. Proposals of a reclustering are staged here; decided pairs stay
decided.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import NoReturn

from worlddb.log.model import events as ev
from worlddb.projections.tables.apply.apply import erasure_of
from worlddb.projections.tables.apply.log_marks import reclustered_through
from worlddb.projections.tables.storage import rows, schema
from worlddb.reconciler.commands import commands as cmd
from worlddb.reconciler.transaction.context import Context

Reached = dict[int, int]
"""The members of a class; for each the member from which it was reached, itself where the search began."""


def refuse_joined_strangers(ctx: Context, row: schema.ProposalRow) -> None:
    """Refuse to accept a proposal whose class would hold a pair that was rejected."""
    mine, theirs = class_of(ctx, row.source), class_of(ctx, row.target)
    for one, other in _rejected_pairs(ctx, mine | theirs):
        if one in theirs and other in mine:
            one, other = other, one
        if one in mine and other in theirs:
            _refuse(ctx, one, other, [*reversed(_path(mine, one)), *_path(theirs, other)])


def refuse_joined_by_types(ctx: Context, decided: Sequence[ev.AnyEvent]) -> None:
    """Refuse edges, or a registration, of a type that makes worlds one if a rejected pair would be in one class."""
    if not (unifying_types := ctx.scopes.unifying_types()):
        return
    ends: set[int] = set()
    for event in decided:
        if isinstance(event, ev.Linked) and event.type in unifying_types:
            ends.update(node for node in map(ctx.tables.node_of, (event.source, event.target)) if node is not None)
        elif isinstance(event, ev.Registered) and event.type in unifying_types:
            staged = (ctx.tables.proposal(found.proposal) for found in rows.proposals_by_pair(ctx.tables))
            ends.update(row.source for row in staged if row is not None and row.status == schema.REJECTED)
    refuse_joined(ctx, sorted(ends))


def refuse_joined(ctx: Context, ends: Iterable[int]) -> None:
    """Refuse if the class of one of these worlds now contains a rejected pair."""
    met: set[int] = set()
    for end in ends:
        if end not in met:
            members = class_of(ctx, end)
            met.update(members)
            for one, other in _rejected_pairs(ctx, members):
                _refuse(ctx, one, other, _join_paths(_path(members, one), _path(members, other)))


def refuse_if_joined(ctx: Context, row: schema.ProposalRow) -> None:
    """Refuse to reject a pair that other accepted proposals make one."""
    mine = class_of(ctx, row.source)
    if row.target in mine:
        chain = " = ".join(ctx.shown(node) for node in _path(mine, row.target))
        ctx.refuse(
            "joined_by_others",
            f"{ctx.shown(row.source)} and {ctx.shown(row.target)} are the same by the chain {chain}",
            "First undo one of the accepted proposals in the chain, or unlink one of its edges",
        )


def class_of(ctx: Context, start: int, within: Callable[[int], bool] | None = None) -> Reached:
    """The class of a world, with the path to each member; ``within`` limits it to edges with such homes."""
    reached, pending = {start: start}, [start]
    for node in pending:
        for end, home in _unified_neighbours(ctx, node):
            if end not in reached and (within is None or (within(end) and within(home))):
                reached[end] = node
                pending.append(end)
    return reached


def _unified_neighbours(ctx: Context, node: int) -> Iterator[tuple[int, int]]:
    """The worlds that an edge unifies with a world, each with the edge's home."""
    code = ctx.tables.type_code("same_as")
    yield from ((row.target, row.home) for _, row in ctx.tables.outgoing(node, code) if row.unlinked == schema.LIVE)
    known = ctx.tables.incoming(node, code, known_after=ctx.draft.seq)
    yield from ((place.source, row.home) for place, row in known)
    for name in ctx.scopes.unifying_types():
        edges = (*ctx.edges(node, name), *ctx.edges(node, name, incoming=True))
        there = (edge for edge in edges if ctx.scopes.unifies(name, edge.home))
        yield from ((edge.source if edge.target == node else edge.target, edge.home) for edge in there)


def _rejected_pairs(ctx: Context, members: Collection[int]) -> Iterator[tuple[int, int]]:
    """The pairs of members whose latest decision is a rejection, ordered by world."""
    for one, other, proposal in rows.latest_proposals_among(ctx.tables, sorted(members)):
        row = ctx.tables.proposal(proposal)
        if row is not None and row.status == schema.REJECTED:
            yield one, other


def _join_paths(one: list[int], other: list[int]) -> list[int]:
    """The path from the end of one path to the end of another with the same start."""
    shared = 0
    while shared < min(len(one), len(other)) and one[shared] == other[shared]:
        shared += 1
    return [*reversed(one[shared - 1 :]), *other[shared:]]


def _path(reached: Reached, node: int) -> list[int]:
    """The path from the start of the search to a member."""
    path = [node]
    while reached[path[-1]] != path[-1]:
        path.append(reached[path[-1]])
    return path[::-1]


def _refuse(ctx: Context, one: int, other: int, chain: list[int]) -> NoReturn:
    told = " = ".join(ctx.shown(node) for node in chain)
    ctx.refuse(
        "joins_rejected_pair",
        f"{ctx.shown(one)} and {ctx.shown(other)} were rejected as the same, and this would join them by the "
        f"chain {told}",
        "Undo a link of the chain, or propose the rejected pair again and accept it first",
    )


def is_apart(ctx: Context, one: int, other: int) -> bool:
    """True if a pair was rejected or undone, and neither side has changed since."""
    latest = ctx.proposal(one, other)
    return latest is not None and latest.status in ("rejected", "undone") and not latest.changed


def is_settled(ctx: Context, one: int, other: int) -> bool:
    """True if a pair is pending or was decided, so that it is not proposed again unasked."""
    latest = ctx.proposal(one, other)
    return latest is not None and (latest.status in ("pending", "accepted") or not latest.changed)


def _is_erased(ctx: Context, node: int) -> bool:
    """True of a world whose newest text is gone."""
    return erasure_of(ctx.tables, node) is not None and ctx.body(node) is None


def stage_reclustered(ctx: Context, command: cmd.Recluster) -> None:
    """Stage the proposals of a reclustering that still apply: none about what was erased since it looked.

    None are staged if another reclustering has come further.
    """
    if reclustered_through(ctx.tables) != command.after or command.through > ctx.draft.head.seq:
        return
    for one, other, evidence in command.items:
        nodes = [ctx.tables.node_of(lineage) for lineage in (one, other)]
        if None in nodes or any(ctx.has_ended(node) or _is_erased(ctx, node) for node in nodes if node is not None):
            continue
        earlier, later = sorted(node for node in nodes if node is not None)
        if not is_settled(ctx, later, earlier):
            ctx.propose(later, earlier, evidence=evidence)
    if command.through > command.after:
        ctx.draft.emit(ev.Reclustered(command.through))
