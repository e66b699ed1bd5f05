"""``worlddb query``: a starting set of worlds, then operators in the order in which they were typed."""

import os
import sys
from argparse import Action, ArgumentTypeError
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import msgspec

from worlddb import LANES, POOLS, TRUST_LEVELS, InputError, Query, Stage, Subgraph, View, World
from worlddb.tools.cli import base
from worlddb.tools.cli.base import arguments, output, stores, wire
from worlddb.tools.cli.base.page import visible_json

ANY_EDGE: Final = "any"
"""Word for every edge type but ``contains``."""
MAX_FILE_BYTES: Final = 4 * 1024 * 1024
_SHOWN_EDGES: Final = 30

Named: TypeAlias = Callable[[str], str]
"""Resolves a name that a person typed to a reference."""


class _AppendOperator(Action):
    """Appends an operator to those typed before it: their order is the query."""

    def __call__(self, parser: Any, namespace: base.Namespace, values: Any, option_string: str | None = None) -> None:
        namespace.steps = [*namespace.steps, (self.dest, values)]


def _arguments(parser: base.Parser) -> None:
    start = parser.add_argument_group("start (seeds win over a text; default: every world)")
    start.add_argument("--seed", metavar="WORLD", action="append", help="from this world; repeatable")
    start.add_argument("--text", metavar="TEXT", help="from the worlds that answer a text best")
    start.add_argument("--world", metavar="WORLD", help="only inside this world; only refers_to leads out of it")
    start.add_argument(
        "-k", metavar="N", type=arguments.count, default=10, help="number of worlds for a text (default: 10)"
    )
    start.add_argument("--lanes", nargs="+", choices=LANES, default=LANES[:1], help="lanes that search for a text")
    start.add_argument("--about", choices=POOLS, help="rank worlds with members by the meaning of all their members")
    start.add_argument("--exact", action="store_true", help="rank by exactly what the view sees")
    start.add_argument(
        "--min-trust", choices=TRUST_LEVELS, help="start only from worlds with this trust or more: `worlddb trust`"
    )
    start.add_argument("--file", metavar="FILE", help="a whole query that --print wrote (- for standard input)")
    _add_operators(parser)
    parser.add_argument("--explain", action="store_true", help="show what each stage did, and how long it took")
    parser.add_argument("--print", action="store_true", help="print the query as JSON, and do not run it")
    arguments.add_moment(parser)
    arguments.add_confine(parser)
    arguments.add_superseded(parser)
    arguments.add_embedder(parser)


def _add_operators(parser: base.Parser) -> None:
    chain = parser.add_argument_group("operators, applied in the order given")

    def then(name: str, metavar: str | None, meaning: str, **settings: Any) -> None:
        chain.add_argument(name, action=_AppendOperator, metavar=metavar, help=meaning, **settings)

    edges = "TYPES[:DEPTH[:WAY]]"
    then("--traverse", edges, "along edges, such as causes:2 or any:1:both; WAY is out, in or both", type=_walk)
    then("--type", "TYPE", "keep worlds of these types, with their subtypes and instances", nargs="+")
    then("--properties", "JSON", "keep worlds with these properties: a JSON object", type=arguments.json_object)
    then("--connected", "TYPE[:WAY[:WORLD]]", "keep worlds with such an edge, if given to or from a world")
    then("--not-connected", "TYPE[:WAY[:WORLD]]", "keep worlds without such an edge")
    then("--in-world", "WORLD", "keep worlds inside this one, and continue inside")
    then("--during", "A..B", "keep worlds that are valid throughout this span", type=arguments.span)
    then("--overlaps", "A..B", "keep worlds that are valid at some time in this span", type=arguments.span)
    then("--period", "HOW:A..B", "keep worlds whose period precedes, contains, ... this span", type=_period)
    then("--between", "A..B", "keep worlds that were learned or changed in this span", type=arguments.span)
    then("--summaries", None, "show summaries instead of the worlds that they summarise", nargs=0)
    then("--unify", None, "read worlds of one accepted identity as one world", nargs=0)
    then("--order", "KEY[:desc]", "sort by log, name, type, valid_from, valid_to or learned")
    then("--limit", "N", "keep the first N", type=arguments.count)
    then("--facets", "WHAT", "count by type, world, author or month, and keep all", nargs="+")
    parser.set_defaults(steps=[])


def _walk(text: str) -> tuple[tuple[str, ...], int, str]:
    """Parse ``TYPES[:DEPTH[:WAY]]``; edge types are separated by commas."""
    types, depth, way = (text.split(":") + [""] * 2)[:3]
    if not types or text.count(":") > 2:
        raise ArgumentTypeError(f"{text[:60]!r} is no traversal; write it as causes:2 or causes,implies:2:in")
    names = () if types == ANY_EDGE else tuple(name.strip() for name in types.split(","))
    return names, arguments.count(depth or "1"), way or "out"


def _period(text: str) -> tuple[str, tuple[str | None, str | None]]:
    """Parse ``HOW:A..B``; the relation may be written with hyphens."""
    relation, _, span = text.partition(":")
    if not span:
        raise ArgumentTypeError(f"{text[:60]!r} is no period; write it as precedes:2024-01-01..2025-01-01")
    return relation.replace("-", "_"), arguments.span(span)


def _query(args: base.Namespace, out: base.Output) -> int:
    with stores.open_existing(args) as db:
        view = stores.view_of(db, args)
        if args.file is not None:
            query = _query_from_file(args)
        else:
            query = _query_from_options(args, lambda text: stores.resolve_world(view, text))
        if args.print:
            out.verbatim(msgspec.json.decode(query.to_json()), visible_json(query.to_json()) + "\n")
            return base.DONE
        answer = view.run(query, timed=args.explain)
        document = {
            "query": msgspec.json.decode(query.to_json()),
            "nodes": [wire.record(world) for world in answer.nodes],
            "edges": [wire.record(edge) for edge in answer.edges],
            "passed": list(answer.passed),
            "scores": answer.scores,
            "facets": answer.facets,
            "identities": answer.identities,
            "stages": [wire.record(stage) for stage in answer.stages],
            "exact": answer.exact,
            "note": answer.note,
            "view": wire.view(view),
        }
        out.answer(document, lambda page: _write(page, view, answer, explain=args.explain))
        for hint in () if answer.nodes else stores.hints_if_empty(view):
            out.hint(hint)
        if answer.note:
            out.warn(f"note: {output.translate_remedy(answer.note)}")
    return base.DONE


def _query_from_file(args: base.Namespace) -> Query:
    """Read the query from a file.

    Raises:
        UsageError: other parts of a query were typed too.
        InputError: the file is too large, or holds no query.
    """
    if args.steps or args.seed or args.text is not None or args.world is not None or args.include_superseded:
        raise arguments.UsageError(
            "--file was given with other parts of a query", "Leave the start and the operators out"
        )
    if args.file == "-":
        if sys.stdin is None:
            raise InputError("Standard input is closed", "Name a file")
        document = sys.stdin.buffer.read(MAX_FILE_BYTES + 1)
    else:
        with open(args.file, "rb") as file:
            document = file.read(MAX_FILE_BYTES + 1)
    if len(document) > MAX_FILE_BYTES:
        raise InputError(f"{os.fsdecode(args.file)!r:.200} is too large for a query", "Write one with --print")
    arguments.decode_utf8(document, "Standard input" if args.file == "-" else os.fsdecode(args.file))
    return Query.from_json(document)


def _query_from_options(args: base.Namespace, named: Named) -> Query:
    """Build the query from the command line."""
    query = Query.of(
        seeds=None if args.seed is None else [named(text) for text in args.seed],
        text=None if args.text is None else arguments.join_question([args.text]),
        world=None if args.world is None else named(args.world),
        k=args.k,
        lanes=args.lanes,
        exact=args.exact,
        composed=args.about,
        min_trust=args.min_trust,
    )
    for name, value in args.steps:
        query = _OPERATORS[name](query, value, named)
    return query.include_superseded() if args.include_superseded else query


def _connected_operator(query: Query, text: str, named: Named, *, absent: bool) -> Query:
    edge, way, other = (text.split(":", 2) + [""] * 2)[:3]
    return query.where_connected(edge, way or "out", named(other) if other else None, absent=absent)


def _order_operator(query: Query, text: str, named: Named) -> Query:
    key, _, way = text.partition(":")
    if way not in ("", "desc"):
        raise arguments.UsageError(f"--order {text[:40]!r} ends in {way[:20]!r}", "Write it as learned or learned:desc")
    return query.order(key, descending=way == "desc")


_OPERATORS: Final[dict[str, Callable[[Query, Any, Named], Query]]] = {
    "traverse": lambda query, value, named: query.traverse(*value[0], depth=value[1], direction=value[2]),
    "type": lambda query, value, named: query.filter_type(*value),
    "properties": lambda query, value, named: query.filter_properties(value),
    "connected": lambda query, value, named: _connected_operator(query, value, named, absent=False),
    "not_connected": lambda query, value, named: _connected_operator(query, value, named, absent=True),
    "in_world": lambda query, value, named: query.in_world(named(value)),
    "during": lambda query, value, named: query.filter_time(during=value),
    "overlaps": lambda query, value, named: query.filter_time(overlaps=value),
    "period": lambda query, value, named: query.filter_period(*value),
    "between": lambda query, value, named: query.filter_time(between=value),
    "summaries": lambda query, value, named: query.prefer_summaries(),
    "unify": lambda query, value, named: query.unify(),
    "order": _order_operator,
    "limit": lambda query, value, named: query.limit(value),
    "facets": lambda query, value, named: query.facets(*value),
}


def _write(page: base.Page, view: View, answer: Subgraph, *, explain: bool) -> None:
    for world in answer.nodes:
        _write_world(page, world, answer)
    if not answer.nodes:
        page.line("Nothing in this view matches.")
    if answer.edges:
        page.line((f"by {wire.counted(len(answer.edges), 'edge')}:", "dim"))
    for edge in answer.edges[:_SHOWN_EDGES]:
        ends = [stores.name_of(view, ref) for ref in (edge.source, edge.target)]
        page.line(f"{wire.one_line(ends[0], 60)}  ", (edge.type, "dim"), f"  {wire.one_line(ends[1], 60)}", indent=3)
    if len(answer.edges) > _SHOWN_EDGES:
        page.line((f"and {len(answer.edges) - _SHOWN_EDGES:,} more", "dim"), indent=3)
    for what, counts in answer.facets.items():
        shown = ((stores.name_of(view, value) if what == "world" else value, count) for value, count in counts.items())
        page.fields([(f"by {what}", [", ".join(f"{wire.one_line(value, 60)} {count:,}" for value, count in shown)])])
    if explain:
        page.table(("stage", "before", "after", "ms", ""), (_stage(stage) for stage in answer.stages))


def _write_world(page: base.Page, world: World, answer: Subgraph) -> None:
    title: list[base.Span] = [(wire.short(world.ref), "ref"), "  "]
    title += [(wire.one_line(world.name, 80), "name"), "  "] if world.name else []
    others = answer.identities.get(world.ref, ())
    same = f", one with {', '.join(map(wire.short, others))}" if others else ""
    page.line(*title, (f"{world.type}, {wire.span(world.valid)}{same}", "dim"))
    if world.content:
        page.line(wire.one_line(world.content), indent=3)


def _stage(stage: Stage) -> tuple[str, str, str, str, str]:
    taken = "" if stage.seconds is None else f"{1_000 * stage.seconds:.2f}"
    return wire.one_line(stage.operator, 100), f"{stage.before:,}", f"{stage.after:,}", taken, stage.note


COMMANDS = (
    base.Command(
        "query",
        "find worlds step by step: a starting set, then operators on it",
        _arguments,
        _query,
        (
            ('query --text "engineering" --traverse refers_to:1:in --type Fact', "what refers to the best hits"),
            ("query --text boats --about attention -k 3", "the three worlds whose members are most about it"),
            ("query --traverse causes:2 --explain --json", "what the hits cause, and what each stage did"),
            ("query --type Fact --facets author month --order learned:desc --limit 5", "counts, and the newest five"),
            ("query --text office --connected supersedes:in --include-superseded", "what other worlds superseded"),
            ("query --text office --unify --print", "the query as JSON, for --file or for a program"),
        ),
    ),
)
