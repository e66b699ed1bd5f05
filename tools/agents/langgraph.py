"""A LangGraph store: values under namespaces and keys, with their history.

A namespace is a world inside the world of its parent namespace; an item is a world inside it with its value as JSON.
Putting a value again is a revision and deleting an item retires it, so views, `history` and `diff` show earlier values.
Search is the engine's recall and needs no index configuration.
"""

from __future__ import annotations

import asyncio
import threading
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from typing import Any, Final, NamedTuple

import msgspec
from langgraph.store import base

from worlddb import TRUST_LEVELS, Conditions, Database, InputError, Recall, UnavailableError, View, World, checked_text
from worlddb.plain_text import shown
from worlddb.tools.agents.langgraph_items import (
    ITEM,
    NAMESPACE,
    ROOT,
    Directory,
    ItemReads,
    Namespace,
    NamespaceWorlds,
    Vectors,
    find_named,
    value_of,
)
from worlddb.tools.mcp import tool_results
from worlddb.tools.mcp.answer_notes import ResultList, recall_notes

_INDEX: Final = "index"
"""Field of an item's source with the ``index`` argument of its put."""
_MAX_READ: Final = 10_000
"""Items that one search reads at most."""
_MAX_NUMBER: Final = 2**31
_MIN_HITS: Final = 32
"""The least number of hits to recall at first, since some are no items."""
_VISIBLE_CATEGORIES: Final = "LNPS"
"""First letters of Unicode's categories of visible characters: letters, numbers, punctuation, symbols."""
_BLANK_LETTERS: Final = "\u115f\u1160\u3164\uffa0"
"""Letters that are blank all the same."""
_REMEDY: Final = "Give a mapping of what JSON can hold: text, finite numbers, true, false, null, lists and mappings"


class WorldDBStore(base.BaseStore):
    """A :class:`langgraph.store.base.BaseStore` over an open database, in a world of its own.

    The list that a search with a query returns has ``notes``: what may have been missed, and why. ``world`` contains
    everything (default: the root), and no answer depends on anything outside of it. Each batch of operations writes one
    commit and reads the state before it; concurrent calls of several tasks form one batch.

    ``ttl`` is LangGraph's ``TTLConfig``. An item with a time to live is hidden once that has passed, and a sweep
    retires it. That it was read is recorded with what else was read within a second, and when the database is closed.

    A question is answered by recall, from every value but those that were put with ``index=False``. With ``index``
    (``embed``, ``dims`` and ``fields``, as LangGraph's own stores take it) it is answered by the cosine to the fields
    that the store or the put names, and the score is that cosine; the vectors are kept in memory.

    Each item has, beside what every store's has, ``rests_on``, ``rests_on_more``, ``stale`` and ``trust``, as the
    answers of :func:`worlddb.tools.agents.recall`. With ``min_trust`` (``none``, ``low``, ``fair`` or ``full``) a
    search leaves out what is trusted less.
    """

    supports_ttl = True

    def __init__(
        self,
        db: Database,
        *,
        world: Any = None,
        min_trust: str | None = None,
        index: Mapping[str, Any] | None = None,
        ttl: base.TTLConfig | None = None,
    ) -> None:
        if min_trust is not None and checked_text(min_trust, "min_trust", 80) not in TRUST_LEVELS:
            raise InputError(f"There is no level of trust {min_trust!r:.80}", f"Give one of: {', '.join(TRUST_LEVELS)}")
        self.db = db
        self._min_trust = min_trust
        self._world = None if world is None else db.view()._reference_to_write(world)
        self.ttl_config = _check_ttl(ttl)
        self._uses = ItemReads(db)
        self._sweeper: _Sweeper | None = None
        self._directory = Directory(db)
        self._vectors = None if index is None else Vectors(index)
        self.index_config = index
        self.embeddings = None if self._vectors is None else self._vectors.embeddings
        self._waiting: dict[asyncio.AbstractEventLoop, list[_PendingBatch]] = {}
        self._serving: dict[asyncio.AbstractEventLoop, asyncio.Task[None]] = {}

    def batch(self, ops: Iterable[base.Op]) -> list[base.Result]:
        """Run several operations in order; all puts make one commit.

        Raises:
            InputError: an operation or a value is none that can be kept.
            RefusedError: a rule of the engine forbids what is put; nothing was written.
        """
        given = [_check_operation(op) for op in ops]
        view = self.db.view()
        if self._uses.is_due(view.valid):
            self._uses.record()
            view = self.db.view()
        # What the rest of the store has may not change an answer, so a store of one world reads nothing else.
        seen = view if self._world is None else self.db.view(world=self._world)
        seen = seen if self._hides_expired else seen.revealing()
        places = self._make_places(seen)
        answers = [self._answer(places, op) for op in given]
        puts = {(op.namespace, op.key): op for op in given if isinstance(op, base.PutOp)}
        if puts:
            self._directory.follow(seen, places.world_of(()))
            self._put_all(self._make_places(view.revealing()), list(puts.values()))
            after = self._make_places(self.db.view(world=self._world))
            self._directory.follow(after.view, after.world_of(()))
        return answers

    async def abatch(self, ops: Iterable[base.Op]) -> list[base.Result]:
        """Run :meth:`batch` on a worker thread, together with concurrent calls of other tasks."""
        loop = asyncio.get_running_loop()
        pending = _PendingBatch([_check_operation(op) for op in ops], loop.create_future())
        self._waiting.setdefault(loop, []).append(pending)
        if loop not in self._serving:
            self._serving[loop] = loop.create_task(self._serve(loop))
        return await pending.answer

    async def _serve(self, loop: asyncio.AbstractEventLoop) -> None:
        """Serve pending batches until there are none left."""
        try:
            # Requests of the same turn of the loop are served together.
            await asyncio.sleep(0)
            while waiting := self._waiting.pop(loop, []):
                for group in _group_without_conflicts(waiting):
                    for pending, answer in await asyncio.to_thread(self._answer_all, group):
                        if pending.answer.done():
                            continue
                        if isinstance(answer, BaseException):
                            pending.answer.set_exception(answer)
                        else:
                            pending.answer.set_result(answer)
        finally:
            del self._serving[loop]

    def _answer_all(self, group: list[_PendingBatch]) -> list[tuple[_PendingBatch, list[base.Result] | Exception]]:
        """Answer several calls as one batch; if that fails, answer each by itself."""
        try:
            answers = iter(self.batch([op for pending in group for op in pending.ops]))
            return [(pending, list(islice(answers, len(pending.ops)))) for pending in group]
        except Exception as error:
            if len(group) == 1:
                return [(group[0], error)]
            return [found for pending in group for found in self._answer_all([pending])]

    # -- times to live

    @property
    def _hides_expired(self) -> bool:
        # A program may set this of its configuration later.
        return self.ttl_config is None or self.ttl_config.get("omit_expired") is not False

    def sweep_ttl(self) -> int:
        """Retire the items whose time to live has passed; return how many. Their past stays."""
        self._uses.record()
        view = self.db.view(world=self._world)
        top = self._make_places(view).world_of(())
        expired = [] if top is None else [world for world in view.expired(top) if world.type == ITEM]
        if not expired:
            return 0
        receipt = self.db.sweep(expired, why="its time to live has passed")
        receipt.raise_if_refused()
        ended = (entry.refs[0] for entry in self.db.log(receipt.seq, receipt.seq) if entry.event == "ended")
        return len({world.ref for world in expired}.intersection(ended)) if receipt.events else 0

    def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> Future[None]:
        """Sweep by a thread every so many minutes, by default as ``ttl`` says; the future ends when that is stopped.

        Raises:
            InputError: no interval is known.
        """
        configured = None if self.ttl_config is None else self.ttl_config.get("sweep_interval_minutes")
        minutes = configured if sweep_interval_minutes is None else sweep_interval_minutes
        if minutes is None:
            raise InputError("The sweep interval is missing", "Give sweep_interval_minutes, here or in ttl")
        if self._sweeper is None or self._sweeper.done.done():
            self._sweeper = _Sweeper(partial(WorldDBStore.sweep_ttl, self), _seconds(minutes))
            self.db.at_close(partial(WorldDBStore.stop_ttl_sweeper, self))
        return self._sweeper.done

    def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:
        """Stop sweeping; return whether it has stopped within so many seconds, or none was under way."""
        return self._sweeper is None or self._sweeper.stop(timeout)

    # -- reading

    def _make_places(self, view: View) -> NamespaceWorlds:
        return NamespaceWorlds(view, self._world, self._directory)

    def _answer(self, places: NamespaceWorlds, op: base.Op) -> base.Result:
        if isinstance(op, base.PutOp):
            return None
        if isinstance(op, base.GetOp):
            found = places.item(op.namespace, op.key)
            if found is not None and op.refresh_ttl:
                self._uses.note(found, places.view.valid)
            return None if found is None else _make_item(places.view, found, op.namespace)
        if isinstance(op, base.SearchOp):
            return self._search(places, op)
        if isinstance(op, base.ListNamespacesOp):
            return self._namespaces(places, op)
        raise InputError(
            f"{type(op).__name__} is not an operation of a store", "Give GetOp, PutOp, SearchOp or ListNamespacesOp"
        )

    def _search(self, at: NamespaceWorlds, op: base.SearchOp) -> ResultList[base.SearchItem]:
        view, inside = at.view, at.world_of(op.namespace_prefix)
        if inside is None:
            return ResultList()
        end = op.offset + op.limit
        answers: list[Recall] = []
        places = dict(self._directory.items(view, at.world_of(()), op.namespace_prefix, hidden=not self._hides_expired))
        given = Conditions.of(op.filter or {}, "filter")
        is_whole = bool(given.wanted) or (self._vectors is not None and bool(op.query))
        fitting: Iterator[tuple[World, float | None]] = (
            each
            for each in self._candidates(view, inside, places, op.query, end, answers, is_whole=is_whole)
            if (value := value_of(each[0])) is not None and given.fit(value)
        )
        if op.query and self._vectors is not None:
            fitting = iter(_sort_by_score(self._vectors, op.query, [world for world, _ in fitting]))
        shown = list(islice(fitting, op.offset, end))
        for world, _ in shown if op.refresh_ttl else ():
            self._uses.note(world, view.valid)
        found = [
            _FoundItemWithProvenance(_make_item(view, world, places[world.ref]), world, score) for world, score in shown
        ]
        return ResultList(
            found, recall_notes(answers[-1:], in_one_world=self._world is not None, remedy="delete what is not true")
        )

    def _candidates(
        self,
        view: View,
        inside: str,
        places: Mapping[str, Namespace],
        query: str | None,
        wanted: int,
        answers: list[Recall],
        *,
        is_whole: bool,
    ) -> Iterator[tuple[World, float | None]]:
        """Yield the items that a search may return, best first; in log order where recall is not asked.

        The answers of recall are appended to ``answers``.
        """
        if not query or self._vectors is not None:
            # Read one by one if the first few are wanted, at once if each has to be looked at.
            items = view.find(type=ITEM, world=inside) if is_whole else (view.get(ref) for ref in places)
            items = (world for world in items if world is not None and world.ref in places)
            yield from ((world, None) for world in items if self._is_trusted(world))
            return
        seen, k = set[str](), min(_MAX_READ, max(_MIN_HITS, wanted))
        while True:
            answers.append(view.recall(query, world=inside, k=k, min_trust=self._min_trust))
            hits = answers[-1].hits
            for hit in hits:
                world = view.get(hit.ref) if hit.ref in places and hit.ref not in seen else None
                seen.add(hit.ref)
                if world is not None and world.source.get(_INDEX) is not False:
                    yield world, hit.score
            if len(hits) < k or k == _MAX_READ:
                return
            # A filter passes few hits, so ask for more.
            k = min(_MAX_READ, 8 * k)

    def _is_trusted(self, world: World) -> bool:
        """Return whether an item is trusted as far as a search asks for; of what nothing is said is."""
        if self._min_trust is None or world.trust is None:
            return True
        return TRUST_LEVELS.index(world.trust) >= TRUST_LEVELS.index(self._min_trust)

    def _namespaces(self, places: NamespaceWorlds, op: base.ListNamespacesOp) -> list[Namespace]:
        paths = self._directory.namespaces(places.view, places.world_of(()), hidden=not self._hides_expired)
        fitting = {
            path[: op.max_depth] if op.max_depth is not None else path
            for path in paths
            if all(_matches(path, condition) for condition in op.match_conditions or ())
        }
        return sorted(fitting)[op.offset : op.offset + op.limit]

    # -- writing

    def _put_all(self, places: NamespaceWorlds, puts: list[base.PutOp]) -> None:
        """Write all puts in one commit.

        One more commit follows for items whose key was used by worlds that ended and were erased since: they could not
        be counted; and one for items of an earlier release in namespaces that were erased.
        """
        skipped = 0
        while puts:
            worlds: dict[Namespace, Any] = {}
            with self.db.batch() as tx:
                made = [(op, self._put(tx, places, op, skipped, worlds)) for op in puts]
            lost = {ref for note in tx.receipt.notes if note.code == "not_revived" for ref in note.refs}
            new = [(op, tx.receipt.refs[item.position]) for op, item in made if item is not None]
            puts = [op for op, ref in new if ref in lost]
            skipped += 1
            self._move_to_earlier(places, [(op, ref) for op, ref in new if ref not in lost])
        try:
            self.db.embed()
        except UnavailableError:
            pass

    def _move_to_earlier(self, places: NamespaceWorlds, new: list[tuple[base.PutOp, str]]) -> None:
        """Put into earlier items what was put into new ones beside them.

        An erased namespace is not seen before it is made again, nor are the items in it; those of an earlier release
        have other keys.
        """
        unseen = [(op, ref) for op, ref in new if places.world_of(op.namespace) is None]
        after = self._make_places(self.db.view()) if unseen else places
        twice = [(op, ref, found) for op, ref in unseen if (found := after.item(op.namespace, op.key))]
        twice = [(op, ref, found) for op, ref, found in twice if found.ref != ref]
        if twice:
            with self.db.batch() as tx:
                for op, ref, found in twice:
                    tx.retire(ref)
                    tx.revise(found.ref, content=_encode_value(op.value or {}))

    def _put(self, tx: Any, places: NamespaceWorlds, op: base.PutOp, skipped: int, worlds: dict[Namespace, Any]) -> Any:
        """Write one operation; returns the item if it is new. ``worlds``: those of namespaces that the batch met."""
        earlier = places.items_of_key(op.namespace, op.key)
        present = places.item(op.namespace, op.key) if earlier else None
        if op.value is None:
            if present is not None:
                tx.retire(present.ref)
            return None
        content = _encode_value(op.value)
        source: dict[str, Any] = {"channel": ROOT}
        if op.index is not None:
            source[_INDEX] = op.index
        if present is not None:
            if present.content != content or present.source.get(_INDEX) != op.index:
                tx.revise(present.ref, content=content, source=source)
            if op.ttl is not None:
                tx.expire(present.ref, ttl=_seconds(op.ttl))
            elif present.expires_at is not None:
                tx.unexpire(present.ref)
            return None
        if op.namespace not in worlds:
            worlds[op.namespace] = places.world_of(op.namespace) or self._make_namespace(tx, places, op.namespace)
        inside = worlds[op.namespace]
        # The namespace is a list of its own, so that no key of a namespace is one of an item.
        # A deleted item has ended for good, so its key begins a new one.
        key = _make_key(self._world, list(op.namespace), op.key, str(len(earlier) + skipped))
        # An erased item comes back only with the value that the program writes now.
        return tx.create(
            ITEM,
            op.key,
            content=content,
            key=key,
            key_within=inside,
            world=inside,
            resolve=False,
            source=source,
            revive=True,
            ttl=None if op.ttl is None else _seconds(op.ttl),
        )

    def _make_namespace(self, tx: Any, places: NamespaceWorlds, namespace: Namespace) -> Any:
        """Return the world of a namespace; keyed, so that each is created once in the one around it.

        One that was moved elsewhere is left alone there.
        """
        container, is_ambiguous = self._world, False
        for depth, name in enumerate((ROOT, *namespace)):
            path = namespace[:depth]
            is_ambiguous = is_ambiguous or self._may_be_item_key(places, path)
            known = places.world_of(path)
            # One that has ended, or does not hold now, is left as it is, and its name begins another one.
            around = container is None or isinstance(container, str)
            ended = (
                len(find_named(places.view, name, NAMESPACE, container, ended=True)) if known is None and around else 0
            )
            key = _make_key(self._world, list(path)) if is_ambiguous else _make_key(self._world, *path)
            container = known or tx.create(
                NAMESPACE,
                name,
                key=_make_key(self._world, list(path), ended) if ended else key,
                key_within=container,
                world=container,
                resolve=False,
                source={"channel": ROOT},
                revive=True,
            )
        return container

    def _may_be_item_key(self, places: NamespaceWorlds, path: Namespace) -> bool:
        """Return whether an item of an earlier release may hold a namespace's key.

        Its key was its namespace, its own key and a number, as if all of them were names.
        """
        if len(path) < 2 or not path[-1].isdecimal():
            return False
        return bool(places.items_of_key(path[:-2], path[-2]))


class AsyncWorldDBStore(WorldDBStore):
    """The same, with the calls that sweep to be awaited, as LangGraph's other async stores have them."""

    async def sweep_ttl(self) -> int:  # type: ignore[override]
        """Retire the items whose time to live has passed, in a thread; return how many."""
        return await asyncio.to_thread(super().sweep_ttl)

    async def start_ttl_sweeper(  # type: ignore[override]
        self, sweep_interval_minutes: float | None = None
    ) -> Future[None]:
        """Begin to sweep by a thread; see :meth:`WorldDBStore.start_ttl_sweeper`."""
        return super().start_ttl_sweeper(sweep_interval_minutes)

    async def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:  # type: ignore[override]
        """Stop sweeping; see :meth:`WorldDBStore.stop_ttl_sweeper`."""
        return await asyncio.to_thread(super().stop_ttl_sweeper, timeout)


class _Sweeper:
    """A thread that calls something every so many seconds, until it is stopped."""

    def __init__(self, sweep: Callable[[], int], seconds: float) -> None:
        self.done: Future[None] = Future()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(sweep, seconds), name="worlddb-ttl", daemon=True)
        self._thread.start()

    def _run(self, sweep: Callable[[], int], seconds: float) -> None:
        try:
            while not self._stopped.wait(seconds):
                # A store that is busy is swept the next time.
                with suppress(UnavailableError):
                    sweep()
            self.done.set_result(None)
        except BaseException as error:
            self.done.set_exception(error)

    def stop(self, timeout: float | None) -> bool:
        self._stopped.set()
        self._thread.join(timeout)
        return not self._thread.is_alive()


def _check_ttl(given: base.TTLConfig | None) -> base.TTLConfig | None:
    """Check a TTL configuration: refuse unknown settings and invalid times."""
    if given is None:
        return None
    unknown = [name for name in given if name not in base.TTLConfig.__annotations__]
    if unknown:
        raise InputError(
            f"ttl has {shown(unknown[0])}, which is not a setting",
            f"Give some of: {', '.join(base.TTLConfig.__annotations__)}",
        )
    for minutes in (given.get("default_ttl"), given.get("sweep_interval_minutes")):
        if minutes is not None:
            _seconds(minutes)
    return given


def _seconds(minutes: Any) -> float:
    """Convert minutes to seconds.

    Raises:
        InputError: it is no number, or not more than 0.
    """
    if isinstance(minutes, bool) or not isinstance(minutes, int | float) or not 0 < minutes < float("inf"):
        raise InputError(f"{shown(minutes)} is not a number of minutes", "Give a number, more than 0")
    return minutes * 60


class _NamespaceError(InputError, base.InvalidNamespaceError):
    """An invalid namespace; also LangGraph's own type of error."""


def _check_operation(op: base.Op) -> base.Op:
    """Validate an operation, and return it with its namespaces as tuples.

    Raises:
        InputError: it has a name, a namespace or a filter that can be none.
    """
    if isinstance(op, base.PutOp | base.GetOp):
        op = op._replace(namespace=_check_namespace(op.namespace))
        if not isinstance(op.key, str):
            raise InputError(f"A key is {type(op.key).__name__}, not text", "Give it as str")
        if isinstance(op, base.PutOp):
            _check_names(*op.namespace, op.key)
    elif isinstance(op, base.SearchOp):
        op = op._replace(namespace_prefix=_check_namespace(op.namespace_prefix))
        _check_numbers(limit=op.limit, offset=op.offset)
        Conditions.of(op.filter or {}, "filter")
        _encode_value({name: _without_bounds(wanted) for name, wanted in (op.filter or {}).items()})
    elif isinstance(op, base.ListNamespacesOp):
        _check_numbers(limit=op.limit, offset=op.offset, max_depth=0 if op.max_depth is None else op.max_depth)
        given: tuple[Any, ...] = tuple(op.match_conditions or ())
        # LangGraph's own tests give a text where a path of one name is meant.
        paths = ((each, (each.path,) if isinstance(each.path, str) else each.path) for each in given)
        op = op._replace(match_conditions=tuple(each._replace(path=_check_namespace(path)) for each, path in paths))
    return op


def _check_numbers(**given: Any) -> None:
    for name, number in given.items():
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= _MAX_NUMBER:
            raise InputError(f"{name} is {shown(number)}", "Give a whole number, 0 or more")


def _check_namespace(given: Any) -> Namespace:
    """Return a namespace as LangGraph's rules have it.

    Raises:
        InputError: it is no sequence of names, or a name is empty or has a dot or NUL.
    """
    labels = tuple(given) if isinstance(given, list | tuple) else None
    if labels is None or not all(isinstance(each, str) and each and not {".", "\0"} & set(each) for each in labels):
        raise _NamespaceError(
            f"{shown(given)} is not a namespace", "Give a tuple of texts, none of them empty or with a dot or NUL"
        )
    return labels


def _without_bounds(wanted: Any) -> Any:
    """Return a condition of a filter without the numbers that it compares with: any will do, infinity too."""
    if not isinstance(wanted, Mapping) or not all(str(name).startswith("$") for name in wanted):
        return wanted
    return {name: None if isinstance(bound, int | float) else bound for name, bound in wanted.items()}


def _check_names(*names: str) -> None:
    """Refuse names without any visible character."""
    for name in names:
        if not any(
            unicodedata.category(each)[0] in _VISIBLE_CATEGORIES and each not in _BLANK_LETTERS for each in name
        ):
            raise InputError(
                f"{name!r:.80} cannot be a key or a namespace: it has no visible characters", "Use visible characters"
            )


def _make_key(*parts: str | list[str] | int | None) -> str:
    return msgspec.json.encode([ROOT, *parts]).decode()


def _encode_value(value: Mapping[str, Any]) -> str:
    """Encode a value as JSON; refuse one that JSON would change."""
    if not isinstance(value, Mapping):
        raise InputError(f"A value is {type(value).__name__}, not a mapping", _REMEDY)
    try:
        encoded = msgspec.json.encode(value, order="deterministic").decode()
        changed = _find_change(value, msgspec.json.decode(encoded))
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"A value cannot be kept: {error}", _REMEDY) from None
    if changed is not None:
        raise InputError(f"A value cannot be kept: {changed}", _REMEDY)
    return encoded


def _find_change(given: Any, kept: Any, at: str = "value") -> str | None:
    """Name the first part of a value that JSON does not hold; None if it holds all of it."""
    if isinstance(given, Mapping) and isinstance(kept, dict):
        return next((found for key in given if (found := _find_change(given[key], kept.get(key), f"{at}.{key}"))), None)
    if isinstance(given, list | tuple) and isinstance(kept, list):
        pairs = enumerate(zip(given, kept, strict=True))
        return next((found for n, pair in pairs if (found := _find_change(*pair, f"{at}[{n}]"))), None)
    return (
        None
        if isinstance(given, type(kept)) and given == kept
        else f"{at:.200} is {given!r:.80} ({type(given).__name__})"
    )


class _ItemWithProvenance(base.Item):
    """An item that says what it rests on."""

    __slots__ = ("rests_on", "rests_on_more", "stale", "trust")

    def __reduce__(self) -> Any:
        return _restore_item, (base.Item, self.dict())


class _FoundItemWithProvenance(base.SearchItem):
    """A found item that says what it rests on."""

    __slots__ = ("rests_on", "rests_on_more", "stale", "trust")

    def __init__(self, item: base.Item, world: World, score: float | None) -> None:
        super().__init__(item.namespace, item.key, item.value, item.created_at, item.updated_at, score)
        _set_provenance(self, world)

    def __reduce__(self) -> Any:
        return _restore_item, (base.SearchItem, self.dict())


for _own, _plain_kind in ((_ItemWithProvenance, base.Item), (_FoundItemWithProvenance, base.SearchItem)):
    # A checkpoint keeps an item by the name of its class; by that of every store's item it can be read anywhere.
    _own.__module__, _own.__name__ = _plain_kind.__module__, _plain_kind.__name__


def _restore_item(kind: type[base.Item], fields: dict[str, Any]) -> base.Item:
    return kind(**fields)


def _set_provenance(item: Any, world: World) -> None:
    """Write onto an item what its world rests on, as the functions for agents say it."""
    for name, value in tool_results.provenance_fields(world).items():
        setattr(item, name, msgspec.to_builtins(value))


def _make_item(view: View, world: World, namespace: Namespace) -> base.Item:
    first, *_, last = [version.ingested_at for version in view.history(world.ref)] * 2
    item = _ItemWithProvenance(
        value=value_of(world) or {},
        key=world.name,
        namespace=namespace,
        created_at=_to_datetime(first),
        updated_at=_to_datetime(last),
    )
    _set_provenance(item, world)
    return item


def _to_datetime(micros: int) -> datetime:
    return datetime.fromtimestamp(micros / 1_000_000, tz=UTC)


def _sort_by_score(vectors: Vectors, query: str, worlds: list[World]) -> list[tuple[World, float | None]]:
    """Return items by their cosine to a question, the best first; what is not compared comes last, without a score."""
    scores = vectors.scores(query, [(world, world.source.get(_INDEX)) for world in worlds])
    pairs = zip(worlds, scores, strict=True)
    return sorted(pairs, key=lambda each: (each[1] is None, -(each[1] or 0.0)))


class _PendingBatch(NamedTuple):
    """The operations of one call, and the future of its answer."""

    ops: list[base.Op]
    answer: asyncio.Future[list[base.Result]]


def _group_without_conflicts(waiting: list[_PendingBatch]) -> Iterator[list[_PendingBatch]]:
    """Yield groups of calls in which no two put the same item, since one commit keeps only the last put."""
    group: list[_PendingBatch] = []
    group_puts: set[tuple[Namespace, str]] = set()
    for pending in waiting:
        puts = {(op.namespace, op.key) for op in pending.ops if isinstance(op, base.PutOp)}
        if puts & group_puts:
            yield group
            group, group_puts = [], set()
        group.append(pending)
        group_puts |= puts
    if group:
        yield group


def _matches(path: Namespace, condition: base.MatchCondition) -> bool:
    """Return whether a namespace has the given prefix or suffix; ``*`` stands for any one name."""
    wanted = tuple(condition.path)
    part = path[: len(wanted)] if condition.match_type == "prefix" else path[len(path) - len(wanted) :]
    return len(path) >= len(wanted) and all(name in ("*", each) for name, each in zip(wanted, part, strict=True))
