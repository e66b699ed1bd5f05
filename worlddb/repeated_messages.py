"""Recognise messages that are given again: which of them a session holds, or held once.

A message with an id or a time is recognised by it. Others are recognised by their position in the given list.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from worlddb.log.model import errors
from worlddb.projections.tables.names.canonical import compose_name
from worlddb.query.records import records
from worlddb.query.view.view import View
from worlddb.reconciler.ingest import chat_messages, extraction

if TYPE_CHECKING:
    from worlddb.database import Database

_EXTRA_TURNS: Final = 64
"""Earlier turns that a list is aligned with, in addition to twice its own length."""
_MIN_COMMON: Final = 2
"""Common messages from which a list counts as one that the session holds in part."""

_MIN_RUN: Final = 3
"""Common messages without id or time from which a list counts as a continuation of the session."""

Said = tuple[Any, str]


def message_identity(said: chat_messages.ChatMessage) -> list[Any] | None:
    """Return the identity of a message in its session; ``None`` if only its position identifies it."""
    if said.id:
        return [said.id]
    return None if said.at is None else [said.at, said.role, said.text]


def check_ids(said: Sequence[chat_messages.ChatMessage]) -> None:
    """Check that messages with the same id have the same text.

    Raises:
        InputError: they differ, so that the second would be taken for an edit of the first.
    """
    texts: dict[str, str] = {}
    for each in said:
        if each.id and texts.setdefault(each.id, each.text) != each.text:
            named = errors.shown(each.id)
            raise errors.InputError(f"Two messages have the id {named}, and other texts", "Give each its own id")


def original_spelling(views: Iterable[View], name: str) -> str:
    """Return a session's name in its first spelling, if only its accents differ."""
    if name.isascii():
        return name
    found = (world.name for view in views for world in view.find(name=name, type=extraction.SESSION))
    return next((each for each in found if compose_name(each) == name), name)


def session_in(view: View, name: str, key: str) -> records.World | None:
    """Return the session of a name, found by its key if the name was erased."""
    named = [world for world in view.find(name=name, type=extraction.SESSION) if world.name == name]
    return named[0] if named else view.keyed(key)


def find_known(
    view: View,
    session: records.World,
    said: Sequence[chat_messages.ChatMessage],
    db: Database,
    keys: Sequence[str | None],
) -> tuple[set[int], int]:
    """Return the positions of listed messages that a session holds or held, and how many others it seems to hold.

    ``keys`` are their keys. Most of a list without ids and times may be in a session of which it repeats no end: it is
    written, and only told of.

    A list repeats the session if it begins with all turns that the session ever held, or with its last few, such as the
    last twenty messages of a chat. A forgotten, corrected or erased message must not come back with a list that was
    cut, was changed elsewhere, or has ids or times by now. In that case the list is aligned with the session.
    """
    asked = [(each.role, each.text) for each in said]
    rest = iter(view.children(session.ref, include_superseded=True))
    turns: list[records.World] = []
    if keys[0] is not None:
        new = [place for place, key in enumerate(keys) if key is None or view.keyed(key) is None]
        if len(new) <= _MIN_COMMON or _is_identified(view.find(world=session.ref, limit=1, include_superseded=True)):
            return set(), 0
        turns = [*rest][-(2 * len(asked) + _EXTRA_TURNS) :]
        placed = _unkeyed(view, turns, db) if _is_any_changed(turns) else ()
        if not placed:
            return set(), 0
        held = [_texts_ever(view, turn) if turn.ref in placed else frozenset[Said]() for turn in turns]
        return {new[place] for place in _align(held, [asked[place] for place in new])}, 0
    for turn in rest:
        turns.append(turn)
        if len(turns) > len(asked) or not _texts_ever(view, turn).issuperset([asked[len(turns) - 1]]):
            break
    else:
        # If everything was erased, nobody can tell: one or two messages may well be new, as for a returning user.
        is_told = any(not isinstance(_texts_ever(view, turn), _AnyText) for turn in turns)
        is_beginning = is_told or (len(asked) > _MIN_COMMON and not session.erased)
        return set(range(len(turns))) if is_beginning else set(), 0
    if len(asked) <= _MIN_COMMON:
        return set(), 0  # Messages that are added one by one, or in pairs, may say the same again.
    turns = [*turns, *rest][-(2 * len(asked) + _EXTRA_TURNS) :]
    if overlap := _overlap(view, turns, asked):
        return set(range(overlap)), 0
    held = [_texts_ever(view, turn) for turn in turns]
    if not _is_any_changed(turns):
        again = sum(one in frozenset[Said]().union(*held) for one in asked)
        return set(), again if again >= _MIN_RUN and 2 * again > len(asked) else 0
    return _align(held, asked), 0


def count_shifted(
    view: View, scope: Sequence[str], session: str, said: Sequence[chat_messages.ChatMessage]
) -> tuple[int, int]:
    """Return how many messages a session has the same number of hours earlier or later, and the seconds.

    Two clocks, or two readings of local times, differ by whole hours. So do messages of a machine that repeats itself,
    and nothing tells these apart: such messages are written, and only told of. Only an exchange counts, of two roles
    and several texts.
    """
    timed = [each for each in said if not each.id and isinstance(each.at, int)]
    if not _is_exchange(timed):
        return 0, 0

    def is_held(each: chat_messages.ChatMessage, shift: int) -> bool:
        (key,) = message_keys(scope, session, [each._replace(at=cast(int, each.at) + shift)])
        return key is not None and view._keyed_reference(key) is not None

    first = timed[0]
    if is_held(first, 0):
        return 0, 0
    for shift in (step * _HOUR for each in range(1, _MAX_APART + 1) for step in (each, -each)):
        if is_held(first, shift) and _is_exchange(held := [each for each in timed if is_held(each, shift)]):
            return len(held), shift // 1_000_000
    return 0, 0


def _is_exchange(said: Sequence[chat_messages.ChatMessage]) -> bool:
    return len({each.text for each in said}) >= _MIN_EXCHANGE and len({each.role for each in said}) > 1


_HOUR: Final = 3_600_000_000
"""In microseconds."""
_MAX_APART: Final = 14
"""How many hours a time zone is from UTC at most."""
_MIN_EXCHANGE: Final = 4
"""Different texts by which an exchange is known to be the same at other times."""


def turns_of(
    view: View, session: records.World, said: Sequence[chat_messages.ChatMessage], keys: Sequence[str | None]
) -> dict[int, str]:
    """Return a session's turns by the positions of their messages in a list, the last ones in that order."""
    turns = [*view.children(session.ref, include_superseded=True)]
    found: dict[int, str] = {}
    before = len(turns)
    for place in reversed(range(len(said))):
        key, one = keys[place], (said[place].role, said[place].text)
        keyed = None if key is None else view.keyed(key)
        if keyed is not None:
            found[place] = keyed.ref
            continue
        at = next((at for at in reversed(range(before)) if one in _texts_ever(view, turns[at])), None)
        if at is not None:
            found[place], before = turns[at].ref, at
    return found


def _overlap(view: View, turns: Sequence[records.World], asked: Sequence[Said]) -> int:
    """Return how many first messages of a list are the session's last turns without id and time."""
    first = (turn if turn.number == 1 else view.history(turn.ref)[0] for turn in turns)
    own = (each.source.get("message") or each.valid.start != each.ingested_at for each in first)
    held = [_texts_ever(view, turn) for turn, has_own in zip(turns, own, strict=True) if not has_own]
    for size in range(min(len(held), len(asked)), _MIN_RUN - 1, -1):
        pairs = [*zip(held[-size:], asked, strict=False)]
        if all(said.issuperset([one]) for said, one in pairs) and sum(one in said for said, one in pairs) >= _MIN_RUN:
            return size
    return 0


def corrected_since(view: View, said: Sequence[chat_messages.ChatMessage], keys: Sequence[str | None]) -> set[int]:
    """Return the positions of known messages that somebody corrected and that are given with the old text.

    Giving such a message again does not undo the correction. A message with another text than before was edited at its
    origin, and gets the new text.
    """
    turns = (None if key is None else view.keyed(key) for key in keys)
    messages = zip(said, turns, strict=True)
    return {place for place, (each, turn) in enumerate(messages) if turn and _replaced_text(view, turn) == each.text}


def corrected_refs(
    view: View,
    session: records.World,
    said: Sequence[chat_messages.ChatMessage],
    keys: Sequence[str | None],
    known: AbstractSet[int],
) -> list[str]:
    """Return the corrected turns of messages that are given again.

    ``known`` are the positions of messages that are recognised by position, or are not written for another reason.
    """
    keyed = [None if key is None else view.keyed(key) for key in keys]
    turn_texts = [(turn, each.text) for each, turn in zip(said, keyed, strict=True) if turn is not None]
    found = [turn.ref for turn, text in turn_texts if _replaced_text(view, turn) == text]
    if texts := {said[place].text for place in known if keyed[place] is None}:
        turns = view.children(session.ref, include_superseded=True)
        found += [turn.ref for turn in turns if turn.number > 1 and _replaced_text(view, turn) in texts]
    return list(dict.fromkeys(found))


def _replaced_text(view: View, turn: records.World) -> str | None:
    """Return the last text that a message gave a turn, if somebody corrected it since; only messages have a role.

    ``None`` for all other turns.
    """
    if turn.number == 1 or turn.erased:
        return None
    *before, newest = view.history(turn.ref)
    given = [version for version in before if version.source.get("role")]
    text = given[-1].content.partition(": ")[2] if given else None
    return None if newest.source.get("role") or newest.content.partition(": ")[2] == text else text


def find_unidentified(
    view: View, session: records.World, said: Sequence[chat_messages.ChatMessage], keys: Sequence[str | None]
) -> set[int]:
    """Return the positions of messages without id and time that a session has next to known ones.

    A message exists already if it follows a known one in the list and in the session, or precedes the first known one.
    """
    if None not in keys:
        return set()
    known = [None if key is None else view.keyed(key) for key in keys]
    if not any(known):
        return set()  # All messages are new, so the session, which may be long, need not be read.
    turns = [*view.children(session.ref, include_superseded=True)]
    at = {turn.ref: place for place, turn in enumerate(turns)}
    found = set[int]()
    for order, step in ((range(len(said)), 1), (reversed(range(len(said))), -1)):
        beside: int | None = None
        for place in order:
            if keys[place] is not None:
                turn = known[place]
                beside = None if turn is None else at.get(turn.ref)
            elif beside is not None:
                beside += step
                one = (said[place].role, said[place].text)
                if 0 <= beside < len(turns) and one in _texts_ever(view, turns[beside]):
                    found.add(place)
                else:
                    beside = None
    return found


def find_imported(
    view: View, session: records.World, said: Sequence[chat_messages.ChatMessage], keys: Sequence[str | None]
) -> tuple[set[int], list[str]]:
    """Return the positions of messages with id or time that lie in an imported session.

    Bundles carry no keys, and files have keys of their own, so messages are recognised by their turns: by id, or by
    time, role and text; a file tells no roles. Also returns the turns whose id a message with another text has. Turns
    written here since the import have keys.
    """
    if "imported" not in session.source and session.source.get("channel") == "memory":
        return set(), []
    identities = {}
    for place, each in enumerate(said):
        own, key = message_identity(each), keys[place]
        if own is not None and (key is None or view.keyed(key) is None):
            identities[place] = tuple(own)
    held, others, texts = set[tuple[Any, ...]](), list[str](), {each.id: each for each in said if each.id}
    for turn in view.children(session.ref, include_superseded=True) if identities else ():
        first = turn if turn.number == 1 else view.history(turn.ref)[0]
        named, role = first.source.get("message"), first.source.get("role")
        roles = [role] if role else [chat_messages.USER, chat_messages.ASSISTANT]
        held |= {(named,), *((first.valid.start, each, first.content.partition(": ")[2]) for each in roles)}
        given = texts.get(str(named)) if (named,) in identities.values() else None
        if given is not None and not _texts_ever(view, turn).issuperset([(given.role, given.text)]):
            others.append(turn.ref)
    return {place for place, own in identities.items() if own in held}, others


def said_in_import(view: View, session: records.World, said: Sequence[chat_messages.ChatMessage]) -> Iterable[str]:
    """Return the turns of an imported session that say what some messages say, in log order."""
    if "imported" not in session.source:
        return ()
    asked = {(each.role, each.text) for each in said}
    turns = view.children(session.ref, include_superseded=True)
    return [turn.ref for turn in turns if "imported" in turn.source and not asked.isdisjoint(_texts_ever(view, turn))]


def _is_identified(first: Sequence[records.World]) -> bool:
    """Return whether a session's first message has an id or a time, by which its messages are recognised."""
    return any(turn.source.get("message") or turn.valid.start != turn.ingested_at for turn in first)


def _is_any_changed(turns: Sequence[records.World]) -> bool:
    return any(turn.erased or turn.closed or turn.number > 1 for turn in turns)


def _unkeyed(view: View, turns: Sequence[records.World], db: Database) -> set[str]:
    """Return those turns that were given without id and time, by their edges in the log."""
    begun = {view.history(turn.ref)[0].seq if turn.number > 1 else turn.seq for turn in turns}
    edges = (entry.data for seq in begun for entry in db.log(seq, seq) if entry.event == "linked")
    return {edge["source"] for edge in edges if not edge["keyed"]}


class _AnyText(frozenset[Said]):
    """The unknown text of an erased turn, which matches any text."""

    def issuperset(self, other: object) -> bool:
        return True


def _texts_ever(view: View, turn: records.World) -> frozenset[Said]:
    """Return the present and the first text of a turn."""
    texts = {(turn.source.get("role"), turn.content.partition(": ")[2])}
    if turn.number > 1 and not turn.erased:
        first = view.history(turn.ref)[0]
        texts.add((first.source.get("role"), first.content.partition(": ")[2]))
        return _AnyText() if first.erased else frozenset(texts)
    return _AnyText() if turn.erased else frozenset(texts)


def _align(held: Sequence[frozenset[Said]], said: Sequence[Said]) -> set[int]:
    """Return the listed positions of held messages, by the alignment with the most matches."""

    def worth(at: int, place: int) -> int:
        return 2 if said[place] in held[at] else int(isinstance(held[at], _AnyText))

    best = [[0] * (len(said) + 1) for _ in range(len(held) + 1)]
    for at in range(len(held) - 1, -1, -1):
        for place in range(len(said) - 1, -1, -1):
            matched = worth(at, place) and worth(at, place) + best[at + 1][place + 1]
            best[at][place] = max(matched, best[at + 1][place], best[at][place + 1])
    found, same, at, place = set[int](), 0, 0, 0
    while at < len(held) and place < len(said):
        if worth(at, place) and best[at][place] == worth(at, place) + best[at + 1][place + 1]:
            found.add(place)
            same += worth(at, place) == 2
            at, place = at + 1, place + 1
        elif best[at][place] == best[at + 1][place]:
            at += 1
        else:
            place += 1
    return found if same >= _MIN_COMMON else set()


def message_keys(scope: Iterable[str], session: str, said: Iterable[chat_messages.ChatMessage]) -> list[str | None]:
    """Return the keys of the turns of messages in a session, for those with an identity of their own."""
    return [None if own is None else memory_key("message", scope, session, *own) for own in map(message_identity, said)]


def memory_key(kind: str, scope: Iterable[str], *parts: Any) -> str:
    """Return the key under which a memory writes something of a scope once."""
    return msgspec.json.encode(("memory", kind, [*scope], *parts)).decode()


_MAX_NAMED: Final = 5
"""Messages that a note names."""


def corrected_notes(refs: Sequence[str]) -> list[str]:
    """Return a note if repeated messages were corrected since they were first given."""
    if not refs:
        return []
    count = (
        "1 message was corrected since, and stays so" if len(refs) == 1 else f"{len(refs)} were corrected, and stay so"
    )
    return [f"{count}: {_listed(refs)}"]


def shifted_notes(count: int, seconds: int) -> list[str]:
    """Return a note if messages are in a session at other times, and are written again."""
    if not count:
        return []
    apart = "1 hour" if abs(seconds) == 3600 else f"{abs(seconds) / 3600:g} hours"
    told = f"{count} messages are in this session with times {apart} {'later' if seconds > 0 else 'earlier'} too"
    return [f"{told}, and are written again: if that is the same talk by another clock, give ids"]


def repeated_notes(alike: int, given: int) -> list[str]:
    """Return a note if messages without ids and times, of which a session seems to have most, are written again."""
    if not alike:
        return []
    told = f"{alike} of these {given} messages were in this session already, and are written again"
    return [f"{told}: give ids or times to have them recognised"]


def changed_text_notes(refs: Sequence[str], what: str) -> list[str]:
    """Return a note if messages have known ids and another text; ``what`` says what was done."""
    if not refs:
        return []
    count = "1 message has a known id" if len(refs) == 1 else f"{len(refs)} messages have known ids"
    return [f"{count} and another text, which {what}: {_listed(refs)}"]


def _listed(refs: Sequence[str]) -> str:
    more = f" and {len(refs) - _MAX_NAMED} more" if len(refs) > _MAX_NAMED else ""
    return ", ".join(refs[:_MAX_NAMED]) + more
