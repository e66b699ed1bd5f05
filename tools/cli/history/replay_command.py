"""``worlddb replay --without``: the store as it would have been without some commits.

``worlddb replay --step``: what each commit decided, one at a time.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections import Counter
from collections.abc import Iterable
from typing import Any

from worlddb import Database, Redecision, Replayed, Staged, Step
from worlddb.tools.cli.base import stores, wire
from worlddb.tools.cli.base.arguments import DONE, UsageError
from worlddb.tools.cli.base.output import Output, is_terminal
from worlddb.tools.cli.base.page import Page, counted, one_line
from worlddb.tools.cli.history.log_commands import write_events


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
                _write_step(out.page, step)
            sys.stdout.flush()
    return DONE


def _goes_on() -> bool:
    """True if the person asks for the next commit; an end of the input is a no."""
    sys.stderr.write("Enter for the next commit, q to stop: ")
    sys.stderr.flush()
    said = sys.stdin.readline()
    return bool(said) and not said.strip().lower().startswith("q")


def _write_step(page: Page, step: Step) -> None:
    receipt = step.receipt
    state = "staged" if isinstance(receipt.outcome, Staged) else "committed"
    when = f"  {wire.moment(receipt.ingest_time)}  {step.author}"
    page.line((f"{receipt.seq}", "title"), when, (f"  {state}", "warn" if state == "staged" else "good"))
    if step.commands:
        page.line((f"{'asked':12}{counted_commands(step.commands)}", "dim"), indent=4)
    write_events(page, step.events, whole=False)
    for note in receipt.notes:
        page.line((f"{'note':12}{note}", "warn"), indent=4)
    page.line((f"{'root':12}{wire.short(receipt.root)}", "dim"), indent=4)


def counted_commands(commands: tuple[str, ...]) -> str:
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


_SHOWN_CHARACTERS = 240
_WORDS = {
    "left_out": ("left out", "dim"),
    "refused": ("refused", "bad"),
    "unchanged": ("nothing to write", "dim"),
    "undecidable": ("cannot be decided again, left out", "bad"),
    "taken_over": ("cannot be decided again, taken over", "dim"),
    "committed": ("decided otherwise", "warn"),
    "staged": ("decided otherwise: staged", "warn"),
}


def add_without(parser: ArgumentParser) -> None:
    """``--without`` and ``--without-author``."""
    parser.add_argument(
        "--without",
        metavar="SEQ[,SEQ...]",
        action="extend",
        default=[],
        type=_numbers,
        help="as it would have been without these commits; later ones are decided again",
    )
    parser.add_argument(
        "--without-author",
        metavar="NAME",
        action="append",
        default=[],
        help="as it would have been without the commits of this author",
    )


def _numbers(text: str) -> list[int]:
    parts = text.split(",")
    if not all(part.isascii() and part.strip().isdigit() and len(part) < 20 for part in parts):
        raise ArgumentTypeError(f"{text!r} is not a list of commits; write it as 7,9")
    return [int(part) for part in parts]


def suppose(db: Database, args: Namespace, seq: int, out: Output) -> int:
    """Make the hypothetical store up to a commit, and tell what came of leaving commits out."""
    with out.steps("Deciding commits") as told:
        made = db.replay(args.into, seq=seq, without=args.without, without_author=args.without_author, progress=told)
    found = made.hypothesis
    assert found is not None, "something was to be left out"
    document = {
        "seq": made.seq,
        "root": made.root,
        "matches_recorded": made.matches_recorded,
        "into": args.into,
        "hypothetical": True,
        "supposes": found.supposes,
        "store": found.store_id,
        "parted": found.parted,
        "same": found.same,
        "differing": [redecision(each) for each in found.differing],
    }
    out.answer(document, lambda page: _write(page, made, args, out))
    return DONE


def redecision(each: Redecision) -> dict[str, Any]:
    """A commit that does not come out the same, for a program."""
    told = wire.record(each)
    for side in ("events_then", "events_now"):
        told[side] = [{"event": event.event, "data": event.data} for event in getattr(each, side)]
    return told


def _without_vectors(differing: Iterable[Redecision]) -> tuple[list[Redecision], Counter[str]]:
    """Commits that do not come out the same, and apart from them how many are of vectors, by what became of them.

    Such commits come after every few writes, and differ because what they follow does.
    """
    others: list[Redecision] = []
    vectors: Counter[str] = Counter()
    for each in differing:
        if each.code or set(each.commands) != {"embed"}:
            others.append(each)
        else:
            vectors[each.now] += 1
    return others, vectors


def _write(page: Page, made: Replayed, args: Namespace, out: Output) -> None:
    found = made.hypothesis
    assert found is not None, "something was to be left out"
    page.line(("hypothetical", "warn"), f"  {found.supposes}, in {args.into}")
    others, vectors = _without_vectors(found.differing)
    for each in others:
        word, style = _WORDS[each.now]
        why = f" ({each.code})" if each.code else ""
        why += f": {one_line(each.reason, _SHOWN_CHARACTERS)}" if each.reason else ""
        about = f"  {each.author}  {counted_commands(each.commands)}  "
        page.line((f"{each.seq}", "title"), about, (word, style), why)
    for now, number in vectors.items():
        page.line((f"{counted(number, 'commit')} of vectors", "dim"), "  ", _WORDS[now])
    page.line(f"{found.same:,} later commits were decided again and came out the same; root {made.root}")
    here = stores.folder_of(args)
    out.hint(f"It can be read and compared: `worlddb diff {here} {args.into}`. Nothing can be written to it.")
