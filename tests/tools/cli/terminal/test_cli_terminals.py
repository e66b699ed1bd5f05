"""Tests the command line on terminals of any width and colour, with progress bars."""

from __future__ import annotations

import io
import re
import shutil
import sys
from pathlib import Path

import pytest
from rich.cells import cell_len

import worlddb
from tests.support.running import LocalRunner, SmallRefs
from worlddb.tools.cli.main import COMMANDS, main

WIDTH = 30
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
COLOURS = re.compile(r"\x1b\[(?:[0-9;]*;)?(?:3[0-9]|4[0-9]|9[0-7]|10[0-7])(?:;[0-9;]*)?m")


class Terminal(io.StringIO):
    """A stream that says that a person is watching."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    monkeypatch.delenv("NO_COLOR", raising=False)
    return monkeypatch


def on(monkeypatch: pytest.MonkeyPatch, stream: str, *argv: object) -> str:
    """What a command writes to one stream if that is a terminal."""
    shown = Terminal()
    with monkeypatch.context() as patched:
        patched.setattr(sys, stream, shown)
        assert main(list(map(str, argv))) in (0, 1)
    return shown.getvalue()


READS = (
    *("children", "show Sarah", "history Sarah", "blame Sarah", "log", "stats", "types", "query --text office"),
    *("proposals", "verify", "hash", "bookmark", "tunings"),
    # These two tell the time that is asked about, which would be another one in each run.
    *("history Sarah --timeline --valid 2026-12-02", "recall office --explain --valid 2026-12-02"),
)


@pytest.mark.parametrize("words", READS)
def test_a_narrow_terminal_is_kept_to_and_without_colours_there_are_none(
    words: str, made: tuple[Path, SmallRefs], terminal: pytest.MonkeyPatch
) -> None:
    lines = words.replace("Sarah", made[1].sarah).split()
    shown = on(terminal, "stdout", "--store", made[0], *lines)
    assert shown and max(map(cell_len, ESCAPES.sub("", shown).splitlines())) <= WIDTH, shown
    terminal.setenv("NO_COLOR", "1")
    plain = on(terminal, "stdout", "--store", made[0], *lines)
    assert not COLOURS.search(plain)
    assert ESCAPES.sub("", plain) == ESCAPES.sub("", shown)


def test_colours_are_there_where_they_are_wanted(made: tuple[Path, SmallRefs], terminal: pytest.MonkeyPatch) -> None:
    assert COLOURS.search(on(terminal, "stdout", "--store", made[0], "children"))


LONG = {
    "verify --deep": "Verifying commits",
    "rebuild": "Rebuilding from the log",
    "replay --until 11 --into then": "Replaying commits",
    "ingest talk.jsonl": "Reading",
    "export --out all.bundle": "Writing worlds",
    "export --out all.jsonl --format jsonl": "Writing worlds",
    "import all.bundle --store other": "Importing",
    "embed": "Embedding texts",
    "backup kept": "Copying commits",
    "restore kept --into again": "Restoring commits",
    "upgrade": "Backing up",
    "snapshot": "Replaying commits",
    "redecide": "Deciding commits",
    "doctor --deep": "Examining commits",
}


def test_long_commands_show_how_far_they_are_on_a_terminal_only(
    made: tuple[Path, SmallRefs], tmp_path: Path, terminal: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal.setenv("COLUMNS", "100")
    terminal.chdir(tmp_path)
    (tmp_path / "talk.jsonl").write_text('{"speaker": "Ann", "text": "I bought a piano.", "session": "Sunday"}\n')
    shutil.copytree(made[0], tmp_path / "worlddb-store")
    for line, told in LONG.items():
        watched = on(terminal, "stderr", *line.split())
        assert told in ESCAPES.sub("", watched), line
        assert "Error" not in watched
        for path in ("then", "again", "other", "all.bundle", "all.jsonl"):
            if path in line and not (path == "all.bundle" and line.startswith("export")):
                shutil.rmtree(path, ignore_errors=True)
    capsys.readouterr()
    run = LocalRunner(capsys, tmp_path / "worlddb-store")
    for line in ("verify --deep", "rebuild", "embed", "ingest talk.jsonl", "backup kept", "redecide"):
        assert run(*line.split(), "--json").err == "", line


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_the_help_of_every_command_says_what_json_does(command, reading: LocalRunner) -> None:
    shown = " ".join(reading(command.name, "--help").out.split())
    assert f"--json {command.json}" in shown
    assert "JSON" in command.json


def test_a_difference_very_deep_inside_is_told_in_lines_that_do_not_grow_with_the_depth(
    tmp_path: Path, terminal: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    levels = 300
    with worlddb.open(tmp_path / "store") as db:
        with db.batch() as tx:
            inside = None
            for level in range(levels):
                inside = tx.create("Topic", f"box {level}", world=inside)
        db.revise(tx.receipt.refs[-1], content="changed")
    terminal.setenv("COLUMNS", "100")
    shown = on(terminal, "stdout", "diff", tmp_path / "store", "--at-a", "2")
    main(["diff", str(tmp_path / "store"), "--at-a", "2"])
    for told in (ESCAPES.sub("", shown), capsys.readouterr().out):
        assert all(f" box {level} " in told for level in range(levels)) and "changed" in told
        assert f"level {levels}" in told and "level 16 " not in told
        assert max(map(cell_len, told.splitlines())) < 200
