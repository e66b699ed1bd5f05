"""Answer types of the tools.

Times are ISO 8601 in UTC and ids are full references. An open end of time is null, and so is a commit number on a
server of one world.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, Literal

import msgspec

import worlddb
from worlddb import EntityPath, Hit, HitGroup, Proposal, Valid, Version, Withdrawal, World, format_time
from worlddb.memory_scopes import BEGINNING
from worlddb.plain_text import around, clipped, escaped, format_bound, one_line
from worlddb.tools.mcp import mcp_wording

MAX_LISTED_TEXT: Final = 1_000
"""Characters of a memory's text in a list; ``memory_read`` has all of it."""
MAX_EARLIER: Final = 5
MAX_READ_TEXT: Final = 20_000
"""Characters of a memory's text in one answer of ``memory_read``."""
MAX_NAME: Final = 200
"""Characters of a memory's name in a list."""
MAX_CONFLICTS: Final = 20
"""Contradicting memories named with a memory; ``memory_conflicts`` has all of them."""


MAX_AFFECTED: Final = 50
"""Memories named that rest on what is taken back."""
MAX_BASES: Final = 20
"""Of what a memory rests on, so many are named with it."""


class Basis(msgspec.Struct, kw_only=True):
    """A memory that another was made of, by so many ``steps``, who said it and from where. See ``Memory``."""

    id: str
    steps: int
    author: str
    learned_at: str
    source: dict[str, Any]
    trust: str | None


class Memory(msgspec.Struct, kw_only=True):
    """A memory.

    ``truncated``: its text goes on, see ``memory_read``. ``source`` is its provenance, or the beginning of a long one.
    ``conflicts`` are the first memories that contradict it; see ``memory_conflicts``. ``rests_on`` are the first of
    those that it was made of, at any remove. ``trust`` is how far the operator trusts all of that: none, low, fair or
    full; null if nothing is said of it. ``stale`` says what it was made of, or lies in, and holds no more. From
    ``expires_at`` on it is hidden, unless it is ``pinned``; ``memory_mark`` changes these, and its ``labels``.
    ``owners`` are the users whose memory it is, if no scope was named.
    """

    id: str
    type: str
    name: str
    text: str
    truncated: bool
    valid_from: str | None
    valid_to: str | None
    learned_at: str
    author: str
    source: dict[str, Any]
    conflicts: list[str]
    rests_on: list[Basis]
    rests_on_more: bool
    trust: str | None
    stale: list[str]
    expires_at: str | None
    pinned: bool
    labels: list[str]
    owners: list[str]


class Earlier(msgspec.Struct, kw_only=True):
    """An earlier text of a memory."""

    text: str
    truncated: bool
    valid_from: str | None
    valid_to: str | None


class Found(Memory):
    """A recalled memory, and why; ``confidence`` is how likely it answers, null where nobody knows.

    If the question asks for change, ``earlier`` is what it said before, newest first, or what it says since, if an
    earlier text is shown; ``memory_history`` has all of it.
    ``inferred`` is what was inferred of it, where that counted or was asked for; ``scope`` where it was found, if the
    nearest scopes were asked first.
    """

    score: float
    confidence: float | None
    reason: str
    earlier: list[Earlier]
    inferred: dict[str, Any]
    scope: str | None


class Way(msgspec.Struct, kw_only=True):
    """A path of edges from what a question names, as text; ``ids`` are the worlds on it."""

    text: str
    ids: list[str]
    score: float


class Memories(msgspec.Struct, kw_only=True):
    """A page of memories, as true at ``valid`` and known at commit ``seq``; ``notes`` say which scope is not there."""

    memories: list[Memory]
    notes: list[str]
    next_cursor: str | None
    seq: int | None
    valid: str | None


class Session(msgspec.Struct, kw_only=True):
    """A run, conversation or document that answers; or a memory in none, standing for itself.

    ``count`` of the memories in it were found; ``memories`` are the ids of the best of them, best first.
    """

    id: str
    type: str
    name: str
    score: float
    count: int
    memories: list[str]


class Rivals(msgspec.Struct, kw_only=True):
    """Two memories that both hold and may not both be true: ``id`` began later than ``earlier``.

    ``relation`` is ``replacement``, ``contradiction`` or, of a message that may change the earlier one, ``perhaps``.
    """

    id: str
    earlier: str
    relation: str


class Recalled(msgspec.Struct, kw_only=True):
    """A page of memories that answer a question, best first.

    They are true at ``valid`` and known at commit ``seq``. If it was asked for by session, ``groups`` come best first,
    and the memories are theirs. ``notes`` say what may have been missed and why; ``space`` is the embedding space that
    was compared, null if none was, and where one world is served. ``confidence`` is how likely one of them answers;
    if it is ``weak``, perhaps none does. ``competing`` are those of the page that compete, absent if none do.
    """

    memories: list[Found]
    groups: list[Session]
    paths: list[Way]
    notes: list[str]
    space: str | None
    confidence: float | None
    weak: bool = False
    competing: list[Rivals] | msgspec.UnsetType = msgspec.UNSET
    next_cursor: str | None
    seq: int | None
    valid: str | None


class Scope(msgspec.Struct, kw_only=True):
    """A user, agent, app or run."""

    id: str
    kind: str
    scope_id: str
    retired: bool
    since: str


class Scopes(msgspec.Struct, kw_only=True):
    """A page of scopes."""

    scopes: list[Scope]
    next_cursor: str | None


class Whole(Memory):
    """One memory with its scopes.

    ``next_offset`` is where the rest of its text begins. An ``erased`` memory has no text.
    """

    scopes: list[str]
    retired: bool
    erased: bool
    characters: int
    next_offset: int | None


class Inside(Whole):
    """One world with the first of its members; ``more_members`` says that there are more."""

    members: list[Memory]
    more_members: bool


class Done(msgspec.Struct, kw_only=True):
    """The effect of a write, in commit ``seq``.

    ``written_at`` is null if nothing had to be written. ``proposals`` wait for ``memory_decide``; ``notes`` are worth
    knowing.
    """

    id: str | None
    outcome: str
    seq: int | None
    written_at: str | None
    retired: int
    proposals: list[str]
    notes: list[str]


class NearMemory(msgspec.Struct, kw_only=True):
    """A memory that a new one may repeat, replace or contradict, or hold beside (``compatible``), and why.

    ``linked`` is the type of the edge that joins them now, if one was written.
    """

    id: str
    text: str
    relation: str
    likeness: float
    reason: str
    linked: str | None


class Saved(Done, kw_only=True):
    """The effect of ``memory_write``, and what is ``near`` the new memory. Nothing was decided about that."""

    near: list[NearMemory]


class KeptMemory(msgspec.Struct, kw_only=True):
    """A world of a forgotten user that stays, since others contain it or refer to it."""

    id: str
    name: str
    why: str


class ErasedLiteral(msgspec.Struct, kw_only=True):
    """A literal of statements that is to go (``outcome`` planned), or went in commit ``seq`` (erased).

    ``statements`` of ``worlds`` lose it, past ones too; ``elsewhere`` are other worlds that state it, and keep it.
    ``receipt`` can be checked with ``worlddb check-receipt``.
    """

    outcome: Literal["planned", "erased"]
    statements: int
    worlds: list[str]
    elsewhere: list[str]
    seq: int | None = None
    receipt: dict[str, Any] | None = None


class Forgotten(msgspec.Struct, kw_only=True):
    """The effect of forgetting a user, in commit ``seq``.

    ``erased`` counts what was erased. ``kept`` is what stays and why. ``receipt`` can be checked with
    ``worlddb check-receipt``.
    """

    user_id: str
    seq: int
    erased: int
    kept: list[KeptMemory]
    receipt: dict[str, Any]


class Message(msgspec.Struct, kw_only=True):
    """A message of working memory, and when it was added."""

    role: str
    text: str
    at: str


class Buffer(msgspec.Struct, kw_only=True):
    """The messages of a session that have not expired, oldest first."""

    messages: list[Message]


class Buffered(msgspec.Struct, kw_only=True):
    """How many messages a session has now."""

    messages: int


class Consolidation(msgspec.Struct, kw_only=True):
    """What a consolidation wrote, or with ``dry_run`` would write; ``left`` counts what is still due.

    ``summaries`` are ids of summaries, or of what would get one; ``closed`` and ``retracted`` count inferred edges,
    ``conflicts`` contradictions, ``proposals`` pairs that may be one, ``marked`` what was labelled stale.
    """

    summaries: list[str]
    closed: int
    retracted: int
    conflicts: int
    proposals: int
    marked: int
    left: int
    dry_run: bool
    busy: bool


class Dreamt(msgspec.Struct, kw_only=True):
    """What a dream did, or with ``dry_run`` would do; ``report`` is the id of the world that tells it.

    ``deprecated`` are ids of memories that were put out of sight, ``held_back`` of those that the breaker kept, which
    ``tripped``; ``protected`` counts what is pinned or published and was left alone, ``left`` what is still due.
    """

    report: str
    assessed: int
    deprecated: list[str]
    held_back: list[str]
    protected: int
    tripped: bool
    halted: bool
    left: int
    dry_run: bool
    busy: bool


class HeldSpan(msgspec.Struct, kw_only=True):
    """A span in which a version holds; an open end is null."""

    valid_from: str | None
    valid_to: str | None


class VersionEntry(msgspec.Struct, kw_only=True):
    """One version of a memory, or of one that it replaced or was replaced by; ``stale`` as a memory's.

    ``spans``: those in which it holds, if they are not the one from valid_from to valid_to. ``start``: whether that was
    stated or defaulted to when it was learned; empty where nobody recorded it.
    """

    id: str
    text: str
    truncated: bool
    valid_from: str | None
    valid_to: str | None
    spans: list[HeldSpan]
    start: str
    seq: int | None
    learned_at: str
    author: str
    why: str
    erased: bool
    source: dict[str, Any]
    properties: dict[str, Any]
    stale: list[str]


class Versions(msgspec.Struct, kw_only=True):
    """A memory's history, oldest first; ``complete`` is false if there is more than is shown."""

    versions: list[VersionEntry]
    complete: bool


class Pair(msgspec.Struct, kw_only=True):
    """Two entities that may be the same, the newcomer and the known one, each with the users whose entry it is."""

    proposal: str
    status: str
    newcomer: str
    newcomer_name: str
    newcomer_owners: list[str]
    known: str
    known_name: str
    known_owners: list[str]
    because: str


class Pairs(msgspec.Struct, kw_only=True):
    """A page of proposals."""

    proposals: list[Pair]
    next_cursor: str | None


class Conflict(msgspec.Struct, kw_only=True):
    """Two memories that contradict each other while both hold."""

    first: Memory
    second: Memory


class Contradictions(msgspec.Struct, kw_only=True):
    """A page of conflicts."""

    conflicts: list[Conflict]
    next_cursor: str | None


class Affected(msgspec.Struct, kw_only=True):
    """A memory that depends on another one, so many steps away; ``path`` leads to it."""

    id: str
    type: str
    name: str
    depth: int
    path: list[str]


class ForkedMemory(msgspec.Struct, kw_only=True):
    """A memory in a fork: its id there, and the beginning of its text."""

    id: str
    type: str
    name: str
    text: str


class Fork(msgspec.Struct, kw_only=True):
    """A fork ``id`` of the world ``of``; ``merged``: it was merged at least once."""

    id: str
    of: str
    begun_at: str
    author: str
    why: str
    merged: bool


class Forks(msgspec.Struct, kw_only=True):
    """The forks of a world, its own origin, and the memories in it; ``more``: there are others."""

    forks: list[Fork]
    forked_from: Fork | None
    inside: list[ForkedMemory]
    more: bool


class Forked(Done, kw_only=True):
    """A new fork ``id``, and the first memories in it."""

    inside: list[ForkedMemory]
    more: bool


class MergeChange(msgspec.Struct, kw_only=True):
    """A change that a merge makes to a world: what, and to which text, name or edge."""

    id: str
    what: str
    detail: str


class MergeConflict(msgspec.Struct, kw_only=True):
    """A conflict of a merge; ``choices`` are the values that ``decide`` may give its ``id``."""

    id: str
    world: str
    what: str
    base: str
    ours: str
    theirs: str
    choices: list[str]


class Merged(msgspec.Struct, kw_only=True):
    """The result of a merge. If ``undecided`` conflicts are open, nothing was written and ``seq`` is null.

    ``erased`` are memories that take no part, since their texts were erased.
    """

    into: str
    outcome: str
    seq: int | None
    changes: list[MergeChange]
    conflicts: list[MergeConflict]
    undecided: list[str]
    erased: list[str]
    notes: list[str]


class Impact(msgspec.Struct, kw_only=True):
    """The memories that depend on one, nearest first; ``more`` counts what is not shown.

    ``cut_off`` are memories behind which more lies deeper.
    """

    affected: list[Affected]
    more: int
    cut_off: list[str]


class WithdrawnVersion(msgspec.Struct, kw_only=True):
    """A version that the source said."""

    id: str
    name: str
    author: str
    version: int


class RestingMemory(msgspec.Struct, kw_only=True):
    """A dependent memory, with the paths to it by ids and the least trust along each; ``more``: other paths too."""

    id: str
    name: str
    steps: int
    trust: str | None
    paths: list[list[str]]
    path_trust: list[str | None]
    more: bool


class QuestionWithout(msgspec.Struct, kw_only=True):
    """The hits of a question with and without the source."""

    question: str
    before: list[str]
    after: list[str]


class WithdrawalPlan(msgspec.Struct, kw_only=True):
    """What a source said, what rests on it, and how many memories withdrawing it changes; ``more`` is not shown.

    ``done_at`` is the time of the withdrawal, null of a plan. ``cut_off`` are memories behind which more rests.
    """

    withdrawn: list[WithdrawnVersion]
    rests_on_it: list[RestingMemory]
    more: int
    cut_off: list[str]
    changes: int
    kept: int
    answers: list[QuestionWithout]
    receipts: list[str]
    done_at: str | None = None
    seq: int | None = None


class RecallChecked(msgspec.Struct, kw_only=True):
    """What became of checking a receipt: ``verdict`` is ``holds`` if the same question has the same answer.

    ``proved`` hits were proved to have been there, ``erased`` ones have no text; ``reference`` names the state.
    """

    verdict: str
    problems: list[str]
    proved: int
    erased: list[str]
    reference: str


class Receipted(msgspec.Struct, kw_only=True):
    """What an exact recall found, best first, and the receipt that it left: one line of JSON, without any text.

    ``reference`` names the state that was asked, ``seq`` its commit.
    """

    memories: list[Found]
    receipt: str
    reference: str
    seq: int | None
    valid: str | None


class KeptReceipt(msgspec.Struct, kw_only=True):
    """A receipt that the log keeps since ``seq``: its hash, and the state that was asked; null once it was erased."""

    hash: str | None
    reference: str | None
    seq: int | None
    kept_at: str


class KeptReceipts(msgspec.Struct, kw_only=True):
    """The kept receipts that name a memory, the latest first; ``more`` that are not listed."""

    receipts: list[KeptReceipt]
    more: int


class Profile(msgspec.Struct, kw_only=True):
    """A profile that closes the vocabulary of the world ``id``, and of all inside."""

    id: str
    name: str
    profile: str
    node_types: list[str]
    relations: list[str]
    why: str


class Profiles(msgspec.Struct, kw_only=True):
    """Profiles, in the order in which they were set."""

    profiles: list[Profile]


class BeliefSettings(msgspec.Struct, kw_only=True):
    """What counts as believed: tags that bear beliefs, predicates of one value, and how types are compared."""

    tags: list[str]
    single: list[str]
    entrenchment: dict[str, str]


class Origin(Basis):
    """A memory that another was made of, with its type and name."""

    type: str
    name: str


class Origins(msgspec.Struct, kw_only=True):
    """What a memory was made of, at any remove, the nearest first; ``more`` counts what is not shown."""

    rests_on: list[Origin]
    more: int


class Walked(msgspec.Struct, kw_only=True):
    """One step of a path: the memory that it reaches, and the relation followed; ``back``: against its direction."""

    id: str
    name: str
    relation: str
    back: bool


class Path(msgspec.Struct, kw_only=True):
    """A shortest path from one memory to another; empty if there is none, or if both are the same."""

    steps: list[Walked]


class ResolvedArtifact(msgspec.Struct, kw_only=True):
    """A pointer to what is kept elsewhere. Nothing was opened."""

    name: str
    location: str
    media_type: str
    size: int | None
    hash: str


class Resolved(msgspec.Struct, kw_only=True):
    """What a kref stands for: a version of a memory, an artifact, or neither if no version holds."""

    kref: str
    memory: Memory | None
    version: int | None
    artifact: ResolvedArtifact | None


class Preference(msgspec.Struct, kw_only=True):
    """What somebody prefers, avoids, rejected or optimizes for, and how sure that is, from 0 to 1.

    ``stated`` counts statements; ``inferred``: nobody stated it. ``outcomes`` count what came of acting by it.
    """

    id: str
    relation: str
    name: str
    confidence: float
    stated: int
    inferred: bool
    outcomes: dict[str, int]
    why: str


class Preferences(msgspec.Struct, kw_only=True):
    """The preferences of somebody, the surest first; ``more`` counts what is not shown."""

    preferences: list[Preference]
    more: int


class State(msgspec.Struct, kw_only=True):
    """One state of a relation: ``holds`` at the time asked about; what was ``retracted`` was never so."""

    id: str
    relation: str
    source: str
    target: str
    name: str
    valid_from: str | None
    valid_to: str | None
    holds: bool
    retracted: bool
    said_at: str
    by: str
    why: str
    context: dict[str, Any]


class States(msgspec.Struct, kw_only=True):
    """What was said of the relations of a memory, the latest first; ``more`` counts what is not shown."""

    states: list[State]
    more: int


class Belief(msgspec.Struct, kw_only=True):
    """What is believed of a memory."""

    id: str
    predicate: str
    value: str


class Believed(msgspec.Struct, kw_only=True):
    """All that is believed of a memory."""

    beliefs: list[Belief]


class Changed(msgspec.Struct, kw_only=True):
    """A version that a contraction replaces, and the spans in which it holds."""

    id: str
    name: str
    version: int
    tags: list[str]
    spans: list[HeldSpan]


class Contraction(msgspec.Struct, kw_only=True):
    """What a contraction changes, or did: what goes, what stays since it is more entrenched, what rests on it.

    ``done`` has the effect if it was done; without, nothing was written. ``more`` counts what rests on it beside what
    is shown.
    """

    goes: list[Belief]
    stays: list[Belief]
    changes: list[Changed]
    rests_on: list[Affected]
    more: int
    receipts: int
    done: Done | None


class Verified(msgspec.Struct, kw_only=True):
    """Whether the store is what was written to it.

    ``root`` stands for everything in it, at commit ``seq``.
    """

    ok: bool
    seq: int | None
    root: str
    commits: int | None
    findings: list[str]


time = format_bound


def _text_fields(text: str) -> dict[str, Any]:
    return {"text": text[:MAX_LISTED_TEXT], "truncated": len(text) > MAX_LISTED_TEXT}


def _short_name(text: str) -> str:
    """Shorten a name for a list."""
    return clipped(text, MAX_NAME)


Called = Callable[[str], str]
"""Finds what a memory is called, by its id: its name, or the beginning of its text."""


def called_in(view: worlddb.View) -> Called:
    """Return what calls the memories of a view; an erased one is called nothing."""

    def called(ref: str) -> str:
        world = view.get(ref, include_superseded=True, include_expired=True, include_deprecated=True)
        return "" if world is None else _short_name(world.name or one_line(world.content))

    return called


def _source(source: dict[str, Any], limit: int) -> dict[str, Any]:
    """Return a provenance, or its beginning if its JSON is longer than ``limit`` characters."""
    written = msgspec.json.encode(source).decode()
    return source if len(written) <= limit else {"truncated": written[:limit]}


def _span_fields(valid: Valid) -> dict[str, Any]:
    return {"valid_from": time(valid.start), "valid_to": time(valid.end)}


def _memory_fields(found: World | Hit) -> dict[str, Any]:
    return {
        "id": found.ref,
        "type": found.type,
        "name": _short_name(found.name),
        **_text_fields(found.content),
        **_span_fields(found.valid),
        "learned_at": format_time(found.ingested_at),
        "author": found.author,
        "source": _source(found.source, MAX_LISTED_TEXT),
        "conflicts": list(found.conflicts[:MAX_CONFLICTS]),
        "expires_at": None if found.expires_at is None else time(found.expires_at),
        "pinned": found.pinned,
        "labels": list(found.labels),
        **provenance_fields(found),
    }


def provenance_fields(found: World | Hit) -> dict[str, Any]:
    """Return the fields on what a world depends on, and how far that is trusted."""
    return {
        "rests_on": [_basis(base) for base in found.rests_on[:MAX_BASES]],
        "rests_on_more": found.rests_on_more or len(found.rests_on) > MAX_BASES,
        "trust": found.trust,
        "stale": _stale_reasons(found),
    }


def _stale_reasons(found: World | Hit) -> list[str]:
    """Return the reasons why a world may be outdated, a sentence each."""
    told = [_stale_reason(each) for each in found.stale[:MAX_BASES]]
    if found.in_ended:
        told.append(f"it lies in {found.in_ended}, which has ended")
    return told


def _stale_reason(each: worlddb.Stale) -> str:
    by = f" by {each.by}" if each.by else ""
    what = {
        "ended": "ended",
        "superseded": f"was superseded{by}",
        "replaced": "was amended",
        "erased": "was erased",
    }[each.why]
    way = f" by way of {', '.join(each.path[:-1])}" if each.path[1:] else ""
    return f"it was made of {each.ref}{way}, which {what} {format_time(each.since)}"


def _basis(found: worlddb.Basis) -> Basis:
    return Basis(
        id=found.ref,
        steps=found.steps,
        author=found.author,
        learned_at=format_time(found.ingested_at),
        source=_source(found.source, MAX_LISTED_TEXT),
        trust=found.trust,
    )


def affected(found: worlddb.Reached, called: Called) -> Affected:
    """Return a memory that a walk came to."""
    return Affected(id=found.ref, type=found.type, name=called(found.ref), depth=found.depth, path=list(found.path))


def origin(found: worlddb.Basis, called: Called) -> Origin:
    """Return a memory that another one was made of."""
    return Origin(**msgspec.structs.asdict(_basis(found)), type=found.type, name=called(found.ref))


def preference(found: worlddb.Preference) -> Preference:
    """Return a preference."""
    return Preference(
        id=found.object,
        relation=found.relation,
        name=_short_name(found.name),
        confidence=found.confidence,
        stated=found.stated,
        inferred=found.inferred,
        outcomes=found.outcomes,
        why=found.why[:MAX_LISTED_TEXT],
    )


def state(found: worlddb.State, name: str) -> State:
    """Return a state of a relation; ``name`` is that of its far end."""
    return State(
        id=found.ref,
        relation=found.type,
        source=found.source,
        target=found.target,
        name=_short_name(name),
        valid_from=time(found.valid.start),
        valid_to=time(found.valid.end),
        holds=found.holds,
        retracted=bool(found.retracted),
        said_at=format_time(found.ingested_at),
        by=found.author,
        why=found.why[:MAX_LISTED_TEXT],
        context=found.context,
    )


def contraction(plan: worlddb.Plan, done: Done | None, called: Called) -> Contraction:
    """Return what a contraction changes, or has changed."""
    shown = [affected(each, called) for each in plan.rests_on[:MAX_AFFECTED]]
    return Contraction(
        goes=[belief(each) for each in plan.goes],
        stays=[belief(each) for each in plan.stays],
        changes=[
            Changed(
                id=each.item,
                name=called(each.item),
                version=each.version,
                tags=list(each.tags),
                spans=[HeldSpan(valid_from=time(start), valid_to=time(end)) for start, end in each.spans],
            )
            for each in plan.changes
        ],
        rests_on=shown,
        more=len(plan.rests_on) - len(shown),
        receipts=len(plan.receipts),
        done=done,
    )


def kept_receipt(kept: worlddb.KeptReceipt, seq: int | None) -> KeptReceipt:
    """Return a kept receipt; ``seq`` is its commit where commits have numbers."""
    left = kept.receipt
    told = {"hash": None, "reference": None} if left is None else {"hash": left.hash, "reference": left.reference}
    return KeptReceipt(**told, seq=seq, kept_at=format_time(kept.ingested_at))


def withdrawal_plan(plan: Withdrawal, limit: int, called: Called) -> WithdrawalPlan:
    """A plan of a withdrawal, the first of each of its lists."""
    resting, withdrawn = plan.rests_on_it[:limit], plan.withdrawn[:limit]
    return WithdrawalPlan(
        withdrawn=[
            WithdrawnVersion(id=each.ref, name=called(each.ref), author=each.author, version=each.number)
            for each in withdrawn
        ],
        rests_on_it=[
            RestingMemory(
                id=each.ref,
                name=called(each.ref),
                steps=each.depth,
                trust=each.trust,
                paths=[list(path.worlds) for path in each.paths],
                path_trust=[path.trust for path in each.paths],
                more=each.more_paths,
            )
            for each in resting
        ],
        more=len(plan.rests_on_it) - len(resting) + len(plan.withdrawn) - len(withdrawn),
        cut_off=list(plan.cut_off),
        changes=len(plan.changes),
        kept=len(plan.kept),
        answers=[
            QuestionWithout(question=each.question, before=list(each.before), after=list(each.after))
            for each in plan.answers
        ],
        receipts=list(plan.receipts),
    )


def fork(found: worlddb.Fork) -> Fork:
    """Return a fork of a world."""
    return Fork(
        id=found.ref,
        of=found.of,
        begun_at=format_time(found.ingested_at),
        author=found.author,
        why=found.why,
        merged=bool(found.merged),
    )


def merged(found: worlddb.Merge, done: Done | None, *, is_plan: bool) -> Merged:
    """Return what a merge changes, or has changed."""
    what_was_done = "unchanged" if done is None else "merged"
    return Merged(
        into=found.into,
        outcome="planned" if is_plan else "undecided" if found.undecided else what_was_done,
        seq=None if done is None else done.seq,
        changes=[MergeChange(id=each.world, what=each.what, detail=each.detail) for each in found.changes],
        conflicts=[
            MergeConflict(
                id=each.id,
                world=each.world,
                what=each.what,
                base=each.base,
                ours=each.ours,
                theirs=each.theirs,
                choices=list(each.choices),
            )
            for each in found.conflicts
        ],
        undecided=[each.id for each in found.undecided],
        erased=list(found.erased),
        notes=[] if done is None else done.notes,
    )


def dreamt(done: Any) -> Dreamt:
    """Return what a dream did."""
    return Dreamt(
        report=done.report,
        assessed=done.assessed,
        deprecated=list(done.deprecated),
        held_back=list(done.held_back),
        protected=done.protected,
        tripped=done.tripped,
        halted=done.halted,
        left=done.left,
        dry_run=done.dry_run,
        busy=done.busy,
    )


def belief(atom: tuple[str, str, str]) -> Belief:
    """Return an atom."""
    item, predicate, value = atom
    return Belief(id=item, predicate=predicate, value=value[:MAX_LISTED_TEXT])


def resolved(kref: str, found: World | worlddb.Artifact | None) -> Resolved:
    """Return what a kref stands for."""
    item = found if isinstance(found, World) else None
    pointer = found if isinstance(found, worlddb.Artifact) else None
    return Resolved(
        kref=kref,
        memory=None if item is None else memory(item),
        version=None if item is None else item.number,
        artifact=None if pointer is None else ResolvedArtifact(**msgspec.structs.asdict(pointer)),
    )


def memory(found: World, owners: Iterable[str] = ()) -> Memory:
    """Return a world as an item of a list."""
    return Memory(**_memory_fields(found), owners=[*owners])


def hit(found: Hit, question: str, owners: Iterable[str] = ()) -> Found:
    """Return a hit with its reason; of a long text, the piece with most of the question's words."""
    earlier = [
        Earlier(**_text_fields(other.content), **_span_fields(other.valid)) for other in found.others[:MAX_EARLIER]
    ]
    fields = _memory_fields(found) | {"text": around(found.content, question, MAX_LISTED_TEXT)}
    why = found.reason[:MAX_LISTED_TEXT]
    return Found(
        **fields,
        score=found.score,
        confidence=found.confidence,
        reason=why,
        earlier=earlier,
        inferred=found.inferred,
        scope=found.scope or None,
        owners=[*owners],
    )


def way(found: EntityPath) -> Way:
    """Return a path as a text."""
    return Way(text=found.context[:MAX_LISTED_TEXT], ids=list(found.nodes), score=found.score)


def session(found: HitGroup, world: World | None, most: int) -> Session:
    """Return a group of hits; ``world`` contains them, unless it was erased."""
    return Session(
        id=found.key,
        type="" if world is None else world.type,
        name="" if world is None else _short_name(world.name),
        score=round(found.score, 6),
        count=len(found.hits),
        memories=[hit.ref for hit in found.hits[:most]],
    )


def looked_up(found: World, owners: Iterable[str]) -> Found:
    """Return a world that was asked for by id, in the form of a hit."""
    return Found(
        **_memory_fields(found),
        score=1.0,
        confidence=None,
        reason="asked for by id",
        earlier=[],
        inferred={},
        scope=None,
        owners=[*owners],
    )


def whole(found: World, scopes: list[str], owners: list[str], offset: int) -> Whole:
    """Return a world with a long piece of its text."""
    end = offset + MAX_READ_TEXT
    left = len(found.content) > end
    shown = {"text": found.content[offset:end], "truncated": left, "next_offset": end if left else None}
    shown |= {"name": found.name, "source": _source(found.source, MAX_READ_TEXT)}
    state = {
        "scopes": scopes,
        "owners": owners,
        "retired": found.closed,
        "erased": found.erased,
        "characters": len(found.content),
    }
    return Whole(**(_memory_fields(found) | shown | state))


def inside(found: World, scopes: list[str], owners: list[str], members: list[World], *, more: bool) -> Inside:
    """Return a world as a resource shows it; its owners are those of its members."""
    shown = whole(found, scopes, owners, 0)
    fields = {name: getattr(shown, name) for name in shown.__struct_fields__}
    return Inside(**fields, members=[memory(member, owners) for member in members], more_members=more)


def version_entry(ref: str, version: Version, seq: int | None) -> VersionEntry:
    """Return a version of a world; ``seq`` is its commit where that may be told."""
    return VersionEntry(
        id=ref,
        **_text_fields(version.content),
        **_span_fields(version.valid),
        spans=[HeldSpan(**_span_fields(each)) for each in version.spans],
        start=version.start,
        seq=seq,
        learned_at=format_time(version.ingested_at),
        author=version.author,
        why=version.why[:MAX_LISTED_TEXT],
        erased=version.erased,
        source=_source(version.source, MAX_LISTED_TEXT),
        properties=_source(version.properties, MAX_LISTED_TEXT),
        stale=[_stale_reason(each) for each in version.stale[:MAX_BASES]],
    )


def pair(found: Proposal, owners: Callable[[str], list[str]]) -> Pair:
    """Return a proposal with the names of its sides, and whose they are."""
    return Pair(
        proposal=found.ref,
        status=found.status,
        newcomer=found.source,
        newcomer_name=_short_name(found.source_name),
        newcomer_owners=owners(found.source),
        known=found.target,
        known_name=_short_name(found.target_name),
        known_owners=owners(found.target),
        because=found.because[:MAX_LISTED_TEXT],
    )


SHORT: Final = 8
"""Digits of an id in a brief answer; a prefix that several memories have is an error that names them."""
_ID: Final = re.compile(r"\b[0-9a-f]{32}\b")
_NO_NAME: Final = frozenset(("", "Fact"))
"""Common types, which a brief answer leaves out."""


def brief(answer: Memories | Recalled, writer: str) -> str:
    """Return a list of memories as lines: id, since when it holds, and what it says.

    The further lines of a memory's own text begin with ``|``, other facts about it with ``-``, a path of edges with
    ``~``, so that no memory can pass for another one or for words of the server. ``writer`` is the
    author who is not named.
    """
    memories = {memory.id: memory for memory in answer.memories}
    output: list[str] = []
    groups = answer.groups if isinstance(answer, Recalled) else []
    for group in groups:
        named = f" {mcp_wording.quoted(group.name)}" if group.name else ""
        output.append(f"# {group.id[:SHORT]} {mcp_wording.named(group.type)}{named}, found in it: {group.count}")
        output += (line for ref in group.memories for line in _brief_lines(memories[ref], writer))
    output += (line for memory in (() if groups else answer.memories) for line in _brief_lines(memory, writer))
    if not answer.memories:
        output.append("No memories.")
    output += (f"~ {one_line(each.text)}" for each in (answer.paths if isinstance(answer, Recalled) else ()))
    output += _judged_lines(answer) if isinstance(answer, Recalled) else ()
    output += (f"note: {_ID.sub(lambda each: each[0][:SHORT], note)}" for note in answer.notes)
    output += [] if answer.next_cursor is None else [f"next_cursor: {answer.next_cursor}"]
    return "\n".join(output)


def _judged_lines(answer: Recalled) -> Iterator[str]:
    """Return what is so of an answer only at times: that it is weak, and pairs that compete, the later one first."""
    if answer.weak:
        yield "weak: true"
    for pair in answer.competing or ():
        yield f"competing: {pair.id[:SHORT]} {pair.earlier[:SHORT]} {pair.relation}"


def _brief_lines(memory: Memory, writer: str) -> Iterator[str]:
    first, *others = memory.text.splitlines() or [""]
    kind = "" if memory.type in _NO_NAME else f" {mcp_wording.named(memory.type)}"
    name = f" {mcp_wording.quoted(memory.name)}" if memory.name else ""
    by = "" if memory.author == writer else f" by {mcp_wording.named(memory.author)}"
    owners = [mcp_wording.named(each) for each in memory.owners[:MAX_BRIEF]]
    of = f" of {', '.join(owners)}" if owners else ""
    # An entry holds since always, and has often no text: neither is said.
    held = _days(memory)
    days = "" if held in ("always", BEGINNING) else f" {held}"
    yield f"{memory.id[:SHORT]}{days}{kind}{name}{of}{by}{f': {escaped(first)}' if memory.text else ''}"
    yield from mcp_wording.lines("\n".join(others), "| ")
    if memory.truncated:
        yield "- cut: memory_read has all of it"
    for word, refs in (("contradicted by", memory.conflicts), ("made of", [base.id for base in memory.rests_on])):
        if refs:
            more = f" and {len(refs) - MAX_BRIEF} more" if len(refs) > MAX_BRIEF else ""
            yield f"- {word} {', '.join(ref[:SHORT] for ref in refs[:MAX_BRIEF])}{more}"
    if memory.trust is not None and memory.trust != "full":
        yield f"- trust: {memory.trust}"
    yield from (f"- may no longer be valid: {why}" for why in memory.stale)
    for other in memory.earlier if isinstance(memory, Found) else ():
        is_later = (other.valid_from or "") > (memory.valid_from or "")
        yield f"- {'later' if is_later else 'earlier'}, {_days(other)}: {one_line(other.text)}"


def _days(held: Memory | Earlier) -> str:
    """Return the days from which and up to which something holds; the end only if it has one."""
    since = (held.valid_from or "always")[:_DAY]
    return since if held.valid_to is None else f"{since}..{held.valid_to[:_DAY]}"


MAX_BRIEF: Final = 3
"""Ids that a brief answer gives of each kind with a memory."""
_DAY: Final = len("2025-03-01")
