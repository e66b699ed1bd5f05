"""Limits on the size and content of committed files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MAX_FILE_BYTES = 256 * 1024

# Letters in brackets, so that this file does not hold what it looks for.
_HOSTS = (
    r"p[y]pi\.org",
    r"p[y]thonhosted\.org",
    r"registry\.n[p]mjs",
    r"deb\.d[e]bian\.org",
    r"conda\.a[n]aconda\.org",
    r"download\.p[y]torch\.org",
    r"proxy\.g[o]lang\.org",
)
_FOLDERS = ("w[o]rk/", "f[a]rm/", "o[p]t/", "h[o]me/", "U[s]ers/", r"r[o]ot/\.")

PLACES = re.compile(rf"({'|'.join(_HOSTS)})|(?<![\w.~}})$-])/(?:{'|'.join(_FOLDERS)})\S*".encode())
"""A package registry's host, or an absolute path that exists on somebody's machine only."""


@dataclass(frozen=True)
class File:
    """A committed file; what a link holds is the path it points to."""

    path: str
    data: bytes

    @classmethod
    def read(cls, root: Path, path: str) -> File:
        place = root / path
        return cls(path, os.fsencode(os.readlink(place)) if place.is_symlink() else place.read_bytes())


def heavy_files(file: File) -> Iterator[str]:
    if len(file.data) > MAX_FILE_BYTES:
        yield f"{file.path}: {len(file.data)} bytes, not {MAX_FILE_BYTES}"


def places(file: File) -> Iterator[str]:
    for number, line in enumerate(file.data.splitlines(), 1):
        if found := PLACES.search(line):
            yield f"{file.path}:{number}: names {found[0].decode('utf-8', 'replace')}"
