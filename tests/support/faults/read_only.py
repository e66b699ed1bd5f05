"""Makes a store on its own file system and remounts that read-only."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import worlddb


def mount(*arguments: str) -> None:
    """Call ``mount``; this process has a name space of its own."""
    done = subprocess.run(["mount", *arguments], capture_output=True, text=True, timeout=180, check=False)
    if done.returncode:
        sys.exit(f"cannot be mounted: {done.stderr}")


def main(place: Path) -> None:
    """Print a word for each thing that is as it should be."""
    mount("-t", "tmpfs", "none", str(place))
    print("mounted")
    with worlddb.open(place / "store") as db:
        db.create("Note", "kept", content="the walrus is patient")
    # A mount cannot be made read-only under files that are open for writing. The mount is, and not its file system:
    # that one may not be set up anew by a user who is root in this name space only.
    mount("-o", "remount,bind,ro", str(place))
    for folder in (place / "store", place / "new"):
        try:
            worlddb.open(folder)
        except worlddb.UnavailableError:
            print("told")
    mount("-o", "remount,bind,rw", str(place))
    with worlddb.open(place / "store") as again:
        if again.create("Note", "after").seq == 3 and again.verify(deep=True).ok:
            print("written")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
