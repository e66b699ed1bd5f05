"""Ctrl-C at any moment ends a command with 130 and a word, never with a traceback."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.running import SmallRefs
from worlddb.tools.cli.process import INTERRUPTED, INTERRUPTED_WORDS

RUN = """
import os, signal, sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
        return None

sys.meta_path.insert(0, Interrupting())
sys.argv = ["worlddb", "--store", {store!r}, *{words!r}]
from worlddb.tools.cli.start import main
code = main()
{afterwards}
sys.exit(code)
"""


@pytest.fixture(autouse=True)
def minded() -> Iterator[None]:
    """Heed Ctrl-C, which a shell has its background processes and their children ignore."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupted(store: Path, module: str, *words: str, afterwards: str = "") -> subprocess.CompletedProcess[str]:
    """A run in which Ctrl-C is pressed at the very moment in which a module is looked for."""
    program = RUN.format(module=module, store=str(store), words=words, afterwards=afterwards)
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=180, check=False)


@pytest.mark.parametrize(
    "module",
    [
        "worlddb.tools.cli.main",
        "worlddb.database",
        "lmdb",
        "worlddb.log.model.hashing",
        # These two are loaded in the middle of the command.
        "tantivy",
        "worlddb.tools.cli.base.page",
    ],
)
def test_an_interruption_while_something_is_imported_ends_without_a_traceback(
    module: str, made: tuple[Path, SmallRefs]
) -> None:
    done = interrupted(made[0], module, "recall", "office", "--exact")
    assert (done.returncode, done.stdout, done.stderr) == (INTERRUPTED, "", INTERRUPTED_WORDS)


def test_an_interruption_when_the_command_is_over_ends_without_a_traceback(made: tuple[Path, SmallRefs]) -> None:
    done = interrupted(made[0], "", "head", "--json", afterwards="os.kill(os.getpid(), signal.SIGINT)")
    assert (done.returncode, done.stderr) == (INTERRUPTED, INTERRUPTED_WORDS)


def test_a_process_that_was_told_to_ignore_interruptions_goes_on(made: tuple[Path, SmallRefs]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    done = interrupted(made[0], "lmdb", "head", "--json")
    assert (done.returncode, done.stderr) == (0, "")


def test_nothing_of_the_engine_is_loaded_before_interruptions_are_seen_to() -> None:
    code = "import sys, worlddb.tools.cli.start; print(*sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert {name for name in loaded if name.startswith("worlddb")} == {
        "worlddb",
        "worlddb.tools",
        "worlddb.tools.cli",
        "worlddb.tools.cli.process",
        "worlddb.tools.cli.start",
    }
    assert not {"lmdb", "msgspec", "filelock"} & set(loaded)
