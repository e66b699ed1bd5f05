"""LongMemEval (Wu et al. 2025): a JSON list of questions with haystacks of sessions.

A record has ``question_id``, ``haystack_session_ids``, ``haystack_sessions`` (for each session its turns: ``role``,
``content``) and mostly, as long, ``haystack_dates`` such as "2023/05/30 (Tue) 22:36". A question's haystack is one
conversation. The data names no time zone: times are taken as UTC; a session without a date has none. Some haystacks
list a session twice; it is read once. The question, its answer and the marks on evidence turns were not said, so they
are not read.
"""

import re
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from worlddb import MAX_CONTENT_BYTES, InvalidTime, Turn, checked_text, parse_time
from worlddb.tools.importers import input_files
from worlddb.tools.importers.conversation import MAX_LABEL_BYTES, Conversation, Loaded, Session, TurnsRead

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
    haystack_session_ids: list[str]
    haystack_sessions: list[list[_Turn]]
    haystack_dates: list[str | None] | None = None


_RECORDS: Final = msgspec.json.Decoder(list[_Record])


def recognises(head: bytes) -> bool:
    """Return whether a file that begins so is LongMemEval's."""
    return head[:1] == b"[" and _MARK.search(head) is not None


def load(path: Path, turns_read: TurnsRead | None = None) -> Loaded:
    """Read every haystack of the file as a conversation.

    Raises:
        MalformedFile: the file breaks the format; record and path are named.
    """
    place = input_files.Place(path, "record", None, "$")
    loaded: dict[str, Conversation] = {}
    turns = 0
    for index, record in enumerate(input_files.decoded(place, _RECORDS.decode, input_files.whole(path))):
        inside = input_files.Place(path, "record", index, f"$[{index}]")
        conversation = _conversation(inside, record)
        if conversation.name in loaded:
            raise input_files.malformed(inside, f"the question {conversation.name[:80]!r} is there twice")
        loaded[conversation.name] = conversation
        turns += sum(len(session.turns) for session in conversation.sessions)
        if turns_read is not None:
            turns_read(turns)
    return Loaded(list(loaded.values()))


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
            raise InvalidTime(f"the date {text[:80]!r} is not of LongMemEval's form", remedy) from None
    try:
        moment = datetime(*(int(part or 0) for part in found.groups()), tzinfo=UTC)  # type: ignore[misc,arg-type]
    except ValueError as error:
        raise InvalidTime(f"the date {text[:80]!r} does not exist: {error}", remedy) from None
    return parse_time(moment)


def _conversation(place: input_files.Place, record: _Record) -> Conversation:
    name = input_files.with_place(
        place, lambda: checked_text(record.question_id, "question_id", MAX_LABEL_BYTES, empty=False)
    )
    names, said = record.haystack_session_ids, record.haystack_sessions
    dates = [None] * len(said) if record.haystack_dates is None else record.haystack_dates
    if not len(names) == len(dates) == len(said):
        raise input_files.malformed(
            place,
            f"there are {len(said)} sessions, {len(dates)} dates and {len(names)} ids; their numbers must be equal",
        )
    sessions: dict[str, Session] = {}
    contents: dict[str, list[_Turn]] = {}
    for position, (session, date, turns) in enumerate(zip(names, dates, said, strict=True)):
        inside = place.at(f"{place.path}.haystack_sessions[{position}]")
        if session in sessions:
            if contents[session] != turns:
                raise input_files.malformed(inside, f"the session {session[:80]!r} is there twice, with other turns")
            continue
        contents[session] = turns
        label = input_files.with_place(inside, partial(checked_text, session, "a session's id", MAX_LABEL_BYTES))
        at = (
            input_files.with_place(place.at(f"{place.path}.haystack_dates[{position}]"), partial(parse_date, date))
            if date
            else None
        )
        sessions[session] = Session(label, at, [_turn(inside, label, each, turn) for each, turn in enumerate(turns)])
    speakers = dict.fromkeys(turn.speaker for each in sessions.values() for turn in each.turns if turn.speaker)
    return Conversation(NAME, name, list(speakers), list(sessions.values()))


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
