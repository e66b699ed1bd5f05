"""Erases a person by name from a LoCoMo conversation that another process has open."""

from __future__ import annotations

import json
import lzma
import re
from pathlib import Path
from typing import Any

import pytest

import worlddb
from tests.support.faults.remote import Remote
from tests.support.faults.traces import find_traces
from tests.support.running import LocalRunner
from tests.tools.importers.test_importers_locomo import published

PERSON = "Caroline"


@pytest.fixture(scope="module")
def record() -> dict[str, Any]:
    with lzma.open(published(), "rt", encoding="utf-8") as stream:
        return next(record for record in json.load(stream) if record["sample_id"] == "conv-26")


def test_every_trace_of_a_persons_words_is_gone_and_who_had_the_store_open_goes_on(
    record: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, memory = tmp_path / "conv-26.json", tmp_path / "memory"
    file.write_text(json.dumps([record]), "utf-8")
    run = LocalRunner(capsys, memory)
    run.json("ingest", file)
    spoken = [turn for name, turns in record["conversation"].items() if _is_session(name) for turn in turns]
    hers = [turn["text"] for turn in spoken if turn["speaker"] == PERSON]
    others = json.dumps([turn for turn in spoken if turn["speaker"] != PERSON]).lower()
    only_hers = sorted({word for text in hers for word in _words(text) if word not in others and len(word) > 7})
    assert len(hers) > 150 and len(only_hers) > 100
    with Remote(memory) as there:
        assert there.ask("recall", "adoption agencies")
        dry = run.json("erase", PERSON, "--reason", "request 114", "--turns", "--dry-run")
        assert (len(dry["worlds"]), len(dry["mentions"]) > 20) == (len(hers) + 1, True)
        assert find_traces(memory, hers[:3])
        done = run.json("erase", PERSON, "--reason", "request 114", "--turns", "--yes")
        assert done["finished"] and len(done["receipt"]["worlds"]) == len(hers) + 1
        assert find_traces(memory, [f"{PERSON}: ", *hers, *only_hers]) == []
        assert there.ask("recall", "adoption agencies") is not None
        assert there.ask("create", "after the erasure").seq == done["seq"] + 1
        assert there.ask("verify").findings == ()
    assert run.json("ingest", file)["events"] == 0
    assert find_traces(memory, [f"{PERSON}: ", *hers, *only_hers]) == []
    (tmp_path / "receipt.json").write_text(json.dumps(done), "utf-8")
    assert run.json("check-receipt", tmp_path / "receipt.json") == {"ok": True, "problems": []}
    with worlddb.open(memory) as db:
        db.catch_up()
        assert not any(hit.content.startswith(f"{PERSON}: ") for hit in db.view().recall("adoption agencies", k=500))
        assert find_traces(memory, [f"{PERSON}: ", *hers, *only_hers]) == []
    assert run.json("ingest", file, "--restore-erased")["events"] > len(hers)
    assert len(find_traces(memory, hers[:3])) >= 3
    assert run.json("verify", "--deep")["ok"] is True


def _is_session(name: str) -> bool:
    return re.fullmatch(r"session_\d+", name) is not None


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z]+", text.lower())
