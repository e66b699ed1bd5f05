"""The secrets file beside a store; without it no access key opens the store.

The log has a keyed hash of every key. What it is keyed with lies in a file of its own, ``DIR.accounts`` beside the
directory of the store, that only its owner can read, with the ids of the keys in force and the last commit that changed
an account. No backup, bundle, restore or replay takes it along. So a store that was copied, restored or decided again
has no valid key until one is made there; a key that was ended is gone from the file, whatever log is put beside it; and
a log that does not have the commit, since it was rolled back, opens to nobody.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from worlddb.log.model import errors, ids
from worlddb.log.store import copies, durable
from worlddb.log.store.log import LmdbLog

FORMAT: Final = 1
SALT_BYTES: Final = 32
LOCK_SECONDS: Final = 10.0
FileStamp = tuple[int, ...]
"""What tells one state of a file from another without reading it."""
NO_FILE: Final[FileStamp] = ()
MISSING: Final = (
    "the file was lost, or this store is a copy, to which it does not come along. No key that was made earlier opens"
    " the store. Put the file back, or make new keys"
)


class Secrets(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the file holds: bytes are in hexadecimal digits.

    ``keys`` are the ids of those in force, and ``seq`` and ``chain`` name the last commit that changed an account.
    """

    format: int
    store: str
    salt: str
    seq: int
    chain: str
    keys: tuple[str, ...]

    def digest(self, secret: str) -> bytes:
        """The keyed hash of a secret, as the log has it."""
        return keyed_hash(bytes.fromhex(self.salt), secret)

    def has_last_change(self, log: LmdbLog) -> bool:
        """True if a log has the last commit that changed an account."""
        if not self.seq:
            return True
        return self.seq <= log.head().seq and log.chain(self.seq).hex() == self.chain

    def derived(self, purpose: str) -> bytes:
        """32 bytes that all who have this file share, and nobody else knows; ``purpose`` is 16 letters at most."""
        return blake2b(bytes.fromhex(self.salt), digest_size=32, person=purpose.encode()).digest()


class FileState(NamedTuple):
    """The file as it was read; ``secrets`` is ``None`` if there is none."""

    seen: FileStamp
    secrets: Secrets | None


def keyed_hash(salt: bytes, secret: str) -> bytes:
    """The keyed hash of a secret: a key is random, so a plain hash cannot be guessed back either."""
    return blake2b(secret.encode("utf-8", "surrogatepass"), digest_size=ids.HASH_BYTES, key=salt).digest()


class SecretsFile:
    """The file of one store."""

    def __init__(self, path: Path, store: bytes) -> None:
        self.path = path
        self._store = store.hex()
        self._text = str(path)

    def seen(self) -> FileStamp:
        """The state of the file, in microseconds; :data:`NO_FILE` if there is none."""
        try:
            return _stamp_of(os.stat(self._text))
        except OSError:
            return NO_FILE

    def read(self) -> FileState:
        """What it holds.

        Raises:
            MalformedFile: it is no such file, or that of another store.
            UnavailableError: others than its owner can read it.
            OSError: it cannot be read.
        """
        try:
            with self.path.open("rb") as file:
                found = os.fstat(file.fileno())
                return FileState(_stamp_of(found), self._parse(file.read(), found.st_mode))
        except FileNotFoundError:
            return FileState(NO_FILE, None)

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Hold the lock of those who change it: no two change accounts at one time.

        Raises:
            UnavailableError: somebody else does, or it cannot be locked.
        """
        from filelock import FileLock, Timeout

        lock = FileLock(f"{self.path}.lock", timeout=LOCK_SECONDS, mode=0o600)
        try:
            lock.acquire()
        except Timeout:
            raise errors.UnavailableError(f"Another process is changing {self.path}", "Try again") from None
        except OSError as error:
            remedy = "Check the permissions of its directory; the lock must be no link"
            raise errors.UnavailableError(f"{self.path} cannot be locked: {error}", remedy) from error
        try:
            yield
        finally:
            lock.release()

    def write(self, secrets: Secrets) -> None:
        """Replace the contents durably; readers never see half of them.

        Raises:
            UnavailableError: it cannot be written.
        """
        unfinished = Path(f"{self.path}.new")
        try:
            unfinished.unlink(missing_ok=True)
            descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(msgspec.json.format(msgspec.json.encode(secrets), indent=1) + b"\n")
                file.flush()
                os.fsync(file.fileno())
            os.replace(unfinished, self.path)
            durable.sync_folder(self.path.parent)
        except OSError as error:
            raise errors.UnavailableError(
                f"{self.path} cannot be written: {error}", "Check disk space and permissions, then try again"
            ) from error

    def new_secrets(self, salt: bytes) -> Secrets:
        """What a file without a key holds, for a store that has none yet."""
        return Secrets(FORMAT, self._store, salt.hex(), 0, "", ())

    def _parse(self, stored: bytes, mode: int) -> Secrets:
        if mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise errors.UnavailableError(
                f"Users other than its owner can read or change {self.path}", f"chmod 600 {self.path}"
            )
        try:
            found = msgspec.json.decode(stored, type=Secrets)
            salt = bytes.fromhex(found.salt)
        except (msgspec.DecodeError, ValueError) as error:
            raise self._malformed(str(error)) from None
        if found.format != FORMAT:
            raise self._malformed(f"it has format {found.format}, and this release knows format {FORMAT}")
        if len(salt) != SALT_BYTES:
            raise self._malformed("its salt is invalid")
        if found.store != self._store:
            raise self._malformed("it belongs to another store")
        return found

    def _malformed(self, problem: str) -> errors.MalformedFile:
        return errors.MalformedFile(
            f"{self.path} does not hold the secrets of this store: {problem}",
            "Move it away and make new keys with `worlddb keys add`",
            file=str(self.path),
        )


def secrets_path(store: Path) -> Path:
    """The file of a store: beside its directory, not in it."""
    return copies.companion_path(store, "accounts")


def _stamp_of(found: os.stat_result) -> FileStamp:
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_mode
