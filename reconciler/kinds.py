"""Which types may be of one and the same world: equal ones, and those of which one is a subtype of the other.

One subtype is built in: a Person is an Entity, which is what speakers of conversations are. All others are what
``subtype_of`` says between the worlds of type ``Type`` that are named after them; these count where they count for
queries too: inside the world, and directly in a world around it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from worlddb.projections.tables.names.canonical import name_digest, type_digest
from worlddb.projections.tables.storage.schema import ROOT_NODE
from worlddb.reconciler.context import Context

TYPE: Final = "Type"
BUILT_IN: Final = {"Person": "Entity"}
"""Subtypes that nobody has to state, with what is above them."""


def are_compatible(ctx: Context, one: str, node: int, world: int) -> bool:
    """True if a candidate of a type, in a world, may be a world that is there and has another type."""
    body = ctx.body(node)
    other = "" if body is None else body.type
    return other in _above(ctx, one, world) or one in _above(ctx, other, world)


def _above(ctx: Context, type_name: str, world: int) -> Iterator[str]:
    """The types that a type is a subtype of, at any remove."""
    is_stated = next(iter(ctx.tables.typed(type_digest(TYPE))), None) is not None
    pending = [type_name]
    for name in pending:
        stated = _stated(ctx, name, world) if is_stated else ()
        for above in (*stated, *filter(None, (BUILT_IN.get(name),))):
            if above not in pending:
                pending.append(above)
                yield above


def _stated(ctx: Context, type_name: str, world: int) -> Iterator[str]:
    """The names of what worlds that stand for a type are ``subtype_of``."""
    for node, _ in ctx.tables.named(name_digest(type_name)):
        if _stands_for(ctx, node, type_name, world):
            for target in ctx.targets(node, "subtype_of"):
                body = ctx.body(target)
                if body is not None and not ctx.tables.node(target).ended:
                    yield body.name


def _stands_for(ctx: Context, node: int, type_name: str, world: int) -> bool:
    """True if a world stands for a type, and is one that counts in a world."""
    body = ctx.body(node)
    if body is None or (body.type, body.name) != (TYPE, type_name) or ctx.tables.node(node).ended:
        return False
    around = (above == ROOT_NODE or ctx.inside(world, above) for above in ctx.containers(node))
    return any(around) or ctx.inside(node, world)
