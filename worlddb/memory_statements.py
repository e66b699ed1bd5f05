"""How a statement is written: beside what it is near, or as a memory that is said again.

The MCP server, REST, the functions for agents and :func:`worlddb.memory` share :func:`write_statement`.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from typing import Any, Final, NamedTuple, TypeAlias

from msgspec.structs import replace

from worlddb.database import Database
from worlddb.log.model import errors, limits
from worlddb.log.model.errors import IdempotencyConflict, InputError, UnknownReference
from worlddb.log.model.times import FOREVER, TimeLike, format_time, parse_time
from worlddb.memory_scopes import CONTAINERS, later_view, view_at
from worlddb.plain_text import one_line
from worlddb.query.question.question import MAX_NEAR
from worlddb.query.recall import near_claims
from worlddb.query.recall.near_claims import ON_NEAR, Near
from worlddb.query.records.records import World
from worlddb.query.view.view import View
from worlddb.reconciler.commands.outcome import Receipt
from worlddb.write_notes import (
    already_hidden_notes,
    forgotten_notes,
    future_start_notes,
    is_window_nonempty,
    named_beginning,
    named_end_notes,
    restatement_changes,
    subject_edges,
    told_day_notes,
)
from worlddb.writing import retry_while_changed

DEFAULT_TYPE: Final = "Fact"
"""The type of a statement for which none was given."""


def view_for_write(db: Database, idempotency_key: str | None) -> View:
    """Return the view that a write reads: the present, or for a retry that of the first commit."""
    return db._view_for_key(idempotency_key)


check_on_near = near_claims.check_on_near


def check_statement_type(type: str) -> None:
    """Check that a statement can have a type.

    Raises:
        InputError: the type is that of a world which holds memories or messages, or is no text.
    """
    if limits.checked_line(type, "type", limits.MAX_TYPE_BYTES, empty=False).casefold() in CONTAINERS:
        raise InputError(f"A statement cannot be a {type}", "Give another type, such as Fact")


class Statement(NamedTuple):
    """A statement to write: what a caller said, with the memories that it names by their references.

    ``subjects`` counts whom it is about, and ``named`` are the memories to link it to, by edge type. Where it says a
    memory again that gets the ``restated_marks``, which are by default its own.
    """

    text: str
    type: str
    name: str
    subjects: int
    since: int | None
    until: TimeLike | None
    source: dict[str, Any]
    why: str
    on_near: str
    marks: Mapping[str, Any]
    named: Mapping[str, Sequence[str]]
    restated_marks: Mapping[str, Any] | None = None


class Place(NamedTuple):
    """Where a statement is written, and what it is compared with.

    Args:
        look: the view that the write reads: for a retry under its key the state before its first commit.
        nearby: views of what it may be near, each with what finds that.
        homes: gives the worlds to write it into, the first one first, in a batch.
        entries: gives the worlds that it is about, in a batch and the first of those worlds.
        ending: gives the call that ends a memory, from its reference and that of the new one.
        batch: further arguments of the batch. created: further arguments of the new world.
        may_repeat: whether a memory in the same words is the same; by default always.
    """

    look: View
    nearby: Sequence[tuple[View, Look]]
    homes: Callable[[Any], Sequence[Any]]
    entries: Callable[[Any, Any], Iterable[Any]]
    ending: Callable[[str, str], str]
    batch: Mapping[str, Any]
    created: Mapping[str, Any]
    may_repeat: Callable[[Near], bool] = lambda _: True


class StatementWritten(NamedTuple):
    """A statement that was written, or the memory that it says again (``end`` then as of :func:`_find_end_change`).

    ``near`` are other memories, ``links`` the types of the edges to them, and ``notes`` say what became of these.
    """

    ref: str
    receipt: Receipt
    near: tuple[Near, ...]
    links: dict[str, str]
    notes: list[str]
    is_restated: bool = False
    end: EndChange | None = None


def write_statement(db: Database, said: Statement, place: Place) -> StatementWritten:
    """Write a statement, or record that a memory was stated again; it is linked to what is near as ``on_near`` says.

    A retry under its key is decided by the state of then, and has the links of then. Others may write meanwhile: see
    :func:`retry_while_changed`.

    Raises:
        RefusedError: a rule of the engine forbids it; nothing was written.
        IdempotencyConflict: another call was made under the key.
    """
    near, seeing = _find_near(db, said, place)
    named = {ref for refs in said.named.values() for ref in refs}
    repeated = [each.ref for each in near if each.is_repeated and place.may_repeat(each)]
    worlds = (seeing[ref].get(ref, include_expired=True) for ref in repeated)
    again = _find_restated(worlds, said.type, said.name) if named <= {*said.named.get("supersedes", ())} else None
    if again is not None:
        # Under a key that wrote the memory itself nothing is restated: that call is made again.
        with nullcontext() if place.batch.get("idempotency_key") is None else suppress(IdempotencyConflict):
            return _write_again(db, said, place, again, near, seeing[again.ref])
    if said.on_near == ON_NEAR[-1]:
        for view, look in place.nearby:
            near += _find_near_at_start(db, view, said.since, near, look)
    others = [each for each in near if each.ref not in named]
    taker = _find_successor(others, said.on_near, said.subjects, said.until)
    ends = None if taker is None else (taker.ref, taker.valid.start, f"{TAKEN}{taker.reason}")
    links, ends = _of_first_commit(db, place, named) or (_near_links(said, others), ends)
    with db.batch(seen=place.look, **place.batch) as tx:
        homes = place.homes(tx)
        span: Any = {"valid_from": said.since, "valid_to": said.until}
        told: Any = {"content": said.text, "source": said.source, "why": said.why}
        made = tx.create(said.type, said.name, world=homes[0], **told, **span, **said.marks, **place.created)
        for home in homes[1:]:
            tx.link(home, "contains", made, valid_from=said.since)
        for entry in place.entries(tx, homes[0]):
            tx.link(made, "refers_to", entry, valid_from=said.since)
        for kind, ref, why in [*((kind, ref, said.why) for kind, refs in said.named.items() for ref in refs), *links]:
            tx.link(made, kind, ref, valid_from=said.since, why=why)
        if ends is not None:
            tx.link(ends[0], "supersedes", made, valid_from=ends[1], why=ends[2])
    receipt: Receipt = tx.receipt
    ref = receipt.refs[made.position]
    asked = (lambda old: place.ending(old, ref)), (lambda old: _end_told(db, receipt, old))
    notes = _replacement_notes(others, said, taker, *asked)
    notes += _written_notes(said.since, receipt.ingest_time, until=said.until, text=said.text, **said.marks)
    notes += forgotten_notes(db, lambda: [view for view, _ in place.nearby], [said.text], [ref], receipt.seq)
    return StatementWritten(ref, receipt, tuple(near), {ref: kind for kind, ref, _ in links}, notes)


Look: TypeAlias = Callable[[View], Sequence[Near]]
"""Finds in a view what is near a statement."""


Link: TypeAlias = tuple[str, str, str]
"""An edge to write from a statement to what is near: type, target and reason."""


def _find_near(db: Database, said: Statement, place: Place) -> tuple[list[Near], dict[str, View]]:
    """Return what is near a statement, nearest first, and the view that showed each."""
    near, seeing = list[Near](), dict[str, View]()
    for view, look in place.nearby:
        repeats, then = _find_repeats_at_start(db, view, said.since, said.until, look)
        later = later_view(db, view, said.since)
        for each, shown in (*((one, then) for one in repeats), *((one, later) for one in look(later))):
            near += [] if each.ref in seeing else [each]
            seeing.setdefault(each.ref, shown)
    return sorted(near, key=lambda each: -each.likeness)[:MAX_NEAR], seeing


def _find_repeats_at_start(
    db: Database, view: View, begins: int | None, until: TimeLike | None, look: Look
) -> tuple[list[Near], View]:
    """Find repeats of a statement with an end among what held when it begins; returns them and that view.

    ``look`` finds them in a view. A replaced memory is repeated only up to its end; after it the replacement holds.
    """
    if begins is None or until is None or begins >= view.valid:
        return [], view
    try:
        then = view_at(db, view, begins)
        found, end, whole = look(then), parse_time(until, "until"), db.view(seq=view.seq, valid=view.valid)
        return [
            each for each in found if each.is_repeated and (end <= each.valid.end or not _was_replaced(whole, each.ref))
        ], then
    except UnknownReference:  # The world was not there by then.
        return [], view


def _find_near_at_start(db: Database, view: View, begins: int | None, near: Sequence[Near], look: Look) -> list[Near]:
    """Find what is near a statement of an earlier time, held when it begins, and holds no more now.

    ``near`` are the memories near it now, and ``look`` finds them in a view. Memories that later get another text are
    left out.
    """
    if begins is None or begins >= view.valid:
        return []
    then = db.view(seq=view.seq, valid=begins)._for_users_as(view)
    known = {each.ref for each in near}
    try:
        inside = then if view.world is None else view_at(db, view, begins)
        found = [each for each in look(inside) if each.ref not in known]
    except UnknownReference:  # The world was not there by then.
        return []
    return [each for each in found if all(one.valid.end <= each.valid.end for one in then.history(each.ref))]


def _find_successor(near: Iterable[Near], on_near: str, subjects: int, until: TimeLike | None) -> Near | None:
    """Return the first later memory that replaces a new statement of an earlier time and so ends it."""
    found = (each for each in near if each.takes_place(on_near, subjects))
    first = min(found, key=lambda each: each.valid.start, default=None)
    is_over = first is not None and until is not None and parse_time(until, "until") <= first.valid.start
    return None if is_over else first


_BY_ON_NEAR: Final = "by on_near: "
"""Prefix of the reason of an edge from a new statement to what is near."""


TAKEN: Final = "on_near: "
"""Prefix of the reason of a ``supersedes`` edge from a later memory to a new statement."""


def _near_links(said: Statement, near: Iterable[Near]) -> list[Link]:
    """Return the edges to what is near that ``on_near`` asks for."""
    kinds = ((each.edge_type(said.on_near, said.subjects), each) for each in near)
    return [(kind, each.ref, f"{_BY_ON_NEAR}{each.reason}") for kind, each in kinds if kind]


def _unwritten_links(view: View, ref: str, links: Iterable[Link]) -> list[Link]:
    """Return those links of an existing statement that were never written.

    A link that was retracted is not written again.
    """
    found = []
    for link in links:
        edges = view.edges(ref, type=link[0], include_superseded=True)
        found += [] if any(link[1] in (edge.source, edge.target) for edge in edges) else [link]
    return found


def _of_first_commit(
    db: Database, place: Place, named: Container[str]
) -> tuple[list[Link], tuple[str, int, str] | None] | None:
    """Return the edges to what was near, and the one that ended the statement, of the commit under the key if any.

    They may be found otherwise by now, if a text was erased since then.
    """
    key, seq = place.batch.get("idempotency_key"), place.look.seq + 1
    if key is None or not db.was_written(key) or view_for_write(db, key).seq + 1 != seq:
        return None
    links, ends = list[Link](), None
    for entry in db.log(seq, seq):
        if entry.event == "linked" and entry.why.startswith(_BY_ON_NEAR) and entry.data["target"] not in named:
            links.append((entry.data["type"], entry.data["target"], entry.why))
        elif entry.event == "linked" and entry.why.startswith(TAKEN):
            ends = entry.data["source"], entry.data["valid_from"], entry.why
    return links, ends


def _end_told(db: Database, receipt: Receipt, ref: str) -> str:
    """Say that a memory was ended, or when it ends if that is still to come."""
    found = db.view(seq=receipt.seq).get(ref, include_superseded=True, include_expired=True, include_deprecated=True)
    is_to_come = found is not None and receipt.ingest_time < found.valid.end < FOREVER
    return f"ends at {format_time(found.valid.end)}" if found is not None and is_to_come else "was ended"


def _replacement_notes(
    near: Iterable[Near],
    said: Statement,
    taker: Near | None,
    ending: Callable[[str], str],
    ended_when: Callable[[str], str],
) -> list[str]:
    """Return notes on the memories that a new statement ended or did not end, and why.

    ``ending`` gives the call that ends the one of a reference after all, ``ended_when`` says when one ended.
    """
    on_near, subjects = said.on_near, said.subjects
    if on_near != "supersede_same_subject":
        return []
    near = list(near)
    denied = [each for each in near if each.relation == "contradiction" and not each.is_later]
    near = [each for each in near if each.relation == "replacement"]
    ended = [each for each in near if each.edge_type(on_near, subjects)]
    remaining = [each for each in near if each not in ended and not each.is_later]
    notes = [f"{_named(each)} {ended_when(each.ref)}: {each.reason}" for each in ended]
    notes += [
        f"{_named(each)} was not ended: {_why_not_ended(each, subjects)}. To end it, {ending(each.ref)}"
        for each in remaining
    ]
    notes += [
        f"{_named(each)} was not ended: either may be wrong ({each.reason}). To end it, {ending(each.ref)}"
        for each in denied
    ]
    notes += [] if taker is None else [f"It holds until {format_time(taker.valid.start)}, when {_named(taker)} begins"]
    begun = [each for each in near if each.is_later and each != taker]
    return notes + [
        f"{_named(each)} was not replaced: it begins later, at {format_time(each.valid.start)}" for each in begun
    ]


def _why_not_ended(old: Near, subjects: int) -> str:
    if old.doubt:
        return old.doubt
    return f"the new one is about {subjects} subjects" if subjects > 1 else f"it is about {len(old.about)} subjects"


def _named(near: Near) -> str:
    """Return the beginning of a memory's text with its reference."""
    return f"{errors.beginning(near.text)} ({near.ref})"


def _written_notes(
    begins: int | None,
    now: int,
    expires_at: TimeLike | None,
    *,
    until: TimeLike | None = None,
    pinned: bool = False,
    text: str = "",
    **marks: Any,
) -> list[str]:
    """Return notes on a new statement that is not found yet, is hidden already, or begins later.

    The start is read from the words of ``text`` if no time was given, its end if no end was. Other ``marks`` cause no
    note.
    """
    named = (named_beginning(text, now, "")[1] or told_day_notes(text, now)) if begins is None and text else ()
    if text and until is None and expires_at is None and not any("until=" in note for note in named):
        named += named_end_notes(text, now if begins is None else begins)
    later = future_start_notes([begins], now) if is_window_nonempty(begins, until) else []
    return [*named, *later, *([] if pinned else already_hidden_notes(expires_at, now))]


def _find_restated(said: Iterable[World | None], type: str, name: str) -> World | None:
    """Return the first of some memories with a statement's words that is of its type and name.

    Without one of its very type, a memory for which no type was given is the same, or any if the statement has none.
    """
    same = [each for each in said if each is not None and each.name == name]
    same = [each for each in same if each.type == type or DEFAULT_TYPE in (each.type, type)]
    return min(same, key=lambda each: each.type != type, default=None)


def _write_again(
    db: Database, said: Statement, place: Place, found: World, near: Iterable[Near], seen: View
) -> StatementWritten:
    """Record that a memory was stated again, as ``seen`` shows it, and link it to what it was not linked to."""
    look, marks = place.look, said.marks if said.restated_marks is None else said.restated_marks
    whole = db.view(seq=look.seq, valid=look.valid)
    named = dict.fromkeys(ref for refs in said.named.values() for ref in refs if ref != found.ref)
    others = tuple(each for each in near if each.ref != found.ref)
    first = _of_first_commit(db, place, named)
    links = _near_links(said, (each for each in others if each.ref not in named)) if first is None else first[0]
    links += [("supersedes", ref, said.why) for ref in named]
    links = _unwritten_links(db.view(seq=look.seq, valid=seen.valid), found.ref, links)
    end = _find_end_change(whole, found, said.since, said.until)
    earlier = _find_earlier_start(whole, found, said.since, seen)
    is_about_some = any(each.about for each in near if each.ref == found.ref)
    with db.batch(seen=look, **place.batch) as tx:
        about = place.entries(tx, place.homes(tx)[0]) if said.subjects and not is_about_some else ()
        _restate_memory(tx, found, said, marks, earlier, end, about)
        for kind, ref, why in links:
            tx.link(found.ref, kind, ref, valid_from=said.since, why=why)
    tx.receipt.raise_if_refused()
    notes = _restatement_notes(db, tx.receipt, found, said, marks, end, seen.world)
    kinds = {ref: kind for kind, ref, _ in links}
    return StatementWritten(found.ref, tx.receipt, others, kinds, notes, is_restated=True, end=end)


class EndChange(NamedTuple):
    """The end of a memory before and after a restatement; ``was_ended`` as in :func:`_was_ended`."""

    before: int
    after: int
    was_ended: bool = False


def _find_end_change(view: View, said: World, since: int | None, until: TimeLike | None) -> EndChange | None:
    """Return the new end that a restatement gives; ``None`` if it gives none, or the same one.

    A restatement without an end leaves the end unchanged. ``view`` is the view of the whole store that the write reads.
    """
    after = FOREVER if until is None else parse_time(until, "until")
    end, was_ended = _end_of(view, said), _was_ended(view, said.ref)
    if until is None or after <= (since or said.valid.start) or (after == end and not was_ended):
        return None
    return EndChange(end, after, was_ended)


def _was_ended(view: View, ref: str) -> bool:
    """Return whether somebody ended a memory, so that it can get no further source."""
    now = view.get(ref, include_superseded=True, include_expired=True)
    return now is not None and now.ended and now.valid.end <= view.valid


def _was_replaced(view: View, ref: str) -> bool:
    """Return whether a memory ended because another one replaced it."""
    return _was_ended(view, ref) and any(view.edges(ref, type="supersedes", direction="in"))


def _end_of(view: View, said: World) -> int:
    """The time up to which consecutive versions of a memory have the same text."""
    end = said.valid.end
    same = [one for one in view.history(said.ref) if one.content == said.content]
    spans = sorted((span.start, span.end) for one in same for span in (one.spans or (one.valid,)))
    for start, finish in spans:
        end = finish if start == end else end
    return end


class EarlierStart(NamedTuple):
    """The earlier start of a restated memory, and its containers and subjects from then on."""

    since: int
    containers: dict[str, int]
    about: list[str]


def _find_earlier_start(view: View, said: World, since: int | None, seen: View | None = None) -> EarlierStart | None:
    """Return the earlier start that a restatement adds; ``None`` if the memory is known to hold then.

    ``view`` is the view of the whole store that the write reads, and ``seen`` the one that its writer is confined to.
    """
    if since is None or since >= said.valid.start:
        return None
    if any(
        version.content == said.content and each.start <= since < each.end
        for version in view.history(said.ref)
        for each in (version.spans or (version.valid,))
    ):
        return None
    about = [edge.target for edge in subject_edges(seen or view, said.ref) if edge.valid.start > since]
    return EarlierStart(since, containers_at_start(view, said.ref, since), about)


def containers_at_start(view: View, ref: str, since: int) -> dict[str, int]:
    """The containers of a world from its beginning on, and that beginning; empty if ``since`` is later."""
    begins = min(version.valid.start for version in view.history(ref))
    if since >= begins:
        return {}
    first: dict[str, int] = {}
    for edge in view.edges(ref, type="contains", direction="in", include_superseded=True):
        first[edge.source] = min(edge.valid.start, first.get(edge.source, edge.valid.start))
    # What lies in the root of the whole store, which alone has no container, is found whenever it holds.
    return {
        world: at for world, at in first.items() if at == begins and (world == view.world or view.containers(world))
    }


def begin_earlier(tx: Any, view: View, ref: str, since: TimeLike, why: str) -> None:
    """Put a world into its :func:`containers_at_start` from an earlier time on, in the batch that revises it from then.

    It comes before the revision, which then says of none of them that the world is not found there.
    """
    for container, begun in containers_at_start(view, ref, parse_time(since, "valid_from")).items():
        tx.link(container, "contains", ref, valid_from=since, valid_to=begun, why=why)


def revise_where_it_lies(
    db: Database,
    ref: str,
    *,
    world: str | None = None,
    idempotency_key: str | None = None,
    valid_from: TimeLike | None = None,
    why: str = "",
    besides: Callable[[View, Any], None] | None = None,
    **changes: Any,
) -> Receipt:
    """Revise a world; from before its beginning, it then lies in the worlds that contain it since that beginning.

    Of those, it is put into the ones that are seen from inside ``world``. ``besides`` writes more in the same batch, by
    the view that it rests on.

    Raises:
        UnavailableError: others wrote in between every time; nothing was written.
    """
    told = {**changes, "valid_from": valid_from, "why": why}

    def write() -> Receipt:
        look = view_for_write(db, idempotency_key)
        inside = look if world is None else db.view(seq=look.seq, valid=look.valid, world=world)
        begun = {} if valid_from is None else containers_at_start(inside, ref, parse_time(valid_from, "valid_from"))
        if not begun and besides is None:
            revised: Receipt = db.revise(ref, idempotency_key=idempotency_key, **told)
            return revised
        with db.batch(seen=look, idempotency_key=idempotency_key) as tx:
            if valid_from is not None and begun:
                begin_earlier(tx, inside, ref, valid_from, why)
            tx.revise(ref, **told)
            if besides is not None:
                besides(look, tx)
        receipt: Receipt = tx.receipt
        return replace(receipt, requested=receipt.requested[-1:] if besides is None else (ref,))

    return retry_while_changed(write)


def _restate_memory(
    tx: Any,
    found: World,
    said: Statement,
    marks: Mapping[str, Any],
    earlier: EarlierStart | None,
    end: EndChange | None,
    about: Iterable[Any],
) -> None:
    """Record in a batch that a memory was stated again, with the marks of the restatement.

    ``earlier`` (:func:`_find_earlier_start`) is written as a late statement of the same memory. ``end``
    (:func:`_find_end_change`) replaces the memory's end. A memory that somebody ended gets no further source.
    ``about`` are subjects for a memory that has none.

    The restatement sets the deadline; without one, the memory has no deadline any more. Properties replace those of the
    same names, by a version that begins where the previous one did and keeps its sources.
    """
    source, why, deadline = said.source, said.why, {name: marks.get(name) for name in ("expires_at", "ttl")}
    if earlier is not None:
        span: dict[str, Any] = {"valid_from": earlier.since, "valid_to": found.valid.start, "why": why}
        for container, begun in earlier.containers.items():
            tx.link(container, "contains", found.ref, **{**span, "valid_to": begun})
        tx.revise(found.ref, source=source, **span)
        for subject in earlier.about:
            tx.link(found.ref, "refers_to", subject, **span)
    for subject in about:
        since = found.valid.start if earlier is None else earlier.since
        tx.link(found.ref, "refers_to", subject, valid_from=since, why=why)
    merged = {**found.properties, **(marks.get("properties") or {})}
    if {name: value for name, value in merged.items() if value is not None} != found.properties:
        tx.revise(found.ref, properties=merged, valid_from=found.valid.start, source=found.source, why=why)
        written_sources = [found.source, source]
        for each in found.restated:
            if each.source not in written_sources:
                written_sources.append(each.source)
                tx.restate(found.ref, source=each.source, why=each.why)
    if end is None or not end.was_ended:
        tx.restate(found.ref, source=source, why=why)
    if any(each is not None for each in deadline.values()):
        tx.expire(found.ref, **deadline)
    elif found.expires_at is not None:
        tx.unexpire(found.ref)
    if marks.get("labels"):
        tx.label(found.ref, *marks["labels"])
    if marks.get("pinned"):
        tx.pin(found.ref)
    if end is not None and end.after < end.before:
        tx.retire(found.ref, valid_from=end.after, why=why)
    elif end is not None and end.after > end.before:
        tx.reassert(found.ref, content=found.content, valid_from=end.before, valid_to=end.after, why=why)


def _restatement_notes(
    db: Database,
    receipt: Receipt,
    found: World,
    said: Statement,
    marks: Mapping[str, Any],
    end: EndChange | None,
    world: str | None,
) -> list[str]:
    """Return notes on a restatement: what else changed, what was left out, and whether it is found.

    The memory keeps its start, so a restated plan begins when it did. ``world`` is the one that the reader is confined
    to.
    """
    now = receipt.ingest_time
    changed = [*restatement_changes(db, receipt, found.ref, world), *_left_out_notes(found, said.since)]
    if said.type not in (found.type, DEFAULT_TYPE):
        changed.append(f"The type {one_line(said.type)} was left out: {found.ref} has the type {one_line(found.type)}")
    if end is not None and end.after == end.before:
        changed.append(f"{found.ref} was ended at {format_time(end.after)}, as this says: nothing was written")
    elif end is not None:
        was = "had no end" if end.before == FOREVER else f"was to hold until {format_time(end.before)}"
        changed.append(f"{found.ref} holds until {format_time(end.after)} now, and {was}")
    elif said.until is None and (ends := _end_of(db.view(seq=receipt.seq), found)) < FOREVER:
        changed.append(f"{found.ref} holds until {format_time(ends)}, as was said before: correct it if it holds on")
    elif said.until is not None and (left := parse_time(said.until, "until")) <= found.valid.start:
        since = format_time(found.valid.start)
        changed.append(f"The end {format_time(left)} was left out: {found.ref} holds from {since} on")
    return changed + _written_notes(found.valid.start, now, marks["expires_at"], pinned=marks.get("pinned", False))


def _left_out_notes(found: World, valid_from: int | None) -> list[str]:
    """Return notes if a restatement has another start than the memory."""
    since, notes = format_time(found.valid.start), []
    if valid_from is not None and valid_from > found.valid.start:
        notes.append(f"The start {format_time(valid_from)} was left out: {found.ref} holds from {since} on already")
    elif valid_from is not None and valid_from < found.valid.start:
        notes.append(f"{found.ref} holds from {format_time(valid_from)} on now, not only from {since} on")
    return notes


def is_past(at: TimeLike | None, now: int) -> bool:
    """Return whether a deadline has passed."""
    return at is not None and parse_time(at, "expires_at") <= now
