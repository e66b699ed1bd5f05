"""Operators of a query: each turns one set of worlds into another.

A type name that nothing here has is probably a typo, and its empty result would look like an answer. A note therefore
says so and suggests the nearest name.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import get_close_matches
from itertools import chain, islice
from typing import Any, Final

from worlddb.log.model.times import Interval, format_time
from worlddb.projections.tables.names.canonical import type_digest
from worlddb.projections.tables.reads.asof import SeenVersion, versions_as_of
from worlddb.projections.tables.storage.schema import CONTAINS
from worlddb.query.consolidation.fresh_summaries import summaries_in
from worlddb.query.graph_query import query_steps, traversal
from worlddb.query.history.lineage import is_learned
from worlddb.query.reads import build
from worlddb.query.reads.world_lookup import type_filter
from worlddb.query.recall.filters import Conditions
from worlddb.query.snapshot import edge_rules, provenance, valid_period, visible
from worlddb.query.snapshot.snapshot import Scope, containers_at

_SHOWN_CHARACTERS: Final = 80
MAX_SUGGESTION_WORLDS: Final = 256
"""Worlds scanned for a "did you mean" suggestion."""


def unknown_edge_types(snapshot: visible.VisibleSnapshot, spec: edge_rules.Spec, names: Iterable[str]) -> list[str]:
    """Notes of edge types that were never registered here, each with the nearest that was.

    It is no error: a query may be written before the first edge of a type, and asked of many stores.
    """
    asked = tuple(names)
    if not asked:
        return []
    known = {name for name, _ in spec.built_in} | {name for name, _ in spec.inverses}
    known |= {one.type for one in snapshot.registered(ended=True)}
    return [f"there is no edge type {_suggestion(name, known)}" for name in asked if name not in known]


def unknown_types(snapshot: visible.VisibleSnapshot, names: Iterable[str], found: Iterable[SeenVersion]) -> list[str]:
    """Notes of types that a filter found none of, each with the type that is perhaps meant.

    Worlds may be of any type, so a type is only noted if one that is there is nearly the same.
    """
    bodies: dict[bytes, SeenVersion] = {}
    for seen in islice(found, MAX_SUGGESTION_WORLDS):
        bodies.setdefault(seen.row.type, seen)
    asked = tuple(names)
    there = {body.type for seen in bodies.values() if (body := snapshot.body(seen.row)) is not None}
    absent = (name for name in asked if type_digest(name) not in bodies)
    return [f"none is of type {_suggestion(name, there)}" for name in absent if _nearest_name(name, there)]


def _suggestion(name: str, known: Iterable[str]) -> str:
    near = _nearest_name(name, known)
    return f"{name[:_SHOWN_CHARACTERS]!r}{f'; did you mean {near}?' if near else ''}"


def _nearest_name(name: str, known: Iterable[str]) -> str:
    """The nearest of some names, or one that differs in capitals only; empty if none is near."""
    folded = {each.casefold(): each for each in sorted(known, reverse=True)}
    near = get_close_matches(name.casefold(), folded, n=1)
    return folded[near[0]] if near else ""


SUMMARY: Final = "Summary"
"""The type of worlds that say in short what others say at length (paper §6)."""
DERIVED_FROM: Final = "derived_from"
_MONTH_CHARACTERS: Final = len("2026-11")


class Selection:
    """The current worlds of a query, in order, each in the version that is shown.

    It also keeps the trail: how the query came to them.
    """

    def __init__(self, ground: traversal.Ground) -> None:
        self.ground = ground
        self.found: dict[int, SeenVersion] = {}
        self.scores: dict[int, float] = {}
        self.trail = traversal.Trail()
        self.facets: dict[str, dict[str, int]] = {}
        self.unresolved: list[str] = []
        """Notes of types that were asked for, of which nothing came, and which were perhaps meant."""

    def add(self, node: int, seen: SeenVersion) -> bool:
        """Add a world, unless it or one that counts as the same is there; true if it was added."""
        is_there = self.found.__contains__
        if any(map(is_there, self.ground.identity_of(node))) if self.ground.unified else is_there(node):
            return False
        self.found[node] = seen
        return True

    def keep(self, fits: Callable[[int, SeenVersion], SeenVersion | None]) -> None:
        """Keep the worlds that fit, in the version that does; of one identity, the first that fits."""
        kept: dict[int, SeenVersion] = {}
        for node, seen in self.found.items():
            for each, version in self._versions(node, seen):
                fitting = fits(each, version)
                if fitting is not None:
                    kept[each] = fitting
                    break
        self.found = kept

    def _versions(self, node: int, seen: SeenVersion) -> Iterator[tuple[int, SeenVersion]]:
        yield node, seen
        for other in self.ground.identity_of(node)[1:]:
            version = self.ground.seen(other)
            if version is not None:
                yield other, version


def apply(step: query_steps.Step, selection: Selection, following: query_steps.Step | None = None) -> str:
    """Run one operator on a selection; returns a note for the explanation.

    A walk of which the step ``following`` prefers summaries is cut at each that is fresh.
    """
    match step:
        case query_steps.Traverse():
            return _traverse(step, selection, cuts=isinstance(following, query_steps.PreferSummaries))
        case query_steps.FilterType():
            return _filter_type(step, selection)
        case query_steps.FilterProperties():
            return _filter_properties(step, selection)
        case query_steps.FilterTime():
            return _filter_time(step, selection)
        case query_steps.FilterPeriod():
            return _filter_period(step, selection)
        case query_steps.WhereConnected():
            return _where_connected(step, selection)
        case query_steps.InWorld():
            return _in_world(step, selection)
        case query_steps.PreferSummaries():
            return _prefer_summaries(selection)
        case query_steps.Unify():
            return _unify(selection)
        case query_steps.Order():
            return _order(step, selection)
        case query_steps.Limit():
            selection.found = dict(islice(selection.found.items(), step.count))
            return ""
        case query_steps.Facets():
            return _facets(step, selection)


def _traverse(step: query_steps.Traverse, selection: Selection, *, cuts: bool) -> str:
    """Walk edges breadth first, so that nearer worlds come earlier.

    Worlds that are equally near come in the order of the start.
    """
    ground = selection.ground
    began = selection.found
    selection.found = dict(began) if step.keep else {}
    visited = {each for node in began for each in ground.identity_of(node)}
    level = list(began)
    walked = depth = 0
    cuts = cuts and CONTAINS in step.types and step.direction == "out"
    others = tuple(name for name in step.types if name != CONTAINS)
    while level and depth < step.depth:
        depth += 1
        further: list[int] = []
        # In log order, so that of worlds that are one the same is met whichever of the faces it began from.
        faces = [face for node in level for face in sorted(ground.identity_of(node))]
        each = (
            _through_summaries(ground, faces, step, others)
            if cuts
            else ground.arrivals_each(faces, step.types, step.direction)
        )
        for arrival in chain.from_iterable(each):
            walked += 1
            selection.trail.add(arrival)
            selection.add(arrival.node, arrival.seen)
            if arrival.node not in visited:
                visited.update(ground.identity_of(arrival.node))
                further.append(arrival.node)
        level = further
    cut = f", stopped at {len(ground.cut_at)} summaries" if cuts and ground.cut_at else ""
    return f"{walked} edge{'' if walked == 1 else 's'} followed, depth {depth}{cut}"


def _through_summaries(
    ground: traversal.Ground, faces: Sequence[int], step: query_steps.Traverse, others: tuple[str, ...]
) -> Iterator[Iterable[traversal.Arrival]]:
    """Where the edges of each of some worlds lead to: by its fresh summary, if it has one, in place of its members."""
    short = ground.into_summaries(faces)
    whole = ground.arrivals_each([face for face in faces if face not in short], step.types, step.direction)
    for face in faces:
        if face not in short:
            yield next(whole)
        else:
            yield (short[face], *(ground.arrivals(face, others, step.direction) if others else ()))


def _filter_type(step: query_steps.FilterType, selection: Selection) -> str:
    ground = selection.ground
    moment = ground.snapshot.place.moment
    filters = [type_filter(ground.snapshot, name, moment, ground.spec, ground.inside) for name in step.types]
    names = sorted({name for each in filters for name in each.names})
    digests = {type_digest(name) for name in names}
    instances = {node for each in filters for node in each.instances}
    came = list(selection.found.values())
    selection.keep(lambda node, seen: seen if seen.row.type in digests or node in instances else None)
    if not selection.found:
        selection.unresolved += unknown_types(ground.snapshot, step.types, came)
    wider = [name for name in names if name not in step.types]
    return f"including {', '.join(wider)}" if wider else ""


def _filter_properties(step: query_steps.FilterProperties, selection: Selection) -> str:
    conditions, snapshot = Conditions(step.properties), selection.ground.snapshot

    def fits(seen: SeenVersion) -> bool:
        return conditions.fit(build.properties(snapshot.details(seen.row.seq, seen.row.details)))

    selection.keep(lambda node, seen: seen if fits(seen) else None)
    return ""


def _filter_time(step: query_steps.FilterTime, selection: Selection) -> str:
    ground = selection.ground
    spans = step.spans()
    return _keep_versions(selection, lambda node, seen: _in_spans(ground, node, seen, spans))


def _filter_period(step: query_steps.FilterPeriod, selection: Selection) -> str:
    span, lies_so = valid_period.parse_span(step.span, "span"), valid_period.RELATIONS[step.relation]
    return _keep_versions(selection, lambda _, seen: any(lies_so(piece, span) for piece in seen.validity.pieces))


def _keep_versions(selection: Selection, passes: Callable[[int, SeenVersion], bool]) -> str:
    """Keep the worlds with a version that passes, of those that the query sees."""
    ground = selection.ground

    def fitting(node: int, seen: SeenVersion) -> Iterator[SeenVersion]:
        known = versions_as_of(ground.snapshot.tables, node, ground.snapshot.place.moment.seq)
        versions = known if ground.superseded else iter((seen,))
        return (version for version in versions if passes(node, version))

    selection.keep(lambda node, seen: next(fitting(node, seen), None))
    if not ground.superseded:
        return "checked only the version that is valid at the view's moment"
    several = sum(len([*islice(fitting(node, seen), 2)]) > 1 for node, seen in selection.found.items())
    return f"{several} of them have older versions that match too: see history" if several else ""


def _in_spans(ground: traversal.Ground, node: int, seen: SeenVersion, spans: dict[str, Interval]) -> bool:
    during, overlaps, between = (spans.get(name) for name in ("during", "overlaps", "between"))
    if during is not None and not seen.validity.covers(during):
        return False
    if overlaps is not None and not seen.validity.overlaps(overlaps):
        return False
    return between is None or is_learned(ground.snapshot, node, seen, between)


def _where_connected(step: query_steps.WhereConnected, selection: Selection) -> str:
    ground = selection.ground
    to = None if step.to is None else set(ground.identity_of(ground.named(step.to)))

    def connected(node: int) -> bool:
        arrivals = ground.arrivals(node, (step.type,), step.direction)
        return any(to is None or arrival.node in to for arrival in arrivals)

    if step.absent:
        # Worlds that are one are without the edge only if all of them are.
        without = {node for node in selection.found if not any(map(connected, ground.identity_of(node)))}
        selection.keep(lambda node, seen: seen if node in without else None)
    else:
        selection.keep(lambda node, seen: seen if connected(node) else None)
    return ""


def _in_world(step: query_steps.InWorld, selection: Selection) -> str:
    ground = selection.ground
    snapshot = ground.snapshot
    world = ground.named(step.world)
    around = ground.scope
    scope = Scope(snapshot.tables, world, snapshot.place.moment)
    selection.keep(lambda node, seen: seen if scope.holds(node) and around.sees(node) else None)
    if around.sees(world):
        ground.stay_inside(world)
        return ""
    return "it lies outside of the query's world, which remains the boundary"


def _prefer_summaries(selection: Selection) -> str:
    """Replace summed-up worlds by their summaries, at the position of the first one.

    Of the summaries that consolidation made, here or where a bundle comes from, only the fresh ones are shown; of
    others it is said if they are stale.
    """
    ground = selection.ground
    use = _SummaryUse(ground)
    before, selection.found = selection.found, {}
    replaced = 0
    for node, seen in before.items():
        if seen.row.type == use.summary:
            if use.is_usable(node, seen):
                selection.add(node, seen)
            continue
        summaries = use.of(node)
        replaced += bool(summaries)
        for other, version in summaries or [(node, seen)]:
            selection.add(other, version)
    said = (
        f"{replaced} summarized" if replaced else "",
        f"{len(use.left_out)} stale summaries left out" if use.left_out else "",
        f"{len(use.stale)} stale summaries shown" if use.stale else "",
    )
    return ", ".join(each for each in said if each)


class _SummaryUse:
    """Which summaries a query shows in place of what they sum up."""

    def __init__(self, ground: traversal.Ground) -> None:
        self._ground = ground
        self._summaries = summaries_in(ground.snapshot)
        self.summary = type_digest(SUMMARY)
        self._known: dict[int, bool] = {}
        self.left_out: set[int] = set(self._summaries.stale)
        """Summaries that consolidation made, and that are stale."""
        self.stale: set[int] = set()
        """Other summaries that rest on what holds no more."""

    def is_usable(self, node: int, seen: SeenVersion) -> bool:
        """False of a summary that consolidation made and that is stale."""
        if node not in self._known:
            self._known[node] = node in self._ground.cut_at or self._is_fresh_or_foreign(node, seen)
        return self._known[node]

    def _is_fresh_or_foreign(self, node: int, seen: SeenVersion) -> bool:
        world = self._summaries.made_of(node)
        if world is None:
            if self._summaries.is_fresh_import(node, seen) is False:
                self.left_out.add(node)
                return False
            if provenance.stale(self._ground.snapshot, node, seen.row):
                self.stale.add(node)
            return True
        found = self._summaries.of(world)
        if found is None or found.node != node:
            self.left_out.add(node)
            return False
        self._ground.cut_at.add(node)
        return True

    def of(self, node: int) -> list[tuple[int, SeenVersion]]:
        """The visible summaries of a world: those derived from it, and those that contain it."""
        ground = self._ground
        above = (
            arrival for face in ground.identity_of(node) for arrival in ground.arrivals(face, _SUMMARY_EDGES, "in")
        )
        found = [(arrival.node, arrival.seen) for arrival in above if arrival.seen.row.type == self.summary]
        return [each for each in found if self.is_usable(*each)]


_SUMMARY_EDGES: Final = (DERIVED_FROM, CONTAINS)


def _unify(selection: Selection) -> str:
    selection.ground.unified = True
    before, selection.found = selection.found, {}
    for node, seen in before.items():
        selection.add(node, seen)
    joined = len(before) - len(selection.found)
    return f"{joined} merged with others" if joined else ""


def _order(step: query_steps.Order, selection: Selection) -> str:
    key = _ORDER_KEYS[step.by]
    # Python's sort keeps equals in the order in which they came, backwards too.
    in_order = sorted(
        sorted(selection.found),
        key=lambda node: key(selection.ground, node, selection.found[node]),
        reverse=step.descending,
    )
    selection.found = {node: selection.found[node] for node in in_order}
    return ""


def _name_of(ground: traversal.Ground, seen: SeenVersion) -> str:
    body = ground.snapshot.body(seen.row)
    return "" if body is None else body.name


def _type_of(ground: traversal.Ground, seen: SeenVersion) -> str:
    body = ground.snapshot.body(seen.row)
    return "" if body is None else body.type


_ORDER_KEYS: Final[dict[str, Callable[[traversal.Ground, int, SeenVersion], Any]]] = {
    "log": lambda ground, node, seen: node,
    "name": lambda ground, node, seen: _name_of(ground, seen).casefold(),
    "type": lambda ground, node, seen: _type_of(ground, seen),
    "valid_from": lambda ground, node, seen: seen.validity.start,
    "valid_to": lambda ground, node, seen: seen.validity.end,
    "learned": lambda ground, node, seen: seen.row.seq,
}


def _facets(step: query_steps.Facets, selection: Selection) -> str:
    for name in step.by:
        values = _FACETS[name]
        counted = Counter(
            value for node, seen in selection.found.items() for value in values(selection.ground, node, seen)
        )
        selection.facets[name] = dict(sorted(counted.items(), key=lambda item: (-item[1], item[0])))
    return ""


def _containers(ground: traversal.Ground, node: int) -> list[str]:
    """The worlds around a world; of a query inside a world, those that it sees."""
    tables = ground.snapshot.tables
    above = containers_at(tables, node, ground.snapshot.place.moment)
    return [tables.node(each).lineage.hex() for each in above if ground.scope.sees(each)]


_FACETS: Final[dict[str, Callable[[traversal.Ground, int, SeenVersion], list[str]]]] = {
    "type": lambda ground, node, seen: [_type_of(ground, seen)],
    "world": lambda ground, node, seen: _containers(ground, node),
    "author": lambda ground, node, seen: [ground.snapshot.header(seen.row.seq).author],
    "month": lambda ground, node, seen: [format_time(seen.validity.start)[:_MONTH_CHARACTERS]],
}
