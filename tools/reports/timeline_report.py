"""The timeline page of a lineage: a picture on both time axes, and a table.

Valid time runs across, ingest time down; each rectangle is one version as held from one commit to another. The table
says the same in words.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from worlddb import FOREVER, Learned, Valid, Version, View, format_time, plain_text
from worlddb.tools.reports.report_parts import rendered, visible

ROWS_HEIGHT: Final = 1_400
"""Height of all rows together, in pixels, if there are many."""
ROW_LEAST, ROW_MOST = 7, 46
LAST_ROW: Final = 40
"""Least height of the last row, which holds the texts of what is known now."""
_LEFT, _RIGHT = 3.0, 93.0
"""Instants lie between these, in percent; what has no beginning or end reaches outside."""
_LEAST_GAP: Final = 3.0
_GAPS: Final = 55.0
"""Share of the width that may keep instants apart, in percent."""
_LABEL_APART: Final = 30
"""Pixels between two labels of rows."""
_NARROW, _WIDE = 35.0, 13.0
"""Width of an instant's label with its gap, on a narrow and on a wide page, in percent."""


class Box(NamedTuple):
    """A span of a version as held from one commit to another: across in percent, down in pixels.

    ``until`` is the commit that corrected it, if one did; ``is_point`` if it was true at no time.
    """

    step: Learned
    until: Learned | None
    left: float
    width: float
    top: float
    height: float
    is_point: bool


class Tick(NamedTuple):
    """An instant on the axis, with its label.

    ``kind`` says on which pages it is labelled: ``all``, ``wide`` or ``none``. ``anchor`` says which part of the label
    lies at the instant: its ``start``, its ``middle`` or its ``end``.
    """

    at: float
    time: int
    kind: str
    anchor: str


class Row(NamedTuple):
    """A commit, and whether there is room for its label."""

    top: float
    seq: int
    time: int
    is_labelled: bool


class Picture(NamedTuple):
    """Everything that is drawn; ``asked`` is the position of the valid time asked about."""

    boxes: tuple[Box, ...]
    ticks: tuple[Tick, ...]
    rows: tuple[Row, ...]
    asked: float
    height: float


def picture(steps: Sequence[Learned], asked: int) -> Picture:
    """Compute the geometry of the steps, which are in log order."""
    rows = _rows(steps)
    height = (rows[-1].top if rows else 0.0) + LAST_ROW
    ends = {end for step in steps for span in _spans(step) for end in (span.start, span.end) if is_finite(end)}
    columns = spread([*ends, asked])
    tops = {row.seq: row.top for row in rows}
    later: dict[int, Learned] = {}
    boxes: list[Box] = []
    for step in reversed(steps):
        until = later.get(step.number)
        bottom = height if until is None else tops[until.seq]
        for span in reversed(_spans(step)):
            left = columns.get(span.start, 0.0)
            is_point = span.start == span.end
            width = 0.0 if is_point else columns.get(span.end, 100.0) - left
            boxes.append(Box(step, until, left, width, tops[step.seq], bottom - tops[step.seq], is_point))
        later[step.number] = step
    return Picture(tuple(boxes[::-1]), _ticks({end: columns[end] for end in ends}), rows, columns[asked], height)


def _spans(step: Learned | Version) -> Sequence[Valid]:
    """The spans in which a version holds; of one that holds at no time its empty one."""
    return step.spans or (step.valid,)


def is_finite(instant: int) -> bool:
    """False for the ends of an interval that has none there."""
    return instant < FOREVER and format_time(instant) != "always"


def spread(instants: Iterable[int]) -> Mapping[int, float]:
    """Place instants in percent: in order, distinct, else in proportion to time."""
    ordered = sorted(set(instants))
    gaps = max(1, len(ordered) - 1)
    least = min(_LEAST_GAP, _GAPS / gaps)
    spare = (_RIGHT - _LEFT) - least * gaps
    whole = max(1, ordered[-1] - ordered[0])
    return {each: _LEFT + least * place + spare * (each - ordered[0]) / whole for place, each in enumerate(ordered)}


def _rows(steps: Sequence[Learned]) -> tuple[Row, ...]:
    commits = list(dict.fromkeys((step.seq, step.ingested_at) for step in steps))
    height = min(ROW_MOST, max(ROW_LEAST, ROWS_HEIGHT / max(1, len(commits))))
    rows: list[Row] = []
    free = 0.0
    for place, (seq, time) in enumerate(commits):
        top = place * height
        rows.append(Row(top, seq, time, top >= free))
        if top >= free:
            free = top + _LABEL_APART
    return tuple(rows)


def anchor(at: float, width: float) -> str:
    """Return which part of a label lies at its place, so that all of it is on the page.

    Both are in percent.
    """
    return "start" if at < width / 2 else "end" if at > 100 - width / 2 else "middle"


def _ticks(columns: Mapping[int, float]) -> tuple[Tick, ...]:
    """Label instants where there is room: the first, the last, and those far enough apart."""
    places = sorted(columns.items(), key=lambda found: found[1])
    ticks = {time: Tick(at, time, "none", anchor(at, _WIDE)) for time, at in places}
    for kind, width in (("all", _NARROW), ("wide", _WIDE)):
        for time, at in (*places[:1], *places[-1:], *places):
            placed = Tick(at, time, kind, anchor(at, width))
            taken = (tick for tick in ticks.values() if tick.kind != "none")
            if ticks[time].kind == "none" and not any(_overlap(placed, tick, width) for tick in taken):
                ticks[time] = placed
    return tuple(ticks.values())


def _overlap(one: Tick, other: Tick, width: float) -> bool:
    first, second = sorted(_begins_at(tick, width) for tick in (one, other))
    return first + width > second


def _begins_at(tick: Tick, width: float) -> float:
    return tick.at - {"start": 0.0, "middle": width / 2, "end": width}[tick.anchor]


MAX_VERSIONS: Final = 1_000
"""Versions on a page, the newest of more; a browser opens as many at once."""
MAX_TEXT: Final = 4_000
"""Characters of a text in the table."""
_COLOURS: Final = 6
_EXCERPT: Final = 90
_ASKED: Final = 58.0
"""Width of the label of the time asked about, on a narrow page, in percent."""
_DIGIT: Final = 7
_LEAST_LABEL: Final = 80
"""Pixels of a character in the labels of rows, and of the column that these stand in, at least."""


class Rectangle(NamedTuple):
    """A rectangle with its texts: ``label`` inside it, ``lines`` on hover or focus."""

    box: Box
    colour: int
    is_current: bool
    label: str
    lines: tuple[str, ...]


class VersionRow(NamedTuple):
    """A version as the table has it."""

    version: Version
    colour: int
    text: str
    is_cut: bool
    steps: list[Learned]


def render(view: View, name: str, ref: str, versions: Sequence[Version], learned: Sequence[Learned]) -> str:
    """Return the page as text.

    ``name`` is the display name of the world; versions and steps are in order.
    """
    shown = versions[-MAX_VERSIONS:]
    texts = {version.number: _cell_text(version) for version in shown}
    steps = [step for step in learned if step.number in texts]
    drawn = picture(steps, view.valid)
    by_version: dict[int, list[Learned]] = defaultdict(list)
    for step in steps:
        by_version[step.number].append(step)
    holds = next((each for each in shown if _holds(each, view.valid)), None)
    return rendered(
        "timeline.html.j2",
        name=name,
        ref=ref,
        view=view,
        picture=drawn,
        rectangles=[_rectangle(box, texts[box.step.number]) for box in drawn.boxes],
        table=[
            VersionRow(each, each.number % _COLOURS, each.content[:MAX_TEXT], len(each.content) > MAX_TEXT, found)
            for each in shown
            for found in (by_version[each.number],)
        ],
        left_out=len(versions) - len(shown),
        steps=len(steps),
        holds=None if holds is None else texts[holds.number],
        day=_day,
        spans=spans,
        exactly=_exact_time,
        asked_anchor=anchor(drawn.asked, _ASKED),
        labels_width=max(map(_label_width, drawn.rows), default=0),
    )


def spans(step: Learned | Version) -> str:
    """The validity of a version in words, with its holes."""
    return " and ".join(map(span, _spans(step)))


def span(valid: Valid) -> str:
    """A validity in words."""
    if valid.start == valid.end:
        return "at no time"
    begins, ends = _moment(valid.start), _moment(valid.end)
    if begins == "always":
        return "always" if ends == "forever" else f"until {ends}"
    return f"from {begins} on" if ends == "forever" else f"from {begins} until {ends}"


def _exact_time(valid: Valid) -> str:
    """A validity with all digits, for a tooltip."""
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
            f"true {spans(step)}",
            visible(f"known since {_moment(step.ingested_at)}, commit {step.seq}, from {step.author},"),
            ended,
        ),
    )


def _cell_text(version: Version) -> str:
    """Return the text of a version on one line."""
    text = "(erased)" if version.erased else " ".join((version.content or version.name).split())
    return plain_text.clipped(text, _EXCERPT)


def _holds(version: Version, at: int) -> bool:
    return any(span.start <= at < span.end for span in _spans(version))


def _moment(micros: int) -> str:
    """Format a time to the second; a day if it is its first instant."""
    text = format_time(micros)[:19].replace("T", " ").removesuffix("Z")
    return text.removesuffix(" 00:00:00")


def _day(micros: int) -> str:
    """Format the day of a time, for an axis."""
    return format_time(micros)[:10]
