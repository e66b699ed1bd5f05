"""``worlddb head`` and ``keygen``: checkpoints, and the keys that sign them."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Final

import worlddb
from worlddb import InputError
from worlddb.tools.cli import stores, wire
from worlddb.tools.cli.arguments import add_moment
from worlddb.tools.cli.command import DONE, Command
from worlddb.tools.cli.output import Output

MAX_KEY_FILE_BYTES: Final = 4096


def add_keys(parser: ArgumentParser) -> None:
    """``--key``, for commands that check a checkpoint's signatures."""
    parser.add_argument(
        "--key",
        dest="keys",
        metavar="VERIFIER",
        action="append",
        default=[],
        help="a verifier key, or a file with one, that must have signed the head; may be given several times",
    )


def given_keys(texts: list[str]) -> list[str]:
    """Verifier keys as they were typed, or as the files that were named hold them."""
    return [text if not Path(text).is_file() else _line_of(Path(text)) for text in texts]


def read_file(path: str, largest: int) -> bytes:
    """What a file holds, as far as it is not larger than what is wanted; the reader of it then says so."""
    with Path(path).open("rb") as file:
        return file.read(largest + 1)


def _line_of(path: Path) -> str:
    stored = read_file(str(path), MAX_KEY_FILE_BYTES)
    try:
        return stored.decode()
    except UnicodeDecodeError:
        raise InputError(f"{path} holds no key", "Name the file that `worlddb keygen` wrote") from None


def _head_arguments(parser: ArgumentParser) -> None:
    add_moment(parser, valid=False)
    parser.add_argument(
        "--sign",
        metavar="KEYFILE",
        action="append",
        default=[],
        help="sign it with the key in this file, see `worlddb keygen`; may be given several times",
    )


def _head(args: Namespace, out: Output) -> int:
    keys = [_line_of(Path(file)) for file in args.sign]
    with stores.existing(args) as db:
        head = db.head(**stores.when(args.ingested))
        text = db.checkpoint(seq=head.seq, sign_with=keys)
    document = {
        "seq": head.seq,
        "chain": head.chain,
        "root": head.root,
        "ingested_at": wire.time(head.ingested_at),
        "store": head.store_id,
        "tree": head.tree,
        "checkpoint": text,
    }
    out.verbatim(document, text)
    return DONE


def _keygen_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="who holds the key, best a URL without https://")
    parser.add_argument("--out", metavar="FILE", required=True, help="a new file for the signing key, which is secret")


def _keygen(args: Namespace, out: Output) -> int:
    pair = worlddb.new_key(args.name)
    try:
        descriptor = os.open(args.out, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise InputError(f"{args.out} is already there, and may be somebody's key", "Name a new file") from None
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(pair.signing + "\n")
    document = {"name": args.name, "verifier": pair.verifier, "file": args.out}
    out.verbatim(document, pair.verifier + "\n")
    return DONE


COMMANDS = (
    Command(
        "head",
        "print a checkpoint that can be signed: what the whole store stands at, in a few lines",
        _head_arguments,
        _head,
        (
            ("head > monday.head", "to keep elsewhere; `worlddb verify --head monday.head` holds the store against it"),
            ("head --sign ada.key --sign audit.key", "with two signatures"),
            ("head --ingested 12 --json", "what it was after commit 12, for a program"),
        ),
    ),
    Command(
        "keygen",
        "make an Ed25519 key to sign checkpoints with; prints the verifier key, which is for everybody",
        _keygen_arguments,
        _keygen,
        (("keygen example.com/ada --out ada.key > ada.pub", "a key pair; ada.key is secret"),),
    ),
)
