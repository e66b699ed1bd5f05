"""The deep check: replay the log into scratch tables and compare every pair."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import lmdb

from worlddb.log.model import checkpoint, errors, ids, merkle
from worlddb.log.store import copies, environment, scratch, verify
from worlddb.log.store.log import LmdbLog
from worlddb.projections.indexes.index_check import index_findings
from worlddb.projections.runner import apply_commit
from worlddb.projections.tables.apply.log_marks import LogTree
from worlddb.projections.tables.storage import rows, schema

CHUNK_COMMITS = 64
MAX_FINDINGS = 20


def verify_store(
    env: environment.Environment,
    *,
    deep: bool,
    progress: Callable[[int, int], None] | None = None,
    origin: str = "",
    anchor: checkpoint.Anchor | None = None,
) -> tuple[verify.Totals, list[verify.Finding], str]:
    """Verify the data file's structure, every commit, the head, the tables' root and the indexes' witnesses.

    With ``deep`` also every table pair, and every entry of an index. With ``anchor`` the log is held against that
    checkpoint, whose origin must be ``origin``; the third value is how it stands to it, and empty without. The findings
    are sorted by commit. Pages come first: where they are damaged, nothing is read through LMDB.
    """
    findings = verify.page_findings(env.damaged_pages())
    if findings:
        return verify.Totals(0, 0, 0), sorted(findings), "" if anchor is None else verify.UNREADABLE

    def read(work: Callable[[LmdbLog], object]) -> object:
        with env.read() as txn:
            return work(LmdbLog(txn))

    with env.read() as txn:
        last = LmdbLog(txn).last_stored()
    totals, findings = verify.verify_log(read, last, progress=progress)
    with env.read() as txn:
        findings.extend(head_findings(LmdbLog(txn), rows.Tables(txn)))
        findings.extend(verify.Finding(0, problem) for problem in copies.problems_of(LmdbLog(txn)))
    if deep and not findings:
        findings.extend(compare_with_replay(env, last, progress))
    if not findings:
        findings.extend(tree_findings(env, last))
    if not findings:
        findings.extend(verify.Finding(0, found.problem) for found in index_findings(env, deep=deep))
    verdict = ""
    if anchor is not None:
        verdict, disagreements = verify.anchor_findings(env.read, origin, anchor)
        findings.extend(disagreements)
    findings.sort(key=lambda finding: finding.seq)
    return totals, findings, verdict


def tree_findings(env: environment.Environment, last: int) -> list[verify.Finding]:
    """Compare the tables' Merkle tree with the one that the headers lead to.

    A wrong root must not be signed as the head.
    """
    expected = verify.tree_of_headers(env.read, last)
    with env.read() as txn:
        try:
            found = merkle.tree_root(LogTree(LmdbLog(txn), rows.Tables(txn)), last)
        except errors.WorldDBError as error:
            return [verify.Finding(last, error.message)]
    return (
        []
        if found == expected
        else [verify.Finding(last, "the tables' tree over the commits is not that of the headers")]
    )


def compare_with_replay(
    env: environment.Environment, last: int, progress: Callable[[int, int], None] | None = None
) -> list[verify.Finding]:
    """Compare the kept tables with a replay of the log up to ``last``; empty if nothing differs.

    The scratch tables live in the store's directory and are removed afterwards.

    Raises:
        UnavailableError: they cannot be written there.
    """
    return scratch.with_tables(env.folder, lambda folder: _compare_in(folder, env, last, progress))


def _compare_in(
    folder: Path, env: environment.Environment, last: int, progress: Callable[[int, int], None] | None
) -> list[verify.Finding]:
    tables = environment.Environment(folder, author="check", timeout_seconds=5.0)
    try:
        for first in range(1, last + 1, CHUNK_COMMITS):
            upto = min(first + CHUNK_COMMITS - 1, last)
            problem = tables.write(partial(_replay, env, first, upto))
            if problem is not None:
                return [problem]
            if progress is not None:
                progress(upto, last)
        with env.read() as kept:
            # Others may have written meanwhile: what is compared is one snapshot's log with its tables.
            head = LmdbLog(kept).head().seq
            problem = tables.write(lambda txn: _apply(LmdbLog(kept), last + 1, head, txn))
            if problem is not None:
                return [problem]
            with tables.read() as derived:
                return _compare(rows.Tables(kept), rows.Tables(derived), head)
    finally:
        tables.close()


def _replay(env: environment.Environment, first: int, last: int, txn: lmdb.Transaction) -> verify.Finding | None:
    with env.read() as source:
        return _apply(LmdbLog(source), first, last, txn)


def _apply(log: LmdbLog, first: int, last: int, txn: lmdb.Transaction) -> verify.Finding | None:
    tables = rows.Tables(txn)
    for seq in range(first, last + 1):
        try:
            apply_commit(log, tables, seq)
        except errors.WorldDBError as error:
            return verify.Finding(seq, error.message)
    tables.flush()
    return None


def _compare(kept: rows.Tables, derived: rows.Tables, last: int) -> list[verify.Finding]:
    findings: list[verify.Finding] = []
    if kept.progress().seq != last:
        return findings
    for name, table in derived.by_name().items():
        theirs = kept.by_name()[name].scan(b"")
        for key, value in table.scan(b""):
            pair = next(theirs, None)
            if pair != (key, value):
                shown = pair[0] if pair is not None else key
                findings.append(
                    verify.Finding(last, f"the table {name} differs from what the log says at key {shown.hex()[:40]}")
                )
                break
        else:
            if next(theirs, None) is not None:
                findings.append(verify.Finding(last, f"the table {name} holds more than the log says"))
        if len(findings) >= MAX_FINDINGS:
            break
    return findings


def head_findings(log: LmdbLog, tables: rows.Tables) -> list[verify.Finding]:
    """The head record and the tables' root hash against the last commit, in one snapshot.

    And that there is nothing behind the tables.
    """
    last = log.last_stored()
    findings = [
        verify.Finding(last, f"there is a record of no known table, under the key {key.hex()[:40]}")
        for key in tables.strays()
    ]
    try:
        head = log.head()
        if head.seq != last:
            problem = f"the log says that it ends at {head.seq}, but its last commit is {last}"
            return [verify.Finding(min(head.seq, last) + 1, problem)]
        if head.chain != log.chain(last):
            findings.append(verify.Finding(last, "the head record does not have the chain hash of the last commit"))
        found = tables.hash_row(schema.ROOT_NODE, last)
        if tables.progress().seq != last:
            findings.append(verify.Finding(last, f"the tables have applied {tables.progress().seq} of {last} commits"))
        elif found is None or found[1][: ids.HASH_BYTES] != log.header(last).root:
            findings.append(verify.Finding(last, "the tables' root hash is not the one that the last commit recorded"))
    except errors.WorldDBError as error:
        findings.append(verify.Finding(last, error.message))
    return findings
