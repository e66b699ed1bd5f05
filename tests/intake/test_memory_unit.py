"""A memory in one call, the edges that are found from it, and what an extractor finds in documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import worlddb
from worlddb import Artifact, Database, Extraction, Node, Relation, Turn
from worlddb.tools.importers import ingest_files

COLOUR = "kref://CognitiveMemory/user/favorite-color.fact"
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with worlddb.open(tmp_path / "store", author="agent", embedder=None) as opened:
        yield opened


def test_one_call_buffers_recalls_and_writes_all_of_a_memory_as_one_commit(db: Database) -> None:
    source = db.create("Note", "talk", content="We talked about colours and paint on Monday.").ref
    bundle = db.create("Topic", "Paint").ref
    before = db.head().seq
    done = db.ingest_memory(
        COLOUR,
        "The favourite colour of Ana is blue.",
        message="my favourite colour is blue, as we talked",
        session="s",
        user="ana",
        derived_from=[source],
        bundles=[bundle],
        artifacts=[Artifact(name="chat", location="file:///chat.txt")],
        tags=["current-belief"],
        properties={"topics": ["colour"]},
    )
    assert db.head().seq == before + 1 and done.receipt is not None and done.receipt.seq == before + 1
    assert (done.is_new, done.messages, [hit.ref for hit in done.relevant]) == (True, 1, [source])
    view = db.view()
    item = view.resolve_kref(COLOUR)
    assert isinstance(item, worlddb.World)
    assert (item.ref, item.content) == (done.ref, "The favourite colour of Ana is blue.")
    assert [each.name for each in view.artifacts(done.ref)] == ["chat"]
    assert {(edge.type, edge.target) for edge in view.edges(done.ref, direction="out")} == {("derived_from", source)}
    assert bundle in view.containers(done.ref) and view.get(done.ref, tag="current-belief") is not None
    assert item.properties["topics"] == ["colour"]
    assert db.working.get(session="s", user="ana")[0].content.startswith("my favourite")


def test_the_same_again_writes_nothing_and_another_text_is_a_version_of_the_named_item(db: Database) -> None:
    source = db.create("Note", "talk", content="colours").ref
    given: dict[str, Any] = {"derived_from": [source], "tags": ["latest"], "k": 0}
    first = db.ingest_memory(COLOUR, "blue", **given)
    again = db.ingest_memory(COLOUR, "blue", **given)
    assert again.receipt is not None and (again.receipt.events, again.ref, again.is_new) == (0, first.ref, False)
    for at in (COLOUR, first.ref):
        later = db.ingest_memory(at, f"black, as {at[:4]} says", valid_from=None, **given)
        assert (later.ref, later.is_new) == (first.ref, False)
    assert [each.content[:5] for each in db.view().history(first.ref)] == ["blue", "black", "black"]
    tagged = db.view().get(first.ref, tag="latest")
    assert tagged is not None and tagged.number == 3
    assert len(db.view().edges(first.ref, type="derived_from")) == 1


def test_who_a_new_item_may_already_be_is_proposed_and_never_guessed(db: Database) -> None:
    known = db.ingest_memory("kref://p/people/Maria Schneider.Entity", "").ref
    done = db.ingest_memory("kref://p/team/Maria Schneider.Entity", "")
    assert done.is_new and done.ref != known
    assert [(each.source, each.target) for each in done.verdicts] == [(done.ref, known)] and done.verdicts[0].evidence
    with pytest.raises(worlddb.UnknownReference):
        db.ingest_memory("nobody at all", "x")
    kept = db.ingest_memory("kref://p/s/one.fact", "Ana lives in Porto.").ref
    near = db.ingest_memory("kref://p/s/two.fact", "Ana lives in Lisbon.").near
    assert [(each.ref, each.relation) for each in near] == [(kept, "replacement")]
    assert db.view().get(kept) is not None


def test_nothing_is_written_of_a_memory_with_a_credential_and_personal_data_is_taken_out_before(db: Database) -> None:
    head = db.head()
    with pytest.raises(worlddb.RefusedError):
        db.ingest_memory(COLOUR, f"the key is {TOKEN}", message="a message", session="s")
    with pytest.raises(worlddb.RefusedError):
        db.ingest_memory(COLOUR, "fine", message=f"the key is {TOKEN}", session="s")
    assert db.head() == head
    db.guard(personal="enforce")
    done = db.ingest_memory(COLOUR, "write to ana@example.org", message="ana@example.org", session="s")
    found = db.view().get(done.ref)
    assert found is not None and found.content == "write to [email]"
    assert [each.content for each in db.working.get(session="s")] == ["a message", "[email]"]


def test_without_an_item_it_only_buffers_and_recalls(db: Database) -> None:
    db.create("Note", "", content="The deploy is at noon.")
    head = db.head()
    done = db.ingest_memory(message="when is the deploy?", session="s")
    assert [hit.content for hit in done.relevant] == ["The deploy is at noon."]
    assert (db.head(), done.ref, done.receipt, done.messages) == (head, "", None, 1)


def test_two_tenants_may_use_one_kref_and_nothing_of_the_other_is_told(db: Database) -> None:
    one, other = db.create("Topic", "one").ref, db.create("Topic", "other").ref
    first = db.ingest_memory(COLOUR, "The colour is blue.", within=one)
    second = db.ingest_memory(COLOUR, "The colour is black.", within=other)
    assert first.ref != second.ref and second.is_new and not (second.relevant or second.near or second.verdicts)


def test_edges_are_found_from_a_new_memory_and_written_once_if_asked(db: Database) -> None:
    ana = db.create("Entity", "Ana").ref
    old = db.create("Fact", "", content="Ana lives in Porto.").ref
    new = db.create("Fact", "", content="Yesterday Ana said so. Ana lives in Lisbon.").ref
    db.create("Fact", "", content="The moon is far away from here.")
    found = db.discover_edges(new)
    assert ("refers_to", ana) in {(each.type, each.target) for each in found}
    assert all(each.reason and not each.edge for each in found)
    asked: list[str] = []

    def questions(world: worlddb.World) -> list[str]:
        asked.append(world.ref)
        return ["Where does Ana live?"]

    written = db.discover_edges(new, questions=questions, min_confidence=0.0, link=True)
    assert asked == [new] and {each.target for each in written} >= {ana, old}
    assert all(db.view().edge(each.edge).source == new for each in written)
    head = db.head()
    assert db.discover_edges(new, questions=questions, min_confidence=0.0, link=True) == []
    (edge,) = (each for each in written if each.target == old)
    db.unlink(edge.edge)
    assert old not in {each.target for each in db.discover_edges(new, questions=questions, min_confidence=0.0)}
    assert db.head().seq == head.seq + 1
    inside = db.create("Topic", "inside").ref
    alone = db.create("Fact", "", content="Ana lives in Lisbon, she says.", world=inside).ref
    assert db.discover_edges(alone, within=inside, min_confidence=0.0) == []


def test_an_extractor_reads_a_document_and_the_same_again_writes_nothing(db: Database, tmp_path: Path) -> None:
    file = tmp_path / "report.md"
    said = ["Maria Schneider leads the team in Porto.", "In 2024 Maria Schneider left."]
    file.write_text(f"# Report\n\n{said[0]}\n\n## Past\n\n{said[1]}\n")
    ingest_files(db, file)
    (document,) = db.view().find(type="Document")
    receipt = db.extract(document)
    (maria,) = db.view().find(name="Maria Schneider")
    mentions = db.view().edges(maria.ref, type="refers_to", direction="in")
    assert len({edge.source for edge in mentions}) == 2 and receipt.events
    assert document.ref in db.view().containers(maria.ref)
    assert db.extract(document).events == 0
    calls: list[list[str]] = []

    def extractor(turns: Sequence[Turn]) -> Extraction:
        calls.append([turn.text for turn in turns])
        return Extraction(
            nodes=[Node(label="f", type="Fact", name="", content=f"{len(turns)} paragraphs", key="f")],
            edges=[Relation(source="f", type="derived_from", target=at, key="d") for at in range(len(turns))],
        )

    note = db.create("Note", "n", content="First of all.\n\nThen more.").ref
    db.extract(note, extractor)
    assert calls == [["First of all.", "Then more."]]
    assert [edge.target for edge in db.view().edges(db.view().find(type="Fact")[0].ref, type="derived_from")] == [note]
    ingest_files(db, file, extractor=extractor)
    assert calls[1] == said
    assert db.verify(deep=True).ok
    with pytest.raises(worlddb.InputError):
        db.extract(note, lambda turns: "nothing")  # type: ignore[arg-type]


def test_edges_are_discovered_in_the_world_of_the_user_alone(tmp_path: Path) -> None:
    """A memory of one user was joined to what another one had said: by names, as contradicting it, and as the same."""
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        users = {name: worlddb.memory(db, user=name) for name in ("ana", "bob")}
        for name, town in (("ana", "Lisbon"), ("bob", "Porto")):
            users[name].add(f"Ana lives in {town}.", about="Ana")
            users[name].add("Home is by the river.", about="Home")
        mine = users["ana"].add("Home is by the river. Ana lives in Faro.", name="note").id
        nobodys = db.create("Fact", content="Ana lives in Beja.", name="beja").ref
        inside = {world.ref for world in db.view(world="user:ana").find()}
        found = db.discover_edges(mine, min_confidence=0.0, link=True)
        assert found and {each.target for each in found} <= inside
        assert not db.discover_edges(nobodys, min_confidence=0.0, link=True)
        again = users["ana"].db.create(
            "Fact", content="Home is by the river.", name="", world="user:ana", resolve=False
        )
        same = db.discover_edges(again, link=True)
        assert "same_as" in {each.type for each in same}, "it was an error, for the key that such an edge cannot have"
        assert {each.target for each in same} <= inside
        with pytest.raises(worlddb.InputError):
            db.discover_edges("Home", link=True)
