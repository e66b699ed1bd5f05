"""``worlddb tune``, ``untune``, ``tunings``, ``types``, ``trust`` and ``trusts``: the rules of an operator."""

from typing import Any, Final

from worlddb import TRUST_LEVELS, EdgeType, Thresholds, Trusted, Tuning, View
from worlddb.tools.cli.base import DONE, Command, Namespace, Output, Page, Parser, Span, arguments, stores, wire

_SCORES: Final = {
    "fuzzy": "Jaro-Winkler similarity of names",
    "phonetic": "Jaro-Winkler similarity of names that sound the same",
    "embedding": "cosine similarity of texts",
    "margin": "lead that the best candidate needs",
}
_FIELDS: Final = (*_SCORES, "most")
_TAKEN_BACK: Final = "unset"


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
        parser.add_argument(
            f"--{name}", type=arguments.number, metavar="X", help=f"{meaning}, 0 to 1 (default: {default})"
        )
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
    with stores.open_existing(args, author=args.author) as db:
        receipt = db.tune(thresholds, world=_world(db.view(), args), type=args.type, why=args.why)
        receipt.raise_if_refused()
        view = db.view()
        (known,) = (each for each in view.tunings() if (each.world, each.type) == (receipt.ref, args.type))
        out.answer(
            {**wire.receipt(receipt), "tuning": wire.record(known)}, lambda page: page.line(*_tuning_line(view, known))
        )
    return DONE


def _untune(args: Namespace, out: Output) -> int:
    with stores.open_existing(args, author=args.author) as db:
        receipt = db.untune(world=_world(db.view(), args), type=args.type, why=args.why)
        receipt.raise_if_refused()

        def write(page: Page) -> None:
            what = args.type or "every type"
            page.line(
                f"removed for {what} in {stores.name_of(db.view(), receipt.ref)}", (f"  commit {receipt.seq}", "dim")
            )

        out.answer(wire.receipt(receipt), write)
    return DONE


def _tunings_arguments(parser: Parser) -> None:
    parser.add_argument("--world", metavar="WORLD", help="thresholds in force in this world (reference or name)")
    arguments.add_moment(parser, valid=False)
    arguments.add_confine(parser)


def _tunings(args: Namespace, out: Output) -> int:
    with stores.open_existing(args) as db:
        view = stores.view_of(db, args)
        found = view.tunings(_world(view, args))
        document: dict[str, Any] = {"tunings": [wire.record(known) for known in found], "view": wire.view(view)}

        def write(page: Page) -> None:
            for known in found:
                page.line(*_tuning_line(view, known))
            if not found:
                page.line("No thresholds are set; those with which the store was opened apply.")

        out.answer(document, write)
    return DONE


def _world(view: View, args: Namespace) -> str | None:
    return None if args.world is None else stores.resolve_world(view, args.world)


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
            ('tune --world "Search team" --fuzzy 0.95', "names inside must be more alike to be proposed as one"),
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
            ('tunings --world "Search team"', "the thresholds for new worlds in one world"),
        ),
    ),
)


def _types_arguments(parser: Parser) -> None:
    parser.add_argument("--world", metavar="WORLD", help="types in force for edges of this world (reference or name)")
    arguments.add_moment(parser, valid=False)
    arguments.add_confine(parser)


def _types(args: Namespace, out: Output) -> int:
    with stores.open_existing(args) as db:
        view = stores.view_of(db, args)
        world = None if args.world is None else stores.resolve_world(view, args.world)
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
    if known.digest_of == "laws":
        spans.append(
            "".join(f"  {law}" for law in (*known.laws, *([f"inverse {known.inverse}"] if known.inverse else [])))
        )
    elif known.digest_of != "built_in":
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
        _types_arguments,
        _types,
        (
            ("types", "every registration, with its world, version and code"),
            ('types --world "Search team"', "the types for edges of one world"),
            ("types --ingested 12 --json", "as of a commit, for a program"),
        ),
    ),
)


def _trust_arguments(parser: Parser) -> None:
    parser.add_argument(
        "level",
        metavar="LEVEL",
        choices=(*TRUST_LEVELS, _TAKEN_BACK),
        help=f"{', '.join(TRUST_LEVELS)}; or {_TAKEN_BACK}, to remove the level",
    )
    about = parser.add_mutually_exclusive_group()
    about.add_argument("--of-author", metavar="NAME", help="the author")
    about.add_argument(
        "--of-source", metavar="FIELD=VALUE", help="a field of the source that came with it, such as file=notes.md"
    )
    about.add_argument("--of-world", metavar="WORLD", help="a world with all that it contains (reference or name)")
    parser.add_argument("--why", default="", metavar="TEXT", help="the reason, kept with it")
    arguments.add_author(parser)


def _trust(args: Namespace, out: Output) -> int:
    source = None
    if args.of_source is not None:
        field, equals, value = args.of_source.partition("=")
        if not (field and equals and value):
            raise arguments.UsageError(
                f"{args.of_source!r} is not FIELD=VALUE", "Give FIELD=VALUE, such as file=notes.md"
            )
        source = {field: value}
    level = None if args.level == _TAKEN_BACK else args.level
    with stores.open_existing(args, author=args.author) as db:
        world = None if args.of_world is None else stores.resolve_to_write(db.view(), args.of_world)
        receipt = db.trust(level, author=args.of_author, source=source, world=world, why=args.why)
        receipt.raise_if_refused()

        def write(page: Page) -> None:
            of = args.of_author or args.of_source or args.of_world or "everything else"
            said = "has no level any more" if level is None else level
            page.line((of, "name"), f"  trust: {said}", (f"  commit {receipt.seq}", "dim"))

        out.answer(wire.receipt(receipt), write)
    return DONE


def _trusts_arguments(parser: Parser) -> None:
    arguments.add_moment(parser, valid=False)
    arguments.add_confine(parser)


def _trusts(args: Namespace, out: Output) -> int:
    with stores.open_existing(args) as db:
        view = stores.view_of(db, args)
        found = view.trusts()
        document: dict[str, Any] = {"trusts": [wire.record(said) for said in found], "view": wire.view(view)}

        def write(page: Page) -> None:
            for said in found:
                page.line(*_trust_line(view, said))
            if not found:
                page.line("No level is set; every source is fully trusted.")

        out.answer(document, write)
    return DONE


def _trust_line(view: View, said: Trusted) -> list[Span]:
    names = {"author": said.name, "source": f"{said.field}={said.name}", "rest": "everything else"}
    name = names[said.of] if said.of in names else stores.name_of(view, said.name)
    if said.erased:
        name = f"({said.of} whose name was erased)"
    spans: list[Span] = [(name, "name"), f"  {said.level}", (f"  of {said.of}, since commit {said.seq}", "dim")]
    if said.why:
        spans.append((f"  because {wire.one_line(said.why, 160)}", "dim"))
    return spans


TRUST_COMMANDS = (
    Command(
        "trust",
        "set how far an author, a source or a world is trusted; recalls can filter and rank by it",
        _trust_arguments,
        _trust,
        (
            ("trust low --of-author scraper", "what this author wrote, and everything that depends on it"),
            ("trust none --of-source file=rumours.md", "what came from one document"),
            ('trust fair --of-world "Search team"', "a world with everything in it"),
            ("trust fair", "everything without a level of its own"),
        ),
    ),
    Command(
        "trusts",
        "list the levels of trust of authors, sources and worlds",
        _trusts_arguments,
        _trusts,
        (("trusts", "all levels, with their reasons"), ("trusts --ingested 12", "as of a commit")),
    ),
)
