"""Small reads: answers that are sent again are those of a new read, and what was quick lately is read on the loop."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import worlddb
from tests.support.rest import RestClient, RestServer, serve_store
from worlddb import ManualClock
from worlddb.tools.mcp.access_keys import Gate
from worlddb.tools.server import answer_cache, serving
from worlddb.tools.server.answer_cache import Answer, AnswerCache
from worlddb.tools.server.rest import Rest, ServedStore

START = 1_750_000_000_000_000
SECOND = 1_000_000


class Counting(AnswerCache):
    """Counts what it finds."""

    found = 0

    def find(self, asked: Any, now: int) -> Answer | None:
        answer = super().find(asked, now)
        self.found += answer is not None
        return answer


class Forgetful(AnswerCache):
    """Keeps nothing, so that every answer is that of a new read."""

    def keep(self, asked: Any, stamp: Any, answer: Answer) -> None:
        pass


@pytest.fixture
def served(tmp_path: Path) -> Iterator[RestServer]:
    with serve_store(tmp_path, embedder=None) as found:
        found.rest._answers = Counting()
        yield found


def hits(served: RestServer) -> int:
    found: Any = served.rest._answers
    return int(found.found)


@pytest.mark.parametrize("seed", range(1))
def test_an_answer_is_that_of_a_new_read_at_every_time_and_after_every_write(tmp_path: Path, seed: int) -> None:
    """Random worlds that begin, end, expire, contain and contradict, and a clock that goes on by steps."""
    draw, clock = random.Random(seed), ManualClock(START)
    with serve_store(tmp_path, embedder=None, clock=clock) as served:
        served.rest._answers = counting = Counting()
        anew = Rest(ServedStore(served.db, Gate(served.db, served.keys, 10_000), serving.ROUTES))
        anew._answers = Forgetful()
        db = served.db
        refs = [db.create("Place", "box").ref, db.create("Place", "shelf").ref]
        edges: list[str] = []
        callers: list[tuple[RestClient, RestClient]] = []
        for world in (None, refs[0]):
            key = served.keys.add(db.head().store_id, f"key{world is None}", world, write=False)
            callers.append((RestClient(served.rest, key), RestClient(anew, key)))
        for _ in range(20):
            _change(db, draw, clock, refs, edges)
            clock.advance(draw.choice((0, 1, SECOND // 2, 3 * SECOND)))
            asked = [f"/v1/worlds/{ref}" for ref in draw.sample(refs, min(3, len(refs)))]
            asked += [
                f"/v1/worlds/{ref}/{draw.choice(('edges', 'history', 'timeline'))}" for ref in draw.sample(refs, 1)
            ]
            for path in asked * 2:
                for kept, fresh in callers:
                    first, second = kept("GET", path), fresh("GET", path)
                    shown = [(each.status_code, each.headers.get("etag"), _known(each)) for each in (first, second)]
                    assert shown[0] == shown[1], path
                if draw.random() < 0.5:
                    clock.advance(draw.choice((-SECOND, 1, SECOND // 3, 2 * SECOND)))
        assert counting.found > 20
        anew.close()


def _known(answer: Any) -> Any:
    """What an answer says, but for what every request has of its own."""
    return {name: value for name, value in answer.json().items() if name != "request_id"}


def _change(db: worlddb.Database, draw: random.Random, clock: ManualClock, refs: list[str], edges: list[str]) -> None:
    """One command, whose times lie shortly before or after now."""

    def soon() -> int:
        return clock.now() + draw.randint(-4, 4) * SECOND + draw.randint(0, 1)

    begins = soon()
    ends = draw.choice((None, begins + draw.randint(1, 4) * SECOND))
    ref, other = draw.choice(refs), draw.choice(refs)
    try:
        match draw.randrange(8):
            case 0 | 1:
                how: dict[str, Any] = {"world": refs[0]} if draw.random() < 0.6 else {}
                refs.append(db.create("Fact", f"fact {len(refs)}", valid_from=begins, valid_to=ends, **how).ref)
            case 2:
                db.revise(ref, content=f"said {clock.now()}", valid_from=begins, valid_to=ends)
            case 3:
                db.retire(ref, valid_from=begins)
            case 4:
                db.reassert(ref, valid_from=begins)
            case 5:
                db.link(ref, "contradicts", other, valid_from=begins, valid_to=ends)
            case 6:
                db.move(ref, refs[draw.randrange(2)], valid_from=begins)
            case _:
                db.expire(ref, expires_at=clock.now() + draw.randint(1, 4) * SECOND)
    except worlddb.WorldDBError:
        pass  # A law forbids it: as good as no command.


def test_a_read_sees_what_another_process_wrote_before_it(served: RestServer, tmp_path: Path) -> None:
    ana = served.caller("ana")
    ref = ana.send("POST", "/v1/worlds", name="Riga", content="wet")["refs"][0]
    for _ in range(3):
        assert ana.get(f"/v1/worlds/{ref}")["content"] == "wet"
    assert hits(served) == 2
    program = f"""if True:
        import worlddb
        with worlddb.open({str(tmp_path / "store")!r}, embedder=None) as db:
            db.revise({ref!r}, content="dry")
            print("written", flush=True)
            input()
            db.erase({ref!r}, reason="asked")
            print("erased", flush=True)
            input()
    """
    words = [sys.executable, "-c", program]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        assert process.stdout.readline() == "written\n"
        assert [ana.get(f"/v1/worlds/{ref}")["content"] for _ in range(2)] == ["dry", "dry"]
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "erased\n"
        assert ana.get("/healthz")["status"] == "ok"
        kept: Any = served.rest._answers
        assert not kept._answers, "what was erased goes with the next request, whatever it asks"
        assert ana.get(f"/v1/worlds/{ref}")["erased"]
        process.communicate("\n")
    assert process.returncode == 0


def test_an_answer_is_of_one_key_and_none_is_kept_for_a_key_of_one_world(served: RestServer) -> None:
    owner, accounts = served.caller("owner"), served.db.accounts
    inside = owner.send("POST", "/v1/worlds", name="inside")["refs"][0]
    outside = owner.send("POST", "/v1/worlds", name="outside")["refs"][0]
    made = accounts.create_key("guest", world=inside)
    guest = served.stranger(made.secret)
    for _ in range(2):
        assert owner.get(f"/v1/worlds/{outside}")["seq"] and owner.get(f"/v1/worlds/{inside}")["seq"]
        assert guest("GET", f"/v1/worlds/{outside}").status_code == 404
        assert guest.get(f"/v1/worlds/{inside}")["seq"] is None
    before = hits(served)
    assert before == 2, "the guest would notice by the time that others wrote"
    used = accounts.usage("guest", by="total").usage[0]
    assert (used.requests, used.errors) == (4, 2), "what was sent again is counted as any other"
    accounts.end_key("guest")
    assert guest("GET", f"/v1/worlds/{inside}").status_code == 401
    assert hits(served) == before


def test_what_is_kept_is_answered_by_each_method_condition_and_type_as_a_read_is(served: RestServer) -> None:
    ana = served.caller("ana")
    path = f"/v1/worlds/{ana.send('POST', '/v1/worlds', name='Riga')['refs'][0]}"
    first, again = ana("GET", path), ana("GET", path)
    assert hits(served) == 1 and first.content == again.content
    differs = {name for name, value in first.headers.items() if again.headers[name] != value}
    assert differs == {"x-request-id"}
    tag = first.headers["etag"]
    known = ana("GET", path, headers={"If-None-Match": tag})
    assert (known.status_code, known.content, known.headers["etag"]) == (304, b"", tag)
    head = ana("HEAD", path)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == first.headers["content-length"]
    before = hits(served)
    assert ana("GET", path, headers={"Accept": "text/csv"}).status_code == 406
    assert ana("GET", path, headers={"Idempotency-Key": "k" * 201}).status_code == 400
    assert ana("GET", path, params={"valid": "nonsense"}).status_code == 422
    assert hits(served) == before
    served.db.accounts.meter.flush()


def test_no_more_answers_are_kept_than_there_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_cache, "MAX_BYTES", 10_000)
    kept = AnswerCache()
    kept.see((0, 1))
    for number in range(9):
        kept.keep(number, (0, 1), Answer([], b"x" * 500, "", 0, 10))
    assert [number for number in range(9) if kept.find(number, 5)] == [5, 6, 7, 8]
    assert kept.find(8, 10) is None and kept.find(7, -1) is None, "it is so from one time to another"
    kept.keep("long", (0, 1), Answer([], b"x" * 70_000, "", 0, 10))
    kept.keep("late", (0, 2), Answer([], b"", "", 0, 10))
    assert kept.find("long", 5) is None and kept.find("late", 5) is None
    kept.see((0, 2))
    kept.keep("early", (0, 1), Answer([], b"", "", 0, 10))
    assert kept.find(6, 5) is None and kept.find("early", 5) is None, "it was read before the last write"
    kept.see(None)
    kept.keep("unknown", None, Answer([], b"", "", 0, 10))
    assert kept.find("unknown", 5) is None


def test_what_was_quick_is_answered_on_the_loop_for_some_time_and_what_was_not_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 100.0
    monkeypatch.setattr(answer_cache, "monotonic", lambda: now)
    quick = answer_cache.QuickRequests()
    assert not quick.has(1)
    quick.note(1, 0.0)
    quick.note(2, answer_cache.QUICK_SECONDS * 2)
    assert quick.has(1) and not quick.has(2)
    now += answer_cache.KNOWN_SECONDS / 2
    quick.note(1, 0.0)
    now += answer_cache.KNOWN_SECONDS / 2
    assert not quick.has(1), "it is looked at again in a thread, however often it is asked"
    quick.note(1, 0.0)
    quick.note(1, answer_cache.QUICK_SECONDS * 2)
    assert not quick.has(1)


def test_as_many_reads_as_there_may_be_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_cache, "MAX_KNOWN", 3)
    quick = answer_cache.QuickRequests()
    for number in range(5):
        quick.note(number, 0.0)
    assert [quick.has(number) for number in range(5)] == [False, False, True, True, True]


def test_reads_of_one_block_see_one_state_of_the_store(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", embedder=None) as db, worlddb.open(tmp_path / "store") as other:
        ref = db.create("Fact", "first").ref
        with db.reading():
            before = db.view()
            other.create("Fact", "second")
            with db.reading():
                assert db.view().seq == before.seq and len(db.view().find(type="Fact")) == 1
            assert db.view().hash() == before.hash()
        assert len(db.view().find(type="Fact")) == 2 and db.view().get(ref) is not None
        with pytest.raises(worlddb.UnknownReference), db.reading():
            db.view().hash("f" * 64)
        assert db.view().seq == other.view().seq


def test_blocks_of_reads_see_the_state_that_is_kept_for_them_and_others_the_newest(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        ref = db.create("Fact", "first").ref
        with db.one_state() as state:
            db.create("Fact", "second")
            assert len(db.view().find(type="Fact")) == 2
            for _ in range(2):
                with db.reading(state) as reading:
                    assert len(db.view().find(type="Fact")) == 1
                    assert reading.stamp == state.stamp != db.stamp() and reading.since > state.since
            with pytest.raises(worlddb.UnknownReference), db.reading(state):
                db.view().hash("f" * 64)
            assert len(db.view().find(type="Fact")) == 2 and db.view().get(ref) is not None


async def _got(served: RestServer, key: str, path: str, body: asyncio.Event | None = None) -> tuple[int, bytes]:
    """Status and body of an answer, asked for by the application's own interface; ``body``: when that comes."""
    sent: list[Any] = []

    async def receive() -> Any:
        if body is not None:
            await body.wait()
        return {"type": "http.request", "body": b""}

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"host", b"127.0.0.1"), (b"authorization", f"Bearer {key}".encode())]
    scope = {"type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "query_string": b""}
    await served.rest({**scope, "headers": headers}, receive, send)
    return sent[0]["status"], sent[1]["body"]


def test_all_that_a_turn_of_the_loop_reads_costs_one_transaction(
    served: RestServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the next turn reads what was written since, after a read that failed too."""
    db, begun = served.db, 0
    refs = [db.create("Fact", f"fact {number}").ref for number in range(6)]
    store = db.head().store_id
    whole = served.keys.add(store, "whole", None, write=False)
    inside = served.keys.add(store, "inside", refs[0], write=False)
    one_state = db._reader.one_state

    def counted() -> Any:
        nonlocal begun
        begun += 1
        return one_state()

    async def turns() -> None:
        for key in (whole, inside):
            await _got(served, key, "/healthz")
            await _got(served, key, f"/v1/worlds/{refs[0]}")
        await asyncio.sleep(0)
        monkeypatch.setattr(db._reader, "one_state", counted)
        for said in ("at first", "then", "at last"):
            db.revise(refs[1], content=said)
            asked = [_got(served, whole, f"/v1/worlds/{ref}") for ref in refs]
            found = await asyncio.gather(*asked)
            assert [status for status, _ in found] == [200] * len(refs) and said.encode() in found[1][1]
            # Who sees one world alone shares nothing, and what fails ends the state of its turn.
            alone = [_got(served, inside, f"/v1/worlds/{refs[0]}")]
            missing = [_got(served, whole, f"/v1/worlds/{number:064x}") for number in range(2)]
            counts.append(begun)
            assert [status for status, _ in await asyncio.gather(*alone, *missing)] == [200, 404, 404]
            counts.append(begun)

    counts: list[int] = []
    asyncio.run(turns())
    assert [after - before for before, after in zip([0, *counts], counts, strict=False)] == [1, 3] * 3


def _at_once(served: RestServer, key: str, target: str, method: str = "GET", **headers: str) -> Any:
    """What is answered without a task; to be called in a loop. ``None`` if that is left to one."""
    path, _, query = target.partition("?")
    told = {"host": "127.0.0.1", "authorization": f"Bearer {key}"} | headers
    named = [(name.replace("_", "-").encode(), value.encode()) for name, value in told.items()]
    scope = {"type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": query.encode()}
    return served.rest.at_once({**scope, "headers": named})


def test_what_is_answered_at_once_is_answered_as_by_a_task(tmp_path: Path) -> None:
    with serve_store(tmp_path, embedder=None, clock=ManualClock(START)) as served:
        _compare(served)


def _compare(served: RestServer) -> None:
    db, store = served.db, served.db.head().store_id
    ref = db.create("Place", "Riga", content="wet").ref
    key, other = (served.keys.add(store, name, None, write=False) for name in ("ana", "bo"))
    inside = served.keys.add(store, "inside", ref, write=False)
    tag = served.stranger(key)("GET", f"/v1/worlds/{ref}").headers["etag"]
    served.stranger(inside)("GET", f"/v1/worlds/{ref}")
    asked: list[tuple[str, str, dict[str, str]]] = [
        ("GET", f"/v1/worlds/{ref}", {}),
        ("HEAD", f"/v1/worlds/{ref}", {}),
        ("GET", f"/v1/worlds/{ref}", {"if_none_match": tag}),
        ("GET", f"/v1/worlds/{ref}?valid=2001-01-01", {}),
        ("GET", f"/v1/worlds/{ref}?valid=nonsense", {}),
        ("GET", f"/v1/worlds/{ref}?nothing=1", {}),
        ("GET", f"/v1/worlds/{'0' * 64}", {}),
        ("GET", f"/v1/worlds/{ref}", {"accept": "text/csv"}),
        ("GET", f"/v1/worlds/{ref}/edges", {}),
        ("GET", f"/v1/worlds/{ref}/history", {}),
    ]

    async def found(times: int) -> list[Any]:
        return [_at_once(served, key, target, how, **named) for _ in range(times) for how, target, named in asked]

    left = {f"/v1/worlds/{ref}/edges", f"/v1/worlds/{ref}/history"}
    first = asyncio.run(found(1))
    assert {target for (_, target, _), answer in zip(asked, first, strict=True) if answer is None} == left
    by_task = [
        served.stranger(key)(how, target, headers={name.replace("_", "-"): value for name, value in named.items()})
        for how, target, named in asked
    ]
    for (how, target, _), task, answer in zip(asked * 2, by_task * 2, asyncio.run(found(2)), strict=True):
        assert (answer.status, len(answer.body)) == (task.status_code, len(task.content)), (how, target)
        headers = {name.decode(): value.decode() for name, value in answer.headers}
        assert {**headers, "x-request-id": ""} == {**task.headers, "x-request-id": ""}, (how, target)
        if answer.status < 300:
            assert answer.body == task.content, (how, target)

    async def others() -> list[Any]:
        for_none = [_at_once(served, each, f"/v1/worlds/{ref}") for each in (inside, other, "nobody")]
        return [*for_none, _at_once(served, key, "/v1/nothing"), _at_once(served, key, "/v1/worlds", "POST")]

    assert asyncio.run(others()) == [None] * 5, "of one world, not known yet, no key, and nothing that is quick"
    used = {each.key: each.requests for each in db.accounts.usage(by="total").usage}
    assert sorted(used.values()) == [1, 1 + len(asked) - 2 + 3 * len(asked)], "each is counted, and once"


def test_what_is_answered_at_once_sees_what_was_written_in_the_same_turn(served: RestServer) -> None:
    ref = served.db.create("Place", "Riga", content="said 0").ref
    key = served.keys.add(served.db.head().store_id, "ana", None, write=False)
    served.stranger(key).get(f"/v1/worlds/{ref}")

    async def turn() -> None:
        for number in range(5):
            for _ in range(2):
                assert f'"said {number}"'.encode() in _at_once(served, key, f"/v1/worlds/{ref}").body
            served.db.revise(ref, content=f"said {number + 1}")

    asyncio.run(turn())


def test_a_read_that_comes_in_a_turn_beside_one_that_waited_is_not_answered_as_before(served: RestServer) -> None:
    db = served.db
    one, other = (db.create("Fact", name, content="at first").ref for name in ("one", "other"))
    key = served.keys.add(db.head().store_id, "whole", None, write=False)

    async def turns() -> bytes:
        for _ in range(2):
            assert b"at first" in (await _got(served, key, f"/v1/worlds/{one}"))[1]
            await asyncio.sleep(0)
        assert hits(served) == 1
        came = asyncio.Event()
        waiting = asyncio.create_task(_got(served, key, f"/v1/worlds/{other}", came))
        await asyncio.sleep(0.01)
        db.revise(one, content="at last")
        came.set()
        found = await asyncio.create_task(_got(served, key, f"/v1/worlds/{one}"))
        assert (await waiting)[0] == 200
        return found[1]

    assert b"at last" in asyncio.run(turns())
