"""Maintenance in the simulation: rebuild, reopen, replay, verify, back up, lose an index."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable

import worlddb
from tests.support.simulation.engine import Engine


class Keeper:
    """Does one chore at a time."""

    def __init__(self, engine: Engine, rng: random.Random, chores: tuple[str, ...]) -> None:
        self._engine = engine
        self._rng = rng
        self._chores = chores
        self._replays = 0

    def work(self) -> str:
        """Do one of the chores; returns its name."""
        chore = self._rng.choice(self._chores)
        CHORES[chore](self)
        self._engine.seen[chore] += 1
        return chore

    def _db(self) -> worlddb.Database:
        return self._engine.db(self._rng.randrange(len(self._engine.handles)))

    def _rebuild_tables(self) -> None:
        assert self._db().rebuild("tables").root == self._engine.hashes[-1][0]
        self._engine.check_present()

    def _rebuild_all(self) -> None:
        assert self._db().rebuild().root == self._engine.hashes[-1][0]
        self._engine.check_present()

    def _reopen(self) -> None:
        """Close all handles in good order and open them again."""
        self._engine.close()
        self._engine.open()

    def _replay(self) -> None:
        """A store replayed to a commit answers as this one does as of that commit (law 9)."""
        engine = self._engine
        seq = self._rng.randint(1, engine.head)
        self._replays += 1
        into = engine.top / f"replay-{self._replays}"
        assert self._db().replay(into, seq=seq)[:3] == (seq, engine.hashes[seq][0], True)
        self._compare(into, seq)
        shutil.rmtree(into)

    def _back_up(self) -> None:
        """Bring one backup up to date, again and again."""
        into = self._engine.top / "backup"
        assert self._db().backup(into).seq == self._engine.head
        self._compare(into, self._engine.head)

    def _compare(self, folder: object, seq: int) -> None:
        with worlddb.open(str(folder), create=False, clock=self._engine.clock) as other:
            view = other.view(seq=seq, valid=self._engine.times[seq] + self._rng.randint(-9, 9) * 1_000)
            # What was erased later is told by one commit more.
            assert {entry.event for entry in other.log(seq + 1)} <= {"erased_elsewhere", "struck_elsewhere"}
            self._engine.compared(view).everything()

    def _verify(self) -> None:
        found = self._db().verify(deep=True)
        assert found.ok, found.findings[:3]
        assert found.commits == self._engine.head

    def _lose_the_indexes(self) -> None:
        """Delete the indexes while they are in use."""
        shutil.rmtree(self._engine.folder / "indexes", ignore_errors=True)

    def _catch_up(self) -> None:
        assert self._db().catch_up()

    def _snapshot(self) -> None:
        self._db().snapshot(seq=self._rng.randint(1, self._engine.head))

    def _look_again(self) -> None:
        """Recluster, as the background thread does."""
        self._engine.look_again(self._rng.randrange(len(self._engine.handles)))
        self._engine.check_present()


CHORES: dict[str, Callable[[Keeper], None]] = {
    "rebuild the tables": Keeper._rebuild_tables,
    "rebuild all": Keeper._rebuild_all,
    "reopen": Keeper._reopen,
    "replay": Keeper._replay,
    "back up": Keeper._back_up,
    "verify": Keeper._verify,
    "lose the indexes": Keeper._lose_the_indexes,
    "catch up": Keeper._catch_up,
    "snapshot": Keeper._snapshot,
    "look again": Keeper._look_again,
}
