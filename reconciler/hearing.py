"""Which turns an extractor is given: what was erased stays so, and nothing is found in it again.

An extractor is called before the store is locked, and may be slow. What it was given is therefore looked at once more
under the lock: if anything was erased meanwhile, the request is begun again.
"""

from __future__ import annotations

from collections.abc import Sequence

from worlddb.log.model import events as ev
from worlddb.log.model.hashing import keyed_lineage
from worlddb.log.store.environment import Environment
from worlddb.log.store.log import LmdbLog
from worlddb.projections.tables.tables import Tables
from worlddb.reconciler.receipts import key_digest, secret_of
from worlddb.reconciler.stored import body_at


class Overtaken(Exception):
    """Something was erased between the extraction and the commit."""


class Hearing:
    """One look at the store, from which an extraction goes out; ``seq`` is the commit as of which it was made."""

    def __init__(self, env: Environment, idempotency_key: str | None) -> None:
        self._env = env
        self._key = idempotency_key
        self.seq: int | None = None

    def are_gone(self, keys: Sequence[str]) -> list[bool]:
        """Of callers' keys, whether the text of the world that each stands for is gone.

        None is of a request that was committed before: it is told from another one by what it came to then.
        """
        with self._env.read() as txn:
            log, tables = LmdbLog(txn), Tables(txn)
            secret = secret_of(log)
            digest = key_digest(secret, self._key)
            if digest and tables.keys.get(digest) is not None:
                return [False] * len(keys)
            self.seq = log.head().seq
            return [_is_gone(log, tables, keyed_lineage(secret, key.encode())) for key in keys]

    def see_that_it_holds(self, log: LmdbLog) -> None:
        """Raise :class:`Overtaken` if anything was erased since."""
        since = range(log.head().seq if self.seq is None else self.seq, log.head().seq)
        if any(isinstance(event, ev.Erased) for seq in since for event in log.events(seq + 1).events):
            raise Overtaken


def _is_gone(log: LmdbLog, tables: Tables, lineage: bytes) -> bool:
    node = tables.node_of(lineage)
    if node is None:
        return False
    newest = tables.version(node, tables.node(node).versions)
    return body_at(log, newest.seq, newest.position) is None
