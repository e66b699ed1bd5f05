"""``worlddb blame``: which commit made each field and each edge of a world what it is."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any, Final

import worlddb
from worlddb import Blame, BlamedEdge, BlamedField
from worlddb.tools.cli import stores, wire
from worlddb.tools.cli.arguments import add_confine, add_moment
from worlddb.tools.cli.command import DONE, Command
from worlddb.tools.cli.output import Output
from worlddb.tools.cli.page import Page, Span, one_line

_TIMES: Final = ("valid_from", "valid_to")
"""The fields whose values are times."""


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("ref", metavar="REF", help="a world, by reference, prefix or name")
    add_moment(parser)
    add_confine(parser)


def _blame(args: Namespace, out: Output) -> int:
    with stores.existing(args) as db:
        view = stores.view_of(db, args)
        found = view.blame(stores.world_of(view, args.ref))
        document = {
            "ref": found.ref,
            "version": found.number,
            "fields": [wire.record(field) for field in found.fields],
            "edges": [wire.record(edge) for edge in found.edges],
            "view": wire.view(view),
        }
        name = stores.name_of(view, found.ref)
        out.answer(document, lambda page: _write(page, found, name))
    return DONE


def _write(page: Page, found: Blame, name: str) -> None:
    page.line((name, "name"), "  ", (wire.short(found.ref), "ref"), (f"  version {found.number}", "dim"))
    rows = [[*_commit(field), *_of_field(field)] for field in found.fields if field.value]
    rows += [[*_commit(edge), *_of_edge(edge, found.ref)] for edge in found.edges]
    page.table(("seq", "when", "who", "what", "value", "why"), rows)


def _commit(blamed: BlamedField | BlamedEdge) -> list[Span]:
    return [(str(blamed.seq), "ref"), (wire.moment(blamed.ingested_at), "dim"), blamed.author]


def _of_field(field: BlamedField) -> list[Any]:
    value = wire.moment(worlddb.parse_time(field.value)) if field.field in _TIMES else field.value
    return [(field.field, "name"), one_line(value, 80), (one_line(field.why, 80), "dim")]


def _of_edge(edge: BlamedEdge, ref: str) -> list[Any]:
    arrow = f"{edge.type} >" if edge.source == ref else f"< {edge.type}"
    ended = f", closed in commit {edge.closed}" if edge.closed else ""
    return [(arrow, "name"), one_line(edge.name, 80) + ended, (one_line(edge.why, 80), "dim")]


COMMANDS = (
    Command(
        "blame",
        "show which commit made each field and each edge of a world what it is, by whom and why",
        _arguments,
        _blame,
        (
            ('blame "Sarah Chen"', "her name, text, aliases, validity, containers and edges"),
            ("blame 3fa9c2d1 --ingested 12 --json", "as it was known at commit 12, for a program"),
        ),
    ),
)
