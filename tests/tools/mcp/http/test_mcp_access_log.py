"""Nobody writes a line of the access log but the server, and no secret gets into it."""

from __future__ import annotations

import io
import json
import logging
import re
import sys
from collections.abc import Iterator

import pytest

from tests.support.running import LocalRunner
from tests.support.serving import HELLO, HttpServer, message, request, send, serve_http
from worlddb import InputError
from worlddb.tools.mcp import access_log, listening
from worlddb.tools.mcp.access_keys import PREFIX

KEY = PREFIX + "Ab3" * 14 + "x"
LINE = re.compile(
    r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} (127\.0\.0\.1|203\.0\.113\.9|-) - [^ ]{1,20} [^ ]{1,100} \d{3} \d+ms"
)
OTHER = ("worlddb mcp: ", "Invalid HTTP request")
HELLO_BODY = json.dumps(HELLO).encode()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    with serve_http(tmp_path_factory.mktemp("log") / "store", "--no-keys", "--rate", "5000") as served:
        yield served


FORGED = "127.0.0.1 admin POST /mcp 200 1ms"
HOSTILE = [
    request(X_Forwarded_For="10.9.8.7"),
    request(X_Forwarded_For=f"10.9.8.7\x1b[2K\x1b[1G{FORGED}"),
    request(X_Forwarded_For="10.9.8.7\x85" + FORGED),
    request("X" * 5_000),
    request("\x1b[31m"),
    request(path="/mcp%0a" + FORGED.replace(" ", "%20")),
    request(path="/mcp%0d%0a%1b[2J%e2%80%a8%c2%85" + FORGED.replace(" ", "%20")),
    request(path="/" + "y" * 8_000),
    request(path="/\\x1b%5cx1b"),
    request(path=f"/mcp/{KEY}"),
    request(path=f"/mcp/%77orlddb_{KEY[8:]}"),
    request(path=f"/mcp/%2577orlddb_{KEY[8:]}"),
    request(path=f"/mcp;key={KEY}"),
    request(path=f"/mcp?token={KEY}"),
    request(path="/mcp/token=hunter2"),
    request(Host=f"evil\x1b[31m{KEY}"),
    request(Origin=f"http://evil\x1b[31m/{KEY}"),
    request(Mcp_Session_Id=f"{KEY}\x1b[31m"),
    request(MCP_Protocol_Version=f"{KEY}\x1b[31m"),
    request(Authorization=f"Bearer {KEY}"),
    request(Cookie=f"a={KEY}", Referer=f"http://x/{KEY}", User_Agent=f"\x1b[31m{KEY}"),
    request(body=b'{"jsonrpc": "2.0", "id": 1, "method": "\\u001b[31m' + KEY.encode() + b'\\n"}'),
]


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_no_request_forges_a_line_or_leaves_a_secret(server: HttpServer, number: int) -> None:
    before = len(server.log.read_bytes())
    reply = send(server, HOSTILE[number])
    assert send(server, request(path=f"/end-of-{number}")).status == 404
    server.logs(f" POST /end-of-{number} 404 ")
    told = server.log.read_bytes()[before:].decode()
    assert all(LINE.fullmatch(line) or any(word in line for word in OTHER) for line in told.splitlines()), told
    assert "\x1b" not in told and "10.9.8.7" not in told and KEY[8:] not in told and "hunter2" not in told
    assert max(map(len, told.splitlines())) < 200
    assert KEY[8:] not in reply.head + reply.body.decode() and "\x1b" not in reply.body.decode()


def test_a_proxy_is_believed_only_if_it_was_named(server: HttpServer, tmp_path_factory: pytest.TempPathFactory) -> None:
    forwarded = {"X_Forwarded_For": "198.51.100.1, 203.0.113.9"}
    with serve_http(tmp_path_factory.mktemp("proxy") / "store", "--no-keys", "--trust-proxy", "127.0.0.1") as behind:
        for value in (forwarded, {"X_Forwarded_For": "no address"}, {}):
            send(behind, request("POST", b"", "/here", **value))
        log = behind.logs(" 203.0.113.9 - POST /here 404 ", " - - POST /here 404 ", " 127.0.0.1 - POST /here 404 ")
        assert "198.51" not in log
    with serve_http(
        tmp_path_factory.mktemp("proxy") / "store", "--no-keys", "--trust-proxy", "10.0.0.0/8"
    ) as elsewhere:
        send(elsewhere, request("POST", b"", "/here", **forwarded))
        assert "203.0" not in elsewhere.logs(" 127.0.0.1 - POST /here 404 ")


def test_a_proxy_is_an_address_or_a_network(writing: LocalRunner) -> None:
    given = {"127.0.0.1": "127.0.0.1", " ::1 ": "::1", "10.0.0.0/8": "10.0.0.0/8", "10.0.0.7/32": "10.0.0.7"}
    assert {text: listening.parse_proxy(text) for text in given} == given
    for text in ("", "*", "0.0.0.0/0", "::/0", "proxy.example", "10.0.0.1/8", "127.0.0.1:80"):
        with pytest.raises(InputError, match=r"proxy|every address"):
            listening.parse_proxy(text)
    run = writing("mcp", "--http", "--no-keys", "--trust-proxy", "*")
    assert run.code == 2 and "'*'" in run.err and run.out == ""
    assert "--http" in writing("mcp", "--trust-proxy", "127.0.0.1").err


def test_whatever_a_library_logs_is_one_line_and_a_traceback_is_none_of_them() -> None:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(access_log.SafeFormatter())
    forged = f"x\n2026-01-01 00:00:00,000 {FORGED}\r\x0b\u2028\u202e\x1b[2J Authorization: Bearer {KEY}"
    try:
        raise ValueError(forged)
    except ValueError:
        found = sys.exc_info()
    for info in (None, found):
        handler.emit(logging.LogRecord("any", logging.ERROR, "", 0, "told: %s", (forged,), info))
    handler.emit(logging.LogRecord("any", logging.ERROR, "", 0, "%s", ("z" * 100_000,), None))
    told = stream.getvalue()
    lines = told.splitlines()
    own = [line for line in lines if not line.startswith("    ")]
    assert len(own) == 3 and "told: x\\n2026" in own[0] and len(own[2]) == access_log.MAX_LINE
    assert any("ValueError" in line for line in lines)
    assert KEY[8:] not in told and all(line.isprintable() for line in lines)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"key {KEY} here", "key [secret] here"),
        (KEY.upper(), "[secret]"),
        ("Authorization: Bearer abc.def", "Authorization: [secret]"),
        ("a bearer abc", "a [secret]"),
        ('{"token": "abc", "x": 1}', '{"token": "[secret]", "x": 1}'),
        ("?access_token=abc&b=c", "?access_token=[secret]&b=c"),
        ("Mcp-Session-Id: abc", "Mcp-Session-Id: [secret]"),
        ("a monkey and 3 keys", "a monkey and 3 keys"),
    ],
)
def test_what_stands_where_a_secret_stands_is_left_out(text: str, told: str) -> None:
    assert access_log.without_secrets(text) == told


# -- headers that come twice

DOUBLED = [
    ("Host", "HERE", "HERE", 400),
    ("Host", "HERE", "evil.example", 400),
    ("Origin", "http://HERE", "http://evil.example", 403),
    ("Origin", "http://evil.example", "http://HERE", 403),
    ("Origin", "", "http://evil.example", 403),
    ("Origin", "http://HERE", "http://HERE", 400),
    ("Authorization", "Bearer a", "Bearer b", 400),
    ("Content-Length", "SIZE", "1", 400),
    ("Content-Type", "application/json", "text/plain", 400),
    ("Transfer-Encoding", "chunked", "chunked", 400),
    ("Mcp-Session-Id", "a", "b", 400),
    ("MCP-Protocol-Version", "2025-06-18", "2026-07-28", 400),
    ("Mcp-Method", "a", "b", 400),
    ("Mcp-Name", "a", "b", 400),
    ("Last-Event-ID", "1", "2", 400),
]


@pytest.mark.parametrize(("name", "first", "second", "status"), DOUBLED)
def test_a_header_that_can_be_read_in_two_ways_is_refused(
    server: HttpServer, name: str, first: str, second: str, status: int
) -> None:
    here = f"127.0.0.1:{server.port}"
    values = [value.replace("HERE", here).replace("SIZE", str(len(HELLO_BODY))) for value in (first, second)]
    raw = request(body=HELLO_BODY, **{name.replace("-", "_"): ""}).replace(b"HERE", here.encode())
    head, _, body = raw.partition(b"\r\n\r\n")
    doubled = "".join(f"\r\n{name}: {value}" for value in values).encode()
    assert send(server, head + doubled + b"\r\n\r\n" + body).status == status


def test_blanks_around_the_value_of_a_header_are_no_part_of_it(server: HttpServer) -> None:
    about = {"protocolVersion": "2026-07-28", "clientCapabilities": {}}
    meta = {f"io.modelcontextprotocol/{key}": value for key, value in about.items()}
    asked = message("tools/call", name="memory_recall", arguments={"query": "tea"}, _meta=meta)
    named = {"MCP_Protocol_Version": " 2026-07-28\t", "Mcp_Method": "tools/call  ", "Mcp_Name": "  memory_recall \t"}
    assert send(server, request(body=asked, **named)).status == 200
    assert send(server, request(body=asked, **named | {"Mcp_Name": "memory_ recall"})).status == 400


def test_a_body_with_two_lengths_is_refused(server: HttpServer) -> None:
    assert send(server, request(body=b"0\r\n\r\n", Transfer_Encoding="chunked")).status == 400
    assert send(server, request(body=HELLO_BODY)).status == 200


@pytest.mark.parametrize(
    ("coding", "status"), [("chunked", 200), ("Chunked", 200), ("gzip, chunked", 400), ("x, chunked", 400)]
)
def test_a_body_in_a_coding_that_is_not_read_is_refused(server: HttpServer, coding: str, status: int) -> None:
    """It was taken as it came, though a server before this one may have read something else in it."""
    raw = request(body=HELLO_BODY).replace(b"HERE", f"127.0.0.1:{server.port}".encode())
    head = re.sub(rb"(?i)content-length: \d+", f"Transfer-Encoding: {coding}".encode(), raw.partition(b"\r\n\r\n")[0])
    assert coding.encode() in head
    body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(HELLO_BODY), HELLO_BODY)
    assert send(server, head + b"\r\n\r\n" + body).status == status
