"""``worlddb dream``: assess the memories changed since the last run, and deprecate those of no use."""

import os
from typing import Final

import worlddb
from worlddb import Database, Decay, EndpointAssessor
from worlddb.tools.cli.base import DONE, Command, Namespace, Output, Page, Parser, arguments, stores, wire

_KEY: Final = "WORLDDB_ASSESSOR_KEY"
TRIPPED: Final = 1
"""The exit code of a run whose breaker tripped: somebody should look at its report."""
_SHOWN: Final = 20


def _arguments(parser: Parser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="write nothing, and show what would be done")
    parser.add_argument(
        "--max-ratio",
        metavar="SHARE",
        type=arguments.number,
        default=0.5,
        help="deprecate at most this share of the judged memories, 0.1 to 0.9 (default: %(default)s)",
    )
    parser.add_argument("--halt", action="store_true", help="do nothing at all if a larger share is recommended")
    parser.add_argument(
        "--allow-published",
        action="store_true",
        help="also deprecate memories with the tag published; never pinned ones",
    )
    parser.add_argument(
        "--half-life",
        metavar="DAYS",
        type=arguments.number,
        help="also deprecate memories that have faded, by this half-life",
    )
    parser.add_argument(
        "--batch",
        metavar="N",
        type=arguments.count,
        default=20,
        help="judge N memories at a time (default: %(default)s)",
    )
    arguments.add_model(
        parser,
        "--assessor",
        f"let a model judge, behind an endpoint whose key is in {_KEY} (default: rules, no model)",
    )
    arguments.add_author(parser)


def _dream(args: Namespace, out: Output) -> int:
    assessor = _make_assessor(args)
    decay = None if args.half_life is None else Decay(half_life_days=args.half_life)
    with stores.open_existing(args, author=args.author) as db:
        with out.progress("Dreaming") as report:
            done = db.dream(
                assessor,
                dry_run=args.dry_run,
                batch_size=args.batch,
                max_deprecation_ratio=args.max_ratio,
                allow_published=args.allow_published,
                halt=args.halt,
                decay=decay,
                progress=None if report is None else lambda what, step, total: report(step, total, what),
            )
        names = _names(db, done.deprecated)
        marked = [] if done.dry_run else _commits(db, done.deprecated)

        def write(page: Page) -> None:
            if not done.assessed:
                page.line("there was nothing to judge")
            would = "would be " if done.dry_run else ""
            counts = [
                (done.assessed, "judged"),
                (len(done.deprecated), f"{would}deprecated"),
                (len(done.labelled), f"{would}labelled"),
                (len(done.updated), f"{would}updated"),
                (len(done.related), f"{would}linked to others"),
                (done.protected, "kept, since they are pinned or published"),
            ]
            parts = [f"{_count_text(count)} {what}" for count, what in counts if count]
            if parts:
                page.line("; ".join(parts))
            for ref, name in names:
                page.line((wire.short(ref), "ref"), f"  {name}")
            if done.tripped:
                rest = "nothing was done" if done.halted else "the others stay visible"
                page.line(f"the breaker tripped: {len(done.held_back)} more were recommended, and {rest}")
            if done.report:
                page.line("report ", (wire.short(done.report), "ref"))
            if done.dry_run:
                page.line("nothing was written; run it without --dry-run to write")
            elif done.commits:
                page.line(f"written by {wire.counted(done.commits, 'commit')} of worlddb.dream; nothing is deleted")
            if marked:
                out.hint("bring one back: worlddb deprecate REF --remove")
                if not (done.labelled or done.updated or done.related):
                    out.hint("all of them: " + "; ".join(f"worlddb undo --commit {seq}" for seq in marked))

        code = stores.report_run(db, out, done, assessor, write, failed="failed", counted=_count_text)
    return code or (TRIPPED if done.tripped else DONE)


def _count_text(number: int) -> str:
    return f"{number:,} {'memory' if number == 1 else 'memories'}"


def _names(db: Database, refs: tuple[str, ...]) -> list[tuple[str, str]]:
    view = db.view().revealing(deprecated=True)
    worlds = (view.get(ref) for ref in refs[:_SHOWN])
    return [(world.ref, wire.one_line(world.content or world.name, 60)) for world in worlds if world is not None]


def _commits(db: Database, refs: tuple[str, ...]) -> list[int]:
    """Return the commits that deprecated some worlds."""
    view = db.view().revealing(deprecated=True)
    return sorted({mark.seq for ref in refs for mark in view.marks(ref)[-1:]})


def _make_assessor(args: Namespace) -> EndpointAssessor | None:
    named = arguments.model_options(args, "--assessor")
    return None if named is None else worlddb.EndpointAssessor(**named, key=os.environ.get(_KEY))


COMMANDS = (
    Command(
        "dream",
        "assess new memories, and deprecate those of no further use; --dry-run only shows it",
        _arguments,
        _dream,
        (
            ("dream --dry-run", "what would be done, and nothing is"),
            ("dream --max-ratio 0.2 --json", "for a program: what was done"),
        ),
    ),
)
