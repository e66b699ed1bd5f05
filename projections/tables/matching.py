"""The form in which names are compared when they need not be equal. It is for matching only, and never shown.

A name becomes lower-case ASCII words. Compatibility forms, case and invisible characters go first, letters that only
look Latin become Latin in a word that mixes scripts, and other scripts are transliterated. What may not differ between
two names of one thing (numbers, generations, negations) is set apart as marks. Pure: the same name gives the same form.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

from anyascii import anyascii
from jellyfish import soundex

from worlddb.projections.tables.names import normalised

MAX_MATCHED_CHARACTERS: Final = 200
"""Longer names are sentences: they are compared exactly, or not at all."""

_NUMERALS: Final = "ii iii iv vi vii viii ix xi xii xiii xiv xv xvi xvii xviii xix xx"
GENERATIONS: Final = {"jr": "jr", "junior": "jr", "sr": "sr", "senior": "sr", **{n: n for n in _NUMERALS.split()}}
"""Suffixes that tell people or things of one name apart."""

_NEGATIONS: Final = "not non no never without neither nor cannot anti ex"
NEGATIONS: Final = frozenset(_NEGATIONS.split())

_NUMBERS: Final = """
    one two three four five six seven eight nine ten eleven twelve
    first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth
"""
NUMBER_WORDS: Final = frozenset(_NUMBERS.split())

_NO_WORDS: Final = NEGATIONS | NUMBER_WORDS | GENERATIONS.keys()

_LOOKALIKES: Final = str.maketrans(
    # Lower-case Cyrillic and Greek letters that UTS #39 calls confusable with one Latin letter.
    "авекмнорстухіјѕԛԝһԁӏвαβεικνορτυχγωϲϳ",
    "abekmhopctyxijsqwhdlbabeikvoptuxywcj",
)
_LATIN: Final = re.compile("[a-z\u00c0-\u024f]")
_ALIKE: Final = re.compile("[\u0370-\u03ff\u0400-\u052f]")
_UMLAUTS: Final = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa"})
_IDEOGRAPHS: Final = re.compile(
    "[\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U000323af]"
)
_APOSTROPHES: Final = re.compile("['\u2019\u02bc`]")
_WORD: Final = re.compile("[a-z]+|[0-9]+")
_HARD_C: Final = re.compile("^c(?=[aoulrtk]|h[rl])")


class Form(NamedTuple):
    """A name as it is matched.

    ``text`` are the words with blanks between them, ``ordered`` the same in alphabetical order, ``words`` those that
    are spelled (not numbers, not single letters). ``marks`` have to be equal in two names for them to be alike at all,
    ``initials`` may not contradict each other. ``native`` is the name where its script has no alphabet, since
    different names sound the same there.
    """

    text: str
    ordered: str
    words: tuple[str, ...]
    marks: tuple[str, ...]
    initials: tuple[str, ...]
    native: str

    @property
    def sound(self) -> str:
        """What the words sound like, in any order; see :func:`sound_of`."""
        return " ".join(sorted(map(sound_of, self.words)))


MAX_FORM_CHARACTERS: Final = 400
"""Longer forms are none: a sign may be transliterated to many letters, and keys of tables have an end."""


def form_of(text: str) -> Form | None:
    """The form that has this text; of a name's script it says nothing."""
    return _form(text, "")


@lru_cache(maxsize=4096)
def forms(name: str) -> tuple[Form, ...]:
    """As :func:`forms_of`, for names that are asked for again and again."""
    return forms_of(name)


def forms_of(name: str) -> tuple[Form, ...]:
    """The forms of a name: one, or two where German or Nordic letters can be written in two ways.

    None at all if there is nothing to compare but numbers and single letters, or too much.
    """
    text = normalised(name)
    if len(text) > MAX_MATCHED_CHARACTERS:
        return ()
    if text.isascii():
        found = _form(text, "")
        return () if found is None else (found,)
    text = " ".join(map(_unmixed, text.split()))
    native = text if _IDEOGRAPHS.search(text) else ""
    spelled = dict.fromkeys(anyascii(variant).lower() for variant in (text, text.translate(_UMLAUTS)))
    return tuple(found for found in (_form(each, native) for each in spelled) if found is not None)


def _unmixed(word: str) -> str:
    """The word in Latin letters, if it mixes them with letters of other alphabets that look the same."""
    return word.translate(_LOOKALIKES) if _LATIN.search(word) and _ALIKE.search(word) else word


def _form(text: str, native: str) -> Form | None:
    parts: list[str] = _WORD.findall(_APOSTROPHES.sub("", text) if _APOSTROPHES.search(text) else text)
    words: list[str] = []
    marks: list[str] = []
    initials: list[str] = []
    for position, part in enumerate(parts):
        if len(part) > 1 and part not in _NO_WORDS and not part.isdigit():
            words.append(part)
        elif part.isdigit():
            marks.append(part)
        elif part in NEGATIONS:
            marks.append("not")
        elif part in NUMBER_WORDS:
            marks.append(part)
        elif position and part in GENERATIONS:
            marks.append(GENERATIONS[part])
        elif len(part) > 1:
            words.append(part)
        elif position and position == len(parts) - 1:
            # "Hepatitis B", "Plan C": what comes last is no initial.
            marks.append(part)
        else:
            initials.append(part)
    text = " ".join(parts)
    if not words or len(text) > MAX_FORM_CHARACTERS:
        return None
    return Form(text, " ".join(sorted(parts)), tuple(words), tuple(marks), tuple(initials), native)


@lru_cache(maxsize=16_384)
def respelled(word: str) -> str:
    """The word in the spelling that its Soundex code is made of (paper §3.1).

    PH is F, CK is K, and at its beginning KN is N, WR is R and a hard C is K.
    """
    word = word.replace("ph", "f").replace("ck", "k")
    if word.startswith(("kn", "wr")):
        return word[1:]
    return _HARD_C.sub("k", word)


@lru_cache(maxsize=16_384)
def sound_of(word: str) -> str:
    """The Soundex code of a respelled word, so that Phillip and Filip have one."""
    return str(soundex(respelled(word)))
