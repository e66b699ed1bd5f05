"""Every row of the tables of ``docs/time.md`` is executed: what was said there, and what holds afterwards."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import pytest

from tests.support.model.lines import HOLE, Start, Timeline
from tests.support.model.stores import new_store
from tests.support.tidy.tree import ROOT
from worlddb import FOREVER, Database, ManualClock, Refused
from worlddb.log.model.clock import RELEASED_AT

HOUR: Final = 3_600_000_000
"""A day of the page is an hour here, so that the clock goes on by little."""
APART: Final = 20
"""So many hours after one row the next one begins: all rows are lineages of one store."""
SAID: Final = re.compile(r"(again )?([A-Z]|not) (\(?)(\d+)\)?–(\d*)( over all)?")

Held = dict[str, list[tuple[int, int | None]]]
"""The spans of each letter; without an end where they have none."""
Row = tuple[str, ...]


class Said(NamedTuple):
    """A statement as the page writes it; ``end`` is ``None`` where none is stated."""

    letter: str
    start: int
    end: int | None
    stated: bool = True
    again: bool = False
    over_all: bool = False

    @property
    def is_hole(self) -> bool:
        return self.letter == "not"


def said(text: str) -> list[Said]:
    """The statements of a cell."""
    found = []
    for each in text.split("; "):
        match = SAID.fullmatch(each)
        assert match is not None, each
        again, letter, defaulted, start, end, over_all = match.groups()
        found.append(Said(letter, int(start), int(end) if end else None, not defaulted, bool(again), bool(over_all)))
    return found


def held(text: str) -> Held:
    """What a cell says that holds."""
    found: Held = {}
    for each in text.split("; ") if text != "–" else ():
        letter, spans = each.split(" ", 1)
        ends = [span.split("–") for span in spans.split(", ")]
        found[letter] = [(int(start), int(end) if end else None) for start, end in ends]
    return found


def tables() -> dict[str, list[list[Row]]]:
    """The rows of the tables under each heading of the page."""
    found: dict[str, list[list[Row]]] = {}
    heading, inside = "", False
    for line in (ROOT / "docs" / "time.md").read_text("utf-8").splitlines():
        if line.startswith("## "):
            heading = line[3:]
        elif line.startswith("|---"):
            found.setdefault(heading, []).append([])
            inside = True
        elif line.startswith("|") and inside:
            found[heading][-1].append(tuple(cell.strip() for cell in line[1:-1].split("|")))
        else:
            inside = False
    return found


TABLES: Final = tables()


class Case(NamedTuple):
    """What is said, and what the page says of it: what holds afterwards, or why the last statement is refused."""

    said: list[Said]
    held: Held
    refused: str = ""


class Stories:
    """All cases as lineages of one store, one some hours behind the other."""

    def __init__(self, db: Database, clock: ManualClock) -> None:
        self._db, self._clock = db, clock
        self._told: list[tuple[str, int, str, Case]] = []

    def tell(self, case: Case) -> None:
        """Say it, by the engine and by the plain model, and see what holds."""
        base = RELEASED_AT + (1 + len(self._told)) * APART * HOUR
        self._clock.value = base
        model, ref, letters = Timeline(), "", ""
        for number, each in enumerate(case.said):
            refused = case.refused if number == len(case.said) - 1 else ""
            begins, ends = base + each.start * HOUR, None if each.end is None else base + each.end * HOUR
            if not each.stated:
                assert self._clock.value < begins, "the page asks for commits in the order of their times"
                self._clock.value = begins
            window: dict[str, Any] = {"valid_from": begins if each.stated else None, "valid_to": ends}
            if not ref:
                receipt = self._db.create("Fact", "", content=each.letter, resolve=False, **window)
                ref = receipt.ref
            elif each.is_hole:
                receipt = self._db.retire(ref, **window)
            elif each.again:
                receipt = self._db.reassert(ref, content=each.letter, **window)
            else:
                receipt = self._db.revise(ref, content=each.letter, replace_later=each.over_all, **window)
            if refused:
                assert isinstance(receipt.outcome, Refused) and receipt.outcome.code == refused, (case, receipt)
                continue
            assert receipt, (case, receipt)
            if each.is_hole:
                model.take(begins, FOREVER if ends is None else ends, HOLE)
            else:
                letters += each.letter
                model.say(Start(begins, each.stated), ends, replace_later=each.over_all)
        by_model = {letter: in_hours(model.spans(number), base) for number, letter in enumerate(letters, 1)}
        assert {letter: spans for letter, spans in by_model.items() if spans} == case.held, case
        self._told.append((ref, base, letters, case))
        self.check(len(self._told) - 1)

    def check(self, number: int, *, at_hours: bool = False) -> None:
        """What holds of one case by the engine: the history, and the views of each hour."""
        ref, base, letters, case = self._told[number]
        view, found = self._db.view(), Held()
        for version, letter in zip(view.history(ref), letters, strict=True):
            assert version.content == letter
            whole = (version.valid,) if version.valid.start < version.valid.end else ()
            spans = in_hours([(span.start, span.end) for span in version.spans or whole], base)
            found |= {letter: spans} if spans else {}
        assert found == case.held, case
        for hour in range(12) if at_hours else ():
            world = self._db.view(valid=base + hour * HOUR).get(ref)
            holds = [letter for letter, spans in case.held.items() for span in spans if lies_in(hour, span)]
            assert ([] if world is None else [world.content]) == holds, (case, hour)

    def check_all(self) -> None:
        for number in range(len(self._told)):
            self.check(number, at_hours=True)


def in_hours(spans: list[tuple[int, int]], base: int) -> list[tuple[int, int | None]]:
    assert all((time - base) % HOUR == 0 for span in spans for time in span if time != FOREVER)
    return [((start - base) // HOUR, None if end == FOREVER else (end - base) // HOUR) for start, end in spans]


def lies_in(hour: int, span: tuple[int, int | None]) -> bool:
    return span[0] <= hour and (span[1] is None or hour < span[1])


ROW: Final = Said("A", 4, 8)


def portions() -> Iterator[Case]:
    """Update and delete for a portion; SQL's update is a revision of what both have."""
    for portion, _, revised, updated, retired in TABLES["Update and delete for a portion of time"][0]:
        (start, end) = map(int, portion.split("–"))
        yield Case([ROW, Said("B", start, end)], held(revised))
        yield Case([ROW, Said("not", start, end)], held(retired))
        common = Said("B", max(start, ROW.start), min(end, ROW.end or end))
        yield Case([ROW] if common.start >= (common.end or 0) else [ROW, common], held(updated))


def relations() -> Iterator[Case]:
    """Thirteen relations: whichever ends and starts were stated, as far as the clock allows it."""
    for a_stated, table in zip((True, False), TABLES["Thirteen relations, stated or not"], strict=True):
        for period, _, *cells in table:
            (start, end) = map(int, period.split("–"))
            for cell, a_end, b_end in zip(cells, (8, 8, None, None), (end, None, end, None), strict=True):
                for b_stated in (True, False) if a_stated or start > 4 else (True,):
                    yield Case([Said("A", 4, a_end, a_stated), Said("B", start, b_end, b_stated)], held(cell))


def holes() -> Iterator[Case]:
    for told, found, _ in TABLES["Holes, ends and resumptions"][0]:
        refused = found.partition("refused: ")[2]
        if refused:
            # Nothing has changed: what holds is what held before the refused statement.
            before = Timeline()
            for each in said(told)[:-1]:
                end = FOREVER if each.end is None else each.end
                if each.is_hole:
                    before.take(each.start, end, HOLE)
                else:
                    before.say(Start(each.start, each.stated), each.end)
            spans = [(start, None if end == FOREVER else end) for start, end in before.spans(1)]
            yield Case(said(told), {"A": spans}, refused)
        else:
            yield Case(said(told), held(found))


def orders() -> Iterator[Case]:
    for told, forth, back in TABLES["When the order of arrival matters"][0]:
        yield Case(said(told), held(forth))
        yield Case(said(told)[::-1], held(back))


PARTS: Final[Mapping[str, tuple[list[Case], int]]] = {
    "portions": (list(portions()), 39),
    "relations": (list(relations()), 176),
    "holes": (list(holes()), 24),
    "orders": (list(orders()), 18),
}
"""The cases of each table, and how many there are at least."""


@pytest.mark.parametrize("part", PARTS)
def test_every_row_holds_as_the_page_says_and_after_a_rebuild(part: str) -> None:
    cases, least = PARTS[part]
    assert len(cases) >= least
    clock = ManualClock()
    with new_store(clock=clock) as db:
        stories = Stories(db, clock)
        for case in cases:
            stories.tell(case)
        if part != "relations":
            stories.check_all()
        if part != "relations":
            assert db.redecide().differing == ()
        db.rebuild("tables")
        stories.check_all()


LINKED: Final = re.compile(r"([A-Z]) > ([A-Z])(?: (?:from )?(\d+)(?:–(\d+))?)?")
CHANGED: Final = re.compile(r"(again|not) ([A-Z]) (\d+)–")


def test_one_world_takes_the_place_of_another_as_the_page_says_and_after_a_rebuild() -> None:
    (table,) = TABLES["One world in the place of another"]
    assert len(table) >= 13
    with new_store() as db:
        told = [(join(db, worlds, then), held(found)) for worlds, then, found, _ in table]
        assert db.redecide().differing == ()
        for refs, expected in told:
            assert found_of(db, refs) == expected
        db.rebuild("tables")
        assert [found_of(db, refs) for refs, _ in told] == [expected for _, expected in told]


def join(db: Database, worlds: str, then: str) -> dict[str, str]:
    """Write the worlds of a row, and do what it says then; their references by letter."""
    refs = {}
    for each in said(worlds):
        end = None if each.end is None else hour(each.end)
        refs[each.letter] = db.create("Fact", "", valid_from=hour(each.start), valid_to=end, resolve=False).ref
    for step in then.split("; "):
        if (link := LINKED.fullmatch(step)) is not None:
            source, target, *window = link.groups()
            begins, ends = (None if time is None else hour(int(time)) for time in window)
            assert db.link(refs[source], "supersedes", refs[target], valid_from=begins, valid_to=ends)
        else:
            change = CHANGED.fullmatch(step)
            assert change is not None, step
            call = db.reassert if change[1] == "again" else db.retire
            assert call(refs[change[2]], valid_from=hour(int(change[3])))
    return refs


def found_of(db: Database, refs: dict[str, str]) -> Held:
    """When each world holds."""
    spans = {
        letter: in_hours([(each.valid.start, each.valid.end) for each in db.view().coalesced(ref)], RELEASED_AT)
        for letter, ref in refs.items()
    }
    return {letter: pieces for letter, pieces in spans.items() if pieces}


PLACED: Final = re.compile(r"(in|not|back|away)(?: (\d+)–(\d*))?")


def test_members_leave_and_come_back_as_the_page_says_and_after_a_rebuild() -> None:
    (table,) = TABLES["Members that leave and come back"]
    assert len(table) >= 14
    with new_store() as db:
        club, elsewhere = (db.create("Club", name, valid_from=hour(0)).ref for name in ("club", "elsewhere"))
        members = [place(db, club, elsewhere, told, found) for told, found, _ in table]
        assert db.redecide().differing == ()
        for _ in range(2):
            for number in range(12):
                seen = {world.ref for world in db.view(valid=hour(number)).children(club)}
                assert seen == {ref for ref, spans in members if any(lies_in(number, span) for span in spans)}
            db.rebuild("tables")


def place(db: Database, club: str, elsewhere: str, told: str, found: str) -> tuple[str, list[tuple[int, int | None]]]:
    """Do what a row says; the member, and when the page says that it is in the club."""
    member = db.create("Note", "", valid_from=hour(1), resolve=False).ref
    edges: dict[str, str] = {}
    for number, step in enumerate(steps := told.split("; ")):
        match = PLACED.fullmatch(step)
        assert match is not None, step
        start, end = (hour(int(time)) if time else None for time in match.groups()[1:])
        window: Any = {"valid_from": start, "valid_to": end}
        refused = found.startswith("refused: ") and number == len(steps) - 1
        match match[1]:
            case "in":
                receipt = db.link(club, "contains", member, **window)
                edges |= {step: receipt.ref} if receipt else {}
            case "not":
                receipt = [db.retire(edge, **window) for edge in edges.values()][-1]
            case "back":
                receipt = db.unlink(edges[step.replace("back", "in")])
            case _:
                receipt = db.move(member, elsewhere, out_of=club, **window)
        if refused:
            assert isinstance(receipt.outcome, Refused) and receipt.outcome.code == found.partition(": ")[2], told
        else:
            assert receipt, (told, receipt)
    if found.startswith("refused: "):
        # What was said before the refused step holds; the same rows without it are in the table.
        spans = [span for each in steps[:-1] if each.startswith("in") for span in held(f"M {each[3:] or '1–'}")["M"]]
        for each in steps[:-1]:
            if each.startswith("not"):
                ((gone, back),) = held(f"M {each[4:]}")["M"]
                spans = [(spans[0][0], gone)] + ([(back, None)] if back is not None else [])
        return member, spans
    return member, held(f"M {found}")["M"]


def test_the_tables_have_all_thirteen_relations() -> None:
    """A period lies to another one in one of thirteen ways (Allen 1983); the page names each by what it is."""

    def signs(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, ...]:
        return tuple((a > b) - (a < b) for a in one for b in other)

    for heading, reverse in (
        ("Update and delete for a portion of time", False),
        ("Thirteen relations, stated or not", False),
        ("Period predicates", True),
    ):
        for table in TABLES[heading]:
            named = {}
            for period, name, *_ in table:
                (start, end) = map(int, period.split("–"))
                pair = ((start, end), (4, 8))
                named[signs(*(pair[::-1] if reverse else pair))] = name
            assert named == {
                (-1, -1, -1, -1): "before",
                (-1, -1, 0, -1): "meets",
                (-1, -1, 1, -1): "overlaps",
                (-1, -1, 1, 0): "finished by",
                (-1, -1, 1, 1): "contains",
                (0, -1, 1, -1): "starts",
                (0, -1, 1, 0): "equals",
                (0, -1, 1, 1): "started by",
                (1, -1, 1, -1): "during",
                (1, -1, 1, 0): "finishes",
                (1, -1, 1, 1): "overlapped by",
                (1, 0, 1, 1): "met by",
                (1, 1, 1, 1): "after",
            }


PREDICATES: Final = (
    *("overlaps", "contains", "within", "equals", "precedes", "succeeds"),
    *("immediately_precedes", "immediately_succeeds"),
)


def test_the_period_predicates_are_those_of_the_page() -> None:
    with new_store() as db:
        ref = db.create("Fact", "", content="A", valid_from=hour(4), valid_to=hour(8)).ref
        (table,) = TABLES["Period predicates"]
        for period, _, *cells in table:
            (start, end) = map(int, period.split("–"))
            for predicate, cell in zip(PREDICATES, cells, strict=True):
                found = db.view(valid=hour(4)).query().filter_period(predicate, (hour(start), hour(end))).run()
                assert (ref in found.refs) == (cell == "x"), (period, predicate)


def hour(number: int) -> int:
    return RELEASED_AT + number * HOUR
