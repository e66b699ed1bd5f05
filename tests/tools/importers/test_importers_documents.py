"""Imports Markdown and plain text: headings become worlds, a grown file adds its tail."""

from __future__ import annotations

import errno
import gzip
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.model.stores import new_store
from tests.support.running import LocalRunner
from worlddb import Database, InputError, MalformedFile, World, format_time
from worlddb.tools.importers import documents, markdown
from worlddb.tools.importers.documents import PARAGRAPH
from worlddb.tools.importers.run import ingest_files

NOTES = """\
---
title: Field notes
date: 2024-05-01 10:00:00 +0200
tags: [birds]
---
Before any heading.

# Herons

Two herons
at the pond.

## Nests

- a nest in the alder
- another one
  with eggs

> quoted

### 2024-06-03 later

```python
# no heading
```

# Herons

| a | b |
|---|---|
| 1 | 2 |
"""


@pytest.fixture
def db() -> Iterator[Database]:
    with new_store() as store:
        yield store


def written(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def members(db: Database, world: World | None = None) -> list[World]:
    return list(db.view().children(world, include_superseded=True))


def tree(db: Database, world: World | None = None) -> list[object]:
    """Names and texts, what a world contains below it."""
    found: list[object] = []
    for each in members(db, world):
        found.append(each.name or each.content)
        below = tree(db, each)
        found += [below] if below else []
    return found


def test_headings_become_nested_worlds_and_what_stands_below_them_their_members(db: Database, tmp_path: Path) -> None:
    done = ingest_files(db, written(tmp_path, "notes.md", NOTES))
    assert tree(db) == [
        "Field notes",
        [
            "Before any heading.",
            "Herons",
            [
                "Two herons\nat the pond.",
                "Nests",
                [
                    "- a nest in the alder",
                    "- another one\n  with eggs",
                    "> quoted",
                    "2024-06-03 later",
                    ["```python\n# no heading\n```"],
                ],
            ],
            "Herons",
            ["| a | b |\n|---|---|\n| 1 | 2 |"],
        ],
    ]
    assert (done.turns, done.worlds, done.commits) == (7, 5, 1)
    (document,) = members(db)
    assert document.type == "Document" and document.source == {"file": "notes.md"}
    nest = db.view().recall("nest in the alder").hits[0]
    assert nest.type == PARAGRAPH and nest.source == {"file": "notes.md", "line": 15}


def test_the_date_of_the_front_matter_and_of_a_heading_is_the_valid_time(db: Database, tmp_path: Path) -> None:
    ingest_files(db, written(tmp_path, "notes.md", NOTES))
    begins = {
        each.name or each.content: format_time(each.valid.start)
        for each in db.view().find(include_superseded=True)
        if each.type != "Topic"
    }
    assert begins["Field notes"] == begins["- a nest in the alder"] == "2024-05-01T08:00:00Z"
    assert begins["2024-06-03 later"] == begins["```python\n# no heading\n```"] == "2024-06-03T00:00:00Z"
    assert begins["| a | b |\n|---|---|\n| 1 | 2 |"] == "2024-05-01T08:00:00Z"
    assert db.view(valid="2024-05-10").find(name="2024-06-03 later") == []


def test_the_same_file_twice_is_one_import_and_a_grown_one_adds_its_tail(db: Database, tmp_path: Path) -> None:
    path = written(tmp_path, "notes.md", NOTES)
    ingest_files(db, path)
    head = db.head()
    again = ingest_files(db, path)
    assert (again.events, again.commits, again.revised) == (0, 0, 0) and db.head() == head
    grown = NOTES.replace("at the pond.\n", "at the pond.\n\nA third one.\n") + "\nThe end.\n"
    written(tmp_path, "notes.md", grown)
    more = ingest_files(db, path)
    assert (more.commits, more.revised) == (1, 0)
    new = [entry.text for entry in db.log(head.seq + 1) if entry.event == "created"]
    assert new == ["A third one.", "The end."]
    written(tmp_path, "notes.md", grown.replace("A third one.", "A third heron."))
    changed = ingest_files(db, path)
    assert changed.revised == 1
    assert [version.content for version in db.view().history(db.view().recall("third heron").hits[0])] == [
        "A third one.",
        "A third heron.",
    ]


def test_what_is_no_longer_in_the_file_is_counted_until_it_is_ended(db: Database, tmp_path: Path) -> None:
    """It stays current, and the import only said how many others were revised."""
    file = tmp_path / "prices.md"
    file.write_text("# Prices\n\nThe room costs 50 euros.\n\nBreakfast is free.\n\n# Pets\n\nDogs are welcome.\n")
    assert ingest_files(db, file).gone == ()
    file.write_text("# Prices\n\nThe room costs 60 euros.\n")
    gone = ingest_files(db, file).gone
    held = {each.ref: each.content for each in db.view().find(type=PARAGRAPH)}
    assert {held[ref] for ref in gone} == {"Breakfast is free.", "Dogs are welcome."}
    for ref in gone:
        db.retire(ref)
    assert ingest_files(db, file).gone == ()


def test_what_was_erased_stays_out_unless_it_is_asked_for(db: Database, tmp_path: Path) -> None:
    path = written(tmp_path, "a.txt", "Ann lives in Bern.\n\nBoats.\n")
    ingest_files(db, path)
    db.erase(db.view().recall("Bern").hits[0], reason="request 7")
    assert ingest_files(db, path).notes == {"not_restored": 1}
    assert db.view().recall("Bern").hits == ()
    ingest_files(db, path, restore_erased=True)
    assert db.view().recall("Bern").hits[0].content == "Ann lives in Bern."


def test_plain_text_is_a_document_of_paragraphs_with_their_lines(db: Database, tmp_path: Path) -> None:
    text = "\ufeffOne\r\nstill one.\r\n \r\n\r\n\r\nTwo.\fThree.\n\n\n"
    ingest_files(db, written(tmp_path, "a.txt", text))
    (document,) = members(db)
    assert (document.name, document.type) == ("a", "Document")
    assert [(each.content, each.source["line"]) for each in members(db, document)] == [
        ("One\nstill one.", 1),
        ("Two.", 6),
        ("Three.", 6),
    ]


def test_a_document_is_known_by_its_suffix_its_format_and_its_name(db: Database, tmp_path: Path) -> None:
    packed = tmp_path / "talk.md.gz"
    packed.write_bytes(gzip.compress(b"# A\n\ntext\n"))
    ingest_files(db, packed)
    assert tree(db) == ["talk", ["A", ["text"]]]
    plain = written(tmp_path, "talk", "# A\n\ntext\n")
    with pytest.raises(MalformedFile, match="markdown"):
        ingest_files(db, plain)
    assert ingest_files(db, plain, format="markdown").events == 0
    ingest_files(db, plain, format="text", conversation="as text")
    assert tree(db)[2:] == ["as text", ["# A", "text"]]
    lines = written(tmp_path, "turns.txt", '{"text": "a turn", "speaker": "Ann"}\n')
    assert ingest_files(db, lines).turns == 1
    assert [each.type for each in db.view().find(type="Conversation")] == ["Conversation"]


def test_a_document_goes_into_the_world_that_is_named(db: Database, tmp_path: Path) -> None:
    team = db.create("Topic", "team")
    ingest_files(db, written(tmp_path, "a.md", "# A\n\ntext\n"), into=team)
    assert tree(db) == ["team", ["a", ["text"]]]


@pytest.mark.parametrize("heading", ["A", "A" * 3_000], ids=["short", "long"])
def test_documents_of_one_name_in_two_worlds_are_two(db: Database, tmp_path: Path, heading: str) -> None:
    """The key did not have the world, so the second revised the first where that was."""
    teams = [db.create("Topic", name) for name in ("one", "two")]
    for team, text in zip(teams, ("text", "secret"), strict=True):
        path = written(tmp_path, "a.md", f"# {heading}\n\n{text}\n\n## Inner\n\nmore\n")
        assert ingest_files(db, path, into=team).revised == 0
        for again in (team, team.ref, str(team.ref)[:12]):
            assert ingest_files(db, path, into=again).events == 0
    inside = [tree(db, db.view().get(team.ref)) for team in teams]
    assert ["secret" in str(below) for below in inside] == [False, True] and "text" in str(inside[0])
    assert ingest_files(db, path).events
    (root,) = db.view().containers(teams[0])
    assert ingest_files(db, path, into=root).events == 0


@pytest.mark.parametrize("moved", ["Document", "Section", "Paragraph"])
def test_what_was_moved_to_another_world_is_not_followed_by_a_later_import(
    db: Database, tmp_path: Path, moved: str
) -> None:
    """A key counted wherever its record was, so that one tenant's text landed in another's world."""
    mine, theirs = (db.create("Topic", name).ref for name in ("mine", "theirs"))
    path = written(tmp_path, "a.md", "# A\n\ntext\n\n## Inner\n\nmore\n")
    ingest_files(db, path, into=mine)
    record = db.view(world=mine).find(type=moved)[-1]
    (around,) = db.view().containers(record)
    db.move(record, theirs, out_of=around)
    before = db.view().hash(theirs)
    path = written(tmp_path, "a.md", "# A\n\nother text\n\n## Inner\n\nmuch more\n")
    ingest_files(db, path, into=mine)
    assert db.view().hash(theirs) == before
    assert sorted(each.content for each in db.view(world=mine).find(type="Paragraph")) == ["much more", "other text"]
    assert ingest_files(db, path, into=mine).events == 0


TITLED = "# Field  NOTES\n\nTwo herons.\n\n## Nests\n\nOne nest.\n"


@pytest.mark.parametrize(
    "text",
    [TITLED, f"---\ntitle: field notes\n---\n{TITLED}", f"Before.\n\n{TITLED}\n# Field notes\n\nAnother chapter.\n"],
    ids=["file name", "front matter", "again"],
)
def test_a_title_that_is_the_document_s_name_is_the_document_and_no_second_world(
    text: str, db: Database, tmp_path: Path
) -> None:
    """Two worlds of one name came of it, so that neither could be named."""
    path = written(tmp_path, "field notes.md", text)
    done = ingest_files(db, path)
    called, inside = tree(db)
    assert str(called).lower() == "field notes"
    assert isinstance(inside, list) and "Two herons." in inside and ["One nest."] in inside
    again = "Before." in text
    assert done.worlds == 2 + again and len(db.view().find(name="field notes")) == 1 + again
    if not again:
        assert db.view().recall("herons", world="Field Notes").hits[0].content == "Two herons."
    assert ingest_files(db, path).events == 0
    (document,) = members(db)
    assert document.source == {"file": "field notes.md", "line": text[: text.index("# Field  NOTES")].count("\n") + 1}


def test_a_heading_that_is_not_the_first_or_of_a_lower_level_is_a_section(db: Database, tmp_path: Path) -> None:
    for name, text in (("a", "## a\n\nx\n"), ("b", "# other\n\n# b\n\ny\n")):
        ingest_files(db, written(tmp_path, f"{name}.md", text))
    assert tree(db) == ["a", ["a", ["x"]], "b", ["other", "b", ["y"]]]


def test_a_title_with_a_date_dates_the_document(db: Database, tmp_path: Path) -> None:
    ingest_files(db, written(tmp_path, "2024-05-01.md", "# 2024-05-01\n\nRain.\n\n## Later\n\nSun.\n"))
    assert tree(db, db.view().find(name="2024-05-01")[0]) == ["Rain.", "Later", ["Sun."]]
    assert {format_time(each.valid.start) for each in db.view().find(world="2024-05-01")} == {"2024-05-01T00:00:00Z"}
    assert format_time(db.view().find(name="2024-05-01")[0].valid.start) == "2024-05-01T00:00:00Z"


def test_a_store_that_has_the_title_as_a_world_of_its_own_keeps_it_and_what_is_new_goes_on_there(
    db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, "Field notes.md", TITLED)
    with monkeypatch.context() as before:
        before.setattr(markdown, "_is_title", lambda heading, called: False)
        ingest_files(db, path)
    taken_in = ["Field notes", ["Field NOTES", ["Two herons.", "Nests", ["One nest."]]]]
    assert tree(db) == taken_in
    head = db.head()
    assert ingest_files(db, path).events == 0 and db.head() == head
    ingest_files(db, written(tmp_path, path.name, TITLED.replace("herons.\n", "herons.\n\nThree frogs.\n")))
    assert tree(db) == ["Field notes", ["Field NOTES", ["Two herons.", "Nests", ["One nest."], "Three frogs."]]]
    other = written(tmp_path, "Field Notes.md", TITLED)
    ingest_files(db, other)
    assert tree(db)[2:] == ["Field Notes", ["Two herons.", "Nests", ["One nest."]]]


def test_a_heading_of_the_title_s_name_below_it_makes_no_second_title(db: Database, tmp_path: Path) -> None:
    """The document was there before it had a title, so that its source names no line of one."""
    ingest_files(db, written(tmp_path, "pond.md", "Rain.\n"))
    path = written(tmp_path, "pond.md", "# Pond\n\n## Pond\n\nTwo herons.\n")
    assert ingest_files(db, path).events > 0 and ingest_files(db, path).events == 0
    assert tree(db) == ["pond", ["Rain.", "Pond", ["Two herons."]]]


@pytest.mark.parametrize(
    ("name", "held", "told"),
    [
        ("a.md", b"---\ntitle: a\ndate: soon\n---\ntext\n", "line 3"),
        ("a.md", b"---\ndate: 2024-05-01T25:00\n---\ntext\n", "line 2"),
        ("a.md", b"---\ndate: 2024-05-01 10:00 Nowhere/Town\n---\ntext\n", "line 2"),
        ("a.md", b"---\ndate: 0000\n---\ntext\n", "line 2"),
        ("a.md", b"---\ndate: 2024-13\n---\ntext\n", "line 2"),
        ("a.md", b"text\n\n## 2024-13-01\n", "line 3"),
        ("a.md", b"one\ntwo \xff\n", "line 2"),
        ("a.txt", b"one\n\xc3(", "line 2"),
        ("a.txt", b"a\0b", "NUL"),
        ("a.md", b"", "empty"),
        ("a.md", b"# " + b"x" * 20_000 + b"\n", "line 1"),
        ("a.md.gz", b"# not packed\n", "gzip"),
    ],
)
def test_what_is_wrong_is_told_with_its_line_and_nothing_is_written(
    name: str, held: bytes, told: str, db: Database, tmp_path: Path
) -> None:
    head = db.head()
    with pytest.raises(InputError) as raised:
        ingest_files(db, [written(tmp_path, "good.txt", "fine\n"), written(tmp_path, name, held)])
    assert told in raised.value.message, raised.value.message
    assert db.head() == head


@pytest.mark.parametrize(
    ("fields", "begins", "notes"),
    [
        ("date: 2024-05-01T10:00", "2024-05-01T10:00:00Z", {"dated_in_utc": 1}),
        ("date: 2024-05-01 10:00:30", "2024-05-01T10:00:30Z", {"dated_in_utc": 1}),
        ("date: '2024-05-01 10:00'\ntimezone: Europe/Berlin", "2024-05-01T08:00:00Z", {}),
        ("tz: Europe/Berlin\ndate: 2024-01-01T10:00", "2024-01-01T09:00:00Z", {}),
        ("date: 2024-05-01 10:00 America/New_York", "2024-05-01T14:00:00Z", {}),
        ("date: 2024-05-01 10:00 UTC", "2024-05-01T10:00:00Z", {}),
        ("date: 2024-05-01 10:00 +0200\ntimezone: Asia/Tokyo", "2024-05-01T08:00:00Z", {}),
        ("date: 2024", "2024-01-01T00:00:00Z", {"dated_by_year": 1}),
        ('date: "2024"', "2024-01-01T00:00:00Z", {"dated_by_year": 1}),
        ("date: 2024-05", "2024-05-01T00:00:00Z", {"dated_by_month": 1}),
    ],
)
def test_a_date_of_front_matter_that_says_less_than_a_moment_is_taken_and_told(
    db: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str], fields: str, begins: str, notes: dict[str, int]
) -> None:
    path = written(tmp_path, "a.md", f"---\n{fields}\n---\ntext\n")
    assert ingest_files(db, path).notes == notes
    (document,) = [each for each in db.view().find(name="a") if each.type == "Document"]
    assert format_time(document.valid.start) == begins
    told = LocalRunner(capsys, tmp_path / "other")("ingest", path).out
    assert ("1 document has a" in told) == bool(notes)


def test_a_zone_that_nobody_knows_is_named(db: Database, tmp_path: Path) -> None:
    path = written(tmp_path, "a.md", "---\ndate: 2024-05-01 10:00\ntimezone: Mars/Olympus\n---\ntext\n")
    with pytest.raises(MalformedFile, match="zone 'Mars/Olympus' of the date"):
        ingest_files(db, path)


def test_lines_of_dashes_that_hold_no_fields_are_text(db: Database, tmp_path: Path) -> None:
    ingest_files(db, written(tmp_path, "a.md", "---\njust words\n\n---\nmore\n"))
    assert "more" in str(tree(db))
    ingest_files(db, written(tmp_path, "b.md", "---\nnever closed: yes\n"))
    assert "never closed" in str(tree(db))


def test_two_files_of_one_name_are_refused(db: Database, tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    with pytest.raises(InputError, match="both have"):
        ingest_files(db, [written(tmp_path, "a.md", "one\n"), written(tmp_path / "x", "a.md", "two\n")])


SPINDLES = """---
title: Spindles 2024
aliases: ["Lindqvist, 2024"]
tags: [paper, "#sleep"]
authors:
  - "[[Mara]]"
  - Jun Tanaka
year: 2024
doi: 10.1000/spindle.17
status: reading
date: 2026-09-03
---
# Spindles 2024
Density predicts recall.
"""


def test_front_matter_gives_a_document_its_labels_aliases_and_properties(db: Database, tmp_path: Path) -> None:
    """All but title and date was left out without a word."""
    path = written(tmp_path, "spindles.md", SPINDLES)
    ingest_files(db, path)
    (found,) = members(db)
    assert (found.name, found.labels, found.aliases) == ("Spindles 2024", ("paper", "sleep"), ("Lindqvist, 2024",))
    assert found.properties == {
        "authors": ["[[Mara]]", "Jun Tanaka"],
        "year": 2024,
        "doi": "10.1000/spindle.17",
        "status": "reading",
    }
    assert [each.name for each in db.view().find(properties={"year": {"$gte": 2020}})] == ["Spindles 2024"]
    hit = db.view().recall("what is the DOI?", k=1).hits[0]
    assert "doi: 10.1000/spindle.17\n" in hit.content and "tags" not in hit.content
    assert (hit.source["line"], hit.valid.start) == (2, found.valid.start)
    (claim,) = db.view().recall("does density predict recall?", label="paper", type=PARAGRAPH, k=1).hits
    assert claim.content == "Density predicts recall.", "the tags are those of all that the document says"
    db.unlabel(found, "sleep")
    db.revise(found, properties={**found.properties, "status": "done"})
    assert ingest_files(db, path).events == 0
    tagged = SPINDLES.replace("[paper,", "[paper, memory,")
    written(tmp_path, "spindles.md", tagged)
    ingest_files(db, path)
    (again,) = members(db)
    assert (again.labels, again.properties["status"]) == (("paper", "memory"), "done"), "what was corrected stays"
    written(tmp_path, "spindles.md", tagged.replace("year: 2024", "year: 2025"))
    ingest_files(db, path)
    assert members(db)[0].properties["year"] == 2025
    said = {each.content: each.labels for each in db.view().find(type=PARAGRAPH)}
    assert said["Density predicts recall."] == ("paper", "sleep", "memory")


@pytest.mark.parametrize("left", ["---\ntitle: Team\ntags: [ops]\n---\n", "---\ntitle: Team\n---\n", ""])
def test_a_tag_that_leaves_the_front_matter_is_a_label_no_more(db: Database, tmp_path: Path, left: str) -> None:
    """The label stayed, and a filter by it went on finding what the note no longer counts to it."""
    ingest_files(db, written(tmp_path, "Team.md", "---\ntitle: Team\ntags: [ops, Draft]\n---\nWe meet on Monday.\n"))
    (team,) = members(db)
    (said,) = (each for each in db.view().find(type=PARAGRAPH) if each.content.startswith("We"))
    db.label(team, "mine")
    ingest_files(db, written(tmp_path, "Team.md", left + "We meet on Monday.\n"))
    kept = ("ops",) if "ops" in left else ()
    held = [set(found.labels) for each in (team, said) if (found := db.view().get(each))]
    assert held == [{*kept, "mine"}, {*kept}], "what was put by hand stays"
    ingest_files(db, written(tmp_path, "Team.md", "---\ntitle: Team\ntags: [ops, draft]\n---\nWe meet on Monday.\n"))
    assert {each.ref for each in db.view().find(label=["draft", "ops"])} == {team.ref, said.ref}, "it came back"


@pytest.mark.parametrize(
    ("field", "labels", "properties"),
    [
        ("tags: one, two", ("one", "two"), {}),
        ("tags: one two", ("one", "two"), {}),
        ("tags:\n- one\n- two", ("one", "two"), {}),
        ("tags: [one", ("[one",), {}),
        (f"tags: []\nlong: [{'x' * 140_000}]", (), {"long": "x" * 140_000}),
        ("tag: one", ("one",), {}),
        ("tags:", (), {}),
        ("# a comment\nrating: 4.5", (), {"rating": 4.5}),
        ("done: true\nplace: 'Porto'", (), {"done": True, "place": "Porto"}),
        ("phone: 0049", (), {"phone": "0049"}),
        ("summary: >\n  two\n  lines", (), {"summary": [">", "two", "lines"]}),
    ],
)
def test_fields_are_read_as_they_are_commonly_written(
    field: str, labels: tuple[str, ...], properties: dict[str, object], db: Database, tmp_path: Path
) -> None:
    ingest_files(db, written(tmp_path, "a.md", f"---\ntitle: A\n{field}\n---\ntext\n"))
    (found,) = members(db)
    assert (found.labels, found.properties) == (labels, properties)


def test_a_link_leads_to_the_document_of_its_name(db: Database, tmp_path: Path) -> None:
    written(tmp_path, "a.md", "See [[Mara|her]], [[b#Result]], ![[x.png]] and [[a]].\n\nAnd [[M. L.]], [[mara]].\n")
    written(tmp_path, "b.md", "---\ntitle: Paper\n---\nBy [[Mara]] and [[Nobody]].\n")
    written(tmp_path, "m.md", "---\ntitle: Mara\naliases: [M. L.]\n---\nA researcher.\n")
    done = ingest_files(db, [tmp_path / name for name in ("a.md", "b.md", "m.md")])
    assert done.notes == {"linked": 5, "links_unknown": 2}, "Nobody and x.png"
    (mara,) = db.view().find(name="Mara")
    linked = [db.view().get(edge.source) for edge in db.view().edges(mara, type="refers_to")]
    assert sorted(each.content[:10] for each in linked if each) == [
        "And [[M. L",
        "By [[Mara]",
        "See [[Mara",
    ]
    assert {hit.content[:10] for hit in db.view().recall("what of Mara?", about="Mara", type=PARAGRAPH)} == {
        "And [[M. L",
        "By [[Mara]",
        "See [[Mara",
    }
    db.unlink(db.view().edges(mara, type="refers_to")[0])
    assert ingest_files(db, [tmp_path / name for name in ("a.md", "b.md", "m.md")]).events == 0
    written(tmp_path, "b.md", "---\ntitle: Paper\n---\nBy nobody.\n")
    ingest_files(db, tmp_path / "b.md")
    texts = {edge.source for edge in db.view().edges(mara, type="refers_to")}
    assert "By nobody." not in {world.content for ref in texts if (world := db.view().get(ref))}, "it left the text"
    written(tmp_path, "b.md", "---\ntitle: Paper\n---\nBy [[Mara]] after all.\n")
    assert ingest_files(db, tmp_path / "b.md").notes == {"linked": 1}
    written(tmp_path, "c.md", "Mail to [[Mara]].\n")
    assert ingest_files(db, tmp_path / "c.md").notes == {"linked": 1}, "she is there from before"


def test_a_link_leads_to_none_of_several_documents_and_into_nobodys_world(db: Database, tmp_path: Path) -> None:
    """It led to the last of an import that is called so, and from the root world to the note of a user."""
    bob = db.create("Scope", "user:bob", resolve=False).ref
    ingest_files(db, written(tmp_path, "Diary.md", "It rained.\n"), into=bob)
    for folder, text in (("", "Top [[Idea]].\n"), ("work", "---\naliases: [Idea]\n---\nOne\n"), ("home", "Two\n")):
        (tmp_path / "notes" / folder).mkdir(parents=True, exist_ok=True)
        written(tmp_path / "notes" / folder, "Plan.md", text)
        written(tmp_path / "notes" / folder, "Day.md", "Of the day\n") if folder else None
    written(tmp_path / "notes", "a.md", "[[Plan]] and [[work/Day]], but [[Day]], [[Diary]].\n")
    written(tmp_path / "notes", "Idea.md", "A thought.\n")
    done = ingest_files(db, tmp_path / "notes")
    edges = [edge for each in db.view().find(type=PARAGRAPH) for edge in db.view().edges(each.ref, type="refers_to")]
    leads = {edge.why: db.view().get(edge.target) for edge in edges}
    assert {why: each.source["file"] for why, each in leads.items() if each} == {
        "[[Plan]]": "Plan.md",
        "[[work/Day]]": "work/Day.md",
        "[[Idea]]": "Idea.md",
    }
    assert done.notes == {"linked": 3, "links_unknown": 2}, "Day and Diary"
    written(tmp_path, "own.md", "Of [[Diary]].\n")
    assert ingest_files(db, tmp_path / "own.md", into=bob).notes == {"linked": 1}


def saying(db: Database, text: str) -> World:
    """Return the paragraph of a text."""
    (found,) = (each for each in db.view().find(type=PARAGRAPH) if each.content == text)
    return found


@pytest.mark.parametrize("what", ["document", "paragraph"])
def test_what_is_erased_gets_nothing_from_a_later_import_and_does_not_stop_it(
    what: str, db: Database, tmp_path: Path
) -> None:
    """The import was refused, after parts of it were written, and wrote links that were in erased texts alone."""
    path = written(tmp_path, "a.md", "---\ntags: [one]\nyear: 2024\n---\nOf plums.\n")
    ingest_files(db, [path, written(tmp_path, "Other.md", "More.\n")])
    found = db.view().find(name="a")[0] if what == "document" else saying(db, "Of plums.")
    db.erase(found, reason="request 7", members=False)
    written(tmp_path, "a.md", "---\ntags: [one, two]\naliases: [b]\nyear: 2025\n---\nOf plums, [[Other]].\n")
    done = ingest_files(db, path)
    assert done.notes["not_restored"] == 1 and done.notes.get("linked", 0) == (what == "document")
    left = db.view().get(found.ref, include_superseded=True)
    assert left is not None and left.erased and "two" not in left.labels and not left.aliases and not left.properties
    ingest_files(db, path, restore_erased=True)
    again = db.view().get(found.ref)
    assert again is not None and "two" in again.labels
    assert what == "paragraph" or (again.aliases, again.properties) == (("b",), {"year": 2025})
    assert [edge.why for edge in db.view().edges(db.view().find(name="Other")[0], type="refers_to")] == ["[[Other]]"]


def test_a_document_that_was_retired_stays_so_and_does_not_stop_an_import(db: Database, tmp_path: Path) -> None:
    path = written(tmp_path, "a.md", "---\nyear: 2024\n---\nOf plums.\n")
    ingest_files(db, [path, written(tmp_path, "Other.md", "More.\n")])
    for each in (*db.view().find(name="a"), saying(db, "Of plums.")):
        db.retire(each)
    written(tmp_path, "a.md", "---\nyear: 2025\naliases: [b]\n---\nOf pears and [[Other]].\n\nNew, of [[Other]].\n")
    done = ingest_files(db, path)
    assert (done.notes["not_revived"], done.notes["linked"]) == (2, 1), "what is new is there"
    (edge,) = db.view().edges(db.view().find(name="Other")[0], type="refers_to")
    assert edge.source == saying(db, "New, of [[Other]].").ref


@pytest.mark.parametrize(
    ("field", "told"),
    [
        (f"tags: [{'y' * 300}]", "label has 300 bytes"),
        (f"tags: [{', '.join(f't{number}' for number in range(300))}]", "300 labels"),
        (f"aliases: [{'y' * 17_000}]", "aliases.0. has"),
        (f"aliases: [{', '.join(f't{number}' for number in range(300))}]", "300 aliases"),
        (f"long: {'z' * 300_000}", "properties"),
        ("title: a\tb", "name"),
    ],
)
def test_a_field_that_cannot_be_stored_is_told_with_its_file_before_anything_is_written(
    field: str, told: str, db: Database, tmp_path: Path
) -> None:
    """What came before its file was written already, and the error named neither file nor line."""
    (tmp_path / "notes").mkdir()
    written(tmp_path / "notes", "a.md", "text\n"), written(tmp_path / "notes", "b.md", f"---\n{field}\n---\ntext\n")
    before = db.head()
    with pytest.raises(MalformedFile, match=rf"b\.md.*{told}"):
        ingest_files(db, tmp_path / "notes")
    assert db.head() == before


def test_a_folder_is_imported_with_the_path_of_each_document(db: Database, tmp_path: Path) -> None:
    for name in ("2025", "2026", ".trash"):
        (tmp_path / name).mkdir()
        written(tmp_path / name, "index.md", f"Of {name}.\n")
    written(tmp_path, "2026-09-18.md", "A daily note.\n")
    written(tmp_path, "empty.md", " \n")
    written(tmp_path, "picture.png", b"\x89PNG\r\n\x1a\n\0")
    written(tmp_path, ".hidden.md", "Not this.\n")
    (tmp_path / "linked.md").symlink_to(tmp_path / ".hidden.md")
    done = ingest_files(db, tmp_path)
    assert (done.turns, done.notes) == (3, {"empty_files": 1})
    assert sorted((each.name, each.source["file"]) for each in members(db)) == [
        ("2026-09-18", "2026-09-18.md"),
        ("index", "2025/index.md"),
        ("index", "2026/index.md"),
    ]
    (day,) = db.view().find(name="2026-09-18")
    assert format_time(day.valid.start) == "2026-09-18T00:00:00Z", "a name that begins with a date dates the document"
    assert ingest_files(db, tmp_path).events == 0
    with pytest.raises(InputError, match="has no documents"):
        (tmp_path / "none").mkdir()
        ingest_files(db, tmp_path / "none")


def test_a_name_that_only_looks_like_a_date_is_none(db: Database, tmp_path: Path) -> None:
    """It refused the file, and with it the folder, and named line 1 as the place."""
    ingest_files(db, written(tmp_path, "2024-31-07 invoice.md", "Paid.\n"))
    (found,) = members(db)
    assert found.name == "2024-31-07 invoice" and found.valid.start == found.ingested_at


def test_a_folder_with_one_inside_that_cannot_be_read_is_refused(
    db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its notes were left out without a word, and those of the import before stayed as they were."""
    (tmp_path / "closed").mkdir()
    written(tmp_path, "a.md", "text\n"), written(tmp_path / "closed", "b.md", "more\n")
    scandir = os.scandir

    def refuse(path: str) -> Iterator[os.DirEntry[str]]:
        if str(path).endswith("closed"):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    head = db.head()
    with pytest.raises(InputError, match="closed cannot be read: Permission denied"):
        ingest_files(db, tmp_path)
    assert db.head() == head


def test_every_file_that_is_wrong_is_told_at_once(db: Database, tmp_path: Path) -> None:
    """Only the first was, so a folder of notes took as many calls as it has mistakes."""
    written(tmp_path, "a.md", "---\ndate: 31/02/2026\n---\ntext\n")
    written(tmp_path, "b.md", "fine\n")
    written(tmp_path, "c.md", b"one \xff\n")
    head = db.head()
    with pytest.raises(MalformedFile, match=r"2 of 3 files cannot be imported: .*a.md, line 2.*c.md, line 1") as e:
        ingest_files(db, tmp_path)
    assert [Path(file).name for file in e.value.details["files"]] == ["a.md", "c.md"] and db.head() == head


pieces = st.sampled_from(
    [
        "# A\n",
        "## B\n",
        "#### C\n",
        "B\n=\n",
        "word\n",
        "- item\n",
        "  - inner\n",
        "> q\n",
        "```\n",
        "\n",
        "---\n",
        "\t\n",
    ]
)


@examples(13)
@given(parts=st.lists(pieces, min_size=1, max_size=20))
def test_every_text_keeps_its_words_and_its_keys_are_distinct(
    parts: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = written(tmp_path_factory.mktemp("any"), "a.md", "".join(parts))
    for load in (markdown.load, documents.load):
        blocks = load(path).blocks
        keys = [(block.kind, block.key) for block in blocks]
        assert len(set(keys)) == len(keys)
        assert all(block.parent < place for place, block in enumerate(blocks))
        kept = "".join(block.name + block.content for block in blocks[1:])
        assert kept.count("word") == "".join(parts).count("word")
        assert all(block.kind != PARAGRAPH or block.content.strip() for block in blocks)


@given(parts=st.lists(pieces, min_size=1, max_size=20), more=st.lists(pieces, min_size=1, max_size=5))
def test_what_is_added_below_a_heading_of_its_own_changes_nothing_before_it(
    parts: list[str], more: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder, text = tmp_path_factory.mktemp("any"), "".join(each for each in parts if each not in ("```\n", "---\n"))
    before = markdown.load(written(folder, "a.md", text + "\n# New\n")).blocks
    after = markdown.load(written(folder, "a.md", text + "\n# New\n\n" + "".join(more))).blocks
    assert after[: len(before)] == before


def test_the_command_line_takes_documents_in_and_finds_in_them_by_their_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = LocalRunner(capsys, tmp_path / "memory")
    path = written(tmp_path, "Field notes.md", TITLED)
    first = run.json("ingest", path)
    assert (first["worlds"], first["turns"]) == (2, 2)
    (hit, *_) = run.json("recall", "herons", "--world", "field notes")["hits"]
    assert hit["content"] == "Two herons."
    assert [child["name"] or child["content"] for child in run.json("children", "Field notes")["children"]] == [
        "Two herons.",
        "Nests",
    ]
    assert run.json("ingest", path)["events"] == 0
    for what, can_be_named in ((path, True), (tmp_path, False)):
        written(tmp_path, "Field notes.md", TITLED.replace("Two herons", f"Herons {can_be_named}"))
        shown = run("ingest", what)
        assert "revised 1 text" in shown.out and ("--conversation" in shown.err + shown.out) is can_be_named
