"""Receipts of exact recalls: the digest of the question, the state of the store and the first hits, without any text.

A receipt is one JSON object in one line, in the order of the fields below; hashes and keys are lower-case hexadecimal.
``hash`` is :data:`~worlddb.log.model.hashing.RECALL` over that line with ``hash`` empty, so that every byte of a
receipt counts. docs/beliefs.md writes the form down for other programs.
"""

import struct
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NamedTuple

import msgspec

from worlddb.log.model import checkpoint, errors, hashing, ids, limits, proof

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

VERSION: Final = 1
RANKING: Final = 1
"""The version of the scoring. A release that ranks differently raises it, and recomputes no older receipts."""
KEY_BYTES: Final = 32
SCALE: Final = 1_000_000
"""Scores are whole millionths, which every program writes alike."""
_SEALED: Final = struct.Struct(">Q")
NONCE_BYTES: Final = 12

Word = Annotated[str, msgspec.Meta(pattern=r"\A[a-z_]{1,32}\Z")]
Millionths = Annotated[int, msgspec.Meta(ge=-(2**53), le=2**53)]
Count = Annotated[int, msgspec.Meta(ge=0, le=limits.HIGHEST_SEQ)]
SealOrNone = Annotated[str, msgspec.Meta(pattern=r"\A([0-9a-f]{64})?\Z")]
Span = tuple[proof.Time, proof.Time]


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part of a receipt."""


class StoreHead(_Part, frozen=True, tag="store", tag_field="of"):
    """The state of a whole store, as a checkpoint has it: how many commits, and what covers them."""

    size: proof.Seq
    tree: proof.Hash
    chain: proof.Hash
    root: proof.Hash
    ingested_at: proof.Time

    def checkpoint_of(self, store: str) -> checkpoint.Checkpoint:
        """The checkpoint that says the same."""
        state = checkpoint.CommitState(bytes.fromhex(self.chain), bytes.fromhex(self.root), self.ingested_at)
        return checkpoint.Checkpoint(
            checkpoint.origin_of(bytes.fromhex(store)), self.size, bytes.fromhex(self.tree), state
        )


class WorldHead(_Part, frozen=True, tag="world", tag_field="of"):
    """The state of one world, for a view that is confined to it: its hash, and nothing that counts what others do.

    ``moment`` is the commit, sealed under the store's secret: only the store reads it.
    """

    world: proof.Lineage
    hash: proof.Hash
    moment: proof.Hex


class Options(_Part, frozen=True, kw_only=True):
    """The options of a recall beside its texts. ``world`` is the world to search, empty for everything visible.

    What a view shows otherwise than by default belongs to it: ``unify``, ``include_expired``, ``include_deprecated``.
    """

    asked: proof.Time
    k: Count
    world: proof.LineageOrRoot
    lanes: list[Word]
    fusion: Word
    include_superseded: bool | None
    during: Span | None
    overlaps: Span | None
    group: Count | None
    neighbours: Count
    min_trust: Word | None
    trust_weight: float
    min_confidence: float | None
    since: proof.Time | None
    until: proof.Time | None
    include_expired: bool
    include_deprecated: bool
    unify: bool


class Ranked(_Part, frozen=True, array_like=True):
    """A hit: its world, the hash of the version that was shown, and its score in millionths."""

    ref: proof.Lineage
    version: proof.Hash
    score: Millionths


class RankedGroup(_Part, frozen=True, array_like=True):
    """A group of hits: the world that contains them, its score in millionths, and how many of the hits are its."""

    ref: proof.LineageOrRoot
    score: Millionths
    hits: Count


class RecallReceipt(_Part, frozen=True, kw_only=True, tag="recall", tag_field="receipt"):
    """The digest of an exact recall's question, the state of the store, and the hits in order; it holds no text.

    ``question`` is the digest of the question, and of the texts of its filters, under ``key``; who has the receipt can
    try a question that they guess, and nobody who lacks the key can. ``lanes`` answered. ``seal`` is a hash of all that
    stands before it under the store's secret, ``hash`` one of the whole receipt.
    """

    version: proof.Version
    ranking: proof.Version
    store: proof.Lineage
    head: StoreHead | WorldHead
    valid: proof.Time
    options: Options
    key: proof.Hash
    question: proof.Hash
    lanes: list[Word]
    hits: list[Ranked]
    groups: list[RankedGroup]
    seal: SealOrNone = ""
    hash: SealOrNone = ""

    @property
    def reference(self) -> str:
        """The belief state that the receipt stands for, as one line that other protocols can carry.

        ``worlddb:belief:1:STORE:HEAD:VALID:HASH``; ``HEAD`` is a number of commits and a chain hash with a dot between
        them, or a world and its hash.
        """
        head = self.head
        of = f"{head.size}.{head.chain}" if isinstance(head, StoreHead) else f"{head.world}.{head.hash}"
        return f"worlddb:belief:{VERSION}:{self.store}:{of}:{self.valid}:{self.hash}"

    @property
    def refs(self) -> tuple[str, ...]:
        """The worlds that were shown, best first, each once."""
        return tuple(dict.fromkeys(hit.ref for hit in self.hits))


class RecallProof(_Part, frozen=True, kw_only=True, tag="recall", tag_field="proof"):
    """Proof that what a receipt names was in the store at the receipt's head.

    Of a receipt of the whole store an inclusion for each version; of one of a world the ways down from it. ``missing``
    are hits by position, from 0, whose version no hash of that state covers: one that was not the newest of its world.
    """

    version: proof.Version
    receipt: proof.Hash
    inclusions: list[proof.Inclusion]
    ways: list[list[proof.WorldStep]]
    missing: list[Count]


Verdict = Literal["holds", "altered", "another_question", "another_store", "differs", "cannot_recompute", "not_asked"]


class RecallCheck(NamedTuple):
    """What became of checking a receipt; ``ok`` if nothing speaks against it and all that was asked was checked.

    ``verdict``: ``holds``; ``altered``: it is not what was made; ``another_question`` than the one that was given;
    ``another_store`` or another history of it; ``differs``: asked again, the answer is another; ``cannot_recompute``,
    for the reason in ``problems``; ``not_asked``: no store was there to ask. ``proved`` counts the hits that were
    proved to have been there, ``missing`` those that no proof covers. ``erased`` are the hits whose texts are gone.
    ``off_by`` is by how much a score differs at most.
    """

    verdict: Verdict
    problems: tuple[str, ...] = ()
    proved: int = 0
    missing: int = 0
    erased: tuple[str, ...] = ()
    off_by: float = 0.0
    reference: str = ""

    @property
    def ok(self) -> bool:
        """True if the receipt holds as far as it was to be checked."""
        return self.verdict == "holds" or (self.verdict == "not_asked" and not self.problems)


_ENCODER: Final = msgspec.json.Encoder()
_DECODER: Final = msgspec.json.Decoder(RecallReceipt)
_PROOFS: Final = msgspec.json.Decoder(RecallProof)


def recall_receipt_text(receipt: RecallReceipt) -> str:
    """A receipt as it is written: one line.

    Raises:
        InputError: it is none.
    """
    if not isinstance(receipt, RecallReceipt):
        raise errors.InputError(
            f"The receipt is {errors.shown(receipt)}", "Give the receipt that view.recall(receipt=True) returned"
        )
    return _ENCODER.encode(receipt).decode() + "\n"


def proofs_text(proofs: RecallProof) -> str:
    """A proof as it is written."""
    return _ENCODER.encode(proofs).decode() + "\n"


def seal_receipt(receipt: RecallReceipt, secret: bytes) -> RecallReceipt:
    """The receipt with its seal and its hash."""
    made = msgspec.structs.replace(receipt, seal=seal_of(receipt, secret), hash="")
    return msgspec.structs.replace(made, hash=hash_of(made))


def seal_of(receipt: RecallReceipt, secret: bytes) -> str:
    """The seal that the store with this secret puts on a receipt."""
    bare = _ENCODER.encode(msgspec.structs.replace(receipt, seal="", hash=""))
    return hashing.keyed(secret, hashing.RECALL_SEAL, bare).hex()


def hash_of(receipt: RecallReceipt) -> str:
    """The hash of all else that a receipt says."""
    return hashing.digest(hashing.RECALL, _ENCODER.encode(msgspec.structs.replace(receipt, hash=""))).hex()


def question_digest(key: str, text: str, filters: Mapping[str, Any]) -> str:
    """What stands for a question and the texts of its filters, under a receipt's key.

    Raises:
        InputError: a filter holds what has no JSON form.
    """
    try:
        said = msgspec.json.encode([text, {name: filters[name] for name in sorted(filters)}], order="deterministic")
    except (TypeError, ValueError, RecursionError, OverflowError) as error:
        raise errors.InputError(
            f"The question has no digest for a receipt: {error}", "Give texts, numbers, lists and mappings"
        ) from None
    return hashing.keyed(bytes.fromhex(key), hashing.ASKED, said).hex()


def seal_moment(seq: int, store: bytes, world: bytes, secret: bytes, nonce: bytes) -> str:
    """The commit of a confined view, so that nobody but the store can read it."""
    return (nonce + _cipher(secret).encrypt(nonce, _SEALED.pack(seq), store + world)).hex()


def moment_of(head: WorldHead, store: bytes, secret: bytes) -> int:
    """The commit that a confined view was of.

    Raises:
        ValueError: the store did not seal it.
    """
    from cryptography.exceptions import InvalidTag

    given = bytes.fromhex(head.moment)
    try:
        opened = _cipher(secret).decrypt(given[:NONCE_BYTES], given[NONCE_BYTES:], store + bytes.fromhex(head.world))
        return int(_SEALED.unpack(opened)[0])
    except (InvalidTag, ValueError, struct.error):
        raise ValueError("this store did not seal the moment in it") from None


def _cipher(secret: bytes) -> "ChaCha20Poly1305":
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    return ChaCha20Poly1305(hashing.keyed(secret, hashing.MOMENT))


def read_recall_receipt(given: object, what: str = "the receipt") -> RecallReceipt:
    """Read a receipt from its text, which must be in canonical form.

    Raises:
        MalformedFile: it is no receipt of a recall, or of a version that is not known; the place is named.
        LimitExceeded: it is larger than ``MAX_PROOF_BYTES``.
        InputError: it is neither a receipt nor text.
    """
    limits.checked_text(what, "what", limits.MAX_NAME_BYTES)
    if isinstance(given, RecallReceipt):
        return given
    text = _read_bytes(given, what)
    try:
        found: RecallReceipt = _DECODER.decode(text)
        if _ENCODER.encode(found) != text:
            raise msgspec.ValidationError("it is not in the canonical form of a receipt")
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise _malformed_error(what, "receipt of a recall", error) from None
    _refuse_version(found.version, what)
    return found


def receipt_from_plain(given: object) -> RecallReceipt:
    """A receipt from plain values, as the log keeps it; it is as it was made.

    Raises:
        MalformedFile: it is none, or it was altered.
    """
    try:
        found = msgspec.convert(given, RecallReceipt)
    except (msgspec.ValidationError, RecursionError) as error:
        raise _malformed_error("the receipt", "receipt of a recall", error) from None
    _refuse_version(found.version, "the receipt")
    if found.hash != hash_of(found):
        raise _malformed_error("the receipt", "receipt of a recall", ValueError("its hash does not match its content"))
    return found


def read_proofs(given: object, what: str = "the proof") -> RecallProof:
    """Read a proof that was written down; raises as :func:`read_recall_receipt`."""
    if isinstance(given, RecallProof):
        return given
    try:
        found: RecallProof = _PROOFS.decode(_read_bytes(given, what))
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise _malformed_error(what, "proof of a recall", error) from None
    _refuse_version(found.version, what)
    return found


def _read_bytes(given: object, what: str) -> bytes:
    if not isinstance(given, str | bytes):
        raise errors.InputError(f"{what} is {type(given).__name__}, not text", "Give the text of the file")
    if len(given) > limits.MAX_PROOF_BYTES:
        raise errors.LimitExceeded(
            f"{what} is longer than {limits.MAX_PROOF_BYTES:,} bytes", "Ask for fewer hits: k=1000"
        )
    text = given.encode("utf-8", "replace") if isinstance(given, str) else given
    return text[:-1] if text.endswith(b"\n") else text


def _malformed_error(what: str, kind: str, error: Exception) -> errors.MalformedFile:
    return errors.MalformedFile(f"{what} is not a {kind}: {error}", "Give the file as it was written", file=what)


def _refuse_version(version: int, what: str) -> None:
    if version != VERSION:
        raise errors.MalformedFile(
            f"{what} has version {version}; this release knows version {VERSION}", "Upgrade WorldDB", file=what
        )


class Question(NamedTuple):
    """A question and the texts of its filters, as a caller gives them again."""

    text: str
    filters: Mapping[str, Any]


_FILTERS: Final = ("about", "speaker", "type", "author", "source", "label", "properties", "tag")
"""The filters of a recall that hold texts; they are given again to check its receipt."""


def question_of(text: str, filters: Mapping[str, Any]) -> Question:
    """What was asked, in the form that its digest is made of.

    Raises:
        InputError: there is no such filter.
    """
    unknown = [name for name in filters if name not in _FILTERS]
    if unknown:
        raise errors.InputError(
            f"{errors.shown(unknown[0])} is not a filter of a recall that takes text",
            f"Use some of: {', '.join(_FILTERS)}",
        )
    return Question(text, {name: _plain_filter(value) for name, value in filters.items() if value is not None})


def _plain_filter(value: Any) -> Any:
    """A filter without what tells one that was given alone from one in a list; references as they are written."""
    if isinstance(value, Mapping):
        return value
    several = value if isinstance(value, list | tuple) else sorted(value, key=str) if _is_set(value) else [value]
    return [each if isinstance(each, str) else _reference(each) for each in several]


def _is_set(value: Any) -> bool:
    return isinstance(value, set | frozenset)


def _reference(value: Any) -> str:
    ref = ids.as_ref(value)
    return ref.hex() if isinstance(ref, bytes) else ref


def find_mismatch(receipt: RecallReceipt, asked: Question | None) -> RecallCheck | None:
    """What speaks against a receipt without a store; ``None`` if nothing does."""
    if receipt.hash != hash_of(receipt):
        return RecallCheck("altered", ("its hash does not match its content",))
    if asked is not None and receipt.question != question_digest(receipt.key, *asked):
        return RecallCheck("another_question", ("it belongs to another question, or to other filters",))
    return None


def check_offline(
    receipt: RecallReceipt,
    asked: Question | None,
    proofs: RecallProof | None,
    anchor: checkpoint.Anchor | None,
    grown: proof.Consistency | None = None,
) -> RecallCheck:
    """Check a receipt without a store: its hash, its question, and by proofs that what it names was there.

    ``anchor`` is a head that was kept elsewhere, ``grown`` a proof of consistency between that and the receipt's.
    """
    wrong = find_mismatch(receipt, asked)
    if wrong is not None:
        return wrong
    told = RecallCheck("not_asked", reference=receipt.reference)
    if anchor is not None:
        problem = _anchor_problem(receipt, anchor, grown)
        if problem:
            return told._replace(verdict="another_store", problems=(problem,))
    if proofs is None:
        return told
    problem = _proof_problem(receipt, proofs)
    if problem:
        return told._replace(verdict="altered", problems=(problem,))
    return told._replace(proved=len(receipt.hits) - len(proofs.missing), missing=len(proofs.missing))


def _anchor_problem(receipt: RecallReceipt, anchor: checkpoint.Anchor, grown: proof.Consistency | None) -> str:
    """Why a head that was kept does not stand for a receipt's; empty if it does."""
    if anchor.problems:
        return anchor.problems[0]
    head = receipt.head
    if isinstance(head, WorldHead):
        return "it covers one world and does not name the store's head"
    own, kept = head.checkpoint_of(receipt.store), anchor.checkpoint
    if kept.origin != own.origin:
        return f"the head belongs to another store: {kept.origin[:80]}"
    if kept.size == own.size:
        return "" if kept.tree == own.tree else "the head has another root for the same number of commits"
    if grown is None:
        return f"the head covers {kept.size} commits and the receipt {own.size}: a consistency proof is needed"
    first, last = sorted((checkpoint.Anchor(own, ()), anchor), key=lambda each: each.checkpoint.size)
    return proof.check(grown, [first, last]).reason


def _proof_problem(receipt: RecallReceipt, proofs: RecallProof) -> str:
    """Why a proof does not show that what a receipt names was there; empty if it does."""
    if proofs.receipt != receipt.hash:
        return "the proof belongs to another receipt"
    if any(at >= len(receipt.hits) for at in proofs.missing):
        return "the proof leaves out a hit that the receipt does not have"
    head, shown = receipt.head, set[tuple[str, str]]()
    if isinstance(head, StoreHead):
        anchor = checkpoint.Anchor(head.checkpoint_of(receipt.store), ())
        for each in proofs.inclusions:
            found = proof.check(each, [anchor])
            if not found.ok or "version" not in found.claim:
                return found.reason or "the proof is about an edge"
            shown.add((found.claim["ref"], found.claim["version"]))
    else:
        for way in proofs.ways:
            try:
                last = proof.proved_member(way, head.world, bytes.fromhex(head.hash))
            except ValueError as error:
                return str(error)
            shown.add((last.lineage, last.body))
    for at, hit in enumerate(receipt.hits):
        if at not in proofs.missing and (hit.ref, hit.version) not in shown:
            return f"the proof does not show {ids.short(hit.ref)} in the version that the receipt names"
    return ""


def differences(receipt: RecallReceipt, again: RecallReceipt, within: int) -> tuple[list[str], int]:
    """What an answer that was asked again says otherwise, and by how many millionths a score differs at most.

    Scores may differ by ``within`` millionths.
    """
    problems, largest = [], 0
    pairs: Sequence[tuple[str, Sequence[Any], Sequence[Any]]] = (
        ("hits", receipt.hits, again.hits),
        ("groups", receipt.groups, again.groups),
    )
    for what, then, now in pairs:
        if len(then) != len(now):
            problems.append(f"it has {len(then)} {what}, and the store now gives {len(now)}")
        for at, (one, other) in enumerate(zip(then, now, strict=False), 1):
            if msgspec.structs.replace(one, score=0) != msgspec.structs.replace(other, score=0):
                problems.append(f"number {at} of the {what} is now {ids.short(other.ref)}, not {ids.short(one.ref)}")
                break
            largest = max(largest, abs(one.score - other.score))
    if largest > within:
        problems.append(f"a score differs by {largest / SCALE:g}")
    if receipt.lanes != again.lanes:
        problems.append(f"the lanes that answer are now {', '.join(again.lanes)}, not {', '.join(receipt.lanes)}")
    return problems, largest
