"""The rights of a valid access key, and the limits of its account."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from worlddb.log.accounts import plan_limits
from worlddb.log.model import errors
from worlddb.log.model.events import KeyRight

_SHARED: Final = ("worlds", "bytes_stored")


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """The rights of a key, as of the request that it came with.

    ``key`` and ``account`` are ids, ``name`` is the key's name, by which it signs what it writes, and ``world`` the
    full reference of the world that it opens with what that contains, ``None`` for the whole store. ``user`` is whose
    memory is meant where a call names none.
    """

    key: str
    name: str
    account: str
    account_name: str
    world: str | None
    right: KeyRight
    user: str
    plan: str
    limits: plan_limits.Limits
    expires_at: int

    @property
    def may_write(self) -> bool:
        return self.right != "read"

    def has(self, feature: str) -> bool:
        """True if the plan has a feature."""
        return self.limits.features is None or feature in self.limits.features

    def lanes(self, asked: Sequence[str]) -> tuple[str, ...]:
        """The requested lanes of a recall that the plan allows: without ``vectors``, words and names only.

        Raises:
            PlanLimit: it has none of them; ``details["kind"]`` is ``feature``.
        """
        found = tuple(lane for lane in asked if lane != "vector" or self.has("vectors"))
        if asked and not found:
            self.require_feature("vectors")
        return found

    def require_feature(self, feature: str) -> None:
        """Require that the plan has a feature.

        Raises:
            PlanLimit: it has not; ``details["kind"]`` is ``feature``.
        """
        if not self.has(feature):
            raise _limit_error("feature", feature, f"The plan {self.plan!r} does not have {feature}")

    def most_hits(self, default: int, recalls: int = 1) -> int:
        """The hits of each of some recalls that ask for no number: the default, or what the plan allows of it."""
        allowed = self.limits.recall_k
        return default if allowed is None else max(1, min(default, allowed // recalls))

    def require_quota(self, limit: str, amount: int) -> None:
        """Require that an amount, with the request's addition, is within a limit of the plan.

        Raises:
            PlanLimit: it does not; ``details["kind"]`` is ``quota``, ``details["limit"]`` names it.
        """
        allowed: int | None = getattr(self.limits, limit)
        if allowed is not None and amount > allowed:
            told = f"The account has {allowed:,} for {limit} under the plan {self.plan!r}"
            # What all keys of the account used up together is not for a key of one world to know.
            is_told = self.world is None or limit not in _SHARED
            told += f", and this would be {amount:,}" if is_told else ", and this would be more"
            raise _limit_error("quota", limit, told, allowed=allowed)


def _limit_error(kind: str, limit: str, message: str, **details: Any) -> errors.PlanLimit:
    remedies = {
        "right": "Use a key with that right",
        "worlds": "Revise what is there, since a memory and an entry are worlds too, or choose another plan",
        "bytes_per_request": "Send less at once, or choose another plan",
        "recall_k": "Ask for fewer hits, or choose another plan",
    }
    remedy = remedies.get(kind) or remedies.get(limit, "Choose another plan")
    return errors.PlanLimit(message, remedy, kind=kind, limit=limit, **details)
