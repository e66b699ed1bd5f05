"""``worlddb replay --step``: what each commit decided, one at a time."""

from __future__ import annotations

import sys
from argparse import Namespace

from worlddb import Staged, Step
from worlddb.tools.cli import stores, wire
from worlddb.tools.cli.arguments import UsageError
from worlddb.tools.cli.command import DONE
from worlddb.tools.cli.journal import write_events
from worlddb.tools.cli.output import Output, is_terminal
from worlddb.tools.cli.page import Page


def step_through(args: Namespace, out: Output) -> int:
    """Show the commits up to a moment; between two of them, wait for a person who is there to ask for the next."""
    if args.without or args.without_author:
        raise UsageError("--step shows what was decided, with nothing left out", "Leave out --without, or --step")
    if args.into is not None:
        raise UsageError("--step only shows, and writes no store", "Leave out --into, or --step")
    with stores.existing(args) as db:
        last = None if args.until is None else db.view(**stores.when(args.until)).seq
        asks = not (out.json or out.quiet) and is_terminal(sys.stdin) and is_terminal(sys.stderr)
        for step in db.steps(last=last):
            if asks and step.receipt.seq > 1 and not _goes_on():
                break
            if out.json:
                out.document(_document(step))
            else:
                _write(out.page, step)
            sys.stdout.flush()
    return DONE


def _goes_on() -> bool:
    """True if the person asks for the next commit; an end of the input is a no."""
    sys.stderr.write("Enter for the next commit, q to stop: ")
    sys.stderr.flush()
    said = sys.stdin.readline()
    return bool(said) and not said.strip().lower().startswith("q")


def _write(page: Page, step: Step) -> None:
    receipt = step.receipt
    state = "staged" if isinstance(receipt.outcome, Staged) else "committed"
    when = f"  {wire.moment(receipt.ingest_time)}  {step.author}"
    page.line((f"{receipt.seq}", "title"), when, (f"  {state}", "warn" if state == "staged" else "good"))
    if step.commands:
        page.line((f"{'asked':12}{counted(step.commands)}", "dim"), indent=4)
    write_events(page, step.events, whole=False)
    for note in receipt.notes:
        page.line((f"{'note':12}{note}", "warn"), indent=4)
    page.line((f"{'root':12}{wire.short(receipt.root)}", "dim"), indent=4)


def counted(commands: tuple[str, ...]) -> str:
    """The commands by name, those that follow each other once with their number."""
    told: list[tuple[str, int]] = []
    for name in commands:
        if told and told[-1][0] == name:
            told[-1] = name, told[-1][1] + 1
        else:
            told.append((name, 1))
    return ", ".join(name if count == 1 else f"{name} x {count}" for name, count in told)


def _document(step: Step) -> dict[str, object]:
    """One object a commit: the receipt, and its decisions as `worlddb log --json` has them."""
    return wire.receipt(step.receipt) | {
        "author": step.author,
        "commands": list(step.commands),
        "decisions": [wire.entry(entry) for entry in step.events],
    }
