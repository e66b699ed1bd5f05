"""The calls that go through a history again: as it was, or decided anew by others."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from worlddb.log.model.errors import InputError, NotAStore
from worlddb.log.model.limits import HIGHEST_SEQ, checked_number
from worlddb.log.model.times import TimeLike
from worlddb.log.store.copies import Copy, note_copy, refuse_inside
from worlddb.log.store.log import LmdbLog
from worlddb.reconciler.again.deciding import Deciding
from worlddb.reconciler.again.redeciding import Redecided
from worlddb.reconciler.again.redeciding import redecide as redecide_commits
from worlddb.reconciler.handler import EdgeHandler
from worlddb.reconciler.ontology import given_handlers
from worlddb.reconciler.pipeline import Writer
from worlddb.reconciler.receipts import secret_of
from worlddb.reconciler.replay import Replayed
from worlddb.reconciler.replay import replay as replay_records
from worlddb.reconciler.resolving.thresholds import ByType, Resolving, Thresholds
from worlddb.reconciler.snapshots import Snapshot
from worlddb.reconciler.snapshots import take as take_snapshot
from worlddb.store import DEFAULT_TIMEOUT_SECONDS, folder_of, has_begun, open_environment
from worlddb.viewing import Viewing

Progress = Callable[[int, int], None]


class Replaying(Viewing):
    """How the history of an open store is gone through again."""

    author: str
    _writer: Writer

    def snapshot(
        self,
        *,
        until: TimeLike | None = None,
        seq: int | None = None,
        bookmark: str | None = None,
        progress: Progress | None = None,
    ) -> Snapshot:
        """Keep the store as it is, or was, beside the log, so that a replay to a later moment starts from there.

        It is as large as the store was then and may be deleted at any time. An erasure deletes all of them.

        Raises:
            InputError: nothing had been committed by then.
            DamagedStore: a commit is not what was written.
        """
        end = self.view(ingested=until, seq=seq, bookmark=bookmark).seq
        if not end:
            raise InputError("Nothing had been committed by then", "Take a snapshot of a later time")
        return take_snapshot(self._env, end, progress)

    def replay(
        self,
        into: str | Path,
        *,
        until: TimeLike | None = None,
        seq: int | None = None,
        bookmark: str | None = None,
        progress: Progress | None = None,
    ) -> Replayed:
        """Make the store as it was at an ingest time, commit or bookmark in a new directory, from the log alone."""
        end = self.view(ingested=until, seq=seq, bookmark=bookmark).seq
        if not end:
            raise InputError("Nothing had been committed by then", "Replay to a later time")
        folder = folder_of(into)
        refuse_inside(self.path, folder)
        target = open_environment(folder, author=self.author, create=True, timeout_seconds=DEFAULT_TIMEOUT_SECONDS)
        try:
            if has_begun(target):
                raise NotAStore(f"{folder} already holds a store", "Name a new directory")
            head = self._reader.head()
            made = replay_records(self._env, target, end, progress)
            note_copy(self.path, Copy("replay", str(folder.resolve()), end, head))
            return made
        finally:
            target.close()

    def redecide(
        self,
        *,
        edge_types: Iterable[EdgeHandler] = (),
        resolver: Thresholds | ByType | None = None,
        first: int = 1,
        until: TimeLike | None = None,
        seq: int | None = None,
        bookmark: str | None = None,
        progress: Progress | None = None,
    ) -> Redecided:
        """Decide the commits from ``first`` to a moment (default: the last) again, and say which come out differently.

        Each is decided on the state that it was decided on then, from the commands that were kept beside its events.
        The handlers in ``edge_types`` decide in the place of those that are registered for their types; ``resolver``
        in the place of this handle's thresholds. Nothing is written to the store: scratch tables lie in the system's
        temporary directory meanwhile.

        Raises:
            InputError: one of ``edge_types`` is no handler or has the name of a built-in type; there is no such moment.
            DamagedStore: a commit is not what was written.
        """
        checked_number(first, "first", 0, HIGHEST_SEQ)
        last = self.view(ingested=until, seq=seq, bookmark=bookmark).seq
        with self._env.read() as txn:
            secret = secret_of(LmdbLog(txn))
        resolving = self._writer.resolving if resolver is None else Resolving(resolver)
        deciding = Deciding(self._ontology.deciding_with(given_handlers(edge_types)), resolving, secret)
        return redecide_commits(self._env, deciding, first, last, progress)
