"""Supposes histories without some commits, in stores that say what they are."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import worlddb
from tests.reconciler.replay.test_redeciding import Employs
from tests.support.faults.growth import Growth
from tests.support.running import LocalRunner, SmallRefs, small_store
from worlddb import Database, HypotheticalStore, InputError, ManualClock, Replayed, SeededEntropy

HISTORIES = 8
COMMANDS = 50


def differing_outcomes(made: Replayed) -> dict[int, str]:
    """What came of each commit that did not come out the same."""
    assert made.hypothesis is not None
    return {each.seq: each.now for each in made.hypothesis.differing}


def open_store(folder: Path) -> Database:
    return worlddb.open(folder, create=False, embedder=None)


def worlds_of(db: Database, seq: int) -> dict[str, str]:
    """Every world that was known at a commit, with its hash then."""
    view = db.view(seq=seq)
    made = {entry.refs[0] for entry in db.log(2, seq) if entry.event == "created"}
    return {ref: view.hash(ref) for ref in made}


def test_random_histories_without_some_commits_hold_and_differ_only_where_a_diff_says_so(
    tmp_path: Path, seed: int
) -> None:
    ends: Counter[str] = Counter()
    for number in range(HISTORIES):
        rng, clock, top = random.Random(seed + number), ManualClock(), tmp_path / str(number)
        with worlddb.open(top / "store", clock=clock, entropy=SeededEntropy(seed + number), embedder=None) as db:
            growth = Growth(db, clock, seed + number)
            growth.grow(COMMANDS)
            if number % 2:
                db.erase(rng.choice(growth.worlds), reason="request 7", members=rng.random() < 0.5)
                growth.grow(COMMANDS // 3)
            erasing = {entry.seq for entry in db.log() if entry.event == "erased"}
            without = rng.sample(sorted(set(range(2, db.head().seq + 1)) - erasing), 3)
            until = rng.choice((db.head().seq, rng.randint(max(without), db.head().seq)))
            made = db.replay(top / "what-if", seq=until, without=without)
            assert db.replay(top / "again", seq=until, without=without) == made
            ends.update(differing_outcomes(made).values())
            assert {seq for seq, now in differing_outcomes(made).items() if now == "left_out"} == set(without)
            assert made.hypothesis is not None and made.hypothesis.parted == min(without) - 1
            assert made.hypothesis.same + len(differing_outcomes(made)) == until - made.hypothesis.parted
            with open_store(top / "what-if") as other, open_store(top / "again") as again:
                assert other.verify(deep=True).ok and other.rebuild("tables").root == made.root
                assert other.head() == again.head()
                assert [(step.receipt.seq, step.receipt.ingest_time, step.author) for step in other.steps()] == [
                    (step.receipt.seq, step.receipt.ingest_time, step.author) for step in db.steps(1, until)
                ]
                here, there = worlds_of(db, until), worlds_of(other, until)
        found = worlddb.diff(top / "store", top / "what-if", seq_a=until, deep=False)
        assert (found.parted, found.problems) == (min(without) - 1, ())
        hashes = {change.ref for change in found.worlds if change.a != change.b} & (here.keys() | there.keys())
        assert hashes == {ref for ref in here.keys() | there.keys() if here.get(ref) != there.get(ref)}
    assert {"left_out", "refused", "taken_over", "committed"} <= ends.keys()


@pytest.fixture
def small(tmp_path: Path) -> SmallRefs:
    return small_store(tmp_path / "store")


def test_what_depended_on_a_commit_that_is_left_out_is_refused_with_the_reason(
    small: SmallRefs, tmp_path: Path
) -> None:
    with open_store(tmp_path / "store") as db:
        made = db.replay(tmp_path / "what-if", without=[3, 5])
        assert differing_outcomes(made) == {3: "left_out", 4: "refused", 5: "left_out", 7: "refused", 11: "committed"}
        assert made.hypothesis is not None and made.hypothesis.same == 4
        by_seq = {each.seq: each for each in made.hypothesis.differing}
        assert by_seq[4].code == "unknown_reference" and "commit 3 made it" in by_seq[4].reason
        assert "commit 5 made it" in by_seq[7].reason
        assert [event.event for event in by_seq[11].events_then] == ["proposed"] and by_seq[11].events_now == ()
        assert not made.matches_recorded
    with open_store(tmp_path / "what-if") as other:
        view = other.view()
        assert view.find(name="Sarah Chen") == view.find(name="sarah chen") and len(view.find(name="sarah chen")) == 1
        assert view.get(small.porto) is not None and view.proposals() == []
        log = [(entry.seq, entry.event, entry.why) for entry in other.log(3, 5)]
        assert [(seq, event) for seq, event, _ in log] == [(3, "supposed"), *((seq, "left_out") for seq in (3, 4, 5))]
        assert "commit 3 made it" in log[2][2]


def test_without_the_last_commit_a_store_is_as_it_was_before_it(small: SmallRefs, tmp_path: Path) -> None:
    with open_store(tmp_path / "store") as db:
        made = db.replay(tmp_path / "what-if", without=[11])
        assert made.root == db.view(seq=10).hash() and differing_outcomes(made) == {11: "left_out"}


def test_without_an_author_only_what_others_wrote_is_there(tmp_path: Path) -> None:
    clock = ManualClock()
    with (
        worlddb.open(tmp_path / "store", author="ada", clock=clock) as ada,
        worlddb.open(tmp_path / "store", author="eve", clock=clock) as eve,
    ):
        mine = ada.create("Topic", "Mine")
        theirs = eve.create("Topic", "Theirs")
        hers = eve.create("Fact", "Hers", world=mine)
        ada.link(mine, "refers_to", theirs)
        ada.create("Fact", "Also mine", world=mine)
        made = ada.replay(tmp_path / "what-if", without_author="eve")
        assert differing_outcomes(made) == {theirs.seq: "left_out", hers.seq: "left_out", hers.seq + 1: "refused"}
        both = ada.replay(tmp_path / "both", without=[mine.seq], without_author=["eve", "nobody"])
        assert set(differing_outcomes(both)) == set(range(2, 7))
    with open_store(tmp_path / "what-if") as other:
        assert [child.name for child in other.view().children(mine)] == ["Also mine"]
        assert other.head().supposes == "the history up to commit 6 without author 'eve'"


def test_edges_that_get_another_id_are_found_by_the_commands_that_meant_them(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        one, other = db.create("Fact", "one"), db.create("Fact", "other")
        revised = db.revise(one, content="more")
        edges = [db.link(one, "refers_to", other), db.link(one, "refers_to", other, key="k", why="because")]
        staged = db.link(one, "same_as", other).proposals[0]
        db.retire(edges[0], at="2030-01-01")
        db.unlink(edges[1].ref[:16])
        again = db.link(one, "refers_to", other, key="k")
        db.unlink(again)
        db.accept(staged)
        home = db.create("Topic", "home")
        db.move([one, other], home)
        db.undo(staged[:20])
        made = db.replay(tmp_path / "what-if", without=[revised.seq])
        assert set(differing_outcomes(made).values()) <= {"left_out", "committed", "staged"}, differing_outcomes(made)
        ended = [(edge.type, edge.closed) for edge in db.view().edges(one, include_superseded=True)]
    with open_store(tmp_path / "what-if") as what_if:
        assert what_if.verify(deep=True).ok
        found = what_if.view().edges(one, include_superseded=True)
        assert [(edge.type, edge.closed) for edge in found] == ended
        assert {edge.ref for edge in found}.isdisjoint({edges[0].ref, edges[1].ref})
        assert [each.status for each in what_if.proposals(status=None)] == ["undone"]


def test_a_conversation_that_was_taken_in_before_is_taken_in_when_it_comes_again(tmp_path: Path) -> None:
    said = [{"speaker": "Ann", "text": "Tea is at four."}, {"speaker": "Ben", "text": "The bridge is closed."}]
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        first = db.ingest(said, conversation="c", session="s")
        db.ingest([*said, {"speaker": "Ann", "text": "Then I stay."}], conversation="c", session="s")
        made = db.replay(tmp_path / "what-if", without=[first.seq])
        assert made.hypothesis is not None
        (later,) = (each for each in made.hypothesis.differing if each.now == "committed")
        assert "not kept" in later.reason
        texts = sorted(world.content for world in db.view().find(type="Turn"))
    with open_store(tmp_path / "what-if") as other:
        assert sorted(world.content for world in other.view().find(type="Turn")) == texts
        assert other.verify(deep=True).ok


def test_vectors_go_with_their_texts_whatever_number_the_version_has_then(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        note = db.create("Note", "A note", content="a cup of tea in the afternoon")
        gone = db.create("Note", "Gone", content="the bridge over the river")
        revised = db.revise(note, content="nothing of the kind")
        db.revise(note, content="a strong coffee at night")
        db.embed()
        db.create("Note", "Later", content="a train to the mountains")
        second = db.embed()
        assert second.commits == 1
        made = db.replay(tmp_path / "what-if", without=[gone.seq, revised.seq])
        assert "undecidable" not in differing_outcomes(made).values()
        lost = db.replay(tmp_path / "no-space", without=[6])
        assert differing_outcomes(lost)[6] == "left_out" and "undecidable" not in differing_outcomes(lost).values()
    with worlddb.open(tmp_path / "what-if") as other:
        assert other.verify(deep=True).ok
        assert other.view().recall("espresso", lanes=["vector"]).hits[0].name == "A note"
        assert other.stats()["counts"]["worlds"] == 3
    with worlddb.open(tmp_path / "no-space") as other:
        assert other.verify(deep=True).ok
        assert [hit.name for hit in other.view().recall("railway", lanes=["vector"]).hits] == ["Later"]


def test_erased_texts_do_not_come_back(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", author="ada") as db:
        secret = db.create("Note", "Secret", content="what must go", aliases=["hidden"])
        plain = db.create("Note", "Plain")
        db.revise(secret, content="what must go, too")
        edge = db.link(plain, "refers_to", secret, why="a hint")
        erased = db.erase(secret, reason="request 7")
        later = db.create("Note", "Later")
        with pytest.raises(InputError, match=f"Commit {erased.seq} erased texts"):
            db.replay(tmp_path / "no", without=[erased.seq])
        assert not (tmp_path / "no").exists()
        made = db.replay(tmp_path / "what-if", without=[plain.seq])
        assert differing_outcomes(made) == {
            plain.seq: "left_out",
            plain.seq + 1: "taken_over",
            edge.seq: "undecidable",
            erased.seq: "taken_over",
        }
        whole = db.replay(tmp_path / "whole", without=[later.seq])
        assert differing_outcomes(whole) == {later.seq: "left_out"}
        early = db.replay(tmp_path / "early", seq=edge.seq, without=[plain.seq])
        assert differing_outcomes(early)[plain.seq + 1] == "taken_over"
        gone = db.replay(tmp_path / "gone", without=[secret.seq])
        assert differing_outcomes(gone)[erased.seq] == "unchanged"
        with pytest.raises(InputError, match="'ada'"):
            db.replay(tmp_path / "none", seq=1, without_author="ada")
        everything = db.replay(tmp_path / "everything", without_author="ada")
        assert differing_outcomes(everything)[erased.seq] == "unchanged"
    for name in ("what-if", "whole", "early", "gone", "everything"):
        with open_store(tmp_path / name) as other:
            assert other.verify(deep=True).ok, name
            found = other.view().get(secret.ref, include_superseded=True) if "g" not in name else None
            assert found is None or (found.content, found.name) == ("", "")
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or b"must go, too" not in path.read_bytes(), path


def test_imports_are_taken_over_if_all_is_as_it_was(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "other") as other:
        team = other.create("Topic", "Team", content="elsewhere")
        other.create("Fact", "One", content="a fact", world=team)
        other.export(team, tmp_path / "b.bundle")
        other.create("Fact", "Two", world=team)
        other.export(team, tmp_path / "c.bundle")
    with worlddb.open(tmp_path / "store") as db:
        shelf, note = db.create("Topic", "Shelf"), db.create("Note", "Beside")
        first = db.import_bundle(tmp_path / "b.bundle", into=shelf)
        second = db.import_bundle(tmp_path / "c.bundle")
        assert differing_outcomes(db.replay(tmp_path / "one", without=[note.seq])) == {
            note.seq: "left_out",
            first.seq: "taken_over",
            second.seq: "taken_over",
        }
        assert differing_outcomes(db.replay(tmp_path / "two", without=[first.seq]))[second.seq] == "undecidable"
        assert differing_outcomes(db.replay(tmp_path / "three", without=[shelf.seq]))[first.seq] == "undecidable"
    for name in ("one", "two", "three"):
        with open_store(tmp_path / name) as made:
            assert made.verify(deep=True).ok
            assert bool(made.view().find(name="Two")) == (name == "one")


def test_without_the_handler_of_a_type_its_edges_are_taken_over(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", edge_types=[Employs()]) as db:
        db.register(Employs())
        one, ann = db.create("Firm", "One"), db.create("Person", "Ann")
        revised = db.revise(ann, content="a person")
        beside = db.create("Note", "Beside")
        edge = db.link(one, "employs", ann)
        assert differing_outcomes(db.replay(tmp_path / "with", without=[beside.seq])) == {beside.seq: "left_out"}
    with open_store(tmp_path / "store") as db:
        assert differing_outcomes(db.replay(tmp_path / "over", without=[beside.seq]))[edge.seq] == "taken_over"
        assert differing_outcomes(db.replay(tmp_path / "out", without=[revised.seq]))[edge.seq] == "undecidable"
    with open_store(tmp_path / "over") as other:
        assert other.verify(deep=True).ok and [each.ref for each in other.view().edges(ann, type="employs")] == [
            edge.ref
        ]


CALLS: dict[str, Callable[[Database, Path], Any]] = {
    "create": lambda db, to: db.create("Topic", "X"),
    "batch": lambda db, to: _batch(db),
    "ingest": lambda db, to: db.ingest([{"text": "a"}]),
    "erase": lambda db, to: db.erase(db.view().find(type="Topic")[0].ref, reason="r"),
    "bookmark": lambda db, to: db.bookmark("now"),
    "import": lambda db, to: db.import_bundle(to / "b.bundle"),
    "checkpoint": lambda db, to: db.checkpoint(),
    "old checkpoint": lambda db, to: db.checkpoint(seq=2),
    "prove": lambda db, to: db.prove(db.view().find(type="Topic")[0].ref),
    "consistency": lambda db, to: db.prove_consistency(2),
    "backup": lambda db, to: db.backup(to / "backup"),
    "export": lambda db, to: db.export(None, to / "out.bundle"),
    "lines": lambda db, to: db.export_lines(),
    "jsonl": lambda db, to: db.export_jsonl(None, to / "out.jsonl"),
    "receipt": lambda db, to: db.erasure_receipt(2),
    "what if": lambda db, to: db.replay(to / "x", without=[9]),
    "redecide": lambda db, to: db.redecide(),
}


def _batch(db: Database) -> None:
    with db.batch() as tx:
        tx.create("Topic", "X")


def test_a_hypothetical_store_refuses_to_pose_as_the_original(small: SmallRefs, tmp_path: Path) -> None:
    with open_store(tmp_path / "store") as db:
        db.replay(tmp_path / "what-if", without=[5])
        original, checkpoint = db.head(), db.checkpoint(seq=11)
        db.export(None, tmp_path / "b.bundle")
    with open_store(tmp_path / "what-if") as other:
        for name, call in CALLS.items():
            with pytest.raises(HypotheticalStore) as refused:
                call(other, tmp_path)
            assert refused.value.details["since"] == 5, name
        assert {path.name for path in tmp_path.iterdir()} == {"store", "what-if", "b.bundle"}
        head = other.head()
        assert head.supposes == "the history up to commit 11 without commit 5"
        assert head.store_id != original.store_id and head.seq == original.seq
        assert other.stats()["supposes"] == other.verify(deep=True).supposes == head.supposes
        assert other.verify(head=checkpoint).head == "other_store"
        assert other.rebuild().root == head.root and other.head().supposes
        copied = other.replay(tmp_path / "copy")
        assert copied.matches_recorded and copied.hypothesis is None
        early = other.replay(tmp_path / "early", seq=4)
        assert early.seq == 4
    with open_store(tmp_path / "copy") as copy, pytest.raises(HypotheticalStore):
        assert copy.head() == head
        copy.create("Topic", "X")
    with worlddb.open(tmp_path / "early") as early_store:
        # Up to where they part, the history is the original's own.
        assert not early_store.head().supposes and early_store.head().store_id == original.store_id
    with open_store(tmp_path / "store") as db:
        assert not db.head().supposes and not db.stats()["supposes"] and not db.verify().supposes
        with pytest.raises(worlddb.BackupMismatch):
            db.backup(tmp_path / "what-if")
    noted = worlddb.diff(tmp_path / "store", tmp_path / "what-if").notes
    assert f"b is hypothetical: {head.supposes}" in noted


@pytest.mark.parametrize(
    "asked",
    [
        {"without": [1]},
        {"without": [0]},
        {"without": ["3"]},
        {"without": "3"},
        {"without": 3},
        {"without": [12]},
        {"without": [9], "seq": 8},
        {"without_author": "nobody"},
        {"without_author": [""]},
        {"without_author": 7},
    ],
)
def test_a_mandatory_commit_cannot_be_left_out(small: SmallRefs, tmp_path: Path, asked: dict[str, Any]) -> None:
    with open_store(tmp_path / "store") as db, pytest.raises(InputError):
        db.replay(tmp_path / "what-if", **asked)
    assert not (tmp_path / "what-if").exists()


def test_the_command_line_makes_one_and_tells_what_came_of_it(
    small: SmallRefs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = LocalRunner(capsys, tmp_path / "store")
    made = run.json("replay", "--without", "3,5", "--until", "10", "--into", tmp_path / "one")
    assert (made["seq"], made["parted"], made["same"], made["hypothetical"]) == (10, 2, 4, True)
    assert [(each["seq"], each["now"]) for each in made["differing"]] == [
        *((3, "left_out"), (4, "refused")),
        *((5, "left_out"), (7, "refused")),
    ]
    told = run("replay", "--without", "3", "--without", "5", "--into", tmp_path / "two").out
    assert "4  agent-7  revise  refused (unknown_reference): No world" in told
    assert "commits 3, 5" in told and "decided otherwise" in told
    assert run("replay", "--without-author", "nobody", "--into", tmp_path / "x").error == "input"
    for words in (("--without", "3"), ("--without", "x", "--into", "y"), ("--without", "3", "--step")):
        assert run("replay", *words).error == "usage"
    other = LocalRunner(capsys, tmp_path / "two")
    head = other.json("head")
    assert (head["checkpoint"], head["supposes"]) == (None, "the history up to commit 11 without commits 3, 5")
    assert "hypothetical" in other("head").out and "hypothetical" in other("stats").out
    assert "hypothetical" in other("verify").out and other.json("verify", "--deep")["ok"]
    run("keygen", "example.com/k", "--out", tmp_path / "key")
    for line in (("head", "--sign", tmp_path / "key"), ("bookmark", "x"), ("backup", tmp_path / "b"), ("embed",)):
        refused = other(*line) if line[0] != "embed" else other("ingest", _talk(tmp_path))
        assert (refused.code, refused.error) == (3, "hypothetical_store"), line
    compared = run("diff", tmp_path / "store", tmp_path / "two")
    assert compared.code == 1 and "b is hypothetical" in compared.out


def _talk(folder: Path) -> Path:
    (folder / "talk.jsonl").write_text('{"text": "Tea is at four."}\n', encoding="utf-8")
    return folder / "talk.jsonl"
