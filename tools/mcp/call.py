"""One call of a tool, as the server knows it: who is connected, which tool, and whom to tell how far the work is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

Step = Callable[[int, int], None]
"""Told how much of how much is done. What it raises ends the work: the call was cancelled."""


def unheard(done: int, total: int) -> None:
    """Nobody asked how far the work is."""


class Call(NamedTuple):
    """What the server knows of a call. None of it comes from the arguments, which a model writes."""

    client: str
    tool: str
    step: Step = unheard

    @property
    def source(self) -> dict[str, Any]:
        """The provenance of what the call writes."""
        return {"channel": "mcp", "client": self.client, "tool": self.tool}


def in_passes(step: Step, passes: int) -> Step:
    """The step of a work that goes over the same number of things several times, as one that only grows."""
    begun, before = 0, 0

    def told(done: int, total: int) -> None:
        nonlocal begun, before
        if done <= before and begun < passes - 1:
            begun += 1
        before = done
        step(begun * total + done, passes * total)

    return told
