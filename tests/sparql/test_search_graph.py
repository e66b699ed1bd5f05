"""A search inside a query: everything that is found joins, however low it ranks, and no more than a view sees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import worlddb
from worlddb.query.sparql.sparql_tokens import Sparql, read_sparql

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


def test_meaning_finds_texts_without_common_words(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", create=True) as db:
        db.create("Restaurant", "Luigi", content="a comfortable corner for two")
        db.embed()
        found = db.view().sparql(SCORES.replace("cozy+place", "cozy"))
        assert {str(row["b"]).rpartition("#")[2] for row in found.rows} == {"score>", "likeness>"}


class Moods:
    """A model of a few words that can be made to fail, and counts how often it is asked."""

    model = "moods"
    dimension = 2
    asked = 0
    is_there = True

    def mean(self) -> Sequence[float]:
        return [0.0, 0.0]

    def embed(self, texts: Sequence[str], *, query: bool) -> Sequence[Sequence[float]]:
        self.asked += 1
        if not self.is_there:
            raise worlddb.ModelUnavailable("the model sleeps")
        return [[1.0, 0.0] if {"cozy", "snug"} & set(text.split()) else [0.6, 0.8] for text in texts]


def lanes_of(answer: Any) -> set[str]:
    return {str(row["b"]).rpartition("#")[2][:-1] for row in answer.rows}


def test_a_search_goes_by_words_while_the_model_fails_and_says_so(tmp_path: Path) -> None:
    moods = Moods()
    with worlddb.open(tmp_path / "store", create=True, embedder=moods) as db:
        db.create("Restaurant", "Luigi", content="a cozy place")
        db.create("Restaurant", "Mario", content="a snug room")
        before = db.view().sparql(SCORES)
        assert before.unavailable == {"vector": "no text has been embedded yet"} and lanes_of(before) == {
            "score",
            "words",
        }
        db.embed()
        view, moods.is_there = db.view(), False
        for _ in range(2):
            fallen = view.sparql(SCORES)
            assert "the model sleeps" in fallen.unavailable["vector"]
            assert lanes_of(fallen) == {"score", "words"} and fallen.body == before.body
        moods.is_there = True
        # What was found for want of a model is not taken for the answer once there is one.
        for _ in range(2):
            found = view.sparql(SCORES)
            assert not found.unavailable and lanes_of(found) == {"score", "words", "likeness"}
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        found = db.view().sparql(SCORES)
        assert found.unavailable == {"vector": "the store was opened without an embedder"}
        assert found.body == before.body


def test_no_model_is_asked_where_words_alone_are(tmp_path: Path) -> None:
    moods = Moods()
    with worlddb.open(tmp_path / "store", create=True, embedder=moods) as db:
        town = db.create("Topic", "Town").ref
        db.create("Restaurant", "Luigi", content="a cozy place", world=town)
        db.create("Restaurant", "Mario", content="a snug room", world=town)
        db.embed()
        view, moods.asked, moods.is_there = db.view(), 0, False
        by_words = COZY.replace("wdb:score", "wdb:words")
        for found in (view.sparql(by_words), view.sparql(COZY, lanes=["text"])):
            assert [row["name"].value for row in found] == ["Luigi"] and not found.unavailable
        db.sparql_update(
            "INSERT { ?x <urn:n> ?n } WHERE { GRAPH <https://worlddb.dev/ns#search?text=cozy> { ?x wdb:words ?n } }",
            world=town,
        )
        assert moods.asked == 0 and db.view().count_statements(town) == 1
        moods.is_there = True
        assert lanes_of(view.sparql(SCORES, lanes=["vector"])) == {"score", "likeness"}
        assert {*names(view)} == {"Luigi", "Mario"} and moods.asked > 0
        for lanes in (["entity"], [], ["words"], "text"):
            with pytest.raises(worlddb.InputError, match="lane"):
                view.sparql(SCORES, lanes=lanes)


GRAPH = "GRAPH <https://worlddb.dev/ns#search?text=cozy+place>"
BY_WORDS = (
    f"SELECT ?a ?n {{ {GRAPH} {{ ?a wdb:words ?n }} }}",
    f"SELECT * {{ {GRAPH} {{ ?a wdb:words ?n . ?a wdb:words ?m FILTER (?n > 0.001) }} }} ORDER BY ?a",
    f"PREFIX w: <https://worlddb.dev/ns#> ASK {{ {GRAPH} {{ [] w:words ?n }} }}",
    f"CONSTRUCT {{ ?a <urn:n> ?n }} {{ {GRAPH} {{ ?a wdb:words ?n }} OPTIONAL {{ ?a wdb:name ?b ; wdb:type 'x' }} }}",
    f"SELECT ?a {{ {{ SELECT ?a {{ {GRAPH} {{ ?a wdb:words ?n }} }} }} MINUS {{ ?a wdb:name ?b, ?c }} }} ORDER BY ?a",
)
BY_MEANING = (
    f"SELECT * {{ {GRAPH} {{ ?a wdb:words ?n ; wdb:likeness ?m }} }}",
    f"SELECT * {{ {GRAPH} {{ ?a wdb:words ?n ; ?p ?m }} }}",
    f"SELECT * {{ {GRAPH} {{ ?a ?p 0.5 }} OPTIONAL {{ ?a wdb:words ?n }} }}",
    f"SELECT * {{ {GRAPH} {{ ?a wdb:words ?n }} {GRAPH} {{ ?b !wdb:words ?m }} }}",
    f"SELECT * {{ {GRAPH} {{ ?a wdb:words* ?n }} }}",
    f"SELECT * {{ {GRAPH} {{ ?a wdb:words? ?n }} }}",
    f"SELECT * {{ {GRAPH} {{ ?a wdb:words ?n }} GRAPH ?g {{ }} }}",
    f"DESCRIBE ?a FROM {GRAPH[6:]} {{ ?a wdb:words ?n }}",
    f"SELECT * {{ {GRAPH} {{ ?a wdb:words ?n }} {GRAPH} {{ [ ?p ?m ] }} }}",
    f"SELECT * {{ {GRAPH} {{ ?a wdb:words ?n }} {GRAPH} {{ ?b (wdb:words|wdb:score) ?m }} }}",
    f"SELECT * {{ {GRAPH} {{ ?a wdb:words ?n . ?b ?p true }} }}",
    f"SELECT * {{ {GRAPH} {{ ?a wdb:name ?n }} }}",
)


@pytest.mark.parametrize("query", [*BY_WORDS, *BY_MEANING])
def test_answers_without_a_model_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, query: str) -> None:
    assert read_sparql(query).needs_meaning() is (query in BY_MEANING)
    with worlddb.open(tmp_path / "store", create=True, embedder=Moods()) as db:
        for number, text in enumerate(("a cozy place", "a snug room", "one more cozy corner", "loud")):
            db.create("Restaurant", f"number {number}", content=text)
        db.embed()
        found = db.view().sparql(query)
        with monkeypatch.context() as patched:
            patched.setattr(Sparql, "needs_meaning", lambda _: True)
            assert found.body == db.view().sparql(query).body and found.body


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        ("search", "no words to search for"),
        ("search?text=+", "no words to search for"),
        ("search?text=a&k=10", "no valid moment"),
        (f"search?text={'a' * 3_000}", "the length of the search text"),
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
