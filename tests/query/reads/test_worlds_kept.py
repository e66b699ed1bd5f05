"""What is kept of a world that is asked from inside gives the answers of a scratch index, whatever happened since."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import worlddb
from tests.support.faults.growth import DAY, WORDS, Growth
from worlddb.projections.indexes import kept_worlds, world_moments, world_texts
from worlddb.query.snapshot.visible import VisibleSnapshot

HISTORIES = 2
SOAK_HISTORIES = 300
TURNS = 12
COMMANDS = 8
ASKED_A_TURN = 5


class Letters:
    """A model of meaning that is easy to foresee: how often each of eight letters occurs."""

    model = "letters/1"
    dimension = 8

    def mean(self) -> Any:
        return [0.5] * 8

    def embed(self, texts: Any, *, query: bool) -> Any:
        return [[text.count(letter) for letter in "abcdefgh"] for text in texts]


def scratch(view: worlddb.View, ask: Callable[[worlddb.View], Any]) -> Any:
    """The answer of a view that has nothing but the tables."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(VisibleSnapshot, "kept_world", lambda *_: None)
        fresh = worlddb.View(view._window.narrowed(view._window.place.top), view.ingested, view.world)
        return ask(fresh)


def question(rng: random.Random, refs: list[str], clock: int) -> Callable[[worlddb.View], Any]:
    """A question of some kind, by words, by meaning, or by both."""
    text = " ".join(rng.sample(WORDS, rng.randint(1, 4)))
    begins = clock + rng.randint(-40, 20) * DAY
    how: dict[str, Any] = rng.choice(
        (
            {},
            {},
            {"include_superseded": True},
            {"overlaps": (begins, begins + rng.randint(1, 30) * DAY)},
            {"during": (begins, begins + rng.randint(1, 10) * DAY)},
            {"group": 2},
            {"neighbours": 3},
            {"world": rng.choice(refs)},
        )
    )
    how = how | {"lanes": rng.choice((("text",), ("vector",), ("text", "vector", "entity"))), "k": rng.choice((3, 30))}
    asked = rng.choice((text, text, f"what was {text} before?"))

    def ask(view: worlddb.View) -> Any:
        try:
            return view.recall(asked, **how)
        except worlddb.InputError as error:
            return type(error), error.message

    return ask


def history(folder: Path, seed: int, seen: Counter[str]) -> None:
    """One random history, asked from inside its worlds as it grows, and again after the store was opened anew."""
    rng, clock = random.Random(seed), worlddb.ManualClock()
    entropy = worlddb.SeededEntropy(seed)

    def opened() -> worlddb.Database:
        return worlddb.open(folder, author="x", clock=clock, entropy=entropy, embedder=Letters())

    db = opened()
    growth = Growth(db, clock, seed)
    pinned: list[worlddb.View] = []
    try:
        for turn in range(TURNS):
            if rng.random() < 0.3:
                db.close()
                db = growth.db = opened()
                pinned.clear()
                seen["opened"] += 1
            growth.grow(COMMANDS)
            if rng.random() < 0.5:
                db.embed(limit=rng.choice((3, None)))
            if turn == TURNS // 2 and rng.random() < 0.5:
                db.erase(rng.choice(growth.worlds), reason="request 7", members=rng.random() < 0.5)
            containers = [ref for ref in growth.worlds if next(db.view().children(ref, include_superseded=True), None)]
            for _ in range(ASKED_A_TURN):
                if pinned and rng.random() < 0.3:
                    view = rng.choice(pinned)
                else:
                    top = rng.choice(containers or growth.worlds)
                    valid = clock.value + rng.randint(-30, 30) * DAY
                    known = rng.choice((None, None, rng.randint(2, db.head().seq)))
                    try:
                        view = db.view(world=top, valid=rng.choice((None, valid)), seq=known)
                    except worlddb.UnknownReference:
                        continue
                    pinned.append(view)
                ask = question(rng, growth.worlds, clock.value)
                told, expected = ask(view), scratch(view, ask)
                assert told == expected, f"turn {turn}"
                seen["asked"] += 1
                seen["answered"] += bool(isinstance(told, worlddb.Recall) and told.hits)
    finally:
        db.close()


def test_a_question_of_what_was_before_looks_at_what_is_over_in_a_world(tmp_path: Path) -> None:
    """As many texts held up to now as were asked of, but others: what was over was not looked for."""
    history(tmp_path / "store", 2815869702, Counter())


def run(folder: Path, seed: int, histories: int, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    seen: Counter[str] = Counter()
    loaded = kept_worlds.load
    count_load = lambda *given: _counted(seen, "loaded", loaded(*given))  # noqa: E731
    monkeypatch.setattr(kept_worlds, "load", count_load)
    monkeypatch.setattr(kept_worlds, "WORTH_KEEPING", 1)
    monkeypatch.setattr(kept_worlds, "MAX_WORLDS", 3)
    seeds = random.Random(seed)
    for _ in range(histories):
        drawn = seeds.randrange(2**32)
        monkeypatch.setattr(world_moments, "MAX_CHANGES", 3 if drawn % 3 == 0 else 16)
        monkeypatch.setattr(world_texts, "MERGED_AT_ONCE", 2 if drawn % 2 else 4)
        monkeypatch.setattr(world_moments, "SHALLOW", 1 if drawn % 5 == 0 else 12)
        try:
            history(folder / str(drawn), drawn, seen)
        except BaseException as error:
            error.add_note(f"history {drawn}")
            raise
        shutil.rmtree(folder / str(drawn))
    return seen


def _counted(seen: Counter[str], what: str, found: Any) -> Any:
    seen[what] += found is not None
    return found


def test_what_is_kept_of_a_world_answers_as_a_scratch_index_would(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = run(tmp_path, seed, HISTORIES, monkeypatch)
    assert seen["asked"] > 20 * HISTORIES and seen["answered"] > 8 * HISTORIES, seen
    assert seen["loaded"] >= HISTORIES, seen


@pytest.mark.soak
def test_what_is_kept_answers_as_a_scratch_index_in_three_hundred_histories(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = run(tmp_path, seed, SOAK_HISTORIES, monkeypatch)
    with capsys.disabled():
        print(f"\n{dict(seen)}")
