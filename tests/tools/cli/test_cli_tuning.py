"""``worlddb tune``, ``untune`` and ``tunings``."""

from __future__ import annotations

from pathlib import Path

import pytest

import worlddb
from tests.support.running import LocalRunner


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> LocalRunner:
    with worlddb.open(tmp_path / "memory") as db:
        db.create("Topic", "Search team")
    return LocalRunner(capsys, tmp_path / "memory")


def test_thresholds_are_set_listed_and_taken_back(run: LocalRunner) -> None:
    assert "No thresholds are set" in run("tunings").out
    told = run("tune", "--world", "Search team", "--fuzzy", "0.95", "--why", "many sisters")
    assert told.code == 0
    line = "every type  fuzzy 0.95, phonetic 0.9, embedding 0.88, margin 0.02, most 3  in Search team, since commit 3"
    assert line in told.out and "because many sisters" in told.out
    made = run.json("tune", "--type", "Person", "--phonetic", "1", "--most", "5")
    assert (made["tuning"]["type"], made["tuning"]["phonetic"], made["tuning"]["most"]) == ("Person", 1.0, 5)
    assert [each["type"] for each in run.json("tunings")["tunings"]] == ["", "Person"]
    assert [each["type"] for each in run.json("tunings", "--ingested", 3)["tunings"]] == [""]
    assert [each["type"] for each in run.json("tunings", "--world", "Search team")["tunings"]] == [""]
    log = run("log").out
    assert "tuned" in log and "Person  fuzzy 0.92, phonetic 1," in log
    assert "removed for every type in Search team" in run("untune", "--world", "Search team").out
    assert [each["type"] for each in run.json("tunings", "--world", "Search team")["tunings"]] == ["Person"]
    assert "untuned" in run("log").out


@pytest.mark.parametrize(
    ("given", "code"),
    [
        (("tune", "--fuzzy", "2"), "input"),
        (("tune", "--fuzzy", "much"), "usage"),
        (("tune", "--most", "0"), "input"),
        (("tune", "--most", "5000000000"), "input"),
        (("tune",), "usage"),
        (("tune", "--fuzzy", "0.95", "--world", "Nobody"), "unknown_reference"),
        (("tune", "--fuzzy", "0.95", "--type", "x" * 300), "limit"),
        (("untune",), "refused"),
    ],
)
def test_an_invalid_setting_is_refused_and_changes_nothing(run: LocalRunner, given: tuple[str, ...], code: str) -> None:
    told = run(*given)
    assert f"error[{code}" in told.err, told.err
    assert run.json("tunings")["tunings"] == []
