"""Remember, recall and forget: three functions with JSON schemas for a model to call.

The program that runs the loop opens the store, so it decides who is recorded as the author and which world is visible.
No argument that a model writes can change either. ``forget`` closes a statement and erases nothing.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Annotated, Any, Final, NamedTuple

import msgspec
from msgspec import Meta

from worlddb import (
    MAX_CONTENT_BYTES,
    MAX_NAME_BYTES,
    TRUST_LEVELS,
    Database,
    InputError,
    InvalidTime,
    Receipt,
    StoreError,
    UnavailableError,
    UnknownReference,
    View,
    World,
    WorldDBError,
    checked_text,
    parse_time,
)
from worlddb.memory_scopes import (
    HOLDERS,
    composed,
    embed_new,
    folded,
    is_visible,
    notes_inside,
    recall_statements,
    ref_by_id,
)
from worlddb.memory_statements import (
    Place,
    Statement,
    check_on_near,
    check_statement_type,
    is_past,
    revise_where_it_lies,
    write_statement,
)
from worlddb.plain_text import is_blank, shown
from worlddb.tools.mcp import answer_notes, mcp_wording, tool_arguments, tool_results
from worlddb.write_notes import (
    concurrent_change_notes,
    displaced_notes,
    dropped_deadline_note,
    namesake_note,
    same_words_beside,
    still_hidden_notes,
)
from worlddb.writing import retry_while_changed

MAX_HITS: Final = 50
_MAX_RECALLED: Final = 10_000
"""Hits that one recall looks at, at most."""
_KEY_PREFIX: Final = "agents"
_BEGINNING: Final = "0001-01-01"
_BEGINNING_MICROS: Final = -62_135_596_800_000_000

Text = Annotated[str, Meta(min_length=1, max_length=100_000)]
Time = Annotated[str, Meta(min_length=4, max_length=40, description="ISO 8601: 2025-03-01 or 2025-03-01T10:00:00Z.")]
Id = Annotated[str, Meta(pattern="^[0-9a-fA-F]{4,64}$")]
Name = Annotated[str, Meta(max_length=200)]


class Remember(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Arguments that a model may give :func:`remember`."""

    text: Annotated[Text, Meta(description="The statement, understandable by itself.")]
    about: Annotated[Name | list[Name], Meta(description="The names of the people or things it is about, if any.")] = ""
    since: Annotated[Time | None, Meta(description="Since when it is true; now if left out.")] = None
    until: Annotated[Time | None, Meta(description="Until when it is true, if that is known.")] = None
    replaces: Annotated[
        Id | None,
        Meta(
            description="The id of a statement that this one replaces; with until only in that span, and the id stays."
        ),
    ] = None
    replace_later: Annotated[
        bool, Meta(description="With replaces: rewrite everything from since on; the id stays.")
    ] = False
    contradicts: Annotated[list[Id], Meta(description="Ids of statements that contradict it.")] = []
    derived_from: Annotated[list[Id], Meta(description="Ids of statements that it was derived from.")] = []
    type: Annotated[Name, Meta(min_length=1, description="Its type: Fact, Preference, Decision, ...")] = "Fact"
    name: Annotated[Name, Meta(description="A short name for it, if it needs one.")] = ""
    why: Annotated[str, Meta(max_length=2_000, description="The reason for keeping it.")] = ""
    expires_at: Annotated[Time | None, Meta(description="When nobody needs it any more, if that is known.")] = None


class Recall(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Arguments that a model may give :func:`recall`."""

    query: Annotated[Text, Meta(description="The question, in words as one would ask it.")]
    limit: Annotated[int, Meta(ge=1, le=MAX_HITS, description="How many statements at most.")] = 5
    at: Annotated[Time | None, Meta(description="What was true at this time; now if left out.")] = None
    min_trust: tool_arguments.MinTrust = None
    min_confidence: Annotated[float, Meta(ge=0, le=1, description="Leave out less likely answers, 0 to 1.")] = 0.0
    about: Annotated[Name | None, Meta(description="Only what is about this name.")] = None
    type: Annotated[Name | None, Meta(description="Only statements of this type.")] = None
    label: Annotated[Name | None, Meta(description="Only statements with this label.")] = None
    tag: Annotated[Name | None, Meta(description="Only versions with it.")] = None


class Forget(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Arguments that a model may give :func:`forget`."""

    id: Annotated[Id, Meta(description="The statement's id, as recall gave it.")]
    since: Annotated[Time | None, Meta(description="When it ceased to be true; now if left out.")] = None
    until: Annotated[Time | None, Meta(description="When it is true again, if it is.")] = None
    why: Annotated[str, Meta(max_length=2_000, description="The reason, kept with it.")] = ""


def remember(
    db: Database,
    text: str,
    *,
    about: str | Sequence[str] = "",
    since: str | None = None,
    until: str | None = None,
    replaces: str | None = None,
    replace_later: bool = False,
    contradicts: str | Sequence[str] = (),
    derived_from: str | Sequence[str] = (),
    type: str = "Fact",
    name: str = "",
    why: str = "",
    expires_at: str | None = None,
    world: Any = None,
    source: dict[str, Any] | None = None,
    on_near: str = "note",
) -> dict[str, Any]:
    """Write one statement; returns its ``id`` and the ids of staged identity ``proposals``.

    ``near`` lists what it may repeat, replace or contradict, with the reason. By ``on_near`` nothing is linked to that
    (``note``), ``contradicts`` to what cannot be true beside it (``propose``), or ``supersedes`` to what it replaces if
    both are about one subject only (``supersede_same_subject``); ``db.unlink`` takes it back. What is said word for
    word of the same subjects in this world already gets one more source instead, and ``restated`` is true; ``notes``
    name what was left out by that, and it is linked by ``on_near`` as a new one is.

    ``about`` names worlds in ``world``, each made at its first mention, to which every statement about it refers; an id
    means an existing one.
    ``world`` contains all of them (default: the root), ``source`` is their provenance; the program sets these, not the
    model. Proposals are those seen inside ``world``. From ``expires_at`` on it is hidden. With ``until``, a statement
    that this one ``replaces`` keeps its id and says the new text in that span alone, and with ``replace_later`` from
    ``since`` on, whatever was stated to hold later; ``lost`` lists what it said there.

    Raises:
        RefusedError: a rule of the engine forbids it; nothing was written.
        InputError: an argument is not what it should be, or what it ``replaces`` is not true any more.
    """
    if is_blank(checked_text(text, "text", MAX_CONTENT_BYTES)):
        raise InputError("text is blank", "Give one statement, understandable by itself")
    check_statement_type(type)
    check_on_near(on_near)
    if replace_later and (replaces is None or until is not None):
        raise InputError(
            "replace_later was given " + ("without replaces" if replaces is None else "with until"),
            "Give it with replaces and without until: it rewrites everything later",
        )
    for what, moment in (("since", since), ("until", until), ("expires_at", expires_at)):
        _micros(moment, what)
    # A retry reads them again, so iterators become lists.
    given = Remember(
        text=text,
        about=_as_list(about, "about"),
        since=since,
        until=until,
        replaces=replaces,
        replace_later=replace_later,
        contradicts=_as_list(contradicts, "contradicts"),
        derived_from=_as_list(derived_from, "derived_from"),
        type=type,
        name=name,
        why=why,
        expires_at=expires_at,
    )
    return retry_while_changed(lambda: _write_statement(db, given, world, source, on_near))


def _write_statement(
    db: Database, given: Remember, world: Any, source: dict[str, Any] | None, on_near: str
) -> dict[str, Any]:
    """Write a statement, or record that it was said again; returns the answer."""
    names, look = _subject_names(given.about), db.view()
    home = None if world is None else look._reference_to_write(world)
    named_links = {"contradicts": given.contradicts, "derived_from": given.derived_from}
    ends = {kind: [_require_visible(db, ref, world) for ref in refs] for kind, refs in named_links.items()}
    replaced, since, until = None, given.since, given.until
    if given.replaces is not None and (given.replace_later or until is not None):
        besides = {**named_links, "type": given.type != "Fact", "name": given.name, "expires_at": given.expires_at}
        window = {"valid_from": since, "valid_to": until, "replace_later": given.replace_later}
        return _rewrite_span(
            db, given.text, _require_statement(db, given.replaces, world), window, source, given.why, besides, world
        )
    if given.replaces is not None:
        replaced, since, until = _require_replaceable(db, given.replaces, world, since)
    marks, mark_notes = _inherited_marks(db, replaced, given.text, since, given.expires_at, world)
    is_plain = not any(marks.get(each) for each in ("labels", "pinned", "properties"))
    begins = _micros(since, "since")
    compared: Any = {"since": begins, "until": until, "include_expired": is_past(given.expires_at, look.valid)}
    near_in = View._near_of_no_user if home is None else View.near
    look_near = partial(near_in, text=given.text, about=names or None, **compared)
    said = Statement(
        text=given.text,
        type=given.type,
        name=given.name,
        subjects=len(names),
        since=begins,
        until=until,
        source=source or {},
        why=given.why,
        on_near=on_near,
        marks=marks,
        named=ends if replaced is None else {**ends, "supersedes": [replaced]},
        restated_marks={"expires_at": given.expires_at},
    )
    place = Place(
        look=look,
        nearby=[(look if home is None else look.confined(home), look_near)],
        homes=lambda tx: [world],
        entries=lambda tx, _: [_subject_world(db, tx, each, home, source) for each in names],
        ending=lambda old, _: f'call forget with the id "{old}"',
        batch={},
        created={"resolve": "all" if given.name else False},
        # What inherits labels is not what has none.
        may_repeat=lambda each: is_plain or each.ref == replaced,
    )
    done = write_statement(db, said, place)
    named = {replaced, *(ref for refs in ends.values() for ref in refs)}
    near = [answer_notes.near_record(each, done.links.get(each.ref, "")) for each in done.near if each.ref not in named]
    answer: dict[str, Any] = {"id": done.ref, "seq": done.receipt.seq, "proposals": [], "near": near}
    if done.is_restated:
        return {**answer, "restated": True, "notes": done.notes}
    embed_new(db)
    seen = (each for each in done.receipt.proposals if home is None or is_visible(db.view(world=home).proposal, each))
    shared = (namesake_note(look, home, each, _find_subject(db, each, home)) for each in names)
    notes = [*_explain_notes(db, done.receipt, world, _NO_NEWS), *done.notes, *mark_notes, *filter(None, shared)]
    return {**answer, "proposals": [*seen], "restated": False} | ({"notes": notes} if notes else {})


def _rewrite_span(
    db: Database,
    text: str,
    found: World,
    window: dict[str, Any],
    source: dict[str, Any] | None,
    why: str,
    besides: dict[str, Any],
    world: Any,
) -> dict[str, Any]:
    """Rewrite a statement in a span; refuse arguments that only apply to a new statement."""
    given = [word for word, value in besides.items() if value]
    if given:
        span = "replace_later" if window["replace_later"] else "until"
        raise InputError(
            f"{given[0]} was given with replaces and {span}", f"Leave out {span}, or remember it separately"
        )
    receipt = revise_where_it_lies(db, found.ref, world=world, content=text, **window, source=source, why=why)
    receipt.raise_if_refused()
    embed_new(db)
    empty: dict[str, Any] = {"proposals": [], "near": [], "restated": False}
    notes = [*_explain_notes(db, receipt, world), *still_hidden_notes(found, db.view().valid)]
    notes += displaced_notes(db.view(seq=receipt.seq, world=world), receipt, found.ref)
    return {"id": found.ref, "seq": receipt.seq, **empty, "lost": _lost_spans(receipt, found.ref), "notes": notes}


def _micros(given: str | None, what: str) -> int | None:
    return None if given is None else parse_time(given, what)


def _as_list(given: Any, what: str) -> list[str]:
    if isinstance(given, bytes) or not isinstance(given, Iterable):
        raise InputError(f"{what} is {shown(given)}", "Give one text, or a list of them")
    return [given] if isinstance(given, str) else list(given)


def _subject_names(about: str | Sequence[str]) -> list[str]:
    """Return the names of a statement's subjects, with normalized blanks, each once ignoring case."""
    given = (" ".join(checked_text(each, "about", MAX_NAME_BYTES).split()) for each in _as_list(about, "about"))
    called = dict[str, str]()
    for name in filter(None, given):
        called.setdefault(folded(name), composed(name))
    return [*called.values()]


def _subject_world(db: Database, tx: Any, about: str, home: str | None, source: dict[str, Any] | None) -> Any:
    """Return the world of a subject, by an id or a name, created in the batch at its first mention."""
    named = ref_by_id(db.view(world=home), about) or _find_subject(db, about, home)
    if named is not None:
        return named
    key = _entry_key(about, home)
    # A namesake that an earlier release made in a world, under a key without it, is that world's alone.
    within = next(db.log(1, 1)).data["root"] if home is None else home
    given: dict[str, Any] = {"key": key, "key_within": within, "world": home, "source": source}
    return tx.create("Entity", about, **given, valid_from=_BEGINNING, resolve="all", anew=True, revive=True)


def _entry_key(about: str, home: str | None) -> str:
    return msgspec.json.encode([_KEY_PREFIX, about] if home is None else [_KEY_PREFIX, home, about]).decode()


def recall(
    db: Database,
    query: str,
    *,
    limit: int = 5,
    at: str | None = None,
    world: Any = None,
    min_trust: str | None = None,
    min_confidence: float = 0.0,
    about: str | None = None,
    type: str | None = None,
    label: str | None = None,
    tag: str | None = None,
) -> answer_notes.ResultList[dict[str, Any]]:
    """Return the statements that answer a question best, with id, text, times and source.

    Each has its author and the reason why it was found, too, what it ``rests_on``, and the ``trust`` in all of that;
    ``min_trust`` (``none``, ``low``, ``fair`` or ``full``) leaves out what is trusted less, ``min_confidence`` (0 to 1)
    what is less likely to answer. ``about`` a name, of a ``type``, with a ``label``, and with a ``tag`` (in the version
    that it stands for): what does not fit is not found. ``notes`` of the list say what may have been missed and why.
    With ``world``, nothing outside it is visible.

    Raises:
        InputError: an argument is not what it should be.
    """
    wanted: Any = limit
    if isinstance(wanted, bool) or not isinstance(wanted, int) or not 0 <= wanted <= _MAX_RECALLED:
        raise InputError(f"limit is {shown(wanted)}", f"Give 0 to {_MAX_RECALLED:,}")
    view = db.view(valid=_micros(at, "at"), world=world)
    filters: dict[str, Any] = {"about": about, "type": type, "label": label, "tag": tag, "min_trust": min_trust}
    filters["min_confidence"] = min_confidence or None
    found, _ = recall_statements(lambda k: view.recall(query, k=k, **filters), limit, _MAX_RECALLED)
    notes = answer_notes.recall_notes(
        [found], in_one_world=world is not None, to_model=True, remedy="forget what is not true"
    )
    return answer_notes.ResultList((msgspec.to_builtins(tool_results.hit(hit, query)) for hit in found), notes)


def forget(
    db: Database,
    id: str,
    *,
    since: str | None = None,
    until: str | None = None,
    why: str = "",
    world: Any = None,
) -> dict[str, Any]:
    """Close a statement since a time (default: now); returns the commit that closed it as ``seq``.

    With ``until`` it is true again from there on. ``lost`` lists the times that it lost, and ``notes`` what is touched.

    Raises:
        UnknownReference, AmbiguousReference: no statement in ``world`` has that id; several do.
        InputError: it is ``world`` itself, a scope, a session, or the name of a person or thing: no statement.
        RefusedError: a rule of the engine forbids it; nothing was written.
    """
    seen, ref = db.head().seq, _require_statement(db, id, world).ref
    receipt = db.retire(ref, valid_from=_micros(since, "since"), valid_to=_micros(until, "until"), why=why)
    receipt.raise_if_refused()
    notes = [*_explain_notes(db, receipt, world), *concurrent_change_notes(db, seen, receipt, ref)]
    notes += [] if receipt.events else answer_notes.continuation_notes(db.view(world=world), ref)
    notes += same_words_beside(db, db.view(world=world), ref, "forget that too, or replace it")
    return {"id": ref, "seq": receipt.seq, "lost": _lost_spans(receipt, ref), "notes": notes}


_NO_NEWS: Final = ("proposal_staged", "not_changed")
"""Notes that say what an answer lists anyway, and that a subject was there already."""


def _explain_notes(db: Database, receipt: Receipt, world: Any, besides: Sequence[str] = ()) -> list[str]:
    """Return the notes of a receipt as texts, but for some codes, limited to what is visible inside ``world``."""
    notes = [note for note in receipt.notes if note.code not in besides]
    if world is not None:
        notes = notes_inside(
            notes, db.view(world=world), partial(is_visible, partial(_require_visible, db, world=world))
        )
    return [mcp_wording.explain_note(note) for note in notes]


def _lost_spans(receipt: Receipt, ref: str) -> list[dict[str, str | None]]:
    """List the times that versions of a statement lost by a write."""
    lost = [loss for loss in receipt.lost if loss.ref == ref]
    return [{"from": tool_results.time(loss.valid_from), "to": tool_results.time(loss.valid_to)} for loss in lost]


class Tool(NamedTuple):
    """A function as a model sees it, with the callable that runs it."""

    name: str
    description: str
    arguments: type[msgspec.Struct]
    run: Callable[..., Any]

    def schema(self) -> dict[str, Any]:
        """The JSON schema of its arguments."""
        _, named = msgspec.json.schema_components([self.arguments])
        schema: dict[str, Any] = dict(named[self.arguments.__name__])
        schema.pop("title", None)
        schema.pop("description", None)
        return schema

    def definition(self) -> dict[str, Any]:
        """Return the entry for ``tools`` of OpenAI's chat completions and compatible APIs."""
        function = {"name": self.name, "description": self.description, "parameters": self.schema()}
        return {"type": "function", "function": function}


TOOLS: Final = (
    Tool(
        "remember",
        "Keep one statement for later conversations, such as a fact, a wish or a decision.",
        Remember,
        remember,
    ),
    Tool(
        "recall",
        "Find remembered statements that answer a question. It finds only what is true at the given time.",
        Recall,
        recall,
    ),
    Tool(
        "forget",
        "Say that a statement is no longer true. It is not found from then on, and stays in the record of the past.",
        Forget,
        forget,
    ),
)


def definitions() -> list[dict[str, Any]]:
    """Return the list to hand a model as ``tools``."""
    return [tool.definition() for tool in TOOLS]


def call(
    db: Database,
    name: str,
    arguments: str | bytes | dict[str, Any],
    *,
    world: Any = None,
    source: dict[str, Any] | None = None,
    notes: bool = False,
    min_trust: str | None = None,
    on_near: str = "note",
) -> str:
    """Run a tool call that a model wrote; returns JSON, an answer or an ``error``.

    ``arguments`` are as the model wrote them; an ``error`` has a remedy that it can follow. ``world`` and ``source``
    come from the program, as in :func:`remember`, and so does ``min_trust``: the model may ask for more and not for
    less. In a ``world``, no error tells what is wrong with the store. With ``notes`` a recall returns an object with
    ``found`` (the statements) and ``notes``; without, a list of the statements.
    Nothing that a model can write raises.
    """
    try:
        checked_text(name, "the name of a tool", 80)
        tool = next((each for each in TOOLS if each.name == name), None)
        if tool is None:
            raise InputError(f"There is no tool {name!r:.80}", f"Call one of: {', '.join(each.name for each in TOOLS)}")
        given = _parse_arguments(tool, arguments)
        if isinstance(given, Recall):
            given = msgspec.structs.replace(given, min_trust=_higher_trust(given.min_trust, min_trust))
        own = {"world": world} | ({"source": source, "on_near": on_near} if tool.run is remember else {})
        answer = tool.run(db, **msgspec.structs.asdict(given), **own)
        if notes and isinstance(answer, answer_notes.ResultList):
            answer = {"found": list(answer), "notes": answer.notes}
    except WorldDBError as error:
        message, remedy = mcp_wording.in_tool_words(error.message), _remedy(error)
        if world is not None and isinstance(error, UnavailableError | StoreError):
            # It may name a writer of another world: its process, its host and its author.
            message, remedy = "The memory cannot be reached now", "Try again later"
        answer = {"error": {"code": error.code, "message": message, "remedy": remedy}}
    return msgspec.json.encode(answer).decode()


def _higher_trust(one: str | None, other: str | None) -> str | None:
    """Return the higher of two levels of trust; an unknown level is returned, and recall refuses it."""
    known = [level for level in (one, other) if level is not None]
    if any(level not in TRUST_LEVELS for level in known):
        return next(level for level in known if level not in TRUST_LEVELS)
    return max(known, key=TRUST_LEVELS.index, default=None)


def _remedy(error: WorldDBError) -> str:
    """Return a remedy that a model can follow: it has these three functions and no library."""
    if isinstance(error, UnknownReference):
        return "Ids are in the answers of recall"
    return mcp_wording.time_remedy(error) if isinstance(error, InvalidTime) else error.remedy


def _parse_arguments(tool: Tool, arguments: str | bytes | dict[str, Any]) -> Any:
    try:
        given = arguments if isinstance(arguments, dict) else msgspec.json.decode(arguments or b"{}")
        given = tool_arguments.coerce(given, tool.arguments) if isinstance(given, dict) else given
        return msgspec.convert(given, tool.arguments)
    except (msgspec.DecodeError, UnicodeError, RecursionError, TypeError) as error:
        raise InputError(
            f"The arguments of {tool.name} are wrong: {error}", "Write them as the tool's schema says"
        ) from None


def _require_replaceable(db: Database, ref: str, world: Any, since: str | None) -> tuple[str, str | None, str | None]:
    """Return the full reference of a replaceable statement and the validity of its successor.

    A statement that has ended by then cannot be replaced: two statements would hold in its place. One that held at a
    past time that is given can be from there on, until what replaced it begins.
    """
    view, found = db.view(world=world), _require_statement(db, ref, world)
    since = answer_notes.start_of_successor(view, found, since)
    if not answer_notes.has_ended(view, found, since) or answer_notes.held_at(view, found, since):
        return found.ref, since, answer_notes.end_of_successor(view, found)
    replacements = answer_notes.successors(view, found.ref)
    ended = f"{found.ref} is not true {'any more' if answer_notes.has_ended(view, found) else 'by then'}"
    if not replacements:
        raise InputError(f"{ended}, and nothing replaced it", "Leave out replaces")
    raise InputError(f"{ended}: {replacements[0].ref} replaced it", f"Replace {replacements[0].ref}")


def _inherited_marks(
    db: Database, replaced: str | None, text: str, since: str | None, expires_at: str | None, world: Any
) -> tuple[dict[str, Any], list[str]]:
    """Return the marks of a statement that replaces another one, which it inherits, and notes on these and the other.

    Its own deadline takes precedence; an inherited one is left out if it has passed by then.
    """
    if replaced is None:
        return {"expires_at": expires_at}, []
    view = db.view(world=world)
    old = view.get(replaced, include_superseded=True, include_expired=True, include_deprecated=True)
    assert old is not None, "it was found to be replaceable"
    begins = view.valid if since is None else max(view.valid, parse_time(since, "since"))
    is_over = expires_at is None and old.expires_at is not None and old.expires_at <= begins
    marks: dict[str, Any] = {"labels": old.labels, "pinned": old.pinned, "properties": old.properties or None}
    marks["expires_at"] = None if is_over else old.expires_at if expires_at is None else expires_at
    notes = [dropped_deadline_note(old.ref)] if is_over else []
    return marks, notes + same_words_beside(db, view, old.ref, "replace that too, or forget it", instead=text)


def _find_subject(db: Database, about: str, home: str | None) -> str | None:
    """Return the entity directly inside a world that was mentioned there before, ignoring case.

    One whose name is written just so comes first. An earlier release made it under a key without the world; such an
    entity goes on being used.
    """
    view = db.view()
    if home is None and view.keyed(_entry_key(about, None)) is not None:
        return None
    container = next(db.log(1, 1)).data["root"] if home is None else home
    matching = []
    for found in view.find(name=about, type="Entity", world=home):
        is_here = folded(found.name) == folded(about) and container in view.containers(found.ref)
        # What a program made by itself does not begin so early. It is another one: that they are one is proposed.
        if is_here and view.history(found.ref)[0].valid.start == _BEGINNING_MICROS:
            matching.append(found)
    return next((each.ref for each in sorted(matching, key=lambda each: each.name != about)), None)


def _require_visible(db: Database, ref: str, world: Any) -> str:
    """Return the full reference of something visible inside ``world``."""
    view = db.view(world=world)
    found = view.get(view._reference_to_write(ref), include_superseded=True)
    assert found is not None, "a known world has a newest version"
    return found.ref


def _require_statement(db: Database, ref: str, world: Any) -> World:
    """Return a statement visible inside ``world``, whether it holds or not.

    Raises:
        InputError: it says nothing: it is ``world`` itself, contains statements, or names a person or thing.
    """
    view = db.view(world=world)
    found = view.get(view._reference_to_write(ref), include_superseded=True)
    assert found is not None, "a known world has a newest version"
    is_home = world is not None and found.ref == db.view().reference_of(world)
    if is_home or found.type in HOLDERS or not (found.content or found.erased):
        raise InputError(f"{found.ref} is not a statement", "Give the id of a statement")
    return found
