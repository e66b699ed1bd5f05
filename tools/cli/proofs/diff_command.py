"""``worlddb diff``: the worlds that differ between two stores or moments, and why."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final, Literal

import worlddb
from worlddb import HISTORY_RELATIONS, Change, Detail, Difference, InputError, UnknownReference, format_time
from worlddb.tools.cli.base import DONE, NO, Command, Namespace, Output, Page, Parser, Span, arguments, stores, wire
from worlddb.tools.cli.base.page import Branch
from worlddb.tools.reports.report_parts import VECTORS, Event, commits_of, own_events, versions_embedded

_STYLES: Final = {"added": "good", "removed": "bad", "altered": "bad", "erased": "bad", "members": "dim"}
_SIGNS: Final = {"added": "+ ", "removed": "- ", "altered": "! ", "members": "  "}
_SHOWN_DETAILS: Final = 20
"""Lines of differences shown for each world."""
_LINE: Final = 200
_TELLS: Final = ("revised", "altered")
"""Kinds of change that show every field; added and removed worlds show only their texts."""


def write_difference(page: Page, found: Difference) -> None:
    """Write the verdict and a tree of the differing worlds with their texts and events."""
    if found.equal:
        page.line(("equal", "good"), f"  commits {found.seq_a} and {found.seq_b}, {_same_line(found)}")
    else:
        page.line(
            ("they differ", "bad"), f"  in {wire.counted(len(found.worlds), 'world')}; {describe_divergence(found)}"
        )
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
        page.line("Outside of world hashes there are differences too:" if covered else "No world hash shows it:")
    for change in outside:
        page.tree(Branch(_name_line(change.path, change), _notes(change, change.events), ()))
    for record in found.altered:
        where = f"commit {record.seq}, {record.where}" if record.seq else record.where
        page.line(("altered: ", "bad"), f"{where}: {record.problem}")
    for note in found.notes:
        page.line((note + ".", "dim"))


def describe_divergence(found: Difference) -> str:
    """Describe how the two histories relate."""
    relation = HISTORY_RELATIONS[found.relation]
    if not found.parted or found.relation == "same":
        return relation
    when = f"commit {found.parted} of {wire.moment(found.parted_at)}"
    return f"{relation}; it was made at {when}" if found.relation == "bundle" else f"{relation}, after {when}"


def _same_line(found: Difference) -> str:
    how = "byte by byte" if found.deep else "by content" if found.by != "hash" else "by their hashes"
    return f"compared {how}"


def _write_side(page: Page, label: str, seq: int, time: int, what: str) -> None:
    page.line((f"{label}  commit {seq} of {wire.moment(time)}, {what}", "dim"), indent=2)


def _forest(changes: Sequence[Change]) -> list[Branch]:
    """Arrange changes in trees; each world hangs below the one through which it was reached."""
    listed = {change.ref: number for number, change in enumerate(changes)}
    roots: list[Branch] = []
    below: list[list[Branch]] = [[] for _ in changes]
    events = own_events(changes)
    for number in reversed(range(len(changes))):
        change = changes[number]
        parent = listed.get(change.within)
        # A world follows its container; one that does not was reached another way and is a root of its own.
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
    """List what differs in a world, and the events that its members do not account for."""
    lines: list[Sequence[Span]] = []
    for detail in change.changes:
        if detail.field not in VECTORS:
            lines.extend(_detail_lines(change, detail))
    sides: tuple[tuple[str, str, Literal["a", "b"]], ...] = (("-", "bad", "a"), ("+", "good", "b"))
    for sign, style, side in sides:
        if embedded := versions_embedded(change, side):
            lines.append([(f"{sign} vectors of {wire.counted(embedded, 'version')}", style)])
    more = len(lines) - _SHOWN_DETAILS
    if more > 0:
        lines[_SHOWN_DETAILS:] = [[(f"and {more:,} lines more (see --json)", "dim")]]
    lines.extend(_event_lines(change, events))
    if change.more_events:
        lines.append([(f"and {wire.counted(change.more_events, 'event')} more", "dim")])
    return lines


def _detail_lines(change: Change, detail: Detail) -> list[Sequence[Span]]:
    if change.change in ("added", "removed") and detail.field in ("type", "name"):
        return []
    what = "" if detail.field == "content" else f"{detail.field}: "
    lines: list[Sequence[Span]] = []
    for sign, text, style in (("-", detail.a, "bad"), ("+", detail.b, "good")):
        if text or (detail.kind in _TELLS and detail.field not in ("member", "edge")):
            lines.append([(f"{sign} {what}{wire.one_line(text, _LINE)}", style)])
    return lines


def _event_lines(change: Change, events: Iterable[Event]) -> list[Sequence[Span]]:
    """Return one line per commit: its events, author, time and reason."""
    lines: list[Sequence[Span]] = []
    for commit in commits_of(change, events):
        why = f", because {wire.one_line(commit.why, 120)}" if commit.why else ""
        by = f"by {commit.author}, {format_time(commit.ingested_at)}"
        lines.append([(f"{commit.side}: commit {commit.seq}: {commit.what}; {by}{why}", "dim")])
    return lines


def _arguments(parser: Parser) -> None:
    parser.add_argument("a", metavar="A", nargs="?", help="the directory of a store, or a bundle (default: --store)")
    parser.add_argument("b", metavar="B", nargs="?", help="another store or bundle; without it, A at another moment")
    parser.add_argument("--world", metavar="REF", help="only this world and what it contains (reference or name)")
    parser.add_argument("--at-a", metavar="TIME_OR_SEQ", help="A as it was at this time, commit or bookmark")
    parser.add_argument("--at-b", metavar="TIME_OR_SEQ", help="B as it was at this time, commit or bookmark")
    parser.add_argument(
        "--by",
        choices=("key", "path"),
        help="compare stores without a common history by content: match worlds by importers' keys or by path of names",
    )
    depth = parser.add_mutually_exclusive_group()
    depth.add_argument(
        "--deep", action="store_true", help="also compare the stored bytes (done if nothing else differs)"
    )
    depth.add_argument("--hashes-only", action="store_true", help="never compare the stored bytes")
    parser.add_argument("--html", metavar="FILE", help="also write a report for a browser")
    parser.add_argument("--overwrite", action="store_true", help="replace the report's FILE if it exists")


_REMEDY: Final = "Give a store's directory or a bundle"


def _diff(args: Namespace, out: Output) -> int:
    if args.html:
        arguments.refuse_existing(args.html, overwrite=args.overwrite)
    a = stores.require_existing(Path(args.a) if args.a else stores.folder_of(args), _REMEDY)
    b = a if args.b is None else stores.require_existing(Path(args.b), _REMEDY)
    if args.b is None and args.at_a is None and args.at_b is None:
        raise arguments.UsageError(
            "Only one store and one moment were given", "Give another store, or a moment with --at-a"
        )
    found = worlddb.diff(
        a,
        b,
        world=None if args.world is None else _world_of([a, b], args.world),
        seq_a=_commit_of(a, args.at_a),
        seq_b=_commit_of(b, args.at_b),
        by=args.by,
        deep=True if args.deep else False if args.hashes_only else None,
    )
    if args.html:
        from worlddb.tools.reports.difference_report import write_report

        write_report(found, str(a), str(b), Path(args.html))
    out.answer(document(found), lambda page: write_difference(page, found))
    if args.html:
        out.hint(f"The report is in {args.html}; open it in a browser.")
    return DONE if found.equal else NO


def _commit_of(folder: Path, moment: str | None) -> int | None:
    """Resolve a moment (commit, time or bookmark) to its last commit."""
    if moment is None:
        return None
    if folder.is_file():
        raise arguments.UsageError(
            f"{folder} is a bundle, which has only one moment", "Give --at-a or --at-b for the store alone"
        )
    with stores.open_existing_at(folder) as db:
        seq = db.view(**stores.parse_moment(moment)).seq
    if not seq:
        raise InputError(f"Nothing had been committed by {moment}", "Compare with a later moment")
    return seq


def _world_of(folders: list[Path], text: str) -> str:
    """Resolve a world that either store knows; a bundle is asked by reference alone."""
    folders = [folder for folder in dict.fromkeys(folders) if not folder.is_file()]
    if not folders:
        return text
    with stores.open_existing_at(folders[0]) as db:
        try:
            return stores.resolve_world(db.view(), text)
        except UnknownReference:
            if len(folders) == 1:
                raise
    with stores.open_existing_at(folders[1]) as db:
        return stores.resolve_world(db.view(), text)


def document(found: Difference) -> dict[str, Any]:
    """Describe a difference as JSON."""
    return wire.record(found) | {
        "parted_at": wire.time(found.parted_at) if found.parted else None,
        "time_a": wire.time(found.time_a),
        "time_b": wire.time(found.time_b),
        "worlds": [_change(change) for change in found.worlds],
        "altered": [wire.record(record) for record in found.altered],
    }


def _change(change: Change) -> dict[str, Any]:
    return wire.record(change) | {
        "changes": [wire.record(detail) for detail in change.changes],
        "events": [event | {"ingested_at": wire.time(event["ingested_at"])} for event in change.events],
    }


COMMANDS = (
    Command(
        "diff",
        "compare two stores, two moments of one, or a bundle: which worlds differ, and which events made them differ",
        _arguments,
        _diff,
        (
            ("diff memory copy-of-memory", "exit code 0 if they are equal, 1 if they differ"),
            ("diff memory --at-a 12", "what changed since commit 12"),
            ('diff memory copy --world "The new job"', "below one world"),
            ("diff memory suspect --deep --html report.html", "byte by byte, with a report for anybody"),
            ("diff memory team.bundle", "how the world in a bundle has changed since"),
            ("diff mine theirs --by path", "two stores that imported the same data"),
        ),
    ),
)
