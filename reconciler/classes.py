"""Classes of worlds that accepted ``same_as`` edges make one, as they stand while commands are decided."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn

from worlddb.projections.tables.schema import LIVE, REJECTED, STATUS_NAMES, ProposalRow
from worlddb.reconciler.context import Context

Reached = dict[int, int]
"""The members of a class; for each the member from which it was reached, itself where the search began."""


def refuse_joined_strangers(ctx: Context, row: ProposalRow) -> None:
    """Refuse to accept a proposal whose class would hold two worlds that somebody said are not the same."""
    mine, theirs = _class_of(ctx, row.source), _class_of(ctx, row.target)
    for one in sorted(mine):
        for other in sorted(theirs):
            if _rejected(ctx, one, other):
                _refuse(ctx, one, other, [*reversed(_path(mine, one)), *_path(theirs, other)])


def refuse_if_joined(ctx: Context, row: ProposalRow) -> None:
    """Refuse to reject a pair that accepted proposals make one by way of others."""
    mine = _class_of(ctx, row.source)
    if row.target in mine:
        chain = " = ".join(ctx.shown(node) for node in _path(mine, row.target))
        ctx.refuse(
            "joined_by_others",
            f"{ctx.shown(row.source)} and {ctx.shown(row.target)} are one by the chain {chain}",
            "Undo one of the accepted proposals in the chain first",
        )


def _class_of(ctx: Context, start: int) -> Reached:
    """The class of a world, with the way to each member."""
    reached, pending = {start: start}, [start]
    for node in pending:
        for end in _one_with(ctx, node):
            if end not in reached:
                reached[end] = node
                pending.append(end)
    return reached


def _one_with(ctx: Context, node: int) -> Iterator[int]:
    code = ctx.tables.type_code("same_as")
    yield from (row.target for _, row in ctx.tables.outgoing(node, code) if row.unlinked == LIVE)
    yield from (place.source for place, _ in ctx.tables.incoming(node, code, known_after=ctx.draft.seq))


def _rejected(ctx: Context, one: int, other: int) -> bool:
    """True if the latest word about a pair is that they are two."""
    latest = ctx.proposal(one, other)
    return latest is not None and latest.status == STATUS_NAMES[REJECTED]


def _path(reached: Reached, node: int) -> list[int]:
    """From where the search began to a member."""
    path = [node]
    while reached[path[-1]] != path[-1]:
        path.append(reached[path[-1]])
    return path[::-1]


def _refuse(ctx: Context, one: int, other: int, chain: list[int]) -> NoReturn:
    told = " = ".join(ctx.shown(node) for node in chain)
    ctx.refuse(
        "joins_rejected_pair",
        f"{ctx.shown(one)} and {ctx.shown(other)} were rejected as one, and this would join them by the chain {told}",
        "Undo a link of the chain, or propose the rejected pair again and accept it first",
    )
