"""``worlddb consolidate``: summaries, inferred edges and the sweep."""

import os
from argparse import ArgumentTypeError
from functools import partial
from typing import Final

import worlddb
from worlddb import Database, EndpointSummarizer
from worlddb.tools.cli.base import Command, Namespace, Output, Page, Parser, arguments, stores, wire

_KEY: Final = "WORLDDB_SUMMARIZER_KEY"


def _arguments(parser: Parser) -> None:
    parser.add_argument(
        "--min-age",
        metavar="SECONDS",
        type=_seconds,
        default=86_400.0,
        help="summarize only worlds of at least this age (default: a day; 0: all)",
    )
    parser.add_argument(
        "--world", metavar="WORLD", action="append", help="only this world and what is inside it; repeatable"
    )
    parser.add_argument(
        "--close",
        metavar="TYPE,…",
        default="causes,subtype_of",
        help="infer edges of these types along paths of several edges (default: %(default)s; empty: none)",
    )
    parser.add_argument(
        "--no-sweep", action="store_true", help="do not change vectors, near-duplicates, conflicts and labels"
    )
    parser.add_argument("--dry-run", action="store_true", help="write nothing, and show what would be written")
    parser.add_argument("--limit", metavar="N", type=arguments.count, help="write at most N summaries (default: all)")
    arguments.add_model(
        parser,
        "--summarizer",
        f"let a model write the summaries, behind an endpoint whose key is in {_KEY} (default: no model)",
    )
    arguments.add_author(parser)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise ArgumentTypeError(f"{text!r} is not a number of seconds from 0 on")
    return seconds


def _consolidate(args: Namespace, out: Output) -> int:
    summarizer = _make_summarizer(args)
    with stores.open_existing(args, author=args.author) as db:
        with out.progress("Consolidating") as report:
            done = db.consolidate(
                min_age=args.min_age,
                summarizer=summarizer,
                worlds=args.world,
                close=tuple(filter(None, args.close.split(","))),
                sweep=not args.no_sweep,
                dry_run=args.dry_run,
                limit=args.limit,
                progress=None if report is None else lambda what, step, total: report(step, total, what),
            )
        names = _names(db, done.summaries)

        def write(page: Page) -> None:
            would = "would be " if done.dry_run else ""
            counts = [
                (_count_text(len(done.summaries), "summary", "summaries"), "written"),
                (wire.counted(done.closed, "edge"), "inferred"),
                (wire.counted(done.retracted, "inferred edge"), "retracted"),
                (wire.counted(done.conflicts, "conflict"), "recorded"),
                (wire.counted(done.marked, "world"), "labelled stale"),
                (wire.counted(done.embedded, "text"), "given vectors"),
                (_count_text(len(done.pairs or done.proposals), "identity", "identities"), "proposed"),
            ]
            parts = [f"{count} {would}{what}" for count, what in counts if not count.startswith("0 ")]
            page.line("; ".join(parts) or "there was nothing to do")
            for later, earlier in done.pairs[:_SHOWN]:
                page.line((wire.short(later), "ref"), "  may be  ", (wire.short(earlier), "ref"))
            for ref, name in names:
                page.line((wire.short(ref), "ref"), f"  {name}")

        left = partial(wire.counted, what="world")
        return stores.report_run(db, out, done, summarizer, write, failed="got no summary", counted=left)


_SHOWN: Final = 20
"""How many summaries are named for a person."""


def _count_text(number: int, one: str, several: str) -> str:
    return f"{number:,} {one if number == 1 else several}"


def _names(db: Database, refs: tuple[str, ...]) -> list[tuple[str, str]]:
    view = db.view()
    worlds = (view.get(ref) for ref in refs[:_SHOWN])
    return [(world.ref, wire.one_line(world.name, 60)) for world in worlds if world is not None]


def _make_summarizer(args: Namespace) -> EndpointSummarizer | None:
    named = arguments.model_options(args, "--summarizer")
    return None if named is None else worlddb.EndpointSummarizer(**named, key=os.environ.get(_KEY))


COMMANDS = (
    Command(
        "consolidate",
        "summarize worlds, infer edges, and mark or close what has become stale",
        _arguments,
        _consolidate,
        (
            ("consolidate --min-age 0 --dry-run", "what would be written, and nothing is"),
            ("consolidate --min-age 0 --json", "for a program: what was written"),
        ),
    ),
)
