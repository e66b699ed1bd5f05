"""One conversation among a user's memories: find the messages that are there already, and write the others."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

from worlddb import repeated_messages
from worlddb.log.model import errors, times
from worlddb.memory_scopes import (
    BEGINNING,
    Label,
    ScopeKey,
    Scopes,
    Subject,
    folded,
    imported_scope_ref,
    imported_scope_refs,
)
from worlddb.query.question.question import MAX_NEAR
from worlddb.query.records.records import World
from worlddb.query.view.view import View
from worlddb.reconciler.commands.outcome import Receipt
from worlddb.reconciler.ingest import chat_messages, extraction
from worlddb.repeated_messages import memory_key, message_identity
from worlddb.write_notes import future_start_notes

ABOUT: Final = "refers_to"
"""The type of the edge from a memory to whom it is about, and from a message to who said it."""
MAX_SKEW: Final = 60_000_000
"""The microseconds by which the time of a message may be ahead of the clock, and the message still holds at once."""
MAX_SESSIONS_MOVED: Final = 8
"""How often a session of one name may have been moved elsewhere."""
_NOT_CHANGED: Final = "was left out, since the message came in a bundle; call correct to let it say that"
"""Why a message with a known id and another text is left out."""


class Held(NamedTuple):
    """What a user's worlds hold of messages that are given."""

    known: set[int]
    """The places of messages that the session has, or had."""
    homes: list[str]
    """The session, in each of the worlds that have it."""
    notes: list[str]
    """What to tell of them: which were corrected, edited elsewhere, given at other times, or not recognised."""


class NewMessages(NamedTuple):
    """Messages to be written, and what is said of all of them."""

    said: Sequence[chat_messages.ChatMessage]
    speakers: Mapping[str, str]
    """The names of those who speak, by their roles."""
    first: int | None
    """When the first of the given messages begins."""
    fallback: int | None
    """When those begin that have no time."""
    source: Mapping[str, Any]
    why: str
    marks: Mapping[str, Any]


class ChatSession:
    """A session of messages, by its name, in the worlds of a user or in the whole store.

    ``views`` gives the views of these worlds, and ``key`` is that of the one to write to. ``own`` is the source of
    all that this memory writes.
    """

    def __init__(
        self,
        name: str,
        scopes: Scopes,
        label: Label | None,
        key: ScopeKey | tuple[str, ...],
        views: Callable[[], list[View]],
        own: Mapping[str, Any],
    ) -> None:
        self.name = repeated_messages.original_spelling(views(), name)
        self._scopes, self._label, self._key, self._views, self._own = scopes, label, key, views, dict(own)
        self._within = memory_key("session", key, self.name)

    def find(self, said: Sequence[chat_messages.ChatMessage]) -> Held:
        """Find the messages that the session has, or had, in any of the user's worlds."""
        known, homes, corrected, edited, alike = set[int](), list[str](), list[str](), list[str](), 0
        keys, shifted = self._message_keys(said), list[str]()
        for view, home in self._homes():
            found, seeming = repeated_messages.find_known(view, home, said, self._scopes.db, keys)
            known |= found
            alike = max(alike, seeming)
            known |= repeated_messages.corrected_since(view, said, keys)
            known |= repeated_messages.find_unidentified(view, home, said, keys)
            came, otherwise = repeated_messages.find_imported(view, home, said, keys)
            known |= came
            if not known:
                counted = repeated_messages.count_shifted(view, self._key, self.name, said)
                shifted += repeated_messages.shifted_notes(*counted)
            edited += otherwise
            homes.append(home.ref)
            corrected += repeated_messages.corrected_refs(view, home, said, keys, known)
        notes = list[str]()
        if len(known) == len(said) and any(message_identity(each) is None for each in said):
            notes.append("The session ends with these messages, or began so: give ids or times to say the same again")
        notes += repeated_messages.corrected_notes(corrected)
        notes += repeated_messages.changed_text_notes(edited, _NOT_CHANGED)
        notes += shifted or ([] if known else repeated_messages.repeated_notes(alike, len(said)))
        return Held(known, homes, notes)

    def refs_of(self, said: Sequence[chat_messages.ChatMessage]) -> tuple[str, ...]:
        """Return the ids of messages that are all there, in order."""
        found, keys = dict[int, str](), self._message_keys(said)
        for view, home in self._homes():
            found = repeated_messages.turns_of(view, home, said, keys) | found
        return tuple(found[place] for place in sorted(found))

    def unknown_key_notes(self, said: Sequence[chat_messages.ChatMessage], known: Collection[int]) -> list[str]:
        """Return a note if a bundle brought what is written under a key, which a bundle does not bring."""
        new = [each for place, each in enumerate(said) if place not in known and message_identity(each) is None]
        homes = self._homes() if new else ()
        found = [ref for view, home in homes for ref in repeated_messages.said_in_import(view, home, new)]
        if not found:
            return []
        said_by = ", ".join(dict.fromkeys(found[:MAX_NEAR]))
        return [f"{said_by} came in a bundle and says the same: bundles bring no idempotency keys, so this is another"]

    def write(
        self, new: NewMessages, look: View, keyed: Mapping[str, Any], homes: Sequence[str]
    ) -> tuple[Receipt, list[int]]:
        """Write messages into the session as one commit; returns its receipt, and the places of their references.

        ``look`` is what was read before, ``keyed`` are arguments of the batch, and ``homes`` what it rests on.
        """
        for attempt in range(MAX_SESSIONS_MOVED):
            try:
                return self._write(new, look, keyed, homes, attempt)
            except errors.RefusedError as error:
                # An operator moved the session away: the edges of its turns keep their keys.
                if error.details.get("reason") != "key_taken" or attempt == MAX_SESSIONS_MOVED - 1:
                    raise
        raise AssertionError("the last attempt returns or raises")

    def _write(
        self, new: NewMessages, look: View, keyed: Mapping[str, Any], homes: Sequence[str], attempt: int
    ) -> tuple[Receipt, list[int]]:
        scopes, key, made = self._scopes, cast(ScopeKey, self._key), list[int]()
        turns = [each.turn(new.speakers) for each in new.said]
        with scopes.db.batch(seen=look, **keyed, rests_on=[*homes, *imported_scope_refs([key])]) as tx:
            home = None if self._label is None else scopes.write_scope(tx, key)
            where = self._imported(look) or self._write_home(tx, home, new.first)
            named = scopes.entry_names(look, key, [turn.speaker for turn in turns])
            for each, turn in zip(new.said, turns, strict=True):
                begins, own = start_of(each, new.fallback, look.valid), message_identity(each)
                world = tx.create(
                    extraction.TURN,
                    "",
                    content=f"{turn.speaker}: {turn.text}",
                    world=where,
                    key=None if own is None else memory_key("message", key, self.name, *own),
                    key_within=None if own is None else where,
                    valid_from=begins,
                    source={**turn.source, **new.source, **self._own},
                    why=new.why,
                    resolve=False,
                    **new.marks,
                )
                made.append(world.position)
                tx.link(
                    world,
                    ABOUT,
                    scopes.write_subject(tx, key, home, Subject(named[folded(turn.speaker)]), self._own),
                    key=None if own is None else memory_key("said", key, self.name, *own, *[attempt][:attempt]),
                    valid_from=begins,
                    properties={"role": "speaker"},
                )
        return tx.receipt, made

    def _write_home(self, tx: Any, scope: Any, first: int | None) -> Any:
        """Return the session's world in a scope, which is written if it is not there."""
        known = [found for view in self._views() if (found := view.keyed(self._within)) is not None]
        return tx.create(
            extraction.SESSION,
            self.name,
            world=scope,
            key=self._within,
            key_within=self._scopes.top if scope is None else scope,
            # Messages of earlier times may follow, and are members at their times.
            valid_from=BEGINNING if all(found.closed for found in known) else first,
            resolve=False,
            source=self._own,
            anew=True,
            revive=True,
        )

    def _imported(self, look: View) -> str | None:
        """Return the session that came in a bundle with the user's world, to continue it."""
        if (scope := imported_scope_ref(self._key)) is None:
            return None
        found = repeated_messages.session_in(self._scopes.db._inside(look, scope), self.name, self._within)
        return found.ref if found is not None and not found.closed and "imported" in found.source else None

    def _homes(self) -> Iterator[tuple[View, World]]:
        """Return each view of the user's worlds that has the session, with the session's world."""
        for view in self._views():
            home = repeated_messages.session_in(view, self.name, self._within)
            if home is not None:
                yield view, home

    def _message_keys(self, said: Sequence[chat_messages.ChatMessage]) -> list[str | None]:
        return repeated_messages.message_keys(self._key, self.name, said)


def messages_of(given: Any) -> list[chat_messages.ChatMessage]:
    """Return what was given to ``add`` as messages.

    Raises:
        InputError: it is neither a text nor messages.
    """
    if given is None or isinstance(given, bytes | bytearray | int | float):
        raise errors.InputError(
            f"{errors.shown(given)} is neither a text nor messages",
            'Give a statement, or messages such as {"role": "user", "content": "…"}',
        )
    return chat_messages.messages_of(given)


def messages_to_keep(
    messages: Sequence[chat_messages.ChatMessage],
) -> tuple[list[chat_messages.ChatMessage], list[str]]:
    """Return those of some messages that are kept, and notes on what is left out.

    Raises:
        InputError: none is kept, or two with the same id have other texts.
    """
    said = [each for each in messages if each.text and not each.is_instruction]
    left = len(messages) - len(said)
    notes = [f"Left out, as instructions or without a text: {left} of {len(messages)} messages"] if left else []
    if thoughts := sum(each.thoughts for each in messages):
        what = "1 part" if thoughts == 1 else f"{thoughts} parts"
        notes.append(f"Left out, as a model thought it and said it to nobody: {what} of messages")
    if unread := sum(each.unread for each in said):
        what = "1 part of messages is" if unread == 1 else f"{unread} parts of messages are"
        notes.append(f"{what} no text, as an image: only the kind was kept")
    if not said:
        raise errors.InputError("No message has a text to keep", "Give messages of the user or the assistant")
    repeated_messages.check_ids(said)
    return said, notes


def start_of(said: chat_messages.ChatMessage, fallback: int | None, now: int) -> int | None:
    """Return when a message begins to hold: at its own time, or now if that is at most :data:`MAX_SKEW` later.

    The clocks of two machines differ, and who said something a moment ago is asked about it at once.
    """
    if said.at is None:
        return fallback
    at = times.parse_time(said.at)
    return now if now < at <= now + MAX_SKEW else at


def time_notes(said: Sequence[chat_messages.ChatMessage], starts: Sequence[int | None], now: int) -> list[str]:
    """Return notes on messages that begin in the future, and on those whose time is a little ahead of the clock."""
    ahead = [times.parse_time(each.at) - now for each in said if each.at is not None]
    ahead = [each for each in ahead if 0 < each <= MAX_SKEW]
    notes = future_start_notes(starts, now)
    if ahead:
        are = "The time of 1 message is" if len(ahead) == 1 else f"The times of {len(ahead)} messages are"
        hold = "it holds" if len(ahead) == 1 else "they hold"
        notes.append(f"{are} up to {max(ahead) / 1e6:.1f} s ahead of the clock here, so {hold} from now on")
    return notes
