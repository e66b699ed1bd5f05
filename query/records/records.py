"""Records that reads return: plain frozen values, and an explanation of a match in words.

References are hex, times are microseconds, intervals are half-open.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from math import exp, log
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from worlddb.log.model import errors
from worlddb.log.model.times import format_time

if TYPE_CHECKING:
    from worlddb.log.beliefs.recall_receipt import RecallReceipt

MAX_OTHERS: Final = 3
"""How many of the others who were considered are named."""
_LONGEST: Final = 60
"""Characters of a name, or of a value that a caller gave, that are shown."""

_TIERS: Final = {
    "exact": "the same name: {names}",
    "fuzzy": "names with a similar spelling, or one a short form of the other: {names}, {score:.3g} of 1 by"
    " Jaro-Winkler",
    "embedding": "texts close in meaning: cosine {score:.3g} of 1",
    "phonetic": "names that sound alike: {names}, {score:.3g} of 1 by Soundex and Jaro-Winkler",
}
"""What each tier of the resolver found, in its order of preference."""
_LANES: Final = {
    "words": "texts that say nearly the same: {near:.3g} of 1 by their words",
    "meaning": "texts that say nearly the same: {near:.3g} of 1 by their meaning",
}
"""What each lane of a consolidation found."""


def explain_match(evidence: Mapping[str, Any], source: tuple[str, str], target: tuple[str, str], why: str) -> str:
    """Explain in one sentence why two worlds may be one, from a proposal's evidence or reason.

    Empty without either.

    ``source`` and ``target`` are the reference and the name of either side. Evidence that is not the resolver's is
    listed as it was given.
    """
    lane, near = evidence.get("lane"), evidence.get("near")
    if isinstance(lane, str) and lane in _LANES and isinstance(near, int | float):
        return "; ".join([_LANES[lane].format(near=near), *([why] if why else [])])
    tier = evidence.get("tier")
    if not isinstance(tier, str) or tier not in _TIERS or not isinstance(evidence.get("score"), int | float):
        given = ", ".join(f"{name} {_shown(value)}" for name, value in evidence.items() if value not in ("", None, "$"))
        return "; ".join(parts for parts in (given, why) if parts)
    considered = [each for each in _list(evidence.get("considered")) if isinstance(each, Mapping)]
    pair = next((each for each in considered if each.get("ref") in (source[0], target[0])), {})
    # Several that are equally likely share what is written of the first of them; each has its own scores.
    scores = _scores(pair)
    tier = tier if not scores or tier in scores else next((each for each in _TIERS if each in scores), tier)
    names = " and ".join(repr(name[:_LONGEST]) for name in (source[1] or str(evidence.get("name", "")), target[1]))
    parts = [_TIERS[tier].format(names=names, score=scores.get(tier, evidence["score"]))]
    if "embedding" in scores and tier != "embedding":
        parts.append(f"cosine of the texts {scores['embedding']:.3g}")
    least = _mapping(evidence.get("thresholds")).get(tier)
    if isinstance(least, int | float):
        parts.append(f"{least:g} is needed")
    others = [each for each in considered if each is not pair]
    if evidence.get("decision") == "ambiguous":
        parts.append("several candidates are equally near")
    if others:
        parts.append(f"also weighed: {_others(others)}")
    if isinstance(evidence.get("tiebreaker"), str):
        parts.append(f"{evidence['tiebreaker'][:_LONGEST]} chose")
    return "; ".join([*parts, *([why] if why else [])])


def _others(others: list[Mapping[str, Any]]) -> str:
    parts = []
    for each in others[:MAX_OTHERS]:
        best = max(_scores(each).values(), default=0.0)
        guard = each.get("guard")
        how = f"kept apart by {guard}" if isinstance(guard, str) and guard else f"{best:.3g}" if best else "not alike"
        parts.append(f"{str(each.get('name', ''))[:_LONGEST]!r} ({how})")
    left = len(others) - MAX_OTHERS
    return ", ".join(parts) + (f" and {left} more" if left > 0 else "")


def _scores(considered: Mapping[str, Any]) -> dict[str, float]:
    found = _mapping(considered.get("scores"))
    return {tier: score for tier, score in found.items() if tier in _TIERS and isinstance(score, int | float)}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _shown(value: Any) -> str:
    return errors.clipped(str(value), _LONGEST)


class Valid(msgspec.Struct, frozen=True):
    """A validity interval ``[start, end)``; an open end is :data:`worlddb.FOREVER`."""

    start: int
    end: int

    def __str__(self) -> str:
        return f"[{format_time(self.start)}, {format_time(self.end)})"


class Erasure(msgspec.Struct, frozen=True, kw_only=True):
    """The erasure of a text: its commit, time (microseconds), author, and reference.

    An erasure lies outside both time axes: a view of an earlier moment shows it too, for the text is gone there too.
    ``listed``: an upgrade found it beside the log, where older releases kept such records, and nothing proves it.
    """

    seq: int
    ingested_at: int
    author: str
    reason: str
    listed: bool = False


class Restatement(msgspec.Struct, frozen=True, kw_only=True):
    """A restatement of version ``number`` of a world, in commit ``seq``.

    ``source`` and ``why`` are empty if none was given, and after an erasure.
    """

    number: int
    seq: int
    ingested_at: int
    author: str
    source: dict[str, Any]
    why: str


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """A mark that was set or removed on a world in commit ``seq``; it is about attention, not about truth.

    ``kind`` is ``expires`` (hidden from ``expires_at`` on; ``ttl`` seconds if a refresh moves that), ``unexpires``,
    ``labelled`` or ``unlabelled`` (with the ``label``, which is empty once it is erased), ``pinned`` or ``unpinned``,
    ``deprecated`` or ``undeprecated``, ``tagged`` (the ``tag`` stands for ``version`` from then on) or ``untagged``.
    """

    kind: str
    seq: int
    ingested_at: int
    author: str
    why: str
    expires_at: int | None = None
    ttl: float | None = None
    label: str = ""
    tag: str = ""
    version: int = 0


class Basis(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A basis of a world, in the version that the world was made of, with author, source and trust.

    ``steps`` is 1 for what it was made of itself, and more for what that was made of. ``trust`` is as a world's. One
    whose text was ``erased`` has neither type nor name.
    """

    ref: str
    version: str
    type: str
    name: str
    steps: int
    seq: int
    ingested_at: int
    author: str
    source: dict[str, Any]
    trust: str | None
    erased: bool


class Reached(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A world that a walk reached in ``depth`` steps, in the version that the view shows.

    ``path`` leads from the first world after the start to ``ref``, ``edges`` are the references of the edges walked.
    Of several shortest ways it is the one of the earliest edges. An erased world has neither type nor name.
    """

    ref: str
    version: str
    type: str
    name: str
    depth: int
    path: tuple[str, ...]
    edges: tuple[str, ...]


class Reach(msgspec.Struct, frozen=True, kw_only=True):
    """The worlds that a walk over edges reached, nearest first, then in the order of the edges.

    ``cut_off`` are the worlds at which it stopped for its depth, though edges lead on to others that it did not reach.
    """

    worlds: tuple[Reached, ...]
    cut_off: tuple[str, ...]

    def __iter__(self) -> Iterator[Reached]:
        return iter(self.worlds)

    def __len__(self) -> int:
        return len(self.worlds)


class Preference(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody ``prefers``, ``avoids``, ``rejected`` or ``optimizes_for``, by all statements about it.

    ``confidence`` is ``support / (support + against + 1)``, of the ``stated`` and inferred statements and the
    ``outcomes`` (``acted_upon``, ``succeeded`` and ``reversed``, each with how often); what speaks for the opposite of
    the object counts against it. ``inferred`` says that nobody stated it. ``name`` is the object's, ``edges`` are all
    that counts, in log order, from commit ``since_seq`` to ``last_seq``; ``why`` is the reason that was given last.
    """

    subject: str
    relation: str
    object: str
    name: str
    confidence: float
    support: float
    against: float
    stated: int
    inferred: bool
    outcomes: dict[str, int]
    edges: tuple[str, ...]
    since_seq: int
    last_seq: int
    why: str


class Stale(msgspec.Struct, frozen=True, kw_only=True):
    """A reason why a world may no longer hold: one of its bases has ended, was erased, or changed.

    ``path`` leads from what the world was made of itself to ``ref``, which is the last of it. ``why`` is ``ended``,
    ``superseded`` (by the world ``by``, if it is seen), ``replaced`` (a later version holds, which ``version`` names)
    or ``erased``. It is so since the valid time ``since``, and was learned by commit ``seq`` at ``ingested_at``; of an
    erasure ``since`` is when it was erased. ``version`` is otherwise the one that the world was made of.
    """

    ref: str
    version: str
    why: str
    since: int
    seq: int
    ingested_at: int
    by: str
    path: tuple[str, ...]


class Trusted(msgspec.Struct, frozen=True, kw_only=True):
    """A level of trust that an operator set in commit ``seq``: ``none``, ``low``, ``fair`` or ``full``.

    ``of`` is ``author``, ``source``, ``world`` or ``rest`` (all of which nothing else is said); ``field`` is that of a
    source, ``name`` the author, the field's value or the reference of the world. Field and name that were ``erased``
    are empty; the level goes on to hold.
    """

    of: str
    field: str
    name: str
    level: str
    seq: int
    ingested_at: int
    author: str
    why: str
    erased: bool = False


class World(msgspec.Struct, frozen=True, kw_only=True):
    """A world as a view sees it.

    ``seq``, ``ingested_at``, ``author``, ``why`` and ``source`` are of the commit and command that wrote the version
    shown. ``closed`` says that the version is not valid at the view's valid time (only seen with
    ``include_superseded``), ``ended`` that the lineage was retired or superseded. ``conflicts`` are the worlds that
    contradict it while both are valid. ``erased`` worlds have no text left; ``erasure`` says more.

    ``rests_on`` is what it was made of, at any remove, the nearest first, and ``rests_on_more`` says that there is more
    than the 64 that are shown. ``trust`` is the least level of what is said of it and of that, ``None`` if nothing is.
    ``stale`` says of which of that it was made and holds no more, or says something else by now: what it says itself
    may be wrong. ``in_ended`` is the nearest world around it that has ended at the view's moment, if all that contain
    it have, or lie in what has: a member of what was retired holds on, unless it was retired too.
    """

    ref: str
    version: str
    number: int
    type: str
    name: str
    content: str
    aliases: tuple[str, ...]
    valid: Valid
    seq: int
    ingested_at: int
    author: str
    why: str
    source: dict[str, Any]
    closed: bool
    ended: bool
    erased: bool
    erasure: Erasure | None
    conflicts: tuple[str, ...]
    rests_on: tuple[Basis, ...] = ()
    rests_on_more: bool = False
    trust: str | None = None
    stale: tuple[Stale, ...] = ()
    restated: tuple[Restatement, ...] = ()
    expires_at: int | None = None
    pinned: bool = False
    labels: tuple[str, ...] = ()
    properties: dict[str, Any] = {}
    in_ended: str = ""
    deprecated: bool = False
    tags: dict[str, int] = {}


class Edge(msgspec.Struct, frozen=True, kw_only=True):
    """An edge as a view sees it; its versions are the numbers of the versions that it was written against.

    ``valid`` is the span around the view's valid time; ``spans`` are all of them if they are not one.
    """

    ref: str
    type: str
    source: str
    source_version: int
    target: str
    target_version: int
    home: str
    valid: Valid
    closed: bool
    seq: int
    properties: dict[str, Any]
    why: str
    spans: tuple[Valid, ...] = ()


class State(msgspec.Struct, frozen=True, kw_only=True):
    """One state of a relation: an edge stated in commit ``seq``, and its present status.

    ``valid`` is the span around the view's valid time, ``spans`` are all of them if they are not one. ``holds``: it is
    in force at that time. ``why`` is the reason that was given, ``context`` has what was said beside it:
    ``alternatives``, ``optimises_for``, ``sentiment``, ``evidence``. ``retracted`` is the commit that unlinked it, at
    ``retracted_at``; 0 and ``None`` if the view knows of none. ``next`` is the state of the same relation that begins
    where this one ends, or empty.
    """

    ref: str
    type: str
    source: str
    target: str
    valid: Valid
    spans: tuple[Valid, ...]
    holds: bool
    seq: int
    ingested_at: int
    author: str
    why: str
    context: dict[str, Any]
    properties: dict[str, Any]
    retracted: int
    retracted_at: int | None
    next: str


class EdgeType(msgspec.Struct, frozen=True, kw_only=True):
    """An edge type in force in ``world`` and inside it since commit ``seq`` (0: it is built in).

    ``ended`` is the commit that took it back or replaced it, 0 if the view knows of none.

    ``digest`` stands for the handler's code and is made of its ``source``, or of its ``name`` and version where no
    source was to be had, as ``digest_of`` says; of a built-in type it is empty. ``rewrites`` are what the type asks of
    queries. ``available``: this process has that code, so that it can write edges of the type. A relation that was
    declared has no code: ``digest_of`` is ``laws``, and ``laws`` (``succession``, ``acyclic``, ``symmetric``) and the
    name of its ``inverse`` say what it is, beside ``functional``.
    """

    name: str
    version: int
    digest: str
    digest_of: str
    rewrites: tuple[str, ...]
    functional: bool
    world: str
    seq: int
    ended: int
    why: str
    available: bool
    laws: tuple[str, ...] = ()
    inverse: str = ""


class Vocabulary(msgspec.Struct, frozen=True, kw_only=True):
    """The profile that closes the vocabulary of ``world`` and its interior since commit ``seq``."""

    name: str
    node_types: tuple[str, ...]
    relations: tuple[str, ...]
    world: str
    seq: int
    why: str


class Guarded(msgspec.Struct, frozen=True, kw_only=True):
    """How writes into ``world`` and its interior handle credentials and personal data, since commit ``seq``.

    ``off``, ``warn`` or ``enforce``; empty where nothing is said of this world.
    """

    world: str
    credentials: str
    personal: str
    seq: int
    why: str = ""


class Tuning(msgspec.Struct, frozen=True, kw_only=True):
    """The resolver's thresholds for a type (empty: every type) in ``world`` and its interior.

    They are in force since commit ``seq``; ``ended`` is the commit that took them back or replaced them, 0 if the view
    knows of none.
    """

    world: str
    type: str
    fuzzy: float
    phonetic: float
    embedding: float
    margin: float
    most: int
    seq: int
    ended: int
    why: str


class Version(msgspec.Struct, frozen=True, kw_only=True):
    """One version in a lineage's history, with its validity as known to the view.

    ``valid`` goes from its first start to its last end; ``spans`` are those in which it holds if they are not one,
    and none if it holds at no time. ``start`` is ``stated`` or ``defaulted``, empty where nobody recorded it.
    """

    version: str
    number: int
    type: str
    name: str
    content: str
    valid: Valid
    seq: int
    ingested_at: int
    author: str
    why: str
    source: dict[str, Any]
    erased: bool
    erasure: Erasure | None
    spans: tuple[Valid, ...] = ()
    start: str = ""
    stale: tuple[Stale, ...] = ()
    restated: tuple[Restatement, ...] = ()
    properties: dict[str, Any] = {}


class Learned(msgspec.Struct, frozen=True, kw_only=True):
    """One step in how the store learned when a version of a lineage is valid.

    ``change`` is ``written`` for the commit that wrote the version, and ``closed`` for one that took times from it;
    ``valid`` is the validity that it had from then on, with ``spans`` as a version's. The rest is of that commit.
    ``late``: the version begins before one that was known already. ``ref`` is the world.
    """

    number: int
    change: str
    valid: Valid
    seq: int
    ingested_at: int
    author: str
    why: str
    spans: tuple[Valid, ...] = ()
    late: bool = False
    ref: str = ""


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """A period in which a world's content is the same, with the numbers of its ``versions`` there.

    Between two periods that do not meet it says nothing. An ``erased`` text is empty, and nobody can tell whether two
    of them were the same.
    """

    valid: Valid
    versions: tuple[int, ...]
    type: str
    name: str
    content: str
    erased: bool


class Shift(msgspec.Struct, frozen=True, kw_only=True):
    """A valid time ``at`` which the content of a world changes.

    ``before`` and ``after`` are the versions that hold up to it and from it on, ``None`` where none does. The rest is
    of the commit by which it was learned that this is so.
    """

    ref: str
    at: int
    before: Version | None
    after: Version | None
    seq: int
    ingested_at: int
    author: str
    why: str


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """The changes in a span of valid time, and what was learned of that span after its end.

    ``happened`` comes by valid time, ``learned`` in log order.
    """

    happened: tuple[Shift, ...]
    learned: tuple[Learned, ...]


class Proposal(msgspec.Struct, frozen=True, kw_only=True):
    """A staged ``same_as``: ``source`` is the new world, ``target`` the world that it may equal.

    Of one without a name, ``source_name`` or ``target_name`` is the beginning of its text. ``because`` says in words
    what ``evidence`` and ``why`` say.
    """

    ref: str
    status: str
    source: str
    source_name: str
    target: str
    target_name: str
    evidence: dict[str, Any]
    why: str
    seq: int
    decided: int

    @property
    def because(self) -> str:
        """Why the two may be one, in words for the person who decides; empty without a reason."""
        return explain_match(self.evidence, (self.source, self.source_name), (self.target, self.target_name), self.why)


class KnownFact(msgspec.Struct, frozen=True, kw_only=True):
    """An edge of an identity's member, and the world at its other end if that is no member."""

    edge: Edge
    world: World | None


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a view knows of one identity: the answer to an access request.

    ``refs`` are the members of the class in log order, ``names`` all names and aliases that they ever had, ``worlds``
    the members as they are now, ``versions`` all texts of each member, ``links`` the accepted ``same_as`` edges,
    ``facts`` the other edges with what they lead to, but for containment, and ``sources`` the provenance of all of
    these, each once.
    """

    refs: tuple[str, ...]
    names: tuple[str, ...]
    worlds: tuple[World, ...]
    versions: dict[str, tuple[Version, ...]]
    links: tuple[Edge, ...]
    facts: tuple[KnownFact, ...]
    sources: tuple[dict[str, Any], ...]


class Bookmark(msgspec.Struct, frozen=True, kw_only=True):
    """A named moment: commit ``seq``, ingested at ``ingested``.

    The rest is of the commit that set the name.
    """

    name: str
    seq: int
    ingested: int
    set_by: int
    ingested_at: int
    author: str
    why: str


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    """A world that a recall found, with its scores and the reason in words.

    ``valid`` begins where the world began to say the same without a gap, also in an earlier version.

    ``world`` contains it: of several such worlds, the first that was searched. ``lanes`` gives each lane's rank (1 is
    best), ``scores`` what each kind of evidence added to the score.

    Where it was asked what was valid at some instant of a span, the hit is the version that answers best, and
    ``others`` are the world's other versions that were valid in the span, newest first: the newest 20 of them, and
    ``others_left`` more. ``rests_on``, ``rests_on_more``, ``trust`` and ``stale`` are as those of a :class:`World`.
    ``in_ended`` is the nearest world around it that has ended, where all that contain it have, or lie in what has.
    ``confidence``, from 0 to 1, is how likely it is what answers, as fitted; ``None`` where nothing was. ``scope`` is
    the nearest of the scopes that were asked in which it was found, where some were named. ``inferred`` is what was
    inferred of it, by field, where that counted (:meth:`worlddb.Database.enrich`).
    """

    ref: str
    version: str
    type: str
    name: str
    content: str
    score: float
    lanes: dict[str, int]
    reason: str
    world: str
    valid: Valid
    seq: int
    ingested_at: int
    author: str
    source: dict[str, Any]
    conflicts: tuple[str, ...]
    scores: dict[str, float]
    others: tuple[Version, ...]
    others_left: int
    rests_on: tuple[Basis, ...] = ()
    rests_on_more: bool = False
    trust: str | None = None
    stale: tuple[Stale, ...] = ()
    in_ended: str = ""
    restated: tuple[Restatement, ...] = ()
    expires_at: int | None = None
    pinned: bool = False
    labels: tuple[str, ...] = ()
    confidence: float | None = None
    properties: dict[str, Any] = {}
    scope: str = ""
    inferred: dict[str, Any] = {}


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """A world that contains hits directly: a session with turns, a document with paragraphs.

    A hit that lies directly in the world that was searched is a group of its own. ``score`` is the soft maximum of the
    scores of all ``count`` hits in it that were ranked, ``hits`` are the best of those. ``type`` and ``name`` are
    empty for a world that was erased.
    """

    ref: str
    type: str
    name: str
    score: float
    count: int
    hits: tuple[Hit, ...]


class HitGroup(NamedTuple):
    """Hits that have a key in common, best first.

    ``score`` is the soft maximum of theirs, as that of a :class:`Group` is.
    """

    key: Any
    score: float
    hits: tuple[Hit, ...]


def group_hits(hits: Iterable[Hit], keys: Callable[[Hit], Iterable[Hashable]]) -> list[HitGroup]:
    """The hits of a recall in groups of the caller's own: by thread, by day, by speaker.

    ``keys`` gives what groups a hit is in, each named by anything hashable; a hit without one is left out. The best
    group comes first, ties are in the order of their best hits. Recall by containers is ``recall(group=...)``, which
    looks at more candidates than it shows.
    """
    found: dict[Hashable, list[Hit]] = {}
    for hit in hits:
        for key in dict.fromkeys(keys(hit)):
            found.setdefault(key, []).append(hit)
    most = max((hit.score for each in found.values() for hit in each), default=0.0)
    scored = [
        HitGroup(key, soft_maximum((hit.score for hit in each), most), tuple(each)) for key, each in found.items()
    ]
    return sorted(scored, key=lambda group: -round(group.score, 6))


SHARPNESS: Final = 20.0
"""By how much of the best score of all, divided by this, a group gains when it has e times as much; chosen on one half
of the development questions and judged on the other, see docs/retrieval.md."""


def soft_maximum(scores: Iterable[float], most: float) -> float:
    """The soft maximum of scores: at least the highest, and more where others come close.

    It is the logarithm of the sum of the scores' exponentials, in units of ``most`` (the best of all scores) divided by
    :data:`SHARPNESS`, and by ln n units more than the highest where n are equally high.
    """
    given = list(scores)
    best = max(given)
    if most <= 0:
        return best
    unit = most / SHARPNESS
    return best + unit * log(sum(exp((score - best) / unit) for score in given))


class Composed(msgspec.Struct, frozen=True, kw_only=True):
    """What a world is about, as a vector of length 1.

    ``vector`` is pooled by ``pool`` (``attention`` or ``mean``) from the vector of the world's own text (``anchor``, if
    it has one) and from what it contains: ``inside`` counts that, at any depth.
    """

    ref: str
    pool: str
    vector: tuple[float, ...]
    anchor: tuple[float, ...] | None
    inside: int
    model: str


class Competing(msgspec.Struct, frozen=True, kw_only=True):
    """Two statements about one subject that are both valid and may not both be true, as far as their words tell.

    ``ref`` began later than ``earlier``, and stands before it. ``relation`` is ``replacement`` or ``contradiction``;
    with ``perhaps`` it is a message that may change the earlier one, and stands behind it. ``doubt`` is why both may
    be so after all. Nothing was decided: a ``supersedes`` or a ``contradicts`` between them says what is so.
    """

    ref: str
    earlier: str
    relation: str
    reason: str
    doubt: str = ""


class Absence(msgspec.Struct, frozen=True, kw_only=True):
    """Why a world is not among the hits of a recall.

    ``step`` is where it was lost: ``view`` (the view does not show it), ``filters`` (it lies elsewhere than was
    searched, or does not fit), ``lanes`` (no lane had it among its first), ``score`` (others have more); ``""`` if it
    is a hit. ``rank``, ``score``, ``lanes`` and ``scores`` are those that it has where more hits are wanted; ``rank``
    is 0 if it is none even there. ``least`` is the score of the last hit. ``reason`` says all that in words.
    """

    ref: str
    step: str
    rank: int
    score: float
    least: float
    lanes: dict[str, int]
    scores: dict[str, float]
    reason: str


class EntityPath(msgspec.Struct, frozen=True, kw_only=True):
    """A path over edges from an entity, described as a text.

    ``nodes`` are the references of the worlds on it, ``edges`` of the edges between them. ``context`` tells it: names,
    relations with their context, and since when they hold. ``score`` is the share of the question's words that this
    has, or what a reranker gave it. ``of`` is the hit that refers to where it begins, empty if the question names that.
    """

    nodes: tuple[str, ...]
    edges: tuple[str, ...]
    context: str
    score: float
    of: str = ""


class Recall(msgspec.Struct, frozen=True, kw_only=True):
    """The hits of a recall, best first, and how they were found.

    If ``groups`` were asked for, they come best first, and the hits are theirs, group after group.

    ``exact`` says that statistics and candidates are precisely the view's; otherwise they come from the present
    index, which had applied commits up to ``indexed``, and the rest was searched as a tail. ``lanes`` were asked,
    ``unavailable`` says of others why they were not. ``pending`` texts have no vector yet (counted up to 1,000) in
    ``space``, the embedding space whose vectors were compared; it is empty if none were. ``times`` are those that the
    question names and that counted, ``unread`` its words that name one which was not understood. ``confidence``, from 0
    to 1, is how likely one of the hits answers, as fitted, and ``None`` where nothing was; it is of all hits, also of
    those that ``min_confidence`` left out. A ``weak`` answer has little of it. ``note`` says in words what a reader
    should know of all this. A question without a word asks no lane and has no hits.

    Where it was asked what was valid throughout a span, ``left_out`` are the references of those that would be among
    the best if it had been asked what was valid at some instant of it, best first.

    ``competing`` are statements among the first hits of which the later was put beside the earlier. ``begins_later`` is
    the reference of the first hit where it begins only after the past time that the question names. ``receipt`` is
    there if one was asked for, and so are ``paths``: first those from what the question names, then those of each hit.
    """

    hits: tuple[Hit, ...]
    groups: tuple[Group, ...]
    exact: bool
    indexed: int
    lanes: tuple[str, ...]
    note: str
    unavailable: dict[str, str]
    pending: int
    space: str
    left_out: tuple[str, ...] = ()
    times: tuple[Valid, ...] = ()
    unread: tuple[str, ...] = ()
    weak: bool = False
    competing: tuple[Competing, ...] = ()
    confidence: float | None = None
    receipt: "RecallReceipt | None" = None
    paths: tuple[EntityPath, ...] = ()
    begins_later: str = ""

    @property
    def search_mode(self) -> str:
        """The mode of the search (Kumiho §8.2): ``hybrid`` by words and meaning, ``fulltext`` by words, ``vector``
        by meaning alone, ``entity`` by whom the question names alone; empty if no lane was asked."""
        words, meaning = "text" in self.lanes, "vector" in self.lanes
        return "hybrid" if words and meaning else "fulltext" if words else "vector" if meaning else "".join(self.lanes)

    def __iter__(self) -> Any:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)
