"""``worlddb doctor``: problems of a store or an installation, and their remedies."""

import os
from pathlib import Path

import worlddb
from worlddb import Diagnosis, Symptom
from worlddb.tools.cli.base import DONE, NO, Command, Namespace, Output, Page, Parser, Span, arguments, stores, wire


def _arguments(parser: Parser) -> None:
    parser.add_argument("place", metavar="STORE", nargs="?", help="the store's directory, as --store")
    parser.add_argument(
        "--deep",
        action="store_true",
        help="also replay the log and compare every table and every entry of an index with the result",
    )


def _doctor(args: Namespace, out: Output) -> int:
    folder = _folder(args)
    with out.steps("Examining commits") as report:
        found = worlddb.diagnose(folder, deep=args.deep, progress=report)
    document = {
        "ok": found.ok,
        "store": found.store or None,
        "deep": found.deep,
        "symptoms": [symptom._asdict() | {"command": symptom.command or None} for symptom in found.symptoms],
        "checked": list(found.checked),
        "skipped": [{"check": name, "reason": why} for name, why in found.skipped],
    }
    out.answer(document, lambda page: _write(page, out, found))
    return DONE if found.ok else NO


def _folder(args: Namespace) -> Path | None:
    """Return the named store; None if none was named and the default does not exist."""
    if args.place is not None and args.store is not None:
        raise arguments.UsageError("The store was named twice", "Name it after the command, or with --store")
    if args.place is not None:
        args.store = args.place
    folder = stores.folder_of(args)
    named = args.store is not None or os.environ.get("WORLDDB_STORE")
    return folder if named or folder.exists() else None


def _write(page: Page, out: Output, found: Diagnosis) -> None:
    for symptom in found.symptoms:
        _write_symptom(page, symptom)
    for name, why in found.skipped:
        page.line(("not looked at: ", "warn"), f"{name}: {why}")
    wrong = sum(symptom.wrong for symptom in found.symptoms)
    of = f"of {found.store}" if found.store else "of the installation; no store was named, and none is here"
    checks = f"{wire.counted(len(found.checked), 'check')} {of}"
    if found.ok:
        page.line(("nothing is wrong", "good"), f"  {checks}")
    else:
        page.line((f"{wire.counted(wrong, 'thing')} {'is' if wrong == 1 else 'are'} wrong", "bad"), f"  {checks}")
    if found.store and not found.deep:
        out.hint("Rows of the tables were not compared with the log: --deep does that.")


def _write_symptom(page: Page, symptom: Symptom) -> None:
    label = ("wrong  ", "bad") if symptom.wrong else ("note   ", "warn")
    page.line(label, (symptom.what, "title"))
    rows: list[tuple[str, list[Span]]] = [("where", [symptom.where]), ("why", [symptom.why]), ("do", [symptom.remedy])]
    if symptom.command:
        rows.append(("type", [(symptom.command, "ref")]))
    page.fields(rows, indent=7)


COMMANDS = (
    Command(
        "doctor",
        "find out what is wrong with a store or an installation, why it matters, and what to type to mend it",
        _arguments,
        _doctor,
        (
            ("doctor", "this installation, and the store; exit code 1 if something is wrong"),
            ("doctor --deep", "also every row of the tables against the log"),
            ("doctor --json", "for a monitor: every finding with its code and the command that mends it"),
        ),
    ),
)
