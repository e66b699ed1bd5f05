"""Read erasures from the log: the note beside an erased text, and receipts that can be checked."""

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from worlddb.log.model import blobs, codec, errors, hashing, times
from worlddb.log.model.codec import chain_hash, events_hash
from worlddb.log.model.events import NONE, Erased, ErasedElsewhere, ErasureEvent, Event, Struck, StruckElsewhere
from worlddb.log.store.copies import Copy, copies_holding, latest_copies
from worlddb.log.store.erasure_evidence import LaterErasure
from worlddb.log.store.log import LmdbLog
from worlddb.projections.tables.apply.apply import erasure_of as row_of
from worlddb.projections.tables.apply.log_marks import secret_of
from worlddb.projections.tables.reads.asof import edge_known, vectors_left
from worlddb.projections.tables.storage.schema import CONTAINS_CODE
from worlddb.query.records import records
from worlddb.query.snapshot.snapshot import Snapshot

ELSEWHERE: Final = "backups, bundles and copies that were made elsewhere: the store does not know of them"


def erased_since(log: LmdbLog, seq: int) -> Iterator[bytes]:
    """The worlds that lost texts to erasures after a commit, with repetitions. Reads every later commit."""
    for at in range(seq + 1, log.head().seq + 1):
        for event in log.some_events(at, _ERASURE_EVENTS):
            if isinstance(event, ErasureEvent):
                yield event.lineage


_ERASURE_EVENTS: Final[frozenset[type[Event]]] = frozenset((Erased, ErasedElsewhere, Struck, StruckElsewhere))


def erasure_of(snapshot: Snapshot, node: int) -> records.Erasure | None:
    """The last erasure of a world's texts, also one after the point that a copy reaches."""
    row = row_of(snapshot.tables, node)
    if row is None:
        return None
    header, reason, listed = snapshot.log.header(row.seq), "", False
    stored = None if row.details == NONE else snapshot.log.blob(row.seq, row.details)
    blob = None if stored is None else codec.decode_blob(stored, row.seq)
    if isinstance(blob, blobs.Details):
        reason = blob.why
    elif isinstance(blob, blobs.Evidence):
        later = LaterErasure(0, blob.header, blob.events, dict(blob.details))
        header, reason = later.header, later.reason(snapshot.tables.node(node).lineage)
        taken = (each for each in snapshot.log.events(row.seq).events if isinstance(each, ErasedElsewhere))
        listed = any(each.listed for each in taken if each.record == row.details)
    return records.Erasure(
        seq=header.seq, ingested_at=header.ingest_time, author=header.author, reason=reason, listed=listed
    )


def any_struck(snapshot: Snapshot, nodes: Iterable[int], seq: int) -> bool:
    """Whether single texts are gone of details with what worlds state at a commit."""
    log, tables = snapshot.log, snapshot.tables
    if not log.is_struck():
        return False
    events = (each for at in range(1, log.head().seq + 1) for each in log.some_events(at, _STRIKE_EVENTS))
    struck = {each.lineage for each in events if isinstance(each, Struck | StruckElsewhere)}
    named = (_named_details(snapshot, node, seq) for node in nodes if tables.node(node).lineage in struck)
    stored = (log.blob(*place) for places in named for place in places if place[1] != NONE)
    return any(each is not None and codec.is_struck(each) for each in stored)


def _named_details(snapshot: Snapshot, node: int, seq: int) -> set[tuple[int, int]]:
    """The places of the details with the terms and sources of a world's statements at a commit."""
    from worlddb.projections.tables.statements import statement_rows

    known = statement_rows.known_at(snapshot.tables, node, seq)
    rows = (statement_rows.term(snapshot.tables, node, number) for number in {at for each in known for at in each.quad})
    return {(each.origin, each.details) for each in known} | {
        (row.seq, row.position) for row in rows if row is not None
    }


def literal_erasures(snapshot: Snapshot, world: int) -> dict[int, records.Erasure]:
    """The erasures of single literals of a world, by the numbers of their terms. Reads every commit."""
    log, lineage, found = snapshot.log, snapshot.tables.node(world).lineage, dict[int, records.Erasure]()
    for seq in range(1, log.head().seq + 1):
        if lineage not in log.stored_events(seq):
            continue
        for event in log.some_events(seq, _STRIKE_EVENTS):
            if isinstance(event, Struck | StruckElsewhere) and event.lineage == lineage and event.terms:
                header, reason = log.header(seq), ""
                if isinstance(event, Struck):
                    reason = snapshot.details(seq, event.details).why
                else:
                    stored = log.blob(seq, event.record)
                    blob = None if stored is None else codec.decode_blob(stored, seq)
                    if isinstance(blob, blobs.Evidence):
                        later = LaterErasure(0, blob.header, blob.events, dict(blob.details))
                        header, reason = later.header, later.reason(lineage)
                told = records.Erasure(
                    seq=header.seq, ingested_at=header.ingest_time, author=header.author, reason=reason, listed=False
                )
                found |= dict.fromkeys(event.terms, told)
    return found


_STRIKE_EVENTS: Final[frozenset[type[Event]]] = frozenset((Struck, StruckElsewhere))


class ErasedText(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a text was, as commit and position of its blob, and the hash that stays of it."""

    seq: int
    position: int
    hash: str


class ErasedLiteral(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a text of statements was: commit and position of its blob, and its place among the texts there.

    ``hash`` is that of what is left of the blob.
    """

    seq: int
    position: int
    place: int
    hash: str


class ErasedWorld(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The erased texts of one world, and the reference of the request.

    ``forbidden`` counts the texts that may not come back. ``everywhere``: it was found by a text that another world was
    erased for. ``literals``: where a literal of its statements stood that was erased alone; then there are no
    ``texts``.
    """

    ref: str
    reason: str
    everywhere: bool
    forbidden: int
    texts: tuple[ErasedText, ...]
    literals: tuple[ErasedLiteral, ...] = ()


class ErasureReceipt(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What one commit erased, in a form that can be kept and checked against the log later.

    ``not_reached`` says in words which copies may hold the texts: those that the store made itself and knows of, and
    that there may be others. ``seal`` is a hash of all that the receipt says, under the store's secret; receipts of
    earlier releases have none.

    ``kept`` are worlds inside of those that were named that the erasure left as they were, the first of ``kept_count``.
    ``authors`` are those of the commits in which the texts were written: their names stay there.
    """

    store: str
    seq: int
    chain: str
    events_hash: str
    author: str
    ingested_at: int
    worlds: tuple[ErasedWorld, ...]
    not_reached: tuple[str, ...]
    seal: str = ""
    kept: tuple[str, ...] = ()
    kept_count: int = 0
    authors: tuple[str, ...] = ()


MAX_KEPT_LISTED: Final = 1_000
"""How many of the worlds that an erasure left unchanged its receipt lists."""
_LATER_FIELDS: Final = ("kept", "kept_count", "authors")
"""Fields that receipts of earlier releases lack. They are omitted, also from the seal, where they are empty."""


class ErasureCheck(msgspec.Struct, frozen=True):
    """Whether the log agrees with a receipt and the texts are gone; else what is wrong.

    The texts are those of the worlds that the receipt lists. ``kept`` counts the worlds inside of these that it left,
    and that have a text to this day.
    """

    ok: bool
    problems: tuple[str, ...]
    kept: int = 0


def receipt_of(snapshot: Snapshot, store_id: bytes, seq: int, copies: Sequence[Copy]) -> ErasureReceipt:
    """The receipt of the erasure that a commit made.

    Raises:
        InputError: there is no such commit, or it erased nothing.
    """
    log = snapshot.log
    if not 0 < seq <= log.head().seq:
        raise errors.InputError(f"There is no commit {seq}", f"The store has commits 1 to {log.head().seq}")
    header, events = log.header(seq), log.events(seq)
    erased = [event for event in events.events if isinstance(event, Erased)]
    struck = [event for event in events.events if isinstance(event, Struck) and event.details != NONE]
    if not erased and not struck:
        raise errors.InputError(
            f"Commit {seq} erased nothing", "Give the receipt of an erasure, or the number of its commit"
        )
    reached = {place for event in erased for place, _ in event.blobs}
    reached |= {place for event in struck for place, _ in event.blobs}
    holds = {place: log.events(place).blob for place in reached}
    worlds = tuple(
        ErasedWorld(
            ref=event.lineage.hex(),
            reason=snapshot.details(seq, event.details).why,
            everywhere=event.everywhere,
            forbidden=len(event.forbidden),
            texts=tuple(ErasedText(place, position, holds[place](position).hex()) for place, position in event.blobs),
        )
        for event in erased
    ) + tuple(
        ErasedWorld(
            ref=event.lineage.hex(),
            reason=snapshot.details(seq, event.details).why,
            everywhere=False,
            forbidden=0,
            texts=(),
            literals=tuple(
                ErasedLiteral(*blob, place, left.hex())
                for blob, places, left in zip(event.blobs, event.places, event.hashes, strict=True)
                for place in places
            ),
        )
        for event in struck
    )
    first = min(holds)
    kept = _surviving_worlds(snapshot, seq, events.refs, {event.lineage for event in erased}) if erased else []
    receipt = ErasureReceipt(
        store=store_id.hex(),
        seq=seq,
        chain=log.chain(seq).hex(),
        events_hash=header.events_hash.hex(),
        author=header.author,
        ingested_at=header.ingest_time,
        worlds=worlds,
        not_reached=(*copies_holding(latest_copies(copies), first, seq), ELSEWHERE),
        kept=tuple(snapshot.tables.node(node).lineage.hex() for node in kept[:MAX_KEPT_LISTED]),
        kept_count=len(kept),
        authors=tuple(sorted({log.header(place).author for place in holds})),
    )
    return msgspec.structs.replace(receipt, seal=_seal(log, receipt))


def _surviving_worlds(snapshot: Snapshot, seq: int, named: Sequence[bytes], erased: Collection[bytes]) -> list[int]:
    """The worlds inside those that a commit was to erase that kept their texts."""
    tables = snapshot.tables
    gone = {node for lineage in erased if (node := tables.node_of(lineage)) is not None}
    tops = [node for lineage in named if (node := tables.node_of(lineage)) is not None]
    inside = dict.fromkeys(tops)
    pending = deque(inside)
    while pending:
        for _, row in tables.outgoing(pending.popleft(), CONTAINS_CODE, known_by=seq):
            if row.target not in inside and edge_known(row, seq):
                inside[row.target] = None
                pending.append(row.target)
    return [node for node in inside if node not in gone and node not in tops and _had_text(snapshot, node, seq)]


def _had_text(snapshot: Snapshot, node: int, seq: int) -> bool:
    """True if a world had a text right after a commit, even if it was erased later."""
    row = row_of(snapshot.tables, node)
    return (row is not None and row.seq > seq) or _has_text(snapshot, node)


def _has_text(snapshot: Snapshot, node: int) -> bool:
    rows = (row for _, row in snapshot.tables.version_rows(node))
    return any(snapshot.log.blob(row.seq, row.position) is not None for row in rows)


def _seal(log: LmdbLog, receipt: ErasureReceipt) -> str:
    document = msgspec.to_builtins(receipt) | {"seal": ""}
    said = msgspec.json.encode(document, order="deterministic")
    return hashing.keyed(secret_of(log), hashing.RECEIPT, said).hex()


def read_receipt(document: object) -> ErasureReceipt:
    """A receipt from the plain values of its JSON form, in which the time may be ISO 8601.

    Raises:
        InputError: it is none; the message names the place.
    """
    given = dict(document) if isinstance(document, Mapping) else document
    if isinstance(given, dict) and isinstance(given.get("ingested_at"), str):
        given["ingested_at"] = times.parse_time(given["ingested_at"], "ingested_at")
    try:
        found = msgspec.convert(given, ErasureReceipt)
        msgspec.json.encode(found)
        return found
    except (msgspec.ValidationError, UnicodeError) as error:
        raise errors.InputError(
            f"This is not a receipt of an erasure: {error}", "Give what `worlddb erase` printed"
        ) from None


def check(snapshot: Snapshot, store_id: bytes, receipt: ErasureReceipt, copies: Sequence[Copy]) -> ErasureCheck:
    """Check a receipt against the log: the same facts, hashes that hold, and no texts.

    ``copies`` are all known copies; the list in a receipt without a seal is checked against them.
    """
    if receipt.store != store_id.hex():
        return ErasureCheck(False, (f"the receipt is from store {receipt.store}, and this is store {store_id.hex()}",))
    try:
        recorded = receipt_of(snapshot, store_id, receipt.seq, copies)
        problems = (*_problems(snapshot, receipt, recorded), *_list_problems(snapshot.log, receipt, recorded, copies))
        kept = _count_surviving(snapshot, receipt.seq)
    except errors.WorldDBError as error:
        problems, kept = (error.message,), 0
    return ErasureCheck(not problems, problems, kept)


def _count_surviving(snapshot: Snapshot, seq: int) -> int:
    """Count the worlds that an erasure left unchanged and that still have a text."""
    events = snapshot.log.events(seq)
    erased = {event.lineage for event in events.events if isinstance(event, Erased)}
    return (
        sum(_has_text(snapshot, node) for node in _surviving_worlds(snapshot, seq, events.refs, erased))
        if erased
        else 0
    )


def _problems(snapshot: Snapshot, receipt: ErasureReceipt, recorded: ErasureReceipt) -> Iterator[str]:
    log, seq = snapshot.log, receipt.seq
    for field in _differing_fields(receipt, recorded):
        yield f"commit {seq} has another value for {field}"
    if chain_hash(log.stored_header(seq)[1]).hex() != recorded.chain:
        yield f"the header of commit {seq} does not match the chain hash stored with it"
    if events_hash(log.stored_events(seq)).hex() != recorded.events_hash:
        yield f"the events of commit {seq} do not match the hash in its header"
    for world in recorded.worlds:
        for text in world.texts:
            if log.blob(text.seq, text.position) is not None:
                yield f"the text {text.hash[:12]} of commit {text.seq} still exists"
        node = snapshot.tables.node_of(bytes.fromhex(world.ref)) if world.texts else None
        for place in () if node is None else vectors_left(log, snapshot.tables, node):
            yield f"a vector of an erased text still exists in commit {place.seq}: erase {world.ref} again"
        for literal in world.literals:
            if any(snapshot.details(literal.seq, literal.position).aliases[literal.place : literal.place + 1]):
                yield f"the text {literal.place} of blob {literal.position} of commit {literal.seq} still exists"
    if log.scrub_due() is not None:
        yield "an erasure is not finished: bytes may still lie in the store's files"


def _differing_fields(receipt: ErasureReceipt, recorded: ErasureReceipt) -> list[str]:
    fields = ("chain", "events_hash", "author", "ingested_at", "worlds")
    return [field for field in fields if getattr(receipt, field) != getattr(recorded, field)]


def _list_problems(
    log: LmdbLog, receipt: ErasureReceipt, recorded: ErasureReceipt, copies: Sequence[Copy]
) -> Iterator[str]:
    """What is wrong with the list of copies.

    It was made at the time of the erasure or later, and copies that were brought up to date since are out of it.
    """
    if receipt.seal:
        if not _differing_fields(receipt, recorded) and receipt.seal != _seal(log, receipt):
            yield "its seal does not match its content: it was altered"
        return
    for field in _LATER_FIELDS:
        if getattr(receipt, field) not in ((), 0, getattr(recorded, field)):
            yield f"it has no seal, and a different value for {field}"
    texts = (text.seq for world in recorded.worlds for text in world.texts)
    literals = (literal.seq for world in recorded.worlds for literal in world.literals)
    first = min((*texts, *literals))
    ever = {*copies_holding(copies, first, receipt.seq), ELSEWHERE}
    for name in receipt.not_reached:
        if name not in ever:
            yield f"it has no seal, and names a copy that this store does not know: {name[:200]!r}"
    for name in recorded.not_reached:
        if name not in receipt.not_reached:
            yield f"it has no seal, and does not list {name[:200]!r}"
