"""The model's state after each commit: dictionaries of immutable records, copied whole.

The engine keeps interval columns; the model keeps every state that there ever was. "As of commit 7" is therefore
nothing but ``states[7]`` here, which is what law 9 says that it has to mean.

Worlds, edges and proposals are numbered from one counter in the order in which they were made; 0 is the root world. An
accepted proposal and its edge have the same number. The numbers become references once the engine has given them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tests.support.model import lines
from worlddb import Erasure
from worlddb.log.model.times import ALWAYS, FOREVER

ROOT = 0


class Version(NamedTuple):
    type: str
    name: str
    content: str
    start: int
    """Where it was written to begin; when it holds is in its world's line."""
    stated: bool | None
    """Whether somebody said so; nobody recorded it of the root world."""
    seq: int
    time: int
    author: str
    why: str
    source: dict[str, Any]
    erasure: Erasure | None = None
    properties: dict[str, Any] = {}
    ends: int | None = None
    """Where somebody stated that it ends."""


class Restated(NamedTuple):
    """A version was said again."""

    number: int
    seq: int
    time: int
    author: str
    source: dict[str, Any]
    why: str
    has_text: bool


class Stated(NamedTuple):
    """A statement, and when it holds. It keeps its number, however often it is stated again."""

    quad: tuple[str, ...]
    """Its terms; none once they are erased."""
    number: int
    pieces: lines.Pieces

    def holds(self, moment: int) -> bool:
        return bool(self.quad) and any(start <= moment < end for start, end in self.pieces)


class World(NamedTuple):
    made: int
    """The ingest time of the commit that made it."""
    versions: tuple[Version, ...]
    line: lines.Line
    """Which of the versions holds when: at each time at most one."""
    aliases: tuple[str, ...] = ()
    given: int = 0
    """How many aliases it was ever given."""
    restated: tuple[Restated, ...] = ()
    deadline: tuple[int, int] | None = None
    """From when on it is hidden, and how long a refresh lasts; 0 if none moves it."""
    pinned: bool = False
    labels: tuple[str, ...] = ()
    deprecated: bool = False
    tags: tuple[tuple[str, int], ...] = ()
    """Its tags by the names that they were given first, and the versions that they stand for; 0: none any more."""
    accesses: tuple[int, ...] = ()
    """When somebody said that it was used, in the order of saying."""
    states: tuple[Stated, ...] = ()
    withdrawn: frozenset[str] = frozenset()
    """The terms that withdrawals named, also of statements that were never here: the log has their texts."""

    def hidden(self, valid: int) -> bool:
        """Whether its deadline hides it at a time."""
        return self.deadline is not None and self.deadline[0] <= valid and not self.pinned

    @property
    def newest(self) -> Version:
        return self.versions[-1]

    @property
    def ended(self) -> bool:
        """True if it was said that nothing holds from some time on."""
        return self.line[-1][1] == lines.HOLE

    @property
    def held(self) -> list[lines.Span]:
        """When its versions hold, in the order of time."""
        return [span for span in lines.spans(self.line) if span.what > 0]

    def times_of(self, number: int) -> lines.Pieces:
        """When one of its versions holds."""
        return lines.times_of(self.line, number)

    @property
    def starts(self) -> list[lines.Start]:
        """Where its versions were written to begin, and whether somebody said so."""
        return [lines.Start(version.start, version.stated) for version in self.versions]


class Edge(NamedTuple):
    type: str
    source: int
    source_version: int
    target: int
    target_version: int
    home: int
    start: int
    """Where it was written to begin."""
    pieces: lines.Pieces
    """When it is in force."""
    seq: int
    properties: dict[str, Any] = {}
    why: str = ""
    said: tuple[int, int, int] | None = None
    """Which of the texts that commands were given it has its properties and reason from."""

    @property
    def begins(self) -> int:
        return self.pieces[0][0] if self.pieces else self.start

    def in_force(self, moment: int) -> bool:
        return any(start <= moment < end for start, end in self.pieces)


class Proposal(NamedTuple):
    source: int
    source_version: int
    target: int
    target_version: int
    home: int
    start: int
    seq: int
    evidence: dict[str, Any]
    why: str
    said: tuple[int, int, int] | None = None
    status: str = "pending"
    decided: int = 0


@dataclass
class State:
    """Everything at one commit; ``edges`` are those not unlinked, ``unlinked`` the others."""

    worlds: dict[int, World] = field(default_factory=dict)
    edges: dict[int, Edge] = field(default_factory=dict)
    unlinked: dict[int, Edge] = field(default_factory=dict)
    proposals: dict[int, Proposal] = field(default_factory=dict)
    keys: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """The worlds that were begun under a key, one after another ended."""
    edge_keys: dict[str, int] = field(default_factory=dict)
    tunings: dict[tuple[int, str], tuple[float, int]] = field(default_factory=dict)
    """(world, type) to the least fuzzy score that was set, and the commit that set it."""

    def copy(self) -> State:
        return State(
            dict(self.worlds),
            dict(self.edges),
            dict(self.unlinked),
            dict(self.proposals),
            dict(self.keys),
            dict(self.edge_keys),
            dict(self.tunings),
        )

    def edges_of(self, type_name: str) -> Iterator[tuple[int, Edge]]:
        return ((number, edge) for number, edge in self.edges.items() if edge.type == type_name)

    def containers(self, world: int) -> list[int]:
        """Those that do so at any time, each once."""
        return list(dict.fromkeys(edge.source for _, edge in self.edges_of("contains") if edge.target == world))

    def members(self, world: int) -> list[int]:
        return list(dict.fromkeys(edge.target for _, edge in self.edges_of("contains") if edge.source == world))

    def class_of(self, world: int, scope: int = ROOT) -> set[int]:
        """The world and all that accepted edges, those inside a scope alone, make one with it."""
        inside = {number for number in self.worlds if scope == ROOT or self.reaches(scope, number, "contains")}
        edges = [edge for _, edge in self.edges_of("same_as") if {edge.source, edge.target, edge.home} <= inside]
        one = {world}
        for _ in self.worlds:
            one |= {end for edge in edges for end in (edge.source, edge.target) if one & {edge.source, edge.target}}
        return one

    def reaches(self, start: int, goal: int, type_name: str) -> bool:
        """True if edges of a type lead from one world to another; a world reaches itself."""
        reached = {start}
        for _ in self.worlds:
            reached |= {edge.target for _, edge in self.edges_of(type_name) if edge.source in reached}
        return goal in reached


def first_state(time: int, author: str) -> State:
    """The state after the first commit: a root world that is valid always."""
    state = State()
    state.worlds[ROOT] = World(
        time,
        (Version("Root", "root", "", ALWAYS, None, 1, time, author, "", {}),),
        lines.with_value(lines.UNSAID, ALWAYS, FOREVER, 1),
    )
    return state
