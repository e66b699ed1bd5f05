"""Worlds that leave a store and come into one: bundles, and JSON Lines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from worlddb.log.model.errors import InputError
from worlddb.log.model.times import TimeLike
from worlddb.log.store.bundle_contents import read_contents
from worlddb.log.store.bundles import Bundle, reading, write_bundle, write_lines
from worlddb.log.store.copies import Copy, note_copy
from worlddb.query.bundle import bundle_frames
from worlddb.query.lines import lines_of
from worlddb.query.references import as_ref
from worlddb.query.view import View
from worlddb.reconciler.commands import Import
from worlddb.reconciler.importing import Arrival
from worlddb.reconciler.outcome import Receipt
from worlddb.reconciler.pipeline import Writer, execute
from worlddb.store import folder_of
from worlddb.viewing import Viewing


def check_bundle(path: str | Path) -> Bundle:
    """Check a whole bundle without any store: every id, every hash of a world, and that nothing is missing.

    Raises:
        InvalidBundle: it does not hold; which frame, and why.
        NewerFormat: it was made by a newer release.
    """
    with reading(folder_of(path)) as frames:
        return frames.bundle()


class Interchange(Viewing):
    """How a world is taken out of an open store, and into it."""

    _writer: Writer

    def export(
        self,
        ref: Any,
        path: str | Path,
        *,
        ingested: TimeLike | None = None,
        seq: int | None = None,
        overwrite: bool = False,
    ) -> Bundle:
        """Write a world (``None``: the root world, which is everything) and all inside it as a bundle.

        It is as of an ingest time or commit (default: now). A path that ends in ``.zst`` is compressed. The file is
        there whole or not at all.

        Raises:
            InputError: something is there under the path already, and ``overwrite`` is false.
            LimitExceeded: the bundle would be larger than a bundle may be.
        """
        view = self._moment(ingested, seq)
        frames = bundle_frames(self._reader, self._given(ref), view.seq, self._reader.store_id)
        made = write_bundle(folder_of(path), frames, overwrite=overwrite)
        self._note("bundle", path, view)
        return made

    def export_lines(
        self, ref: Any = None, *, ingested: TimeLike | None = None, seq: int | None = None
    ) -> Iterator[dict[str, Any]]:
        """A world (default: the root world) and all inside it as plain objects, one for a line of JSON."""
        view = self._moment(ingested, seq)
        return lines_of(self._reader, self._given(ref), view.moment, self._reader.store_id)

    def export_jsonl(
        self,
        ref: Any,
        path: str | Path,
        *,
        ingested: TimeLike | None = None,
        seq: int | None = None,
        overwrite: bool = False,
    ) -> dict[str, Any]:
        """Write the objects of :meth:`export_lines` to a file as JSON Lines; what the first and last of them say.

        The file is there whole or not at all; raises as :meth:`export`.
        """
        made = write_lines(folder_of(path), self.export_lines(ref, ingested=ingested, seq=seq), overwrite=overwrite)
        self._note("JSON Lines", path, self._moment(ingested, seq))
        return made

    def _note(self, kind: str, path: str | Path, view: View) -> None:
        """Remember where texts went, so that the receipt of an erasure can say that it did not reach them."""
        note_copy(self.path, Copy(kind, str(folder_of(path).resolve()), view.seq, self.view().seq))

    def import_bundle(
        self, path: str | Path, *, into: Any = None, why: str = "", idempotency_key: str | None = None
    ) -> Receipt:
        """Take in a bundle as one commit; ``ref`` of the receipt is its world.

        Ids, versions, edges, world hashes and provenance stay; what is known is not written again, and what is newer is
        added. A new world is put into ``into`` (default: the root), one that is here stays where it is unless ``into``
        is given. A bundle that contradicts what is here is refused as ``bundle_conflict``, with the list.

        Raises:
            InvalidBundle: it does not hold; which frame, and why. Nothing was written.
            NewerFormat: it was made by a newer release.
        """
        bundle, contents = read_contents(folder_of(path))
        command = Import(bundle=bytes.fromhex(bundle.hash), into=None if into is None else as_ref(into), why=why)
        return execute(self._writer, Arrival(command, contents), idempotency_key)

    def _moment(self, ingested: TimeLike | None, seq: int | None) -> View:
        view = self.view(ingested=ingested, seq=seq)
        if not view.seq:
            raise InputError("Nothing had been committed by then", "Export a later moment")
        return view

    def _given(self, ref: Any) -> bytes | str:
        """The reference as the tables take it; the root world's if none was given."""
        return self._reader.root if ref is None else as_ref(ref)
