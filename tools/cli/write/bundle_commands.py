"""``worlddb export`` and ``import``: write a world to a bundle file, and read one into another store."""

import shlex
import sys
from pathlib import Path
from typing import Any, Final

import msgspec

import worlddb
from worlddb import MAX_CHECKPOINT_BYTES, Bundle, Database, ImportPlan, InputError, WorldDBError
from worlddb.tools.cli.base import DONE, Command, Namespace, Output, Page, Parser, arguments, stores, wire
from worlddb.tools.cli.base.page import visible_json
from worlddb.tools.cli.write import ingest_command

_BUNDLE: Final = "bundle"
_JSONL: Final = "jsonl"
_GRAPH: Final = "mcp-memory"
_ENCODER: Final = msgspec.json.Encoder()


def _export_arguments(parser: Parser) -> None:
    parser.add_argument("ref", metavar="WORLD", nargs="?", help="a reference or a name (default: the whole store)")
    parser.add_argument(
        "file",
        metavar="FILE",
        nargs="?",
        help="the output file; compressed if its name ends in .zst (the same as --out)",
    )
    parser.add_argument("--user", metavar="NAME", help="export the world of this user")
    parser.add_argument("--out", metavar="FILE", help="the output file, if the whole store is exported")
    parser.add_argument(
        "--format",
        choices=(_BUNDLE, _JSONL, _GRAPH),
        default=_BUNDLE,
        help="a bundle for `worlddb import`, JSON Lines for other programs, or, to standard output, valid entities"
        " and relations for the reference server `memory` of MCP (default: bundle)",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace FILE if it exists")
    proof = parser.add_mutually_exclusive_group()
    proof.add_argument(
        "--head",
        metavar="FILE_OR_SEQ",
        help="the head to check a bundle's proof against, or its number of commits (default: the head of the moment"
        " itself)",
    )
    proof.add_argument(
        "--no-proof",
        action="store_true",
        help="leave the proof out, which has ids and hashes of worlds around this one",
    )
    arguments.add_moment(parser, valid=False)


def _export(args: Namespace, out: Output) -> int:
    if args.user is not None and args.ref is not None and args.file is None and args.out is None:
        args.ref, args.file = None, args.ref
    if args.user is not None and args.ref is not None:
        raise arguments.UsageError("Both a world and a user were given", "Give WORLD FILE, or --user NAME FILE")
    if args.file is not None:
        if args.out is not None:
            raise arguments.UsageError("The file was given twice", "Give WORLD FILE, or WORLD --out FILE")
        args.out = args.file
    if args.out is None and args.format == _BUNDLE:
        raise InputError("A bundle is not text, so it needs a file", "Give --out FILE, or --format jsonl")
    if args.format == _GRAPH and args.out is not None:
        raise arguments.UsageError(
            "The format mcp-memory goes to standard output", "Write it as: --format mcp-memory > FILE"
        )
    if args.format != _BUNDLE and (args.no_proof or args.head is not None):
        raise arguments.UsageError("JSON Lines have no proof", "Leave --head and --no-proof out, or export a bundle")
    moment = stores.parse_moment(args.ingested)
    with stores.open_existing(args) as db:
        view = db.view(**moment)
        ref = None if args.ref is None else stores.resolve_to_write(view, args.ref)
        if args.user is not None:
            ref = stores.world_of_user(view, args.user)
        elif ref is not None and (hint := stores.hint_of_user(view, args.ref, ref)):
            out.hint(hint)
        if args.out is None:
            lines = view.memory_graph(ref) if args.format == _GRAPH else db.export_lines(ref, seq=view.seq)
            for line in lines:
                sys.stdout.write(visible_json(_ENCODER.encode(line).decode()) + "\n")
            return DONE
        document = _answer_receipt(db, args, out, ref, view.seq) | {
            "seq": view.seq,
            "root": view.hash(),
            "out": args.out,
        }

    def write(page: Page) -> None:
        page.line(
            f"{wire.counted(document['worlds'], 'world')} as of commit {view.seq} ({wire.moment(view.ingested)})"
            f" in {args.out}"
        )
        if args.format == _BUNDLE:
            page.line(f"world {document['world']}, hash {document['hash']}")
            page.line(f"bundle {document['bundle']}")
            out.hint(f"Next: worlddb import {shlex.quote(args.out)} --store DIR")

    out.answer(document, write)
    return DONE


def _import_arguments(parser: Parser) -> None:
    parser.add_argument("file", metavar="FILE", help="a bundle, or an export of chats, compressed or not")
    parser.add_argument("--into", metavar="WORLD", help="import its world into this one (default: the root)")
    parser.add_argument(
        "--check",
        action="store_true",
        help="only check the bundle and, if there is a store, list the changes to worlds outside of it; change nothing",
    )
    parser.add_argument(
        "--allow-outside", action="store_true", help="allow changes to worlds of the store that are not in the bundle"
    )
    parser.add_argument("--join", action="store_true", help="keep both sides where the store and the bundle diverged")
    parser.add_argument(
        "--head", metavar="FILE", help="refuse the bundle unless its proof leads from this head to its hash"
    )
    arguments.add_keys(parser)
    parser.add_argument("--why", default="", metavar="TEXT", help="the reason, kept with the import")
    arguments.add_author(parser)


def _import(args: Namespace, out: Output) -> int:
    if _is_conversation_file(args.file):
        if args.check or args.allow_outside or args.join or args.head is not None or args.keys or args.why:
            raise arguments.UsageError(
                "The file holds conversations: --check, --allow-outside, --join, --head, --key, --why are for bundles",
                "Leave them out",
            )
        return ingest_command.ingest_files_with(args, out, [args.file])
    # Check first, so that a refused file creates no store.
    head = None if args.head is None else stores.read_file(args.head, MAX_CHECKPOINT_BYTES)
    keys = stores.load_keys(args.keys)
    with out.progress("Checking the bundle"):
        bundle = worlddb.check_bundle(args.file, head=head, keys=keys)
    stated = {"bundle": wire.bundle(bundle), "proved": head is not None, "keys": len(keys)}
    if args.check:
        plan = _plan(args)

        def tell(page: Page) -> None:
            _write_bundle(page, bundle, head is not None)
            if plan is not None:
                _write_plan(page, plan)

        out.answer({"ok": True, **stated, **({} if plan is None else wire.import_plan(plan))}, tell)
        _hint_unchecked(out, bundle, head, keys)
        return DONE
    with stores.open_store(args, stores.folder_of(args), author=args.author, embedder=stores.embedder_of(args)) as db:
        into = None if args.into is None else stores.resolve_place(db.view(), args.into)
        with out.progress("Importing"):
            how: Any = {"allow_outside": args.allow_outside, "join": args.join}
            receipt = db.import_bundle(args.file, into=into, why=args.why, head=head, keys=keys, **how)
        receipt.raise_if_refused()
        with out.progress("Indexing"):
            stores.embed_new(db, out)
            db.catch_up()
        hashes = {"world_hash": db.view().hash(receipt.ref)}
    document = {**stated, **wire.receipt(receipt), "ref": receipt.ref, **hashes}

    def write(page: Page) -> None:
        _write_bundle(page, bundle, head is not None)
        if receipt.events:
            page.line(f"{wire.counted(receipt.events, 'event')} in commit {receipt.seq}, root {receipt.root}")
        else:
            page.line("everything was there already, so nothing was written")
        for note in receipt.notes:
            page.line((wire.note_text(note), "dim"))
        if receipt.events:
            out.hint("Keys are not in a bundle: a call under the idempotency key of its first one is a new call here.")
        start = stores.command_prefix(args)
        out.hint(f"Next: {start} show {wire.short(receipt.ref)}   {start} children {wire.short(receipt.ref)}")

    out.answer(document, write)
    return DONE


def _is_conversation_file(file: str) -> bool:
    """Whether a file is known by its content for one of conversations, which `worlddb ingest` takes in."""
    from worlddb.tools.importers import format_of

    try:
        return not format_of(Path(file)).suffixes
    except WorldDBError:
        return False  # A bundle, or what is refused as none.


def _write_bundle(page: Page, bundle: Bundle, proved: bool) -> None:
    page.line(
        ("holds", "good"),
        f"  {wire.counted(bundle.worlds, 'world')} of store {wire.short(bundle.store_id)} as of commit {bundle.seq}",
        f" ({wire.moment(bundle.ingested_at)})",
    )
    page.line(f"world {bundle.world}, hash {bundle.world_hash}")
    page.line(f"bundle {bundle.hash}")
    for name, version, digest in bundle.edge_types:
        page.line(("edge type ", "dim"), f"{name}, version {version}, digest {wire.short(digest)}")
    if proved:
        page.line(("proved", "good"), "  the head stands for this world hash")
    elif bundle.proof_size:
        page.line(
            (
                f"its proof is for a head of {wire.counted(bundle.proof_size, 'commit')}, and was not checked"
                " against a head",
                "dim",
            )
        )


def _plan(args: Namespace) -> ImportPlan | None:
    """What the bundle would do to worlds outside of it; nothing if there is no store to ask."""
    folder = stores.folder_of(args)
    if not (folder / "data.mdb").exists():
        return None
    with stores.open_existing_at(folder) as db:
        into = None if args.into is None else stores.resolve_place(db.view(), args.into)
        return db.import_plan(args.file, into=into, join=args.join)


def _write_plan(page: Page, plan: ImportPlan) -> None:
    if plan.refused is not None:
        page.line(("refused here", "bad"), f"  {plan.refused[1]}")
        return
    come = wire.counted(plan.events, "event")
    if not plan.outside:
        page.line(("here", "dim"), f"  it adds {come}, and changes no worlds outside of it")
        return
    page.line(("here", "bad"), f"  it adds {come}, and needs --allow-outside for its changes to other worlds:")
    for effect in plan.outside:
        page.line(f"  {effect}")


def _hint_unchecked(out: Output, bundle: Bundle, head: bytes | None, keys: list[str]) -> None:
    """Say what the check did not look at."""
    if head is not None and not keys:
        out.hint("The head's signatures were not checked: name the keys that must have signed it with --key.")
    elif head is None and bundle.proof_size:
        out.hint("Check it against a head of the exporting store with --head FILE.")


def _answer_receipt(db: Database, args: Namespace, out: Output, ref: str | None, seq: int) -> dict[str, Any]:
    with out.steps("Writing worlds") as report:
        if args.format == _JSONL:
            lines = db.export_jsonl(ref, args.out, seq=seq, overwrite=args.overwrite, progress=report)
            return {"format": _JSONL, **lines}
        head = None if args.head is None else stores.parse_head(args.head)
        proof = not args.no_proof
        made = db.export(ref, args.out, seq=seq, overwrite=args.overwrite, proof=proof, head=head, progress=report)
    return {"format": _BUNDLE, **wire.bundle(made)}


COMMANDS = (
    Command(
        "export",
        "write a world and all inside it to a file: a bundle that checks itself, or JSON Lines",
        _export_arguments,
        _export,
        (
            ('export "Search team" --out team.bundle.zst', "with its history, to import it into another store"),
            ("export --user bo --out bo.bundle", "everything of one user"),
            ("export --format jsonl > all.jsonl", "everything, for other programs: one object a line"),
            ("export --out then.bundle --ingested 12", "as it was after commit 12"),
            ("export --format mcp-memory > memory.jsonl", "what is valid, for the reference server `memory` of MCP"),
        ),
    ),
    Command(
        "import",
        "import a bundle that `export` made, with its hashes, history and provenance",
        _import_arguments,
        _import,
        (
            ("import team.bundle.zst --store other", "into another store; again, and nothing changes"),
            ("import claude-export.zip", "chats and other conversations, as with `ingest`"),
            ('import team.bundle --into "Archive"', "into an existing world"),
            (
                "import team.bundle --check --json",
                "whether it verifies, and its changes to other worlds; for a program",
            ),
            ("import team.bundle --head now.head --key ada.pub", "only if that head proves its world"),
        ),
    ),
)
