"""How much may be asked in a time, for each key by itself."""

from __future__ import annotations

from typing import Final

PER_SECOND: Final = 100
SECONDS_AT_ONCE: Final = 2
"""What may come at once after a pause is what may come in so many seconds in the long run."""


class Bucket:
    """Holds a token for each request that may come at once, and is filled again as time passes."""

    def __init__(self, now: float, per_second: float = PER_SECOND) -> None:
        self._per_second = per_second
        self._at_once = per_second * SECONDS_AT_ONCE
        self._tokens = self._at_once
        self._seen = now

    def take(self, now: float) -> float:
        """Take a token: 0, or in how many seconds there will be one. ``now`` is of any clock that never goes back."""
        self._tokens = min(self._at_once, self._tokens + (now - self._seen) * self._per_second)
        self._seen = now
        if self._tokens >= 1:
            self._tokens -= 1
            return 0.0
        return (1 - self._tokens) / self._per_second
