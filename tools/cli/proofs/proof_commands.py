"""``worlddb head``, ``keygen``, ``cosign``, ``prove``, ``check-proof``: heads and proofs."""

import json
import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import worlddb
from worlddb.tools.cli.base import DONE, NO, Command, Namespace, Output, Page, Parser, arguments, stores, wire


def _head_arguments(parser: Parser) -> None:
    arguments.add_moment(parser, valid=False)
    parser.add_argument(
        "--sign",
        metavar="KEYFILE",
        action="append",
        default=[],
        help="sign it with the key in this file, see `worlddb keygen`; may be given several times",
    )


def _head(args: Namespace, out: Output) -> int:
    keys = [stores.load_key(Path(file)) for file in args.sign]
    with stores.open_existing(args) as db:
        head = db.head(**stores.parse_moment(args.ingested))
        # A hypothetical store has no checkpoint, and refuses to sign one.
        text = None if head.supposes and not keys else db.checkpoint(seq=head.seq, sign_with=keys)
    document = {
        "seq": head.seq,
        "chain": head.chain,
        "root": head.root,
        "ingested_at": wire.time(head.ingested_at),
        "store": head.store_id,
        "tree": head.tree,
        "checkpoint": text,
        "supposes": head.supposes or None,
    }
    if text is not None:
        out.verbatim(document, text)
        return DONE

    def write(page: Page) -> None:
        page.line(("hypothetical", "warn"), f"  {head.supposes}; it has no checkpoint to store or sign")
        page.line(f"commit {head.seq}, root {head.root}")

    out.answer(document, write)
    return DONE


def _keygen_arguments(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME", help="the holder of the key, preferably a URL without https://")
    parser.add_argument("--out", metavar="FILE", required=True, help="a new file for the secret signing key")


def _keygen(args: Namespace, out: Output) -> int:
    arguments.check_writable_path(args.out)
    pair = worlddb.new_key(args.name)
    try:
        descriptor = os.open(args.out, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise worlddb.InputError(f"{args.out} exists already, and may be somebody's key", "Give a new file") from None
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(pair.signing + "\n")
    document = {"name": args.name, "verifier": pair.verifier, "file": args.out}
    out.verbatim(document, pair.verifier + "\n")
    return DONE


def _prove_arguments(parser: Parser) -> None:
    parser.add_argument("ref", metavar="REF", nargs="?", help="a world (reference or name), or an edge's reference")
    parser.add_argument("--world", metavar="W", help="the world that contained it (default: the root)")
    arguments.add_moment(parser, valid=False)
    parser.add_argument(
        "--head",
        metavar="FILE_OR_SEQ",
        help="the head to check it against, or its number of commits (default: the present head)",
    )
    parser.add_argument("--with-text", action="store_true", help="include the text")
    parser.add_argument(
        "--consistency",
        metavar="N",
        nargs="+",
        help="instead of REF: prove that the log of N commits is the beginning of the log of M, or of the present log",
    )
    parser.add_argument("--out", metavar="FILE", help="write the proof into this file (default: print it)")
    parser.add_argument("--overwrite", action="store_true", help="replace FILE if it exists")


def _prove(args: Namespace, out: Output) -> int:
    if (args.ref is None) == (args.consistency is None):
        raise arguments.UsageError("Give either a reference or --consistency", "See `worlddb prove --help`")
    if args.out is not None:
        arguments.refuse_existing(args.out, overwrite=args.overwrite)
    with stores.open_existing(args) as db:
        text = _inclusion(db, args) if args.consistency is None else _consistency(db, args.consistency)
    proof = json.loads(text)
    document = {"ok": True, "proof": proof, "file": args.out, "bytes": len(text)}
    if args.consistency is None:
        document["shows_text"] = proof.get("shown") is not None
        if args.with_text and not document["shows_text"]:
            out.warn("The proof has no text: it was erased, or there never was any.")
    if args.out is None:
        out.verbatim(document, text)
        return DONE
    Path(args.out).write_text(text, encoding="utf-8")

    def write(page: Page) -> None:
        page.line(f"wrote {args.out}, {len(text):,} bytes")
        out.hint(f"Check it with only a head: worlddb check-proof {shlex.quote(args.out)} --head FILE")

    out.answer(document, write)
    return DONE


def _inclusion(db: worlddb.Database, args: Namespace) -> str:
    moment = stores.parse_moment(args.ingested)
    view = db.view(**moment)
    return db.prove(
        stores.resolve_world_or_edge(view, args.ref),
        world=None if args.world is None else stores.resolve_world(view, args.world),
        seq=view.seq,
        head=None if args.head is None else stores.parse_head(args.head),
        with_text=args.with_text,
    )


def _consistency(db: worlddb.Database, sizes: list[str]) -> str:
    if len(sizes) > 2 or not all(text.isascii() and text.isdigit() for text in sizes):
        raise arguments.UsageError(
            "--consistency takes one or two numbers of commits", "For example: --consistency 12 40"
        )
    return db.prove_consistency(*(int(text[: stores.MAX_SEQ_DIGITS + 1]) for text in sizes))


def _check_arguments(parser: Parser) -> None:
    parser.add_argument("file", metavar="FILE", help="a proof that `worlddb prove` wrote")
    parser.add_argument(
        "--head",
        dest="heads",
        metavar="FILE",
        action="append",
        required=True,
        help="the head to check it against; for a proof of consistency either head, or the old and then the new one",
    )
    arguments.add_keys(parser)


def _check_proof(args: Namespace, out: Output) -> int:
    heads = [stores.read_file(file, worlddb.MAX_CHECKPOINT_BYTES) for file in args.heads]
    found = worlddb.check_proof(
        stores.read_file(args.file, worlddb.MAX_PROOF_BYTES), *heads, keys=stores.load_keys(args.keys)
    )
    claim = _with_times(found.claim)
    document = {"ok": found.ok, "kind": found.kind, "reason": found.reason, "claim": claim, "keys": len(args.keys)}

    def write(page: Page) -> None:
        if not found.ok:
            page.line(("does not hold", "bad"), f"  {found.reason}")
            return
        page.line(("holds", "good"), f"  {_statement(found)}")
        page.fields([(name, [str(value)]) for name, value in _claim_fields(claim)])
        if not args.keys:
            out.hint("The head's signatures were not checked: name the keys that must have signed it with --key.")

    out.answer(document, write)
    return DONE if found.ok else NO


def _with_times(claim: dict[str, Any]) -> dict[str, Any]:
    """Format the times of a claim as everywhere else."""
    times = {name: wire.time(claim[name]) for name in ("ingested_at", "created_at", "valid_from") if name in claim}
    return claim | times | ({"edge": _with_times(claim["edge"])} if "edge" in claim else {})


def _statement(found: worlddb.ProofCheck) -> str:
    claim = found.claim
    if found.kind == "consistency":
        return f"the log of {claim['old']} commits is how the log of {claim['new']} commits begins"
    what = f"the edge {claim['ref'][:12]}" if "edge" in claim else f"version {claim['version'][:12]}"
    where = f"the world {claim['world'][:12]}" if claim["world"] else "the root world"
    return f"at commit {claim['seq']} of {claim['size']}, {what} was inside {where}"


def _claim_fields(claim: dict[str, Any]) -> Iterator[tuple[str, object]]:
    """Yield the remaining fields of a claim by name."""
    for name, value in (claim | claim.get("edge", {})).items():
        if name == "path":
            yield name, " / ".join(wire.short(ref) or "root" for ref in value)
        elif name not in ("edge", "old", "new", "size", "seq"):
            yield name, value if value != "" else "root" if name in ("world", "ref") else value


def _cosign_arguments(parser: Parser) -> None:
    parser.add_argument("file", metavar="FILE", help="the head to sign")
    parser.add_argument("--sign", metavar="KEYFILE", required=True, help="the file with the signing key")
    parser.add_argument("--since", metavar="FILE", help="the last signed head, which the new one must continue")
    parser.add_argument("--proof", metavar="FILE", help="a proof of consistency from that head to the new one")
    parser.add_argument(
        "--first", action="store_true", help="instead of both: this witness has not signed a head of this log before"
    )


def _cosign(args: Namespace, out: Output) -> int:
    if (args.since is None) != (args.proof is None) or (args.since is None) != args.first:
        raise arguments.UsageError(
            "A witness signs only heads that continue its last signed head",
            "Give both --since and --proof; or --first for the first head of this log",
        )
    head, key = stores.read_file(args.file, worlddb.MAX_CHECKPOINT_BYTES), stores.load_key(Path(args.sign))
    text = worlddb.sign_checkpoint(head, key)
    if args.since is not None:
        before = stores.read_file(args.since, worlddb.MAX_CHECKPOINT_BYTES)
        found = worlddb.check_proof(stores.read_file(args.proof, worlddb.MAX_PROOF_BYTES), before, head)
        if not found.ok:
            document = {"ok": False, "reason": found.reason}
            out.answer(document, lambda page: page.line(("not signed", "bad"), f"  {found.reason}"))
            return NO
    out.verbatim({"ok": True, "reason": "", "checkpoint": text}, text)
    return DONE


COMMANDS = (
    Command(
        "head",
        "print a checkpoint of the whole store: a few lines that can be signed",
        _head_arguments,
        _head,
        (
            (
                "head > monday.head",
                "to store elsewhere; `worlddb verify --head monday.head` checks the store against it",
            ),
            ("head --sign ada.key --sign audit.key", "with two signatures"),
            ("head --ingested 12 --json", "as it was after commit 12, for a program"),
        ),
    ),
    Command(
        "keygen",
        "make an Ed25519 key to sign checkpoints with; prints the verifier key, which is public",
        _keygen_arguments,
        _keygen,
        (("keygen example.com/ada --out ada.key > ada.pub", "a key pair; ada.key is secret"),),
    ),
    Command(
        "cosign",
        "sign a head as a witness, if a proof shows that it continues the last signed head",
        _cosign_arguments,
        _cosign,
        (
            (
                "cosign friday.head --sign audit.key --since monday.head --proof week.proof > friday.signed",
                "exit code 1, and no signature, if it does not continue it",
            ),
            ("cosign monday.head --sign audit.key --first > monday.signed", "the first head, which is taken on trust"),
        ),
    ),
    Command(
        "prove",
        "prove, to somebody with only a head, that something was in the store or that nothing was rewritten",
        _prove_arguments,
        _prove,
        (
            (
                'prove "On tea" --world Shelf --with-text --out tea.proof',
                "this version is in that world, with this text",
            ),
            ("prove 3fa9c2d1 --ingested 12 --head monday.head", "as of commit 12, for a holder of that head"),
            ("prove --consistency 12 40", "the log of 40 commits begins with the log of 12"),
        ),
    ),
    Command(
        "check-proof",
        "check a proof with only a head; no store is opened",
        _check_arguments,
        _check_proof,
        (
            ("check-proof tea.proof --head monday.head --key ada.pub", "exit code 1 if it does not hold"),
            ("check-proof grown.proof --head monday.head --head friday.head", "a proof of consistency, at both ends"),
        ),
    ),
)
