"""Tests what conversations need of recall: context from turns, statements amid requests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import worlddb
from worlddb import Database, ManualClock, Turn
from worlddb.projections.indexes import text_snapshot
from worlddb.projections.indexes.analysis import MAX_STATEMENTS, extract_statements, sentences
from worlddb.projections.indexes.fields import Marker
from worlddb.projections.indexes.vector_index import VectorFollower, VectorSet
from worlddb.projections.indexes.vector_rows import STATEMENT_BONUS, VectorRow, cosines, expand_rows
from worlddb.query.claims import asked_terms, chat_changes
from worlddb.query.recall import candidates, ranking
from worlddb.query.recall.candidates import gains_from_earlier_turns

DIMENSION = 6
SHOP = [
    Turn(speaker="Ana", text="Which vase did you buy at the flea market?"),
    Turn(speaker="Ben", text="The blue one, after all"),
    Turn(speaker="Ana", text="Good choice!"),
    Turn(speaker="Ben", text="It was cheap, too"),
    Turn(speaker="Ana", text="By the way, the dentist called"),
]


@pytest.fixture
def db(tmp_path: Path) -> Any:
    with worlddb.open(tmp_path / "store", clock=ManualClock(worlddb.parse_time("2024-06-01T12:00:00Z"))) as opened:
        yield opened


def words_of(hit: worlddb.Hit) -> str:
    return hit.content.partition(": ")[2]


def test_a_reply_is_found_by_what_it_replies_to(db: Database) -> None:
    db.ingest(SHOP, session="shop")
    db.ingest([Turn(speaker="Ana", text=f"Something else, number {n}") for n in range(40)], session="other")
    db.embed()
    hits = db.view().recall("the vase from the flea market", k=3).hits
    reply, question = hits[:2]
    assert (words_of(question), words_of(reply)) == (SHOP[0].text, SHOP[1].text), "what answers tells more"
    assert "before" not in question.scores
    own = {part: score for part, score in reply.scores.items() if part in ("text", "vector")}
    lender = sum(score for part, score in question.scores.items() if part in ("text", "vector"))
    assert reply.scores["before"] == pytest.approx(0.9 * lender - sum(own.values()), abs=1e-5)
    assert "follows a matching turn" in reply.reason


def test_twice_as_many_candidates_are_compared_for_a_state_only_if_one_is_a_statement(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A state is told by a statement: among turns alone a deeper look finds none, and takes as long again."""
    depths: list[int] = []
    propose = ranking._propose_candidates

    def proposed(gate: Any, lanes: Any, request: Any, depth: int) -> Any:
        depths.append(depth)
        return propose(gate, lanes, request, depth)

    monkeypatch.setattr(ranking, "_propose_candidates", proposed)
    db.ingest([Turn(speaker="Ana", text="I lived in Lyon then"), Turn(speaker="Ben", text="Nice")], session="shop")
    assert db.view().recall("Where did Ana live in May?").hits
    assert depths == [ranking.depth_for(10)]
    db.create("Fact", "home", content="Ana lives in Lyon.", valid_from="2020-03-01")
    depths.clear()
    assert db.view().recall("Where did Ana live in May?").hits[0].content == "Ana lives in Lyon."
    assert depths[0] == ranking.depth_for(10) < depths[1]


def test_texts_that_are_not_shown_cost_no_second_search(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the nearest 64 texts a few were superseded in nearly every large store."""
    with db.batch() as made:
        for n in range(90):
            made.create("Note", f"vase {n}", content="The vase " + "is blue " * n)
    with db.batch() as tx:
        for ref in made.receipt.refs[74::2]:
            tx.revise(ref, content="Something else")
    asked, fetched = "blue vase", list[int]()
    search = ranking.search_words

    def counted(lane: Any, text: str, through: int, limit: int, nodes: Any) -> Any:
        fetched.extend([limit] if text == asked else ())
        return search(lane, text, through, limit, nodes)

    monkeypatch.setattr(ranking, "search_words", counted)
    monkeypatch.setattr(text_snapshot, "FEW_TEXTS", 90)
    assert db.catch_up()
    hits = db.view().recall(asked).hits
    assert {hit.name for hit in hits}.isdisjoint(f"vase {n}" for n in range(74, 90, 2))
    assert fetched == [88] and ranking.depth_for(10) == 64


@pytest.mark.parametrize(
    ("asker", "asked", "share"),
    [("Ana", "Which vase did you buy?", 0.9), ("Ana", "I saw your vase.", 0.7), ("user", "Which vase is it?", 0.7)],
)
def test_the_turn_after_one_that_asks_is_lent_more_where_people_talk(
    db: Database, asker: str, asked: str, share: float
) -> None:
    talk = [Turn(speaker=asker, text=asked), Turn(speaker="Ben", text="Blue, after all"), Turn(speaker="Ana", text="A")]
    db.ingest(talk, session="talk")
    db.embed()
    hits = {words_of(hit): hit.scores for hit in db.view().recall("the vase", k=3).hits}
    lender, own = (sum(hits[turn.text].get(part, 0.0) for part in ("text", "vector")) for turn in talk[:2])
    assert hits[talk[1].text]["before"] == pytest.approx(share * lender - own, abs=1e-5)


def test_turns_lend_nothing_to_another_session_nor_to_what_is_no_turn(db: Database) -> None:
    db.ingest([SHOP[0]], session="one")
    db.ingest(SHOP[1:], session="two")
    topic = db.create("Topic", "vases", content="vases from flea markets")
    for number in range(3):
        db.create("Fact", f"fact {number}", content=f"an unrelated fact, {number}", world=topic)
    db.embed()
    hits = {words_of(hit) or hit.content: hit for hit in db.view().recall("the vase from the flea market", k=20).hits}
    for alone in (SHOP[1].text, *(f"an unrelated fact, {number}" for number in range(3))):
        assert alone in hits
        assert "before" not in hits[alone].scores


def test_all_turns_of_a_talk_between_people_gain_by_the_best_of_it(db: Database) -> None:
    db.ingest(SHOP, session="shop")
    db.ingest([Turn(speaker="Ana", text=f"Something else, number {n}") for n in range(40)], session="other")
    db.create("Fact", "", content="The flea market opens at nine.")
    db.embed()
    for exact in (False, True):
        found = db.view().recall("the vase from the flea market", k=60, exact=exact)
        hits = {words_of(hit) or hit.content: hit for hit in found.hits}
        own = {text: sum(hit.scores.get(part, 0.0) for part in ("text", "vector")) for text, hit in hits.items()}
        for turn in SHOP:
            assert hits[turn.text].scores["talk"] == pytest.approx(0.4 * own[SHOP[0].text], abs=1e-5)
            assert "in a matching conversation" in hits[turn.text].reason
        note = "The flea market opens at nine."
        assert hits[note].scores["talk"] == pytest.approx(0.4 * own[note], abs=1e-5), "as if it were its own talk"
    for options in ({"fusion": "rrf"}, {"group": 5}):
        assert all("talk" not in hit.scores for hit in db.view().recall("the vase", k=60, **options).hits)


LESSONS = [
    Turn(speaker="Ana", text="I took up the violin again"),
    Turn(speaker="Ben", text="Great!"),
    Turn(speaker="Ana", text="Lessons are on Tuesday"),
    Turn(speaker="Ben", text="Fine"),
    Turn(speaker="Ana", text="Bye"),
]
POTTERY = [Turn(speaker="Ana", text="Lessons are on Monday"), Turn(speaker="Ben", text="In pottery, I hear")]


def test_a_turn_gains_by_the_words_that_it_has_together_with_the_turns_before_it(db: Database) -> None:
    db.ingest(POTTERY, session="pottery")
    db.ingest(LESSONS, session="violin")
    note = db.create("Fact", "", content="Ana took lessons in May.").ref
    db.embed()
    for options in ({}, {"exact": True}, {"lanes": ["text", "entity"]}):
        found = db.view().recall("On which 2 days does Ana take violin lessons?", k=20, **options)
        hits = {words_of(hit): hit for hit in found.hits}
        gains = {text: hit.scores.get("around", 0.0) for text, hit in hits.items()}
        # The names and numbers of a question do not count, "took" is a form of "take", and nobody says "days".
        alone = gains[LESSONS[1].text] + 0.75 * gains[POTTERY[0].text]
        assert gains[LESSONS[2].text] == pytest.approx(alone, abs=1e-5), "0.3 of 0.4 more for the word of its own"
        assert gains[LESSONS[0].text] < gains[LESSONS[2].text] < 0.4
        assert 0 < gains[LESSONS[4].text] < gains[LESSONS[2].text], "too far from the first of them"
        noted = next(hit for hit in found.hits if hit.ref == note)
        assert noted.scores["around"] > gains[POTTERY[0].text], "as if it were its own talk"
        assert list(hits).index(LESSONS[2].text) < list(hits).index(POTTERY[0].text)


def test_the_words_around_a_turn_change_no_confidence(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    db.ingest(LESSONS, session="violin")
    db.embed()
    asked = "When does Ana have violin lessons?"
    with_words = {hit.ref: hit.confidence for hit in db.view().recall(asked, k=20).hits}
    monkeypatch.setattr(candidates, "gains_by_words_around", lambda *_: {})
    without = db.view().recall(asked, k=20).hits
    assert all("around" not in hit.scores for hit in without)
    assert with_words[without[0].ref] == without[0].confidence is not None


def test_to_what_a_remark_brings_to_mind_nothing_is_lent(db: Database) -> None:
    db.ingest(SHOP, session="shop")
    db.embed()
    found = db.view().recall("I saw a vase at the flea market.", k=20)
    assert len(found.hits) >= len(SHOP)
    assert all(not {"talk", "before", "around"} & hit.scores.keys() for hit in found.hits)


def test_where_nobody_but_a_machine_is_talked_to_no_talk_counts(db: Database) -> None:
    roles = {"Ana": "user", "Ben": "assistant"}
    db.ingest([Turn(speaker=roles[turn.speaker], text=turn.text) for turn in SHOP], session="shop")
    db.embed()
    hits = db.view().recall("the vase from the flea market", k=20).hits
    assert len(hits) > 4 and all(not {"talk", "around"} & hit.scores.keys() for hit in hits)
    assert any("before" in hit.scores for hit in hits), "the turns after one are lent what they always were"


def test_around_a_turn_are_two_before_it_and_one_behind_it_wherever_it_stands(db: Database) -> None:
    """Of a session with more than 256 turns the later ones had nothing around them."""
    told = [Turn(speaker="user", text=f"This is turn {number}.") for number in range(300)]
    db.ingest(told[:290], session="s")
    # What joins others meanwhile lies between the numbers of the session's edges.
    db.ingest([Turn(speaker="user", text=f"This is line {number}.") for number in range(40)], session="t")
    for size in (291, 292, 300):
        db.ingest(told[:size], session="s")
    view = db.view()
    with view._window.snapshot() as snapshot:
        refs = [world.ref for world in view.find(world="s", type="Turn")]
        nodes = [snapshot.tables.node_of(bytes.fromhex(ref)) for ref in refs]
        around = [candidates.turns_around(snapshot, node) for node in nodes if node is not None]
    assert around == [[*nodes[max(0, at - 2) : at], *nodes[at + 1 : at + 2]] for at in range(300)]


def test_a_retired_turn_lends_nothing(db: Database) -> None:
    db.ingest(SHOP, session="shop", at="2024-01-01")
    db.embed()
    (question,) = [hit.ref for hit in db.view().recall("flea market vase").hits if words_of(hit) == SHOP[0].text]
    db.retire(question, at="2024-02-01")

    def lent_to_the_reply(valid: str) -> float:
        hits = db.view(valid=valid).recall("flea market vase", k=20).hits
        (reply,) = [hit for hit in hits if words_of(hit) == SHOP[1].text]
        return reply.scores.get("before", 0.0)

    assert lent_to_the_reply("2024-01-15") > 0.1
    assert lent_to_the_reply("2024-03-01") == 0.0


@given(st.dictionaries(st.integers(0, 9), st.floats(0, 1), min_size=10, max_size=10))
def test_what_is_lent_never_puts_a_turn_above_its_lender(own: dict[int, float]) -> None:
    following = {node: {node - 1: 0.8} for node in range(1, 10)}
    for node, more in gains_from_earlier_turns(own, following).items():
        assert more >= 0
        assert own[node] + more <= max(own[node], 0.8 * own[node - 1]) + 1e-9


def test_statements_are_what_a_speaker_says_of_themselves() -> None:
    text = (
        "user: Can you recommend a hotel for my trip? By the way, I moved to Porto last week. It rains. My dog is"
        " called Rex!\nThanks a lot. I did. Do we know why I came here?"
    )
    assert extract_statements(text).statements == ["By the way, I moved to Porto last week.", "My dog is called Rex!"]
    assert extract_statements("assistant: Hotels in Porto are cheap in winter.") == ([], 0)
    assert extract_statements("") == extract_statements("I") == extract_statements("?" * 100_000) == ([], 0)
    seen = extract_statements("I have been here before. " + " ".join(f"I saw {n} ships there." for n in range(99)))
    assert (len(seen.statements), seen.percent) == (MAX_STATEMENTS, 100)


def test_how_much_of_a_text_is_statements_is_told_in_words() -> None:
    assert extract_statements("user: I moved to Porto last week.").percent == 100
    assert extract_statements("I moved to Porto last week. Is it any good in the winter?").percent == 46
    assert extract_statements("I live here. So it goes, my friend.").percent == 62, (
        "a sentence of three words is not a statement"
    )


@pytest.mark.parametrize(
    "one",
    [
        *("My new dentist is Dr. Meyer from Ghent.", "I met J. Smith, J. S. Bach and Mrs. Roth.", "No, it is No. 5."),
        *("I like fruit, e.g. pears.", "I live by St. Mary (approx. 2 km).", "It starts at 5 p.m. on Jan. 5."),
        *("Ich mag z. B. Brot, d. h. viel.", "Das ist Nr. 7 von Hr. Weber.", "I was in the U.S. last year."),
    ],
)
def test_behind_a_short_form_a_sentence_goes_on(one: str) -> None:
    """What I said of my dentist was cut behind "Dr."."""
    assert sentences(f"{one} It rains.") == [one, "It rains."]
    assert extract_statements(one).statements in ([one], [])


@pytest.mark.parametrize(
    "one",
    [
        *("No.", "I live on Main St.", "I take vitamin C.", "So do I.", "I have cats etc.", "It starts at 5 p.m."),
        *("He is a Dr.", "Our plan is B.", "I live in the U.S."),
    ],
)
def test_a_short_form_may_end_a_sentence(one: str) -> None:
    assert sentences(f"{one} We like it.") == [one, "We like it."]


@given(st.text(max_size=300))
def test_a_statement_is_a_part_of_its_text_and_no_question(text: str) -> None:
    found = extract_statements(text)
    assert 0 <= found.percent <= 100
    assert bool(found.statements) >= bool(found.percent)
    for told in found.statements:
        assert told in text
        assert not told.endswith("?")


REPAIRS = (
    "Today was long: first the bus was late, then the phone rang all morning, and nobody knew where the keys were. "
)
GLAZE = "The glaze in the kiln cracked"


def put_crack(db: Database, *, longer: str, speaker: str = "user") -> None:
    """Turns that end with a crack, each in a session of its own, and a longer one."""
    for number in range(9):
        text = f"{REPAIRS}{GLAZE}, on shelf {number}."
        db.ingest([Turn(speaker=speaker, text=text)], session=f"s{number}")
    db.ingest([Turn(speaker=speaker, text=longer)], session="long")
    db.embed()


@pytest.mark.parametrize("longer", [f"{GLAZE}. {REPAIRS * 2}", f"{REPAIRS}By the way, {GLAZE}. {REPAIRS}"])
def test_a_turn_whose_opening_is_about_the_question_comes_next_behind_the_first_hits(
    db: Database, monkeypatch: pytest.MonkeyPatch, longer: str
) -> None:
    put_crack(db, longer=longer)
    asked = "how did the glaze in the kiln crack?"
    moved = db.view().recall(asked, k=10)
    assert [hit.score for hit in moved.hits] == sorted((hit.score for hit in moved.hits), reverse=True)
    fewer = db.view().recall(asked, k=6).hits
    assert fewer == moved.hits[:6], "for any number of hits"
    monkeypatch.setattr(ranking, "OPENING_WEIGHT", 0.0)
    plain = db.view().recall(asked, k=10)
    contents, before = [[hit.content for hit in found.hits] for found in (moved, plain)]
    assert contents[:5] == before[:5]
    assert words_of(moved.hits[5]) == longer != words_of(plain.hits[5])
    own = {hit.ref: (hit.confidence, hit.score) for hit in plain.hits}
    lifted = moved.hits[5]
    assert lifted.scores["opening"] == pytest.approx(lifted.score - own[lifted.ref][1], abs=1e-5)
    assert lifted.confidence == own[lifted.ref][0] is not None


def test_openings_count_neither_between_people_nor_for_notes(db: Database) -> None:
    put_crack(db, longer=f"{GLAZE}. {REPAIRS * 2}", speaker="Ana")
    for number in range(9):
        db.create("Note", "", content=f"{REPAIRS}The lock of the door is loose, on floor {number}.")
    db.create("Note", "", content=f"The lock of the door is loose. {REPAIRS * 9}")
    db.embed()
    for asked in ("how did the glaze in the kiln crack?", "is the lock of the door loose?"):
        assert all("opening" not in hit.scores for hit in db.view().recall(asked, k=20).hits)


def test_a_statement_is_found_whatever_stands_around_it(db: Database) -> None:
    request = "Can you suggest recipes with lentils, rice, tomatoes, onions and garlic for a dinner of eight people? "
    db.ingest([Turn(speaker="user", text=request + "I adopted a kitten named Miso yesterday.")], session="a")
    for number in range(30):
        db.ingest([Turn(speaker="user", text=request + f"There are {number} of us.")], session=f"s{number}")
    db.embed()
    hits = db.view().recall("What did I call my young cat?", lanes=["vector"], k=3).hits
    assert "Miso" in hits[0].content
    assert hits[0].score > hits[1].score + 0.1


def vectors(draw: np.random.Generator, count: int) -> tuple[list[VectorRow], list[np.ndarray]]:
    """Versions with one to four vectors each, some of which are of statements."""
    rows, parts = [], []
    for node in range(count):
        several = draw.normal(size=(int(draw.integers(1, 5)), DIMENSION)).astype(np.float32)
        several = (several / np.linalg.norm(several, axis=1, keepdims=True)).astype("<f2")
        stated = int(draw.integers(0, len(several) + 1))
        share = int(draw.integers(0, 101))
        rows.append(VectorRow(node, 1, node + 1, several.tobytes(), stated, share))
        parts.append(several.astype(np.float32))
    return rows, parts


def nearest(row: VectorRow, several: np.ndarray, asked: np.ndarray, stating: float = 0.0) -> float:
    found = several @ asked
    stated = (found[0] + found[len(found) - row.statements :]) / 2 + STATEMENT_BONUS
    best = max([found[0], *found[: len(found) - row.statements], *stated])
    return float(best) + stating * (row.stated / 100) ** 2


@given(st.integers(1, 30), st.integers(0, 2**32), st.sampled_from([0.0, 0.1, 2.0]))
def test_a_version_is_as_near_as_its_nearest_vector(count: int, seed: int, stating: float) -> None:
    draw = np.random.default_rng(seed)
    rows, parts = vectors(draw, count)
    asked = draw.normal(size=DIMENSION).astype(np.float32)
    asked /= np.linalg.norm(asked)
    wanted = {(row.node, 1): nearest(row, several, asked, stating) for row, several in zip(rows, parts, strict=True)}
    held = VectorSet(rows, DIMENSION)
    assert held.scores(asked, [*wanted, (count, 1), (0, 2)], stating=stating) == pytest.approx(wanted, abs=1e-3)
    hits = held.search(asked, 5 * count, stating=stating)
    assert len(hits) == sum(max(len(several), 1 + row.statements) for row, several in zip(rows, parts, strict=True))
    best: dict[tuple[int, int], float] = {}
    for hit in hits:
        best.setdefault((hit.node, hit.version), hit.score)
    assert best == pytest.approx(wanted, abs=1e-3)


def test_several_vectors_of_a_version_are_compared_in_the_base_and_in_the_tail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worlddb.projections.indexes.vector_index.SHORT_TAIL", 10)
    draw = np.random.default_rng(3)
    rows, parts = vectors(draw, 60)
    index = VectorFollower(
        tmp_path / "vectors-1",
        b"s" * 16,
        DIMENSION,
        lambda after, through: rows[after:through],
        lambda seq: Marker(b"", seq, b"c" * 32).chain,
    )
    assert index.catch_up(40)
    assert index.checkpoint() == 40
    asked = draw.normal(size=DIMENSION).astype(np.float32)
    wanted = {(row.node, 1): nearest(row, several, asked) for row, several in zip(rows, parts, strict=True)}
    assert index.scores(asked, list(wanted), head=60) == pytest.approx(wanted, abs=1e-2)
    first = index.find(asked, head=60, limit=1)[0]
    assert (first.node, first.version) == max(wanted, key=lambda pair: wanted[pair])
    by_share = {(row.node, 1): nearest(row, several, asked, 2.0) for row, several in zip(rows, parts, strict=True)}
    assert index.scores(asked, list(wanted), head=60, stating=2.0) == pytest.approx(by_share, abs=1e-2)
    first = index.find(asked, head=60, limit=1, stating=2.0)[0]
    assert (first.node, first.version) == max(by_share, key=lambda pair: by_share[pair])
    inside = {7, 41}
    assert {hit.node for hit in index.find(asked, head=60, limit=50, nodes=inside)} == inside
    numbers, matrix = expand_rows(rows, DIMENSION)
    assert len(numbers) == len(matrix) == len(cosines(matrix, np.zeros(8, dtype=np.float32)))


@pytest.mark.parametrize("seed", range(5))
def test_a_vector_scores_alike_in_the_base_and_in_the_tail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Else a rebuild, which moves the tail into the base, would change the order of what lies close together."""
    monkeypatch.setattr("worlddb.projections.indexes.vector_index.SHORT_TAIL", 10)
    draw = np.random.default_rng(seed)
    rows, _ = vectors(draw, 300)
    rows += [row._replace(node=1000 - row.node, seq=300 + row.seq) for row in rows[:80]]

    def follower(name: str) -> VectorFollower:
        return VectorFollower(
            tmp_path / name, b"s" * 16, DIMENSION, lambda after, through: rows[after:through], lambda seq: b"c" * 32
        )

    apart, together = follower("apart"), follower("together")
    assert apart.catch_up(200) and together.catch_up(380)
    assert (apart.checkpoint(), together.checkpoint()) == (200, 380)
    pairs = [(row.node, row.version) for row in rows[::3]]
    for _ in range(40):
        asked = draw.normal(size=DIMENSION).astype(np.float32)
        shapes: list[dict[str, Any]] = [{}, {"nodes": set(range(50, 250))}, {"stating": 0.3}, {"before": 700}]
        for shape in shapes:
            found = [each.find(asked, head=380, limit=25, **shape) for each in (apart, together)]
            assert found[0] == found[1]
        assert apart.scores(asked, pairs, head=380) == together.scores(asked, pairs, head=380)


def test_a_participant_who_came_since_is_one_in_later_views_alone(db: Database) -> None:
    db.ingest([Turn(text="I keep bees", speaker="Ana")], session="bees")
    db.embed()
    before = db.view()
    asked = "Where do I keep my bees?"

    def said_by_who_asks(view: worlddb.View) -> list[str]:
        return [hit.content for hit in view.recall(asked).hits if hit.scores.get("entity", 0) > 0]

    assert said_by_who_asks(before) == []
    db.ingest([Turn(text="I keep my bees on the roof", speaker="user")], session="roof")
    assert said_by_who_asks(before) == []
    assert said_by_who_asks(db.view()) == ["user: I keep my bees on the roof"]
    assert said_by_who_asks(before) == []
    assert said_by_who_asks(db.view()) == ["user: I keep my bees on the roof"]


CHANGED = (
    (
        "I'm Marta, I live in Lisbon and work as a nurse.",
        "Hey, long week. We finally moved to Porto!",
        "Where do I live?",
    ),
    (
        "My rent is 900 a month, which is okay.",
        "Ugh. The landlord raised the rent to 980. Not happy.",
        "How much is my rent?",
    ),
    (
        "My dentist appointment is on 3 May.",
        "Dentist called, they moved my appointment to 10 May.",
        "When is my dentist appointment?",
    ),
    ("Emma is my manager, she hired me.", "Emma went on leave, so Raj is my manager for now.", "Who is my manager?"),
    ("I'm vegetarian, so keep that in mind.", "Funny thing, I eat meat again since last month.", "Am I vegetarian?"),
    (
        "Our dog Bruno weighs 12 kilos.",
        "Vet says Bruno weighs 14 kilos now. Less treats...",
        "How much does Bruno weigh?",
    ),
    ("I drink three coffees a day.", "I've cut down to one coffee a day, better.", "How many coffees do I drink?"),
    ("Our wedding is on 12 June.", "We had to move the wedding to 20 June, sigh.", "When is our wedding?"),
    ("The alarm code is 7734.", "Changed the alarm code to 9921.", "What is the alarm code?"),
    ("The rent is 1450 euros.", "Landlord raised the rent to 1600.", "How much is the rent?"),
    (
        "I buy pipes from Metallum.",
        "Getting pipes from Rohrland these days, Metallum is bust.",
        "Where do I buy pipes?",
    ),
)
UNCHANGED = (
    ("The inspector's name is Mr. Oduya.", "We got the dog! His name is Biscuit.", "What is the inspector called?"),
    ("The alarm code is 7734.", "Changed the door code to 4711.", "What is the alarm code?"),
    ("I live in Munich, near the river.", "My friend Tom moved to Augsburg last week.", "Where do I live?"),
    ("My rent is 900 a month.", "My sister's rent is 1,200 a month, crazy.", "How much is my rent?"),
    ("I live in Lisbon. I love it.", "Should I live in Porto? I keep thinking about it.", "Where do I live?"),
    ("I weigh 80 kg.", "I would like to weigh 70 kg by summer.", "How much do I weigh?"),
    ("I take 20 mg of lisinopril.", "I take 500 mg of metformin as well.", "How much lisinopril do I take?"),
    ("I'm learning Spanish.", "I'm learning Italian, too.", "Am I learning Spanish?"),
)


@pytest.mark.parametrize(("earlier", "later", "question"), CHANGED + UNCHANGED)
def test_the_later_of_two_messages_that_say_what_changed_comes_first(
    db: Database, earlier: str, later: str, question: str
) -> None:
    mem = worlddb.memory(db, user="marta", agent="bot")
    for text, day in ((earlier, "2023-01-01"), ("The tram was late again.", "2023-02-01"), (later, "2023-03-01")):
        said = {"role": "user", "content": text, "timestamp": f"{day}T10:00:00Z"}
        mem.add([said, {"role": "assistant", "content": "Thanks for telling me!", "timestamp": f"{day}T10:00:05Z"}])
    found = mem.recall(question)
    has_changed = (earlier, later, question) in CHANGED
    assert found.hits[0].content == f"marta: {later if has_changed else earlier}"
    assert bool(found.competing) == has_changed


TOLD_IN_PASSING = (
    ("wo arbeite ich?", "ich arbeite bei Siemens", "hab bei Siemens gekündigt, ab Mai bin ich bei Bosch", "sure"),
    (
        "wer holt die kinder ab?",
        "Oma holt die kinder ab",
        "Oma kann die kinder nicht mehr abholen, jetzt macht es Tobias",
        "sure",
    ),
    ("wann ist das konzert?", "konzert ist am 3. mai", "das konzert wurde verschoben, jetzt am 10. mai", "sure"),
    ("esse ich fleisch?", "ich esse gern fleisch", "esse seit märz kein fleisch mehr", "sure"),
    ("wie heißt mein zahnarzt?", "mein zahnarzt heißt Dr. Wolf", "neuer zahnarzt: Dr. Amari, gefällt mir", "sure"),
    (
        "what's the size limit of uploads?",
        "upload size limit is 20 MB",
        "trimmed the upload size limit to 15 MB",
        "sure",
    ),
    ("is load_rows slow?", "load_rows is slow again", "fixed load_rows, it isn't slow any more", "sure"),
    (
        "how do I see all logs?",
        "pass --loud to see all logs",
        "--loud is deprecated, it's --level all for logs",
        "sure",
    ),
    ("who has my ladder?", "lent my ladder to Imre", "Imre brought the ladder back. nice guy", "sure"),
    # a time, with what happened to it, or a shift alone
    ("when is the eye test?", "eye test is on the 14th at 9", "they had to push the eye test to the 16th", "sure"),
    ("when's standup?", "standup is at 9:15 each morning", "make that 9:45 for the standup, kids to drop off", "sure"),
    ("when is the report due?", "they want the report by the 12th", "omg they gave us another week for it", ""),
    ("when is the report due?", "they want the report by the 12th", "the report can wait another week, phew", "sure"),
    ("what day is bin day?", "bin day is Tuesday here", "leaflet says bin day's on Fridays from this month", "sure"),
    # an amount
    ("how much is the nursery?", "the nursery costs 590 a month", "letter from the nursery, going up to 640", "sure"),
    ("what's my stall number?", "I've stall 17", "stall changed as well, 31", "sure"),
    # somebody else, or something else, in the place of what is named
    ("who is our plumber?", "Ada is our plumber, she's quick", "Ada's moved away, so from now on we have Ivo", "sure"),
    (
        "which database do we use?",
        "we decided on Mongo",
        "so, the thing with Mongo fell through, back to Postgres",
        "sure",
    ),
    ("which class do I take?", "signed up for spinning", "spinning was killing my knees so I switched to yoga", "sure"),
    ("what's the wifi password?", "wifi password is otter-7", "they reset the wifi, the password's heron-1", "sure"),
    (
        "what's my hamster called?",
        "we got a hamster called Bagel",
        "the kids renamed the hamster, it's Pretzel now",
        "sure",
    ),
    (
        "who's captain of our team?",
        "Odd was voted captain of our team",
        "Odd's knee is done for, so Stig's captain",
        "sure",
    ),
    ("what's my credit limit?", "my credit limit is 2,000", "they've upped it, limit's 3,000", "sure"),
    (
        "who walks the dog?",
        "Ravi walks the dog at lunch",
        "Ravi has exams, Femke does the dog's lunch walks from now on",
        "sure",
    ),
    ("how often do I swim?", "I swim twice a week", "up to three swims a week now", "sure"),
    ("which club am I in?", "I'm in the swim club Delphin", "they've put the club ride back to 8", "perhaps"),
    ("how many seats do we have?", "we have 24 seats", "the place across the road now has 40 seats", ""),
    # a place
    ("where is the market?", "the market is on the main square", "they've shifted the market to the harbour", "sure"),
    (
        "where does Carla work?",
        "Carla works at the library",
        "Carla's at a new place, a bakery on Hill Street",
        "perhaps",
    ),
    # no more
    ("am I still on keto?", "I started keto on Monday", "I packed in the keto, life's too short", "sure"),
    # a value alone, which may be of something else
    ("how much is the sitter?", "the sitter takes 12 an hour", "the sitter asked for 15 and I said yes", "perhaps"),
    # what asks, was considered, or is over
    ("which car do I have?", "I have a Skoda", "should I sell the Skoda and get a Tesla instead?", ""),
    ("where do I go in May?", "I go to Crete in May", "I thought of Norway instead for May, but no", ""),
    ("where do I run?", "I run in Elm Park", "used to run in River Park back in the day", ""),
    ("what laptop do I use?", "I use a ThinkPad", "I was offered a MacBook instead of the ThinkPad but said no", ""),
    # somebody's else, or another one
    ("how much is my phone bill?", "my phone bill is 25", "my mum's phone bill went up to 40", ""),
    ("how many are on my team?", "we are six people on my team", "the Oslo team has nine people now", ""),
    ("when do I take my pills?", "I take my pills at 7", "dad takes his pills at 9 now", ""),
    ("how much is the nursery?", "the nursery costs 590", "the other nursery takes 700 now", ""),
    ("what's the alarm code?", "the alarm code is 7734", "changed the door code to 4711", ""),
    ("where does Ana live?", "Ana lives in Ghent", "I live in a new flat in Antwerp now", ""),
    ("what's my mortgage rate?", "my mortgage rate is 2.9 percent", "rates on the market went up to 4.1", "perhaps"),
    ("who is our coach?", "Berit is our coach", "Berit has a new assistant called Jonas", "perhaps"),
    # another attribute of it
    ("when is the offsite?", "the offsite is on June 12", "they changed the hotel for the offsite", ""),
    ("who is my dentist?", "my dentist is Dr Okafor", "there's a new receptionist at the dentist", ""),
    ("when's our gig?", "the gig is on the 28th", "soundcheck for the gig is at 4 now", ""),
    ("how many fish do I have?", "I have 9 fish in all", "the fish now have a 20-gallon tank", ""),
    ("which insurance do I have?", "my insurance is with Allianz", "my insurance now wants my new address", ""),
    # a thing that only is named after it, or of which nothing was said
    ("where is the printer?", "the printer is in the hall", "the printer paper moved to the cupboard", ""),
    ("how much do I weigh?", "I weigh 72 kilos", "my suitcase weighs 23 kilos now", ""),
    ("when does the gym open?", "the gym opens at ten", "the bakery next to the gym opens at six now", ""),
    ("what do the swimming lessons cost?", "swimming lessons are 12", "piano lessons went up to 30", ""),
    ("when is the exam?", "exam's on the 7th", "the faculty moved everything, exams on the 14th", "sure"),
    ("when is the guitar lesson?", "my guitar is on Mondays", "the guitar lesson moved to Fridays", "sure"),
    # German words are compounds, and names are not the only ones with capitals
    (
        "Wann ist mein Arzttermin?",
        "Mein Arzttermin ist am 4. Mai",
        "Die Praxis hat den Termin verlegt, 9. Mai",
        "sure",
    ),
    ("Wann ist Chorprobe?", "Chorprobe ist mittwochs", "Der Chor trifft sich jetzt montags", "sure"),
    ("Wie lautet die PIN vom Handy?", "PIN vom Handy: 4412", "Neue Handy-PIN: 9031", "sure"),
    ("Wann hat Lena Klavier?", "Lena hat dienstags Klavier", "Lenas Klavierstunde ist ab jetzt donnerstags", "sure"),
    ("Wann kommt der Klempner?", "Der Klempner kommt am 3. Juni", "Der Klempner kommt doch erst am 10.", "sure"),
    # a state that is over
    ("Does Chris still owe me money?", "Chris owes me 40 euros", "Chris paid me back today", "sure"),
    ("Schuldet mir Karl noch Geld?", "Karl schuldet mir 50 Euro", "Karl hat mir das Geld überwiesen", "sure"),
    ("Is the lift still broken?", "the lift is broken", "the lift works again, it was a fuse", "sure"),
    ("Ist die Heizung noch kaputt?", "Die Heizung ist kaputt", "Die Heizung läuft wieder", "sure"),
    (
        "Can I play tennis?",
        "no tennis for six weeks, says the doctor",
        "got the all-clear, tennis is fine again",
        "sure",
    ),
    ("Can I play tennis?", "no tennis for six weeks, says the doctor", "the physio gave me the all-clear", "perhaps"),
    # how often, and a shift by minutes
    ("How often do we deploy?", "we deploy every Thursday", "since the new pipeline we deploy daily", "sure"),
    ("When does practice start?", "practice starts at 5", "practice was pushed back by half an hour", "sure"),
    # whom it is about, and a place
    ("When does Omar land?", "Omar lands at 18:40", "Omar's flight is delayed, he gets in at 20:15", "perhaps"),
    ("Where is the spare key?", "spare key is under the pot", "I put the spare key in the shed", "perhaps"),
    ("When's Ada's recital?", "Ada's recital is on 5 June", "recital is a week later now, no hall", "perhaps"),
    ("When's Ada's recital?", "Ada's recital is on 5 June", "the cinema is a week later now", ""),
    ("Where do we go on holiday?", "we go to Denmark on holiday", "holiday plans changed: Scotland it is", "perhaps"),
    ("Trinkt Paul Milch?", "Paul trinkt Milch", "Paul verträgt keine Milch mehr", "perhaps"),
    ("Is the road to the lake open?", "the road to the lake is open", "the road to the lake is blocked now", "perhaps"),
    ("Who walks Rex?", "Jack walks Rex", "Jack lost his licence, my mum walks Rex now", "sure"),
)


OF_SOMETHING_ELSE = [
    ("wann ist das konzert?", "konzert ist am 3. mai", "zahnarzt verschoben auf den 4. mai"),
    ("wie heißt mein zahnarzt?", "mein zahnarzt heißt Dr. Wolf", "mein neuer chef heißt Dr. Amari"),
    (
        "laufe ich den marathon?",
        "hab mich angemeldet! marathon am 11. april",
        "hab gekündigt. letzter tag ist der 23.12.",
    ),
    ("When does Noah do fencing?", "Noah does fencing on Fridays", "Lea moved her fencing trial to Sunday"),
    ("What's our alarm code at home?", "the alarm code is 4410", "the office changed its alarm code, it's 9031"),
    ("What day is pilates usually?", "pilates is on Wednesdays", "this week pilates is on Saturday instead"),
    ("Which class do I teach?", "I teach Class 3", "the head wanted me to switch to Class 5, I said no"),
    ("Which gym do I go to?", "I go to the gym on Mill Street", "my colleague switched to the gym on Kent Road"),
    ("Where do I live?", "I live in Leeds", "my old pupil moved to Lisbon"),
    (
        "Who is my physio?",
        "physio with Herr Adeyemi on Fridays",
        "Herr Okafor hat keine Zeit mehr, Mia geht zu Frau Lindner",
    ),
    ("Wann hat Lena Klavier?", "Lena hat dienstags Klavier", "Lena hat jetzt montags Turnen"),
    ("What is our cat called?", "our cat is called Miso", "Dr Kern retired, Miso goes to Dr Moor now"),
    ("Schuldet mir Karl noch Geld?", "Karl schuldet mir 50 Euro", "Lena hat mir das Geld überwiesen"),
    ("Does Chris still owe me money?", "Chris owes me 40 euros", "Chris paid for his new car in cash"),
    ("Is the heating still broken?", "the heating is broken", "the lift works again"),
    ("Am I allowed to drive?", "I'm not allowed to drive", "my sister may drive again, she passed"),
]
"""Questions, messages that answer them, and later ones of somebody or something else, or of today only."""


@pytest.mark.parametrize(("question", "earlier", "later"), OF_SOMETHING_ELSE)
def test_what_is_told_of_something_else_changes_nothing(question: str, earlier: str, later: str) -> None:
    asked = asked_terms.asked_of(question)
    assert chat_changes.change_told(question, asked, earlier, later, tuple, is_soon=False) == ""


TOLD_OF_THE_SAME = [
    ("Which ward is Grandpa in?", "Grandpa is on ward 5", "they moved Grandpa to ward 2"),
    ("Which class do I teach?", "I teach Class 3", "I switched to Class 5 with the new term"),
    ("What do I drink in the morning?", "coffee in the morning", "gave up sugar, in the morning I drink tea instead"),
    ("When is training?", "training is on Mondays", "the club moved its training to Thursdays"),
    ("how much are the tickets?", "tickets are 15", "we're not selling enough tickets so they're 12 from today"),
]
"""The same of what does change."""


@pytest.mark.parametrize(("question", "earlier", "later"), TOLD_OF_THE_SAME)
def test_what_is_told_of_the_same_thing_changes_it(question: str, earlier: str, later: str) -> None:
    asked = asked_terms.asked_of(question)
    assert chat_changes.change_told(question, asked, earlier, later, tuple, is_soon=False) == "sure"


@pytest.mark.parametrize(("question", "earlier", "later", "change"), TOLD_IN_PASSING)
def test_a_change_told_in_passing_is_known_by_its_words(question: str, earlier: str, later: str, change: str) -> None:
    asked = asked_terms.asked_of(question)
    assert chat_changes.change_told(question, asked, earlier, later, tuple, is_soon=False) == change


@pytest.mark.parametrize(
    ("stem", "message"),
    [
        ("run", "Nice! I was running on Sunday. Bye."),
        ("km", "Nice! I signed up for the 10km. Bye."),
        ("10", "Nice! I signed up for the 10km. Bye."),
        ("3.5", "Nice! I walked 3.5 miles. Bye."),
        ("part-time", "Nice! I work part-time. Bye."),
        ("sibl", "Nice! I called my sister. Bye."),
        ("per-cent", "Nice! I saved ten percent. Bye."),
        ("koln", "Nice! I moved to Köln. Bye."),
        ("die", "Nice! My phone is dying. Bye."),
    ],
)
def test_a_claim_is_found_by_any_form_of_a_word(stem: str, message: str) -> None:
    asked = asked_terms.Asked(frozenset((stem,)), frozenset((stem,)))
    assert chat_changes.claims_in(message, asked) == message.removeprefix("Nice! ").removesuffix(" Bye.")
    assert chat_changes.claims_in("Nice! I cooked at home. Bye.", asked) == ""


@pytest.mark.parametrize("sign", [":)", "!!", "5.", "Our."])
def test_a_sentence_without_a_noun_tells_of_nothing_else(sign: str) -> None:
    question, later = "When is training?", f"the club moved its training to Thursdays! {sign}"
    asked = asked_terms.asked_of(question)
    assert chat_changes.change_told(question, asked, "training is on Mondays", later, tuple, is_soon=False) == "sure"


def test_what_is_told_at_length_is_less_sure() -> None:
    question, earlier, later = (
        "how much is the nursery?",
        "the nursery costs 590 a month",
        "the nursery went up to 640.",
    )
    chat = " We had a long day and talked about the weather, the neighbours, and what to eat at the weekend." * 2
    asked = asked_terms.asked_of(question)
    pairs = ((earlier, later), (earlier, later + chat), (earlier + chat, later), (earlier + chat, later + chat))
    told = [chat_changes.change_told(question, asked, *pair, tuple, is_soon=False) for pair in pairs]
    assert told == ["sure", "perhaps", "sure", ""]


def test_who_lives_with_somebody_tells_a_change_of_theirs_by_the_old_name(db: Database) -> None:
    mem = worlddb.memory(db, user="nora", agent="bot")
    mem.add([{"role": "user", "name": "Mia", "content": "my class teacher is Frau Brink", "timestamp": "2023-01-01"}])
    mem.add(
        [{"role": "user", "content": "Frau Brink is on leave, Herr Novak takes her class", "timestamp": "2023-02-01"}]
    )
    found = mem.recall("Who is Mia's class teacher?")
    assert found.hits[0].content == "nora: Frau Brink is on leave, Herr Novak takes her class"
    assert found.competing


PLANS = [
    (
        "At which hotel did I stay in Hamburg?",
        "I'm staying at the Hotel Alster",
        "the Alster was full, found the Hafenruh instead",
    ),
    ("What time did my train leave?", "my train leaves at 7:42", "my train got cancelled, I'm on the 8:19 train now"),
]
"""Questions about the past, what was planned, and what became of it."""


@pytest.mark.parametrize(("question", "planned", "later"), PLANS)
def test_what_was_planned_may_have_changed_before_it_was(db: Database, question: str, planned: str, later: str) -> None:
    mem = worlddb.memory(db, user="nora", agent="bot")
    days(mem, planned, "The tram was late.", later)
    assert mem.recall(question).hits[0].content == f"nora: {later}"


def test_what_shares_a_word_with_the_question_is_no_change_of_what_is_asked(db: Database) -> None:
    mem = worlddb.memory(db, user="nora", agent="bot")
    days(mem, "We deploy the checkout service every Thursday.", "The checkout was down for forty minutes.")
    found = mem.recall("How often do we deploy the checkout service?")
    assert found.hits[0].content == "nora: We deploy the checkout service every Thursday."
    assert not found.competing


def test_what_it_is_that_changed_is_told_by_what_is_said_around() -> None:
    question, earlier, later = "when is the scan?", "my scan's on Tuesday the 3rd", "wait, wrong, it's Friday the 6th"
    asked = asked_terms.asked_of(question)

    def told(*around: str, soon: bool = True) -> str:
        return chat_changes.change_told(question, asked, earlier, later, lambda: around, is_soon=soon)

    assert told(earlier, "OK.") == "sure"
    assert told("Good night!") == "perhaps"
    assert told("So your scan is on Friday, got it.", soon=False) == "perhaps"
    assert told("Good night!", soon=False) == ""


@pytest.mark.parametrize(
    ("question", "earlier", "later"),
    [
        ("When does the flight leave?", "the flight leaves at 7:10", "my mistake, it's 7:40"),
        ("What is the gate code?", "the gate code is 4410", "oops, I had it wrong, it's 4401"),
        ("How many chairs do we need?", "we need 12 chairs", "scratch that, 16"),
        ("Wann ist der Termin?", "Der Termin ist am 4. Mai", "Quatsch, ich meinte den 6. Mai"),
        ("Wie hoch ist die Miete?", "die Miete ist 900 Euro", "Moment, falsch, 950 Euro"),
        ("Wie hoch ist die Miete?", "die Miete ist 900 Euro", "Mein Fehler, 950 Euro"),
        ("Wann ist der Termin?", "Der Termin ist am 4. Mai", "Entschuldigung, am 6. Mai"),
    ],
)
def test_what_is_corrected_right_behind_it_needs_no_other_word(question: str, earlier: str, later: str) -> None:
    asked = asked_terms.asked_of(question)

    def told(*around: str) -> str:
        return chat_changes.change_told(question, asked, earlier, later, lambda: around, is_soon=True)

    assert (told(earlier, "OK."), told("Good night!")) == ("sure", "perhaps")


@pytest.mark.parametrize(
    ("question", "first", "others"),
    [
        ("where does Marta live?", "Marta lives in York.", ["Marta likes to live dangerously.", "Marta is a nurse."]),
        ("where does Tom work?", "Tom works at Bosch.", ["Tom says hard work pays off.", "Tom likes tea."]),
        ("when does Ben start?", "Ben's shift starts at 7.", ["Ben likes to start the day slowly.", "Ben is tall."]),
    ],
)
def test_a_statement_with_a_value_of_the_asked_kind_comes_first(
    db: Database, question: str, first: str, others: list[str]
) -> None:
    mem = worlddb.memory(db, user="nora", agent="bot")
    for text in (first, *others):
        mem.add(text)
    assert mem.recall(question).hits[0].content == first


def test_a_day_is_nobody_by_which_a_person_changes(db: Database) -> None:
    mem = worlddb.memory(db, user="nora", agent="bot")
    days(mem, "our plumber is called Ivo", "the plumber comes from Hull", "the plumber fixed the sink on Monday")
    found = mem.recall("who is our plumber?")
    assert found.hits[0].content == "nora: our plumber is called Ivo" and not found.competing


@pytest.mark.parametrize(
    ("question", "first", "last"),
    [
        ("what was my day rate on 20 March 2023?", "my day rate is 300", "put my day rate up to 340"),
        ("who taught Mia on 20 March 2023?", "Frau Brink teaches Mia", "Frau Brink left, Herr Novak teaches Mia now"),
    ],
)
def test_of_what_was_said_by_a_time_the_last_comes_first(db: Database, question: str, first: str, last: str) -> None:
    mem = worlddb.memory(db, user="nora", agent="bot")
    days(mem, first, last)
    mem.add(
        [{"role": "user", "content": last.replace("340", "380").replace("Novak", "Wolf"), "timestamp": "2023-05-01"}]
    )
    assert mem.recall(question).hits[0].content == f"nora: {last}"


def days(mem: Any, *said: str) -> None:
    for day, text in enumerate(said, 1):
        at = f"2023-03-{day:02}T10:00:00Z"
        mem.add(
            [
                {"role": "user", "content": text, "timestamp": at},
                {"role": "assistant", "content": "Noted.", "timestamp": at},
            ]
        )


OF_ONE_TELLING = [
    ("What is Mila allergic to?", "Mila is allergic to eggs. Theo isn't allergic to any.", "Mila is allergic to eggs"),
    ("When is my dentist appointment?", "dentist moved to 9 May, 14:00", "my dentist appointment is on 9 May at 14:00"),
    ("What day is choir usually?", "choir is on Tuesdays", "choir is on Thursday this week instead"),
]
"""Questions, and two messages of which the later one changes nothing: it says the same, or is of this week."""


@pytest.mark.parametrize(("question", "earlier", "later"), OF_ONE_TELLING)
def test_messages_that_agree_do_not_compete(db: Database, question: str, earlier: str, later: str) -> None:
    mem = worlddb.memory(db, user="kim", agent="bot")
    days(mem, earlier, later)
    found = mem.recall(question)
    assert found.hits and not found.competing and "compete" not in found.note


def test_a_long_message_about_another_class_does_not_compete(db: Database) -> None:
    mem = worlddb.memory(db, user="kim", agent="bot")
    chat = (
        " We talked about the weather, the neighbours, and what to eat at the weekend, as we do most of the time." * 4
    )
    cocktails = "I take a cocktail-making class on Fridays."
    days(mem, cocktails + chat, "I take a class on Thursdays now, so I need new workout outfits." + chat)
    found = mem.recall("What day do I take a cocktail-making class?")
    assert cocktails in found.hits[0].content and not found.competing


def test_a_message_does_not_compete_with_what_was_taken_from_it(db: Database) -> None:
    mem = worlddb.memory(db, user="kim", agent="bot")
    mem.add([{"role": "user", "content": "Ben doesn't play chess, he plays go.", "timestamp": "2023-03-01T10:00:00Z"}])
    mem.add("Ben plays go.", about="Ben", since="2023-03-01T10:00:00Z")
    found = mem.recall("What does Ben play?")
    assert len(found.hits) >= 2 and not found.competing


def test_what_changed_in_passing_comes_first_with_a_note(db: Database) -> None:
    mem = worlddb.memory(db, user="kim", agent="bot")
    days(mem, "eye test is on the 14th at 9", "the tram was late", "ugh they had to push the eye test to the 16th")
    found = mem.recall("when is my eye test?")
    assert [words_of(hit)[-4:] for hit in found.hits[:2]] == ["16th", "at 9"]
    assert found.competing[0].relation == "replacement" and "the later one comes first" in found.note


def test_what_changed_comes_before_the_reply_that_says_the_old_value_again(db: Database) -> None:
    mem = worlddb.memory(db, user="kim", agent="bot")
    for day, said in (
        (1, ("dentist on March 11", "Your dentist appointment: March 11.")),
        (2, ("moved the dentist to the 12th", "OK!")),
    ):
        at = f"2023-03-{day:02}T10:00:00Z"
        mem.add(
            [
                {"role": role, "content": text, "timestamp": at}
                for role, text in zip(("user", "assistant"), said, strict=True)
            ]
        )
    found = mem.recall("when is my dentist appointment?")
    assert words_of(found.hits[0]) == "moved the dentist to the 12th"
    assert {pair.ref for pair in found.competing} == {found.hits[0].ref} and len(found.competing) == 2


def test_what_changed_twice_is_told_by_the_last_message(db: Database) -> None:
    mem = worlddb.memory(db, user="kim", agent="bot")
    days(
        mem,
        "our database is Mongo",
        "we switched from Mongo to Postgres",
        "the tram was late",
        "Postgres fell through, back to Mongo",
    )
    found = mem.recall("which database do we use?")
    assert words_of(found.hits[0]) == "Postgres fell through, back to Mongo"


def test_a_message_that_may_change_the_first_stands_behind_it_with_a_note(db: Database) -> None:
    mem = worlddb.memory(db, user="kim", agent="bot")
    days(mem, "the sitter takes 12 an hour", "the tram was late", "ours asked for 15, the sitter, and I said yes")
    found = mem.recall("how much does the sitter take?")
    assert ["12" in hit.content for hit in found.hits[:2]] == [True, False] and "15" in found.hits[1].content
    assert found.competing[0].relation == "perhaps" and "a later message may change this" in found.note
    assert "a later message may change this" in mem.recall("how much does the sitter take?", k=1).note
    assert found.hits[1].score == pytest.approx(sum(found.hits[1].scores.values()), abs=1e-5)


def test_a_message_that_names_the_old_value_alone_is_found_by_it(db: Database) -> None:
    mem = worlddb.memory(db, user="kim", agent="bot")
    chat = [f"what should I conduct in experiment {number} of the choir of frogs" for number in range(12)]
    days(mem, "Birte conducts our choir", *chat, "Birte fell off her bike, so Magnus is taking over till Christmas")
    for k in (2, 5):
        found = mem.recall("who conducts our choir?", k=k)
        assert ["Magnus" in hit.content for hit in found.hits[:2]] == [True, False]


def test_a_message_is_compared_with_what_the_same_speaker_says_and_with_statements(db: Database) -> None:
    for speaker, text in (("ana", "I live in Lisbon."), ("ben", "I moved to Rome."), ("ana", "I moved to Porto.")):
        mem = worlddb.memory(db, user=speaker, agent="bot")
        mem.add(
            [
                {
                    "role": "user",
                    "content": text,
                    "timestamp": "2023-01-01T10:00:00Z" if "Lis" in text else "2023-05-01T10:00:00Z",
                }
            ]
        )
    home = worlddb.memory(db, user="ana", agent="bot").add("Ana lives in Faro.", about="ana", since="2022-01-01").id
    everybodys = db.view().recall("where does ana live?")
    pairs = {(pair.ref, pair.earlier) for pair in everybodys.competing}
    said = {hit.ref: hit.content for hit in everybodys.hits}
    assert {(said[later], said[earlier]) for later, earlier in pairs} >= {
        ("ana: I moved to Porto.", "Ana lives in Faro.")
    }
    assert not any("ben" in said[each] for pair in pairs for each in pair)
    assert home in {earlier for _, earlier in pairs}


OPERATION = (
    "mum's having her hip done, March 24, at the hospital in Bradford. I'll drive her, so I need that day off",
    "Hope it goes smoothly for your mum.",
)
CHAT = [(f"I tried cake number {number} of the bakery in our street", "Enjoy!") for number in range(20)]
BEHIND = "replied"


def exchanges(db: Database, *pairs: tuple[str, str], speakers: tuple[str, str] = ("user", "assistant")) -> None:
    pair = zip(speakers * len(pairs), [text for each in pairs for text in each], strict=True)
    db.ingest([Turn(speaker=speaker, text=text) for speaker, text in pair], session="chat")
    db.embed()


def test_a_machine_s_short_reply_comes_behind_what_it_replies_to(db: Database) -> None:
    exchanges(db, OPERATION, *CHAT)
    for k in (2, 10):
        said, reply = db.view().recall("how is mum?", k=k).hits[:2]
        assert (words_of(said), words_of(reply)) == OPERATION
        assert BEHIND in (said.scores | reply.scores) and said.score >= reply.score
        for hit in (said, reply):
            assert hit.score == pytest.approx(sum(hit.scores.values()), abs=1e-5)


def test_a_reply_stays_behind_what_tells_as_much_and_lies_between(db: Database) -> None:
    went = "the op of mum went well by the way!! New hip, already bossing the nurses about"
    exchanges(db, OPERATION, (went, "Great news!"), *CHAT)
    found = [words_of(hit) for hit in db.view().recall("how did the op of mum go?", k=10).hits]
    assert found.index(went) < found.index(OPERATION[0]) < found.index(OPERATION[1])


@pytest.mark.parametrize(
    ("pair", "speakers"),
    [
        (("I forgot again what mum wants, the hip or the knee?", "Your mum wants the hip."), ("user", "assistant")),
        ((OPERATION[0], f"{OPERATION[1]} Bring her a book, and ask when she can eat."), ("user", "assistant")),
        (OPERATION, ("Ana", "Ben")),
    ],
    ids=["an answer", "a long reply", "between people"],
)
def test_any_other_reply_keeps_its_place(db: Database, pair: tuple[str, str], speakers: tuple[str, str]) -> None:
    exchanges(db, pair, *CHAT, speakers=speakers)
    assert all(BEHIND not in hit.scores for hit in db.view().recall("how is mum?", k=10).hits)


def test_in_a_user_s_world_whoever_else_speaks_is_a_machine(tmp_path: Path) -> None:
    with worlddb.memory(tmp_path / "store", user="tom", agent="claude", session="chat") as mem:
        roles = ("user", "assistant") * (1 + len(CHAT))
        texts = [text for each in (OPERATION, *CHAT) for text in each]
        mem.add([{"role": role, "content": text} for role, text in zip(roles, texts, strict=True)])
        assert [words_of(hit) for hit in mem.recall("how is mum?", k=2).hits] == list(OPERATION)


@pytest.mark.parametrize(("clock", "follows"), [("10:40", True), ("13:00", False), ("08:00", False)])
def test_what_is_written_hours_later_takes_up_nothing_that_was_said_before(
    db: Database, clock: str, follows: bool
) -> None:
    said = [("10:00", "the school wants a new brochure from me"), (clock, "they are in a hurry")]
    messages = [{"role": "user", "content": text, "timestamp": f"2023-03-01T{at}:00Z"} for at, text in said]
    worlddb.memory(db, user="kim", agent="bot", session="day").add(messages)
    hits = db.view().recall("the brochure for the school").hits
    assert ["before" in hit.scores for hit in hits] == [False, follows]


def test_what_was_advised_comes_before_calls_of_tools_and_their_results(tmp_path: Path) -> None:
    """The call and the raw result were the first hits."""
    said = [
        {"role": "user", "content": "I feel tired after my long runs, what should I change?"},
        {
            "role": "assistant",
            "tool_calls": [{"id": "1", "function": {"name": "get_plan", "arguments": '{"client": "priya"}'}}],
        },
        {"role": "tool", "tool_call_id": "1", "content": '{"client": "priya", "coach": "advice", "day": "3 October"}'},
        {"role": "assistant", "content": "Cut the Saturday run to 14 km and sleep eight hours before it."},
    ]
    with worlddb.memory(tmp_path / "store", user="priya", agent="coach", session="call") as mem:
        mem.add(said, since="2026-10-03T09:00:00Z")
        for question in ("what did the coach advise on 3 October 2026?", "what did the coach say of advice?"):
            found = mem.recall(question).hits
            is_call = ["[calls" in hit.content or hit.content.startswith("tool:") for hit in found]
            advice = next(place for place, hit in enumerate(found) if "14 km" in hit.content)
            assert advice < is_call.index(True)
        assert "[calls" in mem.recall("what did the coach say in the call of get_plan?").hits[0].content


ANSWERED_BY_A_VALUE: list[tuple[str, str, str]] = [
    (
        "who prints the posters?",
        "the posters go to print soon",
        "Hartmann is the print shop for the posters, by the way",
    ),
    ("where is the test server hosted?", "the test server was slow again", "put the server for tests at Hetzner"),
    (
        "how many pages has the brochure?",
        "the brochure has too many pages if you ask me",
        "it's 24 pages, the brochure",
    ),
    ("when is the brochure due?", "is the brochure of the school what is due", "they need the brochure on 8 January"),
]
"""Questions, with a message that has more of their words, and one that has what is asked for."""


@pytest.mark.parametrize(("question", "near", "answer"), ANSWERED_BY_A_VALUE)
@pytest.mark.parametrize("is_turned", [False, True])
def test_a_message_with_a_value_of_the_kind_that_is_asked_for_comes_first(
    db: Database, question: str, near: str, answer: str, is_turned: bool
) -> None:
    mem = worlddb.memory(db, user="kim", agent="bot")
    days(mem, *((answer, "the tram was late", near) if is_turned else (near, "the tram was late", answer)))
    hits = mem.recall(question).hits
    assert words_of(hits[0]) == answer
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert all(hit.score == pytest.approx(sum(hit.scores.values()), abs=1e-5) for hit in hits)


def test_somebody_s_name_is_no_place(db: Database) -> None:
    """ "I gave Anna 20 euros" came before what has more of the question's words, as it has a name."""
    mem = worlddb.memory(db, user="kim", agent="bot")
    near = "the wifi password is swordfish"
    days(mem, near, "the tram was late", "I gave Anna 20 euros for the wifi")
    assert words_of(mem.recall("where is the wifi password written?").hits[0]) == near


@pytest.mark.parametrize(
    "question",
    [
        "who was my contact at the brewery before Saskia?",
        "who was my contact at the brewery on 2 March 2023?",
        "who was my contact at the brewery before the fair?",
    ],
)
def test_a_question_of_what_was_is_answered_by_what_was_said_by_then(db: Database, question: str) -> None:
    mem = worlddb.memory(db, user="kim", agent="bot")
    days(
        mem,
        "Marlow rang, he does the talking for the brewery",
        "the tram was late",
        "Saskia is my contact at the brewery, we met at the fair",
        "Saskia from the brewery sent beer",
    )
    assert words_of(mem.recall(question).hits[0]).startswith("Marlow")
    assert words_of(mem.recall("who is my contact at the brewery?").hits[0]).startswith("Saskia is")


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("What was the rent of the office in September 2023?", "In September the rent of the office was 900 euros"),
        ("Who ran the office before Jasper?", "before Jasper it was Ines who ran the office"),
    ],
)
def test_a_message_that_was_said_later_and_tells_of_then_stays_first(db: Database, question: str, told: str) -> None:
    mem = worlddb.memory(db, user="kim", agent="bot")
    said = [("2023-08-01", "the rent of the flat is 700 euros"), ("2023-09-02", "Jasper took the office over")]
    days_of = [{"role": "user", "content": text, "timestamp": f"{day}T10:00:00Z"} for day, text in said]
    mem.add([*days_of, {"role": "user", "content": told, "timestamp": "2023-10-05T10:00:00Z"}])
    assert words_of(mem.recall(question).hits[0]) == told
