"""One LMDB environment a path and process: opened once, shared, remapped when unused.

An erasure puts a new data file in the old one's place. Every transaction therefore looks whether the file that it is on
is still the one of that name, and the process opens the new one if it is not. A file that is open keeps its inode, so
its number cannot come back while it is compared with.

Anything else that is put in its place is refused: the new file must hold the last commit that this process saw, and so
must the state that every transaction begins on. A store that is deleted or moved away can be read on, not written.
"""

import errno
import os
import struct
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple, cast

import lmdb

from worlddb.log.model.errors import DamagedStore, ForkedProcess, NotAStore, StoreClosed, UnavailableError
from worlddb.log.store import durable, high_water, lock, log, pages

DATA_FILE: Final = "data.mdb"
LMDB_LOCK_FILE: Final = "lock.mdb"
REWRITE_FOLDER: Final = ".scrub"
"""Where a data file is written anew, until it has taken the place of the old one for good."""
_MAP_BYTES: Final = 1 << 30 if sys.platform == "win32" else 1 << 40
_SMALLEST_MAP_BYTES: Final = 1 << 24
_MAX_READERS: Final = 1024
_LOCK_BYTES: Final = 128 + 64 * _MAX_READERS
"""What LMDB's table of that many readers takes."""
_PATIENCE_SECONDS: Final = 10.0
_REPLACED_ATTEMPTS: Final = 8
"""How often a data file that has been replaced is opened before giving up."""
FORK_REMEDY: Final = "Start the process by spawn or forkserver, or open the store only after the fork"


class ReadTransaction:
    """A read transaction as those who read have it, until it ends.

    LMDB's binding gives the reader's slot back when nothing refers to its transaction any more, and not when that is
    aborted. An error's traceback refers to all that was read with, for as long as somebody keeps the error. So readers
    get the methods alone, which go at the end.
    """

    __slots__ = ("_abort", "cursor", "get", "id", "stat")

    def __init__(self, txn: lmdb.Transaction) -> None:
        self.get = txn.get
        self.cursor = txn.cursor
        self.id = txn.id
        self.stat = txn.stat
        self._abort = txn.abort

    def abort(self) -> None:
        """Abort the transaction and let go of it; whoever goes on reading gets an error."""
        self._abort()
        self.get = self.cursor = self.id = self.stat = self._abort = _raise_ended  # type: ignore[assignment]


def _raise_ended(*_: object, **__: object) -> None:
    raise lmdb.BadTxnError("the read transaction has ended")


class TransactionSlot:
    """That of one transaction, from before it begins until it has ended."""

    __slots__ = ("thread",)

    def __init__(self) -> None:
        self.thread = threading.get_ident()


class SharedEnvironment:
    """The environment that all handles of one process on one path share."""

    def __init__(self, folder: Path) -> None:
        self.key = os.path.realpath(folder)
        self.handles = 0
        self.generation = 0
        """How many times the data file was found replaced."""
        self._folder = folder
        self._data = str(folder / DATA_FILE)
        self._use(_open_data_file(folder))
        self._mark = high_water.MarkFile(folder)
        self._seen: tuple[bytes | None, log.Head] = (None, log.EMPTY_HEAD)
        """The head that was seen last, as stored and read. It never goes back."""
        self._turn = threading.Condition()
        self.open_slots: set[TransactionSlot] = set()
        """The turns of the transactions that there are."""
        self._excluding = 0

    def _use(self, present: "_OpenFile") -> None:
        self.env, self.file, self._descriptor, self.lock_file, self._is_frozen = present
        self._page_bytes: int = self.env.stat()["psize"]

    def close(self) -> None:
        """Let go of the data file and of the mark."""
        self.env.close()
        self._mark.close()
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def enter(self, turn: TransactionSlot) -> None:
        """Before every transaction, so that :meth:`exclude_threads` knows of it.

        Ctrl-C may come at any call. Whoever enters does so where :meth:`leave` follows in any case, entered or not.
        """
        self.open_slots.add(turn)
        # Entered first and looked at then, by both sides, so that one of them sees the other without a lock.
        if self._excluding and self._count_slots(turn.thread) == 1:
            self.open_slots.discard(turn)
            with self._turn:
                self._turn.notify_all()
                self._turn.wait_for(lambda: not self._excluding, _PATIENCE_SECONDS)
                self.open_slots.add(turn)

    def leave(self, turn: TransactionSlot) -> None:
        """After every transaction. Ctrl-C may come first, so callers discard from :attr:`open_slots` before."""
        self.open_slots.discard(turn)
        if self._excluding:
            with self._turn:
                self._turn.notify_all()

    def _count_slots(self, thread: int) -> int:
        return sum(turn.thread == thread for turn in tuple(self.open_slots))

    @contextmanager
    def exclude_threads(self) -> Iterator[int]:
        """Keep new transactions of other threads waiting until theirs have ended.

        The wait has a time limit. Yields how many are left then.
        """
        with self._turn:
            self._excluding += 1
            try:
                mine = self._count_slots(threading.get_ident())
                ended = self._turn.wait_for(lambda: len(self.open_slots) <= mine, _PATIENCE_SECONDS)
                # Whoever comes meanwhile is among them for a moment, and waits without a transaction.
                yield mine if ended else len(self.open_slots)
            finally:
                self._excluding -= 1
                self._turn.notify_all()

    def begin(self, turn: TransactionSlot, *, write: bool, unread: bool = False) -> lmdb.Transaction:
        """Begin a transaction on the present data file.

        Inside another one of the same thread, it is on the file of that. With ``unread`` nothing of the file's records
        is looked at, for who is to check its pages first.

        Raises:
            UnavailableError: the file was replaced, and other threads did not end their transactions on the old one; it
                is to be written to and is there no more; or another store, or an older copy, is in its place.
            DamagedStore: the file does not hold what was read from it before.
        """
        for _ in range(_REPLACED_ATTEMPTS):
            if self._is_frozen and not durable.is_mounted_read_only(self._folder):
                # It can be written to by now: opened anew, with the lock file that keeps readers and writers apart.
                self.file = _NO_FILE
            there = self.file != _NO_FILE if not write else self._is_there()
            if not there:
                self.refuse_replaced()
            # A writer looks before it begins, too: it holds the lock without which nobody replaces the file. If the one
            # before it was killed in a write, LMDB sets the number of the last transaction to that of the file that
            # this process has open, and going back with it would lose commits of the new file.
            if there:
                seen = self._seen
                begun = self._begin(turn, write=write)
                txn = begun if write else cast(lmdb.Transaction, ReadTransaction(begun))
                del begun
                # Looked at after the beginning: what is replaced from here on has this snapshot as it was.
                if self._is_present() or (not write and self._count_slots(turn.thread) > 1):
                    try:
                        if not unread and txn.get(log.HEAD_KEY) != seen[0]:
                            self._remember_head(txn, seen[1])
                    except BaseException:
                        self.abort(txn) if write else txn.abort()
                        raise
                    return txn
                self.abort(txn) if write else txn.abort()
            self.leave(turn)
            try:
                self._reopen()
            finally:
                self.enter(turn)
        raise UnavailableError(f"The data file of {self.key} is being replaced again and again", "Try again")

    def _remember_head(self, txn: lmdb.Transaction, seen: log.Head) -> None:
        """Remember the head of a transaction that goes on from what was seen before it began."""
        stored: bytes | None = txn.get(log.HEAD_KEY)  # type: ignore[assignment]
        head = log.LmdbLog(txn).head()
        # Before anything was seen, whoever opens has looked at the pages on the way to the head alone.
        known: bytes | None = txn.get(log.commit_key(seen.seq)) if seen.seq else None  # type: ignore[assignment]
        if head.seq < seen.seq or high_water.is_different_commit(known, seen.chain):
            raise DamagedStore(
                f"{self._data} ends at commit {head.seq} and does not hold commit {seen.seq}, which was read from it:"
                " another file was copied over it while it was open",
                "Close it, and restore the store from a backup",
            )
        if head.seq >= self._seen[1].seq:
            self._seen = stored, head

    def record_commit(self, number: int, stored: bytes | None) -> None:
        """After a commit, under the writer's lock: remember its head, in the process and in the directory's mark.

        Raises:
            UnavailableError: the file was replaced or deleted meanwhile, so that the commit may be lost.
        """
        if not self._is_there():
            raise UnavailableError(
                f"{self._data} was replaced, moved or deleted during a write, which went into the old file",
                "Look at the store that is there now, and write again under the same idempotency key",
            )
        head = log.head_of(stored)
        if head is None or not head.seq:
            return
        self._seen = stored, head
        self._extend_file()
        checksum = pages.checksum_of(self._descriptor, number, self._page_bytes)
        if checksum is not None:
            self._mark.put(high_water.Mark(head, number, self.file[1], checksum))

    def _extend_file(self) -> None:
        """Make the file as long as its pages count, under the writer's lock.

        Pages that a commit took behind the end and gave back are counted, and were never written. Whoever opens the
        store takes a file that is too short for one that was cut off, and looks through all of it.
        """
        counted_bytes = (self.env.info()["last_pgno"] + 1) * self._page_bytes
        if os.fstat(self._descriptor).st_size >= counted_bytes:
            return
        with suppress(OSError), open(self._data, "r+b", buffering=0) as file:
            if _file_id(os.fstat(file.fileno())) == self.file:
                file.truncate(counted_bytes)

    def stamp(self) -> tuple[int, int] | None:
        """The generation and the number of the last transaction; ``None`` if another file is in the place of this."""
        turn = TransactionSlot()
        try:
            self.enter(turn)
            return (self.generation, self.env.info()["last_txnid"]) if self._is_there() else None
        finally:
            self.open_slots.discard(turn)
            self.leave(turn)

    def refuse_replaced(self) -> None:
        """Refuse to go on if the data file does not have its name any more, or if another store has it.

        What is written to a file that was deleted is lost, and what is another's is not ours to write to.

        Raises:
            UnavailableError: the store was moved or deleted while it was open here, or another was put in its place.
        """
        if self._is_there():
            return
        if not (self._folder / DATA_FILE).exists():
            raise UnavailableError(
                f"{self._folder / DATA_FILE} is gone: the store was moved or deleted while it was open here",
                "Nothing was written. Put it back, or open it where it is now",
            )
        if not self.has_seen_commits():
            raise UnavailableError(
                f"{self._folder / DATA_FILE} is another file than the one that was opened, without commit"
                f" {self._seen[1].seq} of that: another store, or an older copy, was put in its place",
                "Nothing was read or written. Put the store back, or close this one and open what is there",
            )

    def is_displaced(self) -> bool:
        """True if the store that is open was moved or deleted, or if another is in its place."""
        return not self._is_there() and not self.has_seen_commits()

    def _is_there(self) -> bool:
        """True if the name of the data file is that of the file that is open."""
        return _is_file(self._data, self.file, gone=False)

    def _is_present(self) -> bool:
        """True if the file that is open has its name, or if nothing has that name any more."""
        return _is_file(self._data, self.file, gone=True)

    def has_seen_commits(self) -> bool:
        """True if the data file of the folder holds all that this process has seen: an erasure has written it anew."""
        try:
            return high_water.has_commit(self._folder / DATA_FILE, self._seen[1])
        except OSError:
            return False

    def _reopen(self) -> None:
        """Open the data file that has taken the place of the one that is open."""
        self.refuse_replaced()
        with self.exclude_threads() as left:
            if self._is_present():
                return
            if left:
                raise UnavailableError(
                    f"{self.key} was written anew while {left} transactions of this process were open",
                    "Let them end, then try again",
                )
            self._remember_last_head()
            self.refuse_replaced()
            # No file has this number: if the new one does not open, the next transaction comes here again.
            self.file = _NO_FILE
            self.generation += 1
            self.close()
            self._use(_open_data_file(self._folder))

    def _remember_last_head(self) -> None:
        """Remember the head at which the old file ends, which others may have written."""
        with suppress(lmdb.Error, DamagedStore), self.env.begin() as txn:
            head = log.LmdbLog(txn).head()
            if head.seq > self._seen[1].seq:
                self._seen = txn.get(log.HEAD_KEY), head

    def _begin(self, turn: TransactionSlot, *, write: bool) -> lmdb.Transaction:
        """A transaction; if another process has grown the map, this one follows it first."""
        try:
            return self.env.begin(write=write)
        except lmdb.MapResizedError:
            self.leave(turn)
            try:
                self._resize(lambda: 0)
            finally:
                self.enter(turn)
            return self.env.begin(write=write)

    def abort(self, txn: lmdb.Transaction) -> None:
        """Undo a write transaction, with new ones of other threads kept waiting.

        LMDB's binding waits for a moment in which no thread reads, which may never come while several are at it.
        """
        with self.exclude_threads():
            txn.abort()

    def grow(self) -> None:
        """Double the map, for the whole process."""
        self._resize(lambda: self.env.info()["map_size"] * 2)

    def _resize(self, map_bytes: Callable[[], int]) -> None:
        """Map the file anew (0: at the size that the file says), which ends every open transaction."""
        with self.exclude_threads() as left:
            if left:
                raise UnavailableError(
                    f"{self.key} outgrew its map while {left} transactions of this process were open",
                    "Let them end, then try again",
                )
            self.env.set_mapsize(map_bytes())


_open_environments: dict[tuple[int, str], SharedEnvironment] = {}
_displaced: set[SharedEnvironment] = set()
"""Those whose handles are still open, although another store is in their place."""
_registry_lock = threading.Lock()


def acquire(folder: Path) -> SharedEnvironment:
    with _registry_lock:
        key = (os.getpid(), os.path.realpath(folder))
        _refuse_inherited(key[1])
        shared = _open_environments.get(key)
        if shared is not None and shared.is_displaced():
            # Its handles refuse to go on with what is there now, which can be opened beside them.
            _displaced.add(shared)
            shared = None
        try:
            if shared is None:
                _refuse_opened_twice(folder)
                shared = SharedEnvironment(folder)
        except lmdb.Error as error:
            raise translate_error(error, folder) from error
        except OSError as error:
            remedy = _COPY_IT if error.errno == errno.EROFS else "Check the path and its permissions"
            raise UnavailableError(f"{folder} cannot be opened: {error}", remedy) from error
        shared.handles += 1
        _open_environments[key] = shared
        return shared


_COPY_IT: Final = (
    "It is mounted read-only here, and may be written to by another mount, so that readers enter themselves in a file:"
    " copy the directory to a place where you may write, and open the copy"
)

_REMEDIES: Final = {
    errno.EROFS: _COPY_IT,
    errno.EACCES: "Who reads a store is entered in its files, so you have to be allowed to write to them: run as their"
    " owner, or copy the directory and open the copy",
}
"""By what the system says when LMDB opens its files."""


def _refuse_opened_twice(folder: Path) -> None:
    """Refuse files that this process has open under another name, or under this one before it was another store's.

    LMDB opens a file once in a process: the second to be closed would give back the locks of the first.
    """
    opened = {shared for (pid, _), shared in _open_environments.items() if pid == os.getpid()} | _displaced
    for name in (DATA_FILE, LMDB_LOCK_FILE):
        with suppress(OSError):
            found = _file_id(os.stat(folder / name))
            if any(found in (shared.file, shared.lock_file) for shared in opened):
                raise UnavailableError(
                    f"{folder / name} is open in this process already, by a handle that was opened before its directory"
                    " was moved or its data file replaced",
                    "Close that handle first",
                )


def _refuse_inherited(path: str) -> None:
    """Refuse a store that the parent process had open when it forked.

    LMDB opens a file once in a process, and a forked child cannot close what its parent is using.
    """
    if any(pid != os.getpid() and inherited == path for pid, inherited in _open_environments):
        raise ForkedProcess(f"The store {path} was open in the parent process when it forked", FORK_REMEDY)


def release(shared: SharedEnvironment) -> None:
    with _registry_lock:
        shared.handles -= 1
        if not shared.handles:
            key = (os.getpid(), shared.key)
            if _open_environments.get(key) is shared:
                del _open_environments[key]
            _displaced.discard(shared)
            shared.close()


_File = tuple[int, int]
_NO_FILE: Final = (-1, -1)


class _OpenFile(NamedTuple):
    """The environment of a folder, which file it is on, that file opened for reading, and which lock file it has."""

    env: lmdb.Environment
    file: _File
    descriptor: int
    lock_file: _File
    is_frozen: bool
    """Whether it is read without the lock file, since nobody can write to it."""


def _is_file(data: str | Path, file: _File, *, gone: bool) -> bool:
    """True if a data file is this one; ``gone`` if there is none."""
    try:
        found = os.stat(data)
    except OSError:
        return gone
    return (found.st_dev, found.st_ino) == file


def _file_id(found: os.stat_result) -> _File:
    return found.st_dev, found.st_ino


def refuse_linked(folder: Path) -> None:
    """Refuse a data file that is a symbolic link.

    An erasure would replace the link, and leave its target with the text; two folders with one file would not see
    each other's locks.

    Raises:
        UnavailableError: it is one.
    """
    data = folder / DATA_FILE
    if data.is_symlink():
        raise UnavailableError(
            f"{data} is a symbolic link, behind which an erasure would leave erased texts",
            "Move the file back into the directory, or the whole directory to where it should lie, and link that",
        )


def _open_data_file(folder: Path) -> _OpenFile:
    data = folder / DATA_FILE
    for _ in range(_REPLACED_ATTEMPTS):
        refuse_linked(folder)
        try:
            held = os.open(data, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            _refuse_emptied(folder)
            if not durable.make_data_file(data):
                _open_lmdb(folder).close()
            continue
        kept = False
        try:
            file = _file_id(os.fstat(held))
            try:
                is_frozen = durable.is_frozen(folder)
                env = _open_lmdb(folder, is_frozen=is_frozen)
            except DamagedStore:
                if _is_file(data, file, gone=True):
                    raise
                continue  # What was compared belongs to two files.
            if _is_file(data, file, gone=True):
                if (folder / REWRITE_FOLDER).exists() and not is_frozen:
                    # Whoever replaced the file may have ended before that was on the disk. What is written to a file
                    # whose name goes with a crash is not durable.
                    durable.sync_folder(folder)
                kept = True
                lock_file = _NO_FILE if is_frozen else _file_id(os.stat(folder / LMDB_LOCK_FILE))
                return _OpenFile(env, file, held, lock_file, is_frozen)
            env.close()
        finally:
            if not kept:
                os.close(held)
    raise UnavailableError(f"The data file of {folder} is being replaced again and again", "Try again")


def _open_lmdb(folder: Path, *, is_frozen: bool = False) -> lmdb.Environment:
    _refuse_emptied(folder)
    if not is_frozen:
        _allocate_lock_file(folder)
    data = folder / DATA_FILE
    existing_bytes = data.stat().st_size if data.exists() else 0
    if existing_bytes and pages.has_damaged_page_size(data):
        raise DamagedStore(
            f"{data} has a damaged meta: it does not say how long a page is", "Restore the store from a backup"
        )
    map_bytes = _MAP_BYTES
    while True:
        try:
            env = lmdb.open(
                str(folder),
                map_size=max(map_bytes, existing_bytes),
                max_readers=_MAX_READERS,
                # A forked child that lets go of its copy would end the parent's spare transactions with it.
                max_spare_txns=0,
                subdir=True,
                readonly=is_frozen,
                lock=not is_frozen,
            )
            break
        except (lmdb.MemoryError, MemoryError, lmdb.MapResizedError) as error:
            if map_bytes <= _SMALLEST_MAP_BYTES or isinstance(error, lmdb.MapResizedError):
                _refuse_miscounted(data, existing_bytes)
                raise
            map_bytes //= 2
    if existing_bytes:
        try:
            _refuse_truncated(env, folder)
            high_water.refuse_rolled_back(env, data)
        except lmdb.MapResizedError:
            env.close()
            _refuse_miscounted(data, existing_bytes)
            raise
        except BaseException:
            env.close()
            raise
    if not is_frozen:
        env.reader_check()
    return env


def _allocate_lock_file(folder: Path) -> None:
    """Give LMDB's lock file all of its disk space before it is mapped.

    LMDB maps this file with holes in it: on a full disk, touching one would end the process without a word.
    """
    allocate = getattr(os, "posix_fallocate", None)
    path = folder / LMDB_LOCK_FILE
    if allocate is None or (path.exists() and path.stat().st_size >= _LOCK_BYTES):
        return
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        allocate(descriptor, 0, _LOCK_BYTES)
    finally:
        os.close(descriptor)


def _refuse_truncated(env: lmdb.Environment, folder: Path) -> None:
    """A page beyond the end of the data file would end the process on access, so look before."""
    data = folder / DATA_FILE
    needed = (env.info()["last_pgno"] + 1) * env.stat()["psize"]
    size_bytes = data.stat().st_size
    if size_bytes >= needed:
        return
    with env.begin() as txn:
        damage = pages.damaged_pages(data, txn.id())
    if damage or damage is None:
        raise DamagedStore(
            f"{data} has {size_bytes:,} bytes but its pages need {needed:,}: it was cut short",
            "Restore the store from a backup",
        )


def _refuse_miscounted(data: Path, size_bytes: int) -> None:
    """Refuse a file that counts far more pages than it has: they are given out within the map, one after the other."""
    if size_bytes and (counted := pages.counted_bytes(data)) > max(_MAP_BYTES, 2 * size_bytes):
        raise DamagedStore(
            f"{data} has a damaged meta: it has {size_bytes:,} bytes and counts pages of {counted:,}",
            "Restore the store from a backup",
        )


def _refuse_emptied(folder: Path) -> None:
    """Refuse an empty or missing data file of a store that was written to.

    LMDB would make it into an empty store, which must not happen.
    """
    data = folder / DATA_FILE
    if (folder / lock.HOLDER_FILE).exists() and not (data.exists() and data.stat().st_size):
        raise DamagedStore(
            f"{data} is empty or gone, but the store has been written to", "Restore the store from a backup"
        )


def _is_raised_here(error: Exception) -> bool:
    """True if code of this package raised it: a host's own code may run within a transaction."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    module = "" if frame is None else str(frame.tb_frame.f_globals.get("__name__", ""))
    return module.partition(".")[0] == __name__.partition(".")[0]


def _is_row_error(error: Exception) -> bool:
    """True for an error as rows raise it that are not what was written."""
    if isinstance(error, struct.error):
        return "unpack" in str(error)
    if isinstance(error, RuntimeError):
        return isinstance(error.__cause__, StopIteration)
    if isinstance(error, ValueError):
        return "not in list" in str(error)
    return True


BY_DAMAGE: Final = (
    *(lmdb.Error, SystemError, struct.error, StopIteration),
    *(IndexError, KeyError, AssertionError, ValueError, RuntimeError),
)
"""What damage may raise within a transaction; see :func:`translate_error`."""


def translate_error(error: Exception, folder: Path) -> Exception:
    """Translate an error within a transaction; itself if it tells nothing of the store."""
    data = folder / DATA_FILE
    if not isinstance(error, lmdb.Error | SystemError):
        # Rows are decoded, and followed to one another, without a look at them first, which would cost every read.
        if not _is_row_error(error) or not _is_raised_here(error):
            return error
        wrong = "has the wrong length" if isinstance(error, struct.error) else "does not fit the others"
        message = f"A row in {data} {wrong}: {str(error) or type(error).__name__}"
        return DamagedStore(message, "Run `worlddb verify --deep`, then `worlddb rebuild tables`")
    if isinstance(error, SystemError):
        # The binding raises it in place of its own error when a cursor meets a damaged page.
        if not isinstance(error.__cause__, lmdb.Error):
            return error
        error = error.__cause__
    unknown_format = type(error) is lmdb.Error and "data format" in str(error)
    if unknown_format or isinstance(error, lmdb.InvalidError | lmdb.VersionMismatchError):
        if (folder / lock.HOLDER_FILE).exists():
            return DamagedStore(f"{data} is cut short or overwritten: {error}", "Restore the store from a backup")
        return NotAStore(f"{data} is not an LMDB file of this kind: {error}", "Check the path")
    damaged = lmdb.CorruptedError | lmdb.PageNotFoundError | lmdb.PanicError | lmdb.BadTxnError | lmdb.ProblemError
    if isinstance(error, damaged):
        return DamagedStore(f"{folder} has a damaged page: {error}", "Run `worlddb verify`, or restore a backup")
    if "mdb_txn_begin: Resource temporarily unavailable" in str(error):
        # LMDB knows its readers by their process numbers, and each holds a lock on its own.
        return UnavailableError(
            f"{folder} is open in another process with the number {os.getpid()}, in another container",
            "Let the containers share process numbers, or give each a store of its own",
        )
    if "closed/deleted/dropped" in str(error):
        return StoreClosed(f"The store {folder} was closed while this was under way", "Open it again")
    told = f"{folder} cannot be used now: {error}"
    for number, remedy in _REMEDIES.items():
        if os.strerror(number) in str(error):
            return UnavailableError(told, remedy)
    return UnavailableError(told, "Check disk space and permissions, then try again")
