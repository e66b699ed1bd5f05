"""``worlddb serve``: the store over HTTP, by REST and by MCP."""

import sys
from contextlib import suppress
from threading import Thread
from typing import Final

import worlddb
from worlddb import Database
from worlddb.tools.cli.base import DONE, Command, Namespace, Output, Parser, arguments, stores
from worlddb.tools.cli.serve import mcp_command
from worlddb.tools.mcp import access_keys, listening

DEFAULT_ADDRESS: Final = "127.0.0.1:8767"
DAYS: Final = 90
FIRST_KEY: Final = "owner"
"""The name of the key that is made where there is none."""


def _arguments(parser: Parser) -> None:
    mcp_command.add_address(parser, DEFAULT_ADDRESS, "the same as --host and --port, as in `worlddb mcp`")
    who = parser.add_mutually_exclusive_group()
    mcp_command.add_key_file(who)
    who.add_argument("--no-keys", action="store_true", help="admit every program on this machine, without a key")
    mcp_command.add_web_options(parser, access_keys.REST_PER_SECOND)
    mcp_command.add_tools(parser)
    parser.add_argument(
        "--usage-days",
        metavar="N",
        type=arguments.count,
        default=DAYS,
        help=f"keep the usage of N days (default: {DAYS})",
    )
    arguments.add_embedder(parser)
    arguments.add_author(parser)


def _serve(args: Namespace, out: Output) -> int:
    address = mcp_command.chosen_address(args, DEFAULT_ADDRESS)
    proxies = [listening.parse_proxy(text) for text in args.trust_proxy]
    mcp_command.require_keys_off_loopback(args.no_keys, address)
    Thread(target=_load, name="worlddb-loading").start()
    with mcp_command.import_extra("server"):
        from worlddb.tools.mcp.access_keys import Gate
        from worlddb.tools.mcp.http_server import AccessRules
        from worlddb.tools.server import serving
    tools = mcp_command.tools_of_sets(args.tools)
    with _open_database(args) as db, listening.listen(address) as listener:
        at = listening.bound_address(listener)
        url = f"http://{at.shown}:{at.port}"
        keys = None if args.no_keys else mcp_command.key_file(args)
        secret = None if keys is None else _make_first_key(keys, db)

        def ready() -> None:
            if out.json:
                out.document({"url": url, "keys": keys is not None, "key": secret})
                sys.stdout.flush()
            else:
                _print_ready(out, url, secret, at)

        gate = Gate(db, keys, args.rate or access_keys.REST_PER_SECOND)
        access = AccessRules(gate, args.allow_host, args.allow_origin, proxies)
        db.accounts.meter.days = args.usage_days
        serving.serve(db, listener, access, ready, tools)
    out.warn("worlddb serve: stopped")
    return DONE


def _load() -> None:
    """Load libraries that the first recall needs, beside those of the server."""
    with suppress(ImportError):  # It is told to who needs it.
        import numpy  # noqa: F401
        import tantivy  # noqa: F401
        import tokenizers  # noqa: F401


def _print_ready(out: Output, url: str, secret: str | None, at: listening.Address) -> None:
    if not at.is_loopback:
        out.warn(mcp_command.OPEN)
    if secret is not None:
        out.warn(f"worlddb serve: made the key {FIRST_KEY!r}, which opens everything and is shown only now: {secret}")
    out.warn(f"worlddb serve: REST at {url}/v1, its description at {url}/openapi.json, MCP at {url}{listening.PATH}")


def _make_first_key(keys: access_keys.KeyFile, db: Database) -> str | None:
    """Make a key where there is none yet, in the file or of an account; returns its secret."""
    store = db.head().store_id
    ring = keys.ring(store)
    if (ring is not None and ring.keys) or db.accounts.keys():
        return None
    return keys.add(store, FIRST_KEY, None, write=True)


def _open_database(args: Namespace) -> Database:
    return worlddb.open(
        stores.folder_of(args),
        author=args.author,
        embedder=stores.embedder_of(args),
        background=True,
        durability="group",
    )


COMMANDS = (
    Command(
        "serve",
        "serve the store over HTTP: REST, and tools for models, on one port",
        _arguments,
        _serve,
        (
            ("serve", f"at http://{DEFAULT_ADDRESS}; the first start makes and shows a key"),
            ("serve --port 9000 --no-keys", "at another port, for every program of this machine"),
            ("serve --tools all,working,operator", "with messages that expire, and for admins the tools that erase"),
        ),
    ),
)
