"""``worlddb erase`` and ``check-receipt``: removing texts for good, with a receipt."""

import json
import shlex
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TextIO

from worlddb import (
    MAX_PROOF_BYTES,
    AmbiguousReference,
    Database,
    ErasurePlan,
    InputError,
    LimitExceeded,
    View,
    World,
)
from worlddb.tools.cli.base import BUSY, DONE, NO, Command, Namespace, Output, Page, Parser, arguments, stores, wire

_SHOWN: Final = 8


def _erase_arguments(parser: Parser) -> None:
    parser.add_argument("refs", metavar="REF", nargs="+", help="a reference, its first digits, or a name")
    parser.add_argument(
        "--reason",
        help="reference of the erasure, such as a request's number; it is kept (optional with --dry-run)",
    )
    parser.add_argument("--all", action="store_true", help="erase every world of an ambiguous name, valid or not")
    parser.add_argument("--turns", action="store_true", help="also erase the turns that it spoke")
    parser.add_argument("--everywhere", action="store_true", help="also erase every world that ever had the same text")
    parser.add_argument(
        "--keep-derived",
        action="store_true",
        help="keep what was made of the texts: worlds derived from them, summaries, what an extractor found in them",
    )
    parser.add_argument(
        "--forbid",
        action="store_true",
        help="forbid writing it again: its contents, and its name where it had no content",
    )
    parser.add_argument(
        "--receipt", metavar="FILE", help="write the receipt into this new file; `worlddb check-receipt FILE` checks it"
    )
    parser.add_argument("--dry-run", action="store_true", help="only say what would be erased")
    parser.add_argument("--yes", action="store_true", help="do not ask for confirmation; needed without a terminal")
    arguments.add_author(parser)


def _erase(args: Namespace, out: Output) -> int:
    if args.reason is None and not args.dry_run:
        raise arguments.UsageError(
            "The following argument is required: --reason", "Give the reference under which it is done"
        )
    with stores.existing(args, author=args.author) as db:
        view = db.view()
        refs = list(dict.fromkeys(ref for text in args.refs for ref in _named(view, text, args)))
        plan = db.erasure_plan(
            refs, turns=args.turns, everywhere=args.everywhere, forbid=args.forbid, derived=not args.keep_derived
        )
        others = _others(view, refs, plan)
        if args.dry_run:
            out.answer(_planned(plan, others), lambda page: _write_plan(page, db, plan, others))
            return DONE
        if not _confirmed(args, out, db, plan, others):
            out.page.line("nothing was erased")
            return NO
        with _receipt_file(args.receipt) as file:
            with out.progress("Erasing"):
                receipt = db.erase(
                    refs,
                    reason=args.reason,
                    turns=args.turns,
                    everywhere=args.everywhere,
                    forbid=args.forbid,
                    derived=not args.keep_derived,
                )
                receipt.raise_if_refused()
            finished = db.finish_erasures(wait_seconds=0.0)
            erasure = wire.erasure(db.erasure_receipt(receipt)) if receipt.events else None
            if file is not None and erasure is not None:
                file.write(json.dumps(erasure, indent=2, ensure_ascii=False) + "\n")

        def write(page: Page) -> None:
            for note in receipt.notes:
                if note.code != "name_forbidden":  # Printed below, with the names.
                    page.line((f"note: {note}", "dim"))
            if erasure is not None:
                _write_erased(page, erasure, len(plan.derived))
                _hint(out, args, receipt.seq)
            _write_forbidden(page, plan)
            _write_others(page, db, others)
            _write_mentions(page, db, plan)
            if not finished:
                page.line(("the bytes are not out of the files yet: another process is in the way", "bad"))
                out.hint("Opening the store, or writing to it, finishes this; verify says when it is done.")

        document = {"receipt": erasure, "finished": finished, **_planned(plan, others), **wire.receipt(receipt)}
        out.answer(document, write)
    return DONE if finished else BUSY


def _named(view: View, text: str, args: Namespace) -> list[str]:
    """Return the worlds that a text names: one, or with ``--all`` every world of the name.

    Raises:
        AmbiguousReference: several have the name and ``--all`` was not given; it says what to type for
            each and for all.
    """
    found = stores.worlds_of(view, text)
    if len(found) == 1 or args.all:
        return [world.ref for world in found]
    again = f"{stores.repeated(args)} erase"
    listed = "".join(f"\n    {again} {stores.described(view, world)}{_roles(view, world)}" for world in found[:_SHOWN])
    listed += f"\n    and {len(found) - _SHOWN:,} more" if len(found) > _SHOWN else ""
    raise AmbiguousReference(
        f"{text!r} fits several worlds, and none was erased. Each by itself:{listed}",
        f"Give one of these references, or all with: {again} {shlex.quote(text)} --all"
        " (and --dry-run first, to see what would go)",
        candidates=[world.ref for world in found],
    )


def _roles(view: View, world: World) -> str:
    """Describe the role that an import gave a world: a speaker, or somebody mentioned.

    One name can stand for two worlds, one of each role.
    """
    counts = Counter(
        str(edge.properties.get("role"))
        for edge in view.edges(world.ref, type="refers_to", direction="in", include_superseded=True)
    )
    spoken = f", who spoke {wire.counted(counts['speaker'], 'turn')}" if counts["speaker"] else ""
    return spoken + (f", mentioned in {wire.counted(counts['mention'], 'turn')}" if counts["mention"] else "")


@contextmanager
def _receipt_file(name: str | None) -> Iterator[TextIO | None]:
    """Create the receipt file before anything is erased; remove it if nothing was.

    Raises:
        InputError: the file exists already.
    """
    if name is None:
        yield None
        return
    arguments.refuse_existing(name, overwrite=None)
    path = Path(name)
    with path.open("x", encoding="utf-8") as file:
        try:
            yield file
        finally:
            if not file.tell():
                path.unlink()


def _write_erased(page: Page, erasure: dict[str, Any], derived: int) -> None:
    texts = sum(len(world["texts"]) for world in erasure["worlds"])
    of = f"{wire.counted(texts, 'text')} of {wire.counted(len(erasure['worlds']), 'world')}"
    also = f", {wire.counted(derived, 'world')} of these with what was made of the others' texts" if derived else ""
    page.line(f"erased {of}{also}", (f"  commit {erasure['seq']}", "dim"))
    for copy in erasure["not_reached"]:
        page.line((f"not reached: {copy}", "dim"), indent=2)


def _hint(out: Output, args: Namespace, seq: int) -> None:
    """Say how the erasure can be shown later."""
    if args.receipt is None:
        out.hint(
            "With --receipt FILE it keeps a receipt, which `worlddb check-receipt` holds against the log;"
            f" a program gets this one with db.erasure_receipt({seq})."
        )
    else:
        out.hint(f"Check it at any time: {stores.repeated(args)} check-receipt {shlex.quote(args.receipt)}")


def _planned(plan: ErasurePlan, others: dict[str, str]) -> dict[str, Any]:
    return {
        "worlds": list(plan.worlds),
        "derived": list(plan.derived),
        "texts": plan.texts,
        "mentions": list(plan.mentions),
        "bookmarks": list(plan.bookmarks),
        "trusts": list(plan.trusts),
        "contents_forbidden": plan.contents_forbidden,
        "names_forbidden": list(plan.names_forbidden),
        "identities": others,
    }


def _others(view: View, refs: list[str], plan: ErasurePlan) -> dict[str, str]:
    """Return worlds that stay and are, or may be, the same as erased ones: accepted or pending."""
    found = {other: "accepted" for ref in refs for other in view.equivalence_class(ref)}
    for proposal in view.proposals():
        for one, other in ((proposal.source, proposal.target), (proposal.target, proposal.source)):
            if one in refs:
                found.setdefault(other, "pending")
    return {ref: status for ref, status in found.items() if ref not in plan.worlds and ref not in refs}


def _write_others(page: Page, db: Database, others: dict[str, str]) -> None:
    view = db.view()
    for ref, status in others.items():
        relation = "known to be the same" if status == "accepted" else "may be the same, as is proposed"
        name = wire.one_line(stores.name_of(view, ref))
        page.line(
            (f"{relation}: ", "warn"), (wire.short(ref), "ref"), f"  {name}, which stays; name it too if it has to go"
        )


def _write_plan(page: Page, db: Database, plan: ErasurePlan, others: dict[str, str]) -> None:
    view = db.view()
    page.line(f"would erase {wire.counted(plan.texts, 'text')} of {wire.counted(len(plan.worlds), 'world')}:")
    derived = set(plan.derived)
    _write_list(page, view, [ref for ref in plan.worlds if ref not in derived])
    if derived:
        page.line((f"and {wire.counted(len(derived), 'world')} with what was made of these texts:", "warn"))
        _write_list(page, view, plan.derived)
    _write_forbidden(page, plan)
    _write_others(page, db, others)
    _write_mentions(page, db, plan)


def _write_forbidden(page: Page, plan: ErasurePlan) -> None:
    """Say what may not be written again: contents, or names where there was no content."""
    if plan.contents_forbidden:
        contents = wire.counted(plan.contents_forbidden, "content")
        page.line(("may not be written again: ", "warn"), f"{contents}; the names of these worlds may")
    if plan.names_forbidden:
        names = ", ".join(wire.one_line(name, 60) for name in plan.names_forbidden[:_SHOWN])
        more = f" and {len(plan.names_forbidden) - _SHOWN:,} more" if len(plan.names_forbidden) > _SHOWN else ""
        page.line(
            ("may not be written again, since there was no content: ", "warn"),
            f"the name {names}{more}, whoever else has it",
        )


def _write_mentions(page: Page, db: Database, plan: ErasurePlan) -> None:
    """List the bookmarks, settings and worlds that still mention the name; they are erased only if asked for."""
    for what, named in (("bookmarks", plan.bookmarks), ("levels of trust", plan.trusts)):
        if named:
            names = ", ".join(wire.one_line(name, 60) for name in named[:_SHOWN])
            page.line((f"the name also occurs in {what}, which go with --everywhere alone: ", "warn"), names)
    if not plan.mentions:
        return
    page.line(
        ("the name also occurs in the texts of ", "warn"),
        f"{wire.counted(len(plan.mentions), 'other world')}; they stay:",
    )
    _write_list(page, db.view(), plan.mentions)


def _write_list(page: Page, view: View, refs: Sequence[str]) -> None:
    """List worlds by reference and name, the first few of them."""
    for ref in refs[:_SHOWN]:
        page.line((wire.short(ref), "ref"), f"  {wire.one_line(stores.name_of(view, ref))}", indent=2)
    if len(refs) > _SHOWN:
        page.line((f"and {len(refs) - _SHOWN:,} more: --json has all of them", "dim"), indent=2)


def _confirmed(args: Namespace, out: Output, db: Database, plan: ErasurePlan, others: dict[str, str]) -> bool:
    """Return whether the erasure was confirmed beforehand, or a person says yes.

    Raises:
        UsageError: nobody is there to be asked.
    """
    if args.yes:
        return True
    if not out.can_ask:
        raise arguments.UsageError(
            "An erasure cannot be undone, and nobody is there to be asked",
            "Give --yes to erase, or --dry-run to see what would go",
        )
    _write_plan(out.page, db, plan, others)
    sys.stderr.write("This cannot be undone. Erase? [yes/no] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() == "yes"


def _check_arguments(parser: Parser) -> None:
    parser.add_argument("file", metavar="FILE", help="what `erase --receipt` wrote, or `erase --json` printed")


def _check(args: Namespace, out: Output) -> int:
    receipt = _read(Path(args.file))
    with stores.existing(args) as db:
        found = db.check_erasure(receipt)

    def write(page: Page) -> None:
        if found.ok:
            page.line(("holds", "good"), "  the log says what the receipt says, and the texts are gone")
        for problem in found.problems:
            page.line(("does not hold: ", "bad"), problem)

    out.answer({"ok": found.ok, "problems": list(found.problems)}, write)
    return DONE if found.ok else NO


def _each_once(members: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON; of a member that comes twice, another reader could take the other one."""
    found = dict(members)
    if len(found) != len(members):
        raise ValueError("an object has a member twice")
    return found


def _read(file: Path) -> dict[str, Any]:
    stored = stores.read_file(str(file), MAX_PROOF_BYTES)
    if len(stored) > MAX_PROOF_BYTES:
        raise LimitExceeded(
            f"{file} has more than {MAX_PROOF_BYTES} bytes, which no receipt has",
            "Give what `worlddb erase --receipt` wrote",
        )
    try:
        document = json.loads(stored, object_pairs_hook=_each_once)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file} is not JSON: {error}", "Give what `worlddb erase --receipt` wrote") from None
    if isinstance(document, dict) and "receipt" in document:
        document = document["receipt"]
    if not isinstance(document, dict):
        raise InputError(f"{file} holds no receipt", "Give what `worlddb erase --receipt` wrote")
    return document


COMMANDS = (
    Command(
        "erase",
        "remove a world's texts for good; its hashes stay, and when, by whom and why they were erased",
        _erase_arguments,
        _erase,
        (
            (
                'erase "Tom Okafor" --turns --dry-run',
                "what would go, and who still mentions him",
            ),
            ('erase "Tom Okafor" --reason "request 114" --turns', "asks first; he, and every turn that he spoke"),
            ('erase "Tom Okafor" --all --dry-run', "where several worlds have the name: who speaks, who is mentioned"),
            ('erase 3fa9c2d1 --reason "request 114" --forbid --yes --receipt 114.json', "keep the receipt"),
        ),
    ),
    Command(
        "check-receipt",
        "check the receipt of an erasure against the log",
        _check_arguments,
        _check,
        (("check-receipt 114.json", "exit code 1 if it does not hold"),),
    ),
)
