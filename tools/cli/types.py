"""``worlddb types``: which edge types are in force, since when, where, and whether this process can write them."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from worlddb import EdgeType, View
from worlddb.tools.cli import arguments, stores, wire
from worlddb.tools.cli.command import DONE, Command
from worlddb.tools.cli.output import Output
from worlddb.tools.cli.page import Page, Span, one_line


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--world", metavar="WORLD", help="what holds for the edges of this world (reference or name)")
    arguments.add_moment(parser, valid=False)
    arguments.add_confine(parser)


def _types(args: Namespace, out: Output) -> int:
    with stores.existing(args) as db:
        view = stores.view_of(db, args)
        world = None if args.world is None else stores.world_of(view, args.world)
        found = view.edge_types(world)
        document: dict[str, Any] = {
            "types": [wire.record(known) for known in found],
            "missing": list(view.missing_edge_types),
            "view": wire.view(view),
        }

        def write(page: Page) -> None:
            page.line(("built in: ", "dim"), ", ".join(known.name for known in found if not known.seq))
            for known in found:
                if known.seq:
                    page.line(*_line(view, known))
            if view.missing_edge_types:
                out.hint(
                    "note: the handlers of types that are registered are code, which this program does not have;"
                    " their edges are read, and written only by programs that have it"
                )

        out.answer(document, write)
    return DONE


def _line(view: View, known: EdgeType) -> list[Span]:
    spans: list[Span] = [(known.name, "name")]
    if known.digest_of != "built_in":
        spans.append(f"  version {known.version}, code {known.digest[:12]} (of its {known.digest_of})")
    spans.append("  functional" if known.functional else "")
    spans.append(f"  {', '.join(known.rewrites)}" if known.rewrites else "")
    spans.append((f"  for {stores.name_of(view, known.world)}, since commit {known.seq}", "dim"))
    if known.why:
        spans.append((f"  because {one_line(known.why, 160)}", "dim"))
    return spans


COMMANDS = (
    Command(
        "types",
        "list the edge types in force: the built-in ones, and those that were registered for the store or a world",
        _arguments,
        _types,
        (
            ("types", "every registration, with its world, version and code"),
            ('types --world "Search team"', "what holds for the edges of one world"),
            ("types --ingested 12 --json", "as of a commit, for a program"),
        ),
    ),
)
