"""Tests blocks of names: what shares one is found, and reading less changes no answer."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path

import lmdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.model.stores import new_store
from worlddb import Database, Thresholds
from worlddb.log.model.clock import SeededEntropy
from worlddb.log.store.log import LmdbLog
from worlddb.projections.tables.names import blocks
from worlddb.projections.tables.names.blocks import (
    MAX_PLACE_BYTES,
    NARROW,
    WIDE,
    forms_around,
    holders,
    in_order,
    places,
    places_to_search,
)
from worlddb.projections.tables.names.canonical import MAX_FORM_CHARACTERS, form_of, forms
from worlddb.projections.tables.storage.rows import Tables
from worlddb.projections.tables.storage.schema import ROOT_NODE
from worlddb.projections.tables.storage.write_buffer import Table
from worlddb.reconciler.commands.commands import Create
from worlddb.reconciler.entity_resolution.resolver import MAX_WEIGHED, Search, places_of, verdict
from worlddb.reconciler.similarity.scores import likeness
from worlddb.reconciler.similarity.verdict import Ambiguous, Considered, Resolved, Verdict, judge
from worlddb.reconciler.transaction.context import Context
from worlddb.reconciler.transaction.draft import Draft, FreshNonces

GIVEN = ("Anna", "Anne", "Hannah", "Mark", "Marc", "Bob", "Robert", "Katherine", "Catherine", "Wei", "Mary")
FAMILY = ("Smith", "Smyth", "Chen", "Chan", "Müller", "Mueller", "Knight", "Wright", "O'Neill")
THRESHOLDS = Thresholds()

letters = st.sampled_from("abk")
keys = st.tuples(letters, letters, letters).map(lambda parts: "".join(parts).encode())
people = st.one_of(
    st.sampled_from(GIVEN),
    st.tuples(st.sampled_from(GIVEN), st.sampled_from(FAMILY)).map(" ".join),
    st.tuples(st.sampled_from(GIVEN), st.sampled_from(GIVEN), st.sampled_from(FAMILY)).map(" ".join),
    st.tuples(st.sampled_from(GIVEN), st.sampled_from(FAMILY), st.sampled_from(("Jr.", "2", "II"))).map(" ".join),
)


@st.composite
def misspelled(draw: st.DrawFn) -> str:
    """A name with a letter left out, or another one in its place, or as it is."""
    name = draw(people)
    at = draw(st.integers(0, len(name) - 1))
    return name[:at] + draw(st.sampled_from(("", name[at], "x"))) + name[at + 1 :]


@contextmanager
def open_context(db: Database) -> Iterator[Context]:
    with db._env.read() as txn:
        log, tables = LmdbLog(txn), Tables(txn)
        draft = Draft(log, tables, log.head(), FreshNonces(SeededEntropy(1)), ingest_time=0, wall_time=0, author="a")
        yield Context(draft, db._ontology, b"")


def nodes_of(found: Verdict) -> set[int]:
    if isinstance(found, Resolved):
        return {found.match.node}
    return {match.node for match in found.matches} if isinstance(found, Ambiguous) else set()


def filled(db: Database, names: list[str]) -> int:
    """Create the names; the number of the first."""
    with db.batch() as tx:
        for name in names:
            tx.create("Entity", name, resolve=False)
    with open_context(db) as ctx:
        return ctx.tables.progress().next_node - len(names)


def share_a_block(one: str, other: str) -> bool:
    """True if a look for one name comes by the other, as far as names themselves say."""
    looked = {place.key for form in forms(one) for place in places_of(form, Search(ROOT_NODE, THRESHOLDS))}
    return any(place[:4] in looked for form in forms(other) for place in places(form))


@examples(10)
@given(names=st.lists(people, min_size=1, max_size=12), candidate=misspelled())
def test_the_answer_is_that_of_weighing_every_name_that_shares_a_block(names: list[str], candidate: str) -> None:
    with new_store() as db:
        first = filled(db, names)
        with open_context(db) as ctx:
            found = verdict(ctx, Create(type="Entity", name=candidate), THRESHOLDS)
            scored = [(first + at, name, likeness(candidate, name)) for at, name in enumerate(names)]
            exact = [row for row in scored if row[2].exact]
            weighed = exact[: THRESHOLDS.most + 1] or [
                row for row in scored if share_a_block(candidate, row[1]) and not row[2].given_name
            ]
            everybody = [Considered(node, "", candidate, name, score) for node, name, score in weighed]
            wanted = judge(everybody, THRESHOLDS)
    assert nodes_of(found) == nodes_of(wanted)
    assert found.evidence.get("tier") == wanted.evidence.get("tier")


@examples(10)
@given(names=st.lists(people, min_size=1, max_size=12, unique=True), candidate=misspelled())
def test_a_look_around_finds_every_form_that_is_in_one_of_the_blocks_looked_into(
    names: list[str], candidate: str
) -> None:
    with new_store() as db:
        filled(db, names)
        with open_context(db) as ctx:
            for form in forms(candidate):
                for place in places_to_search(form, by_given_name=True):
                    found = forms_around(ctx.tables, place)
                    in_block = {
                        each.text.encode()
                        for name in names
                        for each in forms(name)
                        if any(at[:4] == place.key for at in places(each))
                    }
                    assert found.forms.keys() == in_block and found.is_whole
                    for text, value in found.forms.items():
                        read = form_of(text.decode())
                        assert read is not None and (in_order(text) if value else text).decode() == read.ordered
                        alone = place.same_sound and read.sound == form.sound
                        assert (text in list(found.forms)[: found.alone]) == alone


@examples(16)
@given(
    stored=st.dictionaries(keys, st.just(b"old"), max_size=20),
    put=st.dictionaries(keys, st.sampled_from((b"new", None)), max_size=10),
    columns=st.dictionaries(keys, st.just(b"new"), max_size=6),
    at=keys,
    most=st.integers(1, 8),
)
def test_around_a_place_stand_its_nearest_neighbours_on_both_sides(
    tmp_path_factory: pytest.TempPathFactory,
    stored: dict[bytes, bytes],
    put: dict[bytes, bytes | None],
    columns: dict[bytes, bytes],
    at: bytes,
    most: int,
) -> None:
    with lmdb.open(str(tmp_path_factory.mktemp("store"))) as env, env.begin(write=True) as txn:
        txn.put(b"?", b"the table before")
        txn.put(b"A", b"the table behind")
        for key, value in stored.items():
            txn.put(b"@" + key, value)
        table = Table(txn, b"@", 1)
        for key, changed in put.items():
            table.put(key, changed)
        table.put_new(list(columns), columns.values())
        now = {key: value for key, value in {**stored, **put, **columns}.items() if value is not None}
        group = sorted(key for key in now if key[:1] == at[:1])
        found, is_whole = table.around(at[:1], at[1:], most)
        assert table.around(at[:1], b"", 64) == ([(b"@" + key, now[key]) for key in group], True)
    got = sorted(key[1:] for key, _ in found)
    assert {key[1:]: value for key, value in found} == {key: now[key] for key in got}
    assert len(got) == len(found) == min(most, len(group))
    assert is_whole == (len(group) <= most)
    if got:
        start = group.index(got[0])
        assert group[start : start + len(got)] == got, "they stand together"
        behind = sum(key >= at for key in got)
        few_behind = behind == sum(key >= at for key in group)
        assert few_behind or behind == most - min(most // 2, sum(key < at for key in group))


def invented_names(count: int) -> list[str]:
    """Given names of five letters, in no order."""
    found = ["".join(each) for each in product("bdgklmnprst", "aeiou", "bdgklmnprst", "aeiou", "nrs")]
    return [each.title() for each in random.Random(1).sample(found, count)]


@pytest.mark.parametrize(("known", "written"), [("Tomas", "Tomaz"), ("Tomas", "Bomas"), ("Tomas", "Tonas")])
def test_somebody_is_found_among_thousands_of_their_last_name(known: str, written: str) -> None:
    """The first forms of a full block were looked at, in no order: where names were dense, the right one was lost."""
    with new_store() as db:
        others = (f"{given} Smith" for given in invented_names(20 * WIDE))
        crowd = [other for other in others if likeness(f"{written} Smith", other).fuzzy < THRESHOLDS.fuzzy]
        first = filled(db, [*crowd, f"{known} Smith"])
        with open_context(db) as ctx:
            found = verdict(ctx, Create(type="Entity", name=f"{written} Smith"), THRESHOLDS)
    assert nodes_of(found) == {first + len(crowd)}
    assert found.evidence["looked_at"]["blocks_in_part"] > 0
    assert len(crowd) > found.evidence["looked_at"]["forms"] >= NARROW


def test_the_eight_earliest_of_a_name_do_not_hide_the_one_who_is_still_there() -> None:
    with new_store() as db:
        for _ in range(10):
            db.retire(db.create("Entity", "Sarah Chen", resolve=False))
        known = db.create("Entity", "Sarah Chen", resolve=False)
        staged = db.create("Entity", "Sara Chen", resolve="all").proposals
        assert [each.target for each in db.proposals() if each.ref in staged] == [known.ref]


def test_a_given_name_is_found_in_a_small_world_though_very_many_elsewhere_have_it() -> None:
    with new_store() as db:
        room = db.create("Topic", "the team", resolve=False)
        known = db.create("Entity", "Melanie Zwicky", world=room, resolve=False)
        filled(db, [f"Melanie {family}son" for family in invented_names(2 * WIDE)])
        staged = db.create("Entity", "Mel", world=room, resolve="all").proposals
        assert [each.target for each in db.proposals() if each.ref in staged] == [known.ref]


def test_guards_do_not_use_up_what_is_weighed() -> None:
    """Names that a guard keeps apart, alike as they are, stood before the right one."""
    with new_store() as db:
        crowd = [f"Olga Jessica {given}son Walker" for given in invented_names(4 * MAX_WEIGHED)]
        first = filled(db, [*crowd, "Olga Jessica Charles Walker"])
        with open_context(db) as ctx:
            found = verdict(ctx, Create(type="Entity", name="Olga Jessica Kharles Walker"), THRESHOLDS)
        assert nodes_of(found) == {first + len(crowd)}


def test_erasing_one_of_two_worlds_with_a_name_leaves_the_other_in_its_blocks(tmp_path: Path) -> None:
    with new_store() as db:
        one, other = (db.create("Entity", "Jürgen Müller", resolve=False) for _ in range(2))
        db.erase(one, reason="r")
        assert db.verify(deep=True).ok
        assert db.create("Entity", "Jurgen Mueler", resolve="all").proposals
        with open_context(db) as ctx:
            assert [len(list(holders(ctx.tables, text))) for text in ("jurgen muller", "juergen mueller")] == [1, 1]
        db.erase(other, reason="r")
        with open_context(db) as ctx:
            rows = [key for key, _ in ctx.tables.blocks.scan(b"")]
        assert not any(b"muller" in key for key in rows) and any(b"mueler" in key for key in rows)
        assert db.verify(deep=True).ok


two_words = st.text(st.sampled_from("abchknprwyzé文"), min_size=1, max_size=12)


@examples(50)
@given(first=two_words, last=two_words)
def test_two_words_are_in_the_blocks_that_the_rule_for_any_words_gives(first: str, last: str) -> None:
    assert blocks._places_of_two(first, last) == blocks._places_of_any((first, last))


@given(name=st.text(max_size=200))
def test_the_place_of_a_form_has_an_end_whatever_the_script(name: str) -> None:
    for form in forms(name):
        assert len(form.text) <= MAX_FORM_CHARACTERS
        assert all(4 <= len(place) <= 4 + MAX_PLACE_BYTES for place in places(form))
        assert {place.key for place in places_to_search(form, by_given_name=False)} >= {
            at[:4] for at in places(form)[:2]
        }, "a form is found where it is put"


def test_an_erasure_leaves_no_words_of_names_in_memory() -> None:
    with new_store() as db:
        ref = db.create("Person", "Annabelle Featherstone").ref
        assert blocks._places_of.cache_info().currsize
        db.erase(ref, reason="asked for")
        assert not blocks._places_of.cache_info().currsize
