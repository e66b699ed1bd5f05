"""``worlddb embed``, ``reembed`` and ``spaces``: moves to another embedding model."""

from __future__ import annotations

from pathlib import Path

import pytest

import worlddb
from tests.support.running import LocalRunner


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LocalRunner:
    """A store with two texts; ``minilm`` is a model that every installation has."""
    model = worlddb.CallableEmbedder(lambda texts: [[text.count(each) for each in "abc"] for text in texts], "letters")
    monkeypatch.setattr("worlddb.reconciler.embedding.models.minilm_embedder", lambda: model)
    run = LocalRunner(capsys, tmp_path / "store")
    run("create", "Fact", "one", "--content", "aab")
    run("create", "Fact", "two", "--content", "ccc")
    return run


def test_a_store_is_moved_and_asked_by_the_model_that_is_named(
    run: LocalRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = run.json("reembed", "--model", "minilm", "--space", "letters")
    assert (done["embedded"], done["space"], done["in_use"], done["before"]) == (2, "letters", True, "default")
    before, after = run.json("spaces")["spaces"]
    assert (before["name"], before["in_use"], after["name"], after["in_use"]) == ("default", False, "letters", True)
    found = run.json("recall", "c", "--lanes", "vector")
    assert "letters" in found["unavailable"]["vector"]
    monkeypatch.setenv("WORLDDB_EMBEDDER", "minilm")
    found = run.json("recall", "c", "--lanes", "vector", "-k", 1)
    assert (found["hits"][0]["name"], found["space"], found["pending"]) == ("two", "letters", 0)


def test_what_was_left_is_dropped_by_name_and_what_answers_is_not(run: LocalRunner) -> None:
    assert run("reembed", "--to", "minilm").out.startswith("2 texts got vectors by letters")
    assert run("reembed", "--drop", "letters").code == 3
    assert run.json("reembed", "--drop", "default", "--why", "another model")["dropped"] == "default"
    assert "dropped" in run("spaces").out
    (event,) = [each for each in run("log", "--json").lines if each["event"] == "space_dropped"]
    assert (event["name"], event["why"]) == ("default", "another model")


def test_a_move_in_several_goes_says_what_is_left(run: LocalRunner) -> None:
    first = run("reembed", "--to", "minilm", "--limit", 1)
    assert first.code == 0 and "'default' still answers questions: 1 text" in first.out
    assert run.json("reembed", "--to", "minilm", "--drop", "default") | {"seq": 0, "root": ""} == {
        **{"embedded": 1, "pending": 0, "space": "letters", "model": "letters", "in_use": True, "before": "default"},
        **{"events": 3, "commits": 2, "dropped": "default", "seq": 0, "root": ""},
    }


def test_a_text_without_a_vector_is_told_of_where_somebody_asks(run: LocalRunner) -> None:
    with worlddb.open(run.store) as db:
        db.create("Fact", "three", content="not yet")
    assert "one text has no vector yet" in run("recall", "anything").out
    assert run.json("embed")["embedded"] == 1


@pytest.mark.parametrize(
    ("line", "code", "error"),
    [
        (["reembed"], 2, "usage"),
        (["reembed", "--to", "nonsense"], 2, "input"),
        (["reembed", "--drop", "nowhere"], 3, "refused"),
        (["reembed", "--to", "minilm", "--space", ""], 2, "invalid_text"),
        (["reembed", "--to", "minilm", "--space", "default"], 2, "input"),
        (["embed", "--embedder", "minilm"], 2, "input"),
        (["recall", "a", "--embedder", "endpoint:m@nowhere"], 2, "input"),
    ],
)
def test_a_wrong_line_is_a_typed_error_and_writes_nothing(
    run: LocalRunner, line: list[str], code: int, error: str
) -> None:
    before = run.json("head")
    ended = run(*line)
    assert (ended.code, ended.error) == (code, error)
    assert run.json("head") == before


def test_a_store_may_begin_with_another_model(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, run: LocalRunner
) -> None:
    other = LocalRunner(capsys, tmp_path / "other")
    with worlddb.open(other.store) as db:
        db.create("Fact", "one", content="abc")
    assert other("spaces").out == "No text has been embedded yet.\n"
    assert other.json("embed", "--embedder", "minilm")["model"] == "letters"
    assert other.json("spaces")["spaces"][0]["dimension"] == 3
