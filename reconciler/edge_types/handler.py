"""The protocol of edge types: an edge is a write-time program (paper §2.2, equation 3).

Built-in types (``builtin_types.py``) and registered ones implement :class:`EdgeHandler`. Its methods get a
:class:`HandlerContext`, their only way to read the transaction that the edge is written in and to write to it. Worlds
are numbers here, those of the transaction's tables; a number is good for one call of a handler.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Any, Final, NamedTuple, NoReturn, Protocol, TypeVar

from worlddb.log.model.times import FOREVER, Interval


class WorldText(NamedTuple):
    """The type, name and content of a world's newest version."""

    type: str
    name: str
    content: str


class Written(NamedTuple):
    """The result of writing an edge: its id, or the id of the proposal that was staged instead."""

    id: bytes
    staged: bool


class PairProposal(NamedTuple):
    """The latest proposal about a pair of worlds.

    ``changed``: since then one of them has a new version. ``status`` is ``pending``, ``accepted``, ``rejected`` or
    ``undone``.
    """

    id: bytes
    status: str
    changed: bool


class HandlerContext(Protocol):
    """What a handler may read and do inside the transaction that its edge is written in.

    Nothing else can write: what it does goes through the handlers of other types and keeps their laws, and it commits
    with the edge or not at all. Once :meth:`refuse` was called, or a write has failed, the whole commit is off, even if
    the handler goes on.
    """

    @property
    def now(self) -> int:
        """The commit's ingest time, in microseconds."""

    @property
    def author(self) -> str:
        """Who makes the commit, as the log names them."""

    # -- what a handler may read

    @property
    def root(self) -> int:
        """The root world, which contains all others."""

    def begins(self, world: int) -> int:
        """Where the newest version of a world begins to be valid; commit time for the root world."""

    def spans(self, world: int) -> Iterable[Interval]:
        """When the versions of a world are valid, newest first.

        Those that are valid at no time are left out.
        """

    def text(self, world: int) -> WorldText | None:
        """The newest version's text; ``None`` once erased."""

    def shown(self, world: int) -> str:
        """The world's reference as people are shown it."""

    def lineage(self, world: int) -> bytes:
        """The world's full reference, for :meth:`note`."""

    def edges(self, world: int, type_name: str, *, incoming: bool = False) -> Iterable[HandledEdge]:
        """Edges of a type from a world, or to it, that have not been unlinked, in log order."""

    def properties(self, edge: HandledEdge) -> dict[str, Any]:
        """The properties that an edge was written with; none once they were erased."""

    def reaches(self, start: int, goal: int, type_name: str) -> bool:
        """True if following edges of a type from ``start`` leads to ``goal``."""

    def inside(self, world: int, container: int) -> bool:
        """True if ``container`` is the world or contains it, at any depth."""

    def containers(self, world: int) -> Sequence[int]:
        """The worlds that contain a world directly, in log order."""

    def home_of(self, world: int) -> int:
        """The world that holds a world's edges by default: its first container."""

    def proposal(self, one: int, other: int) -> PairProposal | None:
        """The latest proposal about an unordered pair of worlds."""

    # -- what a handler may do

    def link(
        self,
        source: int,
        type_name: str,
        target: int,
        *,
        home: int | None = None,
        valid_from: int | None = None,
        valid_to: int = FOREVER,
        properties: dict[str, Any] | None = None,
        key: str | None = None,
    ) -> Written:
        """Write an edge through its own handler. A ``same_as`` is staged and waits for a decision."""

    def create(
        self,
        type_name: str,
        name: str,
        *,
        content: str = "",
        aliases: Sequence[str] = (),
        world: int | None = None,
        valid_from: int | None = None,
        valid_to: int = FOREVER,
        source: dict[str, Any] | None = None,
        why: str = "",
        derived_from: Iterable[int] | None = None,
    ) -> int:
        """Make a world in this commit, as a create does that resolves nobody; returns its number.

        It lies in ``world``, by default the edge's home, and never outside of that. It is valid from commit time by
        default, and ``derived_from`` the worlds given, by default both ends of the edge: an erasure of one of these
        erases it too. Its provenance names the edge type, and the receipt lists it. Decided again, it has the same
        reference.
        """

    def stage(self, one: int, other: int, *, evidence: dict[str, Any] | None = None) -> Written:
        """Propose that two worlds are one, as linking them by ``same_as`` does.

        Where the pair waits for a decision, or was decided and neither has changed since, nothing is staged: the answer
        is that proposal, not ``staged``.
        """

    def unlink(self, edge: bytes) -> None:
        """Retract an edge on the ingest axis and let its handler clean up."""

    def close(self, world: int, at: int, *, by: bytes = b"") -> bool:
        """Take all from ``at`` on from the versions of a world.

        True if any held there. ``by`` is the full reference of the world that took its place, if one did.
        """

    def close_edge(self, edge: bytes, at: int) -> bool:
        """Tighten the validity of an edge to ``at``; true if it was open beyond it."""

    def end(self, world: int, at: int, *, by: bytes = b"") -> None:
        """Take all from a time on from a world; it holds nothing from there on, until it is reasserted."""

    def conflict(
        self, one: int, other: int, *, home: int | None = None, valid_from: int | None = None, valid_to: int = FOREVER
    ) -> bytes:
        """Record that two worlds contradict each other; returns the id of that edge.

        Both worlds stay, and reads show the contradiction.
        """

    def note(self, code: str, *refs: bytes) -> None:
        """Tell the caller something in the receipt.

        It consists of a code of lower-case letters, digits and ``_``, and ids.
        """

    def refuse(self, code: str, reason: str, remedy: str = "") -> NoReturn:
        """Stop: nothing of the whole commit is written, and the caller gets this answer."""


class Insert(Enum):
    """A handler's decision about a new edge.

    To refuse the edge it calls ``ctx.refuse``. ``STAGE`` writes no edge and proposes in its place that its two ends are
    one, with its properties as the evidence: what waits for a decision is a ``same_as``, whatever type asked for it.
    """

    WRITE = "write"
    STAGE = "stage"


class HandledEdge(NamedTuple):
    """An edge as its handler sees it.

    Ends and home are worlds of this transaction, times are microseconds. ``id`` is empty and ``seq`` 0 while it is
    being inserted. For its properties ask the context; ``details`` is where they are kept. ``key`` is the caller's, and
    known only while it is being inserted. So are the versions that it is to name at its ends, 0 for the newest.
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
    source_version: int = 0
    target_version: int = 0


class Rewritable(Protocol):
    """What a handler can do to a query: each method returns the changed query.

    A type that is registered may ask for all of them, and only for edges of its own that its registration governs.
    """

    def hide_closed(self) -> Any:
        """Leave out what is no longer valid, unless the query asks for it."""

    def show_conflicts(self, edge_type: str) -> Any:
        """Report both sides of visible edges of this type with every node they touch."""

    def widen_types(self, edge_type: str) -> Any:
        """Let a filter by type see what is below it along this edge type."""

    def cross_worlds(self, edge_type: str) -> Any:
        """Let a traversal along this edge type leave the world that it is in; a confined view is never left."""

    def unify_identities(self, edge_type: str) -> Any:
        """Let a query with unified identities see the ends of this type's edges as one, as with an accepted
        ``same_as``.

        Each such edge is a statement; a rejected pair is never unified.
        """


Q = TypeVar("Q", bound=Rewritable)


class EdgeHandler(Protocol):
    """An edge type.

    Handlers are stateless; what they decide depends on the transaction's state alone. ``name`` is the edge type,
    ``version`` a number from 1 up that its author raises when the rules change.
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


class BulkContext(HandlerContext, Protocol):
    """The context of a built-in type that decides many edges at once."""

    def targets(self, world: int, type_name: str) -> Sequence[int]:
        """The targets of the live edges of a type from a world, in log order."""


class EdgeLookup(NamedTuple):
    """Edges that a built-in type reads before it decides about one: at which end, and of which type."""

    of_target: bool
    incoming: bool
    type: str = ""


class PlainHandler:
    """The base class of edge types.

    That is: no self-reference, validity from the source's, nothing to clean up. A type of one's own may begin with this
    class, and does not have to.
    """

    name = ""
    version = 1
    joins_versions = False
    """True if an edge of the type may lead from a later version of a world to an earlier one."""

    def default_valid_from(self, ctx: HandlerContext, source: int, target: int) -> int:
        return ctx.begins(source)

    def on_insert(self, ctx: HandlerContext, edge: HandledEdge) -> Insert:
        if edge.source == edge.target and not self._joins_versions(edge):
            reason = f"{ctx.shown(edge.source)} cannot have an edge of type {self.name} to itself"
            versions = ", or two versions of one: versions=(2, 1)" if self.joins_versions else ""
            ctx.refuse("self_reference", reason, f"Name two worlds{versions}")
        return Insert.WRITE

    def _joins_versions(self, edge: HandledEdge) -> bool:
        """True if an edge joins two versions of one world and its type allows that."""
        same = edge.source == edge.target
        return same and self.joins_versions and edge.source_version > edge.target_version > 0

    def on_delete(self, ctx: HandlerContext, edge: HandledEdge) -> None:
        return None

    def on_query_rewrite(self, query: Q) -> Q:
        return query


class AcyclicHandler(PlainHandler):
    """An edge type that orders its ends strictly: following it never leads back."""

    def on_insert(self, ctx: HandlerContext, edge: HandledEdge) -> Insert:
        super().on_insert(ctx, edge)
        if not self._joins_versions(edge) and ctx.reaches(edge.target, edge.source, self.name):
            ctx.refuse(
                f"{self.name}_cycle",
                f"{ctx.shown(edge.source)} {self.name} {ctx.shown(edge.target)} would close a cycle:"
                f" the second already leads to the first{_describe_cycle(ctx, edge)}",
                "Swap the two, or unlink the wrong edge that leads back",
            )
        return Insert.WRITE


_MAX_ON_A_WAY: Final = 20
"""How many worlds of a cycle a refusal names."""


def _describe_cycle(ctx: HandlerContext, edge: HandledEdge) -> str:
    """Describe the path from the target of an edge to its source, if it has more than one step.

    Worlds outside of the edge's home are not named: who writes here may not see them.
    """
    came = {edge.target: edge.target}
    pending = [edge.target]
    for node in pending:
        if node == edge.source:
            break
        for known in ctx.edges(node, edge.type):
            if known.target not in came:
                came[known.target] = node
                pending.append(known.target)
    way = [edge.source]
    while way[-1] != edge.target:
        way.append(came[way[-1]])
    if len(way) == 2:
        return ""
    shown = [ctx.shown(node) if ctx.inside(node, edge.home) else "..." for node in reversed(way[-_MAX_ON_A_WAY:])]
    return f", by {' -> '.join(shown)}{' -> ...' if len(way) > _MAX_ON_A_WAY else ''}"
