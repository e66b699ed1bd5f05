"""Changed proofs, proofs of other heads and files that are no proofs do not hold."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import worlddb
from tests.support.faults import forge
from tests.support.proving import changes, containers, everything, grow
from worlddb.log.model.proof import read_proof

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed store of some forty commits, with worlds in several others and reasoned edges."""
    store = tmp_path_factory.mktemp("whole") / "store"
    grow(store, 3, 40)
    return store


def outcome(proof: str | bytes, *heads: str) -> str:
    """How a check ends: "holds", "fails", or the code of the typed error."""
    try:
        found = worlddb.check_proof(proof, *heads)
    except worlddb.InputError as error:
        return error.code
    assert found.ok == (not found.reason) == bool(found.claim)
    return "holds" if found.ok else "fails"


def samples(db: worlddb.Database, *, held_by: int = 2) -> list[tuple[str, str]]:
    """A proof of a world that so many others hold, of an edge and of consistency, each with its head."""
    last = db.head().seq
    head = db.checkpoint()
    view = db.view(seq=last)
    refs = list(everything(db, last))
    world = next(ref for ref in refs if len(ref) == 32 and len(containers(db, ref, last)) == held_by)
    edge = next(ref for ref in refs if len(ref) == 64 and view.edge(ref).why)
    return [
        (db.prove(world, seq=last - 2, with_text=True), head),
        (db.prove(edge, with_text=True), head),
        (db.prove_consistency(7), head),
    ]


@pytest.mark.parametrize(
    ("which", "held_by"), [(0, 2), (1, 2), (2, 2), pytest.param(0, 4, marks=pytest.mark.soak, id="twice as long")]
)
def test_no_proof_survives_the_change_of_a_single_byte(whole: Path, which: int, held_by: int, seed: int) -> None:
    rng = random.Random(seed)
    with worlddb.open(whole, author="x") as db:
        proof, head = samples(db, held_by=held_by)[which]
    stored, genuine = proof.encode(), read_proof(proof)
    assert outcome(stored, head) == "holds"
    told = {"holds": 0, "fails": 0, "malformed_file": 0}
    for at in range(0, len(stored), 1 if held_by > 2 else 3):
        byte = stored[at]
        others = {byte ^ 1 << rng.randrange(8), rng.choice(b"0123456789abcdef")} - {byte}
        for other in sorted(others) if held_by > 2 else [rng.choice(sorted(others))]:
            changed = stored[:at] + bytes([other]) + stored[at + 1 :]
            found = outcome(changed, head)
            told[found] += 1
            # White space between the members says nothing, and neither does a space for a line's end.
            assert found != "holds" or read_proof(changed) == genuine, f"byte {at}: {chr(byte)} to {chr(other)}"
    assert told["holds"] <= 1 and min(told["fails"], told["malformed_file"]) > 50, told


@pytest.mark.parametrize("which", [0, 1, 2])
def test_no_proof_survives_the_change_of_a_single_field(whole: Path, which: int) -> None:
    with worlddb.open(whole, author="x") as db:
        proof, head = samples(db)[which]
    tried = 0
    for changed in changes(json.loads(proof)):
        # Without the text, or with null for it, the proof says less and what it says is still true.
        if changed == json.loads(proof) or same_but_for_the_text(changed, proof):
            continue
        assert outcome(json.dumps(changed), head) in ("fails", "malformed_file"), changed
        tried += 1
    assert tried > 60


def same_but_for_the_text(changed: dict[str, Any], proof: str) -> bool:
    """True if all that was done is that the text is not shown any more."""
    genuine = json.loads(proof)
    return changed.get("shown") is None and "shown" in genuine and changed | {"shown": genuine["shown"]} == genuine


def test_a_proof_says_nothing_to_another_head(whole: Path, tmp_path: Path) -> None:
    with worlddb.open(whole, author="x") as db:
        last, proved = db.head().seq, samples(db)
        earlier = db.checkpoint(seq=last - 1)
        middle = db.checkpoint(seq=7)
    with worlddb.open(tmp_path / "other", author="x") as db:
        for number in range(last - 1):
            db.create("Note", str(number))
        stranger = db.checkpoint()
    with worlddb.open(whole, author="x") as db:
        text = next(entry.text for entry in db.log() if entry.text.startswith("text"))
    forge.forged_history(whole, tmp_path / "forged", text, "a lie")
    with worlddb.open(tmp_path / "forged", author="x") as db:
        forged = db.checkpoint()
        lie = db.prove(next(entry.refs[0] for entry in db.log() if entry.text == "a lie"), with_text=True)
    for (proof, head), reason in zip(proved, ("another head", "another head", "consistency"), strict=True):
        assert outcome(proof, head) == "holds"
        for other, expected in ((earlier, "head covers"), (stranger, "another store"), (forged, "head")):
            found = worlddb.check_proof(proof, other)
            assert not found.ok and expected in found.reason, reason
    genuine = proved[0][1]
    assert outcome(lie, forged) == "holds", "a forger proves lies to whoever has the forger's head"
    assert outcome(lie, genuine) == "fails", "and to nobody else"
    assert worlddb.check_proof(proved[2][0], middle, genuine).ok
    assert "another root" in worlddb.check_proof(proved[2][0], middle, forged).reason
    assert "needs exactly one" in worlddb.check_proof(proved[0][0], genuine, genuine).reason
    with pytest.raises(worlddb.InputError, match="no head"):
        worlddb.check_proof(proved[0][0])


def test_the_keys_must_have_signed_every_head(whole: Path) -> None:
    ada, tom = worlddb.new_key("ada"), worlddb.new_key("tom")
    with worlddb.open(whole, author="x") as db:
        proof = db.prove_consistency(7)
        old, new = db.checkpoint(seq=7, sign_with=[ada.signing]), db.checkpoint(sign_with=[ada.signing, tom.signing])
    assert worlddb.check_proof(proof, old, new, keys=[ada.verifier]).ok
    assert worlddb.check_proof(proof, new, keys=[ada.verifier, tom.verifier]).ok
    found = worlddb.check_proof(proof, old, new, keys=[tom.verifier])
    assert "no valid signature of tom" in found.reason


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "null",
        "[]",
        '"inclusion"',
        '{"proof": 1}',
        '{"proof": "exclusion"}',
        '{"proof": "consistency"}',
        '{"proof": {"proof": {"proof": "consistency"}}}',
        '{"proof":' * 4000,
        "\ufeff{}",
        b"\xff\xfe",
        b"\x00" * 100,
    ],
)
def test_an_invalid_proof_is_a_malformed_file(text: str | bytes) -> None:
    with pytest.raises(worlddb.MalformedFile) as caught:
        read_proof(text, "tea.proof")
    assert "tea.proof" in caught.value.message and caught.value.remedy


def test_a_proof_of_a_later_version_or_size_is_told_as_such(whole: Path) -> None:
    with worlddb.open(whole, author="x") as db:
        proof, head = samples(db)[2]
    later = json.dumps(json.loads(proof) | {"version": 2})
    with pytest.raises(worlddb.MalformedFile, match="version 2"):
        worlddb.check_proof(later, head)
    with pytest.raises(worlddb.LimitExceeded):
        read_proof(" " * (worlddb.MAX_PROOF_BYTES + 1))
    with pytest.raises(worlddb.InputError):
        read_proof(17)
