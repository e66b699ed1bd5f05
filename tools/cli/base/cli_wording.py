"""Errors in the words of the command line: the engine's remedies name calls of the library."""

import re
from typing import Final, NamedTuple

from worlddb import WorldDBError

LOOK_FOR_IT: Final = "Look for it with `worlddb recall TEXT`, or walk down from `worlddb children`"
NAME_A_STORE: Final = "Name one with --store DIR or $WORLDDB_STORE, or make one: `worlddb ingest FILE` or `create`"
ASK_WITH_VALID: Final = "What was true at a time is asked with --valid TIME"
NOTHING_THEN: Final = f"Nothing had been committed by then. {ASK_WITH_VALID}."

_PHRASES: Final = (
    ("Look for it with recall or find", LOOK_FOR_IT),
    ("Look it up by name with find", LOOK_FOR_IT),
    ("Check the path, or write to it first", NAME_A_STORE),
    ("Look at a later view; what was true at a time, by what is known now, is asked with valid=", ASK_WITH_VALID),
    ("List them with proposals()", "List them with `worlddb proposals --status all`"),
    ("List them with `worlddb bookmark` or bookmarks()", "List them with `worlddb bookmark`"),
    ("The edges of a world are listed with it", "`worlddb show WORLD` lists the edges of a world"),
    ("See what is set where with view.tunings()", "`worlddb tunings` lists what is set where"),
    ("See what is registered where with view.edge_types()", "`worlddb types` lists what is registered where"),
    (
        "; or declare your own with db.define_relation(...), or register its handler with db.register(...)",
        "; or declare it with `worlddb relation NAME`; programs register handlers, see docs/howto/define-edge-types.md",
    ),
    (
        "Open the store with it: worlddb.open(path, edge_types=[...])",
        "Write it from a program that has the handler; reading needs none",
    ),
    ("with db.register(...)", "from a program"),
    (
        "Reassert it if it holds again, or give a valid_from before its end",
        "If it holds again, resume it with `worlddb reassert REF`; or give --valid-from a time before its end",
    ),
    ("Write it with Query.to_json", "Write it with `worlddb query ... --print`"),
    ("; of a name, a view gives it: db.view().reference_of('Alice')", ""),
    ("Look at its aliases with show", "`worlddb show WORLD` lists its aliases"),
    ("only an exact ranking is that of a replayed store", "--exact ranks as a replayed store would"),
    ("ask as of that time", "ask as of that time with --valid"),
    ("replace it with overwrite", "replace it with --overwrite"),
    ("members=False", "--no-members"),
    ("Look at db.import_plan(...)", "Look at `worlddb import FILE --check`"),
    ("ask resolve_kref for it", "ask `worlddb kref` for it"),
    ("Make it with create_at", "Make it with `worlddb kref KREF --content TEXT`"),
    ("Open it with embedder=...", "Name one with --embedder"),
)
"""Phrases of the engine, and what they are called on the command line."""
_PROVE: Final = re.compile(r"prove\('([0-9a-f]+)', world='([0-9a-f]+)'\)")
_ARGUMENT: Final = re.compile(r"(?<![-\w$.`'\"])([a-z][a-z_]+)=(?:True|\.\.\.)?(?=$|[\s,;.)])")


class ErrorText(NamedTuple):
    """Message and remedy of an error, as the command line prints them."""

    message: str
    remedy: str


def explain_error(error: WorldDBError) -> ErrorText:
    """Translate an error for a person at the command line."""
    return ErrorText(error.message, in_options(error.remedy))


def in_options(text: str) -> str:
    """Replace calls and arguments of the library in a text by commands and options."""
    for library_phrase, command_phrase in _PHRASES:
        text = text.replace(library_phrase, command_phrase)
    text = _PROVE.sub(r"`worlddb prove \1 --world \2`", text)
    return _ARGUMENT.sub(lambda found: f"--{found[1].replace('_', '-')}", text)
