"""Statements, SPARQL, forks and merges over REST, and through the client's calls."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlencode

import pytest

from tests.support.rest import RestClient, RestServer, check_type, serve_store
from worlddb.client import wire_records as wire

A, SERVES = "<https://a.example/luna>", "<https://a.example/serves>"
TURTLE = b'@prefix : <https://a.example/> . :luna :serves "tea", "cake" . [] :near :luna .'
NAMES = "SELECT ?name FROM wdb:memory { ?x wdb:name ?name } ORDER BY ?name"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[RestServer]:
    with serve_store(tmp_path) as found:
        yield found


@pytest.fixture
def ana(served: RestServer) -> RestClient:
    return served.caller("ana")


def _objects(caller: RestClient, world: str, **params: Any) -> list[str]:
    page = caller.get(f"/v1/worlds/{world}/statements", **params)
    return [each.object for each in check_type(page, wire.Statements).statements]


def test_statements_are_stated_listed_by_pattern_and_page_and_taken_back(ana: RestClient) -> None:
    made = ana.send("POST", "/v1/worlds/cafes/statements", statements=[[A, SERVES, f'"{n}"'] for n in range(5)])
    assert check_type(made, wire.Receipt).events
    many = [[A, "<https://a.example/has>", f'"{n}"'] for n in range(250)]
    assert ana.send("POST", "/v1/worlds/cafes/statements", statements=many)["refs"] == made["refs"]
    ana.send("DELETE", "/v1/worlds/cafes/statements", statements=many)
    again = ana("POST", "/v1/worlds/cafes/statements", json={"statements": [[A, SERVES, '"1"']]})
    assert again.status_code == 200 and again.json()["outcome"] == "unchanged"
    first = ana.get("/v1/worlds/cafes/statements", limit=3, subject=A)
    rest = ana.get("/v1/worlds/cafes/statements", limit=3, subject=A, cursor=first["next_cursor"])
    assert [len(first["statements"]), len(rest["statements"]), rest["next_cursor"]] == [3, 2, None]
    assert _objects(ana, "cafes", object='"2"') == ['"2"'] and _objects(ana, "cafes", predicate=A) == []
    ana.send("DELETE", "/v1/worlds/cafes/statements", statements=[[A, SERVES, '"2"']])
    assert len(_objects(ana, "cafes")) == 4
    assert ana("DELETE", f"/v1/worlds/cafes/statements?object={quote(chr(34) + '3' + chr(34))}").status_code == 200
    assert sorted(_objects(ana, "cafes")) == ['"0"', '"1"', '"4"']
    assert len(_objects(ana, "cafes", seq=made["seq"])) == 5


def test_a_window_a_graph_and_a_tag_hold_as_for_worlds(ana: RestClient) -> None:
    body = {"statements": [[A, SERVES, '"tea"', "<urn:g>"]], "valid_from": "2020-01-01", "valid_to": "2021-01-01"}
    ana.send("POST", "/v1/worlds/cafes/statements", **body)
    assert _objects(ana, "cafes") == [] and _objects(ana, "cafes", valid="2020-06-01") == ['"tea"']
    assert _objects(ana, "cafes", valid="2020-06-01", graph="default") == []
    assert _objects(ana, "cafes", valid="2020-06-01", graph="<urn:g>") == ['"tea"']
    stale = ana("POST", "/v1/worlds/cafes/statements", json=body, headers={"If-Match": '"' + "0" * 64 + '"'})
    assert stale.status_code == 412
    twice = ana("POST", "/v1/worlds/cafes/statements?valid_from=2019-01-01", json=body)
    assert twice.status_code == 422


@pytest.mark.parametrize("statement", [[A, SERVES], [A, "tea", "tea"], ['"x"', SERVES, A], [None, SERVES, A]])
def test_what_is_no_statement_is_refused_and_makes_no_world(ana: RestClient, statement: list[Any]) -> None:
    answer = ana("POST", "/v1/worlds/nothing/statements", json={"statements": [[A, SERVES, A], statement]})
    assert answer.status_code == 422, answer.text
    assert ana("GET", "/v1/worlds/nothing/statements").status_code == 404


def test_turtle_comes_in_and_a_broken_one_says_where(ana: RestClient) -> None:
    path = "/v1/worlds/cafes/statements?valid_from=2020-01-01"
    sent = ana("POST", path, content=TURTLE, headers={"Content-Type": "text/turtle; charset=utf-8"})
    assert sent.status_code == 201 and len(_objects(ana, "cafes")) == 3
    broken = ana("POST", path, content=b"luna", headers={"Content-Type": "text/turtle"})
    assert (broken.status_code, broken.json()["code"]) == (422, "malformed_file")
    # curl sends nothing of a text that begins with @, and a file of that name is not there.
    empty = ana("POST", "/v1/worlds/bakeries/statements", content=b"", headers={"Content-Type": "text/turtle"})
    assert empty.status_code == 422 and "--data-raw" in empty.json()["remedy"]
    assert ana("GET", "/v1/worlds/bakeries").status_code == 404


def test_rdf_that_is_nested_too_deep_ends_no_server(ana: RestClient) -> None:
    nested = "<a:a> <a:b> " + "<<( <a:a> <a:b> " * 20_000 + "1" + " )>>" * 20_000 + " ."
    path = "/v1/worlds/cafes/statements"
    sent = ana("POST", path, content=nested.encode(), headers={"Content-Type": "text/turtle"})
    assert (sent.status_code, sent.json()["code"]) == (422, "query_limit") and "Nest it less" in sent.text
    assert ana("POST", path, content=TURTLE, headers={"Content-Type": "text/turtle"}).status_code == 201


def test_sparql_answers_in_every_format_as_of_any_moment(ana: RestClient) -> None:
    for name in ("cafes", "tea"):
        ana.send("POST", "/v1/worlds", name=name, valid_from="2020-01-01")
    for accept, part in (
        ("*/*", b'"cafes"'),
        ("application/json", b'"bindings"'),
        ("application/sparql-results+xml", b"<sparql"),
        ("text/csv", b"name\r\ncafes"),
        ("text/tab-separated-values", b'"tea"'),
    ):
        found = ana("GET", f"/v1/worlds/cafes/sparql?query={quote(NAMES)}", headers={"Accept": accept})
        assert found.status_code == 200 and part in found.content, (accept, found.text)
    for media_type, told in (
        ("application/sparql-query", {"content": NAMES}),
        ("application/x-www-form-urlencoded", {"data": {"query": NAMES, "max_rows": "5"}}),
    ):
        asked: dict[str, Any] = {"headers": {"Content-Type": media_type}, **told}
        found = ana("POST", "/v1/worlds/cafes/sparql", **asked)
        assert len(found.json()["results"]["bindings"]) == 2, found.text
    asked = {"query": "CONSTRUCT { ?s wdb:name ?o } FROM wdb:memory { ?s wdb:name ?o }", "valid": "2020-06-01"}
    graph = ana("GET", "/v1/worlds/cafes/sparql", params=asked, headers={"Accept": "text/turtle"})
    assert graph.headers["content-type"] == "text/turtle" and b"urn:worlddb:world:" in graph.content
    before = ana.get("/v1/sparql", query=NAMES, valid="2019-01-01")
    assert before["results"]["bindings"] == []


def test_sparql_refusals_have_their_own_code(ana: RestClient) -> None:
    for name in ("cafes", "tea", "cake"):
        ana.send("POST", "/v1/worlds", name=name)
    wrong = ana("GET", "/v1/sparql?query=SELECT")
    assert (wrong.status_code, wrong.json()["code"]) == (400, "invalid_sparql")
    closed = ana("GET", f"/v1/sparql?query={quote('SELECT * { SERVICE <http://127.0.0.1/> { ?s ?p ?o } }')}")
    assert (closed.status_code, closed.json()["code"]) == (400, "invalid_sparql")
    over = ana("GET", f"/v1/worlds/cafes/sparql?max_rows=2&query={quote(NAMES)}")
    assert (over.status_code, over.json()["code"], over.json()["reason"]) == (422, "query_limit", "rows")
    assert ana("GET", "/v1/sparql").status_code == 422
    misspelled = ana("GET", "/v1/sparql", params={"query": "ASK FROM wdb:memory { ?w wdb:nmae ?n }"})
    assert "wdb:name" in unquote(misspelled.headers["Worlddb-Note"])
    assert ana("POST", "/v1/sparql", content=NAMES, headers={"Content-Type": "text/plain"}).status_code == 415
    assert ana("GET", "/v1/sparql?update=CLEAR%20ALL").status_code == 422


def test_an_update_under_a_key_has_one_effect(ana: RestClient) -> None:
    how: Any = {"headers": {"Content-Type": "application/sparql-update", "Idempotency-Key": "k"}}
    insert, path = f"INSERT DATA {{ {A} {SERVES} [], 'tea' }}", "/v1/worlds/cafes/sparql"
    first, again = (ana("POST", path, content=insert, **how) for _ in range(2))
    assert first.status_code == again.status_code == 200 and first.json()["seq"] == again.json()["seq"]
    assert len(_objects(ana, "cafes")) == 2
    assert ana("POST", path, content="CLEAR ALL", **how).status_code == 409


def test_a_world_and_the_update_that_makes_it_are_one_commit_or_nothing(served: RestServer, ana: RestClient) -> None:
    how: Any = {"headers": {"Content-Type": "application/sparql-update"}}
    ana.send("POST", "/v1/worlds/cafes/statements", statements=[[A, SERVES, '"tea"']])
    before = served.db.head().seq
    for wrong in (
        "INSERT DATA {",
        "LOAD <urn:x>",
        f"INSERT {{ GRAPH ?g {{ {A} {SERVES} 1 }} }} WHERE {{ BIND(<https://worlddb.dev/ns#memory> AS ?g) }}",
    ):
        refused = ana("POST", "/v1/worlds/bars/sparql", content=wrong, **how)
        assert refused.status_code in (400, 422), refused.text
    assert ana("GET", "/v1/worlds/bars").status_code == 404 and served.db.head().seq == before
    named = ana.get("/v1/worlds/cafes")["ref"]
    copied = f"INSERT {{ ?s ?p ?o, [] }} WHERE {{ GRAPH <urn:worlddb:world:{named}> {{ ?s ?p ?o }} }}"
    how["headers"]["Idempotency-Key"] = "first"
    first, again = (ana("POST", "/v1/worlds/bars/sparql", content=copied, **how) for _ in range(2))
    assert first.status_code == 200 and first.json() == again.json() and served.db.head().seq == before + 1
    assert first.json()["refs"] == [ana.get("/v1/worlds/bars")["ref"]]
    assert ana("POST", "/v1/worlds/pubs/sparql", content=copied, **how).status_code == 409


def test_an_update_rests_on_the_tag_that_it_names_and_counts_as_a_write(served: RestServer, ana: RestClient) -> None:
    served.db.accounts.define_plan("small", writes_per_minute=2, features=["sparql"])
    served.db.accounts.create_account("acme", plan="small")
    secret = served.db.accounts.create_key("robot", account="acme", right="write").secret
    jon, path = served.stranger(secret), "/v1/worlds/cafes/sparql"
    ana.send("POST", "/v1/worlds/cafes/statements", statements=[[A, SERVES, '"tea"']])
    tag, how = ana("GET", "/v1/worlds/cafes").headers["etag"], {"Content-Type": "application/sparql-update"}
    insert = f"INSERT DATA {{ {A} {SERVES} 'cake' }}"
    for _ in range(2):  # Once done, the same under its key is answered as it was then.
        told = jon("POST", path, content=insert, headers=how | {"If-Match": tag, "Idempotency-Key": "k"})
        assert told.status_code == 200, told.text
    assert sorted(_objects(ana, "cafes")) == ['"cake"', '"tea"'] and told.json()["seq"] == served.db.head().seq
    late = ana("POST", path, content="CLEAR ALL", headers=how | {"If-Match": tag})
    assert (late.status_code, late.json()["code"]) == (412, "precondition_failed")
    assert ana("POST", "/v1/worlds/none/sparql", content=insert, headers=how | {"If-Match": tag}).status_code == 404
    assert ana("POST", f"{path}?max_rows=3", content=insert, headers=how).status_code == 422
    assert jon("POST", path, content="ASK {}", headers={"Content-Type": "application/sparql-query"}).is_success
    third = jon("POST", path, content=insert, headers=how)
    assert (third.status_code, third.json()["reason"]) == (429, "writes_per_minute")
    assert [each.writes for each in served.db.accounts.usage("robot", by="total").usage] == [2]


def test_a_query_has_its_dataset_beside_it(ana: RestClient) -> None:
    stated = [[A, SERVES, f'"{name}"', f"<urn:{name}>"] for name in ("tea", "cake")]
    ana.send("POST", "/v1/worlds/cafes/statements", statements=stated)
    query, path = "SELECT ?o { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }", "/v1/worlds/cafes/sparql"
    asked = {"query": query, "default-graph-uri": ["urn:tea"], "named-graph-uri": ["urn:tea", "urn:cake"]}
    form = {"headers": {"Content-Type": "application/x-www-form-urlencoded"}, "content": urlencode(asked, True)}
    for answer in (ana("GET", path, params=asked), ana("POST", path, **form)):
        assert sorted(row["o"]["value"] for row in answer.json()["results"]["bindings"]) == ["cake", "tea", "tea"]
    assert ana("GET", path, params={"query": query, "default-graph-uri": "no iri"}).status_code == 422
    for wrong in (
        {"update": "CLEAR ALL", "default-graph-uri": "urn:tea"},
        {"query": query, "using-graph-uri": "urn:tea"},
    ):
        assert ana("POST", path, **form | {"content": urlencode(wrong)}).status_code == 422
    taken = {"update": "DELETE { GRAPH ?g { ?s ?p ?o } } WHERE { GRAPH ?g { ?s ?p ?o } }"}
    taken["using-named-graph-uri"] = "urn:tea"
    assert ana("POST", path, **form | {"content": urlencode(taken)}).status_code == 200
    listed = ana.get("/v1/worlds/cafes/statements", subject=A)["statements"]
    assert [each["graph"] for each in listed if each["graph"]] == ["<urn:cake>"]


def test_only_a_key_that_writes_sends_updates(served: RestServer, ana: RestClient) -> None:
    reader = served.caller("reader", write=False)
    how: Any = {"content": "INSERT DATA { <urn:a> <urn:b> <urn:c> }"}
    how["headers"] = {"Content-Type": "application/sparql-update"}
    assert reader("POST", "/v1/worlds/cafes/sparql", **how).status_code == 403
    assert ana("POST", "/v1/worlds/cafes/sparql", **how).status_code == 200
    asked = ana("GET", f"/v1/worlds/cafes/sparql?query={quote('ASK { <urn:a> <urn:b> <urn:c> }')}")
    assert asked.json()["boolean"] is True


def test_a_plan_without_sparql_is_not_answered(served: RestServer) -> None:
    served.db.accounts.define_plan("plain", features=[])
    served.db.accounts.create_account("jon", plan="plain")
    jon = RestClient(served.rest, served.db.accounts.create_key("phone", account="jon").secret)
    answer = jon("GET", f"/v1/sparql?query={quote(NAMES)}")
    assert (answer.status_code, answer.json()["code"]) == (403, "plan_limit")


def test_a_fork_goes_on_and_is_merged(ana: RestClient) -> None:
    trip = ana.send("POST", "/v1/worlds", name="trip")["refs"][0]
    hotel = ana.send("POST", f"/v1/worlds/{trip}/members", name="hotel", content="By the sea.")["refs"][0]
    fork = check_type(ana.send("POST", f"/v1/worlds/{trip}/fork", name="cheaper"), wire.Receipt).refs[0]
    inside = ana.get(f"/v1/worlds/{fork}/members")["worlds"][0]["ref"]
    ana.send("PATCH", f"/v1/worlds/{inside}", content="A hostel.")
    ana.send("PATCH", f"/v1/worlds/{hotel}", content="In town.")
    plan = check_type(ana.send("POST", f"/v1/worlds/{fork}/merge", plan=True), wire.Merged)
    assert [each.world for each in plan.undecided] == [hotel] and plan.receipt is None
    assert ana.send("POST", f"/v1/worlds/{fork}/merge")["receipt"] is None
    done = ana.send("POST", f"/v1/worlds/{fork}/merge", decide={plan.conflicts[0].id: "theirs"})
    assert check_type(done, wire.Merged).receipt and ana.get(f"/v1/worlds/{hotel}")["content"] == "A hostel."
    assert ana.send("POST", f"/v1/worlds/{fork}/merge")["receipt"] is None
    assert ana("POST", f"/v1/worlds/{trip}/merge").status_code == 422


def test_a_key_of_one_world_has_its_own_statements_and_forks(served: RestServer, ana: RestClient) -> None:
    home = ana.send("POST", "/v1/worlds", name="home")["refs"][0]
    other = ana.send("POST", "/v1/worlds", name="other")["refs"][0]
    ana.send("POST", f"/v1/worlds/{home}/members", name="trip")
    assert served.caller("host", home)("POST", f"/v1/worlds/{home}/fork").status_code == 409
    menu = ana.send("POST", f"/v1/worlds/{home}/members", name="menu")["refs"][0]
    board = ana.send("POST", "/v1/worlds", name="board")["refs"][0]
    for world in (menu, board):
        ana.send("POST", f"/v1/worlds/{world}/statements", statements=[[A, SERVES, '"tea"']])
    guest = served.caller("guest", home)
    (seen,) = check_type(guest.get("/v1/worlds/menu/statements"), wire.Statements).statements
    assert (seen.world, seen.seq) == (menu, None)
    assert guest("GET", f"/v1/worlds/{board}/statements").status_code == 404
    for method, path in (("GET", "statements"), ("POST", "fork"), ("POST", "merge"), ("DELETE", "statements")):
        assert guest(method, f"/v1/worlds/{other}/{path}").status_code == 404, path
    fork = guest.send("POST", "/v1/worlds/trip/fork")["refs"][0]
    assert served.db.view().containers(fork) == [home]
    guest.send("POST", f"/v1/worlds/{fork}/members", name="bus")
    assert guest.send("POST", f"/v1/worlds/{fork}/merge")["receipt"]["seq"] is None
    lent = str(served.db.fork(other, into=home).ref)
    served.db.create("Note", "more", world=lent)
    refused = guest("POST", f"/v1/worlds/{lent}/merge", json={"plan": True})
    assert refused.status_code == 404 and other not in refused.text


def test_sparql_of_a_key_of_one_world_ends_at_it(served: RestServer, ana: RestClient) -> None:
    home = ana.send("POST", "/v1/worlds", name="home", content="inside")["refs"][0]
    other = ana.send("POST", "/v1/worlds", name="other", content="outside")["refs"][0]
    ana.send("POST", f"/v1/worlds/{other}/statements", statements=[[A, SERVES, '"outside"']])
    guest = served.caller("guest", home)
    rows = guest.get("/v1/sparql", query=NAMES)["results"]["bindings"]
    assert [row["name"]["value"] for row in rows] == ["home"]
    memory = guest("GET", f"/v1/sparql?query={quote('SELECT * FROM wdb:memory { ?s ?p ?o }')}")
    assert "inside" in memory.text and "outside" not in memory.text and other not in memory.text
    named = f"SELECT * FROM <urn:worlddb:world:{other}> {{ ?s ?p ?o }}"
    assert "outside" not in guest("GET", f"/v1/sparql?query={quote(named)}").text


def test_an_update_with_a_confined_key_reads_nothing_from_outside(served: RestServer, ana: RestClient) -> None:
    secret = ana.send("POST", "/v1/worlds", name="secret")["refs"][0]
    home = ana.send("POST", "/v1/worlds", name="home")["refs"][0]
    ana.send("POST", "/v1/worlds/secret/statements", statements=[[A, SERVES, '"hidden"']])
    inside, how = served.caller("inside", home), {"Content-Type": "application/sparql-update"}
    for graph in (f"urn:worlddb:world:{secret}", "https://worlddb.dev/ns#memory"):
        taken = f"INSERT {{ ?s ?p ?o }} WHERE {{ GRAPH <{graph}> {{ ?s ?p ?o FILTER(CONTAINS(STR(?o), 'hidden')) }} }}"
        inside("POST", f"/v1/worlds/{home}/sparql", content=taken, headers=how)
        inside("POST", "/v1/sparql", content=taken, headers=how)
    assert _objects(ana, "home") == []
    mine = inside("POST", "/v1/sparql", content="INSERT DATA { <urn:a> <urn:b> 'own' }", headers=how)
    new = inside("POST", "/v1/worlds/user:bo/sparql", content="INSERT DATA { <urn:a> <urn:b> 'bo' }", headers=how)
    assert [note["text"] for note in new.json()["notes"]] == ["Nothing was written for user:bo before (capitals count)"]
    assert mine.status_code == 200 and _objects(ana, "home") == ['"own"']
    assert ana("POST", "/v1/sparql", content="CLEAR ALL", headers=how).status_code == 422


def test_who_searches_inside_a_world_is_told_that_its_own_statements_are_not_searched(ana: RestClient) -> None:
    ana.send("POST", "/v1/worlds/bakery/statements", statements=[[A, SERVES, '"rye bread"']])
    for path in ("/v1/worlds/bakery/search", "/v1/worlds/bakery/recall"):
        found = ana.get(path, text="rye bread")
        assert found["hits"] == [] and any("/v1/recall" in note for note in found["notes"])
    (hit,) = ana.get("/v1/recall", text="rye bread")["hits"]
    assert hit["name"] == "bakery"
    ana.send("POST", "/v1/worlds/bakery/memories", text="The rye bread is sold out.")
    assert not any("/v1/recall" in note for note in ana.get("/v1/worlds/bakery/search", text="rye bread")["notes"])
