"""Streams of a recall: other wordings, paths between entities, what hits lead to, and rerankers one after another."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

import worlddb
from tests.support.running import LocalRunner
from worlddb import Database, EntityPath, InputError, Recall, Streams, UnknownReference, rerank

BEGIN = "2026-01-01"


class Office(NamedTuple):
    db: Database
    refs: dict[str, str]


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    """A service, what it depends on, who changed that, and a note about it; another room with a secret."""
    with worlddb.open(tmp_path_factory.mktemp("office") / "store", author="tests", embedder=None) as db:
        refs = {"room": db.create("Room", "Office", valid_from=BEGIN).ref}
        for name in ("auth-service", "user-db", "migration-v2", "Alice", "Wiki"):
            refs[name] = db.create("Thing", name, world=refs["room"], valid_from=BEGIN).ref
        refs["other"] = db.create("Room", "Cellar", valid_from=BEGIN).ref
        refs["secret"] = db.create("Thing", "Secret", world=refs["other"], valid_from=BEGIN).ref
        why = {"context": "for its sessions"}
        made = db.link(refs["auth-service"], "depends_on", refs["user-db"], valid_from="2026-01-05", properties=why)
        refs["depends"] = made.ref
        db.link(refs["migration-v2"], "causes", refs["user-db"], valid_from="2026-02-01", valid_to="2026-03-01")
        db.link(refs["migration-v2"], "derived_from", refs["Alice"])
        db.link(refs["user-db"], "refers_to", refs["secret"])
        note = db.create("Note", "", content="Logins fail since the change.", world=refs["room"], valid_from=BEGIN).ref
        db.link(note, "refers_to", refs["user-db"])
        refs["note"] = note
        yield Office(db, refs)


def contexts(found: Recall) -> list[str]:
    return [path.context for path in found.paths]


def test_ways_lead_from_what_the_question_names_and_tell_their_relations(office: Office) -> None:
    view = office.db.view(valid="2026-02-10")
    found = view.recall("Who changed what the auth-service depends on?", streams=Streams(paths=10, depth=3))
    assert "auth-service depends on user-db, for its sessions (since 2026-01-05)" in contexts(found)
    longest = max(found.paths, key=lambda path: len(path.edges))
    assert longest.context == (
        "auth-service depends on user-db, for its sessions (since 2026-01-05);"
        " migration-v2 causes user-db (from 2026-02-01 to 2026-03-01);"
        " migration-v2 derived from Alice (since 2026-01-01)"
    )
    named = [office.refs[name] for name in ("auth-service", "user-db", "migration-v2", "Alice")]
    assert list(longest.nodes) == named and longest.edges[0] == office.refs["depends"] and longest.of == ""
    assert [path.score for path in found.paths] == sorted((path.score for path in found.paths), reverse=True)
    # A fourth edge is one too many for a depth of three; before and after a relation holds it is no way.
    assert all(len(path.edges) <= 3 for path in found.paths)
    late = office.db.view(valid="2026-04-01").recall("auth-service", streams=Streams(paths=10, depth=3))
    assert all("causes" not in context for context in contexts(late))
    assert view.recall("Who?", streams=Streams(paths=10)).paths == ()
    assert len(view.recall("auth-service", streams=Streams(paths=1, depth=3)).paths) == 1


def test_each_hit_leads_to_what_lies_around_that_it_refers_to(office: Office) -> None:
    found = office.db.view(valid="2026-02-10").recall("why do logins fail", streams=Streams(hit_paths=2, depth=1))
    assert found.hits[0].ref == office.refs["note"]
    own = [path for path in found.paths if path.of == office.refs["note"]]
    assert len(own) == 2 and all("user-db" in path.context for path in own)


def test_a_confined_view_walks_nowhere_outside(office: Office) -> None:
    whole = office.db.view(valid="2026-02-10").recall("user-db", streams=Streams(paths=20))
    inside = office.db.view(valid="2026-02-10", world=office.refs["room"]).recall("user-db", streams=Streams(paths=20))
    limited = office.db.view(valid="2026-02-10").recall(
        "Secret user-db", world=office.refs["room"], streams=Streams(paths=20, hit_paths=20)
    )
    assert any("Secret" in context for context in contexts(whole))
    assert inside.paths and all("Secret" not in context for context in contexts(inside))
    # Unconfined, an edge whose type leads out may be walked, and nothing outside is begun at.
    assert all(path.nodes[0] != office.refs["secret"] for path in limited.paths)


def test_other_wordings_are_asked_too_and_a_hit_has_its_best_score(office: Office) -> None:
    asked: list[str] = []

    def expand(question: str) -> Sequence[str]:
        asked.append(question)
        return ["logins fail", question, "logins fail"]

    view = office.db.view()
    assert office.refs["note"] not in [hit.ref for hit in view.recall("the Wiki").hits]
    found = view.recall("the Wiki", streams=Streams(expand=expand))
    alone = view.recall("logins fail").hits[0]
    assert asked == ["the Wiki"] and found.note.startswith("searched with 2 wordings")
    assert next(hit.score for hit in found.hits if hit.ref == office.refs["note"]) == alone.score
    assert len(found.hits) == len({hit.ref for hit in found.hits}) and found.paths == ()
    assert len(view.recall("the Wiki", k=1, streams=Streams(expand=expand)).hits) == 1
    scoped = view.recall("the Wiki", scopes=[office.refs["room"]], streams=Streams(expand=expand))
    assert {hit.scope for hit in scoped.hits} == {office.refs["room"]}


def _said(given: Any, text: str) -> Any:
    return given


def test_streams_that_are_none_are_refused(office: Office) -> None:
    view = office.db.view()
    said: list[Any] = [["x"] * 9, "x", [1]]
    wrong: list[Any] = [Streams(expand=partial(_said, given)) for given in said]
    wrong += [{}, Streams(paths=-1), Streams(depth=5)]
    wrong += [msgspec.structs.replace(Streams(), **{name: "x"}) for name in ("expand", "describe")]
    for streams in wrong:
        with pytest.raises(InputError):
            view.recall("Wiki", streams=streams)
    with pytest.raises(InputError, match="A receipt cannot cover streams"):
        view.recall("Wiki", exact=True, receipt=True, streams=Streams())


def test_who_asks_for_no_stream_gets_what_they_always_got(office: Office) -> None:
    view = office.db.view()
    assert view.recall("Wiki", streams=Streams()) == view.recall("Wiki")
    assert view.recall("Wiki").paths == ()


def test_each_hit_says_what_was_inferred_of_it_where_a_client_is_to_choose(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", author="tests", embedder=None) as db:
        db.ingest([worlddb.Turn(text="I use React."), worlddb.Turn(text="I hate that framework.")], conversation="talk")
        db.enrich()
        plain = db.view().recall("hate", lanes=("text",)).hits[0]
        told = db.view().recall("hate", lanes=("text",), streams=Streams(describe=True)).hits[0]
        assert plain.ref == told.ref and "React" in told.inferred["resolved"]


def test_the_command_line_tells_ways_as_lines(office: Office, capsys: pytest.CaptureFixture[str]) -> None:
    run = LocalRunner(capsys, office.db.path)
    asked = ("recall", "auth-service", "--valid", "2026-02-10", "--paths", 2)
    assert "path: auth-service depends on user-db, for its sessions (since 2026-01-05)" in run(*asked).out
    told = run.json(*asked, "--hit-paths", 1)["paths"]
    assert told[0]["of"] == "" and {each["of"] for each in told} > {""}
    assert "paths" not in run.json("recall", "auth-service")


def test_density_counts_what_joins_the_worlds_around_some(office: Office) -> None:
    view = office.db.view(valid="2026-02-10", world=office.refs["room"])
    near = view.density(office.refs["user-db"])
    # The service, the migration and the note, and nothing between these.
    assert (near.worlds, near.edges, near.cut_off) == (4, 3, False) and near.share == pytest.approx(0.5)
    assert near.types == {"causes": 1, "depends_on": 1, "refers_to": 1}
    assert view.density(office.refs["Wiki"]).share == 0.0
    assert view.density(office.refs["user-db"], types=["causes"], depth=3).types == {"causes": 1}
    assert office.db.view(valid="2026-02-10").density(office.refs["user-db"]).worlds == 5
    with pytest.raises(UnknownReference):
        view.density(office.refs["secret"])
    with pytest.raises(InputError):
        view.density(office.refs["Wiki"], depth=0)


def longer(question: str, texts: Sequence[str], /) -> list[float]:
    return [float(len(text)) for text in texts]


class Noting:
    """Prefers what comes last, and notes how many texts it was given."""

    def __init__(self) -> None:
        self.given: list[int] = []

    def __call__(self, question: str, texts: Sequence[str], /) -> list[float]:
        self.given.append(len(texts))
        return [float(place) for place in range(len(texts))]


def test_a_cascade_refines_the_best_of_the_reranker_before(office: Office) -> None:
    found = office.db.view().recall("auth-service user-db migration-v2 Alice Wiki Secret Office logins", k=8)
    first, last = Noting(), Noting()
    done = rerank(found, "q", [first, last], cull=3)
    assert first.given == [len(found.hits)] and last.given == [3]
    refs = [hit.ref for hit in found.hits]
    # The first turns all around, the last the best three again.
    turned = refs[::-1]
    assert [hit.ref for hit in done.hits] == [*turned[2::-1], *turned[3:]]
    assert done.note.endswith("reranked by Noting, then Noting")
    assert [hit.ref for hit in rerank(found, "q", [first, last], cull=3, k=2).hits] == turned[2:0:-1]


@pytest.mark.parametrize("how", [{"add": True}, {"instead": "text"}])
def test_the_scores_of_a_cascade_that_adds_add_up(office: Office, how: dict[str, Any]) -> None:
    found = office.db.view().recall("auth-service user-db migration-v2 Alice Wiki Secret Office logins", k=8)
    hundredth, tenth = (lambda question, texts, of=of: [len(text) / of for text in texts] for of in (10_000, 1_000))
    done = rerank(found, "q", [hundredth, tenth], cull=3, **how)
    one_by_one = rerank(rerank(found, "q", hundredth, k=3, **how), "q", tenth, **how)
    assert done.hits[:3] == one_by_one.hits and done.hits[3:] == rerank(found, "q", hundredth, **how).hits[3:]
    before = {hit.ref: hit.scores for hit in found.hits}
    for place, hit in enumerate(done.hits):
        kept = {lane: part for lane, part in before[hit.ref].items() if lane != how.get("instead")}
        length = len("\n".join(filter(None, (hit.name, hit.content))))
        assert hit.scores == pytest.approx({**kept, "rerank": length * (0.0011 if place < 3 else 0.0001)})


def test_the_choice_may_be_the_clients_and_nobody_is_asked(office: Office) -> None:
    found = office.db.view().recall("auth-service", k=3)
    chosen = rerank(found, "q", mode="client")
    assert chosen.hits == found.hits and "the caller's own model chooses" in chosen.note
    assert rerank(found, "q", mode="auto") == chosen
    assert rerank(found, "q", longer, mode="auto") == rerank(found, "q", longer)
    wrong: list[dict[str, Any]] = [{"mode": "client", "reranker": longer}, {}, {"mode": "best"}]
    for options in (*wrong, {"reranker": [longer, 7]}):
        with pytest.raises(InputError):
            rerank(found, "q", **options)


def test_paths_are_reranked_each_stream_by_itself(office: Office) -> None:
    streams = Streams(paths=5, hit_paths=3, depth=2)
    found = office.db.view(valid="2026-02-10").recall("why does auth-service fail logins", streams=streams)
    done = rerank(found, "q", longer)
    assert {path.of for path in done.paths} == {path.of for path in found.paths} and len(done.paths) > 3
    streams_of: dict[str, list[EntityPath]] = {}
    for path in done.paths:
        streams_of.setdefault(path.of, []).append(path)
    assert [path for of in streams_of.values() for path in of] == list(done.paths)
    for of in streams_of.values():
        assert [path.score for path in of] == sorted((float(len(path.context)) for path in of), reverse=True)


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """A talk about a kiln, with chatter in it, and a decision and a note that say much the same."""
    with worlddb.open(tmp_path_factory.mktemp("kinds") / "store", author="tests") as db:
        said = ["The kiln in the pottery is broken.", "The kiln needs a new thermostat.", "Lovely weather on Sunday!"]
        db.ingest([worlddb.Turn(speaker="Ana", text=text) for text in said], conversation="pottery", session="1")
        db.create("Decision", "", content="The pottery buys a thermostat for the kiln.", resolve=False)
        db.create("Note", "", content="The pottery may buy a thermostat for the kiln.", resolve=False)
        db.embed()
        yield db


def test_hits_are_weighed_by_their_type(kinds: Database) -> None:
    view, asked = kinds.view(), "a thermostat for the kiln of the pottery"
    plain = {hit.ref: hit for hit in view.recall(asked).hits}
    for exact in (False, True):
        found = view.recall(asked, exact=exact, type_weights={"Decision": 0.25, "Turn": 0, "Note": 2})
        assert found.hits[0].type == "Note"
        for hit in found.hits:
            worth = {"Decision": 0.25, "Turn": 0.0, "Note": 2.0}.get(hit.type, 1.0)
            assert hit.score == pytest.approx(worth * plain[hit.ref].score, abs=2e-5)
            assert sum(hit.scores.values()) == pytest.approx(hit.score, abs=2e-5)
    greater = view.recall(asked, fusion="combmax", type_weights={"Turn": 0})
    said = {hit.score for hit in greater.hits if hit.type == "Turn"}
    assert said == {0.0}, "Kumiho's equation 8: the weight times the greater of the two"
    assert view.recall(asked, type_weights={}).hits == view.recall(asked).hits
    assert all(hit.confidence is None for hit in found.hits) and plain[found.hits[0].ref].confidence is not None
    assert "left out no hit" in view.recall(asked, type_weights={"Turn": 2}, min_confidence=0.9).note


def test_of_the_hits_of_one_world_those_that_are_not_near_are_left_out(kinds: Database) -> None:
    view, asked = kinds.view(), "What is wrong with the kiln?"
    plain = view.recall(asked)
    (chatter,) = (hit for hit in plain.hits if "weather" in hit.content)
    assert chatter.scores.get("vector", 0.0) < 0.3
    found = view.recall(asked, siblings=0.3)
    assert [hit.ref for hit in found.hits] == [hit.ref for hit in plain.hits if hit.ref != chatter.ref]
    best = next(hit for hit in plain.hits if hit.type == "Turn")
    strict = view.recall(asked, siblings=1.0)
    assert [hit.ref for hit in strict.hits if hit.type == "Turn"] == [best.ref], "the best one stays"
    assert {hit.type for hit in strict.hits} >= {"Decision", "Note"}, "what lies in no world has no siblings"
    assert len(view.recall(asked, siblings=1.0, group=5).groups[0].hits) == 1
    absence = view.why_not(chatter.ref, asked, siblings=0.3)
    assert "siblings" in absence.reason
    (session,) = view.find(type="Session")
    inside = [view.recall(asked, world=session.ref, siblings=least).hits for least in (None, 1.0)]
    assert inside[0] == inside[1], "what lies directly in the world that is searched has none"


def test_without_vectors_no_sibling_is_left_out(office: Office) -> None:
    view = office.db.view()
    assert len(view.recall("login", world=office.refs["room"]).hits) > 0
    for text in ("login", "auth-service"):
        assert view.recall(text, siblings=1.0).hits == view.recall(text).hits


def test_a_word_that_no_text_has_is_read_as_one_that_is_a_letter_off(kinds: Database) -> None:
    turn = next(world for world in kinds.view().find(type="Turn") if "broken" in world.content)
    for view in (kinds.view(), kinds.view(world=kinds.view().find(name="pottery")[0].ref)):
        for exact in (False, True):
            found = view.recall("Is it brokn?", lanes=("text",), fuzzy=True, exact=exact)
            assert [hit.ref for hit in found.hits] == [turn.ref]
            assert '"brokn" is in no text and was read as "broken"' in found.note
            assert not view.recall("Is it brokn?", lanes=("text",), exact=exact).hits
    view = kinds.view()
    for text in ("thremostat", "thermostats", "thermostt", "thermoxtat"):
        assert view.recall(text, lanes=("text",), fuzzy=True).hits, "swapped, longer, shorter, another letter"
    for text in ("kilm", "thremostta", "12345", "Пример", ""):
        assert not view.recall(text, lanes=("text",), fuzzy=True).hits, "short, two letters off, no word"
    for text in ("broken thermostat", "brokens", "what did they break there, before those?", "decision"):
        assert "read as" not in view.recall(text, fuzzy=True).note, "known, by its stem, as scaffolding, and as a type"
    for text in ("BROKN", "br\u00f6kn", "bro\u0308kn", "\uff42rokn"):
        found = view.recall(f"{text}, or its thermo\u017ftatt's?", lanes=("text",), fuzzy=True)
        assert {"text: broken", "text: thermostat"} == {hit.reason.partition(";")[0] for hit in found.hits}


def test_an_answer_says_how_it_was_searched_for(kinds: Database, office: Office) -> None:
    view = kinds.view()
    lanes = {"hybrid": ("text", "vector"), "fulltext": ("text", "entity"), "vector": ("vector",), "entity": ("entity",)}
    for mode, asked in lanes.items():
        assert view.recall("kiln", lanes=asked).search_mode == mode
    assert view.recall("kiln").search_mode == "hybrid" and view.recall("").search_mode == ""
    assert office.db.view().recall("auth-service").search_mode == "fulltext", "it has no vectors"


def test_weights_and_exclusions_are_checked(kinds: Database) -> None:
    view = kinds.view()
    bad: list[tuple[dict[str, Any], str]] = [
        ({"type_weights": {"Note": -1}}, "weight of 'Note' is -1"),
        ({"type_weights": {"Note": "x"}}, "weight of 'Note' is 'x'"),
        ({"type_weights": [1]}, "type_weights is list"),
        ({"type_weights": {1: 1}}, "a type"),
        ({"siblings": 2}, "siblings is 2"),
        ({"siblings": 0.3, "fusion": "rrf"}, "compared by their meaning"),
        ({"siblings": 0.3, "lanes": ("text",)}, "compared by their meaning"),
        ({"fuzzy": 1}, "fuzzy"),
        ({"fuzzy": True, "exact": True, "receipt": True}, "A receipt cannot cover corrected words"),
        ({"type_weights": {}, "exact": True, "receipt": True}, "A receipt cannot cover type weights"),
    ]
    for options, said in bad:
        with pytest.raises(InputError, match=re.escape(said)):
            view.recall("kiln", **options)


def test_the_command_weighs_types_leaves_siblings_out_and_reads_words(
    kinds: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    run = LocalRunner(capsys, kinds.path)
    found = run.json("recall", "the thremostat", "--fuzzy", "--siblings", "1", "--type-weight", "Note=2")
    assert found["search_mode"] == "hybrid" and "was read as" in found["note"]
    assert [hit["type"] for hit in found["hits"]].count("Turn") == 1 and found["hits"][0]["type"] == "Note"
    assert run("recall", "kiln", "--type-weight", "Note=x").error == "usage"
