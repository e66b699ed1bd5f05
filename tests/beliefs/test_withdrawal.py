"""Tests withdrawals: a plan lists what then changes, beside a plain model on random graphs, and is taken back whole."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import worlddb
from worlddb import Database, View
from worlddb.query.beliefs import withdrawal as wd

GRAPHS = 4
MANY_GRAPHS = 1_000
WORLDS = 14
MALLORY = "mallory"
QUESTIONS = ("the vault is old", {"text": "which bridge holds?", "k": 4, "lanes": ["text"]}, "who likes tea")
WORDS = ("vault", "bridge", "tea", "old", "holds", "likes", "north", "lease")


class Version(NamedTuple):
    author: str
    said_again: frozenset[str]


class Model:
    """What was written, in plain values: versions by world, and what was made of which version of what."""

    def __init__(self) -> None:
        self.versions: dict[str, list[Version]] = {}
        self.made_of: dict[str, tuple[str, str, int, str]] = {}
        """Edges: what was made, of what, of its version by number, and of which type."""
        self.holding: dict[str, int] = {}
        """The version of each world that holds in the end."""
        self.inside: dict[str, str] = {}

    def taken(self, ref: str) -> set[int]:
        numbered = enumerate(self.versions[ref], 1)
        return {number for number, each in numbered if each.author == MALLORY and each.said_again <= {MALLORY}}

    def above(self, ref: str) -> set[tuple[str, str]]:
        """(edge, world) of what rests on a world itself, if that is affected."""
        found = set()
        for edge, (source, target, number, kind) in self.made_of.items():
            numbers = {number, self.holding[target]} if kind == "depends_on" else {number}
            if target == ref and (not self.taken(ref) or numbers & self.taken(ref)):
                found.add((edge, source))
        summary = self.inside.get(ref)
        newest = len(self.versions[ref])
        if summary is not None and (not self.taken(ref) or newest in self.taken(ref)):
            found.add(("", summary))
        return {(edge, world) for edge, world in found if not self.taken(world)}

    def paths(self, depth: int) -> dict[str, set[tuple[tuple[str, ...], tuple[str, ...]]]]:
        """Every way from what was withdrawn to what rests on it, by no world twice."""
        found: dict[str, set[tuple[tuple[str, ...], tuple[str, ...]]]] = {}

        def walk(worlds: tuple[str, ...], edges: tuple[str, ...]) -> None:
            if len(edges) == depth:
                return
            for edge, world in self.above(worlds[-1]):
                if world not in worlds:
                    on = (*worlds, world), (*edges, edge)
                    found.setdefault(world, set()).add(on)
                    walk(*on)

        for ref in self.versions:
            if self.taken(ref):
                walk((ref,), ())
        return found


def grown(db: Database, rng: random.Random, now: worlddb.ManualClock) -> Model:
    model, writers = Model(), {name: db.as_author(name) for name in ("ada", "ben", MALLORY)}

    def text() -> str:
        return " ".join(rng.sample(WORDS, 3))

    def world(kind: str, world: str | None = None) -> str:
        author = rng.choice([*writers, MALLORY])
        ref = writers[author].create(kind, text(), content=text(), world=world).ref
        model.versions[ref] = [Version(author, frozenset())]
        return str(ref)

    for _ in range(WORLDS):
        now.advance(1_000_000)
        refs = [*model.versions]
        step = rng.random()
        if step < 0.12 or not refs:
            summary = writers["ada"].create("Summary", text(), content=text()).ref
            model.versions[summary] = [Version("ada", frozenset())]
            for _ in range(2):
                model.inside[world("Fact", summary)] = summary
        else:
            world("Fact")
        refs = [*model.versions]
        for _ in range(rng.randint(0, 2)):
            one, other = rng.choice(refs), rng.choice(refs)
            kind = rng.choice(("derived_from", "derived_from", "created_from", "depends_on", "refers_to"))
            written = db.link(one, kind, other) if one != other else None
            if written and kind != "refers_to":
                model.made_of[written.ref] = one, other, len(model.versions[other]), kind
        if rng.random() < 0.3:
            ref, author = rng.choice(refs), rng.choice([*writers])
            begins, ends = rng.choice(((None, None), ("2026-12-01", "2027-01-01")))
            writers[author].revise(ref, content=text(), valid_from=begins, valid_to=ends)
            model.versions[ref].append(Version(author, frozenset()))
        if rng.random() < 0.2:
            ref, author = rng.choice(refs), rng.choice([*writers])
            restated = writers[author].restate(ref)
            number = db.view().get(ref).number  # type: ignore[union-attr]
            version = model.versions[ref][number - 1]
            assert restated
            model.versions[ref][number - 1] = version._replace(said_again=version.said_again | {author})
    view = db.view()
    model.holding = {ref: found.number for ref in model.versions if (found := view.get(ref)) is not None}
    return model


def held(view: View, refs: Any) -> dict[str, Any]:
    """What worlds say in which spans, and whether they are looked at."""
    return {
        ref: (
            [(each.valid, each.type, each.name, each.content) for each in view.coalesced(ref)],
            getattr(view.get(ref, include_superseded=True), "tags", None),
            view.get(ref) is None,
        )
        for ref in refs
    }


def hits(view: View, question: Any) -> tuple[str, ...]:
    given = {"text": question} if isinstance(question, str) else dict(question)
    return tuple(hit.ref for hit in view.recall(given.pop("text"), exact=True, include_superseded=False, **given))


def compared(folder: Path, seed: int) -> tuple[int, int, int]:
    """Compare one graph; how many versions were withdrawn, worlds rest on them, and answers change."""
    rng, now = random.Random(seed), worlddb.ManualClock()
    entropy = worlddb.SeededEntropy(seed)
    with worlddb.open(folder, author="ada", embedder=None, clock=now, entropy=entropy) as db:
        model = grown(db, rng, now)
        how = rng.choice(wd.HOW)
        dependents, depth = rng.random() < 0.4, rng.choice((1, 2, 10))
        now.advance(1_000_000)
        view = db.view()
        plan = view.withdrawal(author=MALLORY, how=how, dependents=dependents, depth=depth, questions=QUESTIONS)
        taken = {(ref, number) for ref in model.versions for number in model.taken(ref)}
        assert {(each.ref, each.number) for each in plan.withdrawn} == taken
        assert all(each.said_again_by for each in plan.kept)
        wanted = model.paths(depth)
        assert {each.ref for each in plan.rests_on_it} == wanted.keys()
        for each in plan.rests_on_it:
            found = {(path.worlds, path.edges) for path in each.paths}
            assert found <= wanted[each.ref] and len(found) == len(each.paths)
            assert each.more_paths or found == wanted[each.ref]
            assert each.depth == min(len(path.edges) for path in each.paths)
        beyond = {each for each in model.paths(depth + 1).keys() - wanted.keys()}
        assert bool(beyond) == bool(plan.cut_off)
        assert how != "flag" or not any(answer.changes for answer in plan.answers)
        assert [hits(view, each) for each in QUESTIONS] == [answer.before for answer in plan.answers]
        before = held(view, model.versions)
        spans = {
            (ref, each.number): each.spans or (each.valid,) for ref in model.versions for each in view.history(ref)
        }
        if not plan.changes:
            with pytest.raises(worlddb.InputError, match="changes nothing"):
                db.withdraw(plan)
            return len(plan.withdrawn), len(plan.rests_on_it), 0
        done = db.withdraw(plan, why="incident 7")
        assert done and done.seq == view.seq + 1
        later = db.view(valid=view.valid)
        after = held(later, model.versions)
        # What is listed is what changed, and nothing else did.
        changed = {ref for ref in model.versions if before[ref] != after[ref]}
        assert changed <= {each.ref for each in plan.changes}
        assert how == "contract" or changed == {each.ref for each in plan.changes}
        now_spans = {
            (ref, each.number): each.spans or (each.valid,) for ref in model.versions for each in later.history(ref)
        }
        if how == "contract":
            lost = {ref for (ref, number), spans_ in spans.items() if spans_ != now_spans[ref, number]}
            assert lost == {each.ref for each in plan.changes}
            left = [span for each in taken for span in now_spans[each]]
            assert all(span.start == span.end for span in left)
        assert [hits(later, each) for each in QUESTIONS] == [answer.after for answer in plan.answers]
        assert db.undo(done.seq)
        assert held(db.view(valid=view.valid), model.versions) == before
        changing = sum(answer.changes for answer in plan.answers)
    return len(plan.withdrawn), len(plan.rests_on_it), changing


def compared_all(folder: Path, seeds: Iterator[int]) -> list[int]:
    totals = [0, 0, 0]
    for at, seed in enumerate(seeds):
        totals = [total + each for total, each in zip(totals, compared(folder / str(at), seed), strict=True)]
        shutil.rmtree(folder / str(at))
    return totals


def test_a_plan_lists_what_then_changes_and_is_taken_back(tmp_path: Path) -> None:
    withdrawn, resting, changing = compared_all(tmp_path, iter(range(GRAPHS)))
    assert withdrawn > GRAPHS and resting > GRAPHS and changing


class Told(NamedTuple):
    db: Database
    team: str
    said: str
    rests: str
    other: str


@pytest.fixture
def told(tmp_path: Path) -> Iterator[Told]:
    now = worlddb.ManualClock(worlddb.parse_time("2026-03-01"))
    with worlddb.open(tmp_path / "store", author="ada", embedder=None, clock=now) as db:
        mallory, team = db.as_author(MALLORY), db.create("Topic", "team").ref
        said = mallory.create("Fact", "code", content="the vault opens with 1234", world=team).ref
        rests = db.create("Fact", "note", content="whoever knows the code opens the vault", world=team).ref
        other = db.create("Fact", "kettle", content="the kettle is blue", world=team).ref
        db.link(rests, "derived_from", said)
        yield Told(db, team, said, rests, other)


def test_a_source_is_a_world_a_field_an_author_a_span_or_several_of_these(told: Told) -> None:
    db = told.db
    batch = db.create("Fact", "import", content="from a file", source={"batch": 7}).ref
    later = db.create("Fact", "late", content="much later", source={"batch": 7}, valid_from="2027-01-01").ref
    view = db.view()

    def refs(*given: Any, **how: Any) -> list[str]:
        return [each.ref for each in view.withdrawal(*given, **how).withdrawn]

    assert refs(author=MALLORY) == [told.said]
    assert refs("team") == [told.team, told.said, told.rests, told.other]
    assert refs(told.team, author=[MALLORY, "nobody"]) == [told.said]
    assert refs(source={"batch": 7}) == [batch, later]
    assert refs(since=view.ingested) == [later] and refs(until=view.ingested, source={"batch": 7}) == [batch]
    assert refs(author="nobody") == []
    db.attach(told.other, worlddb.Artifact(name="spec", location="s3://bucket/spec", hash="sha256:" + "ab" * 32))
    view = db.view()
    for named in ("spec", "s3://bucket/spec", "sha256:" + "ab" * 32):
        assert refs(artifact=named) == [told.other]
    assert view.withdrawal(artifact="spec").withdrawn[0].number == 2 and refs(artifact="other") == []
    assert db.withdraw(view.withdrawal(artifact="spec", how="flag"))
    assert [each.ref for each in db.view().tagged("withdrawn")] == [told.other]
    for wrong in ({}, {"author": 7}, {"source": "x"}, {"author": MALLORY, "how": "burn"}, {"author": "x", "depth": 21}):
        with pytest.raises(worlddb.InputError):
            view.withdrawal(**wrong)
    with pytest.raises(worlddb.UnknownReference):
        view.withdrawal("nowhere")
    questions: tuple[Any, ...] = ([3], [{"k": 2}], "x")
    for given in questions:
        with pytest.raises(worlddb.InputError):
            view.withdrawal(author=MALLORY, questions=given)


def test_the_least_trust_along_a_path_is_shown(told: Told) -> None:
    db = told.db
    further = db.create("Fact", "further", content="so it is said").ref
    db.link(further, "derived_from", told.rests)
    db.trust("low", author=MALLORY)
    db.trust("fair", world=further)
    near, far = db.view().withdrawal(author=MALLORY).rests_on_it
    assert (near.ref, near.depth, [path.trust for path in near.paths]) == (told.rests, 1, ["low"])
    assert (far.ref, far.depth, far.paths[0].worlds) == (further, 2, (told.said, told.rests, further))
    assert [path.trust for path in far.paths] == ["low"] and far.trust == "low"


def test_ways_are_listed_up_to_a_bound_that_is_told(told: Told) -> None:
    db = told.db
    layer = [told.said]
    for _ in range(3):
        below, layer = layer, [db.create("Fact", "x", content="y").ref for _ in range(3)]
        for one in layer:
            for other in below:
                db.link(one, "derived_from", other)
    top = next(each for each in db.view().withdrawal(author=MALLORY).rests_on_it if each.ref == layer[0])
    assert not top.more_paths and len(top.paths) == 9
    last = db.create("Fact", "last", content="z").ref
    for one in layer:
        db.link(last, "derived_from", one)
    top = next(each for each in db.view().withdrawal(author=MALLORY).rests_on_it if each.ref == last)
    assert top.more_paths and len(top.paths) == wd.MAX_PATHS
    cut = db.view().withdrawal(author=MALLORY, depth=3)
    assert cut.cut_off == tuple(layer) and last not in {each.ref for each in cut.rests_on_it}


def test_a_plan_that_is_not_so_any_more_is_not_done(told: Told) -> None:
    plan = told.db.view().withdrawal(author=MALLORY)
    told.db.as_author(MALLORY).create("Fact", "more", content="and the other vault with 4321")
    head = told.db.head().seq
    refused = told.db.withdraw(plan)
    assert isinstance(refused.outcome, worlddb.Refused) and "since commit" in refused.outcome.reason
    assert refused.outcome.code == "changed_meanwhile"
    assert told.db.head().seq == head
    with pytest.raises(worlddb.InputError, match="plan is"):
        told.db.withdraw("mallory")  # type: ignore[arg-type]


def test_a_withdrawal_is_taken_back_unless_something_was_changed_since(told: Told) -> None:
    db = told.db
    done = db.withdraw(db.view().withdrawal(author=MALLORY), why="incident")
    assert db.view().get(told.said) is None and [each.ref for each in db.view().stale()] == [told.rests]
    db.reassert(told.said, content="the vault opens with 9999")
    refused = db.undo(done.seq)
    assert not refused and refused.outcome.code == "changed_since"


def test_an_erasure_reaches_the_reason_of_a_withdrawal(told: Told, tmp_path: Path) -> None:
    from tests.support.faults.traces import find_traces

    db = told.db
    db.withdraw(db.view().withdrawal(author=MALLORY), why="Zebrafish told us of it")
    db.erase(told.said, reason="request 9")
    db.finish_erasures()
    assert find_traces(db.path, ["Zebrafish", "opens with 1234"]) == []
    assert db.view().withdrawal(author=MALLORY).withdrawn == ()


def test_a_withdrawal_inside_of_a_world_tells_and_changes_nothing_outside(told: Told) -> None:
    db = told.db
    outside = db.create("Topic", "outside").ref
    theirs = db.as_author(MALLORY).create("Fact", "theirs", content="the vault of others", world=outside).ref
    also = db.create("Fact", "also", content="made of it elsewhere", world=outside).ref
    db.link(also, "derived_from", told.said)
    asked = db.view().recall("vault", exact=True, receipt=True).receipt
    db.keep_receipt(asked)  # type: ignore[arg-type]
    db.write_receipts()
    plan = db.view(world=told.team).withdrawal(author=MALLORY, questions=["vault"])
    assert not any(ref in repr(plan) for ref in (outside, theirs, also)) and plan.receipts == ()
    assert [each.ref for each in plan.withdrawn] == [told.said]
    assert [each.ref for each in plan.rests_on_it] == [told.rests]
    assert db.withdraw(plan)
    assert db.view().get(theirs) is not None
    assert tuple(hit.ref for hit in db.view(world=told.team).recall("vault")) == plan.answers[0].after


def test_kept_receipts_name_what_was_shown_and_go_with_it(told: Told) -> None:
    db = told.db
    view, inside = db.view(), db.view(world=told.team)
    asked = [view.recall("vault", exact=True, receipt=True).receipt, inside.recall("kettle", receipt=True).receipt]
    assert view.receipts_of(told.said) == [] and db.write_receipts() is None
    for receipt in (*asked, asked[0]):
        assert receipt is not None
        db.keep_receipt(receipt)
    head = db.head().seq
    kept = db.write_receipts()
    assert kept and kept.seq == head + 1 and kept.events == 2 and db.write_receipts() is None

    def hashes(ref: str, world: str | None = None) -> list[str | None]:
        found = db.view(world=world).receipts_of(ref)
        return [None if each.receipt is None else each.receipt.hash for each in found]

    one, other = (each.hash for each in asked if each is not None)
    assert hashes(told.said) == hashes(told.rests) == [one] and hashes(told.other) == [other]
    # What somebody asked of the whole store is nobody's business inside of a world.
    assert hashes(told.said, told.team) == [] and hashes(told.other, told.team) == [other]
    assert [entry.event for entry in db.view(world=told.team).log(kept.seq)] == ["recalled"]
    assert asked[1] is not None
    plan = db.view().withdrawal(author=MALLORY, receipts=[worlddb.recall_receipt_text(asked[1])])
    assert plan.receipts == (one,)
    assert db.view().contraction((told.said, "summary", "the vault opens with 1234")).receipts == (one,)
    db.rebuild("tables")
    assert hashes(told.said) == [one] and db.view(seq=head).receipts_of(told.said) == []
    assert db.check_recall(asked[0], "vault").ok  # type: ignore[arg-type]
    db.erase(told.rests, reason="request 9")
    assert hashes(told.said) == [None] and hashes(told.other) == [other]
    assert db.verify(deep=True).ok


def test_receipts_are_kept_in_batches_and_at_the_end(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    db, head = told.db, told.db.head().seq
    monkeypatch.setattr(db._shared.receipts, "_limit", 3)
    for _ in range(4):
        receipt = db.view(seq=head).recall("vault", exact=True, receipt=True).receipt
        assert receipt is not None
        db.keep_receipt(receipt)
    assert db.head().seq == head + 1 and len(db.view().receipts_of(told.said)) == 3
    db.close()
    with worlddb.open(db.path, embedder=None) as again:
        assert again.head().seq == head + 2 and len(again.view().receipts_of(told.said)) == 4


def test_a_foreign_receipt_is_not_kept(told: Told, tmp_path: Path) -> None:
    receipt = told.db.view().recall("vault", exact=True, receipt=True).receipt
    assert receipt is not None
    with worlddb.open(tmp_path / "other") as other, pytest.raises(worlddb.InputError, match="from store"):
        other.keep_receipt(receipt)
    altered = worlddb.recall_receipt_text(receipt).replace('"k":10', '"k":11')
    for wrong in (altered, "{}", 7, None):
        with pytest.raises(worlddb.InputError):
            told.db.keep_receipt(wrong)  # type: ignore[arg-type]
    assert told.db.write_receipts() is None


@pytest.mark.soak
def test_a_thousand_plans_list_what_then_changes(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    assert compared_all(tmp_path, (rng.getrandbits(32) for _ in range(MANY_GRAPHS)))[2] > MANY_GRAPHS / 10
