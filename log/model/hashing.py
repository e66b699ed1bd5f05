"""BLAKE3 with domain tags: every hash in WorldDB is made here.

``digest(tag, *fields)`` hashes ``len(tag) as u8 | tag | (len(field) as u32 | field)*``, all integers big-endian.
The tag ends in a format version, so that no two kinds of thing, and no two formats of one, can share a hash.
Hashes are of stored bytes, never of a re-encoding. Paper §2.1, equation 2.

The log's Merkle tree alone is of SHA-256, as RFC 6962 has it; see :mod:`worlddb.log.model.merkle`.
"""

import struct
from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Final

from blake3 import blake3

from worlddb.log.model.ids import HASH_BYTES, LINEAGE_BYTES, NONCE_BYTES, BlobId, EdgeId, Lineage

_U32 = struct.Struct(">I")
_LEN_HASH: Final = _U32.pack(HASH_BYTES)
_LEN_LINEAGE: Final = _U32.pack(LINEAGE_BYTES)
_LEN_TIME: Final = _U32.pack(8)
_TIME = struct.Struct(">q")
_TIME_BYTES: Final = _TIME.size
_LEN_NONCE: Final = _U32.pack(NONCE_BYTES)
_EDGE_BEGINS = struct.Struct(">IqI")
_SUBJECT_BYTES: Final = 4
"""The leaves of one subject lie together, so that a change of a few subjects changes few nodes of the trie."""


def _tag(name: str) -> bytes:
    raw = name.encode()
    return bytes([len(raw)]) + raw


BLOB: Final = _tag("worlddb/blob/1")
WORLD: Final = _tag("worlddb/world/1")
EDGE: Final = _tag("worlddb/edge/1")
EVENTS: Final = _tag("worlddb/events/1")
CHAIN: Final = _tag("worlddb/chain/1")
TRIE_BUCKET: Final = _tag("worlddb/trie-bucket/1")
TRIE_BRANCH: Final = _tag("worlddb/trie-branch/1")
KEYED_LINEAGE: Final = _tag("worlddb/keyed-lineage/1")
KEYED_EDGE: Final = _tag("worlddb/keyed-edge/1")
IDEMPOTENCY: Final = _tag("worlddb/idempotency-key/1")
NAME: Final = _tag("worlddb/name/1")
COMMAND_KEY: Final = _tag("worlddb/command-key/1")
FORBIDDEN: Final = _tag("worlddb/forbidden/1")
BUNDLE: Final = _tag("worlddb/bundle/1")
HANDLER: Final = _tag("worlddb/handler/1")
EXTRACTED: Final = _tag("worlddb/extracted/1")
TRUSTED: Final = _tag("worlddb/trusted/1")
SUPPOSED: Final = _tag("worlddb/supposed/1")
INDEX: Final = _tag("worlddb/index/1")
RECEIPT: Final = _tag("worlddb/receipt/1")
RECALL: Final = _tag("worlddb/recall/1")
RECALL_SEAL: Final = _tag("worlddb/recall-seal/1")
ASKED: Final = _tag("worlddb/asked/1")
MOMENT: Final = _tag("worlddb/moment/1")
TERM: Final = _tag("worlddb/term/1")
STATEMENT: Final = _tag("worlddb/statement/1")
APART: Final = _tag("worlddb/apart/1")

GENESIS: Final = bytes(HASH_BYTES)
"""What the first commit names as its predecessor."""


def digest(tag: bytes, *fields: bytes) -> bytes:
    """32 bytes that stand for the tag and the fields, and for nothing else."""
    parts = [tag]
    for field in fields:
        parts.append(_U32.pack(len(field)))
        parts.append(field)
    return blake3(b"".join(parts)).digest()


def keyed(secret: bytes, tag: bytes, *fields: bytes) -> bytes:
    """As :func:`digest`, keyed with a 32-byte secret: nobody without the secret can guess the fields."""
    parts = [tag]
    for field in fields:
        parts.append(_U32.pack(len(field)))
        parts.append(field)
    return blake3(b"".join(parts), key=secret).digest()


def blob_id(stored: bytes) -> BlobId:
    """The id of a blob: the hash of its stored bytes, which begin with a nonce."""
    return BlobId(blake3(BLOB + _U32.pack(len(stored)) + stored).digest())


def keyed_lineage(secret: bytes, key: bytes) -> Lineage:
    """The lineage that a caller's key stands for in the store with this secret."""
    return Lineage(keyed(secret, KEYED_LINEAGE, key)[:LINEAGE_BYTES])


def next_keyed_lineage(secret: bytes, ended: bytes) -> Lineage:
    """The lineage that a key goes on to stand for after the one before has ended.

    That is, if the key is handed on.
    """
    return Lineage(keyed(secret, KEYED_LINEAGE, b"", ended)[:LINEAGE_BYTES])


def keyed_lineage_within(secret: bytes, world: bytes, elsewhere: bytes) -> Lineage:
    """The lineage that a key stands for inside a world if the one that it stands for lies elsewhere."""
    return Lineage(keyed(secret, KEYED_LINEAGE, world, elsewhere)[:LINEAGE_BYTES])


def world_hash(body: bytes, members_root: bytes, edges_root: bytes, t_create: int) -> bytes:
    """``world = H(body, members_root, edges_root, t_create)``: paper equation 2 in two steps."""
    return blake3(
        WORLD + _LEN_HASH + body + _LEN_HASH + members_root + _LEN_HASH + edges_root + _LEN_TIME + _TIME.pack(t_create)
    ).digest()


def edge_id(
    type_name: str,
    source: bytes,
    source_version: bytes,
    target: bytes,
    target_version: bytes,
    home: bytes,
    valid_from: int,
    properties: bytes,
    nonce: bytes,
) -> EdgeId:
    """The identity of an edge: everything about it except where its validity ends.

    ``properties`` is the id of the blob with its properties and reason, or empty.
    """
    ends = edge_end(source, source_version), edge_end(target, target_version)
    return edge_id_of_ends(type_name, *ends, home, valid_from, properties, nonce)


def edge_end(lineage: bytes, version: bytes) -> bytes:
    """One end of an edge as :func:`edge_id` hashes it: many edges of one world share it."""
    return _LEN_LINEAGE + lineage + _LEN_HASH + version


def edge_id_of_ends(
    type_name: str, source: bytes, target: bytes, home: bytes, valid_from: int, properties: bytes, nonce: bytes
) -> EdgeId:
    """As :func:`edge_id`, for ends made by :func:`edge_end`."""
    begins = _EDGE_BEGINS.pack(_TIME_BYTES, valid_from, len(properties))
    nonce_length = _LEN_NONCE if len(nonce) == NONCE_BYTES else _U32.pack(len(nonce))
    parts = _edge_type(type_name), source, target, _LEN_LINEAGE, home, begins, properties, nonce_length, nonce
    return blake3(b"".join(parts)).digest()  # type: ignore[return-value]


@lru_cache(maxsize=256)
def _edge_type(type_name: str) -> bytes:
    name = type_name.encode()
    return EDGE + _U32.pack(len(name)) + name


def term_identity(blob: bytes, place: int) -> bytes:
    """The identity of a term in hashes: a place in a blob. Nobody without the blob can guess the text."""
    return digest(TERM, blob, _U32.pack(place))


def statement_leaf(identities: Sequence[bytes]) -> bytes:
    """The hash of a quad, from the identities of its terms (empty: the default graph)."""
    return identities[0][:_SUBJECT_BYTES] + digest(STATEMENT, *identities)[_SUBJECT_BYTES:]


def log_leaf_hash(chain: bytes) -> bytes:
    """Hash a commit's chain hash as a leaf of the log's Merkle tree (RFC 6962)."""
    return sha256(b"\x00" + chain).digest()


def log_node_hash(left: bytes, right: bytes) -> bytes:
    """Hash two subtrees of the log's Merkle tree side by side (RFC 6962)."""
    return sha256(b"\x01" + left + right).digest()
