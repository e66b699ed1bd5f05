"""Texts of the server for a model: errors, notes, and quotations of remembered text.

The engine's remedies name calls of the library, which a model does not have, so they are translated to tools. A remedy
that only the operator of the server can apply is addressed to the operator.

A name, a text or an argument may imitate the server's own words. So none of them can end its line or its quotation, and
no character in it moves the cursor or reverses the direction of writing.
"""

import re
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any, Final

import msgspec

from worlddb import InvalidTime, Note, RefusedError, StoreError, UnavailableError, WorldDBError
from worlddb.plain_text import JOINERS, concealed, escaped, meant_arguments, one_line
from worlddb.tools.mcp.tool_arguments import DIGITS

MARK: Final = "    | "
"""Prefix of the lines of a memory's own text."""
QUESTION: Final = "> "
"""Prefix of the lines of what the caller of a prompt asks."""
MOST: Final = 120
"""Characters of a text that is quoted in a sentence."""
_PLAIN: Final = re.compile(r"[\w:.@+/-]{1,100}")
_CURLY: Final = str.maketrans(dict.fromkeys("“”„‟❝❞❠〝〞〟＂ʺˮ˝″‶🙶🙷🙸", '"'))
"""Double quotation marks, and what looks like one."""


def quoted(text: str, most: int = MOST) -> str:
    """Return the beginning of a text in quotation marks that nothing inside it closes."""
    inside = concealed(one_line(concealed(text))).translate(_CURLY)
    return f"“{inside[: most - 1]}…”" if len(inside) > most else f"“{inside}”"


def named(name: str, most: int = MOST) -> str:
    """Return a name or a time as it is if it is one plain word, else quoted."""
    return name if _PLAIN.fullmatch(name) and concealed(name) == name else quoted(name, most)


def lines(text: str, mark: str = MARK) -> Iterator[str]:
    """Yield the lines of a text, each with a mark in front."""
    return (mark + escaped(line.replace("\t", "    ")) for line in text.splitlines())


def json_line(value: Any) -> str:
    """Return a value as JSON on one line; characters that are not shown are escaped as JSON has it."""
    told = msgspec.json.encode(value).decode()
    if told.isprintable():
        return told
    return "".join(
        character if character.isprintable() or character in JOINERS else _json_escape(character) for character in told
    )


def _json_escape(character: str) -> str:
    pairs = character.encode("utf-16-be")
    return "".join(f"\\u{pairs[at]:02x}{pairs[at + 1]:02x}" for at in range(0, len(pairs), 2))


FIND_IDS: Final = "Ids are in the answers of memory_recall and memory_list"
GIVE_TIMES: Final = "Give times as ISO 8601: 2025-03-01, 2025-03-01T10:00:00Z or 2025-03-01T10:00+01:00"

_REMEDIES: Final = {
    "Look for it with recall or find": FIND_IDS,
    "Look it up by name with find": FIND_IDS,
    "Make it with create_at": FIND_IDS,
    "Look at what there is with find": FIND_IDS,
    "Reassert it if it holds again, or give a valid_from before its end": "Write what is true now with memory_write",
}
_KNOWN_BY: Final = re.compile(r"^ingested (?=')")
_SINCE: Final = re.compile(r"^since (?=')")
_CONTENT: Final = re.compile(r"^content (?=has|is)|(?<=: )content (?=[\w ]*\bdiffer)")
_OF_COMMAND: Final = re.compile(r" of command \d+ \(\w+\)(?= differ)")
_UNKNOWN_WORLD: Final = re.compile(r"^No world has the reference(?: or the name)?")
_BY_NAME: Final = ". A view finds it by name: db.view().reference_of('Alice')"
_REFUSED: Final = {
    "already_decided": "See memory_proposals with status=all",
    "rejected_before": "Amend one of them first, if something new is known",
}
_NOTES: Final = {
    "begun_anew": "{others} had been retired, so {first} began under its name",
    "conflict_left": "{first} ends, so it no longer contradicts {others}, which stays valid. If its replacement"
    " contradicts that too, use memory_write with contradicts",
    "ends_earlier": "{} ends earlier than before: its replacement now begins earlier",
    "ends_unreplaced": "{first} still ends where {others} was to replace it, and nothing is valid after it. If it"
    " stays valid, amend {first}",
    "revision_called_off": "the earlier text of {} still ends where its correction was to begin, and nothing holds"
    " after it. If it goes on to hold, write it again from then on",
    "said_alone": "{} was not valid then: it has only the given values, without its former name and type;"
    " memory_believe sets title and type, memory_rollback restores a version",
    "outside_before": "{first} is valid from before it was in {others}, and is not found there before that",
    "until_successor": "{first} is not valid where {others} is, which replaces the same memory and begins later",
    "members_remain": "{first} ends, and its members stay valid: {others}",
    "now_stale": "{first} ends or changes, and these depend on it: {others}",
    "already_closed": "{} had already ended and is unchanged",
    "never_valid": "{} ended at or before its beginning, so it is never valid. Write it again if it was true",
    "not_restored": "{} was erased and stays erased: its mention is kept, without its name",
    "stays_corrected": "{} was corrected later, and is unchanged",
    "nothing_reopened": "{} stays ended; write it again if it is valid",
    "not_revived": "{} has ended and is unchanged",
    "retry_not_compared": "{} was written or found under this idempotency_key, and erased later, so this call cannot"
    " be compared with it: nothing was written. Use a new key for another memory",
    "proposal_staged": "{} was proposed: two entries may be one. See memory_proposals; memory_decide decides",
}
_MAX_MESSAGE: Final = 500
_PLACE: Final = re.compile(r" - at `\$\.?([^`]*)`$")
_PATTERN: Final = re.compile(r"Expected `str` matching regex '.*'")
_INNER: Final = re.compile(r"\w+\[(?:\d+|\.\.\.)\]\.(\w+)")
_ABSENT: Final = re.compile(r"Object missing required field `([^`]*)`")
_UNKNOWN: Final = re.compile(r"Object contains unknown field `([^`]*)`")


def in_tool_words(message: str) -> str:
    """Return what an error says in words of any tool: a memory has an id and a text."""
    told = _CONTENT.sub("text ", _OF_COMMAND.sub("", message))
    return _UNKNOWN_WORLD.sub("No memory has the id", told)


def time_remedy(error: InvalidTime) -> str:
    """Return how to give a time, or how long something is to last."""
    return "Give seconds, more than 0 and at most a thousand years" if error.message.startswith("ttl ") else GIVE_TIMES


def explain_error(error: WorldDBError) -> str:
    """Translate an error of the engine for a model."""
    remedy = _REMEDIES.get(error.remedy, error.remedy).removesuffix(_BY_NAME)
    if isinstance(error, RefusedError):
        remedy = _REFUSED.get(str(error.details.get("reason")), remedy)
    elif isinstance(error, InvalidTime):
        remedy = time_remedy(error)
    elif (remedy and isinstance(error, StoreError)) or isinstance(error, UnavailableError):
        remedy = f"For the operator of this memory: {remedy}"
    message = _KNOWN_BY.sub("known ", _SINCE.sub("valid_from ", in_tool_words(error.message)))
    # A message that ends in remembered text may have its full stop already.
    told = f"{message.removesuffix('.')}. {remedy}" if remedy else message
    return f"{error.code}: {escaped(concealed(told))}"


def explain_note(note: Note) -> str:
    """Translate a note of a receipt for a model, where the engine's text names calls."""
    text = _NOTES.get(note.code)
    if text is None:
        return escaped(str(note))
    return text.format(", ".join(note.refs), first=", ".join(note.refs[:1]), others=", ".join(note.refs[1:]))


def explain_unknown(what: str, name: str, known: list[str]) -> str:
    """Describe a tool or a prompt that does not exist."""
    near = get_close_matches(name.lower(), known, n=1, cutoff=0.85)
    meant = f"Did you mean {near[0]}? " if near else ""
    return f"Unknown {what}: {named(name)}. {meant}There are {', '.join(known)}"


def explain_invalid(error: msgspec.ValidationError, schema: dict[str, Any]) -> str:
    """Arguments that do not fit their JSON schema: which one, what it is, and what may be given."""
    properties = schema.get("properties", {})
    message = _PATTERN.sub("Expected 4 to 64 hexadecimal digits", concealed(str(error)))
    place, absent, unknown = _PLACE.search(message), _ABSENT.search(message), _UNKNOWN.search(message)
    if unknown is not None and place is None:
        message = f"Object contains unknown field {named(unknown[1])}"
        return f"invalid_arguments: {message}. {_explain_unknown_field(unknown[1], list(properties))}"
    name = absent[1] if absent is not None else "" if place is None else place[1].partition("[")[0]
    inner = None if place is None else _INNER.fullmatch(place[1])
    if inner is not None:
        listed = properties.get(name, {}).get("items", {}).get("$ref", "").rpartition("/")[2]
        fields = schema.get("$defs", {}).get(listed, {}).get("properties", {})
        if told := _explain_argument(inner[1], fields):
            return ". ".join([f"invalid_arguments: {escaped(message)[:_MAX_MESSAGE]}", *told])
    return ". ".join([f"invalid_arguments: {escaped(message)[:_MAX_MESSAGE]}", *_explain_argument(name, properties)])


def _explain_unknown_field(given: str, names: list[str]) -> str:
    near = meant_arguments(given, names)
    meant = f"Did you mean {near[0]}? " if near else ""
    return meant + (f"It takes {', '.join(names)}" if names else "It takes no arguments")


def _explain_argument(name: str, properties: dict[str, Any]) -> list[str]:
    """What the schema says of an argument, and where ids come from."""
    schema = properties.get(name)
    if schema is None:
        return []
    forms = [schema, *schema.get("anyOf", [])]
    described = [f"{name}: {form['description'].rstrip('.')}" for form in forms if "description" in form][:1]
    described += [f"Give one of: {', '.join(form['enum'])}" for form in forms if "enum" in form]
    numbered = [form for form in forms if {"minimum", "maximum"} <= form.keys()]
    described += [f"Give a number from {form['minimum']} to {form['maximum']}" for form in numbered]
    if name == "proposal":
        described.append("Ids of proposals are in the answers of memory_proposals")
    elif any(form.get("pattern") == DIGITS for form in forms):
        described.append(FIND_IDS)
    return described
