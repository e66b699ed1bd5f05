"""Filters of a recall: subject, speaker, type, author, source, start, labels and properties.

They hold for every candidate before it counts, so that a recall of ``k`` finds ``k`` if there are as many. Worlds
about somebody, or of a type, are looked up first if they are few; the lanes then search only these.
"""

from collections.abc import Iterator, Mapping, Set
from itertools import islice
from operator import eq, ge, gt, le, lt, ne
from typing import Any, Final, NamedTuple

from worlddb.log.model import errors, limits, times
from worlddb.projections.indexes.fields import Nodes
from worlddb.projections.tables.names.canonical import NO_NAME, name_digest, type_digest
from worlddb.projections.tables.reads.asof import SeenVersion, edge_seen
from worlddb.projections.tables.storage.schema import EDGE_TYPE_CODES
from worlddb.query.reads import build, world_lookup
from worlddb.query.reads.world_lookup import CURRENT
from worlddb.query.snapshot import edge_rules, provenance, visible

MAX_LISTED: Final = 5_000
"""The most worlds listed before the search; beyond it, each candidate is checked by itself."""
_REFERS_TO: Final = EDGE_TYPE_CODES["refers_to"]


_COMPARED: Final = {"$eq": eq, "$ne": ne, "$gt": gt, "$gte": ge, "$lt": lt, "$lte": le}
"""The operators of conditions, as LangGraph's stores have them."""


class Conditions(NamedTuple):
    """Conditions on named values: equality, or operators.

    ``{"state": "open", "place.city": "Porto", "priority": {"$gte": 2, "$lt": 5}}``: a name with dots addresses a
    field inside a value, and for a mapping only the named fields count. Values that cannot be compared do not match.
    """

    wanted: Mapping[str, Any] = {}

    @classmethod
    def of(cls, given: Any, what: str = "properties") -> "Conditions":
        """Check what a caller gave.

        Raises:
            InputError: it is no mapping of names, or has an operator that is not known.
        """
        if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
            raise errors.InputError(
                f"{what} is {errors.shown(given)}", 'Give names and values, such as {"state": "open"}'
            )
        for field, condition in given.items():
            if isinstance(condition, Mapping):
                unknown = [name for name in condition if str(name).startswith("$") and name not in _COMPARED]
                mixed = any(name in _COMPARED for name in condition) and not all(
                    name in _COMPARED for name in condition
                )
                if unknown or mixed:
                    has = repr(unknown[0])[:80] if unknown else "operators mixed with other keys"
                    raise errors.InputError(
                        f"{what} of {field!r:.80} has {has}", f"Use {', '.join(_COMPARED)}, or a value to be equal to"
                    )
        return cls(given)

    def fit(self, value: Mapping[str, Any]) -> bool:
        """Return whether named values meet the conditions."""
        return all(_fits(_parse_inner(value, name), condition) for name, condition in self.wanted.items())


def _parse_inner(value: Any, name: str) -> Any:
    if not isinstance(value, Mapping) or name in value:
        return value.get(name) if isinstance(value, Mapping) else None
    first, dot, rest = name.partition(".")
    return _parse_inner(value.get(first), rest) if dot else None


def _fits(value: Any, wanted: Any) -> bool:
    """Return whether a value satisfies a condition: operators, else equality; for a mapping, of its named fields."""
    if isinstance(wanted, Mapping) and not (wanted and all(name in _COMPARED for name in wanted)):
        return isinstance(value, Mapping) and all(_fits(value.get(name), each) for name, each in wanted.items())
    if not isinstance(wanted, Mapping):
        return bool(value == wanted)
    try:
        return all(_COMPARED[name](value, bound) for name, bound in wanted.items())
    except TypeError:
        return False


class Filters(NamedTuple):
    """The filters of a recall, as given; all must match.

    ``since`` and ``until`` bound when a version began to hold, in microseconds.
    """

    about: tuple[Any, ...] = ()
    speaker: tuple[Any, ...] = ()
    types: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()
    source: Mapping[str, Any] = {}
    since: int | None = None
    until: int | None = None
    labels: tuple[str, ...] = ()
    """Labels, all of which a world has to have."""
    properties: Conditions = Conditions()
    tag: str = ""
    """A tag that a world has to have; which version it stands for is a matter of the choice of versions."""

    @classmethod
    def of(
        cls,
        *,
        about: Any = None,
        speaker: Any = None,
        type: Any = None,
        author: Any = None,
        source: Any = None,
        since: times.TimeLike | None = None,
        until: times.TimeLike | None = None,
        label: Any = None,
        properties: Any = None,
        tag: str | None = None,
    ) -> "Filters":
        """Check what a caller gave.

        Raises:
            InputError: something is not what it should be.
        """
        if source is not None and not (isinstance(source, Mapping) and all(isinstance(name, str) for name in source)):
            raise errors.InputError(
                f"source is {errors.shown(source)}, not a mapping", 'Give fields, such as {"session": "24"}'
            )
        given = cls(
            _as_tuple(about),
            _as_tuple(speaker),
            tuple(limits.checked_text(each, "type", limits.MAX_TYPE_BYTES) for each in _as_tuple(type)),
            tuple(limits.checked_text(each, "author", limits.MAX_AUTHOR_BYTES) for each in _as_tuple(author)),
            source or {},
            None if since is None else times.parse_time(since, "since"),
            None if until is None else times.parse_time(until, "until"),
            tuple(limits.checked_text(each, "label", limits.MAX_LABEL_BYTES) for each in _as_tuple(label)),
            Conditions.of({} if properties is None else properties),
            "" if tag is None or name_digest(tag) == CURRENT else tag,
        )
        if given.since is not None and given.until is not None and given.since >= given.until:
            began, ended = times.format_time(given.since), times.format_time(given.until)
            raise errors.InvalidInterval(
                f"since {began} is not before until {ended}", "Give a time for until that is later than since"
            )
        return given

    @property
    def asked(self) -> list[str]:
        """The names of the filters that were given, as a caller has them."""
        named = {"types": "type", "authors": "author", "labels": "label"}
        given = ((named.get(name, name), value) for name, value in self._asdict().items())
        return [name for name, value in given if value not in ((), {}, None, "", Conditions())]


def label_digests(label: Any) -> tuple[bytes, ...]:
    """What labels are compared by.

    Raises:
        InputError: one is no text.
    """
    return tuple(name_digest(limits.checked_text(each, "label", limits.MAX_LABEL_BYTES)) for each in _as_tuple(label))


def tag_digest(tag: Any) -> bytes:
    """What a tag is compared by.

    Raises:
        InputError: it is no text, or an empty one.
    """
    return name_digest(limits.checked_text(tag, "tag", limits.MAX_LABEL_BYTES, empty=False))


def _as_tuple(given: Any) -> tuple[Any, ...]:
    if given is None:
        return ()
    listed = isinstance(given, list | tuple | set | frozenset)
    return tuple(limits.checked_list(list(given), "a filter")) if listed else (given,)


class Filter:
    """Filters as they apply in a view."""

    def __init__(self, snapshot: visible.VisibleSnapshot, spec: edge_rules.Spec, given: Filters) -> None:
        self._snapshot = snapshot
        self._given = given
        self._types = {type_digest(name) for name in given.types}
        # A name means all worlds of an accepted identity.
        self._about, self._speakers = (
            [world_lookup.expand_identities(snapshot, spec, self._find_called(spec, name)) for name in names]
            for names in (given.about, given.speaker)
        )
        self._labels = tuple(map(name_digest, given.labels))
        self._authors: dict[int, bool] = {}

    def unknown(self) -> list[str]:
        """The names and references in filters that nothing in this view has."""
        asked = zip((*self._given.about, *self._given.speaker), (*self._about, *self._speakers), strict=True)
        return [errors.shown(name) for name, found in asked if not found]

    def unheld(self) -> list[str]:
        """The requested types, labels and tag that nothing in this view has.

        Inside a world it reads everything, so it is only called if nothing was found.
        """
        given = self._given
        types = [name for name in given.types if not self._is_a_type(type_digest(name))]
        held = zip(given.labels, map(self._is_a_label, self._labels), strict=True)
        return [
            *(f"type {errors.shown(name)}" for name in types if len(types) == len(given.types)),
            *(f"label {errors.shown(name)}" for name, is_held in held if not is_held),
            *([f"tag {errors.shown(given.tag)}"] if given.tag and not self._is_a_tag(name_digest(given.tag)) else []),
        ]

    def _is_a_label(self, digest: bytes) -> bool:
        snapshot = self._snapshot
        nodes = snapshot.inhabitants() if snapshot.whole is None else snapshot.labelled(digest)
        return any(snapshot.has_labels(node, (digest,)) for node in nodes)

    def _is_a_tag(self, digest: bytes) -> bool:
        snapshot = self._snapshot
        nodes = snapshot.inhabitants() if snapshot.whole is None else snapshot.tagged(digest)
        return any(snapshot.tagged_number(digest, node) for node in nodes)

    def _is_a_type(self, digest: bytes) -> bool:
        return next(iter(self._snapshot.tables.typed(digest)), None) is not None

    def is_for(self, digest: bytes) -> bool:
        """Whether a type is among those that are asked for."""
        return digest in self._types

    def listed(self) -> Nodes | None:
        """The worlds that may pass, if they are few enough to be listed."""
        found: frozenset[int] | None = None
        groups = [*self._about, *self._speakers]
        for nodes in (*map(self._find_referring, groups), self._find_typed(), self._find_marked()):
            if nodes is not None:
                found = frozenset(nodes) if found is None else found & nodes
        return None if found is None else Nodes(found)

    def admits(self, node: int, seen: SeenVersion) -> bool:
        """Return whether a version of a world passes."""
        given, row = self._given, seen.row
        if self._types and row.type not in self._types:
            return False
        if given.since is not None and row.valid_from < given.since:
            return False
        if given.until is not None and row.valid_from >= given.until:
            return False
        if not self._snapshot.has_labels(node, self._labels):
            return False
        if given.authors:
            repeated = provenance.repeated(self._snapshot, node, row)
            if not self._has_author(row.seq) and not any(self._has_author(base.seq) for _, base in repeated):
                return False
        if not all(node in group or self._refers(node, group, None) for group in self._about):
            return False
        if not all(self._refers(node, group, "speaker") for group in self._speakers):
            return False
        if not (given.source or given.properties.wanted):
            return True
        details = self._snapshot.details(row.seq, row.details)
        if not given.properties.fit(build.properties(details)):
            return False
        return self._is_of_source(details.source) or any(
            self._is_of_source(self._snapshot.details(again.seq, again.details).source)
            for again in self._snapshot.restatements_of(node, seen.number)
        )

    def _is_of_source(self, source: Mapping[str, Any]) -> bool:
        """Return whether a source has the fields that are asked for, compared as the log keeps them."""
        return all(name in source and source[name] == value for name, value in self._given.source.items())

    def _find_called(self, spec: edge_rules.Spec, given: Any) -> Iterator[int]:
        """The worlds of a name, else the one of a reference."""
        seq = self._snapshot.place.moment.seq
        digest = name_digest(given) if isinstance(given, str) else NO_NAME
        named = [] if digest == NO_NAME else [n for n, first in self._snapshot.tables.named(digest) if first <= seq]
        if named:
            yield from named
            return
        try:
            yield world_lookup.named_node(self._snapshot, spec, given)
        except errors.UnknownReference:
            return
        except errors.InputError:
            if not isinstance(given, str):
                raise

    def _find_referring(self, group: Set[int]) -> set[int] | None:
        """Some worlds and all that refers to them; ``None`` if it is too much to list."""
        tables, moment = self._snapshot.tables, self._snapshot.place.moment
        found = set(group)
        for entity in sorted(group):
            for place, row in tables.incoming(entity, _REFERS_TO, known_by=moment.seq):
                if edge_seen(tables, place, row, moment):
                    found.add(place.source)
                if len(found) > MAX_LISTED:
                    return None
        return found

    def _find_typed(self) -> set[int] | None:
        """The worlds that ever had one of the types; ``None`` if none is requested, or they are too many to list."""
        if not self._types:
            return None
        found: set[int] = set()
        for digest in sorted(self._types):
            for node, _ in self._snapshot.tables.typed(digest):
                found.add(node)
                if len(found) > MAX_LISTED:
                    return None
        return found

    def _find_marked(self) -> set[int] | None:
        """What ever had the tag, or one of the labels; ``None`` if none is asked for, or others must not be counted."""
        if self._snapshot.whole is None or not (self._given.tag or self._given.labels):
            return None
        tag = self._given.tag
        holders = self._snapshot.tagged(name_digest(tag)) if tag else self._snapshot.labelled(self._labels[0])
        found = set(islice(holders, MAX_LISTED + 1))
        return None if len(found) > MAX_LISTED else found

    def _refers(self, node: int, group: Set[int], role: str | None) -> bool:
        """Return whether a world refers to one of some others, in a role if one is asked for."""
        tables, moment = self._snapshot.tables, self._snapshot.place.moment
        return any(
            edge_seen(tables, place, row, moment)
            and (role is None or self._snapshot.details(row.seq, row.details).properties.get("role") == role)
            for place, row in tables.between([node], _REFERS_TO, group, known_by=moment.seq)
        )

    def _has_author(self, seq: int) -> bool:
        if seq not in self._authors:
            self._authors[seq] = self._snapshot.header(seq).author in self._given.authors
        return self._authors[seq]
