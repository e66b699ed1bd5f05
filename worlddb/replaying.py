"""The calls that go through a history again: as it was, or decided anew by others."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from worlddb.log.model.errors import InputError, PlaceTaken
from worlddb.log.model.limits import HIGHEST_SEQ, MAX_AUTHOR_BYTES, checked_number, checked_text
from worlddb.log.model.times import TimeLike
from worlddb.log.store.copies import Copy, note_copy, refuse_inside
from worlddb.log.store.log import LmdbLog
from worlddb.reconciler.backup.snapshots import Snapshot
from worlddb.reconciler.backup.snapshots import take as take_snapshot
from worlddb.reconciler.edge_types.handler import EdgeHandler
from worlddb.reconciler.edge_types.registry import given_handlers
from worlddb.reconciler.pipeline import Writer
from worlddb.reconciler.replay.decide_again import Deciding
from worlddb.reconciler.replay.history import Without
from worlddb.reconciler.replay.redecide import Redecided
from worlddb.reconciler.replay.redecide import redecide as redecide_commits
from worlddb.reconciler.replay.replay import Replayed
from worlddb.reconciler.replay.replay import replay as replay_records
from worlddb.reconciler.replay.what_if import first_left_out, suppose
from worlddb.reconciler.similarity.thresholds import ByType, Resolving, Thresholds
from worlddb.reconciler.transaction.receipts import secret_of
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
        without: Iterable[int] = (),
        without_author: str | Iterable[str] = (),
        progress: Progress | None = None,
    ) -> Replayed:
        """Make the store as it was at an ingest time, commit or bookmark in a new directory, from the log alone.

        With ``without``, numbers of commits, or ``without_author``, make it as it would have been without them: later
        commits are decided again, by this handle's handlers and thresholds, and what comes of each that does not come
        out the same is told. Such a store says what it supposes, has an id of its own, cannot be written to and
        exports, signs and proves nothing.

        Raises:
            InputError: nothing had been committed by then, or what is to be left out is not there, or has to stay.
            PlaceTaken: the directory holds a store already; ``NotAStore``: it holds something else.
            HypotheticalStore: commits are to be left out of a store that is hypothetical itself.
            DamagedStore: a commit is not what was written.
        """
        left_out = _without(without, without_author)
        end = self.view(ingested=until, seq=seq, bookmark=bookmark).seq
        if not end:
            raise InputError("Nothing had been committed by then", "Replay to a later time")
        if left_out is not None:
            first_left_out(self._env, end, left_out)
        folder = folder_of(into)
        refuse_inside(self.path, folder)
        target = open_environment(folder, author=self.author, create=True, timeout_seconds=DEFAULT_TIMEOUT_SECONDS)
        try:
            if has_begun(target):
                raise PlaceTaken(f"{folder} already holds a store", "Name a new directory")
            head = self._reader.head()
            if left_out is None:
                made = replay_records(self._env, target, end, progress)
            else:
                made = suppose(self._env, target, end, left_out, self._deciding((), None), progress)
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
        in the place of this handle's thresholds, and of those that are set for worlds. Nothing is written to the store:
        scratch tables lie in the system's temporary directory meanwhile.

        Raises:
            InputError: one of ``edge_types`` is no handler or has the name of a built-in type; there is no such moment.
            DamagedStore: a commit is not what was written.
        """
        checked_number(first, "first", 0, HIGHEST_SEQ)
        last = self.view(ingested=until, seq=seq, bookmark=bookmark).seq
        self._reader.refuse_supposed("its commits were decided again already")
        return redecide_commits(self._env, self._deciding(edge_types, resolver), first, last, progress)

    def _deciding(self, edge_types: Iterable[EdgeHandler], resolver: Thresholds | ByType | None) -> Deciding:
        """This handle's handlers and thresholds, with others in the place of some."""
        with self._env.read() as txn:
            secret = secret_of(LmdbLog(txn))
        resolving = self._writer.resolving if resolver is None else Resolving(resolver, instead=True)
        return Deciding(self._ontology.deciding_with(given_handlers(edge_types)), resolving, secret)


def _without(commits: object, authors: object) -> Without | None:
    """What is to be left out; ``None`` for nothing."""
    if isinstance(commits, str | bytes) or not isinstance(commits, Iterable):
        raise InputError(f"without is {type(commits).__name__}", "Give the numbers of commits: without=[7, 9]")
    named = [authors] if isinstance(authors, str) else authors
    if not isinstance(named, Iterable) or isinstance(named, bytes):
        raise InputError(f"without_author is {type(named).__name__}", "Give a name, or a list of them")
    numbers = frozenset(checked_number(seq, "without", 1, HIGHEST_SEQ) for seq in commits)
    names = frozenset(checked_text(name, "without_author", MAX_AUTHOR_BYTES, empty=False) for name in named)
    return Without(numbers, names) if numbers or names else None
