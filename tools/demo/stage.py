"""What the steps of the story share: the folder they play in, what they have found so far, and how they report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import worlddb
from worlddb import Database, Receipt, View, World
from worlddb.tools.sample import LANDMARKS


class Shown(NamedTuple):
    """A line of a step's report: what was asked, what came of it (none for plain narration), and a remark."""

    asked: str
    answer: str = ""
    remark: str = ""
    style: str = "title"
    """How the answer is printed: ``good`` and ``bad`` are what it says about the data."""


def agreed(asked: str, good: bool, yes: str, no: str, remark: str = "") -> Shown:
    """A line whose answer is yes or no."""
    return Shown(asked, yes if good else no, remark, "good" if good else "bad")


class Section(NamedTuple):
    """What one step did, for people (``lines``) and for programs (``result``); ``ok`` if it kept its promise."""

    title: str
    lines: Sequence[Shown]
    result: dict[str, Any]
    ok: bool = True


class Stage:
    """The stores of the story below one folder, and references that later steps need."""

    def __init__(self, folder: Path) -> None:
        self.memory = folder / "memory"
        self.then = folder / "then"
        self.altered = folder / "altered"
        self.forged = folder / "forged"
        self.facts = ""
        """The last commit before the move was told."""
        self.date_corrected = 0
        """The commit that corrected the date."""

    def open(self) -> Database:
        """The memory that the story is about."""
        return worlddb.open(self.memory, author="Sol")

    def turn(self, view: View, landmark: str) -> World:
        """The turn of the sample that a landmark names."""
        session, position = LANDMARKS[landmark]
        (found,) = view.find(name=session, type="Session")
        return list(view.children(found.ref))[position]

    def person(self, view: View, name: str) -> World:
        """The first that was known by a name."""
        return view.find(name=name, type="Entity")[0]

    def ask(self, view: View, question: str) -> World | None:
        """What Sol wrote down that answers a question best, as a view sees it."""
        hits = view.recall(question, world=self.facts, k=1).hits
        return view.get(hits[0].ref) if hits else None


def committed(receipt: Receipt) -> Receipt:
    """The receipt itself; a refusal would mean that the story does not work any more, so it is an error."""
    receipt.raise_if_refused()
    return receipt


def day(micros: int) -> str:
    """The date of a time."""
    return worlddb.format_time(micros)[:10]


def span(world: World) -> str:
    """When a world is valid, in dates."""
    if world.valid.end == worlddb.FOREVER:
        return f"true from {day(world.valid.start)} on"
    return f"true from {day(world.valid.start)} to {day(world.valid.end)}"


def short(text: str, limit: int = 72) -> str:
    """The beginning of a text."""
    return text if len(text) <= limit else text[: limit - 1].rstrip(" ,.") + "…"
