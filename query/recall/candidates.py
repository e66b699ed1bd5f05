"""Candidates of a recall: what lanes propose and the view lets through (laws 7 and 9).

Beside what lanes find there are the worlds that refer to whom the question names, the turns that follow a good hit in
its session ("Yes, the blue one" shares no word with the question that it answers, but the turn before it does), and
what an edge joins to a good hit (Hydra DB §2.6.4): a note about a meeting finds the decision that was derived from it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from functools import partial
from itertools import chain, groupby, islice, takewhile
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeVar

from worlddb.projections.indexes import analysis
from worlddb.projections.indexes.fields import Nodes
from worlddb.projections.tables.names.canonical import NO_NAME, NO_TYPE, name_digest, type_digest
from worlddb.projections.tables.reads.asof import (
    SeenVersion,
    WorldStarts,
    edge_seen,
    newest_version,
    version_known,
    versions_at,
    versions_held,
)
from worlddb.projections.tables.storage.schema import (
    CONTAINS_CODE,
    EDGE_TYPE_CODES,
    FIRST_LITERAL,
    LATER_BUILT_IN,
    ROOT_NODE,
    EdgePlace,
    EdgeRow,
)
from worlddb.query.question.question import ASKERS, TO_MACHINES, Question, names_beside
from worlddb.query.recall.scoring import prefers
from worlddb.query.snapshot import edge_rules, provenance, valid_period, visible
from worlddb.query.snapshot.snapshot import MAX_MEMBERS

if TYPE_CHECKING:
    from worlddb.query.lanes.text_lane import AskedWords
    from worlddb.query.question.question_dates import Span
    from worlddb.query.recall.filters import Filter

SMALL_WORLD: Final = 2_000
"""Up to this many members, a world's filter is pushed into the index at once."""
MAX_LISTED_PER_HIT: Final = 50
"""So many members are listed rather than one more hit fetched: in the time in which one is fetched and it is
found out whether it is inside about 30 can be (1.5 and 50 µs), and what was listed is of use to the next recall too."""
_SURE: Final = 8
"""So many hits inside tell what share of the hits that is."""
_MARGIN: Final = 1.5
"""How many times as many members as are likely may be listed, before they are for the recalls before."""
_LIKELY: Final = 1.25
"""How many times as many hits are fetched as are likely to be needed."""
MAX_ENTITIES: Final = 2_000
"""How many entities one question may name; a name that more share tells nothing."""
_OVERFETCH: Final = 4
_FIRST_FETCH: Final = 64
_ALL: Final = 2**63
"""Stands for having listed everything that is asked for."""
_REFERS_TO: Final = EDGE_TYPE_CODES["refers_to"]
_REPORT: Final = type_digest("DreamReport")
"""Of the reports of Dream State, which say what was done, and nothing that anybody told."""


class Proposed(Protocol):
    """What any lane's hit has."""

    @property
    def node(self) -> int: ...

    @property
    def version(self) -> int: ...

    @property
    def score(self) -> float: ...


Fetch = Callable[[int, Collection[int] | None], Sequence[Proposed]]
"""A lane's best hits: how many are wanted, and the worlds that they have to be among, if not any."""


class Passed(NamedTuple):
    """A hit of a lane that the view admits; ``literal`` is the document that was found, if it is no version."""

    node: int
    seen: SeenVersion
    score: float
    literal: int = 0


_node_and_version: Final = attrgetter("node", "version")
_passed: Final[Callable[[tuple[int, SeenVersion, float, int]], Passed]] = partial(tuple.__new__, Passed)
"""Makes one of a tuple without a call in Python: a recall makes hundreds."""


class Gate:
    """The gate of a view: it admits versions that are valid in it and inside the searched world."""

    def __init__(
        self,
        snapshot: visible.VisibleSnapshot,
        inside: int,
        choice: valid_period.Choice,
        least_trust: int = 0,
        asked: Filter | None = None,
        *,
        memories: bool = False,
    ) -> None:
        """With ``memories`` it leaves out forks, and reports unless they are asked for."""
        # Where nothing was ever said of trust, everything passes without a look at what it rests on.
        self._least_trust = least_trust if snapshot.has_trust_statements else 0
        self._tables = snapshot.tables
        self._whole = snapshot.whole
        self._moment, self._top = snapshot.place.moment, snapshot.place.top
        self.inside = inside
        self.choice = choice
        self._is_of_several = choice.allows_several
        self._scope = snapshot.scope(inside)
        self._may_hold_others = snapshot.may_hold_others(inside)
        self.snapshot = snapshot
        self._inhabitants = snapshot.list_members(inside)
        self._members: Nodes | None = None
        self._listed_to = 0
        self._filter = asked
        self._period = choice.period if not choice.earlier else None
        self.is_apart: Callable[[int], bool] | None = None
        self.passed_forks = False
        """True once something was left out that lies in a fork."""
        if memories and snapshot.has_forks:
            # Loaded where there are forks.
            from worlddb.query.forks.fork_reads import ForkMembership

            self.is_apart = ForkMembership(snapshot, inside)
        self._leaves_reports = (
            memories
            and inside == self._top
            and (asked is None or not asked.is_for(_REPORT))
            and next(iter(snapshot.tables.typed(_REPORT)), None) is not None
        )
        self._is_choosy = (
            asked is not None
            or bool(self._least_trust)
            or snapshot.hides_any
            or self._leaves_reports
            or self.is_apart is not None
        )
        if asked is not None and (listed := asked.listed()) is not None:
            self._members = listed if inside == self._top else Nodes(frozenset(filter(self._scope.holds, listed)))
            self._listed_to = _ALL
        self._seen: dict[int, SeenVersion | None] = {}
        self._numbered: dict[tuple[int, int], SeenVersion | None] = {}
        self._refused: list[int] = []

    @property
    def is_open(self) -> bool:
        """True if every world that the view sees is searched."""
        return self.inside == self._top

    @property
    def members(self) -> Nodes | None:
        """The worlds that are searched, if they are few or were listed before; ``None`` for any."""
        if not self._listed_to:
            if self.inside != self._top:
                self._members = self.snapshot.known_members(self.inside)
            self._listed_to = SMALL_WORLD
            if self._members is None and not self.snapshot.has_more_members(self.inside, SMALL_WORLD):
                self._list_members(SMALL_WORLD)
        return self._members

    def _list_members(self, most: int) -> None:
        """List the searched worlds, up to a maximum."""
        self._listed_to = most
        if self.inside == self._top:
            return
        if self._inhabitants.listed(most) is not None:
            self._members = self.snapshot.keep_members(self.inside, self._inhabitants)
        else:
            self.snapshot.keep_large(self.inside, most)

    @property
    def left_out_any(self) -> bool:
        """True if a proposed world lies in the searched world, and was not admitted."""
        return any(map(self._is_inside, self._refused))

    def look_ahead(self, nodes: Iterable[int]) -> None:
        """Prefetch, for some worlds together, what :meth:`seen` will need."""
        if self.choice != valid_period.Choice():
            return
        is_inside = self._inside_test
        new = [node for node in dict.fromkeys(nodes) if node not in self._seen and is_inside(node)]
        for node, seen in zip(new, versions_at(self._tables, new, self._moment), strict=True):
            is_shown = seen is None or not self._is_choosy or self._is_let_through(node, seen)
            self._seen[node] = seen if is_shown else None

    def seen(self, node: int) -> SeenVersion | None:
        """The visible version of a world, if the gate admits it."""
        if node not in self._seen:
            self._seen[node] = self._visible_version(node)
        return self._seen[node]

    def _visible_version(self, node: int) -> SeenVersion | None:
        if not self._is_inside(node):
            return None
        seen = self._tagged_version(node) if self.choice.tag else self.choice.version(self._tables, node, self._moment)
        if seen is None or not self._has_text(seen):
            return None
        return seen if not self._is_choosy or self._is_let_through(node, seen) else None

    def _has_text(self, seen: SeenVersion) -> bool:
        """False for a version whose text is erased, to which a vector of an older store may still lead."""
        return seen.row.type != NO_TYPE or self.snapshot.body(seen.row) is not None

    def _tagged_version(self, node: int) -> SeenVersion | None:
        """The version of a world with the requested tag, whether it holds or not."""
        number = self.snapshot.tagged_number(self.choice.tag, node)
        return version_known(self._tables, node, number, self._moment.seq) if number else None

    def _is_let_through(self, node: int, seen: SeenVersion) -> bool:
        """True if a version passes the filters, is trusted enough, and is not hidden."""
        if self.snapshot.hides(node, self._period):
            return False
        if self._leaves_reports and seen.row.type == _REPORT:
            return False
        if not ((self._filter is None or self._filter.admits(node, seen)) and self.trusts(node, seen)):
            return False
        apart = self.is_apart is not None and self.is_apart(node)
        self.passed_forks = self.passed_forks or apart
        return not apart

    def _is_inside(self, node: int) -> bool:
        if self._may_hold_others and self.snapshot.is_others(node):
            return False
        members = self._members if self._listed_to else self.members
        if members is not None:
            return node in members
        return node != ROOT_NODE if self.inside == ROOT_NODE else self._scope.holds(node)

    def trusts(self, node: int, seen: SeenVersion) -> bool:
        """True if a version has at least the requested trust."""
        if not self._least_trust:
            return True
        return provenance.trust_in(self.snapshot).is_at_least(node, seen.row, self._least_trust)

    def _admitted_version(self, node: int, number: int) -> SeenVersion | None:
        """A version of a world, if it is one that the view shows: the only one, or one of a span."""
        key = node, number
        if key in self._numbered:
            return self._numbered[key]
        if number >= FIRST_LITERAL:
            return self.stating(node, number)
        if self.choice.tag:
            tagged = self.seen(node)
            return tagged if tagged is not None and tagged.number == number else None
        seen = self.choice.numbered_version(self._tables, node, number, self._moment) if self._is_inside(node) else None
        if seen is not None and not (
            self._has_text(seen) and (not self._is_choosy or self._is_let_through(node, seen))
        ):
            seen = None
        if seen is not None and not self._is_of_several:
            self._seen[node] = seen
        return self._keep_numbered(key, seen)

    def _keep_numbered(self, key: tuple[int, int], seen: SeenVersion | None) -> SeenVersion | None:
        if seen is None:
            self._refused.append(key[0])
        self._numbered[key] = seen
        return seen

    def _prefetch_versions(self, hits: Iterable[Proposed]) -> None:
        """Prefetch, for hits that need a single row, what they will need one by one."""
        if self._is_choosy or self.choice != valid_period.Choice():
            return
        known, shown, is_inside = self._numbered, self._seen, self._inside_test
        keys = map(_node_and_version, hits)
        new = [key for key in keys if key[1] < FIRST_LITERAL and key not in known and is_inside(key[0])]
        for key, seen in zip(new, versions_held(self._tables, new, self._moment), strict=True):
            if seen is not None and (seen.row.type != NO_TYPE or self._has_text(seen)):
                known[key] = shown[key[0]] = seen

    @property
    def _inside_test(self) -> Callable[[int], bool]:
        """As :meth:`_is_inside`, for many worlds; if all are searched, every one but the root is inside."""
        is_all = self.inside == ROOT_NODE and self.snapshot.others is None
        is_anywhere = is_all and (self._members if self._listed_to else self.members) is None
        return ROOT_NODE.__ne__ if is_anywhere else self._is_inside

    def stating(self, node: int, number: int) -> SeenVersion | None:
        """The version that the view shows of a world that states a literal, given by the number of its document."""
        from worlddb.projections.tables.statements import literal_rows

        seen = self.seen(node)
        if seen is not None:
            whole, (seq, _) = self.snapshot.stored.tables, self._moment
            if not literal_rows.holds(whole, node, number, seq, partial(self.choice.admits, self._moment)):
                seen = None
        return self._keep_numbered((node, number), seen)

    def first_fetch(self, wanted: int) -> int:
        """The size of a lane's first fetch: among all worlds most hits pass, and larger fetches take longer."""
        return wanted + wanted // 4 + 1 if self.is_open else _FIRST_FETCH

    def passing(self, fetch: Fetch, wanted: int, first: int = _FIRST_FETCH) -> Iterator[Passed]:
        """A lane's admitted hits in rank order, each world once by its best version.

        Fetches ``first`` hits and then more until there are no more. About so many as are ``wanted`` are going to be
        taken. Among all worlds a fetch may give more than it is asked for.
        """
        limit, hits = self._fetch_first(fetch, wanted, first)
        done = known = 0
        given: set[int] = set()
        numbered, admitted, shows_newest = self._numbered, self._admitted_version, self.choice.earlier
        while True:
            for place, hit in enumerate(hits[done:], done):
                if place >= known:
                    known = place + max(_SURE, wanted - len(given))
                    self._prefetch_versions(hits[place:known])
                node, version = hit.node, hit.version
                if node in given:
                    continue
                seen = numbered.get((node, version)) or admitted(node, version)
                if seen is None:
                    continue
                given.add(node)
                newest = self.seen(node) if shows_newest else None
                literal = version if version >= FIRST_LITERAL else 0
                yield _passed((node, newest or seen, hit.score, literal))
            if len(hits) < limit:
                return
            done, limit = len(hits), self._next_limit(max(limit, len(hits)), len(given), wanted)
            hits = fetch(limit, self._members)

    def _fetch_first(self, fetch: Fetch, wanted: int, first: int) -> tuple[int, Sequence[Proposed]]:
        """The first hits, and how many were asked for.

        The members of a large world are listed if its share of the best hits suggests that this is faster than
        fetching hits until enough of them pass.
        """
        limit, hits = first, fetch(first, self.members)
        if self._members is not None or self.inside == self._top:
            return limit, hits
        held = self._count_inside(hits)
        if held < min(wanted, _SURE) and len(hits) == limit:
            limit *= _OVERFETCH
            hits = fetch(limit, None)
            held = self._count_inside(hits)
        if len(hits) == limit and self._list_if_faster(max(held, 0.5) / limit, limit, wanted):
            return first, fetch(first, self._members)
        self.snapshot.add_checked_hits(self.inside, limit)
        return limit, hits

    def _count_inside(self, hits: Sequence[Proposed]) -> int:
        own = [hit.node for hit in hits if not self.snapshot.is_others(hit.node)]
        self._scope.look_ahead(own)
        return sum(map(self._scope.holds, own))

    def _list_if_faster(self, share: float, fetched: int, wanted: int) -> bool:
        """List the members if that is probably faster than fetching enough hits; true if it did.

        Also if to list them would have been for the recalls before, which have looked through so many hits: these count
        for half, since none may follow. At worst it takes as long again.
        """
        whole = None if self._whole is None else self._whole.tables.progress().next_node
        likely = 0.0 if whole is None else share * whole
        before = self.snapshot.checked_hits(self.inside) if likely <= MAX_MEMBERS else 0
        most = int(MAX_LISTED_PER_HIT * (max(0.0, wanted / share - fetched) + before / 2))
        if most <= self._listed_to or likely > most or (before and _MARGIN * likely > most):
            return False
        self.snapshot.reset_checked_hits(self.inside)
        self._list_members(most)
        return self._members is not None

    def _next_limit(self, limit: int, passed: int, wanted: int) -> int:
        """The size of the next fetch: what is probably needed, judged by how many have passed.

        Once more are taken than were wanted, the need is unknown.
        """
        if self._members is not None or self.inside == self._top or passed > wanted:
            return limit * _OVERFETCH
        likely = int(_LIKELY * wanted * limit / max(passed, 1))
        return min(limit * _OVERFETCH, max(limit + _FIRST_FETCH, likely))


class Named(NamedTuple):
    """The entities that a question is about, and the names that it calls them by.

    ``sides`` are participants of a conversation, whom it calls "I" or "you". ``partly`` are those that it calls by a
    part of a longer name alone, as Tom where Tom Baker is asked about. ``user`` is the user in whose world it is asked,
    of the name ``user_name``, whether it names them or not; ``is_of_user`` if it is about them, and not about somebody
    or something of theirs. ``speakers`` are those names that somebody has who speaks
    in a talk, so that all they say has the name; ``mentioned`` are the others, which a text has only if it tells of
    whoever has them.
    """

    entities: frozenset[int]
    sides: frozenset[int]
    names: tuple[str, ...]
    partly: frozenset[int] = frozenset()
    user: frozenset[int] = frozenset()
    user_name: str = ""
    is_of_user: bool = False
    speakers: tuple[str, ...] = ()
    mentioned: tuple[str, ...] = ()

    @property
    def is_about_one_of_several(self) -> bool:
        """True if it names somebody, and not a participant of a talk with a machine, by or to whom all is said."""
        return bool(self.entities) and not self.sides and self.user.isdisjoint(self.entities)


NOBODY: Final = Named(frozenset(), frozenset(), ())


def trust_penalty(snapshot: visible.VisibleSnapshot, passed: Passed, score: float, weight: float) -> float:
    """What a hit loses of its score for lack of trust: with a weight of 1, an untrusted hit loses all."""
    share = provenance.trust_in(snapshot).share(passed.node, passed.seen.row)
    return weight * (1 - share) * abs(score)


def find_named_entities(
    snapshot: visible.VisibleSnapshot, question: Question, spec: edge_rules.Spec, user: str = ""
) -> Named:
    """The entities that a question is about, by name, alias, side of a talk, or identity.

    Only worlds that something refers to count. In the world of a ``user`` "I" is that user.
    """
    whole: set[int] = set()
    parts: set[int] = set()
    names: list[str] = []
    every = find_nodes_by_name(snapshot, question.names)
    for name in question.names:
        called = every.get(name)
        if called:
            longer = [each for each in names if len(each) > len(name)]
            is_part = bool(longer) and name not in names_beside(question.text, longer)
            (parts if is_part else whole).update(called)
            names.append(name)
        elif user and name.casefold() == user.casefold():
            names.append(name)  # All in their world is theirs, though nothing refers to them.
        if len(whole) + len(parts) > MAX_ENTITIES:
            break
    whole = _with_identities(snapshot, spec, whole)
    found = _with_identities(snapshot, spec, whole | parts)
    asked = participants(snapshot, question.sides)
    entities = frozenset(filter(partial(_is_referred_to, snapshot), found))
    own = frozenset(_with_identities(snapshot, spec, find_referenced_nodes(snapshot, user))) if user else frozenset()
    sides = own.union(asked) if question.sides == ASKERS else frozenset(asked)
    told = [name for name in names if name in every and not every[name].isdisjoint(whole)]
    speakers = tuple(name for name in told if any(_speaks(snapshot, node) for node in every[name]))
    mentioned = tuple(name for name in told if name not in speakers)
    is_of_user = bool(user) and question.sides == ASKERS and question.is_of_asker
    return Named(entities, sides, tuple(names), entities - whole, own, user, is_of_user, speakers, mentioned)


def _with_identities(snapshot: visible.VisibleSnapshot, spec: edge_rules.Spec, nodes: Iterable[int]) -> set[int]:
    """Some worlds, and those with the same identity."""
    tables, moment = snapshot.tables, snapshot.place.moment
    known = [(name, tables.type_code(name)) for name in sorted(spec.identity_types)]
    codes = [(name, code) for name, code in known if code is not None]
    found = set(nodes)
    pending = list(found)
    while pending and codes:
        node = pending.pop()
        for name, code in codes:
            outgoing = tables.outgoing(node, code, known_by=moment.seq)
            for place, row in (*outgoing, *tables.incoming(node, code, known_by=moment.seq)):
                other = row.target if place.source == node else place.source
                is_one = edge_seen(tables, place, row, moment) and edge_rules.unifies(snapshot, spec, name, row.home)
                if other not in found and is_one:
                    found.add(other)
                    pending.append(other)
    return found


def find_referenced_nodes(snapshot: visible.VisibleSnapshot, name: str) -> set[int]:
    """The worlds of a name that something refers to."""
    digest = name_digest(name)
    named = () if digest == NO_NAME else snapshot.tables.named(digest)
    seq = snapshot.place.moment.seq
    return {node for node, first in named if first <= seq and _is_referred_to(snapshot, node)}


def find_nodes_by_name(snapshot: visible.VisibleSnapshot, names: Iterable[str]) -> dict[str, set[int]]:
    """As :func:`find_referenced_nodes`, for many names, most of them unused: returns the used ones."""
    digests = {name: name_digest(name) for name in names}
    held = snapshot.tables.are_names({digest for digest in digests.values() if digest != NO_NAME})
    return {name: find_referenced_nodes(snapshot, name) for name, digest in digests.items() if digest in held}


class _Participants:
    """The worlds of the names of participants, kept from one read to the next of the same state of the store."""

    def __init__(self, _place: object) -> None:
        self.known: tuple[Hashable, dict[tuple[str, ...], set[int]]] = None, {}

    def write(self) -> None:
        """Write nothing to the disk: a new lookup is cheap."""


def participants(snapshot: visible.VisibleSnapshot, names: tuple[str, ...]) -> Set[int]:
    """The worlds of some of the names that participants of a conversation with a machine have, which something refers
    to; every question asks for the same."""
    if not names:
        return frozenset()
    kept = snapshot.shared_cache(_Participants)
    if kept is None or snapshot.whole is None:
        return set[int]().union(*find_nodes_by_name(snapshot, names).values())
    log = snapshot.whole.log
    state = log.transaction, log.head(), snapshot.place.moment.seq
    known, called = kept.known
    if known != state:
        called = {}
        kept.known = state, called
    if names not in called:
        called[names] = set[int]().union(*find_nodes_by_name(snapshot, names).values())
    return called[names]


def _is_referred_to(snapshot: visible.VisibleSnapshot, node: int) -> bool:
    """True if anything had referred to a world by the view's commit, still in force or not."""
    seq = snapshot.place.moment.seq
    return next(iter(snapshot.tables.incoming(node, _REFERS_TO, known_by=seq)), None) is not None


_FEW_REFERRERS: Final = 2
"""Of so many of what referred to a name first, and last, it is looked at whether it is a turn."""


def _speaks(snapshot: visible.VisibleSnapshot, node: int) -> bool:
    """True if turns of a talk refer to a world: they refer to who speaks."""
    tables, seq = snapshot.tables, snapshot.place.moment.seq
    ways = tables.incoming, tables.latest_incoming
    some = {place.source for way in ways for place, _ in islice(way(node, _REFERS_TO, known_by=seq), _FEW_REFERRERS)}
    said = (newest_version(tables, source, seq) for source in some)
    return any(seen is not None and seen.row.type == _TURN for seen in said)


def find_references(
    snapshot: visible.VisibleSnapshot, nodes: Iterable[int], entities: Set[int] | None
) -> Iterator[tuple[int, int]]:
    """(world, entity) of all references of some worlds to some entities, or to any, at the view's moment.

    Where they were all looked up, they are known to those who ask again in the same read.
    """
    tables, moment = snapshot.tables, snapshot.place.moment
    kept: _References = snapshot.kept.setdefault(_References, _References())
    nodes = dict.fromkeys(nodes)
    new = [node for node in nodes if node not in kept]
    found = (
        (place.source, row.target)
        for place, row in tables.between(sorted(new), _REFERS_TO, entities, known_by=moment.seq)
        if edge_seen(tables, place, row, moment)
    )
    if entities is None:
        listed: dict[int, list[int]] = {node: [] for node in new}
        for node, entity in found:
            listed[node].append(entity)
        kept.update(listed)
        return ((node, entity) for node in nodes for entity in kept[node])
    known = ((node, each) for node in nodes for each in kept.get(node, ()) if each in entities)
    return chain(known, found)


class _References(dict[int, list[int]]):
    """Whom some worlds refer to, kept for one read."""


def find_referring_nodes(snapshot: visible.VisibleSnapshot, entities: Set[int], most: int) -> list[int]:
    """The worlds that refer to the entities, in log order; none if they are more than ``most``."""
    found: set[int] = set()
    tables, moment = snapshot.tables, snapshot.place.moment
    if any(snapshot.has_more_referrers(entity, most) for entity in entities):
        return []
    for entity in sorted(entities):
        own: dict[int, EdgeRow] = {}
        for place, row in tables.incoming(entity, _REFERS_TO, known_by=moment.seq):
            if edge_seen(tables, place, row, moment):
                found.add(place.source)
                own[place.source] = row
            if len(found) > most:
                snapshot.keep_referrers(entity, list(own.values()))
                return []
    return sorted(found)


def find_latest_referring(snapshot: visible.VisibleSnapshot, gate: Gate, entities: Set[int], most: int) -> list[int]:
    """The ``most`` visible worlds that referred to the entities last, in log order."""
    tables, moment = snapshot.tables, snapshot.place.moment
    found: dict[int, int] = {}
    for entity in sorted(entities):
        own: set[int] = set()
        for place, row in tables.latest_incoming(entity, _REFERS_TO, known_by=moment.seq):
            if edge_seen(tables, place, row, moment) and gate.seen(place.source) is not None:
                own.add(place.source)
                found[place.source] = max(place.edge, found.get(place.source, 0))
            if len(own) == most:
                break
    return sorted(sorted(found, key=lambda node: -found[node])[:most])


MAX_STANDING: Final = 32
"""Of so many texts that have words of a standing instruction it is looked at whether they are one."""


def find_standing_instructions(gate: Gate, search: Fetch) -> tuple[int, ...]:
    """The worlds with standing instructions; ``search`` finds texts with such words."""
    found = []
    for passed in islice(gate.passing(search, MAX_STANDING, MAX_STANDING), MAX_STANDING):
        body = gate.snapshot.body(passed.seen.row)
        if body is not None and analysis.standing_instruction(body.content):
            found.append(passed.node)
    return tuple(found)


MAX_TASTES: Final = 128
"""Of so many texts that have words of the question and of a taste it is looked at whether somebody says one."""


Told = TypeVar("Told")
MAX_FACTS: Final = 16_384
"""Of so many versions it is kept what each question about their texts found."""


class _KnownFacts:
    """What is known of texts, by what tells it and by version, which reads of the whole store share."""

    holds_texts: Final = True

    def __init__(self, _place: object) -> None:
        self.known: dict[Callable[..., Any], dict[Hashable, Any]] = {}

    def write(self) -> None:
        """Write nothing to the disk: to read a text anew takes little."""


class TextFacts:
    """What pure functions tell of the texts of versions: each reads a text once, since that never changes.

    Where the whole store is seen that is known to later recalls, until an erasure; elsewhere for one read.
    """

    def __init__(self, snapshot: visible.VisibleSnapshot) -> None:
        self._snapshot = snapshot
        self._known = (snapshot.shared_cache(_KnownFacts) or _KnownFacts(None)).known

    def release(self) -> None:
        """Let the snapshot go, which knows of this."""
        del self._snapshot

    def tell(self, read: Callable[..., Told], passed: Passed, *more: Hashable) -> Told:
        """What ``read`` tells of the text of a hit, which it is given before ``more``; no text tells what "" does."""
        known, key = self._known_by(read), (passed.node, passed.seen.number, *more)
        if key in known:
            found: Told = known[key]
            return found
        body = self._snapshot.body(passed.seen.row)
        told = read("" if body is None else body.content, *more)
        if body is not None:  # A bundle may still bring the text of a version.
            known[key] = told
        return told

    def tell_each(self, read: Callable[[str], Told], hits: Sequence[Passed]) -> list[Told]:
        """As :meth:`tell`, of many hits."""
        known, keys = self._known_by(read), [(passed.node, passed.seen.number) for passed in hits]
        new = [(key, passed.seen.row) for key, passed in zip(keys, hits, strict=True) if key not in known]
        bodies = self._snapshot.bodies([row for _, row in new])
        told = {key: read("" if body is None else body.content) for (key, _), body in zip(new, bodies, strict=True)}
        known.update((key, told[key]) for (key, _), body in zip(new, bodies, strict=True) if body is not None)
        return [told[key] if key in told else known[key] for key in keys]

    def _known_by(self, read: Callable[..., Any]) -> dict[Hashable, Any]:
        known = self._known.get(read)
        if known is None or len(known) > MAX_FACTS:
            known = self._known[read] = {}
        return known


def text_facts(snapshot: visible.VisibleSnapshot) -> TextFacts:
    """What is known of the texts that a read sees."""
    made: TextFacts | None = snapshot.kept.get(TextFacts)
    if made is None:
        made = snapshot.kept[TextFacts] = TextFacts(snapshot)
    return made


def find_tastes(gate: Gate, search: Fetch) -> tuple[int, ...]:
    """The worlds that state somebody's preference or choice; ``search`` finds texts with such words."""
    some = list(islice(gate.passing(search, MAX_TASTES, MAX_TASTES), MAX_TASTES))
    told = text_facts(gate.snapshot).tell_each(prefers, some)
    return tuple(passed.node for passed, states_taste in zip(some, told, strict=True) if states_taste)


_FEW_HOMES: Final = 4
"""Of so many homes the members are listed."""
MAX_HOMES: Final = 64
"""A name that is at home in more worlds says little about where an answer lies."""


def find_nodes_at_home(
    snapshot: visible.VisibleSnapshot, inside: int, entities: Set[int], nodes: Iterable[int]
) -> set[int]:
    """The nodes that lie where an entity is at home: in a world that contains it directly.

    None if one of the entities is at home in the searched world or around it: then nothing there is a stranger's.
    """
    homes = {home for entity in entities for home in snapshot.containers(entity)}
    if not homes or len(homes) > MAX_HOMES or any(snapshot.scope(home).sees(inside) for home in homes):
        return set()
    known = [snapshot.members_up_to(home, SMALL_WORLD) for home in homes] if len(homes) <= _FEW_HOMES else [None]
    if None not in known:
        return {node for node in nodes if any(node in members for members in known if members is not None)}
    strange: set[int] = set()
    return {node for node in nodes if _is_in_home(snapshot, homes, node, strange)}


def _is_in_home(snapshot: visible.VisibleSnapshot, homes: Set[int], node: int, strange: set[int]) -> bool:
    """True if a node lies in one of the homes, at any depth; ``strange`` keeps what does not, nor contains them."""
    passed, pending = {node}, [node]
    for here in pending:
        for around in snapshot.containers(here):
            if around in homes:
                return True
            if around not in passed and around not in strange:
                passed.add(around)
                pending.append(around)
    strange |= passed
    return False


def find_naming_nodes(
    snapshot: visible.VisibleSnapshot, names: Sequence[str], hits: Iterable[Passed]
) -> dict[int, bool]:
    """The nodes of those hits that have one of the names in their texts, and whether a text begins with it."""
    sought = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, names))})(?!\w)", re.I)
    found = dict[int, bool]()
    for hit in hits:
        body = snapshot.body(hit.seen.row)
        if body is not None and (sought.search(body.content) or sought.search(body.name)):
            found[hit.node] = sought.match(body.content) is not None
    return found


LATER_TURN_SHARES: Final = (0.7, 0.65)
"""The share of its evidence that a turn lends to the next turn, and to the one after."""
ANSWER_SHARE: Final = 0.9
"""The same for a turn that ends with a question, in a talk between people: the next turn answers it. Chosen on one
half of the development questions and judged on the other; see docs/retrieval.md."""
TALK_SHARE: Final = 0.4
"""What share of its evidence the best turn of a session lends all turns of it, itself too, in a talk between people."""
MAX_LEADERS: Final = 16
"""The turns that follow the first so many hits of each lane are candidates, or as many as hits are wanted; these hits
lend to what is said in the same talk."""
FIRST_PLACES: Final = 10
"""How many of a session's turns have a place of their own."""
_TURN: Final = type_digest("Turn")
_LOOK_AHEAD: Final = 8
"""How many entries of a session are read in search of the turns that follow."""
_PAUSE: Final = 60 * 60 * 1_000_000
"""The microseconds after which a turn takes up nothing that was said before it: people write all day in one session."""


def lend_to_later_turns(
    snapshot: visible.VisibleSnapshot,
    gate: Gate,
    leaders: Iterable[Passed],
    shares: Sequence[float] = LATER_TURN_SHARES,
) -> dict[int, dict[int, float]]:
    """The turns after each leader in its session, one for each share, with what each leader lends them.

    What is said more than an hour apart, in the order of a list or not, takes up nothing of it.
    """
    found: dict[int, dict[int, float]] = {}
    said = {leader.node: leader.seen.row.valid_from for leader in leaders if leader.seen.row.type == _TURN}
    turns = list(said)
    snapshot.look_up_placings(turns)
    behind = _turns_behind(snapshot, turns, len(shares))
    gate.look_ahead(chain.from_iterable(behind.values()))
    for turn, after in behind.items():
        for share, node in zip(shares, after, strict=False):
            seen = gate.seen(node)
            if seen is not None and seen.row.type == _TURN and abs(seen.row.valid_from - said[turn]) <= _PAUSE:
                found.setdefault(node, {})[turn] = share
    return found


def lend_to_answers(
    snapshot: visible.VisibleSnapshot,
    pool: Mapping[int, Passed],
    following: dict[int, dict[int, float]],
    talks: Mapping[int, Sequence[int]],
) -> dict[int, dict[int, float]]:
    """The shares of :func:`lend_to_later_turns`, and larger ones for answers to turns of the same talk.

    What a machine is asked it answers at length, and in the words of the question.
    """
    if not talks:
        return following
    within = ((node, leader) for node in following.keys() & talks.keys() for leader in talks[node])
    asked = [(node, leader) for node, leader in within if following[node].get(leader) == LATER_TURN_SHARES[0]]
    bodies = {leader: snapshot.body(pool[leader].seen.row) for _, leader in asked}
    asking = {leader for leader, body in bodies.items() if body is not None and body.content.rstrip().endswith("?")}
    shares = {node: dict(leaders) for node, leaders in following.items()}
    for node, leader in asked:
        if leader in asking:
            shares[node][leader] = ANSWER_SHARE
    return shares


def find_leaders_in_talks(
    gate: Gate, pool: Mapping[int, Passed], leaders: Iterable[int], user: Set[int] = frozenset()
) -> dict[int, list[int]]:
    """The leaders of the session that each turn is in, itself too if it is one, where people talk to one another.

    They answer one another and stay with a subject, so that of two turns that are as near the one is likelier in whose
    session the nearest is. What is said to a machine, and by it, is complete in itself, and so is what nobody is known
    to have said. In the world of a ``user`` whatever that user takes part in is a talk with a machine. What was
    inferred of a turn stands for it.
    """
    snapshot = gate.snapshot
    machines = participants(snapshot, TO_MACHINES)

    def container_of(node: int) -> int | None:
        return next(iter(snapshot.containers(node)), None)

    def turns_of(nodes: Iterable[int]) -> dict[int, int]:
        turns: dict[int, int] = {}
        for node in nodes:
            seen, turn = pool[node].seen, node
            if seen.row.type == visible.ENRICHMENT_TYPE:
                turn = container_of(node) or node
                seen = gate.seen(turn) or seen
            if seen.row.type == _TURN:
                turns[node] = turn
        return turns

    spoken = turns_of(leaders)
    known = list(find_references(snapshot, spoken.values(), None))
    people = {turn for turn, _ in known}.difference(
        turn for turn, entity in known if entity in machines or entity in user
    )
    best: dict[int, list[int]] = {}
    for leader, turn in spoken.items():
        session = container_of(turn) if turn in people else None
        if session is not None:
            best.setdefault(session, []).append(leader)
    if not best:
        return {}
    turns = turns_of(pool)
    for turn, _ in find_references(snapshot, turns.values(), user) if user else ():
        best.pop(container_of(turn) or 0, None)
    if not best:
        return {}
    apart = {turn for turn, _ in find_references(snapshot, turns.values(), machines)} if machines else set()
    within = {node: container_of(turn) for node, turn in turns.items() if turn not in apart}
    return {node: best[session] for node, session in within.items() if session in best}


def gains_in_talks(own: Mapping[int, float], talks: Mapping[int, Sequence[int]], strange: Set[int]) -> dict[int, float]:
    """The gain of each candidate from the best turn of its talk; candidates outside of talks gain their own score,
    and strangers nothing.

    Otherwise a note would rank below a turn that fits no better.
    """
    around = {node: max(own[each] for each in leaders) for node, leaders in talks.items()}
    near = own.keys() - strange if talks else set()
    return {node: TALK_SHARE * max(0.0, own[node], around.get(node, 0.0)) for node in near}


WORDS_NEAR: Final = 0.3
"""What a turn in a talk between people gains if it and the two turns before it have all words of the question."""
WORDS_IN_TALK: Final = 0.1
"""The same if the first hits of its talk have them. Chosen on one half of the development questions and judged on the
other; see docs/retrieval.md."""


def gains_by_words_around(
    snapshot: visible.VisibleSnapshot,
    pool: Mapping[int, Passed],
    asked: AskedWords,
    best: Sequence[int],
    following: Mapping[int, Iterable[int]],
    talks: Mapping[int, Sequence[int]],
) -> dict[int, float]:
    """The gain of some candidates by the words of a question that each has together with the turns before it in its
    session (``following``), and with the first hits of its talk (``talks``).

    People say in one turn what they speak of, and in the next ones the rest: no turn alone has all words.
    """
    read: dict[int, frozenset[int]] = {}

    def words_of(nodes: Iterable[int]) -> frozenset[int]:
        for node in nodes:
            if node not in read:
                body = snapshot.body(pool[node].seen.row)
                read[node] = frozenset() if body is None else asked.places_in(body.content)
        return frozenset().union(*(read[node] for node in nodes))

    gains: dict[int, float] = {}
    for node in best:
        near = words_of((node, *following.get(node, ())))
        gains[node] = WORDS_NEAR * asked.share(near) + WORDS_IN_TALK * asked.share(near | words_of(talks.get(node, ())))
    return gains


def gains_from_earlier_turns(
    own: Mapping[int, float], following: Mapping[int, Mapping[int, float]]
) -> dict[int, float]:
    """What the best earlier turn adds to each turn's own evidence."""
    return {
        node: max(0.0, *(share * own[leader] - own[node] for leader, share in leaders.items()))
        for node, leaders in following.items()
    }


def count_earlier_turns(
    snapshot: visible.VisibleSnapshot, hits: Iterable[Passed], most: int = FIRST_PLACES
) -> dict[int, int]:
    """How many joined its session before each turn, up to ``most``.

    What is no turn has no place.
    """
    tables, moment = snapshot.tables, snapshot.place.moment
    sessions: dict[int, set[int]] = {}
    spoken = [hit.node for hit in hits if hit.seen.row.type == _TURN]
    snapshot.look_up_placings(spoken)
    for node in spoken:
        for session in snapshot.containers(node)[:1]:
            sessions.setdefault(session, set()).add(node)
    found: dict[int, int] = {}
    each = tables.outgoing_behind(EdgePlace(container, CONTAINS_CODE, 0) for container in sessions)
    for turns, joined in zip(sessions.values(), each, strict=True):
        before = 0
        for place, row in islice(joined, most):
            if edge_seen(tables, place, row, moment):
                if row.target in turns:
                    found[row.target] = before
                    turns.remove(row.target)
                    if not turns:
                        break
                before += 1
        found.update(dict.fromkeys(turns, most))
    return found


def _turns_behind(snapshot: visible.VisibleSnapshot, nodes: Iterable[int], most: int) -> dict[int, list[int]]:
    """What joined the containers of each of some nodes after it, nearest first, as many as are wanted."""
    tables, moment = snapshot.tables, snapshot.place.moment
    placed = [(node, place) for node in nodes for place in snapshot.placings(node)]
    found: dict[int, list[int]] = {}
    each = tables.outgoing_behind(place for _, place in placed)
    for (node, _), edges in zip(placed, each, strict=True):
        behind = found.setdefault(node, [])
        for place, row in islice(edges, _LOOK_AHEAD):
            if len(behind) == most:
                break
            if edge_seen(tables, place, row, moment):
                behind.append(row.target)
    return found


def turn_after(snapshot: visible.VisibleSnapshot, node: int) -> int | None:
    """What joined the session of a turn next after it; ``None`` if nothing did."""
    return next(iter(_turns_behind(snapshot, [node], 1).get(node, ())), None)


def turns_around(snapshot: visible.VisibleSnapshot, node: int) -> list[int]:
    """What joined the session of a turn just before and after it, two and one."""
    own = next(iter(snapshot.placings(node)), None)
    if own is None:
        return []
    before, width = list[int](), _NEAR_BEFORE
    # Edges are read in log order, so ever wider stretches up to the turn's own are.
    while len(before) < _BEFORE and (width == _NEAR_BEFORE or width // _WIDER < own.edge):
        edges = _joined_behind(snapshot, own._replace(edge=max(0, own.edge - width)))
        joined = (target for place, target in takewhile(lambda each: each[0].edge < own.edge, edges))
        before = [target for target, _ in groupby(joined) if target != node][-_BEFORE:]
        width *= _WIDER
    behind = (target for _, target in islice(_joined_behind(snapshot, own), _LOOK_AHEAD) if target != node)
    return [*before, *islice(behind, 1)]


def _joined_behind(snapshot: visible.VisibleSnapshot, place: EdgePlace) -> Iterator[tuple[EdgePlace, int]]:
    """What joined a world by edges that come after a place, with the places of these."""
    for edges in snapshot.tables.outgoing_behind([place]):
        for found, row in edges:
            if edge_seen(snapshot.tables, found, row, snapshot.place.moment):
                yield found, row.target


_BEFORE: Final = 2
"""The turns before one that belong to what was said around it."""
_NEAR_BEFORE: Final = 64
_WIDER: Final = 16
"""First this many numbers of edges before a turn's own are looked at for those, then so many times as many."""
EDGE_SHARE: Final = 0.5
"""The share of its evidence that a hit lends to a world joined by an edge."""
MAX_EDGES: Final = 64
"""Of each type and direction the first so many edges of a hit are followed; what more have in common tells little."""


def lend_to_neighbours(
    snapshot: visible.VisibleSnapshot, gate: Gate, leaders: Iterable[Passed]
) -> dict[int, dict[int, float]]:
    """The worlds joined to the leaders by edges, with the share that each leader lends.

    Edges of any type but ``contains`` count.

    Edges and worlds are those that the view sees; worlds outside of the one that is searched are left out, and erased
    ones, which say nothing.
    """
    codes = _edge_codes(snapshot)
    found: dict[int, dict[int, float]] = {}
    for leader in leaders:
        for node in _edge_ends(snapshot, leader.node, codes):
            seen = gate.seen(node) if node != leader.node else None
            if seen is not None:
                found.setdefault(node, {})[leader.node] = EDGE_SHARE
    return found


def _edge_codes(snapshot: visible.VisibleSnapshot) -> list[int]:
    """The possible edge types."""
    registered = (snapshot.tables.type_code(one.type) for one in snapshot.registered(ended=True))
    later = (snapshot.tables.type_code(name) for name in sorted(LATER_BUILT_IN))
    codes = {*EDGE_TYPE_CODES.values(), *(code for code in (*registered, *later) if code is not None)}
    return sorted(codes - {CONTAINS_CODE})


def _edge_ends(snapshot: visible.VisibleSnapshot, node: int, codes: Iterable[int]) -> Iterator[int]:
    """The other ends of the edges of a world."""
    tables, moment = snapshot.tables, snapshot.place.moment

    def in_force(edges: Iterable[tuple[EdgePlace, EdgeRow]]) -> Iterator[tuple[EdgePlace, EdgeRow]]:
        return islice((each for each in edges if edge_seen(tables, *each, moment)), MAX_EDGES)

    for code in codes:
        yield from (row.target for _, row in in_force(tables.outgoing(node, code, known_by=moment.seq)))
        yield from (place.source for place, _ in in_force(tables.incoming(node, code, known_by=moment.seq)))


def worlds_begun_within(snapshot: visible.VisibleSnapshot, spans: Iterable[Span]) -> Nodes | None:
    """The worlds that began in any of some spans; ``None`` if they are many, or only a part of the store is seen."""
    kept = snapshot.shared_cache(WorldStarts, of_all=True)
    if kept is None:
        return None
    began = [(span.start, span.end) for span in spans]
    found = kept.within(snapshot.store_tables, snapshot.worlds_known(), began)
    return None if found is None else Nodes.ordered(found)


def filter_begun_within(
    snapshot: visible.VisibleSnapshot, spans: Sequence[Span], hits: Sequence[Proposed]
) -> list[Proposed]:
    """Those hits of a lane whose versions began in any of some spans; to look through many takes little."""
    began = snapshot.store_tables.version_starts(
        [(hit.node, hit.version if hit.version < FIRST_LITERAL else 1) for hit in hits]
    )
    return [hit for hit, at in zip(hits, began, strict=True) if any(span.start <= at < span.end for span in spans)]
