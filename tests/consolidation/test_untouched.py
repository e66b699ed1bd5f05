"""What is pinned or tagged ``published`` is never touched by consolidations and dreams, whatever was written before."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

import worlddb

WORDS = st.lists(st.sampled_from(("deploy", "noon", "porto", "train", "rain", "colour")), min_size=2, max_size=5)
STALE = "stale"


def state_of(db: worlddb.Database, ref: str) -> Any:
    """All that is said of a world and of its edges, without what consolidation says of other worlds beside it."""
    view = db.view()
    found = view.get(ref, include_superseded=True, include_expired=True, include_deprecated=True)
    assert found is not None
    own = [each for each in view.edges(ref, include_superseded=True) if not _is_made(view, each)]
    said = (found.version, found.number, found.valid, found.closed, found.pinned, found.expires_at, found.deprecated)
    labels = tuple(each for each in found.labels if each != STALE)
    tags = {tag: view.get(ref, tag=tag, include_deprecated=True) for tag in ("published",) if _has(view, ref, tag)}
    numbers = {tag: None if each is None else each.number for tag, each in tags.items()}
    versions = [(each.number, each.content, each.valid, each.spans) for each in view.history(ref)]
    return said, labels, numbers, versions, sorted((each.ref, each.valid) for each in own)


def condemning(memories: Sequence[worlddb.AssessedMemory], /) -> list[worlddb.Assessment]:
    """Have all deprecated, labelled and changed."""
    return [worlddb.Assessment(each.ref, 0.1, True, "gone", ("seen",), {"mood": "old"}) for each in memories]


def _has(view: worlddb.View, ref: str, tag: str) -> bool:
    try:
        return view.get(ref, tag=tag, include_deprecated=True) is not None
    except worlddb.UnknownReference:
        return False


def _is_made(view: worlddb.View, edge: worlddb.Edge) -> bool:
    """Whether an edge is inferred, or one of a summary, which is made of others and touches none of them."""
    ends = (view.get(end, include_superseded=True) for end in (edge.source, edge.target))
    return "inferred" in edge.properties or any(end is not None and end.type == "Summary" for end in ends)


class Untouched(RuleBasedStateMachine):
    """Writes of all kinds, and consolidations and dreams among them."""

    topics: Bundle[str] = Bundle("topics")
    facts: Bundle[str] = Bundle("facts")

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.db = worlddb.open(Path(self.folder.name) / "store", author="ada", embedder=None)
        self.kept: set[str] = set()

    def teardown(self) -> None:
        self.db.close()
        self.folder.cleanup()

    @initialize(target=topics)
    def first(self) -> str:
        return str(self.db.create("Topic", "first").ref)

    @rule(target=topics, inside=topics)
    def topic(self, inside: str) -> str:
        return str(self.db.create("Topic", "topic", world=inside).ref)

    @rule(target=facts, inside=topics, words=WORDS)
    def fact(self, inside: str, words: list[str]) -> str:
        return str(self.db.create("Fact", " ".join(words), content=f"The {' '.join(words)}.", world=inside).ref)

    @rule(fact=facts, words=WORDS)
    def revise(self, fact: str, words: list[str]) -> None:
        self.db.revise(fact, content=" ".join(words))

    @rule(one=facts, other=facts, type=st.sampled_from(("causes", "derived_from", "contradicts", "depends_on")))
    def link(self, one: str, other: str, type: str) -> None:
        self.db.link(one, type, other)

    @rule(fact=facts, what=st.sampled_from(("retire", "deprecate", "undeprecate")))
    def end(self, fact: str, what: str) -> None:
        getattr(self.db, what)(fact)

    @rule(world=st.one_of(topics, facts), pinned=st.booleans())
    def keep(self, world: str, pinned: bool) -> None:
        if self.db.pin(world) if pinned else self.db.tag(world, "published"):
            self.kept.add(world)

    @rule(world=st.one_of(topics, facts))
    def unpin(self, world: str) -> None:
        self.db.unpin(world)
        if not _has(self.db.view(), world, "published"):
            self.kept.discard(world)

    @rule(limit=st.sampled_from((None, 1)))
    def consolidate(self, limit: int | None) -> None:
        before = {ref: state_of(self.db, ref) for ref in self.kept}
        self.db.consolidate(min_age=0, limit=limit)
        assert {ref: state_of(self.db, ref) for ref in self.kept} == before
        head = self.db.head()
        if limit is None:
            assert self.db.consolidate(min_age=0).events == 0 and self.db.head() == head

    @rule(judge=st.sampled_from((None, condemning)), ratio=st.sampled_from((0.1, 0.5, 0.9)))
    def dream(self, judge: Any, ratio: float) -> None:
        before = {ref: state_of(self.db, ref) for ref in self.kept}
        done = self.db.dream(judge, max_deprecation_ratio=ratio)
        assert {ref: state_of(self.db, ref) for ref in self.kept} == before
        assert not self.kept & {*done.deprecated, *done.labelled, *done.updated}
        head = self.db.head()
        assert self.db.dream(judge, max_deprecation_ratio=ratio).events == 0 and self.db.head() == head

    @invariant()
    def is_sound(self) -> None:
        assert all(self.db.view().get(ref, include_superseded=True) is not None for ref in self.kept)


TestUntouched = Untouched.TestCase
TestUntouched.settings = settings(max_examples=3, stateful_step_count=14, deadline=None)


@pytest.mark.soak
def test_for_long() -> None:
    long = settings(max_examples=200, stateful_step_count=50, deadline=None)
    run_state_machine_as_test(Untouched, settings=long)
