"""Forks and merges: read the worlds for them, and make their commands."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, Protocol

import msgspec

from worlddb.forks import merge_commands
from worlddb.log.model import errors, hashing, ids
from worlddb.log.store import bundle_contents
from worlddb.projections.tables.apply import log_marks
from worlddb.projections.tables.forks import fork_rows
from worlddb.projections.tables.storage import schema
from worlddb.projections.tables.storage.rows import Tables
from worlddb.query.export import bundle_export
from worlddb.query.forks import merge_plan
from worlddb.query.snapshot.snapshot import SnapshotSource
from worlddb.reconciler.commands import commands as cmd
from worlddb.reconciler.commands.outcome import Receipt, retry_while_changed, settled
from worlddb.reconciler.pipeline import Writer, execute
from worlddb.reconciler.transaction import inputs


class Store(SnapshotSource, Protocol):
    """A store to read, and its identity."""

    @property
    def store_id(self) -> bytes:
        """The store's random id."""

    @property
    def root(self) -> bytes:
        """The lineage of the root world."""


def fork(reader: Store, writer: Writer, command: cmd.Fork, seq: int, idempotency_key: str | None) -> Receipt:
    """Fork a world as of a commit."""
    with reader.snapshot() as snapshot:
        read_at = snapshot.log.head().seq
    assert isinstance(command.ref, bytes), "looked up before"
    contents = contents_of(reader, command.ref, seq)
    arrival = inputs.Arrival(command, contents, None, read_at=read_at)
    return execute(writer, arrival, idempotency_key)


def contents_of(reader: Store, ref: bytes, seq: int) -> bundle_contents.Contents:
    """A world with its interior as of a commit."""
    return bundle_contents.collect_contents(bundle_export.bundle_frames(reader, ref, seq, reader.store_id))


class Merge(msgspec.Struct, frozen=True, kw_only=True):
    """The plan of a merge, and its receipt.

    ``changes`` are what it does, ``conflicts`` what both sides changed and not alike, ``undecided`` those of them that
    are open: then nothing was written. ``erased`` are worlds that take no part, since their texts were erased on one
    side, or may not be written again. ``receipt`` is ``None`` where nothing was to be written, or nothing was asked.
    """

    fork: str
    into: str
    changes: tuple[merge_plan.MergeChange, ...]
    conflicts: tuple[merge_plan.MergeConflict, ...]
    undecided: tuple[merge_plan.MergeConflict, ...]
    erased: tuple[str, ...] = ()
    receipt: Receipt | None = None


def checked_choices(decide: object, otherwise: object) -> dict[str, merge_plan.Choice]:
    """Check the caller's decisions about conflicts, by their ids.

    Raises:
        InputError: it is no such thing.
    """
    if otherwise not in ("report", *merge_plan.CHOICES):
        raise errors.InputError(f"on_conflict is {errors.shown(otherwise)}", "Give report, ours or theirs")
    if decide is None:
        return {}
    if not isinstance(decide, Mapping):
        raise errors.InputError(f"decide is {errors.shown(decide)}", "Give the ids of conflicts with ours or theirs")
    for name, choice in decide.items():
        if not isinstance(name, str) or choice not in merge_plan.CHOICES:
            raise errors.InputError(
                f"decide has {errors.shown(choice)} for {errors.shown(name)}", "Give ours or theirs for its id"
            )
    return dict(decide)


class _Sides(NamedTuple):
    fork: bytes
    into: bytes
    seq: int
    plan: merge_plan.Plan
    ours: merge_plan.Side


def planned(
    reader: Store,
    fork: bytes,
    decide: Mapping[str, merge_plan.Choice],
    otherwise: merge_plan.Choice | None,
    known_by: int | None = None,
) -> _Sides:
    """Compare a fork with its origin as of a commit.

    Raises:
        InputError: it is no fork; or a decision is about no conflict.
    """
    with reader.snapshot() as snapshot:
        tables, seq = snapshot.tables, snapshot.log.head().seq if known_by is None else known_by
        node = tables.node_of(ids.Lineage(fork))
        row = None if node is None else fork_rows.top_of(tables, node, seq)
        if node is None or row is None:
            forks = [] if node is None else fork_rows.copies_of(tables, node, seq)
            tops = [tables.node(each.node).lineage.hex()[:12] for each in forks if each.how == fork_rows.TOP]
            told = f"; its forks are {', '.join(tops[-_NAMED:])}" if tops else ""
            raise errors.InputError(f"{fork.hex()[:12]} is not a fork{told}", "Look at view.forks(...)")
        merges = fork_rows.merges_of(tables, node, seq)
        since = merges[-1].as_of if merges else row.seq
        into = tables.node(row.origin).lineage
        names = dict(_pairs(tables, seq))
        secret = log_marks.secret_of(snapshot.log)
    then, now, there = (contents_of(reader, ref, at) for ref, at in ((fork, since), (fork, seq), (into, seq)))
    base, theirs, ours = (merge_plan.Side(each, names) for each in (then, now, there))
    with reader.snapshot() as snapshot:
        tables = snapshot.tables

        def is_forbidden(text: str) -> bool:
            digest = hashing.keyed(secret, hashing.FORBIDDEN, text.encode())
            return bool(text) and tables.forbidden.get(digest) is not None

        def is_elsewhere(lineage: bytes) -> bool:
            found = tables.node_of(ids.Lineage(lineage))
            above = [] if found is None else [tables.node(each).lineage for each in tables.containers(found)]
            return any(theirs.of(each) not in theirs.worlds for each in above)

        planner = merge_plan.Planner(
            base,
            ours,
            theirs,
            decide=decide,
            otherwise=otherwise,
            is_forbidden=is_forbidden,
            is_elsewhere=is_elsewhere,
        )
        plan = planner.plan()
    unknown = decide.keys() - {each.id for each in plan.conflicts}
    if unknown:
        raise errors.InputError(f"There is no conflict {min(unknown)!r:.80}", "Look at merge(..., plan=True)")
    return _Sides(fork, into, seq, plan, ours)


def _pairs(tables: Tables, seq: int) -> Iterator[tuple[bytes, bytes]]:
    """The worlds of a fork, each with its origin."""
    for key, value in tables.marks.scan(schema.FORKS):
        _, copy, since = schema.MARK_KEY.unpack(key)
        if since <= seq:
            yield tables.node(copy).lineage, tables.node(schema.FORK.unpack(value)[0]).lineage


_NAMED: Final = 5
"""How many forks of a world an error names, the newest."""


def merge(
    reader: Store,
    fork: bytes,
    decide: Mapping[str, merge_plan.Choice],
    otherwise: merge_plan.Choice | None,
    why: str,
    execute_all: Callable[[Sequence[cmd.Command], inputs.Look], Receipt] | None,
    known_by: int | None = None,
) -> Merge:
    """Plan a merge and, unless ``execute_all`` is ``None``, do it as one commit.

    One that is asked for again is planned as it was then, ``known_by`` the commit before it: so it comes to the same.

    Raises:
        IdempotencyConflict: what is asked for again was something else.
    """

    def attempt() -> Merge:
        sides = planned(reader, fork, decide, otherwise, known_by)
        plan = sides.plan
        told = Merge(
            fork=fork.hex(),
            into=sides.into.hex(),
            changes=plan.changes,
            conflicts=plan.conflicts,
            undecided=plan.undecided,
            erased=plan.erased,
        )
        if execute_all is None or plan.undecided or not plan.differs:
            if known_by is not None:
                raise errors.IdempotencyConflict(
                    f"Another command was committed under this idempotency key at {known_by + 1}",
                    "Use a new key for a new command",
                    seq=known_by + 1,
                )
            return told
        commands = merge_commands.commands_of(plan, sides.ours, fork, sides.into, why, reader.root)
        look = inputs.Look(sides.seq, 0, only_these=True, whole=True)
        return msgspec.structs.replace(told, receipt=settled(execute_all(commands, look)))

    return retry_while_changed(attempt)
