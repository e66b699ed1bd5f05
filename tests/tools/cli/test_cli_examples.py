"""Runs every example in the help of every command as it is printed."""

from __future__ import annotations

import io
import json
import lzma
import os
import shlex
import shutil
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import worlddb
from tests.support.faults import forge
from tests.support.running import DAY
from tests.tools.importers.test_importers_locomo import record
from worlddb import ManualClock
from worlddb.reconciler.diagnostics import installation
from worlddb.tools.cli.main import COMMANDS, main

NOT_RUN = {
    "demo": "it is run by tests/tools/test_demo.py",
    "serve": "it listens until it is ended, and is run by the tests of its own",
    "mcp": "it speaks a protocol until its pipe is closed, and is run by the tests of its own",
}
NEED_A_SERVER = ("endpoint:",)
"""Examples with one of these in them ask a server of embeddings, and are left out."""
STORE = "worlddb-store"
ENDS = {
    "diff memory suspect --deep --html report.html": 1,
    "diff memory --at-a 12": 1,
    "diff memory copy --world 'The new job'": 1,
    "diff mine theirs --by path": 1,
    # The store has vectors by the default model already.
    "embed --embedder minilm": 2,
    # The first commits made what there is.
    "undo --commit 5 --why wrong": 3,
    # Nobody is there to confirm it.
    "erase 'Tom Okafor' --reason 'request 114' --turns": 2,
}
"""How an example ends that does not end with 0."""
MADE_ANEW = {
    "restore": ("memory",),
    "prove": ("tea.proof",),
    "recall": ("tea.recall",),
    "prove-recall": ("tea.proofs",),
    "keygen": ("ada.key",),
    "export": ("team.bundle.zst",),
    "replay": ("then", "what-if"),
}
"""What an example wants to make, and an earlier one, or the folder, has already."""
ELSEWHERE = {
    "create": (),
    **dict.fromkeys(("accounts", "keys", "plans"), (STORE,)),
    "fork": (STORE,),
    "merge": (STORE,),
    "check-recall": (STORE,),
    "restore": ("backups", "old"),
    "diff": ("memory", "copy-of-memory", "copy", "suspect", "mine", "theirs"),
}
"""Commands whose examples run where only some things are, as no other example has left them."""
TALK = (
    {
        "speaker": "Ann Lee",
        "text": "I live in Lisbon now, near the boats.",
        "at": "2024-05-01T10:00:00Z",
        "session": "one",
    },
    {"speaker": "Rosa Diaz", "text": "I paid the deposit.", "at": "2024-05-02T10:00:00Z", "session": "one"},
)


class Workshop:
    """The folder, and the references that stand for those in the examples."""

    def __init__(self, folder: Path) -> None:
        self.kit = folder / "kit"
        self.bench = folder / "bench"
        self.kit.mkdir()
        self.bench.mkdir()
        self.refs: dict[str, str] = {}
        self.made: dict[str, str] = {}
        self._store(self.bench / STORE)
        self._files()
        self._stores()
        self.untouched = Path(shutil.copytree(self.bench, folder / "untouched"))

    def _store(self, place: Path) -> None:
        clock = ManualClock(worlddb.parse_time("2025-01-01"))
        with worlddb.open(place, author="agent-9", clock=clock) as db:
            made = self.made
            for type_, name in (
                *(("Topic", "Search team"), ("Entity", "Sarah Chen"), ("Entity", "S. Chen"), ("Fact", "Office")),
                *(("Topic", "The new job"), ("Entity", "Mara"), ("Entity", "Jon Okafor"), ("Entity", "Tom Okafor")),
                *(("Topic", "Spring in Lisbon"), ("Topic", "On call"), ("Topic", "Archive"), ("Topic", "Shelf")),
            ):
                clock.advance(DAY)
                made[name] = db.create(type_, name, content=f"{name}, in a few words", valid_from="2024-01-01").ref
            made["tea"] = db.create("Note", "On tea", content="Green tea at 80 degrees.", world=made["Shelf"]).ref
            db.create("Fact", "", content="The tea is too hot.", world=db.create("Scope", "user:ana"))
            db.create("Scope", "user:bo")
            facts = [db.create("Fact", f"lease {number}", content=f"lease {number}").ref for number in range(7)]
            edge = db.link(facts[0], "refers_to", made["Office"]).ref
            db.link(facts[3], "refers_to", made["Office"])
            twins = [db.create("Entity", name) for name in ("Ann", "Ann", "Ben", "Ben", "Cleo", "Cleo")]
            pairs = [twin.proposals[0] for twin in twins[1::2]]
            # An example may be run by itself, so that none may stand on what another one has done.
            db.retire(facts[4])
            db.accept(pairs[2])
            for number in range(30):
                clock.advance(10 * DAY)
                db.revise(made["Sarah Chen"], content=f"role {number}", valid_from=f"2025-01-{1 + number:02d}")
            self.head = db.head().seq
        self.refs = {
            **dict.fromkeys(("show", "history", "children", "blame", "log", "prove", "tag"), made["Sarah Chen"]),
            "fork": made["Search team"],
            **{"retire": facts[1], "reassert": facts[4], "link": facts[2], "unlink": edge, "erase": facts[0]},
            **dict.fromkeys(("believe", "expand", "contract", "rollback"), facts[6]),
            **{"path": facts[3], **dict.fromkeys(("impact", "provenance", "artifact"), facts[2])},
            **dict.fromkeys(("expire", "refresh", "label", "pin", "deprecate"), facts[5]),
            **{"accept": pairs[0], "reject": pairs[1], "undo": pairs[2], "77ab01cd": facts[3]},
        }

    def _files(self) -> None:
        lines = "".join(json.dumps(turn) + "\n" for turn in TALK)
        (self.bench / "march").mkdir()
        for name in ("talks.jsonl", "march/talks.jsonl"):
            (self.bench / name).write_text(lines)
        chats = [{"uuid": "c", "chat_messages": [{"uuid": "m", "sender": "human", "text": "Herons?"}]}]
        with zipfile.ZipFile(self.bench / "claude-export.zip", "w") as file:
            file.writestr("conversations.json", json.dumps(chats))
        (self.bench / "cafes.ttl").write_text("<https://a.example/luna> <https://a.example/serves> 'tea', 'cake' .\n")
        (self.bench / "notes.md").write_text("# Herons\n\nThey stand still.\n")
        (self.bench / "vault").mkdir()
        (self.bench / "vault" / "herons.md").write_text(
            "---\ntags: [birds]\n---\n\nThey stand still in the [[pond]].\n"
        )
        (self.bench / "locomo10.json.xz").write_bytes(lzma.compress(json.dumps([record()]).encode()))
        keys = {name: worlddb.new_key(f"example.com/{name}") for name in ("ada", "audit", "witness")}
        for name, pair in keys.items():
            (self.kit / f"{name}.key").write_text(pair.signing + "\n")
            (self.kit / f"{name}.pub").write_text(pair.verifier + "\n")
        signers = [pair.signing for pair in keys.values()]
        with worlddb.open(self.bench / STORE) as db:
            for name, seq in (("monday", self.head - 10), ("friday", self.head - 2), ("now", self.head)):
                (self.kit / f"{name}.head").write_text(db.checkpoint(seq=seq, sign_with=signers))
            proof = db.prove_consistency(self.head - 10, self.head - 2)
            for name in ("week.proof", "grown.proof"):
                (self.kit / name).write_text(proof)
            head = (self.kit / "monday.head").read_text()
            (self.kit / "tea.proof").write_text(
                db.prove(self.made["tea"], world=self.made["Shelf"], seq=self.head - 10, head=head)
            )
            asked = db.view(seq=self.head - 10).recall("what is said of tea?", exact=True, receipt=True)
            assert asked.receipt is not None
            receipt = worlddb.recall_receipt_text(asked.receipt)
            (self.kit / "tea.recall").write_text(receipt)
            (self.kit / "tea.proofs").write_text(db.prove_recall(receipt))
            for name in ("team.bundle", "team.bundle.zst"):
                db.export(self.made["Search team"], self.kit / name, seq=self.head)
            db.backup(self.bench / "backups" / "memory")

    def _stores(self) -> None:
        for name in ("memory", "copy-of-memory", "copy", "suspect", "mine", "theirs", "old"):
            shutil.copytree(self.bench / STORE, self.bench / name)
        with worlddb.open(self.bench / "old") as db:
            db.bookmark("before the move", seq=12)
        with worlddb.open(self.bench / "copy") as db:
            db.revise(self.made["The new job"], content="changed")
        with worlddb.open(self.bench / "theirs") as db:
            db.create("Note", "only theirs")
        texts = (pair for pair in forge.pairs(self.bench / "suspect") if pair[0][0] == forge.BLOBS)
        key, value = next(pair for pair in texts if b"Green tea" in pair[1])
        forge.rewrite(self.bench / "suspect", [(key, value.replace(b"Green", b"Black"))])

    def words(self, command: str, line: str) -> list[str]:
        """An example with references of this store in it."""
        placed = line.replace("77ab01cd", self.refs["77ab01cd"])
        return shlex.split(placed.replace("3fa9c2d1", self.refs.get(command, "3fa9c2d1")))

    def prepared(self, command: str) -> None:
        """Lay out the kit in the working folder, and make room."""
        for path in self.kit.iterdir():
            shutil.copyfile(path, path.name)
        for name in MADE_ANEW.get(command, ()):
            shutil.rmtree(name, ignore_errors=True)
            Path(name).unlink(missing_ok=True)


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    return Workshop(tmp_path_factory.mktemp("workshop"))


@pytest.fixture
def bench(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workshop]:
    monkeypatch.chdir(workshop.bench)
    monkeypatch.delenv("WORLDDB_STORE", raising=False)
    monkeypatch.setattr(installation, "CHECKS", installation.CHECKS[:2])
    # The stronger model is an extra; what the examples do is the same with any other one.
    letters = worlddb.CallableEmbedder(lambda texts: [[text.count(each) for each in "abcd"] for text in texts], "abc")
    monkeypatch.setattr("worlddb.reconciler.embedding.models.minilm_embedder", lambda: letters)
    yield workshop


def run(words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """Run one command line as a shell does, with its redirection; `log --follow` ends at once."""
    words, into = (words[:-2], words[-1]) if ">" in words else (words, None)
    if "--follow" in words:
        words = [*words, "--patience", "0"]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(TALK[0]).encode() + b"\n")))
    capsys.readouterr()
    code = main(words)
    shown = capsys.readouterr()
    if into is not None and not into.startswith("~"):
        Path(into).write_text(shown.out, "utf-8")
    return code, shown.out, shown.err


@pytest.mark.parametrize("command", [each for each in COMMANDS if each.name not in NOT_RUN], ids=lambda each: each.name)
def test_the_examples_of_a_command_do_what_they_say_and_print_json_if_asked(
    command, bench: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if command.name in ELSEWHERE:
        for name in ELSEWHERE[command.name]:
            shutil.copytree(bench.untouched / name, tmp_path / name)
        monkeypatch.chdir(tmp_path)
    if command.name == "merge":
        assert run(["fork", "Search team", "--name", "Search team, what if"], monkeypatch, capsys)[0] == 0
    if command.name == "accounts":
        assert run(["plans", "set", "free"], monkeypatch, capsys)[0] == 0
    if command.name == "at":
        monkeypatch.setenv("WORLDDB_STORE", "old")
    for line, _ in command.examples:
        if any(each in line for each in NEED_A_SERVER):
            continue
        bench.prepared(command.name)
        words = bench.words(command.name, line)
        redirected = ">" in words
        code, out, err = run(words if redirected or "--json" in words else [*words, "--json"], monkeypatch, capsys)
        known = shlex.join(shlex.split(line))
        assert code == ENDS.get(known, 0), f"worlddb {line} ended with {code}: {err}{out}"
        if not redirected:
            documents = [json.loads(text) for text in (out.splitlines() if _is_lines(out) else [out])]
            assert documents or command.name == "log", line


def _is_lines(out: str) -> bool:
    return not out.strip() or all(text.startswith("{") and text.endswith("}") for text in out.splitlines())


def test_every_end_that_is_expected_belongs_to_an_example() -> None:
    shown = {shlex.join(shlex.split(line)) for command in COMMANDS for line, _ in command.examples}
    assert ENDS.keys() <= shown and NOT_RUN.keys() <= {command.name for command in COMMANDS}
    assert os.sep not in STORE
