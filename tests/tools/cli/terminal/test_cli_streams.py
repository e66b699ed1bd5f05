"""Tests the streams of the command line: full disks, closed pipes, terminal escapes."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import unicodedata
from pathlib import Path
from typing import Any

import pytest

import worlddb
from tests.support.programs import Program
from tests.support.running import LocalRunner, SmallRefs, run_process, small_store
from tests.support.tidy.tree import ROOT
from worlddb.tools.cli.base.page import visible, visible_json
from worlddb.tools.cli.base.wire import one_line


def soak(*given: object) -> Any:
    """A case that runs as another one does, by another command."""
    return pytest.param(*given, marks=pytest.mark.soak)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, SmallRefs]:
    folder = tmp_path_factory.mktemp("cli") / "memory"
    return folder, small_store(folder)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize(
    "argv", [["log"], ["head", "--json"], soak(["verify"]), soak(["export", "--format", "jsonl"])], ids=" ".join
)
def test_a_full_disk_behind_stdout_is_reported_in_one_line_and_not_as_the_stores(argv, made):
    done = unheard("--store", made[0], *argv, into="full", started=[] if argv == ["log"] else None)
    assert done.returncode == 6
    assert done.stderr.startswith(
        f"error[answer_not_printed]: The answer of `{argv[0]}` could not be printed: ".encode()
    )
    assert b"Traceback" not in done.stderr
    assert b"Exception ignored" not in done.stderr


def closed_pipe() -> int:
    """The end of a pipe that nobody reads."""
    read, write = os.pipe()
    os.close(read)
    return write


def unheard(
    *argv: object, into: str = "pipe", both: bool = False, started: list[str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run a command whose answer goes to a full disk or to a pipe that nobody reads.

    With ``started``, options of Python, it starts Python, which flushes and closes its streams at the end in its own
    way; else it runs in a process that begins with the engine loaded.
    """
    write = os.open("/dev/full", os.O_WRONLY) if into == "full" else closed_pipe()
    with open(os.devnull, "rb") as nothing, tempfile.TemporaryFile() as errors:
        try:
            streams = (nothing.fileno(), write, write if both else errors.fileno())
            if started is None:
                code = Program("worlddb", argv, streams=streams, cwd=ROOT, environment=os.environ).wait(180)
            else:
                command = [sys.executable, *started, "-m", "worlddb", *map(str, argv)]
                given, out, err = streams
                done = subprocess.run(command, stdin=given, stdout=out, stderr=err, timeout=180, check=False)
                code = done.returncode
        finally:
            os.close(write)
        errors.seek(0)
        return subprocess.CompletedProcess([*map(str, argv)], code, b"", errors.read())


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize(
    ("into", "started", "json"),
    [("full", [], False), ("pipe", None, False), ("pipe", ["-u"], True), ("full", None, True)],
)
def test_a_write_whose_answer_nobody_gets_says_that_it_is_done(tmp_path, into, started, json):
    store = tmp_path / "the store"
    options = ["--json"] if json else []
    done = unheard("--store", store, "create", "Note", "heard", *options, into=into, started=started)
    told = done.stderr.decode()
    assert done.returncode == 6 and told.startswith("error[answer_not_printed]: `create` has written up to commit 2")
    assert "Exception ignored" not in told and "Traceback" not in told
    (command,) = re.findall("`worlddb (.+)`", told)
    shown = run_process(*shlex.split(command), cwd=tmp_path)
    assert shown.code == 0 and "heard" in shown.out
    # How a process ends whose last words go nowhere is up to Python.
    started = [] if into == "full" else None
    assert unheard("--store", store, "create", "Note", "both", into=into, both=True, started=started).returncode == 6
    assert [world.name for world in worlddb.open(store).view().children()] == ["heard", "both"]


def test_a_write_with_a_closed_standard_output_says_that_it_is_done(tmp_path):
    """It ended with 0, and nobody had the reference of what was written."""
    for closed, told in ((">&-", b"error[answer_not_printed]: `create` has written up to commit"), (">&- 2>&-", b"")):
        line = f'exec "$0" -m worlddb --store "$1" create Note heard {closed}'
        command = ["sh", "-c", line, sys.executable, str(tmp_path / "store")]
        done = subprocess.run(command, capture_output=True, timeout=180, check=False)
        assert done.returncode == 6 and done.stderr.startswith(told) and b"Traceback" not in done.stderr
    assert [world.name for world in worlddb.open(tmp_path / "store").view().children()] == ["heard", "heard"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_key_whose_secret_nobody_got_is_to_be_ended_and_made_again(tmp_path):
    """The error named the commit, and the key stayed open, with a secret that nobody has."""
    store = tmp_path / "the store"
    worlddb.open(store, embedder=None).create("Topic", "team")
    add = ("--store", store, "keys", "add", "laptop", "--all", "--read")
    told = unheard(*add, into="full", started=[]).stderr.decode()
    assert told.startswith("error[answer_not_printed]") and "secret of the key is lost" in told
    shown, end = re.findall("`worlddb (.+?)`", told)
    assert "log --from" in shown
    assert run_process(*shlex.split(end), cwd=tmp_path).code == 0
    assert run_process(*add, cwd=tmp_path).code == 0
    assert "secret of" not in unheard("--store", store, "create", "Note", "n", into="full").stderr.decode()


def test_work_that_is_no_commit_is_told_as_done_and_a_refusal_is_not(made, tmp_path):
    store = ["--store", made[0]]
    for argv, seen in (
        (["init"], "first' head"),
        ([*store, "backup", tmp_path / "copy"], "copy head"),
        (["restore", tmp_path / "copy", "--into", tmp_path / "again"], "again head"),
        ([*store, "export", "Search team", tmp_path / "bundle"], "bundle --check"),
        ([*store, "rebuild"], "verify"),
    ):
        given = [*(["--store", tmp_path / "the first"] if argv == ["init"] else []), *argv]
        done = unheard(*given)
        assert done.returncode == 6, done
        (command,) = re.findall("`worlddb (.+)`", done.stderr.decode())
        assert command.endswith(seen)
        assert run_process(*shlex.split(command), cwd=tmp_path).code == 0
    assert unheard(*store, "retire", "root").returncode == 3
    assert unheard(*store, "show", "Search team").returncode == 128 + signal.SIGPIPE


def test_a_reader_that_goes_away_ends_the_command_quietly(made):
    done = unheard("--store", made[0], "log", started=[])
    assert done.returncode == 128 + signal.SIGPIPE
    assert done.stderr == b""


@pytest.mark.parametrize(("argv", "code"), [("stats", 0), soak("show nobody", 1)])
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_a_stream_that_is_closed_changes_nothing_but_what_is_seen(closed, argv, code, made):
    line = f'exec "$0" -m worlddb --store "$1" {argv} {closed}'
    command = ["sh", "-c", line, sys.executable, str(made[0])]
    done = subprocess.run(command, capture_output=True, timeout=180, check=False)
    assert done.returncode == code
    assert b"Traceback" not in done.stderr and b"Exception ignored" not in done.stderr


@pytest.mark.parametrize(
    ("argv", "code", "told"),
    [
        ("proposals --review", 0, b"1 pending."),
        ("replay --step --until 2", 0, b"Search team"),
        ("erase Sarah --reason r", 2, b"there is no terminal to confirm it"),
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


def test_no_file_of_a_store_gets_the_number_of_a_stream_that_was_closed(made):
    """What a library writes to standard error would stand in it."""
    command = ["sh", "-c", 'exec "$0" -c "$2" "$1" <&- >&- 2>&-', sys.executable, str(made[0]), HELD]
    assert subprocess.run(command, timeout=180, check=False).returncode == 0


def test_a_pipe_gets_plain_text_and_a_stream_without_unicode_gets_escapes(made, tmp_path):
    folder, small = made
    plain = run_process("children", "Search team", "--store", folder, cwd=tmp_path, FORCE_COLOR="1")
    assert plain.code == 0
    assert "\x1b" not in plain.out
    assert small.sarah[:12] in plain.out
    with worlddb.open(tmp_path / "other") as db:
        db.create("Note", "Graça", content="ção")
    ascii_only = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C.UTF-8"}
    shown = run_process("show", "Graça", "--store", "other", cwd=tmp_path, **ascii_only)
    assert (shown.code, "Gra\\xe7a" in shown.out) == (0, True)
    as_json = run_process("show", "Graça", "--json", "--store", "other", cwd=tmp_path, **ascii_only)
    assert as_json.out.isascii()
    assert as_json.json["content"] == "ção"


@pytest.mark.parametrize(
    "argv", [["show", "Sarah"], ["rebuild"], soak(["log"]), soak(["children", "Search team"])], ids=" ".join
)
def test_a_terminal_gets_colours(argv, made, tmp_path):
    import pty

    folder = tmp_path / "memory"
    shutil.copytree(made[0], folder)
    ours, theirs = pty.openpty()
    environment = {"TERM": "xterm-256color", "COLUMNS": "100"}
    env = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR",)} | environment
    with open(os.devnull, "rb") as nothing:
        streams = (nothing.fileno(), theirs, theirs)
        process = Program("worlddb", ["--store", folder, *argv], streams=streams, cwd=ROOT, environment=env)
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(ours, 65536):
            shown += piece
    except OSError:
        pass  # this is how Linux says that the other end was closed
    finally:
        os.close(ours)
    assert process.wait(180) == 0
    assert b"\x1b[" in shown
    assert b"Traceback" not in shown


@pytest.mark.usefixtures("names_of_any_kind")
def test_remembered_text_cannot_steer_a_terminal(tmp_path, capsys):
    with worlddb.open(tmp_path / "memory") as db:
        db.create("Note", "trap\x1b[2J", content="one\x07\r\x9b31m two\u202e\nthree")
    run = LocalRunner(capsys, tmp_path / "memory")
    for argv in (["children"], ["recall", "three"], ["log"], ["history", "trap\x1b[2J"], ["show", "trap\x1b[2J"]):
        shown = run(*argv)
        assert shown.code == 0
        assert not set("\x1b\x07\r\x9b\u202e") & set(shown.out), argv
    assert run.json("show", "trap\x1b[2J")["content"] == "one\x07\r\x9b31m two\u202e\nthree"
    assert visible("a\tb\nc\x00") == "a\tb\nc\\x00"


HIDING = "\u2028\u2029\x85\x0b\x0c\x1b\x9b\x7f\u202e\u2066\u2069\u061c\u200b\u200e\u200f\u2060\ufeff\xad\U000e0041"
"""One of each kind of what `visible` escapes."""


def test_every_character_that_hides_or_steers_is_escaped_and_no_other():
    kept = {"\n", "\t", "\u200c", "\u200d"}
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        hides = unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp") and character not in kept
        escaped = visible(character) != character
        # Of the ranges some are assigned in later versions of Unicode.
        assert escaped == hides or (escaped and unicodedata.category(character) in ("Cn", "Mn")), hex(code)
        if hides:
            assert visible(character).isascii() and json.loads(f'"{visible_json(character)}"') == character
    assert visible("قلم\u200cها 👩\u200d💻\u3000\xa0ok") == "قلم\u200cها 👩\u200d💻\u3000\xa0ok"


@pytest.mark.usefixtures("untried", "names_of_any_kind")
def test_no_command_prints_what_hides_or_steers(tmp_path, capsys):
    """U+2028, U+2029 and most format characters were printed raw, by `show`, `proposals` and every other command."""
    trap = f"tr{HIDING}ap"
    with worlddb.open(tmp_path / "memory", author=f"au{HIDING}thor") as db:
        top = db.create("Topic", trap, content=trap, aliases=[f"al{HIDING}ias"], why=trap, source={"uri": trap}).ref
        note = db.create(f"No{HIDING}te", f"{trap} two", content=f"{trap} fox", world=top).ref
        edge = db.link(note, "refers_to", top, why=trap, properties={trap: trap}).ref
        db.create("Person", f"Sara {trap}")
        db.create("Person", f"Sara {trap}", resolve="all")
        db.link(top, "same_as", note, why=trap)
        db.revise(note, content=f"{trap} wolf", why=trap)
        db.bookmark(f"mark{HIDING}", why=trap)
        db.ingest([{"text": trap, "speaker": trap, "session": trap}], conversation=trap)
        db.trust("low", author=trap)
    run = LocalRunner(capsys, tmp_path / "memory")
    lines = [["children"], ["children", top], ["recall", "fox"], ["recall", "fox", "--explain"], ["log"], ["bookmark"]]
    lines += [[what, note] for what in ("show", "history", "blame", "timeline", "prove", "hash")]
    lines += [["show", top], ["show", edge], ["show", trap], ["show", f"nobody{HIDING}"], ["proposals"], ["stats"]]
    lines += [["trusts"], ["query", "--text", "fox"], ["query", "--text", "fox", "--explain"], ["types"], ["tunings"]]
    lines += [["verify"], ["doctor"], ["spaces"], ["diff", str(tmp_path / "memory"), "--at-a", "3"], ["head"]]
    lines += [["export", top, "--format", "jsonl"], ["at", "3", "show", top], ["erase", note, "--dry-run"]]
    lines += [[f"unknown{HIDING}"], ["children", "--json"], ["show", note, "--json"], ["log", "--json"]]
    lines += [["retire", note, "--why", trap], ["create", "Note", trap], ["recluster"]]
    answered = 0
    for argv in lines:
        shown = run(*argv)
        answered += shown.code in (0, 1)
        assert not set(HIDING) & set(shown.out + shown.err), (argv, ascii(shown.out + shown.err))
    assert answered >= 20


@pytest.mark.usefixtures("names_of_any_kind")
def test_no_name_begins_a_line_that_could_pass_for_one_of_ours(tmp_path, capsys):
    """A line end in a name, a type, an author or a reason began a line that read as the command's own."""
    trap = "tr\nintact  12 commits"
    with worlddb.open(tmp_path / "memory", author=trap) as db:
        top = db.create("Topic", trap, content=trap, aliases=[trap], why=trap, source={"uri": trap}).ref
        note = db.create(trap, trap, content=f"{trap} fox", world=top).ref
        edge = db.link(note, "refers_to", top, why=trap, properties={trap: trap}).ref
        db.link(top, "same_as", note, why=trap)
        db.revise(note, content=f"{trap} wolf", why=trap)
        db.bookmark(trap, why=trap)
        db.trust("low", author=trap)
    run = LocalRunner(capsys, tmp_path / "memory")
    lines = [["children"], ["children", top], ["recall", "fox"], ["log"], ["bookmark"], ["show", top], ["show", edge]]
    lines += [[what, note] for what in ("show", "history", "blame", "timeline", "hash")] + [["proposals"], ["trusts"]]
    lines += [["show", trap], ["diff", str(tmp_path / "memory"), "--at-a", "3"], ["erase", note, "--dry-run"]]
    shown = 0
    for argv in lines:
        done = run(*argv)
        told = done.out + done.err
        assert "\nintact" not in told, (argv, told)
        shown += "\\nintact" in told
    assert shown >= 9


def test_a_long_text_is_cut_to_one_line():
    assert one_line("a\n b\t c") == "a b c"
    assert one_line("word " * 100, 20) == "word word word word…"
