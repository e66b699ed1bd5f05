"""Usage over REST, and the limits of a plan that are used up for good."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import anyio
import pytest

import worlddb
from tests.server.test_serve import PATIENCE_SECONDS
from tests.server.test_serve import serving as served_by_process
from tests.support.rest import RestClient, RestServer, check_type, serve_store
from worlddb import client
from worlddb.client import wire_records as wire


def robot_of(served: RestServer, **limits: Any) -> RestClient:
    """A client with a key that writes to the whole store, under a plan."""
    accounts = served.db.accounts
    accounts.define_plan("small", **limits)
    accounts.create_account("acme", plan="small")
    return RestClient(served.rest, accounts.create_key("robot", account="acme", right="write").secret)


def test_a_key_sees_its_own_usage_and_an_admin_that_of_all(tmp_path: Path) -> None:
    with serve_store(tmp_path) as served:
        owner = served.caller("owner")
        inside = owner.send("POST", "/v1/worlds", name="inside")["refs"][0]
        guest, robot = served.caller("guest", inside), robot_of(served)
        guest.send("POST", f"/v1/worlds/{inside}/members", name="note")
        assert guest("GET", "/v1/worlds/nobody").status_code == 404
        robot.get("/v1/head")
        own = check_type(guest.get("/v1/usage"), wire.UsageFigures)
        (row,) = own.usage
        assert (row.name, row.requests, row.writes, row.errors) == ("guest", 2, 1, 1)
        assert row.bytes_in > 10 and row.bytes_out > 100 and own.trouble == ""
        assert [each.requests for each in check_type(guest.get("/v1/usage", key="guest"), wire.UsageFigures).usage] == [
            3
        ]
        assert [each["name"] for each in robot.get("/v1/usage")["usage"]] == ["robot"]
        told = check_type(owner.get("/v1/usage", by="total"), wire.UsageFigures)
        assert {each.name: each.requests for each in told.usage} == {"owner": 1, "guest": 4, "robot": 2}
        assert [each["name"] for each in owner.get("/v1/usage", key="robot", by="minute")["usage"]] == ["robot"]
        assert owner.get("/v1/usage", since="2090-01-01")["usage"] == []
        assert owner("GET", "/v1/usage?by=year").status_code == 422


def test_a_key_learns_of_no_other_key(tmp_path: Path) -> None:
    with serve_store(tmp_path) as served:
        owner = served.caller("owner")
        inside = owner.send("POST", "/v1/worlds", name="inside")["refs"][0]
        guest, robot = served.caller("guest", inside), robot_of(served)
        robot.get("/v1/head")
        ids = [each["key"] for each in owner.get("/v1/usage")["usage"]]
        assert len(ids) == 2
        for name in ("owner", "robot", *ids):
            there, nowhere = guest("GET", f"/v1/usage?key={name}"), guest("GET", "/v1/usage?key=nobody")
            assert (there.status_code, nowhere.status_code) == (404, 404)
            told, wanted = there.json(), nowhere.json()
            assert told.pop("request_id") != wanted.pop("request_id")
            assert told["detail"].replace(name, "nobody") == wanted["detail"]
            assert told | {"detail": ""} == wanted | {"detail": ""}
        Path(f"{served.db.path}.usage").chmod(0o644)
        assert guest.get("/v1/usage")["trouble"] == "" and owner.get("/v1/usage")["trouble"]


def test_worlds_and_bytes_are_used_up_and_a_failed_write_uses_nothing(tmp_path: Path) -> None:
    with serve_store(tmp_path) as served:
        robot = robot_of(served, worlds=4, bytes_stored=2_000)
        robot.send("POST", "/v1/worlds", name="one", key="one")
        assert robot("POST", "/v1/worlds", json={"name": "one", "key": "one"}).json()["events"] == 0
        assert robot("POST", "/v1/worlds", json={"name": "x", "world": "nobody"}).status_code == 404
        # The home is made, too.
        robot.send("POST", "/v1/worlds/kitchen/memories", text="The oven is hot.")
        robot("PUT", "/v1/worlds/kitchen")
        assert robot("PUT", "/v1/worlds/four").status_code == 200
        for method, path, body in (
            ("PUT", "/v1/worlds/five", None),
            ("POST", "/v1/worlds", {"name": "five"}),
            ("POST", "/v1/worlds/one/memories", {"text": "five"}),
            ("POST", "/v1/worlds/one/fork", {"name": "five"}),
        ):
            refused = robot(method, path, json=body)
            told = refused.json()
            assert (refused.status_code, told["code"], told["reason"]) == (403, "plan_limit", "worlds"), path
            assert "has 4 for worlds under the plan 'small', and this would be 5" in told["detail"] and told["remedy"]
        before = served.db.head()
        told = robot("PATCH", "/v1/worlds/one", json={"content": "x" * 2_000}).json()
        assert (told["code"], told["reason"]) == ("plan_limit", "bytes_stored") and "2,000" in told["detail"]
        assert served.db.head() == before
        assert robot("PATCH", "/v1/worlds/one", json={"content": "x"}).status_code == 200
        served.db.accounts.define_plan("small")
        assert robot("PUT", "/v1/worlds/five").status_code == 200


def test_a_retry_of_what_was_written_is_answered_when_all_is_used_up(tmp_path: Path) -> None:
    with serve_store(tmp_path) as served:
        robot = robot_of(served, worlds=3, bytes_stored=400)
        path, body = "/v1/worlds/home/memories", {"text": "x" * 200}
        first, again = (robot("POST", path, json=body, headers={"Idempotency-Key": "one"}) for _ in range(2))
        assert (first.status_code, again.status_code) == (201, 201)
        assert first.json()["receipt"]["refs"] == again.json()["receipt"]["refs"]
        served.db.accounts.meter.flush()
        other = robot("POST", path, json=body, headers={"Idempotency-Key": "two"})
        assert (other.status_code, other.json()["reason"]) == (403, "bytes_stored")


def test_a_key_of_one_world_is_not_told_what_the_account_used_up_elsewhere(tmp_path: Path) -> None:
    told = []
    for used in (1, 3):
        folder = tmp_path / str(used)
        folder.mkdir()
        with serve_store(folder) as served:
            robot = robot_of(served, worlds=3)
            inside = served.db.create("Team", "inside")
            secret = served.db.accounts.create_key("guest", account="acme", world=inside, right="write").secret
            for number in range(used):
                robot.send("POST", "/v1/worlds", name=f"n{number}")
            guest = RestClient(served.rest, secret)
            for number in range(3 - used):
                guest.send("POST", "/v1/worlds", name=f"n{number}")
            refused = guest("POST", "/v1/worlds", json={"name": "one more"}).json()
            assert refused.pop("request_id") and refused["reason"] == "worlds"
            told.append(refused)
    assert told[0] == told[1]


def test_a_fork_counts_all_that_it_makes(tmp_path: Path) -> None:
    with serve_store(tmp_path) as served:
        robot = robot_of(served, worlds=8)
        robot.send("POST", "/v1/worlds", name="trip")
        for number in range(2):
            robot.send("POST", "/v1/worlds/trip/members", name=f"note {number}")
        robot.send("POST", "/v1/worlds/trip/fork", name="cheaper")
        told = robot("POST", "/v1/worlds/trip/fork", json={"name": "dearer"}).json()
        assert told["reason"] == "worlds" and "this would be 9" in told["detail"]
        robot.send("POST", "/v1/worlds/cheaper/members", name="bus")
        robot.send("POST", "/v1/worlds/cheaper/members", name="tram")
        assert robot("POST", "/v1/worlds/cheaper/merge", json={"plan": True}).status_code == 200
        refused = robot("POST", "/v1/worlds/cheaper/merge", json={}).json()
        assert refused["reason"] == "worlds" and "this would be 10" in refused["detail"]


@pytest.mark.parametrize("query", [False, True])
def test_a_request_with_too_many_bytes_is_refused_before_it_is_read(tmp_path: Path, query: bool) -> None:
    with serve_store(tmp_path) as served:
        robot = robot_of(served, bytes_per_request=200)
        robot.send("POST", "/v1/worlds", name="one")
        before = served.db.head()
        how = {"params": {"text": "x" * 200}} if query else {"json": {"name": "x" * 200}}
        refused = robot("GET" if query else "POST", "/v1/recall" if query else "/v1/worlds", **how)
        told = refused.json()
        assert (refused.status_code, told["code"], told["reason"]) == (413, "plan_limit", "bytes_per_request")
        assert "has 200 for bytes_per_request" in told["detail"] and "Send less" in told["remedy"]
        assert served.db.head() == before


def test_usage_outlives_the_server_and_counts_mcp(tmp_path: Path) -> None:
    with served_by_process(tmp_path / "store") as server, client.connect(server.url, server.key) as remote:
        remote.claim("kept")
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
        asked = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
        with server.client() as raw:
            raw.post("/mcp", json=asked, headers={"Accept": "application/json, text/event-stream"}).raise_for_status()
        # An answer may arrive a moment before it is counted.
        asked_before, deadline = 0, time.monotonic() + PATIENCE_SECONDS
        while (row := remote.usage(by="total").usage[0]).requests < 2 + asked_before and time.monotonic() < deadline:
            asked_before += 1
        assert (row.name, row.requests, row.writes) == ("owner", 2 + asked_before, 1)
        with pytest.raises(worlddb.UnknownReference):
            remote.usage("nobody")

        async def awaited() -> list[str]:
            async with client.connect_async(server.url, server.key) as other:
                return [each.name for each in (await other.usage("owner", by="minute")).usage]

        assert set(anyio.run(awaited)) == {"owner"}
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        assert sum(each.requests for each in db.accounts.usage().usage) == 5 + asked_before
