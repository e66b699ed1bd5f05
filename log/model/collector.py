"""Python's cycle collector, paused while very many rows are made at once.

None of them is in a cycle, and looking through them again and again takes a tenth of a bulk load's time.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause the collector, and set it going again if it was on. What is freed by counting is freed all the same."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()
