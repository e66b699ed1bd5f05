"""``python -m worlddb``: the command line."""

import sys

from worlddb.tools.cli.start import main

if __name__ == "__main__":
    sys.exit(main())
