"""Blocking: short keys by which names that may be alike find each other without a look at all the others.

``blocks`` has each form of each name under a handful of keys (see :mod:`.blocking`), once for all who have it;
``holders`` says who they are, and ``forms`` which forms a world has had, so that an erasure finds what it has to take
away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, repeat
from typing import Final, NamedTuple
from zlib import crc32

from worlddb.projections.tables.among import among
from worlddb.projections.tables.blocking import Place, places
from worlddb.projections.tables.matching import Form, form_of, forms, forms_of
from worlddb.projections.tables.schema import U32, U64
from worlddb.projections.tables.tables import Tables

UNNAMED_TYPES: Final = frozenset({"Root", "Turn", "Session", "Conversation"})
"""Types whose names are positions and dates: nothing is a second one of them under another spelling."""

SAME_FORM: Final = 8
"""How many worlds of one and the same form a lookup gives; of five thousand people with one name, the earliest do."""

MAX_NAMESAKES: Final = 512
"""How many worlds of one form are asked whether they are where somebody is looked for."""

_END: Final = b"\0"
"""Behind what orders a block, and behind a form; neither has this byte."""

_PLACE_AT: Final = 1 + U32.size
"""Where the place begins in a key, behind the table's byte and the block's key."""


def put_name(tables: Tables, node: int, name: str) -> None:
    """Put a name that a world has from now on into its blocks."""
    number = U64.pack(node)
    for form in forms(name):
        text = form.text.encode()
        if tables.forms.get(number + text) is None:
            tables.forms.put(number + text, b"")
            tables.holders.put(_holders_of(text) + number, b"")
            value = _in_order(form)
            for key in _block_rows(form):
                tables.blocks.put(key, value)


def put_first_names(tables: Tables, numbers: Iterable[bytes], names: Iterable[str]) -> None:
    """As :func:`put_name`, for new worlds that are in no block yet; their numbers are as they are stored."""
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
        block_rows.update(zip(_block_rows(form), repeat(_in_order(form))))
    tables.forms.put_new(list(form_rows), repeat(b""))
    tables.holders.put_new(holder_rows, repeat(b""))
    tables.blocks.put_new(list(block_rows), block_rows.values())


def forget_names(tables: Tables, node: int) -> None:
    """Take every form that a world ever had away from it, and out of the blocks if nobody else has it."""
    number = U64.pack(node)
    for row, _ in list(tables.forms.scan(number)):
        text = row[len(number) :]
        tables.forms.put(row, None)
        tables.holders.put(_holders_of(text) + number, None)
        form = form_of(text.decode())
        if form is not None and next(tables.holders.scan(_holders_of(text)), None) is None:
            for key in _block_rows(form):
                tables.blocks.put(key, None)


class Around(NamedTuple):
    """Forms of a block, with their words in order where they are not, and whether these are all of it. The first
    ``alone`` have nothing that those of the block need not have."""

    forms: dict[bytes, bytes]
    is_whole: bool
    alone: int


def around(tables: Tables, place: Place) -> Around:
    """The forms around a place."""
    pairs, is_whole = tables.blocks.around(place.key, place.at, place.most)
    alone = sum(key[_PLACE_AT : _PLACE_AT + 1] == _END for key, _ in pairs) if place.same_sound else 0
    return Around({key.rpartition(_END)[2]: value for key, value in pairs}, is_whole, alone)


def holders(
    tables: Tables, text: str, here: Callable[[int], bool] = lambda node: True, *, nodes: Sequence[int] | None = None
) -> Iterator[int]:
    """The earliest worlds that ever had a form and that are here: among the earliest of all, or among ``nodes``, in
    ascending order."""
    prefix = _holders_of(text.encode())
    earliest = islice(tables.holders.scan(prefix), MAX_NAMESAKES)
    pairs = earliest if nodes is None else among(tables.holders, prefix, nodes)
    found = (int.from_bytes(key[len(prefix) :], "big") for key, _ in pairs)
    return islice(filter(here, found), SAME_FORM)


def is_held_by_more(tables: Tables, text: str, than: int) -> bool:
    """True if more worlds than so many ever had a form."""
    return next(islice(tables.holders.scan(_holders_of(text.encode())), than, None), None) is not None


def form_in(key: bytes) -> str:
    """The form that a row of the blocks is of."""
    return key.rpartition(_END)[2].decode()


def _holders_of(text: bytes) -> bytes:
    return U32.pack(crc32(text)) + text + _END


def _block_rows(form: Form) -> list[bytes]:
    ending = _END + form.text.encode()
    return [place + ending for place in places(form)]


def _in_order(form: Form) -> bytes:
    return b"" if form.ordered == form.text else form.ordered.encode()
