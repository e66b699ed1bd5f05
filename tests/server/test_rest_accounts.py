"""Accounts, keys and plans over REST."""

from __future__ import annotations

from pathlib import Path

from tests.support.rest import RestClient, check_type, serve_store
from worlddb.client import wire_records as wire


def test_a_key_of_an_account_opens_its_world_within_its_plan_until_it_ends(tmp_path: Path) -> None:
    with serve_store(tmp_path) as served:
        owner = served.caller("owner")
        inside = owner.send("POST", "/v1/worlds", name="inside")["refs"][0]
        plan = check_type(owner.send("PUT", "/v1/plans/small", writes_per_minute=2, recall_k=3), wire.Plan)
        assert plan.limits.writes_per_minute == 2 and plan.limits.worlds is None
        account = check_type(owner.send("POST", "/v1/accounts", name="acme", plan="small"), wire.Account)
        asked = {"name": "robot", "account": "acme", "world": inside, "right": "write"}
        made = check_type(owner.send("POST", "/v1/keys", **asked), wire.NewKey)
        robot = RestClient(served.rest, made.secret)
        told = check_type(robot.get("/v1/limits"), wire.Allowed)
        assert (told.name, told.world, told.right, told.plan) == ("robot", inside, "write", "small")
        assert robot.get(f"/v1/worlds/{inside}")["name"] == "inside"
        assert robot("GET", "/v1/keys").status_code == 403
        assert robot("GET", "/v1/recall?text=x&k=4").json()["code"] == "plan_limit"
        assert robot("GET", f"/v1/worlds/{inside}/chunks?query=x&limit=4").json()["code"] == "plan_limit"
        for number in range(5):
            owner.send("POST", f"/v1/worlds/{inside}/memories", text=f"Plum {number} is ripe.")
        # A question that asks for no number gets as many hits as the plan allows.
        for path in ("recall?text=plum", f"worlds/{inside}/recall?text=plum", f"worlds/{inside}/chunks?query=plum"):
            assert len(robot("GET", f"/v1/{path}").json()["hits"]) == 3
        assert len(robot.send("POST", "/v1/recall", text="plum", wordings=["prune", "fruit"])["hits"]) == 1
        assert robot.get(f"/v1/worlds/{inside}/context", text="plum")["text"].count("is ripe") == 3
        assert robot("POST", "/v1/recall", json={"text": "plum", "wordings": ["a"] * 3}).json()["code"] == "plan_limit"
        for number in range(2):
            robot.send("POST", "/v1/worlds", name=f"note {number}")
        assert owner("PATCH", "/v1/accounts/acme", json={}).status_code == 422
        unknown = owner("PATCH", "/v1/accounts/acme", json={"plan": "none"}).json()
        assert (unknown["reason"], unknown["remedy"]) == ("unknown_plan", "Define it with PUT /v1/plans/{plan}")
        gone = owner("PATCH", "/v1/accounts/nobody", json={"plan": ""})
        assert (gone.status_code, gone.json()["remedy"]) == (404, "See /v1/accounts")
        freed = check_type(owner.send("PATCH", "/v1/accounts/acme", name="acme & sons", plan=""), wire.Account)
        assert (freed.name, freed.plan, robot.get("/v1/limits")["plan"]) == ("acme & sons", "", "")
        robot.send("POST", "/v1/worlds", name="more than two")
        owner.send("PATCH", f"/v1/accounts/{account.id}", plan="small")
        late = robot("POST", "/v1/worlds", json={"name": "one more"})
        assert (late.status_code, late.json()["code"]) == (429, "plan_limit")
        assert int(late.headers["retry-after"]) >= 1
        keys = check_type(owner.get("/v1/keys"), wire.Keys).keys
        assert [each.id for each in keys] == [made.id]
        assert made.secret not in owner("GET", "/v1/keys").text
        check_type(owner.send("DELETE", "/v1/keys/robot"), wire.Key)
        assert robot("GET", "/v1/limits").status_code == 401
        owner.send("DELETE", f"/v1/accounts/{account.id}")
        assert check_type(owner.get("/v1/accounts"), wire.Accounts).accounts == ()
        assert [each.name for each in check_type(owner.get("/v1/plans"), wire.Plans).plans] == ["small"]


def test_a_plan_without_vectors_recalls_by_words_and_names_and_says_so(tmp_path: Path) -> None:
    with serve_store(tmp_path) as served:
        owner = served.caller("owner")
        served.db.accounts.define_plan("words", features=["sparql"])
        served.db.accounts.define_plan("all", features=["sparql", "vectors"])
        owner.send("POST", "/v1/worlds/kitchen/memories", text="The stove takes ten minutes to get hot.")
        served.db.embed()
        told = "The plan has no vectors: only words and names were searched"
        for plan, lanes in (("words", ["text"]), ("all", ["text", "vector"])):
            served.db.accounts.create_account(plan, plan=plan)
            key = served.db.accounts.create_key(f"robot-{plan}", account=plan, right="read").secret
            robot = served.stranger(key)
            for path in ("/v1/recall", "/v1/worlds/kitchen/search"):
                asked = {"text": "how hot is the stove?", "k": 3}
                short, long = robot.get(path, **asked), robot("POST", path, json=asked).json()
                for found in (short, long):
                    assert [each for each in found["lanes"] if each != "entity"] == lanes, plan
                    assert (told in found["notes"]) is (plan == "words") and len(found["hits"]) == 1
            alone = robot("POST", "/v1/recall", json={"text": "warm", "lanes": ["vector"]})
            words = robot("POST", "/v1/recall", json={"text": "warm", "lanes": ["text"]}).json()
            assert told not in words["notes"]
            assert alone.status_code == (403 if plan == "words" else 200)
            assert "stove" in robot("GET", "/v1/worlds/kitchen/context", params={"text": "stove"}).text
            told_by_header = told if plan == "words" else None
            for name, noted in (("score", told_by_header), ("words", None)):
                text = f"SELECT ?p FROM <https://worlddb.dev/ns#search?text=hot> {{ ?x wdb:{name} ?p }}"
                answer = robot("GET", "/v1/sparql", params={"query": text})
                assert answer.headers.get("worlddb-note") == noted and len(answer.json()["results"]["bindings"]) == 1
            text = "ASK FROM <https://worlddb.dev/ns#search?text=warm> { ?x wdb:likeness ?n }"
            assert robot("GET", "/v1/sparql", params={"query": text}).json()["boolean"] is (plan == "all")
        assert told not in owner.get("/v1/recall", text="stove")["notes"]
