"""Requests drawn from the page of the interface, right and wrong ones: each is answered as the page says."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlencode

import msgspec
import pytest

from tests.support.rest import RestClient, RestServer, serve_store
from worlddb.client import wire_records as wire

REQUESTS = 400
TEXTS = (
    "",
    "a",
    "null",
    "true",
    "0",
    "-1",
    "1e99",
    "2025-01-01",
    "0001-01-01",
    "\x00",
    "é\u202e",
    "../..",
    "a" * 3_000,
)
VALUES: tuple[Any, ...] = (*TEXTS, None, True, -1, 0, 3, 2**70, 0.5, [], ["a"], [None], {}, {"a": {"$gte": 1}})
SENT = (b"ASK {}", b"query=ASK+%7B%7D", b"CLEAR ALL", b"<urn:a> <urn:b> <urn:c> .", b"{}", b"\xff", b"SELECT * {")
SPARQL = ("/v1/sparql", "/v1/worlds/{world}/sparql")
PARTS = (
    *("SELECT *", "SELECT DISTINCT ?s (COUNT(?o) AS ?n)", "ASK", "CONSTRUCT { ?s ?p ?o }", "CONSTRUCT", "DESCRIBE ?s"),
    *("INSERT DATA", "DELETE DATA", "DELETE WHERE", "INSERT { ?o <urn:p> ?s, [] }", "WITH <urn:g> DELETE { ?s ?p ?o }"),
    *("COPY <urn:g> TO DEFAULT", "MOVE <urn:g> TO <urn:g>", "DROP SILENT ALL", "CREATE GRAPH <urn:g>", "LOAD <urn:x>"),
    *("FROM wdb:memory", "FROM NAMED <urn:worlddb:world:REF?valid=2024-01-01>", "USING <urn:g>", "PREFIX : <urn:>"),
    *(
        "FROM <https://worlddb.dev/ns#search?text=note>",
        "FROM <https://worlddb.dev/ns#search>",
        "BASE <x>",
        ";",
        "WHERE",
    ),
    *("{ ?s ?p ?o }", "{ <urn:a> <urn:p> 'b'@en, 01, [] }", "{ GRAPH ?g { ?s (<urn:p>|!<urn:q>)* ?o } }", "{", "}"),
    *("{ SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } }", "{ ?s ?p ?o . GRAPH <urn:worlddb:world:REF> { ?a ?b ?c } }"),
    *(
        "{ BIND(STRUUID() AS ?s) BIND(NOW() AS ?o) }",
        "GROUP BY ?s",
        "ORDER BY ?o",
        "LIMIT 1",
        "OFFSET -1",
        "\x00",
        "\ud7ff",
    ),
)
"""Pieces of queries and updates, of which any two or three stand behind one another."""
SKIPPED = ("/v1/events", "/v1/verify", "/v1/bundles", "/v1/bundles/import")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestServer]:
    with serve_store(tmp_path_factory.mktemp("fuzz")) as found:
        yield found


def drawn(rng: random.Random, page: dict[str, Any], refs: list[str]) -> tuple[str, str, dict[str, Any], dict[str, Any]]:
    """A method, a path, what is sent with it, and the answers that the page names."""
    path = rng.choice([*(each for each in page["paths"] if each not in SKIPPED), *SPARQL * 5])
    method = "post" if path in SPARQL and rng.random() < 0.8 else rng.choice(list(page["paths"][path]))
    operation = page["paths"][path][method]
    query: dict[str, Any] = {}
    how: dict[str, Any] = {}
    seldom = 0.02 if path in SPARQL else 0.3
    for parameter in operation["parameters"]:
        is_place = parameter["in"] == "path"
        value = rng.choice(refs if is_place and rng.random() < 0.6 else (*refs, *TEXTS[1:]))
        if is_place:
            path = path.replace(f"{{{parameter['name']}}}", quote(value, safe=""))
        elif parameter["in"] == "query" and (parameter["required"] or rng.random() < seldom):
            query[parameter["name"]] = value
    if "requestBody" in operation:
        kind = rng.choice(list(operation["requestBody"]["content"]))
        how["headers"] = {"Content-Type": kind}
        is_json = kind == "application/json"
        how["content"] = json.dumps(body_of(rng, page, operation, refs)).encode() if is_json else rng.choice(SENT)
        if rng.random() < 0.1:
            how["content"] = how["content"][: rng.randrange(len(how["content"]))]
    if path.endswith("/sparql") and "requestBody" in operation:
        sparql(rng, operation, refs, how)
    return method.upper(), f"{path}?{urlencode(query)}" if query else path, how, operation["responses"]


def sparql(rng: random.Random, operation: dict[str, Any], refs: list[str], how: dict[str, Any]) -> None:
    """Send a query, an update or a form with some of the fields that it may have, and want some answer."""
    kind = how["headers"]["Content-Type"]
    text = " ".join(rng.choices(PARTS, k=rng.randrange(1, 4))).replace("REF", rng.choice(refs))
    schema = operation["requestBody"]["content"][kind]["schema"]
    if schema["type"] == "object":
        fields = {name: rng.choice((*refs, *TEXTS)) for name in schema["properties"] if rng.random() < 0.1}
        text = urlencode({rng.choice(("query", "update")): text, **fields})
    if rng.random() < 0.9:
        how["content"] = text.encode()
    if rng.random() < 0.4:
        how["headers"]["Accept"] = rng.choice(list(operation["responses"]["200"]["content"]))
    for parameter in operation["parameters"]:
        if parameter["in"] == "header" and rng.random() < 0.1:
            how["headers"][parameter["name"]] = rng.choice(('"0000"', "*", "k"))


def body_of(rng: random.Random, page: dict[str, Any], operation: dict[str, Any], refs: list[str]) -> Any:
    """A body with some of the fields that it may have, and values of all kinds."""
    name = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
    schema = page["components"]["schemas"][name]
    found = {}
    for field in schema["properties"]:
        if field in schema.get("required", ()) or rng.random() < 0.15:
            found[field] = rng.choice(refs) if rng.random() < 0.6 else rng.choice(VALUES)
    return found


@pytest.mark.parametrize("name", ["owner", "guest"])
def test_whatever_is_asked_is_answered_as_the_page_says(served: RestServer, seed: int, name: str) -> None:
    rng = random.Random(f"{seed} {name}")
    owner = served.caller(f"maker-of-{name}")
    home = owner.send("POST", "/v1/worlds", name=f"home of {name}")["refs"][0]
    refs = [owner.send("POST", f"/v1/worlds/{home}/members", name=f"note {n}")["refs"][0] for n in range(4)]
    caller: RestClient = served.caller(name, home if name == "guest" else None)
    page = owner.get("/openapi.json")
    good = 0
    for _ in range(REQUESTS // 2):
        method, path, how, documented = drawn(rng, page, [home, *refs, "note 1"])
        answer = caller(method, path, **how)
        assert answer.status_code in range(500) or answer.status_code == 501, (method, path, how, answer.text)
        if str(answer.status_code) in documented:
            good += 1
            kinds = documented[str(answer.status_code)].get("content", {})
            assert answer.headers["content-type"].partition(";")[0] in kinds, (method, path, how)
        else:
            assert answer.headers["content-type"] == "application/problem+json"
            assert msgspec.json.decode(answer.content, type=wire.Problem).status == answer.status_code
    assert good > REQUESTS // 40, "most of it never reached the store"


def test_a_parameter_that_says_null_is_a_text(served: RestServer) -> None:
    ana = served.caller("ana")
    made = ana.send("POST", "/v1/worlds", name="null")["refs"][0]
    assert made in [each["ref"] for each in ana.get("/v1/worlds", name="null")["worlds"]]
    assert ana("GET", "/v1/worlds?seq=null").status_code == 422
    assert ana("GET", "/v1/worlds?include_superseded=perhaps").status_code == 422
    assert ana("GET", "/v1/worlds?include_superseded=true&limit=3").status_code == 200
