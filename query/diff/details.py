"""Field by field, what differs about one world: pure functions of its two states."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from worlddb.query.diff.records import Detail
from worlddb.query.diff.side import BY_REFERENCE, EdgeState, State, span

_TEXTS: Final = ("type", "name", "content")

Name = Callable[[bytes], str]


def state_details(one: State, other: State, moved: Iterable[Detail]) -> Iterator[Detail]:
    """What differs between two states of a world that both sides have, and where it ``moved``."""
    yield from _texts(one, other)
    yield from moved
    yield from _validity(one, other)
    yield from _names(one, other)
    if one.body == other.body:
        yield from _provenance(one, other)


def _texts(one: State, other: State) -> Iterator[Detail]:
    """Type, name and content; a body that differs in nothing else than its nonce is still another version."""
    revised = one.body != other.body or len(one.validities) != len(other.validities)
    if bool(one.lacks) != bool(other.lacks):
        kind = "revised" if revised or BY_REFERENCE in (one.lacks, other.lacks) else "erased"
        yield Detail(kind=kind, field="content", a=_text(one), b=_text(other))
        return
    kind = "revised" if revised else "altered"
    found = [
        Detail(kind=kind, field=field, a=getattr(one, field), b=getattr(other, field))
        for field in _TEXTS
        if getattr(one, field) != getattr(other, field)
    ]
    if revised and not found:
        numbers = [str(len(state.validities)) for state in (one, other)]
        found = [Detail(kind=kind, field="version", a=numbers[0], b=numbers[1])]
    yield from found


def _text(state: State) -> str:
    return state.lacks or state.content or state.name


def moved(one: Sequence[bytes], other: Sequence[bytes], name: Name) -> Iterator[Detail]:
    """A world that left one container and joined another; one that only joined shows as a member of the other."""
    left = [ref for ref in one if ref not in other]
    joined = [ref for ref in other if ref not in one]
    if left and joined:
        yield Detail(kind="moved", field="container", a=_listed(left, name), b=_listed(joined, name))


def _listed(refs: Iterable[bytes], name: Name) -> str:
    return ", ".join(name(ref) for ref in refs)


def _validity(one: State, other: State) -> Iterator[Detail]:
    """The newest version's, and the others' where no revision explains that they were closed."""
    if one.validities[0] != other.validities[0]:
        kind = "validity" if one.body == other.body else "revised"
        yield Detail(kind=kind, field="valid", a=span(one.validities[0]), b=span(other.validities[0]))
    if len(one.validities) == len(other.validities):
        numbers = range(len(one.validities), 0, -1)
        for number, left, right in list(zip(numbers, one.validities, other.validities, strict=True))[1:]:
            if left != right:
                yield Detail(kind="validity", field=f"valid of version {number}", a=span(left), b=span(right))
    if one.ended != other.ended:
        yield Detail(kind="validity", field="ended", a=_yes(one.ended), b=_yes(other.ended))


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _names(one: State, other: State) -> Iterator[Detail]:
    mine, theirs = Counter(one.aliases), Counter(other.aliases)
    for text in (mine - theirs).elements():
        yield Detail(kind="names", field="alias", a=text, b="")
    for text in (theirs - mine).elements():
        yield Detail(kind="names", field="alias", a="", b=text)


def _provenance(one: State, other: State) -> Iterator[Detail]:
    if one.why != other.why:
        yield Detail(kind="provenance", field="why", a=one.why, b=other.why)
    if one.source != other.source:
        yield Detail(kind="provenance", field="source", a=as_text(one.source), b=as_text(other.source))


def as_text(value: Any) -> str:
    """A value that a caller stored, as JSON; empty for an empty one."""
    return msgspec.json.encode(value, order="deterministic", enc_hook=str).decode() if value else ""


def whole(state: State, side: str) -> Iterator[Detail]:
    """A world that only one side has: its text, and what it is."""
    kind = "removed" if side == "a" else "added"
    for field in _TEXTS:
        text = getattr(state, field)
        if text:
            yield Detail(kind=kind, field=field, a=text if side == "a" else "", b=text if side == "b" else "")
    if state.lacks:
        texts = (state.lacks, "") if side == "a" else ("", state.lacks)
        yield Detail(kind=kind, field="content", a=texts[0], b=texts[1])


def edge_validity(one: EdgeState, other: EdgeState) -> Iterator[Detail]:
    """An edge that both sides have, for another time."""
    if one.known and other.known and one.validity != other.validity:
        field = f"valid of {one.text}"
        yield Detail(kind="validity", field=field, a=span(one.validity), b=span(other.validity), ref=one.edge.hex())
