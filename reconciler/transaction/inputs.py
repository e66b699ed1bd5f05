"""The inputs of a transaction beside its commands: an arriving bundle, a planned erasure, an earlier look."""

from typing import Literal, NamedTuple

from worlddb.log.model.checkpoint import Checkpoint
from worlddb.log.store.bundle_contents import Contents
from worlddb.reconciler.commands.commands import Fork, Import, Ref

Outside = Literal["refuse", "allow", "rehearse"]
"""How an import with effects on worlds outside of its bundle is handled; a rehearsal writes nothing."""


class Arrival(NamedTuple):
    """A request to import or to fork.

    It has the command, the contents that the command names by hash, the head that proves them, and how effects outside
    are handled.
    """

    command: Import | Fork
    contents: Contents
    head: Checkpoint | None
    outside: Outside = "refuse"
    read_at: int = 0
    """The last commit when the contents of a fork were read."""
    joins: bool = False
    """True if an import keeps both sides of a history that differs here and in the bundle."""


class Look(NamedTuple):
    """The moment of the view that a caller decided by: its commit and valid time.

    The request is refused if what it rests on has changed since. ``rests_on`` are worlds that must be unchanged, beside
    those that its commands name, or with ``only_these`` alone. ``free`` are worlds that must not have been pinned, nor
    tagged as published unless ``published`` allows that.
    """

    seq: int
    valid: int
    rests_on: tuple[Ref, ...] = ()
    only_these: bool = False
    free: tuple[Ref, ...] = ()
    published: bool = False
    whole: bool = False
    """True if no commit at all may have been made since."""
    texts: tuple[Ref, ...] = ()
    """Worlds whose texts were used and must not have been erased."""
    unchanged: tuple[Ref, ...] = ()
    """Worlds whose hash must be the same, so that nothing in them has changed."""


BlobPlace = tuple[int, int]
"""The place of a blob: its commit, and its position there."""


class ErasureTarget(NamedTuple):
    """A world to erase.

    ``everywhere``: it shares a text with another erased world. ``derived``: its text derives from erased texts.
    ``member``: it lies inside a world that is erased with its members.
    """

    node: int
    everywhere: bool
    derived: bool = False
    member: bool = False


class KeptMember(NamedTuple):
    """A world inside an erased one that stays, with the reason.

    ``by`` are the worlds that contain it or refer to it. ``left``: its erasure was not requested. ``outside``: it is
    not inside, but mentioned.
    """

    node: int
    why: Literal["contained", "referred_to", "left", "outside"]
    by: tuple[int, ...] = ()


class PlannedErasure(NamedTuple):
    """The effect of a request's erasures, planned before anything is decided.

    ``named`` has the world that each command names, ``targets`` all worlds that it reaches, ``blobs`` the blobs of each
    target. ``marks`` are the blobs of bookmarks and levels of trust that mention a name of a world that a command
    reaches ``everywhere``, under its first target. ``kept`` has for each command the members that stay. ``whole`` are
    the worlds that are erased with their members, and these members. ``keys`` are the access keys in force by whose
    default user, whose world is erased, they were made: without that they would open more.
    """

    named: list[int]
    targets: list[list[ErasureTarget]]
    blobs: dict[int, list[BlobPlace]]
    marks: dict[int, list[BlobPlace]]
    kept: list[list[KeptMember]]
    whole: set[int]
    keys: dict[int, list[bytes]]
