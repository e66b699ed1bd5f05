"""``worlddb check-recall`` and ``prove-recall``: receipts of recalls."""

from pathlib import Path

from worlddb import MAX_PROOF_BYTES, RecallCheck, RecallReceipt, check_recall, format_time, read_recall_receipt
from worlddb.tools.cli.base import DONE, NO, Command, Namespace, Output, Page, Parser, arguments, stores
from worlddb.tools.cli.read import recall_command


def _read(args: Namespace) -> RecallReceipt:
    return read_recall_receipt(stores.read_file(args.file, MAX_PROOF_BYTES), args.file)


def _check_arguments(parser: Parser) -> None:
    parser.add_argument("file", metavar="FILE", help="the receipt that `worlddb recall --receipt FILE` wrote")
    parser.add_argument(
        "--question", metavar="TEXT", help="the original question, which is needed to repeat the recall"
    )
    recall_command.add_text_filters(parser)
    parser.add_argument(
        "--tolerance",
        metavar="X",
        type=arguments.number,
        default=0.0,
        help="the largest allowed difference of scores (default: 0)",
    )
    parser.add_argument("--offline", action="store_true", help="open no store, and do not repeat the recall")
    parser.add_argument("--proof", metavar="FILE", help="with --offline: what `worlddb prove-recall` wrote")
    parser.add_argument("--head", metavar="FILE", help="with --offline: a head that was stored elsewhere")
    parser.add_argument(
        "--consistency", metavar="FILE", help="with --head of another number of commits: `worlddb prove --consistency`"
    )
    arguments.add_keys(parser)
    arguments.add_embedder(parser)


def _check(args: Namespace, out: Output) -> int:
    receipt, filters = _read(args), recall_command.text_filters(args)
    given = [name for name in ("proof", "head", "consistency") if getattr(args, name) is not None]
    if given and not args.offline:
        raise arguments.UsageError(f"--{given[0]} needs --offline", "Add --offline, or leave it out")
    if args.offline:
        files = {name: stores.read_file(getattr(args, name), MAX_PROOF_BYTES) for name in given}
        asked = {} if args.question is None else filters
        found = check_recall(receipt, args.question, keys=stores.load_keys(args.keys), **files, **asked)
    else:
        if args.question is None:
            raise arguments.UsageError(
                "The receipt holds no question", "Give the original question with --question, or check --offline"
            )
        with stores.open_existing(args) as db:
            found = db.check_recall(receipt, args.question, tolerance=args.tolerance, **filters)

    def write(page: Page) -> None:
        page.line((_WORDS[found.verdict], "good" if found.ok else "bad"))
        for problem in found.problems:
            page.line(problem, indent=2)
        page.fields(_fields(receipt, found))

    out.answer(_check_record(receipt, found), write)
    return DONE if found.ok else NO


_WORDS = {
    "holds": "holds: the repeated recall gives the same answer",
    "altered": "altered: it differs from the original receipt",
    "another_question": "it is the receipt of another question",
    "another_store": "it is from another store or another history",
    "differs": "does not hold: the repeated recall gives another answer",
    "cannot_recompute": "cannot be recomputed",
    "not_asked": "the recall was not repeated; the checks are below",
}


def _fields(receipt: RecallReceipt, found: RecallCheck) -> list[tuple[str, list[str]]]:
    head, proved = receipt.head, f"{found.proved} of {len(receipt.hits)} are proved to have been in the store"
    where = f"commit {head.size} of store {receipt.store}" if hasattr(head, "size") else f"world {head.world}"
    fields = [("hits", [proved]), ("of", [where]), ("valid", [format_time(receipt.valid)])]
    return [*fields, ("reference", [receipt.reference])]


def _check_record(receipt: RecallReceipt, found: RecallCheck) -> dict[str, object]:
    head = receipt.head
    return {
        "ok": found.ok,
        "verdict": found.verdict,
        "problems": list(found.problems),
        "hits": len(receipt.hits),
        "proved": found.proved,
        "missing": found.missing,
        "erased": list(found.erased),
        "off_by": found.off_by,
        "reference": receipt.reference,
        "store": receipt.store,
        "seq": getattr(head, "size", None),
        "world": getattr(head, "world", None),
        "valid": format_time(receipt.valid),
    }


def _prove_arguments(parser: Parser) -> None:
    parser.add_argument("file", metavar="FILE", help="the receipt that `worlddb recall --receipt FILE` wrote")
    parser.add_argument("--out", metavar="FILE", help="write the proof into this new file (default: print it)")


def _prove(args: Namespace, out: Output) -> int:
    if args.out is not None:
        arguments.check_writable_path(args.out)
        arguments.refuse_existing(args.out, overwrite=False)
    with stores.open_existing(args) as db:
        text = db.prove_recall(_read(args))
    told = {"ok": True, "file": args.out, "bytes": len(text)}
    if args.out is None:
        out.verbatim(told | {"proof": text}, text)
        return DONE
    Path(args.out).write_text(text, encoding="utf-8")
    out.answer(told, lambda page: page.line(f"wrote {args.out}, {len(text):,} bytes"))
    return DONE


COMMANDS = (
    Command(
        "check-recall",
        "check the receipt of a recall: repeat the recall, and prove that its hits were in the store",
        _check_arguments,
        _check,
        (
            ('check-recall tea.recall --question "what is said of tea?"', "exit code 1 if it does not hold"),
            ("check-recall tea.recall --offline --proof tea.proofs --head monday.head", "without the store"),
        ),
    ),
    Command(
        "prove-recall",
        "prove, to somebody without the store, that the hits of a receipt were in it",
        _prove_arguments,
        _prove,
        (("prove-recall tea.recall --out tea.proofs", "for `worlddb check-recall --offline --proof`"),),
    ),
)
