"""Run the project's programs in processes that start with the engine loaded.

They are forked from a server that has loaded it: what ``python -m`` takes half a second for is there at once. All else
is as if it had been started: arguments, folder, environment, streams, signals and exit code. What is about the start
itself (a variable that Python reads, a stream that is closed, what is loaded when) has to start Python.
"""

from __future__ import annotations

import atexit
import os
import runpy
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from multiprocessing import reduction
from pathlib import Path
from typing import Any, Self

from tests.support.faults import children

Environment = Mapping[str, str]
_PATIENCE_SECONDS = 180.0


class _Descriptor:
    """An open file, given to a process with its arguments."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __reduce__(self) -> tuple[Any, ...]:
        return _received, (reduction.DupFd(self._number),)


def _received(passed: Any) -> int:
    """The number that the file has here."""
    number: int = passed.detach()
    return number


class Program:
    """A program that was started, with what is used of :class:`subprocess.Popen`."""

    def __init__(
        self,
        module: str,
        words: Sequence[object],
        *,
        streams: tuple[int, int, int],
        cwd: Path,
        environment: Environment,
    ) -> None:
        given = [_Descriptor(number) for number in streams]
        told = [str(word) for word in words]
        self._process = children.start(_run, module, told, str(cwd), dict(environment), given, daemon=False)

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def poll(self) -> int | None:
        """The exit code, negative for a signal; ``None`` while it runs."""
        return self._process.exitcode

    def wait(self, timeout: float) -> int:
        """Wait for the end; returns the exit code."""
        self._process.join(timeout)
        code = self._process.exitcode
        if code is None:
            raise subprocess.TimeoutExpired("a program", timeout)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class Piped(Program):
    """A program whose input is written and whose output is read while it runs; what it says of errors is not."""

    def __init__(self, module: str, *words: object, cwd: Path) -> None:
        (given, to_it), (from_it, taken) = os.pipe(), os.pipe()
        self.stdin, self.stdout = open(to_it, "wb"), open(from_it, "rb")  # noqa: SIM115
        errors = os.open(os.devnull, os.O_WRONLY)
        try:
            super().__init__(module, words, streams=(given, taken, errors), cwd=cwd, environment=os.environ)
        finally:
            for number in (given, taken, errors):
                os.close(number)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for stream in (self.stdin, self.stdout):
            with suppress(OSError):
                stream.close()
        if error != (None, None, None):
            self.kill()
        self.wait(_PATIENCE_SECONDS)

    def ended(self) -> bytes:
        """Close its input, wait for its end, and give what it wrote in the meantime; it must end without an error."""
        self.stdin.close()
        rest = self.stdout.read()
        assert self.wait(_PATIENCE_SECONDS) == 0
        return rest


def _run(module: str, words: list[str], cwd: str, environment: dict[str, str], streams: list[int]) -> None:
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    for number, given in enumerate(streams):
        os.dup2(given, number)
        os.close(given)
    sys.stdin = open(0, encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)  # noqa: SIM115
    sys.argv = [module, *words]
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    finally:
        # A process that is made by ``multiprocessing`` leaves these out.
        atexit._run_exitfuncs()


def ran(
    module: str, *words: object, cwd: Path, environment: Environment, stdin: bytes = b"", seconds: float = 240
) -> subprocess.CompletedProcess[bytes]:
    """Run ``python -m MODULE`` to its end; returns its output."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(stdin)
        given.seek(0)
        streams = (given.fileno(), out.fileno(), err.fileno())
        program = Program(module, words, streams=streams, cwd=cwd, environment=environment)
        try:
            code = program.wait(seconds)
        finally:
            program.kill()
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess([module, *map(str, words)], code, out.read(), err.read())
