"""Names in canonical form: equal names get one digest, and similar names comparable words.

Two names are equal if they are :func:`normalise_name` alike; the exact tier and ``find`` compare digests of that.

For names that need not be equal, a name becomes lower-case ASCII words, for matching only and never shown.
Compatibility forms, case and invisible characters go first, letters that only look Latin become Latin in a word that
mixes scripts, and other scripts are transliterated. What may not differ between two names of one thing (numbers,
generations, negations) is set apart as marks. Pure: the same name gives the same form.
"""

import re
import unicodedata
from functools import lru_cache
from typing import Final, NamedTuple

from anyascii import anyascii
from jellyfish import soundex

from worlddb.log.model.hashing import NAME, digest
from worlddb.log.model.times import lazy

NAME_DIGEST_BYTES = 16
TYPE_DIGEST_BYTES = 8


_UNSEEN: Final = lazy(
    r"[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u3164\uffa0\ufe00-\ufe0f\U000e0100-\U000e01ef]"
)
"""What is invisible and no format character: joiners, fillers and variation selectors."""


_LATER: Final = lazy(
    r"(["
    r"\u0558\u058b-\u058c\u05c8-\u05c9\u0897\u1acf-\u1af0\u1c89\u209d-\u209f\ua7cb-\ua7ce\ua7d2\ua7d4"
    r"\ua7da-\ua7f1\uab6c-\uab6d\U000105c9-\U000105e4\U000107bb-\U000107bf\U00010d50-\U00010d6d"
    r"\U00010ecb-\U00010eff\U00011382-\U000113d0\U00011f41-\U00011f42\U00013439-\U0001343f"
    r"\U0001611e-\U0001612f\U00016d63-\U00016d6a\U00016ea0-\U00016eb8\U0001b123-\U0001b126"
    r"\U0001ccd6-\U0001ccf9\U0001d127-\U0001d128\U0001d250-\U0001d281\U0001d6a6\U0001df40-\U0001dfff"
    r"\U0001e030-\U0001e08f\U0001e4ec-\U0001e6f5"
    r"]+)"
)
"""Characters that Unicode 15.0 to 18.0 fold, compose, reorder or hide, and that 14.0 leaves unassigned.

Each Python has a Unicode of its own, 14.0 in 3.11. What one makes of a name is in the keys of the tables, which
another has to derive again from the log, so these stay as they are everywhere.
"""


def normalise_name(name: str) -> str:
    """Normalise a name; two names are exactly equal if they normalise alike (paper §3.1).

    The result is compatibility-composed, case-folded, with single spaces and nothing invisible. Zero-width characters,
    soft hyphens and the controls of writing direction go, so that none of them makes a second name that looks like the
    first. Every Python that WorldDB runs on gives the same.
    """
    if name.isascii():
        return " ".join(name.lower().split())
    parts = _LATER.split(name)
    parts[::2] = map(_fold, parts[::2])
    return " ".join("".join(parts).split())


def compose_name(name: str) -> str:
    """A name as it is compared letter by letter: each accent with its letter (NFC), however it was typed."""
    return name if name.isascii() else unicodedata.normalize("NFC", name)


def _fold(text: str) -> str:
    return _visible(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", _visible(text)).casefold()))


def _visible(text: str) -> str:
    """The text without format characters (Unicode's category Cf) and others that show nothing."""
    return "".join(char for char in _UNSEEN.sub("", text) if char.isascii() or unicodedata.category(char) != "Cf")


NO_NAME = bytes(NAME_DIGEST_BYTES)
"""The digest of a name with nothing in it, which no lookup finds."""


NO_TYPE = bytes(TYPE_DIGEST_BYTES)
"""The digest of the type of a version whose body was erased."""


@lru_cache(maxsize=4096)
def name_digest(name: str) -> bytes:
    """16 bytes for the normalised name; :data:`NO_NAME` if nothing is left of it."""
    text = normalise_name(name)
    # A lookup may ask for text that cannot be stored: it finds nothing.
    return digest(NAME, text.encode("utf-8", "surrogatepass"))[:NAME_DIGEST_BYTES] if text else NO_NAME


@lru_cache(maxsize=4096)
def type_digest(type_name: str) -> bytes:
    """8 bytes for a node type, compared exactly."""
    return digest(NAME, b"type", type_name.encode("utf-8", "surrogatepass"))[:TYPE_DIGEST_BYTES]


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
_IDEOGRAPHS: Final = lazy("[\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U000323af]")
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
        """The sounds of the words, in any order; see :func:`sound_of`."""
        return " ".join(sorted(map(sound_of, self.words)))


MAX_FORM_CHARACTERS: Final = 400
"""The longest form: one character may be transliterated to many letters, and keys of tables are bounded."""


def form_of(text: str) -> Form | None:
    """The form of a text; it does not record the name's script."""
    return _form(text, "")


@lru_cache(maxsize=4096)
def forms(name: str) -> tuple[Form, ...]:
    """As :func:`forms_of`, cached for repeated names."""
    return forms_of(name)


def forms_of(name: str) -> tuple[Form, ...]:
    """The forms of a name.

    There is one, or two where German or Nordic letters can be written in two ways. None at all if there is nothing to
    compare but numbers and single letters, or too much.
    """
    text = normalise_name(name)
    if len(text) > MAX_MATCHED_CHARACTERS:
        return ()
    if text.isascii():
        found = _form(text, "")
        return () if found is None else (found,)
    text = " ".join(map(_unify_script, text.split()))
    native = text if _IDEOGRAPHS.search(text) else ""
    spelled = dict.fromkeys(in_latin_letters(variant).lower() for variant in (text, text.translate(_UMLAUTS)))
    return tuple(found for found in (_form(each, native) for each in spelled) if found is not None)


def in_latin_letters(text: str) -> str:
    """A text in ASCII, each sign by its usual transliteration."""
    return anyascii(text)


def _unify_script(word: str) -> str:
    """Write a word in Latin letters if it mixes them with lookalikes.

    Lookalikes are letters of other alphabets that look the same.
    """
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
def respell(word: str) -> str:
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
    return str(soundex(respell(word)))


def forget() -> None:
    """Forget all names, as an erasure asks for."""
    for kept in (name_digest, type_digest, forms, respell, sound_of):
        kept.cache_clear()
