"""``worlddb impact``, ``provenance``, ``path``, ``kref`` and ``artifact``: items and their dependencies."""

from typing import Any, Final

import worlddb
from worlddb import Artifact, Basis, Reached, View, World
from worlddb.tools.cli.base import DONE, Command, Namespace, Output, Page, Parser, Span, arguments, stores, wire
from worlddb.tools.cli.write.write_commands import answer_receipt

NOT_FOUND: Final = 1
_SCHEME: Final = "kref://"
_DEPTH: Final = 10
_FURTHEST: Final = 20


def _read_arguments(parser: Parser) -> None:
    arguments.add_moment(parser)
    arguments.add_confine(parser)


def _types_argument(parser: Parser, default: str) -> None:
    parser.add_argument(
        "--type", metavar="TYPE", action="append", help=f"walk edges of this type only; several times ({default})"
    )


def _impact_arguments(parser: Parser) -> None:
    parser.add_argument("ref", metavar="REF", help="a reference, its first digits, a name or a kref")
    _types_argument(parser, "default: what depends on it, was derived from it, or replaced it")
    parser.add_argument("--depth", metavar="N", type=arguments.count, default=_DEPTH, help="how far (default: 10)")
    _read_arguments(parser)


def _impact(args: Namespace, out: Output) -> int:
    with stores.open_existing(args) as db:
        view = stores.view_of(db, args)
        stores.hint_unknown_types(view, args.type or (), out)
        ref = stores.resolve_world(view, args.ref)
        found = view.impact(ref, types=args.type, depth=args.depth)

        def write(page: Page) -> None:
            if not found:
                page.line("Nothing depends on it.")
            for each in found:
                page.line(*_reached_rows(view, each), indent=2 * (each.depth - 1))
            for ref in found.cut_off:
                page.line((f"more depends on {wire.short(ref)}: --depth {args.depth + 1}", "dim"))

        document = {"ref": ref, "affected": [wire.record(each) for each in found], "cut_off": list(found.cut_off)}
        out.answer(document | {"view": wire.view(view)}, write)
    return DONE


def _reached_rows(view: View, each: Reached) -> list[Span]:
    what = stores.name_of(view, each.ref) if each.type else "(erased)"
    return [(wire.short(each.ref), "ref"), "  ", (what, "name"), (f"  {each.type}", "dim")]


def _provenance_arguments(parser: Parser) -> None:
    parser.add_argument("ref", metavar="REF", help="a reference, its first digits, a name or a kref")
    _read_arguments(parser)


def _provenance(args: Namespace, out: Output) -> int:
    with stores.open_existing(args) as db:
        view = stores.view_of(db, args)
        ref = stores.resolve_world(view, args.ref)
        found = view.provenance(ref)

        def write(page: Page) -> None:
            if not found:
                page.line("It was derived from nothing else.")
            for each in found:
                page.line(*_basis(view, each), indent=2 * (each.steps - 1))

        # What lies further than a walk goes, what a summary contains, and an earlier version of itself has no way.
        walked = view.traverse(ref, types=("derived_from",), depth=_FURTHEST) if found and out.json else ()
        ways = {each.ref: {"path": list(each.path), "edges": list(each.edges)} for each in walked}
        told = [wire.record(each) | ways.get(each.ref, {"path": None, "edges": None}) for each in found]
        out.answer({"ref": ref, "affected": told, "view": wire.view(view)}, write)
    return DONE


def _basis(view: View, each: Basis) -> list[Span]:
    what = "(erased)" if each.erased else stores.name_of(view, each.ref)
    told = [f"by {each.author}", wire.provenance(each.source), "" if each.trust is None else f"trust {each.trust}"]
    return [(wire.short(each.ref), "ref"), "  ", (what, "name"), (f"  {', '.join(filter(None, told))}", "dim")]


def _path_arguments(parser: Parser) -> None:
    parser.add_argument("ref", metavar="FROM", help="a reference, its first digits, a name or a kref")
    parser.add_argument("goal", metavar="TO", help="as FROM")
    _types_argument(parser, "default: every type but contains")
    parser.add_argument("--direction", choices=("out", "in", "both"), default="both", help="the direction of the edges")
    parser.add_argument("--depth", metavar="N", type=arguments.count, default=_FURTHEST, help="how far (default: 20)")
    _read_arguments(parser)


def _path(args: Namespace, out: Output) -> int:
    with stores.open_existing(args) as db:
        view = stores.view_of(db, args)
        stores.hint_unknown_types(view, args.type or (), out)
        ends = [stores.resolve_world(view, each) for each in (args.ref, args.goal)]
        found = view.shortest_path(*ends, types=args.type or (), direction=args.direction, depth=args.depth)

        def write(page: Page) -> None:
            if found is None:
                page.line("No path leads there.")
                return
            for ref, edge in zip(found.path, found.edges, strict=True):
                walked, world = view.edge(edge), view.get(ref, include_superseded=True)
                arrow = f"{walked.type} >" if walked.target == ref else f"< {walked.type}"
                name = "" if world is None else wire.one_line(world.name or world.content, 100)
                page.line((arrow, "dim"), "  ", (wire.short(ref), "ref"), "  ", (name, "name"))

        path, edges = (None, None) if found is None else (list(found.path), list(found.edges))
        document = {"from": ends[0], "to": ends[1], "path": path, "edges": edges}
        out.answer(document | {"view": wire.view(view)}, write)
    return NOT_FOUND if found is None else DONE


# -- items


def _kref_arguments(parser: Parser) -> None:
    parser.add_argument(
        "ref",
        metavar="KREF",
        help="kref://project/space/item.kind, to read also with ?r=N&a=NAME; or a world, for its kref",
    )
    parser.add_argument("--content", metavar="TEXT", help="the text of a new version; - reads it from standard input")
    parser.add_argument("--valid-from", metavar="TIME", help="with --content: since when (default: now)")
    parser.add_argument("--rename", metavar="NAME", help="rename the item; its kref stays")
    parser.add_argument("--why", default="", metavar="TEXT", help="the reason, stored with the write")
    parser.add_argument("--include-deprecated", action="store_true", help="show it even if it is deprecated")
    arguments.add_author(parser)
    _read_arguments(parser)


def _kref(args: Namespace, out: Output) -> int:
    if args.content is not None or args.rename is not None:
        return _write_item(args, out)
    with stores.open_existing(args) as db:
        view = stores.view_of(db, _view_options(args))
        if not args.ref.lower().startswith(_SCHEME):
            return _answer_kref_of(args, out, view)
        wanted = worlddb.parse_kref(args.ref)
        found = view.resolve_kref(wanted, include_deprecated=args.include_deprecated)
        named = {"kref": str(wanted), "view": wire.view(view)}

        def write(page: Page) -> None:
            if found is None:
                page.line("No version of it holds at this time, or it is hidden: `worlddb history` has all of them.")
            elif isinstance(found, Artifact):
                page.fields(_artifact_record(found))
            else:
                page.line((wire.short(found.ref), "ref"), "  ", (found.name, "name"), (f"  {found.type}", "dim"))
                page.line(wire.one_line(found.content, 400), (f"  version {found.number}", "dim"), indent=2)

        if isinstance(found, World):
            document: dict[str, Any] = {"ref": found.ref, "world": wire.record(found)}
        else:
            document = {"artifact": None if found is None else wire.record(found)}
        out.answer(named | document, write)
    return NOT_FOUND if found is None else DONE


def _answer_kref_of(args: Namespace, out: Output, view: View) -> int:
    """Tell the kref of a world that was named in another way."""
    ref = stores.resolve_world(view, args.ref)
    found = view.kref_of(ref)
    told = (
        "It has no kref: it is in no space, or another world there has the same name." if found is None else str(found)
    )
    document = {"ref": ref, "kref": None if found is None else str(found), "view": wire.view(view)}
    out.answer(document, lambda page: page.line(told))
    return NOT_FOUND if found is None else DONE


def _view_options(args: Namespace) -> Namespace:
    """Return the options by which a view is chosen, without the kref, which may name more than a world."""
    return Namespace(**{name: value for name, value in vars(args).items() if name != "ref"})


def _write_item(args: Namespace, out: Output) -> int:
    if args.content is not None and args.rename is not None:
        raise arguments.UsageError("Both --content and --rename were given", "Give one of them")
    if args.confine is not None or args.user is not None or args.ingested is not None or args.valid is not None:
        raise arguments.UsageError("Options of a view were given with a write", "Leave the options of the view out")
    if args.rename is not None:
        with stores.open_existing(args, author=args.author) as db:
            return answer_receipt(args, db, out, db.rename(args.ref, args.rename, why=args.why), has_text=True)
    text = args.content if args.content != "-" else arguments.read_standard_input("Give the text with --content TEXT")
    since = None if args.valid_from is None else worlddb.parse_time(args.valid_from, "valid_from")
    worlddb.parse_kref(args.ref)
    with stores.open_store(args, stores.folder_of(args), author=args.author, embedder=stores.embedder_of(args)) as db:
        receipt = db.create_at(args.ref, content=text, valid_from=since, why=args.why)
        return answer_receipt(args, db, out, receipt, has_text=True)


def _artifact_arguments(parser: Parser) -> None:
    parser.add_argument("ref", metavar="REF", help="a reference, a name, or a kref, to read also one with ?r=N")
    parser.add_argument("name", metavar="NAME", nargs="?", help="attach this one (without: list them)")
    parser.add_argument("--location", metavar="WHERE", help="its address or path, which is never opened")
    parser.add_argument("--media-type", metavar="TYPE", default="", help="such as application/pdf")
    parser.add_argument("--size", metavar="BYTES", type=int, help="how large it is")
    parser.add_argument("--hash", metavar="HASH", default="", help="sha256: and the digest in hex digits")
    parser.add_argument("--remove", action="store_true", help="remove it")
    parser.add_argument("--why", default="", metavar="TEXT", help="the reason, kept with it")
    arguments.add_author(parser)
    _read_arguments(parser)


def _artifact(args: Namespace, out: Output) -> int:
    if args.name is None:
        if args.location is not None or args.remove:
            raise arguments.UsageError("The name of the artifact is missing", "Give its name behind REF")
        return _artifacts(args, out)
    if args.remove == (args.location is not None):
        raise arguments.UsageError("Both --location and --remove were given, or neither", "Give --location or --remove")
    with stores.open_existing(args, author=args.author) as db:
        ref = stores.resolve_to_write(db.view(), args.ref)
        if args.remove:
            return answer_receipt(args, db, out, db.detach(ref, args.name, why=args.why))
        given = Artifact(
            name=args.name, location=args.location, media_type=args.media_type, size=args.size, hash=args.hash
        )
        return answer_receipt(args, db, out, db.attach(ref, given, why=args.why))


def _artifacts(args: Namespace, out: Output) -> int:
    with stores.open_existing(args) as db:
        view = stores.view_of(db, _view_options(args))
        ref = args.ref if args.ref.lower().startswith(_SCHEME) else stores.resolve_world(view, args.ref)
        found = view.artifacts(ref)

        def write(page: Page) -> None:
            if not found:
                page.line("It has no artifacts.")
            for each in found:
                page.line((each.name, "name"))
                page.fields(_artifact_record(each)[1:], indent=2)

        out.answer({"artifacts": [wire.record(each) for each in found], "view": wire.view(view)}, write)
    return DONE


def _artifact_record(each: Artifact) -> list[tuple[str, list[Span]]]:
    size = "" if each.size is None else wire.counted(each.size, "byte")
    rows = ("artifact", each.name), ("location", each.location), ("type", each.media_type), ("size", size)
    return [(name, [value]) for name, value in (*rows, ("hash", each.hash)) if value]


COMMANDS = (
    Command(
        "impact",
        "list everything that depends on a world, directly or not, with the path to it",
        _impact_arguments,
        _impact,
        (
            ("impact 3fa9c2d1", "what may be wrong if it is wrong"),
            ("impact 3fa9c2d1 --depth 3", "the nearest"),
        ),
    ),
    Command(
        "provenance",
        "list everything that a world was derived from, with author and trust",
        _provenance_arguments,
        _provenance,
        (("provenance 3fa9c2d1", "the nearest first"),),
    ),
    Command(
        "path",
        "show a shortest path of edges from one world to another",
        _path_arguments,
        _path,
        (("path 3fa9c2d1 Office", "in any direction of edges"),),
    ),
    Command(
        "kref",
        "show what a kref names, or create or revise it",
        _kref_arguments,
        _kref,
        (
            ('kref kref://atlas/api/wire.decision --content "Use REST"', "with its project and space"),
            ("kref kref://atlas/api/wire.decision", "what holds"),
            ("kref kref://atlas/api/wire.decision?r=1", "the first version"),
            ("kref kref://atlas/api/wire.decision --rename protocol", "the kref stays"),
        ),
    ),
    Command(
        "artifact",
        "attach a pointer to something kept elsewhere, or list what is attached",
        _artifact_arguments,
        _artifact,
        (
            ("artifact 3fa9c2d1 runs.csv --location s3://bucket/runs.csv --size 18211", "nothing is opened"),
            ("artifact 3fa9c2d1", "its artifacts"),
            ("artifact 3fa9c2d1 runs.csv --remove", "earlier versions still have it"),
        ),
    ),
)
