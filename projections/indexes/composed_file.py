"""Composed embeddings on the disk: one file that is replaced as a whole, and is only ever a shortcut.

``composed.npz`` has the worlds with members (``nodes``), whether anything in each has a vector (``filled``), the
vectors of those (``matrix``), what begins or ends by itself (``turns``: valid time and world), and ``told``, which is
JSON: of which store and history it is, and of which moment.
"""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from worlddb.log.store.durable import sync_file
from worlddb.projections.indexes.fields import Marker
from worlddb.projections.tables.asof import Moment

if TYPE_CHECKING:
    from worlddb.projections.indexes.pooling import Vector

FORMAT: Final = 1
"""Raised with any change of the file, or of how worlds are composed: one of another format is made anew."""

_FILE: Final = "composed.npz"


class Kept(NamedTuple):
    """What a composition holds, and the history and the moment that it is of."""

    marker: Marker
    valid: int
    effective: dict[int, Vector | None]
    turns: list[tuple[int, int]]

    @property
    def moment(self) -> Moment:
        """The moment that the vectors are of."""
        return Moment(self.marker.seq, self.valid)


def load(folder: Path, dimension: int) -> Kept | None:
    """What is kept in a folder; ``None`` if that is nothing, or nothing that can be read."""
    import numpy as np

    try:
        with (folder / _FILE).open("rb") as file, np.load(file, allow_pickle=False) as stored:
            told = json.loads(stored["told"].tobytes())
            nodes, filled, matrix, turns = (stored[name] for name in ("nodes", "filled", "matrix", "turns"))
        marker = Marker(bytes.fromhex(told["store"]), int(told["seq"]), bytes.fromhex(told["chain"]))
        whole = nodes.shape == filled.shape and matrix.shape == (int(filled.sum()), dimension)
        if told["format"] != FORMAT or not whole or matrix.dtype != np.float32 or turns.shape[1:] != (2,):
            return None
        rows = iter(matrix)
        effective = {
            node: next(rows) if has else None for node, has in zip(nodes.tolist(), filled.tolist(), strict=True)
        }
        return Kept(marker, int(told["valid"]), effective, [(time, node) for time, node in turns.tolist()])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, EOFError, zipfile.BadZipFile):
        return None


def write(folder: Path, kept: Kept, dimension: int) -> None:
    """Put another file in the place of the one that is there.

    Raises:
        OSError: the folder cannot be written; what is there stays.
    """
    import numpy as np

    nodes = sorted(kept.effective)
    vectors = [kept.effective[node] for node in nodes]
    there = [vector for vector in vectors if vector is not None]
    told = {
        "format": FORMAT,
        "store": kept.marker.store_id.hex(),
        "seq": kept.marker.seq,
        "chain": kept.marker.chain.hex(),
        "valid": kept.valid,
    }
    folder.mkdir(parents=True, exist_ok=True)
    fresh = folder / f"{_FILE}.new"
    with fresh.open("wb") as file:
        np.savez(
            file,
            told=np.frombuffer(json.dumps(told).encode(), dtype=np.uint8),
            nodes=np.array(nodes, dtype=np.int64),
            filled=np.array([vector is not None for vector in vectors], dtype=bool),
            matrix=np.stack(there) if there else np.zeros((0, dimension), dtype=np.float32),
            turns=np.array(kept.turns, dtype=np.int64).reshape(-1, 2),
        )
    # A file that was not synced may have its length after a crash, and zeros in it.
    sync_file(fresh)
    os.replace(fresh, folder / _FILE)
