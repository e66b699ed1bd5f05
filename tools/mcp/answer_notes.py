"""Notes on answers, and which statement succeeds which; also used by the agent tools and by REST."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

from worlddb import FOREVER, Hit, Near, Recall, Valid, View, World, format_time, parse_time, plain_text

MAX_CHAIN: Final = 50
"""Statements followed along a chain of supersessions."""


def has_ended(view: View, statement: World, since: str | None = None) -> bool:
    """Return whether a statement has ended by the time of the view, or by ``since`` if later.

    A statement that is still to come has not ended, unless it holds at no time.
    """
    valid = statement.valid
    moment = view.valid if since is None else max(view.valid, parse_time(since, "valid_from"))
    return valid.end <= moment or valid.end <= valid.start


def held_at(view: View, statement: World, since: str | None) -> bool:
    """Return whether an ended statement held at a given past time, so that it may get a successor from then on.

    A late successor is placed between the statement and what replaced it.
    """
    moment = view.valid if since is None else parse_time(since, "valid_from")
    return moment < view.valid and bool(view.history(statement.ref, during=Valid(moment, moment + 1)))


def start_of_successor(view: View, statement: World, given: str | None) -> str | None:
    """Return when the successor of a statement starts: as given, else now (``None``).

    The successor of a statement that is still to come starts when that would have.
    """
    return format_time(statement.valid.start) if given is None and statement.valid.start > view.valid else given


def end_of_successor(view: View, statement: World) -> str | None:
    """Return the end that the successor of a statement inherits, if one was stated.

    An end that came from another successor is not inherited.
    """
    replaced = any(
        edge.target == statement.ref for edge in view.edges(statement.ref, type="supersedes", include_superseded=True)
    )
    return None if replaced or statement.valid.end == FOREVER else format_time(statement.valid.end)


def successors(view: View, ref: str, seen: View | None = None) -> list[World]:
    """Return what superseded a statement, at any remove, and has not ended; nearest first.

    If nothing did, return the statements that replaced the same one as this and begin where this one ends. ``view``
    sets the time; worlds are read from ``seen``, if given.
    """
    seen = seen or view
    superseding = _superseding_chain(seen, ref, upwards=True)
    found = [world for world in superseding if not has_ended(view, world)]
    statement = seen.get(ref, include_superseded=True) if not superseding else None
    if statement is None or statement.valid.end == FOREVER:
        return found
    related = (world for world in _superseding_chain(seen, ref, upwards=False) if not has_ended(view, world))
    later = [world for world in related if world.valid.start >= statement.valid.end > statement.valid.start]
    return sorted(later, key=lambda world: world.valid.start)


def continuation_notes(view: View, ref: str) -> list[str]:
    """Return a note if the successor of a memory that had ended before still holds."""
    return [f"{each.ref} replaced it, and stays valid" for each in successors(view, ref)[:1]]


def _superseding_chain(seen: View, ref: str, *, upwards: bool) -> list[World]:
    """Return the worlds that ``supersedes`` joins to one: those that replaced it, or all."""
    known, found = [ref], list[World]()
    for place in known:
        for edge in seen.edges(place, type="supersedes", include_superseded=True):
            other = edge.source if edge.target == place else edge.target
            if (edge.target == place or not upwards) and other not in known and len(known) < MAX_CHAIN:
                known.append(other)
                world = seen.get(other, include_superseded=True)
                found += [] if world is None else [world]
    return found


NEAR_TEXT: Final = 300
"""Characters of a statement's text where it is near a new one."""


def near_record(near: Near, linked: str) -> dict[str, Any]:
    """Return a near memory as a record; ``linked`` is the type of its edge to the new statement."""
    return {
        "id": near.ref,
        "text": near.text[:NEAR_TEXT],
        "relation": near.relation,
        "likeness": near.likeness,
        "reason": near.reason,
        "linked": linked or None,
    }


WITHOUT_VECTORS: Final = "The plan has no vectors: only words and names were searched"
_LINKED: Final = "link supersedes or contradicts"
"""The engine's remedy for competing statements."""


_OF_INDEX: Final = (
    "term statistics come from the present index, not from the view; only an exact ranking equals that of a replayed"
    " store"
)
"""The engine's note for who runs the store."""


def are_weak(answers: Sequence[Recall]) -> bool:
    """Whether one question's answers, each from a scope of its own, are weak together: of those with hits, all are."""
    found = [answer.weak for answer in answers if answer.hits]
    return all(found) if found else any(answer.weak for answer in answers)


def recall_notes(
    answers: Sequence[Recall],
    *,
    in_one_world: bool,
    to_model: bool = False,
    remedy: str = "amend or retire what is not true",
) -> list[str]:
    """Return notes for the reader of one question's answers, each from a scope of its own.

    ``in_one_world``: the reader sees one world only, so the progress of the whole store is left out. ``remedy`` is what
    the reader can do about competing statements; by default with the tools. ``to_model``: the reader is a model, which
    has no use for how far the indexes are; in one world a single sentence says so whatever the reason.
    """
    notes: list[str] = []
    is_weak = are_weak(answers)
    for answer in answers:
        is_told = not to_model or in_one_world or answer.unavailable
        notes += _vector_notes(answer, in_one_world) if is_told else []
        # A weak answer in one scope does not matter where another scope answers.
        note = answer.note.replace(_LINKED, remedy)
        if to_model:
            note = note.replace(f"; {_OF_INDEX}", "").removeprefix(_OF_INDEX).removeprefix("; ")
        notes += [note] if note and (is_weak or not answer.weak) else []
    return list(dict.fromkeys(notes))


def without_texts(notes: Iterable[str], unshown: Iterable[Hit], shown: Iterable[Hit]) -> list[str]:
    """Return notes with the references of memories in the place of the texts that they quote, if these are not shown.

    A page knows one memory more than it shows, and a plan bounds how many texts one question tells.
    """
    seen = {hit.content for hit in shown}
    told = list(notes)
    for hit in unshown:
        quotes = () if hit.content in seen else (plain_text.shown(" ".join(hit.content.split())),)
        for quote in (f"{plain_text.beginning(hit.content)} ({hit.ref})", *quotes):
            told = [note.replace(quote, hit.ref) for note in told] if hit.content else told
    return told


def search_note(unavailable: Mapping[str, str], *, in_one_world: bool) -> str:
    """Return the note on searches in a query that went by words alone, as :func:`recall_notes` has those of recalls."""
    why = "" if in_one_world else "".join(f": {each}" for each in unavailable.values())
    return f"A search in the query used words only, not meaning{why}" if unavailable else ""


def _vector_notes(answer: Recall, in_one_world: bool) -> Iterator[str]:
    if in_one_world:
        if answer.pending or answer.unavailable:
            yield "For now, only words and names find memories, not meaning"
        return
    for lane, why in answer.unavailable.items():
        yield f"Searched only by words and names, not by meaning ({lane}: {why})"
    if answer.pending and not answer.unavailable:
        waiting = "One memory" if answer.pending == 1 else f"{answer.pending:,} memories"
        have = "has" if answer.pending == 1 else "have"
        yield f"{waiting} of this store {have} no vector yet: only words and names find them for now"


Item = TypeVar("Item")


class ResultList(list[Item]):
    """A list of results, best first, with ``notes`` for its reader.

    Notes are sentences: what may have been missed and why, that nothing seems to answer the question, which words were
    not understood as a time.
    """

    def __init__(self, found: Iterable[Item] = (), notes: Iterable[str] = ()) -> None:
        super().__init__(found)
        self.notes: tuple[str, ...] = tuple(notes)
