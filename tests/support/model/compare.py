"""Compare the engine's answers with the model's: every read of a view, of every world."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.support.model.names import Names
from tests.support.model.reads import Reads
from tests.support.model.state import ROOT, State
from worlddb import UnknownReference, View

LOOKUPS = ("Ada", " ADA ", "Lovelace", "Bob", "Tool", "root", "")
TYPE_NAMES = ("Person", "Type", "Tool", "Root")


def fields(record: Any) -> Any:
    """The fields of a record, but for what it is stale by: ``tests/query/reads/test_stale.py`` holds that."""
    found = {} if record is None else msgspec.structs.asdict(record)
    found.pop("stale", None)
    return found or None


def all_fields(records: Any) -> list[Any]:
    return [fields(record) for record in records]


def _flat(known: tuple[tuple[int, str], tuple[float, int]]) -> tuple[Any, ...]:
    """World, type, score and commit of a setting."""
    return *known[0], *known[1]


class Compared:
    """A view, and the model's expectations."""

    def __init__(self, view: View, state: State, names: Names, hashes: dict[int, str]) -> None:
        self.view = view
        self.state = state
        self.names = names
        self.hashes = hashes
        self.reads = Reads(state, view.valid, names)

    def everything(self) -> None:
        """Every read of every world."""
        for number in self.state.worlds:
            self.world(number)
        self.lookups()
        self.identities()
        for number in (*self.state.edges, *self.state.unlinked):
            self.edge(number)

    def unknown(self, later: State) -> None:
        """Check that later worlds are unknown here."""
        for number in later.worlds.keys() - self.state.worlds.keys():
            with pytest.raises(UnknownReference):
                self.view.get(self.names.refs[number])
        for number in later.edges.keys() - self.state.edges.keys():
            with pytest.raises(UnknownReference):
                self.view.edge(self.names.refs[number])

    def world(self, number: int) -> None:
        view, reads, ref = self.view, self.reads, self.names.refs[number]
        assert view.hash(ref) == self.hashes[number]
        assert fields(view.get(ref)) == reads.get(number)
        assert fields(view.get(ref, include_superseded=True)) == reads.get(number, include_superseded=True)
        assert all_fields(view.history(ref)) == reads.history(number)
        assert all_fields(view.edges(ref)) == reads.edges(number)
        assert all_fields(view.edges(ref, include_superseded=True)) == reads.edges(number, include_superseded=True)
        assert all_fields(view.children(ref)) == reads.children(number)
        assert all_fields(view.children(ref, include_superseded=True)) == reads.children(
            number, include_superseded=True
        )
        assert view.containers(ref) == reads.containers(number)
        assert all_fields(view.conflicts(ref)) == reads.conflicts(number)
        assert view.equivalence_class(ref) == reads.equivalence_class(number)
        retained, used = view.retention(ref), sorted(self.state.worlds[number].accesses)
        assert (retained is None) == (reads.version_at(number) is None)
        assert retained is None or list(retained.accesses) == [at for at in used if at <= view.valid]
        stated = sorted((str(each), each.id) for each in view.statements(ref))
        told = [each for each in self.state.worlds[number].states if each.holds(view.valid)]
        assert stated == sorted((f"{' '.join(each.quad)} .", self.names.leaves[each.number]) for each in told)
        revealing = view.revealing(deprecated=True)
        for name, at in self.state.worlds[number].tags:
            stands = revealing.get(ref, tag=name)
            assert (stands.number if stands else 0) == at

    def artifacts(self, number: int) -> None:
        """What the version in force points at."""
        at = self.reads.version_at(number)
        version = None if at is None else self.state.worlds[number].versions[at - 1]
        kept = {} if version is None or version.erasure else version.properties.get("artifacts", {})
        found = {each.name: {"location": each.location} for each in self.view.artifacts(self.names.refs[number])}
        assert found == kept

    def withdrawal(self, author: str) -> int:
        """What an author said, and all that rests on it; how many worlds that are."""
        plan = self.view.withdrawal(author=author, depth=20)
        taken, resting = self.reads.withdrawn(author)
        refs = self.names.refs
        assert [(each.ref, each.number) for each in plan.withdrawn] == [
            (refs[number], at) for number, versions in taken.items() for at in versions
        ]
        assert [(each.ref, each.depth) for each in plan.rests_on_it] == [
            (refs[number], depth) for number, depth in resting.items()
        ]
        for each in plan.rests_on_it:
            assert len(each.paths[0].worlds) == each.depth + 1 and each.paths[0].worlds[-1] == each.ref
        return len(resting)

    def sides(self, number: int, type_name: str) -> None:
        """The edges of one type, out of and into a world."""
        for direction in ("out", "in"):
            found = self.view.edges(self.names.refs[number], type=type_name, direction=direction)
            assert all_fields(found) == self.reads.edges(number, type=type_name, direction=direction)

    def edge(self, number: int) -> None:
        ref = self.names.refs[number]
        if number in self.state.edges:
            assert fields(self.view.edge(ref)) == self.reads.edge(number)
        else:
            with pytest.raises(UnknownReference):
                self.view.edge(ref)

    def lookups(self, world: int = ROOT) -> None:
        """By name, by type, by both, inside a world."""
        inside = None if world == ROOT else self.names.refs[world]
        for superseded in (False, True):
            for name in LOOKUPS:
                found = self.view.find(name=name, world=inside, include_superseded=superseded)
                assert all_fields(found) == self.reads.find(name=name, world=world, include_superseded=superseded)
            for type_name in TYPE_NAMES:
                found = self.view.find(type=type_name, world=inside, include_superseded=superseded)
                assert all_fields(found) == self.reads.find(type=type_name, world=world, include_superseded=superseded)
        both = self.view.find(name="ada", type="Person", world=inside, include_superseded=True)
        assert all_fields(both) == self.reads.find(name="ada", type="Person", world=world, include_superseded=True)

    def identities(self) -> None:
        set_here = [(known.world, known.type, known.fuzzy, known.seq) for known in self.view.tunings()]
        assert sorted(set_here) == sorted(
            (self.names.refs[world], *rest) for world, *rest in map(_flat, self.state.tunings.items())
        )
        for status in (None, "pending", "accepted", "rejected", "undone"):
            assert all_fields(self.view.proposals(status=status)) == self.reads.proposals(status)
        for known in self.view.proposals(status=None):
            assert self.view.proposal(known.ref) == known
