"""What rests on something that holds no more is flagged, with what that is, why, and since when."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

import worlddb
from worlddb import Database, Receipt, Stale, parse_time
from worlddb.query.snapshot import provenance


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with worlddb.open(tmp_path / "store", author="keeper", embedder=None) as store:
        yield store


def fact(db: Database, text: str, *made_of: str, since: str = "2020-01-01", **given: Any) -> str:
    made = db.create("Fact", "", content=text, valid_from=since, resolve=False, **given).ref
    for base in made_of:
        db.link(made, "derived_from", base)
    return str(made)


def why(db: Database, ref: str, **view: Any) -> list[tuple[str, str, str]]:
    found = db.view(**view).get(ref)
    assert found is not None
    return [(each.ref, each.why, worlddb.format_time(each.since)[:10]) for each in found.stale]


def test_what_rests_on_what_ended_is_flagged_at_any_remove(db: Database) -> None:
    base = fact(db, "The rate is 2 %.")
    near = fact(db, "The budget fits.", base)
    far = fact(db, "We can hire.", near)
    assert why(db, near) == why(db, far) == [] and db.view().stale() == []
    receipt = db.retire(base, at="2024-06-01", why="rescinded")
    assert why(db, near) == why(db, far) == [(base, "ended", "2024-06-01")]
    found = db.view().get(far)
    assert found is not None and found.stale == (
        Stale(
            ref=base,
            version=db.view().history(base)[0].version,
            why="ended",
            since=parse_time("2024-06-01"),
            seq=receipt.seq,
            ingested_at=receipt.ingest_time,
            by="",
            path=(near, base),
        ),
    )
    assert [world.ref for world in db.view().stale()] == [near, far]
    assert db.view(valid="2024-05-31").stale() == [] == db.view(seq=receipt.seq - 1).stale()
    assert [version.stale for version in db.view().history(far)] == [found.stale]
    (hit,) = (hit for hit in db.view().recall("can we hire?") if hit.ref == far)
    assert hit.stale == found.stale and not found.closed


def test_what_rests_on_what_was_replaced_superseded_or_erased_is_flagged(db: Database) -> None:
    revised, superseded, erased, kept = (fact(db, text) for text in ("one", "two", "three", "four"))
    made = fact(db, "all of it", revised, superseded, erased, kept)
    db.revise(revised, content="one and a half", valid_from="2023-01-01")
    db.revise(kept, content="four", valid_from="2023-01-01")
    later = fact(db, "two and a half", since="2024-01-01")
    db.link(later, "supersedes", superseded)
    db.erase(erased, reason="REQ-1", derived=False)
    found = db.view().get(made)
    assert found is not None
    assert [(each.ref, each.why, each.by) for each in found.stale] == [
        (revised, "replaced", ""),
        (superseded, "superseded", later),
        (erased, "erased", ""),
    ]
    assert found.stale[0].version == db.view().get(revised).version  # type: ignore[union-attr]
    assert why(db, made, valid="2023-06-01")[:1] == [(revised, "replaced", "2023-01-01")]
    assert [each for each in why(db, made, valid="2022-06-01") if each[1] != "erased"] == []


def test_what_had_ended_when_it_was_written_is_no_reason(db: Database) -> None:
    base = fact(db, "She lives in Lisbon.")
    db.retire(base, at="2022-01-01")
    assert why(db, fact(db, "She used to live in Lisbon.", base, since="2023-01-01")) == []


def test_what_takes_the_place_of_what_it_was_derived_from_is_not_stale_for_that(db: Database) -> None:
    """A correction that said on what it rests was flagged by what it corrected, and so was all that rested on it."""
    first = fact(db, "The rate is 2 %.")
    second = fact(db, "The rate is 3 %.", first, since="2022-01-01")
    other = fact(db, "The budget fits.", first)
    far = fact(db, "We can hire.", second)
    db.link(second, "supersedes", first)
    assert (why(db, second), why(db, far)) == ([], [])
    assert why(db, other) == [(first, "superseded", "2022-01-01")]
    db.retire(second, at="2023-01-01")
    assert why(db, far) == [(second, "ended", "2023-01-01")]


def test_the_receipt_names_what_a_correction_makes_stale_and_what_goes_on_inside(db: Database) -> None:
    """Only a retirement named them, and a revision makes stale, too."""
    base, inside = fact(db, "The rate is 2 %."), fact(db, "Said by the bank.")
    db.move(inside, base)
    made = fact(db, "The budget fits.", base)

    def told(receipt: Receipt) -> dict[str, tuple[str, ...]]:
        return {note.code: note.refs for note in receipt.notes}

    assert told(db.revise(base, content="The rate is 2 %.", valid_from="2021-01-01")) == {}, "it says the same"
    changed = db.revise(base, content="The rate is 3 %.", valid_from="2022-01-01", valid_to="2022-02-01")
    assert told(changed) == {"now_stale": (base, made)}
    # Where it is said again over others that say something else, these lose what was made of them.
    assert told(db.revise(base, valid_from="2021-06-01", replace_later=True))["now_stale"] == (base, made)
    newer = fact(db, "The rate is 4 %.", base, since="2024-01-01")
    both = {"members_remain": (base, inside), "now_stale": (base, made)}
    assert told(db.link(newer, "supersedes", base, valid_to="2024-06-01")) == both
    assert told(db.link(newer, "supersedes", base)) == both
    # Who loses times to another that takes the same place is named as well.
    late = fact(db, "The rate is 5 %.", since="2023-01-01")
    loses = told(db.link(late, "supersedes", newer))
    assert loses["now_stale"] == (base, made, newer) or loses["ends_earlier"] == (base,)
    assert db.redecide().differing == ()


def test_what_is_said_of_a_time_before_its_base_begins_is_stale_once_that_ends(db: Database) -> None:
    """What had not begun where the derived world does was taken for what had ended, and was no reason ever."""
    base = fact(db, "The rate is 3 %.", since="2022-01-01")
    made = fact(db, "The budget fits.", base, since="2020-01-01")
    db.revise(base, content="The rate is 4 %.", valid_from="2023-01-01")
    assert [why(db, made, valid=at) for at in ("2021-01-01", "2022-06-01")] == [[], []]
    assert why(db, made) == [(base, "replaced", "2023-01-01")]
    db.retire(base, at="2024-01-01")
    assert why(db, made) == [(base, "ended", "2024-01-01")]


def test_a_world_that_was_written_anew_since_is_stale_no_more(db: Database) -> None:
    base = fact(db, "The rate is 2 %.")
    made = fact(db, "The budget fits.", base)
    db.revise(base, content="The rate is 3 %.", valid_from="2023-01-01")
    assert why(db, made) == [(base, "replaced", "2023-01-01")]
    db.revise(made, content="The budget is tight.", valid_from="2023-02-01")
    assert why(db, made) == []
    assert why(db, made, valid="2023-01-15") == [(base, "replaced", "2023-01-01")]


def test_a_hole_makes_stale_as_long_as_it_lasts(db: Database) -> None:
    base = fact(db, "The gate is open.")
    made = fact(db, "We can walk.", base)
    db.retire(base, valid_from="2022-01-01", valid_to="2023-01-01")
    assert [why(db, made, valid=at) for at in ("2021-06-01", "2022-06-01", "2023-06-01")] == [
        [],
        [(base, "ended", "2022-01-01")],
        [],
    ]
    db.retire(base, at="2024-01-01")
    db.reassert(base, valid_from="2025-01-01")
    assert why(db, made, valid="2024-06-01") and why(db, made, valid="2025-06-01") == []


def test_a_summary_is_stale_by_its_members(db: Database) -> None:
    summary = db.create("Summary", "in short", content="all is well", valid_from="2020-01-01").ref
    inside = fact(db, "the roof is new", world=summary)
    assert why(db, summary) == []
    db.retire(inside, at="2023-01-01")
    assert why(db, summary) == [(inside, "ended", "2023-01-01")]


def test_a_confined_view_tells_nothing_of_others(db: Database) -> None:
    mine = db.create("Topic", "mine", valid_from="2020-01-01").ref
    outside = fact(db, "theirs")
    base = fact(db, "ours", world=mine)
    made = fact(db, "made of both", world=mine)
    for other in (outside, base):
        db.link(made, "derived_from", other)
    db.link(outside, "derived_from", base)
    before = db.view(world=mine).get(made)
    db.retire(outside, at="2023-01-01")
    view = db.view(world=mine)
    assert before is not None and view.get(made) == before and view.stale() == []
    newer = fact(db, "theirs, later", since="2024-01-01")
    db.link(newer, "supersedes", base)
    (found,) = db.view(world=mine).stale()
    assert [(each.ref, each.why, each.by) for each in found.stale] == [(base, "ended", "")]
    assert newer not in msgspec.json.encode(found).decode()
    assert [world.ref for world in db.view().stale(mine)] == [made]


def test_a_world_that_rests_on_very_many_tells_the_first(db: Database) -> None:
    bases = [fact(db, f"base {number}") for number in range(70)]
    made = fact(db, "all", *bases)
    with db.batch() as tx:
        for base in bases:
            tx.retire(base, at="2023-01-01")
    found = db.view().get(made)
    assert found is not None and [each.ref for each in found.stale] == bases[:64]


def test_a_chain_of_worlds_is_looked_through_once_for_a_read(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them was looked through anew down to the first: 3,000 in a row took minutes to find."""
    asked = 0
    look = provenance._find_stale_reason

    def counted(*about: Any) -> Stale | None:
        nonlocal asked
        asked += 1
        return look(*about)

    monkeypatch.setattr(provenance, "_find_stale_reason", counted)
    chain: list[str] = []
    for n in range(30):
        chain.append(fact(db, f"Day {n}.", *chain[-1:]))
    assert len(db.view().find()) == 30 and asked == 29
    assert {world.stale for world in db.view().find()} == {()}
    db.retire(chain[0], at="2024-06-01")
    asked = 0
    told = {world.ref: [each.path for each in world.stale] for world in db.view().find()}
    assert asked == 29 and told == {ref: [tuple(chain[n - 1 :: -1])] for n, ref in enumerate(chain) if n}
    # What lies further down than is looked at is told of no world, whichever was looked at before.
    monkeypatch.setattr(provenance, "MAX_WEIGHED", 10)
    db.retire(chain[29], at="2024-06-01")
    assert [world.ref for world in db.view().find() if world.stale] == chain[1:11]
    assert [bool(why(db, ref)) for ref in (chain[10], chain[11])] == [True, False]


def test_a_hit_or_a_world_inside_what_has_ended_says_so(db: Database) -> None:
    project = db.create("Topic", "the roof", valid_from="2020-01-01").ref
    week = db.create("Topic", "week", world=project, valid_from="2020-01-01").ref
    inside = fact(db, "The tiles are red.", world=week)
    both = fact(db, "The gutter is green.", world=week)
    other = db.create("Topic", "the yard", valid_from="2020-01-01").ref
    db.link(other, "contains", both, valid_from="2020-01-01")

    def told(**view: Any) -> dict[str, str]:
        seen = db.view(**view)
        hits = seen.recall("what colour are the tiles and the gutter?")
        found = {hit.ref: hit.in_ended for hit in hits if hit.ref in (inside, both)}
        assert found == {ref: seen.in_ended(ref) for ref in (inside, both)}
        listed = [*seen.children(week), *seen.find(type="Fact"), *(seen.get(ref) for ref in found)]
        assert {world.ref: world.in_ended for world in listed if world is not None} == found
        return found

    assert told() == {inside: "", both: ""}
    db.retire(project, at="2023-01-01")
    assert told() == {inside: project, both: ""}
    assert told(valid="2022-01-01") == {inside: "", both: ""}
    assert told(world=week) == {inside: "", both: ""}, "what lies around the world is not told"
    db.reassert(project, valid_from="2024-01-01")
    assert told() == {inside: "", both: ""}


def test_what_was_found_around_hits_holds_for_no_other_time(db: Database) -> None:
    project = db.create("Topic", "the roof", valid_from="2020-01-01", valid_to="2023-01-01").ref
    week = db.create("Topic", "week", world=project, valid_from="2020-01-01").ref
    inside = fact(db, "The tiles are red.", world=week)
    other = db.create("Topic", "the yard", valid_from="2020-01-01").ref
    (placed,) = db.view().edges(week, type="contains", direction="in")
    db.retire(placed.ref, valid_from="2024-01-01", valid_to="2025-01-01")
    db.link(other, "contains", week, valid_from="2024-01-01", valid_to="2025-01-01")

    def told(at: str) -> str:
        (hit,) = db.view(valid=at).recall("what colour are the tiles?")
        assert hit.ref == inside
        return str(hit.in_ended)

    expected = {"2022-06-01": "", "2023-06-01": project, "2024-06-01": "", "2025-06-01": project}
    for order in (list(expected), list(reversed(expected)), ["2024-06-01", "2023-06-01", "2022-06-01", "2025-06-01"]):
        assert {at: told(at) for at in order} == expected
    db.retire(other, at="2024-03-01")
    assert told("2024-06-01") == other and told("2024-02-01") == ""


def test_a_replay_to_before_the_erasure_of_a_base_can_be_read(db: Database, tmp_path: Path) -> None:
    """The erasing commit is of the other history; its header was looked for in this one."""
    base = fact(db, "The rate is 2 %.")
    made = fact(db, "The budget fits.", base)
    seq = db.head().seq
    for number in range(5):
        fact(db, f"noise {number}")
    erased = db.erase(base, reason="REQ-1", derived=False)
    db.replay(tmp_path / "then", seq=seq)
    with worlddb.open(tmp_path / "then", embedder=None) as then:
        found = then.view().get(made)
        assert found is not None
        (reason,) = found.stale
        assert (reason.ref, reason.why, reason.seq, reason.ingested_at) == (
            base,
            "erased",
            erased.seq,
            erased.ingest_time,
        )
