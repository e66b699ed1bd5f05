"""Tests the streams of the command line: full disks, closed pipes, terminal escapes."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import worlddb
from tests.support.running import Here, Small, elsewhere, small_store
from worlddb.tools.cli.base.page import visible
from worlddb.tools.cli.base.wire import one_line


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Small]:
    folder = tmp_path_factory.mktemp("cli") / "memory"
    return folder, small_store(folder)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize("argv", [["log"], ["log", "--json"], ["head", "--json"], ["head"]], ids=" ".join)
def test_a_full_disk_behind_stdout_is_told_in_a_line(argv, made):
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "worlddb", "--store", str(made[0]), *argv]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, timeout=180, check=False)
    assert done.returncode == 5
    assert done.stderr.startswith(b"error[disk_full]: ")
    assert b"Traceback" not in done.stderr
    assert b"Exception ignored" not in done.stderr


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGPIPE there")
def test_a_reader_that_goes_away_ends_the_command_quietly(made):
    command = [sys.executable, "-m", "worlddb", "--store", str(made[0]), "log"]
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, timeout=180, check=False)
    finally:
        os.close(write)
    assert done.returncode == 128 + signal.SIGPIPE
    assert done.stderr == b""


@pytest.mark.skipif(os.name == "nt", reason="there is no shell of that kind there")
@pytest.mark.parametrize(("argv", "code"), [("stats", 0), ("show nobody", 1)])
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_a_stream_that_is_closed_changes_nothing_but_what_is_seen(closed, argv, code, made):
    line = f'exec "$0" -m worlddb --store "$1" {argv} {closed}'
    command = ["sh", "-c", line, sys.executable, str(made[0])]
    done = subprocess.run(command, capture_output=True, timeout=180, check=False)
    assert done.returncode == code
    assert b"Traceback" not in done.stderr and b"Exception ignored" not in done.stderr


@pytest.mark.skipif(os.name == "nt", reason="there is no shell of that kind there")
@pytest.mark.parametrize(
    ("argv", "code", "told"),
    [
        ("proposals --review", 0, b"1 pending."),
        ("replay --step --until 2", 0, b"Search team"),
        ("erase Sarah --reason r", 2, b"nobody is there to be asked"),
        ("mcp", 2, b"Standard input is closed"),
        ("ingest - --conversation c", 2, b"Standard input is closed"),
    ],
)
def test_where_standard_input_is_closed_nobody_is_there_to_be_asked(argv, code, told, made):
    line = f'exec "$0" -m worlddb --store "$1" {argv} <&-'
    command = ["sh", "-c", line, sys.executable, str(made[0])]
    done = subprocess.run(command, capture_output=True, timeout=180, check=False)
    assert (done.returncode, told in done.stdout + done.stderr) == (code, True), done


HELD = """
import os, sys
from worlddb.tools.cli import start

nowhere = os.stat(os.devnull).st_rdev
sys.argv = ["worlddb", "--store", sys.argv[1], "stats"]
sys.exit(start.main() or sum(os.fstat(number).st_rdev != nowhere for number in range(3)))
"""


@pytest.mark.skipif(os.name == "nt", reason="there is no shell of that kind there")
def test_no_file_of_a_store_gets_the_number_of_a_stream_that_was_closed(made):
    """What a library writes to standard error would stand in it."""
    command = ["sh", "-c", 'exec "$0" -c "$2" "$1" <&- >&- 2>&-', sys.executable, str(made[0]), HELD]
    assert subprocess.run(command, timeout=180, check=False).returncode == 0


def test_a_pipe_gets_plain_text_and_a_stream_without_unicode_gets_escapes(made, tmp_path):
    folder, small = made
    plain = elsewhere("children", "Search team", "--store", folder, cwd=tmp_path, FORCE_COLOR="1")
    assert plain.code == 0
    assert "\x1b" not in plain.out
    assert small.sarah[:12] in plain.out
    with worlddb.open(tmp_path / "other") as db:
        db.create("Note", "Graça", content="ção")
    ascii_only = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C.UTF-8"}
    shown = elsewhere("show", "Graça", "--store", "other", cwd=tmp_path, **ascii_only)
    assert (shown.code, "Gra\\xe7a" in shown.out) == (0, True)
    as_json = elsewhere("show", "Graça", "--json", "--store", "other", cwd=tmp_path, **ascii_only)
    assert as_json.out.isascii()
    assert as_json.json["content"] == "ção"


@pytest.mark.skipif(os.name == "nt", reason="there are no pseudo-terminals there")
@pytest.mark.parametrize("argv", [["children", "Search team"], ["show", "Sarah"], ["log"], ["rebuild"]], ids=" ".join)
def test_a_terminal_gets_colours(argv, made, tmp_path):
    import pty

    folder = tmp_path / "memory"
    shutil.copytree(made[0], folder)
    ours, theirs = pty.openpty()
    environment = {"TERM": "xterm-256color", "COLUMNS": "100"}
    env = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR",)} | environment
    command = [sys.executable, "-m", "worlddb", "--store", str(folder), *argv]
    with subprocess.Popen(command, stdout=theirs, stderr=theirs, env=env) as process:
        os.close(theirs)
        shown = b""
        try:
            while piece := os.read(ours, 65536):
                shown += piece
        except OSError:
            pass  # this is how Linux says that the other end was closed
        finally:
            os.close(ours)
        assert process.wait(timeout=180) == 0
    assert b"\x1b[" in shown
    assert b"Traceback" not in shown


def test_remembered_text_cannot_steer_a_terminal(tmp_path, capsys):
    with worlddb.open(tmp_path / "memory") as db:
        db.create("Note", "trap\x1b[2J", content="one\x07\r\x9b31m two\u202e\nthree")
    run = Here(capsys, tmp_path / "memory")
    for argv in (["children"], ["recall", "three"], ["log"], ["history", "trap\x1b[2J"], ["show", "trap\x1b[2J"]):
        shown = run(*argv)
        assert shown.code == 0
        assert not set("\x1b\x07\r\x9b\u202e") & set(shown.out), argv
    assert run.json("show", "trap\x1b[2J")["content"] == "one\x07\r\x9b31m two\u202e\nthree"
    assert visible("a\tb\nc\x00") == "a\tb\nc\\x00"


def test_a_long_text_is_cut_to_one_line():
    assert one_line("a\n b\t c") == "a b c"
    assert one_line("word " * 100, 20) == "word word word word…"
