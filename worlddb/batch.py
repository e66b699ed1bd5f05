"""Many commands as one commit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from worlddb.calling import Pending
from worlddb.log.model.errors import InputError
from worlddb.query.references import as_ref
from worlddb.reconciler.commands import commands as cmd
from worlddb.reconciler.commands.outcome import Receipt
from worlddb.reconciler.edge_types.registry import Ontology
from worlddb.writing import Writing

Execute = Callable[[Sequence[cmd.Command], str | None], Receipt]


class Batch(Writing):
    """Collects commands; they are decided together, as one commit, when the ``with`` block ends."""

    def __init__(self, execute: Execute, ontology: Ontology, idempotency_key: str | None) -> None:
        self._receipt: Receipt | None = None
        self._commit = execute
        self._ontology = ontology
        self._idempotency_key = idempotency_key
        self._commands: list[cmd.Command] = []
        self._ended = False

    def __enter__(self) -> Batch:
        if self._ended:
            raise InputError("This batch has ended", "Begin another with db.batch()")
        return self

    def __exit__(self, kind: type[BaseException] | None, *exception: object) -> None:
        self._ended = True
        if kind is None:
            self._receipt = self._commit(self._commands, self._idempotency_key)
            self._receipt.raise_if_refused()

    @property
    def receipt(self) -> Receipt:
        """What the batch did; there once its block has ended."""
        if self._receipt is None:
            raise InputError("The batch has not been committed", "Ask for the receipt after its with block has ended")
        return self._receipt

    def _execute(self, commands: Sequence[cmd.Command], idempotency_key: str | None) -> Pending:
        if self._ended:
            raise InputError("This batch has ended, so the command would not be written", "Begin another")
        if idempotency_key is not None:
            raise InputError("An idempotency key was given inside a batch", "Give it to db.batch()")
        self._commands.extend(commands)
        return Pending(id(self), len(self._commands) - 1)

    def _ref(self, ref: Any) -> cmd.Ref:
        if type(ref) is bytes:
            return ref
        if isinstance(ref, Pending):
            if ref.batch != id(self):
                raise InputError("A pending reference of another batch was used", "Use that batch's receipt.refs")
            return ref.position
        return as_ref(ref)
