"""``worlddb diff``: which worlds differ between two stores, or two moments, and which events made them differ."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import worlddb
from worlddb import Change, Difference, format_time
from worlddb.tools.cli import stores, wire
from worlddb.tools.cli.command import DONE, NO, Command
from worlddb.tools.cli.output import Output
from worlddb.tools.cli.page import Branch, Page, Span, one_line

_STYLES: Final = {"added": "good", "removed": "bad", "revised": "warn"}
_QUOTED_WORLDS: Final = 50
"""How many worlds have their texts shown beside the change."""


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("a", metavar="A", help="the directory of a store")
    parser.add_argument("b", metavar="B", help="the directory of another; or the same, at another moment")
    parser.add_argument("--world", metavar="REF", help="only this world and what it contains (reference or name in A)")
    parser.add_argument("--at-a", metavar="TIME_OR_SEQ", help="A as it was at this time or commit")
    parser.add_argument("--at-b", metavar="TIME_OR_SEQ", help="B as it was at this time or commit")


def _diff(args: Namespace, out: Output) -> int:
    with ExitStack() as stack:
        a = _as_of(args.a, args.at_a, out, stack)
        b = _as_of(args.b, args.at_b, out, stack)
        world = None
        if args.world is not None:
            with stores.existing_at(a) as db:
                world = stores.world_of(db, db.view(), args.world)
        found = worlddb.diff(a, b, world=world)
        quotes = {} if out.json else _quotes(a, b, found)
        out.answer(_document(found), lambda page: _write(page, found, quotes))
    return DONE if found.equal else NO


def _as_of(folder: str, moment: str | None, out: Output, stack: ExitStack) -> Path:
    """The store's directory, or that of a replay of it up to the moment, which lasts as long as the stack."""
    if moment is None:
        return stores.there(Path(folder))
    target = Path(stack.enter_context(TemporaryDirectory(prefix="worlddb-diff-"))) / "then"
    then = stores.when(moment)
    with stores.existing_at(Path(folder)) as db, out.steps(f"Replaying {folder}") as told:
        made = db.replay(target, progress=told, seq=db.view(**then).seq)
    out.hint(f"{folder} was replayed up to commit {made.seq} in a temporary directory.")
    return target


def _document(found: Difference) -> dict[str, Any]:
    return {
        "equal": found.equal,
        "worlds": [
            wire.record(change)
            | {"events": [event | {"ingested_at": wire.time(event["ingested_at"])} for event in change.events]}
            for change in found.worlds
        ],
        "related": found.related,
        "parted": found.parted,
        "seq_a": found.seq_a,
        "seq_b": found.seq_b,
        "root_a": found.root_a,
        "root_b": found.root_b,
        "visited": found.visited,
    }


def _quotes(a: Path, b: Path, found: Difference) -> dict[str, list[tuple[str, str]]]:
    """Before and after of worlds whose text changed, by reference."""
    quotes: dict[str, list[tuple[str, str]]] = {}
    changed = [change for change in found.worlds if change.change in _STYLES][:_QUOTED_WORLDS]
    for sign, folder in (("-", a), ("+", b)):
        with stores.existing_at(folder) as db:
            view = db.view()
            for change in changed:
                if change.a if sign == "-" else change.b:
                    world = view.get(change.ref, include_superseded=True)
                    text = "" if world is None else one_line(world.content or world.name, 200)
                    quotes.setdefault(change.ref, []).append((sign, text))
    return quotes


def _write(page: Page, found: Difference, quotes: dict[str, list[tuple[str, str]]]) -> None:
    if found.equal:
        page.line(("equal", "good"), f"  commits {found.seq_a} and {found.seq_b}, root {found.root_a}")
        return
    page.line(("they differ", "bad"), f"  in {len(found.worlds):,} worlds; {_parting(found)}")
    page.line((f"a  commit {found.seq_a}, root {found.root_a}", "dim"), indent=2)
    page.line((f"b  commit {found.seq_b}, root {found.root_b}", "dim"), indent=2)
    inside = [change for change in found.worlds if change.change != "outside"]
    for root in _forest(inside, quotes):
        page.tree(root)
    outside = [change for change in found.worlds if change.change == "outside"]
    if outside:
        page.line("What no hash covers (validity, names, identity) also differs:")
    for change in outside:
        page.line((wire.short(change.ref), "ref"), f"  {change.path}", indent=2)
        for line in _event_lines(change.events):
            page.line(*line, indent=6)


def _parting(found: Difference) -> str:
    if not found.related:
        return "their histories have nothing in common"
    if found.parted in (found.seq_a, found.seq_b) and found.seq_a != found.seq_b:
        return f"one goes on where the other ends, after commit {found.parted}"
    return f"their histories part after commit {found.parted}"


def _forest(changes: Sequence[Change], quotes: dict[str, list[tuple[str, str]]]) -> list[Branch]:
    """Trees of what differs. Changes come parents first, each path beginning with its parent's."""
    parents: list[int | None] = []
    above: list[int] = []
    for number, change in enumerate(changes):
        while above and not change.path.startswith(changes[above[-1]].path + "/"):
            above.pop()
        parents.append(above[-1] if above else None)
        above.append(number)
    roots: list[Branch] = []
    below: list[list[Branch]] = [[] for _ in changes]
    accounted: list[set[tuple[str, int, int]]] = [set() for _ in changes]
    for number in reversed(range(len(changes))):
        change, parent = changes[number], parents[number]
        name = change.path if parent is None else change.path[len(changes[parent].path) + 1 :]
        own = [event for event in change.events if _place(event) not in accounted[number]]
        branch = Branch(_name_line(name, change), _notes(name, quotes.get(change.ref, []), own), below[number][::-1])
        (roots if parent is None else below[parent]).append(branch)
        if parent is not None:
            accounted[parent].update(map(_place, change.events))
    return roots[::-1]


def _name_line(name: str, change: Change) -> list[Span]:
    return [(name, "name"), "  ", (change.change, _STYLES.get(change.change, "dim"))]


def _notes(name: str, quotes: list[tuple[str, str]], events: list[dict[str, Any]]) -> list[Sequence[Span]]:
    """Below a world: its texts, and the events that its members do not account for."""
    texts = [(sign, text) for sign, text in quotes if text != name]
    return [[(f"{sign} {text}", "good" if sign == "+" else "bad")] for sign, text in texts] + _event_lines(events)


def _place(event: dict[str, Any]) -> tuple[str, int, int]:
    return event["side"], event["seq"], event["index"]


def _event_lines(events: Iterable[dict[str, Any]]) -> list[Sequence[Span]]:
    """One line a commit: which of its events, by whom, when and why."""
    lines: list[Sequence[Span]] = []
    for (side, seq), group in groupby(events, key=lambda event: (event["side"], event["seq"])):
        listed = list(group)
        counts = Counter(event["event"] for event in listed)
        told = ", ".join(name if number == 1 else f"{number} {name}" for name, number in counts.items())
        why = next((f", because {one_line(event['why'], 120)}" for event in listed if event["why"]), "")
        by = f"by {listed[0]['author']}, {format_time(listed[0]['ingested_at'])}"
        lines.append([(f"{side}: commit {seq}: {told}; {by}{why}", "dim")])
    return lines


COMMANDS = (
    Command(
        "diff",
        "compare two stores: which worlds differ, and which events made them differ",
        _arguments,
        _diff,
        (
            ("diff memory copy-of-memory", "exit code 0 if they are equal, 1 if they differ"),
            ("diff memory memory --at-a 12", "what changed since commit 12"),
            ('diff memory copy --world "The new job"', "below one world"),
        ),
    ),
)
