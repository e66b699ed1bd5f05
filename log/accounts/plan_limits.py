"""What a plan allows: limits by their names, and features; pure.

A limit that is not said is none: the plan of an account that has no other allows everything.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from worlddb.log.model import errors, limits

HIGHEST: Final = 2**53
MAX_FEATURES: Final = 64
_MINUTE_SECONDS: Final = 60.0


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What an account may do under its plan; ``None`` is without a limit.

    ``requests_per_minute`` and ``writes_per_minute`` count those of all its keys together, ``bytes_per_request`` what
    one request sends, ``recall_k`` the hits of one recall. ``worlds`` counts the worlds that it begins, and
    ``bytes_stored`` what its keys have sent in writes. ``features`` are the ones that it has, ``None`` for all: names
    such as ``sparql`` or ``forks``, which whoever serves it knows.
    """

    worlds: int | None = None
    requests_per_minute: int | None = None
    writes_per_minute: int | None = None
    bytes_stored: int | None = None
    bytes_per_request: int | None = None
    recall_k: int | None = None
    features: tuple[str, ...] | None = None

    def said(self) -> dict[str, int]:
        """The limits that are said, by their names; the features are not among them."""
        return {name: number for name in NAMES if (number := getattr(self, name)) is not None}


NAMES: Final = tuple(name for name in Limits.__struct_fields__ if name != "features")
UNLIMITED: Final = Limits()


def limits_of(numbers: Mapping[str, int], features: Sequence[str] | None) -> Limits:
    """The limits as they are stored; names that a later release wrote are left out."""
    known = {name: number for name, number in numbers.items() if name in NAMES}
    return Limits(**known, features=None if features is None else tuple(features))


def check_limits(numbers: Any, features: Any) -> None:
    """See that limits can be stored.

    Raises:
        InputError: a name is not one of :data:`NAMES`, a number is negative, or a feature is no word.
    """
    if not isinstance(numbers, dict):
        raise errors.InputError(f"limits is {type(numbers).__name__}", "Give a number for each name")
    for name, number in numbers.items():
        if name not in NAMES:
            raise errors.InputError(f"{errors.shown(name)} is not a limit of a plan", f"Use any of: {', '.join(NAMES)}")
        limits.checked_number(number, name, 0, HIGHEST)
    if features is not None:
        for feature in limits.checked_list(features, "features")[:MAX_FEATURES]:
            limits.checked_text(feature, "a feature", limits.MAX_TYPE_BYTES, empty=False, nul=False)
        if len(features) > MAX_FEATURES:
            raise errors.LimitExceeded(f"{len(features)} features", f"A plan has at most {MAX_FEATURES} features")


class TokenBucket:
    """How many requests are left of a number a minute: a token bucket that fills up as time passes.

    After a pause a whole minute's number may come at once.
    """

    def __init__(self, now: float, per_minute: int) -> None:
        self.per_minute = per_minute
        self._left = float(per_minute)
        self._seen = now

    def wait(self, now: float) -> float:
        """Seconds until there is one left; 0 if there is. ``now`` comes from a clock that never goes back."""
        rate = self.per_minute / _MINUTE_SECONDS
        self._left = min(float(self.per_minute), self._left + max(0.0, now - self._seen) * rate)
        self._seen = max(self._seen, now)
        if self._left >= 1:
            return 0.0
        return (1 - self._left) / rate if rate else _MINUTE_SECONDS

    def take(self) -> None:
        """Use one up, after :meth:`wait` said 0."""
        self._left -= 1

    def changed_to(self, per_minute: int) -> None:
        """Go on under another number; what was used up stays so."""
        self._left = min(self._left + max(0, per_minute - self.per_minute), float(per_minute))
        self.per_minute = per_minute
