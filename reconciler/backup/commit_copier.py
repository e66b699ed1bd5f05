"""Copy finished commits from one store into another.

Commits are checked on arrival, and texts erased since are left out.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Final

import lmdb

from worlddb.log.model import codec, errors, events
from worlddb.log.store import environment, verify
from worlddb.log.store.log import Carried, LmdbLog
from worlddb.projections.runner import Progress, apply_commit, rebuild
from worlddb.projections.tables.storage.rows import Tables

CHUNK_COMMITS: Final = 256
"""How many commits are copied in one transaction on either side."""
SEARCH_COMMITS: Final = 4096
"""How many commits are searched for erasures in one transaction."""

_ERASED_TAG: Final = codec.encode(str(events.Erased.__struct_config__.tag))
"""Stands in the stored events of every commit that erases something, so that others need not be decoded."""
_FILLED_TAG: Final = codec.encode(str(events.Filled.__struct_config__.tag))


class Copier:
    """Brings ``target``, whose log is a beginning of ``source``'s, up to a commit of it.

    Records are copied as they are stored and the tables are derived from them. Texts that were erased by commits that
    the target does not have (yet), or by those in ``elsewhere``, are left out or taken away, and the proof that they
    were erased is kept beside the log; so the target verifies after every step, whenever it is interrupted.
    """

    def __init__(
        self,
        source: environment.Environment,
        target: environment.Environment,
        *,
        kind: str = "",
        elsewhere: Sequence[Carried] = (),
    ) -> None:
        self._source = source
        self._target = target
        self._kind = kind
        self._elsewhere = tuple(elsewhere)
        with target.read() as txn:
            self.searched = LmdbLog(txn).head().seq
            """Up to which commit the source was searched for erasures."""
        self._erasing: dict[int, Carried] = {}

    def copy(self, until: int, progress: Progress | None = None) -> None:
        """Copy up to commit ``until``, a few commits in each transaction.

        What was copied stays, should it break off.

        Raises:
            DamagedStore: a commit is not what was written, or does not lead to the root that it recorded.
        """
        while self.searched < until:
            with self._source.read() as reading:
                self._search(LmdbLog(reading), min(self.searched + SEARCH_COMMITS, until))
        done = 0
        while done < until:
            done = self._target.write(partial(self._step, until))
            if progress is not None:
                progress(done, until)

    def erased_since(self, source: LmdbLog) -> bool:
        """True if something was erased that the target still has as of the last step."""
        searched = self.searched
        self._search(source, source.head().seq)
        return any(seq > searched for seq in self._erasing)

    def _search(self, source: LmdbLog, last: int) -> None:
        for seq in range(self.searched + 1, last + 1):
            if _ERASED_TAG in source.stored_events(seq):
                found = erasing_commit(source, seq, seq - 1)
                if found is not None:
                    self._erasing[seq] = found
        self.searched = max(self.searched, last)

    def _step(self, until: int, txn: lmdb.Transaction) -> int:
        """Copy some commits; the last of them."""
        log, tables = LmdbLog(txn), Tables(txn)
        with self._source.read() as reading:
            source = LmdbLog(reading)
            # What this snapshot lacks was erased by what it has.
            self._search(source, source.head().seq)
            first = log.head().seq + 1
            last = max(min(first + CHUNK_COMMITS - 1, until), first - 1)  # The target may have it all already.
            later = self._later(source, last)
            _forget(log, tables, first - 1, later)
            self._append(source, log, tables, first, last, later)
        log.carried.replace(later)
        log.mark_copy(self._kind)
        return until if last < first else last

    def _append(
        self, source: LmdbLog, log: LmdbLog, tables: Tables, first: int, last: int, later: Sequence[Carried]
    ) -> None:
        """Copy commits and derive the tables; check everything that was copied."""
        within = [self._erasing[seq] for seq in sorted(self._erasing) if first <= seq <= last]
        gone = {blob for each in (*later, *within) for blob in each.blobs}
        erasures = verify.Erasures()
        erasures.recorded(gone, 0)
        previous = log.header(first - 1) if first > 1 else None
        for seq, record in source.read(first, last):
            kept = [None if (seq, at) in gone else blob for at, blob in enumerate(record.blobs)]
            head = log.append(record._replace(blobs=kept), seq, log.head())
            previous, findings = verify.verify_commit(log, seq, previous, erasures)
            if head.chain != source.chain(seq):
                raise _uncopied(seq, "its header does not have the chain hash that was stored with it")
            for finding in findings:
                raise _uncopied(seq, finding.problem)
            if _FILLED_TAG in record.events:
                _fill(source, log, tables, seq, gone)
            apply_commit(log, tables, seq)
        tables.flush()
        for each in within:
            _erase(log, each.blobs, each.header.seq)
        for finding in erasures.findings(log):
            raise _uncopied(finding.seq, finding.problem)

    def _later(self, source: LmdbLog, last: int) -> list[Carried]:
        """Erasures by commits that the target does not have after commit ``last``, oldest first."""
        found = [*source.carried.all(), *self._elsewhere]
        found += [self._erasing[seq] for seq in self._erasing if seq > last]
        by_chain = {each.chain: each._replace(through=min(each.through, last)) for each in found}
        return sorted(by_chain.values(), key=lambda each: each.header.ingest_time)


def erasing_commit(log: LmdbLog, seq: int, through: int) -> Carried | None:
    """Give the erasures of commit ``seq`` up to ``through``, as evidence.

    ``None`` if it erased nothing.
    """
    details = {event.details for event in log.events(seq).events if isinstance(event, events.Erased)}
    if not details:
        return None
    texts = {at: text for at in details for text in (log.blob(seq, at),) if text is not None}
    return Carried(through, log.stored_header(seq)[1], log.stored_events(seq), texts)


def erasures_after(env: environment.Environment, common: int) -> list[Carried]:
    """All erasures that a store knows of after its first ``common`` commits."""
    found: list[Carried] = []
    with env.read() as txn:
        log = LmdbLog(txn)
        found.extend(each._replace(through=min(each.through, common)) for each in log.carried.all())
        for seq in range(common + 1, log.head().seq + 1):
            each = erasing_commit(log, seq, common) if _ERASED_TAG in log.stored_events(seq) else None
            found.extend([] if each is None else [each])
    return found


def _forget(log: LmdbLog, tables: Tables, last: int, later: Iterable[Carried]) -> None:
    """Remove texts that the log still has, and derive the tables without them.

    The tables are derived as a replay would.
    """
    if sum([_erase(log, (blob for blob in each.blobs if blob[0] <= last), each.header.seq) for each in later]):
        rebuild(log, tables)


def _erase(log: LmdbLog, blobs: Iterator[tuple[int, int]], seq: int) -> int:
    """Delete blobs that still exist, for the erasure of commit ``seq``; returns how many."""
    present = [blob for blob in blobs if log.blob(*blob) is not None]
    if present:
        log.erase(present, seq)
    return len(present)


def _fill(source: LmdbLog, log: LmdbLog, tables: Tables, seq: int, gone: set[tuple[int, int]]) -> None:
    """Copy texts that commit ``seq`` put into places kept by earlier commits."""
    for event in log.events(seq).events:
        node = tables.node_of(event.lineage) if isinstance(event, events.Filled) else None
        if isinstance(event, events.Filled) and node is not None:
            row = tables.version(node, event.version)
            stored = source.blob(row.seq, row.position)
            if stored is not None and (row.seq, row.position) not in gone and log.blob(row.seq, row.position) is None:
                log.fill(row.seq, row.position, stored)


def _uncopied(seq: int, problem: str) -> errors.DamagedStore:
    return errors.DamagedStore(
        f"Commit {seq} cannot be copied: {problem}", "Run `worlddb verify` on the store that it is copied from", seq=seq
    )
