"""Erases from random histories: what is erased is gone, and nothing else is."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

import worlddb
from tests.support.examples import examples
from tests.support.faults.answers import answers
from tests.support.faults.traces import traces
from worlddb import Database, SeededEntropy

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
    return {found.rpartition(" ")[2] for found in traces(db.path, words)} & set(words)


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
            receipt = db.erase(refs, reason="request 114", turns=True)
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
