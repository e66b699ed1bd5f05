"""What a confined view must answer: the model's answers without everything outside."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import pytest

import worlddb
from tests.support.isolation import queries
from tests.support.isolation.structures import CONTENTS, NAMES, TYPE_NAMES, Structure
from tests.support.model.compare import Compared, all_fields, fields
from tests.support.model.ranking import newest_first
from tests.support.model.reads import Reads
from tests.support.model.state import ROOT, Edge, Proposal, State
from worlddb import AmbiguousReference, UnknownReference, View
from worlddb.log.model.ids import short
from worlddb.projections.indexes.fields import Marker, TextDocument
from worlddb.projections.indexes.text_index import TextIndex
from worlddb.projections.tables.names.canonical import normalise_name

NOBODY = "00000000000000000000000000000bad"
QUERIES = ("red boat", "green", "Ada blue")

Homed = TypeVar("Homed", Edge, Proposal)


def restrict_state(state: State, inside: set[int]) -> State:
    """The state inside: edges and proposals with both ends and home there."""

    def kept(homed: dict[int, Homed]) -> dict[int, Homed]:
        return {number: each for number, each in homed.items() if {each.source, each.target, each.home} <= inside}

    return State(
        {number: world for number, world in state.worlds.items() if number in inside},
        kept(state.edges),
        kept(state.unlinked),
        kept(state.proposals),
    )


def _spans(version: worlddb.Version) -> list[worlddb.Valid]:
    return [span for span in version.spans or (version.valid,) if span.start < span.end]


class Inside:
    """One confined view, and its expected answers."""

    def __init__(self, structure: Structure, top: int, seq: int, valid: int) -> None:
        self.structure = structure
        self.top = top
        self.names = structure.names
        self.whole = structure.states[seq]
        self.inside = Reads(self.whole, valid, self.names).inside(top) | {top}
        self.state = restrict_state(self.whole, self.inside)
        self.reads = Reads(self.state, valid, self.names)
        self.view = structure.db(1).view(seq=seq, valid=valid, world=self.names.refs[top])
        self.compared = Compared(self.view, self.state, self.names, structure.hashes[seq])
        self.shown_events = 0

    def everything(self, *, recall: bool, strangers: int) -> None:
        """Check every read path, with this many references of worlds outside."""
        assert self.view.world == self.names.refs[self.top]
        for number in self.state.worlds:
            self.compared.world(number)
        for number in (*self.state.edges, *self.state.unlinked):
            self.compared.edge(number)
        self.compared.identities()
        self.compared.lookups(self.top)
        self.defaults()
        self.prefixes()
        self.called()
        self.outside(strangers)
        self.journal()
        self.blames()
        self.timelines()
        self.descents()
        self.neighbours()
        self.identities()
        self.unified()
        queries.check_confined(self)
        if recall:
            self.recall()

    def defaults(self) -> None:
        """Reads that name no world are about the one that the view is confined to."""
        view, reads, top = self.view, self.reads, self.top
        assert view.hash() == self.compared.hashes[top]
        assert all_fields(view.children()) == reads.children(top)
        assert all_fields(view.find()) == reads.find(world=top)
        assert all_fields(view.find(include_superseded=True)) == reads.find(world=top, include_superseded=True)
        for name in NAMES:
            assert all_fields(view.find(name=name)) == reads.find(name=name, world=top)
        for type_name in TYPE_NAMES:
            assert all_fields(view.find(type=type_name)) == reads.find(type=type_name, world=top)
        assert view.containers(self.names.refs[top]) == []
        assert {known.world for known in view.edge_types(include_ended=True)} == {self.names.refs[top]}
        assert view.counts() == {
            "worlds": len(self.state.worlds),
            "edges": len(self.state.edges),
            "proposals": len(self.state.proposals),
        }

    def blames(self) -> None:
        """Blame answers for all edges inside, and names nothing from outside."""
        inside = {self.names.refs[number] for number in self.inside}
        for number in self.state.worlds:
            ref = self.names.refs[number]
            found, edges = self.view.blame(ref), self.view.edges(ref, include_superseded=True)
            assert {edge.ref for edge in found.edges} == {edge.ref for edge in edges if edge.type != "contains"}
            named = {end for edge in found.edges for end in (edge.source, edge.target)}
            assert named | {field.ref for field in found.fields if field.ref} <= inside

    def timelines(self) -> None:
        """Timelines tell of commits inside only; spans see all of time."""
        for number in self.state.worlds:
            ref = self.names.refs[number]
            versions, steps = self.view.history(ref), self.view.timeline(ref)
            assert {step.number: step.valid for step in steps} == {each.number: each.valid for each in versions}
            assert [step.seq for step in steps] == sorted(step.seq for step in steps)
            assert self.view.history(ref, between=(None, None)) == versions
        everything = (None, None)
        known = self.view.find(include_superseded=True)
        lasting = {
            world.ref for world in known if any(v.valid.start < v.valid.end for v in self.view.history(world.ref))
        }
        assert {world.ref for world in self.view.find(overlaps=everything)} == lasting

    def descents(self) -> None:
        """What is stale, and what changed, names nothing from outside."""
        inside = {self.names.refs[number] for number in self.inside}
        refusal_text = self.view.stale()
        named = {ref for world in refusal_text for each in world.stale for ref in (each.ref, each.by, *each.path)}
        assert named - {""} <= inside
        top = self.names.refs[self.top]
        assert [world.ref for world in refusal_text] == [
            world.ref for world in self.view.find() if world.stale and world.ref != top
        ]
        for between in ((None, None), (None, self.view.valid), (self.view.valid, None)):
            found = self.view.changes(between=between)
            assert {each.ref for each in found.happened} | {each.ref for each in found.learned} <= inside - {top}
        for ref in inside:
            assert self.view.in_ended(ref) in inside | {""}
            periods = self.view.coalesced(ref)
            spans = [(span.start, span.end) for version in self.view.history(ref) for span in _spans(version)]
            assert [each.valid.start for each in periods[:1]] == sorted(start for start, _ in spans)[:1]
            assert [each.valid.end for each in periods[-1:]] == sorted(end for _, end in spans)[-1:]

    def neighbours(self) -> None:
        """What is near a text, and whose a name is, is looked for inside, and an error lists nothing else."""
        inside = {self.names.refs[number] for number in self.inside}
        for text in CONTENTS:
            found = self.view.near(text) if text else []
            assert {each.ref for each in found} | {ref for each in found for ref in each.about} <= inside
        pairs = {frozenset((one.ref, other.ref)) for one, other in self.view.contradictions()}
        assert pairs == {frozenset((world.ref, ref)) for world in self.view.find() for ref in world.conflicts}
        assert {ref for pair in pairs for ref in pair} <= inside
        for key in ("k1", "k2", "k3"):
            keyed = self.view.keyed(key)
            assert keyed is None or keyed.ref in inside
        for name in filter(None, NAMES):
            try:
                assert {world.ref for world in self.view.worlds_of_user(name)} <= inside
            except AmbiguousReference as error:
                assert set(error.details["candidates"]) <= inside
            except UnknownReference as error:
                assert not error.details.get("candidates")

    def identities(self) -> None:
        """An identity is exported with members and facts that lie inside, and with nothing else."""
        inside = {self.names.refs[number] for number in self.inside}
        for number in self.state.worlds:
            found = self.view.export_identity(self.names.refs[number])
            assert list(found.refs) == self.reads.equivalence_class(number)
            edges = (*found.links, *(fact.edge for fact in found.facts))
            assert {end for edge in edges for end in (edge.source, edge.target)} | set(found.refs) <= inside

    def unified(self) -> None:
        """A unified view shows each class once, with what lies inside and nothing else."""
        structure, view = self.structure, self.view
        one = structure.db(1).view(seq=view.seq, valid=view.valid, world=self.names.refs[self.top], unify=True)
        inside = {self.names.refs[number] for number in self.inside}
        classes = {self.names.refs[number]: self.reads.equivalence_class(number) for number in self.state.worlds}
        for found in (one.find(include_superseded=True), list(one.children(include_superseded=True))):
            shown = [world.ref for world in found]
            assert set(shown) <= inside
            assert len({tuple(classes[ref]) for ref in shown}) == len(shown)
        for ref in classes:
            edges = one.edges(ref, include_superseded=True)
            assert {end for edge in edges for end in (edge.source, edge.target, edge.home)} <= inside
            assert {edge.ref for edge in edges} >= {
                edge.ref for edge in view.edges(ref, include_superseded=True) if edge.type != "same_as"
            }

    def prefixes(self) -> None:
        """A prefix is of what is inside, whoever else has it."""
        seen = {self.names.refs[number]: number for number in self.state.worlds}
        for prefix in {self.names.refs[number][:digits] for number in self.whole.worlds for digits in (4, 6)}:
            fits = sorted(ref for ref in seen if ref.startswith(prefix))
            if len(fits) == 1:
                assert fields(self.view.get(prefix)) == self.reads.get(seen[fits[0]])
                continue
            with pytest.raises(AmbiguousReference if fits else UnknownReference) as raised:
                self.view.get(prefix)
            listed = ", ".join(short(ref) for ref in fits)
            assert raised.value.message == (
                f"The reference {prefix} fits several: {listed}" if fits else f"No world has the reference {prefix}"
            )
            assert raised.value.details == ({"candidates": fits} if fits else {"ref": prefix})
        for number in self.state.edges:
            assert fields(self.view.edge(self.names.refs[number][:12])) == self.reads.edge(number)

    def called(self) -> None:
        """A name is of what is inside, whoever else has it."""
        for name in NAMES:
            fits = [world.ref for world in self.view.find(name=name)]
            fits = fits or [world.ref for world in self.view.find(name=name, include_superseded=True)]
            if not fits and self._is_called(self.top, name):
                fits = [self.names.refs[self.top]]
            if len(fits) == 1:
                assert self.view.reference_of(name) == fits[0]
                assert self.view.history(name) == self.view.history(fits[0])
                continue
            with pytest.raises(AmbiguousReference if fits else UnknownReference) as raised:
                self.view.reference_of(name)
            assert raised.value.details == ({"candidates": fits[:8]} if fits else {"ref": name})

    def _is_called(self, number: int, name: str) -> bool:
        world = self.view.get(self.names.refs[number], include_superseded=True)
        return world is not None and normalise_name(name) in map(normalise_name, (world.name, *world.aliases))

    def outside(self, strangers: int) -> None:
        """What is outside, or was made later, is refused in the very words in which nobody is."""
        latest = self.structure.state
        nobody = [refusal_text(read, NOBODY) for read in reads_by_reference(self.view)]
        outside = sorted(latest.worlds.keys() - self.inside)
        for number in random.Random(self.top).sample(outside, min(strangers, len(outside))):
            assert [refusal_text(read, self.names.refs[number]) for read in reads_by_reference(self.view)] == nobody
        no_edge = refusal_text(self.view.edge, NOBODY * 2)
        for number in (latest.edges | latest.unlinked).keys() - (self.state.edges | self.state.unlinked).keys():
            assert refusal_text(self.view.edge, self.names.refs[number]) == no_edge
        no_proposal = refusal_text(self.view.proposal, NOBODY * 2)
        for number in latest.proposals.keys() - self.state.proposals.keys():
            assert refusal_text(self.view.proposal, self.names.refs[number]) == no_proposal
        for shown in self.view.proposals(status="accepted"):
            assert shown.target in self.view.equivalence_class(shown.source)

    def journal(self) -> None:
        """Events that name something inside and nothing outside, counted anew in each commit."""
        known = {
            self.names.refs[number]
            for number in (*self.inside, *self.state.edges, *self.state.unlinked, *self.state.proposals)
        }
        shown = []
        last = (0, -1)
        for entry in self.structure.db().log(1, self.view.seq):
            data, refs = entry.data, entry.refs
            if data.get("by") and data["by"] not in known:
                refs = tuple(ref for ref in refs if ref != data["by"])
                data = data | {"by": ""}
            if refs and known.issuperset(refs):
                last = (entry.seq, last[1] + 1 if entry.seq == last[0] else 0)
                shown.append(fields(entry) | {"data": data, "refs": refs, "index": last[1]})
        assert all_fields(self.view.log()) == shown
        some = self.names.refs[max(self.inside)]
        assert all_fields(self.view.log(ref=some)) == [entry for entry in shown if some in entry["refs"]]
        self.shown_events = len(shown)

    def recall(self) -> None:
        """Hits, order and scores are those of an index in which there is nothing else."""
        index, documents = TextIndex.in_memory(), []
        for number in self.inside - {self.top}:
            at = self.reads.version_at(number)
            if at is not None:
                version = self.state.worlds[number].versions[at - 1]
                documents.append(TextDocument(number, at, version.seq, version.name, version.content, version.type))
        index.apply(sorted(documents, key=lambda each: (each.seq, each.node)), Marker(b"", self.view.seq, b""))
        refs = self.names.refs
        for query in QUERIES:
            answer = self.view.recall(query, lanes=["text"])
            assert (answer.exact, answer.indexed, answer.note) == (True, self.view.seq, "")
            found = [(hit.ref, hit.score, hit.world) for hit in answer]
            scored = [(hit.node, hit.score) for hit in index.search(query, limit=10)]
            expected = [
                (refs[number], score, self.reads.containers(number)[0])
                for number, score in newest_first(self.reads, self.inside - {self.top}, scored)[:10]
            ]
            assert found == expected
            assert self.view.recall(query, lanes=["text"], exact=True) == answer
        everything = {refs[number] for number in self.inside}
        for query in QUERIES:
            every = self.view.recall(query)
            assert {hit.ref for hit in every} <= everything and every.lanes == ("text", "entity")
            assert self.view.recall(query, exact=True) == every
            assert {hit.ref for hit in self.view.recall(query, neighbours=5)} <= everything
            streams = worlddb.Streams(paths=20, hit_paths=3, depth=3, describe=True)
            paths = self.view.recall(query, streams=streams).paths
            assert {node for path in paths for node in path.nodes} <= everything
        assert self.view.density(*sorted(everything)[:3], depth=3).worlds <= len(everything)
        hits = [hit.ref for hit in every]
        for number in sorted(self.inside)[::8]:
            absence = self.view.why_not(refs[number], query)
            assert absence.rank == hits.index(refs[number]) + 1 if refs[number] in hits else absence.step
        self.groups(QUERIES[0])
        self.spans(QUERIES[0])
        for number in self.inside - {self.top}:
            below = {refs[member] for member in self.reads.inside(number)}
            assert {hit.ref for hit in self.view.recall(QUERIES[0], world=refs[number])} <= below
            assert {hit.ref for hit in self.view.recall(QUERIES[0], world=refs[number], neighbours=5)} <= below
            if number % 5 == 0:
                grouped = self.view.recall(QUERIES[0], world=refs[number], group=2)
                assert {group.ref for group in grouped.groups} <= below
                assert {hit.ref for hit in grouped} <= below

    def groups(self, query: str) -> None:
        """Hits are grouped by the containers inside, under their present names."""
        refs = self.names.refs
        containers = {refs[number]: set(self.reads.containers(number)) for number in self.inside}
        for group in self.view.recall(query, group=3).groups:
            assert group.ref in {refs[number] for number in self.inside}
            assert 1 <= len(group.hits) <= 3 and group.count >= len(group.hits)
            assert all(hit.ref == group.ref or group.ref in containers[hit.ref] for hit in group.hits)
            shown = self.view.get(group.ref, include_superseded=True)
            assert shown is not None and (group.type, group.name) == (shown.type, shown.name)

    def spans(self, query: str) -> None:
        """What is told of other versions, and of what a span leaves out, is of worlds inside."""
        inside = {self.names.refs[number] for number in self.inside}
        moment = (self.view.valid, self.view.valid + 1)
        for span in ({"overlaps": (None, None)}, {"during": (None, None)}, {"during": moment}):
            answer = self.view.recall(query, **span)
            assert set(answer.left_out) | {hit.ref for hit in answer} <= inside
            for hit in answer:
                own = {version.version for version in self.view.history(hit.ref)}
                assert {hit.version, *(other.version for other in hit.others)} <= own

    def narrowed(self, to: int) -> Inside:
        """Confine the view again, through the outer one, so that it cannot be widened."""
        inner = Inside(self.structure, to, self.view.seq, self.view.valid)
        inner.view = self.view.confined(self.names.refs[to])
        inner.compared.view = inner.view
        return inner


def reads_by_reference(view: View) -> Iterator[Callable[[str], Any]]:
    """Every read that takes a reference of a world."""
    yield from (
        view.get,
        view.reference_of,
        view.edges,
        view.history,
        view.timeline,
        view.blame,
        view.hash,
        view.conflicts,
        view.containers,
        view.equivalence_class,
        view.export_identity,
        view.edge_types,
        view.tunings,
        view.composed,
    )
    yield view.confined
    yield lambda ref: view.get(ref, include_superseded=True)
    yield lambda ref: list(view.children(ref))
    yield lambda ref: view.find(world=ref)
    yield lambda ref: view.log(ref=ref)
    yield lambda ref: view.recall(CONTENTS[1], world=ref)
    yield lambda ref: view.why_not(ref, CONTENTS[1])
    yield lambda ref: view.recall(CONTENTS[1], world=ref, group=2)
    yield lambda ref: view.recall(CONTENTS[1], world=ref, neighbours=2)
    yield view.density
    yield lambda ref: view.query(seeds=ref).run()
    yield lambda ref: view.query(world=ref).run()
    yield lambda ref: view.query().in_world(ref).run()
    yield lambda ref: view.query().where_connected("causes", to=ref).run()


def refusal_text(read: Callable[[str], Any], ref: str) -> tuple[type, list[str]]:
    """The refusal of a reference by a read, without the reference itself."""
    with pytest.raises(worlddb.WorldDBError) as raised:
        read(ref)
    error = raised.value
    said = [str(part).replace(ref, "…") for part in (error, error.message, error.details)]
    return type(error), said


def views(structure: Structure, tops: Iterator[int]) -> Iterator[Inside]:
    """A view from each world: of the present, and of an earlier moment at which it existed."""
    for top in tops:
        yield Inside(structure, top, structure.head, structure.db(1).view().valid)
        made = structure.state.worlds[top].versions[0].seq
        seq = made + (top + structure.head) % (structure.head - made + 1)
        yield Inside(structure, top, seq, structure.times[seq] + (top % 7 - 3) * 1_000)


def check_scopes(structure: Structure) -> None:
    """A scope in a view that is not confined finds only what the world contains (law 7)."""
    view = structure.db(1).view()
    reads = Reads(structure.state, view.valid, structure.names)
    refs = structure.names.refs
    for top in structure.state.worlds:
        inside = {refs[number] for number in reads.inside(top)}
        assert {found.ref for found in view.find(world=refs[top], include_superseded=True)} <= inside
        for query in QUERIES:
            hits = view.recall(query, world=refs[top], include_superseded=True, k=100)
            assert {hit.ref for hit in hits} <= inside
            assert {hit.ref for hit in view.recall(query, world=refs[top], neighbours=5, k=100)} <= inside
        queries.check_scoped(view, reads, top)
        if top != ROOT:
            assert refs[ROOT] not in inside
