"""Routes of memories: what is remembered in a world, and what it answers."""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final

import msgspec

from worlddb import (
    LANES,
    ON_NEAR,
    Decay,
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
    recall_receipt_text,
)
from worlddb.client import wire_records as wire
from worlddb.memory_scopes import (
    TAKEN,
    EndChange,
    Link,
    find_earlier_start,
    find_end_change,
    find_near_at_start,
    find_repeats_at_start,
    find_successor,
    has_statement,
    is_past,
    later_view,
    new_statement_notes,
    recall_statements,
    replacement_notes,
    restate_memory,
    restatement_notes,
    retry_while_changed,
    unwritten_links,
    view_for_write,
)
from worlddb.plain_text import is_blank
from worlddb.tools.mcp import answer_notes
from worlddb.tools.mcp.read_tools import receipt_of
from worlddb.tools.server import request_types as types
from worlddb.tools.server.client_desk import Desk
from worlddb.tools.server.route import TEXT, Asked, Reply, Route
from worlddb.tools.server.world_routes import WORLD, precondition

_CONTEXT_HITS: Final = 64
_BYTES_A_TOKEN: Final = 3
_NEVER: Final = "never"
"""The deadline of what is hidden at no time."""
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
    key = desk.key(asked.idempotency_key)
    return retry_while_changed(lambda: _remembered(desk, asked, body, key))


class _Memory:
    """A statement that is to be remembered, with all that it names, as a view sees it.

    Whom or what it is about are worlds that are there, of a name first those in the world that it goes into; a name
    that nothing has yet becomes an entry there. A world that is not there is made with it.

    Raises:
        AmbiguousReference, UnknownReference: several have a name; nothing has a reference.
        InputError: a name is blank.
    """

    def __init__(self, desk: Desk, view: View, body: types.NewMemory, name: str) -> None:
        self.desk, self.view, self.body, self.name = desk, view, body, name
        self.home = home = desk.there(view, name)
        self.about, self.new = desk.subjects(view, dict.fromkeys(body.about), home)
        self.now = view.valid
        self.unchanged: tuple[str, ...] = ()
        self.since = None if body.valid_from is None else parse_time(body.valid_from, "valid_from")
        named = {"contradicts": body.contradicts, "derived_from": body.derived_from, "supersedes": body.replaces}
        once = {kind: desk.refs(view, dict.fromkeys(refs), home) for kind, refs in named.items()}
        self.ends = {kind: list(dict.fromkeys(refs)) for kind, refs in once.items()}

    def rest_on(self, asked: Asked, is_new: bool) -> None:
        """See that the world is what ``If-Match`` says, and let the write be refused if it is not by then.

        Raises:
            UnknownReference: it is not there, so it has no hash.
        """
        if asked.if_match is not None:
            home = self.desk.place(self.view, self.name) if self.home is None else self.home
            rests_on = precondition(self.desk, asked, self.view, home)
            self.unchanged = (home,) if is_new and rests_on is not None else ()

    @property
    def named(self) -> set[str]:
        """The memories that it names itself."""
        return {ref for refs in self.ends.values() for ref in refs}

    def near(self, view: View) -> list[Near]:
        """Return what it may repeat, replace or contradict."""
        if self.home is None:
            return []
        how: dict[str, Any] = {"world": self.home, "since": self.since, "until": self.body.valid_to}
        how["include_expired"] = is_past(self.body.expires_at, self.now)
        look_near = view._near_outside_user_worlds if self.desk.is_whole(self.home) else view.near
        return look_near(self.body.text, about=[*self.about, *self.new] or None, **how)

    def links(self, near: Iterable[Near]) -> list[Link]:
        """Return the edges to what is near that were asked for."""
        found = ((each.edge_type(self.body.on_near, len(self.body.about)), each) for each in near)
        return [(kind, each.ref, f"by on_near: {each.reason}") for kind, each in found if kind]


def _remembered(desk: Desk, asked: Asked, body: types.NewMemory, key: str | None) -> Reply:
    name = asked.path["world"]
    # Sent again under its key, it is looked at as it was then, and so comes to the same.
    look = view_for_write(desk.db, key)
    view = look if desk.home() is None else desk.db.view(seq=look.seq, valid=look.valid, world=desk.home())
    given = _Memory(desk, view, body, name)
    given.rest_on(asked, key is None or not desk.db.was_written(key))
    then = later_view(desk.db, view, given.since)
    near = given.near(then)
    again, by_then = find_repeats_at_start(desk.db, view, given.since, body.valid_to, given.near)
    then, near = (by_then, [*again, *(each for each in near if each not in again)]) if again else (then, near)
    said = None if given.named else next(filter(None, (_said(then, each, body) for each in near)), None)
    if said is not None:
        with suppress(IdempotencyConflict):  # The call that wrote it, sent again under its key.
            others = [each for each in near if each.ref != said.ref]
            end = find_end_change(look, said, given.since, body.valid_to)
            receipt = _say_again(look, then, said, given, others, key, end)
            told = desk.receipt(receipt) | {"refs": [said.ref]}
            how: dict[str, Any] = {"pinned": body.pinned, "until": body.valid_to, "end": end}
            notes = restatement_notes(desk.db, receipt, said, given.since, body.expires_at, **how)
            return Reply({"receipt": told, "near": desk.shown(others), "restated": True, "notes": notes})
    beside = [each for each in near if each.ref not in given.named]
    if body.on_near == ON_NEAR[-1]:
        beside += find_near_at_start(desk.db, view, given.since, near, given.near)
    taker = find_successor(beside, body.on_near, len(body.about), body.valid_to)
    receipt, ref = _write(look, given, given.links(beside), taker, key)
    told = desk.receipt(receipt) | {"refs": [ref]}
    notes = desk.told_of(view, name, given.home)
    notes += replacement_notes(beside, body.on_near, taker, len(body.about))
    new: dict[str, Any] = {"until": body.valid_to, "pinned": body.pinned, "text": body.text}
    notes += new_statement_notes(given.since, receipt.ingest_time, body.expires_at, **new)
    shown = {"receipt": told, "near": desk.shown(near), "restated": False, "notes": notes}
    return Reply(shown, 201 if receipt.events else 200)


def _said(view: View, near: Near, body: types.NewMemory) -> World | None:
    """Return what is near if a statement repeats it, and is to be no memory of its own."""
    found = view.get(near.ref, include_expired=True) if near.is_repeated and body.key is None else None
    return found if found is not None and (found.type, found.name) == (body.type, body.name) else None


def _say_again(
    look: View, then: View, said: World, given: _Memory, others: list[Near], key: str | None, end: EndChange | None
) -> Receipt:
    body = given.body
    with given.desk.db.batch(idempotency_key=key, seen=look, unchanged=given.unchanged) as tx:
        marks: dict[str, Any] = {"expires_at": body.expires_at, "ttl": body.ttl, "labels": body.labels}
        marks["earlier"] = find_earlier_start(view_for_write(given.desk.db, key), said, given.since)
        restate_memory(
            tx, said, body.source, body.why, **marks, pinned=body.pinned, properties=body.properties, end=end
        )
        for kind, ref, why in unwritten_links(then, said.ref, given.links(others)):
            tx.link(said.ref, kind, ref, valid_from=body.valid_from, why=why)
    tx.receipt.raise_if_refused()
    receipt: Receipt = tx.receipt
    return receipt


def _write(look: View, given: _Memory, links: list[Link], taker: Near | None, key: str | None) -> tuple[Receipt, str]:
    """Write a memory; returns the receipt, and its reference."""
    body, within = given.body, given.desk.home()
    bound: dict[str, Any] = {} if body.key is None or within is None else {"key_within": within}
    with given.desk.db.batch(idempotency_key=key, seen=look, unchanged=given.unchanged) as tx:
        home = given.desk.begin(tx, given.view, given.name) if given.home is None else given.home
        at = given.name if given.home is None else given.home
        entries = [given.desk.entry(tx, at, home, name, body.source) for name in given.new]
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
            ttl=body.ttl,
            why=body.why,
            **bound,
        )
        for each in (*given.about, *entries):
            tx.link(made, "refers_to", each, valid_from=body.valid_from)
        for kind, ref, why in (*((kind, ref, body.why) for kind, refs in given.ends.items() for ref in refs), *links):
            tx.link(made, kind, ref, valid_from=body.valid_from, why=why)
        if taker is not None:
            tx.link(taker.ref, "supersedes", made, valid_from=taker.valid.start, why=f"{TAKEN}{taker.reason}")
    return tx.receipt, tx.receipt.refs[made.position]


def mark(desk: Desk, asked: Asked) -> Reply:
    """Pin a world, label it, hide it from a time on, deprecate it, or let a tag stand for a version of it."""
    body: types.Marks = asked.body
    given = msgspec.structs.replace(body, why="", version=None)
    if given == types.Marks():
        names = ", ".join(name for name in types.Marks.__struct_fields__ if name not in ("version", "why"))
        raise InputError("No mark was given", f"Give some of: {names}")
    if body.version is not None and body.tag is None:
        raise InputError("version is of a tag, and none was given", "Give tag, too")
    view = desk.seen_by(desk.key(asked.idempotency_key))
    ref = desk.place(view, asked.path["world"])
    rests_on = precondition(desk, asked, view, ref)
    with desk.db.batch(idempotency_key=desk.key(asked.idempotency_key), **_resting(rests_on)) as tx:
        _marked(tx, ref, body)
    tx.receipt.raise_if_refused()
    return Reply(desk.receipt(tx.receipt) | {"refs": [ref]})


def _resting(rests_on: tuple[View, str] | None) -> dict[str, Any]:
    return {} if rests_on is None else {"seen": rests_on[0], "rests_on": [rests_on[1]], "unchanged": [rests_on[1]]}


def _marked(tx: Any, ref: str, body: types.Marks) -> None:
    why: dict[str, Any] = {"why": body.why}
    if body.pinned is not None:
        (tx.pin if body.pinned else tx.unpin)(ref, **why)
    if body.expires_at == _NEVER and body.ttl is None:
        tx.unexpire(ref, **why)
    elif body.expires_at is not None or body.ttl is not None:
        tx.expire(ref, expires_at=body.expires_at, ttl=body.ttl, **why)
    if body.add_labels:
        tx.label(ref, *body.add_labels, **why)
    if body.remove_labels:
        tx.unlabel(ref, *body.remove_labels, **why)
    if body.deprecated is not None:
        (tx.deprecate if body.deprecated else tx.undeprecate)(ref, **why)
    if body.tag is not None:
        tx.tag(ref, body.tag, version=body.version, **why)
    if body.untag is not None:
        tx.untag(ref, body.untag, **why)


def _recalled(desk: Desk, view: View, text: str, world: str | None, asked: dict[str, Any], recalls: int = 1) -> Reply:
    """Answer a question; ``recalls`` are so many that it may come to, which count together."""
    if desk.grant.account is not None:
        desk.grant.account.require_quota("recall_k", recalls * asked["k"])
    ref = None if world is None else desk.ref(view, world)
    lanes = desk.session.lanes(asked.get("lanes", LANES))
    how = asked | {"world": ref, "lanes": lanes}
    found: Recall = view.recall(text, **how)
    if not how.get("type") and not found.groups and found.receipt is None and not all(map(has_statement, found.hits)):
        # Who is only named, as whom a memory is about is, answers where nothing else does.
        said, _ = recall_statements(lambda k: view.recall(text, **how | {"k": k}), asked["k"])
        found = said if said.hits else found
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
        "groups": desk.shown(found.groups),
        "receipt": None if found.receipt is None else recall_receipt_text(found.receipt),
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
    if body.decay is not None:
        how["decay"] = Decay(**msgspec.structs.asdict(body.decay))
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


def check_recall(desk: Desk, asked: Asked) -> Reply:
    """Whether the receipt of a recall holds: the question is asked again."""
    body: types.CheckedRecall = asked.body
    given = msgspec.structs.asdict(body)
    receipt, text = receipt_of(desk.session, given.pop("receipt")), given.pop("text")
    found = desk.db.check_recall(receipt, text, **{name: value for name, value in given.items() if value is not None})
    told = {name: getattr(found, name) for name in ("verdict", "problems", "proved", "erased", "reference")}
    return Reply(told)


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
    how: Any = {name: getattr(query, name) or None for name in ("about", "type", "label", "properties")}
    how |= {"world": ref, "lanes": lanes, "min_confidence": query.min_confidence}
    found, _ = recall_statements(lambda k: view.recall(query.text, k=k, **how), _CONTEXT_HITS)
    text = agent_memory.prompt_text(
        found,
        view.pinned(ref),
        lambda said: -(-len(said.encode()) // _BYTES_A_TOKEN),
        query.max_tokens,
        view._in_log_order,
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
    Route(
        "POST",
        f"{WORLD}/marks",
        "mark",
        mark,
        "Pin, label, hide, deprecate or tag a world.",
        wire.Receipt,
        body=types.Marks,
        right="write",
    ),
    *(Route("GET", path, name, recall, told, wire.Recalled, types.Question) for path, name, told in _QUESTIONS),
    *(
        Route("POST", path, f"{name}_long", recall_long, told, wire.Recalled, body=types.LongQuestion)
        for path, name, told in _QUESTIONS
    ),
    Route(
        "POST",
        "/v1/recall/check",
        "check_recall",
        check_recall,
        "Check the receipt of a recall.",
        wire.RecallCheck,
        body=types.CheckedRecall,
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
