"""One server for each access key: its own world, tools and sessions.

Clients of different keys share only the store, and each sees it through a session of its own. So no check is needed to
keep a session, a page or a notification of one key from another.

When a key has too many sessions, the oldest idle one is closed for a new one. The SDK would refuse the new one instead,
so a client that restarts often and forgets its sessions would lock itself out.
"""

import logging
import time
from asyncio import Event, get_running_loop
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from math import ceil
from typing import Final, NamedTuple

import anyio
import anyio.to_thread
import msgspec
from anyio.abc import TaskGroup
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http import (
    GET_STREAM_KEY,
    MCP_SESSION_ID_HEADER,
    EventCallback,
    EventMessage,
    EventStore,
)
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import JSONRPCError, JSONRPCMessage, JSONRPCResponse
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from worlddb import Database, PlanLimit, UnknownReference
from worlddb.accounts.grant import Grant as AccountGrant
from worlddb.tools.mcp import catalogue, http_guards, standard_streams, tool_arguments
from worlddb.tools.mcp.access_keys import Gate, Grant
from worlddb.tools.mcp.server import MemoryServer
from worlddb.tools.mcp.session import Session

MAX_BODY_BYTES: Final = standard_streams.MAX_LINE_BYTES
MAX_SESSIONS: Final = 200
"""Open sessions of one key; sessions with a running request may exceed it up to ``HARD_LIMIT``."""
HARD_LIMIT: Final = 2 * MAX_SESSIONS
SESSION_SECONDS: Final = 1800.0
"""Time after which an idle session ends."""
MAX_THREADS: Final = 16
"""Calls of all keys that run at the same time."""
LOOK_SECONDS: Final = 2.0
"""Interval of the check for removed keys, which ends clients that only listen."""

RESUMED_SECONDS: Final = 60.0
"""Time in which a client may resume an interrupted stream."""
RESUMED_BYTES: Final = 262_144
"""Size of the messages that one session keeps for that; the newest is kept whatever its size."""
RESUMED_EVENTS: Final = 256
"""Events that one session keeps: messages and stream starts."""
RETRY_MS: Final = 500
"""Retry delay that is sent to clients for interrupted streams."""

_LOG: Final = logging.getLogger("worlddb.mcp.keys")


class _Event(NamedTuple):
    """An event of a stream; without a message it is the start of the stream."""

    number: int
    stream: str
    message: JSONRPCMessage | None
    size: int


class SessionEvents(EventStore):
    """The recent events of the streams of one session, for clients that resume a stream.

    Each session has its own: streams are named by request numbers, which repeat between sessions.
    """

    def __init__(self) -> None:
        self._kept: dict[int, _Event] = {}
        self._number = self._size = 0
        self._has_new = Event()

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        """Keep an event for a while, and return its id."""
        size = 0 if message is None else len(message.model_dump_json(by_alias=True, exclude_none=True))
        self._number += 1
        event = _Event(self._number, stream_id, message, size)
        self._kept[event.number] = event
        self._size += size
        self._has_new.set()
        self._has_new = Event()
        while len(self._kept) > 1 and (self._size > RESUMED_BYTES or len(self._kept) > RESUMED_EVENTS):
            self._drop(next(iter(self._kept)))
        get_running_loop().call_later(RESUMED_SECONDS, self._drop, event.number)
        return str(event.number)

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        """Send the events of a stream after a given one, and for a request's stream all until its answer.

        Returns the stream that the SDK should continue: the stream without a request, or one without new events for a
        while. Events that arrive while the SDK takes over are lost, so a request's stream is replayed here until its
        answer.
        """
        last = self._kept.get(int(last_event_id)) if last_event_id.isdecimal() and len(last_event_id) < 20 else None
        # Events that arrive while one is sent are sent too; nothing follows an answer.
        while last is not None and not isinstance(last.message, JSONRPCResponse | JSONRPCError):
            following = (
                (each, each.message)
                for each in self._kept.values()
                if each.stream == last.stream and each.number > last.number and each.message is not None
            )
            event, message = next(following, (last, None))
            if message is not None:
                await send_callback(EventMessage(message, str(event.number)))
                last = event
            elif last.stream == GET_STREAM_KEY or not await self._wait_for_event():
                return last.stream
        return None

    async def _wait_for_event(self) -> bool:
        """Wait until there is a new event; false if there is none for a while."""
        with anyio.move_on_after(RESUMED_SECONDS):
            return await self._has_new.wait()
        return False

    def _drop(self, number: int) -> None:
        event = self._kept.pop(number, None)
        self._size -= 0 if event is None else event.size


class _Manager(StreamableHTTPSessionManager):
    """The SDK's session manager with one event store for each session instead of a shared one."""

    @property
    def event_store(self) -> EventStore | None:
        """A store for a new session, of its own."""
        return SessionEvents()

    @event_store.setter
    def event_store(self, shared: EventStore | None) -> None:
        pass


class _Session:
    """Running requests and streams of a session, and the time of its last use."""

    def __init__(self) -> None:
        self.requests = self.streams = 0
        self.used = time.monotonic()


class OpenSessions:
    """Passes requests to a session manager, and ends idle sessions when there are too many."""

    def __init__(self, app: ASGIApp, idle_seconds: float, most: int = MAX_SESSIONS) -> None:
        """``app`` is the manager, which ends a session by itself after ``idle_seconds``."""
        self._app = app
        self._idle_seconds = idle_seconds
        self._most = most
        self._open: dict[str, _Session] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on; if it began one session too many, end the oldest idle one."""
        named = Headers(scope=scope).get(MCP_SESSION_ID_HEADER)
        session = self._open.get(named or "", _Session())
        new_session: str | None = None
        status = 0

        async def watch(message: Message) -> None:
            nonlocal new_session, status
            if message["type"] == "http.response.start":
                status = message["status"]
                if named is None and status < 400:
                    new_session = Headers(raw=message["headers"]).get(MCP_SESSION_ID_HEADER)
                if new_session is not None:
                    self._open[new_session] = session
            await send(message)

        is_stream = scope["method"] == "GET"
        session.streams += is_stream
        session.requests += not is_stream
        try:
            await self._app(scope, receive, watch)
        finally:
            session.streams -= is_stream
            session.requests -= not is_stream
            session.used = time.monotonic()
        if named is not None and (status == 404 or (scope["method"] == "DELETE" and status < 400)):
            self._open.pop(named, None)
        elif new_session is not None:
            await self._evict_idle(scope, new_session)

    async def _evict_idle(self, scope: Scope, begun: str) -> None:
        """End idle sessions until there are few enough, sessions without a stream first."""
        ended = time.monotonic() - self._idle_seconds
        for name, session in list(self._open.items()):
            if not session.requests and not session.streams and session.used < ended:
                del self._open[name]
        while len(self._open) > self._most:
            idle = [name for name, session in self._open.items() if not session.requests and name != begun]
            if not idle:
                return
            oldest = min(idle, key=lambda name: (self._open[name].streams, self._open[name].used))
            del self._open[oldest]
            await self._end(scope, oldest)

    async def _end(self, scope: Scope, name: str) -> None:
        """End a session by the request that its client would send, with the key of ``scope``."""
        request = {**scope, "method": "DELETE", "headers": [(MCP_SESSION_ID_HEADER.encode(), name.encode())]}

        async def nothing() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def ignore(_: Message) -> None:
            pass

        await self._app(request, nothing, ignore)


class Tenant:
    """The server of one key."""

    def __init__(self, grant: Grant) -> None:
        self.grant = grant
        """The grant of the key at its last request, since its plan may change."""
        self.ended = anyio.Event()

    def offer(self, server: MemoryServer) -> None:
        """Offer tools to its clients."""
        self._manager = _Manager(
            server.protocol_server,
            retry_interval=RETRY_MS,
            max_request_body_size=MAX_BODY_BYTES,
            session_idle_timeout=SESSION_SECONDS,
            max_sessions=HARD_LIMIT,
            # HostCheck has checked every request already.
            security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )
        self.sessions = OpenSessions(http_guards.Budget(self._manager.handle_request), SESSION_SECONDS)

    async def run(self, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        """Hold its sessions until it is ended."""
        async with self._manager.run():
            task_status.started()
            await self.ended.wait()


class Offering(NamedTuple):
    """What clients are offered: a world or the whole store, the tools, and the default user.

    The world applies to clients without keys; a key has its own world, and may have its own default user.
    """

    world: str | None = None
    tools: tuple[catalogue.Tool, ...] = catalogue.TOOLS
    user: str | None = None


FEATURE: Final = "mcp"
"""The feature of a plan that its keys need for the tools."""


class Tenants:
    """The servers of all keys, or the one server without keys; also verifies tokens for the SDK."""

    def __init__(self, db: Database, offer: Offering, gate: Gate) -> None:
        self._db, self._offer, self._gate = db, offer, gate
        self._meter = db.accounts.meter
        self._threads = anyio.CapacityLimiter(MAX_THREADS)
        self._tenants: dict[Grant, Tenant] = {}
        self._tasks: TaskGroup | None = None
        self._making = anyio.Lock()
        # The world that is offered to everybody must be there.
        self._shared_server = self._make_server(Tenant(gate.operator)) if gate.is_open else None

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Run background work while requests are answered."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            tasks.start_soon(self._end_removed_keys)
            try:
                yield
            finally:
                tasks.cancel_scope.cancel()

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return the owner of a key, for the SDK. The key itself never leaves this module."""
        grant = self._gate.authenticate(token)
        if grant is None or await self._find_tenant(grant) is None:
            return None
        return AccessToken(token="", client_id=grant.name, scopes=[grant.right], claims={"id": grant.id})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request to the server of its key, and count it."""
        grant = self._gate.present(_key_of(scope))
        tenant = None if grant is None else await self._find_tenant(grant)
        if grant is None or tenant is None:
            await http_guards.error_response(401, "The key was removed")(scope, receive, send)
            return
        counted = _MeteredExchange(receive, send, grant)
        try:
            await self._forward(tenant, scope, counted)
        except PlanLimit as met:
            limit = met.details["limit"]
            status = 429 if met.details["kind"] == "rate" else 413 if limit == "bytes_per_request" else 403
            wait = {"Retry_After": ceil(met.details["retry_after"])} if status == 429 else {}
            await http_guards.error_response(status, f"{met.message}. {met.remedy}", **wait)(
                scope, receive, counted.send
            )
        finally:
            failed = counted.status >= 400 or not counted.status
            self._meter.count(grant.id, bytes_in=counted.received, bytes_out=counted.sent, failed=failed)

    async def _forward(self, tenant: Tenant, scope: Scope, counted: "_MeteredExchange") -> None:
        wait = self._gate.wait(counted.grant)
        if wait:
            refused = http_guards.error_response(429, "Too many requests; try again later", Retry_After=ceil(wait))
            await refused(scope, counted.receive, counted.send)
            return
        self._gate.admit(counted.grant, feature=FEATURE)
        tenant.grant = counted.grant
        await tenant.sessions(scope, counted.receive, counted.send)

    async def _find_tenant(self, grant: Grant) -> Tenant | None:
        """Return the server of a key, made at its first request; ``None`` if its world is not there."""
        # Without the plan, so that a change of it ends no session.
        key = grant._replace(account=None)
        if key not in self._tenants:
            async with self._making:
                if key not in self._tenants:
                    await self._start_tenant(key, grant)
        return self._tenants.get(key)

    async def _start_tenant(self, key: Grant, grant: Grant) -> None:
        tenant = Tenant(grant)
        server = self._shared_server
        try:
            if server is None:
                server = await anyio.to_thread.run_sync(self._make_server, tenant)
        except UnknownReference:
            return
        tenant.offer(server)
        assert self._tasks is not None, "requests come while it runs"
        await self._tasks.start(tenant.run)
        self._tenants[key] = tenant

    def _make_server(self, tenant: Tenant) -> MemoryServer:
        grant = tenant.grant
        if self._gate.is_open:
            session, tools = Session(self._db, self._offer.world, user=self._offer.user), self._offer.tools
            return MemoryServer(session, tools=tools, threads=self._threads)

        def account() -> AccountGrant:
            assert tenant.grant.account is not None, "its key belongs to an account"
            return tenant.grant.account

        plan = None if grant.account is None else account
        db = self._db.as_author(grant.name, account=plan)
        user = grant.user or self._offer.user
        session = Session(db, grant.world, secret=grant.secret, user=user, account=plan)
        is_operator = grant.world is None and grant.may("admin")
        tools = tuple(
            tool
            for tool in self._offer.tools
            if (tool.read_only or grant.may("write")) and (is_operator or tool not in catalogue.OPERATOR_TOOLS)
        )

        def admit(tool: catalogue.Tool, given: tool_arguments.Arguments, has_limit: bool) -> tool_arguments.Arguments:
            return self._admit(tenant.grant, tool, given, has_limit)

        withheld = tuple(tool for tool in self._offer.tools if tool not in tools)
        return MemoryServer(session, tools=tools, threads=self._threads, admit=admit, withheld=withheld)

    def _admit(
        self, grant: Grant, tool: catalogue.Tool, given: tool_arguments.Arguments, has_limit: bool
    ) -> tool_arguments.Arguments:
        """Check that the plan of a key allows a call, and count it if it writes.

        A question that asks for no number of memories gets as many as the plan allows, at most the usual page.

        Raises:
            PlanLimit: it does not.
        """
        if not tool.read_only:
            self._gate.admit(grant, request=False, write=True)
            self._meter.count(grant.id, requests=0, write=True)
        elif grant.account is not None and getattr(given, "query", None):
            if (most := getattr(given, "limit", 0)) and not has_limit:
                given = msgspec.structs.replace(given, limit=grant.account.most_hits(most))
            grant.account.require_quota("recall_k", getattr(given, "limit", 0))
        return given

    async def _end_removed_keys(self) -> None:
        """End the servers of ended keys, with the open streams of their clients."""
        while not self._gate.is_open:
            await anyio.sleep(LOOK_SECONDS)
            for key in list(self._tenants):
                present = self._gate.present(key.id)
                if present is None or present._replace(account=None) != key:
                    self._tenants.pop(key).ended.set()


class _MeteredExchange:
    """A request and its answer in transit, with counts of their bytes and the status."""

    def __init__(self, receive: Receive, send: Send, grant: Grant) -> None:
        self._receive, self._send, self.grant = receive, send, grant
        self.received = self.sent = self.status = 0

    async def receive(self) -> Message:
        """Take a part of the body; raises :class:`PlanLimit` if that is more than the plan allows."""
        message = await self._receive()
        self.received += len(message.get("body", b""))
        if self.grant.account is not None:
            self.grant.account.require_quota("bytes_per_request", self.received)
        return message

    async def send(self, message: Message) -> None:
        """Send a part of the answer."""
        self.status = message.get("status", self.status)
        self.sent += len(message.get("body", b""))
        await self._send(message)


def _key_of(scope: Scope) -> str:
    """Return the id of the key that was verified; empty where there is none."""
    user = scope.get("user")
    claims = user.access_token.claims if isinstance(user, AuthenticatedUser) else None
    return str((claims or {}).get("id", ""))
