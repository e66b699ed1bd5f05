"""How the vectors of a world's members and of its own text become one vector (paper §5). Pure functions of numbers.

Sums go in one order and in double precision, without a linear-algebra library, so that the same numbers always give
the same bits, however often and in whatever company a world is composed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from worlddb.log.model.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

Pool = Callable[["Vector | None", "Sequence[Vector]"], "Vector | None"]
"""Makes one vector of a world's content anchor, which it may lack, and its members' effective vectors."""

ATTENTION: Final = "attention"
MEAN: Final = "mean"


def mean_pool(anchor: Vector | None, members: Sequence[Vector]) -> Vector | None:
    """The direction of the mean of anchor and members (the paper's v1, equation 6); ``None`` if there is none."""
    import numpy as np

    given = [*members] if anchor is None else [anchor, *members]
    if not given:
        return None
    total = np.add.reduce(np.asarray(given, dtype=np.float64), axis=0)
    return _unit(total / len(given))


def attention_pool(anchor: Vector | None, members: Sequence[Vector]) -> Vector | None:
    """The direction of the anchor plus the members weighted by how much they are about the same (v2, equations 7, 8).

    A world without an anchor asks nothing of its members, so all of them weigh the same.
    """
    import numpy as np

    if anchor is None or not members:
        return mean_pool(anchor, members)
    asked = np.asarray(anchor, dtype=np.float64)
    values = np.asarray(members, dtype=np.float64)
    scores = np.add.reduce(values * asked, axis=1) / math.sqrt(asked.size)
    weights = np.exp(scores - scores.max())
    weights /= np.add.reduce(weights)
    return _unit(asked + np.add.reduce(values * weights[:, None], axis=0))


def _unit(total: NDArray[np.float64]) -> Vector | None:
    """The vector of length 1 in a direction; ``None`` if it has none."""
    import numpy as np

    length = math.sqrt(float(np.add.reduce(total * total)))
    return None if length < _NOTHING else np.asarray(total / length, dtype=np.float32)


_NOTHING: Final = 1e-9
"""Shorter sums are what is left of rounding where vectors cancel out."""

POOLS: Final[dict[str, Pool]] = {ATTENTION: attention_pool, MEAN: mean_pool}


def checked_pool(pool: str) -> str:
    """The name of a pool.

    Raises:
        InputError: it is none.
    """
    if pool not in POOLS:
        raise InputError(f"There is no pool {pool!r:.80}", f"Give one of: {', '.join(POOLS)}")
    return pool
