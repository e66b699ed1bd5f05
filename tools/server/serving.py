"""The whole server: REST and MCP on one port, in one process."""

import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from time import monotonic
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from worlddb import Database, WorldDBError
from worlddb.store import give_back_large_blocks
from worlddb.tools.mcp import catalogue, http_guards, http_server, listening
from worlddb.tools.mcp.tenants import Offering, Tenants
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
from worlddb.tools.server.rest import Rest, ServedStore
from worlddb.tools.server.route import Route

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
"""All routes; add those of a new capability here."""


REHEARSAL_SECONDS: Final = 5.0
"""The longest wait for the first reads before the server starts; a large outdated index may take longer."""
_QUESTIONS: Final = (
    "Where did she say last May that she lives, and why?",
    "Which of the two came first: the one of 3 weeks ago, or that of 2021-05-02?",
    "Should I recommend it again?",
)
"""Questions that load what most recalls need: libraries, a model, indexes, patterns."""


class Application:
    """Dispatches requests to MCP or to REST, each behind its guards."""

    def __init__(self, rest: Rest, mcp: ASGIApp, at: listening.Address, access: http_server.AccessRules) -> None:
        self._hosts = frozenset((*listening.host_names(at), *access.hosts))
        self._at_once, self._rest = rest.at_once, guard(rest, at, access)
        self._mcp, self._metrics = mcp, rest.metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Dispatch a request; the lifespan events go to MCP, which holds sessions."""
        if scope["type"] == "lifespan":
            await self._mcp(scope, receive, send)
        elif scope["path"] == listening.PATH:
            await self._count_mcp(scope, receive, send)
        else:
            await self._rest(scope, receive, send)

    def at_once(self, scope: Scope) -> http_server.WholeAnswer | None:
        """Answer a small read without a task of its own, if possible."""
        if scope["path"] == listening.PATH or not http_guards.is_passed_on(scope["headers"], self._hosts):
            return None
        return self._at_once(scope)

    async def _count_mcp(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request to MCP, and count its answer in the metrics."""
        status, begun = 0, monotonic()

        async def watch(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        self._metrics.under_way += 1
        try:
            await self._mcp(scope, receive, watch)
        finally:
            self._metrics.under_way -= 1
            method = scope["method"] if scope["method"] in ("DELETE", "GET", "POST") else "none"
            self._metrics.count(listening.PATH, method, status, monotonic() - begun)


def guard(rest: ASGIApp, at: listening.Address, access: http_server.AccessRules) -> ASGIApp:
    """Return REST behind its guards: names and origins first, then headers, then the time of bodies."""
    own = listening.host_names(at)
    hosts, origins = [*own, *access.hosts], [*(f"http://{name}" for name in own), *access.origins]
    refuse = problems.guard_response
    timed = http_guards.BodyTimeout(rest, refuse)
    return http_guards.HostCheck(http_guards.SingleHeaders(timed, refuse), hosts, origins, refuse)


def _load_for_reads(db: Database, rest: Rest) -> None:
    """Ask the store some questions, so that no client waits for libraries and indexes to load."""
    rest.rehearse()
    for question in _QUESTIONS:
        # Clients get the errors of the store when they ask.
        with suppress(WorldDBError):
            db.view().recall(question, k=1)


def serve(
    db: Database,
    listener: socket.socket,
    access: http_server.AccessRules,
    ready: Callable[[], None],
    tools: tuple[catalogue.Tool, ...] = catalogue.TOOLS,
) -> None:
    """Serve REST and tools until SIGINT or SIGTERM, then finish running requests.

    ``ready`` is called when requests are accepted. Code and indexes for reads are loaded before that.
    """
    give_back_large_blocks()
    log = request_log.log_to(sys.stderr)
    sys.setswitchinterval(SWITCH_SECONDS)
    rest = Rest(ServedStore(db, access.gate, ROUTES), log)
    rehearsal = Thread(target=_load_for_reads, args=(db, rest), name="worlddb-rehearsal")
    rehearsal.start()
    try:
        mcp = http_server.application(Tenants(db, Offering(tools=tools), access.gate), listener, access)
        app = Application(rest, mcp, listening.bound_address(listener), access)
        rehearsal.join(REHEARSAL_SECONDS)
        http_server.run(
            app,
            listener,
            access,
            ready,
            at_exit=rest.end_streams,
            refuse=problems.guard_response,
            at_once=app.at_once,
        )
    finally:
        rehearsal.join()
        rest.close()
