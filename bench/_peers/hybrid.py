"""SQLite with sqlite-vec and FTS5: words and vectors, fused by reciprocal ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from bench._peers.contract import HITS, Absent, Kind, dimension, installed, vectors_of
from bench._peers.fts5 import SCHEMA, FullText

_FETCHED: Final = 50
_RANK: Final = 60
_SEARCH: Final = """
WITH by_words AS (
    SELECT rowid, row_number() OVER (ORDER BY rank) AS place
    FROM words WHERE words MATCH :asked ORDER BY rank LIMIT :many
), by_meaning AS (
    SELECT rowid, row_number() OVER (ORDER BY distance) AS place
    FROM vectors WHERE embedding MATCH :vector AND k = :many
)
SELECT facts.text FROM facts
LEFT JOIN by_words ON by_words.rowid = facts.id LEFT JOIN by_meaning ON by_meaning.rowid = facts.id
WHERE by_words.rowid IS NOT NULL OR by_meaning.rowid IS NOT NULL
ORDER BY coalesce(1.0 / (:rank + by_words.place), 0) + coalesce(1.0 / (:rank + by_meaning.place), 0) DESC LIMIT :hits
"""


class Hybrid(FullText):
    """The table of :class:`FullText` and a ``vec0`` table beside it, as sqlite-vec's documentation joins the two.

    Through APSW, whose SQLite loads extensions where Python's own may not.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._connection: Any = import_module("apsw").Connection(str(folder / "facts.db"))
        self._connection.enable_load_extension(True)
        self._connection.load_extension(import_module("sqlite_vec").loadable_path())
        self._connection.execute(
            f"{SCHEMA} CREATE VIRTUAL TABLE IF NOT EXISTS vectors"
            f" USING vec0(embedding float[{dimension()}] distance_metric=cosine);"
            " CREATE TRIGGER IF NOT EXISTS forgotten AFTER DELETE ON facts BEGIN"
            " DELETE FROM vectors WHERE rowid = old.id; END;"
        ).fetchall()

    def write(self, key: str, text: str) -> None:
        self.load({key: text})

    def replace(self, key: str, text: str) -> None:
        with self._connection:
            self._connection.execute("UPDATE facts SET text = ? WHERE key = ?", (text, key))
            self._connection.execute(
                "UPDATE vectors SET embedding = ? WHERE rowid = (SELECT id FROM facts WHERE key = ?)",
                (_blobs([text], query=False)[0], key),
            )

    def load(self, texts: Mapping[str, str]) -> None:
        vectors = _blobs(list(texts.values()), query=False)
        with self._connection:
            self._connection.executemany("INSERT INTO facts(key, text) VALUES (?, ?)", list(texts.items()))
            self._connection.executemany(
                "INSERT INTO vectors(rowid, embedding) SELECT id, ? FROM facts WHERE key = ?",
                list(zip(vectors, texts, strict=True)),
            )

    def search(self, question: str) -> list[str]:
        asked = " OR ".join(f'"{word}"' for word in question.replace('"', " ").split())
        given = {"asked": asked, "vector": _blobs([question], query=True)[0], "many": _FETCHED, "rank": _RANK}
        return [text for (text,) in self._connection.execute(_SEARCH, {**given, "hits": HITS})]


def _blobs(texts: Sequence[str], *, query: bool) -> list[bytes]:
    return [vector.tobytes() for vector in vectors_of(texts, query=query)]


def _version() -> str:
    found = installed("sqlite-vec")()
    if find_spec("apsw") is None:
        raise Absent("apsw is not installed, and Python's SQLite may load no extensions")
    return found


KIND = Kind("sqlite-vec, FTS5", _version, "both", Hybrid)
