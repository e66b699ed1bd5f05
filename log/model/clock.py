"""The one place where clocks and randomness enter; everything else is handed these values."""

import os
import random
import time
from typing import Final, Protocol

from worlddb.log.model import errors, times

RELEASED_AT: Final = 1_795_219_200_000_000
"""2026-11-21, when this format was made: what the first commit's clock is compared with."""

_POOL_BYTES: Final = 4096


class Clock(Protocol):
    """The source of ingest times."""

    def now(self) -> int:
        """Microseconds since the epoch, UTC."""


def now_of(clock: Clock) -> int:
    """Read a clock, and check that its answer is a time.

    Raises:
        InvalidTime: it is no whole number, or lies outside the years 1 to 9999.
    """
    now: object = clock.now()
    if type(now) is not int or not times.MIN_TIME <= now <= times.MAX_TIME:
        shown = f"{type(now).__name__}" if type(now) is not int else "outside the years 1 to 9999"
        raise errors.InvalidTime(
            f"The clock's now() returned {shown}, not a time", "Return microseconds since 1970 as a whole number"
        )
    return now


class SystemClock:
    """The machine's own clock."""

    def now(self) -> int:
        return time.time_ns() // 1000


class ManualClock:
    """A clock that stands still until told, for tests and simulations."""

    def __init__(self, start: int = RELEASED_AT) -> None:
        self.value = start

    def now(self) -> int:
        return self.value

    def advance(self, micros: int) -> None:
        self.value += micros


class Entropy(Protocol):
    """The source of nonces and random ids."""

    def bytes(self, count: int) -> bytes:
        """``count`` unpredictable bytes."""


class SystemEntropy:
    """The operating system's randomness, drawn in pages because a system call per nonce is slow."""

    def __init__(self) -> None:
        self._pool = b""
        self._at = 0

    def bytes(self, count: int) -> bytes:
        end = self._at + count
        if end > len(self._pool):
            self._pool, self._at, end = os.urandom(max(_POOL_BYTES, count)), 0, count
        drawn = self._pool[self._at : end]
        self._at = end
        return drawn


class SeededEntropy:
    """Reproducible bytes for tests and simulations. Never for a real store."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._pool = b""
        self._at = 0

    def bytes(self, count: int) -> bytes:
        end = self._at + count
        if end > len(self._pool):
            # Words of four bytes come in a row, however many are drawn at once.
            self._pool = self._pool[self._at :] + self._random.randbytes(_POOL_BYTES + count * 4)
            self._at, end = 0, count
        drawn = self._pool[self._at : end]
        self._at = end
        return drawn


def monotonic() -> float:
    """Seconds on a clock that never goes back: for waiting and timing, never stored."""
    return time.monotonic()


def pause(seconds: float) -> None:
    """Wait a while for another process."""
    time.sleep(seconds)
