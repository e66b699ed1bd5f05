"""The thresholds that come with a bundle: set where none are in force, named where others are."""

from __future__ import annotations

from collections.abc import Iterator

from worlddb.log.model import bundle as fr
from worlddb.log.model import codec
from worlddb.log.model.blobs import IMPORTED, Details
from worlddb.log.store.bundle_contents import Contents
from worlddb.projections.tables.apply.settings import Tuning, tuning_at, tunings_known
from worlddb.reconciler.bundle_blobs import IncomingBlobs
from worlddb.reconciler.commands import Tune
from worlddb.reconciler.context import Context
from worlddb.reconciler.tuning import FIELDS, set_thresholds, sets_the_same

_NAMED = 20
"""How many worlds a note names."""


class ArrivingTunings:
    """Held against what was set before the import, with the worlds where they have been put."""

    def __init__(self, ctx: Context, contents: Contents, blobs: IncomingBlobs) -> None:
        self._ctx = ctx
        self._contents = contents
        self._blobs = blobs
        self._before = ctx.draft.seq - 1

    def is_any_missing(self) -> bool:
        """True if one has yet to be set here."""
        return any(True for _ in self._missing())

    def set(self) -> None:
        """Set what is missing, and name the worlds for which something else holds here.

        What is in force stays, and what was taken back here is not set again.
        """
        ctx, missing = self._ctx, list(self._missing())
        for command, frame in missing:
            source = {IMPORTED: self._blobs.origin(frame.seq)}
            set_thresholds(ctx, command, ctx.draft.add_details(why=self._why(frame), source=source))
        if missing:
            ctx.note("tunings_set", *_worlds([command for command, _ in missing]))
        self.name_differing()

    def name_differing(self) -> None:
        """Name the worlds for which something else holds here."""
        differing = [
            command
            for command, _ in self._commands()
            if (known := self._in_force(command)) is not None and not sets_the_same(known, command)
        ]
        if differing:
            self._ctx.note("tunings_differ", *_worlds(differing))

    def _missing(self) -> Iterator[tuple[Tune, fr.TuningFrame]]:
        taken_back = {
            (known.type, known.world)
            for known in tunings_known(self._ctx.tables, self._before, ended=True)
            if known.row.ended <= self._before
        }
        for command, frame in self._commands():
            if self._in_force(command) is None and (command.type, self._world(command)) not in taken_back:
                yield command, frame

    def _why(self, frame: fr.TuningFrame) -> str:
        stored = self._contents.blobs.get(frame.details) if frame.details else None
        details = None if stored is None else codec.decode_blob(stored, frame.seq)
        return details.why if isinstance(details, Details) else ""

    def _commands(self) -> Iterator[tuple[Tune, fr.TuningFrame]]:
        """What the bundle sets, as commands."""
        for world in self._contents.worlds:
            for frame in world.tunings:
                values = {name: getattr(frame, name) for name in FIELDS}
                yield Tune(type=frame.type, world=world.frame.lineage, **values), frame

    def _in_force(self, command: Tune) -> Tuning | None:
        """What held before the import for candidates of the type, in the world that it is to be set for."""
        above = self._ctx.tables.containers
        return tuning_at(self._ctx.tables, self._world(command), command.type, above, self._before)

    def _world(self, command: Tune) -> int:
        assert isinstance(command.world, bytes), "that of a group of the bundle"
        node = self._ctx.tables.node_of(command.world)
        assert node is not None, "it was created, or known"
        return node


def _worlds(commands: list[Tune]) -> list[bytes]:
    return list(dict.fromkeys(command.world for command in commands if isinstance(command.world, bytes)))[:_NAMED]
