"""Copy finished commits from one store into another.

Commits are checked on arrival, and texts erased since are left out.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

import lmdb

from worlddb.log.model import codec, errors, events, hashing, ids
from worlddb.log.model.blobs import Cause
from worlddb.log.store import environment, verify
from worlddb.log.store.copies import BACKUP
from worlddb.log.store.erasure_evidence import LaterErasure, list_evidence
from worlddb.log.store.log import LmdbLog
from worlddb.projections.runner import Progress, apply_commit, rebuild
from worlddb.projections.tables.storage.rows import Tables

CHUNK_COMMITS: Final = 256
"""How many commits are copied in one transaction on either side."""
SEARCH_COMMITS: Final = 4096
"""How many commits are searched for erasures in one transaction."""

_ERASED_TAG: Final = codec.encode(str(events.Erased.__struct_config__.tag))
"""Stands in the stored events of every commit that erases something, so that others need not be decoded."""
_ELSEWHERE_TAG: Final = codec.encode(str(events.ErasedElsewhere.__struct_config__.tag))
_STRUCK_TAGS: Final = tuple(
    codec.encode(str(kind.__struct_config__.tag)) for kind in (events.Struck, events.StruckElsewhere)
)
_FILLED_TAG: Final = codec.encode(str(events.Filled.__struct_config__.tag))


class ErasuresElsewhere(NamedTuple):
    """The erasures of another store with the same beginning: those in its log, and those beside its log."""

    tied: tuple[LaterErasure, ...] = ()
    untied: tuple[LaterErasure, ...] = ()


NOWHERE: Final = ErasuresElsewhere()


class Copier:
    """Copies commits of ``source`` to ``target``, whose log is a beginning of that of ``source``.

    Records are copied as they are stored and the tables are derived from them. Texts that the source has erased are
    left out or taken away, in the transaction that also copies the commit which says so: a step is as long as that
    needs, so the target verifies after every one, whenever it is interrupted. What no copied commit says (erasures that
    came after the last one, or those in ``elsewhere``) is said by a commit of ``author`` at the end. Without an author
    it is not said: the target is a step on the way to a store, or scratch.
    """

    def __init__(
        self,
        source: environment.Environment,
        target: environment.Environment,
        *,
        kind: str = "",
        author: str = "",
        elsewhere: ErasuresElsewhere = NOWHERE,
    ) -> None:
        self._source = source
        self._target = target
        self._kind = kind
        self._author = author
        self._elsewhere = elsewhere
        with target.read() as txn:
            self.searched = LmdbLog(txn).head().seq
            """Up to which commit the source was searched for erasures."""
        self._erasing: dict[int, list[LaterErasure]] = {}

    def copy(self, until: int, progress: Progress | None = None) -> None:
        """Copy up to commit ``until``, a few commits in each transaction.

        A backup goes on to a later commit if that erased texts of earlier ones meanwhile. What was copied stays, should
        it break off.

        Raises:
            DamagedStore: a commit is not what was written, or does not lead to the root that it recorded.
        """
        while self.searched < until:
            with self._source.read() as reading:
                self._find_erasures(LmdbLog(reading), min(self.searched + SEARCH_COMMITS, until))
        done = 0
        while done < until:
            done = self._target.write(partial(self._copy_step, until))
            if progress is not None:
                progress(min(done, until), until)

    def erased_since(self, source: LmdbLog) -> bool:
        """True if the source has erased something that the target still has as of the last step."""
        searched = self.searched
        self._find_erasures(source, source.head().seq)
        return any(seq > searched for seq in self._erasing)

    def _find_erasures(self, source: LmdbLog, last: int) -> None:
        for seq in range(self.searched + 1, last + 1):
            found = erasures_in(source, seq)
            if found:
                self._erasing[seq] = found
        self.searched = max(self.searched, last)

    def _copy_step(self, until: int, txn: lmdb.Transaction) -> int:
        """Copy some commits; returns the last one."""
        log, tables = LmdbLog(txn), Tables(txn)
        with self._source.read() as reading:
            source = LmdbLog(reading)
            # What this snapshot lacks was erased by what it has.
            self._find_erasures(source, source.head().seq)
            first = log.head().seq + 1
            last = max(min(first + CHUNK_COMMITS - 1, until), first - 1)  # The target may have it all already.
            last = self._last_safe_commit(last, source.head().seq if self._kind == BACKUP else until)
            later, untied = self._pending_erasures(last), self._copy_unordered_erasures(source, last)
            within = [each for seq in self._erasing if first <= seq <= last for each in self._erasing[seq]]
            _erase_later(log, tables, first - 1, (*later, *untied), within)
            gone = {blob for each in (*later, *untied, *within) for blob in each.blobs}
            struck = _struck_places((*later, *untied, *within))
            for begin in range(first, last + 1, CHUNK_COMMITS):
                self._append(source, log, tables, begin, min(begin + CHUNK_COMMITS - 1, last), gone, struck)
        if self._author and last >= until and later:
            append_erasures(log, tables, later, self._author)
        log.untied.replace(untied)
        log.mark_copy(self._kind)
        return max(until, last) if last < first else last

    def _last_safe_commit(self, last: int, limit: int) -> int:
        """The last commit, from ``last`` on, at which a step can end: no later commit erases what it copies."""
        open_end = [
            *self._elsewhere.tied,
            *(each for seq in self._erasing if seq > limit for each in self._erasing[seq]),
        ]
        if any(blob[0] <= last for each in open_end for blob in each.reached):
            return max(last, limit)
        while True:
            reaching = (
                seq
                for seq, found in self._erasing.items()
                if last < seq <= limit and any(blob[0] <= last for each in found for blob in each.reached)
            )
            further = max(reaching, default=last)
            if further == last:
                return last
            last = further

    def _append(
        self,
        source: LmdbLog,
        log: LmdbLog,
        tables: Tables,
        first: int,
        last: int,
        erased_blobs: set[tuple[int, int]],
        struck: Mapping[tuple[int, int], set[int]],
    ) -> None:
        """Copy commits and derive the tables; check everything that was copied."""
        erasures = verify.ErasureLedger()
        erasures.add_erased(erased_blobs, 0)
        erasures.add_foreign_strikes(struck)
        previous = log.header(first - 1) if first > 1 else None
        for seq, record in source.read(first, last):
            kept_blobs = [None if (seq, at) in erased_blobs else blob for at, blob in enumerate(record.blobs)]
            if struck:
                kept_blobs = [
                    codec.strike_texts(blob, struck[seq, at], seq) if blob is not None and (seq, at) in struck else blob
                    for at, blob in enumerate(kept_blobs)
                ]
            head = log.append(record._replace(blobs=kept_blobs), seq, log.head())
            previous, findings = verify.verify_commit(log, seq, previous, erasures)
            if head.chain != source.chain(seq):
                raise _copy_error(seq, "its header does not have the chain hash that was stored with it")
            for finding in findings:
                raise _copy_error(seq, finding.problem)
            if _FILLED_TAG in record.events:
                _fill(source, log, tables, seq, erased_blobs)
            apply_commit(log, tables, seq)
        tables.flush()
        for finding in erasures.findings(log):
            raise _copy_error(finding.seq, finding.problem)

    def _pending_erasures(self, last: int) -> list[LaterErasure]:
        """The erasures that no commit up to ``last`` records, oldest first."""
        said = {each.chain for seq in self._erasing if seq <= last for each in self._erasing[seq]}
        found = [each for each in self._elsewhere.tied if each.chain not in said]
        found += [each for seq in self._erasing if seq > last for each in self._erasing[seq]]
        return relevant_erasures(found, last)

    def _copy_unordered_erasures(self, source: LmdbLog, last: int) -> list[LaterErasure]:
        """Copy the erasure records that earlier releases kept beside the log, unchecked: nothing can prove them."""
        found = (*source.untied.all(), *self._elsewhere.untied)
        return _oldest_first(each._replace(through=min(each.through, last)) for each in found)


def relevant_erasures(found: Iterable[LaterErasure], last: int) -> list[LaterErasure]:
    """The erasures that concern a copy of the commits up to ``last``: they erased texts of these, or forbade some."""
    cut = (each._replace(through=min(each.through, last)) for each in found)
    return _oldest_first(each for each in cut if any(each.reached) or any(event.forbidden for event in each.erased))


def _oldest_first(found: Iterable[LaterErasure]) -> list[LaterErasure]:
    by_chain = {each.chain: each for each in found}
    return sorted(by_chain.values(), key=lambda each: each.header.ingest_time)


def erasures_in(log: LmdbLog, seq: int) -> list[LaterErasure]:
    """The erasures that commit ``seq`` did, or recorded of another store, as evidence."""
    stored = log.stored_events(seq)
    if not any(tag in stored for tag in (_ERASED_TAG, _ELSEWHERE_TAG, *_STRUCK_TAGS)):
        return []
    commit = log.events(seq)
    found = erasure_arrivals(log, seq)
    details = {event.details for event in commit.events if isinstance(event, events.Erased | events.Struck)}
    if details:
        said = details - {events.NONE}
        texts = {at: text for at in said for text in (log.blob(seq, at),) if text is not None}
        found.append(LaterErasure(seq - 1, log.stored_header(seq)[1], stored, texts))
    return found


def erasure_arrivals(log: LmdbLog, seq: int) -> list[LaterErasure]:
    """The erasures of another store that commit ``seq`` recorded, as evidence."""
    stored = log.stored_events(seq)
    if _ELSEWHERE_TAG not in stored and _STRUCK_TAGS[1] not in stored:
        return []
    return list_evidence(log.events(seq), partial(log.blob, seq), seq)


def erasures_after(env: environment.Environment, common: int) -> ErasuresElsewhere:
    """All erasures that a store knows after its first ``common`` commits.

    Raises:
        DamagedStore: a commit that says so is not what was written.
    """
    found: list[LaterErasure] = []
    with env.read() as txn:
        log = LmdbLog(txn)
        for seq in range(common + 1, log.head().seq + 1):
            later = erasures_in(log, seq)
            if later:
                verify.require_intact(log, seq)
            found += [each._replace(through=min(each.through, common)) for each in later]
        untied = [each._replace(through=min(each.through, common)) for each in log.untied.all()]
    return ErasuresElsewhere(tuple(found), tuple(untied))


def append_erasures(
    log: LmdbLog, tables: Tables, later: Sequence[LaterErasure], author: str, at: int | None = None
) -> codec.Header:
    """Append a commit that records which texts another history of this log erased; returns its header.

    It has the time of the latest of them unless ``at`` is given, so that the same copy is made twice.
    """
    head = log.head()
    last = log.header(head.seq)
    time = max(last.ingest_time + 1, at or max(each.header.ingest_time for each in later))
    blobs = [codec.encode(each.blob()) for each in later]
    blobs.insert(0, codec.encode(Cause(head.chain[: ids.NONCE_BYTES], [])))
    erased_events = [
        events.ErasedElsewhere(
            event.lineage,
            [blob for blob in event.blobs if blob[0] <= each.through],
            position,
            each.through,
            event.everywhere,
            event.forbidden,
            each.listed,
        )
        for position, each in enumerate(later, 1)
        for event in each.erased
    ]
    struck_events = [event for position, each in enumerate(later, 1) for event in _struck_blobs(log, each, position)]
    blob_ids = b"".join(map(hashing.blob_id, blobs))
    stored = codec.encode(codec.Events(blob_ids, False, [], [], [*erased_events, *struck_events]))
    header = codec.Header(
        events.FORMAT,
        head.seq + 1,
        time,
        time if at is None else at,
        author,
        b"",
        head.chain,
        last.root,
        codec.events_hash(stored),
        len(erased_events) + len(struck_events),
    )
    log.append(codec.Record(codec.encode(header), stored, list(blobs)), head.seq + 1, head)
    apply_commit(log, tables, head.seq + 1)
    tables.flush()
    return header


def _struck_blobs(log: LmdbLog, each: LaterErasure, position: int) -> Iterator[events.StruckElsewhere]:
    """Events for the single texts of the erasure at a position, with what is left of each blob here."""
    for event in each.struck:
        found = [
            (blob, places, left.hash)
            for blob, places in zip(event.blobs, event.places, strict=True)
            if blob[0] <= each.through
            and (stored := log.blob(*blob)) is not None
            and (left := codec.struck_in(stored)) is not None
        ]
        if found:
            blobs, places, hashes = map(list, zip(*found, strict=True))
            yield events.StruckElsewhere(event.lineage, blobs, places, hashes, event.terms, position, each.through)


def _struck_places(found: Iterable[LaterErasure]) -> dict[tuple[int, int], set[int]]:
    """The places of the single texts that some erasures take, by blob."""
    struck: dict[tuple[int, int], set[int]] = {}
    for each in found:
        for blob, places in each.places():
            struck.setdefault(blob, set()).update(places)
    return struck


def _erase_later(
    log: LmdbLog, tables: Tables, last: int, later: Iterable[LaterErasure], within: Iterable[LaterErasure]
) -> None:
    """Erase the texts that later erasures took of commits up to ``last`` and the log still has.

    For those that no commit of the step says the tables are derived anew, as a replay would derive them.
    """
    for each in within:
        _erase(log, each, last)
    if sum([_erase(log, each, last) for each in later]):
        rebuild(log, tables)


def _erase(log: LmdbLog, each: LaterErasure, last: int) -> int:
    """Delete what an erasure took of commits up to ``last`` and still exists; returns the number of blobs."""
    seq = each.header.seq
    present = [blob for blob in each.blobs if blob[0] <= last and log.blob(*blob) is not None]
    if present:
        log.erase(present, seq)
    struck: dict[tuple[int, int], bytes] = {}
    for blob, places in _struck_places([each]).items():
        stored = log.blob(*blob) if blob[0] <= last else None
        left = None if stored is None else codec.strike_texts(stored, places, blob[0])
        if left is not None and left != stored:
            struck[blob] = left
    if struck:
        log.strike(struck, seq)
    return len(present) + len(struck)


def _fill(source: LmdbLog, log: LmdbLog, tables: Tables, seq: int, gone: set[tuple[int, int]]) -> None:
    """Copy the texts that commit ``seq`` put into places reserved by earlier commits."""
    for event in log.events(seq).events:
        node = tables.node_of(event.lineage) if isinstance(event, events.Filled) else None
        if isinstance(event, events.Filled) and node is not None:
            row = tables.version(node, event.version)
            stored = source.blob(row.seq, row.position)
            if stored is not None and (row.seq, row.position) not in gone and log.blob(row.seq, row.position) is None:
                log.fill(row.seq, row.position, stored)


def _copy_error(seq: int, problem: str) -> errors.DamagedStore:
    return errors.DamagedStore(
        f"Commit {seq} cannot be copied: {problem}", "Run `worlddb verify` on the source store", seq=seq
    )
