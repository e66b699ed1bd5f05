"""Conversations as importers read them: sessions of turns, handed on in portions.

Positions count from 0 inside a session and are part of a record's key. So a reader never drops a turn, not even an
empty one: the turns after it would be taken for others.
"""

from collections.abc import Callable, Iterator
from typing import Final, Protocol

import msgspec

from worlddb import Turn

MAX_LABEL_BYTES: Final = 1024
"""Largest name of a conversation, session or speaker; names are parts of records' keys."""

TurnsRead = Callable[[int], None]
"""Callback for the number of turns that a check has read so far."""


class Reading(msgspec.Struct, frozen=True):
    """Options of formats whose conversation is named by the file's stem.

    ``conversation`` is another name for it; ``ignore_unknown`` keeps unknown fields as provenance instead of refusing
    them.
    """

    conversation: str | None = None
    ignore_unknown: bool = False


DEFAULT_READING: Final = Reading()


class Session(msgspec.Struct, frozen=True):
    """Turns said together; ``at`` (microseconds UTC) dates turns without a time of their own."""

    name: str
    at: int | None
    turns: list[Turn]


class Conversation(msgspec.Struct, frozen=True):
    """A whole conversation; sessions in order, ``speakers`` in the order of the file."""

    format: str
    name: str
    speakers: list[str]
    sessions: list[Session]


class Portion(msgspec.Struct, frozen=True):
    """Consecutive turns of one session, few enough for memory; ``start`` is the first position."""

    conversation: str
    session: str
    at: int | None
    start: int
    turns: list[Turn]


class Source(Protocol):
    """A file that was checked to its end; only then can its portions be read."""

    @property
    def conversations(self) -> list[str]:
        """The names of its conversations."""
        ...

    @property
    def turns(self) -> int:
        """The number of turns in all its portions."""
        ...

    def portions(self) -> Iterator[Portion]:
        """Yield its turns, in the same portions every time."""
        ...


class Loaded(msgspec.Struct, frozen=True):
    """A source held in memory."""

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
