"""The bases of a world, and how far they are trusted.

A world rests on what it is ``derived_from``, at any distance, in the versions that these edges name; a summary also
rests on what it contains. Its trust is the lowest level that applies to it or to any of its bases: to the author, to
the fields of the source, and to the nearest world around it that has one. The level for "the rest" applies where no
other does.

A world is stale if one of its bases has ended, was erased, or says something else than when the world was made of it.
Stale worlds stay valid. What had already ended or been replaced when the world was written does not count: the writer
could know. A world whose containers have all ended is reported too.

In a confined view only what lies inside counts, and nothing reveals that there is more (law 7): bases outside are
neither shown nor counted, nor do they lower a summary's trust there.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import count, islice
from typing import Any, Final

import msgspec

from worlddb.log.model import blobs, codec
from worlddb.log.model.blobs import BEFORE, IMPORTED, Body
from worlddb.projections.tables.apply import settings
from worlddb.projections.tables.reads import asof
from worlddb.projections.tables.reads.table_reads import TableReads
from worlddb.projections.tables.storage.schema import CONTAINS_CODE, EDGE_TYPE_CODES, VersionRow
from worlddb.query.records import records
from worlddb.query.snapshot.visible import SUMMARY_TYPE, VisibleSnapshot

MAX_SHOWN: Final = 64
"""How many bases of a world are shown; a flag says that there are more."""
MAX_WEIGHED: Final = 4_096
"""How many bases count for a world's trust; a world with more gets the lowest level."""
_BATCH: Final = 512
"""How many bases are looked up together when all are read."""
_DERIVED_FROM: Final = EDGE_TYPE_CODES["derived_from"]
_SUPERSEDES: Final = EDGE_TYPE_CODES["supersedes"]

_Version = tuple[int, int, bytes]
"""A node, the commit that wrote a version of it, and the digest of that version's type."""


class Trust:
    """The trust of the worlds of one read, by the levels set up to the view's commit."""

    def __init__(self, snapshot: VisibleSnapshot) -> None:
        self._snapshot = snapshot
        self._said: dict[str, dict[bytes, int]] = {kind: {} for kind in settings.TRUST_KINDS}
        for said in snapshot.trusts():
            if said.level is not None:
                self._said[said.kind][said.digest] = said.level
        self.is_said = any(self._said.values())
        """False if no level was ever set: everything is trusted then."""
        self._rest = next(iter(self._said["rest"].values()), None)
        self._named: dict[tuple[str, str, str], int | None] = {}
        """Levels of authors and of fields of sources."""
        self._secret = b""
        self._around: dict[int, int | None] = {}
        self._levels: dict[tuple[int, int], int | None] = {}
        self._owns: dict[tuple[int, int], int | None] = {}
        self._lowest: dict[tuple[int, int], int | None] = {}
        """The lowest level of each version met and of its bases, as far as those were read."""
        self._above: dict[tuple[int, int], list[tuple[int, int]]] = {}
        self._pending: list[tuple[int, VersionRow]] = []
        self._versions: dict[int, int] = {}

    def level(self, node: int, row: VersionRow) -> int | None:
        """The lowest level of a version of a world and of all its bases.

        ``None`` if none of them has a level, which counts as full trust.
        """
        if not self.is_said:
            return None
        version = node, row.seq
        if version not in self._levels:
            self._add_version(node, row)
            folded = self._is_folded()
            self._levels[version] = self._lowest[version] if folded else self._lowest_level_below(node, row)
        return self._levels[version]

    def _add_version(self, node: int, row: VersionRow) -> None:
        version = node, row.seq
        if version not in self._above:
            self._above[version] = []
            self._lowest[version] = self._find_own_level(node, row)
            self._versions.setdefault(node, row.seq)
            self._pending.append((node, row))

    def _is_folded(self) -> bool:
        """True if ``_lowest`` is final for all versions met, and equal to what a walk from each would find.

        Such a walk visits one version of each world, and at most ``MAX_WEIGHED`` of them.
        """
        bases = self._snapshot.once(_Bases)
        while self._pending and len(self._above) <= MAX_WEIGHED:
            node, row = self._pending.pop()
            for base, base_row in bases.of(node, row.seq, row.type):
                self._add_version(base, base_row)
                self._above[base, base_row.seq].append((node, row.seq))
                self._lower((node, row.seq), self._lowest[base, base_row.seq])
        return not self._pending and len(self._versions) == len(self._above) <= MAX_WEIGHED

    def _lower(self, version: tuple[int, int], level: int | None) -> None:
        """Lower a version, and everything that rests on it, to a level."""
        pending = [version]
        while pending and level is not None:
            at = pending.pop()
            if self._lowest[at] != _lowest_level((self._lowest[at], level)):
                self._lowest[at] = level
                pending += self._above[at]

    def _lowest_level_below(self, node: int, row: VersionRow) -> int | None:
        least = self._find_own_level(node, row)
        for looked_at, (_, base, base_row) in enumerate(_walk_bases(self._snapshot, node, row), 1):
            if least == 0:
                break
            if looked_at > MAX_WEIGHED:
                return 0
            least = _lowest_level((least, self._find_own_level(base, base_row)))
        return least

    def name(self, node: int, row: VersionRow) -> str | None:
        """The level in words."""
        found = self.level(node, row)
        return None if found is None else settings.TRUST_LEVELS[found]

    def share(self, node: int, row: VersionRow) -> float:
        """The level as a share of full trust."""
        found = self.level(node, row)
        return 1.0 if found is None else found / settings.FULL_TRUST

    def is_at_least(self, node: int, row: VersionRow, least: int) -> bool:
        """True if the trust of a version is at least a level."""
        found = self.level(node, row)
        return found is None or found >= least

    def own(self, node: int, row: VersionRow) -> int | None:
        """The level of a version without its bases, ``None`` if it has none."""
        return self._find_own_level(node, row) if self.is_said else None

    def _find_own_level(self, node: int, row: VersionRow) -> int | None:
        """The level of a version itself, cached with those of the versions that it repeats."""
        version = node, row.seq
        if version not in self._owns:
            chain = [row, *(base for _, base in repeated(self._snapshot, node, row))]
            below: int | None = None
            for each in reversed(chain):
                below = self._owns[node, each.seq] = self._stated_level(node, each, below)
        return self._owns[version]

    def _stated_level(self, node: int, row: VersionRow, below: int | None) -> int | None:
        """The level of those who stated a version; ``below`` is the level of the version that it repeats."""
        said = [(row.seq, row.details)]
        if self._snapshot.has_restatements:
            again = self._snapshot.tables.restatements(node)
            known = (each for each in again if each.seq <= self._snapshot.place.moment.seq)
            versions = ((each, self._snapshot.tables.version(node, each.version)) for each in known)
            said += [
                (each.seq, each.details)
                for each, version in versions
                if version.body == row.body and not self._is_imported(each.seq, each.details)
            ]
        levels = [self._level_of_statement(node, *each) for each in said]
        levels[0] = _lowest_level((levels[0], below))
        # One trusted source of several suffices; a source without a level counts as fully trusted.
        return None if None in levels else max(level for level in levels if level is not None)

    def _is_imported(self, seq: int, details: int) -> bool:
        """True if it came with a bundle, which may claim anything and so never raises trust."""
        given = self._snapshot.details(seq, details)
        return IMPORTED in given.source or IMPORTED in given.properties

    def _level_of_statement(self, node: int, seq: int, details: int) -> int | None:
        """The level of one statement about a world, by its author, its source and its place."""
        by_source, by_claims = self._source_levels(seq, details)
        found = _lowest_level((self._author_level(seq), by_source, self._place_level(node)))
        return _lowest_level((self._rest if found is None else found, by_claims))

    def _author_level(self, seq: int) -> int | None:
        return self._named_level("author", "", self._snapshot.header(seq).author) if self._said["author"] else None

    def _source_levels(self, seq: int, details: int) -> tuple[int | None, int | None]:
        """The levels of a version's source, and of what it claims about earlier imports.

        A bundle can claim any origin, so such a claim may lower trust but never raise it.
        """
        if not self._said["source"]:
            return None, None
        given = self._snapshot.details(seq, details)
        source = given.source
        if IMPORTED in given.properties and IMPORTED not in source:
            source = source | {IMPORTED: given.properties[IMPORTED]}
        said, claimed = (
            _lowest_level(self._named_level("source", *field) for field in each) for each in _fields(source)
        )
        return said, claimed

    def _named_level(self, kind: str, field: str, value: str) -> int | None:
        named = kind, field, value
        if named not in self._named:
            self._secret = self._secret or self._snapshot.secret()
            both = settings.trust_digest(self._secret, field, value), settings.legacy_trust_digest(field, value)
            self._named[named] = _lowest_level(map(self._said[kind].get, both))
        return self._named[named]

    def _place_level(self, node: int) -> int | None:
        """The level of a world or of its nearest container with one; the lowest if several are equally near."""
        known = self._said["world"]
        if not known:
            return None
        if node not in self._around:
            self._around[node] = None
            for level in settings.containment_levels(node, self._snapshot.relevant_containers):
                found = _lowest_level(known.get(lineage) for lineage in self._snapshot.lineages_of(level))
                if found is not None:
                    self._around[node] = found
                    break
        return self._around[node]


def repeated(snapshot: VisibleSnapshot, node: int, row: VersionRow) -> Iterator[tuple[int, VersionRow]]:
    """The versions that a version of a world repeats, wholly or in part, with their numbers, the latest first.

    A rollback, an undo or a contraction states nothing new: its result has the trust of the earlier versions.
    """
    newest = snapshot.tables.node(node).versions
    while newest > 1:
        source = snapshot.details(row.seq, row.details).source
        number = next((source[name] for name in blobs.REPEATS if name in source), None)
        if type(number) is not int or not 0 < number <= newest:
            return
        base = snapshot.tables.version(node, number)
        if base.seq >= row.seq:
            return
        yield number, base
        row = base


def trust_in(snapshot: VisibleSnapshot) -> Trust:
    """The trust of one read, made once."""
    return snapshot.once(Trust)


def rests_on(
    snapshot: VisibleSnapshot, node: int, row: VersionRow, within: Container[int] | None = None
) -> tuple[tuple[records.Basis, ...], bool]:
    """The first bases of a world, nearest first and then in log order, and whether there are more.

    ``within``: count only these worlds.
    """
    found = list(islice(_walk_bases(snapshot, node, row, within), MAX_SHOWN + 1))
    trust = trust_in(snapshot)
    shown = tuple(
        _basis_record(snapshot, trust, *each, snapshot.header(each[2].seq), snapshot.body(each[2]))
        for each in found[:MAX_SHOWN]
    )
    return shown, len(found) > MAX_SHOWN


def all_bases(snapshot: VisibleSnapshot, node: int, row: VersionRow) -> Iterator[records.Basis]:
    """All bases of a world, nearest first and then in log order."""
    trust, headers = trust_in(snapshot), dict[int, codec.Header]()
    found = _walk_bases(snapshot, node, row, together=_BATCH)
    while some := list(islice(found, _BATCH)):
        snapshot.tables.nodes_of([base for _, base, _ in some])
        bodies = snapshot.bodies([base_row for _, _, base_row in some])
        for each, body in zip(some, bodies, strict=True):
            seq = each[2].seq
            header = headers.get(seq) or headers.setdefault(seq, snapshot.header(seq))
            yield _basis_record(snapshot, trust, *each, header, body)


def is_derived_from(snapshot: VisibleSnapshot, node: int, row: VersionRow, other: int) -> bool:
    """True if a world rests on another one, at any distance, among its first ``MAX_WEIGHED`` bases."""
    return any(base == other for _, base, _ in islice(_walk_bases(snapshot, node, row), MAX_WEIGHED))


def stale(snapshot: VisibleSnapshot, node: int, row: VersionRow) -> tuple[records.Stale, ...]:
    """The stale bases of a version of a world, at any distance, nearest first: at most 64."""
    reasons = snapshot.once(_StaleReasons)
    made = reasons.known(node, row)
    if not reasons.may_have_stale_basis(made):
        return ()
    found: list[records.Stale] = []
    above: dict[int, _DerivedVersion | None] = {node: None}
    """The version from which each world was reached."""
    pending = [made]
    for at in pending:
        for base, reason in reasons.bases(at):
            if base.node in above:
                continue
            above[base.node] = at
            pending.append(base)
            if reason is not None:
                found.append(msgspec.structs.replace(reason, path=_path(reasons, base, above)))
            if len(found) == MAX_SHOWN or len(above) > MAX_WEIGHED:
                return tuple(found)
    return tuple(found)


def _path(
    reasons: "_StaleReasons", base: "_DerivedVersion", above: Mapping[int, "_DerivedVersion | None"]
) -> tuple[str, ...]:
    """The path to a base: references of worlds, beginning with a direct base."""
    steps = []
    at: _DerivedVersion | None = base
    while at is not None:
        steps.append(reasons.ref(at))
        at = above[at.node]
    return tuple(reversed(steps[:-1]))


class _DerivedVersion:
    """A version of a world, with its bases as far as they are known."""

    __slots__ = ("above", "bases", "is_stale", "node", "ref", "row")

    def __init__(self, node: int, row: VersionRow) -> None:
        self.node = node
        self.row = row
        self.ref = ""
        self.bases: list[tuple[_DerivedVersion, records.Stale | None]] | None = None
        self.above: list[_DerivedVersion] = []
        self.is_stale = False


class _StaleReasons:
    """Why bases of worlds are stale; a cache for one read.

    Usually no base is stale, which is established for all worlds on the way: of many worlds that rest on one another,
    each is visited once. Only a world with a stale base is searched from there down.
    """

    def __init__(self, snapshot: VisibleSnapshot) -> None:
        self._snapshot = snapshot
        self._known: dict[tuple[int, VersionRow], _DerivedVersion] = {}
        self._pending: list[_DerivedVersion] = []
        """Versions whose bases were not read yet."""

    def release(self) -> None:
        """Drop the back references, so that there are no reference cycles."""
        for made in self._known.values():
            made.above.clear()

    def known(self, node: int, row: VersionRow) -> _DerivedVersion:
        """The cached record of a version."""
        found = self._known.get((node, row))
        if found is None:
            found = self._known[node, row] = _DerivedVersion(node, row)
            self._pending.append(found)
        return found

    def bases(self, made: _DerivedVersion) -> list[tuple[_DerivedVersion, records.Stale | None]]:
        """The direct bases of a version, each with the reason if it is stale; without its path."""
        if made.bases is None:
            found = []
            for base, seen, then, told in _stated_bases(self._snapshot, made.node, made.row):
                below = self.known(base, seen.row)
                below.above.append(made)
                found.append((below, _find_stale_reason(self._snapshot, made.node, base, seen, then, told)))
            made.bases = found
        return made.bases

    def may_have_stale_basis(self, made: _DerivedVersion) -> bool:
        """False if no base of a version, at any distance, is stale."""
        for _ in range(MAX_WEIGHED):
            if made.is_stale or not self._pending:
                break
            at = self._pending.pop()
            if any(reason is not None or below.is_stale for below, reason in self.bases(at)):
                _mark_stale(at)
        return made.is_stale or bool(self._pending)

    def ref(self, made: _DerivedVersion) -> str:
        """The reference of a world."""
        made.ref = made.ref or self._snapshot.ref(made.node)
        return made.ref


def _mark_stale(made: _DerivedVersion) -> None:
    """Mark a version, and everything made of it, as having a stale base."""
    pending = [made]
    while pending:
        at = pending.pop()
        if not at.is_stale:
            at.is_stale = True
            pending += at.above


def _stated_bases(
    snapshot: VisibleSnapshot, node: int, row: VersionRow
) -> Iterator[tuple[int, asof.SeenVersion, asof.SeenVersion | None, asof.Moment]]:
    """The bases of a version: node, version used, version valid when it was stated, and the moment it was stated for.

    The writer of a version that is later than its edges knows what is valid by then.
    """
    tables, moment = snapshot.tables, snapshot.place.moment
    # Being derived from its own earlier version makes nothing stale: the later one holds.
    edges = [edge for edge in snapshot.derivations(node) if asof.edge_known(edge, moment.seq) and edge.target != node]
    if row.type == SUMMARY_TYPE:
        inside = tables.outgoing(node, CONTAINS_CODE, known_by=moment.seq)
        edges += [edge for place, edge in inside if asof.edge_known(edge, moment.seq)]
    for edge in edges:
        edge_moment = asof.Moment(max(edge.seq, row.seq), max(edge.valid_from, row.valid_from))
        then = made_of = asof.version_at(tables, edge.target, edge_moment)
        if made_of is None and (begins := _later_start(tables, edge.target, edge_moment)) is not None:
            edge_moment = asof.Moment(edge_moment.seq, begins)
            then = made_of = asof.version_at(tables, edge.target, edge_moment)
        if made_of is None or edge.seq >= row.seq:
            made_of = asof.version_known(tables, edge.target, edge.target_version, moment.seq) or made_of
        if made_of is not None:
            yield edge.target, made_of, then, edge_moment


def _later_start(tables: TableReads, node: int, told: asof.Moment) -> int | None:
    """When a world begins that had not begun by a moment, as known then; ``None`` if it had begun."""
    held = (each.validity for each in asof.versions_as_of(tables, node, told.seq))
    begins = min((validity.start for validity in held if not validity.is_empty), default=told.valid)
    return begins if begins > told.valid else None


def _find_stale_reason(
    snapshot: VisibleSnapshot,
    maker: int,
    node: int,
    made_of: asof.SeenVersion,
    then: asof.SeenVersion | None,
    told: asof.Moment,
) -> records.Stale | None:
    """Why a base of ``maker`` is stale; ``None`` if it is not, or if ``maker`` supersedes it."""
    tables, moment = snapshot.tables, snapshot.place.moment
    text = snapshot.body(made_of.row)
    if text is None:
        erased = snapshot.erasure(node)
        if erased is None:
            return _stale_record(snapshot, node, made_of.row, "erased", made_of.row.valid_from, made_of.row.seq)
        # The erasing commit of another history is not in this log.
        at = erased.ingested_at
        return _stale_record(snapshot, node, made_of.row, "erased", at, erased.seq, ingested_at=at)
    if moment.valid < told.valid or then is None:
        return None
    now = asof.version_at(tables, node, moment)
    if now is None:
        last = asof.last_valid_version(tables, node, moment)
        since = then.row.valid_from if last is None else last.validity.end
        number, row, _ = last or then
        learned = asof.closed_by(tables, node, number, row, moment.seq) or row.seq
        if _supersedes(snapshot, maker, node):
            return None
        taken_by = _superseded_by(snapshot, node)
        by = "" if taken_by is None else tables.node(taken_by).lineage.hex()
        return _stale_record(snapshot, node, made_of.row, "superseded" if by else "ended", since, learned, by)
    if now.number <= max(made_of.number, then.number):
        return None
    said = snapshot.body(now.row)
    if said is not None and (said.type, said.name, said.content) == (text.type, text.name, text.content):
        return None
    return _stale_record(snapshot, node, now.row, "replaced", now.validity.start, now.row.seq)


def _supersedes(snapshot: VisibleSnapshot, node: int, other: int) -> bool:
    """True if a world supersedes another at the moment."""
    tables, moment = snapshot.tables, snapshot.place.moment
    outgoing = tables.outgoing(node, _SUPERSEDES, known_by=moment.seq)
    return any(edge.target == other and asof.edge_seen(tables, place, edge, moment) for place, edge in outgoing)


def _superseded_by(snapshot: VisibleSnapshot, node: int) -> int | None:
    """The visible world that superseded another last, at the moment; ``None`` if there is none."""
    tables, moment = snapshot.tables, snapshot.place.moment
    incoming = tables.latest_incoming(node, _SUPERSEDES, known_by=moment.seq)
    return next((place.source for place, edge in incoming if asof.edge_seen(tables, place, edge, moment)), None)


def _stale_record(
    snapshot: VisibleSnapshot,
    node: int,
    row: VersionRow,
    why: str,
    since: int,
    seq: int,
    by: str = "",
    *,
    ingested_at: int | None = None,
) -> records.Stale:
    return records.Stale(
        ref=snapshot.ref(node),
        version=row.body.hex(),
        why=why,
        since=since,
        seq=seq,
        ingested_at=snapshot.header(seq).ingest_time if ingested_at is None else ingested_at,
        by=by,
        path=(),
    )


def _walk_bases(
    snapshot: VisibleSnapshot,
    node: int,
    row: VersionRow,
    within: Container[int] | None = None,
    *,
    together: int = 1,
) -> Iterator[tuple[int, int, VersionRow]]:
    """Walk the bases of a world breadth first: (steps, node, version), each world once.

    A world also comes in earlier versions if it was derived from these. ``together`` worlds are looked up at once; with
    more than one, the results are not cached.
    """
    bases = snapshot.once(_Bases)
    seen: set[int | tuple[int, int]] = {node}
    level: list[_Version] = [(node, row.seq, row.type)]
    for steps in count(1):
        below: list[_Version] = []
        for begin in range(0, len(level), together):
            some = level[begin : begin + together]
            each = map(bases.of, *zip(*some, strict=True)) if together == 1 else _find_bases_of_each(snapshot, some)
            for (at, _, _), found in zip(some, each, strict=True):
                for base, base_row in found:
                    met = base if base != at else (base, base_row.seq)
                    if met not in seen and (within is None or base in within):
                        seen.add(met)
                        below.append((base, base_row.seq, base_row.type))
                        yield steps, base, base_row
        if not below:
            return
        level = below


class _Bases:
    """A cache of direct bases: if many worlds rest on the same ones, each walk visits all of them."""

    def __init__(self, snapshot: VisibleSnapshot) -> None:
        self._snapshot = snapshot
        self._known: dict[tuple[int, int], list[tuple[int, VersionRow]]] = {}

    def of(self, node: int, seq: int, kind: bytes) -> list[tuple[int, VersionRow]]:
        """The direct bases of a commit's version, in the versions used; ``kind`` is the digest of its type."""
        version = node, seq
        if version not in self._known:
            self._known[version] = list(_find_bases(self._snapshot, node, seq, kind))
        return self._known[version]


def _find_bases(snapshot: VisibleSnapshot, node: int, seq: int, kind: bytes) -> Iterator[tuple[int, VersionRow]]:
    """Read the direct bases of a commit's version, in the versions used; ``kind`` is the digest of its type."""
    tables, moment = snapshot.tables, snapshot.place.moment
    for edge in snapshot.derivations(node):
        if asof.edge_known(edge, moment.seq):
            base = tables.version(edge.target, edge.target_version)
            # Of two versions of one world only the later one was made of the other.
            if edge.target != node or base.seq < seq:
                yield edge.target, base
    if kind == SUMMARY_TYPE:
        for place, edge in tables.outgoing(node, CONTAINS_CODE, known_by=moment.seq):
            if asof.edge_seen(tables, place, edge, moment):
                newest = asof.newest_version(tables, edge.target, moment.seq)
                if newest is not None:
                    yield edge.target, newest.row


def _find_bases_of_each(
    snapshot: VisibleSnapshot, versions: Sequence[_Version]
) -> Iterator[Iterable[tuple[int, VersionRow]]]:
    """As :func:`_find_bases`, for many versions."""
    tables, seq = snapshot.tables, snapshot.place.moment.seq
    plain = [node for node, _, kind in versions if kind != SUMMARY_TYPE]
    edges = tables.edges_of_each(plain, [_DERIVED_FROM], incoming=False, known_by=seq)
    ends = [(edge.target, edge.target_version) for found in edges.values() if found is not None for _, edge in found]
    rows = dict(zip(ends, tables.versions_of(ends), strict=True))
    for node, written, kind in versions:
        found = edges.get(node, []) if kind != SUMMARY_TYPE else None
        if found is None:
            yield _find_bases(snapshot, node, written, kind)
            continue
        known = ((edge.target, rows[edge.target, edge.target_version]) for _, edge in found if seq < edge.unlinked)
        yield [(base, row) for base, row in known if base != node or row.seq < written]


def _basis_record(
    snapshot: VisibleSnapshot,
    trust: Trust,
    steps: int,
    node: int,
    row: VersionRow,
    header: codec.Header,
    body: Body | None,
) -> records.Basis:
    return records.Basis(
        ref=snapshot.ref(node),
        version=row.body.hex(),
        type="" if body is None else body.type,
        name="" if body is None else body.name,
        steps=steps,
        seq=row.seq,
        ingested_at=header.ingest_time,
        author=header.author,
        source=snapshot.details(row.seq, row.details).source,
        trust=trust.name(node, row),
        erased=body is None,
    )


def _fields(source: Mapping[str, Any]) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """The fields of a source with their values, and those that it claims about earlier imports."""
    plain = ((field, value) for field, value in source.items() if not field.startswith(f"{IMPORTED}."))
    said = [(field, str(value)) for field, value in plain if isinstance(value, str | int | float)]
    claimed: list[tuple[str, str]] = []
    origin = source.get(IMPORTED)
    if isinstance(origin, Mapping):
        said += [(f"{IMPORTED}.{name}", str(value)) for name, value in origin.items() if name != BEFORE]
        earlier = origin.get(BEFORE)
        for claim in earlier if isinstance(earlier, list) else ():
            if isinstance(claim, Mapping):
                claimed += [(f"{IMPORTED}.{name}", str(value)) for name, value in claim.items()]
    return said, claimed


def _lowest_level(levels: Iterable[int | None]) -> int | None:
    return min((level for level in levels if level is not None), default=None)
