"""Facts as aggregates of the eventsourcing library, as documented; imported only if it is installed."""
# mypy: ignore-errors

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from uuid import NAMESPACE_URL, UUID, uuid5

from eventsourcing.application import AggregateNotFoundError, Application
from eventsourcing.domain import Aggregate, event


class Fact(Aggregate):
    """A text under a key; after deletion it has no text."""

    @event("Registered")
    def __init__(self, key: str, text: str) -> None:
        self.key = key
        self.text = text

    @staticmethod
    def create_id(key: str) -> UUID:
        return uuid5(NAMESPACE_URL, key)

    @event("Replaced")
    def replace(self, text: str | None) -> None:
        self.text = text


class Facts:
    """An application with SQLite for its events. It searches nothing, and deletes nothing that was recorded."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        named = {"PERSISTENCE_MODULE": "eventsourcing.sqlite", "SQLITE_DBNAME": str(folder / "events.db")}
        self._application = Application(env=named)

    def write(self, key: str, text: str) -> None:
        self._application.save(Fact(key, text))

    def replace(self, key: str, text: str | None) -> None:
        fact = self._application.repository.get(Fact.create_id(key))
        fact.replace(text)
        self._application.save(fact)

    def load(self, texts: Mapping[str, str]) -> None:
        self._application.save(*(Fact(key, text) for key, text in texts.items()))

    def settle(self) -> None:
        """Nothing: there is no index."""

    def search(self, question: str) -> list[str]:
        return []

    def read(self, key: str) -> str | None:
        try:
            return self._application.repository.get(Fact.create_id(key)).text
        except AggregateNotFoundError:
            return None

    def moment(self) -> int:
        """Aggregates have versions of their own: the first is what was registered."""
        return 1

    def read_at(self, moment: int, key: str) -> str | None:
        return self._application.repository.get(Fact.create_id(key), version=moment).text

    def delete(self, key: str) -> None:
        self.replace(key, None)

    def expunge(self, key: str) -> None:
        self.delete(key)

    def close(self) -> None:
        self._application.close()
