"""Facts about a store: the resolver's thresholds, counts, and bookmarks."""

from typing import Any

from worlddb.log.model import errors, limits
from worlddb.projections.runner import LoggedBlobs
from worlddb.projections.tables.apply import log_marks, settings
from worlddb.projections.tables.reads.asof import edge_known, nodes_known
from worlddb.projections.tables.storage import schema
from worlddb.query.records import records
from worlddb.query.snapshot.snapshot import Snapshot
from worlddb.query.snapshot.visible import VisibleSnapshot


def tunings(snapshot: VisibleSnapshot, home: int | None, *, ended: bool) -> list[records.Tuning]:
    """The visible thresholds in log order, or with ``home`` those that hold in that world.

    ``ended`` is listed where no home is asked for.
    """
    found = snapshot.tunings(ended=ended) if home is None else snapshot.tunings_at(home)
    return [
        _tuning_record(snapshot, known)
        for known in sorted(found, key=lambda known: (known.seq, known.world, known.type))
    ]


def _tuning_record(snapshot: VisibleSnapshot, known: settings.Tuning) -> records.Tuning:
    row = known.row
    return records.Tuning(
        world=snapshot.ref(known.world),
        type=known.type,
        fuzzy=row.fuzzy,
        phonetic=row.phonetic,
        embedding=row.embedding,
        margin=row.margin,
        most=row.most,
        seq=known.seq,
        ended=row.ended if row.ended <= snapshot.place.moment.seq else 0,
        why=snapshot.details(known.seq, row.details).why,
    )


def profiles(snapshot: VisibleSnapshot, home: int | None) -> list[records.Vocabulary]:
    """The visible profiles in log order, or with ``home`` those that hold in that world."""
    found = sorted(snapshot.profiles(home), key=lambda known: (known.seq, known.world))
    return [
        records.Vocabulary(
            name=known.name,
            node_types=known.node_types,
            relations=known.relations,
            world=snapshot.ref(known.world),
            seq=known.seq,
            why=snapshot.details(known.seq, known.details).why,
        )
        for known in found
    ]


def trusts(snapshot: VisibleSnapshot) -> list[records.Trusted]:
    """The levels of trust in log order; in a confined view only those of worlds inside."""
    found = []
    for trust in sorted(snapshot.trusts(), key=lambda trust: (trust.seq, trust.kind, trust.digest)):
        is_named = trust.kind == "world" and snapshot.tables.node_of(trust.digest) is not None
        if snapshot.place.is_confined and not is_named:
            continue
        header = snapshot.header(trust.seq)
        body = snapshot.body_at(trust.seq, trust.row.body)
        found.append(
            records.Trusted(
                of=trust.kind,
                field="" if body is None else body.type,
                name=trust.digest.hex() if trust.kind == "world" else "" if body is None else body.name,
                level=settings.TRUST_LEVELS[trust.row.level],
                seq=trust.seq,
                ingested_at=header.ingest_time,
                author=header.author,
                why=snapshot.details(trust.seq, trust.row.details).why,
                erased=body is None and trust.kind in ("author", "source"),
            )
        )
    return found


def guards(snapshot: VisibleSnapshot) -> list[records.Guarded]:
    """The settings of worlds for credentials and personal data, in log order."""
    return [
        records.Guarded(
            world=snapshot.ref(each.world),
            credentials=each.modes.credentials,
            personal=each.modes.personal,
            seq=each.seq,
            why=snapshot.details(each.seq, each.row.details).why,
        )
        for each in sorted(snapshot.guards(), key=lambda each: (each.seq, each.world))
    ]


def guards_at(snapshot: VisibleSnapshot, home: int) -> records.Guarded:
    """The settings for credentials and personal data that apply in a world."""
    found = snapshot.guards_at(home)
    lineage = snapshot.ref(home)
    return records.Guarded(world=lineage, credentials=found.credentials, personal=found.personal, seq=0)


def counts(snapshot: Snapshot) -> dict[str, Any]:
    """Count the commits, worlds (with the root), edges ever written and proposals of a store."""
    progress, totals = snapshot.tables.progress(), log_marks.totals(snapshot.tables)
    return {
        "commits": snapshot.log.head().seq,
        "worlds": progress.next_node,
        "edges": progress.next_edge - 1,
        "proposals": sum(1 for _ in snapshot.tables.all_proposals()) if totals is None else totals.proposals,
    }


def counts_at(snapshot: VisibleSnapshot) -> dict[str, int]:
    """Count the worlds (with the outermost), edges and proposals that a view's commit knew.

    For the whole store at its last commit the numbers are stored; at an earlier commit every edge is read.
    """
    tables, seq = snapshot.tables, snapshot.place.moment.seq
    whole = None if snapshot.place.top != schema.ROOT_NODE else snapshot.whole
    if whole is not None:
        progress, totals = whole.tables.progress(), log_marks.totals(whole.tables)
        if totals is not None and progress.seq == seq:
            edges = progress.next_edge - 1 - totals.unlinked
            return {"worlds": progress.next_node, "edges": edges, "proposals": totals.proposals}
        return {
            "worlds": nodes_known(tables, progress.next_node, seq),
            "edges": sum(written <= seq < ended for written, ended in whole.tables.edge_spans()),
            "proposals": sum(1 for found in tables.staged() if found.seq <= seq),
        }
    worlds = [snapshot.place.top, *snapshot.inhabitants()]
    known = (edge_known(row, seq) for node in worlds for _, row in tables.outgoing(node, known_by=seq))
    staged = sum(1 for found in tables.staged() if found.seq <= seq)
    return {"worlds": len(worlds), "edges": sum(known), "proposals": staged}


def bookmarked_commit(snapshot: Snapshot, name: str, seq: int) -> int:
    """The commit that a bookmark stands for, as known at commit ``seq``.

    Raises:
        UnknownReference: there is no bookmark of that name.
        InputError: the name is no text that a bookmark could have.
    """
    found = log_marks.bookmark_at(snapshot.tables, limits.checked_text(name, "bookmark", limits.MAX_NAME_BYTES), seq)
    if found is None:
        raise errors.UnknownReference(
            f"There is no bookmark {name[:80]!r}",
            "List them with `worlddb bookmark` or bookmarks(); a moment may also be a time (ISO 8601, or a date) or a"
            " commit's number",
        )
    return found[1].marked


def known_bookmarks(snapshot: Snapshot, seq: int) -> list[records.Bookmark]:
    """Every bookmark as known at commit ``seq``, in the order in which they were set.

    Bookmarks with an erased name are left out.
    """
    found = []
    for set_by, row in log_marks.bookmarks_at(snapshot.tables, seq):
        body = LoggedBlobs(snapshot.log, set_by, snapshot.log.events(set_by)).body(row.body)
        if body is None:
            continue
        header = snapshot.log.header(set_by)
        found.append(
            records.Bookmark(
                name=body.name,
                seq=row.marked,
                ingested=snapshot.log.header(row.marked).ingest_time,
                set_by=set_by,
                ingested_at=header.ingest_time,
                author=header.author,
                why=snapshot.details(set_by, row.details).why,
            )
        )
    return found
