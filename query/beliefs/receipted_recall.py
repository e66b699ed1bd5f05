"""Receipts of exact recalls: make them, prove them, and check them by asking again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec

from worlddb.log.beliefs import recall_receipt as rr
from worlddb.log.model import checkpoint, errors, ids
from worlddb.log.model import events as ev
from worlddb.projections.tables.apply import log_marks
from worlddb.projections.tables.reads import asof, table_reads
from worlddb.projections.tables.storage import schema
from worlddb.query.proofs import proofs
from worlddb.query.question.question import VECTOR, Request
from worlddb.query.reads.window import Window
from worlddb.query.recall.retrieve import searched_world
from worlddb.query.records import records
from worlddb.query.snapshot import visible
from worlddb.query.snapshot.snapshot import Snapshot

MAX_LISTED: Final = 20
"""How many differences of an answer that was asked again are told."""


class KeptReceipt(msgspec.Struct, frozen=True, kw_only=True):
    """A receipt that the log keeps, since commit ``seq``; ``None`` if it was erased with something that it names."""

    seq: int
    ingested_at: int
    author: str
    receipt: rr.RecallReceipt | None


def kept_receipts(snapshot: visible.VisibleSnapshot, node: int) -> Iterator[KeptReceipt]:
    """The kept receipts that name a world, in the order of the log."""
    for seq, said in snapshot.receipts(node):
        header = snapshot.header(seq)
        receipt = None if said is None else rr.receipt_from_plain(said)
        yield KeptReceipt(seq=seq, ingested_at=header.ingest_time, author=header.author, receipt=receipt)


def kept_hashes(snapshot: visible.VisibleSnapshot, ref: str) -> tuple[str, ...]:
    """The hashes of the kept receipts that name a world by its reference, as far as they were not erased."""
    node = snapshot.tables.node_of(bytes.fromhex(ref))
    found = () if node is None else (each.receipt for each in kept_receipts(snapshot, node))
    return tuple(each.hash for each in found if each is not None)


def with_receipt(
    window: Window,
    request: Request,
    include_superseded: bool | None,
    texts: Mapping[str, Any],
    answered: records.Recall,
) -> records.Recall:
    """An answer with its receipt.

    ``include_superseded`` is as it was asked for, ``texts`` are the filters that hold texts.

    Raises:
        InputError: the answer is not exact, or nothing had been committed by then.
    """
    if not answered.exact:
        raise errors.InputError(
            "A receipt needs an exact ranking, and this one uses the present indexes", "Add exact=True"
        )
    with window.snapshot() as snapshot:
        made = _make_receipt(window, snapshot, request, include_superseded, texts, answered)
        receipt = rr.seal_receipt(made, snapshot.secret())
    return msgspec.structs.replace(answered, receipt=receipt)


def _make_receipt(
    window: Window,
    snapshot: visible.VisibleSnapshot,
    request: Request,
    include_superseded: bool | None,
    texts: Mapping[str, Any],
    answered: records.Recall,
) -> rr.RecallReceipt:
    reader, choice = window.reader, request.choice
    key = reader.entropy.bytes(rr.KEY_BYTES).hex()
    inside, span = searched_world(window, snapshot, request), None
    if choice.period is not None:
        span = choice.period.span.start, choice.period.span.end
    filters = request.filters
    options = rr.Options(
        asked=request.question.asked,
        k=request.k,
        world="" if inside == window.place.top else snapshot.ref(inside),
        lanes=list(request.lanes),
        fusion=request.fusion,
        include_superseded=include_superseded,
        during=span if choice.period is not None and choice.period.throughout else None,
        overlaps=span if choice.period is not None and not choice.period.throughout else None,
        group=request.group,
        neighbours=request.neighbours,
        min_trust=request.min_trust,
        trust_weight=float(request.trust_weight),
        min_confidence=None if request.min_confidence is None else float(request.min_confidence),
        since=None if filters is None else filters.since,
        until=None if filters is None else filters.until,
        include_expired=window.shows.expired,
        include_deprecated=window.shows.deprecated,
        unify=window.unify,
    )
    return rr.RecallReceipt(
        version=rr.VERSION,
        ranking=rr.RANKING,
        store=reader.store_id.hex(),
        head=_head(window, snapshot),
        valid=window.place.moment.valid,
        options=options,
        key=key,
        question=rr.question_digest(key, *rr.question_of(request.question.text, texts)),
        lanes=list(answered.lanes),
        hits=[rr.Ranked(hit.ref, hit.version, _millionths(hit.score)) for hit in answered.hits],
        groups=[rr.RankedGroup(each.ref, _millionths(each.score), len(each.hits)) for each in answered.groups],
    )


def _millionths(score: float) -> int:
    return round(score * rr.SCALE)


def _head(window: Window, snapshot: visible.VisibleSnapshot) -> rr.StoreHead | rr.WorldHead:
    reader, (seq, _), top = window.reader, window.place.moment, window.place.top
    if snapshot.whole is None:
        found = snapshot.tables.hash_row(top, seq)
        assert found is not None, "a world that is seen has a hash"
        lineage, nonce = snapshot.tables.node(top).lineage, reader.entropy.bytes(rr.NONCE_BYTES)
        moment = rr.seal_moment(seq, reader.store_id, lineage, snapshot.secret(), nonce)
        return rr.WorldHead(lineage.hex(), found[1][: ids.HASH_BYTES].hex(), moment)
    point = proofs.checkpoint_at(snapshot.whole, reader.store_id, seq)
    chain, root, ingested_at = point.commit_state
    return rr.StoreHead(seq, point.tree.hex(), chain.hex(), root.hex(), ingested_at)


# -- held against a store


def outermost(receipt: rr.RecallReceipt) -> bytes | None:
    """The world that a receipt's view is confined to, if it is."""
    return bytes.fromhex(receipt.head.world) if isinstance(receipt.head, rr.WorldHead) else None


def moment_in(snapshot: Snapshot, store_id: bytes, receipt: rr.RecallReceipt) -> int | rr.RecallCheck:
    """The commit that a receipt is of, if this store has it as the receipt says; else what is wrong."""
    if receipt.store != store_id.hex():
        return rr.RecallCheck(
            "another_store", (f"it is from store {receipt.store}, and this is store {store_id.hex()}",)
        )
    secret, head = log_marks.secret_of(snapshot.log), receipt.head
    if receipt.seal != rr.seal_of(receipt, secret):
        return rr.RecallCheck("altered", ("this store did not make its seal",))
    if isinstance(head, rr.StoreHead):
        if head.size > snapshot.log.head().seq:
            reason = f"it covers {head.size} commits, and this store has {snapshot.log.head().seq}"
            return rr.RecallCheck("another_store", (reason,))
        here = proofs.checkpoint_at(snapshot, store_id, head.size)
        if checkpoint.Checkpoint(*here) != head.checkpoint_of(receipt.store):
            reason = f"the first {head.size} commits of this store are different"
            return rr.RecallCheck("another_store", (reason,))
        return head.size
    try:
        seq = rr.moment_of(head, store_id, secret)
    except ValueError as error:
        return rr.RecallCheck("altered", (str(error),))
    node = snapshot.tables.node_of(bytes.fromhex(head.world))
    found = None if node is None or seq > snapshot.log.head().seq else snapshot.tables.hash_row(node, seq)
    if found is None or found[1][: ids.HASH_BYTES].hex() != head.hash:
        return rr.RecallCheck("another_store", ("the world had another hash at that commit",))
    return seq


def arguments(receipt: rr.RecallReceipt) -> dict[str, Any]:
    """The arguments of the recall besides the texts, for asking again."""
    given = receipt.options
    return {
        "world": bytes.fromhex(given.world) if given.world else None,
        "asked": given.asked,
        "exact": True,
        **{
            name: getattr(given, name) for name in ("k", "lanes", "fusion", "include_superseded", "group", "neighbours")
        },
        "during": None if given.during is None else records.Valid(*given.during),
        "overlaps": None if given.overlaps is None else records.Valid(*given.overlaps),
        **{name: getattr(given, name) for name in ("min_trust", "trust_weight", "min_confidence", "since", "until")},
        **{name: getattr(given, name) for name in ("include_expired", "include_deprecated")},
    }


def check(
    window: Window, receipt: rr.RecallReceipt, recall: Callable[[], records.Recall], within: int
) -> rr.RecallCheck:
    """Check a receipt and its question against the store: ask again, and prove that the hits were there.

    ``window`` is of the receipt's moment; ``recall`` asks again there, and leaves a receipt.
    """
    verified = rr.check_offline(receipt, None, prove(window, receipt), None)
    if not verified.ok:
        return verified
    verified = verified._replace(verdict="holds")
    with window.snapshot() as snapshot:
        erased = tuple(dict.fromkeys(hit.ref for hit in receipt.hits if not _has_text(snapshot, hit)))
    if erased:
        which = f"the texts of {len(erased)} of its memories were erased later"
        return verified._replace(verdict="cannot_recompute", problems=(which,), erased=erased)
    if receipt.ranking != rr.RANKING:
        which = f"it was ranked with version {receipt.ranking}, and this release has version {rr.RANKING}"
        return verified._replace(verdict="cannot_recompute", problems=(which,))
    answered = recall()
    again = answered.receipt
    assert again is not None, "it was asked for"
    problems, score_difference = rr.differences(receipt, again, within)
    if problems:
        why = _find_cause(window, receipt, answered)
        verdict: rr.Verdict = "cannot_recompute" if why else "differs"
        return verified._replace(
            verdict=verdict, problems=(*why, *problems[:MAX_LISTED]), off_by=score_difference / rr.SCALE
        )
    return verified._replace(off_by=score_difference / rr.SCALE)


def has_its_texts(snapshot: Snapshot | visible.VisibleSnapshot, receipt: rr.RecallReceipt) -> bool:
    """True if all versions that a receipt names still have their texts."""
    return all(_has_text(snapshot, hit) for hit in receipt.hits)


def _has_text(snapshot: Snapshot | visible.VisibleSnapshot, hit: rr.Ranked) -> bool:
    """True if the version of a hit still has its text."""
    row = _row(snapshot.tables, hit)
    return row is None or snapshot.body(row) is not None


def _row(tables: table_reads.TableReads, hit: rr.Ranked) -> schema.VersionRow | None:
    node, version = tables.node_of(bytes.fromhex(hit.ref)), bytes.fromhex(hit.version)
    rows = () if node is None else (row for _, row in tables.version_rows(node))
    return next((row for row in rows if row.body == version), None)


def _find_cause(window: Window, receipt: rr.RecallReceipt, answered: records.Recall) -> tuple[str, ...]:
    """Why an answer may have changed; empty if no cause is known."""
    if VECTOR in receipt.lanes and VECTOR not in answered.lanes:
        return (f"vectors cannot be compared: {answered.unavailable.get(VECTOR, 'there are no vectors')}",)
    if _has_later_erasures(window):
        return ("texts of the view were erased later, which changes how rare words are",)
    return ()


def _has_later_erasures(window: Window) -> bool:
    """True if visible texts that were known at the view's commit were erased later."""
    seq = window.place.moment.seq
    with window.snapshot() as snapshot, window.reader.snapshot() as whole:
        for each in range(seq + 1, whole.log.head().seq + 1):
            for event in whole.log.events(each).events:
                if not isinstance(event, ev.ErasureEvent) or all(at > seq for at, _ in event.blobs):
                    continue
                if snapshot.tables.node_of(event.lineage) is not None:
                    return True
    return False


# -- proofs


def prove(window: Window, receipt: rr.RecallReceipt) -> rr.RecallProof:
    """Prove that the versions that a receipt names were there at its head, one proof for each.

    A version that was not the newest of its world is proved as of the commit that wrote it; inside of one world, which
    has no commits to show, it goes without.
    """
    inclusions, ways, missing = [], [], []
    made: proofs.Tries = {}
    done: dict[tuple[str, str], bool] = {}
    top, (seq, _) = window.place.top, window.place.moment
    with window.reader.snapshot() as snapshot:
        for index, hit in enumerate(receipt.hits):
            node = snapshot.tables.node_of(bytes.fromhex(hit.ref))
            known = (hit.ref, hit.version)
            if known not in done and node is not None:
                when = _seq_when_newest(snapshot, node, hit, seq)
                done[known] = False
                if isinstance(receipt.head, rr.StoreHead) and when is not None:
                    goal = proofs.Goal(node, None, schema.ROOT_NODE, when, seq)
                    store = bytes.fromhex(receipt.store)
                    inclusions.append(proofs.prove_inclusion(snapshot, store, goal, with_text=False, made=made))
                    done[known] = True
                elif when == seq:
                    way = proofs.steps_to(snapshot.tables, node, top, seq, made)
                    if way is not None:
                        ways.append(way)
                        done[known] = True
            if not done.get(known):
                missing.append(index)
    return rr.RecallProof(version=rr.VERSION, receipt=receipt.hash, inclusions=inclusions, ways=ways, missing=missing)


def _seq_when_newest(snapshot: Snapshot, node: int, hit: rr.Ranked, seq: int) -> int | None:
    """A commit up to ``seq`` at which a version was the newest of its world, the last if it is known."""
    for when in (seq, getattr(_row(snapshot.tables, hit), "seq", 0)):
        newest = asof.newest_version(snapshot.tables, node, when) if when else None
        if newest is not None and newest.row.body.hex() == hit.version:
            return when
    return None
