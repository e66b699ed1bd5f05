"""``worlddb withdraw`` and ``receipts``: take back a source, and list the kept receipts that name a memory."""

from collections.abc import Iterator
from typing import Any, Final

from worlddb import MAX_PROOF_BYTES, View, Withdrawal
from worlddb.tools.cli.base import DONE, Command, Namespace, Output, Page, Parser, arguments, stores, wire
from worlddb.tools.cli.write.write_commands import add_common

_HOW: Final = ("contract", "deprecate", "flag")
_SHOWN: Final = 20
"""Worlds that are listed for a person; a program gets all."""


def _arguments(parser: Parser) -> None:
    parser.add_argument(
        "world",
        metavar="SOURCE",
        nargs="?",
        help="a world with all inside, as a document or a session (reference or name)",
    )
    parser.add_argument(
        "--of-author", metavar="AUTHOR", action="append", help="everything that this author wrote; repeatable"
    )
    parser.add_argument(
        "--source", metavar="FIELD=VALUE", action="append", help="everything with this field in its source; repeatable"
    )
    parser.add_argument("--since", metavar="TIME", help="only what was written at this time or later")
    parser.add_argument("--until", metavar="TIME", help="only what was written before this time")
    parser.add_argument("--artifact", metavar="NAME", help="versions with this artifact: its name, location or hash")
    parser.add_argument("--plan", action="store_true", help="only show what depends on it, and what would change")
    parser.add_argument(
        "--how",
        choices=_HOW,
        default=_HOW[0],
        help="end it, leave it out of recalls and lists, or tag it as withdrawn (default: contract)",
    )
    parser.add_argument("--dependents", action="store_true", help="do the same with everything that depends on it")
    parser.add_argument(
        "--depth", metavar="N", type=int, default=10, help="how many steps to follow, 1 to 20 (default: 10)"
    )
    parser.add_argument(
        "--question",
        metavar="TEXT",
        action="append",
        default=[],
        help="show the answers to this with and without the source",
    )
    parser.add_argument(
        "--receipt",
        metavar="FILE",
        action="append",
        default=[],
        help="show whether this receipt of a recall names any of them",
    )
    add_common(parser)
    arguments.add_moment(parser)
    arguments.add_confine(parser)


def _make_plan(view: View, args: Namespace) -> Withdrawal:
    return view.withdrawal(
        None if args.world is None else stores.resolve_to_write(view, args.world),
        author=args.of_author,
        source=arguments.parse_source(args.source),
        since=args.since,
        until=args.until,
        artifact=args.artifact,
        how=args.how,
        dependents=args.dependents,
        depth=args.depth,
        questions=args.question,
        receipts=[stores.read_file(file, MAX_PROOF_BYTES) for file in args.receipt],
    )


def _withdraw(args: Namespace, out: Output) -> int:
    with stores.open_existing(args, author=args.author) as db:
        view = stores.view_of(db, args)
        plan = _make_plan(view, args)
        receipt = None
        if not args.plan and plan.changes:
            receipt = db.withdraw(plan, why=args.why, idempotency_key=args.idempotency_key)
            receipt.raise_if_refused()

        def write(page: Page) -> None:
            _write(page, view, plan)
            if receipt is not None:
                page.line(f"withdrawn at commit {receipt.seq}")
            elif not args.plan:
                page.line(("nothing from this source is valid, so nothing was withdrawn", "warn"))

        document = wire.record(plan) | {
            "seq": plan.seq if receipt is None else receipt.seq,
            "done": receipt is not None,
        }
        out.answer(document, write)
        if receipt is not None:
            out.hint(f"Take it back with: {stores.command_prefix(args)} undo --commit {receipt.seq}")
    return DONE


def _write(page: Page, view: View, plan: Withdrawal) -> None:
    page.line(str(plan))
    for said in plan.withdrawn[:_SHOWN]:
        name = stores.name_of(view, said.ref)
        page.line((wire.short(said.ref), "ref"), f"  version {said.number}, by {said.author}: ", (name, "name"))
    for said in plan.kept[:_SHOWN]:
        page.line((wire.short(said.ref), "ref"), f"  stays: also stated by {', '.join(said.said_again_by)}")
    if plan.rests_on_it:
        page.line("what depends on it:")
    for each in plan.rests_on_it[:_SHOWN]:
        name = stores.name_of(view, each.ref)
        page.line((wire.short(each.ref), "ref"), f"  {each.depth} away: ", (name, "name"), indent=2)
        for line in _path_lines(view, each.paths):
            page.line((line, "dim"), indent=4)
    for answer in plan.answers:
        became = "the same" if not answer.changes else f"{len(answer.before)} hits become {len(answer.after)}"
        page.line(f"{answer.question}: {became}")


def _path_lines(view: View, paths: Any) -> Iterator[str]:
    for path in paths:
        trust = "" if path.trust is None else f" (least trust: {path.trust})"
        yield " -> ".join(stores.name_of(view, ref) for ref in path.worlds) + trust


def _receipts_arguments(parser: Parser) -> None:
    parser.add_argument("ref", metavar="REF", help="a reference, its first digits, or a name")
    arguments.add_moment(parser)
    arguments.add_confine(parser)


def _receipts(args: Namespace, out: Output) -> int:
    with stores.open_existing(args) as db:
        view = stores.view_of(db, args)
        found = view.receipts_of(stores.resolve_world(view, args.ref))

        def write(page: Page) -> None:
            if not found:
                page.line("No receipt in the log names it.")
            for each in found:
                what = "erased" if each.receipt is None else each.receipt.reference
                page.line(f"commit {each.seq}, by {each.author}: {what}")

        out.answer({"receipts": [_receipt_record(each) for each in found], "view": wire.view(view)}, write)
    return DONE


def _receipt_record(kept: Any) -> dict[str, Any]:
    return {
        "seq": kept.seq,
        "ingested_at": wire.time(kept.ingested_at),
        "author": kept.author,
        "reference": None if kept.receipt is None else kept.receipt.reference,
        "hash": None if kept.receipt is None else kept.receipt.hash,
    }


COMMANDS = (
    Command(
        "withdraw",
        "withdraw what a source said: list what depends on it, then end, deprecate or flag it in one commit",
        _arguments,
        _withdraw,
        (
            (
                "withdraw --of-author agent-9 --plan --question lease",
                "what depends on that author, and which answers change",
            ),
            ("withdraw Shelf --how deprecate --why 'bought by mistake'", "a world with all inside; nothing ends"),
            ("withdraw --source batch=7 --since 2024-05-01 --dependents --plan", "with everything that depends on it"),
        ),
    ),
    Command(
        "receipts",
        "list the kept receipts of recalls that name a memory",
        _receipts_arguments,
        _receipts,
        (('receipts "On tea"', "left by `worlddb recall --receipt FILE --keep-receipt`"),),
    ),
)
