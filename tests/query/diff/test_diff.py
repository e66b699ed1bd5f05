"""``worlddb.diff``: exactly what differs, and who did it; and what receipts say of slips."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import worlddb


@pytest.fixture
def store(tmp_path: Path) -> Path:
    folder = tmp_path / "store"
    with worlddb.open(folder) as db:
        shelf = db.create("Topic", "Shelf")
        for title in ("Emma", "Middlemarch"):
            db.create("Book", title, content="unread", world=shelf)
    return folder


def test_a_copy_differs_in_nothing(store: Path, tmp_path: Path) -> None:
    shutil.copytree(store, tmp_path / "copy")
    found = worlddb.diff(store, tmp_path / "copy")
    assert (found.equal, found.related, found.worlds) == (True, True, ())


def test_one_changed_world_is_named_with_the_worlds_around_it_and_the_commit_that_did_it(
    store: Path, tmp_path: Path
) -> None:
    shutil.copytree(store, tmp_path / "copy")
    with worlddb.open(tmp_path / "copy", author="ann") as db:
        (emma,) = db.view().find(name="Emma")
        db.revise(emma, content="read", why="finished it")
    found = worlddb.diff(store, tmp_path / "copy")
    assert [(change.change, change.path) for change in found.worlds] == [
        ("members", "root"),
        ("members", "root/Shelf"),
        ("revised", "root/Shelf/Emma"),
    ]
    for change in found.worlds:
        assert {(event["side"], event["seq"], event["author"]) for event in change.events} == {("b", 5, "ann")}


def test_a_world_shows_its_members_its_edges_and_its_text_when_all_three_differ(store: Path, tmp_path: Path) -> None:
    shutil.copytree(store, tmp_path / "copy")
    with worlddb.open(tmp_path / "copy") as db:
        view = db.view()
        ((shelf,), (emma,), (march,)) = (view.find(name=name) for name in ("Shelf", "Emma", "Middlemarch"))
        db.link(emma, "refers_to", march)
        db.create("Book", "Persuasion", world=shelf)
        db.revise(shelf, content="novels")
    found = worlddb.diff(store, tmp_path / "copy")
    (changed,) = (change for change in found.worlds if change.path == "root/Shelf")
    assert {(detail.kind, detail.field) for detail in changed.changes} == {
        ("revised", "content"),
        ("revised", "valid"),
        ("members", "member"),
        ("edges", "edge"),
    }
    (edge,) = (detail for detail in changed.changes if detail.field == "edge")
    assert not edge.a and edge.b.startswith("Emma refers_to Middlemarch from ")


def test_a_world_that_was_revised_and_moved_shows_both(store: Path, tmp_path: Path) -> None:
    shutil.copytree(store, tmp_path / "copy")
    with worlddb.open(tmp_path / "copy") as db:
        (emma,) = db.view().find(name="Emma")
        db.move(emma, to=db.create("Topic", "Box"))
        db.revise(emma, content="read")
    for pair, moved in (((store, tmp_path / "copy"), ("Shelf", "Box")), ((tmp_path / "copy", store), ("Box", "Shelf"))):
        (changed,) = (change for change in worlddb.diff(*pair).worlds if change.names[-1] == "Emma")
        assert ("container", *moved) in {(detail.field, detail.a, detail.b) for detail in changed.changes}
        assert {detail.kind for detail in changed.changes} >= {"moved", "revised"}


def test_stores_with_nothing_in_common_are_told_apart_by_both_their_roots(store: Path, tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "other") as db:
        db.create("Book", "Persuasion")
        root = db.head().root
    found = worlddb.diff(store, tmp_path / "other")
    assert (found.equal, found.related, found.parted, found.root_b) == (False, False, 0, root)
    assert [(change.change, bool(change.a), bool(change.b)) for change in found.worlds] == [
        ("removed", True, False),
        ("added", False, True),
    ]


def test_a_world_that_only_one_side_has_can_be_asked_for(store: Path, tmp_path: Path) -> None:
    shutil.copytree(store, tmp_path / "copy")
    with worlddb.open(tmp_path / "copy") as db:
        made = db.create("Book", "Persuasion")
    for pair in ((store, tmp_path / "copy", "added"), (tmp_path / "copy", store, "removed")):
        found = worlddb.diff(pair[0], pair[1], world=made)
        assert [change.change for change in found.worlds] == [pair[2]]


def test_what_ends_at_or_before_its_beginning_is_said_to_be_valid_at_no_time(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        fact = db.create("Fact", "a slip of the year", valid_from="2025-04-02")
        receipt = db.retire(fact, at="2020-01-01")
        assert [note.code for note in receipt.notes] == ["never_valid"]
        assert "valid at no time" in str(receipt.notes[0])
        assert db.view(valid="2025-05-01").get(fact) is None


def test_a_batch_has_no_receipt_before_it_has_ended(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        batch = db.batch()
        with pytest.raises(worlddb.InputError, match="not been committed"):
            _ = batch.receipt
