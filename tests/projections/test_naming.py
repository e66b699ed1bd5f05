"""A view takes a world's name wherever it takes its reference, if one world has it."""

from __future__ import annotations

from pathlib import Path

import pytest

import worlddb
from tests.support.model.stores import new_store
from tests.support.running import LocalRunner
from worlddb import AmbiguousReference, InputError, UnknownReference


def test_every_read_takes_a_name_or_an_alias_that_one_world_has() -> None:
    with new_store() as db:
        team = db.create("Topic", "Search team").ref
        sarah = db.create("Entity", "Sarah Chen", content="lead", aliases=["Sal"], world=team).ref
        db.revise(sarah, content="VP")
        view = db.view()
        for name in ("Sarah Chen", "sarah  chen", "SAL", sarah, sarah[:6]):
            shown = view.get(name)
            assert shown is not None
            assert (shown.ref, view.reference_of(name)) == (sarah, sarah)
            assert [version.content for version in view.history(name)] == ["lead", "VP"]
            assert view.containers(name) == [team]
            assert view.hash(name) == view.hash(sarah)
            assert view.equivalence_class(name) == [sarah]
        assert [world.ref for world in view.children("Search team")] == [sarah]
        assert [hit.ref for hit in view.recall("VP", world="search team")] == [sarah]
        assert view.find(world="Search team")[0].ref == sarah
        assert view.confined("Search team").reference_of("Sarah Chen") == sarah
        assert view.confined("Search team").reference_of("Search team") == team
        assert view.hash("root") == view.hash()


def test_a_query_takes_names_for_its_start_its_world_and_its_steps() -> None:
    with new_store() as db:
        team = db.create("Topic", "Search team").ref
        sarah, tom = (db.create("Entity", name, world=team).ref for name in ("Sarah Chen", "Tom"))
        db.link(sarah, "causes", tom)
        view = db.view()
        assert view.query(seeds="sarah chen").traverse("causes").run().refs == (tom,)
        assert view.query(world="Search team").where_connected("causes", to="Tom").run().refs == (sarah,)
        assert set(view.query().in_world("Search team").run().refs) == {sarah, tom}
        asked = worlddb.Query.from_json(worlddb.Query.of(seeds=["Tom"], world="Search team").to_json())
        assert view.run(asked).refs == (tom,)
        with pytest.raises(UnknownReference, match="the name 'Nobody'"):
            view.query(seeds="Nobody").run()


def test_a_name_of_several_is_an_error_that_lists_them_and_one_of_nobody_says_so() -> None:
    with new_store() as db:
        one, two = (db.create(kind, "Mercury").ref for kind in ("Planet", "Metal"))
        with pytest.raises(AmbiguousReference, match=rf"{one[:12]} \(Planet\), {two[:12]} \(Metal\)") as raised:
            db.view().get("Mercury")
        assert raised.value.details["candidates"] == [one, two]
        db.retire(two)
        assert db.view().reference_of("Mercury") == one, "what is valid comes first"
        with pytest.raises(UnknownReference, match="the name 'Venus'"):
            db.view().get("Venus")
        for empty in ("", "  ", "\u200b"):
            with pytest.raises(InputError):
                db.view().get(empty)
        with pytest.raises(InputError, match="not a reference"):
            db.erase("Mercury", reason="r")


def test_a_name_that_looks_like_the_beginning_of_a_reference_asks_which() -> None:
    with new_store() as db:
        one = db.create("Note", "", content="an old one").ref
        other = db.create("Note", one[:6]).ref
        with pytest.raises(worlddb.AmbiguousReference) as refused:
            db.view().reference_of(one[:6])
        assert set(refused.value.details["candidates"]) == {one, other}
        free = next(f"{number:04x}" for number in range(16**4) if f"{number:04x}" not in (one[:4], other[:4]))
        db.alias(other, free)
        assert db.view().reference_of(free) == other


def test_an_export_and_a_proof_take_a_name(tmp_path: Path) -> None:
    with new_store() as db:
        team = db.create("Topic", "Search team").ref
        sarah = db.create("Entity", "Sarah Chen", world=team).ref
        assert db.export("Search team", tmp_path / "team.bundle").world == team
        assert next(db.export_lines("Search team"))["world"] == team
        found = worlddb.check_proof(db.prove(sarah, world="Search team"), db.checkpoint())
        assert (found.ok, found.claim["world"]) == (True, team)


def test_the_command_line_lists_the_worlds_of_one_name_with_their_places(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with worlddb.open(tmp_path / "store") as db:
        team = db.create("Topic", "Search team")
        db.create("Planet", "Mercury", world=team)
        db.create("Metal", "Mercury")
    ran = LocalRunner(capsys, tmp_path / "store")("show", "Mercury")
    assert ran.code == 2
    assert "Planet  Mercury  in Search team" in ran.err
    assert "Metal  Mercury" in ran.err
