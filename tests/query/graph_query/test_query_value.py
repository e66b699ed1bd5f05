"""A query is a value: it survives JSON, prints as words, and is never changed in place."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.model.stores import new_store
from worlddb import InputError, Query

few = examples(20)
refs = st.text("0123456789abcdef", min_size=32, max_size=32)
types = st.sampled_from(["causes", "refers_to", "contains", "made up"])
directions = st.sampled_from(["out", "in", "both"])
MINUTE = 60_000_000
"""Whole minutes do not seem to count seconds or milliseconds."""
times = st.integers(0, 2_000_000_000_000_000 // MINUTE).map(lambda minutes: minutes * MINUTE)
spans = st.none() | st.tuples(times, st.integers(1, 1_000)).map(lambda pair: (pair[0], pair[0] + MINUTE * pair[1]))


@st.composite
def queries(draw: st.DrawFn) -> Query:
    """Any query: some start, and some operators in some order."""
    query = Query.of(
        seeds=draw(st.none() | st.lists(refs, max_size=3)),
        text=draw(st.none() | st.text(max_size=20)),
        vector=draw(st.none() | st.lists(st.floats(0.5, 2.0, width=32), min_size=1, max_size=4)),
        world=draw(st.none() | refs),
        k=draw(st.integers(1, 10_000)),
        lanes=draw(st.sampled_from([("text",), ("text", "vector"), ("entity",)])),
        exact=draw(st.booleans()),
    )
    for _ in range(draw(st.integers(0, 5))):
        query = draw(st.sampled_from(ADDED))(query, draw)
    return query


ADDED = [
    lambda query, draw: query.traverse(
        *draw(st.lists(types, max_size=2)), depth=draw(st.integers(1, 9)), direction=draw(directions)
    ),
    lambda query, draw: query.traverse(keep=True),
    lambda query, draw: query.filter_type(*draw(st.lists(types, min_size=1, max_size=2))),
    lambda query, draw: query.filter_properties({"a.b": draw(st.integers(0, 9)), "c": {"$gte": 2, "$lt": 5.5}}),
    lambda query, draw: query.filter_time(during=(None, draw(times)), between=draw(spans)),
    lambda query, draw: query.filter_time(overlaps=(draw(times), None)),
    lambda query, draw: query.filter_period(draw(st.sampled_from(["precedes", "equals"])), draw(spans)),
    lambda query, draw: query.where_connected(draw(types), draw(directions), draw(st.none() | refs)),
    lambda query, draw: query.where_connected(draw(types), absent=True),
    lambda query, draw: query.in_world(draw(refs)),
    lambda query, draw: query.prefer_summaries(),
    lambda query, draw: query.unify(),
    lambda query, draw: query.order("name", descending=draw(st.booleans())),
    lambda query, draw: query.limit(draw(st.integers(0, 99))),
    lambda query, draw: query.facets("type", "month"),
    lambda query, draw: query.as_of(seq=draw(st.integers(0, 9)), valid=draw(st.none() | times)),
    lambda query, draw: query.as_of(ingested=draw(times)),
    lambda query, draw: query.include_superseded(),
]


@few
@given(query=queries())
def test_a_query_comes_back_from_json_as_it_was(query: Query) -> None:
    written = query.to_json()
    again = Query.from_json(written)
    assert again == query and again.to_json() == written and str(again) == str(query)
    assert hash(again) == hash(query)


def test_every_operator_is_in_the_queries_that_are_drawn() -> None:
    named = {name for add in ADDED for name in add.__code__.co_names}
    methods = {name for name in vars(Query.__mro__[1]) if not name.startswith("_")}
    assert methods and methods <= named


def test_adding_an_operator_leaves_the_query_as_it_was() -> None:
    query = Query.of(text="boats")
    longer = query.traverse("causes").as_of(seq=1).include_superseded()
    assert query == Query.of(text="boats") and query.steps == () and query.at is None
    assert longer.steps != () and longer.superseded


def test_a_query_prints_as_a_person_would_say_it() -> None:
    ref = "0123456789abcdef" * 2
    query = (
        Query.of(text="where does Sarah work?", world=ref)
        .traverse("causes", depth=2)
        .traverse(direction="in", keep=True)
        .filter_type("Fact", "Event")
        .filter_time(overlaps=("2024-01-01", None))
        .filter_period("contains", ("2024-01-01", None))
        .where_connected("contradicts", "both", ref)
        .in_world(ref)
        .prefer_summaries()
        .unify()
        .order("valid_from", descending=True)
        .facets("type")
        .limit(3)
        .include_superseded()
        .as_of(valid="2024-06-01", seq=7)
    )
    assert str(query).split(" | ") == [
        "start from the 10 best for 'where does Sarah work?' by text in 0123456789ab",
        "traverse causes, up to 2 edges",
        "traverse every edge but contains backwards, keep those it began from",
        "filter_type Fact or Event",
        "filter_time overlaps [2024-01-01T00:00:00Z, forever)",
        "filter_period contains [2024-01-01T00:00:00Z, forever)",
        "where_connected contradicts both ways, other end 0123456789ab",
        "in_world 0123456789ab",
        "prefer_summaries",
        "unify",
        "order by valid_from, descending",
        "facets by type",
        "limit 3",
        "include_superseded",
        "as of commit 7, true at 2024-06-01T00:00:00Z",
    ]
    assert str(Query.of(seeds=[])) == "start from nothing" and str(Query()) == "start from everything"
    assert str(Query.of(vector=[1.0, 2.0])) == "start from the 10 nearest to a vector of 2 numbers"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("", "truncated"),
        ("[]", "array"),
        ('{"start":{"k":0}}', "k is 0"),
        ('{"start":{"smell":"rose"}}', "$.start"),
        ('{"steps":[{"op":"fly"}]}', "$.steps[0]"),
        ('{"steps":[{"op":"traverse","depth":"deep"}]}', "$.steps[0].depth"),
        ('{"steps":[{"op":"traverse","direction":"up"}]}', "direction is 'up'"),
        ('{"steps":[{"op":"limit","count":-1}]}', "limit is -1"),
        ('{"steps":[{"op":"filter_time"}]}', "no span"),
        ('{"steps":[{"op":"filter_period","relation":"like","span":[1,2]}]}', "the relation is 'like'"),
        ('{"at":{"valid":"soon"}}', "$.at.valid"),
        ('{"superseded":1}', "$.superseded"),
        (b"\xff", "not a query"),
        (None, "not a query"),
    ],
)
def test_json_that_is_no_query_is_reported_with_the_place(text: Any, place: str) -> None:
    with pytest.raises(InputError) as raised:
        Query.from_json(text)
    assert place in raised.value.message


@pytest.mark.parametrize("half", [{"text": "a\ud800"}, {"seeds": "\ud800"}, {"world": "\ud800"}], ids=str)
def test_half_a_character_has_no_json(half: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="not valid Unicode"):
        Query.of(**half).to_json()


def test_an_equal_query_has_the_same_answer_wherever_it_was_made() -> None:
    with new_store() as db:
        one = db.create("Event", "one").ref
        other = db.create("Event", "other").ref
        db.link(one, "causes", other)
        query = db.view().query(seeds=one).traverse("causes")
        again = Query.from_json(query.query.to_json())
        assert again == query.query == msgspec.structs.replace(again)
        assert db.view().run(again) == query.run()
        assert str(query) == str(again) and repr(query) == f"<worlddb.BoundQuery: {again}>"
