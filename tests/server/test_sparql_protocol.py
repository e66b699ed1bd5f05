"""The cases of the W3C's suite for the SPARQL 1.1 Protocol, which tells in words what is sent and what is answered."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from tests.support.rest import RestClient, serve_store

PATH = "/v1/worlds/cafes/sparql"
FORM, QUERY, UPDATE = (f"application/{kind}" for kind in ("x-www-form-urlencoded", "sparql-query", "sparql-update"))
BOTH = "{ ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } }"
OBJECTS = f"SELECT ?o {{ {BOTH} }}"
COPIED = f"INSERT {{ GRAPH <urn:copy> {{ ?s ?p ?o }} }} WHERE {{ {BOTH} }}"


@pytest.fixture
def ana(tmp_path: Path) -> Iterator[RestClient]:
    with serve_store(tmp_path) as served:
        caller = served.caller("ana")
        stated = [["<urn:s>", "<urn:p>", f'"{name}"', f"<urn:{name}>"] for name in ("one", "two", "three")]
        caller.send("POST", "/v1/worlds/cafes/statements", statements=stated)
        yield caller


def _post(caller: RestClient, kind: str | None, content: str | bytes) -> Any:
    return caller("POST", PATH, content=content, headers={} if kind is None else {"Content-Type": kind})


def _objects(answer: Any) -> list[str]:
    assert answer.status_code == 200, answer.text
    return sorted(row["o"]["value"] for row in answer.json()["results"]["bindings"])


def _query(text: str, **graphs: list[str]) -> str:
    named = {f"{name}-graph-uri": [f"urn:{each}" for each in listed] for name, listed in graphs.items()}
    return urlencode({"query": text, **named}, doseq=True)


@pytest.mark.parametrize(
    ("graphs", "found"),
    [
        ({"default": ["one"]}, ["one"]),
        ({"default": ["one", "two"]}, ["one", "two"]),
        ({"named": ["one", "three"]}, ["one", "three"]),
        ({"default": ["one", "two"], "named": ["two", "three"]}, ["one", "three", "two", "two"]),
    ],
)
def test_a_query_is_asked_of_the_dataset_of_the_request(
    ana: RestClient, graphs: dict[str, list[str]], found: list[str]
) -> None:
    for text in (OBJECTS, f"SELECT ?o FROM <urn:two> FROM NAMED <urn:three> {{ {BOTH} }}"):
        asked = _query(text, **graphs)
        assert _objects(ana("GET", f"{PATH}?{asked}")) == _objects(_post(ana, FORM, asked)) == found
        beside = asked.partition("&")[2]
        assert _objects(ana("POST", f"{PATH}?{beside}", content=text, headers={"Content-Type": QUERY})) == found


@pytest.mark.parametrize(
    ("graphs", "copied"),
    [
        ({"": ["one"]}, ["one"]),
        ({"": ["one", "two"]}, ["one", "two"]),
        ({"named-": ["one", "three"]}, ["one", "three"]),
        ({"": ["one"], "named-": ["two"]}, ["one", "two"]),
    ],
)
def test_an_update_looks_at_the_dataset_of_the_request(
    ana: RestClient, graphs: dict[str, list[str]], copied: list[str]
) -> None:
    named = {f"using-{kind}graph-uri": [f"urn:{each}" for each in listed] for kind, listed in graphs.items()}
    seen = f"{PATH}?{_query('SELECT ?o { GRAPH <urn:copy> { ?s ?p ?o } }')}"
    assert _post(ana, FORM, urlencode({"update": COPIED, **named}, doseq=True)).is_success
    assert _objects(ana("GET", seen)) == copied
    assert _post(ana, UPDATE, "DROP GRAPH <urn:copy>").is_success
    beside = f"{PATH}?{urlencode(named, doseq=True)}"
    assert ana("POST", beside, content=COPIED, headers={"Content-Type": UPDATE}).is_success
    assert _objects(ana("GET", seen)) == copied


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("SELECT (1 AS ?one) {}", ["sparql-results+xml", "sparql-results+json", "csv", "tab-separated-values"]),
        ("ASK {}", ["sparql-results+xml", "sparql-results+json"]),
        ("DESCRIBE <urn:s>", ["rdf+xml", "turtle", "n-triples"]),
        ("CONSTRUCT { ?s ?p ?o } { GRAPH ?g { ?s ?p ?o } }", ["rdf+xml", "turtle", "n-triples"]),
    ],
)
def test_an_answer_has_a_type_of_its_form(ana: RestClient, text: str, kinds: list[str]) -> None:
    answers = [ana("GET", f"{PATH}?query={quote(text)}"), _post(ana, QUERY, text), _post(ana, FORM, _query(text))]
    for kind in kinds:
        for space in ("application", "text"):
            accept = {"Accept": f"{space}/{kind}"}
            answers.append(ana("GET", f"{PATH}?query={quote(text)}", headers=accept))
    for answer in answers:
        assert answer.is_success or answer.status_code == 406, answer.text
    asked = [
        answer.headers["content-type"].partition("/")[2].partition(";")[0] for answer in answers if answer.is_success
    ]
    assert set(asked) == {*kinds} | {asked[0]} and asked[0] in (*kinds, "n-triples", "trig", "ld+json")


def test_a_relative_iri_is_refused_where_nothing_says_what_it_is_relative_to(ana: RestClient) -> None:
    """The service may define a base, and does not: what is kept would depend on how the server was called."""
    wrong = _post(ana, UPDATE, "INSERT DATA { GRAPH <urn:g> { <urn:s> <urn:p> <test> } }")
    assert (wrong.status_code, wrong.json()["code"]) == (400, "invalid_sparql")


@pytest.mark.parametrize(
    ("method", "params", "kind", "content"),
    [
        ("PUT", "query=ASK%20%7B%7D", None, ""),
        ("GET", "query=ASK%20%7B%7D&query=SELECT%20%2A%20%7B%7D", None, ""),
        ("POST", "", "text/plain", "ASK {}"),
        ("POST", "", None, "query=ASK%20%7B%7D"),
        ("POST", "", None, "ASK {}"),
        ("POST", "", f"{QUERY}; charset=UTF-16", "ASK {}".encode("utf-16")),
        ("GET", "query=ASK%20%7B", None, ""),
        ("GET", "update=CLEAR%20ALL", None, ""),
        ("POST", "", FORM, "update=CLEAR%20NAMED&update=CLEAR%20DEFAULT"),
        ("POST", "", "text/plain", "CLEAR ALL"),
        ("POST", "", None, "update=CLEAR%20ALL"),
        ("POST", "", f"{UPDATE}; charset=UTF-16", "CLEAR ALL".encode("utf-16")),
        ("POST", "", FORM, "update=CLEAR%20XYZ"),
        ("POST", "using-named-graph-uri=urn:one", UPDATE, "INSERT { ?s ?p 1 } USING <urn:one> WHERE { ?s ?p ?o }"),
        ("POST", "using-graph-uri=urn:one", UPDATE, "WITH <urn:one> INSERT { ?s ?p 1 } WHERE { ?s ?p ?o }"),
        ("POST", "query=ASK%20%7B%7D", UPDATE, "CLEAR ALL"),
    ],
)
def test_what_the_protocol_forbids_is_refused_and_changes_nothing(
    ana: RestClient, method: str, params: str, kind: str | None, content: str | bytes
) -> None:
    headers = {} if kind is None else {"Content-Type": kind}
    answer = ana(method, f"{PATH}?{params}" if params else PATH, content=content, headers=headers)
    assert 400 <= answer.status_code < 500, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert len(_objects(ana("GET", f"{PATH}?{_query(OBJECTS)}"))) == 3
