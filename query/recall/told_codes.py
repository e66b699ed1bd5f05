"""Codes in a text, which tell its secret in any language: passwords, numbers of accounts, addresses.

Elsewhere the same code may be grouped otherwise, or not at all: ``DE89 3704 0044`` is ``DE8937040044``.
"""

import re
from collections.abc import Collection, Iterator
from typing import Final

from worlddb.log.model.times import lazy
from worlddb.projections.indexes.analysis import STOP_WORDS

MAX_CODES: Final = 16
"""How many codes of a text are looked for."""
_MAX_LENGTH: Final = 128
_ADDRESS: Final = lazy(r"(?i)(?:[a-z][a-z0-9+.-]*://|www\.)[^\s<>\"]+|[\w.%+'-]+@[\w-]+(?:\.[\w-]+)+")
"""A URL or an e-mail address."""
_SECRET: Final = lazy(
    r"(?i)\b\w*(?:password|passwort|passphrase|passcode|passwd|kennwort|contraseña|mot de passe|senha|parola|пароль)\b"
    r"(?:\W+\w+){0,3}?\s*(?:\b(?:is|was|now|to|ist|lautet|war|es|est|é|è)\b|[:=—-])\s*[\"'“„«]?([^\s\"'”“»]{4,})"
)
"""What is said to be a password."""
_TOKEN: Final = lazy(r"[^\s,;()\[\]{}\"“”„«»]+")
_SIGNED: Final = lazy(r"[^\W_][#$%&*+=^~|@_\\]+[^\W_]")
"""A sign within a token that words do not have."""
_GROUPS: Final = lazy(r"(?<![\w.,])\+?\(?(?:[^\W_]*\d[^\W_]*)(?:[ /.()-]{1,3}[^\W_]*\d[^\W_]*)+(?![^\W_])")
"""A long number in groups."""
_TIME: Final = lazy(
    r"(?i)(?<![\w.])(?:\d{4}-\d\d?-\d\d?(?:t[\d:.]+z?)?|\d{1,2}[./-]\d{1,2}[./-](?:\d{4}|\d\d)?"
    r"|\d{1,2}[:.]\d\d(?:[ap]m|h)?|(?:19|20)\d\d)(?![^\W_])"
)
"""A date, a time of day or a year."""
_COUNTED: Final = lazy(
    r"\d{1,3}(?:[-–][^\W\d_]*)*[^\W\d_]*|(?:19|20)?\d\d(?:s|er|ern|ers)|\d+(?:[.,]\d+)?(?:k?[gmwb]|km²?|cm|mm|ml|l|kwh|"
    r"mah|rpm|eur|euros?|usd|chf|gbp|px|mb|gb|tb|ppm|hz|[mg]hz)"
)
"""What has a digit and is no code: 8am, 3-year-old, 1990s, 1500kg."""
_LEAST_SIGNS: Final = 5
"""The fewest signs of a code with letters; of digits alone it has ``_LEAST_DIGITS``."""
_LEAST_DIGITS: Final = 7
_OF_PHONE: Final = range(9, 16)
"""How many digits a number of a phone has: the first of them may be said or left out."""
_END_OF_PHONE: Final = 8


def codes_of(text: str) -> frozenset[str]:
    """The codes that a text has, without their signs and in lower case: ``fledermaus77``.

    A code is an address, what is said to be a password, letters with digits or signs among them, or a long number;
    no date, no time of day and nothing counted.
    """
    found = {_plain(match[0]): None for match in _ADDRESS.finditer(text)}
    secrets = (match[1].strip(".,;:!?)'") for match in _SECRET.finditer(text))
    found |= {_plain(secret): None for secret in secrets if secret.casefold() not in STOP_WORDS}
    rest = _TIME.sub(" ", _ADDRESS.sub(" ", text))
    for match in _GROUPS.finditer(rest):
        plain = _plain(match[0])
        if sum(map(str.isdigit, plain)) >= _LEAST_DIGITS:
            found[plain] = None
    rest = _GROUPS.sub(lambda match: " " if _plain(match[0]) in found else match[0], rest)
    for match in _TOKEN.finditer(rest):
        if _is_code(token := match[0].strip(".:!?'…*_-–—")):
            found[_plain(token)] = None
    return frozenset([each for each in found if 4 <= len(each) <= _MAX_LENGTH][:MAX_CODES])


def _is_code(token: str) -> bool:
    """True if a word is a code by its letters, digits and signs."""
    plain = _plain(token)
    if plain.isdigit():
        return len(plain) >= _LEAST_DIGITS
    if len(plain) < _LEAST_SIGNS or _COUNTED.fullmatch(token.casefold()) is not None:
        return False
    digits = sum(map(str.isdigit, plain))
    return digits >= 2 or (bool(digits) and not plain[-1].isdigit()) or _SIGNED.search(token) is not None


def _plain(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))


def pattern_of(codes: Collection[str]) -> re.Pattern[str] | None:
    """What finds codes in a text in lower case, however they are grouped there; ``None`` for none."""
    if not codes:
        return None
    return re.compile("|".join(map(_grouped, sorted(codes))))


def _grouped(code: str) -> str:
    """A code with up to three signs between any two of its own. A phone's number may begin otherwise."""
    is_phone = code.isdigit() and len(code) in _OF_PHONE
    signs = code[-_END_OF_PHONE:] if is_phone else code
    gap = r"[\W_]{0,3}" if len(code) >= _LEAST_DIGITS else r"[\W_]?"
    return ("" if is_phone else r"(?<![^\W_])") + gap.join(map(re.escape, signs)) + r"(?![^\W_])"


def searched_words(codes: Collection[str]) -> str:
    """The words by which texts with some of the codes are searched: a code, its parts, and how digits are grouped."""
    return " ".join(dict.fromkeys(word for code in sorted(codes) for word in _words(code)))


def _words(code: str) -> Iterator[str]:
    yield code
    parts = re.findall(r"\d+|[^\W\d_]+", code)
    yield from parts if len(parts) > 1 else ()
    if not code.isdigit() or len(code) not in _OF_PHONE:
        yield from (code[start : start + 4] for start in range(0, len(code), 4))
        return
    for size in range(min(8, len(code) - 1), 1, -1):
        yield from (code[start : start + size] for start in range(len(code) - size + 1))
