"""What the frames of a bundle say that a world states. Pure."""

from collections.abc import Iterator
from itertools import starmap
from typing import NamedTuple

from worlddb.log.model import blobs, codec, times
from worlddb.log.model import events as ev
from worlddb.log.model.hashing import statement_leaf, term_identity
from worlddb.log.statements import terms
from worlddb.log.store.bundle_contents import BundledWorld, Contents


class Told(NamedTuple):
    """A term as a bundle tells it; ``text`` is ``None`` once erased."""

    identity: bytes
    text: str | None


def told_terms(world: BundledWorld, contents: Contents) -> Iterator[Told]:
    """The terms of a world in a bundle, by the numbers that its statements name; the first stands for none."""
    yield Told(b"", "")
    for frame in world.terms:
        texts = texts_of(contents.blobs.get(frame.details), frame.seq)
        for place in frame.places:
            yield Told(term_identity(frame.details, place), None if texts is None else texts[place])


def texts_of(stored: bytes | None, seq: int) -> list[str] | None:
    """The texts in a stored blob of terms; ``None`` if they were erased."""
    found = None if stored is None else codec.decode_blob(stored, seq)
    return found.aliases if isinstance(found, blobs.Details) else None


Texts = tuple[str, str, str, str]
"""The stored texts of subject, predicate, object and graph, an empty one for the default graph."""
Windows = tuple[times.Interval, ...]


def held(world: BundledWorld, contents: Contents) -> dict[Texts, Windows]:
    """When each statement of a world in a bundle holds; those of which a text was erased are left out."""
    return {texts: windows for texts, _, windows in _told(world, contents) if texts is not None}


def told(world: BundledWorld, contents: Contents) -> dict[str, Windows]:
    """As :func:`held`, by what a person reads; of an erased one the beginning of what stands for it in hashes."""
    return {shown(texts, leaf): windows for texts, leaf, windows in _told(world, contents)}


def _told(world: BundledWorld, contents: Contents) -> Iterator[tuple[Texts | None, bytes, Windows]]:
    named = list(told_terms(world, contents))
    found: dict[ev.Quad, list[times.Interval]] = {}
    for frame in world.stated:
        for quad in ev.quads_of(frame.quads):
            found.setdefault(quad, []).append(times.Interval(frame.valid_from, frame.valid_to))
    for quad, windows in found.items():
        parts = [named[number] for number in quad]
        texts = tuple(part.text for part in parts if part.text is not None)
        leaf = statement_leaf([part.identity for part in parts])
        yield (texts if len(texts) == len(quad) else None), leaf, joined(windows)  # type: ignore[misc]


def joined(windows: list[times.Interval]) -> Windows:
    """Windows in order, those that touch as one."""
    found: list[times.Interval] = []
    for window in sorted(windows):
        if found and found[-1].end >= window.start:
            found[-1] = times.Interval(found[-1].start, max(found[-1].end, window.end))
        else:
            found.append(window)
    return tuple(found)


def shown(texts: Texts | None, leaf: bytes = b"") -> str:
    """A statement as a line of N-Quads; of an erased one the beginning of what stands for it in hashes."""
    if texts is None:
        return f"({leaf.hex()[:12]}, its text was erased)"
    return terms.with_blank_nodes(" ".join(text for text in (*texts, ".") if text))


def in_words(windows: Windows) -> str:
    """When a statement holds, in words."""
    return ", ".join(starmap(_span, windows)) or "not stated"


def _span(begins: int, ends: int) -> str:
    start = "always" if begins == times.ALWAYS else f"from {times.format_time(begins)}"
    return start if ends == times.FOREVER else f"{start} to {times.format_time(ends)}"
