"""The committed and committable files, and the Python sources among them."""

from __future__ import annotations

import ast
import gc
import os
import subprocess
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[3]

ROOMS = ("log", "projections", "reconciler", "query", "worlddb", "tools")
"""The folders that are the product."""


def module_of(path: str) -> str:
    """The name that a file is imported by: ``log/model/ids.py`` is ``worlddb.log.model.ids``."""
    parts = list(PurePosixPath(path).with_suffix("").parts)
    if parts[-1] == "__init__":
        parts.pop()
    if parts[:1] and parts[0] in ROOMS and parts[0] != "worlddb":
        parts.insert(0, "worlddb")
    return ".".join(parts)


@dataclass(frozen=True)
class Source:
    """One Python file; ``path`` is relative to the repository's root, with forward slashes."""

    path: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text, self.path)

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """Everything in the tree, walked through once for all rules."""
        return tuple(ast.walk(self.tree))

    @property
    def folder(self) -> str:
        """The top-level folder: a room, ``bench``, ``tests``, or another."""
        return PurePosixPath(self.path).parts[0]

    @property
    def is_product(self) -> bool:
        return self.folder in ROOMS

    @property
    def module(self) -> str:
        return module_of(self.path)

    @property
    def package(self) -> str:
        """What a relative import starts from."""
        is_package = PurePosixPath(self.path).name == "__init__.py"
        return self.module if is_package else self.module.rpartition(".")[0]


def repository_files() -> tuple[str, ...]:
    """Every file that git tracks or would add; without git, all that is not hidden or made."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout
    except (OSError, subprocess.CalledProcessError):
        names: Iterable[str] = _walk()
    else:
        names = {os.fsdecode(name) for name in listed.split(b"\0") if name}
    return tuple(sorted(name for name in names if os.path.lexists(ROOT / name)))


def _walk() -> Iterator[str]:
    made = {"__pycache__", "build", "dist", "worlddb-store"}
    for folder, subfolders, files in os.walk(ROOT):
        subfolders[:] = [
            name
            for name in subfolders
            if name not in made and not name.endswith(".egg-info") and (name[0] != "." or name == ".ci")
        ]
        yield from (Path(folder, name).relative_to(ROOT).as_posix() for name in files)


def repository_sources(files: Iterable[str]) -> tuple[Source, ...]:
    return tuple(
        Source(name, (ROOT / name).read_text("utf-8"))
        for name in files
        if name.endswith(".py") and not (ROOT / name).is_symlink()
    )


@cache
def parsed_sources() -> tuple[Source, ...]:
    """All of them, parsed: the trees stay, and the collector would look through them again and again meanwhile."""
    found = repository_sources(repository_files())
    gc.disable()
    try:
        assert all(source.nodes for source in found if source.text)
        gc.freeze()
    finally:
        gc.enable()
    return found


def entry_points() -> frozenset[str]:
    """The modules that the installed commands start in."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return frozenset(target.partition(":")[0] for target in project.get("scripts", {}).values())
