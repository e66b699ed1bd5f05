"""In-memory caches of a LangGraph store: the directory of its items, and their vectors.

Both follow the log and can be dropped at any time. The vectors come from the caller's embedding model.
"""

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
import numpy as np
from langgraph.store.base import embed

from worlddb import FOREVER, Database, Entry, InputError, UnknownReference, View, World
from worlddb.plain_text import shown

Namespace = tuple[str, ...]

ROOT: Final = "langgraph"
"""Name of the world of all namespaces."""
NAMESPACE: Final = "Namespace"
ITEM: Final = "Item"
_OF_WORLDS: Final = frozenset(
    ("created", "revised", "closed", "lost", "voided", "ended", "erased", "expires", "pinned")
)
"""Events of which each is about the worlds that it names and about nothing else."""
_OF_OTHERS: Final = frozenset(
    ("space", "embedded", "embedded_through", "bookmarked", "trusted", "tuned", "reclustered", "labelled", "unlabelled")
)
"""Events that leave every item where it is."""
_MAX_WAITED: Final = 1_000_000
"""Microseconds after which reads of items are recorded."""
_FEW_FOLLOWED: Final = 64
"""Commits that are followed to look up one item."""
_MAX_FOLLOWED: Final = 10_000
"""Commits that are followed one by one; after more, everything is read anew."""


class Directory:
    """Which items lie in which namespace of a store, as of the latest view that was asked.

    Listing namespaces and searching without a question read no item but those that they return. What is not plainly
    about one item, such as a move, has everything read anew.
    """

    def __init__(self, db: Database) -> None:
        self._db = db
        self._lock = threading.Lock()
        self._seq = -1
        self._until = 0
        self._paths: dict[str, Namespace] = {}
        self._worlds: dict[Namespace, str | None] = {}
        """The world of each namespace; None if there are several."""
        self._items: dict[str, Namespace] = {}
        self._held: dict[Namespace, dict[str, None]] = {}
        """The items of each namespace, in log order."""
        self._deadlines: dict[str, int] = {}
        """The time from which on each item is hidden."""
        self._hides_namespaces = False
        """True if a deadline may hide a namespace."""

    def items(
        self, view: View, top: str | None, prefix: Namespace = (), *, hidden: bool = False
    ) -> list[tuple[str, Namespace]]:
        """Return the references and namespaces of the items under a prefix, in log order.

        ``top`` is the world of all namespaces, None if there is none yet. ``hidden``: also what a deadline hides.
        """
        with self._lock:
            self._catch_up(view, top)
            depth, deadlines = len(prefix), {} if hidden else self._deadlines
            fitting = [path for path in self._held if path[:depth] == prefix]
            found: Iterable[tuple[str, Namespace]] = self._items.items()
            if len(fitting) <= 1:
                found = ((ref, path) for path in fitting for ref in self._held[path])
            elif depth:
                found = (each for each in found if each[1][:depth] == prefix)
            if not deadlines:
                return list(found)
            return [each for each in found if deadlines.get(each[0], FOREVER) > view.valid]

    def namespaces(self, view: View, top: str | None, *, hidden: bool = False) -> list[Namespace]:
        """Return the namespaces that directly contain items."""
        with self._lock:
            self._catch_up(view, top)
            deadlines = {} if hidden else self._deadlines
            if not deadlines:
                return list(self._held)
            return [
                path
                for path, refs in self._held.items()
                if any(deadlines.get(ref, FOREVER) > view.valid for ref in refs)
            ]

    def world_of(self, view: View, path: Namespace) -> str | None:
        """Return the world of a namespace; None if that is not known without reading everything."""
        with self._lock:
            if self._hides_namespaces or not self._paths or view.valid >= self._until:
                return None
            if 0 <= self._seq < view.seq <= self._seq + _FEW_FOLLOWED:
                is_followed = self._apply(view.revealing(), self._db.log(self._seq + 1, view.seq))
                self._seq = view.seq if is_followed else -1
            return self._worlds.get(path) if self._seq == view.seq else None

    def follow(self, view: View, top: str | None) -> None:
        """Apply new puts if the directory is complete, so that the next read has little to do."""
        with self._lock:
            if top is None or self._seq >= 0:
                self._catch_up(view, top)

    def _catch_up(self, view: View, top: str | None) -> None:
        # What is hidden is kept too: it is no event that a deadline passes.
        view = view.revealing()
        is_near = 0 <= self._seq <= view.seq <= self._seq + _MAX_FOLLOWED and view.valid < self._until
        if top is None:
            self._reset(None)
        elif is_near and not self._paths:
            # There was nothing before.
            self._reset(top)
            entries = (entry for entry in self._db.log(self._seq + 1, view.seq) if entry.refs[:1] != (top,))
            if not self._apply(view, entries):
                self._read_all(view, top)
        elif not is_near or top not in self._paths or not self._apply(view, self._db.log(self._seq + 1, view.seq)):
            self._read_all(view, top)
        self._seq = view.seq

    def _reset(self, top: str | None) -> None:
        """Reset the directory to the world of all namespaces, if there is one."""
        self._paths, self._worlds = ({}, {}) if top is None else ({top: ()}, {(): top})
        self._items, self._held, self._deadlines = {}, {}, {}
        self._until, self._hides_namespaces = FOREVER, False

    def _read_all(self, view: View, top: str) -> None:
        """Read everything again."""
        self._reset(top)
        # A namespace is made before what lies in it, but may have been moved since.
        waiting = view.find(type=NAMESPACE, world=top)
        while waiting:
            left = [world for world in waiting if not self._place(view, world)]
            if len(left) == len(waiting):
                break
            waiting = left
        for world in view.find(type=ITEM, world=top):
            self._place(view, world)

    def _apply(self, view: View, entries: Iterable[Entry]) -> bool:
        """Apply events; return False if everything has to be read again."""
        touched: dict[str, None] = {}
        for entry in entries:
            if entry.event in _OF_WORLDS:
                touched.update(dict.fromkeys(entry.refs))
            elif entry.event == "linked" and len(entry.refs) > 2:
                touched[entry.refs[2]] = None
            elif entry.event not in _OF_OTHERS:
                return False
        if any(ref in self._paths for ref in touched):
            return False
        for ref in touched:
            try:
                world = view.get(ref)
            except UnknownReference:
                world = None
            if world is None or not self._place(view, world):
                self._remove(ref)
        return True

    def _remove(self, ref: str) -> None:
        """Forget an item, if it is one."""
        path = self._items.pop(ref, None)
        if path is not None:
            del self._held[path][ref]
            if not self._held[path]:
                del self._held[path]

    def _place(self, view: View, world: World) -> bool:
        """Note where a namespace or an item lies; False if it lies in no namespace that is known."""
        if world.type not in (NAMESPACE, ITEM):
            return False
        path = next((self._paths[ref] for ref in view.containers(world.ref) if ref in self._paths), None)
        if path is None:
            return False
        self._until = min(self._until, world.valid.end)
        deadline = None if world.pinned else world.expires_at
        if world.type == ITEM:
            if self._items.get(world.ref, path) != path:
                self._remove(world.ref)
            self._items[world.ref] = path
            self._held.setdefault(path, {})[world.ref] = None
            self._deadlines.pop(world.ref, None)
            if deadline is not None:
                self._deadlines[world.ref] = deadline
        else:
            own = (*path, world.name)
            self._hides_namespaces = self._hides_namespaces or deadline is not None
            self._worlds[own] = world.ref if self._worlds.get(own, world.ref) == world.ref else None
            self._paths[world.ref] = own
        return True


class NamespaceWorlds:
    """The worlds of namespaces in one view, each looked up once."""

    def __init__(self, view: View, world: str | None, directory: Directory) -> None:
        """``world`` is the store's own world, None for the root."""
        self.view = view
        self._world = world
        self._directory = directory
        self._found: dict[Namespace, str | None] = {}

    def world_of(self, namespace: Namespace) -> str | None:
        """Return the world of a namespace, or None if nothing was ever put there."""
        if namespace not in self._found:
            self._found[namespace] = self._directory.world_of(self.view, namespace) or self._look_up(namespace)
        return self._found[namespace]

    def _look_up(self, namespace: Namespace) -> str | None:
        around = self.world_of(namespace[:-1]) if namespace else self._world
        if namespace and around is None:
            return None
        found = find_named(self.view, namespace[-1] if namespace else ROOT, NAMESPACE, around)
        return found[0].ref if found else None

    def item(self, namespace: Namespace, key: str) -> World | None:
        """Return an item, or None if there is none."""
        inside = self.world_of(namespace)
        found = [] if inside is None else find_named(self.view, key, ITEM, inside)
        return next((world for world in found if value_of(world) is not None), None)

    def items_of_key(self, namespace: Namespace, key: str) -> list[World]:
        """Return every item of a key, those that ended too."""
        inside = self.world_of(namespace)
        return [] if inside is None else find_named(self.view, key, ITEM, inside, ended=True)


def find_named(view: View, name: str, type_name: str, inside: str | None, *, ended: bool = False) -> list[World]:
    """Return the worlds with exactly this name and type directly inside a world (None: the root).

    With ``ended`` also those that ended, at any depth inside.
    """
    found = view.find(name=name, type=type_name, world=inside, include_superseded=ended)
    return [
        world
        for world in found
        if world.name == name
        and (ended or any(_is_container(view, each, inside) for each in view.containers(world.ref)))
    ]


def _is_container(view: View, ref: str, wanted: str | None) -> bool:
    """Return whether a world is the one that is wanted (None: the root)."""
    if wanted is not None:
        return ref == wanted
    found = view.get(ref)
    return found is not None and found.type == "Root" and not view.containers(ref)


def value_of(world: World) -> dict[str, Any] | None:
    """Return the value of an item; None if another program wrote something else there."""
    try:
        return msgspec.json.decode(world.content, type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError):
        return None


class ItemReads:
    """Reads of items with a time to live, which are recorded many at a time."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._first = FOREVER

    def note(self, world: World, at: int) -> None:
        """Note that an item was read at a time."""
        if world.expires_at is not None:
            self._first = min(self._first, at)
            self._db.refreshed(world, at=at)

    def is_due(self, now: int) -> bool:
        """Return whether the noted reads are due to be recorded."""
        return now - self._first >= _MAX_WAITED

    def record(self) -> None:
        """Record the noted reads."""
        self._first = FOREVER
        self._db.write_refreshes()


class Vectors:
    """The vectors of items by the caller's embedding function, as LangGraph's ``index`` describes it."""

    def __init__(self, index: Any) -> None:
        """``index`` has ``embed``, ``dims``, and ``fields`` if not the whole value is compared.

        ``distance_type`` is ``cosine``, ``inner_product`` or ``l2``, as LangGraph's store for PostgreSQL takes it.

        Raises:
            InputError: it is no such mapping.
        """
        if not isinstance(index, Mapping) or index.get("embed") is None or not isinstance(index.get("dims"), int):
            raise InputError(f"index is {shown(index)}", 'Give {"embed": function, "dims": number, "fields": [...]}')
        self._distance = index.get("distance_type") or "cosine"
        if self._distance not in ("cosine", "inner_product", "l2"):
            raise InputError(f"distance_type is {shown(self._distance)}", "Give cosine, inner_product or l2")
        self._dims = int(index["dims"])
        self._fields = tuple(index.get("fields") or ("$",))
        self.embeddings = embed.ensure_embeddings(index["embed"])
        self._of: dict[tuple[str, str, tuple[str, ...]], Any] = {}
        self._lock = threading.Lock()

    def scores(self, query: str, items: Sequence[tuple[World, Any]]) -> list[float | None]:
        """Return the best score of each item's texts to a question; None for one that is not compared.

        It is the cosine, the inner product, or the distance below 0.

        ``items`` are worlds with the ``index`` of their put: None for the store's fields, False for none.
        """
        with self._lock:
            self._embed(items)
            asked = self._checked([self.embeddings.embed_query(query)])[0]
            return [self._best(asked, world, fields) for world, fields in items]

    def _paths_of(self, fields: Any) -> tuple[str, ...]:
        return () if fields is False else self._fields if fields is None else tuple(fields)

    def _best(self, asked: Any, world: World, fields: Any) -> float | None:
        vectors = self._of.get((world.ref, world.version, self._paths_of(fields)))
        if vectors is None or not len(vectors):
            return None
        near = -np.linalg.norm(vectors - asked, axis=1) if self._distance == "l2" else vectors @ asked
        return float(np.max(near))

    def _embed(self, items: Iterable[tuple[World, Any]]) -> None:
        """Embed the texts that are new, each once; those of earlier versions are forgotten."""
        texts: dict[str, int] = {}
        wanted: dict[tuple[str, str, tuple[str, ...]], list[int]] = {}
        for world, fields in items:
            key = world.ref, world.version, self._paths_of(fields)
            if key not in self._of:
                said = list(_texts(world.content, key[2]))
                wanted[key] = [texts.setdefault(text, len(texts)) for text in said]
        vectors = self._checked(self.embeddings.embed_documents(list(texts)) if texts else [])
        renewed = {ref for ref, _, _ in wanted}
        self._of = {key: each for key, each in self._of.items() if key[0] not in renewed}
        for key, places in wanted.items():
            self._of[key] = vectors[places]

    def _checked(self, vectors: Any) -> Any:
        """Return vectors, of length 1 if the cosine is asked for.

        Raises:
            InputError: they have another dimension, or are none.
        """
        try:
            given = np.asarray(vectors, dtype=np.float64).reshape(len(vectors), -1 if len(vectors) else self._dims)
        except (TypeError, ValueError) as error:
            raise InputError(f"The embedding function returned no vectors: {error}", "Give lists of numbers") from None
        if len(given) and given.shape[1] != self._dims:
            raise InputError(
                f"The embedding function returned {given.shape[1]} numbers, not {self._dims}", "Correct dims of index"
            )
        if self._distance != "cosine":
            return given
        lengths = np.linalg.norm(given, axis=1, keepdims=True)
        return np.divide(given, lengths, out=np.zeros_like(given), where=lengths > 0)


def _texts(content: str, fields: Iterable[str]) -> Iterator[str]:
    value = msgspec.json.decode(content)
    for field in fields:
        yield from embed.get_text_at_path(value, field if field == "$" else embed.tokenize_path(field))
