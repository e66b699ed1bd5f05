"""``worlddb bookmark``, ``at`` and ``blame``: named moments, reads at them, and authorship."""

import shlex
from argparse import REMAINDER
from collections.abc import Callable, Sequence
from typing import Any, Final

import worlddb
from worlddb import Blame, BlamedEdge, BlamedField, Bookmark, InputError
from worlddb.tools.cli.base import DONE, Command, Namespace, Output, Page, Parser, Span, arguments, stores, wire


def _bookmark_arguments(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME", nargs="?", help="the name to give (default: list the bookmarks)")
    parser.add_argument("--at", metavar="TIME_OR_SEQ", help="the moment to name (default: the last commit)")
    parser.add_argument("--move", action="store_true", help="move an existing name to this moment")
    parser.add_argument("--why", default="", metavar="TEXT", help="the reason, kept with the bookmark")
    arguments.add_author(parser)


def _bookmark(args: Namespace, out: Output) -> int:
    with stores.open_existing(args, author=args.author) as db:
        if args.name is None:
            return _list(db.bookmarks(), out)
        marked = db.view(**stores.parse_moment(args.at)).seq
        if not marked:
            raise InputError(f"Nothing had been committed by {args.at}", "Give a later time, or a commit from 1 on")
        db.bookmark(args.name, seq=marked, move=args.move, why=args.why).raise_if_refused()
        (made,) = (each for each in db.bookmarks() if each.seq == marked and each.name == args.name)

        def write(page: Page) -> None:
            start, name = stores.command_prefix(args), shlex.quote(args.name)
            page.line((made.name, "good"), f"  is commit {made.seq}, {wire.moment(made.ingested)}")
            out.hint(f"Read it: {start} at {name} children   {start} replay --until {name} --into DIR")

        out.answer(_document(made), write)
    return DONE


def _list(found: Sequence[Bookmark], out: Output) -> int:
    def write(page: Page) -> None:
        for each in found:
            why = f"  {each.why}" if each.why else ""
            page.line((each.name, "good"), f"  commit {each.seq}, {wire.moment(each.ingested)}", (why, "dim"))
        if not found:
            page.line("No bookmarks.")

    out.answer({"bookmarks": [_document(each) for each in found]}, write)
    return DONE


def _document(made: Bookmark) -> dict[str, object]:
    return wire.record(made) | {"ingested": wire.time(made.ingested)}


def at(commands: Callable[[Sequence[str]], Sequence[Command]]) -> Command:
    """Return the command that runs another one as of a moment.

    ``commands`` returns those that a line needs.
    """

    def add(parser: Parser) -> None:
        parser.add_argument("moment", metavar="TIME", help="a time, the number of a commit, or a bookmark")
        parser.add_argument("words", metavar="COMMAND...", nargs=REMAINDER, help="a read command with its arguments")

    def run(args: Namespace, out: Output) -> int:
        if not args.words:
            raise arguments.UsageError(
                "The command after the moment is missing", "For example: worlddb at 2026-03-01 children"
            )
        inner = arguments.parse_line(arguments.build_parser(commands(args.words)), args.words)
        if not hasattr(inner, "ingested"):
            raise arguments.UsageError(
                f"`{args.words[0]}` cannot read the past",
                "Use a read command: recall, query, show, history, children, hash, log or proposals",
            )
        if inner.ingested is not None:
            raise arguments.UsageError(
                "The moment was given twice", "Give it after `at`, or with the command's own option"
            )
        inner.ingested = args.moment
        inner.store = args.store if inner.store is None else inner.store
        out.json, out.quiet = out.json or inner.json, out.quiet or inner.quiet
        code: int = inner.run(inner, out)
        return code

    return Command(
        "at",
        "run a read command as of an earlier moment",
        add,
        run,
        (
            ("at 2026-03-01 children", "what the store knew then, and what was true then"),
            ('at "before the move" recall "where does Mara live?"', "as of a bookmark"),
            ("at 12 show Mara --json", "as of a commit"),
        ),
    )


COMMANDS = (
    Command(
        "bookmark",
        "give a name to a moment, or list the names given",
        _bookmark_arguments,
        _bookmark,
        (
            ('bookmark "before the move"', "what the store knows now"),
            ("bookmark audit-2026 --at 2026-06-30T23:59:59Z", "what it knew at a time"),
            ("bookmark", "all names"),
        ),
    ),
)


_TIMES: Final = ("valid_from", "valid_to")
"""Fields whose values are times."""


def _arguments(parser: Parser) -> None:
    parser.add_argument("ref", metavar="REF", help="a world, by reference, prefix or name")
    arguments.add_moment(parser)
    arguments.add_confine(parser)


def _blame(args: Namespace, out: Output) -> int:
    with stores.open_existing(args) as db:
        view = stores.view_of(db, args)
        found = view.blame(stores.resolve_world(view, args.ref))
        document = {
            "ref": found.ref,
            "version": found.number,
            "fields": [wire.record(field) for field in found.fields],
            "edges": [wire.record(edge) for edge in found.edges],
            "view": wire.view(view),
        }
        name = stores.name_of(view, found.ref)
        out.answer(document, lambda page: _write(page, found, name))
    return DONE


def _write(page: Page, found: Blame, name: str) -> None:
    page.line((name, "name"), "  ", (wire.short(found.ref), "ref"), (f"  version {found.number}", "dim"))
    rows = [[*_commit(field), *_field_blame(field)] for field in found.fields if field.value]
    rows += [[*_commit(edge), *_edge_blame(edge, found.ref)] for edge in found.edges]
    page.table(("seq", "when", "who", "what", "value", "why"), rows)


def _commit(blamed: BlamedField | BlamedEdge) -> list[Span]:
    return [(str(blamed.seq), "ref"), (wire.moment(blamed.ingested_at), "dim"), blamed.author]


def _field_blame(field: BlamedField) -> list[Any]:
    value = wire.moment(worlddb.parse_time(field.value)) if field.field in _TIMES else field.value
    return [(field.field, "name"), wire.one_line(value, 80), (wire.one_line(field.why, 80), "dim")]


def _edge_blame(edge: BlamedEdge, ref: str) -> list[Any]:
    arrow = f"{edge.type} >" if edge.source == ref else f"< {edge.type}"
    ended = f", closed in commit {edge.closed}" if edge.closed else ""
    return [(arrow, "name"), wire.one_line(edge.name, 80) + ended, (wire.one_line(edge.why, 80), "dim")]


BLAME_COMMANDS = (
    Command(
        "blame",
        "show which commit last set each field and each edge of a world, by whom and why",
        _arguments,
        _blame,
        (
            ('blame "Sarah Chen"', "her name, text, aliases, validity, containers and edges"),
            ("blame 3fa9c2d1 --ingested 12 --json", "as it was known at commit 12, for a program"),
        ),
    ),
)
