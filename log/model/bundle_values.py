"""The single values in a bundle's frames: sizes, bounds, times and texts, and the ids that are hashes of them."""

from __future__ import annotations

from typing import Final, NoReturn

from worlddb.log.model import bundle as fr
from worlddb.log.model import codec
from worlddb.log.model.blobs import Body, Details
from worlddb.log.model.errors import DamagedStore, InvalidBundle, NewerFormat
from worlddb.log.model.hashing import edge_id
from worlddb.log.model.ids import HASH_BYTES, LINEAGE_BYTES, NONCE_BYTES, short
from worlddb.log.model.limits import (
    MAX_ALIASES,
    MAX_AUTHOR_BYTES,
    MAX_CONTENT_BYTES,
    MAX_NAME_BYTES,
    MAX_REASON_BYTES,
    MAX_TYPE_BYTES,
    checked_text,
)
from worlddb.log.model.plain import checked_record
from worlddb.log.model.times import ALWAYS, FOREVER, MAX_TIME, MIN_TIME

BODY: Final = -1
ERASED: Final = -2
"""What a blob is; details are told by how many aliases they have."""

_MAX_NUMBER: Final = 2**63 - 1
_MAX_VERSION: Final = 2**32 - 1
_MAX_HANDLER_VERSION: Final = 2**16 - 1
_MAX_MOST: Final = 2**32 - 1
_HISTORIES: Final[tuple[list[str], ...]] = ([], ["accepted"], ["rejected"], ["accepted", "undone"])
"""What can have been decided about a proposal."""


def refuse(why: str) -> NoReturn:
    """Stop: the bundle does not hold."""
    raise InvalidBundle(why)


def check_size(value: bytes, size: int, what: str) -> None:
    if len(value) != size:
        refuse(f"{what} has {len(value)} bytes, not {size}")


def check_number(value: int, what: str, lowest: int = 0, highest: int = _MAX_NUMBER) -> None:
    if not lowest <= value <= highest:
        refuse(f"{what} is {value}")


def check_time(value: int) -> None:
    """A moment, not an open end."""
    check_number(value, "a time", MIN_TIME, MAX_TIME)


def check_interval(begins: int, born_to: int, ends: int) -> None:
    """A validity: it began, was to end, and now ends (never later, law 8). Only the root begins at no time."""
    if begins != ALWAYS:
        check_time(begins)
    for end in (born_to, ends):
        if end not in (FOREVER, begins):
            check_time(end)
    if not begins <= ends <= born_to:
        refuse("a validity ends before it begins, or later than it was written with")


def check_heading(frame: fr.Heading) -> None:
    if frame.format != fr.BUNDLE_FORMAT:
        refuse(f"it says that the bundle has format {frame.format}")
    check_size(frame.store_id, LINEAGE_BYTES, "the store's id")
    check_size(frame.chain, HASH_BYTES, "the chain hash")
    check_size(frame.world, LINEAGE_BYTES, "a world's id")
    check_size(frame.world_hash, HASH_BYTES, "a world hash")
    check_number(frame.seq, "a commit", 1)
    check_time(frame.ingest_time)


def check_commit(frame: fr.CommitFrame) -> None:
    check_number(frame.seq, "a commit", 1)
    check_time(frame.ingest_time)
    checked_text(frame.author, "an author", MAX_AUTHOR_BYTES, empty=False)


def check_end(frame: fr.EndFrame, frames: int, worlds: int) -> None:
    if (frame.frames, frame.worlds) != (frames, worlds):
        refuse(f"it counts {frame.frames} frames and {frame.worlds} worlds, but there are {frames} and {worlds}")


def blob_kind(stored: bytes) -> int:
    """:data:`BODY`, or how many aliases the details have; texts must be such as a command could have given."""
    try:
        blob = codec.decode_blob(stored, 0)
    except (DamagedStore, NewerFormat):
        refuse("it holds neither a body nor details")
    check_size(blob.nonce, NONCE_BYTES, "a nonce")
    if isinstance(blob, Body):
        checked_text(blob.type, "type", MAX_TYPE_BYTES, empty=False)
        checked_text(blob.name, "name", MAX_NAME_BYTES)
        checked_text(blob.content, "content", MAX_CONTENT_BYTES)
        return BODY
    if not isinstance(blob, Details):
        refuse("it holds neither a body nor details")
    checked_text(blob.why, "why", MAX_REASON_BYTES)
    checked_record(blob.source, "source")
    checked_record(blob.properties, "properties")
    if len(blob.aliases) > MAX_ALIASES:
        refuse(f"it has more than {MAX_ALIASES} aliases")
    for alias in blob.aliases:
        checked_text(alias, "an alias", MAX_NAME_BYTES, empty=False)
    return len(blob.aliases)


def check_proposal(frame: fr.ProposalFrame) -> bool:
    """True if it stands accepted."""
    check_size(frame.proposal, HASH_BYTES, "a proposal's id")
    _check_said(frame)
    decided = [decision for decision, _, _ in frame.decisions]
    if decided not in _HISTORIES:
        refuse(f"the proposal {short(frame.proposal)} cannot have been {', then '.join(decided)[:80]}")
    return decided == ["accepted"]


def check_edge_type(frame: fr.EdgeTypeFrame) -> None:
    """Name, version and digest of a registered edge type."""
    checked_text(frame.type, "an edge type", MAX_TYPE_BYTES, empty=False)
    check_number(frame.handler_version, "a handler's version", 0, _MAX_HANDLER_VERSION)
    check_size(frame.digest, HASH_BYTES, "a digest")
    if frame.digest_of == "built_in":
        refuse(f"{frame.type!r:.80} is said to be built in, and such types are not registered with a digest")


def check_registration(frame: fr.RegistrationFrame) -> None:
    """As :func:`check_edge_type`; a built-in type has a name and no code."""
    checked_text(frame.type, "an edge type", MAX_TYPE_BYTES, empty=False)
    check_number(frame.handler_version, "a handler's version", 0, _MAX_HANDLER_VERSION)
    check_size(frame.digest, 0 if frame.digest_of == "built_in" else HASH_BYTES, "a digest")
    if frame.details and not frame.seq:
        refuse(f"why {frame.type!r:.80} was registered is told, and not by which commit")
    if len(set(frame.rewrites)) < len(frame.rewrites) or (frame.rewrites and frame.digest_of == "built_in"):
        refuse(f"{frame.type!r:.80} asks queries for something twice, or without a handler")


def check_tuning(frame: fr.TuningFrame) -> None:
    """Thresholds such as a command could have set."""
    checked_text(frame.type, "a node type", MAX_TYPE_BYTES)
    for name in ("fuzzy", "phonetic", "embedding", "margin"):
        if not 0 <= getattr(frame, name) <= 1:
            refuse(f"the threshold {name} is {getattr(frame, name)!r}")
    check_number(frame.most, "most", 1, _MAX_MOST)
    if frame.details and not frame.seq:
        refuse("why thresholds were set is told, and not by which commit")


def check_edge(frame: fr.EdgeFrame) -> None:
    check_size(frame.edge, HASH_BYTES, "an edge's id")
    checked_text(frame.type, "an edge type", MAX_TYPE_BYTES, empty=False)
    _check_said(frame)
    check_interval(frame.valid_from, frame.born_to, frame.valid_to)


def _check_said(frame: fr.EdgeFrame | fr.ProposalFrame) -> None:
    """What edges and proposals have in common."""
    for lineage in (frame.source, frame.target):
        check_size(lineage, LINEAGE_BYTES, "a world's id")
    for body in (frame.source_body, frame.target_body):
        check_size(body, HASH_BYTES, "a version's id")
    for ordinal in (frame.source_version, frame.target_version):
        check_number(ordinal, "a version", 1, _MAX_VERSION)
    check_size(frame.nonce, NONCE_BYTES, "a nonce")
    check_number(frame.handler_version, "a handler's version", 0, _MAX_HANDLER_VERSION)
    check_number(frame.order, "an order")
    check_interval(frame.valid_from, FOREVER, FOREVER)


def identity_of(frame: fr.EdgeFrame | fr.ProposalFrame, type_name: str, home: bytes) -> bytes:
    """The id of an edge or a proposal, computed from what it says."""
    return edge_id(
        type_name,
        frame.source,
        frame.source_body,
        frame.target,
        frame.target_body,
        home,
        frame.valid_from,
        frame.details,
        frame.nonce,
    )
