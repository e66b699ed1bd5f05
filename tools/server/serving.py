"""The whole server: REST and MCP on one port, in one process."""

import socket
import sys
from collections.abc import Callable, Sequence
from functools import partial
from types import FrameType
from typing import Any, Final, NamedTuple, cast

import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from worlddb import Database, UsageMeter
from worlddb.tools.mcp import access_keys, http_guards, http_server, listening
from worlddb.tools.mcp.tenants import Offer, Tenants
from worlddb.tools.server import (
    account_routes,
    event_stream,
    fork_routes,
    job_routes,
    memory_routes,
    problems,
    request_log,
    statement_routes,
    store_routes,
    world_routes,
)
from worlddb.tools.server.gate import Gate, KeyGate, OpenGate
from worlddb.tools.server.rest import Rest, Served
from worlddb.tools.server.route import Route

DEFAULT_HOST: Final = "127.0.0.1"
DEFAULT_PORT: Final = 8767
SWITCH_SECONDS: Final = 0.001
"""How long a thread may hold the interpreter while the loop waits for it."""
ROUTES: Final[tuple[Route, ...]] = (
    *world_routes.ROUTES,
    *memory_routes.ROUTES,
    *statement_routes.ROUTES,
    *fork_routes.ROUTES,
    *store_routes.ROUTES,
    *account_routes.ROUTES,
    *job_routes.ROUTES,
    *event_stream.ROUTES,
)
"""All that can be asked; who adds a capability adds its routes here."""


class Application:
    """Passes what is for MCP to MCP, and the rest to REST, each behind its guards."""

    def __init__(self, rest: ASGIApp, mcp: ASGIApp) -> None:
        self._rest, self._mcp = rest, mcp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on; the lifespan of the server is that of MCP's sessions."""
        is_mcp = scope["type"] == "lifespan" or scope["path"] == listening.PATH
        await (self._mcp if is_mcp else self._rest)(scope, receive, send)


class Metered:
    """Counts the requests to MCP by the keys that sent them; which of them write, only their tools know."""

    def __init__(self, app: ASGIApp, meter: UsageMeter, *, keys: bool) -> None:
        self._app, self._meter, self._keys = app, meter, keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, then count it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        received = sent = status = 0

        async def taken() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            return message

        async def given(message: Message) -> None:
            nonlocal sent, status
            status = message.get("status", status)
            sent += len(message.get("body", b""))
            await send(message)

        try:
            await self._app(scope, taken, given)
        finally:
            # Authentication has put the key into the scope by now.
            token = getattr(scope.get("user"), "access_token", None)
            if token is not None or not self._keys:
                key = "" if token is None else token.claims["digest"][: access_keys.ID_DIGITS]
                failed = status >= 400 or not status
                self._meter.count(key, bytes_in=received, bytes_out=sent, failed=failed)


class _Server(http_server.QuietServer):
    """A server that ends what would go on by itself as soon as it is told to end."""

    at_exit: Callable[[], None]

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to end."""
        self.at_exit()
        super().handle_exit(sig, frame)


class Access(NamedTuple):
    """Who may send requests, and how many; as :class:`worlddb.tools.mcp.http_server.AccessRules`."""

    keys: access_keys.KeyFile | None
    hosts: Sequence[str] = ()
    origins: Sequence[str] = ()
    per_second: float = access_keys.REST_PER_SECOND
    proxies: Sequence[str] = ()


def gate_of(db: Database, access: Access) -> Gate:
    """Return the gate of a server: that of its keys, or an open one."""
    if access.keys is None:
        return OpenGate(db.author, access.per_second)
    return KeyGate(access.keys, db, access.per_second)


def guarded(rest: ASGIApp, at: listening.Address, access: Access) -> ASGIApp:
    """Return REST behind its guards: names and origins first, then headers, then the time of bodies."""
    own = listening.names_of(at)
    hosts, origins = [*own, *access.hosts], [*(f"http://{name}" for name in own), *access.origins]
    refuse = problems.guard_response
    timed = http_guards.BodyTimeout(rest, refuse)
    return http_guards.HostCheck(http_guards.SingleHeaders(timed, refuse), hosts, origins, refuse)


def serve(db: Database, listener: socket.socket, access: Access, ready: Callable[[], None]) -> None:
    """Serve until SIGINT or SIGTERM, which lets running requests finish; ``ready`` is called when requests may come."""
    request_log.log_to(sys.stderr)
    sys.setswitchinterval(SWITCH_SECONDS)
    rest = Rest(Served(db, gate_of(db, access), ROUTES))
    rules = http_server.AccessRules(*access)
    mcp = http_server.application(Tenants(db, Offer(), access.keys, access.per_second), listener, rules)
    metered = Metered(mcp, db.accounts.meter, keys=access.keys is not None)
    crowd = http_server.Crowd(http_server.open_connections())
    config = uvicorn.Config(
        cast(Any, Application(guarded(rest, listening.bound(listener), access), metered)),
        http=cast(Any, partial(http_server.Connection, crowd=crowd)),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(access.proxies),
        forwarded_allow_ips=list(access.proxies),
        backlog=http_server.ACCEPTED_AT_ONCE,
        timeout_keep_alive=http_server.IDLE_SECONDS,
        timeout_graceful_shutdown=http_server.FAREWELL_SECONDS,
    )
    server = _Server(config)
    server.at_exit = rest.end_streams
    ready()
    try:
        server.run(sockets=[listener])
    finally:
        rest.close()
