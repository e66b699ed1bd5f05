"""``worlddb mcp`` and ``key``: the MCP server of a store, and its access keys."""

import gc
import sys
from argparse import _ActionsContainer
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import worlddb
from worlddb import Database, InputError, UnavailableError
from worlddb.tools.cli.base import DONE, Command, Namespace, Output, Page, Parser, arguments, stores, wire
from worlddb.tools.mcp import access_keys, listening

_NEEDED = {
    "add": "Write it as: worlddb key add NAME --world REF --read (or --write)",
    "remove": "Write it as: worlddb key remove NAME",
    "list": "Write it as: worlddb key list",
}


def add_key_file(parser: _ActionsContainer) -> None:
    """Add ``--keys``."""
    parser.add_argument(
        "--keys",
        metavar="FILE",
        help="the file of keys (default: next to the store's directory, DIR.keys)",
    )


def key_file(args: Namespace) -> access_keys.KeyFile:
    """Return the key file that was named, or the one beside the store."""
    return access_keys.KeyFile(
        access_keys.default_key_file(stores.folder_of(args)) if args.keys is None else Path(args.keys)
    )


def _key_arguments(parser: Parser) -> None:
    parser.add_argument("action", metavar="ACTION", choices=sorted(_NEEDED), help="add, list or remove")
    parser.add_argument("name", metavar="NAME", nargs="?", help="name of the key, and author of what it writes")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--world", metavar="REF", help="the key opens this world and everything in it")
    where.add_argument("--all", action="store_true", help="the key opens the whole store")
    right = parser.add_mutually_exclusive_group()
    right.add_argument("--read", action="store_true", help="the key may read")
    right.add_argument("--write", action="store_true", help="the key may read and write")
    parser.add_argument("--user", metavar="NAME", help="the user of calls that name no scope")
    add_key_file(parser)


def _key(args: Namespace, out: Output) -> int:
    scoped = args.world is not None or args.all
    wanted = {"add": (True, True, True), "remove": (True, False, False), "list": (False, False, False)}[args.action]
    if (args.name is not None, scoped, args.read or args.write) != wanted:
        raise arguments.UsageError(f"These are not the arguments of `worlddb key {args.action}`", _NEEDED[args.action])
    return {"add": _add, "remove": _remove, "list": _list}[args.action](args, out)


def _add(args: Namespace, out: Output) -> int:
    with stores.open_existing(args) as db:
        world = None if args.all else stores.resolve_place(db.view(), args.world)
        secret = key_file(args).add(db.head().store_id, args.name, world, write=args.write, user=args.user)
    right = "write" if args.write else "read"
    told = {"name": args.name, "world": world, "right": right, "user": args.user, "key": secret}
    out.verbatim(told, secret + "\n")
    out.warn("This is the only time that the key is shown. A client sends it as `Authorization: Bearer KEY`.")
    return DONE


def _remove(args: Namespace, out: Output) -> int:
    removed = key_file(args).remove(args.name)
    out.answer(_key_record(removed), lambda page: page.line(f"{removed.name} no longer opens anything"))
    return DONE


def _list(args: Namespace, out: Output) -> int:
    ring = key_file(args).ring()
    keys = () if ring is None else ring.keys

    def write(page: Page) -> None:
        if not keys:
            page.line("there are no keys")
            return
        rows = [
            (key.name, "the whole store" if key.world is None else wire.short(key.world), key.right, key.user or "")
            for key in keys
        ]
        page.table(("name", "world", "right", "user"), rows)

    out.answer({"keys": [_key_record(key) for key in keys]}, write)
    return DONE


def _key_record(key: access_keys.Key) -> dict[str, str | None]:
    return {"name": key.name, "world": key.world, "right": key.right, "user": key.user}


KEY_COMMANDS = (
    Command(
        "key",
        "create, list and remove keys in a file beside the store, for MCP and REST (accounts have `keys`)",
        _key_arguments,
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


_HTTP_ONLY: Final = ("keys", "no_keys", "allow_host", "allow_origin", "trust_proxy", "rate")
_NO_CLIENT: Final = (
    "worlddb mcp: waiting for the messages of an MCP client on standard input; Ctrl-D ends it. Clients start this"
    " command themselves; --http listens at an address instead"
)
OPEN: Final = (
    "other machines can reach this address, and the traffic is not encrypted: put a TLS proxy in front of it, and"
    " give its host name with --allow-host"
)
_WHY_KEYS: Final = (
    "Make one: `worlddb key add NAME --world REF --write`. Every program and user of this machine can reach a port,"
    " even one of the loopback interface; --no-keys admits them all"
)


class MissingExtra(UnavailableError):
    """A library of an optional extra is needed and not installed."""

    code = "missing_extra"


def _arguments(parser: Parser) -> None:
    parser.add_argument(
        "--world", metavar="REF", help="serve this world and what it contains, and nothing else (default: all)"
    )
    add_tools(parser)
    parser.add_argument(
        "--user",
        metavar="NAME",
        help="the user of calls that name no scope; unlike --world, this restricts nothing",
    )
    arguments.add_embedder(parser)
    arguments.add_author(parser)
    http = parser.add_argument_group("over HTTP")
    add_address(
        http,
        listening.DEFAULT_ADDRESS,
        f"listen at this address (default: {listening.DEFAULT_ADDRESS}) instead of on standard input",
    )
    who = http.add_mutually_exclusive_group()
    add_key_file(who)
    who.add_argument("--no-keys", action="store_true", help="admit every program on this machine, without a key")
    add_web_options(http)


def add_tools(parser: _ActionsContainer) -> None:
    """Add ``--tools``; see :func:`tools_of_sets`."""
    parser.add_argument(
        "--tools",
        metavar="SET,...",
        default="all",
        help="the sets of tools to show, joined by commas: core, time, identity and marks, which are in all (default);"
        " beliefs, working, forks, and operator, which has the tools that erase; kumiho is a catalogue of its own",
    )


def add_address(parser: _ActionsContainer, default: str, both: str) -> None:
    """Add ``--http``, whose help is ``both``, ``--host`` and ``--port``; see :func:`chosen_address`."""
    host, port = listening.parse_address(default)
    parser.add_argument("--http", metavar="HOST:PORT", nargs="?", const="", help=both)
    parser.add_argument("--host", metavar="HOST", help=f"the address to listen at (default: {host})")
    parser.add_argument("--port", metavar="PORT", help=f"the port (default: {port}; 0: any free one)")


def chosen_address(args: Namespace, default: str) -> listening.Address:
    """The address that the options of :func:`add_address` name.

    Raises:
        InputError: it is none, or is named in both ways.
    """
    if args.http and (args.host, args.port) != (None, None):
        raise arguments.UsageError(
            f"--http {args.http:.80} has a host and a port, and another option sets one too",
            "Leave out --host and --port",
        )
    if args.http:
        return listening.parse_address(args.http)
    usual = listening.parse_address(default)
    host = usual.host if args.host is None else args.host
    shown = f"[{host}]" if ":" in host else host
    return listening.parse_address(f"{shown}:{usual.port if args.port is None else args.port}")


def add_web_options(parser: _ActionsContainer, per_second: int = access_keys.PER_SECOND) -> None:
    """Add the options of a server over HTTP for host names, origins, proxies and rates."""
    parser.add_argument(
        "--allow-host",
        metavar="NAME",
        action="append",
        default=[],
        help="another host name by which clients reach the server",
    )
    parser.add_argument(
        "--allow-origin", metavar="URL", action="append", default=[], help="admit requests from pages of this origin"
    )
    parser.add_argument(
        "--trust-proxy",
        metavar="ADDRESS",
        action="append",
        default=[],
        help="log the address in X-Forwarded-For if a proxy at this address or network sent it (default: never)",
    )
    parser.add_argument(
        "--rate",
        metavar="N",
        type=arguments.count,
        help=f"requests a second that each key may send (default: {per_second:,})",
    )


def _serve(args: Namespace, out: Output) -> int:
    if (args.http, args.host, args.port) != (None, None, None):
        return _serve_http(args, out)
    given = [name for name in _HTTP_ONLY if getattr(args, name)]
    if given:
        raise arguments.UsageError(f"--{given[0].replace('_', '-')} needs --http", "Add --http, or leave it out")
    if sys.stdin is None:
        raise InputError("Standard input is closed", "Let a client start the server, or add --http")
    with import_extra("mcp"):
        from worlddb.tools.mcp import server, session
    tools = tools_of_sets(args.tools)
    with _open_database(args) as db:
        served = session.Session(db, _world(args, db), user=args.user)
        if sys.stdin.isatty():
            out.warn(_NO_CLIENT)
        server.serve(served, tools)
    return DONE


def tools_of_sets(sets: str) -> tuple[Any, ...]:
    """Return the tools of sets; who asks for no second catalogue does not wait for it."""
    if "kumiho" in sets:
        from worlddb.tools.mcp.kumiho import kumiho_catalogue

        return kumiho_catalogue.tools_of(sets)
    from worlddb.tools.mcp import catalogue

    return catalogue.tools_in_sets(sets)


def _serve_http(args: Namespace, out: Output) -> int:
    address = chosen_address(args, listening.DEFAULT_ADDRESS)
    proxies = [listening.parse_proxy(text) for text in args.trust_proxy]
    require_keys_off_loopback(args.no_keys, address)
    if args.world is not None and not args.no_keys:
        raise arguments.UsageError("--world needs --no-keys", "With keys, each key has its own world")
    with import_extra("mcp"):
        from worlddb.tools.mcp.access_keys import Gate
        from worlddb.tools.mcp.http_server import AccessRules, serve_http
        from worlddb.tools.mcp.tenants import Offering
    tools = tools_of_sets(args.tools)
    with _open_database(args) as db, listening.listen(address) as listener:
        at = listening.bound_address(listener)
        url = f"http://{at.shown}:{at.port}{listening.PATH}"
        keys = _keys(args, db)

        def ready() -> None:
            if out.json:
                out.document({"url": url, "keys": keys is not None})
                sys.stdout.flush()
            if not at.is_loopback:
                out.warn(f"worlddb mcp: {OPEN}")
            out.warn(f"worlddb mcp: listening at {url}")

        gate = Gate(db, keys, args.rate or access_keys.PER_SECOND)
        admitted = AccessRules(gate, args.allow_host, args.allow_origin, proxies)
        serve_http(db, Offering(_world(args, db), tools, args.user), listener, admitted, ready)
    out.warn("worlddb mcp: stopped")
    return DONE


def _world(args: Namespace, db: Database) -> str | None:
    """Return the world to serve; None for the whole store."""
    return None if args.world is None else stores.resolve_place(db.view(), args.world)


def require_keys_off_loopback(is_open: bool, address: listening.Address) -> None:
    """Refuse to open a store to other machines without keys.

    Raises:
        UsageError: it would be.
    """
    if is_open and not address.is_loopback:
        raise arguments.UsageError(
            f"--no-keys at {address.shown}:{address.port} would admit everybody who can reach this machine",
            "Make keys with `worlddb key add`, or listen at 127.0.0.1",
        )


def _keys(args: Namespace, db: Database) -> access_keys.KeyFile | None:
    """Return the key file, which must hold a key unless an account has one; None with --no-keys.

    Raises:
        UsageError: there are no keys.
    """
    if args.no_keys:
        return None
    file = key_file(args)
    ring = file.ring(db.head().store_id)
    if (ring is None or not ring.keys) and not db.accounts.keys():
        raise arguments.UsageError(f"There are no access keys in {file.path}", _WHY_KEYS)
    return file


@contextmanager
def import_extra(name: str) -> Iterator[None]:
    """Import the libraries of an optional extra, which are large and may be missing.

    What they create stays for as long as the server runs. So the garbage collector is off while they load and leaves
    their objects out afterwards.
    """
    gc.disable()
    try:
        yield
        gc.freeze()
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "worlddb":
            raise
        raise MissingExtra(
            f"The server needs {error.name}, which is not installed", f"pip install 'worlddb[{name}]'"
        ) from None
    finally:
        gc.enable()


def _open_database(args: Namespace) -> Database:
    """Open the store to serve; the allocator keeps no heap for each of the threads that answer."""
    from worlddb.store import give_back_large_blocks

    give_back_large_blocks()
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
            ("mcp", "for a client, which starts it and ends it by closing the pipe"),
            ("mcp --tools core --user ana", "the nine everyday tools, which need no user_id"),
            ('mcp --world "Search team" --author assistant', "one world of the store, and the author of its writes"),
            (
                "mcp --http",
                f"at http://{listening.DEFAULT_ADDRESS}{listening.PATH}, for clients with a key (see `worlddb key`)",
            ),
            ("mcp --http 8767 --no-keys", "at another port, for every program of this machine"),
        ),
        json="change nothing: what it prints belongs to the protocol, which is JSON",
    ),
)
