"""One request against the model, on a copy of the state that is kept or dropped as a whole."""

from __future__ import annotations

from typing import Any

from tests.support.model.commands import Command, Nth
from tests.support.model.draft import Bad
from tests.support.model.lines import subtract
from tests.support.model.rules.edge_rules import TYPES, Refuse, default_start, refuse
from tests.support.model.rules.statement_rules import OfStatements
from tests.support.model.rules.world_rules import OfWorlds
from tests.support.model.state import ROOT, Edge, Proposal
from worlddb import AmbiguousReference, InvalidInterval, UnknownEdgeType
from worlddb.log.model.times import FOREVER


class Attempt(OfWorlds, OfStatements):
    """The commands as methods, which return their result as a number."""

    def run(self, commands: list[Command]) -> None:
        """Decide all commands, or raise :class:`Refuse` or :class:`Bad` at the first that cannot be."""
        for command in commands:
            check_arguments(command)
        for position, command in enumerate(commands):
            try:
                self.results.append(getattr(self, f"_{command.method}")(**command.arguments))
            except Refuse as refused:
                refused.position = position
                raise

    # -- edges

    def _link(
        self,
        source: Any,
        type: str,
        target: Any,
        home: Any = None,
        key: str | None = None,
        properties: dict[str, Any] | None = None,
        valid_from: int | None = None,
        valid_to: int | None = None,
        why: str = "",
    ) -> int:
        one, other = self.world(source), self.world(target)
        place = None if home is None else self.world(home)
        if type == "contains" and place not in (None, one):
            refuse("container_is_home")
        if type not in TYPES:
            raise Bad(UnknownEdgeType)
        start = default_start(self, type, one, other) if valid_from is None else valid_from
        end = FOREVER if valid_to is None else valid_to
        if end < start:
            raise Bad(InvalidInterval)
        if key is not None and self.state.edge_keys.get(key) in self.state.edges:
            return self.state.edge_keys[key]
        if type == "same_as":
            return self.stage(one, other, home=place, start=start, evidence=properties or {}, why=why)
        made = self.write(type, one, other, home=place, start=start, end=end, properties=properties or {}, why=why)
        if start == end:
            self.note("never_valid", made)
        if key is not None:
            self.state.edge_keys[key] = made
        return made

    def _unlink(self, edge: Any, why: str = "") -> int:
        number = self._first_membership(edge)
        if number is None:
            number = self.number(edge, "edge")
        if number in self.state.proposals:
            refuse("is_a_proposal")
        if number in self.state.unlinked:
            refuse("already_unlinked")
        self.unlink_edge(number)
        return number

    def _first_membership(self, reference: Any) -> int | None:
        """The edge by which a world that the batch has begun was put into its first world: it stands for that."""
        made = self.number(reference, "world", "edge", "proposal") if isinstance(reference, Nth) else -1
        if made not in self.state.worlds or self.state.worlds[made].made != self.now:
            return None
        known = self.state.edges | self.state.unlinked
        return min(number for number, edge in known.items() if edge.type == "contains" and edge.target == made)

    def _move(
        self,
        refs: Any,
        to: Any,
        out_of: Any = None,
        valid_from: int | None = None,
        valid_to: int | None = None,
        why: str = "",
    ) -> int:
        moved = [self.world(ref) for ref in (refs if isinstance(refs, list) else [refs])]
        goal = self.world(to)
        leaving = None if out_of is None else self.world(out_of)
        old: dict[int, list[int]] = {}
        for number in moved:
            old[number] = self._membership(number, leaving, self.now if valid_from is None else valid_from, valid_to)
        if valid_to is not None:
            self._move_for_a_while(old, goal, self.now if valid_from is None else valid_from, valid_to, why)
            return moved[0]
        left = {self.state.edges[each].source for memberships in old.values() for each in memberships}
        for number, memberships in old.items():
            self.write("contains", goal, number, start=valid_from, why=why)
            for membership in memberships:
                self.unlink_edge(membership)
            held = self.state.worlds[number].held
            if valid_from is not None and goal != ROOT and held and held[0].start < valid_from:
                self.note("outside_before", number, goal)
        self._carry(set(old), left, goal)
        return moved[0]

    def _move_for_a_while(self, old: dict[int, list[int]], goal: int, start: int, end: int, why: str) -> None:
        if end < start:
            raise Bad(InvalidInterval)
        if start == end:
            refuse("empty_window")
        for number, memberships in old.items():
            self.write("contains", goal, number, start=start, end=end, why=why)
            for membership in memberships:
                edge = self.state.edges[membership]
                self.state.edges[membership] = edge._replace(pieces=subtract(edge.pieces, start, end))

    def _membership(self, number: int, leaving: int | None, start: int, end: int | None) -> list[int]:
        if number == ROOT:
            refuse("root_is_permanent")
        found: dict[int, list[int]] = {}
        for own, edge in self.state.edges_of("contains"):
            if edge.target == number:
                found.setdefault(edge.source, []).append(own)
        if leaving is None:
            until = FOREVER if end is None else end
            pieces = {
                source: [piece for each in own for piece in self.state.edges[each].pieces]
                for source, own in found.items()
            }
            then = [source for source in found if any(max(start, a) < min(until, b) for a, b in pieces[source])]
            if len(found) > 1 and len(then) == 1:
                return found[then[0]]
            if len(found) != 1:
                raise Bad(AmbiguousReference)
            return next(iter(found.values()))
        if leaving not in found:
            refuse("not_a_member")
        return found[leaving]

    def _carry(self, moved: set[int], left: set[int], goal: int) -> None:
        """Interior edges go along if both ends do; an accepted identity stays."""
        carried, behind = set(), set()
        for number, edge in list(self.state.edges.items()):
            ends = {edge.source, edge.target}
            if edge.type == "contains" or edge.home not in left or not ends & moved:
                continue
            if ends <= moved and number not in self.state.proposals:
                carried.add(number)
                self.state.unlinked[number] = self.state.edges.pop(number)
                made = self.new_number()
                self.state.edges[made] = edge._replace(home=goal, start=edge.begins, seq=self.seq, said=self.said(made))
                self.state.edge_keys.update(
                    {key: made for key, known in self.state.edge_keys.items() if known == number}
                )
            else:
                behind.add(number)
        if carried:
            self.note("edges_carried", *carried)
        if behind:
            self.note("edges_left_behind", *behind)

    # -- identity

    def _accept(self, proposal: Any, why: str = "") -> int:
        number, known = self._settle(proposal, "pending", "accepted")
        latest = {frozenset((each.source, each.target)): each.status for each in self.state.proposals.values()}
        mine, theirs = self.state.class_of(known.source), self.state.class_of(known.target)
        if any(latest.get(frozenset((one, other))) == "rejected" for one in mine for other in theirs):
            refuse("joins_rejected_pair")
        ends = (known.source, known.source_version, known.target, known.target_version)
        self.state.edges[number] = Edge("same_as", *ends, known.home, known.start, ((known.start, FOREVER),), self.seq)
        return number

    def _reject(self, proposal: Any, why: str = "") -> int:
        number, known = self._settle(proposal, "pending", "rejected")
        if known.target in self.state.class_of(known.source):
            refuse("joined_by_others")
        return number

    def _undo(self, proposal: Any, why: str = "") -> int:
        number, _ = self._settle(proposal, "accepted", "undone")
        self.unlink_edge(number)
        return number

    def _settle(self, proposal: Any, needed: str, status: str) -> tuple[int, Proposal]:
        number = self.number(proposal, "proposal")
        known = self.state.proposals[number]
        if known.status != needed:
            refuse("already_decided")
        self.state.proposals[number] = known._replace(status=status, decided=self.seq)
        self.changed = True
        return number, known


def check_arguments(command: Command) -> None:
    """An interval that was given whole is judged before the store is looked at."""
    given = command.arguments
    start, end = given.get("valid_from", given.get("at")), given.get("valid_to")
    if start is not None and end is not None and end < start:
        raise Bad(InvalidInterval)
