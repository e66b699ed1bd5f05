"""SQLite with its full-text index FTS5, from Python's standard library: words only."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench._peers.contract import HITS, Absent, Kind

SCHEMA = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
CREATE TABLE IF NOT EXISTS facts (id INTEGER PRIMARY KEY, key TEXT UNIQUE NOT NULL, text TEXT NOT NULL);
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(text, content='facts', content_rowid='id');
CREATE TRIGGER IF NOT EXISTS added AFTER INSERT ON facts BEGIN
    INSERT INTO words(rowid, text) VALUES (new.id, new.text);
END;
CREATE TRIGGER IF NOT EXISTS gone AFTER DELETE ON facts BEGIN
    INSERT INTO words(words, rowid, text) VALUES ('delete', old.id, old.text);
END;
CREATE TRIGGER IF NOT EXISTS changed AFTER UPDATE ON facts BEGIN
    INSERT INTO words(words, rowid, text) VALUES ('delete', old.id, old.text);
    INSERT INTO words(rowid, text) VALUES (new.id, new.text);
END;
"""
_ADD = "INSERT INTO facts(key, text) VALUES (?, ?)"
_SEARCH = "SELECT facts.text FROM words JOIN facts ON facts.id = words.rowid WHERE words MATCH ? ORDER BY rank LIMIT ?"


class FullText:
    """A table and an external-content index kept by triggers, as FTS5's documentation has it.

    In WAL mode; ``synchronous`` is FULL, because with NORMAL a commit need not outlive a power cut. Expunging merges
    the index (``optimize``), then does ``VACUUM``, and empties the write-ahead log.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._connection = sqlite3.connect(folder / "facts.db", isolation_level=None)
        self._connection.executescript(SCHEMA)

    def write(self, key: str, text: str) -> None:
        self._connection.execute(_ADD, (key, text))

    def replace(self, key: str, text: str) -> None:
        self._connection.execute("UPDATE facts SET text = ? WHERE key = ?", (text, key))

    def load(self, texts: Mapping[str, str]) -> None:
        self._connection.execute("BEGIN IMMEDIATE")
        self._connection.executemany(_ADD, texts.items())
        self._connection.execute("COMMIT")

    def settle(self) -> None:
        """Nothing: the index merges itself."""

    def search(self, question: str) -> list[str]:
        asked = " OR ".join(f'"{word}"' for word in question.replace('"', " ").split())
        return [text for (text,) in self._connection.execute(_SEARCH, (asked, HITS))]

    def read(self, key: str) -> str | None:
        found = self._connection.execute("SELECT text FROM facts WHERE key = ?", (key,)).fetchone()
        return found[0] if found else None

    def moment(self) -> None:
        return None

    def read_at(self, moment: Any, key: str) -> str | None:
        raise LookupError(f"SQLite keeps no {moment} of {key}")

    def delete(self, key: str) -> None:
        self._connection.execute("DELETE FROM facts WHERE key = ?", (key,))

    def expunge(self, key: str) -> None:
        self.delete(key)
        self._connection.execute("INSERT INTO words(words) VALUES ('optimize')")
        vacuum(self._connection)

    def close(self) -> None:
        self._connection.close()


def vacuum(connection: sqlite3.Connection) -> None:
    """Rewrite the file without deleted rows, and empty the write-ahead log, if there is one."""
    connection.execute("VACUUM")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _version() -> str:
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute("CREATE VIRTUAL TABLE words USING fts5(text)")
    except sqlite3.OperationalError:
        raise Absent("this Python's SQLite was built without FTS5") from None
    finally:
        connection.close()
    return sqlite3.sqlite_version


KIND = Kind("SQLite FTS5", _version, "words", FullText)
