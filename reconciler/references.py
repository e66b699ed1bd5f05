"""References inside commands: ids, prefixes, and the results of earlier commands of the same batch."""

from __future__ import annotations

from worlddb.log.model.errors import UnknownReference
from worlddb.projections.tables.reads.lookup import find_edge, find_node, find_node_or_edge, find_proposal
from worlddb.reconciler.commands import Ref
from worlddb.reconciler.context import Context


def node_ref(ctx: Context, ref: Ref) -> int:
    """The node that a reference stands for; raises as :func:`find_node`."""
    settled = _settled(ctx, ref)
    # A writer knows all that is stored, so for a full id the number is enough.
    node = ctx.tables.node_of(settled) if type(settled) is bytes else None
    return find_node(ctx.tables, settled, ctx.draft.seq) if node is None else node


def edge_ref(ctx: Context, ref: Ref) -> bytes:
    """The id of the edge that a reference stands for."""
    return find_edge(ctx.tables, _settled(ctx, ref), ctx.draft.seq)


def node_or_edge_ref(ctx: Context, ref: Ref) -> int | bytes:
    """A node number or an edge id."""
    return find_node_or_edge(ctx.tables, _settled(ctx, ref), ctx.draft.seq)


def proposal_ref(ctx: Context, ref: Ref) -> bytes:
    """The id of the proposal that a reference stands for."""
    return find_proposal(ctx.tables, _settled(ctx, ref), ctx.draft.seq)


def _settled(ctx: Context, ref: Ref) -> bytes | str:
    """A position in the batch becomes the id that its command came to."""
    if not isinstance(ref, int):
        return ref
    if not 0 <= ref < len(ctx.draft.refs):
        raise UnknownReference(
            f"Command {len(ctx.draft.refs)} of the batch refers to command {ref}, which is not before it",
            "Refer to earlier commands only",
        )
    return ctx.draft.refs[ref]
