"""Draw crashes of a recorded run, build the resulting disks, and check what must survive."""

from __future__ import annotations

import random
import shutil
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import worlddb
from tests.support.faults.children import Acknowledged
from tests.support.faults.disk.simulate import NothingSurvives, SomeSurvives, Survival, replay_operations
from tests.support.faults.disk.trace import SYNCS, Operation, read
from tests.support.faults.disk.workload import ACKNOWLEDGED, ERASED, STORE
from tests.support.faults.script import Run
from tests.support.faults.traces import find_traces


class Crash(NamedTuple):
    """A power failure after a number of operations; ``seed`` decides what survives."""

    after: int
    sync: str
    seed: int

    def chance(self) -> Survival:
        """What survives: everything written, only synced data, or a part of the rest."""
        if self.sync == KILLED:
            return Survival()
        return NothingSurvives() if self.seed % 4 == 0 else SomeSurvives(random.Random(self.seed))


KILLED = "no sync: the process was killed"


def kinds_of_sync(operations: Sequence[Operation]) -> dict[str, list[int]]:
    """The positions of each kind of sync point: the kind of sync, and of which file or folder."""
    found: dict[str, list[int]] = {}
    for number, operation in enumerate(operations):
        if operation.kind in SYNCS:
            parts = [".new" if part.startswith(".new-") else part for part in operation.path.split("/")]
            found.setdefault(f"{operation.kind.name.lower()} {'/'.join(parts)}", []).append(number)
    return found


def crashes(operations: Sequence[Operation], count: int, rng: random.Random) -> Iterator[Crash]:
    """Draw crashes evenly over the kinds of sync points: before, after and in between."""
    kinds = sorted(kinds_of_sync(operations).items())
    every = sorted(number for _, numbers in kinds for number in numbers)
    for number in range(count):
        kind, places = kinds[number % len(kinds)]
        sync = rng.choice(places)
        before = every[bisect_left(every, sync) - 1] + 1 if sync > every[0] else 0
        after = rng.choice((sync, sync + 1, rng.randint(before, sync)))
        yield Crash(after, kind, rng.randrange(2**32))


def prefixes(operations: Sequence[Operation]) -> list[Crash]:
    """A kill after each operation: everything before it survives."""
    return [Crash(after, KILLED, 0) for after in range(len(operations) + 1)]


def check_crashes(
    trace: Path, recorded: Path, into: Path, outcomes: Path, wanted: Sequence[Crash], whole_run: int
) -> None:
    """Make what each crash leaves, open it and look; a line of ``outcomes`` for each. After every ``whole_run``-th of
    them the run is begun again and has to end as it did.

    Runs in a process of its own, which a damaged file must not end.
    """
    operations = read(trace, recorded)
    lines = Acknowledged(recorded / ACKNOWLEDGED).lines()
    with worlddb.open(recorded / STORE, author="reader") as db:
        head = db.head()
    report = Acknowledged(outcomes)
    into.mkdir()
    for number, crash in enumerate(wanted):
        place = into / str(number)
        replay_operations(operations[: crash.after]).write_out(place, crash.chance())
        acknowledged = sum(one.path == ACKNOWLEDGED and bool(one.data) for one in operations[: crash.after])
        try:
            check(place / STORE, lines[:acknowledged], lines)
            # A store that had not begun was begun by looking at it, under another name.
            if number % whole_run == 0 and acknowledged:
                again: list[str] = []
                shutil.rmtree(place / f"{STORE}-replayed", ignore_errors=True)
                assert Run(place / STORE, again.append).whole() == head and again == lines, "it did not go on"
        except (AssertionError, worlddb.WorldDBError) as error:
            report(f"{crash}: {type(error).__name__} {error}".replace("\n", " "))
            continue
        shutil.rmtree(place)
        report("whole")


def check(store: Path, acknowledged: Sequence[str], lines: Sequence[str]) -> None:
    """Check that a store opens with all acknowledged writes and at most one more."""
    with worlddb.open(store, author="reader") as db:
        found = db.head().seq
        reached = [line for line in lines if int(line.split()[1]) <= found]
        assert len(acknowledged) <= len(reached) <= len(acknowledged) + 1, f"{len(acknowledged)} but {len(reached)}"
        for line in reached:
            _, seq, root = line.split()
            assert db.view(seq=int(seq)).hash() == root, f"commit {seq} has another root"
        verified = db.verify(deep=True)
        assert verified.ok, verified.findings[:3]
        if any(entry.event == "erased" for entry in db.log()):
            assert find_traces(store, [ERASED]) == [], "something is left of what was erased"
    for replayed in store.parent.glob(f"{store.name}-replayed"):
        worlddb.open(replayed, author="reader").close()
