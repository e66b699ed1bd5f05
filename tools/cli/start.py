"""The entry point of ``worlddb``: load the command line and run one command.

Ctrl-C ends the process with one line at any moment, also while the engine is being imported. So nothing of the engine
is imported before the signal handler is installed.
"""

import signal
import sys

from worlddb.tools.cli import process


def main() -> int:
    """Load the command line and run one command; returns the exit code."""
    process.hold_descriptors()
    # A process that was started to ignore interruptions (``nohup``, ``&``) goes on ignoring them.
    listens = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if listens:
        signal.signal(signal.SIGINT, process.interrupt)
    if sys.argv[1:] == ["--version"] and process.wrote_version():
        return 0
    try:
        from worlddb.tools.cli.main import main as run
    except ImportError as error:
        return process.report_installation(error, sys.argv[1:])
    if not listens:
        return run()
    try:
        # A running command is interrupted by an exception, so that it releases what it holds.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        code = run()
        signal.signal(signal.SIGINT, process.interrupt)
    except KeyboardInterrupt:
        process.interrupt()
    return code
