"""LanceDB: an embedded table on disk, searched by vectors and words together."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

from bench._peers.contract import HITS, Kind, dimension, installed, vectors_of

_OPTIMIZE_AFTER = 20
"""So many modifications may come between two calls of ``optimize``, by the documentation of that method."""


class Lance:
    """A table with a full-text index; searches are hybrid, with the ranks fused, which is the default.

    There is no index of vectors: the documentation recommends one for hundreds of thousands. The table looks for what
    other processes wrote before each search (``read_consistency_interval``), which is off by default. Expunging is
    ``delete``, and ``optimize`` until there is no version before.
    """

    def __init__(self, folder: Path) -> None:
        lancedb: Any = import_module("lancedb")
        connection = lancedb.connect(folder, read_consistency_interval=timedelta(0))
        if "facts" in connection.list_tables().tables:
            self._facts = connection.open_table("facts")
        else:
            self._facts = connection.create_table("facts", schema=_schema())
            self._facts.create_index("text", config=import_module("lancedb.index").FTS())
        self._modified = 0

    def write(self, key: str, text: str) -> None:
        self._add({key: text})
        self._modified += 1

    def replace(self, key: str, text: str) -> None:
        (vector,) = vectors_of([text], query=False)
        self._facts.update(where=f"key = '{key}'", values={"text": text, "vector": vector.tolist()})
        self._modified += 1

    def load(self, texts: Mapping[str, str]) -> None:
        self._add(texts)
        self._modified = _OPTIMIZE_AFTER

    def _add(self, texts: Mapping[str, str]) -> None:
        rows = zip(texts.items(), vectors_of(list(texts.values()), query=False), strict=True)
        self._facts.add([{"key": key, "text": text, "vector": vector} for (key, text), vector in rows])

    def settle(self) -> None:
        if self._modified >= _OPTIMIZE_AFTER:
            self._facts.optimize()
            self._modified = 0

    def search(self, question: str) -> list[str]:
        (vector,) = vectors_of([question], query=True)
        asked = self._facts.search(query_type="hybrid").vector(vector).text(question)
        return [row["text"] for row in asked.limit(HITS).to_list()]

    def read(self, key: str) -> str | None:
        rows = self._facts.search().where(f"key = '{key}'").limit(1).to_list()
        return str(rows[0]["text"]) if rows else None

    def moment(self) -> Any:
        return self._facts.version

    def read_at(self, moment: Any, key: str) -> str | None:
        self._facts.checkout(moment)
        try:
            return self.read(key)
        finally:
            self._facts.checkout_latest()

    def delete(self, key: str) -> None:
        self._facts.delete(f"key = '{key}'")
        self._modified += 1

    def expunge(self, key: str) -> None:
        self.delete(key)
        self._facts.optimize()  # Only parts that the same indexes cover are merged below.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # It says that nobody else may use the table meanwhile.
            self._facts.optimize(cleanup_older_than=timedelta(0), delete_unverified=True)

    def close(self) -> None:
        """Nothing: every write is a version of its own."""


def _schema() -> Any:
    arrow: Any = import_module("pyarrow")
    return arrow.schema(
        [("key", arrow.string()), ("text", arrow.string()), ("vector", arrow.list_(arrow.float32(), dimension()))]
    )


KIND = Kind("LanceDB", installed("lancedb"), "both", Lance)
