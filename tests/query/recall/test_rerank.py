"""Reranks by the caller's scores, refuses impossible ones, and changes nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import worlddb
from worlddb import InputError, Recall

TEXTS = ("a red boat", "a red house", "a red car", "a red kite")


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recall]:
    with worlddb.open(tmp_path_factory.mktemp("rerank") / "store") as db:
        for number, text in enumerate(TEXTS):
            db.create("Thing", f"thing {number}", content=text)
        yield db.view().recall("red")


def by_length(question: str, texts: Sequence[str]) -> list[int]:
    return [len(text) for text in texts]


def test_the_scores_of_the_caller_decide_and_the_answer_says_so(found: Recall) -> None:
    again = worlddb.rerank(found, "red", by_length)
    assert [hit.content for hit in again] == sorted((hit.content for hit in found), key=len, reverse=True)
    assert again.note.endswith("reranked by by_length")
    for hit in again:
        before = next(each for each in found if each.ref == hit.ref)
        assert hit.scores == {"rerank": hit.score} == {"rerank": len(f"{hit.name}\n{hit.content}")}
        assert msgspec.structs.replace(hit, score=before.score, scores=before.scores) == before
    assert msgspec.structs.replace(again, hits=found.hits, note=found.note) == found


def test_a_name_that_is_only_an_id_is_not_read(found: Recall) -> None:
    read: list[str] = []
    ids: tuple[dict[str, Any], ...] = ({"id": found.hits[0].name}, {"id": 7}, {}, {"id": found.hits[3].name})
    hits = [msgspec.structs.replace(hit, source=source) for hit, source in zip(found.hits, ids, strict=True)]
    hits[3] = msgspec.structs.replace(hits[3], content="")

    def reader(question: str, texts: Sequence[str]) -> list[int]:
        read.extend(texts)
        return [0] * len(texts)

    worlddb.rerank(msgspec.structs.replace(found, hits=tuple(hits)), "red", reader)
    assert read == [hits[0].content, *(f"{hit.name}\n{hit.content}" for hit in hits[1:3]), hits[3].name]


@given(st.lists(st.integers(0, 2), min_size=len(TEXTS), max_size=len(TEXTS)), st.integers(1, len(TEXTS)))
def test_hits_that_score_alike_keep_their_order(found: Recall, scores: list[int], k: int) -> None:
    again = worlddb.rerank(found, "red", lambda question, texts: np.array(scores, dtype=np.float32), k=k)
    order = sorted(range(len(scores)), key=lambda place: (-scores[place], place))
    assert [hit.ref for hit in again] == [found.hits[place].ref for place in order[:k]]


def test_a_cascade_culls_by_one_reranker_and_refines_by_the_next(found: Recall) -> None:
    given: list[Sequence[str]] = []

    def by_last_letter(question: str, texts: Sequence[str]) -> list[int]:
        given.append(texts)
        return [ord(text[-1]) for text in texts]

    best = worlddb.rerank(worlddb.rerank(found, "red", by_length, k=3), "red", by_last_letter, k=2)
    longest = sorted(given[0], key=len)
    assert len(longest) == 3 and all("a red car" not in text for text in longest[1:])
    assert [hit.content[-1] for hit in best] == sorted((text[-1] for text in longest), reverse=True)[:2]
    assert best.note.endswith("reranked by by_length; reranked by " + by_last_letter.__qualname__)


def test_a_reranker_is_not_asked_about_nothing(found: Recall) -> None:
    def never(question: str, texts: Sequence[str]) -> list[float]:
        raise AssertionError("there is nothing to score")

    nothing = msgspec.structs.replace(found, hits=())
    assert worlddb.rerank(nothing, "red", never).hits == ()


@pytest.mark.parametrize(
    ("scores", "said"),
    [
        (None, "returned NoneType"),
        ([1.0], "1 scores for 4 texts"),
        ([1.0] * 5, "5 scores for 4 texts"),
        ([1.0, float("nan"), 2.0, 3.0], "score of text 1 is nan"),
        ([1.0, 2.0, float("inf"), 3.0], "score of text 2 is inf"),
        ([1.0, 2.0, 10**400, 3.0], "score of text 2 is 1000"),
        ([1.0, 2.0, 3.0, "best"], "score of text 3 is 'best'"),
        ([[1.0], [2.0], [3.0], [4.0]], "score of text 0 is [1.0]"),
    ],
)
def test_an_invalid_score_is_refused(found: Recall, scores: Any, said: str) -> None:
    with pytest.raises(InputError, match="The reranker") as refused:
        worlddb.rerank(found, "red", lambda question, texts: scores)
    assert said in str(refused.value) and "one finite number" in str(refused.value)


def test_a_recall_without_order_is_refused(found: Recall) -> None:
    group = worlddb.Group(ref="", type="", name="", score=1.0, count=1, hits=found.hits[:1])
    grouped = msgspec.structs.replace(found, groups=(group,))
    with pytest.raises(InputError, match="group_hits"):
        worlddb.rerank(grouped, "red", by_length)
    with pytest.raises(InputError, match="rerank takes a Recall"):
        worlddb.rerank(found.hits, "red", by_length)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="k is 0"):
        worlddb.rerank(found, "red", by_length, k=0)


def test_a_reranker_may_stand_in_the_place_of_one_kind_of_evidence(found: Recall) -> None:
    again = worlddb.rerank(found, "red", by_length, instead="text")
    for hit in again:
        before = next(each for each in found if each.ref == hit.ref)
        kept = {lane: part for lane, part in before.scores.items() if lane != "text"}
        assert "text" in before.scores and hit.scores == {**kept, "rerank": len(f"{hit.name}\n{hit.content}")}
        assert hit.score == pytest.approx(sum(hit.scores.values()))
    added = worlddb.rerank(found, "red", by_length, instead="vector")
    assert all("text" in hit.scores for hit in added), "where nothing was compared by meaning it is added"


def test_what_a_reranker_says_may_be_added_to_the_score_of_a_hit(found: Recall) -> None:
    def by_a_little(question: str, texts: Sequence[str]) -> list[float]:
        return [0.01 * len(text) for text in texts]

    again = worlddb.rerank(found, "red", by_a_little, add=True)
    for hit in again:
        before = next(each for each in found if each.ref == hit.ref)
        assert before.scores and hit.scores == {**before.scores, "rerank": 0.01 * len(f"{hit.name}\n{hit.content}")}
        assert hit.score == pytest.approx(before.score + hit.scores["rerank"], abs=1e-5)
    twice = worlddb.rerank(again, "red", by_a_little, add=True)
    assert [hit.scores["rerank"] for hit in twice] == pytest.approx([2 * hit.scores["rerank"] for hit in again])


@pytest.mark.parametrize("options", [{"add": True}, {"instead": "text"}, {}])
def test_a_standing_instruction_keeps_its_place_unless_the_reranker_alone_decides(
    found: Recall, options: dict[str, Any]
) -> None:
    marks: list[dict[str, float]] = [{}, {"governs": 0.3}, {}, {"kept": 0.2}]
    marked = [
        msgspec.structs.replace(hit, score=hit.score + sum(more.values()), scores={**hit.scores, **more})
        for hit, more in zip(found.hits, marks, strict=True)
    ]
    before = [hit.ref for hit in marked]
    said = {0: 4.0, 1: 1.0, 2: 3.0, 3: 2.0}
    again = worlddb.rerank(
        msgspec.structs.replace(found, hits=tuple(marked)),
        "red",
        lambda question, texts: said.values(),
        **options,
    ).hits
    assert [before.index(hit.ref) for hit in again] == ([0, 1, 2, 3] if options else [0, 2, 3, 1])
    assert all(hit.score == pytest.approx(sum(hit.scores.values()), abs=1e-4) for hit in again)
    assert [hit.score for hit in again] == sorted((hit.score for hit in again), reverse=True)


def test_only_of_a_sum_may_a_part_be_replaced(found: Recall) -> None:
    with pytest.raises(InputError, match="one of add and instead"):
        worlddb.rerank(found, "red", by_length, instead="text", add=True)
    with pytest.raises(InputError, match="no evidence 'words'"):
        worlddb.rerank(found, "red", by_length, instead="words")
    by_ranks = msgspec.structs.replace(found, hits=(msgspec.structs.replace(found.hits[0], score=0.016),))
    with pytest.raises(InputError, match="fusion convex"):
        worlddb.rerank(by_ranks, "red", by_length, instead="text")
    with pytest.raises(InputError, match="fusion convex"):
        worlddb.rerank(by_ranks, "red", by_length, add=True)
