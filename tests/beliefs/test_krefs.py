"""Krefs: one form, checked once, that leads to the same item whatever became of its name and place."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import worlddb
from worlddb import AmbiguousReference, InputError, InvalidKref, Kref, UnknownReference, WorldDBError, parse_kref
from worlddb.log.beliefs import kref as krefs

API = "kref://proj/team/api-design.decision"

PARTS = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), min_size=1, max_size=12).map(str.strip)
VALUES = st.builds(
    Kref,
    PARTS,
    st.lists(PARTS, min_size=1, max_size=3).map(tuple),
    PARTS,
    PARTS,
    st.none() | st.integers(1, krefs.MAX_REVISION),
    st.just("") | PARTS,
)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[worlddb.Database]:
    with worlddb.open(tmp_path / "store", embedder=None) as store:
        yield store


def said(world: Any) -> str:
    assert isinstance(world, worlddb.World)
    return world.content


# -- the form


def parsed(text: str) -> Kref | None:
    try:
        return parse_kref(text)
    except WorldDBError:
        return None


@given(VALUES)
def test_every_kref_that_can_be_said_is_read_back_as_it_was_meant(value: Kref) -> None:
    found = parsed(str(value))
    if found is not None:
        assert str(found) == str(parse_kref(str(found))) and parse_kref(str(found)) == found
        normal = [unicodedata.normalize("NFC", each) for each in (value.project, *value.spaces, value.name)]
        assert [found.project, *found.spaces, found.name] == normal
        assert (found.revision, found.kind) == (value.revision, unicodedata.normalize("NFC", value.kind))
        assert str(found).isascii() and found.item_key.isascii()


@given(st.text(max_size=40) | st.text("kref:/.%?=&ra12 é#", max_size=40).map("kref://a/b/".__add__))
def test_any_text_is_a_kref_or_refused_with_its_place_and_a_remedy(text: str) -> None:
    try:
        found = parse_kref(text)
    except InvalidKref as error:
        assert error.remedy and 0 <= error.details["at"] <= len(text) and "character" in error.message
    except WorldDBError as error:
        assert error.code in ("invalid_text", "limit_exceeded") and error.remedy
    else:
        assert parse_kref(str(found)) == found


@pytest.mark.parametrize(
    ("text", "why", "at"),
    [
        ("http://a/b/c.d", "kref://", 0),
        ("kref://proj/api.decision", "project, a space and an item", 24),
        ("kref://proj/team/api", "without its kind", 17),
        ("kref://proj//api.fact", "empty part", 12),
        ("kref://proj/../api.fact", "'..'", 12),
        ("kref://proj/team/ap%2i.fact", "without two hex digits", 19),
        ("kref://proj/team/%FF.fact", "not UTF-8", 17),
        ("kref://proj/team/a.fact?r=0", "not a version number", 24),
        ("kref://proj/team/a.fact?r=1&r=2", "at most once", 28),
        ("kref://proj/team/a.fact?v=1", "has the parameter 'v=1'", 24),
        ("kref://proj/team/a.fact#top", "fragment", 23),
        ("kref://proj/team/a%0Ab.fact", r"'\\n'", 17),
        ("kref://proj/ team/a.fact", "blank", 12),
    ],
)
def test_an_error_names_the_value_the_place_and_the_remedy(text: str, why: str, at: int) -> None:
    with pytest.raises(InvalidKref, match=why) as caught:
        parse_kref(text)
    assert caught.value.details["at"] == at and repr(text)[1:-1] in caught.value.message and caught.value.remedy


def test_spellings_of_one_kref_are_one_value() -> None:
    spellings = ("kref://Zoë/a b/x.y.fact?a=s%2Fp&r=2", "KREF://Zo%c3%ab/a%20b/x%2Ey.fact?r=2&a=s/p")
    one, other = map(parse_kref, spellings)
    assert one == other == Kref("Zoë", ("a b",), "x.y", "fact", 2, "s/p")
    assert str(one) == "kref://Zo%C3%AB/a%20b/x.y.fact?r=2&a=s%2Fp"
    assert one.container_keys == ("kref://Zo%C3%AB", "kref://Zo%C3%AB/a%20b")


# -- items


def test_an_item_lies_in_its_project_and_spaces_and_is_made_once(db: worlddb.Database) -> None:
    made = db.create_at("kref://proj/team/backend/api-design.decision", content="REST")
    again = db.create_at("kref://proj/team/backend/api-design.decision", content="REST")
    other = db.create_at("kref://proj/team/backend/api-design.fact", content="of another kind")
    assert made.ref == again.ref != other.ref and (made.events, again.events) == (made.events, 0)
    view = db.view()
    assert [(world.type, world.name) for world in view.find()][:4] == [
        ("Project", "proj"),
        ("Space", "team"),
        ("Space", "backend"),
        ("decision", "api-design"),
    ]
    (backend,) = view.containers(made.ref)
    assert view.get(backend).name == "backend"  # type: ignore[union-attr]
    assert db.head().seq == 3, "the containers and the item are one commit"


def test_the_same_again_changes_nothing_whatever_window_it_has(db: worlddb.Database) -> None:
    first: dict[str, Any] = {"content": "REST", "valid_from": "2026-01-15", "why": "the kick-off"}
    later: dict[str, Any] = {"content": "gRPC", "valid_from": "2026-02-01", "properties": {"by": "ada"}}
    past: dict[str, Any] = {"content": "SOAP", "valid_from": "2020-01-01", "valid_to": "2021-01-01"}
    for said in (first, later, past):
        assert db.create_at(API, **said).events > 0
        assert db.create_at(API, **said).events == 0
    assert [db.create_at(API, **said).events for said in (first, later, past)] == [0, 0, 0]
    assert len(db.view().history(API)) == 3
    assert db.create_at(API, **first | {"content": "REST again"}).events > 0
    assert db.create_at(API, **past | {"valid_to": "2020-06-01"}).events > 0


def test_without_a_version_it_is_what_holds_and_with_one_that_version(db: worlddb.Database) -> None:
    db.create_at(API, content="REST", valid_from="2026-01-15")
    first = db.view()
    db.create_at(API, content="REST and WebSocket", valid_from="2026-01-22")
    db.create_at(API, content="gRPC inside", valid_from="2026-02-01")
    view = db.view()
    assert said(view.resolve_kref(API)) == said(view.get(API)) == "gRPC inside"
    assert [said(view.resolve_kref(f"{API}?r={number}")) for number in (1, 2, 3)] == [
        "REST",
        "REST and WebSocket",
        "gRPC inside",
    ]
    assert said(db.view(valid="2026-01-25").resolve_kref(API)) == "REST and WebSocket"
    assert said(first.resolve_kref(API)) == "REST" and said(view.get(parse_kref(f"{API}?r=2"))) == "REST and WebSocket"
    with pytest.raises(UnknownReference, match="no version 2"):
        first.resolve_kref(f"{API}?r=2")
    with pytest.raises(UnknownReference, match="no version 9"):
        view.get(f"{API}?r=9")
    with pytest.raises(WorldDBError):
        db.view(seq=1).resolve_kref(API)


def test_a_kref_works_wherever_a_reference_does(db: worlddb.Database) -> None:
    ref = db.create_at(API, content="REST").ref
    with db.batch(idempotency_key="once") as tx:
        note = tx.create("Fact", "a note", content="as measured")
        tx.link(note, "derived_from", API)
        tx.tag(API, "published")
        tx.label(API, "urgent")
    db.deprecate(API)
    view = db.view()
    assert [basis.ref for basis in view.provenance("a note")] == [ref]
    assert [each.ref for each in view.impact(API)] == [note_ref := view.reference_of("a note")]
    assert view.reference_of(API) == view.reference_of(parse_kref(API)) == ref and note_ref != ref
    assert view.get(API) is None and view.resolve_kref(API) is None
    assert view.get(API, include_deprecated=True).tags == {"published": 1}  # type: ignore[union-attr]
    assert said(view.resolve_kref(f"{API}?r=1", include_deprecated=True)) == "REST"
    db.undeprecate(API)
    db.retire(API)
    assert db.view().resolve_kref(API) is None
    assert [world.ref for world in db.view(world="kref://proj/team/api-design.decision").find()] == []
    db.erase(API, reason="request 3")
    assert db.view().get(ref, include_superseded=True).erased  # type: ignore[union-attr]


@pytest.mark.parametrize("text", [f"{API}?r=1", f"{API}?a=spec"])
def test_where_an_item_is_meant_a_version_or_an_artifact_is_refused(db: worlddb.Database, text: str) -> None:
    db.create_at(API, content="REST")
    for call in (db.deprecate, db.retire, db.view().edges, db.view().history):
        with pytest.raises(InvalidKref, match="an item is needed") as caught:
            call(text)
        assert "resolve_kref" in caught.value.remedy
    with pytest.raises(InvalidKref):
        db.create_at(text, content="more")


def test_a_rename_keeps_the_kref_and_adds_an_alias(db: worlddb.Database) -> None:
    ref = db.create_at(API, content="REST").ref
    db.rename(API, "api-plan", why="a better name")
    view = db.view()
    item = view.resolve_kref(API)
    assert isinstance(item, worlddb.World) and (item.ref, item.name, item.aliases) == (ref, "api-plan", ("api-design",))
    assert view.reference_of("api-design") == view.reference_of("api-plan") == ref
    assert view.reference_of("kref://proj/team/api-plan.decision") == ref
    assert db.create_at("kref://proj/team/api-plan.decision", content="REST").events == 0
    assert db.create_at(API, content="gRPC").ref == ref == db.view().find(name="api-plan")[0].ref
    assert db.rename(API, "api-plan").events == 0


def test_a_nameless_world_can_be_named(db: worlddb.Database) -> None:
    ref = db.create("Fact", "", content="unnamed").ref
    assert db.rename(ref, "named") and db.view().find(name="named")[0].aliases == ()


def test_a_kref_of_parts_that_are_none_is_a_typed_error(db: worlddb.Database) -> None:
    wrong: list[Any] = [(1, ("s",), "n", "k"), ("p", 1, "n", "k"), ("p", ("\ud800",), "n", "k")]
    for parts in wrong:
        with pytest.raises(worlddb.InputError):
            db.create_at(Kref(*parts), content="said")
    assert db.head().seq == 1


def test_a_world_knows_the_kref_that_leads_to_it_where_it_lies(db: worlddb.Database) -> None:
    ref = db.create_at("kref://proj/Team A/sub/api.v2.decision", content="REST").ref
    assert str(db.view().kref_of(ref)) == "kref://proj/Team%20A/sub/api.v2.decision"
    db.rename(ref, "a/b?")
    found = db.view().kref_of(ref)
    assert str(found) == "kref://proj/Team%20A/sub/a%2Fb%3F.decision" and db.view().reference_of(found) == ref
    twin = db.create("decision", "a/b?", world=db.view().containers(ref)[0], resolve=False)
    loose = db.create("Fact", "loose", content="x")
    assert [db.view().kref_of(each) for each in (twin, loose, "proj")] == [None, None, None]
    db.rename(ref, " odd ")
    assert db.view().kref_of(ref) is None


def test_an_item_that_was_moved_keeps_its_kref(db: worlddb.Database) -> None:
    ref = db.create_at(API, content="REST").ref
    archive = db.create("Topic", "Archive")
    db.move(API, archive)
    assert db.view().reference_of(API) == ref
    assert db.create_at(API, content="gRPC").ref == ref and db.view().containers(ref) == [archive.ref]


def test_what_lies_in_a_space_under_a_name_and_a_kind_has_a_kref_if_it_is_the_only_one(db: worlddb.Database) -> None:
    db.create_at(API, content="REST")
    (team,) = db.view().containers(API)
    note = db.create("fact", "Benchmarks", world=team, content="fast")
    assert db.view().reference_of("kref://proj/team/Benchmarks.fact") == note.ref
    with pytest.raises(UnknownReference, match="nothing at"):
        db.view().reference_of("kref://proj/team/benchmarks.fact")
    db.create("fact", "Benchmarks", world=team, content="slow", resolve=False)
    with pytest.raises(AmbiguousReference):
        db.view().reference_of("kref://proj/team/Benchmarks.fact")
    with pytest.raises(AmbiguousReference):
        db.create_at("kref://proj/team/Benchmarks.fact", content="fair")
    with pytest.raises(UnknownReference, match="There is no 'kref://proj/other'"):
        db.view().reference_of("kref://proj/other/Benchmarks.fact")


def test_tenants_have_krefs_of_their_own_and_see_no_others(db: worlddb.Database) -> None:
    one, other = (db.create("Topic", name) for name in ("One", "Other"))
    db.create_at(API, content="of one", within=one)
    db.create_at(API, content="of the other", within=other)
    assert said(db.view(world=one).resolve_kref(API)) == "of one"
    assert said(db.view(world=other).resolve_kref(API)) == "of the other"
    empty = db.create("Topic", "Empty")
    with pytest.raises(UnknownReference, match="There is no 'kref://proj'"):
        db.view(world=empty).resolve_kref(API)
    assert said(db.view().resolve_kref(API)) == "of one", "over all of the store, what was begun first, as with any key"


def test_krefs_and_artifacts_come_along_in_a_bundle_and_a_backup(db: worlddb.Database, tmp_path: Path) -> None:
    db.create_at(API, content="REST", artifacts=[worlddb.Artifact(name="spec", location="s3://bucket/spec.pdf")])
    db.rename(API, "api-plan")
    project = db.view().keyed("kref://proj")
    assert project is not None
    db.export(project.ref, tmp_path / "project.bundle")
    with worlddb.open(tmp_path / "other", embedder=None) as other:
        other.import_bundle(tmp_path / "project.bundle")
        for text in (API, "kref://proj/team/api-plan.decision"):
            assert said(other.view().resolve_kref(text)) == "REST"
        assert other.view().artifacts(API) == db.view().artifacts(API) != []
        assert other.create_at(API, content="gRPC").ref == db.view().reference_of(API)
    db.backup(tmp_path / "backup")
    worlddb.restore(tmp_path / "backup", tmp_path / "restored")
    with worlddb.open(tmp_path / "restored", embedder=None) as restored:
        assert restored.view().artifacts(f"{API}?r=1")[0].location == "s3://bucket/spec.pdf"


def test_two_who_make_the_same_item_at_once_make_one(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", embedder=None) as one, worlddb.open(tmp_path / "store") as other:
        view, look = one.view(), one.view

        def first_then_other(**asked: Any) -> worlddb.View:
            found = look(**asked)
            other.create_at(API, content="REST")
            return found

        one.view = first_then_other  # type: ignore[method-assign]
        made = one.create_at(API, content="REST")
        assert made.events == 0 and view.seq == 1
        assert len(other.view().find(type="decision")) == len(other.view().find(type="Space")) == 1


def test_a_kref_that_is_no_text_or_too_long_is_refused(db: worlddb.Database) -> None:
    with pytest.raises(InvalidKref, match="this is int"):
        parse_kref(7)
    with pytest.raises(worlddb.LimitExceeded):
        parse_kref("kref://proj/team/" + "é" * 2_000 + ".fact")
    with pytest.raises(InvalidKref, match="more than 16 spaces"):
        parse_kref("kref://proj/" + "s/" * 17 + "a.fact")
    with pytest.raises(InputError):
        db.rename(db.create("Fact", "x", content="x"), "")


# -- in a batch


def test_a_batch_makes_items_and_says_more_of_them_as_one_commit(db: worlddb.Database) -> None:
    db.create_at("kref://proj/team/old.fact", content="there before", properties={"pages": 3})
    seq = db.view().seq
    with db.batch() as tx:
        api = tx.create_at(API, content="REST")
        other = tx.create_at("kref://proj/team/backend/queue.decision", content="Kafka")
        tx.create_at(API, content="gRPC", why="faster")
        tx.create_at(API, content="gRPC")
        tx.rename(api, "wire-format")
        tx.attach(API, worlddb.Artifact(name="a.csv", location="s3://a"))
        tx.attach(api, worlddb.Artifact(name="b.csv", location="s3://b"))
        tx.detach(api, "a.csv")
        tx.revise("kref://proj/team/old.fact", properties={"pages": 4})
        tx.attach("kref://proj/team/old.fact", worlddb.Artifact(name="c.csv", location="s3://c"))
        tx.rename("kref://proj/team/old.fact", "ancient")
        tx.link(other, "derived_from", api)
    view = db.view()
    assert view.seq == seq + 1
    item = view.get(API)
    assert item is not None and (item.name, item.aliases, item.content) == ("wire-format", ("api-design",), "gRPC")
    assert [each.name for each in view.artifacts(API)] == ["b.csv"]
    assert tx.receipt.refs[api.position] == item.ref == view.provenance(tx.receipt.refs[other.position])[0].ref
    old = view.get("kref://proj/team/old.fact")
    assert old is not None and (old.name, old.properties["pages"], old.aliases) == ("ancient", 4, ("old",))
    assert [each.name for each in view.artifacts("ancient")] == ["c.csv"]
    assert len(view.find(type="Project")) == 1 and {each.name for each in view.find(type="Space")} == {
        "team",
        "backend",
    }


def test_a_batch_comes_to_what_the_calls_one_by_one_come_to(tmp_path: Path) -> None:
    def told(store: worlddb.Database) -> list[tuple[object, ...]]:
        worlds = store.view().find(limit=None)
        return sorted((each.type, each.name, each.content, each.aliases, str(each.properties)) for each in worlds)

    items = [f"kref://p/s{number % 2}/item{number % 3}.fact" for number in range(6)]

    def said(writing: Any) -> None:
        for number, item in enumerate(items):
            writing.create_at(item, content=f"text {number // 4}", properties={"n": number % 2})
            writing.attach(item, worlddb.Artifact(name=f"f{number % 4}", location=f"/{number}"))
            if number == 4:
                writing.rename(item, "renamed")
        writing.create("Topic", "tea")
        writing.prefer("kref://p/s0/item0.fact", "prefers", "kref://p/s1/item1.fact")
        writing.prefer("kref://p/s0/item0.fact", "prefers", "kref://p/s1/item1.fact", outcome="succeeded")

    with (
        worlddb.open(tmp_path / "one", embedder=None) as one,
        worlddb.open(tmp_path / "other", embedder=None) as other,
    ):
        said(one)
        for item in dict.fromkeys(items):
            other.create_at(item, content="")
        with other.batch() as tx:
            said(tx)
        assert told(one) == told(other) and len(told(one)) == 10
        assert [each.confidence for store in (one, other) for each in store.view().preferences(items[0])] == [0.75] * 2


def test_a_batch_is_refused_if_others_changed_what_it_rests_on_and_nothing_else(db: worlddb.Database) -> None:
    db.create_at(API, content="REST")
    db.create("Note", "by the way", content="said")
    with pytest.raises(worlddb.RefusedError, match="Another write changed") as caught, db.batch() as tx:
        tx.attach(API, worlddb.Artifact(name="a", location="/a"))
        db.create_at(API, content="gRPC")
    assert caught.value.details["reason"] == "changed_meanwhile" and db.view().artifacts(API) == []
    with db.batch() as tx:
        tx.attach(API, worlddb.Artifact(name="a", location="/a"))
        tx.create("Note", "by the way", content="said by both")
        db.create("Note", "by the way", content="said by both")
    assert len(db.view().artifacts(API)) == 1


def test_what_a_batch_cannot_foresee_is_refused_with_a_remedy(db: worlddb.Database) -> None:
    db.create_at(API, content="REST")
    with pytest.raises(InputError, match="after retire is not known before the batch has ended"), db.batch() as tx:
        tx.retire(API)
        tx.rename(API, "other")
    with db.batch(idempotency_key="once") as tx, pytest.raises(InputError, match="idempotency key"):
        tx.create_at(API, content="SOAP")
    assert said(db.view().resolve_kref(API)) == "REST"


def test_a_batch_makes_items_inside_a_world_that_it_begins(db: worlddb.Database) -> None:
    with db.batch() as tx:
        tenant = tx.create("Tenant", "A")
        tx.create_at(API, content="in the root")
        tx.create_at(API, content="in A", within=tenant)
        tx.create_at("kref://p/s/first.fact", content="in A", within=tenant)
        tx.create_at("kref://p/s/first.fact", content="found in A")
        ana, tea = (tx.create("Topic", name, world=tenant) for name in ("Ana", "tea"))
        tx.prefer(ana, "prefers", tea, within=tenant)
        tx.prefer(ana, "prefers", tea, within=tenant)
    inside = db.view(world="A")
    assert said(inside.resolve_kref(API)) == "in A" and said(db.view().resolve_kref(API)) == "in the root"
    assert said(inside.resolve_kref("kref://p/s/first.fact")) == "found in A"
    assert [each.name for each in db.view().edge_types() if each.name == "prefers"] == ["prefers"]
    assert [each.relation for each in inside.preferences("Ana")] == ["prefers"]
