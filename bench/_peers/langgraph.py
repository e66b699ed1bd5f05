"""LangGraph's store in SQLite: values under namespaces and keys, searched by vectors."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from bench._peers.contract import HITS, Absent, Kind, dimension, installed, vectors_of
from bench._peers.fts5 import vacuum

_FACTS: Final = ("facts",)
_EMBEDDED: Final = ["text"]


class SqliteStore:
    """``SqliteStore`` with an index of vectors, on a connection as ``from_conn_string`` makes it.

    Its documentation does not recommend SQLite for production. What is embedded is said with each ``put``, because
    version 3.1 passes over ``fields`` of the index and would embed the whole value as JSON. Expunging is ``delete``
    and then SQLite's own ``VACUUM``, as LangGraph has no step for it.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        made: Any = import_module("langgraph.store.sqlite").SqliteStore
        self._connection = sqlite3.connect(folder / "facts.db", check_same_thread=False, isolation_level=None)
        index = {"dims": dimension(), "embed": _embed, "fields": _EMBEDDED}
        self._store = made(self._connection, index=index)
        self._store.setup()

    def write(self, key: str, text: str) -> None:
        self._store.put(_FACTS, key, {"text": text}, index=_EMBEDDED)

    def replace(self, key: str, text: str) -> None:
        self.write(key, text)

    def load(self, texts: Mapping[str, str]) -> None:
        put: Any = import_module("langgraph.store.base").PutOp
        self._store.batch([put(_FACTS, key, {"text": text}, index=_EMBEDDED) for key, text in texts.items()])

    def settle(self) -> None:
        """Nothing: there is no index to keep."""

    def search(self, question: str) -> list[str]:
        return [found.value["text"] for found in self._store.search(_FACTS, query=question, limit=HITS)]

    def read(self, key: str) -> str | None:
        found = self._store.get(_FACTS, key)
        return None if found is None else str(found.value["text"])

    def moment(self) -> None:
        return None

    def read_at(self, moment: Any, key: str) -> str | None:
        raise LookupError(f"the store keeps no {moment} of {key}")

    def delete(self, key: str) -> None:
        self._store.delete(_FACTS, key)

    def expunge(self, key: str) -> None:
        self.delete(key)
        vacuum(self._connection)

    def close(self) -> None:
        self._connection.close()


def _embed(texts: Sequence[str]) -> list[list[float]]:
    found: list[list[float]] = vectors_of(texts, query=False).tolist()
    return found


def _version() -> str:
    found = installed("langgraph-checkpoint-sqlite")()
    if not hasattr(sqlite3.Connection, "enable_load_extension"):
        raise Absent("this Python's SQLite loads no extensions, and the index of vectors is one")
    return found


KIND = Kind("LangGraph", _version, "vectors", SqliteStore)
