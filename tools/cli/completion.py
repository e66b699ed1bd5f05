"""``worlddb completion``: a shell's completion of commands, options, choices and files.

The script holds every word, so pressing Tab starts no Python.
"""

from argparse import Action
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from worlddb.tools.cli.base import DONE, Command, Namespace, Output, Parser, arguments
from worlddb.tools.cli.read.show_commands import EDGE_TYPES

SHELLS: Final = ("bash", "zsh", "fish")
_FOLDERS: Final = frozenset({"DIR", "NEW", "STORE"})
_FILES: Final = frozenset({"A", "B", "FILE", "FILE_OR_SEQ", "KEYFILE", "VERIFIER"})
"""Metavars of arguments that are folders, or files."""
_WORDS: Final[Mapping[tuple[str, str], Sequence[str]]] = {
    ("ingest", "format"): ("auto", "locomo", "longmemeval", "jsonl", "markdown", "text"),
    ("rebuild", "names"): ("tables", "text", "vectors"),
    ("link", "type"): ("contains", *EDGE_TYPES),
}
"""Likely words for arguments that accept others, too."""


def completion(commands: Callable[[], Sequence[Command]]) -> Command:
    """Return the command that writes the script; ``commands`` returns all commands."""

    def add(parser: Parser) -> None:
        parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help="bash, zsh or fish")

    def run(args: Namespace, out: Output) -> int:
        text = script(commands(), args.shell)
        out.verbatim({"shell": args.shell, "script": text}, text)
        return DONE

    return Command(
        "completion",
        "write the script with which your shell completes commands, options, choices and files",
        add,
        run,
        (
            ("completion bash > ~/.local/share/bash-completion/completions/worlddb", "for bash, from the next one on"),
            ("completion zsh > ~/.zfunc/_worlddb", "for zsh, if its fpath has that folder"),
            ("completion fish > ~/.config/fish/completions/worlddb.fish", "for fish"),
        ),
    )


def script(commands: Sequence[Command], shell: str) -> str:
    """Return the script for a shell to source."""
    import shtab

    parser = arguments.build_parser(commands)
    _complete(parser, "", ())
    own = _commands_of(parser)
    read = [name for name, each in own.items() if any(action.dest == "ingested" for action in each._actions)]
    for name, each in own.items():
        _complete(each, name, read)
    return shtab.complete(parser, shell).rstrip() + "\n"


def _commands_of(parser: Parser) -> Mapping[str, Parser]:
    (listed,) = (action.choices for action in parser._actions if action.dest == "command")
    assert isinstance(listed, Mapping)
    return listed


def _complete(parser: Parser, command: str, read: Iterable[str]) -> None:
    """Attach completions to the arguments; the parser is not used to parse afterwards."""
    import shtab

    for action in parser._actions:
        if action.metavar in _FOLDERS or action.metavar in _FILES:
            _set_completion(action, shtab.DIRECTORY if action.metavar in _FOLDERS else shtab.FILE)
        elif (command, action.dest) == ("at", "words"):
            action.choices = read
        elif words := _WORDS.get((command, action.dest)):
            action.choices = words


def _set_completion(action: Action, how: object) -> None:
    """Set the attribute that shtab looks for; argparse does not declare it."""
    vars(action)["complete"] = how
