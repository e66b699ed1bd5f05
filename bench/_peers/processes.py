"""Other processes that use a peer's folder, as seen by the process that started them."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[2]
LIMIT_SECONDS: Final = 120
"""After so long a process is ended, whatever it waits for."""


class Refused(Exception):
    """What a peer raised in the other process, in its own words."""


class Process:
    """A process that has a peer open. It ends with the block; ``before`` is put in front of its command."""

    def __init__(self, name: str, folder: Path, before: Sequence[str] = ()) -> None:
        command = [*before, sys.executable, "-m", "bench._peers.child", name, str(folder)]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            command, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True
        )
        self._limit = threading.Timer(LIMIT_SECONDS, self._process.kill)
        self._limit.start()

    def ready(self) -> None:
        """Wait until the peer is open."""
        self.answer()

    def begin(self, texts: Mapping[str, str]) -> None:
        """Have texts written, without waiting for it."""
        self._ask({"write": dict(texts)})

    def write(self, texts: Mapping[str, str]) -> None:
        """Have texts written, and wait until all are acknowledged."""
        self.begin(texts)
        self.answer()

    def search(self, question: str) -> list[str]:
        """What the other process finds."""
        self._ask({"search": question})
        return list(self.answer())

    def answer(self) -> Any:
        """The answer to what was asked first of what is not answered yet.

        Raises:
            Refused: the peer raised an error, or its process ended.
        """
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise Refused(f"the process ended with {self._process.wait(LIMIT_SECONDS)}")
        answer = json.loads(line)
        if isinstance(answer, dict):
            raise Refused(answer["refused"])
        return answer

    def _ask(self, asked: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(asked) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise Refused("the process had ended") from None

    def kill(self) -> None:
        """End it at once, as nothing that it could prepare for."""
        self._process.kill()

    def __enter__(self) -> Process:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._process.communicate(timeout=LIMIT_SECONDS)
        finally:
            self._process.kill()
            self._limit.cancel()
