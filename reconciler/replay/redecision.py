"""Decide every commit again on the state that it had, and compare.

It is a dry run that writes nothing. The state grows in scratch tables from the recorded events, so that one difference
does not lead to others.
"""

from functools import partial
from pathlib import Path
from typing import Final

import lmdb
import msgspec

from worlddb.log.model.codec import Events
from worlddb.log.store import environment, scratch, verify
from worlddb.log.store.log import Head, LmdbLog
from worlddb.projections.runner import Progress, apply_commit, collector_paused
from worlddb.projections.tables.storage.rows import Tables
from worlddb.reconciler.commands.outcome import Refused
from worlddb.reconciler.replay import event_comparison, recorded_commands
from worlddb.reconciler.replay.decider import Decider, RecordedNonces
from worlddb.reconciler.transaction.draft import Draft

CHUNK_COMMITS: Final = 64
"""How many commits are decided in one transaction of the scratch tables."""


class Redecided(msgspec.Struct, frozen=True, kw_only=True):
    """The result of deciding a history again: commits the same, differing, and undecidable."""

    first: int
    last: int
    same: int
    differing: tuple[event_comparison.Redecision, ...]
    undecidable: tuple[event_comparison.Redecision, ...]


def redecide(
    source: environment.Environment, decider: Decider, first: int, last: int, progress: Progress | None = None
) -> Redecided:
    """Decide commits ``first`` to ``last`` again.

    The commit that made the store had no commands and is left out.

    Raises:
        DamagedStore: a commit is not what was written.
        UnavailableError: no scratch tables can be written into the store's directory.
    """
    return scratch.with_tables(
        source.folder, lambda folder: _redecide_in(folder, source, decider, first, last, progress)
    )


def _redecide_in(
    folder: Path,
    source: environment.Environment,
    decider: Decider,
    first: int,
    last: int,
    progress: Progress | None,
) -> Redecided:
    same = 0
    found: list[event_comparison.Redecision] = []
    keys = recorded_commands.EdgeKeys(decider.secret)
    tables = environment.Environment(folder, author="redecide", timeout_seconds=5.0)
    try:
        with collector_paused():
            for begin in range(1, last + 1, CHUNK_COMMITS):
                upto = min(begin + CHUNK_COMMITS - 1, last)
                work = partial(_decide_some, source, decider, keys, (begin, upto), max(first, 2))
                unchanged, others = tables.write(work)
                same += unchanged
                found.extend(others)
                if progress is not None:
                    progress(upto, last)
    finally:
        tables.close()
    return Redecided(
        first=max(first, 2),
        last=last,
        same=same,
        differing=tuple(each for each in found if each.now != "undecidable"),
        undecidable=tuple(each for each in found if each.now == "undecidable"),
    )


def _decide_some(
    source: environment.Environment,
    decider: Decider,
    keys: recorded_commands.EdgeKeys,
    span: tuple[int, int],
    first: int,
    txn: lmdb.Transaction,
) -> tuple[int, list[event_comparison.Redecision]]:
    """Decide some commits again, and count those that come out the same.

    Also gives those that do not; the tables then have what was decided.
    """
    same = 0
    found: list[event_comparison.Redecision] = []
    with source.read() as reading:
        log, whole = LmdbLog(reading), Tables(reading)
        for seq in range(span[0], span[1] + 1):
            verify.see_that_it_holds(log, seq)
            events = log.events(seq)
            if seq >= first:
                # What is decided now stays in memory, and goes with these tables.
                other = _redecided(log, whole, Tables(txn), seq, events, decider, keys)
                same += other is None
                found.extend([] if other is None else [other])
            keys.learn(events)
            tables = Tables(txn)
            apply_commit(log, tables, seq)
            tables.flush()
    return same, found


def _redecided(
    log: LmdbLog,
    whole: Tables,
    tables: Tables,
    seq: int,
    events: Events,
    decider: Decider,
    keys: recorded_commands.EdgeKeys,
) -> event_comparison.Redecision | None:
    """What commit ``seq`` comes to now, if that is not what it came to then."""
    header = log.header(seq)
    then = event_comparison.decided_then(log, header, events)
    made: recorded_commands.RestoredCommands | recorded_commands.Undecidable | Refused | Draft = (
        recorded_commands.restore_commands(log, whole, seq, events, keys)
    )
    if isinstance(made, recorded_commands.RestoredCommands):
        nonces = RecordedNonces(log, seq, events, decider.secret)
        head = Head(seq - 1, log.chain(seq - 1))
        made = decider.decide(log, tables, head, header, made.commands, nonces)
    if isinstance(made, Draft):
        return event_comparison.compared(then, made)
    if isinstance(made, recorded_commands.Undecidable):
        return msgspec.structs.replace(then, now="undecidable", code=made.code, reason=made.reason, events_then=())
    return msgspec.structs.replace(then, now="refused", code=made.code, reason=made.reason, command=made.command)
