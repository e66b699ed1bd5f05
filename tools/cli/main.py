"""Find the command that a line names, run it, and print its errors."""

import errno
import os
import shlex
import sys
import traceback
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from worlddb import DiskFull, StoreError, UnavailableError, WorldDBError
from worlddb.tools.cli import process
from worlddb.tools.cli.base.arguments import Command, MissingFile, Parser, UsageError, build_parser, parse_line
from worlddb.tools.cli.base.output import Output


class _CommandModule(NamedTuple):
    """The commands of one module and its loader, so that one command does not load the others."""

    names: str
    load: Callable[[], tuple[Command, ...]]


_COMMAND_MODULES: Final = (
    _CommandModule("demo", lambda: import_module("worlddb.tools.cli.serve.demo_command").COMMANDS),
    _CommandModule("ingest", lambda: import_module("worlddb.tools.cli.write.ingest_command").COMMANDS),
    _CommandModule(
        "init create revise retire reassert move link unlink",
        lambda: import_module("worlddb.tools.cli.write.write_commands").COMMANDS,
    ),
    _CommandModule(
        "remember context profile",
        lambda: import_module("worlddb.tools.cli.write.memory_commands").COMMANDS,
    ),
    _CommandModule(
        "expire refresh sweep label pin tag deprecate marked",
        lambda: import_module("worlddb.tools.cli.write.mark_commands").COMMANDS,
    ),
    _CommandModule(
        "impact provenance path kref artifact",
        lambda: import_module("worlddb.tools.cli.beliefs.graph_commands").COMMANDS,
    ),
    _CommandModule(
        "prefer preferences",
        lambda: import_module("worlddb.tools.cli.beliefs.preference_commands").COMMANDS,
    ),
    _CommandModule(
        "believe expand contract rollback beliefs belief-settings",
        lambda: import_module("worlddb.tools.cli.beliefs.belief_commands").COMMANDS,
    ),
    _CommandModule("recall", lambda: import_module("worlddb.tools.cli.read.recall_command").COMMANDS),
    _CommandModule("query", lambda: import_module("worlddb.tools.cli.read.query_command").COMMANDS),
    _CommandModule(
        "show history children conflicts stale hash",
        lambda: import_module("worlddb.tools.cli.read.show_commands").COMMANDS,
    ),
    _CommandModule("timeline", lambda: import_module("worlddb.tools.cli.history.timeline_command").COMMANDS),
    _CommandModule("blame", lambda: import_module("worlddb.tools.cli.history.log_commands").BLAME_COMMANDS),
    _CommandModule(
        "relation states vocabulary", lambda: import_module("worlddb.tools.cli.beliefs.relation_commands").COMMANDS
    ),
    _CommandModule("types", lambda: import_module("worlddb.tools.cli.identity.rule_commands").TYPE_COMMANDS),
    _CommandModule("tune untune tunings", lambda: import_module("worlddb.tools.cli.identity.rule_commands").COMMANDS),
    _CommandModule(
        "state unstate statements",
        lambda: import_module("worlddb.tools.cli.sparql.statement_commands").COMMANDS,
    ),
    _CommandModule("sparql", lambda: import_module("worlddb.tools.cli.sparql.sparql_command").COMMANDS),
    _CommandModule("working", lambda: import_module("worlddb.tools.cli.working.working_command").COMMANDS),
    _CommandModule("guard", lambda: import_module("worlddb.tools.cli.redaction.guard_command").COMMANDS),
    _CommandModule("trust trusts", lambda: import_module("worlddb.tools.cli.identity.rule_commands").TRUST_COMMANDS),
    _CommandModule("log stats", lambda: import_module("worlddb.tools.cli.history.log_commands").COMMANDS),
    _CommandModule("at", lambda: (import_module("worlddb.tools.cli.history.log_commands").at(_needed_commands),)),
    _CommandModule("bookmark", lambda: import_module("worlddb.tools.cli.history.log_commands").BOOKMARK_COMMANDS),
    _CommandModule("verify rebuild upgrade", lambda: import_module("worlddb.tools.cli.keep.keep_commands").COMMANDS),
    _CommandModule("replay snapshot", lambda: import_module("worlddb.tools.cli.history.replay_commands").COMMANDS),
    _CommandModule("doctor", lambda: import_module("worlddb.tools.cli.keep.keep_commands").DOCTOR_COMMANDS),
    _CommandModule(
        "embed reembed spaces", lambda: import_module("worlddb.tools.cli.keep.keep_commands").EMBED_COMMANDS
    ),
    _CommandModule("redecide", lambda: import_module("worlddb.tools.cli.history.replay_commands").REDECIDE_COMMANDS),
    _CommandModule("backup restore", lambda: import_module("worlddb.tools.cli.keep.keep_commands").BACKUP_COMMANDS),
    _CommandModule(
        "erase forget-user check-receipt", lambda: import_module("worlddb.tools.cli.write.erase_commands").COMMANDS
    ),
    _CommandModule(
        "head keygen cosign prove check-proof",
        lambda: import_module("worlddb.tools.cli.proofs.proof_commands").COMMANDS,
    ),
    _CommandModule(
        "check-recall prove-recall",
        lambda: import_module("worlddb.tools.cli.beliefs.receipt_commands").COMMANDS,
    ),
    _CommandModule(
        "withdraw receipts",
        lambda: import_module("worlddb.tools.cli.beliefs.withdraw_command").COMMANDS,
    ),
    _CommandModule("diff", lambda: import_module("worlddb.tools.cli.proofs.diff_command").COMMANDS),
    _CommandModule(
        "proposals recluster accept reject undo",
        lambda: import_module("worlddb.tools.cli.identity.proposal_commands").COMMANDS,
    ),
    _CommandModule(
        "consolidate", lambda: import_module("worlddb.tools.cli.consolidation.consolidate_command").COMMANDS
    ),
    _CommandModule("enrich", lambda: import_module("worlddb.tools.cli.enrichment.enrich_command").COMMANDS),
    _CommandModule("dream", lambda: import_module("worlddb.tools.cli.dream.dream_command").COMMANDS),
    _CommandModule("fork merge", lambda: import_module("worlddb.tools.cli.forks.fork_commands").COMMANDS),
    _CommandModule("export import", lambda: import_module("worlddb.tools.cli.write.bundle_commands").COMMANDS),
    _CommandModule("serve", lambda: import_module("worlddb.tools.cli.server.serve_command").COMMANDS),
    _CommandModule("mcp", lambda: import_module("worlddb.tools.cli.serve.mcp_command").COMMANDS),
    _CommandModule("key", lambda: import_module("worlddb.tools.cli.serve.mcp_command").KEY_COMMANDS),
    _CommandModule(
        "accounts keys plans", lambda: import_module("worlddb.tools.cli.accounts.account_commands").COMMANDS
    ),
    _CommandModule("usage", lambda: import_module("worlddb.tools.cli.accounts.usage_command").COMMANDS),
    _CommandModule("completion", lambda: (import_module("worlddb.tools.cli.completion").completion(commands),)),
)
"""The modules of all commands."""

COMMAND_GROUPS: Final = (
    ("every day", "demo ingest remember recall context profile show history retire"),
    ("worlds and edges", "create revise reassert move link unlink children query path impact provenance kref artifact"),
    ("time", "timeline blame log at bookmark rollback"),
    ("marks and deadlines", "label tag pin expire refresh sweep deprecate marked working"),
    ("contradictions and beliefs", "conflicts stale believe expand contract beliefs belief-settings withdraw"),
    ("preferences and relations", "prefer preferences relation states vocabulary types"),
    ("identity: who is who", "proposals accept reject undo recluster tune untune tunings"),
    ("statements in RDF", "state unstate statements sparql"),
    ("erasure, trust and guards", "erase forget-user check-receipt guard trust trusts"),
    ("forks and exchange", "fork merge export import diff"),
    ("proofs", "hash head keygen cosign prove check-proof receipts check-recall prove-recall"),
    ("upkeep by models and rules", "embed reembed spaces consolidate enrich dream"),
    ("operation", "init stats verify doctor backup restore rebuild upgrade snapshot replay redecide completion"),
    ("servers and access", "mcp serve key accounts keys plans usage"),
)
"""The commands as ``--help`` lists them: what they are for, and their names."""


def commands() -> tuple[Command, ...]:
    """Every command."""
    return tuple(command for home in _COMMAND_MODULES for command in home.load())


if TYPE_CHECKING:
    COMMANDS: Final[tuple[Command, ...]] = commands()
else:

    def __getattr__(name: str) -> Any:
        """Load all commands when ``COMMANDS`` is read."""
        if name != "COMMANDS":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return commands()


def _needed_commands(words: Sequence[str]) -> tuple[Command, ...]:
    """Return the commands that a line needs: the one that it names, else all."""
    named = next(_command_words(words), "")
    found = [home for home in _COMMAND_MODULES if named in home.names.split()]
    return tuple(command for command in found[0].load() if command.name == named) if found else commands()


def _command_words(words: Sequence[str]) -> Iterator[str]:
    """Yield the words of a line without the global options that may stand before a command, and their values."""
    remaining = iter(words)
    for word in remaining:
        if word == "--store":
            next(remaining, None)
        elif word not in ("--json", "--quiet") and not word.startswith("--store="):
            yield word


class SystemTrouble(UnavailableError):
    """The operating system refused: a full disk, a missing permission, a vanished file."""

    code = "system"


class Unexpected(StoreError):
    """An error that is not the caller's: undetected damage, or a defect of WorldDB."""

    code = "unexpected"


class AnswerNotPrinted(WorldDBError):
    """The command is done, but its answer could not be printed: a closed pipe, a full disk."""

    code = "answer_not_printed"
    exit_code = 6


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code (see :mod:`worlddb.log.model.errors`)."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    process.prepare_streams()
    try:
        return _run_line(arguments)
    except BrokenPipeError:
        process.silence_stdout()
        return process.PIPE_CLOSED
    except KeyboardInterrupt:
        sys.stderr.write(process.INTERRUPTED_WORDS)
        return process.INTERRUPTED


def _run_line(arguments: list[str]) -> int:
    """Run the command and print its errors."""
    # The parser may reject the line before it sees --json, so look for it in the words themselves.
    out = Output(json="--json" in arguments, quiet="--quiet" in arguments)
    try:
        needed = _needed_commands(arguments)
        parser = build_parser(needed, COMMAND_GROUPS if len(needed) > 1 else ())
        args = parse_line(parser, arguments)
        out = Output(json=args.json, quiet=args.quiet)
        if args.command is None:
            return _answer_no_command(parser, out)
        return _run_and_flush(args.run, args, out)
    except SystemExit as finished:
        # Help and the version end the parser with an exit.
        sys.stdout.flush()
        return int(finished.code or 0)
    except BrokenPipeError:
        raise
    except WorldDBError as error:
        return _print_error(out, error)
    except OSError as error:
        return _print_error(out, _system_error(error))
    except ImportError as error:
        return _report_missing_library(out, error, arguments)
    except Exception as error:
        if os.environ.get("WORLDDB_TRACEBACK"):
            raise
        return _print_error(out, _unexpected_error(error))


def _report_missing_library(out: Output, error: ImportError, arguments: list[str]) -> int:
    """Report a library that the command needs and that is not installed."""
    try:
        return process.report_installation(error, arguments)
    except ImportError:
        if os.environ.get("WORLDDB_TRACEBACK"):
            raise
        return _print_error(out, _unexpected_error(error))


def _answer_no_command(parser: Parser, out: Output) -> int:
    """Print the help to a person who typed no command; with --json it is an error."""
    if out.json:
        parser.error("no command was given")
    parser.print_help()
    sys.stdout.flush()
    return UsageError.exit_code


def _run_and_flush(run: Callable[[Namespace, Output], int], args: Namespace, out: Output) -> int:
    try:
        code = run(args, out)
        sys.stdout.flush()
        is_discarded = isinstance(sys.stdout, process.ClosedStream) and sys.stdout.discards
        if is_discarded and args.command not in _SERVERS and _work_done(args) is not None:
            raise OSError(errno.EBADF, "standard output is closed")
    except OSError as error:
        done = _work_done(args)
        if not _is_stdout_error(error) or (done is None and isinstance(error, BrokenPipeError)):
            raise
        process.silence_stdout()
        if done is None:
            message = f"The answer of `{args.command}` could not be printed: {error.strerror or error}"
            raise AnswerNotPrinted(message, "Nothing was written to the store. Print it elsewhere") from error
        work, command = done
        message = f"{work}, and its answer could not be printed: {error.strerror or error}"
        remedy = f"Do not repeat it: see what was written with `{command}`"
        raise AnswerNotPrinted(message, remedy + _lost_secret_remedy(args)) from error
    return code


def _lost_secret_remedy(args: Namespace) -> str:
    """Return the remedy for a new key whose secret could not be printed; empty for any other command."""
    if args.command != "keys" or args.action != "add":
        return ""
    from worlddb.tools.cli.base import stores

    end_command = f"{stores.command_prefix(args)} keys end {shlex.quote(args.name)}"
    return f". The secret of the key is lost with the answer: end this key with `{end_command}`, then make another"


def _is_stdout_error(error: OSError) -> bool:
    """Return whether printing failed: the error names no file and was raised by the command line itself."""
    *_, (innermost, _) = traceback.walk_tb(error.__traceback__)
    name = str(innermost.f_globals.get("__name__"))
    is_printing = name.startswith(("worlddb.tools.cli.", "rich."))
    return isinstance(error, BrokenPipeError) or (error.filename is None and is_printing)


_SERVERS: Final = frozenset({"serve", "mcp"})
"""Commands that answer over a connection; what they print is only information."""
_COPY_COMMANDS: Final = {"backup": "head", "restore": "head", "replay": "head"}
"""Commands that write a store elsewhere, each with the command that shows the result."""
_DERIVING_COMMANDS: Final = {"init": "head", "snapshot": "stats", "rebuild": "verify", "upgrade": "verify"}
"""Commands that write to the store without a commit, each with the command that shows the result."""


def _work_done(args: Namespace) -> tuple[str, str] | None:
    """Return what a command has written, and a command that shows it; ``None`` if it has written nothing."""
    from worlddb.tools.cli.base import stores

    store = stores.command_prefix(args)
    written = 0 if (opened := getattr(args, "opened", None)) is None else opened.last_written
    into = getattr(args, "into", None)
    if written:
        return f"`{args.command}` has written up to commit {written}", f"{store} log --from {written} --to {written}"
    if args.command in _COPY_COMMANDS and into is not None:
        return f"`{args.command}` is done", f"worlddb --store {shlex.quote(into)} {_COPY_COMMANDS[args.command]}"
    if args.command in _DERIVING_COMMANDS:
        return f"`{args.command}` is done", f"{store} {_DERIVING_COMMANDS[args.command]}"
    file = getattr(args, "out", None)
    if args.command == "export" and file is not None and args.format == "bundle":
        return f"`export` has written {file}", f"worlddb import {shlex.quote(file)} --check"
    return None


def _print_error(out: Output, error: WorldDBError) -> int:
    try:
        out.failed(error)
        sys.stdout.flush()
    except BrokenPipeError:
        if not isinstance(error, AnswerNotPrinted):
            raise
        process.silence(sys.stderr)
    except OSError:
        # Standard output itself failed; the error is on standard error already.
        process.silence_stdout()
    return error.exit_code


def _system_error(error: OSError) -> WorldDBError:
    where = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
    message = f"{where}{error.strerror or error}"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull(f"No room left: {message}", "Free some space and try again; what was committed stays")
    if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.EISDIR) and error.filename is not None:
        return MissingFile(message, "Check the name of the file")
    return SystemTrouble(message, "Check the path and its permissions, then try again")


def _unexpected_error(error: Exception) -> WorldDBError:
    message = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    remedy = "Run `worlddb verify --deep`; if the store is intact, this is a defect: see it with WORLDDB_TRACEBACK=1"
    return Unexpected(message, remedy)
