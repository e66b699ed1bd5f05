"""A damaged, foreign or vanished index folder never shows in an answer."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.projections.test_text_index_follower import Log, follower, seqs
from worlddb.projections.indexes import tail
from worlddb.projections.indexes.catchup import Status
from worlddb.projections.indexes.fields import NODE, Marker, TextDocument
from worlddb.projections.indexes.text_index import TextIndex, damaged_files, reset
from worlddb.projections.indexes.text_snapshot import IndexUnreadable, StartedSearch

DAYS = 40


@pytest.fixture(autouse=True)
def every_text_is_a_boundary(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tail, "STRETCH_DOCUMENTS", 1)


def make_log(path: Path) -> Log:
    """A log whose texts are in an index of two segments below ``path``."""
    log = Log()
    texts = follower(path, log)
    log.add(*[f"boston day {day}" for day in range(DAYS // 2)])
    texts.catch_up(log.head)
    log.add(*[f"boston day {day}" for day in range(DAYS // 2, DAYS)])
    texts.catch_up(log.head)
    return log


def index_folder(path: Path) -> Path:
    return path / "indexes" / "text"


def files_of(path: Path) -> list[Path]:
    """The files of one of the segments, and Tantivy's own lists."""
    files = sorted(file for file in index_folder(path).iterdir() if file.suffix != ".lock")
    segment = next(file.stem for file in files if file.suffix == ".idx")
    return [file for file in files if file.stem == segment or file.suffix == ".json" or file.name == "meta.json"]


def rewrite(file: Path, content: bytes | bytearray) -> None:
    """Replace a file: shortening one that a reader has mapped would kill its process."""
    file.unlink()
    file.write_bytes(content)


def flip(file: Path, at: int) -> None:
    stored = bytearray(file.read_bytes())
    stored[at] ^= 0x15
    rewrite(file, stored)


HARMS: dict[str, Callable[[Path], None]] = {
    "deleted": lambda file: file.unlink(),
    "cut short": lambda file: rewrite(file, file.read_bytes()[:-9]),
    "overwritten": lambda file: rewrite(file, b"\xa5" * file.stat().st_size),
}


@pytest.mark.parametrize("harm", HARMS)
def test_whatever_happens_to_a_file_reads_go_on_and_the_index_recovers(harm: str, tmp_path: Path) -> None:
    log = make_log(tmp_path / "whole")
    expected = list(range(1, DAYS + 1))
    for number in range(len(files_of(tmp_path / "whole"))):
        path = tmp_path / str(number)
        shutil.copytree(tmp_path / "whole", path)
        HARMS[harm](files_of(path)[number])
        assert TextIndex.open(index_folder(path)).count in (0, DAYS)
        texts = follower(path, log)
        assert sorted(seqs(texts, log, "boston")) == expected
        assert texts.catch_up(log.head)
        assert texts.status() == Status(DAYS, DAYS)
        assert sorted(seqs(follower(path, log), log, "boston")) == expected


class Forgetful:
    """Finds a document of which the index has lost the number of its node."""

    num_docs = 1

    def search(self, query: object, limit: int, *, count: bool) -> SimpleNamespace:
        return SimpleNamespace(hits=[(1.0, None)])

    def fast_field_values(self, field: str, addresses: list[None]) -> list[int | None]:
        return [None if field == NODE else 1 for _ in addresses]


def test_a_document_that_lost_what_it_is_of_is_damage_and_not_an_error_of_a_read() -> None:
    """A byte that changed in a file in use let a recall end in ``struct.error``."""
    searcher: Any = Forgetful()
    nothing: Any = None
    with pytest.raises(IndexUnreadable):
        StartedSearch(searcher, nothing, 1, None).result()


def test_a_flipped_bit_is_found_by_its_checksum(tmp_path: Path) -> None:
    make_log(tmp_path)
    folder = index_folder(tmp_path)
    assert damaged_files(folder) == []
    for file in files_of(tmp_path):
        if file.suffix == ".json":
            continue
        for at in (0, file.stat().st_size // 3):
            flip(file, at)
            assert file.name in damaged_files(folder)
            flip(file, at)
    assert damaged_files(folder) == []


def test_a_flipped_bit_anywhere_fails_no_read(tmp_path: Path) -> None:
    log = make_log(tmp_path / "whole")
    for number, whole in enumerate(files_of(tmp_path / "whole")):
        size = whole.stat().st_size
        for at in range(0, size, max(1, size // 4)):
            path = tmp_path / f"{whole.name}-{at}"  # One of its own: a writer may still be at work in the last.
            shutil.copytree(tmp_path / "whole", path)
            flip(files_of(path)[number], at)
            TextIndex.open(index_folder(path)).search("boston day 7", limit=50)
            assert seqs(follower(path, log), log, "boston day 7")


def test_rebuilding_mends_what_only_the_checksums_see(tmp_path: Path) -> None:
    log = make_log(tmp_path)
    postings = next(file for file in files_of(tmp_path) if file.suffix == ".idx")
    flip(postings, postings.stat().st_size // 3)
    texts = follower(tmp_path, log)
    assert texts.damaged_files() == [postings.name]
    texts.rebuild(log.head)
    assert texts.damaged_files() == []
    assert seqs(texts, log, "boston day 7")[0] == 8


@pytest.mark.parametrize("damage", ["a file", "an empty folder", "junk", "other fields", "another format"])
def test_a_foreign_folder_counts_as_empty_and_is_made_anew(
    damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = make_log(tmp_path / "whole")
    folder = index_folder(tmp_path)
    folder.parent.mkdir(parents=True)
    if damage == "a file":
        folder.write_text("not a folder")
    elif damage == "another format":
        with monkeypatch.context() as patch:
            patch.setattr("worlddb.projections.indexes.analysis.FORMAT", 999)
            follower(tmp_path, log).catch_up(log.head)
    else:
        folder.mkdir()
    if damage == "junk":
        (folder / "meta.json").write_text('{"segments": [], "schema": 3}')
    elif damage == "other fields":
        import tantivy

        builder = tantivy.SchemaBuilder()
        builder.add_text_field("body")
        tantivy.Index(builder.build(), path=str(folder))
    opened = TextIndex.open(folder)
    assert (opened.marker, opened.count, opened.search("boston", limit=3)) == (None, 0, [])
    texts = follower(tmp_path, log)
    assert sorted(seqs(texts, log, "boston")) == list(range(1, DAYS + 1))
    assert texts.catch_up(log.head)
    assert texts.status() == Status(DAYS, DAYS)


def test_opening_a_damaged_folder_changes_nothing_in_it(tmp_path: Path) -> None:
    make_log(tmp_path)
    folder = index_folder(tmp_path)
    (folder / "meta.json").write_text("{")
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    assert TextIndex.open(folder).search("boston", limit=3) == []
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before


@pytest.mark.parametrize("gone", ["indexes", "indexes/text"])
def test_a_folder_deleted_while_open_breaks_no_read(gone: str, tmp_path: Path) -> None:
    log = make_log(tmp_path)
    texts, other = follower(tmp_path, log), follower(tmp_path, log)
    expected = list(range(1, DAYS + 1))
    for each in (texts, other):
        assert sorted(seqs(each, log, "boston")) == expected
    shutil.rmtree(tmp_path / gone)
    for each in (texts, other):
        assert sorted(seqs(each, log, "boston")) == expected
    log.add("boston at last")
    assert other.catch_up(log.head)
    for each in (texts, other):
        assert sorted(seqs(each, log, "boston")) == [*expected, DAYS + 1]
        assert each.status() == Status(DAYS + 1, DAYS + 1)


def test_a_folder_deleted_in_the_middle_of_a_batch_breaks_no_read(tmp_path: Path) -> None:
    log = make_log(tmp_path)
    log.add(*["boston once more"] * 600)
    feed = log.feed

    def sabotaged(after: int, through: int) -> object:
        for number, document in enumerate(feed(after, through)):
            if number == 520:
                shutil.rmtree(tmp_path / "indexes", ignore_errors=True)
            yield document

    log.feed = sabotaged  # type: ignore[assignment, method-assign]
    texts = follower(tmp_path, log)
    assert len(seqs(texts, log, "boston")) == DAYS + 600
    log.feed = feed  # type: ignore[method-assign]
    texts = follower(tmp_path, log)
    assert len(seqs(texts, log, "boston")) == DAYS + 600
    assert texts.catch_up(log.head)
    assert texts.status() == Status(log.head, log.head)


def test_resetting_takes_along_what_a_process_makes_that_is_just_opening_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tantivy makes a lock file also to read, and a folder that is not empty stays: an erasure was not finished."""
    make_log(tmp_path)
    files = index_folder(tmp_path)
    rmdir = os.rmdir
    met: list[str] = []

    def beside_a_reader(path: str, *, dir_fd: int | None = None) -> None:
        if not met:
            met.append(path)
            (files / ".tantivy-meta.lock").touch()
        rmdir(path, dir_fd=dir_fd)

    monkeypatch.setattr("os.rmdir", beside_a_reader)
    reset(files)
    assert met and not files.exists()


def test_resetting_forgets_everything_and_may_be_repeated(tmp_path: Path) -> None:
    folder = tmp_path / "text"
    reset(folder)
    index = TextIndex.open(folder)
    index.apply([TextDocument(1, 1, 1, "", "boston")], Marker(b"store", 1, b""))
    reset(folder)
    reset(folder)
    assert not folder.exists()
    assert [hit.node for hit in index.search("boston", limit=3)] == [1]
    index.refresh()
    assert (index.search("boston", limit=3), index.marker, index.count) == ([], None, 0)
    assert damaged_files(folder) == []
