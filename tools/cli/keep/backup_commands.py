"""``worlddb backup`` and ``restore``: an incremental copy, and a store made from it."""

import shlex
from pathlib import Path
from typing import Final

import worlddb
from worlddb.tools.cli.base import DONE, Command, Namespace, Output, Page, Parser, stores, wire


def _backup_arguments(parser: Parser) -> None:
    parser.add_argument("into", metavar="DIR", help="a new directory, or that of an earlier backup of this store")


def _backup(args: Namespace, out: Output) -> int:
    with stores.open_existing(args) as db, out.steps("Copying commits") as report:
        made = db.backup(args.into, progress=report)
    document = {"seq": made.seq, "root": made.root, "commits": made.commits, "into": args.into}

    def write(page: Page) -> None:
        new = f"{wire.counted(made.commits, 'commit')} copied" if made.commits else "it was up to date"
        page.line((args.into, "good"), f"  has commits 1 to {made.seq:,}; {new}; root {made.root}")
        before = made.seq - made.commits
        if before:
            which = "commit 1 was" if before == 1 else f"commits 1 to {before:,} were"
            page.line(f"{which} there and not read again: `worlddb --store {shlex.quote(args.into)} verify` checks all")
        if not made.scrubbed:
            out.hint("Erased texts may remain in its files, since the copy is in use: run this again when it is not.")

    out.answer(document, write)
    return DONE


def _restore_arguments(parser: Parser) -> None:
    parser.add_argument("backup", metavar="DIR", help="the directory of a backup")
    parser.add_argument("--into", metavar="NEW", required=True, help="a new directory for the store")
    parser.add_argument(
        "--erasures-from", metavar="STORE", help="also apply the later erasures of this store, the original"
    )


def _restore(args: Namespace, out: Output) -> int:
    with out.steps("Restoring commits") as report:
        made = worlddb.restore(
            stores.require_existing(Path(args.backup)), args.into, erasures_of=args.erasures_from, progress=report
        )
    told = "" if args.erasures_from is not None else _UNKNOWN_ERASURES.format(made.seq)
    document = {"seq": made.seq, "root": made.root, "erasures": made.erasures, "into": args.into}
    document["notes"] = [told] if told else []

    def write(page: Page) -> None:
        page.line((args.into, "good"), f"  has commits 1 to {made.seq:,}; root {made.root}")
        if made.erasures:
            were = "was" if made.erasures == 1 else "were"
            page.line(f"{wire.counted(made.erasures, 'later erasure')} {were} applied to it")

    out.answer(document, write)
    if told:
        out.warn(told)
    return DONE


_UNKNOWN_ERASURES: Final = (
    "What was erased after commit {:,}, the last one of the backup, is in it again, since a backup knows of no later"
    " erasure. If the original still exists, restore into another directory with --erasures-from STORE; else erase"
    " again what the receipts of later erasures name"
)


COMMANDS = (
    Command(
        "backup",
        "copy the store into another directory, or bring such a copy up to date",
        _backup_arguments,
        _backup,
        (
            ("backup backups/memory", "the first time all commits, later the new ones; writers may continue"),
            ("backup backups/memory --json", "for a program: the last commit and the root hash"),
        ),
    ),
    Command(
        "restore",
        "restore a store from a backup",
        _restore_arguments,
        _restore,
        (
            ("restore backups/memory --into memory --erasures-from old", "without what the original erased later"),
            ("restore backups/memory --into memory", "every commit and text is checked on the way"),
        ),
    ),
)
