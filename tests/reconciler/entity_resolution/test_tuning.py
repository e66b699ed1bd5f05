"""Thresholds hold inside their world, the nearest win, and the log says from when."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import worlddb
from tests.support.model.ontology import steps_up
from worlddb import InputError, RefusedError, Thresholds

STRICT, LOOSE = Thresholds(fuzzy=0.99, phonetic=1.0), Thresholds(fuzzy=0.8)
PAIR = ("Marhta", "Martha")
"""Similar at the thresholds by default, and not at strict ones."""
SURNAMES = ("Johnson", "Vaughan", "Dorothy", "Jackson", "Mercury", "Quimby")


def proposed(db: worlddb.Database, world: Any, type: str = "Person") -> dict[str, Any] | None:
    """The evidence of the proposal for two new, similar names in a world; or nothing."""
    surname = next(each for each in SURNAMES if not db.view().find(name=f"{PAIR[0]} {each}"))
    for given_name in PAIR:
        receipt = db.create(type, f"{given_name} {surname}", world=world, resolve="all")
    found = [each for each in db.proposals() if each.ref in receipt.proposals]
    return found[0].evidence if found else None


def test_what_is_set_for_a_world_holds_inside_it_and_is_in_the_evidence(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        team = db.create("Team", "team").ref
        inner = db.create("Team", "inner", world=team).ref
        assert db.tune(STRICT, world=team, why="two sisters").ref == team
        assert proposed(db, team) is None
        assert proposed(db, inner) is None
        evidence = proposed(db, None)
        assert evidence is not None and "tuned" not in evidence
        db.tune(LOOSE, world=inner)
        evidence = proposed(db, inner)
        assert evidence is not None
        assert (evidence["tuned"], evidence["thresholds"]["fuzzy"]) == (inner, 0.8)
        assert proposed(db, team) is None


def test_in_one_world_the_type_wins_and_of_two_worlds_the_nearer_one(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        team = db.create("Team", "team").ref
        db.tune(STRICT, type="Person")
        db.tune(LOOSE)
        assert proposed(db, team) is None
        assert proposed(db, team, "Place") is not None
        db.tune(LOOSE, world=team)
        assert proposed(db, team) is not None


def test_thresholds_of_the_open_store_hold_where_none_are_set(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", resolver=STRICT) as db:
        team = db.create("Team", "team").ref
        assert proposed(db, team) is None
        db.tune(LOOSE, world=team)
        assert proposed(db, team) is not None
        db.untune(world=team)
        assert proposed(db, team) is None


def test_setting_the_same_again_is_no_event_and_taking_back_what_is_not_set_is_refused(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        first = db.tune(Thresholds(fuzzy=1))
        assert db.tune(Thresholds(fuzzy=1.0)).events == 0
        assert db.tune(STRICT).seq > first.seq
        refused = db.untune(type="Person")
        assert isinstance(refused.outcome, worlddb.Refused) and refused.outcome.code == "not_tuned"
        db.untune().raise_if_refused()
        with pytest.raises(RefusedError):
            db.untune().raise_if_refused()


@pytest.mark.parametrize("wrong", [0.9, None, {"fuzzy": 0.9}, Thresholds(most=2**32)])
def test_invalid_thresholds_are_refused(tmp_path: Path, wrong: Any) -> None:
    with worlddb.open(tmp_path / "store") as db:
        with pytest.raises(InputError):
            db.tune(wrong)
        assert db.view().tunings(include_ended=True) == []


def test_views_tell_what_was_set_where_and_when(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        team = db.create("Team", "team").ref
        inner = db.create("Team", "inner", world=team).ref
        one = db.tune(STRICT, type="Person", why="for all").seq
        two = db.tune(LOOSE, world=team).seq
        three = db.tune(STRICT, world=team).seq

        def told(view: worlddb.View, world: Any = None, **asked: Any) -> list[tuple[str, str, float, int, int]]:
            return [(each.world, each.type, each.fuzzy, each.seq, each.ended) for each in view.tunings(world, **asked)]

        root = db.view().tunings()[0].world
        now = [(root, "Person", 0.99, one, 0), (team, "", 0.99, three, 0)]
        assert told(db.view()) == now
        assert told(db.view(), inner) == now[1:]
        assert told(db.view(), include_ended=True) == [now[0], (team, "", 0.8, two, three), now[1]]
        assert told(db.view(seq=two)) == [now[0], (team, "", 0.8, two, 0)]
        assert db.view().tunings()[0].why == "for all"
        with pytest.raises(InputError):
            db.view().tunings(team, include_ended=True)
        assert db.verify(deep=True).ok


def test_a_confined_view_has_what_holds_in_its_world_and_nothing_of_others(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        mine, other = (db.create("Team", name).ref for name in ("mine", "other"))
        shared = db.create("Team", "shared", world=mine).ref
        db.link(other, "contains", shared)
        db.tune(LOOSE, why="for everybody")
        db.tune(STRICT, world=other, type="Place", why="a secret")
        view = db.view(world=mine)
        assert [(each.world, each.type, each.fuzzy, each.why) for each in view.tunings()] == [(mine, "", 0.8, "")]
        assert view.tunings(shared) == view.tunings()
        assert not any(entry.event == "tuned" for entry in view.log())
        # Of two worlds around the candidate, the other one is nearer to what is proposed in the shared world.
        near = Thresholds(fuzzy=0.7)
        db.tune(near, world=other)
        found = proposed(db, shared)
        assert found is not None and (found["tuned"], found["thresholds"]["fuzzy"]) == (other, 0.7)
        (inside,) = db.view(world=mine).proposals()
        assert not {"tuned", "thresholds"} & inside.evidence.keys()
        (beside,) = db.view(world=other).proposals()
        assert beside.evidence | {"looked_at": found["looked_at"]} == found and "looked_at" not in beside.evidence
        (deepest,) = db.view(world=shared).proposals()
        assert "tuned" not in deepest.evidence and deepest.evidence["thresholds"]["fuzzy"] == 0.7


def test_json_lines_of_a_world_do_not_say_what_was_set_for_a_world_around_it(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        team = db.create("Team", "team").ref
        inner = db.create("Team", "inner", world=team).ref
        db.tune(LOOSE, world=team)
        assert proposed(db, inner) is not None

        def evidence(world: str) -> dict[str, Any]:
            (found,) = (each["evidence"] for each in db.export_lines(world) if each["kind"] == "proposal")
            return dict(found)

        assert evidence(team)["tuned"] == team
        assert not {"tuned", "thresholds"} & evidence(inner).keys()


def test_another_look_goes_by_the_thresholds_of_the_world(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        teams = [db.create("Team", name).ref for name in ("lax", "strict")]
        db.tune(STRICT, world=teams[1])
        for team in teams:
            for name in PAIR:
                db.create("Person", name, world=team, resolve=False)
        (only,) = db.recluster().proposals
        (proposal,) = db.proposals()
        assert proposal.ref == only and db.view(world=teams[0]).proposals()


def test_replay_rebuild_and_deciding_again_come_to_the_same(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        team = db.create("Team", "team").ref
        with db.batch() as tx:
            inner = tx.create("Team", "inner", world=team)
            tx.tune(LOOSE, world=inner, type="Person")
            tx.tune(STRICT)
            tx.untune()
        proposed(db, tx.receipt.refs[0])
        db.tune(LOOSE, world=team)
        db.erase(team, reason="ticket 7", members=False)
        assert db.verify(deep=True).ok
        assert db.redecide().differing == ()
        assert len(db.redecide(resolver=Thresholds(fuzzy=1.0, phonetic=1.0)).differing) == 1
        told = db.view().tunings(include_ended=True)
        assert [each.why for each in told] == [""] * 3
        made = db.replay(tmp_path / "again")
        assert made.seq == db.head().seq
        db.rebuild()
        assert db.view().tunings(include_ended=True) == told
    with worlddb.open(tmp_path / "again") as again:
        assert again.view().tunings(include_ended=True) == told


def test_a_key_makes_it_happen_once(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        first = db.tune(STRICT, idempotency_key="k")
        db.tune(LOOSE)
        assert db.tune(STRICT, idempotency_key="k").seq == first.seq
        assert db.view().tunings()[0].fuzzy == LOOSE.fuzzy
        with pytest.raises(worlddb.IdempotencyConflict):
            db.tune(LOOSE, idempotency_key="k")


TYPES = ("", "Person", "Place")
WORLDS = 5


@given(
    inside=st.lists(st.tuples(st.integers(1, WORLDS), st.integers(0, WORLDS)), max_size=8),
    steps=st.lists(st.tuples(st.integers(0, WORLDS), st.sampled_from(TYPES), st.booleans()), max_size=8),
)
def test_what_holds_in_a_world_is_what_brute_force_finds(
    inside: list[tuple[int, int]], steps: list[tuple[int, str, bool]]
) -> None:
    with TemporaryDirectory() as folder, worlddb.open(Path(folder) / "store") as db:
        refs = [db.create("Team", str(number)).ref for number in range(1, WORLDS + 1)]
        refs.insert(0, db.view().containers(refs[0])[0])
        containers = {world: {0} for world in range(1, WORLDS + 1)}
        for member, container in inside:
            if container not in containers[member] and db.link(refs[container], "contains", refs[member]):
                containers[member].add(container)
        known: dict[tuple[int, str], tuple[int, float]] = {}
        for number, (world, type_name, back) in enumerate(steps):
            if back:
                db.untune(world=refs[world], type=type_name)
                known.pop((world, type_name), None)
            else:
                fuzzy = round(0.5 + number / 100, 2)
                known[world, type_name] = db.tune(Thresholds(fuzzy=fuzzy), world=refs[world], type=type_name).seq, fuzzy
        for home in range(WORLDS + 1):
            steps_to = steps_up(containers, home)
            expected = set()
            for type_name in TYPES:
                ranked = sorted(
                    (steps_to[world], name == "", seq, world, fuzzy)
                    for (world, name), (seq, fuzzy) in known.items()
                    if world in steps_to and name in ("", type_name)
                )
                if ranked:
                    expected.add((ranked[0][2], ranked[0][4]))
            assert {(each.seq, each.fuzzy) for each in db.view().tunings(refs[home])} == expected
