"""The log of requests as JSON lines: ids, routes, statuses and times. Nothing that a client wrote stands in it."""

import asyncio
import logging
from typing import Final, TextIO

import msgspec

import worlddb
from worlddb.tools.mcp import access_log

LINE_SECONDS: Final = 0.05
"""How long a line waits for others, with which it is written."""


class RequestLog:
    """Writes a line for each request, many at once: to write one by itself takes longer than to make it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._clock = worlddb.SystemClock()
        self._lines: list[bytes] = []

    def note(self, told: dict[str, object]) -> None:
        """Log a request; called from the loop of the server."""
        if not self._lines:
            asyncio.get_running_loop().call_later(LINE_SECONDS, self.flush)
        line = {"time": worlddb.format_time(self._clock.now()), "level": "info"} | told
        self._lines.append(msgspec.json.encode(line))

    def flush(self) -> None:
        """Write what waits; a stream that nobody reads any more ends no request."""
        lines, self._lines = self._lines, []
        try:
            self._stream.write("".join(f"{line.decode()}\n" for line in lines))
            self._stream.flush()
        except OSError:
            pass


class LineFormatter(logging.Formatter):
    """Formats what libraries and other parts say as one object on one line; secrets are left out."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        message = super().format(record)
        shown = access_log.escaped(access_log.without_secrets(message))[: access_log.MAX_LINE]
        told = {"time": self.formatTime(record), "level": record.levelname.lower()}
        return msgspec.json.encode(told | {"logger": record.name, "message": shown}).decode()

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:
        """Return the time of a record in UTC."""
        return worlddb.format_time(int(record.created * 1_000_000))


def log_to(stream: TextIO) -> RequestLog:
    """Log warnings to a stream, as JSON lines; returns what logs requests there."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(LineFormatter())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    access_log.ACCESS_LOG.setLevel(logging.INFO)
    return RequestLog(stream)
