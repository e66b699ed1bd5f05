"""ASGI guards in front of the protocol: duplicate headers, host and origin, time and memory limits of bodies.

Each is an ASGI application around another. None of them logs or echoes input. ``refuse`` builds their responses; by
default these have the form of MCP's errors.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, Final

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

BODY_SECONDS: Final = 30.0
"""Time limit for the body of a request."""
BODIES_BYTES: Final = 33_554_432
"""Memory for the bodies of all requests of one key under way."""
MAX_UNDER_WAY: Final = 250
"""Requests of one key under way, open streams among them: half of the connections."""
FREE_BYTES: Final = 65_536
"""Bytes of each body that count for nothing."""
SINGLE: Final = frozenset(
    b"host origin authorization content-length content-type content-encoding transfer-encoding mcp-session-id"
    b" mcp-protocol-version mcp-method mcp-name last-event-id".split()
)
"""Headers of which a request may carry one: of two, each reader might believe another."""

_OF_BODIES: Final = frozenset((b"content-length", b"transfer-encoding"))
"""A request with neither has no body to wait for."""

Refuse = Callable[..., ASGIApp]
"""Makes a refusal of a status and a message; further headers are given by name."""


class SingleHeaders:
    """Refuses a request whose headers can be read in two ways: 400."""

    def __init__(self, app: ASGIApp, refuse: Refuse | None = None) -> None:
        self._app = app
        self._refuse = refuse or error_response

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 400, or pass the request on."""
        if scope["type"] == "http":
            names = [name for name, _ in scope["headers"]]
            given = frozenset(names)
            doubled = []
            if len(given) < len(names):
                counted = Counter(names)
                doubled = sorted(name.decode() for name in SINGLE if counted[name] > 1)
            if doubled:
                message = f"The request has more than one header {doubled[0]}: send one"
                await self._refuse(400, message)(scope, receive, send)
                return
            codings = [value for name, value in scope["headers"] if name == b"transfer-encoding"]
            if any(value.lower() != b"chunked" for value in codings):
                message = "Transfer-Encoding has more than chunked, which is not read here: send the body as it is"
                await self._refuse(400, message)(scope, receive, send)
                return
            if given >= _OF_BODIES:
                message = "The request has both Content-Length and Transfer-Encoding: send one of them"
                await self._refuse(400, message)(scope, receive, send)
                return
        await self._app(scope, receive, send)


class HostCheck:
    """Refuses requests to a foreign host name or from a foreign origin.

    It runs first. A web page can send requests to programs on its visitor's machine: through a name of its own that
    resolves there (DNS rebinding), or directly. The first has a foreign ``Host``, both have a foreign ``Origin``. Every
    value of either header must be allowed; ``NAME:*`` allows a name with any port.
    """

    def __init__(
        self, app: ASGIApp, hosts: Iterable[str], origins: Iterable[str], refuse: Refuse | None = None
    ) -> None:
        self._app = app
        self._refuse = refuse or error_response
        self._hosts = frozenset(hosts)
        self._origins = frozenset(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 421 or 403, or pass the request on."""
        if scope["type"] == "http":
            hosts = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
            origins = [value.decode("latin-1") for name, value in scope["headers"] if name == b"origin"]
            if not hosts or not all(_is_allowed(host, self._hosts) for host in hosts):
                message = "This server does not have the name in Host; --allow-host adds a name"
                await self._refuse(421, message)(scope, receive, send)
                return
            if not all(_is_allowed(origin, self._origins) for origin in origins if origin):
                message = "This server does not admit the origin in Origin; --allow-origin admits one"
                await self._refuse(403, message)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def is_passed_on(headers: Iterable[tuple[bytes, bytes]], hosts: frozenset[str]) -> bool:
    """Tell of a request without a body whether every guard here passes it on; false where that takes a closer look."""
    names = [name for name, _ in headers]
    if b"origin" in names or len(set(names)) < len(names):
        return False
    return any(name == b"host" and _is_allowed(value.decode("latin-1"), hosts) for name, value in headers)


def _is_allowed(given: str, allowed: frozenset[str]) -> bool:
    name, colon, port = given.rpartition(":")
    return given in allowed or (bool(colon) and port.isascii() and port.isdigit() and f"{name}:*" in allowed)


class ClientGone(Exception):
    """The client disconnected before its request was complete."""


class BodyTimeout:
    """Refuses a request whose body does not arrive in time: 408 if the client is still there."""

    def __init__(self, app: ASGIApp, refuse: Refuse | None = None) -> None:
        self._app = app
        self._refuse = refuse or error_response

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, with a time limit until its whole body is there."""
        answered = whole = False

        async def limited() -> Message:
            nonlocal whole
            if whole:
                return await receive()
            async with asyncio.timeout_at(ends):
                message = await receive()
            if message["type"] == "http.disconnect":
                raise ClientGone
            whole = not message.get("more_body", False)
            return message

        async def watch(message: Message) -> None:
            nonlocal answered
            answered = True
            await send(message)

        if scope["type"] != "http" or not any(name in _OF_BODIES for name, _ in scope["headers"]):
            await self._app(scope, receive, send)
            return
        ends = asyncio.get_running_loop().time() + BODY_SECONDS
        try:
            await self._app(scope, limited, watch)
        except ClientGone:
            pass
        except TimeoutError:
            if whole or answered:
                raise
            await self._refuse(408, "The body of the request did not arrive in time")(scope, receive, send)


class _NoRoom(Exception):
    """What is under way already leaves no room for a request; the text says why."""


class Budget:
    """Refuses a request while those under way hold all that they may have: 429.

    A request is under way from the end of its body until its answer has ended, so that nobody is refused for the sake
    of half-sent ones. A body lies in memory from its first byte on, several times over. The first ``FREE_BYTES`` of
    each are not counted, so that common requests find room beside large ones.
    """

    def __init__(
        self,
        app: ASGIApp,
        most_bytes: int = BODIES_BYTES,
        most_requests: int = MAX_UNDER_WAY,
        refuse: Refuse | None = None,
    ) -> None:
        self._app = app
        self._refuse = refuse or error_response
        self._bytes_left = most_bytes
        self._requests_left = most_requests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and count what it holds until it is answered."""
        received_bytes = reserved_bytes = 0
        whole = False

        async def counted() -> Message:
            nonlocal received_bytes, reserved_bytes, whole
            message = await receive()
            received_bytes += len(message.get("body", b""))
            more = max(0, received_bytes - FREE_BYTES) - reserved_bytes
            if more > self._bytes_left:
                raise _NoRoom("Large requests use all of their memory; try again later")
            reserved_bytes += more
            self._bytes_left -= more
            if not whole and message["type"] == "http.request" and not message.get("more_body", False):
                if not self._requests_left:
                    raise _NoRoom("Too many requests are under way; wait for their answers, or close streams")
                whole = True
                self._requests_left -= 1
            return message

        try:
            await self._app(scope, counted, send)
        except _NoRoom as refusal:
            await self._refuse(429, str(refusal), Retry_After=1)(scope, receive, send)
        finally:
            self._bytes_left += reserved_bytes
            self._requests_left += whole


def error_response(status: int, message: str, **headers: Any) -> JSONResponse:
    """Return a refusal below the protocol, in the form of its errors."""
    error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": message}}
    return JSONResponse(error, status, headers={name.replace("_", "-"): str(value) for name, value in headers.items()})
