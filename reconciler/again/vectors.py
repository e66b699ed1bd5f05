"""Recorded vectors in a history in which texts and commits are missing."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from worlddb.log.store.log import LmdbLog
from worlddb.projections.tables.tables import Tables
from worlddb.reconciler.commands import Embed
from worlddb.reconciler.embedding import find_space


def fitted(command: Embed, theirs: Tables, log: LmdbLog, ours: Tables) -> Embed:
    """The command with the vectors of texts that are here, under the numbers that their versions have here.

    Where an earlier batch of its space is not here, it says nothing of up to where the space is filled.
    """
    space = find_space(log, ours, command.space)
    at = 0 if space is None else space.row.through
    through = command.through if at == command.after else at
    return msgspec.structs.replace(command, after=at, through=through, items=tuple(_items(command, theirs, ours)))


def _items(command: Embed, theirs: Tables, ours: Tables) -> Iterator[tuple[bytes, int, bytes]]:
    for lineage, version, values in command.items:
        there, here = theirs.node_of(lineage), ours.node_of(lineage)
        if there is not None and here is not None:
            body = theirs.version(there, version).body
            number = next((number for number, row in ours.version_rows(here) if row.body == body), None)
            if number is not None:
                yield lineage, number, values
