"""One LMDB environment per path and process: opened once, shared, remapped when unused.

An erasure replaces the data file. So every transaction checks that the open file still has its name, and the process
opens the new file if it does not. An open file keeps its inode, so the inode cannot be reused while it is compared.

Any other replacement is refused: the new file must hold the last commit that this process saw, and so must the state
on which every transaction begins. A store that was deleted or moved away can still be read, but not written.
"""

import errno
import os
import struct
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple, cast

import lmdb

from worlddb.log.model.errors import DamagedStore, ForkedProcess, NotAStore, StoreClosed, UnavailableError
from worlddb.log.store import durable, high_water, lock, log, pages

DATA_FILE: Final = "data.mdb"
LMDB_LOCK_FILE: Final = "lock.mdb"
REWRITE_FOLDER: Final = ".scrub"
"""Where a rewrite of the data file is prepared, until it has durably replaced the old one."""
_MAP_BYTES: Final = 1 << 40
_SMALLEST_MAP_BYTES: Final = 1 << 24
_MAX_READERS: Final = 1024
_LOCK_BYTES: Final = 128 + 64 * _MAX_READERS
"""The size of LMDB's table of that many readers."""
_PATIENCE_SECONDS: Final = 10.0
_REPLACED_ATTEMPTS: Final = 8
"""How often to reopen a data file that is being replaced before giving up."""
FORK_REMEDY: Final = "Start the process by spawn or forkserver, or open the store only after the fork"


class ReadTransaction:
    """A read transaction as readers get it.

    LMDB's binding frees the reader's slot only when nothing refers to the transaction any more, not when it is aborted,
    and a kept error refers to it through its traceback. So readers get only the bound methods, which are dropped at the
    end.
    """

    __slots__ = ("_abort", "cursor", "get", "id", "stat")

    def __init__(self, txn: lmdb.Transaction) -> None:
        self.get = txn.get
        self.cursor = txn.cursor
        self.id = txn.id
        self.stat = txn.stat
        self._abort = txn.abort

    def abort(self) -> None:
        """Abort the transaction and release it; later reads raise an error."""
        self._abort()
        self.get = self.cursor = self.id = self.stat = self._abort = _raise_ended  # type: ignore[assignment]


def _raise_ended(*_: object, **__: object) -> None:
    raise lmdb.BadTxnError("the read transaction has ended")


class TransactionSlot:
    """The entry of one transaction in :attr:`SharedEnvironment.open_slots`, from before its begin until its end."""

    __slots__ = ("thread",)

    def __init__(self) -> None:
        self.thread = threading.get_ident()


class SharedEnvironment:
    """The environment that all handles of one process on one path share."""

    def __init__(self, folder: Path) -> None:
        self.key = os.path.realpath(folder)
        self.handles = 0
        self.generation = 0
        """How many times the data file was replaced."""
        self._folder = folder
        self._data = str(folder / DATA_FILE)
        self._use(_open_data_file(folder))
        self._mark = high_water.MarkFile(folder)
        self._seen: tuple[bytes | None, log.Head] = (None, log.EMPTY_HEAD)
        """The last head that was seen, stored and decoded. It never goes back."""
        self._turn = threading.Condition()
        self.open_slots: set[TransactionSlot] = set()
        """The slots of all current transactions."""
        self._excluding = 0

    def _use(self, present: "_OpenFile") -> None:
        self.env, self.file, self._descriptor, self.lock_file, self._is_frozen = present
        self._page_bytes: int = self.env.stat()["psize"]
        self._file_bytes = os.fstat(self._descriptor).st_size

    def _refuse_cut(self) -> None:
        """Refuse a data file that was cut short while it was open: accessing a page behind its end ends the process.

        LMDB never shrinks it, and an erasure writes another file.

        Raises:
            DamagedStore: it was cut short.
        """
        # A seek costs a fifth of an fstat, and nobody reads from the place of this descriptor.
        try:
            size_bytes = os.lseek(self._descriptor, 0, os.SEEK_END)
            if size_bytes < self._file_bytes:
                # Another thread may have seen it grow in between.
                size_bytes = os.lseek(self._descriptor, 0, os.SEEK_END)
        except OSError:
            return  # It was closed meanwhile, as LMDB is going to say.
        if size_bytes < self._file_bytes:
            raise DamagedStore(
                f"{self._data} had {self._file_bytes:,} bytes and has {size_bytes:,}: it was cut short, or another file"
                " was copied over it, while it was open",
                "Close it, and restore the store from a backup",
            )
        self._file_bytes = size_bytes

    def close(self) -> None:
        """Close the data file and the mark."""
        self.env.close()
        self._mark.close()
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def enter(self, turn: TransactionSlot) -> None:
        """Register a transaction before it begins, so that :meth:`exclude_threads` knows of it.

        Ctrl-C may come at any call, so callers make sure that :meth:`leave` follows, whether this succeeded or not.
        """
        self.open_slots.add(turn)
        # Both sides register first and check then, so that one of them sees the other without a lock.
        if self._excluding and self._count_slots(turn.thread) == 1:
            self.open_slots.discard(turn)
            with self._turn:
                self._turn.notify_all()
                self._turn.wait_for(lambda: not self._excluding, _PATIENCE_SECONDS)
                self.open_slots.add(turn)

    def leave(self, turn: TransactionSlot) -> None:
        """Unregister a transaction. Ctrl-C may come first, so callers discard it from :attr:`open_slots` before."""
        self.open_slots.discard(turn)
        if self._excluding:
            with self._turn:
                self._turn.notify_all()

    def _count_slots(self, thread: int) -> int:
        return sum(turn.thread == thread for turn in tuple(self.open_slots))

    @contextmanager
    def exclude_threads(self) -> Iterator[int]:
        """Block new transactions of other threads, and wait until their current ones have ended.

        The wait has a time limit. Yields how many transactions are still open then.
        """
        with self._turn:
            self._excluding += 1
            try:
                mine = self._count_slots(threading.get_ident())
                ended = self._turn.wait_for(lambda: len(self.open_slots) <= mine, _PATIENCE_SECONDS)
                # A thread that arrives meanwhile is counted for a moment, and waits without a transaction.
                yield mine if ended else len(self.open_slots)
            finally:
                self._excluding -= 1
                self._turn.notify_all()

    def begin(self, turn: TransactionSlot, *, write: bool, unread: bool = False) -> lmdb.Transaction:
        """Begin a transaction on the present data file.

        Inside another transaction of the same thread, it uses the file of that one. With ``unread`` no record is read,
        for callers that check the pages first.

        Raises:
            UnavailableError: the file was replaced, and other threads did not end their transactions on the old one; or
                it is gone and was to be written; or another store, or an older copy, has replaced it.
            DamagedStore: the file lacks a commit that was read from it before, or was cut short.
        """
        for _ in range(_REPLACED_ATTEMPTS):
            if self._is_frozen and not durable.is_mounted_read_only(self._folder):
                # It is writable by now: reopen it with the lock file that separates readers from writers.
                self.file = _NO_FILE
            there = self.file != _NO_FILE if not write else self._is_there()
            if not there:
                self.refuse_replaced()
            # A writer checks before it begins, too: it holds the lock that replacing the file requires. If the previous
            # writer was killed in a write, LMDB sets the number of the last transaction to that of the file that this
            # process has open, and going back to it would lose commits of the new file.
            if there:
                self._refuse_cut()
                seen = self._seen
                begun = self._begin(turn, write=write)
                txn = begun if write else cast(lmdb.Transaction, ReadTransaction(begun))
                del begun
                # Check after the begin: a replacement from here on leaves this snapshot unchanged.
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
        raise UnavailableError(f"Other processes keep replacing the data file of {self.key}", "Try again")

    def _remember_head(self, txn: lmdb.Transaction, seen: log.Head) -> None:
        """Remember the head of a transaction, which must include the head that was seen before it began."""
        stored: bytes | None = txn.get(log.HEAD_KEY)  # type: ignore[assignment]
        head = log.LmdbLog(txn).head()
        # Before any head was seen, opening has checked only the pages on the path to the head.
        known: bytes | None = txn.get(log.commit_key(seen.seq)) if seen.seq else None  # type: ignore[assignment]
        if head.seq < seen.seq or high_water.is_different_commit(known, seen.chain):
            raise DamagedStore(
                f"{self._data} ends at commit {head.seq} and lacks commit {seen.seq}, which was read from it: "
                "another file was copied over it while it was open",
                "Close it, and restore the store from a backup",
            )
        if head.seq >= self._seen[1].seq:
            self._seen = stored, head

    def record_commit(self, number: int, stored: bytes | None) -> None:
        """Remember the head of a new commit in the process and in the directory's mark, under the writer's lock.

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
        """Extend the file to the length of its counted pages, under the writer's lock.

        Pages that a commit allocated behind the end and freed again are counted but were never written. Opening takes a
        file that is too short for a truncated one, and checks all of it.
        """
        counted_bytes = (self.env.info()["last_pgno"] + 1) * self._page_bytes
        if os.fstat(self._descriptor).st_size >= counted_bytes:
            return
        with suppress(OSError), open(self._data, "r+b", buffering=0) as file:
            if _file_id(os.fstat(file.fileno())) == self.file:
                file.truncate(counted_bytes)

    def stamp(self) -> tuple[int, int] | None:
        """The generation and the number of the last transaction; ``None`` if another file has replaced this one.

        Raises:
            DamagedStore: the file was cut short.
        """
        turn = TransactionSlot()
        try:
            self.enter(turn)
            self._refuse_cut()
            return (self.generation, self.env.info()["last_txnid"]) if self._is_there() else None
        finally:
            self.open_slots.discard(turn)
            self.leave(turn)

    def refuse_replaced(self) -> None:
        """Refuse to go on if the data file was deleted or moved, or if another store has its name.

        Writes to a deleted file would be lost, and another store must not be written to.

        Raises:
            UnavailableError: the store was moved or deleted while it was open here, or another has replaced it.
        """
        if self._is_there():
            return
        if not (self._folder / DATA_FILE).exists():
            raise UnavailableError(
                f"{self._folder / DATA_FILE} is gone: the store was moved or deleted while it was open here",
                "Nothing was written. Put the store back, or open it where it is now",
            )
        if not self.has_seen_commits():
            raise UnavailableError(
                f"{self._folder / DATA_FILE} is not the file that was opened and lacks its commit "
                f"{self._seen[1].seq}: another store, or an older copy, was put in its place",
                "Nothing was read or written. Put the store back, or close this one and open the present one",
            )

    def is_displaced(self) -> bool:
        """True if the open store was moved or deleted, or if another has replaced it."""
        return not self._is_there() and not self.has_seen_commits()

    def _is_there(self) -> bool:
        """True if the open file still has the name of the data file."""
        return _is_file(self._data, self.file, gone=False)

    def _is_present(self) -> bool:
        """True if the open file still has the name of the data file, or if no file has it."""
        return _is_file(self._data, self.file, gone=True)

    def has_seen_commits(self) -> bool:
        """True if the folder's data file has every commit that this process saw, as after the rewrite of an erasure."""
        try:
            return high_water.has_commit(self._folder / DATA_FILE, self._seen[1])
        except OSError:
            return False

    def _reopen(self) -> None:
        """Open the data file that has replaced the open one."""
        self.refuse_replaced()
        with self.exclude_threads() as left:
            if self._is_present():
                return
            if left:
                raise UnavailableError(
                    f"{self.key} was rewritten while {left} transactions of this process were open",
                    "End them, then try again",
                )
            self._remember_last_head()
            self.refuse_replaced()
            # No file has this id: if the new one does not open, the next transaction tries again.
            self.file = _NO_FILE
            self.generation += 1
            self.close()
            self._use(_open_data_file(self._folder))

    def _remember_last_head(self) -> None:
        """Remember the last head of the old file, which other processes may have written."""
        with suppress(lmdb.Error, DamagedStore), self.env.begin() as txn:
            head = log.LmdbLog(txn).head()
            if head.seq > self._seen[1].seq:
                self._seen = txn.get(log.HEAD_KEY), head

    def _begin(self, turn: TransactionSlot, *, write: bool) -> lmdb.Transaction:
        """Begin a transaction, after following another process that has grown the map."""
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
        """Abort a write transaction while new transactions of other threads wait.

        LMDB's binding waits for a moment in which no thread reads, which may never come while several threads read.
        """
        with self.exclude_threads():
            txn.abort()

    def grow(self) -> None:
        """Double the map, for the whole process."""
        self._resize(lambda: self.env.info()["map_size"] * 2)

    def _resize(self, map_bytes: Callable[[], int]) -> None:
        """Remap the file (0: at the size in the file), which ends every open transaction."""
        with self.exclude_threads() as left:
            if left:
                raise UnavailableError(
                    f"{self.key} outgrew its memory map while {left} transactions of this process were open",
                    "End them, then try again",
                )
            self.env.set_mapsize(map_bytes())


_open_environments: dict[tuple[int, str], SharedEnvironment] = {}
_displaced: set[SharedEnvironment] = set()
"""Environments whose handles are still open although another store has replaced them."""
_registry_lock = threading.Lock()


def acquire(folder: Path) -> SharedEnvironment:
    with _registry_lock:
        key = (os.getpid(), os.path.realpath(folder))
        _refuse_inherited(key[1])
        shared = _open_environments.get(key)
        if shared is not None and shared.is_displaced():
            # Its handles refuse to use the store that is there now, which can be opened beside them.
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
            raise durable.system_error(error, folder, f"{folder} cannot be opened: {error}", remedy) from error
        shared.handles += 1
        _open_environments[key] = shared
        return shared


_COPY_IT: Final = (
    "The file system is mounted read-only here, and another mount may write to it, so readers must register "
    "in a file. Copy the directory to a place that you may write to, and open the copy"
)

_REMEDIES: Final = {
    errno.EROFS: _COPY_IT,
    errno.EACCES: (
        "Readers register in the store's files, so they need write permission: run as the owner of the files, or "
        "copy the directory and open the copy"
    ),
}
"""Remedies by the error of the system when LMDB opens its files."""


def _refuse_opened_twice(folder: Path) -> None:
    """Refuse files that this process has open under another name, or under this name before another store took it.

    LMDB can open a file only once in a process: closing the second would release the locks of the first.
    """
    opened = {shared for (pid, _), shared in _open_environments.items() if pid == os.getpid()} | _displaced
    for name in (DATA_FILE, LMDB_LOCK_FILE):
        with suppress(OSError):
            found = _file_id(os.stat(folder / name))
            if any(found in (shared.file, shared.lock_file) for shared in opened):
                raise UnavailableError(
                    f"This process already has {folder / name} open, through a handle opened before the "
                    "directory was moved or its data file replaced",
                    "Close that handle first",
                )


def _refuse_inherited(path: str) -> None:
    """Refuse a store that the parent process had open when it forked.

    LMDB can open a file only once in a process, and a forked child cannot close its parent's environment.
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
    """The environment of a folder, the id and a read descriptor of its data file, and the id of its lock file."""

    env: lmdb.Environment
    file: _File
    descriptor: int
    lock_file: _File
    is_frozen: bool
    """Whether it is opened without the lock file, since nobody can write to it."""


def _is_file(data: str | Path, file: _File, *, gone: bool) -> bool:
    """True if a data file has this id; ``gone`` if there is no file."""
    try:
        found = os.stat(data)
    except OSError:
        return gone
    return (found.st_dev, found.st_ino) == file


def _file_id(found: os.stat_result) -> _File:
    return found.st_dev, found.st_ino


def refuse_linked(folder: Path) -> None:
    """Refuse a store of which a file or folder is a symbolic link.

    Where a link leads, files would be overwritten, and deleted by an erasure, whoever made it; the text would stay in a
    data file that is linked, since an erasure replaces the link; and two folders with one file would not see each
    other's locks.

    Raises:
        UnavailableError: one of them is a link.
    """
    if (link := _link_in(folder, _OWN)) is not None:
        raise UnavailableError(
            f"{link} is a symbolic link: writes and erasures would change, or leave, what it leads to",
            "Remove it, or move what it leads to here; the whole directory may be a link",
        )


_OWN_FOLDERS: Final = frozenset(("indexes", "snapshots", "working"))
_OWN: Final = _OWN_FOLDERS | {
    *(DATA_FILE, LMDB_LOCK_FILE, lock.LOCK_FILE, lock.HOLDER_FILE, high_water.MARK_FILE),
    "copies.jsonl",
}
"""What a store writes in its directory; whatever else lies there is left alone."""


def _link_in(folder: Path, names: Collection[str] | None) -> str | None:
    """The first link of some names in a folder, or below one of them; ``None`` stands for any name."""
    with suppress(OSError), os.scandir(folder) as entries:  # Some may go meanwhile, or be another user's.
        for each in entries:
            if names is not None and each.name not in names:
                continue
            if each.is_symlink():
                return each.path
            is_walked = names is None or each.name in _OWN_FOLDERS
            if is_walked and each.is_dir() and (link := _link_in(Path(each), None)) is not None:
                return link
    return None


def _open_data_file(folder: Path) -> _OpenFile:
    data = folder / DATA_FILE
    for _ in range(_REPLACED_ATTEMPTS):
        refuse_linked(folder)
        try:
            descriptor = os.open(data, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            _refuse_emptied(folder)
            if not durable.make_data_file(data):
                _open_lmdb(folder).close()
            continue
        is_handed_over = False
        try:
            file = _file_id(os.fstat(descriptor))
            try:
                is_frozen = durable.is_frozen(folder)
                env = _open_lmdb(folder, is_frozen=is_frozen)
            except DamagedStore:
                if _is_file(data, file, gone=True):
                    raise
                continue  # Two different files were compared.
            if _is_file(data, file, gone=True):
                if (folder / REWRITE_FOLDER).exists() and not is_frozen:
                    # The process that replaced the file may have died before the rename was durable. Writes to a file
                    # whose name a crash can undo are not durable.
                    durable.sync_folder(folder)
                is_handed_over = True
                lock_file = _NO_FILE if is_frozen else _file_id(os.stat(folder / LMDB_LOCK_FILE))
                return _OpenFile(env, file, descriptor, lock_file, is_frozen)
            env.close()
        finally:
            if not is_handed_over:
                os.close(descriptor)
    raise UnavailableError(f"Other processes keep replacing the data file of {folder}", "Try again")


def _open_lmdb(folder: Path, *, is_frozen: bool = False) -> lmdb.Environment:
    _refuse_emptied(folder)
    if not is_frozen:
        _allocate_lock_file(folder)
    data = folder / DATA_FILE
    existing_bytes = data.stat().st_size if data.exists() else 0
    if existing_bytes and pages.has_damaged_page_size(data):
        raise DamagedStore(f"{data} has a damaged meta page: it states no page size", "Restore the store from a backup")
    map_bytes = _MAP_BYTES
    while True:
        try:
            env = lmdb.open(
                str(folder),
                map_size=max(map_bytes, existing_bytes),
                max_readers=_MAX_READERS,
                # A forked child that frees its copy would end the parent's spare transactions.
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
            refuse_truncated(env, folder)
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
    """Allocate all disk space of LMDB's lock file before it is mapped.

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


def refuse_truncated(env: lmdb.Environment, folder: Path) -> None:
    """Refuse a data file with pages beyond its end: accessing one would kill the process.

    Raises:
        DamagedStore: it was cut short.
    """
    data = folder / DATA_FILE
    needed = (env.info()["last_pgno"] + 1) * env.stat()["psize"]
    size_bytes = data.stat().st_size
    if size_bytes >= needed:
        return
    with env.begin() as txn:
        damage = pages.damaged_pages(data, txn.id())
    if damage or damage is None:
        raise DamagedStore(
            f"{data} has {size_bytes:,} bytes, but its pages need {needed:,}: it was cut short",
            "Restore the store from a backup",
        )


def _refuse_miscounted(data: Path, size_bytes: int) -> None:
    """Refuse a file that counts far more pages than it has; pages are allocated within the map, one after another."""
    if size_bytes and (counted := pages.counted_bytes(data)) > max(_MAP_BYTES, 2 * size_bytes):
        raise DamagedStore(
            f"{data} has a damaged meta page: the file has {size_bytes:,} bytes, and the meta page counts "
            f"pages of {counted:,}",
            "Restore the store from a backup",
        )


def _refuse_emptied(folder: Path) -> None:
    """Refuse an empty or missing data file of a store that was written to: LMDB would turn it into an empty store."""
    data = folder / DATA_FILE
    if (folder / lock.HOLDER_FILE).exists() and not (data.exists() and data.stat().st_size):
        raise DamagedStore(
            f"{data} is empty or missing, but the store has been written to", "Restore the store from a backup"
        )


def _is_raised_here(error: Exception) -> bool:
    """True if code of this package raised the error: the host's own code may run within a transaction."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    module = "" if frame is None else str(frame.tb_frame.f_globals.get("__name__", ""))
    return module.partition(".")[0] == __name__.partition(".")[0]


def _is_row_error(error: Exception) -> bool:
    """True for an error that decoding a damaged row may raise."""
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
"""Errors that damage may raise within a transaction; see :func:`translate_error`."""


def translate_error(error: Exception, folder: Path) -> Exception:
    """Translate an error within a transaction; return it unchanged if it does not concern the store."""
    data = folder / DATA_FILE
    if not isinstance(error, lmdb.Error | SystemError):
        # Rows are decoded and followed without validation, which would slow every read.
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
        return StoreClosed(f"The store {folder} was closed during this call", "Open it again")
    told = f"{folder} cannot be used now: {error}"
    for number, remedy in _REMEDIES.items():
        if os.strerror(number) in str(error):
            return UnavailableError(told, remedy)
    return durable.system_error(error, folder, told, "Check disk space and permissions, then try again")
