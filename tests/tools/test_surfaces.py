"""A question has one answer, whether the library, the command line, MCP, the agents' functions or LangGraph ask it."""

import copy
import json
import pickle
import random
from pathlib import Path
from typing import Any, Final

import pytest

import worlddb
from tests.support.faults import forge
from tests.tools.mcp.test_mcp_tools import call
from worlddb import TRUST_LEVELS, Database, Hit, World, format_time
from worlddb.tools.agents import call as run
from worlddb.tools.agents import recall
from worlddb.tools.cli.main import main
from worlddb.tools.mcp import resources
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

Told = list[tuple[Any, ...]]
"""Of each hit: id, text, score, when it was learned, who wrote it, what it rests on, if on more, and its trust."""


@pytest.fixture(scope="module", params=[1, pytest.param(2, marks=pytest.mark.soak)])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed store, which the tests read in copies."""
    draw, folder = random.Random(request.param), tmp_path_factory.mktemp("made") / "store"
    with worlddb.open(folder, author="assistant", background=False) as db:
        said: list[str] = []
        for number in range(90):
            text = f"{' '.join(draw.choices(WORDS, k=draw.randint(2, 9)))} {number}"
            said.append(db.create("Fact", "", content=text, resolve=False).ref)
        for _ in range(15):
            db.link(draw.choice(said[40:]), draw.choice(("contradicts", "refers_to")), draw.choice(said[:40]))
        for number in range(40, 90):
            for base in draw.sample(said[:number], 2):
                db.link(said[number], "derived_from", base)
        db.trust("fair")
        for ref in draw.sample(said, 6):
            db.trust(draw.choice(("none", "low", "full")), world=ref)
        db.embed()
    return folder


@pytest.fixture
def store(made: Path, tmp_path: Path) -> Path:
    return forge.copy_store(made, tmp_path / "store")


def in_library(db: Database, question: str, limit: int, min_trust: str | None = None) -> Told:
    hits = db.view().recall(question, k=limit, min_trust=min_trust).hits
    return [
        (hit.ref, hit.content, hit.score, format_time(hit.ingested_at), hit.author, *resting(hit), hit.trust)
        for hit in hits
    ]


def resting(found: Hit | World) -> tuple[Any, bool]:
    """What a hit or a world rests on as it is told outside of the library: the nearest 20."""
    shown = [
        (base.ref, base.steps, base.author, format_time(base.ingested_at), base.source, base.trust)
        for base in found.rests_on[:20]
    ]
    return shown, found.rests_on_more or len(found.rests_on) > 20


def told(found: Any) -> Told:
    """Hits as MCP and the agents' functions tell them."""
    return [
        (each["id"], each["text"], each["score"], each["learned_at"], each["author"], *told_bases(each), each["trust"])
        for each in found
    ]


def told_bases(each: Any) -> tuple[Any, bool]:
    fields = "id", "steps", "author", "learned_at", "source", "trust"
    return [tuple(base[field] for field in fields) for base in each["rests_on"]], each["rests_on_more"]


@pytest.mark.parametrize("limit", LIMITS)
def test_library_mcp_and_agents_give_the_same_hits_with_the_same_scores(store: Path, limit: int) -> None:
    with worlddb.open(store, background=False) as db:
        desk = Session(db)
        for question in QUESTIONS:
            expected = in_library(db, question, limit)
            assert len(expected) == limit
            assert told(call(desk, "memory_recall", query=question, limit=limit)["memories"]) == expected
            assert told(recall(db, question, limit=limit)) == expected
            assert told(json.loads(run(db, "recall", {"query": question, "limit": limit}))) == expected
    assert any(hit[5] for hit in expected) or limit < 10


@pytest.mark.parametrize("least", TRUST_LEVELS)
def test_each_read_filters_by_trust(store: Path, least: str, capsys: pytest.CaptureFixture[str]) -> None:
    with worlddb.open(store, background=False) as db:
        desk, known = Session(db), db.head().seq
        for question in QUESTIONS[:2]:
            expected = in_library(db, question, 10, least)
            assert {hit[7] for hit in expected} <= set(TRUST_LEVELS[TRUST_LEVELS.index(least) :])
            asked: Any = {"query": question, "limit": 10, "min_trust": least}
            assert told(call(desk, "memory_recall", **asked)["memories"]) == expected
            past = told(call(desk, "memory_as_of", known=known, **asked)["memories"])
            assert [hit[:2] for hit in past] == [hit[:2] for hit in expected]
            assert told(recall(db, question, limit=10, min_trust=least)) == expected
            assert told(json.loads(run(db, "recall", asked))) == expected
            # A model may ask for more than the program does, and not for less.
            for asks in (*TRUST_LEVELS[: TRUST_LEVELS.index(least) + 1], None):
                given = json.dumps({"query": question, "limit": 10, "min_trust": asks})
                assert told(json.loads(run(db, "recall", given, min_trust=least))) == expected
        assert "error" in json.loads(run(db, "recall", {"query": "x"}, min_trust="much"))
    assert main(["--store", str(store), "recall", QUESTIONS[1], "--limit", "10", "--min-trust", least, "--json"]) == 0
    assert [(hit["ref"], hit["trust"]) for hit in json.loads(capsys.readouterr().out)["hits"]] == [
        (hit[0], hit[7]) for hit in expected
    ]


def test_a_memory_that_is_read_says_the_same_everywhere(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with worlddb.open(store, background=False) as db:
        desk = Session(db)
        worlds = [world for world in db.view().find(type="Fact") if world.rests_on][:12]
        lines = {line["ref"]: line for line in db.export_lines() if line["kind"] == "world"}
        for world in worlds:
            for shown in (call(desk, "memory_read", id=world.ref), looked_up(desk, world.ref)):
                assert (*told_bases(shown), shown["trust"]) == (*resting(world), world.trust)
            assert [base["ref"] for base in lines[world.ref]["rests_on"]] == [base.ref for base in world.rests_on]
            text = resources.read(desk, resources.TEMPLATES, resources.world_uri(world.ref)).text
            assert (
                f"depends on {world.rests_on[0].ref[:12]}, written by assistant" in text
                and f"trust {world.trust}" in text
            )
    assert main(["--store", str(store), "show", worlds[0].ref, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    shown = shown.get("world", shown)
    assert (shown["trust"], [base["ref"] for base in shown["rests_on"]]) == (
        worlds[0].trust,
        [base.ref for base in worlds[0].rests_on],
    )


def looked_up(desk: Session, ref: str) -> Any:
    [found] = call(desk, "memory_as_of", id=ref, known=desk.db.head().seq)["memories"]
    return found


@pytest.mark.parametrize("limit", LIMITS)
def test_the_command_line_gives_the_same_too(store: Path, limit: int, capsys: pytest.CaptureFixture[str]) -> None:
    with worlddb.open(store, background=False) as db:
        expected = in_library(db, QUESTIONS[0], limit)
    assert main(["--store", str(store), "recall", QUESTIONS[0], "--limit", str(limit), "--json"]) == 0
    hits = json.loads(capsys.readouterr().out)["hits"]
    assert [
        (hit["ref"], hit["content"], hit["score"], hit["ingested_at"], hit["author"], *cli_bases(hit), hit["trust"])
        for hit in hits
    ] == expected


def cli_bases(hit: Any) -> tuple[Any, bool]:
    fields = "ref", "steps", "author", "ingested_at", "source", "trust"
    shown = [tuple(base[field] for field in fields) for base in hit["rests_on"][:20]]
    return shown, hit["rests_on_more"] or len(hit["rests_on"]) > 20


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


def test_items_of_langgraph_say_what_they_rest_on_and_a_search_leaves_out_what_is_not_trusted(tmp_path: Path) -> None:
    pytest.importorskip("langgraph.store.memory", reason="the extra langgraph is not installed")
    from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
    from langgraph.store.base import Item, SearchItem

    from worlddb.tools.agents import WorldDBStore

    with worlddb.open(tmp_path / "store", author="graph", background=False) as db:
        graph = WorldDBStore(db)
        for number in range(6):
            graph.put(("users", "ana"), f"note {number}", {"text": f"the rent of the flat {number}"})
        first, second, *_ = db.view().find(type="Item")
        db.link(second.ref, "derived_from", first.ref)
        plain = graph.get(("users", "ana"), second.name)
        db.trust("low", world=first.ref)
        world = db.view().get(second.ref)
        item = graph.get(("users", "ana"), second.name)
        assert plain is not None and item is not None and world is not None and world.trust == "low"
        found = {each.key: each for each in graph.search(("users",), query="rent of the flat")}
        listed = {each.key: each for each in graph.search(("users",))}
        for shown in (item, found[second.name], listed[second.name]):
            assert shown is not None
            fields = {name: getattr(shown, name) for name in ("rests_on", "rests_on_more", "trust")}
            assert (*told_bases(fields), fields["trust"]) == (*resting(world), "low")
        assert (plain.value, plain.dict(), plain == item) == (item.value, item.dict(), True)
        trusting = WorldDBStore(db, min_trust="fair")
        for query in ("rent of the flat", None):
            kept = {each.key for each in trusting.search(("users",), query=query)}
            assert kept == listed.keys() - {first.name, second.name}
        with pytest.raises(worlddb.InputError, match="no level of trust"):
            WorldDBStore(db, min_trust="much")
        # A checkpoint and a pickle hold it as the item that every store has.
        serde = JsonPlusSerializer()
        for told_item, kind in ((item, Item), (found[second.name], SearchItem)):
            for again in (
                serde.loads_typed(serde.dumps_typed(told_item)),
                pickle.loads(pickle.dumps(told_item)),
                copy.deepcopy(told_item),
            ):
                assert type(again) is kind and again == told_item and again.dict() == told_item.dict()


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


def test_what_rests_on_what_ended_says_so_everywhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = tmp_path / "store"
    with worlddb.open(store, author="keeper", embedder=None) as db:
        topic = db.create("Topic", "the roof", valid_from="2020-01-01").ref
        base, made = (
            db.create("Fact", "", content=text, world=topic, valid_from="2020-01-01", resolve=False).ref
            for text in ("The roof is new.", "The roof will last.")
        )
        db.link(made, "derived_from", base)
        db.retire(base, at="2023-01-01", why="it was old")
        why = f"it was made of {base}, which ended 2023-01-01T00:00:00Z"
        desk = Session(db)
        assert call(desk, "memory_read", id=made)["stale"] == [why]
        assert looked_up(desk, made)["stale"] == [why]
        (entry,) = call(desk, "memory_history", id=made)["versions"]
        assert entry["stale"] == [why]
        text = resources.read(desk, resources.TEMPLATES, resources.world_uri(made)).text
        assert f"may no longer be valid: {why}" in text
        db.retire(topic, at="2024-01-01")
        inside = f"it lies in {topic}, which has ended"
        for answer in (call(desk, "memory_recall", query="will the roof last?")["memories"], recall(db, "roof last")):
            assert [hit["stale"] for hit in answer if hit["id"] == made] == [[why, inside]]
        own = recall(db, "will the roof last?", world=topic)
        assert [hit["stale"] for hit in own if hit["id"] == made] == [[why, inside]]
    told = f"{base[:12]} ended 2023-01-01"
    for argv in (["show", made], ["history", made], ["recall", "will the roof last?"], ["stale"]):
        assert main(["--store", str(store), *argv]) == 0
        shown = capsys.readouterr().out
        assert told in shown, argv
        assert (topic[:12] in shown and "which has ended" in shown) == (argv[0] in ("recall", "show", "stale"))
    assert main(["--store", str(store), "stale", "--json"]) == 0
    (world,) = json.loads(capsys.readouterr().out)["stale"]
    assert world["stale"][0]["since"] == "2023-01-01T00:00:00Z" and world["stale"][0]["path"] == [base]
    assert main(["--store", str(store), "stale", "--valid", "2022-01-01"]) == 0
    assert "Nothing depends on a world that has ended." in capsys.readouterr().out
