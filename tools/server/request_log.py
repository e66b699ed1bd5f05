"""Request log in JSON lines, and request metrics in the format of Prometheus.

Both hold ids, routes, statuses and times, the log also addresses, and nothing that a client sent.
"""

import asyncio
import bisect
import logging
from collections import Counter
from collections.abc import Iterator
from typing import Final, TextIO

import msgspec

import worlddb
from worlddb.tools.mcp import access_log

LINE_SECONDS: Final = 0.05
"""How long a line may wait to be written together with others."""


BUCKETS_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.015, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
METRICS_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


class Line(msgspec.Struct, frozen=True):
    """The log line of a request; ``ms`` is the time to the end of its answer in milliseconds.

    ``address`` is that of the connection, or the one that a trusted proxy gave.
    """

    time: str
    level: str
    request: str
    address: str
    key: str | None
    method: str
    route: str
    status: int
    ms: float


class RequestLog:
    """Writes a line for each request, many at once: writing a single line costs more than formatting it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._clock = worlddb.SystemClock()
        self._lines: list[bytes] = []
        self._encode = msgspec.json.Encoder().encode
        self._second, self._shown = -1, ""

    def note(
        self, request: str, address: str, key: str | None, method: str, route: str, status: int, seconds: float
    ) -> None:
        """Log a request; called from the loop of the server."""
        if not self._lines:
            asyncio.get_running_loop().call_later(LINE_SECONDS, self.flush)
        now = self._clock.now()
        second = now // 1_000_000
        if second != self._second:
            # Many requests share a second, and formatting the time costs more than the rest of the line.
            self._second, self._shown = second, worlddb.format_time(second * 1_000_000).removesuffix("Z")
        time = f"{self._shown}.{now % 1_000_000:06d}Z"
        line = Line(time, "info", request, address, key, method, route, status, round(seconds * 1000, 1))
        self._lines.append(self._encode(line))

    def flush(self) -> None:
        """Write the waiting lines; a broken stream must not fail a request."""
        lines, self._lines = self._lines, []
        try:
            self._stream.write(b"\n".join([*lines, b""]).decode())
            self._stream.flush()
        except OSError:
            pass


class RequestMetrics:
    """Counts of requests since the server started. Used on the event loop only."""

    def __init__(self) -> None:
        self.under_way = 0
        self._answers: Counter[tuple[str, str, int]] = Counter()
        self._seconds: dict[str, tuple[list[int], list[float]]] = {}

    def count(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count an answer."""
        self._answers[route, method, status] += 1
        counts, total = self._seconds.setdefault(route, ([0] * (len(BUCKETS_SECONDS) + 1), [0.0]))
        counts[bisect.bisect_left(BUCKETS_SECONDS, seconds)] += 1
        total[0] += seconds

    def text(self, commits: int) -> str:
        """Return all metrics, with the number of commits of the store."""
        return "\n".join([*self._lines(commits), ""])

    def _lines(self, commits: int) -> Iterator[str]:
        yield "# HELP worlddb_commits Commits in the log."
        yield "# TYPE worlddb_commits gauge"
        yield f"worlddb_commits {commits}"
        yield "# HELP worlddb_requests_under_way Requests that are being answered."
        yield "# TYPE worlddb_requests_under_way gauge"
        yield f"worlddb_requests_under_way {self.under_way}"
        yield "# HELP worlddb_requests_total Requests that were answered."
        yield "# TYPE worlddb_requests_total counter"
        for (route, method, status), count in sorted(self._answers.items()):
            yield f'worlddb_requests_total{{route="{route}",method="{method}",status="{status}"}} {count}'
        yield "# HELP worlddb_request_seconds Time from a request's head to the end of its answer."
        yield "# TYPE worlddb_request_seconds histogram"
        for route, (counts, total) in sorted(self._seconds.items()):
            seen = 0
            for bound, count in zip((*BUCKETS_SECONDS, "+Inf"), counts, strict=True):
                seen += count
                yield f'worlddb_request_seconds_bucket{{route="{route}",le="{bound}"}} {seen}'
            yield f'worlddb_request_seconds_sum{{route="{route}"}} {total[0]:.6f}'
            yield f'worlddb_request_seconds_count{{route="{route}"}} {seen}'


class LineFormatter(logging.Formatter):
    """Formats log records of libraries as one JSON object a line, without secrets."""

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
