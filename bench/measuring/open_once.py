"""Open a store once in a fresh process and print the time: ``python -m bench.measuring.open_once PATH REF``."""

from __future__ import annotations

import json
import sys
from time import perf_counter


def main() -> None:
    began = perf_counter()
    import worlddb

    imported = perf_counter()
    db = worlddb.open(sys.argv[1], author="bench", create=False)
    opened = perf_counter()
    found = db.view().get(sys.argv[2])
    answered = perf_counter()
    assert found is not None and found.ref == sys.argv[2], "the first get did not answer"
    times = {"import_ms": imported - began, "open_ms": opened - imported, "total_ms": answered - imported}
    print(json.dumps({name: 1000 * seconds for name, seconds in times.items()}))
    db.close()


if __name__ == "__main__":
    main()
