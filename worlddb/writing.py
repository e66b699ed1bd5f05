"""The write calls of an open store and of a batch: each makes commands."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from worlddb.log.model import errors, ids, limits, times
from worlddb.log.model import events as ev
from worlddb.log.model.blobs import EDGE_CONTEXT
from worlddb.reconciler.commands import commands as cmd
from worlddb.reconciler.commands import outcome
from worlddb.reconciler.edge_types import handler, registry
from worlddb.reconciler.similarity.verdict import Thresholds

if TYPE_CHECKING:
    from worlddb.beliefs.items import BatchReader, Decision
    from worlddb.log.beliefs.artifact import Artifact
    from worlddb.log.beliefs.kref import Kref
    from worlddb.query.view.view import View

CHANGED_MEANWHILE: Final = outcome.CHANGED_MEANWHILE
retry_while_changed = outcome.retry_while_changed


class Pending(NamedTuple):
    """The reference that a command of an unfinished batch will have."""

    batch: int
    position: int


_NAMELESS: Final = (cmd.Erase, cmd.Accept, cmd.Reject, cmd.Undo, cmd.Unlink)
"""Commands about things without a name, or for which a name does not suffice; for the first of them a kref does."""


@functools.cache
def _refs_of(kind: type[cmd.Command]) -> tuple[str, ...]:
    """The fields of a command with one or several references, which may be names."""
    forms = (cmd.Ref, cmd.Ref | None, tuple[cmd.Ref, ...])
    fields = msgspec.structs.fields(kind)
    return () if issubclass(kind, _NAMELESS[1:]) else tuple(field.name for field in fields if field.type in forms)


def check_created(
    type: str, name: str, *, aliases: Sequence[str], labels: Sequence[str], properties: Mapping[str, Any]
) -> None:
    """Check what a world is to be created with, where that is known before anything is written.

    Raises:
        InputError: one of the values cannot be stored.
    """
    from worlddb.reconciler.commands import validation

    created = cmd.Create(type=type, name=name, aliases=tuple(aliases), properties=dict(properties))
    marks = [cmd.Label(ref=bytes(ids.LINEAGE_BYTES), labels=tuple(labels))] if labels else []
    validation.check([created, *marks])


def resolve_names(
    commands: Sequence[cmd.Command], find: Callable[[str], str], idempotency_key: str | None
) -> Sequence[cmd.Command]:
    """Replace names by references.

    Raises:
        InputError: a name was given under an idempotency key, but a retry could mean another world by it.
        UnknownReference, AmbiguousReference: no world is called so; several are.
    """
    found: list[cmd.Command] | None = None
    for at, command in enumerate(commands):
        for field in _refs_of(type(command)):
            value = getattr(command, field)
            if value is None or type(value) in (bytes, int):
                continue
            several = value if type(value) is tuple else (value,)
            for each in several:
                if type(each) is str and ids.is_prefix(each):
                    _refuse_ambiguous(each, find)
            if not any(type(each) is str and not ids.is_reference(each) for each in several):
                continue
            is_by_kref = all(type(each) is not str or ids.is_kref(each) for each in several)
            if not is_by_kref and isinstance(command, _NAMELESS):
                continue
            if idempotency_key is not None and not is_by_kref:
                raise errors.InputError(
                    f"{field} is a name, and an idempotency key was given: a retry could mean another world",
                    "Give the reference: db.view().reference_of('Alice')",
                )
            refs = tuple(find(each) if type(each) is str else each for each in several)
            command = msgspec.structs.replace(command, **{field: refs if type(value) is tuple else refs[0]})
            found = list(commands) if found is None else found
            found[at] = command
    return commands if found is None else found


def _refuse_ambiguous(prefix: str, find: Callable[[str], str]) -> None:
    """Refuse a prefix of a reference that is also another world's name; raises as ``find`` for several."""
    with suppress(errors.UnknownReference):
        find(prefix)


@limits.typed_calls
class WriteCalls(ABC):
    """Every command as a method, for an open store and for a batch.

    References may be receipts, records, hex ids, unique prefixes of 4 digits and more, or the exact name or an alias
    of one world, as :meth:`View.reference_of` finds it, but not a world that the same batch creates. A text that may
    be a reference is taken for one, and is refused if it is a prefix of one and also a name. Erasures and writes
    under an idempotency key take references only.

    Times are timezone-aware ``datetime``, ISO 8601 text, dates (first instant in UTC) or integer microseconds.
    """

    _ontology: registry.Ontology

    @abstractmethod
    def _execute(self, commands: Sequence[cmd.Command], idempotency_key: str | None) -> Any:
        """Execute commands: an open store decides them at once, a batch when its block ends."""

    def _execute_on_view(
        self, commands: Sequence[cmd.Command], idempotency_key: str | None, view: View, world: Any
    ) -> Any:
        """Execute commands that rest on what a view found in a world."""
        return self._execute(commands, idempotency_key)

    def _execute_marked(
        self, command: cmd.Command, marks: Sequence[Callable[[cmd.Ref], cmd.Command]], idempotency_key: str | None
    ) -> Any:
        """Execute a command and the marks of its world; the return value stands for the command."""
        return self._execute([command, *(mark(0) for mark in marks)], idempotency_key)

    @abstractmethod
    def _execute_decision(self, look: Callable[[BatchReader], Decision]) -> Any:
        """Execute the commands that a read of the store leads to."""

    def _ref(self, ref: Any) -> cmd.Ref:
        if isinstance(ref, Pending):
            raise errors.InputError(
                "A pending reference was used outside of its batch", "Use tx.receipt.refs afterwards"
            )
        return ids.as_ref(ref)

    def _ref_if_any(self, ref: Any) -> cmd.Ref | None:
        return None if ref is None else self._ref(ref)

    def _refs(self, refs: Any) -> tuple[cmd.Ref, ...]:
        """The references that a caller gave, one or a list."""
        several = refs if isinstance(refs, list | tuple) and not isinstance(refs, Pending) else [refs]
        return tuple(self._ref(ref) for ref in several)

    def _bound_key(self, key: str | None, within: Any) -> cmd.BoundKey:
        """A key that is scoped to a world."""
        if key is None:
            raise errors.InputError(
                "key_within was given without a key", "Give the key that counts there, or leave it out"
            )
        return cmd.BoundKey(key, self._ref(within))

    # -- worlds, edges, identities and moments

    def create(
        self,
        type: str,
        name: str,
        *,
        content: str = "",
        aliases: Sequence[str] = (),
        world: Any = None,
        key: str | None = None,
        key_within: Any = None,
        valid_from: times.TimeLike | None = None,
        valid_to: times.TimeLike | None = None,
        source: dict[str, Any] | None = None,
        properties: dict[str, Any] | None = None,
        why: str = "",
        resolve: bool | str = "exact",
        revive: bool = False,
        anew: bool = False,
        expires_at: times.TimeLike | None = None,
        ttl: timedelta | float | None = None,
        labels: Sequence[str] = (),
        pinned: bool = False,
        idempotency_key: str | None = None,
    ) -> Any:
        """Make a world inside ``world`` (default: the root).

        A ``key`` finds the same world again: an unchanged text changes nothing, a changed one is a revision. Other
        arguments that differ from the existing world are ignored, and a note ``not_changed`` names them. An erased
        world stays erased unless ``revive`` allows this text to come back, and an ended one stays ended unless
        ``anew`` begins another one under its key. Keys are shared by the whole store; one with ``key_within`` finds
        only a world inside that world, and begins another one otherwise.

        ``resolve`` selects the tiers of the resolver, which look for worlds of the same type and scope with the same
        identity: "exact" by equal names, "all" also by names that are spelled or sound alike, by texts that are near
        in meaning, and by the tiebreaker of ``open``, ``False`` not at all. They are proposed, never merged unasked.

        ``properties`` are what reads may compare, such as ``{"priority": 2}``.

        ``expires_at`` or ``ttl``, ``labels`` and ``pinned`` mark it in the same commit: see :meth:`expire`,
        :meth:`label` and :meth:`pin`. Each counts as one more command, with the same reference.
        """
        command = cmd.Create(
            type=type,
            name=name,
            content=content,
            aliases=_texts(aliases, "aliases"),
            world=None if world is None else self._ref(world),
            key=key if key_within is None else self._bound_key(key, key_within),
            valid_from=_time(valid_from, "valid_from"),
            valid_to=_time(valid_to, "valid_to"),
            source={} if source is None else source,
            properties={} if properties is None else properties,
            why=why,
            resolve=True if resolve == "exact" else resolve,
            revive=revive,
            anew=anew,
        )
        marks: list[Callable[[cmd.Ref], cmd.Command]] = []
        if expires_at is not None or ttl is not None:
            marks.append(partial(_deadline, expires_at, ttl, ""))
        if labels:
            texts = _texts(labels, "labels")
            marks.append(lambda ref: cmd.Label(ref=ref, labels=texts))
        if limits.checked_flag(pinned, "pinned"):
            marks.append(lambda ref: cmd.Pin(ref=ref))
        if not marks:
            return self._execute([command], idempotency_key)
        return self._execute_marked(command, marks, idempotency_key)

    def revise(
        self,
        ref: Any,
        *,
        type: str | None = None,
        name: str | None = None,
        content: str | None = None,
        valid_from: times.TimeLike | None = None,
        valid_to: times.TimeLike | None = None,
        replace_later: bool = False,
        source: dict[str, Any] | None = None,
        properties: dict[str, Any] | None = None,
        why: str = "",
        idempotency_key: str | None = None,
    ) -> Any:
        """Give a world a new version in the window from ``valid_from`` (default: now) to ``valid_to``.

        The new version takes the window from whatever held there; what lies before and after it stays. Without
        ``valid_to`` the window ends at the next version with a stated start, or where the world was retired; with
        ``replace_later``, which excludes ``valid_to``, it replaces all that follows. Fields that are not given stay
        as they were at ``valid_from``, and so do the ``properties``; new properties replace all of them, without
        those whose value is ``None``: ``{"state": None}`` leaves none. The receipt lists in ``lost`` what earlier
        versions lost. If no field is given, nothing changes where one version holds throughout.
        """
        command = cmd.Revise(
            ref=self._ref(ref),
            type=type,
            name=name,
            content=content,
            valid_from=_time(valid_from, "valid_from"),
            valid_to=_time(valid_to, "valid_to"),
            replace_later=replace_later,
            source={} if source is None else source,
            properties={} if properties is None else properties,
            why=why,
        )
        return self._execute([command], idempotency_key)

    def retire(
        self,
        ref: Any,
        *,
        at: times.TimeLike | None = None,
        valid_from: times.TimeLike | None = None,
        valid_to: times.TimeLike | None = None,
        members: bool = False,
        why: str = "",
        idempotency_key: str | None = None,
    ) -> Any:
        """End the validity of a world or an edge from ``valid_from`` on (default: now); ``at`` is another name.

        With ``valid_to`` it makes a hole: the world holds again from then on. ``members`` also ends the members that
        nothing else contains; without it, the receipt names those that stay valid. Nothing is deleted.
        """
        begins, until = _begin(at, valid_from), _time(valid_to, "valid_to")
        command = cmd.Retire(ref=self._ref(ref), at=begins, until=until, members=members, why=why)
        return self._execute([command], idempotency_key)

    def reassert(
        self,
        ref: Any,
        *,
        content: str | None = None,
        at: times.TimeLike | None = None,
        valid_from: times.TimeLike | None = None,
        valid_to: times.TimeLike | None = None,
        why: str = "",
        idempotency_key: str | None = None,
    ) -> Any:
        """Resume a world that was retired or superseded, from ``valid_from`` on (default: now); ``at`` is another name.

        It is the same world: its key, members, edges and aliases stay. Without ``content`` it says what it said last.
        A world that had superseded it ends there.
        """
        begins = _begin(at, valid_from)
        command = cmd.Reassert(
            ref=self._ref(ref),
            content=content,
            valid_from=begins,
            valid_to=_time(valid_to, "valid_to"),
            why=why,
        )
        return self._execute([command], idempotency_key)

    def link(
        self,
        source: Any,
        type: str,
        target: Any,
        *,
        home: Any = None,
        key: str | None = None,
        key_within: Any = None,
        properties: dict[str, Any] | None = None,
        valid_from: times.TimeLike | None = None,
        valid_to: times.TimeLike | None = None,
        versions: tuple[int, int] | None = None,
        context: Mapping[str, Any] | None = None,
        why: str = "",
        idempotency_key: str | None = None,
    ) -> Any:
        """Write an edge through its type's handler. ``same_as`` is staged, not written.

        ``home`` is the world whose interior holds the edge (default: the source's). The same triple linked twice is
        two edges, unless a ``key`` is given: repeating the edge changes nothing, and another edge under the key is
        refused. With ``key_within`` an edge whose source now lies outside of that world is ignored.

        An edge names the newest version of each end, or with ``versions=(2, 1)`` that of the source and that of the
        target, 0 for the newest; a kref with ``r=`` names that of its end. So a later version of a world may be
        ``derived_from``, ``created_from``, ``refines`` or ``supports`` an earlier one of the same world.

        ``context`` records, beside ``why``, how the edge came about: ``alternatives``, ``optimises_for``,
        ``sentiment`` and ``evidence``. It is kept with the properties, and :meth:`View.states` shows it.
        """
        one, other = self._ref(source), self._ref(target)
        if isinstance(one, str) or isinstance(other, str):
            one, other, named = self._resolve_ends(one, other)
            if named is not None and versions is not None:
                raise errors.InputError("versions was given, and a kref that names one", "Give one of them")
            versions = versions if named is None else named
        command = cmd.Link(
            source_ref=one,
            type=type,
            target_ref=other,
            home=None if home is None else self._ref(home),
            key=key if key_within is None else self._bound_key(key, key_within),
            properties={} if properties is None else properties,
            valid_from=_time(valid_from, "valid_from"),
            valid_to=_time(valid_to, "valid_to"),
            why=why,
        )
        if context is not None:
            command = msgspec.structs.replace(command, properties=_with_context(command.properties, context))
        if versions is not None:
            both: Any = tuple(limits.checked_list(versions, "versions"))
            command = cmd.LinkVersions(versions=both, **msgspec.structs.asdict(command))
        return self._execute([command], idempotency_key)

    @staticmethod
    def _resolve_ends(source: cmd.Ref, target: cmd.Ref) -> tuple[cmd.Ref, cmd.Ref, tuple[int, int] | None]:
        """The ends of an edge, and the versions that krefs name, 0 for the newest; ``None`` if none is named."""
        ends, named = [source, target], [0, 0]
        for at, end in enumerate(tuple(ends)):
            if isinstance(end, str) and "?" in end and ids.is_kref(end):
                from worlddb.log.beliefs.kref import parse_kref

                asked = parse_kref(end)
                if not asked.artifact:
                    ends[at], named[at] = asked._replace(revision=None).ref, asked.revision or 0
        return ends[0], ends[1], (named[0], named[1]) if any(named) else None

    def unlink(self, edge: Any, *, why: str = "", idempotency_key: str | None = None) -> Any:
        """Retract an edge: views of earlier commits still see it. What it closed stays closed."""
        return self._execute([cmd.Unlink(edge=self._ref(edge), why=why)], idempotency_key)

    def move(
        self,
        refs: Any,
        to: Any,
        *,
        out_of: Any = None,
        valid_from: times.TimeLike | None = None,
        valid_to: times.TimeLike | None = None,
        why: str = "",
        idempotency_key: str | None = None,
    ) -> Any:
        """Move one world, or a list of them, into ``to``.

        ``out_of`` is needed if a world is in several at that time. With ``valid_to`` they are in ``to`` for that
        window, and in their old place before and after it.
        """
        command = cmd.Move(
            refs=self._refs(refs),
            to=self._ref(to),
            out_of=self._ref_if_any(out_of),
            valid_from=_time(valid_from, "valid_from"),
            valid_to=_time(valid_to, "valid_to"),
            why=why,
        )
        return self._execute([command], idempotency_key)

    def alias(self, ref: Any, *aliases: str, why: str = "", idempotency_key: str | None = None) -> Any:
        """Give a world further names, by which ``find`` and the resolver know it."""
        return self._execute([cmd.Alias(ref=self._ref(ref), aliases=aliases, why=why)], idempotency_key)

    def unalias(self, ref: Any, *aliases: str, why: str = "", idempotency_key: str | None = None) -> Any:
        """Remove aliases of a world."""
        return self._execute([cmd.Unalias(ref=self._ref(ref), aliases=aliases, why=why)], idempotency_key)

    def restate(
        self, ref: Any, *, source: dict[str, Any] | None = None, why: str = "", idempotency_key: str | None = None
    ) -> Any:
        """Record that the present or future text of a world was stated again: by whom, and in which ``source``.

        It stays one world with one text. Reads show each time under ``restated``, and its trust is that of the most
        trusted who stated it.
        """
        command = cmd.Restate(ref=self._ref(ref), source={} if source is None else source, why=why)
        return self._execute([command], idempotency_key)

    # -- items at krefs

    def create_at(
        self,
        kref: str | Kref,
        *,
        content: str | None = None,
        artifacts: Sequence[Artifact] = (),
        within: Any = None,
        valid_from: times.TimeLike | None = None,
        valid_to: times.TimeLike | None = None,
        source: dict[str, Any] | None = None,
        properties: dict[str, Any] | None = None,
        resolve: bool | str = False,
        why: str = "",
    ) -> Any:
        """Make the item of a kref, or revise it: ``kref://project/space[/sub]/item.kind``.

        The project, the spaces and the item are worlds inside one another, under keys made of the kref, inside
        ``within`` (default: the root); existing ones are found again. The kind is the item's type. Content,
        properties and artifacts that are not given stay as they are. A repeated call changes nothing, so it needs no
        idempotency key. An item that was renamed or moved keeps its name and place. The reference of the receipt is
        the item's. ``resolve`` selects the tiers of the resolver that look for the identity of a new item in the same
        project, as in :meth:`create`.

        Raises:
            InvalidKref: it breaks its form, or names a version or an artifact.
        """
        from worlddb.beliefs import items

        said = {
            "content": content,
            "source": {} if source is None else source,
            "properties": {} if properties is None else properties,
            "valid_from": _time(valid_from, "valid_from"),
            "valid_to": _time(valid_to, "valid_to"),
            "why": why,
        }
        return self._execute_decision(
            lambda reader: items.create_at(
                reader, kref, said, artifacts, reader.world(self._ref_if_any(within)), resolve
            )
        )

    def rename(self, ref: Any, name: str, *, why: str = "") -> Any:
        """Give a world another name from now on; the old name stays as an alias, and key and kref stay."""
        from worlddb.beliefs import items

        return self._execute_decision(lambda reader: items.rename(reader, self._ref(ref), name, why))

    def attach(self, ref: Any, artifact: Artifact, *, why: str = "") -> Any:
        """Attach an artifact to a world: a pointer to something stored elsewhere, which is never opened or copied.

        It writes a new version with the artifact, from now on; revisions keep it. An artifact with the same name
        replaces it.

        Raises:
            InputError: a field of it is not what it should be, or the world holds nothing now.
        """
        from worlddb.beliefs import items

        return self._execute_decision(lambda reader: items.attach(reader, self._ref(ref), artifact, why))

    def detach(self, ref: Any, name: str, *, why: str = "") -> Any:
        """Remove an artifact from a world by its name, in a new version; earlier versions still have it."""
        from worlddb.beliefs import items

        return self._execute_decision(lambda reader: items.detach(reader, self._ref(ref), name, why))

    def prefer(
        self,
        subject: Any,
        relation: str,
        object: Any,
        *,
        outcome: str | None = None,
        inferred: bool = False,
        confidence: float | None = None,
        based_on: Sequence[Any] = (),
        within: Any = None,
        properties: dict[str, Any] | None = None,
        valid_from: times.TimeLike | None = None,
        valid_to: times.TimeLike | None = None,
        why: str = "",
    ) -> Any:
        """Record a preference: to prefer, avoid or reject something or optimise for it, or the outcome of acting on it.

        ``relation`` is ``prefers``, ``avoids``, ``rejected`` or ``optimizes_for``; it is declared for the store, or
        for the world ``within``, if necessary. Each call writes an edge of its own, and the confidence in
        :meth:`View.preferences` grows with each. The reference of the receipt is the edge's; an unlinked or retired
        edge no longer counts.

        Args:
            outcome: instead of a statement, an outcome: ``acted_upon``, ``succeeded`` or ``reversed``. inferred:
            nobody stated it; it was inferred from the worlds or edges in ``based_on``. confidence: how sure the
            statement is, from 0 to 1; by default 1, or 1/2 if it was inferred.

        Raises:
            InputError: an argument is not what it should be.
        """
        from worlddb.beliefs import items

        given = {} if properties is None else properties
        said = items.preference_properties(outcome, inferred, confidence, based_on, given)
        asked = {
            "valid_from": _time(valid_from, "valid_from"),
            "valid_to": _time(valid_to, "valid_to"),
            "why": why,
        }
        ends = self._ref(subject), self._ref(object)
        return self._execute_decision(
            lambda reader: items.prefer(reader, relation, ends, said, asked, reader.world(self._ref_if_any(within)))
        )

    # -- marks: what is worth looking at

    def expire(
        self,
        ref: Any,
        *,
        expires_at: times.TimeLike | None = None,
        ttl: timedelta | float | None = None,
        why: str = "",
        idempotency_key: str | None = None,
    ) -> Any:
        """Hide a world from ``expires_at`` on, or ``ttl`` (seconds, or a ``timedelta``) after the commit.

        Its validity does not change, and nothing is deleted: views of times before the deadline show it, and others
        if they are asked for hidden worlds. A deadline by ``ttl`` moves when the world is refreshed. A new deadline
        replaces the old one; it may lie in the past.
        """
        if expires_at is None and ttl is None:
            raise errors.InputError("No deadline was given", "Give expires_at or ttl, or call unexpire")
        return self._execute([_deadline(expires_at, ttl, why, self._ref(ref))], idempotency_key)

    def unexpire(self, ref: Any, *, why: str = "", idempotency_key: str | None = None) -> Any:
        """Lift the deadline of a world: it is hidden at no time."""
        return self._execute([cmd.Expire(ref=self._ref(ref), why=why)], idempotency_key)

    def refresh(self, refs: Any, *, at: times.TimeLike | None = None, idempotency_key: str | None = None) -> Any:
        """Renew the deadlines of one world, or a list of them: each by its own ``ttl`` from now on, as one commit.

        ``at`` is when they were used, if that was earlier. Worlds with a fixed deadline, with none, or hidden by then
        stay as they are.
        """
        used = _time(at, "at")
        return self._execute([cmd.Refresh(ref=ref, at=used) for ref in self._refs(refs)], idempotency_key)

    def sweep(self, refs: Any, *, why: str = "", idempotency_key: str | None = None) -> Any:
        """Retire one world, or those of a list, if their deadline has passed.

        Pinned and refreshed worlds stay. :meth:`View.expired` lists the worlds to sweep.
        """
        return self._execute([cmd.Sweep(ref=ref, why=why) for ref in self._refs(refs)], idempotency_key)

    def label(self, ref: Any, *labels: str, why: str = "", idempotency_key: str | None = None) -> Any:
        """Add labels to a world, by which reads can filter; they are compared as names, ignoring case."""
        return self._execute([cmd.Label(ref=self._ref(ref), labels=labels, why=why)], idempotency_key)

    def unlabel(self, ref: Any, *labels: str, why: str = "", idempotency_key: str | None = None) -> Any:
        """Remove labels from a world; views of earlier commits still see them."""
        return self._execute([cmd.Unlabel(ref=self._ref(ref), labels=labels, why=why)], idempotency_key)

    def pin(self, ref: Any, *, why: str = "", idempotency_key: str | None = None) -> Any:
        """Pin a world: it comes first in an agent's contexts and profiles, and no deadline hides it."""
        return self._execute([cmd.Pin(ref=self._ref(ref), why=why)], idempotency_key)

    def unpin(self, ref: Any, *, why: str = "", idempotency_key: str | None = None) -> Any:
        """Take the pin off a world."""
        return self._execute([cmd.Pin(ref=self._ref(ref), is_pinned=False, why=why)], idempotency_key)

    def deprecate(self, ref: Any, *, why: str = "", idempotency_key: str | None = None) -> Any:
        """Hide a world from reads, now and in views of any time, unless they ask for it.

        Its validity does not change, and nothing is deleted.
        """
        return self._execute([cmd.Deprecate(ref=self._ref(ref), why=why)], idempotency_key)

    def undeprecate(self, ref: Any, *, why: str = "", idempotency_key: str | None = None) -> Any:
        """Make a deprecated world visible again."""
        return self._execute([cmd.Deprecate(ref=self._ref(ref), is_deprecated=False, why=why)], idempotency_key)

    def tag(
        self, ref: Any, tag: str, *, version: int | None = None, why: str = "", idempotency_key: str | None = None
    ) -> Any:
        """Set ``tag`` on a version of a world, by its number; by default on the one that holds now.

        Setting a tag again moves it; its history is kept. ``current`` always stands for the version that holds at a
        view's valid time, and cannot be set. Tags are compared as names, ignoring case.
        """
        return self._execute([cmd.Tag(ref=self._ref(ref), labels=(tag,), version=version, why=why)], idempotency_key)

    def untag(self, ref: Any, tag: str, *, why: str = "", idempotency_key: str | None = None) -> Any:
        """Remove a tag of a world; views of earlier commits still see it."""
        return self._execute([cmd.Untag(ref=self._ref(ref), labels=(tag,), why=why)], idempotency_key)

    # -- beliefs: see docs/beliefs.md

    def believe(
        self,
        item: Any,
        beliefs: Any,
        *,
        whole: bool = False,
        valid_from: times.TimeLike | None = None,
        valid_to: times.TimeLike | None = None,
        source: dict[str, Any] | None = None,
        why: str = "",
        idempotency_key: str | None = None,
    ) -> Any:
        """Add beliefs about a world, in the place of conflicting ones (AGM's revision).

        ``beliefs`` are values by predicate, such as ``{"summary": "cool tones", "topic": ["colour"]}``, or a list of
        pairs or atoms. ``type``, ``title`` and ``summary`` are the world's type, name and content; any other
        predicate is a property. The new version holds from ``valid_from`` on, as one of :meth:`revise` does. Existing
        beliefs change nothing. ``whole`` replaces all that the world says, except type and title. A world that does
        not hold then says only this from then on.
        """
        return self._believe(
            item, beliefs, "replace" if whole else "revise", valid_from, valid_to, source, why, idempotency_key
        )

    def expand(
        self,
        item: Any,
        beliefs: Any,
        *,
        valid_from: times.TimeLike | None = None,
        valid_to: times.TimeLike | None = None,
        source: dict[str, Any] | None = None,
        why: str = "",
        idempotency_key: str | None = None,
    ) -> Any:
        """Add beliefs about a world to the existing ones; refused if they conflict.

        See :meth:`believe`.
        """
        return self._believe(item, beliefs, "expand", valid_from, valid_to, source, why, idempotency_key)

    def _believe(
        self,
        item: Any,
        beliefs: Any,
        how: Any,
        valid_from: times.TimeLike | None,
        valid_to: times.TimeLike | None,
        source: dict[str, Any] | None,
        why: str,
        idempotency_key: str | None,
    ) -> Any:
        from worlddb.query.beliefs.belief_base import claims_of

        command = cmd.Believe(
            ref=self._ref(item),
            how=how,
            source={} if source is None else source,
            properties=claims_of(beliefs),
            valid_from=_time(valid_from, "valid_from"),
            valid_to=_time(valid_to, "valid_to"),
            why=why,
        )
        return self._execute([command], idempotency_key)

    def contract(
        self,
        beliefs: Any,
        *,
        whole: bool = False,
        each: bool = False,
        at: times.TimeLike | None = None,
        why: str = "",
        idempotency_key: str | None = None,
    ) -> Any:
        """Remove a belief: an atom ``(item, predicate, value)``, a list of them, or a plan.

        Each version that bears the belief at the valid time ``at`` (default: now) is replaced by one without it, over
        all of the time in which it holds; what was believed before is read from views of earlier commits. Several
        atoms are a compound, which is no longer believed once its least entrenched atom is gone; so only that goes,
        and nothing if not all are believed. ``each``: all of them go. ``whole``: the version itself goes, with all
        else that it says.

        A plan of :meth:`View.contraction` is executed exactly, or refused if it would now differ. :meth:`undo` with
        the receipt reverts it.
        """
        from worlddb.query.beliefs.belief_base import contraction_of

        given = contraction_of(beliefs, whole=whole, each=each, at=at, ref=self._ref)
        outlook = given.outlook or {}
        commands = [
            cmd.Contract(
                ref=item,
                properties=said,
                at=given.at,
                whole=given.whole,
                among=0 if given.each else self._next_compound(),
                expects=outlook.get(item.hex() if isinstance(item, bytes) else str(item)),
                why=why,
            )
            for item, said in given.by_item
        ]
        return self._execute(commands, idempotency_key)

    def _next_compound(self) -> int:
        """The number of the compound that is contracted next, among those that are decided together."""
        return 1

    def rollback(
        self,
        item: Any,
        version: int,
        *,
        valid_from: times.TimeLike | None = None,
        why: str = "",
        idempotency_key: str | None = None,
    ) -> Any:
        """Restore what a version of a world says, by its number, from ``valid_from`` on (default: now).

        It writes a new version, whose source names the one that it ``restores``, because closed validity never
        reopens.
        """
        command = cmd.Rollback(
            ref=self._ref(item), version=version, valid_from=_time(valid_from, "valid_from"), why=why
        )
        return self._execute([command], idempotency_key)

    def set_beliefs(
        self,
        *,
        tags: Sequence[str] = (),
        single: Sequence[str] = (),
        entrenchment: Mapping[str, str | None] | None = None,
        plain_tags: Sequence[str] = (),
        many: Sequence[str] = (),
        why: str = "",
        idempotency_key: str | None = None,
    ) -> Any:
        """Set what counts as believed in the whole store, from this commit on.

        ``tags`` bear beliefs beside ``current``, ``plain_tags`` no longer do. ``single`` are predicates with one
        value at a time, ``many`` may have several again. ``entrenchment`` maps types (ignoring case) to the measure
        by which beliefs are compared: ``recency``, ``support`` or ``confidence``; ``None`` resets it.
        """
        by_type: Any = {} if entrenchment is None else entrenchment
        if not isinstance(by_type, Mapping):
            raise errors.InputError(
                f"entrenchment is {type(by_type).__name__}", 'Give types and how, such as {"Fact": "support"}'
            )
        told: list[tuple[Any, str, str]] = [
            *(("tag", each, "bearing") for each in _texts(tags, "tags")),
            *(("tag", each, "") for each in _texts(plain_tags, "plain_tags")),
            *(("predicate", each, "single") for each in _texts(single, "single")),
            *(("predicate", each, "") for each in _texts(many, "many")),
            *(("kind", each, how or "") for each, how in by_type.items()),
        ]
        if not told:
            raise errors.InputError("No setting was given", "Give tags, single, many or entrenchment")
        commands = [cmd.SetBeliefs(what=what, named=named, how=how, why=why) for what, named, how in told]
        return self._execute(commands, idempotency_key)

    def erase(
        self,
        refs: Any,
        *,
        reason: str,
        turns: bool = False,
        everywhere: bool = False,
        forbid: bool = False,
        derived: bool = True,
        members: bool | None = None,
        idempotency_key: str | None = None,
    ) -> Any:
        """Remove the texts of one world, or of a list of them, for good.

        This is the one destructive command. All that was ever said about a world is removed: names, contents,
        aliases, reasons, provenance, and the texts of its edges and proposals. A tombstone stays and says when it was
        erased, by whom, and under which reference. ``reason`` is that reference; do not put anything into it that has
        to be erased.

        ``turns``: also the turns that the world spoke, as ``ingest`` linked them. ``everywhere``: also every other
        world that ever had one of the same contents. ``forbid``: none of the contents may be written again in any
        place, and of a world without content not its name, of whomever it is: the note ``name_forbidden`` says so.

        What was made of the texts goes with them, unless ``derived`` is false: worlds that are ``derived_from`` an
        erased one, summaries that contain one, and what an extractor found in erased turns alone.

        ``members``: also all that the world contains, at any depth, but for what lies in another world too or is
        referred to from outside: that stays, and the receipt says so. By default so for scopes, users and tenants; of
        any other world that contains something, say whether it goes.

        What others say in the same words stays; the note ``same_words_stay`` names up to 20 of them. It is in this
        receipt alone, and neither in the log nor in that of a retry. So is ``still_told``, which names others that may
        tell what was erased, as the note of :meth:`Memory.forget` does.

        Costs time, and for a while room on the disk, in proportion to the store, however many worlds are erased.

        Raises:
            MembersNotSaid: the world contains others, and nobody said whether these go too.
        """
        how: Any = {"everywhere": everywhere, "forbid": forbid, "derived": derived, "members": members}
        commands = self._erasures(refs, reason, turns=turns, **how)
        if not commands:
            raise errors.InputError("Nothing was named to erase", "Give at least one reference")
        return self._execute(commands, idempotency_key)

    def _erasures(self, refs: Any, why: str, **how: Any) -> list[cmd.Erase]:
        return [cmd.Erase(ref=ref, why=why, **how) for ref in self._refs(refs)]

    def erase_literal(
        self, world: Any, literal: Any, *, reason: str, everywhere: bool = False, idempotency_key: str | None = None
    ) -> Any:
        """Remove the text of one literal from a world's statements for good; the rest of the statements stays.

        ``literal`` is a :class:`worlddb.Literal`, or its N-Triples text. It goes wherever the statements of the world
        ever named it, past ones too, and in the forks of the world; so do terms that are triples with it. A statement
        that has it is not among the statements any more: history, journal, diff and proofs show that it was there, and
        that a text of it was erased. What other worlds state stays, unless ``everywhere`` takes it from all of them,
        and so does what sources and reasons say. ``reason`` is the reference under which it is done; it is kept, and
        holds nothing that has to be erased.

        Costs time, and for a while room on the disk, in proportion to the store. A retry under an idempotency key is
        told from another request by the world and the reason alone: the text is kept nowhere.

        Raises:
            InputError: it is no literal.
        """
        return self._execute([self._literal_erasure(world, literal, reason, everywhere)], idempotency_key)

    def _literal_erasure(self, world: Any, literal: Any, reason: str, everywhere: bool) -> cmd.EraseLiteral:
        from worlddb.query.statements.statement_reads import text_of

        return cmd.EraseLiteral(ref=self._ref(world), literal=text_of(literal), why=reason, everywhere=everywhere)

    def accept(self, proposal: Any, *, why: str = "", idempotency_key: str | None = None) -> Any:
        """Accept a staged identity: an equivalence from now on, never a rewrite."""
        return self._execute([cmd.Accept(proposal=self._ref(proposal), why=why)], idempotency_key)

    def reject(self, proposal: Any, *, why: str = "", idempotency_key: str | None = None) -> Any:
        """Reject a staged identity; both sides stay independent."""
        return self._execute([cmd.Reject(proposal=self._ref(proposal), why=why)], idempotency_key)

    def undo(self, proposal: Any, *, why: str = "", idempotency_key: str | None = None) -> Any:
        """Undo an accepted identity; both sides become independent again.

        Given the number of a commit, or the receipt of :meth:`believe`, :meth:`contract`, :meth:`rollback`,
        :meth:`revise`, :meth:`retire`, :meth:`tag` or :meth:`deprecate`, it reverts that commit: beliefs, tags and
        deprecations become as they were, in new versions. It is refused if any of that was changed since, or if the
        commit did more.
        """
        commit = _commit_of(proposal)
        if commit is not None:
            return self._execute([cmd.TakeBack(commit=commit, why=why)], idempotency_key)
        try:
            return self._execute([cmd.Undo(proposal=self._ref(proposal), why=why)], idempotency_key)
        except errors.UnknownReference:
            if not isinstance(proposal, outcome.Receipt):
                raise
            # The receipt of an edge: whatever that commit did, the refusal says so.
            return self._execute([cmd.TakeBack(commit=proposal.seq, why=why)], idempotency_key)

    def bookmark(
        self,
        name: str,
        *,
        at: times.TimeLike | None = None,
        seq: int | None = None,
        move: bool = False,
        why: str = "",
        idempotency_key: str | None = None,
    ) -> Any:
        """Name a moment: the commit ``seq``, an ingest time ``at``, or by default the head.

        The name then serves ``view(bookmark=...)`` and ``replay(bookmark=...)``. A name that is taken is refused,
        unless ``move`` is true; its history is kept. The receipt's ``ref`` is the commit's chain hash.
        """
        command = cmd.Bookmark(name=name, at=_time(at, "at"), seq=seq, move=move, why=why)
        return self._execute([command], idempotency_key)

    # -- what holds from now on: edge types, the resolver's thresholds, the embedding space in use

    def register(
        self,
        edge_type: handler.EdgeHandler | str,
        *,
        world: Any = None,
        functional: bool = False,
        why: str = "",
        idempotency_key: str | None = None,
    ) -> Any:
        """Register an edge type for a world (default: the whole store) and all that it contains.

        Give the type's handler, or the name of a built-in type to set ``functional``: then a second edge of the type
        from one world, valid at the same time and with another target, is a conflict of the two targets. The
        registration nearest to an edge's home applies. Registering the same again writes no event; other code
        replaces the registration of the same world. The reference of the receipt is the world's.
        """
        told = self._ontology.describe_registration(edge_type)
        command = cmd.Register(
            type=told.type,
            handler_version=told.handler_version,
            digest=told.digest,
            digest_of=told.digest_of,
            rewrites=told.rewrites,
            functional=functional,
            world=self._ref_if_any(world),
            why=why,
        )
        return self._execute([command], idempotency_key)

    def define_relation(
        self,
        name: str,
        *,
        functional: bool = False,
        succession: bool = False,
        acyclic: bool = False,
        symmetric: bool = False,
        inverse: str | None = None,
        world: Any = None,
        why: str = "",
        idempotency_key: str | None = None,
    ) -> Any:
        """Declare a relation by its name and its laws, for a world (default: the whole store) and all inside.

        It needs no class: the laws are in the log, so every process can link by the name, and a bundle carries it.
        Defining the same again writes no event; other laws are refused: :meth:`unregister` it first. Its edges keep
        what was decided. The reference of the receipt is the world's.

        Args:
            functional: a second target of one source at a time is recorded as a contradiction of the two. succession:
            the targets of one source follow one another: each holds until the next one begins. acyclic: an edge that
            would close a cycle is refused, with the path back. symmetric: reads show it from both ends. It combines
            only with ``functional``: then each world is joined to one other at a time.
            inverse: the name by which reads follow it from target to source, such as ``employs`` for ``works_at``.

        Raises:
            InputError: the laws do not go together.
        """
        flags = {"functional": functional, "succession": succession, "acyclic": acyclic, "symmetric": symmetric}
        for what, flag in flags.items():
            limits.checked_flag(flag, what)
        if inverse is not None:
            limits.checked_text(inverse, "inverse", limits.MAX_TYPE_BYTES, empty=False)
        command = cmd.Register(
            type=name,
            handler_version=1,
            digest=ev.Laws(succession, acyclic, symmetric, inverse or "").packed(),
            digest_of="laws",
            functional=functional,
            world=self._ref_if_any(world),
            why=why,
        )
        return self._execute([command], idempotency_key)

    def unregister(
        self, edge_type: str, *, world: Any = None, why: str = "", idempotency_key: str | None = None
    ) -> Any:
        """End the registration of an edge type in a world (default: the store's); its edges stay."""
        command = cmd.Unregister(type=edge_type, world=self._ref_if_any(world), why=why)
        return self._execute([command], idempotency_key)

    def set_profile(
        self,
        world: Any,
        profile: str = "",
        *,
        node_types: Sequence[str] = (),
        relations: Sequence[str] = (),
        why: str = "",
        idempotency_key: str | None = None,
    ) -> Any:
        """Close the vocabulary of a world (``None``: of the whole store) and of all that it contains.

        From now on it accepts only worlds of these types and edges of these relations; a refusal names the allowed
        ones. ``contains`` and ``same_as`` are always allowed, and existing worlds stay. ``profile`` is a built-in one
        (``arbiter``), or a name for the given types and relations. Every profile around a world applies to it.
        Setting the same again writes no event. The reference of the receipt is the world's.

        Raises:
            InputError: no node type is given, and no profile of that name ships.
        """
        limits.checked_text(profile, "profile", limits.MAX_TYPE_BYTES)
        if not node_types and not relations and profile in cmd.PROFILES:
            node_types, relations = cmd.PROFILES[profile]
        types = _texts(node_types, "node_types")
        if not types:
            raise errors.InputError(
                f"The profile {errors.shown(profile)} has no node types",
                f"Give node_types=[...], or one that ships: {', '.join(cmd.PROFILES)}; lift_profile opens a world",
            )
        command = cmd.SetProfile(
            profile=profile or "own",
            node_types=types,
            relations=_texts(relations, "relations"),
            world=self._ref_if_any(world),
            why=why,
        )
        return self._execute([command], idempotency_key)

    def lift_profile(self, world: Any, *, why: str = "", idempotency_key: str | None = None) -> Any:
        """Open the vocabulary of a world (``None``: of the whole store) again; profiles around it still apply."""
        return self._execute([cmd.SetProfile(profile="", world=self._ref_if_any(world), why=why)], idempotency_key)

    def tune(
        self,
        thresholds: Thresholds,
        *,
        world: Any = None,
        type: str = "",
        why: str = "",
        idempotency_key: str | None = None,
    ) -> Any:
        """Set the resolver's thresholds for a world (default: the whole store) and its interior.

        They apply to candidates of ``type``, or of every type by default. The nearest ones apply, and in one world
        those of the candidate's type; where none are set, those with which the store was opened. Setting the same
        again writes no event. The reference of the receipt is the world's.
        """
        if not isinstance(thresholds, Thresholds):
            raise errors.InputError(f"thresholds is {thresholds.__class__.__name__}", "Give Thresholds(...)")
        command = cmd.Tune(
            fuzzy=thresholds.fuzzy,
            phonetic=thresholds.phonetic,
            embedding=thresholds.embedding,
            margin=thresholds.margin,
            most=thresholds.most,
            type=type,
            world=self._ref_if_any(world),
            why=why,
        )
        return self._execute([command], idempotency_key)

    def untune(self, *, world: Any = None, type: str = "", why: str = "", idempotency_key: str | None = None) -> Any:
        """Remove thresholds that were set for a world.

        Those of a type (default: every type) in a world (default: the whole store).
        """
        return self._execute([cmd.Untune(type=type, world=self._ref_if_any(world), why=why)], idempotency_key)

    def guard(
        self,
        *,
        credentials: str | None = None,
        personal: str | None = None,
        world: Any = None,
        why: str = "",
        idempotency_key: str | None = None,
    ) -> Any:
        """Set how writes into a world (default: the store) handle credentials and personal data.

        Each is "off", "warn" or "enforce"; "inherit" removes the setting of this world. By default credentials are
        enforced, which refuses the write (``credential_rejected``), and personal data is off. Enforcing personal data
        removes it from the text (:func:`worlddb.redact`). "warn" writes the text unchanged, with a note. A setting
        holds for the world's interior too; the nearest world with a setting counts.
        """
        for what, mode in (("credentials", credentials), ("personal", personal)):
            if mode == "":  # It is how the command says inherit.
                raise errors.InputError(f"There is no mode '' for {what}", "Give one of: off, warn, enforce, inherit")
        said: Any = ["" if mode == "inherit" else mode for mode in (credentials, personal)]
        command = cmd.Guard(credentials=said[0], personal=said[1], world=self._ref_if_any(world), why=why)
        return self._execute([command], idempotency_key)

    @abstractmethod
    def _view_for_key(self, idempotency_key: str | None) -> View:
        """The present state, or for a retry that of the commit under the key."""

    @abstractmethod
    def _entropy_for(self, idempotency_key: str | None) -> Callable[[], bytes]:
        """A source of sixteen unguessable bytes, the same ones again under the same key."""

    def state(
        self,
        world: Any,
        statements: Iterable[Any],
        *,
        valid_from: times.TimeLike | None = None,
        valid_to: times.TimeLike | None = None,
        source: Mapping[str, Any] | None = None,
        idempotency_key: str | None = None,
    ) -> Any:
        """State RDF statements in a world, in a window (default: from now on). All of them are one commit.

        A statement is a tuple (subject, predicate, object) or (subject, predicate, object, graph) of terms, or of
        their N-Triples texts, or a :class:`worlddb.Statement`. Statements that already hold in the window are not
        stated again. A blank node that is not the store's gets a UUID, the same for one label throughout the call.

        Raises:
            InputError: something is no statement; the message names its place, and nothing is written.
        """
        drawn = self._entropy_for(idempotency_key)
        commands = self._state_commands(world, statements, valid_from, valid_to, source, drawn)
        return self._execute(commands, idempotency_key)

    def unstate(
        self,
        world: Any,
        statements: Iterable[Any] | None = None,
        *,
        subject: Any = None,
        predicate: Any = None,
        object: Any = None,
        graph: Any = "any",
        at: times.TimeLike | None = None,
        idempotency_key: str | None = None,
    ) -> Any:
        """Take statements of a world back: the given ones, or those that hold now and match a pattern.

        With ``at`` they hold until then; without it, they never held. Views of earlier commits see them as before.

        Raises:
            InputError: something is no statement, or both statements and a pattern were given.
        """
        given, drawn = (subject, predicate, object), self._entropy_for(idempotency_key)
        if statements is None:
            view = self._view_for_key(idempotency_key)
            found = view.statements(self._ref(world), *given, graph)
            return self._execute_on_view(self._unstate_commands(world, found, at, drawn), idempotency_key, view, world)
        if any(each is not None for each in given) or graph != "any":
            raise errors.InputError("Both statements and a pattern were given", "Give one of them")
        return self._execute(self._unstate_commands(world, statements, at, drawn), idempotency_key)

    def change_statements(
        self,
        world: Any,
        *,
        remove: Iterable[Any] = (),
        add: Iterable[Any] = (),
        idempotency_key: str | None = None,
    ) -> Any:
        """Take some statements of a world back and state others, as one commit.

        Raises:
            InputError: something is no statement.
        """
        drawn = self._entropy_for(idempotency_key)
        removed = self._unstate_commands(world, remove, None, drawn)
        return self._execute([*removed, *self._state_commands(world, add, None, None, None, drawn)], idempotency_key)

    def read_rdf(
        self,
        world: Any,
        file: str | Path | bytes | IO[bytes],
        format: str | None = None,
        *,
        base: str | None = None,
        graph: Any = None,
        valid_from: times.TimeLike | None = None,
        valid_to: times.TimeLike | None = None,
        source: Mapping[str, Any] | None = None,
        idempotency_key: str | None = None,
    ) -> Any:
        """State the contents of an RDF file in a world, as one commit; blank nodes belong to one file only.

        Args:
            file: its path, its bytes, or a stream of them.
            format: ``turtle``, ``trig``, ``ntriples``, ``nquads``, ``jsonld`` or ``rdfxml``, or a media type; by
                default what the file's name ends with.
            base: the IRI that relative ones are taken from.
            graph: the name of the graph for what the file puts into none.
            valid_from, valid_to, source, idempotency_key: as :meth:`state` takes them.

        Raises:
            MalformedFile: the file breaks its format; line and column are named, and nothing is written.
            InputError: nothing says the format, the file cannot be read, or ``graph`` is no name of one.
        """
        from worlddb.query.sparql import rdf_formats
        from worlddb.query.statements import statement_reads

        drawn = self._entropy_for(idempotency_key)
        rows = rdf_formats.read_rows(file, lambda: drawn().hex(), format, base)
        if graph is not None:
            name = statement_reads.text_of(graph)
            rows = (row if row[3] is not None else (*row[:3], name) for row in rows)
        commands = self._state_commands(world, rows, valid_from, valid_to, source, drawn)
        return self._execute(commands, idempotency_key)

    def _state_commands(
        self,
        world: Any,
        statements: Iterable[Any],
        valid_from: times.TimeLike | None,
        valid_to: times.TimeLike | None,
        source: Mapping[str, Any] | None,
        drawn: Callable[[], bytes],
    ) -> list[cmd.Command]:
        from worlddb.statements import stating

        ref, begins, ends = self._ref(world), _time(valid_from, "valid_from"), _time(valid_to, "valid_to")
        said = {} if source is None else dict(source)

        def make(terms: tuple[str, ...], quads: tuple[int, ...]) -> cmd.Command:
            return cmd.State(ref=ref, aliases=terms, quads=quads, valid_from=begins, valid_to=ends, source=said)

        return stating.commands(make, statements, drawn)

    def _unstate_commands(
        self, world: Any, statements: Iterable[Any], at: times.TimeLike | None, drawn: Callable[[], bytes]
    ) -> list[cmd.Command]:
        from worlddb.statements import stating

        ref, ends = self._ref(world), _time(at, "at")
        return stating.commands(
            lambda terms, quads: cmd.Unstate(ref=ref, aliases=terms, quads=quads, at=ends), statements, drawn
        )

    def trust(
        self,
        level: str | None,
        *,
        author: str | None = None,
        source: Mapping[str, Any] | None = None,
        world: Any = None,
        why: str = "",
        idempotency_key: str | None = None,
    ) -> Any:
        """Set the level of trust of something: ``none``, ``low``, ``fair`` or ``full``; ``None`` removes it.

        The level is that of an ``author``, of one field of a ``source`` (such as ``{"file": "notes.md"}``;
        ``imported.store`` is the store of origin of a bundle), of a ``world`` with its interior, or, without any of
        these, of everything that has no other level. Recalls filter and rank by it (``min_trust``, ``trust_weight``).
        Repeating the same level writes no event. The receipt's ``ref`` is the world's.

        Raises:
            InputError: there is no such level, or more than one thing was named.
        """
        return self._execute([_trust_command(level, author, source, self._ref_if_any(world), why)], idempotency_key)

    def use_space(self, name: str, *, why: str = "", idempotency_key: str | None = None) -> Any:
        """Make another embedding space answer; it must have vectors for all that the present one has.

        ``reembed`` does it when it has filled a space. Views of earlier commits go on with the space of their time. The
        receipt's ``ref`` is the chain hash of the commit that opened the space.
        """
        return self._execute([cmd.UseSpace(name=name, why=why)], idempotency_key)

    def drop_space(self, name: str, *, why: str = "", idempotency_key: str | None = None) -> Any:
        """Drop an embedding space that no longer answers: its index is deleted, and it takes no vectors.

        Its vectors stay in the log, where only :meth:`erase` deletes: ``exact`` reads of the time before compare them.
        """
        return self._execute([cmd.DropSpace(name=name, why=why)], idempotency_key)


def _commit_of(given: Any) -> int | None:
    """The number of a commit, given by itself or by a receipt about worlds; else ``None``."""
    if isinstance(given, int) and not isinstance(given, bool):
        return given
    if isinstance(given, outcome.Receipt) and len(given.ref) == 2 * ids.LINEAGE_BYTES:
        return given.seq
    return None


def _time(value: times.TimeLike | None, what: str) -> int | None:
    return None if value is None else times.parse_time(value, what)


def _begin(at: times.TimeLike | None, valid_from: times.TimeLike | None) -> int | None:
    """The time from which on something is, given under either name."""
    limits.refuse_both(at=at, valid_from=valid_from)
    return _time(at, "at") if valid_from is None else _time(valid_from, "valid_from")


def _with_context(properties: Any, context: Any) -> Any:
    """The properties of an edge, with its context."""
    others = [name for name in context if name not in EDGE_CONTEXT] if isinstance(context, Mapping) else [context]
    if others:
        raise errors.InputError(
            f"context has {errors.shown(others[0])}",
            f"Give some of: {', '.join(EDGE_CONTEXT)}; the rest are properties",
        )
    twice = sorted(set(context) & set(properties))
    if twice:
        raise errors.InputError(f"{twice[0]} is in context and in properties", "Give it once")
    return {**properties, **context}


def _texts(values: Sequence[str], what: str) -> tuple[str, ...]:
    if type(values) is tuple:
        return values
    if isinstance(values, str):
        raise errors.InputError(f"{what} is one text, not a list of them", f"Give {what}=[{values[:40]!r}]")
    if not isinstance(values, Sequence):
        raise errors.InputError(f"{what} is {type(values).__name__}, not a list of texts", f"Give {what}=[...]")
    return tuple(values if isinstance(values, list | tuple) else islice(values, limits.MAX_ALIASES + 1))


def _deadline(expires_at: times.TimeLike | None, ttl: timedelta | float | None, why: str, ref: cmd.Ref) -> cmd.Expire:
    limits.refuse_both(expires_at=expires_at, ttl=ttl)
    if ttl is None:
        return cmd.Expire(ref=ref, at=_time(expires_at, "expires_at"), why=why)
    return cmd.Expire(ref=ref, lasts=times.parse_duration(ttl, "ttl"), why=why)


def _trust_command(level: str | None, author: str | None, source: Any, world: Any, why: str) -> cmd.Trust:
    named = [name for name, given in (("author", author), ("source", source), ("world", world)) if given is not None]
    if len(named) > 1:
        raise errors.InputError(f"Trust was said of {' and '.join(named)} at once", "Say it of one at a time")
    of: Any = named[0] if named else "rest"
    field, value = "", author
    if source is not None:
        if not isinstance(source, Mapping) or len(source) != 1:
            raise errors.InputError("source does not name one field", 'Give one, such as {"file": "notes.md"}')
        ((field, value),) = source.items()
        if not isinstance(value, str | int | float):
            raise errors.InputError(
                f"The field of the source is {type(value).__name__}", "Give its text or its number, as it was written"
            )
        value = str(value)
    if level == "":
        raise errors.InputError(
            "There is no level of trust ''", "Give one of: none, low, fair, full; None takes it back"
        )
    said: Any = "" if level is None else level
    name: Any = "" if value is None else value
    return cmd.Trust(of=of, level=said, type=field, name=name, world=world, why=why)
