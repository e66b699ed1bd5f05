"""Scenarios of belief change, each tried for seven postulates, through an adapter of one line a method.

Five kinds, as Kumiho's suite has them (§15.7): simple, multi-item, chain, temporal, adversarial. A scenario is what was
said before, what is believed then in two equal wordings, and what is taken back.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import worlddb
from worlddb import Atom, Database, ManualClock, Receipt, View, World
from worlddb.log.beliefs import atoms

DAY = 86_400_000_000


class Adapter:
    """What a suite of belief change asks of a memory."""

    def __init__(self, folder: Path) -> None:
        self.clock = ManualClock(worlddb.parse_time("2026-01-01"))
        self.db: Database = worlddb.open(folder, author="suite", clock=self.clock, embedder=None)
        self.refs: dict[str, str] = {}
        self.db.define_relation("replaces", acyclic=True)

    def add(self, item: str, kind: str = "fact", **said: Any) -> str:
        return self.refs.setdefault(item, self.db.believe(self._made(item, kind), said).ref)

    def _made(self, item: str, kind: str) -> Receipt:
        return self._at(self.db.create(kind, item, key=f"{item} {self.head()}", resolve=False))

    def revise(self, item: str, **said: Any) -> Receipt:
        return self._at(self.db.believe(self.refs[item], said))

    def replace(self, item: str, **said: Any) -> Receipt:
        return self._at(self.db.believe(self.refs[item], said, whole=True))

    def expand(self, item: str, **said: Any) -> Receipt:
        return self._at(self.db.expand(self.refs[item], said))

    def contract(self, *beliefs: tuple[str, str, str]) -> Receipt:
        return self._at(self.db.contract([(self.refs[item], name, value) for item, name, value in beliefs]))

    def undo(self, receipt: Receipt) -> Receipt:
        return self._at(self.db.undo(receipt))

    def rollback(self, item: str, number: int) -> Receipt:
        return self._at(self.db.rollback(self.refs[item], number))

    def get(self, item: str, tag: str | None = None) -> World | None:
        return self.db.view().get(self.refs[item], tag=tag)

    def history(self, item: str) -> list[str]:
        return [each.content for each in self.db.view().history(self.refs[item])]

    def tag(self, item: str, name: str, number: int | None = None) -> Receipt:
        return self._at(self.db.tag(self.refs[item], name, version=number))

    def edge(self, source: str, kind: str, target: str) -> Receipt:
        return self._at(self.db.link(self.refs[source], kind, self.refs[target]))

    def has_edge(self, source: str, kind: str, target: str) -> bool:
        return self.refs[target] in [each.target for each in self.view().edges(self.refs[source], type=kind)]

    def replace_version(self, item: str, later: int, earlier: int) -> Receipt:
        return self._at(self.db.link(self.refs[item], "replaces", self.refs[item], versions=(later, earlier)))

    def replaced(self, item: str) -> list[tuple[int, int]]:
        return [(e.source_version, e.target_version) for e in self.view().edges(self.refs[item], type="replaces")]

    def retire(self, item: str) -> Receipt:
        return self._at(self.db.retire(self.refs[item]))

    def impact(self, item: str) -> list[str]:
        return [each.name for each in self.view().impact(self.refs[item])]

    def deprecate(self, item: str) -> Receipt:
        return self._at(self.db.deprecate(self.refs[item]))

    def base(self) -> frozenset[Atom]:
        return frozenset(atom for atom in self.view().belief_base() if atom.item in self.refs.values())

    def believes(self, item: str, name: str, value: str) -> bool:
        return Atom(self.refs[item], name, value) in self.base()

    def head(self) -> int:
        return self.db.head().seq

    def view(self) -> View:
        return self.db.view()

    def wait(self, days: int) -> None:
        self.clock.advance(days * DAY)

    def _at(self, receipt: Receipt) -> Receipt:
        self.clock.advance(1_000)
        return receipt


Step = tuple[Any, ...]


class Scenario(NamedTuple):
    """Steps to begin with, the item and the two wordings of what is believed then, and what is taken back."""

    kind: str
    name: str
    steps: tuple[Step, ...]
    item: str
    said: dict[str, Any]
    again: dict[str, Any]
    taken: tuple[tuple[str, str, str], ...]


def chain(length: int) -> tuple[Step, ...]:
    links = [("edge", f"n{at}", "derived_from", f"n{at - 1}") for at in range(1, length)]
    return (*(("add", f"n{at}", {"summary": f"step {at}"}) for at in range(length)), *links)


BLUE: Step = ("add", "colour", {"summary": "blue", "topic": ["user", "taste"]})
LONG = "the same words again and again " * 200
SCENARIOS = (
    Scenario(
        "simple",
        "a fact",
        (BLUE,),
        "colour",
        {"summary": "black"},
        {"summary": " black "},
        (("colour", "summary", "blue"),),
    ),
    Scenario(
        "simple",
        "one more topic",
        (BLUE,),
        "colour",
        {"topic": "house"},
        {"topic": ["house"]},
        (("colour", "topic", "taste"),),
    ),
    Scenario(
        "simple",
        "what is believed already",
        (BLUE,),
        "colour",
        {"summary": "blue"},
        {"summary": "blue "},
        (("colour", "summary", "blue"),),
    ),
    Scenario(
        "simple",
        "two predicates at once",
        (BLUE,),
        "colour",
        {"summary": "red", "fact": "since May"},
        {"fact": "since May", "summary": "red"},
        (("colour", "topic", "user"),),
    ),
    Scenario(
        "simple",
        "a number",
        (("add", "api", {"summary": "runs", "port": 8080}),),
        "api",
        {"port": 9090},
        {"port": "9090"},
        (("api", "port", "8080"),),
    ),
    Scenario(
        "simple",
        "another title",
        (BLUE,),
        "colour",
        {"title": "hue"},
        {"title": "hue\t"},
        (("colour", "title", "colour"),),
    ),
    Scenario(
        "multi",
        "one of two items",
        (BLUE, ("add", "palette", {"summary": "earth tones"})),
        "colour",
        {"summary": "cool"},
        {"summary": "cool\n"},
        (("palette", "summary", "earth tones"),),
    ),
    Scenario(
        "multi",
        "the same value of two items",
        (BLUE, ("add", "car", {"summary": "blue"})),
        "car",
        {"summary": "black"},
        {"summary": "  black"},
        (("car", "summary", "blue"),),
    ),
    Scenario(
        "multi",
        "a compound of two items",
        (BLUE, ("add", "room", {"summary": "painted blue"})),
        "room",
        {"summary": "bare"},
        {"summary": "bare "},
        (("colour", "summary", "blue"), ("room", "summary", "painted blue")),
    ),
    Scenario(
        "multi",
        "a compound of kinds",
        (("add", "guess", {"summary": "DNS", "confidence": 0.3}, "inferred"), ("add", "log", {"summary": "timeout"})),
        "guess",
        {"summary": "disk"},
        {"summary": "disk"},
        (("guess", "summary", "DNS"), ("log", "summary", "timeout")),
    ),
    Scenario(
        "multi",
        "five items",
        tuple(("add", f"i{at}", {"summary": f"fact {at}", "topic": "all"}) for at in range(5)),
        "i3",
        {"summary": "another"},
        {"summary": "another "},
        (("i2", "topic", "all"),),
    ),
    Scenario(
        "multi",
        "one that is deprecated",
        (BLUE, ("add", "old", {"summary": "beige"}), ("deprecate", "old")),
        "colour",
        {"summary": "grey"},
        {"summary": "grey "},
        (("old", "summary", "beige"),),
    ),
    Scenario(
        "chain",
        "the first of three",
        chain(3),
        "n0",
        {"summary": "corrected"},
        {"summary": "corrected "},
        (("n0", "summary", "step 0"),),
    ),
    Scenario(
        "chain",
        "the middle of four",
        chain(4),
        "n2",
        {"summary": "corrected"},
        {"summary": " corrected"},
        (("n2", "summary", "step 2"),),
    ),
    Scenario(
        "chain",
        "the last of four",
        chain(4),
        "n3",
        {"topic": "end"},
        {"topic": ["end", "end"]},
        (("n3", "title", "n3"),),
    ),
    Scenario(
        "chain",
        "a compound along the chain",
        chain(3),
        "n1",
        {"summary": "other"},
        {"summary": "other"},
        (("n0", "summary", "step 0"), ("n1", "summary", "step 1"), ("n2", "summary", "step 2")),
    ),
    Scenario(
        "chain",
        "supersession",
        (BLUE, ("add", "newer", {"summary": "green"}), ("edge", "newer", "supersedes", "colour")),
        "newer",
        {"summary": "teal"},
        {"summary": "teal "},
        (("newer", "summary", "green"),),
    ),
    Scenario(
        "chain",
        "many versions",
        (BLUE, *(("revise", "colour", {"summary": f"shade {at}"}) for at in range(6))),
        "colour",
        {"summary": "black"},
        {"summary": "black "},
        (("colour", "topic", "user"),),
    ),
    Scenario(
        "temporal",
        "a day later",
        (BLUE, ("wait", 2)),
        "colour",
        {"summary": "black"},
        {"summary": "black "},
        (("colour", "summary", "blue"),),
    ),
    Scenario(
        "temporal",
        "there and back",
        (BLUE, ("wait", 1), ("revise", "colour", {"summary": "red"}), ("wait", 1)),
        "colour",
        {"summary": "blue"},
        {"summary": "blue "},
        (("colour", "summary", "red"),),
    ),
    Scenario(
        "temporal",
        "after a rollback",
        (BLUE, ("revise", "colour", {"summary": "red"}), ("rollback", "colour", 2)),
        "colour",
        {"summary": "red"},
        {"summary": "red "},
        (("colour", "topic", "taste"),),
    ),
    Scenario(
        "temporal",
        "tagged before",
        (BLUE, ("tag", "colour", "initial"), ("revise", "colour", {"summary": "red"})),
        "colour",
        {"summary": "black"},
        {"summary": "black "},
        (("colour", "summary", "red"),),
    ),
    Scenario(
        "temporal",
        "contracted before",
        (BLUE, ("contract", ("colour", "summary", "blue")), ("wait", 1)),
        "colour",
        {"summary": "blue"},
        {"summary": "blue "},
        (("colour", "topic", "user"),),
    ),
    Scenario(
        "temporal",
        "taken back before",
        (BLUE, ("revise", "colour", {"summary": "red"}), ("undone", "colour", {"summary": "grey"})),
        "colour",
        {"summary": "white"},
        {"summary": "white "},
        (("colour", "summary", "red"),),
    ),
    Scenario(
        "adversarial",
        "another case",
        (BLUE,),
        "colour",
        {"summary": "Blue"},
        {"summary": "Blue "},
        (("colour", "summary", "blue"),),
    ),
    Scenario(
        "adversarial",
        "a long value",
        (BLUE,),
        "colour",
        {"summary": LONG},
        {"summary": f" {LONG}"},
        (("colour", "topic", "taste"),),
    ),
    Scenario(
        "adversarial",
        "ten revisions at once",
        (BLUE, *(("revise", "colour", {"summary": str(at)}) for at in range(10))),
        "colour",
        {"summary": "last"},
        {"summary": "last "},
        (("colour", "summary", "9"),),
    ),
    Scenario(
        "adversarial",
        "names that look alike",
        (("add", "color", {"summary": "red"}), ("add", "colour", {"summary": "blue"})),
        "color",
        {"summary": "blue"},
        {"summary": "blue "},
        (("colour", "summary", "blue"),),
    ),
    Scenario(
        "adversarial",
        "accents composed or not",
        (("add", "place", {"summary": "tea"}),),
        "place",
        {"summary": "cafe\u0301"},
        {"summary": "caf\u00e9"},
        (("place", "summary", "tea"),),
    ),
    Scenario(
        "adversarial",
        "a deep web of edges",
        (*chain(4), ("edge", "n3", "causes", "n0"), ("edge", "n3", "refers_to", "n1")),
        "n0",
        {"summary": "otherwise"},
        {"summary": "otherwise "},
        (("n3", "summary", "step 3"),),
    ),
)
POSTULATES = ("success", "inclusion", "vacuity", "consistency", "extensionality", "relevance", "core-retainment")


class Played(NamedTuple):
    """The bases around a revision and a contraction, from the same start; atoms name items as the scenario does."""

    before: frozenset[Atom]
    revised: frozenset[Atom]
    worded_otherwise: frozenset[Atom]
    contracted: frozenset[Atom]
    asked: frozenset[Atom]
    taken: frozenset[Atom]


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Adapter]:
    made = Adapter(tmp_path_factory.mktemp("scenarios") / "store")
    yield made
    made.db.close()


@pytest.fixture(scope="module")
def plays() -> dict[str, Played]:
    """What each scenario came to; played once for all postulates."""
    return {}


def begun(suite: Adapter, scenario: Scenario) -> None:
    suite.refs.clear()
    for verb, *told in scenario.steps:
        match verb:
            case "add":
                item, said, *kind = told
                suite.add(item, *kind, **said)
            case "revise":
                suite.revise(told[0], **told[1])
            case "undone":
                suite.undo(suite.revise(told[0], **told[1]))
            case _:
                getattr(suite, verb)(*told)


def named(suite: Adapter, found: frozenset[Atom]) -> frozenset[Atom]:
    names = {ref: item for item, ref in suite.refs.items()}
    return frozenset(atom._replace(item=names[atom.item]) for atom in found)


def played(suite: Adapter, scenario: Scenario) -> Played:
    begun(suite, scenario)
    before = suite.base()
    receipt = suite.contract(*scenario.taken)
    less = suite.base()
    assert suite.undo(receipt) and suite.base() == before
    suite.revise(scenario.item, **scenario.said)
    after = named(suite, suite.base())
    asked = frozenset(atom for atom in after if atom.item == scenario.item and _is_said(atom, scenario.said))
    was, less = named(suite, before), named(suite, less)
    begun(suite, scenario)
    suite.revise(scenario.item, **scenario.again)
    otherwise = named(suite, suite.base())
    return Played(was, after, otherwise, less, asked, frozenset(Atom(*each) for each in scenario.taken))


def _is_said(atom: Atom, said: dict[str, Any]) -> bool:
    value = said.get(atom.predicate, [])
    return atom.value in {atoms.comparable_form(each) for each in (value if isinstance(value, list) else [value])}


def inconsistent(base: frozenset[Atom]) -> bool:
    single = [(atom.item, atom.predicate) for atom in base if atom.predicate in ("type", "title", "summary")]
    return len(single) != len(set(single))


@pytest.mark.parametrize("postulate", POSTULATES)
@pytest.mark.parametrize("scenario", SCENARIOS, ids=[f"{each.kind}: {each.name}" for each in SCENARIOS])
def test_a_scenario_keeps_a_postulate(
    suite: Adapter, plays: dict[str, Played], scenario: Scenario, postulate: str
) -> None:
    if scenario.name not in plays:
        plays[scenario.name] = played(suite, scenario)
    was, after, otherwise, less, asked, taken = plays[scenario.name]
    assert len(asked) >= len(scenario.said)
    conflicts = inconsistent(was | asked)
    match postulate:
        case "success":
            assert asked <= after and not taken <= less
        case "inclusion":
            assert after <= was | asked and less <= was
        case "vacuity":
            assert conflicts or was | asked <= after
            assert (was | asked == after) or conflicts
        case "consistency":
            assert not inconsistent(was) and not inconsistent(after) and not inconsistent(less)
        case "extensionality":
            assert after == otherwise
        case "relevance":
            # Every atom that went is one of those that were to go together, and without it they do not follow.
            assert was - less and was - less <= taken and taken - (was - less) <= less
        case _:
            # Whatever had no part in what was to go is there still.
            assert was - taken <= less and was - less <= was & taken


def test_there_are_two_hundred_scenarios_of_all_five_kinds() -> None:
    assert len(SCENARIOS) * len(POSTULATES) >= 200 and len({each.name for each in SCENARIOS}) == len(SCENARIOS)
    kinds = [each.kind for each in SCENARIOS]
    assert {kind: kinds.count(kind) for kind in kinds} == dict.fromkeys(
        ("simple", "multi", "chain", "temporal", "adversarial"), 6
    )


def test_the_adapter_answers_what_a_suite_asks(suite: Adapter) -> None:
    begun(suite, Scenario("chain", "", chain(4), "n0", {}, {}, ()))
    assert suite.has_edge("n1", "derived_from", "n0") and not suite.has_edge("n0", "derived_from", "n1")
    assert suite.impact("n0") == ["n1", "n2", "n3"]
    suite.tag("n0", "initial")
    suite.revise("n0", summary="corrected")
    assert [getattr(suite.get("n0", tag), "content", "") for tag in (None, "initial")] == ["corrected", "step 0"]
    assert suite.history("n0") == ["", "step 0", "corrected"]
    assert all(suite.replace_version("n0", later, later - 1) for later in (2, 3))
    assert suite.replaced("n0") == [(2, 1), (3, 2)] and not suite.replace_version("n0", 1, 3)
    assert suite.retire("n3") and suite.get("n3") is None and suite.revise("n3", summary="again")
    assert suite.history("n3") == ["", "step 3", "again"] and suite.has_edge("n3", "derived_from", "n2")
    assert suite.believes("n0", "summary", "corrected") and not suite.believes("n0", "summary", "step 0")
    assert suite.expand("n0", summary="both").outcome.code == "conflicts"  # type: ignore[union-attr]
    assert suite.expand("n0", topic="more") and suite.believes("n0", "topic", "more")
    suite.replace("n0", summary="only this")
    assert not suite.believes("n0", "topic", "more") and suite.believes("n0", "title", "n0")
    suite.rollback("n0", 2)
    assert suite.get("n0").content == "step 0"  # type: ignore[union-attr]


class Suite:
    """What Kumiho's published suite asks: one value an item, items in a space of each scenario; a line a method."""

    def __init__(self, db: Database, space: str) -> None:
        self.db, self.space = db, f"kref://agm/{space}/"

    def at(self, key: str) -> str:
        return f"{self.space}{key}.belief"

    def add(self, key: str, value: str) -> Any:
        return self.db.create_at(self.at(key), content=value)

    def revise(self, key: str, value: str) -> Any:
        return self._derived(key, self.db.revise(self.at(key), content=value))

    def _derived(self, key: str, receipt: Receipt) -> Any:
        return self.db.link(self.at(key), "derived_from", self.at(key), versions=(0, self.count(key) - 1))

    def edge(self, source: str, kind: str, target: str) -> Any:
        return self.db.link(self.at(source), kind, self.at(target))

    def contract(self, key: str) -> Any:
        return self.db.deprecate(self.at(key))

    def restore(self, key: str) -> Any:
        return self.db.undeprecate(self.at(key))

    def tag(self, key: str, name: str) -> Any:
        return self.db.tag(self.at(key), name)

    def get(self, key: str, tag: str | None = None) -> str | None:
        return getattr(self.db.view().get(self.at(key), tag=tag), "content", None)

    def count(self, key: str) -> int:
        return len(self.db.view().history(self.at(key)))

    def size(self) -> int:
        return len(self.db.view().find(type="belief", world=self.space.strip("/").split("/")[-1]))

    def has_edge(self, key: str, kind: str, to: str | None = None) -> bool:
        refs = {edge.target for edge in self.db.view().edges(self.at(key), type=kind, direction="out")}
        return bool(refs) if to is None else self.db.view().reference_of(self.at(to)) in refs


def _revised(s: Suite, *values: str) -> bool:
    """Each revision is a version of its own, the last one holds, and no item has come or gone."""
    before, size = s.count("a"), s.size()
    assert all(s.revise("a", value) for value in values) and s.has_edge("a", "derived_from", "a")
    return (s.get("a"), s.count("a"), s.size()) == (values[-1], before + len(values), size)


def _apart(s: Suite, *others: str) -> bool:
    """Nothing else has changed: one version, and what it said."""
    return all(
        (s.get(each), s.count(each), s.has_edge(each, "derived_from", "a")) == (each, 1, False) for each in others
    )


def _gone(s: Suite) -> bool:
    """What is contracted is gone, and only that; what was made of it is there, and says so; it can be had back."""
    revisions = s.count("a")
    assert s.contract("a") and s.get("a") is None
    leaves = [each for each in "bc" if s.has_edge(each, "derived_from", "a")]
    assert all(s.get(each) == each and s.count(each) == 1 for each in "bcd")
    return bool(leaves) == s.has_edge("b", "derived_from") and bool(s.restore("a")) and s.count("a") == revisions


SHAPES: dict[str, tuple[str, ...]] = {
    "simple": (),
    "multi_item": ("also e",),
    "chain": ("b derived_from a", "c derived_from b", "d depends_on a"),
    "temporal": ("revise", "revise"),
    "adversarial": ("revise to a", "also A", "also aa", "b derived_from a", *["revise"] * 10),
}
"""What is said before: beside an item ``a`` with others that say their own names."""
CELLS: dict[str, Any] = {
    "K*2": lambda s: _revised(s, "new") and _revised(s, "New") and _revised(s, "a long value, " * 50),
    "K*3": lambda s: _revised(s, "new") and _apart(s, "d"),
    "K*4": lambda s: bool(s.add("f", "f")) and _apart(s, "f", "d") and s.get("a") is not None and _revised(s, "new"),
    "K*5": lambda s: _revised(s, "b", "c", "d") and _apart(s, "d"),
    "K*6": lambda s: _revised(s, "same", "same") and _revised(s, "other", "same"),
    "Relevance": _gone,
    "Core-Retainment": lambda s: bool(s.tag("a", "initial")) and _gone(s) and s.get("a", "initial") == s.get("a"),
}
"""What has to come of each postulate, after any of the shapes."""


@pytest.mark.parametrize("postulate", CELLS)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_cell_of_the_published_suite_passes_by_one_line_a_method(
    suite: Adapter, shape: str, postulate: str
) -> None:
    s = Suite(suite.db, f"{shape} {postulate}".replace("*", ""))
    for key in "abcd":
        assert s.add(key, key)
    assert s.size() == 4
    for step in SHAPES[shape]:
        match step.split():
            case ["also", key]:
                assert s.add(key, key)
            case ["revise", *value]:
                assert s.revise("a", value[-1] if value else f"value {s.count('a')}")
            case [source, kind, target]:
                assert s.edge(source, kind, target)
    assert CELLS[postulate](s)
