"""A difference as a person reads it in a terminal: a verdict, and a tree of what differs with its texts and events."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Literal

from worlddb import HISTORY_RELATIONS, Change, Detail, Difference, format_time
from worlddb.tools.cli import wire
from worlddb.tools.cli.page import Branch, Page, Span, counted, one_line
from worlddb.tools.reports.events import VECTORS, Event, own_events, told_events, versions_embedded

_STYLES: Final = {"added": "good", "removed": "bad", "altered": "bad", "erased": "bad", "members": "dim"}
_SIGNS: Final = {"added": "+ ", "removed": "- ", "altered": "! ", "members": "  "}
_SHOWN_DETAILS: Final = 20
"""How many lines of what differs a world is given."""
_LINE: Final = 200
_TELLS: Final = ("revised", "altered")
"""Kinds whose every field is worth its lines; of a world that came or went, the texts are."""


def write_difference(page: Page, found: Difference) -> None:
    """The whole answer."""
    if found.equal:
        page.line(("equal", "good"), f"  commits {found.seq_a} and {found.seq_b}, {_same(found)}")
    else:
        page.line(("they differ", "bad"), f"  in {counted(len(found.worlds), 'world')}; {parting(found)}")
    what = "world" if found.relation == "bundle" else "root"
    _write_side(page, "a", found.seq_a, found.time_a, f"{what} {found.root_a}")
    _write_side(page, "b", found.seq_b, found.time_b, f"{what} {found.root_b}")
    for problem in found.problems:
        page.line(("damaged: ", "bad"), problem)
    covered = [change for change in found.worlds if change.a != change.b]
    for root in _forest(covered):
        page.tree(root)
    outside = [change for change in found.worlds if change.a == change.b]
    if outside:
        page.line("What no world hash shows also differs:" if covered else "No world hash shows it:")
    for change in outside:
        page.tree(Branch(_name_line(change.path, change), _notes(change, change.events), ()))
    for record in found.altered:
        where = f"commit {record.seq}, {record.where}" if record.seq else record.where
        page.line(("altered: ", "bad"), f"{where}: {record.problem}")
    for note in found.notes:
        page.line((note + ".", "dim"))


def parting(found: Difference) -> str:
    """How the histories stand to each other, in words."""
    told = HISTORY_RELATIONS[found.relation]
    if not found.parted or found.relation == "same":
        return told
    when = f"commit {found.parted} of {wire.moment(found.parted_at)}"
    return f"{told}; it was made at {when}" if found.relation == "bundle" else f"{told}, after {when}"


def _same(found: Difference) -> str:
    how = "byte by byte" if found.deep else "by content" if found.by != "hash" else "by their hashes"
    return f"compared {how}"


def _write_side(page: Page, label: str, seq: int, time: int, what: str) -> None:
    page.line((f"{label}  commit {seq} of {wire.moment(time)}, {what}", "dim"), indent=2)


def _forest(changes: Sequence[Change]) -> list[Branch]:
    """Trees of what differs; each world hangs below the one through which it was reached."""
    listed = {change.ref: number for number, change in enumerate(changes)}
    roots: list[Branch] = []
    below: list[list[Branch]] = [[] for _ in changes]
    events = own_events(changes)
    for number in reversed(range(len(changes))):
        change = changes[number]
        parent = listed.get(change.within)
        # A world is listed after the one that contains it; what is not was found by another way, and stands by itself.
        if parent is not None and parent >= number:
            parent = None
        name = change.path if parent is None else change.names[-1]
        branch = Branch(_name_line(name, change), _notes(change, events[number]), below[number][::-1])
        (roots if parent is None else below[parent]).append(branch)
    return roots[::-1]


def _name_line(name: str, change: Change) -> list[Span]:
    kinds = list(dict.fromkeys([change.change, *(detail.kind for detail in change.changes)]))
    style = _STYLES.get(change.change, "warn")
    line: list[Span] = [(_SIGNS.get(change.change, "~ "), style), (name, "name"), f"  {change.type}  "]
    return [*line, (", ".join(kinds), style), (f"  {wire.short(change.ref)}", "ref")]


def _notes(change: Change, events: Iterable[Event]) -> list[Sequence[Span]]:
    """Below a world: what differs, and the events that its members do not account for."""
    lines: list[Sequence[Span]] = []
    for detail in change.changes:
        if detail.field not in VECTORS:
            lines.extend(_detail_lines(change, detail))
    sides: tuple[tuple[str, str, Literal["a", "b"]], ...] = (("-", "bad", "a"), ("+", "good", "b"))
    for sign, style, side in sides:
        if embedded := versions_embedded(change, side):
            lines.append([(f"{sign} vectors of {counted(embedded, 'version')}", style)])
    more = len(lines) - _SHOWN_DETAILS
    if more > 0:
        lines[_SHOWN_DETAILS:] = [[(f"and {more:,} lines more (see --json)", "dim")]]
    lines.extend(_event_lines(change, events))
    if change.more_events:
        lines.append([(f"and {counted(change.more_events, 'event')} more", "dim")])
    return lines


def _detail_lines(change: Change, detail: Detail) -> list[Sequence[Span]]:
    if change.change in ("added", "removed") and detail.field in ("type", "name"):
        return []
    what = "" if detail.field == "content" else f"{detail.field}: "
    lines: list[Sequence[Span]] = []
    for sign, text, style in (("-", detail.a, "bad"), ("+", detail.b, "good")):
        if text or (detail.kind in _TELLS and detail.field not in ("member", "edge")):
            lines.append([(f"{sign} {what}{one_line(text, _LINE)}", style)])
    return lines


def _event_lines(change: Change, events: Iterable[Event]) -> list[Sequence[Span]]:
    """One line a commit: which of its events, by whom, when and why."""
    lines: list[Sequence[Span]] = []
    for told in told_events(change, events):
        why = f", because {one_line(told.why, 120)}" if told.why else ""
        by = f"by {told.author}, {format_time(told.ingested_at)}"
        lines.append([(f"{told.side}: commit {told.seq}: {told.what}; {by}{why}", "dim")])
    return lines
