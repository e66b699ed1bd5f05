"""Look up worlds by reference, name and type, and by shared identity.

A world of type ``Type`` stands for the type that it is named after; a filter by type includes its subtypes and
instances. A query resolves such names by scope, as a program does: it sees those inside its world, and direct members
of the worlds around it. If several worlds stand for one type, the nearest are used; inside is nearest. An identity is
the class of worlds that are joined by accepted ``same_as`` edges (paper §3.1), and by edges of registered types that
unify identities.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from heapq import merge
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from worlddb.log.model import errors, hashing, ids
from worlddb.log.model.blobs import Body
from worlddb.projections.tables.names.canonical import NO_NAME, compose_name, name_digest, normalise_name, type_digest
from worlddb.projections.tables.reads import asof, table_reads
from worlddb.projections.tables.storage import schema
from worlddb.query.reads import build
from worlddb.query.records import records
from worlddb.query.snapshot import edge_rules, valid_period
from worlddb.query.snapshot.confined_tables import USER_SCOPE, USER_TYPE, user_named
from worlddb.query.snapshot.snapshot import Inhabitants, Scope, containers_at
from worlddb.query.snapshot.visible import SUMMARY_TYPE, VisibleSnapshot

if TYPE_CHECKING:
    from worlddb.log.beliefs.kref import Kref


def identity_class(snapshot: VisibleSnapshot, start: int, seq: int, spec: edge_rules.Spec) -> list[int]:
    """The worlds with the identity of a world, as known at a commit, itself included, in log order."""
    tables = snapshot.tables
    seen, pending = {start}, [start]
    while pending:
        node = pending.pop()
        for name in spec.identity_types:
            if (code := tables.type_code(name)) is None:
                continue
            incoming = tables.incoming(node, code, known_after=seq, known_by=seq)
            for place, row in (*tables.outgoing(node, code, known_by=seq), *incoming):
                ends = (place.source, row.target) if asof.edge_known(row, seq) else ()
                for end in ends if edge_rules.holds(snapshot, spec, name, "unify_identities", row.home) else ():
                    if end not in seen:
                        seen.add(end)
                        pending.append(end)
    return sorted(seen)


def expand_identities(snapshot: VisibleSnapshot, spec: edge_rules.Spec, nodes: Iterable[int]) -> frozenset[int]:
    """Some worlds, and all with the identity of any of them, as known to the snapshot."""
    found: set[int] = set()
    for node in nodes:
        if node not in found:
            found.update(identity_class(snapshot, node, snapshot.place.moment.seq, spec))
    return frozenset(found)


def stale_worlds(snapshot: VisibleSnapshot, spec: edge_rules.Spec, world: int) -> Iterator[records.World]:
    """The stale worlds inside a world at the snapshot's moment, in log order."""
    tables, moment = snapshot.tables, snapshot.place.moment
    summaries = {node for node, _ in tables.typed(SUMMARY_TYPE)}
    for node in snapshot.inhabitants(world):
        if node not in summaries and not snapshot.is_derived(node):
            continue
        seen = asof.version_at(tables, node, moment)
        if seen is not None and snapshot.is_made_of_others(node, seen.row) and not snapshot.hides(node):
            found = build.world_of(snapshot, node, seen, moment, spec)
            if found.stale:
                yield found


CURRENT: Final = name_digest("current")
"""The digest of the tag ``current``, which stands for the valid version."""


def tagged(snapshot: VisibleSnapshot, spec: edge_rules.Spec, digest: bytes, world: int) -> Iterator[records.World]:
    """The worlds inside a world that have a tag, each in the tagged version, in log order."""
    scope = snapshot.scope(world)
    for node in snapshot.tagged(digest):
        if scope.holds(node):
            found = tagged_version(snapshot, spec, digest, node)
            if found is not None:
                yield found


def tagged_version(snapshot: VisibleSnapshot, spec: edge_rules.Spec, digest: bytes, node: int) -> records.World | None:
    """A world in the version tagged at the moment; ``None`` without the tag, or if the world is hidden."""
    moment, version = snapshot.place.moment, snapshot.tagged_number(digest, node)
    seen = asof.version_known(snapshot.tables, node, version, moment.seq) if version else None
    return None if seen is None or snapshot.hides(node) else build.world_of(snapshot, node, seen, moment, spec)


class IdentityClasses:
    """The identities that a read has met, as visible and known at its moment."""

    def __init__(self, snapshot: VisibleSnapshot, spec: edge_rules.Spec) -> None:
        self._snapshot = snapshot
        self._spec = spec
        self._seen: set[int] = set()

    def members(self, node: int) -> list[int]:
        """The worlds with the identity of a world, itself included, in log order."""
        return identity_class(self._snapshot, node, self._snapshot.place.moment.seq, self._spec)

    def is_new(self, node: int) -> bool:
        """True if no world of this identity was met before."""
        if node in self._seen:
            return False
        self._seen.update(self.members(node))
        return True


TYPE_OF_TYPES = "Type"
"""The type of worlds that stand for the type of their name."""
INSTANCE_OF, SUBTYPE_OF = "instance_of", "subtype_of"


class TypeFilter(NamedTuple):
    """The types that match, and the nodes that match as instances, whatever their own type."""

    names: frozenset[str]
    instances: frozenset[int]


def type_filter(
    snapshot: VisibleSnapshot, type_name: str, moment: asof.Moment, spec: edge_rules.Spec, world: int
) -> TypeFilter:
    """The types and instances that a filter by ``type_name`` matches at a moment, with subtypes."""
    tables = snapshot.tables
    codes = {name: tables.type_code(name) for name in spec.lattice_types}
    visible = _LookupScope(snapshot, world, moment)
    standing = visible.nearest(
        node
        for node, first in tables.named(name_digest(type_name))
        if first <= moment.seq and _type_name_of(snapshot, node, moment) == type_name
    )
    names, instances, seen = {type_name}, set(), set(standing)
    while standing:
        node = standing.pop()
        for name, code in codes.items():
            for place, row in tables.incoming(node, code, known_by=moment.seq) if code is not None else ():
                if not asof.edge_seen(tables, place, row, moment):
                    continue
                if not edge_rules.holds(snapshot, spec, name, "widen_types", row.home):
                    continue
                subtype = None if name == INSTANCE_OF else _subtype_name(snapshot, place.source, name, moment)
                if subtype is None:
                    instances.add(place.source)
                elif place.source not in seen and visible.steps(place.source) is not None:
                    seen.add(place.source)
                    standing.append(place.source)
                    names.add(subtype)
    return TypeFilter(frozenset(names) - {""} | {type_name}, frozenset(instances))


def _subtype_name(snapshot: VisibleSnapshot, node: int, lattice_type: str, moment: asof.Moment) -> str | None:
    """The type that a lattice edge's source stands for; ``None`` if it is an instance.

    The source of ``subtype_of`` always is a type; the source of another edge type must be of type ``Type``.
    """
    if lattice_type == SUBTYPE_OF:
        return _name_at(snapshot, node, moment)
    return _type_name_of(snapshot, node, moment)


def _type_name_of(snapshot: VisibleSnapshot, node: int, moment: asof.Moment) -> str | None:
    """The type that a node of type ``Type`` stands for."""
    seen = asof.version_at(snapshot.tables, node, moment)
    if seen is None or seen.row.type != type_digest(TYPE_OF_TYPES):
        return None
    return _name_at(snapshot, node, moment)


def _name_at(snapshot: VisibleSnapshot, node: int, moment: asof.Moment) -> str:
    """The name of a node at a moment; empty if it has none then, or it was erased."""
    seen = asof.version_at(snapshot.tables, node, moment)
    body = None if seen is None else snapshot.body(seen.row)
    return "" if body is None else body.name


class _LookupScope:
    """The worlds that names resolve to in a query's world, and their distance upwards."""

    def __init__(self, snapshot: VisibleSnapshot, world: int, moment: asof.Moment) -> None:
        self._tables = snapshot.tables
        self._moment = moment
        self._scope = Scope(snapshot.tables, world, moment)
        self._around = {world: 0}
        level, steps = [world], 0
        while level:
            steps += 1
            above = {up for node in level for up in containers_at(self._tables, node, moment)}
            level = sorted(above - self._around.keys())
            self._around.update(dict.fromkeys(level, steps))

    def steps(self, node: int) -> int | None:
        """The distance up to a world's container; 0 for the query's world and its interior, ``None`` if not visible."""
        if self._scope.sees(node):
            return 0
        containers = containers_at(self._tables, node, self._moment)
        return min((self._around[up] for up in containers if up in self._around), default=None)

    def nearest(self, nodes: Iterable[int]) -> list[int]:
        """The nearest visible ones of the nodes."""
        found = {node: steps for node in nodes if (steps := self.steps(node)) is not None}
        return [node for node, steps in found.items() if steps == min(found.values())]


class Lookup(NamedTuple):
    """A lookup: by name or alias, by type, inside a node, and by digests of labels.

    ``after``: read one page, of the nodes behind this one.
    """

    name: str | None
    type: str | None
    inside: int
    labels: tuple[bytes, ...] = ()
    after: int | None = None


def find(
    snapshot: VisibleSnapshot,
    spec: edge_rules.Spec,
    wanted: Lookup,
    *,
    include_superseded: bool,
    period: valid_period.Period | None,
    unify: bool = False,
    memories: bool = False,
    among: Callable[[int], bool] | None = None,
) -> Iterator[records.World]:
    """The matching worlds, in log order; in a period each matching version, oldest first.

    ``among`` filters nodes before anything of them is read. Containment and the subtypes of a type are those of the
    view's moment. With ``unify``, each identity gives its first world that matches; the name may be another world's of
    the identity. With ``memories``, worlds that lie only in a fork are left out; in a lookup by name only if their
    origin has the name too.
    """
    if memories and wanted.name is not None and snapshot.has_forks:
        after, wanted = wanted.after, wanted._replace(after=None)
        found = find(snapshot, spec, wanted, include_superseded=include_superseded, period=period, unify=unify)
        known = _without_forks(snapshot, found)
        yield from known if after is None else (each for each in known if _node_of_record(snapshot, each) > after)
        return
    is_apart = fork_filter(snapshot, wanted.inside) if memories else _is_never_apart
    moment = snapshot.place.moment
    scope = Scope(snapshot.tables, wanted.inside, moment)
    types = None if wanted.type is None else type_filter(snapshot, wanted.type, moment, spec, wanted.inside)
    digests = None if types is None else frozenset(map(type_digest, types.names))

    def fitting(node: int, name: str | None) -> Iterator[records.World]:
        if (among is not None and not among(node)) or not scope.holds(node):
            return iter(())
        if not snapshot.has_labels(node, wanted.labels):
            return iter(())
        if is_apart(node) or (period is not None and snapshot.hides(node, period)):
            return iter(())
        if period is None:
            shown = build.shown_version(snapshot, node, moment, spec, include_superseded=include_superseded)
            seen = [] if shown is None else [shown]
        else:
            seen = [*valid_period.versions_in(snapshot.tables, node, moment, period)][::-1]
        # The row has the digest of the type: no record is built of what is of another one.
        if digests is not None and types is not None and node not in types.instances:
            seen = [version for version in seen if version.row.type in digests]
        versions = (build.world_of(snapshot, node, version, moment, spec, period) for version in seen)
        return (version for version in versions if _matches(version, node, name, types))

    classes = IdentityClasses(snapshot, spec) if unify else None
    for node in _candidates(snapshot, wanted, types):
        found = fitting(node, wanted.name)
        if classes is None:
            yield from found
        elif next(found, None) is not None and classes.is_new(node):
            yield from next(filter(None, (list(fitting(member, None)) for member in classes.members(node))))


def fork_filter(snapshot: VisibleSnapshot, inside: int) -> Callable[[int], bool]:
    """A predicate of worlds inside a world: true if they lie there only through forks."""
    if not snapshot.has_forks:
        return _is_never_apart
    from worlddb.query.forks.fork_reads import ForkMembership

    return ForkMembership(snapshot, inside)


def _is_never_apart(node: int) -> bool:
    return False


def nodes_named(snapshot: VisibleSnapshot, spec: edge_rules.Spec, name: str, inside: int) -> Iterator[int]:
    """The nodes that :func:`find` gives for a name alone; builds no records."""
    moment, form = snapshot.place.moment, normalise_name(name)
    scope = Scope(snapshot.tables, inside, moment)
    for node in _candidates(snapshot, Lookup(name, None, inside), None):
        seen = build.shown_version(snapshot, node, moment, spec) if scope.holds(node) else None
        if seen is None:
            continue
        body = snapshot.body(seen.row)
        names = ("" if body is None else body.name, *build.aliases(snapshot, node, moment.seq))
        if form in map(normalise_name, names):
            yield node


def _candidates(snapshot: VisibleSnapshot, wanted: Lookup, types: TypeFilter | None) -> Iterator[int]:
    """Nodes that may match, in log order."""
    tables, seq = snapshot.tables, snapshot.place.moment.seq
    after = -1 if wanted.after is None else wanted.after
    if wanted.name is not None:
        digest = name_digest(wanted.name)
        rows = _name_rows(snapshot, digest, wanted.inside) if digest != NO_NAME else iter(())
    elif wanted.labels and not snapshot.place.is_confined:
        rows = ((node, 0) for node in sorted(snapshot.labelled(wanted.labels[0])))
    elif types is not None and not snapshot.place.is_confined:
        typed = (tables.typed(type_digest(type_name), after=after) for type_name in types.names)
        instances = dict.fromkeys(types.instances, 0)
        if wanted.after is None:
            rows = iter(sorted((dict(chain.from_iterable(typed)) | instances).items()))
        else:
            rows = _unique_nodes(merge(*typed, sorted(instances.items())))
    else:
        # In a confined view, the rows of a type outside are not read, so they cost no time.
        rows = ((node, 0) for node in snapshot.inhabitants(wanted.inside, wanted.after))
    for node, first in rows:
        if node > after and first <= seq and tables.node(node).created <= seq:
            yield node


def _unique_nodes(rows: Iterator[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The first row of each node, from rows in log order; it was known first."""
    last = -1
    for node, first in rows:
        if node != last:
            yield node, first
        last = node


_NAMED_BATCH: Final = 2
"""Nodes of a name in the first batch, before the members of the world are listed."""
_LISTED_PER_NODE: Final = 16
"""The number of members listed in the time that checking the containers of one node takes."""


def _name_rows(snapshot: VisibleSnapshot, digest: bytes, inside: int) -> Iterator[tuple[int, int]]:
    """The rows of a name in log order; if a world has few members, without most of the rows outside it.

    Many worlds in many places may share a name, so the rows and the members are read alternately until either ends.
    """
    rows = snapshot.tables.named(digest)
    if inside == schema.ROOT_NODE:
        yield from rows
        return
    members, most, last = Inhabitants(snapshot.tables, inside, snapshot.place.moment), _NAMED_BATCH, -1
    while few := list(islice(rows, most)):
        yield from few
        if len(few) < most:
            return
        last, most = few[-1][0], 4 * most
        if (listed := members.listed(_LISTED_PER_NODE * most)) is not None:
            yield from snapshot.tables.named(digest, nodes=sorted(node for node in listed if node > last))
            return


def _matches(record: records.World, node: int, name: str | None, types: TypeFilter | None) -> bool:
    if types is not None and record.type not in types.names and node not in types.instances:
        return False
    return name is None or normalise_name(name) in {normalise_name(text) for text in (record.name, *record.aliases)}


_MAX_LISTED: Final = 8
"""How many worlds an error lists."""


def named_node(snapshot: VisibleSnapshot, spec: edge_rules.Spec, ref: Any, *, unify: bool = False) -> int:
    """The node of a world by a reference, a prefix of one, a kref, or its exact name or an alias.

    A possible reference is looked up as one first. Names are compared by :func:`normalise_name`. Worlds that
    are valid in the view take precedence over others, a world (even an ended one) over its forks, worlds in no user's
    world over those in one, and all others over the outermost visible world. With ``unify``, an identity counts as its
    first world. A text that is a prefix of one world's reference and the name of another is ambiguous.

    Raises:
        UnknownReference: nothing visible has this reference or name.
        AmbiguousReference: several worlds have; their references are in ``details["candidates"]``, worlds of that name
            first.
        InputError: it is neither a reference nor a name.
    """
    given = ids.as_ref(ref)
    if isinstance(given, str) and ids.is_kref(given):
        from worlddb.log.beliefs import kref

        return kref_node(snapshot, spec, kref.item_of(given))
    try:
        node = table_reads.find_node(snapshot.tables, given, snapshot.place.moment.seq)
    except errors.AmbiguousReference as several:
        if isinstance(given, str):
            _refuse_ambiguous_prefix(snapshot, spec, given, unify, several.details["candidates"])
        raise
    except errors.InputError as error:
        if not isinstance(given, str) or name_digest(given) == NO_NAME:
            raise
        if not snapshot.place.moment.seq:
            raise errors.UnknownReference("Nothing had been committed yet", table_reads.NOTHING_YET) from None
        no_reference = error
    else:
        if isinstance(given, str):
            _refuse_ambiguous_prefix(snapshot, spec, given, unify, [snapshot.ref(node)])
        return node
    found = _find_named(snapshot, spec, given, unify)
    if len(found) > 1:
        found = _outside_user_worlds(snapshot, spec, given, unify, found)
    if len(found) > 1:
        raise _ambiguous_name(given, found)
    if found:
        return table_reads.find_node(snapshot.tables, bytes.fromhex(found[0].ref), snapshot.place.moment.seq)
    if _is_name_of_top(snapshot, given):
        return snapshot.place.top
    if isinstance(no_reference, errors.UnknownReference):
        raise no_reference
    raise errors.UnknownReference(
        f"No world has the reference or the name {given[:80]!r}", "Look for it with recall or find", ref=given[:80]
    )


_MAX_NAMESAKES: Final = 256
"""How many worlds of a name are checked for lying in a user's world."""


def _outside_user_worlds(
    snapshot: VisibleSnapshot, spec: edge_rules.Spec, name: str, unify: bool, found: list[records.World]
) -> list[records.World]:
    """Of several worlds of a name, those in no user's world if there are any; all if there are very many."""
    named = snapshot.tables.named(name_digest(name))
    if sum(1 for _ in islice(named, _MAX_NAMESAKES + 1)) > _MAX_NAMESAKES:
        return found
    others = _find_named(snapshot, spec, name, unify, lambda node: user_world_around(snapshot, node) is None)
    return others if others and others[0].closed == found[0].closed else found


def node_to_write(snapshot: VisibleSnapshot, spec: edge_rules.Spec, ref: Any, *, unify: bool = False) -> int:
    """As :func:`named_node`, for a write: a name never resolves to a world inside a user's world.

    The Ana of one user is not the Ana of another, nor a new world at the top level. To write into a scope or the world
    of a user, give a reference, or a name in a view of that world.

    Raises:
        UnknownReference: the only world of the name lies in somebody's world, and as in :func:`named_node`.
    """
    node, given = named_node(snapshot, spec, ref, unify=unify), ids.as_ref(ref)
    lineage = snapshot.ref(node)
    if not isinstance(given, str) or ids.is_kref(given):
        return node
    # A name of one letter may begin the reference by chance.
    if ids.is_reference(given) and lineage.startswith(given.strip().lower()):
        return node
    holder = user_world_around(snapshot, node)
    if holder is None:
        return node
    called = build.newest_name(snapshot, holder, snapshot.place.moment.seq)
    told = called or f"the world {ids.short(snapshot.tables.node(holder).lineage)}"
    raise errors.UnknownReference(
        f"The only world called {given[:80]!r} is {ids.short(lineage)}, in {told[:80]!r}, and a name alone never"
        " finds a world of a user",
        f"To mean that world, give its reference, {lineage}, or write as that user; otherwise create another one first",
        ref=given[:80],
        candidates=[lineage],
    )


_USER_WORLD_TYPES: Final = frozenset(("scope", "user", "world"))
"""The types (in any case) of worlds that belong to one user, agent, app, or client."""


def _is_somebodys(body: Body) -> bool:
    return body.type.casefold() in _USER_WORLD_TYPES


def _is_users(body: Body) -> bool:
    return bool(user_named(body))


def user_of(snapshot: VisibleSnapshot, node: int) -> str:
    """The name of the user whose world a world is; empty if it is no user's."""
    newest = asof.newest_version(snapshot.tables, node, snapshot.place.moment.seq)
    body = None if newest is None else snapshot.body(newest.row)
    return user_named(body)


def user_world_around(
    snapshot: VisibleSnapshot, node: int, is_meant: Callable[[Body], bool] = _is_somebodys
) -> int | None:
    """The nearest container of a node that belongs to a user; ``None`` if there is none."""
    seen, pending = {snapshot.place.top}, [node]
    while pending:
        here = pending.pop()
        around = set(snapshot.containers(here)) or _known_containers(snapshot, here)
        for each in sorted(around - seen):
            newest = asof.newest_version(snapshot.tables, each, snapshot.place.moment.seq)
            body = None if newest is None else snapshot.body(newest.row)
            if body is not None and is_meant(body):
                return each
            seen.add(each)
            pending.append(each)
    return None


def top_level_namesakes(
    snapshot: VisibleSnapshot, spec: edge_rules.Spec, name: str, is_meant: Callable[[records.World], bool]
) -> list[records.World]:
    """The top-level worlds of a name with precedence over all others of it, filtered by ``is_meant``.

    They lie directly in the outermost visible world: a person who is mentioned is not the user of that name.
    """
    return _find_named(snapshot, spec, name, False, partial(_is_top_level, snapshot), is_meant)


def _is_top_level(snapshot: VisibleSnapshot, node: int) -> bool:
    """Whether the outermost world contains a node directly; without a container now, whether no other ever did.

    The imported root of another store counts as the place where it lies.
    """
    around = set(snapshot.containers(node))
    if not around:
        return _known_containers(snapshot, node) == {snapshot.place.top}
    taken_in = (each for each in around if each != snapshot.place.top and _is_imported_root(snapshot, each))
    return snapshot.place.top in around or any(_is_top_level(snapshot, each) for each in taken_in)


def _find_named(
    snapshot: VisibleSnapshot,
    spec: edge_rules.Spec,
    name: str,
    unify: bool,
    among: Callable[[int], bool] | None = None,
    is_meant: Callable[[records.World], bool] | None = None,
) -> list[records.World]:
    """The worlds of a name with precedence over all others of it, filtered by ``among`` and ``is_meant``."""
    wanted = Lookup(name, None, snapshot.place.top)
    how: dict[str, Any] = {"period": None, "unify": unify, "among": among}
    for superseded in (False, True):
        worlds = find(snapshot, spec, wanted, include_superseded=superseded, **how)
        worlds = worlds if is_meant is None else filter(is_meant, worlds)
        found = list(islice(_without_forks(snapshot, worlds), _MAX_LISTED + 1))
        if found and not superseded and snapshot.has_forks:
            found = _without_forks_of_ended(snapshot, spec, wanted, unify, found)
        if found:
            return found
    return []


def _without_forks_of_ended(
    snapshot: VisibleSnapshot, spec: edge_rules.Spec, wanted: Lookup, unify: bool, found: list[records.World]
) -> list[records.World]:
    """Worlds of a name without forks whose origin has ended and has that name too."""
    origins = [frozenset(_origins(snapshot, _node_of_record(snapshot, world))) for world in found]
    if not any(origins):
        return found
    ever = find(snapshot, spec, wanted, include_superseded=True, period=None, unify=unify)
    called = {_node_of_record(snapshot, world) for world in ever}
    return [world for world, goes_on_from in zip(found, origins, strict=True) if called.isdisjoint(goes_on_from)]


def _refuse_ambiguous_prefix(
    snapshot: VisibleSnapshot, spec: edge_rules.Spec, prefix: str, unify: bool, begun: Sequence[str]
) -> None:
    """Refuse a prefix of references that is also the name of another world.

    Raises:
        AmbiguousReference: it is.
    """
    named = [world for world in _find_named(snapshot, spec, prefix, unify) if world.ref not in begun]
    if named:
        several = ", ".join(f"{each.ref} ({each.type})" for each in named)
        raise errors.AmbiguousReference(
            f"{prefix!r} is the name of {several} and also the start of the reference {begun[0]}",
            "Give the full reference of one of them",
            candidates=[*(each.ref for each in named), *begun],
        )


def _without_forks(snapshot: VisibleSnapshot, found: Iterator[records.World]) -> Iterator[records.World]:
    """Worlds in log order without forks of an earlier one of them."""
    seen: set[int] = set()
    for world in found:
        node = _node_of_record(snapshot, world)
        if not seen or seen.isdisjoint(_origins(snapshot, node)):
            yield world
        seen.add(node)


def _origins(snapshot: VisibleSnapshot, node: int) -> Iterator[int]:
    from worlddb.projections.tables.forks import fork_rows

    rows = fork_rows.origins_of(snapshot.store_tables, node, snapshot.place.moment.seq)
    return (row.origin for row in rows if row.how != fork_rows.BROUGHT)


_MAX_KEY_HOPS: Final = 8
"""How many worlds that are no longer visible inside a key is followed past; more would reveal their number."""


def keyed_node(snapshot: VisibleSnapshot, key: str) -> int | None:
    """The last node that was created under a caller's key, as known at the snapshot's moment."""
    tables, seq, secret = snapshot.tables, snapshot.place.moment.seq, snapshot.secret()

    def known(lineage: bytes) -> int | None:
        node = tables.node_of(lineage)
        return node if node is not None and tables.node(node).created <= seq else None

    lineage = hashing.keyed_lineage(secret, key.encode())
    if snapshot.place.is_confined:
        top, first = tables.node(snapshot.place.top).lineage, lineage
        for _ in range(_MAX_KEY_HOPS):
            if known(lineage) is not None:
                break
            lineage = hashing.keyed_lineage_within(secret, top, lineage)
        else:
            lineage = first
    node = known(lineage)
    found = node
    while node is not None:
        found, lineage = node, hashing.next_keyed_lineage(secret, lineage)
        node = known(lineage)
    return found


PROJECT, SPACE = "Project", "Space"
"""The types of the worlds that a kref names around its item."""


def kref_node(snapshot: VisibleSnapshot, spec: edge_rules.Spec, wanted: Kref) -> int:
    """The node of the item of a kref, valid or not.

    It is the last world that was created under the kref. If there is none (the item came in a bundle from a store with
    other keys, or the kref has its later name), it is the only world with exactly that name or alias and that type
    directly in the space.

    Raises:
        UnknownReference: nothing visible is there.
        AmbiguousReference: nothing was created there, and several worlds of the name and the type lie there.
    """
    if (node := keyed_node(snapshot, wanted.item_key)) is not None:
        return node
    places = zip((wanted.project, *wanted.spaces), wanted.container_keys, strict=True)
    here: int | None = None
    for name, key in places:
        keyed = keyed_node(snapshot, key)
        here = _find_member(snapshot, spec, here, (name, SPACE if here else PROJECT)) if keyed is None else keyed
        if here is None:
            raise errors.UnknownReference(f"There is no {key!r:.200}", "Look at what there is with find", ref=key[:200])
    node = _find_member(snapshot, spec, here, (wanted.name, wanted.kind))
    if node is None:
        text = wanted.item_key
        raise errors.UnknownReference(f"There is nothing at {text!r:.200}", "Make it with create_at", ref=text[:200])
    return node


def _find_member(
    snapshot: VisibleSnapshot, spec: edge_rules.Spec, world: int | None, wanted: tuple[str, str]
) -> int | None:
    """The only member of a world (default: of any) with a name or alias and a type, else ``None``."""
    name, kind = wanted
    tables, moment = snapshot.tables, snapshot.place.moment
    within = Lookup(name, None, snapshot.place.top if world is None else world)
    for superseded in (False, True):
        found = [
            (table_reads.find_node(tables, bytes.fromhex(each.ref), moment.seq), each)
            for each in find(snapshot, spec, within, include_superseded=superseded, period=None)
            if each.type == kind and name in (each.name, *each.aliases)
        ]
        found = [each for each in found if world is None or world in containers_at(tables, each[0], moment)]
        if len(found) > 1:
            raise _ambiguous_name(name, [record for _, record in found])
        if found:
            return found[0][0]
    return None


def kref_of(snapshot: VisibleSnapshot, spec: edge_rules.Spec, node: int) -> Kref | None:
    """The kref of a world by its present name and place; ``None`` if that does not resolve to the world."""
    from worlddb.log.beliefs import kref

    tables, moment = snapshot.tables, snapshot.place.moment

    def told(at: int) -> records.World | None:
        return build.world(snapshot, at, moment, spec, include_superseded=True)

    item, spaces, here = told(node), list[str](), node
    for _ in range(kref.MAX_SPACES + 1):
        around = ((up, told(up)) for up in containers_at(tables, here, moment))
        found = next(((up, each) for up, each in around if each is not None and each.type in (PROJECT, SPACE)), None)
        if item is None or found is None:
            return None
        here, container = found
        if container.type == PROJECT:
            try:
                made = kref.Kref(container.name, tuple(reversed(spaces)), item.name, item.type)
                wanted = kref.parse_kref(str(made))
                return wanted if kref_node(snapshot, spec, wanted) == node else None
            except errors.InputError:
                # Not every name is allowed in a kref, and several worlds may have the same one.
                return None
        spaces.append(container.name)
    return None


def version_of(snapshot: VisibleSnapshot, spec: edge_rules.Spec, node: int, number: int) -> records.World | None:
    """A version of a world by its number, valid or not; ``None`` if the world is hidden.

    Raises:
        UnknownReference: the moment knows no such version.
    """
    moment, row = snapshot.place.moment, snapshot.tables.node(node)
    seen = asof.version_known(snapshot.tables, node, number, moment.seq) if number <= row.versions else None
    if seen is None:
        shown = ids.short(row.lineage)
        raise errors.UnknownReference(f"{shown} has no version {number}", "Look at its versions with history")
    return None if snapshot.hides(node) else build.world_of(snapshot, node, seen, moment, spec)


_ROOT: Final = "Root"


def worlds_of_user(snapshot: VisibleSnapshot, spec: edge_rules.Spec, name: str, inside: int) -> list[records.World]:
    """The worlds of a user in log order, retired ones included, forks excluded.

    These are the scopes ``user:NAME``, and the world of type ``User`` of this name. The name of a scope itself,
    ``user:ana``, means that scope, unless it is a user's name. Other worlds of the name, a tenant's or a team's, are
    found by reference only. Names are compared exactly, in composed form (NFC).

    Raises:
        UnknownReference: there is no such user; ``details["near"]`` has names that differ only in case or blanks.
        AmbiguousReference: several users have the name, of several tenants for example.
    """

    def called(text: str) -> list[records.World]:
        return list(find(snapshot, spec, Lookup(text, None, inside), include_superseded=True, period=None))

    others = called(name)
    scopes = [world for world in (*called(f"{USER_SCOPE}{name}"), *others) if world.type == "Scope"]
    typed = [world for world in others if world.type.casefold() == USER_TYPE]
    meant = compose_name(name)
    own = [
        each
        for each in scopes
        if compose_name(each.name) in (f"{USER_SCOPE}{meant}", meant) and each.name.startswith(USER_SCOPE)
    ]
    own = list(_without_forks(snapshot, iter(own)))
    own = _outside_other_users(snapshot, own)
    found = own + list(_without_forks(snapshot, (world for world in typed if compose_name(world.name) == meant)))
    if not found:
        near = sorted({world.name.removeprefix(USER_SCOPE) for world in (*scopes, *typed)})
        users = ", ".join(map(repr, near[:_MAX_LISTED]))
        no_users = ", ".join(f"{ids.short(bytes.fromhex(world.ref))} ({world.type})" for world in others[:_MAX_LISTED])
        raise errors.UnknownReference(
            f"There is no user {name[:80]!r}"
            + (f"; users are called {users}" if users else "")
            + (f"; of that name, but no user: {no_users}" if no_users else ""),
            "Give the name as it was written, or the reference of the world that is theirs",
            near=near[:_MAX_LISTED],
        )
    places = {_known_containers(snapshot, _node_of_record(snapshot, world)) for world in found}
    if len(places) > 1 or len({compose_name(world.name) for world in own}) > 1 or len(found) > len(own) + 1:
        raise _ambiguous_name(name, found)
    return found


def _outside_other_users(snapshot: VisibleSnapshot, scopes: list[records.World]) -> list[records.World]:
    """Scopes of one name without those that lie in the world of another user, unless all do.

    A user's key, or an agent of theirs, may have begun such a one: what is there is that user's.
    """
    outside = [
        world for world in scopes if user_world_around(snapshot, _node_of_record(snapshot, world), _is_users) is None
    ]
    return outside or scopes


def _known_containers(snapshot: VisibleSnapshot, node: int) -> frozenset[int]:
    """The worlds that contain a node at any valid time, as known at the moment.

    The imported root of another store is replaced by its containers, so that its users' worlds are theirs here too.
    """
    seq = snapshot.place.moment.seq
    found, pending, seen = set[int](), [node], set[int]()
    while pending:
        placed = snapshot.tables.incoming(pending.pop(), schema.CONTAINS_CODE, known_after=seq, known_by=seq)
        for source in {place.source for place, row in placed if row.unlinked > seq} - seen:
            seen.add(source)
            if _is_imported_root(snapshot, source):
                pending.append(source)
            else:
                found.add(source)
    return frozenset(found)


def _is_imported_root(snapshot: VisibleSnapshot, node: int) -> bool:
    """Whether a world is the root of another store that was imported in a bundle."""
    newest = asof.newest_version(snapshot.tables, node, snapshot.place.moment.seq)
    body = None if newest is None else snapshot.body(newest.row)
    if newest is None or body is None or body.type != _ROOT:
        return False
    return "imported" in snapshot.details(newest.row.seq, newest.row.details).source


def _node_of_record(snapshot: VisibleSnapshot, world: records.World) -> int:
    return table_reads.find_node(snapshot.tables, bytes.fromhex(world.ref), snapshot.place.moment.seq)


def _is_name_of_top(snapshot: VisibleSnapshot, name: str) -> bool:
    """Whether a name is the outermost world's; that lies inside nothing visible, so a lookup does not find it."""
    # Builds no record: that would look up containers, and so reveal what else is there.
    node, moment = snapshot.place.top, snapshot.place.moment
    seen = next(valid_period.versions_in(snapshot.tables, node, moment, None), None)
    seen = asof.newest_version(snapshot.tables, node, moment.seq) if seen is None else seen
    body = None if seen is None else snapshot.body(seen.row)
    names = () if body is None else (body.name, *build.aliases(snapshot, node, moment.seq))
    return normalise_name(name) in map(normalise_name, names)


def _ambiguous_name(name: str, found: list[records.World]) -> errors.AmbiguousReference:
    listed = ", ".join(f"{ids.short(bytes.fromhex(world.ref))} ({world.type})" for world in found[:_MAX_LISTED])
    more = ", and more" if len(found) > _MAX_LISTED else ""
    return errors.AmbiguousReference(
        f"Several worlds are called {name[:80]!r}: {listed}{more}",
        "Give the reference of one of them",
        candidates=[world.ref for world in found[:_MAX_LISTED]],
    )
