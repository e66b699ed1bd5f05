"""Import rules: the table of rooms, and modules without importers."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from tests.support.tidy.tree import ROOMS, Source

MAY_IMPORT = {
    "log": {"log"},
    "projections": {"projections", "log"},
    "reconciler": {"reconciler", "projections", "log"},
    "query": {"query", "projections", "log"},
    "worlddb": {"worlddb", "reconciler", "query", "projections", "log"},
    "tools": {"tools", "worlddb"},
    "bench": {"bench", *ROOMS},
    "tests": {"tests", "bench", *ROOMS},
    # What makes pages of docstrings and of help.
    "docs": {"worlddb", "tools"},
}
"""log <- projections <- {reconciler, query} <- worlddb <- tools; measurements and tests see everything."""

ROOM_OF_FILE = {"worlddb/__main__.py": "tools"}
"""``python -m worlddb`` has to live in the façade's folder, and is the command line."""

DYNAMIC = {"import_module", "__import__"}

TABLED = {"worlddb/__init__.py"}
"""Loads public names from a table, so that each comes alone; ``test_docs_facts.py`` compares it with what type checkers
read, which are imports."""


def imported(source: Source) -> Iterator[tuple[int, str]]:
    """Line and full name of all that a source imports.

    ``from a import b`` gives ``a.b``, whether b is a module or a name in one; an import by text counts too.
    """
    for node in source.nodes:
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name) for alias in names)
            case ast.ImportFrom(names=names):
                base = _base(source, node)
                yield from ((node.lineno, base if a.name == "*" else f"{base}.{a.name}") for a in names)
            case ast.Call(args=[ast.Constant(value=str(name)), *_]) if _is_dynamic(node):
                yield node.lineno, name


def _base(source: Source, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    parents = source.package.split(".")
    kept = parents[: len(parents) - node.level + 1]
    return ".".join([*kept, node.module] if node.module else kept)


def _is_dynamic(call: ast.Call) -> bool:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in DYNAMIC
    return False


def room_of(name: str) -> str | None:
    """The room that a dotted name belongs to; none if it is not ours."""
    first, _, rest = name.partition(".")
    if first != "worlddb":
        return first if first in ("bench", "tests") else None
    second = rest.partition(".")[0]
    return second if second in ROOMS and second != "worlddb" else "worlddb"


def wrong_imports(source: Source) -> Iterator[str]:
    """Imports that the table of rooms does not allow."""
    room = ROOM_OF_FILE.get(source.path, source.folder)
    allowed = MAY_IMPORT.get(room, set())
    in_model = source.path.startswith("log/model/")
    for line, name in imported(source):
        other = room_of(name)
        if name.partition(".")[0] in ROOMS and other is None:
            yield f"{source.path}:{line}: imports {name}; it is installed as worlddb.{name}"
        elif other is not None and other not in allowed:
            yield f"{source.path}:{line}: {room}/ may not import {other}/ ({name})"
        elif other is not None and in_model and not name.startswith("worlddb.log.model"):
            yield f"{source.path}:{line}: log/model/ is pure and imports only itself ({name})"


def hidden_imports(source: Source) -> Iterator[str]:
    """Imports of a computed name, which no reader and no test can follow."""
    if not source.is_product or source.path in TABLED:
        return
    for node in source.nodes:
        if isinstance(node, ast.Call) and _is_dynamic(node):
            first = node.args[0] if node.args else None
            if not (isinstance(first, ast.Constant) and isinstance(first.value, str)):
                yield f"{source.path}:{node.lineno}: imports a computed name"


def orphans(sources: Collection[Source], entry_points: Collection[str]) -> Iterator[str]:
    """Product modules that no other product module imports and no command starts in."""
    product = {source.module: source for source in sources if source.is_product}
    wanted = {
        name
        for source in product.values()
        for _, imported_name in imported(source)
        for name in _itself_and_parents(imported_name)
        if name != source.module
    }
    for module, source in product.items():
        is_start = source.path.endswith(("__init__.py", "__main__.py")) or module in entry_points
        if not is_start and module not in wanted:
            yield f"{source.path}: nothing in the product imports it"


def _itself_and_parents(name: str) -> Iterator[str]:
    while name:
        yield name
        name = name.rpartition(".")[0]
