"""Atoms: what a version says, taken apart into (item, predicate, value); and what belief changes make of it. Pure.

The fields of a version are predicates, and so are its properties: a type is ``type``, a name ``title``, a content
``summary``, and a property is called as it is. A single-valued predicate takes one value at a time: these three do, the
properties ``confidence`` and ``importance``, and those that were registered so. Any other takes several. Two atoms
conflict if they say another value of one single-valued predicate of one item, so that one version never conflicts with
itself.

Values are compared as texts: in Unicode's normal form C and without blanks around them; what is no text by its JSON.
"""

import unicodedata
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from worlddb.log.beliefs import artifact
from worlddb.log.model import errors

TYPE: Final = "type"
TITLE: Final = "title"
SUMMARY: Final = "summary"
FIELDS: Final = frozenset({TYPE, TITLE, SUMMARY})
SHARES: Final = frozenset({"confidence", "importance"})
"""The properties that are read as one number, from 0 to 1."""
SINGLE: Final = FIELDS | SHARES
"""The predicates that are single-valued in every store: the fields, and properties that are read as one number."""
_CALLED_OTHERWISE: Final = {"name": TITLE, "content": SUMMARY, "text": SUMMARY, "kind": TYPE}
"""What the fields are called in other calls."""
_SPELLED: Final = (SUMMARY, *sorted(SHARES))
_ALIKE: Final = 0.85
UNTYPED: Final = "Untyped"
"""The type of a version without a stated type: it is not an atom."""
NO_BELIEF: Final = artifact.PROPERTY
"""The property that points to artifacts; it is not a belief."""
_ESCAPE: Final = "property."
"""In front of a property that is called as a field is."""


def meant_predicate(predicate: str) -> str:
    """The predicate of :data:`SINGLE` that is probably meant by another name or spelling; empty if none is.

    A property of such a name would be believed beside what it was to replace, and nothing would read it.
    """
    plain = predicate.strip().casefold()
    if predicate in SINGLE:
        return ""
    if plain in SINGLE:
        return plain
    if plain in _CALLED_OTHERWISE:
        return _CALLED_OTHERWISE[plain]
    # Loaded by who believes; a recall from the shell waits for what it loads.
    from difflib import get_close_matches

    return next(iter(get_close_matches(plain, _SPELLED, 1, _ALIKE)), "")


class Atom(NamedTuple):
    """One belief: the item (a reference), the predicate and the value."""

    item: str
    predicate: str
    value: str


Claim = tuple[str, str]
"""The predicate and the compared form of the value of an atom, where its item is known."""


class VersionContent(NamedTuple):
    """All that a version says."""

    type: str = UNTYPED
    name: str = ""
    content: str = ""
    properties: Mapping[str, Any] = {}


NOTHING: Final = VersionContent()


def comparable_form(value: Any) -> str:
    """The form in which a value is compared; empty for an empty value.

    Raises:
        InputError: nobody could have said it.
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return unicodedata.normalize("NFC", value).strip()
    try:
        return msgspec.json.encode(value, order="deterministic").decode()
    except (TypeError, ValueError, OverflowError, RecursionError):
        raise errors.InputError(
            f"{errors.shown(value)} cannot be a value of a world",
            "Use text, finite numbers, booleans, lists, and dictionaries with text as keys",
        ) from None


def predicate_of(name: str) -> str:
    """The predicate that a property stands for."""
    return _ESCAPE + name if name in FIELDS or name.startswith(_ESCAPE) else name


def property_of(predicate: str) -> str:
    """The property that a predicate stands for which is no field."""
    return predicate.removeprefix(_ESCAPE)


def values_of(value: Any, *, is_single: bool) -> dict[str, Any]:
    """The values that a property, or a claim, has for a predicate: as they are, by their compared form.

    Several of a single-valued predicate, which an earlier version may have left, are one value.
    """
    several = value if isinstance(value, list | tuple) and not (is_single and len(value) > 1) else [value]
    return {form: each for each in several if (form := comparable_form(each))}


def claims_of(said: VersionContent, single: Collection[str]) -> set[Claim]:
    """What a version says, by predicate and compared value."""
    fields = ((TYPE, "" if said.type == UNTYPED else said.type), (TITLE, said.name), (SUMMARY, said.content))
    found = {(predicate, form) for predicate, text in fields if (form := comparable_form(text))}
    for name, value in said.properties.items():
        predicate = predicate_of(name)
        if name != NO_BELIEF:
            found |= {(predicate, form) for form in values_of(value, is_single=predicate in single)}
    return found


def find_conflicts(said: VersionContent, claims: Collection[Claim], single: Collection[str]) -> set[Claim]:
    """What a version says that conflicts with some claims."""
    claimed = {predicate: form for predicate, form in claims if predicate in single}
    return {
        (predicate, form)
        for predicate, form in claims_of(said, single)
        if predicate in claimed and claimed[predicate] != form
    }


def remove_claims(said: VersionContent, gone: Collection[Claim], single: Collection[str]) -> VersionContent:
    """What is left of a version without some claims; all else stays letter for letter."""
    fields = {TYPE: said.type, TITLE: said.name, SUMMARY: said.content}
    for predicate, text in fields.items():
        if (predicate, comparable_form(text)) in gone:
            fields[predicate] = UNTYPED if predicate == TYPE else ""
    properties = {}
    for name, value in said.properties.items():
        predicate = predicate_of(name)
        kept = values_of(value, is_single=predicate in single)
        left = [each for form, each in kept.items() if (predicate, form) not in gone]
        if len(left) == len(kept):
            properties[name] = value
        elif left:
            properties[name] = left
    return VersionContent(fields[TYPE], fields[TITLE], fields[SUMMARY], properties)


def apply_claims(said: VersionContent, given: Mapping[str, Any], single: Collection[str]) -> VersionContent:
    """A version in which some claims replace conflicting ones; claims that it has already are not repeated."""
    claims = dict(parse_claims(given, single))
    left = remove_claims(said, find_conflicts(said, claims, single), single)
    known = claims_of(left, single)
    fields = {TYPE: left.type, TITLE: left.name, SUMMARY: left.content}
    properties = dict(left.properties)
    for predicate, value in given.items():
        fresh = {form: each for (said_of, form), each in claims.items() if said_of == predicate}
        missing = [each for form, each in fresh.items() if (predicate, form) not in known]
        if not missing:
            continue
        name = property_of(predicate)
        if predicate in fields:
            fields[predicate] = missing[0]
        elif predicate in single:
            properties[name] = missing[0]
        elif properties.get(name) is None:
            properties[name] = missing if isinstance(value, list | tuple) else missing[0]
        else:
            before = properties[name]
            properties[name] = [*(before if isinstance(before, list | tuple) else [before]), *missing]
    return VersionContent(fields[TYPE], fields[TITLE], fields[SUMMARY], properties)


def replace_claims(said: VersionContent, given: Mapping[str, Any], single: Collection[str]) -> VersionContent:
    """A version that says some claims and nothing else, but for what names the item: its type and its title."""
    kept = {name: value for name, value in said.properties.items() if name == NO_BELIEF}
    return apply_claims(VersionContent(said.type, said.name, "", kept), given, single)


def parse_claims(given: Mapping[str, Any], single: Collection[str]) -> Iterator[tuple[Claim, Any]]:
    """The claims that a caller gives, each with its value as it is."""
    for predicate, value in given.items():
        for form, each in values_of(value, is_single=predicate in single).items():
            yield (predicate, form), each


# -- entrenchment

Measure = str
"""By what beliefs of a kind are compared: a name of :data:`MEASURES`."""
MEASURES: Final = ("confidence", "recency", "support")
"""Of two beliefs that are compared by different measures, the one of the earlier measure is given up first."""
KINDS: Final[Mapping[str, Measure]] = {
    "fact": "support",
    "preference": "recency",
    "inferred": "confidence",
}
"""How types without a recorded setting are compared, whatever their case; all others are facts."""


class Rank(NamedTuple):
    """How entrenched an atom is: what compares lower is given up first. The order is total, and ties are equal.

    ``measure`` is the place in :data:`MEASURES`, ``amount`` how much there is by it, ``depended`` how many worlds
    depend on the item, and ``commit`` the one since which the atom has been said.
    """

    measure: int
    amount: float
    depended: int
    commit: int


NEVER: Final = Rank(-1, 0, 0, 0)
"""The rank of a claim that is not believed."""


def least_entrenched(ranks: Mapping[Any, Rank]) -> set[Any]:
    """What of a compound is given up: all that is entrenched least."""
    lowest = min(ranks.values(), default=NEVER)
    return {each for each, rank in ranks.items() if rank == lowest}
