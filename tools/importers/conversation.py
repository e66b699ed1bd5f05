"""Conversations as importers read them: sessions of turns, in portions that fit into memory.

Positions count from 0 inside a session and are part of a record's key. So a reader never drops a turn, not even an
empty one: the turns after it would be taken for others.
"""

import unicodedata
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple, Protocol

import msgspec

from worlddb import Turn
from worlddb.tools.importers import input_files, json_pieces

MAX_LABEL_BYTES: Final = 1024
"""Largest name of a conversation, session or speaker; names are parts of records' keys."""

TurnsRead = Callable[[int], None]
"""Callback for the number of turns that a check has read so far."""


class ReadOptions(msgspec.Struct, frozen=True):
    """Options of formats whose conversation is named by the file's stem.

    ``conversation`` is another name for it; ``ignore_unknown`` keeps unknown fields as provenance instead of refusing
    them; ``strict`` refuses an export of chats for one chat that cannot be read, which is else left out. Of a document
    in a ``folder`` that is imported as a whole, the path in it is the name.
    """

    conversation: str | None = None
    ignore_unknown: bool = False
    folder: Path | None = None
    strict: bool = False


DEFAULT_READING: Final = ReadOptions()


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
    """Consecutive turns of one session, few enough for memory; ``start`` is the first position.

    ``title`` is what the session is called, if not by the name that keys it.
    """

    conversation: str
    session: str
    at: int | None
    start: int
    turns: list[Turn]
    title: str | None = None


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


MAX_PORTION_TURNS: Final = 4096
MAX_PORTION_CHARACTERS: Final = 8 * 1024 * 1024
MAX_SESSIONS: Final = 200_000
"""Conversations of one file, and sessions of one conversation or of a file in lines: their names are kept in memory."""


class Broken(msgspec.Struct, frozen=True):
    """A chat of an export that cannot be read and is left out.

    ``chat`` is its id, or empty if that cannot be read, ``record`` its number in the file, counted from 0, ``path`` the
    place in it that is wrong.
    """

    file: str
    record: int
    path: str
    chat: str
    reason: str


class Part(NamedTuple):
    """A conversation as a reader finds it; ``speakers`` are those that the file names outside of the turns.

    Its portions come in order, with an empty one of each session without turns.
    """

    name: str
    speakers: list[str]
    portions: Iterator[Portion]


def portions_of(
    conversation: str, session: str, at: int | None, turns: Iterable[Turn], title: str | None = None
) -> Iterator[Portion]:
    """Divide a session into portions as large as they may be; a session without turns is an empty one."""
    start, waiting, characters = 0, list[Turn](), 0
    for turn in turns:
        waiting.append(turn)
        characters += len(turn.text)
        if len(waiting) >= MAX_PORTION_TURNS or characters >= MAX_PORTION_CHARACTERS:
            yield Portion(conversation, session, at, start, waiting, title)
            start, waiting, characters = start + len(waiting), [], 0
    if waiting or not start:
        yield Portion(conversation, session, at, start, waiting, title)


class RereadableSource(msgspec.Struct, frozen=True):
    """A source that is read again for its turns: never are all of them held at once, and of its bytes those to come.

    ``parts`` reads conversations from the decompressed bytes, of which there are ``size``; ``digest`` is their SHA-256.
    """

    format: str
    path: Path
    parts: Callable[[Path, json_pieces.Data], Iterator[Part]]
    conversations: list[str]
    turns: int
    size: int
    digest: bytes
    left_out: dict[str, int] = {}
    """Counts of skipped messages, by reason."""
    chats: int = 0
    """The chats that are read, of an export of chats."""
    broken: tuple[Broken, ...] = ()
    """Those that are not."""

    def portions(self) -> Iterator[Portion]:
        for part in self._read_again():
            yield from (portion for portion in part.portions if portion.turns)

    @property
    def load_all(self) -> list[Conversation]:
        """Return everything at once, for small sources."""
        return [_collect_names(self.format, part) for part in self._read_again()]

    def _read_again(self) -> Iterator[Part]:
        yield from self.parts(self.path, input_files.read_again(self.path, self.size, self.digest))


def check_storable(place: input_files.Place, turn: Turn, conversation: str, session: str) -> None:
    """Check that a turn and its names can be stored: names on one line, and no text with a NUL.

    Raises:
        MalformedFile: a text cannot; the field is named.
    """
    named = (
        ("speaker", turn.speaker),
        ("name", turn.name),
        ("session", session),
        ("conversation", conversation),
    )
    for key, name in (each for each in named if not each[1].isprintable()):
        sign = next((sign for sign in name if unicodedata.category(sign) in _CONTROLS), "")
        if sign:
            raise input_files.malformed_error(
                place,
                f"its {key} {name[:80]!r} has a line end or another control character, U+{ord(sign):04X}",
                "Give it on one line, and import the file again; nothing was written from it",
            )
    if "\0" in turn.text or _has_nul(turn.source):
        what = "text" if "\0" in turn.text else "source"
        raise input_files.malformed_error(
            place, f"its {what} has a NUL", "Remove it, and import the file again; nothing was written from it"
        )


_CONTROLS: Final = ("Cc", "Zl", "Zp")


def _has_nul(value: object) -> bool:
    if isinstance(value, dict):
        return any(_has_nul(each) for each in (*value, *value.values()))
    return any(map(_has_nul, value)) if isinstance(value, list) else isinstance(value, str) and "\0" in value


def reread(
    format: str,
    path: Path,
    parts: Callable[[Path, json_pieces.Data], Iterator[Part]],
    turns_read: TurnsRead | None,
    check: Callable[[Path, bytearray], None] | None = None,
) -> RereadableSource:
    """Read a file to its end and keep none of its turns; raises what ``check`` and ``parts`` raise."""
    data = input_files.read_whole(path)
    if check is not None:
        check(path, data)
    names: list[str] = []
    turns = 0
    for part in parts(path, data):
        if len(names) >= MAX_SESSIONS:
            raise input_files.too_large_error(path, f"more than {MAX_SESSIONS:,} conversations")
        names.append(part.name)
        for portion in part.portions:
            turns += len(portion.turns)
            for turn in portion.turns:
                place = input_files.Place(path, record=turn.source.get("record"), path=turn.source.get("path", "$"))
                check_storable(place, turn, part.name, portion.title or portion.session)
        if turns_read is not None:
            turns_read(turns)
    return RereadableSource(format, path, parts, names, turns, len(data), sha256(data).digest())


def _collect_names(format: str, part: Part) -> Conversation:
    speakers = dict.fromkeys(part.speakers)
    sessions: dict[str, Session] = {}
    for portion in part.portions:
        session = sessions.setdefault(portion.session, Session(portion.session, portion.at, []))
        session.turns.extend(portion.turns)
        speakers |= dict.fromkeys(turn.speaker for turn in portion.turns)
    return Conversation(format, part.name, [name for name in speakers if name], list(sessions.values()))
