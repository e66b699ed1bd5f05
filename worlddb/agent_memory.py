"""The front door for an agent: one user's memories by add, recall, context, profile, correct and forget.

It only composes calls of the library. What it writes for a user lies in that user's world, which the MCP server shows
under the same ``user_id``. It reads from inside that world, so no other user's memories appear.
"""

from __future__ import annotations

import asyncio
import functools
import itertools
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, Final, NoReturn, ParamSpec, TypeVar, cast

import msgspec

from worlddb import chat_session, repeated_messages
from worlddb.chat_session import ABOUT, ChatSession, NewMessages
from worlddb.database import Database
from worlddb.database import open as open_store
from worlddb.log.model import errors, limits, times
from worlddb.log.working.message_buffers import Scope
from worlddb.memory_scopes import (
    ENTRY,
    FAR,
    HOLDERS,
    MAX_IN_CHAIN,
    SCOPE,
    Label,
    ScopeKey,
    Scopes,
    Subject,
    check_scope_name,
    embed_new,
    erase_found,
    folded,
    has_statement,
    imported_scope_ref,
    imported_scope_refs,
    is_visible,
    later_view,
    notes_inside,
    recall_statements,
    replacement_chain,
    unwritten_note,
    with_conflicts,
)
from worlddb.memory_statements import (
    Place,
    Statement,
    check_statement_type,
    is_past,
    revise_where_it_lies,
    view_for_write,
    write_statement,
)
from worlddb.memory_wording import meant_call, translate_errors, translate_wording
from worlddb.plain_text import one_line
from worlddb.projections.tables.consolidation.interior_witness import SUMMARY
from worlddb.projections.tables.names.canonical import compose_name
from worlddb.prompt_text import (
    CONTEXT_HITS,
    Count,
    Profile,
    PromptText,
    is_summary_of,
    later_competitors,
    prompt_text,
    unlisted_note,
)
from worlddb.query.coverage import scope_widening
from worlddb.query.history import lineage
from worlddb.query.question.question import LANES
from worlddb.query.question.question_dates import begin_named
from worlddb.query.recall import near_claims
from worlddb.query.records import records
from worlddb.query.view.view import View
from worlddb.reconciler.commands.outcome import Noted, Receipt
from worlddb.reconciler.ingest import chat_messages, extraction
from worlddb.repeated_messages import memory_key
from worlddb.working.working_memory import SessionMemory
from worlddb.write_notes import (
    already_hidden_notes,
    concurrent_change_notes,
    displaced_notes,
    earlier_start_notes,
    elsewhere_notes,
    erased_basis_notes,
    forgotten_notes,
    future_start_notes,
    is_same_text,
    is_window_nonempty,
    left_subject_notes,
    mark_notes,
    named_beginning,
    other_text_notes,
    plan_notes,
    said_elsewhere,
    same_words_notes,
    still_hidden_notes,
    subject_notes,
)
from worlddb.writing import retry_while_changed

Given = ParamSpec("Given")
Answer = TypeVar("Answer")

RESERVED_FIELDS: Final = ("channel", "agent", "session", "role", "message")
"""Fields of a source that the memory sets itself."""
_ALSO_FORGET: Final = "call forget or correct with that id"
"""What to do about another memory that tells what was forgotten."""
_NEW_VERSION: Final = "is a new version, and history keeps the old one; call correct if it holds from another time"
_MAX_NAMED: Final = 5
"""Memories about a person or thing that an error names."""
_OWN_SESSION: Final = "own"
"""The buffer of a user for whom no session was named."""


class Added(Noted, frozen=True, kw_only=True):
    """What an ``add`` wrote: ``ids`` of the memories, in the order given, and the commit ``seq``.

    ``repeated`` counts messages that the session already had; if it had all of them, ``ids`` are theirs.
    ``proposals`` are staged identities that await a decision; ``notes`` tell the caller anything else in words.
    ``near`` are the memories that a statement may repeat, replace or contradict, the nearest first.
    """

    ids: tuple[str, ...]
    seq: int
    near: tuple[near_claims.Near, ...] = ()
    repeated: int = 0
    proposals: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The id of the one memory.

        Raises:
            InputError: there is not exactly one.
        """
        if len(self.ids) != 1:
            raise errors.InputError(f"{len(self.ids)} memories were written", "Use ids")
        return self.ids[0]


@limits.typed_arguments
def memory(
    place: str | Path | Database,
    *,
    user: str | None = None,
    agent: str | None = None,
    session: str | None = None,
    **options: Any,
) -> Memory:
    """Open an agent's memory: a directory, made if there is none, or a store that is open already.

    Args:
        user: whose memories they are. Each user has a world, and nothing that is read here comes from outside of it.
            Without a user, the ``agent`` has a world of its own; without both, it is the whole store.
        agent: who writes; the author of what is written.
        session: the conversation, under whose name messages are kept together.
        options: those of :func:`worlddb.open`.

    Raises:
        InputError: a name is blank, or an option is given for a store that is open.
    """
    for name, value in (("user", user), ("agent", agent), ("session", session)):
        if value is not None and not limits.checked_text(value, name, limits.MAX_AUTHOR_BYTES, nul=False).strip():
            raise errors.InputError(f"{name} is blank", "Give a name, the same at each start, or leave it out")
    if user is not None or agent is not None:
        check_scope_name(cast(str, agent if user is None else user), "agent" if user is None else "user")
    user, agent, session = (None if value is None else compose_name(value) for value in (user, agent, session))
    known = ("user", "agent", "session", *limits.argument_names(open_store)[1:])
    limits.check_argument_names("memory", options, known)
    if isinstance(place, Database):
        if options:
            raise errors.InputError(f"The store is open, so {min(options)} cannot be set", "Give it to worlddb.open")
        return Memory(place if agent is None else place.as_author(agent), user, agent, session, owns=False)
    options = options if agent is None else {"author": agent, **options}
    return Memory(open_store(place, **options), user, agent, session, owns=True)


def _async_version(
    method: Callable[Concatenate[Any, Given], Answer],
) -> Callable[Concatenate[Any, Given], Coroutine[Any, Any, Answer]]:
    """Return an asynchronous version of a call; it runs in a thread, so the event loop is not blocked."""

    @functools.wraps(method)
    async def twin(self: Any, /, *given: Given.args, **named: Given.kwargs) -> Answer:
        return await asyncio.to_thread(method, self, *given, **named)

    return cast(Callable[Concatenate[Any, Given], Coroutine[Any, Any, Answer]], twin)


class Memory:
    """One user's memories in an open store; see :func:`worlddb.memory`. Each call has an async version: ``aadd`` …"""

    def __init__(self, db: Database, user: str | None, agent: str | None, session: str | None, *, owns: bool) -> None:
        self.db = db
        self.user, self.agent, self.session = user, agent, session
        self._owns = owns
        self._valid: times.TimeLike | None = None
        self._known: times.TimeLike | int | None = None
        self._scopes = Scopes(db)
        kind, name = ("user", user) if user is not None else ("agent", agent)
        self._label = None if name is None else Label(kind, name)

    @translate_errors
    def close(self) -> None:
        """Close the store, if it was opened here."""
        if self._owns:
            self.db.close()

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    if not TYPE_CHECKING:  # A type checker should find an unknown name itself.

        def __getattr__(self, name: str) -> NoReturn:
            """Say which call an unknown name may mean."""
            meant = meant_call(name, (each for each in vars(Memory) if not each.startswith("_")))
            hint = f": call {meant}" if meant else ""
            raise AttributeError(f"'Memory' object has no attribute {name!r}{hint}", name=name, obj=self)

    def __repr__(self) -> str:
        return f"<worlddb.Memory of {self._label or 'the whole store'}>"

    @property
    def working(self) -> SessionMemory:
        """Recent messages of this session, for this user, kept beside the log until they expire.

        Without a ``session`` it is the user's own buffer. The guards of the user's world apply to it.
        """
        scope = Scope("", "", self.user or "", self.session or _OWN_SESSION)
        return SessionMemory(self.db.working, scope, self._guarded_world)

    def _guarded_world(self) -> str | None:
        if self._label is None:
            return None
        return next((each.ref for each in self._scopes.scopes(self.db.view(), self._label)), None)

    # -- writing

    @translate_errors
    def add(
        self,
        given: str | Mapping[str, Any] | Sequence[Any],
        *,
        about: str | Sequence[str] = (),
        type: str = "Fact",
        name: str = "",
        since: times.TimeLike | None = None,
        until: times.TimeLike | None = None,
        contradicts: Any = (),
        derived_from: Any = (),
        replaces: Any = (),
        source: Mapping[str, Any] | None = None,
        why: str = "",
        on_near: str = "note",
        expires_at: times.TimeLike | None = None,
        ttl: timedelta | float | None = None,
        labels: Iterable[str] = (),
        pinned: bool = False,
        properties: Mapping[str, Any] | None = None,
        idempotency_key: str | None = None,
    ) -> Added:
        """Write a statement, or the messages of a conversation, as one commit.

        A text is one memory, true from ``since`` (default: now) to ``until``. ``about`` names the persons and things
        that it is about, each a world of its own, or gives their ids. It may contradict, replace or be derived from
        memories. The result lists what it is ``near``. With ``on_near="propose"`` it is also linked by ``contradicts``
        to what cannot be true beside it, and with ``supersede_same_subject`` by ``supersedes`` to what it replaces, if
        both have the same subject.

        From ``expires_at`` on, or ``ttl`` (seconds, or a ``timedelta``) after now, the memory is hidden: no longer
        found, but still valid. Reads may filter by ``label`` and ``properties``, and ``pinned`` memories come first.
        What is sent again under its ``idempotency_key`` is written once, and has the first result. Keys are scoped to
        the user.

        Messages (``{"role": …, "content": …}``, or as LangChain and ShareGPT have them) are kept under the
        ``session``. A message with a known id or time is not written again, nor is the beginning of a list that
        repeats the whole session, or its last three messages or more. One or two messages without ids and times may say
        the same again: to retry these, give an id, a time or a key. Instructions to the model, its reasoning, and
        messages without a text are left out. A time up to a minute ahead of the clock counts as now, with a note.

        Raises:
            InputError: an argument is wrong; nothing was written.
            RefusedError: a rule of the engine forbids it; nothing was written.
        """
        self._check_present()
        check_statement_type(type)
        near_claims.check_on_near(on_near)
        source = _checked_source(source)
        labels, compared = _checked_labels(labels), _checked_properties(properties)
        limits.checked_line(name, "name", limits.MAX_NAME_BYTES)
        marks = {"expires_at": expires_at, "ttl": ttl, "labels": labels, "pinned": pinned, "properties": compared}
        if isinstance(given, str):
            limits.checked_text(given, "the text", limits.MAX_CONTENT_BYTES, nul=False)
            if limits.is_blank(given):
                raise errors.InputError("The text is blank", "Give one statement, understandable by itself")
            names = [limits.checked_line(each, "about", limits.MAX_NAME_BYTES) for each in _as_list(about)]
            named = {"contradicts": contradicts, "derived_from": derived_from, "supersedes": replaces}
            begins, own = None if since is None else times.parse_time(since, "since"), self._source(source)
            said = Statement(given, type, name, len(names), begins, until, own, why, on_near, marks, {})
            added = retry_while_changed(lambda: self._add_statement(said, names, named, idempotency_key))
            return self._with_slip_notes(added, derived_from, replaces, until)
        links = {"contradicts": contradicts, "derived_from": derived_from, "replaces": replaces}
        besides = {"about": about, "name": name, "until": until, **links}
        _refuse_with_messages({**besides, "type": type != "Fact", "on_near": on_near != "note"})
        messages = chat_session.messages_of(given)
        added = retry_while_changed(lambda: self._add_messages(messages, since, source, why, marks, idempotency_key))
        texts = [each.text for each in messages]
        added = added.with_notes(forgotten_notes(self.db, self._views, texts, added.ids, added.seq))
        return self._with_hidden_notes(added, expires_at, pinned)

    def _with_slip_notes(self, added: Added, derived_from: Any, replaces: Any, until: times.TimeLike | None) -> Added:
        """Add notes to the result on what may be meant otherwise than it was given."""
        bases = (self._find_text_memory(ref) for ref in _as_list(derived_from))
        notes = erased_basis_notes(bases)
        if until is not None and _as_list(replaces):
            end = times.format_time(times.parse_time(until, "until"))
            notes.append(f"What it replaces does not come back at {end}: add what holds from then on")
        return added.with_notes(notes)

    def _with_future_notes(self, added: Added, since: times.TimeLike | None) -> Added:
        """Add a note to the result if the memory begins in the future."""
        if since is None:
            return added
        return added.with_notes(future_start_notes([times.parse_time(since, "since")], self.db.view().valid))

    def _with_hidden_notes(self, added: Added, expires_at: times.TimeLike | None, pinned: bool) -> Added:
        """Add a note to the result if its deadline has passed."""
        if expires_at is None or pinned:
            return added
        return added.with_notes(already_hidden_notes(expires_at, self.db.view().valid))

    @translate_errors
    def correct(
        self,
        id: Any,
        text: str,
        *,
        since: times.TimeLike | None = None,
        until: times.TimeLike | None = None,
        about: str | Sequence[str] = (),
        replace_later: bool = False,
        why: str = "",
    ) -> Added:
        """Change what a memory says, from ``since`` to ``until``; before that it stays as it was.

        It stays about the same persons and things, unless ``about`` names others (as for :meth:`add`) for that time. A
        note names those that only the old text names.

        By default ``since`` is now, or the beginning of a memory that lies in the future.

        If no time is given and the text names its beginning ("from March on"), it begins then, and a note says so.
        Without ``until`` it ends where the memory ends or a later statement begins, unless ``replace_later`` is set.
        Of what was said without a time only the first text yields to a correction that begins before it.
        If the memory was never true, give the time at which it begins. With an earlier time it is found from
        ``since`` on, in the worlds in which it has lain since its beginning. The id stays, and so does a deadline,
        with a note if it has passed. An unchanged text is not written again, and a note says so.
        """
        self._check_present()
        if not isinstance(cast(Any, text), str) or limits.is_blank(text):
            raise errors.InputError(f"The text is {errors.shown(text)}", "Say what holds instead, or call forget")
        seen, found = self.db.head().seq, self._find_text_memory(id)
        names = [limits.checked_line(each, "about", limits.MAX_NAME_BYTES) for each in _as_list(about)]
        is_whole = since is until is None and not (replace_later or found.closed or names)
        if is_whole and is_same_text(found.content, text):
            notes = (
                f"{found.ref} says so already, so nothing was written",
                *still_hidden_notes(found, self.db.view().valid),
            )
            return Added(ids=(found.ref,), seq=self.db.head().seq, notes=notes)
        now, named = self.db.view().valid, tuple[str, ...]()
        if since is None and until is None and begin_named(found.content, found.valid.start) is None:
            since, named = named_beginning(
                text, now, "until then it says what it said; give since if that is not meant"
            )
            named = named or plan_notes(found, text, now)
        since = since if since is not None else self._future_start(found, now)
        begins = now if since is None else times.parse_time(since, "since")
        said = [each for each in self._versions(found.ref) if each.spans or each.valid.start < each.valid.end]
        self._refuse_if_over(found, said, since, now)
        is_open = until is None and not replace_later
        ends = _end_of_correction(said, begins, found, is_now=since is None) if is_open else until
        changes: dict[str, Any] = {"content": text, "valid_from": since, "valid_to": ends, "why": why}
        changes |= {"replace_later": replace_later, "source": self._source({})}
        besides = functools.partial(self._move_subjects, found.ref, names, begins, ends, why) if names else None
        receipt = revise_where_it_lies(self.db, found.ref, besides=besides, **changes)
        done = self._result(receipt, [found.ref])
        done = self._with_future_notes(done, since) if is_window_nonempty(begins, until) else done
        is_same = is_same_text(found.content, text) and ends in (None, found.valid.start)
        changed = [
            *named,
            *(earlier_start_notes(found.ref, begins, found.valid.start) if is_same else ()),
            *left_subject_notes(self.db.view(seq=receipt.seq), found, text, "give about if it is about somebody else"),
            *other_text_notes(self.db, found.ref, text, (begins, until), receipt, "give replace_later=True"),
            *displaced_notes(self.db.view(seq=receipt.seq), receipt, found.ref),
            *still_hidden_notes(found, now),
        ]
        changed += concurrent_change_notes(self.db, seen, receipt, found.ref)
        return done.with_notes(changed + self._same_words_notes(found, text))

    def _move_subjects(
        self, ref: str, names: list[str], begins: int, ends: times.TimeLike | None, why: str, look: View, tx: Any
    ) -> None:
        """Make a memory about others in a time, in the batch that revises it; before and after it stays as it was."""
        _, key = self._views_and_key(look)
        home = None if self._label is None else self._scopes.write_scope(tx, cast(ScopeKey, key))
        subjects = [self._entry(tx, key, home, each) for each in self._scopes.subjects(look, key, names)]
        until = times.FOREVER if ends is None else times.parse_time(ends, "until")
        for edge in look.edges(ref, type="refers_to", direction="out"):
            tx.unlink(edge.ref, why=why)
            for start, end in ((edge.valid.start, begins), (until, edge.valid.end)):
                if max(start, edge.valid.start) < min(end, edge.valid.end):
                    rest = None if end == times.FOREVER else end
                    tx.link(ref, "refers_to", edge.target, valid_from=start, valid_to=rest, why=why)
        for subject in subjects:
            tx.link(ref, "refers_to", subject, valid_from=begins, valid_to=ends, why=why)

    def _refuse_if_over(
        self, found: records.World, said: Sequence[records.Version], since: times.TimeLike | None, now: int
    ) -> None:
        """Refuse to correct from now on what has ended, with the name of what took its place."""
        last = max(said, key=lambda each: each.valid.end, default=found)
        if found.valid.end == times.FOREVER or since is not None or last.valid.end > now:
            return
        first, end = times.format_time(last.valid.start), times.format_time(last.valid.end)
        now_held = self._holding_instead(found.ref)
        told, instead = "", "add what holds now"
        if now_held is not None:
            told = f": {now_held.ref} took its place, and says {one_line(now_held.content)!r:.80}"
            instead = f"correct {now_held.ref}"
        raise errors.InputError(
            f"{found.ref} held until {end}, and not any more{told}",
            f"Give since and until for what it said then, such as since={first!r}, or {instead}",
        )

    def _same_words_notes(self, found: records.World, instead: str = "") -> list[str]:
        """Return notes that name the other memories which hold now and say what a memory said, or tell it."""
        how: dict[str, Any] = {"nobodys": self._label is None, "instead": instead}
        return same_words_notes(self._views_beside(found), found, _ALSO_FORGET, **how)

    def _future_start(self, found: records.World, now: int) -> int | None:
        """Return the beginning of a memory that lies in the future: a correction of a plan holds from there on."""
        if found.valid.start <= now or found.valid.start >= found.valid.end:
            return None
        begins = min(each.valid.start for each in self._versions(found.ref) if each.valid.start < each.valid.end)
        return begins if begins > now else None

    def _holding_instead(self, ref: str) -> records.World | None:
        """Return what holds now in place of a memory that was replaced, at any remove."""
        for view in self._views():
            known = [ref]
            for each in itertools.islice(known, MAX_IN_CHAIN):
                for edge in view.edges(each, type="supersedes", direction="in", include_superseded=True):
                    world = None if edge.source in known else view.get(edge.source)
                    if world is not None and not world.closed and has_statement(world):
                        return world
                    known += [] if edge.source in known else [edge.source]
        return None

    @translate_errors
    def contradict(self, one: Any, other: Any, *, why: str = "") -> Added:
        """Record that two memories cannot both be true. Both stay, and each is shown with the other.

        A repeated call writes nothing, and a note says so.
        """
        self._check_present()
        both = [self._find_text_memory(each) for each in (one, other)]
        refs = [each.ref for each in both]
        if refs[1] in with_conflicts(self._whole_view(), self._views(), both[:1])[0].conflicts:
            notes = (f"{refs[0]} and {refs[1]} are recorded as contradicting already, so nothing was written",)
            return Added(ids=tuple(refs), seq=self.db.head().seq, notes=notes)
        done = self._result(self.db.link(refs[0], "contradicts", refs[1], why=why), refs)
        ended = [f"{each.ref} holds no more, so no answer shows that" for each in both if each.closed]
        return done.with_notes(ended)

    @translate_errors
    def forget(
        self,
        id: Any,
        *,
        since: times.TimeLike | None = None,
        until: times.TimeLike | None = None,
        reason: str = "",
        everywhere: bool = False,
    ) -> Added:
        """End the validity of a memory (default: from now on). Nothing is erased: views of the past still show it.

        With ``until`` it holds again from then on. With ``everywhere`` also what says the same of the same
        subjects, word for word, ends now, as the message from which it was taken. A note names the rest of what may
        tell it, and all of it otherwise. To remove it from the files, use ``db.erase``, or :meth:`forget_user` for all
        of the user's data.
        """
        self._check_present()
        limits.checked_text(reason, "reason", limits.MAX_REASON_BYTES, nul=False)
        if limits.checked_flag(everywhere, "everywhere") and not (since is None and until is None):
            raise errors.InputError("Both a time and everywhere were given", "Leave one of them out")
        seen, found = self.db.head().seq, self._find_text_memory(id)
        if everywhere:
            how: dict[str, Any] = {"nobodys": self._label is None, "user": self._label.id if self._label else ""}
            same, telling, sure = said_elsewhere(self._views_beside(found), found, **how)
            with self.db.batch() as tx:
                for ref in (found.ref, *sure):
                    tx.retire(ref, why=reason)
            ended = [f"What says the same ended too: {', '.join(sure)}"] if sure else []
            left = [ref for ref in same if ref not in sure], {ref: telling[ref] for ref in telling if ref not in sure}
            ended += elsewhere_notes(*left, _ALSO_FORGET)
            return self._result(tx.receipt, [found.ref]).with_notes(ended)
        try:
            done = self.db.retire(found.ref, valid_from=since, valid_to=until, why=reason)
        except errors.InvalidInterval as error:
            if since is not None:
                raise
            begun = times.format_time(found.valid.start)
            raise errors.InvalidInterval(error.message, f"{error.remedy}; the memory holds from {begun} on") from None
        notes = [*concurrent_change_notes(self.db, seen, done, found.ref), *self._same_words_notes(found)]
        return self._result(done, [found.ref]).with_notes(notes)

    @translate_errors
    def expire(
        self, id: Any, *, expires_at: times.TimeLike | None = None, ttl: timedelta | float | None = None, why: str = ""
    ) -> Added:
        """Hide a memory from ``expires_at`` on, or ``ttl`` after now; see :meth:`Database.expire`.

        Entries of persons and things cannot be hidden; hide what is said of them.
        """
        self._check_present()
        self._find_text_memory(id)
        done = self._mark(id, lambda ref: self.db.expire(ref, expires_at=expires_at, ttl=ttl, why=why))
        return self._with_mark_notes(done, deadline=True)

    @translate_errors
    def unexpire(self, id: Any, *, why: str = "") -> Added:
        """Lift the deadline of a memory, also one that has passed: it is found again."""
        return self._mark(id, lambda ref: self.db.unexpire(ref, why=why))

    @translate_errors
    def label(self, id: Any, *labels: str, why: str = "") -> Added:
        """Add labels to a memory, by which ``recall`` can filter."""
        return self._with_mark_notes(self._mark(id, lambda ref: self.db.label(ref, *labels, why=why)))

    @translate_errors
    def unlabel(self, id: Any, *labels: str, why: str = "") -> Added:
        """Take labels off a memory."""
        return self._mark(id, lambda ref: self.db.unlabel(ref, *labels, why=why))

    @translate_errors
    def tag(self, id: Any, tag: str, *, version: int | None = None, why: str = "") -> Added:
        """Set a tag on a version of a memory, by default the one that holds now; see :meth:`Database.tag`."""
        return self._mark(id, lambda ref: self.db.tag(ref, tag, version=version, why=why))

    @translate_errors
    def untag(self, id: Any, tag: str, *, why: str = "") -> Added:
        """Remove a tag of a memory."""
        return self._mark(id, lambda ref: self.db.untag(ref, tag, why=why))

    @translate_errors
    def pin(self, id: Any, *, why: str = "") -> Added:
        """Pin a memory: it is always in ``context`` and ``profile``, first, and no deadline hides it."""
        return self._with_mark_notes(self._mark(id, lambda ref: self.db.pin(ref, why=why)))

    @translate_errors
    def unpin(self, id: Any, *, why: str = "") -> Added:
        """Take the pin off a memory."""
        return self._mark(id, lambda ref: self.db.unpin(ref, why=why))

    def _with_mark_notes(self, done: Added, *, deadline: bool = False) -> Added:
        return done.with_notes(mark_notes(self.db.view(), done.id, deadline=deadline))

    def _mark(self, id: Any, mark: Callable[[str], Any]) -> Added:
        self._check_present()
        ref = self._find_memory(id)[1].ref
        return self._result(mark(ref), [ref])

    @translate_errors
    def forget_user(self, *, reason: str, everywhere: bool = False) -> Receipt:
        """Erase all of the user's data from every file, for good; see :meth:`Database.forget_user`.

        That is what this front door or the MCP server wrote for the user, and no world of type ``User``.

        Raises:
            InputError: this memory is of no user, or nothing of them is there.
        """
        self._check_present()
        if self.user is None:
            raise errors.InputError(
                "This memory is of no user", "Open it with user=..., or call memory.db.forget_user(name)"
            )
        erase = functools.partial(erase_found, reason=reason, everywhere=everywhere, turns=True)
        try:
            return erase(self.db, self._scope_refs)
        except errors.UnknownReference:
            if self.db._begin_world_of_keys(self.user, None, reason, everywhere=everywhere):
                return erase(self.db, self._scope_refs)
            if (forgotten := self.db._forget_buffers(self.user)) is None:
                raise
            return forgotten

    def _scope_refs(self) -> list[str]:
        refs = self._scopes.refs_at_any_time(self.db.view(), cast(Label, self._label))
        if not refs:
            raise errors.UnknownReference(f"There is no user {self.user!r:.80} here", "Give the name as it was written")
        return refs

    # -- reading

    @translate_errors
    def as_of(self, valid: times.TimeLike | None = None, *, known: times.TimeLike | int | None = None) -> Memory:
        """Return the same memory as of a valid time, and with ``known`` as of what was known then.

        ``known`` is a time or the number of a commit.
        """
        if valid is None and known is None:
            raise errors.InputError("The moment is missing", "Give valid, known, or both")
        then = Memory(self.db, self.user, self.agent, self.session, owns=False)
        then._valid, then._known = valid, known
        then._views()
        return then

    @translate_errors
    def recall(self, /, question: str, *, k: int = 10, **asked: Any) -> records.Recall:
        """Find the ``k`` memories that answer a question best, best first; see :meth:`View.recall` for ``asked``.

        ``about``, ``speaker``, ``type``, ``label``, ``tag``, ``source``, ``properties``, ``since`` and ``until`` are
        among these filters. Mere names of people, things, sessions and scopes are left out. Of messages in the same
        words and of one speaker the best is a hit, and the note counts the others.
        """
        views, wanted = self._views(), limits.checked_number(k, "k", 1, 10_000)
        if views and self.db._due.await_vectors(views[0], asked.get("lanes", LANES)):
            views = self._views()
        asked |= {name: self._own_name(asked[name]) for name in ("about", "speaker") if name in asked}
        if not views:
            return msgspec.structs.replace(self._whole_view().recall("", k=k, **asked), note=self._empty_note())
        looked_at = wanted if len(views) == 1 else max(wanted, scope_widening.LOOKED_AT)
        answers = [self._recall_view(view, question, looked_at, asked) for view in views]
        if len(answers) == 1:
            return answers[0]
        at = views[0].valid if asked.get("asked") is None else times.parse_time(asked["asked"], "asked")
        found = joined(answers, wanted, question, at)
        hits = tuple(with_conflicts(self._whole_view(), views, found.hits))
        return msgspec.structs.replace(found, hits=hits, note=translate_wording(found.note))

    def _recall_view(self, view: View, question: str, wanted: int, asked: Mapping[str, Any]) -> records.Recall:
        found, _ = recall_statements(lambda k: view.recall(question, k=k, **asked), wanted)
        notes = [translate_wording(found.note)]
        if found.pending and self.db._models.any:
            texts = "1 text has" if found.pending == 1 else f"{found.pending} texts have"
            notes.append(
                f"{texts} no vector yet, as after a bundle or a write of the store's own, and words alone find them:"
                " call memory.db.embed()"
            )
        return msgspec.structs.replace(found, note="; ".join(filter(None, notes)))

    @translate_errors
    def context(
        self, /, question: str, *, max_tokens: int = 800, count: Count | None = None, **asked: Any
    ) -> PromptText:
        """Return what is known for a question as a text for a prompt: dated, sourced, and no longer than a budget.

        Pinned memories come first, whatever is asked. Then come the best memories that fit the budget, each text
        once, in the order of their beginnings, with contradictions and later statements about the same. The first
        that does not fit is shown without date and source if it then does; what scores less than two fifths of the best
        is shown only where all that scores more is. Of a memory
        longer than the budget comes a piece, with most of the question's words and marked as cut, in half of what is
        left. What is still to begin, and a best memory that begins after a past time in the question, are marked as
        such. Pinned memories, the best one and a later one that competes with it are shown without date and source, or
        as a piece, if they do not fit. The text's ``note`` says if perhaps nothing of it answers the question, else how
        many of the relevant memories did not fit or were shortened, and which ``max_tokens`` shows them all; of pinned
        ones it says so in any case. ``count`` counts the tokens of a text; the default assumes three bytes a token,
        which overestimates for common models. If nothing was found it is empty, and its ``note`` is that of the recall.
        """
        limits.checked_number(max_tokens, "max_tokens", 1, 10**9)
        limits.checked_callable(count, "count")
        found = self.recall(question, k=CONTEXT_HITS, **asked)
        return prompt_text(found, self._pinned(), count, max_tokens, self._whole_view(), question)

    @translate_errors
    def profile(self, *, limit: int = 50) -> Profile:
        """Return what is known and valid, by type, without a question and without a model.

        Pinned memories come first, then at most ``limit`` statements of each type, the newest first. Printed, a text of
        more than 1,000 characters is cut, which is marked. Summaries that consolidation made of what is listed are not.
        """
        limits.checked_number(limit, "limit", 1, 10_000)
        views = self._views()
        seen = {world.ref: (world, view) for view in views for world in view.find() if not world.erased}
        kinds: dict[str, list[records.World]] = {}
        counted = {extraction.TURN: 0, extraction.SESSION: 0}
        people: dict[str, int] = {}
        about: dict[str, set[str]] = {}
        for world, view in seen.values():
            if world.type in counted:
                is_begun = world.type == extraction.TURN or bool(view.find(world=world.ref, limit=1))
                counted[world.type] += is_begun
            elif world.type == ENTRY and not world.content:
                said = [edge.source for edge in view.edges(world.ref, type=ABOUT, direction="in")]
                said = [source for source in said if source in seen]
                people |= {world.name: people.get(world.name, 0) + len(said)} if said else {}
                for source in said:
                    about.setdefault(source, set()).add(world.name)
            elif has_statement(world) and world.type != SCOPE and not world.pinned:
                kinds.setdefault(world.type, []).append(_since_its_text(view, world))
        for worlds in kinds.values():
            # Memories of one commit, such as an import, stay in log order.
            worlds.reverse()
            worlds.sort(key=lambda world: (-world.valid.start, -world.seq))
        pinned = self._pinned()
        if SUMMARY in kinds:
            listed = {world.ref for worlds in kinds.values() for world in worlds[:limit]}
            listed |= {world.ref for world in pinned}
            whole = self._whole_view()
            kinds[SUMMARY] = [world for world in kinds[SUMMARY] if not is_summary_of(world, listed, whole)]
            kinds = {kind: worlds for kind, worlds in kinds.items() if worlds}
        left = 0
        for kind, worlds in kinds.items():
            left += max(0, len(worlds) - limit)
            kinds[kind] = (
                worlds[:limit] if len(views) < 2 else with_conflicts(self._whole_view(), views, worlds[:limit])
            )
        far = ((later_view(self.db, view, FAR), (view.valid + 1, None)) for view in views)
        ahead = (each for view, span in far for each in view._find_others(seen.keys(), span))
        to_begin = {each.ref for each in ahead if has_statement(each) and each.type not in counted and not each.erased}
        later, doubted = later_competitors(itertools.chain(pinned, *kinds.values()), about)
        return Profile(
            user=str(self.user or ""),
            at=(views[0] if views else self._whole_view()).valid,
            kinds={kind: tuple(worlds) for kind, worlds in sorted(kinds.items())},
            people=dict(sorted(people.items(), key=lambda each: (-each[1], each[0]))),
            sessions=counted[extraction.SESSION],
            messages=counted[extraction.TURN],
            left=left,
            pinned=tuple(pinned),
            later=later,
            doubted=doubted,
            to_begin=len(to_begin - seen.keys()),
            note=unlisted_note(counted, is_empty=not kinds and not pinned) if views else self._empty_note(),
        )

    @translate_errors
    def pinned(self) -> list[records.World]:
        """Return the pinned memories, oldest first."""
        return self._pinned()

    def _pinned(self) -> list[records.World]:
        views = self._views()
        found = {world.ref: world for view in views for world in view.pinned() if world.type != SCOPE}
        return [*found.values()] if len(views) < 2 else with_conflicts(self._whole_view(), views, found.values())

    @translate_errors
    def history(self, id: Any) -> list[records.Version]:
        """Return all versions of a memory and of those that it replaced or was replaced by, oldest first.

        With author, time of writing and validity.
        """
        view, found = self._find_memory(id)
        then = later_view(self.db, view, FAR)
        with suppress(errors.UnknownReference):  # It leaves the user's world before.
            then.reference_of(found.ref)
            view = then
        versions = [version for ref in replacement_chain(view, found.ref)[0] for version in view.history(ref)]
        return sorted(versions, key=lambda version: version.seq)

    aadd = _async_version(add)
    acorrect = _async_version(correct)
    acontradict = _async_version(contradict)
    aforget = _async_version(forget)
    aexpire = _async_version(expire)
    aunexpire = _async_version(unexpire)
    alabel = _async_version(label)
    aunlabel = _async_version(unlabel)
    atag = _async_version(tag)
    auntag = _async_version(untag)
    apin = _async_version(pin)
    aunpin = _async_version(unpin)
    apinned = _async_version(pinned)
    aforget_user = _async_version(forget_user)
    arecall = _async_version(recall)
    acontext = _async_version(context)
    aprofile = _async_version(profile)
    ahistory = _async_version(history)

    # -- the parts

    def _add_statement(
        self, said: Statement, about: list[str], linked: Mapping[str, Any], idempotency_key: str | None
    ) -> Added:
        (look, keyed), before = self._write_basis(idempotency_key), self.db.head().seq
        with self.db.reading():
            ends = {kind: [self._find_text_memory(ref).ref for ref in _as_list(refs)] for kind, refs in linked.items()}
            views, key = self._views_and_key(look)
            begun = "" if views else self._empty_note()
            mentioned = self._scopes.subjects(look, key, about)
        said = said._replace(subjects=len(mentioned), named=ends)
        told: dict[str, Any] = {"text": said.text, "since": said.since, "until": said.until}
        look_near = functools.partial(View._near_of_no_user if self._label is None else View.near, **told)
        named = [self._own_name(each.given) for each in mentioned] or None
        nearby = functools.partial(
            look_near, about=named, include_expired=is_past(said.marks["expires_at"], look.valid)
        )
        place = Place(
            look=look,
            nearby=[(view, nearby) for view in views],
            homes=lambda tx: [None if self._label is None else self._scopes.write_scope(tx, cast(ScopeKey, key))],
            entries=lambda tx, home: [self._entry(tx, key, home, each) for each in mentioned],
            ending=lambda old, _: f'add it again with replaces="{old}"',
            batch={**keyed, "rests_on": imported_scope_refs([key])},
            created={"resolve": "all" if said.name else False},
        )
        written = write_statement(self.db, said, place)
        receipt, refs = written.receipt, [written.ref]
        if receipt.seq > before and not written.is_restated:  # A repeated call gets its first result.
            self._move_if_ended(receipt, key, refs, said.since, views if receipt.seq == look.seq + 1 else ())
        done = self._result(receipt, refs, "" if written.is_restated else begun)
        done = msgspec.structs.replace(done, near=written.near, repeated=int(written.is_restated))
        return done.with_notes([*written.notes, *subject_notes(self._scopes, look, key, mentioned)])

    def _write_basis(self, idempotency_key: str | None) -> tuple[View, dict[str, Any]]:
        """Return the view that a write reads, and the arguments of its batch, under a key scoped to this user.

        A retry reads the state of the first attempt, so that it has the same result.
        """
        if idempotency_key is None:
            look = self.db.view()
            return look, {}
        limits.checked_text(idempotency_key, "idempotency_key", limits.MAX_KEY_BYTES, empty=False)
        own = memory_key("written", [str(self._label or "")], idempotency_key)
        look = view_for_write(self.db, own)
        return look, {"idempotency_key": own}

    def _seen_in(self, look: View) -> Memory:
        """Return the same memory as a view shows it."""
        then = Memory(self.db, self.user, self.agent, self.session, owns=False)
        then._valid, then._known = look.valid, look.seq
        return then

    def _add_messages(
        self,
        messages: Sequence[chat_messages.ChatMessage],
        at: times.TimeLike | None,
        source: dict[str, Any],
        why: str,
        marks: Mapping[str, Any],
        idempotency_key: str | None,
    ) -> Added:
        said, notes = chat_session.messages_to_keep(messages)
        (look, keyed), before = self._write_basis(idempotency_key), self.db.head().seq
        then = self if idempotency_key is None else self._seen_in(look)
        name, key = self.session or extraction.DEFAULT_SESSION, then._scope_key()
        session = ChatSession(name, self._scopes, self._label, key, then._views, self._source({}))
        held = session.find(said)
        notes += held.notes
        notes += [] if idempotency_key is None else session.unknown_key_notes(said, held.known)
        begun, fallback = then._first_write_note(), None if at is None else times.parse_time(at, "since")
        starts = [chat_session.start_of(each, fallback, look.valid) for each in said]
        later = chat_session.time_notes(said, starts, look.valid)
        if len(held.known) == len(said):
            return Added(ids=session.refs_of(said), seq=look.seq, repeated=len(said), notes=(*notes, *later))
        speakers = {chat_messages.USER: self.user, chat_messages.ASSISTANT: self.agent}
        new = NewMessages(
            said=[each for place, each in enumerate(said) if place not in held.known],
            speakers={role: name for role, name in speakers.items() if name},
            first=min((each for each in starts if each is not None), default=fallback),
            fallback=fallback,
            source=source,
            why=why,
            marks=marks,
        )
        receipt, made = session.write(new, look, keyed, held.homes)
        if receipt.seq > before:  # A repeated call gets its first result.
            self._move_if_ended(receipt, key, [receipt.refs[position] for position in made], None)
        entries = self.db.log(receipt.seq, receipt.seq)
        written = {entry.refs[0]: entry.event for entry in entries if entry.refs} if receipt.events else {}
        # Two messages with one identity are one message.
        refs = list(dict.fromkeys(receipt.refs[position] for position in made))
        again = len(held.known) + len(made) - len(refs) + sum(ref not in written for ref in refs)
        changed = [ref for ref in refs if written.get(ref) == "revised"]
        notes += repeated_messages.changed_text_notes(changed, _NEW_VERSION)
        done = self._result(receipt, refs, begun)
        return msgspec.structs.replace(done, repeated=again, notes=(*notes, *done.notes, *later))

    def _move_if_ended(
        self, receipt: Any, key: Any, refs: Sequence[str], begins: int | None, known: Sequence[View] = ()
    ) -> None:
        """Write into the user's next scope if another process has meanwhile ended this one.

        ``known`` are the user's worlds if nobody else has written since they were looked up.
        """
        home = imported_scope_ref(key) or receipt.refs[0]
        if self._label is None or not receipt.events or home in [each.world for each in known]:
            return
        if home not in [each.world for each in self._views()]:
            self._scopes.move_to_new_scope(key, refs, begins)

    def _scope_key(self) -> ScopeKey | tuple[str, ...]:
        return ("memory",) if self._label is None else self._scopes.key(self._whole_view(), self._label)

    def _entry(self, tx: Any, key: Any, home: Any, subject: Subject) -> Any:
        """Return the world of whom a statement is about."""
        if not subject.name:
            raise errors.InputError("A name in about is blank", "Give the name of a person or thing, or leave it out")
        return self._scopes.write_subject(tx, key, home, subject, self._source({}))

    def _own_name(self, given: Any) -> Any:
        """Return names in which the user's own name has the spelling used here, however it is capitalised."""

        def own(name: Any) -> Any:
            is_own = isinstance(name, str) and self.user is not None and folded(name) == folded(self.user)
            return self.user if is_own else name

        return [own(each) for each in given] if isinstance(given, list | tuple) else own(given)

    def _source(self, given: Mapping[str, Any]) -> dict[str, Any]:
        own = {"channel": "memory", "agent": self.agent, "session": self.session}
        return {**given, **{name: value for name, value in own.items() if value}}

    def _result(self, receipt: Any, refs: Sequence[str], begun: str = "") -> Added:
        receipt.raise_if_refused()
        embed_new(self.db)
        views = self._views() if receipt.proposals or receipt.notes else []
        proposals = [
            ref for ref in receipt.proposals if not views or any(is_visible(view.proposal, ref) for view in views)
        ]
        receipt_notes = receipt.notes
        if views and self._label is not None:
            inside = (notes_inside(receipt_notes, view, functools.partial(self._is_seen, view)) for view in views)
            receipt_notes = tuple(dict.fromkeys(note for notes in inside for note in notes))
        notes = [*filter(None, [begun]), *(translate_wording(str(note)) for note in receipt_notes)]
        return Added(ids=tuple(refs), seq=receipt.seq, proposals=tuple(proposals), notes=tuple(notes))

    def _is_seen(self, view: View, ref: str) -> bool:
        """True if a user's world has a memory now or in the future."""
        return any(is_visible(look.reference_of, ref) for look in (view, later_view(self.db, view, FAR)))

    def _first_write_note(self) -> str:
        """Return a note if the user has no memories yet (a misspelt name?) or their world ended."""
        return "" if self._views() else self._empty_note()

    def _empty_note(self) -> str:
        # The note must not reveal other users.
        with suppress(errors.UnknownReference):  # Nothing had been committed by then.
            ended = None if self._label is None else self._scopes.ended(self._whole_view(), self._label)
            if ended is not None:
                return (
                    f"The world of {one_line(str(self._label))} ended at {times.format_time(ended.valid.end)}:"
                    f" as of before it is read, reassert of {ended.ref} resumes it, and what is added begins anew"
                )
        label = cast(Label, self._label)
        if self._is_past and self._scopes.scopes(self.db.view(), label, include_retired=True):
            return f"Nothing was known for {one_line(str(label))} at that moment"
        return unwritten_note(label)

    @property
    def _is_past(self) -> bool:
        return self._valid is not None or self._known is not None

    def _check_present(self) -> None:
        if self._is_past:
            raise errors.InputError("This is the memory as of a past moment", "Write to the memory of now")

    def _whole_view(self, world: str | None = None) -> View:
        if isinstance(self._known, int) and not isinstance(self._known, bool) and self._known < 10**9:
            return self.db.view(valid=self._valid, seq=self._known, world=world)
        return self.db.view(valid=self._valid, ingested=self._known, world=world)

    def _views(self) -> list[View]:
        """Return the views of the user's worlds: usually one, none before the first write.

        There are several after a bundle with the same user was imported or an ended world was resumed.
        """
        if self._label is None:
            return [self._whole_view()]
        with suppress(errors.UnknownReference):  # Nothing had been committed by then.
            view = self._whole_view()
            return [self._whole_view(scope.ref) for scope in self._scopes.scopes(view, self._label)]
        return []

    def _views_beside(self, found: records.World) -> list[View]:
        """Return the views of what lies beside a memory: of an agent's world, which users may share, its owner's."""
        views = self._views()
        if self._label is None or self._label.kind == "user":
            return views
        users = self._whole_view()._users_of(found.ref)
        return [view._for_users(users) for view in views]

    def _views_and_key(self, look: View) -> tuple[list[View], ScopeKey | tuple[str, ...]]:
        """Return the views of the user's worlds, and the key of the one to write to, by a look at the present."""
        if self._label is None:
            return [look], ("memory",)
        known = self._scopes.scopes(look, self._label, include_retired=True)
        views = [self.db._inside(look, each.ref) for each in known if not each.closed]
        return views, self._scopes.key_after(look, self._label, known)

    def _find_memory(self, id: Any) -> tuple[View, records.World]:
        """Return a memory of this user, whether it holds or not, and a view that sees it.

        Raises:
            UnknownReference, AmbiguousReference: there is none; several begin so.
        """
        given = id.id if isinstance(id, Added) else id
        unknown = errors.UnknownReference(f"There is no memory {errors.shown(given)}", self._empty_note())
        seen: dict[str, tuple[View, records.World]] = {}
        for look in self._views():
            # A plan is not in the user's world yet, so it is looked up at its own time.
            for view in (look, later_view(self.db, look, FAR)):
                try:
                    # Without a user, a name alone must not find a user's memory.
                    ref = view._reference_to_write(given) if self._label is None else given
                    found = view.get(ref, include_superseded=True)
                except errors.UnknownReference as error:
                    unknown = error
                    continue
                assert found is not None, "a known world has a newest version"
                seen.setdefault(found.ref, (view, found))
                break
        if not seen:
            raise unknown
        if len(seen) > 1:
            raise errors.AmbiguousReference(
                f"{errors.shown(given)} is the beginning of {len(seen)} memories",
                f"Give more of it: {', '.join(seen)}",
                candidates=[*seen],
            )
        view, found = seen.popitem()[1]
        if found.type in HOLDERS:
            raise errors.InputError(f"{found.ref} contains memories and is none", "Give the id of a memory")
        return view, found

    def _versions(self, ref: str) -> list[records.Version]:
        """Return the versions of one memory alone, oldest first."""
        view, found = self._find_memory(ref)
        return view.history(found.ref)

    def _find_text_memory(self, id: Any) -> records.World:
        """Return a memory with a text, which is not the entry of a person or thing."""
        view, found = self._find_memory(id)
        if found.type == ENTRY and not found.content and not found.erased:
            sources = (edge.source for edge in view.edges(found.ref, type=ABOUT, direction="in"))
            about = [world for ref in itertools.islice(sources, _MAX_NAMED) if (world := view.get(ref)) is not None]
            known = ", ".join(f"{world.ref[:12]} {errors.shown(one_line(world.content))}" for world in about)
            raise errors.InputError(
                f"{errors.shown(id)} is the name of a person or thing, which says nothing",
                f"Give the id of a memory; about it: {known}" if known else "Give the id of a memory",
            )
        return found


def _end_of_correction(
    said: Sequence[records.Version], begins: int, found: records.World, *, is_now: bool
) -> int | None:
    """Return the end of a correction that states none, so that later ones stay; ``None`` if the engine ends it there.

    That is the end of a memory that has one, or where a later text begins whose start nobody stated, or a gap before
    that. Before all that was said the first such text is what is corrected. A correction from ``is_now`` on is later
    than all of them, though others may write such texts while it is written.
    """
    later = sorted((each.valid.start, each.start) for each in said if each.valid.start > begins)
    last = max((each.valid.end for each in said), default=found.valid.end)
    ends = [last] if begins < last < times.FOREVER else []
    ends += [start for start, how in later if ends and how == "stated"]
    holds_from = begins
    if later and len(later) == len(said) and later[0][1] == "defaulted":
        holds_from, later = later[0][0], later[1:]
    if later and later[0][1] == "defaulted" and not is_now:
        reach = holds_from
        for span in sorted((span for each in said for span in each.spans or (each.valid,)), key=lambda one: one.start):
            reach = span.end if span.start <= reach < span.end else reach
        ends += [later[0][0], *([reach] if reach > holds_from else [])]
    return min(ends, default=None)


def _refuse_with_messages(for_statements: Mapping[str, object]) -> None:
    """Check that no argument for a statement was given with messages.

    Raises:
        InputError: one was.
    """
    given = [name for name, value in for_statements.items() if value]
    if given:
        raise errors.InputError(
            f"Arguments for a statement were given with messages: {', '.join(given)}",
            "Leave them out, or add the statement with a call of its own",
        )


def _checked_source(given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return a source without the fields that the memory sets itself."""
    if given is not None and not isinstance(given, Mapping):
        raise errors.InputError(f"source is {errors.shown(given)}", 'Give fields, such as {"file": "notes.md"}')
    source = dict(given or {})
    reserved = [name for name in RESERVED_FIELDS if name in source]
    if reserved:
        raise errors.InputError(f"source has {reserved[0]}, which the memory says itself", "Call the field otherwise")
    return source


def _checked_properties(properties: Any) -> dict[str, Any] | None:
    if not isinstance(properties, Mapping | None):
        raise errors.InputError(f"properties is {errors.shown(properties)}", 'Give values, such as {"priority": 2}')
    return None if properties is None else dict(properties)


def _checked_labels(given: Any) -> list[str]:
    """Return labels as a list.

    Raises:
        InputError: they are no list of texts.
    """
    if isinstance(given, Mapping):
        raise errors.InputError(
            f"labels is {errors.shown(given)}, which has a value for each",
            'Give a list such as ["work"], or properties',
        )
    if isinstance(given, str):
        raise errors.InputError(
            f"labels is {errors.shown(given)}, one text", 'Give a list, also of one, such as ["work"]'
        )
    labels = limits.checked_list(given, "labels")
    for place, label in enumerate(labels):
        if not isinstance(label, str):
            raise errors.InputError(f"labels[{place}] is {errors.shown(label)}, not text", 'Give texts, such as "work"')
    return sorted(labels) if isinstance(given, Set) else labels


def _since_its_text(view: View, world: records.World) -> records.World:
    """Return a world that holds from where it began to say the same without a gap, as hits do."""
    start = lineage.start_of_text(view.coalesced(world.ref), world.number, world.valid.start)
    return msgspec.structs.replace(world, valid=records.Valid(start, world.valid.end))


def _as_list(refs: Any) -> list[Any]:
    return [*refs] if isinstance(refs, list | tuple) else [refs]


joined: Final = scope_widening.merge_user_answers
"""Joins the answers of a user's several worlds."""
LOOKED_AT: Final = scope_widening.LOOKED_AT
"""The number of hits that each of these answers needs at least."""
