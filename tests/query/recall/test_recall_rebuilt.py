"""The default recall gives the same hits in the same order before and after a rebuild (law 2)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

import worlddb
from worlddb import Database, ManualClock

pytestmark = pytest.mark.long

TEXTS: Final = 400
QUESTIONS: Final = 150
FEWER: Final = 60
SYLLABLES: Final = ("ba", "de", "fi", "go", "ku", "la", "mi", "no", "pe", "ru", "sa", "ti", "vo")
PEOPLE: Final = ("Sarah Chen", "Tom Okafor", "Ines Duarte", "Yusuf Kaya")
SEEDS: Final = pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.soak) for seed in (2, 3))])

Answer = list[tuple[str, float]]


class Speaker:
    """Makes short texts and questions of words as unevenly common as those of a language."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._words = ["".join(self._random.choices(SYLLABLES, k=self._random.randint(2, 4))) for _ in range(220)]
        self._weights = [1 / (rank + 4) for rank in range(len(self._words))]

    def words(self, least: int, most: int) -> str:
        return " ".join(self._random.choices(self._words, self._weights, k=self._random.randint(least, most)))

    def said(self) -> str:
        most = self._random.choice((6, 12, 30, 90))
        return f"{self._random.choice(PEOPLE)}: {self.words(3, most)}"

    def question(self) -> str:
        about = self._random.choice(("", "", self._random.choice(PEOPLE)))
        return f"what did {about} {self.words(2, 7)}?"


def told(db: Database, texts: Sequence[str], *, after: int = 0) -> None:
    with db.batch() as batch:
        for number, text in enumerate(texts, after):
            batch.create("Fact", f"note {number}", content=text)


def answers(db: Database, questions: Sequence[str]) -> list[Answer]:
    view = db.view()
    return [[(hit.ref, hit.score) for hit in view.recall(question, k=10).hits] for question in questions]


def changed(before: Sequence[Answer], after: Sequence[Answer]) -> list[int]:
    """The questions whose hits, or their order, differ."""
    pairs = enumerate(zip(before, after, strict=True))
    return [at for at, (one, other) in pairs if [hit for hit, _ in one] != [hit for hit, _ in other]]


def opened(tmp_path: Path) -> Database:
    clock = ManualClock(worlddb.parse_time("2024-06-01T12:00:00Z"))
    return worlddb.open(tmp_path / "store", clock=clock, background=False)


def rebuilt_alike(db: Database, questions: Sequence[str]) -> None:
    """Hits, order and scores are those of before a rebuild, to the last bit."""
    before = answers(db, questions)
    db.rebuild()
    after = answers(db, questions)
    assert sum(map(bool, after)) > len(questions) * 0.9
    assert changed(before, after) == []
    assert before == after


def checkpoint(db: Database) -> int:
    return int(db.stats()["checkpoints"]["text"])


@SEEDS
@pytest.mark.parametrize("texts", [60, TEXTS])
def test_a_store_that_was_never_indexed_on_disk_answers_as_a_rebuilt_one(tmp_path: Path, seed: int, texts: int) -> None:
    speaker = Speaker(seed)
    questions = [speaker.question() for _ in range(QUESTIONS)]
    with opened(tmp_path) as db:
        told(db, [speaker.said() for _ in range(texts)])
        assert not (tmp_path / "store" / "indexes" / "text").exists()
        rebuilt_alike(db, questions)


@SEEDS
def test_an_index_that_caught_up_in_steps_answers_as_a_rebuilt_one(tmp_path: Path, seed: int) -> None:
    speaker = Speaker(seed)
    questions = [speaker.question() for _ in range(FEWER)]
    with opened(tmp_path) as db:
        refs: list[str] = []
        for step in range(4):
            told(db, [speaker.said() for _ in range(TEXTS // 4)], after=step * TEXTS // 4)
            db.catch_up()
            # A commit without a text is caught up with, too.
            refs += [hit.ref for hit in db.view().recall(questions[step], k=2).hits]
            db.link(refs[-2], "refers_to", refs[-1])
            db.catch_up()
        assert 0 < checkpoint(db) < db.head().seq
        rebuilt_alike(db, questions)


@SEEDS
def test_a_store_that_is_indexed_in_part_answers_as_a_rebuilt_one(tmp_path: Path, seed: int) -> None:
    speaker = Speaker(seed)
    questions = [speaker.question() for _ in range(FEWER)]
    with opened(tmp_path) as db:
        told(db, [speaker.said() for _ in range(TEXTS // 2)])
        db.rebuild()
        told(db, [speaker.said() for _ in range(TEXTS // 2)], after=TEXTS // 2)
        rebuilt_alike(db, questions)


@SEEDS
def test_single_commits_and_fresh_handles_between_them_change_no_answer(tmp_path: Path, seed: int) -> None:
    speaker = Speaker(seed)
    questions = [speaker.question() for _ in range(FEWER)]
    for handle in range(3):
        with opened(tmp_path) as db:
            for number in range(110):
                told(db, [speaker.said()], after=110 * handle + number)
                if number % 9 == 0:
                    answers(db, questions[number : number + 1])
            if handle == 1:
                assert db.catch_up()
    with opened(tmp_path) as db:
        assert 0 < checkpoint(db) < db.head().seq
        before = answers(db, questions)
    with opened(tmp_path) as db:
        assert answers(db, questions) == before
        rebuilt_alike(db, questions)


@SEEDS
def test_an_erasure_leaves_the_answers_of_a_rebuilt_store(tmp_path: Path, seed: int) -> None:
    speaker = Speaker(seed)
    questions = [speaker.question() for _ in range(FEWER)]
    with opened(tmp_path) as db, opened(tmp_path) as other:
        for number in range(300):
            told(db, [speaker.said()], after=number)
        answers(db, questions[:1])
        answers(other, questions[:1])
        reached = checkpoint(db)
        for name in ("note 3", "note 100", "note 299"):
            (world,) = db.view().find(name=name)
            db.erase(world.ref, reason="asked for")
        told(db, [speaker.said() for _ in range(3)], after=300)
        told(other, [speaker.said() for _ in range(3)], after=303)
        assert answers(db, questions) == answers(other, questions)
        assert checkpoint(db) > reached, "what was erased counts no more, so the boundary is another"
        rebuilt_alike(db, questions)


def test_texts_that_arrive_later_leave_the_answers_of_a_rebuilt_store(tmp_path: Path) -> None:
    speaker = Speaker(5)
    questions = [speaker.question() for _ in range(FEWER)]
    with opened(tmp_path) as source:
        every = source.create("Notebook", "every", content="all of it").ref
        inside = source.create("Notebook", "inside", content="what refers to others", world=every).ref
        with source.batch() as batch:
            for number in range(150):
                note = batch.create("Fact", f"note {number}", content=speaker.said(), world=every)
                entry = batch.create("Fact", f"entry {number}", content=speaker.said(), world=inside)
                batch.link(entry, "refers_to", note)
        source.export(inside, tmp_path / "inside.bundle")
        source.export(every, tmp_path / "every.bundle")
    with worlddb.open(tmp_path / "other", background=False) as db:
        db.import_bundle(tmp_path / "inside.bundle")
        answers(db, questions[:3])
        told(db, [speaker.said() for _ in range(90)])
        answers(db, questions[:3])
        arrived = db.import_bundle(tmp_path / "every.bundle")
        assert "texts_arrived" in [note.code for note in arrived.notes]
        told(db, [speaker.said() for _ in range(20)], after=90)
        rebuilt_alike(db, questions)


def test_where_no_index_can_be_written_the_answers_are_those_of_one(tmp_path: Path) -> None:
    speaker = Speaker(6)
    questions = [speaker.question() for _ in range(FEWER)]
    with opened(tmp_path) as db:
        told(db, [speaker.said() for _ in range(90)])
        indexes = tmp_path / "store" / "indexes"
        indexes.write_text("a file where a folder should be")
        for number in range(90, 290, 10):
            told(db, [speaker.said() for _ in range(10)], after=number)
            answers(db, questions[:1])
        before = answers(db, questions)
        indexes.unlink()
        db.rebuild()
        assert answers(db, questions) == before
