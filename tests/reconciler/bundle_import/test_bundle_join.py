"""Two stores went on alone with copies of a user: joined by bundles, in any order, they say the same."""

from __future__ import annotations

import random
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import worlddb
from tests.support.faults.traces import find_traces
from tests.support.model.stores import day
from worlddb import Database, ManualClock, Receipt, Refused, SeededEntropy
from worlddb.agent_memory import Memory
from worlddb.log.store import bundle_contents

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


def test_what_both_went_on_with_after_a_join_goes_apart_again(copies: Copies) -> None:
    """It was refused: what one store calls its own world is a world of its own in the other, and both revised it."""
    for store, place in (("one", "Porto"), ("two", "Ghent")):
        with copies.memory(store) as ana:
            ana.correct(copies.lives, f"Ana lives in {place}")
    copies.joined()
    for store, place, new in (("one", "Porto", "Lagos"), ("two", "Porto", "Faro"), ("one", "Ghent", "Bruges")):
        with copies.memory(store) as ana:
            (ref,) = [each.ref for each in ana.db.view().find(world=copies.user) if place in each.content]
            ana.correct(ref, f"Ana lives in {new}")
    copies.joined()
    for store in STORES:
        said, conflicts = copies.told(store)
        assert said == ["Ana drinks tea", *(f"Ana lives in {place}" for place in ("Bruges", "Faro", "Lagos"))]
        assert len(set(conflicts)) == len(conflicts) == 3
    copies.joined()


def test_of_three_ways_that_a_world_went_every_pair_is_named_once_in_each_store(copies: Copies) -> None:
    """Each store named two of the three: those of its own way."""
    copies.carried("one", "three")
    stores, places = (*STORES, "three"), ("Ghent", "Porto", "Rome")
    for store, place in zip(stores, places, strict=True):
        with copies.memory(store) as ana:
            ana.correct(copies.lives, f"Ana lives in {place}")
    for _ in range(2):
        for source in stores:
            for target in stores:
                if source != target:
                    copies.carried(source, target, join=True).raise_if_refused()
    pairs = [frozenset(f"Ana lives in {place}" for place in places if place != left) for left in places]
    for store in stores:
        said, conflicts = copies.told(store)
        assert said[1:] == [f"Ana lives in {place}" for place in places]
        assert sorted(map(sorted, conflicts)) == sorted(map(sorted, pairs))
    assert not copies.carried("one", "three", join=True).events


def test_a_rest_of_a_rest_that_was_erased_there_does_not_come_back(copies: Copies) -> None:
    for store, place in (("one", "Porto"), ("two", "Ghent")):
        with copies.memory(store) as ana:
            ana.correct(copies.lives, f"Ana lives in {place}")
    copies.joined()
    for store, new in (("one", "Lagos"), ("two", "Faro")):
        with copies.memory(store) as ana:
            (ref,) = [each.ref for each in ana.db.view().find(world=copies.user) if "Porto" in each.content]
            ana.correct(ref, f"Ana lives in {new}")
    copies.joined()
    with copies.opened("two") as db:
        (faro,) = [each.ref for each in db.view().find(world=copies.user) if "Faro" in each.content]
        assert db.erase(faro, reason="request 7")
    for _ in range(5):
        receipt = copies.carried("one", "two", join=True)
        if receipt:
            break
        assert isinstance(receipt.outcome, Refused) and receipt.outcome.code == "erasure_not_obeyed"
        with copies.opened("one") as db:
            for named in re.findall(r"\b([0-9a-f]{12}) by commit", receipt.outcome.reason):
                db.erase(named, reason="request 7")
    assert receipt and find_traces(copies.folder / "two", {"Ana lives in Faro"}) == []
    assert find_traces(copies.folder / "one", {"Ana lives in Faro"}) == []


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


def marks(db: Database, ref: str) -> tuple[object, ...]:
    world = db.view().get(ref)
    assert world is not None
    return sorted(world.labels), world.pinned, world.expires_at


def test_what_went_apart_keeps_marks_properties_and_whom_it_is_about(copies: Copies) -> None:
    """A door code that had expired on both machines was current again on both, and was about nobody."""
    with copies.memory("one") as ana:
        code = ana.add("The door code is 1", about="Door", labels=["home"], pinned=True, properties={"p": 1}).ids[0]
        old = ana.add("The gate code is 1", expires_at=copies.clock.now() + 60_000_000).ids[0]
        ana.db.alias(code, "the code")
    copies.joined()
    for store, number in (("one", 2), ("two", 3)):
        with copies.memory(store) as ana:
            ana.correct(code, f"The door code is {number}")
            ana.correct(old, f"The gate code is {number}")
    notes = [note for note in copies.carried("one", "two", join=True).notes if note.code == "not_carried"]
    assert [note.refs[1:] for note in notes] == [("aliases",)] and "aliases" in str(notes[0])
    copies.joined()
    for store in STORES:
        with copies.memory(store) as ana:
            doors = ["The door code is 2", "The door code is 3"]
            assert sorted(hit.content for hit in ana.recall("door code", about="Door", label="home")) == doors
            assert sorted(hit.content for hit in ana.recall("door code", properties={"p": 1})) == doors
            assert len([hit for hit in ana.recall("gate code") if "gate" in hit.content]) == 2
            rests = ana.db.view().find(type="Fact", world=copies.user)
            assert sum(world.pinned for world in rests) == 2
            edges = [each for world in rests for each in ana.db.view().edges(world.ref)]
            edges = [edge for edge in edges if edge.type == "refers_to"]
            assert len(edges) == len({(edge.source, edge.target) for edge in edges}) == 2
    copies.clock.advance(100_000_000)
    for store in STORES:
        with copies.memory(store) as ana:
            assert not [hit.content for hit in ana.recall("gate code") if "gate" in hit.content]


def test_an_erasure_of_one_of_two_that_went_apart_leaves_the_marks_of_the_other(copies: Copies) -> None:
    with copies.memory("one") as ana:
        ana.label(copies.lives, "home", "own")
    copies.joined()
    for store in STORES:
        with copies.memory(store) as ana:
            ana.correct(copies.lives, f"Ana lives in {store}")
    (rest,) = (note.refs[1] for note in copies.carried("one", "two", join=True).notes if note.code == "went_apart")
    erase(copies, "two", copies.lives)
    with copies.opened("two") as db:
        assert marks(db, rest) == (["home", "own"], False, None) and db.verify(deep=True).ok


# -- erasures


def refused(receipt: Receipt, *named: str) -> None:
    """The bundle's store has not obeyed an erasure of these worlds."""
    assert isinstance(receipt.outcome, Refused) and receipt.outcome.code == "erasure_not_obeyed", receipt
    assert all(each[:12] in receipt.outcome.reason for each in named), receipt.outcome.reason


def erase(copies: Copies, store: str, *refs: str) -> int:
    with copies.opened(store) as db:
        return int(db.erase(list(refs), reason="request 7").seq)


def test_a_copy_is_not_joined_before_it_has_erased_what_was_erased_here(copies: Copies) -> None:
    """It took no text from it, and asked nothing: the other store kept what was to be gone, and nobody was told."""
    with copies.memory("two") as ana:
        ana.add("Ana bought a bike")
    erased = erase(copies, "one", copies.lives)
    with copies.opened("one") as db:
        before = db.head()
    receipt = copies.carried("two", "one", join=True)
    refused(receipt, copies.lives)
    assert isinstance(receipt.outcome, Refused) and f"by commit {erased}" in receipt.outcome.reason
    with copies.opened("one") as db, copies.opened("two") as other:
        assert db.head() == before and other.head().store_id[:12] in receipt.outcome.reason
        plan = db.import_plan(copies.folder / "user.bundle", join=True)
        assert plan.refused is not None and plan.refused[0] == "erasure_not_obeyed"
    told = copies.carried("one", "two", join=True)
    assert [note.code for note in told.notes if copies.lives in note.refs] == ["texts_missing"]
    refused(copies.carried("two", "one", join=True), copies.lives)
    erase(copies, "two", copies.lives)
    assert copies.agree() == (["", "Ana bought a bike", "Ana drinks tea"], [])


def test_without_a_join_a_bundle_is_taken_in_whatever_its_store_has_erased(copies: Copies) -> None:
    erase(copies, "one", copies.lives)
    with copies.memory("two") as ana:
        ana.add("Ana bought a bike")
    receipt = copies.carried("two", "one")
    assert receipt and [note.code for note in receipt.notes] == ["left_erased"]
    assert find_traces(copies.folder / "one", ["Ana lives in Lisbon"]) == []


def test_what_the_copy_never_had_or_has_erased_itself_hinders_no_join(copies: Copies) -> None:
    with copies.memory("one") as ana:
        own = ana.add("Ana has a secret").ids[0]
    erase(copies, "one", own, copies.lives)
    erase(copies, "two", copies.lives)
    assert copies.carried("two", "one", join=True)
    assert copies.agree()[0] == ["", "", "Ana drinks tea"]


def test_each_of_two_copies_obeys_what_the_other_erased(copies: Copies) -> None:
    erase(copies, "one", copies.lives)
    erase(copies, "two", copies.drinks)
    refused(copies.carried("two", "one", join=True), copies.lives)
    refused(copies.carried("one", "two", join=True), copies.drinks)
    erase(copies, "two", copies.lives)
    assert copies.carried("two", "one", join=True)
    refused(copies.carried("one", "two", join=True), copies.drinks)
    erase(copies, "one", copies.drinks)
    assert copies.agree() == (["", ""], [])


def test_what_went_apart_does_not_come_back_after_an_erasure_as_a_world_of_its_own(copies: Copies) -> None:
    """The other store has what was written here in a world of its own, which came back with its text."""
    with copies.memory("one") as ana:
        ana.correct(copies.lives, "Ana lives in Porto")
    with copies.memory("two") as ana:
        ana.correct(copies.lives, "Ana lives in Ghent")
    copies.agree()
    with copies.opened("two") as db:
        (apart,) = (each.ref for each in db.view().find(world=copies.user) if "Porto" in each.content)
    erase(copies, "one", copies.lives)
    gone = ["Ana lives in Lisbon", "Ana lives in Porto"]
    refused(copies.carried("two", "one", join=True), copies.lives, apart)
    erase(copies, "two", copies.lives)
    refused(copies.carried("two", "one", join=True), apart)
    erase(copies, "two", apart)
    # What was written there stands in a world of its own here, which was erased there.
    assert copies.carried("two", "one", join=True)
    receipt = copies.carried("one", "two", join=True)
    refused(receipt)
    with copies.opened("one") as db:
        (other,) = (each.ref for each in db.view().find(world=copies.user) if "Ghent" in each.content)
    refused(receipt, other)
    erase(copies, "one", other)
    copies.joined()
    for store in STORES:
        assert find_traces(copies.folder / store, [*gone, "Ana lives in Ghent"]) == []


def test_a_rest_that_was_erased_here_is_named_by_its_world_there(copies: Copies) -> None:
    with copies.memory("one") as ana:
        ana.correct(copies.lives, "Ana lives in Porto")
    with copies.memory("two") as ana:
        ana.correct(copies.lives, "Ana lives in Ghent")
    copies.agree()
    with copies.opened("one") as db:
        (rest,) = (each.ref for each in db.view().find(world=copies.user) if "Ghent" in each.content)
    erase(copies, "one", rest)
    refused(copies.carried("two", "one", join=True), copies.lives)


def test_a_literal_that_was_erased_here_is_erased_there_before_a_join(copies: Copies) -> None:
    phone = '"+351 900"'
    with copies.opened("one") as db:
        db.state(copies.lives, [("<urn:ana>", "<urn:phone>", phone), ("<urn:ana>", "<urn:mail>", '"a@b"')])
    assert copies.carried("one", "two", join=True)
    with copies.opened("one") as db:
        db.erase_literal(copies.lives, phone, reason="request 7")
    receipt = copies.carried("two", "one", join=True)
    refused(receipt, copies.lives)
    assert isinstance(receipt.outcome, Refused) and "literal" in receipt.outcome.reason
    with copies.opened("two") as db:
        db.erase_literal(copies.lives, phone, reason="request 7")
    assert copies.carried("two", "one", join=True)
    with copies.opened("one") as db:
        db.state(copies.lives, [("<urn:ana>", "<urn:phone>", phone)])
    copies.joined()


class Pair:
    """Two stores that go on alone, erase, and join; what was erased in one never comes back to it."""

    def __init__(self, folder: Path, seed: int, *, erases: bool = True) -> None:
        self.erases = erases
        self.file, self.draw, self.clock = folder / "next.bundle", random.Random(seed), ManualClock(day(0))
        self.stores = [
            worlddb.open(folder / name, clock=self.clock, entropy=SeededEntropy(seed + at), embedder=None)
            for at, name in enumerate(STORES)
        ]
        self.gone: list[set[str]] = [set(), set()]
        self.met: Counter[str] = Counter()
        self.top = self.stores[0].create("Topic", "top").ref
        for at in range(5):
            self.stores[0].create("Note", f"n{at}", content=f"Word{seed}{at}x", world=self.top, labels=[f"n{at}"])
        assert self.sent(0, join=False)

    def inside(self, at: int) -> list[str]:
        return [each.ref for each in self.stores[at].view().children(self.top, include_superseded=True)]

    def step(self, at: int) -> None:
        db = self.stores[at]
        self.clock.advance(1_000)
        ref = self.draw.choice(self.inside(at))
        match self.draw.randrange(12):
            case 0:
                if self.erases:
                    self.erase(at, ref)
            case 1:
                db.retire(ref)
            case 8:
                db.label(ref, f"Mark{self.draw.randrange(9)}")
            case 9:
                db.pin(ref)
            case 10:
                db.expire(ref, expires_at=day(self.draw.randrange(400, 800)))
            case 2:
                db.create("Note", "", content=f"Own{self.draw.randrange(10**9)}x", world=self.top)
            case _:
                db.revise(ref, content=f"New{self.draw.randrange(10**9)}x")

    def erase(self, at: int, ref: str) -> None:
        db = self.stores[at]
        self.gone[at] |= {version.content for version in db.view().history(ref)} - {""}
        assert db.erase(ref, reason="request 7")
        self.met["erased"] += 1

    def sent(self, source: int, *, join: bool = True) -> Receipt:
        self.stores[source].export(self.top, self.file, overwrite=True)
        receipt = self.stores[1 - source].import_bundle(self.file, join=join)
        for _, rest in (note.refs for note in receipt.notes if note.code == "went_apart"):
            (said, *_) = self.stores[1 - source].view().history(rest)
            view = self.stores[source].view()
            # There it lies in the world that went apart, or in one that an earlier join made.
            within = [ref for ref in self.inside(source) if said.version in [v.version for v in view.history(ref)]]
            if not within or view.get(within[0]) is None:
                continue
            marked = marks(self.stores[source], within[0])
            assert marks(self.stores[1 - source], rest) == marked
            self.met["marked"] += marked != ([], False, None)
        return receipt

    def joined(self, source: int) -> None:
        """Send a bundle until it is joined, and erase there what each refusal names."""
        for _ in range(9):
            receipt = self.sent(source)
            if not isinstance(receipt.outcome, Refused):
                self.met["joined"] += 1
                assert not self.sent(source).events
                return
            self.met[receipt.outcome.code] += 1
            if receipt.outcome.code != "erasure_not_obeyed":
                return
            named = re.findall(r"\b([0-9a-f]{12}) by commit", receipt.outcome.reason)
            assert named
            for ref in named:
                self.erase(source, ref)
        pytest.fail("it was obeyed, and refused")


def exchange(folder: Path, seed: int) -> Counter[str]:
    pair = Pair(folder, seed)
    for _ in range(4):
        for at in (0, 1):
            for _ in range(pair.draw.randrange(4)):
                pair.step(at)
        for source in pair.draw.choice([(0,), (1,), (0, 1)]):
            pair.joined(source)
            for db, gone in zip(pair.stores, pair.gone, strict=True):
                assert find_traces(db.path, gone) == []
    for db in pair.stores:
        assert db.verify(deep=True).ok
        db.close()
    return pair.met


def test_what_either_of_two_copies_erased_never_comes_back_by_joins(tmp_path: Path, seed: int) -> None:
    met: Counter[str] = Counter()
    for number in range(4):
        met += exchange(tmp_path / str(number), seed % 2**32 + number)
    assert met["joined"] > 4 and met["erased"] and met["erasure_not_obeyed"], met


def run_joins(folder: Path, seed: int) -> Counter[str]:
    """Copies of which nothing is erased: every join is one, and in the end both say the same."""
    pair = Pair(folder, seed, erases=False)
    for _ in range(4):
        for at in (0, 1):
            for _ in range(pair.draw.randrange(4)):
                pair.step(at)
        for source in pair.draw.choice([(0,), (1,), (0, 1)]):
            pair.joined(source)
    for source in (0, 1, 0, 1):
        pair.joined(source)
    said = [sorted(each.content for each in db.view().find(world=pair.top)) for db in pair.stores]
    assert said[0] == said[1], seed
    for db in pair.stores:
        assert db.verify(deep=True).ok
        db.close()
    return pair.met


def test_copies_of_which_nothing_is_erased_are_joined_always(tmp_path: Path) -> None:
    met: Counter[str] = Counter()
    for seed in (177, 233, 254, 285):  # In these, both sides went on with what a join had set apart.
        met += run_joins(tmp_path / str(seed), seed)
    assert set(met) <= {"joined", "marked"}, met


def test_of_what_went_apart_only_worlds_that_were_created_with_it_are_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of many was compared with all in the bundle, under the writer's lock: 3 s for 1,000."""
    looks: list[bytes] = []
    known = bundle_contents.divergent_lineage

    def counted(lineage: bytes, body: bytes) -> bytes:
        looks.append(lineage)
        return known(lineage, body)

    monkeypatch.setattr(bundle_contents, "divergent_lineage", counted)
    copies = Copies(tmp_path)
    with copies.opened("one") as db:
        said = [db.create("Fact", "", content=f"fact {at}", world=copies.user).ref for at in range(20)]
    copies.carried("one", "two")
    for store in STORES:
        with copies.opened(store) as db, db.batch() as tx:
            for ref in said:
                tx.revise(ref, content=f"{store} says otherwise", valid_from=copies.clock.now() + 1)
    looks.clear()
    copies.carried("one", "two", join=True)
    assert len(said) < len(looks) < 10 * len(said)


@pytest.mark.soak
def test_very_many_copies_of_which_nothing_is_erased_are_joined_always(tmp_path: Path, seed: int) -> None:
    met: Counter[str] = Counter()
    for number in range(300):
        met += run_joins(tmp_path / str(number), seed % 2**32 + number)
        shutil.rmtree(tmp_path / str(number))
    assert set(met) <= {"joined", "marked"} and met["joined"] > 2_000, met


@pytest.mark.soak
def test_what_either_of_very_many_copies_erased_never_comes_back_by_joins(tmp_path: Path, seed: int) -> None:
    met: Counter[str] = Counter()
    for number in range(300):
        met += exchange(tmp_path / str(number), seed % 2**32 + number)
        shutil.rmtree(tmp_path / str(number))
    assert met["joined"] > 300 and met["erasure_not_obeyed"] and met["marked"], met
