"""The retrieval benchmarks on files as they are found: fields that are missing, dates in other forms, questions that
nothing answers; and what is no such file is told by its place, without a trace of the program."""

from __future__ import annotations

import json
import lzma
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import worlddb
from bench import beam, locomo, locomo_plus, longmemeval
from bench.locomo_plus import cue_turns, gap_before
from bench.measuring.report import ended
from bench.public_data import baselines
from bench.public_data.haystacks import load, question, session_name
from bench.public_data.retrieval import VARIANTS
from tests.bench.test_bench import LOCOMO, LONGMEMEVAL

DAY = 86_400_000_000
PAIR = {
    "relation_type": "causal",
    "cue_dialogue": "A: My wrist hurts, so I stopped playing tennis.\nB: Rest it.",
    "trigger_query": "A: I sold my tennis rackets.",
    "time_gap": "about two months later",
}


def written(folder: Path, name: str, held: object) -> str:
    path = folder / name
    path.write_text(held if isinstance(held, str) else json.dumps(held), encoding="utf-8")
    return str(path)


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., dict[str, Any]]:
    """Run a program in this process; its JSON."""

    def run(program: Any, *arguments: str) -> dict[str, Any]:
        monkeypatch.setattr(sys, "argv", ["bench", "--json", *arguments])
        ended(program.main)
        told: dict[str, Any] = json.loads(capsys.readouterr().out.splitlines()[-1])
        return told

    return run


def refusal(program: Any, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> str:
    """What a program says as it ends."""
    monkeypatch.setattr(sys, "argv", ["bench", *arguments])
    with pytest.raises(SystemExit) as ending:
        ended(program.main)
    return str(ending.value)


@pytest.mark.parametrize("arguments", [("--limit", "0"), ("--limit", "-1"), ("--turns", "-3"), ("--limit", "a")])
def test_a_number_of_nothing_is_a_mistake_in_the_arguments(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: tuple[str, str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["bench", "no-such-file", *arguments])
    with pytest.raises(SystemExit) as told:
        longmemeval.main()
    assert told.value.code == 2 and f"argument {arguments[0]}" in capsys.readouterr().err


def changed(**fields: Any) -> dict[str, Any]:
    """A question of LongMemEval with other fields; ``None`` leaves one out."""
    return {key: value for key, value in (LONGMEMEVAL[0] | fields).items() if value is not None}


@pytest.mark.parametrize(
    "date", ["2023/05/30 (Tue) 22:36", "2023/05/30 (Tuesday) 22:36", "2023-05-30 22:36", "2023-05-30T22:36:00Z"]
)
def test_a_question_is_asked_at_its_date_in_whatever_form(tmp_path: Path, date: str) -> None:
    (record,) = load(Path(written(tmp_path, "q.json", changed(question_date=date))))
    assert record.asked == worlddb.parse_time("2023-05-30T22:36:00Z")
    assert record.question_date == date


def test_a_question_without_a_date_is_asked_when_its_last_session_was_and_one_without_any_is_asked_all_the_same(
    tmp_path: Path, measured: Callable[..., dict[str, Any]]
) -> None:
    undated = changed(question_date=None)
    bare = changed(question_date=None, haystack_dates=None, question_type=None, answer=None, question_id="q2")
    path = written(tmp_path, "q.jsonl", f"\ufeff{json.dumps(undated)}\n{json.dumps(bare)}\n")
    first, second = load(Path(path))
    assert first.asked == worlddb.parse_time("2023-05-21T10:00:00Z")
    assert (second.asked, second.question_type, second.answer) == (None, "unknown", "")
    told = measured(longmemeval, path)
    assert (told["n"], told["recall_any@1"], told["left_out"]) == (2, 100.0, 0)
    assert told["by_type"].keys() == {"single-session-user", "unknown"}


def test_gold_turns_are_the_marked_ones_or_all_of_the_answer_sessions_that_are_there(tmp_path: Path) -> None:
    unmarked = [[{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}], [], []]
    given = [
        changed(),
        changed(
            haystack_sessions=unmarked, answer_session_ids=["pets", "nowhere"], haystack_session_ids=["pets", "x", "y"]
        ),
        changed(answer_session_ids=["nowhere"]),
        changed(haystack_sessions=[[], [], []], haystack_session_ids=["pets", "x", "y"]),
    ]
    found = [question(record) for record in load(Path(written(tmp_path, "q.json", given)))]
    assert [each.turns for each in found] == [{"pets:0"}, {"pets:0", "pets:1"}, set(), set()]
    assert [each.sessions for each in found] == [{session_name("pets")}, {session_name("pets")}, set(), set()]


def test_a_question_that_nothing_answers_is_left_out_and_counted_and_abstentions_are_told_apart(
    tmp_path: Path, measured: Callable[..., dict[str, Any]]
) -> None:
    given = [changed(), changed(question_id="q_abs"), changed(question_id="q3", answer_session_ids=["nowhere"])]
    told = measured(longmemeval, written(tmp_path, "q.json", given), "--pooled")
    assert (told["n"], told["left_out"]) == (2, 1)
    assert told["answerable"]["turn"]["n"] == told["answerable"]["session"]["n"] == 1


@pytest.mark.parametrize(
    ("held", "told"),
    [
        ([], "no question"),
        ("", "truncated"),
        ('[{"question_id": 3', "malformed"),
        ([changed(haystack_sessions=[])], "must be equal"),
        (
            [changed(haystack_sessions=[[{"role": "user", "content": None}], [], []])],
            "$[0].haystack_sessions[0][0].content",
        ),
        ([changed(question_date="some day")], "$[0].question_date"),
        ([changed(answer_session_ids=[])], "none has its answer"),
        ([changed(haystack_sessions=[[], [{"role": "user", "content": "a"}], []])], "with different turns"),
    ],
)
def test_what_is_no_file_of_longmemeval_is_told_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held: object, told: str
) -> None:
    said = refusal(longmemeval, monkeypatch, written(tmp_path, "q.json", held))
    assert said.startswith("error[") and told in said


def test_verdicts_need_an_answer_to_judge_by(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, "q.json", [changed(answer=None)])
    endpoint = ("--endpoint", "http://127.0.0.1:9/v1", "--model", "m")
    said = refusal(longmemeval, monkeypatch, path, "--answer", "--judge", *endpoint)
    assert "no expected answer" in said


def locomo_with(*asked: dict[str, Any], **conversation: Any) -> list[dict[str, Any]]:
    (record,) = LOCOMO
    held = record["conversation"]
    assert isinstance(held, dict)
    questions = [{"question": "Who adopted a greyhound?", "category": 4} | each for each in asked]
    return [record | {"qa": questions, "conversation": held | conversation}]


def test_evidence_is_understood_as_the_published_file_writes_it(
    tmp_path: Path, measured: Callable[..., dict[str, Any]]
) -> None:
    odd: tuple[dict[str, Any], ...] = (
        {"evidence": ["D1:1; D1:2"]},
        {"evidence": ["D1:01"]},
        {"evidence": ["D:1:1", "D"]},
        {"evidence": "D1:1"},
        {"evidence": None},
        {},
        {"evidence": ["D1:1"], "category": None},
        {"evidence": ["D1:1"], "category": 9},
    )
    told = measured(locomo, written(tmp_path, "c.json", locomo_with(*odd)))
    assert (told["n"], told["left_out"], told["unknown_evidence"]) == (6, 2, 1)
    by_category = {name: (each["n"], each["recall@10"]) for name, each in told["by_category"].items()}
    assert by_category == {"single-hop": (4, 1.0), "of no category": (2, 1.0)}
    assert told["recall@10_95"] == told["by_category"]["single-hop"]["recall@10_95"] == [1.0, 1.0]


def test_baselines_are_given_the_captions_of_photos_too(
    tmp_path: Path, measured: Callable[..., dict[str, Any]]
) -> None:
    photo = {"speaker": "Ada", "dia_id": "D1:1", "text": "Look!", "blip_caption": "a photo of a greyhound on a beach"}
    said = [photo, *({"speaker": "Ben", "dia_id": f"D1:{at}", "text": "Nice."} for at in range(2, 20))]
    path = written(tmp_path, "c.json", locomo_with({"evidence": ["D1:1"]}, session_1=said))
    told = measured(locomo, path, "-k", "1")
    assert told["variants"]["flat"]["recall@1"] == told["recall@1"] == 1.0


def test_a_conversation_without_turns_or_questions_is_passed_over(
    tmp_path: Path, measured: Callable[..., dict[str, Any]]
) -> None:
    (record,) = locomo_with({"evidence": ["D1:1"]})
    silent = {"sample_id": "silent", "conversation": {"speaker_a": "Ada", "session_1": []}, "qa": record["qa"]}
    unasked = {key: value for key, value in record.items() if key != "qa"} | {"sample_id": "unasked"}
    told = measured(locomo, written(tmp_path, "c.json", [record, silent, unasked]))
    assert (told["n"], told["conversations"], told["left_out"]) == (1, 3, 1)


@pytest.mark.parametrize(
    ("held", "told"),
    [
        ([], "no question with evidence"),
        (locomo_with(), "no question with evidence"),
        (locomo_with({"question": 5, "evidence": ["D1:1"]}), "$[0].qa[0].question"),
        ("{", "error[malformed_file]"),
    ],
)
def test_a_wrong_locomo_file_is_reported_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held: object, told: str
) -> None:
    said = refusal(locomo, monkeypatch, written(tmp_path, "c.json", held))
    assert said.startswith("error[") and told in said


@pytest.mark.parametrize(
    ("gap", "days"),
    [
        ("one week later", 7),
        ("10 days later", 10),
        ("a couple of weeks later", 14),
        ("about six weeks later", 42),
        ("a month and a half later", 46),
        ("two and a half months later", 76),
        ("half a year later", 183),
        ("eighteen months later", 548),
        ("a year and a half later", 548),
        ("the following week", 7),
    ],
)
def test_a_gap_between_cue_and_trigger_is_understood_in_words_and_digits(gap: str, days: float) -> None:
    at = gap_before(gap, 0)
    assert at is not None and -at / DAY == pytest.approx(days, abs=1)


def test_a_pair_of_another_form_is_asked_all_the_same(
    tmp_path: Path, measured: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert gap_before("later that spring", 0) is gap_before("", 0) is gap_before(None, 0) is None
    assert [turn.speaker for turn in cue_turns("A: One.\nB: Two.\nA: Three.", ["Ada"])] == ["Ada", "A", "Ada"]
    bare = {"cue_dialogue": "My wrist hurts.", "trigger_query": "Note: I sold my tennis rackets."}
    conversations = written(tmp_path, "c.json", LOCOMO)
    told = measured(locomo_plus, written(tmp_path, "p.json", [PAIR, bare]), conversations)
    assert (told["n"], told["recall@10"], told["unknown_gaps"]) == (2, 100.0, 1)
    assert told["by_category"].keys() == {"causal", "unknown"}
    undated = [{"sample_id": "x", "conversation": {"session_1": []}}]
    for pairs, held, said in (([], LOCOMO, "no pair"), ([PAIR], undated, "no dated session"), ([{}], LOCOMO, "$[0]")):
        paths = written(tmp_path, "p.json", pairs), written(tmp_path, "c.json", held)
        assert said in refusal(locomo_plus, monkeypatch, *paths)


def test_beam_is_asked_by_kind_and_what_nobody_can_answer_is_counted_apart(
    tmp_path: Path, measured: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = ["I parked the car at level four.", "Good to know.", " ", "The bread is in the oven.", "Ducks swim."]
    talk: dict[str, Any] = {
        "id": "talk-1",
        "size": "100K",
        "messages": [
            {
                "id": place,
                "role": ("user", "assistant")[place % 2],
                "session": 1,
                "time": None if place else "March-15-2024",
                "content": text,
            }
            for place, text in enumerate(said)
        ],
        "questions": [
            {"kind": kind, "question": "Where did I park the car?", "evidence": evidence}
            for kind, evidence in (("information_extraction", [0]), ("abstention", []), ("knowledge_update", []))
        ],
    }
    file = tmp_path / "beam.json.xz"
    file.write_bytes(lzma.compress(json.dumps([talk]).encode()))
    told = measured(beam, str(file))
    assert told["by_kind"].keys() == {"information_extraction"}
    assert told["by_kind"]["information_extraction"]["recall@10"] == 1.0
    assert {name.removeprefix("all, ") for name in told["variants"]} == {*VARIANTS, *baselines.available()}
    assert (told["turns"], told["left_out"], told["weak"]["abstaining"], told["weak"]["answerable"]) == (4, 1, 1, 1)
    assert "no conversation of" in refusal(beam, monkeypatch, str(file), "--sizes", "500K")
    file.write_bytes(b"no xz")
    assert "beam.json.xz" in refusal(beam, monkeypatch, str(file))


def test_each_idea_can_be_left_out_and_is_then_missed(tmp_path: Path, measured: Callable[..., dict[str, Any]]) -> None:
    """The question is about a time, and answered by what stands after a turn that has its words."""
    said = [("I parked the car at the quay in June.", False), ("Which level?", False), ("Four.", True)]
    turns = [{"role": "user", "content": text, "has_answer": marked} for text, marked in said]
    other = [{"role": "user", "content": text} for text in ("Four ducks.", "Where is level four?", "Bread is four.")]
    record = changed(
        question="At which level did I park the car?",
        haystack_sessions=[turns, other],
        haystack_session_ids=["pets", "other"],
        haystack_dates=None,
    )
    plain = measured(longmemeval, written(tmp_path, "q.json", record))["variants"]
    told = measured(longmemeval, written(tmp_path, "q.json", record), "--ideas")["variants"]
    assert plain.keys() == VARIANTS.keys() | set(baselines.available())
    assert told.keys() - plain.keys() == {
        *("without context", "without times", "without the second look", "without leaving names out"),
        *("without remarks", "without the newest first", "without where names are at home"),
        *("without standing instructions", "without tastes", "without exchanges", "without talks"),
        *("without the words around", "without kept places", "without openings"),
    }
    assert {name: told[name] for name in plain} == plain
    gains = {name: told[name]["turn"]["ndcg@5"] for name in told}
    assert gains["without context"] < gains["default"]
