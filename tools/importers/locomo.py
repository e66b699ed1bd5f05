"""LoCoMo (Maharana et al. 2024): a JSON list of conversations, or one of them.

A record has ``sample_id`` and ``conversation``, which holds ``speaker_a``, ``speaker_b``, and for each session
``session_N`` (its turns: ``speaker``, ``dia_id``, ``text``, for a shared picture also ``blip_caption``) and
``session_N_date_time``, such as "1:56 pm on 8 May, 2023". The data names no time zone: times are taken as UTC. Dates of
missing sessions are skipped, as the published file has some; a session without a date has none. Questions and summaries
were not said, so they are not read.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec

from worlddb import MAX_CONTENT_BYTES, MAX_NAME_BYTES, InvalidTime, Turn, checked_text, parse_time
from worlddb.tools.importers import input_files, json_pieces
from worlddb.tools.importers.conversation import (
    MAX_LABEL_BYTES,
    Conversation,
    Part,
    Portion,
    RereadableSource,
    TurnsRead,
    portions_of,
    reread,
)

NAME: Final = "locomo"
"""Part of every record's key: changing it would import everything a second time."""

_SESSION: Final = re.compile(r"session_([0-9]{1,9})")
_OF_SESSION: Final = re.compile(r"session_([0-9]{1,9})(_date_time)?")
_MARKS: Final = re.compile(rb'"(conversation|sample_id|speaker_a)"\s*:')
_DATE: Final = re.compile(r"(\d{1,2}):(\d{2}) ([ap]m) on (\d{1,2}) ([A-Za-z]+),? (\d{4})", re.ASCII)
_MONTHS: Final = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_SPACE: Final = " \t\r\n"


class _Record(msgspec.Struct, frozen=True):
    sample_id: str
    conversation: msgspec.Raw


class _Turn(msgspec.Struct, frozen=True):
    speaker: str
    dia_id: str
    text: str
    blip_caption: str | None = None


_RECORD: Final = msgspec.json.Decoder(_Record)
_OBJECT: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_TURNS: Final = msgspec.json.Decoder(list[_Turn])
_TURN: Final = msgspec.json.Decoder(_Turn)
_TEXT: Final = msgspec.json.Decoder(str)


def recognises(head: bytes) -> bool:
    """Return whether the beginning of a file is LoCoMo's."""
    if head[:1] == b"[":
        return _MARKS.search(head) is not None
    if head[:1] != b"{":
        return False
    line = head.split(b"\n", 1)[0]
    try:
        first = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        # The object spans many lines, or the head cuts it off; a line with a text is a broken turn.
        return _MARKS.search(line if b'"text"' in line else head) is not None
    return "conversation" in first and "text" not in first


def load(path: Path, turns_read: TurnsRead | None = None) -> RereadableSource:
    """Read and check the whole file as a source.

    Raises:
        MalformedFile: naming file, record (from 0) and JSON path.
        LimitExceeded: it is larger than a file may be that is held in memory.
        InputError: the file cannot be read.
    """
    return reread(NAME, path, _parts, turns_read, _check)


def read(path: Path) -> list[Conversation]:
    """Read every conversation of the file, in order; raises as :func:`load`."""
    return load(path).load_all


def _check(path: Path, data: bytearray) -> None:
    """Check that the file is UTF-8 JSON without repeated keys, which would lose the turns of the first."""
    place = input_files.Place(path)
    input_files.check_unicode(place, data)
    cursor, listed = _begin(place, data)
    current = 0
    try:
        for index in cursor.elements() if listed else (0,):
            current = index
            cursor.skip()
            current = index + listed
        cursor.end()
    except json_pieces.BrokenJson as error:
        where = f"$[{current}]" if listed else "$"
        if error.repeated is not None:
            where += f"..{error.repeated[:80]}"
        line, column = json_pieces.line_and_column(data, error.position)
        problem = f"it is not readable JSON: {error}, near line {line}, column {column}"
        raise input_files.malformed_error(input_files.Place(path, "record", current, where), problem) from None


def _begin(place: input_files.Place, data: json_pieces.Data) -> tuple[json_pieces.Cursor, bool]:
    """Return a cursor at the first record or the list of them, and whether it is a list."""
    cursor = json_pieces.Cursor.of_file(data)
    first = cursor.peek()
    if first not in (ord("["), ord("{")):
        raise input_files.malformed_error(place, "it is neither a JSON list of conversations nor one conversation")
    return cursor, first == ord("[")


def _parts(path: Path, data: json_pieces.Data) -> Iterator[Part]:
    cursor, listed = _begin(input_files.Place(path), data)
    seen: dict[str, int] = {}
    for index in cursor.elements() if listed else (0,):
        at_record = input_files.Place(path, "record", index, f"$[{index}]" if listed else "$")
        inside = cursor.inside()
        part = _conversation(at_record, cursor.value(), inside)
        yield part
        cursor.give_back()
        if part.name in seen:
            problem = f"the conversation {part.name!r} is already record {seen[part.name]}"
            raise input_files.malformed_error(at_record.at(f"{at_record.path}.sample_id"), problem)
        seen[part.name] = index


def _conversation(place: input_files.Place, raw: json_pieces.Data, cursor: json_pieces.Cursor) -> Part:
    record = input_files.decode_at(place, _RECORD.decode, raw)
    name = _label(place.at(f"{place.path}.sample_id"), record.sample_id)
    inside = place.at(f"{place.path}.conversation")
    if memoryview(record.conversation)[0] != ord("{"):
        input_files.decode_at(inside, _OBJECT.decode, record.conversation)
    parts: dict[str, json_pieces.Cursor] = {}
    for field in cursor.members():
        if field != "conversation":
            cursor.value()
            continue
        for key in cursor.members():
            if key in ("speaker_a", "speaker_b") or _OF_SESSION.fullmatch(key):
                parts[key] = cursor.inside()
            cursor.value()
    speakers = dict.fromkeys(
        input_files.decode_at(inside.at(f"{inside.path}.{key}"), _TEXT.decode, parts[key].value()).strip()
        for key in ("speaker_a", "speaker_b")
        if key in parts
    )
    return Part(name, list(speakers), _portions(inside, name, parts))


def _portions(inside: input_files.Place, name: str, parts: dict[str, json_pieces.Cursor]) -> Iterator[Portion]:
    for _, key in sorted((int(found[1]), key) for key in parts if (found := _SESSION.fullmatch(key))):
        at = _session_time(inside, parts, f"{key}_date_time")
        session = inside.at(f"{inside.path}.{key}")
        yield from portions_of(name, key, at, _turns(session, parts[key]))


def _turns(session: input_files.Place, cursor: json_pieces.Cursor) -> Iterator[Turn]:
    if cursor.peek() != ord("["):
        input_files.decode_at(session, _TURNS.decode, cursor.value())
    for position in cursor.elements():
        place = session.at(f"{session.path}[{position}]")
        turn = input_files.decode_at(place, _TURN.decode, input_files.check_turn_size(place, cursor.value()))
        yield _turn(session, position, turn)
        cursor.give_back()


def _label(place: input_files.Place, text: str) -> str:
    return input_files.with_place(place, lambda: checked_text(text, "sample_id", MAX_LABEL_BYTES, empty=False))


def _turn(session: input_files.Place, position: int, turn: _Turn) -> Turn:
    place = session.at(f"{session.path}[{position}]")
    shared = f"[shares a photo: {turn.blip_caption}]" if turn.blip_caption else ""
    text = f"{turn.text} {shared}".strip(_SPACE) if shared else turn.text

    def check() -> Turn:
        return Turn(
            text=checked_text(text, "text", MAX_CONTENT_BYTES),
            speaker=checked_text(turn.speaker.strip(), "speaker", MAX_LABEL_BYTES),
            session=session.path.rpartition(".")[2],
            name=checked_text(turn.dia_id, "dia_id", MAX_NAME_BYTES),
            source={
                "file": input_files.file_name(place.file),
                "record": place.record,
                "path": place.path,
                "id": turn.dia_id,
            },
        )

    return input_files.with_place(place, check)


def _session_time(inside: input_files.Place, parts: dict[str, json_pieces.Cursor], key: str) -> int | None:
    if key not in parts:
        return None
    place = inside.at(f"{inside.path}.{key}")
    text = input_files.decode_at(place, _TEXT.decode, parts[key].value())
    return input_files.with_place(place, lambda: parse_date_time(text))


def parse_date_time(text: str) -> int:
    """Convert LoCoMo's "1:56 pm on 8 May, 2023" to microseconds UTC.

    Raises:
        InvalidTime: it has another form, or there is no such day or hour.
    """
    remedy = 'Write it as "1:56 pm on 8 May, 2023"'
    found = _DATE.fullmatch(text.strip())
    if found is None or found[5].lower() not in _MONTHS or not 1 <= int(found[1]) <= 12:
        raise InvalidTime(f"the date {text[:80]!r} does not have LoCoMo's form", remedy)
    hour = int(found[1]) % 12 + (12 if found[3] == "pm" else 0)
    month = _MONTHS.index(found[5].lower()) + 1
    try:
        moment = datetime(int(found[6]), month, int(found[4]), hour, int(found[2]), tzinfo=UTC)
    except ValueError as error:
        raise InvalidTime(f"the date {text[:80]!r} does not exist: {error}", remedy) from None
    return parse_time(moment)
