"""Grows a store by random commands of every kind."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import worlddb
from tests.support.faults.script import SECOND
from worlddb import Database, ManualClock, Receipt
from worlddb.projections.tables.storage.schema import CONTAINS, EDGE_TYPE_CODES

DAY = 86_400 * SECOND
TYPES = ("Fact", "Entity", "Topic", "Place")
NAMES = ("Ada", "Ben", "Chen", "office", "team", "old fact", "new fact")
WORDS = ("the", "team", "sits", "in", "Bern", "Basel", "near", "green", "lamp", "office", "engineering", "lead", "fact")
EDGES = (*(name for name in EDGE_TYPE_CODES if name != CONTAINS), CONTAINS)


class Growth:
    """Writes random commands; refused ones are counted and change nothing."""

    def __init__(self, db: Database, clock: ManualClock, seed: int) -> None:
        self.db = db
        self.clock = clock
        self.rng = random.Random(seed)
        self.worlds: list[str] = []
        self.edges: list[str] = []
        self.proposals: list[str] = []
        self.done: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()

    def grow(self, count: int) -> None:
        """Try ``count`` commands, some of them in batches."""
        kinds = {
            self._create: 8,
            self._revise: 5,
            self._link: 10,
            self._retire: 3,
            self._reassert: 2,
            self._unlink: 2,
            self._move: 3,
            self._alias: 2,
            self._unalias: 1,
            self._decide: 4,
            self._batch: 2,
        }
        for _ in range(count):
            self.clock.advance(self.rng.choice((0, SECOND, DAY)))
            command = self.rng.choices(list(kinds), list(kinds.values()))[0] if len(self.worlds) > 5 else self._create
            name = command.__name__.lstrip("_")
            try:
                receipt = command()
            except worlddb.InputError as error:
                self.refused[f"{name} {error.code}"] += 1
                continue
            self.proposals.extend(receipt.proposals)
            self.done[name] += bool(receipt)
            if isinstance(receipt.outcome, worlddb.Refused):
                self.refused[f"{name} {receipt.outcome.code}"] += 1

    def _text(self) -> str:
        return " ".join(self.rng.choices(WORDS, k=self.rng.randint(0, 12)))

    def _when(self) -> int | None:
        return self.rng.choice((None, self.clock.value + self.rng.randint(-30, 30) * DAY))

    def _interval(self) -> dict[str, Any]:
        begins = self._when()
        ends = None if begins is None or self.rng.random() < 0.7 else begins + self.rng.randint(0, 40) * DAY
        return {"valid_from": begins, "valid_to": ends}

    def _some(self) -> str:
        return self.rng.choice(self.worlds)

    def _create(self) -> Receipt:
        receipt: Receipt = self.db.create(
            self.rng.choice(TYPES),
            self.rng.choice(NAMES),
            content=self._text(),
            aliases=self.rng.choice(((), ("Sarah",), ("S", "Chen"))),
            world=self.rng.choice([None, *self.worlds[:8]]),
            key=self.rng.choice((None, None, f"key {self.rng.randint(0, 20)}")),
            why=self.rng.choice(("", "said in passing")),
            source=self.rng.choice(({}, {"file": "a", "line": 7})),
            **self._interval(),
        )
        if receipt:
            self.worlds.append(receipt.ref)
        return receipt

    def _revise(self) -> Receipt:
        changes: dict[str, Any] = self.rng.choice(({"content": self._text()}, {"name": self.rng.choice(NAMES)}))
        found: Receipt = self.db.revise(self._some(), valid_from=self._when(), **changes)
        return found

    def _link(self) -> Receipt:
        receipt: Receipt = self.db.link(
            self._some(),
            self.rng.choice(EDGES),
            self._some(),
            key=self.rng.choice((None, None, f"edge {self.rng.randint(0, 9)}")),
            properties=self.rng.choice(({}, {"weight": 3})),
            **self._interval(),
        )
        if receipt and not receipt.proposals:
            self.edges.append(receipt.ref)
        elif isinstance(receipt.outcome, worlddb.Refused) and receipt.outcome.code == "key_taken":
            taken = receipt.outcome.reason.partition("the edge ")[2][:12]
            self.edges.append(self.db.view().edge(taken).ref)  # It is as good to go on with.
        return receipt

    def _retire(self) -> Receipt:
        found: Receipt = self.db.retire(
            self.rng.choice(self.rng.choice((self.worlds, self.edges or self.worlds))), at=self._when()
        )
        return found

    def _reassert(self) -> Receipt:
        receipt: Receipt = self.db.reassert(self._some(), content=self.rng.choice((None, self._text())))
        if receipt:
            self.worlds.append(receipt.ref)
        return receipt

    def _unlink(self) -> Receipt:
        found: Receipt = self.db.unlink(self.rng.choice(self.edges or self.worlds))
        return found

    def _move(self) -> Receipt:
        found: Receipt = self.db.move([self._some() for _ in range(self.rng.randint(1, 3))], self._some())
        return found

    def _alias(self) -> Receipt:
        found: Receipt = self.db.alias(self._some(), self.rng.choice(NAMES))
        return found

    def _unalias(self) -> Receipt:
        found: Receipt = self.db.unalias(self._some(), self.rng.choice(("Sarah", "Chen")))
        return found

    def _decide(self) -> Receipt:
        decide = self.rng.choice((self.db.accept, self.db.accept, self.db.reject, self.db.undo))
        found: Receipt = decide(self.rng.choice(self.proposals or self.worlds))
        return found

    def _batch(self) -> Receipt:
        tx = self.db.batch()
        try:
            with tx:
                inside = tx.create("Topic", self.rng.choice(NAMES), world=self._some())
                for _ in range(self.rng.randint(0, 6)):
                    one = tx.create("Fact", self.rng.choice(NAMES), content=self._text(), world=inside)
                    tx.link(one, self.rng.choice(EDGES[:5]), self._some())
        except worlddb.RefusedError:
            return tx.receipt
        self.worlds.extend(tx.receipt.refs[:1])
        return tx.receipt
