"""Read chat messages, in the shapes of models and frameworks, as turns.

These are role and content (OpenAI, Anthropic), from and value (ShareGPT), LangChain's objects and what it writes of
them (``messages_to_dict``, ``dumpd``, ``model_dump``), the items of OpenAI's responses and agents SDK, the messages of
Pydantic AI and LlamaIndex, and those of the exports of ChatGPT (author and content) and Claude (sender and text).
Nothing is guessed: a message that cannot be read is refused with its position. What a model only thought is no part of
what was said: it is counted, and its text is left out.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import isfinite
from typing import Any, Final, NamedTuple

from worlddb.log.model import errors, limits, times
from worlddb.reconciler.ingest.extraction import Turn

USER, ASSISTANT = "user", "assistant"
INSTRUCTIONS: Final = ("system", "developer")
"""Roles of instructions to a model, which are no part of the conversation."""
_ROLES: Final = {
    **dict.fromkeys(("human", "humanmessage", "humanmessagechunk"), USER),
    **dict.fromkeys(("ai", "gpt", "chatgpt", "model", "bot", "aimessage", "aimessagechunk"), ASSISTANT),
    **dict.fromkeys(("systemmessage", "systemmessagechunk"), "system"),
    **dict.fromkeys(("toolmessage", "toolmessagechunk", "function", "functionmessage"), "tool"),
}
"""Other names of roles, LangChain's classes included."""
_KNOWN: Final = frozenset({*_ROLES, *_ROLES.values(), *INSTRUCTIONS, "chat"})
_SPELT: Final = (USER, ASSISTANT, *INSTRUCTIONS, "tool", "human", "model", "function")
"""Roles whose misspellings are told; those with fewer letters are near too many names."""
_PEOPLE: Final = frozenset(("usher", "huma", "numan", "hyman", "toole"))
"""People's names that are nearly a role."""
_SETTINGS: Final = ("user_editable_context", "model_editable_context")
"""Contents in ChatGPT's export that hold what its user asked it to be told at all times."""
_TO_ALL: Final = ("all", "assistant", "user")
"""Recipients of messages that are no calls of tools."""
_TOLD_IN: Final = ("parts", "text", "result", "content", "summary")
"""The fields of ChatGPT's contents with the text; the first one present counts."""
_TIMES: Final = ("timestamp", "created_at", "create_time", "createdAt", "time", "date", "at", "ts")
_SINCE_1970: Final = re.compile(r"1(?:[0-9]{9}(?:\.[0-9]{1,9})?|[0-9]{12}|[0-9]{15})")
"""Seconds, milliseconds or microseconds of 2001 to 2033 that were written as a text; no date is written so."""
_HOLD: Final = ("messages", "conversations")
"""The fields with the messages of a model request, a graph's state, and ShareGPT's chats."""
_IDS: Final = ("id", "uuid", "message_id")
_NO_ID: Final = "__fake_id__"
"""The id that OpenAI's agents SDK writes if a model gives none."""
_TEXTS: Final = ("text", "input_text", "output_text", "summary_text", "refusal")
_THOUGHTS: Final = ("thinking", "redacted_thinking", "reasoning", "thoughts", "reasoning_recap")
"""Kinds of parts and contents that are a model's reasoning."""
_CALLS: Final = ("tool_use", "tool_call", "function_call")
_CALL_RESULTS: Final = ("tool_result", "function_call_output")
_READ: Final = frozenset((*_TEXTS, *_THOUGHTS, *_CALLS, *_CALL_RESULTS))
"""The kinds of parts of which more is kept than their kind."""
_HOLDING: Final = frozenset(
    ("content", "value", "blocks", "parts", "tool_calls", "function_call", "refusal", "audio", "thinking", "reasoning")
)
"""The fields in which a message has what was said, called or thought; without any it is none."""
_RUN: Final = ("request", "response")
"""Kinds of Pydantic AI's messages, each with the parts that several said."""
_PARTS: Final = {"system-prompt": "system", "user-prompt": USER}
"""Who says a part of a request; all others are answers of tools."""
_JSON: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
MAX_PARTS_DEEP: Final = 8
"""Parts of a content inside one another, such as the texts of a tool's result."""
_BY_UNIT: Final = ((10**11, 1_000_000), (10**14, 1_000))
"""Numbers below the first are seconds since 1970 (until 5138), below the second milliseconds, else microseconds."""


class ChatMessage(NamedTuple):
    """A message: its role, text, time if given, and id.

    ``name`` is what a user or a model of several is called, if the message says so. ``thoughts`` counts the parts that
    a model thought and did not say, which are not in the text; ``unread`` those that are no text, such as images, of
    which only the kind is.
    """

    role: str
    text: str
    at: times.TimeLike | None
    id: str
    name: str = ""
    thoughts: int = 0
    unread: int = 0

    @property
    def is_instruction(self) -> bool:
        """True if it instructs the model and is not part of the conversation."""
        return self.role in INSTRUCTIONS

    @property
    def speaker(self) -> str:
        """The speaker: the name, else the role."""
        return self.name or self.role

    def turn(self, speakers: Mapping[str, str]) -> Turn:
        """Return it as a turn; ``speakers`` maps roles to speakers' names.

        A user's message says with its name that another person spoke. A model's name is kept in the source.
        """
        is_other = self.role == USER and self.name
        speaker = self.speaker if is_other else speakers.get(self.role, self.speaker)
        source = {"role": self.role} | ({"message": self.id} if self.id else {})
        source |= {"name": self.name} if self.name and self.name != speaker else {}
        return Turn(text=self.text, speaker=speaker, at=self.at, source=source)


def is_message(given: object) -> bool:
    """True if a value has the shape of a message, and not that of a turn."""
    if _is_pydantic_message(given):
        return True
    if isinstance(given, Mapping):
        return _plain(given) is not None
    kind = getattr(given, "type", None) or getattr(given, "role", None)
    return isinstance(kind, str) and hasattr(given, "content")


def as_turns(given: object) -> object:
    """Return a list with its messages as turns, and all else as it was given."""
    if not isinstance(given, list | tuple):
        return given
    found: list[object] = []
    for place, each in enumerate(given):
        read = is_message(each)
        messages = _read_messages(each, f"turns[{place}]") if read else []
        found += (said.turn({}) for said in messages if said.text or not said.thoughts) if read else [each]
    return found


def messages_of(given: object) -> list[ChatMessage]:
    """Read a message or a list of them.

    Raises:
        InputError: something is no message, or has a content that nobody can read.
        InvalidTime: a message has a time that cannot be read, or one without an offset.
    """
    held = [given[name] for name in _HOLD if isinstance(given, Mapping) and isinstance(given.get(name), list)]
    listed = [given] if is_message(given) else held[0] if len(held) == 1 else given
    if isinstance(listed, str | bytes) or not isinstance(listed, Sequence):
        raise errors.InputError(
            f"{errors.shown(given)} is not a list of messages", 'Give messages such as {"role": "user", "content": "…"}'
        )
    return [said for position, each in enumerate(listed) for said in _read_messages(each, f"messages[{position}]")]


def read_message(given: Any, place: str = "message") -> ChatMessage:
    """Read one message in any of the shapes; ``place`` names it in errors.

    Raises:
        InputError: it is no message, or has a content that nobody can read.
        InvalidTime: it has a time that cannot be read, or one without an offset.
    """
    limits.checked_text(place, "place", limits.MAX_NAME_BYTES)
    with _reject_unreadable(place):
        listed = _without_tool_results(given)
        if len(listed) != 1:
            problem = f"{place} holds {len(listed)} messages in one: a tool's and a user's"
            raise errors.InputError(problem, "Give it in a list, to add or ingest")
        return _message(listed[0], place)


@contextmanager
def _reject_unreadable(place: str) -> Iterator[None]:
    """Reject numbers of thousands of digits and endless nesting as unreadable."""
    try:
        yield
    except errors.WorldDBError:
        raise
    except (ValueError, OverflowError, RecursionError) as error:
        problem = f"{place:.200} cannot be read: {type(error).__name__}"
        raise errors.InputError(problem, "Give plain texts, and numbers of at most 64 bits") from None


def _message(given: Any, place: str) -> ChatMessage:
    if _is_pydantic_message(given):
        said = _read_messages(given, place)
        if len(said) != 1:
            raise errors.InputError(f"{place} holds {len(said)} messages in one", "Give it in a list, to add or ingest")
        return said[0]
    is_written = isinstance(given, Mapping)
    if not is_written and is_message(given):
        fields = ("type", "role", "content", "blocks", "tool_calls", "name", *_TIMES, *_IDS)
        given = {name: _as_mappings(getattr(given, name)) for name in fields if getattr(given, name, None) is not None}
    plain = _plain(given) if isinstance(given, Mapping) else None
    if plain is None:
        what = f"{place}.role is missing: {place}" if is_written and "content" in given else place
        raise errors.InputError(f"{what} is {errors.shown(given)}", 'Give {"role": "user", "content": "…"}')
    role = plain.get("role", plain.get("from", plain.get("type")))
    if not isinstance(role, str) or not role.strip():
        raise errors.InputError(f"{place}.role is {errors.shown(role)}", f"Give {USER!r} or {ASSISTANT!r}")
    if is_written and _HOLDING.isdisjoint(plain):
        raise errors.InputError(
            f"{place}.content is missing: {place} is {errors.shown(given)}", 'Give {"role": "user", "content": "…"}'
        )
    content = plain.get("blocks") or plain.get("content", plain.get("value"))
    parts = [*_texts(content, f"{place}.content")]
    calls = plain.get("tool_calls") or ()
    if not isinstance(calls, list | tuple):
        raise errors.InputError(f"{place}.tool_calls is {errors.shown(calls)}", "Give a list of calls")
    calls = [*calls, *([plain["function_call"]] if plain.get("function_call") else [])]
    parts += [call for each in calls if (call := _tool_call_text(each, f"{place}.tool_calls")) not in parts]
    text = "\n".join(part.strip() for part in parts if not limits.is_blank(part))
    if (whom := plain.get("recipient")) is not None and whom not in _TO_ALL and text:
        text = f"[calls {whom}({text})]"
    found = next((plain[name] for name in _IDS if isinstance(plain.get(name), str | int)), "")
    limits.checked_text(text, f"{place}.content", limits.MAX_CONTENT_BYTES)
    known = checked_role(role, f"{place}.role", f"give the role {USER!r}, and the name as name")
    if isinstance(content, Mapping) and content.get("content_type") in _SETTINGS:
        known = INSTRUCTIONS[0]
    own = limits.checked_text("" if found == _NO_ID else str(found), f"{place}.id", limits.MAX_TYPE_BYTES)
    name = plain.get("name") if known in (USER, ASSISTANT) and isinstance(plain.get("name"), str) else ""
    name = limits.checked_text(str(name).strip(), f"{place}.name", limits.MAX_TYPE_BYTES)
    return ChatMessage(known, text, _time(plain, place), own, name, _count_thoughts(content), _count_unread(content))


def checked_role(role: str, place: str, somebody: str) -> str:
    """Return a role by its usual name; any other is the name of somebody.

    ``place`` names it in errors, and ``somebody`` says how to give the role of a person of that name.

    Raises:
        InputError: it is the name of a role with a slip in it. A name with a capital letter is somebody's.
    """
    known = limits.checked_text(role.strip().lower(), place, limits.MAX_TYPE_BYTES)
    if known not in _KNOWN and known == role.strip() and known not in _PEOPLE:
        from rapidfuzz.distance import OSA

        for each in _SPELT:
            slips = 2 if len(each) > 7 else 1
            if OSA.distance(known, each, score_cutoff=slips) <= slips:
                raise errors.InputError(
                    f"{place} is {errors.shown(role)}, which is no role",
                    f"Give {each!r}; for a person of that name {somebody}",
                )
    return _ROLES.get(known, known)


def _plain(given: Mapping[Any, Any]) -> Mapping[Any, Any] | None:
    """Return a message with its fields at the top level, by their usual names; ``None`` if it is not a message."""
    if "role" in given or ("from" in given and "value" in given):
        return given
    if "sender" in given and ("text" in given or "content" in given):
        texts = given.get("content") or given.get("text") or ""
        files = [each for kind in ("attachments", "files") for each in _as_list(given.get(kind))]
        texts = [*(texts if isinstance(texts, list | tuple) else [texts]), *dict.fromkeys(map(_file_name, files))]
        return {**given, "role": given["sender"], "content": texts}
    author = given.get("author")
    if isinstance(author, Mapping) and "content" in given:
        return {**given, "role": author.get("role"), "name": author.get("name")}
    inner, kind = given.get("data"), given.get("type")
    if isinstance(kind, str) and isinstance(inner, Mapping) and "content" in inner:
        return {**inner, "type": kind, **({"role": inner["role"]} if "role" in inner else {})}
    inner, path = given.get("kwargs"), given.get("id")
    if "lc" in given and isinstance(inner, Mapping) and "content" in inner and isinstance(path, list) and path:
        return {**inner, "type": inner.get("type", path[-1])}
    if isinstance(kind, str) and "content" not in given and kind.endswith(("_call", "_call_output", "reasoning")):
        # An item of OpenAI's responses beside the messages.
        return {**given, "role": "tool" if kind.endswith("_output") else ASSISTANT, "content": [given]}
    return given if "content" in given and isinstance(kind, str) and kind.lower() in _KNOWN else None


def _read_messages(given: Any, place: str) -> list[ChatMessage]:
    """Read a message, or those that lie in one of Pydantic AI's or Anthropic's."""
    with _reject_unreadable(place):
        listed = _messages_in_run(given, place) if _is_pydantic_message(given) else _without_tool_results(given)
        return [_message(each, place) for each in listed]


def _without_tool_results(given: Any) -> list[Any]:
    """Return a message of a user, and before it the tools' results in it, which Anthropic sends in the user's name."""
    content = given.get("content") if isinstance(given, Mapping) and given.get("role") == USER else None
    results = [part for part in _as_list(content) if _field(part, "type") == "tool_result"]
    if not results:
        return [given]
    told = {**given, "role": "tool", "content": results}
    said = [part for part in _as_list(content) if _field(part, "type") != "tool_result"]
    if not said:
        return [told]
    own = next((name for name in _IDS if isinstance(given.get(name), str | int)), None)
    return [told | ({own: f"{given[own]}/tool"} if own and given[own] != _NO_ID else {}), {**given, "content": said}]


def _is_pydantic_message(given: object) -> bool:
    """True if a value is a message of Pydantic AI, or its serialised form."""
    parts = _field(given, "parts") if _field(given, "kind") in _RUN else None
    return isinstance(parts, list | tuple) and all(isinstance(_field(part, "part_kind"), str) for part in parts)


def _messages_in_run(given: Any, place: str) -> Iterator[dict[str, Any]]:
    """Yield what was said in a message of Pydantic AI: a request has parts of several, a response is the model's."""
    parts, at = _field(given, "parts"), _field(given, "timestamp")
    if _field(given, "kind") == "response":
        yield {"role": ASSISTANT, "content": [_model_part_text(part) for part in parts], "timestamp": at}
        return
    for part in parts:
        content, role = _field(part, "content"), _PARTS.get(_field(part, "part_kind"), "tool")
        listed = content if isinstance(content, list | tuple) else [content]
        if role == "tool":
            content = _as_text(content, place)
        else:
            content = [each if isinstance(each, str) else _user_part_text(each) for each in listed]
        yield {"role": role, "content": content, "timestamp": _field(part, "timestamp") or at}


def _model_part_text(part: Any) -> dict[str, Any]:
    kind, content = _field(part, "part_kind"), _field(part, "content")
    if kind == "tool-call":
        return {"type": "tool_use", "name": _field(part, "tool_name"), "input": _field(part, "args") or {}}
    return {"type": str(kind).replace("-", "_"), "text": content if isinstance(content, str) else None}


def _user_part_text(content: Any) -> dict[str, Any]:
    kind, text = _field(content, "kind"), _field(content, "content")
    return {"type": str(kind or "file").replace("-", "_"), "text": text if isinstance(text, str) else None}


def _field(given: object, name: str) -> Any:
    return given.get(name) if isinstance(given, Mapping) else getattr(given, name, None)


def _as_mappings(given: Any, depth: int = 0) -> Any:
    """Return a framework's objects as mappings; what nests too deep is refused later."""
    if isinstance(given, list | tuple):
        return [_as_mappings(each, depth + 1) for each in given] if depth <= MAX_PARTS_DEEP else given
    dump = None if isinstance(given, Mapping) else getattr(given, "model_dump", None)
    return dump(exclude_none=True) if callable(dump) else given


def _as_list(given: Any) -> Sequence[Any]:
    return given if isinstance(given, list | tuple) else ()


def _file_name(given: Any) -> str:
    """Return the name of an attached file; its content is a document of its own."""
    name = given.get("file_name") if isinstance(given, Mapping) else None
    return f"[file {name}]" if isinstance(name, str) and name else "[file]"


def _texts(content: Any, place: str, depth: int = 0) -> list[str]:
    """Return the texts of a content; other parts are named by their kind."""
    if content is None:
        return []
    if depth > MAX_PARTS_DEEP:
        raise errors.InputError(f"{place:.200} is nested too deeply", f"Nest parts at most {MAX_PARTS_DEEP} deep")
    if isinstance(content, str):
        return [content]
    if isinstance(content, Mapping):
        content = _chatgpt_parts(content) if "content_type" in content else [content]
        if isinstance(content, str):
            return [content]
    if not isinstance(content, Sequence) or isinstance(content, bytes):
        raise errors.InputError(f"{place} is {errors.shown(content)}", "Give a text, or a list of parts")
    told = enumerate(content)
    return [text for at, part in told if part is not None for text in _part(part, f"{place}[{at}]", depth + 1)]


def _count_thoughts(content: Any) -> int:
    """Count the reasoning parts of a content."""
    parts = content if isinstance(content, list | tuple) else [content]
    named = (_field(part, name) for part in parts for name in ("type", "block_type", "content_type"))
    return sum(isinstance(kind, str) and kind in _THOUGHTS for kind in named)


def _count_unread(content: Any) -> int:
    """Count the parts of a content that are no text, such as images, of which only the kind is kept."""
    parts = content if isinstance(content, list | tuple) else [content]
    kinds = (_field(part, "type") or _field(part, "block_type") for part in parts if not isinstance(part, str))
    return sum(isinstance(kind, str) and kind not in _READ for kind in kinds)


def _chatgpt_parts(content: Mapping[str, Any]) -> Any:
    """Return the texts or parts of a content as ChatGPT's export has it; without any, what kind it is."""
    if content["content_type"] in _THOUGHTS:
        return []
    held = next((content[name] for name in _TOLD_IN if content.get(name) is not None), None)
    return [f"[{content['content_type']}]"] if held is None else held


def _part(part: Any, place: str, depth: int) -> list[str]:
    if isinstance(part, str):
        return [part]
    if isinstance(part, Mapping) and "type" not in part and "block_type" not in part:
        if "content_type" in part:
            text = part.get("text")
            return [text if isinstance(text, str) else f"[{str(part['content_type']).partition('_')[0]}]"]
        if isinstance(part.get("content", part.get("summary")), str):
            return [each for name in ("summary", "content") if isinstance(each := part.get(name), str)]
    part = _as_mappings(part)
    kind = part.get("type", part.get("block_type")) if isinstance(part, Mapping) else None
    if not isinstance(kind, str):
        raise errors.InputError(f"{place} is {errors.shown(part)}", 'Give a part such as {"type": "text", "text": "…"}')
    if kind in _TEXTS:
        return _texts(part.get("text", part.get(kind, part.get("content"))), f"{place}.text", depth)
    if kind in _THOUGHTS:
        return []
    if kind in _CALLS:
        return [_tool_call_text(part, place)]
    if kind in _CALL_RESULTS:
        return _texts(part.get("content", part.get("output")), f"{place}.content", depth)
    return [f"[{kind.removeprefix('input_').removesuffix('_url')}]"]


def _tool_call_text(call: Any, place: str) -> str:
    """Return the call of a tool as a text."""
    call = _as_mappings(call)
    if not isinstance(call, Mapping):
        raise errors.InputError(f"{place} is {errors.shown(call)}", "Give the calls as in the model's answer")
    function = call.get("function")
    named = function if isinstance(function, Mapping) else call
    given = named.get("arguments", named.get("input", named.get("args", named.get("tool_kwargs", ""))))
    return f"[calls {named.get('name', named.get('tool_name', 'a tool'))}({_as_text(given, place)})]"


def _as_text(given: Any, place: str) -> str:
    """Return a tool's arguments or answer as a text."""
    try:
        return given if isinstance(given, str) else _JSON.encode(_as_mappings(given))
    except (TypeError, ValueError, RecursionError) as error:
        raise errors.InputError(f"{place} has values that JSON cannot hold: {error}", "Give them as text") from None


def _time(given: Mapping[str, Any], place: str) -> times.TimeLike | None:
    name = next((name for name in _TIMES if given.get(name) is not None), None)
    if name is None:
        return None
    value = given[name]
    if isinstance(value, str) and _SINCE_1970.fullmatch(value):
        value = float(value)
    if isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value):
        times.refuse_year(value, f"{place}.{name}", "seconds")
        unit = next((unit for below, unit in _BY_UNIT if abs(value) < below), 1)
        return times.parse_time(round(value * unit), f"{place}.{name}")
    return times.parse_time(value, f"{place}.{name}")
