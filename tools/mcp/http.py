"""Streamable HTTP: the same server as on standard streams, for programs that reach it by a socket."""

from __future__ import annotations

import logging
import socket
import sys
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import uvicorn
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Route

from worlddb import Database
from worlddb.tools.mcp.connections import PatientProtocol, QuietServer
from worlddb.tools.mcp.desk import Desk
from worlddb.tools.mcp.guards import ACCESS_LOG, AccessLog, OwnNamesOnly, WholeBody
from worlddb.tools.mcp.listening import PATH, bound, names_of
from worlddb.tools.mcp.server import MemoryServer
from worlddb.tools.mcp.stdin import MAX_LINE_BYTES

MAX_BODY_BYTES: Final = MAX_LINE_BYTES
MAX_HEAD_BYTES: Final = 16_384
MAX_SESSIONS: Final = 200
SESSION_SECONDS: Final = 1800.0
"""How long a session is kept that nobody asks anything of."""
MAX_CONNECTIONS: Final = 500
IDLE_SECONDS: Final = 15
"""How long a connection is kept open for the next request."""
FAREWELL_SECONDS: Final = 5
"""How long requests that are under way are waited for at the end."""


class Admitted(NamedTuple):
    """Who may ask, beside those who name the address itself: further names of the server, and origins of pages."""

    hosts: Sequence[str] = ()
    origins: Sequence[str] = ()


def serve_http(
    db: Database, world: str | None, listener: socket.socket, admitted: Admitted, ready: Callable[[], None]
) -> None:
    """Answer over HTTP until the process is told to end (SIGINT, SIGTERM).

    ``ready`` is called when requests are about to be taken.

    Raises:
        UnknownReference, AmbiguousReference: there is no such world, or there are several.
    """
    _log_to_stderr()
    app = application(MemoryServer(Desk(db, world)), listener, admitted)
    config = uvicorn.Config(
        app,
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


def application(memory: MemoryServer, listener: socket.socket, admitted: Admitted) -> Starlette:
    """The whole of it as an ASGI application."""
    sessions = sessions_of(memory)
    own = names_of(bound(listener))
    return Starlette(
        routes=[Route(PATH, endpoint=StreamableHTTPASGIApp(sessions))],
        middleware=[
            Middleware(AccessLog),
            Middleware(
                OwnNamesOnly,
                hosts=[*own, *admitted.hosts],
                origins=[*(f"http://{name}" for name in own), *admitted.origins],
            ),
            Middleware(WholeBody),
        ],
        lifespan=lambda _: sessions.run(),
    )


def sessions_of(memory: MemoryServer) -> StreamableHTTPSessionManager:
    """What holds the sessions of a server's clients."""
    memory.streamable_http_app(
        max_request_body_size=MAX_BODY_BYTES,
        session_idle_timeout=SESSION_SECONDS,
        max_sessions=MAX_SESSIONS,
        # Checked for every request before it comes here.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    return memory.session_manager


def _log_to_stderr() -> None:
    """Requests and warnings, a line each. Nothing that a client sent is in them but its path and whom it named."""
    # The SDK leaves the root logger alone if it has a handler.
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(asctime)s %(message)s", force=True)
    ACCESS_LOG.setLevel(logging.INFO)
