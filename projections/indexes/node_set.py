"""The worlds that a search is among, as the indexes take them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from worlddb.projections.indexes.vector_rows import Numbers


class Nodes(Collection[int]):
    """Some worlds, which stay the same: asked for often, and put in order once."""

    def __init__(self, nodes: frozenset[int]) -> None:
        self.nodes = nodes

    @cached_property
    def in_order(self) -> Numbers:
        """In ascending order."""
        return _in_order(self.nodes)

    def __contains__(self, node: object) -> bool:
        return node in self.nodes

    def __len__(self) -> int:
        return len(self.nodes)

    def __iter__(self) -> Iterator[int]:
        return iter(self.nodes)


def in_order(nodes: Collection[int]) -> Numbers:
    """Some worlds in ascending order."""
    return nodes.in_order if isinstance(nodes, Nodes) else _in_order(nodes)


def _in_order(nodes: Collection[int]) -> Numbers:
    import numpy as np

    found: Numbers = np.sort(np.fromiter(nodes, dtype=np.int64, count=len(nodes)))
    return found
