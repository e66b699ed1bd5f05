"""Start and stop worker processes that evaluate SPARQL and parse RDF, so that both can be ended at their limits."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from worlddb.log.model import errors
from worlddb.log.model.clock import monotonic
from worlddb.query.sparql import sparql_tokens
from worlddb.query.sparql.sparql_tokens import PREFIXES

if TYPE_CHECKING:
    from worlddb.query.sparql.sparql_worker import Head
    from worlddb.query.sparql.update_steps import Step

MAX_WORKERS: Final = 2
"""The number of workers, and so of queries evaluated at once."""
START_SECONDS: Final = 60.0
"""The time limit for starting a worker; usually it takes 0.1 s."""
LOAD_SECONDS: Final = 120.0
"""The time limit for loading a dataset."""
GRACE_SECONDS: Final = 2.0
"""How long after its limit a worker is killed, if it has not ended itself."""
CHUNK_BYTES: Final = 4 * 1024 * 1024
SECONDS_PER_MIB: Final = 2.0
"""How much longer an RDF text may be parsed for each MiB of it."""
BYTES_PER_BYTE: Final = 64
"""How many more bytes of memory and of rows it may take for each byte: a short name stands for a long IRI."""
_SHORTEST_SECONDS: Final = 0.001
_PROGRAM: Final = Path(__file__).with_name("sparql_worker.py")
_MIB: Final = 1024**2


class Limits(NamedTuple):
    """The limits of one query: seconds of evaluation, bytes of its worker's memory, rows and bytes of its answer."""

    seconds: float = 10.0
    memory_bytes: int = 2 * 1024**3
    rows: int = 100_000
    bytes: int = 64 * 1024 * 1024

    def more_for(self, sent: int) -> Limits:
        """The limits of an RDF text of which so many more bytes were sent."""
        return self._replace(
            seconds=self.seconds + SECONDS_PER_MIB * sent / _MIB,
            memory_bytes=self.memory_bytes + BYTES_PER_BYTE * sent,
            bytes=self.bytes + BYTES_PER_BYTE * sent,
        )


class Dataset(NamedTuple):
    """The graphs of a query by their IRIs: those merged as its default graph, and the named ones."""

    default: list[str]
    named: list[str]


class Part(NamedTuple):
    """Lines of N-Quads of a dataset, or with ``graph`` lines of N-Triples that become that graph of it."""

    lines: Iterable[bytes]
    graph: str | None = None


class Raw(NamedTuple):
    """A worker's answer: its head and its body."""

    head: Head
    body: bytes


class _WorkerEnded(Exception):
    """The worker has ended; the argument is its return code."""


class _WorkerStart(NamedTuple):
    """A worker's report on starting: its address space in bytes, and the machine's limit of that."""

    takes: int
    most: int | None


class _Worker:
    """One process, its pipes, and the keys of the datasets that it holds."""

    def __init__(self) -> None:
        origin = find_spec("pyoxigraph")
        if origin is None or origin.origin is None:
            raise errors.InputError("RDF needs the package pyoxigraph", 'Install "worlddb[statements]"')
        folder = str(Path(origin.origin).parents[1])
        # Only this process holds the writing end of the lifeline, which keeps the worker alive.
        self._process, self._lifeline = _start_process(folder)
        self._start: _WorkerStart | None = None
        self._said = b""
        self.keys: set[str] = set()

    def ask(self, head: Head, body: bytes, seconds: float, memory: int) -> Raw:
        """Send a request and return its answer.

        Raises:
            _Gone: the worker ended before it had answered.
            QueryLimit: the worker takes more memory than that before it is asked anything.
            UnavailableError: it could not start.
        """
        start = self._start = self._start or self._wait_for_start()
        if memory < start.takes:
            raise errors.QueryLimit(
                f"A worker takes {-(-start.takes // _MIB):,} MiB of memory before any query, but only"
                f" {memory // _MIB:,} MiB are allowed",
                "Raise max_memory_bytes; its default is 2 GiB",
                limit="memory",
            )
        packed = json.dumps(head | {"bytes": len(body), "seconds": seconds, "memory": memory}).encode()
        process = self._process
        assert process.stdin is not None
        try:
            process.stdin.write(len(packed).to_bytes(4, "big") + packed)
            process.stdin.write(body)
            process.stdin.flush()
            deadline = monotonic() + seconds + GRACE_SECONDS
            found = self._head(deadline)
            return Raw(found, self._read(found["bytes"], deadline + LOAD_SECONDS))
        except (OSError, ValueError):
            raise _WorkerEnded(self.end()) from None

    def allowed(self, memory: int) -> int:
        """The memory that a query gets of what it may use: no more than the machine's limit."""
        most = None if self._start is None else self._start.most
        return memory if most is None else min(memory, most)

    def _wait_for_start(self) -> _WorkerStart:
        """Wait for the process to report that it has started.

        Raises:
            UnavailableError: it ended before, or took too long.
        """
        try:
            found = self._head(monotonic() + START_SECONDS)
        except (_WorkerEnded, OSError, ValueError) as error:
            code = error.args[0] if isinstance(error, _WorkerEnded) else self.end()
            if code == -signal.SIGALRM:
                raise _start_error(f"it did not start within {START_SECONDS:g} s") from None
            # The last line is the error; what stands behind its name could tell a client about the machine.
            lines = self._said.decode("utf-8", "replace").splitlines()
            kinds = [line.partition(":")[0] for line in lines if line and not line.startswith(" ")]
            why = f", {kinds[-1]:.80}" if kinds else ""
            raise _start_error(f"it ended with code {code}{why}") from None
        assert self._process.stderr is not None
        self._process.stderr.close()
        return _WorkerStart(found["takes"], found["most"])

    def _head(self, deadline: float) -> Head:
        found: Head = json.loads(self._read(int.from_bytes(self._read(4, deadline), "big"), deadline))
        return found

    def _read(self, size: int, deadline: float) -> bytes:
        out = self._process.stdout
        assert out is not None
        parts = []
        while size:
            ready, _, _ = select.select([out], [], [], max(0.0, deadline - monotonic()))
            data = out.read1(min(size, CHUNK_BYTES)) if ready else b""  # type: ignore[attr-defined]
            if not data:
                if not ready:
                    raise _WorkerEnded(self.end(-signal.SIGALRM))
                raise _WorkerEnded(self.end())
            parts.append(data)
            size -= len(data)
        return b"".join(parts)

    def end(self, code: int | None = None) -> int:
        """End the process and wait for it; its return code, or the one given."""
        process = self._process
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        # It ends by itself at the end of its input; a running query is killed.
        if code is None:
            try:
                code = process.wait(GRACE_SECONDS / 4)
            except subprocess.TimeoutExpired:
                code = None
        if process.poll() is None:
            process.kill()
        ended = process.wait()
        self._lifeline.close()
        if process.stderr is not None and not process.stderr.closed:
            self._said = process.stderr.read()
            process.stderr.close()
        return ended if code is None else code


def _start_process(folder: str) -> tuple[subprocess.Popen[bytes], Any]:
    """Begin a process; what it says of itself and what keeps it alive.

    Raises:
        UnavailableError: the machine gives no further process, or no room for one.
    """
    try:
        return _spawn_process(folder)
    except OSError as error:
        raise _start_error(error.strerror or str(error)) from None


def _start_error(why: str) -> errors.UnavailableError:
    return errors.UnavailableError(
        f"The worker for RDF could not start: {why}",
        "Check that this machine can start one more process (ulimit -u, -n and -v, the memory of its container)",
    )


def _spawn_process(folder: str) -> tuple[subprocess.Popen[bytes], Any]:
    inside, outside = os.pipe()
    try:
        process = subprocess.Popen(
            [sys.executable, "-I", str(_PROGRAM), str(inside), folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=[inside],
        )
    except BaseException:
        os.close(outside)
        raise
    finally:
        os.close(inside)
    return process, os.fdopen(outside, "wb", buffering=0)


class Workers:
    """The workers of one handle: begun when they are needed, ended at limits, at erasures and at the end."""

    def __init__(self, most: int = MAX_WORKERS) -> None:
        self._most = most
        self._idle: list[_Worker] = []
        self._busy: set[_Worker] = set()
        self._turn = threading.Condition()
        self._age = 0

    @contextmanager
    def desk(self, limits: Limits, *keys: str, what: str = "The query") -> Iterator[Desk]:
        """One worker for some requests, if there is one that holds what is kept under a key; else any.

        ``what`` is the text that it is given, as an error calls it.

        Raises:
            UnavailableError: all of them were busy for as long as the query may take.
        """
        with self._turn:
            if not self._turn.wait_for(lambda: len(self._busy) < self._most, limits.seconds + GRACE_SECONDS):
                raise errors.UnavailableError("All workers for RDF are busy", "Ask again in a moment")
            fitting = [worker for worker in self._idle if worker.keys & set(keys)]
            idle = fitting or self._idle
            worker = idle[-1] if idle else _Worker()
            if idle:
                self._idle.remove(worker)
            self._busy.add(worker)
            age = self._age
        desk = Desk(worker, limits, what)
        try:
            yield desk
        except BaseException as error:
            # What was interrupted between request and answer answers the next one with this one's answer.
            desk.alive = desk.alive and isinstance(error, errors.WorldDBError)
            raise
        finally:
            with self._turn:
                self._busy.discard(worker)
                kept = desk.alive and age == self._age
                if kept:
                    self._idle.append(worker)
                self._turn.notify()
            if not kept:
                worker.end()

    def end(self) -> None:
        """End every worker; those that are at work when they have answered. The next query begins a new one."""
        with self._turn:
            self._age += 1
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.end()

    @property
    def processes(self) -> list[int]:
        """The ids of the running processes."""
        with self._turn:
            return [worker._process.pid for worker in (*self._idle, *self._busy)]


class Desk:
    """The requests to a worker while the caller holds it."""

    def __init__(self, worker: _Worker, limits: Limits, what: str) -> None:
        self._worker, self._what = worker, what
        self._limits = limits
        self.alive = True

    @property
    def keys(self) -> frozenset[str]:
        """The keys of the datasets that the worker holds, as far as is known."""
        return frozenset(self._worker.keys)

    def hydrate(self, key: str, parts: Iterable[Part]) -> None:
        """Load a dataset under a key, replacing what the worker had under it.

        Raises:
            LimitExceeded: it is larger than the worker's memory.
        """
        head: Head = {"op": "load", "key": key, "anew": True}
        for part in parts:
            for chunk in _chunks(part.lines):
                self._load_lines(head | {"graph": part.graph}, chunk)
                head["anew"] = False
        if head["anew"]:
            self._load_lines(head, b"")

    def _load_lines(self, head: Head, chunk: bytes) -> None:
        """Send lines to be loaded, and update the known keys."""
        self._worker.keys = set(self._ask(head, chunk, LOAD_SECONDS).head["keys"])

    def follow(self, key: str, to: str, removed: bytes, added: bytes) -> None:
        """Apply a change to the dataset of a key, which then has the key ``to``."""
        self._ask({"op": "change", "key": key, "to": to, "removed": len(removed)}, removed + added, LOAD_SECONDS)
        self._worker.keys.discard(key)
        self._worker.keys.add(to)

    def query(
        self, key: str, text: str, results: str = "json", triples: str = "nt", dataset: Dataset | None = None
    ) -> Raw:
        """Evaluate a query on the dataset of a key; ``dataset`` replaces its FROM clauses.

        Raises:
            InvalidSparql: it breaks the grammar; the place is named.
            QueryLimit: it was ended at a limit.
        """
        limits = self._limits
        head = {"op": "query", "key": key, "results": results, "triples": triples, "prefixes": PREFIXES}
        bounds = {"most_rows": limits.rows, "most_bytes": limits.bytes}
        try:
            return self._ask(head | bounds | {"dataset": dataset}, text.encode(), limits.seconds)
        except errors.InvalidSparql as error:
            raise sparql_tokens.explain_error(error, text, is_update=False) from None

    def update(
        self,
        key: str | None,
        text: str,
        steps: Sequence[Step],
        *,
        repeatable: bool = False,
        before: tuple[bytes, bytes] = (b"", b""),
    ) -> dict[str, bytes]:
        """The lines of N-Quads that an update would remove and add; without a key, on an empty dataset.

        ``every`` is taken away in each form in which it is written, ``once`` in its own or, if that is not held, in
        each, ``own`` in its own alone; ``added`` is added in its own, ``alike`` in any, and of two lines of ``copied``
        the first in those in which the second is held. ``repeatable``: new blank
        nodes have the labels that they get at every evaluation. ``before`` are lines of what was taken away and added
        since, which the update finds so.

        Raises:
            InvalidSparql, QueryLimit: as :meth:`query` does.
        """
        limits = self._limits
        head: Head = {"op": "update", "key": key, "steps": steps, "prefixes": PREFIXES, "most_bytes": limits.bytes}
        head |= {"repeatable": repeatable, "before": [len(lines) for lines in before]}
        try:
            found = self._ask(head, b"".join(before) + text.encode(), limits.seconds)
        except errors.InvalidSparql as error:
            raise sparql_tokens.explain_error(error, text, is_update=True) from None
        parts, offset = dict[str, bytes](), 0
        for name, size in found.head["parts"].items():
            parts[name] = found.body[offset : offset + size]
            offset += size
        return parts

    def parse(self, pieces: Iterator[bytes], bounds: Head) -> Iterator[Raw]:
        """The rows of an RDF text, some for each piece of it; ``end`` of the last head says how it ended.

        All limits of the desk grow with each byte that is sent, but for the number of rows, which is free.

        Raises:
            QueryLimit: the worker was ended at a limit; the rows of the last piece are lost.
        """
        got, used, is_done = 0, 0.0, False
        try:
            while not is_done:
                piece = next(pieces, b"")
                limits = self._limits = self._limits.more_for(len(piece))
                began = monotonic()
                found = self._ask(
                    bounds | {"op": "parse", "most_bytes": limits.bytes - got}, piece, limits.seconds, used=used
                )
                used, got = used + monotonic() - began, got + len(found.body)
                is_done = found.head["end"] is not None
                yield found
        finally:
            # A worker that waits for the next piece would take the next request for it.
            self.alive = self.alive and is_done

    def _ask(self, head: Head, body: bytes, seconds: float, *, used: float = 0.0) -> Raw:
        if not self.alive:
            raise errors.UnavailableError("The worker has ended", "Ask again")
        try:
            left = max(seconds - used, _SHORTEST_SECONDS)
            found = self._worker.ask(head, body, left, self._limits.memory_bytes)
        except _WorkerEnded as gone:
            self.alive = False
            raise self._ended_error(gone.args[0], seconds) from None
        except errors.UnavailableError:
            self.alive = False
            raise
        error = found.head.get("error")
        if error is not None:
            self.alive = error != "memory"
            raise self._engine_error(error, found.head["message"])
        return found

    def _ended_error(self, code: int, seconds: float) -> errors.WorldDBError:
        if code == -signal.SIGALRM:
            return errors.QueryLimit(
                f"{self._what} was cancelled after {seconds:.4g} s",
                "Narrow the query, or allow more time",
                limit="time",
            )
        if code in (-signal.SIGABRT, 0, 1):
            return self._engine_error("memory", "")
        if code == -signal.SIGSEGV:
            return self._engine_error("depth", "")
        if code == -signal.SIGKILL:
            return errors.UnavailableError(
                "The worker for RDF was killed from outside, for example because the machine had no memory left",
                "Try again, or narrow the query; check what else uses the memory of this machine",
            )
        return errors.UnavailableError(f"The worker for RDF ended with code {code}", "Ask again")

    def _engine_error(self, error: str, message: str) -> errors.WorldDBError:
        limits = self._limits
        if error == "syntax":
            return invalid_sparql(message)
        if error == "over":
            most = limits.rows if message == "rows" else limits.bytes
            return errors.QueryLimit(
                f"The answer has more than {most:,} {message}",
                "Narrow the query, or use LIMIT and OFFSET",
                limit=message,
            )
        if error == "memory":
            allowed = self._worker.allowed(limits.memory_bytes) // _MIB
            return errors.QueryLimit(
                f"{self._what} needs more than {allowed:,} MiB of memory",
                "Narrow the query, or allow more",
                limit="memory",
            )
        if error == "depth":
            return errors.QueryLimit(f"{self._what} is nested too deep", "Nest it less", limit="depth")
        if error == "unknown":
            self._worker.keys.clear()
            return errors.UnavailableError("The worker no longer has the data of the query", "Ask again")
        return errors.InvalidSparql(f"The query cannot be evaluated: {message[:200]}", "Correct the query")


_BLANK: Final = "[_]"
_BEGINNINGS: Final = (
    ": a query begins with SELECT, ASK, CONSTRUCT or DESCRIBE, after any PREFIX, and an update with INSERT or DELETE"
)


def invalid_sparql(message: str) -> errors.InvalidSparql:
    """The error of a message of the engine, which says ``error at LINE:COLUMN: expected …``."""
    place, _, rest = message.removeprefix("error at ").partition(": ")
    line, colon, column = place.partition(":")
    if message.startswith("error at ") and colon and line.isdigit() and column.isdigit():
        # The engine calls a blank [_]; where it expects nothing else, it knows no word that fits.
        is_unknown = rest == f"expected {_BLANK}"
        expected = "that word is not allowed there" if is_unknown else rest.replace(_BLANK, "a blank")[:200]
        return errors.InvalidSparql(
            f"Line {line}, column {column} breaks the grammar of SPARQL 1.1: {expected}",
            f"Correct the query there{_BEGINNINGS if is_unknown else ''}",
            line=int(line),
            column=int(column),
        )
    return errors.InvalidSparql(f"This is not SPARQL 1.1: {message[:200]}", "Correct the query")


def _chunks(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Lines, many at a time; each ends with a line feed."""
    held: list[bytes] = []
    size = 0
    for line in lines:
        held.append(line)
        size += len(line)
        if size > CHUNK_BYTES:
            yield b"".join(held)
            held, size = [], 0
    if held:
        yield b"".join(held)


_OURS: Final = Workers()
_PARSERS: Final = Workers()


def workers() -> Workers:
    """The workers of this process, shared by all handles: keys contain the store's id."""
    return _OURS


def parsers() -> Workers:
    """The workers that parse RDF: they hold no dataset, whose size would count against the memory of a text."""
    return _PARSERS


def forget() -> None:
    """End every worker, since they hold texts."""
    _OURS.end()
    _PARSERS.end()
