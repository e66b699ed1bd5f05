"""Clocks and randomness are allowed in one module only; all others get the values."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.support.tidy.imports import imported
from tests.support.tidy.tree import Source

OWNER = "log/model/clock.py"

STOPWATCHES = frozenset(
    f"time.{name}{unit}" for name in ("monotonic", "perf_counter", "thread_time") for unit in ("", "_ns")
)
"""What tools/ may read, to show progress."""

CLOCKS_AND_RANDOMNESS = STOPWATCHES | {
    "datetime.date.today",
    "datetime.datetime.now",
    "datetime.datetime.today",
    "datetime.datetime.utcnow",
    "numpy.random",
    "os.getrandom",
    "os.urandom",
    "random",
    "secrets",
    "time.clock_gettime",
    "time.clock_gettime_ns",
    "time.ctime",
    "time.gmtime",
    "time.localtime",
    "time.process_time",
    "time.process_time_ns",
    "time.thread_time",
    "time.thread_time_ns",
    "time.time",
    "time.time_ns",
    "uuid",
}
"""Modules and names, by where they are defined. A module stands for all that it holds."""


def stray_effects(source: Source) -> Iterator[str]:
    """Uses of a clock or of randomness outside the module that owns them."""
    if not source.is_product or source.path == OWNER:
        return
    banned = CLOCKS_AND_RANDOMNESS - (STOPWATCHES if source.folder == "tools" else frozenset())
    found = {
        (line, entry)
        for line, name in (*imported(source), *_named(source))
        for entry in banned
        if f"{name}.".startswith(f"{entry}.")
    }
    for line, entry in sorted(found):
        yield f"{source.path}:{line}: {entry} is for {OWNER} alone"


def _named(source: Source) -> Iterator[tuple[int, str]]:
    """Line and full name of everything reached through an imported name, under any alias."""
    aliases = _aliases(source)
    for node in source.nodes:
        if isinstance(node, ast.Attribute) and (dotted := _dotted(node)):
            base, _, rest = dotted.partition(".")
            if base in aliases:
                yield node.lineno, f"{aliases[base]}.{rest}"


def _aliases(source: Source) -> dict[str, str]:
    aliases: dict[str, str] = {}
    for node in source.nodes:
        match node:
            case ast.Import(names=names):
                for alias in names:
                    first = alias.name.partition(".")[0]
                    aliases[alias.asname or first] = alias.name if alias.asname else first
            case ast.ImportFrom(module=str(module), names=names, level=0):
                aliases.update({alias.asname or alias.name: f"{module}.{alias.name}" for alias in names})
    return aliases


def _dotted(node: ast.expr) -> str | None:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=attribute):
            base = _dotted(value)
            return base and f"{base}.{attribute}"
    return None
