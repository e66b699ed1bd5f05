"""``worlddb proposals``, ``accept``, ``reject``, ``undo``, ``recluster``: identities.

``proposals --review`` shows each pair side by side with its evidence and asks for one letter.
"""

import sys
from collections.abc import Callable
from typing import Final

from worlddb import AmbiguousReference, Database, InputError, Proposal, Receipt, UnknownReference, View
from worlddb.tools.cli.base import BUSY, DONE, Command, Namespace, Output, Page, Parser, Span, arguments, stores, wire
from worlddb.tools.cli.write.write_commands import answer_receipt

_ANSWERS: Final = {"a": "accepted", "r": "rejected", "s": "skipped"}


def review(args: Namespace, out: Output) -> int:
    """Ask about every pending proposal, in staging order, until the answers end."""
    decided: list[dict[str, object]] = []
    with stores.open_existing(args, author=args.author) as db:
        pending = db.proposals()
        for number, proposal in enumerate(pending, 1):
            if not out.json:
                out.page.line((f"{number} of {len(pending)}", "dim"))
                write_pair(out.page, db.view(), proposal)
            answer = _ask()
            if answer == "q":
                break
            decided.append(_decide(db, proposal, answer, out))
        pending_count = len(db.proposals())

        def write(page: Page) -> None:
            counts = ", ".join(
                f"{sum(each['answer'] == told for each in decided)} {told}" for told in (*_ANSWERS.values(), "refused")
            )
            page.line(f"{counts}; {pending_count} pending.")

        out.answer({"reviewed": decided, "pending": pending_count}, write)
    return DONE


def _ask() -> str:
    """Return ``a``, ``r`` or ``s``, or ``q`` at the end of input; anything else is asked again."""
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
    """Carry out an answer; report a refusal and continue the review."""
    entry: dict[str, object] = {"ref": proposal.ref, "answer": _ANSWERS[answer]}
    if answer != "s":
        receipt = (db.accept if answer == "a" else db.reject)(proposal, why="reviewed")
        if not receipt:
            entry |= {"answer": "refused", "reason": str(receipt)}
    if not out.json:
        out.page.line((str(entry["answer"]), "dim"), f"  {entry.get('reason', '')}".rstrip())
        out.page.line("")
    return entry


def write_pair(page: Page, view: View, proposal: Proposal) -> None:
    """Write the two sides of a proposal side by side, with the evidence."""
    sides = [_side(view, ref) for ref in (proposal.source, proposal.target)]
    page.table(("", "newcomer", "may be"), [(name, *(side[name] for side in sides)) for name in sides[0]])
    page.line((f"because  {proposal.because or 'somebody said so'}", "dim"))


def _side(view: View, ref: str) -> dict[str, Span]:
    world = view.get(ref, include_superseded=True)
    rows: dict[str, Span] = {"reference": (wire.short(ref), "ref")}
    if world is not None:
        rows |= {
            "type": world.type,
            "name": wire.one_line(world.name, 48),
            "also called": wire.one_line(", ".join(world.aliases), 48),
            "content": wire.one_line(world.content, 48),
            "source": wire.one_line(wire.provenance(world.source), 48),
        }
    return rows | {"inside": wire.one_line(" / ".join(stores.path_of(view, ref)), 48)}


_STATUSES: Final = ("pending", "accepted", "rejected", "undone", "all")


def _proposals_arguments(parser: Parser) -> None:
    parser.add_argument(
        "--status", choices=_STATUSES, default="pending", help="list proposals of this status (default: pending)"
    )
    parser.add_argument(
        "--review", action="store_true", help="show each pending pair side by side and ask: a(ccept), r(eject), s(kip)"
    )
    arguments.add_author(parser)
    arguments.add_moment(parser)
    arguments.add_confine(parser)


def _proposals(args: Namespace, out: Output) -> int:
    if args.review:
        return review(args, out)
    with stores.open_existing(args) as db:
        view = stores.view_of(db, args)
        found = view.proposals(status=None if args.status == "all" else args.status)

        def write(page: Page) -> None:
            for proposal in found:
                _write_proposal(page, view, proposal)
            if not found:
                page.line("No proposals." if args.status == "all" else f"No {args.status} proposals.")
            elif args.status == "pending":
                first = wire.short(found[0].ref)
                out.hint(f"Next: {stores.command_prefix(args)} accept {first}   or reject, or proposals --review")

        document = {"proposals": [wire.proposal(proposal) for proposal in found], "view": wire.view(view)}
        out.answer(document, write)
    return DONE


def _write_proposal(page: Page, view: View, proposal: Proposal) -> None:
    state = {"pending": "warn", "accepted": "good"}.get(proposal.status, "dim")
    page.line((wire.short(proposal.ref), "ref"), "  ", (proposal.status, state), f"  commit {proposal.seq}")
    for role, ref, name in (
        ("newcomer", proposal.source, proposal.source_name),
        ("may be", proposal.target, proposal.target_name),
    ):
        where = " / ".join(stores.path_of(view, ref))
        page.line(f"{role:9} {name} ", (wire.short(ref), "ref"), (f"  in {where}" if where else "", "dim"), indent=4)
    evidence = proposal.because
    ends = (view.get(ref, include_superseded=True) for ref in (proposal.source, proposal.target))
    if not evidence and any(world is not None and world.erased for world in ends):
        evidence = "of what was erased with the texts"
    page.line((f"because   {evidence or 'somebody said so'}", "dim"), indent=4)


def _decision_arguments(parser: Parser) -> None:
    parser.add_argument("proposal", metavar="P", help="the proposal's reference, or its first digits")
    parser.add_argument("--why", default="", metavar="TEXT", help="the reason, kept with the decision")
    arguments.add_author(parser)


def _decision_function(decide: Callable[[Database, str, str], Receipt]) -> Callable[[Namespace, Output], int]:
    """Return the function that decides a proposal in one of the three ways."""

    def run(args: Namespace, out: Output) -> int:
        with stores.open_existing(args, author=args.author) as db:
            try:
                receipt = decide(db, args.proposal, args.why)
            except InputError as error:
                if isinstance(error, AmbiguousReference):
                    raise
                remedy = "`worlddb proposals --status all` lists the proposals"
                if args.proposal.isdecimal():
                    remedy += f"; `worlddb undo --commit {args.proposal}` takes back a commit"
                raise UnknownReference(error.message, remedy) from None
            receipt.raise_if_refused()
            view = db.view()
            (proposal,) = (each for each in view.proposals(status=None) if each.ref == receipt.ref)

            def write(page: Page) -> None:
                result = f"{proposal.status}: {proposal.source_name} and {proposal.target_name}"
                page.line(result, (f"  commit {receipt.seq}, root {wire.short(receipt.root)}", "dim"))
                for note in receipt.notes:
                    page.line((f"note: {wire.note_text(note)}", "dim"))

            out.answer({"proposals": [wire.proposal(proposal)], **_without_proposals(receipt)}, write)
        return DONE

    return run


def _undo_arguments(parser: Parser) -> None:
    parser.add_argument("proposal", metavar="P", nargs="?", help="the proposal's reference, or its first digits")
    parser.add_argument(
        "--commit", metavar="N", type=arguments.count, help="undo this commit, which changed beliefs or marks"
    )
    parser.add_argument("--why", default="", metavar="TEXT", help="the reason, kept with the decision")
    arguments.add_author(parser)


def _undo(args: Namespace, out: Output) -> int:
    if (args.proposal is None) == (args.commit is None):
        raise arguments.UsageError("Both a proposal and --commit were given, or neither", "Give one of them")
    if args.commit is None:
        return _decision_function(lambda db, proposal, why: db.undo(proposal, why=why))(args, out)
    with stores.open_existing(args, author=args.author) as db:
        return answer_receipt(args, db, out, db.undo(args.commit, why=args.why), has_text=True)


def _recluster_arguments(parser: Parser) -> None:
    parser.add_argument("--limit", type=arguments.count, metavar="N", help="compare about N worlds at most")


def _recluster(args: Namespace, out: Output) -> int:
    with stores.open_existing(args) as db:
        done = db.recluster(limit=args.limit)
        head = db.head()

    def write(page: Page) -> None:
        if done.busy:
            page.line(("Another process is doing this, so nothing was done.", "warn"))
        else:
            page.line(f"looked at {wire.counted(done.looked_at, 'world')}, proposed {len(done.proposals):,}")
        if done.pending:
            page.line((f"{wire.counted(done.pending, 'commit')} not looked at yet", "dim"))
        if done.proposals:
            out.hint(f"Next: {stores.command_prefix(args)} proposals --review")

    document = {"looked_at": done.looked_at, "proposals": list(done.proposals), "pending": done.pending}
    out.answer({**document, "busy": done.busy, "events": done.events, "seq": head.seq, "root": head.root}, write)
    return BUSY if done.busy else DONE


def _without_proposals(receipt: Receipt) -> dict[str, object]:
    return {name: value for name, value in wire.receipt(receipt).items() if name != "proposals"}


COMMANDS = (
    Command(
        "proposals",
        "list proposed identities: worlds that may be the same, awaiting a decision",
        _proposals_arguments,
        _proposals,
        (
            ("proposals", "what waits for a decision"),
            ("proposals --review", "one letter decides a pair"),
            ("proposals --status all", "decided ones too"),
        ),
    ),
    Command(
        "recluster",
        "compare worlds written since the last run, and propose identities",
        _recluster_arguments,
        _recluster,
        (("recluster", "as ingest does at its end"), ("recluster --limit 1000", "a part of it")),
    ),
    Command(
        "accept",
        "accept a proposal: the two worlds are one identity from now on, and stay unchanged",
        _decision_arguments,
        _decision_function(lambda db, proposal, why: db.accept(proposal, why=why)),
        (('accept 3fa9c2d1 --why "same badge number"', "nothing is rewritten, and undo takes it back"),),
    ),
    Command(
        "reject",
        "reject a proposal: the two worlds stay separate",
        _decision_arguments,
        _decision_function(lambda db, proposal, why: db.reject(proposal, why=why)),
        (('reject 3fa9c2d1 --why "two people"', "not proposed again until one of them changes"),),
    ),
    Command(
        "undo",
        "undo an accepted proposal, or take back a commit that changed beliefs or marks",
        _undo_arguments,
        _undo,
        (
            ('undo 3fa9c2d1 --why "it was his brother"', "earlier views still see that it was accepted"),
            ("undo --commit 5 --why wrong", "restores the beliefs, tags and deprecations before it"),
        ),
    ),
)
