"""The deep check, and the one before a handle first writes.

The deep one replays the log into scratch tables and compares every pair, of snapshots too.

A snapshot counts if it has the digest that the data file of its store has noted for it. What has not is not used.
"""

import shlex
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

import lmdb
import msgspec
from blake3 import blake3

from worlddb.log.model import checkpoint, errors, hashing, ids, merkle
from worlddb.log.model.events import Created, Forked, Imported, TakenOver
from worlddb.log.store import copies, environment, high_water, scratch, shared_environment, verify
from worlddb.log.store.log import LmdbLog, record_keys
from worlddb.projections.indexes.index_check import index_findings
from worlddb.projections.runner import apply_commit
from worlddb.projections.tables.apply import rehash
from worlddb.projections.tables.apply.log_marks import LogTree
from worlddb.projections.tables.reads import asof
from worlddb.projections.tables.storage import packed_runs, rows, schema, transaction, write_buffer

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

    With ``deep`` also every table pair, and every entry of an index. With ``anchor`` the log is compared with that
    checkpoint, whose origin must be ``origin``; the third value is the verdict, empty without an anchor. The findings
    are sorted by commit. Pages are checked first: if they are damaged, nothing is read through LMDB.
    """
    findings = verify.page_findings(env.damaged_pages())
    if findings:
        high_water.note_damage(env.folder, high_water.Damage(min(found.seq for found in findings), deep))
        return verify.Totals(0, 0, 0), sorted(findings), "" if anchor is None else verify.UNREADABLE

    def read(work: Callable[[LmdbLog], object]) -> object:
        with env.read() as txn:
            return work(LmdbLog(txn))

    with env.read() as txn:
        last = LmdbLog(txn).last_stored()
    totals, findings = verify.verify_log(read, last, progress=progress)
    with env.read() as txn:
        findings.extend(head_findings(LmdbLog(txn), rows.Tables(txn)))
        findings.extend(verify.Finding(0, problem) for problem in copies.list_lost_notes(LmdbLog(txn)))
    if deep and not findings:
        findings.extend(compare_with_replay(env, last, progress))
    if not findings:
        findings.extend(tree_findings(env, last))
    _update_damage_note(env, deep, findings)
    if not findings:
        findings.extend(verify.Finding(0, found.problem) for found in index_findings(env, deep=deep))
    if deep and not findings:
        wrong = (found for found in snapshot_findings(env, deep=True, progress=progress) if found.is_used)
        findings.extend(verify.Finding(0, found.problem) for found in wrong)
    if not findings:
        with env.read() as txn:
            findings.extend(_find_leftover_vectors(LmdbLog(txn), rows.Tables(txn), env.folder))
    verdict = ""
    if anchor is not None:
        verdict, disagreements = verify.anchor_findings(env.read, origin, anchor)
        findings.extend(disagreements)
    findings = [_add_remedy(env.folder, finding) for finding in findings]
    findings.sort(key=lambda finding: finding.seq)
    return totals, findings, verdict


def _update_damage_note(env: environment.Environment, deep: bool, findings: list[verify.Finding]) -> None:
    """Note damage of the log or the tables, which blocks writes until a verification as deep finds none.

    Damage of indexes and snapshots does not block writes, since they are made again from these. Nor do records beside
    the log, which belong to no commit and are normal in older stores.
    """
    noted = high_water.read_damage(env.folder)
    damaged = [found.seq for found in findings if found.seq and found.problem != verify.UNFINISHED]
    if damaged:
        high_water.note_damage(env.folder, high_water.Damage(min(damaged), deep))
    elif noted is not None and deep >= noted.deep and not findings:
        high_water.forget_damage(env.folder)


def _find_leftover_vectors(log: LmdbLog, tables: rows.Tables, folder: Path) -> Iterator[verify.Finding]:
    """Find vectors of texts that were erased before the vectors were written, as earlier releases did; no damage."""
    store = shlex.quote(str(folder))
    for key, _ in tables.erasures.scan(b""):
        (node,) = schema.U64.unpack(key)
        found = list(asof.vectors_left(log, tables, node))
        if found:
            ref = tables.node(node).lineage.hex()
            told = f"{len(found)} vectors of {ref} belong to erased texts"
            command = f"worlddb --store {store} erase {ref} --reason REASON"
            yield verify.Finding(found[0].seq, f"{told}. To erase them too, run `{command}`")


def _add_remedy(folder: Path, finding: verify.Finding) -> verify.Finding:
    """Add to the finding of an unfinished erasure how to finish it."""
    if finding.problem != verify.UNFINISHED:
        return finding
    command = f"worlddb --store {shlex.quote(str(folder))} stats"
    told = (
        "To finish it, close other programs that have the store open, make sure that the disk has room, and run "
        f"`{command}`"
    )
    return finding._replace(problem=f"{finding.problem}. {told}")


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
        else [verify.Finding(last, "the tables' Merkle tree over the commits does not match the headers")]
    )


def compare_with_replay(
    env: environment.Environment, last: int, progress: Callable[[int, int], None] | None = None
) -> list[verify.Finding]:
    """Compare the kept tables with a replay of the log up to ``last``; empty if nothing differs.

    The scratch tables live in the store's directory and are removed afterwards.

    Raises:
        UnavailableError: they cannot be written there.
    """
    return scratch.run_with_tables(env.folder, lambda folder: _compare_in_folder(folder, env, last, progress))


SEAL_FILE = "seal.json"
_TIMEOUT_SECONDS = 10.0


class Seal(msgspec.Struct, frozen=True):
    """The seal file of a snapshot: the chain hash of its last commit and a digest of all its pairs, in hexadecimal."""

    chain: str
    pairs: str


class SnapshotFinding(NamedTuple):
    """A fault of a snapshot, and whether a replay would use it all the same."""

    folder: Path
    is_used: bool
    problem: str


def digest_of(txn: lmdb.Transaction) -> bytes:
    """A hash of every pair of a data file, each with its lengths."""
    hashed = blake3()
    with txn.cursor() as cursor:
        for key, value in cursor:
            hashed.update(len(key).to_bytes(4, "big") + key + len(value).to_bytes(4, "big") + value)
    return hashed.digest()


def list_snapshots(folder: Path) -> list[int]:
    """The commits that have snapshots, valid or not."""
    return sorted(int(path.name) for path in (folder / environment.SNAPSHOT_FOLDER).glob("*") if path.name.isdecimal())


def snapshot_path(folder: Path, seq: int) -> Path:
    """The folder of a commit's snapshot."""
    return folder / environment.SNAPSHOT_FOLDER / str(seq)


def open_snapshot(env: environment.Environment, seq: int) -> environment.Environment | None:
    """Open the snapshot of a commit, if its seal matches the store's note; its pairs are not checked."""
    place = snapshot_path(env.folder, seq)
    try:
        seal = msgspec.json.decode((place / SEAL_FILE).read_bytes(), type=Seal)
        with env.read() as txn:
            log = LmdbLog(txn)
            noted = dict(log.snapshots()).get(seq)
            if noted is None or seal != Seal(log.chain(seq).hex(), noted.hex()):
                return None
        if not (place / shared_environment.DATA_FILE).stat().st_size:
            return None
        return environment.Environment(place, author="check", timeout_seconds=_TIMEOUT_SECONDS)
    except (OSError, msgspec.MsgspecError, errors.WorldDBError):
        return None


def is_sound_snapshot(kept: lmdb.Transaction, reading: lmdb.Transaction, seq: int) -> bool:
    """True if a snapshot has the digest in the store's note, and the same history.

    Raises:
        DamagedStore, NewerFormat: it cannot be read.
    """
    log, source = LmdbLog(kept), LmdbLog(reading)
    if rows.Tables(kept).layout() != schema.LAYOUT or log.head().seq != seq or log.chain(seq) != source.chain(seq):
        return False
    return digest_of(kept) == dict(source.snapshots()).get(seq)


def snapshot_findings(
    env: environment.Environment, *, deep: bool, progress: Callable[[int, int], None] | None = None
) -> Iterator[SnapshotFinding]:
    """Find damaged snapshots by their seals; with ``deep`` also derive each from its log and compare."""
    for seq in list_snapshots(env.folder):
        place = snapshot_path(env.folder, seq)
        kept = open_snapshot(env, seq)
        try:
            unfit = kept is None or (deep and not _is_undamaged(kept, env, seq))
            told = _find_derived_difference(kept, env, seq, progress) if deep and kept is not None and not unfit else ""
        finally:
            if kept is not None:
                kept.close()
        with env.read() as txn:
            goes = told and seq not in dict(LmdbLog(txn).snapshots())  # Something was erased meanwhile.
        if (unfit or told) and not goes and place.is_dir():
            problem = told or "it was altered, or an earlier release made it; replays do not use it"
            yield SnapshotFinding(place, not unfit, f"the snapshot of commit {seq} in {place}: {problem}. Delete it")


def _is_undamaged(kept: environment.Environment, env: environment.Environment, seq: int) -> bool:
    try:
        kept.refuse_damaged_pages()
        with kept.read() as pairs, env.read() as reading:
            return is_sound_snapshot(pairs, reading, seq)
    except errors.WorldDBError:
        return False


def _find_derived_difference(
    snapshot: environment.Environment,
    env: environment.Environment,
    seq: int,
    progress: Callable[[int, int], None] | None,
) -> str:
    """Describe how a snapshot differs from the store's verified log, or from a replay of its own log."""
    for first in range(1, seq + 1, CHUNK_COMMITS):
        with snapshot.read() as txn, env.read() as reading:
            problem = _find_record_difference(
                LmdbLog(txn), LmdbLog(reading), first, min(first + CHUNK_COMMITS - 1, seq)
            )
        if problem:
            return problem
    with snapshot.read() as txn:
        findings = head_findings(LmdbLog(txn), rows.Tables(txn))
    if not findings:
        findings = scratch.run_with_tables(
            env.folder, lambda folder: _compare_in_folder(folder, snapshot, seq, progress)
        )
    return findings[0].problem if findings else ""


def _find_record_difference(copy: LmdbLog, log: LmdbLog, first: int, last: int) -> str:
    """Describe how a copy's records differ from those of a log.

    Texts that were erased before the copy was made are in neither; a text that a bundle brought later may be in one.
    """
    for seq in range(first, last + 1):
        if copy.stored_header(seq) != log.stored_header(seq) or copy.stored_events(seq) != log.stored_events(seq):
            return f"its commit {seq} differs from the store's"
        events = log.events(seq)
        later = {
            at for event in events.events if isinstance(event, Imported | TakenOver | Forked) for at in event.absent
        }
        for at in range(events.blob_count):
            one, other = copy.blob(seq, at), log.blob(seq, at)
            if one != other and not (one is None and at in later):
                return f"blob {at} of its commit {seq} differs from the store's"
    return ""


def _compare_in_folder(
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


def _compare(stored_tables: rows.Tables, derived: rows.Tables, last: int) -> list[verify.Finding]:
    findings: list[verify.Finding] = []
    if stored_tables.progress().seq != last:
        return findings
    for name, table in derived.by_name().items():
        stored_pairs = stored_tables.by_name()[name].scan(b"")
        for key, value in table.scan(b""):
            pair = next(stored_pairs, None)
            if pair != (key, value) and not (name == "nodes" and pair and _is_unsaid(pair, (key, value))):
                shown = pair[0] if pair is not None else key
                findings.append(
                    verify.Finding(last, f"the table {name} differs from the log at key {shown.hex()[:40]}")
                )
                break
        else:
            if next(stored_pairs, None) is not None:
                findings.append(verify.Finding(last, f"the table {name} has more rows than the log gives"))
        stored_table = stored_tables.by_name()[name]
        if isinstance(stored_table, packed_runs.PackedTable | transaction.TrieTable):
            findings += (
                verify.Finding(last, f"of the table {name}, {fault}") for fault in islice(stored_table.faults(), 1)
            )
        if len(findings) >= MAX_FINDINGS:
            break
    return findings


def _is_unsaid(stored: write_buffer.Pair, derived: write_buffer.Pair) -> bool:
    """True if a row of a node is as earlier releases wrote it, which did not say where it lies."""
    return stored[0] == derived[0] and schema.is_node_unsaid(stored[1], derived[1])


def head_findings(log: LmdbLog, tables: rows.Tables) -> list[verify.Finding]:
    """The head record and the tables' root hash against the last commit, in one snapshot.

    And that there is nothing behind the tables.
    """
    last = log.last_stored()
    findings = [
        verify.Finding(last, f"a record of an unknown table lies under the key {key.hex()[:40]}")
        for key in tables.strays()
    ]
    try:
        head = log.head()
        if head.seq != last:
            problem = f"the log records its end at {head.seq}, but its last commit is {last}"
            return [verify.Finding(min(head.seq, last) + 1, problem)]
        findings.extend(head_row_findings(log, tables, last))
    except errors.WorldDBError as error:
        findings.append(verify.Finding(last, error.message))
    return findings


LAST_COMMITS: Final = 16
"""So many of the last commits are checked before a handle's first write, ..."""
_LAST_EVENTS: Final = 256
"""... as long as they have at most so many events; of a larger commit only the hashes of header and events are."""


def refuse_damaged_end(env: environment.Environment) -> None:
    """Check the last commits and as many earlier ones before a handle's first write.

    It takes about a millisecond. Damage is noted, so that no other process writes either.

    Raises:
        DamagedStore: a commit is not what was written.
    """
    with env.read() as txn:
        last = LmdbLog(txn).head().seq
    if not last:
        return
    env.refuse_damaged_pages(record_keys(last))
    with env.read() as txn:
        log, tables = LmdbLog(txn), rows.Tables(txn)
        last = log.head().seq
        first = _first_checked_commit(log, last)
        in_log = [*_last_commit_findings(log, first, last), *_earlier_commit_findings(log, last)]
        for found in in_log or _last_row_findings(log, tables, first, last):
            high_water.note_damage(env.folder, high_water.Damage(found.seq, deep=not in_log))
            raise errors.DamagedStore(
                f"Commit {found.seq} is not what was written, so nothing was added: {found.problem}",
                high_water.DAMAGE_REMEDY,
                seq=found.seq,
            )


_MORE_COMMITS: Final = 16
_MORE_PAGES: Final = 8
"""So many commits, of at most 256 events in all, and so many leaves are checked after some writes of a handle."""


def check_more_commits(env: environment.Environment) -> None:
    """Check some more commits and pages, so that a handle that goes on writing checks the whole store by and by.

    Raises:
        DamagedStore: something is not what was written, or would lead LMDB astray; this is noted, as at a first write.
    """
    try:
        found = _find_more_damage(env)
    except errors.DamagedStore as error:
        found = verify.Finding(error.details.get("seq", 0), error.message)
    if found is not None:
        high_water.note_damage(env.folder, high_water.Damage(found.seq, deep=False))
        raise errors.DamagedStore(
            f"The store is not what was written, so nothing was added: {found.problem}",
            high_water.DAMAGE_REMEDY,
            seq=found.seq,
        )


def _find_more_damage(env: environment.Environment) -> verify.Finding | None:
    seq, key = env.look_from
    pages, following = env.some_damaged_pages(key, _MORE_PAGES)
    if pages:
        return verify.page_findings(pages)[0]
    with env.read() as txn:
        log = LmdbLog(txn)
        last = log.head().seq
        begin = at = seq or int.from_bytes(log.head().chain[:8], "big") % last + 1
        left = _LAST_EVENTS
        while at <= last and at < begin + _MORE_COMMITS and left > 0:
            count = log.header(at).event_count
            left -= count
            # Of a large one only the hashes of its header and its events are looked at.
            large = count > _LAST_EVENTS
            found = (
                verify.hash_findings(log, at)
                if large
                else verify.verify_commit(log, at, None, verify.ErasureLedger())[1]
            )
            if found := [*found]:
                return found[0]
            at += 1
    env.look_from = at if at <= last else 1, following
    return None


def _first_checked_commit(log: LmdbLog, last: int) -> int:
    """The first of the last commits to check; ``last + 1`` if the last commit has too many events."""
    first, left = last + 1, _LAST_EVENTS
    while first > max(1, last + 1 - LAST_COMMITS) and (count := log.header(first - 1).event_count) <= left:
        first, left = first - 1, left - count
    return first


def _last_commit_findings(log: LmdbLog, first: int, last: int) -> Iterator[verify.Finding]:
    erasures, previous = verify.ErasureLedger(), None
    if first > last:
        yield from verify.hash_findings(log, last)
    for seq in range(first, last + 1):
        previous, found = verify.verify_commit(log, seq, previous, erasures)
        yield from found
    # What erased a text came after it, and so is among these commits.
    yield from erasures.findings(log)


def _last_row_findings(log: LmdbLog, tables: rows.Tables, first: int, last: int) -> Iterator[verify.Finding]:
    if tables.progress().seq != last:
        return  # They are derived anew before anything is written.
    yield from head_row_findings(log, tables, last)
    for seq in range(first, last + 1):
        key = log.header(seq).key
        if key and tables.keys.get(key) != schema.U64.pack(seq):
            yield verify.Finding(seq, "the tables lack its idempotency key")
        for event in log.events(seq).events:
            if type(event) is Created and not _has_right_hash(tables, event.lineage):
                yield verify.Finding(seq, f"the tables lack what it wrote of {event.lineage.hex()[:12]}")


def _earlier_commit_findings(log: LmdbLog, last: int) -> Iterator[verify.Finding]:
    """Check some earlier commits, different ones after each commit, so that handles check the whole log by and by.

    Their missing texts may have been erased since.
    """
    begin, left = int.from_bytes(log.head().chain[:8], "big") % last + 1, _LAST_EVENTS
    for seq in range(begin, min(begin + LAST_COMMITS, last + 1)):
        left -= log.header(seq).event_count
        if left < 0:
            return
        yield from verify.verify_commit(log, seq, None, verify.ErasureLedger())[1]


def head_row_findings(log: LmdbLog, tables: rows.Tables, last: int) -> Iterator[verify.Finding]:
    """The head record and the tables' root hash against the last commit."""
    if log.head().chain != log.chain(last):
        yield verify.Finding(last, "the head record lacks the chain hash of the last commit")
    found = tables.hash_row(schema.ROOT_NODE, last)
    if tables.progress().seq != last:
        yield verify.Finding(last, f"the tables have applied {tables.progress().seq} of {last} commits")
    elif found is None or found[1][: ids.HASH_BYTES] != log.header(last).root:
        yield verify.Finding(last, "the tables' root hash is not the one in the last commit")


def _has_right_hash(tables: rows.Tables, lineage: bytes) -> bool:
    """True if the tables have a world, and its row gives its stored hash."""
    node = tables.node_of(lineage)
    stored = None if node is None else tables.current_hash(node)
    if node is None or stored is None:
        return False
    row = tables.node(node)
    hashed = hashing.world_hash(row.body, *rehash.roots_of(stored), row.t_create)
    newest = tables.version(node, row.versions)
    return (row.lineage, newest.body, hashed) == (lineage, row.body, stored[: ids.HASH_BYTES])
