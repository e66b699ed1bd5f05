"""Jobs over REST, from their beginning to their files; and streams of events."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import anyio
import httpx
import msgspec
import pytest

import worlddb
from tests.server.test_serve import PATIENCE_SECONDS, serving
from tests.support.faults.traces import find_traces
from tests.support.rest import RestClient, RestServer, check_type, serve_store
from worlddb.client import wire_records as wire
from worlddb.tools.server.jobs import MAX_JOBS, Job, JobPool


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestServer]:
    with serve_store(tmp_path_factory.mktemp("jobs")) as found:
        yield found


@pytest.fixture(scope="module")
def ana(served: RestServer) -> RestClient:
    return served.caller("ana")


def ended(caller: RestClient, answer: httpx.Response) -> wire.Job:
    """A job when it has ended."""
    assert answer.status_code == 202, answer.text
    until = time.monotonic() + PATIENCE_SECONDS
    while True:
        job: wire.Job = check_type(caller.get(answer.headers["location"]), wire.Job)
        if job.status != "running" or time.monotonic() > until:
            return job
        time.sleep(0.01)


def test_a_store_is_verified(ana: RestClient) -> None:
    job = ended(ana, ana("POST", "/v1/verify", json={"deep": True}))
    assert job.status == "done" and job.result is not None and job.result["ok"], job
    assert job.id in [each.id for each in check_type(ana.get("/v1/jobs"), wire.Jobs).jobs]
    failed = ended(ana, ana("POST", "/v1/verify", json={"head": "nonsense"}))
    assert failed.problem is not None and failed.problem.code == "malformed_file"


def test_a_bundle_goes_from_one_store_to_another(ana: RestClient, tmp_path: Path) -> None:
    ana.send("POST", "/v1/worlds/garden/members", name="pear tree", content="bears in September")
    job = ended(ana, ana("POST", "/v1/bundles", json={"world": "garden"}))
    assert job.status == "done" and job.file is not None, job
    bundle = ana("GET", job.file).content
    with serve_store(tmp_path) as other:
        bob = other.caller("bob")
        taken = ended(bob, bob("POST", "/v1/bundles/import", content=bundle))
        assert taken.status == "done", taken
        assert bob.get("/v1/recall", text="pear tree")["hits"]
        bad = ended(bob, bob("POST", "/v1/bundles/import", content=bundle[:-9]))
        assert bad.problem is not None and bad.problem.code == "invalid_bundle"
        ref = ana.get("/v1/worlds", name="pear tree")["worlds"][0]["ref"]
        ended(ana, ana("POST", f"/v1/worlds/{ref}/erase", json={"reason": "request 7"}))
        back = ended(bob, bob("POST", "/v1/bundles", json={"world": "garden"}))
        assert back.file is not None
        content = bob("GET", back.file).content
        kept = ended(ana, ana("POST", "/v1/bundles/import?join=true", content=content))
        assert (
            kept.problem is not None and kept.problem.reason == "erasure_not_obeyed" and ref[:12] in kept.problem.detail
        )
        assert ended(ana, ana("POST", "/v1/bundles/import", content=content)).status == "done"


def test_an_erasure_is_planned_done_and_receipted(served: RestServer, ana: RestClient) -> None:
    ref = ana.send("POST", "/v1/worlds", name="Ove Fjord", content="a diary")["refs"][0]
    path = f"/v1/worlds/{ref}/erase"
    plan = ended(ana, ana("POST", path, json={"reason": "request 7", "plan": True}))
    assert plan.result is not None and plan.result["worlds"] == [ref]
    assert ana.get(f"/v1/worlds/{ref}")["content"] == "a diary"
    done = ended(ana, ana("POST", path, json={"reason": "request 7"}))
    assert done.status == "done" and done.result is not None, done
    assert ana.get(f"/v1/worlds/{ref}")["erased"]
    receipt = msgspec.convert(ana.get(f"/v1/erasures/{done.result['erasure']['seq']}"), wire.ErasureReceipt)
    assert [each["ref"] for each in receipt.worlds] == [ref]
    for none in ("abc", "0", "99999", "1"):
        problem = ana("GET", f"/v1/erasures/{none}")
        assert problem.status_code == 404 and problem.json()["code"] == "unknown_reference" and problem.json()["remedy"]
    guest = served.caller("guest", ana.send("POST", "/v1/worlds", name="den")["refs"][0])
    assert guest("POST", "/v1/worlds/den/erase", json={"reason": "x"}).status_code == 403
    assert guest.get("/v1/jobs")["jobs"] == []
    gone = guest("GET", f"/v1/jobs/{done.id}")
    assert gone.status_code == 404 and "end with the server" in gone.json()["remedy"]


@pytest.mark.parametrize(("erasures", "is_done"), [(5, True), (64, False)])
def test_a_job_that_erasures_interrupt_begins_again_until_it_is_done_or_says_what_to_do(
    tmp_path: Path, erasures: int, is_done: bool
) -> None:
    """The third erasure failed it, though each left the store as it was but for what it erased."""
    worlddb.open(tmp_path / "store").close()
    pool, written = JobPool(tmp_path / "store", lambda key: False), list[Path]()

    def write(path: Path) -> int:
        written.append(path)
        if len(written) <= erasures:
            shutil.rmtree(path.parent)
        path.write_text("a bundle")
        return len(written)

    try:
        if is_done:
            assert pool.write_file(Job("export"), write) == erasures + 1 and written[-1].exists()
        else:
            with pytest.raises(worlddb.UnavailableError, match="64 erasures") as raised:
                pool.write_file(Job("export"), write)
            assert "once no erasures are running" in raised.value.remedy
        pool.stopping.set()
        with pytest.raises(worlddb.UnavailableError, match="shutting down"):
            pool.write_file(Job("export"), write)
    finally:
        pool.close()


def test_an_erasure_removes_the_files_of_jobs_and_so_does_an_opening_after_a_kill(tmp_path: Path) -> None:
    """They lay in the temporary directory, with what was erased later, and for ever if the server was killed."""
    texts = ["a diary of bees", "a book of wasps"]
    with serving(tmp_path / "store") as server, server.client() as client:
        for name, text in zip(("Ove", "Ada"), texts, strict=True):
            client.post("/v1/worlds", json={"name": name, "content": text}).raise_for_status()

        def end(path: str, **body: Any) -> Any:
            at = client.post(path, json=body).headers["location"]
            until = time.monotonic() + PATIENCE_SECONDS
            while (job := client.get(at).json())["status"] == "running" and time.monotonic() < until:
                time.sleep(0.01)
            assert job["status"] == "done", job
            return job

        exported = end("/v1/bundles")
        assert client.get(exported["file"]).status_code == 200
        erased = end("/v1/worlds/Ove/erase", reason="request 7")
        assert [each for each in erased["result"]["erasure"]["not_reached"] if "bundle at" in each] == []
        gone = client.get(exported["file"])
        assert gone.status_code == 404 and "erasure" in gone.json()["remedy"]
        assert client.get(f"/v1/jobs/{exported['id']}").json()["file"] is None
        assert texts[1].encode() in client.get(end("/v1/bundles")["file"]).content
        assert find_traces(tmp_path, texts[:1]) == []
        server.process.kill()
        folders = [each.name for each in (tmp_path / "store").glob(".scratch-*")]
    assert len(folders) == 1
    worlddb.open(tmp_path / "store").close()
    assert not [*(tmp_path / "store").glob(".scratch-*")]


def test_a_job_that_waits_ends_with_its_key_and_takes_the_files_of_the_key_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An erasure that a key had queued ran after the key was taken away."""
    may_go_on, verify = Event(), worlddb.Database.verify

    def waiting(db: worlddb.Database, **how: Any) -> Any:
        assert may_go_on.wait(PATIENCE_SECONDS)
        return verify(db, **how)

    monkeypatch.setattr(worlddb.Database, "verify", waiting)
    with serve_store(tmp_path, embedder=None) as served:
        owner = served.caller("owner")
        owner.send("POST", "/v1/worlds", name="den", content="a diary of bees")
        robot = RestClient(served.rest, owner.send("POST", "/v1/keys", name="robot", right="admin")["secret"])

        exported = ended(robot, robot("POST", "/v1/bundles", json={}))
        (file,) = (tmp_path / "store").glob(f".scratch-*/{exported.id}")
        blocking = [owner("POST", "/v1/verify", json={}) for _ in range(2)]
        robot("POST", "/v1/worlds/den/erase", json={"reason": "spite"})
        owner.send("DELETE", "/v1/keys/robot")
        may_go_on.set()
        blocking.append(owner("POST", "/v1/verify", json={}))
        assert {ended(owner, each).status for each in blocking} == {"done"}
        assert owner.get("/v1/worlds/den")["content"] == "a diary of bees" and not file.exists()


@pytest.mark.parametrize("of_account", [True, False])
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("erase", "/v1/worlds/den/erase", {"reason": "spite"}),
        ("erase_literal", "/v1/worlds/den/erase", {"reason": "spite", "literal": '"bees"'}),
        ("import_bundle", "/v1/bundles/import", None),
        ("export", "/v1/bundles", {"world": "den"}),
        ("verify", "/v1/verify", {}),
    ],
)
def test_a_job_that_runs_ends_with_its_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str, path: str, body: Any, of_account: bool
) -> None:
    """An erasure that had begun went on after the key, or its user, was taken away."""
    has_begun, may_go_on, run = Event(), Event(), getattr(worlddb.Database, method)

    def waiting(db: worlddb.Database, *given: Any, **how: Any) -> Any:
        has_begun.set()
        assert may_go_on.wait(PATIENCE_SECONDS)
        return run(db, *given, **how)

    with worlddb.open(tmp_path / "other", embedder=None) as other:
        bundle = tmp_path / "bundle"
        other.export(other.create("Thing", "hive").ref, bundle)
    with serve_store(tmp_path, embedder=None) as served:
        owner = served.caller("owner")
        owner.send("POST", "/v1/worlds", name="den", content="a diary of bees")
        owner.send("POST", "/v1/worlds/den/statements", statements=[["<urn:x:a>", "<urn:x:b>", '"bees"']])
        secret = owner.send("POST", "/v1/keys", name="robot", right="admin")["secret"] if of_account else None
        robot = RestClient(served.rest, secret) if secret else served.caller("robot")
        before = served.db.head().seq
        monkeypatch.setattr(worlddb.Database, method, waiting)
        robot(method="POST", path=path, **({"content": bundle.read_bytes()} if body is None else {"json": body}))
        assert has_begun.wait(PATIENCE_SECONDS)
        if of_account:
            served.db.accounts.end_key("robot")
        else:
            served.keys.remove("robot")
        may_go_on.set()
        monkeypatch.undo()
        ended(owner, owner("POST", "/v1/verify", json={}))
        served.rest.close()  # It waits for all jobs.
        assert served.db.head().seq == before + of_account
        assert [each.content for each in served.db.view().find(name="den")] == ["a diary of bees"]
        assert served.db.view().statements("den") and not [*(tmp_path / "store").glob(".scratch-*/*")]


def test_the_jobs_of_a_key_are_still_its_own_after_its_plan_has_changed(tmp_path: Path) -> None:
    """They were listed under the former plan: nobody could see them, or fetch or remove a file of theirs."""
    with serve_store(tmp_path, embedder=None) as served:
        owner = served.caller("owner")
        for plan, most in (("free", 5), ("paid", 50)):
            owner.send("PUT", f"/v1/plans/{plan}", recall_k=most)
        owner.send("POST", "/v1/accounts", name="ana", plan="free")
        ana = RestClient(
            served.rest, owner.send("POST", "/v1/keys", name="robot", account="ana", right="admin")["secret"]
        )
        begun = [ended(ana, ana("POST", "/v1/bundles", json={})) for _ in range(2)]
        owner.send("PATCH", "/v1/accounts/ana", plan="paid")
        begun += [ended(ana, ana("POST", "/v1/bundles", json={})) for _ in range(MAX_JOBS - 1)]
        listed = check_type(ana.get("/v1/jobs"), wire.Jobs).jobs
        assert [each.id for each in listed] == [each.id for each in reversed(begun[1:])]
        assert begun[1].file is not None and ana("GET", begun[1].file).status_code == 200
        files = {each.name for each in (tmp_path / "store").glob(".scratch-*/*")}
        assert files & {each.id for each in begun} == {each.id for each in listed}


def test_one_literal_of_a_world_is_planned_erased_and_receipted(ana: RestClient) -> None:
    ref = ana.send("POST", "/v1/worlds", name="cafes")["refs"][0]
    said = [["<urn:x:luna>", "<urn:x:serves>", text] for text in ('"cake"', '"tea"@en')]
    ana.send("POST", f"/v1/worlds/{ref}/statements", statements=said)
    tag = ana("GET", f"/v1/worlds/{ref}/statements").headers.get("etag")
    path, asked = f"/v1/worlds/{ref}/erase", {"reason": "request 7", "literal": '"cake"'}
    plan = ended(ana, ana("POST", path, json={**asked, "plan": True}))
    assert plan.result is not None and (plan.result["worlds"], plan.result["statements"]) == ([ref], 1)
    assert ana("POST", path, json={**asked, "turns": True}).status_code == 422
    done = ended(ana, ana("POST", path, json=asked))
    assert done.status == "done" and done.result is not None, done
    again = ana("GET", f"/v1/worlds/{ref}/statements", headers={} if tag is None else {"If-None-Match": tag})
    assert [each["object"] for each in again.json()["statements"]] == ['"tea"@en']
    left = msgspec.convert(ana.get(f"/v1/worlds/{ref}/statements/erased"), wire.ErasedStatements)
    [(what, by)] = [(each.erased, each.erasure) for each in left.statements]
    assert what == ("object",) and by is not None and by.reason == "request 7"
    assert not ana.get(f"/v1/worlds/{ref}")["erased"]
    receipt = msgspec.convert(ana.get(f"/v1/erasures/{done.result['erasure']['seq']}"), wire.ErasureReceipt)
    assert receipt.worlds[0]["literals"] and receipt.worlds[0]["reason"] == "request 7"
    failed = ended(ana, ana("POST", path, json=asked))
    assert failed.problem is not None and failed.problem.reason == "literal_not_stated"


def test_a_stream_ends_when_its_client_leaves(tmp_path: Path) -> None:
    """However many left before: each stream is a request under way, of which a key may have so many and no more."""
    with serving(tmp_path / "store") as server, server.client() as client:
        for _ in range(3):
            with client.stream("GET", "/v1/events") as stream:
                assert next(stream.iter_lines()).startswith(":")
        until = time.monotonic() + PATIENCE_SECONDS
        # What reads the metrics at once, as soon as that was quick, is no request under way.
        while "worlddb_requests_under_way 0\n" not in (told := client.get("/metrics").text):
            assert time.monotonic() < until, told
            time.sleep(0.05)


def test_a_stream_follows_the_log_goes_on_where_it_was_cut_and_ends_with_the_server(tmp_path: Path) -> None:
    async def events(server: Any, first: dict[str, str], write: list[str]) -> list[tuple[str, str, str]]:
        found = []
        async with (
            httpx.AsyncClient(
                base_url=server.url, headers={"Authorization": f"Bearer {server.key}"}, timeout=PATIENCE_SECONDS
            ) as client,
            client.stream("GET", "/v1/events", params=first) as stream,
        ):
            told: dict[str, str] = {}
            async for line in stream.aiter_lines():
                if line.startswith(":"):
                    while write:
                        await client.post("/v1/worlds", json={"name": write.pop(0)})
                elif line:
                    name, _, value = line.partition(": ")
                    told[name] = value
                elif told:
                    entry = msgspec.json.decode(told["data"], type=wire.Entry)
                    found.append((told["id"], told["event"], entry.name))
                    told = {}
                if [event for event in found if event[2] == "last"]:
                    break
        return found

    with serving(tmp_path / "store") as server:
        names = ["one", "two", "last"]
        found = anyio.run(events, server, {}, list(names))
        assert [name for _, event, name in found if event == "created"] == names
        again = anyio.run(events, server, {"after": found[0][0]}, [])
        assert again == found[1 : len(again) + 1]
        with server.client() as client, client.stream("GET", "/v1/events") as stream:
            lines = stream.iter_lines()
            assert next(lines).startswith(":")
            server.process.terminate()
            assert [line for line in lines if line] == []
        assert server.process.wait(PATIENCE_SECONDS) == 0
