"""What was found of summaries is kept on the disk: the next process looks at no member, and trusts no other file."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import worlddb
from worlddb import Database
from worlddb.projections.tables.consolidation import interior_witness
from worlddb.query.consolidation import fresh_summaries

TOPICS = 4


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The worlds whose members were looked at."""
    found: list[int] = []
    whole = interior_witness.Interiors.of

    def counting(interiors: interior_witness.Interiors, world: int) -> interior_witness.Interior:
        found.append(world)
        return whole(interiors, world)

    monkeypatch.setattr(interior_witness.Interiors, "of", counting)
    monkeypatch.setattr(fresh_summaries, "WORTH_KEEPING", 1)
    return found


@pytest.fixture
def path(tmp_path: Path, looked: list[int]) -> Path:
    """A store that was consolidated, with what was found of its summaries beside it."""
    with opened(tmp_path / "store") as db:
        for number in range(TOPICS):
            topic = db.create("Topic", f"topic {number}").ref
            for fact in range(3):
                db.create("Fact", f"fact {number} {fact}", content=f"The pump {number} has {fact} valves.", world=topic)
        assert len(db.consolidate(min_age=0).summaries) == TOPICS
    assert kept(tmp_path / "store").exists()
    looked.clear()
    return tmp_path / "store"


def opened(path: Path) -> Database:
    return worlddb.open(path, author="ada", embedder=None)


def kept(path: Path) -> Path:
    return path / "indexes" / "summaries" / "fresh.bin"


def types(db: Database) -> Iterator[str]:
    topics = [world.ref for world in db.view().find(type="Topic")]
    found = db.view().query(seeds=topics).traverse("contains").prefer_summaries().run()
    return (world.type for world in found.nodes)


def test_another_process_looks_at_no_member_until_something_changes_inside(path: Path, looked: list[int]) -> None:
    with opened(path) as db:
        assert set(types(db)) == {"Summary"} and not looked
        topic = db.view().find(name="topic 1")[0]
        db.retire(db.view().find(name="fact 1 0")[0])
    with opened(path) as db:
        told = list(types(db))
        assert sorted(told) == ["Fact"] * 2 + ["Summary"] * (TOPICS - 1), "the topic that changed is read by its facts"
        assert len(looked) == 1
        db.create("Fact", "another", content="The pump rests.", world=topic)
        assert sorted(types(db)) == ["Fact"] * 3 + ["Summary"] * (TOPICS - 1)
        db.consolidate(min_age=0)
    looked.clear()
    with opened(path) as db:
        assert set(types(db)) == {"Summary"} and not looked


def test_what_was_found_now_is_not_said_of_when_the_world_itself_says_something_else(path: Path) -> None:
    with opened(path) as db:
        topic = db.view().find(name="topic 1")[0]
        db.revise(topic, content="All about valves by then.", valid_from="2100-01-01")
        assert set(types(db)) == {"Summary"}
        then = summaries_first(db, topic, valid="2101-01-01")
        assert [world.type for world in then.nodes] == ["Fact"] * 3
        assert "1 stale summaries left out" in [stage.note for stage in then.stages]
        assert set(types(db)) == {"Summary"}, "now it still says what it said"


def test_the_rows_that_are_kept_at_hand_are_those_of_their_commit(path: Path) -> None:
    with opened(path) as db:
        topic = db.view().find(name="topic 1")[0]
        first = summaries_first(db, topic)
        (summary,) = first.nodes
        assert summary.type == "Summary" and summaries_first(db, topic).nodes == first.nodes
        before = db.head().seq
        db.deprecate(summary, why="too short")
        assert [world.type for world in summaries_first(db, topic).nodes] == ["Fact"] * 3
        assert [world.ref for world in summaries_first(db, topic, seq=before).nodes] == [summary.ref]
        db.undeprecate(summary)
        assert [world.ref for world in summaries_first(db, topic).nodes] == [summary.ref]
        assert db.unlink(first.edges[0])
        assert [world.type for world in summaries_first(db, topic).nodes] == ["Fact"] * 3


def test_a_plan_to_withdraw_a_detail_asks_as_if_its_summary_were_stale(path: Path) -> None:
    with opened(path) as db:
        assert set(types(db)) == {"Summary"}
        detail, question = db.view().find(name="fact 1 0")[0], "which valves has the pump?"
        (told,) = db.view().withdrawal(detail, questions=[{"text": question, "prefer_summaries": True}]).answers
        (summary,) = summaries_first(db, db.view().find(name="topic 1")[0]).nodes
        assert summary.ref in told.before and summary.ref not in told.after
        assert {db.view().find(name=f"fact 1 {at}")[0].ref for at in (1, 2)} <= set(told.after)
        assert set(types(db)) == {"Summary"}, "nothing of it is kept"


def summaries_first(db: Database, topic: Any, **moment: Any) -> worlddb.Subgraph:
    return db.view(**moment).query(seeds=[topic]).traverse("contains").prefer_summaries().run()


def test_a_file_with_another_byte_is_not_used_and_told(path: Path, looked: list[int], root_seed: int) -> None:
    whole, draw = kept(path).read_bytes(), random.Random(root_seed)
    for at in (0, len(whole) - 1, draw.randrange(len(whole))):
        changed = bytearray(whole)
        changed[at] ^= 1 << draw.randrange(8)
        kept(path).write_bytes(changed)
        looked.clear()
        with opened(path) as db:
            assert not db.verify(deep=True).ok
            assert set(types(db)) == {"Summary"} and len(looked) == TOPICS
    kept(path).write_bytes(whole[:40])
    with opened(path) as db:
        assert set(types(db)) == {"Summary"}
        assert db.verify(deep=True).ok, "what was found anew took its place"


def test_one_of_another_history_is_not_used(path: Path, tmp_path: Path, looked: list[int]) -> None:
    with opened(tmp_path / "other") as db:
        topic = db.create("Topic", "topic 0").ref
        db.create("Fact", "a", content="The pump has valves.", world=topic)
        db.consolidate(min_age=0)
    kept(tmp_path / "other").write_bytes(kept(path).read_bytes())
    looked.clear()
    with opened(tmp_path / "other") as db:
        assert list(types(db)) == ["Summary"] and len(looked) == 1


def test_an_erasure_and_a_rebuild_delete_it(path: Path) -> None:
    with opened(path) as db:
        db.rebuild()
        assert not kept(path).exists()
        assert set(types(db)) == {"Summary"}
    with opened(path) as db:
        assert set(types(db)) == {"Summary"} and kept(path).exists()
        db.erase(db.view().find(name="fact 0 0")[0], reason="request 7")
        assert not kept(path).exists()
        gone = ["", ""]  # The fact, and the summary that told of it.
        assert sorted(types(db)) == gone + ["Fact"] * 2 + ["Summary"] * (TOPICS - 1)
        assert db.verify(deep=True).ok


def test_a_read_of_all_tells_fresh_summaries_by_what_is_kept_as_long_as_that_is_so(
    path: Path, looked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[int] = []
    made_of = fresh_summaries.Summaries.made_of

    def counting(summaries: fresh_summaries.Summaries, node: int) -> int | None:
        found.append(node)
        return made_of(summaries, node)

    monkeypatch.setattr(fresh_summaries.Summaries, "made_of", counting)

    def read(db: Database) -> list[tuple[int, bool]]:
        """Of each summary on what it rests, and whether more lies beneath that is not read."""
        topics = [world.ref for world in db.view().find(type="Topic")]
        nodes = db.view().query(seeds=topics).traverse("contains").run().nodes
        return sorted((len(world.rests_on), world.rests_on_more) for world in nodes if world.type == "Summary")

    with opened(path) as db:
        assert set(types(db)) == {"Summary"}
        found.clear()
        assert read(db) == [(0, True)] * TOPICS and found == [] and not looked, "each by one look at a hash"
        inside, other = (db.view().find(name=name)[0] for name in ("fact 1 0", "topic 2"))
        db.move(inside, to=other)
        assert read(db) == [(0, True)] * (TOPICS - 2) + [(3, False)] * 2, "two are stale, and are read with their bases"
        db.deprecate(db.view().find(name="fact 0 0")[0])
        assert read(db) == [(0, True)] * (TOPICS - 3) + [(3, False)] * 3
        db.consolidate(min_age=0)
        assert read(db) == [(0, True)] * TOPICS
        assert read(db) == [(0, True)] * TOPICS and db.verify(deep=True).ok


def test_what_lies_in_a_world_is_read_once_by_the_writer_and_once_by_the_judge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each world's interior was read five times, with all that lies in it at any depth: 57 seconds for 925 worlds."""
    read, whole = list[int](), interior_witness.Interiors._read

    def counting(interiors: interior_witness.Interiors, nodes: Any) -> None:
        read.extend(nodes)
        whole(interiors, nodes)

    monkeypatch.setattr(interior_witness.Interiors, "_read", counting)
    with opened(tmp_path / "store") as db:
        with db.batch() as tx:
            inner = None
            for number in range(20):
                inner = tx.create("Topic", f"topic {number}", world=inner)
                tx.create("Fact", "", content=f"The pump {number} has a valve.", world=inner, resolve=False)
        assert len(db.consolidate(min_age=0).summaries) == 20
        assert len(read) == 2 * 40 and {*map(read.count, read)} == {2}
        assert set(types(db)) == {"Summary"} and len(read) == 2 * 40
