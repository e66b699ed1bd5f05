"""Open a command's store, and resolve the moments, worlds, keys and heads that a person names."""

from __future__ import annotations

import os
import re
import shlex
from argparse import Namespace
from collections.abc import Callable, Iterable
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final, TypedDict

import worlddb
from worlddb.plain_text import clipped
from worlddb.tools.cli.base import arguments, output, wire
from worlddb.tools.cli.base.page import Page

DEFAULT_FOLDER: Final = "worlddb-store"
MAX_SEQ_DIGITS: Final = 12
"""A longer number is a time in microseconds; a shorter one is a commit's."""
MAX_KEY_FILE_BYTES: Final = 4096
_KEY: Final = "key:"
"""Prefix that names a world by the key that it was written under."""
_ENTITIES: Final = frozenset({"Entity", "Person"})
"""Types of worlds that stand for a person or a thing, not for a statement about it."""
_NAMESAKES: Final = 8
_LOOK_REMEDY: Final = "Look for it with `worlddb recall --user NAME`"
_TIME: Final = re.compile(r"\s*-?\d{4}-\d\d")
"""The beginning of a time, also of a mistyped one; no bookmark begins so."""


class When(TypedDict, total=False):
    """A moment on the ingest axis, as arguments of ``Database.view``."""

    seq: int
    ingested: int
    bookmark: str


def folder_of(args: Namespace) -> Path:
    """Return the store's directory: --store, else $WORLDDB_STORE, else ./worlddb-store.

    Raises:
        UsageError: --store is empty, as an unset shell variable leaves it.
    """
    if args.store is not None and not args.store:
        raise arguments.UsageError("--store is empty", "Give a directory, or leave --store out")
    return Path(args.store or os.environ.get("WORLDDB_STORE") or DEFAULT_FOLDER)


def embedder_of(args: Namespace) -> worlddb.Embedder | str:
    """Return the embedding model named by an option or the environment, else ``auto``."""
    name = getattr(args, "embedder", None) or os.environ.get("WORLDDB_EMBEDDER") or "auto"
    return name if name == "auto" else worlddb.embedder_named(name, key=os.environ.get("WORLDDB_EMBEDDER_KEY"))


def command_prefix(args: Namespace) -> str:
    """Return the beginning of a suggested command, with the same --store."""
    return "worlddb" if args.store is None else f"worlddb --store {shlex.quote(args.store)}"


def open_existing(args: Namespace, *, author: str = "local") -> worlddb.Database:
    """Open the store, which must exist.

    Raises:
        NotAStore: it does not exist; none is created.
    """
    folder = require_existing(folder_of(args), output.NAME_A_STORE)
    return open_store(args, folder, author=author, create=False, embedder=embedder_of(args))


def open_store(args: Namespace, folder: Path, **given: Any) -> worlddb.Database:
    """Open the store of a command and note it in ``args``, to report its writes if the answer cannot be printed."""
    args.opened = worlddb.open(folder, **given)
    return args.opened  # type: ignore[no-any-return]


def open_existing_at(folder: Path) -> worlddb.Database:
    """Open the store in a directory, which must exist."""
    return worlddb.open(require_existing(folder), create=False)


def require_existing(folder: Path, remedy: str = "Check the path") -> Path:
    """Return the path of a store or a bundle if it exists.

    Raises:
        NotAStore: it does not exist; the error has the given remedy.
    """
    if not folder.exists():
        raise worlddb.NotAStore(f"There is no store at {folder}", remedy)
    return folder


def embed_new(db: worlddb.Database, out: output.Output) -> worlddb.Embedding | None:
    """Embed new texts; return None without a model, and hint that texts are then found by their words alone.

    If the store cannot be written now, as on a full disk, it warns: what was written before is committed, and its
    receipt is still to be printed.
    """
    try:
        return db.embed()
    except worlddb.ModelUnavailable as error:
        out.hint(f"note: texts are found by their words, not by their meaning: {error}")
    except worlddb.UnavailableError as error:
        out.warn(
            f"It is committed, but its texts have no vectors yet: {error.message}. They are found by their words;"
            " `worlddb embed` or the next write adds the vectors once the store can be written."
        )
    return None


def report_run(
    db: worlddb.Database,
    out: output.Output,
    done: worlddb.Consolidated | worlddb.Dreamt | worlddb.Enriched,
    model: Any,
    write: Callable[[Page], None],
    *,
    failed: str,
    counted: Callable[[int], str],
) -> int:
    """Answer with the result of a run of background work and its use of a model; return the exit code.

    ``write`` prints the lines of this kind of work, ``failed`` is the label of a world whose work failed, and
    ``counted`` formats the number of worlds that are left.
    """
    head = db.head()
    model_usage = None if model is None else {"calls": model.calls, "tokens": model.tokens}

    def write_page(page: Page) -> None:
        if done.busy:
            page.line("another process is doing this, so nothing was done")
            return
        write(page)
        for ref, why in done.failed:
            page.line((wire.short(ref) if ref else "model", "ref"), f"  {failed}: {why}")
        if model_usage is not None:
            page.line(f"the model had {model_usage['calls']} calls and used {model_usage['tokens']:,} tokens")
        if done.left:
            out.hint(f"{counted(done.left)} are left: run the command again.")

    out.answer({**done._asdict(), "asked": model_usage, "seq": head.seq, "root": head.root}, write_page)
    return arguments.BUSY if done.busy else arguments.DONE


def parse_moment(text: str | None) -> When:
    """Parse a moment: a number of up to 12 digits is a commit; else it is a time or a bookmark."""
    if text is None:
        return {}
    digits = text.strip()
    if digits.isascii() and digits.isdigit():
        return {"seq": int(digits)} if len(digits) <= MAX_SEQ_DIGITS else {"ingested": int(digits)}
    return {"ingested": worlddb.parse_time(text, "the moment")} if _TIME.match(text) else {"bookmark": text}


def views_of(db: worlddb.Database, args: Namespace) -> list[worlddb.View]:
    """Return the view for ``--valid``, ``--ingested``, ``--confine``, ``--user`` and ``--unify``.

    A user with several worlds, as after the import of a bundle, has a view for each.
    """
    unify = getattr(args, "unify", False) is True
    make_view = partial(db.view, valid=getattr(args, "valid", None), unify=unify, **parse_moment(args.ingested))
    view = make_view()
    if args.user is not None:
        try:
            return [make_view(world=ref) for ref in worlds_of_user(view, args.user)]
        except worlddb.UnknownReference as error:
            raise _known_later_error(db, args, error) from None
    return [view if args.confine is None else make_view(world=resolve_place(view, args.confine))]


def _known_later_error(
    db: worlddb.Database, args: Namespace, error: worlddb.UnknownReference
) -> worlddb.UnknownReference:
    """Return the error of a user who is unknown at a moment; if the store knew of them only later, with that time."""
    if args.ingested is None:
        return error
    try:
        known = min(world.ingested_at for world in db.view().worlds_of_user(args.user))
    except worlddb.InputError:
        return error
    return worlddb.UnknownReference(
        f"The store first knew of the user {args.user!r:.80} at {worlddb.format_time(known)}",
        "Use that time or a later one; --valid TIME shows what was true at an earlier time, as known now",
        ref=args.user[:80],
    )


def view_of(db: worlddb.Database, args: Namespace) -> worlddb.View:
    """Return the one view that the options name; of a user's several worlds the one that has ``args.ref``.

    Raises:
        InputError: the user has several worlds, and ``ref`` does not decide between them.
    """
    views = views_of(db, args)
    named = getattr(args, "ref", None)
    if len(views) > 1 and named is not None:
        matching = [view for view in views if _is_name_in(view, named)]
        views = matching[:1] if len(matching) < 2 else matching
        if not views:
            raise worlddb.UnknownReference(
                f"The user {args.user!r:.80} has no world called {named!r:.200}", _LOOK_REMEDY
            )
    if len(views) > 1:
        which = ", ".join(wire.short(str(view.world)) for view in views)
        raise worlddb.InputError(f"The user {args.user!r:.80} has several worlds: {which}", "Choose one with --confine")
    return views[0]


def _is_name_in(view: worlddb.View, text: str) -> bool:
    try:
        return bool(resolve_world(view, text))
    except worlddb.UnknownReference:
        return False
    except worlddb.AmbiguousReference:
        return True


def worlds_of_user(view: worlddb.View, name: str) -> list[str]:
    """Return the worlds of a user that have not ended.

    Raises:
        UnknownReference: there is no such user.
        InputError: all of the user's worlds have ended.
    """
    known = view.worlds_of_user(name)
    current = [world.ref for world in known if not world.closed]
    if not current:
        ended = max(known, key=lambda world: world.valid.end)
        raise worlddb.InputError(
            f"The world of the user {name!r:.80} ended at {worlddb.format_time(ended.valid.end)}",
            "Give --valid with an earlier time, name that world, or resume it: `worlddb reassert"
            f" {wire.short(ended.ref)}`",
        )
    return current


def world_of_user(view: worlddb.View, name: str) -> str:
    """Return the only world of a user.

    Raises:
        UnknownReference, InputError: there is no such user; the user has several worlds.
    """
    refs = worlds_of_user(view, name)
    if len(refs) > 1:
        first, *others = map(wire.short, refs)
        which = ", ".join((first, *others))
        join = f"`worlddb move REF ... --to {first}` with what `worlddb children {others[0]}` lists"
        raise worlddb.InputError(
            f"The user {name!r:.80} has {len(refs)} worlds: {which}",
            f"Name one of these, or merge them: {join}, then `worlddb retire {others[0]}`",
        )
    return refs[0]


def hint_of_user(view: worlddb.View, text: str | None, ref: str) -> str:
    """Return a hint if a user with another world has the same name as a world; else an empty text."""
    world = None if text is None else view.get(ref, include_superseded=True)
    if world is None or text is None or world.type in ("Scope", "User") or ref.startswith(text.strip().lower()):
        return ""
    try:
        users_worlds = view.worlds_of_user(text)
    except worlddb.InputError:
        return ""
    names = ", ".join(wire.short(each.ref) for each in users_worlds)
    return f"note: {text} is {wire.short(ref)} here, a world of type {world.type}; the user's is {names}: --user"


class Spans(TypedDict):
    """Spans of valid time, as arguments of a view's reads."""

    during: tuple[str | None, str | None] | None
    overlaps: tuple[str | None, str | None] | None


def spans_of(args: Namespace) -> Spans:
    """Return the spans that ``--during`` and ``--overlaps`` name."""
    return {"during": args.during, "overlaps": args.overlaps}


def outermost_world(db: worlddb.Database, view: worlddb.View) -> str:
    """Return the reference of the outermost visible world: the root, unless confined."""
    return view.world or str(next(db.log(1, 1)).data["root"])


def resolve_world(view: worlddb.View, text: str, *, writes: bool = False) -> str:
    """Resolve a world by reference, prefix, exact name or alias; returns its full reference.

    Names are compared case-folded. Worlds valid in the view come before others. ``A/B`` names the world B directly
    inside A, and ``key:K`` the world written under the key K, unless a world has that very name. With ``writes``, names
    inside a user's world are not searched, since the same name may mean something else to another user.

    Raises:
        UnknownReference: nothing in the view has this reference or name.
        AmbiguousReference: several worlds have it; the message lists them.
    """
    try:
        return view._reference_to_write(text) if writes else view.reference_of(text)
    except worlddb.UnknownReference as error:
        if (found := _find_by_key(view, text) or _find_at_path(view, text, writes)) is not None:
            return found
        for ref in error.details.get("candidates", ()):
            inside = view.get(ref, include_superseded=True)
            path = "/".join([*path_of(view, ref), text.strip()])
            told = ref if inside is None else describe(view, inside)
            raise worlddb.UnknownReference(
                f"The only world called {text!r:.80} belongs to a user, and a name alone never finds a user's world:"
                f" {told}",
                f"Give its reference to mean it, or {shlex.quote(path)}; --user selects a user's worlds",
            ) from None
        for hint in hints_if_empty(view):
            raise worlddb.UnknownReference(error.message, hint) from None
        raise worlddb.UnknownReference(error.message, output.LOOK_FOR_IT) from None
    except worlddb.AmbiguousReference as error:
        candidates = [view.get(ref, include_superseded=True) for ref in error.details["candidates"]]
        listed = "".join(f"\n    {describe(view, world)}" for world in candidates if world is not None)
        raise worlddb.AmbiguousReference(
            f"{text!r} fits several worlds:{listed}", error.remedy, **error.details
        ) from None


def resolve_place(view: worlddb.View, text: str) -> str:
    """Resolve a world to ask or to write into; a name finds top-level worlds only.

    A world inside another one, such as the entity of a person that a user mentions, needs its reference or path.

    Raises:
        UnknownReference: nothing in the view has this reference, or this name outside of other worlds.
        AmbiguousReference: several worlds have it; the message lists them.
    """
    try:
        ref = resolve_world(view, text)
    except worlddb.AmbiguousReference as error:
        own = view._top_level_namesakes(text, lambda _: True)
        if len(own) != 1 or any(each.startswith(text.strip().lower()) for each in error.details["candidates"]):
            raise
        return own[0].ref
    inside = next((each for each in view.find(name=text, include_superseded=True) if each.ref == ref), None)
    if inside is None:  # It is no name.
        return ref
    refs = [each.ref for each in view._top_level_namesakes(text, lambda _: True)]
    if not refs:
        raise worlddb.UnknownReference(
            f"The only world called {text!r:.80} lies inside another world: {describe(view, inside)}",
            "Give its reference to mean it; --user, where a command has it, selects a user's worlds",
        )
    return ref if ref in refs else refs[0]


def resolve_entity(view: worlddb.View, text: str) -> tuple[str, list[worlddb.World]]:
    """Resolve a world to read: of several worlds of one name the only entity, returned with the others.

    Raises:
        UnknownReference: nothing in the view has this reference or name.
        AmbiguousReference: several worlds have it, and not exactly one of them is an entity.
    """
    try:
        return resolve_world(view, text), []
    except worlddb.AmbiguousReference as error:
        if any(candidate.startswith(text.strip().lower()) for candidate in error.details["candidates"]):
            raise
        named = view.find(name=text) or view.find(name=text, include_superseded=True)
        entities = [world for world in named if world.type in _ENTITIES]
        if len(entities) != 1:
            raise
        return entities[0].ref, [world for world in named if world.ref != entities[0].ref]


def warn_of_namesakes(args: Namespace, out: output.Output, view: worlddb.View, others: list[worlddb.World]) -> None:
    """Warn that other worlds have the same name as the entity that is shown."""
    if others:
        listed = "".join(f"\n    {describe(view, world)}" for world in others[:_NAMESAKES])
        more = f"\n    and {len(others) - _NAMESAKES:,} more" if len(others) > _NAMESAKES else ""
        out.warn(
            f"note: this is the entity called {args.ref!r}; these have the same name, each with its"
            f" reference:{listed}{more}"
        )


def _find_by_key(view: worlddb.View, text: str) -> str | None:
    """Return the world that ``key:K`` names; None if there is none."""
    key = text.strip().removeprefix(_KEY)
    found = view.keyed(key) if key and text.strip().startswith(_KEY) else None
    return None if found is None else found.ref


def _find_at_path(view: worlddb.View, text: str, writes: bool) -> str | None:
    """Return the world at a path of names from a container down; None if there is none.

    Raises:
        AmbiguousReference: several worlds are there.
    """
    first, *rest = (part.strip() for part in text.split("/"))
    if not rest or not all((first, *rest)):
        return None
    try:
        ref = view._reference_to_write(first) if writes else view.reference_of(first)
    except worlddb.InputError:
        return None
    for part in rest:
        found = view.find(name=part, world=ref) or view.find(name=part, world=ref, include_superseded=True)
        inside = [world for world in found if ref in view.containers(world.ref)]
        if len(inside) > 1:
            listed = "".join(f"\n    {describe(view, world)}" for world in inside)
            raise worlddb.AmbiguousReference(
                f"{text!r} fits several worlds:{listed}",
                "Give the reference of one of them",
                candidates=[world.ref for world in inside],
            )
        if not inside:
            return None
        ref = inside[0].ref
    return ref


def resolve_all(view: worlddb.View, text: str, *, everybodys: bool) -> list[worlddb.World]:
    """Resolve a name to every world that has it, valid or not; with ``everybodys`` also those in users' worlds.

    Raises:
        UnknownReference: nothing in the view has this reference or name.
        AmbiguousReference: it is a prefix of several references.
    """
    digits = text.strip().lower()
    try:
        ref = resolve_world(view, text, writes=not everybodys)
    except worlddb.AmbiguousReference as error:
        if any(candidate.startswith(digits) for candidate in error.details["candidates"]):
            raise
        return view.find(name=text, include_superseded=True)
    resolved = view.get(ref, include_superseded=True)
    named = [] if ref.startswith(digits) else view.find(name=text, include_superseded=True)
    return list({world.ref: world for world in (resolved, *named) if world is not None}.values())


def hints_if_empty(view: worlddb.View) -> tuple[str, ...]:
    """Return a hint for a view before the first commit; empty for any other view."""
    return () if view.seq else (output.NOTHING_THEN,)


def hint_unknown_types(view: worlddb.View, names: Iterable[str], out: output.Output) -> None:
    """Hint at edge types that the view does not know, since an empty answer may come from a misspelled name."""
    known = {name for each in view.edge_types(include_ended=True) for name in (each.name, each.inverse)}
    for name in names:
        if name not in known:
            out.hint(f"The view knows no edge type {name!r:.80}: `worlddb types` lists them.")


def resolve_to_write(view: worlddb.View, text: str) -> str:
    """Resolve a world to write to, or about: a name is not searched inside users' worlds."""
    return resolve_world(view, text, writes=True)


def resolve_world_or_edge(view: worlddb.View, text: str, *, writes: bool = False) -> str:
    """Resolve a world, else an edge; return its full reference.

    Raises:
        UnknownReference: it is neither.
    """
    try:
        return resolve_world(view, text, writes=writes)
    except worlddb.UnknownReference:
        try:
            return view.edge(text).ref
        except worlddb.InputError:
            pass
        raise


def name_of(view: worlddb.View, ref: str) -> str:
    """Return a display name of a world: its name, else its text, else its reference."""
    world = view.get(ref, include_superseded=True)
    return wire.short(ref) if world is None else label(world)


def label(world: worlddb.World) -> str:
    """As :func:`name_of`, for a world that was read."""
    text = world.name or " ".join(world.content[:200].split())
    return clipped(text, 48) or wire.short(world.ref)


def path_of(view: worlddb.View, ref: str) -> list[str]:
    """Return names of the containers of a world, outermost first, without the root.

    Of several containers of one world, the first is followed.
    """
    names: list[str] = []
    seen = {ref}
    while container := list(islice((ref for ref in view.containers(ref) if ref not in seen), 1)):
        ref = container[0]
        seen.add(ref)
        names.append(name_of(view, ref))
    return names[:-1][::-1]


def describe(view: worlddb.View, world: worlddb.World) -> str:
    where = " / ".join(path_of(view, world.ref))
    # An error lists each description on a line of its own.
    line = f"{wire.short(world.ref)}  {world.type}  {label(world)}" + (f"  in {where}" if where else "")
    return line.replace("\n", "\\n")


# -- keys and heads in files


def load_keys(texts: list[str]) -> list[str]:
    """Return verifier keys, typed or read from named files."""
    return [text if not Path(text).is_file() else load_key(Path(text)) for text in texts]


def read_file(path: str, largest: int) -> bytes:
    """Read a file up to one byte more than ``largest``; its reader then refuses it."""
    with Path(path).open("rb") as file:
        return file.read(largest + 1)


def load_key(path: Path) -> str:
    """Read the key in a file that ``worlddb keygen`` wrote."""
    stored = read_file(str(path), MAX_KEY_FILE_BYTES)
    try:
        return stored.decode()
    except UnicodeDecodeError:
        raise worlddb.InputError(f"{path} holds no key", "Give the file that `worlddb keygen` wrote") from None


def parse_head(text: str) -> int | bytes:
    """Return a number of commits, or the head in a file."""
    if text.isascii() and text.isdigit() and len(text) <= MAX_SEQ_DIGITS:
        return int(text)
    return read_file(text, worlddb.MAX_CHECKPOINT_BYTES)
