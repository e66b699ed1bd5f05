"""Chroma: an embedded collection on disk, searched by vectors."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from bench._peers.contract import HITS, Kind, installed, vectors_of

_VACUUM = "import sys; from chromadb.cli.cli import app; sys.argv[0] = 'chroma'; app()"
_VACUUM_SECONDS = 120


class Chroma:
    """``PersistentClient`` with its defaults; its documentation recommends a server for production.

    The vectors are given; of vectors of length 1 the default distance ranks as the cosine does. Expunging is ``delete``
    and then ``chroma vacuum``, for which the collection is closed.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open()

    def _open(self) -> None:
        chromadb: Any = import_module("chromadb")
        settings = chromadb.Settings(anonymized_telemetry=False)
        self._client = chromadb.PersistentClient(str(self._folder), settings=settings)
        self._facts = self._client.get_or_create_collection("facts", embedding_function=None)

    def write(self, key: str, text: str) -> None:
        self._facts.add(ids=[key], documents=[text], embeddings=vectors_of([text], query=False))

    def replace(self, key: str, text: str) -> None:
        self._facts.update(ids=[key], documents=[text], embeddings=vectors_of([text], query=False))

    def load(self, texts: Mapping[str, str]) -> None:
        documents = list(texts.values())
        vectors = vectors_of(documents, query=False)
        self._facts.add(ids=list(texts), documents=documents, embeddings=vectors)

    def settle(self) -> None:
        """Nothing: the index keeps up by itself."""

    def search(self, question: str) -> list[str]:
        asked = vectors_of([question], query=True)
        found = self._facts.query(query_embeddings=asked, n_results=HITS, include=["documents"])
        return list(found["documents"][0])

    def read(self, key: str) -> str | None:
        found = self._facts.get(ids=[key], include=["documents"])["documents"]
        return str(found[0]) if found else None

    def moment(self) -> None:
        return None

    def read_at(self, moment: Any, key: str) -> str | None:
        raise LookupError(f"Chroma keeps no {moment} of {key}")

    def delete(self, key: str) -> None:
        self._facts.delete(ids=[key])

    def expunge(self, key: str) -> None:
        self.delete(key)
        self.close()
        command = [sys.executable, "-c", _VACUUM, "vacuum", "--path", str(self._folder), "--force"]
        subprocess.run(command, capture_output=True, check=True, timeout=_VACUUM_SECONDS)
        self._open()

    def close(self) -> None:
        self._client.close()


KIND = Kind("Chroma", installed("chromadb"), "vectors", Chroma)
