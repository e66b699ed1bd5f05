"""Maps the engine's references to the model's numbers, learned from each commit's events.

Ids hold random nonces, so the model cannot foretell them. It foretells everything else about what a commit writes,
and here each id is taken from the event that says the same as the model, and is worked out again from its parts.
"""

from __future__ import annotations

from typing import Any

from tests.support.model import hashes
from tests.support.model.state import Edge, State
from worlddb import Database
from worlddb.log.model import codec
from worlddb.log.model import events as ev
from worlddb.log.model.blobs import Body
from worlddb.log.model.codec import Events
from worlddb.log.store.log import LmdbLog


class Names:
    """Both directions, and the bodies of versions."""

    def __init__(self) -> None:
        self.refs: dict[int, str] = {}
        self.numbers: dict[str, int] = {}
        self.bodies: dict[tuple[int, int], str] = {}
        """(world, version) to the version's id."""
        self.leaves: dict[int, str] = {}
        """What stands for a statement in the hash of its world."""
        self._order: dict[int, tuple[int, int]] = {}

    def learn(self, db: Database, seq: int, before: State, after: State) -> None:
        """Read the events of a commit, and match what they made with what the model made."""
        with db._env.read() as txn:
            log = LmdbLog(txn)
            events = log.events(seq)
            stored = [log.blob(seq, position) for position in range(events.blob_count)]
        for position, content in enumerate(stored):
            assert content is not None and hashes.blob(content) == events.blob(position)
        worlds = [number for number in after.worlds if number not in before.worlds]
        edges = {
            number: edge
            for number, edge in (after.unlinked | after.edges).items()
            if edge.seq == seq and number not in before.proposals and number not in after.proposals
        }
        proposals = [number for number in after.proposals if number not in before.proposals]
        for index, event in enumerate(events.events):
            if isinstance(event, ev.StoreCreated):
                self._name(worlds.pop(0), event.root)
                self._body(after, 0, events, event.body, stored)
            elif isinstance(event, ev.Created):
                number = worlds.pop(0)
                self._name(number, event.lineage)
                self._body(after, number, events, event.body, stored)
            elif isinstance(event, ev.Revised):
                self._body(after, self.numbers[event.lineage.hex()], events, event.body, stored)
            elif isinstance(event, ev.Proposed):
                self._name(proposals.pop(0), event.proposal)
                assert event.proposal == self._identity("same_as", event, events)
            elif isinstance(event, ev.Linked):
                if event.edge.hex() not in self.numbers:
                    self._name(self._match(edges, event), event.edge)
                    assert event.edge == self._identity(event.type, event, events)
                self._order[self.numbers[event.edge.hex()]] = (seq, index)
        assert not worlds and not edges and not proposals, "the engine wrote less than it should have"
        self._leaves(db, seq, after)
        # Which of several edges of one command comes first is the engine's to say: the log's order is the order.
        after.edges = dict(sorted(after.edges.items(), key=lambda item: self._order[item[0]]))

    def _leaves(self, db: Database, seq: int, after: State) -> None:
        """What stands for the statements that are new: what the store says of them where they hold."""
        for number, world in after.worlds.items():
            for told in world.states:
                if told.pieces and told.number not in self.leaves:
                    view = db.view(seq=seq, valid=told.pieces[0][0])
                    subject, predicate, object_ = told.quad
                    (found,) = view.statements(self.refs[number], subject, predicate, object_)
                    self.leaves[told.number] = found.id

    def _name(self, number: int, identifier: bytes) -> None:
        assert identifier.hex() not in self.numbers, "an id was given out twice"
        self.refs[number] = identifier.hex()
        self.numbers[identifier.hex()] = number

    def _match(self, edges: dict[int, Edge], event: ev.Linked) -> int:
        """The first edge of the model that the event could be, which is then no longer open."""
        ends = [self.numbers[end.hex()] for end in (event.source, event.target, event.home)]
        for number, edge in edges.items():
            if (
                edge.type == event.type
                and [edge.source, edge.target, edge.home] == ends
                and edge.start == (event.valid_from)
            ):
                del edges[number]
                return number
        raise AssertionError(f"the engine wrote an edge that the model did not: {event}")

    def _body(self, after: State, world: int, events: Events, position: int, stored: list[bytes | None]) -> None:
        """A version's id is the hash of the stored bytes of its body, and those hold its text."""
        version = 1 + sum(1 for known, _ in self.bodies if known == world)
        content = stored[position]
        assert content is not None
        body = codec.decode_blob(content, 0)
        expected = after.worlds[world].versions[version - 1]
        assert isinstance(body, Body)
        assert (body.type, body.name, body.content) == (expected.type, expected.name, expected.content)
        self.bodies[world, version] = events.blob(position).hex()

    def _identity(self, type_name: str, event: Any, events: Events) -> bytes:
        source, target = self.numbers[event.source.hex()], self.numbers[event.target.hex()]
        ends = (
            event.source,
            bytes.fromhex(self.bodies[source, event.source_version]),
            event.target,
            bytes.fromhex(self.bodies[target, event.target_version]),
        )
        details = b"" if event.details == ev.NONE else events.blob(event.details)
        return hashes.edge(type_name, ends, event.home, event.valid_from, details, event.nonce)


def world_hashes(state: State, names: Names) -> dict[int, str]:
    """Every world's hash from scratch, members first."""
    known: dict[int, bytes] = {}
    interior: dict[int, set[bytes]] = {}
    for number, edge in state.edges.items():
        if edge.type != "contains":
            interior.setdefault(edge.home, set()).add(bytes.fromhex(names.refs[number]))
    for number, world in state.worlds.items():
        leaves = {bytes.fromhex(names.leaves[told.number]) for told in world.states if told.pieces}
        interior.setdefault(number, set()).update(leaves)
    members = {number: state.members(number) for number in state.worlds}
    while len(known) < len(state.worlds):
        for number, world in state.worlds.items():
            if number in known or any(member not in known for member in members[number]):
                continue
            inside = {bytes.fromhex(names.refs[member]): known[member] for member in members[number]}
            body = bytes.fromhex(names.bodies[number, len(world.versions)])
            known[number] = hashes.world(body, inside, interior.get(number, set()), world.made)
    return {number: found.hex() for number, found in known.items()}


def changed_inside(before: State, after: State) -> set[int]:
    """The worlds that a commit changed, and all that contain one of them: law 6."""

    def own(state: State, number: int) -> tuple[Any, ...]:
        interior = {edge for edge, row in state.edges.items() if row.home == number and row.type != "contains"}
        stated = {told.number for told in state.worlds[number].states if told.pieces}
        return len(state.worlds[number].versions), set(state.members(number)), interior, stated

    changed = {
        number for number in after.worlds if number not in before.worlds or own(before, number) != own(after, number)
    }
    for _ in after.worlds:
        changed |= {edge.source for _, edge in after.edges_of("contains") if edge.target in changed}
    return changed
