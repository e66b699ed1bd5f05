"""``worlddb erase`` and ``check-receipt``: removing texts for good, with a receipt."""

import json
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, TextIO

from worlddb import (
    MAX_PROOF_BYTES,
    AmbiguousReference,
    Database,
    ErasurePlan,
    InputError,
    LimitExceeded,
    LiteralErasurePlan,
    MembersNotSaid,
    Receipt,
    UnknownReference,
    View,
    World,
    WorldDBError,
)
from worlddb.memory_scopes import composed
from worlddb.tools.cli.base import BUSY, DONE, NO, Command, Namespace, Output, Page, Parser, arguments, stores, wire

_SHOWN: Final = 8


def _erase_arguments(parser: Parser) -> None:
    parser.add_argument("refs", metavar="REF", nargs="+", help="a reference, its first digits, or a name")
    parser.add_argument(
        "--reason",
        help="reference of the erasure, such as a request's number; stored for good (optional with --dry-run)",
    )
    parser.add_argument("--all", action="store_true", help="erase every world of an ambiguous name, valid or not")
    parser.add_argument(
        "--literal",
        metavar="TERM",
        help="erase only this literal of the statements of the one world REF, such as '\"tea\"@en', and nothing else",
    )
    parser.add_argument("--turns", action="store_true", help="also erase the turns of this speaker")
    parser.add_argument(
        "--everywhere",
        action="store_true",
        help="also erase every world that ever had the same text; with --literal, in every world that ever stated it",
    )
    members = parser.add_mutually_exclusive_group()
    members.add_argument(
        "--members",
        action="store_const",
        const=True,
        help="also erase the members that no other world contains or uses (default for scopes, users and tenants)",
    )
    members.add_argument(
        "--no-members", action="store_const", const=False, dest="members", help="do not erase its members"
    )
    parser.add_argument(
        "--keep-derived",
        action="store_true",
        help="keep what was derived from the texts: worlds, summaries, extracted entities",
    )
    parser.add_argument(
        "--forbid",
        action="store_true",
        help="forbid writing it again: its contents, and its name if it had no content",
    )
    _add_common(parser)
    parser.add_argument("--yes", action="store_true", help="do not ask for confirmation; required without a terminal")


def _add_common(parser: Parser) -> None:
    parser.add_argument(
        "--receipt",
        metavar="FILE",
        help="write the receipt into this new file; `worlddb --store DIR check-receipt FILE` checks it",
    )
    parser.add_argument("--dry-run", action="store_true", help="only show what would be erased")
    arguments.add_author(parser)


def _check_reason(args: Namespace) -> None:
    if args.reason is None and not args.dry_run:
        raise arguments.UsageError("The following argument is required: --reason", "Give the reference of the request")


def _erase(args: Namespace, out: Output) -> int:
    _check_reason(args)
    if args.literal is not None:
        return _erase_literal(args, out)
    with stores.open_existing(args, author=args.author) as db:
        view = db.view()
        refs = list(dict.fromkeys(ref for text in args.refs for ref in _resolve_named(view, text, args)))
        how = {"turns": args.turns, "everywhere": args.everywhere, "forbid": args.forbid}
        how |= {"derived": not args.keep_derived}
        try:
            plan = db.erasure_plan(refs, members=args.members, **how)
        except MembersNotSaid as error:
            if not args.dry_run:
                raise
            plan = db.erasure_plan(refs, members=True, **how)
            out.hint(f"{error.message}. This is what --members would erase; say --members or --no-members to erase.")
        others = _find_equivalent(view, refs, plan)
        if args.dry_run:
            out.answer(_plan_document(plan, others), lambda page: _write_plan(page, db, plan, others))
            return DONE
        if not _is_confirmed(args, out, db, plan, others):
            out.page.line("nothing was erased")
            return NO
        with _receipt_file(args.receipt) as file:
            with out.progress("Erasing"):
                receipt = db.erase(refs, reason=args.reason, members=args.members, **how)
                receipt.raise_if_refused()
            done = _ErasureAnswer(db, receipt, file)

        def write(page: Page) -> None:
            done.write(page, out, args, plan)
            _write_forbidden(page, plan)
            _write_others(page, db, others)
            _write_mentions(page, db, plan)
            done.write_unfinished(page, out)

        document = {"receipt": done.erasure, "finished": done.finished, **_plan_document(plan, others)}
        out.answer(document | wire.receipt(receipt), write)
    return DONE if done.finished else BUSY


def _erase_literal(args: Namespace, out: Output) -> int:
    """Erase one literal of the statements of a world."""
    others = (args.turns, args.members is not None, args.keep_derived, args.forbid, args.all)
    if len(args.refs) > 1 or any(others):
        raise arguments.UsageError(
            "--literal takes one REF, and no option but --everywhere",
            "Give one REF and --literal, and leave the other options out",
        )
    with stores.open_existing(args, author=args.author) as db:
        [ref] = _resolve_named(db.view(), args.refs[0], args)
        plan = db.literal_erasure_plan(ref, args.literal, everywhere=args.everywhere)
        document = {"worlds": list(plan.worlds), **{name: getattr(plan, name) for name in ("statements", "texts")}}
        document["elsewhere"] = list(plan.elsewhere)
        if args.dry_run:
            out.answer(document, lambda page: _write_literal_plan(page, db, plan))
            return DONE
        if not plan.texts:
            raise InputError(
                f"No statement of {wire.short(ref)} has such a literal, or its text was erased before",
                "Give it with its language or datatype, as `worlddb statements` shows it",
            )
        if not _is_agreed(args, out, lambda page: _write_literal_plan(page, db, plan)):
            out.page.line("nothing was erased")
            return NO
        with _receipt_file(args.receipt) as file:
            with out.progress("Erasing"):
                receipt = db.erase_literal(ref, args.literal, reason=args.reason, everywhere=args.everywhere)
                receipt.raise_if_refused()
            done = _ErasureAnswer(db, receipt, file)

        def write(page: Page) -> None:
            for note in receipt.notes:
                if note.code not in _PRINTED_BELOW:
                    page.line((f"note: {wire.note_text(note)}", "dim"))
            told = f"erased a literal of {_statement_count(plan)}"
            page.line(told, (f"  commit {receipt.seq}", "dim"))
            for copy in done.erasure["not_reached"] if done.erasure else ():
                page.line((f"not reached: {copy}", "dim"), indent=2)
            _hint_proof(out, args, receipt.seq)
            _write_elsewhere(page, db, plan)
            done.write_unfinished(page, out)

        out.answer({"receipt": done.erasure, "finished": done.finished, **document} | wire.receipt(receipt), write)
    return DONE if done.finished else BUSY


def _statement_count(plan: LiteralErasurePlan) -> str:
    return f"{wire.counted(plan.statements, 'statement')} of {wire.counted(len(plan.worlds), 'world')}"


def _write_literal_plan(page: Page, db: Database, plan: LiteralErasurePlan) -> None:
    page.line(f"would erase a literal of {_statement_count(plan)}{':' if plan.worlds else ''}")
    _write_list(page, db.view(), plan.worlds)
    _write_elsewhere(page, db, plan)


def _write_elsewhere(page: Page, db: Database, plan: LiteralErasurePlan) -> None:
    """List the other worlds that state a literal."""
    if plan.elsewhere:
        page.line((f"{wire.counted(len(plan.elsewhere), 'other world')} also state it and keep it:", "warn"))
        _write_list(page, db.view(), plan.elsewhere)


class _ErasureAnswer:
    """The result of an erasure: its receipt, also written to a named file, and whether the bytes are gone."""

    def __init__(self, db: Database, receipt: Receipt, file: TextIO | None) -> None:
        self._db = db
        self._receipt = receipt
        self.finished = db.finish_erasures(wait_seconds=0.0)
        self.erasure = wire.erasure(db.erasure_receipt(receipt)) if receipt.events else None
        if file is not None and self.erasure is not None:
            file.write(json.dumps(self.erasure, indent=2, ensure_ascii=False) + "\n")

    def write(self, page: Page, out: Output, args: Namespace, plan: ErasurePlan) -> None:
        for note in self._receipt.notes:
            if note.code not in _PRINTED_BELOW:
                page.line((f"note: {wire.note_text(note)}", "dim"))
        if self.erasure is not None:
            _write_erased(page, self.erasure, len(plan.derived))
            _hint_proof(out, args, self._receipt.seq)
        _write_kept(page, self._db, plan)

    def write_unfinished(self, page: Page, out: Output) -> None:
        if not self.finished:
            why = next((each.refs[0] for each in self._receipt.notes if each.code == "bytes_remain"), "others write")
            page.line((f"the bytes are still in the files: {why}", "bad"))
            store = shlex.quote(str(self._db.path))
            out.hint(
                f"To finish it, close other programs that have the store open, and run `worlddb --store {store} stats`."
            )
            out.hint("Any later opening or write does the same; verify says when it is done.")


_PRINTED_BELOW: Final = (
    *(
        "name_forbidden",
        "shared_kept",
        "members_left",
        "same_words_stay",
        "still_told",
        "bytes_remain",
        "copies_remain",
    ),
)
"""Notes that say what the plan lists with names, and what is said at the end."""


# -- all that is a user's


def _forget_arguments(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME", help="the user's name as it was written, or a reference")
    parser.add_argument(
        "--reason",
        help="reference of the request, such as its number; stored for good (optional with --dry-run)",
    )
    parser.add_argument("--world", metavar="REF", help="the tenant of the user, if several have one")
    parser.add_argument(
        "--everywhere",
        action="store_true",
        help="also erase every world of anybody that ever had one of the same texts, and bookmarks and levels of"
        " trust that name the user",
    )
    _add_common(parser)
    parser.add_argument("--yes", action="store_true", help="do not ask for confirmation on a terminal")


def _forget(args: Namespace, out: Output) -> int:
    _check_reason(args)
    with stores.open_existing(args, author=args.author) as db:
        try:
            refs = db.refs_of_user(args.name, world=args.world)
        except UnknownReference:
            messages, user = db.working.count_of_user(args.name), composed(args.name.removeprefix("user:"))
            place = None if args.world is None else db.view().reference_of(args.world)
            has_keys = any((key.user, key.world) == (user, place) for key in db.accounts.keys(ended=True))
            if not has_keys and (args.world is not None or not messages):
                raise
            return _forget_unwritten(args, out, db, messages, has_keys=has_keys)
        plan = db.erasure_plan(refs, members=True, turns=True, everywhere=args.everywhere)
        others, keys = _find_equivalent(db.view(), refs, plan), _keys_beside(args)
        if args.dry_run:

            def write_plan(page: Page) -> None:
                _write_plan(page, db, plan, others)
                _write_keys_beside(page, out, args, keys)

            left = {**_forgotten_document(db, plan), "keys_beside": keys}
            out.answer({"receipt": None, **_plan_document(plan, others), **left}, write_plan)
            return DONE
        # Without a terminal nobody is asked: a name and a reason were given.
        if out.can_ask and not _is_confirmed(args, out, db, plan, others):
            out.page.line("nothing was erased")
            return NO
        forgotten = _forgotten_document(db, plan) | {"keys_beside": keys}
        with _receipt_file(args.receipt) as file:
            with out.progress("Erasing"):
                receipt = db.forget_user(args.name, reason=args.reason, world=args.world, everywhere=args.everywhere)
                receipt.raise_if_refused()
            done = _ErasureAnswer(db, receipt, file)

        def write(page: Page) -> None:
            done.write(page, out, args, plan)
            _write_others(page, db, others)
            _write_mentions(page, db, plan)
            _write_keys_beside(page, out, args, keys)
            done.write_unfinished(page, out)

        forgotten["erased"] = 0 if done.erasure is None else len(done.erasure["worlds"])
        document = {"receipt": done.erasure, "finished": done.finished, **_plan_document(plan, others), **forgotten}
        out.answer(wire.receipt(receipt) | document, write)
    return DONE if done.finished else BUSY


def _keys_beside(args: Namespace) -> list[str]:
    """Return the keys in the file beside the store whose default user is named: no erasure reaches that file."""
    from worlddb.tools.mcp import access_keys

    with suppress(WorldDBError, OSError):  # Whose keys it has nobody can tell then.
        ring = access_keys.KeyFile(access_keys.default_key_file(stores.folder_of(args))).ring()
        user = composed(args.name.removeprefix("user:"))
        return [key.name for key in ring.keys if composed(key.user or "") == user] if ring else []
    return []


def _write_keys_beside(page: Page, out: Output, args: Namespace, keys: Sequence[str]) -> None:
    if keys:
        page.line(("keys in the file beside the store that go on to name the user: ", "warn"), _names(keys))
        out.hint(f"To end one, and remove the name: {stores.command_prefix(args)} key remove {shlex.quote(keys[0])}")


def _forget_unwritten(args: Namespace, out: Output, db: Database, messages: int, *, has_keys: bool) -> int:
    """Forget a user without any world: clear their buffers of working memory, and end the keys that name them."""
    document: dict[str, Any] = {"receipt": None, "finished": True, "erased": 0, "kept": [], "messages": messages}
    done: _ErasureAnswer | None = None
    if not args.dry_run:
        with _receipt_file(args.receipt) as file:
            receipt = db.forget_user(args.name, reason=args.reason, world=args.world)
            receipt.raise_if_refused()
            done = _ErasureAnswer(db, receipt, file)
        document = wire.receipt(receipt) | document | {"receipt": done.erasure, "finished": done.finished}
    removed = "to be removed" if args.dry_run else "removed"
    told = (
        f"nothing was ever written about {args.name}; {removed}: {wire.counted(messages, 'message')} of working memory"
        + ", and the access keys that name them, which end" * has_keys
    )

    def write(page: Page) -> None:
        page.line(told)
        if done is not None:
            done.write_unfinished(page, out)

    out.answer(document, write)
    return DONE if document["finished"] else BUSY


def _forgotten_document(db: Database, plan: ErasurePlan) -> dict[str, Any]:
    """Return the number of worlds that are erased, and a list of what stays."""
    return {"erased": len(plan.worlds), "kept": _kept_records(db, plan)}


def _kept_records(db: Database, plan: ErasurePlan) -> list[dict[str, Any]]:
    view = db.view()
    return [
        {"ref": each.ref, "name": stores.name_of(view, each.ref), "why": each.why, "by": list(each.by)}
        for each in plan.kept
    ]


def _resolve_named(view: View, text: str, args: Namespace) -> list[str]:
    """Return the worlds that a text names: one, or with ``--all`` every world of the name.

    Raises:
        AmbiguousReference: several have the name and ``--all`` was not given; it says what to type for
            each and for all.
    """
    found = stores.resolve_all(view, text, everybodys=args.all)
    if len(found) == 1 or args.all:
        return [world.ref for world in found]
    again = f"{stores.command_prefix(args)} erase"
    listed = "".join(f"\n    {again} {stores.describe(view, world)}{_roles(view, world)}" for world in found[:_SHOWN])
    listed += f"\n    and {len(found) - _SHOWN:,} more" if len(found) > _SHOWN else ""
    raise AmbiguousReference(
        f"{text!r} is the name of several worlds, and none was erased. One at a time:{listed}",
        f"Give one of these references, or all with: {again} {shlex.quote(text)} --all"
        " (first with --dry-run, to see what would be erased)",
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
    also = f", {wire.counted(derived, 'world')} of these were derived from the others' texts" if derived else ""
    page.line(f"erased {of}{also}", (f"  commit {erasure['seq']}", "dim"))
    for copy in erasure["not_reached"]:
        page.line((f"not reached: {copy}", "dim"), indent=2)
    authors = erasure.get("authors", [])
    page.line((f"not erased: the authors, {', '.join(wire.one_line(name, 60) for name in authors)}", "dim"), indent=2)


def _hint_proof(out: Output, args: Namespace, seq: int) -> None:
    """Hint at how to prove the erasure later."""
    if args.receipt is None:
        out.hint(
            f"--receipt FILE writes a receipt, which `{stores.command_prefix(args)} check-receipt` checks against the"
            f" log; a program gets this one with db.erasure_receipt({seq})."
        )
    else:
        out.hint(f"Check it at any time: {stores.command_prefix(args)} check-receipt {shlex.quote(args.receipt)}")


def _plan_document(plan: ErasurePlan, others: dict[str, str]) -> dict[str, Any]:
    return {
        "worlds": list(plan.worlds),
        "derived": list(plan.derived),
        "texts": plan.texts,
        "mentions": list(plan.mentions),
        "bookmarks": list(plan.bookmarks),
        "trusts": list(plan.trusts),
        "keys": list(plan.keys),
        "contents_forbidden": plan.contents_forbidden,
        "names_forbidden": list(plan.names_forbidden),
        "same_words": list(plan.same_words),
        "telling": list(plan.telling),
        "identities": others,
        "members": list(plan.members),
        "kept": [{"ref": each.ref, "why": each.why, "by": list(each.by)} for each in plan.kept],
    }


def _find_equivalent(view: View, refs: list[str], plan: ErasurePlan) -> dict[str, str]:
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
        relation = "known to be the same" if status == "accepted" else "proposed to be the same"
        name = wire.one_line(stores.name_of(view, ref))
        page.line(
            (f"{relation}: ", "warn"), (wire.short(ref), "ref"), f"  {name}, which stays; erase it too if necessary"
        )


def _write_plan(page: Page, db: Database, plan: ErasurePlan, others: dict[str, str]) -> None:
    view = db.view()
    page.line(f"would erase {wire.counted(plan.texts, 'text')} of {wire.counted(len(plan.worlds), 'world')}:")
    derived, members = set(plan.derived), set(plan.members)
    _write_list(page, view, [ref for ref in plan.worlds if ref not in derived and ref not in members])
    if members:
        page.line((f"with {wire.counted(len(members), 'world')} inside:", "warn"))
        _write_list(page, view, plan.members)
    if derived:
        page.line((f"and {wire.counted(len(derived), 'world')} derived from these texts:", "warn"))
        _write_list(page, view, plan.derived)
    _write_kept(page, db, plan)
    _write_forbidden(page, plan)
    _write_others(page, db, others)
    _write_mentions(page, db, plan)


_WHY_KEPT: Final = {
    "contained": "others contain them too",
    "referred_to": "others refer to them",
    "left": "they lie inside, and were not selected",
    "outside": "they are mentioned, lie elsewhere and have content",
}


def _write_kept(page: Page, db: Database, plan: ErasurePlan) -> None:
    """List what stays although it lies inside an erased world, or is mentioned there."""
    for why, words in _WHY_KEPT.items():
        refs = [each.ref for each in plan.kept if each.why == why]
        if refs:
            page.line(
                (f"kept {wire.counted(len(refs), 'world')}: ", "warn"),
                f"{words}; erase them by reference if necessary",
            )
            _write_list(page, db.view(), refs)


def _write_forbidden(page: Page, plan: ErasurePlan) -> None:
    """List what is forbidden from now on: contents, or names of worlds without content."""
    if plan.contents_forbidden:
        contents = wire.counted(plan.contents_forbidden, "content")
        page.line(("may not be written again: ", "warn"), f"{contents}; the names of these worlds may")
    if plan.keys:
        page.line(("access keys that end, since this is their default user: ", "warn"), _names(plan.keys))
    if plan.names_forbidden:
        names = _names(plan.names_forbidden)
        more = f" and {len(plan.names_forbidden) - _SHOWN:,} more" if len(plan.names_forbidden) > _SHOWN else ""
        page.line(
            ("may not be written again, for lack of content: ", "warn"),
            f"the name {names}{more}, even of other worlds",
        )


def _names(named: Sequence[str]) -> str:
    return ", ".join(wire.one_line(name, 60) for name in named[:_SHOWN])


def _write_mentions(page: Page, db: Database, plan: ErasurePlan) -> None:
    """List what still mentions the name or says the same words; it is erased only if asked for."""
    for what, named in (("bookmarks", plan.bookmarks), ("levels of trust", plan.trusts)):
        if named:
            page.line((f"the name also occurs in {what}, which only --everywhere erases: ", "warn"), _names(named))
    if plan.same_words:
        alike = wire.counted(len(plan.same_words), "other world")
        page.line(("the same words stay in ", "warn"), f"{alike}, which only --everywhere erases:")
        _write_list(page, db.view(), plan.same_words)
    if plan.telling:
        page.line(("it may still be told by ", "warn"), f"{wire.counted(len(plan.telling), 'other world')}; they stay:")
        _write_list(page, db.view(), plan.telling)
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


def _is_confirmed(args: Namespace, out: Output, db: Database, plan: ErasurePlan, others: dict[str, str]) -> bool:
    """Return whether the erasure was confirmed beforehand, or a person says yes.

    Raises:
        UsageError: nobody is there to be asked.
    """
    return _is_agreed(args, out, lambda page: _write_plan(page, db, plan, others))


def _is_agreed(args: Namespace, out: Output, write_plan: Callable[[Page], object]) -> bool:
    """Return whether a person agrees to a plan that was shown, or agreed beforehand."""
    if args.yes:
        return True
    if not out.can_ask:
        raise arguments.UsageError(
            "An erasure cannot be undone, and there is no terminal to confirm it",
            "Give --yes to erase, or --dry-run to see what would be erased",
        )
    write_plan(out.page)
    sys.stderr.write("This cannot be undone. Erase? [yes/no] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() == "yes"


def _check_arguments(parser: Parser) -> None:
    parser.add_argument("file", metavar="FILE", help="what `erase --receipt` wrote, or `erase --json` printed")


def _check(args: Namespace, out: Output) -> int:
    receipt = _read(Path(args.file))
    with stores.open_existing(args) as db:
        found = db.check_erasure(receipt)

    def write(page: Page) -> None:
        if found.ok and not found.kept:
            page.line(("holds", "good"), "  the log agrees with the receipt, and the texts are gone")
        elif found.ok:
            worlds = wire.counted(found.kept, "world")
            page.line(("holds", "good"), "  the log agrees with the receipt, and the listed texts are gone")
            page.line((f"{worlds} inside the erased ones were kept, with their texts", "warn"))
        for problem in found.problems:
            page.line(("does not hold: ", "bad"), problem)

    kept = {"kept": found.kept} if found.kept else {}
    out.answer({"ok": found.ok, "problems": list(found.problems), **kept}, write)
    return DONE if found.ok else NO


def _object_without_duplicates(members: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object; refuse a repeated member, since another reader could take the other value."""
    found = dict(members)
    if len(found) != len(members):
        raise ValueError("an object has the same member twice")
    return found


def _read(file: Path) -> dict[str, Any]:
    stored = stores.read_file(str(file), MAX_PROOF_BYTES)
    if len(stored) > MAX_PROOF_BYTES:
        raise LimitExceeded(
            f"{file} has more than {MAX_PROOF_BYTES} bytes, more than any receipt",
            "Give what `worlddb erase --receipt` wrote",
        )
    try:
        document = json.loads(stored, object_pairs_hook=_object_without_duplicates)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file} is not JSON: {error}", "Give what `worlddb erase --receipt` wrote") from None
    if isinstance(document, dict) and "receipt" in document:
        document = document["receipt"]
    if not isinstance(document, dict):
        raise InputError(f"{file} has no receipt", "Give what `worlddb erase --receipt` wrote")
    return document


COMMANDS = (
    Command(
        "erase",
        "remove a world's texts for good; its hashes stay, with the time, author and reason of the erasure",
        _erase_arguments,
        _erase,
        (
            (
                'erase "Tom Okafor" --turns --dry-run',
                "what would be erased, and who still mentions him",
            ),
            ('erase "Tom Okafor" --reason "request 114" --turns', "asks first; him, and every turn that he spoke"),
            ('erase "Tom Okafor" --all --dry-run', "if several worlds have the name: which one speaks or is mentioned"),
            (
                'erase "The new job" --literal \'"12 Elm Street"\' --dry-run',
                "only one literal of its statements",
            ),
            ('erase 3fa9c2d1 --reason "request 114" --forbid --yes --receipt 114.json', "keep the receipt"),
        ),
    ),
    Command(
        "forget-user",
        "erase a user's data for good: their scopes or their world, and everything inside",
        _forget_arguments,
        _forget,
        (
            ("forget-user ana --dry-run", "what would be erased, and what stays because others use it"),
            ('forget-user ana --reason "request 17" --receipt 17.json', "for good, with a receipt"),
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
