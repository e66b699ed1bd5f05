"""The list of commands, and the run of one with its errors."""

import errno
import os
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from typing import Final

from worlddb import StoreError, UnavailableError, WorldDBError
from worlddb.tools.cli import completion, process
from worlddb.tools.cli.base.arguments import Command, MissingFile, Parser, UsageError, parsed, parser_of
from worlddb.tools.cli.base.output import Output
from worlddb.tools.cli.history import log_commands, moment_commands, replay_commands, timeline_command
from worlddb.tools.cli.identity import proposal_commands, rule_commands, trust_commands
from worlddb.tools.cli.keep import backup_commands, doctor_command, embed_commands, verify_commands
from worlddb.tools.cli.proofs import diff_command, proof_commands
from worlddb.tools.cli.read import query_command, recall_command, show_commands
from worlddb.tools.cli.serve import demo_command, mcp_command
from worlddb.tools.cli.write import bundle_commands, erase_commands, ingest_command, write_commands

COMMANDS: Final[tuple[Command, ...]] = (
    *demo_command.COMMANDS,
    *ingest_command.COMMANDS,
    *write_commands.COMMANDS,
    *recall_command.COMMANDS,
    *query_command.COMMANDS,
    *show_commands.COMMANDS,
    *timeline_command.COMMANDS,
    *moment_commands.BLAME_COMMANDS,
    *rule_commands.TYPE_COMMANDS,
    *rule_commands.COMMANDS,
    *trust_commands.COMMANDS,
    *log_commands.COMMANDS,
    moment_commands.at(lambda: COMMANDS),
    *moment_commands.COMMANDS,
    *verify_commands.COMMANDS,
    *replay_commands.COMMANDS,
    *doctor_command.COMMANDS,
    *embed_commands.COMMANDS,
    *replay_commands.REDECIDE_COMMANDS,
    *backup_commands.COMMANDS,
    *erase_commands.COMMANDS,
    *proof_commands.COMMANDS,
    *diff_command.COMMANDS,
    *proposal_commands.COMMANDS,
    *bundle_commands.COMMANDS,
    *mcp_command.COMMANDS,
    *mcp_command.KEY_COMMANDS,
    completion.completion(lambda: COMMANDS),
)
"""Every command, in the order of the help."""


class SystemTrouble(UnavailableError):
    """The operating system refused: a full disk, a missing permission, a vanished file."""

    code = "system"


class Unexpected(StoreError):
    """An error that no caller can cause: undetected damage, or a defect of WorldDB."""

    code = "unexpected"


class DiskFull(SystemTrouble):
    """No disk space is left for a write."""

    code = "disk_full"


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code (see :mod:`worlddb.log.model.errors`)."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    process.prepare_streams()
    try:
        return _ended(arguments)
    except BrokenPipeError:
        process.silence_stdout()
        return process.PIPE_CLOSED
    except KeyboardInterrupt:
        sys.stderr.write(process.INTERRUPTED_WORDS)
        return process.INTERRUPTED


def _ended(arguments: list[str]) -> int:
    """Run the command and print its errors."""
    # The parser may reject the line before it sees --json, so look for it in the words themselves.
    out = Output(json="--json" in arguments, quiet="--quiet" in arguments)
    try:
        parser = parser_of(COMMANDS)
        args = parsed(parser, arguments)
        out = Output(json=args.json, quiet=args.quiet)
        if args.command is None:
            return _without_command(parser, out)
        return _flushed(args.run, args, out)
    except SystemExit as finished:
        # Help and the version end the parser with an exit.
        sys.stdout.flush()
        return int(finished.code or 0)
    except BrokenPipeError:
        raise
    except WorldDBError as error:
        return _failed(out, error)
    except OSError as error:
        return _failed(out, _trouble(error))
    except Exception as error:
        if os.environ.get("WORLDDB_TRACEBACK"):
            raise
        return _failed(out, _unexpected(error))


def _without_command(parser: Parser, out: Output) -> int:
    """Print the help to a person who typed the bare name; for a program it is an error."""
    if out.json:
        parser.error("no command was given")
    parser.print_help()
    sys.stdout.flush()
    return UsageError.exit_code


def _flushed(run: Callable[[Namespace, Output], int], args: Namespace, out: Output) -> int:
    code = run(args, out)
    sys.stdout.flush()
    return code


def _failed(out: Output, error: WorldDBError) -> int:
    try:
        out.failed(error)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError:
        # Standard output itself failed; the error is on standard error already.
        process.silence_stdout()
    return error.exit_code


def _trouble(error: OSError) -> WorldDBError:
    where = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
    message = f"{where}{error.strerror or error}"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull(f"No room left: {message}", "Free some space and try again; what was committed stays")
    if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.EISDIR) and error.filename is not None:
        return MissingFile(message, "Check the name of the file")
    return SystemTrouble(message, "Check the path and its permissions, then try again")


def _unexpected(error: Exception) -> WorldDBError:
    message = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    remedy = "Run `worlddb verify --deep`; if the store is intact, this is a defect: see it with WORLDDB_TRACEBACK=1"
    return Unexpected(message, remedy)
