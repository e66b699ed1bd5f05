"""The answer to a question is the beginning of the answer that has more hits, field by field."""

import random
from collections.abc import Iterator
from typing import Final

import pytest

import worlddb
from worlddb import Database, ManualClock
from worlddb.query.recall.ranking import STEADY

WORDS: Final = (
    *("rent", "flat", "lease", "quay", "harbour", "bread", "river", "Mara", "deposit"),
    *("garden", "key", "street", "boat", "market", "bridge"),
)
QUESTIONS: Final = (
    *("how much is the rent of the flat?", "when did Mara move to the quay?", "bread and boat", "what about Mara?"),
    *("which key?", "the market street bridge", "how old is the boat?", "what changed about the lease?"),
)
WANTED: Final = (1, 2, 3, 5, 6, 10, 11, 18, 31)


@pytest.fixture(params=[1, *(pytest.param(each, marks=pytest.mark.soak) for each in (2, 3))], scope="module")
def asked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """Sessions of turns about an entity, some of which contradict or supersede earlier ones."""
    draw = random.Random(request.param)
    clock = ManualClock(worlddb.parse_time("2024-06-01T12:00:00Z"))
    with worlddb.open(tmp_path_factory.mktemp("asked") / "store", clock=clock, background=False) as db:
        mara = db.create("Entity", "Mara").ref
        facts: list[str] = []
        for number in range(12):
            session = db.create("Session", f"session {number}", valid_from=f"2024-0{1 + number % 5}-01").ref
            for _ in range(8):
                said = " ".join(draw.choices(WORDS, k=draw.randint(2, 9)))
                text = f"{said} {draw.choice(('', '?', '700', 'in May'))}".strip()
                facts.append(db.create("Turn", "", content=text, world=session, resolve=False).ref)
                if "Mara" in said:
                    db.link(facts[-1], "refers_to", mara)
        for _ in range(12):
            one, other = draw.sample(facts, 2)
            db.link(one, draw.choice(("contradicts", "refers_to")), other)
        db.embed()
        yield db


@pytest.mark.parametrize("neighbours", [0, 4])
def test_fewer_hits_are_the_beginning_of_more(asked: Database, neighbours: int) -> None:
    view = asked.view()
    for question in QUESTIONS:
        whole = view.recall(question, k=STEADY, neighbours=neighbours).hits
        assert len(whole) > 10
        for k in WANTED:
            assert view.recall(question, k=k, neighbours=neighbours).hits == whole[:k], (question, k)


def test_an_answer_is_judged_by_the_same_hits_however_few_are_wanted(asked: Database) -> None:
    view = asked.view()
    for question in (*QUESTIONS, "where did Mara grow up?", "who repairs the organ?"):
        found = [view.recall(question, k=k) for k in range(1, 21)]
        assert {(each.weak, each.confidence) for each in found} == {(found[0].weak, found[0].confidence)}, question
