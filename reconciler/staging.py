"""What another look at who is who has found, staged as proposals: what somebody has decided about stays decided."""

from __future__ import annotations

from worlddb.log.model import events as ev
from worlddb.projections.tables.apply.log_marks import reclustered_through
from worlddb.reconciler import commands as cmd
from worlddb.reconciler.context import Context


def is_apart(ctx: Context, one: int, other: int) -> bool:
    """True if somebody said that a pair is two, by rejecting or undoing, and nothing about it has changed since."""
    latest = ctx.proposal(one, other)
    return latest is not None and latest.status in ("rejected", "undone") and not latest.changed


def is_settled(ctx: Context, one: int, other: int) -> bool:
    """True if a pair waits for somebody to decide, or was decided, so that it is not to be proposed unasked."""
    latest = ctx.proposal(one, other)
    return latest is not None and (latest.status in ("pending", "accepted") or not latest.changed)


def stage_found(ctx: Context, command: cmd.Recluster) -> None:
    """Decide what a reclustering proposes: what still may be, unless another one has come further meanwhile."""
    if reclustered_through(ctx.tables) != command.after or command.through > ctx.draft.head.seq:
        return
    for one, other, evidence in command.items:
        nodes = [ctx.tables.node_of(lineage) for lineage in (one, other)]
        if None in nodes or any(ctx.tables.node(node).ended for node in nodes if node is not None):
            continue
        earlier, later = sorted(node for node in nodes if node is not None)
        if not is_settled(ctx, later, earlier):
            ctx.stage(later, earlier, evidence=evidence)
    if command.through > command.after:
        ctx.draft.emit(ev.Reclustered(command.through))
