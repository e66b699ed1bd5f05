"""Tests the query pipeline: what each operator keeps, says and never lets out."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import worlddb
from tests.support.model.stores import new_store
from worlddb import Database, InputError, InvalidInterval, PlainHandler, Query, UnknownReference, View


@pytest.fixture
def db() -> Iterator[Database]:
    with new_store() as store:
        yield store


def chain(db: Database, *names: str, edge: str = "causes") -> list[str]:
    """Worlds of which each is connected to the next."""
    made = [db.create("Event", name, valid_from="2020-01-01").ref for name in names]
    for source, target in itertools.pairwise(made):
        db.link(source, edge, target)
    return made


# -- where it starts


def test_seeds_come_before_a_text_and_a_text_before_a_vector_and_the_plan_says_so(db: Database) -> None:
    one = db.create("Fact", "one", content="a red boat").ref
    other = db.create("Fact", "other", content="a green boat").ref
    view = db.view()
    every = view.query(seeds=[one], text="green", vector=[1.0]).run()
    assert every.refs == (one,)
    assert every.stages[0].note == "text and vector were not used: seeds come first"
    assert view.query(text="green", vector=[1.0]).run().refs == (other,)
    assert view.query(text="green", vector=[1.0]).run().stages[0].note == "vector was not used: a text comes first"
    assert view.query().run().refs == (one, other)
    assert view.query(seeds=[]).run().refs == ()
    pooled = view.query(seeds=[one], text="green", vector=[1.0], composed="mean").run()
    assert pooled.stages[0].note == "text, vector and composed were not used: seeds come first"
    everything = view.query(composed="mean").run().stages[0].note
    assert everything == "composed was not used: there is no text and no vector to compare with"


def test_a_start_by_text_keeps_the_order_and_the_scores_of_a_recall(db: Database) -> None:
    for colour in ("red", "green", "red red"):
        db.create("Fact", colour, content=f"a {colour} boat")
    view = db.view()
    found = view.query(text="red boat", exact=True).run()
    expected = view.recall("red boat", exact=True, lanes=["text"])
    assert list(found.refs) == [hit.ref for hit in expected]
    assert found.scores == {hit.ref: hit.score for hit in expected}
    assert found.exact and not view.query(text="red").run().exact


def test_a_start_by_vector_is_of_the_size_of_the_space(db: Database) -> None:
    assert db.view().query(vector=[1.0, 0.0]).run().note == "no text has been embedded yet"
    near = db.create("Fact", "near", content="the ferry to the island leaves at nine").ref
    db.create("Fact", "far", content="quarterly tax return")
    db.embed()
    model = worlddb.StaticEmbedder()
    vector = model.embed(["when does the boat leave?"], query=True)[0]
    for exact in (False, True):
        assert db.view().query(vector=vector, k=1, exact=exact).run().refs == (near,)
    with pytest.raises(InputError, match="has 2 numbers"):
        db.view().query(vector=[1.0, 0.0]).run()


def test_seeds_that_are_not_valid_or_lie_outside_are_left_out_and_counted(db: Database) -> None:
    inside, outside = (db.create("Topic", name).ref for name in ("inside", "outside"))
    seen = db.create("Fact", "seen", world=inside).ref
    gone = db.create("Fact", "gone", world=inside, valid_from="2020-01-01", valid_to="2021-01-01").ref
    stranger = db.create("Fact", "stranger", world=outside).ref
    found = db.view().query(seeds=[seen, gone, stranger], world=inside).run()
    assert found.refs == (seen,) and found.stages[0].note == "2 of 3 seeds are not visible here"
    assert db.view().query(seeds=[gone]).include_superseded().run().refs == (gone,)
    with pytest.raises(UnknownReference):
        db.view().query(seeds=["0123456789abcdef"]).run()


def test_a_query_takes_names_where_other_reads_do_and_a_confined_view_knows_only_its_own(db: Database) -> None:
    tenant, other = (db.create("Topic", name).ref for name in ("tenant", "other"))
    for world in (tenant, other):
        db.create("Entity", "Ada", world=world, resolve=False)
    mine, theirs = db.view(world=tenant), db.view(world=other)
    assert mine.query(seeds="ada").run().refs != theirs.query(seeds="Ada").run().refs
    assert len(db.view().query().in_world("tenant").run()) == 1
    with pytest.raises(worlddb.AmbiguousReference):
        db.view().query(seeds="Ada").run()
    with pytest.raises(UnknownReference):
        mine.query(world="other").run()


# -- operators


def test_a_traversal_is_breadth_first_ends_at_its_depth_and_passes_cycles_once(db: Database) -> None:
    first, second, third, fourth = chain(db, "a", "b", "c", "d", edge="implies")
    db.link(third, "implies", first)
    view = db.view()
    assert view.query(seeds=first).traverse("implies", depth=2).run().refs == (second, third)
    assert view.query(seeds=first).traverse("implies", depth=9).run().refs == (second, third, fourth, first)
    kept = view.query(seeds=first).traverse("implies", keep=True).run()
    assert kept.refs == (first, second) and kept.passed == ()
    assert view.query(seeds=third).traverse("implies", direction="in").run().refs == (second,)
    assert set(view.query(seeds=third).traverse(direction="both").run().refs) == {second, first, fourth}
    assert view.query(seeds=first).traverse("unheard of").run().refs == ()


def test_only_edges_on_a_way_to_an_answer_are_in_the_subgraph(db: Database) -> None:
    first, second, third = chain(db, "a", "b", "c")
    aside = db.create("Note", "aside").ref
    db.link(first, "causes", aside)
    found = db.view().query(seeds=first).traverse("causes", depth=2).filter_type("Event").limit(2).run()
    assert found.refs == (second, third)
    assert [(edge.source, edge.target) for edge in found.edges] == [(first, second), (second, third)]
    assert found.passed == (first,)
    assert [(stage.before, stage.after) for stage in found.stages] == [(0, 1), (1, 3), (3, 2), (2, 2), (2, 2)]


def test_only_refers_to_leads_out_of_the_world_of_a_query_and_only_forwards(db: Database) -> None:
    team, other = (db.create("Topic", name).ref for name in ("team", "other"))
    note = db.create("Note", "note", world=team).ref
    person, cause, critic = (db.create("Entity", name, world=other).ref for name in ("person", "cause", "critic"))
    db.link(note, "refers_to", person)
    db.link(note, "causes", cause)
    db.link(critic, "refers_to", note)
    db.link(person, "implies", cause)
    db.link(person, "refers_to", critic)
    query = db.view().query(seeds=note, world=team)
    assert query.traverse().run().refs == (person,)
    assert query.traverse(direction="both").run().refs == (person,)
    assert query.traverse("refers_to", depth=3).run().refs == (person, critic, note)
    assert query.traverse("refers_to").traverse("implies").run().refs == ()
    assert query.traverse("refers_to", depth=3).in_world(team).run().refs == (note,)
    assert query.where_connected("causes").run().refs == ()
    free = db.view().query(seeds=note)
    assert set(free.traverse(direction="both").run().refs) == {person, cause, critic}


def test_a_filter_by_type_sees_subtypes_and_instances(db: Database) -> None:
    person, engineer = db.create("Type", "Person"), db.create("Type", "Engineer")
    db.link(engineer, "subtype_of", person)
    ada, tom = db.create("Engineer", "Ada").ref, db.create("Entity", "Tom").ref
    db.link(tom, "instance_of", person)
    found = db.view().query().filter_type("Person").run()
    assert found.refs == (ada, tom) and found.stages[1].note == "including Engineer"
    assert db.view().query().filter_type("Type", "Entity").order("name").run().refs == (
        engineer.ref,
        person.ref,
        tom,
    )


def test_time_is_filtered_on_both_axes_among_the_versions_that_the_query_sees(db: Database) -> None:
    home = db.create("Fact", "home", content="Lisbon", valid_from="2019-01-01").ref
    db.revise(home, content="Porto", valid_from="2023-01-01")
    view = db.view()
    early = ("2020-01-01", "2021-01-01")
    assert view.query(seeds=home).filter_time(overlaps=early).run().refs == ()
    seen = view.query(seeds=home).include_superseded()
    assert [world.content for world in seen.filter_time(during=early).run()] == ["Lisbon"]
    assert [world.content for world in seen.filter_time(overlaps=(None, "2023-06-01")).run()] == ["Porto"]
    learned = worlddb.format_time(view.ingested)
    assert [world.content for world in seen.filter_time(between=(learned, None), during=early).run()] == ["Lisbon"]
    assert seen.filter_time(between=(None, "2019-01-01")).run().refs == ()


@pytest.mark.parametrize(
    ("relation", "spans"),
    [
        ("overlaps", "inside covers same starts ends crosses"),
        ("contains", "same starts ends inside"),
        ("within", "same covers"),
        ("equals", "same"),
        ("precedes", "after meets-after"),
        ("succeeds", "before meets-before"),
        ("immediately_precedes", "meets-after"),
        ("immediately_succeeds", "meets-before"),
    ],
)
def test_periods_lie_to_one_another_as_the_standard_says(db: Database, relation: str, spans: str) -> None:
    """Of a fact from 2020 to 2024, SQL:2011's predicates, which are those of half-open periods."""
    fact = db.create("Fact", "post", valid_from="2020-01-01", valid_to="2024-01-01").ref
    asked = {
        "before": (2016, 2018),
        "meets-before": (2018, 2020),
        "crosses": (2018, 2022),
        "covers": (2018, 2026),
        "same": (2020, 2024),
        "starts": (2020, 2022),
        "inside": (2021, 2022),
        "ends": (2022, 2024),
        "meets-after": (2024, 2026),
        "after": (2025, 2026),
    }
    query = db.view(valid="2022-06-01").query(seeds=fact)
    found = {
        name
        for name, (start, end) in asked.items()
        if query.filter_period(relation, (f"{start}-01-01", f"{end}-01-01")).run().refs
    }
    assert found == set(spans.split())


def test_a_version_in_several_spans_passes_if_one_of_them_does(db: Database) -> None:
    post = db.create("Fact", "post", content="cashier", valid_from="2020-01-01", valid_to="2026-01-01").ref
    db.revise(post, content="manager", valid_from="2022-01-01", valid_to="2023-01-01")
    seen = db.view().query(seeds=post).include_superseded()
    for relation, texts in (("immediately_precedes", ["cashier"]), ("equals", ["manager"]), ("contains", ["manager"])):
        found = seen.filter_period(relation, ("2022-01-01", "2023-01-01")).run()
        assert [world.content for world in found] == texts
    with pytest.raises(worlddb.InputError, match="the relation is 'near'"):
        seen.filter_period("near", ("2022-01-01", "2023-01-01"))


def test_worlds_that_are_one_are_asked_together_and_shown_once(db: Database) -> None:
    chen, sarah = db.create("Entity", "S. Chen").ref, db.create("Person", "Sarah Chen").ref
    note = db.create("Note", "note").ref
    db.link(note, "refers_to", sarah)
    db.accept(db.link(chen, "same_as", sarah))
    view = db.view()
    assert view.query(seeds=chen).traverse("refers_to", direction="in").run().refs == ()
    one = view.query(seeds=[chen, sarah]).unify()
    assert one.run().refs == (chen,) and one.run().identities == {chen: (sarah,)}
    assert one.run().stages[1].note == "1 merged with others"
    found = one.traverse("refers_to", direction="in").run()
    assert found.refs == (note,) and set(found.passed) == {sarah}
    assert one.filter_type("Person").run().refs == (sarah,)
    assert one.where_connected("refers_to", "in", to=None).run().refs == (sarah,)
    assert one.where_connected("refers_to", "in", absent=True).run().refs == ()
    assert view.query(seeds=note).unify().where_connected("refers_to", to=chen).run().refs == (note,)


def test_a_summary_is_shown_instead_of_what_it_sums_up_and_leads_back_to_it(db: Database) -> None:
    trip = db.create("Topic", "trip").ref
    days = [db.create("Event", f"day {number}", world=trip).ref for number in range(3)]
    summary = db.create("Summary", "the trip in short", world=trip).ref
    for day in days[:2]:
        db.link(summary, "derived_from", day)
    short = db.view().query(seeds=trip).traverse("contains").prefer_summaries()
    assert short.run().refs == (summary, days[2]) and short.run().stages[2].note == "2 summarized"
    assert short.filter_type("Summary").traverse("derived_from").run().refs == tuple(days[:2])
    db.retire(summary)
    assert db.view().query(seeds=trip).traverse("contains").prefer_summaries().run().refs == tuple(days)


def test_order_limit_and_facets_say_how_much_there_is_and_show_some_of_it(db: Database) -> None:
    team = db.create("Topic", "team", valid_from="2020-01-01").ref
    for name, begins in (("b", "2024-03-01"), ("a", "2024-01-01"), ("c", "2024-01-20"), ("A", "2023-01-01")):
        db.create("Fact", name, world=team, valid_from=begins)
    query = db.view().query(world=team).facets("type", "world", "author", "month")
    found = query.order("valid_from", descending=True).limit(2).run()
    assert [world.name for world in found] == ["b", "c"]
    assert found.facets["type"] == {"Fact": 4} and found.facets["world"] == {team: 4}
    assert found.facets["month"] == {"2024-01": 2, "2023-01": 1, "2024-03": 1}
    assert list(found.facets["author"].values()) == [4]
    assert [world.name for world in query.order("name").run()] == ["a", "A", "b", "c"]
    assert [world.name for world in query.order("name", descending=True).run()] == ["c", "b", "a", "A"]


# -- what edge types ask of queries


class KindOf(PlainHandler):
    """A type of edges that widens filters by type."""

    name, version = "kind_of", 1

    def on_query_rewrite(self, query: Any) -> Any:
        return query.widen_types(self.name)


class Disputes(PlainHandler):
    """A type of edges whose two sides are shown as contradicting each other."""

    name, version = "disputes", 1

    def on_query_rewrite(self, query: Any) -> Any:
        return query.show_conflicts(self.name)


def test_what_registered_edge_types_ask_of_queries_holds_for_them_and_its_absence_is_told(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", edge_types=[KindOf(), Disputes()]) as db:
        for handler in (KindOf(), Disputes()):
            db.register(handler).raise_if_refused()
        bird, heron = db.create("Type", "Bird"), db.create("Type", "Heron")
        grey, white = (db.create("Heron", name).ref for name in ("grey", "white"))
        before = db.head().seq
        db.link(heron, "kind_of", bird)
        db.link(grey, "disputes", white)
        birds = Query.of().filter_type("Bird")
        found = db.view().run(birds)
        assert found.refs == (grey, white) and found.stages[1].note == "including Heron" and found.note == ""
        assert found.nodes[0].conflicts == (white,)
        assert db.view().run(birds.as_of(seq=before)).refs == ()
    with worlddb.open(tmp_path / "store") as db:
        found = db.view().run(birds)
        assert found.refs == (grey, white) and "disputes, kind_of" in found.note


# -- moments


def test_a_query_as_of_a_moment_is_the_query_of_a_view_of_it(db: Database) -> None:
    first, _, third = chain(db, "a", "b", "c")
    before = db.head().seq
    edge = db.view().edges(third, type="causes", direction="in")[0]
    db.unlink(edge)
    query = Query.of(seeds=first).traverse("causes", depth=5)
    then = db.view(seq=before)
    assert db.view().run(query.as_of(seq=before)).nodes == then.run(query).nodes
    assert db.view().run(query.as_of(ingested=then.ingested)).nodes == then.run(query).nodes
    assert len(db.view().run(query)) == 1 and len(then.run(query)) == 2
    with pytest.raises(InputError, match="as of commit"):
        then.run(query.as_of(seq=before + 1))


def test_a_confined_view_asked_of_an_earlier_moment_shows_no_more_than_it_sees(db: Database) -> None:
    tenant, other = (db.create("Topic", name, valid_from="2020-01-01").ref for name in ("tenant", "other"))
    gone, kept = (db.create("Fact", name, world=tenant, valid_from="2020-01-01").ref for name in ("gone", "kept"))
    before = db.head().seq
    db.move(gone, other)
    query = Query.of(text="gone kept").as_of(seq=before)
    assert set(db.view().run(query).refs) == {gone, kept}
    assert db.view(world=tenant).run(query).refs == (kept,)
    assert set(db.view(seq=before, world=tenant).run(query).refs) == {gone, kept}
    assert db.view(world=tenant).run(Query.of().as_of(seq=before)).refs == (kept,)


# -- the explanation


def test_an_explanation_has_a_time_for_every_stage_and_an_answer_has_none(db: Database) -> None:
    chain(db, "a", "b")
    query = db.view().query(text="a").traverse("causes")
    told, plain = query.explain(), query.run()
    assert all(stage.seconds is not None and stage.seconds >= 0 for stage in told.stages)
    assert {stage.seconds for stage in plain.stages} == {None}
    assert [stage.operator for stage in plain.stages] == [
        "start from the 10 best for 'a' by text",
        "traverse causes",
        "read the remaining worlds",
    ]
    assert plain == query.run() and plain.nodes == told.nodes
    assert plain.stages[1].note == "1 edge followed, depth 1"


def test_what_is_wrong_with_a_query_is_said_before_it_is_asked(db: Database) -> None:
    view: View = db.view()
    query = view.query()
    for wrong in (
        lambda: view.query(text=7),  # type: ignore[arg-type]
        lambda: view.query(seeds=[7]),
        lambda: view.query(vector=[float("nan")]),
        lambda: view.query(vector=[0.0, 0.0]),
        lambda: view.query(vector=[]),
        lambda: view.query(vector="red"),  # type: ignore[arg-type]
        lambda: view.query(lanes="text", text="a"),
        lambda: view.query(lanes=["smell"], text="a"),
        lambda: view.query(k=0),
        lambda: query.traverse("causes", depth=0),
        lambda: query.traverse("causes", direction="sideways"),
        lambda: query.traverse(""),
        query.filter_type,
        query.filter_time,
        lambda: query.filter_time(during=("2020", "2021"), overlaps=("2020", "2021")),
        lambda: query.where_connected("causes", "up"),
        lambda: query.order("beauty"),
        lambda: query.limit(-1),
        lambda: query.facets("beauty"),
        query.facets,
        query.as_of,
        lambda: query.as_of(seq=1, ingested="2020-01-01"),
        lambda: query.as_of(valid="soon"),
        lambda: view.run("everything"),  # type: ignore[arg-type]
    ):
        with pytest.raises(InputError):
            wrong()
    with pytest.raises(InvalidInterval):
        query.filter_time(during=("2021-01-01", "2020-01-01"))
    for asked in (query.in_world("0123456789ab"), query.where_connected("causes", to="0123456789ab")):
        with pytest.raises(UnknownReference):
            asked.run()


# -- a subgraph is a value


def test_a_subgraph_prints_explains_itself_and_comes_back_from_json_as_it_was(db: Database) -> None:
    first, second, _ = chain(db, "a", "b " * 60, "c")
    found = db.view().query(seeds=[first]).traverse("causes").facets("type").run()
    assert str(found).splitlines() == [
        "worlds: 1, edges: 1",
        f"{second[:12]}  Event  {'b ' * 39}b…",
        f"{first[:12]} causes {second[:12]}",
    ]
    assert found.explain().splitlines()[1:] == [
        "traverse causes: 1 to 1 (1 edge followed, depth 1)",
        "facets by type: 1 to 1",
        "read the remaining worlds: 1 to 1",
    ]
    timed = db.view().query(seeds=[first]).explain()
    assert all(line.endswith(" ms") for line in timed.explain().splitlines())
    for each in (found, timed, db.view().query().run(), db.view().query(text="nothing").run()):
        again = worlddb.Subgraph.from_json(each.to_json())
        assert again == each and again.to_json() == each.to_json() and str(again) == str(each)


@pytest.mark.parametrize("text", ["", "{}", "[]", "[" * 100_000, b"\xff", '{"nodes": 3}', None])
def test_json_that_is_no_subgraph_is_a_typed_error(text: Any) -> None:
    with pytest.raises(InputError, match="not a subgraph"):
        worlddb.Subgraph.from_json(text)
