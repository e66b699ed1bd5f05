"""Reads files whatever their compression; every damage gives an error with the file's name."""

from __future__ import annotations

import gzip
import lzma
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec
import pytest
import zstandard

from worlddb.log.model.errors import InputError, InvalidText, LimitExceeded, MalformedFile, WorldDBError
from worlddb.tools.cli.write import ingest_command
from worlddb.tools.importers import detect, input_files
from worlddb.tools.importers.detect import FORMATS, format_of

# Long and not repetitive, so that cutting the packed bytes anywhere cuts the content.
TEXT = b"".join(b"line %d of %d\n" % (n, n * n * 7919 % 10007) for n in range(10_000))

PACK: dict[str, Callable[[bytes], bytes]] = {
    ".xz": partial(lzma.compress, preset=0),
    ".gz": lambda data: gzip.compress(data, mtime=0),
    ".zst": zstandard.compress,
}
SUFFIXES = pytest.mark.parametrize("suffix", PACK)


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, bytes], Path]:
    def written(name: str, data: bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return written


@pytest.mark.parametrize("told", [msgspec.DecodeError("Invalid UTF-8 encoded string - at `$[0]`"), None])
def test_a_byte_that_is_not_utf_8_is_named_however_the_decoder_tells_of_it(told: Exception | None) -> None:
    def decode(given: bytes) -> str:
        if told is not None:
            raise told
        return given.decode()

    with pytest.raises(MalformedFile, match="the byte 0xe9 is not valid UTF-8"):
        input_files.decode_at(input_files.Place(Path("a.json")), decode, b"caf\xe9")


def test_a_plain_file_is_read_as_it_is(write):
    assert input_files.read_whole(write("a.jsonl", TEXT)) == TEXT


@SUFFIXES
def test_a_compressed_file_is_read_through(write, suffix):
    assert input_files.read_whole(write(f"a.json{suffix}", PACK[suffix](TEXT))) == TEXT


@SUFFIXES
def test_a_compressed_file_under_another_name_is_known_by_its_first_bytes(write, suffix):
    assert input_files.read_whole(write("a.json", PACK[suffix](TEXT))) == TEXT


@SUFFIXES
def test_several_compressed_pieces_in_a_row_are_one_file(write, suffix):
    pieces = PACK[suffix](TEXT) + PACK[suffix](b"") + PACK[suffix](b"the end")
    assert input_files.read_whole(write(f"a{suffix}", pieces)) == TEXT + b"the end"


@SUFFIXES
def test_a_stream_gives_lines(write, suffix):
    with input_files.open_decompressed(write(f"a{suffix}", PACK[suffix](TEXT))) as stream:
        assert sum(1 for _ in stream) == TEXT.count(b"\n")


@SUFFIXES
@pytest.mark.parametrize("kept", [0.1, 0.5, 0.999])
def test_a_file_that_is_cut_short_is_malformed_wherever_it_is_cut(write, suffix, kept):
    packed = PACK[suffix](TEXT)
    path = write(f"a{suffix}", packed[: int(len(packed) * kept)])
    with pytest.raises(MalformedFile, match="ends too early") as caught:
        input_files.read_whole(path)
    assert str(path) in str(caught.value)
    assert caught.value.details["file"] == str(path)


@SUFFIXES
def test_a_file_with_changed_bytes_is_malformed(write, suffix):
    packed = bytearray(PACK[suffix](TEXT))
    middle = len(packed) // 2
    packed[middle : middle + 40] = bytes(40)
    with pytest.raises(MalformedFile, match="damaged"):
        input_files.read_whole(write(f"a{suffix}", bytes(packed)))


@SUFFIXES
@pytest.mark.parametrize("content", [b"", b"{}\n"])
def test_a_name_that_promises_compression_over_other_bytes_is_malformed(write, suffix, content):
    with pytest.raises(MalformedFile, match="holds no"):
        input_files.read_whole(write(f"a{suffix}", content))


def test_what_cannot_be_read_is_an_input_error_that_names_the_path(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (
        tmp_path / "missing",
        tmp_path,
        tmp_path / "pipe",
        Path("nul\0byte"),
        tmp_path / ("x" * 300),
    ):
        with pytest.raises(InputError) as caught, input_files.open_decompressed(path):
            pass
        assert path.name in str(caught.value)


def test_of_a_directory_its_files_are_to_be_named_and_an_empty_file_is_to_be_left_out(tmp_path):
    with pytest.raises(InputError, match="notes is a directory") as folder:
        (tmp_path / "notes").mkdir()
        format_of(tmp_path / "notes")
    assert folder.value.remedy == f"Name the files in it, such as {tmp_path / 'notes' / '*.md'}"
    for content in (b"", b" \n"):
        (tmp_path / "empty.md").write_bytes(content)
        with pytest.raises(MalformedFile, match="it is empty") as empty:
            format_of(tmp_path / "empty.md")
        assert empty.value.remedy == "Leave it out"


def test_a_file_without_permission_is_an_input_error(write):
    path = write("a", b"x")
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read everything")
    with pytest.raises(InputError, match="ermission"):
        input_files.read_whole(path)


def test_files_read_whole_have_a_size_limit(write, monkeypatch):
    path = write("a.gz", gzip.compress(bytes(1001)))
    monkeypatch.setattr(input_files, "MAX_WHOLE_BYTES", 1001)
    assert len(input_files.read_whole(path)) == 1001
    monkeypatch.setattr(input_files, "MAX_WHOLE_BYTES", 1000)
    with pytest.raises(LimitExceeded):
        input_files.read_whole(path)


def test_an_error_of_the_caller_goes_through_untouched(write):
    with pytest.raises(ValueError, match="mine"), input_files.open_decompressed(write("a", b"x")):
        raise ValueError("mine")


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("chat.jsonl", "chat"),
        ("chat.jsonl.xz", "chat"),
        ("chat.v2.jsonl.zst", "chat.v2"),
        ("chat.gz", "chat"),
        ("chat", "chat"),
        (".xz", ".xz"),
    ],
)
def test_a_stem_is_the_name_without_the_suffixes_of_compression_and_format(name, stem):
    assert input_files.stem(Path("folder") / name) == stem


def test_a_name_that_is_no_unicode_has_a_typed_error():
    path = Path(os.fsdecode(b"missing\xff"))
    with pytest.raises(InvalidText):
        input_files.stem(path)
    with pytest.raises(WorldDBError) as caught:
        input_files.read_whole(path)
    str(caught.value).encode()


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b'{\n "letters": [],\n "title": "x"\n}', "JSON: an object with the fields 'letters', 'title'"),
        (b'[{"role": "user"}, 2]', "JSON: a list of 2, the first of them an object with the fields 'role'"),
        (b"[]", "JSON: a list of 0"),
        (b"[" * 500 + b"]" * 500, "JSON: a list of 1, the first of them a list"),
        (b"[" * 20_000 + b"]" * 20_000, "something like JSON that is nested too deeply"),
        (b"{\n}", "JSON: an object without fields"),
        (b'["a"]\n["b"]\n', "lines, the first one JSON: a list of 1, the first of them 'a', not an object"),
        (b"7", "JSON: 7, not an object"),
        (b'{"letters": ', "something like JSON that is not valid, beginning with '{\"letters\":'"),
        (b"\x00\x01\x02", "bytes that are not text"),
        (b"\xff\xfe\xfa" * 400, "bytes that are not text"),
        (b"Dear diary,\nhello", "text, beginning with 'Dear diary,'"),
    ],
)
def test_a_file_in_no_known_format_is_told_what_it_holds_and_which_formats_there_are(
    tmp_path: Path, content: bytes, told: str
) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    with pytest.raises(MalformedFile) as error:
        format_of(path, "auto")
    assert told in error.value.message
    assert all(f"{each.name} (" in (error.value.remedy or "") for each in FORMATS)


@pytest.mark.parametrize("begins", ["whole", "cut"])
def test_of_a_file_longer_than_what_is_looked_at_nothing_is_said_that_was_not_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begins: str
) -> None:
    """A valid file was called one that begins like JSON and is none, for its end had not been read."""
    path = tmp_path / "export.json"
    path.write_bytes(b'[\n  {"who": "user", "what": "%s"}\n]\n' % (b"x" * 5_000))
    monkeypatch.setattr(detect, "_HEAD_BYTES", path.stat().st_size - (begins == "cut"))
    with pytest.raises(MalformedFile) as error:
        format_of(path)
    assert "and is none" not in error.value.message
    told = "something like JSON, beginning with '['" if begins == "cut" else "JSON: a list of 1, the first of them an"
    assert told in error.value.message


def test_the_help_of_ingest_names_every_format() -> None:
    named = ingest_command._FORMATS.replace(" or ", ", ").split(", ")
    assert sorted(named) == sorted([detect.AUTO, *(each.name for each in FORMATS)])
