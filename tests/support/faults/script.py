"""A script of varied commands that can be cut and resumed, and always ends in the same state.

Every write has an idempotency key, and its own clock and randomness: what was committed before the cut answers with
the receipt that it had, and what was not is decided with the same nonces. Two finished runs therefore end in the same
chain hash, however often one of them was cut.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import worlddb
from worlddb import Database, ManualClock, Receipt

SECOND = 1_000_000
Operation = Callable[["Run"], None]


class OwnEntropy:
    """Randomness that restarts with every write."""

    def __init__(self) -> None:
        self.begin(0)

    def begin(self, number: int) -> None:
        self._bytes = worlddb.SeededEntropy(number).bytes

    def bytes(self, count: int) -> bytes:
        return self._bytes(count)


class Run:
    """One attempt at the script; calls ``acknowledge`` with a line after every write."""

    def __init__(self, folder: Path, acknowledge: Callable[[str], None]) -> None:
        self.folder = folder
        self.acknowledge = acknowledge
        self.clock = ManualClock()
        self.entropy = OwnEntropy()
        self.start = self.clock.value
        self.refs: dict[str, str] = {}
        self.number = 0
        self.db: Database

    def whole(self) -> worlddb.Head:
        """Run every operation in order; returns the final state."""
        self.db = worlddb.open(self.folder, author="script", clock=self.clock, entropy=self.entropy)
        with self.db:
            for number, operation in enumerate(OPERATIONS, 1):
                self.number = number
                self.clock.value = self.start + number * SECOND
                self.entropy.begin(number)
                operation(self)
            return self.db.head()

    def key(self) -> str:
        return f"script-{self.number}"

    def done(self, receipt: Receipt, *names: str) -> None:
        """Record a write, and acknowledge it."""
        assert receipt, receipt
        self.refs.update(zip(names, receipt.refs, strict=True))
        self.acknowledge(f"{self.number} {receipt.seq} {receipt.root}")


def _create(name: str, type_name: str, **fields: Any) -> Operation:
    def operation(run: Run) -> None:
        inside = {key: run.refs[value] for key, value in fields.items() if key == "world"}
        receipt = run.db.create(type_name, name, **(fields | inside), idempotency_key=run.key())
        run.done(receipt, name)

    return operation


def _link(source: str, type_name: str, target: str, name: str) -> Operation:
    def operation(run: Run) -> None:
        receipt = run.db.link(
            run.refs[source], type_name, run.refs[target], why=f"said of {name}", idempotency_key=run.key()
        )
        run.done(receipt, name)

    return operation


def _batch(run: Run) -> None:
    with run.db.batch(idempotency_key=run.key()) as tx:
        desk = tx.create("Place", "desk", world=run.refs["office"])
        lamp = tx.create("Thing", "lamp", world=desk, content="a green lamp " * 400)
        tx.link(lamp, "refers_to", run.refs["Sarah Chen"])
        tx.revise(desk, content="by the window")
    run.done(tx.receipt, "desk", "lamp", "lamp refers", "desk again")


def _revise(run: Run) -> None:
    run.done(
        run.db.revise(run.refs["Sarah Chen"], content="VP of engineering", idempotency_key=run.key()), "Sarah Chen"
    )


def _alias(run: Run) -> None:
    run.done(run.db.alias(run.refs["Sarah Chen"], "SC", "Chen", idempotency_key=run.key()), "Sarah Chen")


def _unalias(run: Run) -> None:
    run.done(run.db.unalias(run.refs["Sarah Chen"], "SC", idempotency_key=run.key()), "Sarah Chen")


def _namesake(run: Run) -> None:
    receipt = run.db.create("Entity", "sarah chen", world=run.refs["office"], idempotency_key=run.key())
    run.refs["proposal"] = receipt.proposals[0]
    run.done(receipt, "namesake")


def _accept(run: Run) -> None:
    run.done(run.db.accept(run.refs["proposal"], idempotency_key=run.key()), "proposal")


def _undo(run: Run) -> None:
    run.done(run.db.undo(run.refs["proposal"], idempotency_key=run.key()), "proposal")


def _unlink(run: Run) -> None:
    run.done(run.db.unlink(run.refs["causes"], idempotency_key=run.key()), "causes")


def _move(run: Run) -> None:
    moved = [run.refs["old fact"], run.refs["new fact"]]
    run.done(run.db.move(moved, run.refs["archive"], idempotency_key=run.key()), "moved")


def _retire(run: Run) -> None:
    run.done(run.db.retire(run.refs["lamp"], idempotency_key=run.key()), "lamp")


def _reassert(run: Run) -> None:
    run.done(run.db.reassert(run.refs["lamp"], idempotency_key=run.key()), "lamp again")


def _ingest(run: Run) -> None:
    turns = [worlddb.Turn(speaker=one, text=f"{one} spoke of the office move") for one in ("Ann", "Ben", "Ann")]
    receipt = run.db.ingest(turns, conversation="talk", session="first", idempotency_key=run.key())
    assert receipt, receipt
    run.acknowledge(f"{run.number} {receipt.seq} {receipt.root}")


def _erase(run: Run) -> None:
    erased = [run.refs["old fact"], run.refs["namesake"]]
    receipt = run.db.erase(erased, reason="request 114", forbid=True, idempotency_key=run.key())
    run.done(receipt, "old fact", "namesake")


def _state(run: Run) -> None:
    said = [(DESK, STANDS, worlddb.Literal(text)) for text in (PERISHABLE, "by the door")]
    run.done(run.db.state(run.refs["office"], said, idempotency_key=run.key()), "stated")


def _erase_literal(run: Run) -> None:
    literal = worlddb.Literal(PERISHABLE)
    receipt = run.db.erase_literal(run.refs["office"], literal, reason="request 115", idempotency_key=run.key())
    run.done(receipt, "literal")


def _catch_up(run: Run) -> None:
    run.db.catch_up()
    assert any("lamp" in hit.name for hit in run.db.view().recall("green lamp", include_superseded=True))


def _rebuild(run: Run) -> None:
    before = run.db.view().hash()
    assert run.db.rebuild().root == before


def _replay(run: Run) -> None:
    into = run.folder.with_name(f"{run.folder.name}-replayed")
    shutil.rmtree(into, ignore_errors=True)
    assert run.db.replay(into).matches_recorded


PERISHABLE = "under the leaking roof"
"""A literal that is stated and erased."""
DESK, STANDS = worlddb.Iri("https://a.example/desk"), worlddb.Iri("https://a.example/stands")

OPERATIONS: tuple[Operation, ...] = (
    _create("office", "Place"),
    _create("archive", "Place", why="for what is over"),
    _create("Sarah Chen", "Entity", world="office", content="engineering lead", aliases=["Sarah"]),
    _create("old fact", "Fact", world="office", content="the team sits in Basel", valid_from="2024-01-01"),
    _create("new fact", "Fact", world="office", content="the team sits in Bern", valid_from="2025-01-01"),
    _batch,
    _revise,
    _catch_up,
    _link("new fact", "supersedes", "old fact", "supersedes"),
    _link("new fact", "contradicts", "old fact", "contradicts"),
    _link("Sarah Chen", "causes", "new fact", "causes"),
    _alias,
    _namesake,
    _accept,
    _move,
    _rebuild,
    _unlink,
    _undo,
    _unalias,
    _state,
    _retire,
    _reassert,
    _erase,
    _erase_literal,
    _ingest,
    _replay,
    _catch_up,
)
