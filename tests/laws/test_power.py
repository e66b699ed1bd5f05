"""Opens every file that a power failure could leave of what a process told the disk.

No process can cut the power, but what a disk may have of what it was told is known: what was synced, and any part of
the rest. See ``tests/support/faults/disk``.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.faults.children import Acknowledged, start, wait_for_exit
from tests.support.faults.disk.crashes import Crash, check_crashes, crashes, kinds_of_sync, prefixes
from tests.support.faults.disk.simulate import Survival, replay_operations
from tests.support.faults.disk.trace import Kind, Operation, read, record, unavailable_reason, write
from tests.support.faults.disk.workload import ACKNOWLEDGED, STORE
from tests.support.faults.memory import folder_in_memory

LOOKING_SECONDS = 1800.0
FEW, KILLS, MANY = 48, 16, 1000


class Recording(NamedTuple):
    """A run that was recorded: the folder in which it ran, the trace, and what is in that."""

    folder: Path
    trace: Path
    operations: list[Operation]


@pytest.fixture(scope="module")
def memory() -> Iterator[Path]:
    """A folder in memory where there is one: thousands of small stores are made in it."""
    with folder_in_memory() as folder:
        yield folder


@pytest.fixture(scope="module")
def recording(memory: Path) -> Recording:
    if unavailable_reason():
        pytest.skip(unavailable_reason())
    folder, trace = memory / "recorded", memory / "trace"
    record("tests.support.faults.disk.workload:run", folder, trace)
    return Recording(folder, trace, read(trace, folder))


def outcomes(
    recording: Recording, into: Path, wanted: Sequence[Crash], whole_run: int, *, may_end: bool = False
) -> Counter[str]:
    """What was found after each of some crashes; with ``may_end``, up to the one that ended the process that looked."""
    report = Acknowledged(into.with_suffix(".outcomes"))
    process = start(check_crashes, recording.trace, recording.folder, into, report.file, wanted, whole_run)
    code = wait_for_exit(process, LOOKING_SECONDS)
    lines = report.lines()
    assert may_end or (code, len(lines)) == (0, len(wanted)), f"ended by {code} in {wanted[len(lines) :][:1]}"
    return Counter(lines)


def test_the_recording_is_whole_and_has_every_kind_of_sync(recording: Recording, memory: Path) -> None:
    replay_operations(recording.operations).write_out(memory / "again", Survival())
    for name in (STORE, f"{STORE}-replayed"):
        assert (memory / "again" / name / "data.mdb").read_bytes() == (
            recording.folder / name / "data.mdb"
        ).read_bytes()
    assert len(Acknowledged(memory / "again" / ACKNOWLEDGED).lines()) >= 20
    expected = {f"sync {STORE}/data.mdb", f"write_through {STORE}/data.mdb", f"sync {STORE}/.scrub/data.mdb"}
    expected |= {f"sync {STORE}/.new/data.mdb", f"sync_folder {STORE}", "sync_folder new", "sync_folder ."}
    assert expected <= set(kinds_of_sync(recording.operations))


def test_whatever_a_power_failure_leaves_is_opened_as_it_is_and_has_all_that_was_acknowledged(
    recording: Recording, memory: Path, seed: int
) -> None:
    rng = random.Random(seed)
    wanted = [*crashes(recording.operations, FEW, rng), *rng.sample(prefixes(recording.operations), KILLS)]
    assert outcomes(recording, memory / "few", wanted, whole_run=32) == {"whole": len(wanted)}


@pytest.mark.parametrize(
    ("unsynced", "acknowledged"), [(STORE, 1), (f"{STORE}/data.mdb", 10), (f"{STORE}/.scrub/data.mdb", -1)]
)
def test_a_process_that_left_a_sync_out_would_be_caught(
    unsynced: str, acknowledged: int, recording: Recording, memory: Path, seed: int
) -> None:
    """The erasure is the last write but one."""
    careless = [
        one._replace(kind=Kind.WRITE) if one.kind is Kind.WRITE_THROUGH and one.path == unsynced else one
        for one in recording.operations
        if one.path != unsynced or one.kind not in (Kind.SYNC, Kind.SYNC_FOLDER)
    ]
    trace = memory / f"canary-{acknowledged}"
    write(careless, trace, recording.folder)
    acknowledgements = [number for number, one in enumerate(careless) if one.path == ACKNOWLEDGED and one.data]
    rng = random.Random(seed)
    wanted = [Crash(acknowledgements[acknowledged - 1] + 1, "", rng.randrange(2**32)) for _ in range(24)]
    found = outcomes(
        Recording(recording.folder, trace, careless), memory / f"caught-{acknowledged}", wanted, 1000, may_end=True
    )
    assert found["whole"] < len(wanted)


@pytest.mark.soak
def test_a_thousand_power_failures_and_every_prefix_of_the_trace_lose_nothing(
    recording: Recording, memory: Path, seed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = list(crashes(recording.operations, MANY, random.Random(seed)))
    kinds = Counter(crash.sync for crash in wanted)
    assert outcomes(recording, memory / "many", wanted, whole_run=20) == {"whole": len(wanted)}
    every = prefixes(recording.operations)
    assert outcomes(recording, memory / "prefixes", every, whole_run=20) == {"whole": len(every)}
    with capsys.disabled():
        print(f"\n{len(wanted)} power failures at {len(kinds)} kinds of sync points, {min(kinds.values())} or more at")
        print(
            f"each, and {len(every)} prefixes of the trace: 0 acknowledged writes lost, 0 stores that needed a person"
        )
