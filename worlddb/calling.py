"""What every write call needs: references as commands have them, and somebody who executes the command."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from worlddb.log.model.errors import InputError
from worlddb.query.references import as_ref
from worlddb.reconciler.commands import commands as cmd


class Pending(NamedTuple):
    """The reference that a command of an unfinished batch will have."""

    batch: int
    position: int


class Calling:
    """Takes commands; what comes of them depends on whether it is an open store or a batch."""

    def _execute(self, commands: Sequence[cmd.Command], idempotency_key: str | None) -> Any:
        raise InputError("This object takes no commands", "Use worlddb.open(path)")

    def _ref(self, ref: Any) -> cmd.Ref:
        if isinstance(ref, Pending):
            raise InputError("A pending reference was used outside of its batch", "Use tx.receipt.refs afterwards")
        return as_ref(ref)
