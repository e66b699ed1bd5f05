"""Random histories of embedding spaces: the commit alone decides which one answers."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import worlddb
from worlddb import Database, ManualClock, SeededEntropy
from worlddb.projections.tables.reads.asof import answering_spaces
from worlddb.projections.tables.storage.rows import Tables

STEPS = 30
MODELS = ("abcd", "bcde", "efgh")


class Letters:
    """How often each of some letters occurs."""

    def __init__(self, letters: str) -> None:
        self.letters = letters
        self.model = f"letters/{letters}"
        self.dimension = len(letters)

    def mean(self) -> Any:
        return [0.5] * self.dimension

    def embed(self, texts: Sequence[str], *, query: bool) -> Any:
        return [[text.count(letter) for letter in self.letters] for text in texts]


class History:
    """Does something random to a store at each step, and notes what was so after it."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.draw = random.Random(seed)
        self.folder = folder
        self.clock = ManualClock()
        self.seed = seed
        self.db = self.open()
        self.in_use: dict[int, str | None] = {}
        self.found: dict[int, list[tuple[str, float]]] = {}
        self.erased = 0
        self.done: set[str] = set()

    def open(self) -> Database:
        model = Letters(self.draw.choice(MODELS))
        self.seed += 1
        return worlddb.open(self.folder, embedder=model, clock=self.clock, entropy=SeededEntropy(self.seed))

    def step(self) -> None:
        self.clock.advance(1_000_000)
        act = self.draw.choice(
            (self.write, self.write, self.fill, self.move, self.move, self.choose, self.drop, self.lose)
        )
        act()
        if self.draw.random() < 0.2:
            self.db.close()
            self.db = self.open()
        head = self.db.head().seq
        self.in_use[head] = answering(self.db)
        self.found[head] = self.exact(head)

    def exact(self, seq: int) -> list[tuple[str, float]]:
        """What an exact read as of a commit finds by meaning, by whichever model its space is of."""
        with self.db._reader.snapshot() as snapshot:
            spaces = answering_spaces(snapshot.log, snapshot.tables, seq, exact=True)
        if not spaces:
            return []
        vector = [float(place + 1) for place in range(spaces[0].row.dimension)]
        found = self.db.view(seq=seq).query(vector=vector, exact=True, k=50).run()
        return [(ref, found.scores[ref]) for ref in found.refs]

    def write(self) -> None:
        worlds = self.db.view().find(type="Fact")
        text = "".join(self.draw.choices("abcdefgh", k=6))
        if worlds and self.draw.random() < 0.3:
            self.db.revise(self.draw.choice(worlds), content=text)
        else:
            self.db.create("Fact", f"fact {len(worlds)}", content=text, resolve=False)

    def fill(self) -> None:
        try:
            self.db.embed()
        except worlddb.InputError as error:
            assert "was made by" in error.message

    def move(self) -> None:
        limit = self.draw.choice((None, None, 1, 3))
        done = self.db.reembed(Letters(self.draw.choice(MODELS)), limit=limit)
        assert done.in_use or limit is not None
        assert not done.in_use or done.pending == 0
        self.done.add("moved" if done.in_use and done.before not in ("", done.space) else "filled")

    def choose(self) -> None:
        if names := [space.name for space in self.db.spaces() if space.dropped is None]:
            receipt = self.db.use_space(self.draw.choice(names))
            self.done.add("chosen" if receipt.events else "kept" if receipt else receipt.outcome.code)

    def drop(self) -> None:
        if names := [space.name for space in self.db.spaces() if space.dropped is None]:
            receipt = self.db.drop_space(self.draw.choice(names))
            self.done.add("dropped" if receipt else receipt.outcome.code)

    def lose(self) -> None:
        worlds = self.db.view().find(type="Fact")
        if worlds and self.draw.random() < 0.3:
            self.db.erase(self.draw.choice(worlds), reason="a request")
            self.erased = self.db.head().seq


def answering(db: Database) -> str | None:
    spaces = [space for space in db.spaces() if space.in_use]
    assert len(spaces) == bool(db.spaces()) and all(space.dropped is None for space in spaces)
    return spaces[0].name if spaces else None


@pytest.mark.parametrize("number", range(3))
def test_the_space_and_the_answer_of_every_moment_are_those_of_then(tmp_path: Path, seed: int, number: int) -> None:
    history = History(tmp_path / "store", 100 * seed + number)
    for _ in range(STEPS):
        history.step()
    db = history.db
    assert {"moved", "filled"} <= history.done
    with db._env.read() as txn:
        before = {name: list(table.scan(b"")) for name, table in Tables(txn).by_name().items()}
    db.rebuild()
    with db._env.read() as txn:
        assert {name: list(table.scan(b"")) for name, table in Tables(txn).by_name().items()} == before
    assert db.verify(deep=True).ok
    for seq, found in history.found.items():
        if seq >= history.erased:
            assert history.exact(seq) == found
    for seq in history.draw.sample(sorted(history.in_use), 3):
        db.replay(tmp_path / f"as of {seq}", seq=seq)
        with worlddb.open(tmp_path / f"as of {seq}", embedder=None) as then:
            assert answering(then) == history.in_use[seq]
    db.close()
