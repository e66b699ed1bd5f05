"""The program that fits confidence: what it fits, how it counts, and that the product has what it fitted."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path
from random import Random

import pytest

from bench import confidence, reranking
from bench.public_data import ideas
from bench.public_data.posed import ANSWERABLE, ELSEWHERE, HERE
from bench.public_data.retrieval import VARIANTS
from tests.bench.test_bench import LOCOMO, run
from tests.support.model.stores import new_store
from worlddb import InputError, Turn
from worlddb.query.recall import scoring


def asked(
    kind: str, level: float, *, right: bool = False, half: int = 1, source: str = "one"
) -> confidence.AskedQuestion:
    return confidence.AskedQuestion(source, half, kind, confidence.MODEL, [], [right], (), [level], level, level < 0.5)


def test_a_regression_finds_the_coefficients_that_made_the_answers() -> None:
    draw, true = Random(5), (-1.0, 2.0, -3.0)
    rows = [(draw.gauss(0, 1), draw.gauss(0, 0.5)) for _ in range(8_000)]
    right = [draw.random() < scoring.likelihood(true, row) for row in rows]
    assert confidence.regression(rows, right, [1.0] * len(rows)) == pytest.approx(true, abs=0.15)
    doubled = [2.0 if each else 1.0 for each in right]
    assert confidence.regression(rows, right, doubled)[0] > -0.6


def test_each_idea_of_recall_that_a_run_leaves_out_is_one_that_recall_has() -> None:
    """They are left out by name, which says nothing until somebody asks for them."""
    said = [(("Ana", "Ben")[day % 2], f"I bought a lamp of {day} euros.") for day in range(1, 15)]
    talk = [
        Turn(speaker=speaker, text=text, at=f"2023-05-{max(1, day // 2):02}")
        for day, (speaker, text) in enumerate([*said, ("Ana", "Always answer in German.")], start=1)
    ]
    with new_store(embedder=None) as db:
        db.ingest(talk, session="lamps")

        def found() -> list[tuple[str, float]]:
            recalled = db.view().recall("How many euros did Ana pay for a lamp on 7 May 2023?", k=3)
            return [(hit.ref, hit.score) for hit in recalled.hits]

        whole, differing = found(), set[str]()
        for idea in ideas.variants(Namespace(ideas=True)).keys() - VARIANTS.keys():
            with ideas.ablated(idea):
                differing |= {idea} if found() != whole else set()
        assert found() == whole
    assert differing >= {f"without {idea}" for idea in ("context", "talks", "the second look", "times")}


def test_the_area_under_the_curve_counts_pairs_and_ties_as_half() -> None:
    assert confidence.auc([3, 2], [1, 0]) == 1.0
    assert confidence.auc([1, 1], [1]) == 0.5
    assert confidence.auc([0.1, 0.9], [0.5, 0.5]) == 0.5
    assert confidence.auc([], [1]) is None


def test_what_can_be_answered_weighs_as_much_as_all_that_cannot_and_is_flagged_falsely_as_said() -> None:
    can = [asked(ANSWERABLE, level / 100, right=level > 20) for level in range(100)]
    cannot = [asked(HERE, 0.02)] * 3 + [asked(ELSEWHERE, 0.5)]
    weights = confidence.shares([*can, *cannot])
    assert sum(weights[:100]) == pytest.approx(2) and weights[100:] == pytest.approx([1 / 3] * 3 + [1.0])
    told = confidence.summarise([*can, *cannot])
    kinds = told["sources"]["one"]
    assert kinds[HERE]["flagged@5"] == 1.0 and kinds[HERE]["flagged@1"] == 0.0
    assert kinds[ELSEWHERE]["flagged@10"] == 0.0
    assert kinds[ANSWERABLE]["weak"] == 0.5
    first, *_, last = told["answers"]
    assert (first["coverage"], first["precision"]) == (1.0, pytest.approx(0.395))
    assert last["precision"] == 1.0


def test_questions_are_asked_where_they_belong_and_elsewhere_in_their_half(tmp_path: Path) -> None:
    file = tmp_path / "conversations.json"
    other = [{**each, "sample_id": f"{each['sample_id']}-{number}"} for number in range(2) for each in LOCOMO]
    file.write_text(json.dumps(other))
    found = list(confidence.ask_all(Namespace(locomo=file, beam=None, longmemeval=None, embedder="static")))
    assert {each.half for each in found} == {0, 1}
    assert {each.mode for each in found} == set(confidence.MODES)
    for each in found:
        fitted = scoring.FITTED[each.mode]
        assert each.confidence == pytest.approx(scoring.likelihood(fitted.answer, each.answer), abs=1e-3) or each.weak
        likely = [scoring.likelihood(fitted.hit, hit) for hit in each.hits]
        least = [scoring.WEAK_BELOW * (behind == 0 and covered >= 1) for _, behind, covered, _ in each.hits]
        assert [round(max(pair), 4) for pair in zip(likely, least, strict=True)] == each.hit_confidence
        assert each.is_right == any(each.gold) and not (each.is_right and each.kind != ANSWERABLE)
    fitted = confidence.fit(found)
    assert (len(fitted.hit), len(fitted.answer)) == (5, 5)


@pytest.mark.parametrize(
    ("way", "asked", "first"), [("late", {"L": 2}, 0), ("cross", {"C": 2}, 0), ("both", {"L": 3, "C": 2}, 50)]
)
def test_what_is_reranked_is_told_by_halves_beside_what_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str, asked: dict[str, int], first: int
) -> None:
    file = tmp_path / "conversations.json"
    file.write_text(
        json.dumps([{**each, "sample_id": f"{each['sample_id']}-{n}"} for n in range(2) for each in LOCOMO])
    )

    class Upside:
        """Prefers what comes last."""

        def __init__(self, *, threads: int) -> None:
            assert threads == 1

        def __call__(self, question: str, texts: list[str]) -> list[int]:
            read[type(self).__name__] = len(texts)
            return [10 * place for place in range(len(texts))]

    read: dict[str, int] = {}
    monkeypatch.setattr(reranking, "MiniLMReranker", type("L", (Upside,), {}))
    monkeypatch.setattr(reranking, "CrossEncoderReranker", type("C", (Upside,), {}))
    given = {"locomo": file, "beam": None, "longmemeval": None, "embedder": "static", "every": 1, "seed": 3}
    given |= {"late": 2, "cross": 2, "both": 3}
    told = reranking.measure(Namespace(**given, ways=[way]))
    assert read == asked and told["hits"].keys() == {way}
    assert told["sources"].keys() > {"LoCoMo"} and told["time"]["LoCoMo"][way]["p50_ms"] >= 0
    for half in ("0", "1"):
        found = told["sources"]["LoCoMo"][half]["ways"]
        assert (found["default"]["recall@1"], found["default"]["any@1"]) == (100, 100)
        assert (found[way]["recall@1"], found[way]["any@1_gain_95"]) == (first, [-100, 2 * first - 100])
        assert found["default"]["recall@5"] == found[way]["recall@5"] == 100
    with pytest.raises(InputError, match="No file of questions"):
        reranking.measure(Namespace(**given | {"locomo": None}, ways=[way]))


def test_the_program_prints_its_tables(tmp_path: Path) -> None:
    file = tmp_path / "conversations.json"
    file.write_text(
        json.dumps([{**each, "sample_id": f"{each['sample_id']}-{n}"} for n in range(3) for each in LOCOMO])
    )
    told = run("confidence", "--locomo", str(file), "--fit")
    assert told.keys() >= {"fitted", confidence.MODEL, "words alone"}
