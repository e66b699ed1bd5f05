"""Worlds that leave a store and come into one: bundles, and JSON Lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Final

from worlddb.log.model.checkpoint import Anchor, anchor_of
from worlddb.log.model.errors import InputError
from worlddb.log.model.ids import as_ref
from worlddb.log.model.times import TimeLike
from worlddb.log.store.bundle_contents import Bundle, check_frames, read_contents, reading, write_bundle, write_lines
from worlddb.log.store.copies import Copy, note_copy, refuse_inside
from worlddb.query.export.bundle_export import bundle_frames
from worlddb.query.export.json_lines import lines_of
from worlddb.query.proofs.proofs import bundle_proof
from worlddb.query.view.view import View
from worlddb.reconciler.commands.commands import Import
from worlddb.reconciler.commands.outcome import Receipt
from worlddb.reconciler.pipeline import Writer, execute
from worlddb.reconciler.transaction.inputs import Arrival
from worlddb.store import folder_of
from worlddb.viewing import Viewing


def check_bundle(path: str | Path, *, head: str | bytes | None = None, keys: Sequence[str] = ()) -> Bundle:
    """Check a whole bundle without any store: every id, every hash of a world, and that nothing is missing.

    With the text of a ``head``, the bundle's proof must lead from it to the world hash, so that the world is what the
    exporting store had. Each verifier key in ``keys`` must have signed the head.

    Raises:
        InvalidBundle: it does not hold; which frame, and why.
        UnprovedBundle: the head does not stand for it: no proof, or one for another head.
        NewerFormat: it was made by a newer release.
        MalformedFile: the head is no checkpoint.
    """
    anchor = _anchor(head, keys)
    with reading(folder_of(path)) as frames:
        bundle = frames.bundle()
        if anchor is not None:
            frames.hold_against(anchor)
        return bundle


def _anchor(head: str | bytes | None, keys: Sequence[str]) -> Anchor | None:
    return None if head is None and not keys else anchor_of(head, keys)


Progress = Callable[[int, int], None]

_NOT_EXPORTED: Final = "what is in it cannot be taken for what is known"


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
        proof: bool = True,
        head: str | bytes | int | None = None,
        progress: Progress | None = None,
    ) -> Bundle:
        """Write a world (``None``: the root world, which is everything) and all inside it as a bundle.

        It is as of an ingest time or commit (default: now). A path that ends in ``.zst`` is compressed. The file is
        there whole or not at all.

        With ``proof`` it holds a proof of the world's hash for whoever has a ``head``: its text or number of commits,
        by default that of the moment itself. The proof names the worlds on the way down from the root, and some beside
        it, by their ids and hashes.

        Raises:
            InputError: something is there under the path already, and ``overwrite`` is false; or the head is of another
                store, of fewer commits than the moment, or of more than there are.
            LimitExceeded: the bundle would be larger than a bundle may be.
        """
        self._reader.refuse_supposed(_NOT_EXPORTED)
        if head is not None and not proof:
            raise InputError("A head was given, and no proof is wanted", "Leave one of the two out")
        refuse_inside(self.path, folder_of(path))
        view = self._moment(ingested, seq)
        store_id, given = self._reader.store_id, self._given(view, ref)
        frames = bundle_frames(self._reader, given, view.seq, store_id, progress)
        if proof:
            frame = bundle_proof(self._reader, store_id, given, view.seq, view.seq if head is None else head)
            frames = chain(frames, (frame,))
        made = write_bundle(folder_of(path), frames, overwrite=overwrite)
        self._note("bundle", path, view)
        return made

    def export_lines(
        self,
        ref: Any = None,
        *,
        ingested: TimeLike | None = None,
        seq: int | None = None,
        progress: Progress | None = None,
    ) -> Iterator[dict[str, Any]]:
        """A world (default: the root world) and all inside it as plain objects, one for a line of JSON."""
        self._reader.refuse_supposed(_NOT_EXPORTED)
        view = self._moment(ingested, seq)
        return lines_of(self._reader, self._given(view, ref), view.moment, self._reader.store_id, progress)

    def export_jsonl(
        self,
        ref: Any,
        path: str | Path,
        *,
        ingested: TimeLike | None = None,
        seq: int | None = None,
        overwrite: bool = False,
        progress: Progress | None = None,
    ) -> dict[str, Any]:
        """Write the objects of :meth:`export_lines` to a file as JSON Lines; what the first and last of them say.

        The file is there whole or not at all; raises as :meth:`export`.
        """
        refuse_inside(self.path, folder_of(path))
        lines = self.export_lines(ref, ingested=ingested, seq=seq, progress=progress)
        made = write_lines(folder_of(path), lines, overwrite=overwrite)
        self._note("JSON Lines", path, self._moment(ingested, seq))
        return made

    def check_world(self, ref: Any, *, ingested: TimeLike | None = None, seq: int | None = None) -> int:
        """See that a world and all inside it are what was written, texts and hashes up to the world's own; how many
        worlds were looked at.

        What is wrong elsewhere in the store does not matter; its edges and proposals are passed over. That the world's
        own hash is the one that was committed is what :meth:`verify` and proofs show.

        Raises:
            DamagedStore: something is not what was written.
        """
        view = self._moment(ingested, seq)
        return check_frames(bundle_frames(self._reader, self._given(view, ref), view.seq, self._reader.store_id))

    def _note(self, kind: str, path: str | Path, view: View) -> None:
        """Remember where texts went, so that the receipt of an erasure can say that it did not reach them."""
        note_copy(self.path, Copy(kind, str(folder_of(path).resolve()), view.seq, self.view().seq))

    def import_bundle(
        self,
        path: str | Path,
        *,
        into: Any = None,
        why: str = "",
        idempotency_key: str | None = None,
        head: str | bytes | None = None,
        keys: Sequence[str] = (),
    ) -> Receipt:
        """Take in a bundle as one commit; ``ref`` of the receipt is its world.

        Ids, versions, edges, world hashes and provenance stay; what is known is not written again, and what is newer is
        added. A new world is put into ``into`` (default: the root), one that is here stays where it is unless ``into``
        is given. A bundle that contradicts what is here is refused as ``bundle_conflict``, with the list.

        ``head`` and ``keys`` are as in :func:`check_bundle`. Which head it was held against is said in the source of
        the ``imported`` event; nothing else is kept of the proof.

        Raises:
            InvalidBundle: it does not hold; which frame, and why. Nothing was written.
            UnprovedBundle: the head does not stand for it. Nothing was written.
            NewerFormat: it was made by a newer release.
        """
        anchor = _anchor(head, keys)
        bundle, contents = read_contents(folder_of(path), anchor)
        command = Import(bundle=bytes.fromhex(bundle.hash), into=None if into is None else as_ref(into), why=why)
        proved_by = None if anchor is None else anchor.checkpoint
        return execute(self._writer, Arrival(command, contents, proved_by), idempotency_key)

    def _moment(self, ingested: TimeLike | None, seq: int | None) -> View:
        view = self.view(ingested=ingested, seq=seq)
        if not view.seq:
            raise InputError("Nothing had been committed by then", "Export a later moment")
        return view

    def _given(self, view: View, ref: Any) -> bytes:
        """The id of the world that was named; the root world's if none was."""
        return self._reader.root if ref is None else bytes.fromhex(view.reference_of(ref))
