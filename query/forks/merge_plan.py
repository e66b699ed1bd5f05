"""Compare a fork with its origin three ways and plan a merge. Pure.

The base is the fork as of the last merge, or as of its creation; ``ours`` is the origin and ``theirs`` the fork, both
as they are now. What only the fork changed applies. What both sides changed differently is a conflict, a value that
somebody decides. Anything erased on either side is left out.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import msgspec

from worlddb.log.model import blobs, codec, hashing, times
from worlddb.log.model import bundle as fr
from worlddb.log.statements import bundled_statements
from worlddb.log.statements.bundled_statements import Texts, Windows
from worlddb.log.store.bundle_contents import BundledWorld, Contents
from worlddb.projections.tables.storage.schema import CONTAINS

Choice = Literal["ours", "theirs"]
CHOICES: Final[tuple[Choice, ...]] = ("ours", "theirs")
_SAME_AS: Final = "same_as"


class MergeConflict(msgspec.Struct, frozen=True, kw_only=True):
    """Something that both sides changed differently since the fork.

    ``id`` stands for it in ``decide``. ``world`` is the world on the side that is merged into, ``what`` is ``text``,
    ``deadline``, ``tag``, ``edge``, ``statement`` or ``removed``; ``where`` says which tag, edge or statement.
    ``base``, ``ours`` and ``theirs`` describe each side in words; of a text only the fields that differ.
    """

    id: str
    world: str
    what: str
    where: str
    base: str
    ours: str
    theirs: str
    choices: tuple[Choice, ...] = CHOICES


class MergeChange(msgspec.Struct, frozen=True, kw_only=True):
    """A change that a merge makes to ``world`` of the target; a new world has the fork's reference."""

    world: str
    what: str
    detail: str = ""


class SpanContent(NamedTuple):
    """The content of a world in a span of valid time."""

    type: str
    name: str
    content: str
    properties: dict[str, Any]
    source: dict[str, Any]
    number: int = 0
    """The number of its version, on its own side."""

    @property
    def compared(self) -> tuple[str, str, str, bytes]:
        """The fields that are compared: all but the source."""
        return self.type, self.name, self.content, _plain(self.properties)


class Step(NamedTuple):
    """One step of a merge: the operation, its world, and its values."""

    do: str
    world: bytes
    values: dict[str, Any]


class Plan(NamedTuple):
    """The plan of a merge. ``differs``: the fork has changed since its creation or its last merge."""

    steps: list[Step]
    changes: tuple[MergeChange, ...]
    conflicts: tuple[MergeConflict, ...]
    undecided: tuple[MergeConflict, ...]
    erased: tuple[str, ...]
    differs: bool


class _Edge(NamedTuple):
    edge: bytes
    frame: fr.EdgeFrame
    why: str
    properties: dict[str, Any]


_Sides: TypeAlias = "tuple[SpanContent | None, SpanContent | None, SpanContent | None]"


class _World(NamedTuple):
    """One world as a side has it."""

    group: BundledWorld
    text: list[tuple[times.Interval, SpanContent]]
    aliases: frozenset[str]
    labels: frozenset[str]
    tags: dict[str, SpanContent]
    deadline: tuple[int, int] | None
    is_pinned: bool
    is_deprecated: bool
    statements: dict[Texts, Windows]
    terms: dict[bytes, str | None]
    is_erased: bool

    def at(self, moment: int) -> SpanContent | None:
        """Its content at a valid time."""
        return next((said for span, said in self.text if span.start <= moment < span.end), None)

    @property
    def marks(self) -> tuple[Any, ...]:
        """Everything but the text, for detecting changes."""
        tags = tuple(sorted((name, said.compared) for name, said in self.tags.items()))
        return self.aliases, self.labels, tags, self.deadline, self.is_pinned, self.is_deprecated, self.statements

    def differs(self, other: "_World") -> bool:
        """Whether anything of the world itself differs."""
        mine, its = ([(span, said.compared) for span, said in each.text] for each in (self, other))
        return mine != its or self.marks != other.marks


class Side:
    """One of the three sides: worlds, memberships and edges, by the lineages of the target."""

    def __init__(self, contents: Contents, names: Mapping[bytes, bytes]) -> None:
        self.contents, self._names = contents, names
        self.top = self.of(contents.heading.world)
        self.worlds = {self.of(group.frame.lineage): self._world(group) for group in contents.worlds}
        self.members: dict[tuple[bytes, bytes], list[_Edge]] = {}
        self.edges: dict[tuple[Any, ...], _Edge] = {}
        met: Counter[tuple[Any, ...]] = Counter()
        for group in contents.worlds:
            home = self.of(group.frame.lineage)
            for frame in sorted(group.edges, key=lambda each: each.order):
                details = self._details(frame.details, frame.seq, group)
                edge = _Edge(frame.edge, frame, details.why, details.properties)
                source, target = self.of(frame.source), self.of(frame.target)
                if frame.type == CONTAINS:
                    self.members.setdefault((source, target), []).append(edge)
                elif frame.type != _SAME_AS:
                    key: tuple[Any, ...] = frame.type, source, target, home, frame.valid_from, details.why
                    key = *key, _plain(details.properties)
                    if source == target:
                        # Their numbers are others on another side; what they say is not.
                        ends = (self.version(source, each) for each in (frame.source_version, frame.target_version))
                        key = *key, *(None if said is None else said.compared for said in ends)
                    met[key] += 1
                    self.edges[*key, met[key]] = edge

    def of(self, lineage: bytes) -> bytes:
        """The lineage of a world in the target."""
        return self._names.get(lineage, lineage)

    def member_in(self, container: bytes, member: bytes) -> tuple[times.Interval, ...]:
        """The spans of a membership, by all of its edges; spans that touch are merged."""
        found: list[times.Interval] = []
        edges = self.members.get((container, member), [])
        for span in sorted(piece for edge in edges for piece in _edge_spans(edge).pieces):
            if found and found[-1].end == span.start:
                found[-1] = times.Interval(found[-1].start, span.end)
            else:
                found.append(span)
        return tuple(found)

    def version(self, world: bytes, number: int) -> SpanContent | None:
        """The content of a version of a world; ``None`` if there is none, or its text was erased."""
        known = self.worlds.get(world)
        if known is None or not 0 < number <= len(known.group.versions):
            return None
        return self._said(known.group, number)

    def numbered(self, world: bytes, said: SpanContent) -> int:
        """The number of the version with a content, preferably the same number; 0 if there is none."""
        known = self.worlds.get(world)
        found = [
            number
            for number in range(1, 1 if known is None else len(known.group.versions) + 1)
            if (each := self.version(world, number)) is not None and each.compared == said.compared
        ]
        return said.number if said.number in found else next(iter(found), 0)

    def below(self, world: bytes) -> set[bytes]:
        """A world and its interior."""
        found, pending = {world}, [world]
        while pending:
            here = pending.pop()
            fresh = [member for container, member in self.members if container == here and member not in found]
            found.update(fresh)
            pending += fresh
        return found

    def _details(self, blob: bytes, seq: int, group: BundledWorld) -> blobs.Details:
        stored = self.contents.blob(blob, group) if blob else None
        found = None if stored is None else codec.decode_blob(stored, seq)
        return found if isinstance(found, blobs.Details) else blobs.Details(b"", [], "", {}, {})

    def _world(self, group: BundledWorld) -> _World:
        said = [self._said(group, number) for number in range(1, len(group.versions) + 1)]
        pieces = [
            (piece, each)
            for version, each in zip(group.versions, said, strict=True)
            for piece in fr.validity_of(version.valid_from, version.valid_to, version.spans).pieces
            if each is not None and not piece.is_empty
        ]
        named = [(self._details(each.details, each.seq, group).aliases, each) for each in group.aliases]
        tags = {self._details(each.details, each.seq, group).aliases[0]: said[each.number - 1] for each in group.tags}
        deadline = group.deadlines[-1] if group.deadlines else None
        return _World(
            group,
            _merge_touching(sorted(pieces, key=lambda each: each[0].start)),
            frozenset(texts[each.position] for texts, each in named if not each.removed and texts),
            frozenset(self._details(each.details, each.seq, group).aliases[each.position] for each in group.labels),
            {name: each for name, each in tags.items() if each is not None},
            None if deadline is None else (deadline.at, deadline.lasts),
            bool(group.pins),
            bool(group.deprecated),
            bundled_statements.statement_windows(group, self.contents),
            dict(bundled_statements.bundled_terms(group, self.contents)),
            any(each is None for each in said),
        )

    def _said(self, group: BundledWorld, number: int) -> SpanContent | None:
        """The content of a version; ``None`` if it was erased."""
        version = group.versions[number - 1]
        stored = self.contents.blob(version.body, group)
        body = None if stored is None else codec.decode_blob(stored, version.seq)
        if not isinstance(body, blobs.Body):
            return None
        details = self._details(version.details, version.seq, group)
        properties, source = (
            {name: value for name, value in record.items() if name != blobs.IMPORTED}
            for record in (details.properties, details.source)
        )
        return SpanContent(body.type, body.name, body.content, properties, source, number)


def _merge_touching(pieces: list[tuple[times.Interval, SpanContent]]) -> list[tuple[times.Interval, SpanContent]]:
    """Merge spans that touch and have the same content."""
    found: list[tuple[times.Interval, SpanContent]] = []
    for span, said in pieces:
        if found and found[-1][0].end == span.start and found[-1][1].compared == said.compared:
            found[-1] = times.Interval(found[-1][0].start, span.end), found[-1][1]
        else:
            found.append((span, said))
    return found


def _plain(record: Mapping[str, Any]) -> bytes:
    return msgspec.json.encode(record, order="deterministic")


class Planner:
    """Plans a merge in one walk over the three sides."""

    def __init__(
        self,
        base: Side,
        ours: Side,
        theirs: Side,
        *,
        decide: Mapping[str, Choice],
        otherwise: Choice | None,
        is_forbidden: Callable[[str], bool],
        is_elsewhere: Callable[[bytes], bool],
    ) -> None:
        self._base, self._ours, self._theirs = base, ours, theirs
        self._decide, self._otherwise = decide, otherwise
        self._is_forbidden, self._is_elsewhere = is_forbidden, is_elsewhere
        self._steps: list[Step] = []
        self._changes: list[MergeChange] = []
        self._conflicts: list[MergeConflict] = []
        self._undecided: list[MergeConflict] = []
        self._between: dict[bytes, list[tuple[tuple[Any, ...], _Edge]]] = {}
        """New edges between two versions of a world; they come after the versions."""
        self._brought_back: set[bytes] = set()
        self._made: set[bytes] = set()
        self._gone = {each for side in (base, ours, theirs) for each, world in side.worlds.items() if world.is_erased}
        self._left = {each.hex() for each in self._gone}

    def plan(self) -> Plan:
        """Make the plan."""
        self._plan_removals()
        self._plan_new_worlds()
        self._plan_links()
        for world in sorted(self._theirs.worlds.keys() & self._base.worlds.keys()):
            if world not in self._gone and (world in self._ours.worlds or world in self._brought_back):
                self._plan_changes(world)
        for world, edges in self._between.items():
            self._join_versions(world, edges)
        self._plan_unlinks()
        differs = bool(self._steps or self._conflicts) or self._has_moved()
        return Plan(
            self._steps,
            tuple(self._changes),
            tuple(self._conflicts),
            tuple(self._undecided),
            tuple(sorted(self._left)),
            differs,
        )

    def _has_moved(self) -> bool:
        base, theirs = self._base, self._theirs
        if base.worlds.keys() != theirs.worlds.keys() or base.members.keys() != theirs.members.keys():
            return True
        if any(base.member_in(*pair) != theirs.member_in(*pair) for pair in base.members):
            return True
        if {key: _edge_spans(each) for key, each in base.edges.items()} != {
            key: _edge_spans(each) for key, each in theirs.edges.items()
        }:
            return True
        return any(base.worlds[each].differs(theirs.worlds[each]) for each in base.worlds if each not in self._gone)

    # -- what is decided

    def _conflict(self, world: bytes, what: str, where: str, base: str, ours: str, theirs: str) -> Choice | None:
        """Record a conflict, and return the decision on it, ``None`` if it is open."""
        name = hashing.keyed(bytes(32), b"merge conflict", world, what.encode(), where.encode()).hex()[:12]
        found = MergeConflict(id=name, world=world.hex(), what=what, where=where, base=base, ours=ours, theirs=theirs)
        self._conflicts.append(found)
        chosen = self._decide.get(name, self._otherwise)
        if chosen is None:
            self._undecided.append(found)
        return chosen

    def _add_step(self, do: str, world: bytes, detail: str = "", **values: Any) -> None:
        self._steps.append(Step(do, world, values))
        self._changes.append(MergeChange(world=world.hex(), what=do, detail=detail))

    # -- worlds that came and went

    def _plan_removals(self) -> None:
        """Plan worlds that one side removed and the other changed."""
        base, ours, theirs = self._base, self._ours, self._theirs
        for container, member in base.members:
            if member in self._gone or ((container, member) in theirs.members and (container, member) in ours.members):
                continue
            in_ours, in_theirs = member in ours.worlds, member in theirs.worlds
            if in_ours and not in_theirs and container in theirs.worlds and (container, member) in ours.members:
                sides = "inside", "inside, and changed", "taken out"
                if (
                    not self._has_changed_inside(ours, member)
                    or self._conflict(member, "removed", "", *sides) == "theirs"
                ):
                    self._remove_member(container, member)
            elif in_theirs and not in_ours and container in ours.worlds and (container, member) in theirs.members:
                changed = self._has_changed_inside(theirs, member)
                if changed and (
                    self._conflict(member, "removed", "", "inside", "taken out", "inside, and changed") == "theirs"
                ):
                    self._brought_back |= theirs.below(member) & base.worlds.keys()
                    self._add_member(container, member, base.member_in(container, member))

    def _has_changed_inside(self, side: Side, world: bytes) -> bool:
        """Whether a side changed anything inside a world since the base."""
        inside = side.below(world)
        return any(
            each not in self._base.worlds or side.worlds[each].differs(self._base.worlds[each])
            for each in inside
            if each not in self._gone
        )

    def _is_there(self, world: bytes) -> bool:
        return world in self._ours.worlds or world in self._made or world in self._brought_back

    def _plan_new_worlds(self) -> None:
        """Plan the worlds that only the fork has, containers first."""
        for group in reversed(self._theirs.contents.worlds):
            world = self._theirs.of(group.frame.lineage)
            if world in self._base.worlds or world in self._ours.worlds or world in self._gone:
                continue
            containers = [container for container, member in self._theirs.members if member == world]
            containers = [each for each in containers if self._is_there(each)]
            if not containers:
                continue
            if self._is_elsewhere(world):
                for container in containers:
                    self._add_member(container, world, self._theirs.member_in(container, world))
                continue
            text = self._theirs.worlds[world].text
            if not text or any(self._is_forbidden_content(said) for _, said in text):
                self._left.add(world.hex())
                continue
            self._made.add(world)
            self._create(world, containers)

    def _create(self, world: bytes, containers: list[bytes]) -> None:
        its = self._theirs.worlds[world]
        (span, said), *later = its.text
        values = {"said": said, "span": span, "container": containers[0], "aliases": tuple(sorted(its.aliases))}
        self._add_step("create", world, said.name, **values)
        # Most are members of the first from their beginning on: what begins otherwise is put there anew.
        whole = times.Interval(span.start, times.FOREVER)
        anew = self._theirs.member_in(containers[0], world) != (whole,)
        if anew:
            self._steps.append(Step("lift", world, {}))
        for container in containers if anew else containers[1:]:
            self._add_member(
                container, world, self._theirs.member_in(container, world) or (whole._replace(end=whole.start),)
            )
        if anew:
            self._steps.append(Step("set_down", world, {}))
        for after, each in later:
            self._add_step("say", world, each.name, said=each, span=after, is_empty=False)
        nothing = frozenset[str]()
        self._plan_marks(world, its._replace(labels=nothing, is_pinned=False, is_deprecated=False, deadline=None), its)
        for tag in its.tags:
            self._add_step("tag", world, tag, tag=tag, said=its.tags[tag], now=its.text[-1][1])
        self._plan_statements(world, {}, {}, its.statements)

    def _is_forbidden_content(self, said: SpanContent) -> bool:
        return any(self._is_forbidden(each) for each in (said.type, said.name, said.content) if each)

    # -- what worlds say

    def _plan_changes(self, world: bytes) -> None:
        base, theirs = self._base.worlds[world], self._theirs.worlds[world]
        ours = self._ours.worlds.get(world, base)
        self._plan_text(world, base, ours, theirs)
        for do, undo, kind in (("alias", "unalias", "aliases"), ("label", "unlabel", "labels")):
            was, now, here = (getattr(each, kind) for each in (base, theirs, ours))
            for name in sorted((now - was) - here):
                if not self._is_forbidden(name):
                    self._add_step(do, world, name, name=name)
            for name in sorted((was - now) & here):
                self._add_step(undo, world, name, name=name)
        merged = ours
        for flag in ("is_pinned", "is_deprecated"):
            if getattr(theirs, flag) != getattr(base, flag):
                merged = merged._replace(**{flag: getattr(theirs, flag)})
        if theirs.deadline != base.deadline != ours.deadline != theirs.deadline:
            told = (_deadline(each.deadline) for each in (base, ours, theirs))
            if self._conflict(world, "deadline", "", *told) == "theirs":
                merged = merged._replace(deadline=theirs.deadline)
        elif theirs.deadline != base.deadline:
            merged = merged._replace(deadline=theirs.deadline)
        self._plan_marks(world, ours, merged._replace(labels=ours.labels))
        self._plan_tags(world, base, ours, theirs)
        was, here, now = (_without_erased(each, (base, ours, theirs)) for each in (base, ours, theirs))
        self._plan_statements(world, was, here, now)

    def _plan_statements(
        self,
        world: bytes,
        base: Mapping[Texts, Windows],
        ours: Mapping[Texts, Windows],
        theirs: Mapping[Texts, Windows],
    ) -> None:
        """Merge statements one by one: the windows in which each holds."""
        for texts in sorted(base.keys() | theirs.keys()):
            was, here, now = (each.get(texts, ()) for each in (base, ours, theirs))
            if now in (was, here) or any(map(self._is_forbidden, texts)):
                continue
            line = bundled_statements.statement_line(texts)
            sides = map(bundled_statements.windows_in_words, (was, here, now))
            if here == was or self._conflict(world, "statement", line, *sides) == "theirs":
                self._add_step("state" if now else "unstate", world, line, texts=texts, windows=now, here=here)

    def _plan_text(self, world: bytes, base: _World, ours: _World, theirs: _World) -> None:
        bounds = sorted({bound for each in (base, ours, theirs) for span, _ in each.text for bound in span})
        changed: list[tuple[times.Interval, SpanContent | None, SpanContent | None]] = []
        apart: list[tuple[times.Interval, _Sides]] = []
        for span in map(times.Interval, bounds, bounds[1:]):
            was, here, now = (each.at(span.start) for each in (base, ours, theirs))
            one, mine, its = (None if each is None else each.compared for each in (was, here, now))
            if its not in (one, mine):
                changed.append((span, now, here))
                if mine != one:
                    apart.append((span, (was, here, now)))
        if not changed:
            return
        if apart and self._conflict(world, "text", "", *_describe_sides(apart)) != "theirs":
            return
        for span, now, is_empty in _merge_equal_spans(changed):
            if now is None:
                self._add_step("end", world, times.format_time(span.start), span=span)
            elif self._is_forbidden_content(now):
                self._left.add(world.hex())
            else:
                self._add_step("say", world, now.name, said=now, span=span, is_empty=is_empty)

    def _plan_marks(self, world: bytes, here: _World, wanted: _World) -> None:
        for label in sorted(wanted.labels - here.labels):
            self._add_step("label", world, label, name=label)
        if wanted.is_pinned != here.is_pinned:
            self._add_step("pin", world, is_set=wanted.is_pinned)
        if wanted.is_deprecated != here.is_deprecated:
            self._add_step("deprecate", world, is_set=wanted.is_deprecated)
        if wanted.deadline != here.deadline:
            self._add_step("expire", world, at=None if wanted.deadline is None else wanted.deadline[0])

    def _plan_tags(self, world: bytes, base: _World, ours: _World, theirs: _World) -> None:
        for tag in sorted(base.tags.keys() | ours.tags.keys() | theirs.tags.keys()):
            was, here, now = (
                None if tag not in each.tags else each.tags[tag].compared for each in (base, ours, theirs)
            )
            if now in (was, here):
                continue
            if here != was and self._conflict(world, "tag", tag, *map(_tag_text, (was, here, now))) != "theirs":
                continue
            if now is None:
                self._add_step("untag", world, tag, tag=tag)
            else:
                newest = theirs.text[-1][1] if theirs.text else None
                self._add_step("tag", world, tag, tag=tag, said=theirs.tags[tag], now=newest)

    # -- edges

    def _plan_links(self) -> None:
        """Plan the memberships and edges that the fork created or closed."""
        base, ours, theirs = self._base, self._ours, self._theirs
        for container, member in theirs.members:
            known = [(container, member) in side.members for side in (base, ours)]
            fresh = member in base.worlds and member not in self._gone and container not in self._gone
            if fresh and not any(known) and self._is_there(container) and self._is_there(member):
                self._add_member(container, member, theirs.member_in(container, member))
            elif fresh and all(known):
                self._has_new_spans(container, member)
        for key, edge in theirs.edges.items():
            kind, source, target, home, *_ = key
            if {source, target, home} & self._gone or not self._is_there(home):
                continue
            if not all(self._is_there(end) or end not in theirs.worlds for end in (source, target)):
                continue
            if key not in base.edges:
                if key not in ours.edges:
                    if any(map(self._is_forbidden, _texts_of(edge))):
                        continue
                    if source == target:
                        self._between.setdefault(source, []).append((key, edge))
                        continue
                    self._add_step("link", source, kind, edge=edge, source=source, target=target, home=home, type=kind)
            elif key in ours.edges and _edge_spans(edge) != _edge_spans(base.edges[key]):
                was, here, now = (_edge_spans(side.edges[key]) for side in (base, ours, theirs))
                if here == now:
                    continue
                where = f"{kind} {ours.edges[key].edge.hex()[:12]}"
                if (
                    here != was
                    and self._conflict(source, "edge", where, *map(times.span_in_words, (was, here, now))) != "theirs"
                ):
                    continue
                for span in _without(here.pieces, now.pieces):
                    self._add_step("close", source, kind, edge=ours.edges[key].edge, span=span)

    def _join_versions(self, world: bytes, edges: list[tuple[tuple[Any, ...], _Edge]]) -> None:
        """Plan edges between two versions of a world, by the numbers that these get in the target.

        A version that holds no more is written before the one that took its place. An edge of which an end is not
        here, since what the fork says was not taken, is left there.
        """
        named = sorted({each for _, edge in edges for each in (edge.frame.source_version, edge.frame.target_version)})
        said = (self._theirs.version(world, number) for number in named)
        self._order_versions(
            world,
            [
                each
                for each in said
                if each and not self._ours.numbered(world, each) and not self._is_forbidden_content(each)
            ],
        )
        written = self._numbers_of(world)
        for key, edge in edges:
            kind, _, _, home, *_ = key
            numbers = edge.frame.source_version, edge.frame.target_version
            here = [written.get(number) or self._number_here(world, number) for number in numbers]
            if here[0] > here[1] > 0:
                ends = {"source": world, "target": world, "versions": tuple(here)}
                self._add_step("link", world, kind, edge=edge, home=home, type=kind, **ends)
            else:
                told = f"{kind} of version {numbers[0]} to version {numbers[1]}"
                self._changes.append(MergeChange(world=world.hex(), what="left", detail=told))

    def _number_here(self, world: bytes, number: int) -> int:
        said = self._theirs.version(world, number)
        return 0 if said is None else self._ours.numbered(world, said)

    def _write_steps(self, world: bytes) -> list[int]:
        """The planned steps that write versions of a world."""
        return [at for at, step in enumerate(self._steps) if step.world == world and step.do in ("create", "say")]

    def _order_versions(self, world: bytes, missing: list[SpanContent]) -> None:
        """Order the versions of a world as in the fork, superseded ones before those that took their times."""
        step_indexes = self._write_steps(world)
        steps = sorted((self._steps[each].values for each in step_indexes), key=lambda values: values["said"].number)
        for said in missing:
            if all(values["said"].number != said.number for values in steps):
                later = (index for index, values in enumerate(steps) if values["said"].number > said.number)
                place = next(later, None)
                if place is not None:
                    steps[place : place + 1] = [{**steps[place], "said": said}, {**steps[place], "is_empty": False}]
                    self._changes.append(MergeChange(world=world.hex(), what="say", detail=said.name))
        creations = [self._steps[each].values for each in step_indexes if self._steps[each].do == "create"]
        for each in reversed(step_indexes):
            del self._steps[each]
        # Whatever is written first begins the world.
        first = [
            Step("create", world, {**each, "said": steps[0]["said"], "span": steps[0]["span"]}) for each in creations
        ]
        rest = [
            Step("say", world, {"said": each["said"], "span": each["span"], "is_empty": each.get("is_empty", False)})
            for each in steps[len(creations) :]
        ]
        lifted = any(step.world == world and step.do == "lift" for step in self._steps)
        for values in creations:
            if values["span"].start != steps[0]["span"].start and not lifted:
                # It was to be a member from the beginning of what is said later now.
                placed = {"member": world, "span": times.Interval(values["span"].start, times.FOREVER)}
                first += (
                    Step("lift", world, {}),
                    Step("member", values["container"], placed),
                    Step("set_down", world, {}),
                )
        if step_indexes:
            self._steps[step_indexes[0] : step_indexes[0]] = [*first, *rest]

    def _numbers_of(self, world: bytes) -> dict[int, int]:
        """Map the numbers of a world's versions in the fork to those in the target."""
        known = self._ours.worlds.get(world)
        number = 0 if known is None else len(known.group.versions)
        found: dict[int, int] = {}
        for at in self._write_steps(world):
            values = self._steps[at].values
            number += 2 if values.get("is_empty") else 1
            found[values["said"].number] = number
        return found

    def _plan_unlinks(self) -> None:
        """Plan the edges and memberships that the fork retracted."""
        base, ours, theirs = self._base, self._ours, self._theirs
        for key, edge in base.edges.items():
            kind, source, target, home, *_ = key
            if key in theirs.edges or key not in ours.edges or {source, target, home} & self._gone:
                continue
            if home in theirs.worlds:
                here = ours.edges[key]
                was, now = _edge_spans(edge), _edge_spans(here)
                where = f"{kind} {here.edge.hex()[:12]}"
                if was == now or (
                    self._conflict(
                        source, "edge", where, times.span_in_words(was), times.span_in_words(now), "unlinked"
                    )
                    == "theirs"
                ):
                    self._add_step("unlink", source, kind, edge=here.edge)
        for container, member in base.members:
            both = (container, member) in ours.members and (container, member) not in theirs.members
            if both and member in theirs.worlds and container in theirs.worlds and member not in self._gone:
                self._remove_member(container, member)

    # -- memberships

    def _remove_member(self, container: bytes, member: bytes) -> None:
        for edge in self._ours.members[container, member]:
            self._add_step("leave", container, member.hex(), edge=edge.edge)

    def _add_member(self, container: bytes, member: bytes, spans: Iterable[times.Interval]) -> None:
        for span in spans:
            self._add_step("member", container, member.hex(), member=member, span=span)

    def _has_new_spans(self, container: bytes, member: bytes) -> None:
        """Whether a membership has other times in the fork."""
        was, here, now = (side.member_in(container, member) for side in (self._base, self._ours, self._theirs))
        if now in (was, here):
            return
        told = (", ".join(map(times.span_in_words, spans)) or "at no time" for spans in (was, here, now))
        if here != was and self._conflict(member, "edge", f"contains {container.hex()[:12]}", *told) != "theirs":
            return
        for edge in self._ours.members[container, member]:
            for span in _without(_edge_spans(edge).pieces, now):
                self._add_step("close", container, member.hex(), edge=edge.edge, span=span)
        self._add_member(container, member, _without(now, here))


def _without(spans: Iterable[times.Interval], others: Iterable[times.Interval]) -> list[times.Interval]:
    """Some spans without others."""
    left = list(spans)
    for other in others:
        left = [piece for span in left for piece in span.without(other).pieces]
    return left


def _merge_equal_spans(
    changed: list[tuple[times.Interval, SpanContent | None, SpanContent | None]],
) -> Iterator[tuple[times.Interval, SpanContent | None, bool]]:
    """Merge spans that touch and have the same result; each with whether nothing holds there yet."""
    run: tuple[times.Interval, SpanContent | None, bool] | None = None
    for span, now, here in changed:
        is_same = run is not None and run[0].end == span.start and run[2] == (here is None)
        if run is not None and is_same and _comparable(run[1]) == _comparable(now):
            run = times.Interval(run[0].start, span.end), now, run[2]
            continue
        if run is not None:
            yield run
        run = span, now, here is None
    if run is not None:
        yield run


def _comparable(said: SpanContent | None) -> Any:
    return None if said is None else said.compared


def _without_erased(of: _World, sides: tuple[_World, ...]) -> dict[Texts, Windows]:
    """The statements of a side, without those with a text erased on any side: an erasure is no retraction."""
    known = ((identity, text) for side in sides for identity, text in side.terms.items() if text is not None)
    gone = {text for identity, text in known if any(side.terms.get(identity, text) is None for side in sides)}
    return (
        {texts: windows for texts, windows in of.statements.items() if gone.isdisjoint(texts)}
        if gone
        else of.statements
    )


def _edge_spans(edge: _Edge) -> times.Validity:
    return fr.validity_of(edge.frame.valid_from, edge.frame.valid_to, edge.frame.spans)


def _texts_of(edge: _Edge) -> Iterator[str]:
    yield edge.why
    yield from (value for value in edge.properties.values() if isinstance(value, str))


def _fields(said: SpanContent | None) -> dict[str, str]:
    """The content field by field, the text last."""
    if said is None:
        return {}
    found = {"type": said.type, "name": said.name}
    for name, value in said.properties.items():
        shown = value if isinstance(value, str) else msgspec.json.encode(value).decode()
        found[f"property {name}" if name in ("type", "name", "content") else name] = shown
    return {**found, "content": said.content}


def _describe_sides(apart: list[tuple[times.Interval, _Sides]]) -> tuple[str, str, str]:
    """Describe the three sides in some spans, in the fields in which they differ."""
    spans = [(span, tuple(map(_fields, sides))) for span, sides in apart]
    found = dict.fromkeys(name for _, sides in spans for fields in sides for name in fields)
    names = sorted(found, key=lambda name: name == "content")
    differing = [name for name in names if any(len({fields.get(name) for fields in sides}) > 1 for _, sides in spans)]

    def side(number: int) -> str:
        runs: list[tuple[times.Interval, str]] = []
        for span, sides in spans:
            told = ", ".join(f"{name}: {sides[number].get(name, 'none')}" for name in differing)
            told = told if sides[number] else "nothing"
            is_same = bool(runs) and runs[-1][0].end == span.start and runs[-1][1] == told
            begun = runs.pop()[0].start if is_same else span.start
            runs.append((times.Interval(begun, span.end), told))
        return "; ".join(f"{told} ({times.span_in_words(span)})" for span, told in runs)

    return side(0), side(1), side(2)


def _deadline(deadline: tuple[int, int] | None) -> str:
    return "none" if deadline is None else "none" if deadline[0] == times.FOREVER else times.format_time(deadline[0])


def _tag_text(said: tuple[str, str, str, bytes] | None) -> str:
    return "" if said is None else f"{said[0]} {said[1]}: {said[2]}"
