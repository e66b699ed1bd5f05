"""Tests the command line as a whole: options, exit codes, errors and streams."""

from __future__ import annotations

import argparse
import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import worlddb
from tests.support.running import LocalRunner, run_process
from worlddb.log.model.errors import WriterBusy
from worlddb.tools.cli import main as main_module
from worlddb.tools.cli.base import arguments, stores
from worlddb.tools.cli.base.arguments import build_parser
from worlddb.tools.cli.main import COMMANDS, main

READS = (
    ["recall", "x"],
    ["show", "x"],
    ["history", "x"],
    ["blame", "x"],
    ["children"],
    ["log"],
    ["hash"],
    ["head"],
    ["verify"],
    ["rebuild"],
    ["replay", "--until", "1", "--into", "then"],
    ["proposals"],
    ["accept", "abcd"],
    ["reject", "abcd"],
    ["undo", "abcd"],
    ["export", "--out", "no.bundle"],
    ["at", "1", "children"],
    ["bookmark", "now"],
    ["stats"],
)


@pytest.fixture(scope="module")
def parser() -> argparse.ArgumentParser:
    return build_parser(COMMANDS)


@pytest.fixture
def run(reading: LocalRunner) -> LocalRunner:
    return reading


def test_the_commands_are_those_that_are_promised():
    promised = (
        *(
            "demo",
            "ingest",
            "init",
            "create",
            "revise",
            "retire",
            "reassert",
            "move",
            "link",
            "unlink",
            *("remember", "context", "profile"),
            *("expire", "refresh", "sweep", "label", "pin", "tag", "deprecate", "marked"),
            *("impact", "provenance", "path", "kref", "artifact"),
            *("prefer", "preferences"),
            *("believe", "expand", "contract", "rollback", "beliefs", "belief-settings"),
            "recall",
            "query",
            "show",
            "history",
            "children",
            "conflicts",
            "stale",
            "hash",
            "timeline",
            "blame",
            *("relation", "states", "vocabulary"),
            "types",
            *(
                "tune",
                "untune",
                "tunings",
                "state",
                "unstate",
                "statements",
                "sparql",
                "working",
                "guard",
                "trust",
                "trusts",
            ),
            "log",
            "stats",
        ),
        *("at", "bookmark"),
        *(
            "verify",
            "rebuild",
            "upgrade",
            "replay",
            "snapshot",
            "doctor",
            "embed",
            "reembed",
            "spaces",
            "redecide",
            "backup",
            "restore",
        ),
        *("erase", "forget-user", "check-receipt"),
        *("head", "keygen", "cosign", "prove", "check-proof"),
        *("check-recall", "prove-recall", "withdraw", "receipts"),
        *("diff", "proposals", "recluster", "accept", "reject", "undo"),
        *("consolidate", "enrich", "dream", "fork", "merge", "export", "import", "serve", "mcp", "key", "accounts"),
        *("keys", "plans", "usage", "completion"),
    )
    assert tuple(command.name for command in COMMANDS) == promised


def test_the_help_lists_every_command_once_in_groups_and_daily_work_first(run):
    listed = run("--help").out.partition("commands:\n")[2].partition("start here:")[0]
    groups = dict(re.findall(r"^  (\w[^\n]*):\n((?: {4}.*\n)+)", listed, re.M))
    names = {title: re.findall(r"^ {4}([\w-]+)", lines, re.M) for title, lines in groups.items()}
    assert sorted(each for some in names.values() for each in some) == sorted(command.name for command in COMMANDS)
    first, *_ = names
    assert first == "every day" and len(names[first]) < 10 and {"remember", "recall", "context"} <= {*names[first]}


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_command_has_help_with_examples_of_itself(command, run):
    shown = run(command.name, "--help")
    assert shown.code == 0
    assert len(command.examples) >= 1
    for line, told in command.examples:
        assert line.split()[0] == command.name
        assert f"  worlddb {line}\n      {told}\n" in shown.out


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_the_examples_in_the_help_are_command_lines_that_parse(command, parser):
    for line, _ in command.examples:
        words = shlex.split(line.partition(" > ")[0])
        assert parser.parse_args(words).command == command.name


def test_global_options_stand_before_or_after_the_command(run, made, capsys):
    folder, _ = made
    for argv in (
        ["--store", str(folder), "--json", "head"],
        ["head", "--store", str(folder), "--json"],
        ["--json", "head", "--store", str(folder)],
        ["--store", "nowhere", "head", "--store", str(folder), "--json"],
    ):
        assert main(argv) == 0, argv
        assert json.loads(capsys.readouterr().out)["seq"] == 11


def test_the_store_is_the_one_given_else_the_environments_else_the_default(made, tmp_path):
    folder, _ = made
    assert run_process("head", "--json", cwd=tmp_path, WORLDDB_STORE=str(folder)).json["seq"] == 11
    missing = run_process("head", "--store", "other", cwd=tmp_path, WORLDDB_STORE=str(folder))
    assert (missing.code, missing.error) == (2, "not_a_store")
    assert "worlddb-store" in run_process("head", cwd=tmp_path).err
    shutil.copytree(folder, tmp_path / "worlddb-store")
    assert run_process("head", "--json", cwd=tmp_path).json["seq"] == 11


@pytest.mark.parametrize("argv", READS, ids=lambda argv: argv[0])
def test_a_command_on_a_store_that_is_not_there_makes_none(argv, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = LocalRunner(capsys, tmp_path / "nothing")(*argv, "--json")
    assert (run.code, run.error) == (2, "not_a_store")
    assert run.json["error"]["code"] == "not_a_store"
    assert "worlddb ingest FILE" in run.json["error"]["remedy"]
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_is_no_store_is_left_alone(tmp_path, capsys):
    (tmp_path / "letter.txt").write_text("dear")
    for argv in (["head"], ["children"], ["verify"]):
        run = LocalRunner(capsys, tmp_path)(*argv)
        assert (run.code, run.error) == (2, "not_a_store")
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


def test_the_bare_name_shows_the_help_and_is_a_usage_error(run):
    shown = run()
    assert shown.code == 2
    assert "worlddb demo" in shown.out
    assert run("--json").json["error"]["code"] == "usage"


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["frobnicate"], "There is no command 'frobnicate'"),
        (["recal", "x"], "Did you mean `worlddb recall`"),
        (["forget", "x"], "Did you mean `worlddb retire` or `worlddb erase`?"),
        (["unpin", "x"], "Did you mean `worlddb pin --remove`?"),
        (["recall"], "TEXT"),
        (["recall", "x", "-k", "none"], "'none' is not a whole number"),
        (["recall", "x", "-k", "0"], "'0' is not a whole number"),
        (["recall", "x", "-k", "10001"], "10,000"),
        (["replay", "--until", "3"], "--into"),
        (["head", "--js"], "--js"),
        (["show", "Sarah", "--valid", "yesterday"], "yesterday"),
        (["show", "Sarah", "--valid", "2025-01-01T00:00:00"], "no time zone"),
        (["hash", "--ingested", "99"], "There is no commit 99"),
        (["rebuild", "pictures"], "There is no projection 'pictures'"),
        (["proposals", "--status", "odd"], "odd"),
        (["remember", "x", "--valid-from", "2026-01-01"], "Did you mean --since?"),
        (["revise", "Sarah", "--until", "2026-01-01"], "Did you mean --valid-to?"),
        (["recall", "x", "--seq", "3"], "Did you mean --ingested?"),
        (["revise", "Sarah", "--valid_from", "2026-01-01"], "Did you mean --valid-from?"),
        (["revise", "Sarah", "--contnt", "x"], "Did you mean --content?"),
        (["retire", "Sarah", "--at", "9999-99-99"], "at '9999-99-99' is not a time"),
        (["export", "root", "--into", "x"], "Did you mean --out?"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_usage_error_is_told_on_stderr_and_in_json_and_exits_with_2(argv, told, run):
    plain = run(*argv)
    assert (plain.code, plain.out) == (2, "")
    assert told in plain.err
    as_json = run("--json", *argv)
    assert as_json.code == 2
    error = as_json.json["error"]
    assert error["code"] == as_json.error
    assert told in error["message"] + error["remedy"]
    assert error["remedy"]


def test_a_command_that_other_programs_have_leads_to_one_that_is_there(run):
    """`forget` was taken for `forget-user`, `search` for `enrich`, and `list` for `ingest`."""
    known = {command.name for command in COMMANDS}
    meant = {name: [each.split()[0] for each in to] for name, to in arguments.MEANT_COMMANDS.items()}
    assert not known & meant.keys() and known.issuperset(each for to in meant.values() for each in to)


def test_an_unknown_name_exits_with_1(run, small):
    for argv in (["show", "Nobody"], ["history", "beef"], ["hash", "Nobody"], ["accept", "abcd"], ["children", "No"]):
        assert (run(*argv).code, run(*argv).error) == (1, "unknown_reference"), argv
    assert run("recall", "zebra").code == 0


def test_a_refusal_exits_with_3_and_writes_nothing(run, small):
    before = run.json("head")
    refused = run("undo", small.proposal, "--json")
    assert (refused.code, refused.error) == (3, "refused")
    assert refused.json["error"]["details"]["reason"]
    assert run.json("head") == before


def test_a_damaged_store_exits_with_4_and_verify_with_1(made, tmp_path, capsys):
    """A tag inside the stored events is changed, so that they cannot be read."""
    copy = tmp_path / "copy"
    shutil.copytree(made[0], copy)
    data = copy / "data.mdb"
    stored = data.read_bytes()
    assert b"supersedes" in stored and b"\xa6linked" in stored
    data.write_bytes(stored.replace(b"\xa6linked", b"\xa6linkez"))
    run = LocalRunner(capsys, copy)
    assert run("log").code == 4
    verified = run("verify", "--json")
    assert verified.code == 1
    assert verified.json["first_bad_seq"] == 2
    assert verified.json["ok"] is False
    assert {finding["seq"] for finding in verified.json["findings"]} >= {2, 3, 7}


def test_a_store_that_does_not_even_open_is_still_answered_by_verify(made, tmp_path, capsys):
    copy = tmp_path / "copy"
    shutil.copytree(made[0], copy)
    data = copy / "data.mdb"
    data.write_bytes(data.read_bytes()[:20_000])
    run = LocalRunner(capsys, copy)
    assert run("head").code == 4
    verified = run("verify", "--json")
    assert (verified.code, verified.json["ok"]) == (1, False)
    assert verified.json["findings"]
    assert "damaged" in run("verify").out


def test_a_busy_store_exits_with_5(run, small, monkeypatch):
    def busy(*_: object, **__: object) -> None:
        raise WriterBusy("Another process writes", "Try again")

    monkeypatch.setattr(worlddb.Database, "reject", busy)
    assert (run("reject", small.proposal).code, run("reject", small.proposal).error) == (5, "writer_busy")


def test_what_nobody_expected_is_told_in_a_line_and_shown_in_full_on_request(run, monkeypatch):
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("by nothing")

    monkeypatch.setattr(stores, "open_existing", broken)
    told = run("head", "--json")
    assert (told.code, told.error) == (4, "unexpected")
    assert told.json["error"]["message"] == "ZeroDivisionError: by nothing"
    monkeypatch.setenv("WORLDDB_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        run("head")


def test_an_interruption_ends_without_a_traceback(run, monkeypatch):
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(stores, "open_existing", interrupted)
    stopped = run("head")
    assert (stopped.code, stopped.out) == (130, "")
    assert stopped.err == "interrupted; what was committed stays\n"


def test_a_system_error_is_reported_in_one_line(run, monkeypatch):
    def forbidden(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", "memory/data.mdb")

    monkeypatch.setattr(stores, "open_existing", forbidden)
    told = run("head", "--json")
    assert (told.code, told.error) == (5, "system")
    assert told.json["error"]["message"] == "memory/data.mdb: Permission denied"


def test_the_installed_command_and_the_module_say_their_version(tmp_path):
    assert run_process("--version", cwd=tmp_path).out == f"worlddb {worlddb.__version__}\n"
    script = shutil.which("worlddb", path=str(Path(sys.executable).parent))
    assert script is not None
    done = subprocess.run([script, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"worlddb {worlddb.__version__}\n"


def loaded(*words: str) -> set[str]:
    """What a run of the program loads."""
    code = f"""
import contextlib, io, sys
from worlddb.tools.cli.start import main
sys.argv = ["worlddb", *{words!r}]
with contextlib.redirect_stdout(io.StringIO()):
    main()
print(*sorted(sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_every_command_is_named_where_its_module_is_so_that_no_other_is_loaded_for_it():
    for home in main_module._COMMAND_MODULES:
        assert home.names.split() == [command.name for command in home.load()]


def test_the_help_of_all_commands_needs_nothing_heavy():
    found = loaded("--help")
    assert "worlddb.tools.cli.serve.demo_command" in found
    heavy = {"rich", "tantivy", "faiss", "numpy", "zstandard", "worlddb.tools.demo", "worlddb.tools.importers"}
    assert not heavy & found


def test_the_version_waits_for_nothing_of_the_engine_and_a_question_for_nothing_that_writes():
    assert {name for name in loaded("--version") if name.startswith("worlddb.")} == {
        f"worlddb.tools{name}" for name in ("", ".cli", ".cli.process", ".cli.start")
    }
    found = loaded("--store", "memory", "--quiet", "recall", "where does Mara live?")
    assert "worlddb.query.recall.recall" in found
    commands = {name for name in found if name.endswith(("_command", "_commands"))}
    assert commands == {"worlddb.tools.cli.read.recall_command"}
    for unneeded in ("filelock", "http.client", "rapidfuzz", "worlddb.reconciler.pipeline", "worlddb.log.model.bundle"):
        assert unneeded not in found
    assert len([name for name in found if name.startswith("worlddb.")]) <= 150


def test_a_command_is_found_where_the_table_of_commands_says():
    for home in main_module._COMMAND_MODULES:
        assert [command.name for command in home.load()] == home.names.split()
    words = ("--store", "recall", "--json", "--store=x", "--quiet", "head", "recall")
    assert next(command.name for command in main_module._needed_commands(words)) == "head"
    assert (
        len(main_module._needed_commands(("--help", "recall")))
        == len(COMMANDS)
        == len(main_module._needed_commands(()))
    )


def test_an_option_that_resembles_none_has_no_suggestion_and_an_empty_file_no_false_success(writing, tmp_path):
    """The dashes alone made --rest resemble --store, and of no messages "everything was there already"."""
    assert "Did you mean" not in writing("recall", "x", "--rest").err
    file = tmp_path / "chat.json"
    file.write_text("[]")
    told = writing("ingest", str(file), "--format", "messages").out
    assert "nothing to import was found" in told and "already" not in told
