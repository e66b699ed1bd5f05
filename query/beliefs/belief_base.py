"""The beliefs of a view: the belief base, its visible part, and the plan of a contraction.

The belief base is the content of all versions that bear beliefs: those that hold at the view's valid time, and those
with a tag that bears beliefs. Edges are walked for plans alone; nothing that they lead to is in the base.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import msgspec

from worlddb.log.beliefs import atoms
from worlddb.log.model import errors, ids, limits, times
from worlddb.projections.tables.beliefs import belief_rows
from worlddb.query.graph_query import traversal
from worlddb.query.reads import build
from worlddb.query.records import records

if TYPE_CHECKING:
    from worlddb.projections.tables.reads.table_reads import TableReads
    from worlddb.projections.tables.storage import schema
    from worlddb.query.reads.window import Window
    from worlddb.query.snapshot.visible import VisibleSnapshot

Named = Callable[[Any], int]
"""Finds the number of a world by a reference or a name."""
PLAN_DEPTH: Final = 10
"""How many edges a plan follows to what rests on a world."""


class BeliefSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What counts as believed: see :meth:`worlddb.Database.set_beliefs`."""

    tags: tuple[str, ...]
    single: tuple[str, ...]
    entrenchment: dict[str, str]


class Entrenched(msgspec.Struct, frozen=True, kw_only=True):
    """An atom that is believed, and how entrenched it is; what compares lower by ``rank`` is given up first.

    ``measure`` is by what it is compared (``confidence``, ``recency`` or ``support``), ``amount`` how much there is of
    that, ``depended`` how many worlds depend on its item, ``since`` the commit since which it has been said.
    """

    atom: atoms.Atom
    measure: str
    amount: float
    depended: int
    since: int
    rank: tuple[int, float, int, int]


class PlannedChange(msgspec.Struct, frozen=True, kw_only=True):
    """What a contraction does to one version: of which world, under which tags, in which spans, and what it removes.

    ``tags`` has ``current`` if the version holds. ``spans`` are those that change, in microseconds: all in which the
    version holds, and none if only a tag comes off it.
    """

    item: str
    name: str
    version: int
    tags: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]
    removes: tuple[atoms.Atom, ...]


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What a contraction would change, as of commit ``seq`` and the valid time ``valid``; nothing is done yet.

    ``asked`` is what it was asked to take back; of that ``goes`` what does, and ``stays`` what is more entrenched.
    ``rests_on`` are the worlds that rest on a changed one, each with the way there, and ``cut_off`` where more lies
    deeper. ``receipts`` are the kept recall receipts that name a changed world. Give it to
    :meth:`worlddb.Database.contract`, which refuses if anything would come out otherwise by then.
    """

    seq: int
    valid: int
    asked: tuple[atoms.Atom, ...]
    goes: tuple[atoms.Atom, ...]
    stays: tuple[atoms.Atom, ...]
    changes: tuple[PlannedChange, ...]
    rests_on: tuple[records.Reached, ...]
    cut_off: tuple[str, ...]
    receipts: tuple[str, ...]
    whole: bool
    each: bool
    outlook: dict[str, tuple[int, ...]]

    def __str__(self) -> str:
        went = f"{len(self.goes)} of {len(self.asked)} atoms are dropped, from {len(self.changes)} versions"
        more = ", and more below the depth limit" if self.cut_off else ""
        named = f"; {len(self.receipts)} kept receipts name them" if self.receipts else ""
        return f"{went}; {len(self.rests_on)} worlds depend on them{more}{named}"


class _BeliefReader:
    """Reads beliefs from a snapshot."""

    def __init__(self, snapshot: VisibleSnapshot) -> None:
        self._snapshot = snapshot
        self.tables: TableReads = snapshot.tables

    def content(self, node: int, number: int) -> atoms.VersionContent | None:
        row = self.tables.version(node, number)
        body = self._snapshot.body(row)
        if body is None:
            return None
        said = build.properties(self._snapshot.details(row.seq, row.details))
        return atoms.VersionContent(body.type, body.name, body.content, said)

    def tag_rows(self, node: int) -> Sequence[tuple[int, schema.AliasRow]]:
        return self._snapshot.tag_rows(node)

    def assigned(self, node: int, tag: int) -> int:
        return self._snapshot.assigned(node, tag)


class Base:
    """The beliefs that one read of a view sees."""

    def __init__(self, window: Window, snapshot: VisibleSnapshot) -> None:
        self._window = window
        self._snapshot = snapshot
        self._beliefs = belief_rows.Beliefs(_BeliefReader(snapshot), snapshot.place.moment, snapshot.belief_settings())

    @property
    def settings(self) -> BeliefSettings:
        """What counts as believed."""
        known = self._beliefs.settings
        return BeliefSettings(
            tags=("current", *known.tags),
            single=tuple(sorted(known.single)),
            entrenchment=dict(sorted(known.measures.items())),
        )

    def believed(self, nodes: Iterator[int], *, is_shown: bool) -> frozenset[atoms.Atom]:
        """The beliefs in some worlds; ``is_shown``: only in those that reads show by default."""
        return frozenset(
            self._atom(node, claim)
            for node in nodes
            if not (is_shown and self._snapshot.hides(node))
            for claim in self._beliefs.claims(node)
        )

    def _atom(self, node: int, claim: atoms.Claim) -> atoms.Atom:
        return atoms.Atom(self._snapshot.ref(node), *claim)

    def entrenched(self, asked: Sequence[tuple[int, atoms.Claim]]) -> list[Entrenched]:
        """The believed ones of some atoms, the least entrenched first."""
        ranks = [(self._beliefs.rank(*each), each) for each in dict.fromkeys(asked)]
        known = sorted((rank, self._atom(*each)) for rank, each in ranks if rank != atoms.NEVER)
        return [
            Entrenched(
                atom=atom,
                measure=atoms.MEASURES[rank.measure],
                amount=rank.amount,
                depended=rank.depended,
                since=rank.commit,
                rank=(rank.measure, rank.amount, rank.depended, rank.commit),
            )
            for rank, atom in known
        ]

    def plan(self, given: Contraction, receipts_of: Callable[[str], Sequence[str]], named: Named) -> Plan:
        """Plan a contraction."""
        asked = self.claims(given, named)
        goes = set(asked) if given.each or len(asked) == 1 else self._beliefs.claims_to_give_up(asked)
        goes &= {(node, claim) for node in {node for node, _ in asked} for claim in self._beliefs.claims(node)}
        changes: list[PlannedChange] = []
        outlook: dict[str, tuple[int, ...]] = {}
        for node in dict.fromkeys(node for node, _ in asked):
            found = list(self._beliefs.contraction(node, {claim for at, claim in goes if at == node}))
            outlook[self._snapshot.ref(node)] = belief_rows.outlook(found)
            changes += [self._planned_change(node, change, whole=given.whole) for change in found]
        items = dict.fromkeys(change.item for change in changes)
        resting, cut_off = self._find_resting(list(items), named)
        moment = self._snapshot.place.moment
        return Plan(
            seq=moment.seq,
            valid=moment.valid,
            asked=tuple(self._atom(*each) for each in asked),
            goes=tuple(self._atom(*each) for each in asked if each in goes),
            stays=tuple(self._atom(*each) for each in asked if each not in goes),
            changes=tuple(changes),
            rests_on=resting,
            cut_off=cut_off,
            receipts=tuple(dict.fromkeys(each for item in items for each in receipts_of(item))),
            whole=given.whole,
            each=given.each,
            outlook=outlook,
        )

    def claims(self, given: Contraction, named: Named) -> list[tuple[int, atoms.Claim]]:
        """The atoms of a contraction, as node numbers with values in their compared form."""
        single = self._beliefs.settings.single
        found = [(named(item), claim) for item, said in given.by_item for claim, _ in atoms.parse_claims(said, single)]
        return list(dict.fromkeys(found))

    def _planned_change(self, node: int, change: belief_rows.Change, *, whole: bool) -> PlannedChange:
        names = {number: name for name, number in self._tag_numbers(node).items()}
        content = _BeliefReader(self._snapshot).content(node, change.version)
        return PlannedChange(
            item=self._snapshot.ref(node),
            name="" if content is None else content.name,
            version=change.version,
            tags=tuple("current" if tag == belief_rows.CURRENT else names.get(tag, "") for tag in change.tags),
            # What a tag alone keeps in the base goes whole by taking that off.
            spans=tuple(
                (span.start, span.end) for span in change.spans if belief_rows.CURRENT in change.tags or not whole
            ),
            removes=tuple(sorted(self._atom(node, claim) for claim in change.gone)),
        )

    def _tag_numbers(self, node: int) -> dict[str, int]:
        found = {}
        for number, row in self._snapshot.tag_rows(node):
            texts = self._snapshot.details(row.seq, row.details).aliases
            if row.position < len(texts):
                found[texts[row.position]] = number
        return found

    def _find_resting(self, items: Sequence[str], named: Named) -> tuple[tuple[records.Reached, ...], tuple[str, ...]]:
        found: dict[str, records.Reached] = {}
        cut: dict[str, None] = {}
        for item in items:
            reach = self._walk.reach(named(item), PLAN_DEPTH)
            for each in reach.worlds:
                if each.ref not in found or each.depth < found[each.ref].depth:
                    found[each.ref] = each
            cut |= dict.fromkeys(reach.cut_off)
        resting = [each for each in found.values() if each.ref not in items]
        return tuple(resting), tuple(each for each in cut if each not in found)

    @cached_property
    def _walk(self) -> traversal.Walk:
        return traversal.walk(self._window, self._snapshot, traversal.DEPENDING, "in")


# -- what callers give


class Contraction(msgspec.Struct, frozen=True, kw_only=True):
    """The beliefs to drop, by item as the caller referred to it, and how to drop them; ``at`` is a valid time."""

    by_item: tuple[tuple[Any, dict[str, Any]], ...]
    whole: bool = False
    each: bool = False
    at: int | None = None
    outlook: dict[str, tuple[int, ...]] | None = None


def claims_of(given: Any) -> dict[str, Any]:
    """The beliefs to add to one world: a mapping of predicates to values, or a list of pairs or atoms.

    Raises:
        InputError: it is neither.
    """
    if isinstance(given, Mapping):
        return dict(given)
    pairs = [given] if _is_pair(given) else given
    found: dict[str, Any] = {}
    for each in limits.checked_list(pairs, "the list of beliefs"):
        if not _is_pair(each):
            raise errors.InputError(f"{errors.shown(each)} is not a belief", "Give (predicate, value), or an Atom")
        predicate, value = each[-2:]
        found[predicate] = [*_listed(found[predicate]), value] if predicate in found else value
    return found


def _is_pair(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) in (2, 3) and all(isinstance(each, str) for each in value[:-1])


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def contraction_of(
    given: Any,
    *,
    whole: bool = False,
    each: bool = False,
    at: times.TimeLike | None = None,
    ref: Callable[[Any], Any] = ids.as_ref,
) -> Contraction:
    """What a caller wants believed no longer: an atom, several as a compound, or a plan; ``ref`` reads references.

    Raises:
        InputError: it is none of these.
    """
    planned = given if isinstance(given, Plan) else None
    listed = given if planned is None else planned.asked
    if isinstance(listed, tuple) and len(listed) == 3 and isinstance(listed[1], str):
        listed = [listed]
    found: dict[Any, list[Any]] = {}
    for atom in limits.checked_list(listed, "the list of beliefs to drop"):
        if not isinstance(atom, tuple) or len(atom) != 3 or not isinstance(atom[1], str):
            raise errors.InputError(f"{errors.shown(atom)} is not an atom", "Give (item, predicate, value)")
        found.setdefault(ref(atom[0]), []).append(atom[1:])
    if not found:
        raise errors.InputError("No belief to contract was given", "Give (item, predicate, value)")
    claims = tuple((item, claims_of(pairs)) for item, pairs in found.items())
    if planned is not None:
        return Contraction(
            by_item=claims, whole=planned.whole, each=planned.each, at=planned.valid, outlook=planned.outlook
        )
    limits.checked_flag(whole, "whole")
    limits.checked_flag(each, "each")
    return Contraction(by_item=claims, whole=whole, each=each, at=None if at is None else times.parse_time(at, "at"))
