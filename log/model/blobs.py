"""What blobs hold: everything that a caller wrote, so that it can be erased while the chain still verifies.

A blob is a tagged msgpack array whose second item is a random nonce: the hash that stays behind after an
erasure cannot be guessed from the text that is gone.
"""

from __future__ import annotations

from typing import Any

import msgspec


class Body(msgspec.Struct, frozen=True, array_like=True, tag_field="blob", tag="body"):
    """One version's immutable body; its blob id is the version's id."""

    nonce: bytes
    type: str
    name: str
    content: str


class Details(msgspec.Struct, frozen=True, array_like=True, tag_field="blob", tag="details"):
    """What else the caller said with one command: why, from which source, under which other names."""

    nonce: bytes
    aliases: list[str]
    why: str
    source: dict[str, Any]
    properties: dict[str, Any]


class Cause(msgspec.Struct, frozen=True, array_like=True, tag_field="blob", tag="command"):
    """The commands of one commit as they were given, with their texts replaced by references to this commit's
    bodies and details: what is erased there is erased here."""

    nonce: bytes
    commands: list[Any]


class Secret(msgspec.Struct, frozen=True, array_like=True, tag_field="blob", tag="secret"):
    """The store's 32-byte secret, under which callers' keys are hashed."""

    nonce: bytes
    secret: bytes


Blob = Body | Details | Cause | Secret
