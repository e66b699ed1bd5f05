"""The store as one client may see and change it, with records as REST answers them."""

import re
from collections.abc import Callable, Container, Iterable
from contextlib import suppress
from functools import partial
from typing import Any, Final, Protocol, TypeVar
from unicodedata import normalize

import msgspec

import worlddb
from worlddb import AmbiguousReference, IdempotencyConflict, InputError, Note, Receipt, UnknownReference, View, World
from worlddb.accounts.grant import Grant as AccountGrant
from worlddb.memory_scopes import (
    BEGINNING,
    ENTRY,
    FAR,
    KINDS,
    Label,
    Scopes,
    check_scope_name,
    composed,
    encoded_key,
    folded,
    is_visible,
    notes_inside,
    unwritten_note,
)
from worlddb.memory_statements import view_for_write
from worlddb.plain_text import is_blank
from worlddb.tools.mcp.access_keys import Grant
from worlddb.tools.mcp.session import MAX_EVENTS, ListRequest, PagedView, Session
from worlddb.tools.server import wire_values
from worlddb.tools.server.jobs import JobPool
from worlddb.tools.server.problems import note_text
from worlddb.writing import retry_while_changed

CLAIMED_TYPE: Final = "World"
"""Type of a world that the first write to its name creates."""
_REFERENCE: Final = re.compile(r"[0-9a-f]{32}|[0-9a-f]{64}")
"""A reference of a world, or of an edge."""


_NAMESAKES: Final = "Other worlds of this name lie inside other worlds and are unchanged: this is a new top-level world"
_MAX_NAMESAKES: Final = 64
"""Worlds of a name that are checked for namesakes."""


Written = TypeVar("Written")


class Moment(Protocol):
    """The moment of a read on both axes of time."""

    @property
    def ingested(self) -> str | None:
        """The ingest time."""

    @property
    def valid(self) -> str | None:
        """The valid time."""

    @property
    def seq(self) -> int | None:
        """The commit number, instead of ``ingested``."""


class ClientStore:
    """The store as one grant may use it: reads through its views, writes under its name.

    Every reference that a client gives is resolved in what that client sees, so a key of one world can neither read nor
    name anything outside of it.
    """

    def __init__(self, db: worlddb.Database, grant: Grant, workshop: JobPool) -> None:
        self.grant = grant
        self.jobs = workshop.of_key(grant.id)
        account = grant.account
        plan = None if account is None else lambda: account
        self.db = db.as_author(grant.name, account=plan)
        self.session = Session(self.db, grant.world, secret=grant.secret, user=grant.user, account=plan)

    @property
    def db_of_jobs(self) -> worlddb.Database:
        """The store for what goes on after its request: nothing is committed any more once the key has ended."""

        def plan() -> AccountGrant | None:
            self.jobs.require_key()
            return self.grant.account

        return self.db.as_author(self.grant.name, account=plan)

    @property
    def commits(self) -> bool:
        """Whether the client may see commit numbers."""
        return self.grant.world is None

    # -- reading

    def view(self, moment: Moment) -> View:
        """Return the view of a requested moment; now by default.

        Raises:
            InputError: the ingest axis was given twice.
        """
        if moment.seq is not None and moment.ingested is not None:
            raise InputError("Both seq and ingested were given", "Give one of them")
        return self.session.view(valid=moment.valid, known=moment.ingested if moment.seq is None else moment.seq)

    def page_view(self, name: str, query: Any, behind: int = 0) -> PagedView:
        """Return the view of a page: that of its cursor, else of the requested moment.

        ``name`` names the list, and ``query`` has the parameters. ``behind`` is the length in bytes of the item that a
        cursor of this list holds; 0 for lists whose cursors hold an offset.
        """
        request = ListRequest(name, query)
        moment = [getattr(query, axis, None) for axis in ("ingested", "valid", "seq")]
        if query.cursor is None:
            first = self.session.resume(None, request)
            return first if moment == [None] * 3 else first._replace(view=self.view(query))
        if moment != [None] * 3:
            raise InputError("A cursor already has a moment", "Give the cursor without ingested, valid and seq")
        return self.session.resume(query.cursor, request, most=MAX_EVENTS, behind=behind)

    def world(self, view: View, name: str) -> World:
        """Return a world by its reference, kref or name, whether it holds now, has ended or is still to come.

        Programs write the names in requests, and for them 1109 is a user and ``bo`` another one than ``BO``. So names
        are compared exactly, and a prefix of a reference is not accepted. A name finds top-level worlds only; a world
        inside another one needs its reference. For a key of one world the name of that world comes first; for a key of
        the whole store the name of the root comes last.

        Raises:
            UnknownReference, AmbiguousReference: no visible world has it; several have it.
        """
        if _is_reference(name):
            return self.session.get(view, name)
        is_confined = self.grant.world is not None
        outermost = self._outermost_named(view, name) if is_confined else None
        found = [outermost] if outermost is not None else self._find_top_level(view, name)
        if len(found) > 1:
            listed = ", ".join(f"{each.ref[:12]} ({each.type})" for each in found)
            raise AmbiguousReference(
                f"Several worlds are called {name[:80]!r}: {listed}",
                "Give the reference of one of them",
                candidates=[each.ref for each in found],
            )
        root = None if found or is_confined else self._outermost_named(view, name)
        if not found and root is None:
            raise UnknownReference(
                f"No top-level world has the reference or exactly the name {name[:80]!r}",
                "Give a full reference, or the exact name: GET /v1/worlds?name= also finds names inside other worlds"
                " and in other letters",
                ref=name[:80],
            )
        return self.session.get(view, found[0].ref) if root is None else root

    def _find_top_level(self, view: View, name: str) -> list[World]:
        """Return the top-level worlds of exactly this name, else future ones."""
        if not name.strip():
            return []
        found = view._top_level_namesakes(name, lambda each: _has_name(each, name))
        if found or self.session.world is None:
            return found
        # A future world is not inside the served world yet.
        return self.session.later(view, FAR)._top_level_namesakes(name, lambda each: _has_name(each, name))

    def _outermost_named(self, view: View, name: str) -> World | None:
        """Return the outermost visible world if it has this name."""
        top = view.get(self.session.top, include_superseded=True)
        return top if top is not None and _has_name(top, name) else None

    def ref(self, view: View, name: str) -> str:
        """Return the full reference of a visible world; raises as :meth:`world`."""
        return self.world(view, name).ref

    def refs(self, view: View, names: Any, home: str | None = None) -> list[str]:
        """Return the full references of several worlds; names are looked up in the world ``home`` first."""
        return [self._find_inside(view, name, home) or self.ref(view, name) for name in names]

    def check_seen_by_user(self, ref: str, **moment: Any) -> None:
        """Check that the user of the key, if it has one, may read a world or an edge at a moment of the store.

        Raises:
            UnknownReference: it belongs to others.
        """
        if self.session.user is None:
            return
        view = self.session.for_user(self.db.view(**moment), None)
        if not any(is_visible(look, ref) for look in (view.reference_of, view.edge)):
            raise UnknownReference(f"Nothing has the reference {ref[:80]!r}", "Give that of a world or of an edge")

    def target_ref(self, view: View, name: str) -> str:
        """Return the full reference of a world to change; raises as :meth:`world`.

        Raises:
            InputError: it is the name of the root, which a user may have too; the reference is needed.
        """
        found = self.ref(view, name)
        if self._is_root(found, name):
            raise InputError(
                f"{name[:80]!r} is the name of the whole store, not of a world in it",
                f"Choose another name; to mean the whole store, give its reference: {found}",
            )
        return found

    def is_whole_store(self, ref: str) -> bool:
        """Return whether a world is the whole store."""
        return ref == self.session.top and self.grant.world is None

    def _is_root(self, ref: str, name: str) -> bool:
        """Return whether a name, and no reference, names the root of the store."""
        return self.is_whole_store(ref) and not _is_reference(name)

    def subjects(
        self, view: View, names: Any, home: str | None = None, absent: Container[str] = ()
    ) -> tuple[list[str], list[str]]:
        """Return the full references of the subjects of a statement, and the names that no world has yet.

        If one entity and other worlds share a name, the entity is meant; names are looked up in the world ``home``
        first. Entities inside other worlds are not found by name: two users may have a Zed each. The worlds ``absent``
        count as not there. Raises as :meth:`world`, except for an unknown name.
        """
        refs, new = list[str](), dict[str, str]()
        for name in names:
            if not name.strip():
                raise InputError("A name in about is blank", "Give the name of a person or thing, or leave it out")
            ref: str | None = None
            try:
                ref = self._find_inside(view, name, home, ENTRY)
                ref = self._find_subject(view, name) if ref is None or ref in absent else ref
            except UnknownReference:
                if _is_reference(name):
                    raise
            if ref is None or (ref in absent and not _is_reference(name)):
                new.setdefault(folded(" ".join(name.split())), " ".join(name.split()))
            else:
                refs.append(ref)
        return list(dict.fromkeys(refs)), list(new.values())

    def _find_inside(self, view: View, name: str, home: str | None, type: str | None = None) -> str | None:
        """Return the only world of a name inside ``home``, comparing names exactly first, then case-folded.

        In the root only direct members are searched.
        """
        found = [] if home is None or _is_reference(name) else view.find(name=name, type=type, world=home)
        if home is not None and self.is_whole_store(home):
            found = [each for each in found if home in view.containers(each.ref)]
        exactly = [each for each in found if _has_name(each, name)]
        return (exactly or found)[0].ref if len(exactly or found) == 1 else None

    def _find_subject(self, view: View, name: str) -> str:
        try:
            found = self.ref(view, name)
            if self._is_root(found, name):
                raise UnknownReference(f"Nothing has the name {name[:80]!r} here", "Give its path", ref=name[:80])
            return found
        except AmbiguousReference:
            entities = [each for each in self._find_top_level(view, name) if each.type == ENTRY]
            if len(entities) != 1:
                raise
            return entities[0].ref

    def create_entry(self, tx: Any, at: str, home: Any, name: str, source: dict[str, Any]) -> Any:
        """Create the entity of a person or thing in a world at its first mention there, and resolve it.

        ``at`` is the reference of that world, or its name if the same commit creates it.
        """
        key = msgspec.json.encode(["entry", at, composed(name)]).decode()
        within = home if self.home() is None else self.home()
        how: dict[str, Any] = {"key": key, "key_within": within, "world": home, "source": source}
        return tx.create(ENTRY, name, **how, valid_from=BEGINNING, resolve="all", anew=True, revive=True)

    def to_wire(self, value: Any) -> Any:
        """Return a record as the client may see it."""
        return wire_values.to_wire(value, commits=self.commits)

    def moment(self, view: View) -> dict[str, Any]:
        """Return the moment of an answer."""
        return self.session.moment(view)

    # -- writing

    def commit_write(
        self,
        call: Callable[..., Any],
        *,
        key: str | None,
        rests_on: tuple[View, str] | None = None,
    ) -> Receipt:
        """Run a write and return its receipt.

        ``call`` gets the database or a batch, and perhaps an idempotency key. With ``rests_on``, the write is refused
        if that world has changed since the view.

        Raises:
            PlanLimit: the account's plan does not allow it.
            RefusedError: the reconciler refused it.
        """
        stored_key = self.key(key)
        if rests_on is None:
            receipt: Receipt = call(self.db, idempotency_key=stored_key)
        else:
            view, ref = rests_on
            with self.db.batch(idempotency_key=stored_key, seen=view, rests_on=[ref], unchanged=[ref]) as tx:
                call(tx)
            receipt = tx.receipt
        receipt.raise_if_refused()
        return receipt

    def key(self, given: str | None) -> str | None:
        """Return the stored form of an idempotency key, distinct for each account or key of the key file.

        Earlier releases shared keys between clients; a key that this client used then keeps its earlier form.
        """
        who = self.principal
        if given is None or who is None:
            return self.session.idempotency_key(given)
        own_key = self.session.idempotency_key(msgspec.json.encode([*who, given]).decode())
        earlier_key = self.session.idempotency_key(given)
        assert own_key is not None and earlier_key is not None, "a key was given"
        is_earlier = self.db.was_written(earlier_key, author=self.grant.name) and not self.db.was_written(own_key)
        return earlier_key if is_earlier else own_key

    @property
    def principal(self) -> tuple[str, str] | None:
        """Whose idempotency keys these are: an account, or a key of the key file; ``None`` without keys."""
        if self.grant.account is not None:
            return "account", self.grant.account.account
        return ("key", self.grant.name) if self.grant.id else None

    def home(self) -> str | None:
        """Return the default container of new worlds; ``None`` for the root."""
        return self.grant.world

    def view_of_write(self, key: str | None) -> View:
        """Return the view that a write reads: the present, or for a retry the state before its first commit."""
        look = view_for_write(self.db, key)
        return look if self.home() is None else self.db.view(seq=look.seq, valid=look.valid, world=self.home())

    def find_target(self, view: View, name: str, absent: Container[str] = (), *, key: str | None = None) -> str | None:
        """Return the reference of a world to write to; ``None`` if the write has to create it, as one of ``absent``.

        A retry under its stored ``key`` also finds a world whose name is erased since. If the world of an MCP scope,
        such as a user, has ended, the next write creates another one, as everywhere.

        Raises:
            UnknownReference: there is no such world, and its name looks like a reference.
            InputError: it is the name of the root, which a user may have too.
        """
        try:
            ref = self.target_ref(view, name)
        except UnknownReference:
            if _is_reference(name):
                raise
            return self._erased_target(view, name) if key is not None and self.db.was_written(key) else None
        except AmbiguousReference:
            if not self._has_ended(view, name):
                raise
            return None
        is_scope = not _is_reference(name) and ref != self.session.top and _label_of(name) is not None
        is_absent = ref in absent and not _is_reference(name)
        return None if is_absent or (is_scope and self._has_ended(view, name)) else ref

    def _erased_target(self, view: View, name: str) -> str | None:
        """Return the world that had a name when a write was first made, if that name is erased by its retry."""
        label = _label_of(name)
        key = _claim_key(name) if label is None else encoded_key(Scopes(self.db, self.home()).key(view, label))
        ref = view._keyed_reference(key)
        return ref if ref is not None and is_visible(partial(self.session.get, view), ref) else None

    def _has_ended(self, view: View, name: str) -> bool:
        """Return whether a name is that of an MCP scope whose worlds have all ended."""
        label = _label_of(name)
        return label is not None and Scopes(self.db, self.home()).ended(view, label) is not None

    def create_target(self, tx: Any, view: View, name: str) -> Any:
        """Create a world in the commit of the first write to it; an MCP scope is created as by the MCP tools."""
        if is_blank(name):
            raise InputError(f"The name of a world is blank: {name[:80]!r}", "Give a name with a visible character")
        label = _label_of(name)
        if label is not None:
            check_scope_name(label.id, f"The {label.kind}")
            scopes = Scopes(self.db, self.home())
            return scopes.write_scope(tx, scopes.key(view, label))
        key, home = _claim_key(name), self.home()
        within: dict[str, Any] = {} if home is None else {"key_within": home, "world": home}
        return tx.create(CLAIMED_TYPE, name, key=key, anew=True, **within)

    def notes_on_target(self, view: View, name: str, home: str | None, absent: Container[str] = ()) -> list[str]:
        """Return notes on the target of a write by name; ``home`` is ``None`` if the write creates it."""
        if home is None and (label := _label_of(name)) is not None:
            before = Scopes(self.db, self.home()).ended(view, label)
            if before is None and label.kind == "run":
                return []  # A run is new by nature.
            return [
                unwritten_note(label)
                if before is None
                else f"{_describe_ended(before)}: this was written to another one"
            ]
        if home is not None:
            found = self.session.get(view, home)
            return (
                [f"{_describe_ended(found)}: this was written to it, and reads mark it (in_ended)"]
                if found.closed
                else []
            )
        namesakes = (each for each in view.find(name=name, limit=_MAX_NAMESAKES) if each.ref not in absent)
        return [_NAMESAKES] if any(_has_name(each, name) for each in namesakes) else []

    def claim(self, name: str) -> str:
        """Return the reference of a world, creating it if needed; raises as :meth:`find_target`."""
        view = self.view_of_write(None)
        if (ref := self.find_target(view, name)) is not None:
            return ref
        with self.db.batch() as tx:
            self.create_target(tx, view, name)
        return str(tx.receipt.refs[0])

    def write_into(
        self, name: str, call: Callable[..., Any], *, key: str | None, rests_on: Callable[[View, str], Any] | None
    ) -> Receipt:
        """As :meth:`commit_write`, into a world that the same commit creates if needed.

        ``call`` also gets the reference of the world, and ``rests_on`` returns what the write relies on; a new world
        has no hash to rely on.
        """
        stored_key = self.key(key)

        def write(absent: Container[str]) -> Receipt:
            view = self.view_of_write(stored_key)
            ref = self.target_ref(view, name) if rests_on else self.find_target(view, name, absent, key=stored_key)
            if ref is not None:
                rested = None if rests_on is None else rests_on(self.session.view_to_write(), ref)
                return self.commit_write(partial(call, ref), key=key, rests_on=rested)
            return self._create_and_write(self.db.batch(idempotency_key=stored_key), view, name, call, absent)

        return self.write_once(write, stored_key, lambda view: filter(None, [self.find_target(view, name)]))

    def write_once(
        self, write: Callable[[Container[str]], Written], key: str | None, named: Callable[[View], Iterable[str]]
    ) -> Written:
        """Run a write that creates what it names by name and nobody has; under its stored key it has one result.

        The first call may have been decided before somebody else created the same world and committed after that. So
        what is refused as another call is tried as if the latest of the worlds that it names, by ``named``, were not
        there yet: only the same commands get the first answer.

        Raises:
            IdempotencyConflict: another call was made under the key.
        """
        try:
            return write(())
        except IdempotencyConflict:
            view = self.view_of_write(key)
            begun = {ref: min((each.seq for each in view.history(ref)), default=0) for ref in named(view)}
            latest = sorted(begun, key=lambda ref: begun[ref], reverse=True)
            for count in range(len(latest) + 1):
                with suppress(worlddb.WorldDBError):
                    return write(latest[:count])
            raise

    def update_into(
        self,
        name: str,
        update: str,
        *,
        key: str | None,
        rests_on: Callable[[View, str], Any] | None,
        **how: Any,
    ) -> Receipt:
        """As :meth:`write_into`, by an update in SPARQL."""
        stored_key, home = self.key(key), self.home()

        def write() -> Receipt:
            view = self.view_of_write(stored_key)
            ref = self.target_ref(view, name) if rests_on else self.find_target(view, name, key=stored_key)
            if ref is None:
                batch = self.db.batch(idempotency_key=stored_key, seen=view)
                return self._create_and_write(
                    batch, view, name, lambda new, tx: tx.sparql_update(update, world=new, within=home, **how)
                )
            rested = None if rests_on is None else rests_on(self.session.view_to_write(), ref)
            receipt = self.db._update_by_sparql(
                update, ref, home, stored_key, seen=None if rested is None else rested[0], **how
            )
            receipt.raise_if_refused()
            return receipt

        return retry_while_changed(write)

    def _create_and_write(
        self, batch: Any, view: View, name: str, call: Callable[..., Any], absent: Container[str] = ()
    ) -> Receipt:
        """Create a world and run the first write to it, in one commit."""
        with batch as tx:
            made = call(self.create_target(tx, view, name), tx)
        receipt: Receipt = tx.receipt
        said = self.notes_on_target(view, name, None, absent)
        notes = (*receipt.notes, *(Note("new_target", (each,)) for each in said))
        return msgspec.structs.replace(receipt, requested=receipt.refs[made.position : made.position + 1], notes=notes)

    def count_write(self) -> None:
        """Count and meter a request that turned out to be a write, against the plan.

        Raises:
            PlanLimit: the account had as many in this minute.
        """
        accounts = self.db.accounts
        if self.grant.account is not None:
            accounts.admit(self.grant.account, request=False, write=True)
        accounts.meter.count(self.grant.id, requests=0, write=True)

    def receipt(self, given: Receipt) -> dict[str, Any]:
        """Return a receipt as the client may see it; a key of one world sees nothing from outside of it."""
        proposals, notes, lost = list(given.proposals), list(given.notes), list(given.lost)
        if not self.commits:
            view = self.session.view_to_write()
            lookups: tuple[Callable[[str], object], ...] = (view.reference_of, partial(self.session.get, view))
            proposals = [ref for ref in proposals if is_visible(view.proposal, ref)]
            own = {*given.refs, *proposals}
            notes = notes_inside(notes, view, lambda ref: ref in own or any(is_visible(look, ref) for look in lookups))
            lost = [
                loss
                for loss in lost
                if any(is_visible(look, loss.ref) for look in (lookups if loss.version is not None else (view.edge,)))
            ]
        # The receipt of a write without effect has the time of the last commit, which may be outside of this world.
        ingested_at = given.ingest_time if given.events or self.commits else self.db.now()
        outcome = type(given.outcome).__name__.lower() if given.events else "unchanged"
        return {
            "outcome": "committed" if outcome == "staged" and not proposals else outcome,
            "refs": list(given.refs),
            "seq": self.session.commit_number(given.seq),
            "ingested_at": worlddb.format_time(ingested_at),
            "root": given.root if self.commits else None,
            "events": given.events if self.commits else min(given.events, 1),
            "proposals": proposals,
            "notes": [{"code": note.code, "refs": list(note.refs), "text": note_text(note)} for note in notes],
            "lost": [
                {
                    "ref": loss.ref,
                    "version": loss.version,
                    "valid": self.to_wire(worlddb.Valid(loss.valid_from, loss.valid_to)),
                }
                for loss in lost
            ],
        }


def _label_of(name: str) -> Label | None:
    """Return the MCP scope that a name such as ``user:ana`` names; ``None`` for another name."""
    kind, colon, who = name.partition(":")
    return Label(kind, who) if colon and kind in KINDS else None


def _describe_ended(world: World) -> str:
    at, path = worlddb.format_time(world.valid.end), f"/v1/worlds/{world.ref}"
    return f"{world.name!r:.80} ended at {at} (POST {path}/reassert resumes it; an earlier valid= reads it)"


def _claim_key(name: str) -> str:
    """Return the key of the world that the first write to a name creates."""
    return f"world {normalize('NFC', name)}"


def _is_reference(text: str) -> bool:
    """Return whether a text has the form of a full reference or a kref."""
    return _REFERENCE.fullmatch(text) is not None or text.startswith("kref:")


def _has_name(world: World, name: str) -> bool:
    """Return whether a world has exactly this name or alias."""
    return _normalized(name) in map(_normalized, (world.name, *world.aliases))


def _normalized(text: str) -> str:
    return normalize("NFC", text.strip())
