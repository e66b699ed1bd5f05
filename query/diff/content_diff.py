"""Compare by content two stores that share no lineages and no hashes.

Worlds are matched from the root down by their names inside their container (``path``), or first by the provenance that
importers write with every record, wherever it lies (``key``). Callers' own keys cannot serve: a store keeps them only
as hashes under its secret.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator
from typing import Final, NamedTuple

from worlddb.log.model import blobs, ids, times
from worlddb.query.diff import common_past, diff_side, field_diff, world_diff

BY: Final = ("key", "path")
_TEXTS: Final = ("type", "name", "content")


class Match(NamedTuple):
    """A world of a and the world of b that it is compared with; ``None`` where there is none."""

    a: bytes | None
    b: bytes | None
    names: world_diff.Names
    within: str
    inside: bool


class Content:
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
            common_past.LaterEvent(side.label, entry).document()
            for side, lineage, state in zip(self._sides, refs, states, strict=True)
            if details and lineage and state
            for entry in side.entries(state.seq, lineage.hex())
            if entry.event in ("created", "revised")
        ]
        names = world_diff.extend_names(match.names, self._label(match))
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
