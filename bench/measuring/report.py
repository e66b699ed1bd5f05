"""Shared by all benchmark programs: arguments, the machine, tables for people and JSON for scripts."""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import lmdb
from rich import box
from rich.console import Console
from rich.table import Table

from worlddb import WorldDBError

DEFAULT_SEED: Final = 1
_LIBRARIES: Final = ("worlddb", "lmdb", "msgspec", "blake3", "tantivy")


def parser(doc: str | None) -> argparse.ArgumentParser:
    """Arguments that every program takes; the module's docstring is the help."""
    made = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--json", action="store_true", help="print one JSON object as the last line")
    made.add_argument("--seed", type=int, default=DEFAULT_SEED, help="the seed of the workload (default: 1)")
    return made


def positive(text: str) -> int:
    """Parse an argument that is a whole number from 1 on."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is less than 1")
    return number


def ended(main: Callable[[], None]) -> None:
    """Run a program; bad input ends it with one line instead of a traceback."""
    try:
        main()
    except WorldDBError as error:
        sys.exit(f"error[{error.code}]: {error}")


def machine() -> dict[str, str]:
    """The machine and the versions that the figures belong to."""
    found = {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "processor": _processor(),
        "memory": _memory(),
        "liblmdb": ".".join(str(part) for part in lmdb.version()),
    }
    return found | {name: version(name) for name in _LIBRARIES}


def _processor() -> str:
    lines = _lines("/proc/cpuinfo")
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{len(models)} x {models[0]}" if models else platform.processor() or "unknown"


def _memory() -> str:
    for line in _lines("/proc/meminfo"):
        if line.startswith("MemTotal:"):
            return f"{int(line.split()[1]) / 2**20:.1f} GiB"
    return "unknown"


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []


def report(
    arguments: argparse.Namespace,
    name: str,
    result: Mapping[str, Any],
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    notes: Sequence[str] = (),
    *more: tuple[Sequence[str], Iterable[Sequence[Any]]],
) -> None:
    """Print the table for people and, if asked for, ``result`` as one JSON object on the last line.

    ``more`` are columns and rows of further tables.
    """
    console = Console(file=sys.stdout, highlight=False, width=None if sys.stdout.isatty() else 118)
    where = machine()
    console.print(f"bench.{name}, seed {arguments.seed}", markup=False)
    console.print(", ".join(f"{key} {value}" for key, value in where.items()), markup=False)
    for heads, cells in ((columns, rows), *more):
        table = Table(*heads, box=box.SIMPLE_HEAD)
        for column in table.columns[1:]:
            column.justify = "right"
        for row in cells:
            table.add_row(*(shown(cell) for cell in row))
        console.print(table)
    for note in notes:
        console.print(note, markup=False)
    if arguments.json:
        whole = {"bench": name, "seed": arguments.seed, **result, "machine": where}
        print(json.dumps(whole, ensure_ascii=False), flush=True)


def shown(cell: Any) -> str:
    """A figure for people: three significant digits, thousands separated."""
    if isinstance(cell, float):
        if abs(cell) >= 1000:
            return f"{cell:,.0f}"
        return f"{cell:.3g}" if abs(cell) < 100 else f"{cell:.0f}"
    return f"{cell:,}" if isinstance(cell, int) else str(cell)


def p50(samples: Sequence[float]) -> float:
    """The median."""
    return statistics.median(samples)


def p95(samples: Sequence[float]) -> float:
    """The 95th percentile."""
    return percentile(samples, 95)


def percentile(samples: Sequence[float], share: int) -> float:
    """The sample that a share of the samples does not exceed."""
    ordered = sorted(samples)
    return ordered[min(len(ordered) - 1, -(-len(ordered) * share // 100) - 1)]


def rounded(value: float, digits: int = 4) -> float:
    """A figure rounded to its significant digits."""
    return round(value, digits)
