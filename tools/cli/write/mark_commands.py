"""``worlddb expire``, ``label``, ``pin``, ``tag``, ``deprecate`` and others: marks that decide how worlds are found."""

from collections.abc import Callable
from typing import cast

from worlddb import Database, Receipt, View, World
from worlddb.tools.cli.base import DONE, Command, Namespace, Output, Page, Parser, arguments, stores, wire
from worlddb.tools.cli.write.write_commands import add_common, add_deadline, answer_receipt, parse_deadline
from worlddb.write_notes import mark_notes, with_sentences


def _ref_arguments(parser: Parser) -> None:
    parser.add_argument("ref", metavar="REF", help="a reference, its first digits, or a name")


def _write(args: Namespace, out: Output, mark: Callable[[Database, str], Receipt]) -> int:
    with stores.open_existing(args, author=args.author) as db:
        return answer_receipt(args, db, out, mark(db, stores.resolve_to_write(db.view(), args.ref)))


def _expire_arguments(parser: Parser) -> None:
    _ref_arguments(parser)
    add_deadline(parser)
    parser.add_argument("--never", action="store_true", help="remove its deadline, even one that has passed")
    add_common(parser)


def _expire(args: Namespace, out: Output) -> int:
    given = [name for name in ("expires_at", "ttl") if getattr(args, name) is not None]
    if len(given) + args.never != 1:
        raise arguments.UsageError("Give exactly one deadline", "Give --expires-at, --ttl or --never")
    deadline, told = parse_deadline(args), {"why": args.why, "idempotency_key": args.idempotency_key}

    def mark(db: Database, ref: str) -> Receipt:
        receipt: Receipt = db.unexpire(ref, **told) if args.never else db.expire(ref, **deadline, **told)
        return _with_mark_notes(db, ref, receipt, deadline=True)

    return _write(args, out, mark)


def _with_mark_notes(db: Database, ref: str, receipt: Receipt, *, deadline: bool = False) -> Receipt:
    """Add notes to the receipt of a new mark, if nothing shows it."""
    receipt.raise_if_refused()
    return with_sentences(receipt, mark_notes(db.view(), ref, deadline=deadline))


def _refresh_arguments(parser: Parser) -> None:
    _ref_arguments(parser)
    parser.add_argument("--idempotency-key", metavar="KEY", help="repeating the command with the same key writes once")
    arguments.add_author(parser)


def _refresh(args: Namespace, out: Output) -> int:
    return _write(args, out, lambda db, ref: db.refresh(ref, idempotency_key=args.idempotency_key))


def _sweep_arguments(parser: Parser) -> None:
    parser.add_argument("ref", metavar="WORLD", nargs="?", help="only inside this world (default: everything)")
    add_common(parser)


def _sweep(args: Namespace, out: Output) -> int:
    with stores.open_existing(args, author=args.author) as db:
        view = db.view()
        over = view.expired(None if args.ref is None else stores.resolve_world(view, args.ref))
        receipt = db.sweep(over, why=args.why, idempotency_key=args.idempotency_key) if over else None
        if receipt is not None:
            receipt.raise_if_refused()

        def write(page: Page) -> None:
            whose = "its deadline" if len(over) == 1 else "their deadlines"
            page.line(f"{wire.counted(len(over), 'world')} retired after {whose}")

        out.answer({"swept": [world.ref for world in over], "seq": db.head().seq}, write)
    return DONE


def _label_arguments(parser: Parser) -> None:
    _ref_arguments(parser)
    parser.add_argument("labels", metavar="LABEL", nargs="+", help="the labels; case does not matter")
    parser.add_argument("--remove", action="store_true", help="remove them")
    add_common(parser)


def _label(args: Namespace, out: Output) -> int:
    told = {"why": args.why, "idempotency_key": args.idempotency_key}

    def mark(db: Database, ref: str) -> Receipt:
        if args.remove:
            return cast(Receipt, db.unlabel(ref, *args.labels, **told))
        return _with_mark_notes(db, ref, db.label(ref, *args.labels, **told))

    return _write(args, out, mark)


def _pin_arguments(parser: Parser) -> None:
    _ref_arguments(parser)
    parser.add_argument("--remove", action="store_true", help="remove the pin")
    add_common(parser)


def _pin(args: Namespace, out: Output) -> int:
    told = {"why": args.why, "idempotency_key": args.idempotency_key}

    def mark(db: Database, ref: str) -> Receipt:
        if args.remove:
            return cast(Receipt, db.unpin(ref, **told))
        return _with_mark_notes(db, ref, db.pin(ref, **told))

    return _write(args, out, mark)


def _tag_arguments(parser: Parser) -> None:
    _ref_arguments(parser)
    parser.add_argument("tag", metavar="TAG", help="the tag; case does not matter")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--version", metavar="N", type=int, help="the number of a version (default: the current one)")
    which.add_argument("--remove", action="store_true", help="remove the tag")
    add_common(parser)


def _tag(args: Namespace, out: Output) -> int:
    told = {"why": args.why, "idempotency_key": args.idempotency_key}
    if args.remove:
        return _write(args, out, lambda db, ref: db.untag(ref, args.tag, **told))
    return _write(args, out, lambda db, ref: db.tag(ref, args.tag, version=args.version, **told))


def _deprecate_arguments(parser: Parser) -> None:
    _ref_arguments(parser)
    parser.add_argument("--remove", action="store_true", help="remove the deprecation")
    add_common(parser)


def _deprecate(args: Namespace, out: Output) -> int:
    told = {"why": args.why, "idempotency_key": args.idempotency_key}
    return _write(args, out, lambda db, ref: (db.undeprecate if args.remove else db.deprecate)(ref, **told))


def _marked_arguments(parser: Parser) -> None:
    parser.add_argument("ref", metavar="WORLD", nargs="?", help="only inside this world (reference or name)")
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--pinned", action="store_true", help="pinned worlds")
    which.add_argument("--expired", action="store_true", help="worlds that a deadline hides, but that are still valid")
    which.add_argument(
        "--label", metavar="LABEL", action="append", help="worlds with this label; several: with all of them"
    )
    which.add_argument("--tag", metavar="TAG", help="worlds with this tag, each in its tagged version")
    which.add_argument("--deprecated", action="store_true", help="deprecated worlds, which are still valid")
    arguments.add_limit(parser, "list at most N")
    arguments.add_moment(parser)
    arguments.add_confine(parser)


def _marked(args: Namespace, out: Output) -> int:
    with stores.open_existing(args) as db:
        views = stores.views_of(db, args) if args.ref is None else [stores.view_of(db, args)]
        view = views[0]
        found = [world for each in views for world in _find_marked(each, args)][: args.limit]

        def write(page: Page) -> None:
            if not found:
                page.line("No worlds have this mark at this time.")
            for world in found:
                text = wire.one_line(world.content or world.name, 100)
                page.line((wire.short(world.ref), "ref"), "  ", (text, "name"))
                for name, line in wire.marks(world):
                    page.line((f"{name}: ", "dim"), line, indent=2)

        out.answer({"worlds": [wire.record(world) for world in found], "view": wire.view(view)}, write)
    return DONE


def _find_marked(view: View, args: Namespace) -> list[World]:
    world = None if args.ref is None else stores.resolve_world(view, args.ref)
    if args.pinned:
        return view.pinned(world)
    if args.deprecated:
        return view.deprecated(world)
    if args.tag is not None:
        return view.tagged(args.tag, world)
    return view.expired(world) if args.expired else view.find(label=args.label, world=world)


COMMANDS = (
    Command(
        "expire",
        "hide a world from a time on; it stays valid, and nothing is deleted",
        _expire_arguments,
        _expire,
        (
            ("expire 3fa9c2d1 --expires-at 2026-01-01", "hidden from then on"),
            ("expire 3fa9c2d1 --ttl 86400", "for a day, which `refresh` restarts"),
            ("expire 3fa9c2d1 --never", "found again"),
        ),
    ),
    Command(
        "refresh",
        "restart the time to live of a world that has one and is not hidden yet",
        _refresh_arguments,
        _refresh,
        (("refresh 3fa9c2d1", "another day, if that is its time to live"),),
    ),
    Command(
        "sweep",
        "retire worlds that a deadline hides: they are no longer valid from now on",
        _sweep_arguments,
        _sweep,
        (("sweep", "everything that has expired"), ('sweep "The new job"', "inside of one world")),
    ),
    Command(
        "label",
        "add labels to a world, or remove them; recall and marked filter by them",
        _label_arguments,
        _label,
        (("label 3fa9c2d1 home urgent", "two labels"), ("label 3fa9c2d1 urgent --remove", "removes one")),
    ),
    Command(
        "pin",
        "pin or unpin a world: a pinned one comes first, and no deadline hides it",
        _pin_arguments,
        _pin,
        (("pin 3fa9c2d1", "always in an agent's context"), ("pin 3fa9c2d1 --remove", "no more")),
    ),
    Command(
        "tag",
        "put a tag on a version of a world, or move it there",
        _tag_arguments,
        _tag,
        (
            ("tag 3fa9c2d1 published", "the current version"),
            ("tag 3fa9c2d1 published --version 2", "an earlier version"),
        ),
    ),
    Command(
        "deprecate",
        "leave a world out of recalls and lists; it stays valid",
        _deprecate_arguments,
        _deprecate,
        (("deprecate 3fa9c2d1 --why outdated", "no longer found"), ("deprecate 3fa9c2d1 --remove", "found again")),
    ),
    Command(
        "marked",
        "list what is pinned, hidden by a deadline, deprecated, labelled or tagged",
        _marked_arguments,
        _marked,
        (
            ("marked --pinned", "pinned worlds"),
            ("marked --expired", "worlds that a deadline hides, but that are still valid"),
        ),
    ),
)
