"""A process with its own open store, driven from here, that can be stopped or killed."""

from __future__ import annotations

import os
import signal
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import worlddb
from tests.support.faults.answers import answers
from tests.support.faults.children import PATIENCE_SECONDS, pipe, start, wait_for_exit
from worlddb.log.store import shared_environment
from worlddb.log.store.log import LmdbLog


class Failed(AssertionError):
    """An error in the other process; ``kind`` is its class."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind


class Remote:
    """The local side. Each call waits a bounded time for its answer; :meth:`tell` does not."""

    def __init__(
        self, folder: Path, *, author: str = "remote", map_bytes: int = 0, timeout_seconds: float = PATIENCE_SECONDS
    ) -> None:
        self._connection, far = pipe()
        self.process = start(serve, far, folder, author, map_bytes, timeout_seconds)
        far.close()
        self._answer()

    @property
    def pid(self) -> int:
        assert self.process.pid is not None
        return self.process.pid

    def tell(self, what: str, *arguments: Any) -> None:
        self._connection.send((what, arguments))

    def ask(self, what: str, *arguments: Any) -> Any:
        self.tell(what, *arguments)
        return self._answer()

    def answer(self) -> Any:
        """The answer to an earlier command."""
        return self._answer()

    def has_answered(self, seconds: float) -> bool:
        return self._connection.poll(seconds)

    def signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def end(self) -> None:
        if self.process.is_alive():
            self.signal(signal.SIGCONT)
            self.process.kill()
        wait_for_exit(self.process)

    def __enter__(self) -> Remote:
        return self

    def __exit__(self, *exception: object) -> None:
        self.end()

    def _answer(self) -> Any:
        assert self._connection.poll(PATIENCE_SECONDS), f"process {self.pid} did not answer"
        kind, found = self._connection.recv()
        if kind:
            raise Failed(kind, found)
        return found


def serve(connection: Connection, folder: Path, author: str, map_bytes: int, timeout_seconds: float) -> None:
    """The remote side."""
    if map_bytes:
        shared_environment._MAP_BYTES = map_bytes  # type: ignore[misc]
    far = RemoteCommands(worlddb.open(folder, author=author, timeout_seconds=timeout_seconds))
    connection.send(("", None))
    while True:
        try:
            what, arguments = connection.recv()
        except EOFError:
            return
        try:
            connection.send(("", getattr(far, what)(*arguments)))
        except Exception as error:
            connection.send((type(error).__name__, str(error)))


class RemoteCommands:
    """The commands that the remote process accepts."""

    def __init__(self, db: worlddb.Database) -> None:
        self.db = db
        self.view = db.view()

    def create(self, name: str, content: str = "", idempotency_key: str | None = None) -> worlddb.Receipt:
        receipt: worlddb.Receipt = self.db.create("Fact", name, content=content, idempotency_key=idempotency_key)
        return receipt

    def names(self) -> list[str]:
        return [world.name for world in self.db.view().children()]

    def recall(self, text: str) -> list[str]:
        return [hit.name for hit in self.db.view().recall(text)]

    def answers(self, seq: int, valid: int, queries: tuple[str, ...]) -> dict[str, Any]:
        return answers(self.db.view(seq=seq, valid=valid), queries=queries)

    def hits(self, seq: int, valid: int, text: str) -> list[worlddb.Hit]:
        return list(self.db.view(seq=seq, valid=valid).recall(text, k=50).hits)

    def erase(self, ref: str, reason: str) -> worlddb.Receipt:
        receipt: worlddb.Receipt = self.db.erase(ref, reason=reason)
        return receipt

    def head(self) -> worlddb.Head:
        return self.db.head()

    def last_in_a_write(self) -> int:
        """Where the log ends for a write that has just got the lock and has read nothing before."""
        return self.db._env.write(lambda txn: LmdbLog(txn).head().seq)

    def verify(self) -> worlddb.Verified:
        return self.db.verify(deep=True)

    def pin(self) -> None:
        self.view = self.db.view()

    def pinned(self, text: str) -> tuple[list[str], str, list[str]]:
        """Everything that the pinned view shows: names, root hash, and the exact ranking for a text."""
        names = [world.name for world in self.view.children()]
        return names, self.view.hash(), [hit.name for hit in self.view.recall(text, exact=True)]

    def map_bytes(self) -> int:
        return int(self.db._env._shared.env.info()["map_size"])

    def signal_at(self, step: str, number: int) -> None:
        """In the next write, send this process a signal at a step."""

        def at(name: str) -> None:
            if name == step:
                self.db._env.step = lambda _: None
                os.kill(os.getpid(), number)

        self.db._env.step = at
