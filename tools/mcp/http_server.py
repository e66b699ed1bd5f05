"""The server over Streamable HTTP, with limits on slow and idle connections."""

import resource
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, NamedTuple, cast

import uvicorn
from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend, RequireAuthMiddleware
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.routing import Route

from worlddb import Database
from worlddb.tools.mcp import access_keys, access_log, http_connections, http_guards, listening
from worlddb.tools.mcp.tenants import Offer, Tenants

ACCEPTED_AT_ONCE: Final = 32
"""New connections that one turn of the loop takes up, so that it reads what they sent before too many others come."""
QUEUED_CONNECTIONS: Final = 512
"""New connections that the system holds until the server takes them up."""
FAREWELL_SECONDS: Final = 5
"""Time for running requests to finish at shutdown."""


class QuietServer(uvicorn.Server):
    """A server that shuts down on a signal without raising the signal again afterwards.

    The system holds more new connections for it than it takes up in one turn of its loop. So a flood neither fills the
    system's queue at once, nor keeps it from reading what came on connections before.
    """

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to accept connections."""
        await super().startup(sockets)
        for listener in sockets or ():
            listener.listen(QUEUED_CONNECTIONS)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle SIGINT and SIGTERM while serving; a second one does not wait for open requests."""
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


class AccessRules(NamedTuple):
    """Who may send requests, and how many.

    ``keys`` admits whoever holds one of them; ``None`` admits everybody. ``hosts`` are further names of the server
    beside its address, ``origins`` the allowed origins of pages, ``per_second`` the rate of each key. ``proxies`` are
    the addresses of proxies whose ``X-Forwarded-For`` is believed; the log then shows whom they name.
    """

    keys: access_keys.KeyFile | None
    hosts: Sequence[str] = ()
    origins: Sequence[str] = ()
    per_second: float = access_keys.PER_SECOND
    proxies: Sequence[str] = ()


def serve_http(
    db: Database, offer: Offer, listener: socket.socket, admitted: AccessRules, ready: Callable[[], None]
) -> None:
    """Serve over HTTP until SIGINT or SIGTERM.

    Without keys every client sees the world that is offered; with keys each sees the world of its key. ``ready`` is
    called when requests are about to be accepted.

    Raises:
        UnknownReference, AmbiguousReference: there is no such world, or there are several.
    """
    access_log.log_to(sys.stderr)
    crowd = http_connections.Crowd(open_connections())
    config = uvicorn.Config(
        application(Tenants(db, offer, admitted.keys, admitted.per_second), listener, admitted),
        http=cast(Any, partial(http_connections.Connection, crowd=crowd)),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(admitted.proxies),
        forwarded_allow_ips=list(admitted.proxies),
        backlog=ACCEPTED_AT_ONCE,
        timeout_keep_alive=http_connections.IDLE_SECONDS,
        timeout_graceful_shutdown=FAREWELL_SECONDS,
    )
    server = QuietServer(config)
    ready()
    server.run(sockets=[listener])


def application(tenants: Tenants, listener: socket.socket, admitted: AccessRules) -> Starlette:
    """Build the ASGI application: it checks names and origins first, then keys, then the body."""
    own = listening.names_of(listening.bound(listener))
    names = {
        "hosts": [*own, *admitted.hosts],
        "origins": [*(f"http://{name}" for name in own), *admitted.origins],
    }
    around = [
        Middleware(access_log.AccessLog),
        Middleware(http_guards.HostCheck, **names),
        Middleware(http_guards.SingleHeaders),
    ]
    endpoint: RequireAuthMiddleware | Tenants = tenants
    if admitted.keys is not None:
        around += [
            Middleware(AuthenticationMiddleware, backend=BearerAuthBackend(tenants)),
            Middleware(AuthContextMiddleware),
        ]
        endpoint = RequireAuthMiddleware(tenants, required_scopes=[])
    return Starlette(
        routes=[Route(listening.PATH, endpoint=endpoint)],
        middleware=[*around, Middleware(http_guards.BodyTimeout)],
        lifespan=lambda _: tenants.run(),
    )


def open_connections() -> int:
    """Return how many connections may be open, so that files can still be opened beside them."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = http_connections.MAX_CONNECTIONS
    return most if files == resource.RLIM_INFINITY else min(most, files // 2)
