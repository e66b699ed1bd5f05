"""Retention: how fresh a memory still is, by its age and by when it was used (Hydra DB, equation 6).

It is a signal and never a truth: R is computed from the log, as of any commit and at any valid time, and nothing is
written by computing it. The four tiers are names for ranges of R. What is pinned, or has the tag ``published``, is in
the first whatever its age.
"""

from collections.abc import Sequence
from math import exp, log
from typing import Final, Literal, NamedTuple

from worlddb.log.model import errors, limits, times
from worlddb.projections.tables.apply import mark_rows
from worlddb.projections.tables.names.canonical import name_digest
from worlddb.projections.tables.reads import asof
from worlddb.projections.tables.storage import rows

PUBLISHED: Final = "published"
"""The tag of approved worlds."""
_PUBLISHED: Final = name_digest(PUBLISHED)
IMPORTANCE: Final = "importance"
"""The property of a version that says how much it matters, from 0 to 1; without it 1."""

Tier = Literal["hot", "warm", "cold", "hidden"]
TIERS: Final[tuple[Tier, ...]] = ("hot", "warm", "cold", "hidden")


@limits.typed_fields
class Decay(NamedTuple):
    """How memories fade: ``R = importance · 2^(-age / half_life) + boost · Σ 1 / max(days since an access, 1)``.

    Ages and accesses are measured in days, and an access counts as if it were a day old at least. A memory is ``hot``
    while R is ``hot`` or more, ``warm`` while it is ``warm`` or more, ``cold`` while it is ``cold`` or more, and
    ``hidden`` below. ``weight`` is the share of a score that fades with R where a recall ranks by it: 0 none, 1 all.
    """

    half_life_days: float = 30.0
    boost: float = 0.3
    hot: float = 0.5
    warm: float = 0.25
    cold: float = 0.1
    weight: float = 0.5

    def retention(self, importance: float, age: int, since_accesses: Sequence[int]) -> float:
        """The retention R of a world with an ``age`` in microseconds and the given past uses."""
        fading = importance * exp(-log(2) * max(age, 0) / times.DAY_MICROSECONDS / self.half_life_days)
        return fading + self.boost * sum(1 / max(since / times.DAY_MICROSECONDS, 1.0) for since in since_accesses)

    def tier(self, retention: float) -> Tier:
        """The tier of a retention R."""
        bounds = zip(TIERS, (self.hot, self.warm, self.cold), strict=False)
        return next((tier for tier, least in bounds if retention >= least), "hidden")

    def factor(self, retention: float) -> float:
        """The factor of a score: 1 for a world that has not faded."""
        return 1 - self.weight + self.weight * min(retention, 1.0)


def checked_decay(decay: object) -> Decay:
    """A decay whose numbers can be reckoned with.

    Raises:
        InputError: it is none, or one of its numbers is not what it should be.
    """
    if not isinstance(decay, Decay):
        raise errors.InputError(f"decay is {errors.shown(decay)}", "Give Decay(...)")
    for name, value in decay._asdict().items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1e6:
            raise errors.InputError(f"{name} of a decay is {errors.shown(value)}", "Give a number of 0 or more")
    if not decay.half_life_days:
        raise errors.InputError("half_life_days of a decay is 0", "Give a time in days above 0")
    if not decay.hot >= decay.warm >= decay.cold:
        raise errors.InputError("A tier of a decay begins above the tier before it", "Give hot >= warm >= cold")
    if decay.weight > 1:
        raise errors.InputError(f"weight of a decay is {decay.weight}", "Give a share from 0 to 1")
    return decay


class Retained(NamedTuple):
    """How fresh a world is at a moment: R, its tier, and when it was used.

    ``kept``: it is pinned or published, and never falls.
    """

    retention: float
    tier: Tier
    accesses: tuple[int, ...]
    kept: bool


def retention_of(
    tables: rows.Tables, node: int, seen: asof.SeenVersion, importance: object, moment: asof.Moment, decay: Decay
) -> Retained:
    """How fresh a version is that holds at a moment, as known then."""
    valid = moment.valid
    accesses = tuple(mark_rows.accesses_of(tables, node, moment.seq, valid))
    weight = importance if isinstance(importance, int | float) and not isinstance(importance, bool) else 1.0
    since = tables.node(node).t_create if seen.validity.start == times.ALWAYS else seen.validity.start
    found = decay.retention(min(max(weight, 0.0), 1.0), valid - since, [valid - each for each in accesses])
    kept = is_kept(tables, node, moment.seq)
    return Retained(round(found, 6), TIERS[0] if kept else decay.tier(found), accesses, kept)


def is_published(tables: rows.Tables, node: int, seq: int) -> bool:
    """Whether a world has the tag ``published``, at whichever version, as known at a commit."""
    return any(
        row.name == _PUBLISHED and mark_rows.assigned(tables, node, number, seq) != 0
        for number, row in mark_rows.names_of(tables, mark_rows.TAGS, node)
    )


def is_kept(tables: rows.Tables, node: int, seq: int) -> bool:
    """Whether a world is pinned or published as known at a commit: it never fades."""
    return mark_rows.is_pinned(tables, node, seq) or is_published(tables, node, seq)
