"""Find the worlds that an erasure takes: those named, those inside them, and those derived from all these.

A world inside is erased unless it also lies in another world, or a world outside refers to it, as when two turns
mention one person; such worlds stay and are listed with the reason. Derived texts are erased too: a summary repeats
what it sums up, and an extracted world bears a name from a turn.
"""

import re
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from typing import Final
from unicodedata import normalize

from worlddb.log.store.log import LmdbLog
from worlddb.projections.tables.accounts import account_rows
from worlddb.projections.tables.apply import log_marks, settings
from worlddb.projections.tables.consolidation import interior_witness
from worlddb.projections.tables.names.canonical import type_digest
from worlddb.projections.tables.storage import rows, schema
from worlddb.reconciler.transaction import inputs, recorded_texts

MENTION: Final = "mention"
"""The role that an extractor gives the edge from a turn to what the turn mentions."""
SUMMARY: Final = "Summary"
"""The type of worlds that say in short what others say at length (paper §6)."""
_DERIVED_FROM: Final = schema.EDGE_TYPE_CODES["derived_from"]
REFERS_TO: Final = schema.EDGE_TYPE_CODES["refers_to"]
_NON_REFERRING: Final = frozenset((schema.CONTAINS_CODE, schema.SAME_AS_CODE))
"""Edges that do not count as references to a world: containment and identity."""


def derived_worlds(
    log: LmdbLog,
    tables: rows.Tables,
    nodes: Collection[int],
    *,
    besides: Collection[int],
    whole: Collection[int] = (),
) -> dict[int, int]:
    """Find the worlds that were made of the texts of some nodes, at any remove.

    Returns each with one that it was made of, without those in ``besides``, which are all erased anyway.

    * What is ``derived_from`` one of them by an edge that was not unlinked, or that consolidation or enrichment
      unlinked: an earlier version of what they made says what the present one does no more.
    * Summaries that contain one of them, and the one that consolidation made of it and that bears its name.
    * What nothing but erased turns mention, if all that is known of it is a name.
    * What nothing but those in ``whole``, which are erased with all that they contain, refers to, if all that is known
      of it is a name, it lies in nothing but worlds around them, and it was made by the write of one that refers to it
      or by the same author without a reason: what somebody else made, or for a reason, is theirs.

    Worlds without any text left are none of these, nor is what was made of them.
    """
    origins: dict[int, int] = {}
    reached = {*nodes, *besides}
    containers, secret = _with_containers(tables, whole), log_marks.secret_of(log)
    pending = deque(nodes)
    mentioned: dict[int, int] = {}
    while pending:
        node = pending.popleft()
        for other in _mentions(log, tables, node):
            mentioned.setdefault(other, node)
        if node in whole:
            for other in tables.live_targets(node, REFERS_TO):
                is_open = other not in reached and _is_only_inside(log, tables, other, containers)
                if is_open and _was_made_with(log, tables, other, node):
                    mentioned.setdefault(other, node)
        new_origins = {other: node for other in _restating_worlds(log, tables, node, secret)}
        if not pending:
            new_origins |= {
                other: by for other, by in mentioned.items() if _is_only_a_name(log, tables, other, reached)
            }
        for other in sorted(new_origins.keys() - reached):
            if has_any_text(log, tables, other):
                origins[other] = new_origins[other]
                reached.add(other)
                pending.append(other)
    return origins


def _with_containers(tables: rows.Tables, nodes: Collection[int]) -> set[int]:
    """Some worlds and all their containers."""
    found = set(nodes)
    pending = list(nodes)
    while pending:
        above = [each for each in tables.containers(pending.pop()) if each not in found]
        found.update(above)
        pending += above
    return found


def _is_only_inside(log: LmdbLog, tables: rows.Tables, node: int, around: Collection[int]) -> bool:
    """True if a world lies only in some others, contains nothing, and is no scope, user or tenant."""
    return (
        all(each in around for each in tables.containers(node))
        and not tables.live_targets(node, schema.CONTAINS_CODE)
        and not is_owner_world(log, tables, node)
    )


def _was_made_with(log: LmdbLog, tables: rows.Tables, node: int, by: int) -> bool:
    """True if a world was created with another one that refers to it, or by the same author without a reason."""
    own, others = tables.version(node, 1), tables.version(by, 1)
    if own.seq == others.seq:
        return True
    details = recorded_texts.details_at(log, own.seq, own.details)
    is_same = log.header(own.seq).author == log.header(others.seq).author
    return is_same and not (details is not None and details.why)


def _restating_worlds(log: LmdbLog, tables: rows.Tables, node: int, secret: bytes) -> Iterator[int]:
    """Worlds that restate what a world says."""
    for place, row in tables.incoming(node, _DERIVED_FROM):
        if row.unlinked == schema.LIVE or log.header(row.unlinked).author in interior_witness.MAKERS:
            yield place.source
    summary = interior_witness.summary_node(tables, secret, node)
    if summary is not None:
        yield summary
    for place, row in tables.incoming(node, schema.CONTAINS_CODE):
        if row.unlinked == schema.LIVE and any(
            body.type == SUMMARY for body in recorded_texts.bodies_of(log, tables, place.source)
        ):
            yield place.source


def _mentions(log: LmdbLog, tables: rows.Tables, node: int) -> Iterator[int]:
    for _, row in tables.outgoing(node, REFERS_TO):
        details = recorded_texts.details_at(log, row.seq, row.details)
        if details is not None and details.properties.get("role") == MENTION:
            yield row.target


def _is_only_a_name(log: LmdbLog, tables: rows.Tables, node: int, reached: Collection[int]) -> bool:
    """True if a world has only a name, and only erased worlds refer to it."""
    if next(tables.aliases(node), None) is not None or any(
        body.content for body in recorded_texts.bodies_of(log, tables, node)
    ):
        return False
    users = [place.source for place, _ in tables.incoming(node) if place.type not in _NON_REFERRING]
    users += [row.target for place, row in tables.outgoing(node) if place.type not in _NON_REFERRING]
    return not any(user not in reached and has_any_text(log, tables, user) for user in users)


def has_any_text(log: LmdbLog, tables: rows.Tables, node: int) -> bool:
    """True if a text of a world is left; the root world counts as having none."""
    return node != schema.ROOT_NODE and next(recorded_texts.bodies_of(log, tables, node), None) is not None


def referring_worlds(log: LmdbLog, tables: rows.Tables, node: int, gone: Collection[int]) -> list[int]:
    """The worlds that refer to one, still have a text, and are not in ``gone``.

    Mentions and edges of a caller's own types count as references; other built-in types do not.
    """
    found = dict.fromkeys(
        place.source
        for place, row in tables.incoming(node)
        if row.unlinked == schema.LIVE and (place.type == REFERS_TO or _is_own(tables, place.type))
    )
    return [each for each in found if each not in gone and has_any_text(log, tables, each)]


def _is_own(tables: rows.Tables, code: int) -> bool:
    """True if an edge type is a caller's own, even if a later release has a built-in type of its name."""
    if code < schema.FIRST_CUSTOM_CODE:
        return False
    name = tables.type_name(code)
    own = settings.registered(tables, schema.LIVE - 1, ended=True) if name in schema.LATER_BUILT_IN else ()
    return name not in schema.LATER_BUILT_IN or any(one.type == name and not one.is_built_in for one in own)


def turns_by_speaker(log: LmdbLog, tables: rows.Tables, node: int) -> Iterator[int]:
    """The turns of a speaker, as ``ingest`` linked them."""
    code = tables.type_code("refers_to")
    prefixes = tuple(f"{body.name}: " for body in recorded_texts.bodies_of(log, tables, node) if body.name)
    for place, row in tables.incoming(node, code):
        details = recorded_texts.details_at(log, row.seq, row.details)
        if details is not None:
            said = details.properties.get("role") == recorded_texts.SPEAKER
        else:
            # The edge lost its text to an earlier erasure; a turn that was restored since says who speaks.
            said = any(text.startswith(prefixes) for text in recorded_texts.texts_of_world(log, tables, place.source))
        if said:
            yield place.source


def worlds_sharing_texts(log: LmdbLog, tables: rows.Tables, nodes: set[int]) -> list[int]:
    """All worlds with a version, past ones included, that shares a text with these."""
    texts = {text for node in nodes for text in recorded_texts.texts_of_world(log, tables, node)}
    everyone = range(1, tables.progress().next_node)
    return [node for node in everyone if not texts.isdisjoint(recorded_texts.texts_of_world(log, tables, node))]


def worlds_saying_the_same(log: LmdbLog, tables: rows.Tables, nodes: Collection[int]) -> dict[int, list[int]]:
    """For each of some worlds, the others with a version, past ones included, that has one of its contents."""
    saying: dict[str, list[int]] = {}
    for node in nodes:
        for content in {body.content for body in recorded_texts.bodies_of(log, tables, node)} - {""}:
            saying.setdefault(content, []).append(node)
    found: dict[int, list[int]] = {}
    for other in range(1, tables.progress().next_node) if saying else ():
        contents = {body.content for body in recorded_texts.bodies_of(log, tables, other)}
        for node in {node for content in contents for node in saying.get(content, ())} - {other}:
            found.setdefault(node, []).append(other)
    return found


# -- interiors
OWNERS: Final = frozenset({"scope", "user", "tenant"})
"""The types, in any case, of worlds that own their contents: erasing one erases what it contains."""
_SCOPE: Final = "Scope"
_SCOPE_TYPE: Final = type_digest(_SCOPE)
_ROOT_TYPE: Final = type_digest("Root")
_USER: Final = re.compile("user:")
_RUN: Final = re.compile("run:")
_WAY_SCOPE: Final = re.compile("(agent|app|run):")
"""Scopes through which memories of a user were written. A memory in one of these still belongs to the user."""


def is_owner_world(log: LmdbLog, tables: rows.Tables, node: int) -> bool:
    """True if a world is a scope, a user or a tenant."""
    body = next(recorded_texts.bodies_of(log, tables, node), None)
    return body is not None and body.type.casefold() in OWNERS


def users_of(log: LmdbLog, tables: rows.Tables, node: int) -> set[str]:
    """The users, as a key names one as its default, of which a world is or was the scope."""
    # Of one that came back after an erasure, the first versions have no type any more.
    numbers = range(1, tables.node(node).versions + 1)
    if all(tables.version(node, number).type != _SCOPE_TYPE for number in numbers):
        return set()
    names = (normalize("NFC", body.name) for body in recorded_texts.bodies_of(log, tables, node))
    return {name[found.end() :] for name in names if (found := _USER.match(name)) is not None}


def is_scope_for_key(tables: rows.Tables, node: int, world: bytes) -> bool:
    """True if a key that opens a world (``STORE``: all) means this scope by its user, and not one of another world."""
    containers = tables.containers(node)
    if world == account_rows.STORE:
        # The root of another store, which came with a bundle, has its users here.
        return any(each == schema.ROOT_NODE or tables.version(each, 1).type == _ROOT_TYPE for each in containers)
    return world in {bytes(tables.node(each).lineage) for each in (node, *containers)}


class ErasedInteriors:
    """The members of some worlds, at any depth, divided into those that an erasure takes and those that it leaves.

    ``others`` are erased too, but without their members. Worlds derived from those in ``derived``, or from their
    members, are erased as well, so they do not count as references.
    """

    def __init__(
        self,
        log: LmdbLog,
        tables: rows.Tables,
        tops: Sequence[int],
        others: Collection[int] = (),
        derived: Collection[int] = (),
    ) -> None:
        self._log = log
        self._tables = tables
        self._tops = dict.fromkeys(tops)
        self._others = others
        self._derived = derived
        self._is_way_by_node: dict[int, bool] = {}
        self._first_top = self._find_tops()
        """All members, each with the first of the named worlds that contains it."""
        self._erased = self._exclusive_members()
        self._referred_to = self._exclude_referred_to()

    def erased_nodes(self, top: int) -> list[int]:
        """The members that are erased with one of the named worlds."""
        along = [node for node, its in self._first_top.items() if its == top and node in self._erased]
        return along + (self._empty_sessions() if top == self._user_scope else [])

    def kept_members(self, top: int) -> list[inputs.KeptMember]:
        """The members of a named world that stay, since other worlds contain or refer to them."""
        found = []
        for node, its in self._first_top.items():
            if its == top and node not in self._erased and has_any_text(self._log, self._tables, node):
                users = self._referred_to.get(node)
                where = [each for each in self._tables.containers(node) if each not in self._erased]
                foreign = [each for each in where if each not in self._tops]
                found.append(
                    inputs.KeptMember(node, "contained", tuple(foreign))
                    if users is None
                    else inputs.KeptMember(node, "referred_to", tuple(users))
                )
        return found

    def _find_tops(self) -> dict[int, int]:
        found: dict[int, int] = {}
        for top in self._tops:
            pending = deque([top])
            while pending:
                for member in self._tables.live_targets(pending.popleft(), schema.CONTAINS_CODE):
                    if member not in found and member not in self._tops:
                        found[member] = top
                        pending.append(member)
        return found

    def _exclusive_members(self) -> set[int]:
        """The members that no world outside contains."""
        alone = set(self._first_top)
        shared = [node for node in self._first_top if self._is_shared_outside(node, alone)]
        for node in shared:
            if node in alone:
                alone.discard(node)
                shared += [each for each in self._tables.live_targets(node, schema.CONTAINS_CODE) if each in alone]
        return alone

    def _is_shared_outside(self, node: int, inside: Collection[int]) -> bool:
        above = [each for each in self._tables.containers(node) if each not in inside and each not in self._tops]
        if self._user_scope is not None:
            above = [each for each in above if not self._is_way_scope(each)]
        return bool(above)

    @cached_property
    def _user_scope(self) -> int | None:
        """The first of the named worlds that is the scope of a user."""
        return next((top for top in self._tops if self._is_scope(top, _USER)), None)

    def _is_way_scope(self, node: int) -> bool:
        if node not in self._is_way_by_node:
            self._is_way_by_node[node] = self._is_scope(node, _WAY_SCOPE)
        return self._is_way_by_node[node]

    def _is_scope(self, node: int, kind: re.Pattern[str]) -> bool:
        bodies = recorded_texts.bodies_of(self._log, self._tables, node)
        return any(body.type == _SCOPE and kind.match(body.name) is not None for body in bodies)

    def _exclude_referred_to(self) -> dict[int, list[int]]:
        """Exclude members that other worlds refer to, repeatedly; returns these with the referring worlds."""
        kept: dict[int, list[int]] = {}
        while True:
            whole = {*self._tops, *self._erased}
            erased = whole.union(self._others)
            sources = [node for node in erased if node in self._derived or self._first_top.get(node) in self._derived]
            gone = erased.union(derived_worlds(self._log, self._tables, sources, besides=erased, whole=whole))
            found = {
                node: users for node in self._erased if (users := referring_worlds(self._log, self._tables, node, gone))
            }
            if not found:
                return kept
            kept |= found
            self._erased -= found.keys()

    def _empty_sessions(self) -> list[int]:
        """The sessions of a user in which no other text is left."""
        above = dict.fromkeys(each for node in self._erased for each in self._tables.containers(node))
        runs = [each for each in above if each not in self._erased and each not in self._tops]
        return [run for run in runs if self._is_scope(run, _RUN) and not self._has_remaining_members(run)]

    def _has_remaining_members(self, run: int) -> bool:
        members = self._tables.live_targets(run, schema.CONTAINS_CODE)
        return any(each not in self._erased and has_any_text(self._log, self._tables, each) for each in members)
