"""The protocol of edge types: an edge is a write-time program (paper §2.2, equation 3)."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from worlddb.log.model.times import FOREVER

if TYPE_CHECKING:
    from worlddb.reconciler.context import Context


class Insert(Enum):
    """What a handler decided about an edge that is being inserted; to refuse it calls ``ctx.refuse``."""

    WRITE = "write"
    STAGE = "stage"


class Edge(NamedTuple):
    """An edge as its handler sees it. Ends are node numbers of this transaction's tables."""

    type: str
    source: int
    target: int
    home: int
    valid_from: int
    valid_to: int = FOREVER
    details: int = -1
    key: str | None = None
    id: bytes = b""


class Rewritable(Protocol):
    """What a handler can do to a query: each method returns the changed query."""

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
    """An edge type. Handlers are stateless; what they decide depends on the transaction's state alone."""

    name: str
    version: int

    def default_valid_from(self, ctx: Context, source: int, target: int) -> int:
        """Where the edge's validity begins if the caller did not say, in microseconds."""

    def on_insert(self, ctx: Context, edge: Edge) -> Insert:
        """Enforce the type's laws before the edge is written; may close, chain, stage or refuse."""

    def on_delete(self, ctx: Context, edge: Edge) -> None:
        """Clean up after the edge was unlinked; may chain or refuse."""

    def on_query_rewrite(self, query: Q) -> Q:
        """Change how queries see the type's edges."""


class PlainHandler:
    """What edge types have in common: no self-reference, validity from the source's, nothing to clean up."""

    name = ""
    version = 1

    def default_valid_from(self, ctx: Context, source: int, target: int) -> int:
        return ctx.begins(source)

    def on_insert(self, ctx: Context, edge: Edge) -> Insert:
        if edge.source == edge.target:
            ctx.refuse("self_reference", f"{ctx.shown(edge.source)} cannot have a {self.name} edge to itself")
        return Insert.WRITE

    def on_delete(self, ctx: Context, edge: Edge) -> None:
        return None

    def on_query_rewrite(self, query: Q) -> Q:
        return query


class AcyclicHandler(PlainHandler):
    """An edge type that orders its ends strictly: following it never leads back."""

    def on_insert(self, ctx: Context, edge: Edge) -> Insert:
        super().on_insert(ctx, edge)
        if ctx.reaches(edge.target, edge.source, self.name):
            ctx.refuse(
                f"{self.name}_cycle",
                f"{ctx.shown(edge.source)} {self.name} {ctx.shown(edge.target)} would close a cycle:"
                f" the second already leads to the first",
            )
        return Insert.WRITE
