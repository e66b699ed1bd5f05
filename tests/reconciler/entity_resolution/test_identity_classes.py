"""Nothing is merged unasked, no class holds a rejected pair, one document has it all."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.model.stores import new_store, refusal, worlds
from worlddb import Database, Turn

NAMES = ["Ann Lee", "Anne Lee", "Ann Li", "Lee Ann", "Än Lee", "Bob"]
COMMANDS = ["create", "ingest", "link", "alias", "revise", "reject", "undo", "retire", "reassert", "move", "erase"]


@examples(8, deadline=None)
@given(
    steps=st.lists(
        st.tuples(st.sampled_from(COMMANDS), st.sampled_from(NAMES), st.integers(0, 9), st.integers(0, 9)), max_size=14
    )
)
def test_no_commands_without_accept_make_two_worlds_one(steps: list[tuple[str, str, int, int]]) -> None:
    with new_store() as db:
        refs = [db.create("Entity", name, resolve="all").ref for name in NAMES[:3]]
        home = db.create("Topic", "elsewhere").ref
        for command, name, one, other in steps:
            this, that = refs[one % len(refs)], refs[other % len(refs)]
            _do(db, command, name, (this, that, home), refs)
        for ref in refs:
            assert db.view().equivalence_class(ref) == [ref]
        assert all(proposal.status != "accepted" for proposal in db.proposals(status=None))


def _do(db: Database, command: str, name: str, ends: tuple[str, str, str], refs: list[str]) -> None:
    this, that, home = ends
    proposals = db.proposals(status=None)
    calls: dict[str, Any] = {
        "create": lambda: db.create("Entity", name, resolve="all"),
        "ingest": lambda: db.ingest([Turn(text="hello", speaker=name), Turn(text="hi", speaker=name.lower())]),
        "link": lambda: db.link(this, "same_as", that) if this != that else None,
        "alias": lambda: db.alias(this, name),
        "revise": lambda: db.revise(this, name=name),
        "reject": lambda: db.reject(proposals[-1]) if proposals else None,
        "undo": lambda: db.undo(proposals[-1]) if proposals else None,
        "retire": lambda: db.retire(this),
        "reassert": lambda: db.reassert(this),
        "move": lambda: db.move(this, home),
        "erase": lambda: db.erase(this, reason="r"),
    }
    receipt = calls[command]()
    if receipt and command in ("create", "reassert"):
        refs.append(receipt.ref)


def test_a_class_never_joins_a_rejected_pair_and_the_refusal_names_the_chain() -> None:
    with new_store() as db:
        one, two, three, four = worlds(db, 4)
        db.reject(db.link(one, "same_as", four))
        for source, target in ((one, two), (three, four)):
            assert db.accept(db.link(source, "same_as", target))
        last = db.link(two, "same_as", three)
        before = db.head()
        refused = db.accept(last)
        assert refusal(refused) == "joins_rejected_pair"
        chain = " = ".join(ref[:12] for ref in (one, two, three, four))
        assert chain in refused.outcome.reason
        assert db.head() == before
        db.revise(one, content="they were one after all")
        assert db.accept(db.link(one, "same_as", four))
        assert db.accept(last)
        assert db.view().equivalence_class(one) == [one, two, three, four]


def test_a_pair_that_others_make_one_cannot_be_rejected_until_the_chain_is_cut() -> None:
    with new_store() as db:
        one, two, three = worlds(db, 3)
        pair = db.link(one, "same_as", three)
        link = db.link(one, "same_as", two)
        db.accept(link)
        db.accept(db.link(three, "same_as", two))
        refused = db.reject(pair)
        assert refusal(refused) == "joined_by_others"
        assert " = ".join(ref[:12] for ref in (one, two, three)) in refused.outcome.reason
        db.undo(link)
        assert db.reject(pair)


@examples(8, deadline=None)
@given(steps=st.lists(st.tuples(st.sampled_from(["accept", "reject", "undo"]), st.integers(0, 9)), max_size=20))
def test_no_class_ever_holds_a_rejected_pair(steps: list[tuple[str, int]]) -> None:
    with new_store() as db:
        refs = worlds(db, 5)
        pairs = [(one, other) for at, one in enumerate(refs) for other in refs[at + 1 :]]
        proposals = [db.link(one, "same_as", other).ref for one, other in pairs]
        for step, which in steps:
            getattr(db, step)(proposals[which])
            classes = {ref: db.view().equivalence_class(ref) for ref in refs}
            for proposal in db.proposals(status="rejected"):
                assert proposal.target not in classes[proposal.source]


def test_all_that_is_known_of_an_identity_is_one_document_and_undo_takes_it_apart() -> None:
    with new_store() as db:
        one = db.create("Entity", "Sarah Chen", aliases=["SC"], source={"file": "a"}, resolve=False)
        other = db.create("Entity", "S. Chen", source={"file": "b"}, resolve=False)
        note = db.create("Fact", "a letter", content="She signed.", source={"file": "c"}, resolve=False)
        db.revise(one, name="Sarah Chen-Lopez", source={"file": "d"})
        said = db.link(note, "refers_to", other, why="her signature")
        same = db.link(one, "same_as", other)
        before = db.view().export_identity(one)
        assert before.refs == (one.ref,) and before.facts == ()
        db.accept(same)
        whole = db.view().export_identity(other)
        assert whole == db.view().export_identity(one)
        assert whole.refs == (one.ref, other.ref)
        assert set(whole.names) == {"Sarah Chen", "Sarah Chen-Lopez", "SC", "S. Chen"}
        assert {source["file"] for source in whole.sources} == {"a", "b", "c", "d"}
        assert [version.number for version in whole.versions[one.ref]] == [1, 2]
        assert [edge.ref for edge in whole.links] == [same.ref]
        (fact,) = whole.facts
        assert fact.edge.ref == said.ref and fact.edge.why == "her signature"
        assert fact.world is not None and fact.world.content == "She signed."
        db.undo(same)
        assert db.view().export_identity(one) == before
        assert db.view(seq=same.seq + 1).export_identity(one).refs == whole.refs
