"""Looks for duplicates in the background: bounded, off any commit, only proposals."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import worlddb
from tests.support.model.stores import new_store
from worlddb import Database, Extraction, InputError, ManualClock, ModelUnavailable, Node, SeededEntropy, Turn
from worlddb.log.store.log import LmdbLog
from worlddb.projections.tables.storage.schema import ROOT_NODE
from worlddb.reconciler.background import reclustering
from worlddb.reconciler.background.reclustering import MAX_EDGES, Neighbourhoods
from worlddb.reconciler.background.worker import background_lease
from worlddb.reconciler.embedding.vectors_of_texts import LABELLED_TYPES
from worlddb.reconciler.entity_resolution import resolver
from worlddb.tools.importers.run import ingest_files


class Topics:
    """A model that knows three subjects."""

    model = "topics/1"
    dimension = 3

    def mean(self) -> Any:
        return [0.0, 0.0, 0.0]

    def embed(self, texts: Sequence[str], *, query: bool) -> Any:
        return [[text.count(word) for word in ("search", "music", "snow")] for text in texts]


def pairs(db: Database) -> list[tuple[str, str]]:
    return [(proposal.source_name, proposal.target_name) for proposal in db.proposals()]


def test_who_became_alike_after_both_were_there_is_proposed_by_the_work_in_the_background() -> None:
    with new_store() as db:
        one = db.create("Entity", "Sarah Chen")
        other = db.create("Entity", "Dr Okafor")
        assert db.recluster().proposals == ()
        db.alias(other, "Sara Chen")
        before = db.head().seq
        found = db.recluster()
        assert found.looked_at >= 1 and found.commits == 1 and found.pending == 0 and not found.busy
        (proposal,) = db.proposals()
        assert (proposal.ref,) == found.proposals
        assert {proposal.source, proposal.target} == {one.ref, other.ref} and proposal.source == other.ref
        assert proposal.evidence["by"] == "worlddb.recluster" and proposal.evidence["tier"] == "fuzzy"
        (entry,) = [each for each in db.log(before + 1) if each.event == "proposed"]
        assert entry.author == "worlddb.recluster"
        assert db.view().equivalence_class(one) == [one.ref]
        assert db.recluster().commits == 0, "what was proposed is not proposed again"
        redecided = db.redecide()
        assert redecided.differing == () and redecided.undecidable == ()


@pytest.mark.parametrize("made_by", ["file", "channel"])
@pytest.mark.parametrize("labelled", sorted(LABELLED_TYPES))
def test_keys_and_titles_that_a_tool_made_and_that_are_spelled_alike_are_two(labelled: str, made_by: str) -> None:
    """The scopes of the users anna and anne were proposed to be one, and so were the headings "Heron" and "Herons"."""
    with new_store() as db:
        for name in ("user:anna", "user:anne"):
            db.create(labelled, name, resolve=False, source={made_by: "notes.md"})
            db.create("Entity", name, resolve=False, source={made_by: "notes.md"})
        assert db.recluster().looked_at == 2
        assert pairs(db) == [("user:anne", "user:anna")]
        people = [world.ref for world in db.view().find(type="Entity")]
        assert {proposal.source for proposal in db.proposals()} <= {*people}


@pytest.mark.parametrize("labelled", sorted(LABELLED_TYPES))
def test_a_callers_own_worlds_of_these_types_are_looked_at_and_never_taken_for_a_tools(labelled: str) -> None:
    with new_store() as db:
        db.create(labelled, "Marguerite Duval", resolve=False, source={"file": "notes.md"})
        assert db.recluster().looked_at == 0
        db.create(labelled, "Marguerite Duvall", resolve=False)
        assert (db.recluster().looked_at, pairs(db)) == (1, [])
        db.create(labelled, "Margueritte Duvall", resolve=False, source={"author": "Ann"})
        assert db.recluster().looked_at == 1
        assert pairs(db) == [("Margueritte Duvall", "Marguerite Duvall")]


def test_what_the_importer_of_documents_makes_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "birds.md").write_text("# Birds\n\n## Heron\n\nA wader.\n\n## Herons\n\nSeveral waders.\n", "utf-8")
    with new_store() as db:
        ingest_files(db, tmp_path / "birds.md")
        assert [world.name for world in db.view().find(type="Section")] == ["Heron", "Herons"]
        assert (db.recluster().looked_at, pairs(db)) == (0, [])


def test_nothing_is_written_where_nothing_is_found_and_what_was_looked_at_is_not_looked_at_again() -> None:
    with new_store() as db:
        for name in ("Ada", "Ben", "Cem"):
            db.create("Entity", name)
        seq = db.head().seq
        assert db.recluster().looked_at == 3
        assert db.head().seq == seq
        assert db.recluster().looked_at == 0


def test_one_run_looks_at_each_world_once_however_many_commits_are_near_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading 100,000 facts by ten commits into ten thousand topics had each fact looked at twelve times."""
    monkeypatch.setattr(reclustering, "MAX_NEW", 1)
    with new_store() as db:
        topic = db.create("Topic", "birds", resolve=False)
        for name in ("Ada Heron", "Ben", "Cem"):
            db.create("Entity", name, world=topic, resolve=False)
        db.alias(db.create("Entity", "Dr Okafor", world=topic, resolve=False), "Ada Herron")
        found = db.recluster()
        assert (found.looked_at, found.pending) == (5, 0)
        assert pairs(db) == [("Dr Okafor", "Ada Heron")]


def test_a_summary_brings_no_new_look_at_what_it_repeats_and_a_fact_beside_it_does() -> None:
    clock = ManualClock()
    with new_store(clock=clock) as db:
        topic = db.create("Topic", "birds", resolve=False)
        for name in ("Ada", "Ben", "Cem"):
            db.create("Entity", name, content=f"{name} counts herons.", world=topic, resolve=False)
        assert db.recluster().looked_at == 4
        clock.value += 1_000_000
        assert len(db.consolidate(min_age=0, sweep=False).summaries) == 1
        assert db.recluster().looked_at == 0
        db.create("Entity", "Dora", content="Dora counts swans.", world=topic, resolve=False)
        clock.value += 1_000_000
        assert len(db.consolidate(min_age=0, sweep=False).summaries) == 1, "the summary has another version"
        assert db.recluster().looked_at == 5


def test_statements_without_a_name_are_nobody_however_near_their_meanings_are() -> None:
    """Two hundred notes of an agent's steps had five hundred proposals that two of them be one."""
    with new_store(embedder=Topics()) as db:
        for number in range(9):
            db.create("Fact", "", content="search " * (number + 1))
        db.create("Fact", "what was searched", content="search")
        db.embed()
        found = db.recluster()
        assert (found.looked_at, found.proposals) == (1, ())
        db.alias(db.view().find(type="Fact")[0], "the search")
        assert pairs(db) == [] and len(db.recluster().proposals) == 1, "once it has a name it may be somebody"


def test_two_of_one_meaning_are_found_once_their_texts_have_vectors_and_numbers_keep_apart() -> None:
    with new_store(embedder=Topics()) as db:
        lead = db.create("Entity", "the engineering lead", content="search search", resolve="all")
        sarah = db.create("Entity", "Sarah Chen", content="search", resolve="all")
        db.create("Entity", "ASR1603", content="music", resolve="all")
        db.create("Entity", "ASR1605", content="music", resolve="all")
        db.create("Note", "another type", content="search")
        db.create("Entity", "Ben", content="snow search", resolve="all")
        assert db.recluster().proposals == () and db.proposals() == []
        db.embed()
        found = db.recluster()
        assert [(each.source, each.target) for each in db.proposals()] == [(sarah.ref, lead.ref)]
        (proposal,) = db.proposals()
        assert found.proposals == (proposal.ref,)
        assert proposal.evidence["tier"] == "embedding" and proposal.evidence["model"] == "topics/1"
        assert proposal.evidence["considered"][0]["scores"]["embedding"] == 1.0
        db.revise(sarah, content="snow")
        db.embed()
        assert db.recluster().proposals == ()


def test_what_somebody_decided_stays_decided_until_something_changes() -> None:
    with new_store() as db:
        one, other = db.create("Entity", "Sarah Chen"), db.create("Entity", "Sara Chen")
        (first,) = db.recluster().proposals
        db.reject(first)
        db.create("Entity", "a third")
        db.link(one, "refers_to", other)
        assert db.recluster().proposals == ()
        db.revise(other, content="the engineer")
        (second,) = db.recluster().proposals
        db.accept(second)
        db.undo(second)
        db.revise(one, content="the engineer too")
        (third,) = db.recluster().proposals
        db.accept(third)
        db.revise(one, content="both")
        assert db.recluster().proposals == ()


def test_a_world_that_is_two_hops_from_what_is_new_is_looked_at_and_one_behind_a_crowd_is_not() -> None:
    with new_store() as db:
        chain = [db.create("Entity", f"name {letter * 4}", resolve=False).ref for letter in "abcd"]
        for one, other in itertools.pairwise(chain):
            db.link(one, "refers_to", other)
        hub = db.create("Entity", "everybody", resolve=False)
        with db.batch() as tx:
            for number in range(MAX_EDGES + 1):
                tx.link(hub, "refers_to", tx.create("Entity", f"one of many {number}", resolve=False))
        db.link(chain[0], "refers_to", hub)
        with db._env.read() as txn:
            ctx = reclustering.read_context(db._writer, txn)
            nodes = {ref: ctx.tables.node_of(bytes.fromhex(ref)) for ref in (*chain, hub.ref)}
            near = Neighbourhoods(ctx).neighbourhood(ROOT_NODE, [nodes[chain[0]] or 0])
            assert near == sorted(number for ref, number in nodes.items() if number is not None and ref != chain[3])


@pytest.mark.parametrize("way", ["through a world outside", "at home outside", "more than are walked"])
def test_an_edge_from_outside_carries_no_hop_and_does_not_stand_in_the_way_of_one(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever was looked at first told, in the evidence, of edges that the world's own view does not show."""

    monkeypatch.setattr(reclustering, "MAX_EDGES", 3)

    def told(*, crowded: bool) -> list[tuple[str, str, str]]:
        with new_store() as db:
            mine, theirs = (db.create("Tenant", name, resolve=False) for name in ("mine", "theirs"))
            stranger = db.create("Entity", "a stranger", world=theirs, resolve=False)
            named = ("tea", "Ada K Lovelace", "Ada Lovelace")
            news, _, later = (db.create("Entity", name, world=mine, resolve=False) for name in named)
            for name in "wxyz":
                db.create("Entity", name, world=mine, resolve=False)
            if way == "more than are walked":
                db.link(news, "refers_to", later)
            with db.batch() as tx:
                for _ in range(4 if crowded and way == "more than are walked" else 0):
                    tx.link(stranger, "refers_to", news)
                for end in (news, later) if crowded and way == "through a world outside" else ():
                    tx.link(stranger, "refers_to", end)
                if crowded and way == "at home outside":
                    tx.link(news, "refers_to", later, home=theirs)
            assert db.recluster().pending == 0
            found = db.view(world=mine).proposals()
            return [(each.source_name, each.target_name, each.evidence["name"]) for each in found]

    first = "Ada Lovelace" if way == "more than are walked" else "Ada K Lovelace"
    assert told(crowded=False) == [("Ada Lovelace", "Ada K Lovelace", first)]
    assert told(crowded=True) == told(crowded=False)


def test_who_are_one_by_way_of_a_world_outside_are_still_proposed_inside() -> None:
    """That they were not told that an operator had made both one with another tenant's."""
    with new_store() as db:
        mine, theirs = (db.create("Tenant", name, resolve=False) for name in ("mine", "theirs"))
        both = [db.create("Entity", name, world=mine, resolve=False).ref for name in ("Sarah Chen", "Sara Chen")]
        stranger = db.create("Person", "S. C.", world=theirs, resolve=False)
        for one in both:
            db.accept(db.link(one, "same_as", stranger, home=theirs).proposals[0])
        assert set(both) < set(db.view().equivalence_class(both[0]))
        assert len(db.recluster().proposals) == 1
        assert [{found.source, found.target} for found in db.view(world=mine).proposals()] == [{*both}]


def test_the_same_namesakes_are_not_followed_by_others_however_often_it_runs() -> None:
    with new_store() as db:
        with db.batch() as tx:
            for _ in range(30):
                tx.create("Entity", "Wang Wei", resolve=False)
        first = db.recluster()
        assert 0 < len(first.proposals) <= 30 * 3
        db.create("Entity", "Wang Wei", resolve=False)
        assert len(db.recluster().proposals) == 3
        assert db.recluster().proposals == ()


def test_only_one_at_a_time_does_it_and_the_other_is_told(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        db.create("Entity", "Sarah Chen")
        db.create("Entity", "Sara Chen")
        with background_lease(tmp_path / "store") as leased:
            assert leased
            busy = db.recluster()
            assert busy.busy and busy.looked_at == 0 and busy.pending > 0
        assert len(db.recluster().proposals) == 1


def test_several_at_once_propose_each_pair_once(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        for number in range(12):
            db.create("Entity", f"Sarah Chen {'abcdefghijkl'[number] * 5}")
            db.create("Entity", f"Sara Chen {'abcdefghijkl'[number] * 5}")
        threads = [threading.Thread(target=db.recluster) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(180)
        db.recluster()
        together = [frozenset((each.source, each.target)) for each in db.proposals()]
        assert len(together) == len(set(together)) >= 12


def test_a_tiebreaker_is_asked_once_and_what_it_said_is_recorded(tmp_path: Path) -> None:
    asked: list[list[str]] = []

    def by_hand(contenders: Sequence[worlddb.Contender]) -> Sequence[worlddb.Contender]:
        asked.append([each.considered.known_as for each in contenders])
        return contenders[-1:]

    with new_store() as db:
        for name in ("Sarah Chen", "Sarah Cheng"):
            db.create("Entity", name, resolve=False)
        db.recluster()
        for proposal in db.proposals():
            db.reject(proposal)
        new = db.create("Entity", "Sara Chen", resolve=False)
        (staged,) = db.recluster(tiebreaker=by_hand).proposals
        (proposal,) = db.proposals()
        assert proposal.ref == staged and (proposal.source, proposal.target_name) == (new.ref, asked[-1][-1])
        assert "by_hand" in proposal.evidence["tiebreaker"]
        times = len(asked)
        db.rebuild()
        assert db.verify(deep=True).ok and len(asked) == times
        with pytest.raises(InputError, match="tiebreaker"):
            db.recluster(tiebreaker="me")  # type: ignore[arg-type]


def test_a_tiebreaker_that_names_a_stranger_is_refused_and_writes_nothing() -> None:
    with new_store() as db:
        db.create("Entity", "Sarah Chen")
        db.create("Entity", "Sara Chen")
        seq = db.head().seq
        stranger = worlddb.Contender(None, "exact", 1.0)  # type: ignore[arg-type]
        with pytest.raises(InputError, match="not a candidate"):
            db.recluster(tiebreaker=lambda contenders: [stranger])
        assert db.head().seq == seq and db.recluster().proposals


def test_a_limit_ends_it_early_and_the_rest_is_done_the_next_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reclustering, "MAX_NEW", 2)
    with new_store() as db:
        for name in ("Ada", "Ben", "Cem", "Dan", "Eva", "Eve"):
            db.create("Entity", name, resolve=False)
        first = db.recluster(limit=2)
        assert first.looked_at < 6 and first.pending > 0
        rest = db.recluster()
        assert rest.pending == 0 and rest.looked_at + first.looked_at >= 6
        with pytest.raises(InputError):
            db.recluster(limit=0)


def test_behind_those_who_write_it_goes_by_small_steps_to_the_same_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step of 256 worlds held the interpreter for seconds, and the rest after it is five seconds at most."""
    monkeypatch.setattr(reclustering, "MAX_NEW_BEHIND", 2)
    asked: dict[bool, int] = {}
    pairs: dict[bool, set[frozenset[str]]] = {}
    for is_behind in (False, True):
        with new_store() as db:
            for name in ("Sarah Chen", "Sara Chen", "Ada Low", "Ada Lowe", "Ben Ray", "Dan Fox"):
                db.create("Entity", name, resolve=False)
            steps: list[int] = []
            stopped = lambda steps=steps: bool(steps.append(1))  # noqa: E731
            done = reclustering.recluster(db._writer, None, stopped=stopped, is_behind=is_behind)
            asked[is_behind], view = len(steps), db.view()
            assert done.pending == 0 and done.looked_at >= 6
            found = [view.proposal(ref) for ref in done.proposals]
            names = {world.ref: world.name for world in view.find()}
            pairs[is_behind] = {frozenset((names[each.source], names[each.target])) for each in found}
    assert asked[False] == 1 and asked[True] >= 3
    assert pairs[True] == pairs[False] and len(pairs[True]) >= 1


def test_proposals_beyond_one_commit_are_staged_in_several(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reclustering, "MAX_STAGED", 2)
    with new_store() as db:
        for letter in "abcde":
            db.create("Entity", f"Sarah {letter * 6}")
            db.create("Entity", f"Sara {letter * 6}")
        found = db.recluster()
        assert len(found.proposals) == 5 and found.commits == 3


def test_how_far_it_has_looked_is_recorded_and_derived_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reclustering, "MARK_COMMITS", 3)
    with worlddb.open(tmp_path / "store", clock=ManualClock(), entropy=SeededEntropy(1)) as db:
        for name in ("Ada", "Ben", "Cem"):
            db.create("Entity", name)
        through = db.head().seq
        assert db.recluster().through == through
        assert db.head().seq == through + 1
        db.rebuild("tables")
        assert db.verify(deep=True).ok
    with worlddb.open(tmp_path / "store") as again:
        assert again.recluster().looked_at == 0


def test_a_store_that_is_opened_for_it_looks_again_after_each_ingest(tmp_path: Path) -> None:
    turns = [Turn(text="search search", speaker="Caroline"), Turn(text="hello", speaker="Melanie")]
    with worlddb.open(tmp_path / "store", embedder=Topics(), background=True) as db:
        ada = db.create("Entity", "Ada", content="music", resolve=False)
        ben = db.create("Entity", "Ben Okafor", content="music music", resolve=False)
        receipt = db.ingest(turns)
        assert receipt.proposals == ()
    with worlddb.open(tmp_path / "store", embedder=Topics()) as db:
        assert [(each.source, each.target) for each in db.proposals()] == [(ben.ref, ada.ref)]
        assert db.background_error is None
        assert db.verify(deep=True).ok


def test_an_ingest_that_is_asked_to_embed_commits_first_and_then_looks_by_meaning(tmp_path: Path) -> None:
    def lead(turns: Sequence[Turn]) -> Extraction:
        return Extraction(nodes=[Node(label="x", type="Entity", name="the lead", content="search search")])

    def sarah(turns: Sequence[Turn]) -> Extraction:
        return Extraction(nodes=[Node(label="y", type="Entity", name="Sarah Chen", content="search")])

    turns = [Turn(text="hello", speaker="Caroline")]
    with worlddb.open(tmp_path / "store", embedder=Topics()) as db:
        db.ingest(turns, extractor=lead)
        receipt = db.ingest(turns, session="second", extractor=sarah, embed=True)
        assert receipt.proposals == () and receipt.notes == ()
        (proposal,) = db.proposals()
        assert (proposal.source_name, proposal.target_name) == ("Sarah Chen", "the lead")
        assert proposal.seq > receipt.seq and proposal.evidence["tier"] == "embedding"
        assert proposal.evidence["considered"][0]["scores"]["embedding"] == 1.0
        assert db.redecide().differing == () and db.verify(deep=True).ok
        head = db.head()
        assert db.ingest(turns, embed=True).events == 0 and db.head() == head


def test_a_model_that_fails_after_an_ingest_leaves_what_was_said_and_is_a_note(tmp_path: Path) -> None:
    class Broken(Topics):
        def embed(self, texts: Sequence[str], *, query: bool) -> Any:
            raise RuntimeError("no model today")

    turns = [Turn(text="hello", speaker="Caroline")]
    with worlddb.open(tmp_path / "store", embedder=Broken()) as db:
        receipt = db.ingest(turns, embed=True, idempotency_key="k")
        (note,) = receipt.notes
        assert receipt and note.code == "not_embedded" and "no model today" in str(note)
        assert db.view().recall("hello").hits
        assert db.ingest(turns, embed=True, idempotency_key="k") == receipt
        with pytest.raises(InputError, match="embed"):
            db.ingest(turns, embed="yes")  # type: ignore[arg-type]
    with worlddb.open(tmp_path / "other", embedder=None) as db:
        before = db.head()
        with pytest.raises(ModelUnavailable):
            db.ingest(turns, embed=True)
        assert db.head() == before


def test_what_goes_wrong_in_the_background_is_told_and_tried_again(tmp_path: Path) -> None:
    class Broken(Topics):
        works = False

        def embed(self, texts: Sequence[str], *, query: bool) -> Any:
            if not self.works:
                raise RuntimeError("no model today")
            return super().embed(texts, query=query)

    model = Broken()
    with worlddb.open(tmp_path / "store", embedder=model, background=True) as db:
        db.ingest([Turn(text="hello", speaker="Caroline")])
        assert db._due.thread is not None
        db._due.thread.wait(180)
        assert "no model today" in str(db.background_error)
        model.works = True
        db.ingest([Turn(text="hello", speaker="Caroline"), Turn(text="bye", speaker="Caroline")])
        db._due.thread.wait(180)
        assert db.background_error is None
        assert db.view().recall("hello").hits
    with pytest.raises(InputError, match="background"):
        worlddb.open(tmp_path / "store", background=1)  # type: ignore[arg-type]


def test_the_lease_is_given_back_whatever_happens(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), background_lease(tmp_path) as leased:
        assert leased
        raise RuntimeError("broke off")
    with background_lease(tmp_path) as again, background_lease(tmp_path) as second:
        assert again and not second


def test_a_history_with_it_is_replayed_to_the_same(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        db.create("Entity", "Sarah Chen", content="an engineer")
        db.create("Entity", "Sara Chen")
        db.recluster()
        head = db.head()
        assert db.replay(tmp_path / "then").root == head.root
        db.erase(db.view().find(name="Sarah Chen")[0], reason="request 1")
        assert db.proposals(status=None)[0].evidence == {}
        assert db.verify(deep=True).ok
        with db._env.read() as txn:
            assert LmdbLog(txn).head().seq == db.head().seq


def test_what_was_compared_is_judged_before_the_next_and_a_tiebreaker_is_asked_between_reads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All comparisons of a step were kept until its end: of a commit of 10,000 facts, all of theirs."""
    steps: list[str] = []

    def noted(name: str) -> None:
        call = getattr(resolver, name) if name == "considered" else getattr(reclustering, name)

        def noting(*given: Any, **options: Any) -> Any:
            steps.append(name)
            return call(*given, **options)

        monkeypatch.setattr(resolver if name == "considered" else reclustering, name, noting)

    with new_store(embedder=None) as db:
        with db.batch() as tx:
            for number in range(6):
                tx.create("Entity", f"Sarah Chen{'n' * number}", resolve=False)
        with db.batch() as tx:
            tx.create("Entity", "Sara Chen", resolve=False)
        noted("considered")
        noted("judge")
        assert db.recluster().proposals
        assert steps == ["considered", "judge"] * (len(steps) // 2) and len(steps) >= 14

    monkeypatch.setattr(reclustering, "ASKED_AT_ONCE", 2)
    with new_store(embedder=None) as db:
        for given in ("Dana Reyes", "Dana Reyes", "Dana Reyes"):
            db.create("Entity", given, resolve=False)
        asked: list[int] = []

        def by_hand(contenders: Sequence[Any]) -> Any:
            db.create("Note", f"asked {len(asked)}", resolve=False)
            asked.append(len(contenders))
            return contenders[:1]

        staged = db.recluster(tiebreaker=by_hand).proposals
        assert staged and len(staged) == len({frozenset((each.source, each.target)) for each in db.proposals()})
