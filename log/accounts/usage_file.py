"""The usage file beside a store: the requests of its keys, minute by minute.

``DIR.usage`` is a small SQLite database that only its owner can read. It is no part of the memory: no hash covers it,
no backup or replay takes it along, and all that stands in it are ids and numbers. Every row has a checksum.

==========  ==========================================================================================================
table       columns
==========  ==========================================================================================================
``store``   ``id``: of which store it is; one row
``minutes`` ``minute`` since 1970, ``key``: an id, the columns of :data:`COUNTS`, ``checked``; one row for both
``totals``  ``account``: an id, the columns of :data:`TOTALS`, ``checked``; one row for each
==========  ==========================================================================================================
"""

import logging
import os
import sqlite3
import stat
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from worlddb.log.model import errors
from worlddb.log.store import copies, durable

_LOG: Final = logging.getLogger("worlddb.accounts.usage")
COUNTS: Final = ("requests", "writes", "bytes_in", "bytes_out", "errors")
"""What is counted of a key in a minute, in the order of a row."""
TOTALS: Final = ("worlds", "bytes_stored")
"""What is counted of an account for good, by the names of the limits of its plan."""
FORMAT: Final = 1
LOCK_SECONDS: Final = 5.0
_HIGHEST: Final = 2**63 - 1
_SCHEMA: Final = f"""
CREATE TABLE store (id TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE minutes (minute INTEGER, key TEXT, {", ".join(f"{name} INTEGER" for name in COUNTS)}, checked INTEGER,
    PRIMARY KEY (minute, key)) WITHOUT ROWID;
CREATE TABLE totals (account TEXT PRIMARY KEY, {", ".join(f"{name} INTEGER" for name in TOTALS)}, checked INTEGER)
    WITHOUT ROWID;
PRAGMA user_version = {FORMAT};
"""
Numbers = Sequence[int]
Minutes = Mapping[tuple[int, str], Numbers]
"""Numbers by the minute and the id of the key."""


class Row(NamedTuple):
    """The requests of a key in a minute."""

    minute: int
    key: str
    numbers: Numbers


class UsageRows(NamedTuple):
    """Rows of the file, in order, and how many were left out as damaged."""

    rows: list[Row]
    damaged: int


class UsageFile:
    """The file of one store."""

    def __init__(self, path: Path, store: bytes) -> None:
        self.path = path
        self.put_aside = Path(f"{path}.damaged")
        """Where a file is put that cannot be read, when another one is begun."""
        self._store = store.hex()

    def add(self, minutes: Minutes, totals: Mapping[str, Numbers], oldest: int) -> dict[str, list[int]]:
        """Add to what is there, and drop the minutes before ``oldest``; the totals of all accounts by then.

        A file that is damaged is put aside, and another one begun.

        Raises:
            UnavailableError: it cannot be written, belongs to another store, or others than its owner can read it.
        """
        try:
            return self._add_counts(minutes, totals, oldest)
        except errors.MalformedFile as error:
            _LOG.warning("%s; it is now %s", error.message, self.put_aside)
            with self._translated_errors():
                os.replace(self.path, self.put_aside)
                Path(f"{self.path}-journal").unlink(missing_ok=True)
        return self._add_counts(minutes, totals, oldest)

    def read(self, since: int, until: int, key: str | None = None) -> UsageRows:
        """The minutes from ``since`` up to, not including, ``until``, of one key or all.

        Raises:
            MalformedFile: it is damaged.
            UnavailableError: as :meth:`add`.
        """
        wanted = "minute >= ? AND minute < ?" + ("" if key is None else " AND key = ?")
        bound = (since, until) if key is None else (since, until, key)
        with self._connection(begin=False) as base:
            found = [] if base is None else base.execute(f"SELECT * FROM minutes WHERE {wanted}", bound).fetchall()
        good = [Row(each[0], each[1], each[2:-1]) for each in found if _is_whole(each)]
        return UsageRows(good, len(found) - len(good))

    def totals(self) -> dict[str, list[int]]:
        """What is counted of each account for good, by its id; raises as :meth:`read`."""
        with self._connection(begin=False) as base:
            return {} if base is None else _read_totals(base)

    def _add_counts(self, minutes: Minutes, totals: Mapping[str, Numbers], oldest: int) -> dict[str, list[int]]:
        with self._connection(begin=True) as base:
            assert base is not None, "it was begun"
            base.execute("BEGIN IMMEDIATE")
            base.execute("DELETE FROM minutes WHERE minute < ?", (oldest,))
            rows = ((place, counts) for place, counts in minutes.items() if place[0] >= oldest)
            _add_to_rows(base, "minutes", ("minute", "key"), rows)
            _add_to_rows(base, "totals", ("account",), (((account,), amounts) for account, amounts in totals.items()))
            found = _read_totals(base)
            base.execute("COMMIT")
            return found

    @contextmanager
    def _connection(self, *, begin: bool) -> Iterator[sqlite3.Connection | None]:
        """Open the file; ``None`` if there is none and ``begin`` is false."""
        with self._translated_errors():
            if not self.path.exists():
                if not begin:
                    yield None
                    return
                self._create()
            found = self.path.stat()
            if found.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise errors.UnavailableError(
                    f"Users other than its owner can read or change {self.path}", f"chmod 600 {self.path}"
                )
            if not found.st_size:
                raise self._damaged("it is empty")
            with closing(_connect(self.path)) as base:
                self._check(base)
                yield base

    def _check(self, base: sqlite3.Connection) -> None:
        (version,) = base.execute("PRAGMA user_version").fetchone()
        if version > FORMAT:
            raise errors.UnavailableError(
                f"{self.path} has format {version}, and this release knows format {FORMAT}", "Upgrade WorldDB"
            )
        stores = [each for (each,) in base.execute("SELECT id FROM store")]
        if len(stores) != 1:
            raise self._damaged("it does not name its store")
        if stores != [self._store]:
            raise errors.UnavailableError(f"{self.path} belongs to another store", "Move it away")

    def _create(self) -> None:
        """Put a whole new file in place: nobody sees an empty one, and of two who begin one, one is first."""
        unfinished = Path(f"{self.path}.new{os.getpid()}")
        unfinished.unlink(missing_ok=True)
        os.close(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        with closing(_connect(unfinished)) as base:
            base.executescript(_SCHEMA)
            base.execute("INSERT INTO store VALUES (?)", (self._store,))
        with suppress(FileExistsError):
            os.link(unfinished, self.path)
        unfinished.unlink()
        durable.sync_folder(self.path.parent)

    @contextmanager
    def _translated_errors(self) -> Iterator[None]:
        """Have what goes wrong raised in our own words."""
        try:
            yield
        except sqlite3.Error as error:
            # Only the first byte is the code; the others say more of it.
            if getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF in _DAMAGE:
                raise self._damaged(str(error)) from None
            raise self._unavailable(error) from None
        except OSError as error:
            raise self._unavailable(error) from None

    def _unavailable(self, error: Exception) -> errors.UnavailableError:
        return errors.UnavailableError(
            f"{self.path} cannot be used: {error}", "Check disk space and permissions, then try again"
        )

    def _damaged(self, problem: str) -> errors.MalformedFile:
        return errors.MalformedFile(
            f"The usage in {self.path} cannot be read: {problem}",
            "A server moves the file aside and begins another one",
            file=str(self.path),
        )


_DAMAGE: Final = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_FORMAT)
"""An error in a query means that the tables are not those that the query is for."""


def usage_path(store: Path) -> Path:
    """The file of a store: beside its directory, not in it."""
    return copies.companion_path(store, "usage")


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{quote(str(path))}?mode=rw", uri=True, timeout=LOCK_SECONDS, isolation_level=None)


def _add_to_rows(
    base: sqlite3.Connection, table: str, names: tuple[str, ...], added: Iterable[tuple[tuple[Any, ...], Numbers]]
) -> None:
    """Add numbers to those of rows, by their primary keys; a damaged row starts anew."""
    where = " AND ".join(f"{name} = ?" for name in names)
    for place, numbers in added:
        found = base.execute(f"SELECT * FROM {table} WHERE {where}", place).fetchone()
        had = found[len(names) : -1] if found is not None and _is_whole(found) else [0] * len(numbers)
        row = (*place, *(min(a + b, _HIGHEST) for a, b in zip(had, numbers, strict=True)))
        marks = ", ".join("?" * (len(row) + 1))
        base.execute(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", (*row, _checksum(row)))


def _read_totals(base: sqlite3.Connection) -> dict[str, list[int]]:
    return {each[0]: list(each[1:-1]) for each in base.execute("SELECT * FROM totals") if _is_whole(each)}


def _checksum(row: Sequence[Any]) -> int:
    return zlib.crc32(repr(tuple(row)).encode())


def _is_whole(row: Sequence[Any]) -> bool:
    return bool(_checksum(row[:-1]) == row[-1])
