"""Commands: a caller's requests as values.

Times are integer microseconds; ``None`` means the default. A reference is a full id (bytes), a hex prefix (str), or the
position of an earlier command of the same batch (int).
"""

from typing import Any, ClassVar, Final, Literal

import msgspec

from worlddb.log.model import events as ev

Ref = bytes | str | int


class KnownKey(msgspec.Struct, frozen=True):
    """A caller's key of which only hashes are known.

    ``recorded`` is the hash in the record of the command. ``stands_for`` is the lineage of the key, or the nonce of the
    first edge under it.
    """

    recorded: bytes
    stands_for: bytes


class BoundKey(msgspec.Struct, frozen=True):
    """A caller's key that counts inside one world only."""

    text: str
    world: Ref


class Command(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Base of all commands. ``why`` is the caller's reason and is kept as an erasable blob."""

    CODE: ClassVar[str] = ""
    why: str = ""


class ModelEvidence(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The evidence of models about a new world, gathered before the store was locked; worlds are lineages.

    ``near`` are worlds with a text near in meaning, each with its version then and the cosine. ``asked`` are the worlds
    that a ``tiebreaker`` chose from, ``chosen`` those that it chose. In a command restored from the log, ``found`` has
    the proposals that resulted, with their evidence.
    """

    near: tuple[tuple[bytes, int, float], ...] = ()
    space: str = ""
    model: str = ""
    asked: tuple[bytes, ...] = ()
    chosen: tuple[bytes, ...] = ()
    tiebreaker: str = ""
    found: tuple[tuple[bytes, dict[str, Any]], ...] | None = None


class Create(Command, frozen=True, kw_only=True):
    """Make a world.

    With a ``key``, the world of the key is found again, and revised if its text differs. ``resolve`` names the tiers of
    the resolver that run: the exact one (``True`` or "exact"), "all", or none (``False``). They only stage proposals,
    with worlds inside ``scope``, by default inside ``world``. ``revive`` allows a text for a world whose texts were
    erased. ``anew`` passes the key on to a new world if its world has ended by now. ``judged`` tells that models were
    asked, ``evidence`` what they answered; callers give neither.
    """

    CODE: ClassVar[str] = "create"
    type: str
    name: str
    content: str = ""
    aliases: tuple[str, ...] = ()
    source: dict[str, Any] = {}
    properties: dict[str, Any] = {}
    world: Ref | None = None
    key: str | BoundKey | KnownKey | None = None
    valid_from: int | None = None
    valid_to: int | None = None
    resolve: bool | str = True
    revive: bool = False
    scope: Ref | None = None
    anew: bool = False
    judged: bool = False
    evidence: ModelEvidence | None = None


class Revise(Command, frozen=True, kw_only=True):
    """Give a world a new version in a window of valid time; ``None`` and empty properties keep the previous values.

    Without ``valid_to`` the version holds until the next version with a stated start begins, or until the next hole;
    with ``replace_later`` it replaces everything that follows.
    """

    CODE: ClassVar[str] = "revise"
    ref: Ref
    type: str | None = None
    name: str | None = None
    content: str | None = None
    source: dict[str, Any] = {}
    properties: dict[str, Any] = {}
    valid_from: int | None = None
    valid_to: int | None = None
    replace_later: bool = False


class Retire(Command, frozen=True, kw_only=True):
    """End a world, or an edge, from ``at`` on; with ``until`` it gets a hole up to then instead.

    ``members`` also ends the members of a world that no other world contains.
    """

    CODE: ClassVar[str] = "retire"
    ref: Ref
    at: int | None = None
    until: int | None = None
    members: bool = False


class Reassert(Command, frozen=True, kw_only=True):
    """Resume a world that has ended or has a hole at the time; it keeps its key, members, edges and aliases."""

    CODE: ClassVar[str] = "reassert"
    ref: Ref
    content: str | None = None
    valid_from: int | None = None
    valid_to: int | None = None


class Link(Command, frozen=True, kw_only=True):
    """Write an edge through its type's handler.

    With a ``key``, a live edge made under it is not written twice; under a bound one, unless its source is elsewhere.
    """

    CODE: ClassVar[str] = "link"
    source_ref: Ref
    type: str
    target_ref: Ref
    home: Ref | None = None
    key: str | BoundKey | KnownKey | None = None
    properties: dict[str, Any] = {}
    valid_from: int | None = None
    valid_to: int | None = None


class LinkVersions(Link, frozen=True, kw_only=True):
    """Write an edge that names a version at each end, 0 for the newest; both may be of one world."""

    CODE: ClassVar[str] = "link_versions"
    versions: tuple[int, int]


class Unlink(Command, frozen=True, kw_only=True):
    """Retract an edge on the ingest axis."""

    CODE: ClassVar[str] = "unlink"
    edge: Ref


class Move(Command, frozen=True, kw_only=True):
    """Move worlds out of one container into another, with the interior edges between them.

    With a ``valid_to`` they are there for a while: before and behind they are where they were, with all their edges.
    """

    CODE: ClassVar[str] = "move"
    refs: tuple[Ref, ...]
    to: Ref
    out_of: Ref | None = None
    valid_from: int | None = None
    valid_to: int | None = None


class Alias(Command, frozen=True, kw_only=True):
    """Give a world further names."""

    CODE: ClassVar[str] = "alias"
    ref: Ref
    aliases: tuple[str, ...]


class Unalias(Command, frozen=True, kw_only=True):
    """Remove aliases of a world."""

    CODE: ClassVar[str] = "unalias"
    ref: Ref
    aliases: tuple[str, ...]


class Restate(Command, frozen=True, kw_only=True):
    """Record that a world's present statement was made again."""

    CODE: ClassVar[str] = "restate"
    ref: Ref
    source: dict[str, Any] = {}


class Expire(Command, frozen=True, kw_only=True):
    """Hide a world from a time on: ``at``, or ``lasts`` microseconds after the commit; with neither, never.

    A refresh moves a deadline that was given by ``lasts``.
    """

    CODE: ClassVar[str] = "expire"
    ref: Ref
    at: int | None = None
    lasts: int = 0


class Refresh(Command, frozen=True, kw_only=True):
    """Renew the deadline of a world by its duration, from now on or from its last use at ``at``.

    What was hidden by then stays so.
    """

    CODE: ClassVar[str] = "refresh"
    ref: Ref
    at: int | None = None


class Sweep(Command, frozen=True, kw_only=True):
    """Retire a world, if its deadline has passed."""

    CODE: ClassVar[str] = "sweep"
    ref: Ref


class Label(Command, frozen=True, kw_only=True):
    """Put labels on a world."""

    CODE: ClassVar[str] = "label"
    ref: Ref
    labels: tuple[str, ...] = ()


class Unlabel(Command, frozen=True, kw_only=True):
    """Take labels off a world."""

    CODE: ClassVar[str] = "unlabel"
    ref: Ref
    labels: tuple[str, ...] = ()


class Pin(Command, frozen=True, kw_only=True):
    """Pin or unpin a world."""

    CODE: ClassVar[str] = "pin"
    ref: Ref
    is_pinned: bool = True


CURRENT_TAG: Final = "current"
"""The tag of the version that holds at a view's valid time; it is derived and cannot be set."""


class Tag(Command, frozen=True, kw_only=True):
    """Point a tag, the one in ``labels``, to a version of a world; ``None`` is the version that holds now."""

    CODE: ClassVar[str] = "tag"
    ref: Ref
    labels: tuple[str, ...]
    version: int | None = None


class Untag(Command, frozen=True, kw_only=True):
    """Remove a tag of a world, the one in ``labels``."""

    CODE: ClassVar[str] = "untag"
    ref: Ref
    labels: tuple[str, ...]


class Deprecate(Command, frozen=True, kw_only=True):
    """Deprecate a world, or undo that."""

    CODE: ClassVar[str] = "deprecate"
    ref: Ref
    is_deprecated: bool = True


BeliefChange = Literal["revise", "expand", "replace"]


class Believe(Command, frozen=True, kw_only=True):
    """Believe claims about a world, given in ``properties`` by predicate.

    They replace the beliefs that conflict with them (``revise``), are added to all beliefs (``expand``), or replace
    everything in the version except type and title (``replace``).
    """

    CODE: ClassVar[str] = "believe"
    ref: Ref
    how: BeliefChange = "revise"
    source: dict[str, Any] = {}
    properties: dict[str, Any] = {}
    valid_from: int | None = None
    valid_to: int | None = None


class Contract(Command, frozen=True, kw_only=True):
    """Give up claims about a world, given in ``properties``, at a valid time (default: now) and wherever they hold so.

    The commands of one request with the same ``among`` are a compound, of which only the least entrenched claims are
    given up; with 0 all claims of this command are. With ``whole``, the versions that state them are not changed but
    bear no beliefs any more. ``expects`` is the planned outlook, see ``belief_rows.outlook``.
    """

    CODE: ClassVar[str] = "contract"
    ref: Ref
    properties: dict[str, Any] = {}
    at: int | None = None
    whole: bool = False
    among: int = 0
    expects: tuple[int, ...] | None = None


class Rollback(Command, frozen=True, kw_only=True):
    """Make a world state again what one of its versions states."""

    CODE: ClassVar[str] = "rollback"
    ref: Ref
    version: int
    valid_from: int | None = None


class TakeBack(Command, frozen=True, kw_only=True):
    """Restore the beliefs and marks of a commit's worlds to what they were before it."""

    CODE: ClassVar[str] = "take_back"
    commit: int


class SetBeliefs(Command, frozen=True, kw_only=True):
    """Set what counts as a belief: see :class:`worlddb.log.model.events.BeliefsSet`."""

    CODE: ClassVar[str] = "set_beliefs"
    what: ev.BeliefSetting
    named: str
    how: str = ""


class KeepReceipt(Command, frozen=True, kw_only=True):
    """Store the receipt of an exact recall, given as plain values under ``receipt`` in ``properties``."""

    CODE: ClassVar[str] = "keep_receipt"
    properties: dict[str, Any] = {}


class Access(Command, frozen=True, kw_only=True):
    """Record that worlds were used, each at the time in the same place of ``at``."""

    CODE: ClassVar[str] = "access"
    refs: tuple[Ref, ...]
    at: tuple[int, ...]


class Erase(Command, frozen=True, kw_only=True):
    """Remove the texts of a world for good.

    ``why`` is the reference of the request and is not erased. ``turns`` also erases the turns that the world spoke,
    ``everywhere`` every world that ever had one of the same texts, ``derived`` the worlds derived from all these.
    ``forbid`` forbids to write any of the texts again. ``members`` also erases the members that no other world
    contains; ``None`` if the caller did not say.
    """

    CODE: ClassVar[str] = "erase"
    ref: Ref
    turns: bool = False
    everywhere: bool = False
    forbid: bool = False
    derived: bool = True
    members: bool | None = None


class Accept(Command, frozen=True, kw_only=True):
    """Accept a proposal: its two sides are one identity from now on."""

    CODE: ClassVar[str] = "accept"
    proposal: Ref


class Reject(Command, frozen=True, kw_only=True):
    """Reject a proposal: both sides stay independent."""

    CODE: ClassVar[str] = "reject"
    proposal: Ref


class Undo(Command, frozen=True, kw_only=True):
    """Undo an accepted proposal: both sides are as they were."""

    CODE: ClassVar[str] = "undo"
    proposal: Ref


class Bookmark(Command, frozen=True, kw_only=True):
    """Give a name to a moment.

    The moment is commit ``seq``, the last one at the ingest time ``at``, or the present head. A name that stands for
    another moment already is only moved if ``move`` says so.
    """

    CODE: ClassVar[str] = "bookmark"
    name: str
    seq: int | None = None
    at: int | None = None
    move: bool = False


class Import(Command, frozen=True, kw_only=True):
    """Import the bundle with a hash, and put its world into an existing one.

    The bundle comes beside the command. A world that is here already stays where it is unless ``into`` is given; a new
    one is put into the root by default.
    """

    CODE: ClassVar[str] = "import"
    bundle: bytes
    into: Ref | None = None


class Fork(Command, frozen=True, kw_only=True):
    """Fork a world and all that it contains, as of commit ``seq`` (0: the last).

    What they were comes beside the command. The fork is put into ``into``, by default where the world lies; ``aliases``
    are its names beside those of the world.
    """

    CODE: ClassVar[str] = "fork"
    ref: Ref
    seq: int = 0
    into: Ref | None = None
    aliases: tuple[str, ...] = ()


class Merge(Command, frozen=True, kw_only=True):
    """Record that the commands before this one have merged a fork into the world ``into``.

    ``origins`` are the worlds that they made of those that only the fork has, which are ``copies``.
    """

    CODE: ClassVar[str] = "merge"
    ref: Ref
    into: Ref
    origins: tuple[Ref, ...] = ()
    copies: tuple[Ref, ...] = ()


class Register(Command, frozen=True, kw_only=True):
    """Register an edge type for a world and all that it contains.

    Or say of a built-in type whether it is functional.
    """

    CODE: ClassVar[str] = "register"
    type: str
    handler_version: int
    digest: bytes
    digest_of: ev.DigestOf
    rewrites: tuple[ev.RewriteName, ...] = ()
    functional: bool = False
    world: Ref | None = None


class Unregister(Command, frozen=True, kw_only=True):
    """Unregister an edge type in a world."""

    CODE: ClassVar[str] = "unregister"
    type: str
    world: Ref | None = None


class SetProfile(Command, frozen=True, kw_only=True):
    """Close the vocabulary of a world and all that it contains; without node types, open it again."""

    CODE: ClassVar[str] = "set_profile"
    profile: str
    node_types: tuple[str, ...] = ()
    relations: tuple[str, ...] = ()
    world: Ref | None = None


PROFILES: Final[dict[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "arbiter": (
        ("project", "reference", "learning", "feedback", "context", "user"),
        ("relates_to", "refines", "contradicts", "supersedes", "supports"),
    ),
}
"""The profiles that ship: their node types and relations."""


class Tune(Command, frozen=True, kw_only=True):
    """Set the resolver's thresholds in a world and all it contains.

    They hold for candidates of a type (empty: of every type).
    """

    CODE: ClassVar[str] = "tune"
    fuzzy: float
    phonetic: float
    embedding: float
    margin: float
    most: int
    type: str = ""
    world: Ref | None = None


class Trust(Command, frozen=True, kw_only=True):
    """Set a level of trust, or remove it.

    It is an author (``name``), a field (``type``) of sources with a value (``name``), a world, or all the rest.
    """

    CODE: ClassVar[str] = "trust"
    of: ev.TrustOf
    level: ev.TrustLevel
    type: str = ""
    name: str = ""
    world: Ref | None = None


class Guard(Command, frozen=True, kw_only=True):
    """Set how credentials and personal data are handled in texts of a world and of all that it contains.

    ``None`` keeps a setting, and an empty value removes it.
    """

    CODE: ClassVar[str] = "guard"
    credentials: ev.GuardMode | None = None
    personal: ev.GuardMode | None = None
    world: Ref | None = None


class SetPlan(Command, frozen=True, kw_only=True):
    """Set the limits of a plan, by name, and its features (``None``: all)."""

    CODE: ClassVar[str] = "set_plan"
    plan: str
    limits: dict[str, int] = {}
    features: tuple[str, ...] | None = None


class SetAccount(Command, frozen=True, kw_only=True):
    """Make an account, change it, or close it with all of its keys; an empty name or plan keeps the previous one."""

    CODE: ClassVar[str] = "set_account"
    account: bytes
    name: str = ""
    plan: str | None = None
    is_open: bool = True


class MakeKey(Command, frozen=True, kw_only=True):
    """Give an account an access key. ``content`` is the default user of calls with it."""

    CODE: ClassVar[str] = "make_key"
    account: bytes
    key_id: bytes
    digest: bytes
    right: ev.KeyRight
    name: str
    content: str = ""
    world: Ref | None = None
    expires_at: int | None = None


class EndKey(Command, frozen=True, kw_only=True):
    """Revoke an access key."""

    CODE: ClassVar[str] = "end_key"
    key_id: bytes


class Untune(Command, frozen=True, kw_only=True):
    """Remove the thresholds of a type in a world."""

    CODE: ClassVar[str] = "untune"
    type: str = ""
    world: Ref | None = None


class Embed(Command, frozen=True, kw_only=True, gc=False):
    """Store the vectors that a model made of texts.

    Written by the engine's own catch-up, not by callers. ``items`` are (lineage, version, vectors one after the other
    in little-endian 16-bit floats, how many of the last ones are of statements, what percentage of the words is in
    statements). They are what there was to embed in the commits from ``after`` (excluded) to ``through``; if the space
    has moved on from ``after`` meanwhile, nothing is written.
    """

    CODE: ClassVar[str] = "embed"
    space: str
    model: str
    mean: bytes
    dimension: int
    after: int
    through: int
    items: tuple[tuple[bytes, int, bytes, int, int], ...]


class Recluster(Command, frozen=True, kw_only=True, gc=False):
    """Stage the proposals of a reclustering.

    It is written by the engine's background work. ``items`` are (lineage, lineage, evidence), found around the commits
    from ``after`` (excluded) to ``through``. Nothing is written if another run has progressed beyond ``after``
    meanwhile.
    """

    CODE: ClassVar[str] = "recluster"
    after: int
    through: int
    items: tuple[tuple[bytes, bytes, dict[str, Any]], ...]


class UseSpace(Command, frozen=True, kw_only=True):
    """Use the embedding space of a name from now on."""

    CODE: ClassVar[str] = "use_space"
    name: str


class DropSpace(Command, frozen=True, kw_only=True):
    """Drop the embedding space of a name; the one in use cannot be dropped."""

    CODE: ClassVar[str] = "drop_space"
    name: str


class State(Command, frozen=True, kw_only=True):
    """State quads in a world, in a window; those that hold there already are not stated again.

    ``aliases`` are the texts of terms, each once; ``quads`` the positions of subject, predicate, object and graph among
    them, one quad behind the other, with -1 for the default graph.
    """

    CODE: ClassVar[str] = "state"
    ref: Ref
    aliases: tuple[str, ...]
    quads: tuple[int, ...]
    valid_from: int | None = None
    valid_to: int | None = None
    source: dict[str, Any] = {}


class Unstate(Command, frozen=True, kw_only=True):
    """End quads of a world from ``at`` on; without ``at``, they never held.

    ``aliases`` and ``quads`` as in :class:`State`.
    """

    CODE: ClassVar[str] = "unstate"
    ref: Ref
    aliases: tuple[str, ...]
    quads: tuple[int, ...]
    at: int | None = None


class EraseLiteral(Command, frozen=True, kw_only=True):
    """Remove the text of one literal of a world's statements for good; everything else stays.

    ``literal`` is its text as a store keeps it, and is recorded nowhere. ``why`` is the reference under which it is
    done, and stays. ``everywhere``: also of every other world that ever stated it.
    """

    CODE: ClassVar[str] = "erase_literal"
    ref: Ref
    literal: str
    everywhere: bool = False


ALL: tuple[type[Command], ...] = (
    Create,
    Revise,
    Retire,
    Reassert,
    Link,
    Unlink,
    Move,
    Alias,
    Unalias,
    Erase,
    Accept,
    Reject,
    Undo,
    Bookmark,
    Import,
    Register,
    Unregister,
    Embed,
    Recluster,
    Tune,
    Untune,
    Trust,
    UseSpace,
    DropSpace,
    Restate,
    Expire,
    Refresh,
    Sweep,
    Label,
    Unlabel,
    Pin,
    Tag,
    Untag,
    Deprecate,
    Believe,
    Contract,
    Rollback,
    TakeBack,
    SetBeliefs,
    LinkVersions,
    KeepReceipt,
    Access,
    SetProfile,
    Guard,
    SetPlan,
    SetAccount,
    MakeKey,
    EndKey,
    Fork,
    Merge,
    State,
    Unstate,
    EraseLiteral,
)
