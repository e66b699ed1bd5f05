"""LongMemEval's questions with their haystacks and gold evidence."""

from __future__ import annotations

import codecs
import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from worlddb.tools.importers import input_files
from worlddb.tools.importers.input_files import Place, decode_at, malformed_error, with_place
from worlddb.tools.importers.longmemeval import parse_date

ABSTAINING: Final = "_abs"
"""What the ids of questions hold that cannot be answered from their haystack; the authors leave them out of the means
that they print."""


class Turn(msgspec.Struct, frozen=True):
    """A turn as in the file."""

    role: str
    content: str
    has_answer: bool | None = None


class _RawRecord(msgspec.Struct, frozen=True):
    """A record as in the file; dates, type and answer may be missing."""

    question_id: str
    question: str
    haystack_session_ids: list[str]
    haystack_sessions: list[list[Turn]]
    answer_session_ids: list[str]
    haystack_dates: list[str | None] | None = None
    question_type: str | None = None
    question_date: str | None = None
    answer: Any = None


class Session(NamedTuple):
    """A session of a haystack; ``at`` is when it was, in microseconds UTC, if the file says so."""

    name: str
    at: int | None
    turns: Sequence[Turn]


class Record(NamedTuple):
    """A question and its haystack. ``asked`` is when it is asked, in microseconds UTC: when the last session was, if
    the file has no date for it; ``question_date`` is what the file says. ``answer`` is empty if the file has none."""

    question_id: str
    question_type: str
    question: str
    question_date: str
    asked: int | None
    answer: str
    answer_session_ids: frozenset[str]
    sessions: Sequence[Session]


class Question(NamedTuple):
    """A question with its gold sessions (by :func:`session_name`) and gold turns; both are empty without evidence."""

    record: Record
    sessions: frozenset[str]
    turns: frozenset[str]


_RECORDS: Final = msgspec.json.Decoder(list[_RawRecord])
_RECORD: Final = msgspec.json.Decoder(_RawRecord)


def load(path: Path) -> list[Record]:
    """The records of a file: a JSON list of them, one of them, or one a line.

    Raises:
        MalformedFile: the file breaks the format, or holds no record; record and path are named.
    """
    place = Place(path)
    written = decode_at(place, _decoded, bytes(input_files.read_whole(path)))
    if not written:
        raise malformed_error(place, "it has no question", "Give a file of LongMemEval")
    return [_record(Place(path, "record", index, f"$[{index}]"), each) for index, each in enumerate(written)]


def question(record: Record) -> Question:
    """What counts as found: the answer sessions that the haystack has, and of their turns those that are marked
    has_answer, or all of them if none is."""
    gold = [session for session in record.sessions if session.name in record.answer_session_ids]
    marked = {turn_id(session.name, at) for session in gold for at, turn in enumerate(session.turns) if turn.has_answer}
    every = {turn_id(session.name, at) for session in gold for at, _ in enumerate(session.turns)}
    turns = frozenset(marked or every)
    return Question(record, frozenset(session_name(session.name) for session in gold) if turns else frozenset(), turns)


def turn_id(session: str, position: int) -> str:
    """The id of a turn: its session and its position there, from 0."""
    return f"{session}:{position}"


def session_name(session: str) -> str:
    """The name of a session in the store: those of the file say which of them have the answer."""
    return hashlib.sha256(session.encode()).hexdigest()[:16]


def half(question_id: str) -> int:
    """The half of the questions that a question belongs to; recall was designed on half 0."""
    return int(hashlib.sha256(question_id.encode()).hexdigest(), 16) % 2


def texts(records: Sequence[Record]) -> dict[str, str]:
    """The texts of all turns of the haystacks, by turn id."""
    return {
        turn_id(session.name, at): turn.content
        for record in records
        for session in record.sessions
        for at, turn in enumerate(session.turns)
    }


def _decoded(data: bytes) -> list[_RawRecord]:
    text = data.removeprefix(codecs.BOM_UTF8).strip()
    if not text.startswith(b"{"):
        return _RECORDS.decode(text)
    try:
        return [_RECORD.decode(text)]
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        return list(_RECORD.decode_lines(text))


def _record(place: Place, written: _RawRecord) -> Record:
    names, said = written.haystack_session_ids, written.haystack_sessions
    dates = [None] * len(said) if written.haystack_dates is None else written.haystack_dates
    if not len(names) == len(dates) == len(said):
        raise malformed_error(
            place,
            f"there are {len(said)} sessions, {len(dates)} dates and {len(names)} ids; their numbers must be equal",
        )
    sessions = list(_sessions(place, names, dates, said))
    last = max((session.at for session in sessions if session.at is not None), default=None)
    inside = place.at(f"{place.path}.question_date")
    given = written.question_date
    answer = written.answer
    return Record(
        written.question_id,
        written.question_type or "unknown",
        written.question,
        given or "",
        with_place(inside, lambda: parse_date(given)) if given else last,
        "; ".join(map(str, answer)) if isinstance(answer, list) else "" if answer is None else str(answer),
        frozenset(written.answer_session_ids),
        sessions,
    )


def _sessions(
    place: Place, names: Sequence[str], dates: Sequence[str | None], said: Sequence[Sequence[Turn]]
) -> Iterator[Session]:
    """The sessions, each once; another one with the id of an earlier one is an error, as it would be taken for it."""
    held: dict[str, Sequence[Turn]] = {}
    for position, (name, date, turns) in enumerate(zip(names, dates, said, strict=True)):
        if name in held:
            if [(turn.role, turn.content) for turn in held[name]] != [(turn.role, turn.content) for turn in turns]:
                inside = place.at(f"{place.path}.haystack_sessions[{position}]")
                raise malformed_error(inside, f"the session {name[:80]!r} occurs twice, with different turns")
            continue
        held[name] = turns
        inside = place.at(f"{place.path}.haystack_dates[{position}]")
        at = with_place(inside, lambda text=date: parse_date(text)) if date else None  # type: ignore[misc]
        yield Session(name, at, turns)
