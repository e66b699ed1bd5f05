"""Runs functions in processes forked from a server with nothing open and no threads."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

PATIENCE_SECONDS = 180.0

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["tests.support.faults.preloaded"])


class Acknowledged:
    """A file to which a process appends lines that survive the process, however it ends."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __call__(self, line: str) -> None:
        # One call of the system a line, so that lines of several processes do not mix.
        fd = os.open(self.file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(fd, f"{line}\n".encode())
        finally:
            os.close(fd)

    def lines(self) -> list[str]:
        """The whole lines; a line on two pages of the file may be there with its first half only."""
        return self.file.read_text("utf-8").split("\n")[:-1] if self.file.exists() else []


def start(function: Callable[..., None], *arguments: Any, daemon: bool = True) -> ForkServerProcess:
    """Start a process that calls ``function`` (of an importable module); a daemon may have no children of its own."""
    process = _CONTEXT.Process(target=function, args=arguments, daemon=daemon)
    process.start()
    return process


def wait_for_exit(process: ForkServerProcess, seconds: float = PATIENCE_SECONDS) -> int:
    """Wait for the end of a process and return its exit code, negative for a signal."""
    process.join(seconds)
    if process.exitcode is None:
        process.kill()
        process.join()
        raise AssertionError(f"the process had not ended after {seconds:g} s")
    return process.exitcode


def call(function: Callable[..., None], *arguments: Any) -> int:
    """Run a process to its end and return its exit code."""
    return wait_for_exit(start(function, *arguments))


def pipe() -> tuple[Connection, Connection]:
    """Two connected ends; one of them goes to a process."""
    return _CONTEXT.Pipe()


def barrier(parties: int) -> Barrier:
    """A barrier for processes."""
    return _CONTEXT.Barrier(parties, timeout=PATIENCE_SECONDS)
