"""The model's answers to reads, from one state and one valid time."""

from __future__ import annotations

from typing import Any

from tests.support.model import lines
from tests.support.model.names import Names
from tests.support.model.rules.reclustering import evidence_in_view
from tests.support.model.rules.world_rules import normal
from tests.support.model.state import ROOT, Edge, State, Version
from worlddb import Basis, Restatement, Valid


class Reads:
    """The model's side of a view: the state at its commit, and its valid time in microseconds."""

    def __init__(self, state: State, valid: int, names: Names) -> None:
        self.state = state
        self.valid = valid
        self.names = names

    def version_at(self, number: int) -> int | None:
        """The ordinal of the version in force: the one that holds at the valid time."""
        what = lines.at(self.state.worlds[number].line, self.valid)
        return what if what > 0 else None

    def _in_force(self, edge: Edge) -> bool:
        return edge.in_force(self.valid)

    def _refs(self, numbers: list[int]) -> list[str]:
        return [self.names.refs[number] for number in numbers]

    def get(self, number: int, *, include_superseded: bool = False) -> dict[str, Any] | None:
        known = self.state.worlds[number]
        if not include_superseded and (known.hidden(self.valid) or known.deprecated):
            return None
        at = self.version_at(number)
        if at is None and include_superseded:
            at = len(self.state.worlds[number].versions)
        if at is None:
            return None
        world = self.state.worlds[number]
        version = world.versions[at - 1]
        return self._text(number, at, version) | {
            "ref": self.names.refs[number],
            "aliases": world.aliases,
            "valid": self._around(world.times_of(at), version.start),
            "closed": self.version_at(number) is None,
            "ended": world.ended,
            "conflicts": tuple(self._refs(self.opponents(number))),
            "rests_on": tuple(self._rests_on(number, at)),
            "rests_on_more": False,
            "trust": None,
            "restated": self._restated(number, at),
            "expires_at": None if world.deadline is None else world.deadline[0],
            "pinned": world.pinned,
            "labels": world.labels,
            "deprecated": world.deprecated,
            "tags": {name: version for name, version in world.tags if version},
            "in_ended": self._in_ended(number),
        }

    def _in_ended(self, number: int) -> str:
        """The first world around that held before and holds no more, if each way up leads to such a one."""
        around = self._over_around(number)
        return "" if around is None else self.names.refs[around]

    def _over_around(self, number: int) -> int | None:
        edges = [edge for _, edge in self.state.edges_of("contains") if self._in_force(edge) and edge.target == number]
        found = [each.source if self._is_over(each.source) else self._over_around(each.source) for each in edges]
        return None if None in found or not found else found[0]

    def _is_over(self, number: int) -> bool:
        held = self.state.worlds[number].held
        return number != ROOT and self.version_at(number) is None and any(span.start <= self.valid for span in held)

    def _restated(self, number: int, at: int) -> tuple[Restatement, ...]:
        return tuple(
            Restatement(
                number=at, seq=said.seq, ingested_at=said.time, author=said.author, source=said.source, why=said.why
            )
            # Of one commit, those without a text come first.
            for said in sorted(self.state.worlds[number].restated, key=lambda each: (each.seq, each.has_text))
            if said.number == at
        )

    def _rests_on(self, number: int, at: int) -> list[Basis]:
        """What a version was made of, at any remove, nearest first and then in log order; each world once."""
        found: list[Basis] = []
        reached, level = {number}, [(number, at)]
        while level:
            below: list[tuple[int, int]] = []
            for base, version in (each for world, at in level for each in self._made_of(world, at)):
                if base not in reached:
                    reached.add(base)
                    below.append((base, version))
            level, steps = below, found[-1].steps + 1 if found else 1
            for base, version in level:
                text = self._text(base, version, self.state.worlds[base].versions[version - 1])
                kept = {name: text[name] for name in Basis.__struct_fields__ if name in text}
                found.append(Basis(**kept, ref=self.names.refs[base], steps=steps, trust=None))
        return found

    def _made_of(self, number: int, at: int) -> list[tuple[int, int]]:
        made = [
            (edge.target, edge.target_version)
            for _, edge in self.state.edges_of("derived_from")
            if edge.source == number
        ]
        if self.state.worlds[number].versions[at - 1].type == "Summary":
            members = [
                edge.target
                for _, edge in self.state.edges_of("contains")
                if edge.source == number and self._in_force(edge)
            ]
            made += [(member, len(self.state.worlds[member].versions)) for member in members]
        return made

    def _text(self, number: int, at: int, version: Version) -> dict[str, Any]:
        return {
            "version": self.names.bodies[number, at],
            "number": at,
            "type": version.type,
            "name": version.name,
            "content": version.content,
            "seq": version.seq,
            "ingested_at": version.time,
            "author": version.author,
            "why": version.why,
            "source": version.source,
            "properties": version.properties,
            "erased": version.erasure is not None,
            "erasure": version.erasure,
        }

    def _around(self, pieces: lines.Pieces, begins: int) -> Valid:
        """The span around the valid time, else from the first to the last."""
        here = [Valid(start, end) for start, end in pieces if start <= self.valid < end]
        return here[0] if here else _from_first_to_last(pieces, begins)

    def opponents(self, number: int) -> list[int]:
        """The worlds that contradict one at the moment."""
        edges = [self.state.edges[own] for own in self._contradictions(number)]
        return [edge.target if edge.source == number else edge.source for edge in edges]

    def _contradictions(self, number: int) -> list[int]:
        """The edges that say so, while they and both of their ends are in force."""
        return [
            own
            for own, edge in self.state.edges_of("contradicts")
            if number in (edge.source, edge.target)
            and self._in_force(edge)
            and self.version_at(edge.source) is not None
            and self.version_at(edge.target) is not None
        ]

    def conflicts(self, number: int) -> list[dict[str, Any]]:
        return [self.edge(own) for own in self._contradictions(number)]

    def history(self, number: int) -> list[dict[str, Any]]:
        world = self.state.worlds[number]
        return [
            self._text(number, at, version)
            | {
                "valid": _from_first_to_last(world.times_of(at), version.start),
                "spans": _several(world.times_of(at)),
                "start": {True: "stated", False: "defaulted", None: ""}[version.stated],
                "restated": self._restated(number, at),
            }
            for at, version in enumerate(world.versions, 1)
        ]

    def edges(
        self, number: int, *, type: str | None = None, direction: str = "both", include_superseded: bool = False
    ) -> list[dict[str, Any]]:
        found = []
        for own, edge in self.state.edges.items():
            sides = {"out": (edge.source,), "in": (edge.target,), "both": (edge.source, edge.target)}[direction]
            if number in sides and type in (None, edge.type) and (include_superseded or self._in_force(edge)):
                found.append(self.edge(own))
        return found

    def edge(self, number: int) -> dict[str, Any]:
        edge = self.state.edges[number]
        return {
            "ref": self.names.refs[number],
            "type": edge.type,
            "source": self.names.refs[edge.source],
            "source_version": edge.source_version,
            "target": self.names.refs[edge.target],
            "target_version": edge.target_version,
            "home": self.names.refs[edge.home],
            "valid": self._around(edge.pieces, edge.start),
            "spans": _several(edge.pieces),
            "closed": not self._in_force(edge),
            "seq": edge.seq,
            "properties": edge.properties,
            "why": edge.why,
        }

    def children(self, number: int, *, include_superseded: bool = False) -> list[dict[str, Any]]:
        evidence_in_view = dict.fromkeys(
            edge.target
            for _, edge in self.state.edges_of("contains")
            if edge.source == number and (include_superseded or self._in_force(edge))
        )
        members = [self.get(member, include_superseded=include_superseded) for member in evidence_in_view]
        return [member for member in members if member is not None]

    def containers(self, number: int) -> list[str]:
        found = [edge for _, edge in self.state.edges_of("contains") if self._in_force(edge)]
        return self._refs([edge.source for edge in found if edge.target == number])

    def inside(self, world: int) -> set[int]:
        """Everything that a world contains at the moment, at any depth; the root contains all."""
        if world == ROOT:
            return set(self.state.worlds) - {ROOT}
        found: set[int] = set()
        for _ in self.state.worlds:
            found |= {
                edge.target
                for _, edge in self.state.edges_of("contains")
                if self._in_force(edge) and (edge.source == world or edge.source in found)
            }
        return found

    def find(
        self,
        *,
        name: str | None = None,
        type: str | None = None,
        world: int = ROOT,
        include_superseded: bool = False,
    ) -> list[dict[str, Any]]:
        inside = self.inside(world)
        types, instances = self._widened(type, world) if type is not None else (set(), set())
        found = []
        for number in self.state.worlds:
            record = self.get(number, include_superseded=include_superseded)
            if record is None or number not in inside:
                continue
            called = {normal(text) for text in (record["name"], *record["aliases"])} - {""}
            if name is not None and normal(name) not in called:
                continue
            if type is None or record["type"] in types or number in instances:
                found.append(record)
        return found

    def _widened(self, type_name: str, world: int) -> tuple[set[str], set[int]]:
        """A type with its subtypes and the instances of their worlds, as a world sees them.

        Seen is what is inside the world, the world itself, and what is directly in a world around it; of those that
        stand for the type, the nearest do.
        """
        steps = self._steps(world)
        called = {number: self._called(number) for number in self.state.worlds}
        standing = {number for number in steps if called[number] == ("Type", type_name)}
        standing = {number for number in standing if steps[number] == min(steps[other] for other in standing)}
        names = {type_name}
        for _ in self.state.worlds:
            for _, edge in self.state.edges_of("subtype_of"):
                if edge.target in standing and edge.source in steps and self._in_force(edge):
                    standing.add(edge.source)
                    # What has no name, or was erased, is no type's name: the erased are of no type, not of this one.
                    names |= {name for _, name in [called[edge.source]] if name}
        instances = {
            edge.source
            for _, edge in self.state.edges_of("instance_of")
            if edge.target in standing and self._in_force(edge)
        }
        return names, instances

    def _called(self, number: int) -> tuple[str, str] | tuple[None, None]:
        """The type and the name of a world at the moment."""
        at = self.version_at(number)
        version = None if at is None else self.state.worlds[number].versions[at - 1]
        return (None, None) if version is None else (version.type, version.name)

    def _steps(self, world: int) -> dict[int, int]:
        """The worlds seen from a world: 0 steps for those inside, else steps up to a container."""
        found = dict.fromkeys({world, *self.inside(world)}, 0)
        membership = [edge for _, edge in self.state.edges_of("contains") if self._in_force(edge)]
        around, reached = {world}, {world}
        for steps in range(1, len(self.state.worlds) + 1):
            around = {edge.source for edge in membership if edge.target in around} - reached
            reached |= around
            for edge in membership:
                if edge.source in around:
                    found.setdefault(edge.target, steps)
        return found

    def withdrawn(self, author: str) -> tuple[dict[int, list[int]], dict[int, int]]:
        """The versions that somebody said, and what rests on them by how many steps; the nearest first."""
        taken: dict[int, list[int]] = {}
        for number, world in self.state.worlds.items():
            for at, version in enumerate(world.versions, 1) if number != ROOT else ():
                others = [said for said in world.restated if said.number == at and said.author != author]
                if version.author == author and version.erasure is None and not others:
                    taken.setdefault(number, []).append(at)
        resting: dict[int, int] = {}
        level = set(taken)
        for depth in range(1, 21):
            level = {above for node in level for above in self._resting_on(node, taken)} - resting.keys()
            resting |= dict.fromkeys(sorted(level), depth)
        return taken, resting

    def _resting_on(self, base: int, taken: dict[int, list[int]]) -> set[int]:
        """The worlds that rest on one itself, on a version of it that was withdrawn if any was."""
        numbers = taken.get(base)
        found = {
            edge.source
            for edge in self.state.edges.values()
            if edge.target == base
            and edge.type in ("derived_from", "depends_on", "created_from")
            and (
                numbers is None
                or edge.target_version in numbers
                or (edge.type == "depends_on" and self.version_at(base) in numbers)
            )
        }
        if numbers is None or len(self.state.worlds[base].versions) in numbers:
            around = [edge.source for _, edge in self.state.edges_of("contains") if edge.target == base]
            held = [each for each in around if any(self._in_force(edge) for _, edge in self._membership(each, base))]
            found |= {each for each in held if self._standing(each) == "Summary"}
        return {each for each in found - taken.keys() - {ROOT} if self._standing(each) is not None}

    def _membership(self, container: int, member: int) -> list[tuple[int, Edge]]:
        edges = self.state.edges_of("contains")
        return [each for each in edges if (each[1].source, each[1].target) == (container, member)]

    def _standing(self, number: int) -> str | None:
        """The type of the version that holds, else of the newest that does at another time."""
        world, at = self.state.worlds[number], self.version_at(number)
        held = [each for each in range(len(world.versions), 0, -1) if world.times_of(each)]
        at = at or next(iter(held), None)
        return None if at is None else world.versions[at - 1].type

    def equivalence_class(self, number: int) -> list[str]:
        one = {number}
        for _ in self.state.worlds:
            for _, edge in self.state.edges_of("same_as"):
                if one & {edge.source, edge.target}:
                    one |= {edge.source, edge.target}
        return self._refs(sorted(one))

    def proposals(self, status: str | None) -> list[dict[str, Any]]:
        return [
            {
                "ref": self.names.refs[number],
                "status": known.status,
                "source": self.names.refs[known.source],
                "source_name": _label(self.state.worlds[known.source].newest),
                "target": self.names.refs[known.target],
                "target_name": _label(self.state.worlds[known.target].newest),
                "evidence": evidence_in_view(known.evidence, self.state, self.names.refs),
                "why": known.why,
                "seq": known.seq,
                "decided": known.decided,
            }
            for number, known in self.state.proposals.items()
            if status in (None, known.status)
        ]


def _label(version: Any) -> str:
    """The name, else the beginning of the text."""
    return version.name or " ".join(version.content[:80].split())


def _from_first_to_last(pieces: lines.Pieces, begins: int) -> Valid:
    return Valid(pieces[0][0], pieces[-1][1]) if pieces else Valid(begins, begins)


def _several(pieces: lines.Pieces) -> tuple[Valid, ...]:
    """The spans where they are not one."""
    return () if len(pieces) == 1 else tuple(Valid(start, end) for start, end in pieces)
