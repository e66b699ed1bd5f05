"""All answers of a view, as comparable plain values."""

from __future__ import annotations

from typing import Any

import worlddb
from worlddb.query.view.view import View

QUERIES = ("office", "engineering lead", "team sits in Bern", "lamp", "fact")


def answers(view: View, *, queries: tuple[str, ...] = QUERIES, exact: bool = True) -> dict[str, Any]:
    """All answers of a view: worlds, edges, hashes, proposals, names and rankings."""
    refs: list[str] = []
    for world in view.find(include_superseded=True):
        refs.append(world.ref)
    found: dict[str, Any] = {
        "root": view.hash(),
        "worlds": {ref: view.get(ref) for ref in refs},
        "closed": {ref: view.get(ref, include_superseded=True) for ref in refs},
        "hashes": {ref: view.hash(ref) for ref in refs},
        "histories": {ref: view.history(ref) for ref in refs},
        "edges": {ref: view.edges(ref) for ref in refs},
        "every edge": {ref: view.edges(ref, include_superseded=True) for ref in refs},
        "members": {ref: list(view.children(ref)) for ref in refs},
        "top": list(view.children()),
        "every top": list(view.children(include_superseded=True)),
        "proposals": view.proposals(status=None),
        "classes": {ref: view.equivalence_class(ref) for ref in refs},
    }
    worlds = [world for world in found["closed"].values() if world is not None]
    found["names"] = {name: view.find(name=name) for name in sorted({world.name for world in worlds})}
    found["types"] = {type_: view.find(type=type_) for type_ in sorted({world.type for world in worlds})}
    found["recall"] = {text: ranked(view.recall(text, exact=exact)) for text in queries}
    found["recall in"] = {
        ref: ranked(view.recall("fact", world=ref, exact=exact)) for ref in refs if found["members"][ref]
    }
    return found


def ranked(recall: worlddb.Recall) -> list[Any]:
    """The hits; without exact statistics only in order, since scores follow the index."""
    return list(recall.hits) if recall.exact else [hit.ref for hit in recall.hits]
