"""What a request brings into its transaction beside its commands.

That is an arriving bundle, a planned erasure, or the moment at which its caller looked.
"""

from typing import Literal, NamedTuple

from worlddb.log.model.checkpoint import Checkpoint
from worlddb.log.store.bundle_contents import Contents
from worlddb.reconciler.commands.commands import Fork, Import, Ref

Outside = Literal["refuse", "allow", "rehearse"]
"""What becomes of an import that does something to worlds outside of its bundle; a rehearsal writes nothing at all."""


class Arrival(NamedTuple):
    """A request to import, or to fork.

    It has the command, the contents that it names by hash, the head that proved them, and what the operator allows.
    """

    command: Import | Fork
    contents: Contents
    head: Checkpoint | None
    outside: Outside = "refuse"
    read_at: int = 0
    """The last commit when the contents of a fork were read."""
    joins: bool = False
    """Whether an import keeps both sides of what went different ways here and in the bundle."""


class Look(NamedTuple):
    """The moment of the view by which a request was made up: its commit and its valid time.

    ``rests_on`` are worlds that it is to find as they were, beside those that its commands name; with ``only_these``
    alone. ``free`` are those that nobody may have pinned, nor tagged as published unless ``published`` says that this
    does not matter.
    """

    seq: int
    valid: int
    rests_on: tuple[Ref, ...] = ()
    only_these: bool = False
    free: tuple[Ref, ...] = ()
    published: bool = False
    whole: bool = False
    """Nobody may have written anything."""
    texts: tuple[Ref, ...] = ()
    """Worlds of whose texts something was made: none of these may have been erased."""
    unchanged: tuple[Ref, ...] = ()
    """Worlds that are to have the hash that they had: nobody may have changed anything in them."""


BlobPlace = tuple[int, int]
"""Where a blob is: its commit, and its position in it."""


class ErasureTarget(NamedTuple):
    """A world to be erased.

    ``everywhere``: it shares a text with another one that is erased. ``derived``: its text was made of erased texts.
    ``member``: it lies inside of one that is erased with all in it.
    """

    node: int
    everywhere: bool
    derived: bool = False
    member: bool = False


class KeptMember(NamedTuple):
    """A world inside of an erased one that stays, why, and the worlds that have a part in it.

    They contain it, or refer to it; ``left``: nobody wanted it erased. ``outside``: it is not inside, but mentioned.
    """

    node: int
    why: Literal["contained", "referred_to", "left", "outside"]
    by: tuple[int, ...] = ()


class PlannedErasure(NamedTuple):
    """The effect of a request's erasures, found before anything is decided.

    ``named`` has the world that each command names, ``targets`` all worlds that it reaches, ``blobs`` the blobs of each
    target. ``marks`` are the blobs of bookmarks whose names or reasons hold a name of what a command reaches
    everywhere, under its first target. ``kept`` has for each command what stays of the interior of its world, ``whole``
    the worlds of which the interior goes too, and that.
    """

    named: list[int]
    targets: list[list[ErasureTarget]]
    blobs: dict[int, list[BlobPlace]]
    marks: dict[int, list[BlobPlace]]
    kept: list[list[KeptMember]]
    whole: set[int]
