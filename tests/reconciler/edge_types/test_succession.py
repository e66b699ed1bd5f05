"""Of corrections in any order, dated back or ahead, exactly one holds at any time."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.model.stores import day, new_store
from worlddb import FOREVER, Database, Note, Valid, View
from worlddb.log.model.bundle import lineage_history
from worlddb.log.model.times import Interval
from worlddb.log.store.log import LmdbLog
from worlddb.projections.tables.apply.deferred_rows import DeferredRows
from worlddb.projections.tables.storage import transaction
from worlddb.reconciler.edge_types import supersession
from worlddb.reconciler.transaction.context import Context

DAYS = range(12)
corrections = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, DAYS[-1] - 1), st.sampled_from(["supersedes", "revise"])), max_size=8
)


def fact(db: Database, name: str, begins: int) -> str:
    return str(db.create("Fact", name, valid_from=day(begins), resolve=False).ref)


def validity_of(db: Database, ref: str) -> Valid:
    return db.view().history(ref)[-1].valid


def facts_by_day(db: Database, seq: int) -> dict[int, list[str]]:
    """What holds on each day, as a commit knew it."""
    return {number: [world.ref for world in db.view(seq=seq, valid=day(number)).find(type="Fact")] for number in DAYS}


def is_left_out(target: str, begins: int, began: dict[str, int], replaced: dict[str, str]) -> bool:
    """True if what is corrected, or what that corrects, replaced the same as another did, and began later."""
    while target in replaced:
        if begins < began[target] and [*replaced.values()].count(replaced[target]) > 1:
            return True
        target = replaced[target]
    return False


@examples(20)
@given(first=st.integers(0, 8), given=corrections)
def test_of_statements_that_correct_one_another_exactly_one_holds_at_any_time(
    first: int, given: list[tuple[int, int, str]]
) -> None:
    """A correction has the place of what it corrects, from its own beginning until another one takes that place.

    Left out is what docs/limits.md says of two that replace one: that one of them is corrected from before it began.
    """
    with new_store() as db:
        refs = [fact(db, "first", first)]
        began, replaced = {refs[0]: first}, dict[str, str]()
        expected = {number: [refs[0]] if number >= first else [] for number in DAYS}
        known = {db.head().seq: expected}
        for pick, begins, how in given:
            standing = [ref for ref in refs if [ref] in expected.values()]
            target = standing[pick % len(standing)]
            ends = max(number for number in DAYS if expected[number] == [target]) + 1
            if begins >= ends or is_left_out(target, begins, began, replaced):
                continue
            last = ends == len(DAYS)
            newer = target
            if how == "revise" and last:
                assert db.revise(target, content=f"from {begins}", valid_from=day(begins))
            else:
                newer = fact(db, "correction", begins)
                refs.append(newer)
                assert db.link(newer, "supersedes", target)
                replaced[newer] = target
            began[newer] = min(begins, began.get(newer, begins))
            expected = expected | {number: [newer] for number in range(begins, ends)}
            known[db.head().seq] = expected
        for seq, then in known.items():
            assert facts_by_day(db, seq) == then, "as of every commit, also of those that were corrected since"


def test_what_the_corrected_statement_had_replaced_ends_where_the_correction_begins() -> None:
    with new_store() as db:
        berlin, porto, lisbon = fact(db, "Berlin", 1), fact(db, "Porto", 6), fact(db, "Lisbon", 3)
        assert db.link(porto, "supersedes", berlin)
        receipt = db.link(lisbon, "supersedes", porto)
        assert [(note.code, note.refs) for note in receipt.notes] == [
            ("never_valid", (porto,)),
            ("ends_earlier", (berlin,)),
        ]
        assert validity_of(db, berlin) == Valid(day(1), day(3))
        assert validity_of(db, lisbon) == Valid(day(3), FOREVER)
        before = db.view(seq=receipt.seq - 1)
        assert before.history(berlin)[0].valid == Valid(day(1), day(6)), "what was known then stays known so"
        assert [entry.event for entry in db.log(receipt.seq)] == ["closed", "ended", "closed", "linked"]


def test_a_revision_that_begins_before_its_world_did_ends_what_that_had_replaced_there() -> None:
    with new_store() as db:
        old, new = fact(db, "old", 1), fact(db, "new", 6)
        assert db.link(new, "supersedes", old)
        receipt = db.revise(new, content="since earlier", valid_from=day(3))
        assert [(note.code, note.refs) for note in receipt.notes] == [("ends_earlier", (old,))]
        assert validity_of(db, old) == Valid(day(1), day(3))
        assert [version.valid for version in db.view().history(new)] == [
            Valid(day(6), FOREVER),
            Valid(day(3), day(6)),
        ]


def test_a_revision_that_holds_at_no_time_ends_nothing_else() -> None:
    with new_store() as db:
        old, new = fact(db, "old", 1), fact(db, "new", 6)
        assert db.link(new, "supersedes", old)
        assert db.revise(new, content="never", valid_from=day(3), valid_to=day(3))
        assert validity_of(db, old) == Valid(day(1), day(6))


@pytest.mark.parametrize("how", ["unlinked", "closed before it held"])
def test_what_a_statement_is_no_longer_said_to_have_replaced_keeps_its_end(how: str) -> None:
    with new_store() as db:
        old, wrong, right = fact(db, "old", 1), fact(db, "wrong", 6), fact(db, "right", 3)
        edge = db.link(wrong, "supersedes", old).ref
        assert db.unlink(edge) if how == "unlinked" else db.retire(edge, at=day(6))
        assert db.link(right, "supersedes", wrong)
        assert validity_of(db, old) == Valid(day(1), day(6))


def test_only_the_two_that_were_said_to_hold_beside_each_other_do() -> None:
    """What replaces one of them later was not said to hold beside the other."""
    with new_store() as db:
        old, new, newer = fact(db, "old", 1), fact(db, "new", 4), fact(db, "newer", 5)
        assert db.link(new, "supersedes", old, valid_from=day(8))
        assert validity_of(db, old) == Valid(day(1), day(8))
        receipt = db.link(newer, "supersedes", new)
        assert [(note.code, note.refs) for note in receipt.notes] == [("until_successor", (old, newer))]
        assert (validity_of(db, old), validity_of(db, new)) == (Valid(day(1), day(5)), Valid(day(4), day(5)))


@pytest.mark.parametrize("revised_first", [True, False])
def test_what_is_said_to_replace_from_where_a_version_begins_holds_alone_in_either_order(revised_first: bool) -> None:
    """The one whose version begins where the edge does was said to replace from its own beginning, not later."""
    with new_store() as db:
        old, new = fact(db, "old", 1), fact(db, "new", 4)
        steps = [
            lambda: db.link(new, "supersedes", old, valid_from=day(6)),
            lambda: db.revise(new, content="again", valid_from=day(6)),
        ]
        receipts = [step() for step in (steps[::-1] if revised_first else steps)]
        assert ("until_successor", (old, new)) in [(note.code, note.refs) for note in receipts[1].notes]
        assert (validity_of(db, old), validity_of(db, new)) == (Valid(day(1), day(4)), Valid(day(6), FOREVER))


def test_of_two_beside_one_that_replaces_both_later_only_one_holds() -> None:
    with new_store() as db:
        one, other, newer = fact(db, "one", 1), fact(db, "other", 2), fact(db, "newer", 4)
        assert db.link(newer, "supersedes", one, valid_from=day(8))
        receipt = db.link(newer, "supersedes", other, valid_from=day(8))
        assert [(note.code, note.refs) for note in receipt.notes] == [("until_successor", (one, other))]
        assert [validity_of(db, ref) for ref in (one, other)] == [Valid(day(1), day(2)), Valid(day(2), day(8))]


def test_what_begins_within_the_time_that_others_share_ends_where_one_begins_that_it_is_joined_with() -> None:
    """What the target says alone from the edge on had hidden what the source says before."""
    with new_store() as db:
        old, aside, apart = fact(db, "old", 1), fact(db, "aside", 3), fact(db, "apart", 2)
        assert db.link(old, "supersedes", aside, valid_from=day(7))
        receipt = db.link(apart, "supersedes", old, valid_from=day(9))
        assert [(note.code, note.refs) for note in receipt.notes] == [("until_successor", (apart, aside))]
        assert [span.start for span in db.view().history(apart)[0].spans] == [day(2), day(7)]


def test_two_that_held_beside_each_other_and_are_still_joined_by_others_no_longer_do_once_that_is_retracted() -> None:
    with new_store() as db:
        one, other, both = fact(db, "one", 1), fact(db, "other", 4), fact(db, "both", 0)
        beside = db.link(other, "supersedes", one, valid_from=day(8)).ref
        assert db.link(one, "supersedes", both) and db.link(other, "supersedes", both)
        assert validity_of(db, one) == Valid(day(1), day(8))
        assert [note.code for note in db.unlink(beside).notes] == ["nothing_reopened", "until_successor"]
        assert validity_of(db, one) == Valid(day(1), day(4))


def test_a_retirement_before_a_hole_or_an_end_lies_in_what_is_open_from_then_on() -> None:
    """It was noted as closed already, and a later statement took the time that it had ended."""
    with new_store() as db:
        ref = db.create("Fact", "fact", valid_from=day(1), valid_to=day(4)).ref
        assert db.retire(ref, at=day(9)).notes == ()
        assert db.retire(ref, at=day(6)).notes == ()
        assert [note.code for note in db.retire(ref, at=day(7)).notes] == ["already_closed"]
        assert db.revise(ref, content="later", valid_from=day(5))
        assert db.view().history(ref)[-1].valid == Valid(day(5), day(6))


def test_the_order_in_which_a_backdated_chain_is_told_does_not_matter() -> None:
    with new_store() as db:
        old, wrong, right = fact(db, "old", 1), fact(db, "wrong", 6), fact(db, "right", 3)
        assert db.link(right, "supersedes", wrong)
        assert db.link(wrong, "supersedes", old)
        assert validity_of(db, old) == Valid(day(1), day(3))
        closed = next(entry for entry in db.log(db.head().seq) if entry.event == "closed")
        assert closed.data["by"] == right


def test_a_correction_of_what_is_to_be_replaced_holds_until_then_and_so_do_those_of_it() -> None:
    with new_store() as db:
        engineer, chief = fact(db, "engineer", 1), fact(db, "chief", 9)
        assert db.link(chief, "supersedes", engineer, why="announced")
        manager = fact(db, "manager", 4)
        receipt = db.link(manager, "supersedes", engineer)
        assert [(note.code, note.refs) for note in receipt.notes] == [("until_successor", (manager, chief))]
        assert validity_of(db, manager) == Valid(day(4), day(9))
        assert chief[:12] in str(receipt.notes[0])
        assert [(loss.ref, loss.valid_from) for loss in receipt.lost] == [(engineer, day(4)), (manager, day(9))]
        director = fact(db, "director", 6)
        assert db.link(director, "supersedes", manager)
        assert validity_of(db, director) == Valid(day(6), day(9))
        assert validity_of(db, chief) == Valid(day(9), FOREVER)


@pytest.mark.parametrize("told", [((1, 0), (3, 2), (2, 0)), ((3, 2), (1, 0), (2, 0))])
def test_what_took_the_place_of_a_correction_before_that_began_holds_until_the_next_one_too(
    told: tuple[tuple[int, int], ...],
) -> None:
    """Two held from the next one's beginning on, and nobody was told: what follows was looked for after the beginning
    of the correction, which was held at no time any more."""
    with new_store() as db:
        refs = old, follows, wrong, right = [fact(db, "fact", begins) for begins in (0, 5, 7, 4)]
        notes = [note.code for newer, older in told for note in db.link(refs[newer], "supersedes", refs[older]).notes]
        assert [validity_of(db, ref) for ref in (old, right)] == [Valid(day(0), day(4)), Valid(day(4), day(5))]
        assert validity_of(db, follows) == Valid(day(5), FOREVER)
        assert validity_of(db, wrong) == Valid(day(7), day(7))
        assert "until_successor" in notes


@examples(10)
@given(data=st.data())
def test_of_statements_that_are_joined_in_any_order_one_holds_at_any_time_or_a_note_says_which_had_ended(
    data: st.DataObject,
) -> None:
    begins = data.draw(st.lists(st.integers(0, DAYS[-1] - 1), min_size=2, max_size=6))
    corrected = [(newer, data.draw(st.integers(0, newer - 1))) for newer in range(1, len(begins))]
    with new_store() as db:
        refs = [fact(db, "fact", each) for each in begins]
        told = set[str]()
        for newer, older in data.draw(st.permutations(corrected)):
            told |= {note.code for note in db.link(refs[newer], "supersedes", refs[older]).notes}
        for number, held in facts_by_day(db, db.head().seq).items():
            assert bool(held) == (number >= min(begins))
            assert len(held) <= 1


def test_a_successor_that_holds_at_no_time_bounds_nothing_and_leaves_it_to_its_own() -> None:
    with new_store() as db:
        old, planned, newer = fact(db, "old", 1), fact(db, "planned", 9), fact(db, "newer", 4)
        assert db.link(planned, "supersedes", old)
        assert db.retire(planned, at=day(2))
        assert db.link(newer, "supersedes", old)
        assert validity_of(db, newer) == Valid(day(4), FOREVER)
    with new_store() as db:
        old, planned, instead, newer = (fact(db, "fact", begins) for begins in (1, 9, 7, 4))
        assert db.link(planned, "supersedes", old) and db.link(instead, "supersedes", planned)
        assert db.link(newer, "supersedes", old)
        assert validity_of(db, newer) == Valid(day(4), day(7))


def test_a_statement_that_held_before_in_its_own_right_ends_where_one_begins_that_it_is_joined_with() -> None:
    with new_store() as db:
        old, planned, apart = fact(db, "old", 1), fact(db, "planned", 9), fact(db, "apart", 2)
        assert db.link(planned, "supersedes", old)
        receipt = db.link(apart, "supersedes", old, valid_from=day(4))
        assert [note.code for note in receipt.notes] == ["until_successor"]
        assert validity_of(db, old) == Valid(day(1), day(4)), "they were said to hold beside each other until then"
        assert validity_of(db, apart) == Valid(day(2), day(9))


def test_of_two_that_replace_one_at_the_same_time_the_one_that_was_written_later_holds() -> None:
    with new_store() as db:
        both, one, other = fact(db, "both", 1), fact(db, "one", 5), fact(db, "other", 5)
        assert db.link(one, "supersedes", both) and db.link(other, "supersedes", both)
        assert validity_of(db, one) == Valid(day(5), day(5))
        assert validity_of(db, other) == Valid(day(5), FOREVER)


def test_a_plan_that_is_given_up_leaves_the_end_of_what_it_was_to_replace_and_says_so() -> None:
    """Validity never opens again, so nothing would hold from then on, and nobody was told."""
    with new_store() as db:
        now, plan = fact(db, "now", 1), fact(db, "plan", 9)
        assert db.link(plan, "supersedes", now)
        receipt = db.retire(plan, at=day(2))
        told = [(note.code, note.refs) for note in receipt.notes]
        assert told == [("never_valid", (plan,)), ("ends_unreplaced", (now, plan))]
        assert db.retire(plan, at=day(2)).notes[0].code == "already_closed"
    with new_store() as db:
        now, plan = fact(db, "now", 1), fact(db, "plan", 9)
        assert db.link(plan, "supersedes", now)
        assert db.retire(plan, at=day(10)).notes == (), "it had its time"


def test_a_revision_that_is_called_off_leaves_the_end_of_the_text_before_it_and_says_so() -> None:
    """Only the library's ``forget`` said so; the command line, the server and the MCP tools said nothing."""
    with new_store() as db:
        ref = fact(db, "Rome", 1)
        assert db.revise(ref, content="Oslo", valid_from=day(9))
        assert [note.code for note in db.retire(ref, at=day(9)).notes] == ["revision_called_off"]
        assert db.retire(ref, at=day(9)).notes[0].code == "already_closed"
    with new_store() as db:
        ref = fact(db, "Rome", 1)
        assert db.revise(ref, valid_from=day(9), properties={"floor": 2})
        assert db.retire(ref, at=day(9)).notes == (), "the text is the same"


def conflicts_left(notes: tuple[Note, ...]) -> list[tuple[str, ...]]:
    return [note.refs for note in notes if note.code == "conflict_left"]


def conflicts(view: View, ref: str) -> tuple[str, ...]:
    found = view.get(ref)
    return () if found is None else found.conflicts


@pytest.mark.parametrize("turned", [False, True])
def test_a_contradiction_that_ends_with_one_side_is_told_with_the_other_side(turned: bool) -> None:
    with new_store() as db:
        one, other, newer = fact(db, "one", 1), fact(db, "other", 1), fact(db, "newer", 5)
        assert db.link(*((other, "contradicts", one) if turned else (one, "contradicts", other)))
        receipt = db.link(newer, "supersedes", one)
        assert conflicts_left(receipt.notes) == [(one, other)]
        assert conflicts(db.view(valid=day(4)), other) == (one,)
        assert conflicts(db.view(valid=day(6)), other) == conflicts(db.view(valid=day(6)), newer) == ()


def test_who_decides_a_contradiction_for_one_side_is_not_told_that_it_ended() -> None:
    with new_store() as db:
        one, other = fact(db, "one", 1), fact(db, "other", 1)
        assert db.link(one, "contradicts", other)
        assert conflicts_left(db.link(other, "supersedes", one, valid_from=day(5)).notes) == []


def test_retiring_one_side_is_told_too_and_what_was_over_before_is_not() -> None:
    with new_store() as db:
        one, other, third = fact(db, "one", 1), fact(db, "other", 1), fact(db, "third", 1)
        assert db.link(one, "contradicts", other)
        assert db.link(one, "contradicts", third, valid_to=day(4))
        assert conflicts_left(db.retire(one, at=day(5)).notes) == [(one, other)]
        assert conflicts_left(db.retire(one, at=day(4)).notes) == [(one, other)]
        assert conflicts_left(db.retire(one, at=day(3)).notes) == [(one, other), (one, third)]
        assert conflicts_left(db.retire(one, at=day(3)).notes) == []


def test_a_contradiction_is_recorded_again_in_the_hole_of_an_earlier_one_and_told_for_its_own_times_only() -> None:
    with new_store() as db:
        one, other = fact(db, "one", 1), fact(db, "other", 1)
        first = db.link(one, "contradicts", other).ref
        assert db.retire(first, at=day(4), valid_to=day(6))
        assert conflicts_left(db.retire(one, at=day(4), valid_to=day(6)).notes) == []
        assert not db.link(one, "contradicts", other, valid_from=day(5), valid_to=day(7))
        assert db.link(one, "contradicts", other, valid_from=day(4), valid_to=day(6))


def test_an_edge_that_moves_along_keeps_its_holes() -> None:
    with new_store() as db:
        old, new = fact(db, "old", 1), fact(db, "new", 1)
        one, other = (db.create("Fact", name, world=old, valid_from=day(1)).ref for name in ("one", "other"))
        edge = db.link(one, "implies", other, home=old).ref
        assert db.retire(edge, at=day(3), valid_to=day(5))
        moved = db.move([one, other], new)
        assert [note.code for note in moved.notes] == ["edges_carried"]
        (carried,) = db.view().edges(one, type="implies", include_superseded=True)
        assert carried.ref != edge and carried.spans == (Valid(day(1), day(3)), Valid(day(5), FOREVER))


def test_what_never_held_is_revised_to_replace_all_that_follows() -> None:
    """Nothing followed, and the store was said to be damaged."""
    with new_store() as db:
        ref = db.create("Fact", "fact", valid_from=day(1), valid_to=day(1)).ref
        assert db.revise(ref, content="now", valid_from=day(2), replace_later=True)
        assert validity_of(db, ref) == Valid(day(2), FOREVER)


def test_replacing_worlds_of_earlier_commits_leaves_the_rows_of_a_batch_to_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each looked for edges that nobody had, and so had the rows of worlds before it made, a few at a time."""
    flushed: list[int] = []
    flush = DeferredRows.flush

    def counted(self: DeferredRows) -> None:
        flushed.append(self.next_node)
        flush(self)

    monkeypatch.setattr(DeferredRows, "flush", counted)
    with new_store() as db:
        pairs = [(fact(db, f"old {number}", 1), fact(db, f"new {number}", 3)) for number in range(10)]
        flushed.clear()
        with db.batch() as tx:
            for old, new in pairs:
                tx.create("Fact", "beside", resolve=False)
                tx.link(new, "supersedes", old)
        assert len(flushed) == 1
        assert {validity_of(db, old) for old, _ in pairs} == {Valid(day(1), day(3))}


def write_random_statements(db: Database, draw: random.Random) -> tuple[str, bytes]:
    """Say things at random of worlds that replace one another; the store's hash and the log's."""
    with db.batch() as tx:
        made = [tx.create("Fact", f"fact {number}", valid_from=day(number % 9), resolve=False) for number in range(12)]
        for _ in range(6):
            newer, older = sorted(draw.sample(range(12), 2), reverse=True)
            tx.link(made[newer], "supersedes", made[older])
    refs, said = [str(ref) for ref in tx.receipt.refs[:12]], list[str]()
    for number in range(18):
        one, other, begins = *draw.sample(refs, 2), day(draw.randrange(10))
        ends = begins + day(1) - day(0) if draw.random() < 0.2 else None
        how = draw.choices(["link", "revise", "retire", "unlink", "reassert"], [12, 3, 1, 1, 1])[0]
        if how == "link":
            made_edge = db.link(one, "supersedes", other, valid_from=begins, valid_to=ends)
            said += [made_edge.ref] if made_edge else []
        elif how == "revise":
            db.revise(one, content=f"{number}", valid_from=begins, valid_to=ends)
        elif how == "retire":
            db.retire(one, at=begins)
        elif how == "reassert":
            db.reassert(one)
        elif said:
            db.unlink(said.pop(draw.randrange(len(said))))
    return db.head().root, db._reader.chain_at(db.head().seq) or b""


@examples(5, deadline=None)
@given(seed=st.integers(0, 10**6), most=st.sampled_from([3, 8, 1_000]))
def test_what_a_writer_remembers_of_joined_worlds_changes_nothing(seed: int, most: int) -> None:
    """The same events, byte for byte, whether they are all looked for at each correction, or kept and compared anew."""
    settle = supersession.settle

    def settle_anew(ctx: Context, *given: Any) -> None:
        ctx.known_worlds.forget_joined()
        settle(ctx, *given)

    with mock.patch.object(supersession, "settle", settle_anew), new_store() as db:
        expected = write_random_statements(db, random.Random(seed))
    with (
        mock.patch.object(supersession, "MAX_BLOCK_STATEMENTS", 2),
        mock.patch.object(transaction, "MAX_KNOWN", most),
        new_store() as db,
    ):
        assert write_random_statements(db, random.Random(seed)) == expected


def test_a_correction_among_many_reads_few_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    with new_store() as db:
        with db.batch() as tx:
            made = [tx.create("Fact", f"fact {number}", valid_from=day(number), resolve=False) for number in range(200)]
            for number in range(1, 200):
                tx.link(made[number], "supersedes", made[number - 1])
        refs, looks = [str(ref) for ref in tx.receipt.refs[:200]], list[int]()
        held = Context.statements_of

        def counted(ctx: Context, node: int) -> list[supersession.Statement]:
            looks.append(node)
            return held(ctx, node)

        monkeypatch.setattr(Context, "statements_of", counted)
        for name in ("late", "later"):
            looks.clear()
            assert db.link(fact(db, name, 100), "supersedes", refs[20])
        assert len(looks) < 20, "the first time all of them are looked at"


TAKE = supersession._take_windows


def lose_each_window(ctx: supersession.Succession, loser: int, taken: list[tuple[int, bytes, list[Interval]]]) -> None:
    """What a world loses, as earlier releases recorded it: to each of the others a loss of its own."""
    for _, by, windows in taken:
        for window in windows:
            supersession.note_conflicts_left(ctx, loser, window, by)
            ctx.lose(loser, window, by=by)
        ctx.note("until_successor", ctx.lineage(loser), by)


def timeline_answers(db: Database, refs: list[str]) -> list[object]:
    """All that is read of some worlds and says when they hold, what took their time, and when that was learned."""
    view = db.view()
    found: list[object] = [db.head().root, facts_by_day(db, db.head().seq)]
    for ref in refs:
        found += [view.history(ref), view.coalesced(ref), view.blame(ref)]
        # Where what holds at no time any more is shown to begin depended on the order of its losses.
        found += [step for step in view.timeline(ref) if step.valid.start < step.valid.end]
        found += [view.changes(ref, between=(day(0), day(20))), view.provenance(ref), view.conflicts(ref)]
    with db._env.read() as txn:
        log = LmdbLog(txn)
        logged = [(seq, event) for seq in range(1, db.head().seq + 1) for event in log.events(seq).events]
    for ref in refs:
        own = [(seq, event) for seq, event in logged if getattr(event, "lineage", b"").hex() == ref]
        found.append(lineage_history(own).by)
    return found


@examples(2)
@given(seed=st.integers(0, 10**6))
def test_a_loss_for_each_stretch_says_what_one_for_each_taker_did(seed: int) -> None:
    """A log of the earlier form reads the same, and is decided again to the same."""
    draw = random.Random(seed)
    kinds = draw.choices(["supersedes", "contradicts", "revise"], [6, 2, 2], k=12)
    steps = [(draw.sample(range(7), 2), kind) for kind in kinds]
    said: list[list[object]] = []
    for take in (lose_each_window, TAKE):
        with mock.patch.object(supersession, "_take_windows", take), new_store() as db:
            refs = [fact(db, "fact", begins) for begins in (0, 5, 2, 8, 3, 6, 4)]
            told: list[object] = []
            for begins, ((one, other), kind) in enumerate(steps):
                if kind == "revise":
                    told.append(db.revise(refs[one], content=f"{begins}", valid_from=day(other)).notes)
                else:
                    told.append(db.link(refs[one], kind, refs[other]).notes)
            said.append([*told, *timeline_answers(db, refs)])
            with mock.patch.object(supersession, "_take_windows", TAKE):
                again = db.redecide()
            assert (again.differing, again.undecidable) == ((), ())
    assert said[0] == said[1]


def test_a_world_that_loses_to_all_that_follow_has_one_loss_however_many_they_are() -> None:
    """It had one for each: a batch wrote the more of them, the longer its chains were."""
    with new_store() as db:
        chain = [fact(db, "fact", begins) for begins in range(12)]
        for older, newer in pairwise(chain[1:]):
            assert db.link(newer, "supersedes", older)
        receipt = db.link(chain[-1], "supersedes", chain[0], valid_from=day(11))
        assert [(loss.ref, loss.valid_from, loss.valid_to) for loss in receipt.lost] == [
            (chain[0], day(11), FOREVER),
            (chain[0], day(1), FOREVER),
        ]
        assert len([note for note in receipt.notes if note.code == "until_successor"]) == 10
