"""Recall that widens: a near scope is asked first, a wider one while the answer is weak, and hits say their scope."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import worlddb
from worlddb import Database, InputError, Streams


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


@pytest.fixture(scope="module")
def household(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """Pavel and Nora share an agent; each memory of Nora's has the word zebrafish."""
    with worlddb.open(tmp_path_factory.mktemp("household") / "store", embedder=None) as db:
        agent = db.create("Agent", "home").ref
        for user, sign in (("pavel", ""), ("nora", " zebrafish")):
            scope = db.create("Scope", f"user:{user}").ref

            def told(text: str, user: str = user, sign: str = sign, scope: str = scope, **given: Any) -> str:
                ref: str = db.create("Fact", "", content=f"{user.title()} {text}{sign}.", world=scope, **given).ref
                db.link(agent, "contains", ref, valid_from=given.get("valid_from"))
                return ref

            told("will work at the mint from March 2061 on", valid_from="2061-03-01")
            told("has lived in Ulm", valid_from="2019-01-01", valid_to="2021-01-01")
            works, plays = told("works at the zoo"), told("plays chess")
            db.link(works, "refers_to", plays)
            db.link(told("does not work at the zoo"), "contradicts", works)
            summary = db.create("Summary", f"Of {user}", content=f"A worker at the zoo{sign}.", world=agent).ref
            db.link(summary, "derived_from", works)
        db.create("Fact", "", content="The zoo opens at nine.", world=agent)
        yield db


QUESTIONS = (
    *("where will Nora work?", "any plans?", "what will happen in March 2061?", "where did Nora use to live?"),
    *("who works at the zoo?", "who lived in Ulm in 2020?", "Nora zebrafish", "what is known of the zoo?"),
)


@pytest.mark.parametrize("question", QUESTIONS)
def test_scopes_of_a_user_and_of_an_agent_show_nothing_of_the_agents_other_users(
    household: Database, question: str
) -> None:
    now = household.view()
    scopes = [now.reference_of("user:pavel"), now.reference_of("home")]
    paths: dict[str, Any] = {"streams": Streams(paths=5, describe=True)}
    for valid, how in (
        (None, {}),
        (None, {"k": 1}),
        (None, paths),
        ("2020-06-01", {"neighbours": 5}),
        ("2061-06-01", {}),
    ):
        view = household.view(valid=valid)
        found = view.recall(question, scopes=scopes, **how)
        assert not [hit.content for hit in found if "zebrafish" in hit.content]
        assert "zebrafish" not in found.note and not any("zebrafish" in str(each) for each in found.competing)
        theirs = {each.ref for each in view.find(include_superseded=True) if "zebrafish" in each.content}
        assert theirs.isdisjoint(node for path in found.paths for node in path.nodes)
        assert theirs.isdisjoint(ref for hit in found for ref in hit.conflicts)
    assert any("zebrafish" in hit.content for hit in now.recall("who works at the zoo?", world=scopes[1]))
    assert "The zoo opens at nine." in [hit.content for hit in now.recall("when does the zoo open?", scopes=scopes)]


def test_a_view_for_users_shows_nothing_of_others_by_any_way_to_it(household: Database) -> None:
    whole = household.view()
    theirs = [each for each in whole.find(include_superseded=True) if "zebrafish" in each.content]
    own = whole._for_users(["pavel"])
    agent = own.reference_of("home")
    assert len(theirs) == 6
    for each in theirs:
        with pytest.raises(worlddb.UnknownReference):
            own.get(each.ref, include_superseded=True)
    with pytest.raises(worlddb.UnknownReference):
        own.reference_of("user:nora")
    for view in (own, own.confined(agent)):
        shown = {each.ref for each in view.find(include_superseded=True)} | {each.ref for each in view.children(agent)}
        shown |= {ref for entry in view.log() for ref in entry.refs}
        shown |= {
            end
            for ref in shown & {each.ref for each in own.find()}
            for edge in view.edges(ref)
            for end in (edge.source, edge.target)
        }
        assert shown.isdisjoint(each.ref for each in theirs)
        assert any(each.content == "Pavel plays chess." for each in view.find())


def test_what_outlives_the_erased_name_of_a_users_world_is_not_everybodys(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        agent, pavel, nora = (db.create("Scope", name).ref for name in ("agent:home", "user:pavel", "user:nora"))
        bank = db.create("Fact", "", content="The bank is zebrafish.", world=nora).ref
        db.link(agent, "contains", bank)
        for erases in (lambda: None, lambda: db.erase(nora, reason="17", members=False)):
            erases()
            view = db.view()
            assert [hit.ref for hit in view.recall("bank", world=agent)] == [bank]
            assert view.recall("bank", scopes=[pavel, agent]).hits == ()
