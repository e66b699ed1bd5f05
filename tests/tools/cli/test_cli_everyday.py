"""What a person types every day: an empty store, paths of names, what is about somebody, what contradicts what."""

from __future__ import annotations

from pathlib import Path

import pytest

import worlddb
from tests.support.running import LocalRunner


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> LocalRunner:
    return LocalRunner(capsys, tmp_path / "store")


def test_a_command_makes_an_empty_store_and_leaves_one_that_is_there(run: LocalRunner) -> None:
    made = run.json("init")
    assert (made["seq"], made["empty"]) == (1, True) and run.json("head")["root"] == made["root"]
    run("create", "Topic", "Tea")
    again = run.json("init")
    assert (again["seq"], again["empty"]) == (2, False) and "an existing store" in run("init").out


def test_a_path_of_names_leads_to_what_is_inside(run: LocalRunner) -> None:
    with worlddb.open(run.store, embedder=None) as db:
        for team in ("Search team", "Hiring"):
            world = db.create("Topic", team)
            db.create("Fact", "Office", content=f"The office of {team}.", world=world, resolve=False)
            db.create("Fact", "Deep", world=db.create("Topic", "Shelf", world=world, resolve=False), resolve=False)
        named_so = db.create("Note", "Hiring/Deep").ref
    assert (
        "of Hiring" in run("show", "Hiring/Office").out and "of Search team" in run("show", " search TEAM / office").out
    )
    assert run.json("show", "Hiring/Shelf/Deep")["name"] == "Deep"
    assert run.json("show", "Hiring/Deep")["ref"] == named_so, "a name with a stroke in it is a name"
    for nothing in ("Search team/Deep", "Hiring/", "/", "Nobody/Office", "Hiring/Nothing"):
        assert run("show", nothing).error == "unknown_reference", nothing


def test_an_export_takes_the_file_beside_the_world(run: LocalRunner, tmp_path: Path) -> None:
    run("create", "Topic", "Tea")
    written = run.json("export", "Tea", tmp_path / "tea.bundle")
    assert written["out"] == str(tmp_path / "tea.bundle") and written["worlds"] == 1
    assert run("export", "Tea", tmp_path / "tea.bundle", "--out", tmp_path / "b").error == "usage"
    assert run("export", "Tea", tmp_path / "tea.bundle").error == "input", "it is there"


def test_a_profile_says_once_that_there_are_only_messages(run: LocalRunner, tmp_path: Path) -> None:
    (tmp_path / "talk.jsonl").write_text('{"speaker": "Ana", "text": "I moved to Porto."}')
    run("ingest", tmp_path / "talk.jsonl", "--user", "ana")
    shown = run("profile", "--user", "ana")
    assert (shown.out + shown.err).count("A profile lists statements") == 1
    assert run.json("profile", "--user", "ana")["note"].startswith("A profile lists statements")


def test_a_history_of_somebody_has_what_is_about_them(run: LocalRunner) -> None:
    with worlddb.open(run.store, embedder=None) as db:
        dave = db.create("Entity", "Dave")
        for year, text in (("2025", "Dave bought a boat."), ("2024", "Dave lives in Faro.")):
            db.link(db.create("Fact", "", content=text, valid_from=f"{year}-01-01"), "refers_to", dave)
        db.retire(db.view().find(type="Fact")[0], at="2025-06-01")
        db.link(db.create("Entity", "Boat"), "refers_to", dave)
    told = run.json("history", "Dave")
    assert [world["content"] for world in told["about"]] == ["Dave lives in Faro.", "Dave bought a boat."]
    shown = run("history", "Dave").out
    assert "about it, 2 worlds" in shown and "(holds no more)" in shown
    assert run.json("history", told["about"][0]["ref"])["about"] == []


def test_a_context_as_of_before_anything_was_known_says_so_and_not_that_it_does_not_fit(run: LocalRunner) -> None:
    with worlddb.memory(run.store, user="coach", embedder=None) as mem:
        mem.add("Gerd weighs 70 kg.", about="Gerd")
    shown = run("context", "Gerd", "--user", "coach", "--ingested", "2020-01-01")
    assert "Nothing is known about that." in shown.out
    assert "Nothing was known for user:coach at that moment" in shown.out + shown.err
    assert "does not fit" in run("context", "Gerd", "--user", "coach", "--max-tokens", "1").out


def test_a_history_names_what_a_memory_replaced_and_what_replaced_it(run: LocalRunner) -> None:
    with worlddb.memory(run.store, user="coach", embedder=None) as mem:
        old = mem.add("Gerd weighs 70 kg.", about="Gerd", since="2026-01-01").id
        new = mem.add("Gerd weighs 68 kg.", about="Gerd", since="2026-02-01", on_near="supersede_same_subject").id
        last = mem.add("Gerd weighs 66 kg.", about="Gerd", since="2026-03-01", on_near="supersede_same_subject").id
    for flags in ((), ("--timeline",)):
        shown = run("history", new, *flags).out
        assert f"replaced  {old[:8]}" in shown and "Gerd weighs 70 kg." in shown and f"replaced by  {last[:8]}" in shown
    told = run.json("history", new)
    assert [[each["ref"] for each in told[name]] for name in ("replaced", "replaced_by")] == [[old], [last]]
    assert [each["ref"] for each in run.json("history", old)["replaced_by"]] == [new, last]


def test_all_contradictions_are_listed_without_a_reference(run: LocalRunner) -> None:
    with worlddb.open(run.store, embedder=None) as db:
        team = db.create("Topic", "Team")
        one, other, third = (db.create("Fact", "", content=text, world=team) for text in ("tea", "coffee", "water"))
        db.link(other, "contradicts", one)
        db.link(db.create("Fact", "", content="milk"), "contradicts", third)
        db.retire(db.create("Fact", "", content="gone"))
    pairs = run.json("conflicts")["conflicts"]
    assert [(pair["first"]["content"], pair["second"]["content"]) for pair in pairs] == [
        ("tea", "coffee"),
        ("water", "milk"),
    ]
    assert len(run.json("conflicts", "Team", "--limit", "1")["conflicts"]) == 1
    assert "coffee" in run("conflicts").out and "no valid worlds contradict" in run("conflicts", "--ingested", "2").out


def test_stats_say_how_many_texts_have_vectors(run: LocalRunner) -> None:
    with worlddb.open(run.store) as db:
        db.create("Fact", "", content="tea")
        assert db.stats()["vectors"] == [] and "none: texts are found" in run("stats").out
        db.embed()
        db.create("Fact", "", content="coffee")
        (space,) = db.stats()["vectors"]
    assert (space["texts"], space["through"]) == (1, 2)
    assert "1 text up to commit 2" in run("stats").out
