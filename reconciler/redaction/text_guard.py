"""Guard the texts of a request before it is committed, since a log keeps everything.

Personal data is redacted in a command before it is decided, so that nothing derives from it. Credentials are searched
for in everything that a decided request would write, so that none gets in by a bundle or an extractor either. The
guards are settings of worlds (:mod:`worlddb.projections.tables.apply.settings`), looked up only for texts with
findings. Notes name texts by their places and never quote them.

Personal data is redacted in texts, never in ids: two users whose addresses both became ``[email]`` would be one.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final
from urllib.parse import unquote

import msgspec

from worlddb.log.model import blobs, errors, ids
from worlddb.log.model import events as ev
from worlddb.log.redaction import credentials, personal_data
from worlddb.log.store.environment import Environment
from worlddb.projections.tables.apply import settings
from worlddb.projections.tables.storage import rows, schema
from worlddb.reconciler.commands import commands as cmd
from worlddb.reconciler.commands import outcome
from worlddb.reconciler.transaction import context

MAX_PLACES_NAMED: Final = 32
"""How many places a note names; it gives the number of the others."""
_TEXT_FIELDS: Final = ("name", "content", "why", "aliases", "labels", "source", "properties")
"""The fields that may hold a caller's text."""
_CALLER_TYPED_COMMANDS: Final = (cmd.Create, cmd.Revise, cmd.Register, cmd.Tune, cmd.Trust)
"""Commands whose type is a caller's word; it is not redacted."""
_REMOVING_COMMANDS: Final = (cmd.Unalias, cmd.Unlabel, cmd.Untag, cmd.Contract)
"""Commands that remove names that are in the store already."""
_NAMES_KEPT_COMMANDS: Final = (
    *(cmd.Trust, cmd.UseSpace, cmd.DropSpace, cmd.KeepReceipt, cmd.SetAccount, cmd.MakeKey),
    *_REMOVING_COMMANDS,
)
"""Commands whose names identify their subject, or are proved; redacting them would change the subject."""
ALWAYS_SCANNED_COMMANDS: Final = frozenset(
    (cmd.Register, cmd.Tune, cmd.SetBeliefs, cmd.SetProfile, cmd.SetPlan, cmd.Import)
)
"""Commands that are always searched: their texts are in an event, or they bring personal data of others."""
_WORLD_FIELDS: Final = ("home", "ref", "source_ref", "edge", "to", "into", "world")
"""The fields that name the world of a text; the first one given counts."""
_SCOPE_TYPES: Final = frozenset(("scope", "user"))
"""Types of worlds, in any case, that are identified by their names alone."""
_KEY_NAMED_TYPES: Final = frozenset(("entity", "session", "conversation", "namespace", "item"))
"""Types of worlds whose name is an id if it is a part of their key; else it may be a title or a text."""
_ID_FIELDS: Final = frozenset(
    (
        *("id", "ids", "uid", "uuid", "ref", "kref", "user", "agent", "session", "app", "run", "thread", "channel"),
        *("namespace", "scope", "tenant", "account"),
    )
)
_ID_SUFFIXES: Final = ("_id", "_ids", "_key", "_ref", "Id", "Ids")
"""Suffixes of the names of fields that hold an id."""
_SOURCE_FIELDS: Final = frozenset(("key", "message"))
"""Fields of a source that hold an id if they are one word."""

Read = Mapping[str, tuple[str, Sequence[credentials.Finding]]]
"""A redactor's results: the redacted text and the findings, by text."""


IsRead = Callable[[str, str, Any], bool]
"""A test whether the value of a field is searched, by its place, name and value."""


class UnreadGuardedText(outcome.OutdatedTexts):
    """A text is guarded by now that the redactor has not read: the request starts again."""


def read_ahead_of_lock(
    env: Environment, redactor: personal_data.Redactor | None, commands: Sequence[cmd.Command]
) -> Read | None:
    """Run a caller's redactor on the texts of commands, before the store is locked, since it may be slow.

    Returns ``None`` without a redactor, or if no world is guarded.

    Raises:
        InputError: the redactor returned something other than a text and places in it.
    """
    if redactor is None:
        return None
    with env.read() as txn:
        if not settings.is_anything_guarded(rows.Tables(txn)):
            return None
    known = ids_of(commands)
    said = {text for command in commands for _, text in _personal_texts(command, known)}
    return {text: _ask_redactor(redactor, text) for text in sorted(said)}


def _ask_redactor(redactor: personal_data.Redactor, text: str) -> tuple[str, Sequence[credentials.Finding]]:
    try:
        given, places = redactor(text)
        found = [credentials.Finding(str(kind), int(start), int(end)) for kind, start, end in places]
    except (TypeError, ValueError) as error:
        raise errors.InputError(
            f"The redactor failed: {type(error).__name__}", "Return a text and its places"
        ) from None
    if type(given) is not str or any(not 0 <= each.start < each.end <= len(text) for each in found):
        raise errors.InputError("The redactor returned no text, or a place outside it", "Return a text and its places")
    return given, found


class TextGuard:
    """Applies the guards of worlds to the texts of one request."""

    def __init__(self, ctx: context.Context, read: Read | None) -> None:
        self._ctx = ctx
        self._read = read
        self._modes: dict[int, settings.Guards] = {}
        self._notes: dict[str, list[str]] = {}
        self._ids = ids_of(ctx.request)

    # -- personal data

    def without_personal_data(self, position: int, command: cmd.Command) -> cmd.Command:
        """The command to decide, redacted where its guard enforces it; findings are noted."""
        if isinstance(command, cmd.Guard | cmd.Move | cmd.Link | cmd.Unlink):
            self._modes.clear()  # After such a command, containers or guards may differ.
        mode = self._guards(command).personal
        if mode == "off":
            return command
        code = "redacted" if mode == "enforce" else "personal_data_found"
        for place, text in _personal_texts(command, self._ids):
            kinds = Counter(each.kind for each in self._redacted(text)[1])
            self._add_note(code, position, place, (f"{kind} ×{n}" if n > 1 else kind for kind, n in kinds.items()))
        if mode == "warn":
            return command
        return redact_command(command, lambda text: self._redacted(text)[0], self._ids)

    def _redacted(self, text: str) -> tuple[str, Sequence[credentials.Finding]]:
        if self._read is None:
            return personal_data.redact(text)
        known = self._read.get(text)
        if known is None:
            raise UnreadGuardedText
        return known

    # -- credentials

    def refuse_credentials(self, commands: Sequence[cmd.Command]) -> None:
        """Refuse the request if it would write a credential where the guard enforces that; elsewhere note it.

        It reads every text, so it is called only if a quick test has found a possible credential.
        """
        self._modes.clear()
        for found in credentials.find_credentials(self._ctx.draft.author):
            self._apply_credential_mode(0, "author", found, schema.ROOT_NODE)
        for position, command in enumerate(commands):
            for place, text in (*_command_texts(command), *_type_texts(command)):
                for found in credentials.find_credentials(text):
                    self._apply_credential_mode(position, place, found, self._home_once_decided(position, command))
        if self._ctx.arrival is not None:
            into = self._home(self._ctx.arrival.command)
            for place, text in self._bundle_texts(_is_any_text):
                for found in credentials.find_credentials(text):
                    self._apply_credential_mode(0, place, found, into)
            if self._guards(self._ctx.arrival.command).personal == "enforce":
                for place, text in self._bundle_texts(_is_prose):
                    if personal_data.find_personal_data(text):
                        self._refuse_personal(place)
        self.note()

    def _bundle_texts(self, is_read: IsRead) -> Iterator[tuple[str, str]]:
        """The texts of a bundle, with their places; ids only if ``is_read`` accepts them."""
        said = [blob for _, blob in self._bundle_blobs()]
        users = {each.name.partition(":")[2] for each in said if isinstance(each, blobs.Body) and _is_scope(each.type)}
        for number, blob in self._bundle_blobs():
            if isinstance(blob, blobs.Body):
                content = blob.content
                if is_read is _is_prose:
                    content = content[len(_speaker_prefix(blob.type, content, users)) :]
                if is_read is _is_any_text or not (_is_scope(blob.type) or blob.name in users):
                    yield f"name of text {number} of the bundle", blob.name
                yield f"content of text {number} of the bundle", content
            elif isinstance(blob, blobs.Details):
                fields = {"aliases": blob.aliases, "why": blob.why, "source": blob.source}
                fields["properties"] = blob.properties
                for field, value in fields.items():
                    within = _texts_within(value, field, is_read)
                    yield from ((f"{place} of text {number} of the bundle", text) for place, text in within)

    def _bundle_blobs(self) -> Iterator[tuple[int, Any]]:
        yield from enumerate(self._ctx.draft.blobs.said_since(1, 0), 1)

    def _apply_credential_mode(self, position: int, place: str, found: credentials.Finding, home: int) -> None:
        mode = self._guards_at(home).credentials
        if mode == "warn":
            self._add_note("credential_found", position, place, (f"{found.kind} at {found.start} to {found.end}",))
        if mode != "enforce":
            return
        try:
            self._ctx.refuse(
                "credential_rejected",
                f"The {place} holds what looks like a credential ({found.kind}) at characters {found.start} "
                f"to {found.end}, and the log would keep it",
                "Leave it out; if it is not one, or has to stay, guard the world with credentials='warn'",
            )
        except outcome.Refusal as refusal:
            refusal.command = position
            raise

    def _refuse_personal(self, place: str) -> None:
        self._ctx.refuse(
            "personal_data_rejected",
            f"The {place} holds personal data, which cannot be removed from a bundle without breaking it",
            "Export it from a store in which it was redacted, or guard the world with personal='warn'",
        )

    # -- guards of worlds
    def _guards(self, command: cmd.Command) -> settings.Guards:
        return self._guards_at(self._home(command))

    def _guards_at(self, home: int) -> settings.Guards:
        if not self._ctx.guarded:
            return settings.UNGUARDED
        known = self._modes.get(home)
        if known is None:
            tables, seq = self._ctx.tables, self._ctx.draft.seq
            known = self._modes[home] = settings.guards_at(tables, home, tables.containers, seq)
        return known

    def _home(self, command: cmd.Command) -> int:
        """The world whose guard applies to a command's texts; an unknown reference is refused later."""
        ref = next((given for each in _WORLD_FIELDS if (given := getattr(command, each, None)) is not None), None)
        try:
            if isinstance(command, cmd.Create) and command.key is not None:
                known = self._ctx.tables.node_of(self._ctx.lineage_of(command.key))
                if known is not None:
                    return known
            if ref is None:
                return schema.ROOT_NODE
            found = context.node_or_edge_ref(self._ctx, ref)
        except errors.InputError:
            return schema.ROOT_NODE
        if isinstance(found, int):
            return found
        place = self._ctx.tables.place_of(found)
        return schema.ROOT_NODE if place is None else self._ctx.tables.edge(place).home

    def _home_once_decided(self, position: int, command: cmd.Command) -> int:
        """The same once the request is decided: the world that a command created or changed, if there is one."""
        if isinstance(command, cmd.Create | cmd.Revise | cmd.Reassert):
            found = self._ctx.tables.node_of(ids.Lineage(self._ctx.draft.refs[position]))
            if found is not None:
                return found
        return self._home(command)

    # -- reports to the caller

    def _add_note(self, code: str, position: int, place: str, what: Iterator[str] | Sequence[str]) -> None:
        found = ", ".join(what)
        if found:
            where = place if not position else f"{place} of command {position}"
            self._notes.setdefault(code, []).append(f"{where} ({found})")

    def note(self) -> None:
        """Note findings and redactions in the receipt."""
        for code, told in self._notes.items():
            more = [f"{len(told) - MAX_PLACES_NAMED} more"] if len(told) > MAX_PLACES_NAMED else []
            self._ctx.note(code, *(each.encode() for each in (*told[:MAX_PLACES_NAMED], *more)))
        self._notes.clear()


def _is_any_text(place: str, name: str, value: Any) -> bool:
    return True


def _is_prose(place: str, name: str, value: Any) -> bool:
    """True if a field of a source or of properties may hold a text: its name is not that of an id field."""
    is_plain = isinstance(value, str) or (isinstance(value, list | tuple) and all(isinstance(e, str) for e in value))
    if not is_plain:
        return True
    if name.casefold() in _ID_FIELDS or name.endswith(_ID_SUFFIXES):
        return False
    is_word = isinstance(value, str) and len(value.split()) == 1
    return not (is_word and place.startswith("source") and name.casefold() in _SOURCE_FIELDS)


def _is_scope(type: str) -> bool:
    return type.casefold() in _SCOPE_TYPES


def _has_id_as_name(command: cmd.Command) -> bool:
    """True if the name of a world is its id, as for a user, a session or a namespace."""
    if not isinstance(command, cmd.Create):
        return False
    if _is_scope(command.type):
        return True
    key = command.key.text if isinstance(command.key, cmd.BoundKey) else command.key
    if not isinstance(key, str) or not command.name:
        return False
    if key.startswith(ids.KREF_SCHEME):
        return command.name in unquote(key)
    return key == command.name or (command.type.casefold() in _KEY_NAMED_TYPES and command.name in _key_texts(key))


def _key_texts(key: str) -> set[str]:
    """The texts that a key is made of, if it is JSON."""
    try:
        waiting = [msgspec.json.decode(key)]
    except msgspec.DecodeError:
        return set()
    found = set[str]()
    while waiting:
        each = waiting.pop()
        if isinstance(each, list):
            waiting += each
        elif isinstance(each, dict):
            waiting += each.values()
        elif isinstance(each, str):
            found.add(each)
    return found


def ids_of(commands: Sequence[Any]) -> frozenset[str]:
    """The names in a request that are ids."""
    return frozenset(command.name for command in commands if _has_id_as_name(command))


def _speaker_prefix(type: str, content: str, known: AbstractSet[str]) -> str:
    """The speaker's name in front of a message, if it is one of some ids."""
    name, colon, _ = content.partition(": ")
    return name + colon if colon and type.casefold() == "turn" and name in known else ""


def redact_command(command: cmd.Command, take_out: Callable[[str], str], known: AbstractSet[str]) -> cmd.Command:
    """A command with all of its texts redacted; ids, and names that identify its subject, stay.

    ``known`` are the names in its request that are ids.
    """
    changed: dict[str, Any] = {}
    for field, kept, before in _prose_fields(command, known):
        if isinstance(before, str):
            after: Any = kept + take_out(before)
        elif _holds_terms(command, field):
            after = tuple(each if each.startswith("<") else take_out(each) for each in before)
        else:
            after = _map_texts(before, take_out, field)
        if after != getattr(command, field):
            changed[field] = after
    return msgspec.structs.replace(command, **changed) if changed else command


def as_recorded(
    tables: rows.Tables, read: Read | None, commands: Sequence[cmd.Command]
) -> Callable[[cmd.Command], cmd.Command] | None:
    """A function that redacts a command as it was recorded; ``None`` if redaction was never enforced."""
    if not settings.is_anything_guarded(tables):
        return None
    told, known = {} if read is None else read, ids_of(commands)
    return lambda command: redact_command(
        command, lambda text: (told.get(text) or personal_data.redact(text))[0], known
    )


def _map_texts(value: Any, take_out: Callable[[str], str], place: str) -> Any:
    if isinstance(value, str):
        return take_out(value)
    if isinstance(value, dict):
        made: dict[Any, Any] = {}
        for name, each in value.items():
            key = take_out(name) if isinstance(name, str) else name
            while key in made:
                key += "'"
            is_id = isinstance(name, str) and not _is_prose(place, name, each)
            made[key] = each if is_id else _map_texts(each, take_out, place)
        return made
    if isinstance(value, list | tuple):
        return type(value)(_map_texts(each, take_out, place) for each in value)
    return value


def _fields_of(command: cmd.Command, left_alone: tuple[type[cmd.Command], ...]) -> Sequence[str]:
    left = ("why",) if isinstance(command, left_alone) else _TEXT_FIELDS
    return [field for field in left if getattr(command, field, None)]


def _command_texts(command: cmd.Command) -> Iterator[tuple[str, str]]:
    """All texts of a command, including ids, with their places; of a removing command only the reason."""
    for field in _fields_of(command, _REMOVING_COMMANDS):
        yield from _texts_within(getattr(command, field), field)


def _prose_fields(command: cmd.Command, known: AbstractSet[str]) -> Iterator[tuple[str, str, Any]]:
    """The fields of a command that may hold personal data: their names, the part that stays, and the rest."""
    is_id = _has_id_as_name(command)
    for field in _fields_of(command, _NAMES_KEPT_COMMANDS):
        value, kept = getattr(command, field), ""
        if is_id and field == "name":
            continue
        if field == "content" and isinstance(command, cmd.Create):
            kept = _speaker_prefix(command.type, value, known)
            value = value[len(kept) :]
        yield field, kept, value


def _personal_texts(command: cmd.Command, known: AbstractSet[str]) -> Iterator[tuple[str, str]]:
    """The texts of a command that may hold personal data, with their places."""
    for field, _, value in _prose_fields(command, known):
        literals = [each for each in value if not each.startswith("<")] if _holds_terms(command, field) else value
        yield from _texts_within(literals, field, _is_prose)


def _holds_terms(command: cmd.Command, field: str) -> bool:
    """True if a field holds terms of statements; terms in angle brackets are ids."""
    return field == "aliases" and isinstance(command, cmd.State | cmd.Unstate)


def _type_texts(command: cmd.Command) -> Iterator[tuple[str, str]]:
    """Further texts that are never redacted: the word for a type, the subject of trust, the names in a plan."""
    if isinstance(command, _CALLER_TYPED_COMMANDS) and command.type:
        yield "type", command.type
    if isinstance(command, cmd.SetBeliefs):
        yield "name", command.named
    if isinstance(command, cmd.Register) and command.digest_of == "laws":
        yield "inverse", ev.Laws.unpacked(command.digest).inverse
    if isinstance(command, cmd.SetProfile):
        yield from _texts_within([command.profile, *command.node_types, *command.relations], "vocabulary")
    if isinstance(command, cmd.SetPlan):
        yield from _texts_within([command.plan, *(command.features or ())], "plan")


def _texts_within(value: Any, place: str = "", is_read: IsRead = _is_any_text) -> Iterator[tuple[str, str]]:
    """Every text in a value, including field names, with its place; a field name with a secret is no place."""
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, dict):
        for number, (name, each) in enumerate(value.items()):
            plain = isinstance(name, str) and len(name) <= 64 and not credentials.find_credentials(name)
            shown = name if plain and not personal_data.find_personal_data(name) else f"field {number}"
            inner = f"{place}.{shown}" if place else str(shown)
            yield from _texts_within(name, f"{inner} (its name)", is_read)
            if not isinstance(name, str) or is_read(place, name, each):
                yield from _texts_within(each, inner, is_read)
    elif isinstance(value, list | tuple):
        for number, each in enumerate(value):
            yield from _texts_within(each, f"{place}[{number}]", is_read)
