"""Tests the parts of the benchmark programs: workload, recordings, questions, metrics."""

from __future__ import annotations

from math import log2
from pathlib import Path

import pytest

from bench.made_up.questions import known_nodes
from bench.made_up.workload import SHARES, Mix, NewEdge, NewNode, load, open_seeded
from bench.measuring import recording
from bench.measuring.arrival import in_arrival_order
from bench.measuring.report import p50, p95
from bench.public_data.retrieval import interval, ndcg, recall_all, recall_any, recall_share
from worlddb.log.store.environment import Environment
from worlddb.projections.tables.storage.schema import FIRST_TABLE_BYTE, TABLES


def test_metrics_of_retrieval_are_those_of_their_authors() -> None:
    found, gold = ["a", "b", "c", "d"], {"b", "d"}
    assert [recall_any(found, gold, k) for k in (1, 2)] == [0.0, 1.0]
    assert [recall_all(found, gold, k) for k in (3, 4)] == [0.0, 1.0]
    assert recall_share(found, gold, 2) == 0.5
    # As LongMemEval's authors have it the first two places are worth 1, and each further one 1 / log2(place).
    assert ndcg(found, gold, 4) == pytest.approx((1 + 1 / log2(4)) / 2)
    assert ndcg(found, {"a", "c", "d"}, 10) == pytest.approx((1 + 1 / log2(3) + 1 / log2(4)) / (2 + 1 / log2(3)))
    assert (ndcg(found, {"z"}, 4), ndcg(found, {"b"}, 1), ndcg(found, {"b"}, 4)) == (0.0, 0.0, 1.0)
    low, high = interval([0.0, 1.0] * 50, 1)
    assert 0.35 < low < 0.5 < high < 0.65


def test_the_mix_has_every_edge_type_and_is_the_same_for_the_same_seed() -> None:
    first, again, other = (list(Mix(seed, 400, 1600).batches(300)) for seed in (5, 5, 6))
    assert first == again != other
    operations = [operation for batch in first for operation in batch]
    assert sum(isinstance(operation, NewNode) for operation in operations) == 400
    types = [operation.type for operation in operations if isinstance(operation, NewEdge)]
    assert set(types) == set(SHARES)
    assert types.count("refers_to") > 700


def test_a_store_loaded_twice_with_one_seed_has_one_root(tmp_path: Path) -> None:
    roots = []
    for name, is_recorded in (("plain", False), ("recorded", True)):
        if is_recorded:
            with recording.record_commits(tmp_path / "spool"):
                db, _ = load(tmp_path / name, 9, 50, 100, 60)
        else:
            db, _ = load(tmp_path / name, 9, 50, 100, 60)
        with db:
            roots.append(db.head().root)
            if is_recorded:
                with db._env.read() as txn:
                    stored = {bytes(key): bytes(value) for key, value in txn.cursor()}
    assert roots[0] == roots[1]
    replayed: dict[bytes, bytes] = {}
    for pairs in recording.commits(tmp_path / "spool"):
        for key, value in pairs:
            if value is None:
                replayed.pop(key, None)
            else:
                replayed[key] = value
    assert replayed == stored


def test_in_the_order_of_arrival_each_write_keeps_its_pairs_together_and_none_is_lost(tmp_path: Path) -> None:
    with recording.record_commits(tmp_path / "spool"):
        db, _ = load(tmp_path / "store", 1, 60, 120, 50)
        db.close()
    for pairs in list(recording.commits(tmp_path / "spool"))[1:]:
        arrived = in_arrival_order(pairs)
        assert sorted(arrived) == sorted(pairs)
        assert arrived != pairs
        numbers = [key[-8:] for key, _ in arrived if key[0] == FIRST_TABLE_BYTE + TABLES.index("out")]
        assert numbers == sorted(numbers)
        lineages = [value for key, value in arrived if key[0] == FIRST_TABLE_BYTE + TABLES.index("lineages")]
        assert lineages == sorted(value for value in lineages if value is not None)


def test_a_recording_leaves_out_what_was_aborted_and_puts_the_environment_back(tmp_path: Path) -> None:
    write = Environment.write
    spool = tmp_path / "spool"

    def fail(txn: object) -> None:
        txn.put(b"\xf0lost", b"1")  # type: ignore[attr-defined]
        raise RuntimeError("stop")

    with recording.record_commits(spool), open_seeded(tmp_path / "store", 1) as db:
        before = db.head()
        with pytest.raises(RuntimeError, match="stop"):
            db._env.write(fail)
        db._env.write(lambda txn: txn.put(b"\xf0kept", b"2"))
        assert db.head() == before
    assert Environment.write is write
    assert list(recording.commits(spool))[1:] == [[(b"\xf0kept", b"2")]]


def test_a_recording_refuses_calls_that_it_does_not_know(tmp_path: Path) -> None:
    with (
        recording.record_commits(tmp_path / "spool"),
        open_seeded(tmp_path / "store", 1) as db,
        pytest.raises(AttributeError, match="replace is unknown"),
    ):
        db._env.write(lambda txn: txn.replace(b"k", b"v"))


def test_percentiles_are_samples_that_were_seen() -> None:
    samples = [float(number) for number in range(100, 0, -1)]
    assert p50(samples) == 50.5
    assert p95(samples) == 95.0
    assert p95([7.0]) == 7.0


def test_reads_asks_the_past_only_of_what_had_been_made_by_then(tmp_path: Path) -> None:
    db, loader = load(tmp_path / "store", 3, 60, 240, 40)
    with db:
        now = db.view()
        made = [now.history(loader.ref(position))[0].seq for position in range(60)]
        for seq in range(2, db.head().seq + 1):
            assert known_nodes(db.view(seq=seq), loader, 60) == sum(each <= seq for each in made)
        assert made[0] < made[-1] == db.head().seq


def test_of_a_key_that_was_put_and_deleted_in_one_commit_what_became_of_it_arrives() -> None:
    """What fills the last pages of a table's room is no row, and goes again."""
    filler, kept = b"\x48" + bytes(10) + b"\xff" * 33, b"\x04" + bytes(12)
    assert in_arrival_order([(filler, b"x"), (kept, b"one"), (kept, b"two"), (filler, None)]) == [
        (filler, None),
        (kept, b"two"),
    ]
