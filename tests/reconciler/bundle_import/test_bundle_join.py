"""Two stores went on alone with copies of a user: joined by bundles, in any order, they say the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import worlddb
from worlddb import Database, ManualClock
from worlddb.agent_memory import Memory

STORES = ("one", "two")


class Copies:
    """Two stores with copies of one user, and what was written before they parted."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = ManualClock()
        with self.memory("one") as ana:
            self.lives = ana.add("Ana lives in Lisbon").ids[0]
            self.drinks = ana.add("Ana drinks tea").ids[0]
        with self.opened("one") as db:
            self.user = db.view().find(type="Scope")[0].ref
        self.parted = self.clock.now() + 10
        self.carried("one", "two")

    def opened(self, store: str) -> Database:
        return worlddb.open(self.folder / store, clock=self.clock, embedder=None)

    def memory(self, store: str) -> Memory:
        self.clock.advance(1_000_000)
        return worlddb.memory(self.opened(store), user="ana")

    def carried(self, source: str, target: str, *, join: bool = False) -> worlddb.Receipt:
        with self.opened(source) as db:
            db.export(self.user, self.folder / "user.bundle", overwrite=True)
        with self.opened(target) as db:
            receipt = db.import_bundle(self.folder / "user.bundle", join=join)
            assert not receipt or db.verify(deep=True).ok
            return receipt

    def joined(self) -> None:
        for source, target in (("one", "two"), ("two", "one"), ("one", "two")):
            self.carried(source, target, join=True).raise_if_refused()
        assert not self.carried("two", "one", join=True).events, "both know all"

    def told(self, store: str) -> tuple[list[str], list[frozenset[str]]]:
        """What holds of the user, and what contradicts what."""
        with self.opened(store) as db:
            view = db.view()
            assert len(view.find(type="Scope")) == 1
            said = [each.content for each in view.find(world=self.user)]
            text = {each.ref: each.content for each in view.find(world=self.user)}
            conflicts = [frozenset((text[edge.source], text[edge.target])) for edge in view.conflicts()]
            return sorted(said), conflicts

    def agree(self) -> tuple[list[str], list[frozenset[str]]]:
        self.joined()
        here, there = map(self.told, STORES)
        assert here == there
        return here


@pytest.fixture
def copies(tmp_path: Path) -> Iterator[Copies]:
    yield Copies(tmp_path)


def test_what_both_corrected_is_kept_and_named_once(copies: Copies) -> None:
    with copies.memory("one") as ana:
        ana.correct(copies.lives, "Ana lives in Porto")
    with copies.memory("two") as ana:
        ana.correct(copies.lives, "Ana lives in Ghent")
    refused = copies.carried("two", "one")
    assert isinstance(refused.outcome, worlddb.Refused) and "join=True" in refused.outcome.remedy
    said, conflicts = copies.agree()
    assert said == ["Ana drinks tea", "Ana lives in Ghent", "Ana lives in Porto"]
    assert conflicts == [frozenset(("Ana lives in Ghent", "Ana lives in Porto"))]
    with copies.memory("two") as ana:
        ana.correct(copies.lives, "Ana lives in Bruges")
    said, conflicts = copies.agree()
    assert said == ["Ana drinks tea", "Ana lives in Bruges", "Ana lives in Porto"] and len(conflicts) == 1
    with copies.memory("one") as ana:
        before = ana.as_of(copies.parted).recall("Where does Ana live?")
        assert [hit.content for hit in before.hits if "lives" in hit.content] == ["Ana lives in Lisbon"]


def test_what_both_say_in_the_same_words_holds_once(copies: Copies) -> None:
    for store, own in (("one", "Ana bought a bike"), ("two", "Ana works at Bosch")):
        with copies.memory(store) as ana:
            ana.add("Ana is allergic to nuts")
            ana.add(own)
    with copies.memory("two") as ana:
        ana.correct(copies.lives, "Ana lives in Ghent")
    with copies.memory("one") as ana:
        ana.correct(copies.lives, "Ana lives in Ghent")
    said, conflicts = copies.agree()
    alike = ["Ana bought a bike", "Ana drinks tea", "Ana is allergic to nuts", "Ana lives in Ghent"]
    assert said == [*alike, "Ana works at Bosch"] and not conflicts


@pytest.mark.parametrize("forgets", STORES)
def test_what_one_forgot_and_the_other_corrected_goes_on(copies: Copies, forgets: str) -> None:
    with copies.memory(forgets) as ana:
        ana.forget(copies.drinks)
        ana.forget(copies.lives)
    with copies.memory("two" if forgets == "one" else "one") as ana:
        ana.correct(copies.lives, "Ana lives in Ghent")
    assert copies.agree() == (["Ana lives in Ghent"], [])
