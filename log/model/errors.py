"""All errors of WorldDB, grouped by what the caller should do.

    WorldDBError
    ├── InputError                 a given value is wrong: correct it and call again
    │   ├── InvalidTime            naive, unparsable or out-of-range time
    │   ├── InvalidInterval        an interval that ends before it begins
    │   ├── InvalidText            text that is not valid UTF-8, or empty where that is not allowed
    │   ├── InvalidKref            a kref that breaks its form; the place in it is named
    │   ├── InvalidSparql          a query with a syntax error or a disabled feature; the place is named
    │   ├── LimitExceeded          a name, content or batch above the stated limit
    │   │   └── QueryLimit         a query, or the parsing of RDF, reached its limit
    │   ├── UnknownReference       nothing in the store, or in the view, has that reference
    │   ├── AmbiguousReference     a prefix that several references share; the candidates are listed
    │   ├── MembersNotSaid         an erasure of a world with members does not say whether they go too
    │   ├── UnknownEdgeType        no handler is registered for that edge type
    │   ├── HandlerFailed          the handler of an edge type raised an error, or broke its protocol
    │   ├── MalformedFile          a file (import, checkpoint, proof) that breaks its format; the place is named
    │   └── InvalidBundle          an invalid bundle: cut short, changed, forged, or another kind of file
    │       └── UnprovedBundle     a valid bundle without a proof that ties it to the given head
    ├── PlanLimit                  the key, or the plan of its account, does not allow the request
    ├── RefusedError               the result of a refused write was used
    ├── IdempotencyConflict        another command was committed under the idempotency key
    ├── StoreError                 the store itself is the problem
    │   ├── NotAStore              the directory is not a WorldDB store
    │   ├── PlaceTaken             the place for a new store holds a store or something else
    │   ├── DamagedStore           bytes on disk are not what was written
    │   ├── NewerFormat            written by a newer WorldDB: upgrade to open or to write
    │   ├── OlderTables            tables of an older WorldDB: `worlddb upgrade` derives them again
    │   ├── ReadOnlyBackup         a write to a backup: restore it first
    │   ├── HypotheticalStore      a hypothetical store was written to, or used as the real one
    │   ├── BackupMismatch         the backup belongs to another store, or has diverged
    │   │   └── NotABackup         the directory holds a store that is no backup
    │   └── Conflict               the log's head is not the expected one
    └── UnavailableError           the call is correct: try again, or elsewhere
        ├── DiskFull               no room is left where the store lies, or a file is written
        ├── WriterBusy             another writer held the store for longer than the time limit
        ├── ForkedProcess          a handle opened before a fork was used after it
        ├── StoreClosed            the handle was closed
        ├── ClockJump              the clock is implausibly far ahead of the last commit
        └── ModelUnavailable       the embedding model is missing or failed: recall goes on without its lane

Every class has a stable ``code`` (scripts may match it) and an ``exit_code`` for the command line:
1 the answer is no, 2 usage, 3 refused, 4 damaged, 5 busy or unavailable. It has one of its own beside: 6, done, but the
answer could not be printed.
"""

import functools
import re
import unicodedata
from collections.abc import Sequence
from typing import Any, ClassVar, Final


class WorldDBError(Exception):
    """Base of all errors. ``message`` says what is wrong and where, ``remedy`` what to do next.

    No message repeats what looks like a credential: see :func:`concealed`.
    """

    code: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 2

    def __init__(self, message: str, remedy: str = "", **details: Any) -> None:
        self.message = concealed(message)
        self.remedy = concealed(remedy)
        self.details: dict[str, Any] = {
            name: concealed(each) if isinstance(each, str) else each for name, each in details.items()
        }
        super().__init__(self.message, self.remedy)

    def __str__(self) -> str:
        return f"{self.message}. {self.remedy}" if self.remedy else self.message


class InputError(WorldDBError):
    """The value given is wrong; nothing was written."""

    code = "input"


class InvalidTime(InputError):
    """A time is naive, cannot be parsed, or lies outside the years 1 to 9999."""

    code = "invalid_time"


class InvalidInterval(InputError):
    """An interval ends before it begins."""

    code = "invalid_interval"


class InvalidText(InputError):
    """Text that cannot be stored: not encodable as UTF-8, or empty where something is needed."""

    code = "invalid_text"


class InvalidKref(InputError):
    """A kref breaks its form. ``details`` has its beginning as ``kref``, and the place in it as ``at``."""

    code = "invalid_kref"


class LimitExceeded(InputError):
    """A value is larger than the limit stated in :mod:`worlddb.log.model.limits`."""

    code = "limit_exceeded"


class InvalidSparql(InputError):
    """A query or an update breaks SPARQL 1.1, or uses a disabled feature.

    ``details`` has ``line`` and ``column``, from 1, where they are known.
    """

    code = "invalid_sparql"


class QueryLimit(LimitExceeded):
    """A query, or the parsing of an RDF text, was ended at a limit.

    ``details`` has it as ``limit``: time, memory, rows, bytes or depth.
    """

    code = "query_limit"


class UnknownReference(InputError):
    """Nothing in the store, or nothing that the view may see, has the reference."""

    code = "unknown_reference"
    exit_code = 1


class AmbiguousReference(InputError):
    """A prefix matches several references; ``details["candidates"]`` lists them."""

    code = "ambiguous_reference"


class MembersNotSaid(InputError):
    """An erasure of a world with members does not say whether they go too.

    ``details["members"]`` counts the worlds inside that nothing else contains.
    """

    code = "members_not_said"


class UnknownEdgeType(InputError):
    """No handler is registered for the edge type; there is no other way to write an edge."""

    code = "unknown_edge_type"


class HandlerFailed(InputError):
    """A registered edge type's handler raised or broke its protocol; the message names the type."""

    code = "handler_failed"


class MalformedFile(InputError):
    """A file to import, a checkpoint or a proof breaks its format.

    ``details`` holds the file and the place in it.
    """

    code = "malformed_file"


class InvalidBundle(InputError):
    """An invalid bundle.

    ``details`` has ``file``, and ``frame`` if one is at fault (1 is the first).
    """

    code = "invalid_bundle"


class UnprovedBundle(InvalidBundle):
    """A valid bundle that no proof ties to a head.

    It has no proof of its world hash against the head, or one that fails.
    """

    code = "unproved_bundle"
    exit_code = 1


class PlanLimit(WorldDBError):
    """A key, or the plan of its account, does not allow the request; nothing was done.

    ``details["kind"]`` is ``rate`` (wait ``details["retry_after"]`` seconds), ``quota``, ``feature`` or ``right``, and
    ``details["limit"]`` names the limit.
    """

    code = "plan_limit"
    exit_code = 3


class RefusedError(WorldDBError):
    """A refused outcome was used as if it had been committed; ``details["reason"]`` is its code."""

    code = "refused"
    exit_code = 3


class IdempotencyConflict(WorldDBError):
    """A different command was already committed under the same idempotency key."""

    code = "idempotency_conflict"
    exit_code = 3


class StoreError(WorldDBError):
    """The store itself is the problem."""

    code = "store"
    exit_code = 4


class NotAStore(StoreError):
    """The path holds something else, or nothing where a store must exist."""

    code = "not_a_store"
    exit_code = 2


class PlaceTaken(StoreError):
    """The place for a new store holds a store or something else, which stays as it is."""

    code = "place_taken"
    exit_code = 2


class DamagedStore(StoreError):
    """Stored bytes are not what was written.

    ``details["seq"]`` names the first bad commit if known.
    """

    code = "damaged_store"


class NewerFormat(StoreError):
    """The store, or an event in it, was written by a newer WorldDB."""

    code = "newer_format"


class OlderTables(StoreError):
    """The store's tables have the layout of an older WorldDB.

    ``worlddb upgrade`` derives them again.
    """

    code = "older_tables"


class ReadOnlyBackup(StoreError):
    """A write to a backup, or to an interrupted restore; both can only be read."""

    code = "read_only_backup"
    exit_code = 3


class HypotheticalStore(StoreError):
    """A hypothetical store was written to, or used as the real one.

    ``details["since"]`` is the first hypothetical commit.
    """

    code = "hypothetical_store"
    exit_code = 3


class BackupMismatch(StoreError):
    """A directory is not a backup of this store.

    ``details["since"]`` is the first commit that differs, or 0.
    """

    code = "backup_mismatch"
    exit_code = 3


class NotABackup(BackupMismatch):
    """A directory holds a store that is no backup, where one is read or brought up to date; it stays as it is."""

    code = "not_a_backup"
    exit_code = 2


class Conflict(StoreError):
    """The log's head is not the expected one; decide again on the new head."""

    code = "conflict"
    exit_code = 5


class UnavailableError(WorldDBError):
    """The call is correct, but cannot be served now or from here."""

    code = "unavailable"
    exit_code = 5


class DiskFull(UnavailableError):
    """No room is left on the disk; what was committed stays."""

    code = "disk_full"


class WriterBusy(UnavailableError):
    """Another writer held the store for longer than the time limit; the message names it."""

    code = "writer_busy"


class ForkedProcess(UnavailableError):
    """A handle that was opened before a fork was used in the child process."""

    code = "forked_process"


class StoreClosed(UnavailableError):
    """The handle was closed."""

    code = "store_closed"


class ClockJump(UnavailableError):
    """The clock is further ahead of the last commit than the configured bound."""

    code = "clock_jump"


class ModelUnavailable(UnavailableError):
    """The embedding model is not installed, cannot be read, or failed."""

    code = "model_unavailable"


_CONCEALED: Final = "[credential]"
_TOKENS: Final = (
    r"A(?:KIA|SIA|BIA|CCA)[A-Z2-7]{4,}",
    r"AIza[\w-]{8,}",
    r"(?:ya29\.|GOCSPX-|pypi-AgE)[\w.-]{6,}",
    r"(?:gh[pousr]|github_pat|hf|npm)_[A-Za-z0-9_]{8,}",
    r"gl(?:pat|dt|rt)-[\w.-]{6,}",
    r"(?:xox[abeoprs](?:\.xox[bp])?-|xapp-\d-)[\w.-]{6,}",
    r"sk-(?:(?:ant|proj|svcacct|admin|or-v1)-[\w-]{4,}|[A-Za-z0-9]{16,})",
    r"[sr]k_live_\w{6,}",
    r"SG\.[\w-]{10,}[\w.-]*",
    r"eyJ[\w-]{8,}[\w.-]*",
    r"[MNO][DTjz][A-Za-z0-9]{20,26}(?:\.[\w.-]*)?",
    r"\d{8,}:AA[\w-]{6,}",
)
_BEHIND: Final = (
    r"PRIVATE KEY(?: BLOCK)?-----[^-]{8,}",
    r"(?<=[bB]earer )\s{0,3}[\w~+/.-]{12,}=*",
    r"(?<=BEARER )\s{0,3}[\w~+/.-]{12,}=*",
    r"://[\w.%+-]{1,64}:(?!\d{1,5}(?:\D|$))[^\s/:]{4,}",
    r"(?i:secret_?access_?key|account_?key|accesskey)[\"']?\s{0,3}[=:]\s{0,3}[\"']?[A-Za-z0-9/+]{8,}=*",
    r"(?<=\d)Q~[\w~.-]{8,}",
    r"hooks\.slack\.com/services/[\w/]{6,}",
    r"/api/webhooks/\d{8,}/[\w-]{6,}",
)


@functools.cache
def _secrets() -> re.Pattern[str]:
    tokens = "|".join(_TOKENS)
    return re.compile(rf"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))(?:{tokens})|{'|'.join(_BEHIND)}")


@functools.cache
def _token() -> re.Pattern[str]:
    return re.compile("|".join(_TOKENS))


@functools.cache
def _line_end() -> re.Pattern[str]:
    """A line end between signs of a token, also as Python and JSON write it, with what indents the next line."""
    return re.compile(r"(?<=[\w.~+/-])(?:\\?[\r\n]|\\+[rn])(?:[\r\n \t]|\\+[rnt])*(?=[\w.~+/=-])")


_HIDDEN: Final = (
    r"[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    r"\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
"""Invisible characters: of no width, soft hyphens, fillers, marks of direction."""
_DISGUISED: Final = r"[\u2010\u2011\u2212\u24b6-\u24e9\ufe63\uff01-\uff5e\U0001d400-\U0001d7ff]"
"""Lookalikes of ASCII characters: full width, circled, mathematical, typographic hyphens."""
_ESCAPED: Final = (
    r"\\xad|\\u(?:00ad|034f|061c|115f|1160|17b[45]|180[b-f]|20(?:0[b-f]|2[a-e]|6[0-9a-f])|fe0[0-9a-f]|feff)"
)
"""The same as Python and JSON write it."""


@functools.cache
def _unseen(*, escaped: bool) -> re.Pattern[str]:
    return re.compile(f"{_HIDDEN}|{_DISGUISED}" + (f"|{_ESCAPED}" if escaped else ""))


def unhidden(text: str, *, escaped: bool = False) -> tuple[str, Sequence[int]]:
    """Return a text in visible ASCII letters, and the original position of each character.

    ``escaped`` also removes escapes of invisible characters, as in ``'a\\u200bb'``.
    """
    if text.isascii() and not (escaped and "\\" in text):
        return text, range(len(text))
    pieces, places, at = [], list[int](), 0
    for found in _unseen(escaped=escaped).finditer(text):
        pieces.append(text[at : found.start()])
        places += range(at, found.start())
        at = found.end()
        if re.match(_DISGUISED, found[0]):
            plain = "-" if found[0] in "\u2010\u2011\u2212" else unicodedata.normalize("NFKC", found[0])
            pieces.append(plain)
            places += [found.start()] * len(plain)
    if not at:
        return text, range(len(text))
    return "".join((*pieces, text[at:])), [*places, *range(at, len(text))]


def concealed(text: str) -> str:
    """Replace all that looks like a credential, or a part of one, in a text by ``[credential]``.

    Messages show the beginning of given values, so a credential may be cut off there. The patterns are
    therefore looser than those of :func:`.find_credentials`: a word too many is hidden rather than a secret shown.
    """
    if len(text) < _SHORTEST:
        return text
    text = _secrets().sub(_CONCEALED, _concealed_across_lines(text))
    plain, places = unhidden(text, escaped=True)
    if len(plain) == len(text) and plain == text:
        return text
    pieces, at = [], 0
    for found in _secrets().finditer(plain):
        pieces += [text[at : places[found.start()]], _CONCEALED]
        at = places[found.end() - 1] + 1
    return "".join((*pieces, text[at:]))


def _concealed_across_lines(text: str) -> str:
    """Replace credentials that continue after a line end, whose second half would otherwise be shown."""
    if not any(sign in text for sign in "\n\r\\"):
        return text
    plain, places = unhidden(text, escaped=True)
    kept, at = list[int](), 0
    for end in _line_end().finditer(plain):
        kept += range(at, end.start())
        at = end.end()
    if not at:
        return text
    kept += range(at, len(plain))
    joined, pieces, done, start = "".join(plain[place] for place in kept), list[str](), 0, 0
    while (found := _first_credential(joined, kept, plain, start)) is not None:
        begin, start = found
        pieces += [text[done : places[kept[begin]]], _CONCEALED]
        done = places[kept[start - 1]] + 1
    return "".join((*pieces, text[done:]))


def _first_credential(joined: str, kept: Sequence[int], plain: str, start: int) -> tuple[int, int] | None:
    """Find the next credential in a text without line ends; a line may begin with one."""
    behind = next(iter(_secrets().finditer(joined, start)), None)
    at = start
    while (token := _token().search(joined, at)) is not None and (behind is None or token.start() < behind.start()):
        before = kept[token.start()] - 1
        is_new_line = token.start() > 0 and kept[token.start() - 1] != before
        if is_new_line or before < 0 or not (plain[before].isascii() and plain[before].isalnum()):
            return token.span()
        at = token.start() + 1
    return None if behind is None else behind.span()


_SHORTEST: Final = 8


_BEGINNING: Final = 60
"""The characters of a text that a note shows beside its reference."""


def beginning(text: str) -> str:
    """The beginning of a text on one line and in quotes, which a note shows beside a reference."""
    line = concealed(" ".join(text[:400].split()))
    return repr(clipped(line, _BEGINNING))


def clipped(text: str, most: int) -> str:
    """A text, or as much of its beginning as fits into ``most`` characters with "…" behind it."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def shown(value: object) -> str:
    """The beginning of a given value for a message, even if it cannot be printed."""
    try:
        given = concealed(value[:400]) if type(value) is str else value
        return concealed(f"{given!r:.400}")[:80]
    except Exception:  # Of a caller's own class, or nested deeper than Python prints.
        return f"What was given (a {type(value).__name__})"
