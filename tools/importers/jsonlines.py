"""JSON Lines: one turn ``{"speaker", "text", "at", "session"}`` a line, in large files too.

``text`` is required, the others may be missing or null. ``at`` is ISO 8601 with an offset, a date, or integer
microseconds since the epoch. ``session`` is text or an integer; turns without one share the session "default". The
file's stem names the conversation; ``conversation`` puts a turn into another one. ``name`` names the turn, and the
object ``source`` is kept under ``given`` in the turn's source. An unknown field is an error, since it may be a known
one misspelled, unless the reader is told to keep such fields under ``extra`` there. Blank lines and a byte order mark
are skipped. A session's own time is that of its first turn that has one.

A file may be larger than memory: it is read once to check it and again to write from it, and turns are handed on in
portions. A session may resume later in the file; its positions continue.
"""

from collections.abc import Generator, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec

from worlddb import MAX_CONTENT_BYTES, MAX_NAME_BYTES, Turn, checked_text, parse_time
from worlddb.tools.importers import input_files, json_pieces
from worlddb.tools.importers.conversation import (
    DEFAULT_READING,
    MAX_LABEL_BYTES,
    MAX_PORTION_CHARACTERS,
    MAX_PORTION_TURNS,
    MAX_SESSIONS,
    Conversation,
    Portion,
    ReadOptions,
    Session,
    TurnsRead,
    check_storable,
)

NAME: Final = "jsonl"
"""Part of every record's key: changing it would import everything a second time."""

DEFAULT_SESSION: Final = "default"
MAX_LINE_BYTES: Final = input_files.MAX_TURN_BYTES
MAX_EXTRA_BYTES: Final = 64 * 1024
"""Largest unknown fields of one turn, encoded."""
MAX_EXTRA_DEPTH: Final = 32

_MAX_WRITTEN_BYTES: Final = 16 * MAX_EXTRA_BYTES
"""Largest field for provenance as it stands in a line, before it is decoded: blanks and escapes take room too."""
_HEARD_EVERY: Final = 4096

_Session: TypeAlias = tuple[str, str]
"""Names of a conversation and one of its sessions."""


class _Fields(msgspec.Struct, frozen=True, kw_only=True):
    speaker: str | None = None
    text: str
    at: int | str | None = None
    session: int | str | None = None
    name: str | None = None
    source: msgspec.Raw = msgspec.Raw(b"null")
    conversation: int | str | None = None


class _AnyObject(msgspec.Struct, frozen=True):
    """An object of any fields."""


class _KnownFields(_Fields, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The known fields of a line; any other is an error."""


_KNOWN_FIELDS: Final = msgspec.json.Decoder(_KnownFields)
_FIELDS: Final = msgspec.json.Decoder(_Fields)
_VALUE: Final = msgspec.json.Decoder()
_OBJECT_BEGINS: Final = msgspec.json.Decoder(_AnyObject)
"""Decoder that only serves to report what is wrong with a line."""
_SOURCE: Final = msgspec.json.Decoder(dict[str, Any] | None)
FIELDS: Final = _Fields.__struct_fields__
"""Known fields of a line."""
_KNOWN: Final = frozenset(FIELDS)


class StreamedSource(msgspec.Struct, frozen=True):
    """A JSON Lines file that was checked to its end.

    ``sessions`` holds the time of each session, which is named by its conversation and its own name; ``turns`` counts
    the turns.
    """

    path: Path
    reading: ReadOptions
    sessions: dict[_Session, int | None]
    turns: int

    @property
    def conversations(self) -> list[str]:
        return list(dict.fromkeys(conversation for conversation, _ in self.sessions))

    def portions(self) -> Iterator[Portion]:
        """Yield the checked turns, without any that another process appended since."""
        waiting: dict[_Session, list[Turn]] = {}
        starts: dict[_Session, int] = {}
        turns = waiting_turns = characters = 0
        reading = _turns(self.path, self.reading)
        while turns < self.turns and (read := next(reading, None)) is not None:
            session, turn = read
            waiting.setdefault(session, []).append(turn)
            turns, waiting_turns, characters = turns + 1, waiting_turns + 1, characters + len(turn.text)
            if waiting_turns >= MAX_PORTION_TURNS or characters >= MAX_PORTION_CHARACTERS:
                # Keep the session that is being read, so that a session of usual size is one portion.
                current = waiting.pop(session) if len(waiting) > 1 else []
                yield from self._hand_on(waiting, starts)
                waiting = {session: current} if current else {}
                waiting_turns, characters = len(current), sum(len(each.text) for each in current)
        reading.close()
        if turns < self.turns:
            raise input_files.malformed_error(
                input_files.Place(self.path),
                f"it had {self.turns:,} turns when it was checked, now {turns:,}",
                "Import it again when nobody writes to it: nothing is written twice",
            )
        yield from self._hand_on(waiting, starts)

    def _hand_on(self, waiting: dict[_Session, list[Turn]], starts: dict[_Session, int]) -> Iterator[Portion]:
        for session, turns in waiting.items():
            start = starts.get(session, 0)
            starts[session] = start + len(turns)
            yield Portion(*session, self.sessions.get(session), start, turns)


def recognises(head: bytes) -> bool:
    """Return whether the beginning of a file is JSON Lines."""
    if head[:1] != b"{":
        return False
    line = head.split(b"\n", 1)[0]
    try:
        return isinstance(msgspec.json.decode(line, type=dict[str, msgspec.Raw]), dict)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        # The first line is broken, or longer than the head; the reader reports it better.
        return b'"text"' in line


def load(path: Path, turns_read: TurnsRead | None = None, reading: ReadOptions = DEFAULT_READING) -> StreamedSource:
    """Check a file to its end; returns a source that is read again for its portions.

    Raises:
        MalformedFile: naming file, line (from 1) and field.
        InputError: the file cannot be read, or the conversation's name is none.
    """
    if reading.conversation is None:
        name = input_files.stem(path)
        input_files.with_place(
            input_files.Place(path), lambda: checked_text(name, "The name of the file", MAX_LABEL_BYTES, empty=False)
        )
    else:
        name = checked_text(reading.conversation, "The name of the conversation", MAX_LABEL_BYTES, empty=False)
    reading = msgspec.structs.replace(reading, conversation=name)
    sessions: dict[_Session, int | None] = {}
    count = 0
    for session, turn in _turns(path, reading):
        at = turn.at if isinstance(turn.at, int) else None
        if sessions.setdefault(session, at) is None:
            sessions[session] = at
        if len(sessions) > MAX_SESSIONS:
            raise input_files.too_large_error(path, f"more than {MAX_SESSIONS:,} sessions")
        count += 1
        if turns_read is not None and count % _HEARD_EVERY == 0:
            turns_read(count)
    return StreamedSource(path, reading, sessions, count)


def read(path: Path, reading: ReadOptions = DEFAULT_READING) -> Conversation:
    """Read the whole file into memory; raises as :func:`load`.

    Lines that name no conversation are in the conversation of the file.
    """
    source = load(path, None, reading)
    sessions = {key: Session(key[1], at, []) for key, at in source.sessions.items()}
    speakers: dict[str, None] = {}
    for portion in source.portions():
        sessions[portion.conversation, portion.session].turns.extend(portion.turns)
        speakers |= dict.fromkeys(turn.speaker for turn in portion.turns if turn.speaker)
    return Conversation(NAME, source.reading.conversation or "", list(speakers), list(sessions.values()))


def _turns(path: Path, reading: ReadOptions) -> Generator[tuple[_Session, Turn]]:
    name = input_files.file_name(path)
    offset = number = 0
    with input_files.open_decompressed(path) as stream:
        while line := stream.readline(MAX_LINE_BYTES + 1):
            number += 1
            place = input_files.Place(path, "line", number)
            if len(line) > MAX_LINE_BYTES:
                raise input_files.malformed_error(
                    place, f"it is longer than {MAX_LINE_BYTES:,} bytes", "Write one turn per line"
                )
            _check_unicode(place, line, offset)
            offset += len(line)
            written = (line.removeprefix(input_files.BOM) if number == 1 else line).strip()
            if written:
                yield _turn(place, name, written, reading)


def _check_unicode(place: input_files.Place, line: bytes, offset: int) -> None:
    try:
        line.decode()
    except UnicodeDecodeError as error:
        problem = f"byte {offset + error.start} of the file (0x{line[error.start]:02x}) is not valid UTF-8"
        raise input_files.malformed_error(place, problem, input_files.SAVE_AS_UTF8) from None


def _turn(place: input_files.Place, file: str, written: bytes, reading: ReadOptions) -> tuple[_Session, Turn]:
    extra: dict[str, Any] = {}
    try:
        fields: _Fields = _KNOWN_FIELDS.decode(written)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        # An unknown field, or what is wrong: told by the same order of questions as ever.
        extra = _unknown(place, written, reading)
        fields = input_files.decode_at(place, _FIELDS.decode, written)
    input_files.refuse_repeated(place.at("$"), json_pieces.repeated_key(written))
    session = str(DEFAULT_SESSION if fields.session is None else fields.session).strip() or DEFAULT_SESSION
    source: dict[str, Any] = {"file": file, "record": place.record, "path": "$"}
    if extra:
        source["extra"] = _bounded_provenance(place, extra)
    given = _provenance(place.at("$.source"), _SOURCE, memoryview(fields.source))
    if given:
        source["given"] = _bounded_provenance(place, {"source": given})["source"]
    named = "" if fields.conversation is None else str(fields.conversation).strip()
    conversation = named or reading.conversation or ""
    for key, text, limit in (
        ("text", fields.text, MAX_CONTENT_BYTES),
        ("speaker", fields.speaker or "", MAX_LABEL_BYTES),
        ("session", session, MAX_LABEL_BYTES),
        ("name", fields.name or "", MAX_NAME_BYTES),
        ("conversation", conversation, MAX_LABEL_BYTES),
    ):
        if len(text) * 4 > limit:
            input_files.with_place(place.at(f"$.{key}"), partial(checked_text, text, key, limit))
    turn = Turn(
        text=fields.text,
        name=(fields.name or "").strip(),
        speaker=(fields.speaker or "").strip(),
        at=None if fields.at is None else _time(place.at("$.at"), fields.at),
        session=session,
        source=source,
    )
    check_storable(place, turn, conversation, session)
    return (conversation, session), turn


def _unknown(place: input_files.Place, written: bytes, reading: ReadOptions) -> dict[str, Any]:
    """Return the fields of a line that are not known, if they may be there.

    One by one, because an object of many fields takes many times the memory of its line.
    """
    input_files.decode_at(place, _OBJECT_BEGINS.decode, written)
    if b'"text"' not in written:
        raise input_files.malformed_error(
            place,
            f"Object missing required field `text`; known fields are {', '.join(FIELDS)}",
            "Give each turn its text; what another memory keeps as statements is added one by one, by memory.add or"
            " `worlddb remember`",
        )
    found: dict[str, Any] = {}
    size = 0
    cursor = json_pieces.Cursor(written)
    for key in cursor.members():
        value = cursor.value()
        if key in _KNOWN:
            continue
        if not reading.ignore_unknown:
            problem = f"the field {key[:80]!r} is unknown; known fields are {', '.join(FIELDS)}"
            remedy = "Rename or remove it, or keep unknown fields as provenance: --ignore-unknown"
            raise input_files.malformed_error(place.at(f"$.{key[:80]}"), problem, remedy)
        size += len(key) + len(value)
        if size > _MAX_WRITTEN_BYTES:
            problem = f"{_listed(found)} and {key[:80]} take more than {_MAX_WRITTEN_BYTES:,} bytes"
            raise input_files.malformed_error(place, problem, "Leave out fields that are not about the turn")
        found[key] = _provenance(place.at(f"$.{key[:80]}"), _VALUE, value)
    return found


def _provenance(place: input_files.Place, decoder: msgspec.json.Decoder[Any], written: json_pieces.Data) -> Any:
    """Decode what is kept as provenance, unless it is longer than can be kept."""
    if len(written) > _MAX_WRITTEN_BYTES:
        problem = f"it takes {len(written):,} bytes, above {_MAX_WRITTEN_BYTES:,}"
        raise input_files.malformed_error(place, problem, "Leave out fields that are not about the turn")
    return input_files.decode_at(place, decoder.decode, written)


def _time(place: input_files.Place, at: int | str) -> int:
    # Parse twice: only an integer's range is checked, and an offset can push year 1 or 9999 out of it.
    return input_files.with_place(place, lambda: parse_time(parse_time(at, "at"), "at"))


def _bounded_provenance(place: input_files.Place, extra: dict[str, Any]) -> dict[str, Any]:
    """Return fields for provenance if they fit: bounded size and depth, integers of 64 bits."""
    for key, value in extra.items():
        if not _is_shallow(value, MAX_EXTRA_DEPTH):
            raise input_files.malformed_error(place.at(f"$.{key}"), f"it is nested more than {MAX_EXTRA_DEPTH} deep")
    try:
        size = len(msgspec.msgpack.encode(extra))
    except OverflowError:
        raise input_files.malformed_error(place, f"{_listed(extra)} has an integer of more than 64 bits") from None
    if size > MAX_EXTRA_BYTES:
        problem = f"{_listed(extra)} takes {size:,} bytes, above {MAX_EXTRA_BYTES:,}"
        raise input_files.malformed_error(place, problem, "Leave out fields that are not about the turn")
    return extra


def _listed(fields: dict[str, Any]) -> str:
    return ", ".join(fields)[:200]


def _is_shallow(value: object, left: int) -> bool:
    if isinstance(value, dict):
        return left > 0 and all(_is_shallow(each, left - 1) for each in value.values())
    if isinstance(value, list):
        return left > 0 and all(_is_shallow(each, left - 1) for each in value)
    return True
