"""LoCoMo (Maharana et al. 2024): a JSON list of conversations, or one of them.

A record has ``sample_id`` and ``conversation``, which holds ``speaker_a``, ``speaker_b``, and for each session
``session_N`` (its turns: ``speaker``, ``dia_id``, ``text``, for a shared picture also ``blip_caption``) and
``session_N_date_time``, such as "1:56 pm on 8 May, 2023". The data names no time zone: times are taken as UTC. Dates of
missing sessions are skipped, as the published file has some; a session without a date has none. Questions and summaries
were not said, so they are not read.
"""

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from worlddb import MAX_CONTENT_BYTES, MAX_NAME_BYTES, InvalidTime, Turn, checked_text, parse_time
from worlddb.tools.importers import input_files
from worlddb.tools.importers.conversation import MAX_LABEL_BYTES, Conversation, Loaded, Session, TurnsRead

NAME: Final = "locomo"
"""Part of every record's key: changing it would import everything a second time."""

_SESSION: Final = re.compile(r"session_([0-9]{1,9})")
_MARKS: Final = re.compile(rb'"(conversation|sample_id|speaker_a)"\s*:')
_DATE: Final = re.compile(r"(\d{1,2}):(\d{2}) ([ap]m) on (\d{1,2}) ([A-Za-z]+),? (\d{4})", re.ASCII)
_MONTHS: Final = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_SPACE: Final = " \t\r\n"


class _Record(msgspec.Struct, frozen=True):
    sample_id: str
    conversation: dict[str, msgspec.Raw]


class _Turn(msgspec.Struct, frozen=True):
    speaker: str
    dia_id: str
    text: str
    blip_caption: str | None = None


_RECORDS: Final = msgspec.json.Decoder(list[msgspec.Raw])
_RECORD: Final = msgspec.json.Decoder(_Record)
_TURNS: Final = msgspec.json.Decoder(list[_Turn])
_TEXT: Final = msgspec.json.Decoder(str)


def recognises(head: bytes) -> bool:
    """Return whether a file that begins so is LoCoMo's."""
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


def load(path: Path, turns_read: TurnsRead | None = None) -> Loaded:
    """Read and check the whole file as a source."""
    source = Loaded(read(path))
    if turns_read is not None:
        turns_read(source.turns)
    return source


def read(path: Path) -> list[Conversation]:
    """Read every conversation of the file, in order.

    Raises:
        MalformedFile: naming file, record (from 0) and JSON path.
        InputError: the file cannot be read.
    """
    place = input_files.Place(path)
    text = _unicode(place, input_files.whole(path))
    listed = text.startswith("[")
    if not listed and not text.startswith("{"):
        raise input_files.malformed(place, "it is neither a JSON list of conversations nor one conversation")
    try:
        records = _RECORDS.decode(text) if listed else [msgspec.Raw(text.encode())]
    except (msgspec.MsgspecError, RecursionError) as error:
        raise _broken(place, text, error) from None
    seen: dict[str, int] = {}
    conversations = []
    for index, raw in enumerate(records):
        at_record = input_files.Place(path, "record", index, f"$[{index}]" if listed else "$")
        conversation = _conversation(at_record, raw)
        if conversation.name in seen:
            problem = f"conversation {conversation.name!r} is already record {seen[conversation.name]}"
            raise input_files.malformed(at_record.at(f"{at_record.path}.sample_id"), problem)
        seen[conversation.name] = index
        conversations.append(conversation)
    return conversations


def _conversation(place: input_files.Place, raw: msgspec.Raw) -> Conversation:
    record = input_files.decoded(place, _RECORD.decode, raw)
    _no_repeats(place, raw)
    parts = record.conversation
    name = _label(place.at(f"{place.path}.sample_id"), record.sample_id)
    inside = place.at(f"{place.path}.conversation")
    speakers = dict.fromkeys(
        input_files.decoded(inside.at(f"{inside.path}.{key}"), _TEXT.decode, parts[key]).strip()
        for key in ("speaker_a", "speaker_b")
        if key in parts
    )
    sessions = []
    for _, key in sorted((int(found[1]), key) for key in parts if (found := _SESSION.fullmatch(key))):
        at = _session_time(inside, parts, f"{key}_date_time")
        session = inside.at(f"{inside.path}.{key}")
        said = input_files.decoded(session, _TURNS.decode, parts[key])
        turns = [_turn(session, position, turn) for position, turn in enumerate(said)]
        speakers |= dict.fromkeys(turn.speaker for turn in turns)
        sessions.append(Session(key, at, turns))
    return Conversation(NAME, name, [speaker for speaker in speakers if speaker], sessions)


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


def _session_time(inside: input_files.Place, parts: dict[str, msgspec.Raw], key: str) -> int | None:
    if key not in parts:
        return None
    place = inside.at(f"{inside.path}.{key}")
    text = input_files.decoded(place, _TEXT.decode, parts[key])
    return input_files.with_place(place, lambda: parse_date_time(text))


def parse_date_time(text: str) -> int:
    """Convert LoCoMo's "1:56 pm on 8 May, 2023" to microseconds UTC.

    Raises:
        InvalidTime: it has another form, or there is no such day or hour.
    """
    remedy = 'Write it as "1:56 pm on 8 May, 2023"'
    found = _DATE.fullmatch(text.strip())
    if found is None or found[5].lower() not in _MONTHS or not 1 <= int(found[1]) <= 12:
        raise InvalidTime(f"the date {text[:80]!r} is not of LoCoMo's form", remedy)
    hour = int(found[1]) % 12 + (12 if found[3] == "pm" else 0)
    month = _MONTHS.index(found[5].lower()) + 1
    try:
        moment = datetime(int(found[6]), month, int(found[4]), hour, int(found[2]), tzinfo=UTC)
    except ValueError as error:
        raise InvalidTime(f"the date {text[:80]!r} does not exist: {error}", remedy) from None
    return parse_time(moment)


def _unicode(place: input_files.Place, data: bytes) -> str:
    try:
        return data.decode().removeprefix("\ufeff").strip(_SPACE)
    except UnicodeDecodeError as error:
        problem = f"byte {error.start} (0x{error.object[error.start]:02x}) is not valid UTF-8"
        raise input_files.malformed(place, problem, "Save the file as UTF-8") from None


def _no_repeats(place: input_files.Place, raw: msgspec.Raw) -> None:
    """Refuse a JSON object that repeats a key: the first one's turns would be lost silently."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) != len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in made if keys.count(key) > 1)
            raise input_files.malformed(place.at(f"{place.path}..{twice}"), f"the key {twice!r} is there twice")
        return made

    try:
        json.loads(bytes(raw), object_pairs_hook=unique, parse_int=str, parse_float=str)
    except (ValueError, RecursionError) as error:
        raise input_files.malformed(place, f"it is not readable JSON: {error}") from None


def _broken(place: input_files.Place, text: str, error: Exception) -> Exception:
    """Return the error for invalid JSON, with the record in which it breaks."""
    problem = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
    decoder, index, position = json.JSONDecoder(parse_int=str), 0, 1
    try:
        while True:
            while text[position : position + 1] in (*_SPACE, ","):
                position += 1
            _, position = decoder.raw_decode(text, position)
            index += 1
    except (ValueError, RecursionError) as stop:
        failed = getattr(stop, "pos", position)
        line = text.count("\n", 0, failed) + 1
        column = failed - text.rfind("\n", 0, failed)
    return input_files.malformed(
        input_files.Place(place.file, "record", index, f"$[{index}]"), f"{problem}, near line {line}, column {column}"
    )
