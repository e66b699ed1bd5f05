"""Forges, changes and removes records of every kind: whatever no hash covers is found, or derived anew."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import lmdb
import msgspec
import pytest

import worlddb
from tests.query.reads.test_isolation_vectors import LetterCounts
from tests.support.bundling import build_sample_store
from tests.support.faults import forge
from tests.support.faults.damaged import verify_or_error
from tests.support.running import LocalRunner
from worlddb import ManualClock
from worlddb.log.model import codec
from worlddb.log.model.codec import chain_hash, events_hash
from worlddb.log.model.events import UNKNOWN, AnyEvent, Created, Erased, ErasedElsewhere, Revised
from worlddb.log.model.hashing import blob_id
from worlddb.log.store.environment import Environment
from worlddb.log.store.log import HEAD_KEY
from worlddb.projections.check import verify_store
from worlddb.projections.tables.storage.schema import FIRST_TABLE_BYTE, LAYOUT, LAYOUT_BYTES, TABLES
from worlddb.reconciler.transaction.draft import Draft

pytestmark = pytest.mark.usefixtures("untried")

PROGRESS_KEY = bytes([FIRST_TABLE_BYTE]) + b"applied"
FUTURE = 7_258_118_400_000_000
"""The year 2200."""


# -- a later erasure that never was


def record(
    lineage: bytes,
    blobs: list[tuple[int, int]],
    *,
    seq: int = 9999,
    at: int = FUTURE,
    through: int,
    reason: str = "order",
) -> dict[bytes, bytes]:
    """What earlier releases kept beside the log for an erasure that came later, made up with hashes that hold."""
    why = codec.encode(["details", bytes(16), [], reason, {}, {}])
    said: list[AnyEvent] = [Erased(lineage, blobs, 1, False, [])]
    events = codec.encode(codec.Events(bytes(32) + blob_id(why), False, [], [], said))
    header = codec.encode(
        codec.Header(1, seq, at, at, "a court", b"", bytes(32), bytes(32), events_hash(events), len(said))
    )
    stored = msgspec.msgpack.encode(["erasure", through, header, events, [[1, why]]])
    return {b"\x05" + chain_hash(header): stored, b"\x05" + lineage: chain_hash(header)}


def missing_text(store: Path) -> tuple[bytes, tuple[int, int]]:
    """A world of the store, and where its text was; it is gone now."""
    with worlddb.open(store, author="ada") as db:
        ref = db.create("Note", "Will", content="all of it to Eve").ref
        seq = db.head().seq
    (key,) = (key for key, value in forge.pairs(store) if key[0] == forge.BLOBS and b"all of it to Eve" in value)
    forge.rewrite(store, [(key, None)])
    return bytes.fromhex(ref), (seq, int.from_bytes(key[9:], "big"))


def test_a_forged_later_erasure_explains_no_missing_text(store: Path) -> None:
    lineage, place = missing_text(store)
    with worlddb.open(store, author="ada") as db:
        with pytest.raises(worlddb.DamagedStore, match="missing and no erasure is recorded"):
            db.create("Note", "after")
        kept = db.checkpoint()
    forge.rewrite(store, record(lineage, [place], through=place[0]).items())
    with worlddb.open(store, author="ada") as db:
        db.rebuild()
        for found in (db.verify(), db.verify(deep=True), db.verify(deep=True, head=kept)):
            problems = [finding.problem for finding in found.findings]
            assert not found.ok
            assert any("missing and no erasure is recorded" in each for each in problems)
            assert any("commit 9999 by 'a court'" in each and "no commit" in each for each in problems)
        world = db.view().get(lineage.hex())
        assert world is not None and world.erasure is None, "what nothing proves is not repeated"
    assert any(symptom.code == "damaged" for symptom in worlddb.diagnose(store, deep=True).symptoms)


def test_a_forged_later_erasure_of_a_text_that_is_there_is_found_too(store: Path) -> None:
    with worlddb.open(store, author="ada") as db:
        lineage, seq = bytes.fromhex(db.create("Note", "Will").ref), db.head().seq
    forge.rewrite(store, record(lineage, [(seq, 1)], through=seq).items())
    found = verify_or_error(store)
    assert isinstance(found, worlddb.Verified) and not found.ok


@pytest.mark.parametrize(
    "pair",
    [
        (b"\x05" + bytes(32), b"nothing that can be read"),
        (b"\x05" + bytes(16), bytes(32)),
        (b"\x05" + bytes(32) + b"\x00", bytes(32)),
        (b"\x00", b""),
        (b"\x01other", b"x"),
        (b"\x01copy", b"of no kind"),
        (b"\x02" + (9999).to_bytes(8, "big"), bytes(40)),
        (b"\x02\x00", b""),
        (b"\x04" + (3).to_bytes(8, "big") + (900).to_bytes(4, "big"), b"more"),
        (b"\x04" + (3).to_bytes(8, "big") + bytes(5), b"longer"),
        (b"\x06", b""),
        (b"\x3f" + bytes(9), b""),
        (bytes([FIRST_TABLE_BYTE + len(TABLES)]) + b"row", b"of no table"),
        (b"\xff" * 9, b""),
    ],
    ids=lambda pair: pair[0].hex()[:16],
)
def test_a_record_that_nothing_names_is_found(pair: tuple[bytes, bytes], store: Path) -> None:
    forge.rewrite(store, [pair])
    for deep in (False, True):
        found = verify_or_error(store, deep=deep)
        assert not isinstance(found, worlddb.Verified) or not found.ok


def test_a_text_that_came_after_its_hash_may_not_go_again(tmp_path: Path) -> None:
    """The place that was kept for it says that the text may be missing; what brought it says that it is there."""
    told = build_sample_store(tmp_path / "whole")
    with worlddb.open(tmp_path / "whole") as db:
        db.export(told.team, tmp_path / "team.bundle")
        db.export(told.outer, tmp_path / "outer.bundle")
    with worlddb.open(tmp_path / "store") as db:
        db.import_bundle(tmp_path / "team.bundle")
        db.import_bundle(tmp_path / "outer.bundle")
        assert db.verify(deep=True).ok
        filled = next(entry.seq for entry in db.log() if entry.event == "filled")
    (key,) = (
        key for key, value in forge.pairs(tmp_path / "store") if key[0] == forge.BLOBS and b"outside of it all" in value
    )
    forge.rewrite(tmp_path / "store", [(key, None)])
    with worlddb.open(tmp_path / "store") as db:
        db.rebuild()
        for deep in (False, True):
            found = db.verify(deep=deep)
            assert (found.ok, found.first_bad_seq) == (False, filled)
            assert "missing and no erasure is recorded" in found.findings[0].problem


# -- what is true is proved by the log


def replay_before_erasure(folder: Path) -> tuple[Path, str]:
    """A replay to a moment before an erasure, and the world that was erased."""
    with worlddb.open(folder / "original", author="ada", clock=ManualClock()) as db:
        ref = db.create("Note", "Will", content="everything to Ada").ref
        db.create("Note", "between")
        then = db.head().seq
        db.erase(ref, reason="request 7", forbid=True)
        db.replay(folder / "then", seq=then)
    return folder / "then", ref


def test_a_copy_says_in_its_own_log_what_was_erased_later(tmp_path: Path) -> None:
    then, ref = replay_before_erasure(tmp_path)
    assert not [key for key, _ in forge.pairs(then) if key[:1] == b"\x05"]
    with worlddb.open(then, author="ada") as db, worlddb.open(tmp_path / "original") as original:
        assert db.verify(deep=True).ok and db.verify(head=original.checkpoint(seq=3)).ok
        (entry,) = (entry for entry in db.log() if entry.event == "erased_elsewhere")
        assert (entry.seq, entry.author, entry.refs, entry.data["through"]) == (4, "replay", (ref,), 3)
        assert entry.why == "request 7"
        assert db.view().get(ref) == db.view(seq=3).get(ref)
        world, there = db.view().get(ref), original.view().get(ref)
        assert world is not None and there is not None and world.erasure == there.erasure
        assert world.erasure is not None and (world.erasure.seq, world.erasure.reason) == (4, "request 7")
        assert not db.create("Note", "again", content="everything to Ada")
        db.backup(tmp_path / "backup")
        db.replay(tmp_path / "whole")
        db.replay(tmp_path / "again", seq=3)
        without = db.replay(tmp_path / "without", without=[3])
        assert without.hypothesis is not None
    worlddb.restore(tmp_path / "backup", tmp_path / "restored")
    for name in ("backup", "whole", "again", "without", "restored"):
        with worlddb.open(tmp_path / name, author="ada") as db:
            assert db.verify(deep=True).findings == (), name
            told = db.view().get(ref)
            assert told is not None and told.erasure == world.erasure, name
            assert db.rebuild("tables").root == db.view().hash()


@pytest.mark.parametrize("what", ["header", "events", "details", "gone"])
def test_evidence_that_does_not_bear_out_what_a_commit_says_is_found(what: str, tmp_path: Path) -> None:
    then, _ = replay_before_erasure(tmp_path)
    ((key, value),) = (
        (key, value) for key, value in forge.pairs(then) if key[0] == forge.BLOBS and b"evidence" in value
    )
    tag, nonce, header, events, details = msgspec.msgpack.decode(value)
    if what == "gone":
        forge.rewrite(then, [(key, None)])
    else:
        changed = {
            "header": [tag, nonce, header[:-1] + b"\x09", events, details],
            "events": [tag, nonce, header, events.replace(b"erased", b"erasee"), details],
            "details": [tag, nonce, header, events, [[1, details[0][1][:-1] + b"\x81"]]],
        }[what]
        forge.rewrite(then, [(key, msgspec.msgpack.encode(changed))])
    found = verify_or_error(then)
    assert isinstance(found, worlddb.Verified) and (found.ok, found.first_bad_seq) == (False, 4)


def test_an_event_that_invents_what_was_erased_elsewhere_is_not_borne_out(tmp_path: Path) -> None:
    """A forger who makes every hash of the last commit anew still has to make up a commit that fits."""
    then, ref = replay_before_erasure(tmp_path)
    held = dict(forge.pairs(then))
    commit, events_key = (bytes([kind]) + (4).to_bytes(8, "big") for kind in (forge.COMMIT, forge.EVENTS))
    events = codec.decode_events(held[events_key], 4)
    other = (3, 1)
    (said,) = events.events
    assert isinstance(said, ErasedElsewhere)
    said = msgspec.structs.replace(said, blobs=[*said.blobs, other])
    forged = codec.encode(msgspec.structs.replace(events, events=[said]))
    header = msgspec.structs.replace(codec.decode_header(held[commit][32:], 4), events_hash=events_hash(forged))
    stored = codec.encode(header)
    blob = bytes([forge.BLOBS]) + (3).to_bytes(8, "big") + (1).to_bytes(4, "big")
    forge.rewrite(
        then,
        [
            (events_key, forged),
            (commit, chain_hash(stored) + stored),
            (b"\x01head", chain_hash(stored) + (4).to_bytes(8, "big")),
            (blob, None),
        ],
    )
    found = verify_or_error(then)
    assert isinstance(found, worlddb.Verified) and (found.ok, found.first_bad_seq) == (False, 4)
    assert any("names other texts" in finding.problem for finding in found.findings)
    assert ref


# -- copies that earlier releases made


@contextmanager
def by_an_older_release() -> Iterator[None]:
    """What is written says no more than a release wrote that kept erasures beside the log."""
    emit = Draft.emit

    def older(draft: Draft, event: AnyEvent) -> None:
        stated = isinstance(event, Created | Revised)
        emit(draft, msgspec.structs.replace(event, stated=UNKNOWN) if stated else event)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Draft, "emit", older)
        yield


def older_copy(folder: Path) -> tuple[Path, str]:
    """A copy as earlier releases made it: cut behind commit 3, what came later beside the log."""
    with by_an_older_release():
        then, ref = replay_before_erasure(folder)
    with worlddb.open(folder / "original") as original:
        seq = original.head().seq
    held = dict(forge.pairs(folder / "original"))
    at = seq.to_bytes(8, "big")
    header, events = held[b"\x02" + at][32:], held[b"\x03" + at]
    details = [
        [event.details, held[b"\x04" + at + event.details.to_bytes(4, "big")]]
        for event in codec.decode_events(events, seq).events
        if isinstance(event, Erased)
    ]
    stored = msgspec.msgpack.encode(["erasure", 3, header, events, details])
    forge.delete(then, lambda key: forge.seq_of(key) == 4)
    chain = dict(forge.pairs(then))[b"\x02" + (3).to_bytes(8, "big")][:32]
    forge.rewrite(
        then,
        [
            (b"\x01head", chain + (3).to_bytes(8, "big")),
            (b"\x05" + chain_hash(header), stored),
            (b"\x05" + bytes.fromhex(ref), chain_hash(header)),
        ],
    )
    return then, ref


def test_an_upgrade_lists_what_older_releases_kept_beside_the_log_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    then, ref = older_copy(tmp_path)
    with worlddb.open(then, author="ada") as db:
        db.rebuild("tables")
        found = db.verify()
        assert not found.ok and any("worlddb upgrade" in finding.problem for finding in found.findings)
    made = worlddb.upgrade(then)
    assert [(each.seq, each.author, each.reasons) for each in made.listed] == [(4, "ada", ("request 7",))]
    assert (made.seq, made.refused, made.before == made.after) == (4, 0, True) and Path(made.backup).exists()
    with worlddb.open(then, author="ada") as db:
        assert db.verify(deep=True).findings == ()
        (entry,) = (entry for entry in db.log() if entry.event == "erased_elsewhere")
        assert entry.author == "upgrade" and entry.data["listed"] is True
        world = db.view().get(ref)
        assert world is not None and world.erasure is not None and world.erasure.reason == "request 7"
        assert world.erasure.listed, "nothing proves it, whoever reads it"
        (remark,) = db.verify(deep=True, head=db.checkpoint()).remarks
        assert "commit 4 of another history by 'ada'" in remark and "Nothing proves" in remark
        remarked = [each for each in worlddb.diagnose(then).symptoms if each.code == "erasure_unproven"]
        assert [(each.what, each.wrong, "commit 4" in each.where) for each in remarked] == [(remark, False, True)]
    told = LocalRunner(capsys, then)("show", ref)
    assert "request 7" in told.out and "without proof" in told.out
    # What somebody adds afterwards is damage, however well it fits.
    lineage, place = missing_text(then)
    forge.rewrite(then, record(lineage, [place], seq=place[0] + 1, at=FUTURE // 2, through=place[0]).items())
    before = forge.pairs(then)
    assert (worlddb.upgrade(then).listed, worlddb.upgrade(then).refused) == ((), 1)
    assert forge.pairs(then) == before
    with worlddb.open(then, author="ada") as db:
        assert not db.verify().ok


def test_the_command_lists_what_it_took_into_the_log_and_what_stays_outside(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    then, _ = older_copy(tmp_path)
    shutil.copytree(then, tmp_path / "twin")
    shown = LocalRunner(capsys, then)("upgrade")
    assert shown.code == 0 and "erased by ada in commit 4" in shown.out and "request 7" in shown.out
    told = LocalRunner(capsys, tmp_path / "twin").json("upgrade")
    assert [(each["seq"], each["author"], each["reasons"]) for each in told["listed"]] == [(4, "ada", ["request 7"])]
    lineage, place = missing_text(then)
    forge.rewrite(then, record(lineage, [place], through=place[0]).items())
    again = LocalRunner(capsys, then)("upgrade")
    assert again.code == 0 and "1 record beside the log cannot be listed" in again.out + again.err


def test_a_copy_of_an_older_copy_keeps_what_lay_beside_the_log_until_it_is_upgraded(tmp_path: Path) -> None:
    then, ref = older_copy(tmp_path)
    with worlddb.open(then, author="ada") as db:
        db.rebuild("tables")
        db.backup(tmp_path / "backup")
        db.replay(tmp_path / "again")
    worlddb.restore(tmp_path / "backup", tmp_path / "restored")
    for name in ("again", "restored"):
        assert not isinstance(found := verify_or_error(tmp_path / name), worlddb.Verified) or not found.ok
        assert len(worlddb.upgrade(tmp_path / name).listed) == 1
        with worlddb.open(tmp_path / name, author="ada") as db:
            assert db.verify(deep=True).findings == ()
            world = db.view().get(ref)
            assert world is not None and world.erasure is not None and world.erasure.reason == "request 7"


def test_an_upgrade_refuses_a_record_that_cannot_be_of_this_log(tmp_path: Path) -> None:
    store = tmp_path / "older"
    with by_an_older_release():
        with worlddb.open(store, author="ada", clock=ManualClock()) as db:
            db.create("Note", "first")
        lineage, place = missing_text(store)
    with worlddb.open(store) as db:
        early = db.head(seq=2).ingested_at
        soon = db.head().ingested_at + 1
    for wrong in (
        record(lineage, [place], through=place[0]),
        record(lineage, [place], through=place[0], at=early),
        record(lineage, [place], through=place[0], at=soon, seq=place[0] + 1),
        record(lineage, [place], through=place[0] + 9, at=soon),
        record(lineage, [(place[0], 99)], through=place[0], at=soon),
        record(lineage, [(2, 1)], through=place[0], at=soon),
    ):
        forge.rewrite(store, wrong.items())
        made = worlddb.upgrade(store)
        assert (made.listed, made.refused) == ((), 1)
        assert not isinstance(found := verify_or_error(store), worlddb.Verified) or not found.ok
        forge.delete(store, lambda key: key[0] == 5)
    fitting = record(lineage, [place], through=place[0], at=soon, seq=place[0] + 9)
    forge.rewrite(store, fitting.items())
    assert len(worlddb.upgrade(store).listed) == 1, "what else is wrong with those above is what refuses them"


@pytest.mark.parametrize("since", ["create", "trust", "retire"])
def test_an_upgrade_lists_no_erasure_of_what_a_release_wrote_that_kept_none_beside_the_log(
    since: str, tmp_path: Path
) -> None:
    """Whoever deletes a text sets the layout back, too, and has the upgrade take an invented erasure in."""
    store = tmp_path / "store"
    with by_an_older_release(), worlddb.open(store, author="ada") as db:
        first = db.create("Note", "first")
    with by_an_older_release() if since != "create" else nullcontext(), worlddb.open(store, author="ada") as db:
        if since == "trust":
            db.trust("low", author="eve")
        if since == "retire":
            db.retire(first, valid_from="2001-01-01", valid_to="2002-01-01")
        ref = db.create("Note", "Will", content="all of it to Eve").ref
        seq, soon, kept = db.head().seq, db.head().ingested_at + 1, db.checkpoint()
    (key,) = (key for key, value in forge.pairs(store) if key[0] == forge.BLOBS and b"all of it to Eve" in value)
    place = (seq, int.from_bytes(key[9:], "big"))
    applied = dict(forge.pairs(store))[PROGRESS_KEY]
    older = applied[:-LAYOUT_BYTES] + (LAYOUT - 1).to_bytes(LAYOUT_BYTES, "big")
    forged = record(bytes.fromhex(ref), [place], through=seq, at=soon, seq=seq + 9)
    forge.rewrite(store, [(key, None), (PROGRESS_KEY, older), *forged.items()])
    made = worlddb.upgrade(store)
    assert (made.listed, made.refused) == ((), 1)
    with worlddb.open(store, author="ada") as db:
        found = db.verify(deep=True, head=kept)
        assert not found.ok and any("commit 9" in each.problem or "missing" in each.problem for each in found.findings)
        world = db.view().get(ref)
        assert world is not None and world.erased and world.erasure is None


# -- every record of every kind


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with rows in every table: with a bundle, spaces, settings, and erasures here and elsewhere."""
    folder = tmp_path_factory.mktemp("everything")
    told = build_sample_store(folder / "whole")
    with worlddb.open(folder / "whole") as db:
        db.export(told.team, folder / "team.bundle")
        db.export(told.outer, folder / "outer.bundle")
    with worlddb.open(folder / "original", author="ada", clock=ManualClock(), embedder=LetterCounts()) as db:
        db.import_bundle(folder / "team.bundle")
        db.import_bundle(folder / "outer.bundle")
        gone, later = (db.create("Note", name, content=f"{name} goods").ref for name in ("Perishable", "Vergänglich"))
        once = db.create("Note", "once", idempotency_key="only once")
        db.restate(once, source={"file": "again.md"})
        db.register("causes", world=gone)
        db.tune(worlddb.Thresholds(), type="Person")
        db.trust("low", author="ada")
        db.link(gone, "refers_to", later, key="k")
        db.unlink(db.link(gone, "refers_to", told.team).ref)
        db.bookmark("now")
        db.embed()
        db.erase(gone, reason="request 7", forbid=True)
        then = db.head().seq
        db.create("Note", "late")
        db.erase(later, reason="request 8", forbid=True)
        db.replay(folder / "store", seq=then)
    with worlddb.open(folder / "store", author="ada", embedder=LetterCounts()) as db:
        own = db.create("Note", "its own")
        db.restate(own, source={"file": "again.md"})
        db.expire(own, ttl=60)
        db.label(own, "draft")
        db.pin(own)
        iri = worlddb.Iri("https://a.example/it")
        db.state(own, [(iri, iri, worlddb.Literal("said")), (iri, iri, iri)])
        db.embed()
        assert db.verify(deep=True).findings == ()
    return folder / "store"


MAY_CHANGE = {b"\x01copy", b"\x01scrub"}
"""Marks of what a file is used for and of work to be done; see the limits."""


def changes(held: dict[bytes, bytes], draw: random.Random | None) -> Iterator[tuple[bytes, bytes | None]]:
    """A record altered, one removed and one added, of each kind: of one drawn row, or of every row."""
    kinds: dict[int, list[bytes]] = {}
    for key in held:
        kinds.setdefault(key[0], []).append(key)
    for keys in kinds.values():
        for key in keys if draw is None else [draw.choice(keys)]:
            value = held[key]
            yield key, value[:-1] + bytes([value[-1] ^ 1]) if value else b"\x00"
            yield key, None
            added = key[:-1] + bytes([key[-1] ^ 0x55])
            yield key + b"\x07" if added in held else added, value


def every_change_is_found(store: Path, draw: random.Random | None) -> int:
    held = dict(forge.pairs(store))
    named = {TABLES[key[0] - FIRST_TABLE_BYTE] for key in held if key[0] >= FIRST_TABLE_BYTE}
    assert set(TABLES) - named <= {"edge_types", "space_changes"}, "a table without a row is not tried"
    env = Environment(store, author="x", timeout_seconds=5.0)
    tried = 0
    try:
        assert verify_store(env, deep=True)[1] == []
        for key, value in changes(held, draw):
            assert key not in MAY_CHANGE
            if key[:5] == HEAD_KEY[:5]:
                continue  # An open store refuses it at once; see below.
            put(env, key, value)
            try:
                findings = verify_store(env, deep=True)[1]
            except worlddb.WorldDBError as error:
                findings = [error]  # type: ignore[list-item]
            assert findings, (key.hex(), held.get(key, b"").hex(), value)
            put(env, key, held.get(key))
            tried += 1
    finally:
        env.close()
    return tried


@pytest.mark.parametrize("value", [None, bytes(40), b"cut"])
def test_a_changed_or_removed_head_record_is_found(value: bytes | None, everything: Path, tmp_path: Path) -> None:
    store = forge.copy_store(everything, tmp_path / "store")
    forge.rewrite(store, [(HEAD_KEY, value)])
    found = verify_or_error(store, deep=True)
    assert not isinstance(found, worlddb.Verified) or not found.ok


def put(env: Environment, key: bytes, value: bytes | None) -> None:
    def change(txn: lmdb.Transaction) -> None:
        if value is None:
            txn.delete(key)
        else:
            txn.put(key, value)

    env.write(change)


def test_a_changed_added_or_removed_record_of_every_kind_and_table_is_found(everything: Path, seed: int) -> None:
    assert every_change_is_found(everything, random.Random(seed)) > 90


@pytest.mark.soak
def test_every_changed_added_or_removed_record_is_found(everything: Path) -> None:
    assert every_change_is_found(everything, None) > 1_000
