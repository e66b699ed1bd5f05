"""Anonymous memory of this process: the engine's own, without the pages of mapped files."""

from __future__ import annotations

import threading
from pathlib import Path
from types import TracebackType
from typing import Final

INTERVAL_SECONDS: Final = 0.01
_STATUS: Final = Path("/proc/self/status")


def anon_bytes() -> int:
    """Resident anonymous bytes now; 0 where the system does not say."""
    return _resident_bytes("RssAnon")


def mapped_bytes() -> int:
    """Resident bytes of mapped files now; 0 where the system does not say."""
    return _resident_bytes("RssFile")


def _resident_bytes(kind: str) -> int:
    try:
        text = _STATUS.read_text()
    except OSError:
        return 0
    found = [line.split()[1] for line in text.splitlines() if line.startswith(f"{kind}:")]
    return int(found[0]) * 1024 if found else 0


class AnonPeak:
    """Samples anonymous memory from a thread while the block runs; :attr:`bytes` is the highest that it saw."""

    def __init__(self) -> None:
        self.bytes = anon_bytes()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def _sample(self) -> None:
        while not self._stop.wait(INTERVAL_SECONDS):
            self.bytes = max(self.bytes, anon_bytes())

    def __enter__(self) -> AnonPeak:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        self.bytes = max(self.bytes, anon_bytes())
