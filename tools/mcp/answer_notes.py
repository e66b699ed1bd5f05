"""What took the place of a statement that holds no more: for the MCP server and for agent frameworks.

What may have been missed by a recall, in sentences for a model: for the MCP server and for agent frameworks.

A list that says besides what should be known of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeVar

from worlddb import FOREVER, Recall, View, World, format_time, parse_time

MAX_LOOKED_AT: Final = 50
"""How many statements that replace one another are followed."""


def holds_no_more(view: View, statement: World, since: str | None = None) -> bool:
    """Whether a statement has ended by the view's time, or by the later one since which something else is to hold in
    its place. One that is still to come has not, unless it is to hold at no time."""
    valid = statement.valid
    moment = view.valid if since is None else max(view.valid, parse_time(since, "valid_from"))
    return valid.end <= moment or valid.end <= valid.start


def since_when(view: View, statement: World, told: str | None) -> str | None:
    """Since when what takes a statement's place holds: as it was told, else now (``None``), but of a statement that is
    still to come since that would have held."""
    return format_time(statement.valid.start) if told is None and statement.valid.start > view.valid else told


def until_when(view: View, statement: World) -> str | None:
    """Until when what takes a statement's place holds: until the end that the statement was given, if it was. Where
    something was to take its place, that begins it, or was taken back."""
    replaced = any(
        edge.target == statement.ref for edge in view.edges(statement.ref, type="supersedes", include_superseded=True)
    )
    return None if replaced or statement.valid.end == FOREVER else format_time(statement.valid.end)


def successors(view: View, ref: str, seen: View | None = None) -> list[World]:
    """What superseded a statement, at any remove, and holds or is still to come by the time of ``view``; the nearest
    first. What is seen of that is what ``seen`` sees, if it is given."""
    seen = seen or view
    known, found = [ref], list[World]()
    for place in known:
        for edge in seen.edges(place, type="supersedes", include_superseded=True):
            if edge.target == place and edge.source not in known and len(known) < MAX_LOOKED_AT:
                known.append(edge.source)
                heir = seen.get(edge.source, include_superseded=True)
                found += [heir] if heir is not None and not holds_no_more(view, heir) else []
    return found


def missed(answers: Sequence[Recall], *, in_one_world: bool) -> list[str]:
    """What a reader should know of one question's answers, each in a scope of its own.

    ``in_one_world`` is for whoever sees one world alone: how far the store is would tell of what others write.
    """
    told: list[str] = []
    is_weak = all(answer.weak for answer in answers if answer.hits)
    for answer in answers:
        told += _of_vectors(answer, in_one_world)
        # What is weak in one scope does not matter where another one answers.
        told += [answer.note] if answer.note and (is_weak or not answer.weak) else []
    return list(dict.fromkeys(told))


def _of_vectors(answer: Recall, in_one_world: bool) -> Iterator[str]:
    if in_one_world:
        if answer.pending or answer.unavailable:
            yield "Memories may be found by their words and names only for now, not by their meaning"
        return
    for lane, why in answer.unavailable.items():
        yield f"Not searched by meaning, only by words and names ({lane}: {why})"
    if answer.pending and not answer.unavailable:
        waiting = "One memory" if answer.pending == 1 else f"{answer.pending:,} memories"
        have = "has" if answer.pending == 1 else "have"
        yield f"{waiting} of this store {have} no vector yet: found by words and names only for now"


Item = TypeVar("Item")


class ResultList(list[Item]):
    """What was found, best first. ``notes`` are sentences: what may have been missed and why, that nothing seems to
    answer the question, which words of it were not understood as a time."""

    def __init__(self, found: Iterable[Item] = (), notes: Iterable[str] = ()) -> None:
        super().__init__(found)
        self.notes: tuple[str, ...] = tuple(notes)
