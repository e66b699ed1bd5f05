"""How far sources are trusted: what an operator said, from which commit on.

A level is said of an author, of a field of the sources that are given with what is written (a document, a session, an
importer), of a world with all that it contains, or of everything of which nothing else is said. It stands until another
is said of the same, and can be taken back. What was said is kept, so that earlier views see what held then.

Authors and sources are known by a keyed hash that is in the event: once their names are erased, what was said of them
goes on to hold. Events of an earlier release lack it: their rows have a hash of the name, which an erasure takes along.
"""

from collections.abc import Collection, Iterator
from typing import Final, NamedTuple

from worlddb.log.model import events as ev
from worlddb.log.model import hashing
from worlddb.projections.tables.apply.deferred_rows import DeferredRows
from worlddb.projections.tables.storage import schema
from worlddb.projections.tables.storage.rows import Tables

LEVELS: Final = ("none", "low", "fair", "full")
"""The levels from the lowest on. Subjects without a level count as the last."""
FULL: Final = len(LEVELS) - 1
KINDS: Final[tuple[ev.TrustOf, ...]] = ("author", "source", "world", "rest", "author", "source")
"""The kinds of subjects by their numbers in a row; the last two by a keyed hash."""
_KEYED: Final = 4
"""From this number on."""
_ANYTHING: Final = bytes(schema.TRUST_DIGEST_BYTES)
_TAKEN_BACK: Final = 255


class TrustStatement(NamedTuple):
    """A level set by a commit: the kind of its subject, the subject's digest, and the row.

    ``is_named``: the digest is of a name and not keyed, so it goes with the name.
    """

    kind: ev.TrustOf
    digest: bytes
    seq: int
    row: schema.TrustRow
    is_named: bool

    @property
    def level(self) -> int | None:
        """The level; ``None`` if one was taken back."""
        return None if self.row.level == _TAKEN_BACK else self.row.level


def keyed_digest(secret: bytes, field: str, value: str) -> bytes:
    """What stands for a source in the store with a secret, or with an empty field for an author."""
    return hashing.keyed(secret, hashing.TRUSTED, field.encode(), value.encode())[: schema.TRUST_DIGEST_BYTES]


def legacy_digest(field: str, value: str) -> bytes:
    """The digest of a subject in an earlier release, which no event has."""
    return hashing.digest(hashing.TRUSTED, field.encode(), value.encode())[: schema.TRUST_DIGEST_BYTES]


def apply_trusted(on: DeferredRows, event: ev.Trusted) -> None:
    """Store a level from this commit on."""
    about, is_named = event.world or _ANYTHING, event.of in ("author", "source") and not event.world
    if is_named:
        body = on.blobs.body(event.body)
        if body is None:
            return
        about = legacy_digest(body.type if event.of == "source" else "", body.name)
    level = LEVELS.index(event.level) if event.level else _TAKEN_BACK
    row = schema.TrustRow(level, event.body, event.details)
    key = _prefix(event.of, about, is_named=is_named) + schema.U64.pack(on.seq)
    on.tables.trusts.put(key, schema.TRUST.pack(*row))


def forget_named(tables: Tables, erased: Collection[tuple[int, int]]) -> None:
    """Forget what was said of names that are among erased blobs, and is known by nothing else."""
    gone = set(erased)
    for key, value in list(tables.trusts.scan(b"")):
        said = _trust_statement(key, value)
        if said.is_named and (said.seq, said.row.body) in gone:
            tables.trusts.put(key, None)


def trust_statements(
    tables: Tables, of: ev.TrustOf, about: bytes, seq: int, *, is_named: bool = False
) -> TrustStatement | None:
    """The level of a subject as known at a commit, even if it was removed.

    ``about`` is its lineage or digest, and empty for all the rest.
    """
    prefix = _prefix(of, about or _ANYTHING, is_named=is_named)
    found = tables.trusts.last(prefix, prefix + schema.U64.pack(seq))
    return None if found is None else _trust_statement(*found)


def trusts_known(tables: Tables, seq: int) -> list[TrustStatement]:
    """Every level in force at a commit, by its subject."""
    newest = {said[:2]: said for said in trust_history(tables) if said.seq <= seq}
    return [said for said in newest.values() if said.level is not None]


def trust_history(tables: Tables) -> Iterator[TrustStatement]:
    """Every level that was ever said, of each thing in the order of the log."""
    return (_trust_statement(key, value) for key, value in tables.trusts.scan(b""))


def _prefix(of: ev.TrustOf, digest: bytes, *, is_named: bool) -> bytes:
    return bytes([KINDS.index(of, _KEYED if of in KINDS[_KEYED:] and not is_named else 0)]) + digest


def _trust_statement(key: bytes, value: bytes) -> TrustStatement:
    end = 1 + schema.TRUST_DIGEST_BYTES
    seq = schema.U64.unpack_from(key, end)[0]
    kind = KINDS[key[0]]
    row = schema.TrustRow._make(schema.TRUST.unpack(value))
    return TrustStatement(kind, key[1:end], seq, row, kind in KINDS[_KEYED:] and key[0] < _KEYED)
