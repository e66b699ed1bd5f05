"""REST under ``/v1``: routes, validates and answers requests, and turns errors into problem details."""

import asyncio
import json
import logging
import re
from collections.abc import AsyncIterator, Callable, Hashable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from hashlib import blake2b
from math import ceil
from time import monotonic, thread_time
from typing import Annotated, Any, Final, Literal, NamedTuple, TypeVar, get_args, get_origin
from urllib.parse import parse_qsl

import msgspec
from starlette.types import Message, Receive, Scope, Send

from worlddb import Database, InvalidTime, SystemEntropy, UnknownReference, WorldDBError
from worlddb.client.wire_records import Problem
from worlddb.plain_text import WHOLE_PAIR, half_surrogate, meant_arguments, shown
from worlddb.store import Reading
from worlddb.tools.mcp import access_log, http_guards
from worlddb.tools.mcp.access_keys import Gate, Grant
from worlddb.tools.mcp.http_server import WholeAnswer
from worlddb.tools.server import account_routes, interface_page, problems, request_log
from worlddb.tools.server.answer_cache import MAX_ASKED_BYTES, Answer, AnswerCache, QuickRequests, TurnState
from worlddb.tools.server.client_store import ClientStore
from worlddb.tools.server.jobs import JobPool
from worlddb.tools.server.problems import RequestError, refusal
from worlddb.tools.server.route import JSON, LINES, TEXT, Reply, Request, Route, RouteTable

_CHARSETS: Final = frozenset({"utf-8", "utf8", "us-ascii"})
MAX_BODY_BYTES: Final = 4_194_304
MAX_FILE_BYTES: Final = 33_554_432
"""The largest uploaded bundle; larger ones are imported on the command line."""
THREADS: Final = 40
"""Calls of all clients that run at the same time."""
READS_AT_ONCE: Final = 4
"""Reads of one key that run at the same time, beside quick ones: more would take the processor from other keys."""
WRITES_AT_ONCE: Final = 24
"""Writes of one key that run at the same time. They wait for the same lock and share syncs."""
MAX_QUERY_BYTES: Final = 65_536
MAX_CLIENTS: Final = 1_000
"""Clients that are cached; the least recently used one is dropped first."""
_LOG: Final = logging.getLogger("worlddb.server")
_ANONYMOUS: Final = Grant("", None, "read")
_NUMBER: Final = re.compile(r"-?[0-9]{1,18}")
_FIELD: Final = re.compile(r"at `\$\.([\w-]+)")
_STEPS: Final = re.compile(r"\.([\w-]+)|\[(\d+)\]")
_EXPECTED: Final = re.compile(r"Expected `(\w+)`?(?: (<=|>=) (\S+))?")
_BOUNDS: Final = {"<=": " of at most ", ">=": " of at least "}
_KINDS: Final = {
    **{"str": "a text", "int": "a whole number", "float": "a number", "bool": "true or false"},
    **{"array": 'a list, as ["…"]', "object": "an object"},
}
_UNKNOWN_FIELD: Final = re.compile(r"Object contains unknown field `([^`]*)`")
_DECIMAL: Final = re.compile(r"-?[0-9]{1,18}\.[0-9]{1,18}")
_WEIGHT: Final = re.compile(r"(?:0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)")
_TAG_BYTES: Final = 8
_ID_BYTES: Final = 8
_SALT_BYTES: Final = 16
_LINES_AT_ONCE: Final = 65_536
_UNCACHED_HEADERS: Final = frozenset(("content-length", "transfer-encoding", "idempotency-key"))
"""Headers that a small read has no use for; a request with one is not answered from the cache."""
T = TypeVar("T")
_WHOLE_STORE_ONLY: Final = "This key opens one world, and this request is about the whole store"


class Client:
    """A connected client: its store, the budget of its running requests, and its share of the threads."""

    def __init__(self, store: ClientStore, serve: Callable[[Scope, Receive, Send], Any]) -> None:
        self.store = store
        self.serve = http_guards.Budget(serve, refuse=problems.guard_response)
        self._reads, self._writes = asyncio.Semaphore(READS_AT_ONCE), asyncio.Semaphore(WRITES_AT_ONCE)

    def turn(self, route: Route) -> asyncio.Semaphore:
        """What a call of a route holds while it has a thread; calls beyond the key's share wait for it."""
        return self._reads if route.right == "read" else self._writes


class _WholeAnswer(NamedTuple):
    """A complete answer, ready to be sent."""

    status: int
    body: bytes
    headers: list[tuple[bytes, bytes]]


class _Exchange:
    """A request and its answer."""

    def __init__(self, scope: Scope, request_id: str, send: Send | None = None) -> None:
        self.scope, self._send = scope, send
        self.id = request_id
        self.headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        self.route: Route | None = None
        self.path: dict[str, str] = {}
        self.client: Client | None = None
        self.receive: Receive | None = None
        """Reports a disconnect, once the whole body was read."""
        self.cache_key: Hashable = None
        """Cache key of its answer; ``None`` if it is not cached."""
        self.status = 0
        self.received, self.sent = len(scope["query_string"]), 0
        """Bytes of the query and the body, and of the body of the answer."""

    async def send(self, message: Message) -> None:
        """Send a part of the answer; its head carries the id of the request."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            named = (b"x-request-id", self.id.encode())
            message = {**message, "headers": [*message.get("headers", ()), named]}
        else:
            self.sent += len(message.get("body", b""))
        assert self._send is not None, "what is answered at once is not sent from here"
        await self._send(message)

    async def answer(self, status: int, body: bytes, headers: list[tuple[bytes, bytes]]) -> None:
        """Send a whole answer."""
        if status != 304:
            headers = [*headers, (b"content-length", b"%d" % len(body))]
        await self.send({"type": "http.response.start", "status": status, "headers": headers})
        shown = b"" if self.scope["method"] == "HEAD" else body
        await self.send({"type": "http.response.body", "body": shown})

    def whole(self, answer: _WholeAnswer) -> WholeAnswer:
        """Return a whole answer for the connection to send at once, as :meth:`answer` would."""
        status, body, headers = answer
        own = [] if status == 304 else [(b"content-length", b"%d" % len(body))]
        shown = b"" if self.scope["method"] == "HEAD" else body
        self.status, self.sent = status, len(shown)
        return WholeAnswer(status, [*headers, *own, (b"x-request-id", self.id.encode())], shown)

    def tagged(self, body: bytes, headers: list[tuple[bytes, bytes]], tag: str) -> _WholeAnswer:
        """Return an answer with an ETag, or 304 if the client has it already."""
        known = self.headers.get("if-none-match", "") if self.scope["method"] in ("GET", "HEAD") else ""
        return _WholeAnswer(304, b"", headers) if known and _matches(known, tag) else _WholeAnswer(200, body, headers)

    def problem(self, error: RequestError) -> _WholeAnswer:
        """Return an error as an answer with problem details."""
        problem: Problem = msgspec.structs.replace(error.problem, request_id=self.id)
        headers = _reply_headers(problems.MEDIA_TYPE, error.headers.items())
        return _WholeAnswer(problem.status, msgspec.json.encode(problem), headers)


class ServedStore(NamedTuple):
    """What REST serves: the store, the gate of its keys, and the routes."""

    db: Database
    gate: Gate
    routes: tuple[Route, ...]


class Rest:
    """The ASGI application of everything but MCP."""

    def __init__(self, served: ServedStore, log: request_log.RequestLog | None = None) -> None:
        self._log = log
        self.metrics = request_log.RequestMetrics()
        own = (
            Route("GET", "/openapi.json", "interface", self._page, "Read this page.", None, right=""),
            Route(
                "GET",
                "/metrics",
                "metrics",
                self._metrics,
                "Read the metrics of the server in Prometheus' format.",
                None,
                whole=True,
                quick=True,
                produces=(TEXT,),
            ),
            account_routes.usage_route(served.gate),
        )
        self._db, self._gate, self._meter = served.db, served.gate, served.db.accounts.meter
        self._meter.load()
        self._table = RouteTable((*served.routes, *own))
        self._fields = {route: _fields(route.query) for route in self._table.routes}
        self._decoders = {
            route: msgspec.json.Decoder(route.body)
            for route in self._table.routes
            if route.body is not None and route.body is not bytes
        }
        self._threads = ThreadPoolExecutor(THREADS, "worlddb-request")
        self._quick, self._answers = QuickRequests(), AnswerCache()
        self._turn = TurnState(served.db)
        self._clients: dict[Grant, Client] = {}
        self._opening: dict[Grant, asyncio.Future[ClientStore]] = {}
        self._workshop = JobPool(served.db.path, lambda key: served.gate.present(key) is None)
        self._anonymous = ClientStore(served.db, _ANONYMOUS._replace(name=served.db.author), self._workshop)
        self._salt = SystemEntropy().bytes(_SALT_BYTES)
        self._count = 0
        self._interface = b""

    def end_streams(self) -> None:
        """Stop event streams and jobs, which would otherwise outlast a shutdown."""
        self._workshop.stopping.set()

    def close(self) -> None:
        """Wait for running calls, and flush meters and log."""
        self._workshop.close()
        self._threads.shutdown()
        self._meter.flush()
        if self._log is not None:
            self._log.flush()

    def rehearse(self) -> None:
        """Answer every small read once, to load its code before the first client asks."""
        with suppress(WorldDBError):
            found = self._db.view().find(limit=1)
            path = {"world": found[0].ref if found else ""}
            for route in self._table.routes:
                if route.small or (route.quick and route.answer is not None):
                    with suppress(WorldDBError, RequestError, msgspec.ValidationError):
                        _answer_timed(route, self._anonymous, Request(path, msgspec.convert({}, route.query)))

    # -- what the application answers itself

    def _page(self, store: ClientStore, request: Request) -> Reply:
        self._interface = self._interface or msgspec.json.encode(interface_page.page(self._table.routes))
        return Reply(self._interface)

    def _metrics(self, store: ClientStore, request: Request) -> Reply:
        text = self.metrics.text(self._db.view().seq)
        return Reply(text.encode(), media_type=request_log.METRICS_TYPE)

    # -- a request from its head to the end of its answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        exchange = _Exchange(scope, self._next_id(), send)
        started = monotonic()
        self.metrics.under_way += 1
        self._answers.see(self._turn.stamp())
        try:
            await self._admit(exchange, receive)
        except RequestError as error:
            await exchange.answer(*exchange.problem(error))
        finally:
            self.metrics.under_way -= 1
            self._note(exchange, monotonic() - started)

    def at_once(self, scope: Scope) -> WholeAnswer | None:
        """Answer a small read of a key of the whole store, if its answer is cached or it was quick lately.

        This needs no task. ``None`` leaves the request to one; it was not counted here then.
        """
        started = monotonic()
        exchange = _Exchange(scope, "")
        try:
            route = exchange.route = self._find_route(exchange)
            grant = self._gate.authenticate(_token(exchange)) if route.right and (route.quick or route.small) else None
            client = None if grant is None or grant.world is not None else self._clients.get(grant)
            if grant is None or client is None:
                return None
            exchange.cache_key = _cache_key(exchange, client)
            if exchange.cache_key is None:
                return None
            self._answers.see(self._turn.look())
            cached = self._answers.find(exchange.cache_key, self._db.now())
            if cached is None and not route.quick and not self._quick.has(_request_hash(exchange, client.store)):
                return None
            self._check_admission(exchange, route, client)
        except RequestError:
            return None
        exchange.client, exchange.id = client, self._next_id()
        self._clients[grant] = self._clients.pop(grant)
        try:
            _require_request_size(client.store, exchange.received)
            answer = (
                exchange.tagged(cached.body, cached.headers, cached.tag)
                if cached
                else self._answer_small_read(exchange, client)
            )
        except RequestError as error:
            answer = exchange.problem(error)
        whole = exchange.whole(answer)
        self._note(exchange, monotonic() - started)
        return whole

    def _answer_small_read(self, exchange: _Exchange, client: Client) -> _WholeAnswer:
        with self._errors_as_problems(exchange, client.store):
            request = self._parse_request(exchange, b"")
            reply, reading, seconds = self._read_on_loop(exchange, client.store, request)
            self._quick.note(_request_hash(exchange, client.store), seconds)
        return self._whole_answer(exchange, reply, reading)

    def _next_id(self) -> str:
        """Return the id of a request. A counter would reveal how many requests other clients send."""
        self._count += 1
        digest = blake2b(self._count.to_bytes(8, "big"), digest_size=_ID_BYTES, key=self._salt)
        return digest.hexdigest()

    def _note(self, exchange: _Exchange, seconds: float) -> None:
        """Count and log an answer."""
        client, route = exchange.client, exchange.route
        if client is not None and route is not None:
            self._meter.count(
                client.store.grant.id,
                write=route.right != "read",
                bytes_in=exchange.received,
                bytes_out=exchange.sent,
                failed=exchange.status >= 400 or not exchange.status,
            )
        path = "none" if exchange.route is None else exchange.route.path
        method = exchange.scope["method"] if exchange.route is not None else "none"
        self.metrics.count(path, method, exchange.status, seconds)
        if self._log is not None:
            key = None if client is None else client.store.grant.name
            address = access_log.address_of(exchange.scope)
            self._log.note(exchange.id, address, key, method, path, exchange.status, seconds)

    async def _admit(self, exchange: _Exchange, receive: Receive) -> None:
        """Find the route and the client of a request, and admit it before its body is read."""
        scope = exchange.scope
        route = exchange.route = self._find_route(exchange)
        if not route.right:
            await self._read_body(exchange, receive, 0)
            await self._answer_request(exchange, self._anonymous, self._parse_request(exchange, b""))
            return
        client = exchange.client = await self._find_client(exchange)
        self._check_admission(exchange, route, client)
        if (route.quick or route.small) and client.store.grant.world is None:
            # With the cache, a key of one world could tell by timing that somebody wrote elsewhere.
            exchange.cache_key = _cache_key(exchange, client)
            cached = None if exchange.cache_key is None else self._answers.find(exchange.cache_key, self._db.now())
            if cached is not None:
                await self._read_body(exchange, receive, 0)
                await exchange.answer(*exchange.tagged(cached.body, cached.headers, cached.tag))
                return
        scope["worlddb.exchange"] = exchange
        await client.serve(scope, receive, exchange.send)

    def _check_admission(self, exchange: _Exchange, route: Route, client: Client) -> None:
        """Check rate, right and plan of a client for a route; from here on the request is counted."""
        grant = client.store.grant
        wait = self._gate.wait(grant)
        if wait:
            raise refusal(429, "Too many requests", "Try again later", Retry_After=ceil(wait))
        if not grant.may(route.right):
            raise refusal(
                403, f"This key has the right {grant.right}, and this request needs {route.right}", "Use another key"
            )
        if route.whole and grant.world is not None:
            raise refusal(403, _WHOLE_STORE_ONLY, "Use a key of the whole store", code="beyond_key")
        if grant.account is not None:
            try:
                self._gate.admit(grant, write=route.right != "read", feature=route.feature)
            except WorldDBError as error:
                raise problems.problem_of(error, client.store.session, conditional=False) from None

    def _find_route(self, exchange: _Exchange) -> Route:
        """Return the route of a request."""
        scope = exchange.scope
        try:
            found = self._table.find(scope["raw_path"].partition(b"?")[0])
        except UnicodeDecodeError:
            raise refusal(400, "The path is not UTF-8", "Percent-encode it as UTF-8") from None
        if found is None:
            raise refusal(404, "There is nothing at this path", "See /openapi.json")
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        route = found.routes.get(method)
        if route is None:
            allowed = ", ".join(sorted(found.routes))
            raise refusal(405, "This path does not have that method", f"It has {allowed}", Allow=allowed)
        exchange.path = found.path
        return route

    async def _find_client(self, exchange: _Exchange) -> Client:
        """Return the client of a request, by its key."""
        grant = self._gate.authenticate(_token(exchange))
        if grant is None:
            remedy = "Send a valid key: Authorization: Bearer KEY"
            raise refusal(401, "No valid key was sent", remedy, WWW_Authenticate="Bearer")
        client = self._clients.pop(grant, None)
        if client is None:
            try:
                store = await self._open_store(grant)
            except UnknownReference:
                raise refusal(401, "The world of this key does not exist", "Use another key") from None
            client = self._clients.pop(grant, None) or Client(store, self._serve)
            while len(self._clients) >= MAX_CLIENTS:
                del self._clients[next(iter(self._clients))]
        self._clients[grant] = client
        return client

    async def _open_store(self, grant: Grant) -> ClientStore:
        """Return the store of a client: one for all requests that come at first, whose writes then share a sync."""
        opening = self._opening.get(grant)
        if opening is None:
            loop = asyncio.get_running_loop()
            opening = loop.run_in_executor(self._threads, ClientStore, self._db, grant, self._workshop)
            opening.add_done_callback(lambda _: self._opening.pop(grant, None))
            self._opening[grant] = opening
        return await asyncio.shield(opening)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the body of an admitted request, and answer it."""
        exchange: _Exchange = scope["worlddb.exchange"]
        route, client = exchange.route, exchange.client
        assert route is not None and client is not None, "an admitted request has both"
        is_file = route.body is bytes and not route.takes
        most = MAX_FILE_BYTES if is_file else MAX_BODY_BYTES if route.body is not None else 0
        body = await self._read_body(exchange, receive, most)
        exchange.receive = receive
        await self._answer_request(exchange, client.store, self._parse_request(exchange, body))

    async def _read_body(self, exchange: _Exchange, receive: Receive, most: int) -> bytes:
        """Return the whole body; an unexpected short body is read and ignored."""
        parts, size = [], 0
        while True:
            message = await receive()
            if message["type"] != "http.request":
                raise refusal(400, "The request ended before its body did", "Send the whole body")
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            exchange.received += len(parts[-1])
            if exchange.client is not None:
                _require_request_size(exchange.client.store, exchange.received)
            if size > max(most, MAX_QUERY_BYTES):
                raise refusal(413, f"The body is larger than {max(most, MAX_QUERY_BYTES)} bytes", "Send less")
            if not message.get("more_body", False):
                return b"".join(parts) if most else b""

    def _parse_request(self, exchange: _Exchange, body: bytes) -> Request:
        """Validate parameters, headers and body, and convert them to the types of the route."""
        route, headers = exchange.route, exchange.headers
        assert route is not None
        key = headers.get("idempotency-key")
        if key is not None and not 1 <= len(key) <= 200:
            raise refusal(400, "Idempotency-Key is empty or has more than 200 characters", "Send a shorter one")
        if key is not None and sum(name == b"idempotency-key" for name, _ in exchange.scope["headers"]) > 1:
            raise refusal(400, "There are several Idempotency-Key headers", "Send one")
        encoding = headers.get("content-encoding", "").strip().casefold()
        if encoding not in ("", "identity"):
            raise refusal(
                415,
                f"The body has the encoding {encoding[:40]!r}, which is not read here",
                "Send it as it is, without Content-Encoding",
                accept_encoding="identity",
            )
        media_type = _media_type(headers.get("content-type"))
        return Request(
            exchange.path,
            self._parse_query(route, exchange.scope["query_string"]),
            self._parse_body(route, body, media_type),
            _negotiate_type(route, headers.get("accept", "")),
            headers.get("if-match"),
            key,
            media_type,
            headers.get("last-event-id"),
        )

    def _parse_query(self, route: Route, query_string: bytes) -> Any:
        if len(query_string) > MAX_QUERY_BYTES:
            raise refusal(400, "There are too many parameters", "Send less")
        try:
            message = query_string.decode("ascii")
            pairs = parse_qsl(message, True, errors="strict", max_num_fields=200) if message else []
        except (ValueError, UnicodeDecodeError):
            raise refusal(400, "The parameters cannot be read", "Percent-encode them as UTF-8") from None
        given: dict[str, Any] = {}
        for name, text in pairs:
            if name in _MOMENTS and (zone := _LOST_PLUS.fullmatch(text)) is not None:
                raise refusal(
                    422,
                    f"{name} {text[:80]!r} is not a time: a + in a URL means a blank",
                    f"Write it %2B: {zone[1]}%2B{zone[2]}",
                    code=InvalidTime.code,
                )
            kinds = self._fields[route].get(name, frozenset())
            if tuple in kinds:
                given.setdefault(name, []).append(text)
            elif name in given:
                raise refusal(422, f"The parameter {name:.80} is given twice", "Give it once")
            else:
                given[name] = _parse_value(text, kinds)
        try:
            return msgspec.convert(given, route.query)
        except msgspec.ValidationError as error:
            raise _invalid("A parameter", route.query, error, given) from None

    def _parse_body(self, route: Route, body: bytes, media_type: str) -> Any:
        if route.body is None or media_type in route.takes or (route.body is bytes and not route.takes):
            return body
        if route.body is bytes or (media_type not in ("", JSON) and not media_type.endswith("+json")):
            taken = " or ".join((*([] if route.body is bytes else [JSON]), *route.takes))
            raise refusal(415, "The content type of the body is not supported here", f"Send Content-Type: {taken}")
        if not body and not route.needs_body:
            body = b"{}"
        if not body:
            raise refusal(400, "The body is missing", f"Send a JSON object. {_fields_remedy(_field_names(route.body))}")
        try:
            decoded = self._decoders[route].decode(body)
            _refuse_duplicate_fields(body)
            return decoded
        except msgspec.ValidationError as error:
            given = None
            with suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):  # The rest may be no JSON.
                given = msgspec.json.decode(body)
            raise _invalid("The body", route.body, error, given) from None
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise _json_refusal(body, error) from None
        except RecursionError:
            raise refusal(400, "The body is nested too deeply", "Nest it less") from None

    async def _answer_request(self, exchange: _Exchange, store: ClientStore, request: Request) -> None:
        """Answer a request, and send the answer."""
        route = exchange.route
        assert route is not None
        reading: Reading | None = None
        with self._errors_as_problems(exchange, store):
            if route.quick or route.small:
                reply, reading = await self._answer_read(exchange, store, request)
            else:
                reply = await self._in_thread(exchange, route.call, store, request)
        await self._send_reply(exchange, reply, reading)

    @contextmanager
    def _errors_as_problems(self, exchange: _Exchange, store: ClientStore) -> Iterator[None]:
        """Turn errors of a handler into problem details."""
        try:
            yield
        except WorldDBError as error:
            raise problems.problem_of(error, store.session, conditional="if-match" in exchange.headers) from None
        except RequestError:
            raise
        except Exception:
            _LOG.exception("request %s failed", exchange.id)
            raise refusal(
                500, "The server has an internal error", "Report the id of the request to its operator"
            ) from None

    async def _answer_read(self, exchange: _Exchange, store: ClientStore, request: Request) -> tuple[Reply, Reading]:
        """Answer a read at one state of the store; in a thread, unless it is quick or was so lately."""
        route = exchange.route
        assert route is not None
        if route.quick:
            return self._read_on_loop(exchange, store, request)[:2]
        request_hash = _request_hash(exchange, store)
        if self._quick.has(request_hash):
            reply, reading, seconds = self._read_on_loop(exchange, store, request)
        else:
            reply, reading, seconds = await self._in_thread(exchange, _answer_timed, route, store, request)
        self._quick.note(request_hash, seconds)
        return reply, reading

    def _read_on_loop(self, exchange: _Exchange, store: ClientStore, request: Request) -> tuple[Reply, Reading, float]:
        """Answer a read on the event loop. A key of one world shares no read state: timing could reveal other reads."""
        route = exchange.route
        assert route is not None
        if store.grant.world is not None:
            return _answer_timed(route, store, request)
        with self._turn.state() as state:
            return _answer_timed(route, store, request, state)

    async def _send_reply(self, exchange: _Exchange, reply: Reply, reading: Reading | None) -> None:
        if isinstance(reply.value, AsyncIterator):
            await self._send_stream(exchange, reply, reply.value)
            return
        if reply.media_type == LINES:
            await self._send_stream(exchange, reply, self._encode_lines(exchange, reply.value))
            return
        await exchange.answer(*self._whole_answer(exchange, reply, reading))

    def _whole_answer(self, exchange: _Exchange, reply: Reply, reading: Reading | None) -> _WholeAnswer:
        """Return a reply as an answer, and cache it if that is allowed."""
        body = reply.value if isinstance(reply.value, bytes) else msgspec.json.encode(reply.value)
        headers = _reply_headers(reply.media_type, reply.headers.items())
        if not reply.tag or reply.status != 200:
            return _WholeAnswer(reply.status, body, headers)
        tag = f'"{reply.tag}.{blake2b(body, digest_size=_TAG_BYTES).hexdigest()}"'
        headers.append((b"etag", tag.encode()))
        if reading is not None and exchange.cache_key is not None:
            assert exchange.route is not None
            self._answers.keep(
                exchange.cache_key, reading.stamp, Answer(headers, body, tag, reading.since, reading.until)
            )
        return exchange.tagged(body, headers, tag)

    async def _send_stream(self, exchange: _Exchange, reply: Reply, chunks: AsyncIterator[bytes]) -> None:
        headers = [(b"content-type", reply.media_type.encode()), (b"cache-control", b"no-cache")]
        headers += [(name.lower().encode(), value.encode()) for name, value in reply.headers.items()]
        await exchange.send({"type": "http.response.start", "status": reply.status, "headers": headers})
        if exchange.scope["method"] != "HEAD":
            await self._send_while_connected(exchange, chunks)
        await exchange.send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _send_while_connected(self, exchange: _Exchange, chunks: AsyncIterator[bytes]) -> None:
        """Send chunks until they end, the client leaves, or its key ends."""
        assert exchange.receive is not None, "its body was read"
        # Sending to a client that has left raises nothing, so the stream would never end.
        disconnected = asyncio.ensure_future(exchange.receive())
        try:
            async for chunk in chunks:
                if disconnected.done() or self._has_key_ended(exchange):
                    break
                if chunk:
                    await exchange.send({"type": "http.response.body", "body": chunk, "more_body": True})
        finally:
            disconnected.cancel()

    def _has_key_ended(self, exchange: _Exchange) -> bool:
        """Return whether the key of a stream has ended or changed."""
        client = exchange.client
        return client is not None and self._gate.authenticate(_token(exchange)) != client.store.grant

    async def _in_thread(self, exchange: _Exchange, work: Callable[..., T], *given: object) -> T:
        """Call something in a thread, when it is the turn of the client."""
        loop, client, route = asyncio.get_running_loop(), exchange.client, exchange.route
        async with nullcontext() if client is None or route is None else client.turn(route):
            return await loop.run_in_executor(self._threads, work, *given)

    async def _encode_lines(self, exchange: _Exchange, lines: Iterator[Any]) -> AsyncIterator[bytes]:
        """Yield objects as JSON lines, many at once, read in a thread."""
        encode = msgspec.json.Encoder().encode

        def next_part() -> bytes:
            part = bytearray()
            for line in lines:
                part += encode(line) + b"\n"
                if len(part) >= _LINES_AT_ONCE:
                    break
            return bytes(part)

        while part := await self._in_thread(exchange, next_part):
            yield part


_MOMENTS: Final = frozenset(("valid", "ingested", "valid_from", "valid_to", "during", "overlaps", "between"))
_LOST_PLUS: Final = re.compile(r"(\d{4}-\d\d-\d\dT[\d:.,]+) (\d\d:?\d\d|\d\d)")
"""A time whose + was not percent-encoded, and so arrived as a blank."""


def _answer_timed(
    route: Route, store: ClientStore, request: Request, state: Reading | None = None
) -> tuple[Reply, Reading, float]:
    """Answer a read at one state of the store; return also the seconds of processor time."""
    started = thread_time()
    with store.db.reading(state) as reading:
        return route.call(store, request), reading, thread_time() - started


def _request_hash(exchange: _Exchange, store: ClientStore) -> int:
    """Return a hash of client and request, under which :class:`QuickRequests` notes its speed."""
    scope, route = exchange.scope, exchange.route
    return hash((store.grant.id, route and route.path, scope["raw_path"], scope["query_string"]))


def _cache_key(exchange: _Exchange, client: Client) -> Hashable:
    """Return the cache key of a read: client, path, query and accepted types; ``None`` if it is not cached."""
    scope, accept = exchange.scope, exchange.headers.get("accept", "")
    path, query = scope["raw_path"], scope["query_string"]
    if len(path) + len(query) + len(accept) <= MAX_ASKED_BYTES and _UNCACHED_HEADERS.isdisjoint(exchange.headers):
        return client, path, query, accept
    return None


def _reply_headers(media_type: str, more: Iterable[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    headers = [(b"content-type", media_type.encode()), (b"cache-control", b"no-cache"), (b"vary", b"authorization")]
    return headers + [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in more]


def _require_request_size(store: ClientStore, size: int) -> None:
    """Refuse a request with more bytes than the plan allows; the rest is not read."""
    account = store.grant.account
    if account is not None and account.limits.bytes_per_request is not None:
        try:
            account.require_quota("bytes_per_request", size)
        except WorldDBError as error:
            raise problems.problem_of(error, store.session, conditional=False) from None


def _refuse_duplicate_fields(body: bytes) -> None:
    """Refuse an object with a repeated field, at any depth; JSON decoders keep only the last."""

    def check_pairs(pairs: list[tuple[str, None]]) -> None:
        if len(named := dict(pairs)) < len(pairs):
            twice = next(name for name, _ in pairs if named.pop(name, pairs) is pairs)
            raise refusal(422, f"The body has the field {twice[:80]!r} twice", "Give it once")

    # Numbers are not converted again: one may have more digits than Python accepts.
    json.loads(body, object_pairs_hook=check_pairs, parse_int=_ignore_number, parse_float=_ignore_number)


def _ignore_number(number: str) -> None:
    """Ignore a number, which was decoded before."""


def _json_refusal(body: bytes, error: Exception) -> RequestError:
    """Return the refusal of a body that is not JSON, with the place of invalid UTF-8 or a lone surrogate."""
    try:
        body.decode()
    except UnicodeDecodeError as wrong:
        message = f"The body is not UTF-8: byte {wrong.start} is {body[wrong.start]:#04x}"
        return refusal(400, message, "Send it in UTF-8")
    half = half_surrogate(body)
    if half is not None:
        message = f"The body has half of a surrogate pair, {half.group().decode()}, at byte {half.start()}"
        return refusal(400, message, WHOLE_PAIR)
    return refusal(400, f"The body is not JSON: {error}", "Send an object as described in /openapi.json")


def _media_type(given: str | None) -> str:
    """Return the media type of a Content-Type, whose text is to be UTF-8; empty without one."""
    if given is None:
        return ""
    media_type, *parameters = (each.strip().casefold() for each in given.split(";"))
    if not media_type:
        raise refusal(415, "Content-Type is empty", f"Send Content-Type: {JSON}, or leave it out")
    for parameter in parameters:
        name, _, charset = parameter.partition("=")
        if name == "charset" and charset.strip('"') not in _CHARSETS:
            raise refusal(415, f"The body is in {charset:.40}, which is not read here", "Send UTF-8")
    return media_type


def _token(exchange: _Exchange) -> str | None:
    kind, _, token = exchange.headers.get("authorization", "").partition(" ")
    return token.strip() if kind.casefold() == "bearer" else None


def _fields(query: type[msgspec.Struct]) -> dict[str, frozenset[Any]]:
    """Return the parameters of a type, each with the kinds of values that it may have."""
    return {each.encode_name: frozenset(_plain_types(each.type)) for each in msgspec.structs.fields(query)}


def _field_names(body: Any) -> list[str]:
    """Return the fields of a body, in order."""
    return [each.encode_name for each in msgspec.structs.fields(body)]


def _fields_remedy(names: Iterable[str]) -> str:
    """Return the remedy for an unknown or invalid field: the list of fields."""
    listed = ", ".join(names)
    return f"It has {listed}: see /openapi.json" if listed else "It has none: see /openapi.json"


def _invalid(what: str, declared: type[msgspec.Struct], error: msgspec.ValidationError, given: Any) -> RequestError:
    """Return the refusal of a body or of parameters, with the value at the place that the error names."""
    wrong, is_there = _FIELD.search(str(error)), True
    for name, number in _STEPS.findall(str(error).partition(" - at `$")[2]):
        try:
            given = given[name or int(number)]
        except (KeyError, IndexError, TypeError):
            is_there = False
    value = f", which is {shown(given)}" if wrong is not None and is_there and given is not None else ""
    return refusal(422, f"{what} is invalid: {error}{value}", _remedy(declared, error))


def _remedy(declared: type[msgspec.Struct], error: msgspec.ValidationError) -> str:
    """Return the remedy for an invalid value: the choices of its field or its kind, else the list of fields.

    Of an unknown field it says first which of these it may mean.
    """
    unknown = _UNKNOWN_FIELD.fullmatch(str(error))
    if unknown is not None and (near := meant_arguments(unknown[1], _field_names(declared))):
        return f"Did you mean {near[0]}? {_fields_remedy(_field_names(declared))}"
    wrong = _FIELD.search(str(error))
    for each in msgspec.structs.fields(declared) if wrong is not None else ():
        choices = [*_choices(each.type)] if wrong is not None and each.encode_name == wrong[1] else []
        if choices:
            return f"{each.encode_name} is one of {', '.join(choices)}: see /openapi.json"
    expected, place = _EXPECTED.search(str(error)), str(error).partition(" - at `$.")[2].rstrip("`")
    if expected is not None and place and expected[1] in _KINDS:
        bound = _BOUNDS[expected[2]] + expected[3] if expected[2] else ""
        return f"Give {place} as {_KINDS[expected[1]]}{bound}. {_fields_remedy(_field_names(declared))}"
    return _fields_remedy(_field_names(declared))


def _choices(declared: Any) -> Iterator[str]:
    """Yield the literals that a declared type allows, if any."""
    if get_origin(declared) is Literal:
        yield from map(str, get_args(declared))
        return
    for each in get_args(declared) if get_origin(declared) is not dict else ():
        yield from _choices(each)


def _plain_types(declared: Any) -> Iterator[Any]:
    """Yield the plain types inside a declared type; every list is a ``tuple``."""
    origin = get_origin(declared)
    if origin in (tuple, dict, Literal) or origin is None:
        yield declared if origin is None else origin
        return
    for each in get_args(declared)[:1] if origin is Annotated else get_args(declared):
        yield from _plain_types(each)


def _parse_value(text: str, kinds: frozenset[Any]) -> Any:
    """Convert the text of a parameter; an invalid text is returned as it is, and its type then refuses it."""
    if bool in kinds:
        return {"true": True, "false": False}.get(text, text)
    if int in kinds or float in kinds:
        if _NUMBER.fullmatch(text):
            return int(text)
        return float(text) if float in kinds and _DECIMAL.fullmatch(text) else text
    if dict in kinds:
        try:
            return msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError):
            return text
    return text


def _negotiate_type(route: Route, accept: str) -> str:
    """Return the media type of the answer by the client's Accept header (RFC 9110).

    Of types with equal weight the first that the header names wins; of a range the first that the route produces.
    """
    if not accept or accept == "*/*":
        return route.produces[0]
    weights: dict[str, tuple[float, int]] = {}
    for place, each in enumerate(accept.split(",")):
        named, *parameters = (part.strip().casefold() for part in each.split(";"))
        weights.setdefault(named, (_weight(parameters), -place))
    found = []
    for produced in route.produces:
        # The most specific range counts.
        ranges = (produced, f"{produced.partition('/')[0]}/*", "*/*")
        weight = next((weights[each] for each in ranges if each in weights), (0.0, 0))
        if weight[0] > 0:
            found.append((weight, produced))
    if found:
        return max(found, key=lambda each: each[0])[1]
    remedy = f"Accept {' or '.join(route.produces)}"
    raise refusal(406, "Accept has no type of the answer", remedy)


def _weight(parameters: list[str]) -> float:
    """Return the weight ``q`` of a media type; 1 if it is missing or invalid."""
    for each in parameters:
        name, _, number = each.partition("=")
        if name.strip() == "q" and _WEIGHT.fullmatch(number.strip()):
            return float(number)
    return 1.0


def _matches(known: str, tag: str) -> bool:
    return known.strip() == "*" or tag in {each.strip().removeprefix("W/") for each in known.split(",")}
