"""``python -m worlddb``: the command line."""

from __future__ import annotations

import sys

from worlddb.tools.cli.start import main

if __name__ == "__main__":
    sys.exit(main())
