"""``remember context profile``: what an agent does all day, by commands."""

from pathlib import Path

import pytest

import worlddb
from tests.support.running import Here

HOME = ("--user", "ana", "--about", "Ana")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Here:
    return Here(capsys, tmp_path / "store")


def test_a_user_moves_and_the_command_line_says_where_to(run: Here) -> None:
    lisbon = run.json("remember", "Ana lives in Lisbon.", *HOME, "--since", "2024-01-01")
    assert lisbon["notes"] == ["Nothing was written for user:ana before"]
    porto = run.json("remember", "Ana lives in Porto.", *HOME, "--since", "2025-01-01", "--source", "mail=7")
    assert [(near["ref"], near["relation"]) for near in porto["near"]] == [(lisbon["ref"], "replacement")]
    again = run.json("remember", "Ana lives in Porto.", *HOME, "--session", "second")
    assert (again["ref"], again["repeated"]) == (porto["ref"], 1)
    lines = run.json("context", "where does Ana live?", "--user", "ana")["context"].splitlines()
    assert len(lines) == 2 and "(a later one says: Ana lives in Porto.)" in lines[0] and "Porto" in lines[1]
    then = run.json("context", "where does Ana live?", "--user", "ana", "--valid", "2024-06-01")["context"]
    assert "Lisbon" in then and "Porto" not in then
    assert run.json("context", "where does Ana live?", "--user", "ana", "--max-tokens", "3")["context"] == ""
    profile = run.json("profile", "--user", "ana")
    assert [fact["content"] for fact in profile["kinds"]["Fact"]] == ["Ana lives in Porto.", "Ana lives in Lisbon."]
    assert profile["people"] == {"ana": 2}
    before = run.json("profile", "--user", "ana", "--ingested", str(lisbon["seq"]))
    assert [fact["ref"] for fact in before["kinds"]["Fact"]] == [lisbon["ref"]]
    with worlddb.memory(run.store, user="ana") as mem:
        found = mem.recall("where does Ana live?").hits
        assert [hit.ref for hit in found] == [porto["ref"], lisbon["ref"]]
        assert found[0].source["mail"] == "7"


def test_what_is_replaced_or_contradicted_or_concluded_is_linked(run: Here) -> None:
    old = run.json("remember", "The rate is 3 %.", "--since", "2024-01-01")["ref"]
    new = run.json("remember", "The rate is 4 %.", "--replaces", old, "--since", "2025-01-01", "--why", "the letter")
    other = run.json("remember", "The rate is 5 %.", "--contradicts", new["ref"], "--type", "Claim", "--name", "rumour")
    run.json("remember", "The loan is dear.", "--derived-from", new["ref"])
    assert run("show", old).code == 1
    assert {(edge["type"], edge["source"]) for edge in run.json("show", new["ref"])["edges"]} >= {
        ("supersedes", new["ref"]),
        ("contradicts", other["ref"]),
    }
    assert run.json("show", "rumour")["type"] == "Claim"


def test_every_read_takes_a_user_and_shows_nothing_of_another(run: Here) -> None:
    run.json("remember", "Ana likes tea.", "--user", "ana")
    run.json("remember", "Ben likes tea.", "--user", "ben")
    for command in (["recall", "tea"], ["children"], ["query", "--type", "Fact"]):
        told = run(*command, "--user", "ana").out
        assert "Ana likes tea." in told and "Ben" not in told
    assert run("recall", "tea", "--user", "anna").code == 1
    for command in (["context", "tea"], ["profile"]):
        assert "nothing was written for the user 'anna' before" in run(*command, "--user", "anna").out
        assert run.json(*command, "--user", "ana")["note"] == ""
    assert run("recall", "tea", "--user", "ana", "--confine", "user:ben").code == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["remember", " "], "blank"),
        (["remember", "It rains.", "--since", "yesterday"], "since"),
        (["remember", "It rains.", "--source", "mail"], "--source 'mail' names no value"),
        (["remember", "It rains.", "--replaces", "nothing"], "nothing"),
        (["remember", "It rains.", "--type", "Scope"], "cannot be a Scope"),
    ],
)
def test_a_memory_that_is_refused_makes_no_memory(run: Here, words: list[str], said: str) -> None:
    run.json("init")
    told = run(*words)
    assert told.code in (1, 2) and said in told.err
    assert run.json("stats")["counts"]["worlds"] == 1
