"""Rows of a wrong length and records with an unknown tag are reported as damage."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

import worlddb
from tests.query.reads.test_isolation_vectors import LetterCounts
from tests.support.faults import forge
from worlddb.log.store.environment import Environment
from worlddb.projections.tables.apply.apply import erasure_of
from worlddb.projections.tables.apply.log_marks import bookmarks_at
from worlddb.projections.tables.apply.settings import registered, tunings_known
from worlddb.projections.tables.reads.asof import spaces, vector_place
from worlddb.projections.tables.storage.rows import Tables
from worlddb.projections.tables.storage.schema import FIRST_TABLE_BYTE, LIVE, TABLES, U64, VECTOR_KEY, VERSION_KEY


def number(key: bytes) -> int:
    return int(U64.unpack_from(key)[0])


READS: Final[dict[str, Callable[[Tables, bytes], object]]] = {
    "nodes": lambda tables, key: tables.node(number(key)),
    "versions": lambda tables, key: tables.version(*VERSION_KEY.unpack(key)),
    "aliases": lambda tables, key: list(tables.aliases(number(key))),
    "out": lambda tables, key: list(tables.outgoing(number(key))),
    "back": lambda tables, key: list(tables.incoming(number(key))),
    "edges": lambda tables, key: tables.place_of(key),
    "edge_keys": lambda tables, key: tables.place_of_key(key),
    "proposals": lambda tables, key: tables.proposal(key),
    "erasures": lambda tables, key: erasure_of(tables, number(key)),
    "bookmarks": lambda tables, key: list(bookmarks_at(tables, LIVE)),
    "registrations": lambda tables, key: registered(tables, LIVE, ended=True),
    "tunings": lambda tables, key: tunings_known(tables, LIVE, ended=True),
    "spaces": lambda tables, key: list(spaces(tables)),
    "vectors": lambda tables, key: vector_place(tables, *VECTOR_KEY.unpack(key)),
}
"""A read of a row of each table whose rows have one length, by its key."""


@pytest.fixture
def furnished(store: Path) -> Path:
    """A store in which each of these tables has a row."""
    with worlddb.open(store, author="x", embedder=LetterCounts()) as db:
        db.create("Entity", "Beatrice")
        db.bookmark("now")
        db.register("causes", world=db.create("Entity", "Team").ref)
        db.tune(worlddb.Thresholds(), type="Person")
        db.embed()
    return store


def read(store: Path, table: str, key: bytes) -> object:
    env = Environment(store, author="x", timeout_seconds=5.0)
    try:
        with env.read() as txn:
            return READS[table](Tables(txn), key)
    finally:
        env.close()


@pytest.mark.parametrize("table", READS)
def test_a_row_with_a_byte_too_few_or_too_many_is_damage_and_the_tables_are_to_be_made_anew(
    table: str, furnished: Path
) -> None:
    store = furnished
    first = bytes([FIRST_TABLE_BYTE + TABLES.index(table)])
    # The last one: the first of the registrations says when they last changed.
    key, value = max(pair for pair in forge.pairs(store) if pair[0][:1] == first)
    assert read(store, table, key[1:])
    for wrong in (value[:-1], value + b"\x00"):
        forge.rewrite(store, [(key, wrong)])
        with pytest.raises(worlddb.DamagedStore, match="wrong length") as raised:
            read(store, table, key[1:])
        assert "worlddb rebuild tables" in raised.value.remedy
        with worlddb.open(store, author="x") as db:
            db.rebuild("tables")
        assert read(store, table, key[1:])


def test_a_view_and_a_write_that_meet_a_short_row_tell_of_damage(store: Path) -> None:
    first = bytes([FIRST_TABLE_BYTE + TABLES.index("nodes")])
    with worlddb.open(store, author="x") as db:
        ref = db.create("Entity", "Beatrice").ref
    forge.rewrite(store, [(key, value[:-1]) for key, value in forge.pairs(store) if key[:1] == first])
    with worlddb.open(store, author="x") as db:
        with pytest.raises(worlddb.DamagedStore, match="wrong length"):
            db.view().get(ref)
        with pytest.raises(worlddb.DamagedStore, match="wrong length"):
            db.revise(ref, name="Bice")


def test_what_a_host_cannot_unpack_within_a_transaction_is_its_own_error(store: Path) -> None:
    env = Environment(store, author="x", timeout_seconds=5.0)
    try:
        with pytest.raises(struct.error), env.read():
            U64.unpack(b"")
        with pytest.raises(struct.error):
            env.write(lambda txn: U64.unpack(b""))
    finally:
        env.close()


@pytest.mark.parametrize(("kind", "tag"), [(forge.EVENTS, b"created"), (forge.COMMIT, b"commit")])
def test_a_bit_that_makes_an_unknown_tag_of_a_known_one_is_damage_and_no_newer_format(
    kind: int, tag: bytes, store: Path
) -> None:
    pairs = [pair for pair in forge.pairs(store) if pair[0][0] == kind and tag in pair[1]]
    key, value = pairs[len(pairs) // 2]
    forge.rewrite(store, [(key, value.replace(tag, bytes([tag[0] ^ 1]) + tag[1:], 1))])
    seq = forge.seq_of(key)
    with worlddb.open(store, author="x") as db, pytest.raises(worlddb.DamagedStore, match="hash") as raised:
        list(db.log(seq, seq))
    assert raised.value.details["seq"] == seq and "backup" in raised.value.remedy
