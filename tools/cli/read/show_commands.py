"""``worlddb show``, ``history``, ``children`` and ``hash``: one world, as a view sees it."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, Final, Literal

from worlddb import FOREVER, Edge, Erasure, Fork, Mark, UnknownReference, Valid, Version, View, World
from worlddb.tools.cli.base import DONE, Command, Namespace, Output, Page, Parser, Span, arguments, stores, wire
from worlddb.tools.cli.history.timeline_command import write_timeline

EDGE_TYPES: Final = (
    "supersedes",
    "contradicts",
    "same_as",
    "derived_from",
    "created_from",
    "depends_on",
    "refines",
    "supports",
    "implies",
    "causes",
    "precedes",
    "instance_of",
    "subtype_of",
    "relates_to",
    "refers_to",
)
"""Edge types in the order of ``show``; ``contains`` is shown as containers and members."""
CONTAINS: Final = "contains"
_SHOWN_EDGES: Final = 12
_SHOWN_MEMBERS: Final = 6
_SHOWN_ABOUT: Final = 20


def _show_arguments(parser: Parser) -> None:
    parser.add_argument("ref", metavar="REF", help="a reference, its first digits, or a name")
    arguments.add_moment(parser)
    arguments.add_confine(parser)
    arguments.add_superseded(parser)
    arguments.add_expired(parser)
    arguments.add_spans(parser)


def _show(args: Namespace, out: Output) -> int:
    with stores.open_existing(args) as db:
        view = stores.view_of(db, args)
        ref, namesakes = stores.resolve_entity(view, args.ref)
        world = _valid_world(ref, view, args)
        view = view.revealing(expired=args.include_expired, deprecated=args.include_deprecated)
        selection: dict[str, Any] = {"include_superseded": args.include_superseded, **stores.spans_of(args)}
        registered = (known.name for known in view.edge_types(include_ended=True) if known.name != CONTAINS)
        edges = [
            edge
            for type_name in dict.fromkeys((*EDGE_TYPES, *registered))
            for edge in view.edges(world.ref, type=type_name, **selection)
        ]
        containers = view.containers(world.ref)
        placed = view.edges(world.ref, type=CONTAINS, direction="in", **selection)
        members = list(islice(view.children(world.ref, **selection), _SHOWN_MEMBERS + 1))
        same = [ref for ref in view.equivalence_class(world.ref) if ref != world.ref]
        world_hash = view.hash(world.ref)
        forks, origin = view.forks(world.ref), view.forked_from(world.ref)
        document = {
            **wire.record(world),
            "conflicts": [_brief(view, ref) for ref in world.conflicts],
            "same_as": [_brief(view, ref) for ref in same],
            "containers": [_brief(view, ref) for ref in containers],
            "memberships": [wire.record(edge) for edge in placed],
            "edges": [wire.record(edge) for edge in edges],
            "forks": [wire.record(fork) for fork in forks],
            "forked_from": None if origin is None else wire.record(origin),
            "hash": world_hash,
            "namesakes": [_brief(view, other.ref) for other in namesakes],
            "view": wire.view(view),
        }

        others = _count_others(view, world, args)

        def write(page: Page) -> None:
            state = " (erased)" if world.erased else " (not valid at this time)" if world.closed else ""
            page.line((wire.one_line(stores.label(world)), "name"), (f"  {world.type}{state}".rstrip(), "dim"))
            fields = _fields(view, world, world_hash, placed, same)
            page.fields(chain(fields, _fork_fields(view, forks, origin)), indent=2)
            for ref in world.conflicts:
                other = view.get(ref, include_superseded=True)
                text = wire.one_line(other.content or other.name) if other else ""
                page.line(("contradicted by ", "warn"), (wire.short(ref), "ref"), f"  {text}", indent=2)
            _write_edges(page, view, world, edges)
            _write_members(page, world, members)
            if others:
                count = "another version was" if others == 1 else f"{others:,} other versions were"
                span = "..".join(end or "" for end in args.overlaps)
                line = f"{stores.command_prefix(args)} history {wire.short(world.ref)} --overlaps {span}"
                out.hint(f"note: {count} valid in this span: {line}")

        out.answer(document, write)
        stores.warn_of_namesakes(args, out, view, namesakes)
    return DONE


def _count_others(view: View, world: World, args: Namespace) -> int:
    """Count the other versions of a world that were valid in the span asked about."""
    return 0 if args.overlaps is None else len(view.history(world.ref, overlaps=args.overlaps)) - 1


def _spans(version: Version) -> tuple[Valid, ...]:
    """Return the spans in which a version holds; the empty span if it holds at no time."""
    return version.spans or (version.valid,)


def _valid_world(ref: str, view: View, args: Namespace) -> World:
    """Return the named world; one that is not valid in the view only with --include-superseded."""
    shown = {"include_superseded": args.include_superseded, **arguments.visibility_flags(args)}
    world = view.get(ref, **shown, **stores.spans_of(args))
    if world is None:
        hidden = view.get(ref, include_expired=True, include_deprecated=True, **stores.spans_of(args))
        if hidden is not None and hidden.deprecated:
            raise UnknownReference(
                f"{stores.name_of(view, ref)!r} ({wire.short(ref)}) is deprecated",
                "Show it with --include-deprecated",
            )
        if hidden is not None and hidden.expires_at is not None:
            raise UnknownReference(
                f"{stores.name_of(view, ref)!r} ({wire.short(ref)}) has been hidden since its deadline,"
                f" {wire.moment(hidden.expires_at)}",
                "Show it with --include-expired",
            )
        held = (_spans(version) for version in view.history(ref))
        spans = sorted((span for each in held for span in each if span.start < span.end), key=lambda span: span.start)
        by = [edge.source for edge in view.edges(ref, type="supersedes", direction="in", include_superseded=True)]
        when = f"but {', '.join(map(wire.span, spans))}" if spans else "nor at any other time"
        because = f"; superseded by {', '.join(map(wire.short, by))}" if by else ""
        raise UnknownReference(
            f"{stores.name_of(view, ref)!r} ({wire.short(ref)}) is not valid {_span_words(view, args)},"
            f" {when}{because}",
            "Show it with --include-superseded" + (", or give that time with --valid" if spans else ""),
        )
    return world


def _span_words(view: View, args: Namespace) -> str:
    """Describe the times asked about."""
    for relation, span in (("throughout", args.during), ("at any time in", args.overlaps)):
        if span is not None:
            return f"{relation} {span[0] or ''}..{span[1] or ''}"
    return f"at {wire.moment(view.valid)}"


def _fields(
    view: View, world: World, world_hash: str, placed: Sequence[Edge], same: list[str]
) -> Iterator[tuple[str, list[Span]]]:
    yield "ref", [(world.ref, "ref")]
    if world.content:
        yield "content", [world.content]
    if world.aliases:
        yield "aliases", [", ".join(world.aliases)]
    yield "valid", [wire.span(world.valid)]
    yield "version", [f"{world.number}  ", (world.version, "dim")]
    yield "hash", [(world_hash, "dim")]
    # A membership as long as the world's own validity is shown without times.
    always = [edge.source for edge in placed if not _is_partial_membership(world, edge)]
    if always:
        yield "in", [", ".join(_ref_text(view, ref) for ref in always)]
    for edge in placed:
        if _is_partial_membership(world, edge):
            when = ", ".join(map(wire.span, edge.spans or (edge.valid,)))
            yield "in", [_ref_text(view, edge.source), (f"  {when}  edge {wire.short(edge.ref)}", "dim")]
    if same:
        yield "same as", [", ".join(_ref_text(view, ref) for ref in same)]
    yield "written", [f"commit {world.seq}, {wire.moment(world.ingested_at)}, by {world.author}"]
    if world.why:
        yield "why", [world.why]
    if world.erasure is not None:
        yield "erased", [_erasure_text(world.erasure)]
    if world.source:
        yield "source", [wire.provenance(world.source)]
    for restatement in world.restated:
        said = f"commit {restatement.seq}, {wire.moment(restatement.ingested_at)}, by {restatement.author}"
        yield (
            "said again",
            [", ".join(part for part in (said, wire.provenance(restatement.source), restatement.why) if part)],
        )
    for line in wire.bases(world):
        yield "rests on", [line]
    for line in wire.why_stale(world):
        yield "stale", [(line, "warn")]
    if world.trust is not None:
        yield "trust", [world.trust]
    for name, line in wire.marks(world):
        yield name, [line]
    artifacts = view.artifacts(world.ref) if "artifacts" in world.properties else []
    for each in artifacts:
        yield "artifact", [each.name, (f"  {each.location}", "dim")]
    properties = {name: value for name, value in world.properties.items() if not artifacts or name != "artifacts"}
    if properties:
        yield "properties", [wire.provenance(properties)]


def _fork_fields(view: View, forks: Sequence[Fork], origin: Fork | None) -> Iterator[tuple[str, list[Span]]]:
    if origin is not None:
        merged = f", merged by commit {origin.merged}" if origin.merged else ""
        as_of = f"  as of commit {origin.as_of}, since commit {origin.seq}{merged}"
        yield "goes on from", [_ref_text(view, origin.of), (as_of, "dim")]
    for fork in forks[-_SHOWN_EDGES:]:
        merged = f", merged by commit {fork.merged}" if fork.merged else ""
        world = view.get(fork.ref, include_superseded=True)
        called = "".join(f", {alias}" for alias in (world.aliases if world else ()))
        yield "fork", [_ref_text(view, fork.ref), called, (f"  since commit {fork.seq}{merged}", "dim")]


def _is_partial_membership(world: World, edge: Edge) -> bool:
    """True if a membership ends, has holes, or begins later than the world."""
    return bool(edge.spans) or edge.valid.end != FOREVER or edge.valid.start > world.valid.start


def _erasure_text(erasure: Erasure) -> str:
    told = f"commit {erasure.seq}, {wire.moment(erasure.ingested_at)}, by {erasure.author}, under: {erasure.reason}"
    return told + " (found beside the log by an upgrade, without proof)" * erasure.listed


def _write_edges(page: Page, view: View, world: World, edges: list[Edge]) -> None:
    for edge in edges[:_SHOWN_EDGES]:
        outward = edge.source == world.ref
        other = _ref_text(view, edge.target if outward else edge.source)
        why = f", because {wire.one_line(edge.why, 120)}" if edge.why else ""
        arrow = f"{edge.type} >" if outward else f"< {edge.type}"
        page.line((arrow, "name"), f"  {other}", (f"  {wire.span(edge.valid)}{why}", "dim"), indent=2)
    if len(edges) > _SHOWN_EDGES:
        page.line((f"and {len(edges) - _SHOWN_EDGES:,} more edges: --json has all of them", "dim"), indent=2)


def _write_members(page: Page, world: World, members: list[World]) -> None:
    for member in members[:_SHOWN_MEMBERS]:
        page.line("member  ", (wire.short(member.ref), "ref"), f"  {_member_name(member)}", indent=2)
    if len(members) > _SHOWN_MEMBERS:
        page.line((f"and more members: worlddb children {wire.short(world.ref)}", "dim"), indent=2)


def _ref_text(view: View, ref: str) -> str:
    name, shown = stores.name_of(view, ref), wire.short(ref)
    return shown if name == shown else f"{name} ({shown})"


def _brief(view: View, ref: str) -> dict[str, Any]:
    world = view.get(ref, include_superseded=True)
    if world is None:
        return {"ref": ref}
    return {"ref": ref, "type": world.type, "name": world.name, "content": world.content}


def _history_arguments(parser: Parser) -> None:
    parser.add_argument("ref", metavar="REF", help="a reference, its first digits, or a name")
    parser.add_argument("--timeline", action="store_true", help="draw it: valid time across, ingest time down")
    arguments.add_between(parser)
    arguments.add_spans(parser)
    arguments.add_moment(parser)
    arguments.add_confine(parser)


def _history(args: Namespace, out: Output) -> int:
    with stores.open_existing(args) as db:
        view = stores.view_of(db, args)
        ref, namesakes = stores.resolve_entity(view, args.ref)
        versions = view.history(ref, between=args.between, **stores.spans_of(args))
        about = _statements_about(view, ref)
        numbers = {version.number for version in versions}
        learned = [step for step in view.timeline(ref) if step.number in numbers]
        marks = view.marks(ref)
        replaced, successors = _replacements(view, ref)

        def write_replacements(page: Page) -> None:
            for title, worlds in (("replaced", replaced), ("replaced by", successors)):
                for world in worlds:
                    name, held = f"  {stores.label(world)}", (f"  {wire.span(world.valid)}", "dim")
                    page.line((f"{title}  ", "title"), (wire.short(world.ref), "ref"), name, held, indent=2)

        def write(page: Page) -> None:
            if args.timeline:
                page.line((stores.name_of(view, ref), "name"), f"  {wire.short(ref)}")
                write_timeline(page, view, versions, learned, utf8=out.utf8)
                write_replacements(page)
                return
            page.line((stores.name_of(view, ref), "name"), (f"  {wire.short(ref)}, oldest version first", "dim"))
            had: dict[str, Any] = {}
            for version in versions:
                spans = ", ".join(map(wire.span, _spans(version)))
                start = ("  (its start was not stated)", "dim") if version.start == "defaulted" else ""
                page.line(f"{version.number}  ", (spans, "title"), start, indent=2)
                text = version.content or version.name
                if version.erased:
                    text = f"(erased: {_erasure_text(version.erasure)})" if version.erasure else "(erased)"
                page.line(wire.one_line(text, 2000), indent=5)
                if version.properties != had:
                    page.line(("properties  ", "dim"), wire.provenance(version.properties) or "none", indent=5)
                had = version.properties
                why = f", because {wire.one_line(version.why, 400)}" if version.why else ""
                when = f"learned {wire.moment(version.ingested_at)}, commit {version.seq}, from {version.author}{why}"
                page.line((when, "dim"), indent=5)
                for line in wire.why_stale(version):
                    page.line(("stale: ", "warn"), line, indent=5)
            write_replacements(page)
            for mark in marks:
                page.line((mark_text(mark), "dim"), indent=2)
            if about:
                page.line((f"about it, {wire.counted(len(about), 'world')}, oldest first:", "title"))
            for world in about[:_SHOWN_ABOUT]:
                held = "" if not world.closed else "  (holds no more)"
                page.line((wire.short(world.ref), "ref"), f"  {stores.label(world)}", (held, "dim"), indent=2)
            if len(about) > _SHOWN_ABOUT:
                page.line((f"and {len(about) - _SHOWN_ABOUT:,} more: --json has all of them", "dim"), indent=2)

        document = {"ref": ref, "versions": [wire.record(version) for version in versions], "view": wire.view(view)}
        document["marks"] = [wire.record(mark) for mark in marks]
        for name, worlds in (("replaced", replaced), ("replaced_by", successors)):
            document[name] = [{**_brief(view, world.ref), "valid": wire.valid(world.valid)} for world in worlds]
        document["about"] = [{**_brief(view, world.ref), "valid": wire.valid(world.valid)} for world in about]
        document["namesakes"] = [_brief(view, other.ref) for other in namesakes]
        if args.timeline:
            document["timeline"] = [wire.record(step) for step in learned]
        out.answer(document, write)
        stores.warn_of_namesakes(args, out, view, namesakes)
    return DONE


def mark_text(mark: Mark) -> str:
    """Describe in a line a mark that was set or removed."""
    label = mark.label or mark.tag or "(erased)"
    lasts = "" if mark.ttl is None else f", {mark.ttl:g} s after it was set or refreshed"
    what = {
        "expires": f"hidden from {wire.moment(mark.expires_at or 0)} on{lasts}",
        "unexpires": "deadline lifted",
        "labelled": f"labelled {label}",
        "unlabelled": f"label {label} removed",
        "pinned": "pinned",
        "unpinned": "pin removed",
        "deprecated": "deprecated",
        "undeprecated": "deprecation removed",
        "tagged": f"tagged {label}: version {mark.version}",
        "untagged": f"tag {label} removed",
    }[mark.kind]
    why = f", because {wire.one_line(mark.why, 400)}" if mark.why else ""
    return f"{what}: commit {mark.seq}, {wire.moment(mark.ingested_at)}, by {mark.author}{why}"


def _replacements(view: View, ref: str) -> tuple[list[World], list[World]]:
    """Return the worlds that a world took the place of, and those that took its place, at any remove, oldest first."""

    def chain(start: str, direction: Literal["in", "out"]) -> list[World]:
        refs = [start]
        for each in refs:
            for edge in view.edges(each, type="supersedes", direction=direction, include_superseded=True):
                other = edge.target if direction == "out" else edge.source
                refs += [] if other in refs else [other]
        worlds = (view.get(each, include_superseded=True) for each in refs[1:])
        return sorted((each for each in worlds if each is not None), key=lambda each: each.valid.start)

    return chain(ref, "out"), chain(ref, "in")


def _statements_about(view: View, ref: str) -> list[World]:
    """Return the statements that refer to a world, in the order of their start."""
    edges = view.edges(ref, type="refers_to", direction="in", include_superseded=True)
    found = (view.get(edge.source, include_superseded=True) for edge in {edge.source: edge for edge in edges}.values())
    return sorted((world for world in found if world is not None and world.content), key=lambda each: each.valid.start)


def _conflicts_arguments(parser: Parser) -> None:
    parser.add_argument("ref", metavar="WORLD", nargs="?", help="a world, with what it contains (default: everything)")
    arguments.add_limit(parser, "list at most N")
    arguments.add_moment(parser)
    arguments.add_confine(parser)


def _conflicts(args: Namespace, out: Output) -> int:
    with stores.open_existing(args) as db:
        views = stores.views_of(db, args) if args.ref is None else [stores.view_of(db, args)]
        view, world = views[0], None if args.ref is None else stores.resolve_world(views[0], args.ref)
        each = chain.from_iterable(each.contradictions(world=world) for each in views)
        pairs = list(islice(each, args.limit))
        told = [{"first": wire.record(one), "second": wire.record(other)} for one, other in pairs]

        def write(page: Page) -> None:
            if not pairs:
                page.line("no valid worlds contradict each other at this time")
            for one, other in pairs:
                for side, mark in ((one, "  "), (other, "≠ " if out.utf8 else "! ")):
                    text = wire.one_line(side.content or side.name)
                    page.line((mark, "warn"), (wire.short(side.ref), "ref"), f"  {text}")

        out.answer({"conflicts": told, "view": wire.view(view)}, write)
    return DONE


def _children_arguments(parser: Parser) -> None:
    parser.add_argument("ref", metavar="REF", nargs="?", help="a reference or a name (default: the outermost world)")
    arguments.add_limit(parser, "list at most N")
    arguments.add_moment(parser)
    arguments.add_confine(parser)
    arguments.add_unify(parser)
    arguments.add_superseded(parser)
    arguments.add_expired(parser)
    arguments.add_spans(parser)


def _children(args: Namespace, out: Output) -> int:
    with stores.open_existing(args) as db:
        views = stores.views_of(db, args) if args.ref is None else [stores.view_of(db, args)]
        view = views[0]
        ref = stores.outermost_world(db, view) if args.ref is None else stores.resolve_world(view, args.ref)
        shown: dict[str, Any] = {"include_superseded": args.include_superseded, **arguments.visibility_flags(args)}
        shown |= stores.spans_of(args)
        others = (other.children(stores.outermost_world(db, other), **shown) for other in views[1:])
        listed = islice(chain(view.children(ref, **shown), chain.from_iterable(others)), args.limit)
        if out.json:
            children = [wire.record(child) for child in listed]
            document = {"ref": ref, "children": children, "view": wire.view(view)}
            out.document(document | {"left_out": _partial_members(view, ref, args)}, indent=2)
            return DONE
        if (first := next(listed, None)) is None:
            out.page.line(f"{stores.name_of(view, ref)} has no members at this time.")
        else:
            out.page.table(("ref", "type", "name", "valid"), _child_rows(chain((first,), listed)))
        if left_out := len(_partial_members(view, ref, args)):
            count = "one more was a member" if left_out == 1 else f"{left_out:,} more were members"
            out.hint(f"note: {count} for a part of the span, or in several versions: --overlaps shows them")
    return DONE


def _stale_arguments(parser: Parser) -> None:
    parser.add_argument("ref", metavar="REF", nargs="?", help="a reference or a name (default: the outermost world)")
    arguments.add_limit(parser, "list at most N")
    arguments.add_moment(parser)
    arguments.add_confine(parser)


def _stale(args: Namespace, out: Output) -> int:
    with stores.open_existing(args) as db:
        views = stores.views_of(db, args) if args.ref is None else [stores.view_of(db, args)]
        view = views[0]
        ref = stores.outermost_world(db, view) if args.ref is None else stores.resolve_world(view, args.ref)
        others = (world for other in views[1:] for world in other.stale(stores.outermost_world(db, other)))
        found = [*view.stale(ref), *others][: args.limit]

        def write(page: Page) -> None:
            if not found:
                page.line("Nothing depends on a world that has ended.")
            for world in found:
                page.line((wire.short(world.ref), "ref"), "  ", (wire.one_line(_member_name(world), 100), "name"))
                for line in wire.why_stale(world):
                    page.line(line, indent=2)

        out.answer({"ref": ref, "stale": [wire.record(world) for world in found], "view": wire.view(view)}, write)
    return DONE


def _partial_members(view: View, ref: str, args: Namespace) -> list[str]:
    """Return members valid for a part of a span when members throughout it were asked for."""
    if args.during is None:
        return []
    throughout = {member.ref for member in view.children(ref, during=args.during)}
    touched = dict.fromkeys(member.ref for member in view.children(ref, overlaps=args.during))
    return [member for member in touched if member not in throughout]


def _child_rows(children: Iterable[World]) -> Iterator[tuple[Span, ...]]:
    for child in children:
        name = wire.one_line(_member_name(child), 100)
        yield (wire.short(child.ref), "ref"), (child.type or "-", "dim"), name, (wire.span(child.valid), "dim")


def _member_name(world: World) -> str:
    """Return the name of a member in a list."""
    return (
        "(no text)" if world.erased and world.erasure is None else "(erased)" if world.erased else stores.label(world)
    )


def _hash_arguments(parser: Parser) -> None:
    parser.add_argument("ref", metavar="REF", nargs="?", help="a reference or a name (default: the outermost world)")
    arguments.add_moment(parser, valid=False)
    arguments.add_confine(parser)


def _hash(args: Namespace, out: Output) -> int:
    with stores.open_existing(args) as db:
        view = stores.view_of(db, args)
        named = None if args.ref is None else stores.resolve_world(view, args.ref)
        found = view.hash(named)
        ref = named or stores.outermost_world(db, view)
        ingested_at = wire.time(db.view(seq=view.seq).ingested)
        document = {"ref": ref, "root": found, "seq": view.seq, "ingested_at": ingested_at}
        out.answer(document, lambda page: page.line(found))
    return DONE


COMMANDS = (
    Command(
        "show",
        "show one world: its text, validity, provenance, edges and contradictions",
        _show_arguments,
        _show,
        (
            ("show 3fa9c2d1", "by the first digits of its reference"),
            ('show "Jon Okafor"', "by its exact name or an alias"),
            ("show 3fa9c2d1 --ingested 12 --include-superseded", "as known after commit 12"),
        ),
    ),
    Command(
        "history",
        "show every version of a world, with when each was true and when it was learned",
        _history_arguments,
        _history,
        (
            ("history 3fa9c2d1", "oldest version first"),
            ("history 3fa9c2d1 --timeline", "drawn: when each version is valid, and when that was learned"),
            ("history 3fa9c2d1 --between 2025-06-01..2025-07-01", "what was learned about it in June"),
            ("history 3fa9c2d1 --ingested 2025-06-01", "its history as known then"),
        ),
    ),
    Command(
        "children",
        "list the members of a world, or of the root world",
        _children_arguments,
        _children,
        (
            ("children", "the members of the root world"),
            ('children "Spring in Lisbon" --limit 5', "the first members of a world"),
            ("children 3fa9c2d1 --valid 2024-05-01", "its members at that time"),
            ("children 3fa9c2d1 --during 2024-01-01..2025-01-01", "its members throughout 2024"),
        ),
    ),
    Command(
        "conflicts",
        "list the pairs that contradict each other while both hold",
        _conflicts_arguments,
        _conflicts,
        (("conflicts", "of the whole store"), ('conflicts "Search team"', "of one world and what it contains")),
    ),
    Command(
        "stale",
        "list worlds that depend on something that has ended, was replaced or was erased",
        _stale_arguments,
        _stale,
        (
            ("stale", "of the whole store, as of now"),
            ("stale --ingested 12", "as known at commit 12"),
        ),
    ),
    Command(
        "hash",
        "print the hash of a world and everything it contains, now or at an earlier moment",
        _hash_arguments,
        _hash,
        (
            ("hash", "of the whole store"),
            ("hash --ingested 12", "of the whole store after commit 12"),
            ('hash "The new job"', "of one world; it changes only if something inside does"),
        ),
    ),
)
