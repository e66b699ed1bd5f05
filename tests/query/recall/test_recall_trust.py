"""What a memory rests on is shown with it, and the least trust of all of that filters and ranks."""

from __future__ import annotations

import itertools
import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import worlddb
from tests.query.reads.test_isolation_vectors import LetterCounts
from tests.support.examples import examples
from tests.support.model.stores import day, new_store, refusal
from worlddb import TRUST_LEVELS, Database, ManualClock, SeededEntropy
from worlddb.log.model.limits import MAX_RECORD_BYTES
from worlddb.query.snapshot import provenance
from worlddb.reconciler.commands import validation
from worlddb.tools.cli.main import main


class Told(NamedTuple):
    """Two notes, a summary of both, and a conclusion of the summary; another note of nobody's making."""

    db: Database
    ann: str
    rumour: str
    summary: str
    conclusion: str
    other: str


def written(path: Path, author: str, seed: int) -> Database:
    return worlddb.open(path, author=author, clock=ManualClock(day(seed)), entropy=SeededEntropy(seed))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Told:
    """The store, closed."""
    store = tmp_path_factory.mktemp("made") / "store"
    with written(store, "ann", 1) as db:
        ann = db.create("Note", "", content="the rent of the flat is 1200", source={"file": "lease.md"}).ref
    with written(store, "scraper", 2) as db:
        rumour = db.create("Note", "", content="the rent of the flat is 9999", source={"file": "web.md", "line": 7}).ref
    with written(store, "bot", 3) as db:
        summary = db.create("Summary", "", content="the rent of the flat, summed up").ref
        db.link(summary, "derived_from", ann)
        db.link(summary, "derived_from", rumour)
        conclusion = db.create("Fact", "", content="the rent of the flat is too high").ref
        db.link(conclusion, "derived_from", summary)
        other = db.create("Note", "", content="the rent of the garage is 80").ref
        return Told(db, ann, rumour, summary, conclusion, other)


@pytest.fixture
def told(made: Told, tmp_path: Path) -> Iterator[Told]:
    """A copy of it, opened by the bot."""
    shutil.copytree(made.db.path, tmp_path / "store")
    clock, entropy = ManualClock(day(3)), SeededEntropy(4)
    with worlddb.open(tmp_path / "store", author="bot", clock=clock, entropy=entropy) as db:
        yield made._replace(db=db)


def found(db: Database, **asked: object) -> set[str]:
    return {hit.ref for hit in db.view().recall("the rent of the flat", **asked)}  # type: ignore[arg-type]


def test_what_a_memory_rests_on_comes_with_it_at_any_remove_with_who_said_it(told: Told) -> None:
    view = told.db.view()
    shown = view.get(told.conclusion)
    assert shown is not None and not shown.rests_on_more
    assert [(base.ref, base.steps, base.author) for base in shown.rests_on] == [
        (told.summary, 1, "bot"),
        (told.ann, 2, "ann"),
        (told.rumour, 2, "scraper"),
    ]
    assert [base.source for base in shown.rests_on] == [{}, {"file": "lease.md"}, {"file": "web.md", "line": 7}]
    hit = next(hit for hit in view.recall("the rent of the flat") if hit.ref == told.conclusion)
    assert (hit.rests_on, hit.trust) == (shown.rests_on, None)
    lines = {line["ref"]: line for line in told.db.export_lines() if line["kind"] == "world"}
    assert [base["author"] for base in lines[told.conclusion]["rests_on"]] == ["bot", "ann", "scraper"]
    assert lines[told.ann]["rests_on"] == [] and not lines[told.ann]["rests_on_more"]
    own = next(line for line in told.db.export_lines(told.conclusion) if line["kind"] == "world")
    assert own["rests_on"] == [], "an export names nothing that lies outside of what it holds"


def test_a_revision_of_what_it_rests_on_is_not_what_it_was_made_of(told: Told) -> None:
    told.db.revise(told.ann, content="the rent of the flat is 1300")
    shown = told.db.view().get(told.summary)
    first = told.db.view().history(told.ann)[0]
    assert shown is not None and shown.rests_on[0].version == first.version
    now = told.db.view().get(told.ann)
    assert now is not None and now.version != first.version


def test_an_unlinked_source_is_none_and_the_view_before_still_shows_it(told: Told) -> None:
    before = told.db.view()
    [edge] = [edge for edge in before.edges(told.summary, type="derived_from") if edge.target == told.rumour]
    told.db.unlink(edge)
    now, then = told.db.view().get(told.summary), before.get(told.summary)
    assert now is not None and [base.ref for base in now.rests_on] == [told.ann]
    assert then is not None and [base.ref for base in then.rests_on] == [told.ann, told.rumour]


def test_an_erased_source_is_shown_without_a_word(told: Told) -> None:
    told.db.erase(told.rumour, reason="asked", derived=False)
    shown = told.db.view().get(told.summary)
    assert shown is not None
    assert [(base.erased, base.name, base.source) for base in shown.rests_on] == [
        (False, "", {"file": "lease.md"}),
        (True, "", {}),
    ]


def test_a_summary_rests_on_its_members(told: Told) -> None:
    whole = told.db.create("Summary", "", content="all of it").ref
    inside = told.db.create("Note", "", content="a detail", world=whole).ref
    shown = told.db.view().get(whole)
    assert shown is not None and [base.ref for base in shown.rests_on] == [inside]
    box = told.db.create("Box", "").ref
    told.db.create("Note", "", content="a thing", world=box)
    boxed = told.db.view().get(box)
    assert boxed is not None and boxed.rests_on == ()


def test_no_more_is_shown_than_fits_and_what_is_left_out_is_said_and_counts_all_the_same(told: Told) -> None:
    many = told.db.create("Fact", "", content="of many").ref
    with told.db.batch() as tx:
        for number in range(70):
            tx.link(many, "derived_from", tx.create("Note", f"part {number}"))
    view = told.db.view()
    shown = view.get(many)
    assert shown is not None and (len(shown.rests_on), shown.rests_on_more) == (64, True)
    last = view.edges(many, type="derived_from")[-1].target
    told.db.trust("low", world=last)
    weighed = told.db.view().get(many)
    assert weighed is not None and weighed.trust == "low"


def test_trust_is_the_least_of_all_that_a_memory_rests_on(told: Told) -> None:
    db = told.db
    refs = told.ann, told.rumour, told.summary, told.conclusion, told.other

    def levels() -> list[str | None]:
        worlds = [db.view().get(ref) for ref in refs]
        return [world.trust for world in worlds if world is not None]

    assert levels() == [None] * 5
    db.trust("low", author="scraper", why="it reads anything")
    assert levels() == [None, "low", "low", "low", None]
    db.trust("fair", author="bot")
    assert levels() == [None, "low", "low", "low", "fair"]
    db.trust("none", source={"line": 7})
    assert levels() == [None, "none", "none", "none", "fair"]
    db.trust(None, source={"line": 7})
    db.trust("full", world=told.rumour)
    assert levels() == [None, "low", "low", "low", "fair"], "the least of what is said of it"
    db.trust("fair")
    assert levels() == ["fair", "low", "low", "low", "fair"], "what nothing else is said of"
    assert [(said.of, said.field, said.name, said.level, said.why) for said in db.view().trusts()] == [
        ("author", "", "scraper", "low", "it reads anything"),
        ("author", "", "bot", "fair", ""),
        ("world", "", told.rumour, "full", ""),
        ("rest", "", "", "fair", ""),
    ]
    before = db.head()
    assert db.trust("fair").events == 0 and db.trust(None, author="nobody").events == 0
    assert db.head() == before


def test_the_nearest_world_of_which_anything_is_said_decides(told: Told) -> None:
    db = told.db
    outer = db.create("Box", "outer").ref
    inner = db.create("Box", "inner", world=outer).ref
    note = db.create("Note", "", content="boxed", world=inner).ref
    db.trust("none", world=outer)
    for said, expected in (("fair", "fair"), (None, "none")):
        db.trust(said, world=inner)
        shown = db.view().get(note)
        assert shown is not None and shown.trust == expected


@pytest.mark.parametrize(
    "asked",
    [{}, {"lanes": ["text"]}, {"exact": True}, {"fusion": "rrf"}, {"group": 2}, {"world": None, "neighbours": 5}],
    ids=str,
)
def test_recall_lets_through_only_what_is_trusted_and_fills_up_with_what_is(
    told: Told, asked: dict[str, object]
) -> None:
    told.db.trust("low", author="scraper")
    assert found(told.db, min_trust="low", **asked) == found(told.db, **asked) >= {told.rumour, told.ann}
    for least in ("fair", "full"):
        assert found(told.db, min_trust=least, **asked) == {told.ann, told.other}
    assert found(told.db, min_trust="fair", **{**asked, "k": 1}) == {told.ann}, "the filter comes before the cut"


def test_recall_ranks_what_is_not_trusted_behind_if_it_is_asked_to(told: Told) -> None:
    view = told.db.view()
    asked = "rent 9999"
    plain = view.recall(asked)
    assert plain.hits[0].ref == told.rumour
    told.db.trust("low", author="scraper")
    after = told.db.view().recall(asked)
    assert [(hit.ref, hit.score) for hit in after] == [(hit.ref, hit.score) for hit in plain], "no weight, no change"
    weighed = told.db.view().recall(asked, trust_weight=1.0)
    lost = next(hit for hit in weighed if hit.ref == told.rumour)
    full = next(hit for hit in plain if hit.ref == told.rumour)
    assert lost.score == pytest.approx(full.score / 3, abs=1e-5)
    assert lost.scores["trust"] == pytest.approx(-full.score * 2 / 3, abs=1e-5)
    faded = told.db.view().recall(asked, trust_weight=1.0, decay=worlddb.Decay(weight=0.5))
    both = next(hit for hit in faded if hit.ref == told.rumour)
    assert both.scores["trust"] == lost.scores["trust"] and both.score == pytest.approx(
        sum(both.scores.values()), abs=1e-5
    )
    told.db.trust("none", author="scraper")
    assert told.db.view().recall(asked, trust_weight=1.0, k=1).hits[0].ref in (told.ann, told.other)


def test_a_store_that_says_nothing_of_trust_answers_as_ever(told: Told) -> None:
    plain = told.db.view().recall("the rent of the flat")
    assert told.db.view().recall("the rent of the flat", min_trust="full", trust_weight=1.0).hits == plain.hits


def test_trust_is_read_as_of_a_commit_and_survives_a_rebuild_and_a_replay(told: Told, tmp_path: Path) -> None:
    db = told.db
    before = db.head().seq
    said = db.trust("none", author="ann").seq
    db.trust("fair", author="ann")

    def levels(store: Database) -> list[str | None]:
        worlds = [store.view(seq=seq).get(told.ann) for seq in (before, said, said + 1)]
        return [world.trust for world in worlds if world is not None]

    assert levels(db) == [None, "none", "fair"]
    assert found(db, min_trust="low") == found(db)
    assert told.ann not in {hit.ref for hit in db.view(seq=said).recall("rent", min_trust="low")}
    db.rebuild()
    assert levels(db) == [None, "none", "fair"] and db.verify(deep=True).ok
    assert db.replay(tmp_path / "replayed").matches_recorded
    with worlddb.open(tmp_path / "replayed") as again:
        assert levels(again) == levels(db) and again.view().trusts() == db.view().trusts()
    assert [entry.data["level"] for entry in db.log() if entry.event == "trusted"] == ["none", "fair"]
    assert db.redecide().differing == ()


def test_trust_does_not_travel_it_is_for_the_receiver_to_say(told: Told, tmp_path: Path) -> None:
    team = told.db.create("Team", "t").ref
    note = told.db.create("Note", "", content="a rent", world=team).ref
    told.db.trust("none", world=team)
    told.db.export(team, tmp_path / "team.bundle")
    assert "trust" not in str(list(told.db.export_lines(team)))
    with new_store() as other:
        other.import_bundle(tmp_path / "team.bundle")
        later = day(50)
        shown = other.view(valid=later).get(note)
        assert shown is not None and shown.trust is None and other.view().trusts() == []
        other.trust("low", source={"imported.store": told.db.head().store_id})
        there = other.view(valid=later).get(note)
        assert there is not None and there.trust == "low"


def test_a_query_starts_from_nothing_that_is_trusted_less_than_is_asked_for(
    told: Told, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Recall had the filter, and a query by the same text had none."""
    told.db.close()
    db = worlddb.open(tmp_path / "store", embedder=LetterCounts())
    db.trust("low", author="scraper")
    db.embed()
    everyone = {told.ann, told.rumour, told.summary, told.conclusion, told.other}
    trusted = {told.ann, told.other}
    starts: tuple[dict[str, Any], ...] = (
        {"text": "the rent of the flat"},
        {"text": "the rent of the flat", "exact": True},
        {"seeds": sorted(everyone)},
        {"vector": LetterCounts().embed(["a rent"], query=True)[0]},
        {},
    )
    for start in starts:
        for level, expected in ((None, everyone), ("low", everyone), ("fair", trusted), ("full", trusted)):
            query = db.view().query(**start, min_trust=level)
            assert {node.ref for node in query.run().nodes} - {db.view().reference_of("root")} == expected, (
                start,
                level,
            )
            assert worlddb.Query.from_json(query.query.to_json()) == query.query
    assert "min_trust" not in db.view().query(text="rent").query.to_json()
    led = db.view().query(seeds=told.ann, min_trust="full").traverse("derived_from", direction="in").run()
    assert [node.ref for node in led.nodes] == [told.summary], "operators lead anywhere"
    seeds = db.view().query(seeds=[told.rumour, told.ann], min_trust="full").run()
    assert seeds.stages[0].note == "1 of 2 seeds have less trust"
    group = db.create("Team", "t").ref
    db.move([told.rumour], group)
    over_all: tuple[dict[str, Any], ...] = ({"text": "rent", "composed": "mean"}, {})
    for start in over_all:
        db.trust("low", world=group)
        assert group not in {node.ref for node in db.view().query(**start, min_trust="full").run().nodes}
    wrongs: tuple[Any, ...] = ("much", 3, [[]])
    for wrong in wrongs:
        with pytest.raises(worlddb.InputError, match="no level of trust"):
            db.view().query(min_trust=wrong)
    assert main(["--store", str(db.path), "--json", "query", "--text", "rent", "--min-trust", "full"]) == 0
    assert {node["ref"] for node in json.loads(capsys.readouterr().out)["nodes"]} == trusted


def test_nobody_but_an_import_says_where_a_text_was_imported_from(told: Told) -> None:
    claim = {"imported": {"store": "00" * 16, "seq": 1, "ingested_at": "2026-01-01T00:00:00Z", "author": "ada"}}
    head = told.db.head()
    for write in (
        lambda: told.db.create("Note", "n", source=claim),
        lambda: told.db.revise(told.ann, content="other", source={"imported": None}),
        lambda: told.db.create("Note", "n", source={"file": "x", "imported.author": "alice"}),
        lambda: told.db.ingest([worlddb.Turn(text="x", source=claim)], conversation="c"),
    ):
        with pytest.raises(worlddb.InputError, match=r"'imported[.a-z]*', which imports") as raised:
            write()
        assert "another name" in raised.value.remedy
    assert told.db.head() == head


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("claim", ["an origin", "something else"])
def test_a_bundle_cannot_say_that_it_came_from_another_store(
    told: Told, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, claim: str, large: bool
) -> None:
    """Its word was taken, so that whom nobody trusts was trusted as the store that was named."""
    trusted = "ab" * 16
    origin: dict[str, Any] = {"store": trusted, "seq": 1, "ingested_at": "2026-01-01T00:00:00Z", "author": "ada"}
    origin |= {} if claim == "an origin" else {"more": 1}
    size = len(msgspec.msgpack.encode({"imported": origin, "page": ""}))
    padding = {"page": "x" * (MAX_RECORD_BYTES - size - 4)} if large else {}
    with monkeypatch.context() as patch:
        patch.setattr(validation, "IMPORTED", "")
        team = told.db.create("Team", "t", source={"imported": origin}).ref
        told.db.create("Note", "n", source={"imported": origin} | padding, world=team)
    told.db.export(team, tmp_path / "team.bundle")
    with new_store() as other:
        other.import_bundle(tmp_path / "team.bundle")
        other.trust("low")
        other.trust("full", source={"imported.store": trusted})
        (note,) = other.view(valid=day(50)).find(type="Note")
        here = note.source.get("imported")
        assert large or here is not None
        assert here is None or here["store"] == told.db.head().store_id
        assert large or note.source["imported"]["before"] == [origin]
        assert note.trust == "low"
        other.trust("none", source={"imported.store": told.db.head().store_id})
        assert [world.trust for world in other.view(valid=day(50)).find(type="Note")] == ["none"]


def test_each_import_is_told_and_none_of_them_makes_a_text_more_trusted(told: Told, tmp_path: Path) -> None:
    team = told.db.create("Team", "t").ref
    told.db.create("Note", "n", world=team)
    told.db.export(team, tmp_path / "1.bundle")
    stores = [told.db.head().store_id]
    for hop in range(2, 24):
        with worlddb.open(tmp_path / f"store {hop}", clock=ManualClock(day(50 + hop))) as other:
            other.import_bundle(tmp_path / f"{hop - 1}.bundle")
            other.export(team, tmp_path / f"{hop}.bundle")
            told_of = other.view().find(type="Note")[0].source["imported"]
            earlier = [each["store"] for each in told_of.get("before", [])]
            assert told_of["store"] == stores[-1]
            assert earlier == stores[:-1] if hop < 18 else (earlier[0], len(earlier)) == (stores[0], 16)
            stores.append(other.head().store_id)
            if hop == 3:
                other.trust("fair")
                for level, trust in (("full", "fair"), ("low", "low")):
                    other.trust(level, source={"imported.store": stores[0]})
                    assert other.view().find(type="Note")[0].trust == trust


def test_a_confined_view_shows_and_weighs_only_what_lies_inside(told: Told) -> None:
    """Nothing says that there is more: not the list, not the level, not what a filter lets through."""
    db = told.db
    team = db.create("Team", "t").ref
    db.move([told.summary, told.ann], team)
    view = db.view(world=team)

    def answers() -> object:
        world = db.view(world=team).get(told.summary)
        hits = db.view(world=team).recall("the rent of the flat", min_trust="full", trust_weight=1.0).hits
        return world, hits, db.view(world=team).trusts()

    shown = view.get(told.summary)
    assert shown is not None and [base.ref for base in shown.rests_on] == [told.ann] and not shown.rests_on_more
    before = answers()
    db.trust("none", author="scraper")
    db.trust("none", world=told.rumour)
    assert answers() == before
    db.trust("low", author="ann", why="she guesses")
    inside = db.view(world=team).get(told.summary)
    assert inside is not None and inside.trust == "low"
    assert db.view(world=team).trusts() == [], "of whom else anything is said is nobody's business here"
    db.trust("fair", world=told.ann)
    assert [said.name for said in db.view(world=team).trusts()] == [told.ann]
    assert "trusted" in {entry.event for entry in db.view(world=team).log()}
    assert "she guesses" not in str(list(db.view(world=team).log()))


def test_what_cannot_be_a_level_or_names_several_things_is_refused(told: Told) -> None:
    db = told.db
    for level in ("much", "", "FULL"):
        with pytest.raises(worlddb.InputError, match="no level of trust"):
            db.trust(level, author="ann")
    wrong: list[dict[str, Any]] = [
        {"author": "a", "world": told.ann},
        {"source": {}},
        {"source": {"a": 1, "b": 2}},
        {"author": ""},
    ]
    for named in wrong:
        with pytest.raises(worlddb.InputError):
            db.trust("low", **named)
    for weight in (2, float("nan"), True):
        with pytest.raises(worlddb.InputError):
            db.view().recall("rent", trust_weight=weight)
    with pytest.raises(worlddb.InputError, match="no level of trust"):
        db.view().recall("rent", min_trust="much")
    with pytest.raises(worlddb.UnknownReference):
        db.trust("low", world="ffff" * 8)


def test_a_retry_under_the_same_key_says_it_once(told: Told) -> None:
    first = told.db.trust("low", source={"file": "web.md"}, idempotency_key="k")
    told.db.trust("fair", source={"file": "web.md"})
    assert told.db.trust("low", source={"file": "web.md"}, idempotency_key="k") == first
    assert [said.level for said in told.db.view().trusts()] == ["fair"]
    with pytest.raises(worlddb.IdempotencyConflict):
        told.db.trust("low", source={"file": "lease.md"}, idempotency_key="k")


AUTHORS, FILES = ("ann", "bot", "scraper"), ("a.md", "b.md")


@given(data=st.data())
@examples(8, deadline=None)
def test_trust_is_what_a_plain_model_says_for_any_web_of_derivations(data: st.DataObject) -> None:
    """The model knows each world's author, file, container and sources, and takes the least by hand."""
    numbers = range(data.draw(st.integers(2, 9)))
    made: dict[int, str] = {}
    by: dict[int, str] = {}
    of: dict[int, str] = {}
    bases: dict[int, set[int]] = {}
    inside: dict[int, int | None] = {}
    with tempfile.TemporaryDirectory(prefix="worlddb-test-") as top:
        for number in numbers:
            by[number], of[number] = data.draw(st.sampled_from(AUTHORS)), data.draw(st.sampled_from(FILES))
            bases[number] = data.draw(st.sets(st.sampled_from(range(number)), max_size=2)) if number else set()
            inside[number] = data.draw(st.none() | st.sampled_from(range(number))) if number else None
            with written(Path(top), by[number], number + 1) as db:
                around = inside[number]
                world = None if around is None else made[around]
                made[number] = db.create("Note", f"n{number}", world=world, source={"file": of[number]}).ref
                for base in sorted(bases[number]):
                    db.link(made[number], "derived_from", made[base])
        said: dict[tuple[str, object], int] = {}
        with written(Path(top), "operator", 50) as db:
            for _ in range(data.draw(st.integers(0, 6))):
                level = data.draw(st.integers(0, 3))
                kind = data.draw(st.sampled_from(["author", "source", "world", "rest"]))
                whom = {"author": AUTHORS, "source": FILES, "world": tuple(numbers), "rest": (None,)}[kind]
                about: Any = data.draw(st.sampled_from(whom))
                given_as: Any = {"source": {"file": about}, "world": made.get(about)}.get(kind, about)
                db.trust(TRUST_LEVELS[level], **({} if kind == "rest" else {kind: given_as}))
                said[kind, about] = level

            def own(number: int) -> int | None:
                around: int | None = number
                while around is not None and ("world", around) not in said:
                    around = inside[around]
                told = [("author", by[number]), ("source", of[number]), ("world", around)]
                levels = [said[each] for each in told if each in said]
                return min(levels) if levels else said.get(("rest", None))

            def expected(number: int) -> int | None:
                found = [own(number), *(expected(base) for base in bases[number])]
                return min((level for level in found if level is not None), default=None)

            view = db.view(valid=day(100))
            shown = {number: view.get(made[number]) for number in numbers}
            levels = {number: None if world is None else world.trust for number, world in shown.items()}
            names = {number: None if (it := expected(number)) is None else TRUST_LEVELS[it] for number in numbers}
            assert levels == names
            trusted = {hit.ref for hit in view.recall(" ".join(f"n{number}" for number in numbers), min_trust="fair")}
            assert trusted == {made[number] for number in numbers if names[number] in (None, "fair", "full")}


def test_there_is_a_bound_on_how_much_is_said(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worlddb.log.model.limits.MAX_TRUSTED", 2)
    told.db.trust("low", author="a")
    told.db.trust("low", author="b")
    assert refusal(told.db.trust("low", author="c")) == "too_many_trusted"
    assert told.db.trust("fair", author="a") and told.db.trust(None, author="b") and told.db.trust("low", author="c")


def test_what_many_worlds_rest_on_is_walked_once_for_a_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of 64 worlds that are shown was weighed by a walk of its own, whether anything was said of trust or not."""
    asked = 0
    look = provenance._find_bases

    def counted(*about: Any) -> Iterator[tuple[int, Any]]:
        nonlocal asked
        asked += 1
        return look(*about)

    monkeypatch.setattr(provenance, "_find_bases", counted)
    with worlddb.open(tmp_path / "store", author="bot", embedder=None) as db:
        layers = [[db.create("Fact", f"{layer}.{n}", resolve=False).ref for n in range(9)] for layer in range(9)]
        with db.batch() as tx:
            for below, above in itertools.pairwise(layers):
                for one, other in itertools.product(above, below):
                    tx.link(one, "derived_from", other)
        for said in (None, "low"):
            if said:
                db.trust("low", author="bot")
            asked = 0
            shown = db.view().get(layers[-1][0])
            assert shown is not None and len(shown.rests_on) == 64 and shown.rests_on_more
            assert {shown.trust, *(base.trust for base in shown.rests_on)} == {said}
            assert 0 < asked <= 81


def test_the_trust_of_a_chain_is_folded_once_for_a_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them, and each of what it shows, was weighed by a walk of its own down to the first."""
    walks = 0
    walk = provenance.Trust._lowest_level_below

    def counted(trust: provenance.Trust, *about: Any) -> int | None:
        nonlocal walks
        walks += 1
        return walk(trust, *about)

    monkeypatch.setattr(provenance.Trust, "_lowest_level_below", counted)
    with worlddb.open(tmp_path / "store", author="bot", embedder=None) as db:
        chain = [db.create("Fact", f"{n}", resolve=False, source={"from": f"{n}"}).ref for n in range(12)]
        for made, base in itertools.pairwise(reversed(chain)):
            db.link(made, "derived_from", base)
        db.trust("fair", source={"from": "3"})
        db.trust("low", source={"from": "7"})
        expected = dict(zip(chain, [None] * 3 + ["fair"] * 4 + ["low"] * 5, strict=True))
        assert {world.ref: world.trust for world in db.view().find()} == expected and walks == 0
        # Of more than are weighed below one, each is weighed for itself: what rests on more is not trusted at all.
        monkeypatch.setattr(provenance, "MAX_WEIGHED", 9)
        expected |= dict.fromkeys(chain[10:], "none")
        assert {world.ref: world.trust for world in db.view().find()} == expected and walks > 0
