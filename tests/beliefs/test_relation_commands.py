"""``worlddb relation`` and ``worlddb states``."""

from __future__ import annotations

from pathlib import Path

import pytest

import worlddb
from tests.support.running import LocalRunner


def test_a_relation_is_declared_linked_and_told_in_states(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with worlddb.open(tmp_path / "store", author="ann") as db:
        for kind, name in (("Person", "Alex"), ("City", "York"), ("City", "London")):
            db.create(kind, name)
    run = LocalRunner(capsys, tmp_path / "store")
    assert run("relation", "lives_in", "--succession", "--inverse", "home_of", "--why", "moves").code == 0
    assert run("relation", "lives_in", "--acyclic").code == 3
    assert run("relation", "lives_in", "--remove", "--acyclic").code == 2
    assert "lives_in  succession  inverse home_of" in run("types").out
    assert run("link", "Alex", "lives_in", "York", "--valid-from", "2022-01-01", "--why", "work").code == 0
    given = '{"optimises_for": "family"}'
    line = ["link", "Alex", "lives_in", "London", "--valid-from", "2024-01-01", "--properties", given]
    assert "took" not in run(*line).err
    told = run("states", "Alex", "--type", "lives_in").out.splitlines()
    assert "held       lives_in York  from 2022-01-01 to 2024-01-01" in told[0] and told[0].endswith("because work")
    assert "holds      lives_in London  from 2024-01-01" in told[1] and "optimises_for: family" in told[2]
    answer = run.json("states", "London", "Alex", "--type", "home_of")["states"]
    assert [(each["context"], each["holds"], each["retracted_at"]) for each in answer] == [
        ({"optimises_for": "family"}, True, None)
    ]
    assert run("unlink", answer[0]["ref"]).code == 0
    assert "retracted" in run("states", "Alex").out and "It has no states." in run("states", "York").out
    assert run("relation", "lives_in", "--remove").code == 0


def test_a_vocabulary_is_closed_listed_and_opened_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with worlddb.open(tmp_path / "store", author="ann") as db:
        db.create("Topic", "desk")
    run = LocalRunner(capsys, tmp_path / "store")
    assert "No vocabulary is restricted." in run("vocabulary").out
    assert run("vocabulary", "desk", "--profile", "arbiter", "--why", "closed").code == 0
    told = run("vocabulary", "desk").out
    assert "arbiter  types project, reference" in told and "relations relates_to, refines" in told and "desk" in told
    refused = run("create", "memo", "x", "--world", "desk")
    assert refused.code == 3 and "Use one of: project, reference" in refused.err
    assert run("vocabulary", "desk", "--lift", "--profile", "arbiter").code == 2
    assert run("vocabulary", "desk", "--node-type", "memo").code == 0
    [known] = run.json("vocabulary")["profiles"]
    assert (known["name"], known["node_types"], known["relations"]) == ("own", ["memo"], [])
    assert run("vocabulary", "desk", "--lift").code == 0 and run("vocabulary", "desk", "--lift").code == 3
