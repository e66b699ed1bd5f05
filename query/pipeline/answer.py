"""What a query answers with: a subgraph, and what each stage did."""

from __future__ import annotations

from typing import Any

import msgspec

from worlddb.query.records import Edge, World


class Stage(msgspec.Struct, frozen=True, kw_only=True):
    """One stage of a query: how many worlds came to it, and how many it left. ``seconds`` if times were asked for."""

    operator: str
    before: int
    after: int
    note: str
    seconds: float | None


class Subgraph(msgspec.Struct, frozen=True, kw_only=True):
    """The worlds that a query found, and the edges that were walked to them, in log order.

    ``passed`` are references of the worlds that those edges lead through and that are not in the answer. ``scores`` has
    those of a ranked start, ``facets`` the counts that were asked for, ``identities`` which others a world stands for.
    ``exact`` says that the start was ranked by precisely what the view sees; ``note`` what else a reader should know.
    """

    nodes: tuple[World, ...]
    edges: tuple[Edge, ...]
    passed: tuple[str, ...]
    scores: dict[str, float]
    facets: dict[str, dict[str, int]]
    identities: dict[str, tuple[str, ...]]
    stages: tuple[Stage, ...]
    exact: bool
    note: str

    @property
    def refs(self) -> tuple[str, ...]:
        """The references of the worlds, in their order."""
        return tuple(world.ref for world in self.nodes)

    def __iter__(self) -> Any:
        return iter(self.nodes)

    def __len__(self) -> int:
        return len(self.nodes)
