"""Streams of a recall: other wordings, paths between entities, what hits lead to, and rerankers one after another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

import worlddb
from tests.support.running import Here
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
    assert asked == ["the Wiki"] and found.note.startswith("asked in 2 wordings")
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
    with pytest.raises(InputError, match="A receipt was asked for of streams"):
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
    run = Here(capsys, office.db.path)
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
