"""Flips bits in the log: `verify` names the commit, and no command ends in a traceback."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from tests.support.faults import forge
from tests.support.faults.commands import SERVES, WITHOUT_A_STORE, Known, every_line, try_commands
from tests.support.faults.damaged import reported_seq, verify_or_error
from worlddb.reconciler.diagnostics import installation
from worlddb.tools.cli.main import COMMANDS

pytestmark = pytest.mark.long

PLAIN_FLIPS, SOAK_FLIPS = 2, 1000
SOAK_COMMANDS = 8
"""How many of the command lines are run on each flip of a long run."""


@pytest.fixture(autouse=True)
def doctor_loads_no_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep `doctor` from loading libraries, which takes a second and has a test of its own."""
    monkeypatch.setattr(installation, "CHECKS", installation.CHECKS[:2])


def flip_and_command(
    whole: Path,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    rng: random.Random,
    flips: int,
    which: Callable[[int], Iterable[int]],
) -> Counter[str]:
    """Flip log bits, one in each copy; `verify` finds each, and commands run on the copy."""
    known = Known.of(whole, folder / "known")
    held = [pair for pair in forge.pairs(whole) if pair[0][0] in (forge.COMMIT, forge.EVENTS, forge.BLOBS)]
    ends: Counter[str] = Counter()
    monkeypatch.chdir(folder)
    for number in range(flips):
        key, value = rng.choice(held)
        bit = rng.randrange(len(value) * 8)
        damaged = forge.copy_store(whole, folder / str(number))
        forge.rewrite(damaged, [(key, forge.flip_bit(value, bit))])
        assert reported_seq(verify_or_error(damaged)) == forge.seq_of(key), f"bit {bit} of {key.hex()}"
        ends += try_commands(damaged, known, which)
        # Threads of the text index may still be writing into it.
        shutil.rmtree(damaged, ignore_errors=True)
    return ends


def test_there_is_a_line_for_every_command_that_opens_a_store() -> None:
    lines = every_line(Path("store"), Known(Path(), Path(), "", "", ""))
    assert {line[0] for line in lines} == {command.name for command in COMMANDS} - WITHOUT_A_STORE - SERVES


def test_on_a_whole_store_nearly_every_line_is_answered_or_refused(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ends = try_commands(forge.copy_store(whole, tmp_path / "copy"), Known.of(whole, tmp_path / "known"))
    assert ends["0"] > 20 and not ends.keys() & {"damaged_store", "usage", "1"}


def test_no_command_ends_in_a_traceback_on_a_flipped_bit(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    ends = flip_and_command(whole, tmp_path, monkeypatch, random.Random(seed), PLAIN_FLIPS, range)
    assert ends["1"] >= PLAIN_FLIPS, "verify says no to each"


@pytest.mark.soak
def test_no_command_ends_in_a_traceback_on_a_thousand_flipped_bits(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = random.Random(seed)

    def some(lines: int) -> Iterable[int]:
        return rng.sample(range(lines), SOAK_COMMANDS)

    ends = flip_and_command(whole, tmp_path, monkeypatch, rng, SOAK_FLIPS, some)
    with capsys.disabled():
        print(f"\ncommands on {SOAK_FLIPS} stores with a flipped bit ended so: {dict(ends)}")
    assert ends.total() == SOAK_FLIPS * SOAK_COMMANDS and ends["damaged_store"] > 0
