"""What the engine's own work kept, in a history in which texts and commits are missing."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from worlddb.log.store.log import LmdbLog
from worlddb.projections.tables.apply.log_marks import reclustered_through
from worlddb.projections.tables.storage.rows import Tables
from worlddb.reconciler.commands import Command, Embed, Recluster
from worlddb.reconciler.spaces import find_space


def fitted(command: Command, theirs: Tables, log: LmdbLog, ours: Tables) -> Command:
    """The command as it fits what is here; other than the engine's own are left as they are.

    Of vectors, those of texts that are here, under the numbers that their versions have here. Where an earlier commit
    of the same work is not here, it says nothing of how far the work has come.
    """
    if isinstance(command, Embed):
        space = find_space(log, ours, command.space)
        at = 0 if space is None else space.row.through
        command = msgspec.structs.replace(command, items=tuple(_items(command, theirs, ours)))
    elif isinstance(command, Recluster):
        at = reclustered_through(ours)
    else:
        return command
    return msgspec.structs.replace(command, after=at, through=command.through if at == command.after else at)


def _items(command: Embed, theirs: Tables, ours: Tables) -> Iterator[tuple[bytes, int, bytes, int, int]]:
    for lineage, version, values, statements, stated in command.items:
        there, here = theirs.node_of(lineage), ours.node_of(lineage)
        if there is not None and here is not None:
            body = theirs.version(there, version).body
            number = next((number for number, row in ours.version_rows(here) if row.body == body), None)
            if number is not None:
                yield lineage, number, values, statements, stated
