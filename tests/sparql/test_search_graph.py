"""A search inside a query: everything that is found joins, however low it ranks, and no more than a view sees."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import worlddb

COZY = """SELECT ?name ?score FROM wdb:memory FROM <https://worlddb.dev/ns#search?text=cozy+romantic>
    { ?place wdb:score ?score ; wdb:type 'Restaurant' ; wdb:name ?name } ORDER BY DESC(?score)"""
SCORES = "SELECT ?a ?b ?c { GRAPH <https://worlddb.dev/ns#search?text=cozy+place> { ?a ?b ?c } }"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[worlddb.Database]:
    with worlddb.open(tmp_path / "store", create=True, embedder=None) as db:
        yield db


def names(view: worlddb.View, query: str = COZY) -> list[str]:
    return [str(row["name"].value) for row in view.sparql(query)]


def test_what_ranks_last_is_joined_as_well(db: worlddb.Database) -> None:
    with db.batch() as batch:
        for number in range(1_100):
            batch.create("Note", f"note {number}", content="cozy romantic cozy romantic")
    db.create("Restaurant", "Luigi", content=f"cozy {'and far from everything ' * 20}")
    db.create("Restaurant", "Mario", content="a cozy and romantic place")
    db.create("Restaurant", "Nino", content="loud")
    view = db.view()
    assert "Luigi" not in [hit.name for hit in view.recall("cozy romantic", k=100).hits]
    assert names(view) == ["Mario", "Luigi"]


def test_a_search_is_of_its_moment_and_of_what_the_view_sees(db: worlddb.Database) -> None:
    town = db.create("Topic", "Town", content="a cozy place", valid_from="2020-01-01").ref
    db.create("Restaurant", "Luigi", content="a cozy place", world=town, valid_from="2020-01-01")
    inside = db.view(world=town).sparql(SCORES).body
    then = db.view()
    db.create("Restaurant", "Mario", content="a cozy and romantic place", valid_from="2022-01-01")
    assert names(db.view()) == ["Mario", "Luigi"]
    assert names(then) == names(db.view(valid="2021-01-01")) == names(db.view(world=town)) == ["Luigi"]
    assert names(db.view(), COZY.replace("romantic", "romantic&valid=2021-01-01")) == ["Luigi"]
    # Scores tell nothing of what lies outside: they are those of a store without it.
    assert db.view(world=town).sparql(SCORES).body == inside
    db.erase(db.view().reference_of("Mario"), reason="asked for")
    assert names(db.view()) == ["Luigi"]


def test_meaning_finds_what_shares_no_word(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", create=True) as db:
        db.create("Restaurant", "Luigi", content="a comfortable corner for two")
        db.embed()
        found = db.view().sparql(SCORES.replace("cozy+place", "cozy"))
        assert {str(row["b"]).rpartition("#")[2] for row in found.rows} == {"score>", "likeness>"}


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        ("search", "searches for nothing"),
        ("search?text=+", "searches for nothing"),
        ("search?text=a&k=10", "names no moment"),
        (f"search?text={'a' * 3_000}", "the length of what is searched"),
    ],
)
def test_a_search_that_asks_for_nothing_is_an_error(db: worlddb.Database, graph: str, message: str) -> None:
    with pytest.raises(worlddb.InputError, match=message):
        db.view().sparql(f"ASK FROM <https://worlddb.dev/ns#{graph}> {{ ?a ?b ?c }}")


def test_no_update_writes_into_a_search(db: worlddb.Database) -> None:
    town = db.create("Topic", "Town").ref
    with pytest.raises(worlddb.InputError, match="there to be read"):
        db.sparql_update(
            "INSERT DATA { GRAPH <https://worlddb.dev/ns#search?text=a> { <urn:a> <urn:p> 1 } }", world=town
        )
