"""Streamable HTTP: the same server as on standard streams, for programs that reach it by a socket."""

from __future__ import annotations

import logging
import socket
import sys
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import uvicorn
from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend, RequireAuthMiddleware
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.routing import Route

from worlddb import Database
from worlddb.tools.mcp.connections import PatientProtocol, QuietServer
from worlddb.tools.mcp.guards import ACCESS_LOG, AccessLog, OwnNamesOnly, WholeBody
from worlddb.tools.mcp.keys import KeyFile
from worlddb.tools.mcp.listening import PATH, bound, names_of
from worlddb.tools.mcp.rates import PER_SECOND
from worlddb.tools.mcp.tenants import Tenants

MAX_HEAD_BYTES: Final = 16_384
MAX_CONNECTIONS: Final = 500
IDLE_SECONDS: Final = 15
"""How long a connection is kept open for the next request."""
FAREWELL_SECONDS: Final = 5
"""How long requests that are under way are waited for at the end."""


class Admitted(NamedTuple):
    """Who may ask: whoever has one of the keys, or everybody if there is no file of keys; by which further names of the
    server, beside the address itself; pages of which origins; and how often, each key by itself."""

    keys: KeyFile | None
    hosts: Sequence[str] = ()
    origins: Sequence[str] = ()
    per_second: float = PER_SECOND


def serve_http(
    db: Database, world: str | None, listener: socket.socket, admitted: Admitted, ready: Callable[[], None]
) -> None:
    """Answer over HTTP until the process is told to end (SIGINT, SIGTERM).

    Without keys everybody sees ``world``, or all; with them each sees the world of its key. ``ready`` is called when
    requests are about to be taken.

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


def application(tenants: Tenants, listener: socket.socket, admitted: Admitted) -> Starlette:
    """The whole of it as an ASGI application. Names and origins are checked first, then keys, then the body."""
    own = names_of(bound(listener))
    names = {
        "hosts": [*own, *admitted.hosts],
        "origins": [*(f"http://{name}" for name in own), *admitted.origins],
    }
    around = [Middleware(AccessLog), Middleware(OwnNamesOnly, **names)]
    endpoint: RequireAuthMiddleware | Tenants = tenants
    if admitted.keys is not None:
        around += [
            Middleware(AuthenticationMiddleware, backend=BearerAuthBackend(tenants)),
            Middleware(AuthContextMiddleware),
        ]
        endpoint = RequireAuthMiddleware(tenants, required_scopes=[])
    return Starlette(
        routes=[Route(PATH, endpoint=endpoint)],
        middleware=[*around, Middleware(WholeBody)],
        lifespan=lambda _: tenants.run(),
    )


def _log_to_stderr() -> None:
    """Requests and warnings, a line each. Nothing that a client sent is in them but its path and whom it named."""
    # The SDK leaves the root logger alone if it has a handler.
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(asctime)s %(message)s", force=True)
    ACCESS_LOG.setLevel(logging.INFO)
