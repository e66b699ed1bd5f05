"""Discover edges from a new memory to existing ones, by words, by names, and by questions of a model.

A memory that nothing joins to others is found by its own words alone. What is found is told with a reason, and written
only if the caller says so: names that it has, as ``refers_to``; statements that cannot be true beside it, as
``contradicts``; one that says the same, as a proposal; and what answers a question that follows from it.
"""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from worlddb.log.model import errors, limits
from worlddb.projections.indexes import analysis
from worlddb.query.records import records
from worlddb.query.view.view import View
from worlddb.reconciler.ingest.extraction import Turn
from worlddb.reconciler.ingest.mentions.mention_extractor import EntityExtractor

Questions = Callable[[records.World], Sequence[str]]
"""Questions that follow from a memory, such as a model asks; what answers them may be related."""

MAX_QUESTIONS: Final = 16
MAX_EDGES: Final = 50
_LEAST_WORDS: Final = 4
_TYPES: Final = {"same": "same_as", "contradiction": "contradicts", "replacement": "contradicts"}


class DiscoveredEdge(msgspec.Struct, frozen=True, kw_only=True):
    """A possible edge from a memory: its type, target, reason and confidence from 0 to 1.

    ``edge`` is the edge's reference if it was written, or that of the proposal; empty if not.
    """

    type: str
    target: str
    name: str
    reason: str
    confidence: float
    edge: str = ""


def sentences(world: records.World) -> list[str]:
    """Questions without a model: the sentences of the memory."""
    said = [each.strip() for each in analysis.sentences(world.content)]
    return [each for each in said if len(each.split()) >= _LEAST_WORDS][:MAX_QUESTIONS]


def discovered(
    view: View, world: records.World, *, questions: Questions | None, limit: int, min_confidence: float
) -> list[DiscoveredEdge]:
    """Possible edges of a memory that do not exist yet, the most confident first."""
    found: dict[str, DiscoveredEdge] = {}
    joined = {world.ref, *(end for each in view.edges(world.ref) for end in (each.source, each.target))}
    joined.update(end for each in view.states(world.ref) for end in (each.source, each.target))

    def add(type: str, target: str, name: str, reason: str, confidence: float) -> None:
        # What is nobody's is joined to nothing that is in a user's world.
        if target not in joined and (view.world is not None or view._user_world_of(target) is None):
            found.setdefault(
                target,
                DiscoveredEdge(type=type, target=target, name=name, reason=reason, confidence=round(confidence, 3)),
            )

    for each in view.near(world.content) if world.content.strip() else ():
        if each.relation in _TYPES:
            add(_TYPES[each.relation], each.ref, "", each.reason, each.likeness)
    (mentioned,) = EntityExtractor(kinds=("name",)).mentions([Turn(text=world.content)])
    for name in dict.fromkeys(each.text for each in mentioned):
        for entity in view.find(name=name, type="Entity", limit=2):
            add("refers_to", entity.ref, entity.name, f"it has the name {name[:80]!r}", 1.0)
    asked = sentences(world) if questions is None else _checked(questions(world))
    for question in asked:
        for hit in view.recall(question, k=limit).hits:
            sure = hit.confidence
            if hit.type not in ("Entity", "Scope") and sure is not None and sure >= min_confidence:
                add("refers_to", hit.ref, hit.name, f"it answers {question[:80]!r}", sure)
    return sorted(found.values(), key=lambda each: -each.confidence)[:limit]


def _checked(questions: object) -> list[str]:
    if isinstance(questions, str) or not isinstance(questions, Sequence):
        raise errors.InputError(f"questions gave {type(questions).__name__}", "Return a list of texts")
    return [
        limits.checked_text(each, "a question", limits.MAX_NAME_BYTES, empty=False)
        for each in questions[:MAX_QUESTIONS]
    ]
