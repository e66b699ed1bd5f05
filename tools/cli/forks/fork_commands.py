"""``worlddb fork`` and ``worlddb merge``: branch a world, and merge the branch back."""

import json
from pathlib import Path
from typing import Any, Final, Literal

from worlddb import InputError, Merge
from worlddb.tools.cli.base import DONE, NO, Command, Namespace, Output, Page, Parser, arguments, stores, wire
from worlddb.tools.cli.write.write_commands import add_common

_SHOWN: Final = 240
"""How many characters of each side of a conflict a person sees, and how many at most before the sides differ."""
_BEFORE: Final = 40


def _fork_arguments(parser: Parser) -> None:
    parser.add_argument("world", metavar="WORLD", help="a reference or a name")
    parser.add_argument("--name", metavar="NAME", help="a further name, for the fork")
    parser.add_argument("--at", metavar="TIME", help="fork the world as known at this time (default: now)")
    parser.add_argument("--into", metavar="WORLD", help="the container of the fork (default: that of the world)")
    add_common(parser)


def _fork(args: Namespace, out: Output) -> int:
    with stores.open_existing(args, author=args.author) as db:
        view = db.view()
        world = stores.resolve_place(view, args.world)
        into = None if args.into is None else stores.resolve_place(view, args.into)
        receipt = db.fork(world, args.name, at=args.at, into=into, why=args.why, idempotency_key=args.idempotency_key)
        receipt.raise_if_refused()
        document = wire.receipt(receipt)
        name = stores.name_of(db.view(), str(receipt.ref))

    def write(page: Page) -> None:
        page.line((wire.short(str(receipt.ref)), "ref"), f"  is a fork of {args.world} as {args.name or name}")
        for note in receipt.notes:
            page.line(wire.note_text(note))

    out.answer(document, write)
    return DONE


def _merge_arguments(parser: Parser) -> None:
    parser.add_argument("fork", metavar="FORK", help="a reference or a name of the fork")
    parser.add_argument("--plan", action="store_true", help="write nothing, and show what would be done")
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("--ours", action="store_true", help="keep the original where both sides changed something")
    chosen.add_argument("--theirs", action="store_true", help="take the fork where both sides changed something")
    parser.add_argument("--decide", metavar="FILE", help="a JSON object: ids of conflicts, each with ours or theirs")
    add_common(parser)


def _merge(args: Namespace, out: Output) -> int:
    otherwise: Literal["ours", "theirs", "report"] = "ours" if args.ours else "theirs" if args.theirs else "report"
    decide = None if args.decide is None else _parse_decisions(args.decide)
    with stores.open_existing(args, author=args.author) as db:
        fork = stores.resolve_to_write(db.view(), args.fork)
        how: dict[str, Any] = {"why": args.why, "idempotency_key": args.idempotency_key}
        done: Merge = db.merge(fork, plan=args.plan, decide=decide, on_conflict=otherwise, **how)
        if done.receipt is not None:
            done.receipt.raise_if_refused()
        view = db.view()
        names = {each.world: stores.name_of(view, each.world) for each in done.undecided}
        document = wire.record(done) | {"receipt": None if done.receipt is None else wire.receipt(done.receipt)}

    def write(page: Page) -> None:
        for change in done.changes:
            page.line((wire.short(change.world), "ref"), f"  {change.what}  {wire.one_line(change.detail, 60)}")
        for conflict in done.undecided:
            named = f"{names[conflict.world]} ({wire.short(conflict.world)})"
            where = f", {wire.one_line(conflict.where, 90)}" if conflict.where else ""
            page.line((f"conflict {conflict.id}", "bad"), f"  {conflict.what} of {named}{where}")
            sides = _diverging_texts(conflict.base, conflict.ours, conflict.theirs)
            page.fields(
                ((name, [side]) for name, side in zip(("base", "ours", "theirs"), sides, strict=True)), indent=2
            )
        for world in done.erased:
            page.line((wire.short(world), "ref"), "  is not merged: its text was erased, or may not be written")
        if done.receipt is not None:
            page.line(f"merged by commit {done.receipt.seq}")
        elif done.undecided:
            page.line("nothing was written: decide the conflicts with --decide FILE, --ours or --theirs")
        elif not args.plan:
            page.line("there was nothing to merge")

    out.answer(document, write)
    return NO if done.undecided and not args.plan else DONE


def _diverging_texts(*sides: str) -> tuple[str, ...]:
    """Return the texts of both sides of a conflict, each cut to where they begin to differ."""
    lines = [" ".join(side.split()) for side in sides]
    columns = enumerate(zip(*lines, strict=False))
    alike = next((at for at, each in columns if len(set(each)) > 1), min(map(len, lines)))
    begin = 0 if max(map(len, lines)) <= _SHOWN else lines[0].rfind(" ", 0, max(0, alike - _BEFORE)) + 1
    return tuple(("… " if begin else "") + wire.one_line(line[begin:], _SHOWN) for line in lines)


def _parse_decisions(path: str) -> dict[str, Any]:
    try:
        found = json.loads(arguments.decode_utf8(Path(path).read_bytes(), path))
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {error}", "Give a JSON object of ids with ours or theirs") from None
    if not isinstance(found, dict):
        raise InputError(f"{path} is not a JSON object", "Give a JSON object of ids with ours or theirs")
    return found


COMMANDS = (
    Command(
        "fork",
        "branch a world and everything in it, as it is or as it was",
        _fork_arguments,
        _fork,
        (
            ('fork "Search team" --name "Search team, what if"', "try something without changing the original"),
            ("fork 3fa9c2d1 --at 2026-03-01", "as it was known then"),
        ),
    ),
    Command(
        "merge",
        "merge the changes of a fork into the world that it was forked from",
        _merge_arguments,
        _merge,
        (
            ('merge "Search team, what if" --plan', "what the merge would do, and the conflicts"),
            ('merge "Search team, what if" --theirs', "the fork wins every conflict"),
        ),
    ),
)
