"""Notes for whoever wrote, revised, forgot or marked a memory: what else changed, and what is not as it seems."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from worlddb.database import Database
from worlddb.log.model import errors, limits
from worlddb.log.model.errors import UnknownReference
from worlddb.log.model.times import DAY_MICROSECONDS, TimeLike, format_time, parse_time
from worlddb.memory_scopes import ENTRY, ScopeKey, Scopes, Subject, folded, has_statement
from worlddb.plain_text import one_line
from worlddb.projections.indexes import analysis
from worlddb.projections.tables.names import blocks
from worlddb.query.claims import wording
from worlddb.query.question.question import MAX_NEAR
from worlddb.query.question.question_dates import begin_named, days_alone, end_named, parse_times, tense_of
from worlddb.query.records.records import Edge, World
from worlddb.query.view.view import View
from worlddb.reconciler.commands.outcome import Note, Receipt


def concurrent_change_notes(db: Database, seen: int, receipt: Receipt, ref: str) -> list[str]:
    """Return a note if others changed a memory between commit ``seen`` and the write.

    The writer did not know that text, and the write replaces it.
    """
    if not receipt.events or receipt.seq <= seen + 1:
        return []
    previous_view = db.view(seq=receipt.seq - 1, valid=receipt.ingest_time)
    found = previous_view.get(ref, include_superseded=True, include_expired=True, include_deprecated=True)
    if found is None or found.seq <= seen or found.closed or found.erased:
        return []
    said = f"{one_line(found.content)!r:.80}, by {one_line(found.author)}"
    return [f"{ref} was changed between your look at it and this: it said {said}"]


def forgotten_notes(
    db: Database, views: Callable[[], Iterable[View]], texts: Iterable[str], refs: Sequence[str], seq: int
) -> list[str]:
    """Return a note if one of some texts, which a commit wrote as some worlds, was forgotten in some views.

    That is what was retired, and not what something else took the place of.
    """
    now = db.view()
    found = now._retired_saying(texts)
    if not found:
        return []
    seen = list(views())
    made = (now.get(ref, include_superseded=True, include_expired=True, include_deprecated=True) for ref in refs)
    written = [each for each in made if each is not None and each.number == 1 and each.seq == seq]
    named = dict[str, str]()
    for text, old in ((text, old) for text, retired in found.items() for old in retired if old not in refs):
        new = next((each.ref for each in written if is_same_text(text, _said_in(each))), None)
        users, owners = (now._users_of(each) for each in (old, new or old))
        for view in seen if new is not None and (users & owners or users == owners) else ():
            with suppress(UnknownReference):
                world = view.get(old, include_superseded=True, include_expired=True, include_deprecated=True)
                if world is not None and world.closed:
                    named[old] = str(new)
    if not named:
        return []
    listed = ", ".join(f"{old} (now {new})" for old, new in [*named.items()][:MAX_NEAR])
    more = f" and {len(named) - MAX_NEAR} more" if len(named) > MAX_NEAR else ""
    return [f"What was ended before is said again, and holds: {listed}{more}. End the later one, too, if it is not so"]


def _said_in(world: World) -> str:
    return analysis.without_speaker(world.content) if world.type == blocks.TURN else world.content


def said_elsewhere(
    views: Iterable[View], found: World, *, nobodys: bool = False, instead: str = "", user: str = ""
) -> tuple[dict[str, None], dict[str, str], dict[str, None]]:
    """Return the other memories that hold in some views and say what a memory said, and the texts that tell it.

    The last are those of both that surely say nothing else. The arguments are those of :func:`same_words_notes`;
    ``user`` is the speaker of the user's messages.
    """
    text = _said_in(found)
    if limits.is_blank(text):
        return {}, {}, {}
    how: dict[str, Any] = {"nobodys": nobodys, "of": found.ref, "instead": instead, "user": user}
    told = [view._saying_the_same(text, **how) for view in views]
    same = {ref: None for each in told for ref in each.same if ref != found.ref and found.type != blocks.TURN}
    telling = {ref: said for each in told for ref, said in each.telling if ref not in same}
    return same, telling, {ref: None for each in told for ref in each.sure if ref in same or ref in telling}


def same_words_notes(
    views: Iterable[View], found: World, remedy: str, *, nobodys: bool = False, instead: str = ""
) -> list[str]:
    """Return notes that name the other memories which hold in some views and say what a memory said, or tell it.

    One note names those that say it word for word, another one replies and memories that tell it in other words, with
    the beginnings of their texts; of what ``instead`` says now, only the rest counts. With ``nobodys`` none in a user's
    world.
    """
    same, telling, _ = said_elsewhere(views, found, nobodys=nobodys, instead=instead)
    return elsewhere_notes([*same], telling, remedy)


def elsewhere_notes(same: list[str], telling: Mapping[str, str], remedy: str) -> list[str]:
    """Return the notes on what says the same word for word, and on what tells it, with its text."""
    notes, others = list[str](), same[:MAX_NEAR]
    if others:
        hold = "holds" if len(others) == 1 else "hold"
        notes.append(f"Word for word the same is said by {', '.join(others)}, which still {hold}: {remedy}")
    if telling:
        named = [f"{errors.beginning(said)} ({ref})" for ref, said in telling.items()][:MAX_NEAR]
        more = f" and {len(telling) - MAX_NEAR} more" if len(telling) > MAX_NEAR else ""
        notes.append(f"What it said may still be told by {', '.join(named)}{more}: {remedy}")
    return notes


def same_words_beside(db: Database, view: View, ref: str, remedy: str, *, instead: str = "") -> list[str]:
    """Return notes as :func:`same_words_notes` does, for what lies in the worlds that contain a memory directly.

    Around a message that is what lies in the worlds that contain its conversation. What users share a world for, as an
    agent's, is each one's own.
    """
    try:
        found = view.get(ref, include_superseded=True, include_expired=True, include_deprecated=True)
    except UnknownReference:  # It is an edge.
        return []
    if found is None or not has_statement(found):
        return []
    root, around = str(next(db.log(1, 1)).data["root"]), view.containers(found.ref)
    if found.type == blocks.TURN:
        around = list(dict.fromkeys(outer for each in around for outer in view.containers(each))) or around
    own = view._for_users(view._users_of(found.ref))
    # All that lies in a user's world is that user's, and there is an index of it.
    inside = [(view if view._users_of(each) else own).confined(each) for each in around if each != root]
    notes = same_words_notes(inside, found, remedy, instead=instead)
    nobodys: dict[str, Any] = {"nobodys": True, "instead": instead}
    return notes or (same_words_notes([view], found, remedy, **nobodys) if root in around else [])


def other_text_notes(
    db: Database, ref: str, text: str, window: tuple[int, TimeLike | None], receipt: Receipt, remedy: str
) -> list[str]:
    """Return a note if a memory corrected for some time has another text in a part of it, or later."""
    begins, until = window
    # Later changes by others do not belong to the result of this commit.
    then = db.view(seq=receipt.seq, valid=max(receipt.ingest_time, begins))
    found = then.get(ref, include_superseded=True, include_expired=True, include_deprecated=True)
    if found is None or found.content == text or begins > receipt.ingest_time:
        return []
    if until is not None and found.valid.start >= parse_time(until, "until"):
        return []
    since = format_time(found.valid.start)
    return [
        f"{ref} still says {one_line(found.content)!r:.80}, which was said to hold from {since} on:"
        f" {remedy} if that is wrong, too"
    ]


def displaced_notes(view: View, receipt: Receipt, ref: str) -> list[str]:
    """Return notes on later texts of a memory that a revision from an earlier time left with no time to hold.

    Of those with a stated start the receipt has a note itself. What was there alone is what the revision corrects.
    """
    lost = sorted((each for each in receipt.lost if each.ref == ref), key=lambda loss: loss.valid_from)
    if len(lost) < 2 or any(note.code == "later_never_valid" for note in receipt.notes):
        return []
    numbers = {each.version for each in lost[1:]}
    gone = [one for one in view.history(ref) if one.number in numbers and not (one.erased or one.spans)]
    return [
        f"{one_line(one.content)!r:.80}, written at {format_time(one.ingested_at)}, holds at no time any more:"
        " state it again from then on if it still holds"
        for one in gone
        if one.valid.start >= one.valid.end
    ]


def with_revision_notes(
    db: Database, receipt: Receipt, text: str | None, window: tuple[TimeLike | None, TimeLike | None], remedy: str
) -> Receipt:
    """Add notes to a receipt of a revision from an earlier time: today's text is another, or later ones are gone."""
    begins, until = window
    if text is None or begins is None or not receipt.events:
        return receipt
    span = parse_time(begins, "valid_from"), until
    told = other_text_notes(db, receipt.ref, text, span, receipt, remedy)
    return with_sentences(receipt, told + displaced_notes(db.view(seq=receipt.seq), receipt, receipt.ref))


def with_sentences(receipt: Receipt, sentences: Iterable[str]) -> Receipt:
    """Add notes to a receipt on what is found now, after the write."""
    return receipt.with_notes(Note("found_now", (each,)) for each in sentences)


def restatement_changes(db: Database, receipt: Receipt, ref: str, world: str | None = None) -> list[str]:
    """Return notes on other changes by a restatement: deadline, pin, labels, properties, subjects inside ``world``."""
    how: Any = {"include_expired": True, "include_deprecated": True}
    held = db.view(seq=receipt.seq, valid=receipt.ingest_time).get(ref, include_superseded=True)
    at = receipt.ingest_time if held is None else max(receipt.ingest_time, held.valid.start)
    before, after = (db.view(seq=seq, valid=at).get(ref, **how) for seq in (receipt.seq - 1, receipt.seq))
    if before is None or after is None:
        return []
    notes = _deadline_change_notes(before, after, receipt.ingest_time)
    views = (db.view(seq=seq, valid=at, world=world) for seq in (receipt.seq - 1, receipt.seq))
    were_about, are_about = (subject_edges(view, ref) for view in views)
    notes += [f"{ref} named nobody that it is about, and does now"] if are_about and not were_about else []
    notes += [f"{ref} is pinned now"] if after.pinned and not before.pinned else []
    labels = [one_line(each) for each in after.labels if each not in before.labels]
    notes += [f"{ref} has new labels: {', '.join(labels)}"] if labels else []
    names = sorted({**before.properties, **after.properties})
    changed = [one_line(name) for name in names if before.properties.get(name) != after.properties.get(name)]
    return notes + ([f"{ref} has other properties now: {', '.join(changed)}"] if changed else [])


def earlier_start_notes(ref: str, since: int, before: int) -> list[str]:
    """Return a note if a memory holds from an earlier time on than ``before``."""
    earlier = f"{ref} holds from {format_time(since)} on now, not only from {format_time(before)} on"
    return [earlier] if since < before else []


def _deadline_change_notes(before: World, after: World, now: int) -> list[str]:
    """Return a note if the deadline of a memory changed; a passed one has a note already."""
    if before.expires_at == after.expires_at or (after.expires_at is not None and after.expires_at <= now):
        return []
    was = "" if before.expires_at is None else f"from {format_time(before.expires_at)} on"
    if after.expires_at is None:
        return [f"{after.ref} was to be hidden {was}, and is not any more: that deadline was lifted"]
    at = format_time(after.expires_at)
    if after.pinned:
        return [f"{after.ref} has the deadline {at} now, which hides nothing while it is pinned"]
    before_that = "had no deadline" if before.expires_at is None else f"was to be hidden {was}"
    return [f"{after.ref} will be hidden from {at} on, and {before_that}: lift the deadline if that is not meant"]


def left_subject_notes(view: View, old: World, text: str, remedy: str, *, ref: str = "") -> list[str]:
    """Return a note if a memory, or its successor ``ref``, is still about whom its old text names, and ``text`` not."""
    said, says = wording.words_of(old.content), wording.words_of(text)
    subjects = (view.get(edge.target, include_superseded=True) for edge in subject_edges(view, old.ref))
    named = ((each.name, wording.words_of(each.name)) for each in subjects if each is not None)
    left = [one_line(name) for name, words in named if words and words <= said and not words <= says]
    return [
        f"{ref or old.ref} is still about {', '.join(left)}, whom its text does not name any more: {remedy}"
    ] * bool(left)


def subject_edges(view: View, ref: str) -> Sequence[Edge]:
    """Return the edges to what a memory is about, in a view that may be confined to a world."""
    with suppress(UnknownReference):  # It may lie in that world at other times alone.
        return view.edges(ref, type="refers_to", direction="out")
    return ()


def named_beginning(text: str, now: int, otherwise: str) -> tuple[int | None, tuple[str, ...]]:
    """Return the future start that a text names, and a note on it.

    ``otherwise`` says in the note what follows from using that time; empty if it is not used, so that the note asks
    for ``since``.
    """
    begins = begin_named(text, now)
    if begins is None:
        return None, ()
    at = format_time(begins)
    if otherwise:
        return begins, (f"Its text says that it begins at {at}: {otherwise}",)
    return begins, (
        f"Its text says that it begins at {at}, and it is found from now on: give that as its start if it"
        " holds only from then",
    )


def told_day_notes(text: str, now: int) -> tuple[str, ...]:
    """Return a note if a text tells of a day to come, and how to state it."""
    # "In two weeks" names no day that a start could be.
    coming = [day for day in days_alone(text, now) if day.start > now and day.start % DAY_MICROSECONDS == 0]
    if not coming:
        return ()
    day = min(coming)
    since, until = (format_time(at).removesuffix("T00:00:00Z") for at in day[:2])
    return (
        f"Its text tells of {since}: questions about that day find it by this, and others find it from now on; give"
        f" since={since!r} and until={until!r} if it holds only then",
    )


def named_end_notes(text: str, since: int) -> tuple[str, ...]:
    """Return a note if a text that holds ``since`` a time names an end, which nothing that finds it goes by."""
    ends = end_named(text, since)
    if ends is None:
        return ()
    until = format_time(ends).removesuffix("T00:00:00Z")
    return (f"Its text says that it ends, and it is found after that, too: give until={until!r} if it holds till then",)


def plan_notes(found: World, text: str, now: int) -> tuple[str, ...]:
    """Return a note if a plan replaces a memory about the present."""
    if tense_of(text) != "ahead" or tense_of(found.content) == "ahead" or found.valid.start > now:
        return ()
    if any(time.span.end > now for time in parse_times(found.content, found.valid.start).read):
        return ()
    was = f"{one_line(found.content)!r:.80}"
    return (f"It tells what is to come, and {was} is not found any more: if that holds till then, add it by itself",)


def is_window_nonempty(begins: int | None, until: TimeLike | None) -> bool:
    """Return whether a window contains any time; the receipt tells if not."""
    return begins is None or until is None or begins < parse_time(until, "until")


def future_start_notes(begins: Iterable[int | None], now: int) -> list[str]:
    """Return a note if some of what was written begins later."""
    times = [*begins]
    later = [each for each in times if each is not None and each > now]
    if not later:
        return []
    since = format_time(min(later))
    if len(later) == 1:
        what = "It holds" if len(times) == 1 else f"1 of {len(times)} messages holds"
        return [f"{what} from {since} on; until then only a question about that time finds it"]
    what = f"{len(later)} of {len(times)} messages hold from {since} on, or later"
    return [f"{what}; until then only a question about that time finds them"]


def still_hidden_notes(found: World, valid: int) -> list[str]:
    """Return a note if a rewritten memory stays hidden, by a passed deadline or as deprecated."""
    if found.deprecated:
        return [f"{found.ref} is deprecated, so what it says now is not found: undeprecate it if that is not meant"]
    if found.pinned or found.expires_at is None or found.expires_at > valid:
        return []
    since = format_time(found.expires_at)
    return [f"{found.ref} has been hidden since {since}, with its new text too: lift the deadline to have it found"]


def already_hidden_notes(expires_at: TimeLike | None, written_at: int) -> list[str]:
    """Return a note if a deadline has passed, so that nothing finds the memory."""
    at = None if expires_at is None else parse_time(expires_at, "expires_at")
    if at is None or at > written_at:
        return []
    return [f"It has been hidden since {format_time(at)}, so nothing finds it: lift the deadline if that is not meant"]


def dropped_deadline_note(ref: str) -> str:
    """Return the note that a replacement does not inherit the deadline, which would hide it."""
    return f"It has no deadline: that of {ref} will have passed, or has"


def mark_notes(view: View, ref: str, *, deadline: bool = False) -> list[str]:
    """Return a note if nothing shows a new mark, or if a new ``deadline`` hides a memory at once, or hides nothing."""
    try:
        found = view.get(ref, include_superseded=True, include_expired=True, include_deprecated=True)
    except UnknownReference:  # It is in this world only later.
        return []
    if found is not None and found.closed:
        return [f"{ref} holds no more, so no answer of now shows the mark"]
    if found is None or not deadline or found.expires_at is None:
        return []
    if found.pinned:
        return [f"{ref} is pinned, so no deadline hides it: take the pin off if one is to"]
    return already_hidden_notes(found.expires_at, view.valid)


_MAX_NAMESAKES: Final = 16
"""How many entries of one name a note compares."""
_REFERENCE: Final = re.compile(r"(?i)[0-9a-f]{32}")
_BETWEEN_NAMES: Final = re.compile(r"\s*[,;]\s*(?:and\s+)?|\s+and\s+")


_BEHIND_A_NAME: Final = frozenset(("jr", "sr", "ii", "iii", "iv", "inc", "ltd", "llc", "co", "gmbh", "phd", "md"))


def several_names_notes(names: Iterable[str]) -> list[str]:
    """Return notes on names of subjects that look like several in one, as ``Zoe, Ben``, of which one is made."""
    notes = []
    for name in names:
        parts = [part for part in _BETWEEN_NAMES.split(one_line(name)) if part]
        if len(parts) > 1 and all(
            part[0].isupper() and part.rstrip(".").lower() not in _BEHIND_A_NAME for part in parts
        ):
            listed = ", ".join(f'"{part:.80}"' for part in parts)
            notes.append(f'"{one_line(name):.160}" counts as one name; if it is several, give them as [{listed}]')
    return notes


def subject_notes(
    scopes: Scopes, view: View, key: ScopeKey | tuple[str, ...], subjects: Iterable[Subject]
) -> list[str]:
    """Return notes on subjects that may be meant otherwise: unknown ids, shared names, several names in one."""
    named, scope = [each.name for each in subjects if not each.ref], scopes.scope_of(view, key)
    notes = several_names_notes(named)
    notes += [
        f"{name} has the form of an id, and nothing here that holds has it: it counts as a name"
        for name in named
        if _REFERENCE.fullmatch(name)
    ]
    meant = ((name, scopes.entry_ref(view, key, name)) for name in named)
    return [*notes, *filter(None, (namesake_note(view, scope, name, ref) for name, ref in meant))]


def namesake_note(view: View, world: str | None, name: str, meant: str | None) -> str:
    """Return a note if other entries inside a world than the one meant have its name, and are not known as one."""
    if meant is None:
        return ""
    same = view.find(name=name, type=ENTRY, world=world, limit=_MAX_NAMESAKES)
    others = [each for each in same if each.ref != meant and folded(each.name) == folded(name)]
    one = view.equivalence_class(meant) if others else ()
    apart = [each for each in others if each.ref not in one]
    if not apart:
        return ""
    shown = (f" ({one_line(each.content):.60})" if each.content else "" for each in apart)
    listed = ", ".join(f"{each.ref[:12]}{text}" for each, text in zip(apart, shown, strict=True))
    return (
        f'{len(apart) + 1} entries are called "{one_line(name):.80}", and this is about {meant[:12]}; for another give'
        f" its id in about: {listed}"
    )


def erased_basis_notes(bases: Iterable[World]) -> list[str]:
    """Return a note on each of the memories from which one is derived whose text was erased."""
    return [
        f"The text of {each.ref} was erased, so nobody can read what this is derived from"
        for each in bases
        if each.erased
    ]


def is_same_text(one: str, other: str) -> bool:
    """Return whether two texts are the same word for word; see :func:`wording.says_again`."""
    return wording.says_again(one, other)
