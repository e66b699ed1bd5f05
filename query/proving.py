"""Proofs made from a store: checkpoints, inclusion and consistency. What checks them is in ``log/model/``."""

from __future__ import annotations

from worlddb.log.model.checkpoint import OwnCheckpoint, Standing, origin_of
from worlddb.log.model.errors import InputError
from worlddb.log.model.merkle import tree_root
from worlddb.projections.tables.log_tree import LogTree
from worlddb.query.snapshot import Snapshot


def checkpoint_at(snapshot: Snapshot, store_id: bytes, seq: int) -> OwnCheckpoint:
    """What the store was after a commit.

    Raises:
        InputError: ``seq`` is 0, when there was nothing.
    """
    if not seq:
        raise InputError("Nothing had been committed by then", "Name a later time, or a commit from 1 on")
    header = snapshot.log.header(seq)
    standing = Standing(snapshot.log.chain(seq), header.root, header.ingest_time)
    return OwnCheckpoint(origin_of(store_id), seq, tree_root(LogTree(snapshot.log, snapshot.tables), seq), standing)
