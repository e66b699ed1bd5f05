"""One request against the model: its commands in a row on a copy of the state, which is kept or thrown away whole."""

from __future__ import annotations

import unicodedata
from typing import Any, NamedTuple

from tests.model.commands import Command, Known
from tests.model.draft import Bad
from tests.model.edge_rules import TYPES, Refuse, default_start, refuse
from tests.model.erasing import reached
from tests.model.state import ROOT, Edge, Proposal, Version, World
from tests.model.tuning import Tuning
from worlddb import (
    AmbiguousReference,
    InvalidInterval,
    UnknownEdgeType,
    UnknownReference,
)
from worlddb.log.model.times import FOREVER

MAX_ALIASES = 256


def normal(name: str) -> str:
    """What makes two names one: case, compatibility forms and spacing do not count."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return " ".join(folded.split())


class Texts(NamedTuple):
    """What a create says."""

    type: str
    name: str
    content: str
    aliases: tuple[str, ...]


class Attempt(Tuning):
    """The commands, a method each: what it comes to, as a number."""

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

    # -- worlds

    def _create(
        self,
        type: str,
        name: str,
        content: str = "",
        aliases: tuple[str, ...] = (),
        world: Any = None,
        key: str | None = None,
        valid_from: int | None = None,
        valid_to: int | None = None,
        source: dict[str, Any] | None = None,
        why: str = "",
        resolve: bool = True,
        revive: bool = False,
    ) -> int:
        inside = ROOT if world is None else self.world(world)
        twin = self._twin(type, name, aliases, inside) if resolve else None
        if key is not None and key in self.state.keys:
            texts = Texts(type, name, content, aliases)
            return self._found_again(self.state.keys[key], texts, valid_from, valid_to, source, why, revive)
        start = self.now if valid_from is None else valid_from
        end = FOREVER if valid_to is None else valid_to
        if end < start:
            raise Bad(InvalidInterval)
        version = Version(type, name, content, start, end, self.seq, self.now, self.author, why, source or {})
        made = self.new_number()
        self.state.worlds[made] = World(self.now, (version,), tuple(aliases), len(aliases))
        if key is not None:
            self.state.keys[key] = made
        self.write("contains", inside, made, start=start)
        if twin is not None:
            self.stage(made, twin[0], evidence={"tier": "exact", "name": twin[1], "score": 1.0})
        return made

    def _twin(self, type_name: str, name: str, aliases: tuple[str, ...], inside: int) -> tuple[int, str] | None:
        """The earliest open world of the type inside the scope that has the name; failing that, the next alias."""
        for wanted in (name, *aliases):
            for number, known in self.state.worlds.items():
                names = {normal(text) for text in (known.newest.name, *known.aliases)} - {""}
                if number == ROOT or known.ended or known.newest.type != type_name or normal(wanted) not in names:
                    continue
                if number != inside and self.state.reaches(inside, number, "contains"):
                    return number, wanted
        return None

    def _found_again(
        self,
        number: int,
        texts: Texts,
        valid_from: int | None,
        valid_to: int | None,
        source: dict[str, Any] | None,
        why: str,
        revive: bool,
    ) -> int:
        known = self.state.worlds[number]
        is_erased = known.newest.erasure is not None
        if not is_erased and (known.newest.type, known.newest.name, known.newest.content) == texts[:3]:
            return number
        if known.ended:
            self.note("not_revived", number)
            return number
        if is_erased and not revive:
            self.note("not_restored", number)
            return number
        self._new_version(number, *texts[:3], valid_from, valid_to, source, why)
        if is_erased:
            self._alias(Known(number), texts.aliases)
        return number

    def _revise(
        self,
        ref: Any,
        type: str | None = None,
        name: str | None = None,
        content: str | None = None,
        valid_from: int | None = None,
        valid_to: int | None = None,
        source: dict[str, Any] | None = None,
        why: str = "",
    ) -> int:
        number = self.world(ref)
        known = self.state.worlds[number]
        if known.ended:
            refuse("ended")
        if number == ROOT:
            refuse("root_is_permanent")
        if known.newest.erasure is not None:
            refuse("erased")
        return self._new_version(number, type, name, content, valid_from, valid_to, source, why)

    def _new_version(
        self,
        number: int,
        type: str | None,
        name: str | None,
        content: str | None,
        valid_from: int | None,
        valid_to: int | None,
        source: dict[str, Any] | None,
        why: str,
    ) -> int:
        known = self.state.worlds[number]
        start = self.now if valid_from is None else valid_from
        # An end that was set stays the lineage's end (law 8): a revision may come before it, not after it.
        limit = known.newest.end
        if limit != FOREVER and start > limit:
            refuse("closed")
        end = limit if valid_to is None else min(valid_to, limit)
        if end < start:
            raise Bad(InvalidInterval)
        self.tighten(number, start)
        version = Version(
            known.newest.type if type is None else type,
            known.newest.name if name is None else name,
            known.newest.content if content is None else content,
            start,
            end,
            self.seq,
            self.now,
            self.author,
            why,
            source or {},
        )
        known = self.state.worlds[number]
        self.state.worlds[number] = known._replace(versions=(*known.versions, version))
        self.changed = True
        return number

    def _retire(self, ref: Any, at: int | None = None, why: str = "") -> int:
        number = self.number(ref, "world", "edge")
        end = self.now if at is None else at
        if number in self.state.unlinked:
            refuse("already_unlinked")
        if number in self.state.edges:
            edge = self.state.edges[number]
            tightened = edge._replace(end=max(edge.start, min(edge.end, end)))
            self.changed |= tightened != edge
            self.state.edges[number] = tightened
            return number
        if number == ROOT:
            refuse("root_is_permanent")
        self.end_world(number, end)
        return number

    def _reassert(
        self,
        ref: Any,
        content: str | None = None,
        valid_from: int | None = None,
        valid_to: int | None = None,
        why: str = "",
    ) -> int:
        number = self.world(ref)
        known = self.state.worlds[number]
        if not known.ended:
            refuse("not_ended")
        if known.newest.erasure is not None:
            refuse("erased")
        home = Known(self.home(number))
        text = known.newest.content if content is None else content
        again = self._create(
            known.newest.type,
            known.newest.name,
            text,
            world=home,
            valid_from=valid_from,
            valid_to=valid_to,
            why=why,
            resolve=False,
        )
        self.write("derived_from", again, number)
        return again

    def _alias(self, ref: Any, aliases: tuple[str, ...], why: str = "") -> int:
        number = self.world(ref)
        known = self.state.worlds[number]
        if known.newest.erasure is not None:
            refuse("erased")
        if known.given + len(aliases) > MAX_ALIASES:
            refuse("too_many_aliases")
        self.state.worlds[number] = known._replace(aliases=(*known.aliases, *aliases), given=known.given + len(aliases))
        self.changed |= bool(aliases)
        return number

    def _unalias(self, ref: Any, aliases: tuple[str, ...], why: str = "") -> int:
        number = self.world(ref)
        for text in aliases:
            known = self.state.worlds[number]
            left = tuple(one for one in known.aliases if normal(one) != normal(text))
            if left == known.aliases:
                raise Bad(UnknownReference)
            self.state.worlds[number] = known._replace(aliases=left)
            self.changed = True
        return number

    def _erase(self, refs: Any, reason: str, everywhere: bool = False, derived: bool = True) -> int:
        number = self.world(refs)
        if number == ROOT:
            refuse("root_is_permanent")
        self.erased = reached(self.state, number, everywhere, derived)
        self.changed = True
        return number

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
        if key is not None:
            self.state.edge_keys[key] = made
        return made

    def _unlink(self, edge: Any, why: str = "") -> int:
        number = self.number(edge, "edge")
        if number in self.state.proposals:
            refuse("is_a_proposal")
        if number in self.state.unlinked:
            refuse("already_unlinked")
        self.take_away(number)
        return number

    def _move(self, refs: Any, to: Any, out_of: Any = None, valid_from: int | None = None, why: str = "") -> int:
        moved = [self.world(ref) for ref in (refs if isinstance(refs, list) else [refs])]
        goal = self.world(to)
        leaving = None if out_of is None else self.world(out_of)
        old: dict[int, int] = {}
        for number in moved:
            old[number] = self._membership(number, leaving)
        left = {self.state.edges[membership].source for membership in old.values()}
        for number, membership in old.items():
            self.write("contains", goal, number, start=valid_from, why=why)
            self.take_away(membership)
        self._carry(set(old), left, goal)
        return moved[0]

    def _membership(self, number: int, leaving: int | None) -> int:
        if number == ROOT:
            refuse("root_is_permanent")
        found = {edge.source: own for own, edge in self.state.edges_of("contains") if edge.target == number}
        if leaving is None:
            if len(found) != 1:
                raise Bad(AmbiguousReference)
            return next(iter(found.values()))
        if leaving not in found:
            refuse("not_a_member")
        return found[leaving]

    def _carry(self, moved: set[int], left: set[int], goal: int) -> None:
        """Interior edges of what was left go along if both their ends do; an accepted identity stays."""
        carried, behind = set(), set()
        for number, edge in list(self.state.edges.items()):
            ends = {edge.source, edge.target}
            if edge.type == "contains" or edge.home not in left or not ends & moved:
                continue
            if ends <= moved and number not in self.state.proposals:
                carried.add(number)
                self.state.unlinked[number] = self.state.edges.pop(number)
                made = self.new_number()
                self.state.edges[made] = edge._replace(home=goal, seq=self.seq, said=self.said(made))
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
        self.state.edges[number] = Edge("same_as", *ends, known.home, known.start, FOREVER, self.seq)
        return number

    def _reject(self, proposal: Any, why: str = "") -> int:
        number, known = self._settle(proposal, "pending", "rejected")
        if known.target in self.state.class_of(known.source):
            refuse("joined_by_others")
        return number

    def _undo(self, proposal: Any, why: str = "") -> int:
        number, _ = self._settle(proposal, "accepted", "undone")
        self.take_away(number)
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
    start, end = command.arguments.get("valid_from"), command.arguments.get("valid_to")
    if start is not None and end is not None and end < start:
        raise Bad(InvalidInterval)
