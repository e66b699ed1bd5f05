"""Runs every command on a store that may be damaged: an answer or a typed error."""

from __future__ import annotations

import io
import json
import shlex
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

import worlddb
from worlddb.tools.cli.main import COMMANDS, main

WITHOUT_A_STORE = {"demo", "keygen", "cosign", "check-proof", "completion"}
"""Commands that open no store that is named."""

SERVES = {"mcp", "serve"}
"""It speaks a protocol on the streams of a process of its own; it opens the store first, as all others do."""


class Known(NamedTuple):
    """The references that a user knew before the store was damaged."""

    whole: Path
    folder: Path
    world: str
    edge: str
    proposal: str

    @classmethod
    def of(cls, whole: Path, folder: Path) -> Known:
        """Note the head and some references of a whole store, and write files that commands need."""
        folder.mkdir(parents=True, exist_ok=True)
        with worlddb.open(whole, author="x") as db:
            (folder / "noted.head").write_text(db.checkpoint(), encoding="utf-8")
            events = list(db.log())
            world = next(entry.refs[0] for entry in events if entry.text == "engineering lead")
            edge = next(edge.ref for edge in db.view().edges(world, include_superseded=True) if edge.type != "contains")
        turn = {"speaker": "Ann", "text": "I bought a piano.", "at": "2025-01-05T10:00:00Z", "session": "Sunday"}
        (folder / "talk.jsonl").write_text(json.dumps(turn) + "\n", encoding="utf-8")
        return cls(
            whole,
            folder,
            world,
            edge,
            next(entry.refs[0] for entry in events if entry.event == "proposed"),
        )

    def command_lines(self, store: Path) -> Iterator[list[str]]:
        """One or more for each command; those that write come last."""
        head, world = str(self.folder / "noted.head"), self.world
        yield from (["head"], ["stats"], ["log"], ["log", "--ref", world], ["hash"], ["hash", world], ["children"])
        yield from (["show", world], ["history", world], ["recall", "engineering"], ["recall", "office", "--exact"])
        yield from (["at", "9", "show", world], ["bookmark"], ["proposals"], ["verify"], ["verify", "--head", head])
        yield from (["prove", world, "--with-text"], ["prove", world, "--ingested", "9"], ["prove", self.edge])
        yield from (["prove", "--consistency", "3"], ["diff", str(self.whole), str(store)])
        yield from (["export", world, "--out", str(self.folder / f"{store.name}.bundle")],)
        yield from (["replay", "--until", "12", "--into", str(store.with_name(f"{store.name}-then"))],)
        yield from (["replay", "--without", "5", "--into", str(store.with_name(f"{store.name}-if"))],)
        yield from (["spaces"], ["embed"], ["reembed", "--to", "static", "--space", "afresh"])
        yield from (["accept", self.proposal], ["reject", self.proposal], ["undo", self.proposal])
        yield ["sparql", "SELECT ?name FROM wdb:memory { ?world wdb:name ?name }"]
        yield from (["working", "get", "--session", "s"], ["working", "clear"])
        yield from (["fork", world, "--name", "a fork"], ["merge", "a fork", "--plan"])
        yield from (["guard"], ["guard", "--personal", "warn"])
        yield from (["trusts"], ["trust", "low", "--of-author", "somebody"])
        yield from (["bookmark", "after the damage"], ["ingest", str(self.folder / "talk.jsonl")])
        yield from (["verify", "--deep"], ["rebuild"], ["show", world])


def every_line(store: Path, known: Known) -> list[list[str]]:
    """Command lines for a store, and for other commands the examples of their help."""
    lines = list(known.command_lines(store))
    covered = {line[0] for line in lines} | WITHOUT_A_STORE | SERVES
    for command in COMMANDS:
        if command.name not in covered:
            lines.extend(shlex.split(example.partition(" > ")[0]) for example, _ in command.examples)
    return lines


def try_commands(store: Path, known: Known, which: Callable[[int], Iterable[int]] = range) -> Counter[str]:
    """Run command lines, or those that ``which`` picks by number; count how they ended, by code.

    Raises:
        AssertionError: one ended in anything but an answer or a typed error.
    """
    lines = every_line(store, known)
    ends: Counter[str] = Counter()
    for line in [lines[number] for number in sorted(which(len(lines)))]:
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            code = main(["--store", str(store), *line])
        told = err.getvalue()
        error = told.partition("error[")[2].partition("]")[0]
        assert "Traceback" not in told and code in range(6), f"{line} ended with {code}: {told}"
        assert error != "unexpected", f"{line}: {told}"
        assert code in (0, 1) or error, f"{line} ended with {code} and no word"
        ends[error or str(code)] += 1
    for made in ("then", "if"):
        shutil.rmtree(store.with_name(f"{store.name}-{made}"), ignore_errors=True)
    return ends
