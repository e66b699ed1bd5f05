"""Scopes: the world of a user, agent, app or run, found by kind and id, and created by its first write.

The MCP server and :func:`worlddb.memory` share them, so that both find what the other wrote. Also here: what a recall
in a scope shows, and what a receipt reveals inside one world.
"""

import itertools
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar, cast

import msgspec

from worlddb.database import Database
from worlddb.log.model import errors, limits
from worlddb.log.model.errors import AmbiguousReference, InputError, UnavailableError, UnknownReference
from worlddb.log.model.times import TimeLike, parse_time
from worlddb.plain_text import JOINERS, one_line
from worlddb.projections.tables.names import blocks, canonical
from worlddb.query.recall.ranking import STEADY
from worlddb.query.records.records import Hit, Recall, World
from worlddb.query.view.view import View
from worlddb.reconciler.commands.outcome import GUARDED, Note, Receipt

composed: Final = canonical.compose_name
"""A name with each accent composed with its letter, as names are compared."""
_EXTRA_HITS: Final = 8
"""Hits to ask for beyond twice as many, if some hits only have a name."""
_REPEATS_WITHIN: Final = 8
"""Times as many hits as wanted, among which others are looked for in the places of messages in the same words."""
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
ScopeKey: TypeAlias = tuple[str, str, str, str, str]
"""``mcp``, the served world, the scope's kind and id, and the number of retired scopes of that id.

An imported scope has ``ref:`` and its reference in place of the number, because bundles carry no keys.
"""
_BY_REFERENCE: Final = "ref:"
_ID: Final = re.compile(r"(?i)[0-9a-f]{8,32}")
"""What may be the id of a world, or enough of it that no ordinary name is meant for it."""
_NO_SCOPE: Final = ("", "", "", "", "")
"""The parts of a key without a scope, for writes into the whole store."""


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


def embed_new(db: Database) -> None:
    """Embed new texts, unless the store does so in the background or its model is not there.

    Without vectors they are durable, and found by their words.
    """
    if not db.background:
        with suppress(UnavailableError):
            db.embed()


def has_statement(hit: Hit | World) -> bool:
    """Return whether a world has a text; entries of persons and things and mere containers have only a name."""
    return bool(hit.content) or not is_name_only(hit.type)


def is_name_only(type: str) -> bool:
    """Return whether worlds of a type are mere names or containers, unless they have a text."""
    return type.casefold() in _NAME_ONLY


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


def is_imported_root(world: World) -> bool:
    """Return whether a world is the root of another store, imported from a bundle."""
    return world.type == ROOT and "imported" in world.source


class Subject(NamedTuple):
    """Whom or what a statement is about: a world that was given by its id, or a name whose entry it may begin."""

    name: str
    ref: str = ""

    @property
    def given(self) -> str:
        """What finds the subject in a read."""
        return self.ref or self.name


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
        """Return the key of a scope, the same for all servers on one store; another one once the scope was retired."""
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
            if view._keyed_reference(encoded_key(key)) is not None and self._is_open(view, key, known):
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
            found = whole._keyed_reference(encoded_key(key))
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
        ref = view._keyed_reference(encoded_key(key))
        if ref is None:
            return True
        found = next((each for each in known if each.ref == ref), None) or view.keyed(encoded_key(key))
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
        if identity.startswith(f"{kind}:") and self.db.view()._keyed_reference(encoded_key(key)) is None:
            _refuse_form(label)
        return tx.create(
            SCOPE,
            str(label),
            key=encoded_key(key),
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
        came, scope = imported_scope_ref(key), self.scope_of(view, key)
        if kind and scope is None:
            return composed(name)
        found = view.find(name=name, type=ENTRY, world=scope)
        for entry in found:
            is_same = folded(entry.name) == folded(name)
            is_brought = came is not None and "imported" in entry.source
            if is_same and (is_brought or view._keyed_reference(_entry_key(key, entry.name)) == entry.ref):
                return entry.name
        called = [each for each in found if folded(name) in map(folded, each.aliases)]
        if len(called) == 1 and view._keyed_reference(_entry_key(key, called[0].name)) == called[0].ref:
            return called[0].name
        return composed(name)

    def scope_of(self, view: View, key: ScopeKey | tuple[str, ...]) -> str | None:
        """Return the scope of a key as a view knows it; ``None`` for the whole store, or before the first write."""
        known = view._keyed_reference(encoded_key(key)) if len(key) == len(_NO_SCOPE) and key[2] else None
        return self.existing_scope_ref(key) or known

    def subjects(
        self, view: View, key: ScopeKey | tuple[str, ...], about: Iterable[str], shown: View | None = None
    ) -> list[Subject]:
        """Return whom a statement in a scope is about, each once.

        An id, or its first 8 digits or more, means what has that id in the scope and is ``shown`` (by default what the
        view shows). Anything else is a name, in the spelling of its entry.
        """
        found = dict[str, Subject]()
        for name in (" ".join(each.split()) for each in about):
            ref = self._ref_by_id(shown or view, key, name)
            subject = Subject(self._entry_name(view, key, name)) if ref is None else Subject(name, ref)
            found.setdefault(ref or folded(name), subject)
        return [*found.values()]

    def _ref_by_id(self, view: View, key: ScopeKey | tuple[str, ...], name: str) -> str | None:
        """Return the reference of what holds in a scope and has an id that begins so; else ``None``."""
        scope = self.scope_of(view, key)
        if scope is None:
            return ref_by_id(view, name) if len(key) != len(_NO_SCOPE) else None
        return ref_by_id(view.confined(scope)._for_users_as(view), name)

    def write_subject(self, tx: Any, key: ScopeKey, scope: Any, subject: Subject, source: dict[str, Any]) -> Any:
        """Return the world of a subject; that of a name is created as :meth:`write_entry` does."""
        return subject.ref or self.write_entry(tx, key, scope, subject.name, source)

    def entry_ref(self, view: View, key: ScopeKey | tuple[str, ...], name: str) -> str | None:
        """Return the reference of the entry that a name means in a scope, if there is one."""
        return view._keyed_reference(_entry_key(key, name))

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


def ref_by_id(view: View, name: str) -> str | None:
    """Return the reference of what holds in a view and has an id that begins with a name of 8 digits or more."""
    if _ID.fullmatch(name):
        with suppress(UnknownReference, AmbiguousReference):
            found = view.get(name.lower(), include_expired=True, include_deprecated=True)
            if found is not None and found.ref.startswith(name.lower()) and found.type != SCOPE:
                return found.ref
    return None


def _is_fork(view: View, ref: str) -> bool:
    """Whether a scope is a fork: it does not belong to the user, even if theirs has ended."""
    fork = view.forked_from(ref)
    return fork is not None and not fork.inside


def _has_label(world: World, label: Label) -> bool:
    return composed(world.name) == composed(str(label))


def _entry_key(key: ScopeKey | tuple[str, ...], name: str) -> str:
    return msgspec.json.encode((*key, name)).decode()


def encoded_key(key: ScopeKey | tuple[str, ...]) -> str:
    """Return a scope's key as the store keeps it."""
    return msgspec.json.encode(key).decode()


def later_view(db: Database, view: View, valid: int | None) -> View:
    """Return a view of a later time with the same knowledge, in which plans hold; or the same view."""
    return view if valid is None or valid <= view.valid else view_at(db, view, valid)


def view_at(db: Database, view: View, valid: int) -> View:
    """Return a view with the same knowledge, world and users, at another valid time.

    Raises:
        UnknownReference: the world was not there by then.
    """
    return db.view(seq=view.seq, valid=valid, world=view.world)._for_users_as(view)


MAX_IN_CHAIN: Final = 50
"""The number of memories that are looked at for what they replaced or were replaced by."""


def replacement_chain(view: View, start: str) -> tuple[list[str], bool]:
    """Return a memory with those that it replaced or was replaced by, at any remove, and whether these are all."""
    chain, waiting = [start], [start]
    while waiting and len(chain) < MAX_IN_CHAIN:
        for edge in view.edges(waiting.pop(), type="supersedes", include_superseded=True):
            for ref in (edge.source, edge.target):
                if ref not in chain:
                    chain.append(ref)
                    waiting.append(ref)
    return chain, not waiting


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
