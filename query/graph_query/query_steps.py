"""Operators of a query as frozen values, checked on construction, whether from a call or from JSON.

Each takes the set of worlds that the previous one left; ``operators.py`` applies them.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import msgspec

from worlddb.log.model import errors, ids, limits, times
from worlddb.query.recall.filters import Conditions
from worlddb.query.snapshot.valid_period import RELATIONS, Span, parse_span

SpanValue: TypeAlias = tuple[int | None, int | None]
"""A span of time in microseconds; ``None`` is an open end."""

WAYS: Final = ("out", "in", "both")
ORDER_KEYS: Final = ("log", "name", "type", "valid_from", "valid_to", "learned")
FACETS: Final = ("type", "world", "author", "month")

MAX_DEPTH: Final = 10_000
"""How many edges one traversal may follow one after another."""
MAX_LIMIT: Final = 1_000_000
MAX_SHOWN_DIGITS: Final = 12


class _Step(msgspec.Struct, frozen=True, tag_field="op", forbid_unknown_fields=True):
    """An operator; its tag in JSON is the name of the method that adds it."""


class Traverse(_Step, frozen=True, tag="traverse"):
    """Follow edges of some types (none named: all but ``contains``), up to ``depth`` edges away.

    The worlds that it began from are left behind, unless ``keep``.
    """

    types: tuple[str, ...] = ()
    depth: int = 1
    direction: str = "out"
    keep: bool = False

    def __post_init__(self) -> None:
        for name in self.types:
            limits.checked_text(name, "an edge type", limits.MAX_TYPE_BYTES, empty=False)
        limits.checked_number(self.depth, "depth", 1, MAX_DEPTH)
        _one_of(self.direction, "direction", WAYS)

    def __str__(self) -> str:
        steps = "" if self.depth == 1 else f", up to {self.depth} edges"
        kept = ", keep those it began from" if self.keep else ""
        return f"traverse {_names(self.types)}{_ways(self.direction)}{steps}{kept}"


class FilterType(_Step, frozen=True, tag="filter_type"):
    """Keep worlds of any of some types, with their subtypes and instances."""

    types: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.types:
            raise errors.InputError("filter_type names no type", "Name one or more")
        for name in self.types:
            limits.checked_text(name, "a type", limits.MAX_TYPE_BYTES, empty=False)

    def __str__(self) -> str:
        return f"filter_type {' or '.join(self.types)}"


class FilterProperties(_Step, frozen=True, tag="filter_properties"):
    """Keep worlds whose properties match conditions."""

    properties: dict[str, Any]

    def __post_init__(self) -> None:
        if not Conditions.of(self.properties).wanted:
            raise errors.InputError("filter_properties names no property", "Name one or more")
        limits.checked_record(self.properties, "properties")

    def __hash__(self) -> int:
        return hash(msgspec.json.encode(self.properties, order="deterministic"))

    def __str__(self) -> str:
        return f"filter_properties {', '.join(self.properties)}"


class FilterTime(_Step, frozen=True, tag="filter_time"):
    """Keep worlds with a version that is valid, or was learned or changed, in a span."""

    during: SpanValue | None = None
    overlaps: SpanValue | None = None
    between: SpanValue | None = None

    def __post_init__(self) -> None:
        limits.refuse_both(during=self.during, overlaps=self.overlaps)
        if not self.spans():
            raise errors.InputError("filter_time has no span", "Give during=, overlaps= or between=")

    def spans(self) -> dict[str, times.Interval]:
        """The spans that were given, by name.

        Raises:
            InvalidInterval: one holds no instant.
        """
        given = {"during": self.during, "overlaps": self.overlaps, "between": self.between}
        return {name: parse_span(span, name) for name, span in given.items() if span is not None}

    def __str__(self) -> str:
        spans = (
            f"{name} [{times.format_time(span.start)}, {times.format_time(span.end)})"
            for name, span in self.spans().items()
        )
        return f"filter_time {', '.join(spans)}"


class FilterPeriod(_Step, frozen=True, tag="filter_period"):
    """Keep worlds with a version that is valid in a period which lies so to a span."""

    relation: str
    span: SpanValue

    def __post_init__(self) -> None:
        _one_of(self.relation, "the relation", tuple(RELATIONS))
        parse_span(self.span, "span")

    def __str__(self) -> str:
        span = parse_span(self.span, "span")
        shown = f"[{times.format_time(span.start)}, {times.format_time(span.end)})"
        return f"filter_period {self.relation} {shown}"


class WhereConnected(_Step, frozen=True, tag="where_connected"):
    """Keep worlds with an edge of a type, to ``to`` if given; with ``absent``, those without."""

    type: str
    direction: str = "out"
    to: str | None = None
    absent: bool = False

    def __post_init__(self) -> None:
        limits.checked_text(self.type, "an edge type", limits.MAX_TYPE_BYTES, empty=False)
        _one_of(self.direction, "direction", WAYS)

    def __str__(self) -> str:
        other = "" if self.to is None else f", other end {self.to[:MAX_SHOWN_DIGITS]}"
        return f"where_connected {'not ' if self.absent else ''}{self.type}{_ways(self.direction)}{other}"


class InWorld(_Step, frozen=True, tag="in_world"):
    """Keep what lies inside a world, and restrict the rest of the query to it."""

    world: str

    def __str__(self) -> str:
        return f"in_world {self.world[:MAX_SHOWN_DIGITS]}"


class PreferSummaries(_Step, frozen=True, tag="prefer_summaries"):
    """Instead of what a summary was made of, or contains, show the summary (paper §6)."""

    def __str__(self) -> str:
        return "prefer_summaries"


class Unify(_Step, frozen=True, tag="unify"):
    """From here on, treat worlds of one identity as one: one is shown, and all are searched."""

    def __str__(self) -> str:
        return "unify"


class Order(_Step, frozen=True, tag="order"):
    """Sort by a key, then in log order."""

    by: str
    descending: bool = False

    def __post_init__(self) -> None:
        _one_of(self.by, "the key of order", ORDER_KEYS)

    def __str__(self) -> str:
        return f"order by {self.by}{', descending' if self.descending else ''}"


class Limit(_Step, frozen=True, tag="limit"):
    """Keep the first ``count`` worlds."""

    count: int

    def __post_init__(self) -> None:
        limits.checked_number(self.count, "limit", 0, MAX_LIMIT)

    def __str__(self) -> str:
        return f"limit {self.count}"


class Facets(_Step, frozen=True, tag="facets"):
    """Count the current worlds by some of their properties, without changing the selection."""

    by: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.by:
            raise errors.InputError("facets names nothing to count by", f"Name some of: {', '.join(FACETS)}")
        for name in self.by:
            _one_of(name, "a facet", FACETS)

    def __str__(self) -> str:
        return f"facets by {', '.join(self.by)}"


Step: TypeAlias = (
    Traverse
    | FilterType
    | FilterProperties
    | FilterTime
    | FilterPeriod
    | WhereConnected
    | InWorld
    | PreferSummaries
    | Unify
    | Order
    | Limit
    | Facets
)


def span_value(given: Span | None, what: str) -> SpanValue | None:
    """A span in the form that a query stores."""
    if given is None:
        return None
    start, end = parse_span(given, what)
    return None if start <= times.ALWAYS else start, None if end >= times.FOREVER else end


def ref_value(given: Any) -> str:
    """A reference in the form that a query stores: hex digits, or the given prefix or name.

    Raises:
        InputError: it is no reference.
        RefusedError: it is the receipt of a write that was refused.
    """
    found = ids.as_ref(given)
    return found.hex() if isinstance(found, bytes) else found


def _one_of(given: object, what: str, known: tuple[str, ...]) -> None:
    if given not in known:
        raise errors.InputError(f"{what} is {errors.shown(given)}", f"Give one of: {', '.join(known)}")


def _names(types: tuple[str, ...]) -> str:
    return ", ".join(types) if types else "every edge but contains"


def _ways(direction: str) -> str:
    return {"out": "", "in": " backwards", "both": " both ways"}[direction]
