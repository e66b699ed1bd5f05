"""The protocol of edge types: an edge is a write-time program (paper §2.2, equation 3).

The built-in types in ``edges/`` and the types that users register are written against this one protocol.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from worlddb.log.model.times import FOREVER
from worlddb.reconciler.handler_context import HandlerContext

if TYPE_CHECKING:
    from worlddb.reconciler.reading import Reading


class Insert(Enum):
    """What a handler decided about an edge that is being inserted; to refuse it calls ``ctx.refuse``.

    ``STAGE`` is for ``same_as`` alone: no other edge waits for a decision.
    """

    WRITE = "write"
    STAGE = "stage"


class HandledEdge(NamedTuple):
    """An edge as its handler sees it. Ends and home are worlds of this transaction, times are microseconds.

    ``id`` is empty and ``seq`` 0 while it is being inserted. For its properties ask the context; ``details`` is where
    they are kept. ``key`` is the caller's, and known only while it is being inserted.
    """

    type: str
    source: int
    target: int
    home: int
    valid_from: int
    valid_to: int = FOREVER
    details: int = -1
    key: str | None = None
    id: bytes = b""
    seq: int = 0


class Rewritable(Protocol):
    """What a handler can do to a query: each method returns the changed query.

    A type that is registered may ask for the first three, and only for edges of its own. The last two are for built-in
    types, because what they do would break the containment or the identity of others.
    """

    def hide_closed(self) -> Any:
        """Leave out what is no longer valid, unless the query asks for it."""

    def show_conflicts(self, edge_type: str) -> Any:
        """Report both sides of visible edges of this type with every node they touch."""

    def widen_types(self, edge_type: str) -> Any:
        """Let a filter by type see what is below it along this edge type."""

    def cross_worlds(self, edge_type: str) -> Any:
        """Let a traversal along this edge type leave the world that it is in."""

    def unify_identities(self, edge_type: str) -> Any:
        """Let a query that asks for it see the ends of accepted edges of this type as one."""


Q = TypeVar("Q", bound=Rewritable)


class EdgeHandler(Protocol):
    """An edge type. Handlers are stateless; what they decide depends on the transaction's state alone.

    ``name`` is the edge type, ``version`` a number from 1 up that its author raises when the rules change.
    """

    name: str
    version: int

    def default_valid_from(self, ctx: HandlerContext, source: int, target: int) -> int:
        """Where the edge's validity begins if the caller did not say, in microseconds."""

    def on_insert(self, ctx: HandlerContext, edge: HandledEdge) -> Insert:
        """Enforce the type's laws before the edge is written; may close, chain, stage or refuse."""

    def on_delete(self, ctx: HandlerContext, edge: HandledEdge) -> None:
        """Clean up after the edge was unlinked; may chain or refuse."""

    def on_query_rewrite(self, query: Q) -> Q:
        """Change how queries see the type's edges."""


class QuickHandler(EdgeHandler, Protocol):
    """What a built-in type may have beside the protocol, so that many of its edges are decided quickly."""

    def only_records(self, ctx: Reading, source: int, target: int) -> bool:
        """True if ``on_insert`` of an edge between the two, whatever its validity, would answer ``WRITE`` and do
        nothing else. If false, ``on_insert`` decides."""


class PlainHandler:
    """What edge types have in common: no self-reference, validity from the source's, nothing to clean up.

    A type of one's own may begin with this class, and does not have to.
    """

    name = ""
    version = 1

    def default_valid_from(self, ctx: HandlerContext, source: int, target: int) -> int:
        return ctx.begins(source)

    def on_insert(self, ctx: HandlerContext, edge: HandledEdge) -> Insert:
        if edge.source == edge.target:
            reason = f"{ctx.shown(edge.source)} cannot have a {self.name} edge to itself"
            ctx.refuse("self_reference", reason, "Name two worlds")
        return Insert.WRITE

    def on_delete(self, ctx: HandlerContext, edge: HandledEdge) -> None:
        return None

    def on_query_rewrite(self, query: Q) -> Q:
        return query


class AcyclicHandler(PlainHandler):
    """An edge type that orders its ends strictly: following it never leads back."""

    def on_insert(self, ctx: HandlerContext, edge: HandledEdge) -> Insert:
        super().on_insert(ctx, edge)
        if ctx.reaches(edge.target, edge.source, self.name):
            ctx.refuse(
                f"{self.name}_cycle",
                f"{ctx.shown(edge.source)} {self.name} {ctx.shown(edge.target)} would close a cycle:"
                f" the second already leads to the first",
                "Swap the two, or unlink what leads back if it is wrong",
            )
        return Insert.WRITE
