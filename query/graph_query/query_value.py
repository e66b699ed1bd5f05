"""A query as a value that can be printed, compared, sent and stored, and the subgraph that answers it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Final, Self

import msgspec

from worlddb.log.model import errors, limits, times
from worlddb.log.model.errors import InputError
from worlddb.projections.indexes.composition import checked_pool
from worlddb.query.graph_query import query_steps
from worlddb.query.graph_query.query_steps import MAX_SHOWN_DIGITS
from worlddb.query.question.question import DEFAULT_K, LANES, MAX_K, TEXT, checked_trust, least_trust
from worlddb.query.recall.filters import Conditions
from worlddb.query.records.records import Edge, World
from worlddb.query.snapshot.valid_period import Span

_SHOWN_CHARACTERS: Final = 60
_LARGEST: Final = 3.4028235e38
_SMALLEST: Final = 1.2e-38
"""Between these lie the numbers that 32 bits hold in full, as vectors are compared in them."""


class Start(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Where a query starts: from references, from a text, from a vector or from everything.

    In this order of preference: a text gives the ``k`` worlds that answer it best, a vector the ``k`` that are nearest
    to it; inside ``world`` if one is given.

    ``lanes`` are those that a text is looked up by. ``exact`` ranks by precisely what the view sees. With
    ``composed``, the start is of worlds with members, by what all of their interior is about: ``attention`` or ``mean``
    is how that is pooled. ``min_trust`` leaves out of any start what is trusted less than that level.
    """

    seeds: tuple[str, ...] | None = None
    text: str | None = None
    vector: tuple[float, ...] | None = None
    world: str | None = None
    k: int = DEFAULT_K
    lanes: tuple[str, ...] = (TEXT,)
    exact: bool = False
    composed: str | None = None
    min_trust: str | None = None

    def __post_init__(self) -> None:
        limits.checked_number(self.k, "k", 1, MAX_K)
        checked_trust(self.min_trust)
        if not isinstance(self.text, str | None):
            raise errors.InputError(f"text is {type(self.text).__name__}, not text", "Give it as str")
        if not self.lanes or any(lane not in LANES for lane in self.lanes):
            raise errors.InputError(f"lanes is {errors.shown(list(self.lanes))}", f"Name some of: {', '.join(LANES)}")
        if self.vector is not None:
            _check_vector(self.vector)
        if self.composed is not None:
            checked_pool(self.composed)

    @property
    def least_trust(self) -> int:
        """The number of the lowest level of trust that is admitted."""
        return least_trust(self.min_trust)

    @property
    def chosen(self) -> str:
        """The source of the start set: the first given of seeds, text and vector, cheapest first."""
        given = {"seeds": self.seeds is not None, "text": self.text is not None, "vector": self.vector is not None}
        return next((name for name, is_given in given.items() if is_given), "everything")

    @property
    def ignored(self) -> tuple[str, ...]:
        """The other parts of the start that were given and are not used."""
        given = {"text": self.text is not None, "vector": self.vector is not None}
        passed_over = [name for name, is_given in given.items() if is_given and name != self.chosen]
        # How an interior is pooled matters to what is compared with it.
        is_compared = self.chosen in ("text", "vector")
        return (*passed_over, *(["composed"] if self.composed is not None and not is_compared else []))

    def __str__(self) -> str:
        where = "" if self.world is None else f" in {self.world[: query_steps.MAX_SHOWN_DIGITS]}"
        where += "" if self.min_trust is None else f", trust {self.min_trust} or more"
        exactly = ", exact" if self.exact else ""
        if self.chosen == "seeds":
            shown = ", ".join(seed[: query_steps.MAX_SHOWN_DIGITS] for seed in self.seeds or ())
            return f"start from {shown or 'nothing'}{where}"
        if self.chosen == "text":
            shown = errors.clipped(self.text or "", _SHOWN_CHARACTERS)
            if self.composed is not None:
                return f"start from the {self.k} worlds that are most about {shown!r} by {self.composed}{where}"
            return f"start from the {self.k} best for {shown!r} by {', '.join(self.lanes)}{where}{exactly}"
        if self.chosen == "vector":
            what = "nearest" if self.composed is None else f"worlds that are nearest as a whole by {self.composed}"
            return f"start from the {self.k} {what} to a vector of {len(self.vector or ())} numbers{where}{exactly}"
        return f"start from everything{where}"


class At(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """An earlier moment than the view's, on either axis or both; times in microseconds."""

    ingested: int | None = None
    seq: int | None = None
    valid: int | None = None

    def __post_init__(self) -> None:
        limits.refuse_both(ingested=self.ingested, seq=self.seq)
        if self.ingested is None and self.seq is None and self.valid is None:
            raise errors.InputError("as_of has no moment", "Give ingested=, seq= or valid=")
        if self.seq is not None:
            limits.checked_number(self.seq, "seq", 0, limits.HIGHEST_SEQ)

    def __str__(self) -> str:
        parts = [] if self.seq is None else [f"commit {self.seq}"]
        parts += [] if self.ingested is None else [f"known at {times.format_time(self.ingested)}"]
        parts += [] if self.valid is None else [f"true at {times.format_time(self.valid)}"]
        return f"as of {', '.join(parts)}"


class Chain:
    """The operators as methods; each returns the query with one more and changes nothing."""

    __slots__ = ()

    def _then(self, step: query_steps.Step) -> Self:
        return self._with_query(lambda query: msgspec.structs.replace(query, steps=(*query.steps, step)))

    def _with_query(self, change: Any) -> Self:
        raise AssertionError(f"{type(self).__name__} is not a query")

    def traverse(self, *types: str, depth: int = 1, direction: str = "out", keep: bool = False) -> Self:
        """Follow edges of ``types`` up to ``depth`` edges away; no type: all but ``contains``.

        The worlds that it began from are left behind, unless ``keep``. Of a query inside a world, only edges whose type
        crosses worlds (``refers_to``, or a registered one) lead out of it, and only in their own direction.
        """
        return self._then(query_steps.Traverse(types, depth, direction, keep))

    def filter_type(self, *types: str) -> Self:
        """Keep worlds of any of the types, with their subtypes and instances."""
        return self._then(query_steps.FilterType(types))

    def filter_properties(self, properties: Mapping[str, Any]) -> Self:
        """Keep worlds that have these properties, such as ``{"state": "open", "priority": {"$gte": 2}}``."""
        return self._then(query_steps.FilterProperties(dict(Conditions.of(properties).wanted)))

    def filter_time(
        self, *, during: Span | None = None, overlaps: Span | None = None, between: Span | None = None
    ) -> Self:
        """Keep worlds with a version that is valid or was learned of in a span.

        It is valid throughout ``during``, or at some instant of ``overlaps``, or something was learned of it
        ``between`` two ingest times.

        Of what the query sees: by default the version that is valid at its moment, after :meth:`include_superseded`
        any, and then the newest that fits is shown.
        """
        return self._then(
            query_steps.FilterTime(
                query_steps.span_value(during, "during"),
                query_steps.span_value(overlaps, "overlaps"),
                query_steps.span_value(between, "between"),
            )
        )

    def filter_period(self, relation: str, span: Span) -> Self:
        """Keep worlds with a version that is valid in a period which lies so to ``span`` (SQL:2011's predicates).

        ``relation``: ``overlaps``, ``contains``, ``within``, ``equals``, ``precedes``, ``succeeds``,
        ``immediately_precedes`` or ``immediately_succeeds``. A version that holds in several spans passes if one of
        them does. Of the versions that :meth:`filter_time` takes.
        """
        given = query_steps.span_value(span, "span")
        return self._then(query_steps.FilterPeriod(relation, (None, None) if given is None else given))

    def where_connected(self, type: str, direction: str = "out", to: Any = None, *, absent: bool = False) -> Self:
        """Keep worlds with an edge of a type, to ``to`` if it is given; ``absent``: those without."""
        other = None if to is None else query_steps.ref_value(to)
        return self._then(query_steps.WhereConnected(type, direction, other, absent))

    def in_world(self, world: Any) -> Self:
        """Keep what lies inside a world, and restrict the rest of the query to it."""
        return self._then(query_steps.InWorld(query_steps.ref_value(world)))

    def prefer_summaries(self) -> Self:
        """Show a world of type ``Summary`` instead of what it was ``derived_from`` or contains.

        A walk over ``contains`` right before it is cut at a summary that ``db.consolidate`` made and that is fresh:
        nothing beneath is read. Its stale ones are left out, and the details shown; the stage's note says how many. To
        see the details after all, traverse ``derived_from`` or ``contains`` from there.
        """
        return self._then(query_steps.PreferSummaries())

    def unify(self) -> Self:
        """From here on, treat worlds of one accepted identity as one.

        The first of them that fits is shown, and the edges of all are followed.
        """
        return self._then(query_steps.Unify())

    def order(self, by: str, *, descending: bool = False) -> Self:
        """Sort by ``log``, ``name``, ``type``, ``valid_from``, ``valid_to`` or ``learned``.

        Ties are in log order.
        """
        return self._then(query_steps.Order(by, descending))

    def limit(self, count: int) -> Self:
        """Keep the first ``count``."""
        return self._then(query_steps.Limit(count))

    def facets(self, *by: str) -> Self:
        """Count worlds by ``type``, ``world``, ``author`` or ``month`` (when they became valid)."""
        return self._then(query_steps.Facets(by))

    def as_of(
        self, *, ingested: times.TimeLike | None = None, seq: int | None = None, valid: times.TimeLike | None = None
    ) -> Self:
        """Run the whole query at an earlier moment, wherever this is in the chain.

        ``valid`` defaults to the time of ``ingested`` or of the commit ``seq``, and those to the view's commit.
        """
        at = At(
            ingested=None if ingested is None else times.parse_time(ingested, "ingested"),
            seq=seq,
            valid=None if valid is None else times.parse_time(valid, "valid"),
        )
        return self._with_query(lambda query: msgspec.structs.replace(query, at=at))

    def include_superseded(self) -> Self:
        """Include worlds and edges that are not valid at the moment, in the whole chain."""
        return self._with_query(lambda query: msgspec.structs.replace(query, superseded=True))


class Query(Chain, msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A query for any view (:meth:`worlddb.View.run`): a start set and a chain of operators.

    It knows no store. References and times are kept as they were understood when it was made.
    """

    start: Start = Start()
    steps: tuple[query_steps.Step, ...] = ()
    at: At | None = None
    superseded: bool = False

    def edge_types(self) -> tuple[str, ...]:
        """The edge types that its operators name, without duplicates."""
        return tuple(dict.fromkeys(name for step in self.steps for name in _edge_types(step)))

    @classmethod
    def of(
        cls,
        *,
        seeds: Any = None,
        text: str | None = None,
        vector: Iterable[float] | None = None,
        world: Any = None,
        k: int = DEFAULT_K,
        lanes: Sequence[str] = (TEXT,),
        exact: bool = False,
        composed: str | None = None,
        min_trust: str | None = None,
    ) -> Query:
        """A query that starts from references, else a text, else a vector, else from everything.

        Raises:
            InputError: something given is not what it should be.
        """
        if isinstance(lanes, str):
            raise errors.InputError(
                f"lanes is one text, {errors.shown(lanes)}, not a list of lanes", f"Give lanes=[{lanes[:40]!r}]"
            )
        return cls(
            start=Start(
                seeds=None if seeds is None else _references(seeds),
                text=text,
                vector=None if vector is None else _numbers(vector),
                world=None if world is None else query_steps.ref_value(world),
                k=k,
                lanes=tuple(limits.checked_list(lanes, "lanes")),
                exact=exact,
                composed=composed,
                min_trust=min_trust,
            )
        )

    def _with_query(self, change: Any) -> Self:
        changed: Self = change(self)
        return changed

    def to_json(self) -> str:
        """The query as one line of JSON, without defaults.

        Raises:
            InputError: a text in it has no UTF-8 form (a lone surrogate).
        """
        try:
            return msgspec.json.encode(self).decode()
        except UnicodeEncodeError as error:
            raise errors.InputError(
                f"A text of the query is not valid Unicode: {error.reason}",
                "Decode the bytes with errors='replace' or correct them at their source",
            ) from None

    @classmethod
    def from_json(cls, text: str | bytes) -> Query:
        """Parse a query that :meth:`to_json` wrote.

        Raises:
            InputError: it is no query; the message names the place.
        """
        try:
            return msgspec.json.decode(text, type=cls)
        except (msgspec.DecodeError, UnicodeError, TypeError) as error:
            raise errors.InputError(f"This is not a query: {error}", "Write it with Query.to_json") from None

    def __str__(self) -> str:
        parts = [str(self.start), *map(str, self.steps)]
        parts += ["include_superseded"] if self.superseded else []
        parts += [] if self.at is None else [str(self.at)]
        return " | ".join(parts)


def _references(given: Any) -> tuple[str, ...]:
    """One reference or several, each once."""
    several = isinstance(given, Iterable) and not isinstance(given, str | bytes) and not hasattr(given, "ref")
    return tuple(dict.fromkeys(query_steps.ref_value(seed) for seed in (given if several else (given,))))


def _numbers(given: Iterable[float]) -> tuple[float, ...]:
    try:
        # No more are looked at than say that they are too many.
        return tuple(float(number) for number in islice(iter(given), limits.MAX_DIMENSION + 1))
    except (TypeError, ValueError) as error:
        raise errors.InputError(
            f"vector is not a list of numbers: {error}", "Give floats, as many as the space has"
        ) from None


def _check_vector(vector: tuple[float, ...]) -> None:
    if not 1 <= len(vector) <= limits.MAX_DIMENSION:
        raise errors.InputError(f"vector has {len(vector):,} numbers", f"Give 1 to {limits.MAX_DIMENSION:,}")
    wrong = next((place for place, number in enumerate(vector) if not abs(number) <= _LARGEST), None)
    if wrong is not None:
        raise errors.InputError(f"vector[{wrong}] is {vector[wrong]}", "Give finite numbers, as 32 bits hold them")
    if all(abs(number) < _SMALLEST for number in vector):
        raise errors.InputError(
            "vector has only zeros, so it has no direction", "Give a vector with a number other than zero"
        )


def _edge_types(step: query_steps.Step) -> tuple[str, ...]:
    if isinstance(step, query_steps.Traverse):
        return step.types
    return (step.type,) if isinstance(step, query_steps.WhereConnected) else ()


_LINE_CHARACTERS: Final = 80


class Stage(msgspec.Struct, frozen=True, kw_only=True):
    """One stage of a query: the number of worlds before and after it.

    ``seconds`` if times were asked for.
    """

    operator: str
    before: int
    after: int
    note: str
    seconds: float | None

    def __str__(self) -> str:
        took = "" if self.seconds is None else f", {1000 * self.seconds:.2f} ms"
        return f"{self.operator}: {self.before} to {self.after}{took}{self.note and f' ({self.note})'}"


class Subgraph(msgspec.Struct, frozen=True, kw_only=True):
    """The worlds that a query found, and the edges that were walked to them, in log order.

    ``passed`` are references of the worlds that those edges lead through and that are not in the answer. ``scores`` has
    those of a ranked start, ``facets`` the counts that were asked for, ``identities`` which others a world stands for.
    ``exact`` says that the start was ranked by precisely what the view sees; ``note`` what else a reader should know.
    ``records_read`` counts the worlds that were looked up on the way, and the records made of worlds and edges.
    """

    nodes: tuple[World, ...]
    edges: tuple[Edge, ...]
    passed: tuple[str, ...]
    scores: dict[str, float]
    facets: dict[str, dict[str, int]]
    identities: dict[str, tuple[str, ...]]
    stages: tuple[Stage, ...]
    exact: bool
    note: str
    records_read: int = 0

    @property
    def refs(self) -> tuple[str, ...]:
        """The references of the worlds, in their order."""
        return tuple(world.ref for world in self.nodes)

    def to_json(self) -> str:
        """The subgraph as one line of JSON, times in microseconds UTC."""
        return msgspec.json.encode(self).decode()

    @classmethod
    def from_json(cls, text: str | bytes) -> Subgraph:
        """Parse a subgraph that :meth:`to_json` wrote.

        Raises:
            InputError: it is none; the message names the place.
        """
        try:
            return msgspec.json.decode(text, type=cls)
        except (msgspec.DecodeError, UnicodeError, RecursionError, TypeError) as error:
            raise InputError(f"This is not a subgraph: {error}", "Write it with Subgraph.to_json") from None

    def explain(self) -> str:
        """A line for each stage: worlds before and after it, and its time if the query was timed."""
        return "\n".join(map(str, self.stages))

    def __str__(self) -> str:
        """The counts, then a line for each world and for each edge."""
        counts = f"worlds: {len(self.nodes)}, edges: {len(self.edges)}"
        worlds = (f"{_short(each.ref)}  {each.type}  {_line(each.name or each.content)}" for each in self.nodes)
        edges = (f"{_short(each.source)} {each.type} {_short(each.target)}" for each in self.edges)
        return "\n".join((counts, *(line.rstrip() for line in worlds), *edges))

    def __iter__(self) -> Any:
        return iter(self.nodes)

    def __len__(self) -> int:
        return len(self.nodes)


def _short(ref: str) -> str:
    return ref[:MAX_SHOWN_DIGITS]


def _line(text: str) -> str:
    """A text as one line, truncated if it is long."""
    return errors.clipped(" ".join(text.split()), _LINE_CHARACTERS)
