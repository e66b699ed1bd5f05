"""The AGM postulates on belief bases, beside a plain oracle: K*2 to K*6, Relevance, Core-Retainment; Recovery fails.

The oracle keeps of each item what its current version says and what its published one says, as sets, and applies the
definitions to these. Each run has items of its own in one store.
"""

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, NamedTuple

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

import worlddb
from worlddb import Database, ManualClock

SINGLE = {"type", "title", "summary", "status"}
TYPES = ("Preference", "Fact", "Inferred")
"""One item of each kind: compared by recency, by support, by confidence."""
EXAMPLES, SOAK = 15, 10_000
STEPS = 10


class Said(NamedTuple):
    """A version: what it says, the commit that wrote it, and the version that it brings back."""

    claims: frozenset[tuple[str, str]]
    seq: int
    restores: int | None = None


class Store:
    """One store for all runs, its time always going on."""

    def __init__(self, folder: Any) -> None:
        self.clock = ManualClock(worlddb.parse_time("2026-01-01"))
        self.db: Database = worlddb.open(folder, author="ada", clock=self.clock, embedder=None)
        self.db.set_beliefs(tags=["published"], single=["status"])

    def tick(self) -> None:
        self.clock.advance(1_000_000)


class Item:
    """What the oracle knows of an item."""

    def __init__(self, ref: str, kind: str, claims: Iterable[tuple[str, str]], seq: int) -> None:
        self.ref, self.kind = ref, kind
        self.versions = [Said(frozenset(claims), seq)]
        self.current: int | None = 0
        self.published: int | None = None
        self.supported = self.depended = 0

    def bearing(self) -> set[int]:
        return {number for number in (self.current, self.published) if number is not None}

    def claims(self) -> set[tuple[str, str]]:
        return {claim for number in self.bearing() for claim in self.versions[number].claims}

    def add(self, claims: Iterable[tuple[str, str]], seq: int, restores: int | None = None) -> int:
        self.versions.append(Said(frozenset(claims), seq, restores))
        return len(self.versions) - 1

    def rank(self, claim: tuple[str, str]) -> tuple[int, float, int, int]:
        found = []
        for number in self.bearing():
            if claim in self.versions[number].claims:
                since = number
                while since and claim in self.versions[since - 1].claims:
                    since -= 1
                seq = self.versions[since].seq
                kind = next((value for name, value in self.versions[number].claims if name == "type"), "")
                sure = [float(value) for name, value in self.versions[number].claims if name == "confidence"]
                measure, amount = {
                    "Preference": (1, float(seq)),
                    "Inferred": (0, sure[0] if len(sure) == 1 else 0.0),
                }.get(kind, (2, float(self.supported)))
                found.append((measure, amount, self.depended, seq))
        return max(found)


def conflicting(claims: Iterable[tuple[str, str]], given: Iterable[tuple[str, str]]) -> set[tuple[str, str]]:
    said = {name: value for name, value in given if name in SINGLE}
    return {(name, value) for name, value in claims if name in said and said[name] != value}


def claims_of(given: dict[str, Any]) -> set[tuple[str, str]]:
    return {
        (name, each.strip() if isinstance(each, str) else str(each))
        for name, value in given.items()
        for each in (value if isinstance(value, list) else [value])
    }


values = st.fixed_dictionaries(
    {},
    optional={
        "summary": st.sampled_from(["blue", " blue ", "black", "red"]),
        "title": st.sampled_from(["colour", "color"]),
        "status": st.sampled_from(["open", "closed", 1]),
        "topic": st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=2),
        "fact": st.sampled_from(["x", "y"]),
    },
).filter(bool)
items = st.integers(0, len(TYPES) - 1)


class EngineAndOracle(RuleBasedStateMachine):
    """Believes, expands, contracts, publishes, rolls back and takes back on three items of different kinds."""

    store: ClassVar[Store]

    @initialize(said=st.tuples(values, values, values))
    def begin(self, said: tuple[dict[str, Any], ...]) -> None:
        db = self.store.db
        self.store.tick()
        self.world = db.create("Space", "run").ref
        self.items: list[Item] = []
        for kind, given in zip(TYPES, said, strict=True):
            sure = {"confidence": 0.5} if kind == "Inferred" else {}
            fields = {name: value for name, value in given.items() if name not in ("title", "summary")} | sure
            made = db.create(
                kind,
                given.get("title", ""),
                content=given.get("summary", ""),
                properties=fields,
                world=self.world,
                resolve=False,
            )
            claims = claims_of(given | sure) | {("type", kind)}
            self.items.append(Item(made.ref, kind, claims, made.seq))
        self.store.tick()

    def base(self) -> set[tuple[str, str, str]]:
        return {(item.ref, *claim) for item in self.items for claim in item.claims()}

    @rule(at=items, given=values, whole=st.booleans())
    def believe(self, at: int, given: dict[str, Any], whole: bool) -> None:
        item, before, claims = self.items[at], self.base(), claims_of(given)
        receipt = self.store.db.believe(item.ref, given, whole=whole)
        assert receipt, receipt
        cur = item.versions[item.current].claims if item.current is not None else frozenset()
        kept = {claim for claim in cur if claim[0] in ("type", "title")} if whole else set(cur)
        new = (kept - conflicting(kept, claims)) | claims
        published = None if item.published is None else item.versions[item.published].claims
        if item.current is None or new != cur:
            item.current = item.add(new, receipt.seq)
        if published is not None and conflicting(published, claims):
            left = (set(published) - conflicting(published, claims)) | claims
            item.published = item.current if left == new else item.add(left, receipt.seq)
        after, asked = self.seen(), {(item.ref, *claim) for claim in claims}
        assert asked <= after  # K*2 Success
        assert after <= before | asked  # K*3 Inclusion
        if not whole and not self.inconsistent(before | asked):
            assert before | asked <= after  # K*4 Vacuity
        # K*5 Consistency; who tags, or rolls back, may make a base inconsistent, and that is mended where A speaks.
        assert not self.inconsistent(after) or self.inconsistent(before)
        assert not conflicting({atom[1:] for atom in after if atom[0] == item.ref}, claims)
        again = {name: f" {value} " if isinstance(value, str) else value for name, value in given.items()}
        if not whole:
            self.store.tick()
            assert self.store.db.believe(item.ref, again).events == 0  # K*6 Extensionality: the same is no change

    @rule(at=items, given=values)
    def expand(self, at: int, given: dict[str, Any]) -> None:
        item, before, claims = self.items[at], self.base(), claims_of(given)
        receipt = self.store.db.expand(item.ref, given)
        if any(conflicting(item.versions[number].claims, claims) for number in item.bearing()):
            assert not receipt and receipt.outcome.code == "conflicts"
            return
        cur = item.versions[item.current].claims if item.current is not None else frozenset()
        if item.current is None or not claims <= cur:
            item.current = item.add(cur | claims, receipt.seq)
        assert self.seen() == before | {(item.ref, *claim) for claim in claims}

    @rule(data=st.data(), whole=st.booleans(), each=st.booleans(), undo=st.booleans(), planned=st.booleans())
    def contract(self, data: st.DataObject, whole: bool, each: bool, undo: bool, planned: bool) -> None:
        before = self.base()
        # In an order that does not depend on references, which are other ones in every run.
        known = [(item.ref, *claim) for item in self.items for claim in sorted(item.claims())]
        known.append((self.items[0].ref, "fact", "never said"))
        asked = data.draw(st.lists(st.sampled_from(known), min_size=1, max_size=3, unique=True))
        plan = self.store.db.view().contraction(asked, whole=whole, each=each)
        receipt = self.store.db.contract(plan) if planned else self.store.db.contract(asked, whole=whole, each=each)
        assert receipt, receipt
        goes = {atom for atom in asked if atom in before}
        if not each and len(asked) > 1:
            by_ref = {item.ref: item for item in self.items}
            ranks = {atom: by_ref[atom[0]].rank(atom[1:]) for atom in asked if atom in before}
            goes = {atom for atom, rank in ranks.items() if rank == min(ranks.values())}
            goes = goes if set(asked) <= before else set()
        old = [(item.current, item.published) for item in self.items]
        for item in self.items:
            gone = {atom[1:] for atom in goes if atom[0] == item.ref}
            self.taken(item, gone, whole, receipt.seq)
        after = self.seen()
        assert set(plan.goes) == goes and set(plan.asked) - goes == set(plan.stays)
        removed = before - after
        assert {atom for change in plan.changes for atom in change.removes} == goes
        if whole:
            versions = {(change.item, change.version) for change in plan.changes}
            assert all(any(atom[0] == ref for ref, _ in versions) for atom in removed)
        else:
            assert removed == goes
            for atom in removed:  # Relevance and Core-Retainment: a subset of the base that needs it to entail A
                others = (set(asked) - {atom}) if not each else set()
                assert others <= before and atom in asked
        assert after <= before
        if undo and receipt.events:
            self.store.tick()
            undone = self.store.db.undo(receipt)
            assert undone, undone
            for item, (current, published) in zip(self.items, old, strict=True):
                if current is not None and item.current != current:
                    item.current = item.add(item.versions[current].claims, undone.seq, current)
                item.published = published
            assert self.seen() == before

    def taken(self, item: Item, gone: set[tuple[str, str]], whole: bool, seq: int) -> None:
        for number in sorted(item.bearing()):
            left = item.versions[number].claims - gone
            if left == item.versions[number].claims:
                continue
            new = None if whole else item.add(left, seq)
            if item.published == number:
                item.published = new
            if item.current == number:
                item.current = new

    @rule(at=items)
    def publish(self, at: int) -> None:
        item = self.items[at]
        if item.current is not None:
            assert self.store.db.tag(item.ref, "published")
            item.published = item.current

    @rule(at=items, back=st.integers(1, 3))
    def rollback(self, at: int, back: int) -> None:
        item = self.items[at]
        number = max(0, len(item.versions) - 1 - back)
        receipt = self.store.db.rollback(item.ref, number + 1)
        if item.current is None or number not in (item.current, item.versions[item.current].restores):
            item.current = item.add(item.versions[number].claims, receipt.seq, number)

    @rule(one=items, other=items, kind=st.sampled_from(["derived_from", "causes"]))
    def link(self, one: int, other: int, kind: str) -> None:
        source, target = self.items[one], self.items[other]
        if source.current is not None and target.current is not None and one > other:
            assert self.store.db.link(source.ref, kind, target.ref)
            target.supported += kind == "derived_from"

    def inconsistent(self, base: Iterable[tuple[str, str, str]]) -> bool:
        said: dict[tuple[str, str], set[str]] = {}
        for ref, name, value in base:
            if name in SINGLE:
                said.setdefault((ref, name), set()).add(value)
        # Two versions that bear beliefs may differ by themselves: publishing is no revision.
        return any(len(each) > 1 for each in said.values())

    def seen(self) -> set[tuple[str, str, str]]:
        self.store.tick()
        return {tuple(atom) for atom in self.store.db.view().belief_base(self.world)}  # type: ignore[misc]

    @invariant()
    def the_base_is_the_oracles(self) -> None:
        if getattr(self, "items", None):
            assert self.seen() == self.base()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    made = Store(tmp_path_factory.mktemp("postulates"))
    yield made
    made.db.close()


def run(store: Store, examples: int) -> None:
    EngineAndOracle.store = store
    run_state_machine_as_test(
        EngineAndOracle, settings=settings(max_examples=examples, stateful_step_count=STEPS, deadline=None)
    )


def test_the_postulates_hold_in_any_history(store: Store) -> None:
    run(store, EXAMPLES)


@pytest.mark.soak
def test_the_postulates_hold_in_ten_thousand_histories(store: Store) -> None:
    run(store, SOAK)
