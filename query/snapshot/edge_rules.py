"""How edge types change what queries see, and which types are in force where (paper §2.2).

A handler's rewrites are in its registration, so a process without the handler gives the same answers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from worlddb.log.model.events import RewriteName
from worlddb.projections.tables.apply.settings import Registration
from worlddb.projections.tables.storage.schema import ROOT_NODE
from worlddb.query.records import records
from worlddb.query.snapshot.visible import VisibleSnapshot


class Spec(msgspec.Struct, frozen=True, kw_only=True):
    """How a query sees edges, by their types; each edge type's rewrite adds to it."""

    hides_closed: bool = False
    conflict_types: frozenset[str] = frozenset()
    lattice_types: frozenset[str] = frozenset()
    crossing_types: frozenset[str] = frozenset()
    identity_types: frozenset[str] = frozenset()
    scoped_types: frozenset[str] = frozenset()
    """Types whose rewrites apply in some worlds only; the home of an edge decides."""
    missing_types: tuple[str, ...] = ()
    """Registered types whose registered code this process does not have."""
    built_in: tuple[tuple[str, int], ...] = ()
    """Names and versions of the built-in types."""
    codes: frozenset[tuple[str, int, bytes]] = frozenset()
    """Type, version and digest of the handlers that the process was given."""
    symmetric_types: frozenset[str] = frozenset()
    """Declared relations without a direction."""
    inverses: tuple[tuple[str, str], ...] = ()
    """Names of declared relations read from target to source, each with its relation."""

    def directed(self, type_name: str, direction: str) -> tuple[str, str]:
        """Resolve the name of a relation or of its inverse to a type and a direction."""
        for inverse, relation in self.inverses:
            if inverse == type_name:
                return relation, _OPPOSITE[direction]
        return type_name, "both" if type_name in self.symmetric_types else direction

    @property
    def rewriting_types(self) -> frozenset[str]:
        """Types that change how queries see their edges."""
        return self.conflict_types | self.lattice_types | self.crossing_types | self.identity_types

    def hide_closed(self) -> Spec:
        return msgspec.structs.replace(self, hides_closed=True)

    def show_conflicts(self, edge_type: str) -> Spec:
        return msgspec.structs.replace(self, conflict_types=self.conflict_types | {edge_type})

    def widen_types(self, edge_type: str) -> Spec:
        return msgspec.structs.replace(self, lattice_types=self.lattice_types | {edge_type})

    def cross_worlds(self, edge_type: str) -> Spec:
        return msgspec.structs.replace(self, crossing_types=self.crossing_types | {edge_type})

    def unify_identities(self, edge_type: str) -> Spec:
        return msgspec.structs.replace(self, identity_types=self.identity_types | {edge_type})


_OPPOSITE: Final = {"out": "in", "in": "out", "both": "both"}
Rewrite = Callable[[Spec], Spec]
"""An edge type's rewrite, handed to the query by the façade as a value."""


def rewrite_spec(rewrites: tuple[Rewrite, ...], built_in: tuple[tuple[str, int], ...]) -> Spec:
    """Apply the rewrites of all built-in edge types to an empty specification."""
    spec = Spec(built_in=built_in)
    for rewrite in rewrites:
        spec = rewrite(spec)
    return spec


_APPLY: Final[dict[RewriteName, Callable[[Spec, str], Spec]]] = {
    "hide_closed": lambda spec, _: spec.hide_closed(),
    "show_conflicts": Spec.show_conflicts,
    "widen_types": Spec.widen_types,
    "cross_worlds": Spec.cross_worlds,
    "unify_identities": Spec.unify_identities,
}


def spec_of(spec: Spec, known: Sequence[Registration], codes: frozenset[tuple[str, int, bytes]]) -> Spec:
    """Apply the rewrites of the registered types to a specification; ``codes`` are the process's handlers."""
    scoped: set[str] = set()
    missing: set[str] = set()
    declared = [(one.type, laws) for one in known if (laws := one.laws) is not None]
    for one in known:
        if one.is_built_in:
            continue
        for rewrite in one.rewrites:
            spec = _APPLY[rewrite](spec, one.type)
        if one.world != ROOT_NODE:
            scoped.add(one.type)
        if not _has_handler(one, codes):
            missing.add(one.type)
    return msgspec.structs.replace(
        spec,
        scoped_types=frozenset(scoped),
        missing_types=tuple(sorted(missing)),
        codes=codes,
        symmetric_types=frozenset(name for name, laws in declared if laws.symmetric),
        inverses=tuple(sorted({(laws.inverse, name) for name, laws in declared if laws.inverse})),
    )


def holds(snapshot: VisibleSnapshot, spec: Spec, type_name: str, rewrite: RewriteName, home: int) -> bool:
    """True if a type's rewrite applies to edges whose home is a given world."""
    if type_name not in spec.scoped_types:
        return True
    found = snapshot.registration(type_name, home)
    return found is not None and rewrite in found.rewrites


def unifies(snapshot: VisibleSnapshot, spec: Spec, type_name: str, home: int) -> bool:
    """True if edges of a type with this home unify the identities of their ends."""
    return type_name in spec.identity_types and holds(snapshot, spec, type_name, "unify_identities", home)


def edge_types(snapshot: VisibleSnapshot, spec: Spec, home: int | None, *, ended: bool) -> list[records.EdgeType]:
    """Every registration in force, or with ``home`` those that hold for edges at home there.

    ``ended`` are listed where no home is asked for.
    """
    known = sorted(snapshot.registered(ended=ended and home is None), key=lambda one: (one.seq, one.world, one.type))
    if home is not None:
        nearest = (snapshot.registration(name, home) for name in dict.fromkeys(one.type for one in known))
        known = [one for one in nearest if one is not None]
    seq = snapshot.place.moment.seq
    in_force = (one for one in known if one.is_built_in and one.row.ended > seq)
    said = {one.type for one in in_force if home is not None or one.world == snapshot.place.top}
    said |= {one.type for one in known if not one.is_built_in and one.row.ended > seq}
    listed = [_built_in_record(snapshot, name, version) for name, version in spec.built_in if name not in said]
    listed += [_registered_record(snapshot, spec, one) for one in known]
    order = {name: place for place, (name, _) in enumerate(spec.built_in)}
    return sorted(listed, key=lambda one: (order.get(one.name, len(order)), one.seq))


def _has_handler(known: Registration, codes: frozenset[tuple[str, int, bytes]]) -> bool:
    return (
        known.is_built_in
        or known.laws is not None
        or (known.type, known.row.handler_version, known.row.digest) in codes
    )


def _built_in_record(snapshot: VisibleSnapshot, name: str, version: int) -> records.EdgeType:
    return records.EdgeType(
        name=name,
        version=version,
        digest="",
        digest_of="built_in",
        rewrites=(),
        functional=False,
        world=snapshot.ref(snapshot.place.top),
        seq=0,
        ended=0,
        why="",
        available=True,
    )


def _registered_record(snapshot: VisibleSnapshot, spec: Spec, known: Registration) -> records.EdgeType:
    laws = known.laws
    return records.EdgeType(
        name=known.type,
        version=known.row.handler_version,
        digest="" if known.is_built_in or laws is not None else known.row.digest.hex(),
        digest_of=known.digest_of,
        rewrites=known.rewrites,
        functional=known.is_functional,
        world=snapshot.ref(known.world),
        seq=known.seq,
        ended=known.row.ended if known.row.ended <= snapshot.place.moment.seq else 0,
        why=snapshot.details(known.seq, known.row.details).why,
        available=_has_handler(known, spec.codes),
        laws=() if laws is None else laws.names,
        inverse="" if laws is None else laws.inverse,
    )
