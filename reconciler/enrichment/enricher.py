"""The protocol of enrichers, which make a segment understandable on its own, and their answers.

A turn such as "I hate that framework" says little without those around it (Hydra DB §2.3). An enricher is shown a
segment and the segments around it, and says what it means, what it tells of preferences and constraints, what happened
with which consequences, and which questions it may answer one day (Kumiho §15.3).
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple, Protocol

import msgspec

from worlddb.log.model import errors, limits

MAX_LINES: Final = 8
"""Of preferences, constraints, events and questions each."""
MAX_LINE_BYTES: Final = 8_192
MAX_ENRICHMENT_BYTES: Final = 48 * 1024
"""Of all that an enricher says of one segment."""


class Segment(NamedTuple):
    """A text as an enricher gets it; ``since`` is when it began to hold, in microseconds."""

    ref: str
    type: str
    name: str
    content: str
    since: int


class Occurrence(msgspec.Struct, frozen=True):
    """An event in a segment, and its outcome if that is stated."""

    event: str
    consequence: str = ""


class Enrichment(msgspec.Struct, frozen=True, kw_only=True):
    """What a segment means by itself.

    ``resolved`` is its text with what it only refers to named, ``questions`` are three to five that it may answer, in
    other words than its own. ``embedding_text`` is compared by meaning in place of all these. ``used`` are the
    references of the segments that this rests on; by default all that were shown.
    """

    resolved: str = ""
    preferences: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    events: tuple[Occurrence, ...] = ()
    questions: tuple[str, ...] = ()
    embedding_text: str = ""
    used: tuple[str, ...] | None = None

    @property
    def lines(self) -> tuple[str, ...]:
        """The enrichment as lines; each line gets its own vector."""
        return tuple(" ".join(line.split()) for line in self._said() if line.strip())

    def _said(self) -> Iterator[str]:
        yield self.resolved
        yield from self.preferences
        yield from self.constraints
        yield from (f"{each.event} → {each.consequence}" if each.consequence else each.event for each in self.events)
        yield from self.questions


class Enricher(Protocol):
    """Tells what a segment means: a model, a program, a person.

    It is called while the store is not locked, and its answer is recorded, so it is not asked again. If it has a
    ``name``, the provenance of its enrichments uses that. One with ``asks_a_model = False`` is free: empty answers are
    not recorded, and enrichments by others are not replaced. An exception leaves the segment as it is and is reported
    in the result; :class:`~worlddb.LimitExceeded` ends the run.
    """

    def __call__(self, segment: Segment, window: Sequence[Segment], /) -> Enrichment:
        """What a segment means; ``window`` are those around it in their order, and itself among them."""


def checked(given: object, window: Sequence[Segment]) -> Enrichment:
    """An enricher's answer, checked.

    Raises:
        InputError: it is no enrichment, says too much, or rests on what it was not shown.
    """
    if not isinstance(given, Enrichment):
        raise errors.InputError(f"The enricher returned {type(given).__name__}", "Return an Enrichment")
    for what in ("preferences", "constraints", "events", "questions"):
        listed: Any = getattr(given, what)
        kind = Occurrence if what == "events" else str
        if not isinstance(listed, tuple | list) or any(not isinstance(each, kind) for each in listed):
            raise errors.InputError(f"The enricher's {what} are not a list of {kind.__name__}", "Correct the enricher")
        if len(listed) > MAX_LINES:
            raise errors.InputError(f"The enricher returned {len(listed)} {what}", f"Return at most {MAX_LINES}")
    for text in (*given._said(), given.embedding_text):
        limits.checked_text(text, "a text of the enricher", MAX_LINE_BYTES)
    if len(msgspec.json.encode(given)) > MAX_ENRICHMENT_BYTES:
        raise errors.InputError(
            f"The enricher returned more than {MAX_ENRICHMENT_BYTES:,} bytes", "Return less text for each segment"
        )
    strange = set(given.used or ()) - {each.ref for each in window}
    if strange:
        shown = errors.shown(min(strange))
        raise errors.InputError(
            f"The enricher names {shown}, which is not in its window", "Name segments of the given window"
        )
    return given
