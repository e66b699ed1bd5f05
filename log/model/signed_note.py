"""Signed notes: a text and signature lines, as in transparency logs (c2sp.org/signed-note).

    note            text "\\n" line*                        text ends in a newline and stands before an empty line
    line            "— " name " " base64( key id 4 | signature ) "\\n"
    key id          the first 4 bytes of SHA-256( name "\\n" | kind u8 | public key 32 )
    verifier key    name "+" key id in hex "+" base64( kind u8 | public key 32 )
    signing key     "PRIVATE+KEY+" name "+" key id in hex "+" base64( 0x01 | seed 32 )

Kind 1 is Ed25519 over the text. Kind 4 is a witness's cosignature (c2sp.org/tlog-cosignature): a time in seconds as
u64 and an Ed25519 signature over ``cosignature/v1``, that time and the text. Kind 4 is checked and never made here.
"""

import re
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from hashlib import sha256
from typing import Final, NamedTuple

from worlddb.log.model.errors import InputError, MalformedFile, shown

ED25519: Final = 1
COSIGNATURE: Final = 4
SEED_BYTES: Final = 32
_KEY_BYTES: Final = 32
_ID_BYTES: Final = 4
_TIME_BYTES: Final = 8
_SIGNATURE_BYTES: Final = 64
_PRIVATE: Final = "PRIVATE+KEY+"
_NAME: Final = re.compile(r"[^\s+\x00-\x20\x7f]{1,255}")
_CONTROL: Final = re.compile(r"[\x00-\x09\x0b-\x1f\x7f]")
_KEY_REMEDY: Final = "Give the line that `worlddb keygen` printed: NAME+HASH+KEY"


class Signature(NamedTuple):
    """One signature line: who says to have signed, the key's id, and the signature's bytes."""

    name: str
    key_id: bytes
    signature: bytes


class SignedNote(NamedTuple):
    """A text, which ends in a newline, and the signatures below it; none if nobody has signed."""

    text: str
    signatures: tuple[Signature, ...]


class VerifierKey(NamedTuple):
    """A public key with the name of its holder.

    ``kind`` is the sort of signature that it checks.
    """

    name: str
    kind: int
    public: bytes

    @property
    def key_id(self) -> bytes:
        """Four bytes that find the key's signature lines; no proof of anything."""
        return sha256(f"{self.name}\n".encode() + bytes([self.kind]) + self.public).digest()[:_ID_BYTES]

    def __str__(self) -> str:
        return _key_text(self.name, self.key_id, bytes([self.kind]) + self.public)


class SigningKey(NamedTuple):
    """A private Ed25519 key, as its seed, with the name of its holder.

    Its text must be kept secret.
    """

    name: str
    seed: bytes

    @property
    def verifier(self) -> VerifierKey:
        """The public key that belongs to it."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        public = Ed25519PrivateKey.from_private_bytes(self.seed).public_key().public_bytes_raw()
        return VerifierKey(self.name, ED25519, public)

    def __str__(self) -> str:
        return _PRIVATE + _key_text(self.name, self.verifier.key_id, bytes([ED25519]) + self.seed)

    def __repr__(self) -> str:
        return f"<SigningKey {self.name!r}>"


def checked_key_name(name: object) -> str:
    """The name itself, if a key may have it.

    Raises:
        InputError: it is empty, longer than 255 characters, or holds white space, a plus or what cannot be printed.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name) or not name.isprintable():
        raise InputError(
            f"{shown(name)} is not a valid name of a key", "Give up to 255 characters without white space or plus"
        )
    return name


def parse_verifier_key(text: object) -> VerifierKey:
    """A verifier key as it is written; raises ``InputError`` if it is nothing of the kind."""
    name, key_id, raw = _parse_key(text, private=False)
    key = VerifierKey(name, raw[0], raw[1:])
    if key.kind not in (ED25519, COSIGNATURE):
        raise InputError(f"The key of {name} has the unknown kind {key.kind}", "Give an Ed25519 key")
    if key.key_id != key_id:
        raise InputError(f"The hash of the key of {name} does not match the key", _KEY_REMEDY)
    return key


def parse_signing_key(text: object) -> SigningKey:
    """Parse a signing key as it is written.

    Raises ``InputError``, which does not repeat the secret, if it is none.
    """
    name, key_id, raw = _parse_key(text, private=True)
    key = SigningKey(name, raw[1:])
    if raw[0] != ED25519 or key.verifier.key_id != key_id:
        raise InputError(
            f"The signing key of {name} is not an Ed25519 key with that hash", "Give the one line of the file"
        )
    return key


def parse_note(text: str, what: str) -> SignedNote:
    """A note with or without signatures; ``what`` names it in errors.

    Raises:
        MalformedFile: it is no note; the line is named.
    """
    found = _CONTROL.search(text)
    if found:
        raise malformed(what, text.count("\n", 0, found.start()) + 1, "holds a control character")
    if not text.endswith("\n"):
        raise malformed(what, text.count("\n") + 1, "does not end in a newline")
    body, blank, lines = text.rpartition("\n\n")
    if not blank:
        return SignedNote(text, ())
    first = body.count("\n") + 3
    signatures = tuple(_parse_signature(line, what, first + at) for at, line in enumerate(lines.split("\n")[:-1]))
    if not signatures:
        raise malformed(what, first, "should be a signature and is missing")
    return SignedNote(body + "\n", signatures)


def sign(note: SignedNote, key: SigningKey) -> SignedNote:
    """The note with one more signature; one that the same key made before is replaced."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    made = Ed25519PrivateKey.from_private_bytes(key.seed).sign(note.text.encode())
    mine = key.name, key.verifier.key_id
    others = tuple(line for line in note.signatures if (line.name, line.key_id) != mine)
    return SignedNote(note.text, (*others, Signature(*mine, made)))


def is_signed(note: SignedNote, key: VerifierKey) -> bool:
    """True if the note has signatures of the key, and all of them hold.

    Lines of other keys are passed over.
    """
    mine = key.name, key.key_id
    found = [line.signature for line in note.signatures if (line.name, line.key_id) == mine]
    return bool(found) and all(_is_valid_signature(note.text, key, signature) for signature in found)


def note_text(note: SignedNote) -> str:
    """The note as it is written."""
    lines = [f"— {line.name} {b64encode(line.key_id + line.signature).decode()}\n" for line in note.signatures]
    return note.text + ("\n" + "".join(lines) if lines else "")


def decode_base64(text: str) -> bytes | None:
    """The bytes of standard base64 in its one canonical form; ``None`` for anything else."""
    try:
        raw = b64decode(text.encode("ascii"), validate=True)
    except (Base64Error, UnicodeEncodeError):
        return None
    return raw if b64encode(raw).decode() == text else None


def malformed(what: str, line: int, problem: str) -> MalformedFile:
    """The error for a line of a note."""
    return MalformedFile(
        f"{what}, line {line}: {problem}", "Give the checkpoint as `worlddb head` wrote it", file=what, record=line
    )


def _is_valid_signature(text: str, key: VerifierKey, signature: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    message = text.encode()
    if key.kind == COSIGNATURE:
        seconds = int.from_bytes(signature[:_TIME_BYTES], "big")
        message, signature = f"cosignature/v1\ntime {seconds}\n".encode() + message, signature[_TIME_BYTES:]
    if len(signature) != _SIGNATURE_BYTES:
        return False
    try:
        Ed25519PublicKey.from_public_bytes(key.public).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def _parse_signature(line: str, what: str, number: int) -> Signature:
    dash, _, rest = line.partition(" ")
    name, _, encoded = rest.partition(" ")
    raw = decode_base64(encoded)
    if dash != "—" or not _NAME.fullmatch(name) or raw is None or len(raw) <= _ID_BYTES:
        raise malformed(what, number, f"{line[:80]!r} is not a signature")
    return Signature(name, raw[:_ID_BYTES], raw[_ID_BYTES:])


def _key_text(name: str, key_id: bytes, raw: bytes) -> str:
    return f"{name}+{key_id.hex()}+{b64encode(raw).decode()}"


def _parse_key(text: object, *, private: bool) -> tuple[str, bytes, bytes]:
    named = "The signing key" if private else shown(text)
    problem = InputError(f"{named} does not have the form of a key", _KEY_REMEDY)
    if not isinstance(text, str):
        raise problem
    line = text.strip()
    if private != line.startswith(_PRIVATE):
        if private:
            raise InputError(
                "The key given to sign with is not a signing key", "Give the key that begins with PRIVATE+KEY+"
            )
        raise InputError(
            "A signing key was given to verify with", "Give the verifier key, and keep the signing key secret"
        )
    name, _, rest = line.removeprefix(_PRIVATE).partition("+")
    digits, _, encoded = rest.partition("+")
    raw = decode_base64(encoded)
    if not re.fullmatch("[0-9a-f]{8}", digits) or not _NAME.fullmatch(name) or raw is None:
        raise problem
    if len(raw) != 1 + _KEY_BYTES:
        raise problem
    return name, bytes.fromhex(digits), raw
