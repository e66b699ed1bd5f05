"""What a handler is given: the one way to read the transaction that its edge is written in, and to write to it.

Worlds are numbers here, those of the transaction's tables. They are good for the length of one call of a handler.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Protocol

from worlddb.log.model.times import FOREVER, Interval

if TYPE_CHECKING:
    from worlddb.reconciler.handler import HandledEdge


class WorldText(NamedTuple):
    """The type, name and content of a world's newest version."""

    type: str
    name: str
    content: str


class Written(NamedTuple):
    """What became of an edge: its id, or the id of the proposal that was staged in its place."""

    id: bytes
    staged: bool


class PairProposal(NamedTuple):
    """The latest proposal about a pair of worlds. ``changed``: since then one of them has a new version.

    ``status`` is ``pending``, ``accepted``, ``rejected`` or ``undone``.
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

    # -- what a handler may read

    @property
    def root(self) -> int:
        """The root world, which contains all others."""

    def begins(self, world: int) -> int:
        """Where the newest version of a world begins to be valid; commit time for the root world."""

    def spans(self, world: int) -> Iterable[Interval]:
        """When the versions of a world are valid, newest first; those that are valid at no time are left out."""

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

    def unlink(self, edge: bytes) -> None:
        """Retract an edge on the ingest axis and let its handler clean up."""

    def close(self, world: int, at: int, *, by: bytes = b"") -> bool:
        """Tighten the validity of every version of a world to ``at``; true if any was open beyond it.

        ``by`` is the full reference of the world that took its place, if one did.
        """

    def close_edge(self, edge: bytes, at: int) -> bool:
        """Tighten the validity of an edge to ``at``; true if it was open beyond it."""

    def end(self, world: int, at: int, *, by: bytes = b"") -> None:
        """Close a world and let it take no further versions."""

    def conflict(
        self, one: int, other: int, *, home: int | None = None, valid_from: int | None = None, valid_to: int = FOREVER
    ) -> bytes:
        """Record that two worlds contradict each other; both stay, and reads show it. The id of that edge."""

    def note(self, code: str, *refs: bytes) -> None:
        """Tell the caller something in the receipt: a code of lower-case letters, digits and ``_``, and ids."""

    def refuse(self, code: str, reason: str, remedy: str = "") -> NoReturn:
        """Stop: nothing of the whole commit is written, and the caller gets this answer."""
