"""The settings that come with a bundle.

They are registrations of edge types, thresholds of the resolver, profiles, and what counts as believed. Each is set
where nothing is in force for the worlds of the bundle. Where something else is in force, that stays, and a note names
what differs. What was taken back here is not set again. What counts as believed is the whole store's: it is set in a
store that holds nothing else, or where the caller lets the bundle reach outside; else it is named.
"""

from abc import ABC, abstractmethod
from collections.abc import Container, Hashable, Iterable, Iterator
from functools import cached_property
from typing import Final, Generic, TypeVar

from worlddb.log.model import bundle as fr
from worlddb.log.model import codec
from worlddb.log.model.blobs import IMPORTED, Details
from worlddb.log.store.bundle_contents import Contents
from worlddb.projections.tables.apply import settings
from worlddb.projections.tables.beliefs import belief_rows
from worlddb.projections.tables.storage.schema import ROOT_NODE
from worlddb.reconciler.beliefs import belief_changes
from worlddb.reconciler.bundle_import.import_blobs import IncomingBlobs
from worlddb.reconciler.commands.commands import Register, SetBeliefs, SetProfile, Tune
from worlddb.reconciler.decisions import configuration
from worlddb.reconciler.transaction.context import Context

_SAID_HERE: Final = frozenset({"cross_worlds", "unify_identities"})
"""Rewrites that no bundle puts in force: they lead out of its worlds, or make others one with them."""
_MAX_NAMED: Final = 20
"""How many types or worlds a note names."""

C = TypeVar("C", Register, Tune, SetProfile, SetBeliefs)
F = TypeVar("F", fr.RegistrationFrame, fr.TuningFrame, fr.ProfileFrame, fr.BeliefFrame)
K = TypeVar("K")


class _ArrivingSettings(ABC, Generic[C, F, K]):
    """The settings of one kind in a bundle, compared with those before the import.

    The worlds of the bundle are where the import has put them.
    """

    set_note: str
    """The note that names what was set."""
    differ_note: str
    """The note that names what is set otherwise here."""

    def __init__(self, ctx: Context, contents: Contents, blobs: IncomingBlobs) -> None:
        self._ctx = ctx
        self._contents = contents
        self._blobs = blobs
        self._before = ctx.draft.seq - 1

    def is_any_missing(self) -> bool:
        """True if a setting of the bundle is missing here."""
        return any(True for _ in self._missing_commands())

    def set_missing(self) -> None:
        """Set the missing settings, and note those that differ here.

        Raises:
            UnknownEdgeType: a built-in type that this release does not have.
        """
        ctx, missing = self._ctx, list(self._missing_commands())
        for command, frame in missing:
            source = {IMPORTED: self._blobs.origin(getattr(frame, "seq", 0))}
            self._decide_setting(command, ctx.draft.add_details(why=self._reason(command, frame), source=source))
        if missing:
            ctx.note(self.set_note, *self._note_refs(command for command, _ in missing))
        self.note_differing()

    def note_differing(self) -> None:
        """Note the settings that differ here."""
        differing = [
            command
            for command, _ in self._commands()
            if (known := self._setting_in_force(command)) is not None and not self._is_same(known, command)
        ]
        if differing:
            self._ctx.note(self.differ_note, *self._note_refs(differing))

    @abstractmethod
    def _commands(self) -> Iterator[tuple[C, F]]:
        """The settings of the bundle as commands."""

    @abstractmethod
    def _setting_in_force(self, command: C) -> K | None:
        """The setting that governed a command's type and world before the import."""

    @abstractmethod
    def _is_same(self, known: K, command: C) -> bool:
        """True if a setting is what the command would set."""

    @abstractmethod
    def _subject(self, command: C) -> Hashable:
        """What a command sets, of which one setting at most is in force."""

    @property
    @abstractmethod
    def _set_before(self) -> Container[Hashable]:
        """The subjects that were set here before the import; those with none in force were taken back."""

    @abstractmethod
    def _decide_setting(self, command: C, details: int) -> None:
        """Decide a command."""

    @abstractmethod
    def _note_refs(self, commands: Iterable[C]) -> list[bytes]:
        """The references in a note about some commands."""

    def _missing_commands(self) -> Iterator[tuple[C, F]]:
        for command, frame in self._commands():
            if self._setting_in_force(command) is None and self._subject(command) not in self._set_before:
                yield command, frame

    def _reason(self, command: C, frame: F) -> str:
        if isinstance(command, SetBeliefs) or isinstance(frame, fr.BeliefFrame):
            return ""
        assert isinstance(command.world, bytes), "that of a group of the bundle"
        stored = self._blobs.text(frame.details, command.world) if frame.details else None
        details = None if stored is None else codec.decode_blob(stored, frame.seq)
        return details.why if isinstance(details, Details) else ""

    def _world(self, command: Register | Tune | SetProfile) -> int:
        assert isinstance(command.world, bytes), "that of a group of the bundle"
        return self._ctx.node_known(command.world)


class ArrivingTypes(_ArrivingSettings[Register, fr.RegistrationFrame, settings.Registration]):
    """The registrations of edge types in a bundle."""

    set_note = "types_registered"
    differ_note = "types_differ"

    def __init__(self, ctx: Context, contents: Contents, blobs: IncomingBlobs) -> None:
        super().__init__(ctx, contents, blobs)
        self._nearest: dict[str, settings.RegistrationFinder] = {}

    def _commands(self) -> Iterator[tuple[Register, fr.RegistrationFrame]]:
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

    def _setting_in_force(self, command: Register) -> settings.Registration | None:
        nearest = self._nearest.get(command.type)
        if nearest is None:
            nearest = settings.RegistrationFinder(self._ctx.tables, command.type, self._before)
            self._nearest[command.type] = nearest
        return nearest.at(self._world(command), self._ctx.tables.containers)

    def _is_same(self, known: settings.Registration, command: Register) -> bool:
        return configuration.is_same_registration(known, command)

    def _subject(self, command: Register) -> Hashable:
        return command.type, self._world(command)

    @cached_property
    def _set_before(self) -> Container[Hashable]:
        every = settings.registered(self._ctx.tables, self._before, ended=True)
        return {(known.type, known.world) for known in every}

    def _decide_setting(self, command: Register, details: int) -> None:
        reserved = sorted(_SAID_HERE & set(command.rewrites))
        if reserved:
            self._ctx.refuse(
                "reserved_rewrite",
                f"The bundle registers {command.type}, which rewrites queries to {', '.join(reserved)}. That "
                "changes what is visible of worlds outside the bundle, so a bundle may not register it",
                "First register the same handler in this store, for the world that the bundle goes into",
            )
        configuration.register_type(self._ctx, command, details)

    def _note_refs(self, commands: Iterable[Register]) -> list[bytes]:
        return list(dict.fromkeys(command.type.encode() for command in commands))[:_MAX_NAMED]


class ArrivingTunings(_ArrivingSettings[Tune, fr.TuningFrame, settings.Tuning]):
    """The thresholds of the resolver in a bundle."""

    set_note = "tunings_set"
    differ_note = "tunings_differ"

    def _commands(self) -> Iterator[tuple[Tune, fr.TuningFrame]]:
        for world in self._contents.worlds:
            for frame in world.tunings:
                values = {name: getattr(frame, name) for name in configuration.FIELDS}
                yield Tune(type=frame.type, world=world.frame.lineage, **values), frame

    def _setting_in_force(self, command: Tune) -> settings.Tuning | None:
        above = self._ctx.tables.containers
        return settings.tuning_at(self._ctx.tables, self._world(command), command.type, above, self._before)

    def _is_same(self, known: settings.Tuning, command: Tune) -> bool:
        return configuration.is_same_tuning(known, command)

    def _subject(self, command: Tune) -> Hashable:
        return command.type, self._world(command)

    @cached_property
    def _set_before(self) -> Container[Hashable]:
        every = settings.tunings_known(self._ctx.tables, self._before, ended=True)
        return {(known.type, known.world) for known in every}

    def _decide_setting(self, command: Tune, details: int) -> None:
        configuration.set_thresholds(self._ctx, command, details)

    def _note_refs(self, commands: Iterable[Tune]) -> list[bytes]:
        worlds = dict.fromkeys(command.world for command in commands if isinstance(command.world, bytes))
        return list(worlds)[:_MAX_NAMED]


class ArrivingProfiles(_ArrivingSettings[SetProfile, fr.ProfileFrame, settings.Profile]):
    """The profiles in a bundle, each of one world; profiles of several worlds hold together."""

    set_note = "profiles_set"
    differ_note = "profiles_differ"

    def _commands(self) -> Iterator[tuple[SetProfile, fr.ProfileFrame]]:
        for world in self._contents.worlds:
            for frame in world.profiles:
                types, relations = tuple(frame.node_types), tuple(frame.relations)
                lineage = world.frame.lineage
                yield (
                    SetProfile(profile=frame.profile, node_types=types, relations=relations, world=lineage),
                    frame,
                )

    @cached_property
    def _last_profiles(self) -> dict[int, settings.Profile]:
        """The last profile of each world before the import, whether or not it was lifted."""
        return {each.world: each for each in settings.profiles_known(self._ctx.tables, self._before, ended=True)}

    def _setting_in_force(self, command: SetProfile) -> settings.Profile | None:
        known = self._last_profiles.get(self._world(command))
        return known if known is not None and known.ended > self._before else None

    def _is_same(self, known: settings.Profile, command: SetProfile) -> bool:
        return (known.name, known.node_types, known.relations) == (
            command.profile,
            command.node_types,
            command.relations,
        )

    def _subject(self, command: SetProfile) -> Hashable:
        return self._world(command)

    @property
    def _set_before(self) -> Container[Hashable]:
        return self._last_profiles

    def _decide_setting(self, command: SetProfile, details: int) -> None:
        configuration.set_profile(self._ctx, command, details)

    def _note_refs(self, commands: Iterable[SetProfile]) -> list[bytes]:
        return [command.world for command in commands if isinstance(command.world, bytes)][:_MAX_NAMED]


class ArrivingBeliefs(_ArrivingSettings[SetBeliefs, fr.BeliefFrame, str]):
    """The belief settings of the store that a bundle comes from; they hold for a whole store."""

    set_note = "beliefs_set"
    differ_note = "beliefs_differ"

    def __init__(self, ctx: Context, contents: Contents, blobs: IncomingBlobs, *, may_reach_outside: bool) -> None:
        super().__init__(ctx, contents, blobs)
        self._is_wanted = may_reach_outside or ctx.tables.first_new_node == ROOT_NODE + 1
        every = belief_rows.settings_known(ctx.tables, self._before)
        self._last_set = {(each.what, each.name): each.how for each in every}

    def _commands(self) -> Iterator[tuple[SetBeliefs, fr.BeliefFrame]]:
        for world in self._contents.worlds:
            for frame in world.beliefs:
                yield SetBeliefs(what=frame.what, named=frame.name, how=frame.how), frame

    def _setting_in_force(self, command: SetBeliefs) -> str | None:
        """The settings in force; empty if there are none and the bundle may not set them."""
        known = self._last_set.get((command.what, command.named))
        return (None if self._is_wanted else "") if known is None else known or None

    def _is_same(self, known: str, command: SetBeliefs) -> bool:
        return known == command.how

    def _subject(self, command: SetBeliefs) -> Hashable:
        return command.what, command.named

    @property
    def _set_before(self) -> Container[Hashable]:
        return self._last_set

    def _decide_setting(self, command: SetBeliefs, details: int) -> None:
        belief_changes.set_beliefs(self._ctx, command, details)

    def _note_refs(self, commands: Iterable[SetBeliefs]) -> list[bytes]:
        return [command.named.encode() for command in commands][:_MAX_NAMED]
