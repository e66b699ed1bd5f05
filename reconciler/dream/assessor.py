"""The protocol of assessors, which judge memories, its input and output, and an assessor by rules.

:class:`RuleAssessor` needs no model. It recommends to deprecate memories that a neighbour repeats or replaces, and
those whose sources hold no more; with a ``decay`` also those that have faded. In doubt it keeps a memory.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import exp
from typing import Any, Final, NamedTuple, Protocol

from worlddb.log.model import errors, limits, times
from worlddb.projections.tables.dream import retention

MAX_TAGS: Final = 16
MAX_RELATED: Final = 16
MAX_REASON_CHARACTERS: Final = 1_000
RELATIONS: Final = (
    *("relates_to", "supports", "refines", "refers_to", "causes", "depends_on", "derived_from", "created_from"),
)
"""Types of edges that an assessor may draw: none of them ends or hides anything."""
DUPLICATE, SUPERSEDED, STALE, FADED = "duplicate", "superseded", "stale", "faded"
WHYS: Final = (DUPLICATE, SUPERSEDED, STALE, FADED)
"""The first words of reasons of :class:`RuleAssessor`; a reference may follow."""
_HALF_LIFE_DAYS: Final = 180.0


class Neighbour(NamedTuple):
    """A neighbour of a memory: in one of its containers, or joined to it by an edge.

    ``edge`` is the type of the edge, empty of one that lies beside it. ``relation`` is how this one relates to the
    memory, by short statements' words: it says the ``same``, is a ``replacement`` or a ``contradiction`` of it, or is
    ``compatible`` with it; empty where they tell nothing. What an edge ``contradicts`` joins is a ``contradiction``.
    ``share`` is what share of the memory's words it has.
    """

    ref: str
    type: str
    name: str
    content: str
    since: int
    edge: str = ""
    relation: str = ""
    share: float = 0.0


class AssessedMemory(NamedTuple):
    """A memory as the assessor gets it, in the version that holds.

    Times are in microseconds: ``since`` is when the version began to hold, ``age`` how long ago that is, ``used`` when
    it was used, the latest times. ``rests_on_nothing``: all that it was derived from has ended. ``retention`` is how
    fresh it is, from 0.
    """

    ref: str
    type: str
    name: str
    content: str
    since: int
    age: int
    used: tuple[int, ...]
    retention: float
    rests_on_nothing: bool
    labels: tuple[str, ...]
    neighbours: tuple[Neighbour, ...]


class Assessment(NamedTuple):
    """An assessor's judgement of a memory.

    ``relevance`` is its expected usefulness, from 0 to 1. ``deprecate`` recommends to deprecate it, for a ``reason``.
    ``tags`` become labels, ``metadata`` properties of a new version. ``related`` are (reference, edge type) of memories
    in the request.
    """

    ref: str
    relevance: float
    deprecate: bool = False
    reason: str = ""
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, str] = {}
    related: tuple[tuple[str, str], ...] = ()


class Assessor(Protocol):
    """Judges memories: a model, a program, a person.

    It is called with batches of memories while the store is not locked, and returns an assessment of each. Its answer
    is recorded, so it is not asked again. An exception ends the judging of this run and is reported in the result; the
    next run asks about the rest. If it has a ``name``, the report uses that.
    """

    def __call__(self, memories: Sequence[AssessedMemory], /) -> Sequence[Assessment]:
        """An assessment of each memory."""


class RuleAssessor:
    """The assessor without a model: it judges by duplication, supersession, staleness, accesses and age.

    Of two duplicates it drops the shorter one, of equal ones the older. It drops a short statement about an entity if a
    later neighbour has another value of the same attribute, but keeps both if an edge says that they contradict each
    other. With ``decay`` it also drops memories that have faded to the tier ``hidden``. Relevance falls with age and
    rises with each access.
    """

    name = "rules/1"

    def __init__(self, decay: retention.Decay | None = None) -> None:
        self._decay = None if decay is None else retention.checked_decay(decay)

    def __call__(self, memories: Sequence[AssessedMemory], /) -> list[Assessment]:
        """An assessment of each memory, by it and its neighbours alone."""
        return [self._assess(memory) for memory in memories]

    def _assess(self, memory: AssessedMemory) -> Assessment:
        days = memory.age / times.DAY_MICROSECONDS
        used = 1 - 1 / (1 + len(memory.used))
        relevance = round(0.4 + 0.3 * exp(-max(days, 0.0) / _HALF_LIFE_DAYS) + 0.3 * used, 6)
        worth, reason = 1.0, ""
        for other in memory.neighbours:
            if other.relation == "same" and _is_dropped_first(memory, other):
                worth, reason = 0.1, f"{DUPLICATE}: {other.ref} says it, too"
                break
            if other.relation == "replacement" and other.since > memory.since:
                worth, reason = 0.2, f"{SUPERSEDED}: {other.ref} says what is so now"
        if not reason and memory.rests_on_nothing:
            worth, reason = 0.3, f"{STALE}: what it was derived from has ended"
        if not reason and self._decay is not None and self._decay.tier(memory.retention) == "hidden":
            worth, reason = 0.4, f"{FADED}: it is old and was not used"
        return Assessment(memory.ref, round(worth * relevance, 6), bool(reason), reason)


def _is_dropped_first(memory: AssessedMemory, other: Neighbour) -> bool:
    """True if the first of two duplicates is dropped: the shorter, then the older, then the lower reference."""
    own = (len(memory.content) > len(other.content), memory.since, memory.ref)
    return own < (len(other.content) > len(memory.content), other.since, other.ref)


def checked(given: Iterable[object], memories: Sequence[AssessedMemory]) -> list[Assessment]:
    """An assessor's answer, checked: one assessment for each memory, in their order.

    Raises:
        InputError: it did not answer with one assessment of each, or one of them is not what it should be.
    """
    said = {each.ref: each for each in limits.checked_list(given, "assessments") if isinstance(each, Assessment)}
    missing = [memory.ref for memory in memories if memory.ref not in said]
    if missing:
        raise errors.InputError(f"The assessor did not judge {missing[0][:12]}", "Return an assessment for each memory")
    return [_plain(said[memory.ref], memory) for memory in memories]


def _plain(said: Assessment, memory: AssessedMemory) -> Assessment:
    relevance = said.relevance
    if limits.checked_amount(relevance, "a relevance") > 1:
        raise errors.InputError(f"A relevance is {errors.shown(relevance)}", "Give a number from 0 to 1")
    limits.checked_flag(said.deprecate, "deprecate")
    reason = limits.checked_text(said.reason, "a reason", limits.MAX_REASON_BYTES)[:MAX_REASON_CHARACTERS]
    tags = [
        limits.checked_text(each, "a tag", limits.MAX_LABEL_BYTES, empty=False) for each in _checked_list(said.tags)
    ]
    metadata: dict[str, Any] = dict(said.metadata)
    limits.checked_record(metadata, "metadata")
    known = {each.ref for each in memory.neighbours}
    related: list[tuple[str, str]] = []
    for other, kind in _checked_list(said.related):
        if kind not in RELATIONS:
            raise errors.InputError(f"A relation is {errors.shown(kind)}", f"Give one of: {', '.join(RELATIONS)}")
        if other in known:  # Of what it was not shown it can know nothing.
            related.append((other, kind))
    return Assessment(
        memory.ref,
        round(float(relevance), 6),
        said.deprecate,
        reason,
        tuple(dict.fromkeys(tags))[:MAX_TAGS],
        metadata,
        tuple(dict.fromkeys(related))[:MAX_RELATED],
    )


def _checked_list(values: Any) -> list[Any]:
    return limits.checked_list(values, "what an assessor said")
