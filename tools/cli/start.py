"""Where the process of the command line begins: an interruption ends it with a word, whenever it comes.

Nothing of the engine is imported before that is seen to: loading all of it takes a good part of a second, in which a
person may think better of a command.

What is said when the engine cannot be loaded: which library is missing, and what to type. Needs none of them.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import Final, NoReturn

INTERRUPTED: Final = 130
"""What a shell reports for a program that SIGINT has ended."""
INTERRUPTED_WORDS: Final = "interrupted; what was committed stays\n"


def main() -> int:
    """Load the command line and run one command; the exit code."""
    _hold_descriptors()
    # A process that was started to ignore interruptions (``nohup``, ``&``) goes on doing so.
    listens = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if listens:
        signal.signal(signal.SIGINT, _end)
    try:
        from worlddb.tools.cli.main import main as run
    except ImportError as error:
        return tell(error, sys.argv[1:])
    if not listens:
        return run()
    try:
        # A command is interrupted by an exception, so that it lets go of what it holds.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        code = run()
        signal.signal(signal.SIGINT, _end)
    except KeyboardInterrupt:
        _end()
    return code


def _hold_descriptors() -> None:
    """Give the numbers of standard streams that were closed to the null device.

    Otherwise the next files to be opened get them, and what a library writes to standard error stands in the store.
    """
    while (opened := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(opened)


def _end(*_: int | FrameType | None) -> NoReturn:
    """End the process where nothing is held that has to be let go, whatever is being imported or torn down."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        os.write(2, INTERRUPTED_WORDS.encode())
    finally:
        os._exit(INTERRUPTED)


UNAVAILABLE: Final = 5


def tell(error: ImportError, arguments: Sequence[str]) -> int:
    """Say what is wrong with the installation, as ``worlddb doctor`` would; the exit code.

    Raises:
        ImportError: nothing is, so this is a defect of ours.
    """
    from worlddb.installation import installation_symptoms

    found = [symptom for symptom in installation_symptoms() if symptom.wrong]
    if not found:
        raise error
    sys.stderr.write(f"error[installation]: WorldDB cannot start: {error}\n")
    if "--json" in arguments:
        told = {"code": "installation", "message": str(error), "remedy": found[0].command}
        sys.stdout.write(json.dumps({"error": told, "symptoms": [each._asdict() for each in found]}, indent=2) + "\n")
    for symptom in found:
        sys.stderr.write(f"  {symptom.what}\n    {symptom.command}\n")
    return UNAVAILABLE
