"""``worlddb mcp``: the memory of a store as tools, for programs that speak the Model Context Protocol."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

import worlddb
from worlddb import UnavailableError
from worlddb.tools.cli import arguments, stores
from worlddb.tools.cli.command import DONE, Command
from worlddb.tools.cli.output import Output


class MissingExtra(UnavailableError):
    """A library that only some installations have is needed."""

    code = "missing_extra"


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--world", metavar="REF", help="serve this world and what it contains, and nothing else (default: all)"
    )
    arguments.add_author(parser)


def _serve(args: Namespace, out: Output) -> int:
    try:
        from worlddb.tools.mcp.server import serve
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("mcp", "mcp_types", "anyio"):
            raise
        raise MissingExtra(
            "The MCP server needs the official Python SDK, which is not installed", "pip install 'worlddb[mcp]'"
        ) from None
    with worlddb.open(stores.folder_of(args), author=args.author, create=args.world is None) as db:
        serve(db, args.world)
    return DONE


COMMANDS = (
    Command(
        "mcp",
        "serve the store's memory as tools to a program that speaks the Model Context Protocol, on standard streams",
        _arguments,
        _serve,
        (
            ("mcp", "what a client starts; it ends when the client closes the pipe"),
            ('mcp --world "Search team" --author assistant', "one world of the store, and who is said to write"),
        ),
    ),
)
