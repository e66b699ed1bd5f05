"""Run each write on a store and the model, and compare both."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from msgspec.structs import replace

import worlddb
from tests.support.model.attempt import Attempt
from tests.support.model.commands import Command, Known, Nobody, Nth
from tests.support.model.compare import Compared
from tests.support.model.draft import Bad, Note
from tests.support.model.erasing import erase, strike_literal
from tests.support.model.lines import subtract
from tests.support.model.names import Names, changed_inside, world_hashes
from tests.support.model.rules import reclustering
from tests.support.model.rules.edge_rules import Refuse
from tests.support.model.state import State, first_state
from worlddb import (
    Committed,
    Database,
    Entropy,
    Erasure,
    IdempotencyConflict,
    ManualClock,
    Receipt,
    Refused,
    SeededEntropy,
    Staged,
    Valid,
    View,
)
from worlddb.reconciler.transaction.receipts import CLOCK_BEHIND

AUTHORS = ("ada", "bob")


class Retry(NamedTuple):
    """A request that was committed under an idempotency key."""

    commands: list[Command]
    batch: bool
    receipt: Receipt


class Session:
    """Handles on one store, one for each author, and its model."""

    authors: tuple[str, ...] = AUTHORS

    def __init__(self, folder: Path, seed: int, seen: Counter[str], entropy: Entropy | None = None) -> None:
        self.folder = folder
        self.seen = seen
        self.clock = ManualClock()
        self.entropy = SeededEntropy(seed) if entropy is None else entropy
        self.handles: list[Database] = []
        self.open()
        first = first_state(self.clock.value, self.authors[0])
        self.states = [State(), first]
        self.times = [0, self.clock.value]
        self.names = Names()
        self.names.learn(self.db(), 1, State(), first)
        self.hashes = [{}, world_hashes(first, self.names)]
        self.next_number = 1
        self.retries: dict[str, Retry] = {}
        self.pinned: list[View] = []
        self.looked = 1
        """The commit up to which somebody has looked again at who is who."""
        self._spans: dict[str, list[Valid]] = {}

    # -- the store

    def open(self) -> None:
        for author in self.authors:
            self.handles.append(self.opened(author))

    def opened(self, author: str) -> Database:
        """A further handle on the store."""
        return worlddb.open(self.folder, author=author, clock=self.clock, entropy=self.entropy)

    def close(self) -> None:
        while self.handles:
            self.handles.pop().close()

    def db(self, handle: int = 0) -> Database:
        return self.handles[handle]

    def another(self, handle: int) -> int:
        """The handle after one, or the first."""
        return (handle + 1) % len(self.authors)

    @property
    def head(self) -> int:
        return len(self.states) - 1

    @property
    def state(self) -> State:
        return self.states[-1]

    # -- writing

    def write(
        self, commands: list[Command], *, batch: bool = False, key: str | None = None, handle: int = 0
    ) -> Receipt | None:
        """Send one commit to both; the receipt, or ``None`` if the engine raised as predicted."""
        attempt, expected = self.predict(commands, handle)
        other = self.another(handle)
        before = self.db(other).head()
        if isinstance(expected, Bad):
            self.seen[f"error {expected.error.__name__}"] += 1
            with pytest.raises(expected.error):
                self._ask(commands, batch, key, handle)
            assert self.db(other).head() == before
            return None
        receipt = self._ask(commands, batch, key, handle)
        if isinstance(expected, Refuse):
            self._check_refused(receipt, expected, batch)
            assert self.db(other).head() == before
            return receipt
        self.keep(attempt, commands, handle)
        if attempt.changed and key is not None:
            self.retries[key] = Retry(commands, batch, receipt)
            assert self.ask_repeated(commands, batch, key, other) == receipt, "a retry was not the same"
        self.check_committed(receipt, attempt, commands)
        return receipt

    def predict(self, commands: list[Command], handle: int) -> tuple[Attempt, Refuse | Bad | None]:
        """The model's result for a request, and its error if there is no commit."""
        now = max(self.clock.value, self.times[-1] + 1)
        attempt = Attempt(self.state, self.head + 1, now, self.authors[handle], self.next_number)
        try:
            attempt.run(commands)
        except (Refuse, Bad) as failure:
            return attempt, failure
        if attempt.changed and now - self.clock.value > CLOCK_BEHIND:
            attempt.note("clock_behind")
        return attempt, None

    def keep(self, attempt: Attempt, commands: list[Command], handle: int) -> None:
        """Update the model to the engine's state after a request."""
        for command in commands:
            self.seen[command.method] += 1
            if command.method == "link":
                self.seen[f"link {command.arguments['type']}"] += 1
        if not attempt.changed:
            return
        self._advance(attempt, handle)
        if attempt.erased:
            (reason,) = (command.arguments["reason"] for command in commands)
            told = Erasure(seq=self.head, ingested_at=attempt.now, author=self.authors[handle], reason=reason)
            erase(self.states, attempt.erased, told, homes=attempt.whole)
        if attempt.struck is not None:
            strike_literal(self.states, *attempt.struck)

    def _ask(self, commands: list[Command], batch: bool, key: str | None, handle: int) -> Receipt:
        if not batch:
            receipt: Receipt = (
                commands[0]
                ._replace(arguments=commands[0].arguments | {"idempotency_key": key})
                .call(self.db(handle), self.given)
            )
            return _without_same_words(receipt)
        tx = self.db(handle).batch(idempotency_key=key)
        pending: list[Any] = []
        try:
            with tx:
                for command in commands:
                    pending.append(command.call(tx, lambda ref: self.given(ref, pending)))
        except worlddb.RefusedError as error:
            assert error.details["reason"] == tx.receipt.outcome.code  # type: ignore[union-attr]
        return _without_same_words(tx.receipt)

    def given(self, reference: Any, pending: list[Any] | None = None) -> Any:
        """A reference in the form for the engine."""
        if isinstance(reference, Nth):
            assert pending is not None
            return pending[reference.position]
        if isinstance(reference, Nobody):
            return reference.text
        assert isinstance(reference, Known)
        text = self.names.refs[reference.number]
        return text[: reference.digits] if reference.digits else text

    def _advance(self, attempt: Attempt, handle: int) -> None:
        before, after = self.state, attempt.state
        self.next_number = attempt.next_number
        self.states.append(after)
        placed = Counter((edge.source, edge.target) for _, edge in after.edges_of("contains"))
        self.seen["a second membership"] += any(many > 1 for many in placed.values())
        self.times.append(attempt.now)
        self.names.learn(self.db(handle), self.head, before, after)
        self.hashes.append(world_hashes(after, self.names))
        old, new = self.hashes[-2:]
        assert {number for number in new if old.get(number) != new[number]} == changed_inside(before, after)

    def _check_refused(self, receipt: Receipt, expected: Refuse, batch: bool) -> None:
        self.seen[f"refused {expected.code}"] += 1
        self.seen["refused in a batch"] += batch and expected.position > 0
        assert isinstance(receipt.outcome, Refused), f"{receipt}, but {expected.code} was expected"
        assert (receipt.outcome.code, receipt.outcome.command) == (expected.code, expected.position)
        assert (receipt.seq, receipt.events, receipt.requested) == (self.head, 0, ())
        with pytest.raises(worlddb.RefusedError):
            receipt.refs

    def check_committed(self, receipt: Receipt, attempt: Attempt, commands: list[Command]) -> None:
        """Compare a request's receipt with the model's, however long ago it was."""
        staged = bool(commands) and all(
            command.method == "link" and result in attempt.state.proposals
            for command, result in zip(commands, attempt.results, strict=True)
        )
        assert isinstance(receipt.outcome, Staged if staged else Committed), str(receipt)
        assert bool(receipt.events) == attempt.changed
        seq = attempt.seq if attempt.changed else attempt.seq - 1
        assert (receipt.seq, receipt.ingest_time) == (seq, self.times[seq])
        assert receipt.root == self.hashes[seq][0]
        assert receipt.requested == tuple(self.names.refs[result] for result in attempt.results)
        assert receipt.proposals == tuple(self.names.refs[number] for number in attempt.proposed)
        # What a create under a known key leaves out is told with names of fields, and copies that an erasure does not
        # reach with paths; both have tests of their own.
        known = [note for note in receipt.notes if note.code not in ("not_changed", "copies_remain")]
        told = [Note(note.code, frozenset(self.names.numbers[ref] for ref in note.refs)) for note in known]
        assert sorted(told, key=_in_order) == sorted(attempt.notes, key=_in_order)
        for note in told:
            self.seen[f"note {note.code}"] += 1
        if attempt.changed:
            self._check_lost(receipt, attempt)

    def _check_lost(self, receipt: Receipt, attempt: Attempt) -> None:
        """The receipt names exactly the versions, and the edges that were there, that lost something, and when."""
        said: dict[tuple[int, int | None], list[tuple[int, int]]] = {}
        for loss in receipt.lost:
            of = self.names.numbers[loss.ref], loss.version
            said.setdefault(of, []).append((loss.valid_from, loss.valid_to))
        before = self.states[attempt.seq - 1].worlds
        for number, world in attempt.state.worlds.items():
            for at in range(1, len(before[number].versions) + 1) if number in before else ():
                held, left = before[number].times_of(at), world.times_of(at)
                assert ((number, at) in said) == (held != left), f"the losses of version {at} of {number}"
                for start, end in said.get((number, at), ()):
                    held = subtract(held, start, end)
                assert held == left, f"what version {at} of {number} lost"
        known = self.states[attempt.seq - 1].edges
        after = attempt.state.edges | attempt.state.unlinked
        for number in known.keys() & after.keys():
            held, left = known[number].pieces, after[number].pieces
            assert ((number, None) in said) == (held != left), f"the losses of the edge {number}"
            for start, end in said.get((number, None), ()):
                held = subtract(held, start, end)
            assert held == left, f"what the edge {number} lost"

    def retry(self, key: str, handle: int) -> None:
        """The same request under the same key has no second effect; another one is an error."""
        known = self.retries[key]
        before = self.db(handle).head()
        assert self.ask_repeated(known.commands, known.batch, key, handle) == known.receipt
        # Another key, because where the texts of the first request were erased, other texts cannot be told from them.
        other = Command("create", {"type": "Person", "name": "another", "content": "never written", "key": "no other"})
        with pytest.raises(IdempotencyConflict):
            self._ask([other], False, key, handle)
        assert self.db(handle).head() == before
        self.seen["retry"] += 1

    def ask_repeated(self, commands: list[Command], batch: bool, key: str, handle: int) -> Receipt:
        """The receipt of a request that is repeated, without the note that an erased text could not be compared."""
        receipt = self._ask(commands, batch, key, handle)
        notes = tuple(note for note in receipt.notes if note.code != "retry_not_compared")
        gone = self.seen["erase"] or self.seen["erase_literal"]
        assert notes == receipt.notes or gone, "texts that are there are compared"
        self.seen["retry of erased"] += notes != receipt.notes
        return replace(receipt, notes=notes)

    # -- another look at who is who

    def look_again(self, handle: int) -> None:
        """Let a handle recluster, and compare its proposals with the model."""
        done = self.db(handle).recluster()
        assert not done.busy and done.pending == 0
        assert done.commits == (1 if done.proposals else 0)
        assert self.db(self.another(handle)).head().seq == self.head + done.commits
        before = self.head
        if done.commits:
            self.learn_reclustering(handle)
        assert reclustering.missing_proposals(self.states[self.looked], self.state) == []
        self.looked = before

    def learn_reclustering(self, handle: int) -> None:
        """Update the model after a reclustering that staged proposals."""
        seq, db = self.head + 1, self.db(handle)
        assert db.head().seq == seq
        staged = [each for each in db.view().proposals(status=None) if each.seq == seq]
        assert staged and all(entry.author == reclustering.AUTHOR for entry in db.log(seq))
        now = max(self.clock.value, self.times[-1] + 1)
        attempt = Attempt(self.state, seq, now, reclustering.AUTHOR, self.next_number)
        numbers = self.names.numbers
        told = [(numbers[each.source], numbers[each.target], each.evidence) for each in staged]
        reclustering.apply_proposals(attempt, told, numbers)
        self._advance(attempt, handle)
        self.seen["proposed by another look"] += len(staged)

    # -- reading

    def compared(self, view: View) -> Compared:
        assert view.seq < len(self.states), "the model knows of no such commit"
        return Compared(view, self.states[view.seq], self.names, self.hashes[view.seq])

    def check_present(self) -> None:
        """Check what every step must keep: hashes, answers, and times that only shrink."""
        view = self.db(self.another(0)).view()
        assert (view.seq, view.valid) == (self.head, max(self.clock.value, self.times[-1]))
        compared = self.compared(view)
        for number, found in self.hashes[-1].items():
            assert view.hash(self.names.refs[number]) == found
        before = self.states[-2]
        for number, world in self.state.worlds.items():
            if before.worlds.get(number) is not world:
                compared.world(number)
        for number, edge in self.state.edges.items():
            if before.edges.get(number) is not edge:
                compared.edge(number)
                seen = view.edge(self.names.refs[number])
                self._shrunk(f"edge {number}", seen.spans or (seen.valid,))
        for number in before.edges.keys() - self.state.edges.keys():
            compared.edge(number)
        for number in self.state.worlds:
            for version in view.history(self.names.refs[number]):
                self._shrunk(f"{number} {version.number}", version.spans or (version.valid,))
        compared.identities()

    def _shrunk(self, what: str, spans: tuple[Valid, ...]) -> None:
        """Law 8: the times at which a version holds only ever shrink."""
        held = [span for span in spans if span.start < span.end]
        before = self._spans.get(what, held)
        covered = (any(each.start <= span.start and span.end <= each.end for each in before) for span in held)
        assert all(covered), f"the validity of {what} was opened again"
        self._spans[what] = held


def _in_order(note: Note) -> tuple[str, list[int]]:
    """By code and references; the order in which a set shows its members is not one to sort by."""
    return note.code, sorted(note.about)


def _without_same_words(receipt: Receipt) -> Receipt:
    """Leave out what says the same as an erased text: a retry is not told of it, and it has tests of its own."""
    return replace(
        receipt, notes=tuple(note for note in receipt.notes if note.code not in ("same_words_stay", "still_told"))
    )
