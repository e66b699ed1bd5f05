"""``worlddb timeline``: a lineage on both time axes, as a page for a browser."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from worlddb import InputError
from worlddb.tools.cli import arguments, stores, wire
from worlddb.tools.cli.command import DONE, Command
from worlddb.tools.cli.output import Output
from worlddb.tools.cli.page import Page, counted


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("ref", metavar="REF", help="a reference, its first digits, or a name")
    parser.add_argument("--out", metavar="FILE", required=True, help="the page to write, best ending in .html")
    parser.add_argument("--overwrite", action="store_true", help="replace FILE if it exists")
    arguments.add_between(parser)
    arguments.add_spans(parser)
    arguments.add_moment(parser)
    arguments.add_confine(parser)


def _timeline(args: Namespace, out: Output) -> int:
    from worlddb.tools.reports.pages import write_page
    from worlddb.tools.reports.timeline import render

    arguments.refuse_existing(args.out, overwrite=args.overwrite)
    with stores.existing(args) as db:
        view = stores.view_of(db, args)
        ref = stores.world_of(view, args.ref)
        versions = view.history(ref, between=args.between, **stores.spans_of(args))
        if not versions:
            raise InputError(
                f"{args.ref!r:.200} has no version in this span", "Leave the span out, or name another one"
            )
        numbers = {version.number for version in versions}
        learned = [step for step in view.timeline(ref) if step.number in numbers]
        page_text = render(view, stores.name_of(view, ref), ref, versions, learned)
    write_page(page_text, Path(args.out))
    document = {
        "ref": ref,
        "out": args.out,
        "bytes": len(page_text.encode()),
        "versions": len(versions),
        "steps": len(learned),
        "view": wire.view(view),
    }

    def write(page: Page) -> None:
        counts = f"{counted(len(versions), 'version')} in {counted(len(learned), 'step')}"
        page.line((args.out, "good"), f"  {counts}; open it in a browser")

    out.answer(document, write)
    return DONE


COMMANDS = (
    Command(
        "timeline",
        "draw a world on both time axes, as a page for a browser: when it is true, and when that was learned",
        _arguments,
        _timeline,
        (
            ('timeline "Sarah Chen" --out sarah.html', "everything that is known, as of now"),
            ("timeline Office --ingested 6 --out office.html --overwrite", "what was known after commit 6"),
        ),
    ),
)
