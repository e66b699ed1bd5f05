"""What the frames of a bundle say that a world states. Pure."""

from collections.abc import Iterator
from itertools import starmap
from typing import NamedTuple

from worlddb.log.model import blobs, codec, times
from worlddb.log.model import events as ev
from worlddb.log.model.hashing import statement_leaf, term_identity
from worlddb.log.statements import terms
from worlddb.log.store.bundle_contents import BundledWorld, Contents


class BundledTerm(NamedTuple):
    """A term as a bundle tells it; ``text`` is ``None`` once erased."""

    identity: bytes
    text: str | None


def bundled_terms(world: BundledWorld, contents: Contents) -> Iterator[BundledTerm]:
    """The terms of a world in a bundle, by the numbers that its statements name; the first stands for none."""
    yield BundledTerm(b"", "")
    for frame in world.terms:
        texts = texts_of(contents.blob(frame.details, world), frame.seq)
        for place in frame.places:
            yield BundledTerm(term_identity(frame.details, place), None if texts is None else texts[place] or None)


def texts_of(stored: bytes | None, seq: int) -> list[str] | None:
    """The texts in a stored blob of terms, an empty one where one was erased; ``None`` if all were."""
    found = None if stored is None else codec.decode_blob(stored, seq)
    return found.aliases if isinstance(found, blobs.Details) else None


Texts = tuple[str, str, str, str]
"""The stored texts of subject, predicate, object and graph, an empty one for the default graph."""
Known = tuple[str | None, str | None, str | None, str | None]
"""As :data:`Texts`, with ``None`` in the place of a text that was erased."""
Windows = tuple[times.Interval, ...]


def statement_windows(world: BundledWorld, contents: Contents) -> dict[Texts, Windows]:
    """The validity of each statement of a world in a bundle, without statements with an erased text."""
    return {
        texts: windows
        for known, _, windows in _read_statements(world, contents)
        if (texts := complete_texts(known)) is not None
    }


def shown_windows(world: BundledWorld, contents: Contents) -> dict[str, Windows]:
    """As :func:`statement_windows`, by the line that people read; see :func:`statement_line`."""
    return {statement_line(texts, leaf): windows for texts, leaf, windows in _read_statements(world, contents)}


def _read_statements(world: BundledWorld, contents: Contents) -> Iterator[tuple[Known, bytes, Windows]]:
    named = list(bundled_terms(world, contents))
    found: dict[ev.Quad, list[times.Interval]] = {}
    for frame in world.stated:
        for quad in ev.quads_of(frame.quads):
            found.setdefault(quad, []).append(times.Interval(frame.valid_from, frame.valid_to))
    for quad, windows in found.items():
        parts = [named[number] for number in quad]
        subject, predicate, object_, graph = (part.text for part in parts)
        leaf = statement_leaf([part.identity for part in parts])
        yield (subject, predicate, object_, graph), leaf, merge_windows(windows)


def complete_texts(known: Known) -> Texts | None:
    """The texts of a statement; ``None`` if one of them was erased."""
    subject, predicate, object_, graph = known
    if subject is None or predicate is None or object_ is None or graph is None:
        return None
    return subject, predicate, object_, graph


def merge_windows(windows: list[times.Interval]) -> Windows:
    """Windows in order, those that touch as one."""
    found: list[times.Interval] = []
    for window in sorted(windows):
        if found and found[-1].end >= window.start:
            found[-1] = times.Interval(found[-1].start, max(found[-1].end, window.end))
        else:
            found.append(window)
    return tuple(found)


def statement_line(texts: Known, leaf: bytes = b"") -> str:
    """A statement as a line of N-Quads; erased terms are shown by the beginning of their hashes."""
    if not any(texts):
        return f"({leaf.hex()[:12]}, its text was erased)"
    line = " ".join(text for text in (*(terms.ERASED if each is None else each for each in texts), ".") if text)
    return terms.with_blank_nodes(line) + (f" ({leaf.hex()[:12]})" if None in texts else "")


def windows_in_words(windows: Windows) -> str:
    """When a statement holds, in words."""
    return ", ".join(starmap(_span, windows)) or "not stated"


def _span(begins: int, ends: int) -> str:
    start = "always" if begins == times.ALWAYS else f"from {times.format_time(begins)}"
    return start if ends == times.FOREVER else f"{start} to {times.format_time(ends)}"
