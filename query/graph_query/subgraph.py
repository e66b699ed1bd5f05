"""The answer to a query: a subgraph, and how many worlds each stage left."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from worlddb.log.model.errors import InputError
from worlddb.query.graph_query.query_steps import MAX_SHOWN_DIGITS
from worlddb.query.records.records import Edge, World

_SHOWN_CHARACTERS: Final = 80


class Stage(msgspec.Struct, frozen=True, kw_only=True):
    """One stage of a query: how many worlds came to it, and how many it left.

    ``seconds`` if times were asked for.
    """

    operator: str
    before: int
    after: int
    note: str
    seconds: float | None

    def __str__(self) -> str:
        took = "" if self.seconds is None else f", {1000 * self.seconds:.2f} ms"
        return f"{self.operator}: {self.before} to {self.after}{took}{self.note and f' ({self.note})'}"


class Subgraph(msgspec.Struct, frozen=True, kw_only=True):
    """The worlds that a query found, and the edges that were walked to them, in log order.

    ``passed`` are references of the worlds that those edges lead through and that are not in the answer. ``scores`` has
    those of a ranked start, ``facets`` the counts that were asked for, ``identities`` which others a world stands for.
    ``exact`` says that the start was ranked by precisely what the view sees; ``note`` what else a reader should know.
    """

    nodes: tuple[World, ...]
    edges: tuple[Edge, ...]
    passed: tuple[str, ...]
    scores: dict[str, float]
    facets: dict[str, dict[str, int]]
    identities: dict[str, tuple[str, ...]]
    stages: tuple[Stage, ...]
    exact: bool
    note: str

    @property
    def refs(self) -> tuple[str, ...]:
        """The references of the worlds, in their order."""
        return tuple(world.ref for world in self.nodes)

    def to_json(self) -> str:
        """The subgraph as one line of JSON, times in microseconds UTC."""
        return msgspec.json.encode(self).decode()

    @classmethod
    def from_json(cls, text: str | bytes) -> Subgraph:
        """The subgraph that :meth:`to_json` wrote.

        Raises:
            InputError: it is none; the message names the place.
        """
        try:
            return msgspec.json.decode(text, type=cls)
        except (msgspec.DecodeError, UnicodeError, RecursionError, TypeError) as error:
            raise InputError(f"That is no subgraph: {error}", "Write it with Subgraph.to_json") from None

    def explain(self) -> str:
        """A line for each stage: worlds before and after it, and its time if times were asked for."""
        return "\n".join(map(str, self.stages))

    def __str__(self) -> str:
        """How much there is, then a line for each world and for each edge."""
        counts = f"worlds: {len(self.nodes)}, edges: {len(self.edges)}"
        worlds = (f"{_short(each.ref)}  {each.type}  {_line(each.name or each.content)}" for each in self.nodes)
        edges = (f"{_short(each.source)} {each.type} {_short(each.target)}" for each in self.edges)
        return "\n".join((counts, *(line.rstrip() for line in worlds), *edges))

    def __iter__(self) -> Any:
        return iter(self.nodes)

    def __len__(self) -> int:
        return len(self.nodes)


def _short(ref: str) -> str:
    return ref[:MAX_SHOWN_DIGITS]


def _line(text: str) -> str:
    """A text as one line, cut where it is long."""
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN_CHARACTERS else line[: _SHOWN_CHARACTERS - 1] + "…"
