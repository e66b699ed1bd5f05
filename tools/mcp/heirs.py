"""What took the place of a statement that holds no more: for the MCP server and for agent frameworks."""

from __future__ import annotations

from typing import Final

from worlddb import View, World

MAX_LOOKED_AT: Final = 50
"""How many statements that replace one another are followed."""


def holds_no_more(view: View, statement: World) -> bool:
    """Whether a statement has ended by the view's time; one that is still to come has not."""
    return statement.valid.end <= view.valid


def heirs(view: View, ref: str) -> list[World]:
    """What superseded a statement, at any remove, and holds or is still to come; the nearest first."""
    known, found = [ref], list[World]()
    for place in known:
        for edge in view.edges(place, type="supersedes", include_superseded=True):
            if edge.target == place and edge.source not in known and len(known) < MAX_LOOKED_AT:
                known.append(edge.source)
                heir = view.get(edge.source, include_superseded=True)
                found += [heir] if heir is not None and not holds_no_more(view, heir) else []
    return found
