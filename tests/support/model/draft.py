"""The working copy of a state that one request changes, and its basic changes."""

from __future__ import annotations

from typing import Any, NamedTuple

from tests.support.model import lines
from tests.support.model.commands import Known, Nobody, Nth
from tests.support.model.rules.edge_rules import after_unlink, check_insert, default_start
from tests.support.model.rules.succession import note_conflicts
from tests.support.model.state import ROOT, Edge, Proposal, State
from worlddb import InputError, UnknownReference
from worlddb.log.model.times import FOREVER


class Bad(Exception):
    """The model expects the engine to raise this error."""

    def __init__(self, error: type[InputError]) -> None:
        super().__init__(error.__name__)
        self.error = error


class Note(NamedTuple):
    code: str
    about: frozenset[int]


class Draft:
    """The working copy of a state, and the expected receipt."""

    def __init__(self, state: State, seq: int, now: int, author: str, next_number: int) -> None:
        self.state = state.copy()
        self.seq = seq
        self.now = now
        self.author = author
        self.next_number = next_number
        self.results: list[int] = []
        self.notes: list[Note] = []
        self.proposed: list[int] = []
        self.changed = False
        self.erased: list[int] = []
        self.struck: tuple[int, str] | None = None
        self.whole: set[int] = set()

    def note(self, code: str, *about: int) -> None:
        self.notes.append(Note(code, frozenset(about)))

    def number(self, reference: Any, *kinds: str) -> int:
        """What a reference stands for, if it is of one of the kinds."""
        number = -1
        if isinstance(reference, Nth):
            number = self.results[reference.position] if reference.position < len(self.results) else -1
        elif isinstance(reference, Known):
            number = reference.number
        holders: dict[str, dict[int, Any]] = {
            "world": self.state.worlds,
            "edge": self.state.edges | self.state.unlinked,
            "proposal": self.state.proposals,
        }
        if isinstance(reference, Nobody) or not any(number in holders[kind] for kind in kinds):
            raise Bad(UnknownReference)
        return number

    def world(self, reference: Any) -> int:
        return self.number(reference, "world")

    def end_world(self, number: int, at: int, by: int = -1) -> None:
        """End a world from a time on, until it is resumed. ``by`` replaced it."""
        note_conflicts(self, number, at, FOREVER, by)
        lost = self.lose(number, at, FOREVER)
        if lost and not self.state.worlds[number].held:
            self.note("never_valid", number)
        if not self.void(number, at, FOREVER) and not lost:
            self.note("already_closed", number)

    def add_world_hole(self, number: int, start: int, end: int) -> None:
        """Let a world hold nothing in a window, and go on behind it."""
        note_conflicts(self, number, start, end, -1)
        lost = self.lose(number, start, end)
        if lost and not self.state.worlds[number].held:
            self.note("never_valid", number)
        if not self.void(number, start, end) and not lost:
            self.note("already_closed", number)

    def void(self, number: int, start: int, end: int) -> bool:
        """Say that nothing holds in a window in which nothing does; true if that was not said before."""
        known = self.state.worlds[number]
        line = lines.with_value(known.line, start, end, lines.HOLE)
        self.state.worlds[number] = known._replace(line=line)
        self.changed |= line != known.line
        return line != known.line

    def lose(self, number: int, start: int, end: int) -> bool:
        """Take a window from a world's validity; true if it held there."""
        known, line = self.state.worlds[number], self.state.worlds[number].line
        for span in known.held:
            line = lines.with_value(line, max(start, span.start), min(end, span.end), lines.NOTHING)
        self.state.worlds[number] = known._replace(line=line)
        self.changed |= line != known.line
        return line != known.line

    def write(
        self,
        type_name: str,
        source: int,
        target: int,
        *,
        home: int | None = None,
        start: int | None = None,
        end: int = FOREVER,
        properties: dict[str, Any] | None = None,
        why: str = "",
    ) -> int:
        """Write an edge by its type's laws."""
        begins = default_start(self, type_name, source, target) if start is None else start
        edge = self.edge(type_name, source, target, home, begins)._replace(
            pieces=((begins, end),) if begins < end else (), properties=properties or {}, why=why, said=self.said()
        )
        check_insert(self, edge)
        made = self.new_number()
        self.state.edges[made] = edge
        return made

    def edge(self, type_name: str, source: int, target: int, home: int | None, start: int) -> Edge:
        if type_name == "contains":
            home = source
        ends = [len(self.state.worlds[end].versions) for end in (source, target)]
        where = self.home(source) if home is None else home
        return Edge(type_name, source, ends[0], target, ends[1], where, start, ((start, FOREVER),), self.seq)

    def home(self, number: int) -> int:
        """Where a world's edges are held unless told otherwise: in its first container."""
        return next(iter(self.state.containers(number)), ROOT)

    def unlink_edge(self, number: int) -> None:
        """Unlink an edge."""
        gone = self.state.edges.pop(number)
        self.state.unlinked[number] = gone
        self.changed = True
        after_unlink(self, gone)

    def stage(
        self,
        one: int,
        other: int,
        *,
        home: int | None = None,
        start: int | None = None,
        evidence: dict[str, Any],
        why: str = "",
    ) -> int:
        begins = default_start(self, "same_as", one, other) if start is None else start
        edge = self.edge("same_as", one, other, home, begins)
        check_insert(self, edge)
        made = self.new_number()
        self.state.proposals[made] = Proposal(
            *(one, edge.source_version, other, edge.target_version, edge.home, begins, self.seq, evidence, why),
            said=self.said(1),
        )
        self.note("proposal_staged", made)
        self.proposed.append(made)
        return made

    def said(self, which: int = 0) -> tuple[int, int, int]:
        """The texts of the present command; those that the engine adds to it are the ``which``-th."""
        return self.seq, len(self.results), which

    def new_number(self) -> int:
        self.next_number += 1
        self.changed = True
        return self.next_number - 1
