"""Erases what the engine itself wrote of somebody's name or reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.faults.traces import find_traces
from tests.support.model.ontology import Tagged
from tests.support.model.stores import new_store
from worlddb import Database, Turn

NAMES = ("Jonathan Okafor", "Johnathan Okafor", "Jonathann Okafor")


def staged(db: Database, world: str | None = None) -> list[str]:
    """Three worlds whose names are alike; the last is held against the first two."""
    return [db.create("Entity", name, world=world, resolve="all").ref for name in NAMES]


def considered(evidence: dict[str, Any]) -> list[tuple[str, str]]:
    return [(each["ref"], each["name"]) for each in evidence["considered"]]


def test_whoever_was_considered_for_a_pair_of_others_leaves_no_name_in_its_evidence() -> None:
    with new_store() as db:
        one, two, three = staged(db)
        (pair,) = (each for each in db.proposals() if {each.source, each.target} == {one, three})
        assert set(considered(pair.evidence)) == {(one, NAMES[0]), (two, NAMES[1])}
        db.catch_up()
        db.erase(two, reason="request 7")
        assert find_traces(db.path, [NAMES[1]]) == []
        (pair,) = (each for each in db.proposals() if {each.source, each.target} == {one, three})
        assert set(considered(pair.evidence)) == {(one, NAMES[0]), (two, "")}
        assert db.verify(deep=True).ok


def test_evidence_names_nobody_who_is_outside_of_what_a_view_or_an_export_is_confined_to(tmp_path: Path) -> None:
    with new_store() as db:
        team, other = (db.create("Topic", name).ref for name in ("Team", "Other"))
        one, two, three = staged(db, team)
        before = db.view()
        db.move(two, other)
        for world, seen in ((None, {one, two}), (team, {one})):
            view = db.view(world=world)
            (pair,) = (each for each in view.proposals() if {each.source, each.target} == {one, three})
            assert {ref for ref, _ in considered(pair.evidence)} == seen
            assert pair.evidence["considered_in_all"] == len(seen)
        for view, seen in ((db.view(), {one}), (before, {one, two})):
            lines = [line for line in db.export_lines(team, seq=view.seq) if line["kind"] == "proposal"]
            (line,) = (line for line in lines if {line["source"], line["target"]} == {one, three})
            assert {ref for ref, _ in considered(line["evidence"])} == seen
        assert NAMES[1] not in repr([*db.export_lines(team)])


def test_evidence_that_a_caller_gave_is_shown_as_it_is() -> None:
    with new_store() as db:
        one, two = (db.create("Entity", name).ref for name in ("Ann", "Bob"))
        given = {"considered": [{"ref": "somebody"}, 3], "tier": "gut"}
        db.link(one, "same_as", two, properties=given)
        assert db.proposals()[0].evidence == given
        assert db.view(world=None).proposals()[0].evidence == given


def test_why_a_type_was_registered_or_a_bundle_imported_goes_with_the_world_that_it_is_about(tmp_path: Path) -> None:
    words = [f"Word{number}x" for number in range(4)]
    with new_store() as source, new_store() as db:
        team = source.create("Topic", "Team").ref
        inner = source.create("Topic", "Inner", world=team).ref
        source.register(Tagged("knows", 1), world=inner, why=words[0])
        source.unregister("knows", world=inner, why=words[1])
        source.register(Tagged("knows", 2), world=inner, why=words[2])
        source.export(team, tmp_path / "team.bundle")
        db.import_bundle(tmp_path / "team.bundle", why=words[3])
        assert {found.rpartition(" ")[2] for found in find_traces(db.path, words)} == {words[2], words[3]}
        for store, world, left in ((source, inner, []), (db, inner, [words[3]]), (db, team, [])):
            store.erase(world, reason="request 7")
            assert {found.rpartition(" ")[2] for found in find_traces(store.path, words)} == set(left)
            assert store.verify(deep=True).ok
        assert [known.why for known in db.view().edge_types() if known.digest] == [""]


def test_a_confined_log_does_not_tell_how_much_else_a_commit_has_embedded() -> None:
    with new_store() as db:
        team, other = (db.create("Topic", name).ref for name in ("Team", "Other"))
        db.ingest([Turn(text=f"red boats {number}", speaker="Ann") for number in range(3)], into=other)
        note = db.create("Note", "n", content="a red boat", world=team).ref
        db.embed()
        (told,) = (entry for entry in db.view(world=team).log(ref=note) if entry.event == "embedded")
        assert told.data == {"space": told.data["space"], "lineage": note, "version": 1}
