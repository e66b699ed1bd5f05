"""``worlddb trust`` and ``trusts``: how far an operator trusts authors, sources and worlds."""

from typing import Any, Final

from worlddb import TRUST_LEVELS, Trusted, View
from worlddb.tools.cli.base import DONE, Command, Namespace, Output, Page, Parser, Span, arguments, stores, wire

_TAKEN_BACK: Final = "unset"


def _trust_arguments(parser: Parser) -> None:
    parser.add_argument(
        "level",
        metavar="LEVEL",
        choices=(*TRUST_LEVELS, _TAKEN_BACK),
        help=f"{', '.join(TRUST_LEVELS)}; or {_TAKEN_BACK}, to take back what was said",
    )
    about = parser.add_mutually_exclusive_group()
    about.add_argument("--of-author", metavar="NAME", help="who wrote it")
    about.add_argument(
        "--of-source", metavar="FIELD=VALUE", help="a field of the source that came with it, such as file=notes.md"
    )
    about.add_argument("--of-world", metavar="WORLD", help="a world with all that it contains (reference or name)")
    parser.add_argument("--why", default="", metavar="TEXT", help="the reason, kept with it")
    arguments.add_author(parser)


def _trust(args: Namespace, out: Output) -> int:
    source = None
    if args.of_source is not None:
        field, equals, value = args.of_source.partition("=")
        if not (field and equals and value):
            raise arguments.UsageError(
                f"{args.of_source!r} names no field and value", "Give FIELD=VALUE, such as file=notes.md"
            )
        source = {field: value}
    level = None if args.level == _TAKEN_BACK else args.level
    with stores.existing(args, author=args.author) as db:
        world = None if args.of_world is None else stores.world_of(db.view(), args.of_world)
        receipt = db.trust(level, author=args.of_author, source=source, world=world, why=args.why)
        receipt.raise_if_refused()

        def write(page: Page) -> None:
            of = args.of_author or args.of_source or args.of_world or "all the rest"
            said = "is not said any more" if level is None else level
            page.line((of, "name"), f"  trust: {said}", (f"  commit {receipt.seq}", "dim"))

        out.answer(wire.receipt(receipt), write)
    return DONE


def _trusts_arguments(parser: Parser) -> None:
    arguments.add_moment(parser, valid=False)
    arguments.add_confine(parser)


def _trusts(args: Namespace, out: Output) -> int:
    with stores.existing(args) as db:
        view = stores.view_of(db, args)
        found = view.trusts()
        document: dict[str, Any] = {"trusts": [wire.record(said) for said in found], "view": wire.view(view)}

        def write(page: Page) -> None:
            for said in found:
                page.line(*_line(view, said))
            if not found:
                page.line("Nothing is said of any source; all are fully trusted.")

        out.answer(document, write)
    return DONE


def _line(view: View, said: Trusted) -> list[Span]:
    names = {"author": said.name, "source": f"{said.field}={said.name}", "rest": "all the rest"}
    name = names[said.of] if said.of in names else stores.name_of(view, said.name)
    if said.erased:
        name = f"({said.of} whose name was erased)"
    spans: list[Span] = [(name, "name"), f"  {said.level}", (f"  of {said.of}, since commit {said.seq}", "dim")]
    if said.why:
        spans.append((f"  because {wire.one_line(said.why, 160)}", "dim"))
    return spans


COMMANDS = (
    Command(
        "trust",
        "say how far an author, a source or a world is trusted; recalls can filter and rank by it",
        _trust_arguments,
        _trust,
        (
            ("trust low --of-author scraper", "what this author wrote, and all that rests on it"),
            ("trust none --of-source file=rumours.md", "what came from one document"),
            ('trust fair --of-world "Search team"', "a world with everything in it"),
            ("trust fair", "everything of which nothing else is said"),
        ),
    ),
    Command(
        "trusts",
        "list how far which authors, sources and worlds are trusted",
        _trusts_arguments,
        _trusts,
        (("trusts", "everything that is said, with its reason"), ("trusts --ingested 12", "as of a commit")),
    ),
)
