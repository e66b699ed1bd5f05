"""``worlddb tune``, ``untune``, ``tunings`` and ``types``: thresholds and edge types."""

from typing import Any, Final

from worlddb import EdgeType, Thresholds, Tuning, View
from worlddb.tools.cli.base import DONE, Command, Namespace, Output, Page, Parser, Span, arguments, stores, wire

_SCORES: Final = {
    "fuzzy": "Jaro-Winkler similarity of names",
    "phonetic": "Jaro-Winkler similarity of names that sound the same",
    "embedding": "cosine similarity of texts",
    "margin": "lead that the best candidate needs",
}
_FIELDS: Final = (*_SCORES, "most")


def _place_arguments(parser: Parser) -> None:
    parser.add_argument("--world", metavar="WORLD", help="a reference or a name (default: the whole store)")
    parser.add_argument(
        "--type", default="", metavar="TYPE", help="for candidates of this type (default: of every type)"
    )
    parser.add_argument("--why", default="", metavar="TEXT", help="the reason, kept with it")
    arguments.add_author(parser)


def _tune_arguments(parser: Parser) -> None:
    _place_arguments(parser)
    for name, meaning in _SCORES.items():
        default = getattr(Thresholds(), name)
        parser.add_argument(f"--{name}", type=float, metavar="X", help=f"{meaning}, 0 to 1 (default: {default})")
    most = Thresholds().most
    parser.add_argument(
        "--most", type=int, metavar="N", help=f"most proposals where several are likely (default: {most})"
    )


def _tune(args: Namespace, out: Output) -> int:
    given = {name: getattr(args, name) for name in _FIELDS if getattr(args, name) is not None}
    if not given:
        raise arguments.UsageError(
            "No threshold was given",
            "Give one or more of --fuzzy, --phonetic, --embedding, --margin and --most; `worlddb tunings` lists them",
        )
    thresholds = Thresholds(**given)
    with stores.existing(args, author=args.author) as db:
        receipt = db.tune(thresholds, world=_world(db.view(), args), type=args.type, why=args.why)
        receipt.raise_if_refused()
        view = db.view()
        (known,) = (each for each in view.tunings() if (each.world, each.type) == (receipt.ref, args.type))
        out.answer(
            {**wire.receipt(receipt), "tuning": wire.record(known)}, lambda page: page.line(*_tuning_line(view, known))
        )
    return DONE


def _untune(args: Namespace, out: Output) -> int:
    with stores.existing(args, author=args.author) as db:
        receipt = db.untune(world=_world(db.view(), args), type=args.type, why=args.why)
        receipt.raise_if_refused()

        def write(page: Page) -> None:
            what = args.type or "every type"
            page.line(
                f"taken back for {what} in {stores.name_of(db.view(), receipt.ref)}", (f"  commit {receipt.seq}", "dim")
            )

        out.answer(wire.receipt(receipt), write)
    return DONE


def _tunings_arguments(parser: Parser) -> None:
    parser.add_argument("--world", metavar="WORLD", help="thresholds in force in this world (reference or name)")
    arguments.add_moment(parser, valid=False)
    arguments.add_confine(parser)


def _tunings(args: Namespace, out: Output) -> int:
    with stores.existing(args) as db:
        view = stores.view_of(db, args)
        found = view.tunings(_world(view, args))
        document: dict[str, Any] = {"tunings": [wire.record(known) for known in found], "view": wire.view(view)}

        def write(page: Page) -> None:
            for known in found:
                page.line(*_tuning_line(view, known))
            if not found:
                page.line("None are set; the thresholds that the store is opened with apply.")

        out.answer(document, write)
    return DONE


def _world(view: View, args: Namespace) -> str | None:
    return None if args.world is None else stores.world_of(view, args.world)


def _tuning_line(view: View, known: Tuning) -> list[Span]:
    values = ", ".join(f"{name} {getattr(known, name):g}" for name in _FIELDS)
    spans: list[Span] = [(known.type or "every type", "name"), f"  {values}"]
    spans.append((f"  in {stores.name_of(view, known.world)}, since commit {known.seq}", "dim"))
    if known.why:
        spans.append((f"  because {wire.one_line(known.why, 160)}", "dim"))
    return spans


COMMANDS = (
    Command(
        "tune",
        "set the resolver's thresholds for a world and everything in it",
        _tune_arguments,
        _tune,
        (
            ('tune --world "Search team" --fuzzy 0.95', "names inside have to be more alike to be proposed as one"),
            ("tune --type Person --phonetic 1", "for people in the whole store: never by sound alone"),
        ),
    ),
    Command(
        "untune",
        "remove thresholds that were set with tune",
        _place_arguments,
        _untune,
        (('untune --world "Search team"', "the thresholds around it apply there again"),),
    ),
    Command(
        "tunings",
        "list the thresholds of the resolver that were set for worlds",
        _tunings_arguments,
        _tunings,
        (
            ("tunings", "everything that is set, with its world and reason"),
            ('tunings --world "Search team"', "what holds for newcomers in one world"),
        ),
    ),
)


def _arguments(parser: Parser) -> None:
    parser.add_argument("--world", metavar="WORLD", help="types in force for edges of this world (reference or name)")
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
                    page.line(*_type_line(view, known))
            if view.missing_edge_types:
                out.hint(
                    "note: this program lacks the handlers of some registered types; it reads their edges, and only"
                    " programs with the handlers write them"
                )

        out.answer(document, write)
    return DONE


def _type_line(view: View, known: EdgeType) -> list[Span]:
    spans: list[Span] = [(known.name, "name")]
    if known.digest_of != "built_in":
        spans.append(f"  version {known.version}, code {known.digest[:12]} (of its {known.digest_of})")
    spans.append("  functional" if known.functional else "")
    spans.append(f"  {', '.join(known.rewrites)}" if known.rewrites else "")
    spans.append((f"  for {stores.name_of(view, known.world)}, since commit {known.seq}", "dim"))
    if known.why:
        spans.append((f"  because {wire.one_line(known.why, 160)}", "dim"))
    return spans


TYPE_COMMANDS = (
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
