"""``worlddb completion``: what shells make of the scripts."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.running import LocalRunner
from worlddb.tools.cli.completion import SHELLS
from worlddb.tools.cli.main import COMMANDS

ASK = """
source {script}
COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_shtab_worlddb
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.fixture
def script(reading: LocalRunner, tmp_path: Path) -> Path:
    file = tmp_path / "completion.bash"
    file.write_text(reading("completion", "bash").out, "utf-8")
    return file


def completed(script: Path, *words: str) -> set[str]:
    """What bash offers after these words, of which the last is being typed."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash here to ask")
    asked = ASK.format(script=shlex.quote(str(script)), words=shlex.join(words))
    # Of a locale that is not installed, bash would complain.
    env = os.environ | {"LC_ALL": "C"}
    command = [bash, "--norc", "-c", asked]
    done = subprocess.run(command, cwd=script.parent, env=env, capture_output=True, text=True, timeout=240, check=True)
    assert done.stderr == ""
    return set(done.stdout.split("\n")) - {""}


def test_every_command_is_completed_and_each_of_them_has_its_own_options(script: Path) -> None:
    assert completed(script, "worlddb", "") == {command.name for command in COMMANDS}
    assert completed(script, "worlddb", "rec") == {"recall", "receipts", "recluster"}
    assert completed(script, "worlddb", "--store", "x", "--json", "rep") == {"replay"}
    assert completed(script, "worlddb", "recall", "--con") == {"--confine"}
    assert completed(script, "worlddb", "verify", "--con") == set()
    for command in COMMANDS:
        assert {"--json", "--help", "--store"} <= completed(script, "worlddb", command.name, "--"), command.name


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("export", "--format", ""), {"bundle", "jsonl", "mcp-memory"}),
        (("completion", ""), set(SHELLS)),
        (("rebuild", "text", ""), {"tables", "text", "vectors"}),
        (("link", "Mara", "sup"), {"supersedes", "supports"}),
        (("at", "2026-03-01", "chi"), {"children"}),
        (("at", "2026-03-01", "ret"), set()),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, tuple) else None,
)
def test_choices_are_completed(words: tuple[str, ...], offered: set[str], script: Path) -> None:
    assert completed(script, "worlddb", *words) == offered


def test_files_and_folders_are_completed_where_an_argument_is_one(script: Path) -> None:
    (script.parent / "talks").mkdir()
    (script.parent / "talks.jsonl").write_text("")
    both = {"talks", "talks.jsonl"}
    assert completed(script, "worlddb", "ingest", "ta") == both
    assert completed(script, "worlddb", "ingest", "notes.md", "ta") == both
    assert completed(script, "worlddb", "check-proof", "--head", "ta") == both
    assert completed(script, "worlddb", "restore", "ta") == {"talks"}
    assert completed(script, "worlddb", "--store", "ta") == {"talks"}
    assert completed(script, "worlddb", "recall", "ta") == set()


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_is_one_that_its_shell_can_read(shell: str, reading: LocalRunner, tmp_path: Path) -> None:
    document = reading.json("completion", shell)
    assert document == {"shell": shell, "script": reading("completion", shell).out}
    assert all(command.name in document["script"] for command in COMMANDS)
    file = tmp_path / f"completion.{shell}"
    file.write_text(document["script"], "utf-8")
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"there is no {shell} here to read it")
    subprocess.run([program, "-n", file], check=True, timeout=240)
