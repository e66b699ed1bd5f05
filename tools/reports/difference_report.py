"""The report on a difference: one self-contained HTML page for any reader."""

import re
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, Final, NamedTuple

from worlddb import CHANGE_KINDS, HISTORY_RELATIONS, AlteredRecord, Change, Detail, Difference
from worlddb.tools.reports import report_parts

MAX_WORLDS: Final = 1000
"""Worlds on a page; a browser opens as many at once."""
MAX_DETAILS: Final = 200
MAX_TEXT: Final = 20_000
"""Characters shown of a text."""
_MAX_WORDS: Final = 2_000
"""Longest text, in words, with its differing words marked: finding them costs the square of the length."""
_WORDS: Final = re.compile(r"\w+|\s+|[^\w\s]")


class Piece(NamedTuple):
    """A part of a text, and whether it differs from the other side's."""

    text: str
    differs: bool


class Row(NamedTuple):
    """One differing field, before and after."""

    field: str
    a: list[Piece]
    b: list[Piece]


class World(NamedTuple):
    """A world as the page shows it."""

    change: Change
    kinds: list[str]
    above: list[str]
    name: str
    rows: list[Row]
    more_rows: int
    commits: list[report_parts.CommitEvents]
    problems: list[str]


def write_report(found: Difference, a: str, b: str, file: Path) -> None:
    """Write the page atomically.

    Raises:
        InputError: the file cannot be written.
    """
    report_parts.write_page(render(found, a, b), file)


def render(found: Difference, a: str, b: str) -> str:
    """Return the page as text; ``a`` and ``b`` name the two sides."""
    listed = zip(found.worlds, report_parts.own_events(found.worlds), strict=True)
    own = [(change, events) for change, events in listed if change.changes]
    shown = [_world(change, events, found) for change, events in own[:MAX_WORLDS]]
    return report_parts.rendered(
        "difference.html.j2",
        problem_of=record_problem,
        found=found,
        sides=_sides(found, a, b),
        verdict=verdict(found),
        relation=HISTORY_RELATIONS[found.relation],
        kinds=CHANGE_KINDS,
        worlds=shown,
        left_out=len(own) - len(shown),
        containers=[change for change in found.worlds if not change.changes][:MAX_WORLDS],
        unplaced=[record for record in found.altered if not record.ref],
    )


def verdict(found: Difference) -> str:
    """Return the answer in one sentence."""
    if found.equal:
        return "The two are equal."
    own = sum(1 for change in found.worlds if change.changes)
    altered = sum(1 for change in found.worlds if change.change == "altered")
    if altered and altered == own:
        return f"{_records(altered)} altered behind the engine’s back."
    if own:
        return f"{_records(own).replace(' was', '').replace(' were', '')} differ{'s' if own == 1 else ''}."
    if found.altered:
        return "Stored bytes were altered behind the engine’s back."
    return "Parts could not be read." if found.problems else "The worlds are the same; their histories are not."


def _records(count: int) -> str:
    return "One world was" if count == 1 else f"{count:,} worlds were"


def _sides(found: Difference, a: str, b: str) -> list[dict[str, Any]]:
    return [
        {
            "label": "a",
            "name": a,
            "seq": found.seq_a,
            "time": found.time_a,
            "root": found.root_a,
            "store": found.store_a,
        },
        {
            "label": "b",
            "name": b,
            "seq": found.seq_b,
            "time": found.time_b,
            "root": found.root_b,
            "store": found.store_b,
        },
    ]


def _world(change: Change, events: list[report_parts.Event], found: Difference) -> World:
    *above, name = change.names
    rows = _rows(change)
    return World(
        change=change,
        kinds=list(dict.fromkeys([change.change, *(detail.kind for detail in change.changes)])),
        above=above,
        name="(without a name)" if change.ref.startswith(name) else name,
        rows=rows[:MAX_DETAILS],
        more_rows=max(0, len(rows) - MAX_DETAILS),
        commits=report_parts.commits_of(change, events),
        problems=[record_problem(record) for record in found.altered if record.ref == change.ref],
    )


def record_problem(record: AlteredRecord) -> str:
    """Describe what is wrong with a stored record, for readers new to stores."""
    where = f"what is stored for commit {record.seq} ({record.where})" if record.seq else f"a row ({record.where})"
    if record.side in ("a", "b"):
        return (
            f"In {record.side.upper()}, {where} no longer has the fingerprint in its own log: something other than the"
            " engine changed the file."
        )
    return f"{where[0].upper()}{where[1:]} is not the same in A and B: {record.problem}."


def _rows(change: Change) -> list[Row]:
    """List what differs line by line; vectors, one for each version, share one line."""
    rows = [_row(detail) for detail in change.changes if detail.field not in report_parts.VECTORS]
    a, b = (f"of {number:,} version{'s' * (number != 1)}" if number else "" for number in _embedded(change))
    return [*rows, Row("vectors", *pieces(a, b))] if a or b else rows


def _embedded(change: Change) -> tuple[int, int]:
    return report_parts.versions_embedded(change, "a"), report_parts.versions_embedded(change, "b")


def _row(detail: Detail) -> Row:
    a, b = pieces(report_parts.visible(detail.a[:MAX_TEXT]), report_parts.visible(detail.b[:MAX_TEXT]))
    return Row(detail.field, a, b)


def pieces(a: str, b: str) -> tuple[list[Piece], list[Piece]]:
    """Split two texts into pieces, marking the words that differ.

    A text without a counterpart is not marked.
    """
    words = _WORDS.findall(a), _WORDS.findall(b)
    if not a or not b or max(map(len, words)) > _MAX_WORDS:
        return [Piece(a, False)] if a else [], [Piece(b, False)] if b else []
    ours: list[Piece] = []
    theirs: list[Piece] = []
    for tag, i, j, k, m in SequenceMatcher(None, *words, autojunk=False).get_opcodes():
        for made, text in ((ours, "".join(words[0][i:j])), (theirs, "".join(words[1][k:m]))):
            if text:
                made.append(Piece(text, tag != "equal"))
    return ours, theirs
