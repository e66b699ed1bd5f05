"""Addresses that machines read: of e-mail and of the web, and telephone numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from worlddb.reconciler.mentions.mention import ADDRESS, Mention

_WEB: Final = re.compile(r"(?<!\w)(?:https?://|www\.)[^\s<>\"'`{}|\\^]{1,2000}", re.I)
_TRAILING: Final = ".,;:!?…*_~"
_BRACKETS: Final = {")": "(", "]": "["}
_EMAIL: Final = re.compile(r"(?<![\w.+%-])[\w.+%-]{1,64}@[^\W_][\w-]{0,62}(?:\.[^\W_][\w-]{0,62}){1,6}")
_PHONE: Final = re.compile(r"(?<![\w+.,-])(?:\+\d[\d ().-]{5,22}\d|\(?\d{3}\)?[ .-]\d{3}[ .-]\d{4})(?![\w-])")
_DIGITS: Final = range(7, 16)
"""How many a telephone number has; at most 15 in E.164."""


def addresses(text: str) -> Iterator[Mention]:
    """The addresses in a text. What ends a sentence or closes a bracket is no part of one."""
    for match in _WEB.finditer(text):
        found = _ended(match[0])
        if "." in found:
            yield Mention(ADDRESS, "WebAddress", found, found, match.start(), match.start() + len(found))
    for match in _EMAIL.finditer(text):
        yield Mention(ADDRESS, "EmailAddress", match[0].lower(), match[0], *match.span())
    for match in _PHONE.finditer(text):
        digits = "".join(char for char in match[0] if char.isdigit())
        if len(digits) in _DIGITS:
            form = ("+" if match[0].startswith("+") else "") + digits
            yield Mention(ADDRESS, "PhoneNumber", form, match[0], *match.span())


def _ended(found: str) -> str:
    """A web address without what follows it. A bracket that closes one of its own belongs to it."""
    unopened = {close: found.count(close) - found.count(opening) for close, opening in _BRACKETS.items()}
    end = len(found)
    while end and (found[end - 1] in _TRAILING or unopened.get(found[end - 1], 0) > 0):
        end -= 1
        if found[end] in unopened:
            unopened[found[end]] -= 1
    return found[:end]
