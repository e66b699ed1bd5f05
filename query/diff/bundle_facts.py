"""What a bundle says of a world beside its newest text, fact by fact, and in which facts two bundles differ.

A bundle has no log. Who wrote what when is said with every fact, so those that only one bundle holds stand for the
events that made the two differ.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

from worlddb.log.model import bundle as fr
from worlddb.log.model.blobs import origin_in
from worlddb.log.model.ids import short
from worlddb.log.model.times import Interval, format_time
from worlddb.log.store.bundle_contents import BundledWorld
from worlddb.query.diff.bundle_side import BundleSide, BundleSides
from worlddb.query.diff.common_past import LaterEvent
from worlddb.query.diff.diff_records import Detail
from worlddb.query.diff.diff_side import NOT_BUNDLED, State, span
from worlddb.query.diff.field_diff import as_text
from worlddb.query.history.journal import Entry

Key = tuple[Any, ...]


class Author(NamedTuple):
    """Who wrote something and when, in which commit of which store; of what was imported, before that."""

    store: str
    seq: int
    name: str
    time: str


class Fact(NamedTuple):
    """One thing that is said of a world: by which event in which commit, why, and what else of it can differ, in words.

    ``refs`` are what it names, the world first.
    """

    event: str
    refs: tuple[bytes, ...]
    seq: int
    by: Author
    why: str
    data: dict[str, Any]
    words: dict[str, str]


class Apart(NamedTuple):
    """In which facts two bundles differ: what only one holds, what may differ without that, and details by world."""

    told: list[LaterEvent]
    silent: list[bytes]
    details: dict[bytes, list[Detail]]


def apart(sides: BundleSides) -> Apart:
    """Compare all facts of two bundles."""
    facts = [dict(facts_of(side)) for side in sides]
    told = [
        LaterEvent(side.label, _entry(side, index, fact))
        for side, mine, others in zip(sides, facts, facts[::-1], strict=True)
        for index, (key, fact) in enumerate(mine.items())
        if key not in others
    ]
    details: defaultdict[bytes, list[Detail]] = defaultdict(list)
    same_store = sides[0].contents.heading.store_id == sides[1].contents.heading.store_id
    for key, one in facts[0].items():
        other = facts[1].get(key)
        if other is not None:
            details[one.refs[0]].extend(_retold(one, other, same_store=same_store))
    for lineage in sides[0].groups.keys() & sides[1].groups.keys():
        details[lineage].extend(_versions_apart(sides, lineage))
        details[lineage].extend(_types_apart(sides, lineage))
        details[lineage].extend(_tunings_apart(sides, lineage))
    found = {lineage: differing for lineage, differing in details.items() if differing}
    return Apart(told, [*_silent(sides), *found], found)


# -- the facts of one side


def facts_of(side: BundleSide) -> Iterator[tuple[Key, Fact]]:
    """Every fact, by what tells it from the others of the bundle."""
    for lineage, group in side.groups.items():
        for number, version in enumerate(group.versions, 1):
            details = side.details(version.details, version.seq)
            origin = origin_in(details.source) or origin_in(details.properties)
            by = _by(side, version.seq) if origin is None else _before(origin)
            data = {"version": number, "body": version.body.hex()}
            event = "created" if number == 1 else "revised"
            yield ("version", lineage, number), Fact(event, (lineage,), version.seq, by, details.why, data, {})
        given: Counter[str] = Counter()
        for alias in group.aliases:
            details = side.details(alias.details, alias.seq)
            name = details.aliases[alias.position]
            given[name] += 1
            data = {"alias": name, "nth": given[name]}
            fact = Fact("named", (lineage,), alias.seq, _by(side, alias.seq), details.why, data, {})
            yield ("alias", lineage, name, given[name]), fact
        for ended in group.ended:
            why = side.details(ended.details, ended.seq).why
            words = {"ended at": format_time(ended.at), "ended by": side.called(ended.by) if ended.by else ""}
            fact = Fact("ended", (lineage,), ended.seq, _by(side, ended.seq), why, {"at": ended.at}, words)
            yield ("ended", lineage), fact
        yield from _identity(side, group)
        yield from _edges(side, group)


def _identity(side: BundleSide, group: BundledWorld) -> Iterator[tuple[Key, Fact]]:
    for frame in group.proposals:
        refs = group.frame.lineage, frame.proposal, frame.source, frame.target
        data = {"proposal": frame.proposal.hex()}
        why = side.details(frame.details, frame.seq).why
        yield ("proposal", frame.proposal), Fact("proposed", refs, frame.seq, _by(side, frame.seq), why, data, {})
        for decision, blob, seq in frame.decisions:
            why = side.details(blob, seq).why
            fact = Fact("decided", refs, seq, _by(side, seq), why, data | {"decision": decision}, {})
            yield ("decision", frame.proposal, decision), fact


def _edges(side: BundleSide, group: BundledWorld) -> Iterator[tuple[Key, Fact]]:
    home = group.frame.lineage
    for edge in group.edges:
        details = side.details(edge.details, edge.seq)
        data = {"type": edge.type, "source": edge.source.hex(), "target": edge.target.hex(), "home": home.hex()}
        words = {f"properties of {edge.type}": as_text(details.properties)}
        refs = home, edge.edge, edge.source, edge.target
        yield ("edge", edge.edge), Fact("linked", refs, edge.seq, _by(side, edge.seq), details.why, data, words)


def _by(side: BundleSide, seq: int) -> Author:
    commit = side.contents.commits[seq]
    return Author(side.contents.heading.store_id.hex(), seq, commit.author, format_time(commit.ingest_time))


def _before(origin: dict[str, Any]) -> Author:
    return Author(*(origin[name] for name in ("store", "seq", "author", "ingested_at")))


def _entry(side: BundleSide, index: int, fact: Fact) -> Entry:
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


def _retold(one: Fact, other: Fact, *, same_store: bool) -> Iterator[Detail]:
    """What differs in a fact that both hold: who wrote it, why, and what else it says.

    Of an edge and the like only the commits of one store can be compared: an import keeps who wrote which version, and
    not who wrote which edge.
    """
    kind = "validity" if one.event == "ended" else "provenance"
    for field in one.words:
        if one.words[field] != other.words[field]:
            yield Detail(kind=kind, field=field, a=one.words[field], b=other.words[field])
    if one.why != other.why:
        yield Detail(kind="provenance", field=f"why of {one.event}", a=one.why, b=other.why)
    if one.by != other.by and (same_store or one.event in ("created", "revised")):
        texts = [f"by {by.name}, {by.time}" for by in (one.by, other.by)]
        if texts[0] == texts[1]:
            texts = [f"commit {by.seq} of store {by.store[:12]}" for by in (one.by, other.by)]
        yield Detail(kind="provenance", field=f"commit {one.by.seq}", a=texts[0], b=texts[1])


def _versions_apart(sides: BundleSides, lineage: bytes) -> Iterator[Detail]:
    """What differs in versions that both have, apart from what the states of the world show: the newest version."""
    groups = [side.groups[lineage].versions for side in sides]
    counts = [len(versions) for versions in groups]
    for number, versions in enumerate(zip(*groups, strict=False), 1):
        one, other = versions
        newest = number == counts[0] == counts[1]
        if not newest:
            texts = [_text(side, version) for side, version in zip(sides, versions, strict=True)]
            if texts[0] != texts[1]:
                kind = "erased" if one.body == other.body else "revised"
                yield Detail(kind=kind, field=f"text of version {number}", a=texts[0], b=texts[1])
            sources = [as_text(side.source(version)) for side, version in zip(sides, versions, strict=True)]
            if sources[0] != sources[1]:
                yield Detail(kind="provenance", field=f"source of version {number}", a=sources[0], b=sources[1])
        # Versions that a later one has closed on one side only end differently for that reason.
        if counts[0] != counts[1] and number < min(counts):
            spans = [span(Interval(version.valid_from, version.valid_to)) for version in versions]
            if spans[0] != spans[1]:
                yield Detail(kind="validity", field=f"valid of version {number}", a=spans[0], b=spans[1])
        if one.by != other.by:
            names = [
                side.called(version.by) if version.by else "" for side, version in zip(sides, versions, strict=True)
            ]
            yield Detail(kind="validity", field="superseded by", a=names[0], b=names[1])


def _types_apart(sides: BundleSides, lineage: bytes) -> Iterator[Detail]:
    """Edge types that hold for a world on one side only, or otherwise."""
    one, other = ({each.type: _type_text(each) for each in side.groups[lineage].registrations} for side in sides)
    for name in sorted(one.keys() | other.keys()):
        if one.get(name) != other.get(name):
            yield Detail(kind="registered", field=f"edge type {name}", a=one.get(name, ""), b=other.get(name, ""))


def _tunings_apart(sides: BundleSides, lineage: bytes) -> Iterator[Detail]:
    """Thresholds of the resolver that hold for a world on one side only, or otherwise."""
    one, other = ({each.type: _tuning_text(each) for each in side.groups[lineage].tunings} for side in sides)
    for name in sorted(one.keys() | other.keys()):
        if one.get(name) != other.get(name):
            field = f"thresholds for {name or 'every type'}"
            yield Detail(kind="registered", field=field, a=one.get(name, ""), b=other.get(name, ""))


def _tuning_text(frame: fr.TuningFrame) -> str:
    scores = (f"{name} {getattr(frame, name):g}" for name in ("fuzzy", "phonetic", "embedding", "margin"))
    return ", ".join((*scores, f"most {frame.most}"))


def _type_text(frame: fr.RegistrationFrame) -> str:
    code = f"version {frame.handler_version}, digest {short(frame.digest)}" if frame.digest else "built in"
    return ", ".join((code, *frame.rewrites, *(("functional",) if frame.functional else ())))


def _text(side: BundleSide, version: fr.VersionFrame) -> str:
    body = side.text(version)
    return NOT_BUNDLED if body is None else "\n".join(filter(None, (body.type, body.name, body.content)))


def _silent(sides: BundleSides) -> Iterator[bytes]:
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


def _comparable(side: BundleSide, lineage: bytes) -> tuple[State | None, tuple[bytes, ...]]:
    """Without the commit, which is another one in every store that a world was imported into."""
    state = side.state(lineage)
    return state and state._replace(seq=0, ingested_at=0), side.containers(lineage)
