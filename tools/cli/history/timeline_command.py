"""``worlddb timeline``, and the drawing of a lineage for ``history --timeline``.

Valid time runs across, ingest time down.
"""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

from worlddb import FOREVER, InputError, Learned, Valid, Version, View, format_time
from worlddb.tools.cli.base import DONE, Command, Namespace, Output, Page, Parser, Span, arguments, stores, wire

_LEAST_BAR: Final = 28
"""Narrower bars get a line of their own, below their label."""
_LABEL_LINES: Final = 3
_INDENT: Final = 2


class _Glyphs(NamedTuple):
    line: str
    before: str
    after: str
    point: str
    rule: str
    tick: str
    asked: str


_UNICODE: Final = _Glyphs("─", "◀", "▶", "◆", "╌", "┴", "▼")
_ASCII: Final = _Glyphs("=", "<", ">", "*", "-", "+", "v")


class Scale:
    """Maps instants to columns, in order and in proportion to time.

    Columns are at least two apart where there is room.
    """

    def __init__(self, instants: Sequence[int], width: int) -> None:
        self.width = width
        self._instants = sorted(set(instants))
        # The last columns show what continues after the last instant.
        room, gaps = width - 3, len(self._instants) - 1
        least = 2 if 2 * gaps <= room else 0
        whole = max(1, self._instants[-1] - self._instants[0])
        self._columns = {self._instants[0]: 0}
        spare, column, passed = room - least * gaps, 0, 0
        for number, (one, other) in enumerate(pairwise(self._instants), 1):
            passed += other - one
            column = least * number + spare * passed // whole
            self._columns[other] = column

    def column(self, instant: int) -> int:
        """Return the column of an instant."""
        return self._columns[instant]

    def labels(self) -> list[str]:
        """Return label lines for the instants; labels without room are left out."""
        lines = [""] * _LABEL_LINES
        for instant in self._instants:
            text = wire.moment(instant)
            at = min(self.column(instant), max(0, self.width - len(text)))
            for number, line in enumerate(lines):
                if not line or len(line) + 2 <= at:
                    lines[number] = f"{line:{at}}{text}"
                    break
        return [line for line in reversed(lines) if line]

    def ruler(self, asked: int, glyphs: _Glyphs) -> str:
        """Return the axis, with a tick at each instant and a mark at the one asked about."""
        drawn = [glyphs.rule] * self.width
        for instant in self._instants:
            drawn[self.column(instant)] = glyphs.tick
        drawn[self.column(asked)] = glyphs.asked
        return "".join(drawn)

    def bars(self, spans: Sequence[Valid], glyphs: _Glyphs) -> str:
        """Draw what holds in several spans; between them are holes."""
        drawn = ""
        for valid in spans:
            bar = self.bar(valid, glyphs)
            drawn = drawn[: len(bar) - len(bar.lstrip())].ljust(len(bar) - len(bar.lstrip())) + bar.lstrip()
        return drawn

    def bar(self, valid: Valid, glyphs: _Glyphs) -> str:
        """Draw a validity: ``[`` is its first instant, ``)`` the first instant after it."""
        if valid.start == valid.end:
            return " " * self.column(valid.start) + glyphs.point
        is_open = valid.end == FOREVER
        begins = self._columns.get(valid.start, 0)
        ends = self.width - 1 if is_open else self.column(valid.end)
        if begins >= ends:
            return " " * begins + glyphs.point
        first = "[" if valid.start in self._columns else glyphs.before
        return " " * begins + first + glyphs.line * (ends - begins - 1) + (glyphs.after if is_open else ")")


def write_timeline(
    page: Page, view: View, versions: Sequence[Version], learned: Sequence[Learned], *, utf8: bool
) -> None:
    """Draw what was learned about each version step by step, with the versions listed below."""
    if not versions:
        page.line("Nothing in this span.")
        return
    glyphs = _UNICODE if utf8 else _ASCII
    page.line(("across: valid time; down: when it was learned", "dim"))
    page.line("")
    _draw(page, view.valid, learned, glyphs)
    page.line("")
    for version in versions:
        text = "(erased)" if version.erased else wire.one_line(version.content or version.name, 400)
        page.line((f"{version.number}  ", "title"), text)
        for step in learned:
            if step.number == version.number:
                page.line((_step_text(step), "dim"), indent=len(str(version.number)) + 2)
    page.line((f"{glyphs.asked} is {wire.moment(view.valid)}, the view's valid time", "dim"))


def _draw(page: Page, asked: int, learned: Sequence[Learned], glyphs: _Glyphs) -> None:
    ends = {end for step in learned for span in _spans(step) for end in (span.start, span.end)}
    instants = [end for end in ends if format_time(end) not in ("forever", "always")]
    times = [_when(step) for step in learned]
    right = [_valid_time(step) for step in learned]
    number_width = max(len(str(step.number)) for step in learned)
    left_width, right_width = max(map(len, times)), max(map(len, right))
    bar_width = page.width - left_width - number_width - right_width - 6
    is_narrow = bar_width < _LEAST_BAR
    scale = Scale([*instants, asked], max(8, page.width - _INDENT - 1) if is_narrow else bar_width)
    margin = _INDENT if is_narrow else left_width + number_width + 4
    for line in scale.labels():
        page.line((line, "dim"), indent=margin)
    page.line((scale.ruler(asked, glyphs), "dim"), indent=margin)
    last = {step.number: place for place, step in enumerate(learned)}
    for place, step in enumerate(learned):
        is_new = not place or learned[place - 1].seq != step.seq
        style = "good" if last[step.number] == place else "dim"
        when = times[place] if is_new else ""
        bar = scale.bars(_spans(step), glyphs)
        number: Span = (f"{step.number:>{number_width}}", "title")
        if is_narrow:
            page.line(*([when, "  "] if when else []), number, "  ", (right[place], style))
            page.line((bar, style), indent=_INDENT)
        else:
            span = (f"{bar:{scale.width}}  {right[place]}", style)
            page.line(f"{when:{left_width}}  ", number, "  ", span)


def _spans(step: Learned) -> Sequence[Valid]:
    return step.spans or (step.valid,)


def _valid_time(step: Learned) -> str:
    holes = ", with holes" if step.spans else ""
    return f"{wire.span(step.valid)}{holes}{', late' if step.late else ''}"


def _when(step: Learned) -> str:
    return f"{wire.moment(step.ingested_at)}  commit {step.seq}"


def _step_text(step: Learned) -> str:
    what = "learned" if step.change == "written" else f"its end {wire.moment(step.valid.end)} learned"
    if step.spans:
        what = f"its spans {', '.join(map(wire.span, step.spans))} learned"
    why = f", because {wire.one_line(step.why, 200)}" if step.why else ""
    return f"{what} {wire.moment(step.ingested_at)}, commit {step.seq}, from {step.author}{why}"


def _arguments(parser: Parser) -> None:
    parser.add_argument("ref", metavar="REF", help="a reference, its first digits, or a name")
    parser.add_argument("--out", metavar="FILE", help="write a page for a browser, best ending in .html")
    parser.add_argument("--overwrite", action="store_true", help="replace FILE if it exists")
    arguments.add_between(parser)
    arguments.add_spans(parser)
    arguments.add_moment(parser)
    arguments.add_confine(parser)


def _timeline(args: Namespace, out: Output) -> int:
    from worlddb.tools.reports import report_parts, timeline_report

    if args.out is None and args.overwrite:
        raise InputError("--overwrite needs --out", "Give the page to write, or leave --overwrite out")
    if args.out is not None:
        arguments.refuse_existing(args.out, overwrite=args.overwrite)
    with stores.open_existing(args) as db:
        view = stores.view_of(db, args)
        ref = stores.resolve_world(view, args.ref)
        versions = view.history(ref, between=args.between, **stores.spans_of(args))
        if not versions:
            raise InputError(
                f"{args.ref!r:.200} has no version in this span", "Leave the span out, or give another one"
            )
        numbers = {version.number for version in versions}
        learned = [step for step in view.timeline(ref) if step.number in numbers]
        if args.out is None:
            _write_text(out, view, ref, versions, learned)
            return DONE
        page_text = timeline_report.render(view, stores.name_of(view, ref), ref, versions, learned)
    report_parts.write_page(page_text, Path(args.out))
    document = {
        "ref": ref,
        "out": args.out,
        "bytes": len(page_text.encode()),
        "versions": len(versions),
        "steps": len(learned),
        "view": wire.view(view),
    }

    def write(page: Page) -> None:
        counts = f"{wire.counted(len(versions), 'version')} in {wire.counted(len(learned), 'step')}"
        page.line((args.out, "good"), f"  {counts}; open it in a browser")

    out.answer(document, write)
    return DONE


def _write_text(out: Output, view: View, ref: str, versions: Sequence[Version], learned: Sequence[Learned]) -> None:
    """Draw the timeline as text, and list its periods and the holes between them."""
    periods = view.coalesced(ref)
    holes = [Valid(one.valid.end, other.valid.start) for one, other in pairwise(periods)]
    holes = [hole for hole in holes if hole.start < hole.end]

    def write(page: Page) -> None:
        page.line((stores.name_of(view, ref), "name"), f"  {wire.short(ref)}")
        write_timeline(page, view, versions, learned, utf8=out.utf8)
        for hole in holes:
            page.line(("a hole: ", "warn"), f"nothing holds {wire.span(hole)}")

    document = {
        "ref": ref,
        "versions": [wire.record(version) for version in versions],
        "timeline": [wire.record(step) for step in learned],
        "periods": [wire.record(period) for period in periods],
        "holes": [wire.valid(hole) for hole in holes],
        "view": wire.view(view),
    }
    out.answer(document, write)


COMMANDS = (
    Command(
        "timeline",
        "draw a world on both time axes, as text or as a page: when it is true and when it was learned",
        _arguments,
        _timeline,
        (
            ('timeline "Sarah Chen"', "as text, with holes and what was learned late"),
            ('timeline "Sarah Chen" --out sarah.html', "everything that is known, as of now"),
            ("timeline Office --ingested 6 --out office.html --overwrite", "what was known after commit 6"),
        ),
    ),
)
