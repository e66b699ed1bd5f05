"""Receipts, and the record of commands: what a commit keeps of its request.

A receipt is made from the commit, so that a retry gets the same one (law 10). Commands are recorded beside their events
without any text of the caller: texts lie in erasable blobs, keys are hashed. The record tells a retry from another
request, and serves to summarise a commit.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import compress
from operator import attrgetter
from typing import Any, Final, NamedTuple

import msgspec
from msgspec.structs import fields

from worlddb.log.model import blobs, codec, errors, hashing, ids, limits
from worlddb.log.model.codec import Note as StoredNote
from worlddb.log.model.events import NONE, AnyEvent, Closed, Created, EdgeClosed, EdgeLost, Linked, Lost, Revised
from worlddb.log.model.times import FOREVER
from worlddb.log.store.log import LmdbLog
from worlddb.projections.tables.apply.apply import erasure_of
from worlddb.projections.tables.storage.rows import Tables
from worlddb.reconciler.commands import commands as cmd
from worlddb.reconciler.commands.outcome import (
    NAMING,
    Committed,
    Loss,
    Note,
    Outcome,
    Receipt,
    Refusal,
    Refused,
    Staged,
)
from worlddb.reconciler.transaction import recorded_texts
from worlddb.reconciler.transaction.draft import DETAIL_FIELDS, Draft

_BODY_FIELDS = ("type", "name", "content")
_EMBEDDING_FIELDS = frozenset({"space", "model", "mean", "items"})
"""They have blobs of their own, and what is made of a text must go with it."""


def _texts(kind: type[cmd.Command]) -> tuple[str, ...]:
    """The fields that hold caller text.

    The type of an edge, or of a setting, is vocabulary, not text.
    """
    body = (
        () if kind in (cmd.Link, cmd.LinkVersions, cmd.Register, cmd.Unregister, cmd.Tune, cmd.Untune) else _BODY_FIELDS
    )
    apart = DETAIL_FIELDS | _EMBEDDING_FIELDS
    return tuple(name for name in kind.__struct_fields__ if name in body or name in apart)


_BESIDE: Final = "evidence"
"""The field with the models' evidence about a new world, whose results are in the proposals."""
_JUDGED: Final = "judged"
"""The field that is true if models gave evidence. Without evidence it is not recorded, as in earlier releases."""

_TEXTS = {kind: _texts(kind) for kind in cmd.ALL}
_UNKEPT: Final = frozenset({_BESIDE, "literal"})
"""Fields that are recorded nowhere: an erasure must not record the text that it erases."""
REST_FIELDS: Final = {
    kind: tuple(name for name in kind.__struct_fields__ if name not in _TEXTS[kind] and name not in _UNKEPT)
    for kind in cmd.ALL
}
"""The fields that are recorded as they are, in the order in which they are."""
_ALWAYS = {kind: tuple(name for name in REST_FIELDS[kind] if name != _JUDGED) for kind in cmd.ALL}
"""Those of them that every command of the kind is recorded with."""


def _getter(names: Sequence[str]) -> Callable[[cmd.Command], tuple[Any, ...]]:
    """Reads several fields at once."""
    return attrgetter(*names) if len(names) > 1 else lambda command: tuple(getattr(command, name) for name in names)


_DEFAULTS = {
    kind: [field.default for name in _ALWAYS[kind] for field in fields(kind) if field.name == name] for kind in cmd.ALL
}
"""Of every one of these fields."""
_GET_TEXTS = {kind: _getter(_TEXTS[kind]) for kind in cmd.ALL}
_GET_REST = {kind: _getter(_ALWAYS[kind]) for kind in cmd.ALL}
_KEY_AT = {kind: REST_FIELDS[kind].index("key") for kind in cmd.ALL if "key" in REST_FIELDS[kind]}
_MAY_GIVE_EMPTY = (cmd.Revise, cmd.Reassert)


def given(command: cmd.Command) -> list[str]:
    """The names of the texts that the caller gave.

    Revise and Reassert may give an empty one on purpose.
    """
    kind = type(command)
    texts = _GET_TEXTS[kind](command)
    if kind not in _MAY_GIVE_EMPTY:
        return list(compress(_TEXTS[kind], texts))
    named = zip(_TEXTS[kind], texts, strict=True)
    return [name for name, text in named if (text is not None if name in _BODY_FIELDS else text)]


def record(command: cmd.Command, names: list[str], body: int, details: int, secret: bytes) -> list[Any]:
    """The record of a command beside its events, without any text of the caller.

    Its texts are replaced by the blob positions of body and details (-1: nothing was stored), its key by a keyed hash.

    ``[code, body, details, names of the texts that were given, then the other fields in order]``, where the names are
    what :func:`given` says.
    """
    judged = [True] if type(command) is cmd.Create and command.judged else []
    return [command.CODE, body, details, names, *_recorded_rest(command, secret), *judged]


def record_plain(command: cmd.Create | cmd.Link, names: list[str], body: int, details: int) -> tuple[Any, ...]:
    """The record of a command without a key; see :func:`record`."""
    kind = type(command)
    return (kind.CODE, body, details, names) + _GET_REST[kind](command)  # noqa: RUF005  Quicker than to unpack it.


def _other_fields(recorded: Sequence[Any], command: cmd.Command, secret: bytes) -> list[str]:
    """The fields in which a command differs from a recorded one of its kind, but for the texts that both have.

    The models' evidence is not compared. Fields that are newer than the record must have their defaults.
    """
    kind = type(command)
    texts, *rest = msgspec.msgpack.decode(msgspec.msgpack.encode([given(command), *_recorded_rest(command, secret)]))
    known = list(recorded[4 : 4 + len(_ALWAYS[kind])])
    known += _DEFAULTS[kind][len(known) :]
    pairs = zip(_ALWAYS[kind], known, rest, strict=True)
    return [*sorted({*texts} ^ {*recorded[3]}), *(name for name, one, other in pairs if one != other)]


def _recorded_rest(command: cmd.Command, secret: bytes) -> list[Any]:
    rest = list(_GET_REST[type(command)](command))
    at = _KEY_AT.get(type(command))
    if at is not None and rest[at] is not None:
        key = rest[at]
        if isinstance(key, cmd.KnownKey):
            rest[at] = key.recorded
        else:
            # The world in which a bound key counts is a part of it.
            given = (key.text.encode(), codec.encode(key.world)) if isinstance(key, cmd.BoundKey) else (key.encode(),)
            rest[at] = hashing.keyed(secret, hashing.COMMAND_KEY, *given)
    return rest


CLOCK_BEHIND: Final = 1_000_000
"""A receipt notes a clock that is behind the commit's time by more than this, in microseconds. Two commits in one
microsecond, or the clocks of two threads, are not worth a note."""


def receipt_of(header: codec.Header, events: codec.Events) -> Receipt:
    """The receipt of a commit; always the same for one commit."""
    outcome: Outcome = Staged() if events.staged else Committed()
    others = [event for event in events.events if type(event) not in _BULK_EVENTS]
    revised = sum(type(event) is Revised for event in others)
    behind = [StoredNote("clock_behind", [])] if header.ingest_time - header.wall_time > CLOCK_BEHIND else []
    lost = tuple(_losses(events.events, others))
    return _receipt(outcome, header, header.event_count, events.refs, [*events.notes, *behind], revised, lost)


_BULK_EVENTS: Final = frozenset({Created, Linked})
"""The usual events of a load, which a receipt only counts."""


def _losses(events: Sequence[AnyEvent], others: Sequence[AnyEvent]) -> Iterator[Loss]:
    written: set[bytes] = set()
    if any(type(event) in (EdgeClosed, EdgeLost) for event in others):
        # An edge that is shortened in the commit that writes it, as when its home changes, has lost nothing.
        written = {event.edge for event in events if type(event) is Linked}
    for event in others:
        if type(event) is Closed:
            yield Loss(event.lineage.hex(), event.version, event.valid_to, FOREVER)
        elif type(event) is Lost:
            yield Loss(event.lineage.hex(), event.version, event.valid_from, event.valid_to)
        elif type(event) is EdgeClosed and event.edge not in written:
            yield Loss(event.edge.hex(), None, event.valid_to, FOREVER)
        elif type(event) is EdgeLost and event.edge not in written:
            yield Loss(event.edge.hex(), None, event.valid_from, event.valid_to)


def unchanged(header: codec.Header, draft: Draft) -> Receipt:
    """The receipt of a request that changed nothing: no commit was made."""
    return _receipt(Committed(), header, 0, draft.refs, draft.notes)


def refused(header: codec.Header, refusal: Refusal) -> Receipt:
    """The receipt of a refused request, on the head that it was judged on."""
    outcome = Refused(refusal.code, refusal.reason, refusal.remedy, refusal.command)
    return _receipt(outcome, header, 0, [], [])


def _receipt(
    outcome: Outcome,
    header: codec.Header,
    events: int,
    refs: list[bytes],
    notes: list[StoredNote],
    revised: int = 0,
    lost: tuple[Loss, ...] = (),
) -> Receipt:
    return Receipt(
        outcome=outcome,
        seq=header.seq,
        ingest_time=header.ingest_time,
        root=header.root.hex(),
        events=events,
        requested=tuple(map(bytes.hex, refs)),
        proposals=tuple(note.refs[0].hex() for note in notes if note.code == "proposal_staged"),
        notes=tuple([Note(note.code, _shown_refs(note)) for note in notes]),
        revised=revised,
        lost=lost,
    )


def _shown_refs(note: StoredNote) -> tuple[str, ...]:
    return tuple(map(bytes.decode if note.code in NAMING else bytes.hex, note.refs))


def key_digest(secret: bytes, idempotency_key: str | None) -> bytes:
    """The digest of an idempotency key in the log; empty for none."""
    if idempotency_key is None:
        return b""
    text = limits.checked_text(idempotency_key, "idempotency_key", limits.MAX_KEY_BYTES, empty=False)
    return hashing.keyed(secret, hashing.IDEMPOTENCY, text.encode())


def repeated_receipt(
    log: LmdbLog,
    tables: Tables,
    seq: int,
    commands: list[cmd.Command],
    key: str,
    secret: bytes,
    as_recorded: Callable[[cmd.Command], cmd.Command] | None = None,
    *,
    looked: bool = False,
) -> Receipt:
    """The receipt of the commit that was made under an idempotency key.

    The commit must have been made by the same commands (law 10), as far as their texts can still be compared. Commands
    with erased texts get a note, since nobody can tell whether they are the same; nothing is written. No hash of an
    erased text is stored, since it could be tested against guesses. ``as_recorded`` redacts a command as it was
    redacted then. With ``looked``, the commands were chosen by a read that gives another result after an erasure, so
    commands about erased worlds are left out of the comparison.

    Raises:
        IdempotencyConflict: the commit was made by other commands.
    """
    stored = log.blob(seq, 0)
    cause = None if stored is None else codec.decode_blob(stored, seq)
    recorded = cause.commands if isinstance(cause, blobs.Cause) else None
    header, events = log.header(seq), log.events(seq)
    receipt = receipt_of(header, events)
    if recorded is None:
        return not_compared(receipt, ())
    retried = _RetriedCommit(log, tables, seq, events)

    def is_same(recorded_entries: Sequence[tuple[int, list[Any]]], commands: Sequence[cmd.Command]) -> bool:
        return len(recorded_entries) == len(commands) and all(
            retried.is_same(position, entry, command, secret)
            or (as_recorded is not None and retried.is_same(position, entry, as_recorded(command), secret))
            for (position, entry), command in zip(recorded_entries, commands, strict=True)
        )

    recorded_entries = list(enumerate(recorded))
    if is_same(recorded_entries, commands):
        return not_compared(receipt, retried.uncompared) if retried.uncompared else receipt
    erased_subjects = _erased_since(tables, seq, (_refs_in_record(entry) for entry in recorded)) if looked else {}
    left = [each for each in commands if erased_subjects.keys().isdisjoint(_refs_in_command(each))]
    if erased_subjects:
        recorded_entries = [
            (position, entry)
            for position, entry in recorded_entries
            if erased_subjects.keys().isdisjoint(_refs_in_record(entry))
        ]
        if not recorded_entries:  # It only said again what is gone: whatever any of these is about, it was that.
            subjects = (
                each
                for entry in recorded
                for each in _refs_in_record(entry)[: _HAS_SUBJECT[entry[0]]]
                if each in erased_subjects
            )
            subject = next(subjects, next(iter(erased_subjects)))
            receipt = msgspec.structs.replace(receipt, requested=(subject.hex(),) * len(commands))
        if not recorded_entries or is_same(recorded_entries, left):
            return not_compared(receipt, [*erased_subjects, *retried.uncompared])
    differs = retried.difference(recorded_entries, left, secret)
    raise errors.IdempotencyConflict(
        f"A command of another kind or with other values was committed under the idempotency key {key[:80]!r} at {seq}:"
        f" {differs}",
        "Use a new key for a new command",
        seq=seq,
        differs=differs,
    )


_REF_FIELDS: Final = ("ref", "source_ref", "target_ref")
"""The fields by which a command refers to existing worlds and edges. Statements are compared text by text."""
_REF_FIELDS_AT: Final = {
    kind.CODE: [4 + REST_FIELDS[kind].index(name) for name in _REF_FIELDS if name in REST_FIELDS[kind]]
    for kind in cmd.ALL
    if kind not in (cmd.State, cmd.Unstate)
}
"""The positions of these fields in the record of a command."""
_HAS_SUBJECT: Final = {kind.CODE: int("ref" in REST_FIELDS[kind]) for kind in cmd.ALL}
"""1 if the first of these fields is the subject of the command and not an end of an edge, else 0."""


def _refs_in_record(entry: Sequence[Any]) -> list[Any]:
    return [entry[at] for at in _REF_FIELDS_AT.get(entry[0], ()) if at < len(entry)]


def _refs_in_command(command: cmd.Command) -> list[Any]:
    return [getattr(command, name, None) for name in _REF_FIELDS]


def _erased_since(tables: Tables, seq: int, named: Iterable[list[Any]]) -> dict[bytes, None]:
    """The referenced worlds whose texts were erased after a commit."""
    gone = dict[bytes, None]()
    for each in (each for refs in named for each in refs if isinstance(each, bytes)):
        node = tables.node_of(ids.Lineage(each))
        row = None if node is None else erasure_of(tables, node)
        if row is not None and row.seq > seq:
            gone[each] = None
    return gone


def not_compared(receipt: Receipt, refs: Sequence[bytes]) -> Receipt:
    """The receipt of a retry that cannot be compared, with a note that names the worlds whose texts were erased."""
    return receipt.with_notes([Note("retry_not_compared", tuple(dict.fromkeys(ref.hex() for ref in refs)))])


class _RetriedCommit:
    """Compares the commands of a commit with those of a retry."""

    def __init__(self, log: LmdbLog, tables: Tables, seq: int, events: codec.Events) -> None:
        self._log = log
        self._tables = tables
        self._seq = seq
        self._refs = events.refs
        self._without_text = {ref for note in events.notes if note.code in _TEXT_NOT_TAKEN_NOTES for ref in note.refs}
        self.uncompared: list[bytes] = []
        """The subjects of commands that could not be compared, since texts are gone."""

    def difference(
        self, recorded_entries: Sequence[tuple[int, list[Any]]], commands: Sequence[cmd.Command], secret: bytes
    ) -> str:
        """Say in which fields the first of the commands that differ does."""
        if len(recorded_entries) != len(commands):
            before, now = Counter(entry[0] for _, entry in recorded_entries), Counter(each.CODE for each in commands)
            changes = (("now also", now - before), ("no longer", before - now))
            told = "; ".join(f"{what} {', '.join(sorted(kinds))}" for what, kinds in changes if kinds)
            return f"it had {len(recorded_entries)} commands, not {len(commands)} ({told})"
        for number, ((at, entry), command) in enumerate(zip(recorded_entries, commands, strict=True), 1):
            if entry[0] != command.CODE:
                return f"command {number} was {entry[0]}, not {command.CODE}"
            names = [_CALLED.get(name, name) for name in self.differing_fields(at, entry, command, secret)]
            if names:
                which = f" of command {number} ({command.CODE})" if len(commands) > 1 else ""
                return f"{' and '.join(names)}{which} {'differs' if len(names) == 1 else 'differ'}"
        return "a value differs"

    def is_same(self, at: int, entry: list[Any], command: cmd.Command, secret: bytes) -> bool:
        """True if a recorded command equals this one, as far as its texts can be compared."""
        return entry[0] == command.CODE and not self.differing_fields(at, entry, command, secret)

    def differing_fields(self, at: int, entry: list[Any], command: cmd.Command, secret: bytes) -> list[str]:
        """The fields in which a recorded command differs from this one of its kind, as far as they can be compared."""
        try:
            others = _other_fields(entry, command, secret)
            ref = self._refs[at] if at < len(self._refs) else b""
            texts = texts_of(self._log, self._seq, entry)
            names = [name for name in entry[3] if name in texts]
            given = {name: getattr(command, name) for name in names}
            if "" in texts.get("aliases", ()) and isinstance(command, cmd.State | cmd.Unstate):
                # A text in the place of an erased literal cannot be compared.
                left = list(texts["aliases"])
                aliases = zip(left, given["aliases"], strict=False)
                given["aliases"] = (
                    tuple(text if kept else kept for kept, text in aliases) + given["aliases"][len(left) :]
                )
                self.uncompared.append(ref)
            others += [name for name in names if not _encodes_equal(given[name], texts[name])]
            if others:
                return [*dict.fromkeys(others)]
            gone = any(place != NONE and self._log.blob(self._seq, place) is None for place in entry[1:3])
            if gone or isinstance(command, cmd.EraseLiteral):
                self.uncompared.append(ref)
            if entry[1] != NONE or not isinstance(command, cmd.Create | cmd.Revise):
                return []
            return self._other_texts(command, ref)
        except (TypeError, ValueError, OverflowError, RecursionError):
            return ["a value that cannot be encoded"]  # It was never committed.

    def _other_texts(self, command: cmd.Create | cmd.Revise, ref: bytes) -> list[str]:
        """The texts that a world which the command left unchanged did not have; it would have been revised then."""
        node = self._tables.node_of(ids.Lineage(ref))
        if node is None or ref in self._without_text:
            return []
        others: list[str] = []
        requested = [(name, getattr(command, name)) for name in _BODY_FIELDS if getattr(command, name) is not None]
        for _, row in self._tables.version_rows(node):
            if row.seq > self._seq:
                continue
            body = recorded_texts.body_at(self._log, row.seq, row.position)
            if body is None:
                self.uncompared.append(ref)
            others = [] if body is None else [name for name, text in requested if getattr(body, name) != text]
            if not others or row.seq < self._seq:  # The latter was the newest version before the commit.
                return others
        return others or [name for name, _ in requested] or ["content"]


_CALLED: Final = {"source_ref": "source", "target_ref": "target", "ref": "the world"}
"""What callers call a field of a command."""
_TEXT_NOT_TAKEN_NOTES: Final = frozenset({"not_restored", "not_revived", "stays_corrected"})
"""The notes of commits that did not write a given text."""


def _encodes_equal(one: object, other: object) -> bool:
    return codec.encode(one) == codec.encode(other)


def texts_of(log: LmdbLog, seq: int, entry: list[Any]) -> dict[str, Any]:
    """The texts of a recorded command that are still in the log."""
    texts: dict[str, Any] = {}
    for position in (entry[1], entry[2]):
        stored = None if position == NONE else log.blob(seq, position)
        blob = None if stored is None else codec.decode_blob(stored, seq)
        if isinstance(blob, blobs.Body):
            texts |= {"type": blob.type, "name": blob.name, "content": blob.content}
        elif isinstance(blob, blobs.Details):
            texts |= {"why": blob.why, "source": blob.source, "properties": blob.properties}
            texts["aliases"] = texts["labels"] = tuple(blob.aliases)
    return texts


class CommitSummary(NamedTuple):
    """A commit's receipt, its author, and the names of its commands."""

    receipt: Receipt
    author: str
    commands: tuple[str, ...]


def summarise_commit(log: LmdbLog, seq: int) -> CommitSummary:
    """The summary of commit ``seq``, read from the log; nothing is decided again.

    Raises:
        DamagedStore: the commit is not what was written.
    """
    header = log.header(seq)
    stored = log.blob(seq, 0)
    cause = None if stored is None else codec.decode_blob(stored, seq)
    commands = tuple(str(entry[0]) for entry in cause.commands) if isinstance(cause, blobs.Cause) else ()
    return CommitSummary(receipt_of(header, log.events(seq)), header.author, commands)
