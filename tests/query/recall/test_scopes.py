"""Recall that widens: a near scope is asked first, a wider one while the answer is weak, and hits say their scope."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import worlddb
from worlddb import Database, InputError


class Talks:
    """Two conversations of one tenant, and a note that lies in neither."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.tenant = db.create("Tenant", "acme").ref
        self.near = db.create("Conversation", "the boat", world=self.tenant).ref
        self.far = db.create("Conversation", "the garden", world=self.tenant).ref
        said = {
            self.near: ("The boat has a red hull.", "Its mast is of oak.", "We sail on Sundays."),
            self.far: ("The tomatoes need water.", "Tomatoes grow behind the shed.", "The rose is yellow."),
        }
        for world, texts in said.items():
            for text in texts:
                db.create("Note", "", content=text, world=world)
        self.stray = db.create("Note", "", content="The tax number of the tomatoes' seller is 4711.").ref
        db.embed()  # Only of what is compared by meaning is it known that an answer is weak.


@pytest.fixture(scope="module")
def talks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Talks]:
    with worlddb.open(tmp_path_factory.mktemp("scopes") / "store") as db:
        yield Talks(db)


def test_a_good_answer_of_the_nearest_scope_is_the_answer(talks: Talks) -> None:
    view = talks.db.view()
    found = view.recall("what colour is the hull of the boat?", scopes=[talks.near, talks.tenant])
    alone = view.recall("what colour is the hull of the boat?", world=talks.near)
    assert [hit.ref for hit in found] == [hit.ref for hit in alone]
    assert {hit.scope for hit in found} == {talks.near}
    assert {hit.scope for hit in alone} == {""}
    assert found.note == alone.note


def test_a_weak_answer_is_widened_and_each_hit_is_of_its_nearest_scope(talks: Talks) -> None:
    found = talks.db.view().recall("do the tomatoes need water?", scopes=[talks.near, talks.tenant])
    scopes = {hit.content: hit.scope for hit in found}
    assert found.hits[0].content == "The tomatoes need water."
    assert scopes["The tomatoes need water."] == talks.tenant
    assert scopes["We sail on Sundays."] == talks.near
    assert talks.stray not in {hit.ref for hit in found}
    assert found.note.startswith("2 of 2 scopes were searched")
    assert not found.weak


def test_no_more_scopes_are_asked_than_it_takes(talks: Talks) -> None:
    asked = [talks.near, talks.far, talks.tenant]
    found = talks.db.view().recall("do the tomatoes need water?", scopes=asked, k=4)
    assert found.note.startswith("2 of 3 scopes were searched")
    assert found.hits[0].scope == talks.far
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)
    assert len(found) == 4


def test_a_scope_without_a_hit_widens_too(talks: Talks) -> None:
    empty = talks.db.create("Conversation", "nothing yet").ref
    found = talks.db.view().recall("the hull of the boat", scopes=[empty, talks.near])
    assert {hit.scope for hit in found} == {talks.near}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"scopes": []}, "0 scopes were given"),
        ({"scopes": ["acme"] * 17}, "17 scopes were given"),
        ({"scopes": "acme"}, "scopes is str, not a list"),
        ({"scopes": ["acme"], "world": "acme"}, "Both world and scopes"),
        ({"scopes": ["acme"], "receipt": True}, "cover several scopes"),
        ({"scopes": ["nobody"]}, "nobody"),
    ],
)
def test_an_impossible_query_is_refused(talks: Talks, options: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        talks.db.view().recall("boat", **options)  # type: ignore[arg-type]
