"""Tests an embedding endpoint that misbehaves: there is an answer, and soon."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import worlddb
from worlddb import EndpointEmbedder, InputError, ModelUnavailable
from worlddb.log.model import clock
from worlddb.reconciler.embedding import adapter

KEY = "sk-not-to-be-told"
Act = Callable[["Handler", list[str]], None]


class Handler(BaseHTTPRequestHandler):
    """Notes what it was asked, and does what the script says next; its last act is repeated."""

    server: Scripted

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, dict(self.headers), body))
        acts = self.server.acts
        (acts.pop(0) if len(acts) > 1 else acts[0])(self, body["input"])

    def say(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


class Scripted(ThreadingHTTPServer):
    """On loopback alone."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[tuple[str, dict[str, str], Any]] = []
        self.acts: list[Act] = [answer]
        self.done = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Somebody who hung up is what some of the tests are about."""


def row(text: str, place: int) -> dict[str, Any]:
    return {"index": place, "embedding": [float(len(text)), 1.0, 2.0, 3.0]}


def answer(handler: Handler, texts: list[str]) -> None:
    """Right, in another order than asked."""
    rows = [row(text, place) for place, text in enumerate(texts)][::-1]
    handler.say(200, json.dumps({"object": "list", "data": rows, "model": "m", "usage": {}}).encode())


def status(code: int, body: bytes = b"{}", **headers: str) -> Act:
    return lambda handler, texts: handler.say(code, body, **headers)


def answer_with(body: bytes) -> Act:
    return status(200, body)


def with_rows(change: Callable[[list[Any]], object]) -> Act:
    def act(handler: Handler, texts: list[str]) -> None:
        rows = [row(text, place) for place, text in enumerate(texts)]
        change(rows)
        handler.say(200, json.dumps({"data": rows}).encode())

    return act


def no_answer(handler: Handler, texts: list[str]) -> None:
    handler.server.done.wait(30)


def drop_by_drop(handler: Handler, texts: list[str]) -> None:
    """Always a little more, so that no single wait is long."""
    handler.send_response(200)
    handler.send_header("Content-Length", "100000")
    handler.end_headers()
    for _ in range(2_000):
        if handler.server.done.wait(0.02):
            return
        handler.wfile.write(b" ")
        handler.wfile.flush()


def header_by_header(handler: Handler, texts: list[str]) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    for number in range(90):
        if handler.server.done.wait(0.05):
            return
        handler.wfile.write(b"X-%d: y\r\n" % number)
        handler.wfile.flush()


def hang_up(handler: Handler, texts: list[str]) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"data": [')


@pytest.fixture
def server() -> Iterator[Scripted]:
    server = Scripted()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield server
    server.done.set()
    server.shutdown()
    server.server_close()
    thread.join(timeout=180)


@pytest.fixture(autouse=True)
def recorded_waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long was waited between attempts; nobody waits."""
    waited: list[float] = []
    monkeypatch.setattr(clock, "pause", waited.append)
    return waited


def embedder(server: Scripted, **arguments: Any) -> EndpointEmbedder:
    given: dict[str, Any] = {"key": KEY, "timeout_seconds": 20.0, "retries": 0} | arguments
    return EndpointEmbedder(server.url, "m", **given)


def test_texts_get_their_rows_in_batches_whatever_the_order_of_the_answer(server: Scripted) -> None:
    model = embedder(server, batch_texts=2)
    found = model.embed(["a", "bbb", "", "cc", " "], query=False)
    assert [list(each) for each in found] == [[1, 1, 2, 3], [3, 1, 2, 3], [0, 0, 0, 0], [2, 1, 2, 3], [0, 0, 0, 0]]
    paths = {path for path, _, _ in server.asked}
    assert paths == {"/v1/embeddings"}
    asked = [body for _, _, body in server.asked]
    assert asked[1:] == [{"model": "m", "input": ["a", "bbb"]}, {"model": "m", "input": ["cc"]}]
    assert {headers["Authorization"] for _, headers, _ in server.asked} == {f"Bearer {KEY}"}
    assert (model.model, model.dimension, KEY in repr(model)) == ("endpoint/m", 4, False)


def test_a_dimension_that_was_told_is_not_asked_for(server: Scripted) -> None:
    model = embedder(server, dimension=4, key=None)
    assert (model.dimension, list(model.mean()), server.asked) == (4, [0.0] * 4, [])
    model.embed(["a"], query=True)
    assert "Authorization" not in server.asked[0][1]


def test_a_long_text_is_sent_as_far_as_models_read(server: Scripted) -> None:
    embedder(server, dimension=4).embed(["x" * 100_000], query=False)
    assert len(server.asked[0][2]["input"][0]) == adapter.MAX_CHARACTERS


@pytest.mark.parametrize("code", [408, 429, 500, 503])
def test_transient_errors_are_retried(server: Scripted, recorded_waits: list[float], code: int) -> None:
    server.acts = [status(code), status(code), answer]
    assert embedder(server, dimension=4, retries=2).embed(["a"], query=False).shape == (1, 4)
    assert recorded_waits == [0.5, 1.0]


def test_an_endpoint_that_says_how_long_to_wait_is_believed_within_bounds(
    server: Scripted, recorded_waits: list[float]
) -> None:
    server.acts = [status(429, Retry_After="3"), status(429, Retry_After="9999"), status(429, Retry_After="x"), answer]
    embedder(server, dimension=4, retries=3).embed(["a"], query=False)
    assert recorded_waits == [3.0, 10.0, 10.0]


@pytest.mark.parametrize("code", [429, 500])
def test_what_does_not_pass_is_told_after_the_last_attempt(
    server: Scripted, recorded_waits: list[float], code: int
) -> None:
    server.acts = [status(code)]
    with pytest.raises(ModelUnavailable, match=f"answered with {code}, after 3 attempts"):
        embedder(server, dimension=4, retries=2).embed(["a"], query=False)
    assert (len(server.asked), len(recorded_waits)) == (3, 2)


@pytest.mark.parametrize("code", [401, 403])
def test_a_key_that_is_refused_is_told_at_once_and_is_in_no_message(server: Scripted, code: int) -> None:
    server.acts = [status(code, f"Incorrect API key provided: {KEY}".encode())]
    with pytest.raises(ModelUnavailable, match=f"{code} to the key that was given") as raised:
        embedder(server, dimension=4, retries=2).embed(["a"], query=False)
    assert len(server.asked) == 1 and KEY not in str(raised.value)


def test_a_model_that_the_endpoint_does_not_have_is_told_with_its_words(server: Scripted) -> None:
    server.acts = [status(404, f'{{"error": "no model m for {KEY}"}}'.encode())]
    with pytest.raises(ModelUnavailable, match=r"404: .*no model m for \*\*\*"):
        embedder(server, dimension=4, retries=2).embed(["a"], query=False)
    assert len(server.asked) == 1


def test_nobody_is_sent_elsewhere_with_the_key(server: Scripted) -> None:
    server.acts = [status(307, Location=server.url)]
    with pytest.raises(ModelUnavailable, match="307"):
        embedder(server, dimension=4).embed(["a"], query=False)
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    "act",
    [
        answer_with(b""),
        answer_with(b"<html>not found</html>"),
        answer_with(b'{"data": []}'),
        answer_with(b'{"data": [{"index": 0, "embedding": [NaN, 1, 2, 3]}]}'),
        answer_with(b'{"data": [{"index": 0, "embedding": ["1"]}]}'),
        answer_with(b'{"data": [{"index": 0, "embedding": []}]}'),
        answer_with(b'{"data": [{"index": 1, "embedding": [1, 2, 3, 4]}]}'),
        answer_with(b"\xff\xfe"),
        with_rows(lambda rows: rows.append(row("more", 1))),
        with_rows(lambda rows: rows[0].pop("embedding")),
    ],
)
def test_an_invalid_answer_is_a_typed_error(server: Scripted, act: Act) -> None:
    server.acts = [act]
    with pytest.raises(ModelUnavailable, match="did not answer with embeddings"):
        embedder(server, dimension=4).embed(["a"], query=False)


def test_vectors_of_another_size_than_before_are_a_typed_error(server: Scripted) -> None:
    model = embedder(server, dimension=4)
    server.acts = [with_rows(lambda rows: rows[0].update(embedding=[1.0, 2.0]))]
    with pytest.raises(InputError, match=r"returned 2 numbers .* not 4"):
        model.embed(["a"], query=False)


def test_numbers_that_no_vector_can_hold_are_a_typed_error(server: Scripted, tmp_path: Path) -> None:
    server.acts = [answer_with(b'{"data": [{"index": 0, "embedding": [1e300, 1, 2, 3]}]}')]
    with worlddb.open(tmp_path / "store", embedder=embedder(server, dimension=4)) as db:
        db.create("Fact", "one", content="abc")
        head = db.head()
        with pytest.raises(InputError, match="not finite"):
            db.embed()
        assert db.head() == head


@pytest.mark.parametrize("act", [no_answer, drop_by_drop, header_by_header], ids=["silence", "drops", "headers"])
def test_an_endpoint_that_takes_its_time_is_left(server: Scripted, act: Act, tmp_path: Path) -> None:
    server.acts = [act]
    with worlddb.open(tmp_path / "store", embedder=embedder(server, dimension=4, timeout_seconds=0.4)) as db:
        db.create("Fact", "one", content="abc")
        head = db.head()
        with pytest.raises(ModelUnavailable, match=r"took longer than 0\.4 seconds"):
            db.embed()
        assert db.head() == head


def test_an_endpoint_that_hangs_up_or_is_not_there_is_a_typed_error(server: Scripted) -> None:
    server.acts = [hang_up]
    with pytest.raises(ModelUnavailable, match="did not answer"):
        embedder(server, dimension=4).embed(["a"], query=False)
    server.server_close()
    with pytest.raises(ModelUnavailable, match="did not answer"):
        EndpointEmbedder("http://127.0.0.1:9/v1", "m", dimension=4, retries=0).embed(["a"], query=False)


def test_an_endpoint_that_never_ends_is_left(server: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    server.acts = [answer_with(b" " * 2_000_000)]
    with pytest.raises(ModelUnavailable, match="answer exceeds"):
        embedder(server, dimension=4).embed(["a"], query=False)


def test_a_question_to_an_endpoint_that_is_away_is_answered_by_words(server: Scripted, tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", embedder=embedder(server, dimension=4)) as db:
        db.create("Fact", "one", content="abc")
        db.embed()
        server.acts = [status(500)]
        found = db.view().recall("abc")
        assert found.hits[0].name == "one" and "answered with 500" in found.unavailable["vector"]


def test_the_key_is_in_no_file_of_the_store(server: Scripted, tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", embedder=embedder(server)) as db:
        db.create("Fact", "one", content="abc")
        db.embed()
    kept = [file.read_bytes() for file in (tmp_path / "store").rglob("*") if file.is_file()]
    assert any(b"endpoint/m" in stored for stored in kept)
    assert not any(KEY.encode() in stored for stored in kept)


@pytest.mark.parametrize(
    "arguments",
    [
        {"url": 7},
        {"url": "localhost:1/v1"},
        {"url": "http://localhost/v1?key=1"},
        {"url": "http://loc\nalhost/v1"},
        {"model": ""},
        {"key": "two\r\nlines"},
        {"timeout_seconds": 0},
        {"timeout_seconds": float("nan")},
        {"retries": -1},
        {"retries": 11},
        {"batch_texts": 0},
        {"dimension": 0},
    ],
)
def test_a_wrong_argument_is_refused_before_anybody_is_asked(arguments: dict[str, Any]) -> None:
    given = {"url": "http://localhost/v1", "model": "m"} | arguments
    with pytest.raises(InputError):
        EndpointEmbedder(given.pop("url"), given.pop("model"), **given)
