"""The four uses on a published LoCoMo conversation, from the command line."""

from __future__ import annotations

import json
import lzma
import shutil
from pathlib import Path

import pytest

import worlddb
from tests.support.running import LocalRunner
from tests.tools.importers.test_importers_locomo import published

TURNS = 419
SESSIONS = 19


@pytest.fixture(scope="module")
def conversation(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first conversation of the published ones, in a file of its own, compressed."""
    with lzma.open(published(), "rt", encoding="utf-8") as stream:
        record = next(record for record in json.load(stream) if record["sample_id"] == "conv-26")
    path = tmp_path_factory.mktemp("locomo") / "conv-26.json.xz"
    path.write_bytes(lzma.compress(json.dumps([record]).encode()))
    return path


def test_the_four_uses_on_a_real_conversation(conversation, tmp_path, capsys):
    memory = tmp_path / "memory"
    run = LocalRunner(capsys, memory)

    # 1. Ingest and recall.
    done = run.json("ingest", conversation)
    assert (done["turns"], done["worlds"], done["embedded"]) == (TURNS, SESSIONS + 1, TURNS)
    assert done["commits"] > SESSIONS, "one for each session, and those of the vectors, as many as the model is slow"
    assert run.json("ingest", conversation)["events"] == 0
    question = ["recall", "When did Caroline go to the LGBTQ support group?", "--exact"]
    hits = run.json(*question, "-k", "5")["hits"]
    assert "D1:3" in [hit["name"] for hit in hits]
    found = next(hit for hit in hits if hit["name"] == "D1:3")
    assert found["valid"]["from"] == "2023-05-08T13:56:00Z"
    assert found["source"]["path"] == "$[0].conversation.session_1[2]"

    # 2. Replay until any moment: the root is the one recorded then.
    for until in (2, done["seq"] // 2, done["seq"]):
        then = run.json("replay", "--until", until, "--into", tmp_path / f"until-{until}")
        assert (then["seq"], then["matches_recorded"]) == (until, True)
        assert then["root"] == run.json("hash", "--ingested", until)["root"]

    # 3. Delete the index folders, throw the tables away, rebuild: the same root and the same answers.
    shutil.rmtree(memory / "indexes")
    assert run.json("rebuild")["root"] == done["root"]
    assert run.json(*question, "-k", "5")["hits"] == hits
    assert run.json("verify", "--deep")["ok"] is True

    # 4. Copy the store, change one turn in the copy: the diff names the worlds on the path, and the event.
    shutil.copytree(memory, tmp_path / "copy")
    with worlddb.open(tmp_path / "copy", author="somebody", create=False) as db:
        receipt = db.revise(found["ref"], content="Caroline: I have never been there.")
    differing = run.json("diff", memory, tmp_path / "copy", code=1)
    assert [(world["path"], world["change"]) for world in differing["worlds"]] == [
        ("root", "members"),
        ("root/conv-26", "members"),
        ("root/conv-26/session_1", "members"),
        ("root/conv-26/session_1/D1:3", "revised"),
    ]
    events = differing["worlds"][-1]["events"]
    assert {(event["side"], event["seq"], event["author"]) for event in events} == {("b", receipt.seq, "somebody")}
    assert "revised" in [event["event"] for event in events]
    assert run.json("diff", memory, tmp_path / "copy", "--at-b", done["seq"])["equal"] is True
