"""Keep erased turns from an extractor, also those that are erased while it runs.

An extractor is called before the store is locked, and may be slow. Under the lock its input is checked once more: if
anything was erased meanwhile, the request starts again.
"""

from collections.abc import Sequence

from worlddb.log.model import events as ev
from worlddb.log.model import hashing
from worlddb.log.model.ids import Lineage
from worlddb.log.store.environment import Environment
from worlddb.log.store.log import LmdbLog
from worlddb.projections.tables.apply import log_marks
from worlddb.projections.tables.apply.apply import erasure_of
from worlddb.projections.tables.reads import table_reads
from worlddb.projections.tables.reads.asof import newest_version
from worlddb.projections.tables.storage.rows import Tables
from worlddb.projections.tables.storage.schema import ROOT_NODE
from worlddb.reconciler.commands import outcome
from worlddb.reconciler.commands.commands import BoundKey
from worlddb.reconciler.transaction import receipts, recorded_texts


class ExtractionGuard:
    """A check that the turns given to an extractor were not erased.

    ``seq`` is the commit that it looked at.
    """

    def __init__(self, env: Environment, idempotency_key: str | None) -> None:
        self._env = env
        self._key = idempotency_key
        self.seq: int | None = None

    def are_gone(self, keys: Sequence[str | BoundKey]) -> list[bool]:
        """Tell for each caller's key whether the text of its world was erased.

        For a request that was committed before, it tells whether the text was erased by then, so that a retry gives the
        same commands.
        """
        with self._env.read() as txn:
            log, tables = LmdbLog(txn), Tables(txn)
            secret = log_marks.secret_of(log)
            digest = receipts.key_digest(secret, self._key)
            committed = tables.keys.get(digest) if digest else None
            if committed is None:
                last = self.seq = log.head().seq
            else:
                last = int.from_bytes(committed, "big") - 1
            return [_was_erased_by(log, tables, _lineage_of(tables, secret, key), last) for key in keys]

    def container_of(self, ref: bytes | str | int) -> bytes | None:
        """The lineage of the world that a request writes into; ``None`` for the root world.

        Raises:
            UnknownReference: there is no such world.
            AmbiguousReference: several worlds share the prefix.
        """
        assert not isinstance(ref, int), "a request to take in turns is no part of a batch"
        with self._env.read() as txn:
            tables = Tables(txn)
            node = table_reads.find_node(tables, ref, LmdbLog(txn).head().seq)
            return None if node == ROOT_NODE else tables.node(node).lineage

    def require_nothing_erased(self, log: LmdbLog) -> None:
        """Raise :class:`outcome.OutdatedTexts` if anything was erased since."""
        since = range(log.head().seq if self.seq is None else self.seq, log.head().seq)
        if any(isinstance(event, ev.Erased) for seq in since for event in log.events(seq + 1).events):
            raise outcome.OutdatedTexts


def _lineage_of(tables: Tables, secret: bytes, key: str | BoundKey) -> Lineage:
    """The lineage that a caller's key stands for, found in the same way as by a decision."""
    if isinstance(key, str):
        return hashing.keyed_lineage(secret, key.encode())
    assert isinstance(key.world, bytes), "settled before"
    lineage = hashing.keyed_lineage(secret, key.text.encode())
    within = tables.node_of(Lineage(key.world))
    while within is not None and (node := tables.node_of(lineage)) is not None and not _inside(tables, node, within):
        lineage = hashing.keyed_lineage_within(secret, key.world, lineage)
    return lineage


def _inside(tables: Tables, node: int, container: int) -> bool:
    seen, pending = {node}, [node]
    for here in pending:
        if here == container:
            return True
        fresh = [above for above in tables.containers(here) if above not in seen]
        seen.update(fresh)
        pending += fresh
    return False


def _was_erased_by(log: LmdbLog, tables: Tables, lineage: bytes, last: int) -> bool:
    """True if the text of a world was gone as of commit ``last``."""
    node = tables.node_of(lineage)
    newest = None if node is None else newest_version(tables, node, last)
    if node is None or newest is None or recorded_texts.body_at(log, newest.row.seq, newest.row.position) is not None:
        return False
    if last == log.head().seq:
        return True
    erasure = erasure_of(tables, node)
    if erasure is None or erasure.seq <= last:
        return erasure is not None and erasure.seq > newest.row.seq
    # It was erased since; whether it had been before, too, only the log says.
    between = (log.events(seq + 1).events for seq in range(newest.row.seq, last))
    kinds = ev.Erased | ev.ErasedElsewhere
    return any(isinstance(event, kinds) and event.lineage == lineage for events in between for event in events)
