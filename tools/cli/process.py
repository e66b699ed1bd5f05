"""The process of the command line: signals, standard streams, and a missing library.

It imports neither the engine nor a library, so it works before they are loaded and when they are missing.
"""

import json
import os
import signal
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from types import FrameType
from typing import Final, NoReturn, TextIO

from worlddb import __version__, installation_symptoms

INTERRUPTED: Final = 130
"""Exit code that a shell reports for a program ended by SIGINT."""
INTERRUPTED_WORDS: Final = "interrupted; what was committed stays\n"
PIPE_CLOSED: Final = 141
"""Exit code that a shell reports for a program ended by SIGPIPE."""
UNAVAILABLE: Final = 5


def interrupt(*_: int | FrameType | None) -> NoReturn:
    """End the process at once, when it holds nothing to release."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        os.write(2, INTERRUPTED_WORDS.encode())
    finally:
        os._exit(INTERRUPTED)


def hold_descriptors() -> None:
    """Give the numbers of standard streams that were closed to the null device.

    Otherwise the next files to be opened get them, and a library's messages to standard error land in the store.
    """
    while (opened := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(opened)


class ClosedStream(TextIOWrapper):
    """Replaces a stream that was closed before the start: discards writes, and records that it did."""

    discards = False

    def write(self, text: str) -> int:
        self.discards = self.discards or bool(text)
        return super().write(text)


def prepare_streams() -> None:
    """Make standard output and error exist, and accept every character.

    Python has no object for a stream that was closed before the start: what is written to it is discarded. A character
    that the stream's encoding lacks is written as an escape.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, ClosedStream(open(os.devnull, "wb"), encoding="utf-8"))  # noqa: SIM115
        reconfigure = getattr(getattr(sys, name), "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def wrote_version() -> bool:
    """Print the version, for which nothing else has to be loaded; false if standard output does not take it.

    The command line then says so in its own way.
    """
    try:
        sys.stdout.write(f"worlddb {__version__}\n")
        sys.stdout.flush()
    except (AttributeError, OSError, ValueError):
        return False
    return True


def silence_stdout() -> None:
    """Point standard output at the null device, so that Python's flush at exit raises nothing."""
    silence(sys.stdout)


def silence(stream: TextIO) -> None:
    """Point a standard stream at the null device."""
    try:
        descriptor = stream.fileno()
    except (OSError, ValueError):
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)


def report_installation(error: ImportError, arguments: Sequence[str]) -> int:
    """Report a library that the installation lacks; returns the exit code.

    The report is that of ``worlddb doctor``: what is missing and what to type.

    Raises:
        ImportError: the installation is complete, so the error is a defect of WorldDB.
    """
    found = [symptom for symptom in installation_symptoms() if symptom.wrong]
    if not found:
        raise error
    sys.stderr.write(f"error[installation]: WorldDB cannot start: {error}\n")
    if "--json" in arguments:
        described = {"code": "installation", "message": str(error), "remedy": found[0].command}
        document = {"error": described, "symptoms": [each._asdict() for each in found]}
        sys.stdout.write(json.dumps(document, indent=2) + "\n")
    for symptom in found:
        sys.stderr.write(f"  {symptom.what}\n    {symptom.command}\n")
    return UNAVAILABLE
