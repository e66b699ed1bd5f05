"""REST over a store: every route, what it answers, and what it refuses."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import anyio
import httpx
import msgspec
import pytest
from msgspec.structs import replace

import worlddb
from tests.server.test_serve import PATIENCE_SECONDS
from tests.support.rest import BASE, RestClient, RestServer, check_type, serve_store
from worlddb import Database, View, check_proof
from worlddb.client import wire_records as wire
from worlddb.query.question.question import LANES
from worlddb.tools.server import client_store, interface_page, request_types, rest, serving


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestServer]:
    with serve_store(tmp_path_factory.mktemp("rest")) as found:
        yield found


@pytest.fixture(scope="module")
def ana(served: RestServer) -> RestClient:
    return served.caller("ana")


def test_a_write_that_looks_nothing_up_makes_no_view(ana: RestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    ana.send("POST", "/v1/worlds", name="Vilnius")
    views: list[int] = []
    made = Database.view

    def counted(db: Database, **how: Any) -> View:
        views.append(1)
        return made(db, **how)

    monkeypatch.setattr(Database, "view", counted)
    ana.send("POST", "/v1/worlds", name="Tartu", resolve="none")
    assert not views
    ana.send("POST", "/v1/worlds", name="Narva", world="Vilnius", resolve="none")
    assert len(views) == 1


def test_a_world_is_made_read_revised_retired_and_resumed(ana: RestClient) -> None:
    made = check_type(ana.send("POST", "/v1/worlds", name="Riga", type="Place", content="wet"), wire.Receipt)
    found = check_type(ana.get(f"/v1/worlds/{made.ref}"), wire.World)
    assert (found.name, found.type, found.content, found.author) == ("Riga", "Place", "wet", "ana")
    ana.send("PATCH", "/v1/worlds/Riga", content="dry", valid_from="2025-03-01")
    before = ana.get("/v1/worlds/Riga", ingested=made.ingested_at)
    assert before["content"] == "wet"
    assert ana.get("/v1/worlds/Riga")["content"] == "dry"
    versions = check_type(ana.get("/v1/worlds/Riga/history"), wire.Versions).versions
    assert [each.content for each in versions] == ["wet", "dry"]
    steps = check_type(ana.get("/v1/worlds/Riga/timeline"), wire.Steps).steps
    assert {each.change for each in steps} == {"written", "closed"}
    ana.send("DELETE", f"/v1/worlds/{made.ref}")
    assert ana.get(f"/v1/worlds/{made.ref}")["ended"]
    assert made.ref not in [each["ref"] for each in ana.get("/v1/worlds")["worlds"]]
    ana.send("POST", f"/v1/worlds/{made.ref}/reassert")
    assert not ana.get(f"/v1/worlds/{made.ref}")["ended"]
    ana.send("POST", f"/v1/worlds/{made.ref}/aliases", aliases=["the rainy one"])
    assert ana.get("/v1/worlds", name="the rainy one")["worlds"][0]["ref"] == made.ref


def test_the_first_write_to_a_world_makes_it(ana: RestClient) -> None:
    made = ana.send("POST", "/v1/worlds/kitchen/members", name="oven", type="Thing")
    listed = check_type(ana.get("/v1/worlds/kitchen/members"), wire.Worlds)
    assert [each.ref for each in listed.worlds] == made["refs"]
    told = check_type(ana.send("POST", "/v1/worlds/kitchen/memories", text="The oven is hot."), wire.Remembered)
    assert ana.get(f"/v1/worlds/{told.receipt.ref}")["content"] == "The oven is hot."
    once, again = (ana("PUT", "/v1/worlds/cellar").json()["ref"] for _ in range(2))
    assert once == again
    answer = ana("POST", f"/v1/worlds/{'deadbeef' * 4}/members", json={"name": "x"})
    assert (answer.status_code, answer.json()["code"]) == (404, "unknown_reference")


def test_a_change_that_is_not_seen_today_says_so_and_no_world_has_a_blank_name(ana: RestClient) -> None:
    said = {"text": "Bo lives in Lisbon.", "valid_from": "2024-01-01"}
    ref = ana.send("POST", "/v1/worlds/bo/memories", **said)["receipt"]["refs"][0]
    place = f"/v1/worlds/{ref}"
    assert ana.send("PATCH", place, content="Bo lives in Porto.", valid_from="2025-01-01")["notes"] == []
    [note] = ana.send("PATCH", place, content="Bo lives in Faro.", valid_from="2024-06-01")["notes"]
    assert note["code"] == "found_now" and "still says 'Bo lives in Porto.'" in note["text"]
    assert ana.send("PATCH", place, content="Bo lives in Braga.")["notes"] == []
    [gone] = ana.send("PATCH", place, content="Bo lives in Evora.", valid_from="2025-06-01")["notes"]
    assert "'Bo lives in Braga.', written at" in gone["text"] and "holds at no time any more" in gone["text"]
    [hidden] = ana.send("POST", f"{place}/marks", expires_at="2020-01-01")["notes"]
    assert "so nothing finds it" in hidden["text"]
    refused = ana("POST", "/v1/worlds/%20/memories", json={"text": "x"})
    assert refused.status_code == 422 and "blank" in refused.json()["detail"]


def test_a_name_is_taken_letter_by_letter_and_no_prefix_of_a_reference_for_one(ana: RestClient) -> None:
    secret = ana.send("POST", "/v1/worlds/bo/memories", text="Bo has a rash.")["receipt"]["refs"][0]
    user = secret[:4]
    assert ana("GET", f"/v1/worlds/{user}").status_code == 404
    for name, text in ((user, "I owe money."), ("BO", "I am another."), (secret[:6], "I am a third.")):
        ana.send("POST", f"/v1/worlds/{name}/memories", text=text)
        members = ana.get(f"/v1/worlds/{name}/members")["worlds"]
        assert [each["content"] for each in members] == [text]
        assert ana.get(f"/v1/worlds/{name}")["name"] == name
    assert [each["content"] for each in ana.get("/v1/worlds/bo/members")["worlds"]] == ["Bo has a rash."]
    ana.send("DELETE", f"/v1/worlds/{user}")
    assert not ana.get(f"/v1/worlds/{secret}")["ended"]
    answer = ana("GET", "/v1/worlds/bO").json()
    assert answer["code"] == "unknown_reference" and "exactly the name" in answer["detail"]


def test_what_is_refused_for_what_it_is_about_makes_no_world(ana: RestClient) -> None:
    for about in (["f" * 32], [" "]):
        answer = ana("POST", "/v1/worlds/eva/memories", json={"text": "Eva met Zed.", "about": about})
        assert answer.status_code in (404, 422) and ana("GET", "/v1/worlds/eva").status_code == 404


def test_whom_a_memory_is_about_is_made_at_the_first_mention_in_its_world(ana: RestClient) -> None:
    """A name that nothing had was 404, so that a caller had to make each person before saying anything of them."""
    said = {"text": "Zed plays chess.", "about": ["Zed", "zed", "chess  club"]}
    asked: dict[str, Any] = {"json": said, "headers": {"Idempotency-Key": "zed"}}
    first = ana("POST", "/v1/worlds/club/memories", **asked)
    assert first.status_code == 201
    ana.send("POST", "/v1/worlds/club/memories", text="Zed won on Friday.", about=["ZED"])
    again = ana("POST", "/v1/worlds/club/memories", **asked)
    assert again.json() == first.json(), "a retry finds the entries that it made itself"
    entries = ana.get("/v1/worlds/club/members", type="Entity")["worlds"]
    assert sorted(each["name"] for each in entries) == ["Zed", "chess club"]
    ana.send("POST", "/v1/worlds/other/memories", text="Zed plays the flute.", about=["Zed"])
    assert [each["name"] for each in ana.get("/v1/worlds/other/members", type="Entity")["worlds"]] == ["Zed"]
    for world, texts in (("club", {"Zed plays chess.", "Zed won on Friday."}), ("other", {"Zed plays the flute."})):
        hits = ana.send("POST", f"/v1/worlds/{world}/recall", text="what did Zed play or win?", about="Zed")["hits"]
        assert {each["content"] for each in hits} - {""} == texts


def test_a_memory_replaces_contradicts_and_expires_as_it_is_told_to(ana: RestClient) -> None:
    path = "/v1/worlds/lodger/memories"
    old = ana.send("POST", path, text="Kim lives in Lisbon.", about=["Kim"], valid_from="2024-01-01")["receipt"]["refs"]
    new: dict[str, Any] = {"text": "Kim lives in Porto.", "about": ["Kim"], "valid_from": "2025-01-01"}
    asked: dict[str, Any] = {"json": new | {"on_near": "supersede_same_subject"}, "headers": {"Idempotency-Key": "kim"}}
    first, again = (ana("POST", path, **asked).json() for _ in range(2))
    assert first == again and first["near"][0]["ref"] == old[0]
    assert ana.get(f"/v1/worlds/{old[0]}")["valid"]["to"] == "2025-01-01T00:00:00Z"
    porto = first["receipt"]["refs"][0]
    against = ana.send("POST", path, text="Kim hates Porto.", contradicts=[porto], derived_from=[porto], ttl=60)
    told = ana.get(f"/v1/worlds/{against['receipt']['refs'][0]}")
    assert told["conflicts"] == [porto] and told["rests_on"][0]["ref"] == porto and told["expires_at"]
    late = ana.send("POST", path, text="Kim lives in Faro.", replaces=[porto], valid_from="2025-06-01")
    assert ana.get(f"/v1/worlds/{porto}")["valid"]["to"] == "2025-06-01T00:00:00Z" and late["receipt"]["lost"]


def test_every_lane_can_be_asked_for() -> None:
    assert request_types.LongQuestion(text="", lanes=LANES).lanes == request_types.LongQuestion(text="").lanes
    for lane in LANES:
        msgspec.convert({"text": "", "lanes": [lane]}, request_types.LongQuestion)


def test_a_weak_answer_says_so(ana: RestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    ana.send("POST", "/v1/worlds/harbour/memories", text="The ferry to Ystad leaves at nine.")
    recall = View.recall
    monkeypatch.setattr(View, "recall", lambda *asked, **how: replace(recall(*asked, **how), weak=True))
    assert check_type(ana.get("/v1/worlds/harbour/recall", text="when does the ferry leave?"), wire.Recalled).weak


def test_questions_are_answered(ana: RestClient) -> None:
    ana.send("POST", "/v1/worlds/harbour/memories", text="The ferry to Ystad leaves at nine.")
    for path in ("/v1/recall", "/v1/worlds/harbour/recall", "/v1/worlds/harbour/search"):
        found = check_type(ana.get(path, text="when does the ferry leave?"), wire.Recalled)
        assert found.hits[0].content == "The ferry to Ystad leaves at nine."
        long = check_type(ana.send("POST", path, text="when does the ferry leave?", k=1, lanes=["text"]), wire.Recalled)
        assert [hit.ref for hit in long.hits] == [found.hits[0].ref]
    assert not found.weak and found.competing == ()
    for place, year in (("Porto", 2024), ("Rome", 2025)):
        desk = {"text": f"Mara's desk is in {place}.", "valid_from": f"{year}-01-01"}
        ana.send("POST", "/v1/worlds/office/memories", **desk)
    found = check_type(ana.get("/v1/worlds/office/recall", text="where is Mara's desk?"), wire.Recalled)
    (pair,) = found.competing
    assert [pair.ref, pair.earlier] == [hit.ref for hit in found.hits] and pair.relation == "replacement"
    assert not found.weak and "place" in pair.reason and pair.doubt == ""
    words = check_type(ana.get("/v1/worlds/harbour/chunks", query="ferry"), wire.Recalled)
    assert words.lanes == ("text",)
    told = check_type(ana.get("/v1/worlds/harbour/context", text="ferry"), wire.Context)
    assert "Ystad" in told.text and told.note == ""
    tight = check_type(ana.get("/v1/worlds/harbour/context", text="ferry", max_tokens="10"), wire.Context)
    assert "ferry" in tight.text and "1 was shortened" in tight.note
    plain = ana("GET", "/v1/worlds/harbour/context", params={"text": "ferry"}, headers={"Accept": "text/plain"})
    assert plain.text == told.text and "worlddb-note" not in plain.headers
    short = {"text": "ferry", "max_tokens": "10"}
    plain = ana("GET", "/v1/worlds/harbour/context", params=short, headers={"Accept": "text/plain"})
    assert plain.text == tight.text and unquote(plain.headers["worlddb-note"]) == tight.note


def test_a_question_widens_through_scopes_and_is_asked_in_streams(ana: RestClient) -> None:
    near, wide = (ana("PUT", f"/v1/worlds/{name}").json()["ref"] for name in ("quay", "seaside"))
    ana.send("POST", "/v1/worlds/quay/members", name="crane", type="Thing")
    ana.send("POST", "/v1/worlds/seaside/memories", text="The lighthouse keeper is called Odd.")
    crane, keeper = (
        ana.send("POST", "/v1/worlds/seaside/members", name=name, type="Thing")["refs"][0]
        for name in ("beacon", "Odd the keeper")
    )
    ana.send("POST", "/v1/edges", source=crane, type="depends_on", target=keeper)
    asked = {"text": "who is the lighthouse keeper?", "lanes": ["text", "entity"]}
    found = check_type(ana.send("POST", "/v1/recall", **asked, scopes=["quay", "seaside"]), wire.Recalled)
    assert found.hits[0].scope == wide and {hit.scope for hit in found.hits} <= {near, wide}
    assert any(note.startswith("2 of 2 scopes were searched") for note in found.notes)
    streams = {"wordings": ["the lighthouse"], "paths": 3, "describe": True, "fields": {"words": 2}}
    found = check_type(ana.send("POST", "/v1/recall", text="beacon", **streams), wire.Recalled)
    assert found.paths[0].context.startswith("beacon depends on Odd the keeper")
    assert found.paths[0].nodes == (crane, keeper) and any("searched with 2 wordings" in each for each in found.notes)
    assert (
        found.hits[0].scores["text"] > 0 and check_type(ana.get("/v1/recall", text="beacon"), wire.Recalled).paths == ()
    )
    weighed = {"type_weights": {"Thing": 0.5}, "siblings": 0.3, "fuzzy": True}
    found = check_type(ana.send("POST", "/v1/recall", text="the beakon", **weighed), wire.Recalled)
    assert any('"beakon" is in no text and was read as "beacon"' in each for each in found.notes)
    assert found.hits[0].name == "beacon" and found.hits[0].scores["type"] == pytest.approx(-found.hits[0].score)
    assert found.search_mode == ("hybrid" if "vector" in found.lanes else "fulltext")
    for path, more in (("/v1/worlds/quay/recall", {"scopes": ["quay"]}), ("/v1/recall", {"scopes": ["nowhere"]})):
        assert ana("POST", path, json={"text": "x", **more}).status_code in (404, 422)


def test_what_holds_is_there_as_a_memory_graph(served: RestServer, ana: RestClient) -> None:
    team = ana.send("POST", "/v1/worlds", name="Search", type="Team")["refs"][0]
    ana.send("POST", "/v1/worlds", name="Elsewhere")
    told = {"type": "Person", "world": team}
    ada, one, two = (
        ana.send("POST", "/v1/worlds", name=name, **told, **more)["refs"][0]
        for name, more in (
            ("Ada", {"content": "likes tea", "aliases": ["A."]}),
            ("Bo", {"resolve": "none"}),
            ("Bo", {"resolve": "none"}),
        )
    )
    for _ in range(2):
        ana.send("POST", "/v1/edges", source=ada, type="refers_to", target=one)
    ana.send("DELETE", f"/v1/worlds/{two}")
    lines = [json.loads(line) for line in ana("GET", f"/v1/worlds/{team}/memory-graph").text.splitlines()]
    assert {
        "type": "entity",
        "name": "Ada",
        "entityType": "Person",
        "observations": ["likes tea", "Also called A."],
    } in lines
    assert [each["name"] for each in lines if each["type"] == "entity"] == ["Search", "Ada", "Bo"]
    relations = [(each["from"], each["relationType"], each["to"]) for each in lines if each["type"] == "relation"]
    assert sorted(relations) == [
        ("Ada", "refers_to", "Bo"),
        ("Search", "contains", "Ada"),
        ("Search", "contains", "Bo"),
    ]
    guest = served.caller("memory-guest", team, write=False)
    assert guest("GET", f"/v1/worlds/{team}/memory-graph").text.count("\n") == len(lines)
    twice = served.db.create("Person", "Bo", world=team, resolve=False).ref
    names = [line["name"] for line in served.db.view().memory_graph(team) if line["type"] == "entity"]
    assert f"Bo {twice[:12]}" in names and f"Bo {one[:12]}" in names


def test_edges_are_written_listed_and_retracted(ana: RestClient) -> None:
    one, other = (ana.send("POST", "/v1/worlds", name=name)["refs"][0] for name in ("bridge", "river"))
    made = check_type(ana.send("POST", "/v1/edges", source=one, type="refers_to", target=other), wire.Receipt)
    assert check_type(ana.get(f"/v1/edges/{made.ref}"), wire.Edge).target == other
    edges = check_type(ana.get(f"/v1/worlds/{one}/edges", type="refers_to"), wire.Edges).edges
    assert [each.ref for each in edges] == [made.ref]
    ended = ana.send("DELETE", f"/v1/edges/{made.ref}?valid_from=2100-01-01&valid_to=2101-01-01")
    period = {"from": "2100-01-01T00:00:00Z", "to": "2101-01-01T00:00:00Z"}
    assert ended["lost"] == [{"ref": made.ref, "version": None, "valid": period}]
    assert len(check_type(ana.get(f"/v1/edges/{made.ref}"), wire.Edge).spans) == 2
    ana.send("DELETE", f"/v1/edges/{made.ref}")
    assert not ana.get(f"/v1/worlds/{one}/edges", type="refers_to")["edges"]


def test_proposals_and_conflicts_are_listed_and_decided(ana: RestClient) -> None:
    for _ in range(2):
        told = ana.send("POST", "/v1/worlds", name="Nils Bohrman", type="Entity")
    ref = told["proposals"][0]
    assert check_type(ana.get(f"/v1/proposals/{ref}"), wire.Proposal).status == "pending"
    assert ref in [each.ref for each in check_type(ana.get("/v1/proposals"), wire.Proposals).proposals]
    ana.send("POST", f"/v1/proposals/{ref}/accept", why="the same")
    ana.send("POST", f"/v1/proposals/{ref}/undo")
    assert ana.get(f"/v1/proposals/{ref}")["status"] != "accepted"
    one, other = (
        ana.send("POST", "/v1/worlds", name=name, type="Fact")["refs"][0] for name in ("it rains", "it shines")
    )
    ana.send("POST", "/v1/edges", source=one, type="contradicts", target=other)
    pairs = check_type(ana.get("/v1/conflicts"), wire.Conflicts).conflicts
    assert [{pair.first.ref, pair.second.ref} for pair in pairs] == [{one, other}]


def test_a_world_is_claimed_under_the_conditions_of_the_request(ana: RestClient) -> None:
    tag = ana("PUT", "/v1/worlds/attic").headers["etag"]
    assert ana("PUT", "/v1/worlds/attic", headers={"If-Match": tag}).status_code == 200
    assert ana("PUT", "/v1/worlds/attic", headers={"If-None-Match": tag}).status_code == 200, "304 is for reads"
    assert ana("PUT", "/v1/worlds/attic", headers={"If-Match": '"0000"'}).json()["code"] == "precondition_failed"
    assert ana("PUT", "/v1/worlds/loft", headers={"If-Match": tag}).status_code == 404
    assert ana("GET", "/v1/worlds/loft").status_code == 404, "and nothing was made"


def test_the_store_shows_its_head_log_proofs_and_figures(served: RestServer, ana: RestClient) -> None:
    ref = ana.send("POST", "/v1/worlds", name="lighthouse")["refs"][0]
    head = check_type(ana.get("/v1/head"), wire.Head)
    page = check_type(ana.get("/v1/log", ref=ref), wire.Entries)
    assert page.entries[0].event == "created" and page.entries[0].seq == head.seq
    assert check_proof(ana.get("/v1/proofs", ref=ref)["proof"], served.db.checkpoint()).ok
    figures = ana("GET", "/metrics").text
    assert f"worlddb_commits {head.seq}" in figures and 'route="/v1/head"' in figures
    lines = ana("GET", f"/v1/worlds/{ref}/download").text.splitlines()
    assert any("lighthouse" in line for line in lines)


def test_pages_follow_one_another_at_one_moment(ana: RestClient) -> None:
    for number in range(5):
        ana.send("POST", "/v1/worlds/shelf/members", name=f"book {number}")
    page = ana.get("/v1/worlds/shelf/members", limit=2)
    ana.send("POST", "/v1/worlds/shelf/members", name="a late one")
    names = [each["name"] for each in page["worlds"]]
    while page["next_cursor"]:
        page = ana.get("/v1/worlds/shelf/members", limit=2, cursor=page["next_cursor"])
        names += [each["name"] for each in page["worlds"]]
    assert names == [f"book {number}" for number in range(5)]


def test_tags_tell_whether_something_changed(ana: RestClient) -> None:
    ana.send("POST", "/v1/worlds", name="door", content="shut")
    tag = ana("GET", "/v1/worlds/door").headers["etag"]
    assert ana("GET", "/v1/worlds/door", headers={"If-None-Match": tag}).status_code == 304
    first = ana("PATCH", "/v1/worlds/door", json={"content": "open"}, headers={"If-Match": tag})
    assert first.status_code == 200, first.text
    late = ana("PATCH", "/v1/worlds/door", json={"content": "ajar"}, headers={"If-Match": tag})
    assert (late.status_code, late.json()["code"]) == (412, "precondition_failed")
    assert ana.get("/v1/worlds/door")["content"] == "open"
    assert ana("GET", "/v1/worlds/door", headers={"If-None-Match": tag}).status_code == 200


def test_a_memory_that_is_sent_again_under_its_key_is_answered_as_it_was(ana: RestClient) -> None:
    """It was near itself, and near what was written since."""
    ana.send("POST", "/v1/worlds/bo/memories", text="Bo lives in Lisbon.", valid_from="2024-01-01")
    said = {"text": "Bo lives in Porto.", "valid_from": "2025-01-01"}
    asked: dict[str, Any] = {"json": said, "headers": {"Idempotency-Key": "moved"}}
    first = ana("POST", "/v1/worlds/bo/memories", **asked)
    ana.send("POST", "/v1/worlds/bo/memories", text="Bo lives in Faro.", valid_from="2025-02-01")
    again = ana("POST", "/v1/worlds/bo/memories", **asked)
    assert [near["text"] for near in first.json()["near"]] == ["Bo lives in Lisbon."]
    assert (again.status_code, again.json()) == (first.status_code, first.json())


def test_a_request_under_a_key_is_done_once(ana: RestClient) -> None:
    key = {"Idempotency-Key": "once"}
    one, two = (ana("POST", "/v1/worlds", json={"name": "kettle"}, headers=key).json() for _ in range(2))
    assert one == two
    other = ana("POST", "/v1/worlds", json={"name": "pot"}, headers=key)
    assert (other.status_code, other.json()["code"]) == (409, "idempotency_conflict")


def test_a_key_of_another_is_another_request(served: RestServer, ana: RestClient) -> None:
    """One who happened to use the same Idempotency-Key was refused, or told what somebody else had written."""
    key = {"Idempotency-Key": "mine"}
    first = ana("POST", "/v1/worlds/tea/memories", json={"text": "It is green."}, headers=key).json()
    for other in (served.caller("eve"), served.caller("guest", ana.get("/v1/worlds/tea")["ref"])):
        told = other("POST", "/v1/worlds", json={"name": "mug"}, headers=key)
        assert told.status_code == 201, told.text
        assert other("POST", "/v1/worlds", json={"name": "mug"}, headers=key).json()["refs"] == told.json()["refs"]
    assert ana("POST", "/v1/worlds/tea/memories", json={"text": "It is green."}, headers=key).json() == first


def test_a_key_that_was_recorded_for_everybody_goes_on_for_who_wrote_under_it(
    served: RestServer, ana: RestClient
) -> None:
    made = served.db.as_author("ana").create("World", "jug", idempotency_key="old")
    key = {"Idempotency-Key": "old"}
    assert ana("POST", "/v1/worlds", json={"name": "jug"}, headers=key).json()["refs"] == [made.ref]
    assert served.caller("ike")("POST", "/v1/worlds", json={"name": "cup"}, headers=key).status_code == 201


def listed(ana: RestClient, path: str, name: str, **asked: Any) -> list[Any]:
    """All pages of a list."""
    found: list[Any] = []
    cursor = None
    while True:
        page = ana.get(path, **asked, **({} if cursor is None else {"cursor": cursor}))
        found += page[name]
        cursor = page["next_cursor"]
        if cursor is None:
            return found


def test_every_list_goes_on_to_its_end(served: RestServer, ana: RestClient) -> None:
    """They ended behind 10,000 items, as if there were no more."""
    box = ana.send("PUT", "/v1/worlds/box")["ref"]
    with served.db.batch() as tx:
        for number in range(4_300):
            tx.create("Bead" if number % 2 else "Pearl", f"bead {number}", world=box, resolve=False)
    with served.db.batch() as tx:
        tx.state(box, [(f"<urn:b:{number}>", "<urn:is>", '"round"') for number in range(10_300)])
    beads = listed(ana, "/v1/worlds/box/members", "worlds", limit=200)
    assert [each["name"] for each in beads] == [f"bead {number}" for number in range(4_300)]
    odd = listed(ana, "/v1/worlds/box/members", "worlds", limit=200, type="Bead")
    assert [each["ref"] for each in odd] == [each["ref"] for each in beads[1::2]]
    assert len(listed(ana, "/v1/worlds/box/edges", "edges", limit=200, direction="out")) == 4_300
    said = listed(ana, "/v1/worlds/box/statements", "statements", limit=200)
    assert len({each["subject"] for each in said}) == len(said) == 10_300
    assert len(listed(ana, "/v1/worlds/box/statements", "statements", limit=200, object='"round"')) == 10_300
    assert {each["ref"] for each in listed(ana, "/v1/worlds", "worlds", limit=200)} > {each["ref"] for each in beads}


def test_a_page_stays_at_its_moment_and_a_cursor_at_its_list(served: RestServer, ana: RestClient) -> None:
    home = ana.send("PUT", "/v1/worlds/rack")["ref"]
    guest = served.caller("racker", home)
    for name in "abcd":
        ana.send("POST", "/v1/worlds/rack/members", name=name)
    for caller in (ana, guest):
        first = caller.get("/v1/worlds/rack/members", limit=2)
        ana.send("DELETE", f"/v1/worlds/{first['worlds'][1]['ref']}")
        ana.send("POST", "/v1/worlds/rack/members", name=f"later {caller is ana}")
        rest = caller.get("/v1/worlds/rack/members", limit=200, cursor=first["next_cursor"])["worlds"]
        assert len(rest) == 2 and not {each["ref"] for each in rest} & {each["ref"] for each in first["worlds"]}
        for other in ("edges", "statements"):
            told = caller("GET", f"/v1/worlds/rack/{other}", params={"cursor": first["next_cursor"]})
            assert (told.status_code, "another list" in told.text) == (422, True)


def test_a_cursor_is_refused_with_other_parameters_than_its_first_page_had(ana: RestClient) -> None:
    """It began behind where it had come to, and what came before in the other list was left out without a word."""
    for tray in ("left", "right"):
        for name in "abc":
            ana.send("POST", f"/v1/worlds/{tray}/members", name=f"{tray} {name}", type="Cup")
    asked: dict[str, Any] = {"limit": 1, "type": "Cup", "include_expired": "true"}
    cursor = ana.get("/v1/worlds/left/members", **asked)["next_cursor"]
    assert len(ana.get("/v1/worlds/left/members", **asked | {"limit": 9}, cursor=cursor)["worlds"]) == 2
    for path, given in (
        ("/v1/worlds/right/members", asked),
        ("/v1/worlds", asked),
        ("/v1/worlds/left/members", {"type": "Pot"}),
        ("/v1/worlds/left/members", {}),
        ("/v1/worlds/left/members", asked | {"include_superseded": "true"}),
        ("/v1/conflicts", {}),
        ("/v1/proposals", {}),
        ("/v1/log", {}),
    ):
        told = ana("GET", path, params={**given, "cursor": cursor})
        assert (told.status_code, told.json()["code"]) == (422, "input"), (path, given)
        assert cursor[:40] in told.json()["detail"] and "next_cursor" in told.json()["remedy"]
    told = ana("GET", "/v1/events", params={"after": cursor})
    assert (told.status_code, "No event has the id" in told.text) == (422, True)


def test_the_first_requests_of_a_key_share_what_they_work_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of the first got a queue of its own, and all of these queues waited for one lock."""
    made = []

    def slowly(*given: Any) -> Any:
        made.append(given)
        time.sleep(0.05)
        return client_store.ClientStore(*given)

    monkeypatch.setattr(rest, "ClientStore", slowly)
    with serve_store(tmp_path) as served:
        made.clear()
        key = {"Authorization": f"Bearer {served.keys.add(served.db.head().store_id, 'many', None, write=True)}"}

        async def all_at_once() -> list[httpx.Response]:
            transport = httpx.ASGITransport(served.rest)
            async with httpx.AsyncClient(transport=transport, base_url=BASE, headers=key) as asks:
                named = (asks.post("/v1/worlds", json={"name": f"cup {number}"}) for number in range(8))
                return await asyncio.gather(*named)

        assert [answer.status_code for answer in anyio.run(all_at_once)] == [201] * 8
    assert len(made) == 1


BAD = [
    ("GET", "/", {}, 404, "not_found"),
    ("GET", "/v1/nothing", {}, 404, "not_found"),
    ("TRACE", "/v1/worlds", {}, 405, "no_such_method"),
    ("GET", "/v1/worlds/%ff", {}, 400, "malformed"),
    ("GET", "/v1/worlds/nobody", {}, 404, "unknown_reference"),
    ("GET", "/v1/worlds?limit=0", {}, 422, "invalid"),
    ("GET", "/v1/worlds?limit=2&limit=3", {}, 422, "invalid"),
    ("GET", "/v1/worlds?unknown=1", {}, 422, "invalid"),
    ("GET", "/v1/worlds?valid=yesterday", {}, 422, "invalid_time"),
    ("GET", "/v1/worlds?cursor=abc", {}, 422, "input"),
    ("GET", "/v1/worlds?seq=1&ingested=2025-01-01", {}, 422, "input"),
    ("GET", "/v1/recall", {}, 422, "invalid"),
    ("GET", "/v1/worlds", {"headers": {"Accept": "image/png"}}, 406, "not_acceptable"),
    ("POST", "/v1/worlds", {"content": b"{"}, 400, "malformed"),
    ("POST", "/v1/worlds", {"content": b""}, 400, "malformed"),
    ("POST", "/v1/worlds", {"content": b'{"source":{"a":' + b"[" * 100_000}, 400, "malformed"),
    ("POST", "/v1/worlds", {"content": b"\xff"}, 400, "malformed"),
    ("POST", "/v1/worlds", {"json": {"name": 3}}, 422, "invalid"),
    ("POST", "/v1/worlds", {"json": {"name": "x", "colour": "red"}}, 422, "invalid"),
    (
        "POST",
        "/v1/worlds",
        {"json": {"name": "x", "valid_from": "2025-02-01", "valid_to": "2025-01-01"}},
        422,
        "invalid_interval",
    ),
    ("POST", "/v1/worlds", {"content": b"x", "headers": {"Content-Type": "text/plain"}}, 415, "unsupported_type"),
    ("POST", "/v1/worlds", {"json": {"name": "x"}, "headers": {"Content-Encoding": "gzip"}}, 415, "unsupported_type"),
    ("POST", "/v1/worlds", {"json": {"name": "x"}, "headers": {"Content-Type": ""}}, 415, "unsupported_type"),
    *(
        ("POST", "/v1/worlds", {"json": {"name": "x"}, "headers": {"Content-Type": each}}, 415, "unsupported_type")
        for each in ("application/json; charset=utf-16", 'application/json;x=y; Charset="latin-1"')
    ),
    ("POST", "/v1/worlds", {"content": b" " * 5_000_000}, 413, "too_large"),
    ("POST", "/v1/edges", {"json": {"source": "a1b2c3", "type": "x", "target": "y"}}, 404, "unknown_reference"),
]


def test_a_value_of_a_wrong_kind_is_named_with_its_place_and_what_to_give(ana: RestClient) -> None:
    """The remedy of a wrong value was the list of all fields, and ``content`` for ``text`` was no slip."""
    for given, detail, remedy in (
        ({"text": 5}, "`$.text`, which is 5", "Give text as a text"),
        ({"text": "x", "labels": "tea"}, "`$.labels`, which is 'tea'", 'Give labels as a list, as ["…"]'),
        ({"text": "x", "labels": ["a", 7]}, "`$.labels[1]`, which is 7", "Give labels[1] as a text"),
        ({"text": "x", "source": [1]}, "`$.source`, which is [1]", "Give source as an object"),
        ({"content": "x"}, "unknown field `content`", "Did you mean text?"),
        ({"text": "x", "on_near": "no"}, "'no' - at `$.on_near`", "on_near is one of note"),
    ):
        told = ana("POST", "/v1/worlds/w/memories", json=given)
        assert told.status_code == 422 and detail in told.json()["detail"], told.text
        assert told.json()["remedy"].startswith(remedy), told.text
    for behind in (b"", b', "properties": {"a": 1e400}}', b', "why": "\xff"}', b', "source": ' + b"[" * 100_000):
        head = {"Content-Type": "application/json"}
        told = ana("POST", "/v1/worlds/w/memories", content=b'{"text": 5' + behind, headers=head)
        assert told.status_code == 422 and "`$.text`" in told.json()["detail"], "what follows may be no JSON"
    told = ana("GET", "/v1/worlds", params={"limit": "many"})
    assert "`$.limit`, which is 'many'" in told.json()["detail"] and "limit as a whole number" in told.json()["remedy"]
    for limit, most in ((500, "of at most 200. It has"), (0, "of at least 1. It has")):
        told = ana("GET", "/v1/worlds", params={"limit": limit})
        assert told.json()["remedy"].startswith(f"Give limit as a whole number {most}"), told.text


@pytest.mark.parametrize(("method", "path", "how", "status", "code"), BAD)
def test_a_bad_request_is_told_what_is_wrong_and_changes_nothing(
    served: RestServer, ana: RestClient, method: str, path: str, how: dict[str, object], status: int, code: str
) -> None:
    before = served.db.head()
    answer = ana(method, path, **how)
    told = check_type(answer.json(), wire.Problem)
    assert (answer.status_code, told.status, told.code) == (status, status, code), answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert told.request_id == answer.headers["x-request-id"]
    assert served.db.head() == before


def test_who_has_no_key_is_not_admitted_and_who_may_read_does_not_write(served: RestServer) -> None:
    for stranger in (served.stranger(), served.stranger("worlddb_nothing")):
        answer = stranger("GET", "/v1/worlds")
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert served.stranger()("GET", "/healthz").json()["status"] == "ok"
    reader = served.caller("reader", write=False)
    assert reader("GET", "/v1/worlds").status_code == 200
    assert reader("POST", "/v1/worlds", json={"name": "x"}).json()["code"] == "forbidden"
    ended = served.caller("ended")
    assert ended("GET", "/v1/worlds").status_code == 200
    served.keys.remove("ended")
    assert ended("GET", "/v1/worlds").status_code == 401


def test_the_page_names_every_route_and_every_type(served: RestServer) -> None:
    page = served.stranger().get("/openapi.json")
    assert page["openapi"] == "3.1.0"
    for route in serving.ROUTES:
        operation = page["paths"][route.path][route.method.lower()]
        assert operation["operationId"] == route.name
        in_path = [each["name"] for each in operation["parameters"] if each["in"] == "path"]
        assert all(f"{{{name}}}" in route.path for name in in_path)
        for each in operation["parameters"]:
            schema = each.get("schema") or each["content"]["application/json"]["schema"]
            assert each.get("description") or schema.get("description"), (route.path, each["name"])
    ids = [route.name for route in serving.ROUTES]
    assert len(ids) == len(set(ids))
    known = {f"#/components/schemas/{name}" for name in page["components"]["schemas"]}
    assert (
        "World" in page["components"]["schemas"] and set(re.findall(r'"\$ref": ?"([^"]*)"', json.dumps(page))) <= known
    )
    assert interface_page.page(serving.ROUTES)["paths"].keys() <= page["paths"].keys()


def test_a_retry_of_a_conditional_write_is_answered_as_it_was_then(ana: RestClient) -> None:
    ana.send("POST", "/v1/worlds", name="gate", content="shut")
    tag = ana("GET", "/v1/worlds/gate").headers["etag"]
    told = {"If-Match": tag, "Idempotency-Key": "open the gate"}
    first, again = (ana("PATCH", "/v1/worlds/gate", json={"content": "open"}, headers=told) for _ in range(2))
    assert (first.status_code, again.status_code) == (200, 200)
    assert {**again.json(), "notes": []} == {**first.json(), "notes": []}
    other = ana("PATCH", "/v1/worlds/gate", json={"content": "ajar"}, headers=told)
    assert (other.status_code, other.json()["code"]) == (409, "idempotency_conflict")
    late = ana("PATCH", "/v1/worlds/gate", json={"content": "ajar"}, headers=told | {"Idempotency-Key": "another"})
    assert late.status_code == 412 and ana.get("/v1/worlds/gate")["content"] == "open"


ACCEPTED = [
    ("text/plain;q=0.1, application/json;q=0.9", "application/json"),
    ("application/json;q=0.1, text/plain", "text/plain"),
    ("text/*, application/json;q=0.5", "text/plain"),
    ("*/*;q=0.1, text/plain;q=0", "application/json"),
    ("text/html, */*;q=0.1", "application/json"),
    ("text/plain, application/json", "text/plain"),
    ("text/plain;q=x", "text/plain"),
    ("text/html, application/json;q=0", ""),
]


@pytest.mark.parametrize(("accept", "wanted"), ACCEPTED)
def test_the_answer_has_the_type_that_a_client_would_rather_have(ana: RestClient, accept: str, wanted: str) -> None:
    ana("PUT", "/v1/worlds/accepted")
    answer = ana("GET", "/v1/worlds/accepted/context?text=x", headers={"Accept": accept})
    assert answer.status_code == (200 if wanted else 406)
    assert answer.headers["content-type"] == wanted or not wanted


def test_lists_of_a_span_have_every_version_that_fits_and_no_page_splits_a_world(ana: RestClient) -> None:
    home = check_type(ana.send("POST", "/v1/worlds", name="Span", resolve="none"), wire.Receipt).ref
    for name in ("one", "two", "three"):
        ana.send("POST", "/v1/worlds", name=name, world=home, content="a", valid_from="2020-01-01", resolve="none")
        ref = ana.get(f"/v1/worlds/{home}/members", name=name)["worlds"][0]["ref"]
        for year in ("2021", "2022", "2023"):
            ana.send("PATCH", f"/v1/worlds/{ref}", content=year, valid_from=f"{year}-01-01")
    asked: Any = {"overlaps": ["2021-06-01", "2023-06-01"], "limit": 2}
    found, cursor = list[tuple[str, str]](), None
    while True:
        page = ana.get(f"/v1/worlds/{home}/members", **asked, **({} if cursor is None else {"cursor": cursor}))
        found += [(each["name"], each["content"]) for each in page["worlds"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert found == [(name, year) for name in ("one", "two", "three") for year in ("2021", "2022", "2023")]
    throughout = ana.get(f"/v1/worlds/{home}/members", during=["2021-06-01", "2021-07-01"])["worlds"]
    assert [each["content"] for each in throughout] == ["2021"] * 3
    versions = ana.get(f"/v1/worlds/{throughout[0]['ref']}/history", overlaps=["2022-06-01", "2030-01-01"])
    assert [each["content"] for each in versions["versions"]] == ["2022", "2023"]
    edges = ana.get(f"/v1/worlds/{home}/edges", direction="out", during=["2020-01-01", "2021-01-01"])["edges"]
    assert edges and all(each["type"] == "contains" for each in edges)
    assert ana("GET", f"/v1/worlds/{home}/members", params={"during": "2021-06-01"}).status_code == 422
    one = f"/v1/worlds/{throughout[0]['ref']}"
    assert ana.get(one, during=["2021-06-01", "2021-07-01"])["content"] == "2021"
    assert ana.get(one, overlaps=["2021-06-01", "2023-01-01"])["content"] == "2022"
    none = ana("GET", one, params={"during": ["2021-06-01", "2022-07-01"]})
    assert (none.status_code, none.json()["code"]) == (404, "unknown_reference")
    assert ana("GET", one, params={"during": ["2021", "2022"], "overlaps": ["2021", "2022"]}).status_code == 422


def test_an_edge_names_versions_and_a_recall_fades_or_leaves_a_receipt_that_is_checked(ana: RestClient) -> None:
    home = check_type(ana.send("POST", "/v1/worlds", name="Receipts", resolve="none"), wire.Receipt).ref
    how = {"name": "plan", "world": home, "content": "by ferry", "resolve": "none"}
    made = check_type(ana.send("POST", "/v1/worlds", **how), wire.Receipt).ref
    ana.send("PATCH", f"/v1/worlds/{made}", content="by train")
    linked = ana.send("POST", "/v1/edges", source=made, type="derived_from", target=made, versions=[2, 1])
    edge = check_type(linked, wire.Receipt).ref
    assert [ana.get(f"/v1/edges/{edge}")[name] for name in ("source_version", "target_version")] == [2, 1]
    plain = ana.send("POST", f"/v1/worlds/{home}/recall", text="train", exact=True)
    faded = ana.send("POST", f"/v1/worlds/{home}/recall", text="train", exact=True, decay={"half_life_days": 1e-6})
    assert plain["receipt"] is None and faded["hits"][0]["score"] < plain["hits"][0]["score"]
    answer = ana.send("POST", f"/v1/worlds/{home}/recall", text="train", exact=True, receipt=True)
    told = check_type(ana.send("POST", "/v1/recall/check", receipt=answer["receipt"], text="train"), wire.RecallCheck)
    assert (told.verdict, told.problems) == ("holds", ()) and told.proved
    other = check_type(ana.send("POST", "/v1/recall/check", receipt=answer["receipt"], text="ferry"), wire.RecallCheck)
    assert other.verdict != "holds"
    assert ana("POST", "/v1/recall/check", json={"receipt": "{}", "text": "train"}).status_code == 422


def test_the_name_of_a_world_is_never_that_of_somebody_inside_another_one(tmp_path: Path) -> None:
    """Theo's PIN was written into the entry of him in Dora's world, who read it; and erasing her erased it."""
    with serve_store(tmp_path) as served:
        ana = served.caller("ana")
        ana.send("POST", "/v1/worlds/dora/memories", text="Theo is my brother.", about=["Theo"], name="Zoe")
        ana.send("POST", "/v1/worlds/eve/memories", text="Theo is my uncle.", about=["Theo"])
        worlddb.memory(served.db, user="pete").add("Nora is my aunt.", about="Nora")
        for name in ("Theo", "Zoe", "Nora", "pete"):
            assert ana("GET", f"/v1/worlds/{name}").status_code == 404
            told = ana.send("POST", f"/v1/worlds/{name}/memories", text=f"The PIN of {name} is 4711.")
            assert ["new top-level world" in note for note in told["notes"]] == [True] * (name != "pete")
            own = ana.get(f"/v1/worlds/{name}")
            assert own["type"] == "World" and ana("PUT", f"/v1/worlds/{name}").json()["ref"] == own["ref"]
            assert [each["ref"] for each in ana.get(f"/v1/worlds/{name}/members")["worlds"]] == told["receipt"]["refs"]
        for place in ("dora", "eve", "user:pete"):
            assert "PIN" not in ana.get(f"/v1/worlds/{place}/context", text="PIN")["text"]
        ana.send("POST", "/v1/worlds/dora/memories", text="Theo is 40.", about=["Theo"], contradicts=["Zoe"])
        entries = [each for each in ana.get("/v1/worlds/dora/members")["worlds"] if each["name"] == "Theo"]
        assert len(entries) == 1 and ana.get(f"/v1/worlds/{entries[0]['ref']}")["type"] == "Entity"
        dora = ana.get("/v1/worlds/dora")["ref"]
        served.db.erase(dora, reason="asked", members=True)
        assert "4711" in ana.get("/v1/worlds/Theo/context", text="PIN")["text"]


def test_the_world_of_a_user_is_one_for_rest_and_for_mcp(tmp_path: Path) -> None:
    with serve_store(tmp_path) as served:
        ana = served.caller("ana")
        told = ana.send("POST", "/v1/worlds/user:pete/memories", text="The key is red.")
        assert told["notes"] == ["Nothing was written for user:pete before (capitals count)"]
        assert "before" not in str(ana.send("POST", "/v1/worlds/user:pete/memories", text="The key is red.")["notes"])
        assert ana.send("POST", "/v1/worlds/run:7/memories", text="The build is green.")["notes"] == []
        first: dict[str, Any] = {
            "members": {"name": "Door"},
            "statements": {"statements": [["<urn:a>", "<urn:b>", '"c"']]},
        }
        for what, body in first.items():
            (note,) = ana.send("POST", f"/v1/worlds/user:{what}/{what}", **body)["notes"]
            assert note["text"] == f"Nothing was written for user:{what} before (capitals count)"
            assert "before" not in str(ana.send("POST", f"/v1/worlds/user:{what}/{what}", **body)["notes"])
        ana.send("POST", "/v1/worlds/pete/memories", text="The key is blue.")
        pete = worlddb.memory(served.db, user="pete")
        assert [each.content for each in pete.recall("key")] == ["The key is red."]
        pete.add("The lamp is green.")
        assert {each["content"] for each in ana.get("/v1/worlds/user:pete/members")["worlds"]} == {
            "The key is red.",
            "The lamp is green.",
        }


def test_the_name_of_the_root_is_no_place_to_write(tmp_path: Path) -> None:
    """A user called root read what everybody had said, and was erased with all of it."""
    with serve_store(tmp_path) as served:
        ana = served.caller("ana")
        ana.send("POST", "/v1/worlds/dora/memories", text="Lea is my sister.")
        root = ana.get("/v1/worlds/root")["ref"]
        for method, path, body in (
            ("POST", "memories", {"text": "I am root."}),
            ("POST", "members", {"name": "x"}),
            ("POST", "erase", {"reason": "asked", "members": True}),
            ("POST", "marks", {"pinned": True}),
            ("POST", "fork", {"name": "mine"}),
            ("PUT", "", None),
            ("DELETE", "", None),
        ):
            refused = ana(method, f"/v1/worlds/root/{path}".rstrip("/"), json=body)
            assert refused.status_code == 422 and root in refused.json()["remedy"], (path, refused.text)
        ana.send("POST", f"/v1/worlds/{root}/memories", text="For everybody.")
        ana.send("POST", "/v1/worlds/eve/memories", text="They call my cat root.", about=["root"])
        assert {each["name"] for each in ana.get("/v1/worlds/eve/members")["worlds"]} == {"", "root"}
        inside = served.caller("dora", ana.get("/v1/worlds/dora")["ref"])
        assert inside("GET", "/v1/worlds/root").status_code == 404
        inside.send("POST", "/v1/worlds/dora/memories", text="Dora is me.", about=["dora"], name="dora")
        inside.send("POST", "/v1/worlds/dora/memories", text="I like tea.")
        assert len(inside.get("/v1/worlds/dora/members")["worlds"]) == 3


def test_a_first_write_that_is_refused_makes_no_world(tmp_path: Path) -> None:
    """It left an empty one, which its name then had."""
    with serve_store(tmp_path) as served:
        ana = served.caller("ana")
        ana("POST", "/v1/worlds/there/memories", json={"text": "One."}, headers={"Idempotency-Key": "k"})
        before = served.db.head()
        bad: list[dict[str, Any]] = [
            {"valid_from": "2026-02-01", "valid_to": "2026-01-01"},
            {"text": "a\0b"},
            {"labels": [""]},
            {"type": "a\nb"},
        ]
        for each in bad:
            for path, named in (("memories", {"text": "x"}), ("members", {"name": "x"})):
                if path == "members" and "text" in each:
                    each = {"content": each["text"]}
                assert ana("POST", f"/v1/worlds/new/{path}", json=named | each).status_code == 422, each
        assert ana("POST", "/v1/worlds/new/statements", json={"statements": [["", "", ""]]}).status_code == 422
        for path, body in (
            ("memories", {"text": "Two."}),
            ("members", {"name": "Two"}),
            ("statements", {"statements": [["<https://a.example/a>", "<https://a.example/b>", '"c"']]}),
        ):
            refused = ana("POST", f"/v1/worlds/new/{path}", json=body, headers={"Idempotency-Key": "k"})
            assert (refused.status_code, refused.json()["code"]) == (409, "idempotency_conflict"), path
        tagged = ana("POST", "/v1/worlds/new/members", json={"name": "x"}, headers={"If-Match": "*"})
        assert tagged.status_code == 404 and ana("GET", "/v1/worlds/new").status_code == 404
        assert served.db.head() == before


def test_a_world_and_its_first_write_are_one_commit_and_one_key(tmp_path: Path) -> None:
    """Under the key of another new world the answer was for ever that its reference was unknown."""
    with serve_store(tmp_path) as served:
        ana = served.caller("ana")
        for at, (path, body) in enumerate(
            (
                ("memories", {"text": "Ivo is my brother.", "about": ["Ivo"]}),
                ("members", {"name": "Two"}),
                ("statements", {"statements": [["<https://a.example/a>", "<https://a.example/b>", '"c"']]}),
            )
        ):
            seq, key = served.db.head().seq, {"Idempotency-Key": f"key {at}"}
            sent = [ana("POST", f"/v1/worlds/one {at}/{path}", json=body, headers=key) for _ in range(2)]
            first, again = (each.json().get("receipt", each.json()) for each in sent)
            assert sent[0].status_code == 201 and sent[1].is_success and first["refs"] == again["refs"]
            assert first["seq"] == again["seq"] == served.db.head().seq == seq + 1
            other = ana("POST", f"/v1/worlds/other {at}/{path}", json=body, headers=key)
            assert (other.status_code, other.json()["code"]) == (409, "idempotency_conflict"), path
            assert ana("GET", f"/v1/worlds/other {at}").status_code == 404
        ana.send("POST", "/v1/worlds/one 0/memories", text="Ivo is 40.", about=["Ivo"])
        named = [each["name"] for each in ana.get("/v1/worlds/one 0/members")["worlds"]]
        assert sorted(named) == ["", "", "Ivo"]


@pytest.mark.parametrize("name", ["user:zed", "cellar"])
@pytest.mark.parametrize("begun", [True, False], ids=["into a world", "into a new world"])
def test_a_retry_after_an_erasure_gets_its_receipt_whoever_has_the_name_no_more(
    tmp_path: Path, name: str, begun: bool
) -> None:
    """It was refused as another request: the world had no name any more, so the retry would have created one."""
    quad = {
        "content": "<https://a.example/a> <https://a.example/b> 'plum' .",
        "headers": {"Content-Type": "text/turtle"},
    }
    asked: dict[str, dict[str, Any]] = {
        "memories": {"json": {"text": "Zed has an allergy.", "about": ["Zed Plum"], "labels": ["health"]}},
        "members": {"json": {"name": "allergy", "content": "to plums"}},
        "statements": quad,
    }
    for number, (route, how) in enumerate(asked.items()):
        (tmp_path / route).mkdir()
        with serve_store(tmp_path / route, embedder=None) as served:
            caller = served.caller("ana")
            path = f"/v1/worlds/{name}/{route}"
            if begun:
                caller.send("POST", f"/v1/worlds/{name}/memories", text="Zed is here.")
            headers = {**how.get("headers", {}), "Idempotency-Key": f"k{number}"}
            first = caller("POST", path, **how | {"headers": headers})
            assert first.status_code == 201 and caller("POST", path, **how | {"headers": headers}).text == first.text
            (world,) = served.db.view().find(name=name)
            served.db.erase(world, reason="request 7", members=True)
            head = served.db.head().seq
            again = caller("POST", path, **how | {"headers": headers})
            told = again.json().get("receipt", again.json())
            assert again.status_code in (200, 201) and served.db.head().seq == head, again.text
            assert "retry_not_compared" in [note["code"] for note in told["notes"]], told


@pytest.mark.parametrize("new", ["lake", "user:lea"])
def test_a_retry_is_answered_where_others_made_the_same_world_at_once(
    ana: RestClient, monkeypatch: pytest.MonkeyPatch, new: str
) -> None:
    """It was refused as another call: by then the world was there, so it had one command less."""
    quad = '<https://a.example/a> <https://a.example/b> "{}" .'
    turtle = {"Content-Type": "text/turtle"}
    writes: dict[str, tuple[str, Callable[[int], dict[str, Any]]]] = {
        "members": ("create_target", lambda n: {"json": {"name": f"boat {n}"}}),
        "statements": ("create_target", lambda n: {"content": quad.format(n), "headers": turtle}),
        "memories": ("create_target", lambda n: {"json": {"text": f"Boat {n} sank.", "about": ["Ida", f"Jo {n}"]}}),
        "memories?": ("create_entry", lambda n: {"json": {"text": f"Gull {n} flew.", "about": ["Kai", "Uma"]}}),
    }
    for number, (route, (makes, how)) in enumerate(writes.items()):
        named = new if makes == "create_entry" else f"{new} {number}"
        path = f"/v1/worlds/{named}/{route.strip('?')}"
        if makes == "create_entry":
            ana.send("POST", path, text="It is deep.", about=["Uma"])

        def send(n: int, path: str = path, how: Any = how) -> httpx.Response:
            asked = how(n)
            key = {"Idempotency-Key": f"{path} {n}"}
            return ana("POST", path, **asked | {"headers": asked.get("headers", {}) | key})

        met, made = threading.Barrier(3), getattr(client_store.ClientStore, makes)

        def together(*given: Any, met: Any = met, made: Any = made) -> Any:
            with contextlib.suppress(threading.BrokenBarrierError):
                met.wait(5)
            met.abort()
            return made(*given)

        with ThreadPoolExecutor(3) as threads, monkeypatch.context() as patched:
            patched.setattr(client_store.ClientStore, makes, together)
            first = list(threads.map(send, range(3)))
        again = [send(n) for n in range(3)]
        assert [each.status_code for each in first] == [201] * 3, path
        told = [[each.json() for each in answers] for answers in (first, again)]
        if makes == "create_entry":  # What came between its look and its commit is near only by the time of a retry.
            told = [[each["receipt"] for each in answers] for answers in told]
        assert told[0] == told[1], path
        other = ana("POST", path, **how(4) | {"headers": {"Idempotency-Key": f"{path} 1", **how(4).get("headers", {})}})
        assert (other.status_code, other.json()["code"]) == (409, "idempotency_conflict"), path


def test_what_is_said_to_the_whole_store_ends_and_names_nothing_of_a_user(tmp_path: Path) -> None:
    """A memory at the root replaced, contradicted and repeated what lay in the worlds of users."""
    with serve_store(tmp_path) as served:
        ana = served.caller("ana")
        said: dict[str, Any] = {"text": "Theo lives in Lisbon.", "about": ["Theo"], "name": "home"}
        dora = ana.send("POST", "/v1/worlds/dora/memories", **said)["receipt"]["refs"][0]
        root = ana.get("/v1/worlds/root")["ref"]
        at = f"/v1/worlds/{root}/memories"
        for body in ({"replaces": ["home"]}, {"contradicts": ["home"]}):
            refused = ana("POST", at, json={"text": "Theo lives nowhere."} | body)
            assert refused.status_code == 404, refused.text
        told = ana.send("POST", at, text="Theo lives in Porto.", about=["Theo"], on_near="supersede_same_subject")
        assert told["near"] == []
        assert not ana.send("POST", at, **said)["restated"]
        found = served.db.view().get(dora)
        assert found is not None and not found.conflicts and not found.restated
        (entry,) = ana.get("/v1/worlds", name="Theo", type="Entity", limit=9)["worlds"][1:]
        assert ana.send("POST", at, text="Theo swims.", about=["theo"])["receipt"]["refs"]
        about = [edge.target for edge in served.db.view().edges(entry["ref"], type="refers_to", direction="in")]
        assert len(about) == 3, "what is said at the root is about one entry there, in whichever letters"


def test_of_writes_that_rest_on_one_tag_one_is_done(ana: RestClient) -> None:
    """All were that came between the look at the tag and the lock, and memories, aliases and erasures heeded none."""
    ana.send("POST", "/v1/worlds/dock/memories", text="There are 20 berths.")
    writes: dict[str, Callable[[int], dict[str, Any]]] = {
        "members": lambda n: {"json": {"name": f"berth {n}"}},
        "memories": lambda n: {"json": {"text": f"Ship {n} lies there."}},
        "statements": lambda n: {"json": {"statements": [["<urn:d>", "<urn:n>", f'"{n}"']]}},
    }
    with ThreadPoolExecutor(4) as threads:
        for route, how in writes.items():
            for turn in range(0, 12, 4):
                tag = {"If-Match": ana("GET", "/v1/worlds/dock").headers["etag"]}

                def send(n: int, path: str = f"/v1/worlds/dock/{route}", how: Any = how, tag: Any = tag) -> int:
                    return ana("POST", path, headers=tag, **how(n)).status_code

                assert sorted(threads.map(send, range(turn, turn + 4))) == [201, 412, 412, 412], route
    stale = {"If-Match": f'"{"0" * 64}"'}
    said = {"memories": {"text": "There are 20 berths."}, "aliases": {"aliases": ["pier"]}, "erase": {"reason": "old"}}
    for route, body in said.items():
        late = ana("POST", f"/v1/worlds/dock/{route}", json=body, headers=stale)
        assert (late.status_code, late.json()["code"]) == (412, "precondition_failed"), route
    assert ana("POST", "/v1/worlds/none/memories", json={"text": "x"}, headers=stale).status_code == 404
    told = ana("POST", "/v1/worlds/dock/memories", json={"text": "It is deep."}, headers={"If-Match": "*"})
    assert told.status_code == 201, told.text
    tag = {"If-Match": ana("GET", "/v1/worlds/dock").headers["etag"], "Idempotency-Key": "tide"}
    with ThreadPoolExecutor(4) as threads:
        path, low = "/v1/worlds/dock/memories", {"text": "Low."}
        again = threads.map(lambda _: ana("POST", path, json=low, headers=tag), range(4))
        assert len({each.text for each in again}) == 1, "the same under its key is answered as it was"


def test_a_retry_is_answered_where_the_write_took_the_name_or_the_edge(ana: RestClient) -> None:
    """It was told that no such world, or edge, is there, as if nothing had been done."""
    for name in ("mill", "barn", "orchard"):
        ana.send("POST", "/v1/worlds", name=name)
    edge = ana.send("POST", "/v1/edges", source="mill", type="refers_to", target="orchard")["refs"][0]
    writes: list[tuple[str, str, Any]] = [
        ("PATCH", "/v1/worlds/mill", {"name": "old mill"}),
        ("POST", "/v1/worlds/barn/move", {"to": "orchard"}),
        ("DELETE", f"/v1/edges/{edge}", None),
    ]
    for number, (method, path, body) in enumerate(writes):
        how = {"json": body, "headers": {"Idempotency-Key": f"write {number}"}}
        first, again = (ana(method, path, **how) for _ in range(2))
        assert first.status_code == again.status_code == 200, again.text
        assert first.json() == again.json() and ana(method, path, json=body).status_code == 404
    ana.send("POST", "/v1/worlds/orchard/fork", name="orchard, tried")
    ana.send("POST", "/v1/worlds/orchard%2C%20tried/members", name="silo")
    tag = ana("GET", "/v1/worlds/orchard%2C%20tried").headers["etag"]
    how = {"json": {}, "headers": {"Idempotency-Key": "merge", "If-Match": tag}}
    merged = ana("POST", "/v1/worlds/orchard%2C%20tried/merge", **how)
    ana.send("POST", "/v1/worlds/orchard%2C%20tried/members", name="later")
    assert (
        merged.json()["changes"] and ana("POST", "/v1/worlds/orchard%2C%20tried/merge", **how).json() == merged.json()
    )
    page = ana.get("/openapi.json")["paths"]
    keyed = {path: "Idempotency-Key" in str(page[path]["post"]["parameters"]) for path in ("/v1/keys", "/v1/edges")}
    assert keyed == {"/v1/keys": False, "/v1/edges": True}


def test_what_a_memory_names_is_looked_up_once_and_bounded(ana: RestClient) -> None:
    """20,000 times one name took 22 s, before anything was refused or written."""
    ref = ana.send("POST", "/v1/worlds", name="pond", content="deep")["refs"][0]
    path = "/v1/worlds/garden/memories"
    began = time.process_time()
    told = ana.send("POST", path, text="The pond is wide.", derived_from=["pond"] * 1_000, about=["Zed"] * 64)
    assert time.process_time() - began < 0.5
    made = told["receipt"]["refs"][0]
    edges = ana.get(f"/v1/worlds/{made}/edges", type="derived_from")["edges"]
    assert [each["target"] for each in edges] == [ref]
    for field, most in (("derived_from", 1_000), ("contradicts", 1_000), ("replaces", 1_000), ("about", 64)):
        refused = ana("POST", path, json={"text": "x", field: [ref] * (most + 1)})
        assert refused.status_code == 422 and f"$.{field}" in refused.json()["detail"]


def test_what_is_refused_says_what_to_do_to_a_key_of_one_world_too(served: RestServer, ana: RestClient) -> None:
    shed = ana.send("PUT", "/v1/worlds/shed")["ref"]
    rake, spade = (ana.send("POST", "/v1/worlds/shed/members", name=name)["refs"][0] for name in ("rake", "spade"))
    for caller in (ana, served.caller("gardener", shed)):
        key = {"Idempotency-Key": "one"}
        assert caller("POST", "/v1/worlds/shed/members", json={"name": "hoe"}, headers=key).status_code == 201
        for told, word in (
            (caller("POST", "/v1/worlds/shed/members", json={"name": "saw"}, headers=key), "new key"),
            (caller("POST", f"/v1/worlds/{rake}/move", json={"to": shed, "out_of": spade}), "leave out_of out"),
        ):
            assert told.status_code == 409 and word in told.json()["remedy"], told.text
            assert "idempotency_key" not in told.text


def test_a_statement_that_named_nobody_gets_the_subject_of_its_repetition(ana: RestClient) -> None:
    ana("PUT", "/v1/worlds/quay-notes")
    at = "/v1/worlds/quay-notes/memories"
    first = ana.send("POST", at, text="She rows at dawn.")["receipt"]["refs"]
    again = ana.send("POST", at, text="She rows at dawn.", about=["Bea"], type="Habit")
    assert again["receipt"]["refs"] == first and again["restated"]
    assert "does now" in again["notes"][0] and "type Habit was left out" in again["notes"][1]
    found = ana.send("POST", "/v1/worlds/quay-notes/recall", text="who rows?", about=["Bea"])["hits"]
    assert [hit["ref"] for hit in found] == first


@pytest.mark.parametrize(
    ("method", "slow", "path", "body", "share"),
    [
        ("recall", View, "/v1/recall?text=oven", None, rest.READS_AT_ONCE),
        ("create", Database, "/v1/worlds", {"name": "oven"}, rest.WRITES_AT_ONCE),
    ],
)
def test_a_key_that_keeps_many_calls_running_leaves_threads_to_others(
    served: RestServer, monkeypatch: pytest.MonkeyPatch, method: str, slow: type, path: str, body: Any, share: int
) -> None:
    """Calls that take long, of one key of one world, had all threads, and nobody else was answered."""
    names = f"{method}-a", f"{method}-b"
    greedy, other = (served.keys.add(served.db.head().store_id, name, None, write=True) for name in names)
    running, ended, run = list[str](), threading.Event(), getattr(slow, method)

    def long(target: Any, *given: Any, **how: Any) -> Any:
        if getattr(target, "author", names[0]) == names[0]:
            running.append(method)
            assert ended.wait(PATIENCE_SECONDS)
        return run(target, *given, **how)

    async def ask(client: httpx.AsyncClient, key: str, path: str, body: Any) -> int:
        headers = {"Authorization": f"Bearer {key}"}
        return (await client.request("GET" if body is None else "POST", path, headers=headers, json=body)).status_code

    async def work() -> None:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(served.rest), base_url=BASE) as client:
            asked = [asyncio.create_task(ask(client, greedy, path, body)) for _ in range(rest.THREADS + 5)]
            try:
                for its in ((other, "/v1/log?limit=1", None), (other, "/v1/worlds", {"name": "wasp"})):
                    assert await asyncio.wait_for(ask(client, *its), PATIENCE_SECONDS) < 300
                while len(running) < share:
                    await asyncio.sleep(0.01)
                assert len(running) == share
            finally:
                ended.set()
            assert max(await asyncio.gather(*asked)) < 300

    monkeypatch.setattr(slow, method, long)
    anyio.run(work)
