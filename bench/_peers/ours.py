"""WorldDB as in its guide: a write decides, commits and returns; ``embed`` adds vectors afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import worlddb
from bench._peers.contract import HITS, Kind, installed


class WorldDB:
    """A store with its defaults. Deleting is ``retire``, which closes a statement, and expunging is ``erase``."""

    def __init__(self, folder: Path) -> None:
        self._db = worlddb.open(folder, author="bench")

    def write(self, key: str, text: str) -> None:
        self._db.create("Fact", key, content=text).raise_if_refused()

    def replace(self, key: str, text: str) -> None:
        self._db.revise(self._ref(key), content=text).raise_if_refused()

    def load(self, texts: Mapping[str, str]) -> None:
        with self._db.batch() as tx:
            for key, text in texts.items():
                tx.create("Fact", key, content=text)
        tx.receipt.raise_if_refused()

    def settle(self) -> None:
        self._db.embed()

    def search(self, question: str) -> list[str]:
        return [hit.content for hit in self._db.view().recall(question, k=HITS)]

    def read(self, key: str) -> str | None:
        return self.read_at(self.moment(), key)

    def moment(self) -> int:
        return self._db.head().seq

    def read_at(self, moment: int, key: str) -> str | None:
        found = self._db.view(seq=moment).find(name=key)
        return found[0].content if found else None

    def delete(self, key: str) -> None:
        self._db.retire(self._ref(key)).raise_if_refused()

    def expunge(self, key: str) -> None:
        self._db.erase(self._ref(key), reason="bench").raise_if_refused()

    def _ref(self, key: str) -> str:
        return self._db.view().find(name=key)[0].ref

    def close(self) -> None:
        self._db.close()


KIND = Kind("WorldDB", installed("worlddb"), "both", WorldDB)
