"""The server's log: one line for each HTTP request, with nothing in it that a client could forge.

Every record, of this server or of a library, passes one formatter. It leaves out secrets, escapes invisible characters
and cuts long lines, so no client can write a line of its own.
"""

import ipaddress
import logging
import re
import time
from typing import Final, TextIO

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from worlddb import plain_text
from worlddb.tools.mcp import access_keys

ACCESS_LOG: Final = logging.getLogger("worlddb.mcp.access")
MAX_LINE: Final = 1_000
"""Characters of one line; a longer one is cut."""
_MAX_PATH: Final = 100
_MAX_METHOD: Final = 20
_MAX_TRACE_LINES: Final = 200
_FORMAT: Final = "%(asctime)s %(message)s"
_KEY: Final = re.compile(
    rf"{access_keys.PREFIX}[\w%+/=.~-]*|\b(bearer|basic)\s+[\w%+/=.~-]+"
    r"|\b(\w*(?:key|token|secret|password|authorization|session[_-]?id))(['\"]?\s*[=:]\s*['\"]?)"
    r"(?:(?:bearer|basic)\s+)?[^\s'\"&,}]+",
    re.IGNORECASE,
)
_LIKE_A_KEY: Final = re.compile(r"[\w%+=~.-]{20,}")
"""A run of a path as long as a key, a session or a token has; no path of the server has one."""


class AccessLog:
    """Logs each finished request: address, key name, method, path, status and duration.

    The query of a URL is left out, and so is what looks like a secret in its path, since people put secrets there.
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

        started = time.monotonic()
        try:
            await self._app(scope, receive, watch)
        finally:
            # Authentication has put the key into the scope by now.
            user = scope.get("user")
            ACCESS_LOG.info(
                "%s %s %s %s %s %.0fms",
                address_of(scope),
                (getattr(user, "display_name", "") or "-"),
                _word(scope["method"], _MAX_METHOD),
                _word(_LIKE_A_KEY.sub("[…]", without_secrets(scope["path"])), _MAX_PATH),
                status or "gone",
                (time.monotonic() - started) * 1000,
            )


class SafeFormatter(logging.Formatter):
    """Formats a record as one line, and a traceback below it as lines that begin with blanks."""

    def __init__(self) -> None:
        super().__init__(_FORMAT)

    def formatMessage(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        return _line(super().formatMessage(record))

    def format(self, record: logging.LogRecord) -> str:
        """Return all lines of a record."""
        head, *trace = super().format(record).splitlines() or [""]
        if len(trace) > _MAX_TRACE_LINES:
            trace = [*trace[: _MAX_TRACE_LINES // 2], "…", *trace[-_MAX_TRACE_LINES // 2 :]]
        return "\n".join([head, *(f"    {_line(line)}" for line in trace)])


def log_to(stream: TextIO) -> None:
    """Log requests and warnings to a stream."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(SafeFormatter())
    # The SDK leaves a root logger that has a handler alone.
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    ACCESS_LOG.setLevel(logging.INFO)


def without_secrets(text: str) -> str:
    """Replace keys of this server, what stands where a secret stands, and what looks like a credential, by a mark."""
    kept = _KEY.sub(lambda found: f"{found[2]}{found[3]}[secret]" if found[2] else "[secret]", text)
    return plain_text.concealed(kept)


def escaped(text: str) -> str:
    """Replace each character that is not shown by its escape, and the backslash too."""
    return plain_text.escaped(text.replace("\\", "\\\\"), frozenset())


def _line(text: str) -> str:
    return plain_text.clipped(plain_text.escaped(without_secrets(text), frozenset()), MAX_LINE)


def _word(text: str, most: int) -> str:
    """Return a text as one word of the log: nothing in it ends the field that it stands in."""
    return plain_text.clipped(escaped(text).replace(" ", "\\x20"), most)


def address_of(scope: Scope) -> str:
    """Return the address of a request's client, or ``-`` if it is none: a proxy may have been told any text."""
    try:
        return str(ipaddress.ip_address((scope.get("client") or ("",))[0]))
    except ValueError:
        return "-"
