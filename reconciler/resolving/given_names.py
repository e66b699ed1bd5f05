"""Given names and what they are called for short: Sam for Samuel, Mel for Melanie.

The table of the ``nicknames`` package is English and kept by hand. Nothing that a store keeps is derived from it: it
only widens what is looked up and scored, so another version of it changes no table.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from nicknames import NickNamer

SHORTEST: Final = 3
"""Letters that a given name has at least when it is cut short; Jo may be anybody."""

MAX_OTHERS: Final = 12
"""Under how many other given names somebody is looked for."""


@lru_cache(maxsize=1)
def _table() -> NickNamer:
    from nicknames import NickNamer

    return NickNamer()


@lru_cache(maxsize=4096)
def others_for(given: str) -> tuple[str, ...]:
    """The given names that somebody of this given name may go by too, in the table's two directions, in order."""
    table = _table()
    return tuple(sorted(table.canonicals_of(given) | table.nicknames_of(given)))[:MAX_OTHERS]


@lru_cache(maxsize=65_536)
def is_short_for(one: str, other: str) -> bool:
    """True if one given name is a short form of the other: by the table, or the beginning of one that is in it."""
    if one == other:
        return False
    table = _table()
    if other in table.nicknames_of(one) or one in table.nicknames_of(other):
        return True
    shorter, longer = sorted((one, other), key=len)
    return len(shorter) >= SHORTEST and longer.startswith(shorter) and is_known(longer)


@lru_cache(maxsize=65_536)
def is_known(given: str) -> bool:
    """True if the table has the given name."""
    table = _table()
    return bool(table.nicknames_of(given) or table.canonicals_of(given))
