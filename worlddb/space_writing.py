"""The write calls that choose among embedding spaces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from worlddb.log.model.errors import InputError
from worlddb.reconciler import commands as cmd


class SpaceWriting:
    """Which embedding space answers, as commands: single ones, or of a batch."""

    def _execute(self, commands: Sequence[cmd.Command], idempotency_key: str | None) -> Any:
        raise InputError("This object takes no commands", "Use worlddb.open(path)")

    def use_space(self, name: str, *, why: str = "", idempotency_key: str | None = None) -> Any:
        """Let another embedding space answer: one that has vectors for all that the present one has them for.

        ``reembed`` does it when it has filled a space. Views of earlier commits go on with the space of their time. The
        receipt's ``ref`` is the chain hash of the commit that opened the space.
        """
        return self._execute([cmd.UseSpace(name=name, why=why)], idempotency_key)

    def drop_space(self, name: str, *, why: str = "", idempotency_key: str | None = None) -> Any:
        """Give an embedding space up that does not answer any more: its index is deleted, and it takes no vectors.

        Its vectors stay in the log, where only :meth:`erase` deletes: ``exact`` reads of the time before compare them.
        """
        return self._execute([cmd.DropSpace(name=name, why=why)], idempotency_key)
