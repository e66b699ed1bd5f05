"""The copies that a store has made elsewhere, which the receipt of an erasure names.

Each copy is noted twice, so that a deleted or altered file does not remove it from the receipts:

    DIR/copies.jsonl    one JSON object a line, for people
    data.mdb            beside the log, under 0x06 and a number u64 from 1 on: msgpack ``[kind, path, seq, head]``

The file is written first. The next note of a copy, and the end of an erasure, write what either place lacks; nothing
else writes to them. A backup and a restored store inherit the notes of their source. The notes are not part of the log:
no decision depends on them, and copies that were made by other means are missing. Stores of earlier releases have only
the file.
"""

import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

import lmdb
import msgspec

from worlddb.log.model import codec, errors
from worlddb.log.store import environment, scratch, shared_environment
from worlddb.log.store.log import COPIES, HEAD_KEY, LmdbLog

COPIES_FILE: Final = "copies.jsonl"

BACKUP: Final = "backup"
"""The kind of copy that is brought up to date again and again."""
RESTORING: Final = "restoring"
"""The kind of a copy that becomes a store of its own when it is whole."""

OVERWRITTEN: Final = "overwritten"
"""The kind of a note that the file noted at ``path`` when the last commit was ``head`` is no more; its ``seq`` is 0."""

_KEYS: Final = (HEAD_KEY, bytes([COPIES]))
_PATIENCE_SECONDS: Final = 2.0
"""How long to wait for another writer. The next copy takes over what only the file has."""


class Copy(msgspec.Struct, frozen=True):
    """A copy of the commits up to ``seq``, made when the store's last commit was ``head``."""

    kind: str
    path: str
    seq: int
    head: int


_DECODER: Final = msgspec.json.Decoder(Copy)
_Row = tuple[str, str, int, int]


COMPANIONS: Final = ("accounts", "keys", "usage")
"""The files beside the directory of a store, by what follows its name: who may use a server, and how much they did."""
_COMPANION: Final = re.compile(
    rf"(.+)\.(?:{'|'.join(COMPANIONS)})(?:\.(?:lock|damaged|new[0-9]*)|-(?:wal|shm|journal))?"
)


def companion_path(folder: Path, name: str) -> Path:
    """The file of a store, one of :data:`COMPANIONS`: beside its directory, not in it."""
    folder = folder.absolute()
    return folder.with_name(f"{folder.name}.{name}")


def refuse_companion(target: Path) -> None:
    """Refuse to write to a place that is that of a file beside a store, whether it is there or not.

    Raises:
        InputError: it is one.
    """
    for place in (Path(os.path.abspath(target)), target.resolve()):
        found = _COMPANION.fullmatch(place.name)
        if found is not None and (place.parent / found[1] / shared_environment.DATA_FILE).exists():
            raise errors.InputError(
                f"{str(target)!r:.200} is the place of a file that belongs to the store {place.parent / found[1]}",
                "Choose another name",
            )


def refuse_inside(folder: Path, target: Path) -> None:
    """Refuse to copy into the directory of the store itself: an erasure must find everything there.

    It finds what is in a folder of scratch tables. The files beside a store are none to write over either.

    Raises:
        InputError: the target lies inside the store, is a file beside one, or is not a path.
    """
    try:
        refuse_companion(target)
        is_inside = folder.resolve() in target.resolve().parents
        is_inside = is_inside and not scratch.is_removed_by_erasures(folder, target)
    except ValueError as error:
        raise errors.InputError(f"{str(target)!r} is not a path: {error}", "Name a directory") from None
    if is_inside:
        raise errors.InputError(f"{target} lies inside the store {folder} itself", "Name a place outside the store")


def is_only_file(path: Path) -> bool:
    """Return whether a path leads to a file that is nowhere else, so that writing over it leaves nothing of it."""
    try:
        found = path.lstat()
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(found.st_mode) and found.st_nlink == 1


def note_copy(env: environment.Environment, copy: Copy, *, overwrites: bool = False) -> None:
    """Note a copy in both places, if the directory is writable; ``overwrites`` the one that was at its path.

    A copy that every erasure removes needs no note.
    """
    if scratch.is_removed_by_erasures(env.folder, Path(copy.path)):
        return
    copy = msgspec.structs.replace(copy, path=copy.path.encode("utf-8", "backslashreplace").decode())
    noted = [copy]
    if overwrites:
        with suppress(errors.WorldDBError, OSError, lmdb.Error), env.read() as txn:
            there = [each for each in noted_copies(env.folder, LmdbLog(txn)) if each.path == copy.path]
            last = max((each.head for each in there if each.kind != OVERWRITTEN), default=copy.head)
            # One of the same commit has the same texts and, but for its kind, the same name.
            noted += [Copy(OVERWRITTEN, copy.path, 0, last)] if last < copy.head else []
    _append_lines(env.folder, noted)
    reconcile_notes(env)


def reconcile_notes(env: environment.Environment) -> None:
    """Complete each list of copies from the other one, if they are writable."""
    with suppress(errors.WorldDBError, OSError, lmdb.Error):
        with env.read() as txn:
            lacking = _only_in_file(env.folder, LmdbLog(txn))
        if lacking:
            env.refuse_damaged_pages(_KEYS)
            env.write(partial(_add_notes, lacking), timeout_seconds=_PATIENCE_SECONDS)
        with env.read() as txn:
            _append_lines(env.folder, _subtract_known(_read_data_file(LmdbLog(txn)), _read_file(env.folder)))


def inherit_notes(source: environment.Environment, target: environment.Environment, seq: int) -> None:
    """Give a copy of the first ``seq`` commits the notes of its source, if it is writable.

    Those copies may hold texts that this one will erase. It knows nothing of commits after ``seq``.
    """
    with suppress(errors.WorldDBError, OSError, lmdb.Error):
        with source.read() as txn:
            known = noted_copies(source.folder, LmdbLog(txn))
        kept = [Copy(each.kind, each.path, min(each.seq, seq), min(each.head, seq)) for each in latest_copies(known)]
        with target.read() as txn:
            lacking = _subtract_known(kept, noted_copies(target.folder, LmdbLog(txn)))
        _append_lines(target.folder, lacking)
    reconcile_notes(target)


def noted_copies(folder: Path, log: LmdbLog) -> list[Copy]:
    """List the copies noted in either place: a backup once for each update."""
    return [*_read_data_file(log), *_only_in_file(folder, log)]


def latest_copies(copies: Iterable[Copy]) -> list[Copy]:
    """List each noted copy once, a backup in its latest state, which includes the earlier erasures.

    Files that a later copy was written over are left out.
    """
    noted, newest = list(copies), dict[object, Copy]()
    gone = {(copy.path, copy.head) for copy in noted if copy.kind == OVERWRITTEN}
    for copy in noted:
        if copy.kind == OVERWRITTEN or (copy.kind != BACKUP and (copy.path, copy.head) in gone):
            continue
        place = copy.path if copy.kind == BACKUP else copy
        known = newest.get(place)
        if known is None or (copy.head, copy.seq) >= (known.head, known.seq):
            newest[place] = copy
    return list(newest.values())


def list_lost_lines(folder: Path, log: LmdbLog) -> Iterator[str]:
    """Report copies that only the data file lists. Nothing is lost, and the lines may have been removed on purpose.

    Copies that only the file lists are normal in stores of earlier releases.
    """
    known = _read_data_file(log)
    lost = _subtract_known(known, _read_file(folder))
    if lost:
        shown = min(lost, key=lambda copy: copy.kind == OVERWRITTEN)
        yield (
            f"{COPIES_FILE} lacks {len(lost):,} of {len(known):,} copies that data.mdb lists, such as the "
            f"{shown.kind} at {shown.path}. Receipts name them all, and the next copy writes the list "
            "again"
        )


def list_lost_notes(log: LmdbLog) -> Iterator[str]:
    """Report notes of copies that are missing from the data file or unreadable."""
    most, known = max((number for number, _ in log.copies()), default=0), len(_read_data_file(log))
    if known != most:
        yield f"of the {most:,} copies that data.mdb lists, {known:,} can be read"


def _read_data_file(log: LmdbLog) -> list[Copy]:
    """The readable notes in the data file, oldest first."""
    found: list[Copy] = []
    for _, stored in log.copies():
        with suppress(msgspec.MsgspecError):
            found.append(Copy(*msgspec.msgpack.decode(stored, type=_Row)))
    return found


def _add_notes(lacking: Iterable[Copy], txn: lmdb.Transaction) -> None:
    log = LmdbLog(txn)
    first = max((number for number, _ in log.copies()), default=0) + 1
    for number, copy in enumerate(_subtract_known(lacking, _read_data_file(log)), first):
        log.note_copy(number, codec.encode((copy.kind, copy.path, copy.seq, copy.head)))


def copies_holding(copies: Iterable[Copy], first: int, seq: int) -> list[str]:
    """Name the copies that hold texts from commit ``first`` on and were made before commit ``seq`` erased them."""
    holders = (copy for copy in copies if copy.seq >= first and copy.head < seq)
    return list(dict.fromkeys(f"{copy.kind} at {copy.path}" for copy in holders))


def _subtract_known(copies: Iterable[Copy], known: Iterable[Copy]) -> list[Copy]:
    """The copies that are not among the known ones, each once."""
    passed = set(known)
    return [copy for copy in dict.fromkeys(copies) if copy not in passed]


def _only_in_file(folder: Path, log: LmdbLog) -> list[Copy]:
    """Copies that only the file lists, without impossible ones, which would pass for an up-to-date backup."""
    head = log.head().seq
    return [
        copy for copy in _subtract_known(_read_file(folder), _read_data_file(log)) if 0 <= copy.seq <= copy.head <= head
    ]


def _read_file(folder: Path) -> list[Copy]:
    try:
        lines = (folder / COPIES_FILE).read_bytes().splitlines()
    except OSError:
        return []
    found: list[Copy] = []
    for line in lines:
        with suppress(msgspec.MsgspecError):
            found.append(_DECODER.decode(line))
    return found


def _append_lines(folder: Path, copies: list[Copy]) -> None:
    if not copies:
        return
    lines = b"".join(msgspec.json.encode(copy) + b"\n" for copy in copies)
    with suppress(OSError):
        descriptor = os.open(folder / COPIES_FILE, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            cut = os.pread(descriptor, 1, max(os.fstat(descriptor).st_size - 1, 0)) not in (b"", b"\n")
            os.write(descriptor, b"\n" * cut + lines)
        finally:
            os.close(descriptor)
