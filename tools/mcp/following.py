"""Everything that the server sends beside an answer: progress, messages, tasks, questions and changes of resources.

Calls run on threads, perhaps with the store locked, and a client may read slowly. So a thread only queues what there is
to send, and the event loop of the server sends it.
"""

import asyncio
import hashlib
import json
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from typing import Any, Final, get_args

import anyio
import mcp_types as protocol
from anyio import from_thread
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.extension import Extension, MethodBinding
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.server import require_client_extension
from mcp.server.subscriptions import ListenHandler, ResourcesListChanged, ResourceUpdated, SubscriptionBus
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from worlddb import SystemClock, SystemEntropy, WorldDBError, format_time

PERCENT: Final = 100
MAX_MESSAGES: Final = 100
"""Messages of one call that wait for a client to read them; older ones are dropped."""
LEVELS: Final[tuple[protocol.LoggingLevel, ...]] = get_args(protocol.LoggingLevel)
_LEVEL: Final = "worlddb.log_level"

RequestContext = ServerRequestContext[Any, Any]
Report = Callable[[float, float], Awaitable[None]]
"""Sends a progress notification: done and total."""
Say = Callable[[protocol.LoggingLevel, str], Awaitable[None]]
"""Sends a log message."""


class Progress:
    """Reports the progress and the messages of one call to the client.

    Progress is in percent: a figure that is outdated before it can be sent is not sent.
    """

    def __init__(self, report: Report, say: Say) -> None:
        self._report, self._say = report, say
        self._reached = self._reported = -1
        self._messages = deque[tuple[protocol.LoggingLevel, str]](maxlen=MAX_MESSAGES)
        self._ended = False
        self._news = anyio.Event()

    def step(self, done: int, total: int) -> None:
        """Record progress; called by the work on its thread.

        Raises:
            CancelledError: the client has cancelled the call, or is gone.
        """
        from_thread.check_cancelled()
        percent = PERCENT * done // total if total else PERCENT
        if percent > self._reached:
            self._reached = percent
            from_thread.run_sync(self._wake)

    def message(self, text: str) -> None:
        """Record a message for a client that asked for them; called by the work on its thread."""
        self._messages.append(("info", text))
        from_thread.run_sync(self._wake)

    async def tell(self) -> None:
        """Send progress and messages until the work has ended and nothing is left to send."""
        while self._messages or self._reported < self._reached or not self._ended:
            if self._messages:
                await self._say(*self._messages.popleft())
            elif self._reported == self._reached:
                await self._news.wait()
                self._news = anyio.Event()
            else:
                self._reported = self._reached
                await self._report(self._reported, PERCENT)

    def end(self) -> None:
        """Mark the work as ended; the last figure is still sent."""
        self._ended = True
        self._wake()

    def _wake(self) -> None:
        self._news.set()


def _connection_state(ctx: RequestContext) -> dict[str, Any]:
    # The SDK keeps what lasts as long as a connection there, and has no other way to it.
    return ctx.session._connection.state


async def set_level(ctx: RequestContext, params: protocol.SetLevelRequestParams) -> protocol.EmptyResult:
    """Set the level from which on a client wants messages; without it the client gets none."""
    _connection_state(ctx)[_LEVEL] = params.level
    return protocol.EmptyResult()


def wants_level(ctx: RequestContext, level: protocol.LoggingLevel) -> bool:
    """Return whether the client of a request has asked for messages of a level."""
    if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
        wanted = (ctx.meta or {}).get(protocol.LOG_LEVEL_META_KEY)
    else:
        wanted = _connection_state(ctx).get(_LEVEL)
    return wanted in LEVELS and LEVELS.index(level) >= LEVELS.index(wanted)


async def send_message(ctx: RequestContext, logger: str, level: protocol.LoggingLevel, text: str) -> None:
    """Send a log message beside the answer of a request, if the client asked for it."""
    if wants_level(ctx, level):
        told = protocol.LoggingMessageNotificationParams(level=level, logger=logger, data=text)
        await ctx.session.send_notification(
            protocol.LoggingMessageNotification(params=told), related_request_id=ctx.request_id
        )


# -- questions to the client

_CAPABILITIES: Final = {
    "elicitation/create": "elicitation",
    "sampling/createMessage": "sampling",
    "roots/list": "roots",
}
"""The client capability that each kind of question needs."""
Requests = Mapping[str, dict[str, Any]]
"""Questions by name, in the form of the protocol: ``method`` and ``params``."""
Answers = dict[str, Any]


class QuestionsPending(Exception):
    """Ends a call with questions; the client sends the call again with the answers."""

    def __init__(self, requests: Requests, known: Answers) -> None:
        super().__init__(", ".join(requests))
        result = {"inputRequests": dict(requests), "requestState": json.dumps(known)}
        self.result = protocol.InputRequiredResult.model_validate(result, by_name=False)


class Questions:
    """Asks the client of one call. Only a task waits for the answers.

    Any other call ends with its questions, and runs again when they are answered. The answers so far travel to the
    client and back, sealed by the SDK.
    """

    def __init__(self, context: Context[Any, Any] | None, task: "Task | None" = None) -> None:
        self._context, self._task = context, task
        self._known: Answers = {}

    def can(self, method: str) -> bool:
        """Return whether the client supports a kind of question, such as ``elicitation/create``."""
        if self._context is None or self._context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            return False
        return getattr(self._context.client_capabilities, _CAPABILITIES[method], None) is not None

    def __call__(self, requests: Requests) -> Answers:
        """Return the answers to all requests; called by the work on its thread.

        Raises:
            Asked: the answers are not there yet, and the call is to end.
            MCPError: the client has not declared the needed capability.
        """
        missing: dict[str, dict[str, Any]] = {
            _CAPABILITIES[one["method"]]: {} for one in requests.values() if not self.can(one["method"])
        }
        if missing or self._context is None:
            needed = protocol.MissingRequiredClientCapabilityErrorData(
                required_capabilities=protocol.ClientCapabilities.model_validate(missing)
            )
            raise MCPError(
                protocol.MISSING_REQUIRED_CLIENT_CAPABILITY,
                f"The client has not declared that it can be asked: {', '.join(missing)}",
                needed.model_dump(by_alias=True, mode="json", exclude_none=True),
            )
        if self._task is not None and self._task.is_shown:
            return from_thread.run(self._task.ask, requests)
        return self._answers_of(self._context, requests)

    def _answers_of(self, context: Context[Any, Any], requests: Requests) -> Answers:
        state = json.loads(context.request_state or "{}")
        given = {
            name: answer.model_dump(by_alias=True, mode="json", exclude_none=True)
            for name, answer in (context.input_responses or {}).items()
        }
        for name in requests:
            if name in given or name in state:
                self._known[name] = given.get(name, state.get(name))
        missing = {name: request for name, request in requests.items() if name not in self._known}
        if missing:
            raise QuestionsPending(missing, self._known)
        return {name: self._known[name] for name in requests}


# -- tasks

TASKS: Final = "io.modelcontextprotocol/tasks"
TASK_SECONDS: Final = 0.25
"""How long a call may take before its client gets a task instead of an answer."""
POLL_MS: Final = 500
TTL_MS: Final = 600_000
"""How long a task is kept after its end, and how long it waits for an answer."""
MAX_TASKS: Final = 100
"""Tasks of one server; calls beyond are answered when they are done."""
_TASK: ContextVar["Task | None"] = ContextVar("_TASK", default=None)


def _now_text() -> str:
    return format_time(SystemClock().now())


class Task:
    """A call whose answer the client fetches later: status, open questions and result."""

    def __init__(self) -> None:
        self.id = SystemEntropy().bytes(16).hex()
        self.is_shown = False
        self.ended = anyio.Event()
        self.status: str = "working"
        self.result: dict[str, Any] = {}
        self.failure: Exception | None = None
        self.ended_at: float | None = None
        self._scope = anyio.CancelScope()
        self._created = self._changed = _now_text()
        self._asked: dict[str, dict[str, Any]] = {}
        self._answers: Answers = {}
        self._answered = anyio.Event()

    async def run(self, work: Callable[[], Awaitable[HandlerResult]]) -> None:
        """Do the work, and keep its result or failure."""
        _TASK.set(self)
        with self._scope:
            try:
                result = await work()
                dumped = result if isinstance(result, dict | None) else result.model_dump(by_alias=True, mode="json")
                self.result = {name: value for name, value in (dumped or {}).items() if value is not None}
                self.status = "completed"
            except Exception as error:
                self.failure, self.status = error, "failed"
        if self.status not in ("completed", "failed"):
            self.status = "cancelled"
        self._changed, self.ended_at = _now_text(), anyio.current_time()
        self.ended.set()

    async def ask(self, requests: Requests) -> Answers:
        """Wait until the client has answered all questions by ``tasks/update``."""
        self._asked = dict(requests)
        self._answers, self._answered = {}, anyio.Event()
        self.status, self._changed = "input_required", _now_text()
        with anyio.move_on_after(TTL_MS / 1_000):
            await self._answered.wait()
            self.status, self._changed = "working", _now_text()
            return self._answers
        self.cancel()
        await anyio.sleep_forever()
        raise AssertionError

    def answer(self, answers: Mapping[str, Any]) -> None:
        """Take answers to open questions; ignore others."""
        for name in [name for name in answers if name in self._asked]:
            del self._asked[name]
            self._answers[name] = answers[name]
        if self.status == "input_required" and not self._asked:
            self._answered.set()

    def cancel(self) -> None:
        """Stop the work at its next step; a commit that has begun is completed."""
        self._scope.cancel()

    def describe(self, *, detailed: bool) -> dict[str, Any]:
        """Describe the task; with ``detailed`` also its questions and result."""
        description: dict[str, Any] = {
            "resultType": "complete" if detailed else "task",
            "taskId": self.id,
            "status": self.status,
            "createdAt": self._created,
            "lastUpdatedAt": self._changed,
            "ttlMs": TTL_MS,
            "pollIntervalMs": POLL_MS,
        }
        if detailed and self._asked:
            description["inputRequests"] = self._asked
        if detailed and self.status == "completed":
            description["result"] = self.result
        if detailed and isinstance(self.failure, MCPError):
            description["error"] = self.failure.error.model_dump(by_alias=True, mode="json", exclude_none=True)
        elif detailed and self.failure is not None:
            description["error"] = {"code": protocol.INTERNAL_ERROR, "message": "Internal error"}
        return description


def current_task() -> Task | None:
    """Return the task of the current call, if it has one."""
    return _TASK.get()


class _TaskParams(protocol.RequestParams):
    task_id: str


class _TaskUpdateParams(_TaskParams):
    input_responses: dict[str, Any]


class Tasks(Extension):
    """Lets a client fetch the answer of a long call later, if it declares the tasks extension."""

    identifier = TASKS

    def __init__(self, is_long: Callable[[str], bool]) -> None:
        """``is_long``: whether calls of a tool may become tasks."""
        self._is_long = is_long
        self._tasks: dict[str, Task] = {}
        self._running = set[asyncio.Task[None]]()

    def methods(self) -> list[MethodBinding]:
        """The methods of the extension, in the versions of the protocol that have it."""
        versions = frozenset(MODERN_PROTOCOL_VERSIONS)
        return [
            MethodBinding("tasks/get", _TaskParams, self._get, versions),
            MethodBinding("tasks/update", _TaskUpdateParams, self._update, versions),
            MethodBinding("tasks/cancel", _TaskParams, self._cancel, versions),
        ]

    async def intercept_tool_call(
        self, params: protocol.CallToolRequestParams, ctx: RequestContext, call_next: CallNext
    ) -> HandlerResult:
        """Answer a call, or give a task for it once it has taken long."""
        declared = ctx.session.client_capabilities
        takes_tasks = declared is not None and TASKS in (declared.extensions or {})
        if not takes_tasks or not self._is_long(params.name) or ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            return await call_next(ctx)
        self._drop_ended()
        if len(self._tasks) >= MAX_TASKS:
            return await call_next(ctx)
        task = Task()

        async def work() -> HandlerResult:
            return await call_next(ctx)

        running = asyncio.get_running_loop().create_task(task.run(work))
        self._running.add(running)
        running.add_done_callback(self._running.discard)
        try:
            with anyio.move_on_after(TASK_SECONDS):
                await task.ended.wait()
        except BaseException:
            task.cancel()
            raise
        if task.ended.is_set():
            if task.failure is not None:
                raise task.failure
            return task.result
        task.is_shown = True
        self._tasks[task.id] = task
        return task.describe(detailed=False)

    def _drop_ended(self) -> None:
        """Drop tasks that ended long ago."""
        until = anyio.current_time() - TTL_MS / 1_000
        for task in [task for task in self._tasks.values() if task.ended_at is not None and task.ended_at < until]:
            del self._tasks[task.id]

    def _find_task(self, ctx: RequestContext, params: _TaskParams) -> Task:
        require_client_extension(ctx, TASKS)
        headers = getattr(ctx.request, "headers", None)
        if headers is not None and headers.get("mcp-name") != params.task_id:
            raise MCPError(protocol.HEADER_MISMATCH, "The header mcp-name does not match the request body's 'taskId'")
        self._drop_ended()
        if params.task_id not in self._tasks:
            raise MCPError(protocol.INVALID_PARAMS, "There is no such task, or it ended long ago")
        return self._tasks[params.task_id]

    async def _get(self, ctx: RequestContext, params: _TaskParams) -> HandlerResult:
        return self._find_task(ctx, params).describe(detailed=True)

    async def _update(self, ctx: RequestContext, params: _TaskUpdateParams) -> HandlerResult:
        self._find_task(ctx, params).answer(params.input_responses)
        return {"resultType": "complete"}

    async def _cancel(self, ctx: RequestContext, params: _TaskParams) -> HandlerResult:
        self._find_task(ctx, params).cancel()
        return {"resultType": "complete"}


# -- changes of resources

WATCH_SECONDS: Final = 1.0
MAX_WATCHED: Final = 200
"""Subscriptions of all clients of one server."""
LIST: Final = ""
"""The address that stands for the list of resources."""
Tell = Callable[[], Awaitable[None]]


class _WatchedResource:
    def __init__(self, digest: bytes) -> None:
        self.digest = digest
        self.callbacks: dict[object, Tell] = {}


class Watch:
    """Notifies clients when the text of a resource has changed for them, by any writer.

    While there are subscriptions, it checks once a second for new commits, and then reads the watched resources.
    """

    def __init__(self, read: Callable[[str], Awaitable[str]], commit: Callable[[], Awaitable[int]]) -> None:
        """``read`` returns a resource, or the list, as text; ``commit`` the number of the last commit."""
        self._read, self._commit = read, commit
        self._watched: dict[str, _WatchedResource] = {}
        self._poller: asyncio.Task[None] | None = None

    async def add(self, uri: str, who: object, tell: Tell) -> None:
        """Call ``tell`` when a resource has changed, until ``who`` is removed from it.

        Raises:
            MCPError: there are too many subscriptions.
        """
        if sum(len(watched.callbacks) for watched in self._watched.values()) >= MAX_WATCHED:
            raise MCPError(protocol.INVALID_REQUEST, f"More than {MAX_WATCHED} subscriptions: end some of them")
        if uri not in self._watched:
            digest = await self._digest(uri)
            self._watched.setdefault(uri, _WatchedResource(digest))
        self._watched[uri].callbacks[who] = tell
        if self._poller is None:
            self._poller = asyncio.get_running_loop().create_task(self._poll_commits())

    def remove(self, uri: str, who: object) -> None:
        """Remove a subscription, if there is one."""
        watched = self._watched.get(uri)
        if watched is not None:
            watched.callbacks.pop(who, None)
            if not watched.callbacks:
                del self._watched[uri]

    async def _digest(self, uri: str) -> bytes:
        try:
            return hashlib.blake2b((await self._read(uri)).encode()).digest()
        except (WorldDBError, ValueError):
            return b""

    async def _poll_commits(self) -> None:
        last_seen = -1
        try:
            while self._watched:
                await anyio.sleep(WATCH_SECONDS)
                try:
                    now = await self._commit()
                except WorldDBError:
                    continue
                if now != last_seen:
                    last_seen = now
                    await self._tell_changes()
        finally:
            self._poller = None

    async def _tell_changes(self) -> None:
        for uri, watched in list(self._watched.items()):
            digest = await self._digest(uri)
            if digest != watched.digest:
                watched.digest = digest
                for tell in list(watched.callbacks.values()):
                    await tell()


class Subscriptions(ListenHandler):
    """Serves subscriptions to resources: streams of the protocol of 2026, and the calls of the one of 2025."""

    def __init__(self, bus: SubscriptionBus, watch: Watch) -> None:
        super().__init__(bus)
        self._events, self._watch = bus, watch
        self._listening: dict[str, int] = {}

    async def __call__(
        self, ctx: RequestContext, params: protocol.SubscriptionsListenRequestParams
    ) -> protocol.SubscriptionsListenResult:
        """Serve one stream, and watch what it asks for until it ends."""
        asked = list(dict.fromkeys(params.notifications.resource_subscriptions or ()))
        if params.notifications.resources_list_changed:
            asked.append(LIST)
        watched = list[str]()
        try:
            for uri in asked:
                watched.append(uri)
                self._listening[uri] = self._listening.get(uri, 0) + 1
                await self._watch.add(uri, self, self._publisher(uri))
            return await super().__call__(ctx, params)
        finally:
            for uri in watched:
                self._listening[uri] -= 1
                if not self._listening[uri]:
                    del self._listening[uri]
                    self._watch.remove(uri, self)

    def _publisher(self, uri: str) -> Tell:
        async def publish() -> None:
            await self._events.publish(ResourcesListChanged() if uri == LIST else ResourceUpdated(uri=uri))

        return publish

    async def subscribe(self, ctx: RequestContext, params: protocol.SubscribeRequestParams) -> protocol.EmptyResult:
        """Notify a client when a resource has changed, until it unsubscribes or its session ends."""
        session, uri = ctx.session, str(params.uri)
        connection = session._connection

        async def tell() -> None:
            await session.send_resource_updated(uri)

        await self._watch.add(uri, connection, tell)
        connection.exit_stack.callback(self._watch.remove, uri, connection)
        return protocol.EmptyResult()

    async def unsubscribe(self, ctx: RequestContext, params: protocol.UnsubscribeRequestParams) -> protocol.EmptyResult:
        """End a subscription."""
        self._watch.remove(str(params.uri), ctx.session._connection)
        return protocol.EmptyResult()
