"""Make a store on its own file system and remount that read-only."""

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


def frozen(place: Path) -> None:
    """Make the file system itself read-only, so that no mount of it can be written to: it is read without a lock."""
    mount("-t", "tmpfs", "none", str(place))
    with worlddb.open(place / "store") as db:
        db.create("Note", "kept", content="the walrus is patient")
        root = db.head().root
    mount("-o", "remount,ro", str(place))
    print("mounted")
    held = worlddb.open(place / "store")
    found = [hit.name for hit in held.view().recall("who is patient?")]
    if (found, held.head().root, held.verify().ok) == (["kept"], root, True):
        print("read")
    for call in (
        lambda: held.create("Note", "new"),
        lambda: held.verify(deep=True),
        lambda: worlddb.open(place / "new"),
    ):
        try:
            call()
        except worlddb.UnavailableError as error:
            print("told" if "opy" in error.remedy or "ermissions" in error.remedy else error.remedy)
    mount("-o", "remount,rw", str(place))
    # Another process writes now, and the handle that was open goes on with it.
    with worlddb.open(place / "store") as other:
        other.create("Note", "after")
    if held.create("Note", "last").seq > 3 and held.verify(deep=True).ok and (place / "store" / "lock.mdb").exists():
        print("written")


def main(place: Path) -> None:
    """Print a word for each check that passes."""
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
    (frozen if sys.argv[2:] == ["frozen"] else main)(Path(sys.argv[1]))
