"""The demo tells a story that really happens."""

from __future__ import annotations

import json
import re
from pathlib import Path
from time import process_time

import pytest

from tests.support.running import LocalRunner, Run, run_process
from worlddb.tools.cli.main import main
from worlddb.tools.cli.serve import demo_command
from worlddb.tools.demo.story import STEPS, forge

MAX_SECONDS = 20


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Run]:
    """The stores of a run in a process of its own, and what it printed into a pipe."""
    folder = tmp_path_factory.mktemp("demo")
    return folder / "kept", run_process("demo", "--keep", "kept", cwd=folder)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return run_process("demo", "--json", cwd=tmp_path_factory.mktemp("demo"))


def test_the_story_is_told_in_time_and_leaves_nothing_behind(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    began = process_time()
    assert main(["demo", "--quiet"]) == 0
    assert process_time() - began < MAX_SECONDS
    assert list(tmp_path.iterdir()) == []
    shown = capsys.readouterr()
    assert shown.err == ""
    assert "my-demo" not in shown.out


def test_a_stranger_reads_ten_sections_without_colours_in_a_pipe(kept):
    _, run = kept
    assert (run.code, run.err) == (0, "")
    assert "\x1b" not in run.out
    titles = re.findall(r"^ ?\d+  (.+)$", run.out, flags=re.MULTILINE)
    assert len(titles) == len(STEPS) == 10
    assert len(run.out.splitlines()) <= 90
    assert max(map(len, run.out.splitlines())) <= 120


def test_the_document_holds_what_every_step_came_to(told):
    assert told.code == 0
    document = json.loads(told.out)
    assert document.keys() >= {"root", "seq", "steps"}
    assert len(document["root"]) == 64
    steps = document["steps"]
    assert len(steps) == len(STEPS)
    assert all(step["ok"] for step in steps)
    ingest, source, home, date, people, conflict, derived, replayed, traced, forged = steps
    assert (ingest["turns"], ingest["sessions"]) == (45, 6)
    assert source["source"]["file"] == "conversation.jsonl"
    now, then, known = (value for name, value in home.items() if name not in ("step", "ok"))
    assert ("Porto" in now, "Lisbon" in then, "Lisbon" in known) == (True, True, True)
    assert ["21 May" in answer for answer in date["answers"].values()] == [True, False]
    assert ["12 May" in version for version in date["versions"]] == [True, False]
    assert (people["proposals_for_near_names"], people["status"], people["merged"]) == (1, "rejected", 0)
    assert [len(hit["conflicts"]) for hit in conflict["hits"]] == [1, 1]
    assert derived["root"] == document["root"]
    assert replayed["root"] == replayed["recorded"] != document["root"]
    assert [world["change"] for world in traced["worlds"]] == ["members", "members", "members", "revised"]
    assert (traced["event"]["author"], traced["event"]["seq"]) == ("mallory", document["seq"] + 1)
    assert (forged["verified"], forged["memory_ok"]) == (False, True)
    assert forged["first_bad_seq"] == forged["turn_seq"] == forged["event"]["seq"]
    assert (forged["event"]["event"], forged["event"]["author"]) == ("created", "Sol")


def test_what_the_demo_keeps_is_what_it_told_and_the_commands_it_ends_with_work(kept, capsys):
    folder, run = kept
    memory = LocalRunner(capsys, folder / "memory")
    assert memory.json("head")["root"] in run.out
    assert memory.json("verify", "--deep")["ok"] is True
    assert memory("diff", folder / "memory", folder / "altered").code == 1
    assert LocalRunner(capsys, folder / "forged")("verify").code == 1
    assert LocalRunner(capsys, folder / "then").json("head")["seq"] < memory.json("head")["seq"]
    suggested = [line.strip() for line in run.out.splitlines() if line.startswith("  worlddb ")]
    assert len(suggested) == 5
    import shlex

    for line in suggested:
        words = shlex.split(line)[1:]
        ended = run_process(*words, cwd=folder.parent)
        assert ended.code == (1 if "diff" in words or "verify" in words else 0), line
        assert ended.out


@pytest.mark.parametrize(
    ("run_as", "found", "named"),
    [
        (".venv/bin/worlddb", None, ".venv/bin/worlddb"),
        (".venv/bin/worlddb", "/bin/worlddb", "worlddb"),
        ("/somewhere/__main__.py", None, "worlddb"),
    ],
)
def test_what_is_proposed_is_called_as_the_demo_was_where_its_name_alone_finds_nothing(
    run_as, found, named, monkeypatch
):
    monkeypatch.setattr("sys.argv", [run_as, "demo"])
    monkeypatch.setattr(demo_command, "which", lambda name: found)
    assert demo_command._program() == named


def test_a_directory_that_is_not_empty_is_not_played_in(kept, tmp_path, capsys):
    (tmp_path / "letter.txt").write_text("dear")
    run = LocalRunner(capsys, tmp_path / "unused")
    for taken in (tmp_path, tmp_path / "letter.txt", kept[0]):
        refused = run("demo", "--keep", taken, "--json")
        assert (refused.code, refused.error) == (2, "place_taken")
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]
    (tmp_path / "empty").mkdir()
    assert run("demo", "--keep", tmp_path / "empty", "--quiet").code == 0


def test_a_step_that_breaks_its_promise_is_the_answer_no(tmp_path, monkeypatch, capsys):
    import worlddb

    monkeypatch.setattr(worlddb.Database, "replay", lambda self, into, **_: _not_replayed(self.path, Path(into)))
    run = LocalRunner(capsys, tmp_path / "unused")("demo", "--json")
    assert run.code == 1
    assert [step["ok"] for step in run.json["steps"]].count(False) == 1


def _not_replayed(memory: Path, into: Path) -> object:
    import shutil

    import worlddb

    shutil.copytree(memory, into)
    return worlddb.Replayed(3, "ab" * 32, False)


def test_a_forger_needs_a_text_that_is_there_and_one_of_its_length(tmp_path):
    file = tmp_path / "data"
    file.write_bytes(b"one two one")
    assert forge(file, b"one", b"ane") == 2
    assert file.read_bytes() == b"ane two ane"
    for old, new in ((b"one", b"two"), (b"ane", b"a")):
        with pytest.raises(ValueError, match="holds no"):
            forge(file, old, new)
