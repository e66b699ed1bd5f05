"""Types of request parameters and bodies: they validate requests and define the OpenAPI document."""

from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

MAX_PAGE: Final = 200
MAX_HITS: Final = 1_000
DEFAULT_HITS: Final = 10
DEFAULT_CHUNKS: Final = 20
MAX_STATEMENTS: Final = 50_000
MAX_QUERY_SECONDS: Final = 30

Text = Annotated[str, Meta(max_length=200_000)]
Short = Annotated[str, Meta(max_length=2_000)]
Ref = Annotated[str, Meta(min_length=1, max_length=2_000, description="A full reference, or an exact name.")]
Refs = Annotated[tuple[Ref, ...], Meta(max_length=1_000)]
Subjects = Annotated[tuple[Short, ...], Meta(max_length=64)]
_ISO: Final = "ISO 8601: 2025-03-01 or 2025-03-01T10:00:00Z."
When = Annotated[str, Meta(min_length=1, max_length=64, description=_ISO)]
Known = Annotated[When, Meta(description=f"What was known at this time; by default everything known now. {_ISO}")]
Span = tuple[When, When]
Count = Annotated[int, Meta(ge=1, le=MAX_PAGE, description="The most to return.")]
Commit = Annotated[int, Meta(ge=0, le=2**53, description="The number of a commit, instead of a time.")]
Seconds = Annotated[float, Meta(gt=0, description="Seconds from now, instead of expires_at.")]
Share = Annotated[float, Meta(ge=0.0, le=1.0)]
Amount = Annotated[float, Meta(ge=0.0, le=1_000_000.0)]
Ordinal = Annotated[int, Meta(ge=0, le=2**32 - 1)]


Conditions = Annotated[
    dict[str, Any], Meta(description='Values, or comparisons such as {"age": {"$gte": 18}}; in a URL as JSON.')
]


class Query(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Base of parameters. An unknown parameter is an error, so that a misspelled one is not ignored."""


class AsOf(Query, frozen=True, kw_only=True):
    """A moment: what was known at ``ingested`` (or commit ``seq``) of what is true at ``valid``."""

    ingested: Known | None = None
    valid: Annotated[When, Meta(description=f"What is true at this time; now by default. {_ISO}")] | None = None
    seq: Commit | None = None


class Page(AsOf, frozen=True, kw_only=True):
    """A page of a list as of a moment, which its cursor keeps."""

    limit: Count = 50
    cursor: Annotated[str, Meta(max_length=500)] | None = None


_THROUGHOUT: Final = (
    "Valid throughout: from the first time up to, not including, the second, or .. for an open end; in a URL given"
    " twice."
)
_SOMEWHEN: Final = "Valid at some instant of it: from the first time up to the second; .. is open."


class InSpan(Page, frozen=True, kw_only=True):
    """A span of valid time in the place of an instant."""

    during: Annotated[Span, Meta(description=_THROUGHOUT)] | None = None
    overlaps: Annotated[Span, Meta(description=_SOMEWHEN)] | None = None


class AtSpan(AsOf, frozen=True, kw_only=True):
    """A world as of a moment, or the newest version of it that is valid in a span."""

    during: Annotated[Span, Meta(description=_THROUGHOUT)] | None = None
    overlaps: Annotated[Span, Meta(description=_SOMEWHEN)] | None = None


class FindVersions(AtSpan, frozen=True, kw_only=True):
    """The versions of a world to list: those with something learned ``between`` two times, or valid in a span."""

    between: Annotated[Span, Meta(description="Learned from the first time until the second; given twice.")] | None = (
        None
    )


class FindWorlds(InSpan, frozen=True, kw_only=True):
    """Which worlds are listed. Of a span it is each version that fits, and a page has all those of its last world."""

    name: Short | None = None
    type: Short | None = None
    label: tuple[Short, ...] = ()
    properties: Conditions | None = None
    include_superseded: bool = False
    include_expired: bool = False
    include_deprecated: bool = False


class ListEdges(InSpan, frozen=True, kw_only=True):
    """Which edges of a world are listed."""

    type: Short | None = None
    direction: Literal["out", "in", "both"] = "both"
    include_superseded: bool = False


class Body(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Base of bodies."""


class Claim(Body, frozen=True, kw_only=True):
    """An empty body: the path names the world. Creating or revising a world sets everything else."""


class NewWorld(Body, frozen=True, kw_only=True):
    """A world to create. ``world`` is its container; ``key`` is the caller's permanent name for it."""

    name: Short
    type: Short = "World"
    content: Text = ""
    aliases: tuple[Short, ...] = ()
    world: Ref | None = None
    key: Short | None = None
    valid_from: When | None = None
    valid_to: When | None = None
    source: dict[str, Any] = {}
    properties: dict[str, Any] = {}
    labels: tuple[Short, ...] = ()
    pinned: bool = False
    expires_at: When | None = None
    ttl: Seconds | None = None
    why: Short = ""
    resolve: Literal["exact", "all", "none"] = "exact"
    revive: bool = False
    anew: bool = False


class NewMember(NewWorld, frozen=True, kw_only=True):
    """A world to create inside another one; with ``ref`` an existing world to move into it."""

    name: Short = ""
    ref: Ref | None = None


class Revision(Body, frozen=True, kw_only=True):
    """What a world says from ``valid_from`` (default: now) to ``valid_to``; what is not given stays."""

    type: Short | None = None
    name: Short | None = None
    content: Text | None = None
    valid_from: When | None = None
    valid_to: When | None = None
    replace_later: bool = False
    source: dict[str, Any] = {}
    properties: dict[str, Any] | None = None
    why: Short = ""


class Ending(Query, frozen=True, kw_only=True):
    """When a world stops holding (default: now), and until when it does not hold."""

    valid_from: When | None = None
    valid_to: When | None = None
    members: bool = False
    why: Short = ""


class EdgeEnding(Query, frozen=True, kw_only=True):
    """When an edge ends, and until when it does not hold; without either it is retracted."""

    valid_from: When | None = None
    valid_to: When | None = None
    why: Short = ""


class Resumption(Body, frozen=True, kw_only=True):
    """When a world that had ended holds again, and what it says then."""

    content: Text | None = None
    valid_from: When | None = None
    valid_to: When | None = None
    why: Short = ""


class Removal(Body, frozen=True, kw_only=True):
    """The new container of a world, and the one that it leaves."""

    to: Ref
    out_of: Ref | None = None
    valid_from: When | None = None
    valid_to: When | None = None
    why: Short = ""


class Names(Body, frozen=True, kw_only=True):
    """Further names of a world."""

    aliases: Annotated[tuple[Short, ...], Meta(min_length=1)]
    why: Short = ""


class NewEdge(Body, frozen=True, kw_only=True):
    """An edge to write."""

    source: Ref
    type: Short
    target: Ref
    key: Short | None = None
    properties: dict[str, Any] = {}
    context: (
        Annotated[dict[str, Any], Meta(description="Its context: alternatives, optimises_for, sentiment, evidence.")]
        | None
    ) = None
    valid_from: When | None = None
    valid_to: When | None = None
    versions: (
        Annotated[tuple[Ordinal, Ordinal], Meta(description="Versions of source and target; 0: the newest.")] | None
    ) = None
    why: Short = ""


class Why(Body, frozen=True, kw_only=True):
    """The reason of a decision."""

    why: Short = ""


class NewMemory(Body, frozen=True, kw_only=True):
    """A statement to remember in a world.

    A name in ``about`` that no world has yet becomes an entity there. ``on_near`` links the statement to near
    statements that it contradicts or replaces. A statement named by ``replaces`` ends where this one begins.
    """

    text: Annotated[str, Meta(min_length=1, max_length=200_000)]
    type: Short = "Fact"
    name: Short = ""
    about: Subjects = ()
    contradicts: Refs = ()
    derived_from: Refs = ()
    replaces: Refs = ()
    on_near: Literal["note", "propose", "supersede_same_subject"] = "note"
    valid_from: When | None = None
    valid_to: When | None = None
    source: dict[str, Any] = {}
    properties: dict[str, Any] = {}
    labels: tuple[Short, ...] = ()
    pinned: bool = False
    expires_at: When | None = None
    ttl: Seconds | None = None
    key: Short | None = None
    why: Short = ""


class Marks(Body, frozen=True, kw_only=True):
    """Changes to how a world is found; what it says stays. ``expires_at`` ``never`` lifts its deadline."""

    pinned: bool | None = None
    expires_at: When | None = None
    ttl: Seconds | None = None
    add_labels: tuple[Short, ...] = ()
    remove_labels: tuple[Short, ...] = ()
    deprecated: bool | None = None
    tag: Short | None = None
    version: Annotated[int, Meta(ge=1, description="The version to tag; by default the current one.")] | None = None
    untag: Short | None = None
    why: Short = ""


Hits = Annotated[
    int,
    Meta(
        ge=1, le=MAX_HITS, description=f"The most hits; by default {DEFAULT_HITS}, or fewer if the plan allows fewer."
    ),
]
_CHUNKS_TOLD: Final = f"The most to return; by default {DEFAULT_CHUNKS}, or fewer if the plan allows fewer."


class Question(AsOf, frozen=True, kw_only=True):
    """A question, as parameters."""

    text: Annotated[str, Meta(max_length=20_000)]
    k: Hits | None = None
    exact: bool = False
    include_superseded: bool | None = None


class Fading(Body, frozen=True, kw_only=True):
    """How memories fade, and how much of a score fades with them."""

    half_life_days: Annotated[float, Meta(gt=0, le=1_000_000.0)] = 30.0
    boost: Amount = 0.3
    hot: Amount = 0.5
    warm: Amount = 0.25
    cold: Amount = 0.1
    weight: Share = 0.5


class Filters(Body, frozen=True, kw_only=True):
    """The filters of a recall that hold texts."""

    about: Short | tuple[Short, ...] | None = None
    speaker: Short | tuple[Short, ...] | None = None
    type: Short | tuple[Short, ...] | None = None
    author: Short | tuple[Short, ...] | None = None
    label: Short | tuple[Short, ...] | None = None
    tag: Short | None = None
    source: dict[str, Any] | None = None
    properties: Conditions | None = None


class CheckedRecall(Filters, frozen=True, kw_only=True):
    """The receipt of a recall, with its question and its text filters, exactly as they were asked."""

    receipt: Annotated[str, Meta(min_length=1, max_length=4_000_000, description="As the recall returned it.")]
    text: Annotated[str, Meta(max_length=20_000)]


class LongQuestion(Filters, frozen=True, kw_only=True):
    """A question with all options of a recall."""

    text: Annotated[str, Meta(max_length=20_000)]
    world: Ref | None = None
    scopes: Annotated[tuple[Ref, ...], Meta(min_length=1, max_length=16)] | None = None
    k: Hits | None = None
    ingested: When | None = None
    valid: When | None = None
    seq: Commit | None = None
    exact: bool = False
    include_superseded: bool | None = None
    include_expired: bool = False
    include_deprecated: bool = False
    group: Annotated[int, Meta(ge=1, le=MAX_HITS, description="The hits of each of the best k containers.")] | None = (
        None
    )
    prefer_summaries: bool = False
    decay: Fading | None = None
    receipt: Annotated[bool, Meta(description="Return a receipt; needs exact.")] = False
    lanes: tuple[Literal["text", "vector", "entity"], ...] = ("text", "vector", "entity")
    fusion: Literal["convex", "rrf", "combmax"] = "convex"
    asked: When | None = None
    during: Span | None = None
    overlaps: Span | None = None
    neighbours: Annotated[int, Meta(ge=0, le=MAX_HITS)] = 0
    min_trust: Literal["none", "low", "fair", "full"] | None = None
    trust_weight: Share = 0.0
    min_confidence: Share | None = None
    since: When | None = None
    until: When | None = None
    fields: dict[Literal["content", "inferred", "words"], float] | None = None
    type_weights: dict[Short, float] | None = None
    siblings: Share | None = None
    fuzzy: bool = False
    wordings: Annotated[tuple[Annotated[str, Meta(max_length=20_000)], ...], Meta(max_length=8)] = ()
    paths: Annotated[int, Meta(ge=0, le=MAX_HITS)] = 0
    hit_paths: Annotated[int, Meta(ge=0, le=20)] = 0
    path_depth: Annotated[int, Meta(ge=1, le=4)] = 2
    describe: bool = False


class Chunks(AsOf, frozen=True, kw_only=True):
    """Words to look for in texts."""

    query: Annotated[str, Meta(max_length=20_000, description="Search words; a text needs at least one of them.")]
    limit: Annotated[int, Meta(ge=1, le=MAX_HITS, description=_CHUNKS_TOLD)] | None = None


class ContextOf(AsOf, frozen=True, kw_only=True):
    """A question, and how long the text that answers it may be."""

    text: Annotated[str, Meta(max_length=20_000)]
    max_tokens: Annotated[int, Meta(ge=1, le=100_000)] = 800
    about: tuple[Short, ...] = ()
    type: tuple[Short, ...] = ()
    label: tuple[Short, ...] = ()
    properties: Conditions | None = None
    min_confidence: Share | None = None


class ListProposals(Query, frozen=True, kw_only=True):
    """Which staged identities are listed."""

    status: Literal["pending", "accepted", "rejected", "undone", "all"] = "pending"
    limit: Count = 50
    cursor: Annotated[str, Meta(max_length=500)] | None = None


class ListConflicts(Page, frozen=True, kw_only=True):
    """Whose contradictions are listed."""

    world: Ref | None = None


class ReadLog(Query, frozen=True, kw_only=True):
    """Which events are listed: of commits ``first`` to ``last``, that name ``ref``."""

    first: Commit = 1
    last: Commit | None = None
    ref: Ref | None = None
    limit: Count = 50
    cursor: Annotated[str, Meta(max_length=500)] | None = None


class Follow(Query, frozen=True, kw_only=True):
    """The start of a stream of events: after the event of this id (default: from now on)."""

    after: Annotated[str, Meta(max_length=500)] | None = None


class AtCommit(Query, frozen=True, kw_only=True):
    """A commit, by its number or a time; the present one by default."""

    ingested: Known | None = None
    seq: Commit | None = None


class Prove(AtCommit, frozen=True, kw_only=True):
    """The claim to prove: that ``ref`` was inside ``world`` at a moment."""

    ref: Ref
    world: Ref | None = None
    with_text: bool = False


Term = Annotated[str, Meta(min_length=1, max_length=1_048_576, description="A term in N-Triples.")]


class Erasing(Body, frozen=True, kw_only=True):
    """What to erase with a world, and the reason."""

    reason: Annotated[str, Meta(max_length=2_000, description="The reason; a plan needs none.")] = ""
    plan: Annotated[bool, Meta(description="Erase nothing; show what would be erased.")] = False
    turns: bool = False
    everywhere: bool = False
    forbid: bool = False
    derived: bool = True
    members: bool | None = None
    literal: Annotated[
        Term | None,
        Meta(description="Erase this literal of the statements of the world (everywhere: of all) and nothing else."),
    ] = None


class Verifying(Body, frozen=True, kw_only=True):
    """How deep to verify, and a checkpoint that the log must continue."""

    deep: bool = False
    head: Text | None = None


class Exporting(Body, frozen=True, kw_only=True):
    """The world that a bundle is made of (default: all), and as of when."""

    world: Ref | None = None
    ingested: When | None = None
    seq: Commit | None = None
    proof: bool = True


class Importing(Query, frozen=True, kw_only=True):
    """Where to put the world of a bundle, and how to treat differences."""

    into: Ref | None = None
    why: Short = ""
    allow_outside: bool = False
    join: bool = False


Node = Annotated[
    str, Meta(min_length=1, max_length=20_000, description='A term in N-Triples: <https://a.example/x>, "tea", _:b0.')
]
Graph = Annotated[str, Meta(description="The name of a graph in N-Triples, or any, or default.")]


class FindStatements(Page, frozen=True, kw_only=True):
    """Which statements of a world are listed."""

    subject: Node | None = None
    predicate: Node | None = None
    object: Node | None = None
    graph: Graph = "any"
    reifiers: Annotated[bool, Meta(description="In a format of RDF: add a reifier to each, with time and author.")] = (
        False
    )


class TakenBack(Query, frozen=True, kw_only=True):
    """Which statements to retract, and when they ended (default: they never held)."""

    subject: Node | None = None
    predicate: Node | None = None
    object: Node | None = None
    graph: Graph = "any"
    at: When | None = None


class Stated(Query, frozen=True, kw_only=True):
    """When statements in a format of RDF hold (default: from now on), and the base of their relative IRIs."""

    valid_from: When | None = None
    valid_to: When | None = None
    base: Short | None = None


class ListedStatements(Body, frozen=True, kw_only=True):
    """Statements: each is subject, predicate, object and, if it has one, its graph."""

    statements: Annotated[list[list[Term | None]], Meta(max_length=MAX_STATEMENTS)] | None = None


class NewStatements(Body, frozen=True, kw_only=True):
    """Statements to make: each is subject, predicate, object and, if it has one, its graph."""

    statements: Annotated[list[list[Term | None]], Meta(max_length=MAX_STATEMENTS)]
    valid_from: When | None = None
    valid_to: When | None = None
    source: dict[str, Any] = {}


class SparqlAsked(AsOf, frozen=True, kw_only=True):
    """A SPARQL query and its limits; a form may have an update instead, which takes no moment."""

    query: Text | None = None
    update: Text | None = None
    timeout_seconds: Annotated[int, Meta(ge=1, le=MAX_QUERY_SECONDS)] | None = None
    max_rows: Annotated[int, Meta(ge=1, le=100_000)] | None = None
    default_graphs: tuple[Short, ...] = msgspec.field(default=(), name="default-graph-uri")
    named_graphs: tuple[Short, ...] = msgspec.field(default=(), name="named-graph-uri")
    using_graphs: tuple[Short, ...] = msgspec.field(default=(), name="using-graph-uri")
    using_named_graphs: tuple[Short, ...] = msgspec.field(default=(), name="using-named-graph-uri")


class Forking(Body, frozen=True, kw_only=True):
    """A fork of a world as it is, or as it was known ``at`` a time, or in commit ``seq``."""

    name: Short | None = None
    at: When | None = None
    seq: Commit | None = None
    into: Ref | None = None
    why: Short = ""


class Merging(Body, frozen=True, kw_only=True):
    """How to merge a fork: only plan it, which side wins each conflict by id, and which wins the others."""

    plan: bool = False
    decide: dict[str, Literal["ours", "theirs"]] = {}
    on_conflict: Literal["report", "ours", "theirs"] = "report"
    why: Short = ""


class NewAccount(Body, frozen=True, kw_only=True):
    """An account to make; without a plan it has no limits."""

    name: Annotated[str, Meta(min_length=1, max_length=200)]
    plan: Short = ""


class ChangedAccount(Body, frozen=True, kw_only=True):
    """Changes to an account; the plan ``""`` has no limits."""

    name: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    plan: Short | None = None


class NewKeyAsked(Body, frozen=True, kw_only=True):
    """A key to make, for one world or (``world`` null) for the whole store."""

    name: Short
    account: Short | None = None
    world: Ref | None = None
    right: Literal["read", "write", "admin"] = "read"
    user: Short = ""
    expires_at: When | None = None


Most = Annotated[int, Meta(ge=0, le=2**53)] | None


class PlanAsked(Body, frozen=True, kw_only=True):
    """Limits and features of a plan; null means no limit."""

    worlds: Most = None
    requests_per_minute: Most = None
    writes_per_minute: Most = None
    bytes_stored: Most = None
    bytes_per_request: Most = None
    recall_k: Most = None
    features: tuple[Short, ...] | None = None


class UsageAsked(Query, frozen=True, kw_only=True):
    """Whose usage, from when to when, and in what spans of time."""

    key: Short | None = None
    since: When | None = None
    until: When | None = None
    by: Literal["minute", "hour", "day", "total"] = "day"


PLAN_LIMITS: Final = tuple(name for name in PlanAsked.__struct_fields__ if name != "features")
