"""What every format is read into: conversations of sessions of turns, handed on portion by portion.

Positions count from 0 inside a session and are part of a record's key, so a reader never drops a turn, not
even an empty one: the turns after it would be taken for others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, Protocol

import msgspec

from worlddb import Turn

MAX_LABEL_BYTES: Final = 1024
"""Of the name of a conversation, session or speaker: they are parts of records' keys."""

Heard = Callable[[int], None]
"""Told from time to time how many turns a check has read so far."""


class Reading(msgspec.Struct, frozen=True):
    """How a format is read whose conversation the file's stem names: under another name, and whether fields that are
    not known are kept as provenance or are an error."""

    conversation: str | None = None
    ignore_unknown: bool = False


AS_WRITTEN: Final = Reading()


class Session(msgspec.Struct, frozen=True):
    """Turns that were said together; ``at`` is when, in microseconds UTC, for turns that do not say it."""

    name: str
    at: int | None
    turns: list[Turn]


class Conversation(msgspec.Struct, frozen=True):
    """A whole conversation, its sessions in order; ``speakers`` in the order in which the file names them."""

    format: str
    name: str
    speakers: list[str]
    sessions: list[Session]


class Portion(msgspec.Struct, frozen=True):
    """Consecutive turns of one session, few enough for memory; ``start`` is the position of the first."""

    conversation: str
    session: str
    at: int | None
    start: int
    turns: list[Turn]


class Source(Protocol):
    """A file that was read to its end and found sound; only then can its portions be asked for."""

    @property
    def conversations(self) -> list[str]:
        """The names of its conversations."""
        ...

    @property
    def turns(self) -> int:
        """How many turns its portions hold in all."""
        ...

    def portions(self) -> Iterator[Portion]:
        """Its turns, in the same portions every time."""
        ...


class Loaded(msgspec.Struct, frozen=True):
    """A source that is in memory."""

    loaded: list[Conversation]

    @property
    def conversations(self) -> list[str]:
        return [conversation.name for conversation in self.loaded]

    @property
    def turns(self) -> int:
        return sum(len(session.turns) for each in self.loaded for session in each.sessions)

    def portions(self) -> Iterator[Portion]:
        for conversation in self.loaded:
            for session in conversation.sessions:
                if session.turns:
                    yield Portion(conversation.name, session.name, session.at, 0, session.turns)
