"""``worlddb sparql``: a query in SPARQL 1.1, as of any moment."""

from typing import Any

import msgspec

from worlddb import InputError
from worlddb.tools.cli.base import DONE, NO, Command, Namespace, Output, Parser, arguments, stores, wire


def _arguments(parser: Parser) -> None:
    parser.add_argument("text", metavar="QUERY", help="the query; FROM wdb:memory asks every world and edge")
    parser.add_argument("--world", metavar="WORLD", help="query the statements of this world (default: the outermost)")
    parser.add_argument("--format", default="tsv", metavar="NAME", help="json, xml, csv, tsv, turtle ... (tsv)")
    parser.add_argument("--update", action="store_true", help="the text is an update of the statements of --world")
    parser.add_argument(
        "--timeout", type=arguments.seconds, default=10.0, metavar="SECONDS", help="cancel it after this time (10)"
    )
    arguments.add_moment(parser)
    arguments.add_confine(parser)


def _update(args: Namespace, out: Output) -> int:
    if args.world is None:
        raise InputError("An update needs a world", "Give it with --world")
    with stores.open_existing(args) as db:
        world = stores.resolve_place(db.view(), args.world)
        receipt = db.sparql_update(args.text, world=world, timeout_seconds=args.timeout)
    receipt.raise_if_refused()
    for note in receipt.notes:
        out.warn(f"note: {note}")
    done = f"changed by commit {receipt.seq}" if receipt.events else "there was nothing to change"
    out.answer(wire.receipt(receipt), lambda page: page.line(done))
    return DONE


def _sparql(args: Namespace, out: Output) -> int:
    if args.update:
        return _update(args, out)
    with stores.open_existing(args) as db:
        view = stores.view_of(db, args)
        world = None if args.world is None else stores.resolve_place(view, args.world)
        asked: dict[str, Any] = {"world": world, "timeout_seconds": args.timeout}
        answer = view.sparql(args.text, format="json" if args.json else args.format, **asked)
    for why in answer.unavailable.values():
        out.warn(f"A search used words only: {why}")
    text = answer.body.decode()
    document = msgspec.json.decode(answer.body) if args.json else {}
    if answer.note:
        out.warn(f"note: {answer.note}")
        if isinstance(document, dict):
            document["note"] = answer.note
    # JSON-LD is a list where there are several subjects.
    out.verbatim(document if isinstance(document, dict) else {"@graph": document}, text.rstrip("\r\n") + "\n")
    return NO if answer.form == "ask" and b"true" not in answer.body else DONE


COMMANDS = (
    Command(
        "sparql",
        "answer a query in SPARQL 1.1 as of any moment",
        _arguments,
        _sparql,
        (
            ("sparql 'SELECT ?name FROM wdb:memory { ?world wdb:name ?name }'", "the name of every world"),
            (
                "sparql --world 'Search team' --update 'DELETE WHERE { ?cafe ?serves \"cake\" }'",
                "change its statements; deleted ones hold until now",
            ),
            (
                "sparql 'SELECT ?w FROM <https://worlddb.dev/ns#search?text=search+team> { ?w wdb:score ?s }'",
                "every world that a search finds, to join with other patterns",
            ),
            ("sparql 'ASK FROM wdb:memory { ?world wdb:type \"Topic\" }'", "whether there is a topic"),
        ),
    ),
)
