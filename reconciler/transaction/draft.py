"""A draft: a commit that is being built.

Each event is applied to the tables as it is decided, so later decisions see it.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple, Protocol

from worlddb.log.model import blobs, clock, codec, events, ids
from worlddb.log.model.events import FORMAT, NONE, AnyEvent, Linked
from worlddb.log.model.hashing import blob_id
from worlddb.log.store.log import Head, LmdbLog
from worlddb.projections.tables.apply.apply import Applier
from worlddb.projections.tables.storage.rows import Tables
from worlddb.reconciler.commands.commands import Command

DETAIL_FIELDS: Final = frozenset({"aliases", "labels", "why", "source", "properties"})
"""The fields of a command that are stored as details."""


class FinishedCommit(NamedTuple):
    """A commit that is ready to be appended."""

    header: codec.Header
    events: codec.Events
    record: codec.Record


def new_aliases(given: Sequence[str], known: Iterable[str] = ()) -> list[int]:
    """The positions of the aliases that a world does not have yet, each once."""
    seen, places = set(known), []
    for position, text in enumerate(given):
        if text not in seen:
            seen.add(text)
            places.append(position)
    return places


def stated_ends(valid_from: int | None, valid_to: int | None) -> int:
    """The flags of events for the ends of a window that a caller stated."""
    given = (events.START_STATED if valid_from is not None else 0) | (events.END_STATED if valid_to is not None else 0)
    return given or events.DEFAULTED


class Decision(NamedTuple):
    """The result of one command: its reference, the position of its body, and whether it only staged a proposal."""

    ref: bytes
    body: int = NONE
    staged: bool = False


class Nonces(Protocol):
    """A source of nonces for a draft; random ids are made of them."""

    def nonce(self, *what: object) -> bytes:
        """Give 16 bytes as a nonce.

        ``what`` tells what the nonce is for, so that a redecision can be given the same one.
        """


class FreshNonces:
    """Unpredictable nonces, whatever they are for."""

    def __init__(self, entropy: clock.Entropy) -> None:
        self._entropy = entropy

    def nonce(self, *what: object) -> bytes:
        return self._entropy.bytes(ids.NONCE_BYTES)


_KEPT_DECODED_BYTES: Final = 4096
"""Stored blobs up to this size are cached decoded as well."""


class DraftBlobs:
    """The blobs of a draft, by position: their stored bytes, ids and contents.

    Position 0 is reserved for the commands, which are known last. This class is separate from the draft, so that the
    applier can read it without a reference cycle: a large draft is freed at once.
    """

    def __init__(self) -> None:
        self.stored: list[bytes | None] = [None]
        self.ids: list[bytes] = [bytes(ids.HASH_BYTES)]
        self._decoded: list[blobs.Blob | None] = [None]
        self.fills: dict[tuple[int, int], bytes] = {}
        """Blobs for places that earlier commits reserved, by commit and position."""
        self.strikes: dict[tuple[int, int], bytes] = {}
        """What is left of details of earlier commits that lose single texts, by commit and position."""
        self.repeated: set[int] = set()
        """Positions of blobs that only repeat what is in the store: copies, and evidence of the resolver."""

    @property
    def size_bytes(self) -> int:
        """Stored bytes of all blobs, without the commands, which are known last."""
        return sum(len(stored) for stored in self.stored if stored is not None)

    def add(self, blob: blobs.Blob) -> int:
        """Add a blob; returns its position."""
        stored = codec.encode(blob)
        return self._put(blob_id(stored), stored, blob)

    def add_stored(self, identifier: bytes, stored: bytes | None) -> int:
        """Add a stored blob under the id that it arrived with; ``None`` reserves its place.

        A long blob is decoded on each use, since a cached text would take its memory twice.
        """
        is_short = stored is not None and len(stored) <= _KEPT_DECODED_BYTES
        return self._put(identifier, stored, codec.decode_blob(stored, 0) if stored is not None and is_short else None)

    def fill(self, seq: int, position: int, stored: bytes) -> None:
        """Put a blob into the place that an earlier commit reserved for it."""
        self.fills[seq, position] = stored

    def earlier(self, seq: int, position: int) -> blobs.Body | None:
        """The body that this commit puts into a place reserved by an earlier one."""
        stored = self.fills.get((seq, position))
        found = None if stored is None else codec.decode_blob(stored, seq)
        return found if isinstance(found, blobs.Body) else None

    def said_since(self, position: int, fills: int) -> Iterator[blobs.Blob | None]:
        """The contents of new blobs from a position on, and of the fills after the first ``fills``."""
        for at in range(position, len(self.ids)):
            if at not in self.repeated:
                yield self._decode(at)
        for seq, at in islice(self.fills, fills, None):
            yield self.earlier(seq, at)

    def _put(self, identifier: bytes, stored: bytes | None, blob: blobs.Blob | None) -> int:
        self.stored.append(stored)
        self.ids.append(identifier)
        self._decoded.append(blob)
        return len(self.ids) - 1

    def replace(self, position: int, blob: blobs.Blob) -> int:
        """Replace a blob, before its id is used anywhere; returns the position."""
        stored = codec.encode(blob)
        self.stored[position], self.ids[position], self._decoded[position] = stored, blob_id(stored), blob
        return position

    def drop_last(self, position: int) -> None:
        """Remove the blob that was added last."""
        assert position == len(self.ids) - 1
        for column in (self.stored, self.ids, self._decoded):
            column.pop()

    def put_first(self, cause: blobs.Cause) -> None:
        """Give position 0 its blob."""
        stored = codec.encode(cause)
        self.stored[0], self.ids[0] = stored, blob_id(stored)

    def blob_id(self, position: int) -> bytes:
        return self.ids[position]

    def body(self, position: int) -> blobs.Body | None:
        found = self._decoded[position] or self._decode(position)
        return found if isinstance(found, blobs.Body) else None

    def details(self, position: int) -> blobs.Details | None:
        found = self._decode(position)
        return found if isinstance(found, blobs.Details) else None

    def _decode(self, position: int) -> blobs.Blob | None:
        found, stored = self._decoded[position], self.stored[position]
        return codec.decode_blob(stored, 0) if found is None and stored is not None else found


class Draft:
    """Collects events, blobs, references and notes on top of one head, and becomes one record."""

    def __init__(
        self,
        log: LmdbLog,
        tables: Tables,
        head: Head,
        nonces: Nonces,
        *,
        ingest_time: int,
        wall_time: int,
        author: str,
    ) -> None:
        self.log = log
        self.tables = tables
        self.head = head
        self.seq = head.seq + 1
        self.ingest_time = ingest_time
        self.wall_time = wall_time
        self.author = author
        self.events: list[AnyEvent] = []
        self.refs: list[bytes] = []
        self.notes: list[codec.Note] = []
        self.commands: list[Any] = []
        self.staged = False
        self.interiors_token: object | None = None
        """Set once interiors were read for this draft; see ``Interiors``."""
        self.nonce = nonces.nonce
        self.blobs = DraftBlobs()
        self.applier = Applier(tables, self.blobs, self.seq, ingest_time)

    # -- blobs

    def add_body(self, type_name: str, name: str, content: str) -> int:
        """Store a body; returns its position."""
        return self.blobs.add(blobs.Body(self.nonce("body", type_name, name, content), type_name, name, content))

    def add_details(
        self,
        *,
        aliases: tuple[str, ...] = (),
        why: str = "",
        source: dict[str, Any] | None = None,
        properties: dict[str, Any] | None = None,
    ) -> int:
        """Store details; returns their position, or :data:`NONE` if all are empty."""
        if not (aliases or why or source or properties):
            return NONE
        fields = list(aliases), why, source or {}, properties or {}
        return self.blobs.add(blobs.Details(self.nonce("details", fields), *fields))

    def add_details_of(self, command: Command, given: Collection[str]) -> int:
        """Store a command's reason, provenance, properties and aliases.

        ``given`` names the texts that it has.

        Returns:
            The position of the details, or :data:`NONE` if the command has none of these.
        """
        if DETAIL_FIELDS.isdisjoint(given):
            return NONE
        return self.add_details(
            aliases=getattr(command, "aliases", ()) or getattr(command, "labels", ()),
            why=command.why,
            source=getattr(command, "source", None),
            properties=getattr(command, "properties", None),
        )

    def copy_details(self, seq: int, position: int) -> int:
        """Store details of an earlier commit again, for an event of this one.

        :data:`NONE` if there are none.
        """
        if seq == self.seq:
            return position
        stored = None if position == NONE else self.log.blob(seq, position)
        details = None if stored is None else codec.decode_blob(stored, seq)
        if not isinstance(details, blobs.Details):
            return NONE
        fields = details.aliases, details.why, details.source, details.properties
        copied = self.blobs.add(blobs.Details(self.nonce("details", fields), *fields))
        self.blobs.repeated.add(copied)
        return copied

    def with_properties(self, position: int, properties: dict[str, Any]) -> int:
        """Set the properties in details that this draft added, or add details; returns their position."""
        given = None if position == NONE else self.blobs.details(position)
        if given is None:
            made = self.add_details(properties=properties)
        else:
            fields = given.aliases, given.why, given.source, properties
            made = self.blobs.replace(position, blobs.Details(self.nonce("details", fields), *fields))
        return made

    def drop_details(self, position: int) -> None:
        """Remove the details that were added last, which no event refers to."""
        self.blobs.drop_last(position)

    def add_secret(self, secret: bytes) -> int:
        return self.blobs.add(blobs.Secret(self.nonce("secret"), secret))

    def add_space(self, name: str, model: str, mean: bytes) -> int:
        return self.blobs.add(blobs.Space(self.nonce("space"), name, model, mean))

    def add_vector(self, values: bytes, statements: int, stated: int) -> int:
        return self.blobs.add(blobs.Vector(self.nonce("vector", values), values, statements, stated))

    # -- events

    def emit(self, event: AnyEvent) -> None:
        """Record an event and apply it at once, so that later decisions see it."""
        self.events.append(event)
        self.applier.apply(event)

    def emit_linked(self, event: Linked, source: int, target: int, home: int) -> None:
        """As :meth:`emit`, for an edge whose ends and home are known as node numbers."""
        self.events.append(event)
        self.applier.link(event, self.tables.give_type_code(event.type), source, target, home)

    def note(self, code: str, *refs: bytes) -> None:
        """Add a note to the receipt."""
        self.notes.append(codec.Note(code, list(refs)))

    def finish(self, key: bytes) -> FinishedCommit:
        """Compute the hashes and close the draft; returns the record to append, with its header and events."""
        root = self.applier.rehash()
        self.applier.finish(key)
        self.blobs.put_first(blobs.Cause(self.nonce("commands"), self.commands))
        whole = codec.Events(b"".join(self.blobs.ids), self.staged, self.refs, self.notes, self.events)
        events = codec.encode(whole)
        header = codec.Header(
            FORMAT,
            self.seq,
            self.ingest_time,
            self.wall_time,
            self.author,
            key,
            self.head.chain,
            root,
            codec.events_hash(events),
            len(self.events),
        )
        return FinishedCommit(header, whole, codec.Record(codec.encode(header), events, self.blobs.stored))
