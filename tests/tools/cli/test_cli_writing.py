"""``create revise retire link unlink``: writes a store by commands, and reads it again."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import worlddb
from tests.support.running import LocalRunner, run_process
from worlddb.reconciler.commands import outcome
from worlddb.tools.cli.base import output


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> LocalRunner:
    return LocalRunner(capsys, tmp_path / "store")


def made(run: LocalRunner, *argv: object) -> str:
    document = run.json("create", *argv)
    assert document["refs"] == [document["ref"]]
    return str(document["ref"])


def test_a_store_is_made_written_and_read_by_names_alone(run: LocalRunner) -> None:
    team = made(run, "Topic", "Search team", "--valid-from", "2024-01-01")
    about = ("--alias", "Sal", "--content", "engineering lead", "--valid-from", "2024-01-01", "--author", "ann")
    sarah = made(run, "Entity", "Sarah Chen", "--world", "Search team", *about)
    revised = run.json("revise", "Sal", "--content", "VP of engineering", "--valid-from", "2025-02-01", "--why", "told")
    assert (revised["ref"], revised["outcome"]) == (sarah, "committed")
    edge = run.json("link", "Sarah Chen", "refers_to", "search team", "--properties", '{"role": "head"}')["ref"]
    shown = run.json("show", "Sarah Chen")
    assert (shown["content"], shown["why"], shown["author"]) == ("VP of engineering", "told", "local")
    assert [(each["ref"], each["properties"]) for each in shown["edges"]] == [(edge, {"role": "head"})]
    assert run.json("history", "Sal")["versions"][0]["content"] == "engineering lead"
    assert run("unlink", edge[:10], "--why", "a slip").code == 0
    assert not run.json("show", "Sal")["edges"]
    assert run("retire", "Sal", "--at", "2025-06-01").code == 0
    assert run("show", "Sal").code == 1
    assert run.json("recall", "engineering lead", "--valid", "2024-05-01")["hits"][0]["ref"] == sarah
    assert run.json("children", "Search team", "--valid", "2024-05-01")["children"][0]["ref"] == sarah
    assert run("verify", "--deep").code == 0
    assert run.json("blame", team)["ref"] == team


def test_worlds_move_with_what_is_between_them(run: LocalRunner) -> None:
    old, new = made(run, "Topic", "Old"), made(run, "Topic", "New")
    one, two = (made(run, "Note", name, "--world", "Old") for name in ("one", "two"))
    run.json("link", "one", "causes", "two")
    moved = run.json("move", "one", two, "--to", "New", "--why", "tidied")
    assert (moved["ref"], [note["code"] for note in moved["notes"]]) == (one, ["edges_carried"])
    assert [child["ref"] for child in run.json("children", new)["children"]] == [one, two]
    assert not run.json("children", old)["children"]
    assert run("move", "New", "--to", "one", "--json").json["error"]["details"]["reason"] == "containment_cycle"
    assert run("move", "one", "--to", "New", "--out-of", "Old").code == 3


def test_a_key_makes_a_write_happen_once(run: LocalRunner) -> None:
    first = run.json("create", "Note", "n", "--content", "one", "--key", "k1")
    assert run.json("create", "Note", "n", "--content", "one", "--key", "k1")["events"] == 0
    assert run.json("create", "Note", "n", "--content", "two", "--key", "k1")["ref"] == first["ref"]
    once = run.json("create", "Note", "m", "--idempotency-key", "a")
    assert run.json("create", "Note", "m", "--idempotency-key", "a") == once
    assert run("create", "Note", "other", "--idempotency-key", "a").error == "idempotency_conflict"
    two = made(run, "Note", "two")
    linked = run.json("link", first["ref"], "causes", two, "--key", "e")
    assert run.json("link", first["ref"], "causes", two, "--key", "e")["ref"] == linked["ref"]


def test_a_refusal_exits_with_3_names_its_code_and_writes_nothing(run: LocalRunner) -> None:
    one, two = made(run, "Note", "one"), made(run, "Note", "two")
    assert run("link", one, "supersedes", two).code == 0
    before = run.json("hash")
    for line, reason in (
        (("revise", two, "--content", "again"), "ended"),
        (("link", two, "supersedes", one), "supersedes_cycle"),
        (("link", one, "refers_to", one), "self_reference"),
        (("retire", "root"), "root_is_permanent"),
    ):
        ran = run(*line, "--json")
        assert (ran.code, ran.json["error"]["code"], ran.json["error"]["details"]["reason"]) == (3, "refused", reason)
    assert run.json("hash") == before


def test_what_is_staged_is_told_and_how_to_decide(run: LocalRunner) -> None:
    for name in ("Ann Lee", "Anne Leigh"):
        made(run, "Entity", name)
    ran = run("link", "Ann Lee", "same_as", "Anne Leigh")
    assert "  staged  commit" in ran.out
    assert "Next: worlddb --store" in ran.out and "proposals --review" in ran.out
    (proposal,) = run.json("proposals")["proposals"]
    assert proposal["ref"] in ran.out


@pytest.mark.parametrize(
    ("line", "error"),
    [
        (("create", "Note", "n", "--valid-from", "2024-01-01T09:00:00"), "invalid_time"),
        (("create", "Note", "n", "--world", "nowhere"), "not_a_store"),
        (("revise", "abcd"), "usage"),
        (("link", "a", "b", "c", "--properties", "[1]"), "usage"),
        (("link", "a", "b", "c", "--properties", "{"), "usage"),
        (("unlink", "abcd"), "not_a_store"),
    ],
)
def test_a_mistyped_write_makes_no_store(run: LocalRunner, line: tuple[str, ...], error: str) -> None:
    assert run(*line).error == error
    assert not run.store.exists()


def test_a_conversation_may_come_from_standard_input_under_a_name(tmp_path: Path) -> None:
    line = '{"speaker": "Ann", "text": "I bought a piano.", "at": "2025-01-05T10:00:00Z", "session": "Sunday"}\n'
    unnamed = run_process("ingest", "-", cwd=tmp_path, stdin=line)
    assert (unnamed.code, unnamed.error) == (2, "usage")
    assert not (tmp_path / "worlddb-store").exists()
    for events in (True, False):
        ran = run_process("ingest", "-", "--conversation", "march", "--json", cwd=tmp_path, stdin=line)
        assert (ran.code, bool(ran.json["events"])) == (0, events)
    assert [each["name"] for each in run_process("children", "--json", cwd=tmp_path).json["children"]] == ["march"]
    assert run_process("ingest", "-", "--conversation", "x", cwd=tmp_path, stdin="").error == "malformed_file"
    assert run_process("ingest", "-", "a.jsonl", cwd=tmp_path, stdin=line).error == "usage"
    assert run_process("ingest", "-", "--conversation", "x", cwd=tmp_path, stdin='{"speaker": 3}').code == 2


def test_a_text_may_come_from_standard_input(tmp_path: Path) -> None:
    def told(*argv: str, stdin: str = "") -> dict[str, Any]:
        ran = run_process(*argv, "--json", cwd=tmp_path, stdin=stdin)
        assert ran.code == 0, ran
        return dict(json.loads(ran.out))

    ref = told("create", "Note", "n", "--content", "-", stdin="two\nlines 東京\n")["ref"]
    with worlddb.open(tmp_path / "worlddb-store") as db:
        found = db.view().get(ref)
        assert found is not None and found.content == "two\nlines 東京"
    empty = "Standard input held no text, so the content is empty.\n"
    for stdin, said in (("", empty), ("\n", empty), ("something", "")):
        ran = run_process("create", "Note", "m", "--content", "-", cwd=tmp_path, stdin=stdin)
        assert (ran.code, ran.err) == (0, said)


def test_what_was_retired_is_resumed_and_what_holds_need_not_be(run: LocalRunner) -> None:
    old = made(run, "Fact", "Office", "--content", "in Lisbon", "--valid-from", "2024-01-01")
    assert run("retire", "Office", "--at", "2025-01-01").code == 0
    new = run.json("reassert", "Office", "--content", "in Lisbon again", "--valid-from", "2025-06-01", "--why", "moved")
    assert new["ref"] == old and run.json("show", old)["content"] == "in Lisbon again"
    assert run("show", old, "--valid", "2025-03-01").code == 1, "between the two it does not hold"
    assert run("reassert", old).code == 3, "what holds need not be stated again"


def test_a_hole_and_a_window_are_written_and_told_on_the_command_line(run: LocalRunner) -> None:
    made(run, "Fact", "Office", "--content", "in Lisbon", "--valid-from", "2024-01-01")
    closed = run.json("retire", "Office", "--at", "2024-08-01", "--until", "2024-09-01")
    (lost,) = closed["lost"]
    assert (lost["version"], lost["valid"]) == (1, {"from": "2024-08-01T00:00:00Z", "to": "2024-09-01T00:00:00Z"})
    hidden = run("show", "Office", "--valid", "2024-08-15")
    assert hidden.code == 1 and "2024-01-01 to 2024-08-01, from 2024-09-01" in " ".join(hidden.err.split())
    assert "1  2024-01-01 to 2024-08-01, from 2024-09-01" in run("history", "Office").out
    assert run.json("show", "Office", "--valid", "2024-09-15")["content"] == "in Lisbon"
    shown = run(
        "revise", "Office", "--content", "in Faro", "--valid-from", "2025-01-01", "--valid-to", "2025-02-01"
    ).out
    assert "version 1 of" in shown and "lost 2025-01-01T00:00:00Z to 2025-02-01T00:00:00Z" in shown
    late = run.json("revise", "Office", "--content", "in Rome", "--valid-from", "2024-10-01", "--replace-later")
    assert {each["version"] for each in late["lost"]} == {1, 2}


def test_create_says_how_hard_to_look_for_worlds_that_it_may_be(run: LocalRunner) -> None:
    made(run, "Person", "Katherine Jones")
    assert not run.json("create", "Person", "Catherine Jones")["proposals"]
    assert len(run.json("create", "Person", "Kathrine Jones", "--resolve", "all")["proposals"]) >= 1
    assert not run.json("create", "Person", "Katherine Jones", "--resolve", "none")["proposals"]


def test_a_note_names_options_and_no_arguments_of_python(run: LocalRunner) -> None:
    made(run, "Topic", "shelf")
    made(run, "Note", "book", "--world", "shelf")
    assert "or with --members" in run("retire", "shelf").out
    assert run("reassert", "shelf").code == 0
    (note,) = run.json("retire", "shelf")["notes"]
    assert note["text"].endswith("or with --members")
    for told in outcome.NOTES.values():
        said = output.translate_remedy(told.replace("{}", "a").replace("{first}", "a").replace("{others}", "b"))
        assert not re.search(r"\w\(|(?<!`)\b\w+=|\b(db|view)\.", said), said


def test_a_write_whose_vectors_have_no_room_is_answered_with_its_receipt(
    run: LocalRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commit of the vectors failed, and the write was reported as failed though it was there."""

    def full(*_: object, **__: object) -> Any:
        raise worlddb.DiskFull("No room left: here", "Free some space and try again; what was committed stays")

    with monkeypatch.context() as patched:
        patched.setattr(worlddb.Database, "embed", full)
        told = run("create", "Note", "zebra", "--content", "zebra two")
    assert told.code == 0 and "written" in told.out
    assert "no vectors yet: No room left: here" in told.err and "`worlddb embed`" in told.err
    assert run.json("embed")["embedded"] == 1


def test_an_unknown_plan_is_told_with_the_command_that_defines_one(run: LocalRunner) -> None:
    run("init")
    told = run("accounts", "add", "q", "--plan", "nope")
    assert told.code and "`worlddb plans set PLAN`" in told.err and "db." not in told.err
