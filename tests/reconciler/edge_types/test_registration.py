"""Registers edge types: what is written, who may use them, and what the past knows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import worlddb
from tests.support.model.ontology import Showing, Tagged, Widening
from worlddb import AcyclicHandler, HandledEdge, HandlerContext, Insert, ManualClock, PlainHandler


class Employs(PlainHandler):
    """Organisations employ persons."""

    name = "employs"

    def on_insert(self, ctx: HandlerContext, edge: HandledEdge) -> Insert:
        target = ctx.text(edge.target)
        if target is None or target.type != "Person":
            ctx.refuse("not_a_person", f"{ctx.shown(edge.target)} is no person")
        return super().on_insert(ctx, edge)


def changed(version: int = 1) -> PlainHandler:
    """Another handler under the same name."""

    class EmploysOtherwise(PlainHandler):
        name = "employs"

    EmploysOtherwise.version = version
    return EmploysOtherwise()


class ReportsTo(AcyclicHandler):
    name = "reports_to"


def people(db: worlddb.Database) -> tuple[str, str]:
    return db.create("Firm", "Acme").ref, db.create("Person", "Ann").ref


def version_of(db: worlddb.Database, edge: str) -> int:
    """The version of the handler that decided about an edge, as its event has it."""
    [entry] = [entry for entry in db.log() if entry.event == "linked" and entry.data["edge"] == edge]
    version: int = entry.data["handler_version"]
    return version


def refusal(receipt: Any) -> str:
    assert isinstance(receipt.outcome, worlddb.Refused), receipt
    return receipt.outcome.code


def names(view: worlddb.View, world: Any = None) -> list[str]:
    return [one.name for one in view.edge_types(world) if one.digest]


def test_a_registered_type_is_written_by_its_handler_and_the_edge_names_its_version(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", edge_types=[Employs()]) as db:
        acme, ann = people(db)
        with pytest.raises(worlddb.UnknownEdgeType, match="No handler is registered for the edge type 'employs'"):
            db.link(acme, "employs", ann)
        receipt = db.register(Employs(), why="the staff list")
        assert receipt.ref == next(db.log(1, 1)).data["root"] and receipt.events == 1
        edge = db.link(acme, "employs", ann)
        assert refusal(db.link(acme, "employs", acme)) == "not_a_person"
        assert version_of(db, edge.ref) == 1
        [known] = [one for one in db.view().edge_types() if one.name == "employs"]
        assert (known.version, known.world, known.seq, known.why) == (1, receipt.ref, receipt.seq, "the staff list")
        assert known.available and not known.functional and known.digest_of == "source" and len(known.digest) == 64
        [entry] = [entry for entry in db.log() if entry.event == "registered"]
        assert (entry.refs, entry.why, entry.data["type"]) == ((receipt.ref,), "the staff list", "employs")
        assert db.verify(deep=True).ok


def test_the_built_in_types_are_always_in_force(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        listed = db.view().edge_types()
        assert [one.name for one in listed][:3] == ["contains", "refers_to", "supersedes"] and len(listed) == 16
        assert all(one.available and not one.seq and one.digest_of == "built_in" for one in listed)
        assert db.view(seq=0).missing_edge_types == ()


def test_registering_the_same_again_is_no_event_and_anything_else_is(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        world = db.create("Topic", "W").ref
        assert db.register(Employs()).events == 1
        assert db.register(Employs()).events == 0
        assert db.register(Employs(), functional=True).events == 1
        assert db.register(Employs(), functional=True).events == 0
        assert db.register(Employs(), world=world).events == 1
        assert db.register(changed()).events == 1, "other code of the same version"
        assert db.register(changed(version=2)).events == 1
        listed = [(one.world == world, one.version) for one in db.view().edge_types() if one.name == "employs"]
        assert listed == [(True, 1), (False, 2)]


def test_a_registration_works_in_a_batch_and_under_an_idempotency_key(tmp_path: Path) -> None:
    def write(db: worlddb.Database) -> worlddb.Receipt:
        with db.batch(idempotency_key="k") as tx:
            topic = tx.create("Topic", "Hiring")
            ann = tx.create("Person", "Ann", world=topic)
            firm = tx.create("Firm", "Acme", world=topic)
            scope = tx.register(Employs(), world=topic, functional=True, why="in this batch")
            tx.link(firm, "employs", ann, home=scope)
        return tx.receipt

    with worlddb.open(tmp_path / "store") as db:
        first = write(db)
        head = db.head()
        assert write(db) == first and db.head() == head
        assert first.refs[3] == first.refs[0]
        with pytest.raises(worlddb.IdempotencyConflict):
            db.register(Employs(), idempotency_key="k")
        alone = db.register(Employs(), idempotency_key="r", why="once")
        assert db.register(Employs(), idempotency_key="r", why="once") == alone
        with pytest.raises(worlddb.IdempotencyConflict):
            db.register(changed(), idempotency_key="r", why="once")
        taken = db.unregister("employs", idempotency_key="u")
        assert db.unregister("employs", idempotency_key="u") == taken
        assert db.verify(deep=True).ok


def test_a_refused_batch_registers_nothing(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        acme, _ = people(db)
        with pytest.raises(worlddb.RefusedError), db.batch() as tx:
            tx.register(Employs())
            tx.link(acme, "employs", acme)
        assert names(db.view()) == []


def test_an_earlier_view_does_not_know_a_later_registration(tmp_path: Path) -> None:
    clock = ManualClock()
    with worlddb.open(tmp_path / "store", clock=clock) as db:
        before = db.view()
        clock.advance(1_000)
        first = db.register(Showing("disputes", 1))
        second = db.register(Showing("disputes", 2))
        third = db.unregister("disputes", why="never used")
        told = {
            seq: [(one.version, one.seq) for one in db.view(seq=seq).edge_types() if one.digest]
            for seq in range(before.seq, third.seq + 1)
        }
        assert told == {before.seq: [], first.seq: [(1, first.seq)], second.seq: [(2, second.seq)], third.seq: []}
        assert names(before) == []
        assert refusal(db.unregister("disputes")) == "not_registered"
        into = tmp_path / "then"
        assert db.replay(into, seq=first.seq).matches_recorded
        with worlddb.open(into, create=False) as then:
            replayed = [(one.name, one.digest, one.seq) for one in then.view().edge_types()]
            assert replayed == [(one.name, one.digest, one.seq) for one in db.view(seq=first.seq).edge_types()]


def test_a_store_without_the_handler_reads_everything_and_refuses_only_new_writes_of_the_type(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        acme, ann = people(db)
        db.register(Employs())
        edge = db.link(acme, "employs", ann).ref
        answers = db.view().edges(acme), db.view().hash(), db.view().recall("Ann").hits
        assert db.view().missing_edge_types == ()
    with worlddb.open(tmp_path / "store") as db:
        view = db.view()
        assert view.missing_edge_types == ("employs",)
        assert [one.available for one in view.edge_types() if one.name == "employs"] == [False]
        assert (view.edges(acme), view.hash(), view.recall("Ann").hits) == answers
        assert db.rebuild().root == db.head().root and db.verify(deep=True).ok
        before = db.head()
        for receipt in (db.link(acme, "employs", ann), db.unlink(edge)):
            assert refusal(receipt) == "missing_handler"
            assert isinstance(receipt.outcome, worlddb.Refused)
            assert "'employs', version 1" in receipt.outcome.reason and "edge_types=" in receipt.outcome.remedy
        assert db.head() == before
        assert db.link(acme, "refers_to", ann) and db.retire(edge) and db.move(ann, acme)
        assert db.unregister("employs")
        assert db.view().missing_edge_types == ()
        assert db.unlink(edge), "nothing is registered that would have to clean up"
        assert db.verify(deep=True).ok


@pytest.mark.parametrize("given", [changed(), changed(version=2)], ids=["other source", "other version"])
def test_a_handler_that_is_not_the_registered_one_writes_again_once_it_is_registered(
    tmp_path: Path, given: PlainHandler
) -> None:
    with worlddb.open(tmp_path / "store") as db:
        acme, ann = people(db)
        db.register(Employs())
        old = db.link(acme, "employs", ann).ref
    with worlddb.open(tmp_path / "store", edge_types=[given]) as db:
        assert db.view().missing_edge_types == ("employs",)
        receipt = db.link(acme, "employs", ann)
        assert refusal(receipt) == "other_handler"
        assert "db.register" in receipt.outcome.remedy
        assert db.register(given).events == 1
        new = db.link(acme, "employs", ann).ref
        assert [version_of(db, edge) for edge in (old, new)] == [1, given.version]
        assert db.unlink(old)


def test_replay_and_rebuild_run_no_handler_and_give_the_same_root(tmp_path: Path) -> None:
    log: list[str] = []
    with worlddb.open(tmp_path / "store") as db:
        acme, ann = people(db)
        db.register(Tagged("knows", 1, log), functional=True)
        db.link(acme, "knows", ann)
        db.link(acme, "knows", db.create("Person", "Bob"))
        head, ran = db.head(), list(log)
        assert len(ran) == 2
    with worlddb.open(tmp_path / "store") as db:
        assert db.rebuild("tables").root == head.root
        assert db.replay(tmp_path / "again")[:3] == (head.seq, head.root, True)
    assert log == ran


def test_a_retry_after_the_handler_is_gone_gives_the_receipt_of_then(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        acme, ann = people(db)
        db.register(Employs())
        first = db.link(acme, "employs", ann, idempotency_key="hire")
    with worlddb.open(tmp_path / "store") as db:
        assert db.link(acme, "employs", ann, idempotency_key="hire") == first


def test_a_type_registered_for_a_world_is_unknown_outside_of_it_and_the_error_says_where_it_is(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        world = db.create("Topic", "W").ref
        inner = db.create("Topic", "inner", world=world).ref
        one, other = (db.create("Person", name, world=inner).ref for name in ("Ann", "Bob"))
        outside = db.create("Person", "Cid").ref
        db.register(ReportsTo(), world=world)
        assert db.link(one, "reports_to", other)
        assert refusal(db.link(other, "reports_to", one)) == "reports_to_cycle"
        with pytest.raises(worlddb.UnknownEdgeType, match=f"is registered for {world[:12]}"):
            db.link(outside, "reports_to", one)
        assert db.link(outside, "reports_to", one, home=world), "the home decides, not the ends"
        assert names(db.view(), inner) == ["reports_to"] and names(db.view(), outside) == []
        assert names(db.view()) == ["reports_to"]


def test_moving_an_edge_out_of_the_scope_of_its_type_decides_nothing_anew(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        world, elsewhere = (db.create("Topic", name).ref for name in ("W", "Elsewhere"))
        one, other = (db.create("Person", name, world=world).ref for name in ("Ann", "Bob"))
        db.register(ReportsTo(), world=world)
        db.link(one, "reports_to", other)
        moved = db.move([one, other], elsewhere)
        assert [note.code for note in moved.notes] == ["edges_carried"]
        [edge] = db.view().edges(one, type="reports_to")
        assert edge.home == elsewhere
        with pytest.raises(worlddb.UnknownEdgeType):
            db.link(one, "reports_to", other)
        assert db.unlink(edge.ref)


def test_rewrites_are_recorded_and_followed_with_and_without_the_handler(tmp_path: Path) -> None:
    def told(db: worlddb.Database) -> list[Any]:
        view = db.view()
        shown = [view.get(ref).conflicts for ref in (one, other, far)]  # type: ignore[union-attr]
        return [*shown, len(view.conflicts(one)), len(view.conflicts(far)), [w.name for w in view.find(type="Kind")]]

    with worlddb.open(tmp_path / "store") as db:
        scope = db.create("Topic", "Scope").ref
        one, other = (db.create("Note", name, world=scope).ref for name in ("one", "other"))
        far, kind = db.create("Note", "far").ref, db.create("Type", "Kind").ref
        db.register(Showing("disputes", 1), world=scope)
        db.register(Tagged("disputes", 2))
        db.register(Widening("is_a", 1))
        db.link(one, "disputes", other)
        db.link(far, "disputes", one)
        db.link(far, "is_a", kind)
        expected = [(other,), (one,), (), 1, 0, ["far"]]
        assert told(db) == expected
        assert db.view().recall("far").note == ""
    with worlddb.open(tmp_path / "store") as db:
        assert told(db) == expected
        assert db.view().missing_edge_types == ("disputes", "is_a")
        note = db.view().recall("far").note
        assert "disputes, is_a" in note and "recorded rules" in note
