"""mem0 (``mem0ai``) with ``infer=False``: verbatim texts in Qdrant's local folder, searched by vectors."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from bench._peers.contract import HITS, Kind, dimension, installed, vectors_of

_USER: Final = "bench"
_NOBODY: Final = "http://127.0.0.1:9"
"""Where a model would be asked. None is, with ``infer=False``; mem0 wants one to be named."""


class Memories:
    """A ``Memory`` of one user; a fact's key is the name of who said it, as only that is given for each of many texts.

    What else it would load is absent: words are searched with fastembed's model, and names told by spaCy's, which both
    come over the network. It has no step that gets rid of what is deleted, and its history keeps each text.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        os.environ.update(MEM0_TELEMETRY="False", MEM0_DIR=str(folder))
        named = {"api_key": "none", "model": "none", "openai_base_url": _NOBODY}
        place = {"collection_name": "facts", "path": str(folder / "qdrant"), "on_disk": True}
        self._memory: Any = import_module("mem0").Memory.from_config(
            {
                "llm": {"provider": "openai", "config": named},
                "embedder": {"provider": "openai", "config": named},
                "vector_store": {"provider": "qdrant", "config": {**place, "embedding_model_dims": dimension()}},
                "history_db_path": str(folder / "history.db"),
            }
        )
        base: Any = import_module("mem0.embeddings.base").EmbeddingBase
        self._memory.embedding_model = type("Embedder", (base,), {"embed": _embed, "embed_batch": _embed_batch})()

    def write(self, key: str, text: str) -> None:
        self.load({key: text})

    def replace(self, key: str, text: str) -> None:
        self._memory.update(self._number(key), text=text)

    def load(self, texts: Mapping[str, str]) -> None:
        said = [{"role": "user", "name": key, "content": text} for key, text in texts.items()]
        self._memory.add(said, user_id=_USER, infer=False)

    def settle(self) -> None:
        """Nothing: Qdrant's local folder goes through all vectors."""

    def search(self, question: str) -> list[str]:
        found = self._memory.search(question, top_k=HITS, filters={"user_id": _USER}, threshold=0.0)
        return [each["memory"] for each in found["results"]]

    def read(self, key: str) -> str | None:
        found = self._under(key)
        return str(found[0]["memory"]) if found else None

    def moment(self) -> datetime:
        return datetime.now(UTC)

    def read_at(self, moment: datetime, key: str) -> str | None:
        """The text in the history of a memory at a time by the clock."""
        changes = self._memory.history(self._number(key))
        times = [(datetime.fromisoformat(each["updated_at"] or each["created_at"]), each) for each in changes]
        before = [each["new_memory"] for at, each in times if at <= moment]
        return before[-1] if before else None

    def delete(self, key: str) -> None:
        self._memory.delete(self._number(key))

    def expunge(self, key: str) -> None:
        self.delete(key)

    def close(self) -> None:
        self._memory.vector_store.client.close()
        self._memory.close()

    def _number(self, key: str) -> str:
        return str(self._under(key)[0]["id"])

    def _under(self, key: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._memory.get_all(filters={"user_id": _USER, "actor_id": key})["results"]
        return found


def _embed(embedder: Any, text: str, memory_action: str | None = None) -> list[float]:
    return _embed_batch(embedder, [text], memory_action)[0]


def _embed_batch(embedder: Any, texts: list[str], memory_action: str | None = "add") -> list[list[float]]:
    found: list[list[float]] = vectors_of(texts, query=memory_action == "search").tolist()
    return found


KIND = Kind("mem0", installed("mem0ai"), "vectors", Memories)
