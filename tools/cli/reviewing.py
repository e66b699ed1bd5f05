"""``worlddb proposals --review``: each pair side by side with the evidence, and one letter decides."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import Final

from worlddb import Database, Proposal, View
from worlddb.tools.cli import stores, wire
from worlddb.tools.cli.command import DONE
from worlddb.tools.cli.output import Output
from worlddb.tools.cli.page import Page, Span, one_line

_ANSWERS: Final = {"a": "accepted", "r": "rejected", "s": "skipped"}


def review(args: Namespace, out: Output) -> int:
    """Ask about every pending proposal, in the order in which they were staged, until the answers end."""
    decided: list[dict[str, object]] = []
    with stores.existing(args, author=args.author) as db:
        pending = db.proposals()
        for number, proposal in enumerate(pending, 1):
            if not out.json:
                out.page.line((f"{number} of {len(pending)}", "dim"))
                write_pair(out.page, db.view(), proposal)
            answer = _ask()
            if answer == "q":
                break
            decided.append(_decide(db, proposal, answer, out))
        left = len(db.proposals())

        def write(page: Page) -> None:
            counts = ", ".join(
                f"{sum(each['answer'] == told for each in decided)} {told}" for told in (*_ANSWERS.values(), "refused")
            )
            page.line(f"{counts}; {left} pending.")

        out.answer({"reviewed": decided, "pending": left}, write)
    return DONE


def _ask() -> str:
    """``a``, ``r``, ``s``, or ``q`` where nobody answers any more. Anything else is asked again."""
    while True:
        sys.stderr.write("accept, reject, skip or quit? [a/r/s/q] ")
        sys.stderr.flush()
        line = "" if sys.stdin is None else sys.stdin.readline()
        answer = line.strip().lower()[:1]
        if not line or answer == "q":
            if not line:
                sys.stderr.write("\n")
            return "q"
        if answer in _ANSWERS:
            return answer


def _decide(db: Database, proposal: Proposal, answer: str, out: Output) -> dict[str, object]:
    """Carry out an answer; a refusal is told, and the review goes on."""
    told: dict[str, object] = {"ref": proposal.ref, "answer": _ANSWERS[answer]}
    if answer != "s":
        receipt = (db.accept if answer == "a" else db.reject)(proposal, why="reviewed")
        if not receipt:
            told |= {"answer": "refused", "reason": str(receipt)}
    if not out.json:
        out.page.line((str(told["answer"]), "dim"), f"  {told.get('reason', '')}".rstrip())
        out.page.line("")
    return told


def write_pair(page: Page, view: View, proposal: Proposal) -> None:
    """The two sides of a proposal beside each other, and why they may be one."""
    sides = [_side(view, ref) for ref in (proposal.source, proposal.target)]
    page.table(("", "newcomer", "may be"), [(name, *(side[name] for side in sides)) for name in sides[0]])
    page.line((f"because  {proposal.because or 'somebody said so'}", "dim"))


def _side(view: View, ref: str) -> dict[str, Span]:
    world = view.get(ref, include_superseded=True)
    rows: dict[str, Span] = {"reference": (wire.short(ref), "ref")}
    if world is not None:
        rows |= {
            "type": world.type,
            "name": one_line(world.name, 48),
            "also called": one_line(", ".join(world.aliases), 48),
            "content": one_line(world.content, 48),
            "source": one_line(wire.provenance(world.source), 48),
        }
    return rows | {"inside": one_line(" / ".join(stores.path_of(view, ref)), 48)}
