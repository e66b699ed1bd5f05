"""Asks models about new worlds before the store is locked, and nobody again once it is recorded."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import worlddb
from tests.reconciler.entity_resolution.test_reclustering import Topics
from worlddb import Contender, Extraction, InputError, Node, Thresholds, Turn
from worlddb.projections.indexes import vector_base, vector_index

HISTORIES = 6
STEPS = 14


class Counting(Topics):
    """Counts the calls, and may fail."""

    def __init__(self) -> None:
        self.calls = 0
        self.broken = False

    def embed(self, texts: Sequence[str], *, query: bool) -> Any:
        self.calls += 1
        if self.broken:
            raise RuntimeError("out of order")
        return super().embed(texts, query=query)


class Chooser:
    """A tiebreaker that a test tells whom to leave; remembers whom it was asked about."""

    def __init__(self, choose: Callable[[Sequence[Contender]], Sequence[Contender]]) -> None:
        self.choose = choose
        self.asked: list[list[str]] = []

    def __call__(self, contenders: Sequence[Contender]) -> Sequence[Contender]:
        self.asked.append(
            [each.considered.name if not each.considered.known_as else each.considered.known_as for each in contenders]
        )
        return self.choose(contenders)


def create_known_world(db: worlddb.Database) -> str:
    ref = db.create("Entity", "Dr Okafor", content="leads the search for search").ref
    db.embed()
    return str(ref)


def test_a_create_proposes_by_meaning_and_tells_how(tmp_path: Path) -> None:
    model = Counting()
    with worlddb.open(tmp_path / "store", embedder=model) as db:
        okafor = create_known_world(db)
        receipt = db.create("Entity", "Boss", content="search, search, search", resolve="all")
        (proposal,) = db.proposals()
        assert receipt.proposals == (proposal.ref,)
        assert (proposal.target, proposal.evidence["tier"], proposal.evidence["model"]) == (
            okafor,
            "embedding",
            "topics/1",
        )
        assert db.view().equivalence_class(okafor) == [okafor], "nothing is merged"
        assert not db.create("Entity", "Chief", content="search", resolve="exact").proposals
        assert not db.create("Entity", "Skier", content="snow", resolve="all").proposals
        assert not db.create("Event", "Meeting", content="search", resolve="all").proposals, "of another type"
        elsewhere = db.create("Topic", "Elsewhere")
        assert not db.create("Entity", "Boss", content="search", world=elsewhere, resolve="all").proposals


def test_an_ingest_proposes_by_meaning_inside_its_conversation_in_its_own_commit(tmp_path: Path) -> None:
    def found(name: str, text: str) -> Any:
        return lambda turns: Extraction(nodes=[Node(label="n", type="Entity", name=name, content=text)])

    with worlddb.open(tmp_path / "store", embedder=Counting()) as db:
        db.ingest([Turn(text="one")], extractor=found("Dr Okafor", "search"), session="a", embed=True)
        receipt = db.ingest([Turn(text="two")], extractor=found("The boss", "search search"), session="b")
        other = db.ingest([Turn(text="two")], extractor=found("The boss", "search"), conversation="other")
        (proposal,) = db.proposals()
        assert receipt.proposals == (proposal.ref,) and other.proposals == ()
        assert (proposal.source_name, proposal.target_name) == ("The boss", "Dr Okafor")
        assert not db.redecide().differing


def test_nobody_is_asked_by_a_retry_a_replay_or_a_plain_create(tmp_path: Path) -> None:
    model, chooser = Counting(), Chooser(lambda contenders: contenders[:1])
    with worlddb.open(tmp_path / "store", embedder=model, tiebreaker=chooser) as db:
        create_known_world(db)
        calls = model.calls
        db.create("Entity", "Somebody", content="music")
        assert (model.calls, chooser.asked) == (calls, [])
        first = db.create("Entity", "Boss", content="search", resolve="all", idempotency_key="k")
        calls = model.calls
        db.create("Entity", "Head of all", content="search", resolve=False)
        assert db.create("Entity", "Boss", content="search", resolve="all", idempotency_key="k") == first
        assert not db.redecide().differing
        db.rebuild()
        db.replay(tmp_path / "copy")
        db.replay(tmp_path / "supposed", without=[db.head().seq])
        assert (model.calls, len(chooser.asked)) == (calls, 1)
    with worlddb.open(tmp_path / "supposed", embedder=None) as other:
        (proposal,) = other.proposals()
        assert proposal.ref == first.proposals[0] and proposal.evidence["tiebreaker"] == "Chooser"
        assert other.verify(deep=True).ok


@pytest.mark.parametrize("left", [0, 1, 2])
def test_a_tiebreaker_decides_whom_a_create_proposes_and_a_replay_knows_it(tmp_path: Path, left: int) -> None:
    chooser = Chooser(lambda contenders: contenders[len(contenders) - left :])
    with worlddb.open(tmp_path / "store", embedder=None, tiebreaker=chooser) as db:
        for name in ("Sarah Chen", "Sahra Chen"):
            db.create("Entity", name, resolve=False)
        receipt = db.create("Entity", "Sara Chen", resolve="all")
        assert len(chooser.asked) == 1 and len(chooser.asked[0]) == 2
        assert len(receipt.proposals) == left
        assert {proposal.evidence["tiebreaker"] for proposal in db.proposals()} == ({"Chooser"} if left else set())
        with db.batch() as tx:
            tx.create("Entity", "Sarah Chenn", resolve="all")
        assert len(chooser.asked) == 2 and bool(tx.receipt.proposals) == bool(left)
    with worlddb.open(tmp_path / "store") as db:
        again = db.redecide()
        assert not again.differing and not again.undecidable


def test_a_tiebreaker_that_chooses_a_stranger_or_fails_writes_nothing(tmp_path: Path) -> None:
    def broken(contenders: Sequence[Contender]) -> Sequence[Contender]:
        raise LookupError("nobody answers")

    stranger: Any = Chooser(lambda contenders: [contenders[0]._replace(score=0.0)])
    for number, (tiebreaker, error) in enumerate([(stranger, InputError), (broken, LookupError)]):
        with worlddb.open(tmp_path / str(number), tiebreaker=tiebreaker) as db:
            db.create("Entity", "Sarah Chen")
            before = db.head()
            with pytest.raises(error):
                db.create("Entity", "Sara Chen", resolve="all")
            assert db.head() == before
    with pytest.raises(InputError, match="tiebreaker is str"):
        worlddb.open(tmp_path / "none", tiebreaker="me")  # type: ignore[arg-type]
    assert not (tmp_path / "none").exists()


def test_a_model_that_fails_costs_the_comparison_and_not_the_write(tmp_path: Path) -> None:
    model = Counting()
    with worlddb.open(tmp_path / "store", embedder=model) as db:
        create_known_world(db)
        model.broken = True
        receipt = db.create("Entity", "Boss", content="search", resolve="all")
        assert receipt and not receipt.proposals
        (note,) = receipt.notes
        assert note.code == "not_compared" and "out of order" in str(note)
        assert not db.redecide().differing


def test_models_are_asked_while_the_store_is_not_locked_and_what_came_meanwhile_counts(tmp_path: Path) -> None:
    def writes(contenders: Sequence[Contender]) -> Sequence[Contender]:
        done: list[Any] = []
        with worlddb.open(tmp_path / "store", timeout_seconds=1.0) as other:
            thread = threading.Thread(target=lambda: done.append(other.create("Entity", "Sara Chenn", resolve=False)))
            thread.start()
            thread.join(10)
        assert done, "the store was locked"
        return []

    with worlddb.open(tmp_path / "store", tiebreaker=writes) as db:
        db.create("Entity", "Sarah Chen")
        receipt = db.create("Entity", "Sara Chen", resolve="all")
        names = {proposal.target_name for proposal in db.proposals()}
        assert receipt.proposals and "Sara Chenn" in names, "whom the tiebreaker never saw it did not refuse"
        assert {proposal.evidence["tiebreaker"] for proposal in db.proposals()} == {"ByTier"}
        assert not db.redecide().differing


def test_a_world_that_was_revised_or_erased_while_a_model_was_asked_is_not_near_any_more(tmp_path: Path) -> None:
    class Meanwhile(Topics):
        act: Callable[[], Any] | None = None

        def embed(self, texts: Sequence[str], *, query: bool) -> Any:
            act, self.act = self.act, None
            if act is not None:
                act()
            return super().embed(texts, query=query)

    model = Meanwhile()
    with worlddb.open(tmp_path / "store", embedder=model) as db:
        okafor = create_known_world(db)
        model.act = lambda: db.revise(okafor, content="snow")
        assert not db.create("Entity", "Boss", content="search", resolve="all").proposals
        db.embed()
        model.act = lambda: db.erase(okafor, reason="request")
        assert not db.create("Entity", "Skier", content="snow", resolve="all").proposals
        assert not db.redecide().differing


def _some(rng: random.Random, contenders: Sequence[Contender]) -> Sequence[Contender]:
    return [each for each in contenders if rng.random() < 0.6]


def test_a_decision_again_agrees_whatever_was_asked_and_wherever(tmp_path: Path, seed: int) -> None:
    judged = 0
    for number in range(HISTORIES):
        rng = random.Random(f"{seed} {number}")
        chooser = Chooser(partial(_some, rng))
        model = Topics()
        asks = rng.random() < 0.7
        with worlddb.open(tmp_path / str(number), embedder=model, tiebreaker=chooser if asks else None) as db:
            worlds = [None, db.create("Topic", "W").ref]
            for step in range(STEPS):
                text = " ".join(rng.choices(("search", "music", "snow"), k=rng.randrange(3)))
                name = rng.choice(("Sarah Chen", "Sara Chen", "Mark", "Marc", "Okafor", "Boss"))
                act = rng.randrange(6)
                if act == 0:
                    db.embed()
                elif act == 1:
                    for proposal in db.proposals()[:1]:
                        (db.accept if rng.random() < 0.5 else db.reject)(proposal.ref)
                elif act == 2:
                    with db.batch() as tx:
                        for _ in range(3):
                            tx.create("Entity", name, content=text, world=rng.choice(worlds), resolve="all")
                    judged += len(tx.receipt.proposals)
                else:
                    key = rng.choice((None, f"key {step % 4}"))
                    made = db.create("Entity", name, content=text, world=rng.choice(worlds), key=key, resolve="all")
                    judged += len(made.proposals)
            root = db.head().root
        with worlddb.open(tmp_path / str(number), embedder=None) as db:
            again = db.redecide()
            assert not again.differing and not again.undecidable, (seed, number, again.differing)
            db.rebuild()
            assert db.head().root == root and db.verify(deep=True).ok
            assert db.redecide(resolver=Thresholds(fuzzy=1.0, phonetic=1.0)) is not None
    assert judged > 3 * HISTORIES, "the run was not trivial"


@pytest.mark.parametrize("indexed", [False, True])
@pytest.mark.parametrize("how", ["create", "recluster"])
def test_how_much_lies_elsewhere_keeps_nobody_near_out(
    tmp_path: Path, how: str, indexed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if indexed:
        # So many vectors that a graph is searched; what it finds depends on all that is in it.
        monkeypatch.setattr(vector_index, "EXACT_VECTORS", 1)
        monkeypatch.setattr(vector_index, "SHORT_TAIL", 1)
        monkeypatch.setattr(vector_base, "GATHERED_SHARE", 0.0)
        monkeypatch.setattr(vector_base.VectorSearcher, "is_for_graph", lambda *_: pytest.fail("a graph was searched"))
    with worlddb.open(tmp_path / "store", embedder=Topics()) as db:
        mine, theirs = (db.create("Topic", name).ref for name in ("mine", "theirs"))
        with db.batch() as tx:
            for number in range(70):
                tx.create("Entity", f"Person {number}", content="search", world=theirs, resolve=False)
            tx.create("Entity", "Dr Okafor", content="search search music", world=mine)
        db.embed()
        receipt = db.create("Entity", "Boss", content="search", world=mine, resolve="all" if how == "create" else False)
        if how == "recluster":
            db.embed()
            db.recluster()
        assert len(receipt.proposals) == (how == "create")
        assert "Dr Okafor" in {proposal.target_name for proposal in db.proposals() if proposal.source == receipt.ref}


def test_places_that_tools_made_are_nobody(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", embedder=Topics()) as db:
        db.create("Document", "report", content="search", source={"file": "report.md"})
        db.embed()
        assert not db.create("Document", "memo", content="search", resolve="all").proposals
