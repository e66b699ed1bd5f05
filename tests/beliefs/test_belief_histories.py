"""Bases and tags as of any moment, by replay; plans that come out as they say; and beliefs on all ways in and out."""

import hashlib
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import lmdb
import msgspec
import pytest

import worlddb
from tests.support.running import LocalRunner
from worlddb import Database, ManualClock, SeededEntropy, View
from worlddb.log.store.log import TABLES_FROM
from worlddb.tools.mcp import catalogue
from worlddb.tools.mcp.session import Call, Session

HISTORIES, SOAK, STEPS = 1, 1_000, 12
KINDS = ("Fact", "Preference", "Inferred")


def opened(folder: Path, seed: int = 1) -> Database:
    clock = ManualClock(worlddb.parse_time("2026-01-01"))
    return worlddb.open(folder, author="ada", clock=clock, entropy=SeededEntropy(seed), embedder=None)


class History:
    """A random history of beliefs, tags and deprecations."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.db, self.random = opened(folder, seed), random.Random(seed)
        self.refs: list[str] = []
        self.moments: list[tuple[int, int]] = []

    def tick(self) -> None:
        clock: Any = self.db._clock
        clock.advance(self.random.randrange(1, 90_000_000_000))
        view = self.db.view()
        self.moments.append((view.seq, view.valid))

    def run(self, steps: int) -> None:
        for kind in KINDS:
            self.refs.append(self.db.create(kind, kind.lower(), content="a", properties={"topic": ["x", "y"]}).ref)
        self.db.link(self.refs[0], "derived_from", self.refs[1])
        self.db.set_beliefs(tags=["published"])
        for _ in range(steps):
            self.tick()
            self.step()
        self.tick()

    def step(self) -> None:
        db, draw, ref = self.db, self.random, self.random.choice(self.refs)
        words = {"summary": draw.choice("abc"), "topic": draw.choice("xyz")}
        name = draw.choice(("summary", "topic"))
        match draw.randrange(9):
            case 0 | 1:
                since = draw.choice((None, "2026-01-03", "2026-02-01"))
                assert db.believe(ref, {name: words[name]}, whole=draw.random() < 0.2, valid_from=since)
            case 2:
                db.expand(ref, {"topic": words["topic"]})
            case 3 | 4:
                self.contract()
            case 5:
                db.tag(ref, "published", version=1)
            case 6:
                (db.deprecate if draw.random() < 0.5 else db.undeprecate)(ref)
            case 7:
                db.rollback(ref, draw.randint(1, len(db.view().history(ref))))
            case _:
                db.undo(db.head().seq)

    def contract(self) -> None:
        """A plan's list is what then changes: at its moment, in its spans, and nowhere else."""
        db, draw = self.db, self.random
        view = db.view()
        base = view.belief_base()
        if not base:
            return
        asked = draw.sample(sorted(base), min(len(base), draw.randint(1, 2)))
        plan = view.contraction(asked, whole=draw.random() < 0.3, each=draw.random() < 0.3)
        before = {ref: [(each.number, each.spans) for each in view.history(ref)] for ref in self.refs}
        receipt = db.contract(plan)
        assert receipt and bool(receipt.events) == bool(plan.changes)
        after = db.view(valid=plan.valid)
        gone = base - after.belief_base()
        told = {atom for change in plan.changes for atom in change.removes}
        assert told == set(plan.goes) <= gone and (plan.whole or gone == told)
        assert {change.item for change in plan.changes} == {loss.ref for loss in receipt.lost} | {
            change.item for change in plan.changes if not change.spans
        }
        for change in plan.changes:
            for start, _ in change.spans:
                held = db.view(valid=start).get(change.item, include_deprecated=True)
                assert held is None or held.number > len(before[change.item])
                assert plan.whole or held is not None
        for loss in receipt.lost:
            spans = [
                change.spans for change in plan.changes if (change.item, change.version) == (loss.ref, loss.version)
            ]
            assert spans and any(start <= loss.valid_from < end for start, end in spans[0])


def told(view: View, refs: list[str]) -> tuple[Any, ...]:
    tags = [(getattr(view.get(ref, include_superseded=True), "tags", None)) for ref in refs]
    published = [getattr(view.get(ref, tag="published"), "number", None) for ref in refs]
    return view.belief_base(), view.retrieval_surface(), tags, published, view.belief_settings()


def check_history(folder: Path, seed: int) -> None:
    """Every moment of a history is answered as by a store that was replayed to it."""
    history = History(folder / "store", seed)
    history.run(STEPS)
    db, draw = history.db, random.Random(seed)
    for at, (seq, valid) in enumerate(draw.sample(history.moments, 3)):
        elsewhere = draw.choice((valid, valid - 86_400_000_000, valid + 86_400_000_000 * 40))
        into = folder / f"then-{at}"
        db.replay(into, seq=seq)
        with opened(into) as then:
            for when in (valid, elsewhere):
                there = {world.ref for world in then.view().find(include_superseded=True)}
                known = [ref for ref in history.refs if ref in there]
                assert told(db.view(seq=seq, valid=when), known) == told(then.view(valid=when), known)
    db.close()


def test_bases_and_tags_as_of_a_moment_equal_a_replay_to_it(tmp_path: Path, seed: int) -> None:
    for at in range(HISTORIES):
        check_history(tmp_path / str(at), seed * 1_000 + at)


@pytest.mark.soak
def test_bases_and_tags_equal_a_replay_in_a_thousand_histories(tmp_path: Path, seed: int) -> None:
    for at in range(SOAK):
        check_history(tmp_path / str(at), seed + at)
        shutil.rmtree(tmp_path / str(at))


BEFORE_BELIEFS = "0fcd43634fcc2ec8293cef012823eb5660b0e09059418384c820cfd0e5f0052a"
"""The digest of the log of :func:`ordinary`, as the release before tags, deprecation and beliefs wrote it."""


def ordinary(db: Database, after_each: Callable[[Database, str], Any]) -> None:
    """A history in which nobody believes, contracts, tags or deprecates."""
    clock: Any = db._clock
    team = db.create("Topic", "team", key="team", valid_from="2025-01-01").ref
    facts = [db.create("Fact", f"fact {at}", content=f"text {at}", world=team, why="said").ref for at in range(4)]

    def accept_all() -> None:
        for each in db.view().proposals():
            db.accept(each)

    steps: tuple[Callable[[], Any], ...] = (
        lambda: db.revise(facts[0], content="another text", valid_from="2026-01-02", source={"file": "a.txt"}),
        lambda: db.link(facts[1], "derived_from", facts[0], properties={"n": 1}, key="edge"),
        lambda: db.link(facts[2], "supersedes", facts[3]),
        lambda: db.retire(facts[1], at="2026-01-05"),
        lambda: db.reassert(facts[1], content="again"),
        lambda: db.unlink(db.link(facts[2], "refers_to", facts[0])),
        lambda: db.alias(facts[0], "first"),
        lambda: db.create("Fact", "FACT 2", world=team),
        accept_all,
        lambda: db.create("Fact", "once", content="y", idempotency_key="a key"),
        lambda: db.move(facts[2], db.create("Topic", "other").ref),
    )
    for step in steps:
        clock.advance(86_400_000_000)
        step()
        after_each(db, facts[0])
    with db.batch() as batch:
        batch.create("Fact", "in a batch", content="x")
    after_each(db, facts[0])


def plans_and_looks(db: Database, ref: str) -> None:
    """All reads of beliefs, and plans that nobody carries out, by a handle that draws its own random numbers."""
    with opened(db.path, 6) as reading:
        view = reading.view(valid=db.view().valid)
        base = view.belief_base()
        assert base and view.retrieval_surface() <= base and view.belief_settings().tags == ("current",)
        assert view.contraction(sorted(base)[:1]).changes and view.withdrawal(author="ada").withdrawn
        assert view.tagged("published") == [] == view.marks(ref) and not view.profiles()
        assert view.impact(ref) is not None and view.provenance(ref) is not None
        assert view.recall("text", exact=True, receipt=True, lanes=("text",)).receipt is not None


def stored(folder: Path) -> list[tuple[bytes, bytes]]:
    """Every pair of a closed store, of log and tables."""
    with lmdb.open(str(folder), readonly=True, lock=False) as env, env.begin() as txn:
        return [(bytes(key), bytes(value)) for key, value in txn.cursor()]


def test_a_store_that_uses_no_beliefs_has_the_bytes_that_it_had_before_there_were_any(tmp_path: Path) -> None:
    """The log has those of before; and reads of beliefs and plans write nothing, in the log or in the tables."""
    for name, reads in (("plain", lambda db, ref: None), ("read", plans_and_looks)):
        with opened(tmp_path / name, 5) as db:
            ordinary(db, reads)
    pairs = stored(tmp_path / "plain")
    assert pairs == stored(tmp_path / "read")
    log = hashlib.sha256(b"".join(key + value for key, value in pairs if key < TABLES_FROM))
    assert log.hexdigest() == BEFORE_BELIEFS


def test_beliefs_go_along_with_rebuilds_redecisions_bundles_and_what_if(tmp_path: Path) -> None:
    history = History(tmp_path / "store", 7)
    history.run(STEPS)
    db = history.db
    before = told(db.view(), history.refs)
    db.rebuild()
    assert told(db.view(), history.refs) == before and db.verify(deep=True).ok
    decided = db.redecide()
    assert decided.differing == () == decided.undecidable and decided.same == db.head().seq - 1
    # Without the first belief that was written, all that follows is decided again.
    first = next(entry.seq for entry in db.log() if entry.event == "revised")
    found = db.replay(tmp_path / "if", without=[first])
    assert found is not None
    db.export(history.refs[0], tmp_path / "fact.bundle")
    with opened(tmp_path / "other", 3) as other:
        other.import_bundle(tmp_path / "fact.bundle")
        mine = {atom for atom in db.view().belief_base(of=history.refs[0])}
        assert {atom for atom in other.view(valid=db.view().valid).belief_base()} >= mine
    db.close()


def test_a_comparison_names_and_a_store_as_it_might_have_been_lacks_what_one_commit_did(tmp_path: Path) -> None:
    """Receipts, tags, deprecations, settings, profiles, withdrawals and their undoing, each by itself."""
    with opened(tmp_path / "store") as db:
        code = db.as_author("mallory").create("Fact", "code", content="the vault opens with 1234").ref
        plan = db.create("Fact", "plan", content="through the vault").ref
        db.link(plan, "derived_from", code)
        db.backup(tmp_path / "before")
        receipt = db.view().recall("vault", exact=True, receipt=True).receipt
        assert receipt is not None
        did: dict[str, int] = {}

        def done(what: str) -> None:
            did[what] = db.head().seq

        db.keep_receipt(receipt)
        db.write_receipts()
        done("recalled")
        db.tag(plan, "published")
        done("tagged")
        db.deprecate(plan)
        done("deprecated")
        db.set_beliefs(tags=["published"])
        done("beliefs_set")
        db.set_profile(plan, "arbiter")
        done("profiled")
        withdrawn = db.withdraw(db.view().withdrawal(author="mallory"))
        done("withdrawn")
        db.undo(withdrawn)
        done("taken back")
        assert all(entry.seq in did.values() for entry in db.log(did["recalled"]))

        def is_there(store: Database) -> set[str]:
            view = store.view()
            fact, item = view.get(code), view.revealing(deprecated=True).get(plan)
            there = {"recalled": bool(view.receipts_of(code)), "tagged": item is not None and bool(item.tags)}
            there |= {"deprecated": item is not None and item.deprecated, "profiled": bool(view.profiles())}
            there |= {"beliefs_set": view.belief_settings().tags != ("current",), "taken back": fact is not None}
            return {what for what, holds in there.items() if holds}

        everything = is_there(db)
        assert everything == did.keys() - {"withdrawn"}
        for what, seq in did.items():
            db.replay(tmp_path / what, without=[seq])
            with opened(tmp_path / what) as other:
                # Without the withdrawal there is nothing to be taken back.
                assert is_there(other) == everything - {what}, what
        found = worlddb.diff(tmp_path / "before", tmp_path / "store")
    told = {detail.field for world in found.worlds for detail in world.changes}
    assert told == {"version", *did} - {"withdrawn", "taken back"}


# -- the command line, and the server's tools


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> LocalRunner:
    return LocalRunner(capsys, tmp_path / "store")


def test_beliefs_change_on_the_command_line(run: LocalRunner) -> None:
    ref = run.json("create", "Fact", "colour", "--content", "blue")["ref"]
    run("create", "Note", "why", "--content", "he said so")
    run("link", "why", "derived_from", "colour")
    told = run.json("believe", "colour", "summary=black", "topic=taste", 'topic="3"', "port=8080")
    assert told["ref"] == ref and told["lost"]
    found = run.json("beliefs")["beliefs"]
    assert {"item": ref, "predicate": "summary", "value": "black"} in found
    assert {each["value"] for each in found if each["predicate"] == "topic"} == {"taste", "3"}
    assert run("expand", "colour", "summary=red").code == 3
    plan = run.json("contract", "colour", "topic=taste", "--and", "why", "summary=he said so", "--plan")
    assert [atom["predicate"] for atom in plan["goes"]] == ["summary"] and [atom["item"] for atom in plan["stays"]] == [
        ref
    ]
    shown = run("contract", "colour", "summary=black", "--plan").out
    assert "goes: summary black" in shown and "depends on it" in shown and "held from" in shown
    assert "Nothing would change" in run("contract", "colour", "summary=green", "--plan").out
    seq = run.json("contract", "colour", "summary=black", "topic=taste", "--each")["seq"]
    assert not {"black", "taste"} & {each["value"] for each in run.json("beliefs")["beliefs"]}
    run("undo", "--commit", str(seq), "--why", "a slip")
    assert {"black", "taste"} <= {each["value"] for each in run.json("beliefs")["beliefs"]}
    assert "Both a proposal and --commit were given, or neither" in run("undo").err
    run("rollback", "colour", "1")
    assert "blue" in run("beliefs").out and "is not a belief" in run("believe", "colour", "summary").err
    run("deprecate", "colour")
    assert "blue" not in run("beliefs", "--surface").out and "blue" in run("beliefs").out
    assert "preference: compared by recency" in run("beliefs", "--settings").out


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Session]:
    with opened(tmp_path / "store") as db:
        yield Session(db)


def call(desk: Session, name: str, /, **arguments: Any) -> Any:
    (tool,) = (tool for tool in catalogue.tools_in_sets("all,beliefs") if tool.name == name)
    answer = tool.run(desk, tool.takes.parse(arguments), Call("a client", name))
    assert isinstance(answer, tool.gives)
    clock: Any = desk.db._clock
    clock.advance(1_000_000)
    return msgspec.to_builtins(answer)


def test_beliefs_change_by_the_tools_of_the_server(desk: Session) -> None:
    ref = call(desk, "memory_write", text="likes blue", user_id="ana")["id"]
    assert call(desk, "memory_believe", id=ref, beliefs={"summary": "likes black", "topic": ["taste"]})["id"] == ref

    def believed() -> set[tuple[str, str]]:
        return {(each["predicate"], each["value"]) for each in call(desk, "memory_beliefs", id=ref)["beliefs"]}

    assert {("summary", "likes black"), ("topic", "taste")} <= believed()
    claim = {"id": ref, "predicate": "topic", "value": "taste"}
    plan = call(desk, "memory_contract", beliefs=[claim])
    assert [each["value"] for each in plan["goes"]] == ["taste"] and plan["done"] is None
    assert ("topic", "taste") in believed()
    done = call(desk, "memory_contract", beliefs=[claim], do=True)
    assert done["done"]["outcome"] == "committed" and ("topic", "taste") not in believed()
    call(desk, "memory_rollback", id=ref, version=1)
    assert ("summary", "likes blue") in believed()
    for wrong in ({"type": "Scope"}, {"summary": " "}, {"topic": None}):
        with pytest.raises(worlddb.WorldDBError):
            call(desk, "memory_believe", id=ref, beliefs=wrong)
