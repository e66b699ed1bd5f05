"""Calls that need no open store.

Stores are compared, diagnosed, restored and upgraded by their directories; bundles, proofs and checkpoints are checked
and signed as files and texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from worlddb.database import Database, open
from worlddb.log.model import errors, ids, limits, signed_note, times
from worlddb.log.model.checkpoint import anchor_of, read_checkpoint
from worlddb.log.model.clock import Clock, Entropy, SystemClock, SystemEntropy
from worlddb.log.model.proof import Inclusion, ProofCheck, check, read_proof
from worlddb.log.store import bundle_contents, copies, environment
from worlddb.log.store.log import LmdbLog
from worlddb.projections.tables.storage.schema import LAYOUT
from worlddb.query.diff.bundle_diff import StoreMoment, diff_bundles
from worlddb.query.diff.comparison import Asked
from worlddb.query.diff.comparison import diff as diff_readers
from worlddb.query.diff.diff_side import Difference
from worlddb.reconciler.backup import backups
from worlddb.reconciler.diagnostics import examination, installation
from worlddb.reconciler.edge_types import handler, registry
from worlddb.reconciler.edge_types.builtin_types import DEFAULT_ONTOLOGY
from worlddb.store import (
    DEFAULT_TIMEOUT_SECONDS,
    backup_into,
    folder_of,
    has_begun,
    is_own,
    is_regular_file,
    open_environment,
)

if TYPE_CHECKING:
    from worlddb.log.beliefs.recall_receipt import RecallCheck, RecallProof, RecallReceipt


@limits.typed_arguments
def diff(
    a: str | Path,
    b: str | Path | None = None,
    *,
    world: Any = None,
    at_a: times.TimeLike | None = None,
    at_b: times.TimeLike | None = None,
    seq_a: int | None = None,
    seq_b: int | None = None,
    by: str | None = None,
    deep: bool | None = None,
) -> Difference:
    """Compare two stores, or two moments of one.

    The result lists the worlds that differ, and the events that made the difference.

    Either side may be a bundle, which is checked first. Its world is then compared with the same world of the other
    side, and with nothing around it; for that, ``by``, ``deep`` and a moment of the bundle cannot be asked for.

    Args:
        a, b: a store's directory or a bundle. Without ``b``, ``a`` is compared with itself at another moment.
        world: only this world and what it contains.
        at_a, at_b: the moment of either side, an ingest time (default: now); or its commit, ``seq_a`` and ``seq_b``.
        by: how worlds of stores without a common history are matched: ``path`` (of names) or ``key`` (provenance as
            importers write it, then names). By default worlds are matched by their lineages and compared by hashes.
        deep: compare the stored bytes too. By default that is done if nothing else differs; ``False`` never does it.

    Raises:
        InvalidBundle: a bundle does not hold, or the file is none.
        UnknownReference: neither side has ``world``, or one does not have the bundle's world.
        InputError: nothing had been committed by then, or what was asked for does not go together.
    """
    files = [is_regular_file(folder_of(side)) for side in (a, a if b is None else b)]
    if any(files):
        _check_asked(files, [(at_a, seq_a), (at_b, seq_b)], b is None, by, deep)
        with _open_side(a, at_a, seq_a) as left, _open_side(a if b is None else b, at_b, seq_b) as right:
            return diff_bundles(left, right, None if world is None else ids.as_ref(world))
    with open(a, create=False) as one, open(a if b is None else b, create=False) as other:
        asked = Asked(
            world=None if world is None else _ref_in_either(one, other, world),
            by=by,
            seq_a=None if at_a is None and seq_a is None else one.view(ingested=at_a, seq=seq_a).seq,
            seq_b=None if at_b is None and seq_b is None else other.view(ingested=at_b, seq=seq_b).seq,
            # A store's bytes are those of itself.
            deep=False if one.path.resolve() == other.path.resolve() else deep,
        )
        return diff_readers(one._reader, other._reader, asked)


@contextmanager
def _open_side(
    path: str | Path, at: times.TimeLike | None, seq: int | None
) -> Iterator[bundle_contents.Contents | StoreMoment]:
    """Open one side of a comparison: a bundle, checked and read, or a store at a moment."""
    if Path(path).is_file():
        yield bundle_contents.read_contents(folder_of(path))[1]
        return
    with open(path, create=False) as db:
        yield StoreMoment(db._reader, db._reader.store_id, db.view(ingested=at, seq=seq).seq)


def _check_asked(
    files: list[bool], moments: list[tuple[Any, Any]], alone: bool, by: str | None, deep: bool | None
) -> None:
    """Refuse what a bundle cannot answer: it holds one moment of one world, and no log."""
    if alone:
        raise errors.InputError(
            "A bundle holds one moment, and there is nothing to compare it with", "Name another side"
        )
    for label, is_file, moment in zip("ab", files, moments, strict=True):
        if is_file and moment != (None, None):
            raise errors.InputError(
                f"{label} is a bundle, which has only one moment", "Leave the moment out, or give that of the store"
            )
    if by is not None or deep:
        raise errors.InputError(
            "A bundle is compared by the ids and hashes in it, all of which are computed anew"
            f" ({'by' if by is not None else 'deep'} was asked for)",
            "Leave that out; or import the bundle into a store of its own, and compare that",
        )


def _ref_in_either(left: Database, right: Database, world: Any) -> str:
    """The full reference of a world that either store knows."""
    try:
        return left.full_ref(world)
    except errors.UnknownReference:
        return right.full_ref(world)


@limits.typed_arguments
def diagnose(
    path: str | Path | None = None,
    *,
    deep: bool = False,
    edge_types: Iterable[handler.EdgeHandler] = (),
    clock: Clock | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> installation.Diagnosis:
    """Find and explain what is wrong with the installation and, with ``path``, with a store.

    It changes nothing in the store, and works on a store that does not open; as any reader it makes LMDB's lock file
    if there is none. With ``deep`` every row of the tables is compared with what the log says, by scratch tables in
    the store's directory, which are removed again. ``edge_types`` are the handlers that this process has.

    Raises:
        InputError: the path is none; one of ``edge_types`` is no handler.
    """
    limits.checked_flag(deep, "deep")
    limits.checked_callable(progress, "progress")
    limits.checked_callable(clock, "clock", "now")
    if path is None:
        return examination.examine_installation()
    folder = folder_of(path)
    return examination.examine(
        folder, registry.Ontology(DEFAULT_ONTOLOGY, edge_types), clock or SystemClock(), deep=deep, progress=progress
    )


@limits.typed_arguments
def restore(
    backup: str | Path,
    into: str | Path,
    *,
    erasures_of: str | Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> backups.Restored:
    """Make a store from a backup, in an empty or new directory.

    Every commit and text is checked. Texts that ``erasures_of``, an original that still exists, has erased since the
    backup are left out. A directory that is no backup is refused before anything is written. An interrupted restore
    leaves a directory that refuses writes: repeat the call to continue.

    Raises:
        NotAStore: there is no backup in the directory.
        PlaceTaken: the new directory is not empty, and holds no beginning of the same restore.
        NotABackup: the directory holds a store that is no backup.
        BackupMismatch: the original is another store.
        DamagedStore: a commit of the backup is not what was written.
    """
    limits.checked_callable(progress, "progress")
    source, target = folder_of(backup, "backup"), folder_of(into, "into")
    copies.refuse_inside(source, target)
    with ExitStack() as opened:
        try:
            ours = _open(opened, source)
        except errors.NotAStore as error:
            raise errors.NotAStore(error.message, "Name the directory that `worlddb backup` wrote to") from None
        original = None if erasures_of is None else _open(opened, folder_of(erasures_of, "erasures_of"))
        if target.is_dir() and any(target.iterdir()) and not _is_begun(target):
            raise errors.PlaceTaken(f"{target} is not empty", "Name an empty or a new directory")

        def settle(restored: environment.Environment, seq: int) -> None:
            for known in (ours, *([] if original is None else [original])):
                copies.inherit_notes(known, restored, seq)
            copies.note_copy(restored, copies.Copy(copies.BACKUP, str(source.resolve()), seq, seq))

        return backups.restore(ours, lambda: _open(opened, target, create=True), settle, original, progress)


def _is_begun(folder: Path) -> bool:
    """True if a folder that is not empty holds only what an interrupted restore leaves."""
    try:
        with ExitStack() as opened, _open(opened, folder, create=True).read() as txn:
            log = LmdbLog(txn)
            if log.check_format():
                return log.copy_kind() == copies.RESTORING
    except errors.WorldDBError:
        return False
    return all(is_own(entry.name) for entry in folder.iterdir())


def _open(opened: ExitStack, folder: Path, *, create: bool = False) -> environment.Environment:
    env = open_environment(folder, author=backups.RESTORER, create=create, timeout_seconds=DEFAULT_TIMEOUT_SECONDS)
    return opened.enter_context(closing(env))


@limits.typed_arguments
def upgrade(
    path: str | Path, *, backup: str | Path | None = None, progress: Callable[[int, int], None] | None = None
) -> backups.Upgraded:
    """Upgrade a store that an older release wrote, in place; a current one is left alone.

    First a backup is made in the directory ``backup`` (default: beside the store, its name with
    ``.before-upgrade-N``, where N is the layout that the tables get), every commit and text checked on the way. Then
    the tables are derived from the log in one transaction. Erasures that older releases kept beside the log are taken
    into it and listed, once; nothing proves them. The next call continues an interrupted upgrade, and does not repeat
    the backup.

    Raises:
        NotAStore: there is no store at the path, or ``backup`` holds something else.
        NewerFormat: a newer release wrote it.
        BackupMismatch: ``backup`` holds a store (``NotABackup``), or a backup of another one.
        HypotheticalStore: the store is hypothetical; make it again instead.
        DamagedStore: a commit is not what was written.
    """
    limits.checked_callable(progress, "progress")
    folder = folder_of(path)
    whole = folder.resolve()
    into = whole.with_name(f"{whole.name}.before-upgrade-{LAYOUT}") if backup is None else folder_of(backup, "backup")
    with closing(
        open_environment(folder, author=backups.UPGRADER, create=False, timeout_seconds=DEFAULT_TIMEOUT_SECONDS)
    ) as env:
        if not has_begun(env):
            raise errors.NotAStore(f"There is no store at {folder}", "Check the path")
        back_up = partial(backup_into, env, into, backups.UPGRADER, progress)
        return backups.upgrade(env, back_up, str(into), SystemClock().now(), progress)


@limits.typed_arguments
def check_bundle(
    path: str | Path, *, head: str | bytes | None = None, keys: Sequence[str] = ()
) -> bundle_contents.Bundle:
    """Check a whole bundle without a store.

    Every id and every world hash is checked, and that nothing is missing.

    With the text of a ``head``, the bundle's proof must lead from it to the world hash, so that the world is what the
    exporting store had. Each verifier key in ``keys`` must have signed the head.

    Raises:
        InvalidBundle: it does not hold; which frame, and why.
        UnprovedBundle: the head does not stand for it: no proof, or one for another head.
        NewerFormat: it was made by a newer release.
        MalformedFile: the head is no checkpoint.
    """
    anchor = None if head is None and not keys else anchor_of(head, keys)
    with bundle_contents.open_checked_bundle(folder_of(path, "The bundle's path")) as frames:
        bundle = frames.bundle()
        if anchor is not None:
            frames.require_head(anchor)
        return bundle


class KeyPair(NamedTuple):
    """A new Ed25519 key as two lines of text: ``signing`` is secret, ``verifier`` is public.

    Their forms are those of signed notes, so that other programs for transparency logs read them.
    """

    signing: str
    verifier: str

    def __repr__(self) -> str:
        return f"<worlddb.KeyPair {self.verifier}>"


@limits.typed_arguments
def new_key(name: str, *, entropy: Entropy | None = None) -> KeyPair:
    """A new Ed25519 key to sign checkpoints with, under the name of its holder.

    Raises:
        InputError: the name is empty, too long, or holds white space or a plus.
    """
    source = limits.checked_callable(entropy, "entropy", "bytes") or SystemEntropy()
    key = signed_note.SigningKey(signed_note.checked_key_name(name), source.bytes(signed_note.SEED_BYTES))
    return KeyPair(str(key), str(key.verifier))


@limits.typed_arguments
def sign_checkpoint(checkpoint: str | bytes, signing_key: str) -> str:
    """Add a signature to a checkpoint, below those that it has.

    The content of the checkpoint is not checked: a witness must first check that it extends the one that it signed
    before.

    Raises:
        MalformedFile: it is no checkpoint.
        InputError: the key is no signing key.
    """
    _, note = read_checkpoint(checkpoint, "the checkpoint")
    return signed_note.note_text(signed_note.sign(note, signed_note.parse_signing_key(signing_key)))


@limits.typed_arguments
def check_proof(proof: str | bytes, *heads: str | bytes, keys: Sequence[str] = ()) -> ProofCheck:
    """Check a proof against a head; no store is needed. A proof that fails raises nothing.

    A proof of inclusion is held against the one head that it was made for, a proof of consistency against the old
    head, the new one, or both in that order. Each verifier key in ``keys`` must have signed every head that is given.

    Raises:
        MalformedFile, LimitExceeded: the proof is no proof, or a head is no checkpoint.
        InputError: there is no head, or a key is no verifier key.
    """
    if not heads:
        raise errors.InputError("There is no head to hold the proof against", "Give the text of a checkpoint")
    return check(read_proof(proof), [anchor_of(head, keys) for head in heads])


@limits.typed_arguments
def check_recall(
    receipt: RecallReceipt | str | bytes,
    question: str | None = None,
    *,
    proof: RecallProof | str | bytes | None = None,
    head: str | bytes | None = None,
    keys: Sequence[str] = (),
    consistency: str | bytes | None = None,
    **filters: Any,
) -> RecallCheck:
    """Check the receipt of an exact recall without its store, as far as that can be done.

    Its hash; with ``question`` (and the ``filters`` that hold texts) that it is of that question; with ``proof``, as
    :meth:`Database.prove_recall` makes it, that what it names was in the store at its head; with ``head``, a checkpoint
    that was kept elsewhere, that this is the store's, by a proof of ``consistency`` if it has another number of
    commits. Each verifier key in ``keys`` must have signed that head. Only :meth:`Database.check_recall` asks again.

    Raises:
        MalformedFile, LimitExceeded: the receipt, the proof or the head is none.
        InputError: there is no such filter, or a key is no verifier key.
    """
    from worlddb.log.beliefs import recall_receipt

    if question is None and filters:
        raise errors.InputError("Filters were given, and no question", "Give the question, too")
    grown = None if consistency is None else read_proof(consistency, "the proof of consistency")
    if isinstance(grown, Inclusion):
        raise errors.InputError("The proof of consistency is one of inclusion", "Give what prove_consistency made")
    return recall_receipt.check_offline(
        recall_receipt.read_recall_receipt(receipt),
        None if question is None else recall_receipt.question_of(question, filters),
        None if proof is None else recall_receipt.read_proofs(proof),
        None if head is None and not keys else anchor_of(head, keys),
        grown,
    )
