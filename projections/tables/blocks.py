"""Blocking: short keys by which names that may be alike find each other without a look at all the others.

``blocks`` has each form of each name under a handful of keys: what it sounds like, how its words begin, how they end.
``forms`` says which forms a world has had, so that an erasure finds what it has to take out of the blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import combinations
from typing import Final
from zlib import crc32

from worlddb.projections.tables.matching import Form, forms, forms_of, sound_of
from worlddb.projections.tables.schema import U32, U64
from worlddb.projections.tables.tables import Tables

BLOCK_BYTES: Final = 4
FORM_BYTES: Final = 4
"""Checksums will do: where two meet, a block holds names that score low."""

UNNAMED_TYPES: Final = frozenset({"Root", "Turn", "Session", "Conversation"})
"""Types whose names are positions and dates: nothing is a second one of them under another spelling."""

MAX_BLOCKED_WORDS: Final = 4
"""Words of a name that count for blocking."""

SAME_FORM: Final = 8
"""How many worlds of one and the same form a lookup gives; of five thousand people with one name, the earliest do."""

MAX_NAMESAKES: Final = 512
"""How many worlds of one form are asked whether they are where somebody is looked for."""

MAX_FORMS: Final = 128
"""How many forms of a block are looked at. One is only so full where very many names begin or sound alike."""


def block_keys(form: Form) -> list[bytes]:
    """The keys under which a form is put. Names that are alike share at least one but for few (see ``bench.resolve``).

    Two words that sound the same, in any order, are a key; so are the beginning and end of the whole, for names that
    are written in one word or in two. A name of one or two words is also found by how they begin and how they end, and
    by the sound of one with the first letter of the other; one of more has other words left where one is misspelled.
    A given name alone is found by whole names, and finds them.
    """
    if len(form.words) == 2:
        return _keys_of_two(form)
    given = f"{'alone' if len(form.words) == 1 else 'given'} {form.words[0]}"
    return _keys(form, sorted({*_likenesses(form), given}))


def lookup_keys(form: Form) -> list[bytes]:
    """The keys under which names like a form are."""
    return _keys(form, sorted(_likenesses(form)))


def given_name_keys(form: Form) -> list[bytes]:
    """The key of a form's given name alone, or that of the whole names which begin with it if it is one."""
    return _keys(form, [f"{'given' if len(form.words) == 1 else 'alone'} {form.words[0]}"])


def ends_keys(form: Form) -> list[bytes]:
    """The key under which names are that begin and end as a form does, for a form that nobody gave in this way."""
    ends = sorted(map(sound_of, {form.words[0], form.words[min(len(form.words), MAX_BLOCKED_WORDS) - 1]}))
    return _keys(form, [f"sound {' '.join(ends)}"])


def _likenesses(form: Form) -> set[str]:
    words = form.words[:MAX_BLOCKED_WORDS]
    joined = "".join(form.words)
    told = {f"whole {joined[:4]} {joined[-3:]}"}
    sounds = list(map(sound_of, words))
    told |= {f"sound {_ordered(*pair)}" for pair in combinations(sounds, 2)}
    if len(words) == 1:
        told |= {f"begin {joined[:3]}", f"end {joined[-4:]}", f"sound {sounds[0]}"}
    elif len(words) == 2:
        first, last = words
        told |= {f"begin {first[:4]} {last[-1]}", f"begin {last[:4]} {first[-1]}"}
        told |= {f"start {first[0]} {sounds[1]}", f"start {last[0]} {sounds[0]}"}
        told.add(f"end {_ordered(first[-3:], last[-3:])}")
    return told


def _ordered(one: str, other: str) -> str:
    return f"{one} {other}" if one <= other else f"{other} {one}"


def _keys_of_two(form: Form) -> list[bytes]:
    """As :func:`block_keys` for a name of two words, as most are, without sets: the texts in their order."""
    first, last = form.words
    joined, one, other = first + last, sound_of(first), sound_of(last)
    begins = f"begin {first[:4]} {last[-1]}", f"begin {last[:4]} {first[-1]}"
    starts = f"start {first[0]} {other}", f"start {last[0]} {one}"
    told = [
        *_in_order(*begins),
        f"end {_ordered(first[-3:], last[-3:])}",
        f"given {first}",
        f"sound {_ordered(one, other)}",
        *_in_order(*starts),
        f"whole {joined[:4]} {joined[-3:]}",
    ]
    return _keys(form, told)


def _in_order(one: str, other: str) -> tuple[str, ...]:
    """Two texts in their order; one if they are equal."""
    return (one, other) if one < other else (other, one) if other < one else (one,)


def _keys(form: Form, told: Iterable[str]) -> list[bytes]:
    marks = "\x1f".join(form.marks) + "\x1e"
    return [U32.pack(crc32((marks + key).encode())) for key in told]


def put_name(tables: Tables, node: int, name: str) -> None:
    """Put a name that a world has from now on into its blocks."""
    number = U64.pack(node)
    for form in forms(name):
        own = _checksum(form.text)
        if tables.forms.get(number + own) is None:
            tables.forms.put(number + own, b"".join(keys := block_keys(form)))
            for key in keys:
                tables.blocks.put(key + own + number, form.text.encode())


def put_first_names(tables: Tables, numbers: Iterable[bytes], names: Iterable[str]) -> None:
    """As :func:`put_name`, for new worlds that are in no block yet; their numbers are as they are stored."""
    form_rows: dict[bytes, bytes] = {}
    block_rows: list[bytes] = []
    texts: list[bytes] = []
    for number, name in zip(numbers, names, strict=True):
        for form in forms_of(name):
            text = form.text.encode()
            own = U32.pack(crc32(text))
            row, ending = number + own, own + number
            if row not in form_rows:
                keys = block_keys(form)
                form_rows[row] = b"".join(keys)
                block_rows += [key + ending for key in keys]
                texts += [text] * len(keys)
    tables.forms.put_new(list(form_rows), form_rows.values())
    tables.blocks.put_new(block_rows, texts)


def forget_names(tables: Tables, node: int) -> None:
    """Take every form that a world ever had out of the blocks."""
    number = U64.pack(node)
    for key, value in list(tables.forms.scan(number)):
        for start in range(0, len(value), BLOCK_BYTES):
            tables.blocks.put(value[start : start + BLOCK_BYTES] + key[len(number) :] + number, None)
        tables.forms.put(key, None)


def block(
    tables: Tables,
    key: bytes,
    alike: Callable[[str], bool] = lambda text: True,
    here: Callable[[int], bool] = lambda node: True,
    most: int = MAX_FORMS,
) -> Iterator[tuple[str, int]]:
    """(form's text, node) in one block: form by form, ``most`` of them, each that is alike with the earliest worlds
    that ever had it and that are here."""
    start: bytes | None = key
    looked_at = 0
    while start is not None:
        pairs, start, current, asked, given = tables.blocks.scan(key, start), None, b"", 0, 0
        wanted = True
        for found, value in pairs:
            own = found[BLOCK_BYTES : BLOCK_BYTES + FORM_BYTES]
            if own != current:
                looked_at += 1
                if looked_at > most:
                    return
                current, asked, given, wanted = own, 0, 0, alike(value.decode())
            elif not wanted or given >= SAME_FORM or asked >= MAX_NAMESAKES:
                start = key + own + b"\xff" * 8
                break
            asked += 1
            node = int.from_bytes(found[BLOCK_BYTES + FORM_BYTES :], "big")
            if wanted and here(node):
                given += 1
                yield value.decode(), node


def _checksum(text: str) -> bytes:
    return crc32(text.encode()).to_bytes(4, "big")
