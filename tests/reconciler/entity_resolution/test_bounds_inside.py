"""What the resolver looks at is bounded within the world in which it looks: others change nothing there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import worlddb
from tests.support.faults import forge
from tests.support.model.stores import new_store
from worlddb.projections.tables.names import blocks
from worlddb.projections.tables.names.canonical import forms
from worlddb.projections.tables.storage.rows import Tables
from worlddb.reconciler.entity_resolution import namesakes
from worlddb.reconciler.transaction import interiors


def proposed_targets(db: worlddb.Database, world: Any, name: str, resolve: str) -> list[str]:
    """Whom a new world of a name may already be."""
    staged = db.create("Entity", name, world=world, resolve=resolve).proposals
    return [each.target for each in db.proposals() if each.ref in staged]


def create_entities(db: worlddb.Database, world: Any, names: list[str]) -> None:
    with db.batch() as tx:
        for name in names:
            tx.create("Entity", name, world=world, resolve=False)


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """A closed store with 2,048 memories in one scope and 511 entries of a name in another; the scope, and a topic."""
    folder = tmp_path_factory.mktemp("crowded") / "store"
    with worlddb.open(folder, embedder=None) as db:
        tenant, theirs = (db.create("Topic", name).ref for name in ("mine", "theirs"))
        scope, other_scope = (db.create("Scope", name, world=tenant).ref for name in ("user:a", "user:b"))
        create_entities(db, scope, ["" for _ in range(namesakes.MAX_SCANNED)])
        create_entities(db, other_scope, ["Ada"] * (namesakes.MAX_CONSIDERED - 1))
    return folder, scope, theirs


@pytest.mark.parametrize("others", [0, 1, 600])
@pytest.mark.parametrize("resolve", ["exact", "all"])
def test_how_many_have_a_name_elsewhere_does_not_tell_in_a_large_scope(
    others: int, resolve: str, crowded: tuple[Path, str, str], tmp_path: Path
) -> None:
    """Of 2,048 memories in one scope and 511 entries of a name in others, one entry of another tenant was told."""
    folder, scope, theirs = crowded
    with worlddb.open(forge.copy_store(folder, tmp_path / "store"), embedder=None) as db:
        create_entities(db, theirs, ["Ada"] * others)
        inner = db.create("Topic", "", world=scope, resolve=False).ref
        known = db.create("Entity", "Ada", world=inner, resolve=False).ref
        assert proposed_targets(db, scope, "ada", resolve) == [known]
        assert db.verify(deep=True).ok


@pytest.mark.parametrize("others", [0, 40, 700])
def test_how_many_have_like_names_elsewhere_does_not_tell(others: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a full block the forms nearest in the whole store were looked at, and the nearest 2,048 worlds."""
    monkeypatch.setattr(namesakes, "MAX_SCANNED", 100)
    with new_store(embedder=None) as db:
        mine, theirs = (db.create("Topic", name).ref for name in ("mine", "theirs"))
        create_entities(db, mine, ["" for _ in range(200)])
        letters = "abcdefghijklmnopqrstuvwxyz"
        like = [f"Smithson{letters[at % 26]}{letters[at // 26 % 26]}" for at in range(others)]
        create_entities(db, theirs, [f"Katharina {name}" for name in like] + [f"Jonathan {name}" for name in like])
        inner = db.create("Topic", "", world=mine, resolve=False).ref
        known = db.create("Entity", "Katharina Smithsonn", world=inner, resolve=False).ref
        assert proposed_targets(db, mine, "Katharina Smithson", "all") == [known]
        evidence = db.view(world=mine).proposals()[0].evidence
        assert [each["ref"] for each in evidence["considered"]] == [known]


def test_forms_that_a_guard_keeps_apart_elsewhere_take_no_place_in_the_evidence() -> None:
    told = []
    for others in (0, 6):
        with new_store(embedder=None) as db:
            mine, theirs = (db.create("Topic", name).ref for name in ("mine", "theirs"))
            create_entities(db, theirs, [f"Robert {initial} Smithson" for initial in "bcdefg"[:others]])
            create_entities(db, mine, ["Robert H Smithson", "Robert K Smithson", "Robert A Smitson"])
            db.create("Entity", "Robert A Smithson", world=mine, resolve="all")
            told.append(
                [
                    [(each["name"], each["scores"]) for each in one.evidence["considered"]]
                    for one in db.view(world=mine).proposals()
                ]
            )
    assert told[0] == told[1] and len(told[0][0]) > 1


def test_blocks_in_memory_are_those_of_a_store_with_these_names_alone() -> None:
    names = [f"{first} {last}" for first in ("Anna", "Ana", "Hanna", "Bo") for last in ("Lee", "Li", "Leigh", "Lo", "")]
    with new_store(embedder=None) as db:
        world = db.create("Topic", "w").ref
        create_entities(db, world, names)
        with db._env.read() as txn:
            tables = Tables(txn)
            inside = interiors.Interior(tables, tables.node_of(bytes.fromhex(world)) or 0).names(tables)
            compared = 0
            for name in names:
                for form in forms(name):
                    for place in blocks.places_to_search(form, by_given_name=True):
                        for most in (1, 2, 5, place.most):
                            asked = place._replace(most=most)
                            assert inside.around(asked) == blocks.forms_around(tables, asked)
                            compared += 1
            assert compared > 500


def test_what_is_kept_of_an_inside_follows_moves_names_erasures_and_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside a store that keeps nothing, every answer is the same."""
    for module, limit in ((namesakes, "MAX_CHECKED_SINGLY"), (blocks, "WIDE"), (blocks, "NARROW")):
        monkeypatch.setattr(module, limit, 1)

    def work(*, forgets: bool) -> list[Any]:
        answers: list[Any] = []
        with new_store(embedder=None) as db:
            mine, theirs = (db.create("Topic", name, resolve=False).ref for name in ("mine", "theirs"))
            create_entities(db, theirs, ["Maria Lopes", "Maria Lopez", "Mario Lopez", "Maria Lopez"])

            def ask(name: str, world: Any = mine) -> str:
                if forgets:
                    db._writer.interiors._kept.clear()
                made = db.create("Entity", name, world=world, resolve="all")
                answers.append(db.proposals(status=None)[-1].target_name if made.proposals else None)
                return str(made.ref)

            ask("Maria Lopez")
            first = ask("Maria Lopes")
            inner = db.create("Topic", "inner", world=theirs, resolve=False).ref
            deep = db.create("Entity", "Rosalind Franklin", world=inner, resolve=False).ref
            create_entities(db, theirs, ["Rosalind Franklin", "Rosalynd Franklin", "Rosalinda Franklin"])
            ask("Rosalind Franklyn")
            db.move(inner, mine)
            ask("Rosalind Franklyn")
            db.alias(deep, "Kit Marlowe")
            create_entities(db, theirs, ["Kit Marlowe", "Kit Marlow", "Kitt Marlowe"])
            ask("Kit Marlowe")
            refused = db.create("Entity", "Kit Marlowe", world=mine, resolve="all", key="k").ref
            db.link(refused, "supersedes", refused)
            with pytest.raises(worlddb.InputError), db.batch() as tx:
                tx.create("Entity", "Kit Marlowe", world=mine, resolve="all")
                tx.create("Entity", "Grace Hopper", world="f" * 32, resolve="all")
            ask("Kit Marlowe")
            with db.batch() as tx:
                for _ in range(3):
                    tx.create("Entity", "Ida Rhodes", world=mine, resolve="all")
            answers.append(len(db.proposals()))
            db.move(inner, theirs)
            ask("Kit Marlowe")
            db.erase(first, reason="r")
            ask("Maria Lopes")
            other = db.as_author("somebody else")
            other.create("Entity", "Ida Rhodes", world=mine, resolve=False)
            ask("Ida Rhodes")
        return answers

    kept = work(forgets=False)
    assert kept == work(forgets=True)
    assert sum(isinstance(each, str) for each in kept) >= 6
