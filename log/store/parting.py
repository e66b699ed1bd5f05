"""Up to where two logs are one: the chain hash of a commit stands for all before it."""

from __future__ import annotations

from worlddb.log.store.log import LmdbLog


def common_commits(one: LmdbLog, other: LmdbLog) -> int:
    """How many commits two logs have in common, by the chain hashes that they keep; in a logarithm of their length.

    Raises:
        DamagedStore: a commit that was looked at is missing.
    """
    low, high = 0, min(one.head().seq, other.head().seq)
    while low < high:
        middle = (low + high + 1) // 2
        if one.chain(middle) == other.chain(middle):
            low = middle
        else:
            high = middle - 1
    return low
