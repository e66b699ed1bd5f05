"""ASGI guards in front of the protocol: host check, body timeout and access log.

Each is an ASGI application around another. None of them logs a header, a query or a body.
"""

import logging
import time
from typing import Any, Final

import anyio
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

ACCESS_LOG: Final = logging.getLogger("worlddb.mcp.access")
BODY_SECONDS: Final = 30.0
"""Time limit for the body of a request."""
_MAX_PATH: Final = 100


class AccessLog:
    """Logs each finished request: address, key name, method, path, status and duration.

    The query of a URL is left out, since people put secrets there.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request, then log it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = 0

        async def watch(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        begun = time.monotonic()
        try:
            await self._app(scope, receive, watch)
        finally:
            # Authentication has put the key into the scope by now.
            user = scope.get("user")
            ACCESS_LOG.info(
                "%s %s %s %s %s %.0fms",
                (scope.get("client") or ("-",))[0],
                (getattr(user, "display_name", "") or "-"),
                scope["method"],
                ascii(scope["path"])[1:-1][:_MAX_PATH],
                status or "gone",
                (time.monotonic() - begun) * 1000,
            )


class HostCheck:
    """Refuses requests to a foreign host name or from a foreign origin.

    It runs first. A web page can send requests to programs on its visitor's machine: through a name of its own that
    resolves there (DNS rebinding), or directly. The first has a foreign ``Host``, both have a foreign ``Origin``.
    """

    def __init__(self, app: ASGIApp, hosts: list[str], origins: list[str]) -> None:
        self._app = app
        settings = TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=origins)
        self._check = TransportSecurityMiddleware(settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 421 or 403, or pass the request on."""
        if scope["type"] == "http":
            refusal = await self._check.validate_request(Request(scope))
            if refusal is not None:
                await refusal(scope, receive, send)
                return
        await self._app(scope, receive, send)


class ClientGone(Exception):
    """The client disconnected before its request was complete."""


class BodyTimeout:
    """Refuses a request whose body does not arrive in time: 408 if the client is still there."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, with a time limit until its whole body is there."""
        answered = whole = False

        async def limited() -> Message:
            nonlocal whole
            if whole:
                return await receive()
            with anyio.fail_after(max(0.0, ends - anyio.current_time())):
                message = await receive()
            if message["type"] == "http.disconnect":
                raise ClientGone
            whole = not message.get("more_body", False)
            return message

        async def watch(message: Message) -> None:
            nonlocal answered
            answered = True
            await send(message)

        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        ends = anyio.current_time() + BODY_SECONDS
        try:
            await self._app(scope, limited, watch)
        except ClientGone:
            pass
        except TimeoutError:
            if whole or answered:
                raise
            await error_response(408, "The body of the request did not come in time")(scope, receive, send)


def error_response(status: int, message: str, **headers: Any) -> JSONResponse:
    """Return a refusal below the protocol, in the form of its errors."""
    error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": message}}
    return JSONResponse(error, status, headers={name.replace("_", "-"): str(value) for name, value in headers.items()})
