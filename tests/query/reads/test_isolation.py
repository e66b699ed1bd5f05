"""Tests law 7: a confined view shows nothing from outside, nor that there is more.

Each structure is checked through every read path of every confined view, against the model without what lies outside.
"""

from __future__ import annotations

import random
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import worlddb
from tests.support.isolation.inside import check_scopes, views
from tests.support.isolation.structures import Structure, containers_first
from tests.support.model.stores import new_store, worlds
from worlddb.projections.tables.reads.asof import Moment, edge_known
from worlddb.projections.tables.storage.schema import CONTAINS_CODE, ROOT_NODE, EdgePlace, EdgeRow, ProposalRow
from worlddb.query.graph_query.traversal import Ground
from worlddb.query.history import journal
from worlddb.query.lanes.text_lane import ExactTextLane
from worlddb.query.reads import store_facts
from worlddb.query.reads.window import Window
from worlddb.query.snapshot import snapshot as containment
from worlddb.query.snapshot.confined_tables import ConfinedTables, VisibleRows
from worlddb.query.snapshot.valid_period import Choice
from worlddb.query.snapshot.visible import VisibleSnapshot

pytestmark = pytest.mark.long

PLAIN_STRUCTURES, MORE_STRUCTURES = 5, 40
PLAIN_VIEWS = 4
"""Of each structure; the long run looks through all of them."""
SOAK_STRUCTURES = 200
"""All views of one take a second. Each soak run draws others."""
CANARY_STRUCTURES = 12
"""Within how many structures a leak has to be found."""


def check(folder: Path, seed: int, seen: Counter[str], *, thorough: bool) -> None:
    """Look through all confined views of one structure, narrower ones, and scopes."""
    structure = Structure(folder, seed)
    try:
        rng = random.Random(seed)
        chosen = list(views(structure, containers_first(structure)))
        for number, found in enumerate(chosen if thorough else rng.sample(chosen, min(PLAIN_VIEWS, len(chosen)))):
            found.everything(recall=thorough or number == 0, strangers=4 if thorough else 2)
            seen["views"] += 1
            seen["hidden worlds"] += len(found.whole.worlds) - len(found.inside)
            seen["hidden edges"] += len(found.whole.edges) - len(found.state.edges)
            seen["hidden proposals"] += len(found.whole.proposals) - len(found.state.proposals)
            seen["edges"] += len(found.state.edges)
            seen["proposals"] += len(found.state.proposals)
            seen["events"] += found.shown_events
            if number % 3 == 0:
                found.narrowed(rng.choice(sorted(found.inside))).everything(recall=False, strangers=2)
        check_scopes(structure)
    finally:
        structure.close()


def run(folder: Path, seed: int, structures: int, *, thorough: bool) -> Counter[str]:
    """So many structures; the seed of the one that leaks is told."""
    seen: Counter[str] = Counter()
    seeds = random.Random(seed)
    for _ in range(structures):
        drawn = seeds.randrange(2**32)
        store = folder / f"structure-{drawn}"
        try:
            check(store, drawn, seen, thorough=thorough)
        except BaseException as error:
            error.add_note(f"structure {drawn}: repeat it with check(folder, {drawn}, Counter(), thorough=True)")
            raise
        shutil.rmtree(store)
    return seen


def is_trivial(seen: Counter[str], structures: int) -> bool:
    often = (seen[what] < 3 * structures for what in ("views", "hidden worlds", "hidden edges", "edges", "events"))
    return any(often) or any(seen[what] < structures // 2 for what in ("hidden proposals", "proposals"))


def test_nothing_from_outside_is_seen_through_a_confined_view_by_any_read(tmp_path: Path, seed: int) -> None:
    """Some structures have no proposals inside: there are further ones until all of it was met."""
    seen = run(tmp_path, seed, PLAIN_STRUCTURES, thorough=False)
    for further in range(1, MORE_STRUCTURES):
        if not is_trivial(seen, PLAIN_STRUCTURES):
            break
        seen += run(tmp_path, seed + further, 1, thorough=False)
    assert not is_trivial(seen, PLAIN_STRUCTURES), seen


@pytest.mark.soak
def test_nothing_is_seen_from_outside_in_hundreds_of_structures(
    tmp_path: Path, seed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = run(tmp_path, seed, SOAK_STRUCTURES, thorough=True)
    assert not is_trivial(seen, SOAK_STRUCTURES), seen
    with capsys.disabled():
        print(f"\n{SOAK_STRUCTURES} structures, no leak: {dict(seen)}")


def test_a_moment_that_was_named_for_the_whole_store_is_not_seen_from_inside_a_world() -> None:
    with new_store() as db:
        (tenant,) = worlds(db, 1)
        db.bookmark("before the merger with Globex")
        assert [found.name for found in db.view().bookmarks()] == ["before the merger with Globex"]
        assert db.view(world=tenant).bookmarks() == []
        assert "bookmarked" in {entry.event for entry in db.view().log()}
        assert "bookmarked" not in {entry.event for entry in db.view(world=tenant).log()}


def test_an_erasure_is_told_inside_without_where_else_the_text_stood() -> None:
    with new_store() as db:
        tenant, other = worlds(db, 2)
        note = db.create("Note", "note", content="the same words", world=tenant).ref
        copy = db.create("Note", "copy", content="the same words", world=other).ref
        db.link(copy, "refers_to", note, why="about the note")
        db.erase(copy, reason="request 7", everywhere=True)
        (told,) = [entry for entry in db.view(world=tenant).log() if entry.event == "erased"]
        assert told.refs == (note,)
        assert (told.data["blobs"], told.data["everywhere"]) == ([], False)
        seen = db.view(world=tenant).get(note)
        assert seen is not None and seen.erased and seen.content == ""
        assert db.view(world=tenant).recall("same words").hits == ()


@pytest.mark.parametrize("decision", ["pending", "accepted", "undone"])
def test_a_proposal_at_home_outside_is_shown_no_more_than_the_identity_that_it_would_make(decision: str) -> None:
    """A view showed it as accepted, and said of both worlds that they were one with nobody."""
    with new_store() as db:
        tenant, other = worlds(db, 2)
        one, two, three = (db.create("Entity", name, world=tenant, resolve=False).ref for name in ("Ada", "Al", "Ann"))
        (staged,) = db.link(one, "same_as", two, home=other).proposals
        (mine,) = db.link(two, "same_as", three).proposals
        for proposal in (staged, mine) if decision != "pending" else ():
            db.accept(proposal)
            if decision == "undone":
                db.undo(proposal)
        view = db.view(world=tenant)
        assert [(found.ref, found.status) for found in view.proposals(status=None)] == [(mine, decision)]
        assert view.counts()["proposals"] == 1 and view.equivalence_class(one) == [one]
        assert view.equivalence_class(two) == ([two, three] if decision == "accepted" else [two])
        assert not any(staged in entry.refs for entry in view.log())
        assert [found.ref for found in db.view().proposals(status=None)] == [staged, mine]
        assert len(db.view().equivalence_class(one)) == (3 if decision == "accepted" else 1)
        with pytest.raises(worlddb.UnknownReference):
            view.proposal(staged)


def test_a_view_confined_to_the_root_is_not_confined() -> None:
    with new_store() as db:
        (made,) = worlds(db, 1)
        root = db.view().containers(made)[0]
        assert db.view(world=root).world is None
        assert db.view(world=root).find() == db.view().find()


def test_a_view_says_what_it_is_confined_to_and_keeps_its_moment_when_it_is_narrowed() -> None:
    with new_store() as db:
        (outer,) = worlds(db, 1)
        inner = db.create("Topic", "inner", world=outer).ref
        db.create("Topic", "later", world=inner)
        view = db.view(seq=3, world=outer)
        narrowed = view.confined(inner)
        assert (narrowed.seq, narrowed.valid, narrowed.ingested) == (view.seq, view.valid, view.ingested)
        assert narrowed.world == inner and str(narrowed).endswith(f"inside {inner[:12]}")
        assert list(narrowed.children()) == []
        with pytest.raises(worlddb.UnknownReference):
            narrowed.confined(outer)


LOOKED_THROUGH = {
    *("blame", "bookmarks", "children", "confined", "conflicts", "containers", "counts", "edge", "edge_types", "edges"),
    *(
        "equivalence_class",
        "export_identity",
        "find",
        "get",
        "hash",
        "history",
        "log",
        "proposal",
        "proposals",
        "composed",
        "query",
        *("density", "recall"),
        "reference_of",
        "run",
        "timeline",
        *("changes", "coalesced", "contradictions", "in_ended", "keyed", "near", "stale", "worlds_of_user"),
        "trusts",
        "tunings",
        *("deprecated", "expired", "marks", "pinned", "retention", "revealing", "tag_history", "tagged"),
        *("guards", "guards_at", "forks", "forked_from", "memory_graph"),
        *("impact", "provenance", "shortest_path", "states", "traverse", "profiles", "why_not"),
        *("count_statements", "erased_statements", "sparql", "statements", "write_rdf"),
        *("artifacts", "kref_of", "preferences", "resolve_kref"),
        *("receipts_of", "withdrawal"),
        *("belief_base", "belief_settings", "contraction", "entrenchment", "retrieval_surface"),
    ),
}
"""Every read of a view. One that is new has to be asked in ``tests/support/isolation`` before its name is put here.

``edge_types`` is asked in ``test_registration_confined.py``, ``tunings`` in ``test_tuning.py``, ``trusts`` in
``test_recall_trust.py``, statements and SPARQL in ``test_statements.py`` and ``test_sparql.py``; marks, guards,
beliefs, relations, items and memory graphs below."""


def test_every_read_of_a_view_is_looked_through() -> None:
    assert {name for name in dir(worlddb.View) if callable(getattr(worlddb.View, name)) and name[0] != "_"} == (
        LOOKED_THROUGH
    )


def test_guards_tell_nothing_from_outside_but_what_holds() -> None:
    with new_store() as db:
        homes = worlds(db, 2)
        db.guard(credentials="warn", why="for all")
        for home in homes:
            db.guard(personal="enforce", world=home, why=f"of {home}")
        for at, home in enumerate(homes):
            view = db.view(world=home)
            assert [(each.world, each.why) for each in view.guards()] == [(home, f"of {home}")]
            assert (view.guards_at().credentials, view.guards_at().personal) == ("warn", "enforce")
            with pytest.raises(worlddb.UnknownReference):
                view.guards_at(homes[1 - at])
            told = [entry.refs for entry in view.log() if entry.event == "guarded"]
            assert told == [(home,)] and "for all" not in repr(list(view.log()))


def test_a_memory_graph_tells_nothing_from_outside() -> None:
    with new_store() as db:
        home, other = worlds(db, 2)
        inside, beside = db.create("Person", "Ada", world=home), db.create("Person", "Ada", world=home)
        outside = db.create("Person", "Zoe", content="said elsewhere", world=other)
        db.link(inside, "refers_to", outside)
        db.link(inside, "derived_from", beside)
        lines = list(db.view(world=home).memory_graph())
        assert [line["relationType"] for line in lines if line["type"] == "relation"].count("derived_from") == 1
        assert "Zoe" not in repr(lines) and "elsewhere" not in repr(lines)
        assert "Zoe" in repr(list(db.view().memory_graph()))


def test_beliefs_tell_nothing_from_outside() -> None:
    with new_store() as db:
        homes = worlds(db, 2)
        refs = [db.create("Fact", f"fact {at}", content="said", world=home).ref for at, home in enumerate(homes)]
        db.link(refs[1], "derived_from", refs[0], home=homes[1])
        db.set_beliefs(tags=["published"])
        for ref in refs:
            db.tag(ref, "published")
        for at, (ref, home) in enumerate(zip(refs, homes, strict=True)):
            view, other = db.view(world=home), refs[1 - at]
            assert (
                {atom.item for atom in view.belief_base()} == {ref} == {atom.item for atom in view.retrieval_surface()}
            )
            plan = view.contraction((ref, "summary", "said"))
            assert {change.item for change in plan.changes} == {ref} and not plan.rests_on and not plan.cut_off
            (told,) = view.entrenchment((ref, "summary", "said"))
            assert told.amount == 0 and view.belief_settings().tags == ("current", "published")
            for ask in (view.contraction, view.entrenchment):
                with pytest.raises(worlddb.UnknownReference):
                    ask((other, "summary", "said"))
            assert "beliefs_set" not in {entry.event for entry in view.log()}
        assert [each.ref for each in db.view().contraction((refs[0], "summary", "said")).rests_on] == [refs[1]]


def test_relations_and_items_tell_nothing_from_outside() -> None:
    kref, spec = "kref://proj/team/plan.fact", worlddb.Artifact(name="spec", location="s3://bucket/spec")
    with new_store() as db:
        homes = [db.create("Topic", f"home {number}").ref for number in range(2)]
        items = [db.create_at(kref, content="said", artifacts=[spec], within=home).ref for home in homes]
        people = [db.create("Entity", f"person {at}", world=home).ref for at, home in enumerate(homes)]
        for at, home in enumerate(homes):
            db.prefer(people[at], "prefers", items[at], within=home)
        # What one of them likes of the other's is nobody's business in either.
        db.prefer(people[0], "prefers", items[1])
        for at, home in enumerate(homes):
            view, other = db.view(world=home), 1 - at
            found = view.resolve_kref(kref)
            assert isinstance(found, worlddb.World) and found.ref == items[at]
            assert str(view.kref_of(items[at])) == kref and view.artifacts(kref) == [spec]
            (known,) = view.preferences(people[at])
            assert (known.object, known.confidence, known.against) == (items[at], 0.5, 0.0)
            assert {each.target for each in view.states(people[at])} == {items[at]}
            reached = view.traverse(people[at], types=["prefers"], direction="both")
            assert [each.ref for each in reached] == [items[at]] and not reached.cut_off
            for ask in (view.kref_of, view.artifacts, view.preferences, view.states, view.traverse):
                with pytest.raises(worlddb.UnknownReference):
                    ask(items[other])
        assert len(db.view().preferences(people[0])) == 2
        for at, home in enumerate(homes):
            db.set_profile(home, f"profile {at}", node_types=[f"type {at}"], why="told to few")
        for at, home in enumerate(homes):
            (closed,) = db.view(world=home).profiles()
            assert (closed.name, closed.node_types, closed.world) == (f"profile {at}", (f"type {at}",), home)
            with pytest.raises(worlddb.UnknownReference):
                db.view(world=home).profiles(homes[1 - at])
            assert db.view(world=home).profiles(people[at]) == [closed]
            (inside,) = db.view(world=home).confined(people[at]).profiles()
            assert (inside.world, inside.why) == (people[at], "")


def test_marks_tell_nothing_from_outside() -> None:
    with new_store() as db:
        homes = worlds(db, 2)
        refs = {}
        for number, home in enumerate(homes):
            for name in ("pinned", "expired"):
                refs[number, name] = db.create("Fact", f"{name} {number}", world=home, valid_from="2020-01-01").ref
            db.pin(refs[number, "pinned"])
            db.expire(refs[number, "expired"], expires_at="2021-01-01")
            db.label(refs[number, "pinned"], f"label {number}")
            db.tag(refs[number, "pinned"], "published")
            db.deprecate(refs[number, "expired"])
        for number, home in enumerate(homes):
            view, other = db.view(world=home), 1 - number
            assert [world.ref for world in view.pinned()] == [refs[number, "pinned"]]
            assert [world.ref for world in view.tagged("published")] == [refs[number, "pinned"]]
            assert [world.ref for world in view.deprecated()] == [refs[number, "expired"]]
            shown = {world.ref for world in view.revealing(deprecated=True).find(include_superseded=True)}
            assert not shown & {homes[other], refs[other, "pinned"], refs[other, "expired"]}
            assert refs[number, "expired"] in shown
            assert view.marks(refs[number, "pinned"]) and view.marks(refs[number, "expired"])
            for ask in (view.marks, view.revealing().get, view.pinned, view.expired, view.deprecated):
                with pytest.raises(worlddb.UnknownReference):
                    ask(refs[other, "pinned"])


# -- the canary: what leaks on purpose is caught


def _home_is_ignored(self: ConfinedTables, place: EdgePlace, row: EdgeRow) -> bool:
    return self._sees(place.source) and self._sees(row.target)


def _target_is_ignored(self: ConfinedTables, place: EdgePlace, row: EdgeRow) -> bool:
    return self._sees(place.source) and self._sees(row.home)


def _source_is_ignored(self: ConfinedTables, place: EdgePlace, row: EdgeRow) -> bool:
    return self._sees(row.target) and self._sees(row.home)


def _one_side_will_do(self: ConfinedTables, row: ProposalRow) -> bool:
    return self._sees(row.source) or self._sees(row.target)


def _prefixes_are_shared(self: VisibleRows, prefix: bytes) -> Any:
    return self._table.scan(prefix)


def _names_are_shared(self: ConfinedTables, digest: bytes, *, nodes: Any = None) -> Any:
    return self._tables.named(digest)


def _proposals_are_shared(self: ConfinedTables, nodes: Any = None) -> Any:
    return self._tables.staged()


def _statistics_are_shared(self: Window, snapshot: VisibleSnapshot, choice: Choice) -> ExactTextLane:
    return ExactTextLane(VisibleSnapshot(snapshot._snapshot, self.place._replace(top=ROOT_NODE)), choice)


def _events_are_shared(tables: Any, events: Any) -> Any:
    return [event for event in events if journal.named_by(event)]


def _everybody_is_counted(snapshot: VisibleSnapshot) -> dict[str, int]:
    return store_facts.counts(snapshot._snapshot)


def _unlinked_still_contains(tables: Any, node: int, moment: Moment) -> list[int]:
    return [place.source for place, row in tables.incoming(node, CONTAINS_CODE) if row.seq <= moment.seq]


def _closed_still_contains(tables: Any, node: int, moment: Moment) -> list[int]:
    return [place.source for place, row in tables.incoming(node, CONTAINS_CODE) if edge_known(row, moment.seq)]


def _every_edge_crosses(self: Ground, place: EdgePlace, row: EdgeRow) -> bool:
    return True


def _only_the_moment_counts(self: Window, moment: Moment) -> Window:
    return Window(self.reader, self.place._replace(moment=moment), self._built_in, self.spec)


LEAKS: dict[str, tuple[Any, str, Any]] = {
    "an edge from a home outside": (ConfinedTables, "_shows", _home_is_ignored),
    "an edge to a world outside": (ConfinedTables, "_shows", _target_is_ignored),
    "an edge from a world outside": (ConfinedTables, "_shows", _source_is_ignored),
    "a proposal about a world outside": (ConfinedTables, "_shows_proposal", _one_side_will_do),
    "that others have proposals": (ConfinedTables, "staged", _proposals_are_shared),
    "prefixes of ids outside": (VisibleRows, "scan", _prefixes_are_shared),
    "names outside": (ConfinedTables, "named", _names_are_shared),
    "how rare a word is outside": (Window, "exact_lane", _statistics_are_shared),
    "events outside": (journal, "_visible_events", _events_are_shared),
    "how many there are": (store_facts, "counts_at", _everybody_is_counted),
    "what was moved out": (containment, "containers_at", _unlinked_still_contains),
    "a step out of a world that no refers_to took": (Ground, "_crosses", _every_edge_crosses),
    "what was inside at an earlier moment": (Window, "at", _only_the_moment_counts),
    "what is no longer contained": (containment, "containers_at", _closed_still_contains),
}


RARE = {
    "a step out of a world that no refers_to took",
    "what is no longer contained",
    "what was inside at an earlier moment",
}
"""These are met in few structures, so a soak run has them."""


@pytest.mark.parametrize(
    "leak", [pytest.param(each, marks=pytest.mark.soak) if each in RARE else each for each in sorted(LEAKS)]
)
def test_a_view_that_leaks_on_purpose_is_caught(
    leak: str, tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, name, leaking = LEAKS[leak]
    monkeypatch.setattr(owner, name, leaking)
    with pytest.raises((AssertionError, pytest.fail.Exception, worlddb.WorldDBError)):
        run(tmp_path, seed, CANARY_STRUCTURES, thorough=True)
