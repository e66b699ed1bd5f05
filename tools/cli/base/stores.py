"""Opening the store that was named, and finding the moments and worlds that were named."""

from __future__ import annotations

import os
import re
import shlex
from argparse import Namespace
from itertools import islice
from pathlib import Path
from typing import Final, TypedDict

import worlddb
from worlddb import (
    MAX_CHECKPOINT_BYTES,
    AmbiguousReference,
    Database,
    Embedder,
    Embedding,
    InputError,
    ModelUnavailable,
    NotAStore,
    UnknownReference,
    View,
    World,
    embedder_named,
    parse_time,
)
from worlddb.tools.cli.base.arguments import UsageError
from worlddb.tools.cli.base.cli_wording import LOOK_FOR_IT, NAME_A_STORE, NOTHING_THEN
from worlddb.tools.cli.base.output import Output
from worlddb.tools.cli.base.wire import short

DEFAULT_FOLDER: Final = "worlddb-store"
MAX_SEQ_DIGITS: Final = 12
"""A longer number is a time in microseconds; a shorter one is a commit's."""
MAX_KEY_FILE_BYTES: Final = 4096
_TIME: Final = re.compile(r"\s*-?\d{4}-\d\d")
"""Whatever begins so is meant as a time, so that a mistyped one is told as such; no bookmark begins so."""


class When(TypedDict, total=False):
    """A moment on the ingest axis, as ``Database.view`` takes it."""

    seq: int
    ingested: int
    bookmark: str


def folder_of(args: Namespace) -> Path:
    """The store's directory: the one given, else the environment's, else one below the working directory.

    Raises:
        UsageError: the one given is empty, as a variable that was never set leaves it.
    """
    if args.store is not None and not args.store:
        raise UsageError("--store names no directory: it is empty", "Give a directory, or leave --store out")
    return Path(args.store or os.environ.get("WORLDDB_STORE") or DEFAULT_FOLDER)


def embedder_of(args: Namespace) -> Embedder | str:
    """The embedding model that was named, on the line or in the environment; ``auto`` if none was."""
    name = getattr(args, "embedder", None) or os.environ.get("WORLDDB_EMBEDDER") or "auto"
    return name if name == "auto" else embedder_named(name, key=os.environ.get("WORLDDB_EMBEDDER_KEY"))


def repeated(args: Namespace) -> str:
    """How a command that is proposed to a person begins, so that it is about the same store."""
    return "worlddb" if args.store is None else f"worlddb --store {shlex.quote(args.store)}"


def existing(args: Namespace, *, author: str = "local") -> Database:
    """The store, which must be there.

    Raises:
        NotAStore: it is not; nothing is made.
    """
    folder = there(folder_of(args), NAME_A_STORE)
    return worlddb.open(folder, author=author, create=False, embedder=embedder_of(args))


def existing_at(folder: Path) -> Database:
    """The store in a directory, which must be there."""
    return worlddb.open(there(folder), create=False)


def there(folder: Path, remedy: str = "Check the path") -> Path:
    """The directory, or a bundle, itself.

    Raises:
        NotAStore: there is none, and what a person can do about it.
    """
    if not folder.exists():
        raise NotAStore(f"There is no store at {folder}", remedy)
    return folder


def embed_new(db: Database, out: Output) -> Embedding | None:
    """Give the new texts their vectors; ``None`` without a model, when they are found by their words alone."""
    try:
        return db.embed()
    except ModelUnavailable as error:
        out.hint(f"note: texts are found by their words, not by their meaning: {error}")
        return None


def when(text: str | None) -> When:
    """A number of up to 12 digits is a commit's; else it is a time, or the name of a bookmark."""
    if text is None:
        return {}
    digits = text.strip()
    if digits.isascii() and digits.isdigit():
        return {"seq": int(digits)} if len(digits) <= MAX_SEQ_DIGITS else {"ingested": int(digits)}
    return {"ingested": parse_time(text, "the moment")} if _TIME.match(text) else {"bookmark": text}


def view_of(db: Database, args: Namespace) -> View:
    """The view that ``--valid``, ``--ingested``, ``--confine`` and ``--unify`` ask for."""
    unify = getattr(args, "unify", False) is True
    view = db.view(valid=getattr(args, "valid", None), unify=unify, **when(args.ingested))
    return view if args.confine is None else view.confined(world_of(view, args.confine))


class Spans(TypedDict):
    """Spans of valid time, as the reads of a view take them."""

    during: tuple[str | None, str | None] | None
    overlaps: tuple[str | None, str | None] | None


def spans_of(args: Namespace) -> Spans:
    """What ``--during`` and ``--overlaps`` ask for."""
    return {"during": args.during, "overlaps": args.overlaps}


def top_of(db: Database, view: View) -> str:
    """The reference of the outermost world that a view sees: the root, unless it is confined."""
    return view.world or str(next(db.log(1, 1)).data["root"])


def world_of(view: View, text: str) -> str:
    """The full reference of the world that a person named: by reference or prefix, else by its exact name or alias.

    Names are compared case-folded. Worlds that are valid in the view come before those that are not.

    Raises:
        UnknownReference: nothing in the view is called so.
        AmbiguousReference: several worlds are; they are listed.
    """
    try:
        return view.reference_of(text)
    except UnknownReference as error:
        for hint in why_empty(view):
            raise UnknownReference(error.message, hint) from None
        raise UnknownReference(error.message, LOOK_FOR_IT) from None
    except AmbiguousReference as error:
        candidates = [view.get(ref, include_superseded=True) for ref in error.details["candidates"]]
        listed = "".join(f"\n    {described(view, world)}" for world in candidates if world is not None)
        raise AmbiguousReference(f"{text!r} fits several worlds:{listed}", error.remedy, **error.details) from None


def worlds_of(view: View, text: str) -> list[World]:
    """As :func:`world_of`, but of a name all worlds that have it, also those that are valid no more.

    Raises:
        UnknownReference: nothing in the view is called so.
        AmbiguousReference: it is the beginning of several references.
    """
    digits = text.strip().lower()
    try:
        ref = world_of(view, text)
    except AmbiguousReference as error:
        if any(candidate.startswith(digits) for candidate in error.details["candidates"]):
            raise
        return view.find(name=text, include_superseded=True)
    only = view.get(ref, include_superseded=True)
    named = [] if ref.startswith(digits) else view.find(name=text, include_superseded=True)
    return list({world.ref: world for world in (only, *named) if world is not None}.values())


def why_empty(view: View) -> tuple[str, ...]:
    """A hint for a person to whom an early view showed nothing; empty for any other view."""
    return () if view.seq else (NOTHING_THEN,)


def world_or_edge(view: View, text: str) -> str:
    """As :func:`world_of`, or else the full reference of an edge.

    Raises:
        UnknownReference: it is neither.
    """
    try:
        return world_of(view, text)
    except UnknownReference:
        try:
            return view.edge(text).ref
        except InputError:
            pass
        raise


def name_of(view: View, ref: str) -> str:
    """What a person calls a world: its name, else the beginning of its text, else its reference."""
    world = view.get(ref, include_superseded=True)
    return short(ref) if world is None else label(world)


def label(world: World) -> str:
    """As :func:`name_of`, of a world that was read."""
    text = world.name or " ".join(world.content[:200].split())
    return (text if len(text) <= 48 else text[:47].rstrip() + "…") or short(world.ref)


def path_of(view: View, ref: str) -> list[str]:
    """Names of the worlds around one, outermost first, without the root; through the first container each."""
    names: list[str] = []
    seen = {ref}
    while above := list(islice((ref for ref in view.containers(ref) if ref not in seen), 1)):
        ref = above[0]
        seen.add(ref)
        names.append(name_of(view, ref))
    return names[:-1][::-1]


def described(view: View, world: World) -> str:
    where = " / ".join(path_of(view, world.ref))
    return f"{short(world.ref)}  {world.type}  {label(world)}" + (f"  in {where}" if where else "")


# -- keys and heads in files


def given_keys(texts: list[str]) -> list[str]:
    """Verifier keys as they were typed, or as the files that were named hold them."""
    return [text if not Path(text).is_file() else key_in(Path(text)) for text in texts]


def read_file(path: str, largest: int) -> bytes:
    """What a file holds, as far as it is not larger than what is wanted; the reader of it then says so."""
    with Path(path).open("rb") as file:
        return file.read(largest + 1)


def key_in(path: Path) -> str:
    stored = read_file(str(path), MAX_KEY_FILE_BYTES)
    try:
        return stored.decode()
    except UnicodeDecodeError:
        raise InputError(f"{path} holds no key", "Name the file that `worlddb keygen` wrote") from None


def head_given(text: str) -> int | bytes:
    """A number of commits, or the head in a file."""
    if text.isascii() and text.isdigit() and len(text) <= MAX_SEQ_DIGITS:
        return int(text)
    return read_file(text, MAX_CHECKPOINT_BYTES)
