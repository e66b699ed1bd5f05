"""Whether a process of this machine runs: what one that was ended left behind may be cleared away."""

from __future__ import annotations

import os


def runs(process: int) -> bool:
    """True if there is a process of that number."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
