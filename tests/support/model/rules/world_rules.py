"""The model of commands on a world itself: it comes, takes versions and names, and ends."""

from __future__ import annotations

import unicodedata
from typing import Any, NamedTuple

from tests.support.model import erasing, lines
from tests.support.model.commands import Known
from tests.support.model.draft import Bad
from tests.support.model.lines import subtract
from tests.support.model.rules.edge_rules import refuse
from tests.support.model.rules.succession import (
    began_by,
    end_earlier_statements,
    end_replaced,
    note_derived,
    note_touched,
    reopened_ends,
)
from tests.support.model.rules.tuning import Tuning
from tests.support.model.state import ROOT, Restated, Version, World
from worlddb import InputError, InvalidInterval, MembersNotSaid, UnknownReference
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
        properties: dict[str, Any] | None = None,
        why: str = "",
        resolve: bool = True,
        revive: bool = False,
        anew: bool = False,
    ) -> int:
        inside = ROOT if world is None else self.world(world)
        twin = self._twin(type, name, aliases, inside) if resolve else None
        begun = self.state.keys.get(key or "", ())
        # The first that is not over, as one is that was resumed, or else the last.
        before = next((number for number in begun if not self._is_over(number)), begun[-1] if begun else None)
        handed_on = anew and before is not None and self._is_over(before) and (revive or not self._is_erased(before))
        if key is not None and before is not None and not handed_on:
            texts = Texts(type, name, content, aliases)
            return self._found_again(before, texts, valid_from, valid_to, source, properties, why, revive)
        start = self.now if valid_from is None else valid_from
        end = FOREVER if valid_to is None else valid_to
        if end < start:
            raise Bad(InvalidInterval)
        stated = valid_from is not None
        told = self.seq, self.now, self.author, why, source or {}
        version = Version(type, name, content, start, stated, *told, properties=properties or {}, ends=valid_to)
        made, aliases = self.new_number(), tuple(dict.fromkeys(aliases))
        line = lines.with_value(lines.UNSAID, start, end, 1)
        self.state.worlds[made] = World(self.now, (version,), line, tuple(aliases), len(aliases))
        if start == end:
            self.note("never_valid", made)
        if key is not None:
            self.state.keys[key] = (*begun, made)
        if handed_on and before is not None:
            self.note("begun_anew", made, before)
        self.write("contains", inside, made, start=start)
        if twin is not None:
            self.stage(made, twin[0], evidence={"tier": "exact", "name": twin[1], "score": 1.0})
        return made

    def _is_over(self, number: int) -> bool:
        known = self.state.worlds[number]
        return known.ended and all(span.end <= self.now for span in known.held)

    def _is_erased(self, number: int) -> bool:
        return self.state.worlds[number].newest.erasure is not None

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
        properties: dict[str, Any] | None,
        why: str,
        revive: bool,
    ) -> int:
        known = self.state.worlds[number]
        start = self.now if valid_from is None else valid_from
        told = self._told_at(number, start)
        if told is None and valid_from is None:
            told = known.newest
        is_erased = known.newest.erasure is not None
        if not is_erased and told is not None and told.erasure is None and told[:3] == texts[:3]:
            if lines.at(known.line, start) == lines.HOLE:
                self.note("not_revived", number)
            return number
        if lines.at(known.line, start) == lines.HOLE or (is_erased and known.ended):
            self.note("not_revived", number)
            return number
        if is_erased and not revive:
            self.note("not_restored", number)
            return number
        window = self._window(number, valid_from, valid_to)
        self._new_version(number, *texts[:3], window, valid_from is not None, source, properties, why, valid_to)
        if is_erased:
            self._alias(Known(number), texts.aliases)
        return number

    def _told_at(self, number: int, moment: int) -> Version | None:
        """The version that holds at a time, else the one that held last before."""
        known = self.state.worlds[number]
        begun = [span.what for span in known.held if span.start <= moment]
        return known.versions[begun[-1] - 1] if begun else None

    def _window(
        self, number: int, valid_from: int | None, valid_to: int | None, replace_later: bool = False
    ) -> tuple[int, int]:
        """What a statement takes: up to its end, else to the next stated start or hole."""
        known = self.state.worlds[number]
        start = self.now if valid_from is None else valid_from
        if valid_to is not None and valid_to < start:
            raise Bad(InvalidInterval)
        return lines.window(known.line, known.starts, start, valid_to, replace_later=replace_later)

    def _revise(
        self,
        ref: Any,
        type: str | None = None,
        name: str | None = None,
        content: str | None = None,
        valid_from: int | None = None,
        valid_to: int | None = None,
        replace_later: bool = False,
        source: dict[str, Any] | None = None,
        properties: dict[str, Any] | None = None,
        why: str = "",
    ) -> int:
        number = self.world(ref)
        known = self.state.worlds[number]
        if number == ROOT:
            refuse("root_is_permanent")
        if known.newest.erasure is not None:
            refuse("erased")
        window = self._window(number, valid_from, valid_to, replace_later)
        if known.ended and known.line[-1][0] <= window[0]:
            refuse("ended")
        stated = valid_from is not None
        at = lines.at(known.line, window[0])
        given = (type, name, content, valid_from, valid_to)
        is_empty = given == (None,) * 5 and not (replace_later or source or properties or why)
        is_whole = any(span.start <= window[0] and window[1] <= span.end for span in known.held)
        if is_empty and is_whole and known.versions[at - 1].erasure is None:
            return number
        if type is name is content is None and at > 0 and known.versions[at - 1].start == window[0]:
            # Other properties of the same: since when it holds is no more stated than it was.
            stated = stated and known.versions[at - 1].stated is not False
        return self._new_version(number, type, name, content, window, stated, source, properties, why, valid_to)

    def _new_version(
        self,
        number: int,
        type: str | None,
        name: str | None,
        content: str | None,
        window: tuple[int, int],
        stated: bool,
        source: dict[str, Any] | None,
        properties: dict[str, Any] | None,
        why: str,
        ends: int | None,
    ) -> int:
        known, (start, end) = self.state.worlds[number], window
        told = before = self._told_at(number, start) or known.newest
        if before.erasure is not None:
            before = known.newest
        if start == end:
            self.note("revision_never_valid", number)
        elif any(
            version.stated
            and version.start > start
            and known.times_of(at)
            and not subtract(known.times_of(at), *window)
            for at, version in enumerate(known.versions, 1)
        ):
            self.note("later_never_valid", number)
        placed: dict[int, int] = {}
        for _, edge in self.state.edges_of("contains"):
            if edge.target == number and edge.source != ROOT:
                placed[edge.source] = min(edge.start, placed.get(edge.source, edge.start))
        later = [source for source, since in placed.items() if since > start]
        if later and start < end and self._told_at(number, start) is None:
            self.note("outside_before", number, *later)
        began = began_by(self, number, start)
        self.lose(number, start, end)
        if not began and start < end:
            end_replaced(self, number, start, number)
        version = Version(
            before.type if type is None else type,
            before.name if name is None else name,
            before.content if content is None else content,
            start,
            stated,
            self.seq,
            self.now,
            self.author,
            why,
            source or {},
            properties=self._properties(properties, before.properties),
            ends=ends,
        )
        held = [known.versions[span.what - 1] for span in known.held if max(span.start, start) < min(span.end, end)]
        if start < end and any(each.erasure or each[:3] != version[:3] for each in held or [told]):
            note_derived(self, number)
        known = self.state.worlds[number]
        versions = (*known.versions, version)
        line = lines.with_value(known.line, start, end, len(versions))
        self.state.worlds[number] = known._replace(versions=versions, line=line)
        self.changed = True
        end_earlier_statements(self, number)
        return number

    @staticmethod
    def _properties(given: dict[str, Any] | None, before: dict[str, Any]) -> dict[str, Any]:
        """New properties in the place of those before, but for artifacts, which stay unless they are given too."""
        if not given:
            return before
        artifacts = before.get("artifacts", {}) if "artifacts" not in given else given["artifacts"]
        others = {name: value for name, value in given.items() if name != "artifacts"}
        return others | ({"artifacts": artifacts} if artifacts else {})

    def _retire(
        self,
        ref: Any,
        at: int | None = None,
        valid_from: int | None = None,
        valid_to: int | None = None,
        members: bool = False,
        why: str = "",
    ) -> int:
        start = next((each for each in (valid_from, at) if each is not None), self.now)
        end = FOREVER if valid_to is None else valid_to
        if end < start:
            raise Bad(InvalidInterval)
        number = self.number(ref, "world", "edge")
        if number not in self.state.worlds:
            if members:
                raise Bad(InputError)
            if start == end:
                refuse("empty_window")
            return self._retire_edge(number, start, end)
        if number == ROOT:
            refuse("root_is_permanent")
        if start == end:
            refuse("empty_window")
        ending = [number, *(self._members_alone(number) if members else ())]
        for each in ending:
            self._end_or_interrupt(each, start, end)
        note_touched(self, number, ((start, end),), ending)
        return number

    def _retire_edge(self, number: int, start: int, end: int) -> int:
        if number in self.state.unlinked:
            refuse("already_unlinked")
        edge = self.state.edges[number]
        left = edge._replace(pieces=subtract(edge.pieces, start, end))
        if left == edge:
            self.note("already_closed", number)
        self.changed |= left != edge
        self.state.edges[number] = left
        return number

    def _end_or_interrupt(self, number: int, start: int, end: int) -> None:
        if end == FOREVER:
            before, is_called_off = reopened_ends(self, number), self._took_place_of_text(number, start)
            self.end_world(number, start)
            if is_called_off:
                self.note("revision_called_off", number)
            if not self.state.worlds[number].held:
                for earlier in before:
                    self.note("ends_unreplaced", earlier, number)
            return
        self.add_world_hole(number, start, end)

    def _took_place_of_text(self, number: int, at: int) -> bool:
        """Whether a version began at a time, just where another text ended."""
        world = self.state.worlds[number]
        said = [world.versions[found - 1] for found in lines.versions_at(world.line, (at - 1, at)) if found]
        contents = {version.content for version in said if version.erasure is None}
        return len(contents) == 2

    def _members_alone(self, world: int) -> list[int]:
        """All that a world contains, at any depth, and nothing outside of it does."""
        inside = {world}
        for _ in self.state.worlds:
            inside |= {member for each in inside for member in self.state.members(each)}
        for _ in self.state.worlds:
            inside = {each for each in inside if each == world or inside.issuperset(self.state.containers(each))}
        return sorted(inside - {world})

    def _reassert(
        self,
        ref: Any,
        content: str | None = None,
        at: int | None = None,
        valid_from: int | None = None,
        valid_to: int | None = None,
        why: str = "",
    ) -> int:
        number = self.world(ref)
        if number == ROOT:
            refuse("root_is_permanent")
        begins = at if valid_from is None else valid_from
        window = self._window(number, begins, valid_to)
        if lines.at(self.state.worlds[number].line, window[0]) > 0:
            refuse("not_ended")
        if self.state.worlds[number].newest.erasure is not None:
            refuse("erased")
        self._new_version(number, None, None, content, window, begins is not None, None, None, why, None)
        ended = [member for member in self.state.members(number) if self.state.worlds[member].ended]
        if ended:
            self.note("members_ended", number, *ended)
        return number

    def _alias(self, ref: Any, aliases: tuple[str, ...], why: str = "") -> int:
        number = self.world(ref)
        known = self.state.worlds[number]
        if known.newest.erasure is not None:
            refuse("erased")
        aliases = tuple(text for text in dict.fromkeys(aliases) if text not in known.aliases)
        if known.given + len(aliases) > MAX_ALIASES:
            refuse("too_many_aliases")
        self.state.worlds[number] = known._replace(aliases=(*known.aliases, *aliases), given=known.given + len(aliases))
        self.changed |= bool(aliases)
        return number

    def _restate(self, ref: Any, source: dict[str, Any] | None = None, why: str = "") -> int:
        number = self.world(ref)
        if number == ROOT:
            refuse("root_is_permanent")
        known = self.state.worlds[number]
        if known.newest.erasure is not None:
            refuse("erased")
        at, newest = lines.at(known.line, self.now), len(known.versions)
        if at <= 0 and any(start > self.now and version == newest for start, version in known.line):
            at = newest  # Still to come.
        last = known.versions[-1]
        if at <= 0 and last.ends is not None and known.times_of(newest) == ((last.start, last.ends),):
            at = newest  # Over, as it was said to be, and nobody took anything of it.
        if at <= 0:
            refuse("holds_no_more")
        said = Restated(at, self.seq, self.now, self.author, source or {}, why, bool(source or why))
        # In one commit, what has neither source nor reason is said once.
        if source or why or said not in known.restated:
            self.state.worlds[number] = known._replace(restated=(*known.restated, said))
        self.changed = True
        return number

    def _marked(self, ref: Any, *, is_given: bool = False) -> tuple[int, World]:
        number = self.world(ref)
        if number == ROOT:
            refuse("root_is_permanent")
        if is_given and self.state.worlds[number].newest.erasure is not None:
            refuse("erased")
        return number, self.state.worlds[number]

    def _mark(self, number: int, **marks: Any) -> int:
        known = self.state.worlds[number]
        self.state.worlds[number] = known._replace(**marks)
        self.changed |= self.state.worlds[number] != known
        return number

    def _expire(self, ref: Any, expires_at: int | None = None, ttl: float | None = None, why: str = "") -> int:
        number, _ = self._marked(ref, is_given=True)
        lasts = 0 if ttl is None else round(ttl * 1_000_000)
        return self._mark(number, deadline=(self.now + lasts if expires_at is None else expires_at, lasts))

    def _unexpire(self, ref: Any, why: str = "") -> int:
        return self._mark(self._marked(ref)[0], deadline=None)

    def _refresh(self, refs: Any, at: int | None = None) -> int:
        number, known = self._marked(refs)
        used = self.now if at is None else min(at, self.now)
        if known.deadline is None or not known.deadline[1] or known.deadline[0] <= used:
            return number
        return self._mark(number, deadline=(max(used + known.deadline[1], known.deadline[0]), known.deadline[1]))

    def _sweep(self, refs: Any, why: str = "") -> int:
        number, known = self._marked(refs)
        return number if not known.hidden(self.now) or known.ended else self._retire(Known(number), why=why)

    def _pin(self, ref: Any, why: str = "") -> int:
        return self._mark(self._marked(ref, is_given=True)[0], pinned=True)

    def _unpin(self, ref: Any, why: str = "") -> int:
        return self._mark(self._marked(ref)[0], pinned=False)

    def _deprecate(self, ref: Any, why: str = "") -> int:
        return self._mark(self._marked(ref, is_given=True)[0], deprecated=True)

    def _undeprecate(self, ref: Any, why: str = "") -> int:
        return self._mark(self._marked(ref)[0], deprecated=False)

    def _accessed(self, ref: Any, at: int) -> int:
        number = self.world(ref)
        known = self.state.worlds[number]
        if number != ROOT and known.newest.erasure is None:
            self._mark(number, accesses=(*known.accesses, min(at, self.now)))
            self.changed = True
        return ROOT

    def _tag(self, ref: Any, tag: str, version: int | None = None, why: str = "") -> int:
        number, known = self._marked(ref, is_given=True)
        held = lines.at(known.line, self.now)
        if version is None and held <= 0:
            refuse("holds_no_more")
        if version is not None and version > len(known.versions):
            raise Bad(UnknownReference)
        return self._assign(number, tag, version or held)

    def _untag(self, ref: Any, tag: str, why: str = "") -> int:
        number, known = self._marked(ref)
        if not any(version for name, version in known.tags if normal(name) == normal(tag)):
            raise Bad(UnknownReference)
        return self._assign(number, tag, 0)

    def _assign(self, number: int, tag: str, version: int) -> int:
        tags = dict(self.state.worlds[number].tags)
        name = next((name for name in tags if normal(name) == normal(tag)), tag)
        return self._mark(number, tags=tuple((tags | {name: version}).items()))

    def _label(self, ref: Any, labels: tuple[str, ...], why: str = "") -> int:
        number, _ = self._marked(ref, is_given=True)
        for text in labels:
            held = self.state.worlds[number].labels
            if normal(text) not in map(normal, held):
                self._mark(number, labels=(*held, text))
        return number

    def _unlabel(self, ref: Any, labels: tuple[str, ...], why: str = "") -> int:
        number, _ = self._marked(ref)
        for text in labels:
            held = self.state.worlds[number].labels
            left = tuple(one for one in held if normal(one) != normal(text))
            if left == held:
                raise Bad(UnknownReference)
            self._mark(number, labels=left)
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

    def _erase(
        self, refs: Any, reason: str, everywhere: bool = False, derived: bool = True, members: bool | None = None
    ) -> int:
        number = self.world(refs)
        if number == ROOT:
            refuse("root_is_permanent")
        state = self.state
        if members is None and any(erasing.has_text(state, one) for one in erasing.alone_inside(state, number, False)):
            raise Bad(MembersNotSaid)
        along = erasing.alone_inside(state, number, derived) if members else None
        kept = erasing.shared_inside(state, number, along) if along is not None else {*state.members(number)}
        if kept := {one for one in kept if erasing.has_text(state, one)}:
            self.note("members_left" if along is None else "shared_kept", number, *kept)
        self.erased = sorted(erasing.erasure_reach(state, number, everywhere, derived, along))
        self.whole = set() if along is None else {number, *along}
        self.changed = True
        return number
