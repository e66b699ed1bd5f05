"""Working memory: recent messages of sessions, kept beside the log until they expire."""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from worlddb.log.model import clock, errors, limits
from worlddb.log.redaction import credentials
from worlddb.log.working import message_buffers as buffers
from worlddb.projections.tables.names.canonical import compose_name, normalise_name
from worlddb.reconciler.ingest import chat_messages

TTL_SECONDS: Final = 3_600
DEFAULT_MESSAGES: Final = 50
MAX_MESSAGES: Final = 10_000
MAX_SCOPE_BYTES: Final = 1_024
_SECOND: Final = 1_000_000
MAX_TTL_SECONDS: Final = 7 * 86_400

Message = buffers.WorkingMessage
Guarded = Callable[[Any, str, Mapping[str, str]], str]
"""What may be kept of a text for a world, by the names of its buffer: the text, or it without personal data."""


@limits.typed_calls
class WorkingMemory:
    """Buffers of messages, one for each (project, context, user, session), beside the log.

    A message is gone ``ttl`` seconds after it was added (default: an hour), or once ``most`` others (default: 50) came
    behind it: from every answer at once, and from every file within a minute while a process that uses working memory
    has the store open, else at its next opening. No hash covers it, and no log, backup, bundle or export has it.

    What guards credentials and personal data in texts for ``world`` (default: the store) guards messages too.
    """

    def __init__(self, folder: Path, time: clock.Clock, guarded: Guarded) -> None:
        self._buffers = buffers.open_buffers(folder, time)
        self._folder, self._time, self._guarded = folder, time, guarded

    def add(
        self,
        content: str,
        *,
        session: str,
        user: str = "",
        project: str = "",
        context: str = "",
        role: str = "user",
        ttl: float = TTL_SECONDS,
        most: int = DEFAULT_MESSAGES,
        world: Any = None,
    ) -> int:
        """Add a message to a session's buffer; returns the number of its messages.

        Raises:
            InvalidText: it says nothing, or is too long.
            InputError: ``role`` is not one word, or a misspelt role.
            UnknownReference, AmbiguousReference: ``world`` is not known, or fits several.
            RefusedError: it holds a credential, where these are enforced; ``details["reason"]`` is
                ``credential_rejected``.
            UnavailableError: the buffers are full, or cannot be written to.
        """
        scope = _scope(project, context, user, session)
        limits.checked_text(content, "content", buffers.MAX_MESSAGE_BYTES, empty=False)
        if not _ROLE.fullmatch(limits.checked_text(role, "role", limits.MAX_TYPE_BYTES, empty=False)):
            raise errors.InputError(
                f"role is {errors.shown(role)}", "Give one word of letters, such as user, assistant or tool"
            )
        chat_messages.checked_role(role, "role", "begin it with a capital letter")
        limits.checked_number(most, "most", 1, MAX_MESSAGES)
        lasts = int(limits.checked_amount(ttl, "ttl") * _SECOND)
        if not 0 < lasts <= MAX_TTL_SECONDS * _SECOND:
            raise errors.InputError(f"ttl is {ttl}", f"Give seconds above 0 and up to {MAX_TTL_SECONDS:,}")
        kept = self._guarded(world, content, {**scope._asdict(), "role": role})
        now = self._time.now()
        return self._buffers.add(buffers.WorkingMessage(*scope, role, kept, now, now + lasts), most)

    def get(
        self, *, session: str, user: str = "", project: str = "", context: str = "", last: int | None = None
    ) -> tuple[Message, ...]:
        """A session's unexpired messages, oldest first; with ``last`` only that many of the newest."""
        found = self._buffers.get(_scope(project, context, user, session))
        if last is not None:
            found = found[-limits.checked_number(last, "last", 1, MAX_MESSAGES) :]
        return tuple(found)

    def clear(
        self,
        *,
        session: str | None = None,
        user: str | None = None,
        project: str | None = None,
        context: str | None = None,
    ) -> int:
        """Remove all matching messages, or all there are, from every file; returns their number."""
        named = (("session", session), ("user", user), ("project", project), ("context", context))
        wanted = {name: limits.checked_text(text, name, MAX_SCOPE_BYTES) for name, text in named if text is not None}
        called = {name: compose_name(text) for name, text in wanted.items()}
        return self._buffers.clear(
            lambda each: all(compose_name(getattr(each, name)) == text for name, text in called.items())
        )

    def count_of_user(self, name: str) -> int:
        """The number of a user's messages in all sessions; ``name`` may be their scope's, ``user:NAME``."""
        users = {compose_name(each) for each in (name, name.removeprefix("user:"))} - {""}
        return self._buffers.count(lambda each: compose_name(each.user) in users)

    def forget(self, texts: Sequence[str], names: Sequence[str] = (), beside: Sequence[str] = ()) -> int:
        """Remove messages with an erased text, and all of an erased user or session; returns their number.

        ``names`` are those of the erased worlds; the scope of a user is called ``user:NAME``. ``beside`` is what was
        said of them beside their texts. All are compared without case, and with blanks alike.
        """
        users = {compose_name(each) for name in names for each in (name, name.removeprefix("user:"))} - {""}
        spoken = (text.partition(": ")[2] for text in texts)
        erased = {normalise_name(text) for text in (*texts, *spoken, *beside)} - {""}
        long = [text for text in map(normalise_name, texts) if len(text) >= _LONG]
        long += [text for text in map(normalise_name, beside) if len(text) >= _LONG_BESIDE]

        def says(message: str) -> bool:
            said = normalise_name(message)
            return said in erased or any(text in said for text in long)

        return self._buffers.clear(lambda each: compose_name(each.user) in users or says(each.content))

    def sweep(self) -> int:
        """Remove expired messages from every file now; returns their number."""
        return self._buffers.sweep()

    def close(self) -> None:
        """Close the buffers."""
        buffers.release_buffers(self._folder)


@limits.typed_calls
class SessionMemory:
    """The working memory of one session: :class:`WorkingMemory` with a fixed scope."""

    def __init__(self, working: WorkingMemory, scope: buffers.Scope, world: Callable[[], Any]) -> None:
        self._working, self._scope, self._world = working, scope._asdict(), world

    def add(self, content: str, *, role: str = "user", ttl: float = TTL_SECONDS, most: int = DEFAULT_MESSAGES) -> int:
        """Add a message; returns the number of messages. See :meth:`WorkingMemory.add`."""
        return self._working.add(content, role=role, ttl=ttl, most=most, world=self._world(), **self._scope)

    def get(self, *, last: int | None = None) -> tuple[Message, ...]:
        """The unexpired messages, oldest first."""
        return self._working.get(last=last, **self._scope)

    def clear(self) -> int:
        """Remove all messages of the session from every file; returns their number."""
        return self._working.clear(**self._scope)


_ROLE: Final = re.compile(r"[^\W\d_][\w.-]*")
"""A role is a word: with a line end or a colon in it, it could pass for another message."""
_LONG: Final = 8
"""An erased text of that many characters goes from messages that hold more than it, too."""
_LONG_BESIDE: Final = 16
"""The same of a property, a reason or a label, which may be a common word."""


def _scope(project: str, context: str, user: str, session: str) -> buffers.Scope:
    named = (("project", project), ("context", context), ("user", user), ("session", session))
    for name, text in named:
        limits.checked_text(text, name, MAX_SCOPE_BYTES, empty=name != "session")
    return buffers.Scope(*(compose_name(text) for _, text in named))


def refuse_credentials(said: Mapping[str, str]) -> None:
    """Refuse a message with a credential in its text or in a name of its buffer.

    Raises:
        RefusedError: with its place, and not with it.
    """
    for place, text in said.items():
        for found in credentials.find_credentials(text):
            raise errors.RefusedError(
                f"The {place} holds what looks like a credential ({found.kind}) at characters {found.start} to"
                f" {found.end}",
                "Leave it out; if it is not one, or has to stay, guard the world with credentials='warn'",
                reason="credential_rejected",
            )
