"""What of worlds is believed, as of a commit and a valid time: by which tags, how far entrenched, in which spans.

What counts as believed is set for the whole store and recorded in the log: which tags bear beliefs beside ``current``,
which predicates are single-valued, and by what beliefs of which type are compared. The rows lie among the marks.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple, Protocol

from worlddb.log.beliefs import atoms
from worlddb.log.model import events as ev
from worlddb.log.model import hashing, times
from worlddb.projections.tables.names.canonical import name_digest
from worlddb.projections.tables.reads import asof
from worlddb.projections.tables.reads.table_reads import TableReads
from worlddb.projections.tables.storage import schema, write_buffer

CURRENT: Final = 0
"""Stands in for the number of a tag where the version that holds is meant."""
MAX_VERSIONS: Final = 256
"""How many versions back it is looked up since when an atom has been said."""
_SUPPORTING: Final = ("derived_from", "supports")
"""The types of edges into a world that a fact is supported by."""
_DEPENDING: Final = "depends_on"


# -- what is set


class Settings(NamedTuple):
    """What counts as believed in a store.

    ``tags`` bear beliefs beside ``current``; ``single`` are the single-valued predicates; ``measures`` say by what
    beliefs are compared, by their types without case.
    """

    tags: tuple[str, ...] = ()
    single: frozenset[str] = atoms.SINGLE
    measures: Mapping[str, atoms.Measure] = atoms.KINDS

    def measure(self, type_name: str) -> int:
        """By what beliefs of a type are compared: a place in :data:`atoms.MEASURES`."""
        return atoms.MEASURES.index(self.measures.get(type_name.casefold(), "support"))


class Setting(NamedTuple):
    """One of them as it was set: of a tag, a predicate or a kind; ``how`` is empty where that was taken back."""

    what: ev.BeliefSetting
    name: str
    how: str


BY_DEFAULT: Final = Settings()
_WHAT: Final[tuple[ev.BeliefSetting, ...]] = ("tag", "predicate", "kind")


def put_setting(tables: "_Tables", seq: int, event: ev.BeliefsSet) -> None:
    """Write a setting that holds from a commit on."""
    row = schema.BELIEF.pack(_WHAT.index(event.what), event.details) + f"{event.how}\0{event.name}".encode()
    tables.marks.put(_key(event.what, event.name) + schema.U64.pack(seq), row)


def setting_at(tables: "_Tables", what: ev.BeliefSetting, name: str, seq: int) -> str:
    """How something was set as known at a commit; empty if it was not."""
    prefix = _key(what, name)
    found = tables.marks.last(prefix, prefix + schema.U64.pack(seq))
    return "" if found is None else _setting(found[1]).how


def settings_known(tables: "_Tables", seq: int) -> list[Setting]:
    """All belief settings ever made, as known at a commit; ``how`` is empty for removed ones."""
    latest: dict[bytes, Setting] = {}
    for key, value in tables.marks.scan(schema.BELIEFS):
        if int.from_bytes(key[-8:], "big") <= seq:
            latest[key[:-8]] = _setting(value)
    return list(latest.values())


def settings_at(tables: "_Tables", seq: int) -> Settings:
    """What counted as believed as known at a commit."""
    latest = settings_known(tables, seq)
    if not latest:
        return BY_DEFAULT
    known = [each for each in latest if each.how]
    return Settings(
        tags=tuple(sorted(each.name for each in known if each.what == "tag")),
        single=atoms.SINGLE.union(each.name for each in known if each.what == "predicate"),
        measures=dict(atoms.KINDS) | {each.name: each.how for each in known if each.what == "kind"},
    )


def _key(what: ev.BeliefSetting, name: str) -> bytes:
    told = hashing.digest(hashing.NAME, what.encode(), name.encode())
    return schema.BELIEFS + told[:16]


def _setting(row: bytes) -> Setting:
    what, _ = schema.BELIEF.unpack(row[: schema.BELIEF.size])
    how, _, name = row[schema.BELIEF.size :].decode().partition("\0")
    return Setting(_WHAT[what], name, how)


# -- what is believed


class Source(Protocol):
    """The source of beliefs: tables with their texts, as far as the reader may see."""

    @property
    def tables(self) -> TableReads: ...

    def content(self, node: int, number: int) -> atoms.VersionContent | None:
        """What a version says; ``None`` once erased."""

    def tag_rows(self, node: int) -> Iterable[tuple[int, schema.AliasRow]]:
        """Every tag of a world by its number."""

    def assigned(self, node: int, tag: int) -> int:
        """The version that a tag stands for; 0 for none."""


class Change(NamedTuple):
    """The claims that a contraction removes from one version; ``tags`` are the world's tags that point to it.

    ``left`` is what the version says without it, and ``spans`` are those in which it holds.
    """

    version: int
    tags: tuple[int, ...]
    gone: frozenset[atoms.Claim]
    left: atoms.VersionContent
    spans: tuple[times.Interval, ...]


class Beliefs:
    """What is believed at one moment."""

    def __init__(self, source: Source, moment: asof.Moment, settings: Settings) -> None:
        self._source = source
        self._moment = moment
        self.settings = settings
        self._tags = frozenset(map(name_digest, settings.tags))

    def bearing_versions(self, node: int) -> dict[int, int]:
        """The versions of a world that bear beliefs, each under one of the tags by which it does, by their numbers."""
        tables, found = self._source.tables, {}
        seen = asof.version_at(tables, node, self._moment)
        if seen is not None:
            found[CURRENT] = seen.number
        for number, row in self._source.tag_rows(node) if self._tags else ():
            if row.name in self._tags and (version := self._source.assigned(node, number)):
                found[number] = version
        return found

    def claims(self, node: int) -> set[atoms.Claim]:
        """What is believed of a world."""
        found: set[atoms.Claim] = set()
        for version in set(self.bearing_versions(node).values()):
            found |= self._said(node, version)
        return found

    def _said(self, node: int, version: int) -> set[atoms.Claim]:
        content = self._source.content(node, version)
        return set() if content is None else atoms.claims_of(content, self.settings.single)

    def rank(self, node: int, claim: atoms.Claim) -> atoms.Rank:
        """How entrenched a claim about a world is; the lowest rank if it is not believed."""
        bearing = [each for each in set(self.bearing_versions(node).values()) if claim in self._said(node, each)]
        return max((self._rank(node, each, claim) for each in bearing), default=atoms.NEVER)

    def _rank(self, node: int, version: int, claim: atoms.Claim) -> atoms.Rank:
        content = self._source.content(node, version)
        assert content is not None, "it says the claim"
        measure = self.settings.measure(content.type)
        since = self._since(node, version, claim)
        match atoms.MEASURES[measure]:
            case "recency":
                amount: float = since
            case "confidence":
                given = content.properties.get("confidence")
                amount = given if isinstance(given, int | float) else 0
            case _:
                amount = sum(self._leading_to(node, name) for name in _SUPPORTING)
        return atoms.Rank(measure, amount, self._leading_to(node, _DEPENDING), since)

    def _since(self, node: int, version: int, claim: atoms.Claim) -> int:
        """The commit since which the versions before, one after the other, have said it."""
        for earlier in range(version - 1, max(0, version - MAX_VERSIONS), -1):
            if claim not in self._said(node, earlier):
                break
            version = earlier
        return self._source.tables.version(node, version).seq

    def _leading_to(self, node: int, name: str) -> int:
        tables, seq = self._source.tables, self._moment.seq
        code = tables.type_code(name)
        if code is None:
            return 0
        edges = tables.incoming(node, code, known_after=seq, known_by=seq)
        return sum(asof.edge_seen(tables, place, row, self._moment) for place, row in edges)

    def claims_to_give_up(self, compound: Iterable[tuple[int, atoms.Claim]]) -> set[tuple[int, atoms.Claim]]:
        """The claims of a compound to give up: the least entrenched ones; none if not all of it is believed."""
        ranks = {each: self.rank(*each) for each in compound}
        return set() if atoms.NEVER in ranks.values() else atoms.least_entrenched(ranks)

    def contraction(self, node: int, claims: Iterable[atoms.Claim]) -> Iterator[Change]:
        """What a contraction by each of some claims changes of a world, by the numbers of its versions."""
        tables, gone = self._source.tables, frozenset(claims)
        bearing = self.bearing_versions(node)
        for version in sorted(set(bearing.values())):
            content = self._source.content(node, version)
            taken = gone & self._said(node, version)
            if content is not None and taken:
                row = tables.version(node, version)
                spans = asof.version_validity(tables, node, version, row, self._moment.seq).pieces
                tags = tuple(tag for tag, stands in sorted(bearing.items()) if stands == version)
                left = atoms.remove_claims(content, taken, self.settings.single)
                yield Change(version, tags, frozenset(taken), left, tuple(spans))


def outlook(changes: Iterable[Change]) -> tuple[int, ...]:
    """A fingerprint of the changes to one world without their texts; equal plans have equal fingerprints."""
    told: list[int] = []
    for change in changes:
        spans = [bound for span in change.spans for bound in span]
        told += [change.version, len(change.gone), len(change.tags), *change.tags, len(spans), *spans]
    return tuple(told)


class _Tables(Protocol):
    @property
    def marks(self) -> write_buffer.Table: ...
