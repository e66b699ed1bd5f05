"""What a command is."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from typing import Final, NamedTuple

from worlddb.tools.cli.output import Output

DONE: Final = 0
NO: Final = 1
"""The exit code of an answer that is no: a verification failed, stores differ."""
BUSY: Final = 5
"""The exit code of work that is not done yet, or that another process is doing."""


ONE_DOCUMENT: Final = "print one JSON document and nothing else"
ONE_A_LINE: Final = "print one JSON object a line and nothing else"


class Command(NamedTuple):
    """A command: ``summary`` for the list of commands, ``examples`` as pairs of a command line and what it does.

    ``arguments`` adds its own options to a parser; ``run`` does the work and returns the exit code. ``json`` is what
    help says of ``--json``: what is printed, or why nothing is.
    """

    name: str
    summary: str
    arguments: Callable[[ArgumentParser], None]
    run: Callable[[Namespace, Output], int]
    examples: tuple[tuple[str, str], ...]
    json: str = ONE_DOCUMENT
