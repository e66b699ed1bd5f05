"""Reads messages of chats, in the shapes in which models and frameworks exchange them, as turns.

These are role and content (OpenAI, Anthropic), from and value (ShareGPT), and objects with a type and a content
(LangChain). Nothing is guessed: a message that cannot be read is refused with its position.
"""

import json
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, Final, NamedTuple

from worlddb.log.model import errors, limits, times
from worlddb.reconciler.ingest.extraction import Turn

USER, ASSISTANT = "user", "assistant"
INSTRUCTIONS: Final = ("system", "developer")
"""Roles of what is said to a model and by nobody in the conversation."""
_ROLES: Final = {"human": USER, "ai": ASSISTANT, "gpt": ASSISTANT, "model": ASSISTANT, "bot": ASSISTANT}
_TIMES: Final = ("timestamp", "created_at", "create_time", "createdAt", "time", "date", "at")
_IDS: Final = ("id", "uuid", "message_id")
_TEXTS: Final = ("text", "input_text", "output_text", "refusal", "thinking")
_JSON: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
MAX_PARTS_DEEP: Final = 8
"""Parts of a content inside one another, such as the texts of a tool's result."""
_BY_UNIT: Final = ((10**11, 1_000_000), (10**14, 1_000))
"""Numbers below the first are seconds since 1970 (until 5138), below the second milliseconds, else microseconds."""


class Message(NamedTuple):
    """A message: who said it, as its role says, the text, when it was said if that is told, and its own id."""

    role: str
    text: str
    at: times.TimeLike | None
    id: str

    def turn(self, speakers: Mapping[str, str]) -> Turn:
        """Return it as a turn; ``speakers`` names who has a role, if it is not to be called by that."""
        source = {"role": self.role} | ({"message": self.id} if self.id else {})
        return Turn(text=self.text, speaker=speakers.get(self.role, self.role), at=self.at, source=source)


def is_message(given: object) -> bool:
    """Return whether a value has the shape of a message, and not that of a turn."""
    if isinstance(given, Mapping):
        return "role" in given or ("from" in given and "value" in given)
    return isinstance(getattr(given, "type", None), str) and hasattr(given, "content")


def as_turns(given: object) -> object:
    """Return a list with its messages as turns, and all else as it was given."""
    if not isinstance(given, list | tuple):
        return given
    return [
        _message(each, f"turns[{place}]").turn({}) if is_message(each) else each for place, each in enumerate(given)
    ]


def messages_of(given: object) -> list[Message]:
    """Read a message or a list of them.

    Raises:
        InputError: something is no message, or has a content that nobody can read.
        InvalidTime: a message has a time that cannot be read, or one without an offset.
    """
    listed = [given] if is_message(given) else given
    if isinstance(listed, str | bytes) or not isinstance(listed, Sequence):
        raise errors.InputError(
            f"{errors.shown(given)} is no list of messages", 'Give messages such as {"role": "user", "content": "…"}'
        )
    return [_message(each, f"messages[{position}]") for position, each in enumerate(listed)]


def _message(given: Any, place: str) -> Message:
    if not is_message(given):
        raise errors.InputError(f"{place} is {errors.shown(given)}", 'Give {"role": "user", "content": "…"}')
    if not isinstance(given, Mapping):
        fields = ("type", "content", "tool_calls", "name", *_TIMES, *_IDS)
        given = {name: getattr(given, name) for name in fields if getattr(given, name, None) is not None}
    role = given.get("role", given.get("from", given.get("type")))
    if not isinstance(role, str) or not role.strip():
        raise errors.InputError(f"{place}.role is {errors.shown(role)}", f"Give {USER!r} or {ASSISTANT!r}")
    parts = [*_texts(given.get("content", given.get("value")), f"{place}.content")]
    calls = given.get("tool_calls") or ()
    if not isinstance(calls, list | tuple):
        raise errors.InputError(f"{place}.tool_calls is {errors.shown(calls)}", "Give a list of calls")
    parts += [_called(call, f"{place}.tool_calls") for call in calls]
    found = next((given[name] for name in _IDS if isinstance(given.get(name), str | int)), "")
    text = "\n".join(part.strip() for part in parts if part.strip())
    limits.checked_text(text, f"{place}.content", limits.MAX_CONTENT_BYTES)
    known = limits.checked_text(role.strip().lower(), f"{place}.role", limits.MAX_TYPE_BYTES)
    own = limits.checked_text(str(found), f"{place}.id", limits.MAX_TYPE_BYTES)
    return Message(_ROLES.get(known, known), text, _time(given, place), own)


def _texts(content: Any, place: str, depth: int = 0) -> list[str]:
    """Return the texts of a content; what is no text is named by its kind."""
    if content is None:
        return []
    if depth > MAX_PARTS_DEEP:
        raise errors.InputError(f"{place:.200} lies too deep", f"Give parts inside one another {MAX_PARTS_DEEP} deep")
    if isinstance(content, str):
        return [content]
    if isinstance(content, Mapping):
        content = [content]
    if not isinstance(content, Sequence) or isinstance(content, bytes):
        raise errors.InputError(f"{place} is {errors.shown(content)}", "Give a text, or a list of parts")
    return [text for position, part in enumerate(content) for text in _part(part, f"{place}[{position}]", depth + 1)]


def _part(part: Any, place: str, depth: int) -> list[str]:
    if isinstance(part, str):
        return [part]
    kind = part.get("type") if isinstance(part, Mapping) else None
    if not isinstance(kind, str):
        raise errors.InputError(f"{place} is {errors.shown(part)}", 'Give a part such as {"type": "text", "text": "…"}')
    if kind in _TEXTS:
        return _texts(part.get("text", part.get(kind)), f"{place}.text", depth)
    if kind in ("tool_use", "function_call"):
        return [_called(part, place)]
    if kind in ("tool_result", "function_call_output"):
        return _texts(part.get("content", part.get("output")), f"{place}.content", depth)
    return [f"[{kind.removeprefix('input_').removesuffix('_url')}]"]


def _called(call: Any, place: str) -> str:
    """Return the call of a tool as a text."""
    if not isinstance(call, Mapping):
        raise errors.InputError(f"{place} is {errors.shown(call)}", "Give the calls as the model's answer has them")
    function = call.get("function")
    named = function if isinstance(function, Mapping) else call
    given = named.get("arguments", named.get("input", named.get("args", "")))
    try:
        written = given if isinstance(given, str) else _JSON.encode(given)
    except (TypeError, ValueError, RecursionError) as error:
        raise errors.InputError(f"{place} has arguments that JSON cannot hold: {error}", "Give them as text") from None
    return f"[calls {named.get('name', 'a tool')}({written})]"


def _time(given: Mapping[str, Any], place: str) -> times.TimeLike | None:
    name = next((name for name in _TIMES if given.get(name) is not None), None)
    if name is None:
        return None
    value = given[name]
    if isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value):
        unit = next((unit for below, unit in _BY_UNIT if abs(value) < below), 1)
        return times.parse_time(round(value * unit), f"{place}.{name}")
    return times.parse_time(value, f"{place}.{name}")
