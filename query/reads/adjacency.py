"""Read the members and the edges of worlds, at a moment or over a span of valid time."""

from collections.abc import Iterable, Iterator
from functools import partial
from heapq import merge
from itertools import chain, islice, product
from typing import Any, Final, NamedTuple

from worlddb.log.model import errors, ids, limits, times
from worlddb.projections.tables.reads.asof import edge_known, edge_seen, edge_validity
from worlddb.projections.tables.storage.schema import CONTAINS_CODE, EdgePlace, EdgeRow
from worlddb.query.reads import build, world_lookup
from worlddb.query.reads.window import Window
from worlddb.query.records import records
from worlddb.query.snapshot import edge_rules, valid_period, visible

_FEW_EDGES: Final = 128
"""Up to so many edges of a world are read at once; of more, only those that are needed."""
PAGE: Final = 512
"""How many edges, or contradicted worlds, one transaction reads."""
_FIRST_PAGE: Final = 64
"""The number of contradicted worlds that are read first; then twice as many, and so on."""


def members(
    window: Window, ref: Any, include_superseded: bool, period: valid_period.Period | None
) -> Iterator[records.World]:
    """The members of a world (``None``: the outermost one), in the order in which they joined.

    If identities are unified: the members of all worlds of its identity, and of each member identity the first world.
    """
    if ref is None or not window.unify:
        found = _iter_members(window, ref, include_superseded, period)
    else:
        every = _identity_refs(window, ref)
        found = (world for one in every for world in _iter_members(window, one, include_superseded, period))
    return _first_of_each_identity(window, found) if window.unify else found


def _identity_refs(window: Window, ref: Any) -> list[str]:
    """References of the worlds with the identity of a visible world, in log order."""
    with window.snapshot() as snapshot:
        node = world_lookup.named_node(snapshot, window.spec, ref, unify=True)
        one = world_lookup.IdentityClasses(snapshot, window.spec).members(node)
        return [snapshot.ref(member) for member in one]


def _first_of_each_identity(window: Window, worlds: Iterator[records.World]) -> Iterator[records.World]:
    """The first world of each identity."""
    listed: set[str] = set()
    for world in worlds:
        if world.ref not in listed:
            listed.update(_identity_refs(window, world.ref))
            yield world


def _iter_members(
    window: Window, ref: Any, include_superseded: bool, period: valid_period.Period | None
) -> Iterator[records.World]:
    after, more = 0, True
    # At one moment a world is a member once. Over other times several edges may state a membership, and a read of all
    # memberships in a span lists each.
    listed = set[str]()
    is_once = include_superseded or (period is not None and period.throughout)
    while more:
        page: list[records.World] = []
        with window.snapshot() as snapshot:
            node = (
                snapshot.place.top
                if ref is None
                else world_lookup.named_node(snapshot, window.spec, ref, unify=window.unify)
            )
            more = False
            for read, (place, row) in enumerate(_memberships(snapshot, node, after), 1):
                member = _build_member(window, snapshot, place, row, include_superseded, period)
                if member is not None and member.ref not in listed:
                    page.append(member)
                    if is_once:
                        listed.add(member.ref)
                after = place.edge
                if read >= PAGE:
                    more = True
                    break
        yield from page


def _memberships(snapshot: visible.VisibleSnapshot, node: int, after: int) -> Iterator[tuple[EdgePlace, EdgeRow]]:
    """The containment edges known at the view's commit, behind the edge ``after``."""
    return snapshot.tables.outgoing(node, CONTAINS_CODE, after, known_by=snapshot.place.moment.seq)


def _build_member(
    window: Window,
    snapshot: visible.VisibleSnapshot,
    place: EdgePlace,
    row: EdgeRow,
    include_superseded: bool,
    period: valid_period.Period | None,
) -> records.World | None:
    """Build the record of an edge's member, if the read shows it."""
    tables, moment = snapshot.tables, snapshot.place.moment
    together = None
    if period is None:
        if not (edge_known(row, moment.seq) if include_superseded else edge_seen(tables, place, row, moment)):
            return None
    elif not edge_known(row, moment.seq):
        return None
    else:
        membership = edge_validity(tables, place, row, moment.seq)
        if not (
            include_superseded
            or period.admits(membership)
            or _covers_period(snapshot, place.source, row.target, membership, period)
        ):
            return None
        together = period.along(membership)
    return build.world(
        snapshot, row.target, moment, window.spec, include_superseded=include_superseded, period=together
    )


def _covers_period(
    snapshot: visible.VisibleSnapshot, world: int, member: int, held: times.Validity, period: valid_period.Period
) -> bool:
    """True if all edges of one membership together cover a period that one of them overlaps."""
    if not (period.throughout and held.overlaps(period.span)):
        return False
    tables, seq = snapshot.tables, snapshot.place.moment.seq
    left = period.span
    for place, row in tables.incoming(member, CONTAINS_CODE, known_after=seq, known_by=seq):
        if place.source == world and edge_known(row, seq):
            for piece in edge_validity(tables, place, row, seq).pieces:
                left = left.without(piece)
    return left.is_empty


DIRECTIONS: Final = ("both", "out", "in")


class EdgeFilter(NamedTuple):
    """Which edges a read returns: by type, direction and period, and whether closed ones too."""

    type: str | None
    direction: str
    include_superseded: bool
    period: valid_period.Period | None

    def check(self) -> None:
        """Check the type and the direction.

        Raises:
            InputError: the type is no text, or there is no such direction.
        """
        if self.type is not None:
            limits.checked_text(self.type, "type", limits.MAX_TYPE_BYTES)
        if self.direction not in DIRECTIONS:
            raise errors.InputError(
                f"The direction is {errors.shown(self.direction)}", f"Give one of: {', '.join(DIRECTIONS)}"
            )


def find_edge_number(snapshot: visible.VisibleSnapshot, ref: Any) -> int:
    """The number of a visible edge; edges are numbered in log order.

    Raises:
        UnknownReference: there is none.
    """
    identifier = ids.as_ref(ref)
    place = snapshot.tables.place_of(identifier) if isinstance(identifier, bytes) else None
    if place is None:
        raise errors.UnknownReference(f"There is no edge {str(ref)[:80]!r}", "Give an edge of the page before")
    return place.edge


def edges_of(
    snapshot: visible.VisibleSnapshot, spec: edge_rules.Spec, nodes: Iterable[int], wanted: EdgeFilter, after: int = -1
) -> Iterator[records.Edge]:
    """The edges of any of the worlds, behind the edge number ``after``, each once, in log order.

    An inverse name stands for its relation read the other way; a symmetric relation has no direction.
    """
    moment, nodes = snapshot.place.moment, list(nodes)
    tables = snapshot.tables
    asked = (edges_at(snapshot, spec, node, wanted.type, wanted.direction) for node in nodes)
    some = list(islice(chain.from_iterable(asked), _FEW_EDGES + 1))
    if len(some) > _FEW_EDGES:
        every = _merged_edges(snapshot, spec, nodes, wanted, max(after, 0))
    else:
        every = iter(sorted({place.edge: (place, row) for place, row in some}.values(), key=_edge_number))
    for place, row in every:
        if place.edge <= after or not edge_known(row, moment.seq):
            continue
        if wanted.include_superseded or valid_period.is_edge_shown(tables, place, row, moment, wanted.period):
            yield build.edge(snapshot, place, row, moment)


def _merged_edges(
    snapshot: visible.VisibleSnapshot, spec: edge_rules.Spec, nodes: Iterable[int], wanted: EdgeFilter, after: int
) -> Iterator[tuple[EdgePlace, EdgeRow]]:
    """The edges of some nodes behind an edge, each once in log order, read lazily."""
    tables, seq = snapshot.tables, snapshot.place.moment.seq
    direction, codes = wanted.direction, tables.type_codes()
    if wanted.type is not None:
        name, direction = spec.directed(wanted.type, wanted.direction)
        code = tables.type_code(name)
        codes = [] if code is None else [code]
    turned = {tables.type_code(name) for name in spec.symmetric_types} if wanted.type is None else set[int | None]()
    found = list[Iterator[tuple[EdgePlace, EdgeRow]]]()
    for node, code in product(nodes, codes):
        if direction != "in" or code in turned:
            found.append(tables.outgoing(node, code, after, known_by=seq))
        if direction != "out" or code in turned:
            found.append(tables.incoming(node, code, after, known_after=seq, known_by=seq))
    last = after
    for place, row in merge(*found, key=_edge_number):
        if place.edge > last:
            last = place.edge
            yield place, row


def _edge_number(edge: tuple[EdgePlace, EdgeRow]) -> int:
    return edge[0].edge


def edges_at(
    snapshot: visible.VisibleSnapshot,
    spec: edge_rules.Spec,
    node: int,
    type_name: str | None,
    direction: str,
    *,
    retracted: bool = False,
) -> Iterator[tuple[EdgePlace, EdgeRow]]:
    """Every edge of a world that the view's commit may know, of one type or of all (``None``), in no order.

    With ``retracted`` also those that were unlinked by then.
    """
    tables, seq = snapshot.tables, snapshot.place.moment.seq
    known_after = 0 if retracted else seq
    code = None
    if type_name is not None:
        type_name, direction = spec.directed(type_name, direction)
        if (code := tables.type_code(type_name)) is None:
            return
    if direction != "in":
        yield from tables.outgoing(node, code, known_by=seq)
    if direction != "out":
        yield from tables.incoming(node, code, known_after=known_after, known_by=seq)
    if direction != "both" and type_name is None:
        for name in sorted(spec.symmetric_types):
            yield from edges_at(snapshot, spec, node, name, "both", retracted=retracted)


def unifies(snapshot: visible.VisibleSnapshot, spec: edge_rules.Spec, edge: records.Edge) -> bool:
    """True if an edge unifies the identities of its ends."""
    if edge.type not in spec.identity_types:
        return False
    home = snapshot.tables.node_of(bytes.fromhex(edge.home))
    return home is None or edge_rules.unifies(snapshot, spec, edge.type, home)


def contradictions(
    window: Window, world: Any, after: tuple[Any, Any] | None
) -> Iterator[tuple[records.World, records.World]]:
    """Pairs of worlds that contradict each other, each once; see :meth:`worlddb.View.contradictions`."""
    if window.unify:
        yield from _contradictions_of_identities(window, world, after)
        return
    first, second = (None, None) if after is None else _resolve_pair(window, after)
    cursor_world = None if first is None else _valid_world(window, first)
    for one in chain(() if cursor_world is None else (cursor_world,), contradicted_after(window, world, first)):
        listed = one.conflicts
        if one is cursor_world and second in listed:
            listed = listed[listed.index(second) + 1 :]
        for ref in listed:
            other = None if precedes(window, ref, one.ref, world) else _valid_world(window, ref)
            if other is not None:
                yield one, other


def _contradictions_of_identities(
    window: Window, world: Any, after: object
) -> Iterator[tuple[records.World, records.World]]:
    if after is not None:
        raise errors.InputError("after was given with unify", "List without unify")
    done: set[frozenset[str]] = set()
    with window.snapshot() as snapshot:
        inside = _top_or_named(window, snapshot, world)
        how: dict[str, Any] = {"period": None, "memories": True, "include_superseded": False, "unify": True}
        found = list(world_lookup.find(snapshot, window.spec, world_lookup.Lookup(None, None, inside), **how))
    for one in found:
        for ref in one.conflicts:
            pair = frozenset((one.ref, ref))
            other = None if pair in done else _valid_world(window, ref)
            if other is not None:
                done.add(pair)
                yield one, other


def contradicted_after(window: Window, world: Any, after: str | None) -> Iterator[records.World]:
    """The worlds that something contradicts, behind a world, page by page."""
    wanted = _FIRST_PAGE
    while True:
        with window.snapshot() as snapshot:
            behind = -1 if after is None else _top_or_named(window, snapshot, after)
            asked = world_lookup.Lookup(None, None, _top_or_named(window, snapshot, world), after=behind)
            among = partial(_is_contradicted, snapshot, window.spec)
            how: dict[str, Any] = {"period": None, "memories": True, "include_superseded": False}
            found = list(islice(world_lookup.find(snapshot, window.spec, asked, among=among, **how), wanted))
        yield from found
        if len(found) < wanted:
            return
        after, wanted = found[-1].ref, min(2 * wanted, PAGE)


def _is_contradicted(snapshot: visible.VisibleSnapshot, spec: edge_rules.Spec, node: int) -> bool:
    return bool(build.conflicts_of(snapshot, node, snapshot.place.moment, spec, None))


def precedes(window: Window, ref: str, other: str, world: Any) -> bool:
    """Tell whether a world is found inside of ``world``, if one is given, and before another one."""
    with window.snapshot() as snapshot:
        node = _top_or_named(window, snapshot, ref)
        if node >= _top_or_named(window, snapshot, other):
            return False
        wanted = world_lookup.Lookup(None, None, _top_or_named(window, snapshot, world), after=node - 1)
        how: dict[str, Any] = {"period": None, "memories": True, "include_superseded": False}
        found = world_lookup.find(snapshot, window.spec, wanted, **how)
        return any(each.ref == ref for each in islice(found, 1))


def _resolve_pair(window: Window, given: object) -> tuple[str, str]:
    """Two references, where two are given as a pair."""
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise errors.InputError(f"after is {errors.shown(given)}", "Give the last pair of worlds of the page before")
    with window.snapshot() as snapshot:
        first, second = (snapshot.ref(_top_or_named(window, snapshot, each)) for each in given)
    return first, second


def _valid_world(window: Window, ref: str) -> records.World | None:
    with window.snapshot() as snapshot:
        return build.world(snapshot, _top_or_named(window, snapshot, ref), window.place.moment, window.spec)


def _top_or_named(window: Window, snapshot: visible.VisibleSnapshot, ref: Any) -> int:
    """The node of a reference or a name; without one that of the outermost world that the view sees."""
    if ref is None:
        return window.place.top
    return world_lookup.named_node(snapshot, window.spec, ref, unify=window.unify)
