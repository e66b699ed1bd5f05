"""The first half of the story: remembering, and being right about the past."""

from __future__ import annotations

from worlddb import View
from worlddb.tools.demo.stage import Section, Shown, Stage, agreed, committed, day, short, span
from worlddb.tools.importers import ingest_files
from worlddb.tools.sample import sample_path

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
        Shown("found by", hit.reason),
    ]
    result = {"query": question, "ref": hit.ref, "content": hit.content, "source": hit.source}
    return Section("An answer names its source", lines, result)


def a_home_moves(stage: Stage) -> Section:
    """Two Facts, the second of which takes the place of the first from the day of the move on."""
    with stage.open() as db:
        told, moved = (stage.turn(db.view(), name) for name in ("lives in Lisbon", "moved to Porto"))
        facts = db.create("Topic", "What Sol knows", valid_from=told.valid.start, resolve=False)
        stage.facts = facts.ref
        why = f"she said so on {day(told.valid.start)}"
        old = committed(db.create("Fact", "Mara's home", content="Mara lives in Lisbon, in Graça.", world=facts,
                                  valid_from=told.valid.start, why=why, resolve=False))  # fmt: skip
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
    """What was wrong from the beginning is valid at no time, and was believed all the same."""
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
    """Near names and equal names are questions that somebody has to answer; nobody is merged meanwhile."""
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
    """Who said what contradicts: a turn begins with its speaker."""
    found = (view.get(ref) for ref in refs)
    return [world.content.partition(":")[0] for world in found if world]
