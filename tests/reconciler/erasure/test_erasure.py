"""Law 8: an erasure reaches every byte of what was said about a world, and of nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import worlddb
from tests.support.faults.answers import answers
from tests.support.faults.traces import find_traces
from worlddb import Database, InputError, Refused, RefusedError
from worlddb.projections.indexes import tail
from worlddb.projections.indexes.text_index import TextIndex
from worlddb.projections.tables.storage.rows import Tables
from worlddb.query.recall import said_elsewhere

SAID = [
    {"speaker": speaker, "text": text, "session": "monday", "source": {"place": f"Mark{number:02}"}}
    for number, (speaker, text) in enumerate(
        [
            ("Quillan", "I keep axolotls in the cellar"),
            ("Berthe", "Axolotls need cold water, Quillan"),
            ("Quillan", "Mine like the zucchini patch better"),
            ("Berthe", "Then build them a pergola"),
        ]
    )
]
OF_QUILLAN = ["Quillan:", "in the cellar", "zucchini", "Mark00", "Mark02"]
OF_BERTHE = ["cold water, Quillan", "pergola", "Mark01", "Mark03"]


@pytest.fixture
def talk(tmp_path: Path) -> Database:
    """A conversation of two, in an index too."""
    db = worlddb.open(tmp_path / "store", author="keeper")
    db.ingest(SAID, conversation="talk")
    db.catch_up()
    return db


def ref_of(db: Database, name: str) -> str:
    return db.view().find(name=name)[0].ref


def get_world(db: Database, ref: object) -> worlddb.World:
    world = db.view().get(ref, include_superseded=True)
    assert world is not None
    return world


def test_what_a_person_said_is_gone_from_every_file_and_what_others_said_is_not(
    talk: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail, "STRETCH_DOCUMENTS", 1)
    with talk as db:
        db.rebuild("text")
        index = db.path / "indexes" / "text"
        assert len(find_traces(db.path, OF_QUILLAN)) == len(OF_QUILLAN) and TextIndex.open(index).search(
            "zucchini", limit=9
        )
        db.erase(ref_of(db, "Quillan"), reason="request 114", turns=True)
        assert find_traces(db.path, OF_QUILLAN) == []
        assert len(find_traces(db.path, [*OF_BERTHE, "request 114"])) >= len(OF_BERTHE) + 1
        assert [hit.content for hit in db.view().recall("axolotls", lanes=["text"])] == [
            "Berthe: Axolotls need cold water, Quillan"
        ]
        db.catch_up()
        assert find_traces(db.path, [*OF_QUILLAN, "cellar"]) == []
        assert not TextIndex.open(index).search("zucchini", limit=9)
        assert TextIndex.open(index).search("pergola", limit=9)
        assert db.verify(deep=True).findings == ()


def test_everything_that_was_ever_said_about_a_world_goes_wherever_it_was_said(tmp_path: Path) -> None:
    words = [f"Word{number}x" for number in range(24)]
    with worlddb.open(tmp_path / "store") as db:
        other = db.create("Topic", "Other", content="about something else")
        world = db.create(
            "Kind", words[0], content=words[1], aliases=[words[2]], why=words[3], source={words[4]: words[5]}
        )
        db.revise(world, name=words[6], content=words[7], why=words[8])
        db.alias(world, words[9], why=words[10])
        db.unalias(world, words[9], why=words[11])
        edge = db.link(world, "implies", other, properties={"note": words[12]}, why=words[13], key=words[14])
        db.unlink(edge, why=words[15])
        db.link(other, "contradicts", world, why=words[16])
        twin = db.create("Kind", words[6], why="a namesake stays", content="twin")
        db.accept(twin.proposals[0], why=words[17])
        db.undo(twin.proposals[0], why=words[18])
        db.move(world, other, why=words[19])
        db.create("Kind", "Keyed", key=words[20])
        db.retire(world, why=words[21], idempotency_key=words[22])
        db.catch_up()
        told = [word for word in words[:22] if word not in (words[14], words[20])]
        assert {found.rpartition(" ")[2] for found in find_traces(db.path, told)} >= set(told)
        db.erase([world, twin], reason="request 7")
        assert find_traces(db.path, words) == []
        assert db.verify(deep=True).findings == ()
        assert get_world(db, other).content == "about something else"


def test_a_tombstone_says_that_something_was_there_when_it_went_by_whom_and_under_which_reference(
    talk: Database,
) -> None:
    with talk as db:
        ref = ref_of(db, "Quillan")
        before = db.view()
        receipt = db.erase(ref, reason="request 114", turns=True)
        for view in (db.view(), before):
            world = view.get(ref)
            assert world is not None and world.erased and world.erasure is not None
            assert (world.type, world.name, world.content, world.aliases, world.source) == ("", "", "", (), {})
            erasure = world.erasure
            assert (erasure.seq, erasure.author, erasure.reason) == (receipt.seq, "keeper", "request 114")
            assert erasure.ingested_at == receipt.ingest_time
            (version,) = view.history(ref)
            assert version.erased and version.erasure == erasure
            assert view.find(name="Quillan") == []
        edges = db.view().edges(ref, type="refers_to")
        assert len(edges) == 2 and all(edge.properties == {} for edge in edges)
        assert [entry.why for entry in db.log() if entry.event == "erased"] == ["request 114"] * 3
        assert all(get_world(db, edge.source).erased for edge in edges)
        berthe = get_world(db, ref_of(db, "Berthe"))
        assert not berthe.erased and berthe.erasure is None


def test_an_erasure_changes_no_hash_of_any_world(talk: Database) -> None:
    with talk as db:
        hashes = {world.ref: db.view().hash(world.ref) for world in db.view().find()}
        root = db.view().hash()
        db.erase(ref_of(db, "Quillan"), reason="request 114", turns=True)
        assert db.view().hash() == root == db.rebuild().root
        assert {ref: db.view().hash(ref) for ref in hashes} == hashes


def test_a_store_replayed_to_before_an_erasure_lacks_the_text_too_and_knows_why(talk: Database, tmp_path: Path) -> None:
    with talk as db:
        ref = ref_of(db, "Quillan")
        db.erase(ref, reason="request 114", turns=True)
        db.create("Fact", "afterwards")
        for seq in (2, 3, 4):
            assert db.replay(tmp_path / f"at {seq}", seq=seq).matches_recorded
            with worlddb.open(tmp_path / f"at {seq}") as copy:
                assert copy.verify(deep=True).findings == ()
                then = db.view(seq=seq)
                assert answers(copy.view(valid=then.valid, seq=seq)) == answers(then)
                assert get_world(copy, ref).erasure == get_world(db, ref).erasure
                assert find_traces(copy.path, OF_QUILLAN) == []
        with worlddb.open(tmp_path / "at 2") as copy:
            copy.create("Fact", "a commit of its own in the place of the erasing one", why="it has blobs")
            assert copy.replay(tmp_path / "copy of a copy").matches_recorded
            with worlddb.open(tmp_path / "copy of a copy") as third:
                assert third.verify(deep=True).findings == ()
                assert get_world(third, ref).erasure == get_world(db, ref).erasure


def test_a_text_that_is_missing_without_an_erasure_and_one_that_is_there_after_one_are_found(talk: Database) -> None:
    with talk as db:
        berthe, quillan = ref_of(db, "Berthe"), ref_of(db, "Quillan")
        blob = db._env.read
        db.erase(quillan, reason="request 114")
        (gone,) = [entry.data["blobs"] for entry in db.log() if entry.event == "erased"]
        with blob() as txn:
            (kept,) = [row for _, row in Tables(txn).version_rows(_node(db, berthe))]
        key = (kept.seq).to_bytes(8, "big") + (kept.position).to_bytes(4, "big")
        stored = db._env.write(lambda txn: txn.pop(b"\x04" + key))
        assert stored is not None
        found = db.verify()
        assert found.first_bad_seq == kept.seq and "no erasure is recorded" in found.findings[0].problem
        db._env.write(lambda txn: txn.put(b"\x04" + key, stored))
        assert db.verify().ok
        (seq, position), *_ = gone
        back = b"\x04" + seq.to_bytes(8, "big") + position.to_bytes(4, "big")
        db._env.write(lambda txn: txn.put(back, stored))
        assert any("although commit 3 erased it" in finding.problem for finding in db.verify().findings)


def _node(db: Database, ref: str) -> int:
    with db._env.read() as txn:
        node = Tables(txn).node_of(bytes.fromhex(ref))
    assert node is not None
    return node


def test_an_erased_world_takes_no_text_until_it_is_asked_for_by_its_key(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        world = db.create("Note", "Old", content="xylophone", aliases=["Ancient"], key="note-1")
        db.erase(world, reason="request 1")
        for call in (lambda: db.revise(world, content="again"), lambda: db.alias(world, "again")):
            outcome = call().outcome
            assert isinstance(outcome, Refused) and outcome.code == "erased"
        again: dict[str, Any] = {
            "content": "xylophone",
            "aliases": ["Ancient"],
            "key": "note-1",
            "source": {"file": "Trace9"},
        }
        with db.batch() as tx:
            tx.create("Note", "Old", **again)
            tx.create("Note", "Another")
        assert [note.code for note in tx.receipt.notes] == ["not_restored"]
        assert find_traces(db.path, ["xylophone", "Ancient", "Trace9"]) == []
        assert db.create("Note", "Old", **again, revive=True).ref == world.ref
        restored = get_world(db, world)
        assert (restored.content, restored.aliases, restored.erased, restored.erasure) == (
            "xylophone", ("Ancient",), False, None,
        )  # fmt: skip
        assert [version.erased for version in db.view().history(world)] == [True, False]
        assert [found.ref for found in db.view().find(name="ancient")] == [world.ref]
        assert db.verify(deep=True).findings == ()
        db.erase(world, reason="request 2")
        assert find_traces(db.path, ["xylophone", "Ancient", "Trace9"]) == []
        erasure = get_world(db, world).erasure
        assert erasure is not None and erasure.reason == "request 2"
        assert db.verify(deep=True).findings == ()


def test_the_same_text_elsewhere_stays_unless_everywhere_is_said(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        first, second, third = (db.create("Note", f"N{number}", content="the same text") for number in range(3))
        db.revise(third, content="another text by now")
        db.erase(first, reason="only here")
        assert [get_world(db, ref).erased for ref in (first, second, third)] == [True, False, False]
        db.erase(second, reason="here and there", everywhere=True)
        assert [get_world(db, ref).erased for ref in (first, second, third)] == [True, True, True]
        erased = [(entry.data["lineage"], entry.data["everywhere"]) for entry in db.log() if entry.event == "erased"]
        assert erased == [(first.ref, False), (second.ref, False), (third.ref, True)]
        assert find_traces(db.path, ["the same text", "another text by now"]) == []


def test_a_forbidden_text_is_refused_wherever_it_would_be_written(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        world = db.create("Note", "A", content="never again")
        other = db.create("Note", "B", content="something else")
        db.erase(world, reason="request 1", forbid=True)
        for call in (
            lambda: db.create("Note", "C", content="never again"),
            lambda: db.revise(other, content="never again"),
            lambda: db.create("Note", "never again"),
            lambda: db.create("Note", "never again", content="with another content"),
            lambda: db.create("Note", "C", aliases=["never again"]),
            lambda: db.alias(other, "never again"),
            lambda: db.revise(other, name="never again"),
        ):
            outcome = call().outcome
            assert isinstance(outcome, Refused) and outcome.code == "forbidden_text"
        assert db.create("Note", "C", content="Never again, or something like it")
        assert db.rebuild("tables").rebuilt
        assert not db.create("Note", "C", content="never again")
        assert db.verify(deep=True).findings == ()


def test_erasing_again_changes_nothing_and_a_retry_gets_the_same_receipt(talk: Database) -> None:
    with talk as db:
        ref = ref_of(db, "Quillan")
        once = db.erase(ref, reason="request 114", turns=True, idempotency_key="k")
        assert db.erase(ref, reason="request 114", turns=True, idempotency_key="k") == once
        with pytest.raises(worlddb.IdempotencyConflict):
            db.erase(ref, reason="another", turns=True, idempotency_key="k")
        again = db.erase(ref, reason="request 115")
        assert (again.events, [note.code for note in again.notes]) == (0, ["already_erased"])
        assert db.head().seq == once.seq
        db.link(ref_of(db, "Berthe"), "refers_to", ref, why="somebody wrote of it again")
        assert db.erase(ref, reason="request 116").events == 1
        assert find_traces(db.path, ["somebody wrote of it"]) == []


def test_a_command_can_be_retried_although_its_texts_were_erased(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        text: dict[str, Any] = {"content": "c", "key": "k", "why": "w"}
        receipt = db.create("Note", "A", **text, idempotency_key="i")
        db.erase(receipt, reason="r")
        again = db.create("Note", "A", **text, idempotency_key="i")
        assert again.notes == (worlddb.Note("retry_not_compared", (receipt.ref,)),)
        assert replace(again, notes=()) == receipt
        with pytest.raises(worlddb.IdempotencyConflict):
            db.create("Note", "A", **(text | {"key": "other"}), idempotency_key="i")


def test_what_cannot_be_erased_is_refused_or_an_error_and_nothing_is_written(talk: Database) -> None:
    with talk as db:
        ref, head = ref_of(db, "Quillan"), db.head()
        root = next(db.log(1, 1)).data["root"]
        outcome = db.erase(root, reason="r").outcome
        assert isinstance(outcome, Refused) and outcome.code == "root_is_permanent"
        for call in (
            lambda: db.erase(ref, reason=""),
            lambda: db.erase(ref, reason=3),  # type: ignore[arg-type]
            lambda: db.erase([], reason="r"),
            lambda: db.erase(ref, reason="r", turns="yes"),  # type: ignore[arg-type]
            lambda: db.erase([ref, "feed5eed"], reason="r"),
            lambda: _erase_in_a_batch_with_others(db, ref),
            lambda: _erase_what_is_made_in_the_batch(db),
        ):
            with pytest.raises(InputError):
                call()
        assert db.head() == head and db.verify(deep=True).ok
        with pytest.raises(RefusedError), db.batch() as tx:
            tx.erase(root, reason="r")


def _erase_in_a_batch_with_others(db: Database, ref: str) -> None:
    with db.batch() as tx:
        tx.create("Note", "n")
        tx.erase(ref, reason="r")


def _erase_what_is_made_in_the_batch(db: Database) -> None:
    with db.batch() as tx:
        tx.erase(tx.create("Note", "n"), reason="r")


def test_a_repeated_import_leaves_erased_turns_out_and_adds_its_tail(talk: Database) -> None:
    with talk as db:
        db.erase(ref_of(db, "Quillan"), reason="request 114", turns=True)
        tail = {"speaker": "Berthe", "text": "Are you there?", "session": "monday"}
        receipt = db.ingest([*SAID, tail], conversation="talk")
        assert {note.code for note in receipt.notes} == {"not_restored"}
        assert find_traces(db.path, OF_QUILLAN) == []
        assert [hit.content for hit in db.view().recall("there")] == ["Berthe: Are you there?"]
        assert db.verify(deep=True).findings == ()


def test_an_erasure_names_what_may_still_tell_the_text_as_forget_does(tmp_path: Path) -> None:
    """The password was left in two messages, of which neither the plan nor the receipt had a word."""
    with worlddb.open(tmp_path / "store", author="desk") as db:
        mem = worlddb.memory(db, user="jule", session="one")
        told = mem.add([
            {"role": "user", "content": "router neu gemacht, neues passwort Fledermaus#77"},
            {"role": "user", "content": "the cat is ill"},
            {"role": "user", "content": "try Fledermaus#77 on the router"},
        ]).ids  # fmt: skip
        stated = mem.add("The WLAN password is Fledermaus#77.").id
        forgotten = mem.forget(stated).notes
        left = {told[0], told[2]}
        assert all(ref in forgotten[-1] for ref in left)
        mem.forget(told[2])
        for everywhere in (False, True):
            assert set(db.erasure_plan(stated, everywhere=everywhere).telling) == left
        receipt = db.erase(stated, reason="request 1", everywhere=True)
        (note,) = [each for each in receipt.notes if each.code == "still_told"]
        assert note.refs[0] == stated and set(note.refs[1:]) == left
        assert "still_told" not in [each.code for each in db.erase(list(left), reason="request 1").notes]
        assert not any(b"Fledermaus" in each.read_bytes() for each in (tmp_path / "store").rglob("*") if each.is_file())


def test_the_erasure_of_a_session_names_what_may_still_tell_its_messages(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", author="desk") as db:
        mem = worlddb.memory(db, user="jule", session="one")
        mem.add([{"role": "user", "content": "neues passwort Fledermaus#77"}, {"role": "user", "content": "the cat"}])
        stated = mem.add("The WLAN password is Fledermaus#77.").id
        (session,) = [each.ref for each in db.view().find(name="one", type="Session")]
        assert db.erasure_plan(session, members=True).telling == (stated,)
        assert not db.erasure_plan(session, members=False).telling
        receipt = db.erase(session, reason="r", members=True)
        assert [each.refs[1:] for each in receipt.notes if each.code == "still_told"] == [(stated,)]


def test_a_note_that_cannot_be_found_keeps_nothing_from_being_erased(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_for, look = list[str](), said_elsewhere.saying_the_same

    def fail_later(window: Any, text: str, **how: Any) -> said_elsewhere.SaidElsewhere:
        looked_for.append(text)
        if len(looked_for) > 1:
            raise worlddb.DamagedStore("A text is damaged", "Restore it")
        return look(window, text, **how)

    with worlddb.open(tmp_path / "store", author="desk") as db:
        told = db.create("Note", "", content="neues passwort Fledermaus#77").ref
        refs = [
            db.create("Note", "", content=f"The {name} password is Fledermaus#77.").ref for name in ("WLAN", "bank")
        ]
        monkeypatch.setattr(said_elsewhere, "saying_the_same", fail_later)
        receipt = db.erase(refs, reason="r")
        assert len(looked_for) == 2
        (note,) = [each for each in receipt.notes if each.code == "still_told"]
        assert note.refs == (refs[0], told)
        assert not any(world.content for world in map(db.view().get, refs) if world is not None)


def test_an_erasure_looks_for_a_bounded_number_of_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """64 worlds with four texts each were 256 searches, or three times as many."""
    looked_for = list[str]()

    def note_text(window: Any, text: str, **how: Any) -> said_elsewhere.SaidElsewhere:
        looked_for.append(text)
        return said_elsewhere.SaidElsewhere([], [], [])

    monkeypatch.setattr(said_elsewhere, "saying_the_same", note_text)
    monkeypatch.setattr(said_elsewhere, "MAX_TEXTS_OF_ALL", 4)
    with worlddb.open(tmp_path / "store", author="desk") as db:
        refs = [db.create("Note", "", content=f"note {each}, old").ref for each in range(3)]
        for each, ref in enumerate(refs):
            db.revise(ref, content=f"note {each}, new")
        db.erase(refs, reason="r")
        assert looked_for == ["note 0, new", "note 1, new", "note 2, new", "note 0, old"]


def test_the_plan_for_a_user_names_others_texts_with_the_name_of_the_user(tmp_path: Path) -> None:
    """It looked for the name of the scope, "user:ana silva", which nobody says."""
    with worlddb.open(tmp_path / "store", author="desk") as db:
        worlddb.memory(db, user="Ana Silva").add("Ana Silva likes tea.")
        worlddb.memory(db, user="o").add("I like tea.")
        sam = worlddb.memory(db, user="sam", session="one")
        sung = sam.add("Jule and Ana Silva sing.").id
        (met,) = sam.add([{"role": "user", "content": "met ana silva"}]).ids
        sam.add("Ana and Silva sing to o.")
        (scope,) = db.view().find(name="user:Ana Silva")
        assert set(db.erasure_plan(scope, members=True).mentions) == {sung, met}
        (short,) = db.view().find(name="user:o")
        assert not db.erasure_plan(short, members=True).mentions, "a letter is in any text"
