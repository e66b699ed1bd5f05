"""Views of an open store."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from worlddb.log.model.environment import Clock
from worlddb.log.model.errors import InputError
from worlddb.log.model.limits import checked_number
from worlddb.log.model.times import TimeLike, parse_time
from worlddb.log.store.environment import Environment
from worlddb.log.store.log import LmdbLog
from worlddb.query.records import Proposal
from worlddb.query.spec import Spec
from worlddb.query.view import View
from worlddb.store import StoreReader

MAX_SEQ: Final = 2**63 - 1


class Viewing:
    """How an open store is read: through views, each pinned to a moment on both time axes."""

    path: Path
    _env: Environment
    _reader: StoreReader
    _clock: Clock
    _spec: Spec

    def view(self, *, valid: TimeLike | None = None, ingested: TimeLike | None = None, seq: int | None = None) -> View:
        """A pinned view: ``ingested`` (or the commit ``seq``) is what was known, ``valid`` what should have been true.

        ``ingested`` defaults to the head; ``valid`` to ``ingested`` if that was given, else to now.
        """
        if ingested is not None and seq is not None:
            raise InputError("Both ingested and seq were given", "Give one of them")
        with self._env.read() as txn:
            log = LmdbLog(txn)
            head = log.head().seq
            known = parse_time(ingested, "ingested") if ingested is not None else 0
            at = head if seq is None else seq
            if ingested is not None:
                at = log.seq_at(known)
            else:
                checked_number(at, "seq", -MAX_SEQ, MAX_SEQ)
                if not 0 <= at <= head:
                    raise InputError(f"There is no commit {at}", f"The store has commits 1 to {head}")
                known = log.header(at).ingest_time if at else 0
        past = ingested is not None or seq is not None
        default = known if past else max(self._clock.now(), known)
        return View(self._reader, at, known, default if valid is None else parse_time(valid, "valid"), self._spec)

    def proposals(self, *, status: str | None = "pending") -> list[Proposal]:
        """Staged identities; ``status=None`` for decided ones too."""
        return self.view().proposals(status=status)

    def full_ref(self, ref: Any) -> str:
        """The full hex id of the world that a reference or prefix stands for."""
        found = self.view().get(ref, include_superseded=True)
        assert found is not None, "a known world has a newest version"
        return found.ref
