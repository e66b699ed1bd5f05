"""``worlddb usage``: requests, writes and bytes of each key of a server."""

from contextlib import suppress
from typing import Any, Final

from worlddb import WorldDBError
from worlddb.tools.cli.base import DONE, Command, Namespace, Output, Page, Parser, stores, wire
from worlddb.tools.mcp import access_keys

_COLUMNS: Final = ("requests", "writes", "bytes_in", "bytes_out", "errors")


def _arguments(parser: Parser) -> None:
    parser.add_argument("key", metavar="KEY", nargs="?", help="name or id of a key (default: all)")
    parser.add_argument("--since", metavar="TIME", help="from this time on (default: all stored figures)")
    parser.add_argument("--until", metavar="TIME", help="up to this time")
    parser.add_argument(
        "--by", choices=("minute", "hour", "day", "total"), default="day", help="the span of each figure (default: day)"
    )


def _usage(args: Namespace, out: Output) -> int:
    names: dict[str, str] = {}
    with suppress(WorldDBError, OSError):
        ring = access_keys.KeyFile(access_keys.default_key_file(stores.folder_of(args))).ring()
        names = {} if ring is None else {each.id: each.name for each in ring.keys}
    with stores.open_existing(args) as db:
        found = db.accounts.usage(args.key, since=args.since, until=args.until, by=args.by, names=names)
    rows = [wire.record(each) | {"at": wire.time(each.at)} for each in found.usage]
    document: dict[str, Any] = {"usage": rows, "by": args.by, "trouble": found.trouble}

    def write(page: Page) -> None:
        if found.trouble:
            page.line((f"the figures are incomplete: {found.trouble}", "bold"))
        if not rows:
            page.line("no server had requests in this time")
            return
        page.table(
            ("since", "key", *(name.replace("_", " ") for name in _COLUMNS)),
            [
                (each["at"], each["name"] or each["key"][:12] or "without a key", *(f"{each[n]:,}" for n in _COLUMNS))
                for each in rows
            ],
        )

    out.answer(document, write)
    return DONE


COMMANDS = (
    Command(
        "usage",
        "show the usage of a server by key: requests, writes, bytes and errors",
        _arguments,
        _usage,
        (
            ("usage", "by day and key"),
            ("usage --by hour --since 2025-03-01 --until 2025-03-02", "the hours of a day"),
            ("usage --by total --json", "all stored figures, for a program"),
        ),
    ),
)
