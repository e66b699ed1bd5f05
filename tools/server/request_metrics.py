"""Counters and histograms of requests, as Prometheus reads them. They name routes, and nothing that a client sent."""

import bisect
from collections import Counter
from collections.abc import Iterator
from typing import Final

BUCKETS_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.015, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
MEDIA_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


class RequestMetrics:
    """What was asked since the server started. Used from one thread, that of the loop."""

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
        """Return all of it, with the number of commits of the store."""
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
