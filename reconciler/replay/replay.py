"""Replay a store into another directory, as of a commit, or as it would be without some commits.

A replay copies the log's records and derives the tables from them. With commits left out, it does so up to the first of
these. From there on each commit keeps its number, author and times, and its commands are decided again. A commit that
cannot be decided again is carried over if everything that it names is unchanged. A placeholder takes the place of each
commit left out, and the store is marked as hypothetical. Ids stay the same wherever the decision is the same.

A snapshot is a store as of a commit, kept beside the log: a replay to a later moment starts from the newest one before
it. Snapshots can be deleted at any time. Making one notes a digest of all its pairs in the store's data file; using one
compares it with that digest and with the log, and makes it again if it differs. An erasure deletes all snapshots, and
their notes in the transaction that erases.
"""

import os
import shutil
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import lmdb
import msgspec

from worlddb.log.model import errors, ids
from worlddb.log.store import scratch
from worlddb.log.store.environment import Environment
from worlddb.log.store.log import LmdbLog
from worlddb.projections import check, runner, scrub
from worlddb.projections.tables.apply.log_marks import refuse_supposed
from worlddb.projections.tables.storage import rows, schema
from worlddb.reconciler.backup import commit_copier
from worlddb.reconciler.backup.commit_copier import Copier
from worlddb.reconciler.replay import event_comparison, hypothetical_history
from worlddb.reconciler.replay.redecision import Decider

REPLAYER: Final = "replay"
"""The author of the commit that records erasures later than the moment of a replay."""


class Replayed(NamedTuple):
    """The last commit of a replay, its root hash, and whether that is the recorded one.

    ``hypothesis`` is what leaving commits out came to, if some were. ``snapshot`` is the commit of the snapshot that it
    started from, 0 for none: the tables up to there are what that had, by the digest that the store noted when it was
    made, and no events were replayed to come to them.
    """

    seq: int
    root: str
    matches_recorded: bool
    hypothesis: event_comparison.Hypothesis | None = None
    snapshot: int = 0


def replay(
    source: Environment,
    target: Environment,
    until: int,
    progress: runner.Progress | None = None,
    *,
    author: str = REPLAYER,
) -> Replayed:
    """Copy commits 1 to ``until`` as stored, and derive the tables from them.

    It starts from the nearest snapshot. If texts of these commits were erased later, a commit of ``author`` after them
    says so.

    Raises:
        DamagedStore: a commit is not what was written, or does not lead to the root that it recorded.
    """
    began = start_from_snapshot(source, target, until)
    commit_copier.Copier(source, target, author=author).copy(until, progress)
    with target.read() as txn:
        log, tables = LmdbLog(txn), rows.Tables(txn)
        found = tables.hash_row(0, until)
        if found is None:
            raise errors.DamagedStore(f"There was no commit up to {until}", "Replay to a later commit")
        root = found[1][:32]
        return Replayed(until, root.hex(), root == log.header(until).root, snapshot=began)


CHUNK_COMMITS: Final = 64
"""How many commits are decided in one transaction of the new store."""


def suppose(
    source: Environment,
    target: Environment,
    until: int,
    without: hypothetical_history.LeftOutCommits,
    decider: Decider,
    progress: runner.Progress | None = None,
) -> Replayed:
    """Replay commits 1 to ``until`` without some of them, into an empty store.

    Raises:
        DamagedStore: a commit is not what was written.
        InputError, HypotheticalStore: as :func:`first_left_out`.
    """
    first = first_left_out(source, until, without)
    began = replay(source, target, first - 1, author="").snapshot
    history = hypothetical_history.HypotheticalHistory(source, target, until, first, without, decider)
    same_count = 0
    differences: list[event_comparison.Redecision] = []
    with runner.collector_paused(is_much=True):
        for begin in range(first, until + 1, CHUNK_COMMITS):
            upto = min(begin + CHUNK_COMMITS - 1, until)
            unchanged, others = target.write(partial(history.apply_commits, begin, upto))
            same_count += unchanged
            differences.extend(others)
            if progress is not None:
                progress(upto, until)
    later = commit_copier.relevant_erasures(commit_copier.erasures_after(source, until).tied, first - 1)
    if later:
        target.write(lambda txn: commit_copier.append_erasures(LmdbLog(txn), rows.Tables(txn), later, REPLAYER))
    scrub.finish_erasures(target)
    with source.read() as theirs, target.read() as ours:
        recorded = LmdbLog(theirs).header(until).root.hex()
        row = rows.Tables(ours).hash_row(schema.ROOT_NODE, until)
        assert row is not None, "the root world has a hash since commit 1"
        hypothesis = event_comparison.Hypothesis(
            supposes=history.sentence,
            store_id=history.store_id.hex(),
            parted=first - 1,
            same=same_count,
            differing=tuple(differences),
        )
        root = row[1][: ids.HASH_BYTES].hex()
        return Replayed(until, root, root == recorded, hypothesis, began)


def first_left_out(source: Environment, until: int, without: hypothetical_history.LeftOutCommits) -> int:
    """The first commit to leave out.

    Raises:
        InputError: there is none, or one of them cannot be left out.
        HypotheticalStore: the source is hypothetical itself.
    """
    with source.read() as reading:
        refuse_supposed(rows.Tables(reading), "no further commits can be left out of it")
        return _find_first(LmdbLog(reading), until, without)


def _find_first(log: LmdbLog, until: int, without: hypothetical_history.LeftOutCommits) -> int:
    if min(without.commits, default=2) < 2:
        raise errors.InputError("Commit 1 created the store, so nothing is left without it", "Leave out later commits")
    beyond = max(without.commits, default=0)
    if beyond > until:
        raise errors.InputError(f"Commit {beyond} is not among commits 1 to {until}", "Name commits up to that moment")
    for seq in sorted(without.commits):
        if hypothetical_history.erases(log.events(seq)):
            raise errors.InputError(f"Commit {seq} erased texts, which cannot come back", "Keep it")
    wanted = (seq for seq in range(2, until + 1) if without.covers(log.header(seq)))
    first = next((seq for seq in wanted if not hypothetical_history.erases(log.events(seq))), 0)
    if not first:
        authors = ", ".join(repr(author) for author in sorted(without.authors))
        raise errors.InputError(
            f"No commit from 2 to {until} is by {authors or 'nobody'}", "Find the authors with `log`"
        )
    return first


_SNAPSHOT_KIND: Final = "snapshot"
_ATTEMPTS: Final = 3
"""How often a snapshot is started again because something was erased meanwhile."""
_SNAPSHOT_SECONDS: Final = 10.0


class Snapshot(NamedTuple):
    """A snapshot: its commit, the root hash there, and its size."""

    seq: int
    root: str
    size_bytes: int


def take_snapshot(source: Environment, seq: int, progress: runner.Progress | None = None) -> Snapshot:
    """Make a snapshot at a commit, from the nearest one before it.

    It replaces one that is there.

    Raises:
        DamagedStore: a commit is not what was written.
        UnavailableError: it cannot be written, or texts were erased again and again meanwhile.
    """
    for _ in range(_ATTEMPTS):
        try:
            made = scratch.run_with_tables(source.folder, lambda folder: _take_snapshot(source, folder, seq, progress))
        except OSError as error:
            raise errors.UnavailableError(
                f"A snapshot cannot be made in {source.folder}: {error}", "Check disk space and permissions"
            ) from error
        if made is not None:
            return made
    raise errors.UnavailableError("Erasures kept interrupting the snapshot", "Try again")


def start_from_snapshot(source: Environment, target: Environment, until: int) -> int:
    """Put the newest snapshot up to a commit into an empty target.

    Returns the commit of the snapshot, 0 for none.
    """
    for seq in sorted((seq for seq in check.list_snapshots(source.folder) if seq <= until), reverse=True):
        if _load_snapshot(source, target, seq):
            return seq
        with suppress(errors.WorldDBError):
            shutil.rmtree(check.snapshot_path(source.folder, seq), ignore_errors=True)
            take_snapshot(source, seq)
            if _load_snapshot(source, target, seq):
                return seq
    return 0


def _take_snapshot(source: Environment, folder: Path, seq: int, progress: runner.Progress | None) -> Snapshot | None:
    """Make a snapshot; it is not published if something was erased meanwhile."""
    unpublished = folder / "made"
    unpublished.mkdir()
    target = Environment(unpublished, author=_SNAPSHOT_KIND, timeout_seconds=_SNAPSHOT_SECONDS)
    try:
        start_from_snapshot(source, target, seq - 1)
        copier = Copier(source, target, kind=_SNAPSHOT_KIND)
        copier.copy(seq, progress)
        with target.read() as txn:
            log = LmdbLog(txn)
            root = log.header(seq).root.hex()
            digest = check.digest_of(txn)
            seal = check.Seal(log.chain(seq).hex(), digest.hex())
            is_scrubbed = log.scrub_due() is None
        size = target.size_bytes()
    finally:
        target.close()
    (unpublished / check.SEAL_FILE).write_bytes(msgspec.json.encode(seal))

    def publish(txn: lmdb.Transaction) -> bool:
        # Erasures commit under the same lock and delete what is in place afterwards.
        if copier.erased_since(LmdbLog(txn)):
            return False
        place = check.snapshot_path(source.folder, seq)
        place.parent.mkdir(exist_ok=True)
        shutil.rmtree(place, ignore_errors=True)
        os.replace(unpublished, place)
        LmdbLog(txn).note_snapshot(seq, digest)
        return True

    return Snapshot(seq, root, size) if is_scrubbed and source.write(publish) else None


def _load_snapshot(source: Environment, target: Environment, seq: int) -> bool:
    """Put a snapshot into an empty target if it verifies; false if it does not."""
    snapshot = check.open_snapshot(source, seq)
    if snapshot is None:
        return False
    try:
        snapshot.refuse_damaged_pages()
        with snapshot.read() as pairs, source.read() as reading:
            if not check.is_sound_snapshot(pairs, reading, seq):
                return False
            target.write(partial(_put_all, pairs))
    except (errors.DamagedStore, errors.NewerFormat):
        return False
    finally:
        snapshot.close()
    return True


def _put_all(source: lmdb.Transaction, txn: lmdb.Transaction) -> None:
    with source.cursor() as pairs, txn.cursor() as cursor:
        cursor.putmulti(pairs, append=True)
    if txn.stat()["entries"] != source.stat()["entries"]:
        raise errors.DamagedStore("The snapshot could not be read completely", "Make the snapshot again")
