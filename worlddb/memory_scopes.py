"""Scopes: the world of a user, agent, app or run, found by kind and id, and created by its first write.

The MCP server and :func:`worlddb.memory` share them, so that both find what the other wrote. Also here: how a statement
is written (:func:`write_statement`), which these, REST and the functions for agents share, and what a receipt reveals
inside one world.
"""

import itertools
import re
import unicodedata
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from datetime import timedelta
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar, cast

import msgspec

from worlddb.database import MOST_LOOKS, Database
from worlddb.log.model import errors, limits
from worlddb.log.model.errors import IdempotencyConflict, InputError, RefusedError, UnavailableError, UnknownReference
from worlddb.log.model.times import DAY_MICROSECONDS, FOREVER, TimeLike, format_time, parse_time
from worlddb.plain_text import JOINERS, one_line
from worlddb.projections.indexes import analysis
from worlddb.projections.tables.names import blocks, canonical
from worlddb.query.question.question_dates import begin_named, days_alone, parse_times, tense_of
from worlddb.query.recall.near_claims import MAX_NEAR, ON_NEAR, Near
from worlddb.query.recall.ranking import STEADY
from worlddb.query.records.records import Edge, Hit, Recall, World
from worlddb.query.view.view import View
from worlddb.reconciler.commands.outcome import GUARDED, Note, Receipt

composed: Final = canonical.compose_name
"""A name with each accent composed with its letter, as names are compared."""
_EXTRA_HITS: Final = 8
"""Hits to ask for beyond twice as many, if some hits only have a name."""
_REPEATS_WITHIN: Final = 8
"""Times as many hits as wanted, among which others are looked for in the places of messages in the same words."""
DEFAULT_TYPE: Final = "Fact"
"""The type of a statement for which none was given."""
ROOT: Final = "Root"
SCOPE: Final = "Scope"
ENTRY: Final = "Entity"
CONTAINERS: Final = frozenset(("scope", "user", blocks.SESSION.casefold(), blocks.TURN.casefold()))
"""Types (in any case) of worlds that contain memories or messages and are none themselves."""
_NAME_ONLY: Final = CONTAINERS | {ENTRY.casefold(), blocks.CONVERSATION.casefold()}
"""Types (in any case) of worlds that are mere names if they have no text."""
HOLDERS: Final = (SCOPE, blocks.SESSION)
"""Types of worlds that contain memories and are not memories."""
KINDS: Final = ("user", "agent", "app", "run")
BEGINNING: Final = "0001-01-01"
"""Start of every scope, so that it contains memories of earlier times at those times too."""

FAR: Final = parse_time("9999-12-31T23:59:59.999999Z")
"""A valid time at which every plan has begun."""

_CONFLICT_REASONS: Final = ("changed_meanwhile", "said_meanwhile")

ScopeKey: TypeAlias = tuple[str, str, str, str, str]
"""``mcp``, the served world, the scope's kind and id, and the number of purged scopes of that id.

An imported scope has ``ref:`` and its reference in place of the number, because bundles carry no keys.
"""
_BY_REFERENCE: Final = "ref:"
_NO_SCOPE: Final = ("", "", "", "", "")
"""The parts of a key without a scope, for writes into the whole store."""

Written = TypeVar("Written")


class Label(NamedTuple):
    """The kind and id of a scope."""

    kind: str
    id: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.id}"


def unwritten_note(label: Label) -> str:
    """Return the note on a scope that has no memories yet: a misspelt name, perhaps.

    It must not reveal other users.
    """
    return f"Nothing was written for {one_line(str(label))} before (capitals count)"


_INVISIBLE: Final = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
"""Categories of characters that cannot be seen."""
_WITHOUT_JOINERS: Final = dict.fromkeys(map(ord, JOINERS))


def check_scope_name(name: str, what: str) -> None:
    """Refuse a scope's name that is blank or has invisible characters.

    A scope is found again by its name alone, so two names must not differ only in invisible characters.

    Raises:
        InputError: the name is refused.
    """
    seen = name.strip().translate(_WITHOUT_JOINERS)
    is_unseen = any(unicodedata.category(each) in _INVISIBLE or each in limits.FILLERS for each in seen)
    if len(name) != len(name.strip()) or limits.is_blank(seen) or is_unseen:
        raise InputError(
            f"{what} {name!r:.80} is blank, has blanks around it or characters that cannot be seen",
            "Give it without them, and always the same for the same scope",
        )


def _refuse_form(label: Label) -> None:
    """Refuse to begin a scope whose name has the form of a scope's, as the user ``user:ana`` has.

    What is meant is the user ``ana``: the command line and REST call her world ``user:ana``.

    Raises:
        InputError: it has.
    """
    kind, _, name = label.id.partition(":")
    if kind == label.kind and name:
        raise InputError(
            f"{label.id!r:.80} is what the world of the {kind} {name!r:.80} is called",
            f"Give the {kind} as {name!r:.80}",
        )


def folded(name: str) -> str:
    """Return a name normalised for comparison: without case and with composed accents."""
    return composed(composed(name).casefold())


def imported_scope_ref(key: ScopeKey | tuple[str, ...]) -> str | None:
    """Return the reference of a key's scope if it came in a bundle, else none."""
    is_one = len(key) == len(_NO_SCOPE) and key[-1].startswith(_BY_REFERENCE)
    return key[-1].removeprefix(_BY_REFERENCE) if is_one else None


def imported_scope_refs(keys: Iterable[ScopeKey | tuple[str, ...]]) -> list[str]:
    """Return the imported scopes of some keys; a write that chose them rests on them."""
    return list(filter(None, map(imported_scope_ref, keys)))


def retry_while_changed(write: Callable[[], Written]) -> Written:
    """Call a function that reads and then writes, again if others wrote between the two.

    Raises:
        UnavailableError: others wrote in between every time; nothing was written.
    """
    for _ in range(MOST_LOOKS):
        try:
            return write()
        except RefusedError as error:
            if error.details.get("reason") not in _CONFLICT_REASONS:
                raise
    raise UnavailableError("Others write the same, or change what it is about, again and again", "Try again")


def embed_new(db: Database) -> None:
    """Embed new texts, unless the store does so in the background or its model is not there.

    Without vectors they are durable, and found by their words.
    """
    if not db.background:
        with suppress(UnavailableError):
            db.embed()


def view_for_write(db: Database, idempotency_key: str | None) -> View:
    """Return the view that a write reads: the present, or for a retry that of the first commit."""
    return db._view_for_key(idempotency_key)


def has_statement(hit: Hit | World) -> bool:
    """Return whether a world has a text; entries of persons and things and mere containers have only a name."""
    return bool(hit.content) or hit.type.casefold() not in _NAME_ONLY


def recall_statements(ask: Callable[[int], Recall], wanted: int, most: int = 10_000) -> tuple[Recall, list[Hit]]:
    """Recall up to ``wanted`` hits with a text; returns the answer, and the hits that only have a name.

    ``ask`` recalls a number of hits; it is called again for more if names, or messages in the same words, fill the
    places of statements. What was found before keeps its place: more than ``STEADY`` hits may come in another order,
    and how many are wanted is to change none. Of messages in the same words the best is shown, and a note counts the
    others.
    """
    asked, every = max(wanted, 1), dict[tuple[Any, ...], Hit]()
    while True:
        found = ask(asked)
        for hit in found.hits:
            every.setdefault((hit.ref, hit.version, hit.valid), hit)
        said = tuple(filter(has_statement, every.values()))
        once, repeats = _each_message_once(said)
        is_enough = len(once) >= wanted or (repeats and len(said) >= _REPEATS_WITHIN * wanted)
        if found.groups or is_enough or len(found.hits) < asked or asked >= most:
            break
        asked = min(STEADY if asked < STEADY else 2 * asked + _EXTRA_HITS, most)
    if found.groups:
        return found, []
    names, shown = [hit for hit in every.values() if not has_statement(hit)], tuple(once[:wanted])
    told = [repeats[hit.ref] for hit in shown if hit.ref in repeats]
    note = found.note
    if told:
        stand = "1 hit stands" if len(told) == 1 else f"{len(told)} hits stand"
        more = "1 more message" if sum(told) == 1 else f"{sum(told)} more messages"
        note = "; ".join(filter(None, (note, f"{stand} for {more} in the same words")))
    return msgspec.structs.replace(found, hits=shown, note=note), names


def _each_message_once(hits: Sequence[Hit]) -> tuple[list[Hit], dict[str, int]]:
    """Return hits without messages in the words and of the speaker of a better one, and how many each stands for."""
    first: dict[str, str] = {}
    once, repeats = list[Hit](), dict[str, int]()
    for hit in hits:
        words = " ".join(hit.content.casefold().split()) if hit.type == blocks.TURN and hit.content else hit.ref
        best = first.setdefault(words, hit.ref)
        if best == hit.ref:
            once.append(hit)
        else:
            repeats[best] = repeats.get(best, 0) + 1
    return once, repeats


_Shown = TypeVar("_Shown", Hit, World)


def with_conflicts(whole: View, views: Sequence[View], found: Iterable[_Shown]) -> list[_Shown]:
    """Add contradictions between a user's several worlds to what was found in them.

    Each world shows nothing from outside of it; ``whole`` sees all of them.
    """
    shown = []
    for each in found:
        edges = whole.conflicts(each.ref)
        ends = dict.fromkeys(end for edge in edges for end in (edge.source, edge.target) if end != each.ref)
        others = tuple(end for end in ends if end in each.conflicts or any(is_visible(view.get, end) for view in views))
        shown.append(msgspec.structs.replace(each, conflicts=others))
    return shown


def erase_found(db: Database, look: Callable[[], list[str]], **how: Any) -> Receipt:
    """Erase the worlds that a read finds, with all in them; it reads again under the lock.

    Raises:
        UnavailableError: each read found other worlds; nothing was erased.
    """
    return db._erase_selected(look, **how)


def check_statement_type(type: str) -> None:
    """Check that a statement can have a type.

    Raises:
        InputError: the type is that of a world which holds memories or messages, or is no text.
    """
    if limits.checked_line(type, "type", limits.MAX_TYPE_BYTES, empty=False).casefold() in CONTAINERS:
        raise InputError(f"A statement cannot be a {type}", "Give another type, such as Fact")


def check_on_near(on_near: str) -> None:
    """Check what is to be done about what a statement is near.

    Raises:
        InputError: it is none of :data:`ON_NEAR`.
    """
    if on_near not in ON_NEAR:
        raise InputError(f"on_near is {errors.shown(on_near)}", f"Give one of: {', '.join(ON_NEAR)}")


def is_imported_root(world: World) -> bool:
    """Return whether a world is the root of another store, imported from a bundle."""
    return world.type == ROOT and "imported" in world.source


class Scopes:
    """The scopes inside a world, or of the whole store."""

    def __init__(self, db: Database, world: Any = None) -> None:
        self.db = db
        self.world = None if world is None else db.view()._reference_to_write(world)
        self.top = self.world or str(next(db.log(1, 1)).data["root"])

    def scopes(self, view: View, label: Label, *, include_retired: bool = False) -> list[World]:
        """Return the scope worlds of a label; retired ones only if asked for.

        If the served world is itself a scope of this label, it is returned too, with the scopes of the label inside.
        """
        # A deadline or a deprecation of a scope does not hide its members.
        shown: Any = {"include_expired": True, "include_deprecated": True}
        found = view.find(name=str(label), type=SCOPE, include_superseded=include_retired, **shown)
        own = (world for world in found if self.is_scope(view, world) and _has_label(world, label))
        inside = [world for world in own if not _is_fork(view, world.ref)]
        served = None if self.world is None else view.get(self.world, include_superseded=True, **shown)
        if served is None or served.type != SCOPE or not _has_label(served, label):
            return inside
        return inside if served.closed and not include_retired else [served, *inside]

    def ended(self, view: View, label: Label) -> World | None:
        """Return the scope of a label that ended last, if none of the label holds any more."""
        known = [] if self.scopes(view, label) else self.scopes(view, label, include_retired=True)
        return max((each for each in known if each.closed), key=lambda each: each.valid.end, default=None)

    def refs_at_any_time(self, view: View, label: Label) -> list[str]:
        """Return all scopes of a label that ever lie in this world, and their forks."""
        found = view.find(name=str(label), type=SCOPE, include_superseded=True)
        return view._with_forks(
            world.ref for world in found if _has_label(world, label) and self._lies_here(view, world)
        )

    def _lies_here(self, view: View, world: World) -> bool:
        edges = view.edges(world.ref, type="contains", direction="in", include_superseded=True)
        return self._is_here(view, [edge.source for edge in edges])

    def is_scope(self, view: View, world: World) -> bool:
        """Return whether a world is a scope of this server, or came with a whole store whose root lies here."""
        kind, colon, _ = world.name.partition(":")
        is_named = world.type == SCOPE and bool(colon) and kind in KINDS
        return is_named and self._is_here(view, view.containers(world.ref))

    def _is_here(self, view: View, containers: Iterable[str]) -> bool:
        """Return whether a container is the served world, or the root of a store that was imported here.

        Imported roots may be nested. Users in a root that was imported elsewhere, such as into an archive, stay apart.
        """
        around, seen = [*containers], set[str]()
        while around and self.top not in around:
            found = [view.get(ref, include_superseded=True) for ref in around if ref not in seen]
            seen.update(around)
            around = [
                ref
                for root in found
                if root is not None and is_imported_root(root)
                for ref in view.containers(root.ref)
            ]
        return self.top in around

    def key(self, view: View, label: Label) -> ScopeKey:
        """Return the key of a scope, the same for all servers on one store; a purge changes it."""
        return self.key_after(view, label, self.scopes(view, label, include_retired=True))

    def key_after(self, view: View, label: Label, known: list[World]) -> ScopeKey:
        """Return the key of a scope, given all scopes of its label, so that later reads find the writes.

        The key has the id in the spelling of the valid scope, which may be older than the comparison of accents. If no
        valid scope was created here, it is the key of the first imported one.

        Raises:
            InputError: the world served is another user's, so that nobody would find there what is written.
        """
        self._refuse_another_user(view, label, known)
        if known and known[0].ref == self.world:
            return self._key_of_served(known[0].name, label)
        names = [world.name for world in sorted(known, key=lambda world: world.closed)]
        spelt = names[0] if names else composed(str(label))
        ended = sum(world.closed and world.name == spelt for world in known)

        def numbered(number: int | str) -> ScopeKey:
            return "mcp", self.world or "", label.kind, spelt.partition(":")[2], str(number)

        first = next(number for number in itertools.count(ended) if self._is_open(view, numbered(number), known))
        if all(world.closed for world in known):
            return numbered(first)
        # Some ended scopes may be imported; they have no number.
        for number in (first, *range(min(ended, first))):
            key = numbered(number)
            if view._keyed_reference(_encoded_key(key)) is not None and self._is_open(view, key, known):
                return key
        came = (each.ref for each in known if not each.closed and "imported" in each.source)
        ref = next((ref for ref in came if view.forked_from(ref) is None), None)
        return numbered(first if ref is None else f"{_BY_REFERENCE}{ref}")

    def _refuse_another_user(self, view: View, label: Label, known: Iterable[World]) -> None:
        if self.world is None or label.kind != "user" or any(not world.closed for world in known):
            return
        served = view.get(self.world, include_superseded=True, include_expired=True, include_deprecated=True)
        if served is not None and served.type == SCOPE and served.name.startswith("user:"):
            own = served.name.removeprefix("user:")[:80]
            raise InputError(
                f"{errors.shown(str(label))} is not the user of this world, {own!r}, and no user's memory begins in"
                " another one's",
                f"Write as {own!r}, or with a key or a server that is not confined to that user's world",
            )

    def _key_of_served(self, name: str, label: Label) -> ScopeKey:
        """Return the key under which the served scope was begun in the store; else the one of its reference."""
        whole, spelt = self.db.view(), name.partition(":")[2]
        for number in itertools.count():
            key = "mcp", "", label.kind, spelt, str(number)
            found = whole._keyed_reference(_encoded_key(key))
            if found is None:
                return "mcp", "", label.kind, spelt, f"{_BY_REFERENCE}{self.world}"
            if found == self.world:
                return key
        raise AssertionError("counting does not end")

    def existing_scope_ref(self, key: ScopeKey | tuple[str, ...]) -> str | None:
        """Return the reference of a scope that exists without a write of this server: imported, or served."""
        is_served = self.world is not None and len(key) == len(_NO_SCOPE) and key[0] == "mcp" and not key[1]
        return imported_scope_ref(key) or (self.world if is_served else None)

    def _is_open(self, view: View, key: ScopeKey, known: Iterable[World] = ()) -> bool:
        """Return whether a key has no scope yet, or a valid one in the served world.

        ``known`` are worlds of the view, one of which may be the scope of the key. A scope that an operator moved
        elsewhere belongs to that world. A scope that is no member now would not be found.
        """
        ref = view._keyed_reference(_encoded_key(key))
        if ref is None:
            return True
        found = next((each for each in known if each.ref == ref), None) or view.keyed(_encoded_key(key))
        assert found is not None, "the key stands for a world"
        # An erased name comes back from the beginning up to where the scope was resumed, if it was.
        is_lost = found.erased and found.number > 1
        return not found.closed and not is_lost and self.top in view.containers(found.ref)

    def write_scope(self, tx: Any, key: ScopeKey) -> Any:
        """Create the scope in a batch; a scope whose name was erased gets it back from this writer.

        For an imported or served scope, which exists already, it returns the reference.

        Raises:
            InputError: there is none yet, and the name has the form of a scope's.
        """
        if (ref := self.existing_scope_ref(key)) is not None:
            return ref
        _, _, kind, identity, _ = key
        label = Label(kind, identity)
        if identity.startswith(f"{kind}:") and self.db.view()._keyed_reference(_encoded_key(key)) is None:
            _refuse_form(label)
        return tx.create(
            SCOPE,
            str(label),
            key=_encoded_key(key),
            key_within=self.world,
            world=self.world,
            valid_from=BEGINNING,
            resolve=False,
            source={"channel": "mcp"},
            revive=True,
        )

    def move_to_new_scope(self, key: ScopeKey, memories: Iterable[str], valid_from: TimeLike | None) -> None:
        """Put memories into the first scope after the ended ones, if theirs ended while they were written.

        Another process may end the scope between read and write, and memories in an ended scope are not found.
        """
        *parts, number = key
        number = "-1" if imported_scope_ref(key) is not None else number
        while True:
            number = str(int(number) + 1)
            following = cast(ScopeKey, (*parts, number))
            if not self._is_open(self.db.view(world=self.world), following):
                continue
            with self.db.batch() as tx:
                scope = self.write_scope(tx, following)
                for memory in memories:
                    tx.link(scope, "contains", memory, valid_from=valid_from)
            if not any(note.code == "not_revived" for note in tx.receipt.notes):
                return

    def entry_names(self, view: View, key: ScopeKey | tuple[str, ...], names: Iterable[str]) -> dict[str, str]:
        """Return the spelling of names (by :func:`folded`) in a scope's entries, so that capitals make no new entry.

        The user's own name has the scope's spelling, unless there is an entry with the given spelling.
        """
        found: dict[str, str] = {}
        for name in names:
            if folded(name) not in found:
                found[folded(name)] = self._entry_name(view, key, name)
        return found

    def _entry_name(self, view: View, key: ScopeKey | tuple[str, ...], name: str) -> str:
        if not name or view._keyed_reference(_entry_key(key, name)) is not None:
            return name
        _, _, kind, identity, _ = key if len(key) == len(_NO_SCOPE) else _NO_SCOPE
        if kind == "user" and folded(name) == folded(identity):
            return identity
        came = imported_scope_ref(key)
        scope = self.existing_scope_ref(key) or (view._keyed_reference(_encoded_key(key)) if kind else None)
        if kind and scope is None:
            return composed(name)
        for entry in view.find(name=name, type=ENTRY, world=scope):
            is_same = folded(entry.name) == folded(name)
            is_brought = came is not None and "imported" in entry.source
            if is_same and (is_brought or view._keyed_reference(_entry_key(key, entry.name)) == entry.ref):
                return entry.name
        return composed(name)

    def write_entry(self, tx: Any, key: ScopeKey, scope: Any, name: str, source: dict[str, Any]) -> Any:
        """Create the entry of a person or thing at its first mention in a scope, and resolve it.

        After an entry that was retired, or moved out of the scope or the served world, a new one begins. An erased
        entry gets its name back from this writer. An entry imported with its scope is found by its name.
        """
        limits.checked_text(name, "about", limits.MAX_NAME_BYTES)
        if (came := imported_scope_ref(key)) is not None:
            found = self.db.view(world=came).find(name=name, type=ENTRY)
            named = (each.ref for each in found if folded(each.name) == folded(name) and "imported" in each.source)
            if (ref := next(named, None)) is not None:
                return ref
        inside = _entry_key(key, name)
        within = scope if self.world is None else self.world
        given = {"key": inside, "key_within": within, "world": scope, "source": source, "valid_from": BEGINNING}
        return tx.create(ENTRY, name, **given, resolve="all", anew=True, revive=True)


def _is_fork(view: View, ref: str) -> bool:
    """Whether a scope is a fork: it does not belong to the user, even if theirs has ended."""
    fork = view.forked_from(ref)
    return fork is not None and not fork.inside


def _has_label(world: World, label: Label) -> bool:
    return composed(world.name) == composed(str(label))


def _entry_key(key: ScopeKey | tuple[str, ...], name: str) -> str:
    return msgspec.json.encode((*key, name)).decode()


def _encoded_key(key: ScopeKey | tuple[str, ...]) -> str:
    return msgspec.json.encode(key).decode()


Look: TypeAlias = Callable[[View], Sequence[Near]]
"""Finds in a view what is near a statement."""
Link: TypeAlias = tuple[str, str, str]
"""An edge to write from a statement to what is near: type, target and reason."""


def _unwritten_links(view: View, ref: str, links: Iterable[Link]) -> list[Link]:
    """Return those links of an existing statement that were never written.

    A link that was retracted is not written again.
    """
    found = []
    for link in links:
        edges = view.edges(ref, type=link[0], include_superseded=True)
        found += [] if any(link[1] in (edge.source, edge.target) for edge in edges) else [link]
    return found


def later_view(db: Database, view: View, valid: int | None) -> View:
    """Return a view of a later time with the same knowledge, in which plans hold; or the same view."""
    return view if valid is None or valid <= view.valid else view_at(db, view, valid)


def view_at(db: Database, view: View, valid: int) -> View:
    """Return a view with the same knowledge, world and users, at another valid time.

    Raises:
        UnknownReference: the world was not there by then.
    """
    return db.view(seq=view.seq, valid=valid, world=view.world)._for_users_as(view)


MOST_IN_CHAIN: Final = 50
"""The number of memories that are looked at for what they replaced or were replaced by."""


def replacement_chain(view: View, start: str) -> tuple[list[str], bool]:
    """Return a memory with those that it replaced or was replaced by, at any remove, and whether these are all."""
    chain, waiting = [start], [start]
    while waiting and len(chain) < MOST_IN_CHAIN:
        for edge in view.edges(waiting.pop(), type="supersedes", include_superseded=True):
            for ref in (edge.source, edge.target):
                if ref not in chain:
                    chain.append(ref)
                    waiting.append(ref)
    return chain, not waiting


def is_past(at: TimeLike | None, now: int) -> bool:
    """Return whether a deadline has passed."""
    return at is not None and parse_time(at, "expires_at") <= now


def _find_repeats_at_start(
    db: Database, view: View, begins: int | None, until: TimeLike | None, look: Look
) -> tuple[list[Near], View]:
    """Find repeats of a statement with an end among what held when it begins; returns them and that view.

    ``look`` finds them in a view. A replaced memory is repeated only up to its end; after it the replacement holds.
    """
    if begins is None or until is None or begins >= view.valid:
        return [], view
    try:
        then = view_at(db, view, begins)
        found, end, whole = look(then), parse_time(until, "until"), db.view(seq=view.seq, valid=view.valid)
        return [
            each for each in found if each.is_repeated and (end <= each.valid.end or not _was_replaced(whole, each.ref))
        ], then
    except UnknownReference:  # The world was not there by then.
        return [], view


def _find_near_at_start(db: Database, view: View, begins: int | None, near: Sequence[Near], look: Look) -> list[Near]:
    """Find what is near a statement of an earlier time, held when it begins, and holds no more now.

    ``near`` are the memories near it now, and ``look`` finds them in a view. Memories that later get another text are
    left out.
    """
    if begins is None or begins >= view.valid:
        return []
    then = db.view(seq=view.seq, valid=begins)._for_users_as(view)
    known = {each.ref for each in near}
    try:
        inside = then if view.world is None else view_at(db, view, begins)
        found = [each for each in look(inside) if each.ref not in known]
    except UnknownReference:  # The world was not there by then.
        return []
    return [each for each in found if all(one.valid.end <= each.valid.end for one in then.history(each.ref))]


def _find_successor(near: Iterable[Near], on_near: str, subjects: int, until: TimeLike | None) -> Near | None:
    """Return the first later memory that replaces a new statement of an earlier time and so ends it."""
    found = (each for each in near if each.takes_place(on_near, subjects))
    first = min(found, key=lambda each: each.valid.start, default=None)
    is_over = first is not None and until is not None and parse_time(until, "until") <= first.valid.start
    return None if is_over else first


def _replacement_notes(near: Iterable[Near], on_near: str, taker: Near | None, subjects: int, step: str) -> list[str]:
    """Return notes on the memories that a new statement ended or did not end, and why.

    ``step`` is the call that ends one after all, with ``{old}`` where its reference belongs.
    """
    if on_near != "supersede_same_subject":
        return []
    near = list(near)
    denied = [each for each in near if each.relation == "contradiction" and not each.is_later]
    near = [each for each in near if each.relation == "replacement"]
    ended = [each for each in near if each.edge_type(on_near, subjects)]
    remaining = [each for each in near if each not in ended and not each.is_later]
    notes = [f"{_named(each)} was ended: {each.reason}" for each in ended]
    notes += [
        f"{_named(each)} was not ended: {_why_not_ended(each, subjects)}. To end it, {step.format(old=each.ref)}"
        for each in remaining
    ]
    notes += [
        f"{_named(each)} was not ended: either may be wrong ({each.reason}). To end it, {step.format(old=each.ref)}"
        for each in denied
    ]
    notes += [] if taker is None else [f"It holds until {format_time(taker.valid.start)}, when {_named(taker)} begins"]
    begun = [each for each in near if each.is_later and each != taker]
    return notes + [
        f"{_named(each)} was not replaced: it begins later, at {format_time(each.valid.start)}" for each in begun
    ]


def _why_not_ended(old: Near, subjects: int) -> str:
    if subjects > 1:
        return f"the new one is about {subjects} subjects"
    return f"it is about {len(old.about)} subjects" if len(old.about) > 1 else old.doubt


def _named(near: Near) -> str:
    """Return the reference of a memory with the beginning of its text."""
    return f"{near.ref} ({errors.beginning(near.text)})"


_BY_ON_NEAR: Final = "by on_near: "
"""Prefix of the reason of an edge from a new statement to what is near."""
TAKEN: Final = "on_near: "
"""Prefix of the reason of a ``supersedes`` edge from a later memory to a new statement."""


def _written_notes(
    begins: int | None,
    now: int,
    expires_at: TimeLike | None,
    *,
    until: TimeLike | None = None,
    pinned: bool = False,
    text: str = "",
    **marks: Any,
) -> list[str]:
    """Return notes on a new statement that is not found yet, is hidden already, or begins later.

    The start is read from the words of ``text`` if no time was given. Other ``marks`` cause no note.
    """
    named = (named_beginning(text, now, "")[1] or told_day_notes(text, now)) if begins is None and text else ()
    later = future_start_notes([begins], now) if is_window_nonempty(begins, until) else []
    return [*named, *later, *([] if pinned else already_hidden_notes(expires_at, now))]


_BETWEEN_NAMES: Final = re.compile(r"\s*[,;]\s*(?:and\s+)?|\s+and\s+")
_BEHIND_A_NAME: Final = frozenset(("jr", "sr", "ii", "iii", "iv", "inc", "ltd", "llc", "co", "gmbh", "phd", "md"))


def several_names_notes(names: Iterable[str]) -> list[str]:
    """Return notes on names of subjects that look like several in one, as ``Zoe, Ben``, of which one is made."""
    notes = []
    for name in names:
        parts = [part for part in _BETWEEN_NAMES.split(one_line(name)) if part]
        if len(parts) > 1 and all(
            part[0].isupper() and part.rstrip(".").lower() not in _BEHIND_A_NAME for part in parts
        ):
            listed = ", ".join(f'"{part:.80}"' for part in parts)
            notes.append(f'"{one_line(name):.160}" counts as one name; if it is several, give them as [{listed}]')
    return notes


def erased_basis_notes(bases: Iterable[World]) -> list[str]:
    """Return a note on each of the memories from which one is derived whose text was erased."""
    return [
        f"The text of {each.ref} was erased, so nobody can read what this is derived from"
        for each in bases
        if each.erased
    ]


def is_window_nonempty(begins: int | None, until: TimeLike | None) -> bool:
    """Return whether a window contains any time; the receipt tells if not."""
    return begins is None or until is None or begins < parse_time(until, "until")


class EndChange(NamedTuple):
    """The end of a memory before and after a restatement; ``was_ended`` as in :func:`_was_ended`."""

    before: int
    after: int
    was_ended: bool = False


def _find_end_change(view: View, said: World, since: int | None, until: TimeLike | None) -> EndChange | None:
    """Return the new end that a restatement gives; ``None`` if it gives none, or the same one.

    A restatement without an end leaves the end unchanged. ``view`` is the view of the whole store that the write reads.
    """
    after = FOREVER if until is None else parse_time(until, "until")
    end, was_ended = _end_of(view, said), _was_ended(view, said.ref)
    if until is None or after <= (since or said.valid.start) or (after == end and not was_ended):
        return None
    return EndChange(end, after, was_ended)


def _was_ended(view: View, ref: str) -> bool:
    """Return whether somebody ended a memory, so that it can get no further source."""
    now = view.get(ref, include_superseded=True, include_expired=True)
    return now is not None and now.ended and now.valid.end <= view.valid


def _was_replaced(view: View, ref: str) -> bool:
    """Return whether a memory ended because another one replaced it."""
    return _was_ended(view, ref) and any(view.edges(ref, type="supersedes", direction="in"))


def _end_of(view: View, said: World) -> int:
    """The time up to which consecutive versions of a memory have the same text."""
    end = said.valid.end
    same = [one for one in view.history(said.ref) if one.content == said.content]
    spans = sorted((span.start, span.end) for one in same for span in (one.spans or (one.valid,)))
    for start, finish in spans:
        end = finish if start == end else end
    return end


def _restatement_notes(
    db: Database,
    receipt: Receipt,
    said: World,
    begins: int | None,
    expires_at: TimeLike | None,
    *,
    type: str = DEFAULT_TYPE,
    pinned: bool = False,
    until: TimeLike | None = None,
    end: EndChange | None = None,
    world: str | None = None,
) -> list[str]:
    """Return notes on a restatement: what else changed, what was left out, and whether it is found.

    The memory keeps its start, so a restated plan begins when it did. ``world`` is the one that the reader is confined
    to.
    """
    now = receipt.ingest_time
    changed = [*restatement_changes(db, receipt, said.ref, world), *_left_out_notes(said, begins)]
    if type not in (said.type, DEFAULT_TYPE):
        changed.append(f"The type {one_line(type)} was left out: {said.ref} has the type {one_line(said.type)}")
    if end is not None and end.after == end.before:
        changed.append(f"{said.ref} was ended at {format_time(end.after)}, as this says: nothing was written")
    elif end is not None:
        was = "had no end" if end.before == FOREVER else f"was to hold until {format_time(end.before)}"
        changed.append(f"{said.ref} holds until {format_time(end.after)} now, and {was}")
    elif until is None and (ends := _end_of(db.view(seq=receipt.seq), said)) < FOREVER:
        changed.append(f"{said.ref} holds until {format_time(ends)}, as was said before: correct it if it holds on")
    elif until is not None and (left := parse_time(until, "until")) <= said.valid.start:
        since = format_time(said.valid.start)
        changed.append(f"The end {format_time(left)} was left out: {said.ref} holds from {since} on")
    return changed + _written_notes(said.valid.start, now, expires_at, pinned=pinned)


def forgotten_notes(
    db: Database, views: Callable[[], Iterable[View]], texts: Iterable[str], refs: Sequence[str], seq: int
) -> list[str]:
    """Return a note if one of some texts, which a commit wrote as some worlds, was forgotten in some views.

    That is what was retired, and not what something else took the place of.
    """
    now = db.view()
    found = now._retired_saying(texts)
    if not found:
        return []
    seen = list(views())
    made = (now.get(ref, include_superseded=True, include_expired=True, include_deprecated=True) for ref in refs)
    written = [each for each in made if each is not None and each.number == 1 and each.seq == seq]
    named = dict[str, str]()
    for text, old in ((text, old) for text, retired in found.items() for old in retired if old not in refs):
        new = next((each.ref for each in written if is_same_text(text, _said_in(each))), None)
        users, owners = (now._users_of(each) for each in (old, new or old))
        for view in seen if new is not None and (users & owners or users == owners) else ():
            with suppress(UnknownReference):
                world = view.get(old, include_superseded=True, include_expired=True, include_deprecated=True)
                if world is not None and world.closed:
                    named[old] = str(new)
    if not named:
        return []
    listed = ", ".join(f"{old} (now {new})" for old, new in [*named.items()][:MAX_NEAR])
    more = f" and {len(named) - MAX_NEAR} more" if len(named) > MAX_NEAR else ""
    return [f"What was ended before is said again, and holds: {listed}{more}. End the later one, too, if it is not so"]


def _said_in(world: World) -> str:
    return analysis.without_speaker(world.content) if world.type == blocks.TURN else world.content


def is_same_text(one: str, other: str) -> bool:
    """Return whether two texts are the same word for word, blanks aside."""
    return one == other or one.split() == other.split()


def _left_out_notes(found: World, valid_from: int | None) -> list[str]:
    """Return notes if a restatement has another start than the memory."""
    since, notes = format_time(found.valid.start), []
    if valid_from is not None and valid_from > found.valid.start:
        notes.append(f"The start {format_time(valid_from)} was left out: {found.ref} holds from {since} on already")
    elif valid_from is not None and valid_from < found.valid.start:
        notes.append(f"{found.ref} holds from {format_time(valid_from)} on now, not only from {since} on")
    return notes


def _find_restated(said: Iterable[World | None], type: str, name: str) -> World | None:
    """Return the first of some memories with a statement's words that is of its type and name.

    Without one of its very type, a memory for which no type was given is the same, or any if the statement has none.
    """
    same = [each for each in said if each is not None and each.name == name]
    same = [each for each in same if each.type == type or DEFAULT_TYPE in (each.type, type)]
    return min(same, key=lambda each: each.type != type, default=None)


class EarlierStart(NamedTuple):
    """The earlier start of a restated memory, and its containers and subjects from then on."""

    since: int
    containers: dict[str, int]
    about: list[str]


def _subject_edges(view: View, ref: str) -> Sequence[Edge]:
    """Return the edges to what a memory is about, in a view that may be confined to a world."""
    with suppress(UnknownReference):  # It may lie in that world at other times alone.
        return view.edges(ref, type="refers_to", direction="out")
    return ()


def _find_earlier_start(view: View, said: World, since: int | None, seen: View | None = None) -> EarlierStart | None:
    """Return the earlier start that a restatement adds; ``None`` if the memory is known to hold then.

    ``view`` is the view of the whole store that the write reads, and ``seen`` the one that its writer is confined to.
    """
    if since is None or since >= said.valid.start:
        return None
    if any(
        version.content == said.content and each.start <= since < each.end
        for version in view.history(said.ref)
        for each in (version.spans or (version.valid,))
    ):
        return None
    about = [edge.target for edge in _subject_edges(seen or view, said.ref) if edge.valid.start > since]
    return EarlierStart(since, containers_at_start(view, said.ref, since), about)


def _restate_memory(
    tx: Any,
    said: World,
    source: dict[str, Any],
    why: str,
    *,
    expires_at: TimeLike | None = None,
    ttl: timedelta | float | None = None,
    labels: Sequence[str] = (),
    pinned: bool = False,
    properties: Mapping[str, Any] | None = None,
    earlier: EarlierStart | None = None,
    end: EndChange | None = None,
    about: Iterable[Any] = (),
) -> None:
    """Record in a batch that a memory was stated again, with the marks of the restatement.

    ``earlier`` (:func:`_find_earlier_start`) is written as a late statement of the same memory. ``end``
    (:func:`_find_end_change`) replaces the memory's end. A memory that somebody ended gets no further source.
    ``about`` are subjects for a memory that has none.

    The restatement sets the deadline; without one, the memory has no deadline any more. Properties replace those of the
    same names, by a version that begins where the previous one did and keeps its sources.
    """
    if earlier is not None:
        span: dict[str, Any] = {"valid_from": earlier.since, "valid_to": said.valid.start, "why": why}
        for container, begun in earlier.containers.items():
            tx.link(container, "contains", said.ref, **{**span, "valid_to": begun})
        tx.revise(said.ref, source=source, **span)
        for subject in earlier.about:
            tx.link(said.ref, "refers_to", subject, **span)
    for subject in about:
        since = said.valid.start if earlier is None else earlier.since
        tx.link(said.ref, "refers_to", subject, valid_from=since, why=why)
    merged = {**said.properties, **(properties or {})}
    if {name: value for name, value in merged.items() if value is not None} != said.properties:
        tx.revise(said.ref, properties=merged, valid_from=said.valid.start, source=said.source, why=why)
        written_sources = [said.source, source]
        for each in said.restated:
            if each.source not in written_sources:
                written_sources.append(each.source)
                tx.restate(said.ref, source=each.source, why=each.why)
    if end is None or not end.was_ended:
        tx.restate(said.ref, source=source, why=why)
    if expires_at is not None or ttl is not None:
        tx.expire(said.ref, expires_at=expires_at, ttl=ttl)
    elif said.expires_at is not None:
        tx.unexpire(said.ref)
    if labels:
        tx.label(said.ref, *labels)
    if pinned:
        tx.pin(said.ref)
    if end is not None and end.after < end.before:
        tx.retire(said.ref, valid_from=end.after, why=why)
    elif end is not None and end.after > end.before:
        tx.reassert(said.ref, content=said.content, valid_from=end.before, valid_to=end.after, why=why)


class Statement(NamedTuple):
    """A statement to write: what a caller said, with the memories that it names by their references.

    ``subjects`` counts whom it is about, and ``named`` are the memories to link it to, by edge type. Where it says a
    memory again that gets the ``restated_marks``, which are by default its own.
    """

    text: str
    type: str
    name: str
    subjects: int
    since: int | None
    until: TimeLike | None
    source: dict[str, Any]
    why: str
    on_near: str
    marks: Mapping[str, Any]
    named: Mapping[str, Sequence[str]]
    restated_marks: Mapping[str, Any] | None = None


class Place(NamedTuple):
    """Where a statement is written, and what it is compared with.

    Args:
        look: the view that the write reads: for a retry under its key the state before its first commit.
        nearby: views of what it may be near, each with what finds that.
        homes: gives the worlds to write it into, the first one first, in a batch.
        entries: gives the worlds that it is about, in a batch and the first of those worlds.
        ending: the call that ends a memory, with ``{old}`` and ``{new}`` for the references of both.
        batch: further arguments of the batch. created: further arguments of the new world.
        may_repeat: whether a memory in the same words is the same; by default always.
    """

    look: View
    nearby: Sequence[tuple[View, Look]]
    homes: Callable[[Any], Sequence[Any]]
    entries: Callable[[Any, Any], Iterable[Any]]
    ending: str
    batch: Mapping[str, Any]
    created: Mapping[str, Any]
    may_repeat: Callable[[Near], bool] = lambda _: True


class StatementWritten(NamedTuple):
    """A statement that was written, or the memory that it says again (``end`` then as of :func:`_find_end_change`).

    ``near`` are other memories, ``links`` the types of the edges to them, and ``notes`` say what became of these.
    """

    ref: str
    receipt: Receipt
    near: tuple[Near, ...]
    links: dict[str, str]
    notes: list[str]
    is_restated: bool = False
    end: EndChange | None = None


def write_statement(db: Database, said: Statement, place: Place) -> StatementWritten:
    """Write a statement, or record that a memory was stated again; it is linked to what is near as ``on_near`` says.

    A retry under its key is decided by the state of then, and has the links of then. Others may write meanwhile: see
    :func:`retry_while_changed`.

    Raises:
        RefusedError: a rule of the engine forbids it; nothing was written.
        IdempotencyConflict: another call was made under the key.
    """
    near, seeing = _find_near(db, said, place)
    named = {ref for refs in said.named.values() for ref in refs}
    repeated = [each.ref for each in near if each.is_repeated and place.may_repeat(each)]
    worlds = (seeing[ref].get(ref, include_expired=True) for ref in repeated)
    again = _find_restated(worlds, said.type, said.name) if named <= {*said.named.get("supersedes", ())} else None
    if again is not None:
        # Under a key that wrote the memory itself nothing is restated: that call is made again.
        with nullcontext() if place.batch.get("idempotency_key") is None else suppress(IdempotencyConflict):
            return _write_again(db, said, place, again, near, seeing[again.ref])
    if said.on_near == ON_NEAR[-1]:
        for view, look in place.nearby:
            near += _find_near_at_start(db, view, said.since, near, look)
    others = [each for each in near if each.ref not in named]
    taker = _find_successor(others, said.on_near, said.subjects, said.until)
    ends = None if taker is None else (taker.ref, taker.valid.start, f"{TAKEN}{taker.reason}")
    links, ends = _of_first_commit(db, place, named) or (_near_links(said, others), ends)
    with db.batch(seen=place.look, **place.batch) as tx:
        homes = place.homes(tx)
        span: Any = {"valid_from": said.since, "valid_to": said.until}
        told: Any = {"content": said.text, "source": said.source, "why": said.why}
        made = tx.create(said.type, said.name, world=homes[0], **told, **span, **said.marks, **place.created)
        for home in homes[1:]:
            tx.link(home, "contains", made, valid_from=said.since)
        for entry in place.entries(tx, homes[0]):
            tx.link(made, "refers_to", entry, valid_from=said.since)
        for kind, ref, why in [*((kind, ref, said.why) for kind, refs in said.named.items() for ref in refs), *links]:
            tx.link(made, kind, ref, valid_from=said.since, why=why)
        if ends is not None:
            tx.link(ends[0], "supersedes", made, valid_from=ends[1], why=ends[2])
    receipt: Receipt = tx.receipt
    ref = receipt.refs[made.position]
    notes = _replacement_notes(others, said.on_near, taker, said.subjects, place.ending.replace("{new}", ref))
    notes += _written_notes(said.since, receipt.ingest_time, until=said.until, text=said.text, **said.marks)
    notes += forgotten_notes(db, lambda: [view for view, _ in place.nearby], [said.text], [ref], receipt.seq)
    return StatementWritten(ref, receipt, tuple(near), {ref: kind for kind, ref, _ in links}, notes)


def _find_near(db: Database, said: Statement, place: Place) -> tuple[list[Near], dict[str, View]]:
    """Return what is near a statement, nearest first, and the view that showed each."""
    near, seeing = list[Near](), dict[str, View]()
    for view, look in place.nearby:
        repeats, then = _find_repeats_at_start(db, view, said.since, said.until, look)
        later = later_view(db, view, said.since)
        for each, shown in (*((one, then) for one in repeats), *((one, later) for one in look(later))):
            near += [] if each.ref in seeing else [each]
            seeing.setdefault(each.ref, shown)
    return sorted(near, key=lambda each: -each.likeness)[:MAX_NEAR], seeing


def _near_links(said: Statement, near: Iterable[Near]) -> list[Link]:
    """Return the edges to what is near that ``on_near`` asks for."""
    kinds = ((each.edge_type(said.on_near, said.subjects), each) for each in near)
    return [(kind, each.ref, f"{_BY_ON_NEAR}{each.reason}") for kind, each in kinds if kind]


def _of_first_commit(
    db: Database, place: Place, named: Container[str]
) -> tuple[list[Link], tuple[str, int, str] | None] | None:
    """Return the edges to what was near, and the one that ended the statement, of the commit under the key if any.

    They may be found otherwise by now, if a text was erased since then.
    """
    key, seq = place.batch.get("idempotency_key"), place.look.seq + 1
    if key is None or not db.was_written(key) or view_for_write(db, key).seq + 1 != seq:
        return None
    links, ends = list[Link](), None
    for entry in db.log(seq, seq):
        if entry.event == "linked" and entry.why.startswith(_BY_ON_NEAR) and entry.data["target"] not in named:
            links.append((entry.data["type"], entry.data["target"], entry.why))
        elif entry.event == "linked" and entry.why.startswith(TAKEN):
            ends = entry.data["source"], entry.data["valid_from"], entry.why
    return links, ends


def _write_again(
    db: Database, said: Statement, place: Place, found: World, near: Iterable[Near], seen: View
) -> StatementWritten:
    """Record that a memory was stated again, as ``seen`` shows it, and link it to what it was not linked to."""
    look, marks = place.look, said.marks if said.restated_marks is None else said.restated_marks
    whole = db.view(seq=look.seq, valid=look.valid)
    named = dict.fromkeys(ref for refs in said.named.values() for ref in refs if ref != found.ref)
    others = tuple(each for each in near if each.ref != found.ref)
    first = _of_first_commit(db, place, named)
    links = _near_links(said, (each for each in others if each.ref not in named)) if first is None else first[0]
    links += [("supersedes", ref, said.why) for ref in named]
    links = _unwritten_links(db.view(seq=look.seq, valid=seen.valid), found.ref, links)
    end = _find_end_change(whole, found, said.since, said.until)
    earlier = _find_earlier_start(whole, found, said.since, seen)
    is_about_some = any(each.about for each in near if each.ref == found.ref)
    with db.batch(seen=look, **place.batch) as tx:
        about = place.entries(tx, place.homes(tx)[0]) if said.subjects and not is_about_some else ()
        _restate_memory(tx, found, said.source, said.why, **marks, earlier=earlier, end=end, about=about)
        for kind, ref, why in links:
            tx.link(found.ref, kind, ref, valid_from=said.since, why=why)
    tx.receipt.raise_if_refused()
    told: Any = {"type": said.type, "pinned": marks.get("pinned", False), "until": said.until, "end": end}
    notes = _restatement_notes(db, tx.receipt, found, said.since, marks["expires_at"], **told, world=seen.world)
    kinds = {ref: kind for kind, ref, _ in links}
    return StatementWritten(found.ref, tx.receipt, others, kinds, notes, is_restated=True, end=end)


def concurrent_change_notes(db: Database, seen: int, receipt: Receipt, ref: str) -> list[str]:
    """Return a note if others changed a memory between commit ``seen`` and the write.

    The writer did not know that text, and the write replaces it.
    """
    if not receipt.events or receipt.seq <= seen + 1:
        return []
    previous_view = db.view(seq=receipt.seq - 1, valid=receipt.ingest_time)
    found = previous_view.get(ref, include_superseded=True, include_expired=True, include_deprecated=True)
    if found is None or found.seq <= seen or found.closed or found.erased:
        return []
    said = f"{one_line(found.content)!r:.80}, by {one_line(found.author)}"
    return [f"{ref} was changed between your look at it and this: it said {said}"]


def said_elsewhere(
    views: Iterable[View], found: World, *, nobodys: bool = False, instead: str = "", user: str = ""
) -> tuple[dict[str, None], dict[str, str], dict[str, None]]:
    """Return the other memories that hold in some views and say what a memory said, and the texts that tell it.

    The last are those of both that surely say nothing else. The arguments are those of :func:`same_words_notes`;
    ``user`` is the speaker of the user's messages.
    """
    text = _said_in(found)
    if limits.is_blank(text):
        return {}, {}, {}
    how: dict[str, Any] = {"nobodys": nobodys, "of": found.ref, "instead": instead, "user": user}
    told = [view._saying_the_same(text, **how) for view in views]
    same = {ref: None for each in told for ref in each.same if ref != found.ref and found.type != blocks.TURN}
    telling = {ref: said for each in told for ref, said in each.telling if ref not in same}
    return same, telling, {ref: None for each in told for ref in each.sure if ref in same or ref in telling}


def same_words_notes(
    views: Iterable[View], found: World, remedy: str, *, nobodys: bool = False, instead: str = ""
) -> list[str]:
    """Return notes that name the other memories which hold in some views and say what a memory said, or tell it.

    One note names those that say it word for word, another one replies and memories that tell it in other words, with
    the beginnings of their texts; of what ``instead`` says now, only the rest counts. With ``nobodys`` none in a user's
    world.
    """
    same, telling, _ = said_elsewhere(views, found, nobodys=nobodys, instead=instead)
    return elsewhere_notes([*same], telling, remedy)


def elsewhere_notes(same: list[str], telling: Mapping[str, str], remedy: str) -> list[str]:
    """Return the notes on what says the same word for word, and on what tells it, with its text."""
    notes, others = list[str](), same[:MAX_NEAR]
    if others:
        hold = "holds" if len(others) == 1 else "hold"
        notes.append(f"Word for word the same is said by {', '.join(others)}, which still {hold}: {remedy}")
    if telling:
        named = [f"{ref} ({errors.beginning(said)})" for ref, said in telling.items()][:MAX_NEAR]
        more = f" and {len(telling) - MAX_NEAR} more" if len(telling) > MAX_NEAR else ""
        notes.append(f"What it said may still be told by {', '.join(named)}{more}: {remedy}")
    return notes


def same_words_beside(db: Database, view: View, ref: str, remedy: str, *, instead: str = "") -> list[str]:
    """Return notes as :func:`same_words_notes` does, for what lies in the worlds that contain a memory directly.

    Around a message that is what lies in the worlds that contain its conversation. What users share a world for, as an
    agent's, is each one's own.
    """
    try:
        found = view.get(ref, include_superseded=True, include_expired=True, include_deprecated=True)
    except UnknownReference:  # It is an edge.
        return []
    if found is None or not has_statement(found):
        return []
    root, around = str(next(db.log(1, 1)).data["root"]), view.containers(found.ref)
    if found.type == blocks.TURN:
        around = list(dict.fromkeys(outer for each in around for outer in view.containers(each))) or around
    own = view._for_users(view._users_of(found.ref))
    # All that lies in a user's world is that user's, and there is an index of it.
    inside = [(view if view._users_of(each) else own).confined(each) for each in around if each != root]
    notes = same_words_notes(inside, found, remedy, instead=instead)
    nobodys: dict[str, Any] = {"nobodys": True, "instead": instead}
    return notes or (same_words_notes([view], found, remedy, **nobodys) if root in around else [])


def other_text_notes(
    db: Database, ref: str, text: str, window: tuple[int, TimeLike | None], receipt: Receipt, remedy: str
) -> list[str]:
    """Return a note if a memory corrected for some time has another text in a part of it, or later."""
    begins, until = window
    # Later changes by others do not belong to the result of this commit.
    then = db.view(seq=receipt.seq, valid=max(receipt.ingest_time, begins))
    found = then.get(ref, include_superseded=True, include_expired=True, include_deprecated=True)
    if found is None or found.content == text or begins > receipt.ingest_time:
        return []
    if until is not None and found.valid.start >= parse_time(until, "until"):
        return []
    since = format_time(found.valid.start)
    return [
        f"{ref} still says {one_line(found.content)!r:.80}, which was said to hold from {since} on:"
        f" {remedy} if that is wrong, too"
    ]


def displaced_notes(view: View, receipt: Receipt, ref: str) -> list[str]:
    """Return notes on later texts of a memory that a revision from an earlier time left with no time to hold.

    Of those with a stated start the receipt has a note itself. What was there alone is what the revision corrects.
    """
    lost = sorted((each for each in receipt.lost if each.ref == ref), key=lambda loss: loss.valid_from)
    if len(lost) < 2 or any(note.code == "later_never_valid" for note in receipt.notes):
        return []
    numbers = {each.version for each in lost[1:]}
    gone = [one for one in view.history(ref) if one.number in numbers and not (one.erased or one.spans)]
    return [
        f"{one_line(one.content)!r:.80}, written at {format_time(one.ingested_at)}, holds at no time any more:"
        " state it again from then on if it still holds"
        for one in gone
        if one.valid.start >= one.valid.end
    ]


def with_revision_notes(
    db: Database, receipt: Receipt, text: str | None, window: tuple[TimeLike | None, TimeLike | None], remedy: str
) -> Receipt:
    """Add notes to a receipt of a revision from an earlier time: today's text is another, or later ones are gone."""
    begins, until = window
    if text is None or begins is None or not receipt.events:
        return receipt
    span = parse_time(begins, "valid_from"), until
    told = other_text_notes(db, receipt.ref, text, span, receipt, remedy)
    return with_sentences(receipt, told + displaced_notes(db.view(seq=receipt.seq), receipt, receipt.ref))


def with_sentences(receipt: Receipt, sentences: Iterable[str]) -> Receipt:
    """Add notes to a receipt on what is found now, after the write."""
    return receipt.with_notes(Note("found_now", (each,)) for each in sentences)


def restatement_changes(db: Database, receipt: Receipt, ref: str, world: str | None = None) -> list[str]:
    """Return notes on other changes by a restatement: deadline, pin, labels, properties, subjects inside ``world``."""
    how: Any = {"include_expired": True, "include_deprecated": True}
    held = db.view(seq=receipt.seq, valid=receipt.ingest_time).get(ref, include_superseded=True)
    at = receipt.ingest_time if held is None else max(receipt.ingest_time, held.valid.start)
    before, after = (db.view(seq=seq, valid=at).get(ref, **how) for seq in (receipt.seq - 1, receipt.seq))
    if before is None or after is None:
        return []
    notes = _deadline_change_notes(before, after, receipt.ingest_time)
    views = (db.view(seq=seq, valid=at, world=world) for seq in (receipt.seq - 1, receipt.seq))
    were_about, are_about = (_subject_edges(view, ref) for view in views)
    notes += [f"{ref} named nobody that it is about, and does now"] if are_about and not were_about else []
    notes += [f"{ref} is pinned now"] if after.pinned and not before.pinned else []
    labels = [one_line(each) for each in after.labels if each not in before.labels]
    notes += [f"{ref} has new labels: {', '.join(labels)}"] if labels else []
    names = sorted({**before.properties, **after.properties})
    changed = [one_line(name) for name in names if before.properties.get(name) != after.properties.get(name)]
    return notes + ([f"{ref} has other properties now: {', '.join(changed)}"] if changed else [])


def _deadline_change_notes(before: World, after: World, now: int) -> list[str]:
    """Return a note if the deadline of a memory changed; a passed one has a note already."""
    if before.expires_at == after.expires_at or (after.expires_at is not None and after.expires_at <= now):
        return []
    was = "" if before.expires_at is None else f"from {format_time(before.expires_at)} on"
    if after.expires_at is None:
        return [f"{after.ref} was to be hidden {was}, and is not any more: that deadline was lifted"]
    at = format_time(after.expires_at)
    if after.pinned:
        return [f"{after.ref} has the deadline {at} now, which hides nothing while it is pinned"]
    before_that = "had no deadline" if before.expires_at is None else f"was to be hidden {was}"
    return [f"{after.ref} will be hidden from {at} on, and {before_that}: lift the deadline if that is not meant"]


def named_beginning(text: str, now: int, otherwise: str) -> tuple[int | None, tuple[str, ...]]:
    """Return the future start that a text names, and a note on it.

    ``otherwise`` says in the note what follows from using that time; empty if it is not used, so that the note asks
    for ``since``.
    """
    begins = begin_named(text, now)
    if begins is None:
        return None, ()
    at = format_time(begins)
    if otherwise:
        return begins, (f"Its text says that it begins at {at}: {otherwise}",)
    return begins, (
        f"Its text says that it begins at {at}, and it is found from now on: give that as its start if it"
        " holds only from then",
    )


def told_day_notes(text: str, now: int) -> tuple[str, ...]:
    """Return a note if a text tells of a day to come, and how to state it."""
    # "In two weeks" names no day that a start could be.
    coming = [day for day in days_alone(text, now) if day.start > now and day.start % DAY_MICROSECONDS == 0]
    if not coming:
        return ()
    day = min(coming)
    since, until = (format_time(at).removesuffix("T00:00:00Z") for at in day[:2])
    return (
        f"Its text tells of {since}: questions about that day find it by this, and others find it from now on; give"
        f" since={since!r} and until={until!r} if it holds only then",
    )


def plan_notes(found: World, text: str, now: int) -> tuple[str, ...]:
    """Return a note if a plan replaces a memory about the present."""
    if tense_of(text) != "ahead" or tense_of(found.content) == "ahead" or found.valid.start > now:
        return ()
    if any(time.span.end > now for time in parse_times(found.content, found.valid.start).read):
        return ()
    was = f"{one_line(found.content)!r:.80}"
    return (f"It tells what is to come, and {was} is not found any more: if that holds till then, add it by itself",)


def future_start_notes(begins: Iterable[int | None], now: int) -> list[str]:
    """Return a note if some of what was written begins later."""
    times = [*begins]
    later = [each for each in times if each is not None and each > now]
    if not later:
        return []
    since = format_time(min(later))
    if len(later) == 1:
        what = "It holds" if len(times) == 1 else f"1 of {len(times)} messages holds"
        return [f"{what} from {since} on; until then only a question about that time finds it"]
    what = f"{len(later)} of {len(times)} messages hold from {since} on, or later"
    return [f"{what}; until then only a question about that time finds them"]


def still_hidden_notes(found: World, valid: int) -> list[str]:
    """Return a note if a rewritten memory stays hidden, by a passed deadline or as deprecated."""
    if found.deprecated:
        return [f"{found.ref} is deprecated, so what it says now is not found: undeprecate it if that is not meant"]
    if found.pinned or found.expires_at is None or found.expires_at > valid:
        return []
    since = format_time(found.expires_at)
    return [f"{found.ref} has been hidden since {since}, with its new text too: lift the deadline to have it found"]


def already_hidden_notes(expires_at: TimeLike | None, written_at: int) -> list[str]:
    """Return a note if a deadline has passed, so that nothing finds the memory."""
    at = None if expires_at is None else parse_time(expires_at, "expires_at")
    if at is None or at > written_at:
        return []
    return [f"It has been hidden since {format_time(at)}, so nothing finds it: lift the deadline if that is not meant"]


def dropped_deadline_note(ref: str) -> str:
    """Return the note that a replacement does not inherit the deadline, which would hide it."""
    return f"It has no deadline: that of {ref} will have passed, or has"


def mark_notes(view: View, ref: str, *, deadline: bool = False) -> list[str]:
    """Return a note if nothing shows a new mark, or if a new ``deadline`` hides a memory at once, or hides nothing."""
    try:
        found = view.get(ref, include_superseded=True, include_expired=True, include_deprecated=True)
    except UnknownReference:  # It is in this world only later.
        return []
    if found is not None and found.closed:
        return [f"{ref} holds no more, so no answer of now shows the mark"]
    if found is None or not deadline or found.expires_at is None:
        return []
    if found.pinned:
        return [f"{ref} is pinned, so no deadline hides it: take the pin off if one is to"]
    return already_hidden_notes(found.expires_at, view.valid)


def containers_at_start(view: View, ref: str, since: int) -> dict[str, int]:
    """The containers of a world from its beginning on, and that beginning; empty if ``since`` is later."""
    begins = min(version.valid.start for version in view.history(ref))
    if since >= begins:
        return {}
    first: dict[str, int] = {}
    for edge in view.edges(ref, type="contains", direction="in", include_superseded=True):
        first[edge.source] = min(edge.valid.start, first.get(edge.source, edge.valid.start))
    # Only the root has no container, and it is found whenever it holds.
    return {world: at for world, at in first.items() if at == begins and view.containers(world)}


_BY_EDGES: Final = {"now_stale": "derived_from", "conflict_left": "contradicts"}
"""Notes about edges, and the edges' type: an edge's home may lie outside of a world that contains both ends."""
_SUBJECT_FIRST: Final = frozenset(
    (
        "begun_anew",
        "ends_unreplaced",
        "until_successor",
        "outside_before",
        "members_remain",
        "members_ended",
        "now_stale",
        "conflict_left",
        "same_words_stay",
        "still_told",
    )
)

_ALL_OR_NOTHING: Final = frozenset(("not_changed",))
"""Notes that list names instead of references."""


def is_visible(look: Callable[[str], object], ref: str) -> bool:
    """Return whether a look-up in a view finds what a reference stands for."""
    try:
        return look(ref) is not None
    except InputError:
        return False


def notes_inside(notes: Iterable[Note], view: View, sees: Callable[[str], bool]) -> list[Note]:
    """Return the notes of a receipt as seen inside one world, as if nothing existed outside of it.

    A note is cut to the references that are seen inside, and left out if none remains.
    """
    found: list[Note] = []
    for note in notes:
        if note.code in GUARDED:
            found.append(note)
            continue
        if note.code not in _SUBJECT_FIRST:
            kept = tuple(ref for ref in note.refs if sees(ref))
            whole = kept == note.refs
            found += [Note(note.code, kept)] if whole or (kept and note.code not in _ALL_OR_NOTHING) else []
            continue
        first, *others = note.refs
        joined = None
        if note.code in _BY_EDGES and sees(first):
            # Worlds that begin later are not in the view yet, nor are their edges.
            with suppress(UnknownReference):
                edges = view.edges(first, type=_BY_EDGES[note.code], include_superseded=True)
                joined = {end for edge in edges for end in (edge.source, edge.target)}
        kept = tuple(ref for ref in others if sees(ref) and (joined is None or ref in joined))
        if kept and sees(first):
            found.append(Note(note.code, (first, *kept)))
    return found
