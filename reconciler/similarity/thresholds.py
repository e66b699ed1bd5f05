"""The thresholds of the resolver: the least scores at which it is confident (paper §3.1).

They are configuration of an open store.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from worlddb.log.model import errors, limits

TIERS: Final = ("exact", "fuzzy", "embedding", "phonetic")
"""In the order of preference."""


class Thresholds(msgspec.Struct, frozen=True, kw_only=True, metaclass=limits.TypedFields):
    """The least scores, from 0 to 1, at which a tier is confident.

    ``fuzzy`` is Jaro-Winkler similarity; a middle name that is left out or cut to its initial makes it 0.95, a short
    form of the given name 0.93, a given name alone 0.92. ``phonetic`` is Jaro-Winkler similarity too, of respelled
    names whose sound is the same. ``embedding`` is cosine similarity. The best candidate of a tier stands alone if it
    leads by ``margin``; otherwise the answer is ambiguous, and up to ``most`` proposals are staged for somebody to
    choose between.

    Raises:
        InputError: a value is no number between 0 and 1, or ``most`` is less than 1.
    """

    fuzzy: float = 0.92
    phonetic: float = 0.9
    embedding: float = 0.88
    margin: float = 0.02
    most: int = 3

    def __post_init__(self) -> None:
        for name in ("fuzzy", "phonetic", "embedding", "margin"):
            value: object = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
                raise errors.InputError(f"The threshold {name} is {errors.shown(value)}", "Give a number from 0 to 1")
        most: object = self.most
        if isinstance(most, bool) or not isinstance(most, int) or most < 1:
            raise errors.InputError(
                f"most is {errors.shown(most)}", "Give the number of proposals that may be staged, 1 or more"
            )


MAX_MOST: Final = 2**32 - 1
"""The most that can be set for a world: it is stored in four bytes."""


def checked_setting(fuzzy: float, phonetic: float, embedding: float, margin: float, most: int) -> Thresholds:
    """Thresholds for a world, checked.

    Raises:
        InputError: they are none, or ``most`` is more than 4,294,967,295.
    """
    checked = Thresholds(fuzzy=fuzzy, phonetic=phonetic, embedding=embedding, margin=margin, most=most)
    limits.checked_number(most, "most", 1, MAX_MOST)
    return checked


ByType = Mapping[str, Thresholds]


class StoreThresholds:
    """The thresholds of an open store.

    For each type its own hold, where it has some, and else the general ones. They hold where none are set for a world;
    those that are to decide ``instead`` hold everywhere.
    """

    def __init__(self, given: Thresholds | ByType | None = None, *, instead: bool = False) -> None:
        by_type: dict[str, Thresholds] = {} if given is None or isinstance(given, Thresholds) else _checked(given)
        self._general = given if isinstance(given, Thresholds) else Thresholds()
        self._by_type = by_type
        self.instead = instead

    def of(self, type_name: str) -> Thresholds:
        """The thresholds for candidates of a type."""
        return self._by_type.get(type_name, self._general)


def _checked(given: Any) -> dict[str, Thresholds]:
    if not isinstance(given, Mapping):
        raise errors.InputError(
            f"resolver is {type(given).__name__}", "Give Thresholds(...), or a dict of them by type"
        )
    for name, value in given.items():
        if not isinstance(name, str) or not isinstance(value, Thresholds):
            raise errors.InputError(
                f"resolver[{errors.shown(name)}] is {type(value).__name__}", "Give Thresholds(...) for each type"
            )
    return dict(given)
