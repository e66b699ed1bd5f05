"""Tests checkpoints and signed notes: published examples, signatures, malformed text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import worlddb
from tests.support.faults.forge import flip_bit
from worlddb.log.model.checkpoint import (
    CommitState,
    OwnCheckpoint,
    anchor_of,
    checkpoint_text,
    origin_of,
    read_checkpoint,
)
from worlddb.log.model.signed_note import (
    COSIGNATURE,
    SigningKey,
    VerifierKey,
    is_signed,
    note_text,
    parse_note,
    parse_signing_key,
    parse_verifier_key,
    sign,
)

STORE = bytes(range(16))
OWN = OwnCheckpoint(origin_of(STORE), 42, bytes(range(32)), CommitState(b"c" * 32, b"r" * 32, 1_795_219_200_000_001))
TEXT = checkpoint_text(OWN)
ADA, TOM = SigningKey("example.com/ada", bytes(32)), SigningKey("tom", b"\x01" * 32)

GO_TEXT = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
GO_KEY = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
GO_NOTE = (
    GO_TEXT
    + "\n— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
)
"""From the documentation of Go's note package, which the format comes from."""


def test_a_checkpoint_is_written_as_transparency_logs_write_it() -> None:
    assert (
        "worlddb/000102030405060708090a0b0c0d0e0f\n"
        "42\n"
        "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n"
        f"chain {'63' * 32}\n"
        f"root {'72' * 32}\n"
        "time 2026-11-21T00:00:00.000001Z\n"
    ) == TEXT
    found, note = read_checkpoint(TEXT)
    assert tuple(found) == tuple(OWN) and note.signatures == ()
    assert read_checkpoint(TEXT.encode()) == (found, note)


def test_a_published_note_of_another_program_is_read_and_its_signature_holds() -> None:
    note, key = parse_note(GO_NOTE, "it"), parse_verifier_key(GO_KEY)
    assert str(key) == GO_KEY and note_text(note) == GO_NOTE
    assert is_signed(note, key)
    assert not is_signed(note._replace(text=GO_TEXT.replace("answer", "remedy")), key)


def test_a_checkpoint_of_another_log_is_read_with_lines_that_mean_nothing_here() -> None:
    found, _ = read_checkpoint("example.com/log42\n0\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\nchain of events\n")
    assert (found.origin, found.size, found.commit_state) == ("example.com/log42", 0, None)


def test_a_note_may_have_many_signatures_and_each_key_finds_its_own() -> None:
    note = sign(sign(sign(parse_note(TEXT, "it"), ADA), TOM), ADA)
    assert [line.name for line in note.signatures] == ["tom", "example.com/ada"]
    assert all(is_signed(note, key.verifier) for key in (ADA, TOM))
    assert not is_signed(note, SigningKey("tom", b"\x02" * 32).verifier)
    assert parse_note(note_text(note), "it") == note
    for _ in range(20):
        note = sign(note, SigningKey(f"witness{len(note.signatures)}", bytes([len(note.signatures)]) * 32))
    assert is_signed(parse_note(note_text(note), "it"), ADA.verifier)


def test_the_timestamped_cosignature_of_a_witness_is_checked() -> None:
    """As c2sp.org/tlog-cosignature says; made here with the signing of plain notes."""
    cosigner = VerifierKey("witness.example", COSIGNATURE, ADA.verifier.public)
    message = parse_note("cosignature/v1\ntime 1679315147\n" + TEXT, "it")
    made = sign(message, ADA).signatures[0].signature
    line = (1679315147).to_bytes(8, "big") + made
    note = parse_note(TEXT, "it")
    signed = note._replace(
        signatures=(sign(note, ADA).signatures[0]._replace(name=cosigner.name, key_id=cosigner.key_id, signature=line),)
    )
    assert is_signed(signed, parse_verifier_key(str(cosigner)))
    later = signed.signatures[0]._replace(signature=(1679315148).to_bytes(8, "big") + made)
    assert not is_signed(signed._replace(signatures=(later,)), cosigner)


def test_keys_are_read_back_from_what_they_are_written_as() -> None:
    pair = worlddb.new_key("example.com/ada", entropy=worlddb.SeededEntropy(1))
    assert parse_signing_key(pair.signing + "\n").verifier == parse_verifier_key(pair.verifier)
    assert pair.signing.startswith("PRIVATE+KEY+example.com/ada+")
    assert pair.signing not in repr(pair) and pair.verifier in repr(pair)
    assert parse_signing_key(pair.signing).seed.hex() not in repr(parse_signing_key(pair.signing))


@given(st.integers(0, 8 * (64 + 4) - 1))
def test_a_signature_with_a_flipped_bit_does_not_hold(bit: int) -> None:
    note = sign(parse_note(TEXT, "it"), ADA)
    line = note.signatures[0]
    changed = flip_bit(line.key_id + line.signature, bit)
    forged = note._replace(signatures=(line._replace(key_id=changed[:4], signature=changed[4:]),))
    assert not is_signed(forged, ADA.verifier)
    # A sound line beside it does not make up for a bad one of the same key.
    both = note._replace(signatures=(*note.signatures, *forged.signatures))
    assert is_signed(both, ADA.verifier) == (bit < 32)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", 1),
        ("worlddb/00", 1),
        (TEXT.rstrip("\n"), 6),
        (TEXT.replace("\n", "\r\n"), 1),
        (TEXT.replace("42", "042"), 2),
        (TEXT.replace("42", "-1"), 2),
        (TEXT.replace("42", "9" * 20), 2),
        (TEXT.replace("AAEC", "AAEC="), 3),
        (TEXT.replace("HR8=", "HR9=").replace("Hh8=", "Hh9="), 3),
        (TEXT.replace("chain ", "chain  "), 4),
        (TEXT.replace("root ", "roof "), 4),
        (TEXT.replace("time 2026", "time 1"), 4),
        (TEXT.replace("T00:00:00.000001Z", ""), 4),
        (TEXT + "\n", 8),
        (TEXT + "\nada signed this\n", 8),
        (TEXT + "\n— ada AAAA\n", 8),
        (TEXT + "\n— ada not-base64\n", 8),
        (TEXT + "\n— two names AAAAAAAAAAAA\n", 8),
        ("\n" + TEXT, 0),
        ('{"seq": 1, "root": "00"}', 1),
        ("{" * 5000, 1),
        ("\ud800\n1\n1\n", 1),
    ],
)  # fmt: skip
def test_what_is_no_checkpoint_is_refused_and_its_line_named(text: str, line: int) -> None:
    with pytest.raises(worlddb.MalformedFile) as caught:
        read_checkpoint(text, "monday.head")
    assert "monday.head" in caught.value.message
    assert not line or caught.value.details["record"] == line
    assert caught.value.remedy


def test_values_that_are_no_text_or_too_long_are_refused() -> None:
    with pytest.raises(worlddb.MalformedFile):
        read_checkpoint(b"\xff\xfe\n1\n1\n")
    with pytest.raises(worlddb.InputError):
        read_checkpoint(17)
    with pytest.raises(worlddb.LimitExceeded):
        read_checkpoint(TEXT + "\n" + "— ada AAAAAAAAAAAA\n" * 20_000)


@pytest.mark.parametrize(
    "key",
    [
        "",
        "ada",
        "ada+00000000+AQAA",
        str(ADA.verifier).replace("+", "-"),
        str(ADA.verifier).replace("ada", "adb"),
        str(ADA.verifier)[:-4],
        str(ADA),
        f"ada+00000000+{'A' * 44}",
        7,
        b"ada",
    ],
)
def test_an_invalid_verifier_key_is_refused(key: object) -> None:
    with pytest.raises(worlddb.InputError) as caught:
        parse_verifier_key(key)
    assert str(ADA).rpartition("+")[2] not in str(caught.value)


@pytest.mark.parametrize("key", ["", str(ADA.verifier), str(ADA).replace("ada", "adb"), str(ADA)[:-4], 7, None])
def test_what_is_no_signing_key_is_refused_without_repeating_it(key: object) -> None:
    with pytest.raises(worlddb.InputError) as caught:
        parse_signing_key(key)
    assert str(ADA).rpartition("+")[2][:20] not in str(caught.value)


@pytest.mark.parametrize("name", ["", "two words", "a+b", "x" * 256, "tab\t", "\u202eada", "\x85", None, b"ada"])
def test_a_name_that_no_key_may_have_is_refused(name: object) -> None:
    with pytest.raises(worlddb.InputError):
        worlddb.new_key(name)  # type: ignore[arg-type]


def test_keys_without_a_head_and_a_text_in_place_of_a_list_are_refused() -> None:
    with pytest.raises(worlddb.InputError, match="no head"):
        anchor_of(None, [str(ADA.verifier)])
    with pytest.raises(worlddb.InputError, match="list"):
        anchor_of(TEXT, str(ADA.verifier))


def test_a_checkpoint_that_was_signed_says_who_has_not() -> None:
    signed = worlddb.sign_checkpoint(TEXT, str(ADA))
    found = anchor_of(signed, [str(ADA.verifier), str(TOM.verifier)])
    (problem,) = found.problems
    assert "no valid signature of tom" in problem
    again = anchor_of(worlddb.sign_checkpoint(signed, str(TOM)), [str(TOM.verifier)])
    assert again.problems == ()
