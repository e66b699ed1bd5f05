"""``worlddb key``: who may reach a server over HTTP, in which world, and whether to write."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace, _ActionsContainer
from pathlib import Path

from worlddb.tools.cli import stores, wire
from worlddb.tools.cli.arguments import UsageError
from worlddb.tools.cli.command import DONE, Command
from worlddb.tools.cli.output import Output
from worlddb.tools.cli.page import Page
from worlddb.tools.mcp.keys import Key, KeyFile, beside

_NEEDED = {
    "add": "Write it as: worlddb key add NAME --world REF --read (or --write)",
    "remove": "Write it as: worlddb key remove NAME",
    "list": "Write it as: worlddb key list",
}


def add_key_file(parser: _ActionsContainer) -> None:
    """``--keys``."""
    parser.add_argument(
        "--keys",
        metavar="FILE",
        help="the file of keys (default: next to the store's directory, DIR.keys)",
    )


def key_file(args: Namespace) -> KeyFile:
    """The file of keys that was named, or the one beside the store."""
    return KeyFile(beside(stores.folder_of(args)) if args.keys is None else Path(args.keys))


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("action", metavar="ACTION", choices=sorted(_NEEDED), help="add, list or remove")
    parser.add_argument(
        "name", metavar="NAME", nargs="?", help="what the key is called, and the author of what it writes"
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--world", metavar="REF", help="the world that the key opens, with what it contains")
    where.add_argument("--all", action="store_true", help="the key opens the whole store")
    right = parser.add_mutually_exclusive_group()
    right.add_argument("--read", action="store_true", help="the key may read")
    right.add_argument("--write", action="store_true", help="the key may read and write")
    add_key_file(parser)


def _key(args: Namespace, out: Output) -> int:
    scoped = args.world is not None or args.all
    wanted = {"add": (True, True, True), "remove": (True, False, False), "list": (False, False, False)}[args.action]
    if (args.name is not None, scoped, args.read or args.write) != wanted:
        raise UsageError(f"These are not the arguments of `worlddb key {args.action}`", _NEEDED[args.action])
    return {"add": _add, "remove": _remove, "list": _list}[args.action](args, out)


def _add(args: Namespace, out: Output) -> int:
    with stores.existing(args) as db:
        world = None if args.all else stores.world_of(db.view(), args.world)
        secret = key_file(args).add(db.head().store_id, args.name, world, write=args.write)
    right = "write" if args.write else "read"
    out.verbatim({"name": args.name, "world": world, "right": right, "key": secret}, secret + "\n")
    out.warn("This is the only time that the key is shown. A client sends it as `Authorization: Bearer KEY`.")
    return DONE


def _remove(args: Namespace, out: Output) -> int:
    removed = key_file(args).remove(args.name)
    out.answer(_told(removed), lambda page: page.line(f"{removed.name} opens nothing any more"))
    return DONE


def _list(args: Namespace, out: Output) -> int:
    ring = key_file(args).ring()
    keys = () if ring is None else ring.keys

    def write(page: Page) -> None:
        if not keys:
            page.line("there are no keys")
            return
        rows = [
            (key.name, "the whole store" if key.world is None else wire.short(key.world), key.right) for key in keys
        ]
        page.table(("name", "world", "right"), rows)

    out.answer({"keys": [_told(key) for key in keys]}, write)
    return DONE


def _told(key: Key) -> dict[str, str | None]:
    return {"name": key.name, "world": key.world, "right": key.right}


COMMANDS = (
    Command(
        "key",
        "make, list and take back the keys with which clients reach the MCP server over HTTP",
        _arguments,
        _key,
        (
            (
                'key add laptop --world "Search team" --write',
                "a key for one world, shown once",
            ),
            ("key add reports --all --read", "a key that reads the whole store and writes nothing"),
            ("key list", "their names, worlds and rights"),
            ("key remove laptop", "refused from the next request on"),
        ),
    ),
)
