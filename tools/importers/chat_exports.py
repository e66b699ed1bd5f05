"""Exports of chats: ChatGPT's and Claude's accounts, ShareGPT, and messages as APIs and LangChain have them.

Each chat is a session, known by its id and called by its title, and its messages are known by their ids: a newer export
of the same account adds what is new, wherever it stands. An account is one conversation, so that who speaks in its
chats is one entity each; the chats of other files belong to the conversation of the file. Of a chat whose messages form
a tree the branch that was last shown is read. Instructions to a model and messages without a text are left out;
``left_out`` counts them, and those of other branches. A chat that cannot be read is left out whole, and ``broken``
names it; a file without any that can is refused.

How a message is read is the library's business (:func:`worlddb.read_message`); here is where messages stand in files.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from worlddb import InputError, Turn, checked_text, read_message
from worlddb.tools.importers import conversation, input_files, json_pieces

MAX_MESSAGES: Final = 50_000
"""Messages of one chat whose order or ids have to be held in memory."""
MAX_VALUES: Final = 200_000
"""Values of one message; more would take many times the memory of its text."""
MAX_FIELD_BYTES: Final = 64 * 1024
"""Largest id, title or time of a chat in its file."""
DEFAULT_SESSION: Final = "default"
"""The session of messages that stand in no chat."""

_VALUE: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[{,]', re.DOTALL)
_ANY: Final = msgspec.json.Decoder()


class _Fields(NamedTuple):
    """Field names of the parts of a chat; the first that is present counts."""

    messages: str
    id: tuple[str, ...] = ("conversation_id", "id", "uuid", "thread_id", "session_id")
    title: tuple[str, ...] = ("title", "name")
    at: tuple[str, ...] = ("create_time", "created_at", "timestamp")
    leaf: tuple[str, ...] = ("current_node", "current_leaf_message_uuid")

    @property
    def small(self) -> tuple[str, ...]:
        return (*self.id, *self.title, *self.at, *self.leaf)


class _Node(msgspec.Struct, frozen=True):
    """A node of ChatGPT's tree of messages."""

    parent: str | None = None
    message: msgspec.Raw = msgspec.Raw(b"null")


class _Link(msgspec.Struct, frozen=True):
    """The fields that order a message of Claude's."""

    uuid: str = ""
    parent_message_uuid: str | None = None


_NODE: Final = msgspec.json.Decoder(_Node)
_LINK: Final = msgspec.json.Decoder(_Link)


class _RawMessage(NamedTuple):
    """A message as it is written in its file, and its place."""

    path: str
    data: json_pieces.Data


class _Place(NamedTuple):
    """The place of a message to be ordered; ``parent`` is the id of the message before it."""

    parent: str | None
    begin: int
    end: int
    number: int
    is_message: bool


class Export(msgspec.Struct, frozen=True):
    """A kind of export.

    ``account`` is what its one conversation is called; without it that is the file's stem. ``marks`` are fields of
    which its first record has all of one tuple.
    """

    name: str
    title: str
    messages: str
    marks: tuple[tuple[str, ...], ...]
    account: str = ""

    def recognises(self, head: bytes) -> bool:
        """Return whether the beginning of a file is that of an export of this kind."""
        keys = _first_keys(head)
        return "text" not in keys and any(keys.issuperset(mark) for mark in self.marks)

    def load(
        self,
        path: Path,
        turns_read: conversation.TurnsRead | None = None,
        reading: conversation.ReadOptions = conversation.DEFAULT_READING,
    ) -> conversation.RereadableSource:
        """Check a file to its end; returns a source that is read again for its portions.

        Raises:
            MalformedFile: the file breaks the format, or no chat in it can be read, or with ``strict`` any chat cannot;
                record and path are named.
            LimitExceeded: it is larger than a file may be that is held in memory, or has more chats than any may; with
                ``strict`` also if one chat has more messages than any may, which is else left out.
        """
        name = checked_text(
            reading.conversation or self.account or input_files.stem(path),
            "The name of the conversation",
            conversation.MAX_LABEL_BYTES,
            empty=False,
        )
        held = _Chats(strict=reading.strict)
        known = -1
        # Of a chat that breaks far behind its beginning, turns were counted: they are counted again without it.
        while known < len(held.broken):
            known = len(held.broken)
            read = conversation.reread(self.name, path, partial(self._parts, name, held), turns_read)
        if held.broken and not held.read:
            raise held.errors[0]
        broken = tuple(held.broken[record] for record in sorted(held.broken))
        return msgspec.structs.replace(read, left_out=dict(held.left_out), chats=held.read, broken=broken)

    def _parts(self, name: str, held: _Chats, path: Path, data: json_pieces.Data) -> Iterator[conversation.Part]:
        yield conversation.Part(name, [], self._portions(name, held, path, data))

    def _portions(self, name: str, held: _Chats, path: Path, data: json_pieces.Data) -> Iterator[conversation.Portion]:
        held.begin()
        records = _records(path, data)
        for place, record in records:
            if place.record in held.broken:
                continue
            if self.messages == MESSAGES and not place.record and _is_message(place, record):
                # The messages stand in no chats: all of the file is one.
                rest = _rest(place, record, records)
                held.read = 1
                turns = _turns(place, name, DEFAULT_SESSION, rest, held.left_out, {})
                yield from conversation.portions_of(name, DEFAULT_SESSION, None, turns)
                return
            chat = _Chat("")
            try:
                yield from self._chat(name, held, place, record, chat)
            except InputError as error:
                held.leave_out(place, chat, error)
            else:
                held.read += 1
            if len(held.seen) > conversation.MAX_SESSIONS:
                raise input_files.too_large_error(path, f"more than {conversation.MAX_SESSIONS:,} chats")

    def _chat(
        self, name: str, held: _Chats, place: input_files.Place, record: json_pieces.Data, chat: _Chat
    ) -> Iterator[conversation.Portion]:
        """Yield the portions of one chat, and tell its id as soon as it is known."""
        fields = _Fields(self.messages)
        if record[0] != ord("{"):
            raise input_files.malformed_error(place, "it is not a JSON object")
        found = _members(place, record, (fields.messages, *fields.small))
        if fields.messages not in found:
            raise input_files.malformed_error(place, f"it has no field {fields.messages!r}")
        label = _text(place, found, fields.id) or str(place.record)
        chat.label = label
        if label in held.seen:
            chat.is_second = True
            raise input_files.malformed_error(place, f"the chat {label[:80]!r} occurs twice", "Keep the newer one")
        held.seen.add(label)
        title = _text(place, found, fields.title)
        written = _messages(place.at(f"{place.path}.{fields.messages}"), found, fields, held.left_out)
        source = {"chat": label} | ({"title": title} if title else {})
        turns = _turns(place, name, label, written, held.left_out, source)
        yield from conversation.portions_of(name, label, _time(place, found, fields.at), turns, title or None)


class _Chat:
    """The id of a chat once it is read, and whether an earlier one has it."""

    def __init__(self, label: str) -> None:
        self.label, self.is_second = label, False


class _Chats:
    """What a reading of an export has met: chats that were read, those that cannot be, and counts of messages."""

    def __init__(self, *, strict: bool) -> None:
        self._strict = strict
        self.broken: dict[int, conversation.Broken] = {}
        self.errors: list[InputError] = []
        self.begin()

    def begin(self) -> None:
        """Forget what a reading before this one has met, but for the chats that cannot be read."""
        self.read, self.seen, self.left_out = 0, set[str](), Counter[str]()

    def leave_out(self, place: input_files.Place, chat: _Chat, error: InputError) -> None:
        """Note a chat that cannot be read; with ``strict`` raise why."""
        if self._strict:
            raise error
        if not chat.is_second:
            self.seen.discard(chat.label)
        assert place.record is not None, "records are counted"
        self.errors.append(error)
        where = str(error.details.get("path") or place.path)
        self.broken[place.record] = conversation.Broken(
            input_files.printable(place.file), place.record, where, chat.label, error.message
        )


MESSAGES: Final = "messages"

EXPORTS: Final = (
    Export("chatgpt", "ChatGPT's export: conversations.json, or its .zip", "mapping", (("mapping",),), "ChatGPT"),
    Export(
        "claude", "Claude's export: conversations.json, or its .zip", "chat_messages", (("chat_messages",),), "Claude"
    ),
    Export("sharegpt", "ShareGPT: JSON or JSON Lines with conversations", "conversations", (("conversations",),)),
    Export(
        MESSAGES,
        "chat messages as OpenAI, Anthropic and LangChain have them, in JSON or JSON Lines",
        MESSAGES,
        ((MESSAGES,), ("role", "content"), ("type", "data"), ("type", "content"), ("lc", "kwargs"), ("from", "value")),
    ),
)


def _first_keys(head: bytes) -> set[str]:
    """Return the fields of the first record, as far as the beginning of a file shows them."""
    cursor, keys = json_pieces.Cursor(head), set[str]()
    try:
        if cursor.peek() == ord("["):
            cursor.position += 1
        for key in cursor.members():
            keys.add(key)
            cursor.value()
    except json_pieces.BrokenJson:
        pass  # Cut off or broken: the reader of the file reports it.
    return keys


def _records(path: Path, data: json_pieces.Data) -> Iterator[tuple[input_files.Place, json_pieces.Data]]:
    """Yield the records of lists, or of values one after another, whichever stands there."""
    cursor = json_pieces.Cursor.of_file(data)
    count = 0

    def taken() -> tuple[input_files.Place, json_pieces.Data]:
        nonlocal count
        place = input_files.Place(path, "record", count, f"$[{count}]")
        count += 1
        return place, cursor.value()

    try:
        while (begins := cursor.peek()) != -1:
            if begins == ord("["):
                for _ in cursor.elements():
                    yield taken()
                    cursor.give_back()
            else:
                yield taken()
                cursor.give_back()
    except json_pieces.BrokenJson as error:
        line, column = json_pieces.line_and_column(data, error.position)
        raise input_files.malformed_error(
            input_files.Place(path, "record", count, f"$[{count}]"),
            f"it is not readable JSON: {error}, near line {line}, column {column}",
        ) from None


def _is_message(place: input_files.Place, record: json_pieces.Data) -> bool:
    """Return whether a record is no chat but one message of it."""
    return record[0] == ord("{") and MESSAGES not in _members(place, record, (MESSAGES,))


def _rest(
    place: input_files.Place,
    record: json_pieces.Data,
    records: Iterator[tuple[input_files.Place, json_pieces.Data]],
) -> Iterator[_RawMessage]:
    yield _RawMessage(place.path, record)
    for after, written in records:
        yield _RawMessage(after.path, written)


def _members(place: input_files.Place, record: json_pieces.Data, names: tuple[str, ...]) -> dict[str, json_pieces.Data]:
    """Return some members of an object as raw JSON."""
    found: dict[str, json_pieces.Data] = {}
    cursor = json_pieces.Cursor(record)
    with _error_place(place):
        for key in cursor.members():
            input_files.refuse_repeated(place, key if key in found else None)
            value = cursor.value()
            if key in names:
                found[key] = value
        cursor.end()
    return found


@contextmanager
def _error_place(place: input_files.Place) -> Iterator[None]:
    """Say where JSON is that turns out to be broken."""
    try:
        yield
    except json_pieces.BrokenJson as error:
        raise input_files.malformed_error(place, f"it is not readable JSON: {error}") from None


def _small(place: input_files.Place, found: dict[str, json_pieces.Data], names: tuple[str, ...]) -> tuple[str, Any]:
    """Return the first of several fields that is there and not null, and its name."""
    for name in names:
        if name in found:
            inside = place.at(f"{place.path}.{name}")
            if len(found[name]) > MAX_FIELD_BYTES:
                raise input_files.malformed_error(
                    inside, f"it takes {len(found[name]):,} bytes, above {MAX_FIELD_BYTES:,}"
                )
            value = input_files.decode_at(inside, _ANY.decode, found[name])
            if value is not None and value != "":
                return name, value
    return "", None


def _text(place: input_files.Place, found: dict[str, json_pieces.Data], names: tuple[str, ...]) -> str:
    name, value = _small(place, found, names)
    if value is None:
        return ""
    inside = place.at(f"{place.path}.{name}")
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise input_files.malformed_error(inside, f"it is {value!r:.40}, not a text")
    return input_files.with_place(
        inside, lambda: checked_text(" ".join(str(value).split()), name, conversation.MAX_LABEL_BYTES)
    )


def _time(place: input_files.Place, found: dict[str, json_pieces.Data], names: tuple[str, ...]) -> int | None:
    """Return the start time of a chat, parsed like the times of messages."""
    name, value = _small(place, found, names)
    if value is None:
        return None
    inside = place.at(f"{place.path}.{name}")
    message = {"role": "user", "content": "", name: value}
    at = input_files.with_place(inside, lambda: read_message(message, "the chat").at)
    assert at is None or isinstance(at, int), "read as microseconds"
    return at


def _messages(
    place: input_files.Place, found: dict[str, json_pieces.Data], fields: _Fields, left_out: Counter[str]
) -> Iterator[_RawMessage]:
    """Yield the messages of a chat in order; of a tree only the branch that was shown last."""
    held = found[fields.messages]
    leaf = _small(place, found, fields.leaf)[1]
    if fields.messages == "mapping":
        return _tree_messages(place, held, leaf, left_out)
    if held[0] != ord("["):
        raise input_files.malformed_error(place, "it is not a list of messages")
    return _list_messages(place, held, leaf, left_out) if fields.messages == "chat_messages" else _listed(place, held)


def _listed(place: input_files.Place, held: json_pieces.Data) -> Iterator[_RawMessage]:
    cursor = json_pieces.Cursor(held)
    with _error_place(place):
        for number in cursor.elements():
            yield _RawMessage(f"{place.path}[{number}]", cursor.value())


def _tree_messages(
    place: input_files.Place, held: json_pieces.Data, leaf: object, left_out: Counter[str]
) -> Iterator[_RawMessage]:
    if held[0] != ord("{"):
        raise input_files.malformed_error(place, "it is not an object of nodes")
    nodes: dict[str, _Place] = {}
    cursor = json_pieces.Cursor(held)
    with _error_place(place):
        for key in cursor.members():
            input_files.refuse_repeated(place, key if key in nodes else None)
            written = cursor.value()
            node = input_files.decode_at(place.at(f"{place.path}.{key[:80]}"), _NODE.decode, written)
            is_message = memoryview(node.message)[0] == ord("{")
            end = cursor.position
            nodes[key] = _Place(node.parent, end - len(written), end, len(nodes), is_message)
            _refuse_many(place, nodes)
    for key in _branch(place, nodes, leaf, left_out):
        node_place = place.at(f"{place.path}.{key[:80]}")
        node = input_files.decode_at(node_place, _NODE.decode, held[nodes[key].begin : nodes[key].end])
        yield _RawMessage(f"{node_place.path}.message", memoryview(node.message))


def _list_messages(
    place: input_files.Place, held: json_pieces.Data, leaf: object, left_out: Counter[str]
) -> Iterator[_RawMessage]:
    """Yield the messages of a list, following their links to earlier ones if there are any."""
    nodes: dict[str, _Place] = {}
    for written in _listed(place, held):
        link = input_files.decode_at(place.at(written.path), _LINK.decode, written.data)
        key = link.uuid or f"#{len(nodes)}"
        if key in nodes:
            raise input_files.malformed_error(place.at(written.path), f"the message {key[:80]!r} occurs twice")
        nodes[key] = _Place(link.parent_message_uuid, 0, 0, len(nodes), True)
        _refuse_many(place, nodes)
    linked = any(each.parent in nodes for each in nodes.values())
    # Listed as they were sent: the last belongs to the branch that was shown last.
    named = leaf if isinstance(leaf, str) and leaf in nodes else next(reversed(nodes), None)
    kept = {nodes[key].number for key in (_branch(place, nodes, named, left_out) if linked else nodes)}
    for number, written in enumerate(_listed(place, held)):
        if number in kept:
            yield written


def _refuse_many(place: input_files.Place, nodes: dict[str, _Place]) -> None:
    if len(nodes) > MAX_MESSAGES:
        raise input_files.too_large_error(place.file, f"a chat of more than {MAX_MESSAGES:,} messages at {place.path}")


def _branch(place: input_files.Place, nodes: dict[str, _Place], leaf: object, left_out: Counter[str]) -> list[str]:
    """Return the ids from the first message to a leaf; without one, to the last that nothing follows."""
    parents = {each.parent for each in nodes.values()}
    here = (
        leaf
        if isinstance(leaf, str) and leaf in nodes
        else next((k for k in reversed(nodes) if k not in parents), None)
    )
    if here is None and nodes:
        raise input_files.malformed_error(place, "its messages form a cycle")
    path: dict[str, None] = {}
    while isinstance(here, str) and here in nodes:
        if here in path:
            raise input_files.malformed_error(place, "its messages form a cycle")
        path[here] = None
        here = nodes[here].parent
    left_out["other_branches"] += sum(each.is_message for key, each in nodes.items() if key not in path)
    return [key for key in reversed(path) if nodes[key].is_message]


def _turns(
    place: input_files.Place,
    name: str,
    session: str,
    messages: Iterator[_RawMessage],
    left_out: Counter[str],
    source: dict[str, str],
) -> Iterator[Turn]:
    seen: set[str] = set()
    named = {"file": input_files.file_name(place.file)}
    for number, written in enumerate(messages):
        inside = place.at(written.path)
        _refuse_values(inside, input_files.check_turn_size(inside, written.data))
        given = input_files.decode_at(inside, _ANY.decode, written.data)
        input_files.refuse_repeated(inside, json_pieces.repeated_key(written.data))
        message = input_files.with_place(inside, partial(read_message, given, "the message"))
        if message.is_instruction or _is_hidden(given):
            left_out["instructions"] += 1
            continue
        if not message.text:
            left_out["without_text"] += 1
            continue
        if message.id:
            if message.id in seen:
                raise input_files.malformed_error(inside, f"the message {message.id[:80]!r} occurs twice")
            seen.add(message.id)
            if len(seen) > MAX_MESSAGES:
                raise input_files.too_large_error(place.file, f"a chat of more than {MAX_MESSAGES:,} messages with ids")
        told = message.turn({})
        turn = msgspec.structs.replace(
            told,
            session=session,
            key=message.id or f"#{number}",
            source={**named, "record": place.record, "path": written.path, **source, **told.source},
        )
        conversation.check_storable(inside, turn, name, source.get("title") or session)
        yield turn


def _is_hidden(given: Any) -> bool:
    """Return whether ChatGPT never showed the message to its user."""
    metadata = given.get("metadata") if isinstance(given, dict) else None
    return isinstance(metadata, dict) and metadata.get("is_visually_hidden_from_conversation") is True


def _refuse_values(place: input_files.Place, written: json_pieces.Data) -> None:
    """Refuse a message with too many values, which would take many times its length when decoded."""
    data = bytes(written)
    if data.count(b",") + data.count(b"[") + data.count(b"{") <= MAX_VALUES:
        return
    if sum(len(found[0]) == 1 for found in _VALUE.finditer(data)) > MAX_VALUES:
        raise input_files.malformed_error(place, f"it has more than {MAX_VALUES:,} values", "Split it into messages")
