"""Rules on lengths, and on words that mark unfinished work."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.support.tidy.tree import Source

WARN_FILE_LINES = 500
"""From here on a file is asked whether it holds one idea; the answer may be yes."""
MAX_FUNCTION_LINES = 70
MAX_LINE_CHARACTERS = 120

# Letters in brackets, so that this file does not hold what it looks for.
UNFINISHED = re.compile(r"\b(F[I]XME|T[O]DO|X[X]X|NotI[m]plementedError)\b")


def long_files(source: Source) -> Iterator[str]:
    lines = len(source.text.splitlines())
    if lines > WARN_FILE_LINES:
        yield f"{source.path}: {lines} lines; does it hold one idea?"


def long_functions(source: Source) -> Iterator[str]:
    for node in source.nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > MAX_FUNCTION_LINES:
                yield f"{source.path}:{node.lineno}: {node.name} has {lines} lines, not {MAX_FUNCTION_LINES}"


def long_lines(source: Source) -> Iterator[str]:
    for number, line in enumerate(source.text.splitlines(), 1):
        if len(line) > MAX_LINE_CHARACTERS:
            yield f"{source.path}:{number}: {len(line)} characters, not {MAX_LINE_CHARACTERS}"


def unfinished_places(source: Source) -> Iterator[str]:
    for number, line in enumerate(source.text.splitlines(), 1):
        if found := UNFINISHED.search(line):
            yield f"{source.path}:{number}: {found[0]} says that this is not finished"
