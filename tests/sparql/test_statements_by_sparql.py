"""SPARQL over statements: datasets of worlds, moments, confinement, and what is held from one query to the next."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest

import worlddb
from tests.support.running import LocalRunner
from worlddb import Iri
from worlddb.query.sparql import datasets, sparql_workers

A, B, C, P, G = (Iri(f"urn:x:{name}") for name in "abcpg")
ALL = "SELECT ?s ?o { ?s ?p ?o } ORDER BY ?s ?o"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[worlddb.Database]:
    with worlddb.open(tmp_path / "store") as db:
        yield db


def pairs(view: worlddb.View, world: object = None, query: str = ALL) -> list[str]:
    return [" ".join(str(term).rstrip(">")[-1] for term in row.values()) for row in view.sparql(query, world=world)]


def test_a_world_is_a_dataset_with_its_graphs(db: worlddb.Database) -> None:
    town, other = db.create("Place", "Town").ref, db.create("Place", "Pub").ref
    db.state(town, [(A, P, B), (A, P, C, G)])
    db.state(other, [(B, P, A)])
    view = db.view()
    assert pairs(view, town) == ["a b"]
    assert pairs(view, town, "SELECT ?s ?o { GRAPH <urn:x:g> { ?s ?p ?o } }") == ["a c"]
    # Without a world: all that the view sees, and each world as a graph.
    assert pairs(view) == ["a b", "a c", "b a"]
    assert pairs(view, None, f"SELECT ?s ?o {{ GRAPH <urn:worlddb:world:{other}> {{ ?s ?p ?o }} }}") == ["b a"]
    assert pairs(view, town, f"SELECT ?s ?o FROM <urn:worlddb:world:{other}> {{ ?s ?p ?o }}") == ["b a"]
    inside = db.view(world=town)
    assert pairs(inside) == ["a b", "a c"]
    for query in (f"ASK FROM <urn:worlddb:world:{other}> {{ ?s ?p ?o }}", "ASK {}"):
        with pytest.raises(worlddb.UnknownReference):
            inside.sparql(query, world=other)
    with pytest.raises(worlddb.UnknownReference):
        inside.sparql(f"ASK FROM <urn:worlddb:world:{other}> {{ ?s ?p ?o }}")


def test_a_query_is_as_of_both_axes_and_compares_moments(db: worlddb.Database) -> None:
    town = db.create("Place", "Town").ref
    first = db.state(town, [(A, P, B)], valid_from="2020-01-01", valid_to="2022-01-01")
    db.state(town, [(A, P, C)], valid_from="2021-01-01")
    assert pairs(db.view(valid="2020-06-01"), town) == ["a b"]
    assert pairs(db.view(valid="2021-06-01"), town) == ["a b", "a c"]
    assert pairs(db.view(seq=first.seq, valid="2021-06-01"), town) == ["a b"]
    assert pairs(db.view(), town) == ["a c"]
    then = f"<urn:worlddb:world:{town}?ingested={worlddb.format_time(first.ingest_time)}&valid=2021-06-01>"
    came = f"SELECT ?s ?o {{ ?s ?p ?o MINUS {{ GRAPH {then} {{ ?s ?p ?o }} }} }}"
    assert pairs(db.view(), town, came) == ["a c"]
    with pytest.raises(worlddb.InputError, match="view ends at"):
        db.view(seq=first.seq).sparql(f"ASK FROM <urn:worlddb:world:{town}?ingested=2100-01-01> {{}}")


def test_blank_nodes_are_blank_and_join(db: worlddb.Database) -> None:
    town = db.create("Place", "Town").ref
    db.state(town, [("_:x", P, "_:y"), ("_:y", P, B)])
    (row,) = db.view().sparql("SELECT ?y { ?x <urn:x:p> ?y . ?y <urn:x:p> ?z FILTER(isBlank(?y)) }", world=town)
    assert [row["y"]] == [each.subject for each in db.view().statements(town, object=B)]


def test_a_dataset_is_read_again_only_if_its_statements_changed(
    db: worlddb.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    hydrated, hydrate = [], sparql_workers.Desk.hydrate

    def counted(desk: sparql_workers.Desk, key: str, parts: Any) -> None:
        hydrated.append(key)
        hydrate(desk, key, parts)

    monkeypatch.setattr(sparql_workers.Desk, "hydrate", counted)
    town, other = db.create("Place", "Town").ref, db.create("Place", "Pub").ref
    db.state(town, [(A, P, B)], valid_from="2020-01-01")
    assert pairs(db.view(), town) == ["a b"]
    db.state(other, [(A, P, C)])
    assert pairs(db.view(), town) == pairs(db.view(valid="2021-01-01"), town) == ["a b"]
    assert len(hydrated) == 1
    assert pairs(db.view(valid="2019-01-01"), town) == []
    db.unstate(town, [(A, P, B)], at="2022-01-01")
    assert pairs(db.view(), town) == []
    assert pairs(db.view(valid="2021-01-01"), town) == ["a b"]


def test_a_worker_follows_what_commits_changed(db: worlddb.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    town, followed, follow = db.create("Place", "Town").ref, [], sparql_workers.Desk.follow

    def counted(desk: sparql_workers.Desk, *given: Any) -> None:
        followed.append(given)
        follow(desk, *given)

    monkeypatch.setattr(sparql_workers.Desk, "follow", counted)
    both = "SELECT ?s ?o { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } } ORDER BY ?s ?o"
    db.state(town, [(A, P, B), (A, P, C, G), (B, P, "_:x"), (C, P, A)], valid_from="2020-01-01", valid_to="2090-01-01")
    held = len(pairs(db.view(), town, both))
    before = db.view()
    db.unstate(town, [(A, P, C, G)])
    assert len(pairs(db.view(), town, both)) == held - 1
    assert not db.view().sparql("ASK { GRAPH ?g {} }", world=town), "an emptied graph is gone"
    db.change_statements(town, remove=db.view().statements(town, subject=B), add=[(B, P, B)])
    db.state(town, [(C, P, C)], valid_from="2021-01-01", valid_to="2022-01-01")
    assert pairs(db.view(), town) == ["a b", "b b", "c a"]
    assert len(followed) == 2
    # What ends within the stretch that was looked at is seen there, and the past is as it was.
    assert pairs(db.view(valid="2021-06-01"), town) == ["a b", "c a", "c c"]
    assert pairs(db.view(valid="2095-01-01"), town) == ["b b"]
    assert len(pairs(before, town, both)) == held


def test_an_erased_statement_leaves_what_is_held(db: worlddb.Database) -> None:
    town = db.create("Place", "Town").ref
    db.state(town, [(A, P, B)])
    assert pairs(db.view()) == ["a b"]
    db.erase(town, reason="asked for", members=False)
    assert pairs(db.view()) == []


def test_only_so_many_spans_of_statements_are_kept(db: worlddb.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets, "_MAX_SPANS", 2)
    town = db.create("Place", "Town").ref
    for year in range(2000, 2005):
        db.state(town, [(A, P, B)], valid_from=f"{year}-01-01", valid_to=f"{year}-02-01")
        assert pairs(db.view(valid=f"{year}-01-15"), town) == ["a b"]
    assert len(datasets._spans) <= 2


def test_the_memory_is_compared_with_itself_at_moments(db: worlddb.Database) -> None:
    names = "SELECT ?name FROM <https://worlddb.dev/ns#memory?MOMENT> { ?a wdb:name ?name }"

    def found(view: worlddb.View, moment: str) -> list[str]:
        return sorted(row["name"].value for row in view.sparql(names.replace("MOMENT", moment)))

    top = db.create("Topic", "New York", valid_from="2020-01-01").ref
    db.create("Restaurant", "Mario", world=top, valid_from="2020-01-01")
    db.create("Secret", "Elsewhere", valid_from="2020-01-01")
    before = worlddb.format_time(db.view().ingested)
    db.create("Restaurant", "Nino", world=top, valid_from="2021-01-01")
    assert found(db.view(), f"ingested={before}&valid=2021-06-01") == ["Elsewhere", "Mario", "New York"]
    assert found(db.view(), "valid=2020-06-01") == ["Elsewhere", "Mario", "New York"]
    assert found(db.view(), "valid=2021-06-01") == ["Elsewhere", "Mario", "New York", "Nino"]
    assert found(db.view(world=top), "valid=2020-06-01") == ["Mario", "New York"]
    with pytest.raises(worlddb.InputError, match="no valid moment"):
        found(db.view(), "when=now")


def test_an_update_that_is_retried_under_its_key_has_one_effect(db: worlddb.Database) -> None:
    town = db.create("Place", "Town").ref
    db.state(town, [("<urn:a>", "<urn:p>", '"old"'), ("_:x", "<urn:p>", "<urn:a>")])
    update = """DELETE { ?s <urn:p> 'old' } INSERT { ?s <urn:q> [ <urn:n> 1 ], [ <urn:n> 2 ] . ?b <urn:r> ?s }
        WHERE { ?s <urn:p> 'old' . ?b <urn:p> ?s }"""
    first = db.sparql_update(update, world=town, idempotency_key="k")
    held = {str(each) for each in db.view().statements(town)}
    assert len(held) == 6
    db.state(town, [("<urn:b>", "<urn:p>", '"old"')])
    again = db.sparql_update(update, world=town, idempotency_key="k")
    assert again.seq == first.seq and again.events == first.events
    assert {str(each) for each in db.view().statements(town)} == {*held, '<urn:b> <urn:p> "old" .'}
    with pytest.raises(worlddb.IdempotencyConflict):
        db.sparql_update("DELETE WHERE { ?s ?p ?o }", world=town, idempotency_key="k")
    assert db.head().seq == first.seq + 1


def test_a_dataset_may_be_given_beside_the_query(db: worlddb.Database) -> None:
    town = db.create("Place", "Town").ref
    db.state(
        town, [("<urn:a>", "<urn:p>", "<urn:o>"), *(("<urn:a>", "<urn:p>", f"<urn:{n}>", f"<urn:{n}>") for n in "xy")]
    )
    view, query = db.view(), "SELECT ?o FROM <urn:x> { { ?s <urn:p> ?o } UNION { GRAPH ?g { ?s <urn:p> ?o } } }"

    def found(**graphs: Any) -> list[str]:
        return sorted(str(row["o"])[5:-1] for row in view.sparql(query, world=town, **graphs))

    assert found() == ["x"]
    assert found(default_graphs=["urn:y"]) == ["y"]
    assert found(named_graphs=["urn:x", "urn:y"]) == ["x", "y"]
    assert found(default_graphs=["urn:x", "urn:y"], named_graphs=["urn:y"]) == ["x", "y", "y"]
    assert found(default_graphs=[], named_graphs=[]) == []
    (name,) = view.sparql("SELECT ?n { ?x wdb:name ?n }", default_graphs=["https://worlddb.dev/ns#memory"]).rows
    assert str(name["n"]) == '"Town"'
    for wrong in ("urn:x", ["x y"]):
        with pytest.raises(worlddb.InputError):
            found(default_graphs=wrong)


def test_a_dataset_may_be_given_beside_the_update(db: worlddb.Database) -> None:
    town = db.create("Place", "Town").ref
    said = [("<urn:a>", "<urn:p>", f"<urn:{name}>", f"<urn:{name}>") for name in "xy"]
    db.state(town, [("<urn:a>", "<urn:p>", "<urn:o>"), *said])

    def left(update: str, **graphs: Any) -> list[str]:
        db.sparql_update(update, world=town, **graphs)
        return sorted(str(each.object)[5:-1] for each in db.view().statements(town))

    assert left("CLEAR SILENT GRAPH <urn:z> ; PREFIX : <urn:> DELETE { ?s :n ?o } WHERE { ?s :n ?o }") == [
        "o",
        "x",
        "y",
    ]
    # What is looked at in <urn:x> is taken from the default graph, which has nothing of it.
    assert left("DELETE WHERE { ?s <urn:p> ?o }", using_graphs=["urn:x"]) == ["o", "x", "y"]
    moved = "DELETE { GRAPH ?g { ?s <urn:p> ?o } } INSERT { ?s <urn:q> ?o } WHERE { GRAPH ?g { ?s <urn:p> ?o } }"
    assert left(moved, using_named_graphs=["urn:y"]) == ["o", "x", "y"]
    assert [str(each) for each in db.view().statements(town, predicate="<urn:q>")] == ["<urn:a> <urn:q> <urn:y> ."]
    assert left("DELETE { ?s <urn:p> <urn:o> } WHERE { ?s <urn:p> <urn:x> }", using_graphs=["urn:x"]) == ["x", "y"]
    for wrong in ("urn:x", ["x y"], [7]):
        with pytest.raises(worlddb.InputError):
            left(moved, using_graphs=wrong)
    with pytest.raises(worlddb.InvalidSparql):
        left("WITH <urn:x> " + moved, using_graphs=["urn:x"])


BATCHED_UPDATES = (
    "INSERT DATA { <urn:x:a> <urn:x:p> <urn:x:b>, _:n . GRAPH <urn:x:g> { _:n <urn:x:q> 'tea'@en } }",
    "DELETE { ?s ?p ?o } INSERT { ?o <urn:x:q> ?s } WHERE { ?s ?p ?o FILTER(!isLiteral(?o)) }",
    "DELETE WHERE { <urn:x:a> ?p ?o }",
    "INSERT { [] <urn:x:p> ?s } WHERE { ?s <urn:x:q> ?o }",
    "COPY <urn:x:g> TO DEFAULT",
    "PREFIX x: <urn:x:> WITH x:g DELETE { ?s ?p ?o } INSERT { ?s x:p ?o } USING x:g WHERE { ?s ?p ?o }",
)


def batched_calls(rng: random.Random) -> list[tuple[str, tuple[Any, ...], dict[str, Any]]]:
    """Calls at random that state, take back and update."""
    found: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []
    for _ in range(rng.randrange(2, 6)):
        one = (rng.choice((A, B)), P, rng.choice((B, C, '"tea"@en', "_:x")), *rng.choice(((), (G,))))
        kind = rng.randrange(6)
        if kind == 0:
            found.append(("unstate", (one,), {"at": rng.choice((None, "2030-01-01", "2020-01-01"))}))
        elif kind < 3:
            window = rng.choice(({}, {"valid_from": "2030-01-01"}, {"valid_from": "2001-01-01"}))
            found.append(("state", (one,), dict(window) | rng.choice(({}, {"valid_to": "2031-01-01"}))))
        else:
            found.append(("sparql_update", (rng.choice(BATCHED_UPDATES),), {}))
    return found


def held(db: worlddb.Database, ref: str) -> list[str]:
    """What holds now, by canonical names of blank nodes."""
    store = ox.Dataset(ox.parse(db.view().write_rdf(ref, format="nquads"), ox.RdfFormat.N_QUADS))
    store.canonicalize(ox.CanonicalizationAlgorithm.RDFC_1_0)
    return sorted(map(str, store))


@pytest.mark.parametrize("seed", range(8))
def test_updates_in_a_batch_come_to_what_the_calls_come_to_one_by_one(
    tmp_path: Path, root_seed: int, seed: int
) -> None:
    rng = random.Random(root_seed + seed)
    clock, stores = worlddb.ManualClock(1_750_000_000_000_000), []
    calls = batched_calls(rng)
    for name in ("batch", "alone"):
        with worlddb.open(tmp_path / name, embedder=None, clock=clock) as db:
            ref = db.create("Place", "Town").ref
            db.state(ref, [(A, P, B), (B, P, "_:y"), ("_:y", P, C), (A, P, '"tea"@en', G)])
            before = db.head().seq

            def call(target: Any, name: str, given: tuple[Any, ...], how: dict[str, Any], ref: Any = ref) -> None:
                if name == "sparql_update":
                    target.sparql_update(*given, world=ref)
                else:
                    getattr(target, name)(ref, list(given), **how)

            if name == "batch":
                with db.batch() as tx:
                    for each in calls:
                        call(tx, *each)
                assert db.head().seq <= before + 1
            else:
                for each in calls:
                    call(db, *each)
            stores.append(held(db, ref))
    assert stores[0] == stores[1], calls


def test_a_batch_with_an_update_is_refused_if_others_wrote_and_what_cannot_be_asked_is_an_error(
    db: worlddb.Database, tmp_path: Path
) -> None:
    town, update = db.create("Place", "Town").ref, "INSERT DATA { <urn:x:a> <urn:x:p> <urn:x:b> }"
    with worlddb.open(tmp_path / "store") as other, pytest.raises(worlddb.RefusedError) as refused, db.batch() as tx:
        tx.sparql_update(update, world="Town")
        other.create("Place", "Pub")
    assert refused.value.details["reason"] == "changed_meanwhile" and pairs(db.view(), town) == []
    with db.batch(seen=db.view(), rests_on=[town]) as tx:
        tx.revise(town, content="by the sea")
        tx.sparql_update(update, world=town)
        tx.sparql_update("DELETE WHERE { ?s ?p ?o } ; INSERT DATA { <urn:x:b> <urn:x:p> <urn:x:c> }", world=town)
    assert pairs(db.view(), town) == ["b c"] and tx.receipt.seq == db.head().seq
    with db.batch() as tx:
        tx.sparql_update("INSERT { ?w <urn:x:p> 1 } WHERE { ?w wdb:nmae ?n }", world=town)
        tx.revise(town, content="by a lake")
    assert [note.code for note in tx.receipt.notes] == ["names_unknown"] and "wdb:name" in str(tx.receipt.notes[0])
    pub = db.view().reference_of("Pub")
    with db.batch(idempotency_key="once") as tx, pytest.raises(worlddb.InputError, match="idempotency key"):
        tx.sparql_update(update, world=town)
    with db.batch() as tx:
        with pytest.raises(worlddb.UnknownReference):
            tx.sparql_update(update, world=pub, within=town)
        with pytest.raises(worlddb.InvalidSparql):
            tx.sparql_update("INSERT DATA {", world=town)
    with pytest.raises(worlddb.InputError, match="has ended"):
        tx.sparql_update(update, world=town)


def test_an_update_of_a_world_that_its_batch_makes_finds_what_the_batch_said_there(db: worlddb.Database) -> None:
    db.state(db.create("Place", "Town").ref, [(A, P, B)])
    update = "DELETE { ?s ?p 01 } INSERT { ?w ?p ?s, [] } WHERE { ?s ?p ?o . GRAPH wdb:memory { ?w wdb:name 'Town' } }"
    refs = []
    for _ in range(2):
        with db.batch(idempotency_key="once") as tx:
            inn = tx.create("Place", "Inn")
            tx.state(inn, [(B, P, C)])
            tx.sparql_update(update.replace("DELETE { ?s ?p 01 }", ""), world=inn)
        refs.append(tx.receipt.refs[inn.position])
    assert refs[0] == refs[1] and db.view().count_statements(refs[0]) == 3 and tx.receipt.seq == db.head().seq
    with db.batch() as tx:
        bar = tx.create("Place", "Bar")
        tx.state(bar, [(B, P, '"1"^^<http://www.w3.org/2001/XMLSchema#integer>')])
        tx.sparql_update(update, world=bar)
        tx.sparql_update("DELETE WHERE { ?s ?p 1 }", world=bar)
    assert db.view().count_statements(tx.receipt.refs[bar.position]) == 2
    with pytest.raises(worlddb.InputError, match="idempotency key"), db.batch(idempotency_key="again") as tx:
        pub = tx.create("Place", "Pub")
        tx.state(pub, [(B, P, C)])
        tx.sparql_update("CLEAR ALL", world=pub)
    assert db.view().find(name="Pub") == []


def test_a_batch_under_a_key_that_takes_back_by_a_pattern_is_retried(db: worlddb.Database) -> None:
    town = db.create("Place", "Town").ref
    db.state(town, [(A, P, B), (B, P, C)])
    for _ in range(2):
        with db.batch(idempotency_key="once") as tx:
            tx.unstate(town, predicate=P)
            tx.revise(town, content="empty")
    assert tx.receipt.seq == db.head().seq and db.view().statements(town) == []


def test_a_name_of_ours_that_is_none_is_told_with_what_comes_near(
    db: worlddb.Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A query by a misspelled name found nothing, and said nothing."""
    db.create("Topic", "Lisbon")
    view = db.view()
    wrong = "SELECT ?w FROM wdb:memory\n{ ?w wdb:nmae ?n ; <https://worlddb.dev/ns#valid_from> ?s ; wdb:qqq ?q }"
    answer = view.sparql(wrong)
    assert list(answer) == [] and "line 2, column 6: the memory has no name wdb:nmae" in answer.note
    assert (
        "did you mean wdb:name?" in answer.note and "wdb:validFrom" in answer.note and "docs/sparql.md" in answer.note
    )
    assert "wdb:search" in view.sparql("ASK FROM <https://worlddb.dev/ns#serach?text=x> { ?w wdb:score ?n }").note
    right = """PREFIX wdb: <https://worlddb.dev/ns#> SELECT * FROM wdb:memory { ?w a wdb:World ; wdb:name "wdb:nmae" .
        OPTIONAL { ?w <https://worlddb.dev/ns#edge/contains> ?m . ?e a wdb:Edge ; wdb:edgeType ?t ; wdb:why ?y } }
        # wdb:x"""
    assert view.sparql(right).note == ""
    run = LocalRunner(capsys, tmp_path / "store")
    assert "note: line 2, column 6: the memory has no name wdb:nmae" in run("sparql", wrong).err
    assert "wdb:name" in run.json("sparql", wrong)["note"]
