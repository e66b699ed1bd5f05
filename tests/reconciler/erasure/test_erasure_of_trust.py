"""An erasure everywhere takes the names of those whose trust was said, and the level goes on to hold without them.

They stayed in the log for good, and a hash of them that anybody can guess from stood in the tables.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import worlddb
from tests.support.faults.traces import find_traces
from worlddb import Database
from worlddb.projections.tables.apply import settings


class Told:
    """A store with a person of whom trust was said as an author, in a source and in a reason, and with others."""

    def __init__(self, folder: Path) -> None:
        with worlddb.open(folder, author="Walpurga Quist", background=False) as own:
            self.by_her = own.create("Note", "", content="the rent is 1200").ref
        self.db = db = worlddb.open(folder, author="desk", background=False)
        self.person = db.create("Person", "Walpurga Quist", aliases=["Wally Q"]).ref
        self.of_her = db.create("Note", "", content="the rent is 900", source={"heard from": "wally  q"}).ref
        self.other = db.create("Note", "", content="the rent is 80", source={"heard from": "Ann"}).ref
        db.trust("low", author="Walpurga Quist")
        db.trust("none", source={"heard from": "wally  q"})
        db.trust("fair", source={"heard from": "Ann"}, why="Wally Q says so")
        db.trust("full", author="quisten")

    def levels(self, db: Database | None = None, **moment: Any) -> list[str | None]:
        view = (db or self.db).view(**moment)
        worlds = [view.get(ref) for ref in (self.by_her, self.of_her, self.other)]
        return [world.trust for world in worlds if world is not None]


def erase_person(told: Told) -> None:
    """Erase her, with the texts by which she is named beside those of her own world."""
    told.db.erase([told.person, told.of_her], reason="request 7", everywhere=True)


def test_the_names_go_and_the_levels_stay(tmp_path: Path) -> None:
    told = Told(tmp_path / "store")
    with told.db as db:
        head, before = db.head().seq, told.levels()
        assert before == ["low", "none", "fair"]
        said = [entry for entry in db.log() if entry.event == "trusted"]
        assert {(entry.refs, entry.data["world"]) for entry in said} == {((), "")}, "a hash is no world's reference"
        plan = db.erasure_plan([told.person, told.of_her], everywhere=True)
        assert plan.trusts == ("Walpurga Quist", "heard from=wally  q", "heard from=Ann")
        receipt = db.erase([told.person, told.of_her], reason="request 7", everywhere=True)
        assert told.levels() == ["low", None, "fair"], "the source itself went with the note"
        assert [(said.of, said.field, said.name, said.level, said.why, said.erased) for said in db.view().trusts()] == [
            ("author", "", "", "low", "", True),
            ("source", "", "", "none", "", True),
            ("source", "", "", "fair", "", True),
            ("author", "", "quisten", "full", "", False),
        ]
        found = db.view().recall("the rent", min_trust="fair")
        assert told.by_her not in {hit.ref for hit in found} and told.other in {hit.ref for hit in found}
        again = db.create("Note", "", content="the rent is 901", source={"heard from": "wally  q"}).ref
        shown = db.view().get(again)
        assert shown is not None and shown.trust == "none", "who is heard again is known by the hash"
        db.erase(again, reason="request 8")
        written = db.erasure_receipt(receipt)
        assert db.check_erasure(written).ok and sum(len(each.texts) for each in written.worlds) == plan.texts
        assert db.verify(deep=True).findings == ()
        assert db.rebuild().root == db.view().hash()
        assert told.levels() == ["low", None, "fair"] and told.levels(seq=head)[0] == "low"
        assert db.verify(deep=True).findings == ()
        db.replay(tmp_path / "then", seq=head)
        db.backup(tmp_path / "backup")
        for folder in ("then", "backup"):
            with worlddb.open(tmp_path / folder) as copy:
                assert told.levels(copy)[0] == "low" and copy.verify(deep=True).findings == ()
                assert all(said.erased for said in copy.view().trusts()[:3])
    for folder in ("store", "then", "backup"):
        # The author of a commit stays, and nothing else that names her.
        assert find_traces(tmp_path / folder, ["wally  q", "Wally Q", "says so"]) == []


def test_no_hash_stays_from_which_the_name_could_be_guessed_without_the_secret(tmp_path: Path) -> None:
    told = Told(tmp_path / "store")
    with told.db as db:
        erase_person(told)
        guessed = [
            settings.legacy_trust_digest("", "Walpurga Quist"),
            settings.legacy_trust_digest("heard from", "wally  q"),
        ]
        stored = b"".join(file.read_bytes() for file in db.path.rglob("*") if file.is_file())
        assert not [digest for digest in guessed if digest in stored]


def test_another_erasure_leaves_them_and_the_plan_lists_them(tmp_path: Path) -> None:
    told = Told(tmp_path / "store")
    with told.db as db:
        assert db.erasure_plan(told.person).trusts == ("Walpurga Quist", "heard from=wally  q", "heard from=Ann")
        db.erase(told.person, reason="request 7")
        assert [said.name for said in db.view().trusts()] == ["Walpurga Quist", "wally  q", "Ann", "quisten"]


@pytest.mark.parametrize("forbid", [False, True])
def test_an_erased_name_gets_another_level_and_stays_away(tmp_path: Path, forbid: bool) -> None:
    told = Told(tmp_path / "store")
    with told.db as db:
        db.erase([told.person, told.of_her], reason="request 7", everywhere=True, forbid=forbid)
        assert db.trust("none", author="Walpurga Quist").events == 1
        assert told.levels()[0] == "none"
        with db.batch() as tx:
            tx.trust("fair", author="Walpurga Quist")
            tx.trust("low", author="Walpurga Quist")
        assert told.levels()[0] == "low"
        assert db.trust(None, author="Walpurga Quist").events == 1 and told.levels()[0] is None
        assert [said.name for said in db.view().trusts()] == ["", "", "quisten"]
        assert bool(db.trust("low", source={"of": "Walpurga Quist"})) is not forbid
        assert db.rebuild().root == db.view().hash() and db.verify(deep=True).findings == ()


def test_what_an_earlier_release_said_by_name_alone_holds_on_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as before:
        before.setattr(settings, "trust_digest", lambda secret, field, value: b"")
        told = Told(tmp_path / "store")
    with told.db as db:
        assert {entry.data["world"] for entry in db.log() if entry.event == "trusted"} == {""}
        assert told.levels() == ["low", "none", "fair"]
        db.rebuild()
        assert told.levels() == ["low", "none", "fair"]
        assert db.redecide().differing == ()
        assert db.trust("low", author="Walpurga Quist").events == 0, "the same again is no event"
        assert db.trust("low", source={"heard from": "Ann"}).events == 2 and told.levels()[2] == "low"
        assert db.trust(None, source={"heard from": "Ann"}).events == 1 and told.levels()[2] is None
        erase_person(told)
        assert told.levels()[0] == "low"
        assert [(said.name, said.level) for said in db.view().trusts()] == [
            ("quisten", "full"),
            ("", "low"),
            ("", "none"),
        ]
        assert db.trust(None, author="Walpurga Quist").events == 1 and told.levels()[0] is None
        assert db.rebuild().root == db.view().hash() and db.verify(deep=True).findings == ()
        assert find_traces(db.path, ["wally  q", "says so"]) == []
