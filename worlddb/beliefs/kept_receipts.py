"""Receipts of recalls and the store: check them, prove what they name, and write those that are kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

from msgspec import to_builtins

from worlddb.log.beliefs import recall_receipt as rr
from worlddb.log.model import errors, limits
from worlddb.query.beliefs import receipted_recall
from worlddb.query.snapshot.snapshot import SnapshotSource
from worlddb.query.view.view import View
from worlddb.reconciler.commands import commands as cmd
from worlddb.reconciler.commands import outcome
from worlddb.reconciler.transaction import inputs

Views = Callable[..., View]
"""Makes views of the store, as :meth:`worlddb.Database.view` does."""
Given = rr.RecallReceipt | str | bytes


class Store(SnapshotSource, Protocol):
    """A store to read, and its identity."""

    @property
    def store_id(self) -> bytes:
        """The store's random id."""


def check(
    store: Store, view: Views, receipt: Given, question: str, tolerance: float, filters: Mapping[str, Any]
) -> rr.RecallCheck:
    """Ask again and compare; see :meth:`worlddb.Database.check_recall`."""
    found = rr.read_recall_receipt(receipt)
    within = round(limits.checked_amount(tolerance, "tolerance") * rr.SCALE)
    wrong = rr.find_mismatch(found, rr.question_of(question, filters))
    then = _view_of(store, view, found) if wrong is None else wrong
    if not isinstance(then, View):
        return then
    again = partial(then.recall, question, receipt=True, **receipted_recall.arguments(found), **filters)
    return receipted_recall.check(then._window, found, again, within)


def prove(store: Store, view: Views, receipt: Given) -> str:
    """Prove that the versions that a receipt names were there; see :meth:`worlddb.Database.prove_recall`."""
    found = rr.read_recall_receipt(receipt)
    wrong = rr.find_mismatch(found, None)
    then = _view_of(store, view, found) if wrong is None else wrong
    if not isinstance(then, View):
        raise errors.InputError(f"The receipt cannot be proved: {then.problems[0]}", "Give it as it was made")
    return rr.proofs_text(receipted_recall.prove(then._window, found))


def _view_of(store: Store, view: Views, receipt: rr.RecallReceipt) -> View | rr.RecallCheck:
    """The view of a receipt, or the reason why this store has none."""
    with store.snapshot() as snapshot:
        seq = receipted_recall.moment_in(snapshot, store.store_id, receipt)
    if not isinstance(seq, int):
        return seq
    world = receipted_recall.outermost(receipt)
    return view(seq=seq, valid=receipt.valid, world=world, unify=receipt.options.unify)


def refuse_foreign(store: Store, receipt: rr.RecallReceipt) -> None:
    """Refuse to keep a receipt that is not of this store.

    Raises:
        InputError: it is not.
    """
    with store.snapshot() as snapshot:
        here = receipted_recall.moment_in(snapshot, store.store_id, receipt)
    if not isinstance(here, int):
        raise errors.InputError(f"The receipt cannot be kept: {here.problems[0]}", "Give it as it was made")


def write(
    store: Store, execute: Callable[..., outcome.Receipt], now: int, waiting: Sequence[rr.RecallReceipt]
) -> outcome.Receipt | None:
    """Write receipts as one commit, without those that name a text erased since; ``None`` if none is left."""

    def attempt() -> outcome.Receipt | None:
        with store.snapshot() as snapshot:
            seq = snapshot.log.head().seq
            kept = [each for each in waiting if receipted_recall.has_its_texts(snapshot, each)]
        if not kept:
            return None
        refs = dict.fromkeys(bytes.fromhex(ref) for each in kept for ref in each.refs)
        look = inputs.Look(seq, now, only_these=True, texts=tuple(refs))
        commands = [cmd.KeepReceipt(properties={"receipt": to_builtins(each)}) for each in kept]
        return outcome.settled(execute(commands, None, look=look))

    return outcome.retry_while_changed(attempt)
