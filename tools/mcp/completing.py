"""What fits the beginning of an argument that somebody types."""

from __future__ import annotations

from typing import Final, get_args

from worlddb import AmbiguousReference, UnknownReference
from worlddb.tools.mcp.arguments import KINDS, Format
from worlddb.tools.mcp.desk import SCOPE, Desk

MAX_COMPLETIONS: Final = 100
"""As many as the protocol allows in one answer."""


def completions(desk: Desk, argument: str, begun: str) -> list[str]:
    """The values of an argument of a resource or a prompt that begin so; of an id also those of worlds called so."""
    if argument == "id":
        return _ids(desk, begun)
    if argument == "format":
        return [word for word in get_args(Format) if word.startswith(begun)]
    kind = argument.removesuffix("_id")
    return _scope_ids(desk, kind, begun) if kind in KINDS and argument.endswith("_id") else []


def _ids(desk: Desk, begun: str) -> list[str]:
    if not begun:
        return []
    try:
        return [desk.view().reference_of(begun)]
    except AmbiguousReference as error:
        return list(error.details["candidates"])
    except UnknownReference:
        return []


def _scope_ids(desk: Desk, kind: str, begun: str) -> list[str]:
    view = desk.view()
    found: dict[str, None] = {}
    for world in view.find(type=SCOPE):
        of, _, identity = world.name.partition(":")
        if of == kind and identity.startswith(begun) and desk.is_scope(view, world):
            found[identity] = None
    return list(found)[: MAX_COMPLETIONS + 1]
