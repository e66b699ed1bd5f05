"""Marks of worlds: deadlines, pins and labels, which say what is worth looking at and never what is true.

A mark stands from its commit on until another one of its kind is set, or it is taken back, and what stood before is
kept, so that earlier views see what stood then. Marks lie outside of world hashes and inside the chain, as aliases do.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from worlddb.log.model import events as ev
from worlddb.log.model import times
from worlddb.projections.tables.apply.deferred_rows import DeferredRows
from worlddb.projections.tables.names.canonical import NO_NAME, name_digest
from worlddb.projections.tables.storage import schema
from worlddb.projections.tables.storage.rows import Tables

_DEADLINE, _PIN, _LABEL, _HOLDER = schema.DEADLINES, b"\x02", b"\x03", b"\x04"


class Deadline(NamedTuple):
    """A deadline that commit ``seq`` set: its time (:data:`times.FOREVER`: none), and how long a refresh lasts."""

    seq: int
    at: int
    lasts: int
    details: int


class Pinning(NamedTuple):
    """Commit ``seq`` pinned a world, or took the pin off."""

    seq: int
    is_pinned: bool
    details: int


def apply_expires(on: DeferredRows, event: ev.Expires) -> None:
    """Hide a world from a time on, or at no time any more."""
    key = schema.MARK_KEY.pack(_DEADLINE[0], on.number(event.lineage), on.seq)
    on.tables.marks.put(key, schema.DEADLINE.pack(event.at, event.lasts, event.details))


def apply_pinned(on: DeferredRows, event: ev.Pinned) -> None:
    """Pin a world, or take the pin off."""
    key = schema.MARK_KEY.pack(_PIN[0], on.number(event.lineage), on.seq)
    on.tables.marks.put(key, schema.PIN.pack(event.is_pinned, event.details))


def apply_labelled(on: DeferredRows, event: ev.Labelled) -> None:
    """Put a label on a world; of one whose text was erased nothing is left but its number."""
    tables, node = on.tables, on.number(event.lineage)
    details = on.blobs.details(event.details)
    digest = NO_NAME if details is None else name_digest(details.aliases[event.position])
    number = labels_given(tables, node) + 1
    row = schema.AliasRow(digest, on.seq, schema.LIVE, event.details, event.position)
    tables.marks.put(schema.LABEL_KEY.pack(_LABEL[0], node, number), schema.ALIAS.pack(*row))
    holder = _HOLDER + digest + schema.U64.pack(node)
    if digest != NO_NAME and tables.marks.get(holder) is None:
        tables.marks.put(holder, schema.U64.pack(on.seq))


def apply_unlabelled(on: DeferredRows, event: ev.Unlabelled) -> None:
    """Take a label off."""
    node = on.number(event.lineage)
    key = schema.LABEL_KEY.pack(_LABEL[0], node, event.label)
    stored = on.tables.marks.get(key)
    if stored is None:
        raise KeyError(f"commit {on.seq} names the unknown label {event.label} of node {node}")
    row = schema.AliasRow._make(schema.ALIAS.unpack(stored))
    on.tables.marks.put(key, schema.ALIAS.pack(*row._replace(removed=on.seq)))


def forget_labels(tables: Tables, node: int) -> None:
    """Forget the digests of all labels that a world ever had: they were made of the texts."""
    for number, row in list(labels_of(tables, node)):
        holder = _HOLDER + row.name + schema.U64.pack(node)
        if row.name != NO_NAME and tables.marks.get(holder) is not None:
            tables.marks.put(holder, None)
        key = schema.LABEL_KEY.pack(_LABEL[0], node, number)
        tables.marks.put(key, schema.ALIAS.pack(*row._replace(name=NO_NAME)))


def deadline_at(tables: Tables, node: int, seq: int) -> Deadline | None:
    """The deadline of a world as known at a commit; ``None`` if none was ever set, or it was lifted."""
    prefix = _DEADLINE + schema.U64.pack(node)
    found = tables.marks.last(prefix, prefix + schema.U64.pack(seq))
    deadline = None if found is None else _deadline(*found)
    return None if deadline is None or deadline.at == times.FOREVER else deadline


def deadlines_set(tables: Tables, node: int) -> Iterator[Deadline]:
    """Every deadline that a world was given, or rid of, in the order of the log."""
    return (_deadline(key, value) for key, value in tables.marks.scan(_DEADLINE + schema.U64.pack(node)))


def pinnings(tables: Tables, node: int) -> Iterator[Pinning]:
    """Every time that a world was pinned, or its pin taken off, in the order of the log."""
    return (_pinning(key, value) for key, value in tables.marks.scan(_PIN + schema.U64.pack(node)))


def is_pinned(tables: Tables, node: int, seq: int) -> bool:
    """Whether a world is pinned as known at a commit."""
    prefix = _PIN + schema.U64.pack(node)
    found = tables.marks.last(prefix, prefix + schema.U64.pack(seq))
    return found is not None and _pinning(*found).is_pinned


def pinned_ever(tables: Tables) -> Iterator[int]:
    """Every world that was ever pinned, in log order."""
    before = -1
    for key, _ in tables.marks.scan(_PIN):
        _, node, _ = schema.MARK_KEY.unpack(key)
        if node != before:
            yield node
        before = node


def is_hidden(tables: Tables, node: int, seq: int, first: int, last: int | None = None) -> bool:
    """Whether a deadline hides a world, as known at a commit, from a time on; up to ``last``, if that is given.

    What is pinned is never hidden.
    """
    deadline = deadline_at(tables, node, seq)
    return (
        deadline is not None and deadline.at <= (first if last is None else last) and not is_pinned(tables, node, seq)
    )


def hidden_since(tables: Tables, seq: int, valid: int) -> Iterator[int]:
    """The worlds whose deadline, as known at a commit, has passed at a time, in log order."""
    before = -1
    for key, _ in tables.marks.scan(_DEADLINE):
        _, node, _ = schema.MARK_KEY.unpack(key)
        if node != before and is_hidden(tables, node, seq, valid):
            yield node
        before = node


def labels_of(tables: Tables, node: int) -> Iterator[tuple[int, schema.AliasRow]]:
    """Every label that a world was ever given by its number, in that order."""
    for key, value in tables.marks.scan(_LABEL + schema.U64.pack(node)):
        yield schema.LABEL_KEY.unpack(key)[2], schema.AliasRow._make(schema.ALIAS.unpack(value))


def labels_given(tables: Tables, node: int) -> int:
    """How many labels a world was ever given."""
    prefix = _LABEL + schema.U64.pack(node)
    found = tables.marks.last(prefix, prefix + schema.U32.pack(2**32 - 1))
    return 0 if found is None else int(schema.LABEL_KEY.unpack(found[0])[2])


def labelled(tables: Tables, digest: bytes) -> Iterator[tuple[int, int]]:
    """(node, commit of the first use) of every world that ever had a label."""
    for key, value in tables.marks.scan(_HOLDER + digest):
        yield int.from_bytes(key[-8:], "big"), int.from_bytes(value, "big")


def has_labels(tables: Tables, node: int, digests: Sequence[bytes], seq: int) -> bool:
    """Whether a world has all of some labels, as known at a commit."""
    held = {row.name for _, row in labels_of(tables, node) if row.seq <= seq < row.removed}
    return held.issuperset(digests)


def _deadline(key: bytes, value: bytes) -> Deadline:
    return Deadline(schema.MARK_KEY.unpack(key)[2], *schema.DEADLINE.unpack(value))


def _pinning(key: bytes, value: bytes) -> Pinning:
    flag, details = schema.PIN.unpack(value)
    return Pinning(schema.MARK_KEY.unpack(key)[2], bool(flag), details)
