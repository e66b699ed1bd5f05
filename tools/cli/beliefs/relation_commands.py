"""``worlddb relation``, ``states`` and ``vocabulary``: declare relations, read their history, restrict types."""

from typing import Any, Final

from worlddb import FOREVER, State, View
from worlddb.tools.cli.base import DONE, Command, Namespace, Output, Page, Parser, Span, arguments, stores, wire
from worlddb.tools.cli.write.write_commands import add_common, answer_receipt

_LAWS: Final = {
    "functional": "a second target at one time is recorded as a contradiction",
    "succession": "each target holds until the next one begins",
    "acyclic": "an edge that would lead back to its source is refused",
    "symmetric": "reads show it from both ends alike",
}


def _relation_arguments(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME", help="the name to link by, such as works_at")
    for law, meaning in _LAWS.items():
        parser.add_argument(f"--{law}", action="store_true", help=meaning)
    parser.add_argument("--inverse", metavar="NAME", help="the name by which reads follow it from target to source")
    parser.add_argument("--world", metavar="WORLD", help="for edges of this world (default: the whole store)")
    parser.add_argument("--remove", action="store_true", help="remove the relation; its edges stay")
    add_common(parser)


def _relation(args: Namespace, out: Output) -> int:
    laws = {law: getattr(args, law) for law in _LAWS}
    if args.remove and (args.inverse is not None or any(laws.values())):
        raise arguments.UsageError("--remove was given with laws", "Remove the relation, then declare it again")
    with stores.open_existing(args, author=args.author) as db:
        world = None if args.world is None else stores.resolve_to_write(db.view(), args.world)
        told = {"world": world, "why": args.why, "idempotency_key": args.idempotency_key}
        if args.remove:
            return answer_receipt(args, db, out, db.unregister(args.name, **told))
        return answer_receipt(args, db, out, db.define_relation(args.name, inverse=args.inverse, **laws, **told))


def _states_arguments(parser: Parser) -> None:
    parser.add_argument("source", metavar="WORLD", help="a reference, its first digits, or a name")
    parser.add_argument("target", metavar="OTHER", nargs="?", help="only what leads to this world")
    parser.add_argument("--type", metavar="TYPE", help="only this relation, or its inverse")
    arguments.add_moment(parser)
    arguments.add_confine(parser)


def _states(args: Namespace, out: Output) -> int:
    with stores.open_existing(args) as db:
        view = stores.view_of(db, args)
        source = stores.resolve_world(view, args.source)
        target = None if args.target is None else stores.resolve_world(view, args.target)
        stores.hint_unknown_types(view, [args.type] if args.type else [], out)
        found = view.states(source, target, type=args.type)
        document: dict[str, Any] = {"states": [_record(state) for state in found], "view": wire.view(view)}

        def write(page: Page) -> None:
            for state in found:
                page.line(*_line(view, state, source))
                for name, said in state.context.items():
                    page.line((f"    {name}: {wire.one_line(str(said), 160)}", "dim"))
            if not found:
                page.line("It has no states.")

        out.answer(document, write)
    return DONE


def _record(state: State) -> dict[str, Any]:
    told = wire.record(state)
    told["retracted_at"] = None if state.retracted_at is None else wire.time(state.retracted_at)
    return told


def _line(view: View, state: State, source: str) -> list[Span]:
    other = state.target if state.source == source else state.source
    until = "" if state.valid.end == FOREVER else f" to {wire.moment(state.valid.end)}"
    mark = "retracted" if state.retracted else "holds" if state.holds else "held"
    spans: list[Span] = [(f"{mark:9}", "dim"), f"  {state.type} ", (stores.name_of(view, other), "name")]
    spans.append(f"  from {wire.moment(state.valid.start)}{until}")
    spans.append((f"  commit {state.seq} by {state.author}", "dim"))
    if state.retracted:
        spans.append((f", retracted by commit {state.retracted}", "dim"))
    if state.why:
        spans.append(f"  because {wire.one_line(state.why, 160)}")
    return spans


def _vocabulary_arguments(parser: Parser) -> None:
    parser.add_argument("world", metavar="WORLD", nargs="?", help="a reference or a name (default: the whole store)")
    parser.add_argument(
        "--profile", metavar="NAME", default="", help="a built-in profile (arbiter), or a name for your own"
    )
    parser.add_argument(
        "--node-type", metavar="TYPE", action="append", default=[], help="an allowed type of worlds; repeatable"
    )
    parser.add_argument(
        "--relation", metavar="TYPE", action="append", default=[], help="an allowed type of edges; repeatable"
    )
    parser.add_argument("--lift", action="store_true", help="remove the restriction")
    add_common(parser)


def _vocabulary(args: Namespace, out: Output) -> int:
    given = bool(args.profile or args.node_type or args.relation)
    if args.lift and given:
        raise arguments.UsageError("--lift was given with a profile", "Give --lift alone, or leave it out")
    with stores.open_existing(args, author=args.author) as db:
        view = db.view()
        world = None if args.world is None else stores.resolve_world(view, args.world)
        told = {"why": args.why, "idempotency_key": args.idempotency_key}
        if args.lift:
            return answer_receipt(args, db, out, db.lift_profile(world, **told))
        if given:
            what = {"node_types": args.node_type, "relations": args.relation}
            return answer_receipt(args, db, out, db.set_profile(world, args.profile, **what, **told))
        if args.why or args.idempotency_key:
            raise arguments.UsageError("No profile was given", "Give --profile, --node-type or --lift")
        found = view.profiles(world)

        def write(page: Page) -> None:
            for known in found:
                page.line((known.name, "name"), f"  types {', '.join(known.node_types)}")
                page.line(f"  relations {', '.join(known.relations) or 'none'}")
                page.line((f"  for {stores.name_of(view, known.world)}, since commit {known.seq}", "dim"))
            if not found:
                page.line("No vocabulary is restricted.")

        out.answer({"profiles": [wire.record(known) for known in found], "view": wire.view(view)}, write)
    return DONE


COMMANDS = (
    Command(
        "relation",
        "declare a relation by its name and laws, for every program to link by",
        _relation_arguments,
        _relation,
        (
            ("relation works_at --functional --inverse employs", "a second employer at one time is a contradiction"),
            ("relation lives_in --succession", "the next place ends the one before"),
        ),
    ),
    Command(
        "states",
        "list all states of a relation: what holds, what held, when it changed and why",
        _states_arguments,
        _states,
        (
            ('states "Sarah Chen"', "all her relations, in the order in which they were stated"),
            ('states "Sarah Chen" --type refers_to --json', "of one type, for a program"),
        ),
    ),
    Command(
        "vocabulary",
        "restrict a world to a profile of node types and relations, lift that, or list what is set",
        _vocabulary_arguments,
        _vocabulary,
        (
            ("vocabulary", "every profile that is set"),
            ('vocabulary "Spring in Lisbon" --profile arbiter', "the six types and five relations of Arbiter"),
            ('vocabulary "Jon Okafor" --node-type Note --relation supports', "a vocabulary of your own"),
        ),
    ),
)
