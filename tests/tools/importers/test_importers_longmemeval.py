"""Reads LongMemEval: conversations of dated sessions; errors name their place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import worlddb
from worlddb.log.model.errors import MalformedFile
from worlddb.tools.importers import ingest_files
from worlddb.tools.importers.detect import format_of
from worlddb.tools.importers.longmemeval import load, parse_date

TURNS = [{"role": "user", "content": "I adopted a dog.", "has_answer": True}, {"role": "assistant", "content": ""}]


def record(**changed: Any) -> dict[str, Any]:
    return {
        "question_id": "q1",
        "question_type": "single-session-user",
        "question": "Which animal?",
        "question_date": "2023/05/30 (Tue) 22:36",
        "answer": 1,
        "answer_session_ids": ["s1"],
        "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 10:00", "2023/05/21 (Sun) 11:00"],
        "haystack_session_ids": ["s1", "s2", "s2"],
        "haystack_sessions": [TURNS, [{"role": "user", "content": "Hello"}], [{"role": "user", "content": "Hello"}]],
    } | changed


def written(folder: Path, *records: Any) -> Path:
    path = folder / "longmemeval.json"
    path.write_text(json.dumps(list(records)))
    return path


def test_a_haystack_becomes_a_conversation_of_dated_sessions(tmp_path: Path) -> None:
    path = written(tmp_path, record(), record(question_id="q2"))
    assert format_of(path).name == "longmemeval"
    with worlddb.open(tmp_path / "store") as db:
        done = ingest_files(db, path)
        assert (done.turns, done.worlds) == (6, 6)
        assert ingest_files(db, path).events == 0
        view = db.view()
        assert {world.name for world in view.find(type="Conversation")} == {"q1", "q2"}
        turn = view.recall("adopted", k=1).hits[0]
        assert (turn.content, turn.source["id"], turn.source["path"]) == (
            "user: I adopted a dog.",
            "s1:0",
            f"$[{turn.source['record']}].haystack_sessions[0][0]",
        )
        assert turn.valid.start == worlddb.parse_time("2023-05-20T02:21:00Z")


def test_a_session_that_is_listed_twice_is_taken_once(tmp_path: Path) -> None:
    (conversation,) = load(written(tmp_path, record())).load_all
    assert [(session.name, len(session.turns)) for session in conversation.sessions] == [("s1", 2), ("s2", 1)]
    assert conversation.speakers == ["user", "assistant"]


@pytest.mark.parametrize(
    ("broken", "place", "told"),
    [
        ([record(haystack_dates=["yesterday"] * 3)], "$[0].haystack_dates[0]", "not have LongMemEval's form"),
        ([record(haystack_dates=["2023/02/31 (Fri) 10:00"] * 3)], "$[0].haystack_dates[0]", "does not exist"),
        ([record(haystack_dates=[])], "$[0]", "numbers must be equal"),
        ([record(), record()], "$[1]", "occurs twice"),
        ([record(question_id="")], "$[0]", "question_id"),
        ([record(haystack_session_ids=["s1", "s1", "s2"])], "$[0].haystack_sessions[1]", "with different turns"),
        ([record(), {"question_id": "q2"}], "$[1]", "missing required field"),
        (
            [record(haystack_sessions=[[{"role": 7, "content": ""}], [], []])],
            "$[0].haystack_sessions[0][0].role",
            "str",
        ),
    ],
)
def test_what_is_broken_is_named_by_its_place_and_nothing_is_written(
    tmp_path: Path, broken: list[Any], place: str, told: str
) -> None:
    path = written(tmp_path, *broken)
    with worlddb.open(tmp_path / "store") as db:
        before = db.head()
        with pytest.raises(worlddb.MalformedFile, match=told) as raised:
            ingest_files(db, path, format="longmemeval")
        assert raised.value.details["path"].startswith(place)
        assert db.head() == before


def test_dates_are_taken_as_utc() -> None:
    assert parse_date("2023/05/30 (Tue) 22:36") == worlddb.parse_time("2023-05-30T22:36:00Z")


@pytest.mark.parametrize(("field", "key"), [('"question_id": "q1"', "question_id"), ('"content": "Hello"', "content")])
def test_a_field_that_is_there_twice_is_an_error_and_not_the_last_of_them(tmp_path: Path, field: str, key: str) -> None:
    said = json.dumps([record()])
    assert field in said
    path = tmp_path / "longmemeval.json"
    path.write_text(said.replace(field, f'"{key}": "another", {field}'), "utf-8")
    with worlddb.open(tmp_path / "store") as db, pytest.raises(MalformedFile, match=f"'{key}' occurs twice"):
        ingest_files(db, path)
