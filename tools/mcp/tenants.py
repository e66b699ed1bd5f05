"""One server for each access key: its own world, tools and sessions.

Clients of different keys share nothing but the store, which each sees through a session of its own. So no check is
needed to keep a session, a page or a notification of one key from another.

The oldest idle session of a key makes room for a new one. The SDK would refuse the new one for as long as a forgotten
one lives, and a client that is restarted again and again, and forgets all of its sessions but the last, would lock
itself out.
"""

import logging
import time
from asyncio import get_running_loop
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from math import ceil
from typing import Final, NamedTuple

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER, EventCallback, EventMessage, EventStore
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import JSONRPCError, JSONRPCMessage, JSONRPCResponse
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from worlddb import Database, UnknownReference, WorldDBError
from worlddb.tools.mcp import access_keys, catalogue, http_guards, standard_streams
from worlddb.tools.mcp.server import MemoryServer
from worlddb.tools.mcp.session import Session

MAX_BODY_BYTES: Final = standard_streams.MAX_LINE_BYTES
MAX_SESSIONS: Final = 200
"""Open sessions of one key, with those that have a request under way beyond it up to ``HARD_LIMIT``."""
HARD_LIMIT: Final = 2 * MAX_SESSIONS
SESSION_SECONDS: Final = 1800.0
"""Time after which an idle session ends."""
MAX_THREADS: Final = 16
"""Calls of all keys that run at the same time."""
LOOK_SECONDS: Final = 2.0
"""Interval of the check for removed keys whose clients only listen."""

RESUMED_SECONDS: Final = 60.0
"""Time for which a client may come back for what an interrupted stream had for it."""
RESUMED_BYTES: Final = 262_144
"""Of messages that one session keeps for that; the newest one whatever it has."""
RESUMED_EVENTS: Final = 256
"""Messages and beginnings of streams that one session keeps."""
RETRY_MS: Final = 500
"""Time after which a client whose stream was interrupted is asked to come back."""

_LOG: Final = logging.getLogger("worlddb.mcp.keys")


class _Event(NamedTuple):
    """What a stream had for its client; no message where the stream only began."""

    number: int
    stream: str
    message: JSONRPCMessage | None
    size: int


class Events(EventStore):
    """What the streams of one session had for their client a short time ago, so that it may come back for it.

    Nobody else reads it: a stream is called by the number of its request, which other sessions have too.
    """

    def __init__(self) -> None:
        self._kept: dict[int, _Event] = {}
        self._number = self._size = 0

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        """Keep an event for a while, and return its id."""
        size = 0 if message is None else len(message.model_dump_json(by_alias=True, exclude_none=True))
        self._number += 1
        event = _Event(self._number, stream_id, message, size)
        self._kept[event.number] = event
        self._size += size
        while len(self._kept) > 1 and (self._size > RESUMED_BYTES or len(self._kept) > RESUMED_EVENTS):
            self._drop(next(iter(self._kept)))
        get_running_loop().call_later(RESUMED_SECONDS, self._drop, event.number)
        return str(event.number)

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        """Send what a stream had since an event, and return its id if more may come."""
        last = self._kept.get(int(last_event_id)) if last_event_id.isdecimal() and len(last_event_id) < 20 else None
        # What comes while something is sent is sent too; nothing follows an answer.
        while last is not None and not isinstance(last.message, JSONRPCResponse | JSONRPCError):
            following = (
                (each, each.message)
                for each in self._kept.values()
                if each.stream == last.stream and each.number > last.number and each.message is not None
            )
            event, message = next(following, (last, None))
            if message is None:
                return last.stream
            await send_callback(EventMessage(message, str(event.number)))
            last = event
        return None

    def _drop(self, number: int) -> None:
        event = self._kept.pop(number, None)
        self._size -= 0 if event is None else event.size


class _Manager(StreamableHTTPSessionManager):
    """The SDK's manager, which would give all sessions one store of events."""

    @property
    def event_store(self) -> EventStore | None:
        """A store for a new session, of its own."""
        return Events()

    @event_store.setter
    def event_store(self, shared: EventStore | None) -> None:
        pass


class _Session:
    """A session as seen from outside: what is under way in it, and when it was last used."""

    def __init__(self) -> None:
        self.requests = self.streams = 0
        self.used = time.monotonic()


class OpenSessions:
    """Passes requests on to a session manager, and ends sessions that nobody seems to use."""

    def __init__(self, app: ASGIApp, idle_seconds: float, most: int = MAX_SESSIONS) -> None:
        """``app`` is the manager, which ends a session by itself after ``idle_seconds``."""
        self._app = app
        self._idle_seconds = idle_seconds
        self._most = most
        self._open: dict[str, _Session] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on; if it began a session too many, end the oldest idle one."""
        named = Headers(scope=scope).get(MCP_SESSION_ID_HEADER)
        session = self._open.get(named or "", _Session())
        begun: str | None = None
        status = 0

        async def watch(message: Message) -> None:
            nonlocal begun, status
            if message["type"] == "http.response.start":
                status = message["status"]
                if named is None and status < 400:
                    begun = Headers(raw=message["headers"]).get(MCP_SESSION_ID_HEADER)
                if begun is not None:
                    self._open[begun] = session
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
        elif begun is not None:
            await self._make_room(scope, begun)

    async def _make_room(self, scope: Scope, begun: str) -> None:
        """End idle sessions until there are not too many; one with a stream goes if none is without."""
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
        """End a session as its client would, in the name of the key that ``scope`` has."""
        asked = {**scope, "method": "DELETE", "headers": [(MCP_SESSION_ID_HEADER.encode(), name.encode())]}

        async def nothing() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def ignore(_: Message) -> None:
            pass

        await self._app(asked, nothing, ignore)


class Tenant:
    """The server of one key."""

    def __init__(self, server: MemoryServer, bucket: access_keys.Bucket) -> None:
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
        self.bucket = bucket
        self.ended = anyio.Event()

    async def run(self, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        """Hold its sessions until it is ended."""
        async with self._manager.run():
            task_status.started()
            await self.ended.wait()


class Offer(NamedTuple):
    """What clients are offered: a world or the whole store, the tools, and whose memory is meant by default.

    The world is that of clients without keys; a key has its own, and may have a user of its own.
    """

    world: str | None = None
    tools: tuple[catalogue.Tool, ...] = catalogue.TOOLS
    user: str | None = None


class Tenants:
    """The servers of all keys, or the one server without keys; also verifies tokens for the SDK."""

    def __init__(
        self,
        db: Database,
        offer: Offer,
        keys: access_keys.KeyFile | None,
        per_second: float = access_keys.PER_SECOND,
    ) -> None:
        self._db = db
        self._offer = offer
        self._keys = keys
        self._per_second = per_second
        self._store = db.head().store_id
        self._threads = anyio.CapacityLimiter(MAX_THREADS)
        self._everybody = None
        if keys is None:
            session = Session(db, offer.world, user=offer.user)
            self._everybody = MemoryServer(session, tools=offer.tools, threads=self._threads)
        self._trouble = ""
        self._tenants: dict[access_keys.Key | None, Tenant] = {}
        self._tasks: TaskGroup | None = None
        self._making = anyio.Lock()

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Run background work while requests are answered."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            tasks.start_soon(self._look_after)
            try:
                yield
            finally:
                tasks.cancel_scope.cancel()

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return the owner of a key, for the SDK. The key itself never leaves this module."""
        ring = self._ring()
        key = None if ring is None else ring.find(token)
        if key is None or await self._tenant(key) is None:
            return None
        return AccessToken(token="", client_id=key.name, scopes=[key.right], claims={"digest": key.digest})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request to the server of its key."""
        tenant = await self._tenant(self._key_of(scope))
        if tenant is None:
            await http_guards.error_response(401, "The key was taken back")(scope, receive, send)
            return
        wait = tenant.bucket.take(anyio.current_time())
        if wait:
            message = "Too many requests; try again later"
            await http_guards.error_response(429, message, Retry_After=ceil(wait))(scope, receive, send)
            return
        await tenant.sessions(scope, receive, send)

    def _ring(self) -> access_keys.KeyRing | None:
        """Return the present keys; while they cannot be read, nobody is admitted."""
        if self._keys is None:
            return None
        try:
            ring, trouble = self._keys.ring(self._store), ""
        except (WorldDBError, OSError) as error:
            ring, trouble = None, str(error)
        if trouble and trouble != self._trouble:
            _LOG.warning("no client is admitted: %s", trouble)
        self._trouble = trouble
        return ring

    def _key_of(self, scope: Scope) -> access_keys.Key | None:
        user = scope.get("user")
        ring = self._ring()
        if not isinstance(user, AuthenticatedUser) or ring is None:
            return None
        digest = (user.access_token.claims or {}).get("digest")
        return next((key for key in ring.keys if key.digest == digest), None)

    async def _tenant(self, key: access_keys.Key | None) -> Tenant | None:
        """Return the server of a key, made at its first request; ``None`` if its world is not there."""
        if key is None and self._everybody is None:
            return None
        if key not in self._tenants:
            async with self._making:
                if key not in self._tenants:
                    await self._begin(key)
        return self._tenants.get(key)

    async def _begin(self, key: access_keys.Key | None) -> None:
        ring, server = self._ring(), self._everybody
        if key is not None:
            if ring is None:
                return
            try:
                server = await anyio.to_thread.run_sync(self._server_of, key, ring)
            except UnknownReference:
                return
        assert server is not None and self._tasks is not None
        tenant = Tenant(server, access_keys.Bucket(anyio.current_time(), self._per_second))
        await self._tasks.start(tenant.run)
        self._tenants[key] = tenant

    def _server_of(self, key: access_keys.Key, ring: access_keys.KeyRing) -> MemoryServer:
        db = self._db.signed(key.name)
        session = Session(db, key.world, secret=ring.secret("cursors"), user=key.user or self._offer.user)
        tools = tuple(tool for tool in self._offer.tools if key.write or tool.read_only)
        if key.world is not None:
            tools = tuple(tool for tool in tools if tool not in catalogue.OPERATOR_TOOLS)
        return MemoryServer(session, tools=tools, threads=self._threads)

    async def _look_after(self) -> None:
        """End the servers of removed keys, with the open streams of their clients."""
        while self._keys is not None:
            await anyio.sleep(LOOK_SECONDS)
            ring = self._ring()
            known = frozenset(() if ring is None else ring.keys)
            for key in [key for key in self._tenants if key not in known]:
                self._tenants.pop(key).ended.set()
