"""Compare a world of two related histories, where hashes differ and where no hash covers it.

The tries of two heads show which members and interior edges differ. Tries are kept for the present only. At any two
other moments, the events after the last common commit name everything that can differ, so that comparing the past also
costs in proportion to the changes.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple, Protocol

import msgspec

from worlddb.log.model import ids, trie
from worlddb.projections.tables.storage.schema import CONTAINS
from worlddb.query.diff import common_past, diff_side, field_diff


class DifferingMember(NamedTuple):
    """A member or an edge that differs, and which sides have it."""

    key: bytes
    in_a: bool
    in_b: bool


class Descent(Protocol):
    """How a comparison descends from a world that differs to what differs inside."""

    def members(self, lineage: bytes) -> Iterator[DifferingMember]:
        """Members whose world hashes differ, and those that only one side has."""

    def edges(self, lineage: bytes) -> Iterator[DifferingMember]:
        """Interior edges that only one side has."""

    def only_contains(self, lineage: bytes) -> bool:
        """True if a world, whose edges were compared, is proven to differ by its members alone."""
        return False


class TrieDescent(Descent):
    """By the Merkle tries of two heads: only subtrees whose hashes differ are read (paper §2.1)."""

    def __init__(self, sides: diff_side.LogSides) -> None:
        self._sides = sides
        self._only_contain: set[bytes] = set()

    def members(self, lineage: bytes) -> Iterator[DifferingMember]:
        left, right = self._sides
        nodes = left.member_nodes(lineage), right.member_nodes(lineage)
        for key, one, other in trie.difference(*nodes, ids.LINEAGE_BYTES, ids.HASH_BYTES):
            for side, known in ((left, one), (right, other)):
                if known is not None:
                    side.has_hash(key, known)
            yield DifferingMember(key, one is not None, other is not None)

    def edges(self, lineage: bytes) -> Iterator[DifferingMember]:
        left, right = self._sides
        if self._differ_in_members(lineage):
            self._only_contain.add(lineage)
            return
        nodes = left.edge_nodes(lineage), right.edge_nodes(lineage)
        for key, one, other in trie.difference(*nodes, ids.HASH_BYTES, 0):
            yield DifferingMember(key, one is not None, other is not None)

    def only_contains(self, lineage: bytes) -> bool:
        return lineage in self._only_contain

    def _differ_in_members(self, lineage: bytes) -> bool:
        """True if the members alone differ: with a's members, b's world would have a's hash.

        So neither is read there. Most worlds that differ contain what differs, and every page that is read for the
        first time costs more than a hash.
        """
        left, right = self._sides
        roots = trie.root_of(left.member_nodes(lineage)), trie.root_of(right.edge_nodes(lineage))
        return right.hash_with(lineage, *roots) == left.hash(lineage)


class EventDescent(Descent):
    """Descend by the worlds that later events name, and by the containers around them."""

    def __init__(self, sides: diff_side.LogSides, since: common_past.LaterEvents) -> None:
        self._sides = sides
        self._members: defaultdict[bytes, dict[bytes, DifferingMember]] = defaultdict(dict)
        self._edges: defaultdict[bytes, dict[bytes, DifferingMember]] = defaultdict(dict)
        for edge in since.edges():
            self._edge(edge, [side.edge(edge) for side in sides])
        self._ascend(since.worlds())

    def members(self, lineage: bytes) -> Iterator[DifferingMember]:
        found = self._members.get(lineage, {})
        return (found[key] for key in sorted(found))

    def edges(self, lineage: bytes) -> Iterator[DifferingMember]:
        found = self._edges.get(lineage, {})
        return (found[key] for key in sorted(found))

    def _edge(self, edge: bytes, states: list[diff_side.EdgeState | None]) -> None:
        known = [state is not None and state.known for state in states]
        for state in states:
            if state is None or known[0] == known[1]:
                continue
            if state.type == CONTAINS:
                self._member(state.source, state.target)
            else:
                self._edges[state.home][edge] = DifferingMember(edge, known[0], known[1])

    def _member(self, container: bytes, member: bytes) -> None:
        held = [container in side.containers(member) for side in self._sides]
        if held[0] != held[1]:
            self._members[container][member] = DifferingMember(member, held[0], held[1])

    def _ascend(self, named: list[bytes]) -> None:
        """From every world that differs to those that contain it on either side."""
        seen, pending = set(named), list(named)
        while pending:
            lineage = pending.pop()
            one, other = diff_side.both(self._sides, lineage)
            if one == other:
                continue
            held = [side.containers(lineage) for side in self._sides]
            for container in dict.fromkeys((*held[0], *held[1])):
                found = DifferingMember(lineage, container in held[0], container in held[1])
                self._members[container][lineage] = found
                if container not in seen:
                    seen.add(container)
                    pending.append(container)


MAX_PATH_NAMES: Final = 64
_KEPT_OUTERMOST: Final = 16

Names = tuple[str, ...]


class Place(NamedTuple):
    """Where a world was found: the names down to it, and the world through which it was reached."""

    names: Names
    within: bytes


class Walk:
    """Descends two sides together. Depth costs no stack."""

    def __init__(
        self,
        sides: diff_side.Sides,
        descent: Descent,
        since: common_past.LaterEvents,
        outside: Mapping[bytes, list[diff_side.Detail]],
    ) -> None:
        """``outside`` are differences outside the states of worlds, by world."""
        self._sides = sides
        self._descent = descent
        self._since = since
        self._outside = outside
        self._places: dict[bytes, Place] = {}
        self._above: dict[bytes, list[bytes]] = {}
        self._inside: dict[bytes, list[diff_side.Detail]] = {}
        self._moved: dict[bytes, None] = {}
        self._states_otherwise: set[bytes] = set()
        self.visited = 0

    def descend(self, start: bytes) -> None:
        """Visit a world and, where hashes differ, its members."""
        pending: list[tuple[bytes, bytes, Names]] = [(start, b"", ())]
        while pending:
            lineage, within, above = pending.pop()
            left, right = diff_side.both(self._sides, lineage)
            if left == right or lineage in self._places:
                continue
            self.visited += 1
            # Before the name: b is asked for that, and has the number from a by then, where no row need be read.
            below = list(self._descent.members(lineage)) if left and right else []
            names = extend_names(above, self.label(lineage))
            self._places[lineage] = Place(names, within)
            if left and right:
                self._inside[lineage] = [*self._member_details(below), *self._edge_details(lineage)]
                for member in below:
                    self._above.setdefault(member.key, []).append(lineage)
                pending.extend((member.key, lineage, names) for member in reversed(below))

    def changes(self, world: bytes | None) -> list[diff_side.Change]:
        """The visited worlds that differ, then moves, then differences that no hash covers.

        With ``world``, the latter only of what that world contains.
        """
        details = {lineage: self._details(lineage) for lineage in self._places}
        events = self._with_causes({lineage: self._events(lineage, found) for lineage, found in details.items()})
        made = [self._change(lineage, found, events[lineage]) for lineage, found in details.items()]
        for lineage in dict.fromkeys((*self._moved, *self._since.worlds(), *self._outside)):
            if lineage in self._places or (world is not None and not self._holds(world, lineage)):
                continue
            found = self._details(lineage)
            if found:
                self._places[lineage] = place_from_root(self._sides, lineage)
                made.append(self._change(lineage, found, self._events(lineage, found)))
        return made

    def label(self, lineage: bytes) -> str:
        """What a world is called on b, else on a; the beginning of its reference if it has no name."""
        return label(self._sides, lineage)

    def _holds(self, world: bytes, lineage: bytes) -> bool:
        """True if a world contains another on either side, at any distance."""
        seen, pending = {lineage}, [lineage]
        while pending:
            here = pending.pop()
            if here == world:
                return True
            for container in containers(self._sides, here):
                if container not in seen:
                    seen.add(container)
                    pending.append(container)
        return False

    def _member_details(self, members: list[DifferingMember]) -> Iterator[diff_side.Detail]:
        for member in members:
            if member.in_a == member.in_b:
                continue
            left, right = diff_side.both(self._sides, member.key)
            if left and right:
                self._moved[member.key] = None
            name = self.label(member.key)
            yield diff_side.Detail(
                kind="members",
                field="member",
                a=name if member.in_a else "",
                b=name if member.in_b else "",
                ref=member.key.hex(),
            )

    def _edge_details(self, lineage: bytes) -> Iterator[diff_side.Detail]:
        for edge in self._descent.edges(lineage):
            if all(side.edge(edge.key) is None for side in self._sides):
                self._states_otherwise.add(lineage)  # What is no edge stands for a statement.
                continue
            texts = []
            for side, has in zip(self._sides, (edge.in_a, edge.in_b), strict=True):
                state = side.edge(edge.key) if has else None
                texts.append(
                    f"{state.text} {diff_side.span(state.validity)}" if state else ids.short(edge.key) if has else ""
                )
            yield diff_side.Detail(kind="edges", field="edge", a=texts[0], b=texts[1], ref=edge.key.hex())

    def _details(self, lineage: bytes) -> tuple[diff_side.Detail, ...]:
        return tuple(
            dict.fromkeys(
                (
                    *self._own_details(lineage),
                    *self._inside.get(lineage, ()),
                    *self._statements(lineage),
                    *self._outside.get(lineage, ()),
                ),
            )
        )

    def _statements(self, lineage: bytes) -> Iterator[diff_side.Detail]:
        """The statements that only one side has, if a hash or an event indicates some."""
        named = any(later.entry.event in ("stated", "unstated") for later in self._since.naming(lineage))
        if named or lineage in self._states_otherwise:
            yield from field_diff.statement_details(*self._sides, lineage)

    def _own_details(self, lineage: bytes) -> list[diff_side.Detail]:
        """The differences of a world itself, none if no event names it and its text is the same."""
        if not self._since.is_suspect(lineage) and self._has_same_text(lineage):
            return []
        found: list[diff_side.Detail] = []
        states = [side.state(lineage) for side in self._sides]
        if states[0] is not None and states[1] is not None:
            found.extend(field_diff.state_details(states[0], states[1], self._move(lineage)))
        else:
            for side, state in zip(self._sides, states, strict=True):
                found.extend(field_diff.whole(state, side.label) if state else ())
        return found

    def _has_same_text(self, lineage: bytes) -> bool:
        return self._descent.only_contains(lineage) or self._sides[0].body(lineage) == self._sides[1].body(lineage)

    def _move(self, lineage: bytes) -> Iterator[diff_side.Detail]:
        """Where a world went, as the tries of its containers say if they were descended into."""
        if lineage in self._moved or lineage not in self._above or self._since.joins_or_leaves(lineage):
            one, other = (side.containers(lineage) for side in self._sides)
            yield from field_diff.moved(one, other, self.label)

    def _events(self, lineage: bytes, details: tuple[diff_side.Detail, ...]) -> list[common_past.LaterEvent]:
        others = [bytes.fromhex(detail.ref) for detail in details if detail.field in ("edge", "proposal")]
        return self._since.about(lineage, others)

    def _with_causes(self, own: dict[bytes, list[common_past.LaterEvent]]) -> dict[bytes, list[common_past.LaterEvent]]:
        """A world that differs through its members is given the events that changed those."""
        caused = {lineage: {later.place: later for later in found} for lineage, found in own.items()}
        for lineage, found in own.items():
            for container in self._differing_containers(lineage) if found else ():
                theirs = caused[container]
                for later in found:
                    if len(theirs) >= common_past.MAX_EVENTS:
                        break
                    theirs.setdefault(later.place, later)
        return {lineage: list(found.values()) for lineage, found in caused.items()}

    def _differing_containers(self, lineage: bytes) -> Iterator[bytes]:
        """The differing worlds that contain one, at any distance; a world may be in several."""
        seen, pending = {lineage}, [lineage]
        while pending:
            for above in self._above.get(pending.pop(), ()):
                if above not in seen:
                    seen.add(above)
                    pending.append(above)
                    yield above

    def _change(
        self, lineage: bytes, details: tuple[diff_side.Detail, ...], events: list[common_past.LaterEvent]
    ) -> diff_side.Change:
        left, right = diff_side.both(self._sides, lineage)
        kind = "removed" if not right else "added" if not left else diff_side.main_kind(details)
        return change_of(self._sides, lineage, self._places[lineage], kind, details, (left, right), events)


def label(sides: diff_side.Sides, lineage: bytes) -> str:
    """What a world is called on b, else on a; the beginning of its reference if it has no name."""
    return diff_side.called(sides[::-1], lineage) or ids.short(lineage)


def containers(sides: diff_side.Sides, lineage: bytes) -> Iterator[bytes]:
    """The worlds that contain one on either side."""
    for side in sides[::-1]:
        yield from side.containers(lineage)


def place_from_root(sides: diff_side.Sides, lineage: bytes) -> Place:
    """The place of a world that no descent has met, by the first container on every level."""
    names, seen, within = [label(sides, lineage)], {lineage}, b""
    while (above := next((ref for ref in containers(sides, lineage) if ref not in seen), None)) is not None:
        seen.add(above)
        within = within or above
        names.append(label(sides, above))
        lineage = above
    return Place(shorten_names(tuple(names[::-1])), within)


def lone_change(
    sides: diff_side.Sides,
    lineage: bytes,
    details: tuple[diff_side.Detail, ...],
    events: list[common_past.LaterEvent],
) -> diff_side.Change:
    """The change of a world whose hash says that nothing has changed."""
    place = place_from_root(sides, lineage)
    return change_of(
        sides, lineage, place, diff_side.main_kind(details), details, diff_side.both(sides, lineage), events
    )


def change_of(
    sides: diff_side.Sides,
    lineage: bytes,
    place: Place,
    kind: str,
    details: tuple[diff_side.Detail, ...],
    hashes: tuple[bytes, bytes],
    events: list[common_past.LaterEvent],
) -> diff_side.Change:
    """The record of one world that differs."""
    documents: list[dict[str, Any]] = [later.document() for later in events[: common_past.MAX_EVENTS]]
    return diff_side.Change(
        path="/".join(place.names),
        names=place.names,
        within=place.within.hex(),
        ref=lineage.hex(),
        ref_b="",
        type=sides[1].type(lineage) or sides[0].type(lineage),
        change=kind,
        changes=details,
        a=hashes[0].hex(),
        b=hashes[1].hex(),
        events=tuple(documents),
        more_events=max(0, len(events) - common_past.MAX_EVENTS),
    )


def with_details(
    change: diff_side.Change, details: tuple[diff_side.Detail, ...], events: list[common_past.LaterEvent]
) -> diff_side.Change:
    """Add details to a change; the weightiest determines its kind."""
    known = [*change.events, *(later.document() for later in events)]
    return msgspec.structs.replace(
        change,
        change=change.change
        if change.change in ("added", "removed")
        else diff_side.main_kind(details + change.changes),
        changes=details + change.changes,
        events=tuple(known[: common_past.MAX_EVENTS]),
    )


def extend_names(above: Names, name: str) -> Names:
    """The names down to a world."""
    return shorten_names((*above, name))


def shorten_names(names: Names) -> Names:
    """Names with the middle left out where there are very many."""
    if len(names) <= MAX_PATH_NAMES:
        return names
    return (*names[:_KEPT_OUTERMOST], "…", *names[_KEPT_OUTERMOST + 1 - MAX_PATH_NAMES :])
