"""Who may come in: what a token opens. REST and MCP ask one gate."""

from typing import Final, NamedTuple, Protocol

from worlddb import Database, WorldDBError
from worlddb.accounts.grant import Grant as AccountGrant
from worlddb.tools.mcp import access_keys

RIGHTS: Final = ("read", "write", "admin")
"""Each includes those before it."""


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


class Gate(Protocol):
    """Tells what a token opens, and how much of it."""

    per_second: float
    """Requests a second that one grant may send."""

    def authenticate(self, token: str | None) -> Grant | None:
        """Return what a token opens by now; ``None`` if it opens nothing."""

    def names(self) -> dict[str, str]:
        """Return the names of keys that belong to no account, by their ids."""


class KeyGate:
    """The gate of a key file and of accounts: an ended key opens nothing from the next request on."""

    def __init__(self, keys: access_keys.KeyFile, db: Database, per_second: float = access_keys.PER_SECOND) -> None:
        self.per_second = per_second
        self._keys, self._db, self._store = keys, db, db.head().store_id
        self._known: tuple[access_keys.KeyRing, dict[str, Grant | None]] | None = None

    def authenticate(self, token: str | None) -> Grant | None:
        """Return what a key opens by now; nobody is admitted while the keys cannot be read."""
        if token is None:
            return None
        return self._of_file(token) or self._of_accounts(token)

    def names(self) -> dict[str, str]:
        """Return the names of the keys in the file, by their ids; of none while it cannot be read."""
        try:
            ring = self._keys.ring(self._store)
        except (WorldDBError, OSError):
            ring = None
        return {} if ring is None else {each.id: each.name for each in ring.keys}

    def _of_accounts(self, token: str) -> Grant | None:
        found = self._db.accounts.authenticate(token)
        if found is None:
            return None
        return Grant(found.name, found.world, found.right, found.user or None, account=found, id=found.key)

    def _of_file(self, token: str) -> Grant | None:
        try:
            ring = self._keys.ring(self._store)
        except (WorldDBError, OSError):
            return None
        if ring is None:
            return None
        if self._known is None or self._known[0] is not ring:
            self._known = ring, {}
        # By its hash, so that what is kept in memory opens nothing.
        digest, granted = ring.digest(token), self._known[1]
        if digest not in granted:
            found = ring.find(token)
            if found is None:
                return None
            granted[digest] = _granted(found, ring)
        return granted[digest]


def _granted(key: access_keys.Key, ring: access_keys.KeyRing) -> Grant:
    """A key of today's file is an admin's if it writes to the whole store."""
    right = "admin" if key.write and key.world is None else key.right
    return Grant(key.name, key.world, right, key.user, ring.secret("cursors"), id=key.id)


class OpenGate:
    """The gate of a server without keys, on loopback: everybody is its operator."""

    def __init__(self, author: str, per_second: float = access_keys.PER_SECOND) -> None:
        self.per_second = per_second
        self._grant = Grant(author, None, "admin")

    def authenticate(self, token: str | None) -> Grant | None:
        """Return the one grant."""
        return self._grant

    def names(self) -> dict[str, str]:
        """Return nothing: there are no keys."""
        return {}
