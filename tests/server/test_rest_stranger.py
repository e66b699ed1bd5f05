"""What somebody meets who has curl, a key and the page of the interface: each mistake is told with its remedy."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

import worlddb
from tests.server.test_jobs_and_events import ended
from tests.server.test_serve import serving
from tests.support.rest import RestClient, serve_store
from worlddb.reconciler.commands import outcome
from worlddb.tools.server import problems

PREFIX = "@prefix : <https://a.example/> ."
TURTLE = f'{PREFIX} :luna :serves "tea" , "cake" ; :near [ :street "Main" ] .'
RDF = {
    "text/turtle": b'"tea"',
    "application/trig": b'"tea"',
    "application/n-triples": b'<https://a.example/luna> <https://a.example/serves> "tea" .',
    "application/n-quads": b'<https://a.example/luna> <https://a.example/serves> "tea" .',
    "application/ld+json": b'"@value":"tea"',
    "application/rdf+xml": b">tea</",
}


@pytest.fixture(scope="module")
def ana(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestClient]:
    with serve_store(tmp_path_factory.mktemp("stranger")) as served:
        caller = served.caller("ana")
        sent = caller("POST", "/v1/worlds/cafes/statements", content=TURTLE, headers={"Content-Type": "text/turtle"})
        assert sent.status_code == 201
        yield caller


def told(caller: RestClient, method: str, path: str, status: int, **how: Any) -> tuple[str, str]:
    """What was wrong with a request, and what to do next."""
    answer = caller(method, path, **how)
    assert answer.status_code == status, answer.text
    return answer.json()["detail"], answer.json()["remedy"]


def test_a_word_that_is_none_of_those_allowed_is_told_them(ana: RestClient) -> None:
    """The remedy listed the fields of the body, and not what the wrong one takes."""
    body = {"text": "hi", "on_near": "merge"}
    _, remedy = told(ana, "POST", "/v1/worlds/cafes/memories", 422, json=body)
    assert remedy == "on_near is one of note, propose, supersede_same_subject: see /openapi.json"
    _, remedy = told(ana, "GET", "/v1/worlds/cafes/edges", 422, params={"direction": "up"})
    assert "out, in, both" in remedy
    _, remedy = told(ana, "GET", "/v1/worlds", 422, params={"properties": "{"})
    assert "properties" in remedy


def test_who_is_only_named_answers_where_nothing_else_does(ana: RestClient) -> None:
    """Entries that memories were about came before what was said of them."""
    ana.send("POST", "/v1/worlds/inn/memories", text="The hotel is by the station.", about=["hotel", "Mia"])
    hits = ana.get("/v1/worlds/inn/recall", text="where is the hotel?")["hits"]
    assert [each["content"] for each in hits] == ["The hotel is by the station."]
    asked = {"text": "hotel", "type": "Entity"}
    assert [each["name"] for each in ana.send("POST", "/v1/worlds/inn/recall", **asked)["hits"]][:1] == ["hotel"]
    ana.send("POST", "/v1/worlds/names/members", type="Entity", name="Zaphod")
    assert ana.get("/v1/worlds/names/recall", text="Zaphod")["hits"][0]["name"] == "Zaphod"


@pytest.mark.parametrize("media_type", RDF)
def test_what_came_in_turtle_goes_out_in_every_format(ana: RestClient, media_type: str) -> None:
    """It could be read as JSON alone, statement by statement, and 406 was the answer to who asked for Turtle."""
    answer = ana("GET", "/v1/worlds/cafes/statements", headers={"Accept": media_type})
    assert (answer.status_code, answer.headers["content-type"]) == (200, media_type), answer.text
    assert RDF[media_type] in answer.content and answer.headers["etag"]
    known = {"Accept": media_type, "If-None-Match": answer.headers["etag"]}
    assert ana("GET", "/v1/worlds/cafes/statements", headers=known).status_code == 304
    copy = f"copy-{media_type[-4:].strip('+')}"
    sent = ana("POST", f"/v1/worlds/{copy}/statements", content=answer.content, headers={"Content-Type": media_type})
    assert sent.status_code == 201 and len(ana.get(f"/v1/worlds/{copy}/statements")["statements"]) == 4


def test_a_moment_holds_for_a_format_of_rdf_and_a_pattern_does_not(ana: RestClient) -> None:
    turtle = {"Accept": "text/turtle"}
    path = "/v1/worlds/hours/statements"
    window = {"valid_from": "2020-01-01", "valid_to": "2021-01-01"}
    ana.send("POST", path, statements=[["<urn:luna>", "<urn:opens>", '"9"']], **window)
    assert b"9" in ana("GET", f"{path}?valid=2020-06-01", headers=turtle).content
    assert b"9" not in ana("GET", path, headers=turtle).content
    for more in ("subject=%3Curn:luna%3E", "graph=default"):
        detail, remedy = told(ana, "GET", f"{path}?{more}", 422, headers=turtle)
        assert "text/turtle has all statements" in detail and "CONSTRUCT" in remedy
    ana.send("POST", path, statements=[["<urn:luna>", "<urn:opens>", '"8"', "<urn:g>"]])
    assert "trig" in " ".join(told(ana, "GET", path, 422, headers=turtle)).casefold()


@pytest.mark.parametrize(
    ("query", "detail", "remedy"),
    [
        ("SELECT * {\n ?s ex:p ?o }", "Line 2, column 5: the prefix ex: is not declared", "PREFIX ex: <…>"),
        ("PREFIX a: <urn:a:> SELECT * { ?s :p ?o }", "column 34: the prefix : is not declared", "PREFIX : <…>"),
        ("PREFIX a: <urn:a:> INSERT DATA { a:b a:c 1 }", "INSERT at line 1, column 20 begins an update", "by POST"),
        ("SELECT * { ?s ?p }", "Line 1, column 19 breaks the grammar", "Correct the query there"),
        ("SELECT * { ?s wdb:name 'ex:p' , \"a:b\" . # c:d\n }}", "breaks the grammar", "Correct the query there"),
        ("SELEC", "column 6 breaks the grammar of SPARQL 1.1: that word", "a query begins with SELECT, ASK"),
    ],
)
def test_a_query_error_names_the_fault(ana: RestClient, query: str, detail: str, remedy: str) -> None:
    """The engine said of each "expected OPTIONAL" or "expected CONSTRUCT"."""
    found = told(ana, "GET", "/v1/worlds/cafes/sparql", 400, params={"query": query})
    assert detail in found[0] and remedy in found[1], found


def test_an_update_given_as_a_query_is_reported(ana: RestClient) -> None:
    sent: dict[str, Any] = {"content": "ASK {}", "headers": {"Content-Type": "application/sparql-update"}}
    detail, remedy = told(ana, "POST", "/v1/worlds/cafes/sparql", 400, **sent)
    assert "ASK at line 1, column 1 begins a query" in detail and "application/sparql-query" in remedy
    sent = {"content": "INSERT DATA { <urn:a> ex:b 1 }", "headers": {"Content-Type": "application/sparql-update"}}
    assert "the prefix ex: is not declared" in told(ana, "POST", "/v1/worlds/cafes/sparql", 400, **sent)[0]


def test_a_query_as_curl_sends_it_by_data_is_told_how_to_send_it(ana: RestClient) -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    _, remedy = told(ana, "POST", "/v1/worlds/cafes/sparql", 422, content="ASK{}", headers=form)
    assert "query=" in remedy and "application/sparql-query" in remedy


def test_a_relative_iri_error_suggests_a_base(ana: RestClient) -> None:
    sent: dict[str, Any] = {"content": '<a> <b> "c" .', "headers": {"Content-Type": "text/turtle"}}
    assert "base" in told(ana, "POST", "/v1/worlds/cafes/statements", 422, **sent)[1]
    assert ana("POST", "/v1/worlds/based/statements?base=https://a.example/", **sent).status_code == 201


@pytest.mark.parametrize(
    ("method", "path", "body", "names"),
    [
        ("GET", "/v1/worlds/cafes/search?q=tea", None, ("Did you mean text?", "valid", "ingested")),
        ("POST", "/v1/worlds/cafes/recall", {"text": "tea", "limit": 3}, ("Did you mean k?", "lanes")),
        ("POST", "/v1/worlds/cafes/memories", {"text": "x", "since": "2020-01-01"}, ("Did you mean valid_from?",)),
        ("POST", "/v1/worlds/cafes/members", {"name": "x", "until": "2030-01-01"}, ("Did you mean valid_to?",)),
        ("GET", "/v1/worlds/cafes?valid_at=2020-01-01", None, ("valid", "seq")),
        ("GET", "/v1/jobs?limit=3", None, ("It has none",)),
        ("POST", "/v1/worlds/cafes/members", {"name": "x", "kind": "T"}, ("type", "content", "valid_from")),
        ("POST", "/v1/worlds/cafes/merge", {"decide": ["a"]}, ("decide", "on_conflict")),
    ],
)
def test_a_wrong_name_is_answered_with_the_valid_names(
    ana: RestClient, method: str, path: str, body: Any, names: tuple[str, ...]
) -> None:
    _, remedy = told(ana, method, path, 422, json=body)
    assert all(name in remedy for name in names) and "/openapi.json" in remedy


def test_a_remedy_names_what_this_door_has(ana: RestClient) -> None:
    """They named find, known and a timedelta of the library."""
    unknown = told(ana, "GET", f"/v1/worlds/{'a' * 32}", 404)[1]
    assert unknown == "Look it up by name with GET /v1/worlds?name=…"
    body = {"text": "x", "ttl": -1}
    assert "timedelta" not in told(ana, "POST", "/v1/worlds/cafes/memories", 422, json=body)[1]


def test_who_has_one_world_is_told_to_give_a_time_by_the_name_that_it_has_here(tmp_path: Path) -> None:
    with serve_store(tmp_path) as served:
        guest = served.caller("guest", served.db.create("Topic", "alpha").ref)
        remedy = told(guest, "GET", "/v1/worlds/alpha?seq=1", 422)[1]
    assert remedy == "Give ingested as a time (ISO 8601)"


def test_an_empty_body_error_says_what_to_send(ana: RestClient) -> None:
    """It was "The body is not JSON: Input data was truncated"."""
    detail, remedy = told(ana, "POST", "/v1/worlds/cafes/erase", 400)
    assert detail == "The body is missing" and "reason" in remedy


def test_a_plan_of_an_erasure_needs_no_reason_and_an_erasure_does(ana: RestClient) -> None:
    ref = ana.send("POST", "/v1/worlds", name="sol")["refs"][0]
    plan = ended(ana, ana("POST", f"/v1/worlds/{ref}/erase", json={"plan": True}))
    assert plan.result is not None and plan.result["worlds"] == [ref]
    for blank in ({}, {"reason": ""}, {"reason": " "}):
        detail, remedy = told(ana, "POST", f"/v1/worlds/{ref}/erase", 422, json=blank)
        assert detail == "The reason is missing" and "plan" in remedy
    assert not ana.get(f"/v1/worlds/{ref}")["erased"]


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "remedy"),
    [
        ("GET", "/v1/worlds/nowhere", None, 404, "GET /v1/worlds?name="),
        ("POST", "/v1/worlds/cafes/merge", {}, 422, "POST /v1/worlds/{world}/fork"),
        ("POST", "/v1/worlds/tried/merge", {"decide": {"nope": "ours"}}, 422, '{"plan": true}'),
    ],
)
def test_a_remedy_names_a_request_and_no_call_of_python(
    ana: RestClient, method: str, path: str, body: Any, status: int, remedy: str
) -> None:
    if "/tried/" in path and ana("GET", "/v1/worlds/tried").status_code == 404:
        ana.send("POST", "/v1/worlds/cafes/fork", name="tried")
    found = told(ana, method, path, status, json=body)[1]
    assert remedy in found and "view." not in found and "plan=True" not in found


def test_what_is_no_bundle_is_not_told_where_the_server_put_it(ana: RestClient) -> None:
    job = ended(ana, ana("POST", "/v1/bundles/import", content=TURTLE))
    assert job.problem is not None and job.problem.code == "invalid_bundle"
    assert job.problem.detail.startswith("The body is not a bundle") and "worlddb-jobs" not in job.problem.detail
    assert "/v1/bundles" in job.problem.remedy and "`worlddb" not in job.problem.remedy


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        (b'{"name": "caf\\ud800"}', r"half of a surrogate pair, \\ud800, at byte 13"),
        (b'{"name": "caf\\uDfffx"}', r"half of a surrogate pair, \\uDfff, at byte 13"),
        (b'{"name": "\\ud83d\\ude00\\ud83d\\u0041"}', r"half of a surrogate pair, \\ud83d, at byte 22"),
        (b'{"name": "caf\xe9"}', "not UTF-8: byte 13 is 0xe9"),
        (b'{"name": "\\\\ud800", x}', "not JSON"),
    ],
)
def test_an_invalid_body_is_reported_with_its_place(ana: RestClient, body: bytes, detail: str) -> None:
    """Half of a pair was told as data that were cut short."""
    found = ana("POST", "/v1/worlds", content=body, headers={"Content-Type": "application/json"})
    problem = found.json()
    assert (found.status_code, problem["code"]) == (400, "malformed")
    assert re.search(detail, problem["detail"]) and problem["remedy"]
    assert ana.send("POST", "/v1/worlds", name="\N{GRINNING FACE}")["refs"]


def test_a_type_and_a_time_that_are_none_are_told_without_calls_of_python(ana: RestClient) -> None:
    for name in ("one", "two"):
        ana.send("POST", "/v1/worlds", name=name)
    said = [
        told(ana, "POST", "/v1/edges", 422, json={"source": "one", "type": "hates", "target": "two"}),
        told(ana, "POST", "/v1/worlds/one/fork", 404, json={"at": "20200101"}),
        told(ana, "POST", "/v1/worlds/one/merge", 422, json={}),
    ]
    assert not [each for each in said if "db." in each[1] or "view" in each[1] or not each[1]], said


def test_a_time_that_is_none_is_named_as_it_was_sent(ana: RestClient) -> None:
    """It was called ``since``, which nobody had sent."""
    detail, _ = told(ana, "POST", "/v1/worlds/cafes/memories", 422, json={"text": "x", "valid_from": "soon"})
    assert detail == "valid_from 'soon' is not a time"


def test_a_stream_goes_on_behind_the_event_that_a_client_had_last(tmp_path: Path) -> None:
    """As browsers and libraries do after a cut: the address stays, and the id stands in a header."""
    with serving(tmp_path / "store") as server, server.client() as client:
        for name in ("one", "two", "three"):
            assert client.post("/v1/worlds", json={"name": name}).status_code == 201
        wrong = client.get("/v1/events?after=12").json()
        assert wrong["detail"] == "No event has the id '12'" and "of an event of this stream" in wrong["remedy"]
        assert client.get("/v1/events", headers={"Last-Event-ID": "12"}).status_code == 422
        ids: list[str] = []
        with client.stream("GET", "/v1/events") as stream:
            lines = stream.iter_lines()
            next(lines)
            client.post("/v1/worlds", json={"name": "four"})
            client.post("/v1/worlds", json={"name": "five"})
            created = 0
            for line in lines:
                ids += [line.removeprefix("id: ")] if line.startswith("id: ") else []
                created += line == "event: created"
                if created == 2 and not line:
                    break
        began = time.monotonic()
        ways: tuple[dict[str, Any], ...] = ({"headers": {"Last-Event-ID": ids[0]}}, {"params": {"after": ids[0]}})
        for how in ways:
            with client.stream("GET", "/v1/events", **how) as stream:
                first = next(line for line in stream.iter_lines() if line.startswith("id: "))
            assert first == f"id: {ids[1]}"
        assert time.monotonic() - began < 30
        page = msgspec.json.decode(client.get("/openapi.json").content)
        assert "Last-Event-ID" in [each["name"] for each in page["paths"]["/v1/events"]["get"]["parameters"]]


def test_a_revision_that_says_nothing_changes_nothing(ana: RestClient) -> None:
    """It wrote another version that said the same."""
    ref = ana.send("POST", "/v1/worlds", name="luna", content="open")["refs"][0]
    before = ana.get(f"/v1/worlds/{ref}/history")["versions"]
    tag = ana("GET", f"/v1/worlds/{ref}").headers["etag"]
    for headers in ({}, {"If-Match": tag}):
        receipt = ana("PATCH", f"/v1/worlds/{ref}", json={}, headers=headers).json()
        assert (receipt["outcome"], receipt["events"], receipt["refs"]) == ("unchanged", 0, [ref])
    assert ana.get(f"/v1/worlds/{ref}/history")["versions"] == before
    for said in ({"why": "checked again"}, {"valid_from": "2024-01-01"}):
        assert ana.send("PATCH", f"/v1/worlds/{ref}", **said)["outcome"] == "committed"


def test_notes_and_remedies_of_members_are_requests_and_no_python(ana: RestClient) -> None:
    ref = ana.send("POST", "/v1/worlds", name="sessions")["refs"][0]
    inner = ana.send("POST", f"/v1/worlds/{ref}/members", name="a talk", content="said once")["refs"][0]
    asked = ended(ana, ana("POST", f"/v1/worlds/{ref}/erase", json={"reason": "asked"}))
    assert asked.problem is not None and '{"members": true}' in asked.problem.remedy
    receipt = ana("DELETE", f"/v1/worlds/{ref}").json()
    assert [note["code"] for note in receipt["notes"]] == ["members_remain"] and inner in receipt["notes"][0]["refs"]
    assert "?members=true" in receipt["notes"][0]["text"] and inner[:12] in receipt["notes"][0]["text"]
    done = ended(ana, ana("POST", f"/v1/worlds/{ref}/erase", json={"reason": "asked", "members": False}))
    assert done.result is not None
    [note] = [each for each in done.result["receipt"]["notes"] if each["code"] == "members_left"]
    assert '{"members": true}' in note["text"] and inner[:12] in note["text"]


@pytest.mark.parametrize("code", outcome.NOTES)
def test_no_note_over_rest_names_a_call_or_an_argument_of_python(code: str) -> None:
    text = problems.note_text(worlddb.Note(code, ("one", "two")))
    assert not re.search(r"=True|=False|\b(db|view)\.|\brevive=", text)


def test_a_plus_that_became_a_blank_is_told_how_urls_have_it(ana: RestClient) -> None:
    detail, remedy = told(ana, "GET", "/v1/worlds?valid=2026-06-01T01:00+02:00", 422)
    assert "valid '2026-06-01T01:00 02:00' is not a time" in detail and "%2B" in remedy
    assert ana("GET", "/v1/worlds?valid=2026-06-01T01:00%2B02:00").status_code == 200


def test_a_guard_tells_what_to_do_as_the_remedy() -> None:
    for message in ("The request has two: send one", "This is none; send one"):
        told = msgspec.json.decode(bytes(problems.guard_response(400, message).body))
        assert told["remedy"] == "Send one" and "send one" not in told["detail"]


def test_repeated_or_unaddressed_messages_are_refused(ana: RestClient) -> None:
    """The last one won, and a body where there is none was passed over."""
    path = "/v1/worlds/twice/memories"
    before = ana.get("/v1/head")
    keys = (("Idempotency-Key", "one"), ("Idempotency-Key", "two"))
    bodies = (b'{"text": "a", "text": "b"}', b'{"text": "a", "properties": {"b": [{"c": 1, "d": 1.5e300, "c": 2}]}}')
    for refused, told in (
        (ana("POST", path, json={"text": "a"}, headers=[*keys]), "several Idempotency-Key"),
        (ana("POST", path, content=bodies[0]), "'text' twice"),
        (ana("POST", path, content=bodies[1]), "'c' twice"),
        (ana("PUT", "/v1/worlds/twice", json={"type": "Person", "nonsense": 1}), "type"),
        (ana("PUT", "/v1/worlds/twice", content=b"not json"), "not JSON"),
        (ana("GET", "/v1/worlds/cafes?valid=2026-06-01T01:00+02:00"), "01:00%2B02:00"),
    ):
        assert refused.status_code in (400, 422) and told in refused.text, refused.text
    assert ana("GET", "/v1/worlds/cafes?valid=2090-06-01T01:00%2B02:00").status_code == 200
    update = {"content": "INSERT DATA { <https://a.example/a> <https://a.example/b> 1 }"}
    assert ana.get("/v1/head") == before
    headers = {"Idempotency-Key": "one", "Content-Type": "application/sparql-update"}
    sent = [ana("POST", f"/v1/worlds/updated {each}/sparql", headers=headers, **update) for each in (1, 1, 2)]
    assert [each.status_code for each in sent] == [200, 200, 409] and sent[2].json()["code"] == "idempotency_conflict"
