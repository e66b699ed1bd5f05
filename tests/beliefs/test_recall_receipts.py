"""Tests receipts of exact recalls: what is altered is not accepted, what was made is recomputed wherever it goes."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

import worlddb
from tests.reconciler.replay.test_upgrade import age
from worlddb import Database, RecallReceipt
from worlddb.log.beliefs import recall_receipt as rr
from worlddb.log.model import checkpoint, clock
from worlddb.log.store.log import LmdbLog
from worlddb.projections.tables.apply.log_marks import secret_of

PEOPLE = ("Mara", "Otis", "Ines", "Paul")
THINGS = ("the blue kettle", "a lease in Porto", "ranking tests", "the orchard", "a train at nine", "oat milk")
QUESTION = "what did Mara say about Porto?"
ALTERED = 400
MANY_ALTERED = 10_000


class Letters:
    """A model of meaning that is easy to foresee: how often each of eight letters occurs."""

    model = "letters/1"
    dimension = 8

    def mean(self) -> Any:
        return [0.5] * 8

    def embed(self, texts: Any, *, query: bool) -> Any:
        return [[text.count(letter) for letter in "abcdefgh"] for text in texts]


class Made(NamedTuple):
    """A store with two tenants, and receipts of questions that were asked of it before it went on."""

    store: Path
    asked: list[tuple[str, dict[str, Any], RecallReceipt]]
    tenants: tuple[str, str]
    proof: str
    head: str


def opened(store: Path, **given: Any) -> Database:
    return worlddb.open(store, clock=clock.ManualClock(2_000_000_000_000_000), embedder=Letters(), **given)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    store = tmp_path_factory.mktemp("receipts") / "store"
    now = clock.ManualClock()
    with worlddb.open(store, clock=now, entropy=worlddb.SeededEntropy(7), embedder=Letters()) as db:
        one, other = (db.create("Topic", name).ref for name in ("first tenant", "second tenant"))
        refs = []
        for number in range(24):
            now.advance(1_000_000)
            who, what = PEOPLE[number % 4], THINGS[number % 6]
            text = f"{who} said on day {number} that {what} matters"
            refs.append(db.create("Fact", f"{who} {number}", content=text, world=one if number % 2 else other).ref)
        db.revise(refs[3], content="Paul takes back what he said of Porto")
        db.link(refs[0], "derived_from", refs[1])
        db.label(refs[2], "kept")
        db.embed()
        view, inside = db.view(), db.view(world=one)
        kinds: list[tuple[str, dict[str, Any], RecallReceipt]] = []
        for question, given in (
            (QUESTION, {}),
            (QUESTION, {"lanes": ["text"], "k": 3}),
            ("who spoke of the orchard last week?", {"k": 4, "author": "local"}),
            ("the blue kettle", {"group": 2, "type": ["Fact"]}),
            ("what did Paul say before of Porto?", {"include_superseded": True}),
            ("oat milk", {"world": one, "fusion": "rrf", "neighbours": 2}),
            ("trains", {"label": "kept", "since": 0, "min_trust": "low", "trust_weight": 1 / 3}),
            ("Porto", {"overlaps": (0, None)}),
            ("!?", {}),
        ):
            kinds.append((question, given, receipt_of(view, question, given)))
        kinds.append((QUESTION, {}, receipt_of(inside, QUESTION, {})))
        kinds.append(("Porto", {"speaker": "Mara"}, receipt_of(db.view(unify=True), "Porto", {"speaker": "Mara"})))
        proof, head = db.prove_recall(kinds[0][2]), db.checkpoint(seq=view.seq)
        for number in range(5):
            now.advance(1_000_000)
            db.create("Fact", f"later {number}", content="Mara said later that Porto was far", world=other)
        db.revise(refs[5], content="nothing of Porto any more")
        db.retire(refs[7])
        db.embed()
    return Made(store, kinds, (one, other), proof, head)


def receipt_of(view: worlddb.View, question: str, given: dict[str, Any]) -> RecallReceipt:
    receipt = view.recall(question, exact=True, receipt=True, **given).receipt
    assert receipt is not None
    return receipt


def texts(given: dict[str, Any]) -> dict[str, Any]:
    """What is to be given again of what was asked."""
    return {name: value for name, value in given.items() if name in ("type", "author", "label", "speaker")}


def holds_all(made: Made, store: Path) -> None:
    with opened(store) as db:
        for question, given, receipt in made.asked:
            found = db.check_recall(worlddb.recall_receipt_text(receipt), question, **texts(given))
            assert (found.verdict, found.off_by) == ("holds", 0.0), (question, found)
            assert found.proved + found.missing == len(receipt.hits)
            assert found.reference == receipt.reference


def test_a_receipt_says_what_was_asked_of_which_state_and_no_word_of_it(made: Made) -> None:
    receipt = made.asked[0][2]
    assert isinstance(receipt.head, rr.StoreHead) and receipt.options.k == 10
    assert checkpoint.read_checkpoint(made.head)[0] == receipt.head.checkpoint_of(receipt.store)
    assert len(receipt.hits) == 10 and list(receipt.refs) == [hit.ref for hit in receipt.hits]
    assert receipt.lanes == ["text", "vector", "entity"]
    for question, given, each in made.asked:
        text = worlddb.recall_receipt_text(each)
        assert text.endswith("}\n") and worlddb.read_recall_receipt(text) == each
        assert not any(word in text for word in (*PEOPLE, "Porto", "orchard", "kept", "local", "Fact")), question
        assert each.hash == rr.hash_of(each)
        assert len(given) < 5
    assert len({each.key for _, _, each in made.asked}) == len(made.asked)


def test_a_receipt_is_left_by_exact_recalls_alone(made: Made) -> None:
    with opened(made.store) as db:
        with pytest.raises(worlddb.InputError, match="exact ranking"):
            db.view().recall("Porto", receipt=True)
        assert db.view().recall("Porto", exact=True).receipt is None
        assert db.view(world=made.tenants[0]).recall("Porto", receipt=True).receipt is not None


def test_the_answer_with_a_receipt_is_the_answer_without(made: Made) -> None:
    with opened(made.store) as db:
        view = db.view()
        plain = view.recall(QUESTION, exact=True)
        receipted = view.recall(QUESTION, exact=True, receipt=True)
        assert msgspec.structs.replace(receipted, receipt=None) == plain


@pytest.mark.parametrize("place", ["rebuilt", "restored", "upgraded"])
def test_a_receipt_is_recomputed_wherever_the_store_goes(made: Made, tmp_path: Path, place: str) -> None:
    store = tmp_path / "store"
    shutil.copytree(made.store, store)
    if place == "rebuilt":
        with opened(store) as db:
            db.rebuild()
    elif place == "restored":
        with opened(store) as db:
            db.backup(tmp_path / "kept")
        worlddb.restore(tmp_path / "kept", tmp_path / "again")
        store = tmp_path / "again"
    else:
        age(store)
        assert worlddb.upgrade(store, backup=tmp_path / "before").seq > 30
    holds_all(made, store)


ELSEWHERE = """
import json, sys, time, worlddb
class Letters:
    model, dimension = "letters/1", 8
    mean = lambda self: [0.5] * 8
    embed = lambda self, texts, *, query: [[text.count(letter) for letter in "abcdefgh"] for text in texts]
store, given = sys.argv[1], json.load(open(sys.argv[2], encoding="utf-8"))
with worlddb.open(store, author="somebody else", embedder=Letters()) as db:
    found = [db.check_recall(text, question, **texts) for text, question, texts in given["receipts"]]
    kept = [each.receipt.hash for each in db.view().receipts_of(given["memory"])]
told = {"verdicts": [[each.verdict, each.off_by, each.reference] for each in found], "kept": kept}
print(json.dumps(told | {"zone": time.tzname[0], "order": hash("Porto"), "encoding": sys.getfilesystemencoding()}))
"""


def test_a_kept_receipt_is_recomputed_from_a_backup_by_a_process_that_differs_in_all_else(
    made: Made, tmp_path: Path
) -> None:
    shutil.copytree(made.store, tmp_path / "store")
    kept = made.asked[0][2]
    with opened(tmp_path / "store") as db:
        db.keep_receipt(kept)
    with opened(tmp_path / "store") as db:
        db.backup(tmp_path / "carried")
    shutil.rmtree(tmp_path / "store")
    (tmp_path / "carried").rename(tmp_path / "brought here")
    worlddb.restore(tmp_path / "brought here", tmp_path / "another machine")
    receipts = [(worlddb.recall_receipt_text(each), question, texts(given)) for question, given, each in made.asked]
    (tmp_path / "given.json").write_text(json.dumps({"receipts": receipts, "memory": kept.refs[0]}), "utf-8")
    env = {"PATH": os.environ["PATH"], "PYTHONHASHSEED": "4711", "TZ": "Asia/Kathmandu", "LC_ALL": "C"}
    env |= {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    argv = [sys.executable, "-c", ELSEWHERE, str(tmp_path / "another machine"), str(tmp_path / "given.json")]
    done = subprocess.run(argv, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["verdicts"] == [["holds", 0.0, each.reference] for _, _, each in made.asked]
    assert told["kept"] == [kept.hash]
    assert (told["zone"], told["order"] == hash("Porto"), told["encoding"]) == ("+0545", False, "ascii")


def test_the_question_has_to_be_given_again_as_it_was(made: Made) -> None:
    with opened(made.store) as db:
        question, given, receipt = made.asked[2]
        for other, filters in (
            (question + " ", texts(given)),
            (question, {}),
            (question, {"author": "Local"}),
            (question, {"speaker": "local"}),
            ("", texts(given)),
        ):
            found = db.check_recall(receipt, other, **filters)
            assert (found.ok, found.verdict) == (False, "another_question")
        assert db.check_recall(receipt, question, author=["local"]).ok
        with pytest.raises(worlddb.InputError, match="'topic'"):
            db.check_recall(receipt, question, topic="Porto")


# -- altered receipts


def altered_bytes(text: str, rng: random.Random) -> str:
    """The text of a receipt with one to three bytes otherwise."""
    bare = bytearray(text.strip().encode())
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(bare))
        step = rng.random()
        if step < 0.6:
            bare[at] = rng.choice([byte for byte in b'0123456789abcdef"[]{},: ' if byte != bare[at]])
        elif step < 0.8:
            del bare[at]
        else:
            bare.insert(at, rng.choice(b'0123456789abcdef"[]{},: '))
    return bare.decode()


def altered_value(receipt: RecallReceipt, others: list[RecallReceipt], rng: random.Random) -> RecallReceipt:
    """A receipt that says something else, in its form."""
    hits, head, options = list(receipt.hits), receipt.head, receipt.options
    other = rng.choice(others)
    kind = rng.randrange(14)
    replace = msgspec.structs.replace
    if kind < 6 and hits:
        at = rng.randrange(len(hits))
        if kind == 0:
            hits[at] = replace(hits[at], score=hits[at].score + rng.choice((-1, 1, 1000)))
        elif kind == 1:
            del hits[at]
        elif kind == 2:
            hits[at] = replace(hits[at], ref=rng.randbytes(16).hex())
        elif kind == 3:
            hits[at] = replace(hits[at], version=rng.randbytes(32).hex())
        elif kind == 4:
            hits.insert(at, rng.choice(hits))
        else:
            rng.shuffle(hits)
        return replace(receipt, hits=hits)
    if kind == 6:
        return replace(receipt, valid=receipt.valid + rng.choice((-1, 1, 10**9)))
    if kind == 7:
        return replace(receipt, head=other.head)
    if kind == 8 and isinstance(head, rr.StoreHead):
        name = rng.choice(("tree", "chain", "root"))
        return replace(receipt, head=replace(head, **{name: rng.randbytes(32).hex()}))
    if kind == 9 and isinstance(head, rr.StoreHead):
        return replace(receipt, head=replace(head, size=rng.randint(1, 60)))
    if kind == 10:
        return replace(receipt, options=replace(options, k=options.k + 1))
    if kind == 11:
        return replace(receipt, options=other.options)
    if kind == 12:
        return replace(receipt, ranking=receipt.ranking + 1)
    return replace(receipt, key=other.key, question=other.question)


def accepted(db: Database, made: Made, count: int, seed: int) -> tuple[int, int]:
    """How many altered receipts are accepted, and how many were tried that say something else."""
    rng, taken, tried = random.Random(seed), 0, 0
    receipts = [receipt for _, _, receipt in made.asked]
    while tried < count:
        question, given, receipt = rng.choice(made.asked)
        if rng.random() < 0.5:
            text = altered_bytes(worlddb.recall_receipt_text(receipt), rng)
        else:
            other = altered_value(receipt, receipts, rng)
            # Whoever alters a receipt can hash it again; the seal is what he lacks.
            text = worlddb.recall_receipt_text(msgspec.structs.replace(other, hash=rr.hash_of(other)))
        if text.strip() == worlddb.recall_receipt_text(receipt).strip():
            continue
        tried += 1
        try:
            taken += db.check_recall(text, question, **texts(given)).ok
        except worlddb.InputError:
            continue
    return taken, tried


def test_no_altered_receipt_is_accepted(made: Made) -> None:
    with opened(made.store) as db:
        assert accepted(db, made, ALTERED, 5) == (0, ALTERED)


@pytest.mark.soak
def test_none_of_ten_thousand_altered_receipts_is_accepted(made: Made, seed: int) -> None:
    with opened(made.store) as db:
        assert accepted(db, made, MANY_ALTERED, seed) == (0, MANY_ALTERED)


def test_what_the_stores_own_holder_alters_differs_from_what_is_asked_again(made: Made) -> None:
    """Who has the store's secret can seal anything; the answer is another all the same."""
    rng = random.Random(3)
    receipts = [receipt for _, _, receipt in made.asked[:8]]
    with opened(made.store) as db:
        with db._env.read() as txn:
            secret = secret_of(LmdbLog(txn))
        verdicts = set()
        for _ in range(60):
            question, given, receipt = rng.choice(made.asked[:8])
            other = altered_value(receipt, receipts, rng)
            if other == receipt or other.options != receipt.options or other.valid != receipt.valid:
                continue
            sealed = rr.seal_receipt(other, secret)
            said = [(each.hits, each.head, each.question, each.ranking) for each in (sealed, receipt)]
            if said[0] == said[1]:
                continue
            found = db.check_recall(sealed, question, **texts(given))
            assert not found.ok or sealed.hits == receipt.hits, (found, receipt, other)
            verdicts.add(found.verdict)
        assert {"differs", "another_question", "another_store", "cannot_recompute"} <= verdicts


def test_scores_may_be_off_by_what_the_caller_allows(made: Made) -> None:
    question, _, receipt = made.asked[0]
    near = [msgspec.structs.replace(hit, score=hit.score + 3) for hit in receipt.hits]
    with opened(made.store) as db:
        with db._env.read() as txn:
            other = rr.seal_receipt(msgspec.structs.replace(receipt, hits=near), secret_of(LmdbLog(txn)))
        assert db.check_recall(other, question).verdict == "differs"
        found = db.check_recall(other, question, tolerance=0.000003)
        assert (found.ok, found.off_by) == (True, 0.000003)


# -- other stores, erasures


def test_a_receipt_of_another_store_or_history_is_not_accepted(made: Made, tmp_path: Path) -> None:
    question, _, receipt = made.asked[0]
    with opened(tmp_path / "other") as db:
        db.create("Fact", "x", content="Mara said Porto")
        found = db.check_recall(receipt, question)
        assert found.verdict == "another_store" and "from store" in found.problems[0]
    with opened(made.store) as db:
        db.replay(tmp_path / "short", seq=9)
    with opened(tmp_path / "short") as db:
        found = db.check_recall(receipt, question)
        assert found.verdict == "another_store" and "commits" in found.problems[0]


def test_after_an_erasure_of_a_hit_a_receipt_says_that_it_cannot_be_recomputed(made: Made, tmp_path: Path) -> None:
    shutil.copytree(made.store, tmp_path / "store")
    question, _, receipt = made.asked[0]
    with opened(tmp_path / "store") as db:
        db.erase(receipt.hits[2].ref, reason="asked for")
        found = db.check_recall(receipt, question)
        assert (found.verdict, found.erased) == ("cannot_recompute", (receipt.hits[2].ref,))
        assert not found.ok and found.proved == len(receipt.hits)
        altered = msgspec.structs.replace(receipt, valid=0)
        altered = msgspec.structs.replace(altered, hash=rr.hash_of(altered))
        assert db.check_recall(altered, question).verdict == "altered"


def test_after_an_erasure_of_what_a_view_saw_beside_its_hits_scores_may_be_others(made: Made, tmp_path: Path) -> None:
    shutil.copytree(made.store, tmp_path / "store")
    with opened(tmp_path / "store") as db:
        hits = {hit.ref for _, _, receipt in made.asked for hit in receipt.hits[:3]}
        found = {}
        hits |= {each.ref for each in db.view(world=made.tenants[0]).find(include_superseded=True)}
        for world in db.view(seq=20).find(type="Fact"):
            if world.ref not in hits:
                db.erase(world.ref, reason="asked for")
        for at, (question, given, receipt) in enumerate(made.asked):
            found[at] = db.check_recall(receipt, question, **texts(given))
        assert {check.verdict for check in found.values()} <= {"holds", "cannot_recompute"}
        assert found[1].verdict == "cannot_recompute" and "erased later" in found[1].problems[0]
        # What is erased elsewhere is nothing to a tenant's receipt.
        assert found[9].verdict == "holds"


# -- without the store


def test_a_receipt_is_checked_without_its_store(made: Made) -> None:
    question, _, receipt = made.asked[0]
    found = worlddb.check_recall(receipt, question, proof=made.proof, head=made.head)
    assert found.ok and found.verdict == "not_asked" and found.proved + found.missing == len(receipt.hits)
    assert worlddb.check_recall(receipt).ok
    assert worlddb.check_recall(receipt, "another").verdict == "another_question"
    other = msgspec.structs.replace(receipt, valid=1)
    assert worlddb.check_recall(other).verdict == "altered"
    hashed = msgspec.structs.replace(other, hash=rr.hash_of(other))
    assert worlddb.check_recall(hashed, proof=made.proof).problems == ("the proof belongs to another receipt",)
    with pytest.raises(worlddb.InputError, match="no question"):
        worlddb.check_recall(receipt, author="x")


def test_a_later_head_stands_for_a_receipt_by_a_proof_of_consistency(made: Made) -> None:
    receipt = made.asked[0][2]
    assert isinstance(receipt.head, rr.StoreHead)
    with opened(made.store) as db:
        later, grown = db.checkpoint(), db.prove_consistency(receipt.head.size)
        wrong = db.prove_consistency(3)
    assert not worlddb.check_recall(receipt, head=later).ok
    assert worlddb.check_recall(receipt, head=later, consistency=grown).ok
    assert worlddb.check_recall(receipt, head=later, consistency=wrong).verdict == "another_store"
    signer = worlddb.new_key("example.com/ada")
    assert not worlddb.check_recall(receipt, head=made.head, keys=[signer.verifier]).ok
    signed = worlddb.sign_checkpoint(made.head, signer.signing)
    assert worlddb.check_recall(receipt, head=signed, keys=[signer.verifier]).ok


def test_no_altered_proof_shows_that_a_receipts_memories_were_there(made: Made) -> None:
    rng, receipt = random.Random(11), made.asked[0][2]
    proofs = rr.read_proofs(made.proof)
    missing = list(proofs.missing)
    for _ in range(150):
        text = altered_bytes(made.proof, rng)
        try:
            found = worlddb.check_recall(receipt, proof=text)
        except worlddb.InputError:
            continue
        same = rr.read_proofs(text)
        # What nothing is proved of may be listed otherwise, and is counted so.
        assert not found.ok or same.inclusions == proofs.inclusions or found.missing > len(missing), text
    fewer = msgspec.structs.replace(proofs, inclusions=proofs.inclusions[1:])
    assert not worlddb.check_recall(receipt, proof=rr.proofs_text(fewer)).ok


# -- tenants


def test_a_tenants_receipt_tells_nothing_of_others(tmp_path: Path) -> None:
    """The same tenant beside a busy neighbour and beside none has receipts that say the same."""
    told: list[Any] = []
    for busy in (False, True):
        now = clock.ManualClock()
        with worlddb.open(tmp_path / f"{busy}", clock=now, embedder=None, entropy=worlddb.SeededEntropy(4)) as db:
            ours = db.create("Topic", "ours", key="ours").ref
            db.create("Fact", "a", content="Porto in May", world=ours, key="a")
            now.advance(5_000_000)
            theirs = None
            if busy:
                theirs = db.create("Topic", "theirs", key="theirs").ref
                for number in range(30):
                    db.create("Fact", f"{number}", content="Porto", world=theirs)
            view = db.view(world=ours)
            receipt = view.recall("Porto", receipt=True).receipt
            assert receipt is not None and isinstance(receipt.head, rr.WorldHead)
            document = json.loads(worlddb.recall_receipt_text(receipt))
            proof = db.prove_recall(receipt)
            assert worlddb.check_recall(receipt, "Porto", proof=proof).proved == 1
            assert theirs is None or (theirs not in proof and theirs not in str(document))
            told.append(
                (len(document["head"]["moment"]), document["options"], document["valid"], len(document["hits"]))
            )
            # Neither the number of commits nor the last of them is in it.
            assert str(view.ingested) not in str(document) or not busy
            assert db.check_recall(receipt, "Porto").ok
            db.create("Fact", "later", content="Porto again", world=ours)
            assert db.check_recall(receipt, "Porto").ok
    assert told[0] == told[1]


def test_the_moment_of_a_tenants_receipt_is_sealed_for_its_store_and_world(made: Made, tmp_path: Path) -> None:
    question, _, receipt = made.asked[9]
    head = receipt.head
    assert isinstance(head, rr.WorldHead)
    with opened(made.store) as db:
        for moment in ("", "00" * 36, head.moment[:-2] + "00", head.moment[2:]):
            other = msgspec.structs.replace(receipt, head=msgspec.structs.replace(head, moment=moment))
            other = msgspec.structs.replace(other, hash=rr.hash_of(other))
            assert db.check_recall(other, question).verdict == "altered"


def test_a_receipt_of_another_ranking_is_not_recomputed(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    question, _, receipt = made.asked[0]
    monkeypatch.setattr(rr, "RANKING", 2)
    with opened(made.store) as db:
        found = db.check_recall(receipt, question)
    assert found.verdict == "cannot_recompute" and "ranked with version 1" in found.problems[0]


def test_where_meaning_cannot_be_compared_a_receipt_says_so(made: Made) -> None:
    question, _, receipt = made.asked[0]
    with worlddb.open(made.store, embedder=None) as db:
        found = db.check_recall(receipt, question)
    assert found.verdict == "cannot_recompute" and "vectors" in found.problems[0]


@pytest.mark.parametrize(
    "given", [b"", "{}", "[]", "null", '{"receipt":"recall"}', "{" * 9_000, "\ud800", "x" * 100, 7, None]
)
def test_an_invalid_receipt_is_reported(made: Made, given: Any) -> None:
    checks: list[Callable[[], object]] = [lambda: worlddb.check_recall(given)]
    with opened(made.store) as db:
        checks += [lambda: db.check_recall(given, "x"), lambda: db.prove_recall(given)]
        for check in checks:
            with pytest.raises(worlddb.InputError) as caught:
                check()
            assert caught.value.remedy


def test_what_was_erased_is_no_neighbour_so_that_a_receipt_of_then_on_can_be_checked(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        flight = db.create("Fact", "flight", content="The flight is booked.").ref
        other = db.create("Fact", "", content="Ana pays.").ref
        db.link(flight, "depends_on", other)
        asked: dict[str, Any] = {"exact": True, "receipt": True, "neighbours": 2}
        assert [hit.ref for hit in db.view().recall("flight", **asked)] == [flight, other]
        db.erase(other, reason="request 18")
        found = db.view().recall("flight", **asked)
        assert [hit.ref for hit in found] == [flight] and found.receipt is not None
        assert db.check_recall(found.receipt, "flight").verdict == "holds"
