"""``worlddb guard``: how the store treats credentials and personal data in texts."""

from typing import Any, Final

from worlddb.tools.cli.base import DONE, Command, Namespace, Output, Page, Parser, arguments, stores, wire

_MODES: Final = ("off", "warn", "enforce", "inherit")


def _guard_arguments(parser: Parser) -> None:
    parser.add_argument("--credentials", choices=_MODES, help="for keys and tokens: enforce refuses the write")
    parser.add_argument("--personal", choices=_MODES, help="for personal data: enforce removes it from the text")
    parser.add_argument("--world", metavar="WORLD", help="a reference or a name (default: the whole store)")
    parser.add_argument("--why", default="", metavar="TEXT", help="the reason, kept with it")
    arguments.add_author(parser)


def _guard(args: Namespace, out: Output) -> int:
    is_set = args.credentials is not None or args.personal is not None
    if args.why and not is_set:
        raise arguments.UsageError("No setting was given", "Give --credentials or --personal")
    with stores.open_existing(args, author=args.author) as db:
        world = None if args.world is None else stores.resolve_to_write(db.view(), args.world)
        document: dict[str, Any] = {}
        if is_set:
            receipt = db.guard(credentials=args.credentials, personal=args.personal, world=world, why=args.why)
            receipt.raise_if_refused()
            document = wire.receipt(receipt)
        view = db.view()
        said, holds = view.guards(), view.guards_at(world)
        document |= {"guards": [wire.record(each) for each in said], "holds": wire.record(holds)}

        def write(page: Page) -> None:
            for each in said:
                name = stores.name_of(view, each.world)
                modes = f"  credentials: {each.credentials or '-'}, personal data: {each.personal or '-'}"
                page.line((name, "name"), modes, (f"  since commit {each.seq}", "dim"))
            where = "the store" if args.world is None else stores.name_of(view, holds.world)
            page.line(f"in {where}: credentials {holds.credentials}, personal data {holds.personal}")

        out.answer(document, write)
    return DONE


COMMANDS = (
    Command(
        "guard",
        "set how credentials and personal data in texts are treated; without a mode, show it",
        _guard_arguments,
        _guard,
        (
            ("guard", "the settings, and those in force for the store"),
            ("guard --personal enforce", "take e-mail addresses, phones, cards, IBANs and addresses out of every text"),
            ('guard --credentials warn --world "Search team"', "allow credentials there, with a note"),
        ),
    ),
)
