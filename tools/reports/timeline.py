"""The page of a lineage on both time axes: a picture, and a table that says the same in words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Final, NamedTuple

from worlddb import Learned, Valid, Version, View, format_time
from worlddb.tools.reports.bitemporal import Box, Row, anchor, picture
from worlddb.tools.reports.pages import rendered, visible

MAX_VERSIONS: Final = 1_000
"""How many versions a page shows; a browser opens it at once. Of more, the newest."""
MAX_TEXT: Final = 4_000
"""How many characters of a text the table shows."""
_COLOURS: Final = 6
_EXCERPT: Final = 90
_ASKED: Final = 58.0
"""What the label of the time that is asked about takes of the width of a narrow page, in percent."""
_DIGIT: Final = 7
_LEAST_LABEL: Final = 80
"""Pixels of a character in the labels of rows, and of the column that these stand in, at least."""


class Rectangle(NamedTuple):
    """A rectangle with its words: ``label`` inside it, ``lines`` when it is pointed at or has the focus."""

    box: Box
    colour: int
    is_current: bool
    label: str
    lines: tuple[str, ...]


class Told(NamedTuple):
    """A version as the table has it."""

    version: Version
    colour: int
    text: str
    is_cut: bool
    steps: list[Learned]


def render(view: View, name: str, ref: str, versions: Sequence[Version], learned: Sequence[Learned]) -> str:
    """The page as text; ``name`` is what the world is called, versions and steps are in their order."""
    shown = versions[-MAX_VERSIONS:]
    texts = {version.number: _words(version) for version in shown}
    steps = [step for step in learned if step.number in texts]
    drawn = picture(steps, view.valid)
    by_version: dict[int, list[Learned]] = defaultdict(list)
    for step in steps:
        by_version[step.number].append(step)
    holds = next((each for each in shown if _holds(each.valid, view.valid)), None)
    return rendered(
        "timeline.html.j2",
        name=name,
        ref=ref,
        view=view,
        picture=drawn,
        rectangles=[_rectangle(box, texts[box.step.number]) for box in drawn.boxes],
        table=[
            Told(each, each.number % _COLOURS, each.content[:MAX_TEXT], len(each.content) > MAX_TEXT, found)
            for each in shown
            for found in (by_version[each.number],)
        ],
        left_out=len(versions) - len(shown),
        steps=len(steps),
        holds=None if holds is None else texts[holds.number],
        day=_day,
        span=span,
        exactly=_exactly,
        asked_anchor=anchor(drawn.asked, _ASKED),
        labels_width=max(map(_label_width, drawn.rows), default=0),
    )


def span(valid: Valid) -> str:
    """A validity in words."""
    if valid.start == valid.end:
        return "at no time"
    begins, ends = _moment(valid.start), _moment(valid.end)
    if begins == "always":
        return "always" if ends == "forever" else f"until {ends}"
    return f"from {begins} on" if ends == "forever" else f"from {begins} until {ends}"


def _exactly(valid: Valid) -> str:
    """A validity with all digits, for whoever points at it."""
    return f"{format_time(valid.start)} to {format_time(valid.end)}"


def _label_width(row: Row) -> int:
    return max(_LEAST_LABEL, _DIGIT * len(f"commit {row.seq} "))


def _rectangle(box: Box, text: str) -> Rectangle:
    step, until = box.step, box.until
    ended = "and still held" if until is None else f"until corrected {_moment(until.ingested_at)}, commit {until.seq}"
    return Rectangle(
        box,
        step.number % _COLOURS,
        until is None,
        visible(text),
        (
            visible(f"Version {step.number}: {text}"),
            f"true {span(step.valid)}",
            visible(f"known since {_moment(step.ingested_at)}, commit {step.seq}, from {step.author},"),
            ended,
        ),
    )


def _words(version: Version) -> str:
    """What a version says, on one line."""
    text = "(erased)" if version.erased else " ".join((version.content or version.name).split())
    return text if len(text) <= _EXCERPT else text[: _EXCERPT - 1].rstrip() + "…"


def _holds(valid: Valid, at: int) -> bool:
    return valid.start <= at < valid.end


def _moment(micros: int) -> str:
    """A time to the second; a day if that is its first one."""
    text = format_time(micros)[:19].replace("T", " ").removesuffix("Z")
    return text.removesuffix(" 00:00:00")


def _day(micros: int) -> str:
    """The day of a time, for an axis."""
    return format_time(micros)[:10]
