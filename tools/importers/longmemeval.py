"""LongMemEval (Wu et al. 2025): a JSON list of questions with haystacks of sessions.

A record has ``question_id``, ``haystack_session_ids``, ``haystack_sessions`` (for each session its turns: ``role``,
``content``) and mostly, as long, ``haystack_dates`` such as "2023/05/30 (Tue) 22:36". A question's haystack is one
conversation. The data names no time zone: times are taken as UTC; a session without a date has none. Some haystacks
list a session twice; it is read once. The question, its answer and the marks on evidence turns were not said, so they
are not read.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from worlddb import MAX_CONTENT_BYTES, InvalidTime, Turn, checked_text, parse_time
from worlddb.tools.importers import input_files, json_pieces
from worlddb.tools.importers.conversation import (
    MAX_LABEL_BYTES,
    MAX_SESSIONS,
    Part,
    Portion,
    RereadableSource,
    TurnsRead,
    portions_of,
    reread,
)

NAME: Final = "longmemeval"
"""Part of every record's key: changing it would import everything a second time."""

_MARK: Final = re.compile(rb'"(haystack_sessions|haystack_dates|haystack_session_ids|question_id)"\s*:')
_DATE: Final = re.compile(
    r"(\d{4})[/-](\d{1,2})[/-](\d{1,2})(?: \([A-Za-z]{3,9}\))?(?:[ T](\d{1,2}):(\d{2})(?::(\d{2}))?)?", re.ASCII
)


class _Turn(msgspec.Struct, frozen=True):
    role: str
    content: str


class _Record(msgspec.Struct, frozen=True):
    question_id: str
    haystack_session_ids: msgspec.Raw
    haystack_sessions: msgspec.Raw
    haystack_dates: msgspec.Raw = msgspec.Raw(b"null")


_RECORD: Final = msgspec.json.Decoder(_Record)
_TURN: Final = msgspec.json.Decoder(_Turn)
_IDS: Final = msgspec.json.Decoder(list[str])
_DATES: Final = msgspec.json.Decoder(list[str | None] | None)
_LIST: Final = msgspec.json.Decoder(list[msgspec.Raw])


def recognises(head: bytes) -> bool:
    """Return whether the beginning of a file is LongMemEval's."""
    return head[:1] == b"[" and _MARK.search(head) is not None


def load(path: Path, turns_read: TurnsRead | None = None) -> RereadableSource:
    """Read every haystack of the file as a conversation.

    Raises:
        MalformedFile: the file breaks the format; record and path are named.
        LimitExceeded: it is larger than a file may be that is held in memory.
    """
    return reread(NAME, path, _parts, turns_read)


def _parts(path: Path, data: json_pieces.Data) -> Iterator[Part]:
    cursor = json_pieces.Cursor.of_file(data)
    if cursor.peek() != ord("["):
        raise input_files.malformed_error(input_files.Place(path), "it is not a JSON list of questions")
    seen: set[str] = set()
    current = 0
    try:
        for index in cursor.elements():
            current = index
            place = input_files.Place(path, "record", index, f"$[{index}]")
            inside = cursor.inside()
            part = _conversation(place, cursor.value(), inside)
            yield part
            cursor.give_back()
            if part.name in seen:
                raise input_files.malformed_error(place, f"the question {part.name[:80]!r} occurs twice")
            seen.add(part.name)
            current = index + 1
        cursor.end()
    except json_pieces.BrokenJson as error:
        line, column = json_pieces.line_and_column(data, error.position)
        raise input_files.malformed_error(
            input_files.Place(path, "record", current, f"$[{current}]"),
            f"it is not readable JSON: {error}, near line {line}, column {column}",
        ) from None


def parse_date(text: str) -> int:
    """Convert LongMemEval's "2023/05/30 (Tue) 22:36" to microseconds UTC.

    The day of the week and the time may be missing; ISO 8601 is accepted too.

    Raises:
        InvalidTime: it has another form, or there is no such day or hour.
    """
    found = _DATE.fullmatch(text.strip())
    remedy = 'Write it as "2023/05/30 (Tue) 22:36"'
    if found is None:
        try:
            return parse_time(text, "the date")
        except InvalidTime:
            raise InvalidTime(f"the date {text[:80]!r} does not have LongMemEval's form", remedy) from None
    try:
        moment = datetime(*(int(part or 0) for part in found.groups()), tzinfo=UTC)  # type: ignore[misc,arg-type]
    except ValueError as error:
        raise InvalidTime(f"the date {text[:80]!r} does not exist: {error}", remedy) from None
    return parse_time(moment)


def _conversation(place: input_files.Place, raw: json_pieces.Data, cursor: json_pieces.Cursor) -> Part:
    record = input_files.decode_at(place, _RECORD.decode, raw)
    seen: set[str] = set()
    sessions = cursor
    for key in cursor.members():
        input_files.refuse_repeated(place, key if key in seen else None)
        seen.add(key)
        sessions = cursor.inside() if key == "haystack_sessions" else sessions
        cursor.value()
    name = input_files.with_place(
        place, lambda: checked_text(record.question_id, "question_id", MAX_LABEL_BYTES, empty=False)
    )
    names = _listed(place.at(f"{place.path}.haystack_session_ids"), _IDS, record.haystack_session_ids)
    said = place.at(f"{place.path}.haystack_sessions")
    if sessions.peek() != ord("["):
        input_files.decode_at(said, _LIST.decode, record.haystack_sessions)
    count = 0
    cursor = sessions.inside()
    for _ in cursor.elements():
        cursor.value()
        count += 1
    dates = _listed(place.at(f"{place.path}.haystack_dates"), _DATES, record.haystack_dates)
    if dates is None:
        dates = [None] * len(names)
    if not len(names) == len(dates) == count:
        raise input_files.malformed_error(
            place,
            f"there are {count} sessions, {len(dates)} dates and {len(names)} ids; their numbers must be equal",
        )
    return Part(name, [], _portions(place, name, names, dates, sessions))


T = TypeVar("T")


def _listed(place: input_files.Place, decoder: msgspec.json.Decoder[T], raw: msgspec.Raw) -> T:
    """Decode a list of ids or dates, unless it may be longer than one that is kept in memory."""
    if bytes(raw).count(b",") > MAX_SESSIONS:
        raise input_files.too_large_error(place.file, f"more than {MAX_SESSIONS:,} entries at {place.path}")
    return input_files.decode_at(place, decoder.decode, raw)


def _portions(
    place: input_files.Place, name: str, names: list[str], dates: list[str | None], cursor: json_pieces.Cursor
) -> Iterator[Portion]:
    """Yield the sessions in order, each once; of those that are listed again only that they are the same."""
    contents: dict[str, bytes] = {}
    for position in cursor.elements():
        session, date = names[position], dates[position]
        inside = place.at(f"{place.path}.haystack_sessions[{position}]")
        label = input_files.with_place(inside, partial(checked_text, session, "a session's id", MAX_LABEL_BYTES))
        turns = _Turns(inside, label, cursor.inside())
        cursor.value()
        if session in contents:
            for _ in turns:
                pass
            if contents[session] != turns.digest.digest():
                raise input_files.malformed_error(
                    inside, f"the session {session[:80]!r} occurs twice, with different turns"
                )
            continue
        at = (
            input_files.with_place(place.at(f"{place.path}.haystack_dates[{position}]"), partial(parse_date, date))
            if date
            else None
        )
        yield from portions_of(name, label, at, turns)
        contents[session] = turns.digest.digest()


class _Turns:
    """The turns of a session, one by one; after the last ``digest`` stands for all of them."""

    def __init__(self, session: input_files.Place, label: str, cursor: json_pieces.Cursor) -> None:
        self._session = session
        self._label = label
        self._cursor = cursor
        self.digest = sha256()

    def __iter__(self) -> Iterator[Turn]:
        cursor = self._cursor
        if cursor.peek() != ord("["):
            input_files.decode_at(self._session, _LIST.decode, cursor.value())
        for position in cursor.elements():
            place = self._session.at(f"{self._session.path}[{position}]")
            written = input_files.check_turn_size(place, cursor.value())
            turn = input_files.decode_at(place, _TURN.decode, written)
            input_files.refuse_repeated(place, json_pieces.repeated_key(written))
            self.digest.update(msgspec.msgpack.encode(turn))
            yield _turn(self._session, self._label, position, turn)
            cursor.give_back()


def _turn(session: input_files.Place, label: str, position: int, turn: _Turn) -> Turn:
    place = session.at(f"{session.path}[{position}]")

    def check() -> Turn:
        return Turn(
            text=checked_text(turn.content, "content", MAX_CONTENT_BYTES),
            speaker=checked_text(turn.role.strip(), "role", MAX_LABEL_BYTES),
            session=label,
            source={
                "file": input_files.file_name(place.file),
                "record": place.record,
                "path": place.path,
                "id": f"{label}:{position}",
            },
        )

    return input_files.with_place(place, check)
