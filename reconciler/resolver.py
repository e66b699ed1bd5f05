"""The resolver: who a candidate might already be. Its matches only ever stage proposals (paper §3.1).

Here is the exact tier: equal names or aliases, case-folded and normalised, of one type and in one scope.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from worlddb.projections.tables.asof import alias_known, newest_version
from worlddb.projections.tables.names import NO_NAME, name_digest, type_digest
from worlddb.projections.tables.schema import ROOT_NODE
from worlddb.reconciler.commands import Create
from worlddb.reconciler.context import Context
from worlddb.reconciler.references import node_ref

MAX_CONSIDERED = 512
"""How many holders of a name are looked at: of five thousand people with one name, the earliest will do."""


class Match(NamedTuple):
    """The earliest world that the candidate may be, and why."""

    node: int
    evidence: dict[str, Any]


def exact(ctx: Context, command: Create) -> Match | None:
    """The earliest open world of the same type inside the command's world that has its name, or else an alias of it."""
    world = ROOT_NODE if command.world is None else node_ref(ctx, command.world)
    for name in (command.name, *command.aliases):
        digest = name_digest(name)
        if digest == NO_NAME:
            continue
        for considered, (node, _) in enumerate(ctx.tables.named(digest)):
            if considered >= MAX_CONSIDERED:
                break
            if node != ROOT_NODE and _is_candidate(ctx, node, digest, command.type, world):
                return Match(node, {"tier": "exact", "name": name, "score": 1.0})
    return None


def _is_candidate(ctx: Context, node: int, digest: bytes, type_name: str, world: int) -> bool:
    """Open, of the same type, still called so, and inside the scope."""
    row = ctx.tables.node(node)
    seen = newest_version(ctx.tables, node, ctx.draft.seq)
    if row.ended or seen is None or seen.row.type != type_digest(type_name) or not any(seen.row.type):
        return False
    if seen.row.name != digest and not any(
        alias.name == digest and alias_known(alias, ctx.draft.seq) for _, alias in ctx.tables.aliases(node)
    ):
        return False
    return node != world and ctx.inside(node, world)
