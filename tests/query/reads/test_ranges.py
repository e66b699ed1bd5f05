"""Reads of a span of time equal what its instants answer, to the microsecond."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import worlddb
from tests.support.faults.growth import DAY, NAMES, TYPES, Growth
from tests.support.running import small_store
from worlddb import FOREVER, Database, InputError, InvalidInterval, InvalidTime, View
from worlddb.query.recall.answer import MAX_OTHERS

QUERY = "team office"
HISTORIES = 2
SPANS = 6
MANY_HISTORIES = 30
ALL = 1_000


class Shown(NamedTuple):
    """The version number that each instant of a span shows under one reference."""

    numbers: tuple[int | None, ...]

    @property
    def newest(self) -> int | None:
        """The newest version that is shown at any instant."""
        return max((number for number in self.numbers if number is not None), default=None)

    @property
    def throughout(self) -> int | None:
        """The version that is shown at all of them."""
        return self.numbers[0] if len(set(self.numbers)) == 1 else None


class Oracle:
    """Asks views of single instants: a span's start, and every change within it."""

    def __init__(self, db: Database, seq: int) -> None:
        self.db, self.seq = db, seq
        whole = db.view(seq=seq)
        self.refs = [world.ref for world in whole.find(include_superseded=True)]
        validities = [version.valid for ref in self.refs for version in whole.history(ref)]
        validities += [edge.valid for ref in self.refs for edge in whole.edges(ref, include_superseded=True)]
        ends = {end for valid in validities for end in (valid.start, valid.end)}
        self.changes = sorted(ends - {FOREVER})

    def view(self, valid: int) -> View:
        """The whole store at an instant; where a read looks is a matter of its own moment."""
        return self.db.view(seq=self.seq, valid=valid)

    def instants(self, start: int, end: int) -> list[int]:
        return [start, *(at for at in self.changes if start < at < end)]

    def shown(self, span: tuple[int, int], read: Callable[[View], Iterable[tuple[str, int]]]) -> dict[str, Shown]:
        """For each reference that ``read`` gives anywhere, what it gives at each instant."""
        answers = [dict(read(self.view(at))) for at in self.instants(*span)]
        refs = dict.fromkeys(ref for answer in answers for ref in answer)
        return {ref: Shown(tuple(answer.get(ref) for answer in answers)) for ref in refs}


def some_span(rng: random.Random, changes: list[int]) -> tuple[int, int]:
    start = rng.choice(changes) + rng.choice((-1, 0, 0, 1))
    end = rng.choice(changes) + rng.choice((-1, 0, 0, 1))
    return (start, end) if start < end else (end, max(start, end + 1))


def numbered(worlds: Iterable[Any]) -> list[tuple[str, int]]:
    return [(world.ref, world.number) for world in worlds]


def expected(shown: dict[str, Shown], way: str, inside: set[str]) -> dict[str, int]:
    chosen = {ref: each.throughout if way == "during" else each.newest for ref, each in shown.items() if ref in inside}
    return {ref: number for ref, number in chosen.items() if number is not None}


def expected_each(shown: dict[str, Shown], way: str, inside: set[str]) -> set[tuple[str, int]]:
    """Every version that a span admits: the one shown throughout, or those at any instant."""
    numbers = {ref: [each.throughout] if way == "during" else each.numbers for ref, each in shown.items()}
    return {(ref, number) for ref in numbers.keys() & inside for number in numbers[ref] if number is not None}


def compare(oracle: Oracle, view: View, span: tuple[int, int]) -> int:
    """Every read of the span in both ways; how many things they gave."""
    inside = {world.ref for world in view.find(include_superseded=True)} | {view.world or ""}
    given = 0
    gets = oracle.shown(span, lambda at: numbered(w for ref in oracle.refs if (w := at.get(ref)) is not None))
    edges = oracle.shown(span, lambda at: [(edge.ref, 0) for ref in oracle.refs for edge in at.edges(ref)])
    known = {e.ref: e for ref in inside - {""} for e in view.edges(ref, include_superseded=True)}
    for way in ("during", "overlaps"):
        chosen: dict[str, Any] = {way: span}
        worlds = expected(gets, way, inside)
        assert {ref: w.number for ref in inside - {""} if (w := view.get(ref, **chosen)) is not None} == worlds
        fitting = set(expected(edges, way, set(known)))
        for ref in sorted(inside - {""}):
            assert {edge.ref for edge in view.edges(ref, **chosen)} == {
                edge.ref for edge in known.values() if edge.ref in fitting and ref in (edge.source, edge.target)
            }
            seen = {version.number for version in view.history(ref, **chosen)}
            shown = gets.get(ref)
            numbers = {} if shown is None else {"during": [shown.throughout], "overlaps": shown.numbers}
            assert seen == set(numbers.get(way, ())) - {None}
            given += len(seen)
        found = numbered(view.find(**chosen))
        every = expected_each(gets, way, inside - {view.world or ""})
        assert (len(set(found)), set(found)) == (len(found), every)
        assert found == sorted(found, key=lambda one: (oracle.refs.index(one[0]), one[1]))
        given += len(found) + len(fitting)
    return given


def compare_names_and_texts(oracle: Oracle, view: View, span: tuple[int, int], rng: random.Random) -> int:
    inside = {world.ref for world in view.find(include_superseded=True)}
    name, type_name = rng.choice(NAMES), rng.choice(TYPES)
    lookups: list[dict[str, Any]] = [{"name": name}, {"type": type_name}, {"name": name, "type": type_name}]
    hits = oracle.shown(span, recalled)
    # An entity that holds for a part of the span, or lies outside of the view, proposes nothing: only words always do.
    by_words = oracle.shown(span, lambda at: recalled(at, lanes=["text"]))
    everything = oracle.shown(span, lambda at: numbered(at.find()))
    given = 0
    for way in ("during", "overlaps"):
        chosen: dict[str, Any] = {way: span}
        for lookup in lookups:
            shown = oracle.shown(span, lambda at, lookup=lookup: numbered(at.find(**lookup)))  # type: ignore[misc]
            found = set(numbered(view.find(**lookup, **chosen)))
            assert found == expected_each(shown, way, inside)
        shown_each = expected_each(everything, way, inside)
        answering = expected_each(hits, "overlaps", inside) & shown_each
        worded = {ref for ref, _ in expected_each(by_words, "overlaps", inside) & shown_each}
        for exact in (True, False):
            answer = view.recall(QUERY, k=ALL, exact=exact, **chosen)
            assert {(hit.ref, number_of(view, hit)) for hit in answer if hit.lanes} <= answering
            assert {hit.ref for hit in answer if "text" in hit.lanes} == worded
            told = {(hit.ref, other.number) for hit in answer for other in hit.others}
            told |= {(hit.ref, number_of(view, hit)) for hit in answer}
            assert told == {each for each in shown_each if each[0] in {hit.ref for hit in answer}}
            at_some_instant = expected_each(by_words, "overlaps", inside)
            left_out = (
                {ref for ref, _ in at_some_instant} - {ref for ref, _ in shown_each} if way == "during" else set()
            )
            assert left_out <= set(answer.left_out) <= inside - {ref for ref, _ in shown_each}
            assert way == "during" or not answer.left_out
            given += len(answer)
    return given


def recalled(view: View, **chosen: Any) -> list[tuple[str, int]]:
    """What a lane found; other hits are there because they contradict one of these."""
    found = view.recall(QUERY, k=ALL, exact=True, **chosen)
    return [(hit.ref, number_of(view, hit)) for hit in found if hit.lanes]


def number_of(view: View, hit: worlddb.Hit) -> int:
    (number,) = {version.number for version in view.history(hit.ref) if version.version == hit.version}
    return number


@pytest.mark.soak
def test_reads_of_spans_of_many_histories(tmp_path: Path, seed: int) -> None:
    for number in range(HISTORIES, MANY_HISTORIES):
        test_a_read_of_a_span_is_what_its_instants_answer(number, tmp_path / str(number), seed)


@pytest.mark.parametrize("number", range(HISTORIES))
def test_a_read_of_a_span_is_what_its_instants_answer(number: int, tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed * 31 + number)
    clock = worlddb.ManualClock()
    given = 0
    with worlddb.open(tmp_path / "store", author="x", clock=clock, entropy=worlddb.SeededEntropy(seed)) as db:
        Growth(db, clock, rng.randrange(2**32)).grow(70)
        for turn in range(SPANS):
            seq = rng.randint(db.head().seq // 2, db.head().seq)
            oracle = Oracle(db, seq)
            view = db.view(seq=seq, valid=rng.choice(oracle.changes))
            tops = [ref for ref in oracle.refs if any(view.children(ref))]
            confined = view.confined(rng.choice(tops)) if tops and turn % 2 else view
            span = some_span(rng, oracle.changes)
            given += compare(oracle, confined, span)
            if turn % 3 == 0:
                given += compare_names_and_texts(oracle, confined, span, rng)
            compare_members(oracle, confined, span)
            compare_learned(oracle, confined, rng)
    assert given > 100


def compare_members(oracle: Oracle, view: View, span: tuple[int, int]) -> None:
    """A member fits a span if its edge and its version do together."""
    top = view.world or str(next(oracle.db.log(1, 1)).data["root"])
    points = [oracle.view(at) for at in oracle.instants(*span)]
    stays = view.edges(top, type="contains", direction="out", include_superseded=True)
    at_points = [
        ({edge.ref for edge in point.edges(top, type="contains", direction="out")}, dict(numbered(point.children(top))))
        for point in points
    ]
    for way in ("during", "overlaps"):
        wanted = []
        for stay in stays:
            numbers = Shown(tuple(shown.get(stay.target) if stay.ref in refs else None for refs, shown in at_points))
            number = numbers.throughout if way == "during" else numbers.newest
            if number is not None:
                wanted.append((stay.target, number))
        assert numbered(view.children(**{way: span})) == wanted  # type: ignore[arg-type]


def compare_learned(oracle: Oracle, view: View, rng: random.Random) -> None:
    """What was learned between two ingest times is what the commits between them changed."""
    times = [oracle.db.view(seq=seq).ingested for seq in range(1, oracle.seq + 1)]
    span = some_span(rng, times)
    for world in view.find(include_superseded=True):
        changed: set[int] = set()
        # A hole leaves a version its first and its last time, and takes one of its spans.
        steps: list[tuple[int, int, tuple[worlddb.Valid, ...]]] = []
        before: dict[int, tuple[worlddb.Valid, ...]] = {}
        for seq in range(1, oracle.seq + 1):
            try:
                after = {v.number: (v.valid, *v.spans) for v in oracle.db.view(seq=seq).history(world.ref)}
            except worlddb.UnknownReference:
                continue
            new = {number for number, held in after.items() if before.get(number) != held}
            steps += [(seq, number, after[number]) for number in sorted(new)]
            if span[0] <= times[seq - 1] < span[1]:
                changed |= new
            before = after
        assert {version.number for version in view.history(world.ref, between=span)} == changed
        assert [(step.seq, step.number, (step.valid, *step.spans)) for step in view.timeline(world.ref)] == steps


def content(world: worlddb.World | None) -> str:
    assert world is not None
    return world.content


def test_a_member_is_shown_as_it_was_while_it_was_a_member(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        team = db.create("Topic", "team")
        ada = db.create("Entity", "Ada", content="engineer", valid_from="2020-01-01")
        stay = db.link(team, "contains", ada, valid_from="2020-06-01", valid_to="2021-01-01")
        assert stay
        db.revise(ada, content="director", valid_from="2021-01-01")
        view = db.view()
        assert [world.content for world in view.children(team, overlaps=("2020-01-01", "2022-01-01"))] == ["engineer"]
        assert content(view.get(ada, overlaps=("2020-01-01", "2022-01-01"))) == "director"
        assert not list(view.children(team, overlaps=("2021-01-01", None)))
        assert not list(view.children(team, during=("2020-05-31", "2021-01-01")))
        assert len(list(view.children(team, during=("2020-06-01", "2021-01-01")))) == 1


def test_an_open_end_reaches_as_far_as_there_is_time(tmp_path: Path) -> None:
    made = small_store(tmp_path / "store")
    with worlddb.open(tmp_path / "store") as db:
        view = db.view()
        assert content(view.get(made.sarah, during=("2025-02-01", None))) == "VP of engineering"
        assert view.get(made.sarah, during=("2025-01-31T23:59:59.999999Z", None)) is None
        assert content(view.get(made.sarah, overlaps=(None, "2025-02-01"))) == "engineering lead"
        assert view.get(made.sarah, overlaps=(None, "2024-01-01")) is None
        lead, vp = view.history(made.sarah)
        assert view.history(made.sarah, overlaps=vp.valid) == [vp]
        assert view.history(made.sarah, during=lead.valid) == [lead]
        assert content(view.get(made.lisbon, during=("2024-06-01", "2024-07-01"))) == "The office is in Lisbon."
        offices = view.recall("office", during=("2024-06-01", "2025-03-01"))
        assert [hit.content for hit in offices][:1] == ["The office is in Lisbon."]
        assert made.porto not in {hit.ref for hit in offices}


@pytest.mark.parametrize("exact", [False, True])
def test_each_version_that_held_in_a_span_is_found_and_told(tmp_path: Path, exact: bool) -> None:
    with worlddb.open(tmp_path / "store") as db:
        home = db.create("Fact", "home", content="Mara lives in Lisbon", valid_from="2024-01-01").ref
        db.revise(home, content="Mara lives in Porto", valid_from="2024-04-10")
        db.revise(home, content="Mara lives in Faro", valid_from="2024-08-01")
        spring = ("2024-03-01", "2024-06-01")
        for embedded in (False, True):
            if embedded:
                db.embed()
            view = db.view()
            for town, other in (("Lisbon", "Porto"), ("Porto", "Lisbon")):
                (hit,) = view.recall(town, overlaps=spring, exact=exact, lanes=["text"])
                assert (hit.content, hit.others_left) == (f"Mara lives in {town}", 0)
                assert [told.content for told in hit.others] == [f"Mara lives in {other}"]
            (hit,) = view.recall("where does Mara live?", overlaps=spring, exact=exact)
            assert {hit.version, *(told.version for told in hit.others)} == {
                version.version for version in view.history(home)[:2]
            }
            assert list(view.recall("Faro", overlaps=spring, exact=exact, lanes=["text"])) == []
            assert [(world.number, world.content[14:]) for world in view.find(name="home", overlaps=spring)] == [
                (1, "Lisbon"),
                (2, "Porto"),
            ]
            assert [world.number for world in view.find(name="home", overlaps=spring, limit=1)] == [1]
            throughout = view.recall("where does Mara live?", during=spring, exact=exact)
            assert (throughout.hits, throughout.left_out) == ((), (home,))
            held = view.recall("where does Mara live?", during=("2024-03-01", "2024-04-01"), exact=exact)
            assert ([hit.content for hit in held], held.left_out) == (["Mara lives in Lisbon"], ())
            grouped = view.recall("where does Mara live?", during=spring, exact=exact, group=2)
            assert (grouped.groups, grouped.left_out) == ((), (home,))


def test_identities_that_are_seen_as_one_are_found_with_all_that_held(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        first = db.create("Entity", "Mara Lindqvist", content="a baker", valid_from="2024-01-01", resolve=False).ref
        db.revise(first, content="a pilot", valid_from="2024-04-10")
        second = db.create("Entity", "M. Lindqvist", valid_from="2024-01-01", resolve=False).ref
        db.accept(db.link(second, "same_as", first))
        view = db.view(unify=True)
        spring = ("2024-03-01", "2024-06-01")
        assert numbered(view.find(name="M. Lindqvist", overlaps=spring)) == [(first, 1), (first, 2)]
        (hit,) = view.recall("baker", overlaps=spring)
        assert (hit.content, [told.content for told in hit.others]) == ("a baker", ["a pilot"])


def test_of_a_world_that_was_revised_very_often_the_newest_versions_are_shown_and_the_rest_counted(
    tmp_path: Path,
) -> None:
    with worlddb.open(tmp_path / "store") as db, db.batch() as tx:
        state = tx.create("Fact", "state", content="reading 0", valid_from=0)
        for number in range(1, 31):
            tx.revise(state, content=f"reading {number}", valid_from=number)
    with worlddb.open(tmp_path / "store") as db:
        (hit,) = db.view().recall("reading 3", overlaps=(0, 30))
        others = [told.number for told in hit.others]
        assert (len(others), hit.others_left) == (MAX_OTHERS, 30 - MAX_OTHERS - 1)
        assert others == sorted(others, reverse=True)
        assert len(db.view().find(name="state", overlaps=(0, 30))) == 30


def test_an_end_that_was_learned_in_a_span_counts_as_learned_in_it(tmp_path: Path) -> None:
    made = small_store(tmp_path / "store")
    with worlddb.open(tmp_path / "store") as db:
        closed_at = db.view(seq=7).ingested
        for between, learned in (
            ((closed_at, closed_at + 1), [1]),
            ((closed_at + 1, None), []),
            ((None, closed_at), [1]),
            ((closed_at - DAY + 1, closed_at), []),
        ):
            assert [version.number for version in db.view().history(made.lisbon, between=between)] == learned
        assert db.view(seq=6).history(made.lisbon, between=(closed_at, None)) == []
        written, closed = db.view().timeline(made.lisbon)
        assert (written.change, closed.change, closed.seq) == ("written", "closed", 7)
        assert closed.valid.end == worlddb.parse_time("2025-03-01")


@pytest.mark.parametrize(
    ("spans", "error"),
    [
        ({"during": ("2024-01-01", "2024-01-01")}, InvalidInterval),
        ({"overlaps": ("2024-01-02", "2024-01-01")}, InvalidInterval),
        ({"overlaps": "2024"}, InputError),
        ({"during": ("2024-01-01",)}, InputError),
        ({"during": ("noon", None)}, InvalidTime),
        ({"during": (None, None), "overlaps": (None, None)}, InputError),
        ({"during": (None, None), "include_superseded": True}, InputError),
    ],
)
def test_an_impossible_span_is_refused(spans: dict[str, Any], error: type[Exception], tmp_path: Path) -> None:
    made = small_store(tmp_path / "store")
    with worlddb.open(tmp_path / "store") as db:
        view = db.view()
        reads: list[Callable[..., Any]] = [view.get, view.edges, view.children]
        for read in reads:
            with pytest.raises(error):
                read(made.sarah, **spans)
        for search in (lambda **given: view.find(name="Office", **given), lambda **given: view.recall("x", **given)):
            with pytest.raises(error):
                search(**spans)
