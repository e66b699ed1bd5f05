"""``worlddb prefer`` and ``preferences``: what somebody prefers, avoids, rejected or optimises for."""

from typing import Final

from worlddb import Preference
from worlddb.tools.cli.base import DONE, Command, Namespace, Output, Page, Parser, Span, arguments, stores, wire
from worlddb.tools.cli.write.write_commands import answer_receipt

_RELATIONS: Final = ("prefers", "avoids", "rejected", "optimizes_for")


def _prefer_arguments(parser: Parser) -> None:
    parser.add_argument(
        "subject", metavar="SUBJECT", help="the holder of the preference: a reference, a name or a kref"
    )
    parser.add_argument("relation", choices=_RELATIONS, help="the relation to the object")
    parser.add_argument("object", metavar="OBJECT", help="as SUBJECT")
    parser.add_argument(
        "--outcome", choices=("acted_upon", "succeeded", "reversed"), help="the outcome of acting on it"
    )
    parser.add_argument("--inferred", action="store_true", help="nobody stated it: it was derived")
    parser.add_argument(
        "--based-on", metavar="REF", action="append", default=[], help="a source that it was derived from; repeatable"
    )
    parser.add_argument("--confidence", metavar="N", type=arguments.number, help="how sure the statement is, 0 to 1")
    parser.add_argument("--valid-from", metavar="TIME", help="since when (default: now)")
    parser.add_argument("--why", default="", metavar="TEXT", help="the reason, kept with it")
    arguments.add_author(parser)


def _prefer(args: Namespace, out: Output) -> int:
    with stores.open_existing(args, author=args.author) as db:
        view = db.view()
        ends = [stores.resolve_to_write(view, each) for each in (args.subject, args.object)]
        receipt = db.prefer(
            ends[0],
            args.relation,
            ends[1],
            outcome=args.outcome,
            inferred=args.inferred,
            confidence=args.confidence,
            based_on=[stores.resolve_world_or_edge(view, each, writes=True) for each in args.based_on],
            valid_from=args.valid_from,
            why=args.why,
        )
        return answer_receipt(args, db, out, receipt)


def _preferences_arguments(parser: Parser) -> None:
    parser.add_argument("ref", metavar="SUBJECT", help="a reference, its first digits, a name or a kref")
    parser.add_argument("--relation", choices=_RELATIONS, help="only this kind")
    arguments.add_limit(parser, "list at most N")
    arguments.add_moment(parser)
    arguments.add_confine(parser)
    arguments.add_unify(parser)


def _preferences(args: Namespace, out: Output) -> int:
    with stores.open_existing(args) as db:
        view = stores.view_of(db, args)
        ref = stores.resolve_world(view, args.ref)
        found = view.preferences(ref, relation=args.relation)[: args.limit]

        def write(page: Page) -> None:
            if not found:
                page.line("No preferences are known.")
            for each in found:
                page.line(*_preference_record(each))

        document = {"ref": ref, "preferences": [wire.record(each) for each in found], "view": wire.view(view)}
        out.answer(document, write)
    return DONE


def _preference_record(each: Preference) -> list[Span]:
    counted = [wire.counted(each.stated, "statement")] if each.stated else ["inferred"]
    counted += [f"{name.replace('_', ' ')} {count}" for name, count in each.outcomes.items()]
    why = f", because {wire.one_line(each.why, 120)}" if each.why else ""
    told = f"  {each.confidence:.2f}  {', '.join(counted)}{why}"
    name = wire.one_line(each.name, 100)
    return [f"{each.relation}  ", (wire.short(each.object), "ref"), "  ", (name, "name"), (told, "dim")]


COMMANDS = (
    Command(
        "prefer",
        "record that somebody prefers, avoids, rejected or optimizes for something, or the outcome",
        _prefer_arguments,
        _prefer,
        (
            ('prefer "Sarah Chen" avoids Office', "stating it again raises its confidence"),
            ('prefer "Sarah Chen" avoids Office --outcome succeeded', "the outcome of acting on it"),
        ),
    ),
    Command(
        "preferences",
        "list what somebody prefers, avoids, rejected or optimizes for, the surest first",
        _preferences_arguments,
        _preferences,
        (('preferences "Sarah Chen"', "with confidence, from 0 to 1"),),
    ),
)
