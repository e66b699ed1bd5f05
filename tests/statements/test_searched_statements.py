"""What statements say is found by its words: confined, as of any moment, and erased with its world."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

import worlddb
from worlddb import Database, Literal, View
from worlddb.log.model import times
from worlddb.query.lanes import text_lane
from worlddb.query.recall import candidates
from worlddb.query.snapshot.valid_period import Choice, Period

XSD = "http://www.w3.org/2001/XMLSchema#"
TYPED = (("1987-05-17", "date"), ("4711", "integer"), ("CAFE", "hexBinary"))
ALWAYS = "2000-01-01"
WORDS = ("cosy", "room", "garden", "thé", "lamp")


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with worlddb.open(tmp_path / "store", create=True, embedder=None) as opened:
        yield opened


def names(view: View, text: str, **asked: object) -> list[str]:
    return [hit.name for hit in view.recall(text, lanes=("text",), **asked).hits]  # type: ignore[arg-type]


def test_a_world_is_found_by_its_statements(db: Database) -> None:
    luna = db.create("Place", "Luna", valid_from=ALWAYS).ref
    db.create("Place", "Pub", content="a noisy pub", valid_from=ALWAYS)
    db.state(luna, [("<urn:a>", "<urn:is>", Literal('une pièce "calme"', language="fr"))], valid_from=ALWAYS)
    db.state(luna, [("<urn:a>", "<urn:n>", '"calme42"^^<urn:type>'), ("<urn:calm43>", "<urn:is>", "<urn:x>")])
    (hit,) = db.view().recall("pièce calme", lanes=("text",)).hits
    assert (hit.name, hit.reason) == ("Luna", "text: piece, calme (in a statement)")
    assert hit.score > 0
    db.state(luna, [("<urn:a>", "<urn:on>", f'"{said}"^^<{XSD}{name}>') for said, name in TYPED])
    assert names(db.view(), "calme42") == names(db.view(), "1987") == names(db.view(), "4711") == ["Luna"]
    assert names(db.view(), "calm43") == names(db.view(), "CAFE") == []


def test_it_is_found_while_the_statement_holds(db: Database) -> None:
    luna = db.create("Place", "Luna", valid_from=ALWAYS).ref
    said = [("<urn:a>", "<urn:is>", '"cosy"')]
    before = db.head().seq
    db.state(luna, said, valid_from="2010-01-01", valid_to="2020-01-01")
    stated = db.head().seq
    db.unstate(luna, said, at="2015-01-01")
    for exact in (False, True):
        assert names(db.view(seq=before), "cosy", exact=exact) == []
        years = {year: names(db.view(valid=f"{year}-06-01"), "cosy", exact=exact) for year in (2009, 2012, 2016)}
        assert years == {2009: [], 2012: ["Luna"], 2016: []}
        assert names(db.view(seq=stated, valid="2016-06-01"), "cosy", exact=exact) == ["Luna"]
        during, after = (("2011-01-01", "2012-01-01"), ("2012-01-01", "2018-01-01"))
        assert names(db.view(), "cosy", exact=exact, during=during) == ["Luna"]
        assert names(db.view(), "cosy", exact=exact, during=after) == []
        assert names(db.view(), "cosy", exact=exact, overlaps=after) == ["Luna"]


def test_many_literals_of_one_world_leave_room_for_others(db: Database) -> None:
    loud = db.create("Place", "Loud").ref
    for name in ("One", "Two"):
        db.state(
            db.create("Place", name).ref, [("<urn:a>", "<urn:is>", '"a cosy room, and far more words than there"')]
        )
    db.state(loud, [("<urn:a>", "<urn:is>", f'"cosy {number}"') for number in range(400)])
    assert names(db.view(), "cosy room", k=3) == ["One", "Two", "Loud"]
    assert sorted(names(db.view(), "cosy", k=3)) == ["Loud", "One", "Two"]


def test_an_erasure_takes_what_was_searched(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", create=True, embedder=None) as db:
        town = db.create("Place", "Town").ref
        luna = db.create("Place", "Luna", world=town).ref
        db.state(luna, [("<urn:a>", "<urn:is>", '"zzyzx"')])
        stated = db.head().seq
        for view in (db.view(), db.view(world=town)):
            assert names(view, "zzyzx") == ["Luna"]
        db.erase(luna, reason="asked for")
        for view in (db.view(seq=stated), db.view(seq=stated, world=town)):
            assert names(view, "zzyzx") == []
        assert not [file for file in tmp_path.rglob("*") if file.is_file() and b"zzyzx" in file.read_bytes()]


def test_a_search_in_sparql_finds_it_too(db: Database) -> None:
    luna = db.create("Place", "Luna").ref
    db.state(luna, [("<urn:a>", "<urn:is>", '"cosy"')])
    query = "SELECT ?w FROM <https://worlddb.dev/ns#search?text=cosy> { ?w wdb:words ?n }"
    assert [row["w"].value for row in db.view().sparql(query)] == [f"urn:worlddb:world:{luna}"]


def test_a_confined_view_finds_what_lies_inside_alone(db: Database) -> None:
    town, other = (db.create("Place", name).ref for name in ("Town", "Other"))
    inside, outside = (db.create("Place", f"in {name}", world=name).ref for name in (town, other))
    for world in (inside, outside):
        db.state(world, [("<urn:a>", "<urn:is>", '"cosy"')])
    alone = db.view(world=town).recall("cosy", lanes=("text",)).hits
    assert [hit.ref for hit in alone] == [inside]
    db.state(outside, [("<urn:a>", "<urn:is>", f'"cosy {number}"') for number in range(9)])
    assert db.view(world=town).recall("cosy", lanes=("text",)).hits == alone


def _change(db: Database, rng: Random, worlds: list[str], clock: worlddb.ManualClock) -> None:
    clock.advance(rng.randrange(1, 10**12))
    world, year = rng.choice(worlds), f"{rng.randrange(2000, 2030)}-01-01"
    said = [
        (
            "<urn:a>",
            f"<urn:{rng.randrange(2)}>",
            Literal(" ".join(rng.choices(WORDS, k=rng.randrange(1, 4))), language=at),
        )
        for at in rng.choices([None, "en", "fr"], k=2)
    ]
    what = rng.randrange(9)
    if what < 4:
        until = rng.choice([None, "2031-01-01"])
        db.state(world, said, valid_from=year, valid_to=until)
    elif what < 6:
        db.unstate(world, predicate=f"<urn:{rng.randrange(2)}>", at=rng.choice([None, year]))
    elif what == 6:
        db.revise(world, content=" ".join(rng.choices(WORDS, k=3)), valid_from=year)
    elif what == 7:
        worlds.append(db.create("Place", rng.choice(WORDS), world=rng.choice(worlds), valid_from=year).ref)
    elif len(worlds) < 9:
        worlds.append(db.fork(world).ref or world)


CHOICES = (
    Choice(),
    Choice(include_superseded=True),
    Choice(earlier=True),
    Choice(include_superseded=True, earlier=True),
    Choice(
        period=Period(times.Interval(times.parse_time("2005-01-01"), times.parse_time("2015-01-01")), throughout=False)
    ),
    Choice(
        period=Period(times.Interval(times.parse_time("2012-01-01"), times.parse_time("2013-01-01")), throughout=True)
    ),
)


@pytest.mark.parametrize("histories", [3, pytest.param(300, marks=pytest.mark.soak)])
def test_what_is_kept_of_a_world_is_what_an_index_of_its_view_has(
    tmp_path: Path, root_seed: int, histories: int
) -> None:
    told = 0
    for number in range(5 * histories):
        if number >= histories and told > histories:
            break  # Hits are rare in some histories, and further ones are drawn until there were enough.
        rng, clock = Random(f"{root_seed} {number}"), worlddb.ManualClock(1_700_000_000_000_000)
        with worlddb.open(tmp_path / f"{number}", create=True, embedder=None, clock=clock) as db:
            town = db.create("Place", "Town", valid_from=ALWAYS).ref
            worlds = [town, db.create("Place", "Luna", world=town, valid_from=ALWAYS).ref]
            for _ in range(16):
                _change(db, rng, worlds, clock)
                valid = f"{rng.randrange(2000, 2032)}-01-01"
                window = db.view(seq=rng.randrange(3, db.head().seq + 1), valid=valid, world=town)._window
                choice, text = rng.choice(CHOICES), " ".join(rng.choices(WORDS, k=2))
                with window.snapshot() as snapshot:
                    through = snapshot.place.moment.seq
                    kept, anew = window.exact_lane(snapshot, choice), text_lane.ExactTextLane(snapshot, choice)
                    assert isinstance(kept, text_lane.WorldTextLane)
                    found = anew.search(text, limit=1_000, through=through)
                    assert sorted(kept.search(text, limit=1_000, through=through)) == sorted(found)
                    gate = candidates.Gate(snapshot, snapshot.place.top, choice)
                    assert all(gate._admitted_version(hit.node, hit.version) is not None for hit in found)
                    told += any(hit.version > 2**32 for hit in found)
            seq = rng.randrange(3, db.head().seq + 1)
            assert db.replay(tmp_path / f"copy{number}", seq=seq).matches_recorded
            with worlddb.open(tmp_path / f"copy{number}", embedder=None) as other:
                for valid in ("2006-01-01", "2020-01-01"):
                    here, there = (each.view(seq=seq, valid=valid) for each in (db, other))
                    asked = {"lanes": ("text",), "exact": True, "k": 50}
                    text = "cosy thé lamp"
                    one, two = (view.recall(text, **asked).hits for view in (here, there))  # type: ignore[arg-type]
                    assert [(hit.ref, hit.score) for hit in one] == [(hit.ref, hit.score) for hit in two]
            assert db.verify(deep=True).findings == ()
        for store in (f"{number}", f"copy{number}"):
            shutil.rmtree(tmp_path / store)
    assert told > histories
