"""SPARQL with a key of one world: two stores that differ outside of it alone answer the same, byte for byte."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx

from tests.support.rest import RestClient, serve_store
from worlddb import ManualClock

OUTSIDE = "zyzzyva"
"""A word that stands in everything outside."""
A, B, KNOWS = "<https://a.example/a>", "<https://a.example/b>", "<https://a.example/knows>"
UPDATE = {"Content-Type": "application/sparql-update"}
READS = (
    "SELECT * { ?s ?p ?o } ORDER BY ?s ?p ?o",
    "SELECT ?g (COUNT(*) AS ?n) { GRAPH ?g { ?s ?p ?o } } GROUP BY ?g ORDER BY ?g",
    f"SELECT * {{ {A} ({KNOWS}|^{KNOWS})* ?x }} ORDER BY ?x",
    f"SELECT * {{ ?x !{KNOWS}+ ?y }} ORDER BY ?x ?y",
    f"SELECT * {{ <https://a.example/{OUTSIDE}> {KNOWS}? ?x }}",
    "SELECT * FROM <urn:worlddb:world:MEMBER> { ?s ?p ?o } ORDER BY ?s ?p ?o",
    "SELECT * FROM <urn:worlddb:world:OUTSIDE> { ?s ?p ?o }",
    "SELECT * FROM NAMED <urn:worlddb:world:OUTSIDE> { GRAPH ?g { ?s ?p ?o } }",
    "SELECT * FROM <urn:worlddb:world:OUTSIDE?ingested=2099-01-01> { ?s ?p ?o }",
    "SELECT * FROM <urn:worlddb:world:OUTSIDE?valid=2001-01-01> { ?s ?p ?o }",
    "SELECT * FROM <urn:worlddb:world:OUTSIDE?valid=nonsense> { ?s ?p ?o }",
    "SELECT * { GRAPH <urn:worlddb:world:OUTSIDE> { ?s (!<urn:x>)* ?o } }",
    "SELECT * FROM wdb:memory { ?s ?p ?o } ORDER BY ?s ?p ?o",
    "SELECT * FROM <https://worlddb.dev/ns#memory?ingested=2001-01-01> { ?s ?p ?o }",
    "SELECT ?x (COUNT(*) AS ?n) FROM wdb:memory { ?x (!<urn:x>|^!<urn:x>)* ?y } GROUP BY ?x ORDER BY ?x",
    "SELECT ?p FROM wdb:memory { <urn:worlddb:world:MEMBER> ?p ?o } ORDER BY ?p",
    "ASK FROM wdb:memory { <urn:worlddb:world:OUTSIDE> ?p ?o }",
    "DESCRIBE <urn:worlddb:world:OUTSIDE> FROM wdb:memory",
    "CONSTRUCT { ?s ?p ?o } FROM wdb:memory { ?s <https://worlddb.dev/ns#edge/refers_to>+ ?o ; ?p ?o }",
    "SELECT ?x ?score ?words FROM <https://worlddb.dev/ns#search?text=paid+jon> "
    "{ ?x wdb:score ?score OPTIONAL { ?x wdb:words ?words } } ORDER BY ?x",
    f"SELECT * FROM <https://worlddb.dev/ns#search?text={OUTSIDE}> {{ ?x ?p ?o }}",
    "SELECT * FROM <https://worlddb.dev/ns#nothing> { ?s ?p ?o }",
    "SELECT * { SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } }",
    "SELECT * { SERVICE SILENT <urn:worlddb:world:OUTSIDE> { ?s ?p ?o } }",
    "SELECT * { ?s ?p }",
    "SELECT (1/0 AS ?x) {}",
)
CHANGES = (
    "INSERT { ?s ?p ?o } WHERE { GRAPH <urn:worlddb:world:OUTSIDE> { ?s ?p ?o } }",
    "INSERT { ?s ?p ?o } USING <urn:worlddb:world:OUTSIDE> WHERE { ?s ?p ?o }",
    "INSERT { ?s ?p ?o } USING NAMED <urn:worlddb:world:OUTSIDE> WHERE { GRAPH ?g { ?s ?p ?o } }",
    "WITH <urn:worlddb:world:OUTSIDE> DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }",
    "DELETE { GRAPH ?g { ?s ?p ?o } } WHERE { GRAPH ?g { ?s ?p ?o } }",
    "INSERT DATA { GRAPH <urn:worlddb:world:OUTSIDE> { <urn:x> <urn:y> 'mine' } }",
    "COPY <urn:worlddb:world:OUTSIDE> TO DEFAULT",
    "ADD <urn:worlddb:world:OUTSIDE> TO <urn:copied>",
    "MOVE <urn:worlddb:world:OUTSIDE> TO <urn:moved>",
    "MOVE SILENT GRAPH <urn:worlddb:world:OUTSIDE> TO <urn:moved>",
    "CLEAR GRAPH <urn:worlddb:world:OUTSIDE>",
    "DROP SILENT GRAPH <urn:worlddb:world:OUTSIDE>",
    "CREATE GRAPH <urn:worlddb:world:OUTSIDE>",
    "LOAD <urn:worlddb:world:OUTSIDE>",
    "LOAD SILENT <file:///etc/hostname> INTO GRAPH <urn:loaded>",
    "COPY wdb:memory TO <urn:memory>",
    "INSERT { ?x <urn:found> ?o } WHERE { GRAPH <https://worlddb.dev/ns#search?text=paid> { ?x wdb:score ?o } }",
    "INSERT { ?s <urn:seen> ?o } WHERE { GRAPH wdb:memory { ?s wdb:name ?o } }",
    "DROP NAMED",
    "CLEAR ALL",
)
WRITES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("PATCH", "/v1/worlds/MEMBER", {"content": "paid Jon"}),
    ("POST", "/v1/worlds/MEMBER/aliases", {"aliases": ["M"]}),
    ("POST", "/v1/worlds/MEMBER/aliases", {"aliases": [OUTSIDE]}),
    ("POST", "/v1/worlds/MEMBER/statements", {"statements": [[A, KNOWS, B]]}),
    ("DELETE", "/v1/worlds/MEMBER/statements", {"statements": [[A, KNOWS, "<https://a.example/nobody>"]]}),
    ("POST", "/v1/worlds/INSIDE/members", {"name": OUTSIDE, "type": "Person", "key": "one"}),
    ("POST", "/v1/worlds", {"name": f"{OUTSIDE} too", "type": "Person"}),
    ("PUT", "/v1/worlds/" + OUTSIDE, {}),
    ("POST", "/v1/edges", {"source": "MEMBER", "type": "refers_to", "target": "OUTSIDE"}),
    ("POST", "/v1/worlds/MEMBER/move", {"to": "OUTSIDE"}),
    ("POST", "/v1/worlds/OUTSIDE/fork", {"name": "mine"}),
    ("POST", "/v1/worlds/OUTSIDE/merge", {}),
    ("POST", "/v1/worlds/OUTSIDE/erase", {"reason": "mine"}),
    ("POST", "/v1/worlds/MEMBER/fork", {"name": "tried"}),
    ("DELETE", "/v1/worlds/tried", {}),
    ("GET", "/v1/worlds/MEMBER?ingested=2099-01-01", {}),
    ("GET", "/v1/worlds/MEMBER?ingested=2001-01-01", {}),
    ("GET", "/v1/worlds/MEMBER/recall?text=jon", {}),
    ("GET", "/v1/log", {}),
)
"""Twice each, so that what changes nothing any more is among them."""


class Told:
    """What a client of one world is told, with the references of worlds by their names."""

    def __init__(self, caller: RestClient, known: dict[str, str], clock: ManualClock) -> None:
        self._caller, self._known, self._clock = caller, known, clock
        self.answers: list[Any] = []

    def ask(self, method: str, path: str, **how: Any) -> None:
        asked = f"{method} {path} { ({**how, 'headers': sorted(how.get('headers', ()))}) }"
        for ref, name in self._known.items():
            path = path.replace(name, ref)
            if "content" in how:
                how["content"] = how["content"].replace(name, ref)
            if "json" in how:
                how["json"] = json.loads(json.dumps(how["json"]).replace(f'"{name}"', f'"{ref}"'))
        self._clock.advance(1_000_000)
        answer = self._caller(method, path, **how)
        self.answers.append((asked, answer.status_code, self._text(answer)))

    def _text(self, answer: httpx.Response) -> list[str]:
        """The words of an answer without their order, which is that of random references."""
        text = answer.text
        if answer.headers["content-type"].endswith("json"):
            told = answer.json()
            told.pop("request_id", None)
            told.pop("next_cursor", None)  # It is sealed, and never the same.
            text = str(told).replace("\\n", " ")
        return sorted(re.findall(r"[^\s'\"\\]+", self._shown(text)))

    def _shown(self, text: str) -> str:
        for ref, name in self._known.items():
            text = text.replace(ref, name)
        return re.sub(r"\b[0-9a-f]{12,}\b", "REF", text)


def _told(folder: Path, *, busy: bool) -> list[Any]:
    """What a key of one world is told where more, or less, is outside."""
    folder.mkdir()
    clock = ManualClock(1_760_000_000_000_000)
    with serve_store(folder, clock=clock, embedder=None) as served:
        owner = served.caller("owner")
        inside = owner.send("POST", "/v1/worlds", name="inside")["refs"][0]
        member = owner.send("POST", f"/v1/worlds/{inside}/members", name="Mara", content="paid Jon")["refs"][0]
        outside = owner.send("POST", "/v1/worlds", name=OUTSIDE, content=f"{OUTSIDE} paid Jon")["refs"][0]
        for world in (inside, member):
            owner.send("POST", f"/v1/worlds/{world}/statements", statements=[[A, KNOWS, B], [B, KNOWS, '"Jon paid"']])
        if busy:
            far = f"<https://a.example/{OUTSIDE}>"
            said = [[A, KNOWS, far], [far, KNOWS, B], [B, far, f'"{OUTSIDE} Jon paid"'], [A, KNOWS, B]]
            owner.send("POST", f"/v1/worlds/{outside}/statements", statements=said)
            owner.send("POST", f"/v1/worlds/{outside}/statements", statements=[[far, far, far, far]])
            owner.send("POST", f"/v1/worlds/{outside}/members", name=f"{OUTSIDE} too", content="Jon paid Jon")
            owner.send("POST", "/v1/edges", source=member, type="refers_to", target=outside)
            owner.send("POST", "/v1/edges", source=outside, type="contradicts", target=member)
            owner.send("POST", f"/v1/worlds/{outside}/fork", name=f"{OUTSIDE} forked")
            more = {"json": {"name": f"{OUTSIDE} once"}, "headers": {"Idempotency-Key": "once"}}
            assert owner("POST", f"/v1/worlds/{outside}/members", **more).status_code == 201
        before = owner.get(f"/v1/worlds/{outside}/statements")["statements"]
        told = Told(served.caller("guest", inside), {inside: "INSIDE", member: "MEMBER", outside: "OUTSIDE"}, clock)
        for query in READS:
            for world in ("", "/worlds/INSIDE"):
                told.ask("GET", f"/v1{world}/sparql?query=" + quote(query))
        for name in ("default", "named"):
            told.ask("GET", f"/v1/sparql?query=SELECT+*+{{?s+?p+?o}}&{name}-graph-uri=urn:worlddb:world:OUTSIDE")
        for params in ("seq=1", "ingested=2001-01-01", "valid=2001-01-01", "max_rows=1", "timeout_seconds=0"):
            told.ask("GET", f"/v1/sparql?query=SELECT+*+{{?s+?p+?o}}&{params}")
        for text in CHANGES:
            told.ask("POST", "/v1/sparql", content=text, headers=UPDATE)
        for path in ("/v1/worlds/OUTSIDE/sparql", "/v1/worlds/MEMBER/sparql"):
            for text in CHANGES[::4]:
                told.ask("POST", path, content=text, headers=UPDATE)
        told.ask("GET", "/v1/worlds/OUTSIDE/sparql?query=ASK+{}")
        told.ask("GET", "/v1/worlds/INSIDE/statements?limit=50")
        for method, path, body in WRITES * 2:
            told.ask(method, path, json=body)
        for method, path, body in WRITES:
            for given in ({"Idempotency-Key": "once"}, {"If-Match": f'"{owner.get("/v1/head")["root"]}"'}):
                told.ask(method, path, json=body, headers=given)
        told.ask("GET", "/v1/usage?by=total")
        assert owner.get(f"/v1/worlds/{outside}/statements")["statements"] == before, "nothing was changed outside"
        return told.answers


def test_sparql_of_one_world_depends_on_nothing_outside(tmp_path: Path) -> None:
    quiet, busy = (_told(tmp_path / str(busy), busy=busy) for busy in (False, True))
    for one, other in zip(quiet, busy, strict=True):
        assert one == other
    statuses = {status for _, status, _ in quiet}
    assert statuses <= {200, 201, 400, 403, 404, 409, 412, 422}, statuses
    assert not any(OUTSIDE in " ".join(text) for asked, _, text in quiet if "sparql" in asked and OUTSIDE not in asked)
