"""The registrations that come with a bundle: made where nothing governs the type, named where something else does.

The thresholds that come with a bundle: set where none are in force, named where others are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from worlddb.log.model import bundle as fr
from worlddb.log.model import codec
from worlddb.log.model.blobs import IMPORTED, Details
from worlddb.log.store.bundle_contents import Contents
from worlddb.projections.tables.apply.settings import (
    Nearest,
    Registration,
    Tuning,
    registered,
    tuning_at,
    tunings_known,
)
from worlddb.reconciler.bundle_import.import_blobs import IncomingBlobs
from worlddb.reconciler.commands.commands import Register, Tune
from worlddb.reconciler.decisions.configuration import (
    FIELDS,
    register_type,
    says_the_same,
    set_thresholds,
    sets_the_same,
)
from worlddb.reconciler.transaction.context import Context

_TYPES_NAMED: Final = 20
"""How many types a note names."""


class ArrivingTypes:
    """Held against the registrations as they were before the import, with the worlds where they have been put."""

    def __init__(self, ctx: Context, contents: Contents, blobs: IncomingBlobs) -> None:
        self._ctx = ctx
        self._blobs = blobs
        self._contents = contents
        self._before = ctx.draft.seq - 1
        self._nearest: dict[str, Nearest] = {}

    def is_any_missing(self) -> bool:
        """True if one has yet to be registered here."""
        return any(True for _ in self._missing())

    def register(self) -> None:
        """Register what is missing, and name what something else governs here.

        A registration that is in force stays, and one that was taken back here is not made again.

        Raises:
            UnknownEdgeType: a built-in type that this release does not have.
        """
        ctx, missing = self._ctx, list(self._missing())
        for command, frame in missing:
            source = {IMPORTED: self._blobs.origin(frame.seq)}
            register_type(ctx, command, ctx.draft.add_details(why=self._why(frame), source=source))
        if missing:
            ctx.note("types_registered", *_names(command for command, _ in missing))
        self.name_differing()

    def name_differing(self) -> None:
        """Name what something else governs here."""
        differing = [
            command
            for command, _ in self._commands()
            if (known := self._in_force(command)) is not None and not says_the_same(known, command)
        ]
        if differing:
            self._ctx.note("types_differ", *_names(differing))

    def _missing(self) -> Iterator[tuple[Register, fr.RegistrationFrame]]:
        taken_back = {
            (known.type, known.world)
            for known in registered(self._ctx.tables, self._before, ended=True)
            if known.row.ended <= self._before
        }
        for command, frame in self._commands():
            place = command.type, self._world(command)
            if self._in_force(command) is None and place not in taken_back:
                yield command, frame

    def _why(self, frame: fr.RegistrationFrame) -> str:
        stored = self._contents.blobs.get(frame.details) if frame.details else None
        details = None if stored is None else codec.decode_blob(stored, frame.seq)
        return details.why if isinstance(details, Details) else ""

    def _commands(self) -> Iterator[tuple[Register, fr.RegistrationFrame]]:
        """The registrations of the bundle as commands."""
        for world in self._contents.worlds:
            for frame in world.registrations:
                command = Register(
                    type=frame.type,
                    handler_version=frame.handler_version,
                    digest=frame.digest,
                    digest_of=frame.digest_of,
                    rewrites=tuple(frame.rewrites),
                    functional=frame.functional,
                    world=world.frame.lineage,
                )
                yield command, frame

    def _in_force(self, command: Register) -> Registration | None:
        """What governed the type before the import, in the world that it is to hold for."""
        nearest = self._nearest.get(command.type)
        if nearest is None:
            nearest = self._nearest[command.type] = Nearest(self._ctx.tables, command.type, self._before)
        return nearest.at(self._world(command), self._ctx.tables.containers)

    def _world(self, command: Register) -> int:
        assert isinstance(command.world, bytes), "that of a group of the bundle"
        node = self._ctx.tables.node_of(command.world)
        assert node is not None, "it was created, or known"
        return node


def _names(commands: Iterable[Register]) -> list[bytes]:
    return list(dict.fromkeys(command.type.encode() for command in commands))[:_TYPES_NAMED]


_WORLDS_NAMED = 20
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
    return list(dict.fromkeys(command.world for command in commands if isinstance(command.world, bytes)))[
        :_WORLDS_NAMED
    ]
