"""``worlddb enrich``: restate each turn so that it can be understood without the turns around it."""

import os
from functools import partial
from typing import Final

from worlddb import EndpointEnricher
from worlddb.tools.cli.base import Command, Namespace, Output, Page, Parser, arguments, stores, wire

_KEY: Final = "WORLDDB_ENRICHER_KEY"


def _arguments(parser: Parser) -> None:
    parser.add_argument(
        "--world", metavar="WORLD", action="append", help="only what is inside this world; may be given again"
    )
    parser.add_argument(
        "--type",
        metavar="TYPE",
        action="append",
        help="the type of worlds to enrich, such as Paragraph (default: Turn)",
    )
    parser.add_argument(
        "--before",
        metavar="N",
        type=arguments.count_from_zero,
        default=8,
        help="show the model N worlds before it (default: %(default)s)",
    )
    parser.add_argument(
        "--after",
        metavar="N",
        type=arguments.count_from_zero,
        default=2,
        help="show the model N worlds after it (default: %(default)s)",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="ask no model, write nothing, and show what would be enriched"
    )
    parser.add_argument("--limit", metavar="N", type=arguments.count, help="enrich at most N (default: all)")
    arguments.add_model(
        parser,
        "--enricher",
        f"let a model write it, behind an endpoint whose key is in {_KEY} (default: rules, no model)",
    )
    arguments.add_author(parser)


def _enrich(args: Namespace, out: Output) -> int:
    named = arguments.model_options(args, "--enricher")
    enricher = None if named is None else EndpointEnricher(**named, key=os.environ.get(_KEY))
    with stores.open_existing(args, author=args.author) as db:
        with out.steps("Enriching") as progress:
            done = db.enrich(
                enricher,
                worlds=None
                if args.world is None
                else [stores.resolve_to_write(db.view(), each) for each in args.world],
                types=args.type or ("Turn",),
                before=args.before,
                after=args.after,
                limit=args.limit,
                dry_run=args.dry_run,
                progress=progress,
            )

        def write(page: Page) -> None:
            what = "would be enriched" if done.dry_run else "enriched"
            page.line(f"{wire.counted(len(done.segments), 'text')} {what}")
            if done.unsaid:
                page.line((f"{wire.counted(done.unsaid, 'text')} clear without enrichment", "dim"))

        left = partial(wire.counted, what="text")
        return stores.report_run(db, out, done, enricher, write, failed="was not", counted=left)


COMMANDS: Final = (
    Command(
        "enrich",
        "restate each turn so that it can be found and understood by itself",
        _arguments,
        _enrich,
        (
            ("enrich --dry-run", "which turns would be enriched; nothing is written"),
            ("enrich --json", "by rules, no model; for a program"),
        ),
    ),
)
