"""Keep a store sound and its vectors complete.

``worlddb verify``, ``doctor``, ``rebuild``, ``upgrade``, ``backup``, ``restore``, ``embed``, ``reembed``, ``spaces``.
"""

import os
import shlex
from pathlib import Path
from typing import Any, Final

import msgspec

import worlddb
from worlddb import (
    EMBEDDERS,
    MAX_CHECKPOINT_BYTES,
    DamagedStore,
    Database,
    Diagnosis,
    Reembedding,
    Symptom,
    Verified,
    WorldDBError,
    embedder_named,
)
from worlddb.tools.cli.base import (
    BUSY,
    DONE,
    NO,
    Command,
    Namespace,
    Output,
    Page,
    Parser,
    Span,
    arguments,
    stores,
    wire,
)
from worlddb.tools.mcp import access_keys

_VERDICTS: Final = {
    "untrusted": "the head cannot be trusted, so it proves nothing about the log",
    "other_store": "the head belongs to another store, so it proves nothing about this one",
    "shorter": "the log is shorter than the head says: commits at its end are gone",
    "rewritten": "the log was rewritten: it does not begin with the log of the head",
}
"""Verdicts on a log and a head that do not fit, apart from damage of a single commit."""

_UNFINISHED: Final = "erasure is not finished"
"""How a finding says that an erasure was broken off, with the command that finishes it: damage it is none."""


def _verify_arguments(parser: Parser) -> None:
    parser.add_argument(
        "--deep",
        action="store_true",
        help="also replay the log and compare every table and every entry of an index with the result",
    )
    parser.add_argument(
        "--head", metavar="FILE", help="a checkpoint that was stored elsewhere: the log must begin with it"
    )
    arguments.add_keys(parser)


def _verify(args: Namespace, out: Output) -> int:
    head = None if args.head is None else stores.read_file(args.head, MAX_CHECKPOINT_BYTES)
    keys = stores.load_keys(args.keys)
    try:
        with stores.open_existing(args) as db, out.steps("Verifying commits") as report:
            found = db.verify(deep=args.deep, head=head, keys=keys, progress=report)
    except DamagedStore as error:
        # A store too damaged to open or to read to its end is an answer, too.
        return _write_unreadable(out, error)
    document = {
        "ok": found.ok,
        "commits": found.commits,
        "events": found.events,
        "blobs": found.blobs,
        "first_bad_seq": found.first_bad_seq,
        "findings": [{"seq": finding.seq, "problem": finding.problem} for finding in found.findings],
        "deep": args.deep,
        "head": args.head,
        "head_verdict": found.head,
        "keys": keys,
        "supposes": found.supposes or None,
        "remarks": list(found.remarks),
    }

    def write(page: Page) -> None:
        counts = ", ".join(
            wire.counted(number, what)
            for number, what in ((found.commits, "commit"), (found.events, "event"), (found.blobs, "blob"))
        )
        if found.supposes:
            page.line(("hypothetical", "warn"), f"  {found.supposes}")
        if found.ok:
            page.line(("intact", "good"), f"  {counts}" + (", and every table" if args.deep else ""))
            if head is not None:
                signed = f", which {len(keys)} given keys have signed" if keys else "; its signatures were not checked"
                page.line(f"The log begins with the log of the head {args.head}{signed}.")
            for remark in found.remarks:
                page.line(("note: ", "dim"), remark)
            return
        if all(_UNFINISHED in finding.problem for finding in found.findings) and found.head not in _VERDICTS:
            page.line(("not finished", "warn"), f"  an erasure; nothing is damaged ({counts})")
            for finding in found.findings:
                page.line(f"commit {finding.seq}: {finding.problem}", indent=2)
            return
        bad = _first_bad(found)
        if bad:
            page.line(("damaged", "bad"), f"  the first bad commit is {bad} (of {counts})")
        if found.head in _VERDICTS:
            page.line(("does not hold", "bad"), f"  {_VERDICTS[found.head]} (of {counts})")
        elif not bad:
            page.line(("does not hold", "bad"), f"  but in no single commit (of {counts})")
        for finding in found.findings:
            named = finding.seq and finding.seq <= found.commits and (bad or found.head != "rewritten")
            page.line(f"commit {finding.seq}: {finding.problem}" if named else finding.problem, indent=2)
        if not bad and all("`worlddb rebuild" in finding.problem for finding in found.findings):
            out.hint("Only projections are wrong: rebuild them as shown above, and nothing is lost.")
        elif head is None or bad or found.head in ("rewritten", "shorter"):
            out.hint("Restore a copy from before it was damaged. Commits before the first bad one can be trusted.")

    out.answer(document, write)
    return DONE if found.ok else NO


def _first_bad(found: Verified) -> int:
    """Return the first damaged commit; 0 if only the head or something outside the log is wrong."""
    bad = [finding.seq for finding in found.findings if finding.seq]
    if found.head == "rewritten" and len(bad) == 1:
        return 0
    return min(bad, default=0)


def _write_unreadable(out: Output, error: DamagedStore) -> int:
    seq = error.details.get("seq")
    document: dict[str, Any] = {
        "ok": False,
        "commits": 0,
        "events": 0,
        "first_bad_seq": seq,
        "findings": [{"seq": seq, "problem": error.message}],
    }

    def write(page: Page) -> None:
        page.line(("damaged", "bad"), f"  {error.message}")
        out.hint(error.remedy)

    out.answer(document, write)
    return NO


def _rebuild_arguments(parser: Parser) -> None:
    parser.add_argument("names", metavar="NAME", nargs="*", help="tables, text or vectors (default: all projections)")


def _rebuild(args: Namespace, out: Output) -> int:
    with stores.open_existing(args) as db, out.steps("Rebuilding from the log") as report:
        made = db.rebuild(*args.names, progress=report)
    document = {"rebuilt": list(made.rebuilt), "seconds": round(made.seconds, 6), "root": made.root}

    def write(page: Page) -> None:
        page.line(f"rebuilt {', '.join(made.rebuilt)} in {made.seconds:.2f} s; root {made.root}")

    out.answer(document, write)
    return DONE


def _upgrade_arguments(parser: Parser) -> None:
    parser.add_argument(
        "--backup", metavar="DIR", help="where the backup goes (default: beside the store, STORE.before-upgrade-N)"
    )


def _upgrade(args: Namespace, out: Output) -> int:
    folder = stores.require_existing(stores.folder_of(args))
    with out.steps("Backing up, then deriving the tables") as report:
        made = worlddb.upgrade(folder, backup=args.backup, progress=report)
    listed = [{**each._asdict(), "ingested_at": wire.time(each.ingested_at)} for each in made.listed]
    document = {**made._asdict(), "backup": made.backup or None, "listed": listed}

    def write(page: Page) -> None:
        if not made.backup:
            page.line(("up to date", "good"), f"  its tables have layout {made.after}: there is nothing to upgrade")
            if made.refused:
                out.hint(
                    f"{wire.counted(made.refused, 'record')} beside the log cannot be listed: see `worlddb verify`."
                )
            return
        page.line(("upgraded", "good"), f"  from layout {made.before} to {made.after}; root {made.root}")
        page.line(f"the backup has commits 1 to {made.seq:,}: {made.backup}")
        for each in made.listed:
            told = "; ".join(each.reasons) or "no reason"
            page.line(
                f"listed: {wire.counted(each.texts, 'text')} erased by {each.author} in commit {each.seq:,} of another"
                f" history of this store, {wire.time(each.ingested_at)}: {told}"
            )
        if made.listed:
            out.hint("Nothing proves the listed erasures. They are in the log now; later additions count as damage.")
        out.hint("Delete the backup when you no longer need it: later erasures do not reach it.")

    out.answer(document, write)
    return DONE


COMMANDS = (
    Command(
        "verify",
        "check that nothing was changed behind the engine's back, and name the first bad commit",
        _verify_arguments,
        _verify,
        (
            ("verify", "the chain of commits, every event and every text, and the root"),
            ("verify --deep --json", "also every table, for a program; exit code 1 if anything is wrong"),
            (
                "verify --head monday.head --key witness.pub",
                "also that no commit up to that head was rewritten or lost",
            ),
        ),
    ),
    Command(
        "rebuild",
        "delete projections and derive them from the log again",
        _rebuild_arguments,
        _rebuild,
        (("rebuild", "all of them, with the same root"), ("rebuild text", "only the text index")),
    ),
    Command(
        "upgrade",
        "upgrade a store that an older release wrote, after a backup",
        _upgrade_arguments,
        _upgrade,
        (
            ("upgrade", "with the backup beside the store; does nothing if the store is up to date"),
            ("upgrade --backup backups/before", "with the backup there; run it again after an interruption"),
        ),
    ),
)


def _doctor_arguments(parser: Parser) -> None:
    parser.add_argument("place", metavar="STORE", nargs="?", help="the store's directory, as --store")
    parser.add_argument(
        "--deep",
        action="store_true",
        help="also replay the log and compare every table and every entry of an index with the result",
    )


def _doctor(args: Namespace, out: Output) -> int:
    folder = _doctor_folder(args)
    with out.steps("Examining commits") as report:
        found = worlddb.diagnose(folder, deep=args.deep, progress=report)
    if found.store:
        found = _with_key_file(found)
    document = {
        "ok": found.ok,
        "store": found.store or None,
        "deep": found.deep,
        "symptoms": [symptom._asdict() | {"command": symptom.command or None} for symptom in found.symptoms],
        "checked": list(found.checked),
        "skipped": [{"check": name, "reason": why} for name, why in found.skipped],
    }
    out.answer(document, lambda page: _write_diagnosis(page, out, found))
    return DONE if found.ok else NO


def _with_key_file(found: Diagnosis) -> Diagnosis:
    """Add what is wrong with the file of keys beside the store, which no part of the library reads."""
    file = access_keys.KeyFile(access_keys.default_key_file(Path(found.store)))
    checked = (*found.checked, "key file")
    try:
        file.ring()
    except (WorldDBError, OSError) as error:
        what, remedy = (error.message, error.remedy) if isinstance(error, WorldDBError) else (str(error), "")
        why = "No key of the file opens the store, and `worlddb serve` does not start"
        command = f"ls -la {shlex.quote(str(file.path))}"
        symptom = Symptom("key_file_unusable", True, str(file.path), what, why, remedy, command)
        return found._replace(ok=False, checked=checked, symptoms=(symptom, *found.symptoms))
    return found._replace(checked=checked)


def _doctor_folder(args: Namespace) -> Path | None:
    """Return the named store; None if none was named and the default does not exist."""
    if args.place is not None and args.store is not None:
        raise arguments.UsageError("The store was named twice", "Give it after the command, or with --store")
    if args.place is not None:
        args.store = args.place
    folder = stores.folder_of(args)
    named = args.store is not None or os.environ.get("WORLDDB_STORE")
    return folder if named or folder.exists() else None


def _write_diagnosis(page: Page, out: Output, found: Diagnosis) -> None:
    for symptom in found.symptoms:
        _write_symptom(page, symptom)
    for name, why in found.skipped:
        page.line(("not checked: ", "warn"), f"{name}: {why}")
    wrong = sum(symptom.wrong for symptom in found.symptoms)
    of = f"of {found.store}" if found.store else "of the installation; no store was given, and there is none here"
    checks = f"{wire.counted(len(found.checked), 'check')} {of}"
    if found.ok:
        page.line(("nothing is wrong", "good"), f"  {checks}")
    else:
        page.line((f"{wire.counted(wrong, 'thing')} {'is' if wrong == 1 else 'are'} wrong", "bad"), f"  {checks}")
    if found.store and not found.deep:
        out.hint("Rows of the tables were not compared with the log: --deep does that.")


def _write_symptom(page: Page, symptom: Symptom) -> None:
    label = ("wrong  ", "bad") if symptom.wrong else ("note   ", "warn")
    page.line(label, (symptom.what, "title"))
    rows: list[tuple[str, list[Span]]] = [("where", [symptom.where]), ("why", [symptom.why]), ("do", [symptom.remedy])]
    if symptom.command:
        rows.append(("type", [(symptom.command, "ref")]))
    page.fields(rows, indent=7)


DOCTOR_COMMANDS = (
    Command(
        "doctor",
        "find what is wrong with a store or an installation, why it matters, and the command that repairs it",
        _doctor_arguments,
        _doctor,
        (
            ("doctor", "this installation, and the store; exit code 1 if something is wrong"),
            ("doctor --deep", "also every row of the tables against the log"),
            ("doctor --json", "for a monitor: every finding with its code and the command that repairs it"),
        ),
    ),
)


def _backup_arguments(parser: Parser) -> None:
    parser.add_argument("into", metavar="DIR", help="a new directory, or that of an earlier backup of this store")


def _backup(args: Namespace, out: Output) -> int:
    with stores.open_existing(args) as db, out.steps("Copying commits") as report:
        made = db.backup(args.into, progress=report)
    document = {"seq": made.seq, "root": made.root, "commits": made.commits, "into": args.into}

    def write(page: Page) -> None:
        new = f"{wire.counted(made.commits, 'commit')} copied" if made.commits else "it was up to date"
        page.line((args.into, "good"), f"  has commits 1 to {made.seq:,}; {new}; root {made.root}")
        before = made.seq - made.commits
        if before:
            which = "commit 1 was" if before == 1 else f"commits 1 to {before:,} were"
            page.line(f"{which} there and not read again: `worlddb --store {shlex.quote(args.into)} verify` checks all")
        if not made.scrubbed:
            out.hint("Erased texts may remain in its files, since the copy is in use: run this again when it is not.")

    out.answer(document, write)
    return DONE


def _restore_arguments(parser: Parser) -> None:
    parser.add_argument("backup", metavar="DIR", help="the directory of a backup")
    parser.add_argument("--into", metavar="NEW", required=True, help="a new directory for the store")
    parser.add_argument(
        "--erasures-from", metavar="STORE", help="also apply the later erasures of this store, the original"
    )


def _restore(args: Namespace, out: Output) -> int:
    with out.steps("Restoring commits") as report:
        made = worlddb.restore(
            stores.require_existing(Path(args.backup)), args.into, erasures_of=args.erasures_from, progress=report
        )
    told = "" if args.erasures_from is not None else _UNKNOWN_ERASURES.format(made.seq)
    document = {"seq": made.seq, "root": made.root, "erasures": made.erasures, "into": args.into}
    document["notes"] = [told] if told else []

    def write(page: Page) -> None:
        page.line((args.into, "good"), f"  has commits 1 to {made.seq:,}; root {made.root}")
        if made.erasures:
            were = "was" if made.erasures == 1 else "were"
            page.line(f"{wire.counted(made.erasures, 'later erasure')} {were} applied to it")

    out.answer(document, write)
    if told:
        out.warn(told)
    return DONE


_UNKNOWN_ERASURES: Final = (
    "If anything was erased after commit {:,}, the last one of the backup, it is in it again, since a backup knows of"
    " no later erasure. If the original still exists, restore into another directory with --erasures-from STORE; else"
    " erase again what the receipts of later erasures name"
)


BACKUP_COMMANDS = (
    Command(
        "backup",
        "copy the store into another directory, or bring such a copy up to date",
        _backup_arguments,
        _backup,
        (
            ("backup backups/memory", "the first time all commits, later the new ones; writers may continue"),
            ("backup backups/memory --json", "for a program: the last commit and the root hash"),
        ),
    ),
    Command(
        "restore",
        "restore a store from a backup",
        _restore_arguments,
        _restore,
        (
            ("restore backups/memory --into memory --erasures-from old", "without what the original erased later"),
            ("restore backups/memory --into memory", "every commit and text is checked on the way"),
        ),
    ),
)


# -- vectors and their embedding models


def _embed_arguments(parser: Parser) -> None:
    _add_limit(parser)
    arguments.add_embedder(parser)
    arguments.add_author(parser)


def _add_limit(parser: Parser) -> None:
    parser.add_argument("--limit", metavar="N", type=arguments.count, help="stop after about N texts (default: all)")


def _embed(args: Namespace, out: Output) -> int:
    with stores.open_existing(args, author=args.author) as db:
        with out.progress("Embedding texts") as report:
            counting = None if report is None else lambda done: report(done, None, "")
            done = db.embed(limit=args.limit, progress=counting)
        head = db.head()
    document = {**done._asdict(), "seq": head.seq, "root": head.root}

    def write(page: Page) -> None:
        if done.embedded:
            page.line(f"{wire.counted(done.embedded, 'text')} got vectors in {wire.counted(done.commits, 'commit')}")
        else:
            page.line("every text has vectors already, so nothing was written" if not done.pending else "no text yet")
        if done.pending:
            out.hint(f"{wire.counted(done.pending, 'text')} are left: run the command again.")

    out.answer(document, write)
    return DONE


def _reembed_arguments(parser: Parser) -> None:
    listed = "; ".join(f"{name}: {description}" for name, description in EMBEDDERS.items())
    parser.add_argument("--to", "--model", metavar="NAME", dest="to", help=f"the embedding model to move to. {listed}")
    parser.add_argument(
        "--space",
        metavar="NAME",
        help="the name of its embedding space (default: that of the model, or its newest space)",
    )
    parser.add_argument(
        "--drop", metavar="SPACE", help="drop an embedding space that is no longer in use, and delete its index"
    )
    parser.add_argument("--why", default="", metavar="TEXT", help="the reason for dropping it, stored with it")
    _add_limit(parser)
    arguments.add_author(parser)


def _reembed(args: Namespace, out: Output) -> int:
    if args.to is None and args.drop is None:
        raise arguments.UsageError("No action was given", "Give a model with --to, or a space with --drop")
    with stores.open_existing(args, author=args.author) as db:
        done = None if args.to is None else _moved_document(db, args, out)
        dropped = False
        if args.drop is not None and (done is None or done.in_use):
            receipt = db.drop_space(args.drop, why=args.why)
            receipt.raise_if_refused()
            dropped = True
        head = db.head()
    document = {**({} if done is None else done._asdict()), "dropped": args.drop if dropped else None}
    document |= {"seq": head.seq, "root": head.root}

    def write(page: Page) -> None:
        if done is not None:
            page.line(f"{wire.counted(done.embedded, 'text')} got vectors by {done.model} in the space {done.space!r}")
            if done.in_use:
                page.line(f"It answers now, instead of {done.before!r}" if _has_replaced(done) else "It answers")
            else:
                page.line(
                    f"{done.before!r} still answers questions: {wire.counted(done.pending, 'text')} are left. Run the"
                    " command again."
                )
        if dropped:
            page.line(f"The space {args.drop!r} was dropped")
        elif done is not None and _has_replaced(done):
            out.hint(
                f"To drop {done.before!r}: {stores.command_prefix(args)} reembed --drop {shlex.quote(done.before)}"
            )

    out.answer(document, write)
    return DONE if done is None or done.in_use or args.limit is not None else BUSY


def _moved_document(db: Database, args: Namespace, out: Output) -> Reembedding:
    to = embedder_named(args.to, key=os.environ.get("WORLDDB_EMBEDDER_KEY"))
    with out.progress("Embedding texts") as report:
        counting = None if report is None else lambda done: report(done, None, "")
        return db.reembed(to, space=args.space, limit=args.limit, progress=counting)


def _has_replaced(done: Reembedding) -> bool:
    return done.in_use and done.before not in ("", done.space)


def _spaces_arguments(parser: Parser) -> None:
    pass


def _spaces(args: Namespace, out: Output) -> int:
    with stores.open_existing(args) as db:
        found = db.spaces()

    def write(page: Page) -> None:
        if not found:
            page.line("No text has been embedded yet.")
        for space in found:
            state = "dropped" if space.dropped is not None else "in use" if space.in_use else "kept"
            style = "good" if space.in_use else "dim"
            page.line((f"{state:8}", style), f"{space.name}  {space.model}, {space.dimension} numbers")
            page.line(f"{wire.counted(space.texts, 'text')}, up to commit {space.through}", indent=2)

    out.answer({"spaces": [msgspec.structs.asdict(space) for space in found]}, write)
    return DONE


EMBED_COMMANDS = (
    Command(
        "embed",
        "give vectors to the texts that have none yet, so that they are found by their meaning",
        _embed_arguments,
        _embed,
        (
            ("embed", "all of them; `worlddb ingest` also does it"),
            ("embed --limit 10000", "a part, and the rest another time"),
            ("embed --embedder minilm", "a store's first vectors by another model than the default one"),
        ),
    ),
    Command(
        "reembed",
        "move to another embedding model: the old vectors answer until the new ones are complete",
        _reembed_arguments,
        _reembed,
        (
            ("reembed --to minilm", "a stronger model, offline: pip install 'worlddb[embed]'"),
            (
                "reembed --to endpoint:nomic-embed-text@http://localhost:11434/v1",
                "an endpoint; a key is in $WORLDDB_EMBEDDER_KEY",
            ),
            ("reembed --drop default", "drop vectors that are no longer in use"),
        ),
    ),
    Command(
        "spaces",
        "list the embedding spaces: which model made their vectors, and which one answers",
        _spaces_arguments,
        _spaces,
        (("spaces", "the space in use, the others, and the dropped ones"),),
    ),
)
