"""``ingest verify rebuild replay diff proposals accept reject undo`` at a command line."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import worlddb
from tests.support.running import LocalRunner, SmallRefs
from worlddb.tools.demo.story import forge

TURNS = [
    {"speaker": "Ann", "text": "I bought a piano.", "at": "2025-01-05T10:00:00Z", "session": "Sunday"},
    {"speaker": "Ben", "text": "Which colour?", "at": "2025-01-05T10:01:00Z", "session": "Sunday"},
    {"speaker": "Ann", "text": "It is black.", "at": "2025-01-06T09:00:00Z", "session": "Monday"},
]


@pytest.fixture
def run(writing: LocalRunner) -> LocalRunner:
    return writing


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    return written(tmp_path / "talk.jsonl", TURNS)


def written(path: Path, turns: list[dict[str, Any]]) -> Path:
    text = "".join(json.dumps(turn) + "\n" for turn in turns).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


def test_an_import_makes_the_store_and_is_one_import_however_often_it_is_run(tmp_path, talk, capsys):
    run = LocalRunner(capsys, tmp_path / "new")
    first = run.json("ingest", talk, "--author", "importer")
    assert first.keys() >= {"events", "commits", "worlds", "seq", "root"}
    assert (first["commits"], first["worlds"], first["turns"], first["embedded"], first["seq"]) == (3, 3, 3, 3, 4)
    assert first["events"] == sum(entry["seq"] > 1 for entry in run("log", "--json").lines)
    assert run("log", "--json").lines[-1]["author"] == "importer"
    assert run.json("stats")["checkpoints"] == {"tables": 4, "text": 0}, "few texts are searched in memory"
    again = run.json("ingest", talk)
    assert (again["events"], again["commits"]) == (0, 0)
    assert (again["seq"], again["root"]) == (first["seq"], first["root"])
    assert "nothing was written" in run("ingest", talk).out


def test_another_file_of_the_same_name_says_what_it_revises_unless_it_is_given_a_name(tmp_path, capsys):
    run = LocalRunner(capsys, tmp_path / "new store")
    (tmp_path / "b").mkdir()
    one = written(tmp_path / "chat.jsonl", [{"text": "Tea is at four."}])
    other = written(tmp_path / "b" / "chat.jsonl", [{"text": "The bridge is closed."}])
    first = run("ingest", one)
    assert "1 turn in 2 worlds: " in first.out and "in 1 commit\n" in first.out and "revised" not in first.out
    assert f"worlddb --store '{tmp_path / 'new store'}' recall" in first.out
    named = run.json("ingest", other, "--conversation", "bridges")
    assert (named["revised"], named["notes"]) == (0, {})
    told = run("ingest", other)
    assert "revised 1 text that was there with other words" in told.out and "--conversation NAME" in told.out
    assert run.json("ingest", one)["revised"] == 1
    assert run("ingest", one, other, "--conversation", "x").error == "input"


@pytest.mark.parametrize("own", [{}, {"at": "2026-01-01T10:00:00Z"}], ids=str)
def test_an_export_that_grew_undoes_no_correction_and_says_so(tmp_path, capsys, own):
    """The turn was revised back to what the file says."""
    run = LocalRunner(capsys, tmp_path / "store")
    turns = [{"text": "The gate is red.", **own}, {"text": "Noted."}]
    run("ingest", written(tmp_path / "chat.jsonl", turns))
    gate = run.json("recall", "gate")["hits"][0]
    since = () if not own else ("--valid-from", own["at"])
    run.json("revise", gate["ref"], "--content", "The gate is blue.", *since)
    grown = run("ingest", written(tmp_path / "chat.jsonl", [*turns, {"text": "Bye."}]))
    assert "left 1 text as corrected after its import" in grown.out and "revised" not in grown.out
    assert run.json("ingest", tmp_path / "chat.jsonl")["notes"] == {"stays_corrected": 1}
    assert run.json("recall", "gate")["hits"][0]["content"] == "The gate is blue."
    edited = run.json("ingest", written(tmp_path / "chat.jsonl", [{**turns[0], "text": "The gate is green."}]))
    assert (edited["revised"], edited["notes"]) == (1, {}), "it was edited where it comes from"
    assert run.json("ingest", written(tmp_path / "chat.jsonl", turns))["revised"] == 1


def test_an_import_after_an_erasure_says_what_it_left_out(tmp_path, capsys):
    run = LocalRunner(capsys, tmp_path / "new")
    talk = written(tmp_path / "chat.jsonl", [{"text": "Tea is at four."}, {"text": "The bridge is closed."}])
    run.json("ingest", talk)
    (hit, *_) = run.json("recall", "tea")["hits"]
    run.json("erase", hit["ref"], "--reason", "request 7", "--yes")
    told = run("ingest", talk)
    assert "nothing was written" in told.out and "everything was there" not in told.out
    assert "left out 1 text" in told.out and "--restore-erased" in told.out
    assert run.json("ingest", talk)["notes"] == {"not_restored": 1}
    assert "revised or restored 1 text" in run("ingest", talk, "--restore-erased").out


def test_an_unknown_field_is_an_error_unless_it_is_to_be_kept(tmp_path, capsys):
    run = LocalRunner(capsys, tmp_path / "new")
    talk = written(tmp_path / "chat.jsonl", [{"text": "Tea is at four.", "when": "2024-05-08"}])
    refused = run("ingest", talk)
    assert refused.error == "malformed_file" and "line 1, at `$.when`" in refused.err
    assert run.json("ingest", talk, "--ignore-unknown")["turns"] == 1
    (hit, *_) = run.json("recall", "tea")["hits"]
    assert hit["source"]["extra"] == {"when": "2024-05-08"}


def test_an_empty_name_of_a_store_is_not_the_default(run):
    assert run("stats", "--store", "").error == "usage"


def test_an_import_goes_into_a_world_that_is_named(run, small, tmp_path):
    packed = written(tmp_path / "talk.jsonl.gz", TURNS)
    run.json("ingest", packed, "--into", "Search team", "--format", "jsonl")
    assert "Conversation" in [child["type"] for child in run.json("children", small.team)["children"]]
    missing = run("ingest", packed, "--into", "Nobody")
    assert (missing.code, missing.error) == (1, "unknown_reference")


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("no-such-file.jsonl", None, "input"),
        ("broken.jsonl", b'{"speaker": "Ann", "text": 7}\n', "malformed_file"),
        ("cut.jsonl.gz", gzip.compress(b'{"speaker": "Ann", "text": "a"}\n' * 99, mtime=0)[:40], "malformed_file"),
        ("empty.jsonl", b"", "malformed_file"),
        ("picture.png", b"\x89PNG\r\n\x1a\n\x00\x00", "malformed_file"),
    ],
)
def test_a_file_that_cannot_be_read_leaves_no_store_behind(name, content, code, tmp_path, talk, capsys):
    bad = tmp_path / name
    if content is not None:
        bad.write_bytes(content)
    refused = LocalRunner(capsys, tmp_path / "new")("ingest", talk, bad, "--json")
    assert (refused.code, refused.error) == (2, code)
    assert name in refused.json["error"]["message"]
    assert not (tmp_path / "new").exists()


def test_an_intact_store_verifies(run):
    for argv in ([], ["--deep"]):
        found = run.json("verify", *argv)
        assert found.keys() >= {"ok", "commits", "events", "first_bad_seq", "findings"}
        assert (found["ok"], found["commits"], found["first_bad_seq"], found["findings"]) == (True, 11, None, [])
        assert run("verify", *argv).out.startswith("intact  11 commits")


def test_a_changed_byte_is_found_and_its_commit_named(run, small):
    assert forge(run.store / "data.mdb", b"The office is in Lisbon", b"The office is in London") >= 3
    found = run.json("verify", code=1)
    assert (found["ok"], found["first_bad_seq"]) == (False, 5)
    assert found["findings"][0]["seq"] == 5
    told = run("verify")
    assert told.code == 1
    assert "damaged  the first bad commit is 5" in told.out
    assert run.json("verify", "--deep", code=1)["first_bad_seq"] == 5


def test_a_rebuild_gives_the_same_root_and_the_same_answers(run):
    before = run.json("head")["root"], run.json("recall", "office", "--exact")["hits"]
    shutil.rmtree(run.store / "indexes", ignore_errors=True)
    made = run.json("rebuild")
    assert made.keys() >= {"rebuilt", "seconds", "root"}
    assert made["rebuilt"] == ["tables", "text", "vectors"]
    assert made["seconds"] > 0
    assert (made["root"], run.json("recall", "office", "--exact")["hits"]) == before
    assert run.json("rebuild", "text")["rebuilt"] == ["text"]
    assert "rebuilt tables in " in run("rebuild", "tables").out
    assert all(name in run("rebuild", "--help").out.split("options:")[0] for name in ("tables", "text", "vectors"))


@pytest.mark.parametrize("until", ["6", "2026-11-26T00:00:00Z", "2026-11-26T23:59:59.999999Z"])
def test_a_replay_is_the_store_as_it_was(until, run, tmp_path, capsys):
    made = run.json("replay", "--until", until, "--into", tmp_path / "then")
    assert made.keys() >= {"seq", "root", "matches_recorded"}
    assert (made["seq"], made["matches_recorded"]) == (6, True)
    assert made["root"] == run.json("hash", "--ingested", "6")["root"]
    then = LocalRunner(capsys, tmp_path / "then")
    assert then.json("head")["seq"] == 6
    assert then.json("verify", "--deep")["ok"] is True
    question = ["recall", "where is the office?", "--exact", "--valid", "2024-06-01"]
    assert then.json(*question)["hits"] == run.json(*question, "--ingested", "6")["hits"]


def test_a_replay_needs_a_new_directory_and_a_moment_that_has_something(run, tmp_path):
    assert "the root recorded then" in run("replay", "--until", "3", "--into", tmp_path / "then").out
    for until, into in (("3", tmp_path / "then"), ("3", tmp_path), ("2020-01-01", tmp_path / "other")):
        assert run("replay", "--until", until, "--into", into).code == 2
    assert not (tmp_path / "other").exists()


def test_a_replay_that_does_not_match_is_the_answer_no(run, tmp_path, monkeypatch):
    monkeypatch.setattr(worlddb.Database, "replay", lambda *_, **__: worlddb.Replayed(3, "ab" * 32, False))
    made = run("replay", "--until", "3", "--into", tmp_path / "then", "--json")
    assert (made.code, made.json["matches_recorded"]) == (1, False)
    assert "not the root recorded then" in run("replay", "--until", "3", "--into", tmp_path / "then").out


def changed_copy(run: LocalRunner, small: SmallRefs) -> Path:
    copy = run.store.parent / "copy"
    shutil.copytree(run.store, copy)
    with worlddb.open(copy, author="mallory") as db:
        db.revise(small.yes, content="Cats are allowed in the office.", why="a typing error")
    return copy


def test_equal_stores_are_equal(run, tmp_path):
    shutil.copytree(run.store, tmp_path / "copy")
    found = run.json("diff", run.store, tmp_path / "copy")
    assert (found["equal"], found["worlds"]) == (True, [])
    assert run("diff", run.store, run.store).out.startswith("equal  commits 11 and 11")


def test_a_diff_names_the_worlds_on_the_path_and_the_event(run, small):
    copy = changed_copy(run, small)
    found = run.json("diff", run.store, copy, code=1)
    assert found["equal"] is False
    assert [world["ref"] for world in found["worlds"]][1:] == [small.team, small.yes]
    assert [world["change"] for world in found["worlds"]] == ["members", "members", "revised"]
    for world in found["worlds"]:
        assert world.keys() >= {"path", "change", "a", "b", "events"}
        assert {(event["seq"], event["author"]) for event in world["events"]} == {(12, "mallory")}
    event = next(event for event in found["worlds"][-1]["events"] if event["event"] == "revised")
    assert event["why"] == "a typing error"
    assert event["ingested_at"].endswith("Z")


def test_a_diff_for_people_is_a_tree_with_the_texts_and_who_did_it(run, small):
    told = run("diff", run.store, changed_copy(run, small))
    assert told.code == 1
    lines = told.out.splitlines()
    assert lines[0].startswith("they differ  in 3 worlds; b continues after the end of a, after commit 11 of 2026-")
    tree = lines[3:-1]
    assert tree[0].startswith("  root  Root  members  ")
    assert tree[1] == f"    Search team  Topic  members  {small.team[:12]}"
    assert tree[2] == f"    ~ {small.yes[:12]}  Note  revised  {small.yes[:12]}"
    assert tree[3:5] == ["        - Dogs are allowed in the office.", "        + Cats are allowed in the office."]
    assert tree[7].startswith("        b: commit 12: closed, revised; by mallory, ")
    assert tree[7].endswith(", because a typing error")
    assert len(tree) == 8


def test_a_diff_of_two_moments_needs_no_second_store_and_no_copy(run, small):
    found = run.json("diff", run.store, run.store, "--at-a", "3", "--at-b", "4", code=1)
    assert (found["seq_a"], found["seq_b"], found["parted"], found["relation"]) == (3, 4, 3, "behind")
    assert [world["ref"] for world in found["worlds"]][1:] == [small.team, small.sarah]
    assert run.json("diff", "--at-a", "3", "--at-b", "4", code=1) == found
    told = run("diff", run.store, "--at-a", "2026-11-23")
    assert "a  commit 3 of 2026-11-23" in told.out and "b  commit 11" in told.out
    assert run("diff", run.store, run.store, "--at-a", "4", "--at-b", "4").code == 0
    assert run("diff", run.store).error == "usage"
    refused = run("diff", run.store, "--at-a", "2020-01-01")
    assert refused.error == "input" and "Nothing had been committed by 2020-01-01" in refused.err


def test_a_diff_can_be_limited_to_a_world(run, small):
    copy = changed_copy(run, small)
    assert run.json("diff", run.store, copy, "--world", "Sarah")["equal"] is True
    below = run.json("diff", run.store, copy, "--world", "Search team", code=1)
    assert [world["ref"] for world in below["worlds"]] == [small.team, small.yes]


def test_a_diff_tells_what_no_hash_covers_and_what_has_nothing_in_common(run, small, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(run.store, copy)
    with worlddb.open(copy, author="mallory") as db:
        db.alias(small.porto, "HQ")
    told = run("diff", run.store, copy)
    assert told.code == 1
    assert "No world hash shows it" in told.out
    assert "b: commit 12: named; by mallory" in told.out
    with worlddb.open(tmp_path / "stranger") as db:
        db.create("Note", "alone")
    assert "no commit in common" in run("diff", run.store, tmp_path / "stranger").out
    assert run("diff", run.store, tmp_path / "missing").error == "not_a_store"


def test_a_deep_difference_is_told_without_recursion(tmp_path, capsys):
    with worlddb.open(tmp_path / "a") as db, db.batch() as tx:
        world = tx.create("World", "level 0")
        for level in range(1, 1500):
            world = tx.create("World", f"level {level}", world=world, resolve=False)
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    with worlddb.open(tmp_path / "b") as db:
        db.revise(db.view().find(name="level 1499")[0], content="changed")
    told = LocalRunner(capsys, tmp_path / "a")("diff", tmp_path / "a", tmp_path / "b")
    assert told.code == 1
    assert "in 1,501 worlds" in told.out
    assert "level 1499  World  revised" in told.out


def test_a_proposal_is_listed_accepted_undone_and_never_forgotten(run, small):
    (staged,) = run.json("proposals")["proposals"]
    assert (staged["ref"], staged["status"], staged["decided"]) == (small.proposal, "pending", None)
    assert (staged["source"], staged["target"]) == (small.twin, small.sarah)
    shown = run("proposals").out
    assert f"may be    Sarah Chen {small.sarah[:12]}  in Search team" in shown
    assert f" accept {small.proposal[:12]}" in shown

    accepted = run.json("accept", small.proposal[:8], "--why", "same badge", "--author", "Ann")
    assert (accepted["proposals"][0]["status"], accepted["seq"], accepted["outcome"]) == ("accepted", 12, "committed")
    assert accepted["root"] == run.json("head")["root"]
    assert [same["ref"] for same in run.json("show", small.sarah)["same_as"]] == [small.twin]
    assert "same as" in run("show", small.sarah).out
    assert run("proposals").out == "No pending proposals.\n"

    undone = run("undo", small.proposal)
    assert undone.out.startswith("undone: sarah chen and Sarah Chen  commit 13")
    assert run.json("show", small.sarah)["same_as"] == []
    assert [p["status"] for p in run.json("proposals", "--status", "all")["proposals"]] == ["undone"]
    assert [p["status"] for p in run.json("proposals", "--ingested", "12", "--status", "all")["proposals"]] == [
        "accepted"
    ]
    assert "link them by same_as again" in run("accept", small.proposal).err
    events = {(line["seq"], line["author"], line["why"]) for line in run("log", "--json", "--from", "12").lines}
    assert (12, "Ann", "same badge") in events


def test_a_rejected_proposal_leaves_two(run, small):
    assert run.json("reject", small.proposal)["proposals"][0]["status"] == "rejected"
    assert run.json("proposals")["proposals"] == []
    assert run("proposals", "--status", "rejected").out.startswith(f"{small.proposal[:12]}  rejected  commit 11")
    again = run("accept", small.proposal)
    assert (again.code, again.error) == (3, "refused")


def test_a_restore_warns_that_later_erasures_are_unknown_and_a_backup_refuses_writes(
    run: LocalRunner, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    run("remember", "Zed plays the tuba.", "--user", "zed")
    run("backup", tmp_path / "copy")
    assert run("forget-user", "zed", "--reason", "he asked", "--yes").code == 0
    refused = LocalRunner(capsys, tmp_path / "copy")("create", "Fact", "x")
    assert (refused.code, refused.error) == (3, "read_only_backup"), "4 is a damaged store"
    none = LocalRunner(capsys, tmp_path / "none")
    made = none("restore", tmp_path / "copy", "--into", tmp_path / "again")
    assert made.code == 0 and "If anything was erased after commit" in made.err and "--erasures-from STORE" in made.err
    assert "tuba" in LocalRunner(capsys, tmp_path / "again")("recall", "tuba").out
    told = none.json("restore", tmp_path / "copy", "--into", tmp_path / "second", "--erasures-from", run.store)
    assert told["notes"] == [] and told["erasures"] == 1
