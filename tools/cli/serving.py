"""``worlddb mcp``: the memory of a store as tools, for programs that speak the Model Context Protocol."""

from __future__ import annotations

import gc
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import worlddb
from worlddb import Database, InputError, UnavailableError
from worlddb.tools.cli import arguments, stores
from worlddb.tools.cli.arguments import UsageError, count
from worlddb.tools.cli.command import DONE, Command
from worlddb.tools.cli.keys import add_key_file, key_file
from worlddb.tools.cli.output import Output
from worlddb.tools.mcp.keys import KeyFile
from worlddb.tools.mcp.listening import DEFAULT_ADDRESS, PATH, Address, address_of, bound, listen
from worlddb.tools.mcp.rates import PER_SECOND

_HTTP_ONLY: Final = ("keys", "no_keys", "allow_host", "allow_origin", "rate")
_NO_CLIENT: Final = (
    "worlddb mcp: waiting for a client's messages on standard input, which programs write and people do not; the end of"
    " it (Ctrl-D) ends this. Clients start this command themselves; --http listens at an address instead"
)
_OPEN: Final = (
    "worlddb mcp: this address can be reached from other machines, and what is sent is not encrypted: put a server that"
    " speaks TLS in front of it, and name what clients call it with --allow-host"
)
_WHY_KEYS: Final = (
    "Make one: `worlddb key add NAME --world REF --write`. Every program and every user of this machine can reach a"
    " port, also one of the loopback interface; to let them all in, say so: --no-keys"
)


class MissingExtra(UnavailableError):
    """A library that only some installations have is needed."""

    code = "missing_extra"


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--world", metavar="REF", help="serve this world and what it contains, and nothing else (default: all)"
    )
    arguments.add_embedder(parser)
    arguments.add_author(parser)
    http = parser.add_argument_group("over HTTP")
    http.add_argument(
        "--http",
        metavar="HOST:PORT",
        nargs="?",
        const=DEFAULT_ADDRESS,
        help=f"listen there (default: {DEFAULT_ADDRESS}) instead of on standard input",
    )
    who = http.add_mutually_exclusive_group()
    add_key_file(who)
    who.add_argument("--no-keys", action="store_true", help="let every program of this machine in, without a key")
    http.add_argument(
        "--allow-host", metavar="NAME", action="append", default=[], help="another name that clients call it by"
    )
    http.add_argument(
        "--allow-origin", metavar="URL", action="append", default=[], help="let pages of this origin send requests"
    )
    http.add_argument(
        "--rate", metavar="N", type=count, help=f"how many requests a second each key may send (default: {PER_SECOND})"
    )


def _serve(args: Namespace, out: Output) -> int:
    if args.http is not None:
        return _serve_http(args, out)
    given = [name for name in _HTTP_ONLY if getattr(args, name)]
    if given:
        raise UsageError(f"--{given[0].replace('_', '-')} is for a server over HTTP", "Add --http, or leave it out")
    if sys.stdin is None:
        raise InputError("Standard input is closed", "Let a client start the server, or add --http")
    with _extra():
        from worlddb.tools.mcp.server import serve
    with _opened(args) as db:
        world = _world(args, db)
        if sys.stdin.isatty():
            out.warn(_NO_CLIENT)
        serve(db, world)
    return DONE


def _serve_http(args: Namespace, out: Output) -> int:
    address = address_of(args.http)
    _check_openness(args, address)
    with _extra():
        from worlddb.tools.mcp.http import Admitted, serve_http
    with _opened(args) as db, listen(address) as listener:
        at = bound(listener)
        url = f"http://{at.shown}:{at.port}{PATH}"
        keys = _keys(args, db)

        def ready() -> None:
            if out.json:
                out.document({"url": url, "keys": keys is not None})
                sys.stdout.flush()
            if not at.is_loopback:
                out.warn(_OPEN)
            out.warn(f"worlddb mcp: listening at {url}")

        admitted = Admitted(keys, args.allow_host, args.allow_origin, args.rate or PER_SECOND)
        serve_http(db, _world(args, db), listener, admitted, ready)
    out.warn("worlddb mcp: stopped")
    return DONE


def _world(args: Namespace, db: Database) -> str | None:
    """The world that is served, if not all."""
    return None if args.world is None else stores.world_of(db.view(), args.world)


def _check_openness(args: Namespace, address: Address) -> None:
    """See that nobody opens a store to others without having said so."""
    if args.no_keys and not address.is_loopback:
        raise UsageError(
            f"--no-keys at {address.shown}:{address.port} would let in everybody who can reach this machine",
            "Make keys with `worlddb key add`, or listen at 127.0.0.1",
        )
    if args.world is not None and not args.no_keys:
        raise UsageError("--world is for a server without keys", "With keys, each key has a world of its own")


def _keys(args: Namespace, db: Database) -> KeyFile | None:
    """The file of keys, which has to hold some now; ``None`` if none are wanted."""
    if args.no_keys:
        return None
    file = key_file(args)
    ring = file.ring(db.head().store_id)
    if ring is None or not ring.keys:
        raise UsageError(f"There are no keys to tell clients by in {file.path}", _WHY_KEYS)
    return file


@contextmanager
def _extra() -> Iterator[None]:
    """Where libraries are imported that may not be installed, and are large.

    What they make stays for as long as the server runs: the cycle collector, which would look through all of it again
    and again, waits until they are there and then leaves it out.
    """
    gc.disable()
    try:
        yield
        gc.freeze()
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("mcp", "mcp_types", "anyio"):
            raise
        raise MissingExtra(
            "The MCP server needs the official Python SDK, which is not installed", "pip install 'worlddb[mcp]'"
        ) from None
    finally:
        gc.enable()


def _opened(args: Namespace) -> Database:
    return worlddb.open(
        stores.folder_of(args),
        author=args.author,
        create=args.world is None,
        embedder=stores.embedder_of(args),
        background=True,
    )


COMMANDS = (
    Command(
        "mcp",
        "serve the store's memory as tools to programs that speak the Model Context Protocol",
        _arguments,
        _serve,
        (
            ("mcp", "what a client starts; it ends when the client closes the pipe"),
            ('mcp --world "Search team" --author assistant', "one world of the store, and who is said to write"),
            ("mcp --http", f"at http://{DEFAULT_ADDRESS}{PATH}, for whoever has a key (see `worlddb key`)"),
            ("mcp --http 8767 --no-keys", "at another port, for every program of this machine"),
        ),
        json="change nothing: what it prints belongs to the protocol, which is JSON",
    ),
)
