"""Bundles: a world with its interior at one commit, as frames (bytes: ``docs/bundles.md``).

A frame is a tagged msgpack array. Worlds come from the inside out: a ``world`` frame opens a group, and what follows up
to the next one is said of that world. A member's group stands before those of the worlds that contain it, so a reader
can hash every world as soon as its group ends, and a containment cycle cannot be written at all. Texts are in ``blob``
frames, stored bytes as they are, before the frames that name them by hash; an ``erased`` frame stands for one whose
text is gone. ``order`` is the place of a world, an edge or a proposal among those of the bundle, as the exporting store
got to know them, so that an import can keep it; only which is greater says anything.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import msgspec

from worlddb.log.model import events as ev
from worlddb.log.model import times
from worlddb.log.model.events import BeliefSetting, Decision, DigestOf, RewriteName

BUNDLE_FORMAT: Final = 1
STRUCK_FORMAT: Final = 2
"""The format of a bundle with details of which single texts were erased; otherwise it equals format 1."""
TWIN_FORMAT: Final = 3
"""The format of a bundle with a text that one world has and its fork lacks; each group holds its own world's bytes."""
MAGICS: Final = {
    BUNDLE_FORMAT: b"worlddb-bundle 1\n",
    STRUCK_FORMAT: b"worlddb-bundle 2\n",
    TWIN_FORMAT: b"worlddb-bundle 3\n",
}
MAGIC: Final = MAGICS[BUNDLE_FORMAT]
"""The first bytes of every bundle of a format, before compression."""
MAGIC_STEM: Final = b"worlddb-bundle "
LINES_STEM: Final = b'{"kind":"export"'
"""What an export in JSON Lines begins with, which is no bundle."""


Span = tuple[int, int]
"""``[from, to)`` in microseconds."""


class Frame(msgspec.Struct, frozen=True, array_like=True, gc=False, tag_field="frame"):
    """Base of all frames."""


class Heading(Frame, frozen=True, tag="bundle"):
    """The first frame: which world of which store as of which commit, and its world hash.

    The world had that hash as of that commit.
    """

    format: int
    store_id: bytes
    seq: int
    ingest_time: int
    chain: bytes
    world: bytes
    world_hash: bytes


class CommitFrame(Frame, frozen=True, tag="commit"):
    """A commit of the exporting store that wrote some of the following frames: author and time."""

    seq: int
    ingest_time: int
    author: str


class BlobFrame(Frame, frozen=True, tag="blob"):
    """A body or details, as stored; its id is the hash of these bytes."""

    stored: bytes


class ErasedFrame(Frame, frozen=True, tag="erased"):
    """The id of a blob whose text the exporting store lacks, such as an erased one."""

    blob: bytes


class OutsideFrame(Frame, frozen=True, tag="outside"):
    """A world outside of the bundle that an edge inside leads to or from.

    It has times and version ids, and no text. ``versions`` are (body id, ``valid_from``, ``valid_to``), from ordinal
    1 up to the last that an edge names; ``spans`` and ``stated`` are those of each, as a version's, or nothing if no
    version has any.
    """

    lineage: bytes
    t_create: int
    versions: list[tuple[bytes, int, int]]
    spans: list[list[Span]] = []
    stated: list[int] = []


class WorldFrame(Frame, frozen=True, tag="world"):
    """Opens the group of a world."""

    lineage: bytes
    world_hash: bytes
    t_create: int
    order: int


class VersionFrame(Frame, frozen=True, tag="version"):
    """The next version of the world.

    ``born_to`` is the end it was written with, ``valid_to`` the one it has now. ``by`` is the lineage that superseded
    it, or empty; ``details`` an id, or empty; ``seq`` a commit that was given. ``spans`` are those in which it holds,
    if that is not all from ``valid_from`` to ``valid_to``; ``stated`` is as in
    :class:`worlddb.log.model.events.Created`.
    """

    body: bytes
    details: bytes
    seq: int
    valid_from: int
    born_to: int
    valid_to: int
    by: bytes
    spans: list[Span] = []
    stated: int = ev.UNKNOWN


class AliasFrame(Frame, frozen=True, tag="alias"):
    """The next alias of the world, in the order they were given.

    ``removed`` if it was taken back.
    """

    details: bytes
    position: int
    seq: int
    removed: bool


class RestatedFrame(Frame, frozen=True, tag="restated"):
    """Version number ``version`` of the world was stated again; ``details`` is an id, or empty."""

    version: int
    details: bytes
    seq: int


class DeadlineFrame(Frame, frozen=True, tag="deadline"):
    """The world is hidden from ``at`` on; a refresh sets that to ``lasts`` microseconds after itself, if not 0."""

    at: int
    lasts: int
    details: bytes
    seq: int


class LabelFrame(Frame, frozen=True, tag="label"):
    """The world has the label at ``position`` of the names in ``details``."""

    details: bytes
    position: int
    seq: int


class PinFrame(Frame, frozen=True, tag="pin"):
    """The world is pinned."""

    details: bytes
    seq: int


class TagFrame(Frame, frozen=True, tag="tag"):
    """The tag that is the first name in ``details`` stands for version ``number`` of the world."""

    number: int
    details: bytes
    seq: int


class DeprecatedFrame(Frame, frozen=True, tag="deprecated"):
    """The world is deprecated."""

    details: bytes
    seq: int


class TermsFrame(Frame, frozen=True, tag="terms"):
    """The next terms of the world: those at ``places`` among the names in ``details``, counted from 1 on."""

    details: bytes
    seq: int
    places: list[int]


class StatedFrame(Frame, frozen=True, tag="stated"):
    """Quads hold in the world from ``valid_from`` to ``valid_to``.

    ``quads`` are the numbers of subject, predicate, object and graph (0: the default graph), one quad behind the other.
    Commit ``seq`` said so; the source stands in ``details``.
    """

    quads: list[int]
    valid_from: int
    valid_to: int
    details: bytes
    seq: int


class EndedFrame(Frame, frozen=True, tag="ended"):
    """The world was retired or superseded, and not resumed.

    ``after`` is the number of versions that it had by then, 0 for all.
    """

    at: int
    details: bytes
    by: bytes
    seq: int
    after: int = 0


class VoidedFrame(Frame, frozen=True, tag="voided"):
    """A span in which the world was said to have no valid version; or an end after which it was resumed.

    The fields are as those of :class:`EndedFrame`.
    """

    valid_from: int
    valid_to: int
    details: bytes
    by: bytes
    seq: int
    after: int


class ProposalFrame(Frame, frozen=True, tag="proposal"):
    """A staged ``same_as`` of the world's interior, and what was decided about it.

    Each decision is (decision, details, seq).
    """

    proposal: bytes
    source: bytes
    source_version: int
    source_body: bytes
    target: bytes
    target_version: int
    target_body: bytes
    valid_from: int
    details: bytes
    nonce: bytes
    handler_version: int
    seq: int
    order: int
    decisions: list[tuple[Decision, bytes, int]]


class EdgeFrame(Frame, frozen=True, tag="edge"):
    """An edge of the world's interior, or a membership in it.

    Its id is the hash of its other fields. The edge of an accepted proposal comes behind it, under the same id and
    with the same details. ``spans`` are as a version's.
    """

    edge: bytes
    type: str
    source: bytes
    source_version: int
    source_body: bytes
    target: bytes
    target_version: int
    target_body: bytes
    valid_from: int
    born_to: int
    valid_to: int
    details: bytes
    nonce: bytes
    keyed: bool
    handler_version: int
    seq: int
    order: int
    spans: list[Span] = []


class EdgeTypeFrame(Frame, frozen=True, tag="edge_type"):
    """An edge type that the exporting store had registered for edges of the bundle.

    This is information, which no hash of the bundle covers. ``digest`` stands for the handler's code, as
    ``digest_of`` says; see :class:`worlddb.log.model.events.Registered`.
    """

    type: str
    handler_version: int
    digest: bytes
    digest_of: DigestOf


class RegistrationFrame(Frame, frozen=True, tag="registration"):
    """An edge type holds for the world and all inside it.

    See :class:`worlddb.log.model.events.Registered`. It was registered for this world by the commit ``seq``, or for a
    world around the exported one: then it stands with that one, its ``details`` are empty and its ``seq`` is 0.
    """

    type: str
    handler_version: int
    digest: bytes
    digest_of: DigestOf
    rewrites: list[RewriteName]
    functional: bool
    details: bytes
    seq: int


class TuningFrame(Frame, frozen=True, tag="tuning"):
    """Thresholds hold for the world and all inside it.

    See :class:`worlddb.log.model.events.Tuned`. They were set for this world by the commit ``seq``, or for a world
    around the exported one: then they stand with that one, ``details`` are empty and ``seq`` is 0.
    """

    type: str
    fuzzy: float
    phonetic: float
    embedding: float
    margin: float
    most: int
    details: bytes
    seq: int


class ProfileFrame(Frame, frozen=True, tag="profile"):
    """The vocabulary of the world and all inside it is closed, by the commit ``seq``.

    See :class:`worlddb.log.model.events.Profiled`.
    """

    profile: str
    node_types: list[str]
    relations: list[str]
    details: bytes
    seq: int


class BeliefFrame(Frame, frozen=True, tag="belief"):
    """A belief setting of the exporting store that applies to something in the bundle.

    See :class:`worlddb.log.model.events.BeliefsSet`. It belongs to the group of the exported world.
    """

    what: BeliefSetting
    name: str
    how: str


class RetractedFrame(Frame, frozen=True, tag="retracted"):
    """Ids of edges of the world's interior that were unlinked, 32 bytes each.

    An import retracts them too.
    """

    edges: bytes


class ProofFrame(Frame, frozen=True, tag="proof"):
    """A proof of inclusion as text, from a head of the exporting store to the world hash."""

    stored: bytes


class EndFrame(Frame, frozen=True, tag="end"):
    """The last frame: how many frames and worlds came before it."""

    frames: int
    worlds: int


AnyFrame = (
    Heading
    | CommitFrame
    | BlobFrame
    | ErasedFrame
    | OutsideFrame
    | WorldFrame
    | VersionFrame
    | AliasFrame
    | RestatedFrame
    | DeadlineFrame
    | LabelFrame
    | PinFrame
    | TagFrame
    | DeprecatedFrame
    | TermsFrame
    | StatedFrame
    | EndedFrame
    | VoidedFrame
    | ProposalFrame
    | EdgeFrame
    | EdgeTypeFrame
    | RegistrationFrame
    | TuningFrame
    | ProfileFrame
    | BeliefFrame
    | RetractedFrame
    | ProofFrame
    | EndFrame
)

_DECODER: Final[msgspec.msgpack.Decoder[AnyFrame]] = msgspec.msgpack.Decoder(AnyFrame)


def decode_frame(stored: bytes) -> AnyFrame:
    """Decode the frame in some bytes.

    Raises ``ValueError`` (of which msgspec's errors are kinds) if there is none.
    """
    try:
        return _DECODER.decode(stored)
    except (TypeError, OverflowError, RecursionError) as error:
        raise ValueError(str(error)) from None


def validity_of(begins: int, ends: int, spans: Sequence[Span]) -> times.Validity:
    """The validity in a frame."""
    if not spans:
        return times.Interval(begins, ends)
    return times.spans_of(tuple(times.Interval(*span) for span in spans), begins)


def spans_of(validity: times.Validity, begins: int) -> list[Span]:
    """The spans to store in a frame: none where the first start and the last end describe the validity."""
    if isinstance(validity, times.Interval) and validity.start == begins:
        return []
    return [(piece.start, piece.end) for piece in validity.pieces]


class Hole(NamedTuple):
    """A span in which a lineage has no valid version, stated by commit ``seq`` and after so many versions.

    ``details`` is a position in that commit.
    """

    span: times.Interval
    details: int
    by: bytes
    seq: int
    after: int


class LineageHistory(NamedTuple):
    """When a lineage holds, by its events.

    ``born_to`` are the ends that its versions were written with, ``by`` the lineages that last superseded each of
    them, by ordinal, ``holes`` the empty spans in order, and ``end`` the index of the hole that has ended it for good.
    """

    born_to: list[int]
    by: dict[int, bytes]
    holes: list[Hole]
    end: int | None


def lineage_history(events: Iterable[tuple[int, ev.AnyEvent]]) -> LineageHistory:
    """Collect when a lineage holds from its events, each with its commit, in log order."""
    born_to: list[int] = []
    by: dict[int, bytes] = {}
    holes: list[Hole] = []
    end: int | None = None
    for seq, event in events:
        if isinstance(event, ev.Created | ev.Revised):
            born_to.append(event.valid_to)
            if event.valid_to == times.FOREVER:
                end = None
        elif isinstance(event, ev.Closed | ev.Lost):
            by[event.version] = event.by
        elif isinstance(event, ev.Ended):
            end = len(holes) if end is None else end
            span = times.Interval(event.at, times.FOREVER)
            holes.append(Hole(span, event.details, event.by, seq, len(born_to)))
        elif isinstance(event, ev.Voided):
            span = times.Interval(event.valid_from, event.valid_to)
            end = len(holes) if end is None and span.is_open else end
            holes.append(Hole(span, event.details, b"", seq, len(born_to)))
    return LineageHistory(born_to, by, holes, end)
