"""Working memory: buffers of messages beside the log, gone after their time.

    DIR/working/              mode 700
    DIR/working/NUMBER/       an LMDB environment without sync, mode 600; the highest number counts

A row has for its key 16 bytes of the digest of its scope and a number u64, and is a :class:`WorkingMessage` in msgpack.
It is no memory: no hash covers it, no log, backup or export has it, and a power failure may lose it.

LMDB leaves the bytes of deleted rows in free pages. So what is left after a deletion is written to a folder of the next
number under the writer's lock of the present one, and the present one is deleted. Whoever has that open looks for a
higher number before each call, and goes on there. A thread in each process that has them open does the same every few
seconds for what has passed its time.

A damaged file may hold anything that was ever in it, and LMDB could end the process on it. So all its pages are checked
when it is opened and before a deletion, and a damaged one is deleted, with a line in the log of the process.
"""

import logging
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

import lmdb
import msgspec

from worlddb.log.model import clock, errors
from worlddb.log.store import durable, pages, shared_environment

FOLDER: Final = "working"
SWEEP_SECONDS: Final = 15.0
"""How often a process looks for what has passed its time."""
MAP_BYTES: Final = 1 << 30
MAX_MESSAGE_BYTES: Final = 256 * 1024
_PREFIX_BYTES: Final = 16
_UNFINISHED: Final = ".new"
_DELETED: Final = b"\xff"
"""The key of a mark: rows were deleted whose bytes may still be in a page."""
_ATTEMPTS: Final = 64
_DAMAGE: Final = (
    *(lmdb.CorruptedError, lmdb.InvalidError, lmdb.VersionMismatchError, lmdb.PageNotFoundError, lmdb.PanicError),
    *(lmdb.ProblemError, SystemError, msgspec.DecodeError, errors.DamagedStore),
)
"""The errors of reading invalid bytes; other errors say nothing about the bytes."""
_LOG: Final = logging.getLogger("worlddb.working")
_NUMBER_BYTES: Final = 8
_LOOKS: Final = 8
"""How often damage is looked for again, in a file that others may be writing or replacing."""


class Scope(NamedTuple):
    """Whose messages they are."""

    project: str
    context: str
    user: str
    session: str


class WorkingMessage(msgspec.Struct, frozen=True, array_like=True):
    """A message of a buffer; times are microseconds. ``expires_at`` is when it is gone."""

    project: str
    context: str
    user: str
    session: str
    role: str
    content: str
    at: int
    expires_at: int

    @property
    def scope(self) -> Scope:
        return Scope(self.project, self.context, self.user, self.session)

    def is_expired(self, now: int) -> bool:
        """True once its time has passed, or where the clock went back by more than that since it was added."""
        return not 2 * self.at - self.expires_at <= now < self.expires_at


_DECODE: Final = msgspec.msgpack.Decoder(WorkingMessage).decode


_PERMISSIONS: Final = "Check its permissions, and those of the directory that it is in"


class MessageBuffers:
    """The buffers of one store, shared by all handles of a process; see :func:`open_buffers`."""

    def __init__(self, folder: Path, time: clock.Clock) -> None:
        self._folder = folder / FOLDER
        self._time = time
        self._lock = threading.RLock()
        self._env: lmdb.Environment | None = None
        self._number = 0
        self._file_bytes = 0
        self._ended = threading.Event()
        self._sweeper: threading.Thread | None = None
        self.handles = 0

    # -- what callers do

    def add(self, message: WorkingMessage, most: int) -> int:
        """Add a message, and let the oldest of its buffer go beyond so many; how many there are."""
        prefix = _prefix(message.scope)
        stored = msgspec.msgpack.encode(message)
        with self._write_transaction() as txn:
            held = _keys(txn, prefix)
            number = int.from_bytes(held[-1][_PREFIX_BYTES:], "big") + 1 if held else 0
            txn.put(prefix + number.to_bytes(_NUMBER_BYTES, "big"), stored)
            gone = held[: max(0, len(held) + 1 - most)]
            for key in gone:
                txn.delete(key)
            if gone:
                txn.put(_DELETED, b"")
            return len(held) + 1 - len(gone)

    def get(self, scope: Scope) -> list[WorkingMessage]:
        """The messages of a buffer that are not gone, the oldest first."""
        if not self._folder.exists():
            return []
        now = self._time.now()
        with self._read_transaction() as txn:
            found = [_DECODE(value) for _, value in _rows(txn, _prefix(scope))]
        return [each for each in found if not each.is_expired(now)]

    def count(self, is_meant: Callable[[WorkingMessage], bool]) -> int:
        """How many messages there are, in all buffers, that are not gone."""
        if not self._folder.exists():
            return 0
        now = self._time.now()
        with self._read_transaction() as txn:
            found = [_DECODE(value) for _, value in _rows(txn)]
        return sum(not each.is_expired(now) and is_meant(each) for each in found)

    def clear(self, is_meant: Callable[[WorkingMessage], bool]) -> int:
        """Remove messages, and every byte of them and of what was deleted before; how many.

        A damaged file is deleted whole, since nothing tells whose messages are in it.
        """
        return self._rewrite(is_meant) if self._folder.exists() else 0

    def sweep(self) -> int:
        """Remove what has passed its time, and the bytes of whatever was deleted before; how many messages."""
        if not self._folder.exists():
            return 0
        now = self._time.now()
        try:
            with self._read_transaction() as txn:
                is_due = txn.get(_DELETED) is not None or any(_DECODE(value).is_expired(now) for _, value in _rows(txn))
        except errors.DamagedStore:
            is_due = True
        return self._rewrite(lambda each: each.is_expired(now)) if is_due else 0

    # -- the environment

    def _path(self, number: int) -> Path:
        return self._folder / str(number)

    def _highest(self) -> int:
        try:
            return max((int(name) for name in os.listdir(self._folder) if name.isdigit()), default=0)
        except FileNotFoundError:
            return 0
        except OSError as error:
            raise errors.UnavailableError(f"{self._folder} cannot be read: {error}", _PERMISSIONS) from error

    def _size_bytes(self, number: int) -> int:
        """The size of an environment's file; 0 if somebody has deleted it."""
        with suppress(FileNotFoundError):
            return os.stat(self._path(number) / shared_environment.DATA_FILE).st_size
        return 0

    def _current_env(self) -> lmdb.Environment:
        """The environment that counts now."""
        is_cut = False
        if self._env is not None and self._highest() == self._number:
            size_bytes = self._size_bytes(self._number)
            is_cut = size_bytes < self._file_bytes
            if not is_cut:
                self._file_bytes = size_bytes
                return self._env
        self._close_env()
        if is_cut:
            # Accessing a page behind the end of the file would end the process.
            self._discard(self._number, errors.DamagedStore("it was cut short", "Add the messages again"))
        for _ in range(_ATTEMPTS):
            number = self._highest()
            try:
                if not number:
                    self._begin()
                    continue
                env = _open_whole(self._path(number))
            except _DAMAGE as error:
                # Without a sync a power failure may leave anything. What cannot be read is gone.
                if self._highest() == number:
                    self._discard(number, error)
                continue
            except lmdb.Error as error:
                if self._highest() != number:
                    continue
                remedy = "Check permissions and how many files are open"
                if durable.is_mounted_read_only(self._folder):
                    remedy = "Copy the directory to a place that you may write to: messages go once their time has come"
                raise errors.UnavailableError(f"{self._path(number)} cannot be opened: {error}", remedy) from None
            if self._highest() == number:
                self._env, self._number, self._file_bytes = env, number, self._size_bytes(number)
                self._start_sweeper()
                return env
            env.close()
        raise errors.UnavailableError(f"{self._folder} cannot be opened", "Check that you may write to it")

    def _begin(self) -> None:
        """Make the first environment."""
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            self._create_environment(1, [])
        except OSError as error:
            told = f"{self._folder} cannot be made: {error}"
            raise durable.system_error(error, self._folder.parent, told, _PERMISSIONS) from error

    @contextmanager
    def _read_transaction(self) -> Iterator[lmdb.Transaction]:
        with self._lock:
            env = self._current_env()
            try:
                with env.begin() as txn:
                    yield txn
            except _DAMAGE as error:
                raise self._damaged(error) from error

    def _damaged(self, error: Exception) -> errors.DamagedStore:
        return errors.DamagedStore(
            f"{self._path(self._number) / shared_environment.DATA_FILE} is damaged: {error}",
            "Open the store again, which deletes that file, or delete it: it has recent messages of sessions, and no"
            " memory",
        )

    @contextmanager
    def _write_transaction(self) -> Iterator[lmdb.Transaction]:
        """A write transaction on the environment that counts, which no other takes the place of meanwhile."""
        with self._lock:
            for _ in range(_ATTEMPTS):
                try:
                    with self._current_env().begin(write=True) as txn:
                        # Others may have taken the place of it more than once while the lock was waited for.
                        if self._highest() != self._number:
                            txn.abort()
                            continue
                        yield txn
                except lmdb.MapFullError as error:
                    raise errors.UnavailableError(
                        f"Working memory is full ({MAP_BYTES:,} bytes)", "Clear buffers that you no longer need"
                    ) from error
                except _DAMAGE as error:
                    raise self._damaged(error) from error
                except (lmdb.Error, OSError) as error:
                    told = f"{self._folder} cannot be written to: {error}"
                    raise durable.system_error(error, self._folder, told, "Check disk space and permissions") from error
                return
        raise errors.UnavailableError(f"Other processes keep rewriting {self._folder}", "Try again")

    def _rewrite(self, is_gone: Callable[[WorkingMessage], bool]) -> int:
        """Let the next environment have what stays; how many messages do not."""
        gone = 0
        with self._write_transaction() as txn:
            try:
                _refuse_damaged(self._current_env(), self._path(self._number))
                rows = [(key, value, is_gone(_DECODE(value))) for key, value in _rows(txn)]
                gone = sum(each[2] for each in rows)
                if not gone and txn.get(_DELETED) is None:
                    return 0
                self._create_environment(self._number + 1, [(key, value) for key, value, is_it in rows if not is_it])
            except _DAMAGE as error:
                txn.abort()
                self._discard(self._number, error)
        with self._lock:
            self._current_env()
        return gone

    def _create_environment(self, number: int, rows: list[tuple[bytes, bytes]]) -> None:
        """Make an environment of a number, whole before it has its name, and delete those of lower ones."""
        unfinished = self._folder / f"{_UNFINISHED}-{os.getpid()}-{threading.get_ident()}"
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(mode=0o700)
        env = _open_lmdb(unfinished)
        with env.begin(write=True) as txn:
            for key, value in rows:
                txn.put(key, value, append=True)
        env.close()
        with suppress(OSError):  # Another process was quicker, from nothing.
            unfinished.rename(self._path(number))
        shutil.rmtree(unfinished, ignore_errors=True)
        if not self._path(number).exists():
            raise errors.UnavailableError(f"{self._folder} cannot be written to", "Check disk space and permissions")
        for each in self._folder.iterdir():
            if each.name.isdigit() and int(each.name) < number:
                shutil.rmtree(each, ignore_errors=True)

    def _discard(self, number: int, error: Exception) -> None:
        """Delete a damaged environment, and begin an empty one."""
        self._create_environment(number + 1, [])
        said = "%s was damaged (%s) and was deleted, with the recent messages in it; no memory is lost"
        why = error.message if isinstance(error, errors.WorldDBError) else error
        _LOG.warning(said, self._path(number) / shared_environment.DATA_FILE, why)

    def _close_env(self) -> None:
        env, self._env = self._env, None
        if env is not None:
            env.close()

    # -- behind

    def _start_sweeper(self) -> None:
        if self._sweeper is None:
            self._sweeper = threading.Thread(target=self._sweep_repeatedly, name="worlddb-working", daemon=True)
            self._sweeper.start()

    def _sweep_repeatedly(self) -> None:
        while not self._ended.wait(SWEEP_SECONDS):
            with suppress(lmdb.Error, OSError, errors.WorldDBError):
                self.sweep()

    def close(self) -> None:
        """Let go of the files."""
        self._ended.set()
        with self._lock:
            self._close_env()


_opened: Final[dict[tuple[int, str], MessageBuffers]] = {}
_opened_lock: Final = threading.Lock()


def open_buffers(folder: Path, time: clock.Clock) -> MessageBuffers:
    """The buffers of a store; :func:`release_buffers` gives them back. What has passed its time goes now.

    Raises:
        ForkedProcess: they were open in the parent process when it forked.
    """
    key = (os.getpid(), os.path.realpath(folder))
    with _opened_lock:
        if any(pid != key[0] and path == key[1] for pid, path in _opened):
            raise errors.ForkedProcess(
                f"The working memory of {folder} was open in the parent process when it forked",
                "Start the process by spawn or forkserver, or open the store only after the fork",
            )
        buffers = _opened.get(key)
        if buffers is None:
            buffers = _opened[key] = MessageBuffers(folder, time)
        buffers.handles += 1
    with suppress(lmdb.Error, OSError, errors.UnavailableError):
        buffers.sweep()
    return buffers


def release_buffers(folder: Path) -> None:
    """Give the buffers of a store back; the last handle of the process lets go of their files."""
    key = (os.getpid(), os.path.realpath(folder))
    with _opened_lock:
        buffers = _opened.get(key)
        if buffers is None:
            return
        buffers.handles -= 1
        if not buffers.handles:
            del _opened[key]
            buffers.close()


def find_damage(folder: Path) -> tuple[Path, str] | None:
    """The file of a store's working memory and what is wrong with it; ``None`` if nothing is. It opens nothing."""
    found = None
    for _ in range(_LOOKS):
        try:
            numbers = [int(name) for name in os.listdir(folder / FOLDER) if name.isdigit()]
            data = folder / FOLDER / str(max(numbers, default=0)) / shared_environment.DATA_FILE
            metas = pages.read_metas(data, []) if data.stat().st_size else ()
            last = max((each.transaction for each in metas or ()), default=0)
            findings = pages.damaged_pages(data, last) if metas else []
        except (FileNotFoundError, NotADirectoryError):
            return None
        if metas is not None and not findings:
            return None
        found = data, f"page {findings[0].page}: {findings[0].problem}" if findings else "it has no two meta pages"
    return found


def _open_lmdb(folder: Path) -> lmdb.Environment:
    return lmdb.open(
        str(folder), map_size=MAP_BYTES, mode=0o600, sync=False, metasync=False, create=True, max_spare_txns=0
    )


def _open_whole(folder: Path) -> lmdb.Environment:
    """Open an environment, and refuse a damaged one before LMDB follows its pages, which could end the process."""
    env = _open_lmdb(folder)
    try:
        shared_environment.refuse_truncated(env, folder)
        _refuse_damaged(env, folder)
    except BaseException:
        env.close()
        raise
    return env


def _refuse_damaged(env: lmdb.Environment, folder: Path) -> None:
    with env.begin() as txn:
        findings = pages.damaged_pages(folder / shared_environment.DATA_FILE, txn.id())
    if findings:
        raise lmdb.CorruptedError(f"page {findings[0].page}: {findings[0].problem}")


def _prefix(scope: Scope) -> bytes:
    return sha256(msgspec.msgpack.encode(scope)).digest()[:_PREFIX_BYTES]


def _keys(txn: lmdb.Transaction, prefix: bytes) -> list[bytes]:
    """The keys that begin with a prefix; what they name is not read."""
    found: list[bytes] = []
    with txn.cursor() as cursor:
        if cursor.set_range(prefix):
            for key in cursor.iternext(keys=True, values=False):
                if not bytes(key).startswith(prefix):
                    break
                found.append(bytes(key))
    return found


def _rows(txn: lmdb.Transaction, prefix: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
    """The rows of messages whose keys begin with a prefix."""
    with txn.cursor() as cursor:
        more = cursor.set_range(prefix) if prefix else cursor.first()
        while more and (key := bytes(cursor.key())).startswith(prefix):
            if key != _DELETED:
                yield key, bytes(cursor.value())
            more = cursor.next()
