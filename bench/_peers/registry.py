"""The peers that are compared."""

from __future__ import annotations

from typing import Final

from bench._peers import chroma, events, fts5, hybrid, lance, langgraph, mem_zero, ours
from bench._peers.contract import Kind

KINDS: Final[tuple[Kind, ...]] = (
    ours.KIND,
    fts5.KIND,
    hybrid.KIND,
    chroma.KIND,
    lance.KIND,
    langgraph.KIND,
    mem_zero.KIND,
    events.KIND,
)


def kind_of(name: str) -> Kind:
    """The peer of a name."""
    return next(kind for kind in KINDS if kind.name == name)
