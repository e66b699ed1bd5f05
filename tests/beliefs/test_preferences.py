"""Preferences: each statement and outcome is an edge, and confidence is read from them, as of any commit."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import worlddb
from tests.support.faults.traces import find_traces
from worlddb import Database, InputError, Preference, UnknownReference
from worlddb.tools.mcp import catalogue
from worlddb.tools.mcp.session import Call, Session

WEIGHTS = {"acted_upon": 1.0, "succeeded": 2.0, "reversed": -2.0}
OPPOSED = {
    "prefers": ("avoids", "rejected"),
    "optimizes_for": ("avoids", "rejected"),
    "avoids": ("prefers", "optimizes_for"),
    "rejected": ("prefers", "optimizes_for"),
}


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with worlddb.open(tmp_path / "store", embedder=None) as store:
        for name in ("Ana", "Bo"):
            store.create("Entity", name)
        for name in ("tea", "SaaS", "cost"):
            store.create("Topic", name)
        yield store


def only(db: Database, subject: str = "Ana") -> Preference:
    (found,) = db.view().preferences(subject)
    return found


def test_confidence_accumulates_with_repetition_and_outcomes_and_falls_when_reversed(db: Database) -> None:
    seen = []
    for outcome in (None, None, "acted_upon", "succeeded", "reversed"):
        db.prefer("Ana", "prefers", "tea", outcome=outcome, why=f"because {outcome}")
        seen.append(round(only(db).confidence, 3))
    assert seen == [0.5, 0.667, 0.75, 0.833, 0.625]
    found = only(db)
    assert (found.stated, found.inferred, found.name) == (2, False, "tea") and len(found.edges) == 5
    assert found.outcomes == {"acted_upon": 1, "succeeded": 1, "reversed": 1} and found.why == "because reversed"
    assert (found.support, found.against) == (5.0, 2.0) and found.confidence == round(5 / 8, 6)
    assert db.view().preferences("Bo") == [] and db.view().preferences("Ana", relation="avoids") == []


def test_what_was_inferred_is_flagged_until_somebody_states_it(db: Database) -> None:
    rejected = db.prefer("Ana", "rejected", "SaaS").ref
    db.prefer("Ana", "optimizes_for", "cost", inferred=True, based_on=[rejected])
    rejection, derived = db.view().preferences("Ana")
    assert (rejection.relation, derived.relation) == ("rejected", "optimizes_for")
    assert derived.inferred and derived.confidence == round(0.5 / 1.5, 6) and not rejection.inferred
    assert db.view().edge(derived.edges[0]).properties == {"inferred": True, "based_on": [rejected]}
    db.prefer("Ana", "optimizes_for", "cost", confidence=0.25)
    stated = db.view().preferences("Ana", relation="optimizes_for")[0]
    assert (stated.inferred, stated.stated, stated.support) == (False, 1, 0.75)


def test_what_speaks_for_the_opposite_speaks_against_it(db: Database) -> None:
    db.prefer("Ana", "prefers", "SaaS")
    db.prefer("Ana", "rejected", "SaaS")
    db.prefer("Ana", "rejected", "SaaS")
    assert [(each.relation, each.support, each.against) for each in db.view().preferences("Ana")] == [
        ("rejected", 2.0, 1.0),
        ("prefers", 1.0, 2.0),
    ]


def test_it_is_read_as_of_any_commit_and_after_a_rebuild_and_what_is_taken_back_counts_no_more(db: Database) -> None:
    edges = [db.prefer("Ana", "prefers", "tea").ref for _ in range(3)]
    then = db.view()
    db.unlink(edges[0])
    db.retire(edges[1], at=db.view().valid)
    assert only(db).edges == (edges[2],) and only(db).confidence == 0.5
    assert [each.confidence for each in then.preferences("Ana")] == [0.75]
    before = db.view().preferences("Ana")
    db.rebuild()
    assert db.view().preferences("Ana") == before
    assert db.view(seq=then.seq, valid=then.valid).preferences("Ana") == then.preferences("Ana")


def test_what_is_deprecated_or_erased_is_no_preference_that_is_shown(db: Database) -> None:
    db.prefer("Ana", "prefers", "tea", why="Because17", properties={"said": "Verbatim18"})
    db.deprecate("tea")
    assert db.view().preferences("Ana") == [] and only_revealed(db) == ["tea"]
    db.undeprecate("tea")
    db.retire("tea")
    assert only(db).name == "tea"
    db.erase(db.view().reference_of("tea"), reason="request 1")
    assert db.view().preferences("Ana") == [] and find_traces(db.path, ["Because17", "Verbatim18"]) == []


def only_revealed(db: Database) -> list[str]:
    return [each.name for each in db.view().revealing(deprecated=True).preferences("Ana")]


def test_those_who_are_one_have_their_preferences_together(db: Database) -> None:
    other = db.create("Entity", "Ana")
    db.prefer(other, "prefers", "tea")
    first = db.view().find(name="Ana")[0]
    db.prefer(first, "prefers", "tea")
    db.accept(other.proposals[0])
    assert [len(each.edges) for each in db.view(unify=True).preferences(first)] == [2]
    assert [len(each.edges) for each in db.view().preferences(first)] == [1]


def test_a_tenant_has_its_own_relation_and_sees_no_others(db: Database) -> None:
    ours, theirs = (db.create("Topic", name) for name in ("Ours", "Theirs"))
    for world in (ours, theirs):
        mine = db.create("Entity", "Cy", world=world, resolve=False)
        like = db.create("Topic", f"in {world.ref}", world=world)
        db.prefer(mine, "prefers", like, within=world)
    assert [each.name for each in db.view(world=ours).preferences("Cy")] == [f"in {ours.ref}"]
    assert {each.world for each in db.view().edge_types() if each.name == "prefers"} == {ours.ref, theirs.ref}
    tool = next(each for each in catalogue.tools_in_sets("beliefs") if each.name == "memory_preferences")
    with pytest.raises(UnknownReference):
        tool.run(Session(db, ours.ref), tool.takes.parse({"subject": "Ana"}), Call("a client", tool.name))


def test_a_model_notes_preferences_and_asks_for_them(db: Database) -> None:
    desk = Session(db)
    tools = {tool.name: tool for tool in catalogue.tools_in_sets("beliefs")}

    def call(name: str, **given: object) -> Any:
        return tools[name].run(desk, tools[name].takes.parse(given), Call("a client", name))

    call("memory_prefer", subject="Ana", relation="avoids", object="SaaS", why="said so")
    call("memory_prefer", subject="Ana", relation="avoids", object="SaaS", outcome="succeeded")
    call("memory_prefer", subject="Ana", relation="optimizes_for", object="cost", inferred=True)
    answer = call("memory_preferences", subject="Ana", limit=1)
    (first,) = answer.preferences
    assert (first.name, first.relation, first.confidence, answer.more) == ("SaaS", "avoids", 0.75, 1)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"relation": "likes"}, "The preference is 'likes'"),
        ({"outcome": "failed"}, "The outcome is 'failed'"),
        ({"confidence": 1.5}, "confidence is 1.5"),
        ({"outcome": "succeeded", "inferred": True}, "An outcome was given"),
        ({"based_on": ["ab" * 16]}, "not inferred"),
        ({"inferred": True, "properties": {"inferred": False}}, "'inferred'"),
    ],
)
def test_a_wrong_preference_is_refused(db: Database, given: dict[str, object], told: str) -> None:
    asked: dict[str, object] = {"relation": "prefers"} | given
    with pytest.raises(InputError, match=told) as caught:
        db.prefer("Ana", asked.pop("relation"), "tea", **asked)  # type: ignore[arg-type]
    assert caught.value.remedy and db.view().preferences("Ana") == []
    with pytest.raises(InputError, match="The preference is"):
        db.view().preferences("Ana", relation="likes")


@pytest.mark.parametrize("seeds", [range(2), pytest.param(range(2, 400), marks=pytest.mark.soak)])
def test_random_histories_come_to_the_same_as_a_plain_sum(db: Database, seeds: range) -> None:
    for seed in seeds:
        draw = random.Random(seed)
        told: list[tuple[str, str, float, float]] = []
        moments = []
        subject = db.create("Entity", f"somebody {seed}")
        for _ in range(12):
            relation, thing = draw.choice(list(OPPOSED)), draw.choice(("tea", "SaaS", "cost"))
            outcome = draw.choice((None, None, *WEIGHTS))
            inferred = outcome is None and draw.random() < 0.3
            db.prefer(subject, relation, thing, outcome=outcome, inferred=inferred)
            weight = 0.5 if inferred else 1.0 if outcome is None else WEIGHTS[outcome]
            told.append((relation, thing, max(weight, 0), max(-weight, 0)))
            moments.append((db.view(), list(told)))
        for view, said in moments:
            found = {(each.relation, each.name): each.confidence for each in view.preferences(subject)}
            assert found == {(relation, thing): _confidence(said, relation, thing) for relation, thing, _, _ in said}


def _confidence(said: list[tuple[str, str, float, float]], relation: str, thing: str) -> float:
    support = sum(plus for kind, what, plus, _ in said if (kind, what) == (relation, thing))
    against = sum(minus for kind, what, _, minus in said if (kind, what) == (relation, thing))
    against += sum(plus for kind, what, plus, _ in said if kind in OPPOSED[relation] and what == thing)
    return round(support / (support + against + 1), 6)


def test_nobody_is_told_what_somebody_who_was_erased_preferred(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        ana, bob = db.create("User", "ana").ref, db.create("User", "bob").ref
        db.prefer(ana, "avoids", bob)
        db.prefer(bob, "prefers", ana)
        assert [len(db.view().preferences(each)) for each in (ana, bob)] == [1, 1]
        db.forget_user("ana", reason="request 17")
        assert [db.view().preferences(each) for each in (ana, bob)] == [[], []]
