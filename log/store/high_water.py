"""The high-water mark: detects a store that was rolled back or replaced.

LMDB picks the present state from the two metas of its file by the numbers in them. After one changed bit there, or with
an older file in place of this one, the store opens as it was before, with nothing wrong inside. Three places show it:

    the metas        are written by turns: their numbers are one apart, the even one in page 0, and the tree of the one
                     in use has the newer head of the log. The other's tree is whole, so that both can be read.
    DIR/high-water   the last commit that this directory acknowledged, written after each commit and not synced: it may
                     lag behind what is durable and is never ahead of it
    the process      remembers the last head that it saw, and checks that every transaction has it

The mark, big-endian:

    8s "wdb-mark", u64 commit, 32s its chain hash, u64 transaction, u64 inode of data.mdb, u32 CRC-32 of the meta that
    the transaction left (both trees, last page), u32 CRC-32 of all that

A mark that is missing, torn or fails its checksum is ignored; the metas are still compared. The doctor and ``verify``
report one that is there and cannot be read.

Another mark, ``DIR/damaged``, says that a verification has found damage. While it is there no process writes to the
store; a verification as deep that finds nothing removes it. It names the first bad commit, and no text.
"""

import json
import os
import struct
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

import lmdb

from worlddb.log.model import codec, errors, ids
from worlddb.log.store import log, pages

MARK_FILE: Final = "high-water"
_MAGIC: Final = b"wdb-mark"
_MARK = struct.Struct(">8sQ32sQQI")
_CHECKSUM = struct.Struct(">I")
DAMAGE_FILE: Final = "damaged"
DAMAGE_REMEDY: Final = (
    "Run `worlddb verify --deep`. If only tables are wrong, run `worlddb rebuild`; else restore the store "
    "from a backup. Writes go on once a verification finds no damage"
)
_REMEDY: Final = "Restore the store from a backup, and check the disk"
_ATTEMPTS: Final = 8
"""How often a problem is checked again, in a file that others may be writing, before it is reported."""


class Mark(NamedTuple):
    """The last acknowledged commit, and the meta that its transaction left in the file of that inode."""

    head: log.Head
    transaction: int
    inode: int
    meta: int


def read_mark(folder: Path) -> Mark | None:
    """Read the mark of a directory; ``None`` if there is no valid one."""
    try:
        with open(folder / MARK_FILE, "rb", buffering=0) as opened:
            stored = opened.read(_MARK.size + _CHECKSUM.size)
    except OSError:
        return None
    if len(stored) != _MARK.size + _CHECKSUM.size:
        return None
    if _CHECKSUM.unpack_from(stored, _MARK.size)[0] != zlib.crc32(stored[: _MARK.size]):
        return None
    magic, seq, chain, transaction, inode, meta = _MARK.unpack_from(stored)
    return Mark(log.Head(seq, chain), transaction, inode, meta) if magic == _MAGIC else None


def find_mark_problem(folder: Path) -> str:
    """Why the mark of a directory cannot be read; empty if it can, or if there is none."""
    file = folder / MARK_FILE
    if not os.path.lexists(file) or any(read_mark(folder) for _ in range(_ATTEMPTS)):
        return ""
    return (
        f"{file} is damaged: whether the store was rolled back was not checked, and is not until the next write makes"
        " that file again"
    )


class Damage(NamedTuple):
    """Damage that a verification found: the first bad commit (0: in none), and whether it was a deep verification."""

    seq: int
    deep: bool


def read_damage(folder: Path) -> Damage | None:
    """Read the note of damage in a directory; an unreadable one counts as that of a deep verification."""
    try:
        with open(folder / DAMAGE_FILE, "rb", buffering=0) as opened:
            stored = opened.read()
    except FileNotFoundError:
        return None
    except OSError:
        return Damage(0, True)
    try:
        found = json.loads(stored)
        return Damage(int(found["seq"]), bool(found["deep"]))
    except (ValueError, TypeError, KeyError):
        return Damage(0, True)


def note_damage(folder: Path, damage: Damage) -> None:
    """Note damage, so that no process writes to the store, if the directory is writable."""
    before = read_damage(folder)
    kept = damage if before is None else Damage(damage.seq, damage.deep or before.deep)
    with suppress(OSError):
        (folder / DAMAGE_FILE).write_text(json.dumps(kept._asdict()) + "\n")


def forget_damage(folder: Path) -> None:
    """Remove the note of damage, so that writes go on."""
    with suppress(OSError):
        (folder / DAMAGE_FILE).unlink()


def refuse_damaged(folder: Path) -> None:
    """Refuse to write to a store with a note of damage; takes five microseconds where there is none.

    Raises:
        DamagedStore: a verification has found damage.
    """
    found = read_damage(folder)
    if found is not None:
        where = f", first in commit {found.seq}" if found.seq else ""
        raise errors.DamagedStore(
            f"A verification found {folder} damaged{where} (see {DAMAGE_FILE} in it), so nothing was written",
            DAMAGE_REMEDY,
            seq=found.seq or None,
        )


class MarkFile:
    """The mark of a directory, kept open from the first commit on."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / MARK_FILE
        self._opened: int | None = None

    def put(self, mark: Mark) -> None:
        """Write the mark, if the directory is writable: the commit is durable without it."""
        stored = _MARK.pack(_MAGIC, *mark.head, mark.transaction, mark.inode, mark.meta)
        with suppress(OSError):
            if self._opened is None:
                self._opened = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
            os.pwrite(self._opened, stored + _CHECKSUM.pack(zlib.crc32(stored)), 0)

    def close(self) -> None:
        if self._opened is not None:
            os.close(self._opened)
            self._opened = None


def refuse_rolled_back(env: lmdb.Environment, data: Path) -> None:
    """Compare the state that LMDB takes for the present one with the other meta, and with the mark.

    Damaged pages are not reported here; other checks find them.

    Raises:
        DamagedStore: the store was rolled back, or the mark belongs to another store.
    """
    problem: _Problem | None = None
    for _ in range(_ATTEMPTS):
        # Read the mark first: later commits only take the store further.
        mark = read_mark(data.parent)
        with env.begin() as txn:
            problem = _find_problem(data, txn.id(), mark)
        if problem is None:
            return
    if problem is not None:
        raise errors.DamagedStore(problem.message, problem.remedy, seq=problem.seq)


class _Problem(NamedTuple):
    """A problem, its remedy, and the first commit that may be lost (0: none is known to be)."""

    message: str
    remedy: str
    seq: int = 0


def _find_problem(data: Path, number: int, mark: Mark | None) -> _Problem | None:
    """Find a problem of the state that a transaction sees, which the caller keeps open."""
    keys = [log.HEAD_KEY] if mark is None else [log.HEAD_KEY, log.commit_key(mark.head.seq)]
    metas = pages.read_metas(data, keys)
    if metas is None:
        return None
    used, other = metas[number & 1], metas[~number & 1]
    head, other_head = _head_in(used), _head_in(other)
    if head is None:
        return None
    if not used.plain:
        return _Problem(f"{data} has a damaged meta page: its tree flags are not those of a store", _REMEDY)
    numbers = tuple(meta.transaction for meta in metas)
    if other_head is not None and other_head.seq > head.seq and other.transaction <= number:
        return _Problem(
            f"{data} was rolled back: it ends at commit {head.seq}, and the meta page that counts as older "
            f"names commit {other_head.seq} (the transaction numbers are {numbers[0]} and {numbers[1]})",
            _REMEDY,
            head.seq + 1,
        )
    if mark is not None and (problem := _compare_with_mark(data, head, used, mark)):
        return problem
    if not _are_consecutive(numbers, number) and not (
        number >= max(numbers)
        and (head == other_head or (other_head is not None and head.seq > other_head.seq) or _is_mark_of(mark, head))
    ):
        return _Problem(
            f"{data} has meta pages with the transaction numbers {numbers[0]} and {numbers[1]}, which do not "
            "fit together: the last one cannot be told",
            _REMEDY,
        )
    return None


def _are_consecutive(numbers: tuple[int, ...], number: int) -> bool:
    """True if two metas were written one after the other, and ``number`` is the last or the one before."""
    even, odd = numbers
    if even == odd == 0:
        return number == 0
    return not even % 2 and odd % 2 == 1 and abs(even - odd) == 1 and number in (max(numbers), max(numbers) - 1)


def _is_mark_of(mark: Mark | None, head: log.Head) -> bool:
    return mark is not None and mark.head == head


def _head_in(meta: pages.MetaPage) -> log.Head | None:
    """The head of the log in a meta's tree; ``None`` if that cannot be read."""
    return None if meta.values is None else log.head_of(meta.values[0])


def _compare_with_mark(data: Path, head: log.Head, used: pages.MetaPage, mark: Mark) -> _Problem | None:
    file, seq = data.parent / MARK_FILE, mark.head.seq
    if head.seq < seq:
        return _Problem(
            f"{data} ends at commit {head.seq}, but commit {seq} was acknowledged (see {file.name} beside "
            "it): the store was rolled back, or an older file was put in its place",
            f"Restore the store from a backup. To go on without commits {head.seq + 1} to {seq}, delete {file}",
            head.seq + 1,
        )
    if used.values is not None and is_different_commit(used.values[1], mark.head.chain):
        return _Problem(
            f"{data} has another commit {seq} than the one acknowledged here (see {file.name} beside it): it "
            "is the file of another store, or was rolled back and then written to",
            f"Restore the store from a backup. To keep the present store, delete {file}",
        )
    of_mark = (head, used.transaction, os.stat(data).st_ino)
    if of_mark == (mark.head, mark.transaction, mark.inode) and used.checksum != mark.meta:
        return _Problem(
            f"{data} has a damaged meta page: that of transaction {mark.transaction}, after commit {seq}, is "
            "not what was written",
            _REMEDY,
        )
    return None


def is_different_commit(stored: bytes | None, chain: bytes) -> bool:
    """True if a stored commit is intact but has another chain hash. ``verify`` finds damaged ones."""
    if stored is None or stored[: ids.HASH_BYTES] == chain:
        return False
    return codec.chain_hash(stored[ids.HASH_BYTES :]) == stored[: ids.HASH_BYTES]


def has_commit(data: Path, seen: log.Head) -> bool:
    """True if a file has the commit of a head that was seen before; reads the file without LMDB.

    Raises:
        OSError: the file cannot be read.
    """
    for _ in range(_ATTEMPTS):
        metas = pages.read_metas(data, [log.HEAD_KEY, log.commit_key(seen.seq)])
        for meta in metas or ():
            head = _head_in(meta)
            if head is None or meta.values is None or head.seq < seen.seq:
                continue
            stored = meta.values[1]
            if not seen.seq or (stored is not None and not is_different_commit(stored, seen.chain)):
                return True
    return False
