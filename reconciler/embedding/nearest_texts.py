"""Worlds whose newest text is near in meaning to a given text, by the index of an embedding space."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from worlddb.projections.tables.names import canonical
from worlddb.projections.tables.storage.schema import ROOT_NODE
from worlddb.reconciler.transaction import recorded_texts
from worlddb.reconciler.transaction.context import Context

if TYPE_CHECKING:
    from worlddb.projections.indexes.vector_rows import Matrix, VectorHit

MAX_NEAR: Final = 64
"""How many texts of the nearest meaning are asked whether they are of somebody who may be meant."""

LABELLED_TYPES: Final = frozenset({"Scope", "Namespace", "Item", "Document", "Section", "Paragraph"})
"""Types of which tools make worlds whose names are keys and titles: two that are spelled alike are two, such as the
users "anna" and "anne"."""
MADE_BY_TOOLS: Final = frozenset({"file", "channel"})
"""What the provenance of such worlds names, one of them at least: the file, or the channel that they came by."""

_LABELLED: Final = frozenset(map(canonical.type_digest, LABELLED_TYPES))


class NearestTexts(NamedTuple):
    """An embedding space and its index.

    The index finds the nearest texts to a vector, of some worlds alone if these are given: their worlds and cosines.
    """

    space: int
    dimension: int
    name: str
    model: str
    find: Callable[[Matrix, int, Collection[int] | None], list[VectorHit]]


def near_worlds(
    ctx: Context, hits: Sequence[VectorHit], least: float, but: int | None = None
) -> dict[int, tuple[int, float]]:
    """The named worlds of some hits, with their version and cosine, if that is their newest text."""
    found = [hit for hit in hits if hit.score >= least and hit.node != but and ctx.has_world(hit.node)]
    newest = [hit for hit in found if ctx.tables.node(hit.node).versions == hit.version]
    return {hit.node: (hit.version, hit.score) for hit in newest if is_named(ctx, hit.node)}


def looked_in(ctx: Context, world: int) -> list[int] | None:
    """The worlds whose texts are compared where somebody is looked for inside a world; ``None`` for all.

    They are chosen before the nearest are, so that what lies elsewhere keeps nobody out.
    """
    return None if world == ROOT_NODE else list(ctx.interior(world).in_order())


def is_label(ctx: Context, node: int) -> bool:
    """True for a world that a tool made as a place, with a key or a title for a name.

    The type alone does not say so, for anybody may have worlds of it; where it came from does.
    """
    first = ctx.tables.version(node, 1)
    if first.type not in _LABELLED:
        return False
    details = recorded_texts.details_at(ctx.draft.log, first.seq, first.details)
    return details is not None and not MADE_BY_TOOLS.isdisjoint(details.source)


def is_named(ctx: Context, node: int) -> bool:
    """True if a world has a name by which it may be somebody."""
    body = ctx.body(node)
    return body is not None and names_somebody((body.name, *ctx.aliases(node)))


def names_somebody(names: Sequence[str]) -> bool:
    """False for a world without a name: it is a statement, and two near statements are two."""
    return any(canonical.name_digest(name) != canonical.NO_NAME for name in names)
