"""Exports of chats are recognised, read with times, titles and speakers, and taken in once."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
import zstandard

import worlddb
from tests.support.running import LocalRunner
from worlddb.tools.importers import conversation, detect, ingest_files, input_files


def node(
    id: str, parent: str | None, role: str, *parts: object, at: float | None = None, **more: object
) -> dict[str, Any]:
    message = {
        "id": id,
        "author": {"role": role, "name": None, "metadata": {}},
        "create_time": at,
        "content": {"content_type": "text", "parts": [*parts]},
        "recipient": "all",
        "metadata": {},
        **more,
    }
    return {id: {"id": id, "parent": parent, "children": [], "message": message}}


def chatgpt(*, more: bool = False, title: str = "Trip to Porto") -> dict[str, Any]:
    """A chat with an edited question, a hidden system message, a call of a tool, its result and an image."""
    called = {"content_type": "code", "language": "python", "text": "1 + 1"}
    result = {"content_type": "execution_output", "text": "2"}
    image = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://f"}
    mapping = {
        "root": {"id": "root", "parent": None, "children": ["s"], "message": None},
        **node("s", "root", "system", "You are helpful."),
        **node("old", "s", "user", "Where is Lisbon?", at=1_700_000_000.25),
        **node("old-answer", "old", "assistant", "In Portugal.", at=1_700_000_001.0),
        **node("u", "s", "user", image, "Where is Porto?", at=1_700_000_010.5),
        **node("c", "u", "assistant", at=1_700_000_011.0, content=called, recipient="python"),
        **node("r", "c", "tool", at=1_700_000_012.0, content=result),
        **node("a", "r", "assistant", "In the north of Portugal.", at=1_700_000_013.0),
    }
    if more:
        mapping |= node("u2", "a", "user", "Thank you!", at=1_700_000_020.0)
    return {
        "title": title,
        "create_time": 1_700_000_000.0,
        "update_time": 1_700_000_100.0,
        "mapping": mapping,
        "current_node": "u2" if more else "a",
        "conversation_id": "chat-1",
    }


CLAUDE: dict[str, Any] = {
    "uuid": "c-1",
    "name": "Garden",
    "created_at": "2025-02-03T09:00:00.000000Z",
    "updated_at": "2025-02-03T09:10:00.000000Z",
    "account": {"uuid": "acc"},
    "chat_messages": [
        {
            "uuid": "m-1",
            "text": "When do I sow beans?",
            "content": [{"type": "text", "text": "When do I sow beans?", "citations": []}],
            "sender": "human",
            "created_at": "2025-02-03T09:00:01.500000Z",
            "attachments": [{"file_name": "plan.txt", "extracted_content": "rows"}],
            "files": [{"file_name": "plan.txt"}],
        },
        {"uuid": "m-2", "text": "In May.", "content": [], "sender": "assistant", "created_at": "2025-02-03T09:00:05Z"},
    ],
}
SHAREGPT = [
    {
        "id": "s-1",
        "conversations": [{"from": "human", "value": "Hi, I am Ana."}, {"from": "gpt", "value": "Hello, Ana."}],
    },
    {"id": "s-2", "conversations": [{"from": "system", "value": "Be brief."}, {"from": "human", "value": "Bye."}]},
]
TUNING = [
    {"messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "My dog is Rex."}]},
    {
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "What is new?"}]},
            {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "news", "arguments": "{}"}}]},
            {"role": "assistant", "content": None, "function_call": {"name": "old", "arguments": "{}"}},
            {"role": "tool", "tool_call_id": "1", "content": "Nothing."},
        ]
    },
]
TO_DICT = [
    {"type": "system", "data": {"content": "Be kind.", "type": "system"}},
    {"type": "human", "data": {"content": "I moved to Braga.", "type": "human", "id": "h-1", "name": "Ana"}},
    {
        "type": "ai",
        "data": {"content": "", "type": "ai", "tool_calls": [{"name": "map", "args": {"q": "Braga"}, "id": "t"}]},
    },
    {"type": "tool", "data": {"content": "41.5 N", "type": "tool", "name": "map", "tool_call_id": "t"}},
]
DUMPD = [
    {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", "schema", "messages", "HumanMessage"],
        "kwargs": {"content": "Hi"},
    },
    {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", "schema", "messages", "AIMessage"],
        "kwargs": {"content": [{"type": "text", "text": "Hello"}], "type": "ai", "id": "run-1"},
    },
]

SAID: dict[str, tuple[str, object, str, list[tuple[str, str, str]]]] = {
    "chatgpt": (
        "chatgpt",
        [chatgpt()],
        "ChatGPT",
        [
            ("Trip to Porto", "user", "[image]\nWhere is Porto?"),
            ("Trip to Porto", "assistant", "[calls python(1 + 1)]"),
            ("Trip to Porto", "tool", "2"),
            ("Trip to Porto", "assistant", "In the north of Portugal."),
        ],
    ),
    "claude": (
        "claude",
        [CLAUDE],
        "Claude",
        [("Garden", "user", "When do I sow beans?\n[file plan.txt]"), ("Garden", "assistant", "In May.")],
    ),
    "sharegpt": (
        "sharegpt",
        SHAREGPT,
        "given",
        [("s-1", "user", "Hi, I am Ana."), ("s-1", "assistant", "Hello, Ana."), ("s-2", "user", "Bye.")],
    ),
    "fine-tuning": (
        "messages",
        TUNING,
        "given",
        [
            ("0", "user", "My dog is Rex."),
            ("1", "user", "What is new?"),
            ("1", "assistant", "[calls news({})]"),
            ("1", "assistant", "[calls old({})]"),
            ("1", "tool", "Nothing."),
        ],
    ),
    "messages_to_dict": (
        "messages",
        TO_DICT,
        "given",
        [
            ("default", "Ana", "I moved to Braga."),
            ("default", "assistant", '[calls map({"q":"Braga"})]'),
            ("default", "tool", "41.5 N"),
        ],
    ),
    "dumpd": ("messages", DUMPD, "given", [("default", "user", "Hi"), ("default", "assistant", "Hello")]),
    "a saved chat": (
        "messages",
        [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}],
        "given",
        [("default", "user", "Hi"), ("default", "assistant", "Hello")],
    ),
}


def written(path: Path, records: object, *, lines: bool = False) -> Path:
    assert isinstance(records, list)
    path.write_text("\n".join(map(json.dumps, records)) if lines else json.dumps(records, indent=1), encoding="utf-8")
    return path


def said(source: Any) -> list[tuple[str, str, str]]:
    return [(part.title or part.session, each.speaker, each.text) for part in source.portions() for each in part.turns]


@pytest.mark.parametrize("lines", [False, True])
@pytest.mark.parametrize("kind", SAID)
def test_an_export_is_recognised_and_read(tmp_path: Path, kind: str, lines: bool) -> None:
    format, records, name, expected = SAID[kind]
    found, source = detect.load(written(tmp_path / "given.json", records, lines=lines))
    assert (found.name, source.conversations, said(source)) == (format, [name], expected)
    assert source.turns == len(expected)


def test_times_titles_and_speakers_are_kept_and_what_is_left_out_is_counted(tmp_path: Path) -> None:
    path = written(tmp_path / "conversations.json", [chatgpt()])
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        done = ingest_files(db, path)
        assert (done.turns, done.notes) == (4, {"other_branches": 2, "instructions": 1})
        view = db.view()
        (home,) = view.find(name="ChatGPT", type="Conversation")
        (chat,) = view.find(name="Trip to Porto", type="Session")
        assert [each.name for each in view.children(home) if each.type == "Entity"] == ["user", "assistant", "tool"]
        turns = [*view.children(chat)]
        assert turns[0].content == "user: [image]\nWhere is Porto?"
        assert [each.valid.start for each in turns][:2] == [1_700_000_010_500_000, 1_700_000_011_000_000]
        assert turns[0].source["message"] == "u" and turns[0].source["title"] == "Trip to Porto"
        assert turns[0].source["path"] == "$[0].mapping.u.message"
        assert not view.recall("Lisbon").hits[:1] or "Lisbon" not in view.recall("Lisbon").hits[0].content


def test_the_same_export_adds_nothing_and_a_newer_one_what_is_new(tmp_path: Path) -> None:
    """A turn was known by its position alone, so that a message before it changed all that follow."""
    path = tmp_path / "conversations.json"
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        ingest_files(db, written(path, [chatgpt()]))
        assert ingest_files(db, path).events == 0
        root = db.head().root
        newer = [
            {**chatgpt(), "conversation_id": "chat-0", "title": "Another"},
            chatgpt(more=True, title="Porto, renamed"),
        ]
        done = ingest_files(db, written(path, newer))
        view = db.view()
        (chat,) = view.find(name="Porto, renamed", type="Session")
        turns = [*view.children(chat)]
        assert turns[-1].content == "user: Thank you!" and [each.number for each in turns] == [1] * 5
        assert root != done.root and len(view.find(name="user", type="Entity")) == 1
        assert ingest_files(db, path).events == 0


@pytest.mark.parametrize("field", ["id", "thread_id", "session_id"])
def test_threads_in_another_order_are_the_same_threads(tmp_path: Path, field: str) -> None:
    """Threads were known by their place, and one revised another when the newest came first."""
    threads = [{field: f"th-{n}", "messages": [{"role": "user", "content": f"Thread {n}."}]} for n in range(3)]
    path = tmp_path / "threads.jsonl"
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        path.write_text("\n".join(map(json.dumps, threads[:2])))
        ingest_files(db, path)
        path.write_text("\n".join(map(json.dumps, reversed(threads))))
        done = ingest_files(db, path)
        assert done.revised == 0
        assert [each.name for each in db.view().find(type="Session")] == ["th-0", "th-1", "th-2"]


def test_an_edited_question_is_another_message_and_revises_none(tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    edited = chatgpt()
    edited["mapping"] |= node("u-new", "s", "user", "Where is Faro?", at=1_700_000_030.0)
    edited["current_node"] = "u-new"
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        ingest_files(db, written(path, [chatgpt()]))
        assert ingest_files(db, written(path, [edited])).revised == 0
        (chat,) = db.view().find(name="Trip to Porto", type="Session")
        assert [each.number for each in db.view().children(chat)] == [1] * 5


def test_a_claude_chat_with_branches_is_read_along_the_last(tmp_path: Path) -> None:
    first, answer = CLAUDE["chat_messages"]
    links = [
        {**first, "parent_message_uuid": "00000000-0000-4000-8000-000000000000"},
        {**answer, "parent_message_uuid": "m-1"},
        {**answer, "uuid": "m-3", "text": "In April.", "parent_message_uuid": "m-1"},
    ]
    source: Any = detect.load(written(tmp_path / "c.json", [{**CLAUDE, "chat_messages": links}]))[1]
    assert [text for *_, text in said(source)][1:] == ["In April."] and source.left_out == {"other_branches": 1}
    kept = {**CLAUDE, "chat_messages": links, "current_leaf_message_uuid": "m-2"}
    assert [text for *_, text in said(detect.load(written(tmp_path / "c.json", [kept]))[1])][1:] == ["In May."]


def zipped(path: Path, files: dict[str, object]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in files.items():
            file.writestr(name, content if isinstance(content, str) else json.dumps(content))
    return path


def test_a_zip_file_is_read_with_all_its_parts(tmp_path: Path) -> None:
    other = {**chatgpt(), "conversation_id": "chat-2", "title": "Other"}
    files: dict[str, object] = {
        "user.json": {},
        "x/conversations-000.json": [chatgpt()],
        "x/conversations-001.json": [other],
    }
    found, source = detect.load(zipped(tmp_path / "export.zip", {**files, "chat.html": "<p>"}))
    assert found.name == "chatgpt" and {title for title, *_ in said(source)} == {"Trip to Porto", "Other"}
    for content, why in (
        ({"user.json": {}}, "it has no conversations.json"),
        ({"conversations.json": "{}"}, "missing required field `text`"),
    ):
        with pytest.raises(worlddb.MalformedFile, match=why):
            detect.load(zipped(tmp_path / "export.zip", dict[str, object](content)))


def test_a_damaged_zip_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = zipped(tmp_path / "export.zip", {"conversations.json": [chatgpt()]})
    whole = path.read_bytes()
    for content in (whole[:200], whole[:-30], whole[:60] + b"\xff" * 20 + whole[80:], b"PK\x03\x04"):
        path.write_bytes(content)
        with pytest.raises(worlddb.MalformedFile, match="zip data") as raised:
            detect.load(path)
        assert raised.value.remedy
    buffer = io.BytesIO(whole)
    with zipfile.ZipFile(buffer, "a") as file:
        file.writestr("conversations-1.json", " " * (1 << 20))
    path.write_bytes(buffer.getvalue())
    monkeypatch.setattr(input_files, "MAX_WHOLE_BYTES", 1 << 16)
    with pytest.raises(worlddb.LimitExceeded, match="after decompression"):
        detect.load(path, "chatgpt")
    monkeypatch.setattr(input_files, "MAX_ZIP_LISTING_BYTES", 10)
    with pytest.raises(worlddb.MalformedFile, match="too many files"):
        detect.load(path)


def broken(change: str) -> object:
    chat = chatgpt()
    nodes = chat["mapping"]
    match change:
        case "circle":
            nodes["s"]["parent"] = "a"
        case "time":
            nodes["u"]["message"]["create_time"] = "yesterday"
        case "role":
            nodes["u"]["message"]["author"] = {"role": None}
        case "content":
            nodes["u"]["message"]["content"] = 5
        case "nul":
            nodes["u"]["message"]["content"]["parts"] = ["a\0b"]
        case "mapping":
            chat["mapping"] = []
        case "title":
            chat["title"] = {"a": 1}
        case "twice":
            return [chat, chat]
        case "other":
            return [chat, {"title": "no messages"}]
        case "number":
            return [chat, 5]
    return [chat]


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ("circle", r"\$\[0\]\.mapping`: its messages form a cycle"),
        ("time", r"record 0, at `\$\[0\]\.mapping\.u\.message`: the message\.create_time"),
        ("role", r"\$\[0\]\.mapping\.u\.message`: the message\.role"),
        ("content", r"\$\[0\]\.mapping\.u\.message`: the message\.content"),
        ("mapping", r"\$\[0\]\.mapping`: it is not an object of nodes"),
        ("title", r"\$\[0\]\.title"),
        ("twice", r"record 1, at `\$\[1\]`: the chat 'chat-1' occurs twice"),
        ("other", r"record 1.* no field 'mapping'"),
        ("number", r"record 1.* not a JSON object"),
    ],
)
def test_what_is_wrong_is_told_with_its_place_and_nothing_is_written(tmp_path: Path, change: str, place: str) -> None:
    path = written(tmp_path / "conversations.json", broken(change))
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        with pytest.raises(worlddb.MalformedFile, match=place):
            ingest_files(db, path, strict=True)
        assert not db.view().find(type="Turn")


@pytest.mark.parametrize("change", ["circle", "time", "content", "nul", "mapping", "title", "other", "number"])
def test_a_chat_that_cannot_be_read_is_left_out_and_named_and_the_others_are_imported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: str
) -> None:
    found = broken(change)
    assert isinstance(found, list)
    others = [{**chatgpt(title=f"Chat {at}"), "conversation_id": f"chat-{at}"} for at in (5, 6)]
    path = written(tmp_path / "conversations.json", [others[0], found[-1], others[1]])
    run = LocalRunner(capsys, tmp_path / "store")
    assert run("ingest", path, "--strict").error == "malformed_file" and not (tmp_path / "store").exists()
    told = run("ingest", path)
    assert told.code == 1, "what was left out is no success"
    assert "left out 1 chat of 3" in told.out and "record 1" in told.out and "8 turns" in told.out
    again = json.loads(run("--json", "ingest", path).out)
    assert (again["events"], again["chats"], len(again["broken"])) == (0, 2, 1)
    (left,) = again["broken"]
    assert (left["file"], left["record"]) == (str(path), 1) and left["path"].startswith("$[1]")
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        assert {each.name for each in db.view().find(type="Session")} == {"Chat 5", "Chat 6"}
        # A corrected export brings what was left out.
        path = written(path, [others[0], chatgpt(), others[1]])
        done = ingest_files(db, path)
        assert (done.chats, done.broken, done.commits) == (3, (), 1)


def test_a_chat_that_breaks_far_behind_its_beginning_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversation, "MAX_PORTION_TURNS", 1)
    late, sound = chatgpt(), {**chatgpt(title="Sound"), "conversation_id": "chat-2"}
    late["mapping"]["a"]["message"]["content"] = 5
    lost = {**chatgpt(), "conversation_id": "chat-1"}
    path = written(tmp_path / "conversations.json", [late, sound, lost])
    source = detect.load(path)[1]
    assert isinstance(source, conversation.RereadableSource)
    assert (source.turns, source.chats, [each.record for each in source.broken]) == (8, 2, [0])
    assert source.left_out == {"other_branches": 4, "instructions": 2}
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        assert ingest_files(db, path).turns == 8 and len(db.view().find(type="Turn")) == 8


def test_a_file_without_a_chat_that_can_be_read_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "conversations.json", [*broken("circle"), *broken("time")])  # type: ignore[misc]
    with worlddb.open(tmp_path / "store", embedder=None) as db, pytest.raises(worlddb.MalformedFile, match="record 0"):
        ingest_files(db, path)


def test_a_message_that_is_there_twice_is_refused_in_one_file_and_in_one_call(tmp_path: Path) -> None:
    twice = [{"role": "user", "content": "a", "id": "m"}, {"role": "user", "content": "b", "id": "m"}]
    with pytest.raises(worlddb.MalformedFile, match="record 0, at `\\$\\[1\\]`: the message 'm' occurs twice"):
        detect.load(written(tmp_path / "m.json", twice))
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        with pytest.raises(worlddb.InputError, match="2 turns of one session have the key 'm'"):
            db.ingest([{"text": "a", "key": "m"}, {"text": "b", "key": "m"}])
        with pytest.raises(worlddb.InputError, match="has no session"):
            db.ingest([{"text": "a"}], title="T")


def test_several_files_of_one_account_are_one_conversation_and_an_account_may_be_named(tmp_path: Path) -> None:
    other = {**chatgpt(), "conversation_id": "chat-2", "title": "Other"}
    files = [written(tmp_path / "a.json", [chatgpt()]), written(tmp_path / "b.json", [other])]
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        ingest_files(db, files)
        assert len(db.view().find(name="ChatGPT", type="Conversation")) == 1
        ingest_files(db, files[0], conversation="Ana's chats")
        assert len(db.view().find(name="Trip to Porto", type="Session")) == 2


@pytest.mark.parametrize(
    "content",
    [
        b'[{"mapping":{' + b",".join(b'"%06d":{}' % at for at in range(60_000)) + b"}}]",
        b'[{"role":"user","content":[' + b"[]," * 300_000 + b"[]]}]",
        b'[{"messages":[],"title":"' + b"a" * 70_000 + b'"}]',
    ],
)
def test_what_would_take_many_times_its_length_of_memory_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "given.json.zst"
    path.write_bytes(zstandard.compress(content))
    with pytest.raises(worlddb.InputError, match=r"50,000 messages|200,000 values|above 65,536") as raised:
        detect.load(path)
    assert str(path) in raised.value.message


def test_the_command_takes_an_account_and_says_what_it_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, path = (
        LocalRunner(capsys, tmp_path / "store"),
        zipped(tmp_path / "export.zip", {"conversations.json": [chatgpt()]}),
    )
    told = run("ingest", path).out
    assert "4 turns in 2 worlds" in told and "left out 2 messages of branches that were edited" in told
    again = run.json("ingest", path)
    assert (again["events"], again["notes"]) == (0, {"other_branches": 2, "instructions": 1})
    assert run.json("import", path)["turns"] == 4
    assert run("import", path, "--why", "asked").error == "usage"
    assert run("import", tmp_path / "missing").error == "input"
