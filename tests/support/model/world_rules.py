"""The model of commands on a world itself: it comes, takes versions and names, and ends."""

from __future__ import annotations

import unicodedata
from typing import Any, NamedTuple

from tests.support.model.commands import Known
from tests.support.model.draft import Bad
from tests.support.model.edge_rules import refuse
from tests.support.model.erasing import reached
from tests.support.model.state import ROOT, Version, World
from tests.support.model.succession import began_by, end_replaced, holding, unreplaced
from tests.support.model.tuning import Tuning
from worlddb import InvalidInterval, UnknownReference
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


class OfWorlds(Tuning):
    """The commands about worlds, a method each: what it comes to, as a number."""

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
        anew: bool = False,
    ) -> int:
        inside = ROOT if world is None else self.world(world)
        twin = self._twin(type, name, aliases, inside) if resolve else None
        before = self.state.keys.get(key or "")
        handed_on = anew and before is not None and self._is_over(before, revive)
        if key is not None and before is not None and not handed_on:
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
        if handed_on and before is not None:
            self.note("begun_anew", made, before)
        self.write("contains", inside, made, start=start)
        if twin is not None:
            self.stage(made, twin[0], evidence={"tier": "exact", "name": twin[1], "score": 1.0})
        return made

    def _is_over(self, number: int, revive: bool) -> bool:
        known = self.state.worlds[number]
        return known.ended and known.newest.end <= self.now and (revive or known.newest.erasure is None)

    def _twin(self, type_name: str, name: str, aliases: tuple[str, ...], inside: int) -> tuple[int, str] | None:
        """The oldest open world in the scope of that type and name, or else of that alias."""
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
        began = began_by(self, number, start)
        if any(begins > start for begins, _ in holding(self, number)):
            self.note("later_never_valid", number)
        if start == end:
            self.note("revision_never_valid", number)
        self.tighten(number, start)
        if not began and start < end:
            end_replaced(self, number, start, number)
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
        before = unreplaced(self, number)
        self.end_world(number, end)
        if not holding(self, number):
            for earlier in before:
                self.note("ends_unreplaced", earlier, number)
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
