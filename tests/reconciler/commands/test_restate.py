"""Records that what a world says was said again: another source, no other memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import worlddb
from worlddb import Database, ManualClock, RefusedError

SAID = "Ana lives in Lisbon."


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    clock = ManualClock(worlddb.parse_time("2025-06-01T12:00:00Z"))
    with worlddb.open(tmp_path / "store", author="ada", clock=clock, embedder=None) as opened:
        yield opened


def sources(shown: Any) -> list[tuple[str, dict[str, Any]]]:
    return [(each.author, each.source) for each in shown.restated]


def test_what_is_said_again_has_another_source_and_stays_one_world(db: Database) -> None:
    fact = db.create("Fact", "", content=SAID, source={"file": "a"}, valid_from="2024-01-01")
    before = db.view()
    told = db.as_author("bob").restate(fact, source={"file": "b"}, why="heard it too")
    assert told.ref == fact.ref and told.events == 1
    shown = db.view().get(fact)
    assert shown is not None and (shown.source, sources(shown)) == ({"file": "a"}, [("bob", {"file": "b"})])
    assert (shown.restated[0].seq, shown.restated[0].why, shown.restated[0].number) == (told.seq, "heard it too", 1)
    assert len(db.view().find(type="Fact")) == 1 == len(db.view().history(fact))
    assert sources(db.view().history(fact)[0]) == sources(shown) == sources(db.view().recall("Lisbon").hits[0])
    assert before.get(fact).restated == ()  # type: ignore[union-attr]
    (entry,) = list(db.log(told.seq, told.seq))
    assert (entry.event, entry.refs, entry.author, entry.why) == ("restated", (fact.ref,), "bob", "heard it too")


def test_it_is_the_version_that_holds_which_is_said_again(db: Database) -> None:
    fact = db.create("Fact", "", content=SAID)
    db.restate(fact, source={"n": 1})
    db.revise(fact, content="Ana lives in Porto.")
    assert db.view().get(fact).restated == ()  # type: ignore[union-attr]
    db.restate(fact, source={"n": 2})
    assert [sources(version) for version in db.view().history(fact)] == [[("ada", {"n": 1})], [("ada", {"n": 2})]]


def test_only_what_says_something_now_is_said_again(db: Database) -> None:
    ended = db.create("Fact", "", content=SAID)
    db.retire(ended)
    erased = db.create("Fact", "", content=SAID)
    db.erase(erased, reason="r")
    root = next(db.log(1, 1)).data["root"]
    for ref, code in ((ended, "holds_no_more"), (erased, "erased"), (root, "root_is_permanent")):
        refused = db.restate(ref)
        with pytest.raises(RefusedError) as error:
            refused.raise_if_refused()
        assert code == refused.outcome.code and error.value.code == "refused"


def test_an_erasure_takes_the_sources_along_and_a_rebuild_gives_the_same(db: Database, tmp_path: Path) -> None:
    fact = db.create("Fact", "", content=SAID)
    db.restate(fact, source={"file": "zanzibar.txt"}, why="zanzibar")
    with_source = db.view().get(fact)
    db.rebuild("tables")
    assert db.view().get(fact) == with_source
    db.erase(fact, reason="r")
    shown = db.view().get(fact, include_superseded=True)
    assert shown is not None and sources(shown) == [("ada", {})] and shown.restated[0].why == ""
    db.finish_erasures(wait_seconds=5)
    assert not any(b"zanzibar" in path.read_bytes() for path in (tmp_path / "store").rglob("*") if path.is_file())
    assert db.verify(deep=True).ok


def test_it_is_trusted_as_far_as_the_most_trusted_who_said_it(db: Database) -> None:
    fact = db.create("Fact", "", content=SAID, source={"file": "gossip"})
    db.trust("low", source={"file": "gossip"})
    db.trust("fair", source={"file": "register"})
    assert db.view().get(fact).trust == "low"  # type: ignore[union-attr]
    db.restate(fact, source={"file": "register"})
    assert db.view().get(fact).trust == "fair"  # type: ignore[union-attr]
    db.trust("none", source={"file": "gossip"})
    assert db.view().get(fact).trust == "fair"  # type: ignore[union-attr]
    db.trust("none", source={"file": "register"})
    assert db.view().get(fact).trust == "none"  # type: ignore[union-attr]


def test_nobody_makes_it_more_trusted_by_a_bundle_in_which_it_is_said_again(db: Database, tmp_path: Path) -> None:
    fact = db.create("Fact", "", content=SAID, source={"file": "gossip"})
    db.trust("low", source={"file": "gossip"})
    db.export(fact, tmp_path / "fact.wdb")
    with worlddb.open(tmp_path / "other", author="eve", embedder=None) as other:
        other.import_bundle(tmp_path / "fact.wdb").raise_if_refused()
        other.restate(fact, source={"file": "register"})
        other.export(fact, tmp_path / "back.wdb")
    db.import_bundle(tmp_path / "back.wdb").raise_if_refused()
    shown = db.view().get(fact)
    assert shown is not None and (len(shown.restated), shown.trust) == (1, "low")


def test_nothing_is_said_of_it_outside_of_a_world(db: Database) -> None:
    one, other = (db.create("Topic", name).ref for name in ("one", "other"))
    fact = db.create("Fact", "", content=SAID, world=one)
    db.restate(fact, source={"file": "b"})
    assert len(db.view(world=one).get(fact).restated) == 1  # type: ignore[union-attr]
    with pytest.raises(worlddb.UnknownReference):
        db.view(world=other).get(fact)


def test_a_bundle_carries_it_and_it_is_taken_in_once(db: Database, tmp_path: Path) -> None:
    topic = db.create("Topic", "topic")
    fact = db.create("Fact", "", content=SAID, world=topic)
    db.restate(fact, source={"file": "b"})
    db.restate(fact)
    db.export(topic, tmp_path / "one.wdb")
    clock = ManualClock(worlddb.parse_time("2025-07-01T12:00:00Z"))
    with worlddb.open(tmp_path / "other", author="eve", clock=clock, embedder=None) as other:
        for _ in range(2):
            other.import_bundle(tmp_path / "one.wdb").raise_if_refused()
        shown = other.view().get(fact)
        assert shown is not None
        found = [(each.author, each.source["imported"]["author"]) for each in shown.restated]
        assert found == [("eve", "ada"), ("eve", "ada")]
        assert {each.source.get("file") for each in shown.restated} == {"b", None}
        other.restate(fact, source={"file": "c"})
        other.export(topic, tmp_path / "two.wdb")
    for _ in range(2):
        db.import_bundle(tmp_path / "two.wdb").raise_if_refused()
    back = db.view().get(fact)
    assert back is not None
    assert sorted(str(each.source.get("file")) for each in back.restated) == ["None", "b", "c"]


def test_a_store_decided_again_says_it_again(db: Database, tmp_path: Path) -> None:
    noise = db.create("Fact", "", content="noise")
    fact = db.create("Fact", "", content=SAID)
    db.restate(fact, source={"file": "b"}, why="again")
    db.replay(tmp_path / "then", without=[noise.seq])
    with worlddb.open(tmp_path / "then", embedder=None) as then:
        (shown,) = then.view().find(type="Fact")
        assert sources(shown) == [("ada", {"file": "b"})]
    db.replay(tmp_path / "copy")
    with worlddb.open(tmp_path / "copy", embedder=None) as copy:
        assert copy.view().get(fact).restated == db.view().get(fact).restated  # type: ignore[union-attr]


def test_a_batch_that_was_made_up_by_a_view_is_refused_if_others_changed_what_it_rests_on(db: Database) -> None:
    home, said = db.create("Topic", "home"), db.create("Fact", "", content=SAID)
    other, key = db.create("Fact", "", content="Ana likes tea."), "call-1"

    def outcome(write: Any, *, between: Any = None, key: str | None = None, **how: Any) -> str:
        seen = db.view()
        if between is not None:
            between()
        try:
            with db.batch(seen=seen, idempotency_key=key, **how) as tx:
                write(tx)
        except RefusedError as error:
            return str(error.details["reason"])
        return "committed"

    def again(tx: Any) -> Any:
        return tx.restate(said)

    assert outcome(again) == "committed"
    assert outcome(again, between=lambda: db.create("Fact", "", content="Another.")) == "committed"
    assert outcome(again, between=lambda: db.restate(said, source={"n": 1})) == "committed"
    assert outcome(again, between=lambda: db.revise(said, content="Ana lives in Porto.")) == "changed_meanwhile"
    assert outcome(again, between=lambda: db.expire(said, ttl=60)) == "changed_meanwhile"
    assert outcome(again, between=lambda: db.move(said, home)) == "changed_meanwhile"
    assert outcome(again, between=lambda: db.revise(home, content="It lies in there.")) == "changed_meanwhile"
    assert outcome(again, between=lambda: db.retire(said)) == "changed_meanwhile"
    joined: Any = {"write": lambda tx: tx.link(said, "contradicts", other)}
    assert outcome(**joined, between=lambda: db.revise(other, content="Ana likes milk.")) == "changed_meanwhile"
    made: Any = {"write": lambda tx: tx.create("Fact", "", content=SAID, world=home), "rests_on": [other]}
    assert outcome(**made, between=lambda: db.create("Fact", "", content=SAID, world=home)) == "said_meanwhile"
    assert outcome(**made, between=lambda: db.create("Fact", "", content=SAID)) == "committed"
    assert outcome(**made, between=lambda: db.create("Fact", "other", content=SAID, world=home)) == "committed"
    assert outcome(**made, between=lambda: db.erase(other, reason="r")) == "changed_meanwhile"
    apart: Any = {"write": lambda tx: tx.pin(home), "unchanged": [home]}
    assert outcome(**apart, between=lambda: db.create("Fact", "", content="Elsewhere.")) == "committed"
    within: Any = {"between": lambda: db.create("Fact", "", content="In there.", world=home)}
    assert outcome(**apart, **within) == "changed_meanwhile"
    # A call that is made again under its key gets its first receipt, whatever came between.
    assert outcome(made["write"], key=key) == "committed"
    last = db.head().seq
    assert outcome(made["write"], key=key, between=lambda: db.revise(home, content="Other.")) == "committed"
    assert db.head().seq == last + 1
    with pytest.raises(worlddb.InputError, match="not a view"):
        db.batch(seen=3)  # type: ignore[arg-type]
    assert db.verify(deep=True).ok
