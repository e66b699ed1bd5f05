"""Build records from rows: worlds with their conflicts, versions, edges, and proposals.

The evidence of a proposal is stored as references only. Reads look the names up, so that erasures remove them and views
confined to a world learn nothing of others.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any, Final, NamedTuple

from msgspec import structs

from worlddb.log.model import blobs, events, times
from worlddb.projections.tables.apply import log_marks
from worlddb.projections.tables.reads import asof, table_reads
from worlddb.projections.tables.storage.rows import Staged, Tables
from worlddb.projections.tables.storage.schema import (
    EDGE_TYPE_CODES,
    ROOT_NODE,
    STATUS_NAMES,
    AliasRow,
    EdgePlace,
    EdgeRow,
    ProposalRow,
    VersionRow,
)
from worlddb.query.records import records
from worlddb.query.snapshot import provenance, valid_period, visible
from worlddb.query.snapshot.edge_rules import Spec, holds
from worlddb.query.snapshot.snapshot import Ended


def conflicts_of(
    snapshot: visible.VisibleSnapshot, node: int, moment: asof.Moment, spec: Spec, period: valid_period.Period | None
) -> list[tuple[EdgePlace, EdgeRow]]:
    """The edges that record the conflicts of a world, in log order.

    Both sides and the edge must be valid together: at the moment, or throughout the period or at some instant of it.
    """
    # Before the cache: to look up a present time there ends how long an answer may be kept.
    if snapshot.is_alone(node):
        return []
    kept: _Conflicts = snapshot.kept.setdefault(_Conflicts, _Conflicts())
    asked = node, moment, period
    if asked not in kept:
        if len(kept) >= _MAX_CONFLICT_KEYS:
            kept.clear()
        kept[asked] = _find_conflicts(snapshot, node, moment, spec, period)
    return kept[asked]


class _Conflicts(dict[tuple[int, asof.Moment, valid_period.Period | None], list[tuple[EdgePlace, EdgeRow]]]):
    """A cache of conflicts for one read: a recall looks up each hit twice."""


_MAX_CONFLICT_KEYS: Final = 2_048
"""The largest number of worlds in the cache."""


def _find_conflicts(
    snapshot: visible.VisibleSnapshot, node: int, moment: asof.Moment, spec: Spec, period: valid_period.Period | None
) -> list[tuple[EdgePlace, EdgeRow]]:
    tables = snapshot.tables
    found: dict[int, tuple[EdgePlace, EdgeRow]] = {}
    for type_name, code in _conflict_codes(snapshot, spec):
        if not snapshot.may_have_edges(node, code):
            continue
        outgoing = tables.outgoing(node, code, known_by=moment.seq)
        for place, row in (*outgoing, *tables.incoming(node, code, known_after=moment.seq, known_by=moment.seq)):
            if _holds_with_ends(tables, place, row, moment, period) and holds(
                snapshot, spec, type_name, "show_conflicts", row.home
            ):
                found[place.edge] = place, row
    return [found[edge] for edge in sorted(found)]


class _ConflictCodes(NamedTuple):
    """The edge types that record conflicts, with their codes; a cache for one read."""

    spec: Spec
    codes: list[tuple[str, int]]


@lru_cache(maxsize=64)
def _built_in_codes(names: frozenset[str]) -> list[tuple[str, int]] | None:
    """The edge types of these names with their codes, if all are built in and so are the same in every store."""
    found = [(name, EDGE_TYPE_CODES.get(name)) for name in sorted(names)]
    return [(name, code) for name, code in found if code is not None] if all(code for _, code in found) else None


def _conflict_codes(snapshot: visible.VisibleSnapshot, spec: Spec) -> list[tuple[str, int]]:
    if (built_in := _built_in_codes(spec.conflict_types)) is not None:
        return built_in
    kept: _ConflictCodes | None = snapshot.kept.get(_ConflictCodes)
    if kept is None or kept.spec is not spec:
        known = ((name, snapshot.tables.type_code(name)) for name in sorted(spec.conflict_types))
        kept = _ConflictCodes(spec, [(name, code) for name, code in known if code is not None])
        snapshot.kept[_ConflictCodes] = kept
    return kept.codes


def _holds_with_ends(
    tables: table_reads.TableReads,
    place: EdgePlace,
    row: EdgeRow,
    moment: asof.Moment,
    period: valid_period.Period | None,
) -> bool:
    """True if the edge and both of its ends are valid together."""
    if period is None:
        ends = (place.source, row.target)
        return valid_period.is_edge_shown(tables, place, row, moment, None) and all(
            asof.version_at(tables, end, moment) for end in ends
        )
    if not asof.edge_known(row, moment.seq):
        return False
    together = list(times.common(period.span, asof.edge_validity(tables, place, row, moment.seq)).pieces)
    for end in (place.source, row.target):
        valid = [piece for seen in asof.versions_as_of(tables, end, moment.seq) for piece in seen.validity.pieces]
        together = [piece for part in together for one in valid if not (piece := part.intersect(one)).is_empty]
    return _total_length(together) == _total_length(period.span.pieces) if period.throughout else bool(together)


def _total_length(pieces: Iterable[times.Interval]) -> int:
    """The total length of pieces; those of a world's versions never overlap."""
    return sum(piece.end - piece.start for piece in pieces)


_LINEAGE: Final = re.compile("[0-9a-f]{32}")
_CONSIDERED: Final = "considered"
_CONSIDERED_TOTAL: Final = "considered_in_all"
_TUNED_WORLD: Final = "tuned"
"""The world whose thresholds were used, unless they are the store's defaults."""
_THRESHOLDS: Final = "thresholds"
_LOOKED_AT: Final = "looked_at"


def visible_evidence(
    snapshot: visible.VisibleSnapshot,
    evidence: dict[str, Any],
    sides: tuple[str, str],
    seq: int,
    is_visible: Callable[[int], bool] | None = None,
) -> dict[str, Any]:
    """The evidence for one of two ``sides``, with the names of the candidates as of a commit.

    Candidates that are not visible, here or by ``is_visible``, are left out and not counted, and the verdict is
    recomputed from the others. Evidence that a caller gave is returned unchanged.
    """
    considered = evidence.get(_CONSIDERED)
    if not isinstance(considered, list) or not all(map(_is_from_resolver, considered)):
        return evidence
    given, evidence = evidence, _redact_thresholds(snapshot, evidence, seq, is_visible)
    if snapshot.place.is_partial or is_visible is not None:
        # The number of compared names includes invisible ones.
        evidence = {name: value for name, value in evidence.items() if name != _LOOKED_AT}
    shown = []
    for each in considered:
        node = snapshot.tables.node_of(bytes.fromhex(each["ref"]))
        if node is not None and (is_visible is None or is_visible(node)):
            shown.append({"ref": each["ref"], "name": newest_name(snapshot, node, seq), **each})
    if snapshot.place.is_partial or is_visible is not None:
        verdict = {} if len(shown) == given.get(_CONSIDERED_TOTAL) else _visible_verdict(shown, given, sides)
        return evidence | verdict | {_CONSIDERED: shown, _CONSIDERED_TOTAL: len(shown)}
    return evidence | {_CONSIDERED: shown}


def _visible_verdict(shown: list[dict[str, Any]], evidence: dict[str, Any], sides: tuple[str, str]) -> dict[str, Any]:
    """The verdict on an ambiguous pair, computed from the visible candidates only."""
    mine = next((_tier_scores(each) for each in shown if each["ref"] in sides), {})
    if evidence.get("decision") != "ambiguous" or not mine:
        return {}
    tier = evidence.get("tier")
    tier = tier if isinstance(tier, str) and tier in mine else next(iter(mine))
    alike = [found[tier] for each in shown if tier in (found := _tier_scores(each)) and "guard" not in each]
    thresholds = _numbers(evidence.get(_THRESHOLDS))
    least = max(thresholds.get(tier, 1.0), max(alike, default=1.0) - thresholds.get("margin", 0.0))
    decision = "ambiguous" if sum(score >= least for score in alike) > 1 else "resolved"
    return {"tier": tier, "score": mine[tier], "decision": decision}


def _tier_scores(each: dict[str, Any]) -> dict[str, float]:
    """The scores of a candidate by tier."""
    return _numbers(each["scores"])


def _numbers(given: object) -> dict[str, float]:
    """The entries of a mapping that are numbers; a caller's evidence may contain anything."""
    found = given.items() if isinstance(given, dict) else ()
    return {name: value for name, value in found if isinstance(value, int | float)}


def _redact_thresholds(
    snapshot: visible.VisibleSnapshot, evidence: dict[str, Any], seq: int, is_visible: Callable[[int], bool] | None
) -> dict[str, Any]:
    """Remove the world whose thresholds were used, if the reader may not see it.

    The thresholds are removed too, unless they apply to everything visible.
    """
    tuned = evidence.get(_TUNED_WORLD)
    if not isinstance(tuned, str) or not _LINEAGE.fullmatch(tuned):
        return evidence
    lineage = bytes.fromhex(tuned)
    node = snapshot.tables.node_of(lineage)
    if node is not None and (is_visible is None or is_visible(node)):
        return evidence
    holds = is_visible is None and snapshot.is_tuning_visible(lineage, seq)
    hidden = {_TUNED_WORLD} if holds else {_TUNED_WORLD, _THRESHOLDS}
    return {name: value for name, value in evidence.items() if name not in hidden}


def _is_from_resolver(each: object) -> bool:
    """True if a candidate was written by the resolver."""
    if not isinstance(each, dict) or not isinstance(each.get("ref"), str):
        return False
    return "scores" in each and _LINEAGE.fullmatch(each["ref"]) is not None


def newest_name(snapshot: visible.VisibleSnapshot, node: int, seq: int) -> str:
    """The name of a world's newest version at a commit; empty if there is none, or it was erased."""
    seen = asof.newest_version(snapshot.tables, node, seq)
    body = None if seen is None else snapshot.body(seen.row)
    return "" if body is None else body.name


def _newest_label(snapshot: visible.VisibleSnapshot, node: int, seq: int) -> str:
    """The name of a world's newest version at a commit, or the beginning of its text; empty if it was erased."""
    seen = asof.newest_version(snapshot.tables, node, seq)
    body = None if seen is None else snapshot.body(seen.row)
    return "" if body is None else body.name or " ".join(body.content[:LONGEST_LABEL].split())


LONGEST_LABEL: Final = 80
"""Characters of a text that stand for a name."""
MAX_RESTATED: Final = 64
"""How many restatements of a version are shown."""
_ERASED = blobs.Body(b"", "", "", "")


def world(
    snapshot: visible.VisibleSnapshot,
    node: int,
    moment: asof.Moment,
    spec: Spec,
    *,
    include_superseded: bool = False,
    period: valid_period.Period | None = None,
) -> records.World | None:
    """A world at a moment or in a period (its newest version there), ``None`` if none is valid.

    ``None`` also if it is hidden, unless ``include_superseded``.
    """
    seen = shown_version(snapshot, node, moment, spec, include_superseded=include_superseded, period=period)
    return None if seen is None else world_of(snapshot, node, seen, moment, spec, period)


def shown_version(
    snapshot: visible.VisibleSnapshot,
    node: int,
    moment: asof.Moment,
    spec: Spec,
    *,
    include_superseded: bool = False,
    period: valid_period.Period | None = None,
) -> asof.SeenVersion | None:
    """The version that :func:`world` shows."""
    if not include_superseded and snapshot.hides_any and snapshot.hides(node, period):
        return None
    seen = next(valid_period.versions_in(snapshot.tables, node, moment, period), None)
    if seen is None and period is None and (include_superseded or not spec.hides_closed):
        seen = asof.newest_version(snapshot.tables, node, moment.seq)
    return seen


def says_the_same(snapshot: visible.VisibleSnapshot, one: asof.SeenVersion, other: asof.SeenVersion) -> bool:
    """True if two versions have the same type, name and text, and both can be read."""
    said, also = snapshot.body(one.row), snapshot.body(other.row)
    return (
        said is not None
        and also is not None
        and (said.type, said.name, said.content) == (also.type, also.name, also.content)
    )


def world_of(
    snapshot: visible.VisibleSnapshot,
    node: int,
    seen: asof.SeenVersion,
    moment: asof.Moment,
    spec: Spec,
    period: valid_period.Period | None = None,
    *,
    without_bases: bool = False,
) -> records.World:
    """The record of one version of a world.

    ``without_bases``: for a fresh summary; its bases are not read, and ``rests_on_more`` says that there are some.
    """
    row = snapshot.tables.node(node)
    body = snapshot.body(seen.row)
    text = body or _ERASED
    details = snapshot.details(seen.row.seq, seen.row.details)
    header = snapshot.header(seen.row.seq)
    # Few worlds have any of these; passing them all with the rest would double the time of the call.
    more: dict[str, Any] = {}
    if around := in_ended(snapshot, node):
        more["in_ended"] = around
    if without_bases:
        more["rests_on_more"] = True
    elif snapshot.is_made_of_others(node, seen.row):
        more["rests_on"], more["rests_on_more"] = provenance.rests_on(snapshot, node, seen.row)
        more["stale"] = provenance.stale(snapshot, node, seen.row)
    if snapshot.has_trust_statements:
        more["trust"] = provenance.trust_in(snapshot).name(node, seen.row)
    if snapshot.has_restatements:
        more["restated"] = restatements(snapshot, node, seen.number)
    if snapshot.has_marks:
        more["expires_at"] = snapshot.deadline(node)
        more["pinned"], more["deprecated"] = snapshot.is_pinned(node), snapshot.is_deprecated(node)
        more["labels"], more["tags"] = labels(snapshot, node), tags(snapshot, node)
    if details.properties:
        more["properties"] = properties(details)
    return records.World(
        ref=snapshot.ref(node),
        version=seen.row.body.hex(),
        number=seen.number,
        type=text.type,
        name=text.name,
        content=text.content,
        aliases=aliases(snapshot, node, moment.seq),
        valid=records.Valid(*times.piece_at(seen.validity, moment.valid)),
        seq=seen.row.seq,
        ingested_at=header.ingest_time,
        author=header.author,
        why=details.why,
        source=details.source,
        closed=not seen.validity.contains(moment.valid),
        ended=row.ended != 0 and asof.has_ended(snapshot.tables, node, moment.seq),
        erased=body is None,
        erasure=None if body is not None else snapshot.erasure(node),
        conflicts=conflicts(snapshot, node, moment, spec, period),
        **more,
    )


def properties(details: blobs.Details) -> dict[str, Any]:
    """The properties of a version that have a value, without the origin of an import."""
    found = details.properties.items()
    return {name: value for name, value in found if value is not None and name != blobs.IMPORTED}


def labels(snapshot: visible.VisibleSnapshot, node: int) -> tuple[str, ...]:
    """The labels of a world at the moment, in the order in which they were added."""
    seq, found = snapshot.place.moment.seq, []
    for _, row in snapshot.label_rows(node):
        if asof.alias_known(row, seq) and (text := _label_text(snapshot, row)):
            found.append(text)
    return tuple(found)


def tags(snapshot: visible.VisibleSnapshot, node: int) -> dict[str, int]:
    """The tags of a world at the moment, each with the number of the tagged version."""
    found = {}
    for number, row in snapshot.tag_rows(node):
        version = snapshot.assigned(node, number)
        if version and (text := _label_text(snapshot, row)):
            found[text] = version
    return found


def _label_text(snapshot: visible.VisibleSnapshot, row: AliasRow) -> str:
    """The text of a label or a tag; empty once it is erased."""
    texts = snapshot.details(row.seq, row.details).aliases
    return texts[row.position] if row.position < len(texts) else ""


def marks(snapshot: visible.VisibleSnapshot, node: int) -> list[records.Mark]:
    """All marks that were set and removed on a world, as known at the moment, oldest first."""
    found: list[records.Mark] = []

    def add(kind: str, seq: int, details: int, **what: Any) -> None:
        header, why = snapshot.header(seq), snapshot.details(seq, details).why
        found.append(
            records.Mark(kind=kind, seq=seq, ingested_at=header.ingest_time, author=header.author, why=why, **what)
        )

    for deadline in snapshot.deadlines_set(node):
        lifted = deadline.at == times.FOREVER
        ttl = deadline.lasts / 1_000_000 if deadline.lasts else None
        add(
            "unexpires" if lifted else "expires",
            deadline.seq,
            deadline.details,
            expires_at=None if lifted else deadline.at,
            ttl=ttl,
        )
    for pinning in snapshot.pinnings(node):
        add("pinned" if pinning.is_set else "unpinned", pinning.seq, pinning.details)
    for deprecation in snapshot.deprecations(node):
        add("deprecated" if deprecation.is_set else "undeprecated", deprecation.seq, deprecation.details)
    for number, row in snapshot.tag_rows(node):
        name = _label_text(snapshot, row)
        for each in snapshot.assignments(node, number):
            add("tagged" if each.version else "untagged", each.seq, each.details, tag=name, version=each.version)
    lineage = snapshot.tables.node(node).lineage
    for number, row in snapshot.label_rows(node):
        text = _label_text(snapshot, row)
        add("labelled", row.seq, row.details, label=text)
        if row.removed <= snapshot.place.moment.seq:
            about = snapshot.events_about(row.removed, lineage)
            taken = (event for event in about if isinstance(event, events.Unlabelled) and event.label == number)
            add("unlabelled", row.removed, next((event.details for event in taken), events.NONE), label=text)
    return sorted(found, key=lambda mark: mark.seq)


def restatements(snapshot: visible.VisibleSnapshot, node: int, number: int) -> tuple[records.Restatement, ...]:
    """The first :data:`MAX_RESTATED` restatements of a version."""
    found = []
    for row in snapshot.restatements_of(node, number)[:MAX_RESTATED]:
        header, details = snapshot.header(row.seq), snapshot.details(row.seq, row.details)
        found.append(
            records.Restatement(
                number=number,
                seq=row.seq,
                ingested_at=header.ingest_time,
                author=header.author,
                source=details.source,
                why=details.why,
            )
        )
    return tuple(found)


def aliases(snapshot: visible.VisibleSnapshot, node: int, seq: int) -> tuple[str, ...]:
    """The aliases that a world had at a commit."""
    found = []
    for _, row in snapshot.tables.aliases(node) if snapshot.tables.node(node).aliases else ():
        texts = snapshot.details(row.seq, row.details).aliases if asof.alias_known(row, seq) else []
        if row.position < len(texts):
            found.append(texts[row.position])
    return tuple(found)


def conflicts(
    snapshot: visible.VisibleSnapshot,
    node: int,
    moment: asof.Moment,
    spec: Spec,
    period: valid_period.Period | None = None,
) -> tuple[str, ...]:
    """The worlds that contradict this one at a moment or in a period, in log order."""
    found = conflicts_of(snapshot, node, moment, spec, None if period is None else period.touched)
    others = (row.target if place.source == node else place.source for place, row in found)
    return tuple(snapshot.ref(other) for other in others)


def edge(snapshot: visible.VisibleSnapshot, place: EdgePlace, row: EdgeRow, moment: asof.Moment) -> records.Edge:
    """The record of an edge."""
    tables = snapshot.tables
    validity = asof.edge_validity(tables, place, row, moment.seq)
    details = snapshot.details(row.seq, row.details)
    return records.Edge(
        ref=row.edge.hex(),
        type=tables.type_name(place.type),
        source=snapshot.ref(place.source),
        source_version=row.source_version,
        target=snapshot.ref(row.target),
        target_version=row.target_version,
        home=snapshot.ref(row.home),
        valid=records.Valid(*times.piece_at(validity, moment.valid)),
        spans=multiple_spans(validity),
        closed=not validity.contains(moment.valid),
        seq=row.seq,
        properties=details.properties,
        why=details.why,
    )


def multiple_spans(validity: times.Validity) -> tuple[records.Valid, ...]:
    """The spans of a validity, if there is not exactly one."""
    if type(validity) is times.Interval and validity.start < validity.end:
        return ()
    return tuple(records.Valid(*piece) for piece in validity.pieces) if len(validity.pieces) != 1 else ()


def stated_start(row: VersionRow) -> str:
    """Whether the start of a version was ``stated`` or ``defaulted``; empty if unknown."""
    if row.stated == events.UNKNOWN:
        return ""
    return "stated" if row.stated & events.START_STATED else "defaulted"


def version(snapshot: visible.VisibleSnapshot, node: int, seen: asof.SeenVersion) -> records.Version:
    """The record of a version in a history."""
    number, row, validity = seen
    body = snapshot.body(row)
    text = body or _ERASED
    details = snapshot.details(row.seq, row.details)
    header = snapshot.header(row.seq)
    found = records.Version(
        version=row.body.hex(),
        number=number,
        type=text.type,
        name=text.name,
        content=text.content,
        valid=records.Valid(validity.start, validity.end),
        start=stated_start(row),
        seq=row.seq,
        ingested_at=header.ingest_time,
        author=header.author,
        why=details.why,
        source=details.source,
        erased=body is None,
        erasure=None if body is not None else snapshot.erasure(node),
    )
    # Few versions have any of these. Beyond 15 keywords Python builds a dictionary: a fifth of this function's time.
    more: dict[str, Any] = {}
    if spans := multiple_spans(validity):
        more["spans"] = spans
    if snapshot.is_made_of_others(node, row):
        more["stale"] = provenance.stale(snapshot, node, row)
    if snapshot.has_restatements:
        more["restated"] = restatements(snapshot, node, number)
    if details.properties:
        more["properties"] = properties(details)
    return structs.replace(found, **more) if more else found


def proposal(
    snapshot: visible.VisibleSnapshot,
    identifier: bytes,
    row: ProposalRow,
    seq: int,
    is_visible: Callable[[int], bool] | None = None,
) -> records.Proposal:
    """The record of a proposal at a commit; for ``is_visible`` see :func:`visible_evidence`."""
    status, decided = asof.decision_at(snapshot.tables, identifier, row, seq)
    details = snapshot.details(row.seq, row.details)
    sides = snapshot.ref(row.source), snapshot.ref(row.target)
    return records.Proposal(
        ref=identifier.hex(),
        status=STATUS_NAMES[status],
        source=sides[0],
        source_name=_newest_label(snapshot, row.source, seq),
        target=sides[1],
        target_name=_newest_label(snapshot, row.target, seq),
        evidence=visible_evidence(snapshot, details.properties, sides, seq, is_visible),
        why=details.why,
        seq=row.seq,
        decided=decided,
    )


class StagingOrder:
    """A cache of a store's proposals in the order in which they were staged.

    Proposals are never removed, so an equal count means that the cache is current.
    """

    def __init__(self, place: object) -> None:
        self._kept: tuple[int, list[Staged]] = 0, []

    def of(self, tables: Tables) -> list[Staged]:
        """All proposals in the tables of the whole store."""
        totals = log_marks.totals(tables)
        count, found = self._kept
        if totals is None or totals.proposals != count:
            found = sorted(tables.staged())
            self._kept = len(found), found
        return found

    def write(self) -> None:
        """Do nothing: this cache is not stored on disk."""


def proposals_until(
    snapshot: visible.VisibleSnapshot,
    seq: int,
    status: str | None = None,
    after: tuple[bytes, ProposalRow] | None = None,
) -> Iterator[tuple[bytes, ProposalRow]]:
    """The proposals known at a commit, of one status if it is given, in the order in which they were staged.

    With ``after``, those behind that one; skipping the others costs no time.
    """
    whole = snapshot.whole
    kept = None if whole is None else snapshot.shared_cache(StagingOrder)
    known = sorted(snapshot.tables.staged()) if whole is None or kept is None else kept.of(whole.tables)
    first = 0
    if after is not None:
        proposal, row = after
        first = bisect_left(known, (row.seq,))
        first = next((at + 1 for at in range(first, len(known)) if known[at].proposal == proposal), len(known))
    for staged in known[first : bisect_left(known, (seq + 1,))]:
        found = snapshot.tables.proposal(staged.proposal)
        if found is None:
            continue
        if status is None or STATUS_NAMES[asof.decision_at(snapshot.tables, staged.proposal, found, seq)[0]] == status:
            yield staged.proposal, found


def in_ended(snapshot: visible.VisibleSnapshot, node: int) -> str:
    """The nearest ended container, if all containers have ended or lie in ended ones; else empty."""
    ended = snapshot.ended
    if node not in ended.around and snapshot.has_standing_container(node):
        return ""
    found = _nearest_ended_container(snapshot, node, ended)
    return "" if found is None else snapshot.ref(found)


def _nearest_ended_container(snapshot: visible.VisibleSnapshot, start: int, ended: Ended) -> int | None:
    """The nearest ended container of a node; caches all nodes on the way. Depth costs no stack."""
    known = ended.around
    if start in known:
        return known[start]
    if (told := _known_ended_container(snapshot.containers(start), ended)) is not None:
        known[start] = told
        return told
    # Other threads read the cache at the same time, so uncertain results stay out of it.
    here: dict[int, int | None] = {}
    found: dict[int, int | None] = {start: None}
    path = [(start, iter(snapshot.containers(start)))]
    while path:
        node, containers = path[-1]
        around = next(containers, None)
        if around is not None and not _has_ended(snapshot, around, ended.over):
            if around not in known and around not in here:
                # Containment has no cycles; a node with a path to the root that meets no ended world has no result.
                here[around], found[around] = None, None
                path.append((around, iter(snapshot.containers(around))))
                continue
            nearest = known[around] if around in known else here[around]
        elif around is not None:
            nearest = around
        else:
            path.pop()
            nearest = here[node] = found[node]
            node = path[-1][0] if path else node
        if nearest is None:
            here.update(dict.fromkeys((each for each, _ in path), None))
            break
        if found[node] is None:
            found[node] = nearest
    known.update(here)
    return here[start]


def _known_ended_container(containers: Iterable[int], ended: Ended) -> int | None:
    """The nearest ended container among these and their containers, if the cache has the result for each."""
    nearest: int | None = None
    for source in containers:
        found = source if ended.over.get(source) else ended.around.get(source)
        if found is None or source not in ended.over:
            return None
        nearest = found if nearest is None else nearest
    return nearest


def _has_ended(snapshot: visible.VisibleSnapshot, node: int, known: dict[int, bool]) -> bool:
    """True if a world was valid before the moment and no longer is."""
    tables, moment = snapshot.tables, snapshot.place.moment
    if node == ROOT_NODE:
        return False
    if node not in known:
        known[node] = asof.version_at(tables, node, moment) is None and any(
            validity.start <= moment.valid and not validity.is_empty
            for _, _, validity in asof.versions_as_of(tables, node, moment.seq)
        )
    return known[node]
