"""Proofs as documents, and pure functions that check them against a head, without a store.

A proof is one JSON object; every hash and every byte string in it is lower-case hexadecimal. The algorithm is written
down for other languages in docs/proofs.md, step by step in the order of this file.
"""

import json
from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal, NamedTuple

import msgspec

from worlddb.log.model import blobs, checkpoint, codec, errors, hashing, ids, limits, merkle, trie

PROOF_VERSION: Final = 1
ROOT: Final = ""
"""How the root world is named in a proof: its hash does not tell its lineage."""

Hash = Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{64}\Z")]
Lineage = Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{32}\Z")]
LineageOrRoot = Annotated[str, msgspec.Meta(pattern=r"\A([0-9a-f]{32})?\Z")]
Hex = Annotated[str, msgspec.Meta(pattern=r"\A([0-9a-f]{2})*\Z")]
Seq = Annotated[int, msgspec.Meta(ge=1, le=limits.HIGHEST_SEQ)]
Time = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
Version = Annotated[int, msgspec.Meta(ge=1)]
LogPath = Annotated[list[Hash], msgspec.Meta(max_length=64)]
TriePath = Annotated[list[Hex], msgspec.Meta(max_length=64)]


class _Document(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag_field="proof"):
    """A proof of either kind."""


class WorldStep(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A world on the way down: what its hash is made of, and the trie nodes to the next one.

    The nodes are those of the members trie.
    """

    lineage: LineageOrRoot
    body: Hash
    members: Hash
    edges: Hash
    created: Time
    nodes: TriePath


class EdgeStep(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An edge in the interior of the last world, and the edges trie's nodes to it.

    The fields before ``nodes`` are what its identifier is made of.
    """

    type: str
    source: Lineage
    source_version: Hash
    target: Lineage
    target_version: Hash
    home: Lineage
    valid_from: Time
    details: Annotated[str, msgspec.Meta(pattern=r"\A([0-9a-f]{64})?\Z")]
    nonce: Hex
    nodes: TriePath

    @property
    def id(self) -> bytes:
        """The edge's identifier, made again."""
        return hashing.edge_id(
            self.type,
            bytes.fromhex(self.source),
            bytes.fromhex(self.source_version),
            bytes.fromhex(self.target),
            bytes.fromhex(self.target_version),
            bytes.fromhex(self.home),
            self.valid_from,
            bytes.fromhex(self.details),
            bytes.fromhex(self.nonce),
        )


class Inclusion(_Document, frozen=True, tag="inclusion"):
    """Proof that a world or an edge was inside ``world`` at commit ``seq``.

    The log has ``size`` commits. What was inside is the last of ``worlds``, or ``edge``. ``worlds`` leads from the
    root world down, each a member of the one before it. ``shown`` holds the stored bytes of the body, or of the
    edge's details, if they are to be shown.
    """

    version: Version
    store: Lineage
    size: Seq
    seq: Seq
    header: Hex
    path: LogPath
    world: LineageOrRoot
    worlds: Annotated[list[WorldStep], msgspec.Meta(min_length=1)]
    edge: EdgeStep | None = None
    shown: Hex | None = None


class Consistency(_Document, frozen=True, tag="consistency"):
    """The log of ``old`` commits is how the log of ``new`` commits begins."""

    version: Version
    store: Lineage
    old: Seq
    new: Seq
    old_root: Hash
    new_root: Hash
    path: LogPath


class ProofCheck(NamedTuple):
    """The result of checking a proof: ``reason`` says why it fails, and is empty if it holds.

    ``claim`` is what it proves, identifiers in hexadecimal; it means nothing unless ``ok``.
    """

    ok: bool
    reason: str
    kind: str
    claim: dict[str, Any]


class _ProofFails(Exception):
    """The proof does not hold."""


class _ProofDocument(msgspec.Struct, frozen=True):
    """Distinguishes a proof from the answer of ``worlddb prove --json``, whose ``proof`` is the whole document."""

    proof: msgspec.Raw


class _ProveAnswer(_ProofDocument, frozen=True, forbid_unknown_fields=True):
    """The answer of ``worlddb prove --json``; ``file``, where it was written, does not concern the proof."""

    ok: Literal[True] = True
    file: str | None = None
    bytes: int | None = None
    shows_text: bool | None = None

    def matches(self, proof: Inclusion | Consistency) -> bool:
        """True if the other fields agree with the proof."""
        shows = proof.shown is not None if isinstance(proof, Inclusion) else None
        return self.bytes in (None, len(proof_text(proof))) and self.shows_text in (None, shows)


_TAG: Final = msgspec.json.Decoder(_ProofDocument)
_ANSWER: Final = msgspec.json.Decoder(_ProveAnswer)

_DECODER: Final = msgspec.json.Decoder(Inclusion | Consistency)
_ENCODER: Final = msgspec.json.Encoder()


def proof_text(proof: Inclusion | Consistency) -> str:
    """A proof as it is written."""
    return _ENCODER.encode(proof).decode() + "\n"


def read_proof(given: object, what: str = "the proof") -> Inclusion | Consistency:
    """Parse a proof, or the answer of ``worlddb prove --json``. ``what`` names it in errors.

    Raises:
        MalformedFile: it is not a proof, or has an unknown version; the message names the place.
        LimitExceeded: it is larger than ``MAX_PROOF_BYTES``.
        InputError: it is neither text nor bytes.
    """
    if not isinstance(given, str | bytes):
        raise errors.InputError(
            f"{what} is {type(given).__name__}, not text", "Give the file that `worlddb prove` wrote"
        )
    if len(given) > limits.MAX_PROOF_BYTES:
        raise errors.LimitExceeded(
            f"{what} is longer than {limits.MAX_PROOF_BYTES:,} bytes", "Prove it in a world with fewer containers"
        )
    try:
        json.loads(given, object_pairs_hook=_unique_members)
        alone = bytes(_TAG.decode(given).proof)[:1] == b'"'
        told = None if alone else _ANSWER.decode(given)
        found: Inclusion | Consistency = _DECODER.decode(given if told is None else told.proof)
        if told is not None and not told.matches(found):
            raise msgspec.ValidationError("the fields beside the proof differ from it")
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise errors.MalformedFile(
            f"{what} is not a proof: {error}", "Give the file as `worlddb prove` wrote it", file=what
        ) from None
    if found.version != PROOF_VERSION:
        raise errors.MalformedFile(
            f"{what} has version {found.version}; this release knows version {PROOF_VERSION}",
            "Upgrade WorldDB",
            file=what,
        )
    return found


def _unique_members(members: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make a JSON object, and refuse duplicate members, which another parser could resolve differently."""
    found = dict(members)
    if len(found) != len(members):
        raise ValueError("an object has the same member twice")
    return found


def check(proof: Inclusion | Consistency, heads: Sequence[checkpoint.Anchor]) -> ProofCheck:
    """Check a proof against heads: one for an inclusion; for a consistency the old, the new, or both in that order."""
    kind = "inclusion" if isinstance(proof, Inclusion) else "consistency"
    try:
        for head in heads:
            if head.problems:
                raise _ProofFails(head.problems[0])
            if head.checkpoint.origin != checkpoint.origin_of(bytes.fromhex(proof.store)):
                raise _ProofFails(
                    f"the head belongs to another store: {head.checkpoint.origin[:80]}, and the proof to {proof.store}"
                )
        if isinstance(proof, Consistency):
            claim = _check_consistency(proof, heads)
        else:
            claim = _check_inclusion(proof, heads)
    except _ProofFails as failed:
        return ProofCheck(False, str(failed), kind, {})
    return ProofCheck(True, "", kind, claim)


def proved_world(proof: Inclusion) -> tuple[str, bytes, bytes, codec.Header]:
    """Return the last world of a proof, its hash, and the chain hash and header of the commit.

    This relies on the header in the proof. Only a head can show that the commit is in a log: see :func:`check`.

    Raises:
        ValueError: the proof does not lead from the header's root hash to that world.
    """
    try:
        header = _header_of(proof)
        last = _descend(proof, header)
    except _ProofFails as failed:
        raise ValueError(str(failed)) from None
    members, edges = bytes.fromhex(last.members), bytes.fromhex(last.edges)
    reached = hashing.world_hash(bytes.fromhex(last.body), members, edges, last.created)
    return last.lineage, reached, codec.chain_hash(bytes.fromhex(proof.header)), header


def _check_consistency(proof: Consistency, heads: Sequence[checkpoint.Anchor]) -> dict[str, Any]:
    ends = {proof.old: proof.old_root, proof.new: proof.new_root}
    if len(heads) > 1 and [head.checkpoint.size for head in heads] != [proof.old, proof.new]:
        sizes = " and ".join(str(head.checkpoint.size) for head in heads)
        raise _ProofFails(f"the proof leads from {proof.old} to {proof.new} commits, and the heads cover {sizes}")
    for head in heads:
        size, tree = head.checkpoint.size, head.checkpoint.tree.hex()
        if size not in ends:
            raise _ProofFails(f"the proof is about {proof.old} and {proof.new} commits, and the head covers {size}")
        if tree != ends[size]:
            raise _ProofFails(f"the proof leads to another root than the head has for {size} commits")
    roots = bytes.fromhex(proof.old_root), bytes.fromhex(proof.new_root)
    if not merkle.is_consistent(proof.old, proof.new, *roots, [bytes.fromhex(each) for each in proof.path]):
        raise _ProofFails(
            f"the proof does not show that the log of {proof.new} commits begins with the one of {proof.old}"
        )
    return {name: getattr(proof, name) for name in ("store", "old", "old_root", "new", "new_root")}


def _check_inclusion(proof: Inclusion, heads: Sequence[checkpoint.Anchor]) -> dict[str, Any]:
    if len(heads) != 1:
        raise _ProofFails(f"{len(heads)} heads were given, and an inclusion proof needs exactly one")
    header = _proved_header(proof, heads[0].checkpoint)
    last = _descend(proof, header)
    within = [step.lineage for step in proof.worlds]
    if proof.world not in (within if proof.edge is not None or len(within) == 1 else within[:-1]):
        raise _ProofFails(f"the proof does not pass through the world {proof.world or 'root'}")
    claim: dict[str, Any] = {
        "store": proof.store,
        "size": proof.size,
        "seq": proof.seq,
        "ingested_at": header.ingest_time,
        "commit_author": header.author,
        "world": proof.world,
        "path": within,
    }
    if proof.edge is None:
        claim |= {"ref": last.lineage, "version": last.body, "created_at": last.created}
    else:
        claim |= {"ref": _proved_edge(proof.edge, last).hex(), "edge": _edge_claim(proof.edge)}
    return claim | _shown_text(proof, last)


def _proved_header(proof: Inclusion, head: checkpoint.Checkpoint) -> codec.Header:
    """The commit's header, if it is the leaf of a tree that has the head's root."""
    if proof.size != head.size:
        raise _ProofFails(f"the proof is for a head of {proof.size} commits, and the given head covers {head.size}")
    chain = codec.chain_hash(bytes.fromhex(proof.header))
    path = [bytes.fromhex(each) for each in proof.path]
    if merkle.root_of_inclusion(hashing.log_leaf_hash(chain), proof.seq, proof.size, path) != head.tree:
        raise _ProofFails(f"the proof does not show that commit {proof.seq} is in the head's log")
    header = _header_of(proof)
    here = checkpoint.CommitState(chain, header.root, header.ingest_time)
    if proof.seq == head.size and head.commit_state is not None and head.commit_state != here:
        raise _ProofFails("the head states another chain hash, root or time of its last commit than the commit itself")
    return header


def _header_of(proof: Inclusion) -> codec.Header:
    try:
        header = codec.decode_header(bytes.fromhex(proof.header), proof.seq)
    except errors.WorldDBError as error:
        raise _ProofFails(error.message) from None
    if header.seq != proof.seq:
        raise _ProofFails(f"the header belongs to commit {header.seq}, not {proof.seq}")
    return header


def _descend(proof: Inclusion, header: codec.Header) -> WorldStep:
    """Walk down to the last world of a proof.

    Each must be a member of the one before it, and the first must have the header's root hash.
    """
    return _walk_down(proof.worlds, header.root, ROOT)


def proved_member(worlds: Sequence[WorldStep], top: str, world_hash: bytes) -> WorldStep:
    """Verify the path down from a world whose hash is known, and return its last world.

    Raises:
        ValueError: the path is invalid.
    """
    try:
        return _walk_down(worlds, world_hash, top)
    except _ProofFails as failed:
        raise ValueError(str(failed)) from None


def _walk_down(worlds: Sequence[WorldStep], expected: bytes, top: str) -> WorldStep:
    for position, step in enumerate(worlds):
        if (step.lineage == top) != (position == 0):
            raise _ProofFails(f"the path does not begin at {top or 'the root world'}, or returns to it")
        body, members, edges = (bytes.fromhex(each) for each in (step.body, step.members, step.edges))
        if hashing.world_hash(body, members, edges, step.created) != expected:
            raise _ProofFails(
                f"the hash of the world {step.lineage or 'root'} is not the one that its container states"
            )
        if position == len(worlds) - 1:
            break
        below = worlds[position + 1].lineage
        value = trie.proved_value(
            members, bytes.fromhex(below), ids.HASH_BYTES, [bytes.fromhex(each) for each in step.nodes]
        )
        if len(below) != 2 * ids.LINEAGE_BYTES or value is None:
            raise _ProofFails(
                f"the proof does not show that {below or 'the root'} is a member of {step.lineage or 'the root world'}"
            )
        expected = value
    if step.nodes:
        raise _ProofFails("the last world names nodes that lead nowhere")
    return step


def _proved_edge(edge: EdgeStep, home: WorldStep) -> bytes:
    """The edge's identifier, if it is in the interior of its home."""
    if home.lineage not in (edge.home, ROOT):
        raise _ProofFails(f"the edge's home is {edge.home}, and the path ends at {home.lineage}")
    if trie.proved_value(bytes.fromhex(home.edges), edge.id, 0, [bytes.fromhex(each) for each in edge.nodes]) is None:
        raise _ProofFails(
            f"the proof does not show that the edge {edge.id.hex()} is in the interior of "
            f"{home.lineage or 'the root world'}"
        )
    return edge.id


def _edge_claim(edge: EdgeStep) -> dict[str, Any]:
    names = ("type", "source", "source_version", "target", "target_version", "home", "valid_from")
    return {name: getattr(edge, name) for name in names}


def _shown_text(proof: Inclusion, last: WorldStep) -> dict[str, Any]:
    """Decode the shown bytes, if they have the hash of the body or the details."""
    if proof.shown is None:
        return {}
    stored = bytes.fromhex(proof.shown)
    if hashing.blob_id(stored).hex() != (last.body if proof.edge is None else proof.edge.details):
        raise _ProofFails("the shown text is not the one that was written")
    try:
        blob = codec.decode_blob(stored, proof.seq)
    except errors.WorldDBError as error:
        raise _ProofFails(error.message) from None
    if isinstance(blob, blobs.Body):
        return {"type": blob.type, "name": blob.name, "content": blob.content}
    if isinstance(blob, blobs.Details):
        return {"why": blob.why, "properties": blob.properties}
    raise _ProofFails("the shown text is neither a body nor details")
