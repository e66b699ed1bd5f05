"""Messages speak of what the reader has: commands on the command line, tools over MCP."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from mcp.server.mcpserver.exceptions import ToolError

import worlddb
from tests.support.running import LocalRunner, small_store
from tests.support.tidy.tree import ROOT
from worlddb import DamagedStore, UnknownReference, WriterBusy
from worlddb.tools.agents import functions
from worlddb.tools.cli.base.output import _PHRASES, translate_remedy
from worlddb.tools.cli.main import COMMANDS
from worlddb.tools.mcp import mcp_wording
from worlddb.tools.mcp.catalogue import TOOLS
from worlddb.tools.mcp.server import MemoryServer
from worlddb.tools.mcp.session import Session

OF_THE_LIBRARY = re.compile(
    r"\b(db|view|tx|Query)\.\w+|\bworlddb\.\w+\(|\w+\(\)|\b[a-z]{2,}_?[a-z]*=|\bas str\b|\bwith find\b"
)
"""Calls and arguments of the library."""


OPTIONS = set(
    re.findall(r"--[a-z][a-z-]*", "".join(path.read_text("utf-8") for path in (ROOT / "tools/cli").rglob("*.py")))
)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LocalRunner:
    monkeypatch.chdir(tmp_path)
    small_store(tmp_path / "store")
    (tmp_path / "bad.json").write_text('{"a": 1}', encoding="utf-8")
    (tmp_path / "folder").mkdir()
    for name in ("latin.txt", "latin.md", "latin.json", "latin.jsonl"):
        (tmp_path / name).write_bytes(b'[{"role": "user", "content": "caf\xe9"}]')
    return LocalRunner(capsys, tmp_path / "store")


WRONG = """
    recal x | recall | recall x --wold y | recall x y --bookmark z | recall x --world Nope | recall x -k 0
    recall x --limit none | recall x --ingested 99 | recall x --lanes smell | recall x --confine Nope
    show Nope | show zz | show ffff | show a b | show Office --ingested 0 | history Nope | children Nope | hash Nope
    hash --ingested 0 | blame Nope | log --ref Nope | log --from 9 --to 2 | timeline Nope --out x.html
    timeline Office --out none/x.html | timeline Office --out folder --overwrite | timeline Office --out store/x.html
    timeline Office --out bad.json | prove Office --out none/x | prove Nope | prove --head none | prove --head bad.json
    export Nope --out x | export --out none/x | export --out bad.json | export --out
    export --format jsonl --out none/x
    import none | import bad.json | import bad.json --into Nope | keygen me --out none/k | keygen me --out bad.json
    cosign none --sign none | check-proof none --head none | check-proof bad.json --head bad.json | verify --head none
    verify --head bad.json | diff store none | diff none store | diff store bad.json | diff store store --html none/x
    diff store store --world Nope | accept ffff | reject Nope | undo zz | retire Nope
    remember caf\udce9 --user a | create Note caf\udce9 | remember x --user a --ttl 1e300
    remember x --user a --since 2026-10-01T10:00+25:00 | remember x --user a --since 2026-10-01T10:00[Europe/Berlin]
    ingest latin.txt | ingest latin.md | ingest latin.json | ingest latin.jsonl
    merge Office | merge Nope | fork Nope
    revise Nope --content x | reassert Nope | move Nope --to Office | link Nope supersedes Office
    link Office dislikes Sarah | link Office contains Office | unlink ffffffff | unlink Nope | erase Nope --reason x
    erase Office | erase Office --reason x | create | create Note x --world Nope | create Note x --source nope
    at | at 3 | at 3 create Note x | at 3 recall x --foo | at nope children | bookmark one --at 99
    replay --until 99 --into x | replay --until 3 --into store | replay --until 3 | rebuild nope | backup store
    backup bad.json | restore none --into x | restore folder --into x | reembed --to nope | embed --limit 0
    key add a | key add a --world Nope --read | key remove nobody | key frobnicate | tune | tune --fuzzy 2
    tune --world Nope --fuzzy 0.95 | untune --type Person | query --file none | query --file bad.json
    query --seed Nope | query --text x --order smell | query --text x --in-world Nope | check-receipt none
    check-recall none | check-recall bad.json --offline | check-recall bad.json --question x | prove-recall bad.json
    recall x --receipt bad.json | recall x --receipt none/x | recall x --keep-receipt | withdraw | withdraw Nope
    withdraw --since 2024-13-01 --plan | withdraw --of-author x --depth 99 | receipts Nope
    check-receipt bad.json | completion powershell | ingest none | ingest bad.json | ingest folder
    ingest bad.json --into Nope | ingest bad.json --format nope | mcp --world Nope | mcp --http nowhere:x | mcp --http
    mcp --rate 5 | mcp --http 0 --no-keys --world Nope | types --world Nope | tunings --world Nope
    alias Nope --add x | doctor --what | stats --what | snapshot --at 99 | recluster --limit 0
"""
MISTAKES = [line.strip() for row in WRONG.strip().splitlines() for line in row.split("|")]


def complaints(run: LocalRunner, mistake: str) -> Iterator[str]:
    """What is wrong with how a mistake is answered."""
    ended = run(*mistake.split())
    if ended.code == 0:
        yield "it is no mistake"
        return
    first, _, remedy = ended.err.partition("\n")
    if not first.startswith("error["):
        yield "it has no code"
    if not remedy.strip():
        yield "nothing is said of what to do"
    if OF_THE_LIBRARY.search(ended.err):
        yield "it speaks of the library"
    if "unfinished" in ended.err or "Errno" in ended.err:
        yield "it shows how the work is done inside"
    known = {command.name for command in COMMANDS}
    yield from (
        f"there is no command {name}" for name in re.findall(r"`worlddb ([a-z][a-z-]*)", ended.err) if name not in known
    )
    yield from (
        f"there is no option {name}" for name in re.findall(r"(?<![\w-])--[a-z][a-z-]*", remedy) if name not in OPTIONS
    )


def test_a_mistake_at_the_command_line_is_told_in_commands_and_changes_nothing(run: LocalRunner) -> None:
    head = run.json("head")
    found = [
        (mistake, complaint, run(*mistake.split()).err)
        for mistake in MISTAKES
        for complaint in complaints(run, mistake)
    ]
    assert not found, "\n\n".join("\n".join(each) for each in found)
    assert run.json("head") == head
    assert len(MISTAKES) > 100


@pytest.mark.parametrize("ending", ["txt", "md", "json", "jsonl"])
def test_a_file_that_is_not_utf_8_is_named_with_the_byte(run: LocalRunner, ending: str) -> None:
    told = run("ingest", f"latin.{ending}").err
    assert f"latin.{ending}" in told and "0xe9" in told and "Save the file as UTF-8" in told


def test_standard_input_that_is_not_utf_8_is_named_with_the_byte(
    run: LocalRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"caf\xe9"), "utf-8", "surrogateescape"))
    told = run("remember", "-", "--user", "a").err
    assert "the byte 0xe9, which is not UTF-8" in told and "`iconv" in told and "errors=" not in told


def test_what_the_command_line_says_otherwise_is_what_the_engine_says() -> None:
    rooms = ("log", "projections", "reconciler", "query", "worlddb")
    source = "".join(path.read_text("utf-8") for room in rooms for path in sorted((ROOT / room).rglob("*.py")))
    source = re.sub(r'"\s*\n\s*f?"', "", source)
    assert [said for said, _ in _PHRASES if said not in source] == []


def test_calls_and_arguments_become_commands_and_options() -> None:
    assert (
        translate_remedy("Prove the member: prove('ab12', world='cd34')")
        == "Prove the member: `worlddb prove ab12 --world cd34`"
    )
    assert translate_remedy("ask a view of that instant with valid=") == "ask a view of that instant with --valid"
    assert translate_remedy("Give during=, valid_from= or move=True.") == "Give --during, --valid-from or --move."
    for kept in ("https://x.y/?a=b", "`a=True`", "Give 1 to 9", "key a=b", "x == y"):
        assert translate_remedy(kept) == kept


# -- over MCP

TIMES = ("yesterday", "9999-99-99", "2020", "x")
CALLS: list[tuple[str, dict[str, Any]]] = [
    *(("memory_write", {"user_id": "a"} | given) for given in ({}, {"text": 7}, {"text": ""}, {"text": "x" * 100_001})),
    *(("memory_write", {"text": "x"} | given) for given in ({}, {"user_id": ""}, {"user_id": ["a"]}, {"person": "a"})),
    *(("memory_write", {"text": "x", "user_id": "a", "valid_from": time}) for time in TIMES),
    *(("memory_write", {"text": "x", "user_id": "a", "type": name}) for name in ("", "Scope")),
    ("memory_write", {"text": "something else", "user_id": "ada", "idempotency_key": "k"}),
    ("memory_write", {"text": "x", "user_id": " a"}),
    *(("memory_write", {"text": "x", "user_id": "a", "about": names}) for names in (" ", [" "], ["x"] * 11)),
    *(
        ("memory_write", {"text": "x", "user_id": "a", kind: ids})
        for kind in ("derived_from", "contradicts")
        for ids in (["ffff"], ["zz"], "ffff")
    ),
    *((name, {"id": ref}) for name in ("memory_read", "memory_history") for ref in ("zz", "Ada", "ffff", "f" * 32, 5)),
    ("memory_read", {"id": "SCOPE"}),
    ("memory_read", {"id": "ID", "offset": -1}),
    *(
        ("memory_recall", {"query": "x"} | given)
        for given in ({"limit": 0}, {"cursor": "x"}, {"group": 0}, {"user": "a"})
    ),
    ("memory_recall", {}),
    ("memory_as_of", {"query": "x"}),
    ("memory_as_of", {"valid": "2020-01-01"}),
    *(("memory_as_of", {"query": "x", "known": known}) for known in (99, -1, 1.5, "nope")),
    *(("memory_as_of", {"query": "x", "valid": time}) for time in TIMES),
    ("memory_as_of", {"id": "ID", "known": 1}),
    *(("memory_amend", {"id": ref, "text": "x"}) for ref in ("zz", "ffff", "SCOPE")),
    *(("memory_retire", {"id": ref}) for ref in ("zz", "ffff", "SCOPE")),
    ("memory_retire", {"id": "ID", "at": "noon"}),
    *(
        ("memory_retire_all", given)
        for given in ({"kind": "planet", "scope_id": "x"}, {"kind": "user", "scope_id": "x"})
    ),
    ("memory_retire_scope", {"kind": "user", "scope_id": "ada"}),
    ("memory_retire_scope", {"kind": "user", "scope_id": "ada", "confirm": "yes"}),
    ("memory_list_scopes", {"kind": "planet"}),
    ("memory_proposals", {"status": "open"}),
    *(("memory_decide", {"proposal": ref, "decision": "accept"}) for ref in ("zz", "ffff")),
    *(("memory_decide", {"proposal": "PROPOSAL", "decision": word}) for word in ("maybe", "undo")),
    ("memory_conflicts", {"id": "nope"}),
    ("memory_verify", {"deep": "yes"}),
    ("memory_list", {"limit": "ten"}),
]


@pytest.mark.parametrize("confined", [False, True])
def test_a_mistake_over_mcp_is_told_in_tools_and_arguments_and_changes_nothing(tmp_path: Path, confined: bool) -> None:
    names = {tool.name for tool in TOOLS}

    async def work(db: worlddb.Database, server: MemoryServer) -> None:
        async def make(text: str, **more: str) -> Any:
            made = await server.call_tool("memory_write", {"text": text, "user_id": "ada"} | more)
            return made.structured_content

        known = {"ID": (await make("Ada likes tea.", idempotency_key="k"))["id"]}
        await make("one", name="Sarah Chen", type="Entity")
        known["PROPOSAL"] = (await make("two", name="sarah chen", type="Entity"))["proposals"][0]
        scopes = (await server.call_tool("memory_list_scopes", {})).structured_content
        assert scopes is not None
        known["SCOPE"] = scopes["scopes"][0]["id"]
        head = db.head()
        for name, given in CALLS:
            arguments = {
                key: known.get(value, value) if isinstance(value, str) else value for key, value in given.items()
            }
            with pytest.raises(ToolError) as failed:
                await server.call_tool(name, arguments)
            said = str(failed.value)
            code, _, told = said.partition(": ")
            assert code.isidentifier() and ". " in told, said
            assert not OF_THE_LIBRARY.search(told.replace("status=all", "").replace("confirm=", "")), said
            assert "`worlddb" not in said and "regex" not in said and "isoformat" not in said.partition("'")[0], said
            assert {*re.findall(r"memory_[a-z_]+", said)} <= names, said
        assert db.head() == head

    with worlddb.open(tmp_path / "store", embedder=None) as db:
        world = db.create("Topic", "mine").ref if confined else None
        anyio.run(work, db, MemoryServer(Session(db, world)))


def test_an_argument_that_is_misspelled_and_a_tool_that_is_not_there_are_guessed() -> None:
    for name, given, meant in (
        ("memory_recall", "user", "user_id"),
        ("memory_write", "idempotency", "idempotency_key"),
        ("memory_write", "since", "valid_from"),
        ("memory_write", "until", "valid_to"),
        ("memory_recall", "k", "limit"),
    ):
        (tool,) = (tool for tool in TOOLS if tool.name == name)
        with pytest.raises(msgspec.ValidationError) as failed:
            msgspec.convert({"query" if name == "memory_recall" else "text": "x", given: "x"}, tool.takes)
        if given in str(failed.value):
            assert f"Did you mean {meant}?" in mcp_wording.explain_invalid(failed.value, tool.input_schema)
    names = [tool.name for tool in TOOLS]
    assert "recal. Did you mean memory_recall? There are" in mcp_wording.explain_unknown("tool", "memory_recal", names)
    told = mcp_wording.explain_unknown("tool", "memory_erase", names)
    assert "Did you mean" not in told and all(name in told for name in names)


def test_what_a_model_cannot_mend_is_said_to_be_for_others() -> None:
    busy = WriterBusy("Another writer", "Try again")
    damaged = DamagedStore("Commit 7 is not what was written", "Run `worlddb verify`")
    assert mcp_wording.explain_error(busy).endswith("For the operator of this memory: Try again")
    assert "For the operator of this memory: Run `worlddb verify`" in mcp_wording.explain_error(damaged)
    assert mcp_wording.explain_error(
        UnknownReference("No world has the reference abcd", "Look it up by name with find")
    ).endswith("memory_recall and memory_list")


def test_the_functions_for_agents_name_functions(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        for name, given in (
            ("forget", {"id": "ffff"}),
            ("remember", {"text": "x", "since": "soon"}),
            ("remember", {"text": "x", "replaces": "ffff"}),
            ("recall", {"query": "x", "at": "noon"}),
            ("recall", {}),
        ):
            told = msgspec.json.decode(functions.call(db, name, given))["error"]
            assert told["remedy"] and not OF_THE_LIBRARY.search(told["remedy"]), told
            assert "find" not in told["remedy"] and "datetime" not in told["remedy"]
