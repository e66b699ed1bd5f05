"""Routes that remember statements in a world, mark them, and recall them."""

from collections.abc import Container
from functools import partial
from typing import Any, Final

import msgspec

from worlddb import (
    LANES,
    Decay,
    InputError,
    InvalidText,
    Near,
    Recall,
    Streams,
    View,
    parse_time,
    recall_receipt_text,
)
from worlddb.client import wire_records as wire
from worlddb.memory_scopes import has_statement, recall_statements
from worlddb.memory_statements import Place, Statement, is_past, view_for_write, write_statement
from worlddb.plain_text import is_blank
from worlddb.prompt_text import CONTEXT_HITS, prompt_text
from worlddb.tools.mcp import answer_notes
from worlddb.tools.mcp.read_tools import receipt_of
from worlddb.tools.server import request_types as types
from worlddb.tools.server.client_store import ClientStore
from worlddb.tools.server.route import TEXT, Reply, Request, Route, note_header
from worlddb.tools.server.world_routes import WORLD, precondition
from worlddb.write_notes import mark_notes, with_sentences
from worlddb.writing import retry_while_changed

_NEVER: Final = "never"
"""The value of ``expires_at`` that removes a deadline."""
_REMEDY: Final = "PATCH or DELETE the world that is not true, or POST an edge to /v1/edges"
_STATEMENTS_NOTE: Final = "A search inside a world leaves out its own statements: use /v1/recall, or its sparql"
_STREAM_FIELDS: Final = ("wordings", "paths", "hit_paths", "path_depth", "describe")
_QUESTION_FIELDS: Final = ("text", "world", "scopes", "ingested", "valid", "seq", *_STREAM_FIELDS)
"""Fields of a long question that are no arguments of ``View.recall``."""


def remember(store: ClientStore, request: Request) -> Reply:
    """Remember a statement in a world, which is created if there is none of that name.

    If the world has the same statement, word for word and about the same subjects, that one gets one more source.
    """
    body: types.NewMemory = request.body
    if is_blank(body.text):
        raise InputError("text is blank", "Give one statement, understandable by itself")
    if "\0" in body.text:
        place = body.text.index("\0")
        raise InvalidText(f"text has a NUL at character {place}", "Remove it: no text may contain one")
    key = store.key(request.idempotency_key)

    def named(view: View) -> list[str]:
        given = _NewStatement(store, view, body, request.path["world"])
        return given.about if given.home is None else [given.home, *given.about]

    write = partial(_remember_or_restate, store, request, body, key)
    return retry_while_changed(lambda: store.write_once(write, key, named))


class _NewStatement:
    """A statement to remember, with everything that it names resolved in a view.

    Its subjects are existing worlds, looked up first in the world that it goes into; a name that no world has yet
    becomes an entity there. A missing target world is created with it. The worlds ``absent`` count as not there.

    Raises:
        AmbiguousReference, UnknownReference: several have a name; nothing has a reference.
        InputError: a name is blank.
    """

    def __init__(
        self,
        store: ClientStore,
        view: View,
        body: types.NewMemory,
        name: str,
        absent: Container[str] = (),
        key: str | None = None,
    ) -> None:
        self.store, self.view, self.body, self.name = store, view, body, name
        self.home = home = store.find_target(view, name, absent, key=key)
        self.about, self.new_names = store.subjects(view, dict.fromkeys(body.about), home, absent)
        self.now = view.valid
        self.unchanged: tuple[str, ...] = ()
        self.since = None if body.valid_from is None else parse_time(body.valid_from, "valid_from")
        named = {"contradicts": body.contradicts, "derived_from": body.derived_from, "supersedes": body.replaces}
        once = {kind: store.refs(view, dict.fromkeys(refs), home) for kind, refs in named.items()}
        self.named_edges = {kind: list(dict.fromkeys(refs)) for kind, refs in once.items()}

    def rest_on(self, request: Request, is_new: bool) -> None:
        """Check ``If-Match``, and have the write refused if the world changes before the commit.

        Raises:
            UnknownReference: it is not there, so it has no hash.
        """
        if request.if_match is not None:
            home = self.store.target_ref(self.view, self.name) if self.home is None else self.home
            rests_on = precondition(self.store, request, self.view, home)
            self.unchanged = (home,) if is_new and rests_on is not None else ()

    def near(self, view: View) -> list[Near]:
        """Return the memories that it may repeat, replace or contradict."""
        if self.home is None:
            return []
        options: dict[str, Any] = {"world": self.home, "since": self.since, "until": self.body.valid_to}
        options["include_expired"] = is_past(self.body.expires_at, self.now)
        look_near = view._near_of_no_user if self.store.is_whole_store(self.home) else view.near
        return look_near(self.body.text, about=[*self.about, *self.new_names] or None, **options)

    def statement(self) -> Statement:
        """Return it as the library writes it."""
        body = self.body
        return Statement(
            text=body.text,
            type=body.type,
            name=body.name,
            subjects=len(body.about),
            since=self.since,
            until=body.valid_to,
            source=body.source,
            why=body.why,
            on_near=body.on_near,
            marks={name: getattr(body, name) for name in ("expires_at", "ttl", "labels", "pinned", "properties")},
            named=self.named_edges,
        )

    def homes(self, tx: Any) -> list[Any]:
        """Return the world that it goes into, which is created with it if there is none."""
        return [self.store.create_target(tx, self.view, self.name) if self.home is None else self.home]

    def entries(self, tx: Any, home: Any) -> list[Any]:
        """Return its subjects; those that no world is yet are created with it."""
        at = self.name if self.home is None else self.home
        return [
            *self.about,
            *(self.store.create_entry(tx, at, home, name, self.body.source) for name in self.new_names),
        ]


def _remember_or_restate(
    store: ClientStore, request: Request, body: types.NewMemory, key: str | None, absent: Container[str]
) -> Reply:
    name = request.path["world"]
    # A retry under its key reads the state of then, and so decides the same.
    look = view_for_write(store.db, key)
    view = look if store.home() is None else store.db.view(seq=look.seq, valid=look.valid, world=store.home())
    given = _NewStatement(store, view, body, name, absent, key)
    given.rest_on(request, key is None or not store.db.was_written(key))
    is_named, within = any(given.named_edges.values()), store.home()
    place = Place(
        look=look,
        nearby=[(view, given.near)],
        homes=given.homes,
        entries=given.entries,
        ending=lambda old, new: f'POST {{"source": "{new}", "type": "supersedes", "target": "{old}"}} to /v1/edges',
        batch={"idempotency_key": key, "unchanged": given.unchanged},
        created={"key": body.key} | ({} if body.key is None or within is None else {"key_within": within}),
        may_repeat=lambda _: body.key is None and not is_named,
    )
    done = write_statement(store.db, given.statement(), place)
    document = store.receipt(done.receipt) | {"refs": [done.ref]}
    notes = [*([] if done.is_restated else store.notes_on_target(view, name, given.home, absent)), *done.notes]
    answer = {"receipt": document, "near": store.to_wire(done.near), "restated": done.is_restated, "notes": notes}
    return Reply(answer, 201 if done.receipt.events and not done.is_restated else 200)


def mark(store: ClientStore, request: Request) -> Reply:
    """Pin, label, hide from a time on, deprecate or tag a world."""
    body: types.Marks = request.body
    given = msgspec.structs.replace(body, why="", version=None)
    if given == types.Marks():
        names = ", ".join(name for name in types.Marks.__struct_fields__ if name not in ("version", "why"))
        raise InputError("No mark was given", f"Give some of: {names}")
    if body.version is not None and body.tag is None:
        raise InputError("version was given without tag", "Also give tag")
    view = store.view_of_write(store.key(request.idempotency_key))
    ref = store.target_ref(view, request.path["world"])
    rests_on = precondition(store, request, view, ref)
    with store.db.batch(idempotency_key=store.key(request.idempotency_key), **_batch_options(rests_on)) as tx:
        _write_marks(tx, ref, body)
    tx.receipt.raise_if_refused()
    is_deadline = body.ttl is not None or body.expires_at not in (None, _NEVER)
    is_shown = is_deadline or body.pinned or body.add_labels
    notes = mark_notes(store.db.view(), ref, deadline=is_deadline) if is_shown else []
    return Reply(store.receipt(with_sentences(tx.receipt, notes)) | {"refs": [ref]})


def _batch_options(rests_on: tuple[View, str] | None) -> dict[str, Any]:
    return {} if rests_on is None else {"seen": rests_on[0], "rests_on": [rests_on[1]], "unchanged": [rests_on[1]]}


def _write_marks(tx: Any, ref: str, body: types.Marks) -> None:
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


def _answer_recall(
    store: ClientStore,
    view: View,
    text: str,
    world: str | None,
    options: dict[str, Any],
    recalls: int = 1,
    *,
    default: int = types.DEFAULT_HITS,
) -> Reply:
    """Answer a question; ``recalls`` is the number of recalls that it may need, all of which count."""
    account, k = store.grant.account, options["k"]
    if account is not None:
        k = account.most_hits(default, recalls) if k is None else k
        account.require_quota("recall_k", recalls * k)
    options = options | {"k": default if k is None else k}
    ref = None if world is None else store.ref(view, world)
    lanes = store.session.lanes(options.get("lanes", LANES))
    arguments = options | {"world": ref, "lanes": lanes}
    found: Recall = view.recall(text, **arguments)
    if (
        not arguments.get("type")
        and not found.groups
        and found.receipt is None
        and not all(map(has_statement, found.hits))
    ):
        # An entity, which is only named, is an answer only if no statement is.
        statements, _ = recall_statements(lambda k: view.recall(text, **arguments | {"k": k}), options["k"])
        found = statements if statements.hits else found
    notes = answer_notes.recall_notes([found], in_one_world=not store.commits, remedy=_REMEDY)
    if len(lanes) < len(options.get("lanes", LANES)):
        notes.append(answer_notes.WITHOUT_VECTORS)
    if ref is not None and not found.hits and view.statements(ref, limit=1):
        notes.append(_STATEMENTS_NOTE)
    document = {
        "hits": store.to_wire(found.hits),
        "exact": found.exact,
        "lanes": found.lanes,
        "search_mode": found.search_mode,
        "notes": notes,
        "confidence": found.confidence,
        "weak": found.weak,
        "competing": store.to_wire(found.competing),
        "paths": store.to_wire(found.paths),
        "groups": store.to_wire(found.groups),
        "receipt": None if found.receipt is None else recall_receipt_text(found.receipt),
        "moment": store.moment(view),
    }
    return Reply(document)


def recall(store: ClientStore, request: Request) -> Reply:
    """The worlds that answer a question best."""
    query: types.Question = request.query
    how = {"k": query.k, "exact": query.exact, "include_superseded": query.include_superseded}
    return _answer_recall(store, store.view(query), query.text, request.path.get("world"), how)


def recall_long(store: ClientStore, request: Request) -> Reply:
    """The worlds that answer a question best, with all options of a recall."""
    body: types.LongQuestion = request.body
    within = request.path.get("world")
    if within is not None and body.world is not None:
        raise InputError("The world was given twice", "Leave out world: the path has one")
    options = {name: value for name, value in msgspec.structs.asdict(body).items() if name not in _QUESTION_FIELDS}
    if body.decay is not None:
        options["decay"] = Decay(**msgspec.structs.asdict(body.decay))
    view = store.view(body)
    if body.scopes is not None:
        if within is not None:
            raise InputError("scopes was given, but the path names the world", "Leave out one of them")
        options["scopes"] = [store.ref(view, each) for each in body.scopes]
    if body.wordings or body.paths or body.hit_paths or body.describe:
        options["streams"] = Streams(
            expand=(lambda text: body.wordings) if body.wordings else None,
            paths=body.paths,
            hit_paths=body.hit_paths,
            depth=body.path_depth,
            describe=body.describe,
        )
    recalls = len(body.scopes or (None,)) * (1 + len(body.wordings))
    return _answer_recall(store, view, body.text, within or body.world, options, recalls)


def check_recall(store: ClientStore, request: Request) -> Reply:
    """Check the receipt of a recall by asking its question again."""
    body: types.CheckedRecall = request.body
    given = msgspec.structs.asdict(body)
    receipt, text = receipt_of(store.session, given.pop("receipt")), given.pop("text")
    found = store.db.check_recall(receipt, text, **{name: value for name, value in given.items() if value is not None})
    document = {name: getattr(found, name) for name in ("verdict", "problems", "proved", "erased", "reference")}
    return Reply(document)


def chunks(store: ClientStore, request: Request) -> Reply:
    """The texts in a world that contain words of a query, best first."""
    query: types.Chunks = request.query
    how = {"k": query.limit, "lanes": ("text",)}
    view = store.view(query)
    return _answer_recall(store, view, query.query, request.path["world"], how, default=types.DEFAULT_CHUNKS)


def context(store: ClientStore, request: Request) -> Reply:
    """What is known about a question, as text for a prompt."""
    query: types.ContextOf = request.query
    view = store.view(query)
    ref = store.ref(view, request.path["world"])
    lanes = store.session.lanes()
    how: Any = {name: getattr(query, name) or None for name in ("about", "type", "label", "properties")}
    how |= {"world": ref, "lanes": lanes, "min_confidence": query.min_confidence}
    account = store.grant.account
    most = CONTEXT_HITS if account is None else account.most_hits(CONTEXT_HITS)
    found, _ = recall_statements(lambda k: view.recall(query.text, k=k, **how), most)
    text = prompt_text(found, view.pinned(ref), None, query.max_tokens, view, query.text)
    if request.accepts == TEXT:
        return Reply(text.encode(), media_type=TEXT, headers=note_header(text.note))
    return Reply({"text": str(text), "note": text.note, "moment": store.moment(view)})


_QUESTIONS: Final = (
    ("/v1/recall", "recall", "Search for answers to a question."),
    (f"{WORLD}/recall", "recall_in_world", "Search inside a world for answers to a question."),
    (f"{WORLD}/search", "search", "Search inside a world for answers to a question."),
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
        "Read what is known about a question as a text for a prompt.",
        wire.Context,
        types.ContextOf,
        produces=("application/json", TEXT),
    ),
)
