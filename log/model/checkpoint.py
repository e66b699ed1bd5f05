"""Checkpoints: the state of a store at one commit, as a few lines that can be signed and kept elsewhere.

The text follows c2sp.org/tlog-checkpoint. The first three lines are what proofs are checked against; the others are
extension lines, which a verification of the store checks as well:

    worlddb/ store id in hex
    size of the tree: the sequence number of the last commit
    root of the tree in base64
    chain  chain hash of that commit in hex
    root  root world hash after it in hex
    time  its ingest time, ISO 8601
"""

import re
from base64 import b64encode
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

import msgspec

from worlddb.log.model import errors, ids, limits, signed_note, times

_ORIGIN: Final = "worlddb/"
_SIZE: Final = re.compile("0|[1-9][0-9]{0,18}")
_COMMIT_STATE: Final = re.compile("chain ([0-9a-f]{64})\nroot ([0-9a-f]{64})\ntime (.+)\n")
_LINES: Final = 3


class CommitState(NamedTuple):
    """The last commit, from the extension lines: its chain hash, the root hash after it, its time."""

    chain: bytes
    root: bytes
    ingest_time: int


class Checkpoint(NamedTuple):
    """A parsed checkpoint; ``commit_state`` is ``None`` without extension lines."""

    origin: str
    size: int
    tree: bytes
    commit_state: CommitState | None


class OwnCheckpoint(NamedTuple):
    """A checkpoint made by a store, which always has extension lines."""

    origin: str
    size: int
    tree: bytes
    commit_state: CommitState


def origin_of(store_id: bytes) -> str:
    """The line that names a store."""
    return _ORIGIN + store_id.hex()


def checkpoint_text(checkpoint: OwnCheckpoint) -> str:
    """The lines of a checkpoint, without signatures."""
    chain, root, ingest_time = checkpoint.commit_state
    lines = [checkpoint.origin, str(checkpoint.size), b64encode(checkpoint.tree).decode()]
    lines += [f"chain {chain.hex()}", f"root {root.hex()}", f"time {times.format_time(ingest_time)}"]
    return "\n".join(lines) + "\n"


def read_checkpoint(given: object, what: str = "the head") -> tuple[Checkpoint, signed_note.SignedNote]:
    """Parse a checkpoint, or the JSON document of ``worlddb head --json``; return it with its signed note.

    Raises:
        MalformedFile: it is not a checkpoint; the message names the line.
        LimitExceeded: it is larger than a checkpoint may be.
        InputError: it is not text.
    """
    document = _parse_document(given, what)
    note = signed_note.parse_note(document.checkpoint, what)
    lines = note.text.split("\n")[:-1]
    if len(lines) < _LINES or not all(lines):
        raise signed_note.malformed(
            what, len(lines), "a checkpoint has at least three lines, and none of them is empty"
        )
    origin, size, encoded = lines[:_LINES]
    if not _SIZE.fullmatch(size):
        raise signed_note.malformed(what, 2, f"{size[:40]!r} is not the size of a tree")
    tree = signed_note.decode_base64(encoded)
    if tree is None or len(tree) != ids.HASH_BYTES:
        raise signed_note.malformed(what, 3, f"{encoded[:60]!r} is not a root hash in base64")
    commit_state = None
    if origin.startswith(_ORIGIN) and len(lines) > _LINES:
        commit_state = _parse_commit_state(lines[_LINES:])
        if commit_state is None:
            raise signed_note.malformed(
                what, _LINES + 1, "the lines of chain hash, root hash and time are not in canonical form"
            )
    found = Checkpoint(origin, int(size), tree, commit_state)
    if not document.matches(found):
        raise signed_note.malformed(what, 1, "the JSON document's own fields differ from its checkpoint")
    return found, note


class Anchor(NamedTuple):
    """A checkpoint that was kept elsewhere, and the problems of its signatures."""

    checkpoint: Checkpoint
    problems: tuple[str, ...]


def anchor_of(head: str | bytes | None, keys: Sequence[str], what: str = "the head") -> Anchor:
    """The anchor for verifying a log: a checkpoint that each verifier key should have signed.

    Raises:
        MalformedFile, LimitExceeded: ``head`` is not a checkpoint.
        InputError: a key is not a verifier key, or there is no head.
    """
    holders = [signed_note.parse_verifier_key(key) for key in limits.checked_list(keys, "keys")]
    if head is None:
        raise errors.InputError("Keys were given, but no head", "Give the head that they signed")
    checkpoint, note = read_checkpoint(head, what)
    missing = [key for key in holders if not signed_note.is_signed(note, key)]
    problems = tuple(f"{what} has no valid signature of {key.name} (key {key.key_id.hex()})" for key in missing)
    return Anchor(checkpoint, problems)


def _parse_commit_state(lines: list[str]) -> CommitState | None:
    """Parse the extension lines of a store's checkpoint; ``None`` if they are not in canonical form.

    Other lines may follow.
    """
    found = _COMMIT_STATE.match("\n".join([*lines, ""]))
    if found is None:
        return None
    chain, root, time = found.groups()
    try:
        ingest_time = times.parse_time(time)
    except errors.InvalidTime:
        return None
    return (
        CommitState(bytes.fromhex(chain), bytes.fromhex(root), ingest_time)
        if times.format_time(ingest_time) == time
        else None
    )


class _HeadDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The answer of ``worlddb head --json`` or ``worlddb cosign --json``, which contains a checkpoint."""

    checkpoint: str
    seq: int | None = None
    chain: str | None = None
    root: str | None = None
    ingested_at: str | None = None
    store: str | None = None
    tree: str | None = None
    supposes: None = None
    ok: Literal[True] = True
    reason: Literal[""] = ""

    def matches(self, found: Checkpoint) -> bool:
        """True if the other fields agree with the checkpoint."""
        state = found.commit_state
        said = {"seq": found.size, "store": found.origin.removeprefix(_ORIGIN), "tree": found.tree.hex()}
        if state is not None:
            said |= {"chain": state.chain.hex(), "root": state.root.hex()}
            said |= {"ingested_at": times.format_time(state.ingest_time)}
        return all(getattr(self, name) in (None, said.get(name)) for name in _DOCUMENT_FIELDS)


_DOCUMENT_FIELDS: Final = ("seq", "chain", "root", "ingested_at", "store", "tree")


def _parse_document(given: object, what: str) -> _HeadDocument:
    """Parse the text of a checkpoint, or a JSON document that contains it."""
    if not isinstance(given, str | bytes):
        raise errors.InputError(f"{what} is {type(given).__name__}, not text", "Give the text of a checkpoint")
    if len(given) > limits.MAX_CHECKPOINT_BYTES:
        raise errors.LimitExceeded(
            f"{what} has {len(given):,} bytes, above the limit of {limits.MAX_CHECKPOINT_BYTES:,}", "Give a checkpoint"
        )
    try:
        text = given.decode() if isinstance(given, bytes) else given
        text.encode()
        return msgspec.json.decode(text, type=_HeadDocument) if text.lstrip()[:1] == "{" else _HeadDocument(text)
    except (UnicodeDecodeError, UnicodeEncodeError):
        raise signed_note.malformed(what, 1, "it is not UTF-8 text") from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise signed_note.malformed(
            what, 1, f"it is JSON, but not an answer of `worlddb head --json`: {error}"
        ) from None
