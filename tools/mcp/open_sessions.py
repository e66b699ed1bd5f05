"""Sessions of one key: the oldest idle one makes room for a new one.

The SDK refuses a session too many, for as long as a forgotten one lives. A client that is restarted again and again
forgets all of its sessions but the last, and would lock itself out.
"""

import time
from typing import Final

from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_SESSIONS: Final = 200
"""Open sessions of one key, with those that have a request under way beyond it up to ``HARD_LIMIT``."""
HARD_LIMIT: Final = 2 * MAX_SESSIONS
MAX_UNDER_WAY: Final = 250
"""Requests of one key at the same time, open streams among them: half of the connections."""


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
        self.under_way = 0

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
        self.under_way += 1
        try:
            await self._app(scope, receive, watch)
        finally:
            self.under_way -= 1
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
