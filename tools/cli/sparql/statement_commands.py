"""``worlddb state``, ``unstate`` and ``statements``: read RDF files into worlds, and write them out."""

import sys
from collections.abc import Sequence
from typing import Any

from worlddb import ErasedStatement, InputError, Statement
from worlddb.tools.cli.base import DONE, Command, Namespace, Output, Page, Parser, arguments, stores, wire

_TERM = "in N-Triples: <https://a.example/b>, '\"tea\"' or _:b0"


def _add_pattern(parser: Parser) -> None:
    for name in ("subject", "predicate", "object"):
        parser.add_argument(f"--{name}", metavar="TERM", help=f"only those with this {name}, {_TERM}")
    parser.add_argument("--graph", metavar="TERM", default="any", help="only those in the graph of this name")


def _state_arguments(parser: Parser) -> None:
    parser.add_argument("world", metavar="WORLD", help="a reference or a name")
    parser.add_argument("file", metavar="FILE", help="a file of RDF (-: standard input)")
    _add_format(parser, "the format of the file (default: by its name)")
    parser.add_argument("--base", metavar="IRI", help="the base of relative IRIs")
    parser.add_argument("--graph", metavar="TERM", help=f"the graph for statements without one in the file, {_TERM}")
    parser.add_argument("--valid-from", metavar="TIME", help="they hold from this time on (default: from now on)")
    parser.add_argument("--valid-to", metavar="TIME", help="they hold until this time")
    _add_writing(parser)


def _add_format(parser: Parser, meaning: str) -> None:
    parser.add_argument("--format", metavar="NAME", help=f"turtle, trig, ntriples, nquads, jsonld or rdfxml: {meaning}")


def _add_writing(parser: Parser) -> None:
    parser.add_argument("--idempotency-key", metavar="KEY", help="repeating the command with the same key writes once")
    arguments.add_author(parser)


def _state(args: Namespace, out: Output) -> int:
    if args.file == "-" and args.format is None:
        raise InputError("Standard input has no name to tell the format", "Give --format")
    source: Any = sys.stdin.buffer if args.file == "-" else args.file
    with stores.open_existing(args, author=args.author) as db:
        world = stores.resolve_place(db.view(), args.world)
        window = {"valid_from": args.valid_from, "valid_to": args.valid_to}
        receipt = db.read_rdf(
            world, source, args.format, base=args.base, graph=args.graph, **window, idempotency_key=args.idempotency_key
        )
    return _answer_receipt(receipt, out, f"stated in {args.world}")


def _answer_receipt(receipt: Any, out: Output, done: str) -> int:
    receipt.raise_if_refused()
    said = f"{done} by commit {receipt.seq}" if receipt.events else "there was nothing to change"
    out.answer(wire.receipt(receipt), lambda page: page.line(said))
    return DONE


def _unstate_arguments(parser: Parser) -> None:
    parser.add_argument("world", metavar="WORLD", help="a reference or a name")
    _add_pattern(parser)
    parser.add_argument("--at", metavar="TIME", help="they hold until this time (default: they never did)")
    parser.add_argument("--all", action="store_true", help="without a pattern: all statements of the world")
    _add_writing(parser)


def _unstate(args: Namespace, out: Output) -> int:
    given = (args.subject, args.predicate, args.object)
    if given == (None, None, None) and args.graph == "any" and not args.all:
        raise InputError("Neither a pattern nor --all was given", "Give a pattern, or --all")
    with stores.open_existing(args, author=args.author) as db:
        world = stores.resolve_place(db.view(), args.world)
        receipt = db.unstate(
            world,
            subject=args.subject,
            predicate=args.predicate,
            object=args.object,
            graph=args.graph,
            at=args.at,
            idempotency_key=args.idempotency_key,
        )
    return _answer_receipt(receipt, out, f"retracted in {args.world}")


def _statements_arguments(parser: Parser) -> None:
    parser.add_argument("world", metavar="WORLD", nargs="?", help="only of this world (default: of all visible worlds)")
    _add_pattern(parser)
    _add_format(parser, "write only all statements of a world, in this format")
    parser.add_argument("--limit", type=arguments.count, metavar="N", default=100, help="list at most N (100)")
    parser.add_argument(
        "--erased", action="store_true", help="of a world: the remains of erased statements, and who erased them"
    )
    parser.add_argument(
        "--reifiers",
        action="store_true",
        help="with --format: add when each holds, who stated it, and its source",
    )
    arguments.add_moment(parser)
    arguments.add_confine(parser)


def _statements(args: Namespace, out: Output) -> int:
    with stores.open_existing(args) as db:
        view = stores.view_of(db, args)
        world = None if args.world is None else stores.resolve_place(view, args.world)
        if args.format is not None:
            if world is None:
                raise InputError("--format writes the statements of one world", "Give the world")
            text = view.write_rdf(world, args.format, reifiers=args.reifiers).decode()
            out.verbatim({"world": world, "format": args.format, "text": text}, text)
            return DONE
        pattern = (args.subject, args.predicate, args.object, args.graph)
        if args.erased:
            if world is None or pattern != (None, None, None, "any"):
                raise InputError("--erased lists one world, without a pattern", "Give only the world")
            return _answer_erased(view.erased_statements(world), args, out)
        found = view.statements(world, *pattern, limit=args.limit + 1)
    shown = found[: args.limit]
    document = {"statements": [_document(each) for each in shown], "more": len(found) > len(shown)}

    def write(page: Page) -> None:
        for each in shown:
            graph = "" if each.graph is None else f" {each.graph}"
            page.line((wire.short(each.world), "ref"), f"  {each.subject} {each.predicate} {each.object}{graph}")
        if len(found) > len(shown):
            page.line(f"and more: --limit shows more than {args.limit}")
        if not shown:
            page.line("no statements")

    out.answer(document, write)
    return DONE


def _answer_erased(found: Sequence[ErasedStatement], args: Namespace, out: Output) -> int:
    """List what is left of statements, and who erased the rest."""
    shown = found[: args.limit]

    def write(page: Page) -> None:
        for each in shown:
            page.line((wire.short(each.world), "ref"), f"  {each}")
            if each.erasure is not None:
                told = f"erased by {each.erasure.author}, commit {each.erasure.seq}: {each.erasure.reason}"
                page.line((wire.one_line(told), "dim"), indent=2)
        if len(found) > len(shown):
            page.line(f"and more: --limit shows more than {args.limit}")
        if not shown:
            page.line("none of its statements were erased")

    out.answer({"statements": [_document(each) for each in shown], "more": len(found) > len(shown)}, write)
    return DONE


def _document(found: Statement | ErasedStatement) -> dict[str, Any]:
    told = {name: getattr(found, name) for name in ("subject", "predicate", "object", "graph")}
    terms = {name: None if term is None else str(term) for name, term in told.items()}
    return wire.record(found) | terms


COMMANDS = (
    Command(
        "state",
        "state the contents of an RDF file in a world",
        _state_arguments,
        _state,
        (
            ("state 'Search team' cafes.ttl --valid-from 2026-01-01", "one commit; a bad line writes nothing"),
            ("state 'Search team' cafes.ttl --base https://a.example/", "with the base of relative IRIs"),
        ),
    ),
    Command(
        "unstate",
        "retract statements of a world, or end them",
        _unstate_arguments,
        _unstate,
        (
            ("unstate 'Search team' --object '\"tea\"' --at 2026-06-01", "they hold until then"),
            ("unstate 'Search team' --all", "none of them ever held"),
        ),
    ),
    Command(
        "statements",
        "list the statements of worlds as of any moment, or write those of one world as RDF",
        _statements_arguments,
        _statements,
        (
            ("statements 'Search team' --valid 2026-03-01", "those that held then"),
            ("statements 'Search team' --format turtle > team.ttl", "all of a world, to a file"),
        ),
    ),
)
