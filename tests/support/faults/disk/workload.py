"""Run the script of the crash tests under the recorder."""

from __future__ import annotations

from pathlib import Path

from tests.support.faults.children import Acknowledged
from tests.support.faults.script import Run

STORE, ACKNOWLEDGED = "new/store", "acknowledged"
ERASED = "team sits in Basel"
"""A text that the script erases."""


def run(folder: str) -> None:
    """Make a store in a folder that is made with it, and run the script there."""
    Run(Path(folder) / STORE, Acknowledged(Path(folder) / ACKNOWLEDGED)).whole()
