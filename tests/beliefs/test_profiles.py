"""A profile closes the vocabulary of a world: all else is refused, by whatever way it comes."""

from __future__ import annotations

from pathlib import Path

import pytest

import worlddb
from tests.support.model.ontology import Tagged
from tests.support.model.stores import new_store, refusal, worlds
from worlddb import Database, Receipt, Refused

TYPES = ("project", "reference", "learning", "feedback", "context", "user")
RELATIONS = ("relates_to", "refines", "contradicts", "supersedes", "supports")


def outside(receipt: Receipt, *named: str) -> None:
    """The write was refused, with what is allowed named."""
    assert refusal(receipt) == "not_in_profile"
    assert isinstance(receipt.outcome, Refused)
    assert all(each in receipt.outcome.reason + receipt.outcome.remedy for each in named)


def closed(db: Database) -> str:
    room: str = db.create("Topic", "desk").ref
    assert db.set_profile(room, "arbiter", why="closed schema").events == 1
    return room


def test_the_profile_of_arbiter_allows_its_six_types_and_five_relations_and_names_them() -> None:
    with new_store() as db:
        room = closed(db)
        refs = [db.create(kind, f"a {kind}", world=room).ref for kind in TYPES]
        for relation in RELATIONS:
            assert db.link(refs[1], relation, refs[2])
        outside(db.create("memo", "x", world=room), "'memo'", "'arbiter'", *TYPES)
        outside(db.link(refs[0], "refers_to", refs[1]), "'refers_to'", *RELATIONS)
        assert db.link(refs[3], "same_as", refs[4]).proposals, "who a world is, is no relation"
        assert db.create("memo", "outside") and db.view().find(type="memo")
        [known] = db.view().profiles()
        assert (known.name, known.node_types, known.relations) == ("arbiter", TYPES, RELATIONS)
        assert (known.world, known.why) == (room, "closed schema")
        assert db.set_profile(room, "arbiter").events == 0
        with db.batch() as tx:
            tx.create("learning", "in a batch", world=room)
        with pytest.raises(worlddb.RefusedError, match="is not in the profile"), db.batch() as tx:
            tx.create("memo", "in a batch", world=room)


def test_nothing_else_comes_in_by_a_move_a_revision_a_handler_or_a_deeper_place(tmp_path: Path) -> None:
    with new_store(edge_types=[Tagged("cites", 1)]) as db:
        room, (box,) = closed(db), worlds(db, 1)
        memo, other = (db.create("memo", name).ref for name in "mn")
        inside = db.create("project", "inside", world=room).ref
        learned = db.create("learning", "deeper", world=inside).ref
        outside(db.create("memo", "deeper", world=inside))
        outside(db.revise(learned, type="memo"))
        assert db.revise(learned, content="said otherwise") and db.revise(learned, type="feedback")
        outside(db.link(room, "contains", memo))
        outside(db.move(memo, inside))
        project = db.create("project", "full").ref
        hidden = db.create("memo", "hidden", world=project).ref
        outside(db.move(project, room), "'memo'")
        db.revise(hidden, type="context")
        note = db.create("user", "u", world=project).ref
        edge = db.link(note, "refers_to", hidden).ref
        outside(db.move(project, room), "'refers_to'")
        db.unlink(edge)
        assert db.move(project, room)
        db.register(Tagged("cites", 1))
        db.define_relation("about")
        for relation in ("cites", "about", "derived_from"):
            outside(db.link(learned, relation, inside))
        assert db.link(memo, "cites", learned, home=box), "an edge at home elsewhere is none of its vocabulary"
        outside(db.link(memo, "cites", other, home=inside))
        outside(db.ingest([{"speaker": "Ann", "text": "hello"}], conversation="c", into=room))


def test_every_profile_around_a_world_holds_and_each_is_lifted_by_itself() -> None:
    with new_store() as db:
        room = closed(db)
        inner = db.create("project", "inner", world=room).ref
        before = db.view()
        assert db.set_profile(inner, node_types=["learning", "memo"], relations=[])
        assert [known.name for known in db.view().profiles(inner)] == ["arbiter", "own"]
        outside(db.create("memo", "x", world=inner), "'arbiter'")
        outside(db.create("user", "x", world=inner), "'own'")
        one, other = (db.create("learning", name, world=inner).ref for name in "ab")
        outside(db.link(one, "supports", other), "none")
        assert refusal(db.lift_profile(one)) == "no_profile"
        assert db.lift_profile(room) and db.create("memo", "x", world=inner)
        assert [known.name for known in before.profiles()] == ["arbiter"]
        assert db.lift_profile(inner) and db.view().profiles() == []
        assert db.create("anything", "x", world=inner) and db.link(one, "refers_to", other)
        assert db.set_profile(None, node_types=["note"])
        outside(db.create("memo", "x"))


def test_a_profile_is_in_the_log_and_seen_from_inside_without_where_it_was_set(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        room = closed(db)
        inner = db.create("project", "inner", world=room).ref
        [entry] = [entry for entry in db.log() if entry.event == "profiled"]
        assert entry.data["node_types"] == list(TYPES) and entry.why == "closed schema"
        [seen] = db.view().confined(inner).profiles()
        assert (seen.world, seen.why, seen.node_types) == (inner, "", TYPES)
        apart = db.create("Topic", "apart").ref
        assert db.view().confined(apart).profiles() == []
    with worlddb.open(tmp_path / "store") as db:
        outside(db.create("memo", "x", world=room))
        assert db.rebuild().root == db.head().root and db.verify(deep=True).ok
        assert [known.name for known in db.view().profiles()] == ["arbiter"]
        assert db.replay(tmp_path / "again").matches_recorded
        with worlddb.open(tmp_path / "again") as again:
            outside(again.create("memo", "x", world=room))


def test_a_bundle_brings_nothing_that_the_world_it_goes_into_does_not_allow(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "from") as db:
        project = db.create("project", "p").ref
        db.create("memo", "m", world=project)
        db.export(project, tmp_path / "p.wdb")
    with worlddb.open(tmp_path / "into") as db:
        room = closed(db)
        outside(db.import_bundle(tmp_path / "p.wdb", into=room), "'memo'")
        assert db.import_bundle(tmp_path / "p.wdb")


@pytest.mark.parametrize(
    "how", [{}, {"profile": "unknown"}, {"relations": ["supports"]}, {"node_types": "memo"}, {"node_types": [""]}]
)
def test_a_profile_without_types_is_told_before_anything_is_written(how: dict[str, object]) -> None:
    with new_store() as db:
        before = db.head()
        with pytest.raises(worlddb.InputError):
            db.set_profile(None, **how)  # type: ignore[arg-type]
        assert db.head() == before
