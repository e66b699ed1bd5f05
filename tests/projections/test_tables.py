"""Compares the write buffer with a sorted dictionary, and rows with what was packed."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice, repeat
from pathlib import Path
from typing import Any
from zlib import crc32

import lmdb
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import worlddb
from bench.made_up.workload import load
from tests.query.reads.test_isolation_vectors import LetterCounts
from tests.support.examples import examples
from tests.support.model.ontology import Tagged
from tests.support.model.stores import new_store, worlds
from worlddb import Thresholds
from worlddb.log.model.times import ALWAYS, FOREVER
from worlddb.log.store import log
from worlddb.log.store.environment import release_large_blocks
from worlddb.projections import runner
from worlddb.projections.indexes import catchup
from worlddb.projections.tables.apply import deferred_rows
from worlddb.projections.tables.names.canonical import NO_NAME, name_digest, normalise_name, type_digest
from worlddb.projections.tables.storage import packed_runs, schema, transaction, write_buffer
from worlddb.projections.tables.storage.rows import Tables
from worlddb.projections.tables.storage.write_buffer import Table, nearest, scan_nodes

MAX_LMDB_KEY_BYTES = 511
GROUP = 2
FIRST = b"\x60"

keys = st.builds(
    bytes.__add__, st.sampled_from([b"aa", b"ab", b"b\xff", b"\xff\xff"]), st.binary(max_size=2).map(lambda b: b[:2])
)
values = st.binary(min_size=1, max_size=3)
prefixes = st.sampled_from([b"", b"a", b"aa", b"ab", b"b\xff", b"\xff", b"\xff\xff", b"aa\x00"])
puts = st.tuples(st.just("put"), keys, st.none() | values)
steps = st.lists(
    st.one_of(
        puts,
        puts,
        puts,
        st.tuples(st.just("flush"), st.none(), st.none()),
        st.tuples(st.just("commit"), st.none(), st.none()),
        st.tuples(st.just("clear"), st.none(), st.none()),
    ),
    max_size=25,
)


@contextmanager
def environment() -> Iterator[lmdb.Environment]:
    """An LMDB file with rows in neighbouring tables, so that an overrunning scan is seen."""
    with (
        tempfile.TemporaryDirectory(prefix="worlddb-test-") as folder,
        lmdb.open(folder, map_size=1 << 22, sync=False) as env,
    ):
        with env.begin(write=True) as txn:
            txn.put(b"\x5f\xff\xff", b"before")
            txn.put(b"\x61", b"after")
        yield env


def scanned(
    entries: dict[bytes, bytes], prefix: bytes, start: bytes | None, reverse: bool
) -> list[tuple[bytes, bytes]]:
    found = [
        (key, value)
        for key, value in entries.items()
        if key.startswith(prefix) and (start is None or (key <= start if reverse else key >= start))
    ]
    return sorted(found, reverse=reverse)


def check_batched_reads(table: Table, entries: dict[bytes, bytes], size: int = 3) -> None:
    for groups in ([b"aa", b"ab", b"ac", b"b\xff", b"\xff\xff"], [b"b\xff", b"aa", b"ab", b"\xff\xff", b"a\xff"]):
        each = [scanned(entries, group, None, False) for group in groups]
        assert [pair for group in table.scan_each(groups) for pair in group] == list(chain.from_iterable(each))
        firsts = [pair for group in table.scan_each(groups) for pair in islice(group, 1)]
        assert firsts == [group[0] for group in each if group]
        behind = [scanned(entries, group, group + b"b", False)[:2] for group in groups]
        assert [list(islice(group, 2)) for group in table.scan_on_each((group, b"b") for group in groups)] == behind
    alike = [key for key in entries if len(key) == size] + [b"aab".ljust(size, b"."), b"b\xffa".ljust(size, b".")]
    for some in (alike, alike[:1]):
        assert table.get_each(some) == list(map(entries.get, some))


@given(steps=steps, grouped=st.booleans(), prefix=prefixes, start=st.none() | keys, rest=st.binary(max_size=1))
def test_a_table_reads_as_a_sorted_dictionary_would_whatever_is_in_memory_and_what_on_disk(
    steps: list[tuple[str, Any, Any]], grouped: bool, prefix: bytes, start: bytes | None, rest: bytes
) -> None:
    # A start lies in the prefix: where else would a scan of the prefix begin?
    start = None if start is None else prefix + rest
    entries: dict[bytes, bytes] = {}
    with environment() as env:
        txn = env.begin(write=True)
        table = Table(txn, FIRST, GROUP if grouped else 0)
        for what, key, value in steps:
            if what == "put":
                table.put(key, value)
                entries.pop(key, None) if value is None else entries.update({key: value})
            elif what == "clear":
                table.clear()
                entries.clear()
            else:
                table.flush()
                if what == "commit":
                    txn.commit()
                    txn = env.begin(write=True)
                    table = Table(txn, FIRST, GROUP if grouped else 0)
            for reverse in (False, True):
                assert list(table.scan(prefix, start, reverse=reverse)) == scanned(entries, prefix, start, reverse)
                assert list(table.scan(b"", reverse=reverse)) == scanned(entries, b"", None, reverse)
            if start is not None:
                assert table.last(prefix, start) == next(iter(scanned(entries, prefix, start, True)), None)
            assert all(table.get(known) == found for known, found in entries.items())
            assert key is None or table.get(key) == entries.get(key)
            check_batched_reads(table, entries)
        txn.abort()
        with env.begin() as reading:
            assert (reading.get(b"\x5f\xff\xff"), reading.get(b"\x61")) == (b"before", b"after")


@given(before=st.dictionaries(keys, values, max_size=8), pairs=st.dictionaries(keys, values, max_size=8))
def test_many_new_pairs_at_once_are_the_same_as_one_after_the_other(
    before: dict[bytes, bytes], pairs: dict[bytes, bytes]
) -> None:
    with environment() as env, env.begin(write=True) as txn:
        table = Table(txn, FIRST, GROUP)
        for key, value in before.items():
            table.put(key, value)
        table.flush()
        table.put_new(list(pairs), pairs.values())
        assert dict(table.scan(b"")) == before | pairs
        for prefix in (b"aa", b"ab", b"b\xff"):
            assert list(table.scan(prefix)) == scanned(before | pairs, prefix, None, False)
        table.flush()
        assert dict(table.scan(b"")) == before | pairs


nodes = st.lists(st.integers(0, 12), unique=True).map(sorted)


@given(stored=st.sets(st.tuples(st.sampled_from([b"aa", b"ab"]), st.integers(0, 12), st.integers(0, 2))), asked=nodes)
def test_the_rows_of_some_worlds_are_those_of_all_without_the_others(
    stored: set[tuple[bytes, int, int]], asked: list[int]
) -> None:
    with environment() as env, env.begin(write=True) as txn:
        table = Table(txn, FIRST, GROUP)
        for number, (prefix, node, more) in enumerate(sorted(stored)):
            table.put(prefix + schema.U64.pack(node) + bytes([more]), b"v")
            if number % 3 == 0:
                table.flush()
        expected = sorted(
            (prefix + schema.U64.pack(node) + bytes([more]), b"v")
            for prefix, node, more in stored
            if prefix == b"aa" and node in asked
        )
        assert list(scan_nodes(table, b"aa", asked)) == expected


u8, u16, u32, u64 = (st.integers(0, 2**bits - 1) for bits in (8, 16, 32, 64))
i32, i64 = st.integers(-(2**31), 2**31 - 1), st.integers(ALWAYS, FOREVER)


def raw(size: int) -> st.SearchStrategy[bytes]:
    return st.binary(min_size=size, max_size=size)


ROWS: list[tuple[Any, Any, st.SearchStrategy[Any]]] = [
    (schema.NODE, schema.NodeRow, st.tuples(raw(16), u64, i64, u32, u32, u64, raw(32), u64, i64)),
    (schema.VERSION, schema.VersionRow, st.tuples(raw(32), u64, i64, i64, u64, i32, i32, raw(16), raw(8), u8)),
    (schema.EDGE, schema.EdgeRow, st.tuples(raw(32), u64, u64, u32, u32, u64, u64, i64, i64, u64, i32, u16)),
    (schema.EDGE_PLACE, schema.EdgePlace, st.tuples(u64, u16, u64)),
    (schema.ALIAS, schema.AliasRow, st.tuples(raw(16), u64, u64, i32, u32)),
    (schema.PROGRESS, schema.Progress, st.tuples(u64, u64, u64, u16)),
    (
        schema.PROPOSAL,
        schema.ProposalRow,
        st.tuples(
            *(u64, u64, u32, u32, u64, u64, i64, i32, raw(16), u16, st.integers(0, 3), u64),
        ),
    ),
]


@pytest.mark.parametrize(("packing", "row", "drawn"), ROWS, ids=[row.__name__ for _, row, _ in ROWS])
def test_a_row_comes_back_as_it_was_packed(packing: Any, row: Any, drawn: st.SearchStrategy[Any]) -> None:
    @given(fields=drawn)
    def comes_back(fields: tuple[Any, ...]) -> None:
        stored = packing.pack(*row._make(fields))
        assert len(stored) == packing.size
        assert row._make(packing.unpack(stored)) == fields

    comes_back()


def test_tables_keep_their_first_bytes_and_their_names_and_every_key_fits() -> None:
    assert (schema.TABLES[0], schema.TABLES[18], schema.FIRST_TABLE_BYTE) == ("progress", "keys", 0x40)
    assert schema.TABLES[19:21] == ("bookmarks", "log_tree")
    assert schema.TABLES[21:23] == ("erasures", "forbidden")
    assert schema.TABLES[23:26] == ("registrations", "spaces", "vectors")
    assert schema.TABLES[26:31] == ("forms", "blocks", "tunings", "space_changes", "holders")
    assert schema.TABLES[31:35] == ("retracted", "trusts", "restatements", "marks")
    assert schema.TABLES[35:] == ("terms", "term_places", "by_subject", "by_predicate", "by_object")
    assert set(schema.PREFIX_BYTES) <= set(schema.TABLES)
    with new_store() as db:
        one, other = worlds(db, 2)
        db.alias(one, "x" * 16_000)
        db.state(one, [("<urn:a:a>", "<urn:a:p>", "<urn:a:b>")])
        db.link(one, "implies", other, key="k" * 4_000, properties={"p": 1})
        db.unlink(db.link(one, "refers_to", other))
        db.accept(db.link(one, "same_as", other))
        db.retire(other, idempotency_key="i" * 4_000)
        db.bookmark("b" * 16_000)
        db.register(Tagged("t" * 256, 1))
        db.link(one, "t" * 256, other)
        db.erase(db.create("Thing", "brief"), reason="r", forbid=True)
        db.create("Fact", "with a text", content="to embed")
        db.embed()
        db.tune(Thresholds(), type="t" * 256)
        db.reembed(LetterCounts())
        db.drop_space("default")
        db.trust("low", author="a" * 4_000)
        db.label(one, "l" * 256)
        db.tag(one, "l" * 256)
        db.deprecate(other)
        db.restate(one, source={"t" * 256: "v" * 4_000})
        db.trust("fair", source={"t" * 256: "v" * 16_000})
        with db._env.read() as txn:
            sizes = {name: [len(key) for key, _ in table.scan(b"")] for name, table in Tables(txn).by_name().items()}
    assert {name for name, found in sizes.items() if not found} == set()
    named = [max(sizes.pop(name)) for name in ("edge_types", "registrations", "tunings")]
    assert max(named) == 2 + 256 + 8 + 8 < MAX_LMDB_KEY_BYTES
    assert max(max(found) for found in sizes.values()) < 64


def test_edge_types_have_the_codes_of_the_format_and_custom_ones_get_the_next() -> None:
    closed = "these codes are closed: a later built-in type goes into LATER_BUILT_IN"
    assert sorted(schema.EDGE_TYPE_CODES.values()) == list(range(1, 12)), closed
    assert (schema.EDGE_TYPE_CODES["contains"], schema.EDGE_TYPE_CODES["precedes"]) == (1, 11)
    with environment() as env, env.begin(write=True) as txn:
        tables = Tables(txn)
        assert tables.type_code("admires") is None
        given_codes = [tables.give_type_code(name) for name in ("admires", "fears", "admires", "implies")]
        assert given_codes == [256, 257, 256, schema.EDGE_TYPE_CODES["implies"]]
        assert [tables.type_name(code) for code in (256, 257, 1)] == ["admires", "fears", "contains"]


def test_the_types_whose_handlers_follow_no_edges_are_these() -> None:
    """A saving and no matter of correctness, so that a plain type may be left out, and ``contains`` never put in.

    Deferred rows remember no ends of these edges. Whoever follows one nevertheless has the rows written first.
    """
    names = {name for name, code in schema.EDGE_TYPE_CODES.items() if code in schema.UNFOLLOWED}
    assert names == {"refers_to", "implies", "instance_of", "same_as"}


@given(name=st.text(max_size=12))
def test_names_are_compared_without_case_spacing_and_compatibility_forms(name: str) -> None:
    plain = normalise_name(name)
    assert normalise_name(plain) == plain
    assert normalise_name(f"  {name}\t") == plain
    assert name_digest(name) == name_digest(plain)
    assert (name_digest(name) == NO_NAME) == (plain == "")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        *(("Ada", "ADA"), ("Straße", "STRASSE"), ("Ａｄａ", "ada"), ("Å", "å"), ("Å", "A\u030a"), ("a  b", "A\u3000B")),
        *(("ﬁsh", "FISH"), ("Σίσυφος", "ΣΊΣΥΦΟΣ"), ("ｶﾞ", "ガ")),
    ],
)
def test_these_are_one_name(one: str, other: str) -> None:
    assert normalise_name(one) == normalise_name(other)


def test_types_are_compared_exactly() -> None:
    assert type_digest("Person") != type_digest("person") != type_digest("person ")
    assert name_digest("type") != type_digest("type")


@pytest.mark.parametrize(
    ("codes", "digest"),
    [
        pytest.param(
            [range(0x110000)],
            "cd0f3c91b5dd09f763ab112df9083ba517b258810342694112e478d7adbb86d3",
            marks=pytest.mark.soak,
            id="all",
        ),
        pytest.param(
            [range(0x20000), range(0xE0000, 0xE0200)],
            "14d6ff6f3af5a065f2425b8119c22c640ed0a2056cc6dc3b1d65b2d9a1e2755f",
            id="letters that are no ideographs",
        ),
    ],
)
def test_every_python_makes_the_same_of_every_letter(codes: list[range], digest: str) -> None:
    """Each has a Unicode of its own. The digest is Python 3.11's, from before letters of later ones were left alone."""
    found = hashlib.sha256()
    for first in (first for span in codes for first in span[::256]):
        letters = (chr(code) for code in range(first, first + 256) if not 0xD800 <= code < 0xE000)
        found.update(normalise_name(" ".join(f"A{letter}\u0307\u0323" for letter in letters)).encode())
    assert found.hexdigest() == digest


packed_steps = st.lists(
    st.one_of(
        puts, puts, puts, *(st.tuples(st.just(what), st.none(), st.none()) for what in ("flush", "pack", "pack"))
    ),
    max_size=40,
)


@pytest.fixture
def small_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are packed as soon as there are a few, and a page has two or three."""
    monkeypatch.setattr(packed_runs, "MAX_UNPACKED", 6)
    monkeypatch.setattr(packed_runs, "FEW", 2)
    monkeypatch.setattr(packed_runs, "PAGE_ROOM", 24)
    monkeypatch.setattr(packed_runs, "_MANY", 2)
    monkeypatch.setattr(write_buffer, "SHORT", 3)
    monkeypatch.setattr(transaction, "COUNTED_EVERY", 10)


@pytest.mark.usefixtures("small_runs")
@examples(10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    steps=packed_steps,
    prefix=prefixes,
    start=st.none() | keys,
    rest=st.binary(max_size=1),
    most=st.integers(1, 5),
    fixed=st.sampled_from([None, (4, 3)]),
    wholes=st.tuples(*[st.sampled_from([None, 4])] * 2),
)
def test_a_packed_table_reads_as_a_sorted_dictionary_would(
    steps: list[tuple[str, Any, Any]],
    prefix: bytes,
    start: bytes | None,
    rest: bytes,
    most: int,
    fixed: tuple[int, int] | None,
    wholes: tuple[int | None, int | None],
) -> None:
    """Filters know whole keys or not, or those of later runs do."""
    whole, later = wholes if fixed else (None, None)
    if fixed:
        steps = [(what, key and key.ljust(4, b"\0"), value and value.ljust(3, b"\0")) for what, key, value in steps]
    start = None if start is None else prefix + rest
    entries: dict[bytes, bytes] = {}
    with environment() as env, env.begin(write=True) as txn:
        table = packed_runs.PackedTable(txn, FIRST, GROUP, (2,), False, [], fixed, whole)
        for what, key, value in steps:
            if what == "put":
                table.put(key, value)
                entries.pop(key, None) if value is None else entries.update({key: value})
            else:
                table.pack() if what == "pack" else table.flush()
                packed_runs.put_runs(txn, {"names": table.runs})
                stored = bytes(txn.get(packed_runs.RUNS_KEY) or b"")
                listed = list(packed_runs.listed_runs(stored).get("names", []))
                assert listed == table.runs
                table = packed_runs.PackedTable(txn, FIRST, GROUP, (2,), False, listed, fixed, later)
            for reverse in (False, True):
                assert list(table.scan(prefix, start, reverse=reverse)) == scanned(entries, prefix, start, reverse)
                assert list(table.scan(b"", reverse=reverse)) == scanned(entries, b"", None, reverse)
            if start is not None:
                assert table.last(prefix, start) == next(iter(scanned(entries, prefix, start, True)), None)
            assert all(table.get(known) == found for known, found in entries.items())
            assert key is None or table.get(key) == entries.get(key)
            check_batched_reads(table, entries, 4 if fixed else 3)
            groups = (b"aa", b"ab", b"b\xff", b"\xff\xff")
            table.read_ahead(groups[:2])
            for group in groups:
                inside = scanned(entries, group, None, False)
                assert table.has_group(group, fresh=False) or not inside
                assert table.waiting or table.stored(group) == inside
                behind = [(FIRST + key, value) for key, value in inside if key >= group + rest]
                before = [(FIRST + key, value) for key, value in inside[::-1] if key < group + rest]
                near, whole = nearest(behind, before, most)
                found = table.around(group, rest, most)
                assert (sorted(found[0]), found[1]) == (sorted(near), whole)
        assert all(
            packed_runs.is_of_runs(bytes(key), {FIRST: table.runs}) for key in keys_from(txn, packed_runs.RUNS_KEY)
        )
        table.flush()
        table.pack()
        assert dict(table.scan(b"")) == entries
        kept = b"".join(bytes(value) for _, value in txn.cursor())
        assert len(table.runs) < 12 or len(entries) > 12
        table.clear()
        packed_runs.clear_runs(txn)
        assert keys_from(txn, packed_runs.RUNS_KEY) == [] and kept


@pytest.mark.parametrize("fixed", [None, (4, 3)])
def test_columns_that_nobody_has_read_are_packed_as_they_would_read(fixed: tuple[int, int] | None) -> None:
    def column(begin: int, mark: bytes) -> dict[bytes, bytes]:
        return {bytes([number * 77 % 256, begin, 1, 2]): mark * 3 for number in range(begin, begin + 100)}

    with environment() as env, env.begin(write=True) as txn:
        table = packed_runs.PackedTable(txn, FIRST, GROUP, (2,), False, [], fixed)
        columns = [column(0, b"a"), column(1, b"b"), column(1, b"c"), column(2, b"d")]
        expected = {key: value for some in columns for key, value in some.items()}
        for key, value in {**columns[0], b"gone": b"old"}.items():
            table.put(key, value)
        table.flush()
        for key in (b"gone", b"back"):
            table.put(key, b"new")
            table.put(key, None)
        for some in columns[1:]:
            table.put_new(list(some), iter(some.values()))
        table.pack()
        assert dict(table.scan(b"")) == expected and list(table.faults()) == []
        assert len(table.runs) == 1 and table.runs[0].rows == len(expected)


def keys_from(txn: lmdb.Transaction, first: bytes) -> list[bytes]:
    with txn.cursor() as cursor:
        return [bytes(key) for key in cursor.iternext(values=False)] if cursor.set_range(first) else []


def test_one_of_many_edges_of_a_world_is_looked_for_in_its_own_run() -> None:
    def opened(whole: int | None) -> packed_runs.PackedTable:
        return packed_runs.PackedTable(txn, FIRST, GROUP, (10, 8), False, runs, (18, 2), whole)

    runs: list[packed_runs.Run] = []
    keys = [schema.EDGE_KEY.pack(7, schema.CONTAINS_CODE, number) for number in range(1, 901)]
    with environment() as env, env.begin(write=True) as txn:
        for whole, some in ((None, keys[:300]), (18, keys[300:600]), (18, keys[600:])):
            table = opened(whole)
            for key in some:
                table.put(key, key[-2:])
            table.pack()
        old, middle, new = table.runs
        table = opened(18)
        assert all(old in table._holding(key) for key in keys)
        assert sum(middle in table._holding(key) for key in keys[:300] + keys[600:]) < 20
        assert sum(new in table._holding(key) for key in keys[:600]) < 20
        assert table._holding(keys[0][:10]) == table._holding(keys[0][:8]) == [new, middle, old]
        for run, held in table._holding_each(keys):
            assert held == [key for key in keys if run in table._holding(key)]
        assert table.get_each(keys) == [table.get(key) for key in keys] == [key[-2:] for key in keys]
        # As a release reads them that knows nothing of it.
        assert opened(None).get_each(keys) == [opened(None).get(key) for key in keys] == [key[-2:] for key in keys]


@pytest.mark.parametrize("fixed", [(18, 2), None])
def test_a_run_from_before_a_world_is_not_asked_for_what_lies_under_it(fixed: tuple[int, int] | None) -> None:
    def opened() -> packed_runs.PackedTable:
        return packed_runs.PackedTable(txn, FIRST, GROUP, (10, 8), False, runs, fixed)

    runs: list[packed_runs.Run] = []
    key = schema.EDGE_KEY.pack
    with environment() as env, env.begin(write=True) as txn:
        for worlds, edges in (
            (range(300), range(300)),
            (range(0, 900, 3), range(300, 600)),
            (range(200), range(9, 209)),
        ):
            table = opened()
            for world, edge in zip(worlds, edges, strict=True):
                table.put(key(world, 2, edge), schema.U16.pack(edge))
            table.pack()
        old, middle, new = runs
        table = opened()
        # The newest ends before the one in the middle, and is asked all the same: few do.
        assert table._holding(key(897, 2, 599)[:8]) == [middle]
        asked = [
            [run for *_, run in table._runs_to_search().reaching(schema.U64.pack(world))]
            for world in (0, 299, 300, 898)
        ]
        assert asked == [[new, middle, old], [new, middle, old], [new, middle], []]
        assert table.get(key(299, 2, 299)) == schema.U16.pack(299) and table.get(key(300, 2, 400)) == schema.U16.pack(
            400
        )
        assert table.get(key(898, 2, 400)) is None and table.stored(schema.U64.pack(2**40)) == []
        for reverse in (False, True):
            rows = list(table.scan(schema.U64.pack(3), reverse=reverse))
            assert [pair[0] for pair in rows][:: -1 if reverse else 1] == [key(3, 2, 3), key(3, 2, 12), key(3, 2, 301)]
        upto = table.scan(schema.EDGE_PREFIX.pack(3, 2), key(3, 2, 12), reverse=True)
        assert [pair[0] for pair in upto] == [key(3, 2, 12), key(3, 2, 3)]


@pytest.mark.usefixtures("small_runs")
@pytest.mark.parametrize("fixed", [None, (4, 3)])
def test_a_merge_waits_for_a_commit_that_has_merged_less(
    monkeypatch: pytest.MonkeyPatch, fixed: tuple[int, int] | None
) -> None:
    monkeypatch.setattr(packed_runs, "MAX_MERGED_AT_ONCE", 20)
    with environment() as env, env.begin(write=True) as txn:
        table = packed_runs.PackedTable(txn, FIRST, GROUP, (2,), False, [], fixed)
        rows = {bytes([number % 7, 1, number, 2]): bytes([number] * 3) for number in range(60)}
        for number, (key, value) in enumerate(rows.items()):
            table.put(key, value)
            if number % 10 == 9:
                assert table.pack(merged=1) == 1
        assert len(table.runs) == 6 and dict(table.scan(b"")) == rows
        assert table.pack() == 60
        assert len(table.runs) == 1 and dict(table.scan(b"")) == rows


def test_to_pack_a_table_without_rows_of_its_own_no_row_of_another_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight tables read 8,192 rows each in every commit of a load, and threw them away."""
    read: list[Any] = []

    def counting(pairs: Iterator[Any], *most: int) -> Iterator[Any]:
        found = list(islice(pairs, *most))
        read.extend(found)
        return iter(found)

    monkeypatch.setattr(packed_runs, "islice", counting)
    with environment() as env, env.begin(write=True) as txn:
        table = packed_runs.PackedTable(txn, FIRST, 0, (2,), False, [], (4, 3))
        table.put(b"aabb", b"new")
        table.pack()
        assert read == [] and dict(table.scan(b"")) == {b"aabb": b"new"}


def test_few_looks_go_into_a_run_in_vain_and_a_filter_of_one_bit_each_is_read_as_before() -> None:
    keys = [hashlib.sha256(b"%d" % number).digest()[:16] for number in range(4_000)]
    here, absent = keys[:2_000], keys[2_000:]
    with environment() as env, env.begin(write=True) as txn:
        table = packed_runs.PackedTable(txn, FIRST, 0, (16,), False, [], (16, 8))
        for key in here:
            table.put(key, key[:8])
        table.pack()
        assert sum(bool(table._holding(key)) for key in absent) < 60
        (each,) = table._holding_each(absent)
        assert each[1] == [key for key in absent if table._holding(key)]
        (run,) = table.runs
        many = 8 * len(txn.get(table._place(packed_runs.FILTERS, run.number)) or b"")
        bits = bytearray(many // 8)
        for at in (crc32(key) % many for key in here):
            bits[at >> 3] |= 1 << (at & 7)
        txn.put(table._place(packed_runs.FILTERS, run.number), bytes(bits))
        one_bit = [run._replace(filter=packed_runs._digest(bytes(bits)))]
        table = packed_runs.PackedTable(txn, FIRST, 0, (16,), False, one_bit, (16, 8))
        assert table.get_each(here) == [table.get(key) for key in here] == [key[:8] for key in here]
        assert 100 < sum(bool(table._holding(key)) for key in absent) < 240
        assert list(table.faults()) == []


@pytest.mark.usefixtures("small_runs")
def test_runs_that_wait_become_one_with_those_that_came_since(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a table merged first once kept its own larger runs waiting, more of them each time: 45 of 40,000 rows."""
    monkeypatch.setattr(packed_runs, "MAX_MERGED_AT_ONCE", 40)
    with environment() as env, env.begin(write=True) as txn:
        table = packed_runs.PackedTable(txn, FIRST, GROUP, (2,), False, [], (4, 3))
        rows = {bytes([number // 200, number % 200, number % 7, 2]): bytes([number % 251] * 3) for number in range(240)}
        for number, (key, value) in enumerate(rows.items()):
            table.put(key, value)
            if number % 10 == 9:
                assert table.pack(merged=1) in (1, 41)
        sizes = [run.rows for run in table.runs]
        assert len(sizes) > 4 and table.runs_waiting == len(sizes), sizes
        assert table.pack() == 240
        assert len(table.runs) == 1 and dict(table.scan(b"")) == rows and not table.runs_waiting


@pytest.mark.usefixtures("small_runs")
def test_long_rows_of_groups_in_log_order_stay_in_smaller_runs_and_those_in_few(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(packed_runs, "MAX_MERGED_LOGGED", 100)
    with environment() as env, env.begin(write=True) as txn:
        table, merged = packed_runs.PackedTable(txn, FIRST, GROUP, (2,), True, []), list[int]()
        rows = {bytes([number % 7, 1, number >> 8, number & 255]): bytes([number % 251]) for number in range(600)}
        for number, (key, value) in enumerate(rows.items()):
            table.put(key, value)
            if number % 10 == 9:
                merged.append(table.pack())
        sizes = [run.rows for run in table.runs]
        assert max(merged) == max(sizes) == 80 and len(sizes) < 12, sizes
        assert dict(table.scan(b"")) == rows
        last = max(key for key in rows if key[0] == 3)
        assert table.last(last[:2], last) == (last, rows[last])


@pytest.mark.usefixtures("small_runs")
def test_no_table_waits_for_its_merges_without_end(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(packed_runs, "MAX_MERGED_AT_ONCE", 200)
    with load(tmp_path / "store", 5, 200, 800, 20)[0] as db, db.view()._snapshot() as snapshot:
        runs = snapshot.stored.tables.runs()
        assert all(len(runs[name]) <= 9 for name in ("out", "back", "edges")), runs


def test_keys_that_agree_for_longer_than_a_key_of_lmdb_share_a_page():
    with environment() as env, env.begin(write=True) as txn:
        table = packed_runs.PackedTable(txn, FIRST, 0, (2,), False, [])
        rows = {b"k" * 495 + bytes([number]) * 12: bytes([number]) * 255 for number in range(64)}
        for key, value in rows.items():
            table.put(key, value)
        table.pack()
        assert dict(table.scan(b"")) == rows
        assert all(table.get(key) == value for key, value in rows.items())
        assert list(table.scan(b"k" * 495, reverse=True)) == sorted(rows.items(), reverse=True)


@pytest.mark.usefixtures("small_runs")
def test_a_store_with_packed_rows_has_the_hashes_of_one_without_and_can_be_checked_rebuilt_and_erased(tmp_path):
    with load(tmp_path / "packed", 5, 40, 80, 30)[0] as db:
        root, names = db.head().root, {bytes(key[1:2]) for key in packed_keys(db)}
        assert len(names) == len(schema.PACKED) - 2, "all but those that need a caller's key"
        assert db.verify(deep=True).ok
        worlds = db.view().find(type="Entity")
        texts, gone = [world.name for world in worlds], worlds[-1]
        db.erase(gone.ref, reason="asked for")
        assert db.verify(deep=True).ok
        held = b"".join(key + value for key, value in pairs_of(db))
        words = gone.name.encode()
        assert words not in held and all(text.encode() in held for text in texts if text != gone.name)
        after = db.head().root
        db.rebuild("tables")
        assert db.head().root == after and db.verify(deep=True).ok
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packed_runs, "MAX_UNPACKED", 1 << 17)
        with load(tmp_path / "plain", 5, 40, 80, 30)[0] as db:
            assert db.head().root == root and packed_keys(db) == []


def packed_keys(db: Any) -> list[bytes]:
    return [key for key, _ in pairs_of(db) if key[:1] in (packed_runs.RUNS_KEY, packed_runs.FILTERS) and len(key) > 1]


def pairs_of(db: Any) -> list[tuple[bytes, bytes]]:
    with db._env.read() as txn:
        return [(bytes(key), bytes(value)) for key, value in txn.cursor()]


@pytest.mark.usefixtures("small_runs")
def test_a_changed_byte_of_a_packed_row_its_filter_or_the_list_is_found(tmp_path):
    """A scan of all rows asks no filter and looks for no page: what only a look for one row meets is checked too."""
    load(tmp_path / "store", 5, 40, 80, 30)[0].close()
    names = packed_runs.RUNS_KEY + bytes([schema.FIRST_TABLE_BYTE + schema.TABLES.index("names")])

    def changed(found: Any) -> str:
        with worlddb.open(tmp_path / "store", author="tests") as db:
            key, value = next(pair for pair in pairs_of(db) if found(pair[0]))
            at = len(value) // 2
            db._env.write(lambda txn: txn.put(key, value[:at] + bytes([value[at] ^ 4]) + value[at + 1 :]))
            packed_runs._filters.clear()
            try:
                told = " ".join(finding.problem for finding in db.verify(deep=True).findings)
            except worlddb.DamagedStore as error:
                told = str(error)
            db._env.write(lambda txn: txn.put(key, value))
            assert db.verify(deep=True).ok
        return told

    assert "names" in changed(lambda key: key.startswith(names))
    assert "filter of packed run" in changed(lambda key: key[:1] == packed_runs.FILTERS)
    assert "an unknown table" in changed(lambda key: key == packed_runs.RUNS_KEY)


def test_a_table_of_an_earlier_release_that_is_too_large_for_one_commit_stays_as_it_is(monkeypatch):
    monkeypatch.setattr(packed_runs, "MAX_UNPACKED", 6)
    monkeypatch.setattr(packed_runs, "MAX_TAKEN", 20)
    monkeypatch.setattr(transaction, "COUNTED_EVERY", 10)
    for many, packed in ((19, True), (20, False)):
        with environment() as env, env.begin(write=True) as txn:
            for number in range(many):
                txn.put(b"\x45" + bytes([number]) * 24, b"12345678")
            txn.put(transaction._APPLIED_KEY, schema.PROGRESS.pack(2, 1, 1, schema.LAYOUT))
            tables = Tables(txn)
            tables.put_progress(schema.Progress(3, 40, 40, schema.LAYOUT))
            tables.names.put(b"n" * 24, b"87654321")
            tables.flush()
            assert bool(Tables(txn).runs()) == packed
            assert len(list(Tables(txn).names.scan(b""))) == many + 1


def test_a_large_commit_packs_a_table_from_half_as_many_rows_on(monkeypatch):
    """A load left half of its file free; what grows by small writes is read more quickly as it is."""
    monkeypatch.setattr(packed_runs, "MAX_UNPACKED", 40)
    monkeypatch.setattr(packed_runs, "FEW", 10)
    monkeypatch.setattr(transaction, "COUNTED_EVERY", 10)
    for together, is_packed in ((30, True), (5, False)):
        with environment() as env, env.begin(write=True) as txn:
            rows = {bytes([number]) * 32: bytes([number]) * 18 for number in range(30)}
            for begin in range(0, 30, together):
                tables = Tables(txn)
                tables.put_progress(schema.Progress(begin + 1, 4 * begin + 40, 40, schema.LAYOUT))
                for key in list(rows)[begin : begin + together]:
                    tables.edges.put(key, rows[key])
                tables.flush()
            assert bool(Tables(txn).runs()) == is_packed
            assert dict(Tables(txn).edges.scan(b"")) == rows
            assert all(Tables(txn).edges.get(key) == value for key, value in rows.items())
            assert Tables(txn).edges.get(b"\x07" * 31) is None and Tables(txn).edges.get(b"\x40" * 32) is None


def test_a_commit_of_much_has_the_allocator_give_large_blocks_back_and_another_does_not(tmp_path, monkeypatch):
    asked = allocator_asked(monkeypatch)
    monkeypatch.setattr(transaction, "MUCH", 60)
    for nodes, expected in ((20, []), (70, [(-3, 256 * 1024), (-8, 2)])):
        load(tmp_path / str(nodes), 5, nodes, 0, nodes)[0].close()
        assert asked == expected


def test_the_thread_of_the_text_index_has_the_allocator_give_large_blocks_back(tmp_path, monkeypatch):
    """After 24,000 single writes a process held 140 MiB instead of 60, most of it free."""
    asked = allocator_asked(monkeypatch)
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        db.create("Fact", "one", content="a text")
        assert asked == []
        db._reader._follow(lambda: False)
        assert asked == [(-3, 256 * 1024), (-8, 2)]


def allocator_asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """What the C library's allocator is asked to do from now on."""
    asked: list[tuple[int, int]] = []

    class Allocator:
        def __init__(self, name):
            assert name is None

        def mallopt(self, setting, value):
            asked.append((setting, value))

    monkeypatch.setattr("ctypes.CDLL", Allocator)
    release_large_blocks.cache_clear()
    return asked


def test_rows_are_counted_again_where_there_may_be_too_many_and_not_before(tmp_path, monkeypatch):
    """Each table was gone through every few thousand writes, as long as it was not packed."""
    counted: list[int] = []
    own_rows = Table.own_rows

    def counting(table: Table, most: int) -> int:
        counted.append(own_rows(table, most))
        return counted[-1]

    monkeypatch.setattr(Table, "own_rows", counting)
    monkeypatch.setattr(transaction, "COUNTED_EVERY", 10)
    monkeypatch.setattr(packed_runs, "MAX_UNPACKED", 300)
    db, _ = load(tmp_path / "store", 5, 120, 240, 30)
    with db:
        assert 0 < len(counted) <= 3 * len(schema.PACKED) // 2 and max(counted) > 100
        for name in schema.PACKED:
            with db._env.read() as txn:
                table = Tables(txn).table(name)
                assert own_rows(table, packed_runs.MAX_TAKEN) <= packed_runs.MAX_UNPACKED


def test_a_rebuild_packs_at_once_what_it_would_take_out_again(tmp_path, monkeypatch):
    """It wrote the rows of its first flush where small commits put theirs, and took them out of there at its second."""
    taken_out: list[bytes] = []
    drained = packed_runs.PackedTable._drain_rows

    def counting(table: packed_runs.PackedTable):
        for keys, values in drained(table):
            taken_out.append(table._first)
            yield keys, values

    monkeypatch.setattr(packed_runs.PackedTable, "_drain_rows", counting)
    monkeypatch.setattr(runner, "FLUSH_EVENTS", 400)
    db, _ = load(tmp_path / "store", 5, 60, 480, 30)
    monkeypatch.setattr(packed_runs, "FEW", 10)
    monkeypatch.setattr(packed_runs, "MAX_UNPACKED", 600)
    monkeypatch.setattr(transaction, "COUNTED_EVERY", 10)
    with db:
        root = db.head().root
        db.rebuild("tables")
        with db._env.read() as txn:
            runs = Tables(txn).runs()
        assert len(runs["blocks"]) >= 2 and transaction._ROOMS["blocks"][0] not in taken_out
        assert db.head().root == root and db.verify(deep=True).ok


def test_a_rebuild_looks_up_the_ends_of_many_edges_at_once(tmp_path, monkeypatch):
    """In a store of millions each look by itself goes to another page."""
    monkeypatch.setattr(packed_runs, "MAX_UNPACKED", 6)
    monkeypatch.setattr(packed_runs, "FEW", 2)
    monkeypatch.setattr(transaction, "COUNTED_EVERY", 10)
    monkeypatch.setattr(runner, "FLUSH_EVENTS", 50)
    monkeypatch.setattr(deferred_rows, "TOGETHER", 4)
    looked: list[bytes] = []
    node_of = Tables.node_of

    def counting(tables: Tables, lineage: bytes) -> int | None:
        looked.append(lineage)
        return node_of(tables, lineage)

    monkeypatch.setattr(Tables, "node_of", counting)
    db, _ = load(tmp_path / "store", 5, 60, 240, 60)
    with db:
        root = db.head().root
        looked.clear()
        db.rebuild("tables")
        assert len(looked) < 60
        assert db.head().root == root and db.verify(deep=True).ok


@pytest.mark.parametrize("most", [transaction.LineageColumns.MOST, 16])
def test_a_rebuild_keeps_the_numbers_of_the_worlds_that_it_has_met(tmp_path, monkeypatch, most):
    monkeypatch.setattr(packed_runs, "MAX_UNPACKED", 6)
    monkeypatch.setattr(packed_runs, "FEW", 2)
    monkeypatch.setattr(transaction, "COUNTED_EVERY", 10)
    monkeypatch.setattr(transaction.LineageColumns, "MOST", most)
    monkeypatch.setattr(runner, "FLUSH_EVENTS", 50)
    monkeypatch.setattr(deferred_rows, "TOGETHER", 4)
    looked: list[list[int]] = []
    know_numbers = Tables.know_numbers

    def counting(tables: Tables, lineages: Iterable[bytes]) -> None:
        sought: list[bytes] = []
        table = type(tables._lineages)
        stored_each = table.stored_each

        def noting(at: Table, prefixes: Sequence[bytes]) -> dict[bytes, list[write_buffer.Pair]]:
            sought.extend(prefixes)
            return stored_each(at, prefixes)

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(table, "stored_each", noting)
            know_numbers(tables, lineages)
        looked.append([number for each in sought if (number := tables.node_of(each)) is not None])

    db, _ = load(tmp_path / "store", 5, 60, 240, 60, embedder=LetterCounts())
    with db:
        db.embed()
        root = db.head().root
        monkeypatch.setattr(Tables, "know_numbers", counting)
        db.rebuild("tables")
        assert len(looked) > 4 and all(number >= most for numbers in looked for number in numbers)
        assert any(map(any, looked)) == (most == 16)
        assert db.head().root == root and db.verify(deep=True).ok


def test_numbers_of_worlds_in_the_order_of_their_creation_come_from_one_look(tmp_path, monkeypatch):
    looked: list[bytes] = []
    numbers_of = Tables.numbers_of

    def counting(tables: Tables, lineages: Sequence[bytes]) -> dict[bytes, int]:
        looked.extend(lineages)
        return numbers_of(tables, lineages)

    db, loader = load(tmp_path / "store", 5, 8, 0, 4)
    with db, db._env.read() as txn:
        tables, created = Tables(txn), [loader.ref(number) for number in range(8)]
        numbers = numbers_of(tables, created)
        monkeypatch.setattr(Tables, "numbers_of", counting)
        assert tables.numbers_in_order(created) == numbers and not any(looked)
        assert list(catchup.text_documents(log.LmdbLog(txn), tables, 0, db.head().seq)) and not looked
        strangers = [*created, bytes(16)], [bytes(16), *created], [*created[:2], bytes(16), *created[2:]]
        for some in (*strangers, created[::2], created[::-1], created[3:], created[:1]):
            assert tables.numbers_in_order(some) == numbers_of(tables, some)


@examples(20)
@given(pairs=st.dictionaries(st.binary(min_size=3, max_size=3), st.binary(max_size=2), min_size=2, max_size=200))
def test_many_rows_at_once_are_written_in_the_order_of_their_bytes(pairs: dict[bytes, bytes]):
    with pytest.MonkeyPatch.context() as patched, environment() as env, env.begin(write=True) as txn:
        patched.setattr(write_buffer, "_MANY_ROWS", 2)
        patched.setattr(write_buffer, "_SOME_ROWS", 2)
        put: list[bytes] = []
        patched.setattr(log, "put_sorted", lambda txn, room, keys, values: put.extend(keys))
        table = Table(txn, b"\x43", 1)
        table.put_new(list(pairs), pairs.values())
        table.flush()
        assert put == [b"\x43" + key for key in sorted(pairs)]
        patched.undo()
        patched.setattr(write_buffer, "_MANY_ROWS", 2)
        patched.setattr(write_buffer, "_SOME_ROWS", 2)
        table.put_new(list(pairs), pairs.values())
        table.flush()
        assert list(table.scan(b"")) == sorted(pairs.items())


def test_what_grows_between_others_fills_its_pages():
    with environment() as env:
        for commit in range(4):
            with env.begin(write=True) as txn:
                before = leaf_pages(txn)
                for first in (b"x", b"y", b"z"):
                    table = write_buffer.Table(txn, first)
                    numbers = range(commit * 1_000, (commit + 1) * 1_000)
                    table.put_new([schema.U64.pack(number) for number in numbers], repeat(bytes(80)))
                    table.flush()
                grown = leaf_pages(txn) - before
        assert grown < 3 * 1_000 * (8 + 1 + 80 + 8) / 4096 * 1.15
        with env.begin() as txn:
            assert [bytes(key) for key in txn.cursor().iternext(values=False)][2:] == [
                first + schema.U64.pack(number) for first in (b"x", b"y", b"z") for number in range(4_000)
            ]


def leaf_pages(txn: lmdb.Transaction) -> int:
    return int(txn.stat()["leaf_pages"])
