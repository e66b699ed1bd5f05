"""Looking worlds up by name, by type, and by what contains them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from worlddb.projections.tables.names.canonical import NO_NAME, name_digest, normalised, type_digest
from worlddb.query import build, records
from worlddb.query.period import Period, versions_in
from worlddb.query.scope import Scope
from worlddb.query.sight import Sight
from worlddb.query.spec import Spec
from worlddb.query.types import TypeFilter, type_filter
from worlddb.query.unify import Classes


class Wanted(NamedTuple):
    """What is looked for: a name or alias, a type, and the node of the world around it."""

    name: str | None
    type: str | None
    inside: int


def find(
    sight: Sight,
    spec: Spec,
    wanted: Wanted,
    *,
    include_superseded: bool,
    period: Period | None,
    unify: bool = False,
) -> Iterator[records.World]:
    """The worlds that fit, in log order; of a period each version that fits there, oldest first.

    Where is judged at the view's moment, and so is which types a type stands for. With ``unify``, of each identity the
    first world that fits but for the name, which another of its worlds may have.
    """
    moment = sight.place.moment
    scope = Scope(sight.tables, wanted.inside, moment)
    types = None if wanted.type is None else type_filter(sight, wanted.type, moment, spec, wanted.inside)

    def fitting(node: int, name: str | None) -> Iterator[records.World]:
        if not scope.holds(node):
            return iter(())
        if period is None:
            record = build.world(sight, node, moment, spec, include_superseded=include_superseded)
            versions = iter(() if record is None else (record,))
        else:
            seen = [*versions_in(sight.tables, node, moment, period)][::-1]
            versions = (build.world_of(sight, node, version, moment, spec, period) for version in seen)
        return (version for version in versions if _fits(version, node, name, types))

    classes = Classes(sight, spec) if unify else None
    for node in _candidates(sight, wanted, types):
        found = fitting(node, wanted.name)
        if classes is None:
            yield from found
        elif next(found, None) is not None and classes.is_new(node):
            yield from next(filter(None, (list(fitting(member, None)) for member in classes.members(node))))


def _candidates(sight: Sight, wanted: Wanted, types: TypeFilter | None) -> Iterator[int]:
    """Nodes that may fit, in log order."""
    tables, seq = sight.tables, sight.place.moment.seq
    if wanted.name is not None:
        digest = name_digest(wanted.name)
        rows = tables.named(digest) if digest != NO_NAME else iter(())
    elif types is not None and not sight.place.is_confined:
        typed = {node: first for type_name in types.names for node, first in tables.typed(type_digest(type_name))}
        rows = iter(sorted((typed | dict.fromkeys(types.instances, 0)).items()))
    else:
        # What others have of a type is neither read nor waited for.
        rows = ((node, 0) for node in sight.inhabitants(wanted.inside))
    for node, first in rows:
        if first <= seq and tables.node(node).created <= seq:
            yield node


def _fits(record: records.World, node: int, name: str | None, types: TypeFilter | None) -> bool:
    if types is not None and record.type not in types.names and node not in types.instances:
        return False
    return name is None or normalised(name) in {normalised(text) for text in (record.name, *record.aliases)}
