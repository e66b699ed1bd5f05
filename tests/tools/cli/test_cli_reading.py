"""``recall show history children hash log head stats``: what they answer, on both time axes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import worlddb
from tests.support.running import LocalRunner
from worlddb.tools.cli.base.stores import parse_moment


@pytest.fixture
def run(reading: LocalRunner) -> LocalRunner:
    return reading


HIT_KEYS = {"ref", "type", "name", "content", "score", "lanes", "world", "valid", "ingested_at", "source"}


def test_a_recall_has_the_promised_keys(run, small):
    answer = run.json("recall", "where is the office in Porto?", "-k", "3")
    first = answer["hits"][0]
    assert first.keys() >= HIT_KEYS
    assert first["ref"] == small.porto
    assert first["world"] == small.team
    assert first["valid"] == {"from": "2025-03-01T00:00:00Z", "to": None}
    assert first["ingested_at"] == "2026-11-26T00:00:00Z"
    assert first["lanes"] == {"text": 1}
    assert answer["exact"] is False


def test_a_recall_follows_both_time_axes_and_keeps_to_its_world(run, small):
    def offices(*argv: str) -> list[str]:
        return [hit["ref"] for hit in run.json("recall", "office", *argv)["hits"] if hit["type"] == "Fact"]

    assert offices() == [small.porto]
    assert offices("--valid", "2024-06-01") == [small.lisbon]
    assert offices("--ingested", "5") == [small.lisbon]
    assert offices("--ingested", "2026-11-25T12:00:00Z") == [small.lisbon]
    assert set(offices("--include-superseded")) == {small.porto, small.lisbon}
    assert offices("--world", "Search team") == [small.porto]
    assert offices("--world", small.sarah[:8]) == []
    assert offices("--scope", small.sarah[:8], "--scope", "Search team") == [small.porto]
    assert run.json("recall", "office", "--exact")["exact"] is True


def test_a_confined_command_sees_one_world_and_what_it_contains(run, small):
    answer = run.json("recall", "office", "--confine", "Search team")
    assert {hit["ref"] for hit in answer["hits"] if hit["type"] == "Fact"} == {small.porto}
    assert answer["view"]["world"] == small.team
    assert run.json("children", "--confine", small.team)["ref"] == small.team
    assert run.json("hash", "--confine", small.team)["root"] == run.json("hash", small.team)["root"]
    assert run.json("proposals", "--confine", small.team)["proposals"][0]["ref"] == small.proposal
    assert run.json("proposals", "--confine", small.sarah)["proposals"] == []
    nobody = run("show", "00000000000000000000000000000bad", "--confine", small.sarah)
    hidden = run("show", small.team, "--confine", small.sarah)
    assert hidden.code == nobody.code == 1
    assert hidden.err.replace(small.team, "?") == nobody.err.replace("00000000000000000000000000000bad", "?")


def test_a_recall_for_people_shows_conflicts_and_on_request_the_reasons(run, small):
    shown = run("recall", "dogs", "allowed").out
    assert "Dogs are allowed in the office." in shown
    assert shown.count("contradicted by") == 2
    assert "found by  " not in shown
    explained = run("recall", "Lisbon", "--valid", "2024-06-01", "--explain").out
    assert "found by  text: lisbon; score" in explained
    assert "source    a.txt" in explained
    assert small.lisbon[:12] in explained
    assert "as known at commit 11" in explained
    assert run("recall", "zebra", "--quiet").out == "Nothing in this view answers that.\n"


def test_a_recall_tells_why_something_is_no_hit(run, small):
    told = run("recall", "Lisbon", "--valid", "2024-06-01", "--limit", "1", "--why-not", small.porto).out
    assert f"{small.porto[:12]} (view): the view does not show it" in told
    document = run.json("recall", "Lisbon", "--valid", "2024-06-01", "--why-not", small.lisbon)
    assert (document["why_not"]["step"], document["why_not"]["rank"]) == ("", 1)
    assert "group" in run("recall", "Lisbon", "--why-not", small.lisbon, "--group", "1").err


def test_show_gives_a_world_with_all_that_belongs_to_it(run, small):
    shown = run.json("show", small.sarah)
    assert shown["ref"] == small.sarah
    assert shown["content"] == "VP of engineering"
    assert shown["aliases"] == ["Sarah"]
    assert shown["valid"] == {"from": "2025-02-01T00:00:00Z", "to": None}
    assert shown["why"] == "announced in the all-hands"
    assert (len(shown["version"]), shown["number"]) == (64, 2)
    assert shown["hash"] == run.json("hash", small.sarah)["root"]
    assert [above["ref"] for above in shown["containers"]] == [small.team]
    (superseding,) = run.json("show", small.porto)["edges"]
    assert (superseding["type"], superseding["target"]) == ("supersedes", small.lisbon)
    conflict = run.json("show", small.yes)
    assert [other["ref"] for other in conflict["conflicts"]] == [small.no]


def test_show_for_people(run, small):
    sarah = run("show", "Sarah").out
    for told in ("Sarah Chen  Entity", "VP of engineering", "from 2025-02-01", "Search team (", "all-hands", "agent-7"):
        assert told in sarah
    note = run("show", small.yes[:10]).out
    assert f"contradicted by {small.no[:12]}" in note
    assert "< contradicts  Dogs are not allowed" in note
    assert "because two copies of the lease" in note
    team = run("show", small.team).out
    assert team.count("member  ") == 5
    assert "contains" not in team


def test_a_large_world_is_shown_in_part(tmp_path, capsys):
    with worlddb.open(tmp_path / "memory") as db, db.batch() as tx:
        topic = tx.create("Topic", "Everything")
        person = tx.create("Entity", "Ada", world=topic)
        for number in range(20):
            tx.link(tx.create("Note", f"note {number}", world=topic), "refers_to", person)
    run = LocalRunner(capsys, tmp_path / "memory")
    assert "and more members: worlddb children" in run("show", "Everything").out
    assert "and 8 more edges" in run("show", "Ada").out
    assert len(run.json("show", "Ada")["edges"]) == 20
    assert len(run("children", "Everything").out.splitlines()) == 22
    assert len(run("children", "Everything", "--limit", "3").out.splitlines()) == 4


def test_a_world_that_is_not_valid_then_is_the_answer_no(run, small):
    missing = run("show", "Search team", "--valid", "2020-01-01")
    assert (missing.code, missing.error) == (1, "unknown_reference")
    assert "not valid at 2020-01-01, but from 2024-01-01" in missing.err
    closed = run("show", small.lisbon)
    assert closed.code == 1
    assert "2024-01-01 to 2025-03-01" in closed.err
    assert run.json("show", small.lisbon, "--include-superseded")["closed"] is True
    assert "(not valid at this time)" in run("show", small.lisbon, "--include-superseded").out


def test_a_world_is_named_by_prefix_name_or_alias(run, small):
    for named in (small.porto, small.porto[:8], small.porto[:8].upper(), "Office", "OFFICE"):
        assert run.json("show", named)["ref"] == small.porto
    assert run.json("show", "sarah")["ref"] == small.sarah
    assert run.json("history", "Search team")["ref"] == small.team
    assert run.json("show", "root")["name"] == "root"


def test_a_name_that_no_valid_world_has_is_looked_for_among_the_others(run, small):
    assert run.json("history", "Office", "--valid", "2024-06-01")["ref"] == small.lisbon
    both = run("history", "Office", "--valid", "2020-01-01", "--json")
    assert (both.code, both.error) == (2, "ambiguous_reference")


def test_a_name_of_several_worlds_lists_them(run, small):
    several = run("show", "Sarah Chen", "--json")
    assert (several.code, several.error) == (2, "ambiguous_reference")
    assert several.json["error"]["details"]["candidates"] == [small.sarah, small.twin]
    assert f"{small.twin[:12]}  Entity  sarah chen  in Search team" in several.err


def test_a_prefix_of_several_worlds_lists_them(tmp_path, capsys):
    with worlddb.open(tmp_path / "memory") as db, db.batch() as tx:
        for number in range(2000):
            tx.create("Note", f"note {number}", resolve=False)
    with worlddb.open(tmp_path / "memory") as db:
        refs = [world.ref for world in db.view().children()]
    shared = {ref[:4] for ref in refs if sum(other.startswith(ref[:4]) for other in refs) > 1}
    run = LocalRunner(capsys, tmp_path / "memory")("show", sorted(shared)[0], "--json")
    assert (run.code, run.error) == (2, "ambiguous_reference")
    assert len(run.json["error"]["details"]["candidates"]) >= 2


def test_a_history_has_every_version_with_what_was_true_and_what_was_learned(run, small):
    history = run.json("history", "Sarah")
    assert history["ref"] == small.sarah
    assert [version["content"] for version in history["versions"]] == ["engineering lead", "VP of engineering"]
    assert [version["valid"] for version in history["versions"]] == [
        {"from": "2024-01-01T00:00:00Z", "to": "2025-02-01T00:00:00Z"},
        {"from": "2025-02-01T00:00:00Z", "to": None},
    ]
    then = run.json("history", "Sarah", "--ingested", "3")["versions"]
    assert [version["valid"]["to"] for version in then] == [None]
    shown = run("history", "Sarah").out
    assert "1  2024-01-01 to 2025-02-01" in shown
    assert "learned 2026-11-24, commit 4, from agent-7, because announced in the all-hands" in shown


def test_a_history_shows_properties_where_they_changed(tmp_path, capsys):
    """Three versions of a belief, of which only the confidence changed, read alike."""
    run = LocalRunner(capsys, tmp_path / "store")
    properties = ("--properties", '{"confidence": 0.7}')
    belief = run.json("create", "Belief", "", "--content", "Spindles help.", *properties)["ref"]
    run("believe", belief, "confidence=0.4")
    run("revise", belief, "--content", "Spindles help a little.")
    run("revise", belief, "--properties", '{"confidence": null}')
    lines = [line.strip() for line in run("history", belief).out.splitlines() if line.startswith("     ")]
    assert [line for line in lines if "learned" not in line] == [
        "Spindles help.",
        "properties  confidence 0.7",
        "Spindles help.",
        "properties  confidence 0.4",
        "Spindles help a little.",
        "Spindles help a little.",
        "properties  none",
    ]


def test_children_list_the_root_or_a_world(run, small):
    assert [child["ref"] for child in run.json("children")["children"]] == [small.team]
    inside = [child["ref"] for child in run.json("children", small.team)["children"]]
    assert inside == [small.sarah, small.porto, small.yes, small.no, small.twin]
    everything = run.json("children", "Search team", "--include-superseded")["children"]
    assert small.lisbon in [child["ref"] for child in everything]
    then = run.json("children", small.team, "--valid", "2024-06-01", "--ingested", "6")["children"]
    assert [child["ref"] for child in then] == [small.sarah, small.lisbon]
    assert run("children", small.sarah).out == "Sarah Chen has no members at this time.\n"


def test_a_hash_is_of_now_or_then_and_of_the_world_that_was_named(run, small):
    now = run.json("hash")
    assert now.keys() >= {"root", "seq", "ingested_at"}
    assert (now["seq"], now["ingested_at"]) == (11, "2026-12-01T00:00:00Z")
    assert now["root"] == run.json("head")["root"] == run("hash").out.strip()
    then = run.json("hash", "--ingested", "4")
    assert (then["seq"], then["ingested_at"]) == (4, "2026-11-24T00:00:00Z")
    assert run.json("hash", "--ingested", "2026-11-24T18:00:00Z") == then
    assert run.json("hash", small.sarah)["root"] == run.json("hash", "Sarah", "--ingested", "4")["root"]
    assert run.json("hash", small.team)["root"] != run.json("hash", small.team, "--ingested", "4")["root"]
    nothing = run("hash", "--ingested", "2026-01-01")
    assert (nothing.code, nothing.error) == (1, "unknown_reference")


LOG_KEYS = {"seq", "index", "ingested_at", "author", "event", "refs", "name", "text", "why", "data"}


def test_the_log_is_json_lines_with_one_event_each(run, small):
    lines = run("log", "--json").lines
    assert all(line.keys() >= LOG_KEYS for line in lines)
    assert [line["seq"] for line in lines] == sorted(line["seq"] for line in lines)
    assert lines[0]["event"] == "store"
    created = next(line for line in lines if small.sarah in line["refs"])
    assert (created["name"], created["text"], created["author"]) == ("Sarah Chen", "engineering lead", "agent-7")
    assert created["data"]["valid_from"] == "2024-01-01T00:00:00Z"
    assert created["data"]["valid_to"] is None


def test_the_log_can_be_limited(run, small):
    def seqs(*argv: Any) -> list[int]:
        return sorted({line["seq"] for line in run("log", "--json", *argv).lines})

    assert seqs("--from", "3", "--to", "4") == [3, 4]
    assert seqs("--from", "2026-11-30") == [10, 11]
    assert seqs("--from", "2026-11-30T00:00:01Z", "--to", "99") == [11]
    assert seqs("--to", "2026-11-21T06:00:00Z") == [1]
    assert seqs("--from", "500") == []
    assert seqs("--ref", "Sarah") == [3, 4, 11]
    assert seqs("--ref", small.lisbon) == [5, 7]
    assert seqs("--ref", small.proposal) == [11]


def test_the_log_for_people_reads_commit_by_commit(run, small):
    lines = run("log", "--from", "7", "--to", "7").out.splitlines()
    assert lines[0] == "7  2026-11-27  agent-7"
    assert f"    linked      supersedes  {small.porto[:12]} to {small.lisbon[:12]}" in lines
    assert any(line.startswith("    closed") and line.endswith("until 2025-03-01") for line in lines)


def test_the_head_is_a_checkpoint(run):
    head = run.json("head")
    assert head["seq"] == 11
    assert (len(head["chain"]), len(head["root"])) == (64, 64)
    assert head["chain"] in run("head").out


def test_stats_count_and_weigh(run):
    stats = run.json("stats")
    assert stats.keys() >= {"counts", "bytes", "checkpoints"}
    assert stats["counts"]["commits"] == 11
    assert stats["checkpoints"]["tables"] == 11
    assert stats["bytes"]["data"] > 0
    assert "commits" in run("stats").out


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        (None, {}),
        ("7", {"seq": 7}),
        ("999999999999", {"seq": 999_999_999_999}),
        ("1795299451257374", {"ingested": 1_795_299_451_257_374}),
        ("2025-01-01", {"ingested": 1_735_689_600_000_000}),
        ("٣", {"bookmark": "٣"}),
        ("before the move", {"bookmark": "before the move"}),
    ],
)
def test_a_short_number_is_a_commit_what_begins_as_a_date_a_time_and_all_else_a_bookmark(text, moment):
    assert parse_moment(text) == moment


def test_the_library_reads_no_further_than_the_log_goes(made):
    with worlddb.open(made[0], create=False) as db:
        assert [entry.seq for entry in db.log(11, 99)] == [entry.seq for entry in db.log(11)]
        assert list(db.log(50, 99)) == []


def test_a_lane_that_was_not_asked_is_told_with_the_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        db.create("Fact", "Tomatoes", content="six plants")
    run = LocalRunner(capsys, tmp_path / "store")
    silent = run("recall", "vegetables", "--lanes", "vector")
    assert "Nothing in this view answers that." in silent.out
    assert "note: the lane vector was not searched: no text has been embedded yet" in silent.out
    assert run("embed").code == 0
    assert "was not searched" not in run("recall", "vegetables").out


def test_a_world_is_named_by_the_key_that_it_was_written_under(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        ref = db.create("Note", "one", content="two", key="crm/7").ref
        called = db.create("Note", "key:9", resolve=False).ref
        db.create("Note", "another", key="9")
    here = LocalRunner(capsys, tmp_path / "store")
    assert here.json("show", "key:crm/7")["ref"] == ref
    assert here.json("show", "key:9")["ref"] == called, "a name comes first"
    assert here("show", "key:8").code == 1 and here("show", "key:").code == 1
    written = here.json("create", "Note", "inside", "--world", "key:crm/7")["refs"]
    assert [child["ref"] for child in here.json("children", "key:crm/7")["children"]] == written


def test_a_name_of_an_entity_and_of_notes_shows_the_entity_and_says_so(tmp_path, capsys):
    """A recall found whom a name is about, and ``show`` of the same name refused it as ambiguous."""
    with worlddb.open(tmp_path / "store", author="ana", embedder=None) as db:
        note = db.create("Note", "Bob", content="Bob called.", resolve=False).ref
        bob = db.create("Person", "Bob", content="the plumber", resolve=False).ref
        db.create("Note", "Eve", resolve=False)
        db.create("Note", "Eve", resolve=False)
    here = LocalRunner(capsys, tmp_path / "store")
    for command in ("show", "history"):
        told = here(command, "bob")
        assert told.code == 0 and "the plumber" in told.out and note[:8] in told.err
        document = here.json(command, "bob")
        assert (document["ref"], [each["ref"] for each in document["namesakes"]]) == (bob, [note])
        assert here.json(command, bob)["namesakes"] == []
        assert "ambiguous_reference" in here(command, "Eve").err, "there is no entity of the name"
    for write in (["revise", "Bob", "--content", "x"], ["retire", "Bob"], ["erase", "Bob", "--yes", "--reason", "r"]):
        assert "ambiguous_reference" in here(*write).err, "a write never guesses"
    with worlddb.open(tmp_path / "store", author="ana", embedder=None) as db:
        db.create("Entity", "Bob", content="a dog", resolve=False)
    assert "ambiguous_reference" in here("show", "Bob").err, "there are two"


def test_a_question_with_a_byte_that_is_not_utf8_is_refused(run, tmp_path):
    """It was asked without the byte, and the answer was that to another question."""
    typed = os.fsdecode(b"where is the caf\xe9?")
    for argv in (["recall", typed], ["recall", "where", typed], ["context", typed], ["query", "--text", typed]):
        told = run(*argv)
        assert told.code == 2 and "the byte 0xe9" in told.err and "iconv" in told.err, argv
        assert "at character" in told.err
    file = tmp_path / "given.json"
    file.write_bytes(b'{"seeds":\n "caf\xe9"}')
    for argv in (["query", "--file", file], ["merge", "root", "--decide", file]):
        told = run(*argv).err
        assert told.startswith("error[invalid_text]") and "the byte 0xe9 at byte 6 of line 2" in told, told
        assert "codec" not in told and "given.json" in told
