"""The files that a world travels in, bundles and JSON Lines: written from an open store, and read for one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from worlddb.log.model import errors
from worlddb.log.model.checkpoint import anchor_of
from worlddb.log.store import bundle_contents, copies
from worlddb.projections.runner import Progress
from worlddb.projections.tables.reads import asof
from worlddb.query.export import bundle_export, json_lines
from worlddb.query.proofs import proofs
from worlddb.reconciler.bundle_import.outside_effects import ImportPlan, ImportRehearsed
from worlddb.reconciler.commands import commands as cmd
from worlddb.reconciler.commands import outcome
from worlddb.reconciler.pipeline import Writer, execute
from worlddb.reconciler.transaction import inputs
from worlddb.store import StoreReader, folder_of

Copied = TypeVar("Copied")

_NOT_EXPORTED: Final = "what is in it cannot be taken for what is known"


class Export(NamedTuple):
    """A world of a store, with its interior, as of a moment."""

    reader: StoreReader
    world: bytes
    moment: asof.Moment

    def bundle(
        self,
        path: str | Path,
        *,
        overwrite: bool,
        proof: bool,
        head: str | bytes | int | None,
        progress: Progress | None,
    ) -> bundle_contents.Bundle:
        """Write a bundle; see :meth:`worlddb.Database.export`."""
        self.reader.refuse_supposed(_NOT_EXPORTED)
        if head is not None and not proof:
            raise errors.InputError("A head was given, and no proof is wanted", "Leave one of the two out")
        seq, store_id, folder = self.moment.seq, self.reader.store_id, self.reader.env.folder

        def write(place: Path, watch: bundle_export.ErasureWatch) -> bundle_contents.Bundle:
            frames = self._frames(progress)
            if proof:
                frame = proofs.bundle_proof(self.reader, store_id, self.world, seq, seq if head is None else head)
                frames = chain(frames, (frame,))
            return bundle_contents.write_bundle(place, watch.over(frames), store=folder, overwrite=overwrite)

        return self._copy_texts("bundle", path, write)

    def lines(self, progress: Progress | None) -> Iterator[dict[str, Any]]:
        """The world as plain objects, one a line; see :meth:`worlddb.Database.export_lines`."""
        self.reader.refuse_supposed(_NOT_EXPORTED)
        return json_lines.lines_of(self.reader, self.world, self.moment, self.reader.store_id, progress)

    def jsonl(self, path: str | Path, *, overwrite: bool, progress: Progress | None) -> dict[str, Any]:
        """Write these objects to a file; see :meth:`worlddb.Database.export_jsonl`."""

        def write(place: Path, watch: bundle_export.ErasureWatch) -> dict[str, Any]:
            lines, folder = watch.over(self.lines(progress)), self.reader.env.folder
            return bundle_contents.write_lines(place, lines, store=folder, overwrite=overwrite)

        return self._copy_texts("JSON Lines", path, write)

    def check(self) -> int:
        """Check texts and hashes of the world and its interior; returns how many worlds were read."""
        return bundle_contents.check_frames(self._frames(None))

    def _frames(self, progress: Progress | None) -> Iterator[Any]:
        return bundle_export.bundle_frames(self.reader, self.world, self.moment.seq, self.reader.store_id, progress)

    def _copy_texts(
        self, form: str, path: str | Path, write: Callable[[Path, bundle_export.ErasureWatch], Copied]
    ) -> Copied:
        """Copy texts to a place, again if some are erased meanwhile, and record the place.

        An erasure's receipt can then say that it did not reach them, and names the world if it is not the root world.

        Raises:
            UnavailableError: texts were erased during every attempt; there is no copy.
        """
        place = folder_of(path, "The path to export to")
        copies.refuse_inside(self.reader.env.folder, place)
        kind = form if self.world == self.reader.root else f"{form} of {self.world.hex()}"

        def attempt() -> Copied:
            watch, overwrites = bundle_export.ErasureWatch(self.reader), copies.is_only_file(place)
            try:
                made = write(place, watch)
            except bundle_export.ErasedMeanwhile:
                raise outcome.Changed from None
            except errors.DamagedStore:  # What one page had, the next one had no more.
                if not watch.has_new_erasure():
                    raise
                raise outcome.Changed from None
            copy = copies.Copy(kind, str(place.resolve()), self.moment.seq, watch.head)
            copies.note_copy(self.reader.env, copy, overwrites=overwrites)
            return made

        return outcome.retry_while_changed(attempt, "Texts are erased while they are copied")


def read_arrival(
    path: str | Path, into: cmd.Ref | None, why: str, head: str | bytes | None, keys: Sequence[str], *, join: bool
) -> inputs.Arrival:
    """Read and check a bundle, as a request to import it that is refused if it reaches outside.

    Raises:
        InvalidBundle, UnprovedBundle, NewerFormat: it does not hold.
    """
    anchor = None if head is None and not keys else anchor_of(head, keys)
    bundle, contents = bundle_contents.read_contents(folder_of(path, "The bundle's path"), anchor)
    command = cmd.Import(bundle=bytes.fromhex(bundle.hash), into=into, why=why)
    arrival = inputs.Arrival(command, contents, None if anchor is None else anchor.checkpoint)
    return arrival._replace(outside="refuse", joins=join)


def rehearse(writer: Writer, arrival: inputs.Arrival) -> ImportPlan:
    """Decide an import under the writer's lock and write nothing; see :meth:`worlddb.Database.import_plan`."""
    world = arrival.contents.heading.world.hex()
    try:
        refused = execute(writer, arrival._replace(outside="rehearse")).outcome
    except ImportRehearsed as decided:
        return ImportPlan(world=world, events=decided.events, outside=decided.outside)
    assert isinstance(refused, outcome.Refused), "a rehearsal commits nothing"
    return ImportPlan(world=world, events=0, outside=(), refused=(refused.code, refused.reason))
