"""Restore the commands of a commit from their records and their separately stored texts.

A record holds a caller's key as a hash, so what the key stands for is read from the command's result. References become
full ids by what the store knew then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from worlddb.log.beliefs import artifact
from worlddb.log.model import blobs, codec, errors, hashing, ids
from worlddb.log.model import events as ev
from worlddb.log.store.log import LmdbLog
from worlddb.projections.tables.reads import asof, table_reads
from worlddb.projections.tables.storage.rows import Tables
from worlddb.reconciler.commands import commands as cmd
from worlddb.reconciler.transaction import receipts, recorded_texts

_BODY: Final = ("type", "name", "content")
_OF_STATEMENTS: Final = frozenset((cmd.State.CODE, cmd.Unstate.CODE))
_ALIASED: Final = (cmd.Alias, cmd.Unalias, cmd.Believe, cmd.Contract, cmd.State, cmd.Unstate)


class RestoredCommands(NamedTuple):
    """The commands of a commit.

    ``unkept`` names texts that were never kept, since nothing came of them.
    """

    commands: list[cmd.Command]
    unkept: tuple[str, ...] = ()


class Undecidable(NamedTuple):
    """The reason why a commit cannot be decided again: a stable code, and a sentence.

    | code | why |
    |---|---|
    | ``erased`` | texts of the commit were erased since |
    | ``erasure`` | it erased texts, which cannot be found again |
    | ``import`` | it took in a bundle, which is not kept |
    | ``fork`` | it began a fork, of which the ids are its own |
    | ``not_kept`` | a text that the command gave was not kept, because nothing came of it |
    | ``handler`` | this process does not have the handler of an edge type |
    """

    code: str
    reason: str


class EdgeKeys:
    """The succession of keyed edges: a key is identified by the nonce of the first edge under it."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._first: dict[bytes, bytes] = {}
        self._nonces: dict[bytes, bytes] = {}

    def learn(self, events: codec.Events) -> None:
        """Add the edges of the next commit.

        An edge that was not unlinked was passed over by a key that counts within a world: the next one is a first one.
        """
        for event in events.events:
            if isinstance(event, ev.Linked) and event.keyed:
                self._nonces[event.edge] = event.nonce
            elif isinstance(event, ev.Unlinked) and event.edge in self._nonces:
                after = hashing.keyed(self._secret, hashing.KEYED_EDGE, b"", event.edge)[: ids.NONCE_BYTES]
                self._first[after] = self.first(self._nonces[event.edge])

    def first(self, nonce: bytes) -> bytes:
        """The nonce of the first edge under the key that an edge with a nonce has."""
        return self._first.get(nonce, nonce)


def restore_commands(
    log: LmdbLog,
    tables: Tables,
    seq: int,
    events: codec.Events,
    keys: EdgeKeys,
    renamed: Mapping[bytes, bytes] | None = None,
) -> RestoredCommands | Undecidable:
    """Restore the commands of commit ``seq`` as far as possible.

    ``tables`` are those of the whole log. Worlds, edges and proposals are named by their full ids: those that they have
    in this log, or in the place of these the ones in ``renamed``.
    """
    stored = log.blob(seq, 0)
    cause = None if stored is None else codec.decode_blob(stored, seq)
    recorded: list[list[Any]] = cause.commands if isinstance(cause, blobs.Cause) else []
    codes = {entry[0] for entry in recorded}
    if cmd.Erase.CODE in codes or cmd.EraseLiteral.CODE in codes:
        return Undecidable("erasure", "It erased texts, which cannot be looked for again")
    if cmd.Import.CODE in codes:
        return Undecidable("import", "It took in a bundle, and bundles are not kept")
    if cmd.Fork.CODE in codes:
        return Undecidable("fork", "It began a fork, which has the ids that it was given then")
    if any(log.blob(seq, position) is None for position in range(events.blob_count)):
        return Undecidable("erased", "Texts of it were erased since")
    if any(entry[0] in _OF_STATEMENTS and "" in receipts.texts_of(log, seq, entry)["aliases"] for entry in recorded):
        return Undecidable("erased", "Literals that it gave were erased since")
    commit = _Commit(log, tables, seq, events, keys, renamed or {})
    try:
        commands = [commit.command(position, entry) for position, entry in enumerate(recorded)]
    except _TextNotKept as unkept:
        return Undecidable("not_kept", str(unkept))
    return RestoredCommands(commands, tuple(dict.fromkeys(commit.unkept)))


class _TextNotKept(Exception):
    """Raised if a decision needs a text that is in no blob."""


class _Commit:
    """Restores the commands of one commit, in their order."""

    def __init__(
        self,
        log: LmdbLog,
        tables: Tables,
        seq: int,
        events: codec.Events,
        keys: EdgeKeys,
        renamed: Mapping[bytes, bytes],
    ) -> None:
        self._renamed = renamed
        self._log = log
        self._tables = tables
        self._seq = seq
        self._events = events
        self._keys = keys
        self._written: dict[bytes, int] = {}
        self._linked = {event.edge: event for event in events.events if isinstance(event, ev.Linked)}
        self.unkept: list[str] = []

    def command(self, position: int, entry: Sequence[Any]) -> cmd.Command:
        """The command at a position of the commit."""
        kind = _KINDS[entry[0]]
        fields: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in zip(receipts.REST_FIELDS[kind], entry[4:], strict=False)
        }
        ref = self._events.refs[position]
        if fields.get("key") is not None:
            fields["key"] = cmd.KnownKey(fields["key"], ref if kind is cmd.Create else self._nonce_of_edge_key(ref))
        for name, find in _REFERENCES.get(kind, {}).items():
            fields[name] = self._resolve_full_id(find, fields[name])
        if kind is cmd.Recluster:
            texts = self._reclustered_pairs()
        else:
            texts = self._vectors() if kind is cmd.Embed else self._texts(kind, entry, ref)
        if fields.get("judged"):
            texts["evidence"] = cmd.ModelEvidence(found=tuple(self._proposed_matches(ref)))
        if entry[1] != ev.NONE:
            self._written[ref] = entry[1]
        return kind(**fields, **texts)

    def _texts(self, kind: type[cmd.Command], entry: Sequence[Any], ref: bytes) -> dict[str, Any]:
        """The given texts, from the body and details that hold them."""
        names: list[str] = entry[3]
        texts = receipts.texts_of(self._log, self._seq, list(entry))
        if kind is cmd.Create and entry[1] == ev.NONE:
            texts |= self._known_text(ref)
        if kind is cmd.Revise and "properties" in names and entry[1] != ev.NONE and not texts.get("properties"):
            # A version without properties had those before, unless it was told that no artifact is left.
            texts["properties"] = {artifact.PROPERTY: {}}
        missing = [name for name in names if name not in texts]
        needed = [name for name in missing if name in _BODY or kind in _ALIASED]
        if needed or (kind is cmd.Create and "type" not in texts):
            raise _TextNotKept(f"The {(needed or ['text'])[0]} that it gave was not kept, for nothing came of it")
        self.unkept.extend(missing)
        return {name: texts[name] for name in names if name in texts} | (
            {"type": texts["type"], "name": texts["name"]} if kind is cmd.Create else {}
        )

    def _known_text(self, lineage: bytes) -> dict[str, Any]:
        """The text of a world that a keyed command left unchanged."""
        node = self._tables.node_of(lineage)
        position = self._written.get(lineage)
        seen = None if node is None else asof.newest_version(self._tables, node, self._seq - 1)
        if position is not None:
            body = recorded_texts.body_at(self._log, self._seq, position)
        else:
            body = None if seen is None else recorded_texts.body_at(self._log, seen.row.seq, seen.row.position)
        return {} if body is None else {"type": body.type, "name": body.name, "content": body.content}

    def _nonce_of_edge_key(self, ref: bytes) -> bytes:
        """The nonce that the key of a link stands for.

        It is one that nothing has where the link led to no keyed edge.
        """
        event = self._linked.get(ref)
        place = self._tables.place_of(ref) if event is None else None
        if place is not None:
            earlier = self._log.events(self._tables.edge(place).seq).events
            event = next((each for each in earlier if isinstance(each, ev.Linked) and each.edge == ref), None)
        return self._keys.first(event.nonce) if event is not None and event.keyed else ref[: ids.NONCE_BYTES]

    def _resolve_full_id(self, find: _Find, given: Any) -> Any:
        """A reference as a full id; a position in the batch stays a position."""
        if isinstance(given, tuple):
            return tuple(self._resolve_full_id(find, each) for each in given)
        if isinstance(given, str):
            try:
                found = find(self._tables, given, self._seq)
            except errors.InputError as error:
                raise _TextNotKept(error.message) from error
            given = self._tables.node(found).lineage if isinstance(found, int) else found
        return self._renamed.get(given, given) if isinstance(given, bytes) else given

    def _vectors(self) -> dict[str, Any]:
        """The vectors of an embedding command, from its events."""
        opened = [event for event in self._events.events if isinstance(event, ev.SpaceOpened)]
        kept = [event for event in self._events.events if isinstance(event, ev.Embedded)]
        through = [event for event in self._events.events if isinstance(event, ev.EmbeddedThrough)]
        place = (self._seq, opened[0].model) if opened else None
        for number, row in () if opened else asof.spaces(self._tables):
            if number in {*(event.space for event in kept), *(event.space for event in through)}:
                place = row.seq, row.model
        stored = None if place is None else self._log.blob(*place)
        space = None if stored is None else codec.decode_blob(stored, self._seq)
        if not isinstance(space, blobs.Space):
            raise _TextNotKept("The embedding space that it was about was not kept")
        items = tuple((event.lineage, event.version, *self._vectors_at(event.vector)) for event in kept)
        return {"space": space.name, "model": space.model, "mean": space.mean, "items": items}

    def _reclustered_pairs(self) -> dict[str, Any]:
        """The pairs of a reclustering command, from its proposals."""
        staged = [event for event in self._events.events if isinstance(event, ev.Proposed)]
        return {"items": tuple((event.source, event.target, self._evidence(event.details)) for event in staged)}

    def _proposed_matches(self, lineage: bytes) -> Iterator[tuple[bytes, dict[str, Any]]]:
        """The matches of a new world and their evidence, from its proposals."""
        for event in self._events.events:
            if isinstance(event, ev.Proposed) and event.source == lineage:
                yield self._renamed.get(event.target, event.target), self._evidence(event.details)

    def _evidence(self, position: int) -> dict[str, Any]:
        stored = self._log.blob(self._seq, position)
        found = None if stored is None else codec.decode_blob(stored, self._seq)
        return dict(found.properties) if isinstance(found, blobs.Details) else {}

    def _vectors_at(self, position: int) -> tuple[bytes, int, int]:
        stored = self._log.blob(self._seq, position)
        assert stored is not None, "looked for before"
        blob = codec.decode_blob(stored, self._seq)
        assert isinstance(blob, blobs.Vector), "of an event that names one"
        return blob.values, blob.statements, blob.stated


_Find = Callable[[Tables, bytes | str, int], int | bytes]

_KINDS: Final = {kind.CODE: kind for kind in cmd.ALL}
_REFERENCES: Final[dict[type[cmd.Command], dict[str, _Find]]] = {
    cmd.Create: {"world": table_reads.find_node, "scope": table_reads.find_node},
    cmd.Revise: {"ref": table_reads.find_node},
    cmd.Retire: {"ref": table_reads.find_node_or_edge},
    cmd.Reassert: {"ref": table_reads.find_node},
    cmd.Link: {"source_ref": table_reads.find_node, "target_ref": table_reads.find_node, "home": table_reads.find_node},
    cmd.LinkVersions: {
        "source_ref": table_reads.find_node,
        "target_ref": table_reads.find_node,
        "home": table_reads.find_node,
    },
    cmd.Unlink: {"edge": table_reads.find_edge},
    cmd.Move: {"refs": table_reads.find_node, "to": table_reads.find_node, "out_of": table_reads.find_node},
    cmd.Alias: {"ref": table_reads.find_node},
    cmd.Unalias: {"ref": table_reads.find_node},
    cmd.Restate: {"ref": table_reads.find_node},
    cmd.Expire: {"ref": table_reads.find_node},
    cmd.Refresh: {"ref": table_reads.find_node},
    cmd.Sweep: {"ref": table_reads.find_node},
    cmd.Label: {"ref": table_reads.find_node},
    cmd.Unlabel: {"ref": table_reads.find_node},
    cmd.Pin: {"ref": table_reads.find_node},
    cmd.Tag: {"ref": table_reads.find_node},
    cmd.Untag: {"ref": table_reads.find_node},
    cmd.Deprecate: {"ref": table_reads.find_node},
    cmd.Believe: {"ref": table_reads.find_node},
    cmd.Contract: {"ref": table_reads.find_node},
    cmd.Rollback: {"ref": table_reads.find_node},
    cmd.Access: {"refs": table_reads.find_node},
    cmd.Accept: {"proposal": table_reads.find_proposal},
    cmd.Reject: {"proposal": table_reads.find_proposal},
    cmd.Undo: {"proposal": table_reads.find_proposal},
    cmd.Register: {"world": table_reads.find_node},
    cmd.Unregister: {"world": table_reads.find_node},
    cmd.SetProfile: {"world": table_reads.find_node},
    cmd.Tune: {"world": table_reads.find_node},
    cmd.Untune: {"world": table_reads.find_node},
    cmd.Trust: {"world": table_reads.find_node},
    cmd.Merge: {
        "ref": table_reads.find_node,
        "into": table_reads.find_node,
        "origins": table_reads.find_node,
        "copies": table_reads.find_node,
    },
    cmd.Guard: {"world": table_reads.find_node},
    cmd.MakeKey: {"world": table_reads.find_node},
    cmd.State: {"ref": table_reads.find_node},
    cmd.Unstate: {"ref": table_reads.find_node},
    cmd.EraseLiteral: {"ref": table_reads.find_node},
}
