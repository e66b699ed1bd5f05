"""Artifacts: pointers that a version has, carried by all that carries versions, and erased with them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import worlddb
from tests.support.faults.traces import find_traces
from worlddb import Artifact, InputError, LimitExceeded, UnknownReference

REPORT = "kref://proj/team/report.fact"
PDF = Artifact(
    name="report.pdf",
    location="s3://Bucket17/report.pdf",
    media_type="application/pdf",
    size=12,
    hash="sha256:" + "ab" * 32,
)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[worlddb.Database]:
    with worlddb.open(tmp_path / "store", embedder=None) as store:
        yield store


def test_an_artifact_is_of_a_version_and_stays_with_what_follows(db: worlddb.Database) -> None:
    db.create_at(REPORT, content="draft", properties={"pages": 3})
    before = db.view()
    db.attach(REPORT, PDF)
    db.create_at(REPORT, content="final")
    view = db.view()
    assert view.artifacts(REPORT) == view.artifacts(f"{REPORT}?r=2") == [PDF]
    assert view.artifacts(f"{REPORT}?r=1") == before.artifacts(REPORT) == []
    assert view.resolve_kref(f"{REPORT}?r=2&a=report.pdf") == view.resolve_kref(f"{REPORT}?a=report.pdf") == PDF
    with pytest.raises(UnknownReference, match=r"It has: report\.pdf"):
        view.resolve_kref(f"{REPORT}?a=other")
    with pytest.raises(UnknownReference, match="It has none"):
        view.resolve_kref(f"{REPORT}?r=1&a=report.pdf")
    item = view.get(REPORT)
    assert item is not None and (item.content, item.number, item.properties["pages"]) == ("final", 3, 3)


def test_no_call_loses_what_it_was_not_given(db: worlddb.Database) -> None:
    other = Artifact(name="runs.csv", location="s3://Bucket17/runs.csv")
    db.create_at(REPORT, content="draft", properties={"pages": 3})

    def said() -> tuple[str, list[str], dict[str, Any]]:
        now = db.view().get(REPORT)
        assert now is not None
        named = [each.name for each in db.view().artifacts(REPORT)]
        return now.content, named, {name: value for name, value in now.properties.items() if name != "artifacts"}

    db.create_at(REPORT, content="draft", artifacts=[PDF])
    assert said() == ("draft", ["report.pdf"], {"pages": 3})
    db.create_at(REPORT, artifacts=[other])
    assert said() == ("draft", ["report.pdf", "runs.csv"], {"pages": 3})
    db.revise(REPORT, properties={"pages": 4})
    assert said() == ("draft", ["report.pdf", "runs.csv"], {"pages": 4})
    db.create_at(REPORT, content="final", properties={"pages": 5})
    assert said() == ("final", ["report.pdf", "runs.csv"], {"pages": 5})
    with db.batch() as tx:
        tx.revise(REPORT, properties={"pages": 6})
        tx.attach(REPORT, Artifact(name="log", location="file:///log"))
        tx.detach(REPORT, "runs.csv")
    assert said() == ("final", ["log", "report.pdf"], {"pages": 6})
    db.create_at(REPORT)
    db.detach(REPORT, "log")
    db.detach(REPORT, "report.pdf")
    now = db.view().get(REPORT)
    assert said() == ("final", [], {"pages": 6}) and now is not None and now.properties == {"pages": 6}
    db.create_at(REPORT, artifacts=[PDF], properties={"pages": 7})
    assert said() == ("final", ["report.pdf"], {"pages": 7}) and db.verify(deep=True).ok


def test_one_of_the_same_name_takes_its_place_the_same_again_changes_nothing_and_it_comes_off(
    db: worlddb.Database,
) -> None:
    db.create_at(REPORT, content="draft", artifacts=[PDF])
    moved = Artifact(name="report.pdf", location="file:///srv/report.pdf")
    assert db.attach(REPORT, PDF).events == 0
    assert db.attach(REPORT, moved).events > 0 and db.view().artifacts(REPORT) == [moved]
    db.detach(REPORT, "report.pdf")
    assert db.view().artifacts(REPORT) == [] and db.view().artifacts(f"{REPORT}?r=2") == [moved]
    with pytest.raises(UnknownReference, match=r"no artifact .report\.pdf."):
        db.detach(REPORT, "report.pdf")
    db.retire(REPORT)
    with pytest.raises(InputError, match="holds nothing now"):
        db.attach(REPORT, PDF)


def test_nothing_opens_an_artifacts_location(db: worlddb.Database, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("Unread17")
    before = secret.stat().st_atime_ns
    db.create_at(REPORT, content="draft", artifacts=[Artifact(name="s", location=str(secret))])
    db.create_at("kref://proj/team/gone.fact", artifacts=[Artifact(name="s", location=str(tmp_path / "gone"))])
    db.catch_up()
    assert secret.stat().st_atime_ns == before and find_traces(db.path, ["Unread17"]) == []


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"name": " a"}, "blank"),
        ({"name": ""}, "name is empty"),
        ({"name": "a\nb"}, "character"),
        ({"location": ""}, "location of 'a'"),
        ({"location": "x" * 5_000}, "location of 'a'"),
        ({"media_type": "pdf"}, "media type of 'a' is 'pdf'"),
        ({"size": -1}, "size of 'a'"),
        ({"size": 1.5}, "size of 'a'"),
        ({"hash": "abcdef"}, "hash of 'a' is 'abcdef'"),
    ],
)
def test_a_field_that_is_wrong_is_named(db: worlddb.Database, changed: dict[str, Any], told: str) -> None:
    db.create_at(REPORT, content="draft")
    with pytest.raises(InputError, match=told) as caught:
        db.attach(REPORT, Artifact(**({"name": "a", "location": "b"} | changed)))
    assert caught.value.remedy and db.view().get(REPORT).number == 1  # type: ignore[union-attr]


def test_a_property_of_that_name_that_is_a_callers_own_stays(db: worlddb.Database) -> None:
    own = db.create("Fact", "dig", content="found", properties={"artifacts": ["a pot", "a coin"]})
    assert db.view().artifacts(own) == []
    with pytest.raises(InputError, match="not a list of artifacts"):
        db.attach(own, PDF)
    assert db.view().get(own).properties == {"artifacts": ["a pot", "a coin"]}  # type: ignore[union-attr]
    with pytest.raises(InputError, match="is str"):
        db.attach(own, "report.pdf")  # type: ignore[arg-type]
    many = [Artifact(name=str(number), location="x") for number in range(257)]
    with pytest.raises(LimitExceeded):
        db.create_at(REPORT, artifacts=many)


def test_names_and_locations_are_erased_with_their_item(db: worlddb.Database) -> None:
    words = ["Bucket17", "Named18", "Title19", "Kind20", "Renamed21"]
    text = "kref://proj/team/Title19.Kind20"
    db.create_at(text, content="draft", artifacts=[PDF, Artifact(name="Named18", location="x")])
    db.create_at(text, content="final")
    db.rename(text, "Renamed21")
    db.catch_up()
    ref = db.view().reference_of(text)
    assert {found.rpartition(" ")[2] for found in find_traces(db.path, words)} == set(words)
    db.erase(text, reason="request 9")
    assert find_traces(db.path, words) == [] and db.verify(deep=True).ok
    assert db.view().artifacts(ref) == [] and db.view().resolve_kref(text).erased  # type: ignore[union-attr]
    assert not db.create_at(text, content="again"), "what was erased does not come back unasked"


def test_a_comparison_and_a_store_as_it_might_have_been_tell_of_artifacts(db: worlddb.Database, tmp_path: Path) -> None:
    db.create_at(REPORT, content="draft")
    before = db.head().seq
    db.attach(REPORT, PDF)
    after = db.head().seq
    db.create_at("kref://proj/team/other.fact", content="more")
    assert not worlddb.diff(db.path, seq_a=before, seq_b=after).equal
    db.replay(tmp_path / "then", seq=before)
    with worlddb.open(tmp_path / "then", embedder=None) as then:
        assert then.view().artifacts(REPORT) == db.view(seq=before).artifacts(REPORT) == []
    db.replay(tmp_path / "without", without=[after])
    with worlddb.open(tmp_path / "without", embedder=None) as without:
        assert without.view().artifacts(REPORT) == [] and without.view().resolve_kref("kref://proj/team/other.fact")
    db.rebuild()
    assert db.view().artifacts(REPORT) == [PDF]
