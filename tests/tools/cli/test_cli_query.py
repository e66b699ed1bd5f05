"""``worlddb query``: what a person types is the query that a program would build."""

from __future__ import annotations

import json

import pytest

from tests.support.running import LocalRunner
from worlddb import Query


@pytest.fixture
def run(reading: LocalRunner) -> LocalRunner:
    return reading


KEYS = {"query", "nodes", "edges", "passed", "scores", "facets", "identities", "stages", "exact", "note", "view"}


def test_a_query_has_the_promised_keys_and_its_stages_have_times_only_when_explained(run, small):
    typed = ("query", "--text", "office Porto", "-k", "1", "--traverse", "supersedes", "--include-superseded")
    answer = run.json(*typed)
    assert answer.keys() == KEYS
    assert [node["ref"] for node in answer["nodes"]] == [small.lisbon]
    assert [edge["type"] for edge in answer["edges"]] == ["supersedes"] and answer["passed"] == [small.porto]
    assert {stage["seconds"] for stage in answer["stages"]} == {None}
    explained = run.json(*typed, "--explain")
    assert [(stage["before"], stage["after"]) for stage in explained["stages"]] == [(0, 1), (1, 1), (1, 1)]
    assert all(stage["seconds"] >= 0 for stage in explained["stages"])


def test_operators_run_in_the_order_in_which_they_are_typed(run, small):
    first = run.json("query", "--seed", "Search team", "--traverse", "contains", "--order", "log", "--limit", "1")
    last = run.json("query", "--seed", "Search team", "--traverse", "contains", "--limit", "9", "--order", "log:desc")
    assert [node["ref"] for node in first["nodes"]] == [small.sarah]
    assert last["nodes"][-1]["ref"] == small.sarah and len(last["nodes"]) > 1
    early = run.json("query", "--type", "Fact", "--limit", "1", "--facets", "type", "month")
    late = run.json("query", "--facets", "type", "--type", "Fact", "--limit", "1")
    assert early["facets"] == {"type": {"Fact": 1}, "month": {"2025-03": 1}}
    assert sum(late["facets"]["type"].values()) > 1


def test_what_was_typed_is_the_query_that_a_program_would_build(run, small):
    printed = run.json(
        *("query", "--text", "office", "--world", "Search team", "--lanes", "text", "entity", "--exact"),
        *("--traverse", "causes,implies:2:in", "--traverse", "any", "--connected", f"contradicts:both:{small.no[:8]}"),
        *("--not-connected", "supersedes:in", "--in-world", "Search team", "--during", "2024-01-01..2024-02-01"),
        *("--between", "..2026-12-31", "--summaries", "--unify", "--include-superseded", "--print"),
    )
    expected = (
        Query.of(text="office", world=small.team, lanes=("text", "entity"), exact=True)
        .traverse("causes", "implies", depth=2, direction="in")
        .traverse()
        .where_connected("contradicts", "both", small.no)
        .where_connected("supersedes", "in", absent=True)
        .in_world(small.team)
        .filter_time(during=("2024-01-01", "2024-02-01"))
        .filter_time(between=(None, "2026-12-31"))
        .prefer_summaries()
        .unify()
        .include_superseded()
    )
    assert Query.from_json(json.dumps(printed)) == expected


def test_a_printed_query_can_be_asked_from_a_file(run, small, tmp_path):
    file = tmp_path / "query.json"
    file.write_text(run("query", "--text", "office", "--print").out, encoding="utf-8")
    assert run.json("query", "--file", file)["nodes"] == run.json("query", "--text", "office")["nodes"]
    assert run("query", "--file", file, "--text", "office").code == 2
    assert "missing_file" in run("query", "--file", tmp_path / "none.json").err
    file.write_text('{"steps":[{"op":"fly"}]}', encoding="utf-8")
    refused = run("query", "--file", file)
    assert refused.code == 2 and "$.steps[0]" in refused.err


def test_a_query_for_people_shows_worlds_edges_facets_and_on_request_the_stages(run, small):
    shown = run("query", "--text", "Porto", "--traverse", "supersedes", "--include-superseded", "--facets", "world").out
    assert "The office is in Lisbon." in shown and "Office  supersedes  Office" in shown
    assert "by world  Search team 1" in shown and "stage" not in shown
    explained = run("query", "--text", "Porto", "--traverse", "any:2:both", "--explain").out
    assert "traverse every edge but contains both ways, up to 2 edges" in explained and "ms" in explained
    assert "Nothing in this view matches." in run("query", "--text", "zeppelin").out


def test_a_query_follows_both_time_axes_and_a_confined_view(run, small):
    def offices(*argv: str) -> list[str]:
        return [node["ref"] for node in run.json("query", "--type", "Fact", *argv)["nodes"]]

    assert offices() == [small.porto]
    assert offices("--valid", "2024-06-01") == [small.lisbon]
    assert offices("--ingested", "5") == [small.lisbon]
    assert offices("--confine", small.sarah) == []
    assert [node["ref"] for node in run.json("at", "5", "query", "--type", "Fact")["nodes"]] == [small.lisbon]


@pytest.mark.parametrize(
    "wrong",
    [
        ("--traverse", "causes:deep"),
        ("--traverse", "causes:1:up"),
        ("--traverse", ":2"),
        ("--traverse", "causes:1:out:x"),
        ("--connected", "causes:up"),
        ("--order", "beauty"),
        ("--order", "log:up"),
        ("--facets", "beauty"),
        ("--during", "2024"),
        ("--limit", "none"),
    ],
)
def test_a_mistyped_operator_is_a_usage_error_that_says_what_there_is(run, wrong):
    refused = run("query", *wrong)
    assert refused.code == 2 and refused.err.count("\n") >= 2, refused


def test_a_mistyped_key_of_an_order_is_told_by_the_word_that_was_typed(run):
    assert "the key of order is 'colour'" in run("query", "--order", "colour").err


def test_a_world_that_is_not_there_is_the_answer_no(run):
    assert run("query", "--seed", "Nobody").code == 1
    assert run("query", "--connected", "causes:out:Nobody").code == 1


def test_an_edge_type_that_nobody_registered_is_said_to_be_none(run, small):
    told = run("query", "--seed", "Search team", "--traverse", "contain:2", "--connected", "supersede")
    assert told.code == 0
    assert "no edge type 'contain'; did you mean contains?" in told.err
    assert "no edge type 'supersede'; did you mean supersedes?" in told.err
    assert not run("query", "--seed", "Search team", "--traverse", "contains:2").err
    assert "did you mean contains?" in run.json("query", "--traverse", "contain")["note"]
    assert run("query", "--type", "fact").err == "note: none is of type 'fact'; did you mean Fact?\n"
    assert run("query", "--traverse", "contains, causes").err == ""


def test_a_question_of_a_time_before_the_first_commit_names_the_other_axis(run):
    for asked in (("query", "--text", "office"), ("recall", "office")):
        assert "--valid TIME" in run(*asked, "--ingested", "1999-01-01").out
    assert "--valid TIME" in run("show", "Sarah Chen", "--ingested", "1999-01-01").err
    assert "ends at commit" in run("log", "--from", "5000").out
