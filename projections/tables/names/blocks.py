"""Blocks of similar names: short keys by which names find each other without a full scan.

A *block* is a group of forms with something in common. The table ``blocks`` has each form under a handful of keys, once
for all who have it, and keeps each block in an order in which similar forms are neighbours, so that a look at a few
rows of a very full one finds its likeliest. ``holders`` says which worlds have a form, and ``forms`` which forms a
world has had, so that an erasure finds the rows that it has to delete.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import combinations, islice, repeat
from typing import Final, NamedTuple
from zlib import crc32

from worlddb.projections.tables.names.canonical import Form, form_of, forms, forms_of, sound_of
from worlddb.projections.tables.storage import rows, schema, write_buffer

MAX_BLOCKED_WORDS: Final = 4
"""Words of a name that count for blocking."""

MAX_PLACE_BYTES: Final = 16
"""The number of characters kept of the key that orders a block."""

WIDE: Final = 96
"""How many forms of a block are looked at in which names differ in one word."""

NARROW: Final = 24
"""How many forms of every other block are looked at."""


class Place(NamedTuple):
    """A block, where in it, and how many forms are looked at around there.

    ``same_sound``: they sound alike as a whole.
    """

    key: bytes
    at: bytes
    most: int = NARROW
    same_sound: bool = False


def places(form: Form) -> list[bytes]:
    """The blocks that a form is in, each with its place there.

    By the sounds of all of its words; by those of all but one, beside the names that lack the word and in the order of
    the others' spelling and of the word; by how two words begin. Names that are written in one word or in two meet by
    the beginning and end of the whole. A name of two words is also found by how both end, one of four and more by the
    sounds of the first and the last, and every one by how its given name begins.
    """
    return _keys_of(form, b"")


@lru_cache(maxsize=16_384)
def _places_of(words: tuple[str, ...]) -> tuple[tuple[bytes, bytes], ...]:
    """What the blocks of a form with these words are called, and its places there: many differ in their marks alone."""
    return _places_of_two(*words) if len(words) == 2 else _places_of_any(words)


def _places_of_any(words: tuple[str, ...]) -> tuple[tuple[bytes, bytes], ...]:
    """As :func:`_places_of`, not kept."""
    blocks = _Words(words)
    found = [(blocks.sounding(blocks.sounds), b"")]
    found += blocks.likenesses()
    found += blocks.all_but_one()
    if len(blocks.words) > 1:
        found.append((blocks.given(), _place(" ".join(blocks.words))))
    if len(blocks.words) > 3:
        found.append((blocks.ends(), _place(" ".join(blocks.words[1:-1]))))
    return tuple([(told.encode(), at) for told, at in found])


def _places_of_two(first: str, last: str) -> tuple[tuple[bytes, bytes], ...]:
    """As :func:`_places_of_any`, of the two words that most names have: all that it would do for them, in a row."""
    sound, sound_of_last, joined = sound_of(first), sound_of(last), first + last
    one, other = (first, last) if first <= last else (last, first)
    return (
        (f"sound {_order_words(sound, sound_of_last)}".encode(), b""),
        (f"whole {joined[:3]} {joined[-3:]}".encode(), joined.encode()[:MAX_PLACE_BYTES]),
        (f"end {_order_words(first[-3:], last[-3:])}".encode(), f"{one} {other}".encode()[:MAX_PLACE_BYTES]),
        (f"begin {one[:2]} {other[:2]}".encode(), f"{one[2:]} {other[2:]}".encode()[:MAX_PLACE_BYTES]),
        (f"sound {sound_of_last}".encode(), (_spelling_hash((last,)) + first.encode())[:MAX_PLACE_BYTES]),
        (f"sound {sound}".encode(), (_spelling_hash((first,)) + last.encode())[:MAX_PLACE_BYTES]),
        (f"given {first[:3]}".encode(), f"{first} {last}".encode()[:MAX_PLACE_BYTES]),
    )


def places_to_search(form: Form, *, by_given_name: bool) -> Iterator[Place]:
    """Places of forms that may be similar, the likeliest first; a given name alone if asked."""
    blocks, key = _Words(form.words), _key_of(form)
    words, sounds = blocks.words, blocks.sounds
    whole = key(blocks.sounding(sounds))
    yield Place(whole, b"", WIDE, same_sound=True)
    others = [(key(told), at) for told, at in blocks.all_but_one()]
    yield from (Place(block, at, WIDE) for block, at in others)
    yield from (Place(key(told), at) for told, at in blocks.likenesses())
    yield Place(whole, _spelling_hash(words))
    yield from (Place(block, b"") for block, _ in others)
    if len(words) == 2 or len(words) > 3:
        yield Place(key(blocks.ends()), _place(" ".join(words[1:-1])))
    if len(words) > 3:
        yield Place(key(blocks.sounding([sounds[0], blocks.last_sound])), b"")
    if by_given_name:
        yield from _by_given_name(blocks, key)


def fallback_places(form: Form, words: tuple[str, ...], *, by_given_name: bool) -> Iterator[Place]:
    """As :func:`places_to_search`, for what a form is with words that nobody gave in this way.

    That is with another given name.
    """
    blocks, key = _Words(words), _key_of(form)
    whole, sounds = key(blocks.sounding(blocks.sounds)), blocks.sounds
    yield Place(whole, b"")
    if len(words) > 1:
        yield Place(whole, _spelling_hash(blocks.words))
    if len(words) > 2:
        yield Place(key(blocks.sounding([sounds[0], blocks.last_sound])), b"")
    if by_given_name:
        yield from _by_given_name(blocks, key)


def _by_given_name(blocks: _Words, key: Callable[[str], bytes]) -> Iterator[Place]:
    """Places of the given name alone, and of the whole names that begin with it."""
    yield Place(key(blocks.given()), _place(blocks.words[0]), WIDE)
    yield Place(key(blocks.sounding(blocks.sounds[:1])), b"")


def _marks_of(form: Form) -> int:
    """What a form's marks are in its blocks' keys: in all of them, for the marks of names that are alike are equal."""
    return crc32("\x1f".join(form.marks).encode()) if form.marks else 0


def _key_of(form: Form) -> Callable[[str], bytes]:
    """The keys of a form's blocks, by what these are called."""
    marks = _marks_of(form)
    return lambda told: schema.U32.pack(crc32(told.encode(), marks))


class _Words:
    """What the blocks of a form's words are called."""

    def __init__(self, words: tuple[str, ...]) -> None:
        self.words = words[:MAX_BLOCKED_WORDS]
        self.sounds = [sound_of(word) for word in self.words]
        self._joined = "".join(words)
        self.last_sound = sound_of(words[-1])

    @staticmethod
    def sounding(sounds: Sequence[str]) -> str:
        """The block of the names that have these sounds and at most one other word."""
        return f"sound {' '.join(sorted(sounds) if len(sounds) > 1 else sounds)}"

    def given(self) -> str:
        """The block of the whole names whose given name begins like this form's.

        This form's given name may be cut short of theirs.
        """
        return f"given {self.words[0][:3]}"

    def ends(self) -> str:
        """The block of longer names whose first and last words sound like this form's."""
        return f"ends {_order_words(self.sounds[0], self.last_sound)}"

    def all_but_one(self) -> list[tuple[str, bytes]]:
        """The blocks of the sounds of all words but one, for each word, with the form's places there."""
        words, sounds = self.words, self.sounds
        if len(words) == 1:
            return []
        return [
            (
                self.sounding(sounds[:left_out] + sounds[left_out + 1 :]),
                (_spelling_hash(words[:left_out] + words[left_out + 1 :]) + word.encode())[:MAX_PLACE_BYTES],
            )
            for left_out, word in enumerate(words)
        ]

    def likenesses(self) -> list[tuple[str, bytes]]:
        """The blocks for likenesses other than sound, with the form's places there."""
        words, joined = self.words, self._joined
        whole = _place(joined)
        found = [(f"whole {joined[:3]} {joined[-3:]}", whole)]
        if len(words) == 1:
            return [*found, (f"begin {joined[:3]}", whole), (f"end {joined[-4:]}", whole)]
        if len(words) == 2:
            first, last = words
            found.append((f"end {_order_words(first[-3:], last[-3:])}", _place(_order_words(first, last))))
        for one, other in combinations(sorted(words), 2):
            place = f"{one[2:]} {other[2:]}"
            if len(words) > 2:
                place = " ".join((place, *[word for word in words if word not in (one, other)]))
            found.append((f"begin {one[:2]} {other[:2]}", _place(place)))
        return found


def _order_words(one: str, other: str) -> str:
    return f"{one} {other}" if one <= other else f"{other} {one}"


def _place(text: str) -> bytes:
    return text.encode()[:MAX_PLACE_BYTES]


def _spelling_hash(words: Sequence[str]) -> bytes:
    """Two bytes for the spelling of words in any order.

    They stand behind those that have no other word.
    """
    spelling = words[0] if len(words) == 1 else " ".join(sorted(words))
    return schema.U16.pack(crc32(spelling.encode()) & 0x7FFF | 0x8000)


TURN, SESSION, CONVERSATION = "Turn", "Session", "Conversation"
"""The types of worlds with spoken texts."""
UNNAMED_TYPES: Final = frozenset({"Root", TURN, SESSION, CONVERSATION})
"""Types whose names are positions and dates: nothing is a second one of them under another spelling."""

SAME_FORM: Final = 8
"""How many worlds of one and the same form a lookup gives; of five thousand people with one name, the earliest do."""

MAX_NAMESAKES: Final = 512
"""How many worlds of one form, where somebody is looked for, are asked whether they may be meant."""

_END: Final = b"\0"
"""Behind what orders a block, and behind a form; neither has this byte."""

_NOT_IN_ORDER: Final = b"\x01"
"""What a form is marked with whose words are not in order."""

_PLACE_AT: Final = 1 + schema.U32.size
"""Where the place begins in a key, behind the table's byte and the block's key."""


def put_name(tables: rows.Tables, node: int, name: str) -> None:
    """Put a name that a world has from now on into its blocks."""
    number = schema.U64.pack(node)
    for form in forms(name):
        text = form.text.encode()
        if tables.forms.get(number + text) is None:
            tables.forms.put(number + text, b"")
            tables.holders.put(_holders_of(text) + number, b"")
            value = _marker(form)
            for key in _block_rows(form):
                tables.blocks.put(key, value)


def put_first_names(tables: rows.Tables, numbers: Iterable[bytes], names: Iterable[str]) -> None:
    """As :func:`put_name`, for new worlds that are in no block yet.

    Their numbers are as they are stored.
    """
    form_rows: dict[bytes, None] = {}
    holder_rows: list[bytes] = []
    known: dict[str, Form] = {}
    for number, name in zip(numbers, names, strict=True):
        for form in forms_of(name):
            text = form.text.encode()
            row = number + text
            if row not in form_rows:
                form_rows[row] = None
                holder_rows.append(_holders_of(text) + number)
                known[form.text] = form
    block_rows: dict[bytes, bytes] = {}
    for form in known.values():
        block_rows.update(zip(_block_rows(form), repeat(_marker(form))))
    tables.forms.put_new(list(form_rows), repeat(b""))
    tables.holders.put_new(holder_rows, repeat(b""))
    tables.blocks.put_new(list(block_rows), block_rows.values())


def forget() -> None:
    """Forget the words of all names, as an erasure asks for."""
    _places_of.cache_clear()


def forget_names(tables: rows.Tables, node: int) -> None:
    """Take every form that a world ever had away from it.

    A form also goes out of the blocks if nobody else has it.
    """
    number = schema.U64.pack(node)
    for row, _ in list(tables.forms.scan(number)):
        text = row[len(number) :]
        tables.forms.put(row, None)
        tables.holders.put(_holders_of(text) + number, None)
        form = form_of(text.decode())
        if form is not None and next(tables.holders.scan(_holders_of(text)), None) is None:
            for key in _block_rows(form):
                tables.blocks.put(key, None)


class NearbyForms(NamedTuple):
    """Forms of a block, and whether these are all of it.

    Each comes with a mark if its words are not in order. The first ``alone`` have nothing that those of the block need
    not have.
    """

    forms: dict[bytes, bytes]
    is_whole: bool
    alone: int


def forms_around(tables: rows.Tables, place: Place) -> NearbyForms:
    """The forms around a place."""
    pairs, is_whole = tables.blocks.around(place.key, place.at, place.most)
    alone = sum(key[_PLACE_AT : _PLACE_AT + 1] == _END for key, _ in pairs) if place.same_sound else 0
    return NearbyForms({key.rpartition(_END)[2]: value for key, value in pairs}, is_whole, alone)


def holders(
    tables: rows.Tables,
    text: str,
    here: Callable[[int], bool] = lambda node: True,
    *,
    nodes: Sequence[int] | None = None,
    inside: Callable[[int], bool] | None = None,
) -> Iterator[int]:
    """Yield the earliest worlds that ever had a form and that are here.

    Among the earliest of all, of those that are ``inside``, or of ``nodes``, which are in ascending order.
    """
    prefix = _holders_of(text.encode())
    every = tables.holders.scan(prefix)
    pairs = every if nodes is None else write_buffer.scan_nodes(tables.holders, prefix, nodes)
    found = (int.from_bytes(key[len(prefix) :], "big") for key, _ in pairs)
    earliest = islice(found if inside is None else filter(inside, found), MAX_NAMESAKES)
    return islice(filter(here, earliest), SAME_FORM)


def is_held_by_more(tables: rows.Tables, text: str, than: int) -> bool:
    """True if more worlds than so many ever had a form."""
    return next(islice(tables.holders.scan(_holders_of(text.encode())), than, None), None) is not None


class NameBlocks:
    """The blocks of some names, in memory: what the tables have of all names, of these alone."""

    def __init__(self) -> None:
        self.forms: dict[bytes, bytes] = {}
        """The forms, each with a mark if its words are not in order."""
        self.sounds: dict[str, list[bytes]] = {}
        """The forms by how they sound as a whole."""
        self._blocks: dict[bytes, list[bytes]] = {}

    def add_all(self, texts: Iterable[bytes]) -> None:
        """Put forms into their blocks."""
        for text in texts:
            form = None if text in self.forms else form_of(text.decode())
            if form is not None:
                self.forms[text] = _marker(form)
                self.sounds.setdefault(form.sound, []).append(text)
                for row in _block_rows(form):
                    insort(self._blocks.setdefault(row[: _PLACE_AT - 1], []), row[_PLACE_AT - 1 :])

    def around(self, place: Place) -> NearbyForms:
        """The forms around a place; as :func:`forms_around`, had nobody else a name."""
        rows_here = self._blocks.get(place.key, [])
        at = bisect_left(rows_here, place.at)
        behind, before = rows_here[at : at + place.most + 1], rows_here[max(0, at - place.most - 1) : at][::-1]
        found, is_whole = write_buffer.nearest(behind, before, place.most)
        alone = sum(row[:1] == _END for row in found) if place.same_sound else 0
        texts = [row.rpartition(_END)[2] for row in found]
        return NearbyForms({text: self.forms[text] for text in texts}, is_whole, alone)


def forms_held(tables: rows.Tables, node: int) -> Iterator[bytes]:
    """The forms of all names that a world ever had."""
    number = schema.U64.pack(node)
    return (row[len(number) :] for row, _ in tables.forms.scan(number))


def form_in(key: bytes) -> str:
    """The form that a row of the blocks is of."""
    return key.rpartition(_END)[2].decode()


def _holders_of(text: bytes) -> bytes:
    return schema.U32.pack(crc32(text)) + text + _END


def _block_rows(form: Form) -> list[bytes]:
    return _keys_of(form, _END + form.text.encode())


def _keys_of(form: Form, ending: bytes) -> list[bytes]:
    """The blocks that a form is in, each with its place there and an ending."""
    marks, pack = _marks_of(form), schema.U32.pack
    return [pack(crc32(told, marks)) + at + ending for told, at in _places_of(form.words)]


def _marker(form: Form) -> bytes:
    return b"" if form.ordered == form.text else _NOT_IN_ORDER


def in_order(text: bytes) -> bytes:
    """A form with its words in order."""
    return b" ".join(sorted(text.split(b" ")))
