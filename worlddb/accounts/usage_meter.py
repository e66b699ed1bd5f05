"""Usage of a store's keys, counted in memory and written to a file every few seconds."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final, Literal, TypeVar

import msgspec

from worlddb.accounts.grant import Grant
from worlddb.log.accounts import usage_file
from worlddb.log.model import clock, errors

_LOG: Final = logging.getLogger("worlddb.accounts.usage")
FLUSH_SECONDS: Final = 5.0
"""How long counts wait in memory: what a crash may lose."""
DAYS: Final = 90
"""How long minutes are kept, unless told otherwise."""
MAX_WAITING: Final = 100_000
"""So many buckets wait while the file cannot be written; what comes for others is not counted."""
MAX_ROWS: Final = 10_000
MINUTE: Final = 60_000_000
NEVER: Final = 2**62
Span = Literal["minute", "hour", "day", "total"]
SPANS: Final[Mapping[str, int]] = {"minute": 1, "hour": 60, "day": 1_440}
"""How many minutes a row may be of; ``total`` is one row for all of them."""
_DAY_MINUTES: Final = 1_440
Place = TypeVar("Place", str, tuple[int, str])
_ZERO: Final = (0,) * len(usage_file.COUNTS)


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """The requests of a key in a span of time that begins ``at`` (microseconds).

    ``key`` is its id, empty for requests to a server without keys. ``writes`` are the requests that need the right to
    write, ``errors`` those that were refused or failed; bytes are of bodies and queries.
    """

    key: str
    name: str
    at: int
    requests: int
    writes: int
    bytes_in: int
    bytes_out: int
    errors: int


class UsageReport(msgspec.Struct, frozen=True, kw_only=True):
    """Usage by key; ``trouble`` says what is missing from it and why, else it is empty."""

    usage: tuple[Usage, ...]
    trouble: str


class PlanQuota:
    """The remaining quota of an account's plan, for writes under it; without a limit where there is no grant."""

    def __init__(self, meter: UsageMeter, grant: Callable[[], Grant | None]) -> None:
        self._meter, self._grant = meter, grant
        self._last: Grant | None = None

    def take(self, worlds: int, bytes_stored: int) -> None:
        """Use up a part of the quota; raises as :meth:`UsageMeter.take`, or what asking for the grant raises."""
        self._last = self._grant()
        if self._last is not None:
            self._meter.take(self._last, worlds=worlds, bytes_stored=bytes_stored)

    def give_back(self, worlds: int, bytes_stored: int) -> None:
        """Return an amount that was not used."""
        if self._last is not None:  # Whoever took it is of the same account, though its key may have ended since.
            self._meter.give_back(self._last, worlds=worlds, bytes_stored=bytes_stored)


class UsageMeter:
    """Counts requests by key and minute, and the amounts that accounts have used for good.

    To count adds to numbers in memory. A thread writes them every :data:`FLUSH_SECONDS`, from the first request on; a
    crash loses what waits. The minutes of the last ``days`` are kept.
    """

    def __init__(self, file: usage_file.UsageFile, time: clock.Clock) -> None:
        self.days = DAYS
        self.trouble = ""
        self._file, self._clock = file, time
        self._lock, self._flushing = threading.Lock(), threading.Lock()
        self._asked: deque[tuple[int, str, int, bool, int, int, bool]] = deque()
        self._minutes: dict[tuple[int, str], list[int]] = {}
        self._waiting: dict[str, list[int]] = {}
        self._totals: dict[str, list[int]] | None = None
        self._lost = 0
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._ending = threading.Event()

    # -- counting

    def count(
        self,
        key: str,
        *,
        requests: int = 1,
        write: bool = False,
        bytes_in: int = 0,
        bytes_out: int = 0,
        failed: bool = False,
    ) -> None:
        """Count a request of a key, by its id, without writing or waiting.

        With ``requests`` 0 it is more about one that is counted apart: that it writes, for one.
        """
        # Many threads may append; who flushes sums it up.
        self._asked.append((self._clock.now(), key, requests, write, bytes_in, bytes_out, failed))
        if self._thread is None:
            self._start()

    def take(self, grant: Grant, **amounts: int) -> None:
        """Use up part of a plan's permanent quotas (``worlds``, ``bytes_stored``).

        Raises:
            PlanLimit: there is not as much left; nothing is used up.
        """
        with self._lock:
            for limit, amount in amounts.items():
                if amount and getattr(grant.limits, limit) is not None:
                    at = usage_file.TOTALS.index(limit)
                    grant.require_quota(limit, self._used_by(grant.account)[at] + amount)
            self._add_amounts(grant.account, amounts, 1)

    def give_back(self, grant: Grant, **amounts: int) -> None:
        """Return an amount that was not used."""
        with self._lock:
            self._add_amounts(grant.account, amounts, -1)

    def load(self) -> None:
        """Read the amounts that accounts have used, so that no request waits for it."""
        with self._lock:
            self._used_by("")

    # -- keeping, and telling

    def flush(self) -> None:
        """Write pending counts; ``trouble`` names an obstacle, and unwritten counts stay pending."""
        with self._flushing:
            with self._lock:
                self._sum_up()
                minutes, self._minutes = self._minutes, {}
                waiting, self._waiting = self._waiting, {}
            if not minutes and not waiting:
                return
            oldest = self._clock.now() // MINUTE - self.days * _DAY_MINUTES
            found: dict[str, list[int]] | None = None
            trouble = ""
            try:
                found = self._file.add(minutes, waiting, oldest)
            except errors.WorldDBError as error:
                trouble = str(error)
            if trouble and trouble != self.trouble:
                _LOG.warning("usage waits in memory: %s", trouble)
            self.trouble = trouble
            with self._lock:
                if found is None:
                    _merge(self._minutes, minutes)
                    _merge(self._waiting, waiting)
                else:
                    _merge(found, self._waiting)
                    self._totals = found

    def minutes(self, since: int, until: int, key: str | None) -> tuple[list[usage_file.Row], str]:
        """The known minutes in order, written or pending, and what is missing from them."""
        self.flush()
        troubles = [self.trouble] if self.trouble else []
        found: dict[tuple[int, str], list[int]] = {}
        try:
            read = self._file.read(since, until, key)
        except errors.WorldDBError as error:
            troubles.append(str(error))
        else:
            found = {(row.minute, row.key): list(row.numbers) for row in read.rows}
            troubles += (
                [f"{read.damaged} minutes are damaged in {self._file.path}, and left out"] if read.damaged else []
            )
        if self._file.put_aside.exists():
            troubles.append(f"A damaged file was put aside: {self._file.put_aside} has what was counted before")
        with self._lock:
            self._sum_up()
            waiting = {place: list(counts) for place, counts in self._minutes.items()}
            troubles += [f"{self._lost} requests were not counted: too many waited"] if self._lost else []
        _merge(found, {at: counts for at, counts in waiting.items() if since <= at[0] < until and key in (None, at[1])})
        rows = [usage_file.Row(*place, numbers) for place, numbers in sorted(found.items())]
        return rows, "; ".join(dict.fromkeys(troubles))

    def close(self) -> None:
        """Write pending counts and stop the thread."""
        self._ending.set()
        if self._thread is not None:
            self._thread.join()
        self.flush()

    # -- how it is done

    def _sum_up(self) -> None:
        """Sum up requests by minute and key; the caller holds the lock."""
        for _ in range(len(self._asked)):
            now, key, *numbers = self._asked.popleft()
            place = (now // MINUTE, key)
            if place not in self._minutes and len(self._minutes) >= MAX_WAITING:
                self._lost += 1
                continue
            counts = self._minutes.setdefault(place, [*_ZERO])
            for at, number in enumerate(numbers):
                counts[at] += number

    def _start(self) -> None:
        """Start the writing thread, unless another thread just did."""
        if not self._ending.is_set() and self._starting.acquire(blocking=False):
            self._thread = threading.Thread(target=self._flush_regularly, name="worlddb-usage", daemon=True)
            self._thread.start()

    def _flush_regularly(self) -> None:
        while not self._ending.wait(FLUSH_SECONDS):
            self.flush()

    def _used_by(self, account: str) -> list[int]:
        """The amounts that an account has used, read from the file once; the caller holds the lock."""
        if self._totals is None:
            self._totals = {}
            with suppress(errors.WorldDBError):
                self._totals = self._file.totals()
            _merge(self._totals, self._waiting)
        return self._totals.setdefault(account, [0] * len(usage_file.TOTALS))

    def _add_amounts(self, account: str, amounts: Mapping[str, int], sign: int) -> None:
        if not any(amounts.values()):
            return
        if self._thread is None:
            self._start()
        for totals in (self._waiting, self._totals):
            if totals is not None:
                counts = totals.setdefault(account, [0] * len(usage_file.TOTALS))
                for limit, amount in amounts.items():
                    counts[usage_file.TOTALS.index(limit)] += sign * amount


def _merge(into: dict[Place, list[int]], added: Mapping[Place, list[int]]) -> None:
    for place, counts in added.items():
        had = into.get(place)
        into[place] = list(counts) if had is None else [a + b for a, b in zip(had, counts, strict=True)]


def sum_usage(rows: list[usage_file.Row], by: str, names: Mapping[str, str]) -> tuple[Usage, ...]:
    """Sum minutes up by key and span, oldest first.

    Raises:
        LimitExceeded: that would be more than :data:`MAX_ROWS`.
    """
    found: dict[tuple[int, str], list[int]] = {}
    first = rows[0].minute if rows else 0
    for row in rows:
        at = first if by == "total" else row.minute - row.minute % SPANS[by]
        _merge(found, {(at, row.key): list(row.numbers)})
    if len(found) > MAX_ROWS:
        raise errors.LimitExceeded(
            f"This is usage in {len(found):,} rows, and {MAX_ROWS:,} are told at most",
            "Ask for a shorter time, one key, or longer spans",
        )
    return tuple(
        Usage(
            key=key,
            name=names.get(key, ""),
            at=at * MINUTE,
            **dict(zip(usage_file.COUNTS, counts, strict=True)),
        )
        for (at, key), counts in sorted(found.items())
    )
