"""The server over Streamable HTTP: its connections, their deadlines, and which one is closed for a new one.

A *stranger* is a connection on which no request has been admitted yet: none has arrived completely, or none had a key.
A flood of strangers must not keep others out, and an address says little about who they are. So the server never
refuses a new connection because of them: it closes the oldest stranger.
"""

import asyncio
import ipaddress
import logging
import resource
import signal
import socket
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Any, Final, NamedTuple, cast

import httptools
import uvicorn
from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend, RequireAuthMiddleware
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from worlddb import Database
from worlddb.tools.mcp import access_log, http_guards, listening
from worlddb.tools.mcp.access_keys import Gate
from worlddb.tools.mcp.tenants import Offering, Tenants

MAX_CONNECTIONS: Final = 500
"""Open connections; fewer where the system allows the process less than twice as many open files."""
MAX_STRANGERS: Final = 100
"""Strangers of one address that may stay open for longer than ``GRACE_SECONDS``."""
GRACE_SECONDS: Final = 1.0
HEAD_SECONDS: Final = 10.0
"""Time from the opening of a connection until the head of its first request has arrived."""
IDLE_SECONDS: Final = 15
"""Keep-alive time until the next request begins; its head has ``HEAD_SECONDS`` more."""
UNREAD_BYTES: Final = 65_536
"""The connection is closed if the client reads less than this of an answer in ``UNREAD_SECONDS``."""
MAX_HEAD_BYTES: Final = 131_072
"""Size limit of a request's head and of other data that is buffered; a query may take half of it."""
MAX_CHUNKS: Final = 10_000
"""The most chunks of a request's body, since each chunk costs time."""
MAX_AT_ONCE: Final = 4
"""Requests of one connection answered in a row at once, so that pipelining does not block others."""
MAX_WAITING: Final = 64
"""The most pipelined requests that wait on one connection."""
_NO_HTTP: Final = (
    "This is not an HTTP request, or its head is too large; in a URL, write blanks and non-ASCII characters as %XX"
    " of UTF-8"
)
_TELL_SECONDS: Final = 60.0
_NETWORK_PREFIX: Final = 64
_CLOSE: Final = (b"connection", b"close")
_WITH_BODY: Final = frozenset((b"content-length", b"transfer-encoding", b"expect", b"upgrade"))
_LOG: Final = logging.getLogger("worlddb.mcp.connections")


class _HoldingTransport:
    """A transport that can buffer writes, so that head and body of an answer go out together."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._held: list[bytes] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Send or buffer some bytes."""
        if self._held is None:
            self._transport.write(data)
        else:
            self._held.append(data)

    def hold(self) -> None:
        """Buffer writes from here on."""
        self._held = []

    def release(self) -> None:
        """Send the buffered bytes."""
        held, self._held = self._held, None
        if held:
            self._transport.write(b"".join(held))

    def close(self) -> None:
        """Close when all is sent."""
        self.release()
        self._transport.close()


Malformed = tuple[bytes, bytes]
"""Media type and body of the answer to invalid HTTP or too large a head."""
PLAIN: Final[Malformed] = (b"text/plain; charset=utf-8", _NO_HTTP.encode())


class WholeAnswer(NamedTuple):
    """An answer that is complete at once: status, headers without those of the connection, and body to send."""

    status: int
    headers: Sequence[tuple[bytes, bytes]]
    body: bytes


AnswerAtOnce = Callable[[Scope], WholeAnswer | None]
"""Answers a request without a body, or returns ``None`` to leave it to the application."""


class _TooMuch(Exception):
    """A request exceeds a limit of the connection."""


class Connection(HttpToolsProtocol):
    """An HTTP/1.1 connection that is closed at its deadlines, or to make room for another one."""

    def __init__(
        self,
        *args: Any,
        pool: "ConnectionPool",
        malformed: Malformed = PLAIN,
        at_once: AnswerAtOnce | None = None,
        **named: Any,
    ) -> None:
        super().__init__(*args, **named)
        self._at_once, self._quick_answers_left = at_once, 0
        # Unlike uvicorn's parser, this one stops after a request that closes the connection.
        self.parser = httptools.HttpRequestParser(self)
        self._application, self.app = cast(Any, self.app), cast(Any, self._answer)
        self._pool, self._malformed = pool, malformed
        self._idle_timer: asyncio.TimerHandle | None = None
        self._waits_for: RequestResponseCycle | None = None
        self._until = 0.0
        self._reader_timer: asyncio.TimerHandle | None = None
        self._in_head = True
        self._head_bytes = self._quiet_bytes = self._chunks = 0
        self._refused = False
        self.network = ""
        self.known = self.admitted = False
        self.since = 0.0

    # -- what the parser finds

    def data_received(self, data: bytes) -> None:
        """Parse data, and refuse invalid HTTP or too much buffered data."""
        self._quick_answers_left = MAX_AT_ONCE
        while data and not self._refused:
            self._unset_keepalive_if_required()
            self._quiet_bytes += len(data)
            try:
                self.parser.feed_data(data)
            except httptools.HttpParserUpgrade as ended:
                # The client offered another protocol; what follows is still HTTP.
                data = data[ended.args[0] :] if ended.args[0] else b""
                continue
            except httptools.HttpParserError:
                self._refuse()
                return
            if self._quiet_bytes > MAX_HEAD_BYTES:
                self._refuse()
            return

    def on_message_begin(self) -> None:
        """Begin a request."""
        super().on_message_begin()
        self._in_head, self._head_bytes, self._chunks = True, 0, 0

    def on_url(self, url: bytes) -> None:
        """Take a part of the target."""
        super().on_url(url)
        self._grow_head(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header, without blanks around its value; ignore trailers, which the guards have not checked."""
        if self._in_head:
            super().on_header(name, value.strip(b" \t"))
            self._grow_head(len(name) + len(value))

    def _grow_head(self, size: int) -> None:
        self._head_bytes += size
        if self._head_bytes > MAX_HEAD_BYTES:
            raise _TooMuch("The head is too large")

    def on_headers_complete(self) -> None:
        """Begin to answer a request, or queue it behind earlier ones."""
        self._in_head = False
        if len(self.pipeline) >= MAX_WAITING:
            raise _TooMuch("Too many requests wait on one connection")
        hosts = sum(name == b"host" for name, _ in self.headers)
        if hosts > 1 or (hosts == 0 and self.parser.get_http_version() == "1.1"):
            raise _TooMuch("A request has no Host header, or several")
        super().on_headers_complete()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        """Answer a request at once if possible; else start a task, which costs more than most reads.

        A request gets a task if it may have a body, its client does not read, or there are too many connections.
        """
        whole = None
        if self._at_once is not None and self._quick_answers_left and app is self.app and not self.flow.write_paused:
            scope = cast(Any, cycle.scope)
            if scope["method"] in ("GET", "HEAD") and _WITH_BODY.isdisjoint(name for name, _ in scope["headers"]):
                whole = self._at_once(scope)
        if whole is None:
            super()._start_asgi_task(cycle, app)
            return
        self.known = True
        self._quick_answers_left -= 1
        last = [] if cycle.keep_alive else [_CLOSE]
        headers = (*self.server_state.default_headers, *whole.headers, *last)
        head = b"".join([b"%b: %b\r\n" % header for header in headers])
        cycle.response_started = cycle.response_complete = True
        self.transport.write(b"%b%b\r\n%b" % (STATUS_LINE[whole.status], head, whole.body))
        if not cycle.keep_alive:
            self.transport.close()
        self.on_response_complete()

    def on_chunk_header(self) -> None:
        """Count a chunk."""
        self._chunks += 1
        if self._chunks > MAX_CHUNKS:
            raise _TooMuch("The body has too many chunks")

    def on_body(self, body: bytes) -> None:
        """Take a part of a body."""
        self._quiet_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """End a request."""
        self._quiet_bytes = 0
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Answer invalid HTTP in the application's form of errors, then close."""
        media_type, body = self._malformed
        told = [*self.server_state.default_headers, (b"content-type", media_type), (b"connection", b"close")]
        told.append((b"content-length", b"%d" % len(body)))
        head = b"".join(b"%b: %b\r\n" % header for header in told)
        self.transport.write(b"HTTP/1.1 400 Bad Request\r\n" + head + b"\r\n" + body)
        self.transport.close()

    def _refuse(self) -> None:
        """Answer 400 and close; first finish a running answer, if the bad data came after its request."""
        self._refused = True
        if self.transport.is_closing():
            return
        if self.is_idle:
            self.send_400_response(_NO_HTTP)
        elif not self.pipeline and self.cycle.more_body:
            if self.cycle.response_started:
                self.transport.close()
            else:
                self.send_400_response(_NO_HTTP)

    # -- what uvicorn and asyncio call

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Make room for the connection, and wait for its first request."""
        super().connection_made(cast(asyncio.Transport, _HoldingTransport(transport)))
        self.since = self.loop.time()
        self.network = network_of(self.client[0] if self.client else "")
        self._start_idle_timer(HEAD_SECONDS)
        if not self._pool.admit_connection(self):
            # Makes uvicorn answer its requests with 503.
            self.limit_concurrency = 0

    def connection_lost(self, exc: Exception | None) -> None:
        """Leave the pool, and cancel the timers."""
        self._pool.remove(self)
        for clock in (self._idle_timer, self._reader_timer):
            if clock is not None:
                clock.cancel()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """Wait for the next request, or until the client has read the answer."""
        self.admitted = False
        self.since = self.loop.time()
        self._start_idle_timer(listening.UNREAD_SECONDS if self.transport.is_closing() else IDLE_SECONDS + HEAD_SECONDS)
        if self._refused:
            self.pipeline.clear()
            self.transport.close()
        super().on_response_complete()

    def pause_writing(self) -> None:
        """Begin to watch whether the client reads its answer."""
        super().pause_writing()
        self._watch_reader()

    def resume_writing(self) -> None:
        """Stop watching the client."""
        super().resume_writing()
        if self._reader_timer is not None:
            self._reader_timer.cancel()
            self._reader_timer = None

    # -- who may hold the connection

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; a refusal also closes the connection.

        The application reads only bodies of admitted requests. So a request counts as admitted once its whole body was
        read, and an answer before that is a refusal.
        """

        async def admit() -> Message:
            message = await receive()
            if message["type"] == "http.request" and not message.get("more_body", False):
                self.admitted = self.known = True
            return message

        head: Message | None = None

        async def watch(message: Message) -> None:
            nonlocal head
            if message["type"] == "http.response.start":
                headers = message.get("headers", [])
                if not self.admitted:
                    others = [header for header in headers if header[0].lower() != _CLOSE[0]]
                    message = {**message, "headers": [*others, _CLOSE]}
                if any(name == b"content-length" for name, _ in headers):
                    head = message
                else:
                    await send(message)
            elif head is None:
                await send(message)
            else:
                begun, head = head, None
                joined = cast(_HoldingTransport, self.transport)
                joined.hold()
                try:
                    await send(begun)
                    await send(message)
                finally:
                    joined.release()

        await cast(Any, self._application)(scope, admit, watch)

    @property
    def is_idle(self) -> bool:
        """True if no request is under way."""
        # Before the first request the cycle is None, despite its declared type.
        last = cast("RequestResponseCycle | None", self.cycle)
        return last is None or last.response_complete

    # -- clocks

    def _start_idle_timer(self, seconds: float) -> None:
        """Close the connection unless another request begins within some seconds."""
        self._waits_for, self._until = self.cycle, self.loop.time() + seconds
        clock = self._idle_timer
        # An earlier timer checks again when it fires, which is cheaper than a new timer for each request.
        if clock is None or clock.when() > self._until:
            if clock is not None:
                clock.cancel()
            self._idle_timer = self.loop.call_at(self._until, self._check_idle)

    def _check_idle(self) -> None:
        self._idle_timer = None
        if self.cycle is not self._waits_for or not self.is_idle:
            return
        if self._until > self.loop.time():
            self._idle_timer = self.loop.call_at(self._until, self._check_idle)
        else:
            self.abort()

    def _watch_reader(self) -> None:
        waiting = self.transport.get_write_buffer_size()
        self._reader_timer = self.loop.call_later(listening.UNREAD_SECONDS, self._check_reader, waiting)

    def _check_reader(self, before: int) -> None:
        if before - self.transport.get_write_buffer_size() < UNREAD_BYTES:
            self.abort()
        else:
            self._watch_reader()

    def abort(self) -> None:
        """Close the connection at once, without sending the rest."""
        self._pool.remove(self)
        self.transport.abort()


class ConnectionPool:
    """All open connections of a server; decides which one to close when there are too many."""

    def __init__(self, most: int = MAX_CONNECTIONS) -> None:
        self._most = most
        self._connections: set[Connection] = set()
        self._cut = 0
        self._warned_at: float | None = None

    def admit_connection(self, new: Connection) -> bool:
        """Admit a connection, if necessary by closing another one; false if none can be closed."""
        others = list(self._connections)
        self._connections.add(new)
        if len(others) < min(self._most, MAX_STRANGERS):
            return True
        waiting = [other for other in others if not other.admitted]
        long_ago = new.since - GRACE_SECONDS
        strangers = [
            other for other in waiting if not other.known and other.network == new.network and other.since < long_ago
        ]
        if len(strangers) >= MAX_STRANGERS:
            self._cut_one(strangers, new.since)
        elif len(others) >= self._most and waiting:
            self._cut_one(waiting, new.since)
        return len(self._connections) <= self._most

    def remove(self, gone: Connection) -> None:
        """Forget a connection."""
        self._connections.discard(gone)

    def _cut_one(self, candidates: list[Connection], now: float) -> None:
        """Close the least important one: idle strangers first, from the address with most of them."""
        strangers = Counter(other.network for other in candidates if not other.known)
        min(
            candidates, key=lambda other: (other.known, not other.is_idle, -strangers[other.network], other.since)
        ).abort()
        self._cut += 1
        if self._warned_at is None or now - self._warned_at >= _TELL_SECONDS:
            _LOG.warning("too many connections: closed %d waiting ones to make room for new ones", self._cut)
            self._cut, self._warned_at = 0, now


def network_of(host: str) -> str:
    """Return what counts as one address: an IPv4 address, or the /64 network of an IPv6 address."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return str(address.ipv4_mapped)
        return str(ipaddress.ip_network((address, _NETWORK_PREFIX), strict=False))
    return str(address)


ACCEPTED_AT_ONCE: Final = 32
"""New connections accepted in one turn of the loop, so that it also reads from those it has."""
QUEUED_CONNECTIONS: Final = 512
"""The backlog of the listening socket."""
FAREWELL_SECONDS: Final = 5
"""Time for running requests to finish at shutdown."""


class QuietServer(uvicorn.Server):
    """A server that shuts down on a signal without raising the signal again afterwards.

    The backlog is larger than the number of connections that one turn of the loop accepts. So a flood neither fills the
    backlog at once, nor keeps the loop from reading open connections.
    """

    at_exit: Callable[[], None]
    """Called at the signal, to stop endless streams and jobs."""
    ready: Callable[[], None]
    """Called when connections are accepted."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to accept connections."""
        await super().startup(sockets)
        for listener in sockets or ():
            listener.listen(QUEUED_CONNECTIONS)
        if self.started:
            self.ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to end."""
        self.at_exit()
        super().handle_exit(sig, frame)

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

    ``gate`` says whom it admits, and how much. ``hosts`` are further names of the server beside its address,
    ``origins`` the allowed origins of pages. ``proxies`` are the addresses of proxies whose ``X-Forwarded-For`` is
    believed; the log then shows whom they name.
    """

    gate: Gate
    hosts: Sequence[str] = ()
    origins: Sequence[str] = ()
    proxies: Sequence[str] = ()


def serve_http(
    db: Database, offer: Offering, listener: socket.socket, admitted: AccessRules, ready: Callable[[], None]
) -> None:
    """Serve over HTTP until SIGINT or SIGTERM.

    Without keys every client sees the world that is offered; with keys each sees the world of its key. ``ready`` is
    called when requests are accepted.

    Raises:
        UnknownReference, AmbiguousReference: there is no such world, or there are several.
    """
    access_log.log_to(sys.stderr)
    tenants = Tenants(db, offer, admitted.gate)
    run(application(tenants, listener, admitted), listener, admitted, ready)


def run(
    app: Any,
    listener: socket.socket,
    admitted: AccessRules,
    ready: Callable[[], None],
    *,
    at_exit: Callable[[], None] = lambda: None,
    refuse: http_guards.Refuse = http_guards.error_response,
    at_once: AnswerAtOnce | None = None,
) -> None:
    """Serve an ASGI application until SIGINT or SIGTERM, which calls ``at_exit`` at once.

    ``refuse`` makes the answer to invalid HTTP, as in :mod:`worlddb.tools.mcp.http_guards`. The application does not
    see requests that ``at_once`` answers.
    """
    malformed = cast(Response, refuse(400, _NO_HTTP))
    pool = ConnectionPool(open_connections())
    config = uvicorn.Config(
        app,
        http=cast(
            Any,
            partial(
                Connection,
                pool=pool,
                malformed=(malformed.headers["content-type"].encode(), bytes(malformed.body)),
                at_once=at_once,
            ),
        ),
        # uvloop raises on a write to a closed connection; asyncio ignores it.
        loop="asyncio",
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(admitted.proxies),
        forwarded_allow_ips=list(admitted.proxies),
        backlog=ACCEPTED_AT_ONCE,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=FAREWELL_SECONDS,
    )
    server = QuietServer(config)
    server.at_exit, server.ready = at_exit, ready
    server.run(sockets=[listener])


def application(tenants: Tenants, listener: socket.socket, admitted: AccessRules) -> Starlette:
    """Build the ASGI application: it checks names and origins first, then keys, then the body."""
    admitted.gate.report_trouble()
    own = listening.host_names(listening.bound_address(listener))
    names: dict[str, Any] = {
        "hosts": [*own, *admitted.hosts],
        "origins": [*(f"http://{name}" for name in own), *admitted.origins],
    }
    around = [
        Middleware(access_log.AccessLog),
        Middleware(http_guards.HostCheck, **names),
        Middleware(http_guards.SingleHeaders),
    ]
    endpoint: RequireAuthMiddleware | Tenants = tenants
    if not admitted.gate.is_open:
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
    most = MAX_CONNECTIONS
    return most if files == resource.RLIM_INFINITY else min(most, files // 2)
