"""Settings of a world: registered edge types, resolver thresholds, guards and trust. The nearest one wins.

A registration in a world holds for that world and for all that it contains. Where several do, the nearest wins: the one
that is the fewest steps of containment up from the edge's home. Of several that are equally near, the one of the
earliest commit wins, and within one commit that of the world that was made first. Containment is taken as it is known
at a commit, whatever the valid time: which edge types there are is a matter of what the store was told.

Thresholds (*tunings*) hold in the same way for a candidate, by the world that it is in. Within one world, thresholds
for the candidate's type win over those for every type. Of several worlds that are equally near, those that name the
type come first, then that of the earliest commit, then the world that was made first.

Guards say what becomes of credentials and of personal data in texts. Of worlds that are equally near the strictest one
holds. What is nowhere said is as :data:`UNGUARDED` has it.

Trust is said of an author, of a field of the sources that are given with what is written (a document, a session, an
importer), of a world with all that it contains, or of everything of which nothing else is said. It stands until another
level is said of the same, and can be taken back. What was said is kept, so that earlier views see what held then.
Authors and sources are known by a keyed hash that is in the event: once their names are erased, what was said of them
goes on to hold. Events of an earlier release lack it: their rows have a hash of the name, which an erasure takes along.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import islice
from typing import Final, NamedTuple

import msgspec

from worlddb.log.model import codec, hashing, ids
from worlddb.log.model import events as ev
from worlddb.projections.tables.apply.deferred_rows import DeferredRows
from worlddb.projections.tables.reads.asof import edge_known
from worlddb.projections.tables.storage import schema, transaction
from worlddb.projections.tables.storage.rows import Tables

Above = Callable[[int], Iterable[int]]
"""The worlds that contain a world directly."""

MAX_LOADED: Final = 256
"""Up to so many registrations of one type are read at once; of more, each is looked for where it may be."""


class Registration(NamedTuple):
    """An edge type as it was registered in ``world`` (a node) by commit ``seq``."""

    type: str
    world: int
    seq: int
    row: schema.RegistrationRow

    @property
    def is_functional(self) -> bool:
        return bool(self.row.functional)

    @property
    def is_built_in(self) -> bool:
        return not self.row.digest_of

    @property
    def laws(self) -> ev.Laws | None:
        """The laws of a declared relation; ``None`` of a type that has code."""
        return ev.Laws.unpacked(self.row.digest) if self.digest_of == "laws" else None

    @property
    def digest_of(self) -> ev.DigestOf:
        return schema.DIGESTS[self.row.digest_of]

    @property
    def rewrites(self) -> tuple[ev.RewriteName, ...]:
        """The rewrites of queries that the handler asks for."""
        return tuple(name for bit, name in enumerate(schema.REWRITES) if self.row.rewrites >> bit & 1)


# -- which are known


def registration_in(tables: Tables, type_name: str, world: int, seq: int) -> Registration | None:
    """The registration of a type in one world, as it was in force at a commit."""
    prefix = _prefix(type_name) + schema.U64.pack(world)
    found = tables.registrations.last(prefix, prefix + schema.U64.pack(seq))
    known = None if found is None else _registration(*found)
    return known if known is not None and known.row.ended > seq else None


def registered(tables: Tables, seq: int, *, ended: bool = False) -> list[Registration]:
    """List the registrations that were in force at a commit.

    All of them, by type and then by world; with ``ended`` also those that had ended.
    """
    rows = (_registration(key, value) for key, value in tables.registrations.scan(b"") if _names_a_type(key))
    return [known for known in rows if known.seq <= seq and (ended or seq < known.row.ended)]


def type_names(tables: Tables) -> set[str]:
    """The types that were ever registered, built-in ones included."""
    return {_registration(key, value).type for key, value in tables.registrations.scan(b"") if _names_a_type(key)}


# -- which holds


def containers_known(tables: Tables, seq: int) -> Above:
    """Containment as it was known at a commit, whatever the valid time."""

    def above(node: int) -> Iterator[int]:
        incoming = tables.incoming(node, schema.CONTAINS_CODE, known_by=seq)
        return (place.source for place, row in incoming if edge_known(row, seq))

    return above


def containment_levels(home: int, above: Above) -> Iterator[list[int]]:
    """Yield a world, then the worlds around it, level by level.

    Those that are the same number of steps of containment up come together.
    """
    seen, level = {home}, [home]
    while level:
        yield level
        level = [up for up in dict.fromkeys(up for node in level for up in above(node)) if up not in seen]
        seen.update(level)


class RegistrationFinder:
    """Finds the registration that holds for an edge, by its home; the rule is at the file's top."""

    def __init__(self, tables: Tables, type_name: str, seq: int) -> None:
        self._tables = tables
        self._type = type_name
        self._seq = seq
        rows = list(islice(tables.registrations.scan(_prefix(type_name)), MAX_LOADED + 1))
        known = (_registration(key, value) for key, value in rows)
        self._loaded = (
            {one.world: one for one in known if one.seq <= seq < one.row.ended} if len(rows) <= MAX_LOADED else None
        )

    def at(self, home: int, above: Above) -> Registration | None:
        """The registration in force for edges at home in a world.

        ``above`` is how containment is read.
        """
        if self._loaded is not None:
            if not self._loaded:
                return None
            if self._loaded.keys() == {schema.ROOT_NODE}:
                return self._loaded[schema.ROOT_NODE]
        for level in containment_levels(home, above):
            found = [known for node in level if (known := self._in(node)) is not None]
            if found:
                return min(found, key=lambda known: (known.seq, known.world))
        return None

    def _in(self, world: int) -> Registration | None:
        if self._loaded is not None:
            return self._loaded.get(world)
        return registration_in(self._tables, self._type, world, self._seq)


# -- events


def apply_registered(on: DeferredRows, event: ev.Registered) -> None:
    """A registration takes the place of the one before it in the same world."""
    world = on.number(event.world)
    _end(on, event.type, world)
    rewrites = sum(1 << schema.REWRITES.index(name) for name in event.rewrites)
    row = schema.RegistrationRow(
        event.digest or bytes(ids.HASH_BYTES),
        event.handler_version,
        schema.DIGESTS.index(event.digest_of),
        rewrites,
        int(event.functional),
        schema.LIVE,
        event.details,
    )
    _put(on.tables, Registration(event.type, world, on.seq, row))
    on.tables.registrations.put(transaction.LAST_CHANGE, schema.U64.pack(on.seq))


def apply_unregistered(on: DeferredRows, event: ev.Unregistered) -> None:
    """A registration ends."""
    _end(on, event.type, on.number(event.world))
    on.tables.registrations.put(transaction.LAST_CHANGE, schema.U64.pack(on.seq))


def _end(on: DeferredRows, type_name: str, world: int) -> None:
    before = registration_in(on.tables, type_name, world, on.seq)
    if before is not None:
        _put(on.tables, before._replace(row=before.row._replace(ended=on.seq)))


def _put(tables: Tables, known: Registration) -> None:
    key = _prefix(known.type) + schema.U64_U64.pack(known.world, known.seq)
    beyond = known.row.digest[ids.HASH_BYTES :]
    tables.registrations.put(key, schema.REGISTRATION.pack(*known.row) + beyond)


def _prefix(type_name: str) -> bytes:
    """The key prefix of a type. Its length comes first, so that no type is a prefix of another."""
    name = type_name.encode()
    return schema.U16.pack(len(name)) + name


def _registration(key: bytes, value: bytes) -> Registration:
    end = schema.U16.size + schema.U16.unpack_from(key)[0]
    world, seq = schema.U64_U64.unpack_from(key, end)
    row = schema.RegistrationRow._make(schema.REGISTRATION.unpack_from(value))
    if schema.DIGESTS[row.digest_of] == "laws":
        row = row._replace(digest=ev.Laws.unpacked(row.digest + value[schema.REGISTRATION.size :]).packed())
    schema.REGISTRATION.unpack(value[: len(value) - len(row.digest[ids.HASH_BYTES :])])  # of this length, and no other
    return Registration(key[schema.U16.size : end].decode(), world, seq, row)


def _names_a_type(key: bytes) -> bool:
    """False for the keys under the empty name, which no type has: profiles, and where all of this changed last."""
    return not key.startswith(transaction.LAST_CHANGE)


# -- profiles: the closed vocabulary of a world


class Profile(NamedTuple):
    """The vocabulary that commit ``seq`` closed a world (a node) to, until commit ``ended``."""

    world: int
    seq: int
    ended: int
    details: int
    name: str
    node_types: tuple[str, ...]
    relations: tuple[str, ...]


def profiles_known(tables: Tables, seq: int, *, ended: bool = False) -> list[Profile]:
    """Every profile that was in force at a commit, by world; with ``ended`` also those that had ended."""
    rows = tables.registrations.scan(transaction.LAST_CHANGE)
    known = (_profile(key, value) for key, value in rows if key != transaction.LAST_CHANGE)
    return [one for one in known if one.seq <= seq and (ended or seq < one.ended)]


def profiles_around(known: Iterable[Profile], home: int, above: Above) -> list[Profile]:
    """Those of some profiles that hold in a world: its own, and those of all worlds around it."""
    around = {node for level in containment_levels(home, above) for node in level}
    return [one for one in known if one.world in around]


def apply_profiled(on: DeferredRows, event: ev.Profiled) -> None:
    """A profile takes the place of the one before it in the same world, or ends it."""
    world = on.number(event.world)
    for before in profiles_known(on.tables, on.seq):
        if before.world == world:
            _put_profile(on.tables, before._replace(ended=on.seq))
    if event.node_types:
        said = event.profile, tuple(event.node_types), tuple(event.relations)
        _put_profile(on.tables, Profile(world, on.seq, schema.LIVE, event.details, *said))
    on.tables.registrations.put(transaction.LAST_CHANGE, schema.U64.pack(on.seq))


def _put_profile(tables: Tables, one: Profile) -> None:
    key = transaction.LAST_CHANGE + schema.U64_U64.pack(one.world, one.seq)
    tables.registrations.put(key, codec.encode([one.ended, one.details, one.name, one.node_types, one.relations]))


def _profile(key: bytes, value: bytes) -> Profile:
    world, seq = schema.U64_U64.unpack_from(key, len(transaction.LAST_CHANGE))
    ended, details, name, node_types, relations = msgspec.msgpack.decode(value)
    return Profile(world, seq, ended, details, name, tuple(node_types), tuple(relations))


EVERY_TYPE: Final = ""
"""What stands for all node types in a setting; no type has an empty name."""


class Tuning(NamedTuple):
    """Thresholds as commit ``seq`` set them for candidates of ``type`` in ``world`` (a node)."""

    world: int
    type: str
    seq: int
    row: schema.TuningRow


def tuning_in(tables: Tables, world: int, type_name: str, seq: int) -> Tuning | None:
    """The thresholds for exactly this type in one world, as they were in force at a commit."""
    prefix = _tuning_prefix(world, type_name)
    found = tables.tunings.last(prefix, prefix + schema.U64.pack(seq))
    known = None if found is None else _tuning(*found)
    return known if known is not None and known.row.ended > seq else None


def tunings_known(tables: Tables, seq: int, *, ended: bool = False) -> list[Tuning]:
    """List every tuning that was in force at a commit.

    By world and then by type; or also those that had ended.
    """
    rows = (_tuning(key, value) for key, value in tables.tunings.scan(b""))
    return [known for known in rows if known.seq <= seq and (ended or seq < known.row.ended)]


def tuning_at(tables: Tables, home: int, type_name: str, above: Above, seq: int) -> Tuning | None:
    """The thresholds for candidates of a type in a world; ``above`` reads containment."""
    for level in containment_levels(home, above):
        found = [known for node in level for known in _named_or_general(tables, node, type_name, seq)]
        if found:
            return min(found, key=lambda known: (known.type == EVERY_TYPE, known.seq, known.world))
    return None


def tunings_holding(tables: Tables, home: int, above: Above, seq: int) -> list[Tuning]:
    """The thresholds in a world for each type that is named anywhere, and for all others."""
    types = {EVERY_TYPE, *(known.type for known in tunings_known(tables, seq))}
    found = (tuning_at(tables, home, name, above, seq) for name in sorted(types))
    return list(dict.fromkeys(known for known in found if known is not None))


def is_anything_tuned(tables: Tables) -> bool:
    """True if thresholds were ever set for a world."""
    return next(iter(tables.tunings.scan(b"")), None) is not None


def _named_or_general(tables: Tables, world: int, type_name: str, seq: int) -> Iterator[Tuning]:
    for name in dict.fromkeys((type_name, EVERY_TYPE)):
        known = tuning_in(tables, world, name, seq)
        if known is not None:
            yield known


# -- events


def apply_tuned(on: DeferredRows, event: ev.Tuned) -> None:
    """Replace the thresholds for the same type in the same world."""
    world = on.number(event.world)
    _tuning_end(on, world, event.type)
    row = schema.TuningRow(
        event.fuzzy, event.phonetic, event.embedding, event.margin, event.most, schema.LIVE, event.details
    )
    _put_tuning(on.tables, Tuning(world, event.type, on.seq, row))


def apply_untuned(on: DeferredRows, event: ev.Untuned) -> None:
    """End the thresholds of a type in a world."""
    _tuning_end(on, on.number(event.world), event.type)


def _tuning_end(on: DeferredRows, world: int, type_name: str) -> None:
    before = tuning_in(on.tables, world, type_name, on.seq)
    if before is not None:
        _put_tuning(on.tables, before._replace(row=before.row._replace(ended=on.seq)))


def _put_tuning(tables: Tables, known: Tuning) -> None:
    tables.tunings.put(
        _tuning_prefix(known.world, known.type) + schema.U64.pack(known.seq), schema.TUNING.pack(*known.row)
    )


def _tuning_prefix(world: int, type_name: str) -> bytes:
    """The key prefix of a type in a world."""
    name = type_name.encode()
    return schema.U64.pack(world) + schema.U16.pack(len(name)) + name


def _tuning(key: bytes, value: bytes) -> Tuning:
    start = schema.U64.size + schema.U16.size
    end = start + schema.U16.unpack_from(key, schema.U64.size)[0]
    world, seq = schema.U64.unpack_from(key)[0], schema.U64.unpack_from(key, end)[0]
    return Tuning(world, key[start:end].decode(), seq, schema.TuningRow._make(schema.TUNING.unpack(value)))


# -- guards

MODES: Final[tuple[ev.GuardMode, ...]] = ("", "off", "warn", "enforce")
"""The modes by their numbers in a row, from the least strict on; the first means no setting."""


class Guards(NamedTuple):
    """What becomes of credentials and of personal data in a text."""

    credentials: ev.GuardMode
    personal: ev.GuardMode


UNGUARDED: Final = Guards("enforce", "off")
"""The default modes: a credential refuses the write, and texts stay as they are."""


class Guard(NamedTuple):
    """What commit ``seq`` said of ``world`` (a node)."""

    world: int
    seq: int
    row: schema.GuardRow

    @property
    def modes(self) -> Guards:
        return Guards(MODES[self.row.credentials], MODES[self.row.personal])


def guard_in(tables: Tables, world: int, seq: int) -> Guard | None:
    """What was said of exactly one world, as known at a commit."""
    prefix = schema.GUARDS + schema.U64.pack(world)
    found = tables.marks.last(prefix, prefix + schema.U64.pack(seq))
    return None if found is None else _guard(*found)


def guards_known(tables: Tables, seq: int) -> list[Guard]:
    """What was said of every world as known at a commit, where anything still is, by world."""
    said = (_guard(key, value) for key, value in tables.marks.scan(schema.GUARDS))
    newest = {each.world: each for each in said if each.seq <= seq}
    return [each for each in newest.values() if any(each.modes)]


def guards_at(tables: Tables, home: int, above: Above, seq: int) -> Guards:
    """The modes that hold for what is written into a world; ``above`` reads containment."""
    credentials = personal = 0
    for level in containment_levels(home, above):
        found = [known.row for node in level if (known := guard_in(tables, node, seq)) is not None]
        credentials = credentials or max((row.credentials for row in found), default=0)
        personal = personal or max((row.personal for row in found), default=0)
        if credentials and personal:
            break
    return Guards(MODES[credentials] or UNGUARDED.credentials, MODES[personal] or UNGUARDED.personal)


def is_anything_guarded(tables: Tables) -> bool:
    """True if a guard was ever set for a world."""
    return next(iter(tables.marks.scan(schema.GUARDS)), None) is not None


def apply_guarded(on: DeferredRows, event: ev.Guarded) -> None:
    """A guard replaces the earlier setting of the same world."""
    row = schema.GuardRow(MODES.index(event.credentials), MODES.index(event.personal), event.details)
    key = schema.MARK_KEY.pack(schema.GUARDS[0], on.number(event.world), on.seq)
    on.tables.marks.put(key, schema.GUARD.pack(*row))


def _guard(key: bytes, value: bytes) -> Guard:
    _, world, seq = schema.MARK_KEY.unpack(key)
    return Guard(world, seq, schema.GuardRow._make(schema.GUARD.unpack(value)))


TRUST_LEVELS: Final = ("none", "low", "fair", "full")
"""The levels from the lowest on. Subjects without a level count as the last."""
FULL_TRUST: Final = len(TRUST_LEVELS) - 1
TRUST_KINDS: Final[tuple[ev.TrustOf, ...]] = ("author", "source", "world", "rest", "author", "source")
"""The kinds of subjects by their numbers in a row; the last two by a keyed hash."""
_KEYED_KINDS: Final = 4
"""From this number on."""
_ANYTHING: Final = bytes(schema.TRUST_DIGEST_BYTES)
_TAKEN_BACK: Final = 255


class TrustStatement(NamedTuple):
    """A level set by a commit: the kind of its subject, the subject's digest, and the row.

    ``is_named``: the digest is of a name and not keyed, so it goes with the name.
    """

    kind: ev.TrustOf
    digest: bytes
    seq: int
    row: schema.TrustRow
    is_named: bool

    @property
    def level(self) -> int | None:
        """The level; ``None`` if one was taken back."""
        return None if self.row.level == _TAKEN_BACK else self.row.level


def trust_digest(secret: bytes, field: str, value: str) -> bytes:
    """What stands for a source in the store with a secret, or with an empty field for an author."""
    return hashing.keyed(secret, hashing.TRUSTED, field.encode(), value.encode())[: schema.TRUST_DIGEST_BYTES]


def legacy_trust_digest(field: str, value: str) -> bytes:
    """The digest of a subject in an earlier release, which no event has."""
    return hashing.digest(hashing.TRUSTED, field.encode(), value.encode())[: schema.TRUST_DIGEST_BYTES]


def apply_trusted(on: DeferredRows, event: ev.Trusted) -> None:
    """Store a level from this commit on."""
    about, is_named = event.world or _ANYTHING, event.of in ("author", "source") and not event.world
    if is_named:
        body = on.blobs.body(event.body)
        if body is None:
            return
        about = legacy_trust_digest(body.type if event.of == "source" else "", body.name)
    level = TRUST_LEVELS.index(event.level) if event.level else _TAKEN_BACK
    row = schema.TrustRow(level, event.body, event.details)
    key = _trust_prefix(event.of, about, is_named=is_named) + schema.U64.pack(on.seq)
    on.tables.trusts.put(key, schema.TRUST.pack(*row))


def forget_trust_named(tables: Tables, erased: Collection[tuple[int, int]]) -> None:
    """Forget what was said of names that are among erased blobs, and is known by nothing else."""
    gone = set(erased)
    for key, value in list(tables.trusts.scan(b"")):
        said = _trust_statement(key, value)
        if said.is_named and (said.seq, said.row.body) in gone:
            tables.trusts.put(key, None)


def trust_statements(
    tables: Tables, of: ev.TrustOf, about: bytes, seq: int, *, is_named: bool = False
) -> TrustStatement | None:
    """The level of a subject as known at a commit, even if it was removed.

    ``about`` is its lineage or digest, and empty for all the rest.
    """
    prefix = _trust_prefix(of, about or _ANYTHING, is_named=is_named)
    found = tables.trusts.last(prefix, prefix + schema.U64.pack(seq))
    return None if found is None else _trust_statement(*found)


def trusts_known(tables: Tables, seq: int) -> list[TrustStatement]:
    """Every level in force at a commit, by its subject."""
    newest = {said[:2]: said for said in trust_history(tables) if said.seq <= seq}
    return [said for said in newest.values() if said.level is not None]


def trust_history(tables: Tables) -> Iterator[TrustStatement]:
    """Every level that was ever said, of each thing in the order of the log."""
    return (_trust_statement(key, value) for key, value in tables.trusts.scan(b""))


def _trust_prefix(of: ev.TrustOf, digest: bytes, *, is_named: bool) -> bytes:
    return (
        bytes([TRUST_KINDS.index(of, _KEYED_KINDS if of in TRUST_KINDS[_KEYED_KINDS:] and not is_named else 0)])
        + digest
    )


def _trust_statement(key: bytes, value: bytes) -> TrustStatement:
    end = 1 + schema.TRUST_DIGEST_BYTES
    seq = schema.U64.unpack_from(key, end)[0]
    kind = TRUST_KINDS[key[0]]
    row = schema.TrustRow._make(schema.TRUST.unpack(value))
    return TrustStatement(kind, key[1:end], seq, row, kind in TRUST_KINDS[_KEYED_KINDS:] and key[0] < _KEYED_KINDS)
