"""Draw invalid requests; none may write, end or delay the server."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from typing import Any

from worlddb.tools.mcp.catalogue import TOOLS
from worlddb.tools.mcp.tool_arguments import MAX_TEXT

NOWHERE = "f00dfeed" * 4
"""An id that nothing has."""
WORDS = ("", "a", "Ada", "null", "\x00", "\u202e", "\ud800", "😀" * 50, "../../etc/passwd", "'; DROP TABLE worlds; --")
JUNK: tuple[Any, ...] = (None, True, 0, -1, 1.5, 2**70, -(2**70), 1e308, [], {}, [[]], {"a": {"b": [1]}}, *WORDS)
FORGED = (
    {"author": "the boss"},
    {"source": {"channel": "post"}},
    {"principal": "root"},
    {"ingest_time": 0},
    {"tool": "memory_erase"},
    {"_meta": {"client": "the boss"}},
)
"""What the server alone says of a write."""
BROKEN_WRITES: dict[str, tuple[dict[str, Any], ...]] = {
    "memory_write": (
        {},
        {"text": "x"},
        {"text": 7, "user_id": "a"},
        {"text": "", "user_id": "a"},
        {"text": "x", "user_id": ["a"]},
        {"text": "x", "user_id": "a" * 201},
        {"text": "x" * (MAX_TEXT + 1), "user_id": "a"},
        {"text": "x", "user_id": "a", "valid_from": "yesterday"},
        {"text": "x", "user_id": "a", "valid_from": "9999-99-99"},
        {"text": "x", "user_id": "a", "type": "Scope"},
        {"text": "x", "user_id": "a", "about": {"x": "y"}},
        {"text": "x", "user_id": "a", "about": ["x", 7]},
        {"text": "x", "user_id": "a", "about": [" "]},
        {"text": "x", "user_id": "a", "derived_from": [NOWHERE]},
        {"text": "x", "user_id": "a", "contradicts": ["zz"]},
        {"text": " ", "user_id": "a"},
        {"text": "x", "user_id": " a"},
        {"text": "x\ud800", "user_id": "a"},
        *({"text": "x", "user_id": "a"} | forged for forged in FORGED),
    ),
    "memory_amend": ({}, {"id": NOWHERE, "text": "x"}, {"id": "f00d"}, {"id": NOWHERE, "text": "x", "author": "b"}),
    "memory_retire": ({}, {"id": NOWHERE}, {"id": "zz"}, {"id": [NOWHERE]}, {"id": NOWHERE, "at": "noon"}),
    "memory_retire_all": ({}, {"kind": "user", "scope_id": "nobody"}, {"kind": "world", "scope_id": "a"}),
    "memory_retire_scope": ({}, {"kind": "user", "scope_id": "nobody", "confirm": "user:nobody"}, {"confirm": True}),
    "memory_decide": ({}, {"proposal": NOWHERE, "decision": "accept"}, {"proposal": "f00d", "decision": "merge"}),
}
"""Of every tool that writes, arguments that are wrong or name nothing."""


def requests(seed: int, number: int) -> Iterator[bytes]:
    """This many messages, one line each without its end. Their ids are texts."""
    rng = random.Random(seed)
    for position in range(number):
        kind: Callable[[random.Random, str], bytes] = rng.choice(KINDS)
        yield kind(rng, f"fuzz-{position}").replace(b"\n", b" ")


def _message(number: Any, method: Any, params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def _encoded(message: Any) -> bytes:
    """As JSON; a lone surrogate becomes an escape."""
    return json.dumps(message).encode()


def _call(number: str, name: Any, arguments: Any) -> bytes:
    return _encoded(_message(number, "tools/call", {"name": name, "arguments": arguments}))


def _noise(rng: random.Random, number: str) -> bytes:
    return rng.randbytes(rng.randrange(200))


def _no_utf8(rng: random.Random, number: str) -> bytes:
    given = bytearray(_call(number, "memory_write", {"text": "caf?", "user_id": "a"}))
    given[given.index(b"?")] = rng.choice((0xE9, 0xFF, 0xC0, 0x80))
    return bytes(given)


def _cut_short(rng: random.Random, number: str) -> bytes:
    whole = _call(number, "memory_write", {"text": "half a message", "user_id": "a"})
    return whole[: rng.randrange(1, len(whole) - 1)]


def _deep(rng: random.Random, number: str) -> bytes:
    depth = rng.choice((100, 2_000, 100_000))
    return rng.choice((b"[" * depth, b'{"a":' * depth, b"[" * depth + b"]" * depth))


def _envelope(rng: random.Random, number: str) -> bytes:
    told = _message(number, "tools/list", {})
    for field in rng.sample(list(told), rng.randrange(1, 4)):
        if rng.random() < 0.4:
            del told[field]
        else:
            told[field] = rng.choice(JUNK)
    return _encoded(told)


def _method(rng: random.Random, number: str) -> bytes:
    names: tuple[str, ...] = (
        "tools/list",
        "tools/call",
        "resources/read",
        "prompts/get",
        "completion/complete",
        "initialize",
    )
    names += ("ping", "logging/setLevel", "resources/subscribe", "no/such", "sampling/createMessage", "tasks/list", "")
    params = (
        rng.choice(JUNK) if rng.random() < 0.5 else {rng.choice(("name", "uri", "ref", "cursor")): rng.choice(JUNK)}
    )
    return _encoded(_message(number, rng.choice(names), params))


def _batch(rng: random.Random, number: str) -> bytes:
    return _encoded(
        [_message(number, "tools/call", {"name": "memory_write", "arguments": {"text": "x", "user_id": "a"}})]
    )


def _answer_to_nobody(rng: random.Random, number: str) -> bytes:
    return _encoded({"jsonrpc": "2.0", "id": rng.choice(JUNK), rng.choice(("result", "error")): rng.choice(JUNK)})


def _notification(rng: random.Random, number: str) -> bytes:
    method = rng.choice(("cancelled", "progress", "initialized", "roots/list_changed", "message", "nonsense"))
    params = {rng.choice(("requestId", "progressToken", "level")): rng.choice(JUNK)}
    return _encoded({"jsonrpc": "2.0", "method": f"notifications/{method}", "params": params})


def _unknown_tool(rng: random.Random, number: str) -> bytes:
    names = ("memory_erase", "memory_write ", "MEMORY_WRITE", "erase", "x" * 5_000, *JUNK)
    return _call(number, rng.choice(names), {"id": NOWHERE})


def _broken_write(rng: random.Random, number: str) -> bytes:
    name = rng.choice(list(BROKEN_WRITES))
    return _call(number, name, rng.choice(BROKEN_WRITES[name]))


def _forged_write(rng: random.Random, number: str) -> bytes:
    name = rng.choice(list(BROKEN_WRITES))
    return _call(number, name, rng.choice(BROKEN_WRITES[name]) | rng.choice(FORGED))


def _read(rng: random.Random, number: str) -> bytes:
    """Any arguments at all, of a tool that cannot write."""
    tool = rng.choice([tool for tool in TOOLS if tool.read_only])
    fields = [*tool.takes.__struct_fields__, "author"]
    given = {field: rng.choice(JUNK) for field in rng.sample(fields, rng.randrange(len(fields)))}
    return _call(number, tool.name, rng.choice((given, given, rng.choice(JUNK))))


def _resource(rng: random.Random, number: str) -> bytes:
    uris = (
        "worlddb://world/" + NOWHERE,
        "worlddb://world/%00",
        "worlddb://timeline/../x",
        "file:///etc/passwd",
        "x" * 70_000,
    )
    return _encoded(_message(number, "resources/read", {"uri": rng.choice((*uris, *JUNK))}))


def _prompt(rng: random.Random, number: str) -> bytes:
    arguments = {rng.choice(("about", "valid", "known", "author")): rng.choice(JUNK)}
    name = rng.choice(("what_is_known", "review_proposals", "no_such", 7))
    return _encoded(_message(number, "prompts/get", {"name": name, "arguments": arguments}))


def _completion(rng: random.Random, number: str) -> bytes:
    ref = rng.choice(
        ({"type": "ref/prompt", "name": "what_is_known"}, {"type": "ref/resource", "uri": "worlddb://"}, *JUNK)
    )
    argument = {"name": rng.choice(("id", "user_id", *JUNK)), "value": rng.choice(JUNK)}
    return _encoded(_message(number, "completion/complete", {"ref": ref, "argument": argument}))


KINDS = (
    _noise,
    _no_utf8,
    _cut_short,
    _deep,
    _envelope,
    _method,
    _batch,
    _answer_to_nobody,
    _notification,
    _unknown_tool,
    _broken_write,
    _broken_write,
    _forged_write,
    _read,
    _read,
    _resource,
    _prompt,
    _completion,
)
