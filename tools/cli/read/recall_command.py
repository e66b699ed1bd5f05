"""``worlddb recall``: the worlds that answer a text best."""

from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from msgspec import structs

from worlddb import FUSIONS, LANES, TRUST_LEVELS, Absence, Database, Group, Hit, InputError, Recall, View, parse_time
from worlddb.memory_scopes import recall_statements, with_conflicts
from worlddb.tools.cli import base
from worlddb.tools.cli.base import arguments, output, stores, wire

_NO_WORDS: Final = "The question has no words, so nothing was searched."
_MAX_NAMED: Final = 5
"""The most left-out worlds to name."""
_FILTERS: Final = (
    ("about", "only worlds about this person or thing (name or reference); several: about each of them"),
    ("speaker", "only turns of this person; several: of any of them"),
    ("type", "only worlds of this type; several: of one of them"),
    ("author", "only worlds of this author; several: of one of them"),
    ("label", "only worlds with this label; several: with all of them"),
)
_TAG: Final = "only worlds with this tag, each in its tagged version, valid or not"


def _arguments(parser: base.Parser) -> None:
    parser.add_argument("text", metavar="TEXT", nargs="+", help="the question, or words to look for")
    _add_place(parser)
    arguments.add_limit(parser, "how many hits (default: 10)", default=10)
    parser.add_argument(
        "--group",
        metavar="N",
        type=arguments.count,
        help="group hits by the worlds that contain them (sessions, documents), N hits of each",
    )
    parser.add_argument(
        "--exact", action="store_true", help="rank by exactly what the view sees, as a replayed store would"
    )
    parser.add_argument(
        "--lanes", nargs="+", choices=LANES, default=LANES, help="lanes to search (default: all of them)"
    )
    parser.add_argument("--fusion", choices=FUSIONS, default=FUSIONS[0], help="how the lanes are combined")
    parser.add_argument(
        "--neighbours",
        metavar="N",
        type=arguments.count_from_zero,
        default=0,
        help="also consider worlds that an edge joins to the N best hits of each lane (default: 0, follow no edge)",
    )
    parser.add_argument(
        "--min-trust",
        choices=TRUST_LEVELS,
        help="only worlds with this trust or more, including all that they depend on: `worlddb trust`",
    )
    parser.add_argument(
        "--trust-weight",
        metavar="X",
        type=arguments.number,
        default=0.0,
        help="the share of its score that a hit without trust loses, 0 to 1 (default: 0)",
    )
    parser.add_argument(
        "--min-confidence",
        metavar="X",
        type=arguments.number,
        help="leave out hits with less confidence than this, 0 to 1",
    )
    _add_kinds(parser)
    add_text_filters(parser)
    parser.add_argument("--since", metavar="TIME", help="only worlds that became valid at this time or later")
    parser.add_argument("--until", metavar="TIME", help="only worlds that became valid before this time")
    parser.add_argument("--explain", action="store_true", help="show the reason and the source of each hit")
    parser.add_argument(
        "--why-not", metavar="REF", help="also explain why this world (reference or name) is not among the hits"
    )
    parser.add_argument(
        "--asked",
        metavar="TIME",
        help='the time of the question, from which "last week" counts (default: --valid)',
    )
    _add_receipt(parser)
    arguments.add_moment(parser)
    arguments.add_confine(parser)
    arguments.add_unify(parser)
    arguments.add_superseded(parser)
    arguments.add_expired(parser)
    arguments.add_spans(parser)
    arguments.add_embedder(parser)


def _add_kinds(parser: base.Parser) -> None:
    """Add options on summaries, paths, weights and spelling."""
    parser.add_argument(
        "--prefer-summaries",
        action="store_true",
        help="return fresh summaries instead of the worlds that they summarize",
    )
    parser.add_argument(
        "--paths",
        metavar="N",
        type=arguments.count_from_zero,
        default=0,
        help="also N paths of edges from entities in the question, as texts (default: 0)",
    )
    parser.add_argument(
        "--hit-paths",
        metavar="N",
        type=arguments.count_from_zero,
        default=0,
        help="also N paths from the entities of each hit (default: 0)",
    )
    parser.add_argument(
        "--field",
        metavar="NAME=WEIGHT",
        action="append",
        help="score by the weighted sum of content, inferred and words (default weight 1); repeatable",
    )
    parser.add_argument(
        "--type-weight",
        metavar="TYPE=WEIGHT",
        action="append",
        help="multiply the score of worlds of this type, 0 to 10 (default 1); repeatable",
    )
    parser.add_argument(
        "--siblings",
        metavar="X",
        type=arguments.number,
        help="of each session or document keep the best hit, and others with at least this cosine, such as 0.3",
    )
    parser.add_argument(
        "--fuzzy",
        action="store_true",
        help="correct a word of the question that no text has, by one letter, and say so",
    )


def _add_place(parser: base.Parser) -> None:
    parser.add_argument("--world", metavar="WORLD", help="only inside this world (reference or name)")
    parser.add_argument(
        "--scope",
        metavar="WORLD",
        action="append",
        help="instead of --world, repeatable: search this world, and the next one only if the answer is weak",
    )


def _add_receipt(parser: base.Parser) -> None:
    parser.add_argument(
        "--receipt",
        metavar="FILE",
        help="rank exactly, and write a receipt into this new file; `worlddb check-recall FILE` checks it",
    )
    parser.add_argument("--keep-receipt", action="store_true", help="with --receipt: also keep the receipt in the log")


def add_text_filters(parser: base.Parser) -> None:
    """Add the filters of a recall that hold texts."""
    for name, what in _FILTERS:
        parser.add_argument(f"--{name}", metavar=name.upper(), action="append", help=what)
    parser.add_argument("--tag", metavar="TAG", help=_TAG)
    parser.add_argument(
        "--source",
        metavar="FIELD=VALUE",
        action="append",
        help="only worlds with this field in their source; repeatable",
    )
    arguments.add_properties(parser, 'only worlds with these properties; {"priority": {"$gte": 2}} compares')


def text_filters(args: base.Namespace) -> dict[str, Any]:
    """Return the filters of a recall that hold texts."""
    given = {name: getattr(args, name) for name, _ in _FILTERS}
    return given | {"tag": args.tag, "source": arguments.parse_source(args.source), "properties": args.properties}


def _write_notes(out: base.Output, args: base.Namespace, found: Recall) -> None:
    for lane, why in found.unavailable.items():
        out.hint(f"note: the lane {lane} was not searched: {output.translate_remedy(why)}")
    if found.pending:
        waiting = f"{found.pending:,} texts have" if found.pending > 1 else "one text has"
        out.hint(f"note: {waiting} no vector yet, so only words find them: {stores.command_prefix(args)} embed")
    if found.note and found.note != _NO_WORDS[0].lower() + _NO_WORDS[1:-1]:  # That is printed already.
        out.hint(f"note: {output.translate_remedy(found.note)}")


def _streams(args: base.Namespace) -> Any:
    """Return the streams to recall beside hits; ``None``, without loading their code, if there are none."""
    if not args.paths and not args.hit_paths:
        return None
    from worlddb import Streams

    return Streams(paths=args.paths, hit_paths=args.hit_paths)


def _weights(given: list[str] | None, option: str, name: str) -> dict[str, float] | None:
    """Return the weights that an option names, such as that of ``name``.

    Raises:
        UsageError: one of them is no number.
    """
    if given is None:
        return None
    try:
        return {name: float(weight) for name, _, weight in (each.partition("=") for each in given)}
    except ValueError as error:
        raise arguments.UsageError(f"{option}: {error}", f"Give NAME=WEIGHT, such as {name}=0.5") from None


def _views(db: Database, args: base.Namespace) -> list[View]:
    """Return the views to ask; of a user's several worlds the one that has ``--world``."""
    if args.world is None:
        return stores.views_of(db, args)
    return [stores.view_of(db, base.Namespace(**vars(args) | {"ref": args.world}))]


class _Answer(NamedTuple):
    """An answer with the view that names its worlds, hits that are only names, and the ``--why-not`` explanation."""

    view: View
    found: Recall
    named: list[Hit]
    worlds: tuple[str, ...]
    """The worlds that were searched; empty for the whole store."""
    absence: Absence | None = None


def _ask_views(db: Database, args: base.Namespace, question: str) -> _Answer:
    """Ask the view that the options name, or the views of a user's several worlds as one."""
    views = _views(db, args)
    options: dict[str, Any] = dict(
        world=None if args.world is None else stores.resolve_place(views[0], args.world),
        scopes=None if args.scope is None else [stores.resolve_place(views[0], each) for each in args.scope],
        k=args.limit,
        exact=args.exact or args.receipt is not None,
        receipt=args.receipt is not None,
        include_superseded=args.include_superseded or None,
        lanes=args.lanes,
        fusion=args.fusion,
        asked=args.asked,
        group=args.group,
        neighbours=args.neighbours,
        min_trust=args.min_trust,
        trust_weight=args.trust_weight,
        min_confidence=args.min_confidence,
        prefer_summaries=args.prefer_summaries,
        fields=_weights(args.field, "--field", "inferred"),
        type_weights=_weights(args.type_weight, "--type-weight", "Turn"),
        siblings=args.siblings,
        fuzzy=args.fuzzy,
        streams=_streams(args),
        since=args.since,
        until=args.until,
        **text_filters(args),
        **arguments.visibility_flags(args),
        **stores.spans_of(args),
    )
    if args.receipt is not None and len(views) > 1:
        raise InputError("A receipt needs one world, and the user has several", "Choose one with --world")
    if args.why_not is not None and len(views) > 1:
        raise InputError("--why-not needs one world, and the user has several", "Choose one with --world")
    answers, named, looked_at = [], list[Hit](), args.limit
    if len(views) > 1:
        from worlddb.agent_memory import LOOKED_AT, joined

        looked_at = max(args.limit, LOOKED_AT)
    for each in views:
        # A receipt covers all hits, and a filter by type wants every match.
        ask, is_plain = partial(_ask, each, question, options), args.receipt is None and args.type is None
        one, names = recall_statements(ask, looked_at) if is_plain else (ask(looked_at), [])
        answers.append(one)
        named += names
    # For several worlds, a view of the store names what is around the hits.
    found, view = answers[0], views[0]
    if len(answers) > 1:
        at = view.valid if args.asked is None else parse_time(args.asked, "--asked")
        found, view = joined(answers, args.limit, question, at), db.view(seq=view.seq, valid=view.valid)
        found = structs.replace(found, hits=tuple(with_conflicts(view, views, found.hits)))
    whole = tuple(filter(None, (each.world for each in views)))
    inside = (options["world"],) if options["world"] else tuple(options["scopes"] or whole)
    if args.why_not is None:
        return _Answer(view, found, named, inside)
    return _Answer(
        view, found, named, inside, view.why_not(stores.resolve_world(view, args.why_not), question, **options)
    )


def _ask(view: View, question: str, asked: dict[str, Any], k: int) -> Recall:
    found: Recall = view.recall(question, **asked | {"k": k})
    return found


def _recall(args: base.Namespace, out: base.Output) -> int:
    if args.keep_receipt and args.receipt is None:
        raise arguments.UsageError("--keep-receipt needs --receipt", "Also give the file of the receipt")
    if args.receipt is not None:
        arguments.check_writable_path(args.receipt)
        arguments.refuse_existing(args.receipt, overwrite=False)
    with stores.open_existing(args) as db:
        question = arguments.join_question(args.text)
        answer = _ask_views(db, args, question)
        found = answer.found
        if found.receipt is not None:
            from worlddb import recall_receipt_text

            if args.keep_receipt:
                db.keep_receipt(found.receipt)
                db.write_receipts()
            Path(args.receipt).write_text(recall_receipt_text(found.receipt), encoding="utf-8")
            out.hint(f"The receipt is in {args.receipt}: check-recall checks it against the store")

        write = partial(_write_answer, out=out, args=args, question=question, answer=answer)
        out.answer(_document(args, question, answer), write)
    return base.DONE


def _write_answer(page: base.Page, out: base.Output, args: base.Namespace, question: str, answer: _Answer) -> None:
    """Write an answer for a person."""
    view, found = answer.view, answer.found
    for number, group in enumerate(found.groups, 1):
        _write_group(page, number, group)
        for hit in group.hits:
            _write_hit(page, view, question, "", hit, indent=3, explain=args.explain)
    for number, hit in enumerate(() if found.groups else found.hits, 1):
        _write_hit(page, view, question, f"{number}. ", hit, indent=0, explain=args.explain)
    is_asked = bool(found.lanes or found.unavailable)
    for path in found.paths:
        beside = [(f"  beside {wire.short(path.of)}", "dim")] if path.of else []
        page.line(("path: ", "title"), wire.one_line(path.context, 400), *beside)
    if not found.hits:
        page.line(_nothing_found(view, answer.worlds) if is_asked else _NO_WORDS)
        for hint in stores.hints_if_empty(view) if is_asked else ():
            out.hint(hint)
    for hit in answer.named[:_MAX_NAMED] if args.explain or not found.hits else ():
        page.line((f"only a name: {wire.one_line(hit.name, 80)} ({wire.short(hit.ref)}), {hit.type}", "dim"))
    if found.left_out:
        out.hint(_left_out_note(view, found.left_out))
    if args.explain:
        _write_basis(page, view, "exactly the view" if found.exact else f"index up to {found.indexed}")
        if found.times:
            page.line(("times in the question: " + ", ".join(map(wire.span, found.times)), "dim"))
    if (absence := answer.absence) is not None:
        step = f" ({absence.step})" if absence.step else ""
        page.line((f"{wire.short(absence.ref)}{step}: ", "title"), absence.reason)
    _write_notes(out, args, found)


def _document(args: base.Namespace, question: str, answer: _Answer) -> dict[str, Any]:
    """The answer as ``--json`` prints it."""
    found = answer.found
    return {
        "query": question,
        "hits": [wire.record(hit) for hit in found.hits],
        "named": [{"ref": hit.ref, "name": hit.name, "type": hit.type} for hit in answer.named],
        **({} if args.group is None else {"groups": [_group_record(group) for group in found.groups]}),
        "exact": found.exact,
        "indexed": found.indexed,
        "lanes": list(found.lanes),
        "search_mode": found.search_mode,
        "note": found.note,
        "unavailable": found.unavailable,
        "pending": found.pending,
        "left_out": list(found.left_out),
        **({"paths": [wire.record(path) for path in found.paths]} if found.paths else {}),
        "times": [wire.valid(span) for span in found.times],
        "unread": list(found.unread),
        "weak": found.weak,
        "confidence": found.confidence,
        "space": found.space,
        "view": wire.view(answer.view),
        **({} if answer.absence is None else {"why_not": wire.record(answer.absence)}),
        **({} if found.receipt is None else {"reference": found.receipt.reference}),
    }


def _nothing_found(view: View, worlds: tuple[str, ...]) -> str:
    """Return the line that nothing was found, with the worlds that were searched."""
    named = (f"{wire.one_line(stores.name_of(view, ref), 80)} ({wire.short(ref)})" for ref in worlds)
    return f"Nothing in {', '.join(named) or 'this view'} answers that."


def _left_out_note(view: View, refs: tuple[str, ...]) -> str:
    """Describe the worlds that were valid for only a part of the span."""
    names = [stores.name_of(view, ref) for ref in refs[:_MAX_NAMED]]
    more = [f"{len(refs) - _MAX_NAMED:,} more"] if len(refs) > _MAX_NAMED else []
    which = ", ".join([*names, *more])
    return f"note: left out, since valid in only a part of the span: {which}. --overlaps shows it"


def _group_record(group: Group) -> dict[str, object]:
    """Describe a group as JSON; its hits are references into the hits of the answer."""
    return wire.record(group) | {"hits": [hit.ref for hit in group.hits]}


def _write_group(page: base.Page, number: int, group: Group) -> None:
    title: list[base.Span] = [f"{number}. ", (wire.short(group.ref), "ref"), "  "]
    if group.name:
        title += [(wire.one_line(group.name, 80), "name"), "  "]
    details = [group.type] if group.type else []
    shown = f"hits: {len(group.hits)} of {group.count}"
    page.line(*title, (", ".join([*details, shown, f"score {group.score:g}"]), "dim"))


def _write_hit(page: base.Page, view: View, question: str, lead: str, hit: Hit, *, indent: int, explain: bool) -> None:
    title: list[base.Span] = [lead, (wire.short(hit.ref), "ref"), "  "]
    if hit.name:
        title += [(wire.one_line(hit.name, 80), "name"), "  "]
    # A session's name says little without that of the conversation.
    where = " / ".join([*stores.path_of(view, hit.world)[-1:], stores.name_of(view, hit.world)]) if hit.world else ""
    page.line(
        *title, (f"{hit.type}, {wire.span(hit.valid)}" + (f", in {where}" if where else ""), "dim"), indent=indent
    )
    if hit.content:
        page.line(wire.one_line(hit.content, around=question), indent=indent + 3)
    for other in hit.others:
        text = "(erased)" if other.erased else wire.one_line(other.content or other.name)
        page.line(("other version, ", "dim"), (f"{wire.span(other.valid)}: ", "title"), text, indent=indent + 3)
    if hit.others_left:
        more = f"and {hit.others_left:,} more versions: history {wire.short(hit.ref)}"
        page.line((more, "dim"), indent=indent + 3)
    for ref in hit.conflicts:
        page.line(("contradicted by: ", "warn"), _world_text(view, ref), indent=indent + 3)
    for line in wire.bases(hit) if explain else ():
        page.line(("rests on: ", "dim"), line, indent=indent + 3)
    for line in wire.why_stale(hit):
        page.line(("stale: ", "warn"), line, indent=indent + 3)
    for name, line in wire.marks(hit):
        page.line((f"{name}: ", "dim"), line, indent=indent + 3)
    if hit.trust is not None:
        page.line(("trust: ", "dim"), hit.trust, indent=indent + 3)
    if explain:
        lanes = ", ".join(f"{lane} rank {rank}" for lane, rank in hit.lanes.items())
        likely = "" if hit.confidence is None else f", confidence {hit.confidence:.2f}"
        parts = ", ".join(f"{part} {score:+.3f}" for part, score in hit.scores.items())
        page.fields(
            [
                ("found by", [f"{hit.reason}; score {hit.score:g}{likely} ({lanes})"]),
                ("evidence", [parts]),
                ("source", [wire.provenance(hit.source) or "none given"]),
                ("written", [f"commit {hit.seq}, {wire.moment(hit.ingested_at)}, by {hit.author}"]),
            ],
            indent=indent + 3,
        )


def _write_basis(page: base.Page, view: View, ranked_by: str) -> None:
    page.line((f"{view}; ranked by {ranked_by}", "dim"))


def _world_text(view: View, ref: str) -> str:
    world = view.get(ref, include_superseded=True)
    return wire.short(ref) if world is None else wire.one_line(world.content or world.name, 160)


COMMANDS = (
    base.Command(
        "recall",
        "search the memory: the best answers to a text, with their time and source",
        _arguments,
        _recall,
        (
            ('recall "where does Mara live?"', "the ten best hits that are valid now"),
            ('recall "where does Mara live?" --valid 2024-05-01', "what was true then"),
            ("recall lease --overlaps 2024-01-01..2025-01-01", "what was true at some time in 2024"),
            ('recall "where does Mara live?" --ingested 7', "what the store knew after commit 7"),
            ('recall "what have we planned?" --group 3', "the ten best sessions or documents, three hits of each"),
            ('recall deposit --world "The new job" --limit 3 --explain', "inside one world, with reasons"),
            (
                'recall "what is said of tea?" --receipt tea.recall',
                "with a receipt for `worlddb check-recall`",
            ),
        ),
    ),
)
