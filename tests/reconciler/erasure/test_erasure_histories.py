"""Erases from random histories: what is erased is gone, and nothing else is."""

from __future__ import annotations

import random
import re
import shutil
import tempfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import worlddb
from tests.support.bundling import interior_of
from tests.support.examples import examples
from tests.support.faults.answers import answers
from tests.support.faults.traces import find_traces
from worlddb import Database, Refused, SeededEntropy
from worlddb.query.export import bundle_export
from worlddb.reconciler.bundle_import.import_blobs import IncomingBlobs

ACTS = ("create", "create", "revise", "alias", "unalias", "link", "link", "unlink", "same", "decide", "move", "retire")
Act = tuple[str, int, int]


class History:
    """A store, and for every word said in it the worlds that it was said about."""

    def __init__(self, folder: Path) -> None:
        self.db = worlddb.open(folder, entropy=SeededEntropy(1))
        self.worlds = [self.db.create("Kind", "", content="the first")]
        self.edges: list[tuple[str, tuple[str, ...]]] = []
        self.proposals: list[tuple[str, tuple[str, ...]]] = []
        self.aliases: dict[str, list[str]] = defaultdict(list)
        self.owners: dict[str, frozenset[str]] = {}

    def word(self, *owners: str) -> str:
        new = f"Word{len(self.owners):03}x"
        self.owners[new] = frozenset(owners)
        return new

    def act(self, what: str, one: int, other: int) -> None:
        a, b = (self.worlds[which % len(self.worlds)].ref for which in (one, other))
        getattr(self, f"_{what}")(a, b, one)

    def _create(self, a: str, b: str, number: int) -> None:
        words = [self.word() for _ in range(6)]
        receipt = self.db.create(
            "Kind", words[0], content=words[1], aliases=[words[2]], why=words[3], source={words[4]: 1}, key=words[5]
        )
        self.worlds.append(receipt)
        self.owners.update(dict.fromkeys(words, frozenset({receipt.ref})))

    def _revise(self, a: str, b: str, number: int) -> None:
        self.db.revise(a, content=self.word(a), name=self.word(a), why=self.word(a), source={"in": self.word(a)})

    def _alias(self, a: str, b: str, number: int) -> None:
        self.aliases[a].append(self.word(a))
        self.db.alias(a, self.aliases[a][-1], why=self.word(a))

    def _unalias(self, a: str, b: str, number: int) -> None:
        if self.aliases[a]:
            self.db.unalias(a, self.aliases[a].pop(), why=self.word(a))

    def _link(self, a: str, b: str, number: int) -> None:
        said = {"properties": {"note": self.word(a, b)}, "why": self.word(a, b), "key": self.word()}
        if receipt := self.db.link(a, "refers_to", b, **said) if a != b else None:  # type: ignore[arg-type]
            self.edges.append((receipt.ref, (a, b)))

    def _unlink(self, a: str, b: str, number: int) -> None:
        if self.edges:
            edge, ends = self.edges.pop(number % len(self.edges))
            self.db.unlink(edge, why=self.word(*ends))

    def _same(self, a: str, b: str, number: int) -> None:
        if a != b and (receipt := self.db.link(a, "same_as", b, why=self.word(a, b))):
            self.proposals.append((receipt.ref, (a, b)))

    def _decide(self, a: str, b: str, number: int) -> None:
        if self.proposals:
            proposal, ends = self.proposals[number % len(self.proposals)]
            decide = (self.db.accept, self.db.reject, self.db.undo)[number % 3]
            decide(proposal, why=self.word(*ends))

    def _move(self, a: str, b: str, number: int) -> None:
        if a != b:
            self.db.move(a, b, why=self.word(a, b))

    def _retire(self, a: str, b: str, number: int) -> None:
        self.db.retire(a, why=self.word(a))


def stored(db: Database, words: list[str]) -> set[str]:
    return {found.rpartition(" ")[2] for found in find_traces(db.path, words)} & set(words)


@examples(6)
@given(
    acts=st.lists(st.tuples(st.sampled_from(ACTS), st.integers(0, 99), st.integers(0, 99)), min_size=6, max_size=30),
    erased=st.sets(st.integers(0, 99), min_size=1, max_size=4),
    indexed=st.booleans(),
)
def test_what_was_said_of_erased_worlds_is_gone_and_every_other_word_is_where_it_was(
    acts: list[Act], erased: set[int], indexed: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        history = History(Path(folder) / "store")
        with history.db as db:
            for act in acts:
                history.act(*act)
            if indexed:
                db.catch_up()
            refs = list(dict.fromkeys(history.worlds[which % len(history.worlds)].ref for which in erased))
            before, words, seq = stored(db, list(history.owners)), history.owners, db.head().seq
            receipt = db.erase(refs, reason="request 114", turns=True, members=False)
            gone = {word for word in words if words[word] & set(refs)}
            assert stored(db, list(gone)) == set()
            assert stored(db, list(words)) == before - gone
            assert not any(db.view().find(name=word) for word in gone)
            assert db.verify(deep=True).findings == ()
            told = db.erasure_receipt(receipt)
            assert {world.ref for world in told.worlds} == set(refs) and db.check_erasure(told).ok
            db.replay(Path(folder) / "then", seq=seq)
            with worlddb.open(Path(folder) / "then") as then:
                assert then.verify(deep=True).findings == ()
                view = db.view(seq=seq)
                assert answers(then.view(seq=seq, valid=view.valid), queries=()) == answers(view, queries=())
            assert db.rebuild("tables").root == db.view().hash()
            assert db.verify(deep=True).findings == ()


class Side:
    """A store, and the words that can be read of each of its worlds."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.db = worlddb.open(folder, entropy=SeededEntropy(seed), embedder=None)
        self.said: dict[str, set[str]] = {}
        self.gone: dict[str, set[str]] = defaultdict(set)
        """The words of a world that were erased here, which no import brings back."""
        self.closed: set[str] = set()
        """The worlds that were erased whole."""
        self.silent: set[str] = set()
        """The worlds of which no text ever came, as it was erased where they came from."""
        self.forks: dict[str, set[str]] = defaultdict(set)
        self.own: set[str] = set()
        """The worlds that are written to here, so that no two stores write the same one."""

    def copies(self, ref: str) -> set[str]:
        """A world and its forks at any distance."""
        found = [ref]
        for each in found:
            found += sorted(self.forks[each] - set(found))
        return set(found)

    def readable(self, ref: str, *, within: str | None = None) -> set[str]:
        view = self.db.view(world=within)
        shown = view.get(ref, include_superseded=True, include_expired=True)
        assert shown is not None
        texts = [text for each in view.history(ref) for text in (each.name, each.content, each.why)]
        texts += [*shown.aliases, *shown.labels, *shown.tags]
        texts += [str(each) for each in view.statements(ref)]
        return set(re.findall(r"Word\d+x", " ".join(texts).replace("word", "Word")))

    def holds(self, words: set[str]) -> None:
        """Each world says what the model says, and a word that none says is in no file."""
        assert {ref: self.readable(ref) for ref in self.said} == self.said
        within = sorted(self.said)[len(words) % len(self.said)]
        for ref in interior_of(self.db.view(world=within), within):
            assert self.readable(ref, within=within) == self.said[ref]
        assert find_traces(self.db.path, words - set[str]().union(*self.said.values())) == []


class CopiedHistory:
    """Two stores in which worlds are forked, forks too, travel together, lose texts on either side, and are merged."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.draw, self.met = folder, random.Random(seed), Counter[str]()
        self.sides = [Side(folder / name, seed + at) for at, name in enumerate(("one", "two"))]
        self.words: set[str] = set()
        for side in self.sides:
            text = self.word()
            self.written(side, side.db.create("Topic", "", content=text, resolve=False).ref, {text})
            for _ in range(2):
                self.create(side)

    def word(self) -> str:
        self.words.add(f"Word{len(self.words):03}x")
        return max(self.words)

    def written(self, side: Side, ref: str, words: set[str]) -> None:
        side.own.add(ref)
        side.said[ref] = words

    def any_of(self, side: Side, *, own: bool = False) -> str:
        return self.draw.choice(
            [ref for ref in side.said if not own or ref in side.own - side.closed - side.silent] or ["none"]
        )

    def create(self, side: Side) -> None:
        inside, text, alias = self.any_of(side, own=True), self.word(), self.word()
        if inside != "none":
            made = side.db.create("Note", "", content=text, aliases=[alias], world=inside, resolve=False)
            self.written(side, made.ref, {text, alias})

    def say(self, side: Side) -> None:
        ref, word = self.any_of(side, own=True), self.word()
        if ref == "none":
            return
        match self.draw.randrange(5):
            case 0:
                done = side.db.revise(ref, content=word)
            case 1:
                done = side.db.label(ref, word)
            case 2:
                done = side.db.tag(ref, word)
            case 3:
                done = side.db.alias(ref, word)
            case _:
                done = side.db.state(ref, [("<urn:a>", "<urn:p>", f'"{word}"')])
        assert done, done
        side.said[ref].add(word)

    def fork(self, side: Side) -> None:
        ref = self.any_of(side)
        inside = interior_of(side.db.view(), ref)
        into = self.draw.choice([each for each in side.said if each not in inside and each not in side.closed] or [""])
        seq = self.draw.choice([None, None, side.db.head().seq])
        done = side.db.fork(ref, seq=seq, into=into or None)
        assert done, done
        for copy in interior_of(side.db.view(), done.ref):
            origin = side.db.view().forked_from(copy)
            assert origin is not None and origin.of in inside
            self.written(side, copy, set(side.said[origin.of]))
            side.gone[copy] |= side.gone[origin.of]
            for silent in (side.closed, side.silent):
                silent |= {copy} if origin.of in silent else set()
            side.forks[origin.of].add(copy)
        self.met["fork of a fork"] += side.db.view().forked_from(ref) is not None

    def erase(self, side: Side) -> None:
        copies = sorted(set[str]().union(*side.forks.values()) - side.closed)
        ref = self.draw.choice(copies) if copies and self.draw.random() < 0.5 else self.any_of(side)
        members = self.draw.random() < 0.3
        done = side.db.erase(ref, reason="request 7", members=members)
        if not done.events:
            return
        erased = {each.ref for each in side.db.erasure_receipt(done).worlds}
        assert (ref in erased or ref in side.closed) and erased <= {
            copy for each in (interior_of(side.db.view(), ref) if members else [ref]) for copy in side.copies(each)
        }
        assert members or side.copies(ref) - side.closed <= erased
        for each in erased:
            side.gone[each] |= side.said[each]
            side.said[each] = set()
        side.closed |= erased
        self.met["erased in a fork"] += side.db.view().forked_from(ref) is not None
        assert not side.db.erase(ref, reason="request 7", members=members).events, "a second time nothing changes"

    def erase_literal(self, side: Side) -> None:
        told = [(ref, each) for ref in side.said for each in side.db.view().statements(ref)]
        if told:
            ref, statement = self.draw.choice(told)
            word = next(iter(re.findall(r"Word\d+x", str(statement))))
            assert side.db.erase_literal(ref, f'"{word}"', reason="request 8")
            for each in side.copies(ref):
                side.gone[each] |= {word}
                side.said[each].discard(word)
            self.met["literal in a fork"] += side.db.view().forked_from(ref) is not None

    def carry(self, side: Side) -> None:
        """A bundle goes to the other store, and comes to this one again, which changes nothing."""
        other = next(each for each in self.sides if each is not side)
        ref, file = self.any_of(side), self.folder / "next.bundle"
        side.db.export(ref, file, overwrite=True)
        inside = interior_of(side.db.view(), ref)
        assert side.db.import_bundle(file, allow_outside=True).events == 0
        join = self.draw.random() < 0.3
        done = other.db.import_bundle(file, allow_outside=True, join=join)
        if not done:
            self.met[done.outcome.code if isinstance(done.outcome, Refused) else ""] += 1
            return
        for each in inside:
            if each not in other.said and each in side.closed | side.silent:
                other.silent.add(each)
            elif each not in side.closed | side.silent:
                other.silent.discard(each)
            came = set() if each in other.closed else side.said[each] - other.gone[each]
            other.said[each] = other.said.get(each, set()) | came
        assert other.db.import_bundle(file, allow_outside=True, join=join).events == 0
        self.met["joined"] += join
        self.met["format 3"] += file.read_bytes().startswith(b"worlddb-bundle 3")
        self.met["carried"] += 1

    def merge(self, side: Side) -> None:
        forks = [ref for ref in side.said if (known := side.db.view().forked_from(ref)) and not known.inside]
        if forks and self.draw.random() < 0.5:
            ref = self.draw.choice(forks)
            origin = side.db.view().forked_from(ref)
            assert origin is not None
            try:
                side.db.merge(ref, on_conflict=self.draw.choice(("ours", "theirs")))
            except worlddb.InputError as error:
                self.met[error.code] += 1
                return
            self.met["merged"] += 1
            for each in interior_of(side.db.view(), origin.of):
                told = side.readable(each)
                assert told.isdisjoint(side.gone[each])
                assert told >= side.said.get(each, set()), "a merge takes nothing out of the history"
                side.said[each] = told

    def look_back(self, side: Side) -> None:
        """Backed up and restored, replayed, left without a commit, and rebuilt, the store holds."""
        into = self.folder / f"{len(self.met)} {self.draw.random()}"
        match self.draw.randrange(4):
            case 0:
                side.db.backup(into)
                worlddb.restore(into, into.with_name(f"{into.name} restored"))
                into = into.with_name(f"{into.name} restored")
            case 1:
                side.db.replay(into, seq=self.draw.randint(1, side.db.head().seq))
            case 2:
                try:
                    side.db.replay(into, without=[self.draw.randint(1, side.db.head().seq)])
                except worlddb.InputError as error:
                    self.met[error.code] += 1
                    return
            case _:
                root = side.db.view().hash()
                assert side.db.rebuild("tables").root == root
                return
        with worlddb.open(into, embedder=None) as made:
            assert made.verify(deep=True).findings == ()
        living = set[str]().union(*side.said.values())
        assert find_traces(into, self.words - living) == []

    def step(self) -> None:
        side = self.draw.choice(self.sides)
        acts = (
            self.create,
            *[self.say] * 4,
            *[self.fork] * 4,
            *[self.erase] * 3,
            self.erase_literal,
            self.erase_literal,
        )
        self.draw.choice((*acts, *[self.carry] * 4, self.merge, self.look_back))(side)


def copied(folder: Path, seed: int) -> Counter[str]:
    history = CopiedHistory(folder, seed)
    try:
        for _ in range(25):
            history.step()
            for side in history.sides:
                side.holds(history.words)
                found = side.db.verify(deep=True)
                assert found.ok, found.findings
        for side in history.sides:
            root = side.db.view().hash()
            assert side.db.rebuild("tables").root == root
            side.holds(history.words)
    except Exception as error:
        error.add_note(f"repeat it with copied(folder, {seed})")
        raise
    finally:
        for side in history.sides:
            side.db.close()
    return history.met


def test_of_worlds_and_forks_that_travel_together_each_copy_keeps_what_was_not_erased_in_it(
    tmp_path: Path, seed: int
) -> None:
    met = copied(tmp_path / "4", 4) + copied(tmp_path / "fresh", seed % 2**32)
    assert met["carried"] and met["erased in a fork"] and met["format 3"], met


@pytest.mark.soak
def test_of_very_many_worlds_and_forks_each_copy_keeps_what_was_not_erased_in_it(tmp_path: Path, seed: int) -> None:
    """What is rare depends on the seed: there are further histories until all of it was met, within a bound."""
    met: Counter[str] = Counter()
    rare = ("literal in a fork", "erasure_not_obeyed", "merged", "fork of a fork", "joined", "format 3")
    for number in range(900):
        if number >= 300 and all(met[each] for each in rare):
            break
        met += copied(tmp_path / str(number), seed % 2**32 + number)
        shutil.rmtree(tmp_path / str(number))
    assert all(met[each] for each in rare), met


_position = IncomingBlobs.position
CANARIES: dict[str, tuple[Any, str, Any]] = {
    "a world and its fork in one blob": (IncomingBlobs, "position", lambda self, blob, of: _position(self, blob, b"")),
    "one text of both in a bundle": (bundle_export, "_divided", lambda *asked: set()),
}


@pytest.mark.parametrize("broken", CANARIES)
def test_canary_the_copies_see(broken: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*CANARIES[broken])
    with pytest.raises(AssertionError):
        copied(tmp_path, 4)
