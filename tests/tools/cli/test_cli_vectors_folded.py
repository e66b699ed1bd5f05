"""The command line tells of commits of vectors in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

import worlddb
from tests.support.running import LocalRunner


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> LocalRunner:
    return LocalRunner(capsys, tmp_path / "store")


def grow(run: LocalRunner) -> None:
    with worlddb.open(run.store) as db:
        for number in range(3):
            db.create("Fact", f"fact {number}", content=f"a heron {number}")
        db.embed()
        for number in range(3, 5):
            db.create("Fact", f"fact {number}", content=f"a heron {number}")
            db.embed()
        db.create("Fact", "late", content="a pond")
        db.create("Fact", "later", content="two ponds")
        while db.embed(limit=1).pending:
            pass


def test_the_log_tells_vectors_in_one_line_a_run_unless_all_is_asked_for(run: LocalRunner):
    grow(run)
    told = run("log").out
    assert "\n    vectors     of 3 texts\n" in told
    assert "\n7  1 commit of vectors, 1 text\n" in told
    assert "\n12 to 13  2 commits of vectors, 2 texts\n" in told
    assert "embedded" not in told and told.endswith("--all lists them.\n")
    whole = run("log", "--all").out
    assert whole.count("embedded    ") == 7 and "of vectors" not in whole and "--all" not in whole
    assert whole.count("created") == told.count("created") == 7
    assert len(run("log", "--json").lines) == len(run("log", "--all", "--json").lines)
    assert [line["event"] for line in run("log", "--from", "7", "--to", "7", "--json").lines] == [
        "embedded",
        "embedded_through",
    ]
    assert run("log", "--from", "7", "--to", "7").out.startswith("7  1 commit of vectors, 1 text\n")
    assert "--all" not in run("log", "--to", "4").out


def test_steps_and_differences_tell_vectors_in_one_line(run: LocalRunner):
    grow(run)
    stepped = run("replay", "--step").out
    assert "vectors     of 3 texts" in stepped and "embedded    " not in stepped
    compared = run("diff", run.store, "--at-a", "2").out
    assert "+ vectors of 1 version" in compared
    assert "embedded:" not in compared and compared.count("embedded") == 1
    alone = run("diff", run.store, "--at-a", "12").out
    assert "+ vectors of 1 version" in alone and "commit 13: embedded" in alone


def test_the_report_tells_vectors_in_one_line_a_world(run: LocalRunner, tmp_path: Path):
    with worlddb.open(run.store) as db:
        fact = db.create("Fact", "a fact", content="a heron")
        for number in range(3):
            db.revise(fact, content=f"heron number {number}")
            db.embed()
    told = run("diff", run.store, "--at-a", "1", "--html", tmp_path / "all.html")
    assert told.code == 1
    page = (tmp_path / "all.html").read_text("utf-8")
    assert "of 4 versions" in page and "<strong>embedded" not in page
    run("diff", run.store, "--at-a", "7", "--html", tmp_path / "vectors.html")
    page = (tmp_path / "vectors.html").read_text("utf-8")
    assert "of 1 version" in page and "commit 8: <strong>embedded</strong>" in page


def test_what_would_have_been_tells_vectors_in_one_line_and_what_is_wrong_with_them_in_full(
    run: LocalRunner, tmp_path: Path
):
    grow(run)
    told = run("replay", "--without", "2,6", "--into", tmp_path / "then").out.splitlines()
    assert told[1:4] == [
        "2  local  create  left out",
        "6  local  create  left out",
        "2 commits of vectors  decided otherwise",
    ]
    found = run.json("replay", "--without", "2,6", "--into", tmp_path / "json")
    assert [each["commands"] for each in found["differing"]] == [["create"], ["embed"], ["create"], ["embed"]]
