"""The server over Streamable HTTP, with limits on slow and idle connections."""

import asyncio
import logging
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

import uvicorn
from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend, RequireAuthMiddleware
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from worlddb import Database
from worlddb.tools.mcp import access_keys, http_guards, listening
from worlddb.tools.mcp.tenants import Tenants

HEAD_SECONDS: Final = 20.0
"""Interval of idle checks; a connection without a request lives at most twice as long."""


class PatientProtocol(H11Protocol):
    """HTTP/1.1 that cuts connections on which no request begins."""

    _idle_with: RequestResponseCycle | None = None
    _idle_before = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start to watch the connection."""
        super().connection_made(transport)
        self.loop.call_later(HEAD_SECONDS, self._look)

    def _look(self) -> None:
        """Cut the connection if it was idle at the last check too, after the same request."""
        if self.transport.is_closing():
            return
        # Before the first request the cycle is None, despite its declared type.
        last: Any = self.cycle
        idle = last is None or last.response_complete
        if idle and self._idle_before and last is self._idle_with:
            self.transport.abort()
            return
        self._idle_before, self._idle_with = idle, last
        self.loop.call_later(HEAD_SECONDS, self._look)


class QuietServer(uvicorn.Server):
    """A server that shuts down on a signal without raising the signal again afterwards."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle SIGINT and SIGTERM while serving; a second one does not wait for open requests."""
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


MAX_HEAD_BYTES: Final = 16_384
MAX_CONNECTIONS: Final = 500
IDLE_SECONDS: Final = 15
"""Time that a connection stays open for its next request."""
FAREWELL_SECONDS: Final = 5
"""Time for running requests to finish at shutdown."""


class AccessRules(NamedTuple):
    """Who may send requests, and how many.

    ``keys`` admits whoever holds one of them; ``None`` admits everybody. ``hosts`` are further names of the server
    beside its address, ``origins`` the allowed origins of pages, ``per_second`` the rate of each key.
    """

    keys: access_keys.KeyFile | None
    hosts: Sequence[str] = ()
    origins: Sequence[str] = ()
    per_second: float = access_keys.PER_SECOND


def serve_http(
    db: Database, world: str | None, listener: socket.socket, admitted: AccessRules, ready: Callable[[], None]
) -> None:
    """Serve over HTTP until SIGINT or SIGTERM.

    Without keys every client sees ``world``, or the whole store; with keys each sees the world of its key. ``ready`` is
    called when requests are about to be accepted.

    Raises:
        UnknownReference, AmbiguousReference: there is no such world, or there are several.
    """
    _log_to_stderr()
    config = uvicorn.Config(
        application(Tenants(db, world, admitted.keys, admitted.per_second), listener, admitted),
        http=PatientProtocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        h11_max_incomplete_event_size=MAX_HEAD_BYTES,
        limit_concurrency=MAX_CONNECTIONS,
        timeout_keep_alive=IDLE_SECONDS,
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
    around = [Middleware(http_guards.AccessLog), Middleware(http_guards.HostCheck, **names)]
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


def _log_to_stderr() -> None:
    """Log requests and warnings to stderr, one line each.

    Of what a client sent, only its path and key name are logged.
    """
    # The SDK leaves a root logger that has a handler alone.
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(asctime)s %(message)s", force=True)
    http_guards.ACCESS_LOG.setLevel(logging.INFO)
