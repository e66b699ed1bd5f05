"""Belief changes at the end of a life: later views and replays must agree with each commit.

The plain model knows no beliefs, so these lives go on where it has compared everything: in a store with all that the
actors left in it, and with processes and machines that end within the writes as before.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from typing import Any, NamedTuple

import worlddb
from tests.support.model.strategies import TICK
from tests.support.simulation.config import DIES, STOPS
from tests.support.simulation.engine import Engine
from tests.support.simulation.points import Fault, ProcessEnded, image_of
from worlddb import Database, Receipt, View

EVERY = 5
"""One seed of so many has such an end."""
STEPS = 9
_FAULTS = 0.4
_POINTS = 9
_LATER = 40 * 86_400_000_000
_WITHDRAWN = "mallory"
CHANGES = ("believe", "expand", "contract", "rollback", "tag", "deprecate")
MET = (*(f"belief: {name}" for name in CHANGES), "belief: undo", "belief: withdrawal undone", "belief: began anew")
"""What lives of belief have to meet, among them all."""


class _Moment(NamedTuple):
    """A commit, and a valid time."""

    seq: int
    valid: int


class Believer:
    """Adds, contracts and withdraws beliefs in a store that others have used."""

    def __init__(self, engine: Engine, seed: int, say: Callable[[str], None]) -> None:
        self._engine = engine
        self._rng = random.Random(f"beliefs {seed}")
        self._say = say
        self._asked = 0
        self._refs: list[str] = []
        self._kept = ""
        """A world that is pinned and published, and that nobody changes."""
        self._left: dict[_Moment, Any] = {}
        """What was believed at each commit, when it was the last one."""

    def live(self) -> None:
        """Make some changes, a withdrawal and its undoing; then compare everything with its record."""
        self._begin()
        as_it_is = self._keeping()
        for step in range(STEPS):
            change = CHANGES[step] if step < len(CHANGES) else self._rng.choice(CHANGES)
            self._change(change)
            assert self._keeping() == as_it_is, f"{change} changed what is pinned and published"
        self._withdraw()
        assert self._keeping() == as_it_is, "a withdrawal of another changed what is pinned and published"
        self._look_back()

    # -- the store

    @property
    def _db(self) -> Database:
        return self._engine.db()

    def _told(self, view: View) -> Any:
        """The beliefs and texts of a view, and the versions of its tags."""
        items = [view.get(ref, include_superseded=True) for ref in self._refs]
        tags = [None if item is None else (item.tags, item.pinned, item.deprecated) for item in items]
        return view.belief_base(), view.retrieval_surface(), tags, view.belief_settings()

    def _keeping(self) -> Any:
        found = self._db.view().get(self._kept, include_deprecated=True)
        assert found is not None and found.pinned and found.tags == {"published": 1}
        return found

    def _begin(self) -> None:
        db = self._db
        for name in ("colour", "place", "plan"):
            beliefs = {"summary": self._rng.choice("abc"), "topic": ["x", "y"]}
            self._refs.append(db.create("Belief", name, content="a", properties=beliefs, resolve=False).ref)
        said = db.as_author(_WITHDRAWN).create("Belief", "rumour", content="a rumour", resolve=False).ref
        rests = db.create("Belief", "conclusion", content="a conclusion", resolve=False).ref
        db.link(rests, "derived_from", said)
        self._kept = db.create("Belief", "kept", content="kept", resolve=False).ref
        db.pin(self._kept)
        db.tag(self._kept, "published")
        db.set_beliefs(tags=["published"])
        self._refs += [said, rests, self._kept]
        self._note()

    def _note(self) -> _Moment:
        self._engine.clock.advance(TICK * self._rng.randint(1, 9))
        view = self._db.view()
        moment = _Moment(view.seq, view.valid)
        self._left[moment] = self._told(view)
        return moment

    def _then(self, before: _Moment, now: _Moment) -> Any:
        """The state at a time, as of an earlier commit."""
        return self._told(self._db.view(seq=before.seq, valid=now.valid))

    # -- writing

    def _ask(self, name: str, command: Callable[[Database, str], Receipt]) -> Receipt:
        """Send a command under a key, with or without a fault; without an answer it is sent again."""
        engine, rng = self._engine, self._rng
        self._asked += 1
        key, before = f"belief {self._asked}", self._note()
        fault = Fault(rng.choice((DIES, STOPS)), rng.randrange(_POINTS)) if rng.random() < _FAULTS else None
        engine.points.arm(fault, self._end)
        try:
            receipt = command(self._db, key)
        except ProcessEnded as ended:
            engine.recover(ended, 0)
            engine.seen["belief: began anew"] += 1
            found = self._db.head().seq
            assert found in (before.seq, before.seq + 1) and (ended.durable or found == before.seq), ended
            if found == before.seq:
                assert self._then(before, before) == self._left[before], "what was never committed is believed"
            receipt = command(self._db, key)
            assert self._db.head().seq == found or found == before.seq, "a retry was committed a second time"
        finally:
            engine.points.disarm()
        engine.seen[f"belief: {name}"] += bool(receipt) and bool(receipt.events)
        self._say(f"{name}: {receipt.outcome}, the log ends at {self._db.head().seq}")
        return receipt

    def _end(self, fault: Fault, point: str) -> None:
        engine = self._engine
        stops = fault.kind == STOPS
        image = image_of(engine.folder, engine.top / f"life-{engine.life + 1}") if stops else None
        raise ProcessEnded(point, durable=engine.points.durable, image=image)

    def _change(self, name: str) -> None:
        """Make one change; take it back sometimes, or at once if it was the first of its kind."""
        before = self._note()
        receipt = self._ask(name, self._drawn(name))
        if receipt and receipt.events and self._rng.random() < 0.5:
            self._take_back(before, receipt)

    def _take_back(self, before: _Moment, receipt: Receipt) -> None:
        undone = self._ask("undo", lambda db, key: db.undo(receipt.seq, idempotency_key=key))
        assert undone, f"{receipt} was not taken back: {undone.outcome}"
        now = self._note()
        assert self._left[now][:3] == self._then(before, now)[:3], f"{receipt} was taken back to something else"

    def _drawn(self, name: str) -> Callable[[Database, str], Receipt]:
        rng, view = self._rng, self._db.view()
        ref = rng.choice(self._refs[:3])
        words = {"summary": rng.choice("abcd"), "topic": [rng.choice("xyz")]}
        if name == "believe":
            which, whole = rng.choice(sorted(words)), rng.random() < 0.2
            since = rng.choice((None, view.valid + _LATER))
            said = {which: words[which]}
            return lambda db, key: db.believe(ref, said, whole=whole, valid_from=since, idempotency_key=key)
        if name == "expand":
            return lambda db, key: db.expand(ref, {"topic": f"{words['topic']} {key}"}, idempotency_key=key)
        if name == "contract":
            base = sorted(each for each in view.belief_base() if each.item in self._refs[:3])
            plan = view.contraction(rng.sample(base, min(len(base), 2)), whole=rng.random() < 0.3) if base else None
            if plan is not None and plan.changes:
                return lambda db, key: db.contract(plan, idempotency_key=key)
        if name == "rollback":
            ref = max(self._refs[:3], key=lambda each: len(view.history(each)))
            version = rng.randint(1, max(1, len(view.history(ref)) - 1))
            return lambda db, key: db.rollback(ref, version, idempotency_key=key)
        if name == "tag":
            return lambda db, key: db.tag(ref, "published", version=1, idempotency_key=key)
        return lambda db, key: db.deprecate(ref, idempotency_key=key)

    def _withdraw(self) -> None:
        """Withdraw what one author said, or all that rests on it too, and restore it."""
        before = self._note()
        all_of_it = self._rng.random() < 0.5
        plan = self._db.view().withdrawal(author=_WITHDRAWN, dependents=all_of_it)
        receipt = self._ask("withdraw", lambda db, key: db.withdraw(plan, idempotency_key=key))
        assert receipt and {change.ref for change in plan.changes} == set(self._refs[3 : 5 if all_of_it else 4]), plan
        now = self._note()
        gone = self._then(before, now)[0] - self._left[now][0]
        assert {atom.item for atom in gone} == {change.ref for change in plan.changes}, gone
        self._take_back(before, receipt)
        self._engine.seen["belief: withdrawal undone"] += 1

    # -- looking

    def _look_back(self) -> None:
        """Check that every commit still has its recorded state, and so has a replayed store."""
        for moment, left in self._left.items():
            there = self._told(self._db.view(seq=moment.seq, valid=moment.valid))
            assert there == left, f"commit {moment.seq} is told otherwise than when it was the last"
        moment = self._rng.choice(list(self._left))
        into = self._engine.top / "believed"
        self._db.replay(into, seq=moment.seq)
        with worlddb.open(into, create=False, clock=self._engine.clock) as then:
            for valid in (moment.valid, moment.valid + _LATER):
                view = then.view(seq=moment.seq, valid=valid)
                assert self._told(view) == self._told(self._db.view(seq=moment.seq, valid=valid)), "a replay differs"
        shutil.rmtree(into)
