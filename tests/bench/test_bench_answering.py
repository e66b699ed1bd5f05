"""Tests ``bench.longmemeval --answer --judge`` against a scripted model on loopback."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from bench.public_data.answering import Judgement, Transcript, accuracy, ask_answerer, ask_judge
from bench.public_data.endpoint import Endpoint, EndpointMalformed, EndpointRefused, EndpointUnavailable, endpoint_of
from tests.bench.test_bench import LONGMEMEVAL, run
from tests.support.tidy.tree import ROOT
from worlddb import InputError, MalformedFile

MAX_REQUESTS = 40
"""After so many the server stops by itself."""

Script = Callable[[int, dict[str, Any], Any], tuple[int, bytes]]


@contextmanager
def served(script: Script) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A server that answers each request as the script says, by number, body and headers."""
    asked: list[dict[str, Any]] = []

    class Scripted(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            said = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append(said | {"path": self.path})
            status, body = script(len(asked), said, self.headers)
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            if status == 302:
                self.send_header("Location", "/elsewhere")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *told: object) -> None:
            """Keep the test's output to itself."""

    server = HTTPServer(("127.0.0.1", 0), Scripted)
    server.timeout = 0.1
    stopped = threading.Event()

    def serve() -> None:
        while not stopped.is_set() and len(asked) < MAX_REQUESTS:
            server.handle_request()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", asked
    finally:
        stopped.set()
        thread.join(180)
        server.server_close()
        assert not thread.is_alive()


def openai(text: str) -> bytes:
    return json.dumps({"choices": [{"message": {"content": text}}]}).encode()


def anthropic(text: str) -> bytes:
    return json.dumps({"content": [{"type": "thinking", "thinking": "..."}, {"type": "text", "text": text}]}).encode()


def model(url: str, interface: str = "openai", timeout_seconds: float = 60.0) -> Endpoint:
    return Endpoint(url, "a-model", interface, "secret", timeout_seconds, pause_seconds=0.0)


def test_both_interfaces_are_spoken_and_the_key_is_sent_and_never_shown() -> None:
    def script(number: int, said: dict[str, Any], headers: Any) -> tuple[int, bytes]:
        if headers["x-api-key"]:
            return 200, anthropic(f"{headers['x-api-key']} {headers['anthropic-version']}")
        return 200, openai(headers["Authorization"])

    with served(script) as (url, asked):
        assert model(url).ask("what?", most_tokens=7) == "Bearer secret"
        assert model(url, "anthropic").ask("what?", most_tokens=7) == "secret 2023-06-01"
    assert [each["path"] for each in asked] == ["/v1/chat/completions", "/v1/messages"]
    assert asked[0]["model"] == "a-model" and asked[0]["max_tokens"] == 7 and asked[0]["temperature"] == 0.0
    assert asked[1]["messages"] == [{"role": "user", "content": "what?"}]
    assert "secret" not in repr(model(url))


def test_an_endpoint_that_is_busy_is_asked_again_and_one_that_says_no_is_not() -> None:
    with served(lambda number, *_: (429, b"slow down") if number < 3 else (200, openai("done"))) as (url, asked):
        assert model(url).ask("what?", most_tokens=7) == "done"
        assert len(asked) == 3
    with served(lambda *_: (503, b"down")) as (url, asked):
        with pytest.raises(EndpointUnavailable, match="503"):
            model(url).ask("what?", most_tokens=7)
        assert len(asked) == 3
    with served(lambda *_: (401, b"wrong key")) as (url, asked):
        with pytest.raises(EndpointRefused, match="wrong key"):
            model(url).ask("what?", most_tokens=7)
        assert len(asked) == 1


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b"[]",
        b"nonsense",
        b'{"choices": []}',
        b'{"choices": [{"message": {"content": null}}]}',
        b"[" * 99_999,
    ],
)
def test_an_answer_that_is_not_of_the_interface_is_a_typed_error(body: bytes) -> None:
    with served(lambda *_: (200, body)) as (url, _):
        with pytest.raises(EndpointMalformed, match="openai"):
            model(url).ask("what?", most_tokens=7)
        with pytest.raises(EndpointMalformed, match="anthropic"):
            model(url, "anthropic").ask("what?", most_tokens=7)


def test_silence_and_an_address_without_anybody_are_typed_errors_in_bounded_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(EndpointUnavailable, match=r"longer than 0\.05 seconds"):
            model(url, timeout_seconds=0.05).ask("what?", most_tokens=7)
    with pytest.raises(EndpointUnavailable, match="refused"):
        model(url).ask("what?", most_tokens=7)


def test_an_endpoint_that_says_a_little_now_and_then_is_left_too() -> None:
    left = threading.Event()

    def drip(server: socket.socket) -> None:
        """Half an answer to each request, a byte at a time; for half a minute at most."""
        for _ in range(3):
            asker, _ = server.accept()
            with asker, suppress(OSError):
                asker.recv(65_536)
                asker.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
                for _ in range(100):
                    asker.sendall(b" ")
                    if left.wait(0.1):
                        return

    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(30)
        dripping = threading.Thread(target=drip, args=(server,))
        dripping.start()
        try:
            with pytest.raises(EndpointUnavailable, match=r"longer than 0\.3 seconds"):
                model(f"http://127.0.0.1:{server.getsockname()[1]}", timeout_seconds=0.3).ask("what?", most_tokens=7)
        finally:
            left.set()
            dripping.join(60)
        assert not dripping.is_alive()


def test_nobody_is_sent_elsewhere_with_the_key_and_no_message_has_it() -> None:
    with served(lambda *_: (302, b"")) as (url, asked):
        with pytest.raises(EndpointRefused, match="302"):
            model(url).ask("what?", most_tokens=7)
        assert len(asked) == 1
    with served(lambda *_: (401, b"the key secret is wrong " + b"x" * 400)) as (url, _):
        with pytest.raises(EndpointRefused, match=r"the key \*\*\* is wrong") as told:
            model(url).ask("what?", most_tokens=7)
        assert "secret" not in str(told.value)


def test_an_endpoint_that_is_not_named_in_full_is_told_before_anything_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("A_KEY", "secret")
    monkeypatch.setenv("TORN_KEY", "secret\n")
    assert endpoint_of("http://127.0.0.1/v1", "m", "openai", "A_KEY", 3).key == "secret"
    assert endpoint_of("http://127.0.0.1/v1", "m", "openai", None, 3).key == ""
    for url, name, variable, seconds in (
        (None, "m", "A_KEY", 3),
        ("ftp://x", "m", "A_KEY", 3),
        ("http://", "m", "A_KEY", 3),
        ("http://x", None, "A_KEY", 3),
        ("http://name:secret@x", "m", "A_KEY", 3),
        ("http://x", "m", "NO_SUCH_KEY", 3),
        ("http://x", "m", "TORN_KEY", 3),
        ("http://x", "m", "A_KEY", 0),
        ("http://x", "m", "A_KEY", float("nan")),
    ):
        with pytest.raises(InputError) as told:
            endpoint_of(url, name, "openai", variable, seconds)
        assert "secret" not in str(told.value)


class Scripted:
    """A model that says what it is told to."""

    def __init__(self, *said: str) -> None:
        self.said = list(said)
        self.prompts: list[str] = []

    def ask(self, prompt: str, *, most_tokens: int) -> str:
        self.prompts.append(prompt)
        return self.said.pop(0)


class Question(NamedTuple):
    question_id: str = "q1"
    question_type: str = "temporal-reasoning"
    question: str = "When did I go?"
    question_date: str = "2023/05/30 (Tue) 22:36"
    answer: object = "in May"


def test_the_answer_is_what_stands_behind_the_last_mark_or_all_of_it() -> None:
    assert ask_answerer(Scripted("I think ANSWER: no. \n\nAnswer: in May"), Question(), ()) == "in May"
    assert ask_answerer(Scripted(" in May \n"), Question(), ()) == "in May"


@pytest.mark.parametrize(
    ("said", "verdict"),
    [("RIGHT", "right"), (" wrong.\n", "wrong"), ("**Right**", "right"), ("RIGHTLY", "unclear"), ("", "unclear")],
)
def test_a_verdict_is_one_word_and_anything_else_is_unclear(said: str, verdict: str) -> None:
    assert ask_judge(Scripted(said), Question(), "in May", "in June").verdict == verdict


def test_the_judge_is_told_the_rule_of_the_type_and_of_questions_without_an_answer() -> None:
    one, other = Scripted("RIGHT"), Scripted("RIGHT")
    ask_judge(one, Question(), "in May", "in June")
    assert "one more or less" in one.prompts[0] and "in June" in one.prompts[0]
    ask_judge(other, Question("q1_abs"), "no such thing", "never")
    assert "cannot be answered" in other.prompts[0]


def test_accuracy_counts_what_was_judged_and_nothing_else() -> None:
    found = [
        Judgement(str(n), kind, "a", verdict)
        for n, (kind, verdict) in enumerate(
            [("one", "right"), ("one", "wrong"), ("one", "unclear"), ("two", "right"), ("two", "")]
        )
    ]
    told = accuracy(found)
    assert (told["judged"], told["unclear"], told["accuracy"], told["task_averaged"]) == (4, 1, 50.0, 66.67)
    assert told["accuracy_by_type"]["one"] == {"n": 3, "accuracy": 33.33}
    assert accuracy([])["accuracy"] is None


def test_a_run_that_broke_off_goes_on_where_it_stopped(tmp_path: Path) -> None:
    path = tmp_path / "transcript.jsonl"
    Transcript(path).add(Judgement("q1", "one", "in May", "right"))
    assert Transcript(path).done == {"q1": Judgement("q1", "one", "in May", "right")}
    assert Transcript(None).done == {}
    path.write_text('{"question_id": "q1"\n')
    with pytest.raises(MalformedFile, match="line 1"):
        Transcript(path)


def test_the_program_answers_judges_and_sums_up_by_type_and_goes_on_from_its_transcript(tmp_path: Path) -> None:
    file, transcript = tmp_path / "questions.json", tmp_path / "transcript.jsonl"
    file.write_text(json.dumps(LONGMEMEVAL), encoding="utf-8")

    def script(number: int, said: dict[str, Any], headers: Any) -> tuple[int, bytes]:
        prompt = said["messages"][0]["content"]
        if "RIGHT or WRONG" in prompt:
            return 200, openai("RIGHT" if "Given: greyhound" in prompt else "WRONG")
        return 200, openai("It was one. ANSWER: greyhound" if "dog" in prompt.rpartition("asks:")[2] else "no idea")

    with served(script) as (url, asked):
        named = ("--answer", "--judge", "--endpoint", url, "--model", "m", "--transcript", str(transcript))
        first = run("longmemeval", str(file), *named)
        assert (first["answered"], first["judged"], first["unclear"], first["accuracy"]) == (2, 2, 0, 50.0)
        assert len(asked) == 4 and "oldest first" in asked[0]["messages"][0]["content"]
        again = run("longmemeval", str(file), *named)
        assert len(asked) == 4 and again["accuracy_by_type"] == first["accuracy_by_type"]
    assert "accuracy" not in run("longmemeval", str(file))


def test_the_program_ends_with_a_typed_error_and_keeps_what_was_done(tmp_path: Path) -> None:
    file, transcript = tmp_path / "questions.json", tmp_path / "transcript.jsonl"
    file.write_text(json.dumps(LONGMEMEVAL), encoding="utf-8")
    with served(lambda number, *_: (200, openai("ANSWER: yes")) if number == 1 else (403, b"no more")) as (url, _):
        command = [sys.executable, "-m", "bench.longmemeval", str(file), "--answer", "--endpoint", url, "--model", "m"]
        command += ["--transcript", str(transcript)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 1 and "error[endpoint_refused]" in done.stderr and "Traceback" not in done.stderr
    (kept,) = Transcript(transcript).done.values()
    assert (kept.question_id, kept.question_type, kept.answer, kept.verdict) == ("q0", "single-session-user", "yes", "")
    judging = [sys.executable, "-m", "bench.longmemeval", str(file), "--judge"]
    refused = subprocess.run(judging, cwd=ROOT, capture_output=True, text=True, timeout=240, check=False)
    assert "error[input]" in refused.stderr
