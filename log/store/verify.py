"""Verify the log: its own hashes, against a checkpoint, and against another log.

Any changed byte in headers, events or blobs is found, first bad commit first. A checkpoint that was kept elsewhere also
finds a log that is shorter or whose hashes were made afresh. Two logs share all commits up to the last one of which
both have the same chain hash.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Final, NamedTuple

import lmdb

from worlddb.log.model import checkpoint, codec, errors, merkle
from worlddb.log.model import events as ev
from worlddb.log.model.events import Created, Erased, ErasedElsewhere, Filled, Forked, Imported, Revised, TakenOver
from worlddb.log.store import erasure_evidence
from worlddb.log.store.log import LmdbLog, place_of_key, seq_of_key
from worlddb.log.store.pages import PageFinding


class Finding(NamedTuple):
    """A fault in words, and the commit that it was found at (0: not in the log)."""

    seq: int
    problem: str


class Totals(NamedTuple):
    """The counts of a verification."""

    commits: int
    events: int
    blobs: int


class ErasureLedger:
    """Collects missing and erased blobs while a log is verified, and compares them at the end."""

    def __init__(self) -> None:
        self._missing: dict[tuple[int, int], str] = {}
        self._erased: dict[tuple[int, int], int] = {}
        self._doubtful: list[int] = []
        self._struck: dict[tuple[int, int], bytes] = {}
        self._strikes: dict[tuple[int, int], tuple[int, bytes]] = {}
        self.filled: dict[tuple[bytes, int], int] = {}
        """Versions whose texts arrived after their hashes, and the commits that brought the texts."""

    def add_events(self, seq: int, events: codec.Events) -> None:
        """Note what the events of a commit erased or filled."""
        for event in events.events:
            if isinstance(event, Erased | ErasedElsewhere):
                self.add_erased(event.blobs, seq)
            elif isinstance(event, ev.Struck | ev.StruckElsewhere):
                self.add_strike(event, seq)
            elif isinstance(event, Filled):
                self.filled[event.lineage, event.version] = seq

    def add_missing(self, seq: int, position: int, identifier: bytes) -> None:
        """Note a missing blob."""
        self._missing[seq, position] = identifier.hex()[:12]

    def add_erased(self, blobs: Iterable[tuple[int, int]], by: int) -> None:
        """Note blobs that commit ``by`` erased; 0 for a commit that is not copied yet."""
        self._erased.update(dict.fromkeys(blobs, by))

    def add_struck_blob(self, seq: int, position: int, left: bytes) -> None:
        """Note a blob without some of its texts, and the hash of the rest."""
        self._struck[seq, position] = left

    def add_strike(self, event: ev.Struck | ev.StruckElsewhere, by: int) -> None:
        """Note what commit ``by`` left of blobs; for each blob the last such commit counts."""
        for blob, left in zip(event.blobs, event.hashes, strict=False):
            if self._strikes.get(blob, (by, b""))[0]:
                self._strikes[blob] = by, left

    def add_foreign_strikes(self, blobs: Iterable[tuple[int, int]]) -> None:
        """Note blobs whose texts a commit erased that is not copied yet."""
        self._strikes.update(dict.fromkeys(blobs, (0, b"")))

    def has_erased(self, seq: int, position: int) -> bool:
        """True if a commit erased the blob."""
        return (seq, position) in self._erased

    def add_unreadable(self, seq: int) -> None:
        """Note a commit that may have erased something, but is unreadable or untrusted."""
        self._doubtful.append(seq)

    def findings(self, log: LmdbLog) -> Iterator[Finding]:
        """Yield blobs that are missing without an erasure, and blobs that are there despite one."""
        unexplained: dict[int, int] = {}
        for (seq, position), shown in self._missing.items():
            if (seq, position) in self._erased:
                continue
            later = next((doubtful for doubtful in sorted(self._doubtful) if doubtful > seq), None)
            if later is None:
                yield Finding(seq, f"blob {position} ({shown}) is missing and no erasure is recorded")
            else:
                unexplained[later] = unexplained.get(later, 0) + 1
        for seq, count in unexplained.items():
            yield Finding(
                seq, f"{count} blobs of earlier commits are missing, and what this commit erased is unreadable"
            )
        for (seq, position), by in self._erased.items():
            if log.blob(seq, position) is not None:
                who = f"commit {by}" if by else "a later commit"
                yield Finding(seq, f"blob {position} is present, although {who} erased it")
        yield from self._struck_findings(log)

    def _struck_findings(self, log: LmdbLog) -> Iterator[Finding]:
        """Yield blobs that differ from what the commit that erased single texts left of them."""
        for (seq, position), left in self._struck.items():
            by, said = self._strikes.get((seq, position), (None, b""))
            if by is None and not any(doubtful > seq for doubtful in self._doubtful):
                yield Finding(seq, f"texts of blob {position} are gone and no erasure is recorded")
            elif by and said != left:
                yield Finding(seq, f"blob {position} is not what commit {by} left of it")
        for (seq, position), (by, _) in self._strikes.items():
            stored = None if (seq, position) in self._struck else log.blob(seq, position)
            if stored is not None and codec.struck_in(stored) is None:
                who = f"commit {by}" if by else "a later commit"
                yield Finding(seq, f"blob {position} is whole, although {who} erased texts of it")


def page_findings(damaged: list[PageFinding]) -> list[Finding]:
    """Findings for damaged pages, by the first commit that each may hold."""
    return [
        Finding(seq_of_key(found.key), f"data.mdb is damaged at page {found.page}: {found.problem}")
        for found in damaged
    ]


def verify_commit(
    log: LmdbLog, seq: int, previous: codec.Header | None, erasures: ErasureLedger
) -> tuple[codec.Header | None, list[Finding]]:
    """Check one commit against its own hashes and its predecessor; return its header, if readable, and the findings.

    Its erasures and missing blobs are added to ``erasures``.
    """
    problems: list[str] = []
    header: codec.Header | None = None
    sound = False
    try:
        chain, stored = log.stored_header(seq)
        if codec.chain_hash(stored) != chain:
            problems.append("its header does not have the chain hash that was stored with it")
        header = codec.decode_header(stored, seq)
        problems.extend(_link_problems(log, header, seq, previous))
        stored_events = log.stored_events(seq)
        if codec.events_hash(stored_events) != header.events_hash:
            problems.append("its events do not have the hash that its header names")
        events = codec.decode_events(stored_events, seq)
        sound = not problems
        if len(events.events) != header.event_count:
            problems.append(f"it has {len(events.events)} events and its header counts {header.event_count}")
        problems.extend(_blob_problems(log, seq, events, erasures))
        problems.extend(erasure_evidence.list_unproved(events, partial(log.blob, seq), seq))
        # Damaged events may claim to have erased texts of sound commits, which would then be reported.
        if sound:
            erasures.add_events(seq, events)
    except errors.WorldDBError as error:
        problems.append(error.message)
    if not sound:
        erasures.add_unreadable(seq)
    return header, [Finding(seq, problem) for problem in problems]


def list_unproved_erasures(log: LmdbLog) -> Iterator[Finding]:
    """Yield erasures without proof, which an upgrade found beside an older release's log and took over."""
    tag = codec.encode(str(ErasedElsewhere.__struct_config__.tag))
    for seq in range(1, log.head().seq + 1):
        if tag not in log.stored_events(seq):
            continue
        for each in erasure_evidence.list_evidence(log.events(seq), partial(log.blob, seq), seq):
            if each.listed:
                header = each.header
                yield Finding(
                    seq,
                    f"commit {seq} repeats an erasure that an upgrade found beside the log: in commit {header.seq:,} of"
                    f" another history by {header.author!r}, texts gone here: {sum(1 for _ in each.blobs):,}. Nothing"
                    " proves it",
                )


def hash_findings(log: LmdbLog, seq: int) -> Iterator[Finding]:
    """Check only the hashes of a commit's header and events, for a commit with very many events."""
    chain, stored = log.stored_header(seq)
    if codec.chain_hash(stored) != chain:
        yield Finding(seq, "its header does not have the chain hash that was stored with it")
    elif codec.events_hash(log.stored_events(seq)) != codec.decode_header(stored, seq).events_hash:
        yield Finding(seq, "its events do not have the hash that its header names")


def require_intact(log: LmdbLog, seq: int) -> None:
    """Require that one commit and its texts are intact before they are used; erased texts may be missing.

    Raises:
        DamagedStore: the commit is not what was written.
    """
    _, findings = verify_commit(log, seq, log.header(seq - 1) if seq > 1 else None, ErasureLedger())
    for finding in findings:
        raise errors.DamagedStore(
            f"Commit {seq} is not what was written: {finding.problem}", "Restore the store from a backup", seq=seq
        )


def _link_problems(log: LmdbLog, header: codec.Header, seq: int, previous: codec.Header | None) -> Iterator[str]:
    if header.seq != seq:
        yield f"its header has the number {header.seq}"
    if header.previous != log.chain(seq - 1):
        yield f"it does not follow commit {seq - 1}: the chain is broken"
    if previous is not None and header.ingest_time <= previous.ingest_time:
        yield "its ingest time is not later than its predecessor's"


def _blob_problems(log: LmdbLog, seq: int, events: codec.Events, erasures: ErasureLedger) -> Iterator[str]:
    kinds = Imported | TakenOver | Forked
    absent = {position for event in events.events if isinstance(event, kinds) for position in event.absent}
    for position in range(events.blob_count):
        stored = log.blob(seq, position)
        if stored is None and position in absent:
            continue
        if stored is None:
            erasures.add_missing(seq, position, events.blob(position))
        elif codec.named_id(stored) != events.blob(position):
            yield f"blob {position} ({events.blob(position).hex()[:12]}) is not what was written"
        elif (struck := codec.struck_in(stored)) is not None:
            erasures.add_struck_blob(seq, position, struck.hash)


def verify_log(
    read: Callable[[Callable[[LmdbLog], object]], object],
    last: int,
    *,
    progress: Callable[[int, int], None] | None = None,
    chunk: int = 256,
) -> tuple[Totals, list[Finding]]:
    """Check every commit up to ``last``, ``chunk`` of them in each read transaction; a gap is one finding.

    ``read`` runs a function over the log inside one short transaction.
    """
    findings: list[Finding] = []
    commits = events = blobs = 0
    previous: codec.Header | None = None
    erasures = ErasureLedger()
    counts = array("q", [0])

    next_seq = 1

    def check(log: LmdbLog) -> None:
        nonlocal next_seq, previous
        # Follow the stored headers: a changed key may stand for a number that no log ever reaches.
        for stored in log.stored_seqs(next_seq, chunk) or [last + 1]:
            upto = min(stored, last + 1)
            if upto - next_seq > 1:
                findings.append(
                    Finding(next_seq, f"commits {next_seq} to {upto - 1} are missing: they have no headers")
                )
                erasures.add_unreadable(next_seq)
                next_seq, previous = upto, None
            for seq in range(next_seq, min(stored, last) + 1):
                check_commit(seq, log)
            next_seq = stored + 1

    def check_commit(seq: int, log: LmdbLog) -> None:
        nonlocal commits, events, blobs, previous
        header, found = verify_commit(log, seq, previous, erasures)
        findings.extend(found)
        previous = header
        commits += 1
        if header is not None:
            events += header.event_count
        count = _blob_count(log, seq)
        if seq == len(counts):  # Behind a gap the counts are not needed.
            counts.append(count)
        blobs += max(count, 0)

    while next_seq <= last:
        read(check)
        if progress is not None:
            progress(min(next_seq - 1, last), last)
    read(lambda log: findings.extend(_erasure_findings(log, last, erasures)))
    findings.extend(_stray_findings(read, counts))
    if erasures.filled and not findings:
        counted: dict[bytes, int] = {}
        for first in range(1, last + 1, chunk):
            read(partial(_find_lost_fills, first, min(first + chunk - 1, last), erasures, counted, findings))
    return Totals(commits, events, blobs), findings


def _find_lost_fills(
    first: int, last: int, erasures: ErasureLedger, counted: dict[bytes, int], findings: list[Finding], log: LmdbLog
) -> None:
    """Find texts that a later commit brought and that are missing again, although no commit erased them.

    ``counted`` has the number of versions that earlier commits gave to each world with such texts.
    """
    lineages = {lineage for lineage, _ in erasures.filled}
    for seq in range(first, last + 1):
        for event in log.events(seq).events:
            if isinstance(event, Created | Revised) and event.lineage in lineages:
                counted[event.lineage] = version = counted.get(event.lineage, 0) + 1
                by = erasures.filled.get((event.lineage, version))
                if by and log.blob(seq, event.body) is None and not erasures.has_erased(seq, event.body):
                    told = f"the text that it brought to commit {seq} is missing and no erasure is recorded"
                    findings.append(Finding(by, told))


_STRAY_KEYS: Final = 65_536
"""How many keys are checked in one read transaction."""
_MAX_STRAY: Final = 20


def _stray_findings(read: Callable[[Callable[[LmdbLog], object]], object], counts: Sequence[int]) -> list[Finding]:
    """Find records that do not belong to the log: nothing names them, so anybody may have added them.

    ``counts`` has the number of blobs that each commit names, from commit 0 on, and -1 where that is unknown.
    """
    findings: list[Finding] = []
    after = b""

    def check_keys(log: LmdbLog) -> None:
        nonlocal after
        last, keys = log.last_stored(), log.keys(after, _STRAY_KEYS)
        for key in keys:
            problem = _stray_problem(log, key, last, counts)
            if problem and len(findings) < _MAX_STRAY:
                place = place_of_key(key)
                findings.append(Finding(0 if place is None else place.seq, problem))
        after = keys[-1] if len(keys) == _STRAY_KEYS else b""

    while True:
        read(check_keys)
        if not after:
            return findings


def _stray_problem(log: LmdbLog, key: bytes, last: int, counts: Sequence[int]) -> str:
    """Why a record under this key does not belong in the log; empty if it does."""
    place = place_of_key(key)
    if place is not None:
        if not 1 <= place.seq <= last:
            return f"a record names commit {place.seq}, and the log has commits 1 to {last}"
        named = counts[place.seq] if place.seq < len(counts) else -1
        if place.kind == "blob" and 0 <= named <= place.position:
            return f"a blob has the number {place.position}, and the commit names {named} blobs"
        return ""
    return log.find_mark_problem(key)


UNFINISHED: Final = "its erasure is not finished: the bytes that it erased may still lie in the store's files"
"""The finding for an interrupted erasure; nothing is damaged."""


def _erasure_findings(log: LmdbLog, last: int, erasures: ErasureLedger) -> list[Finding]:
    """Find faults of erasures, from all records of them: up to ``last``, since, and beside the log."""
    findings: list[Finding] = []
    try:
        if log.head().seq > log.last_stored():
            erasures.add_unreadable(log.last_stored() + 1)
        for seq in range(last + 1, log.last_stored() + 1):
            for event in log.events(seq).events:
                if isinstance(event, Erased | ErasedElsewhere):
                    erasures.add_erased(event.blobs, seq)
                elif isinstance(event, ev.Struck | ev.StruckElsewhere):
                    erasures.add_strike(event, seq)
        findings.extend(erasures.findings(log))
        findings.extend(_untied_findings(log))
    except errors.WorldDBError as error:
        findings.append(Finding(error.details.get("seq", 0), error.message))
    due = log.scrub_due()
    if not log.has_format():
        findings.append(Finding(0, "the format mark is missing"))
    if due is not None:
        findings.append(Finding(due, UNFINISHED))
    return findings


def _untied_findings(log: LmdbLog) -> Iterator[Finding]:
    """Find records of erasures beside the log: no commit names them, so they explain no missing text."""
    readable = log.untied.all()
    for each in readable:
        header = each.header
        yield Finding(
            0,
            f"a record beside the log states that a later commit {header.seq} by {header.author!r} erased "
            "texts, and no commit of this log names it (in a copy made by an older release, `worlddb "
            "upgrade` records such erasures once)",
        )
    if not readable and log.has_untied():
        yield Finding(0, "records of erasures beside the log are unreadable, and no commit names them")


def _blob_count(log: LmdbLog, seq: int) -> int:
    try:
        return log.events(seq).blob_count
    except errors.WorldDBError:
        return -1


CHUNK_COMMITS: Final = 4096

HOLDS, UNTRUSTED, OTHER_STORE, SHORTER, REWRITTEN, UNREADABLE = (
    *("holds", "untrusted", "other_store", "shorter", "rewritten", "unreadable"),
)
"""The verdicts on a log and a head: the log begins with what the head covers; the head lacks a signature, or differs
about its last commit; it belongs to another store; the log lacks commits; one was rewritten; the log is unreadable."""


def anchor_findings(
    read: Callable[[], AbstractContextManager[lmdb.Transaction]], origin: str, anchor: checkpoint.Anchor
) -> tuple[str, list[Finding]]:
    """Compare the log with a checkpoint: return the verdict, and the findings.

    Only the headers' bytes are trusted. ``origin`` names the store, ``read`` opens a read transaction on it. A head
    that lacks a signature proves nothing about the log, so it is not compared.
    """
    if anchor.problems:
        return UNTRUSTED, [Finding(0, problem) for problem in anchor.problems]
    known = anchor.checkpoint
    if known.origin != origin:
        told = f"the head belongs to another store: {known.origin[:80]}, and this is {origin}"
        return OTHER_STORE, [Finding(0, told)]
    with read() as txn:
        last = LmdbLog(txn).last_stored()
    if known.size > last:
        short = f"the head covers {known.size} commits and the log ends at {last}: it was cut short"
        return SHORTER, [Finding(0, short)]
    try:
        if tree_of_headers(read, known.size) != known.tree:
            changed = f"the tree root of the first {known.size} commits is not the head's: one of them was rewritten"
            return REWRITTEN, [Finding(known.size, changed)]
        with read() as txn:
            findings = [Finding(0, problem) for problem in _line_problems(LmdbLog(txn), known)]
        return UNTRUSTED if findings else HOLDS, findings
    except errors.WorldDBError as error:
        seq = error.details.get("seq", known.size)
        return UNREADABLE, [Finding(seq, f"the log cannot be compared with the head: {error.message}")]


def tree_of_headers(read: Callable[[], AbstractContextManager[lmdb.Transaction]], size: int) -> bytes:
    """The root of the Merkle tree over the first commits, from their headers alone.

    Raises:
        DamagedStore: one of them is missing.
    """
    tree = merkle.Frontier()
    for first in range(1, size + 1, CHUNK_COMMITS):
        with read() as txn:
            log = LmdbLog(txn)
            for seq in range(first, min(first + CHUNK_COMMITS, size + 1)):
                tree.append(codec.chain_hash(log.stored_header(seq)[1]))
    return tree.root()


def _line_problems(log: LmdbLog, known: checkpoint.Checkpoint) -> list[str]:
    """List the extension lines that differ from the commit."""
    if not known.size or known.commit_state is None:
        return []
    stored = log.stored_header(known.size)[1]
    header = codec.decode_header(stored, known.size)
    here = checkpoint.CommitState(codec.chain_hash(stored), header.root, header.ingest_time)
    return [
        f"the head's {word} is not that of commit {known.size}"
        for word, theirs, ours in zip(("chain hash", "root hash", "time"), known.commit_state, here, strict=True)
        if theirs != ours
    ]


def common_commits(one: LmdbLog, other: LmdbLog) -> int:
    """Count the commits that two logs share, by a binary search over their stored chain hashes.

    Raises:
        DamagedStore: a compared commit is missing.
    """
    low, high = 0, min(one.head().seq, other.head().seq)
    while low < high:
        middle = (low + high + 1) // 2
        if one.chain(middle) == other.chain(middle):
            low = middle
        else:
            high = middle - 1
    return low
