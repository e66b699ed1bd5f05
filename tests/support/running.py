"""Run the command line, in this or another process, on a small store."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import worlddb
from tests.support.programs import ran
from worlddb import ManualClock, SeededEntropy
from worlddb.tools.cli.main import main

DAY = 86_400_000_000


class Run(NamedTuple):
    """The exit code and output of a run."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one document on standard output."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """Standard output as JSON lines."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def error(self) -> str:
        """The stable code of the error that was told on standard error."""
        assert self.err.startswith("error["), self.err
        return self.err[len("error[") :].partition("]")[0]


class LocalRunner:
    """Runs commands in this process, on one store unless they name another."""

    def __init__(self, capsys: pytest.CaptureFixture[str], store: Path) -> None:
        self._capsys = capsys
        self.store = store

    def __call__(self, *argv: object) -> Run:
        self._capsys.readouterr()
        code = main(["--store", str(self.store), *map(str, argv)])
        captured = self._capsys.readouterr()
        assert "Traceback" not in captured.err
        return Run(code, captured.out, captured.err)

    def json(self, *argv: object, code: int = 0) -> Any:
        """The document that a command prints with ``--json``."""
        run = self(*argv, "--json")
        assert run.code == code, run
        return run.json


def run_process(*argv: object, cwd: Path, stdin: str = "", **environment: str) -> Run:
    """Run ``python -m worlddb`` as a process of its own, with variables for Python as a program that starts."""
    hidden = ("WORLDDB_STORE", "WORLDDB_TRACEBACK")
    env = {name: value for name, value in os.environ.items() if name not in hidden} | environment
    given = stdin.encode()
    if any(name.startswith("PYTHON") for name in environment):
        command = [sys.executable, "-m", "worlddb", *map(str, argv)]
        done = subprocess.run(command, cwd=cwd, env=env, input=given, capture_output=True, timeout=240, check=False)
    else:
        done = ran("worlddb", *argv, cwd=cwd, environment=env, stdin=given)
    return Run(done.returncode, done.stdout.decode(), done.stderr.decode())


class SmallRefs(NamedTuple):
    """The references in the small store."""

    team: str
    sarah: str
    lisbon: str
    porto: str
    yes: str
    no: str
    twin: str
    proposal: str


def small_store(folder: Path) -> SmallRefs:
    """Make a store of eleven commits, one a day from 2026-11-21: one of each common case.

    | commit | what |
    |---|---|
    | 2, 3, 4 | a team; Sarah Chen in it, from 2024; she is promoted from 2025-02-01 on |
    | 5, 6, 7 | the office is in Lisbon from 2024; in Porto from 2025-03-01; Porto supersedes Lisbon |
    | 8, 9, 10 | two notes contradict each other |
    | 11 | a second Sarah Chen, who may be the first |
    """
    clock = ManualClock()
    with worlddb.open(folder, author="agent-7", clock=clock, entropy=SeededEntropy(7)) as db:

        def next_day() -> None:
            clock.advance(DAY)

        next_day()
        team = db.create("Topic", "Search team", valid_from="2024-01-01").ref
        next_day()
        made = {"world": team, "valid_from": "2024-01-01"}
        sarah = db.create("Entity", "Sarah Chen", content="engineering lead", aliases=["Sarah"], **made).ref
        next_day()
        db.revise(sarah, content="VP of engineering", valid_from="2025-02-01", why="announced in the all-hands")
        next_day()
        lisbon = db.create("Fact", "Office", content="The office is in Lisbon.", source={"file": "a.txt"}, **made).ref
        next_day()
        moved = {"world": team, "valid_from": "2025-03-01", "resolve": False}
        porto = db.create("Fact", "Office", content="The office is in Porto.", **moved).ref
        next_day()
        db.link(porto, "supersedes", lisbon)
        next_day()
        yes = db.create("Note", "", content="Dogs are allowed in the office.", **made).ref
        next_day()
        no = db.create("Note", "", content="Dogs are not allowed in the office.", **made).ref
        next_day()
        db.link(no, "contradicts", yes, why="two copies of the lease")
        next_day()
        twin = db.create("Entity", "sarah chen", world=team)
        assert twin.seq == 11
        return SmallRefs(team, sarah, lisbon, porto, yes, no, twin.ref, twin.proposals[0])
