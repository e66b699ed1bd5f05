"""Items at krefs, their names and artifacts: the commands that a look at the store comes to.

Each function is given a view and returns commands. Whoever calls it has them decided as resting on that view, and looks
again if others came between.
"""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from worlddb.log.beliefs import artifact, kref
from worlddb.log.model import errors, ids, limits
from worlddb.log.model import events as ev
from worlddb.query.beliefs import preferences
from worlddb.query.reads.world_lookup import PROJECT, SPACE
from worlddb.query.records.records import World
from worlddb.query.view.view import View
from worlddb.reconciler.commands import commands as cmd

_BEGINNING: Final = -62_135_596_800_000_000
"""Projects and spaces hold from the year 1 on, so that what lies in them is seen there at any time."""


class Found(NamedTuple):
    """What a look comes to: commands, of which the last one's reference is the answer, and what they rest on."""

    commands: list[cmd.Command]
    rests_on: tuple[bytes, ...] = ()


def create_at(
    view: View, given: object, said: dict[str, Any], artifacts: Iterable[artifact.Artifact], within: bytes | None
) -> Found:
    """Create the item of a kref, with the project and the spaces around it that are not there, or revise it.

    ``said`` are fields of the command. An item that is there keeps the name and the type that it has by now, and its
    place.
    """
    wanted = kref.item_of(given.ref if isinstance(given, kref.Kref) else given)
    attached = list(artifacts)
    if attached:
        said = said | {"properties": artifact.with_artifacts(said["properties"], attached)}
    item = item_at(view, wanted)
    if item is not None:
        return Found(_revised(item, wanted, said, within), (bytes.fromhex(item.ref),))
    made: list[cmd.Command] = []
    known: list[bytes] = []
    around: cmd.Ref | None = within
    names = wanted.project, *wanted.spaces
    for depth, (name, text) in enumerate(zip(names, wanted.container_keys, strict=True)):
        there = view.keyed(text)
        if there is None:
            placed: dict[str, Any] = {"world": around, "key": _key(text, within), "valid_from": _BEGINNING}
            made.append(cmd.Create(type=SPACE if depth else PROJECT, name=name, resolve=False, **placed))
            around = len(made) - 1
        else:
            around = bytes.fromhex(there.ref)
            known.append(around)
    key = _key(wanted.item_key, within)
    made.append(cmd.Create(type=wanted.kind, name=wanted.name, world=around, key=key, resolve=False, **said))
    return Found(made, tuple(known))


def _key(text: str, within: bytes | None) -> str | cmd.BoundKey:
    return text if within is None else cmd.BoundKey(text, within)


def _revised(item: World, wanted: kref.Kref, said: dict[str, Any], within: bytes | None) -> list[cmd.Command]:
    ref = bytes.fromhex(item.ref)
    window = said["valid_from"], said["valid_to"]
    differs = said["properties"] and said["properties"] != item.properties
    if not differs and item.content == said["content"] and window == (None, None) and not item.closed:
        return [cmd.Alias(ref=ref, aliases=())]
    return [cmd.Revise(ref=ref, **said)]


def item_at(view: View, wanted: kref.Kref) -> World | None:
    """The item of a kref, valid or not, hidden or not; ``None`` if there is none."""
    try:
        return view.get(wanted.item_key, include_superseded=True)
    except errors.AmbiguousReference:
        raise
    except errors.UnknownReference:
        return None


def rename(view: View, ref: Any, name: str, why: str) -> Found:
    """Give a world another name, and let the one before stay as an alias; its key and its kref stay."""
    limits.checked_text(name, "name", limits.MAX_NAME_BYTES, empty=False)
    item = _holding(view, ref)
    here = bytes.fromhex(item.ref)
    revise, alias = cmd.Revise(ref=here, name=name, why=why), cmd.Alias(ref=here, aliases=(item.name,), why=why)
    return Found([revise, alias] if item.name != name else [cmd.Alias(ref=here, aliases=())], (here,))


def attach(view: View, ref: Any, given: artifact.Artifact, why: str) -> Found:
    """A version that has an artifact more, or another one in the place of that of the name."""
    item, added = _holding(view, ref), artifact.checked(given)
    there = artifact.in_properties(item.properties)
    return _with(item, [*there.values(), added], why, is_same=there.get(added.name) == added)


def detach(view: View, ref: Any, name: str, why: str) -> Found:
    """A version without the artifact of a name."""
    limits.checked_text(name, "name", limits.MAX_LABEL_BYTES)
    item = _holding(view, ref)
    there = artifact.in_properties(item.properties)
    if there.pop(name, None) is None:
        raise errors.UnknownReference(
            f"{item.ref[:12]} has no artifact {name!r:.80}", f"It has: {', '.join(there) or 'none'}"
        )
    return _with(item, there.values(), why)


def _with(item: World, artifacts: Iterable[artifact.Artifact], why: str, *, is_same: bool = False) -> Found:
    ref = bytes.fromhex(item.ref)
    if is_same:
        return Found([cmd.Alias(ref=ref, aliases=())], (ref,))
    properties = artifact.with_artifacts(item.properties, artifacts)
    return Found([cmd.Revise(ref=ref, properties=properties, why=why)], (ref,))


def prefer(
    view: View,
    relation: str,
    ends: tuple[Any, Any],
    said: dict[str, Any],
    asked: dict[str, Any],
    within: bytes | None,
) -> Found:
    """The edge of a preference or of an outcome, with the relation if none of the name is in force.

    ``said`` are its properties, ``asked`` fields of the command.
    """
    kind = preferences.checked_relation(relation)
    source, target = (bytes.fromhex(view.reference_of(end)) for end in ends)
    edge = cmd.Link(source_ref=source, type=kind, target_ref=target, properties=said, **asked)
    if any(each.name == kind for each in view.edge_types()):
        return Found([edge], (source, target))
    laws = ev.Laws().packed()
    declared = cmd.Register(type=kind, handler_version=1, digest=laws, digest_of="laws", world=within)
    return Found([declared, edge], (source, target))


def preference_properties(
    outcome: str | None, inferred: bool, confidence: float | None, based_on: Iterable[Any], given: dict[str, Any]
) -> dict[str, Any]:
    """What an edge says of a preference beside the caller's own properties.

    Raises:
        InputError: there is no such outcome, it is not a statement that is inferred, or a property is taken.
    """
    limits.checked_flag(inferred, "inferred")
    bases = [ids.as_ref(each) for each in limits.checked_list(based_on, "based_on")]
    if outcome is not None and outcome not in preferences.OUTCOMES:
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
    taken = sorted(said.keys() & given.keys())
    if taken:
        raise errors.InputError(f"properties has {taken[0]!r}, which is an argument", "Give it as that alone")
    return given | said


def _holding(view: View, ref: Any) -> World:
    """The version of a world that holds now, hidden or not."""
    item = view.revealing(deprecated=True).get(ref)
    if item is None or item.erased:
        what = "holds nothing now" if item is None else "was erased"
        raise errors.InputError(
            f"{view.reference_of(ref)[:12]} {what}, so that no version could be said to have it",
            "Reassert it first" if item is None else "Create another",
        )
    return item
