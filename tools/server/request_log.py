"""The log of requests as JSON lines: ids, routes, statuses and times. Nothing that a client wrote stands in it."""

import logging
from typing import Final, TextIO

import msgspec

import worlddb
from worlddb.tools.mcp import access_log

REQUESTS: Final = logging.getLogger("worlddb.server.requests")


class LineFormatter(logging.Formatter):
    """Formats each record as one object on one line; secrets are left out of what libraries say."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        told: dict[str, object] = {"time": self.formatTime(record), "level": record.levelname.lower()}
        if isinstance(record.msg, dict):
            return msgspec.json.encode(told | record.msg).decode()
        message = super().format(record)
        shown = access_log.escaped(access_log.without_secrets(message))[: access_log.MAX_LINE]
        return msgspec.json.encode(told | {"logger": record.name, "message": shown}).decode()

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:
        """Return the time of a record in UTC."""
        return worlddb.format_time(int(record.created * 1_000_000))


def note(told: dict[str, object]) -> None:
    """Log a request; where in the program that was asked for is not looked up, which takes longer than the rest."""
    REQUESTS.handle(REQUESTS.makeRecord(REQUESTS.name, logging.INFO, "", 0, told, (), None))


def log_to(stream: TextIO) -> None:
    """Log requests and warnings to a stream, as JSON lines."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(LineFormatter())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    REQUESTS.setLevel(logging.INFO)
    access_log.ACCESS_LOG.setLevel(logging.INFO)
