"""The steps of ``worlddb demo``: remembering, asking about the past, tracing a forgery.

They tell fourteen months of Mara and her agent Sol, a conversation that holds what a memory has to get right: a home
that moved, a corrected date, two people whose names differ by one letter, two statements that contradict each other for
good, and a sum of money. Four other people appear.
"""

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import worlddb
from worlddb import Change, Database, Receipt, View, World, plain_text
from worlddb.tools.importers import ingest_files

LANDMARKS: Final = MappingProxyType(
    {
        "lives in Lisbon": ("Spring in Lisbon", 0),
        "the colleague John Okafor": ("The new job", 1),
        "the landlord Jon Okafor": ("The flat on Rua das Taipas", 1),
        "the deposit": ("The flat on Rua das Taipas", 5),
        "moved to Porto": ("Porto", 0),
        "pets are not allowed": ("Porto", 4),
        "pets are allowed": ("Porto", 5),
        "the appointment, as first told": ("A knee in March", 2),
        "the appointment, corrected": ("Setting things straight", 0),
    }
)
"""Turns on which the story depends: (session, position in it)."""


def sample_path() -> Path:
    """Return the path of the conversation, a JSON Lines file of turns."""
    return Path(str(files("worlddb.tools.demo") / "conversation.jsonl"))


class Shown(NamedTuple):
    """A line of a step's report: the question, its answer (none for narration), and a remark."""

    asked: str
    answer: str = ""
    remark: str = ""
    style: str = "title"
    """Style of the answer; ``good`` and ``bad`` judge the data."""


def agreed(asked: str, good: bool, yes: str, no: str, remark: str = "") -> Shown:
    """Return a line whose answer is yes or no."""
    return Shown(asked, yes if good else no, remark, "good" if good else "bad")


class Section(NamedTuple):
    """The report of one step, for people (``lines``) and programs (``result``).

    ``ok`` is true if the step kept its promise.
    """

    title: str
    lines: Sequence[Shown]
    result: dict[str, Any]
    ok: bool = True


class Stage:
    """The stores of the story below one folder, and references that later steps need."""

    def __init__(self, folder: Path) -> None:
        self.memory = folder / "memory"
        self.then = folder / "then"
        self.altered = folder / "altered"
        self.forged = folder / "forged"
        self.facts = ""
        """Reference of the topic that holds what Sol knows."""
        self.date_corrected = 0
        """Commit that corrected the date."""

    def open(self) -> Database:
        """Open the story's main store."""
        return worlddb.open(self.memory, author="Sol")

    def turn(self, view: View, landmark: str) -> World:
        """Return the turn of the sample that a landmark names."""
        session, position = LANDMARKS[landmark]
        (found,) = view.find(name=session, type="Session")
        return list(view.children(found.ref))[position]

    def person(self, view: View, name: str) -> World:
        """Return the first entity of a name."""
        return view.find(name=name, type="Entity")[0]

    def ask(self, view: View, question: str) -> World | None:
        """Return Sol's statement that answers a question best, as a view sees it."""
        hits = view.recall(question, world=self.facts, k=1).hits
        return view.get(hits[0].ref) if hits else None


def committed(receipt: Receipt) -> Receipt:
    """Return the receipt; a refusal is an error, since the story would not work."""
    receipt.raise_if_refused()
    return receipt


def day(micros: int) -> str:
    """Format the date of a time."""
    return worlddb.format_time(micros)[:10]


def span(world: World) -> str:
    """Describe the validity of a world, in dates."""
    if world.valid.end == worlddb.FOREVER:
        return f"true from {day(world.valid.start)} on"
    return f"true from {day(world.valid.start)} to {day(world.valid.end)}"


def short(text: str, limit: int = 72) -> str:
    """Return the beginning of a text."""
    return plain_text.clipped(text, limit)


HOME = "where does Mara live?"
CLINIC = "when is the appointment at the clinic?"
PETS = "does the lease allow pets?"


def a_conversation_becomes_memory(stage: Stage) -> Section:
    with stage.open() as db:
        done = ingest_files(db, sample_path())
        db.catch_up()
        head = db.head()
        sessions = db.view().find(type="Session")
        people = [world.name for world in db.view().find(type="Entity")]
    lines = [
        Shown(f"{done.turns} turns in {len(sessions)} sessions, {day(sessions[0].valid.start)} to "
              f"{day(sessions[-1].valid.start)}, came in as {done.events} events in {done.commits} commits."),
        Shown(f"Each session is a world that contains its turns; so is each person: {', '.join(people)}."),
        Shown("one hash for all of it", head.root),
    ]  # fmt: skip
    result = {"turns": done.turns, "sessions": len(sessions), "events": done.events, "seq": head.seq, "root": head.root}
    return Section("A conversation becomes memory", lines, result)


def an_answer_names_its_source(stage: Stage) -> Section:
    question = "What deposit did Mara agree to pay?"
    with stage.open() as db:
        hit = db.view().recall(question, k=1).hits[0]
    lines = [
        Shown(f"recall {question!r}"),
        Shown("the best hit", short(hit.content)),
        Shown("true from", day(hit.valid.start), f"the day it was said; learned in commit {hit.seq}"),
        Shown("source", f"{hit.source['file']}, record {hit.source['record']}"),
        Shown("found by", short(hit.reason, 96)),
    ]
    result = {"query": question, "ref": hit.ref, "content": hit.content, "source": hit.source}
    return Section("An answer names its source", lines, result)


def a_home_moves(stage: Stage) -> Section:
    """Write two Facts; the second supersedes the first from the day of the move on."""
    with stage.open() as db:
        lisbon_turn, moved = (stage.turn(db.view(), name) for name in ("lives in Lisbon", "moved to Porto"))
        facts = db.create("Topic", "What Sol knows", valid_from=lisbon_turn.valid.start, resolve=False)
        stage.facts = facts.ref
        why = f"she said so on {day(lisbon_turn.valid.start)}"
        old = committed(db.create("Fact", "Mara's home", content="Mara lives in Lisbon, in Graça.", world=facts,
                                  valid_from=lisbon_turn.valid.start, why=why, resolve=False))  # fmt: skip
        with db.batch() as tx:
            new = tx.create("Fact", "Mara's home", content="Mara lives in Porto, on Rua das Taipas.", world=facts,
                            valid_from="2024-09-01", resolve=False)  # fmt: skip
            tx.link(new, "supersedes", old, why="she moved on 1 September")
            tx.link(new, "derived_from", moved)
        now = db.view()
        asked = {
            "now": now,
            "in May 2024": db.view(valid="2024-05-01"),
            f"now, as known at commit {old.seq}": db.view(valid=now.valid, seq=old.seq),
        }
        answers = {when: stage.ask(view, HOME) for when, view in asked.items()}
    remarks = {when: span(world) for when, world in answers.items() if world is not None}
    remarks[f"now, as known at commit {old.seq}"] = "before the move was told"
    lines = [
        Shown("Sol writes down two Facts. The second supersedes the first from 2024-09-01 on; nothing is deleted."),
        Shown(f"recall {HOME!r}"),
        *(Shown(when, world.content if world else "nothing", remarks.get(when, "")) for when, world in answers.items()),
    ]
    result = {when: world and world.content for when, world in answers.items()}
    return Section("A home moves, and the old address stays answerable", lines, result)


def a_date_is_corrected(stage: Stage) -> Section:
    """Correct a statement that was wrong from the start: it holds at no time, yet was believed."""
    with stage.open() as db:
        told = stage.turn(db.view(), "the appointment, as first told")
        fact = committed(db.create("Fact", "The clinic", content="The appointment at the clinic is on 12 May 2025.",
                                   world=stage.facts, valid_from=told.valid.start))  # fmt: skip
        right = committed(db.revise(fact, content="The appointment at the clinic is on 21 May 2025.",
                                    valid_from=told.valid.start, why="she had misread the card"))  # fmt: skip
        stage.date_corrected = right.seq
        now, before = db.view(), db.view(seq=fact.seq)
        answers = {"now": stage.ask(now, CLINIC), f"as known at commit {fact.seq}": stage.ask(before, CLINIC)}
        history = now.history(fact)
    lines = [
        Shown("Sol believed in 12 May until Mara said that it had been 21 May all along: a revision, backdated."),
        *(Shown(when, world.content if world else "nothing") for when, world in answers.items()),
        *(
            Shown(
                f"version {version.number}",
                version.content,
                "true at no time" if version.valid.start == version.valid.end else f"from {day(version.valid.start)}",
            )
            for version in history
        ),
    ]
    result = {
        "answers": {when: world and world.content for when, world in answers.items()},
        "versions": [version.content for version in history],
    }
    return Section("A date is corrected, and what was believed is kept", lines, result)


def two_people_stay_two(stage: Stage) -> Section:
    """Decide on near and equal names by proposals; nobody is merged meanwhile."""
    with stage.open() as db:
        now = db.view()
        colleague, landlord = (stage.person(now, name) for name in ("John Okafor", "Jon Okafor"))
        near = db.proposals()
        for proposal in near:
            committed(db.reject(proposal, why="Jon is the landlord, John works with Mara"))
        (conversation,) = now.find(type="Conversation")
        letter = committed(db.create("Entity", "John Okafor", content="The name on a letter about a deposit.",
                                     world=conversation))  # fmt: skip
        (proposal,) = db.proposals()
        staged = db.view().equivalence_class(colleague)
        committed(db.reject(proposal, why="the letter was for Jon, the landlord"))
        decided = db.view().proposals(status="rejected")
        merged = [world for world in (colleague, landlord, letter)
                  if len(db.view().equivalence_class(world)) != 1]  # fmt: skip
    lines = [
        Shown("John Okafor, a colleague, and Jon, the landlord", f"{len(near)} proposal",
              "that they are one; Sol rejects it"),
        Shown("a letter names another 'John Okafor'", f"{len(letter.proposals)} proposal",
              f"that he is the colleague; merged so far: {len(staged) - 1}"),
        Shown("Sol decides", decided[0].status, "the letter was for Jon, the landlord"),
        agreed("afterwards", not merged, "nobody was merged", "somebody was merged", "the log has the reason"),
    ]  # fmt: skip
    result = {
        "proposals_for_near_names": len(near),
        "proposal": proposal.ref,
        "status": decided[0].status,
        "merged": len(merged),
    }
    return Section("Two people with nearly one name stay two", lines, result, not merged)


def a_contradiction_is_kept(stage: Stage) -> Section:
    with stage.open() as db:
        denied, allowed = (stage.turn(db.view(), name) for name in ("pets are not allowed", "pets are allowed"))
        committed(db.link(denied, "contradicts", allowed, why="two readings of clause 9"))
        found = db.view().recall(PETS, k=2)
        by_ref = {world.ref: world for world in (denied, allowed)}
        shown = [(hit, _opponents(db.view(), hit.conflicts)) for hit in found if hit.ref in by_ref]
    lines = [
        Shown("The landlord says that the lease allows no pets, the agency that it does. Nobody has decided, so "
              "both stand, linked by a contradicts edge, and no read hides it."),
        Shown(f"recall {PETS!r}"),
        *(Shown(f"hit {number}", short(hit.content, 56), f"contradicted by {', '.join(opponents)}", "warn")
          for number, (hit, opponents) in enumerate(shown, 1)),
    ]  # fmt: skip
    result = {"hits": [{"ref": hit.ref, "content": hit.content, "conflicts": list(hit.conflicts)} for hit, _ in shown]}
    both = all(opponents for _, opponents in shown) and len(shown) == len(by_ref)
    return Section("A contradiction is kept, not resolved in silence", lines, result, both)


def _opponents(view: View, refs: tuple[str, ...]) -> list[str]:
    """Return who said the contradicting turns: a turn begins with its speaker."""
    found = (view.get(ref) for ref in refs)
    return [world.content.partition(":")[0] for world in found if world]


SAID = "The deposit is 1,450 euros"
FORGED = "The deposit is 1,950 euros"


def everything_is_derived_again(stage: Stage) -> Section:
    with stage.open() as db:
        # From here on the memory is one to look around in, also by meaning.
        with suppress(worlddb.ModelUnavailable):
            db.embed()
        before = db.head()
    shutil.rmtree(stage.memory / "indexes", ignore_errors=True)
    with stage.open() as db:
        made = db.rebuild()
        answer = stage.ask(db.view(), "where does Mara live?")
    same = made.root == before.root
    lines = [
        Shown(f"Whatever is derived is deleted: {' and '.join(made.rebuilt)} are rebuilt from the log alone."),
        agreed("the root", same, "the same", "another", f"after {made.seconds:.2f} s: {made.root[:12]}"),
        Shown("recall 'where does Mara live?'", answer.content if answer else "nothing"),
    ]
    result = {"root": made.root, "same": same, "answer": answer and answer.content}
    return Section("Everything but the log can be thrown away", lines, result, same)


def an_earlier_moment_comes_back(stage: Stage) -> Section:
    """Replay the log to the moment before the date was corrected."""
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
    """Find the author of a change to one turn, made in a copy through the engine."""
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
    """Find a change made in the file of a copy, behind the engine's back.

    No hash in the file changes, and no event shows it.
    """
    shutil.copytree(stage.memory, stage.forged)
    changed = forge(stage.forged / "data.mdb", SAID.encode(), FORGED.encode())
    with stage.open() as db:
        turn = stage.turn(db.view(), "the deposit")
        intact = db.verify(deep=True)
    (altered,) = worlddb.diff(stage.memory, stage.forged, deep=True).worlds
    with worlddb.open(stage.forged, create=False) as db:
        found = db.verify()
        try:
            read = db.view().recall(turn.content).hits[0].content
        except worlddb.DamagedStore as refused:
            read = refused.message
    event = altered.events[0]
    named = found.first_bad_seq == turn.seq == event["seq"] and altered.ref == turn.ref
    problem = found.findings[0].problem if found.findings else "nothing is wrong"
    size = (stage.forged / "data.mdb").stat().st_size
    lines = [
        Shown("In another copy, one digit of the same sum is changed on disk, behind the engine's back."),
        Shown("ask the copy", read, f"its {size:,} bytes hold the text {changed} times", "bad"),
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
    """Replace ``old`` by ``new`` everywhere in a file; returns the number of changed bytes."""
    stored = file.read_bytes()
    if old not in stored or len(old) != len(new):
        raise ValueError(f"{file} holds no {old!r}, or it is not as long as {new!r}")
    file.write_bytes(stored.replace(old, new))
    return stored.count(old) * sum(one != other for one, other in zip(old, new, strict=True))


def _called(change: Change) -> str:
    """Return a display name of a world: its type and name, or its type and short reference."""
    last = change.names[-1]
    return f"{change.type} {last}" if change.ref.startswith(last) else short(last, 28)


def _told(change: Change) -> tuple[str, str]:
    """Return the sum as each side states it."""
    content = next(detail for detail in change.changes if detail.field == "content")
    before, after = (next(said for said in (SAID, FORGED) if said in text) for text in (content.a, content.b))
    return before, f"became {after.rpartition(' is ')[2]}"


STEPS: Final[tuple[Callable[[Stage], Section], ...]] = (
    a_conversation_becomes_memory,
    an_answer_names_its_source,
    a_home_moves,
    a_date_is_corrected,
    two_people_stay_two,
    a_contradiction_is_kept,
    everything_is_derived_again,
    an_earlier_moment_comes_back,
    a_change_is_traced,
    a_forgery_is_found,
)


def tell(stage: Stage) -> Iterator[Section]:
    """Play the story; yields each section once it has happened."""
    for step in STEPS:
        yield step(stage)
