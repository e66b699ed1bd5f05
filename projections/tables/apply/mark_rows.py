"""Marks of worlds (deadlines, pins, labels, tags, deprecations): what is worth looking at, and never what is true.

A mark stands from its commit on until another one of its kind is set, or it is taken back, and what stood before is
kept, so that earlier views see what stood then. Marks lie outside of world hashes and inside the chain, as aliases do.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from worlddb.log.model import events as ev
from worlddb.log.model import times
from worlddb.projections.tables.apply.deferred_rows import DeferredRows
from worlddb.projections.tables.names.canonical import NO_NAME, name_digest
from worlddb.projections.tables.storage import schema
from worlddb.projections.tables.storage.rows import Tables

_DEADLINE, _PIN, _DEPRECATION = schema.DEADLINES, b"\x02", schema.DEPRECATIONS
_ASSIGNED = b"\x07"


class Names(NamedTuple):
    """Where the names of one kind of mark are kept: by their numbers, and who ever had one by its digest."""

    given: bytes
    holder: bytes


LABELS = Names(b"\x03", b"\x04")
TAGS = Names(b"\x06", b"\x08")


class Deadline(NamedTuple):
    """A deadline that commit ``seq`` set: its time (:data:`times.FOREVER`: none), and how long a refresh lasts."""

    seq: int
    at: int
    lasts: int
    details: int


class Switch(NamedTuple):
    """Commit ``seq`` pinned or deprecated a world, or took that back."""

    seq: int
    is_set: bool
    details: int


class Assignment(NamedTuple):
    """Since commit ``seq`` a tag stands for a version; 0: for none."""

    seq: int
    version: int
    details: int


def apply_expires(on: DeferredRows, event: ev.Expires) -> None:
    """Hide a world from a time on, or at no time any more."""
    key = schema.MARK_KEY.pack(_DEADLINE[0], on.number(event.lineage), on.seq)
    on.tables.marks.put(key, schema.DEADLINE.pack(event.at, event.lasts, event.details))


def apply_pinned(on: DeferredRows, event: ev.Pinned) -> None:
    """Pin a world, or take the pin off."""
    key = schema.MARK_KEY.pack(_PIN[0], on.number(event.lineage), on.seq)
    on.tables.marks.put(key, schema.PIN.pack(event.is_pinned, event.details))


def apply_deprecated(on: DeferredRows, event: ev.Deprecated) -> None:
    """Deprecate a world, or take that back."""
    key = schema.MARK_KEY.pack(_DEPRECATION[0], on.number(event.lineage), on.seq)
    on.tables.marks.put(key, schema.PIN.pack(event.is_deprecated, event.details))


def apply_labelled(on: DeferredRows, event: ev.Labelled) -> None:
    """Put a label on a world; of one whose text was erased nothing is left but its number."""
    node = on.number(event.lineage)
    _put_name(on, LABELS, node, count_names_given(on.tables, LABELS, node) + 1, event.details, event.position)


def apply_unlabelled(on: DeferredRows, event: ev.Unlabelled) -> None:
    """Take a label off."""
    node = on.number(event.lineage)
    key = schema.LABEL_KEY.pack(LABELS.given[0], node, event.label)
    stored = on.tables.marks.get(key)
    if stored is None:
        raise KeyError(f"commit {on.seq} names the unknown label {event.label} of node {node}")
    row = schema.AliasRow._make(schema.ALIAS.unpack(stored))
    on.tables.marks.put(key, schema.ALIAS.pack(*row._replace(removed=on.seq)))


def apply_tagged(on: DeferredRows, event: ev.Tagged) -> None:
    """Let a tag stand for a version, or for none any more."""
    node = on.number(event.lineage)
    if on.tables.marks.get(schema.LABEL_KEY.pack(TAGS.given[0], node, event.tag)) is None:
        _put_name(on, TAGS, node, event.tag, event.details, 0)
    key = schema.TAG_KEY.pack(_ASSIGNED[0], node, event.tag, on.seq)
    on.tables.marks.put(key, schema.TAG.pack(event.version, event.details))


def apply_recalled(on: DeferredRows, event: ev.Recalled) -> None:
    """Remember with each world that a kept receipt names where that is, and how many it names."""
    for lineage in dict.fromkeys((event.world, *event.shown) if event.world else event.shown):
        key = schema.RECEIPT_KEY.pack(schema.RECEIPTS[0], on.number(lineage), on.seq, event.details)
        on.tables.marks.put(key, schema.U32.pack(len(event.shown)))


def receipts_naming(tables: Tables, node: int, seq: int) -> Iterator[tuple[int, int]]:
    """Commit and position of every kept receipt that names a world, as known at a commit, in the order of the log."""
    for key, _ in tables.marks.scan(schema.RECEIPTS + schema.U64.pack(node)):
        _, _, kept, position = schema.RECEIPT_KEY.unpack(key)
        if kept <= seq:
            yield kept, position


def apply_accessed(on: DeferredRows, event: ev.Accessed) -> None:
    """Remember when worlds were used."""
    used: dict[int, bytes] = {}
    for lineage, at in zip(event.shown, event.at, strict=True):
        node = on.number(lineage)
        used[node] = used.get(node, b"") + schema.ACCESS.pack(at)
    for node, packed in used.items():
        on.tables.marks.put(schema.MARK_KEY.pack(schema.ACCESSES[0], node, on.seq), packed)


MAX_ACCESSES: Final = 256
"""As many of the latest accesses of a world count."""


def accesses_of(tables: Tables, node: int, seq: int, valid: int) -> list[int]:
    """When a world was used up to a valid time, as known at a commit: the latest, the earliest of these first."""
    found: list[int] = []
    for key, packed in tables.marks.scan(schema.ACCESSES + schema.U64.pack(node)):
        if schema.MARK_KEY.unpack(key)[2] <= seq:
            found.extend(at for (at,) in schema.ACCESS.iter_unpack(packed) if at <= valid)
    return sorted(found)[-MAX_ACCESSES:]


def _put_name(on: DeferredRows, kind: Names, node: int, number: int, at: int, position: int) -> None:
    """Give a world a label or a tag by a number of its own."""
    tables = on.tables
    details = on.blobs.details(at)
    digest = NO_NAME if details is None else name_digest(details.aliases[position])
    row = schema.AliasRow(digest, on.seq, schema.LIVE, at, position)
    tables.marks.put(schema.LABEL_KEY.pack(kind.given[0], node, number), schema.ALIAS.pack(*row))
    holder = kind.holder + digest + schema.U64.pack(node)
    if digest != NO_NAME and tables.marks.get(holder) is None:
        tables.marks.put(holder, schema.U64.pack(on.seq))


def forget_names(tables: Tables, node: int) -> None:
    """Forget the digests of all labels and tags that a world ever had: they were made of the texts."""
    for kind in (LABELS, TAGS):
        for number, row in list(names_of(tables, kind, node)):
            holder = kind.holder + row.name + schema.U64.pack(node)
            if row.name != NO_NAME and tables.marks.get(holder) is not None:
                tables.marks.put(holder, None)
            key = schema.LABEL_KEY.pack(kind.given[0], node, number)
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


def pinnings(tables: Tables, node: int) -> Iterator[Switch]:
    """Every time that a world was pinned, or its pin taken off, in the order of the log."""
    return (_switch(key, value) for key, value in tables.marks.scan(_PIN + schema.U64.pack(node)))


def deprecations(tables: Tables, node: int) -> Iterator[Switch]:
    """Every time that a world was deprecated, or that was taken back, in the order of the log."""
    return (_switch(key, value) for key, value in tables.marks.scan(_DEPRECATION + schema.U64.pack(node)))


def is_pinned(tables: Tables, node: int, seq: int) -> bool:
    """Whether a world is pinned as known at a commit."""
    return _is_set(tables, _PIN, node, seq)


def is_deprecated(tables: Tables, node: int, seq: int) -> bool:
    """Whether a world is deprecated as known at a commit."""
    return _is_set(tables, _DEPRECATION, node, seq)


def _is_set(tables: Tables, kind: bytes, node: int, seq: int) -> bool:
    prefix = kind + schema.U64.pack(node)
    found = tables.marks.last(prefix, prefix + schema.U64.pack(seq))
    return found is not None and _switch(*found).is_set


def pinned_ever(tables: Tables) -> Iterator[int]:
    """Every world that was ever pinned, in log order."""
    return _ever_set(tables, _PIN)


def deprecated_ever(tables: Tables) -> Iterator[int]:
    """Every world that was ever deprecated, in log order."""
    return _ever_set(tables, _DEPRECATION)


def _ever_set(tables: Tables, kind: bytes) -> Iterator[int]:
    before = -1
    for key, _ in tables.marks.scan(kind):
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


def names_of(tables: Tables, kind: Names, node: int) -> Iterator[tuple[int, schema.AliasRow]]:
    """Every label or tag that a world was ever given by its number, in that order."""
    for key, value in tables.marks.scan(kind.given + schema.U64.pack(node)):
        yield schema.LABEL_KEY.unpack(key)[2], schema.AliasRow._make(schema.ALIAS.unpack(value))


def count_names_given(tables: Tables, kind: Names, node: int) -> int:
    """How many labels, or tags, a world was ever given."""
    prefix = kind.given + schema.U64.pack(node)
    found = tables.marks.last(prefix, prefix + schema.U32.pack(2**32 - 1))
    return 0 if found is None else int(schema.LABEL_KEY.unpack(found[0])[2])


def holders(tables: Tables, kind: Names, digest: bytes) -> Iterator[tuple[int, int]]:
    """(node, commit of the first use) of every world that ever had a label, or a tag."""
    for key, value in tables.marks.scan(kind.holder + digest):
        yield int.from_bytes(key[-8:], "big"), int.from_bytes(value, "big")


def has_labels(tables: Tables, node: int, digests: Sequence[bytes], seq: int) -> bool:
    """Whether a world has all of some labels, as known at a commit."""
    held = {row.name for _, row in names_of(tables, LABELS, node) if row.seq <= seq < row.removed}
    return held.issuperset(digests)


def assigned(tables: Tables, node: int, tag: int, seq: int) -> int:
    """The version that a tag of a world stands for, as known at a commit; 0 for none."""
    prefix = schema.LABEL_KEY.pack(_ASSIGNED[0], node, tag)
    found = tables.marks.last(prefix, prefix + schema.U64.pack(seq))
    return 0 if found is None else schema.TagRow._make(schema.TAG.unpack(found[1])).version


def assignments(tables: Tables, node: int, tag: int) -> Iterator[Assignment]:
    """Every version that a tag of a world ever stood for, in the order of the log."""
    for key, value in tables.marks.scan(schema.LABEL_KEY.pack(_ASSIGNED[0], node, tag)):
        yield Assignment(schema.TAG_KEY.unpack(key)[3], *schema.TAG.unpack(value))


def _deadline(key: bytes, value: bytes) -> Deadline:
    return Deadline(schema.MARK_KEY.unpack(key)[2], *schema.DEADLINE.unpack(value))


def _switch(key: bytes, value: bytes) -> Switch:
    flag, details = schema.PIN.unpack(value)
    return Switch(schema.MARK_KEY.unpack(key)[2], bool(flag), details)
