"""Statements hold on both axes of time, as a plain list of rectangles says."""

import random

import pytest

import worlddb
from worlddb import BlankNode, Iri, Literal

A, B, C = (Iri(f"https://a.example/{name}") for name in "abc")
P, Q = (Iri(f"https://a.example/{name}") for name in "pq")


@pytest.fixture
def db(tmp_path):
    with worlddb.open(tmp_path / "store", create=True) as opened:
        yield opened


def texts(found):
    return sorted(map(str, found))


def test_what_is_stated_is_found_by_every_pattern(db):
    world = db.create("Place", "Cafés").ref
    quads = [(A, P, B), (A, P, Literal("thé", language="fr")), (A, Q, B, C), (B, P, A)]
    db.state(world, quads, source={"file": "a.ttl"})
    view = db.view()
    assert view.count_statements(world) == 4
    for mask in range(8):
        s, p, o = (term if mask >> at & 1 else None for at, term in enumerate((A, P, B)))
        wanted = [
            q for q in quads if (s is None or q[0] == s) and (p is None or q[1] == p) and (o is None or q[2] == o)
        ]
        found = view.statements(world, s, p, o)
        assert texts(found) == sorted(" ".join(map(str, q)) + " ." for q in wanted)
    assert texts(view.statements(graph=None)) == texts(f for f in view.statements() if f.graph is None)
    (only,) = view.statements(world, graph=C)
    assert (only.world, only.source, only.seq) == (world, {"file": "a.ttl"}, view.seq)


def test_a_statement_holds_in_its_window_as_of_each_commit(db):
    world = db.create("Place", "Bar").ref
    first = db.state(world, [(A, P, B)], valid_from="2020-01-01", valid_to="2022-01-01")
    second = db.unstate(world, [(A, P, B)], at="2021-01-01")
    third = db.unstate(world, [(A, P, B)])
    for receipt, in_2020, in_2021 in ((first, 1, 1), (second, 1, 0), (third, 0, 0)):
        seen = [
            db.view(ingested=receipt.ingest_time, valid=day).count_statements(world)
            for day in ("2020-06-01", "2021-06-01")
        ]
        assert seen == [in_2020, in_2021]


def test_a_valid_statement_is_not_stated_again(db):
    world = db.create("Place", "Bar").ref
    db.state(world, [(A, P, B)], valid_from=10, valid_to=20)
    assert not db.state(world, [(A, P, B)], valid_from=12, valid_to=20).events
    db.state(world, [(A, P, B)], valid_from=0, valid_to=30)
    assert [db.view(valid=at).count_statements() for at in (0, 9, 10, 19, 20, 29, 30)] == [1, 1, 1, 1, 1, 1, 0]


def test_the_world_hash_covers_what_is_stated_and_nothing_else_changes_it(db):
    world, other = db.create("Place", "Bar").ref, db.create("Place", "Pub").ref
    before, beside = db.view().hash(world), db.view().hash(other)
    db.state(world, [(A, P, B), (A, Q, C)])
    stated = db.view().hash(world)
    assert stated != before and db.view().hash(other) == beside
    db.unstate(world, predicate=P)
    assert db.view().hash(world) not in (before, stated)
    db.unstate(world, predicate=Q)
    assert db.view().hash(world) == before


def test_a_confined_view_sees_the_statements_inside_and_no_others(db):
    top = db.create("Place", "Town").ref
    inner, outer = db.create("Place", "Bar", world=top).ref, db.create("Place", "Pub").ref
    db.state(inner, [(A, P, B)])
    db.state(outer, [(A, P, C)])
    confined = db.view(world=top)
    assert texts(confined.statements()) == ["<https://a.example/a> <https://a.example/p> <https://a.example/b> ."]
    with pytest.raises(worlddb.UnknownReference):
        confined.statements(outer)


def test_blank_nodes_get_a_name_of_the_store_and_stay_blank(db):
    world = db.create("Place", "Bar").ref
    db.state(world, [("_:x", P, "_:y"), ("_:x", Q, '"1"')])
    found = db.view().statements(world)
    assert len({f.subject for f in found}) == 1 and all(isinstance(f.subject, BlankNode) for f in found)
    assert not db.state(world, found).events


def test_nothing_is_written_if_one_is_no_statement(db):
    world = db.create("Place", "Bar").ref
    with pytest.raises(worlddb.InputError, match=r"statements\[1\]"):
        db.state(world, [(A, P, B), ("<a>", P, B)])
    for wrong in ([(A, P)], [("tea", P, B)], [(Literal("x"), P, B)], [(A, "_:p", B)], "abc", [(A, P, B, Literal("g"))]):
        with pytest.raises(worlddb.InputError):
            db.state(world, wrong)
    assert db.view().count_statements() == 0


def test_erasing_a_world_takes_its_statements_and_a_rebuild_agrees(db, tmp_path):
    world, other = db.create("Place", "Bar").ref, db.create("Place", "Pub").ref
    db.state(world, [(A, P, Literal("Zanzibar secret"))])
    db.state(other, [(A, P, B)])
    db.erase(world, reason="asked for", members=False)
    assert db.view().count_statements(world) == 0 and db.view().count_statements(other) == 1
    assert b"Zanzibar secret" not in b"".join(f.read_bytes() for f in (tmp_path / "store").rglob("*") if f.is_file())
    root = db.view().hash()
    db.rebuild()
    assert (db.view().hash(), db.view().count_statements()) == (root, 1)
    db.verify(deep=True)


def test_random_histories_equal_a_plain_list_of_rectangles(db, root_seed):
    rng = random.Random(root_seed)
    world = db.create("Place", "Bar").ref
    held: dict[tuple[object, ...], set[int]] = {}
    history = []
    pool = [(s, p, o) for s in (A, B) for p in (P, Q) for o in (A, Literal("x"))]
    for _ in range(60):
        chosen = rng.sample(pool, rng.randint(1, 3))
        start = rng.randint(0, 9)
        if rng.random() < 0.6:
            end = rng.randint(start, 10)
            receipt = db.state(world, chosen, valid_from=start, valid_to=end)
            for quad in chosen:
                held[quad] = held.get(quad, set()) | set(range(start, end))
        else:
            at = rng.choice([None, start])
            receipt = db.unstate(world, chosen, at=at)
            for quad in chosen:
                held[quad] = {day for day in held.get(quad, set()) if at is not None and day < at}
        history.append((receipt.ingest_time, {quad: set(days) for quad, days in held.items()}))

    def check():
        for told, then in rng.sample(history, 20):
            for valid in (0, 4, 9):
                wanted = sorted(" ".join(map(str, quad)) + " ." for quad, days in then.items() if valid in days)
                assert texts(db.view(ingested=told, valid=valid).statements(world)) == wanted

    check()
    db.rebuild()
    check()
