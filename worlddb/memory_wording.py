"""The words of :class:`worlddb.Memory`: for the engine's terms, and for the calls of other memories."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from worlddb.log.model import errors, limits
from worlddb.query.view.view import View

Given = ParamSpec("Given")
Answer = TypeVar("Answer")

_TRANSLATIONS: Final = (
    (re.compile(r"Reassert it if it holds again, or give a valid_from"), "Add what holds now, or give a since"),
    (re.compile(r"\breassert (it|these) if"), r"add \1 anew if"),
    (re.compile(r"\bReassert it\b"), "Add it anew"),
    (re.compile(r"No world has the reference(?: or the name)?\b"), "No memory has the id"),
    (re.compile(r"Look (?:for it with recall or find|it up by name with find)"), "Ids are in what add and recall give"),
    (re.compile(r"^ingested\b"), "known"),
    (re.compile(r"Look at its (labels|tags) with show"), r"memory.db.view().get(id) has its \1"),
    (re.compile(r"split it over several worlds"), "split it over several memories"),
    (re.compile(r"cannot have an edge of type contradicts to itself"), "cannot contradict itself"),
    (re.compile(r"Name two worlds"), "Name two memories"),
    (re.compile(r"^Revise the world, or"), "Correct the memory, or"),
    (
        re.compile(r"(\w+) is valid before it was a member of [\w, ]+; views of these show it only from then on"),
        r"\1 is not found as of a time before it was first said to begin: add what held until then",
    ),
    (re.compile(r"link supersedes or contradicts"), "call correct, forget or contradict"),
    (re.compile(r"\bvalid_from\b"), "since"),
    (re.compile(r"\bvalid_to\b"), "until"),
    (re.compile(r"""'\["memory","written",\[[^\]]*\],"(.*?)"?\]?' at (\d+)"""), r"'\1' in commit \2"),
    (re.compile(r" of command \d+ \(\w+\)(?= differ)"), ""),
    (re.compile(r"(?<=: )content\b(?=[\w ]* differ)"), "the text"),
    (
        re.compile(r"\breview it with proposals, then accept or reject it"),
        "memory.db.proposals() lists it, memory.db.accept or memory.db.reject decides",
    ),
)
"""The engine's terms for arguments and commands, and those of a memory."""


def translate_wording(text: str) -> str:
    """Return a text of the engine in the words of a memory."""
    for engine, own in _TRANSLATIONS:
        text = engine.sub(own, text)
    return text


def translate_errors(method: Callable[Concatenate[Any, Given], Answer]) -> Callable[Concatenate[Any, Given], Answer]:
    """Wrap a call so that its errors name the arguments and calls of a memory, also for an argument unknown to it."""
    known = limits.argument_names(method)
    if known[-1:] == ("**asked",):
        known = (*known[:-1], *(name for name in limits.argument_names(View.recall)[1:] if name not in ("k", *known)))

    typed = limits.typed_arguments(method, none_is_absent=True)

    @functools.wraps(method)
    def told(self: Any, /, *given: Given.args, **named: Given.kwargs) -> Answer:
        limits.check_argument_names(method.__name__, named, known)
        try:
            return typed(self, *given, **named)
        except errors.WorldDBError as error:
            error.message, error.remedy = translate_wording(error.message), translate_wording(error.remedy)
            error.args = (error.message, error.remedy)
            raise

    return told


_MEANT_CALLS: Final = {
    **dict.fromkeys(("search", "query", "find", "ask", "retrieve", "get_relevant"), "recall(question)"),
    **dict.fromkeys(("get_all", "all", "list", "memories"), "profile(), or recall(question)"),
    **dict.fromkeys(("get", "read", "versions"), "history(id)"),
    **dict.fromkeys(("write", "save", "store", "insert", "remember", "create"), "add(text)"),
    **dict.fromkeys(("update", "edit", "amend", "revise", "change"), "correct(id, text)"),
    **dict.fromkeys(("delete", "remove", "retire"), "forget(id)"),
    "erase": "db.erase(id, reason=...), or forget_user(reason=...) for all of the user",
    **dict.fromkeys(("delete_all", "erase_all", "clear", "reset", "forget_all"), "forget_user(reason=...)"),
}
"""What other memories call the calls of this one."""


def meant_call(name: str, calls: Iterable[str]) -> str:
    """Return the call that an unknown attribute of a memory may mean; empty for a name that no caller gives."""
    if name.startswith("_"):
        return ""
    from difflib import get_close_matches

    waits = name[0] == "a" and name[1:] in _MEANT_CALLS and name not in _MEANT_CALLS
    found = _MEANT_CALLS.get(name[1:] if waits else name, "")
    if found:
        return f"a{found}" if waits and not found.startswith("db.") else found
    return next((f"{each}(...)" for each in get_close_matches(name, calls, n=1, cutoff=0.75)), "")
