"""Plan a withdrawal: what a source said, what rests on it, and which answers would change. Nothing is written.

A source is an author, fields of a source, a world with its interior (a document, a session), an artifact, a span of
ingest time, or a combination of these. The plan withdraws the *versions* that the source said, except those that
somebody else said again. Worlds that were made of these versions or depend on them, at any distance, rest on them.

To compare answers, questions are asked again in the same view, with the withdrawn worlds filtered out of every lane.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, Literal, NamedTuple

import msgspec

from worlddb.log.beliefs import recall_receipt
from worlddb.log.beliefs.artifact import MAX_LOCATION_BYTES, artifacts_in
from worlddb.log.model import errors, limits, times
from worlddb.projections.tables.apply import settings
from worlddb.projections.tables.names.canonical import name_digest
from worlddb.projections.tables.reads import asof
from worlddb.projections.tables.storage import schema
from worlddb.query.beliefs import receipted_recall
from worlddb.query.reads import build, world_lookup
from worlddb.query.reads.window import Window
from worlddb.query.records import records
from worlddb.query.snapshot import provenance, visible

RESTING: Final = ("derived_from", "depends_on", "created_from")
"""The types of edges from what rests on something to what it rests on."""
WITHDRAWN: Final = "withdrawn"
"""The tag that a flagged version is given."""
MAX_PATHS: Final = 16
"""How many ways to one world are listed, the shortest first; of more it is said that there are more."""
MAX_EXPANDED_PATHS: Final = 4_096
"""How many beginnings of ways are looked at for one world."""
MAX_DEPTH: Final = 20
_DEPENDS_ON: Final = "depends_on"

How = Literal["contract", "deprecate", "flag"]
HOW: Final[tuple[How, ...]] = ("contract", "deprecate", "flag")
Ask = Callable[[Window, str, Mapping[str, Any]], records.Recall]


class Withdrawn(msgspec.Struct, frozen=True, kw_only=True):
    """A version that the source said, and the spans of valid time in which it holds: none if others replaced it.

    ``said_again_by`` are authors who said the same again; such a version is not taken back.
    """

    ref: str
    version: str
    number: int
    type: str
    name: str
    author: str
    seq: int
    spans: tuple[records.Valid, ...]
    said_again_by: tuple[str, ...] = ()


class RestingPath(msgspec.Struct, frozen=True, kw_only=True):
    """A way from a withdrawn world to one that rests on it, and the least trust in anything along it.

    ``trust`` is ``None`` if nothing is said of any of them. A step without an edge, as from what a summary contains to
    the summary, is empty in ``edges``.
    """

    worlds: tuple[str, ...]
    edges: tuple[str, ...]
    trust: str | None


class Resting(msgspec.Struct, frozen=True, kw_only=True):
    """A world that depends on a withdrawn version, ``depth`` steps away by the shortest of its ``paths``.

    ``more_paths``: there are more than are listed. ``trust`` is the lowest of the world and all that it depends on.
    """

    ref: str
    version: str
    type: str
    name: str
    depth: int
    paths: tuple[RestingPath, ...]
    more_paths: bool
    trust: str | None


class PlannedEnd(msgspec.Struct, frozen=True, kw_only=True):
    """The change of one world: its version by number, and the spans that a contraction removes from its versions."""

    ref: str
    number: int
    spans: tuple[records.Valid, ...]


class AnswerWithout(msgspec.Struct, frozen=True, kw_only=True):
    """The hits of a question now, and without what would be withdrawn."""

    question: str
    before: tuple[str, ...]
    after: tuple[str, ...]

    @property
    def changes(self) -> bool:
        """True if the answer would change."""
        return self.before != self.after


class Withdrawal(msgspec.Struct, frozen=True, kw_only=True):
    """The plan of a withdrawal: what would be withdrawn as of a commit and a valid time, and what rests on it.

    ``changes`` is what :meth:`worlddb.Database.withdraw` would change, world by world in log order: what the source
    spoke of, with ``dependents`` also what rests on it. ``kept`` was said again by others. ``cut_off`` are the worlds
    behind which more rests. ``inside`` is the world that the view is confined to, if it is, and ``users`` are those for
    whom alone it is, if it is for some. ``receipts`` are the hashes of receipts that name any of them, of those that
    were given and of those that the log keeps.
    """

    source: dict[str, Any]
    how: How
    dependents: bool
    seq: int
    valid: int
    withdrawn: tuple[Withdrawn, ...]
    kept: tuple[Withdrawn, ...]
    rests_on_it: tuple[Resting, ...]
    cut_off: tuple[str, ...]
    changes: tuple[PlannedEnd, ...]
    answers: tuple[AnswerWithout, ...]
    receipts: tuple[str, ...]
    types: tuple[str, ...]
    depth: int
    inside: str
    users: tuple[str, ...] | None = None

    def __str__(self) -> str:
        more = ", and more below the depth limit" if self.cut_off else ""
        changed = sum(answer.changes for answer in self.answers)
        asked = f"; {changed} of {len(self.answers)} answers change" if self.answers else ""
        named = f"; {len(self.receipts)} receipts name them" if self.receipts else ""
        said = f"{len(self.withdrawn)} versions come from it, {len(self.rests_on_it)} worlds depend on them{more}"
        return f"{said}; {self.how} changes {len(self.changes)}{asked}{named}"


class Source(NamedTuple):
    """The source to withdraw; a version must match everything that is given."""

    world: str = ""
    authors: tuple[str, ...] = ()
    fields: Mapping[str, Any] = {}
    since: int | None = None
    until: int | None = None
    artifact: str = ""
    """The name, the location or the hash of something that versions have attached."""

    @classmethod
    def of(cls, world: str, author: Any, source: Any, since: Any, until: Any, artifact: Any = None) -> Source:
        """Make a source from a caller's arguments.

        Raises:
            InputError: nothing was given, or an argument is invalid.
        """
        several = author if isinstance(author, list | tuple) else () if author is None else (author,)
        if source is not None and not (isinstance(source, Mapping) and all(isinstance(name, str) for name in source)):
            raise errors.InputError(
                f"source is {errors.shown(source)}, not a mapping", 'Give fields, such as {"session": "24"}'
            )
        given = cls(
            world,
            tuple(limits.checked_text(each, "author", limits.MAX_AUTHOR_BYTES, empty=False) for each in several),
            dict(source or {}),
            None if since is None else times.parse_time(since, "since"),
            None if until is None else times.parse_time(until, "until"),
            "" if artifact is None else limits.checked_text(artifact, "artifact", MAX_LOCATION_BYTES, empty=False),
        )
        if given.since is not None and given.until is not None and given.until < given.since:
            raise errors.InvalidInterval(
                f"until {times.format_time(given.until)} lies before since {times.format_time(given.since)}",
                "Swap the two, or leave one out",
            )
        if given == cls():
            raise errors.InputError(
                "No source was named", "Give a world, author=, source=, since=, until= or artifact="
            )
        return given

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments that make this source."""
        named: dict[str, Any] = {"world": self.world or None, "author": list(self.authors) or None}
        named |= {"source": dict(self.fields) or None, "since": self.since, "until": self.until}
        named["artifact"] = self.artifact or None
        return {name: value for name, value in named.items() if value is not None}


class WithdrawalOptions(NamedTuple):
    """How to withdraw, whether dependents too, and by which edge types and how far they are found."""

    how: How = "contract"
    dependents: bool = False
    types: tuple[str, ...] = RESTING
    depth: int = 10

    def check(self) -> None:
        """Check the options.

        Raises:
            InputError: ``how`` is unknown, or the depth is out of bounds.
        """
        if self.how not in HOW:
            raise errors.InputError(f"how is {errors.shown(self.how)}", f"Give one of: {', '.join(HOW)}")
        limits.checked_flag(self.dependents, "dependents")
        for each in self.types:
            limits.checked_text(each, "a type", limits.MAX_TYPE_BYTES, empty=False)
        limits.checked_number(self.depth, "depth", 1, MAX_DEPTH)


def plan(
    window: Window,
    source: Source,
    options: WithdrawalOptions,
    questions: Sequence[Any],
    receipts: Sequence[Any],
    ask: Ask,
) -> Withdrawal:
    """Plan the withdrawal of a source, and find what rests on it."""
    options.check()
    if not isinstance(receipts, Iterable):
        raise errors.InputError(f"receipts is {errors.shown(receipts)}, not a list", "Give a list of receipts")
    kept_receipts = [recall_receipt.read_recall_receipt(each) for each in receipts]
    with window.snapshot() as snapshot:
        search = _WithdrawalSearch(window, snapshot, source, options)
        withdrawn, kept = search.find_withdrawn()
        resting, cut_off = search.find_dependents()
        changed = search.plan_changes()
        named = {*(each.ref for each in withdrawn), *(each.ref for each in resting)}
        hidden = search.hidden_worlds(changed)
        top = window.place.top
        inside = snapshot.ref(top) if window.place.is_confined else ""
        logged = [each for ref in sorted(named) for each in receipted_recall.kept_hashes(snapshot, ref)]
        given_hashes = [each.hash for each in kept_receipts if not named.isdisjoint(each.refs)]
    return Withdrawal(
        source=source.arguments,
        how=options.how,
        dependents=options.dependents,
        seq=window.place.moment.seq,
        valid=window.place.moment.valid,
        withdrawn=withdrawn,
        kept=kept,
        rests_on_it=resting,
        cut_off=cut_off,
        changes=tuple(changed.values()),
        answers=tuple(_answers(window, hidden, options.how, questions, ask)),
        receipts=tuple(dict.fromkeys((*given_hashes, *logged))),
        types=options.types,
        depth=options.depth,
        inside=inside,
        users=None if window.place.users is None else tuple(sorted(window.place.users)),
    )


def _answers(
    window: Window, left: frozenset[int], how: How, questions: Sequence[Any], ask: Ask
) -> Iterator[AnswerWithout]:
    without = window.excluding(left, unindexed=how == "contract")
    for each in limits.checked_list(questions, "questions"):
        given = {"text": each} if isinstance(each, str) else each
        if not isinstance(given, Mapping) or not isinstance(given.get("text"), str):
            raise errors.InputError(
                f"A question is {errors.shown(each)}", 'Give texts, or {"text": ..., "k": ...} as recall takes them'
            )
        arguments = {name: value for name, value in given.items() if name != "text"}
        before, after = (ask(one, given["text"], arguments) for one in (window, without))
        yield AnswerWithout(
            question=given["text"],
            before=tuple(hit.ref for hit in before.hits),
            after=tuple(hit.ref for hit in after.hits),
        )


class _Support(NamedTuple):
    """A world that another one rests on, and the edge that says so; empty if a summary contains it."""

    node: int
    edge: str


class _WithdrawalSearch:
    """Finds in one snapshot what a source said, and what rests on that."""

    def __init__(
        self, window: Window, snapshot: visible.VisibleSnapshot, source: Source, options: WithdrawalOptions
    ) -> None:
        self._snapshot, self._source, self._options = snapshot, source, options
        self._tables, self._moment, self._spec = snapshot.tables, snapshot.place.moment, window.spec
        self._trust = provenance.trust_in(snapshot)
        self._authors: dict[int, bool] = {}
        self._withdrawn: dict[int, list[asof.SeenVersion]] = {}
        """The versions that the source said, by world."""
        self._depths: dict[int, int] = {}
        """The distance of each dependent world from what the source said."""
        self._bases: dict[int, list[_Support]] = {}
        self._standing: dict[int, asof.SeenVersion | None] = {}
        self._codes = [code for name in options.types if (code := self._tables.type_code(name)) is not None]
        self._depending = self._tables.type_code(_DEPENDS_ON)

    # -- what the source said

    def find_withdrawn(self) -> tuple[tuple[Withdrawn, ...], tuple[Withdrawn, ...]]:
        """The versions that only the source said, and those that others said again."""
        withdrawn, kept = [], []
        for node in self._searched_worlds():
            for seen in reversed(list(asof.versions_as_of(self._tables, node, self._moment.seq))):
                repeated = list(provenance.repeated(self._snapshot, node, seen.row))
                said = [seen.row, *(base for _, base in repeated)]
                if not any(self._is_of_source(each.seq, each.details) for each in said):
                    continue
                body = self._snapshot.body(seen.row)
                if body is None:
                    continue
                numbers = [seen.number, *(number for number, _ in repeated)]
                again = [each for number in numbers for each in self._snapshot.restatements_of(node, number)]
                others = [each.seq for each in again if not self._is_of_source(each.seq, each.details)]
                version = Withdrawn(
                    ref=self._ref(node),
                    version=seen.row.body.hex(),
                    number=seen.number,
                    type=body.type,
                    name=body.name,
                    author=self._snapshot.header(seen.row.seq).author,
                    seq=seen.row.seq,
                    spans=tuple(records.Valid(*span) for span in seen.validity.pieces),
                    said_again_by=tuple(dict.fromkeys(self._snapshot.header(seq).author for seq in others)),
                )
                if others:
                    kept.append(version)
                else:
                    withdrawn.append(version)
                    self._withdrawn.setdefault(node, []).append(seen)
        return tuple(withdrawn), tuple(kept)

    def _searched_worlds(self) -> Iterator[int]:
        """The worlds to search for statements of the source, in log order."""
        if not self._source.world:
            yield from self._snapshot.inhabitants()
            return
        top = world_lookup.named_node(self._snapshot, self._spec, self._source.world)
        inside = set(self._snapshot.inhabitants(top))
        yield from sorted(inside if top == schema.ROOT_NODE else inside | {top})

    def _is_of_source(self, seq: int, details: int) -> bool:
        """True if a commit's details match the source."""
        given = self._source
        if seq not in self._authors:
            header = self._snapshot.header(seq)
            self._authors[seq] = (
                (not given.authors or header.author in given.authors)
                and (given.since is None or header.ingest_time >= given.since)
                and (given.until is None or header.ingest_time < given.until)
            )
        if not self._authors[seq]:
            return False
        if not given.fields and not given.artifact:
            return True
        version_details = self._snapshot.details(seq, details)
        if given.artifact and not any(
            given.artifact in (each.name, each.location, each.hash)
            for each in artifacts_in(build.properties(version_details)).values()
        ):
            return False
        return all(
            name in version_details.source and version_details.source[name] == value
            for name, value in given.fields.items()
        )

    # -- what rests on it

    def find_dependents(self) -> tuple[tuple[Resting, ...], tuple[str, ...]]:
        """The dependent worlds, nearest first and then in log order, and those behind which there are more."""
        level = sorted(self._withdrawn)
        for depth in range(1, self._options.depth + 1):
            level = sorted(set(self._expand_level(level, depth)))
        beyond = [node for node in level if any(each not in self._depths for each in self._direct_dependents(node))]
        found = sorted(self._depths, key=lambda node: (self._depths[node], node))
        return tuple(map(self._resting_record, found)), tuple(map(self._ref, beyond))

    def _expand_level(self, level: Sequence[int], depth: int) -> Iterator[int]:
        for node in level:
            for above, edge in self._direct_dependents(node).items():
                self._bases.setdefault(above, []).extend(_Support(node, each) for each in edge)
                if above not in self._depths:
                    self._depths[above] = depth
                    yield above

    def _direct_dependents(self, node: int) -> dict[int, list[str]]:
        """The worlds that rest directly on one and are not withdrawn themselves, with the edges that say so."""
        taken = self._withdrawn.get(node)
        numbers = None if taken is None else {seen.number for seen in taken}
        found: dict[int, list[str]] = {}
        for code in self._codes:
            edges = self._tables.incoming(node, code, known_after=self._moment.seq, known_by=self._moment.seq)
            for place, row in edges:
                is_of_it = numbers is None or row.target_version in numbers
                if code == self._depending and numbers is not None:
                    is_of_it = is_of_it or self._number(node) in numbers
                if is_of_it and asof.edge_known(row, self._moment.seq):
                    self._add_dependent(found, place.source, row.edge.hex())
        newest = asof.newest_version(self._tables, node, self._moment.seq)
        if numbers is None or (newest is not None and newest.number in numbers):
            for container in self._snapshot.containers(node):
                stands = self._shown_version(container)
                if stands is not None and stands.row.type == visible.SUMMARY_TYPE:
                    self._add_dependent(found, container, "")
        return found

    def _add_dependent(self, found: dict[int, list[str]], above: int, edge: str) -> None:
        if above not in self._withdrawn and above != schema.ROOT_NODE and self._shown_version(above) is not None:
            found.setdefault(above, []).append(edge)

    def _shown_version(self, node: int) -> asof.SeenVersion | None:
        """The valid version of a world, else the newest that is valid at another time; with all its spans."""
        if node not in self._standing:
            held, seq = self._number(node), self._moment.seq
            known = asof.version_known(self._tables, node, held, seq) if held else None
            each = asof.versions_as_of(self._tables, node, seq)
            self._standing[node] = known or next((seen for seen in each if not seen.validity.is_empty), None)
        return self._standing[node]

    def _number(self, node: int) -> int:
        """The number of the valid version of a world, 0 if there is none."""
        seen = asof.version_at(self._tables, node, self._moment)
        return 0 if seen is None else seen.number

    def _resting_record(self, node: int) -> Resting:
        row = self._row(node)
        body = self._snapshot.body(row)
        found = list(islice(self._paths(node), MAX_PATHS + 1))
        return Resting(
            ref=self._ref(node),
            version=row.body.hex(),
            type="" if body is None else body.type,
            name="" if body is None else body.name,
            depth=self._depths[node],
            paths=tuple(path for path in found[:MAX_PATHS] if path is not None),
            more_paths=len(found) > MAX_PATHS or None in found,
            trust=self._trust.name(node, row),
        )

    def _paths(self, node: int) -> Iterator[RestingPath | None]:
        """The paths to a world without cycles, shortest first; ``None`` if the search was cut off."""
        pending: deque[tuple[tuple[int, ...], tuple[str, ...]]] = deque([((node,), ())])
        looked = 0
        while pending:
            looked += 1
            if looked > MAX_EXPANDED_PATHS:
                yield None
                return
            worlds, edges = pending.popleft()
            if worlds[0] in self._withdrawn:
                yield RestingPath(worlds=tuple(map(self._ref, worlds)), edges=edges, trust=self._lowest_trust(worlds))
                continue
            for base, edge in sorted(set(self._bases.get(worlds[0], ()))):
                if base not in worlds and len(worlds) <= self._options.depth:
                    pending.append(((base, *worlds), (edge, *edges)))

    def _lowest_trust(self, worlds: Sequence[int]) -> str | None:
        """The lowest level of trust of any version on a path, without its other bases."""
        levels = [self._trust.own(node, row) for node in worlds for row in self._rows(node)]
        said = [level for level in levels if level is not None]
        return settings.TRUST_LEVELS[min(said)] if said else None

    def _rows(self, node: int) -> list[schema.VersionRow]:
        taken = self._withdrawn.get(node)
        return [self._row(node)] if taken is None else [seen.row for seen in taken]

    def _row(self, node: int) -> schema.VersionRow:
        seen = self._shown_version(node)
        assert seen is not None, "what rests on anything holds at some time"
        return seen.row

    def _ref(self, node: int) -> str:
        return self._tables.node(node).lineage.hex()

    # -- what is done

    def plan_changes(self) -> dict[int, PlannedEnd]:
        """The planned change of each world, in log order."""
        nodes = sorted({*self._withdrawn, *(self._depths if self._options.dependents else ())})
        planned = ((node, self._plan_end(node)) for node in nodes)
        return {node: end for node, end in planned if end is not None}

    def _plan_end(self, node: int) -> PlannedEnd | None:
        stands = self._shown_version(node)
        taken = self._withdrawn.get(node) or ([] if stands is None else [stands])
        number = taken[-1].number
        if self._options.how == "contract":
            held = sorted(span for seen in taken for span in seen.validity.pieces)
            spans = tuple(records.Valid(span.start, span.end) for span in held)
            return PlannedEnd(ref=self._ref(node), number=number, spans=spans) if spans else None
        if self._options.how == "deprecate":
            is_so = self._snapshot.is_deprecated(node)
        else:
            is_so = self._snapshot.tagged_number(name_digest(WITHDRAWN), node) == number
        return None if is_so else PlannedEnd(ref=self._ref(node), number=number, spans=())

    def hidden_worlds(self, changed: Collection[int]) -> frozenset[int]:
        """The worlds that reads at the view's time would no longer show."""
        if self._options.how == "flag":
            return frozenset()
        if self._options.how == "deprecate":
            return frozenset(changed)
        return frozenset(node for node in changed if self._is_withdrawn(node))

    def _is_withdrawn(self, node: int) -> bool:
        held, taken = self._number(node), self._withdrawn.get(node)
        return bool(held) and (taken is None or held in {seen.number for seen in taken})
