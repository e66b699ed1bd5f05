"""A list that says besides what should be known of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

Item = TypeVar("Item")


class Noted(list[Item]):
    """What was found, best first. ``notes`` are sentences: what may have been missed and why, that nothing seems to
    answer the question, which words of it were not understood as a time."""

    def __init__(self, found: Iterable[Item] = (), notes: Iterable[str] = ()) -> None:
        super().__init__(found)
        self.notes: tuple[str, ...] = tuple(notes)
