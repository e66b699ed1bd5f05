"""``worlddb believe``, ``contract``, ``rollback`` and others: read and change beliefs and their settings."""

import json
from collections.abc import Iterable
from typing import Any

from worlddb import FOREVER, Atom, Plan, View, format_time
from worlddb.tools.cli.base import DONE, Command, Namespace, Output, Page, Parser, arguments, stores, wire
from worlddb.tools.cli.write.write_commands import add_common, answer_receipt

_SHOWN = 200
"""Characters of a value that a line shows."""


def _beliefs_argument(parser: Parser) -> None:
    parser.add_argument("ref", metavar="REF", help="a reference, its first digits, a name or a kref")
    parser.add_argument(
        "beliefs",
        metavar="PREDICATE=VALUE",
        nargs="+",
        help='such as summary="cool tones" or topic=ops; a JSON value is taken as such, and one predicate may repeat',
    )


def _parse_beliefs(given: list[str]) -> list[tuple[str, Any]]:
    """The beliefs that were given, each a predicate with its value."""
    found = []
    for each in given:
        predicate, equals, value = each.partition("=")
        if not equals or not predicate:
            raise arguments.UsageError(f"{each!r:.80} is not a belief", "Give PREDICATE=VALUE, such as summary=blue")
        found.append((predicate, _value(predicate, value)))
    return found


def _value(predicate: str, text: str) -> Any:
    if predicate in ("type", "title", "summary"):
        return text
    try:
        found = json.loads(text)
    except ValueError:
        return text
    return text if found is None else found


def _believe_arguments(parser: Parser) -> None:
    _beliefs_argument(parser)
    parser.add_argument(
        "--whole", action="store_true", help="replace everything that it says, except its type and name"
    )
    _add_window(parser)


def _expand_arguments(parser: Parser) -> None:
    _beliefs_argument(parser)
    _add_window(parser)


def _add_window(parser: Parser) -> None:
    parser.add_argument("--valid-from", metavar="TIME", help="since when (default: now)")
    parser.add_argument("--valid-to", metavar="TIME", help="until when (default: until what follows)")
    add_common(parser)


def _believe(args: Namespace, out: Output) -> int:
    told: dict[str, Any] = {"valid_from": args.valid_from, "valid_to": args.valid_to}
    told |= {"why": args.why, "idempotency_key": args.idempotency_key}
    with stores.open_existing(args, author=args.author) as db:
        ref, said = stores.resolve_to_write(db.view(), args.ref), _parse_beliefs(args.beliefs)
        if args.command == "expand":
            return answer_receipt(args, db, out, db.expand(ref, said, **told), has_text=True)
        return answer_receipt(args, db, out, db.believe(ref, said, whole=args.whole, **told), has_text=True)


def _contract_arguments(parser: Parser) -> None:
    parser.add_argument("ref", metavar="REF", help="the item: a reference, its first digits, a name or a kref")
    parser.add_argument("beliefs", metavar="PREDICATE=VALUE", nargs="+", help="the belief to drop")
    parser.add_argument(
        "--and",
        dest="others",
        metavar=("REF", "PREDICATE=VALUE"),
        nargs=2,
        action="append",
        default=[],
        help="a belief of another item, to drop together with it; repeatable",
    )
    parser.add_argument(
        "--plan", action="store_true", help="show what would change and what depends on it; write nothing"
    )
    parser.add_argument(
        "--each", action="store_true", help="drop all of several beliefs, not only the least entrenched"
    )
    parser.add_argument(
        "--whole", action="store_true", help="drop the versions that state it, with everything else in them"
    )
    parser.add_argument("--at", metavar="TIME", help="the beliefs at this valid time (default: now)")
    add_common(parser)


def _contract(args: Namespace, out: Output) -> int:
    with stores.open_existing(args, author=args.author) as db:
        view = db.view() if args.at is None else db.view(valid=args.at)
        ref = stores.resolve_to_write(view, args.ref)
        asked = [(ref, *each) for each in _parse_beliefs(args.beliefs)]
        asked += [
            (stores.resolve_to_write(view, other), *each)
            for other, belief in args.others
            for each in _parse_beliefs([belief])
        ]
        plan = view.contraction(asked, whole=args.whole, each=args.each)
        if not args.plan:
            return answer_receipt(args, db, out, db.contract(plan, why=args.why, idempotency_key=args.idempotency_key))
        told: dict[str, Any] = {name: _plan_document(getattr(plan, name)) for name in ("asked", "goes", "stays")}
        changes = [wire.record(each) | {"removes": _plan_document(each.removes)} for each in plan.changes]
        document = wire.record(plan) | told | {"changes": changes, "view": wire.view(view)}
        out.answer(document, lambda page: _write_plan(page, plan))
    return DONE


def _plan_document(atoms: Iterable[Atom]) -> list[dict[str, Any]]:
    return [atom._asdict() for atom in atoms]


def _write_plan(page: Page, plan: Plan) -> None:
    if not plan.changes:
        page.line("Nothing would change: that is not believed.")
    for change in plan.changes:
        name = wire.one_line(change.name, 100)
        page.line((wire.short(change.item), "ref"), "  ", (name, "name"), (f"  version {change.version}", "dim"))
        for atom in change.removes:
            page.line("goes: ", *_atom(atom), indent=2)
        for start, end in change.spans:
            until = "" if end == FOREVER else f" to {format_time(end)}"
            page.line((f"held from {format_time(start)}{until}", "dim"), indent=2)
    for atom in plan.stays if plan.goes else ():
        page.line("stays: ", (wire.short(atom.item), "ref"), "  ", *_atom(atom))
    for each in plan.rests_on:
        page.line("depends on it: ", (wire.short(each.ref), "ref"), "  ", (wire.one_line(each.name, 100), "name"))
    for ref in plan.cut_off:
        page.line((f"more depends on {wire.short(ref)}", "dim"))
    for receipt in plan.receipts:
        page.line(("a kept recall receipt names it: ", "dim"), (receipt, "ref"))


def _atom(atom: Atom) -> list[tuple[str, str]]:
    return [(f"{atom.predicate} ", "dim"), (wire.one_line(atom.value, _SHOWN), "name")]


def _rollback_arguments(parser: Parser) -> None:
    parser.add_argument("ref", metavar="REF", help="a reference, its first digits, a name or a kref")
    parser.add_argument(
        "version", metavar="N", type=arguments.count, help="the number of the version, as history has it"
    )
    parser.add_argument("--valid-from", metavar="TIME", help="since when (default: now)")
    add_common(parser)


def _rollback(args: Namespace, out: Output) -> int:
    told: dict[str, Any] = {"valid_from": args.valid_from, "why": args.why, "idempotency_key": args.idempotency_key}
    with stores.open_existing(args, author=args.author) as db:
        ref = stores.resolve_to_write(db.view(), args.ref)
        return answer_receipt(args, db, out, db.rollback(ref, args.version, **told), has_text=True)


def _beliefs_arguments(parser: Parser) -> None:
    parser.add_argument("ref", metavar="WORLD", nargs="?", help="of this world and inside it (default: everything)")
    parser.add_argument(
        "--surface", action="store_true", help="without deprecated worlds, and those that a deadline hides"
    )
    parser.add_argument(
        "--settings", action="store_true", help="the settings: which tags carry beliefs, and how beliefs are compared"
    )
    arguments.add_limit(parser, "list at most N")
    arguments.add_moment(parser)
    arguments.add_confine(parser)


def _beliefs(args: Namespace, out: Output) -> int:
    with stores.open_existing(args) as db:
        view = stores.view_of(db, args)
        if args.settings:
            _answer_settings(view, out)
            return DONE
        world = None if args.ref is None else stores.resolve_world(view, args.ref)
        read = view.retrieval_surface if args.surface else view.belief_base
        found = sorted({*read(world), *(() if args.ref in (None, "root") else read(of=world))})[: args.limit]

        def write(page: Page) -> None:
            if not found:
                page.line("Nothing is believed at this time.")
            for atom in found:
                page.line((wire.short(atom.item), "ref"), "  ", *_atom(atom))

        out.answer({"beliefs": _plan_document(found), "view": wire.view(view)}, write)
    return DONE


def _write_settings(page: Page, told: dict[str, Any]) -> None:
    page.line(("tags that carry beliefs: ", "dim"), ", ".join(told["tags"]))
    page.line(("single-valued: ", "dim"), ", ".join(told["single"]))
    for kind, how in told["entrenchment"].items():
        page.line((f"{kind}: ", "dim"), f"compared by {how}")


def _settings_arguments(parser: Parser) -> None:
    for option, meaning in _SETTINGS.items():
        parser.add_argument(f"--{option}", metavar="NAME", action="append", default=[], help=f"{meaning}; repeatable")
    parser.add_argument(
        "--compare",
        metavar="TYPE=HOW",
        action="append",
        default=[],
        help="compare beliefs of a type by recency, support or confidence; TYPE= removes the setting",
    )
    add_common(parser)


_SETTINGS = {
    "tag": "a tag that carries beliefs, beside current",
    "plain-tag": "a tag that no longer carries beliefs",
    "single": "a predicate that takes one value at a time",
    "many": "a predicate that takes several again",
}


def _belief_settings(args: Namespace, out: Output) -> int:
    compared: dict[str, str | None] = {}
    for each in args.compare:
        kind, equals, how = each.partition("=")
        if not equals or not kind:
            raise arguments.UsageError(f"{each!r:.80} has no criterion", "Give TYPE=HOW, such as Fact=support")
        compared[kind] = how or None
    said = {"tags": args.tag, "plain_tags": args.plain_tag, "single": args.single, "many": args.many}
    with stores.open_existing(args, author=args.author) as db:
        if compared or any(said.values()):
            told = {"why": args.why, "idempotency_key": args.idempotency_key}
            return answer_receipt(args, db, out, db.set_beliefs(**said, entrenchment=compared, **told))
        if args.why or args.idempotency_key:
            raise arguments.UsageError("No setting was given", "Give --tag, --single, --compare or the like")
        _answer_settings(db.view(), out)
    return DONE


def _answer_settings(view: View, out: Output) -> None:
    told = wire.record(view.belief_settings())
    out.answer(told | {"view": wire.view(view)}, lambda page: _write_settings(page, told))


COMMANDS = (
    Command(
        "believe",
        "add a belief to a world, and replace those that conflict with it",
        _believe_arguments,
        _believe,
        (
            ('believe 3fa9c2d1 summary="cool tones"', "its history keeps what it said before"),
            ("believe 3fa9c2d1 topic=ops topic=web --whole", "replaces everything that it says"),
        ),
    ),
    Command(
        "expand",
        "add a belief to a world beside its others; refused if it conflicts with them",
        _expand_arguments,
        _believe,
        (("expand 3fa9c2d1 topic=taste", "one more topic"),),
    ),
    Command(
        "contract",
        "drop a belief, for all of the time in which it was held",
        _contract_arguments,
        _contract,
        (
            ("contract 3fa9c2d1 type=Fact --plan", "what would change, and what depends on it"),
            ('contract 3fa9c2d1 topic=ops --and "Tom Okafor" topic=ops', "the least entrenched of the two is dropped"),
        ),
    ),
    Command(
        "rollback",
        "give a world back the content of one of its earlier versions",
        _rollback_arguments,
        _rollback,
        (("rollback 3fa9c2d1 1 --why wrong", "a new version, whose source names the old one"),),
    ),
    Command(
        "beliefs",
        "list what is believed, as of any moment",
        _beliefs_arguments,
        _beliefs,
        (
            ("beliefs --limit 20", "the beginning of the belief base"),
            ("beliefs --surface --valid 2025-03-01", "what reads show, as of that time"),
            ("beliefs --settings", "which tags carry beliefs, and how types are compared"),
        ),
    ),
    Command(
        "belief-settings",
        "set what counts as believed in the whole store; without options, list it",
        _settings_arguments,
        _belief_settings,
        (
            ("belief-settings", "which tags carry beliefs, and how types are compared"),
            ("belief-settings --tag published --single status --compare Decision=recency", "from this commit on"),
        ),
    ),
)
