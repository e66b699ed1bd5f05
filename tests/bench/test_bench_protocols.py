"""The protocols by which answers are made and judged: their rules, the form of their verdicts, and calibration."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import worlddb
from bench.public_data import protocols
from bench.public_data.answering import (
    FieldFilter,
    Judgement,
    Panel,
    Transcript,
    add_arguments,
    panel_of,
    passages,
    summary_lines,
)
from bench.public_data.protocols import CASES, PROTOCOLS, RIGHT, UNCLEAR, WRONG, calibrate, is_refusal, token_f1
from tests.bench.test_bench_answering import Question, Scripted, openai, served
from worlddb import EndpointEnricher, InputError, Turn

JSON = '{"is_correct": %s, "correctness_score": %s, "explanation": "so", "key_matches": [], "key_misses": []}'


@pytest.mark.parametrize(
    ("name", "said", "verdict"),
    [
        ("worlddb", "RIGHT", RIGHT),
        ("worlddb", "right, because", UNCLEAR),
        ("hydra", "Here it is: " + JSON % ("true", "1.0"), RIGHT),
        ("hydra", JSON % ("false", "0.5"), WRONG),
        # A flag and a score that say two things are no verdict.
        ("hydra", JSON % ("true", "0.7"), UNCLEAR),
        ("hydra", JSON % ("false", "1.0"), UNCLEAR),
        ("hydra", JSON % ("false", "7"), UNCLEAR),
        ("hydra", "true", UNCLEAR),
        ("longmemeval", "Yes.", RIGHT),
        ("longmemeval", "no", WRONG),
        ("longmemeval", "yes and no", UNCLEAR),
        ("kumiho", "CORRECT", RIGHT),
        ("kumiho", "wrong", WRONG),
        ("kumiho", "incorrect", UNCLEAR),
    ],
)
def test_a_verdict_has_the_form_of_its_protocol(name: str, said: str, verdict: str) -> None:
    assert PROTOCOLS[name].read(said).verdict == verdict


def test_a_score_is_kept_where_the_protocol_has_one() -> None:
    assert PROTOCOLS["hydra"].read(JSON % ("false", "0.4")).score == 0.4
    assert PROTOCOLS["worlddb"].read("RIGHT").score is None


@pytest.mark.parametrize("name", PROTOCOLS)
def test_each_type_of_question_has_the_rule_of_its_source(name: str) -> None:
    protocol = PROTOCOLS[name]
    told = {kind: protocol.judge_prompt(kind, "why?", "because", "so what") for kind in {case.kind for case in CASES}}
    assert all("why?" in prompt and "because" in prompt and "so what" in prompt for prompt in told.values())
    assert "{" not in "".join(told.values()).replace("{}", "")
    assert len({told[protocols.UNANSWERABLE], told[protocols.USER]}) == 2
    asked = protocol.answer_prompt(protocols.UPDATE, "why?", "2026-03-01", "[2026] it rained")
    assert "why?" in asked and "it rained" in asked and "2026-03-01" in asked and protocol.mark in asked
    if name != "kumiho":
        # What only an update, a count of days or a rubric is judged by.
        assert len({told[kind] for kind in (protocols.UPDATE, protocols.TEMPORAL, protocols.PREFERENCE)}) == 3


def test_the_rules_of_the_sources_are_told() -> None:
    judging = {name: each.judging for name, each in PROTOCOLS.items()}
    assert "off by one" in judging["longmemeval"][protocols.TEMPORAL]
    assert "only a part" in judging["longmemeval"][""]
    assert "0.2 to 0.4" in judging["hydra"][protocols.UPDATE] and "0.3 to 0.9" in judging["hydra"][protocols.PREFERENCE]
    assert PROTOCOLS["hydra"].fields == ("resolved", "preferences", "constraints")
    assert PROTOCOLS["kumiho"].fields == ("resolved", "events", "questions")
    assert [each.by_time for each in PROTOCOLS.values()] == [True, False, True, False]


class Oracle:
    """Says of each calibration case what is so, in the form of a protocol; ``stubborn`` says yes to all."""

    def __init__(self, name: str, *, stubborn: bool = False) -> None:
        forms = {"worlddb": ("RIGHT", "WRONG"), "longmemeval": ("yes", "no"), "kumiho": ("CORRECT", "WRONG")}
        self._yes, self._no = forms.get(name, (JSON % ("true", "1.0"), JSON % ("false", "0.0")))
        self._stubborn = stubborn

    def __call__(self, prompt: str) -> str:
        (case,) = (each for each in CASES if each.given in prompt and each.question in prompt)
        return self._yes if case.right or self._stubborn else self._no


@pytest.mark.parametrize("name", PROTOCOLS)
def test_calibration_tells_a_judge_that_follows_the_rules_from_one_that_agrees_to_all(name: str) -> None:
    assert calibrate(PROTOCOLS[name], Oracle(name))[:2] == (len(CASES), len(CASES))
    found = calibrate(PROTOCOLS[name], Oracle(name, stubborn=True))
    assert found.missed == tuple(place for place, case in enumerate(CASES) if not case.right)
    assert 0 < found.agreed < found.cases
    assert {case.kind for case in CASES if case.right} == {case.kind for case in CASES if not case.right}


def test_words_of_an_answer_are_counted_by_stems_without_articles() -> None:
    assert token_f1("the running dogs", "A dog runs!") == 1.0
    assert token_f1("Bergen and Oslo", "Bergen") == pytest.approx(2 / 3)
    assert token_f1("Bergen", "Oslo") == 0.0 == token_f1("Bergen", "")
    assert (
        is_refusal("No information available.")
        and is_refusal("You never told me that.")
        and not is_refusal("In Bergen.")
    )


@pytest.fixture
def db(tmp_path: Path) -> Iterator[worlddb.Database]:
    with worlddb.open(tmp_path / "store", author="bench", embedder=None) as found:
        turns = [
            Turn(text=text, speaker="user", at="2023-05-01") for text in ("I like React.", "I left that job in May.")
        ]
        found.ingest(turns, conversation="haystack")
        yield found


def enricher(url: str) -> EndpointEnricher:
    return EndpointEnricher(url, "m", retries=0)


def test_the_extractor_keeps_what_its_source_keeps_and_ablations_leave_parts_out(db: worlddb.Database) -> None:
    said = {
        "resolved": "The user left React.",
        "preferences": ["likes React"],
        "events": [{"event": "left", "consequence": "free"}],
        "questions": ["Who is free?"],
    }
    with served(lambda *_: (200, openai(json.dumps(said)))) as (url, asked):
        hydra = Panel(Scripted(), None, Transcript(None), 5, PROTOCOLS["hydra"], ["wordings"], enricher(url))
        hydra.prepare(db, [Question()])
        kept = [each.properties for each in db.view().find(type="Enrichment")]
        assert len(asked) == 2 and all(set(each) == {"made_of", "resolved", "preferences"} for each in kept)
        kumiho = Panel(
            Scripted(), None, Transcript(None), 5, PROTOCOLS["kumiho"], ["wordings", "questions"], enricher(url)
        )
        kumiho.prepare(db, [Question()])
        kept = [each.properties for each in db.view().find(type="Enrichment")]
        assert all(set(each) == {"made_of", "resolved", "events"} for each in kept)
        assert kumiho.figures()["protocol"] == "kumiho without wordings, questions"
        assert kumiho.figures()["enriched"] == 2 and kumiho.figures()["prompts"] == "our own words"
        before = len(asked)
        for without in (["extraction"], ["resolved", "events", "questions"]):
            Panel(Scripted(), None, Transcript(None), 5, PROTOCOLS["kumiho"], without, enricher(url)).prepare(
                db, [Question()]
            )
        assert len(asked) == before
    shown = passages(db.view().recall("job", streams=worlddb.Streams(describe=True)).hits[:1], PROTOCOLS["kumiho"])
    assert "events: left → free" in shown


def test_a_failed_extraction_ends_the_run_since_what_is_measured_is_not_the_protocol(db: worlddb.Database) -> None:
    with served(lambda *_: (400, b"no")) as (url, _):
        panel = Panel(Scripted(), None, Transcript(None), 5, PROTOCOLS["hydra"], (), enricher(url))
        with pytest.raises(worlddb.UnavailableError, match="2 turns were not enriched"):
            panel.prepare(db, [Question()])


def test_other_wordings_are_asked_of_the_model_and_recalled(db: worlddb.Database) -> None:
    model = Scripted("- my job\n\n* when I left\n", "Answer: in May")
    panel = Panel(model, None, Transcript(None), 5, PROTOCOLS["hydra"], ["extraction"])
    view = db.view(valid="2023-06-01")
    panel.evaluate(Question(), view, view.recall("React").hits[:1])
    assert "in 3 other ways" in model.prompts[0] and "I left that job in May." in model.prompts[1]
    assert panel.figures()["answered"] == 1


def test_a_transcript_is_of_one_protocol(tmp_path: Path) -> None:
    transcript = Transcript(tmp_path / "done.jsonl")
    transcript.add(Judgement("q1", "one", "in May", "right"))
    Panel(Scripted(), None, transcript, 5)
    with pytest.raises(InputError, match="of the protocol worlddb, not kumiho"):
        Panel(Scripted(), None, transcript, 5, PROTOCOLS["kumiho"])
    with pytest.raises(InputError, match="not worlddb without wordings"):
        Panel(Scripted(), None, transcript, 5, without=["wordings"])


def test_the_options_choose_a_protocol_and_the_result_says_whose_rules_and_words_these_are(
    db: worlddb.Database,
) -> None:
    def script(number: int, said: dict[str, Any], headers: Any) -> tuple[int, bytes]:
        prompt = said["messages"][0]["content"]
        if "yes or no alone" in prompt:
            case = next((each for each in CASES if each.given in prompt and each.question in prompt), None)
            return 200, openai("yes" if case is None or case.right else "no")
        return 200, openai("nothing bears on it. Answer: in May")

    options = argparse.ArgumentParser()
    add_arguments(options)
    with served(script) as (url, asked):
        named = ["--answer", "--judge", "--protocol", "longmemeval", "--endpoint", url, "--model", "m"]
        panel = panel_of(options.parse_args(named))
        assert panel is not None
        panel.prepare(db, [Question()])
        panel.evaluate(Question(), db.view(), ())
        found = panel.calibration() | panel.figures()
    assert (found["protocol"], found["prompts"]) == ("longmemeval", "our own words")
    assert "Wu et al." in found["rules_of"]
    assert (found["accuracy"], found["mean_score"], found["token_f1"]) == (100.0, None, 1.0)
    assert found["calibration"]["agreed"] == len(CASES) and len(asked) == 2 + len(CASES)
    told = summary_lines(found)
    assert told[0] == f"By the protocol longmemeval: rules of {found['rules_of']}, prompts in our own words."
    assert told[-1].startswith(f"The judge decided {len(CASES)} of {len(CASES)} calibration cases")
    with pytest.raises(SystemExit):
        options.parse_args(["--protocol", "arbiter"])


def test_what_an_extractor_keeps_is_named() -> None:
    with served(lambda *_: (200, openai("{}"))) as (url, _):
        assert FieldFilter(enricher(url), ("resolved", "events")).name == "endpoint/m resolved+events"
