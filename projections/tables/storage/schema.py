"""The tables' rows, byte by byte. Integers are big-endian; numbers are in log order.

| table | key | value |
|---|---|---|
| ``progress`` | ``applied`` | :class:`Progress` |
| | ``reclustered`` | u64 seq up to which the resolver has looked again |
| | ``totals`` | counts as of a commit, see ``apply/log_marks.py`` |
| ``nodes`` | u64 node | :class:`NodeRow` |
| ``lineages`` | 16-byte lineage | u64 node |
| ``versions`` | u64 node, u32 version | :class:`VersionRow` |
| ``timelines`` | u8 kind, u64 node or edge, u32 chunk, u64 seq | steps, see ``timeline_rows.py`` |
| ``names`` | 16-byte name digest, u64 node | u64 seq of the first use |
| ``types`` | 8-byte type digest, u64 node | u64 seq of the first use |
| ``aliases`` | u64 node, u32 alias | :class:`AliasRow` |
| ``out`` | u64 source, u16 type, u64 edge | :class:`EdgeRow` |
| ``back`` | u64 target, u16 type, u64 edge | u64 source, u64 seq of the unlink or :data:`LIVE` |
| ``edges`` | 32-byte edge id | u64 source, u16 type, u64 edge |
| ``edge_keys`` | 16-byte keyed nonce | as in ``edges`` |
| ``edge_types`` | name of a type that is not built in | u16 type |
| ``tries`` | u64 node, u8 kind, path | a trie node, see :mod:`worlddb.log.model.trie` and ``TrieTable`` |
| ``hashes`` | u64 node, u64 seq | world hash, and where not both empty, members root and edges root |
| ``proposals`` | 32-byte proposal id | :class:`ProposalRow` |
| ``decisions`` | 32-byte proposal id, u64 seq | u8 status |
| ``pairs`` | u64 higher node, u64 lower node, u64 seq, u32 place in the commit | 32-byte proposal id |
| ``keys`` | 32-byte idempotency digest | u64 seq |
| ``bookmarks`` | 16-byte name digest, u64 seq that set it | :class:`BookmarkRow` |
| ``log_tree`` | u64 seq | hashes of the subtrees it completes |
| ``erasures`` | u64 node | :class:`ErasureRow` of the last erasure |
| ``forbidden`` | 32-byte keyed hash of a text | u64 seq of the erasure that forbade it first |
| ``registrations`` | u16 length of an edge type, the type, u64 world, u64 seq | :class:`RegistrationRow` |
| | ``00 00`` | u64 seq of the last change in this table |
| ``spaces`` | u32 space | :class:`SpaceRow` |
| ``vectors`` | u32 space, u64 node, u32 version | u64 seq, i32 blob position |
| ``forms`` | u64 node, a form that it ever had, see ``names/canonical.py`` | nothing |
| ``blocks`` | u32 key, place in the block, ``00``, a form | ``01`` if its words are not in order: ``names/blocks.py`` |
| ``tunings`` | u64 world, u16 length of a node type, the type, u64 seq | :class:`TuningRow` |
| ``space_changes`` | ``01``, u64 seq | u32 space that answers from there on |
| | ``02``, u32 space | u64 seq that dropped it |
| ``holders`` | u32 checksum of a form, the form, ``00``, u64 node | nothing |
| ``retracted`` | u64 home, u64 edge that is not ``contains`` | as in ``edges`` |
| ``trusts`` | u8 kind, 16 bytes: digest of a source, or a lineage, or zeros; u64 seq | :class:`TrustRow` |
| ``restatements`` | u64 node, u64 seq, u32 blob position of the details plus 1, u32 version | nothing |
| ``marks`` | ``01``, u64 node, u64 seq | :class:`DeadlineRow` |
| | ``02``, u64 node, u64 seq | :class:`PinRow` |
| | ``03``, u64 node, u32 label | :class:`AliasRow` |
| | ``04``, 16-byte digest of a label, u64 node | u64 seq of the first use |
| | ``05``, u64 node, u64 seq | :class:`PinRow`, of a deprecation |
| | ``06``, u64 node, u32 tag | :class:`AliasRow`, the name of a tag |
| | ``07``, u64 node, u32 tag, u64 seq | :class:`TagRow` |
| | ``08``, 16-byte digest of a tag, u64 node | u64 seq of the first use |
| | ``09``, u64 node, u64 seq | :class:`GuardRow` |
| | ``10``, 16-byte digest of a setting of beliefs, u64 seq | u8 what, i32 details, how, ``00``, its name |
| | ``11``, u64 node, u64 seq, u32 position of the details | u32 how many worlds a kept receipt names |
| | ``12``, u64 node, u64 seq | i64 when it was used, as often as that commit records |
| | ``13``, u64 kind, 16 bytes | an account (kind 1), a plan (2) or a key (3): see ``accounts/account_rows.py`` |
| | ``23``, u64 world of a fork, u64 seq | u64 what it goes on from, u64 as of commit, u8 how, see ``fork_rows.py`` |
| | ``24``, u64 world, u64 what goes on from it | u64 seq |
| | ``25``, u64 fork, u64 seq that merged it | u64 what into, u64 as of commit |
| ``terms`` | u64 world, 16-byte digest of a term's text | u32 number of the term in that world |
| ``term_places`` | u64 world, u32 term | u64 seq, i32 details, u32 index, digest, 32 bytes that stand for it |
| ``by_subject`` | u64 world, u32 subject, predicate, object, graph, u64 since, i64 ``valid_from`` | u64 until, \
i64 ``valid_to``, u64 origin, i32 details |
| ``by_predicate`` | the same, as predicate, object, subject, graph | the same |
| ``by_object`` | the same, as object, subject, predicate, graph | the same |
"""

import struct
from typing import Final, NamedTuple

from worlddb.log.model.events import DigestOf, RewriteName

TABLES: Final = (
    "progress",
    "nodes",
    "lineages",
    "versions",
    "timelines",
    "names",
    "types",
    "aliases",
    "out",
    "back",
    "edges",
    "edge_keys",
    "edge_types",
    "tries",
    "hashes",
    "proposals",
    "decisions",
    "pairs",
    "keys",
    "bookmarks",
    "log_tree",
    "erasures",
    "forbidden",
    "registrations",
    "spaces",
    "vectors",
    "forms",
    "blocks",
    "tunings",
    "space_changes",
    "holders",
    "retracted",
    "trusts",
    "restatements",
    "marks",
    "terms",
    "term_places",
    "by_subject",
    "by_predicate",
    "by_object",
)

FIRST_TABLE_BYTE: Final = 0x40
"""The first key byte of the first table in :data:`TABLES`; the others follow in order. New tables go at the end."""

PREFIX_BYTES: Final = {
    "timelines": 9,
    "names": 16,
    "types": 8,
    "aliases": 8,
    "out": 10,
    "back": 10,
    "hashes": 8,
    "decisions": 32,
    "pairs": 8,
    "bookmarks": 16,
    "forms": 8,
    "blocks": 4,
    "space_changes": 1,
    "holders": 4,
    "retracted": 8,
    "trusts": 17,
    "restatements": 8,
    "marks": 9,
    "terms": 8,
    "term_places": 8,
    "by_subject": 12,
    "by_predicate": 12,
    "by_object": 12,
}
"""How much of a key names the group that is scanned together."""

PACKED: Final = {
    "lineages": (16,),
    "names": (16,),
    "out": (10, 8),
    "back": (10, 8),
    "edges": (16,),
    "edge_keys": (16,),
    "hashes": (8,),
    "keys": (16,),
    "blocks": (4,),
    "holders": (4,),
}
"""Tables whose keys come in no order: what is put into a large one is packed (``packed_runs.py``).

With the beginnings of a key, by their bytes, that a filter knows; the longest first."""
WHOLE_KEYS: Final = {"out": 18}
"""Those of them whose filters know whole keys too, and how long these are: the edges from a world with many lie in
every run, and who reads what lies in it asks for one of them."""
ONE_A_WORLD: Final = frozenset({"lineages", "names", "hashes", "holders"})
"""Those of them that have little more than a row for each world: when the others are packed, a commit still writes a
page of each for every one of its worlds. So they are packed from half as many rows on."""
FIXED_ROWS: Final = {
    "lineages": (16, 8),
    "names": (24, 8),
    "out": (18, 102),
    "back": (18, 16),
    "edges": (32, 18),
    "edge_keys": (16, 18),
    "keys": (32, 8),
}
"""Those of them whose rows are of one length each: how many bytes a key has, and a value."""
LOGGED_GROUPS: Final = frozenset({"hashes"})
"""Tables whose groups have their keys in log order, so that a later run of rows has the later ones of each group."""

ROOT_NODE: Final = 0
LIVE: Final = 2**64 - 1
"""An edge that has not been unlinked, an alias that has not been taken back."""

CUT: Final = 2**64 - 1
"""The ``closed`` of a version or edge whose validity has a hole or begins later than it was stated: its timeline says
when it holds."""
TRIE_MEMBERS: Final = b"m"
TRIE_EDGES: Final = b"e"

CONTAINS: Final = "contains"
EDGE_TYPE_CODES: Final = {
    CONTAINS: 1,
    "refers_to": 2,
    "supersedes": 3,
    "same_as": 4,
    "contradicts": 5,
    "implies": 6,
    "derived_from": 7,
    "instance_of": 8,
    "subtype_of": 9,
    "causes": 10,
    "precedes": 11,
}
"""The default ontology (paper Table 2). Other types get codes from :data:`FIRST_CUSTOM_CODE` in log order.

Closed: what is built in later goes into :data:`LATER_BUILT_IN`."""
FIRST_CUSTOM_CODE: Final = 256
LATER_BUILT_IN: Final = frozenset({"depends_on", "created_from", "supports", "refines", "relates_to"})
"""Types that are built in since a store may have had its own by that name: they have codes as other types have."""
CONTAINS_CODE: Final = EDGE_TYPE_CODES[CONTAINS]
SAME_AS_CODE: Final = EDGE_TYPE_CODES["same_as"]
SUPERSEDES_CODE: Final = EDGE_TYPE_CODES["supersedes"]

UNFOLLOWED: Final = frozenset(EDGE_TYPE_CODES[name] for name in ("refers_to", "implies", "instance_of", "same_as"))
"""Types whose handlers follow no edges, so deferred rows remember no ends of theirs; never ``contains``.

A saving, not a law: whoever asks for such an edge's ends makes the deferred rows be written first."""

PENDING, ACCEPTED, REJECTED, UNDONE = 0, 1, 2, 3
STATUS_NAMES: Final = ("pending", "accepted", "rejected", "undone")

U16 = struct.Struct(">H")
U32 = struct.Struct(">I")
U64 = struct.Struct(">Q")
U64_U64 = struct.Struct(">QQ")
VERSION_KEY = struct.Struct(">QI")
FIRST_LITERAL: Final = 2**32
"""Behind all numbers of versions: this and the number of a term make that of a literal among searched texts."""
TIMELINE_KEY = struct.Struct(">BQIQ")
TIMELINE_PREFIX_BYTES: Final = 13
EDGE_KEY = struct.Struct(">QHQ")
EDGE_PREFIX = struct.Struct(">QH")
EDGE_PLACE = struct.Struct(">QHQ")
PAIR_KEY = struct.Struct(">QQQI")


class Progress(NamedTuple):
    """How far the tables have applied, and the layout of all tables.

    Also the next numbers to give out.
    """

    seq: int
    next_node: int
    next_edge: int
    layout: int


PROGRESS = struct.Struct(">QQQH")
LAYOUT: Final = 6
"""The version of the layout on this page; 0 had no number. Raise it with every change of a row or its meaning.

Layout 1 had a form in its blocks once for each of its holders, layout 2 of each pair the latest proposal alone, layout
3 of each version one span, layout 4 no totals and no packed rows, layout 5 packed rows with all of
their bytes, in blocks the words of a form in order, and no noted changes of tries."""
LAYOUT_BYTES: Final = 2
NOTHING_APPLIED: Final = Progress(0, ROOT_NODE, 1, LAYOUT)


class NodeRow(NamedTuple):
    """A lineage.

    ``ended`` is the commit that retired or superseded it, 0 if none did, and :data:`CUT` once it was resumed: its
    timeline says when it had ended. ``body`` is its newest version.

    ``container`` is the only world that ever contained it, an earlier one, by an edge of the commit that created it,
    which has been in force since the valid time ``contained_from`` without an end; :data:`NO_CONTAINER` says nothing:
    its edges do.
    """

    lineage: bytes
    created: int
    t_create: int
    versions: int
    aliases: int
    ended: int
    body: bytes
    container: int
    contained_from: int


NODE = struct.Struct(">16sQqIIQ32sQq")
NO_CONTAINER: Final = LIVE
UNPLACED: Final = NO_CONTAINER, 0
"""The end of the row of a world that nothing has contained yet, ..."""
ELSEWHERE: Final = NO_CONTAINER, 1
"""... and of one about whose containers its row says nothing."""
CONTAINER_AT: Final = 80
"""Where the row of a node ends whose ``container`` says nothing, as all do that earlier releases wrote."""


def is_node_unsaid(stored: bytes, derived: bytes) -> bool:
    """True if two stored rows differ only in that the first does not say where the node lies."""
    return len(stored) == CONTAINER_AT and derived.startswith(stored)


class VersionRow(NamedTuple):
    """A version.

    ``valid_to`` is as last closed, by commit ``closed`` (0: never; :data:`CUT`: look at the timeline, which also knows
    what was before). ``stated`` as in the event. ``position`` and
    ``details`` are blob positions in commit ``seq``.
    """

    body: bytes
    seq: int
    valid_from: int
    valid_to: int
    closed: int
    position: int
    details: int
    name: bytes
    type: bytes
    stated: int


VERSION = struct.Struct(">32sQqqQii16s8sB")
VERSION_BEGAN: Final = struct.Struct(">40xq")
"""``valid_from`` alone, for finding what began in a stretch of time."""
NEVER_BEGUN: Final = 2**63 - 1
"""The start of a lineage without a version: later than all times."""


class EdgeRow(NamedTuple):
    """An edge, in the ``out`` table.

    ``unlinked`` is :data:`LIVE` or the commit that retracted it.
    """

    edge: bytes
    target: int
    home: int
    source_version: int
    target_version: int
    seq: int
    unlinked: int
    valid_from: int
    valid_to: int
    closed: int
    details: int
    handler_version: int


EDGE = struct.Struct(">32sQQIIQQqqQiH")
EDGE_TARGET = struct.Struct(">32xQ24xQ")
"""``target`` and ``unlinked`` alone, for following edges."""
EDGE_TARGET_SEQ = struct.Struct(">32xQ16xQ")
"""``target`` and ``seq`` alone, for finding edges to some nodes."""
EDGE_KNOWN: Final = struct.Struct(">56xQQ")
"""``seq`` and ``unlinked`` alone, for counting edges."""


class EdgePlace(NamedTuple):
    """Where an edge's row is: the key in ``out``."""

    source: int
    type: int
    edge: int


class AliasRow(NamedTuple):
    """An alias: the text at ``position`` of the aliases in blob ``details`` of commit ``seq``."""

    name: bytes
    seq: int
    removed: int
    details: int
    position: int


ALIAS = struct.Struct(">16sQQiI")


class RestatedRow(NamedTuple):
    """That ``version`` was said again, by commit ``seq``; its source is in that commit's blob ``details``."""

    seq: int
    details: int
    version: int


RESTATED_KEY = struct.Struct(">QQII")


class DeadlineRow(NamedTuple):
    """From ``at`` on a lineage is hidden; a refresh sets that to ``lasts`` microseconds after itself, if not 0."""

    at: int
    lasts: int
    details: int


DEADLINE = struct.Struct(">qQi")


class PinRow(NamedTuple):
    """Whether a lineage is pinned, or deprecated."""

    is_set: int
    details: int


class GuardRow(NamedTuple):
    """The guard modes of a world for credentials and personal data, as numbers; 0 means no setting."""

    credentials: int
    personal: int
    details: int


class TagRow(NamedTuple):
    """The version that a tag of a lineage stands for since a commit; 0 for none."""

    version: int
    details: int


PIN = struct.Struct(">Bi")
TAG = struct.Struct(">Ii")
GUARD = struct.Struct(">BBi")
GUARDS: Final = b"\x09"
DEADLINES: Final = b"\x01"
"""What the keys of deadlines in ``marks`` begin with."""
DEPRECATIONS: Final = b"\x05"
BELIEFS: Final = b"\x10"
"""What the keys of settings of beliefs in ``marks`` begin with."""
BELIEF = struct.Struct(">Bi")
RECEIPTS: Final = b"\x11"
"""What the keys of kept receipts of recalls in ``marks`` begin with."""
RECEIPT_KEY = struct.Struct(">BQQI")
ACCESSES: Final = b"\x12"
"""What the keys of accesses in ``marks`` begin with."""
ACCESS = struct.Struct(">q")
FORKS: Final = b"\x23"
"""What the keys of worlds in forks begin with in ``marks``, ..."""
FORKED: Final = b"\x24"
"""... those of what was forked, ..."""
MERGES: Final = b"\x25"
"""... and those of merges."""
FORK = struct.Struct(">QQB")
MARK_KEY = struct.Struct(">BQQ")
ACCOUNTS: Final = b"\x13"
"""What the keys of accounts, plans and access keys in ``marks`` begin with."""
ACCOUNT_KEY = struct.Struct(">BQ16s")
LABEL_KEY = struct.Struct(">BQI")
TAG_KEY = struct.Struct(">BQIQ")


class ProposalRow(NamedTuple):
    """A staged ``same_as``; ``status`` as of commit ``decided`` (0: pending since ``seq``)."""

    source: int
    target: int
    source_version: int
    target_version: int
    home: int
    seq: int
    valid_from: int
    details: int
    nonce: bytes
    handler_version: int
    status: int
    decided: int


PROPOSAL = struct.Struct(">QQIIQQqi16sHBQ")


class BookmarkRow(NamedTuple):
    """A named moment: the commit that it stands for, and where its name is.

    The name is in a blob of the commit that set the bookmark.
    """

    marked: int
    body: int
    details: int


BOOKMARK = struct.Struct(">Qii")


class ErasureRow(NamedTuple):
    """The commit that erased a lineage's texts, and a blob in it.

    The blob says under which reference.
    """

    seq: int
    details: int


ERASURE = struct.Struct(">Qi")


class RegistrationRow(NamedTuple):
    """An edge type in force in a world.

    From the key's commit on, until commit ``ended`` (:data:`LIVE`: still). ``digest_of`` and the bits of ``rewrites``
    are places in :data:`DIGESTS` and :data:`REWRITES`. Of a declared relation ``digest`` is the packed
    :class:`worlddb.log.model.events.Laws`, and what of them is beyond 32 bytes stands behind all other fields.
    """

    digest: bytes
    handler_version: int
    digest_of: int
    rewrites: int
    functional: int
    ended: int
    details: int


REGISTRATION = struct.Struct(">32sHBBBQi")
DIGESTS: Final[tuple[DigestOf, ...]] = ("built_in", "name", "source", "laws")
REWRITES: Final[tuple[RewriteName, ...]] = (
    "hide_closed",
    "show_conflicts",
    "widen_types",
    "cross_worlds",
    "unify_identities",
)


class SpaceRow(NamedTuple):
    """An embedding space.

    It has the commit that opened it, its blob there, and up to which commit it is filled.
    """

    seq: int
    model: int
    dimension: int
    through: int


SPACE = struct.Struct(">QiIQ")
SPACE_KEY = struct.Struct(">I")
VECTOR_KEY = struct.Struct(">IQI")
VECTOR = struct.Struct(">Qi")


class TuningRow(NamedTuple):
    """The resolver's thresholds in a world.

    From the key's commit on, until commit ``ended`` (:data:`LIVE`: still).
    """

    fuzzy: float
    phonetic: float
    embedding: float
    margin: float
    most: int
    ended: int
    details: int


TUNING = struct.Struct(">ddddIQi")

TRUST_DIGEST_BYTES: Final = 16


class TrustRow(NamedTuple):
    """What was said of a source: the number of a level, or 255 if it was taken back; the blobs that name it."""

    level: int
    body: int
    details: int


TRUST = struct.Struct(">Bii")
