"""Measure the house rules: module sizes, imports, import circles, and files that a write and a read enter.

Everything is counted afresh from the sources of the product. An import counts wherever it stands, inside a function or
for types alone. Code lines are those that are neither blank nor comment nor docstring, import lines those of import
statements. A walk is traced while the call runs, in every thread: the files of the product that it enters, the
functions in them, and the read transactions that it opens.
"""

from __future__ import annotations

import ast
import statistics
import sys
import tempfile
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Final, NamedTuple, TypeGuard
from unittest import mock

import worlddb
from bench.measuring.report import parser, report
from worlddb.log.store.environment import Environment

ROOT: Final = Path(__file__).resolve().parents[1]
ROOMS: Final = ("log", "projections", "reconciler", "query", "worlddb", "tools")
MAX_MODULES: Final = 290
"""For the engine and what an agent needs of it every day. Who adds a file beyond merges two that hold one idea."""
CAPABILITIES: Final = (
    "accounts",
    "beliefs",
    "client",
    "consolidation",
    "coverage",
    "dream",
    "enrichment",
    "forks",
    "intake",
    "kumiho",
    "redaction",
    "server",
    "sparql",
    "statements",
    "streams",
    "working",
)
"""What stands on the engine and has one folder in each room that it touches, under this name; counted apart."""
MAX_OF_A_CAPABILITY: Final = 30
SMALL_LINES: Final = 60
LONG_LINES: Final = 500
"""From here on a file is asked whether it holds one idea; the answer may be yes."""


class Module(NamedTuple):
    """One source file of the product, and the modules of the product that it imports."""

    path: str
    lines: int
    code_lines: int
    import_lines: int
    imports: frozenset[str]

    @property
    def folder(self) -> str:
        # ``python -m worlddb`` has to live in the façade's folder, and is the command line.
        return "tools" if self.path == "worlddb/__main__.py" else self.path.rpartition("/")[0]

    @property
    def capability(self) -> str:
        """The capability that it belongs to, ``""`` for the engine."""
        return next((each for each in CAPABILITIES if each in self.folder.split("/")), "")


class Walk(NamedTuple):
    """What one call enters: functions by file, in the order in which the files were first entered."""

    functions: dict[str, set[str]]
    read_transactions: int


Graph = Mapping[str, Iterable[str]]


def modules() -> dict[str, Module]:
    """Every module of the product by its dotted name."""
    paths = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))
    named = {_name(path): path for path in paths}
    return {name: _module(name, path, named) for name, path in named.items()}


def _name(path: Path) -> str:
    parts = list(path.relative_to(ROOT).with_suffix("").parts)
    if parts[-1] == "__init__":
        parts.pop()
    return ".".join(parts if parts[0] == "worlddb" else ["worlddb", *parts])


def _module(name: str, path: Path, known: Mapping[str, Path]) -> Module:
    text = path.read_text("utf-8")
    nodes = list(ast.walk(ast.parse(text)))
    statements = [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
    import_lines = {line for node in statements for line in _lines(node)}
    docstrings = {line for node in nodes if _is_text(node) for line in _lines(node)}
    lines = text.splitlines()
    code = {at for at, line in enumerate(lines, 1) if line.strip() and not line.lstrip().startswith("#")} - docstrings
    imports = frozenset(each for node in statements for each in _imported(node, known) if each != name)
    return Module(path.relative_to(ROOT).as_posix(), len(lines), len(code), len(import_lines), imports)


def _lines(node: ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _is_text(node: ast.AST) -> TypeGuard[ast.Expr]:
    """Tell whether a node is a docstring: of a module, class or function, or below a name."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _imported(node: ast.Import | ast.ImportFrom, known: Mapping[str, Path]) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if alias.name in known)
        return
    for alias in node.names:
        for name in (f"{node.module}.{alias.name}", node.module or ""):
            if name in known:
                yield name
                break


# -- the graph


def circles(graph: Graph) -> list[list[str]]:
    """Sets of nodes that reach one another, largest first (Tarjan's strongly connected components)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in graph.get(node, ()):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            start = stack.index(node)
            if len(stack) - start > 1:
                found.append(sorted(stack[start:]))
            del stack[start:]

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, 10_000))
    for node in graph:
        if node not in index:
            visit(node)
    sys.setrecursionlimit(limit)
    return sorted(found, key=len, reverse=True)


def folders(known: Mapping[str, Module]) -> dict[str, set[str]]:
    """Arrows between folders: every folder of the product, and those that its modules import from."""
    graph: defaultdict[str, set[str]] = defaultdict(set)
    for module in known.values():
        graph[module.folder] |= {known[name].folder for name in module.imports} - {module.folder}
    return dict(graph)


def first_level(known: Mapping[str, Module], room: str) -> tuple[int, int]:
    """Boxes and arrows that one sees on opening a folder: its modules and subfolders, and who imports whom."""

    def box(path: str) -> str | None:
        return path.removeprefix(f"{room}/").split("/")[0] if path.startswith(f"{room}/") else None

    boxes = {found for module in known.values() if (found := box(module.path)) not in (None, "__init__.py")}
    pairs = ((box(module.path), box(known[name].path)) for module in known.values() for name in module.imports)
    return len(boxes), len({pair for pair in pairs if None not in pair and pair[0] != pair[1]})


def repeated_names(known: Mapping[str, Module]) -> list[str]:
    """Names that several modules have."""
    names = Counter(Path(module.path).stem for module in known.values())
    return sorted(name for name, count in names.items() if count > 1 and not name.startswith("__"))


# -- the walks


def walks() -> dict[str, Walk]:
    """Trace a create under a key, and a recall in a new view, in a store of some worlds."""
    with tempfile.TemporaryDirectory(prefix="worlddb-house-") as folder, worlddb.open(Path(folder, "store")) as db:
        team = db.create("Topic", "Search team")
        db.create("Entity", "Sarah Chen", content="engineering lead", world=team, valid_from="2024-01-01")
        for number in range(20):
            db.create("Fact", f"note {number}", content=f"Sarah said thing {number} about Porto", world=team)

        def create() -> None:
            db.create("Entity", "Sara Chen", content="ranking", world=team, valid_from="2024-02-01", key="sara")

        def recall() -> None:
            db.view().recall("where did Sarah work two weeks ago?", k=5)

        created = traced(create)
        # The indexes catch up in the first recall after a write, in a transaction of their own.
        recall()
        return {"create": created, "recall": traced(recall)}


def traced(call: Callable[[], object]) -> Walk:
    """Run a call and note what it enters."""
    functions: dict[str, set[str]] = {}
    rooms = tuple(f"{ROOT / room}/" for room in ROOMS)

    def profile(frame: FrameType, event: str, argument: object) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(rooms):
            functions.setdefault(name.removeprefix(f"{ROOT}/"), set()).add(frame.f_code.co_qualname)

    with _counted_reads() as reads:
        threading.setprofile(profile)
        sys.setprofile(profile)
        try:
            call()
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
    return Walk(functions, len(reads))


@contextmanager
def _counted_reads() -> Iterator[list[None]]:
    reads: list[None] = []
    read = Environment.read

    def counted(self: Environment) -> Any:
        reads.append(None)
        return read(self)

    with mock.patch.object(Environment, "read", counted):
        yield reads


# -- all of it


def measure() -> dict[str, Any]:
    """Every figure by its key, as ``--json`` prints them."""
    known = modules()
    lines = [module.lines for module in known.values()]
    code = sum(module.code_lines for module in known.values())
    fullest = Counter(m.folder for m in known.values() if not m.path.endswith("__init__.py")).most_common(1)[0]
    traced_walks = walks()
    return {
        "modules": sum(not module.capability for module in known.values()),
        "capabilities": {each: sum(m.capability == each for m in known.values()) for each in CAPABILITIES},
        "median_lines": statistics.median(lines),
        "small_modules": sum(count < SMALL_LINES for count in lines),
        "import_percent": round(100 * sum(module.import_lines for module in known.values()) / code, 1),
        "fullest_folder": fullest[0],
        "fullest_folder_modules": fullest[1],
        "first_level": {room: first_level(known, room) for room in ("reconciler", "query", "projections/tables")},
        "module_circles": circles({name: sorted(module.imports) for name, module in known.items()}),
        "folder_circles": circles({name: sorted(others) for name, others in folders(known).items()}),
        "repeated_names": repeated_names(known),
        "long_modules": {m.path: m.lines for m in known.values() if m.lines > LONG_LINES},
        "create_files": len(traced_walks["create"].functions),
        "create_functions": sum(map(len, traced_walks["create"].functions.values())),
        "recall_files": len(traced_walks["recall"].functions),
        "recall_functions": sum(map(len, traced_walks["recall"].functions.values())),
        "recall_transactions": traced_walks["recall"].read_transactions,
        "walks": {name: list(walk.functions) for name, walk in traced_walks.items()},
    }


def main() -> None:
    arguments = parser(__doc__).parse_args()
    found = measure()
    rows: list[tuple[object, ...]] = [
        ("modules of the engine", found["modules"], f"at most {MAX_MODULES}"),
        *((f"modules of {each}", n, f"at most {MAX_OF_A_CAPABILITY}") for each, n in found["capabilities"].items()),
        ("lines of a module, median", found["median_lines"], ""),
        (f"modules under {SMALL_LINES} lines", found["small_modules"], "fewer than 40"),
        ("import lines, percent of code lines", found["import_percent"], "at most 7"),
        (f"fullest folder: {found['fullest_folder']}", found["fullest_folder_modules"], "at most 20"),
        *((f"{room}: boxes, arrows", "{} and {}".format(*pair), "") for room, pair in found["first_level"].items()),
        ("import circles of modules", len(found["module_circles"]), "none"),
        ("import circles of folders", len(found["folder_circles"]), "none"),
        ("module names used twice", len(found["repeated_names"]), "none"),
        ("files that one create enters", found["create_files"], "at most 35"),
        ("files that one recall enters", found["recall_files"], "at most 35"),
        ("read transactions of one recall", found["recall_transactions"], "at most 3"),
    ]
    notes = [f"A circle of modules: {', '.join(circle)}" for circle in found["module_circles"]]
    notes += [f"A circle of folders: {', '.join(circle)}" for circle in found["folder_circles"]]
    notes += [f"{path} has {lines} lines: does it hold one idea?" for path, lines in found["long_modules"].items()]
    report(arguments, "house", found, ("", "now", "wanted"), rows, tuple(notes))


if __name__ == "__main__":
    main()
