"""Compare a bundle with a store or with another bundle: one world and its interior.

The store's side is what an export of that world would hold, so that both sides know the same: worlds outside have no
text on either. All facts of a bundle are compared, except those that an import assigns anew (commits, the order of
arrival) or cannot keep (who wrote an edge, what was unlinked). A bundle has no log, but each fact has its author and
time. Facts that only one bundle holds therefore stand for the events that made the two differ.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from worlddb.log.model import blobs, codec, errors, ids, times
from worlddb.log.model import bundle as fr
from worlddb.log.model import events as ev
from worlddb.log.statements import bundled_statements
from worlddb.log.statements.bundled_statements import Windows
from worlddb.log.store.bundle_contents import BundledWorld, Contents, collect_contents
from worlddb.projections.tables.storage.schema import CONTAINS
from worlddb.query.diff import diff_side, field_diff, world_diff
from worlddb.query.export.bundle_export import bundle_frames
from worlddb.query.history.journal import Entry, journal
from worlddb.query.snapshot.snapshot import NO_DETAILS, SnapshotSource

_KEPT_STATES: Final = 4096
"""How many worlds are kept decoded; a container is asked for again for each of its members."""


class BundleSide(diff_side.Side):
    """The content of one bundle. Anything outside of it has no text and no hash here."""

    def __init__(self, label: str, contents: Contents) -> None:
        self.label = label
        self.contents = contents
        self.groups = {world.frame.lineage: world for world in contents.worlds}
        self._edges: dict[bytes, tuple[fr.EdgeFrame, bytes]] = {}
        self._proposals: dict[bytes, fr.ProposalFrame] = {}
        self._containers: defaultdict[bytes, list[bytes]] = defaultdict(list)
        self._states: dict[bytes, diff_side.State] = {}
        for lineage, world in self.groups.items():
            self._proposals.update((frame.proposal, frame) for frame in world.proposals)
            for edge in world.edges:
                self._edges[edge.edge] = edge, lineage
                if edge.type == CONTAINS and lineage not in self._containers[edge.target]:
                    self._containers[edge.target].append(lineage)

    def root(self) -> bytes:
        return self.contents.heading.world

    def hash(self, lineage: bytes) -> bytes:
        group = self.groups.get(lineage)
        return b"" if group is None else group.frame.world_hash

    def body(self, lineage: bytes) -> bytes:
        group = self.groups.get(lineage)
        return b"" if group is None else group.versions[-1].body

    def state(self, lineage: bytes) -> diff_side.State | None:
        found = self._states.get(lineage)
        group = self.groups.get(lineage)
        if found is None and group is not None:
            if len(self._states) >= _KEPT_STATES:
                self._states.clear()
            found = self._states[lineage] = self._state(group)
        return found

    def containers(self, lineage: bytes) -> tuple[bytes, ...]:
        return tuple(self._containers.get(lineage, ()))

    def name(self, lineage: bytes) -> str:
        state = self.state(lineage)
        return state.name if state else ""

    def type(self, lineage: bytes) -> str:
        state = self.state(lineage)
        return state.type if state else ""

    def statements(self, lineage: bytes) -> Mapping[str, Windows]:
        group = self.groups.get(lineage)
        return {} if group is None else bundled_statements.shown_windows(group, self.contents)

    def edge(self, edge: bytes) -> diff_side.EdgeState | None:
        found = self._edges.get(edge)
        if found is None:
            return None
        frame, home = found
        return diff_side.EdgeState(
            edge=edge,
            type=frame.type,
            source=frame.source,
            target=frame.target,
            home=home,
            seq=frame.seq,
            known=True,
            validity=fr.validity_of(frame.valid_from, frame.valid_to, frame.spans),
            text=f"{self.called(frame.source)} {frame.type} {self.called(frame.target)}",
        )

    def proposal(self, proposal: bytes) -> diff_side.ProposalState | None:
        frame = self._proposals.get(proposal)
        if frame is None:
            return None
        status = frame.decisions[-1][0] if frame.decisions else "pending"
        text = f"{self.called(frame.source)} the same as {self.called(frame.target)}: {status}"
        return diff_side.ProposalState(frame.source, frame.target, text)

    # -- what only bundles are asked for

    def refs(self) -> Iterator[bytes]:
        """Every world, edge and proposal that the bundle holds."""
        yield from self.groups
        yield from self._edges
        yield from self._proposals

    def members(self, lineage: bytes) -> dict[bytes, bytes]:
        """The members of a world with their hashes."""
        group = self.groups.get(lineage)
        edges = group.edges if group else []
        return {edge.target: self.hash(edge.target) for edge in edges if edge.type == CONTAINS}

    def interior(self, lineage: bytes) -> set[bytes]:
        """The interior edges of a world, those that its hash covers."""
        group = self.groups.get(lineage)
        return {edge.edge for edge in group.edges if edge.type != CONTAINS} if group else set()

    def called(self, lineage: bytes) -> str:
        """The name of a world, else the beginning of its reference."""
        return self.name(lineage) or ids.short(lineage)

    def text(self, version: fr.VersionFrame, group: BundledWorld) -> blobs.Body | None:
        """The body of a version; ``None`` if its text was erased."""
        found = self._blob(version.body, version.seq, group)
        return found if isinstance(found, blobs.Body) else None

    def details(self, blob: bytes, seq: int, group: BundledWorld) -> blobs.Details:
        """The details of a text, an end, an edge or a decision; empty if there are none, or they were erased."""
        found = self._blob(blob, seq, group) if blob else None
        return found if isinstance(found, blobs.Details) else NO_DETAILS

    def source(self, version: fr.VersionFrame, group: BundledWorld) -> dict[str, Any]:
        """The source of a version, without the origin that an import added."""
        source = self.details(version.details, version.seq, group).source
        if blobs.origin_in(source) is None:
            return source
        return {name: value for name, value in source.items() if name != blobs.IMPORTED}

    def _blob(self, blob: bytes, seq: int, group: BundledWorld) -> Any:
        stored = self.contents.blob(blob, group)
        return None if stored is None else codec.decode_blob(stored, seq)

    def _state(self, group: BundledWorld) -> diff_side.State:
        newest = group.versions[-1]
        body = self.text(newest, group)
        aliases = (
            self.details(alias.details, alias.seq, group).aliases[alias.position]
            for alias in group.aliases
            if not alias.removed
        )
        return diff_side.State(
            body=newest.body,
            seq=newest.seq,
            ingested_at=self.contents.commits[newest.seq].ingest_time,
            lacks=diff_side.NOT_BUNDLED if body is None else "",
            type=body.type if body else "",
            name=body.name if body else "",
            content=body.content if body else "",
            why=self.details(newest.details, newest.seq, group).why,
            source=self.source(newest, group),
            validities=tuple(
                fr.validity_of(each.valid_from, each.valid_to, each.spans) for each in reversed(group.versions)
            ),
            aliases=tuple(aliases),
            ended=bool(group.ended),
        )


BundleSides = tuple[BundleSide, BundleSide]


class BundleDescent(world_diff.Descent):
    """Descend by lists of members and edges where hashes differ; a bundle holds no tries."""

    def __init__(self, sides: BundleSides) -> None:
        self._sides = sides

    def members(self, lineage: bytes) -> Iterator[world_diff.DifferingMember]:
        one, other = (side.members(lineage) for side in self._sides)
        for key in sorted(one.keys() | other.keys()):
            if one.get(key) != other.get(key):
                yield world_diff.DifferingMember(key, key in one, key in other)

    def edges(self, lineage: bytes) -> Iterator[world_diff.DifferingMember]:
        one, other = (side.interior(lineage) for side in self._sides)
        for key in sorted(one ^ other):
            yield world_diff.DifferingMember(key, key in one, key in other)


Key = tuple[Any, ...]


class Author(NamedTuple):
    """The original author of a fact, before any import: who, when, and in which commit of which store."""

    store: str
    seq: int
    name: str
    time: str


class Fact(NamedTuple):
    """One fact about a world, with the event and commit behind it, and its reason.

    The rest that can differ is in words.

    ``refs`` are what it names, the world first.
    """

    event: str
    refs: tuple[bytes, ...]
    seq: int
    by: Author
    why: str
    data: dict[str, Any]
    words: dict[str, str]


class FactDifferences(NamedTuple):
    """The facts in which two bundles differ, and the details by world.

    What only one holds comes as later events, what may differ without that as silent.
    """

    later: list[diff_side.LaterEvent]
    silent: list[bytes]
    details: dict[bytes, list[diff_side.Detail]]


def compare_facts(sides: BundleSides) -> FactDifferences:
    """Compare all facts of two bundles."""
    facts = [dict(facts_of(side)) for side in sides]
    later = [
        diff_side.LaterEvent(side.label, _fact_entry(side, index, fact))
        for side, mine, others in zip(sides, facts, facts[::-1], strict=True)
        for index, (key, fact) in enumerate(mine.items())
        if key not in others
    ]
    details: defaultdict[bytes, list[diff_side.Detail]] = defaultdict(list)
    same_store = sides[0].contents.heading.store_id == sides[1].contents.heading.store_id
    for key, one in facts[0].items():
        other = facts[1].get(key)
        if other is not None:
            details[one.refs[0]].extend(_fact_details(one, other, same_store=same_store))
    for lineage in sides[0].groups.keys() & sides[1].groups.keys():
        details[lineage].extend(_version_differences(sides, lineage))
        details[lineage].extend(_type_differences(sides, lineage))
        details[lineage].extend(_tuning_differences(sides, lineage))
        details[lineage].extend(_rule_differences(sides, lineage))
        details[lineage].extend(field_diff.statement_details(*sides, lineage))
    found = {lineage: differing for lineage, differing in details.items() if differing}
    return FactDifferences(later, [*_find_silent(sides), *found], found)


# -- the facts of one side


def facts_of(side: BundleSide) -> Iterator[tuple[Key, Fact]]:
    """All facts of a bundle, by their identity within it."""
    for lineage, group in side.groups.items():
        for number, version in enumerate(group.versions, 1):
            details = side.details(version.details, version.seq, group)
            origin = blobs.first_origin_in(details.source) or blobs.first_origin_in(details.properties)
            by = _author_of(side, version.seq) if origin is None else _earlier_author(origin)
            data = {"version": number, "body": version.body.hex()}
            event = "created" if number == 1 else "revised"
            yield ("version", lineage, number), Fact(event, (lineage,), version.seq, by, details.why, data, {})
        given: Counter[str] = Counter()
        for alias in group.aliases:
            details = side.details(alias.details, alias.seq, group)
            name = details.aliases[alias.position]
            given[name] += 1
            data = {"alias": name, "nth": given[name]}
            fact = Fact("named", (lineage,), alias.seq, _author_of(side, alias.seq), details.why, data, {})
            yield ("alias", lineage, name, given[name]), fact
        for ended in group.ended:
            why = side.details(ended.details, ended.seq, group).why
            words = {"ended at": times.format_time(ended.at), "ended by": side.called(ended.by) if ended.by else ""}
            fact = Fact("ended", (lineage,), ended.seq, _author_of(side, ended.seq), why, {"at": ended.at}, words)
            yield ("ended", lineage), fact
        met: Counter[Key] = Counter()
        for hole in group.voided:
            why = side.details(hole.details, hole.seq, group).why
            data = {"valid_from": hole.valid_from, "valid_to": hole.valid_to}
            key = "voided", lineage, hole.valid_from, hole.valid_to
            met[key] += 1
            fact = Fact("voided", (lineage,), hole.seq, _author_of(side, hole.seq), why, data, {})
            yield (*key, met[key]), fact
        yield from _identity(side, group)
        yield from _edges(side, group)


def _identity(side: BundleSide, group: BundledWorld) -> Iterator[tuple[Key, Fact]]:
    for frame in group.proposals:
        refs = group.frame.lineage, frame.proposal, frame.source, frame.target
        data = {"proposal": frame.proposal.hex()}
        why = side.details(frame.details, frame.seq, group).why
        yield (
            ("proposal", frame.proposal),
            Fact("proposed", refs, frame.seq, _author_of(side, frame.seq), why, data, {}),
        )
        for decision, blob, seq in frame.decisions:
            why = side.details(blob, seq, group).why
            fact = Fact("decided", refs, seq, _author_of(side, seq), why, data | {"decision": decision}, {})
            yield ("decision", frame.proposal, decision), fact


def _edges(side: BundleSide, group: BundledWorld) -> Iterator[tuple[Key, Fact]]:
    home = group.frame.lineage
    for edge in group.edges:
        details = side.details(edge.details, edge.seq, group)
        data = {"type": edge.type, "source": edge.source.hex(), "target": edge.target.hex(), "home": home.hex()}
        words = {f"properties of {edge.type}": field_diff.as_text(details.properties)}
        refs = home, edge.edge, edge.source, edge.target
        yield ("edge", edge.edge), Fact("linked", refs, edge.seq, _author_of(side, edge.seq), details.why, data, words)


def _author_of(side: BundleSide, seq: int) -> Author:
    commit = side.contents.commits[seq]
    return Author(side.contents.heading.store_id.hex(), seq, commit.author, times.format_time(commit.ingest_time))


def _earlier_author(origin: dict[str, Any]) -> Author:
    return Author(*(origin[name] for name in ("store", "seq", "author", "ingested_at")))


def _fact_entry(side: BundleSide, index: int, fact: Fact) -> Entry:
    commit = side.contents.commits[fact.seq]
    return Entry(
        seq=fact.seq,
        index=index,
        ingested_at=commit.ingest_time,
        author=commit.author,
        event=fact.event,
        refs=tuple(ref.hex() for ref in fact.refs),
        name="",
        text="",
        why=fact.why,
        data=fact.data,
    )


# -- what differs between two sides


def _fact_details(one: Fact, other: Fact, *, same_store: bool) -> Iterator[diff_side.Detail]:
    """The differences of a fact that both sides have: author, reason and other fields.

    Of an edge and the like only the commits of one store can be compared: an import keeps who wrote which version, and
    not who wrote which edge.
    """
    kind = "validity" if one.event == "ended" else "provenance"
    for field in one.words:
        if one.words[field] != other.words[field]:
            yield diff_side.Detail(kind=kind, field=field, a=one.words[field], b=other.words[field])
    if one.why != other.why:
        yield diff_side.Detail(kind="provenance", field=f"why of {one.event}", a=one.why, b=other.why)
    if one.by != other.by and (same_store or one.event in ("created", "revised")):
        texts = [f"by {by.name}, {by.time}" for by in (one.by, other.by)]
        if texts[0] == texts[1]:
            texts = [f"commit {by.seq} of store {by.store[:12]}" for by in (one.by, other.by)]
        yield diff_side.Detail(kind="provenance", field=f"commit {one.by.seq}", a=texts[0], b=texts[1])


def _version_differences(sides: BundleSides, lineage: bytes) -> Iterator[diff_side.Detail]:
    """The differences of common versions, except the newest, which states cover."""
    groups = [side.groups[lineage].versions for side in sides]
    counts = [len(versions) for versions in groups]
    for number, versions in enumerate(zip(*groups, strict=False), 1):
        one, other = versions
        newest = number == counts[0] == counts[1]
        if not newest:
            texts = [_text(side, version, lineage) for side, version in zip(sides, versions, strict=True)]
            if texts[0] != texts[1]:
                kind = "erased" if one.body == other.body else "revised"
                yield diff_side.Detail(kind=kind, field=f"text of version {number}", a=texts[0], b=texts[1])
            sources = [
                field_diff.as_text(side.source(version, side.groups[lineage]))
                for side, version in zip(sides, versions, strict=True)
            ]
            if sources[0] != sources[1]:
                yield diff_side.Detail(
                    kind="provenance", field=f"source of version {number}", a=sources[0], b=sources[1]
                )
        # Versions that a later one has closed on one side only end differently for that reason.
        if counts[0] != counts[1] and number < min(counts):
            spans = [
                diff_side.span(fr.validity_of(version.valid_from, version.valid_to, version.spans))
                for version in versions
            ]
            if spans[0] != spans[1]:
                yield diff_side.Detail(kind="validity", field=f"valid of version {number}", a=spans[0], b=spans[1])
        if one.stated != other.stated and ev.UNKNOWN not in (one.stated, other.stated):
            words = [_stated_text(version) for version in versions]
            yield diff_side.Detail(kind="validity", field=f"stated of version {number}", a=words[0], b=words[1])
        if one.by != other.by:
            names = [
                side.called(version.by) if version.by else "" for side, version in zip(sides, versions, strict=True)
            ]
            yield diff_side.Detail(kind="validity", field="superseded by", a=names[0], b=names[1])


def _stated_text(version: fr.VersionFrame) -> str:
    ends = (("start", ev.START_STATED), ("end", ev.END_STATED))
    return " and ".join(name for name, bit in ends if version.stated & bit) or "neither"


def _type_differences(sides: BundleSides, lineage: bytes) -> Iterator[diff_side.Detail]:
    """Edge types that hold for a world on one side only, or otherwise."""
    one, other = ({each.type: _type_text(each) for each in side.groups[lineage].registrations} for side in sides)
    for name in sorted(one.keys() | other.keys()):
        if one.get(name) != other.get(name):
            yield diff_side.Detail(
                kind="registered", field=f"edge type {name}", a=one.get(name, ""), b=other.get(name, "")
            )


def _tuning_differences(sides: BundleSides, lineage: bytes) -> Iterator[diff_side.Detail]:
    """Thresholds of the resolver that hold for a world on one side only, or otherwise."""
    one, other = ({each.type: _tuning_text(each) for each in side.groups[lineage].tunings} for side in sides)
    for name in sorted(one.keys() | other.keys()):
        if one.get(name) != other.get(name):
            field = f"thresholds for {name or 'every type'}"
            yield diff_side.Detail(kind="registered", field=field, a=one.get(name, ""), b=other.get(name, ""))


def _rule_differences(sides: BundleSides, lineage: bytes) -> Iterator[diff_side.Detail]:
    """Profiles and belief settings of a world that one side lacks or has differently."""
    one, other = (dict(_rules(side.groups[lineage])) for side in sides)
    for field in sorted(one.keys() | other.keys()):
        if one.get(field) != other.get(field):
            yield diff_side.Detail(kind="registered", field=field, a=one.get(field, ""), b=other.get(field, ""))


def _rules(group: BundledWorld) -> Iterator[tuple[str, str]]:
    for profile in group.profiles:
        relations = f"; {', '.join(profile.relations)}" if profile.relations else ""
        yield "profile", f"{profile.profile}: {', '.join(profile.node_types)}{relations}"
    for belief in group.beliefs:
        yield f"beliefs of the {belief.what} {belief.name}", belief.how


def _tuning_text(frame: fr.TuningFrame) -> str:
    scores = (f"{name} {getattr(frame, name):g}" for name in ("fuzzy", "phonetic", "embedding", "margin"))
    return ", ".join((*scores, f"most {frame.most}"))


def _type_text(frame: fr.RegistrationFrame) -> str:
    code = f"version {frame.handler_version}, digest {ids.short(frame.digest)}" if frame.digest else "built in"
    return ", ".join((code, *frame.rewrites, *(("functional",) if frame.functional else ())))


def _text(side: BundleSide, version: fr.VersionFrame, lineage: bytes) -> str:
    body = side.text(version, side.groups[lineage])
    return diff_side.NOT_BUNDLED if body is None else "\n".join(filter(None, (body.type, body.name, body.content)))


def _find_silent(sides: BundleSides) -> Iterator[bytes]:
    """The worlds, edges and proposals that both have, and not in the same state."""
    one, other = sides
    for lineage in one.groups.keys() & other.groups.keys():
        if _comparable(one, lineage) != _comparable(other, lineage):
            yield lineage
    for group in one.groups.values():
        for frame in group.edges:
            states = one.edge(frame.edge), other.edge(frame.edge)
            if states[0] and states[1] and states[0].validity != states[1].validity:
                yield frame.edge


def _comparable(side: BundleSide, lineage: bytes) -> tuple[diff_side.State | None, tuple[bytes, ...]]:
    """Without the commit, which is another one in every store that a world was imported into."""
    state = side.state(lineage)
    return state and state._replace(seq=0, ingested_at=0), side.containers(lineage)


RELATION: Final = "bundle"
_ERASED: Final = frozenset({"erased", "erased_elsewhere"})
_SHOWN: Final = 8
_OTHER_LOG: Final = (
    "At the bundle's commit, the store's log differs from the log that the bundle was exported from: one of the two"
    " was rewritten, or they diverged"
)


class StoreMoment(NamedTuple):
    """A store at one of its commits."""

    reader: SnapshotSource
    store_id: bytes
    seq: int


Given = Contents | StoreMoment


def diff_bundles(a: Given, b: Given, world: bytes | str | None) -> diff_side.Difference:
    """Compare two sides, at least one of them a bundle: everything that both hold, or ``world`` in it.

    Raises:
        UnknownReference: a store does not have the bundle's world, or neither side has ``world``.
        AmbiguousReference: ``world`` is the beginning of several references.
    """
    top = _shared_world(a, b)
    sides = BundleSide("a", _contents(a, top)), BundleSide("b", _contents(b, top))
    start = top if world is None else _find_named_world(sides, world)
    parted, notes = _find_parting(a, b)
    found = compare_facts(sides)
    since = diff_side.LaterEvents(
        [*_compare_by_log(sides, (a, b), parted), *_compare_by_facts(found.later, (a, b), parted)], found.silent
    )
    outside = field_diff.outside_details(sides, since)
    for lineage, details in found.details.items():
        outside.setdefault(lineage, []).extend(details)
    walk = world_diff.Walk(sides, BundleDescent(sides), since, outside)
    walk.descend(start)
    worlds = tuple(walk.changes(start))
    one, other = (side.contents.heading for side in sides)
    return diff_side.Difference(
        equal=not worlds,
        related=True,
        relation=RELATION,
        parted=parted,
        parted_at=next(each.ingest_time for each in (one, other) if each.seq == parted) if parted else 0,
        seq_a=one.seq,
        seq_b=other.seq,
        time_a=one.ingest_time,
        time_b=other.ingest_time,
        root_a=sides[0].hash(start).hex(),
        root_b=sides[1].hash(start).hex(),
        store_a=one.store_id.hex(),
        store_b=other.store_id.hex(),
        by="hash",
        deep=False,
        worlds_visited=walk.visited,
        trie_nodes_visited=0,
        worlds=worlds,
        altered=(),
        problems=(),
        notes=tuple(notes),
    )


def _shared_world(a: Given, b: Given) -> bytes:
    """The world that is compared: a bundle's own; of two bundles, the one inside the other."""
    bundles = [given for given in (a, b) if isinstance(given, Contents)]
    for bundle in bundles:
        world = bundle.heading.world
        if all(any(group.frame.lineage == world for group in each.worlds) for each in bundles):
            return world
    named = " and ".join(ids.short(bundle.heading.world) for bundle in bundles)
    raise errors.UnknownReference(
        f"The bundles hold two worlds, {named}, and neither contains the other",
        "Compare two bundles of one world",
    )


def _contents(given: Given, world: bytes) -> Contents:
    if isinstance(given, Contents):
        return given
    if not given.seq:
        raise errors.InputError("Nothing had been committed by then", "Compare with a later moment")
    try:
        return collect_contents(bundle_frames(given.reader, world, given.seq, given.store_id))
    except errors.UnknownReference:
        raise errors.UnknownReference(
            f"The store does not have the bundle's world {world.hex()} at commit {given.seq}",
            "Compare with a later moment, or with the store that it was exported from or imported into",
        ) from None


def _find_named_world(sides: BundleSides, world: bytes | str) -> bytes:
    """The world on either side that has a reference, or one that begins so."""
    digits = world if isinstance(world, str) else world.hex()
    worlds = dict.fromkeys(lineage.hex() for side in sides for lineage in side.groups)
    found = [ref for ref in worlds if ref.startswith(digits)] if len(digits) >= ids.MIN_PREFIX_DIGITS else []
    if len(found) > 1:
        raise errors.AmbiguousReference(
            f"{len(found):,} worlds begin with {digits[:40]!r}", "Give more digits", candidates=found[:_SHOWN]
        )
    if not found:
        raise errors.UnknownReference(
            f"Neither side has a world {digits[:40]!r} inside the bundle's world {ids.short(sides[0].root())}",
            f"Give at least {ids.MIN_PREFIX_DIGITS} digits of the reference of a world inside it, or leave the world"
            " out",
        )
    return bytes.fromhex(found[0])


def _find_parting(a: Given, b: Given) -> tuple[int, list[str]]:
    """The bundle's commit, if the store's log has it, too; and what to know otherwise."""
    stores = [given for given in (a, b) if isinstance(given, StoreMoment)]
    if not stores:
        return 0, []
    (store,) = stores
    (heading,) = (given.heading for given in (a, b) if isinstance(given, Contents))
    if heading.store_id != store.store_id or heading.seq > store.seq:
        return 0, []
    with store.reader.snapshot() as snapshot:
        if snapshot.log.chain(heading.seq) == heading.chain:
            return heading.seq, []
    return 0, [_OTHER_LOG]


def _compare_by_log(sides: BundleSides, given: tuple[Given, Given], parted: int) -> Iterator[diff_side.LaterEvent]:
    """The store's events since the bundle was made about anything that either side holds."""
    for side, each in zip(sides, given, strict=True):
        if not parted or isinstance(each, Contents):
            continue
        known = {ref.hex() for other in sides for ref in other.refs()}
        for entry in journal(each.reader, parted + 1, each.seq):
            if entry.event in diff_side.SHOWN_EVENTS | _ERASED and not known.isdisjoint(entry.refs):
                yield diff_side.later_event(side, entry, sides)


def _compare_by_facts(
    later: list[diff_side.LaterEvent], given: tuple[Given, Given], parted: int
) -> Iterator[diff_side.LaterEvent]:
    """The facts that only one side holds, where there is no log."""
    logged = {label for label, each in zip("ab", given, strict=True) if isinstance(each, StoreMoment) and parted}
    return (each for each in later if each.side not in logged or each.entry.seq <= parted)
