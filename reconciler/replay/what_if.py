"""What if: a history gone through again without some of its commits, into a store that says that it is hypothetical.

Up to the first commit that is left out, the store is a replay. From there on each commit keeps its number, author and
times, and is decided again on what is so there. What cannot be decided again is taken over if all that it names is as
it was. In the place of what is left out stands a commit that says so. Ids stay wherever the same is decided.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from worlddb.log.model.collector import collector_paused
from worlddb.log.model.errors import InputError
from worlddb.log.model.ids import HASH_BYTES
from worlddb.log.store.environment import Environment
from worlddb.log.store.log import LmdbLog
from worlddb.projections.runner import Progress
from worlddb.projections.scrub import finish_erasures
from worlddb.projections.tables.apply.log_marks import refuse_supposed
from worlddb.projections.tables.storage.rows import Tables
from worlddb.projections.tables.storage.schema import ROOT_NODE
from worlddb.reconciler.replay.decide_again import Deciding
from worlddb.reconciler.replay.event_comparison import Hypothesis, Redecision
from worlddb.reconciler.replay.history import History, Without, erases
from worlddb.reconciler.replay.replay import Replayed, replay

CHUNK_COMMITS: Final = 64
"""How many commits are decided in one transaction of the new store."""


def suppose(
    source: Environment,
    target: Environment,
    until: int,
    without: Without,
    deciding: Deciding,
    progress: Progress | None = None,
) -> Replayed:
    """Go through commits 1 to ``until`` without some of them, into an empty store.

    Raises:
        DamagedStore: a commit is not what was written.
        InputError, HypotheticalStore: as :func:`first_left_out`.
    """
    first = first_left_out(source, until, without)
    replay(source, target, first - 1)
    history = History(source, target, until, first, without, deciding)
    same = 0
    found: list[Redecision] = []
    with collector_paused():
        for begin in range(first, until + 1, CHUNK_COMMITS):
            upto = min(begin + CHUNK_COMMITS - 1, until)
            unchanged, others = target.write(partial(history.go_on, begin, upto))
            same += unchanged
            found.extend(others)
            if progress is not None:
                progress(upto, until)
    finish_erasures(target)
    with source.read() as theirs, target.read() as ours:
        recorded = LmdbLog(theirs).header(until).root.hex()
        row = Tables(ours).hash_row(ROOT_NODE, until)
        assert row is not None, "the root world has a hash since commit 1"
        hypothesis = Hypothesis(
            supposes=history.sentence,
            store_id=history.store_id.hex(),
            parted=first - 1,
            same=same,
            differing=tuple(found),
        )
        root = row[1][:HASH_BYTES].hex()
        return Replayed(until, root, root == recorded, hypothesis)


def first_left_out(source: Environment, until: int, without: Without) -> int:
    """The first commit that is to be left out.

    Raises:
        InputError: there is none, or one of them cannot be left out.
        HypotheticalStore: the source is hypothetical itself.
    """
    with source.read() as reading:
        refuse_supposed(Tables(reading), "nothing more can be left out of it")
        return _first(LmdbLog(reading), until, without)


def _first(log: LmdbLog, until: int, without: Without) -> int:
    if min(without.commits, default=2) < 2:
        raise InputError("Commit 1 made the store, so nothing is left without it", "Leave out later commits")
    beyond = max(without.commits, default=0)
    if beyond > until:
        raise InputError(f"Commit {beyond} is not among commits 1 to {until}", "Name commits up to that moment")
    for seq in sorted(without.commits):
        if erases(log.events(seq)):
            raise InputError(f"Commit {seq} erased texts, which cannot come back", "Leave it in")
    wanted = (seq for seq in range(2, until + 1) if without.covers(log.header(seq)))
    first = next((seq for seq in wanted if not erases(log.events(seq))), 0)
    if not first:
        authors = ", ".join(repr(author) for author in sorted(without.authors))
        raise InputError(f"No commit from 2 to {until} is by {authors or 'nobody'}", "See who wrote what with `log`")
    return first
