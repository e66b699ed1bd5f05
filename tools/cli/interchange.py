"""``worlddb export``: a world in a file of its own, to be taken elsewhere."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from typing import Any, Final

import msgspec

from worlddb import Database, InputError
from worlddb.tools.cli import arguments, stores, wire
from worlddb.tools.cli.command import DONE, Command
from worlddb.tools.cli.output import Output
from worlddb.tools.cli.page import Page

_BUNDLE: Final = "bundle"
_JSONL: Final = "jsonl"
_ENCODER: Final = msgspec.json.Encoder()


def _export_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("ref", metavar="WORLD", nargs="?", help="a reference or a name (default: all of the store)")
    parser.add_argument("--out", metavar="FILE", help="the file to write; compressed if its name ends in .zst")
    parser.add_argument(
        "--format",
        choices=(_BUNDLE, _JSONL),
        default=_BUNDLE,
        help="a bundle, which `worlddb import` takes in, or JSON Lines for other programs (default: bundle)",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace FILE if it exists")
    arguments.add_moment(parser, valid=False)


def _export(args: Namespace, out: Output) -> int:
    if args.out is None and args.format == _BUNDLE:
        raise InputError("A bundle is not text, so it needs a file", "Give --out FILE, or --format jsonl")
    moment = stores.when(args.ingested)
    with stores.existing(args) as db:
        view = db.view(**moment)
        ref = None if args.ref is None else stores.world_of(db, view, args.ref)
        if args.out is None:
            for line in db.export_lines(ref, seq=view.seq):
                sys.stdout.write(_ENCODER.encode(line).decode() + "\n")
            return DONE
        document = _written(db, args, ref, view.seq) | {"seq": view.seq, "root": view.hash(), "out": args.out}

    def write(page: Page) -> None:
        page.line(f"{document['worlds']:,} worlds as of commit {view.seq} ({wire.moment(view.ingested)}) in {args.out}")
        if args.format == _BUNDLE:
            page.line(f"world {document['world']}, hash {document['hash']}")
            page.line(f"bundle {document['bundle']}")
            out.hint(f"Next: worlddb import {args.out} --store DIR")

    out.answer(document, write)
    return DONE


def _written(db: Database, args: Namespace, ref: str | None, seq: int) -> dict[str, Any]:
    if args.format == _JSONL:
        told = db.export_jsonl(ref, args.out, seq=seq, overwrite=args.overwrite)
        return {"format": _JSONL, **told}
    made = db.export(ref, args.out, seq=seq, overwrite=args.overwrite)
    return {
        "format": _BUNDLE,
        "world": made.world,
        "hash": made.world_hash,
        "bundle": made.hash,
        "worlds": made.worlds,
        "frames": made.frames,
        "bytes": made.size,
    }


COMMANDS = (
    Command(
        "export",
        "write a world and all inside it to a file: a bundle that checks itself, or JSON Lines",
        _export_arguments,
        _export,
        (
            ('export "Search team" --out team.bundle.zst', "with its history, to import it into another store"),
            ("export --format jsonl > all.jsonl", "everything, for other programs: one object a line"),
            ("export --out then.bundle --ingested 12", "as it was after commit 12"),
        ),
    ),
)
