"""The fast path for the many simple commands of a load.

It decides a new world or an edge that only has to be recorded, from the cached :class:`EdgeEndpoint` rows of its ends.
A command that needs more (a name that a world has already, a used key, a handler that acts, a wrong value) is left
untouched to :mod:`worlddb.reconciler.dispatch`. Both paths give the same events, references and rows from the same
randomness: ``tests/reconciler/commands/test_plain.py`` compares them byte by byte.
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from worlddb.log.model import events as ev
from worlddb.log.model import hashing, ids, times
from worlddb.projections.tables.names.canonical import NO_NAME, name_digest
from worlddb.projections.tables.storage import schema, transaction
from worlddb.reconciler.commands import commands as cmd
from worlddb.reconciler.edge_types.handler import EdgeHandler, HandledEdge, Insert
from worlddb.reconciler.transaction import context, forbidden_texts, receipts
from worlddb.reconciler.transaction.draft import new_aliases, stated_ends

MIN_PREFETCHED_WORLDS: Final = 64
"""Requests that name fewer worlds than this look them up one by one."""
MIN_NODES_TO_PREFETCH: Final = 1 << 17
"""Smaller stores (worlds and edges together) look them up one by one too: their rows lie close together."""


class _Rule(NamedTuple):
    """How the edges of a type are decided: by ``only_records`` if the handler has it, else by ``on_insert``."""

    handler: EdgeHandler | None
    only_records: Callable[[context.Context, int, int], bool] | None
    code: int


class BulkDecider:
    """Decides those commands of one request that only have to be recorded."""

    def __init__(self, ctx: context.Context) -> None:
        self._ctx = ctx
        self._draft = ctx.draft
        self._tables = ctx.tables
        self._now = ctx.now
        self._refs = ctx.draft.refs
        self._endpoints = ctx.tables.known_worlds.endpoints
        self._rules: dict[str, _Rule] = {}
        self._scopes = ctx.scopes
        self._containment = ctx.scopes.built_in[schema.CONTAINS]
        self._root = ctx.tables.node(schema.ROOT_NODE).lineage
        self._has_forbidden = ctx.has_forbidden_texts()
        self._digests: dict[str, bytes] = {}

    def look_ahead(self, commands: Sequence[cmd.Command]) -> None:
        """Prefetch the rows of existing worlds that deciding will read.

        In a large store single reads take several times as long, since each goes to another page. In a small store they
        are faster than this.
        """
        if self._draft.applier.next_node + self._draft.applier.next_edge < MIN_NODES_TO_PREFETCH:
            return
        links = [each for each in commands if type(each) is cmd.Link]
        creates = [each for each in commands if type(each) is cmd.Create]
        named: set[cmd.Ref | None] = {each.source_ref for each in links}
        named.update([each.target_ref for each in links], [each.world for each in creates])
        if len(named) < MIN_PREFETCHED_WORLDS:
            return
        unknown = named.difference(self._endpoints)
        lineages = [ref for ref in unknown if type(ref) is bytes and len(ref) == ids.LINEAGE_BYTES]
        self._tables.look_up_ends(lineages)
        looks = {each: self._edge_lookups(each) for each in {link.type for link in links}}
        asked: tuple[list[bytes], list[bytes]] = [], []
        ends, prefix = self._endpoints, schema.EDGE_PREFIX.pack
        for link in [link for link in links if looks[link.type]]:
            source, target = ends.get(link.source_ref), ends.get(link.target_ref)  # type: ignore[arg-type]
            for of_target, incoming, code in looks[link.type]:
                end = target if of_target else source
                if end is not None:
                    asked[incoming].append(prefix(end[0], code))
        self._digests = {each.name: name_digest(each.name) for each in creates}
        self._tables.read_ahead(*asked, list(set(self._digests.values()) - {NO_NAME}))

    def _edge_lookups(self, type_name: str) -> list[tuple[bool, bool, int]]:
        """The edges that the handler of a type reads, as (of the target, incoming, type code)."""
        rule = self._rule(type_name)
        return [
            (of_target, incoming, schema.EDGE_TYPE_CODES[other] if other else rule.code)
            for of_target, incoming, other in getattr(rule.handler, "looks_at", ())
        ]

    def decide(self, command: cmd.Command) -> bool:
        """Decide a command if it only has to be recorded; else return false and leave the draft untouched."""
        kind, scopes = type(command), self._scopes
        if scopes.any_registered and scopes.any_closed:
            return False
        if kind is cmd.Link:
            decided = self._link(command)  # type: ignore[arg-type]
        elif kind is cmd.Create:
            decided = self._create(command)  # type: ignore[arg-type]
        else:
            return False
        if decided and self._has_forbidden:
            forbidden_texts.refuse_written(self._ctx, command)
        return decided

    def _link(self, command: cmd.Link) -> bool:
        type_name = command.type
        handler, only_records, code = self._rules.get(type_name) or self._rule(type_name)
        if handler is None or command.key is not None or command.home is not None:
            return False
        ref, end, refs = command.source_ref, command.target_ref, self._refs
        if type(ref) is int and 0 <= ref < len(refs):
            ref = refs[ref]
        if type(end) is int and 0 <= end < len(refs):
            end = refs[end]
        one = self._endpoints.get(ref) or self._end(ref)  # type: ignore[arg-type]
        other = self._endpoints.get(end) or self._end(end)  # type: ignore[arg-type]
        if one is None or other is None:
            return False
        source, lineage, source_version, source_end, begins, home, home_lineage = one
        target, target_lineage, target_version, target_end, target_begins, _, _ = other
        if code == schema.CONTAINS_CODE:
            if command.valid_from is None and (target_version > 1 or self._tables.version(target, 1).closed):
                begins = handler.default_valid_from(self._ctx, source, target)
            else:
                begins = target_begins
            home, home_lineage = source, lineage
        elif source == schema.ROOT_NODE:
            begins = self._now
        if command.valid_from is not None:
            begins = command.valid_from
        until = times.FOREVER if command.valid_to is None else command.valid_to
        ctx, draft = self._ctx, self._draft
        if until <= begins or (ctx.scopes.any_registered and ctx.scopes.functional(type_name, home) is not None):
            return False
        if only_records is not None and not only_records(ctx, source, target):
            return False
        names: list[str] = []
        details, properties = ev.NONE, b""
        if command.properties or command.why:
            names = receipts.given(command)
            details = draft.add_details_of(command, names)
            properties = draft.blobs.ids[details]
        if only_records is None:
            handled = HandledEdge(type_name, source, target, home, begins, until, details)
            if handler.on_insert(ctx, handled) is Insert.STAGE:
                return self._stage(command, names, handled)
        nonce = draft.nonce("edge", type_name, lineage, target_lineage, home_lineage)
        edge = hashing.edge_id_of_ends(type_name, source_end, target_end, home_lineage, begins, properties, nonce)
        event = ev.Linked(
            edge,
            type_name,
            lineage,
            source_version,
            target_lineage,
            target_version,
            home_lineage,
            begins,
            until,
            details,
            nonce,
            False,
            handler.version,
        )
        draft.events.append(event)
        draft.applier.link(event, code, source, target, home)
        draft.staged = False
        self._refs.append(edge)
        draft.commands.append(receipts.record_plain(command, names, ev.NONE, details))
        return True

    def _stage(self, command: cmd.Link, names: list[str], edge: HandledEdge) -> bool:
        """Keep an edge as a proposal, which waits for a decision."""
        draft = self._draft
        self._refs.append(self._ctx.propose(edge.source, edge.target, edge=edge))
        draft.staged = draft.staged or not draft.commands
        draft.commands.append(receipts.record_plain(command, names, ev.NONE, edge.details))
        return True

    def _create(self, command: cmd.Create) -> bool:
        ctx, draft = self._ctx, self._draft
        world = self._end(self._root if command.world is None else command.world)
        begins = self._now if command.valid_from is None else command.valid_from
        until = times.FOREVER if command.valid_to is None else command.valid_to
        if world is None or until <= begins or command.resolve == "all":
            return False
        name = self._digests.get(command.name) or name_digest(command.name)
        if command.resolve and self._may_be_namesake(name, command.aliases):
            return False
        if isinstance(command.key, cmd.BoundKey) and self._end(command.key.world) is None:
            return False
        keyed = None if command.key is None else ctx.lineage_of(command.key)
        if keyed is not None and self._tables.node_of(keyed) is not None:
            return False
        names = receipts.given(command)
        details = draft.add_details_of(command, names)
        lineage = keyed or ids.Lineage(draft.nonce("lineage", len(draft.commands))[: ids.LINEAGE_BYTES])
        body = draft.add_body(command.type, command.name, command.content)
        identifier = draft.blobs.ids[body]
        stated = stated_ends(command.valid_from, command.valid_to)
        created = ev.Created(lineage, body, details, begins, until, None, stated)
        draft.events.append(created)
        node = draft.applier.create(created, identifier, name)
        for position in new_aliases(command.aliases) if command.aliases else ():
            draft.emit(ev.Named(lineage, details, position))
        end = hashing.edge_end(lineage, identifier)
        self._add_to_container(world, node, lineage, end, begins)
        # Adding its first container drops a cached endpoint, so the endpoint is put after that.
        self._endpoints[lineage] = transaction.edge_endpoint((node, lineage, 1, end, begins, world.node, world.lineage))
        draft.staged = False
        self._refs.append(lineage)
        if command.key is None:
            draft.commands.append(receipts.record_plain(command, names, body, details))
        else:
            draft.commands.append(receipts.record(command, names, body, details, ctx.secret))
        return True

    def _add_to_container(
        self, world: transaction.EdgeEndpoint, node: int, lineage: bytes, end: bytes, begins: int
    ) -> None:
        """Put a new world into another one."""
        container, container_lineage, container_version, container_end, _, _, _ = world
        draft, version = self._draft, self._containment.version
        nonce = draft.nonce("edge", schema.CONTAINS, container_lineage, lineage, container_lineage)
        edge = hashing.edge_id_of_ends(schema.CONTAINS, container_end, end, container_lineage, begins, b"", nonce)
        event = ev.Linked(
            edge,
            schema.CONTAINS,
            container_lineage,
            container_version,
            lineage,
            1,
            container_lineage,
            begins,
            times.FOREVER,
            ev.NONE,
            nonce,
            False,
            version,
        )
        draft.events.append(event)
        draft.applier.link(event, schema.CONTAINS_CODE, container, node, container)

    def _may_be_namesake(self, name: bytes, aliases: tuple[str, ...]) -> bool:
        """True if the exact tier has to check the command: a world has, or had, one of the names."""
        is_known = self._tables.is_name_known
        if name != NO_NAME and is_known(name):
            return True
        return any(digest != NO_NAME and is_known(digest) for digest in map(name_digest, aliases)) if aliases else False

    def _end(self, ref: cmd.Ref) -> transaction.EdgeEndpoint | None:
        """The endpoint that a full reference, or an earlier command, stands for."""
        if type(ref) is int:
            if not 0 <= ref < len(self._refs):
                return None
            ref = self._refs[ref]
        found = self._endpoints.get(ref)  # type: ignore[arg-type]
        if found is None and type(ref) is bytes and len(ref) == ids.LINEAGE_BYTES:
            found = self._tables.endpoint(ref)
        return found

    def _rule(self, type_name: str) -> _Rule:
        rule = self._rules.get(type_name)
        if rule is None:
            code = schema.EDGE_TYPE_CODES.get(type_name, 0)
            handler = self._ctx.scopes.built_in.get(type_name) if code else None
            rule = _Rule(handler, getattr(handler, "only_records", None), code)
            if handler is not None:
                self._rules[type_name] = rule
        return rule
