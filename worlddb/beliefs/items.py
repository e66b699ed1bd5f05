"""Items at krefs, their names and artifacts: the commands for a change, decided on a read of the store.

Each function is given what a look sees and returns commands. Whoever calls it has them decided as resting on that
look, and looks again if others came between; a batch is refused then.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from worlddb.log.beliefs import artifact, kref
from worlddb.log.model import blobs, errors, ids, limits
from worlddb.log.model import events as ev
from worlddb.query.beliefs import preferences
from worlddb.query.reads.world_lookup import PROJECT, SPACE
from worlddb.query.records.records import Version, World
from worlddb.query.view.view import View
from worlddb.reconciler.commands import commands as cmd

_BEGINNING: Final = -62_135_596_800_000_000
"""Projects and spaces hold from the year 1 on, so that what lies in them is seen there at any time."""


_TEXT_UNCHANGED: Final = (
    *(cmd.Alias, cmd.Unalias, cmd.Expire, cmd.Refresh, cmd.Label, cmd.Unlabel, cmd.Pin),
    *(cmd.Deprecate, cmd.Tag, cmd.Untag, cmd.Restate),
)
"""Commands about a world that leave what it says as it is."""


class Decision(NamedTuple):
    """Commands, whose last reference is the answer, and the worlds that they rest on."""

    commands: list[cmd.Command]
    rests_on: tuple[cmd.Ref, ...] = ()


class CurrentVersion(NamedTuple):
    """The text of a world now, or after the earlier commands of a batch."""

    ref: cmd.Ref
    name: str = ""
    content: str = ""
    properties: Mapping[str, Any] = MappingProxyType({})
    closed: bool = False
    number: int = 0
    """Of the version; 0 if the batch itself says it anew."""
    source: Mapping[str, Any] = MappingProxyType({})

    @property
    def unchanged_source(self) -> dict[str, Any]:
        """The source for a version with the same text: its author's, and the number of that version."""
        said = {name: value for name, value in self.source.items() if name not in blobs.REPEATS}
        return said | {blobs.LEAVES: self.number} if self.number else said

    def said(self, command: cmd.Revise) -> CurrentVersion:
        """The version after a command that changes parts of it."""
        leaves = command.source.get(blobs.LEAVES) == self.number
        return self._replace(
            name=self.name if command.name is None else command.name,
            content=self.content if command.content is None else command.content,
            properties=artifact.keep_artifacts(command.properties, self.properties)
            if command.properties
            else self.properties,
            closed=False,
            number=self.number if leaves else 0,
            source=self.source if leaves else command.source,
        )


class BatchReader:
    """Reads a view of the store and, in a batch, the effects of its earlier commands."""

    def __init__(self, view: View, commands: Sequence[cmd.Command] = ()) -> None:
        self._view = view
        self._commands = commands
        self._read = 0
        self._of: dict[int, cmd.Ref] = {}
        """The world that each command is about, where it is not one that it begins."""
        self._keyed: dict[tuple[str, cmd.Ref | None], cmd.Ref] = {}
        self._begun: dict[cmd.Ref, CurrentVersion] = {}
        self._revised: dict[cmd.Ref, list[cmd.Revise]] = {}
        self._unpredictable: dict[cmd.Ref, str] = {}
        self._relations: set[tuple[str, cmd.Ref | None]] = set()

    @property
    def next_position(self) -> int:
        """The position of the next command."""
        return len(self._commands)

    def inside(self, within: cmd.Ref | None) -> View | None:
        """The view confined to a world; ``None`` for a world that the batch creates."""
        if within is None:
            return self._view
        return None if isinstance(within, int) else self._view.confined(within)

    def world(self, ref: cmd.Ref | None) -> cmd.Ref | None:
        """The world of a reference, if one is given."""
        return None if ref is None else self.known(ref)

    def known(self, ref: Any, within: cmd.Ref | None = None) -> cmd.Ref:
        """The world of a reference, as seen in a world."""
        self._read_commands()
        return self._found(ref, within)

    def _found(self, ref: Any, within: cmd.Ref | None) -> cmd.Ref:
        if isinstance(ref, int):
            return self._of.get(ref, ref)
        if isinstance(ref, str) and ids.is_kref(ref):
            begun = self._keyed.get((kref.item_of(ref).item_key, within))
            if begun is not None:
                return begun
        view = self.inside(within)
        return bytes.fromhex((self._view if view is None else view)._reference_to_write(ref))

    def container(self, text: str, within: cmd.Ref | None) -> cmd.Ref | None:
        """The project or space under a key; ``None`` if there is none."""
        self._read_commands()
        return self._find_by_key(text, within)

    def item(self, wanted: kref.Kref, within: cmd.Ref | None) -> CurrentVersion | None:
        """The item of a kref, valid or not, hidden or not; ``None`` if there is none."""
        self._read_commands()
        begun = self._keyed.get((wanted.item_key, within))
        if begun is not None and isinstance(begun, int):
            return self._after_batch(begun, None)
        view = self.inside(within)
        found = None if view is None else item_at(view, wanted)
        return None if found is None else self._after_batch(bytes.fromhex(found.ref), found)

    def holding(self, ref: Any) -> CurrentVersion:
        """The version of a world that holds now, hidden or not.

        Raises:
            InputError: it holds nothing, was erased, or what it holds is not known before the batch has ended.
        """
        here = self.known(ref)
        if not isinstance(here, bytes):
            return self._after_batch(here, None)
        item = self._view.revealing(deprecated=True).get(here)
        if item is None or item.erased:
            what = "holds nothing now" if item is None else "was erased"
            raise errors.InputError(
                f"{here.hex()[:12]} {what}, so that no version could be said to have it",
                "Reassert it first" if item is None else "Create another",
            )
        return self._after_batch(here, item)

    def stated(self, ref: cmd.Ref, begins: int | None, ends: int | None) -> list[Version]:
        """The versions of a world in exactly this window, if no earlier command changes it."""
        if not isinstance(ref, bytes) or ref in self._revised or ref in self._unpredictable:
            return []
        spans = [(each, each.valid.start, each.valid.end) for each in self._view.history(ref)]
        return [each for each, start, end in spans if begins in (None, start) and ends in (None, end) and start < end]

    def has_relation(self, kind: str, within: cmd.Ref | None) -> bool:
        """True if a relation of the name is in force, or will be after the batch."""
        self._read_commands()
        view = self.inside(within) or self._view
        said = {(kind, None), (kind, within)} & self._relations
        return bool(said) or any(each.name == kind for each in view.edge_types())

    def _after_batch(self, ref: cmd.Ref, item: World | None) -> CurrentVersion:
        if ref in self._unpredictable:
            which = ref.hex()[:12] if isinstance(ref, bytes) else f"command {ref}"
            raise errors.InputError(
                f"What {which} says after {self._unpredictable[ref]} is not known before the batch has ended",
                "Call this before that, or when the batch has ended",
            )
        held = self._begun.get(ref, CurrentVersion(ref))
        if item is not None:
            held = CurrentVersion(ref, item.name, item.content, item.properties, item.closed, item.number, item.source)
        for each in self._revised.get(ref, ()):
            held = held.said(each)
        return held

    def _find_by_key(self, text: str, within: cmd.Ref | None) -> cmd.Ref | None:
        if (text, within) in self._keyed:
            return self._keyed[text, within]
        view = self.inside(within)
        found = None if view is None else view.keyed(text)
        return None if found is None else bytes.fromhex(found.ref)

    def _read_commands(self) -> None:
        """Read the commands that were added since the last call."""
        for position in range(self._read, len(self._commands)):
            command = self._commands[position]
            if isinstance(command, cmd.Create):
                self._created(position, command)
            elif isinstance(command, cmd.Register):
                self._relations.add(
                    (command.type, None if command.world is None else self._resolve_leniently(command.world))
                )
            elif not isinstance(command, cmd.Link | cmd.Unlink) and hasattr(command, "ref"):
                ref = self._of[position] = self._resolve_leniently(command.ref)
                if isinstance(command, cmd.Revise):
                    if _is_current(command, self._view.valid):
                        self._revised.setdefault(ref, []).append(command)
                elif not isinstance(command, _TEXT_UNCHANGED):
                    self._unpredictable[ref] = type(command).__name__.lower()
        self._read = len(self._commands)

    def _created(self, position: int, command: cmd.Create) -> None:
        key, within, found = command.key, None, None
        if isinstance(key, cmd.BoundKey):
            within, key = self._resolve_leniently(key.world), key.text
        if isinstance(key, str):
            found = self._find_by_key(key, within)
            self._keyed[key, within] = position if found is None else found
            # Who looks at the whole store finds what was begun first under a key, wherever that lies.
            if within is not None and self._find_by_key(key, None) is None:
                self._keyed[key, None] = self._keyed[key, within]
        if found is None:
            self._begun[position] = CurrentVersion(
                position, command.name, command.content, command.properties, source=command.source
            )
            return
        self._of[position] = found
        self._revised.setdefault(found, []).append(cmd.Revise(ref=found, name=command.name, content=command.content))

    def _resolve_leniently(self, ref: cmd.Ref) -> cmd.Ref:
        try:
            return self._found(ref, None)
        except errors.InputError:
            return ref  # The batch will say what is wrong with it.


def _is_current(command: cmd.Revise, now: int) -> bool:
    begins, ends = command.valid_from, command.valid_to
    return (begins is None or begins <= now) and (ends is None or now < ends)


def create_at(
    reader: BatchReader,
    given: object,
    said: dict[str, Any],
    artifacts: Iterable[artifact.Artifact],
    within: cmd.Ref | None,
    resolve: bool | str = False,
) -> Decision:
    """Create or revise the item of a kref, with its missing project and spaces.

    ``said`` are fields of the command. An item that is there keeps the name and the type that it has by now, and its
    place. ``resolve`` says which tiers look whom a new one may already be, among the worlds of the project.
    """
    wanted = kref.item_of(given.ref if isinstance(given, kref.Kref) else given)
    attached = limits.checked_list(artifacts, "artifacts")
    limits.checked_record(said["properties"], "properties")
    item = reader.item(wanted, within)
    if attached:
        # What is there already stays: properties that were not given, and artifacts of other names.
        before: Mapping[str, Any] = {} if item is None else item.properties
        properties = said["properties"] or before
        attached = [*artifact.artifacts_in(before).values(), *attached]
        said = said | {"properties": artifact.with_artifacts(properties, attached)}
    if item is not None:
        return Decision(_revised(reader, item, said), (item.ref,))
    said = said | {"content": said["content"] or ""}
    commands: list[cmd.Command] = []
    known: list[cmd.Ref] = []
    around = project = within
    names = wanted.project, *wanted.spaces
    for depth, (name, text) in enumerate(zip(names, wanted.container_keys, strict=True)):
        there = reader.container(text, within)
        if there is None:
            placed: dict[str, Any] = {"world": around, "key": _key(text, within), "valid_from": _BEGINNING}
            commands.append(cmd.Create(type=SPACE if depth else PROJECT, name=name, resolve=False, **placed))
            around = reader.next_position + len(commands) - 1
        else:
            around = there
            known.append(around)
        project = project if depth else around
    resolution: dict[str, Any] = {"resolve": resolve, "scope": project} if resolve else {"resolve": False}
    key = _key(wanted.item_key, within)
    commands.append(cmd.Create(type=wanted.kind, name=wanted.name, world=around, key=key, **resolution, **said))
    return Decision(commands, tuple(known))


def _key(text: str, within: cmd.Ref | None) -> str | cmd.BoundKey:
    return text if within is None else cmd.BoundKey(text, within)


def _revised(reader: BatchReader, item: CurrentVersion, said: dict[str, Any]) -> list[cmd.Command]:
    window = said["valid_from"], said["valid_to"]
    if window != (None, None):
        is_same = any(_is_same_text(each.content, each.properties, said) for each in reader.stated(item.ref, *window))
    else:
        is_same = not item.closed and _is_same_text(item.content, item.properties, said)
    return [cmd.Alias(ref=item.ref, aliases=())] if is_same else [cmd.Revise(ref=item.ref, **said)]


def _is_same_text(content: str, properties: Mapping[str, Any], said: Mapping[str, Any]) -> bool:
    """True if a version says the same already; what is not given does not differ."""
    given = said["properties"] and artifact.keep_artifacts(said["properties"], properties)
    return said["content"] in (None, content) and (not given or given == properties)


def item_at(view: View, wanted: kref.Kref) -> World | None:
    """The item of a kref, valid or not, hidden or not; ``None`` if there is none."""
    try:
        return view.get(wanted.item_key, include_superseded=True)
    except errors.AmbiguousReference:
        raise
    except errors.UnknownReference:
        return None


def rename(reader: BatchReader, ref: Any, name: str, why: str) -> Decision:
    """Rename a world; the old name stays as an alias, and key and kref stay."""
    limits.checked_text(name, "name", limits.MAX_NAME_BYTES, empty=False)
    item = reader.holding(ref)
    if item.name == name:
        return Decision([cmd.Alias(ref=item.ref, aliases=())], (item.ref,))
    revise = cmd.Revise(ref=item.ref, name=name, source=item.unchanged_source, why=why)
    before = [cmd.Alias(ref=item.ref, aliases=(item.name,), why=why)] if item.name else []
    return Decision([revise, *before], (item.ref,))


def attach(reader: BatchReader, ref: Any, given: artifact.Artifact, why: str) -> Decision:
    """Make a version with one more artifact, or with a replacement for the artifact of that name."""
    item, added = reader.holding(ref), artifact.checked_artifact(given)
    artifacts = artifact.artifacts_in(item.properties)
    return _with_artifacts(item, [*artifacts.values(), added], why, is_same=artifacts.get(added.name) == added)


def detach(reader: BatchReader, ref: Any, name: str, why: str) -> Decision:
    """Make a version without the artifact of a name."""
    limits.checked_text(name, "name", limits.MAX_LABEL_BYTES)
    item = reader.holding(ref)
    artifacts = artifact.artifacts_in(item.properties)
    if artifacts.pop(name, None) is None:
        raise errors.UnknownReference(
            f"{errors.shown(item.name)} has no artifact {name!r:.80}", f"It has: {', '.join(artifacts) or 'none'}"
        )
    return _with_artifacts(item, artifacts.values(), why)


def _with_artifacts(
    item: CurrentVersion, artifacts: Iterable[artifact.Artifact], why: str, *, is_same: bool = False
) -> Decision:
    if is_same:
        return Decision([cmd.Alias(ref=item.ref, aliases=())], (item.ref,))
    properties = artifact.with_artifacts(item.properties, artifacts)
    return Decision(
        [cmd.Revise(ref=item.ref, properties=properties, source=item.unchanged_source, why=why)], (item.ref,)
    )


def prefer(
    reader: BatchReader,
    relation: str,
    ends: tuple[Any, Any],
    said: dict[str, Any],
    asked: dict[str, Any],
    within: cmd.Ref | None,
) -> Decision:
    """Write the edge of a preference or outcome, and register its relation if none of the name is in force.

    ``said`` are its properties, ``asked`` fields of the command.
    """
    kind = preferences.checked_relation(relation)
    source, target = (reader.known(end, within) for end in ends)
    edge = cmd.Link(source_ref=source, type=kind, target_ref=target, properties=said, **asked)
    if reader.has_relation(kind, within):
        return Decision([edge], (source, target))
    laws = ev.Laws().packed()
    declared = cmd.Register(type=kind, handler_version=1, digest=laws, digest_of="laws", world=within)
    return Decision([declared, edge], (source, target))


def preference_properties(
    outcome: str | None, inferred: bool, confidence: float | None, based_on: Iterable[Any], given: dict[str, Any]
) -> dict[str, Any]:
    """The properties of a preference's edge, besides the caller's own.

    Raises:
        InputError: there is no such outcome, it is not a statement that is inferred, or a property is taken.
    """
    limits.checked_flag(inferred, "inferred")
    bases = [ids.as_ref(each) for each in limits.checked_list(based_on, "based_on")]
    limits.checked_record(given, "properties")
    if outcome is not None and outcome not in tuple(preferences.OUTCOMES):
        raise errors.InputError(
            f"The outcome is {errors.shown(outcome)}", f"Give one of: {', '.join(preferences.OUTCOMES)}"
        )
    if outcome is not None and (inferred or confidence is not None or bases):
        raise errors.InputError(
            "An outcome was given, and what is said of statements", "Leave inferred, confidence and based_on out"
        )
    if bases and not inferred:
        raise errors.InputError("based_on was given of what is not inferred", "Give inferred=True")
    if confidence is not None and not 0 <= limits.checked_amount(confidence, "confidence") <= 1:
        raise errors.InputError(f"confidence is {confidence}", "Give a number from 0 to 1")
    said = {
        preferences.OUTCOME: outcome,
        preferences.INFERRED: inferred or None,
        preferences.CONFIDENCE: confidence,
        preferences.BASED_ON: [each.hex() if isinstance(each, bytes) else each for each in bases] or None,
    }
    said = {name: value for name, value in said.items() if value is not None}
    duplicates = sorted(said.keys() & given.keys())
    if duplicates:
        raise errors.InputError(f"properties has {duplicates[0]!r}, which is an argument", "Give it as that alone")
    return given | said
