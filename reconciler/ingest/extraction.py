"""Turn text into commands (paper §3).

Turns become worlds by a fixed mapping, candidates come from the caller's extractor; the engine runs no model. An
:class:`Extractor` is called before the store is locked, and its answer is written, so replay never calls it again.
Without an extractor only the turns are written.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import compress
from typing import Any, Final, NamedTuple, Protocol

import msgspec
from msgspec.structs import replace

from worlddb.log.model import errors, hashing, limits, times
from worlddb.projections.tables.names import blocks
from worlddb.reconciler.commands.commands import BoundKey, Command, Create, Link, Ref
from worlddb.reconciler.commands.validation import checked_resolve


class Turn(msgspec.Struct, frozen=True, kw_only=True, metaclass=limits.TypedFields):
    """One utterance.

    ``at`` is valid time (when it was said); without it, the time given to ``ingest``, else commit time.
    ``session`` groups turns into one world each. ``source`` says where the text came from (file, position, the
    original's own id), and stays attached as provenance. ``key`` is the turn's own id within its session, by which it
    is found again wherever it stands; without it, its position is.
    """

    text: str
    speaker: str = ""
    at: times.TimeLike | None = None
    session: str = ""
    name: str = ""
    source: dict[str, Any] = {}
    key: str = ""


def checked_turns(turns: object) -> tuple[Turn, ...]:
    """The turns that a caller gave; a mapping of a turn's fields is one too.

    Raises:
        InputError: it is no list, or one of them cannot be made a turn.
    """
    if not isinstance(turns, list | tuple):
        raise errors.InputError(f"turns is {type(turns).__name__}, not a list of turns", "Give a list of Turn or dict")
    return tuple(turn if isinstance(turn, Turn) else _given_turn(turn, place) for place, turn in enumerate(turns))


def _given_turn(given: Any, position: int) -> Turn:
    if not isinstance(given, Mapping):
        raise errors.InputError(f"turns[{position}] is not a turn: {errors.shown(given)}", _REMEDY)
    try:
        return Turn(**given)
    except TypeError as error:
        raise errors.InputError(f"turns[{position}] is not a turn: {errors.shown(given)} ({error})", _REMEDY) from None


_REMEDY: Final = "Give text, speaker, at and session"


DEFAULT_SESSION = "session"
"""The session of turns that name none."""

NO_TURN = Turn(text="")

TURN, SESSION, CONVERSATION, ENTITY = blocks.TURN, blocks.SESSION, blocks.CONVERSATION, "Entity"


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """A candidate world. ``label`` names it within its extraction; ``at`` is its ``valid_from``.

    With a ``key`` it is a world of the whole conversation, which each extraction that gives the key finds again, so
    that repeating an ingest changes nothing; without one it is a new world in the session. ``resolve`` says which tiers
    of the resolver run for it; ``None``: those that the call to ``ingest`` names.
    """

    label: str
    type: str
    name: str
    content: str = ""
    aliases: tuple[str, ...] = ()
    at: Any = None
    source: dict[str, Any] = {}
    key: str = ""
    resolve: bool | str | None = None


class Relation(msgspec.Struct, frozen=True, kw_only=True):
    """A candidate edge.

    Its two ends are labels of its extraction, references of worlds that exist, or turns, which are named by their
    position among those that the extractor was given. With a ``key`` it is written once, however often the conversation
    is taken in. The key counts for edges of that type between these two ends alone.
    """

    source: str | int
    type: str
    target: str | int
    at: Any = None
    properties: dict[str, Any] = {}
    key: str = ""


class Extraction(msgspec.Struct, frozen=True, kw_only=True):
    """The candidates that an extractor found in some turns."""

    nodes: list[Node] = []
    edges: list[Relation] = []


class Extractor(Protocol):
    """Turns text into candidates: a program, a person, a model.

    One with ``asks_a_model = True`` is called once the turns are committed, with ``recorded``, a function that gives
    what is kept under ``answer`` in the source of the node of a key.
    """

    def __call__(self, turns: Sequence[Turn]) -> Extraction:
        """Find the candidates in the turns.

        The turns are those of a request without any that were erased and stay so.
        """


class Ingest(NamedTuple):
    """A request to take in turns of one conversation.

    ``format``, ``conversation``, session and the turn's position in its session (from ``start`` on) key every record,
    so that the same input finds its worlds again; with ``into``, that world does too, so that a conversation of the
    same name in another world is another one. All turns belong to ``session`` if it is given, else each to its own.
    ``at`` is when the turns were said, in microseconds.
    """

    turns: Sequence[Turn]
    conversation: str
    session: str | None = None
    at: int | None = None
    into: Ref | None = None
    format: str = "turns"
    start: int = 0
    extractor: Extractor | None = None
    revive: bool = False
    """Let erased texts come back."""
    resolve: bool | str = "all"
    """Which tiers of the resolver run for speakers and what an extractor finds; see :class:`.commands.Create`."""
    title: str | None = None
    """What the session is called, if not by the name that keys it."""


def ingest_commands(request: Ingest, are_gone: Callable[[Sequence[str | BoundKey]], list[bool]]) -> list[Command]:
    """Return the commands of a request, whose ``into`` has been resolved to a lineage.

    Worlds for conversation, sessions, speakers and turns come first, then candidates. ``are_gone`` tells for keys
    whether their worlds were erased; nothing is extracted from erased turns.

    Raises:
        InputError: a value of the request, a turn, or what the extractor gave is of a wrong type.
    """
    _check(request)
    spoken_at = [_spoken_at(turn, position, request) for position, turn in enumerate(request.turns)]
    begins = min((at for at in spoken_at if at is not None), default=request.at)
    commands: list[Command] = [
        Create(
            type=CONVERSATION,
            name=request.conversation,
            world=request.into,
            key=_record_key("conversation", request),
            valid_from=begins,
            resolve=False,
        )
    ]
    session_starts: dict[str, int] = {}
    for turn, at in zip(request.turns, spoken_at, strict=True):
        if at is not None:
            name = _session_of(turn, request)
            session_starts[name] = min(at, session_starts.get(name, at))
    sessions: dict[str, int] = {}
    for name in dict.fromkeys(_session_of(turn, request) for turn in request.turns or (NO_TURN,)):
        sessions[name] = len(commands)
        key, at = _record_key("session", request, name), session_starts.get(name, request.at)
        title = name if request.title is None else request.title
        commands.append(Create(type=SESSION, name=title, world=0, key=key, valid_from=at, resolve=False))
    speakers: dict[str, int] = {}
    for turn in request.turns:
        if turn.speaker and turn.speaker not in speakers:
            speakers[turn.speaker] = len(commands)
            commands.append(_create_speaker(turn.speaker, request, begins))
    next_positions = dict.fromkeys(sessions, request.start)
    places: list[_TurnPlace] = []
    for turn, at in zip(request.turns, spoken_at, strict=True):
        name = _session_of(turn, request)
        own: int | dict[str, str] = {"id": turn.key} if turn.key else next_positions[name]
        places.append(_TurnPlace(name, sessions[name], own, at, len(commands)))
        next_positions[name] += 1
        commands.extend(_create_turn(turn, places[-1], request, speakers))
    if request.extractor is not None:
        kept_turns = [True] * len(places)
        if not request.revive:
            keys = [_record_key("turn", request, place.session, place.position) for place in places]
            kept_turns = [not gone for gone in are_gone(keys)]
        given = tuple(compress(request.turns, kept_turns))
        ingested = _IngestedTurns(len(commands), list(compress(places, kept_turns)), begins)
        commands.extend(_extraction_commands(request.extractor(given), request, ingested))
    if request.revive:
        commands = [replace(each, revive=True) if isinstance(each, Create) else each for each in commands]
    return commands


def _check(request: Ingest) -> None:
    """Check the values of a request.

    Raises:
        InputError: one is wrong.
    """
    limits.checked_number(request.start, "start", 0, 2**63)
    checked_resolve(request.resolve)
    limits.checked_flag(request.revive, "revive")
    if request.extractor is not None and not callable(request.extractor):
        raise errors.InputError(
            f"extractor is {type(request.extractor).__name__}, which cannot be called", "Give a function"
        )
    if request.title is not None and request.session is None:
        shown = errors.shown(request.title)
        raise errors.InputError(f"The title {shown} has no session", "Name its session")
    for what in ("format", "conversation", "session", "title"):
        if getattr(request, what) is not None or what not in ("session", "title"):
            limits.checked_text(getattr(request, what), what, limits.MAX_KEY_BYTES)
    for position, turn in enumerate(request.turns):
        for what in ("text", "speaker", "session", "name", "key"):
            limits.checked_text(getattr(turn, what), f"turns[{position}].{what}", limits.MAX_CONTENT_BYTES)
    keyed = Counter((_session_of(turn, request), turn.key) for turn in request.turns if turn.key)
    for (_, label), count in keyed.most_common(1):
        if count > 1:
            raise errors.InputError(
                f"{count} turns of one session have the key {errors.shown(label)}", "Give each its own key"
            )


def _record_key(kind: str, request: Ingest, *parts: str | int | dict[str, str]) -> str | BoundKey:
    """The key of a record. JSON keeps the parts apart, whatever they contain.

    The key counts inside the world that the request writes into: a record that was moved out of it is left alone.

    Raises:
        InputError: a part cannot be stored, or is too long for a key.
    """
    for part in (request.format, request.conversation, *parts):
        for text in part.values() if isinstance(part, dict) else (part,):
            if isinstance(text, str):
                limits.checked_text(text, kind, limits.MAX_KEY_BYTES)
    return _bind_to_container(request, msgspec.json.encode((kind, *_key_prefix(request), *parts)).decode())


def _bind_to_container(request: Ingest, key: str) -> str | BoundKey:
    return key if request.into is None else BoundKey(key, request.into)


def _key_prefix(request: Ingest) -> tuple[Any, ...]:
    """The prefix of every key of a request; only the container is a JSON object, and the root world is left out."""
    into = request.into.hex() if isinstance(request.into, bytes) else request.into
    return (request.format, request.conversation, *(() if into is None else ({"into": into},)))


def candidate_key(request: Ingest, key: str) -> str:
    """Return the key of a candidate that has a key of its extractor's, in the world that the request writes into."""
    found = _extracted_key("found", request, key)
    return found.text if isinstance(found, BoundKey) else found


def _extracted_key(kind: str, request: Ingest, *parts: object) -> str | BoundKey:
    """The key of a candidate, of a fixed length for parts of any length."""
    encoded = msgspec.json.encode((*_key_prefix(request), *parts))
    return _bind_to_container(request, f"{kind}:{hashing.digest(hashing.EXTRACTED, kind.encode(), encoded).hex()}")


class _TurnPlace(NamedTuple):
    """The place of a turn.

    ``session`` and ``world`` are its session's name and command, ``position`` its own id or else its position in the
    session, ``at`` when it was said, ``command`` the position of its command.
    """

    session: str
    world: int
    position: int | dict[str, str]
    at: int | None
    command: int


class _IngestedTurns(NamedTuple):
    """The turns before an extraction: the number of commands so far, their places, and when the first was said."""

    commands: int
    turns: list[_TurnPlace]
    begins: int | None


def _session_of(turn: Turn, request: Ingest) -> str:
    return turn.session or DEFAULT_SESSION if request.session is None else request.session


def _spoken_at(turn: Turn, position: int, request: Ingest) -> int | None:
    return request.at if turn.at is None else times.parse_time(turn.at, f"turns[{position}].at")


def _create_speaker(name: str, request: Ingest, begins: int | None) -> Create:
    key = _record_key("speaker", request, name)
    return Create(type=ENTITY, name=name, world=0, key=key, valid_from=begins, resolve=request.resolve)


def _create_turn(turn: Turn, place: _TurnPlace, request: Ingest, speakers: dict[str, int]) -> list[Command]:
    commands: list[Command] = [
        Create(
            type=TURN,
            name=turn.name,
            content=f"{turn.speaker}: {turn.text}" if turn.speaker else turn.text,
            source=turn.source,
            world=place.world,
            key=_record_key("turn", request, place.session, place.position),
            valid_from=place.at,
            resolve=False,
        )
    ]
    if turn.speaker:
        commands.append(
            Link(
                source_ref=place.command,
                type="refers_to",
                target_ref=speakers[turn.speaker],
                key=_record_key("said", request, place.session, place.position, turn.speaker),
                valid_from=place.at,
                properties={"role": "speaker"},
            )
        )
    return commands


def checked_extraction(extraction: object, turns: int) -> Extraction:
    """Check an extractor's answer for so many turns.

    Raises:
        InputError: it is no extraction, names a turn that it was not given, or labels or keys two nodes alike.
    """
    if not isinstance(extraction, Extraction):
        raise errors.InputError(f"The extractor returned {type(extraction).__name__}", "Return an Extraction")
    parts: tuple[tuple[str, object, type], ...] = (
        ("nodes", extraction.nodes, Node),
        ("edges", extraction.edges, Relation),
    )
    for what, found, kind in parts:
        if not isinstance(found, Sequence) or any(type(one) is not kind for one in found):
            raise errors.InputError(
                f"The extractor's {what} are not a list of {kind.__name__}", "Correct the extractor"
            )
        for one in found:
            limits.checked_text(one.key, "a key of the extractor", limits.MAX_KEY_BYTES)
    for edge in extraction.edges:
        limits.checked_text(edge.type, "the type of an edge", limits.MAX_TYPE_BYTES)
    names: list[object] = [node.label for node in extraction.nodes]
    names.extend(end for edge in extraction.edges for end in (edge.source, edge.target))
    for name in names:
        if isinstance(name, int) and not turns:
            raise errors.InputError(
                f"The extractor names turn {name}, and it was given no turns", "Do not name turns by position"
            )
        if isinstance(name, int):
            limits.checked_number(name, "The position of a turn", 0, turns - 1)
        else:
            limits.checked_text(name, "a label", limits.MAX_NAME_BYTES)
    if len({node.label for node in extraction.nodes}) != len(extraction.nodes):
        raise errors.InputError("The extractor gave two nodes the same label", "Label every node of an extraction")
    for key, nodes in Counter(node.key for node in extraction.nodes if node.key).most_common(1):
        if nodes > 1:
            raise errors.InputError(
                f"The extractor gave {nodes} nodes the key {errors.shown(key)}", "Give each key to one node"
            )
    return extraction


def _extraction_commands(extraction: Extraction, request: Ingest, ingested: _IngestedTurns) -> list[Command]:
    checked_extraction(extraction, len(ingested.turns))
    labels = {node.label: ingested.commands + position for position, node in enumerate(extraction.nodes)}
    commands: list[Command] = [_create_candidate(node, request, ingested.begins) for node in extraction.nodes]
    named = {node.label: node.key for node in extraction.nodes}
    for edge in extraction.edges:
        link = _link_candidates(edge, labels, ingested.turns)
        if edge.key:
            ends = [_resolve_end(end, named, ingested.turns) for end in (edge.source, edge.target)]
            link = replace(link, key=_extracted_key("related", request, edge.key, edge.type, *ends))
        commands.append(link)
    return commands


def _create_candidate(node: Node, request: Ingest, begins: int | None) -> Create:
    """Make a candidate a world of the session, or with a key one of the conversation.

    Its speakers are worlds of the conversation too.
    """
    unsaid = begins if node.key else request.at
    return Create(
        type=node.type,
        name=node.name,
        content=node.content,
        aliases=node.aliases,
        source=node.source,
        world=0 if node.key else 1,
        key=_extracted_key("found", request, node.key) if node.key else None,
        valid_from=unsaid if node.at is None else times.parse_time(node.at, "at"),
        resolve=request.resolve if node.resolve is None else node.resolve,
        scope=0,
    )


def _resolve_end(
    end: str | int, keys: dict[str, str], turns: list[_TurnPlace]
) -> tuple[str | int | dict[str, str], ...]:
    """Resolve an end of an edge to a command or a reference.

    Labels and positions may differ in the next.
    """
    if isinstance(end, int):
        return "turn", turns[end].session, turns[end].position
    if keys.get(end):
        return "key", keys[end]
    return ("label" if end in keys else "world"), end


def _link_candidates(edge: Relation, labels: dict[str, int], turns: list[_TurnPlace]) -> Link:
    source, target = (
        turns[end].command if isinstance(end, int) else labels.get(end, end) for end in (edge.source, edge.target)
    )
    return Link(
        source_ref=source,
        type=edge.type,
        target_ref=target,
        valid_from=None if edge.at is None else times.parse_time(edge.at, "at"),
        properties=edge.properties,
    )
