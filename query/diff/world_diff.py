"""Compare worlds: of two related histories where hashes differ, and of others by their content.

The tries of two heads show which members and interior edges differ. Tries are kept for the present only. At any two
other moments, the events after the last common commit name everything that can differ, so that comparing the past also
costs in proportion to the changes.

Stores that share no lineages and no hashes are compared by content. Worlds are matched from the root down by their
names inside their container (``path``), or first by the provenance that importers write with every record, wherever it
lies (``key``). Callers' own keys cannot serve: a store keeps them only as hashes under its secret.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple, Protocol

import msgspec

from worlddb.log.model import blobs, ids, times, trie
from worlddb.projections.tables.storage.schema import CONTAINS
from worlddb.query.diff import diff_side, field_diff


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

    def __init__(self, sides: diff_side.LogSides, since: diff_side.LaterEvents) -> None:
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
        since: diff_side.LaterEvents,
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

    def _events(self, lineage: bytes, details: tuple[diff_side.Detail, ...]) -> list[diff_side.LaterEvent]:
        others = [bytes.fromhex(detail.ref) for detail in details if detail.field in ("edge", "proposal")]
        return self._since.about(lineage, others)

    def _with_causes(self, own: dict[bytes, list[diff_side.LaterEvent]]) -> dict[bytes, list[diff_side.LaterEvent]]:
        """A world that differs through its members is given the events that changed those."""
        caused = {lineage: {later.place: later for later in found} for lineage, found in own.items()}
        for lineage, found in own.items():
            for container in self._differing_containers(lineage) if found else ():
                theirs = caused[container]
                for later in found:
                    if len(theirs) >= diff_side.MAX_EVENTS:
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
        self, lineage: bytes, details: tuple[diff_side.Detail, ...], events: list[diff_side.LaterEvent]
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
    events: list[diff_side.LaterEvent],
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
    events: list[diff_side.LaterEvent],
) -> diff_side.Change:
    """The record of one world that differs."""
    documents: list[dict[str, Any]] = [later.document() for later in events[: diff_side.MAX_EVENTS]]
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
        more_events=max(0, len(events) - diff_side.MAX_EVENTS),
    )


def with_details(
    change: diff_side.Change, details: tuple[diff_side.Detail, ...], events: list[diff_side.LaterEvent]
) -> diff_side.Change:
    """Add details to a change; the weightiest determines its kind."""
    known = [*change.events, *(later.document() for later in events)]
    return msgspec.structs.replace(
        change,
        change=change.change
        if change.change in ("added", "removed")
        else diff_side.main_kind(details + change.changes),
        changes=details + change.changes,
        events=tuple(known[: diff_side.MAX_EVENTS]),
    )


def extend_names(above: Names, name: str) -> Names:
    """The names down to a world."""
    return shorten_names((*above, name))


def shorten_names(names: Names) -> Names:
    """Names with the middle left out where there are very many."""
    if len(names) <= MAX_PATH_NAMES:
        return names
    return (*names[:_KEPT_OUTERMOST], "…", *names[_KEPT_OUTERMOST + 1 - MAX_PATH_NAMES :])


# -- stores that share no lineages and no hashes

BY: Final = ("key", "path")
_TEXTS: Final = ("type", "name", "content")


class Match(NamedTuple):
    """A world of a and the world of b that it is compared with; ``None`` where there is none."""

    a: bytes | None
    b: bytes | None
    names: Names
    within: str
    inside: bool


class ContentWalk:
    """A comparison by content of everything below the two root worlds."""

    def __init__(self, sides: diff_side.LogSides, by: str) -> None:
        self._sides = sides
        self._by = by
        self._mates: tuple[dict[bytes, bytes], dict[bytes, bytes]] = ({}, {})
        self._repeated = 0
        self.visited = 0
        if by == "key":
            self._match_keys()

    def notes(self) -> list[str]:
        """Notes for the reader of the answer."""
        if not self._repeated:
            return []
        what = "name" if self._by == "path" else "key or name"
        found = f"One {what} stands" if self._repeated == 1 else f"{self._repeated:,} times a {what} stands"
        return [f"{found} for several worlds: those with equal texts were paired, the rest in order"]

    def changes(self, world: bytes | None) -> list[diff_side.Change]:
        """The worlds whose contents differ, each below the one that contains it."""
        one, other = self._sides
        made: list[diff_side.Change] = []
        pending = [Match(one.root(), other.root(), (), "", world is None)]
        seen: set[tuple[bytes | None, bytes | None]] = set()
        while pending:
            match = pending.pop()
            if match[:2] in seen:
                continue
            seen.add(match[:2])
            self.visited += 1
            inside = match.inside or world in match[:2]
            change = self._change(match)
            if inside and change.changes:
                made.append(change)
            if match.a is not None and match.b is not None:
                below = self._match_members(list(one.members(match.a)), list(other.members(match.b)))
                pending.extend(Match(a, b, change.names, change.ref, inside) for a, b in reversed(below))
        return made

    # -- matching

    def _match_keys(self) -> None:
        """Pair all worlds that have provenance by it."""
        keyed = [self._index_by_key(side) for side in self._sides]
        for key in keyed[0]:
            for a, b in self._pair_by_content(keyed[0][key], keyed[1].get(key, [])):
                if a is not None and b is not None:
                    self._mates[0][a], self._mates[1][b] = b, a

    def _index_by_key(self, side: diff_side.LogSide) -> dict[str, list[bytes]]:
        found: defaultdict[str, list[bytes]] = defaultdict(list)
        seen, pending = {side.root()}, [side.root()]
        while pending:
            for member in side.members(pending.pop()):
                if member not in seen:
                    seen.add(member)
                    pending.append(member)
                    state = side.state(member)
                    # What came with a bundle says so beside the importer's provenance.
                    source = (
                        {} if state is None else {n: value for n, value in state.source.items() if n != blobs.IMPORTED}
                    )
                    if source:
                        found[field_diff.as_text(source)].append(member)
        return found

    def _match_members(self, own: list[bytes], theirs: list[bytes]) -> list[tuple[bytes | None, bytes | None]]:
        """The members of two worlds, in pairs: those matched by key, then those of one name."""
        self._match_placeholders(own, theirs)
        found: list[tuple[bytes | None, bytes | None]] = [
            (member, self._mates[0][member]) for member in own if member in self._mates[0]
        ]
        groups: dict[str | bytes, tuple[list[bytes], list[bytes]]] = {}
        for index, members in enumerate((own, theirs)):
            for member in members:
                if member not in self._mates[index]:
                    called = member if self._is_placeholder(index, member) else self._sides[index].name(member)
                    groups.setdefault(called, ([], []))[index].append(member)
        for mine, others in groups.values():
            found.extend(self._pair_by_content(mine, others))
        return found

    def _match_placeholders(self, own: list[bytes], theirs: list[bytes]) -> None:
        """Pair worlds known by reference only with the same world on the other side.

        Such a world came with a bundle, and has no name here to be matched by.
        """
        for member in set(own) & set(theirs):
            free = member not in self._mates[0] and member not in self._mates[1]
            if free and any(self._is_placeholder(index, member) for index in (0, 1)):
                self._mates[0][member] = self._mates[1][member] = member

    def _is_placeholder(self, side: int, member: bytes) -> bool:
        state = self._sides[side].state(member)
        return state is not None and state.lacks == diff_side.BY_REFERENCE

    def _pair_by_content(self, own: list[bytes], theirs: list[bytes]) -> Iterator[tuple[bytes | None, bytes | None]]:
        """Pair worlds that are otherwise indistinguishable: equal contents first, the rest in order of joining."""
        if len(own) <= 1 and len(theirs) <= 1:
            yield own[0] if own else None, theirs[0] if theirs else None
            return
        self._repeated += 1
        waiting: defaultdict[Hashable, list[bytes]] = defaultdict(list)
        for member in reversed(theirs):
            waiting[self._content(1, member)].append(member)
        unpaired: list[bytes] = []
        for member in own:
            equal = waiting[self._content(0, member)]
            if equal:
                yield member, equal.pop()
            else:
                unpaired.append(member)
        open_ = {member for members in waiting.values() for member in members}
        rest = [member for member in theirs if member in open_]
        yield from zip(unpaired, rest, strict=False)
        shared = min(len(unpaired), len(rest))
        yield from ((member, None) for member in unpaired[shared:])
        yield from ((None, member) for member in rest[shared:])

    def _content(self, side: int, member: bytes) -> Hashable:
        state = self._sides[side].state(member)
        return None if state is None else (state.type, state.name, state.content)

    # -- comparing

    def _change(self, match: Match) -> diff_side.Change:
        refs = (match.a, match.b)
        states = [side.state(ref) if ref else None for side, ref in zip(self._sides, refs, strict=True)]
        details = tuple(self._details(match, states))
        ref = match.a or match.b or b""
        later = [
            diff_side.LaterEvent(side.label, entry).document()
            for side, lineage, state in zip(self._sides, refs, states, strict=True)
            if details and lineage and state
            for entry in side.entries(state.seq, lineage.hex())
            if entry.event in ("created", "revised")
        ]
        names = extend_names(match.names, self._label(match))
        kind = "removed" if match.b is None else "added" if match.a is None else diff_side.main_kind(details)
        newest = states[1] or states[0]
        return diff_side.Change(
            path="/".join(names),
            names=names,
            within=match.within,
            ref=ref.hex(),
            ref_b=match.b.hex() if match.a and match.b else "",
            type=newest.type if newest else "",
            change=kind,
            changes=details,
            a=self._sides[0].hash(match.a).hex() if match.a else "",
            b=self._sides[1].hash(match.b).hex() if match.b else "",
            events=tuple(later),
            more_events=0,
        )

    def _label(self, match: Match) -> str:
        names = [
            side.name(ref) for side, ref in zip(self._sides[::-1], (match.b, match.a), strict=True) if ref is not None
        ]
        return next((name for name in names if name), ids.short(match.a or match.b or b""))

    def _details(self, match: Match, states: list[diff_side.State | None]) -> Iterator[diff_side.Detail]:
        one, other = states
        if one is None or other is None:
            for side, state in zip("ab", states, strict=True):
                yield from field_diff.whole(state, side) if state else ()
            return
        if one.lacks != other.lacks:
            yield diff_side.Detail(
                kind="revised", field="content", a=one.lacks or one.content, b=other.lacks or other.content
            )
        for field in () if one.lacks or other.lacks else _TEXTS:
            if getattr(one, field) != getattr(other, field):
                yield diff_side.Detail(kind="revised", field=field, a=getattr(one, field), b=getattr(other, field))
        yield from _count_differences("names", "alias", one.aliases, other.aliases)
        yield from self._validity(one, other)
        edges = [
            [f"{edge.type} {side.name(edge.target)}".strip() for edge in side.edges_from(ref)]
            for side, ref in zip(self._sides, match[:2], strict=True)
            if ref is not None
        ]
        yield from _count_differences("edges", "edge", edges[0], edges[1])
        if match.a is not None and match.b is not None:
            stated = [
                list(_statement_times(side, ref)) for side, ref in zip(self._sides, (match.a, match.b), strict=True)
            ]
            yield from _count_differences("statements", "statement", stated[0], stated[1])

    def _validity(self, one: diff_side.State, other: diff_side.State) -> Iterator[diff_side.Detail]:
        """The given times of a validity; those of a commit differ between any two stores."""
        if one.ended != other.ended:
            yield diff_side.Detail(kind="validity", field="ended", a=str(one.ended).lower(), b=str(other.ended).lower())
        left, right = one.validities[0], other.validities[0]
        given = [
            [
                [None if side.is_commit_time(time) else time for time in piece]
                for piece in validity.pieces or (times.Interval(validity.start, validity.end),)
            ]
            for side, validity in zip(self._sides, (left, right), strict=True)
        ]
        if left != right and given[0] != given[1]:
            yield diff_side.Detail(kind="validity", field="valid", a=diff_side.span(left), b=diff_side.span(right))


def _statement_times(side: diff_side.LogSide, ref: bytes) -> Iterator[str]:
    """The statements of a world, each with the given times that it holds from and until."""
    for text, windows in side.statements(ref).items():
        for window in windows:
            begins = "" if side.is_commit_time(window.start) else f" from {times.format_time(window.start)}"
            ends = "" if window.is_open else f" until {times.format_time(window.end)}"
            yield f"{text}{begins}{' until taken back' if ends and side.is_commit_time(window.end) else ends}"


def _count_differences(kind: str, field: str, own: Iterable[str], theirs: Iterable[str]) -> Iterator[diff_side.Detail]:
    """The elements that only one of two multisets has."""
    mine, others = Counter(own), Counter(theirs)
    for text in (mine - others).elements():
        yield diff_side.Detail(kind=kind, field=field, a=text, b="")
    for text in (others - mine).elements():
        yield diff_side.Detail(kind=kind, field=field, a="", b=text)
