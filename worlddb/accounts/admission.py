"""Rate limits: how many requests the accounts of a process have left in this minute."""

import threading
from typing import Final

from worlddb.accounts.grant import Grant
from worlddb.log.accounts.plan_limits import TokenBucket
from worlddb.log.model import clock, errors

MAX_KEPT: Final = 20_000
"""Of so many accounts it is remembered; who was not seen for longest begins a new minute."""


class Admission:
    """Counts requests and writes of each account, over all its keys, against its plan.

    It counts what this process serves: several servers of one store let in as many times the number.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._allowances: dict[tuple[str, str], TokenBucket] = {}

    def admit(self, grant: Grant, *, request: bool = True, write: bool = False) -> None:
        """Count a request, a write, or both: of several writes in one request, each counts.

        Raises:
            PlanLimit: there were as many in this minute as the plan allows; ``details["kind"]`` is ``rate``, and
                ``details["retry_after"]`` says in how many seconds there is room again. It was not counted.
        """
        limits = grant.limits
        wanted = [("requests_per_minute", limits.requests_per_minute)] if request else []
        if write:
            wanted.append(("writes_per_minute", limits.writes_per_minute))
        if all(most is None for _, most in wanted):
            return
        now = clock.monotonic()
        with self._lock:
            found = [(name, self._allowance(grant, name, most, now)) for name, most in wanted if most is not None]
            for name, allowance in found:
                wait = allowance.wait(now)
                if wait:
                    raise errors.PlanLimit(
                        f"The account had its {allowance.per_minute:,} {name.replace('_', ' ')}",
                        f"Try again in {wait:.1f} seconds, or choose another plan",
                        kind="rate",
                        limit=name,
                        allowed=allowance.per_minute,
                        retry_after=wait,
                    )
            for _, allowance in found:
                allowance.take()

    def _allowance(self, grant: Grant, name: str, most: int, now: float) -> TokenBucket:
        place = (grant.account, name)
        found = self._allowances.pop(place, None) or TokenBucket(now, most)
        if found.per_minute != most:
            found.changed_to(most)
        self._allowances[place] = found
        if len(self._allowances) > MAX_KEPT:
            del self._allowances[next(iter(self._allowances))]
        return found
