"""``worlddb impact provenance path kref artifact``, and what ``log --follow`` tells of tags."""

from __future__ import annotations

from pathlib import Path

import pytest

import worlddb
from tests.support.faults.traces import find_traces
from tests.support.running import LocalRunner

API = "kref://atlas/api/wire.decision"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> LocalRunner:
    return LocalRunner(capsys, tmp_path / "store")


def test_an_item_is_made_read_renamed_and_has_artifacts_by_its_kref(run: LocalRunner) -> None:
    made = run.json("kref", API, "--content", "Use REST", "--valid-from", "2026-01-01", "--why", "decided")
    assert run.json("kref", API, "--content", "Use gRPC", "--valid-from", "2026-02-01")["ref"] == made["ref"]
    assert run.json("kref", API)["world"]["content"] == "Use gRPC"
    first = run.json("kref", f"{API}?r=1")
    assert (first["ref"], first["world"]["content"], first["kref"]) == (made["ref"], "Use REST", f"{API}?r=1")
    assert run.json("kref", API, "--valid", "2026-01-10")["world"]["number"] == 1
    assert run.json("kref", API, "--rename", "protocol")["ref"] == made["ref"]
    assert run.json("show", API)["name"] == "protocol"
    assert run.json("kref", "protocol")["kref"] == "kref://atlas/api/protocol.decision"
    assert run("kref", "api").code == 1
    attached = ("--location", "s3://bucket/runs.csv", "--media-type", "text/csv", "--size", "18")
    assert run.json("artifact", API, "runs.csv", *attached)["events"] > 0
    (artifact,) = run.json("artifact", API)["artifacts"]
    assert artifact == run.json("kref", f"{API}?a=runs.csv")["artifact"]
    assert (artifact["location"], artifact["size"]) == ("s3://bucket/runs.csv", 18)
    shown = run("show", API).out
    assert "runs.csv  s3://bucket/runs.csv" in shown and "properties" not in shown
    assert run.json("artifact", f"{API}?r=1")["artifacts"] == []
    assert run("artifact", "protocol", "runs.csv", "--remove").code == 0
    assert "no artifacts" in run("artifact", "protocol").out and "Use gRPC" in run("kref", API).out
    run("retire", API)
    assert run("kref", API).code == 1 and run.json("kref", API, code=1)["artifact"] is None


@pytest.mark.parametrize(
    ("line", "code", "error", "told"),
    [
        (("kref", "kref://atlas"), 2, "invalid_kref", "project, a space and an item"),
        (("kref", "kref://atlas/api/none.fact"), 1, "unknown_reference", "worlddb kref KREF --content TEXT"),
        (("show", f"{API}?r=1"), 2, "invalid_kref", "`worlddb kref`"),
        (("kref", API, "--content", "x", "--rename", "y"), 2, "usage", "Give one of them"),
        (("kref", API, "--content", "x", "--valid", "2026-01-01"), 2, "usage", "Leave the options of the view out"),
        (("artifact", API, "x"), 2, "usage", "--location or --remove"),
        (("artifact", API, "--location", "x"), 2, "usage", "The name of the artifact is missing"),
        (("artifact", API, "x", "--location", "y", "--hash", "z"), 2, "input", "sha256"),
    ],
)
def test_errors_come_with_a_remedy(run: LocalRunner, line: tuple[str, ...], code: int, error: str, told: str) -> None:
    run("kref", API, "--content", "Use REST")
    found = run(*line)
    assert (found.code, found.error) == (code, error) and told in found.err


def test_what_depends_on_a_world_what_it_rests_on_and_how_two_are_joined(run: LocalRunner) -> None:
    with worlddb.open(run.store, embedder=None, author="ann") as db:
        report, summary, plan, _ = (db.create("Fact", name) for name in ("report", "summary", "plan", "other"))
        db.link(summary, "derived_from", report)
        db.link(plan, "derived_from", summary)
    found = run.json("impact", "report")
    assert [(each["ref"], each["depth"], each["path"]) for each in found["affected"]] == [
        (summary.ref, 1, [summary.ref]),
        (plan.ref, 2, [summary.ref, plan.ref]),
    ]
    assert found["cut_off"] == [] and run.json("impact", "report", "--depth", "1")["cut_off"] == [summary.ref]
    assert "--depth 2" in run("impact", "report", "--depth", "1").out
    assert "Nothing depends" in run("impact", "report", "--type", "causes").out
    claim = run.json("create", "Claim", "", "--content", "Spindles predict recall.")["ref"]
    belief = run.json("create", "Belief", "", "--content", "Spindles matter.")["ref"]
    run("link", belief, "derived_from", claim)
    assert "Spindles matter." in run("impact", claim).out and "Spindles predict" in run("provenance", belief).out
    assert run("withdraw", claim, "--plan").out.count("Spindles predict recall.") == 2
    rests = run.json("provenance", "plan")["affected"]
    assert [(each["ref"], each["steps"], each["author"], each["trust"]) for each in rests] == [
        (summary.ref, 1, "ann", None),
        (report.ref, 2, "ann", None),
    ]
    assert [each["path"] for each in rests] == [[summary.ref], [summary.ref, report.ref]]
    assert [len(each["edges"]) for each in rests] == [1, 2]
    assert "by ann" in run("provenance", "plan").out and "nothing else" in run("provenance", "report").out
    assert run.json("path", "plan", "report")["path"] == [summary.ref, report.ref]
    assert "derived_from >" in run("path", "plan", "report").out
    assert run.json("path", "plan", "other", code=1)["path"] is None
    assert run.json("path", "report", "plan", "--direction", "out", code=1)["edges"] is None


def test_who_follows_is_told_of_versions_edges_tags_and_deprecation(run: LocalRunner) -> None:
    with worlddb.open(run.store, embedder=None) as db:
        one, other = db.create("Fact", "one", content="as it was"), db.create("Fact", "other")
        since = db.head().seq + 1
        db.revise(one, content="as it is")
        db.link(one, "refers_to", other)
        db.tag(one, "Published7", version=1)
        db.tag(one, "Published7")
        db.untag(one, "Published7")
        db.label(one, "Urgent8")
        db.deprecate(one)
        db.undeprecate(one)
        followed = [
            (entry.event, entry.name, entry.data.get("version"), entry.data.get("is_deprecated"))
            for entry in db.follow(since, ref=one, patience_seconds=0)
            if entry.event not in ("closed", "lost")
        ]
        assert followed == [
            ("revised", "one", None, None),
            ("linked", "", None, None),
            ("tagged", "Published7", 1, None),
            ("tagged", "Published7", 2, None),
            ("tagged", "Published7", 0, None),
            ("labelled", "Urgent8", None, None),
            ("deprecated", "", None, True),
            ("deprecated", "", None, False),
        ]
        told = run("log", "--from", since, "--follow", "--patience", "0").out
        assert "Published7  version 2" in told and "Published7  no more" in told
        assert [line.split()[2:] for line in told.splitlines() if line.strip().startswith("deprecated")] == [
            [],
            ["no", "more"],
        ]
        lines = run("log", "--from", since, "--follow", "--patience", "0", "--json").lines
        assert [line["name"] for line in lines if line["event"] == "tagged"] == 3 * ["Published7"]
        db.erase(one, reason="request 4")
        assert {entry.name for entry in db.log(since, ref=one)} == {""} and find_traces(db.path, ["Published7"]) == []


def test_preferences_are_recorded_and_listed(run: LocalRunner) -> None:
    with worlddb.open(run.store, embedder=None) as db:
        db.create("Entity", "Ana")
        db.create("Topic", "SaaS")
    assert "No preferences are known" in run("preferences", "Ana").out
    first = run.json("prefer", "Ana", "rejected", "SaaS", "--why", "it leaked")["ref"]
    run.json("prefer", "Ana", "rejected", "SaaS", "--outcome", "succeeded")
    run.json("prefer", "Ana", "avoids", "SaaS", "--inferred", "--based-on", first)
    found = run.json("preferences", "Ana")["preferences"]
    assert [(each["relation"], each["confidence"], each["inferred"]) for each in found] == [
        ("rejected", 0.75, False),
        ("avoids", 0.333333, True),
    ]
    told = run("preferences", "Ana", "--relation", "rejected").out
    assert "0.75  1 statement, succeeded 1, because it leaked" in told and "avoids" not in told
    assert run("prefer", "Ana", "likes", "SaaS").code == 2
    assert run("prefer", "Ana", "avoids", "SaaS", "--confidence", "2").error == "input"


def test_what_is_withdrawn_comes_back_by_what_the_command_says_and_is_listed_as_believed(run: LocalRunner) -> None:
    run("create", "Document", "handbook")
    run("create", "Fact", "vacation", "--content", "30 days", "--world", "handbook")
    assert "vacation" in run("beliefs", "handbook").out and "30 days" in run("beliefs", "vacation").out
    done = run("withdraw", "handbook", "--why", "the wrong one")
    (told,) = (line for line in (done.out + done.err).splitlines() if "Take it back" in line)
    assert "30 days" not in run("beliefs").out and "nothing was withdrawn" in run("withdraw", "handbook").out
    number = told.split()[-1]
    assert f"undo --commit {number}" in run("undo", number).err
    assert run(*told.split(" undo ")[1].join(("undo ", "")).split()).code == 0
    assert "30 days" in run("beliefs", "vacation").out and run("show", "vacation").code == 0
    assert "Nothing is believed" in run("beliefs", "root", "--valid", "1999-01-01").out


def test_what_is_rolled_back_to_already_is_not_written_again(run: LocalRunner) -> None:
    run("create", "Fact", "colour", "--content", "blue")
    run("believe", "colour", "summary=red")
    assert run.json("rollback", "colour", "1")["events"] > 0
    assert run.json("rollback", "colour", "1")["events"] == 0
    run("believe", "colour", "topic=hue")
    assert (
        run.json("rollback", "colour", "1")["events"] > 0
        and run.json("history", "colour")["versions"][-1]["number"] == 5
    )


def test_settings_of_belief_are_set_and_listed(run: LocalRunner) -> None:
    run("create", "Fact", "colour", "--content", "blue")
    given = ("--tag", "decided", "--single", "status", "--compare", "Decision=recency", "--why", "ours")
    assert run.json("belief-settings", *given)["events"] == 3
    told = run.json("belief-settings")
    assert "decided" in told["tags"] and "status" in told["single"] and told["entrenchment"]["decision"] == "recency"
    assert told == run.json("beliefs", "--settings") | {"view": told["view"]}
    run("belief-settings", "--plain-tag", "decided", "--many", "status", "--compare", "Decision=")
    assert "decided" not in run("belief-settings").out
    for wrong, error in (
        (("--compare", "Fact=nope"), "input"),
        (("--compare", "Fact"), "usage"),
        (("--why", "x"), "usage"),
        (("--tag", "current"), "input"),
    ):
        assert run("belief-settings", *wrong).error == error


def test_options_that_would_do_nothing_are_told_and_types_that_nobody_knows(run: LocalRunner) -> None:
    run("create", "Fact", "colour", "--content", "blue")
    assert run("vocabulary", "--why", "x").error == run("guard", "--why", "x").error == "usage"
    for line in (("impact", "colour", "--type", "causse"), ("states", "colour", "--type", "causse")):
        found = run(*line)
        assert found.code == 0 and "knows no edge type 'causse'" in found.out
    assert "knows no edge type" not in run("impact", "colour", "--type", "causes").out
    run("relation", "works_at", "--inverse", "employs")
    assert "knows no edge type" not in run("states", "colour", "--type", "employs").out
    found = run("withdraw", "--since", "2030-01-01", "--until", "2029-01-01", "--plan")
    assert found.error == "invalid_interval" and "lies before since" in found.err
    assert "--of-author" in run("withdraw", "--plan").err
    assert "--node-type" in run("vocabulary", "--profile", "nope").err
