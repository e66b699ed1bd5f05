"""A lineage is a timeline: the engine against a plain step function from valid time to what holds, one a commit."""

from __future__ import annotations

import itertools
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.model import lines
from tests.support.model.lines import HOLE, Start, Timeline
from tests.support.model.stores import day, new_store
from worlddb import FOREVER, Batch, Database, Refused, Valid, View

DAYS: Final = 16


class Known(NamedTuple):
    """What a commit knew of a lineage."""

    seq: int
    line: lines.Line
    held: dict[int, list[tuple[int, int]]]
    ended: bool


class Story:
    """One lineage, and what was known of it after each commit."""

    def __init__(self, db: Database, random_: random.Random, *, defaulted: bool = True) -> None:
        self._db, self._random, self._model = db, random_, Timeline()
        self.known: list[Known] = []
        start, end = self._window(defaulted=defaulted)
        receipt = db.create("Fact", "told", content="1", valid_from=start, valid_to=end, resolve=False)
        self.ref = receipt.ref
        self._model.say(self._start(start, receipt.ingest_time), end)
        self._learn(receipt.seq)

    def _window(self, *, defaulted: bool = True) -> tuple[int | None, int | None]:
        first = self._random.randrange(DAYS)
        if defaulted and self._random.random() < 0.15:
            return None, None
        last = first + self._random.randrange(6) if self._random.random() < 0.35 else None
        return day(first), None if last is None else day(last)

    @staticmethod
    def _start(given: int | None, committed: int) -> Start:
        return Start(committed if given is None else given, given is not None)

    def _learn(self, seq: int) -> None:
        model = self._model
        self.known.append(Known(seq, model.line, model.held(), model.line[-1][1] == HOLE))

    def step(self) -> None:
        """Say something at random."""
        choice = self._random.random()
        if choice < 0.6:
            self._revise()
        elif choice < 0.85:
            self._retire()
        else:
            self._reassert()

    def _revise(self) -> None:
        start, end = self._window()
        later = end is None and self._random.random() < 0.15
        content = str(len(self._model.starts) + 1)
        receipt = self._db.revise(self.ref, content=content, valid_from=start, valid_to=end, replace_later=later)
        said = self._start(start, receipt.ingest_time)
        if isinstance(receipt.outcome, Refused):
            # The clock stands still: what a commit without a start says would begin a microsecond after the last one.
            begins = self._db.head().ingested_at + 1 if start is None else start
            assert receipt.outcome.code == "ended" and self._model.last_hole <= begins
            return
        assert said.at < self._model.last_hole
        before = {what for _, what in self._model.line}
        self._model.say(said, end, replace_later=later)
        self._learn(receipt.seq)
        lost = {loss.version for loss in receipt.lost}
        assert lost == {number for number in before - {0, HOLE} if self._has_lost(number)}

    def _has_lost(self, number: int) -> bool:
        return self.known[-1].held.get(number) != self.known[-2].held.get(number)

    def _retire(self) -> None:
        start, end = self._window()
        if start is not None and end == start:
            return
        receipt = self._db.retire(self.ref, valid_from=start, valid_to=end)
        assert receipt
        at = receipt.ingest_time if start is None and receipt.events else start
        if at is not None:
            self._model.take(at, FOREVER if end is None else end, HOLE)
        if receipt.events:
            self._learn(receipt.seq)

    def _reassert(self) -> None:
        start, end = self._window(defaulted=False)
        assert start is not None
        content = str(len(self._model.starts) + 1)
        receipt = self._db.reassert(self.ref, content=content, at=start, valid_to=end)
        holds = lines.at(self._model.line, start) > 0
        if holds and end != start:
            assert isinstance(receipt.outcome, Refused) and receipt.outcome.code == "not_ended"
        elif receipt:
            self._model.say(Start(start, stated=True), end)
            self._learn(receipt.seq)

    def say(self, tx: Batch, committed: int, *, defaulted: bool) -> None:
        """Say something at random in a batch, whatever is not refused; :meth:`learn` hears what came of it."""
        model, choice = self._model, self._random.random()
        content = str(len(model.starts) + 1)
        start, end = self._window(defaulted=defaulted)
        said, ends = self._start(start, committed), end if start is None or end != start else None
        if choice < 0.6 and said.at < model.last_hole:
            later = ends is None and self._random.random() < 0.15
            tx.revise(self.ref, content=content, valid_from=start, valid_to=ends, replace_later=later)
            model.say(said, ends, replace_later=later)
        elif choice < 0.85 or lines.at(model.line, said.at) > 0:
            tx.retire(self.ref, valid_from=start, valid_to=ends)
            model.take(said.at, FOREVER if ends is None else ends, HOLE)
        else:
            tx.reassert(self.ref, content=content, at=said.at, valid_to=ends)
            model.say(said._replace(stated=True), ends)

    def learn(self, seq: int, lost: set[int | None]) -> None:
        """Hold which versions lost times by a batch against the model."""
        before = {what for _, what in self.known[-1].line}
        self._learn(seq)
        assert lost == {number for number in before - {0, HOLE} if self._has_lost(number)}

    def boundaries(self) -> set[int]:
        """Every time at which anything ever began or ended, and the one before it."""
        times = {time for known in self.known for time, _ in known.line if time > -(2**62)}
        return {each for time in times for each in (time - 1, time)}

    def check(self, db: Database) -> int:
        """Ask on both sides of every boundary, as of every commit; how often.

        Just before the next commit about it nothing is otherwise: its history says so, and it is asked at one time.
        """
        moments = sorted(self.boundaries())
        for number, known in enumerate(self.known):
            upto = self.known[number + 1].seq - 1 if number + 1 < len(self.known) else db.head().seq
            for seq in {known.seq, upto}:
                self._check_history(db.view(seq=seq), known)
            for seq, valid in (*((known.seq, each) for each in moments), (upto, self._random.choice(moments))):
                found = db.view(seq=seq, valid=valid).get(self.ref)
                (expected,) = lines.versions_at(known.line, [valid])
                assert (0 if found is None else int(found.content)) == expected, (known, valid)
                assert found is None or found.valid.start <= valid < found.valid.end
        return len(self.known) * (len(moments) + 1)

    def check_histories(self, db: Database) -> None:
        """Ask for the history as of every tenth commit and the last."""
        for known in self.known[::-10]:
            self._check_history(db.view(seq=known.seq), known)

    def _check_history(self, view: View, known: Known) -> None:
        for version in view.history(self.ref):
            whole = (version.valid,) if version.valid.start < version.valid.end else ()
            spans = version.spans or whole
            assert [(span.start, span.end) for span in spans] == known.held.get(int(version.content), []), (
                known,
                version,
            )
        shown = view.get(self.ref, include_superseded=True)
        assert shown is not None and shown.ended == known.ended


def run(seed: int, lineages: int, statements: int) -> int:
    """Tell stories by turns, and ask about them all; how often was asked."""
    drawn = random.Random(seed)
    with new_store() as db:
        stories = [Story(db, drawn) for _ in range(lineages)]
        for _ in range(lineages * statements):
            drawn.choice(stories).step()
        asked = sum(story.check(db) for story in stories)
        if seed % 4 == 0:
            db.rebuild("tables")
            asked += sum(story.check(db) for story in stories[:3])
        return asked


def run_together(seed: int, lineages: int, commits: int) -> int:
    """Tell stories in common commits, and ask of all at once at every boundary of any; how often was asked."""
    drawn = random.Random(seed)
    with new_store() as db:
        stories = [Story(db, drawn, defaulted=number < 6) for number in range(lineages)]
        began = len(stories[-1].known)
        for number in range(commits):
            committed = db.head().ingested_at + 1
            with db.batch() as tx:
                for story in stories:
                    story.say(tx, committed, defaulted=number % 25 == 0)
            lost = defaultdict[str, set[int | None]](set)
            for loss in tx.receipt.lost:
                lost[loss.ref].add(loss.version)
            for story in stories:
                story.learn(tx.receipt.seq, lost[story.ref])
        moments = sorted(set[int]().union(*(story.boundaries() for story in stories)))
        for number in range(commits):
            told = {story.ref: lines.versions_at(story.known[began + number].line, moments) for story in stories}
            (seq,) = {story.known[began + number].seq for story in stories}
            for place, valid in enumerate(moments):
                found = list(db.view(seq=seq, valid=valid).find(type="Fact"))
                expected = {ref: row[place] for ref, row in told.items() if row[place]}
                assert {each.ref: int(each.content) for each in found} == expected, (seq, valid)
                assert all(each.valid.start <= valid < each.valid.end for each in found)
        for story in stories:
            story.check_histories(db)
        return commits * len(moments) * lineages


@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(4, 8))])
def test_every_statement_hole_and_resumption_is_as_the_model_says(seed: int) -> None:
    assert run(seed, lineages=6, statements=7) > 300


def test_a_version_that_holds_at_no_time_bounds_nothing() -> None:
    """Where nothing had been cut yet, a statement ended where an earlier one began that has no instant."""
    with new_store() as db:
        ref = db.create("Fact", "fact", content="1", valid_from=day(8), valid_to=day(8), resolve=False).ref
        assert db.revise(ref, content="2", valid_from=day(2)).lost == ()
        (held,) = [version for version in db.view().history(ref) if version.content == "2"]
        assert (held.valid.start, held.valid.end) == (day(2), FOREVER)
        (loss,) = db.revise(ref, content="3", valid_from=day(10)).lost
        assert (loss.version, loss.valid_from) == (2, day(10))


def test_statements_that_come_together_are_as_the_model_says() -> None:
    assert run_together(3, lineages=8, commits=6) > 1_000


@pytest.mark.soak
def test_a_hundred_thousand_statements_on_a_thousand_lineages_are_as_the_model_says(root_seed: int) -> None:
    """Most in commits of 245: to make each durable, and ask of each alone, is what takes long."""
    asked = run(root_seed, lineages=20, statements=100)
    asked += sum(run_together(root_seed + number, lineages=245, commits=100) for number in range(4))
    assert asked > 4_000_000


def spans_of(db: Database, ref: str) -> list[Valid]:
    history = db.view().history(ref)
    held = (
        version.spans or ((version.valid,) if version.valid.start < version.valid.end else ()) for version in history
    )
    return sorted(itertools.chain.from_iterable(held), key=lambda span: span.start)


@examples(6)
@given(starts=st.lists(st.integers(0, DAYS), min_size=2, max_size=5, unique=True), data=st.data())
def test_statements_with_stated_starts_come_to_the_same_in_any_order(starts: list[int], data: st.DataObject) -> None:
    told = data.draw(st.permutations(starts))
    with new_store() as db:
        ref = db.create("Fact", "fact", content=str(told[0]), valid_from=day(told[0])).ref
        for start in told[1:]:
            assert db.revise(ref, content=str(start), valid_from=day(start))
        for one, following in itertools.pairwise([*sorted(starts), None]):
            assert one is not None
            (version,) = (each for each in db.view().history(ref) if each.content == str(one))
            assert version.valid == Valid(day(one), FOREVER if following is None else day(following))


@examples(10)
@given(starts=st.lists(st.integers(0, DAYS), min_size=3, max_size=6, unique=True), data=st.data())
def test_a_chain_of_worlds_comes_to_the_same_however_it_was_joined(starts: list[int], data: st.DataObject) -> None:
    links = [(newer, newer - 1) for newer in range(1, len(starts))]
    found = []
    for order in (links, data.draw(st.permutations(links))):
        with new_store() as db:
            refs = [db.create("Fact", "fact", valid_from=day(start), resolve=False).ref for start in starts]
            assert all(db.link(refs[newer], "supersedes", refs[older]) for newer, older in order)
            found.append([spans_of(db, ref) for ref in refs])
    assert found[0] == found[1]


SHAPES: Final[dict[str, list[tuple[int, int | None]]]] = {
    "each begins later": [(number, None) for number in range(7)],
    "each begins earlier": [(7 - number, None) for number in range(7)],
    "all begin at once": [(4, None)] * 7,
    "later and earlier by turns": [(number + (5 if number % 2 else 0), None) for number in range(7)],
    "the oldest begins last": [(9, None), *((number, None) for number in range(6))],
    "the newest begins first": [*((number, None) for number in range(2, 8)), (0, None)],
    "two and two at once": [(number // 2 * 2, None) for number in range(7)],
    "some have ends": [(0, 6), (1, None), (2, 9), (3, None), (4, 5), (5, None), (6, 12)],
    "ends before the next begins": [(number * 2, number * 2 + 1) for number in range(7)],
}
"""From when to when the worlds of a chain hold, the oldest first."""
LINKS: Final = tuple((newer, newer - 1) for newer in range(1, 7))


Order = Iterable[tuple[int, int]]


def joined(db: Database, shape: list[tuple[int, int | None]], order: Order) -> list[list[Valid]]:
    """Write the worlds of a chain, join them in an order, and say when each of them holds."""
    refs = begun(db, shape)
    assert all(db.link(refs[newer], "supersedes", refs[older]) for newer, older in order)
    return held_by(db, refs)


def begun(db: Database, shape: list[tuple[int, int | None]], times: int = 1) -> tuple[str, ...]:
    """The worlds of a chain, so many times over."""
    with db.batch() as batch:
        for start, end in shape * times:
            batch.create("Fact", "", valid_from=day(start), valid_to=None if end is None else day(end), resolve=False)
    return batch.receipt.refs


def held_by(db: Database, refs: Iterable[str]) -> list[list[Valid]]:
    """When each of some worlds that are joined holds; never two at a time."""
    found = [spans_of(db, ref) for ref in refs]
    spans = sorted((span for held in found for span in held), key=lambda span: span.start)
    assert all(one.end <= other.start for one, other in itertools.pairwise(spans)), "two hold"
    return found


def joined_in_each(
    db: Database, shape: list[tuple[int, int | None]], orders: Sequence[Order]
) -> Iterator[list[list[Valid]]]:
    """As :func:`joined`, in many orders, of which 120 are one commit: to make each durable is what takes long."""
    for some in (orders[at : at + 120] for at in range(0, len(orders), 120)):
        refs, size = begun(db, shape, len(some)), len(shape)
        with db.batch() as batch:
            for number, order in enumerate(some):
                for newer, older in order:
                    batch.link(refs[number * size + newer], "supersedes", refs[number * size + older])
        for number in range(len(some)):
            yield held_by(db, refs[number * size : (number + 1) * size])


@pytest.mark.parametrize("shape", SHAPES)
def test_a_chain_of_six_corrections_comes_to_the_same_in_some_orders(shape: str) -> None:
    drawn = random.Random(shape)
    with new_store() as db:
        first = joined(db, SHAPES[shape], LINKS)
        orders = [drawn.sample(LINKS, len(LINKS)) for _ in range(3)]
        assert joined(db, SHAPES[shape], orders[0]) == first, orders[0]
        for order, held in zip(orders, joined_in_each(db, SHAPES[shape], orders), strict=True):
            assert held == first, order


@pytest.mark.soak
@pytest.mark.parametrize("shape", SHAPES)
def test_a_chain_of_six_corrections_comes_to_the_same_in_all_orders(shape: str) -> None:
    with new_store() as db:
        for worlds in range(2, 8):
            orders = list(itertools.permutations(LINKS[: worlds - 1]))
            found = list(joined_in_each(db, SHAPES[shape][:worlds], orders))
            different = [order for order, held in zip(orders, found, strict=True) if held != found[0]]
            assert not different, (worlds, len(different), different[0])


def tree(seed: int, *, forward: bool) -> tuple[list[tuple[int, int | None]], list[tuple[int, int]]]:
    """From when to when five worlds hold, and which replace which: a tree.

    ``forward``: what replaces another begins later, or is written later and begins with it, and none has a stated end.
    """
    drawn = random.Random(seed)
    starts = [drawn.randrange(9) for _ in range(5)]
    ends = [None if forward or drawn.random() < 0.7 else start + drawn.randrange(1, 6) for start in starts]
    pairs = [(number, drawn.randrange(number)) for number in range(1, 5)]
    turned = [sorted(pair, key=lambda each: (starts[each], each), reverse=True) for pair in pairs]
    links = [(one, other) if forward or drawn.random() < 0.5 else (other, one) for one, other in turned]
    return list(zip(starts, ends, strict=True)), links


def compare_orders_of_trees(seeds: Iterable[int], orders: int) -> int:
    """Join trees in so many orders each; how many of those that are not ``forward`` came to different timelines."""
    different = 0
    for seed in seeds:
        for forward in (True, False):
            shape, links = tree(seed, forward=forward)
            every = list(itertools.permutations(links))
            with new_store() as db:
                found = list(joined_in_each(db, shape, random.Random(seed).sample(every, orders)))
            if forward:
                assert all(held == found[0] for held in found), (shape, links)
            different += any(held != found[0] for held in found)
    return different


def test_of_a_tree_of_corrections_at_most_one_holds_and_of_one_that_goes_forward_all_orders_agree() -> None:
    compare_orders_of_trees(range(6), orders=5)


@pytest.mark.soak
def test_of_three_hundred_trees_at_most_one_holds_in_all_orders_and_those_that_go_forward_agree() -> None:
    assert compare_orders_of_trees(range(300), orders=24) < 60, "few of those that go back differ, as the limit says"


@pytest.mark.parametrize("seed", range(12))
def test_of_worlds_that_are_joined_never_two_hold_whatever_is_taken_back(seed: int) -> None:
    drawn = random.Random(seed)
    with new_store() as db:
        refs = [db.create("Fact", "f", valid_from=day(drawn.randrange(DAYS)), resolve=False).ref for _ in range(5)]
        live: dict[str, tuple[int, int]] = {}
        for _ in range(12):
            one, other = drawn.sample(range(5), 2)
            at, choice = day(drawn.randrange(DAYS)), drawn.random()
            if choice < 0.5:
                receipt = db.link(refs[one], "supersedes", refs[other])
                live |= {receipt.ref: (one, other)} if receipt else {}
            elif choice < 0.6 and live:
                edge = drawn.choice(sorted(live))
                assert db.unlink(edge)
                del live[edge]
            elif choice < 0.75:
                db.revise(refs[one], content="again", valid_from=at)
            elif choice < 0.9:
                db.reassert(refs[one], at=at)
            else:
                assert db.retire(refs[one], at=at)
            group = list(range(5))
            for newer, older in live.values():
                group = [group[newer] if each == group[older] else each for each in group]
            for first, second in itertools.combinations(range(5), 2):
                if group[first] == group[second]:
                    pieces = itertools.product(spans_of(db, refs[first]), spans_of(db, refs[second]))
                    assert all(max(a.start, b.start) >= min(a.end, b.end) for a, b in pieces), (seed, live)
        assert db.redecide().differing == ()


def test_what_is_replaced_for_a_while_holds_again() -> None:
    with new_store() as db:
        usual, summer = (db.create("Fact", name, valid_from=day(0), resolve=False).ref for name in ("usual", "summer"))
        assert db.revise(summer, content="closed at noon", valid_from=day(4), valid_to=day(6))
        receipt = db.link(summer, "supersedes", usual, valid_from=day(4), valid_to=day(6))
        assert [(loss.ref, loss.valid_from, loss.valid_to) for loss in receipt.lost] == [(usual, day(4), day(6))]
        assert spans_of(db, usual) == [Valid(day(0), day(4)), Valid(day(6), FOREVER)]
        assert db.link(db.create("Fact", "new", valid_from=day(9), resolve=False), "supersedes", usual)
        assert spans_of(db, usual) == [Valid(day(0), day(4)), Valid(day(6), day(9))]
        assert db.redecide().differing == ()


def test_what_is_moved_for_a_while_is_where_it_was_before_and_behind() -> None:
    with new_store() as db:
        home, away, guest = (db.create("Place", name, valid_from=day(0)).ref for name in ("home", "away", "guest"))
        assert db.move(guest, home, valid_from=day(0))
        root = db.view().get(guest)
        assert root is not None
        receipt = db.move(guest, away, out_of=home, valid_from=day(3), valid_to=day(5))
        assert receipt
        where = {number: db.view(valid=day(number)).containers(guest) for number in (2, 4, 6)}
        assert where == {2: [home], 4: [away], 6: [home]}
        inside = [[world.ref for world in db.view(valid=day(number)).children(home)] for number in (2, 4, 6)]
        assert inside == [[guest], [], [guest]]
        (edge,) = db.view(valid=day(4)).edges(guest, type="contains", direction="in")
        assert edge.valid == Valid(day(3), day(5))
        # It is in two worlds by now, and in one at a time: which one it leaves need not be said.
        other = db.create("Place", "other", valid_from=day(0)).ref
        assert db.move(guest, other, valid_from=day(5), valid_to=day(6))
        where = {number: db.view(valid=day(number)).containers(guest) for number in (4, 5, 6)}
        assert where == {4: [away], 5: [other], 6: [home]}
        assert db.move(guest, away, out_of=home, valid_from=day(8), valid_to=day(9)), "and there once more"
        where = {number: db.view(valid=day(number)).containers(guest) for number in (6, 8, 9)}
        assert where == {6: [home], 8: [away], 9: [home]}
        before = db.view(seq=receipt.seq - 1, valid=day(4))
        assert before.containers(guest) == [home]
        assert db.redecide().differing == () and db.rebuild("tables")
        assert db.view(valid=day(4)).containers(guest) == [away]
