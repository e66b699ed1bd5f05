"""How far sources are trusted: what an operator said, from which commit on.

A level is said of an author, of a field of the sources that are given with what is written (a document, a session, an
importer), of a world with all that it contains, or of everything of which nothing else is said. It stands until another
is said of the same, and can be taken back. What was said is kept, so that earlier views see what held then.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from worlddb.log.model import blobs, hashing
from worlddb.log.model import events as ev
from worlddb.projections.tables.apply.deferred_rows import DeferredRows
from worlddb.projections.tables.storage import schema
from worlddb.projections.tables.storage.rows import Tables

LEVELS: Final = ("none", "low", "fair", "full")
"""The levels from the least on. What nothing is said of counts as the last."""
FULL: Final = len(LEVELS) - 1
KINDS: Final[tuple[ev.TrustOf, ...]] = ("author", "source", "world", "rest")
"""What a level is said of, by the number that it has in a row."""
_TAKEN_BACK: Final = 255


class Said(NamedTuple):
    """A level as it was said by a commit: of what kind, of which digest of it, and the row."""

    kind: ev.TrustOf
    digest: bytes
    seq: int
    row: schema.TrustRow

    @property
    def level(self) -> int | None:
        """The level; ``None`` if one was taken back."""
        return None if self.row.level == _TAKEN_BACK else self.row.level


def source_digest(field: str, value: str) -> bytes:
    """What stands for a source, or with an empty field for an author."""
    return hashing.digest(hashing.TRUSTED, field.encode(), value.encode())[: schema.TRUST_DIGEST_BYTES]


def digest_of(of: ev.TrustOf, world: bytes, body: blobs.Body | None) -> bytes:
    """What stands in a key for that which a level is said of; empty if its text is gone."""
    if of == "rest":
        return bytes(schema.TRUST_DIGEST_BYTES)
    if of == "world":
        return world
    return b"" if body is None else source_digest(body.type if of == "source" else "", body.name)


def apply_trusted(on: DeferredRows, event: ev.Trusted) -> None:
    """Keep what is said from this commit on."""
    body = None if event.body == ev.NONE else on.blobs.body(event.body)
    digest = digest_of(event.of, event.world, body)
    if not digest:
        return
    level = LEVELS.index(event.level) if event.level else _TAKEN_BACK
    row = schema.TrustRow(level, event.body, event.details)
    on.tables.trusts.put(_prefix(event.of, digest) + schema.U64.pack(on.seq), schema.TRUST.pack(*row))


def said_of(tables: Tables, of: ev.TrustOf, digest: bytes, seq: int) -> Said | None:
    """What is said of something as known at a commit, taken back or not."""
    prefix = _prefix(of, digest)
    found = tables.trusts.last(prefix, prefix + schema.U64.pack(seq))
    return None if found is None else _said(*found)


def trusts_known(tables: Tables, seq: int) -> list[Said]:
    """Every level in force at a commit, by what it is said of."""
    newest: dict[tuple[ev.TrustOf, bytes], Said] = {}
    for said in _all(tables):
        if said.seq <= seq:
            newest[said.kind, said.digest] = said
    return [said for said in newest.values() if said.level is not None]


def _all(tables: Tables) -> Iterator[Said]:
    return (_said(key, value) for key, value in tables.trusts.scan(b""))


def _prefix(of: ev.TrustOf, digest: bytes) -> bytes:
    return bytes([KINDS.index(of)]) + digest


def _said(key: bytes, value: bytes) -> Said:
    end = 1 + schema.TRUST_DIGEST_BYTES
    seq = schema.U64.unpack_from(key, end)[0]
    return Said(KINDS[key[0]], key[1:end], seq, schema.TrustRow._make(schema.TRUST.unpack(value)))
