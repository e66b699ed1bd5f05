"""The second half of the story: deriving everything again, going back, and finding out who changed what."""

from __future__ import annotations

import shutil
from pathlib import Path

import worlddb
from worlddb import Change
from worlddb.tools.demo.stage import Section, Shown, Stage, agreed, committed, short

SAID = "The deposit is 1,450 euros"
FORGED = "The deposit is 1,950 euros"


def everything_is_derived_again(stage: Stage) -> Section:
    with stage.open() as db:
        before = db.head()
    shutil.rmtree(stage.memory / "indexes")
    with stage.open() as db:
        made = db.rebuild()
        answer = stage.ask(db.view(), "where does Mara live?")
    same = made.root == before.root
    lines = [
        Shown(f"The index folder is deleted, and {' and '.join(made.rebuilt)} are rebuilt from the log alone."),
        agreed("the root", same, "the same", "another", f"after {made.seconds:.2f} s: {made.root[:12]}"),
        Shown("recall 'where does Mara live?'", answer.content if answer else "nothing"),
    ]
    result = {"root": made.root, "same": same, "answer": answer and answer.content}
    return Section("Everything but the log can be thrown away", lines, result, same)


def an_earlier_moment_comes_back(stage: Stage) -> Section:
    """The store as it was before the date was corrected, made from the log."""
    with stage.open() as db:
        made = db.replay(stage.then, seq=stage.date_corrected - 1)
        recorded = db.view(seq=made.seq).hash()
    with worlddb.open(stage.then, create=False) as then:
        believed = stage.ask(then.view(), "when is the appointment at the clinic?")
    same = made.matches_recorded and made.root == recorded
    lines = [
        Shown(f"replay up to commit {made.seq}, before the date was corrected, into another directory"),
        agreed("its root", same, "the one that was recorded then", "another", made.root[:12]),
        Shown("asked there", believed.content if believed else "nothing"),
    ]
    result = {"seq": made.seq, "root": made.root, "recorded": recorded, "same": same}
    return Section("Any moment can be replayed", lines, result, same)


def a_change_is_traced(stage: Stage) -> Section:
    """Somebody with write access changes one turn in a copy; a copy is a directory."""
    shutil.copytree(stage.memory, stage.altered)
    with worlddb.open(stage.altered, author="mallory", create=False) as db:
        turn = stage.turn(db.view(), "the deposit")
        committed(db.revise(turn, content=turn.content.replace(SAID, FORGED), why="a typing error"))
    found = worlddb.diff(stage.memory, stage.altered)
    leaf = found.worlds[-1]
    event = next(event for event in leaf.events if event["event"] == "revised")
    lines = [
        Shown("In a copy, mallory makes the deposit of 1,450 euros one of 1,950. diff compares the two by their "
              f"hashes, from the root down, and looks into {found.worlds_visited} worlds:"),
        *(Shown("  " * depth + _called(change), change.change, f"{change.a[:8]} became {change.b[:8]}")
          for depth, change in enumerate(found.worlds)),
        Shown("what it says", *_told(leaf)),
        Shown("done by", f"commit {event['seq']}, {event['event']}",
              f"by {event['author']}, because {event['why']!r}"),
    ]  # fmt: skip
    result = {
        "equal": found.equal,
        "worlds": [{"path": change.path, "ref": change.ref, "change": change.change} for change in found.worlds],
        "event": {name: event[name] for name in ("seq", "event", "author", "why")},
    }
    return Section("A change is traced to its author", lines, result, leaf.ref == turn.ref)


def a_forgery_is_found(stage: Stage) -> Section:
    """Somebody who passes the engine by and edits the copy's file: no hash in it changes, and no event says so."""
    shutil.copytree(stage.memory, stage.forged)
    changed = forge(stage.forged / "data.mdb", SAID.encode(), FORGED.encode())
    with stage.open() as db:
        turn = stage.turn(db.view(), "the deposit")
        intact = db.verify(deep=True)
    with worlddb.open(stage.forged, create=False) as db:
        found = db.verify()
        try:
            read = db.view().recall(turn.content).hits[0].content
        except worlddb.DamagedStore as refused:
            read = refused.message
    (altered,) = worlddb.diff(stage.memory, stage.forged, deep=True).worlds
    event = altered.events[0]
    named = found.first_bad_seq == turn.seq == event["seq"] and altered.ref == turn.ref
    problem = found.findings[0].problem if found.findings else "nothing is wrong"
    size = (stage.forged / "data.mdb").stat().st_size
    lines = [
        Shown("In another copy, one digit of the same sum is changed on disk, behind the engine's back."),
        Shown("ask the copy", read, f"{changed} of its {size:,} bytes differ", "bad"),
        Shown("verify the copy", "intact" if found.ok else f"damaged at commit {found.first_bad_seq}", problem, "bad"),
        Shown("diff with the memory", f"event {event['event']!r} of commit {event['seq']}, by {event['author']}",
              " ".join(_told(altered)), "bad"),
        Shown("verify the memory", "intact" if intact.ok else "damaged",
              f"{intact.commits} commits, {intact.events} events, {intact.blobs} texts, every table",
              "good" if intact.ok else "bad"),
    ]  # fmt: skip
    result = {
        "verified": found.ok,
        "first_bad_seq": found.first_bad_seq,
        "turn_seq": turn.seq,
        "event": {name: event[name] for name in ("seq", "event", "author")},
        "findings": [finding.problem for finding in found.findings],
        "memory_ok": intact.ok,
    }
    return Section("A forgery is found, to the event", lines, result, named and not found.ok and intact.ok)


def forge(file: Path, old: bytes, new: bytes) -> int:
    """Put ``new`` in the place of ``old`` in a file, wherever it stands; how many bytes were changed."""
    stored = file.read_bytes()
    if old not in stored or len(old) != len(new):
        raise ValueError(f"{file} holds no {old!r}, or it is not as long as {new!r}")
    file.write_bytes(stored.replace(old, new))
    return stored.count(old) * sum(one != other for one, other in zip(old, new, strict=True))


def _called(change: Change) -> str:
    """What a world is called; one without a name by its type and the first digits of its reference."""
    last = change.names[-1]
    return f"{change.type} {last}" if change.ref.startswith(last) else short(last, 28)


def _told(change: Change) -> tuple[str, str]:
    """The sum as the one side says it, and as the other does."""
    content = next(detail for detail in change.changes if detail.field == "content")
    before, after = (next(said for said in (SAID, FORGED) if said in text) for text in (content.a, content.b))
    return before, f"became {after.rpartition(' is ')[2]}"
