"""Says in words why two worlds may be one; the numbers stay in the evidence."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import worlddb
from tests.support.running import LocalRunner
from tests.tools.mcp.test_mcp_tools import call
from worlddb import Database
from worlddb.query.records.records import explain_match
from worlddb.tools.mcp.session import Session


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with worlddb.open(tmp_path / "store") as opened:
        yield opened


@pytest.mark.parametrize(
    ("known", "new", "told"),
    [
        (["Sarah Chen"], "sarah chen", "the same name: 'sarah chen' and 'Sarah Chen'"),
        (
            ["Phillip Müller"],
            "Filip Mueller",
            "sound alike: 'Filip Mueller' and 'Phillip Müller', 0.945 of 1",
        ),
        (
            ["Melanie Brown"],
            "Mel Brown",
            "names with a similar spelling, or one a short form of the other: 'Mel Brown' and",
        ),
        (["Jon Smith", "Jon Smithe"], "John Smith", "; 0.92 is needed; also weighed: 'Jon Smithe' (0.947)"),
        (["Jon Smith", "Jon Smith"], "Jon Smith", "several candidates are equally near"),
    ],
)
def test_what_the_resolver_found_is_told_in_words(db: Database, known: list[str], new: str, told: str) -> None:
    for name in known:
        db.create("Entity", name, resolve=False)
    db.create("Entity", new, resolve="all")
    proposal = db.proposals()[0]
    assert told in proposal.because
    assert "{" not in proposal.because and "tier" not in proposal.because
    assert proposal.evidence["tier"] in ("exact", "fuzzy", "phonetic")


def test_a_reason_that_somebody_gave_is_told_as_it_is(db: Database) -> None:
    one, other = db.create("Entity", "S. Chen"), db.create("Entity", "Sarah Chen")
    db.link(one, "same_as", other, why="same signature")
    assert db.proposals()[0].because == "same signature"
    db.link(one, "same_as", db.create("Entity", "Third"), properties={"badge": 7}, why="seen")
    assert db.proposals()[-1].because == "badge 7; seen"


def test_the_command_line_and_the_server_say_it_and_json_has_both_forms(
    db: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    db.create("Entity", "Phillip Müller", resolve=False)
    db.create("Entity", "Filip Mueller", resolve="all")
    words = db.proposals()[0].because
    (pair,) = call(Session(db), "memory_proposals")["proposals"]
    assert pair["because"] == words
    db.close()
    run = LocalRunner(capsys, db.path)
    assert f"because   {words}" in run("proposals").out.replace("\n" + 14 * " ", " ")
    (shown,) = run.json("proposals")["proposals"]
    assert (shown["because"], shown["evidence"]["tier"]) == (words, "phonetic")


values = st.recursive(
    st.none() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["ref", "scores", "exact", "name"]), inner)
    ),
    max_leaves=6,
)


@given(
    evidence=st.dictionaries(
        st.sampled_from(["tier", "score", "name", "considered", "thresholds", "decision", "tiebreaker", "file"]), values
    ),
    tier=st.sampled_from(["exact", "fuzzy", "embedding", "phonetic", None]),
    why=st.text(max_size=9),
)
def test_whatever_a_caller_gave_as_evidence_has_words(evidence: dict[str, object], tier: str | None, why: str) -> None:
    given_evidence = evidence if tier is None else {**evidence, "tier": tier, "score": 0.9}
    assert why in explain_match(given_evidence, ("ab", "one"), ("cd", "other"), why)
