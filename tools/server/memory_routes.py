"""Routes of memories: what is remembered in a world, and what it answers."""

from contextlib import suppress
from typing import Any, Final

import msgspec

from worlddb import (
    LANES,
    IdempotencyConflict,
    InputError,
    Near,
    Recall,
    Receipt,
    Streams,
    View,
    World,
    agent_memory,
    parse_time,
)
from worlddb.client import wire_records as wire
from worlddb.memory_scopes import looked, say_again, seen_later, statements_of, told_again, told_of_new
from worlddb.plain_text import is_blank
from worlddb.tools.mcp import answer_notes
from worlddb.tools.server import request_types as types
from worlddb.tools.server.client_desk import Desk
from worlddb.tools.server.route import TEXT, Asked, Reply, Route
from worlddb.tools.server.world_routes import WORLD

_CONTEXT_HITS: Final = 64
_BYTES_A_TOKEN: Final = 3
_STATED: Final = "What this world states itself is not searched inside it: ask /v1/recall, or its sparql"
_OF_STREAMS: Final = ("wordings", "paths", "hit_paths", "path_depth", "describe")
_OF_A_QUESTION: Final = ("text", "world", "scopes", "ingested", "valid", "seq", *_OF_STREAMS)
"""What of a long question is no argument of ``View.recall``."""


def remember(desk: Desk, asked: Asked) -> Reply:
    """Remember a statement in a world, which is made if there is none of that name.

    What it says already, word for word, of the same subjects, is said again: one more source and no memory.
    """
    body: types.NewMemory = asked.body
    if is_blank(body.text):
        raise InputError("text is blank", "Give one statement, understandable by itself")
    desk.subjects(desk.session.view(), body.about)  # Before a world is made for what is refused.
    home, key = desk.claimed(asked.path["world"]), desk.key(asked.idempotency_key)
    return looked(lambda: _remembered(desk, body, home, key))


def _remembered(desk: Desk, body: types.NewMemory, home: str, key: str | None) -> Reply:
    look, view = desk.db.view(), desk.session.view()
    about = desk.subjects(view, body.about)
    since = None if body.valid_from is None else parse_time(body.valid_from, "valid_from")
    then = seen_later(desk.db, view, since)
    near = then.near(body.text, about=about or None, world=home, since=since, until=body.valid_to)
    said = next(filter(None, (_said(then, each, body) for each in near)), None)
    if said is not None:
        with suppress(IdempotencyConflict):  # The call that wrote it, sent again under its key.
            receipt = _say_again(desk, look, said, body, key)
            others = [each for each in near if each.ref != said.ref]
            told = desk.receipt(receipt) | {"refs": [said.ref]}
            notes = told_again(desk.db, receipt, said, since, body.expires_at, pinned=body.pinned)
            return Reply({"receipt": told, "near": desk.shown(others), "restated": True, "notes": notes})
    receipt = _write(desk, None if key is not None and desk.db.was_written(key) else look, body, home, about, key)
    if receipt.seq <= look.seq:
        # Sent again under its key, it is answered as it was: by what was near before it.
        before = desk.db.view(seq=receipt.seq - 1, valid=receipt.ingest_time, world=view.world)
        then = seen_later(desk.db, before, since)
        near = then.near(body.text, about=about or None, world=home, since=since, until=body.valid_to)
    told = desk.receipt(receipt)
    told["refs"] = told["refs"][:1]
    notes = told_of_new(since, receipt.ingest_time, body.expires_at, pinned=body.pinned)
    return Reply(
        {"receipt": told, "near": desk.shown(near), "restated": False, "notes": notes}, 201 if receipt.events else 200
    )


def _said(view: View, near: Near, body: types.NewMemory) -> World | None:
    """Return what is near if a statement repeats it, and is to be no memory of its own."""
    found = view.get(near.ref) if near.is_repeated and body.key is None else None
    return found if found is not None and (found.type, found.name) == (body.type, body.name) else None


def _say_again(desk: Desk, look: View, said: World, body: types.NewMemory, key: str | None) -> Receipt:
    with desk.db.batch(idempotency_key=key, seen=look) as tx:
        marks: dict[str, Any] = {"expires_at": body.expires_at, "labels": body.labels, "pinned": body.pinned}
        say_again(tx, said, body.source, body.why, **marks, properties=body.properties)
    tx.receipt.raise_if_refused()
    receipt: Receipt = tx.receipt
    return receipt


def _write(
    desk: Desk, look: View | None, body: types.NewMemory, home: str, about: list[str], key: str | None
) -> Receipt:
    bound: dict[str, Any] = {} if body.key is None or desk.home() is None else {"key_within": desk.home()}
    with desk.db.batch(idempotency_key=key, seen=look) as tx:
        made = tx.create(
            body.type,
            body.name,
            content=body.text,
            world=home,
            key=body.key,
            valid_from=body.valid_from,
            valid_to=body.valid_to,
            source=body.source,
            properties=body.properties,
            labels=body.labels,
            pinned=body.pinned,
            expires_at=body.expires_at,
            why=body.why,
            **bound,
        )
        for each in about:
            tx.link(made, "refers_to", each, valid_from=body.valid_from)
    tx.receipt.raise_if_refused()
    receipt: Receipt = tx.receipt
    return receipt


def _recalled(desk: Desk, view: View, text: str, world: str | None, asked: dict[str, Any], recalls: int = 1) -> Reply:
    """Answer a question; ``recalls`` are so many that it may come to, which count together."""
    if desk.grant.account is not None:
        desk.grant.account.require_room("recall_k", recalls * asked["k"])
    ref = None if world is None else desk.ref(view, world)
    lanes = desk.session.lanes(asked.get("lanes", LANES))
    found: Recall = view.recall(text, world=ref, **asked | {"lanes": lanes})
    notes = answer_notes.recall_notes([found], in_one_world=not desk.commits)
    if len(lanes) < len(asked.get("lanes", LANES)):
        notes.append(answer_notes.WITHOUT_VECTORS)
    if ref is not None and not found.hits and view.statements(ref, limit=1):
        notes.append(_STATED)
    told = {
        "hits": desk.shown(found.hits),
        "exact": found.exact,
        "lanes": found.lanes,
        "search_mode": found.search_mode,
        "notes": notes,
        "confidence": found.confidence,
        "paths": desk.shown(found.paths),
        "moment": desk.moment(view),
    }
    return Reply(told)


def recall(desk: Desk, asked: Asked) -> Reply:
    """The worlds that answer a question best."""
    query: types.Question = asked.query
    how = {"k": query.k, "exact": query.exact, "include_superseded": query.include_superseded}
    return _recalled(desk, desk.view(query), query.text, asked.path.get("world"), how)


def recall_long(desk: Desk, asked: Asked) -> Reply:
    """The worlds that answer a question best, with all that it may ask for."""
    body: types.LongQuestion = asked.body
    within = asked.path.get("world")
    if within is not None and body.world is not None:
        raise InputError("The world is named twice", "Leave out world: the path has one")
    how = {name: value for name, value in msgspec.structs.asdict(body).items() if name not in _OF_A_QUESTION}
    view = desk.view(body)
    if body.scopes is not None:
        if within is not None:
            raise InputError("The world is named by the path, and scopes are", "Leave out one of them")
        how["scopes"] = [desk.ref(view, each) for each in body.scopes]
    if body.wordings or body.paths or body.hit_paths or body.describe:
        how["streams"] = Streams(
            expand=(lambda text: body.wordings) if body.wordings else None,
            paths=body.paths,
            hit_paths=body.hit_paths,
            depth=body.path_depth,
            describe=body.describe,
        )
    recalls = len(body.scopes or (None,)) * (1 + len(body.wordings))
    return _recalled(desk, view, body.text, within or body.world, how, recalls)


def chunks(desk: Desk, asked: Asked) -> Reply:
    """The texts in a world that have the words of a query, best first."""
    query: types.Chunks = asked.query
    how = {"k": query.limit, "lanes": ("text",)}
    return _recalled(desk, desk.view(query), query.query, asked.path["world"], how)


def context(desk: Desk, asked: Asked) -> Reply:
    """What is known for a question as a text for a prompt."""
    query: types.ContextOf = asked.query
    view = desk.view(query)
    ref = desk.ref(view, asked.path["world"])
    lanes = desk.session.lanes()
    found, _ = statements_of(lambda k: view.recall(query.text, world=ref, k=k, lanes=lanes), _CONTEXT_HITS)
    text = agent_memory.prompt_text(
        found, view.pinned(ref), lambda said: -(-len(said.encode()) // _BYTES_A_TOKEN), query.max_tokens
    )
    if asked.accepts == TEXT:
        return Reply(text.encode(), media_type=TEXT)
    return Reply({"text": text, "moment": desk.moment(view)})


_QUESTIONS: Final = (
    ("/v1/recall", "recall", "Ask what answers a question."),
    (f"{WORLD}/recall", "recall_in_world", "Ask what answers a question inside a world."),
    (f"{WORLD}/search", "search", "Ask what answers a question inside a world."),
)

ROUTES = (
    Route(
        "POST",
        f"{WORLD}/memories",
        "remember",
        remember,
        "Remember a statement in a world.",
        wire.Remembered,
        body=types.NewMemory,
        right="write",
        statuses=(201, 200),
    ),
    *(Route("GET", path, name, recall, told, wire.Recalled, types.Question) for path, name, told in _QUESTIONS),
    *(
        Route("POST", path, f"{name}_long", recall_long, told, wire.Recalled, body=types.LongQuestion)
        for path, name, told in _QUESTIONS
    ),
    Route(
        "GET",
        f"{WORLD}/chunks",
        "chunks",
        chunks,
        "Look for words in the texts of a world.",
        wire.Recalled,
        types.Chunks,
    ),
    Route(
        "GET",
        f"{WORLD}/context",
        "context",
        context,
        "Read what is known for a question, as a text for a prompt.",
        wire.Context,
        types.ContextOf,
        produces=("application/json", TEXT),
    ),
)
