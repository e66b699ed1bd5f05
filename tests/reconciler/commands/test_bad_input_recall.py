"""Any recall of anything gives an answer or a typed error, and soon."""

from __future__ import annotations

import math
from pathlib import Path
from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import worlddb
from tests.reconciler.embedding.test_embedding import Letters
from tests.support.examples import examples
from worlddb import Database, InputError, WorldDBError

SOON_SECONDS = 5.0
"""Of the processor: what nobody would take for a hang, with room for a slow machine."""


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with worlddb.open(tmp_path_factory.mktemp("asked") / "store", embedder=Letters()) as db:
        said = ["a bad cab", "AND OR NOT", 'he said "quote" twice', "name:value [1 TO 5]", "naïve café", "你好 世界"]
        db.ingest([{"text": text, "speaker": "Ada"} for text in said], conversation="c", session="s", at="2025-01-01")
        db.embed()
        yield db


LONG = [
    "x" * 100_000,
    "ab " * 33_333,
    "Ada said that " * 7_000,
    "\n" * 100_000,
    "’s" * 50_000,
    "( " * 50_000,
    "yesterday " * 10_000,
    "你" * 33_333,
    "\u0301" * 50_000,
    " ".join(f"w{number}" for number in range(15_000)),
]


@pytest.mark.parametrize("text", ["", " ", "\x00", "?", *LONG], ids=lambda text: f"{len(text)} of {text[:4]!r}")
@pytest.mark.parametrize("options", [{}, {"exact": True}, {"fusion": "rrf"}], ids=str)
def test_empty_and_enormous_questions_are_answered_or_refused_soon(
    db: Database, text: str, options: dict[str, Any]
) -> None:
    began = process_time()
    try:
        assert len(db.view().recall(text, **options).hits) <= 10
    except WorldDBError as error:
        assert error.message
    assert process_time() - began < SOON_SECONDS


@pytest.mark.parametrize(
    "text",
    [
        *(
            "AND",
            "a AND",
            "NOT bad",
            "+bad -cab",
            "bad^2",
            "bad~1",
            '"bad cab"',
            '"',
            "bad*",
            "(",
            "((((",
            "name:",
            ":",
        ),
        *("stem:bad", "node:1", "kind:1", "[1 TO 5]", "{* TO *}", "\\", "/bad/", "bad && cab", "!!", "bad OR", "*:*"),
    ],
)
def test_the_syntax_of_query_languages_is_only_text(db: Database, text: str) -> None:
    hits = db.view().recall(text).hits
    assert all(hit.content for hit in hits)
    assert "bad" not in text or any("bad" in hit.content for hit in hits)


@examples(10, deadline=None)
@given(text=st.text(max_size=200), k=st.integers(-2, 12), exact=st.booleans())
def test_any_text_is_answered_or_refused(db: Database, text: str, k: int, exact: bool) -> None:
    try:
        assert len(db.view().recall(text, k=k, exact=exact).hits) <= k
    except WorldDBError as error:
        assert error.message


@pytest.mark.parametrize("world", ["nowhere", "", "00" * 16, "zz", 5, b"x", object(), float("nan")])
def test_a_world_that_is_not_there_is_a_typed_error(db: Database, world: Any) -> None:
    with pytest.raises(WorldDBError) as told:
        db.view().recall("bad", world=world)
    assert told.value.message


@pytest.mark.parametrize(
    "values",
    [
        [],
        [1.0],
        [1.0] * 7,
        [1.0] * 9,
        [math.nan] * 8,
        [math.inf] * 8,
        [1e39] * 8,
        [0.0] * 8,
        [1e-39] * 8,
        ["a"] * 8,
        [None] * 8,
        5,
    ],
)
def test_a_vector_that_cannot_be_compared_is_a_typed_error(db: Database, values: Any) -> None:
    with pytest.raises(InputError) as told:
        db.view().query(vector=values).run()
    assert told.value.message


class Broken(Letters):
    """A model that begins to answer with something else than it did."""

    answer: Any = None

    def embed(self, texts: Any, *, query: bool = False) -> Any:
        found = super().embed(texts, query=query)
        return found if self.answer is None else [self.answer for _ in texts]


@pytest.mark.parametrize("answer", [[math.nan] * 8, [math.inf] * 8, [1.0] * 3, [], "text", 5])
def test_a_model_that_answers_nonsense_takes_its_lane_away_and_nothing_else(tmp_path: Path, answer: Any) -> None:
    model = Broken()
    with worlddb.open(tmp_path / "store", embedder=model) as db:
        db.create("Note", "n", content="a bad cab")
        db.embed()
        model.answer = answer
        told = db.view().recall("bad")
        assert [hit.content for hit in told.hits] == ["a bad cab"]
        assert "vector" in told.unavailable
        assert "vector" not in told.lanes


class Unwell:
    """A model that cannot even say what it is."""

    model = "letters/1"

    def __init__(self, part: str) -> None:
        self._part = part

    @property
    def dimension(self) -> int:
        if self._part == "dimension":
            raise TimeoutError("no answer in time")
        return 8

    def mean(self) -> Any:
        if self._part == "mean":
            raise TimeoutError("no answer in time")
        return [0.0] * 8

    def embed(self, texts: Any, *, query: bool = False) -> Any:
        return Letters().embed(texts, query=query)


@pytest.mark.parametrize("part", ["dimension", "mean", "function"])
def test_a_model_that_raises_whatever_it_is_asked_is_a_typed_error_and_takes_its_lane_away(
    tmp_path: Path, part: str
) -> None:
    def away(texts: list[str]) -> Any:
        raise TimeoutError("no answer in time")

    broken: Any = worlddb.CallableEmbedder(away, "letters/1") if part == "function" else Unwell(part)
    with worlddb.open(tmp_path / "new", embedder=broken) as db:
        db.create("Note", "n", content="a bad cab")
        before = db.head()
        with pytest.raises(worlddb.ModelUnavailable, match="no answer in time"):
            db.embed()
        assert db.head() == before
    with worlddb.open(tmp_path / "store", embedder=Letters()) as db:
        db.create("Note", "n", content="a bad cab")
        db.embed()
    with worlddb.open(tmp_path / "store", embedder=broken) as db:
        told = db.view().recall("bad")
        assert [hit.content for hit in told.hits] == ["a bad cab"]
        assert ("no answer in time" in told.unavailable.get("vector", "")) is (part != "mean")
