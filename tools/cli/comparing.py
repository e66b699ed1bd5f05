"""``worlddb diff``: which worlds differ between two stores, or two moments, and which events made them differ."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any, Final

import worlddb
from worlddb import Change, Difference, InputError, UnknownReference
from worlddb.tools.cli import stores, wire
from worlddb.tools.cli.arguments import UsageError, refuse_existing
from worlddb.tools.cli.command import DONE, NO, Command
from worlddb.tools.cli.difference import write_difference
from worlddb.tools.cli.output import Output


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("a", metavar="A", nargs="?", help="the directory of a store, or a bundle (default: --store)")
    parser.add_argument("b", metavar="B", nargs="?", help="another store or bundle; without it, A at another moment")
    parser.add_argument("--world", metavar="REF", help="only this world and what it contains (reference or name)")
    parser.add_argument("--at-a", metavar="TIME_OR_SEQ", help="A as it was at this time, commit or bookmark")
    parser.add_argument("--at-b", metavar="TIME_OR_SEQ", help="B as it was at this time, commit or bookmark")
    parser.add_argument(
        "--by",
        choices=("key", "path"),
        help="compare stores without a common history by content: match worlds by where importers found them, or by"
        " their path of names",
    )
    depth = parser.add_mutually_exclusive_group()
    depth.add_argument(
        "--deep", action="store_true", help="also compare the stored bytes (done if nothing else differs)"
    )
    depth.add_argument("--hashes-only", action="store_true", help="never compare the stored bytes")
    parser.add_argument("--html", metavar="FILE", help="also write a report that anybody can read in a browser")
    parser.add_argument("--overwrite", action="store_true", help="replace the report's FILE if it exists")


_REMEDY: Final = "Name a store's directory or a bundle"


def _diff(args: Namespace, out: Output) -> int:
    if args.html:
        refuse_existing(args.html, overwrite=args.overwrite)
    a = stores.there(Path(args.a) if args.a else stores.folder_of(args), _REMEDY)
    b = a if args.b is None else stores.there(Path(args.b), _REMEDY)
    if args.b is None and args.at_a is None and args.at_b is None:
        raise UsageError("There is only one store and one moment", "Name another store, or a moment with --at-a")
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
        from worlddb.tools.reports.difference import write_report

        write_report(found, str(a), str(b), Path(args.html))
    out.answer(document(found), lambda page: write_difference(page, found))
    if args.html:
        out.hint(f"The report is in {args.html}; open it in a browser.")
    return DONE if found.equal else NO


def _commit_of(folder: Path, moment: str | None) -> int | None:
    """The last commit of a moment as people name it: a commit, a time or a bookmark."""
    if moment is None:
        return None
    if folder.is_file():
        raise UsageError(f"{folder} is a bundle, which holds one moment", "Give --at-a or --at-b for the store alone")
    with stores.existing_at(folder) as db:
        seq = db.view(**stores.when(moment)).seq
    if not seq:
        raise InputError(f"Nothing had been committed by {moment}", "Compare with a later moment")
    return seq


def _world_of(folders: list[Path], text: str) -> str:
    """The reference of a world that either store knows, by reference or name; a bundle is asked by reference alone."""
    folders = [folder for folder in dict.fromkeys(folders) if not folder.is_file()]
    if not folders:
        return text
    with stores.existing_at(folders[0]) as db:
        try:
            return stores.world_of(db.view(), text)
        except UnknownReference:
            if len(folders) == 1:
                raise
    with stores.existing_at(folders[1]) as db:
        return stores.world_of(db.view(), text)


def document(found: Difference) -> dict[str, Any]:
    """The answer for programs."""
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
            ("diff memory team.bundle", "what the world in a bundle has become since"),
            ("diff mine theirs --by path", "two stores that took in the same by themselves"),
        ),
    ),
)
