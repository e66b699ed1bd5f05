"""Enrichment: what is inferred of a text is recorded, found in its place, and goes with what it was made of."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import worlddb
from tests.consolidation.test_model_summarizer import Scripted as Server
from tests.consolidation.test_model_summarizer import openai, server
from tests.support.running import LocalRunner
from worlddb import (
    ContextEnricher,
    Database,
    EndpointEnricher,
    Enrichment,
    InputError,
    LimitExceeded,
    Occurrence,
    Segment,
    StaticEmbedder,
    Turn,
    View,
)
from worlddb.tools.mcp.session import Session

__all__ = ["server"]  # The fixture: a model on loopback that says what a test has it say.

TURNS = [
    Turn(text="I started to learn React.", speaker="Ana", at="2026-03-09"),
    Turn(text="How do you like it?", speaker="Ben", at="2026-03-09"),
    Turn(text="I hate that framework, and told Cleo so yesterday.", speaker="Ana", at="2026-03-10"),
    Turn(text="Shall we have dinner with Maria in Porto?", speaker="Ben", at="2026-03-11"),
    Turn(text="Yes, gladly.", speaker="Ana", at="2026-03-11"),
    Turn(text="She said that she moved there.", speaker="Ana", at="2026-03-12"),
]


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with worlddb.open(tmp_path / "store", author="tests", embedder=None) as found:
        found.ingest(TURNS, conversation="talk")
        yield found


def turn(view: View, words: str) -> worlddb.World:
    return next(each for each in view.find(type="Turn") if words in each.content)


def inside(view: View, ref: str) -> worlddb.World:
    """What was inferred of a text."""
    return next(iter(view.children(ref)))


def resolved(db: Database) -> dict[str, str]:
    """What was resolved, by the text that it lies in."""
    view = db.view()
    return {
        each.content: inferred.properties.get("resolved", "")
        for each in view.find(type="Turn")
        for inferred in view.children(each.ref)
    }


def is_erased(db: Database, ref: str) -> bool:
    found = db.view().get(ref)
    return found is None or found.erased


def refs(found: worlddb.Recall) -> list[str]:
    return [hit.ref for hit in found.hits]


class Scripted:
    """Says of each segment what the script has, and counts how often it was asked."""

    name = "scripted/1"

    def __init__(self, **said: Any) -> None:
        self.said, self.asked = said, 0

    def __call__(self, segment: Segment, window: Sequence[Segment], /) -> Enrichment:
        self.asked += 1
        for words, given in self.said.items():
            if words in segment.content:
                return Enrichment(**given)
        return Enrichment(used=())


def test_pronouns_replies_and_dates_are_told_from_what_was_said_before(db: Database) -> None:
    done = db.enrich()
    said = resolved(db)
    assert said["Ben: How do you like it?"] == "Ben: How do you like it (React)?"
    assert (
        said["Ana: I hate that framework, and told Cleo so yesterday."]
        == "Ana: I hate that framework (React), and told Cleo so yesterday (2026-03-09)."
    )
    assert said["Ana: Yes, gladly."].startswith("Ana: Shall we have dinner with Maria in Porto? Yes, gladly.")
    assert said["Ana: She said that she moved there."].startswith("Ana: She (Maria) said that she moved there.")
    assert "Ana: I started to learn React." not in said
    assert len(done.segments) == len(said) and done.unsaid == len(TURNS) - len(said) and done.commits == 1


def test_a_topic_is_carried_on_into_what_says_little() -> None:
    told = ["We plan the marathon training.", "The marathon training needs shoes.", "Then I will start."]
    window = [Segment(f"{at:032x}", "Turn", "", f"Ana: {text}", 0) for at, text in enumerate(told)]
    said = ContextEnricher()(window[2], window)
    assert said.resolved == "Ana: Then I will start. (marathon, training)"
    assert said.used == (window[1].ref, window[0].ref)
    assert ContextEnricher()(window[2], window[2:]).lines == ()


def test_what_stands_for_nothing_is_left_alone() -> None:
    told = ["I use React.", "It is raining, and it was late before the morning came over the whole wide silent town."]
    window = [Segment(f"{at:032x}", "Turn", "", text, 0) for at, text in enumerate(told)]
    assert ContextEnricher()(window[1], window).lines == ()


def test_a_second_run_writes_nothing_and_a_dry_one_asks_nobody(db: Database) -> None:
    scripted, head = Scripted(), db.head()
    assert len(db.enrich(scripted, dry_run=True).segments) == len(TURNS) and scripted.asked == 0 and db.head() == head
    db.enrich()
    head = db.head()
    assert db.enrich().events == 0 and db.head() == head


def test_a_turn_is_found_by_what_was_inferred_of_it_and_shown_once(db: Database) -> None:
    hated = turn(db.view(), "hate").ref
    assert hated not in refs(db.view().recall("React", lanes=("text",)))
    db.enrich()
    ways: list[dict[str, Any]] = [{"lanes": ("text",)}, {}, {"exact": True}, {"fusion": "rrf"}]
    for options in ways:
        found = db.view().recall("React", k=3, **options)
        assert hated in refs(found) and len(set(refs(found))) == 3
        assert all(hit.type != "Enrichment" for hit in found.hits)
    hit = next(hit for hit in db.view().recall("React").hits if hit.ref == hated)
    assert "(React)" in hit.inferred["resolved"] and "by its inferred words" in hit.reason
    assert {"made_of"}.isdisjoint(hit.inferred)
    groups = db.view().recall("React", group=3).groups
    assert [group.type for group in groups] == ["Session"] and hated in [hit.ref for hit in groups[0].hits]


def test_what_was_inferred_is_no_memory_that_a_client_is_listed(db: Database) -> None:
    session = Session(db)
    before = [each.ref for each in session.memories_in(db.view(), None)]
    db.enrich()
    assert [each.ref for each in session.memories_in(db.view(), None)] == before
    assert len(db.view().find(type="Enrichment")) > 3


def test_fewer_hits_are_the_beginning_of_more(db: Database) -> None:
    db.enrich()
    most = refs(db.view().recall("what of React and Maria?", k=6))
    assert [refs(db.view().recall("what of React and Maria?", k=k)) for k in (1, 2, 4)] == [
        most[:1],
        most[:2],
        most[:4],
    ]


def test_a_store_without_enrichments_answers_as_before(db: Database) -> None:
    mine = db.create("Enrichment", "", content="React as I know it").ref
    assert mine in refs(db.view().recall("React"))  # A user's own type is no enrichment of ours.
    assert all(not hit.inferred and "inferred" not in hit.scores for hit in db.view().recall("React").hits)


def test_what_was_inferred_counts_only_where_all_that_it_was_made_of_says_the_same(db: Database) -> None:
    hated, named = turn(db.view(), "hate").ref, turn(db.view(), "learn").ref
    db.enrich()
    enriched = db.head().seq
    db.revise(named, content="Ana: I started to learn Vue.", valid_from="2026-04-01")
    assert hated not in refs(db.view().recall("React", lanes=("text",)))
    assert hated in refs(db.view(valid="2026-03-20").recall("React", lanes=("text",)))
    assert hated in refs(db.view(seq=enriched, valid="2026-04-02").recall("React", exact=True, lanes=("text",)))
    assert hated not in refs(db.view(seq=enriched - 1).recall("React", exact=True, lanes=("text",)))
    db.enrich()
    assert hated in refs(db.view().recall("Vue", lanes=("text",)))
    assert hated not in refs(db.view().recall("React", lanes=("text",)))


@pytest.mark.parametrize("words", ["hate", "learn"])
def test_an_erasure_takes_what_was_inferred_from_the_text(db: Database, words: str) -> None:
    db.enrich()
    own = inside(db.view(), turn(db.view(), "hate").ref).ref
    db.erase(turn(db.view(), words).ref, reason="asked")  # Nobody has to say what becomes of it.
    assert is_erased(db, own)
    assert all("hate that framework (React)" not in each.content for each in db.view().find(type="Enrichment"))
    assert db.verify(deep=True).ok


def test_an_erasure_takes_what_an_earlier_version_told_of_a_text(db: Database) -> None:
    named, hated = turn(db.view(), "learn").ref, turn(db.view(), "hate").ref
    db.enrich(Scripted(hate={"resolved": "Ana hates React.", "used": (named,)}), worlds=[hated])
    db.revise(hated, content="Ana: I hate frameworks.")
    db.enrich(Scripted(hate={"resolved": "Ana hates every framework.", "used": ()}), worlds=[hated])
    own = inside(db.view(), hated)
    assert own.content == "Ana hates every framework."
    db.erase(named, reason="asked")
    assert is_erased(db, own.ref)
    db.enrich(Scripted(hate={"resolved": "Ana hates all of them.", "used": ()}), worlds=[hated])
    assert inside(db.view(), hated).content == "Ana hates all of them."


def test_a_rebuild_asks_nobody(db: Database, tmp_path: Path) -> None:
    scripted = Scripted(hate={"resolved": "Ana hates React.", "questions": ("Which library would she avoid?",)})
    db.enrich(scripted)
    before, asked = db.view().recall("which library to avoid?"), scripted.asked
    db.rebuild()
    assert db.view().recall("which library to avoid?") == before and scripted.asked == asked == len(TURNS)
    assert before.hits[0].inferred["questions"] == ["Which library would she avoid?"]


def test_all_that_a_model_says_is_kept_and_what_it_has_nothing_to_say_of_too(db: Database) -> None:
    said = {
        "resolved": "Ana hates React.",
        "preferences": ("Ana likes Vue",),
        "constraints": ("no React",),
        "events": (Occurrence("Ana told Cleo", "Cleo knows"), Occurrence("Ana quit")),
        "questions": ("What is to be avoided?",),
    }
    db.enrich(Scripted(hate=said))
    own = inside(db.view(), turn(db.view(), "hate").ref)
    assert own.content.split("\n") == [
        *("Ana hates React.", "Ana likes Vue", "no React", "Ana told Cleo → Cleo knows", "Ana quit"),
        "What is to be avoided?",
    ]
    assert own.source["enricher"] == "scripted/1" and own.author == "worlddb.enrich"
    again = Scripted(hate=said)
    assert db.enrich(again).events == 0 and again.asked == 0
    # Rules never replace what a model said, and a model replaces what rules said.
    assert db.enrich().events == 0
    other = Scripted()
    other.name = "scripted/2"
    assert len(db.enrich(other).segments) == other.asked == len(TURNS)


def test_an_enricher_that_fails_stops_nothing_and_one_that_may_not_be_asked_ends(db: Database) -> None:
    def failing(segment: Segment, window: Sequence[Segment], /) -> Enrichment:
        if "React" in segment.content:
            raise ValueError("no idea")
        return Enrichment(resolved="something", used=())

    done = db.enrich(failing)
    assert len(done.segments) == len(TURNS) - 1 and done.left == 1 and done.failed[0][1] == "no idea"

    def spent(segment: Segment, window: Sequence[Segment], /) -> Enrichment:
        raise LimitExceeded("enough", "Give more")

    done = db.enrich(spent)
    assert done.segments == () and done.left == len(TURNS) and len(done.failed) == 1


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("text", "returned str"),
        (Enrichment(used=("f" * 32,)), "not in its window"),
        (Enrichment(questions=("why?",) * 9), "9 questions"),
        (Enrichment(events=("x",)), "not a list of Occurrence"),  # type: ignore[arg-type]
        (Enrichment(resolved="x" * 9_000), "above the limit"),
    ],
)
def test_what_no_enrichment_is_is_told_and_not_kept(db: Database, given: Any, said: str) -> None:
    head = db.head()
    done = db.enrich(lambda segment, window: given, limit=1)
    assert done.segments == () and db.head() == head
    assert re.search(said, done.failed[0][1]), done.failed


def test_a_limit_is_kept_and_the_rest_is_left(db: Database) -> None:
    done = db.enrich(Scripted(), limit=2)
    assert len(done.segments) == 2 and done.left == len(TURNS) - 2
    assert len(db.enrich(Scripted()).segments) == len(TURNS) - 2


def test_a_window_never_leaves_the_world_that_contains_the_segment(db: Database) -> None:
    db.ingest([Turn(text="I hate that framework.", speaker="Ana")], conversation="other")
    seen: list[set[str]] = []

    def looking(segment: Segment, window: Sequence[Segment], /) -> Enrichment:
        seen.append({each.content for each in window})
        return Enrichment(used=())

    db.enrich(looking, before=1, after=1)
    assert {"Ana: I hate that framework."} in seen and max(map(len, seen)) == 3


def test_arguments_that_are_none_are_refused(db: Database) -> None:
    assert len(db.enrich(Scripted(), worlds=[turn(db.view(), "hate").ref]).segments) == 1
    wrong: list[dict[str, Any]] = [{"types": "Turn"}, {"worlds": []}, {"limit": 0}, {"enricher": 7}]
    for options in (*wrong, {"before": -1}, {"after": 65}):
        with pytest.raises(InputError):
            db.enrich(**options)
    for fields in ({"colour": 1}, {"words": -1}, {"words": "much"}, [1]):
        with pytest.raises(InputError):
            db.view().recall("React", fields=fields)  # type: ignore[arg-type]
    with pytest.raises(InputError):
        db.view().recall("React", fields={}, lanes=("text",))
    with pytest.raises(InputError):
        db.view().recall("React", fields={}, exact=True, receipt=True)


def test_summaries_are_made_of_turns_and_not_of_what_was_inferred(db: Database) -> None:
    db.consolidate(min_age=0, sweep=False)
    summaries = [each.content for each in db.view().find(type="Summary")]
    db.enrich()
    assert db.consolidate(min_age=0, sweep=False).summaries == ()
    assert [each.content for each in db.view().find(type="Summary")] == summaries


@pytest.fixture(scope="module")
def meant(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    with worlddb.open(tmp_path_factory.mktemp("meant") / "store", author="tests", embedder=StaticEmbedder()) as db:
        db.ingest(
            [
                Turn(text="The dentist said no to sweets.", speaker="Ana"),
                Turn(text="The train was late again.", speaker="Ben"),
                Turn(text="The blue one, I think.", speaker="Ana"),
            ],
            conversation="talk",
        )
        db.enrich(
            Scripted(
                dentist={"resolved": "Ana avoids sugar.", "questions": ("Which dessert shall I bake for her?",)},
                blue={"resolved": "Something else.", "embedding_text": "the colour of the kitchen walls"},
                train={"resolved": "Ben missed the first lecture of astronomy."},
            )
        )
        yield db


def test_each_line_is_near_by_itself_and_another_text_may_be_compared(meant: Database) -> None:
    view = meant.view()
    asked = view.recall("a dessert to bake", lanes=("vector",), k=1).hits[0]
    assert asked.ref == turn(view, "dentist").ref and asked.inferred
    assert view.recall("painting kitchen walls", lanes=("vector",), k=1).hits[0].ref == turn(view, "blue").ref
    other = view.recall("Something else.", lanes=("vector",), k=3).hits
    assert all(hit.score < 0.9 for hit in other if hit.ref == turn(view, "blue").ref)
    assert meant.embed().embedded == 0


def test_fields_are_added_up_by_their_weights(meant: Database) -> None:
    view, question = meant.view(), "Which dessert shall I bake?"
    whole = {hit.ref: hit for hit in view.recall(question, k=3, fields={}).hits}
    assert len(whole) == 3
    for hit in whole.values():
        assert hit.score == pytest.approx(sum(hit.scores.values()), abs=1e-5) and hit.confidence is None
    twice = {hit.ref: hit for hit in view.recall(question, k=3, fields={"inferred": 2, "content": 0.5}).hits}
    for ref, hit in whole.items():
        assert twice[ref].scores["inferred"] == pytest.approx(2 * hit.scores["inferred"], abs=1e-5)
        assert twice[ref].scores.get("vector", 0) == pytest.approx(hit.scores.get("vector", 0) / 2, abs=1e-5)
    plain = view.recall(question, k=3, fields={"inferred": 0}).hits
    assert all("inferred" not in hit.scores for hit in plain)


def test_a_text_of_which_nothing_was_inferred_counts_as_saying_it_all(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", author="tests", embedder=StaticEmbedder()) as db:
        db.ingest([Turn(text="The tram to the port is late."), Turn(text="Lunch was fine.")], conversation="talk")
        db.embed()
        alone = db.view().recall("tram port", k=1).hits[0]
        both = db.view().recall("tram port", k=1, fields={"content": 0.5, "inferred": 0.5}).hits[0]
        assert both.ref == alone.ref and both.score == pytest.approx(alone.score, abs=1e-5)


def test_the_command_enriches_and_says_what_it_did(
    tmp_path: Path, db: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    run = LocalRunner(capsys, tmp_path / "store")
    assert "6 texts would be enriched" in run("enrich", "--dry-run", "--type", "Turn").out
    assert "texts enriched" in run("enrich", "--limit", 2).out
    assert len(run.json("enrich")["segments"]) == len(resolved(db)) - 2
    assert "by its inferred words" in run("recall", "React", "--explain", "--lanes", "text").out
    assert run("recall", "React", "--field", "inferred=1", "--lanes", "text", "entity").code == 0
    assert run("recall", "React", "--field", "inferred=x").error == "usage"


def test_a_model_is_asked_once_of_each_segment_and_what_is_no_answer_is_told(db: Database, server: Server) -> None:
    said = {"resolved": "Ana hates React.", "preferences": ["no React"], "questions": ["Which library?"]}
    server.script = [(200, openai(json.dumps(said), 100))]
    enricher = EndpointEnricher(server.url, "m", retries=0)
    hated = turn(db.view(), "hate").ref
    assert db.enrich(enricher, worlds=[hated]).segments == (hated,)
    assert inside(db.view(), hated).properties["preferences"] == ["no React"]
    assert (enricher.calls, enricher.tokens) == (1, 101)
    shown = json.loads(server.asked[0][2]["messages"][-1]["content"])
    assert shown["window"][shown["segment"]]["text"].endswith("told Cleo so yesterday.")
    server.script = [(200, openai('{"questions": "none"}', 1))]
    done = db.enrich(EndpointEnricher(server.url, "m", retries=0))
    # After three failures in a row nobody is asked any more.
    assert done.segments == () and done.left == 5 and len(done.failed) == 3
