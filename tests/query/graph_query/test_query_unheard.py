"""Says of types unknown to the store that a query found nothing because of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import worlddb
from tests.query.graph_query.test_query import chain
from tests.support.model.stores import new_store
from worlddb import Database, PlainHandler, Query


@pytest.fixture
def db() -> Iterator[Database]:
    with new_store() as store:
        yield store


def test_an_edge_type_that_is_registered_nowhere_is_told_with_the_nearest_and_ends_no_query(db: Database) -> None:
    first, second = chain(db, "a", "b", edge="implies")
    view = db.view()
    found = view.query(seeds=first).traverse("implys", keep=True).run()
    assert found.refs == (first,)
    assert found.note == "there is no edge type 'implys'; did you mean implies?"
    assert view.query(seeds=first).traverse("implies").run().note == ""
    assert view.query(seeds=first).traverse("Implies", "implies").run().refs == (second,)
    absent = view.query(seeds=first).where_connected("mentors", absent=True).run()
    assert absent.refs == (first,) and absent.note == "there is no edge type 'mentors'"


def test_an_edge_type_whose_registration_has_ended_is_no_slip_and_neither_is_one_that_comes_later(
    tmp_path: Path,
) -> None:
    class Mentors(PlainHandler):
        name = "mentors"

    with worlddb.open(tmp_path / "store", edge_types=[Mentors()]) as db:
        first, second = (db.create("Person", name).ref for name in ("Ann", "Bob"))
        query = Query.of(seeds=first).traverse("mentors")
        assert "no edge type 'mentors'" in db.view().run(query).note
        db.register(Mentors())
        db.link(first, "mentors", second)
        assert db.view().run(query).refs == (second,) and not db.view().run(query).note
        db.unregister("mentors")
        assert db.view().run(query).refs == (second,) and not db.view().run(query).note


def test_a_filter_that_leaves_nothing_names_the_type_that_came_to_it_and_is_spelt_alike(db: Database) -> None:
    chain(db, "a", "b")
    view = db.view()
    assert view.query().filter_type("event").run().note == "none is of type 'event'; did you mean Event?"
    assert view.query().filter_type("Evnet", "Person").run().note == "none is of type 'Evnet'; did you mean Event?"
    assert view.query().filter_type("Person").run().note == ""
    assert view.query().filter_type("Event", "Evnet").run().note == ""
