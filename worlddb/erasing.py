"""The calls about what was erased: what it would come to, its receipt, and whether that holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from worlddb.log.model.ids import as_ref
from worlddb.log.model.limits import HIGHEST_SEQ, checked_number
from worlddb.log.store.copies import noted_copies
from worlddb.projections.scrub import finish_erasures
from worlddb.query.snapshot import erasure_notes
from worlddb.query.snapshot.erasure_notes import ErasureCheck, ErasureReceipt
from worlddb.reconciler.commands.commands import Erase
from worlddb.reconciler.commands.outcome import Receipt
from worlddb.reconciler.commands.validation import check
from worlddb.reconciler.erasure.preview import ErasurePlan, preview
from worlddb.viewing import Viewing


class Erasing(Viewing):
    """What an open store says about erasures, before and after."""

    def erasure_plan(
        self,
        refs: Any,
        *,
        turns: bool = False,
        everywhere: bool = False,
        forbid: bool = False,
        derived: bool = True,
    ) -> ErasurePlan:
        """What ``erase`` with these arguments would reach, and where the names would still occur. Writes nothing."""
        several = refs if isinstance(refs, list | tuple) else [refs]
        commands = [
            Erase(ref=as_ref(ref), why="a plan", turns=turns, everywhere=everywhere, forbid=forbid, derived=derived)
            for ref in several
        ]
        check(commands)
        with self._reader.snapshot() as snapshot:
            return preview(snapshot.log, snapshot.tables, commands)

    def erasure_receipt(self, erasure: Receipt | int) -> ErasureReceipt:
        """The receipt of an erasure, to be kept: what ``erase`` returned, or the number of its commit.

        Raises:
            InputError: that commit erased nothing.
        """
        self._reader.refuse_supposed("it has no receipts of erasures")
        seq = erasure.seq if isinstance(erasure, Receipt) else erasure
        checked_number(seq, "erasure", 1, HIGHEST_SEQ)
        with self._reader.snapshot() as snapshot:
            return erasure_notes.receipt_of(snapshot, self._reader.store_id, seq, noted_copies(self.path))

    def check_erasure(self, receipt: ErasureReceipt | Mapping[str, Any]) -> ErasureCheck:
        """Whether the log says what a receipt says and the texts are gone. Takes a receipt, or its JSON as a mapping.

        Raises:
            InputError: it is no receipt of an erasure.
        """
        read = receipt if isinstance(receipt, ErasureReceipt) else erasure_notes.read_receipt(receipt)
        with self._reader.snapshot() as snapshot:
            return erasure_notes.check(snapshot, self._reader.store_id, read)

    def finish_erasures(self, *, wait_seconds: float | None = None) -> bool:
        """Remove from the files what earlier erasures left there; false if another process is in the way.

        Needed only where ``verify`` says so: ``erase`` does it, and so do opening a store and writing to it.
        """
        return finish_erasures(self._env, wait_seconds=wait_seconds)
