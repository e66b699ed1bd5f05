"""The client: the library's names and errors, over the wire."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

import worlddb
from tests.server.test_serve import Server, serving
from tests.support.rest import serve_store
from worlddb import client
from worlddb.client import Client, client_calls


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("client") / "store", "--rate", "5000") as found:
        yield found


@pytest.fixture(scope="module")
def remote(server: Server) -> Iterator[Client]:
    with client.connect(server.url, server.key) as found:
        yield found


def test_the_client_has_the_librarys_names_and_records(remote: Client) -> None:
    made = remote.create("Person", "Ana", content="a sailor", valid_from="2025-01-01")
    remote.revise(made, content="a captain", valid_from=datetime(2025, 6, 1, tzinfo=UTC))
    assert remote.get(made, valid="2025-02-01").content == "a sailor"
    assert [each.content for each in remote.history(made).versions] == ["a sailor", "a captain"]
    told = remote.remember("ships", "The Vasa sank in 1628.", labels=["history"])
    assert remote.recall("when did the Vasa sink?", world="ships").hits[0].ref == told.receipt.ref
    assert "Vasa" in remote.context("ships", "Vasa").text
    remote.revise(told, content="The Vasa sank in 1629.")
    for label in ("history", ["history"]):
        asked = {"world": "ships", "label": label, "type": "Fact", "author": "owner"}
        assert [hit.content for hit in remote.recall("Vasa", **asked).hits] == ["The Vasa sank in 1629."]
    untagged = remote.recall("Vasa", world="ships", tag="history")
    assert "has the tag 'history'" in untagged.notes[-1] and untagged.note == "; ".join(untagged.notes)
    again = [remote.remember("ships", "The Kronan sank in 1676.", labels=[each]) for each in ("sunk", "old", "sunk")]
    assert [each.restated for each in again] == [False, True, True] and not again[1].near
    assert len({each.receipt.ref for each in again}) == 1
    assert set(remote.get(again[0].receipt).labels) == {"sunk", "old"}
    assert not remote.remember("wrecks", "The Kronan sank in 1676.").restated
    keyed = [remote.remember("ships", "The Mars blew up.", idempotency_key="m") for _ in range(2)]
    assert [(each.restated, each.receipt.seq) for each in keyed] == [(False, keyed[0].receipt.seq)] * 2
    for each in (again[0], keyed[0]):
        remote.retire(each.receipt)
    with pytest.raises(worlddb.InputError, match="text is blank"):
        remote.remember("ships", "  ")
    edge = remote.link(told.receipt, "refers_to", made)
    assert [each.target for each in remote.edges(told.receipt, type="refers_to").edges] == [made.ref]
    remote.unlink(edge)
    assert [each.ref for each in remote.members("ships").worlds] == [told.receipt.ref]
    kronan = remote.add("ships", "Ship", "Kronan")
    with pytest.raises(worlddb.UnknownReference, match="No top-level world"):
        remote.alias("Kronan", "the Crown")
    remote.alias(kronan, "the Crown")
    assert remote.worlds(name="the Crown").worlds[0].name == "Kronan"
    remote.retire(kronan, why="sunk")
    remote.reassert(kronan)
    assert remote.log(ref=made.ref).entries[0].event == "created"
    assert f'"store":"{remote.head().store_id}"' in remote.prove(made).proof
    assert remote.timeline(made).steps and not remote.conflicts().conflicts and not remote.proposals().proposals


def test_an_argument_that_no_call_takes_is_named_in_a_typed_error_by_all_calls(remote: Client, server: Server) -> None:
    """`claim`, `job`, `wait` and others, which take no further fields, ended in a plain TypeError."""
    needed: dict[str, Any] = {"seq": 1, "bundle": b"", "statements": [("<urn:a>", "<urn:b>", "<urn:c>")]}
    told, ends = {}, {"type": "refers_to", "target": "x", "source": "x"}
    awaiting = client.connect_async(server.url, server.key)
    for each in (remote, awaiting):
        for name, call in inspect.getmembers(each, inspect.ismethod):
            if name.startswith("_") or (each is awaiting and name not in ("wait", "follow", "close")):
                continue
            taken = inspect.signature(call).parameters.values()
            given = [needed.get(one.name, "x") for one in taken if one.default is one.empty and one.kind <= 1]
            more: Any = {"link": ends, "sparql_update": {"world": "x"}, "alias": {"aliases": ["y"]}}.get(name, {})
            with pytest.raises(worlddb.InputError) as raised:
                call(*given, **more, zzz=1)
            told[name] = str(raised.value)
    assert all("zzz" in each for each in told.values()) and len(told) > 45, told
    assert told["claim"] == "claim takes no argument 'zzz'. It takes name"
    for connect in (client.connect, client.connect_async):
        with pytest.raises(worlddb.InputError, match="connect takes no argument 'kye'"):
            connect(server.url, kye="x")
        with pytest.raises(worlddb.InputError, match="connect takes no argument 'headers'"):
            connect(server.url, headers={})
    anyio.run(awaiting.close)


def test_marks_and_what_recalls_choose_by_have_the_librarys_names(remote: Client) -> None:
    """What was written could not be pinned, labelled, hidden or deprecated any more, nor listed by its properties."""
    made = remote.remember("marked", "The lamp is red.", properties={"watts": 40}, ttl=timedelta(days=1)).receipt
    remote.remember("marked", "The lamp is green.", contradicts=made, on_near="propose")
    seen = remote.get(made)
    assert seen.expires_at and seen.conflicts and seen.properties == {"watts": 40}
    done = remote.mark(made, pinned=True, expires_at="never", add_labels=["light"], tag="first", why="a test")
    seen = remote.get(made)
    assert (done.ref, seen.pinned, seen.expires_at, seen.labels) == (made.ref, True, None, ("light",))
    assert seen.tags == {"first": 1}
    assert [each.ref for each in remote.members("marked", properties={"watts": {"$gte": 40}}).worlds] == [made.ref]
    assert remote.members("marked", properties={"watts": 41}).worlds == ()
    text = remote.context("marked", "which lamp?", label="light", min_confidence=0.01).text
    assert "red" in text and "green" not in text.partition("contradicted")[0].replace("The lamp is green", "")
    grouped = remote.recall("lamp", world="marked", group=1).groups
    assert grouped[0].hits and grouped[0].count >= 1
    remote.mark(made, deprecated=True, remove_labels=["light"], untag="first", pinned=False)
    assert made.ref not in [each.ref for each in remote.members("marked").worlds]
    with pytest.raises(worlddb.InputError, match="No mark was given"):
        remote.mark(made)


def test_statements_and_forks_have_the_librarys_calls(remote: Client) -> None:
    cafe, serves = worlddb.Iri("https://a.example/luna"), worlddb.Iri("https://a.example/serves")
    remote.state("cafes", [(cafe, serves, worlddb.Literal("thé", language="fr")), (cafe, serves, '"tea"', None)])
    assert [each.object for each in remote.statements("cafes", object='"tea"').statements] == ['"tea"']
    remote.unstate("cafes", [(cafe, serves, '"tea"')])
    assert [each.object for each in remote.statements("cafes", subject=cafe, graph=None).statements] == ['"thé"@fr']
    remote.unstate("cafes", subject=cafe)
    assert not remote.statements("cafes").statements
    remote.create("Trip", "Lisbon")
    fork = remote.fork("Lisbon", "Lisbon, cheaper")
    remote.add(fork, "Plan", "bus")
    assert [each.detail for each in remote.merge(fork, plan=True).changes] == ["bus"]
    assert remote.merge(fork).receipt and remote.merge(fork).receipt is None
    [told] = remote.forks("Lisbon").forks
    assert told.ref == fork.ref and told.is_merged and remote.forks(fork).forked_from.of == told.of
    told = remote.sparql("SELECT ?n FROM wdb:memory { ?x wdb:type 'Trip' ; wdb:name ?n }", format="text/csv")
    assert b"Lisbon" in told and (told.media_type, told.note) == ("text/csv", "")
    missed = remote.sparql("ASK FROM wdb:memory { ?trip wdb:nmae 'Lisbon' }")
    assert b"false" in missed and "wdb:name" in missed.note
    with pytest.raises(worlddb.InvalidSparql):
        remote.sparql("SELECT", world=fork)


def test_a_search_in_sparql_that_no_model_could_help_says_why_in_the_librarys_words(tmp_path: Path) -> None:
    class Model:
        model, dimension, is_there = "moods", 2, True

        def mean(self) -> list[float]:
            return [0.0, 0.0]

        def embed(self, texts: list[str], *, query: bool) -> list[list[float]]:
            if not self.is_there:
                raise worlddb.ModelUnavailable("le modèle dort\n à 100 %")
            return [[1.0, 0.0] for _ in texts]

    query = "SELECT ?x FROM <https://worlddb.dev/ns#search?text=stove> { ?x wdb:score ?score ; wdb:nmae ?n }"
    asked: list[client.SparqlBytes] = []
    model = Model()
    with serve_store(tmp_path, embedder=model) as served:
        served.db.create("Fact", "stove", content="The stove is hot.")
        served.db.embed()
        model.is_there = False
        key = served.keys.add(served.db.head().store_id, "ana", None, write=True)
        why = served.db.view().sparql(query).unavailable["vector"]

        async def ask() -> None:
            through = httpx.ASGITransport(served.rest)
            async with client.connect_async("http://127.0.0.1", key, transport=through) as remote:
                asked.append(await remote.sparql(query))

        anyio.run(ask)
    assert "modèle dort" in why and why in asked[0].note and "wdb:name" in asked[0].note


def test_errors_are_those_that_the_library_raises(server: Server, remote: Client) -> None:
    with pytest.raises(worlddb.UnknownReference):
        remote.get("nobody")
    with pytest.raises(worlddb.InvalidTime):
        remote.worlds(valid="soon")
    with pytest.raises(worlddb.RefusedError) as refused:
        remote.retire(next(iter(remote.log(first=1, last=1).entries)).data["root"])
    assert refused.value.details["reason"]
    made = remote.create("Fact", "once", idempotency_key="one")
    with pytest.raises(worlddb.IdempotencyConflict):
        remote.create("Fact", "twice", idempotency_key="one")
    with pytest.raises(client.PreconditionFailed):
        remote.revise(made, content="x", if_match="0" * 64)
    with pytest.raises(client.RequestRejected):
        remote.create("Fact", "x", colour="red")
    with client.connect(server.url, "worlddb_wrong") as stranger, pytest.raises(client.NotAdmitted):
        stranger.worlds()
    with client.connect("http://127.0.0.1:9") as nowhere, pytest.raises(worlddb.UnavailableError):
        nowhere.worlds()


def test_a_key_that_does_not_suffice_is_told_what_it_lacks(server: Server, remote: Client) -> None:
    home = remote.create("Team", "harbour").ref
    asked = {"name": "guest", "world": home, "right": "read"}
    made = httpx.post(f"{server.url}/v1/keys", json=asked, headers={"Authorization": f"Bearer {server.key}"}).json()
    with client.connect(server.url, made["secret"]) as guest, client.connect(server.url) as nobody:
        calls = {
            "unauthorized": nobody.worlds,
            "forbidden": lambda: guest.remember("harbour", "A ship came."),
            "beyond_key": guest.head,
        }
        for code, call in calls.items():
            with pytest.raises(client.NotAdmitted) as lacking:
                call()
            assert lacking.value.code == code


def test_every_error_of_the_model_comes_back_as_itself() -> None:
    for code, kind in client_calls._by_code().items():
        body = b'{"type":"about:blank","title":"x","status":400,"detail":"what","code":"%s","remedy":"do"}'
        found = client_calls.response_error(400, body % code.encode())
        assert type(found) is kind and (found.message, found.remedy) == ("what", "do")
    assert isinstance(client_calls.response_error(502, b"<html>"), worlddb.UnavailableError)


def test_jobs_are_waited_for(remote: Client) -> None:
    assert remote.wait(remote.begin_verify()).status == "done"
    remote.claim("attic")
    bundle = remote.file(remote.wait(remote.begin_export("attic")))
    assert remote.wait(remote.begin_import(bundle)).result
    with pytest.raises(worlddb.InvalidBundle):
        remote.wait(remote.begin_import(bundle[:-5]))


def test_calls_are_awaited_and_the_log_is_followed(server: Server) -> None:
    async def work() -> None:
        async with client.connect_async(server.url, server.key) as remote:
            head = await remote.head()
            made = await remote.create("Fact", "followed")
            cut = (await remote.log(first=head.seq + 1)).entries[0]
            assert cut.refs[0] == made.ref

            async def write() -> None:
                for number in range(20):
                    await remote.create("Fact", f"later {number}")
                    await anyio.sleep(0.05)

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(write)
                async for _, entry in remote.follow():
                    if entry.event == "created":
                        assert entry.name.startswith("later")
                        break
                tasks.cancel_scope.cancel()

    anyio.run(work)


def test_the_client_loads_the_model_alone() -> None:
    told = (
        "import sys, worlddb.client; print(sorted(name for name in sys.modules"
        " if name.startswith('worlddb.') and not name.startswith(('worlddb.client', 'worlddb.log.model'))))"
    )
    ran = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() in ("[]", "['worlddb.log']")


def test_a_client_writes_to_no_entry_inside_of_somebodys_world(remote: Client) -> None:
    told = remote.remember("lena", "Ivo is my brother.", about=["Ivo"])
    with pytest.raises(worlddb.UnknownReference, match="No top-level world"):
        remote.context("Ivo", "PIN")
    assert remote.remember("Ivo", "The PIN of Ivo is 4711.").notes
    assert "4711" in remote.context("Ivo", "PIN").text and "4711" not in remote.context("lena", "PIN").text
    assert {each.name for each in remote.members("lena").worlds} == {"", "Ivo"} and told.receipt.outcome == "committed"
    with pytest.raises(worlddb.InputError, match="the name of the whole store"):
        remote.remember("root", "I am a user.")


def _nothing_is_sent(request: httpx.Request) -> httpx.Response:
    raise AssertionError(f"{request.url} was asked")


SENT_NOTHING = httpx.MockTransport(_nothing_is_sent)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda it: it.create("T", "x", idempotency_key="a\nb"), r"idempotency_key is 'a\\nb'.* header"),
        (lambda it: it.create("T", "x", idempotency_key="\u00e9"), "idempotency_key is '\u00e9'.* header"),
        (lambda it: it.create("T", "x", idempotency_key=" a"), "idempotency_key is ' a'.* header"),
        (lambda it: it.create("T", "x", idempotency_key=""), "idempotency_key is empty"),
        (lambda it: it.revise("x", content="y", if_match="\u00e9"), "if_match is"),
        (lambda it: it.sparql("ASK {}", format="\u00e9"), "format is"),
        (lambda it: it.sparql(None), "query is NoneType"),
        (lambda it: it.remember("x", "a\ud800"), r"text is not valid Unicode.*U\+D800"),
        (lambda it: it.state("x", [("a", "b", "\ud800")]), "statements is not valid Unicode"),
        (lambda it: it.unstate("x", [("a", "b", "\ud800")]), "statements is not valid Unicode"),
        (lambda it: it.get("a\ud800"), "world is not valid Unicode"),
        (lambda it: it.worlds(name="a\ud800"), "name is not valid Unicode"),
        (lambda it: it.worlds(properties={"a": {"$gte": float("nan")}}), r"properties\.a\.\$gte is nan"),
        (lambda it: it.create("T", "x", properties={"a": [float("inf")]}), r"properties\.a\[0\] is inf"),
        (lambda it: it.recall("x", min_confidence=float("nan")), "min_confidence is nan"),
        (lambda it: it.recall("x", label=[object()]), "cannot be sent"),
        (lambda it: it.remember("", "x"), "world is empty"),
        (lambda it: it.edge(None), "edge is NoneType"),
        (lambda it: it.begin_import("x"), "bundle is str"),
        (lambda it: it.worlds(during="2026-01-01"), "during is '2026-01-01', not two times"),
        (lambda it: it.worlds(during=5), "during is 5, not two times"),
        (lambda it: it.link("a", "refers_to", "b", source={"mail": 7}), "source was given twice"),
        (lambda it: it.link("a", "refers_to"), "target is missing"),
        (lambda it: it.link("a", "refers_to", "b", "c"), "more positional arguments than source"),
        (lambda it: it.worlds(label=[b"x"]), "label has b'x', which a URL cannot have"),
        (lambda it: it.worlds(limit=object()), "limit has <object"),
        (lambda it: it.state("x", 5), "statements is 5"),
        (lambda it: it.unstate("x", [5]), r"statements is \[5\]"),
        (lambda it: it.erasure_receipt("\ud800"), "seq is str"),
        (lambda it: it.worlds(name="x" * 70_000), "has no URL"),
    ],
)
def test_what_cannot_be_sent_is_told_with_its_place_before_anything_is(call: Any, told: str) -> None:
    """It was told as a server that was not reached, or by an error of Python; NaN went as null."""
    with (
        client.connect("http://127.0.0.1:1", transport=SENT_NOTHING) as never,
        pytest.raises(worlddb.InputError, match=told) as failed,
    ):
        call(never)
    assert failed.value.remedy


@pytest.mark.parametrize("url", [None, "", "127.0.0.1:8767", "ftp://a.example", "http://", "http://[::1", b"http://a"])
def test_an_address_that_is_none_is_told_with_one_that_is(url: Any) -> None:
    for connect in (client.connect, client.connect_async):
        with pytest.raises(worlddb.InputError, match="url is") as failed:
            connect(url, None)
        assert "http://" in failed.value.remedy


@pytest.mark.parametrize("key", ["secr\u00e9t", "secret\n", "", 5])
def test_a_key_that_no_header_can_carry_is_told_without_it(key: Any) -> None:
    with pytest.raises(worlddb.InputError, match="key has characters that a header cannot have") as failed:
        client.connect("http://127.0.0.1:1", key)
    assert "secr" not in str(failed.value)


def test_a_closed_client_says_so_as_a_closed_store_does() -> None:
    gone = client.connect("http://ana:secret@127.0.0.1:1")
    gone.close()
    for call in (gone.head, lambda: next(gone.follow())):
        with pytest.raises(worlddb.StoreClosed, match=r"The client of 127\.0\.0\.1:1 was closed"):
            call()
    with pytest.raises(worlddb.InputError, match="timeout_seconds"):
        client.connect("http://127.0.0.1:1", timeout_seconds=float("nan"))
    with (
        client.connect("http://127.0.0.1:1") as there,
        pytest.raises(worlddb.UnavailableError, match=r"127\.0\.0\.1:1"),
    ):
        there.head()


def test_what_json_or_a_header_cannot_hold_is_refused_as_the_library_does(remote: Client) -> None:
    """What is no number was null on its way, and dropped."""
    before = remote.head().root
    for said in (
        {"properties": {"a": float("nan")}},
        {"properties": {"a": [{"b": float("inf")}]}},
        {"source": {"a": float("-inf")}},
        {"idempotency_key": "é"},
        {"idempotency_key": "a\nb"},
        {"why": "\ud800"},
    ):
        with pytest.raises(worlddb.InputError):
            remote.remember("numbers", "One.", **said)
    with pytest.raises(worlddb.InputError):
        remote.create("Fact", "x", properties={"a": float("nan")})
    assert remote.head().root == before


def test_a_span_may_be_open_and_an_edge_says_where_it_comes_from(remote: Client) -> None:
    """``None`` for an end was an error of Python, and nothing of ``context`` could be sent."""
    home = remote.claim("spans")
    made = remote.add(home, "Fact", "tea", content="green", valid_from="2020-01-01", valid_to="2021-01-01")
    remote.add(home, "Fact", "cup", content="blue", valid_from="2022-01-01")
    spans: Any = {
        (None, "2020-06-01"): {"tea"},
        ("2021-06-01", None): {"cup"},
        (None, None): {"tea", "cup"},
        worlddb.Valid(worlddb.parse_time("2021-06-01"), worlddb.FOREVER): {"cup"},
    }
    for span, found in spans.items():
        assert {each.name for each in remote.members(home, overlaps=span).worlds} == found
    assert {each.name for each in remote.members(home, during=("2022-02-01", "..")).worlds} == {"cup"}
    assert remote.history(made, overlaps=(None, "2020-06-01"), between=(None, None)).versions
    assert remote.recall("green tea", world=home, overlaps=("2020-01-01", None)).hits[0].ref == made.ref
    told = remote.link(source=home, type="refers_to", target=made, context={"evidence": "the menu"}, why="seen")
    assert remote.edge(told.ref).properties == {"evidence": "the menu"}
    remote.link(home, "refers_to", made, properties={"source": "menu"})


def test_a_write_without_an_answer_is_not_told_as_one_that_was_not_sent() -> None:
    """Who was told that the server was not reached, and to try again, wrote twice what had been done."""

    def slow(request: httpx.Request) -> httpx.Response:
        raise httpx.ReadTimeout("too slow", request=request)

    def gone(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    def told(handler: Any, call: Any) -> tuple[str, str]:
        with client.connect("http://127.0.0.1:1", transport=httpx.MockTransport(handler)) as there:
            with pytest.raises(worlddb.UnavailableError) as failed:
                call(there)
            return failed.value.message, failed.value.remedy

    message, remedy = told(slow, lambda there: there.create("Note", "a"))
    assert "may have carried out the request: ReadTimeout" in message and "before you send it again" in remedy
    assert told(slow, lambda there: there.create("Note", "a", idempotency_key="k"))[1].startswith(
        "Send it again unchanged"
    )
    for call in (lambda there: there.recall("tea"), lambda there: there.head()):
        assert told(slow, call) == ("The server at 127.0.0.1:1 did not answer: ReadTimeout", "Try again")
    assert told(gone, lambda there: there.create("Note", "a"))[0].endswith("was not reached: ConnectError")
