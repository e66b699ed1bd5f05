"""Events: facts that were decided, past tense, frozen.

Events carry decisions and never requests, so replay runs no handler. They hold no caller text and nothing derived
from it: ``body`` and ``details`` are positions in the commit's list of blobs (:data:`NONE` for no blob). Worlds are
named by lineage, versions by their ordinal in the lineage (1 is the first), edges by their id. Times are integer
microseconds; ``valid_to`` is :data:`worlddb.log.model.times.FOREVER` while open.

Encoded as tagged msgpack arrays. A new field goes at the end with a default; a new event gets a new tag.
"""

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

import msgspec

NONE: Final = -1
FORMAT: Final = 1
"""The format version of events and commit headers that this release writes."""
STRUCK_FORMAT: Final = 2
"""The format of a log with erased single texts, which older releases cannot read."""


class Event(msgspec.Struct, frozen=True, array_like=True, gc=False, tag_field="event"):
    """Base of all events."""


class StoreCreated(Event, frozen=True, tag="store"):
    """The first event of every store: its random id, its root world, where its secret is."""

    store_id: bytes
    root: bytes
    body: int
    secret: int


UNKNOWN: Final = 0
"""Nobody recorded which ends of a window were stated: an event of the first release."""
DEFAULTED: Final = 1
"""Both ends of a window were left to the store."""
START_STATED: Final = 2
END_STATED: Final = 4


class Created(Event, frozen=True, tag="created"):
    """A new lineage with its first version.

    ``t_create`` is the time that its world hash covers if it was created in another store; else the commit's own.
    ``stated`` has the bits :data:`START_STATED` and :data:`END_STATED`, :data:`DEFAULTED` if neither was stated.
    """

    lineage: bytes
    body: int
    details: int
    valid_from: int
    valid_to: int
    t_create: int | None = None
    stated: int = UNKNOWN


class Revised(Event, frozen=True, tag="revised"):
    """A lineage got a new version, which holds in its window.

    What earlier ones lose by it is said by :class:`Closed` and :class:`Lost`. ``stated`` as in :class:`Created`. A
    lineage that had ended has not any more if the window lies behind its end.
    """

    lineage: bytes
    body: int
    details: int
    valid_from: int
    valid_to: int
    stated: int = UNKNOWN


class Closed(Event, frozen=True, tag="closed"):
    """A version's validity was tightened to ``valid_to``: it lost all from there on.

    ``by`` is the lineage that superseded it, or empty.
    """

    lineage: bytes
    version: int
    valid_to: int
    by: bytes


class Lost(Event, frozen=True, tag="lost"):
    """A version lost the span ``[valid_from, valid_to)``, with times before or behind it that it keeps.

    ``by`` as in :class:`Closed`.
    """

    lineage: bytes
    version: int
    valid_from: int
    valid_to: int
    by: bytes


class Voided(Event, frozen=True, tag="voided"):
    """A lineage has no valid version in a span; the events of its versions say what they lose by that."""

    lineage: bytes
    valid_from: int
    valid_to: int
    details: int


class Ended(Event, frozen=True, tag="ended"):
    """A lineage was retired, or superseded by the lineage ``by``: it holds nothing from ``at`` on."""

    lineage: bytes
    at: int
    details: int
    by: bytes


class Named(Event, frozen=True, tag="named"):
    """The alias at ``position`` of the aliases in ``details`` was added to a lineage."""

    lineage: bytes
    details: int
    position: int


class Unnamed(Event, frozen=True, tag="unnamed"):
    """The lineage's alias number ``alias`` (1 is the first) was taken back."""

    lineage: bytes
    alias: int


class Linked(Event, frozen=True, tag="linked"):
    """An edge was written by its type's handler.

    ``keyed``: the nonce is unique and can be looked up. It stands for a caller's key, or for an edge that this one
    came after: one that held the key before, or the same one in another home.
    """

    edge: bytes
    type: str
    source: bytes
    source_version: int
    target: bytes
    target_version: int
    home: bytes
    valid_from: int
    valid_to: int
    details: int
    nonce: bytes
    keyed: bool
    handler_version: int


class Unlinked(Event, frozen=True, tag="unlinked"):
    """An edge was retracted on the ingest axis; earlier views still see it."""

    edge: bytes


class EdgeClosed(Event, frozen=True, tag="edge_closed"):
    """An edge's validity was tightened to ``valid_to``."""

    edge: bytes
    valid_to: int


class EdgeLost(Event, frozen=True, tag="edge_lost"):
    """An edge lost the span ``[valid_from, valid_to)``, with times before or behind it that it keeps."""

    edge: bytes
    valid_from: int
    valid_to: int


class Proposed(Event, frozen=True, tag="proposed"):
    """A ``same_as`` was staged.

    ``proposal`` is the id that the edge will have if it is accepted. ``details`` holds the evidence: which tier,
    which scores.
    """

    proposal: bytes
    source: bytes
    source_version: int
    target: bytes
    target_version: int
    home: bytes
    valid_from: int
    details: int
    nonce: bytes
    handler_version: int


Decision = Literal["accepted", "rejected", "undone"]


class Decided(Event, frozen=True, tag="decided"):
    """A proposal was accepted, rejected, or an accepted one undone.

    Its edge is said by its own event.
    """

    proposal: bytes
    decision: Decision
    details: int


class Bookmarked(Event, frozen=True, tag="bookmarked"):
    """A name was given to the moment after commit ``seq``; the name is in the blob ``body``."""

    body: int
    details: int
    seq: int


class Erased(Event, frozen=True, tag="erased"):
    """The texts of a lineage were removed for good, in the same transaction that wrote this.

    ``blobs`` are (commit, position) of what is gone; ``details`` holds the reference under which it was done, and
    stays. ``everywhere``: it was found by a text that another lineage was erased for. ``forbidden`` are keyed hashes
    of texts that may not be written again.
    """

    lineage: bytes
    blobs: list[tuple[int, int]]
    details: int
    everywhere: bool
    forbidden: list[bytes]


class Imported(Event, frozen=True, tag="imported"):
    """A bundle came in with this commit.

    The event holds its hash, and the world of which store as of which commit it holds. ``details`` say who committed
    what there. ``absent`` are the positions of blobs of which only the hash came: they may be missing, and may be
    filled in later by :class:`Filled`.
    """

    bundle: bytes
    store_id: bytes
    seq: int
    world: bytes
    world_hash: bytes
    details: int
    absent: list[int]


class Filled(Event, frozen=True, tag="filled"):
    """A version that had come as a hash only now has its text.

    The text went into the place that was kept for it. ``details`` say where from. The text itself is where the
    version's own event says, and has the hash named there.
    """

    lineage: bytes
    version: int
    details: int


DigestOf = Literal["built_in", "name", "source", "laws"]
"""What the digest of a registered handler was made of; of a declared relation it is no digest, but its laws."""


class Laws(NamedTuple):
    """The laws of a declared relation without code; whether it is functional is stored beside them.

    Packed: a byte of bits (:data:`LAWS`, the first the lowest), two bytes (big-endian) for the length of the inverse in
    UTF-8, the inverse. So what is packed says where it ends.
    """

    succession: bool = False
    acyclic: bool = False
    symmetric: bool = False
    inverse: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The laws that hold, in their order."""
        return tuple(name for name in LAWS if getattr(self, name))

    def packed(self) -> bytes:
        """The laws as ``digest`` of :class:`Registered` has them."""
        inverse = self.inverse.encode()
        bits = sum(1 << place for place, name in enumerate(LAWS) if getattr(self, name))
        return bytes([bits]) + len(inverse).to_bytes(2, "big") + inverse

    @classmethod
    def unpacked(cls, packed: bytes) -> "Laws":
        """The laws that some bytes begin with; what follows them is left alone.

        Raises:
            ValueError: no release packs laws so.
        """
        end = 3 + int.from_bytes(packed[1:3], "big")
        if len(packed) < max(end, 3) or packed[0] >> len(LAWS):
            raise ValueError("not the laws of a relation")
        succession, acyclic, symmetric = (bool(packed[0] >> place & 1) for place in range(len(LAWS)))
        return cls(succession, acyclic, symmetric, packed[3:end].decode())


LAWS: Final = ("succession", "acyclic", "symmetric")
"""The laws of a declared relation, beside being functional."""

RewriteName = Literal["hide_closed", "show_conflicts", "widen_types", "cross_worlds", "unify_identities"]
"""What an edge type may ask of queries."""


class Registered(Event, frozen=True, tag="registered"):
    """An edge type holds in ``world`` from this commit on.

    It holds for the edges at home in ``world`` and in all that it contains. ``digest`` stands for the handler's code
    and is empty for a built-in type, whose registration says no more than whether it is functional. Of a declared
    relation it is the packed :class:`Laws`. ``rewrites`` are what the handler asks of queries.
    """

    world: bytes
    type: str
    handler_version: int
    digest: bytes
    digest_of: DigestOf
    rewrites: list[RewriteName]
    functional: bool
    details: int


class Unregistered(Event, frozen=True, tag="unregistered"):
    """The registration of an edge type for ``world`` is removed."""

    world: bytes
    type: str
    details: int


class Tuned(Event, frozen=True, tag="tuned"):
    """The resolver's thresholds for candidates of a type, from this commit on.

    An empty type stands for every type. The thresholds hold for candidates inside ``world``: for the world and for all
    that it contains. Like an edge type, ``type`` is vocabulary, not text.
    """

    world: bytes
    type: str
    fuzzy: float
    phonetic: float
    embedding: float
    margin: float
    most: int
    details: int


class Untuned(Event, frozen=True, tag="untuned"):
    """The thresholds that were set for a type in ``world`` hold no longer."""

    world: bytes
    type: str
    details: int


class SpaceOpened(Event, frozen=True, tag="space"):
    """An embedding space was opened under the number ``space``.

    Which model fills it is in the blob ``model``.
    """

    space: int
    dimension: int
    model: int


class Embedded(Event, frozen=True, tag="embedded"):
    """A version's text was given a vector in a space; the vector is in the blob ``vector``."""

    space: int
    lineage: bytes
    version: int
    vector: int


class EmbeddedThrough(Event, frozen=True, tag="embedded_through"):
    """Every version written up to commit ``through`` has its vector in a space.

    That commit is included. A version that has no text to make a vector of has none.
    """

    space: int
    through: int


class Reclustered(Event, frozen=True, tag="reclustered"):
    """The resolver has looked again around all that changed up to commit ``through``.

    It looked at what lies around all that those commits changed, ``through`` among them.
    """

    through: int


class Supposed(Event, frozen=True, tag="supposed"):
    """From this commit on the log is not what happened, but what might have.

    In such a log it is the first event of that commit. ``store_id`` is the id of this hypothetical store,
    ``original`` the chain hash of the commit up to which the original was gone through. ``details`` say in words what
    is supposed, and in properties what was to be left out.
    """

    store_id: bytes
    original: bytes
    details: int


Because = Literal["asked", "refused", "unchanged", "undecidable"]
"""Why a commit of the original is not in a hypothetical log."""


class LeftOut(Event, frozen=True, tag="left_out"):
    """In this place the original has a commit that is not in this log.

    ``original`` is the chain hash of that commit. ``asked``: it was to be left out. The others follow from that: its
    commands are refused here, come to nothing, or cannot be decided again and were decided on what is not so here.
    ``details`` give the reason.
    """

    original: bytes
    because: Because
    details: int


class TakenOver(Event, frozen=True, tag="taken_over"):
    """The events before this one are as in a commit of the original.

    ``original`` is the chain hash of that commit. Its commands cannot be decided again, for the reason that
    ``details`` give, and all that its events name is as it was there. ``absent`` are the positions of blobs that the
    original had lost to erasures.
    """

    original: bytes
    details: int
    absent: list[int]


class SpaceChosen(Event, frozen=True, tag="space_chosen"):
    """From this commit on texts are compared by their vectors in a space.

    The space's name is in the blob ``body``.
    """

    space: int
    body: int
    details: int


class SpaceDropped(Event, frozen=True, tag="space_dropped"):
    """From this commit on a space takes no vectors and has no index.

    Its name is in the blob ``body``. Its vectors stay in the log, for views of the commits before.
    """

    space: int
    body: int
    details: int


class ErasedElsewhere(Event, frozen=True, tag="erased_elsewhere"):
    """Texts of a lineage are not in this copy: a commit erased them that another history of this log has.

    Both histories have the commits up to ``through``, and ``blobs`` are (commit, position) among those. The blob at
    ``record`` is the erasing commit. ``everywhere`` and ``forbidden`` as it says. ``listed``: an upgrade found the
    record beside the log, where older releases kept it, and nothing proves it.
    """

    lineage: bytes
    blobs: list[tuple[int, int]]
    record: int
    through: int
    everywhere: bool
    forbidden: list[bytes]
    listed: bool


TrustOf = Literal["author", "source", "world", "rest"]
"""The subject of a level of trust: an author, a field of sources, a world with its interior, or everything else."""

TrustLevel = Literal["none", "low", "fair", "full", ""]
"""The levels of trust, from the lowest on; empty removes the level."""


class Trusted(Event, frozen=True, tag="trusted"):
    """An operator said how far a source is trusted, from this commit on.

    The author, or the field of sources and its value, are type and name of the blob ``body``. ``world`` is the lineage
    of a world, and of an author or a source the keyed hash by which it is known once that blob is erased; it is empty
    of all the rest, and where an earlier release wrote the event.
    """

    of: TrustOf
    world: bytes
    body: int
    level: TrustLevel
    details: int


class Restated(Event, frozen=True, tag="restated"):
    """What a version says was said again, by the commit's author; ``details`` hold the source and the reason."""

    lineage: bytes
    version: int
    details: int


class Expires(Event, frozen=True, tag="expires"):
    """A lineage is hidden from ``at`` on, or never if that is open; what it says stays as true as it was.

    ``lasts`` is the time in microseconds by which a refresh sets it anew, 0 if no refresh moves it.
    """

    lineage: bytes
    at: int
    lasts: int
    details: int


class Labelled(Event, frozen=True, tag="labelled"):
    """The label at ``position`` of the names in ``details`` was put on a lineage."""

    lineage: bytes
    details: int
    position: int


class Unlabelled(Event, frozen=True, tag="unlabelled"):
    """The lineage's label number ``label`` (1 is the first) was taken off."""

    lineage: bytes
    label: int
    details: int


class Tagged(Event, frozen=True, tag="tagged"):
    """The lineage's tag number ``tag`` (1 is the first) stands for version ``version``; 0: for nothing any more.

    Its name is the first one in ``details``.
    """

    lineage: bytes
    tag: int
    version: int
    details: int


class Deprecated(Event, frozen=True, tag="deprecated"):
    """A lineage was deprecated, or no longer is; reads leave it out unless the caller includes deprecated worlds."""

    lineage: bytes
    is_deprecated: bool
    details: int


GuardMode = Literal["off", "warn", "enforce", ""]
"""What happens to a text with guarded data; empty removes the setting."""


class Guarded(Event, frozen=True, tag="guarded"):
    """An operator said what becomes of credentials and of personal data in texts for a world, from this commit on.

    It holds for the world and for all that it contains. What was said of it before holds no more.
    """

    world: bytes
    credentials: GuardMode
    personal: GuardMode
    details: int


class Pinned(Event, frozen=True, tag="pinned"):
    """A lineage was pinned, or is not any more: what is pinned comes first, and no deadline hides it."""

    lineage: bytes
    is_pinned: bool
    details: int


BeliefSetting = Literal["tag", "predicate", "kind"]
"""What a setting of beliefs is of: a tag that bears them, a predicate, or a kind of beliefs."""


class BeliefsSet(Event, frozen=True, tag="beliefs_set"):
    """What counts as believed is set for the whole store, from this commit on.

    A tag is ``bearing``, a predicate ``single``, and beliefs of a type are compared by ``recency``, ``support`` or
    ``confidence``; where ``how`` is empty that is taken back. Like an edge type, ``name`` is vocabulary, not text.
    """

    what: BeliefSetting
    name: str
    how: str
    details: int


class Recalled(Event, frozen=True, tag="recalled"):
    """The receipt of an exact recall is kept: it is in the properties of ``details``, and is erased with what it names.

    ``world`` is the lineage that the view was confined to, empty for the whole store, ``shown`` those of the hits.
    """

    world: bytes
    shown: list[bytes]
    details: int


class Accessed(Event, frozen=True, tag="accessed"):
    """Worlds were used: ``shown`` are their lineages, and ``at`` is when, a time for each.

    By whom and for what is not said. Accesses are recorded many at a time, and may lie long before the commit.
    """

    shown: list[bytes]
    at: list[int]


class Profiled(Event, frozen=True, tag="profiled"):
    """The vocabulary of ``world`` and of all that it contains was closed, from this commit on.

    Only worlds of ``node_types`` come into it, and only edges of ``relations`` are at home in it; ``profile`` is what
    this is called. Without a node type it is open again. Like an edge type, all of them are vocabulary, not text.
    """

    world: bytes
    profile: str
    node_types: list[str]
    relations: list[str]
    details: int


class PlanSet(Event, frozen=True, tag="plan_set"):
    """What accounts of a plan may do was set, from this commit on.

    ``limits`` has numbers by their names, and what is not named has no limit. ``features`` are those that the plan
    has, ``None`` for all. Like an edge type, ``plan`` is vocabulary, not text.
    """

    plan: str
    limits: dict[str, int]
    features: list[str] | None
    details: int


class AccountSet(Event, frozen=True, tag="account_set"):
    """An account was made, changed, or closed for good.

    ``account`` is its random id, ``plan`` its plan from here on (empty: the one without limits); ``body`` has its name,
    :data:`NONE` where that stays.
    """

    account: bytes
    plan: str
    is_open: bool
    body: int
    details: int


KeyRight = Literal["read", "write", "admin"]
"""What a key opens its world for; each includes those before it."""


class KeyMade(Event, frozen=True, tag="key_made"):
    """An account has a new access key: its random id, and a keyed hash of the secret.

    What hashes is not in the store, so that the log alone opens nothing. ``world`` is the lineage that the key opens,
    with what it contains; empty for the whole store. ``body`` has its name and its default user.
    """

    key: bytes
    account: bytes
    world: bytes
    right: KeyRight
    digest: bytes
    expires_at: int
    body: int
    details: int


class KeyEnded(Event, frozen=True, tag="key_ended"):
    """An access key opens nothing any more."""

    key: bytes
    details: int


AccountEvent = PlanSet | AccountSet | KeyMade | KeyEnded
"""What says who may come in, and no reading of the past: only the head counts."""


class Forked(Event, frozen=True, tag="forked"):
    """A world and all that it contains, as of commit ``seq``, began to go on a second time, as ``world``.

    ``of`` is the one that it was forked from. ``origins`` are all worlds that were, ``copies`` the lineages that they
    have in the fork, place by place. ``absent`` are the positions of blobs that were erased before.
    """

    world: bytes
    of: bytes
    seq: int
    origins: list[bytes]
    copies: list[bytes]
    details: int
    absent: list[int]


class Merged(Event, frozen=True, tag="merged"):
    """What a fork had come to by commit ``seq`` came into the world that it was forked from.

    ``origins`` are the worlds that were made of those that only the fork had, ``copies`` these.
    """

    world: bytes
    fork: bytes
    seq: int
    origins: list[bytes]
    copies: list[bytes]
    details: int


class Stated(Event, frozen=True, tag="stated"):
    """Quads were stated in a world: each holds in the window, where it had not held before.

    Terms have numbers within the world, in log order. ``terms`` are those of the texts that stand as aliases in
    ``details``; one that is higher than all before is new. ``quads`` are the numbers of subject, predicate, object and
    graph (0: the default graph), one quad behind the other.
    """

    lineage: bytes
    details: int
    terms: list[int]
    quads: list[int]
    valid_from: int
    valid_to: int


class Unstated(Event, frozen=True, tag="unstated"):
    """Quads of a world hold no longer from ``at`` on: at no time if that is :data:`worlddb.log.model.times.ALWAYS`."""

    lineage: bytes
    details: int
    quads: list[int]
    at: int


class Struck(Event, frozen=True, tag="struck"):
    """Single texts of details were erased, and all others stay: literals of a world's statements.

    ``places`` are for each of ``blobs`` the places of the texts among its aliases, ``hashes`` that of what is left of
    it, and ``terms`` the numbers of the world's terms that are gone.
    """

    lineage: bytes
    blobs: list[tuple[int, int]]
    places: list[list[int]]
    hashes: list[bytes]
    terms: list[int]
    details: int


class StruckElsewhere(Event, frozen=True, tag="struck_elsewhere"):
    """As :class:`Struck`, by a commit of another history of this log; ``record`` has the evidence.

    Up to commit ``through`` both histories are the same.
    """

    lineage: bytes
    blobs: list[tuple[int, int]]
    places: list[list[int]]
    hashes: list[bytes]
    terms: list[int]
    record: int
    through: int


StatementEvent = Stated | Unstated
ErasureEvent = Erased | ErasedElsewhere | Struck | StruckElsewhere
Quad = tuple[int, int, int, int]
"""The numbers of subject, predicate, object and graph (0: the default graph)."""


def quads_of(flat: Sequence[int]) -> list[Quad]:
    """Quads of numbers that stand one behind the other."""
    return list(zip(flat[::4], flat[1::4], flat[2::4], flat[3::4], strict=True))


"""The RDF statements of worlds."""

AnyEvent = (
    StoreCreated
    | Created
    | Revised
    | Closed
    | Ended
    | Named
    | Unnamed
    | Linked
    | Unlinked
    | EdgeClosed
    | Proposed
    | Decided
    | Bookmarked
    | Imported
    | Filled
    | Erased
    | Registered
    | Unregistered
    | SpaceOpened
    | Embedded
    | EmbeddedThrough
    | Reclustered
    | Supposed
    | LeftOut
    | TakenOver
    | Tuned
    | Untuned
    | SpaceChosen
    | SpaceDropped
    | ErasedElsewhere
    | Trusted
    | Lost
    | Voided
    | EdgeLost
    | Restated
    | Expires
    | Labelled
    | Unlabelled
    | Pinned
    | Tagged
    | Deprecated
    | BeliefsSet
    | Recalled
    | Accessed
    | Profiled
    | Guarded
    | PlanSet
    | AccountSet
    | KeyMade
    | KeyEnded
    | Forked
    | Merged
    | Stated
    | Unstated
    | Struck
    | StruckElsewhere
)
