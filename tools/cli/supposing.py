"""``worlddb replay --without``: the store as it would have been without some commits."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections import Counter
from collections.abc import Iterable
from typing import Any

from worlddb import Database, Redecision, Replayed
from worlddb.tools.cli import stores, wire
from worlddb.tools.cli.command import DONE
from worlddb.tools.cli.output import Output
from worlddb.tools.cli.page import Page, counted, one_line
from worlddb.tools.cli.stepping import counted as commands_counted

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
        about = f"  {each.author}  {commands_counted(each.commands)}  "
        page.line((f"{each.seq}", "title"), about, (word, style), why)
    for now, number in vectors.items():
        page.line((f"{counted(number, 'commit')} of vectors", "dim"), "  ", _WORDS[now])
    page.line(f"{found.same:,} later commits were decided again and came out the same; root {made.root}")
    here = stores.folder_of(args)
    out.hint(f"It can be read and compared: `worlddb diff {here} {args.into}`. Nothing can be written to it.")
