"""Records that a comparison returns. References and hashes are hex, times are microseconds."""

from typing import Any, Final

import msgspec

CHANGE_KINDS: Final = {
    "added": "only b has it",
    "removed": "only a has it",
    "altered": "the stored bytes differ although the hashes are equal",
    "revised": "its type, name or content differs",
    "erased": "its text was erased on one side",
    "moved": "other worlds contain it",
    "members": "worlds inside it differ, were added or were removed",
    "edges": "its interior edges differ",
    "statements": "its statements differ",
    "validity": "its valid time differs",
    "names": "its aliases differ",
    "identity": "its proposed or decided identities differ",
    "provenance": "its reason or source differs",
    "registered": "its registrations or settings differ",
    "vectors": "only one side has recorded vectors of its texts",
}
"""Every kind of change, the weightiest first: the first one that a world has is its ``change``."""

HISTORY_RELATIONS: Final = {
    "same": "both are at the same commit of one history",
    "ahead": "a continues after the end of b",
    "behind": "b continues after the end of a",
    "relatives": "their histories share a beginning and diverge",
    "strangers": "their histories have no commit in common",
    "bundle": "one side is a bundle, which has one world and no log",
}
"""How the two histories stand to each other, in words."""


class Detail(msgspec.Struct, frozen=True, kw_only=True):
    """One difference of a world: a kind of :data:`CHANGE_KINDS`, a field, and its two texts.

    ``a`` and ``b`` are empty where that side has nothing. ``ref`` is the member, edge or proposal that it is about, and
    empty if it is about the world itself.
    """

    kind: str
    field: str
    a: str
    b: str
    ref: str = ""


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One world that differs.

    ``names`` are those from the root down (of very deep ones the middle is left out), and ``path`` the same joined by
    ``/``; ``within`` is the world through which it was reached, empty where the comparison began. ``change`` is the
    weightiest kind in ``changes``, which say field by field what differs; a world that differs only through what it
    contains has ``members`` and no ``changes``. ``a`` and ``b`` are the world hashes on either side, empty where it
    does not exist. ``events`` name the commits that did it, on either side; ``more_events`` counts those that were left
    out. ``ref_b`` is b's reference if that is another one than ``ref``, as it is in a comparison of strangers.
    """

    path: str
    names: tuple[str, ...]
    within: str
    ref: str
    ref_b: str
    type: str
    change: str
    changes: tuple[Detail, ...]
    a: str
    b: str
    events: tuple[dict[str, Any], ...]
    more_events: int


class AlteredRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A stored record whose bytes differ at the same point of the same history.

    ``where`` says which record, ``seq`` is its commit (0 for a row of a table), ``ref`` the world that it belongs to.
    ``side`` is the one whose bytes do not have the hash that its own log names (``a``, ``b``, ``both``), or empty if
    hashes cannot show it.
    """

    seq: int
    where: str
    ref: str
    side: str
    problem: str


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """The whole answer.

    ``relation`` is one of :data:`HISTORY_RELATIONS`; ``parted`` is the last commit that both logs share, and
    ``parted_at`` its time. ``seq_a``, ``time_a``, ``root_a`` and ``store_a`` are the moment of a that was compared, its
    root hash and its store's id. If one side is a bundle, the hashes are those of the world that was compared, and
    ``parted`` is the bundle's commit if the other side is the store that it comes from. ``by`` is ``hash``, or ``key``
    or ``path`` for a comparison by content. ``deep`` says that the stored bytes were compared too, ``altered`` which of
    them differ. ``problems`` are the damages that kept parts from being compared, ``notes`` what to know when reading
    the answer.
    """

    equal: bool
    related: bool
    relation: str
    parted: int
    parted_at: int
    seq_a: int
    seq_b: int
    time_a: int
    time_b: int
    root_a: str
    root_b: str
    store_a: str
    store_b: str
    by: str
    deep: bool
    worlds_visited: int
    trie_nodes_visited: int
    worlds: tuple[Change, ...]
    altered: tuple[AlteredRecord, ...]
    problems: tuple[str, ...]
    notes: tuple[str, ...]


def main_kind(details: tuple[Detail, ...]) -> str:
    """The weightiest kind among some details; ``members`` if a world only contains changes."""
    kinds = {detail.kind for detail in details}
    return next((kind for kind in CHANGE_KINDS if kind in kinds), "members")
