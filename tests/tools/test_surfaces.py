"""A question has one answer, whether the library, the command line, MCP, the agents' functions or LangGraph ask it."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

import worlddb
from tests.tools.mcp.test_mcp_tools import call
from worlddb import Database, format_time
from worlddb.tools.agents import recall
from worlddb.tools.cli.main import main
from worlddb.tools.mcp.session import Session

WORDS: Final = (
    "rent",
    "flat",
    "lease",
    "quay",
    "harbour",
    "bread",
    "river",
    "deposit",
    "garden",
    "key",
    "boat",
    "market",
)
QUESTIONS: Final = (
    *("how much is the rent of the flat?", "bread from the market", "which key?", "the boat on the river"),
    *("who keeps the garden?", "a deposit for the lease", "harbour", "quay or market?"),
)
LIMITS: Final = (1, 5, 10, 11, 20, 31)

Told = list[tuple[str, str, float, str, str]]
"""Of each hit: id, text, score, when it was learned and who wrote it."""


@pytest.fixture(params=[1, 2])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    draw = random.Random(request.param)
    with worlddb.open(tmp_path / "store", author="assistant", background=False) as db:
        said: list[str] = []
        for number in range(90):
            text = f"{' '.join(draw.choices(WORDS, k=draw.randint(2, 9)))} {number}"
            said.append(db.create("Fact", "", content=text, resolve=False).ref)
        for _ in range(15):
            db.link(draw.choice(said[40:]), draw.choice(("contradicts", "refers_to")), draw.choice(said[:40]))
        db.embed()
    yield tmp_path / "store"


def in_library(db: Database, question: str, limit: int) -> Told:
    hits = db.view().recall(question, k=limit).hits
    return [(hit.ref, hit.content, hit.score, format_time(hit.ingested_at), hit.author) for hit in hits]


def told(found: Any) -> Told:
    """Hits as MCP and the agents' functions tell them."""
    return [(each["id"], each["text"], each["score"], each["learned_at"], each["author"]) for each in found]


@pytest.mark.parametrize("limit", LIMITS)
def test_library_mcp_and_agents_give_the_same_hits_with_the_same_scores(store: Path, limit: int) -> None:
    with worlddb.open(store, background=False) as db:
        desk = Session(db)
        for question in QUESTIONS:
            expected = in_library(db, question, limit)
            assert len(expected) == limit
            assert told(call(desk, "memory_recall", query=question, limit=limit)["memories"]) == expected
            assert told(recall(db, question, limit=limit)) == expected


@pytest.mark.parametrize("limit", LIMITS)
def test_the_command_line_gives_the_same_too(store: Path, limit: int, capsys: pytest.CaptureFixture[str]) -> None:
    with worlddb.open(store, background=False) as db:
        expected = in_library(db, QUESTIONS[0], limit)
    assert main(["--store", str(store), "recall", QUESTIONS[0], "--limit", str(limit), "--json"]) == 0
    hits = json.loads(capsys.readouterr().out)["hits"]
    assert [(hit["ref"], hit["content"], hit["score"], hit["ingested_at"], hit["author"]) for hit in hits] == expected


def test_langgraph_searches_as_the_library_does(tmp_path: Path) -> None:
    pytest.importorskip("langgraph.store.memory", reason="the extra langgraph is not installed")
    from worlddb.tools.agents import WorldDBStore

    draw = random.Random(3)
    with worlddb.open(tmp_path / "store", background=False) as db:
        graph = WorldDBStore(db)
        for number in range(60):
            graph.put(("users", "ana"), f"note {number}", {"text": " ".join(draw.choices(WORDS, k=6))})
        view = db.view()
        inside = view.containers(view.find(type="Item")[0].ref)[0]
        for question in QUESTIONS:
            for limit in LIMITS:
                hits = view.recall(question, world=inside, k=limit).hits
                found = graph.search(("users", "ana"), query=question, limit=limit)
                assert [(item.key, item.score) for item in found] == [(hit.name, hit.score) for hit in hits]
                assert len(hits) == limit


def test_pages_of_an_answer_are_the_answer(store: Path) -> None:
    with worlddb.open(store, background=False) as db:
        desk = Session(db)
        for question in QUESTIONS:
            page = call(desk, "memory_recall", query=question, limit=7)
            found = told(page["memories"])
            while len(found) < 28:
                page = call(desk, "memory_recall", query=question, limit=7, cursor=page["next_cursor"])
                found += told(page["memories"])
            assert found == in_library(db, question, 28)
