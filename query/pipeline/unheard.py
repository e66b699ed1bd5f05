"""Names of types in a query that nothing here has: a slip of the pen finds nothing, and looks like an answer."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice
from typing import Final

from worlddb.projections.tables.names.canonical import type_digest
from worlddb.projections.tables.reads.asof import SeenVersion
from worlddb.query.sight import Sight
from worlddb.query.spec import Spec

_SHOWN_CHARACTERS: Final = 80
MAX_LOOKED_AT: Final = 256
"""Of how many worlds that came to a filter by type the types are looked at for one that may be meant."""


def edge_types_unheard_of(sight: Sight, spec: Spec, names: Iterable[str]) -> list[str]:
    """Notes of edge types that nobody has registered here, neither now nor earlier, each with the nearest that is.

    It is no error: a query may be written before the first edge of a type, and asked of many stores.
    """
    asked = tuple(names)
    if not asked:
        return []
    known = {name for name, _ in spec.built_in} | {one.type for one in sight.registered(ended=True)}
    return [f"there is no edge type {_told(name, known)}" for name in asked if name not in known]


def types_unheard_of(sight: Sight, names: Iterable[str], found: Iterable[SeenVersion]) -> list[str]:
    """Notes of a filter by type that left nothing of ``found``: which type among them is perhaps meant.

    Worlds may be of any type, so a type is only told of if one that is there is nearly the same.
    """
    bodies: dict[bytes, SeenVersion] = {}
    for seen in islice(found, MAX_LOOKED_AT):
        bodies.setdefault(seen.row.type, seen)
    asked = tuple(names)
    there = {body.type for seen in bodies.values() if (body := sight.body(seen.row)) is not None}
    absent = (name for name in asked if type_digest(name) not in bodies)
    return [f"none is of type {_told(name, there)}" for name in absent if _near(name, there)]


def _told(name: str, known: Iterable[str]) -> str:
    near = _near(name, known)
    return f"{name[:_SHOWN_CHARACTERS]!r}{f'; did you mean {near}?' if near else ''}"


def _near(name: str, known: Iterable[str]) -> str:
    """The nearest of some names, or what differs from one in capitals only; empty if none is near."""
    folded = {each.casefold(): each for each in sorted(known, reverse=True)}
    near = get_close_matches(name.casefold(), folded, n=1)
    return folded[near[0]] if near else ""
