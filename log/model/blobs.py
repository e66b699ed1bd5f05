"""Blobs: all that a caller wrote, erasable while the chain still verifies.

A blob is a tagged msgpack array whose second item is a random nonce: the hash that stays behind after an
erasure cannot be guessed from the text that is gone.
"""

from typing import Any, Final

import msgspec

EDGE_CONTEXT: Final = ("alternatives", "optimises_for", "sentiment", "evidence")
"""The properties of an edge that say, beside its reason, how it came to be."""
RESTORES: Final = "restores"
"""The field of a version's source that names the version it repeats, so it is not a new statement."""
LEAVES: Final = "leaves"
"""The field that names the version of which this one keeps the rest."""
REPEATS: Final = (RESTORES, LEAVES)
IMPORTED: Final = "imported"
"""The field in the source (or the properties) of an imported version that names its origin. Only imports set it."""
BEFORE: Final = "before"
"""The field beside it with the origins of earlier imports, first one first, as the exporting store reported them."""
_ORIGIN: Final = {"store", "seq", "ingested_at", "author"}


def origin_in(record: dict[str, Any]) -> dict[str, Any] | None:
    """Find the store, commit, time and author that an imported version comes from.

    ``None`` if its source or properties do not say so.
    """
    found = record.get(IMPORTED)
    return found if isinstance(found, dict) and found.keys() - {BEFORE} == _ORIGIN else None


def first_origin_in(record: dict[str, Any]) -> dict[str, Any] | None:
    """As :func:`origin_in`, for the first of several imports."""
    found = origin_in(record)
    earlier = [] if found is None else found.get(BEFORE)
    first = earlier[0] if isinstance(earlier, list) and earlier else None
    return first if isinstance(first, dict) and first.keys() == _ORIGIN else found


class Body(msgspec.Struct, frozen=True, array_like=True, tag_field="blob", tag="body"):
    """One version's immutable body; its blob id is the version's id."""

    nonce: bytes
    type: str
    name: str
    content: str


class Details(msgspec.Struct, frozen=True, array_like=True, tag_field="blob", tag="details"):
    """The details of one command: its reason, source, and further names."""

    nonce: bytes
    aliases: list[str]
    why: str
    source: dict[str, Any]
    properties: dict[str, Any]


class Cause(msgspec.Struct, frozen=True, array_like=True, tag_field="blob", tag="command"):
    """The commands of one commit as they were given, without their texts.

    References to this commit's bodies and details replace the texts: what is erased there is erased here.
    """

    nonce: bytes
    commands: list[Any]


class Secret(msgspec.Struct, frozen=True, array_like=True, tag_field="blob", tag="secret"):
    """The store's 32-byte secret, under which callers' keys are hashed."""

    nonce: bytes
    secret: bytes


class Space(msgspec.Struct, frozen=True, array_like=True, tag_field="blob", tag="space"):
    """An embedding space: its name, its model, and the mean subtracted from its vectors.

    The model fills the space with vectors. ``mean`` is as long as a vector, in little-endian 32-bit floats. It is
    fixed with the space: vectors that had different means subtracted could not be compared.
    """

    nonce: bytes
    name: str
    model: str
    mean: bytes


class Vector(msgspec.Struct, frozen=True, array_like=True, tag_field="blob", tag="vector"):
    """One version's vectors, each of length 1 (or all zeros), in little-endian 16-bit floats.

    The first is that of the whole text. The last ``statements`` ones are those of what a speaker says of themselves in
    it; a text that is nothing else has one vector, which is both. ``stated`` is the percentage of the text's words that
    is in such statements.
    """

    nonce: bytes
    values: bytes
    statements: int = 0
    stated: int = 0


class Evidence(msgspec.Struct, frozen=True, array_like=True, tag_field="blob", tag="evidence"):
    """A commit of another history of this log, which erased texts that are missing here.

    ``header`` and ``events`` are its stored bytes, ``details`` pairs of a position in it and the stored blob there,
    which say under which reference it was done.
    """

    nonce: bytes
    header: bytes
    events: bytes
    details: list[tuple[int, bytes]]


class Struck(msgspec.Struct, frozen=True, array_like=True, tag_field="blob", tag="struck"):
    """Details with single texts erased, stored in place of the original.

    ``was`` is the id in the log, ``left`` the stored bytes of the rest, and ``hash`` their hash, which the event of the
    erasure names.
    """

    was: bytes
    hash: bytes
    left: bytes


Blob = Body | Details | Cause | Secret | Space | Vector | Evidence
