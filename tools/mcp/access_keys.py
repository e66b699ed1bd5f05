"""Access keys and rate limits of the HTTP server: one gate for REST and for MCP.

There are two kinds of keys: those of accounts, which have plans, and those of a key file, which is defined here too.

A key gives a client its name, its world, and whether it may write. Keys are not in the log, because the log keeps
everything. They lie in a file beside the store that only its owner can read, and that holds hashes instead of keys. A
key is 32 random bytes, so a table of likely keys does not help against its hash.
"""

from __future__ import annotations

import base64
import hmac
import logging
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from worlddb import (
    Entropy,
    InputError,
    MalformedFile,
    SystemEntropy,
    UnavailableError,
    UnknownReference,
    WorldDBError,
)

if TYPE_CHECKING:
    from worlddb import Database
    from worlddb.accounts.grant import Grant as AccountGrant

FORMAT: Final = 1
PREFIX: Final = "worlddb_"
"""Prefix of every key, by which secret scanners recognise one."""
SECRET_BYTES: Final = 32
ID_DIGITS: Final = 32
LOCK_SECONDS: Final = 10.0
MAX_KEYS: Final = 1_000
MAX_USER: Final = 200
"""Characters of a default user's name, as of every scope's."""
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")


class Key(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """An access key as it is stored.

    ``world`` is a full reference, or ``None`` for the whole store; ``user`` is the default user of calls that name no
    scope.
    """

    name: str
    world: str | None
    write: bool
    digest: str
    user: str | None = None

    @property
    def id(self) -> str:
        """The id that usage is counted under: a part of the hash, which reveals nothing of the key."""
        return self.digest[:ID_DIGITS]

    @property
    def right(self) -> str:
        """``read``, or ``write``, which includes reading."""
        return "write" if self.write else "read"


class KeyRing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All access keys of one store; ``salt`` keys their hashes."""

    format: int
    store: str
    salt: str
    keys: tuple[Key, ...]

    def find(self, secret: str) -> Key | None:
        """Return the key for a secret; takes equally long for a wrong one."""
        digest = self.digest(secret)
        found = None
        for key in self.keys:
            if hmac.compare_digest(key.digest, digest):
                found = key
        return found

    def secret(self, purpose: str) -> bytes:
        """Derive 32 bytes that all servers with this file share, and nobody else knows."""
        return blake2b(bytes.fromhex(self.salt), digest_size=32, person=purpose.encode()).digest()

    def digest(self, secret: str) -> str:
        """Return the stored hash of a key."""
        return blake2b(
            secret.encode("utf-8", "surrogatepass"), digest_size=32, key=bytes.fromhex(self.salt)
        ).hexdigest()


class KeyFile:
    """The file that holds the access keys of a store."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read: tuple[tuple[int, ...], KeyRing] | None = None

    def ring(self, store: str | None = None) -> KeyRing | None:
        """Return the present keys, or ``None`` if there never were any; rereads a changed file.

        ``store`` is the id of the store that they must belong to, if given.

        Raises:
            MalformedFile: it is no file of keys, or one of another store.
            UnavailableError: others than its owner can read it.
            OSError: it cannot be read.
        """
        try:
            if self._read is None or self._read[0] != _file_identity(os.stat(self.path)):
                with self.path.open("rb") as file:
                    now = os.fstat(file.fileno())
                    self._read = _file_identity(now), self._parse_ring(file.read(), now.st_mode)
        except FileNotFoundError:
            self._read = None
            return None
        ring = self._read[1]
        if store not in (None, ring.store):
            raise self._malformed("it has the keys of another store")
        return ring

    def add(
        self,
        store: str,
        name: str,
        world: str | None,
        *,
        write: bool,
        user: str | None = None,
        entropy: Entropy | None = None,
    ) -> str:
        """Create a key; returns the secret, which is stored nowhere.

        Raises:
            InputError: the name is none, or is taken; or there are too many keys.
        """
        if not _NAME.fullmatch(name):
            raise InputError(
                f"{name!r:.100} cannot be the name of a key",
                "Use 1 to 64 letters, digits, dots, underscores, hyphens and @, beginning with a letter or digit",
            )
        if user is not None:
            checked_user(user)
        source = entropy or SystemEntropy()
        with self._locked():
            ring = self.ring(store) or KeyRing(FORMAT, store, source.bytes(32).hex(), ())
            if any(key.name == name for key in ring.keys):
                raise InputError(
                    f"There is a key {name!r} already", f"Choose another name, or first `worlddb key remove {name}`"
                )
            if len(ring.keys) >= MAX_KEYS:
                raise InputError(f"There are {MAX_KEYS} keys already", "Remove unused ones")
            secret = PREFIX + base64.urlsafe_b64encode(source.bytes(SECRET_BYTES)).rstrip(b"=").decode()
            made = Key(name, world, write, ring.digest(secret), user)
            self._write(msgspec.structs.replace(ring, keys=(*ring.keys, made)))
        return secret

    def remove(self, name: str) -> Key:
        """Remove a key; servers refuse it from their next request on.

        Raises:
            UnknownReference: there is none of the name.
        """
        with self._locked():
            ring = self.ring()
            found = [key for key in ring.keys if key.name == name] if ring else []
            if ring is None or not found:
                raise UnknownReference(f"There is no key {name!r:.100}", "See `worlddb key list`")
            self._write(msgspec.structs.replace(ring, keys=tuple(key for key in ring.keys if key.name != name)))
        return found[0]

    def _parse_ring(self, data: bytes, mode: int) -> KeyRing:
        if mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise UnavailableError(
                f"{self.path} can be read or changed by users other than its owner", f"chmod 600 {self.path}"
            )
        try:
            ring = msgspec.json.decode(data, type=KeyRing)
        except msgspec.DecodeError as error:
            raise self._malformed(str(error)) from None
        if ring.format != FORMAT:
            raise self._malformed(f"it has format {ring.format}, and this WorldDB knows {FORMAT}")
        if len(ring.salt) != 64 or not all(character in "0123456789abcdef" for character in ring.salt):
            raise self._malformed("its salt is invalid")
        return ring

    def _malformed(self, problem: str) -> MalformedFile:
        return MalformedFile(
            f"{self.path} is not a key file of this store: {problem}",
            "Move it away and make new keys with `worlddb key add`",
            file=str(self.path),
        )

    @contextmanager
    def _locked(self) -> Iterator[None]:
        from filelock import FileLock, Timeout

        lock = FileLock(f"{self.path}.lock", timeout=LOCK_SECONDS, mode=0o600)
        try:
            lock.acquire()
        except Timeout:
            raise UnavailableError(f"Another process is changing {self.path}", "Try again") from None
        except OSError as error:
            remedy = "Check the permissions of its directory; the lock must be no link"
            raise UnavailableError(f"{self.path} cannot be locked: {error}", remedy) from error
        try:
            yield
        finally:
            lock.release()

    def _write(self, ring: KeyRing) -> None:
        """Replace the file atomically."""
        unfinished = Path(f"{self.path}.new")
        unfinished.unlink(missing_ok=True)
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(ring), indent=2) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, self.path)


def _file_identity(now: os.stat_result) -> tuple[int, ...]:
    """Return values that change whenever a file changes."""
    return now.st_ino, now.st_size, now.st_mtime_ns, now.st_mode


def checked_user(name: str) -> str:
    """Return the name of a default user as it was given.

    Raises:
        InputError: it is blank, too long, or has blanks around it or characters that are not shown.
    """
    if name != name.strip() or not name.isprintable() or not 1 <= len(name) <= MAX_USER:
        raise InputError(f"{name!r:.100} cannot be a user", f"Give 1 to {MAX_USER} characters, no blank around them")
    return name


def default_key_file(store: Path) -> Path:
    """Return the default key file of a store: beside its directory, not in it."""
    from worlddb.store import companion_path

    return companion_path(store, "keys")


PER_SECOND: Final = 100
"""Requests that a key may send, unless told otherwise: to the tools of a model, and to REST."""
REST_PER_SECOND: Final = 5_000
SECONDS_AT_ONCE: Final = 2
"""A burst after a pause may hold as many requests as the rate allows in this time."""


class Bucket:
    """A token bucket: one token per request, refilled as time passes."""

    def __init__(self, now: float, per_second: float = PER_SECOND) -> None:
        self._per_second = per_second
        self._at_once = per_second * SECONDS_AT_ONCE
        self._tokens = self._at_once
        self._seen = now

    def take(self, now: float) -> float:
        """Take a token; returns 0, or the seconds until one is there.

        ``now`` comes from any clock that never goes back.
        """
        self._tokens = min(self._at_once, self._tokens + (now - self._seen) * self._per_second)
        self._seen = now
        if self._tokens >= 1:
            self._tokens -= 1
            return 0.0
        return (1 - self._tokens) / self._per_second


RIGHTS: Final = ("read", "write", "admin")
"""Each includes those before it."""
MAX_BUCKETS: Final = 10_000
"""Keys whose rates are kept; the least recently used one is dropped first."""
_LOG: Final = logging.getLogger("worlddb.mcp.keys")


class Grant(NamedTuple):
    """What a token opens.

    ``name`` is the author of what is written, ``world`` a full reference or ``None`` for the whole store, ``user``
    whose memory is meant where a call names no scope. ``secret`` is shared by all servers of one store, and seals
    cursors. ``account`` is what the key of an account opens under its plan. ``id`` is by what its usage is counted,
    empty where there are no keys.
    """

    name: str
    world: str | None
    right: str
    user: str | None = None
    secret: bytes | None = None
    account: AccountGrant | None = None
    id: str = ""

    def may(self, right: str) -> bool:
        """Return whether the grant includes a right."""
        return RIGHTS.index(self.right) >= RIGHTS.index(right)


class Gate:
    """Authenticates tokens and applies their limits; an ended key is refused from the next request on.

    Without a file of keys it is open: everybody is the operator of the store.
    """

    def __init__(self, db: Database, keys: KeyFile | None, per_second: float) -> None:
        self._db, self._keys, self._store = db, keys, db.head().store_id
        self._per_second = per_second
        self.operator = Grant(db.author, None, "admin")
        """The grant of every client if there are no keys."""
        self._known: tuple[KeyRing, dict[str, Grant]] | None = None
        self._secret = SystemEntropy().bytes(SECRET_BYTES)
        self._buckets: dict[str, Bucket] = {}
        self._trouble: dict[str, str] = {}

    @property
    def is_open(self) -> bool:
        """True if everybody is admitted, without a key."""
        return self._keys is None

    # -- who comes in

    def authenticate(self, token: str | None) -> Grant | None:
        """Return the present grant of a token; ``None`` if it has none."""
        if self.is_open:
            return self.operator
        if token is None:
            return None
        ring = self._ring()
        if ring is not None and (found := ring.find(token)) is not None:
            return self._grant_of_key(found, ring)
        granted = self._grant_of_account(self._db.accounts.authenticate(token))
        if granted is None:
            self._warn("a key of an account", self._db.accounts.trouble)
        return granted

    def present(self, key: str) -> Grant | None:
        """Return the present grant of a key by its id; ``None`` if the key has ended."""
        if self.is_open:
            return self.operator
        ring = self._ring()
        found = None if ring is None else next((each for each in ring.keys if each.id == key), None)
        if ring is not None and found is not None:
            return self._grant_of_key(found, ring)
        return self._grant_of_account(self._db.accounts.grant(key))

    def names(self) -> dict[str, str]:
        """Return the names of keys that belong to no account, by their ids; of none while they cannot be read."""
        ring = None if self.is_open else self._ring()
        return {} if ring is None else {each.id: each.name for each in ring.keys}

    def _ring(self) -> KeyRing | None:
        """Return the keys of the file; ``None``, so that none is admitted, while it cannot be read."""
        assert self._keys is not None
        try:
            ring, trouble = self._keys.ring(self._store), ""
        except (WorldDBError, OSError) as error:
            ring, trouble = None, str(error)
        self._warn("a key of the file", trouble)
        return ring

    def _warn(self, kind: str, trouble: str) -> None:
        """Log once why no key of a kind is admitted."""
        if trouble and trouble != self._trouble.get(kind):
            _LOG.warning("no client with %s is admitted: %s", kind, trouble)
        self._trouble[kind] = trouble

    def report_trouble(self) -> None:
        """Log why no key is admitted that clients may have, if so, before the first of them comes."""
        if not self.is_open:
            self._ring()
            self._warn("a key of an account", self._db.accounts.trouble)

    def _grant_of_key(self, key: Key, ring: KeyRing) -> Grant:
        """Return the grant of a key of the file; one that may write to the whole store is an admin's."""
        if self._known is None or self._known[0] is not ring:
            self._known = ring, {}
        granted = self._known[1].get(key.id)
        if granted is None:
            right = "admin" if key.write and key.world is None else key.right
            granted = Grant(key.name, key.world, right, key.user, ring.secret("cursors"), id=key.id)
            self._known[1][key.id] = granted
        return granted

    def _grant_of_account(self, found: AccountGrant | None) -> Grant | None:
        if found is None:
            return None
        return Grant(found.name, found.world, found.right, found.user or None, self._secret, found, found.key)

    # -- how much it may ask

    def wait(self, grant: Grant) -> float:
        """Count a request; returns 0, or the seconds until one is admitted again.

        Keys have a rate each, whatever they ask: REST or tools.
        """
        now = monotonic()
        bucket = self._buckets.pop(grant.id, None) or Bucket(now, self._per_second)
        self._buckets[grant.id] = bucket
        if len(self._buckets) > MAX_BUCKETS:
            del self._buckets[next(iter(self._buckets))]
        return bucket.take(now)

    def admit(self, grant: Grant, *, request: bool = True, write: bool = False, feature: str = "") -> None:
        """Check feature and rates of a plan, and count the request; keys of the file have no plan.

        Raises:
            PlanLimit: it has not, or its account had as much in this minute.
        """
        if grant.account is not None:
            if feature:
                grant.account.require_feature(feature)
            self._db.accounts.admit(grant.account, request=request, write=write)
