"""Checks of the values in a bundle's frames, of the references between frames, and of each world.

Values: sizes, bounds, times and texts, and ids that are hashes of them. References: the commits, blobs and versions
that a frame names came before it. Worlds: each fact is given once, and all of them together give the world's hash.
"""

from collections import Counter
from collections.abc import Collection, Iterator
from itertools import pairwise
from typing import Final, NoReturn

from worlddb.log.model import blobs, codec, errors, hashing, ids, limits, times, trie
from worlddb.log.model import bundle as fr
from worlddb.log.model import events as ev

BODY: Final = -1
ERASED: Final = -2
"""Kinds of blobs; the kind of details is the number of their aliases."""

_MAX_NUMBER: Final = 2**63 - 1
_MAX_VERSION: Final = 2**32 - 1
_MAX_HANDLER_VERSION: Final = 2**16 - 1
_MAX_MOST: Final = 2**32 - 1
MAX_TERMS: Final = 2**32 - 1
"""How many terms a world may have."""
_HISTORIES: Final[tuple[list[str], ...]] = ([], ["accepted"], ["rejected"], ["accepted", "undone"])
"""The possible sequences of decisions about a proposal."""


def refuse(why: str) -> NoReturn:
    """Raise ``InvalidBundle``."""
    raise errors.InvalidBundle(why)


def check_size(value: bytes, size: int, what: str) -> None:
    if len(value) != size:
        refuse(f"{what} has {len(value)} bytes, not {size}")


def check_number(value: int, what: str, lowest: int = 0, highest: int = _MAX_NUMBER) -> None:
    if not lowest <= value <= highest:
        refuse(f"{what} is {value}")


def check_time(value: int) -> None:
    """Check a moment that is not an open end."""
    check_number(value, "a time", times.MIN_TIME, times.MAX_TIME)


def check_interval(begins: int, born_to: int, ends: int) -> None:
    """Check a validity: its start, the end it was written with, and its present end, which is never later (law 8).

    Only the root has an open start.
    """
    if begins != times.ALWAYS:
        check_time(begins)
    for end in (born_to, ends):
        if end not in (times.FOREVER, begins):
            check_time(end)
    if not begins <= ends <= born_to:
        refuse("a validity ends before it begins, or later than its first stated end")


def check_spans(spans: list[fr.Span], begins: int, ends: int) -> None:
    """Check the spans of a validity: in order, with holes between them, and given only where they are needed."""
    if not spans:
        return
    before = None
    for start, end in spans:
        for moment in (start, end):
            if moment not in (begins, times.FOREVER):
                check_time(moment)
        if not begins <= start < end <= ends or (before is not None and start <= before):
            refuse("the spans of a validity are empty, touch, or lie outside of it")
        before = end
    if before != ends or spans == [(begins, ends)]:
        refuse("the spans of a validity are redundant, or do not reach its end")


def check_stated(stated: int) -> None:
    """Check the flags that say which ends of a validity were stated."""
    if stated not in (ev.UNKNOWN, ev.DEFAULTED, ev.START_STATED, ev.END_STATED, ev.START_STATED | ev.END_STATED):
        refuse(f"the flags for the stated ends of a validity are {stated}")


def check_voided(frame: fr.VoidedFrame) -> None:
    """Check a span in which a world has no valid version."""
    check_time(frame.valid_from)
    if frame.valid_to != times.FOREVER:
        check_time(frame.valid_to)
    if frame.valid_from >= frame.valid_to:
        refuse("a span without a valid version is empty")
    check_number(frame.after, "the number of versions of a world", 1)
    if frame.by and frame.valid_to != times.FOREVER:
        refuse("a span without a valid version names a superseding world, and only one without an end may")


def check_heading(frame: fr.Heading) -> None:
    if frame.format not in fr.MAGICS:
        refuse(f"the bundle has format {frame.format}")
    check_size(frame.store_id, ids.LINEAGE_BYTES, "the store's id")
    check_size(frame.chain, ids.HASH_BYTES, "the chain hash")
    check_size(frame.world, ids.LINEAGE_BYTES, "a world's id")
    check_size(frame.world_hash, ids.HASH_BYTES, "a world hash")
    check_number(frame.seq, "a commit", 1)
    check_time(frame.ingest_time)


def check_commit(frame: fr.CommitFrame) -> None:
    check_number(frame.seq, "a commit", 1)
    check_time(frame.ingest_time)
    limits.checked_text(frame.author, "an author", limits.MAX_AUTHOR_BYTES, empty=False)


def check_end(frame: fr.EndFrame, frames: int, worlds: int) -> None:
    if (frame.frames, frame.worlds) != (frames, worlds):
        refuse(f"it counts {frame.frames} frames and {frame.worlds} worlds, and the bundle has {frames} and {worlds}")


def blob_kind(stored: bytes) -> int:
    """Return :data:`BODY` for a body, or the number of aliases of details; check the limits of their texts."""
    try:
        blob = codec.decode_blob(stored, 0)
    except (errors.DamagedStore, errors.NewerFormat):
        refuse("it holds neither a body nor details")
    check_size(blob.nonce, ids.NONCE_BYTES, "a nonce")
    if isinstance(blob, blobs.Body):
        limits.checked_text(blob.type, "type", limits.MAX_TYPE_BYTES, empty=False)
        limits.checked_text(blob.name, "name", limits.MAX_NAME_BYTES)
        limits.checked_text(blob.content, "content", limits.MAX_CONTENT_BYTES)
        return BODY
    if not isinstance(blob, blobs.Details):
        refuse("it holds neither a body nor details")
    is_struck = codec.struck_in(stored) is not None
    if codec.is_struck(stored) and not is_struck:
        refuse("the rest of erased details does not have its hash")
    limits.checked_text(blob.why, "why", limits.MAX_REASON_BYTES)
    limits.checked_record(blob.source, "source")
    limits.checked_record(blob.properties, "properties")
    if len(blob.aliases) > limits.MAX_ALIASES:
        refuse(f"it has more than {limits.MAX_ALIASES} aliases")
    for alias in blob.aliases:
        limits.checked_text(alias, "an alias", limits.MAX_NAME_BYTES, empty=is_struck)
    return len(blob.aliases)


def check_proposal(frame: fr.ProposalFrame) -> bool:
    """Check a proposal; return whether it is accepted and was not undone."""
    check_size(frame.proposal, ids.HASH_BYTES, "a proposal's id")
    _check_common_fields(frame)
    decided = [decision for decision, _, _ in frame.decisions]
    if decided not in _HISTORIES:
        refuse(f"the proposal {ids.short(frame.proposal)} has impossible decisions: {', then '.join(decided)[:80]}")
    return decided == ["accepted"]


def check_edge_type(frame: fr.EdgeTypeFrame) -> None:
    """Check name, version and digest of a registered edge type."""
    limits.checked_text(frame.type, "an edge type", limits.MAX_TYPE_BYTES, empty=False)
    check_number(frame.handler_version, "a handler's version", 0, _MAX_HANDLER_VERSION)
    if frame.digest_of == "built_in":
        refuse(f"the built-in edge type {errors.shown(frame.type)} is registered with a digest")
    _check_digest(frame)


def check_registration(frame: fr.RegistrationFrame) -> None:
    """Check a registration, as :func:`check_edge_type`; a built-in type has a name and no code."""
    limits.checked_text(frame.type, "an edge type", limits.MAX_TYPE_BYTES, empty=False)
    check_number(frame.handler_version, "a handler's version", 0, _MAX_HANDLER_VERSION)
    _check_digest(frame)
    if frame.details and not frame.seq:
        refuse(f"the registration of {errors.shown(frame.type)} has a reason but no commit")
    if len(set(frame.rewrites)) < len(frame.rewrites) or (frame.rewrites and frame.digest_of == "built_in"):
        refuse(f"{errors.shown(frame.type)} names a query rewrite twice, or has one without a handler")


def _check_digest(frame: fr.EdgeTypeFrame | fr.RegistrationFrame) -> None:
    """Check the digest of a handler's code, or the laws of a declared relation in its place."""
    if frame.digest_of != "laws":
        check_size(frame.digest, 0 if frame.digest_of == "built_in" else ids.HASH_BYTES, "a digest")
        return
    try:
        laws = ev.Laws.unpacked(frame.digest)
    except ValueError as error:
        refuse(f"{errors.shown(frame.type)} has laws that cannot be read: {error}")
    limits.checked_text(laws.inverse, "an inverse", limits.MAX_TYPE_BYTES)
    if laws.packed() != frame.digest:
        refuse(f"the laws of {errors.shown(frame.type)} are not in canonical form")


def check_tuning(frame: fr.TuningFrame) -> None:
    """Check that a command could have set these thresholds."""
    limits.checked_text(frame.type, "a node type", limits.MAX_TYPE_BYTES)
    for name in ("fuzzy", "phonetic", "embedding", "margin"):
        if not 0 <= getattr(frame, name) <= 1:
            refuse(f"the threshold {name} is {getattr(frame, name)!r}")
    check_number(frame.most, "most", 1, _MAX_MOST)
    if frame.details and not frame.seq:
        refuse("thresholds have a reason but no commit")


def check_profile(frame: fr.ProfileFrame) -> None:
    """Check that a command could have closed a world to this vocabulary."""
    limits.checked_text(frame.profile, "a profile", limits.MAX_TYPE_BYTES, empty=False)
    for names, what in ((frame.node_types, "a node type"), (frame.relations, "a relation")):
        if len(names) > limits.MAX_VOCABULARY or len(set(names)) < len(names):
            refuse(f"the profile {errors.shown(frame.profile)} names {what} twice, or names too many")
        for name in names:
            limits.checked_text(name, what, limits.MAX_TYPE_BYTES, empty=False)
    if not frame.node_types:
        refuse(f"the profile {errors.shown(frame.profile)} has no node types")


def check_belief(frame: fr.BeliefFrame) -> None:
    """Check that a command could have made this belief setting."""
    limits.checked_text(frame.name, f"a {frame.what}", limits.MAX_NAME_BYTES, empty=False)
    known = {"tag": ("bearing",), "predicate": ("single",), "kind": ("confidence", "recency", "support")}[frame.what]
    if frame.how not in known:
        refuse(f"the {frame.what} {errors.shown(frame.name)} is set to {errors.shown(frame.how)}")


def check_edge(frame: fr.EdgeFrame) -> None:
    check_size(frame.edge, ids.HASH_BYTES, "an edge's id")
    limits.checked_text(frame.type, "an edge type", limits.MAX_TYPE_BYTES, empty=False)
    _check_common_fields(frame)
    check_interval(frame.valid_from, frame.born_to, frame.valid_to)
    check_spans(frame.spans, frame.valid_from, frame.valid_to)


def _check_common_fields(frame: fr.EdgeFrame | fr.ProposalFrame) -> None:
    """Check the fields that edges and proposals share."""
    for lineage in (frame.source, frame.target):
        check_size(lineage, ids.LINEAGE_BYTES, "a world's id")
    for body in (frame.source_body, frame.target_body):
        check_size(body, ids.HASH_BYTES, "a version's id")
    for ordinal in (frame.source_version, frame.target_version):
        check_number(ordinal, "a version", 1, _MAX_VERSION)
    check_size(frame.nonce, ids.NONCE_BYTES, "a nonce")
    check_number(frame.handler_version, "a handler's version", 0, _MAX_HANDLER_VERSION)
    check_number(frame.order, "an order")
    check_interval(frame.valid_from, times.FOREVER, times.FOREVER)


def identity_of(frame: fr.EdgeFrame | fr.ProposalFrame, type_name: str, home: bytes) -> bytes:
    """Compute the id of an edge or a proposal from its fields."""
    return hashing.edge_id(
        type_name,
        frame.source,
        frame.source_body,
        frame.target,
        frame.target_body,
        home,
        frame.valid_from,
        frame.details,
        frame.nonce,
    )


class BundleReferences:
    """The ids in a bundle and the references to them: kinds of blobs, and bodies of the versions of each world."""

    def __init__(self) -> None:
        self._commits: set[int] = set()
        self._blobs: dict[bytes, int] = {}
        self._struck: set[bytes] = set()
        self._unused: set[bytes] = set()
        self._group = b""
        self._placed: dict[bytes, bytes] = {}
        self._again: set[bytes] = set()
        self._versions: dict[bytes, list[bytes]] = {}
        self._unnamed: set[bytes] = set()
        self._awaited: dict[bytes, dict[int, bytes]] = {}

    # -- commits and blobs

    def add_commit(self, seq: int) -> None:
        """Add a commit, once."""
        if seq in self._commits:
            refuse(f"commit {seq} is given twice")
        self._commits.add(seq)

    def require_commit(self, seq: int) -> None:
        """Require that a named commit was given."""
        if seq not in self._commits:
            refuse(f"the commit {seq} is missing")

    def begin(self, lineage: bytes) -> None:
        """What follows is of the group of a world."""
        self._group = lineage

    def add_blob(self, blob: bytes, kind: int, is_own: bool, *, struck: bool = False) -> None:
        """Add a blob with its :func:`blob_kind`, once; ``struck`` if single texts of it were erased.

        One that ``is_own`` to its group may have been given before, for another.
        """
        if blob in self._blobs:
            if not is_own or self._placed.get(blob) in (None, self._group):
                refuse(f"the blob {ids.short(blob)} is given twice")
            self._again.add(blob)
        if is_own:
            self._placed[blob] = self._group
        self._blobs[blob] = kind
        self._unused.add(blob)
        self._struck.discard(blob)
        if struck:
            self._struck.add(blob)

    @property
    def has_again(self) -> bool:
        """Whether there are blobs that were given for more than one group."""
        return bool(self._again)

    @property
    def has_struck(self) -> bool:
        """Whether there are details of which single texts were erased."""
        return bool(self._struck)

    def use_body(self, blob: bytes) -> None:
        """Require that a blob that is named as a body is one, and mark it as used."""
        kind = self._require_blob(blob)
        if kind not in (BODY, ERASED):
            refuse(f"the blob {ids.short(blob)} is not a body, and a frame names it as one")
        self._unused.discard(blob)

    def use_details(self, blob: bytes, *, struck: bool = False) -> None:
        """Require that a blob that is named as details is one, and mark it as used; an empty id names none.

        With ``struck``, single texts of it may be erased.
        """
        if not blob:
            return
        if blob in self._struck and not struck:
            refuse(f"single texts of the blob {ids.short(blob)} were erased, and it holds more than statements")
        if self._require_blob(blob) == BODY:
            refuse(f"the blob {ids.short(blob)} is not details, and a frame names it as such")
        self._unused.discard(blob)

    def aliases_in(self, details: bytes) -> int:
        """The number of aliases in details; negative for a blob that is missing or erased."""
        return self._blobs.get(details, ERASED)

    def _require_blob(self, blob: bytes) -> int:
        kind = self._blobs.get(blob)
        if kind is None:
            refuse(f"the blob {ids.short(blob)} is missing")
        if blob in self._again and self._placed[blob] != self._group:
            refuse(f"the blob {ids.short(blob)} occurs with other worlds, and not with {ids.short(self._group)}")
        return kind

    # -- worlds and their versions

    def add_world(self, lineage: bytes) -> None:
        """Add a world, once."""
        check_size(lineage, ids.LINEAGE_BYTES, "a world's id")
        if lineage in self._versions:
            refuse(f"the world {ids.short(lineage)} is given twice")
        self._versions[lineage] = []

    def add_outside(self, lineage: bytes, bodies: list[bytes]) -> None:
        """Add a world outside of the bundle with its named versions; some edge must lead to it."""
        self._versions[lineage] = bodies
        self._unnamed.add(lineage)

    def add_version(self, lineage: bytes, body: bytes) -> None:
        """Add the next version of a world."""
        self._versions[lineage].append(body)

    def check_version_count(self, lineage: bytes, count: int) -> None:
        """Check that a world has at least as many versions by now as a frame counts."""
        told = len(self._versions[lineage])
        if not 0 <= count <= told:
            refuse(f"a frame counts {count} versions of {ids.short(lineage)}, and the bundle has {told}")

    def complete_world(self, lineage: bytes) -> bytes:
        """Check the pending references to a complete world, and return the body of its newest version."""
        versions = self._versions[lineage]
        if not versions:
            refuse(f"the world {ids.short(lineage)} has no version")
        for ordinal, body in self._awaited.pop(lineage, {}).items():
            self._require_version(lineage, ordinal, body)
        return versions[-1]

    def check_version(self, lineage: bytes, ordinal: int, body: bytes, *, is_whole: bool) -> None:
        """Check the version of a world that an edge names.

        While the world is not whole, the check waits until it is.
        """
        self._unnamed.discard(lineage)
        if lineage in self._versions and is_whole:
            self._require_version(lineage, ordinal, body)
        elif self._awaited.setdefault(lineage, {}).setdefault(ordinal, body) != body:
            refuse(f"two edges name different bodies for version {ordinal} of {ids.short(lineage)}")

    def _require_version(self, lineage: bytes, ordinal: int, body: bytes) -> None:
        versions = self._versions[lineage]
        if ordinal > len(versions) or versions[ordinal - 1] != body:
            refuse(
                f"an edge names {ids.short(body)} as version {ordinal} of {ids.short(lineage)}, and that version "
                "is another"
            )

    # -- at the end

    def find_unmatched(self) -> Iterator[tuple[str, Collection[bytes]]]:
        """Yield ids that are never named, or named but never given, each with a description of the fault."""
        yield "lies outside the bundle, and no edge leads there", self._unnamed
        yield "is named by an edge, and is neither in the bundle nor listed as outside", self._awaited.keys()
        yield "is a blob that no frame names", self._unused


SAME_AS = "same_as"


class WorldGroup:
    """The frames of one world that were read so far."""

    def __init__(self, frame: fr.WorldFrame) -> None:
        self.frame = frame
        self._aliases = 0
        self._marks: Counter[type[fr.Frame]] = Counter()
        self._ended = False
        self._members: dict[bytes, bytes | None] = {}
        self._member_times: dict[bytes, times.Validity] = {}
        """The times at which each member is one."""
        self._empty_memberships: set[bytes] = set()
        """Ids of memberships with an empty validity."""
        self._edges: dict[bytes, bytes | None] = {}
        self._proposals: dict[bytes, bool] = {}
        self._types: set[str] = set()
        self._tuned: set[str] = set()
        self._believed: set[tuple[str, str]] = set()
        self._profiled = False
        self._terms = [b""]
        self._quads: dict[ev.Quad, list[tuple[int, int]]] = {}

    @property
    def lineage(self) -> bytes:
        """The world."""
        return self.frame.lineage

    def add_alias(self) -> None:
        """Count another alias."""
        self._aliases += 1
        if self._aliases > limits.MAX_ALIASES:
            refuse(f"{ids.short(self.lineage)} has more than {limits.MAX_ALIASES} aliases")

    def add_mark(self, kind: type[fr.Frame]) -> None:
        """Count another label or tag, or the only deadline, pin or deprecation."""
        self._marks[kind] += 1
        most = {fr.LabelFrame: limits.MAX_LABELS, fr.TagFrame: limits.MAX_TAGS}.get(kind, 1)
        if self._marks[kind] > most:
            refuse(f"{ids.short(self.lineage)} has more than {most} marks of one kind")

    def add_terms(self, frame: fr.TermsFrame, known: int) -> None:
        """Add terms, each at another of the ``known`` places in a blob."""
        if not frame.places or frame.places != sorted(set(frame.places)):
            refuse(f"the terms in {ids.short(frame.details)} are missing or not in order")
        for place in (frame.places[0], frame.places[-1]):
            if not 0 <= place < known:
                refuse(f"{ids.short(frame.details)} has no term {place}")
        self._terms += (hashing.term_identity(frame.details, place) for place in frame.places)

    def add_quads(self, frame: fr.StatedFrame) -> None:
        """Add statements."""
        if not frame.quads or len(frame.quads) % 4 or frame.valid_from == frame.valid_to:
            refuse(f"statements of {ids.short(self.lineage)} are missing, cut short, or valid at no time")
        for quad in ev.quads_of(frame.quads):
            if min(quad[:3]) < 1 or quad[3] < 0 or max(quad) >= len(self._terms):
                refuse(f"a statement of {ids.short(self.lineage)} names a term that does not come before it")
            self._quads.setdefault(quad, []).append((frame.valid_from, frame.valid_to))

    def _statement_leaves(self) -> Iterator[bytes]:
        for quad, windows in self._quads.items():
            windows.sort()
            if any(before[1] > after[0] for before, after in pairwise(windows)):
                refuse(f"a statement of {ids.short(self.lineage)} occurs twice for one time")
            yield hashing.statement_leaf([self._terms[number] for number in quad])

    def add_end(self) -> None:
        """Note the world's end, once."""
        if self._ended:
            refuse(f"{ids.short(self.lineage)} has ended twice")
        self._ended = True

    def add_proposal(self, proposal: bytes, *, accepted: bool) -> None:
        """Add a proposal; the edge of an accepted one follows it."""
        if proposal in self._proposals:
            refuse(f"the proposal {ids.short(proposal)} is given twice")
        self._proposals[proposal] = accepted

    def add_edge(self, frame: fr.EdgeFrame) -> None:
        """Add an edge of the interior."""
        if frame.edge in self._edges:
            refuse(f"the edge {ids.short(frame.edge)} is given twice")
        if frame.type == SAME_AS and not self._proposals.get(frame.edge):
            refuse(f"no accepted proposal says that {ids.short(frame.source)} is the same as {ids.short(frame.target)}")
        self._edges[frame.edge] = b""

    def add_member(self, frame: fr.EdgeFrame, member_hash: bytes | None) -> None:
        """Add a member, with its hash if its group was read."""
        if frame.source != self.lineage:
            refuse(f"the membership {ids.short(frame.edge)} is listed under a world that is not its container")
        if member_hash is None:
            refuse(
                f"the member {ids.short(frame.target)} of {ids.short(frame.source)} does not come before it: "
                "it is missing, or containment has a cycle"
            )
        held, known = (
            fr.validity_of(frame.valid_from, frame.valid_to, frame.spans),
            self._member_times.get(frame.target),
        )
        if frame.edge in self._empty_memberships or (known is not None and held.overlaps(known)):
            refuse(f"{ids.short(frame.target)} is a member of {ids.short(frame.source)} twice at the same time")
        if held.is_empty:
            self._empty_memberships.add(frame.edge)
        else:
            pieces = held.pieces if known is None else tuple(sorted((*known.pieces, *held.pieces)))
            self._member_times[frame.target] = times.spans_of(pieces, held.start)
        self._members[frame.target] = member_hash

    def add_registration(self, edge_type: str) -> None:
        """Note the registration of an edge type, once."""
        if edge_type in self._types:
            refuse(f"the edge type {errors.shown(edge_type)} is registered for {ids.short(self.lineage)} twice")
        self._types.add(edge_type)

    def add_tuning(self, node_type: str) -> None:
        """Note thresholds for a node type, or for every type, once."""
        if node_type in self._tuned:
            refuse(f"thresholds for {node_type or 'every type'!r:.80} are set for {ids.short(self.lineage)} twice")
        self._tuned.add(node_type)

    def add_profile(self, name: str) -> None:
        """Note the profile that closes its vocabulary, once."""
        if self._profiled:
            refuse(f"{ids.short(self.lineage)} has a second profile, {errors.shown(name)}")
        self._profiled = True

    def add_belief(self, what: str, name: str) -> None:
        """Note a belief setting, once."""
        if (what, name) in self._believed:
            refuse(f"the {what} {errors.shown(name)} is set twice")
        self._believed.add((what, name))

    def check_hash(self, newest: bytes) -> None:
        """Check that the group and the body of the newest version give the world's hash."""
        for proposal, accepted in self._proposals.items():
            if accepted and proposal not in self._edges:
                refuse(f"the accepted proposal {ids.short(proposal)} has no edge")
        members = (
            trie.Trie(trie.MemoryNodes(), ids.LINEAGE_BYTES, ids.HASH_BYTES).update(self._members)
            if self._members
            else trie.EMPTY_ROOT
        )
        self._edges.update(dict.fromkeys(self._statement_leaves(), b""))
        edges = trie.Trie(trie.MemoryNodes(), ids.HASH_BYTES, 0).update(self._edges) if self._edges else trie.EMPTY_ROOT
        if hashing.world_hash(newest, members, edges, self.frame.t_create) != self.frame.world_hash:
            refuse(f"the world {ids.short(self.lineage)} states a hash that does not match its content")
