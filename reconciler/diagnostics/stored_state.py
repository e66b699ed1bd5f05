"""Check what is stored: the log as it was written, and tables, indexes and vectors whole and up to date.

The checks of the log cover its pages, its chain of commits, and its last time against the clock. The code that derived
state needs is checked too.
"""

import errno
import os
import shlex
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Final, cast

from worlddb.log.accounts import secrets_file, usage_file
from worlddb.log.model import errors, times
from worlddb.log.model.clock import Clock, now_of
from worlddb.log.store import copies, environment, verify
from worlddb.log.store.log import LmdbLog
from worlddb.projections import check, runner
from worlddb.projections.indexes import fields, vector_base
from worlddb.projections.indexes.index_check import index_findings
from worlddb.projections.indexes.text_index import TextIndex, damaged_files, folder_stamp
from worlddb.projections.tables.accounts import account_rows
from worlddb.projections.tables.apply import log_marks, settings
from worlddb.projections.tables.reads.asof import space_in_use, spaces
from worlddb.projections.tables.storage import rows, schema
from worlddb.reconciler.diagnostics import installation, location
from worlddb.reconciler.diagnostics.installation import describe_missing, missing_extra
from worlddb.reconciler.edge_types.registry import Ontology
from worlddb.reconciler.embedding import multilingual, static_embedder, vectors_of_texts
from worlddb.reconciler.embedding.minilm import MODEL as MINILM_MODEL

FAR_BEHIND: Final = 10_000
"""Commits that an index may be behind without a word: the next search that needs them takes them in."""
_EXTRAS: Final = {MINILM_MODEL: "embed", multilingual.MODEL: "languages"}
"""The extra that a model is of."""
_SHIPPED: Final = (static_embedder.MODEL, *_EXTRAS)
"""The models that `worlddb embed` runs without being told."""
MANY_PENDING: Final = 1_000
"""How far texts without a vector are counted."""


def layout(env: environment.Environment) -> Iterator[installation.Symptom]:
    """Check that the tables have the layout of this release."""
    try:
        with env.read() as txn:
            found = rows.Tables(txn).layout()
    except errors.NewerFormat as error:
        yield newer_format(env.folder, error)
        return
    if found != schema.LAYOUT:
        yield installation.Symptom(
            "older_tables",
            True,
            str(env.folder),
            f"The tables have layout {found}, and this release reads and writes layout {schema.LAYOUT}",
            "Nothing can be read or written until they are derived again",
            "Upgrade the store; it makes a backup first",
            installation.command_for(env.folder, "upgrade"),
        )


def newer_format(folder: Path, error: errors.NewerFormat) -> installation.Symptom:
    """The symptom of a store of a later release."""
    clone = installation.clone()
    return installation.Symptom(
        "newer_format",
        True,
        str(folder),
        error.message,
        "This release does not know all of its contents, and refuses to guess",
        "Upgrade WorldDB; the store itself is untouched",
        "pip install --upgrade worlddb" if clone is None else f"git -C {shlex.quote(str(clone))} pull",
    )


def tables(
    env: environment.Environment, deep: bool, progress: runner.Progress | None = None
) -> Iterator[installation.Symptom]:
    """Check that the tables are level with the log and lead to the root that it recorded.

    With ``deep``, check that every row is what the log says.
    """
    with env.read() as txn:
        log = LmdbLog(txn)
        last = log.last_stored()
        findings = check.head_findings(log, rows.Tables(txn))
    if deep and not findings:
        findings = check.compare_with_replay(env, last, progress)
    if not findings:
        findings = check.tree_findings(env, last)
    yield from (_wrong_tables(env.folder, finding) for finding in findings)


def _wrong_tables(folder: Path, finding: verify.Finding) -> installation.Symptom:
    return installation.Symptom(
        "tables_wrong",
        True,
        f"{folder}, tables",
        finding.problem,
        "Reads use the tables, so answers may be wrong; the log itself is intact",
        "Derive them from the log again",
        installation.command_for(folder, "rebuild tables"),
    )


def contents(env: environment.Environment, deep: bool) -> Iterator[installation.Symptom]:
    """Check that the indexes agree with the log: by their witnesses, and with ``deep`` entry by entry."""
    for found in index_findings(env, deep=deep):
        yield _index_damaged(env.folder, found.folder, found.problem, found.name)


def snapshots(
    env: environment.Environment, deep: bool, progress: runner.Progress | None = None
) -> Iterator[installation.Symptom]:
    """Check that snapshots match their noted digests, and with ``deep`` that they match a replay."""
    for finding in check.snapshot_findings(env, deep=deep, progress=progress):
        why = (
            "A replay that starts from it creates a store that never existed"
            if finding.is_used
            else "A replay creates it again"
        )
        yield installation.Symptom(
            "snapshot_damaged",
            finding.is_used,
            str(finding.folder),
            finding.problem,
            f"{why}; the log holds its whole content",
            "Delete it",
            f"rm -r {installation.quoted(finding.folder)}",
        )


def text_index(env: environment.Environment) -> Iterator[installation.Symptom]:
    """Check that the text index is whole, belongs to this store, and is near the head."""
    folder = env.folder / environment.INDEX_FOLDER / "text"
    if folder_stamp(folder) is None:
        return  # None yet; the first search makes it.
    _require_accessible(folder)
    damaged = damaged_files(folder)
    if damaged:
        yield _index_damaged(
            env.folder, folder, f"These files were changed after they were written: {', '.join(damaged)}", "text"
        )
        return
    marker = TextIndex.open(folder).marker
    yield from _behind(env, folder, marker, "text")


def vector_indexes(env: environment.Environment) -> Iterator[installation.Symptom]:
    """Check that the index of each embedding space is readable, belongs to this store, and is near the head."""
    with env.read() as txn:
        opened = list(spaces(rows.Tables(txn)))
    for number, _ in opened:
        folder = env.folder / environment.INDEX_FOLDER / f"vectors-{number}"
        if vector_base.folder_stamp(folder) is None:
            continue  # A short list of vectors needs none.
        _require_accessible(folder)
        base = vector_base.load(folder)
        if base is None and vector_base.is_older(folder):
            continue  # Of an earlier release: it is left aside, and made anew with the next vectors.
        if base is None:
            yield _index_damaged(env.folder, folder, "It cannot be read", "vectors")
        else:
            yield from _behind(env, folder, base.marker, "vectors")


def _require_accessible(folder: Path) -> None:
    """Raise unless this process may open every file of an index.

    Whoever may not open an index, for which its folder is written to, cannot say that it is damaged.

    Raises:
        PermissionError: there is such a file.
    """
    for file in sorted(folder.iterdir()):
        if not location.is_accessible(file):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(file))


def _index_damaged(store: Path, folder: Path, what: str, name: str) -> installation.Symptom:
    return installation.Symptom(
        "index_damaged",
        True,
        str(folder),
        what,
        "Searches may miss texts, or are slow until it is rebuilt; the log holds its whole content",
        "Rebuild it from the log",
        installation.command_for(store, f"rebuild {name}"),
    )


def _behind(
    env: environment.Environment, folder: Path, marker: fields.Marker | None, name: str
) -> Iterator[installation.Symptom]:
    with env.read() as txn:
        log = LmdbLog(txn)
        head = log.head().seq
        ours = (
            marker is not None
            and marker.store_id == log_marks.identity_of(log, rows.Tables(txn))
            and marker.seq <= head
        )
        ours = ours and marker is not None and log.chain(marker.seq) == marker.chain
    if marker is None or not ours:
        yield _index_damaged(env.folder, folder, "It belongs to another store, or to another history of this one", name)
    elif head - marker.seq > FAR_BEHIND:
        yield installation.Symptom(
            "index_behind",
            False,
            str(folder),
            f"It covers commits up to {marker.seq:,}, and the log ends at {head:,}",
            "The next search first adds the missing commits, so it takes longer; nothing is missed",
            "Update it now if searches must be fast",
            installation.command_for(env.folder, f"rebuild {name}"),
        )


def vectors_pending(env: environment.Environment) -> Iterator[installation.Symptom]:
    """Check for texts without a vector."""
    count = 0
    with env.read() as txn:
        log, known = LmdbLog(txn), rows.Tables(txn)
        space = space_in_use(log, known)
        for _ in vectors_of_texts.pending(log, known, space):
            count += 1
            if count > MANY_PENDING:
                break
    if count:
        told = f"more than {MANY_PENDING:,}" if count > MANY_PENDING else f"{count:,}"
        yield installation.Symptom(
            "vectors_pending",
            False,
            str(env.folder),
            f"{told} texts have no vector yet" if count > 1 else "One text has no vector yet",
            "Searches find them by words, not by meaning",
            f"Embed them with the model {static_embedder.MODEL if space is None else space.model}",
            installation.command_for(
                env.folder, "embed" if space is None or space.model in _SHIPPED else "embed --embedder NAME"
            ),
        )


def models(env: environment.Environment) -> Iterator[installation.Symptom]:
    """Check that the extra is installed that the model of the embedding space in use needs."""
    with env.read() as txn:
        space = space_in_use(LmdbLog(txn), rows.Tables(txn))
    extra = None if space is None else _EXTRAS.get(space.model)
    if space is not None and extra is not None and (unmet := describe_missing(extra)):
        why = f"The store's vectors are from {space.model}; without that model questions are compared by words alone"
        yield missing_extra(extra, unmet, why)


def handlers(env: environment.Environment, ontology: Ontology) -> Iterator[installation.Symptom]:
    """Check that this process has the code of every registered edge type."""
    codes = ontology.codes
    with env.read() as txn:
        head = LmdbLog(txn).head().seq
        known = [one for one in settings.registered(rows.Tables(txn), head) if not one.is_built_in and one.laws is None]
    lacking = sorted({one.type for one in known if (one.type, one.row.handler_version, one.row.digest) not in codes})
    if lacking:
        yield installation.Symptom(
            "handler_missing",
            False,
            str(env.folder),
            f"This process has no handler for registered edge types: {', '.join(lacking)}",
            "It reads everything, marks where a handler would have changed an answer, and refuses new edges "
            "of these types",
            "Programs that write such edges open the store with edge_types=[...]; the command line cannot write them",
            installation.command_for(env.folder, "types"),
        )


def hypothetical(env: environment.Environment) -> Iterator[installation.Symptom]:
    """Check whether the store is hypothetical."""
    with env.read() as txn:
        told = log_marks.supposition_sentence(LmdbLog(txn), rows.Tables(txn))
    if told:
        yield installation.Symptom(
            "hypothetical",
            False,
            str(env.folder),
            f"The store is hypothetical: {told}",
            "It cannot be written to, exported, signed or used for proofs",
            "For what happened, use the store that it was made from",
            "",
        )


FULL_SHARE: Final = 0.8
"""A map that is fuller than this grows soon, which needs a moment without readers."""
_SECOND: Final = 1_000_000
_AHEAD: Final = 60 * _SECOND
"""How far the last commit may be ahead of the clock: two machines' clocks differ by a little."""


def pages(env: environment.Environment) -> Iterator[installation.Symptom]:
    """Check that the page structure of the data file is readable."""
    yield from _damaged(env.folder, verify.page_findings(env.damaged_pages()))


def chain(env: environment.Environment, progress: runner.Progress | None = None) -> Iterator[installation.Symptom]:
    """Check that every commit, event and text is what was written."""

    def read(work: Callable[[LmdbLog], object]) -> object:
        with env.read() as txn:
            return work(LmdbLog(txn))

    with env.read() as txn:
        log = LmdbLog(txn)
        last, head, due = log.last_stored(), log.head().seq, log.scrub_due()
        beside = list(copies.list_lost_lines(env.folder, log))
        gaps = [verify.Finding(0, problem) for problem in copies.list_lost_notes(log)]
    _, findings = verify.verify_log(read, last, progress=progress)
    if head != last:
        told = f"the log records its end at {head}, but its last commit is {last}"
        findings.append(verify.Finding(min(head, last) + 1, told))
    if due is not None:
        findings = [finding for finding in findings if finding.problem != verify.UNFINISHED]
        yield _chain_unfinished(env.folder, due)
    yield from _damaged(env.folder, sorted([*findings, *gaps]))
    if not findings and not gaps:
        for remark in cast(list[verify.Finding], read(lambda log: [*verify.list_unproved_erasures(log)])):
            yield installation.Symptom(
                "erasure_unproven",
                False,
                f"{env.folder}, commit {remark.seq}",
                remark.problem,
                "Anyone who could write to the files then may have deleted a text and invented the erasure",
                "Ask who kept the store then; if there was no erasure, restore a backup from before",
                installation.command_for(env.folder, f"log --from {remark.seq} --to {remark.seq}"),
            )
    for problem in beside:
        yield installation.Symptom(
            "copies_altered",
            False,
            str(env.folder / copies.COPIES_FILE),
            problem,
            "Somebody deleted the list, perhaps to hide a copy",
            "Make another copy, such as a backup: that writes the list again",
            installation.command_for(env.folder, "backup PLACE"),
        )


def _damaged(folder: Path, findings: list[verify.Finding]) -> Iterator[installation.Symptom]:
    """The symptom with the first finding and the number of all; `worlddb verify` lists them."""
    if not findings:
        return
    first, *others = findings
    more = f" (and {len(others):,} more findings: see `worlddb verify`)" if others else ""
    yield installation.Symptom(
        "damaged",
        True,
        f"{folder}, commit {first.seq}" if first.seq else f"{folder}, outside the commits",
        first.problem + more,
        "Something other than the engine changed the file. Commits before the first bad one can be trusted",
        "Restore the store from a backup that is older than the damage, and check the disk",
        installation.restore_command(folder),
    )


def _chain_unfinished(folder: Path, seq: int) -> installation.Symptom:
    return installation.Symptom(
        "erasure_unfinished",
        True,
        f"{folder}, commit {seq}",
        "An erasure is unfinished: the erased bytes may still lie in the files",
        "Somebody was promised that these bytes are gone",
        "Close all programs that have the store open, make sure that the disk has room, and open the store "
        "once: that finishes the erasure",
        installation.command_for(folder, "stats"),
    )


def moment(env: environment.Environment, clock: Clock) -> Iterator[installation.Symptom]:
    """Check that the clock is not behind the last commit."""
    try:
        with env.read() as txn:
            log = LmdbLog(txn)
            head = log.head().seq
            last = log.header(head).ingest_time if head else 0
    except errors.WorldDBError:
        return  # The check of the chain reports unreadable commits.
    now = now_of(clock)
    behind = last - now
    if behind > _AHEAD:
        told, said = times.format_time(last), times.format_time(now)
        lag = str(timedelta(seconds=behind // _SECOND))
        yield installation.Symptom(
            "clock_behind",
            True,
            f"commit {head}",
            f"The last commit has the time {told}, and the clock shows {said}: it is {lag} behind",
            "Until the clock passes that time, 'now' stands still: commits are a microsecond apart, "
            "validities begin too late, and deadlines pass late",
            "Set the clock if it is wrong. If the commit's clock was wrong, wait; until then a time that you "
            "give (--since, --valid-from, --valid) is exact",
            "timedatectl status",
        )


def map_size(env: environment.Environment, reserved: int, used: int) -> Iterator[installation.Symptom]:
    """Check that the data file has space left in its memory map."""
    if used > FULL_SHARE * reserved:
        yield installation.Symptom(
            "map_nearly_full",
            False,
            str(env.folder),
            f"{used:,} of {reserved:,} bytes of the memory map are used",
            "It grows by itself, but first every transaction of a process has to end; less than usual was reserved",
            "Raise the limit on the address space, if there is one",
            "ulimit -v unlimited",
        )


def access_keys(env: environment.Environment) -> Iterator[installation.Symptom]:
    """Check the files beside the store that have the secrets of accounts and the usage of keys."""
    with env.read() as txn:
        log, tables = LmdbLog(txn), rows.Tables(txn)
        store = log_marks.identity_of(log, tables)
        waiting = any(not key.ended for key in account_rows.access_keys(tables))
        file = secrets_file.SecretsFile(secrets_file.secrets_path(env.folder), store)
        try:
            secrets = file.read().secrets
            is_behind = secrets is not None and not secrets.has_last_change(log)
        except (errors.WorldDBError, OSError) as error:
            yield _unusable("access_keys_unusable", True, file.path, error, "No key of an account opens the store")
        else:
            again = installation.command_for(env.folder, "keys list")
            if secrets is None and waiting:
                what = "The file with the secrets of the access keys is missing"
                yield installation.Symptom(
                    "access_keys_missing", False, str(file.path), what, secrets_file.MISSING, _NEW_KEYS, again
                )
            elif is_behind:
                what = "The store lacks the last commit that changed an account: it was rolled back, or restored"
                why = "No key that was made earlier opens the store"
                yield installation.Symptom(
                    "access_keys_of_later_store", True, str(file.path), what, why, _NEW_KEYS, again
                )
    usage = usage_file.UsageFile(usage_file.usage_path(env.folder), store)
    try:
        usage.totals()
    except (errors.WorldDBError, OSError) as error:
        yield _unusable("usage_unusable", False, usage.path, error, "What keys asked for is not counted, or lost")


_NEW_KEYS: Final = "Put the file back that belongs to this store, or make new keys with `worlddb keys add`"


def _unusable(
    code: str, wrong: bool, path: Path, error: errors.WorldDBError | OSError, why: str
) -> installation.Symptom:
    what, remedy = (error.message, error.remedy) if isinstance(error, errors.WorldDBError) else (str(error), "")
    command = f"ls -la {installation.quoted(path)}"
    return installation.Symptom(code, wrong, str(path), what, why, remedy or _NEW_KEYS, command)


def kind(env: environment.Environment) -> Iterator[installation.Symptom]:
    """Check that the store can be written to."""
    with env.read() as txn:
        copy = LmdbLog(txn).copy_kind()
    if copy == copies.RESTORING:
        yield installation.Symptom(
            "restore_unfinished",
            True,
            str(env.folder),
            "A restore into this directory was interrupted",
            "It can be read, but it lacks the last commits of the backup and cannot be written to",
            "Run the same restore again: it continues",
            f"worlddb restore BACKUP --into {installation.quoted(env.folder)}",
        )
    elif copy:
        yield installation.Symptom(
            "is_copy",
            False,
            str(env.folder),
            f"This is a copy ({copy}): it can be read, and only copying may write to it",
            "A backup with other writes could no longer be updated",
            "Restore it to a new store if you want to write",
            f"worlddb restore {installation.quoted(env.folder)} --into {installation.quoted(env.folder)}.restored",
        )
