"""Widen a search scope by scope while the answers of the nearer scopes are weak.

For example, ask one conversation before everything known of its user (Arbiter's graduated recall).
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import Final

from msgspec.structs import replace

from worlddb.log.model import errors
from worlddb.query.claims import claim_relation, wording
from worlddb.query.question.question import Question, Request
from worlddb.query.recall import ranking, rivalry, scoring
from worlddb.query.recall.answer import joined as joined_notes
from worlddb.query.recall.answer import note_of_competing
from worlddb.query.records.records import Competing, Hit, Recall

_TURN: Final = "Turn"
LOOKED_AT: Final = ranking.LOOKED_AT
"""The number of best hits of a user's worlds among which competing statements are searched."""
MAX_SCOPES: Final = 16
"""So many scopes may be named: each may cost a recall."""
_NOTE: Final = "{asked} of {named} scopes were searched, since the hits of nearer ones seldom answer that"


def widened(request: Request, scopes: Sequence[str], ask: Callable[[Request], Recall]) -> Recall:
    """The answer of the first scope that suffices, or of all scopes together; each hit says its scope.

    ``scopes`` are references of worlds, the nearest first. Where a wider one is asked too, its hits and those before
    are ranked together, and what is in several scopes is of the nearest.

    Raises:
        InputError: no scope is named, too many are, or a world besides them.
    """
    if request.world is not None:
        raise errors.InputError("Both world and scopes were given", "Leave one of them out")
    if not 1 <= len(scopes) <= MAX_SCOPES:
        raise errors.InputError(
            f"{len(scopes)} scopes were given", f"Name 1 to {MAX_SCOPES} worlds, the nearest one first"
        )
    answers: list[Recall] = []
    for scope in scopes:
        found = ask(request._replace(world=scope))
        answers.append(replace(found, hits=tuple(replace(hit, scope=scope) for hit in found.hits)))
        if _is_sufficient(found):
            break
    if len(answers) == 1:
        return answers[0]
    together = joined(answers, request.k)
    told, last = _NOTE.format(asked=len(answers), named=len(scopes)), answers[-1]
    return replace(together, note="; ".join(filter(None, (told, last.note))), begins_later=last.begins_later)


def _is_sufficient(found: Recall) -> bool:
    """True if there is a hit, and nothing says that the answer is weak.

    Of a few texts little confidence makes no answer weak, but to look further costs only time.
    """
    is_unlikely = found.confidence is not None and found.confidence < scoring.WEAK_BELOW
    return bool(found.hits) and not found.weak and not is_unlikely


def joined(answers: Sequence[Recall], wanted: int) -> Recall:
    """Several answers to a question as one: their hits by the scores that each gave, the best of a hit's several.

    A hit is of the scope of the first answer that has it. Whatever else is told is that of the first answer.
    """
    nearest: dict[str, str] = {}
    hits: dict[str, Hit] = {}
    for hit in (hit for answer in answers for hit in answer.hits):
        scope = nearest.setdefault(hit.ref, hit.scope)
        if hit.ref not in hits or hit.score > hits[hit.ref].score:
            hits[hit.ref] = replace(hit, scope=scope)
    groups = {group.ref: group for answer in answers for group in answer.groups}
    known = [answer.confidence for answer in answers if answer.confidence is not None]
    return replace(
        answers[0],
        hits=tuple(sorted(hits.values(), key=lambda hit: -hit.score)[:wanted]),
        groups=tuple(sorted(groups.values(), key=lambda group: -group.score)[:wanted]),
        left_out=tuple(dict.fromkeys(ref for answer in answers for ref in answer.left_out)),
        competing=tuple(dict.fromkeys(pair for answer in answers for pair in answer.competing)),
        weak=all(answer.weak for answer in answers if answer.hits),
        confidence=max(known, default=None),
    )


def merge_user_answers(answers: Sequence[Recall], wanted: int, question: str, asked: int) -> Recall:
    """The answers of a user's several worlds as one, where a statement of one may compete with that of another.

    Of two the later comes first, and the note says so; what is so now comes before what was, may be or is planned; as
    in the answer of a single world. ``asked`` is when the question is asked. To see what competes, each answer needs
    :data:`LOOKED_AT` hits, however few are wanted.
    """
    found = joined(answers, max(wanted, LOOKED_AT))
    told = {(pair.ref, pair.earlier) for pair in found.competing}
    hits, pairs, read = list(found.hits), list[Competing](), Question(question, asked)
    for before, behind, pair in _find_rivals(found.hits[:LOOKED_AT], read):
        at = {hit.ref: place for place, hit in enumerate(hits)}
        if at[before] > at[behind]:
            hits.insert(at[behind], replace(hits.pop(at[before]), score=hits[at[behind]].score))
        if pair is not None and (pair.ref, pair.earlier) not in told:
            pairs.append(pair)
    shown = {hit.ref for hit in hits[:wanted]}
    pairs = [pair for pair in pairs if pair.ref in shown]
    competing = (*(pair for pair in found.competing if pair.ref in shown), *pairs)
    note = joined_notes((found.note, note_of_competing(pairs, hits, read)))
    return replace(found, hits=tuple(hits[:wanted]), competing=competing, note=note)


def _find_rivals(hits: Sequence[Hit], question: Question) -> Iterator[tuple[str, str, Competing | None]]:
    """The pairs of statements about what they begin with, the one that comes first before the other.

    With how they compete, if they do.
    """
    said = [hit for hit in hits if hit.type != _TURN and hit.content]
    until, asked = question.horizon(question.asked), question.words_of_now
    for old, new in combinations(sorted(said, key=lambda hit: (hit.valid.start, hit.seq)), 2):
        before, after = wording.leading_subject(old.content), wording.leading_subject(new.content)
        if old.valid.start == new.valid.start or not wording.names_agree(before, after):
            continue
        subject = wording.shared_subject(before, after)
        starts = old.valid.start, new.valid.start
        told = rivalry.rivalry_of(old.content, new.content, starts, subject, until, asked)
        if told is None or claim_relation.asks_of_rest(old.content, new.content, subject, question.text):
            continue
        alike, order = told
        pair = Competing(ref=new.ref, earlier=old.ref, relation=alike.relation, reason=alike.reason, doubt=alike.doubt)
        first, last = (new.ref, old.ref) if order in ("later", "swapped") else (old.ref, new.ref)
        yield first, last, pair if order == "later" else None
