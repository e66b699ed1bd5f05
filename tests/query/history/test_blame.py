"""Tests ``view.blame``: the commit that made each field and edge, now and in the past."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import worlddb
from tests.query.diff.test_diff_moments import lived
from tests.support.examples import examples
from tests.support.running import LocalRunner, SmallRefs, small_store


@pytest.fixture
def made(tmp_path: Path) -> tuple[Path, SmallRefs]:
    return tmp_path / "memory", small_store(tmp_path / "memory")


def fields(found: worlddb.Blame) -> dict[str, tuple[str, int, str]]:
    return {field.field: (field.value, field.seq, field.why) for field in found.fields}


def test_each_field_names_the_commit_that_gave_it_its_value(made: tuple[Path, SmallRefs]) -> None:
    folder, small = made
    with worlddb.open(folder) as db:
        found = db.view().blame(small.sarah)
    assert found.number == 2
    assert fields(found) == {
        "type": ("Entity", 3, ""),
        "name": ("Sarah Chen", 3, ""),
        "content": ("VP of engineering", 4, "announced in the all-hands"),
        "alias": ("Sarah", 3, ""),
        "valid_from": ("2025-02-01T00:00:00Z", 4, "announced in the all-hands"),
        "container": ("Search team", 3, ""),
    }
    versions = {field.field: field.version for field in found.fields}
    assert (versions["name"], versions["content"], versions["alias"]) == (1, 2, 0)
    assert {field.author for field in found.fields} == {"agent-7"}


def test_each_property_names_the_commit_that_gave_it_its_value(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        belief = db.create("Belief", "", content="It helps.", properties={"confidence": 0.7, "of": ["a", "b"]}).ref
        db.revise(belief, content="It helps a little.")
        lower = db.revise(belief, properties={"confidence": 0.4, "of": ["a", "b"]}, why="a replication failed").seq
        found = fields(db.view().blame(belief))
        assert found["property confidence"] == ("0.4", lower, "a replication failed")
        assert found["property of"] == ('["a","b"]', 2, "")
        assert fields(db.view(seq=lower - 1).blame(belief))["property confidence"] == ("0.7", 2, "")


def test_what_a_later_commit_closed_is_blamed_on_it_and_what_it_was_before_on_the_earlier_one(
    made: tuple[Path, SmallRefs],
) -> None:
    folder, small = made
    with worlddb.open(folder, author="ann") as db:
        lisbon = db.view().blame(small.lisbon)
        assert fields(lisbon)["valid_to"][1] == 7
        assert fields(lisbon)["ended"][1] == 7
        assert "valid_to" not in fields(db.view(seq=6).blame(small.lisbon))
        db.retire(small.porto, at="2030-01-01", why="the lease ends")
        assert fields(db.view().blame(small.porto))["valid_to"] == ("2030-01-01T00:00:00Z", 12, "the lease ends")
        db.retire(small.porto, at="2029-01-01", why="earlier than that")
        assert fields(db.view().blame(small.porto))["valid_to"][0].startswith("20")


def test_edges_are_blamed_in_both_directions_with_their_reasons(made: tuple[Path, SmallRefs]) -> None:
    folder, small = made
    with worlddb.open(folder, author="ann") as db:
        for ref, name in ((small.yes, small.no), (small.no, small.yes)):
            (edge,) = db.view().blame(ref).edges
            assert (edge.type, edge.seq, edge.name) == ("contradicts", 10, name[:12])
            assert edge.why == "two copies of the lease"
            assert (edge.source, edge.target) == (small.no, small.yes)
        assert db.view(seq=9).blame(small.yes).edges == ()
        db.unlink(edge.ref)
        assert db.view().blame(small.yes).edges == ()
        assert [old.ref for old in db.view(seq=10).blame(small.yes).edges] == [edge.ref]


def test_a_confined_view_blames_nothing_outside_of_its_world(made: tuple[Path, SmallRefs]) -> None:
    folder, small = made
    with worlddb.open(folder, author="ann") as db:
        elsewhere = db.create("Topic", "Elsewhere")
        db.link(elsewhere, "contains", small.sarah)
        guide = db.create("Note", "a guide", world=elsewhere)
        db.link(small.sarah, "refers_to", guide, why="a secret")
        newer = db.create("Fact", "the office is gone", world=elsewhere)
        db.link(newer, "supersedes", small.porto, why="another secret")
        whole, inside = db.view(), db.view().confined(small.team)
        assert len(whole.blame(small.sarah).edges) == 1 + len(inside.blame(small.sarah).edges)
        assert fields(whole.blame(small.porto))["valid_to"][2] == "another secret"
        for ref in (small.sarah, small.porto):
            told = repr(inside.blame(ref))
            assert "secret" not in told and "Elsewhere" not in told and "guide" not in told


def test_an_unknown_world_is_a_typed_error(made: tuple[Path, SmallRefs]) -> None:
    folder, small = made
    with worlddb.open(folder) as db:
        with pytest.raises(worlddb.UnknownReference):
            db.view(seq=2).blame(small.sarah)
        with pytest.raises(worlddb.UnknownReference):
            db.view().blame("abcdef012345")


@examples(3, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_before_the_blamed_commit_the_field_or_edge_was_not_what_it_is(
    seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("blame") / "store"
    lived(folder, seed)
    with worlddb.open(folder) as db:
        head = db.head().seq
        for world in db.view().find(type="T", include_superseded=True):
            found = db.view().blame(world.ref)
            oldest = {version.number: version for version in db.view().history(world.ref)}
            for field in found.fields:
                assert 0 < field.seq <= head
                if field.field in ("type", "name", "content"):
                    assert oldest[field.version].seq == field.seq
                    for number in range(field.version, found.number + 1):
                        assert getattr(oldest[number], field.field) == field.value
                    before = oldest.get(field.version - 1)
                    assert before is None or getattr(before, field.field) != field.value
                elif field.field in ("alias", "container", "ended"):
                    assert _told(db, world.ref, field.seq, field)
                    assert not _told(db, world.ref, field.seq - 1, field)
            for edge in found.edges:
                assert edge in [*db.view(seq=edge.seq).blame(world.ref).edges, edge]
                earlier = _at(db, world.ref, edge.seq - 1)
                assert earlier is None or edge.ref not in {old.ref for old in earlier.edges}


def _at(db: worlddb.Database, ref: str, seq: int) -> worlddb.Blame | None:
    try:
        return db.view(seq=seq).blame(ref)
    except worlddb.UnknownReference:
        return None


def _told(db: worlddb.Database, ref: str, seq: int, field: worlddb.BlamedField) -> bool:
    found = _at(db, ref, seq)
    return found is not None and any(
        (other.field, other.ref, other.seq) == (field.field, field.ref, field.seq)
        and (field.ref or other.value == field.value)
        for other in found.fields
    )


def test_the_command_tells_what_the_library_does(
    made: tuple[Path, SmallRefs], capsys: pytest.CaptureFixture[str]
) -> None:
    folder, small = made
    run = LocalRunner(capsys, folder)
    document = run.json("blame", "Sarah", "--ingested", "4")
    assert document["version"] == 2
    by_field = {field["field"]: field for field in document["fields"]}
    assert by_field["content"]["why"] == "announced in the all-hands"
    assert by_field["content"]["ingested_at"].endswith("Z")
    (edge,) = run.json("blame", small.yes)["edges"]
    assert (edge["type"], edge["seq"]) == ("contradicts", 10)
    told = run("blame", small.sarah).out
    assert "VP of engineering" in told and "announced in the all-hands" in told
    assert run("blame", "nobody").code == 1
