"""What people call worlds: a reference or a prefix of one, else an exact name or alias, as a view knows them."""

from __future__ import annotations

from itertools import islice
from typing import Any, Final

from worlddb.log.model.errors import AmbiguousReference, InputError, UnknownReference
from worlddb.log.model.ids import as_ref, short
from worlddb.projections.tables.names.canonical import NO_NAME, name_digest, normalised
from worlddb.projections.tables.reads.lookup import NOTHING_YET, find_node
from worlddb.query.reads import build
from worlddb.query.reads.find import Wanted, find
from worlddb.query.records import records
from worlddb.query.snapshot.edge_rules import Spec
from worlddb.query.snapshot.visible import VisibleSnapshot

_SHOWN: Final = 8
"""How many worlds of one name an error lists."""


def named_node(sight: VisibleSnapshot, spec: Spec, ref: Any, *, unify: bool = False) -> int:
    """The node of a world that is named by a reference, a prefix of one, or else by its exact name or an alias.

    What could be a reference is looked for as one first. Names are compared as :func:`normalised` has them; worlds that
    are valid in the view come before those that are not, and the outermost world that is seen after all others. With
    ``unify``, several worlds of one identity are the first of them.

    Raises:
        UnknownReference: nothing that is seen is called so.
        AmbiguousReference: several worlds are; they are listed, with their references in ``details["candidates"]``.
        InputError: it is neither a reference nor a name.
    """
    given = as_ref(ref)
    try:
        return find_node(sight.tables, given, sight.place.moment.seq)
    except AmbiguousReference:
        raise
    except InputError as error:
        if not isinstance(given, str) or name_digest(given) == NO_NAME:
            raise
        if not sight.place.moment.seq:
            raise UnknownReference("Nothing had been committed yet", NOTHING_YET) from None
        no_reference = error
    found = _called(sight, spec, given, unify, include_superseded=False)
    found = found or _called(sight, spec, given, unify, include_superseded=True)
    if len(found) > 1:
        raise _ambiguous(given, found)
    if found:
        return find_node(sight.tables, bytes.fromhex(found[0].ref), sight.place.moment.seq)
    if _is_outermost(sight, spec, given):
        return sight.place.top
    if isinstance(no_reference, UnknownReference):
        raise no_reference
    raise UnknownReference(
        f"No world has the reference or the name {given[:80]!r}", "Look for it with recall or find", ref=given[:80]
    )


def _called(
    sight: VisibleSnapshot, spec: Spec, name: str, unify: bool, *, include_superseded: bool
) -> list[records.World]:
    wanted = Wanted(name, None, sight.place.top)
    found = find(sight, spec, wanted, include_superseded=include_superseded, period=None, unify=unify)
    return list(islice(found, _SHOWN + 1))


def _is_outermost(sight: VisibleSnapshot, spec: Spec, name: str) -> bool:
    """The outermost world is inside of nothing that is seen, so no lookup by name finds it."""
    top = build.world(sight, sight.place.top, sight.place.moment, spec, include_superseded=True)
    return top is not None and normalised(name) in {normalised(text) for text in (top.name, *top.aliases)}


def _ambiguous(name: str, found: list[records.World]) -> AmbiguousReference:
    listed = ", ".join(f"{short(bytes.fromhex(world.ref))} ({world.type})" for world in found[:_SHOWN])
    more = ", and more" if len(found) > _SHOWN else ""
    return AmbiguousReference(
        f"Several worlds are called {name[:80]!r}: {listed}{more}",
        "Give the reference of one of them",
        candidates=[world.ref for world in found[:_SHOWN]],
    )
