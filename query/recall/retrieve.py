"""Retrieve the best candidates of a recall, the best of each identity, or groups of them.

Of facts that contradict each other the newest comes first, followed by what it superseded where a question asks for
change; of statements about one subject that compete by their words, the later one. A group is a world with the hits
that it contains. The best session need not contain the best turn: a session with two near turns may answer better
than one with a single turn that is a little nearer. So a group has a score of its own, the soft maximum of its hits'
scores: the best of them where one stands out, and more where others come close.
"""

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations, islice
from math import exp, log
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from worlddb.log.model.times import ALWAYS, FOREVER, Interval
from worlddb.projections.indexes.analysis import (
    STANDING_WORDS,
    TASTE_WORDS,
    analyze,
    is_answering,
    is_asking,
)
from worlddb.projections.tables.names.canonical import type_digest
from worlddb.projections.tables.reads.asof import SeenVersion, edge_seen, has_ended, newest_version
from worlddb.projections.tables.storage.schema import EDGE_TYPE_CODES
from worlddb.query.claims import asked_terms, chat_changes, claim_frame, claim_pairs, claim_relation, lexicon, wording
from worlddb.query.claims.wording import MAX_CHARACTERS
from worlddb.query.lanes import text_lane
from worlddb.query.lanes.text_lane import TextLane, WorldTextLane
from worlddb.query.question import question_dates
from worlddb.query.question.question import ASKED, CONVEX, LANES, MAX_K, TEXT, VECTOR, Question, Request
from worlddb.query.reads import build, world_lookup
from worlddb.query.reads.window import Window
from worlddb.query.recall import candidates, filters, ranking, scoring
from worlddb.query.records.records import Hit
from worlddb.query.snapshot import edge_rules, provenance, valid_period, visible

if TYPE_CHECKING:
    from worlddb.projections.tables.dream.retention import Decay

NEWER: Final = "newer"
"""The part of a hit's score from an older one that it contradicts."""
SUPERSEDED: Final = "superseded"
"""The same for a hit that is shown because an earlier hit replaced it."""
LATER: Final = "competes"
"""The same for a statement that began later than a better, competing hit about the same subject."""
UPDATED: Final = "updated"
"""The same for a statement that began later than the best hit, is near it in meaning, and answers about as well."""
UNTIL: Final = "until"
"""The same for what holds until a better hit begins that is a plan by its words."""
NOW: Final = "now"
"""The same for what is so now, if a better hit tells what was or may be, is so at times, or is denied."""
MADE: Final = "made"
"""The same for a statement derived from a better hit, a turn of a talk, that has as many of the question's words."""
REPLIED: Final = "replied"
"""The same for what somebody said and a machine's short reply to it, which comes behind it."""
PRECEDED: Final = "preceded"
"""The same for what held until an event that the question names."""
BEFORE: Final = "previous"
"""The same for what was replaced, or was said before what competes with it, if the question asks for that."""
OWN: Final = "own"
"""The same for a statement about whom the question names, if a better hit is about somebody else."""
THEN: Final = "then"
"""The same for what held at a time in the question, instead of the present."""
STATE: Final = "state"
"""The same for the state at a time that the question asks for, if a better hit says something else."""
OVER: Final = "over"
"""The same for what reached its stated end, if a question about the past names no time."""
EXACT: Final = "number"
"""The same for a text with a number of the question, if a better hit has another number in its place."""
TRUST: Final = "trust"
"""The part of a score that is lost for lack of trust."""
DECAY: Final = "decay"
"""The part that is lost by decay."""
TYPED: Final = "type"
"""The part gained or lost by type weights."""
_SUPERSEDES: Final = EDGE_TYPE_CODES["supersedes"]
_DERIVED_FROM: Final = EDGE_TYPE_CODES["derived_from"]
_MAX_SUPERSEDED: Final = 3
"""The number of replaced worlds shown after their replacement."""


def lift_newer_facts(
    snapshot: visible.VisibleSnapshot,
    spec: edge_rules.Spec,
    gate: candidates.Gate,
    ranked: Sequence[ranking.Ranked],
    k: int,
    find: Callable[[int], ranking.Ranked | None],
) -> list[ranking.Ranked]:
    """The hits, and before each of the first ``k`` whatever newer world contradicts it.

    A newer fact gets the score of the older one, with the difference under :data:`NEWER`. A fact whose text was
    erased is left out. ``find`` looks a candidate up that is not among the hits.
    """
    period = gate.choice.period
    hits = {each.passed.node: each for each in ranked}
    level = dict.fromkeys(hits, 0)
    pending = [each.passed.node for each in ranked[:k]]
    for node in pending:
        hit = hits[node]
        for rival in _contradicting_worlds(snapshot, spec, node, period):
            seen, own_seen = gate.seen(rival), gate.seen(node)
            if seen is None or own_seen is None or not _is_newer(seen, own_seen) or snapshot.body(seen.row) is None:
                continue
            own = hits.get(rival) or find(rival) or ranking.Ranked(candidates.Passed(rival, seen, 0.0), 0.0, {}, {})
            if (round(own.score, 6), level.get(rival, 0)) > (round(hit.score, 6), level[node]):
                continue
            lifted = {**own.parts, NEWER: own.parts.get(NEWER, 0.0) + hit.score - own.score}
            hits[rival] = own._replace(score=hit.score, parts=lifted)
            level[rival] = level[node] + 1
            pending.append(rival)
    # What was lifted stands in log order, all others keep their places among those that score as much.
    places = {each.passed.node: place for place, each in enumerate(ranked) if not level[each.passed.node]}
    last = len(ranked)
    order = sorted(hits, key=lambda node: (-round(hits[node].score, 6), -level[node], places.get(node, last), node))
    return [hits[node] for node in order]


LOOKED_AT: Final = 10
"""The number of best hits among which competing statements are searched, for any number of hits."""
_TURN: Final = type_digest("Turn")
_REFERS_TO: Final = EDGE_TYPE_CODES["refers_to"]


class Rivals(NamedTuple):
    """Two statements that compete: their nodes, the relation, and why.

    ``is_plan``: the later one holds only after the time asked about, so they do not compete yet. ``is_beside``: the
    one called the later tells what was or may be, is so at times, or is denied, where the other tells what is so now.
    ``doubt`` is why both may be so after all.
    """

    later: int
    earlier: int
    relation: str
    reason: str
    is_plan: bool = False
    is_beside: bool = False
    is_unsure: bool = False
    doubt: str = ""


class _Statement(NamedTuple):
    """A hit that states something: whom it refers to, and its text; of a turn what it tells of the question, and of
    whom: of the speaker or of nobody."""

    seen: SeenVersion
    text: str
    about: frozenset[int]
    is_turn: bool = False


def lift_later_statements(
    snapshot: visible.VisibleSnapshot,
    ranked: Sequence[ranking.Ranked],
    said: dict[int, _Statement],
    *,
    until: int,
    by_trust: bool = False,
    asked: str = "",
    question: str = "",
    changes: Iterable[Rivals] = (),
) -> tuple[list[ranking.Ranked], tuple[Rivals, ...]]:
    """The hits, with the later of two competing statements before the earlier, and the pairs.

    Of turns of a conversation only the first that answers the question is compared with the others. What says that it
    begins after ``until`` competes with nothing that is so before, which comes first. ``by_trust``: a less trusted
    statement is not put before the one that it would replace. Of ``asked``, a question of now, what is so now comes
    before what was or may be, is so at times, or is denied. What competes in sentences that ``question`` is not about
    stays.
    """
    pairs = list(_competing_pairs(snapshot, said, until, asked, question)) if len(said) > 1 else []
    known = {frozenset(pair[:2]) for pair in pairs}
    pairs += [pair for pair in changes if frozenset(pair[:2]) not in known]
    if not pairs:
        return list(ranked), ()
    above: dict[int, list[int]] = {}
    below: dict[int, list[int]] = {}
    hits = {hit.passed.node: hit for hit in ranked}
    plans = {pair.later for pair in pairs if pair.is_plan}
    for pair in pairs:
        if pair.is_plan:
            above.setdefault(pair.later, []).append(pair.earlier)
            continue
        if pair.later in plans or pair.earlier in plans:
            continue
        behind, before = (pair.later, pair.earlier) if pair.is_beside else (pair.earlier, pair.later)
        if pair.is_unsure:
            below.setdefault(behind, []).append(before)
            continue
        if by_trust and _is_trusted_less(snapshot, hits[before], hits[behind]):
            continue
        above.setdefault(behind, []).append(before)
    placed: dict[int, ranking.Ranked] = {}
    later = {pair.later for pair in pairs if not (pair.is_plan or pair.is_beside)}
    present = {pair.earlier for pair in pairs if pair.is_beside}
    begun = set[int]()

    def begin_order(node: int) -> tuple[int, int]:
        return _start_order(hits[node].passed.seen)

    def place(node: int, score: float) -> None:
        """Put a hit after later ones, which get at least its score."""
        if node in placed or node in begun:
            return
        begun.add(node)
        own = hits[node]
        for better in sorted(above.get(node, ()), key=begin_order, reverse=True):
            place(better, max(score, own.score))
        part = LATER if node in later else NOW if node in present else UNTIL
        lifted = {**own.parts, part: score - own.score}
        placed[node] = own if own.score >= score else own._replace(score=score, parts=lifted)
        for other in sorted(below.get(node, ()), key=begin_order, reverse=True):
            place(other, max(score, own.score))

    for hit in ranked:
        place(hit.passed.node, hit.score)
    told = (pair for pair in pairs if not (pair.is_plan or pair.is_beside))
    return list(placed.values()), tuple(pair for pair in told if not _is_said_again(pair, said))


def _is_said_again(pair: Rivals, said: Mapping[int, _Statement]) -> bool:
    """True if the words of the earlier of two statements were said once more after the later one: who moved back.

    A change that a turn tells in passing may be of a turn that is no statement.
    """
    if not {pair.earlier, pair.later} <= said.keys():
        return False
    words, after = wording.fold_blanks(said[pair.earlier].text), _start_order(said[pair.later].seen)
    again = (one.seen for one in said.values() if wording.fold_blanks(one.text) == words)
    return any(_start_order(seen) > after for seen in again)


def _lift_derived_statements(
    snapshot: visible.VisibleSnapshot, ranked: list[ranking.Ranked], question: str
) -> list[ranking.Ranked]:
    """The hits, and before each turn of a talk among the first the statements among them that were made of it.

    Only those that have all words of the question that the turn has, and do not rest on what holds no more.
    """
    turns = {hit.passed.node: hit for hit in ranked[:LOOKED_AT] if hit.passed.seen.row.type == _TURN}
    others = [hit for hit in ranked[:LOOKED_AT] if hit.passed.node not in turns] if turns else []
    tables, moment = snapshot.tables, snapshot.place.moment
    asked = text_lane.query_stems(question) if others else frozenset()
    said: dict[int, frozenset[str]] = {}
    lifted: dict[int, list[ranking.Ranked]] = {}
    for hit in others:
        node, seen = hit.passed[:2]
        edges = tables.outgoing(node, _DERIVED_FROM, known_by=moment.seq)
        bases = [row.target for place, row in edges if row.target in turns and edge_seen(tables, place, row, moment)]
        if not bases or provenance.stale(snapshot, node, seen.row):
            continue
        best = max((turns[base] for base in bases), key=lambda turn: turn.score)
        for each, one in ((node, seen), (best.passed.node, best.passed.seen)):
            if each not in said:
                body = snapshot.body(one.row)
                said[each] = frozenset() if body is None else asked.intersection(analyze(body.content).stems)
        if best.score >= hit.score and said[best.passed.node] and said[best.passed.node] <= said[node]:
            parts = {**hit.parts, MADE: best.score - hit.score}
            lifted.setdefault(best.passed.node, []).append(hit._replace(score=best.score, parts=parts))
    moved = {hit.passed.node for hits in lifted.values() for hit in hits}
    left = (hit for hit in ranked if hit.passed.node not in moved)
    return [each for hit in left for each in (*lifted.get(hit.passed.node, ()), hit)]


MAX_REPLY_WORDS: Final = 12
"""The words of a reply that tells no more than what it replies to; what a machine tells takes more."""


def _put_replies_behind(
    snapshot: visible.VisibleSnapshot, ranked: list[ranking.Ranked], about: candidates.Named, question: str
) -> list[ranking.Ranked]:
    """The hits, and each short reply of a machine among the first behind what it replies to, if that tells as much.

    "Hope it goes smoothly for your mum." is nearer to a question about her operation than the long message that tells
    when it is. What is replied to is among the first hits too, has all words of the question that the reply has, and
    asks nothing: a short reply to a question is the answer. It takes the reply's place, unless what lies between has
    these words too: then that stays before it.
    """
    turns = [hit for hit in ranked[:LOOKED_AT] if hit.passed.seen.row.type == _TURN]
    bodies = ((hit.passed.node, snapshot.body(hit.passed.seen.row)) for hit in turns)
    said = {node: body.content for node, body in bodies if body is not None}
    short = {node for node, text in said.items() if text.count(" ") <= MAX_REPLY_WORDS}
    own = {node for node, _ in candidates.find_references(snapshot, said, about.user)} if short and about.user else ()
    replies = {node for node in short if (node not in own if own else is_answering(said[node]))}
    if not replies or len(replies) == len(said) or not (asked := text_lane.query_stems(question)):
        return ranked
    order = [hit.passed.node for hit in ranked[:LOOKED_AT]]
    hits = {hit.passed.node: hit for hit in ranked[:LOOKED_AT]}

    def has(node: int) -> frozenset[str]:
        return asked.intersection(analyze(said[node]).stems)

    for node in [node for node in said if node not in replies]:
        reply = candidates.turn_after(snapshot, node)
        if reply not in replies or order.index(reply) > order.index(node):
            continue
        own_hit, better = hits[node], hits[reply]
        words, told = has(reply), [hit.parts.get(scoring.TOLD, 0.0) for hit in (own_hit, better)]
        if not words <= has(node) or told[0] < told[1] or is_asking(said[node]):
            continue
        between = order[order.index(reply) + 1 : order.index(node)]
        if any(words <= has(each) for each in between if each in said and each not in replies):
            order.remove(reply)
            order.insert(order.index(node) + 1, reply)
            hits[reply] = _with_score(better, own_hit.score)
        else:
            order.remove(node)
            order.insert(order.index(reply), node)
            hits[node] = _with_score(own_hit, better.score)
    return [*(hits[node] for node in order), *ranked[LOOKED_AT:]]


def _with_score(hit: ranking.Ranked, score: float) -> ranking.Ranked:
    """A hit with the score of what it is put beside."""
    more = hit.parts.get(REPLIED, 0.0) + score - hit.score
    return hit._replace(score=score, parts={**hit.parts, REPLIED: more})


def _lift_own_statements(
    snapshot: visible.VisibleSnapshot,
    ranked: list[ranking.Ranked],
    stated: Mapping[int, _Statement],
    question: str,
    asker: str = "",
) -> list[ranking.Ranked]:
    """Put statements about a person before the first one that is about somebody or something of that person.

    ``asker`` is the name of who asks for what is theirs: what is said of them by name comes before any other statement
    that does not say it, as "Pavel is a foreman at Huber" before "Honza works in a bakery".

    "Where does Ana live?" puts "Ana lives in Porto" before "Ana's sister lives in Faro" and a turn "Tom told me he
    lives in York". Such a statement has all content words of the question and begins with the person in the question.
    """
    turns, reported = _turns_about_others(snapshot, ranked) if stated else ({}, {})
    has_others = (
        turns
        or reported
        or (asker and stated)
        or (len(stated) > 1 and any(_has_possessive(one.text) for one in stated.values()))
    )
    if not has_others:
        return ranked
    if (asked := asked_terms.question_terms(question)) is None:
        return ranked
    words, telling = asked
    words |= wording.words_of(asker)
    frames = ((node, claim_frame.frame(one.text)) for node, one in stated.items())
    said = {node: frame for node, frame in frames if frame is not None and not frame.subject.isdisjoint(words)}
    told = said | {node: one for node, (speaker, one) in turns.items() if not speaker.isdisjoint(words)}
    theirs = {node for node, one in told.items() if one.owned and lexicon.stems(one.owned).isdisjoint(telling)}
    if reported and asked_terms.asks_for_home(telling):
        theirs |= {node for node, called in reported.items() if called.isdisjoint(words)}
    mine = _split_by_owner(stated, telling) if not words.isdisjoint(("my", "our")) else None
    if mine is not None:
        said, theirs = mine
    if asker:
        theirs |= {
            node for node, one in stated.items() if not (node in said and _says_what_is_asked(said[node], one, telling))
        }
    first = next((place for place, hit in enumerate(ranked[:LOOKED_AT]) if hit.passed.node in theirs), None)
    if first is None:
        return ranked
    best = ranked[first].score
    own = {node for node, one in said.items() if mine or _says_what_is_asked(one, stated[node], telling)}
    lifted = [hit for hit in ranked[first:] if hit.passed.node in own]
    return [
        *ranked[:first],
        *(hit._replace(score=best, parts={**hit.parts, OWN: best - hit.score}) for hit in lifted),
        *(hit for hit in ranked[first:] if hit.passed.node not in own),
    ]


def _says_what_is_asked(told: claim_frame.Frame, one: _Statement, telling: frozenset[str]) -> bool:
    """True if a statement says what is asked of the person that it begins with, and not of something of theirs."""
    if told.owned:
        return False
    return asked_terms.tells(told, telling) or (
        asked_terms.asks_for_work(telling) and _WORK.match(one.text) is not None
    )


_WORK: Final = re.compile(r"[^\W\d_][\w'’ -]{0,60}? (?:is|am) (?:an?|the) [a-z][a-z -]* (?:at|for|with) [A-Z]")
"""What says as what somebody works, and where."""


def _split_by_owner(
    stated: Mapping[int, _Statement], telling: frozenset[str]
) -> tuple[dict[int, claim_frame.Frame], set[int]] | None:
    """Of "where does my mum live?" those of mine, and of others' mums; ``None`` if there are not both."""
    mine, theirs = dict[int, claim_frame.Frame](), set[int]()
    for node, one in stated.items():
        frame = claim_frame.frame(one.text)
        if frame is None or not frame.owned or lexicon.stems(frame.owned).isdisjoint(telling):
            continue
        if "i" in wording.leading_subject(one.text):
            mine[node] = frame
        else:
            theirs.add(node)
    return (mine, theirs) if mine and theirs else None


def _turns_about_others(
    snapshot: visible.VisibleSnapshot, ranked: list[ranking.Ranked]
) -> tuple[dict[int, tuple[frozenset[str], claim_frame.Frame]], dict[int, frozenset[str]]]:
    """The first turns that begin with something of the speaker, or with where somebody lives whom they name.

    By node the speaker and the frame ("ben: My sister …"), and the words of the names ("ben: Tom told me he lives …").
    """
    found = dict[int, tuple[frozenset[str], claim_frame.Frame]]()
    reported = dict[int, frozenset[str]]()
    for hit in ranked[:LOOKED_AT]:
        if hit.passed.seen.row.type != _TURN or (body := snapshot.body(hit.passed.seen.row)) is None:
            continue
        speaker, _, said = body.content.partition(": ")
        if said[:4].casefold().startswith(("my ", "our ")):
            frame = claim_frame.frame(said[:MAX_CHARACTERS])
            found |= {} if frame is None else {hit.passed.node: (wording.words_of(speaker), frame)}
        elif (told := _HOME_OF_OTHER.match(said)) is not None:
            reported[hit.passed.node] = wording.words_of(" ".join(filter(None, told.groups())))
    return found, reported


_HOME_OF_OTHER: Final = re.compile(
    r"(?!(?:I|He|She|We|They|You|It|Who|That|This)\b)([A-Z][\w'’-]+(?: [A-Z][\w'’-]+)?),? "
    r"(?:(?:told|tells|said|says|mentioned|wrote)(?: to)?(?: me| us)?(?: that)? (?:he|she|they|([A-Z][\w'’-]+)) )?"
    r"(?:(?:has|have|is|now|just|still|currently) )*(?:lives?|living|resides?|moved|relocated)\b"
)
"""What begins with the name of somebody, and says where they live, or that they said so."""


def _has_possessive(text: str) -> bool:
    """False if a statement begins with nothing that belongs to somebody, which is quick to say."""
    return "'" in text or "’" in text or text.casefold().startswith(("my ", "our "))


def _lift_matching_numbers(
    ranked: Sequence[ranking.Ranked], fit_of: Callable[[ranking.Ranked], int], rivals: Sequence[Rivals]
) -> list[ranking.Ranked]:
    """The hits, and before the first that has another number in the place of one that the question names, those of the
    following that have that one; what a later one competes with stays behind that."""
    replaced = {pair.earlier for pair in rivals}
    fitting = [fit_of(hit) for hit in ranked[: ranking.DEPTH]]
    if -1 not in fitting:
        return list(ranked)
    first = fitting.index(-1)
    best = ranked[first].score
    behind = zip(ranked[first:], fitting[first:], strict=False)
    lifted = [hit for hit, fit in behind if fit == 1 and hit.passed.node not in replaced]
    moved = {hit.passed.node for hit in lifted}
    return [
        *ranked[:first],
        *(hit._replace(score=best, parts={**hit.parts, EXACT: best - hit.score}) for hit in lifted),
        *(hit for hit in ranked[first:] if hit.passed.node not in moved),
    ]


def _number_fit(snapshot: visible.VisibleSnapshot, hit: ranking.Ranked, wanted: dict[str, set[str]]) -> int:
    """How a hit's numbers match those of the question; see :func:`worlddb.query.recall.scoring.match_numbers`."""
    body = snapshot.body(hit.passed.seen.row)
    return 0 if body is None else scoring.match_numbers(wanted, f"{body.name}\n{body.content}")


def _is_trusted_less(snapshot: visible.VisibleSnapshot, hit: ranking.Ranked, other: ranking.Ranked) -> bool:
    one, than = (provenance.trust_in(snapshot).share(each.passed.node, each.passed.seen.row) for each in (hit, other))
    return one < than


def _statement_of(snapshot: visible.VisibleSnapshot, hit: ranking.Ranked) -> _Statement | None:
    node, seen = hit.passed[:2]
    if seen.row.type == _TURN:
        return None
    body = snapshot.body(seen.row)
    if body is None or not 0 < len(body.content) <= MAX_CHARACTERS:
        return None
    return _Statement(seen, body.content, frozenset(_referred_to(snapshot, node)))


def _referred_to(snapshot: visible.VisibleSnapshot, node: int) -> Iterator[int]:
    """The worlds that a hit refers to; a turn refers to who speaks."""
    tables, moment = snapshot.tables, snapshot.place.moment
    edges = tables.outgoing(node, _REFERS_TO, known_by=moment.seq)
    return (row.target for place, row in edges if edge_seen(tables, place, row, moment))


def _claims_of_turns(
    snapshot: visible.VisibleSnapshot, ranked: Sequence[ranking.Ranked], question: str, *, alone: bool
) -> dict[int, _Statement]:
    """What the first turns among the hits state of what a question asks, from the first that answers it on.

    What is told of "I", or of the thing that is asked for, is about the speaker. ``alone``: no other hit states
    anything, so one turn has nothing to compete with.
    """
    said = dict[int, _Statement]()
    turns = [hit for hit in ranked[:LOOKED_AT] if hit.passed.seen.row.type == _TURN]
    if len(turns) < (2 if alone else 1) or not (asked := asked_terms.asked_of(question)).all:
        return said
    bodies = [snapshot.body(hit.passed.seen.row) for hit in turns]
    told = [("", "", "") if body is None else body.content.partition(": ") for body in bodies]
    messages = ["" if speaker.casefold() in ASKED else message for speaker, _, message in told]
    claims = [chat_changes.claims_in(message, asked, question) if message else "" for message in messages]
    stated = enumerate(claims)
    first = next((place for place, one in stated if one and (not alone or chat_changes.answers(one, asked))), None)
    if first is None:
        return said
    own = claim_frame.frame(claims[first])
    named = frozenset[str]() if own is None else own.content
    for place, (hit, message) in enumerate(zip(turns, messages, strict=True)):
        # What somebody sold is not called a car again.
        claim = claims[place] or chat_changes.claims_in(message, asked_terms.Asked(named, named))
        if place < first or not 0 < len(claim) <= MAX_CHARACTERS:
            continue
        # A long message that has a word of the question may be about something else.
        if len(message) > MAX_CHARACTERS and not chat_changes.names_asked(claim, asked):
            continue
        if place > first and chat_changes.name_other_things(claims[first], claim, asked):
            continue
        node, seen = hit.passed[:2]
        about = (
            frozenset(_referred_to(snapshot, node)) if chat_changes.is_of_speaker(claim, asked) else frozenset[int]()
        )
        said[node] = _Statement(seen, claim, about, is_turn=True)
    return said


def _changes_told(
    search: "_Search", ranked: Sequence[ranking.Ranked], stated: Mapping[int, _Statement], *, of_plans: bool
) -> tuple[list[Rivals], list[ranking.Ranked]]:
    """The later messages by which the first hit has changed, be it a message of the same speaker or a statement.

    ``of_plans``: only if it is a message of what was still to be, and no time is asked about.

    People name a thing once, and tell in passing what became of it: see :func:`chat_changes.change_told`. They are
    among the first hits, or name what the first one says: those that were not found are given, too.
    """
    gate, question = search.gate, search.request.question.text
    if of_plans and (search.request.question.times or search.request.question.wish):
        return [], []
    hits = [hit for hit in ranked[:LOOKED_AT] if hit.passed.seen.row.type == _TURN or hit.passed.node in stated]
    if not hits or not (asked := asked_terms.asked_of(question)).all:
        return [], []
    told = [each for hit in hits if (each := _Message.of(gate, hit, stated.get(hit.passed.node))).text]
    said = [each for each in told if not each.is_machine]
    if not said or all(not each.speaker for each in said):
        return [], []
    if of_plans and not (said[0].speaker and chat_changes.is_planned(said[0].text)):
        return [], []
    known = {hit.passed.node for hit in ranked}
    added = dict[int, ranking.Ranked]()

    def later(first: _Message, messages: Iterable[_Message]) -> Iterator[tuple[Rivals, _Message]]:
        for each in messages:
            node, seen, *_ = each.hit.passed
            if not each.speaker or not _is_newer(seen, first.hit.passed.seen):
                continue
            if not each.may_change(first, gate) and (
                # Whoever lives with them may say that Frau Wolf teaches them no more.
                first.hit.passed.node in stated
                or each.is_machine
                or not chat_changes.names_old_value(question, asked, first.text, each.text)
            ):
                continue
            is_soon = seen.row.valid_from - first.hit.passed.seen.row.valid_from <= _SOON
            around = partial(_said_around, gate, node)
            change = chat_changes.change_told(question, asked, first.text, each.text, around, is_soon=is_soon)
            if change and (not first.is_machine or each.speaker == _asker(gate, first.hit.passed.node)):
                if node not in known:
                    added[node] = each.hit
                yield Rivals(node, first.hit.passed.node, "replacement", _TOLD, is_unsure=change == "perhaps"), each

    # A reply that says the old value again may be nearer to the question than what it replies to.
    replies = (each for each in told[: told.index(said[0])] if len(each.text) <= MAX_CHARACTERS)
    pairs = [pair for reply in replies for pair, _ in later(reply, said)]
    latest = said[0]
    for _ in range(_MOST_CHANGES):
        found = [*later(latest, said)]
        if all(pair.is_unsure for pair, _ in found):
            named = _naming(search, chat_changes.old_value(question, asked, latest.text))
            found += later(latest, (_Message.of(gate, hit) for hit in named if hit.passed.node not in known))
        pairs += (pair for pair, _ in found)
        sure = [each for pair, each in found if not pair.is_unsure]
        if not sure:
            break
        latest = max(sure, key=lambda each: _start_order(each.hit.passed.seen))
    return pairs, [*added.values()]


_MOST_CHANGES: Final = 3
"""How often what changed is followed: "back to the old one" changes what took its place."""


class _Message(NamedTuple):
    """A hit with who speaks in it and what they say; a statement has no speaker, and is about some worlds."""

    hit: ranking.Ranked
    speaker: str
    text: str
    about: frozenset[int] = frozenset()

    @staticmethod
    def of(gate: candidates.Gate, hit: ranking.Ranked, stated: _Statement | None = None) -> "_Message":
        if stated is not None:
            return _Message(hit, "", stated.text, stated.about)
        body = gate.snapshot.body(hit.passed.seen.row)
        who, _, text = ("", "", "") if body is None else body.content.partition(": ")
        return _Message(hit, who, text)

    @property
    def is_machine(self) -> bool:
        return self.speaker.casefold() in ASKED

    def may_change(self, first: "_Message", gate: candidates.Gate) -> bool:
        """True of a message of who said the first one, or whom a machine may have replied to, or whom it is about."""
        if first.speaker:
            return first.is_machine or self.speaker == first.speaker
        return not first.about.isdisjoint(_referred_to(gate.snapshot, self.hit.passed.node))


def _asker(gate: candidates.Gate, node: int) -> str:
    """Who spoke in a session just before a turn; empty if nobody did."""
    before = [each for each in candidates.turns_around(gate.snapshot, node) if each < node]
    seen = gate.seen(before[-1]) if before else None
    body = None if seen is None else gate.snapshot.body(seen.row)
    return "" if body is None else body.content.partition(": ")[0]


def _naming(search: "_Search", words: str) -> Iterator[ranking.Ranked]:
    """The messages that have some words, as hits that nothing else speaks for."""
    text = search.lanes.text
    if not words or text is None or search.request.fusion != CONVEX or search.request.group is not None:
        return
    fetch = partial(ranking.search_words, text, words, search.window.place.moment.seq)
    for passed in islice(search.gate.passing(fetch, _NAMING, _NAMING), _NAMING):
        if passed.seen.row.type == _TURN:
            yield ranking.Ranked(passed._replace(score=0.0), 0.0, {}, {})


_NAMING: Final = 8
"""How many messages that name the old value of what is asked are looked at."""
_SOON: Final = 48 * 60 * 60 * 1_000_000
"""The microseconds within which a message may correct another one that it does not name."""
_TOLD: Final = "same topic, the later one tells of a change"


def _said_around(gate: candidates.Gate, node: int) -> list[str]:
    """What was said in a session in the two turns before a turn and in the one behind it."""
    found = list[str]()
    for each in candidates.turns_around(gate.snapshot, node):
        seen = gate.seen(each)
        body = None if seen is None or seen.row.type != _TURN else gate.snapshot.body(seen.row)
        if body is not None:
            found.append(body.content.partition(": ")[2])
    return found


def _competing_pairs(
    snapshot: visible.VisibleSnapshot,
    said: dict[int, _Statement],
    until: int = FOREVER,
    asked: str = "",
    question: str = "",
) -> Iterator[Rivals]:
    """The pairs of statements that compete, the better hit first, and those that will after ``until``.

    Of ``asked``, a question of now, also those of which one alone tells what is so now. Those that compete only in
    sentences that ``question`` is not about are left out.
    """
    turns = [node for node, one in said.items() if one.is_turn]
    pairs = (pair for pair in combinations(said, 2) if pair[0] not in turns[1:])
    for (later, new), (earlier, old), subject in _pairs_of_a_subject(snapshot, said, pairs):
        is_loose = bool(old.about and new.about) and old.about.isdisjoint(new.about)
        told = rivalry_of(old.text, new.text, _starts(old, new), subject, until, asked)
        # Of two long claims of turns words tell little.
        if told is None or (old.is_turn and new.is_turn and _are_long(old.text, new.text, subject)):
            continue
        if question and (
            claim_relation.names_only_earlier(question, old.text, new.text, subject)
            or claim_relation.asks_of_rest(old.text, new.text, subject, question)
        ):
            continue
        if (old.is_turn or new.is_turn) and _are_of_others(old, new, question, told[0].doubt):
            continue
        if scoring.names_another(question, old.text, new.text):
            continue
        alike, order = told
        if is_loose and not (alike.is_single_valued or wording.held_words(old.text, new.text)):
            continue
        if order in ("beside", "swapped"):
            first, last = (later, earlier) if order == "swapped" else (earlier, later)
            yield Rivals(last, first, "compatible", "", is_beside=True)
        # What says of something what it was made of does not take its place.
        elif not provenance.is_derived_from(snapshot, later, new.seen.row, earlier):
            yield Rivals(later, earlier, alike.relation, alike.reason, order == "plan", doubt=alike.doubt)


def _are_of_others(old: _Statement, new: _Statement, question: str, doubt: str) -> bool:
    """True if a turn beside a statement or another turn says the same time, or what was not asked for.

    ``doubt`` is why the later one may be of another thing, which it is unless it tells what is asked.
    """
    if chat_changes.agree_in_times(question, old.text, new.text):
        return True
    asked = asked_terms.asked_of(question) if question and new.is_turn else None
    if asked is None:
        return False
    if doubt and not chat_changes.may_answer(new.text, asked):
        return True
    return chat_changes.changes_another(question, asked, old.text, new.text)


def _are_long(earlier: str, later: str, subject: frozenset[str]) -> bool:
    known, given = claim_frame.frame(earlier, subject), claim_frame.frame(later, subject)
    return known is not None and given is not None and claim_pairs.are_long(known, given)


_Told = tuple[int, _Statement]
"""The node of a statement, and the statement."""


def _pairs_of_a_subject(
    snapshot: visible.VisibleSnapshot, said: dict[int, _Statement], pairs: Iterable[tuple[int, int]]
) -> Iterator[tuple[_Told, _Told, frozenset[str]]]:
    """Those pairs of statements that are about one subject and did not begin together, the later one first.

    With the words that name the subject.
    """
    called: dict[int, frozenset[str]] = {}
    around: dict[int, frozenset[int]] = {}
    words = {node: wording.leading_subject(one.text) for node, one in said.items()}
    holders = {node for node, one in said.items() if not one.is_turn and wording.holding(one.text) is not None}
    for node, other_node in pairs:
        one, other = said[node], said[other_node]
        shared = one.about & other.about
        mine, theirs = words[node], words[other_node]
        has_turn = one.is_turn or other.is_turn
        are_two = has_turn and one.about and other.about
        # Of what one has at a time each other one is told who has it.
        may_hold = not shared and node in holders and other_node in holders
        held = wording.held_words(one.text, other.text) if may_hold else frozenset()
        is_of_two = are_two or mine.isdisjoint(theirs) or not _may_be_of_one(snapshot, one, other)
        if not shared and not held and is_of_two:
            continue
        if wording.share_family_name(one.text, other.text):
            continue
        for each in () if shared else (node, other_node):
            if each not in around:
                around[each] = _containers_of(snapshot, each)
                if said[each].is_turn:
                    # What is said in a talk is said in what the talk lies in.
                    around[each] |= frozenset().union(*(_containers_of(snapshot, talk) for talk in around[each]))
        if not shared and around[node].isdisjoint(around[other_node]):
            # A name, or "I", is somebody else where somebody else keeps notes.
            continue
        if one.is_turn != other.is_turn and one.seen.row.valid_from == other.seen.row.valid_from:
            # What was taken from a message holds from when that was said.
            continue
        is_one = shared or held or wording.names_agree(mine, theirs)
        if _start_order(one.seen) == _start_order(other.seen) or not is_one:
            continue
        for each in shared - called.keys():
            called[each] = _name_words(snapshot, each)
        subject = frozenset[str]().union(*(called[each] for each in shared))
        if shared and one.is_turn and other.is_turn and len(mine | theirs) == 1:
            # "The rent is 900" and "the landlord raised the rent" are of who speaks.
            subject |= {"i"}
        elif held:
            subject = held
        elif not shared or wording.names_agree(mine, theirs):
            # Who is told to be Ana may be "my" in what is said of her.
            subject |= wording.shared_subject(mine, theirs)
        if shared and has_turn:
            subject |= (mine | theirs) & {"i"}
        pair = ((node, one), (other_node, other))
        yield (*(pair if _is_newer(one.seen, other.seen) else pair[::-1]), subject)


def _may_be_of_one(snapshot: visible.VisibleSnapshot, one: _Statement, other: _Statement) -> bool:
    """True if two statements that refer to different worlds, or of which one refers to none, may be about one subject.

    Both begin with its name, "I" or "my". If both refer to something, they tell what a person has one of. Two worlds of
    that name are two.
    """
    if not (one.about or other.about):
        return True
    if not wording.begin_alike(one.text, other.text):
        return False
    if not (one.about and other.about):
        return True
    names = [(wording.leading_subject(each.text), each.about) for each in (one, other)]
    is_two = all(any(name <= _name_words(snapshot, node) for node in about) for name, about in names)
    return not is_two and claim_frame.tell_of_person(one.text, other.text)


def _lift_update(
    search: "_Search", ranked: list[ranking.Ranked], said: dict[int, _Statement], until: int
) -> list[ranking.Ranked]:
    """The hits, the latest of those first that may be an update of the first: near it in meaning, and about as good.

    Of long statements only, since of short ones the words tell, and for questions of now without a time. It decides
    nothing: the hit that was the first is the next.
    """
    first, snapshot, vector, asked = ranked[0], search.snapshot, search.lanes.vector, search.request.question
    top = first.passed.node
    if vector is None or top not in said or asked.times or not _asks_of_now(asked):
        return ranked
    least = (1 - ABOUT_AS_GOOD) * first.score
    close = [hit.passed.node for hit in ranked[1:LOOKED_AT] if hit.score >= least and hit.passed.node in said]
    pairs = [(top, node) for node in close if said[node].seen.row.valid_from > said[top].seen.row.valid_from]
    if not pairs:
        return ranked
    hits = {hit.passed.node: hit for hit in ranked[:LOOKED_AT]}
    own = vector.like((top, first.passed.seen.number), snapshot.vector)
    cosines = {} if own is None else own.scores([(node, said[node].seen.number) for _, node in pairs])
    updates = [
        node
        for (node, new), (_, old), subject in _pairs_of_a_subject(snapshot, said, pairs)
        if _is_update(old, new, subject, until, asked.text, cosines.get((node, new.seen.number)))
        and not provenance.is_derived_from(snapshot, node, new.seen.row, top)
        and not (search.request.trust_weight > 0 and _is_trusted_less(snapshot, hits[node], first))
    ]
    if not updates:
        return ranked
    latest = max(updates, key=lambda node: _start_order(said[node].seen))
    lifted = next(hit for hit in ranked if hit.passed.node == latest)
    parts = {**lifted.parts, UPDATED: first.score - lifted.score}
    rest = [hit for hit in ranked if hit.passed.node != latest]
    return [lifted._replace(score=first.score, parts=parts), *rest]


ABOUT_AS_GOOD: Final = 0.15
"""The share of the best hit's score by which another one may be behind and answer about as well."""
_UNTIL_NOW: Final = re.compile(r"^(?!.*\b(?:did|was|were|had|before|when|until)\b).*\b(?:have|has)\b", re.I | re.S)
"""The present perfect, of what is so until now: "how long have I been using it"."""


def _asks_of_now(question: Question) -> bool:
    return question.asks_of != "ahead" and (question.asks_of != "past" or _UNTIL_NOW.match(question.text) is not None)


def _is_update(
    old: _Statement, new: _Statement, subject: frozenset[str], until: int, asked: str, cosine: float | None
) -> bool:
    """True if two statements are long and near in meaning, and their words put neither of them first."""
    known, given = claim_frame.frame(old.text, subject), claim_frame.frame(new.text, subject)
    if cosine is None or known is None or given is None or not claim_pairs.are_long(known, given):
        return False
    is_near = claim_pairs.nearness(known, given, cosine) >= claim_pairs.MEANT_FROM
    return is_near and rivalry_of(old.text, new.text, _starts(old, new), subject, until, asked) is None


Order = Literal["later", "plan", "beside", "swapped"]
"""Which of two statements comes first: the later one; the earlier one, since the later is a plan, or tells what was or
may be; or the later one, since it tells what is so now, and the earlier does not."""


def rivalry_of(
    earlier: str, later: str, starts: tuple[int, int], subject: frozenset[str], until: int, asked: str
) -> tuple[claim_pairs.ClaimComparison, Order] | None:
    """How two statements of a subject compete, or do after ``until``, and their order; ``None`` if they do not.

    They hold from ``starts`` on. Of ``asked``, a question of now, also where only one of them tells what is so
    now. A plain tuple, since ten hits have 45 pairs.
    """
    told = [wording.without_beginning(text) for text in (earlier, later)]
    known, given = (claim_frame.frame(text, subject) for text in told)
    if known is None or given is None:
        return None
    alike = claim_relation.relate(known, given)
    if asked and (alike is None or alike.relation not in claim_pairs.COMPETING):
        if claim_relation.tells_less_of_now(known, given, asked):
            return alike or _BESIDE, "beside"
        if claim_relation.tells_less_of_now(given, known, asked):
            return alike or _BESIDE, "swapped"
    since = starts[1]
    is_plan = starts[0] <= until < since or (until < FOREVER and _is_plan(known, given, later, since, until))
    if alike is not None and alike.relation in claim_pairs.COMPETING:
        return alike, "plan" if is_plan else "later"
    return (alike or _BESIDE, "plan") if is_plan and _tell_of_one(known, given) else None


def _starts(earlier: _Statement, later: _Statement) -> tuple[int, int]:
    return earlier.seen.row.valid_from, later.seen.row.valid_from


_BESIDE: Final = claim_pairs.ClaimComparison(0.0, "compatible", "")


def _tell_of_one(earlier: claim_frame.Frame, later: claim_frame.Frame) -> bool:
    """True if both say, with one verb, something that has one value at a time (where somebody lives), or of one thing
    (to which gym they go)."""
    is_of_one = not (earlier.content & later.content).isdisjoint(later.content - {later.verb})
    return bool(later.verb) and earlier.verb == later.verb and (later.verb in lexicon.single_verbs() or is_of_one)


def _is_plan(earlier: claim_frame.Frame, later: claim_frame.Frame, text: str, said: int, until: int) -> bool:
    """True if a statement tells what will be so after a time, by its words, and the earlier one what is."""
    begins = question_dates.begin_named(text, said)
    if begins is not None:
        return begins > until
    return later.mood == "will" and not earlier.mood and bool(later.verb) and "schedule" not in later.attributes


def _containers_of(snapshot: visible.VisibleSnapshot, node: int) -> frozenset[int]:
    """The worlds that contain a statement directly."""
    return frozenset(snapshot.containers(node))


def _name_words(snapshot: visible.VisibleSnapshot, node: int) -> frozenset[str]:
    """The words of a world's name."""
    seen = newest_version(snapshot.tables, node, snapshot.place.moment.seq)
    body = None if seen is None else snapshot.body(seen.row)
    return frozenset() if body is None else wording.words_of(body.name)


def _start_order(seen: SeenVersion) -> tuple[int, int]:
    return seen.row.valid_from, seen.row.seq


def add_superseded(
    snapshot: visible.VisibleSnapshot, earlier: candidates.Gate, ranked: Sequence[ranking.Ranked], k: int
) -> list[ranking.Ranked]:
    """The hits, each of the first ``k`` followed by the worlds that it has superseded.

    Only what ``earlier`` lets through is shown.
    """
    found: dict[int, ranking.Ranked] = {}
    for place, hit in enumerate(ranked):
        found.setdefault(hit.passed.node, hit)
        for node, seen in _superseded(snapshot, earlier, hit.passed.node) if place < k else ():
            found.setdefault(
                node, ranking.Ranked(candidates.Passed(node, seen, 0.0), hit.score, {}, {SUPERSEDED: hit.score})
            )
    return list(found.values())


def show_past_versions(
    snapshot: visible.VisibleSnapshot,
    then: Sequence[candidates.Gate],
    ranked: Sequence[ranking.Ranked],
) -> list[ranking.Ranked]:
    """The hits, and before each what it took the place of, if that held at a time in the question and the hit did not.

    A world that says something else by now is shown as it was then, but for turns of a conversation: who corrects one
    says what was said. ``then`` let through what held at one of the times.
    """
    found: dict[int, ranking.Ranked] = {}
    for hit in ranked:
        node, seen, *_ = hit.passed
        for gate in then:
            if gate.choice.admits(snapshot.place.moment, seen.validity):
                continue
            for other, held in _superseded(snapshot, gate, node):
                passed = candidates.Passed(other, held, 0.0)
                found.setdefault(other, ranking.Ranked(passed, hit.score, {}, {THEN: hit.score}))
            own = gate.seen(node) if seen.row.type != _TURN else None
            if own is not None and snapshot.body(own.row) is not None:
                hit = hit._replace(passed=hit.passed._replace(seen=own), parts={**hit.parts, THEN: 0.0})
                break
        found.setdefault(node, hit)
    return list(found.values())


def find_past_times(request: Request, now: int) -> list[valid_period.Period]:
    """The past times in the question, if only the present is shown.

    Of a time that includes now, the past part counts if the question is about the past: "where did she live in 2026?",
    asked in 2026.
    """
    named = request.question.times
    if not named or request.choice != valid_period.Choice():
        return []
    asks_past = request.question.asks_of == "past" and not request.question.is_remark
    past = (Interval(span[0], min(span[1], now)) for span in named if span[1] <= now or (asks_past and span[0] < now))
    return [valid_period.Period(span, throughout=False) for span in past]


def asks_about_past(request: Request) -> bool:
    """True if a question is one of the past that names no time, where only the present is shown."""
    question = request.question
    if request.choice not in (valid_period.Choice(), _WITH_EARLIER) or question.asks_of != "past":
        return False
    return not (question.times or question.is_remark or question.asks_for_present)


_WITH_EARLIER: Final = valid_period.Choice(earlier=True)
"""What is shown where a question asks what was before."""


def _asks_of_begun_times(question: Question, now: int) -> bool:
    """True if a question names times that have begun: "in May", of the past, or of now if that is in May."""
    if not question.times or question.is_remark:
        return False
    is_past = question.asks_of == "past"
    return all(span.start <= now and (is_past or now < span.end) for span in question.times)


def plan_horizon(question: Question, now: int) -> int:
    """The time up to which statements answer a question: now, the end of its times, or forever.

    Of a question about the past, what takes a place after its times answers it no more than a plan does.
    """
    if question.asks_of == "ahead":
        return FOREVER
    ends = [span.end - 1 for span in question.times]
    return max(ends) if ends and question.asks_of == "past" else max((now, *ends))


def words_of_now(question: Question) -> str:
    """The text of a question that may ask for what is so now; empty for others."""
    return "" if question.asks_of in ("past", "ahead") else question.text


def has_past_version(
    snapshot: visible.VisibleSnapshot,
    earlier: candidates.Gate,
    shown: Iterable[ranking.Ranked],
    past: Sequence[valid_period.Period],
) -> bool:
    """True if a hit replaced something that held at one of these times, or is what did.

    Only what ``earlier`` lets through counts.
    """
    tables, moment = snapshot.tables, snapshot.place.moment
    for hit in shown:
        if THEN in hit.parts:
            return True
        before = (seen for _, seen in _superseded(snapshot, earlier, hit.passed.node))
        if any(period.admits(seen.validity) for seen in before for period in past):
            return True
        own = (seen for period in past for seen in valid_period.versions_in(tables, hit.passed.node, moment, period))
        if any(seen.number != hit.passed.seen.number and snapshot.body(seen.row) is not None for seen in own):
            return True
    return False


def _contradicting_worlds(
    snapshot: visible.VisibleSnapshot, spec: edge_rules.Spec, node: int, period: valid_period.Period | None
) -> Iterator[int]:
    for place, row in build.conflicts_of(snapshot, node, snapshot.place.moment, spec, period):
        yield row.target if place.source == node else place.source


def _is_newer(one: SeenVersion, other: SeenVersion) -> bool:
    """By its valid time, then by its time of writing."""
    return _start_order(one) > _start_order(other)


def _superseded(
    snapshot: visible.VisibleSnapshot, earlier: candidates.Gate, node: int
) -> Iterator[tuple[int, SeenVersion]]:
    """The worlds that a world has superseded, directly or through others, nearest first."""
    tables, moment = snapshot.tables, snapshot.place.moment
    visited, pending, given = {node}, [node], 0
    for here in pending:
        for place, row in tables.outgoing(here, _SUPERSEDES, known_by=moment.seq):
            if row.target in visited or not edge_seen(tables, place, row, moment):
                continue
            visited.add(row.target)
            pending.append(row.target)
            seen = earlier.seen(row.target)
            if seen is not None and snapshot.body(seen.row) is not None:
                yield row.target, seen
                given += 1
            if given == _MAX_SUPERSEDED:
                return


SHARPNESS: Final = 20.0
"""By how much of the best score of all, divided by this, a group gains when it has e times as much; chosen on one half
of the development questions and judged on the other, see docs/retrieval.md."""


class Grouped(NamedTuple):
    """A world with the hits that it contains directly, best first, and their number."""

    node: int
    score: float
    size: int
    hits: list[ranking.Ranked]


def group_by_container(
    snapshot: visible.VisibleSnapshot,
    inside: int,
    ranked: Sequence[ranking.Ranked],
    classes: world_lookup.IdentityClasses | None,
) -> list[Grouped]:
    """The containers of the hits inside the world that is searched, best first.

    Ties are in the order of their best hits.

    A hit directly in the searched world is its own group. A hit that contains other hits counts for its own group
    too, like a title. With ``classes`` containers of one identity are one group, and a group has of each identity the
    best hit.
    """
    scope = snapshot.scope(inside)
    nodes = [hit.passed.node for hit in ranked]
    around = {node: [each for each in snapshot.containers(node) if scope.holds(each)] for node in nodes}
    containing = {container for containers in around.values() for container in containers}
    found: dict[int, Grouped] = {}
    held: set[tuple[int, int]] = set()
    for node, hit in zip(nodes, ranked, strict=True):
        of_its_own = [node] if node in containing or not around[node] else []
        for container in (*of_its_own, *around[node]):
            group = _class_of(classes, container)
            if (group, _class_of(classes, node)) not in held:
                held.add((group, _class_of(classes, node)))
                found.setdefault(group, Grouped(container, 0.0, 0, [])).hits.append(hit)
    most = max((hit.score for hit in ranked), default=0.0)
    scored = [
        group._replace(score=soft_maximum((hit.score for hit in group.hits), most), size=len(group.hits))
        for group in found.values()
    ]
    return sorted(scored, key=lambda group: -round(group.score, 6))


class HitGroup(NamedTuple):
    """Hits that have a key in common, best first.

    ``score`` is the soft maximum of theirs, as that of a :class:`~worlddb.query.records.records.Group` is.
    """

    key: Any
    score: float
    hits: tuple[Hit, ...]


def group_hits(hits: Iterable[Hit], keys: Callable[[Hit], Iterable[Hashable]]) -> list[HitGroup]:
    """The hits of a recall in groups of the caller's own: by thread, by day, by speaker.

    ``keys`` gives what groups a hit is in, each named by anything hashable; a hit without one is left out. The best
    group comes first, ties are in the order of their best hits. Recall by containers is ``recall(group=...)``, which
    looks at more candidates than it shows.
    """
    found: dict[Hashable, list[Hit]] = {}
    for hit in hits:
        for key in dict.fromkeys(keys(hit)):
            found.setdefault(key, []).append(hit)
    most = max((hit.score for each in found.values() for hit in each), default=0.0)
    scored = [
        HitGroup(key, soft_maximum((hit.score for hit in each), most), tuple(each)) for key, each in found.items()
    ]
    return sorted(scored, key=lambda group: -round(group.score, 6))


def _class_of(classes: world_lookup.IdentityClasses | None, node: int) -> int:
    """What stands for a node and for all that are one with it."""
    return node if classes is None else min(classes.members(node))


def soft_maximum(scores: Iterable[float], most: float) -> float:
    """The soft maximum of scores: at least the highest, and more where others come close.

    It is the logarithm of the sum of the scores' exponentials, in units of ``most`` (the best of all scores) divided by
    :data:`SHARPNESS`, and by ln n units more than the highest where n are equally high.
    """
    given = list(scores)
    best = max(given)
    if most <= 0:
        return best
    unit = most / SHARPNESS
    return best + unit * log(sum(exp((score - best) / unit) for score in given))


_WIDER: Final = 4
"""The factor by which more hits are ranked if several share an identity or there are few groups."""
_MAX_GROUPED_HITS: Final = 512
"""How many hits are ranked at most where there are too few groups of them; or 16 for each group."""


def _find_nothing(node: int) -> None:
    """Find no candidate: all of them are among the hits, or a lane was asked alone."""


class Found(NamedTuple):
    """The hits, the lanes that they come from, and the groups of them, if groups are asked for.

    ``find`` looks up a candidate that was not good enough. ``rivals`` compete, the later one among the hits.
    ``passed_forks``: something was left out since it lies in a fork. ``left_out``: something may be shown at another
    time that is not shown at this one. ``whole`` gives all hits that are wanted, where these are the first of them.
    ``behind`` come next, up to :data:`LOOKED_AT` with the hits: an answer is judged by the same ones, however few are
    wanted.
    """

    ranked: list[ranking.Ranked]
    lanes: tuple[str, ...]
    groups: list[Grouped] | None = None
    find: Callable[[int], ranking.Ranked | None] = _find_nothing
    rivals: tuple[Rivals, ...] = ()
    passed_forks: bool = False
    left_out: bool = True
    whole: Callable[[], list[ranking.Ranked]] | None = None
    behind: Sequence[ranking.Ranked] = ()

    def shown(self) -> Iterator[ranking.Ranked]:
        """The hits in the order in which they are shown."""
        return iter(self.ranked) if self.groups is None else (hit for group in self.groups for hit in group.hits)


def begin_search(window: Window, request: Request, text: TextLane) -> None:
    """Begin the first search of the text lane, if it is known before anything was read."""
    if request.world is None and not window.unify and TEXT in request.lanes and VECTOR in request.lanes:
        limit = text.fetched_for(ranking.depth_for(request.k))
        text.begin(request.compared_text, limit=limit, through=window.place.moment.seq)


def retrieve(
    window: Window, snapshot: visible.VisibleSnapshot, request: Request, about: candidates.Named, lanes: ranking.Lanes
) -> Found:
    """The best candidates; where identities are unified, the best of each identity."""
    if request.group is not None:
        return _find_groups(window, snapshot, request, about, lanes)
    if not window.unify:
        return _find(window, snapshot, request, about, lanes)
    asked = wanted = max(request.k, LOOKED_AT)
    while True:
        asked = min(MAX_K, _WIDER * asked)
        found = _find(window, snapshot, request._replace(k=asked), about, lanes)
        classes = world_lookup.IdentityClasses(snapshot, window.spec)
        best = [ranked for ranked in found.ranked if classes.is_new(ranked.passed.node)][:wanted]
        if len(best) == wanted or len(found.ranked) < asked or asked == MAX_K:
            return found._replace(ranked=best[: request.k], behind=best[request.k :])


def searched_world(window: Window, snapshot: visible.VisibleSnapshot, request: Request) -> int:
    """The world that is searched."""
    top = snapshot.place.top
    return (
        top
        if request.world is None
        else world_lookup.named_node(snapshot, window.spec, request.world, unify=window.unify)
    )


def _find_groups(
    window: Window, snapshot: visible.VisibleSnapshot, request: Request, about: candidates.Named, lanes: ranking.Lanes
) -> Found:
    """The best groups of all candidates; asks for more hits while there are too few groups."""
    asked, most = request.k, min(MAX_K, max(_MAX_GROUPED_HITS, _WIDER * _WIDER * request.k))
    inside, before = searched_world(window, snapshot, request), -1
    while True:
        found = _find(window, snapshot, request._replace(k=asked), about, lanes)
        classes = world_lookup.IdentityClasses(snapshot, window.spec) if window.unify else None
        groups = group_by_container(snapshot, inside, found.ranked, classes)[: request.k]
        if len(groups) == request.k or len(found.ranked) == before or asked == most:
            return found._replace(groups=[group._replace(hits=group.hits[: request.group]) for group in groups])
        asked, before = min(most, _WIDER * max(asked, ranking.DEPTH // 2)), len(found.ranked)


class _Search(NamedTuple):
    """A search: what it goes through, what its question asks of the order of the hits, and how deep it looks.

    ``gate_of`` makes the gate of another time than that of ``gate``. ``looked_at`` hits are ranked for any number of
    wanted ones, so that the answer to fewer is the beginning of that to more; ``statements``, which may be more, where
    a candidate is a statement. ``compares``: competing statements are put in order. ``numbers``, ``past`` and
    ``before`` are the numbers, the past times and the event that the question names, ``previous`` and ``state`` are
    what :attr:`Question.asks_previous` and :func:`asked_terms.asked_state` give. ``asks_all``: it says no more than
    whom and when.
    """

    window: Window
    request: Request
    about: candidates.Named
    lanes: ranking.Lanes
    guiding: ranking.Guiding
    gate_of: Callable[[valid_period.Choice], candidates.Gate]
    gate: candidates.Gate
    looked_at: int
    statements: int
    compares: bool
    numbers: dict[str, set[str]]
    past: Sequence[valid_period.Period]
    before: str
    previous: str
    state: tuple[frozenset[str], frozenset[str]] | None
    asks_all: bool

    @property
    def snapshot(self) -> visible.VisibleSnapshot:
        return self.gate.snapshot

    @property
    def shows_all(self) -> bool:
        """True if all that were ranked are shown, for groups of them."""
        return self.request.group is not None or self.request.covers is not None

    def rank(self, gate: candidates.Gate, lanes: ranking.Lanes) -> Found:
        """The best candidates that a gate admits, as many as the rules read."""
        return self._ranked(self.request._replace(k=self.looked_at), gate, lanes)

    def first_rank(self, weighings: Sequence["_Weighing"]) -> Found:
        """The best candidates before any rule puts them in another order: more of them where some may be left out or
        fall behind, and only the first where a number is asked for, which is seldom among the rest alone."""
        if weighings or self.request.siblings is not None:
            k = min(MAX_K, _WIDER * max(self.looked_at, self.statements))
            return self._ranked(self.request._replace(k=k, decay=None), self.gate, self.lanes)
        # One more than is wanted tells that there are more.
        first = max(self.request.k + 1, LOOKED_AT) if self.numbers else None
        return self._ranked(self.request._replace(k=self.looked_at), self.gate, self.lanes, first)

    def _ranked(self, request: Request, gate: candidates.Gate, lanes: ranking.Lanes, first: int | None = None) -> Found:
        return _ranked(self.snapshot, gate, request, self.about, lanes, self.guiding, first, self.statements)


def _plan(
    window: Window, snapshot: visible.VisibleSnapshot, request: Request, about: candidates.Named, lanes: ranking.Lanes
) -> _Search:
    """What is searched for a request, and what its question asks of the order of the hits."""
    fitting = None if request.filters is None else filters.Filter(snapshot, window.spec, request.filters)
    inside = searched_world(window, snapshot, request)

    def gate_of(choice: valid_period.Choice) -> candidates.Gate:
        return candidates.Gate(snapshot, inside, choice, request.least_trust, fitting, memories=True)

    gate, choice, is_grouped = gate_of(request.choice), request.choice, request.group is not None
    shows_now = not is_grouped and choice == valid_period.Choice()
    without_times = request.question.without_times
    shows_earlier = not is_grouped and choice.earlier and not choice.include_superseded
    before, previous = (request.question.asks_before, request.question.asks_previous) if shows_earlier else ("", "")
    # "Does she still drive it?" asks of now, and what was before is shown beside that.
    asks_of_both = shows_earlier and choice == valid_period.Choice(earlier=True) and not (before or previous)
    adds_up = not is_grouped and request.covers is None and request.fusion == CONVEX
    numbers = scoring.find_numbers(without_times) if adds_up else {}
    past = find_past_times(request, snapshot.place.moment.valid) if shows_now else []
    asks_of_time = shows_now and _asks_of_begun_times(request.question, snapshot.place.moment.valid)
    state = asked_terms.asked_state(without_times) if asks_of_time else None
    asks_all = bool(past) and asked_terms.has_only_light_words(without_times)
    compares = shows_now or asks_of_both
    looked_at = max(
        request.k,
        LOOKED_AT if compares or before or previous or adds_up else 0,
        ranking.DEPTH if numbers else 0,
        _LOOKED_AT_THEN if asks_all else 0,
    )
    return _Search(
        window=window,
        request=request,
        about=about,
        lanes=lanes,
        guiding=_find_guides(window, gate, lanes, request),
        gate_of=gate_of,
        gate=gate,
        looked_at=looked_at,
        # Only a statement tells a state.
        statements=max(looked_at, _LOOKED_AT_THEN) if state else looked_at,
        compares=compares,
        numbers=numbers,
        past=past,
        before=before,
        previous=previous,
        state=state,
        asks_all=asks_all,
    )


def _find(
    window: Window, snapshot: visible.VisibleSnapshot, request: Request, about: candidates.Named, lanes: ranking.Lanes
) -> Found:
    """The best candidates of the lanes, put in order by each of :data:`_RULES`; for groups, all that were ranked."""
    search = _plan(window, snapshot, request, about, lanes)
    weighings = _weighings(snapshot, request)
    found = search.first_rank(weighings)
    for weighing in weighings:
        found = _apply_weighing(found, weighing)
    for rule in _RULES:
        found = rule(search, found)
    ranked = found.ranked if search.shows_all else found.ranked[: request.k]
    behind = () if search.shows_all else found.ranked[request.k : LOOKED_AT]
    shown = {hit.passed.node for hit in ranked} if found.rivals else ()
    # Of what may have changed the note tells, however few hits are wanted.
    rivals = tuple(pair for pair in found.rivals if (pair.earlier if pair.is_unsure else pair.later) in shown)
    gate = search.gate
    # Those that are listed or looked into are who lies in a world now, or refers to somebody now.
    is_of_now = not gate.is_open or gate.members is not None
    left_out = is_of_now or lanes.over is not None or gate.left_out_any
    return found._replace(
        ranked=ranked, behind=behind, rivals=rivals, passed_forks=gate.passed_forks, left_out=left_out
    )


def _keep_best_of_siblings(search: _Search, found: Found) -> Found:
    """Show the best hit of each world, and others of it only if they come near enough in meaning, as is asked for."""
    least = search.request.siblings
    if least is None or VECTOR not in found.lanes:
        return found
    return found._replace(ranked=_drop_siblings(search.snapshot, search.gate.inside, found.ranked, least))


def _put_newer_first(search: _Search, found: Found) -> Found:
    """Put the newer of two facts that contradict each other first, and the later of two statements that compete.

    Only the newer one holds, though an older one may have more of the question's words.
    """
    snapshot, request = search.snapshot, search.request
    # Those behind the wanted hits are looked at as well, since the answer is judged by them.
    first = max(request.k, LOOKED_AT)
    ranked = lift_newer_facts(snapshot, search.window.spec, search.gate, found.ranked, first, found.find)
    # To put some before others changes which there are where some are left out.
    if not search.compares or not (request.in_order or len(ranked) > request.k):
        return found._replace(ranked=ranked, rivals=())
    said = {hit.passed.node: one for hit in ranked[:LOOKED_AT] if (one := _statement_of(snapshot, hit)) is not None}
    asker = search.about.user_name if search.about.is_of_user else ""
    own = _lift_own_statements(snapshot, ranked, said, request.question.text, asker)
    until, asked = plan_horizon(request.question, snapshot.place.moment.valid), words_of_now(request.question)
    past = request.question.asks_of == "past" and not _asks_of_now(request.question)
    claims = {} if past else _claims_of_turns(snapshot, own, request.question.text, alone=not said)
    # What somebody has done, as far as it is not counted, is no state that changes, though it may have been planned.
    is_event = request.question.asks_of == "past" and not request.question.answer_form.number
    changes, added = _changes_told(search, own, said, of_plans=past or is_event)
    kept, rivals = lift_later_statements(
        snapshot,
        [*own, *added],
        said | claims,
        until=until,
        by_trust=request.trust_weight > 0,
        asked=asked,
        question=request.question.text,
        changes=changes,
    )
    # What was looked up to be put beside a hit, and was not (it is trusted less), is none.
    kept = [hit for hit in kept if hit.parts] if added else kept
    kept = _lift_update(search, kept, said | claims, until) if kept else kept
    kept = _lift_derived_statements(snapshot, kept, request.question.text)
    if request.fusion == CONVEX:
        kept = _put_replies_behind(snapshot, kept, search.about, request.question.text)
    return found._replace(ranked=kept, rivals=rivals)


def _put_asked_number_first(search: _Search, found: Found) -> Found:
    """Put what has the number that is asked for before what has another: meeting 5 is not meeting 6, which is as near.

    It is looked for among all hits only where another number is among the first.
    """
    numbers = search.numbers
    if not numbers:
        return found
    known = dict[int, int]()

    def fit_of(hit: ranking.Ranked) -> int:
        node = hit.passed.node
        if node not in known:
            known[node] = _number_fit(search.snapshot, hit, numbers)
        return known[node]

    if found.whole is not None and any(fit_of(hit) < 0 for hit in found.ranked):
        found = _put_newer_first(search, found._replace(ranked=found.whole()))
    return found._replace(ranked=_lift_matching_numbers(found.ranked, fit_of, found.rivals))


def _show_history(search: _Search, found: Found) -> Found:
    """Show after each hit what it superseded, and before an event that is named what held until then, where a question
    asks for change."""
    if not search.request.choice.earlier or not search.request.question.asks_for_change:
        return found
    superseded = search.gate_of(valid_period.Choice(include_superseded=True))
    ranked = add_superseded(search.snapshot, superseded, found.ranked, search.looked_at)
    if search.previous:
        return found._replace(ranked=_lift_previous(search, ranked))
    return found._replace(ranked=_lift_predecessors(search, ranked) if search.before else ranked)


def _put_what_held_then_first(search: _Search, found: Found) -> Found:
    """Put what held at a past time that is named in the place of what holds now."""
    if not search.past:
        return found
    snapshot = search.snapshot
    then = [search.gate_of(valid_period.Choice(period=period)) for period in search.past]
    ended = _find_ended(search, then)
    ranked = show_past_versions(snapshot, then, sorted([*found.ranked, *ended], key=lambda hit: -round(hit.score, 6)))
    if search.asks_all:
        # Of what somebody did in a week, what began and ended in it comes first.
        ranked.sort(key=lambda hit: not any(each.span.covers(hit.passed.seen.validity) for each in search.past))
    return found._replace(ranked=ranked)


def _put_asked_state_first(search: _Search, found: Found) -> Found:
    """Put the state that is asked for first, if the question names a time: a deadline in May is nearer to May."""
    if search.state is None:
        return found
    now = search.snapshot.place.moment.valid
    spans = [Interval(span.start, min(span.end, now + 1)) for span in search.request.question.times]
    then = [search.gate_of(valid_period.Choice(period=valid_period.Period(span, throughout=False))) for span in spans]
    return found._replace(ranked=_lift_asked_states(search.snapshot, then, found.ranked, *search.state))


def _add_what_is_over(search: _Search, found: Found) -> Found:
    """Add what came to its own end, where a question of the past names no time: it may be what is asked for.

    Where it asks what was before, that is also what was retired.
    """
    if search.request.group is not None or not asks_about_past(search.request):
        return found
    return found._replace(ranked=_merge_ended(search, found.ranked))


_RULES: Final[tuple[Callable[[_Search, Found], Found], ...]] = (
    _keep_best_of_siblings,
    _put_newer_first,
    _put_asked_number_first,
    _show_history,
    _put_what_held_then_first,
    _put_asked_state_first,
    _add_what_is_over,
)
"""What changes the order of the ranked hits, or which there are, each where the question asks for it; first to last."""


def _find_ended(search: _Search, then: Sequence[candidates.Gate]) -> list[ranking.Ranked]:
    """What held at a time in the question and has ended since without a replacement, best first.

    Turns of a conversation are left out, and hidden worlds stay hidden.
    """
    gate, lanes = search.gate, search.lanes
    if lanes.over is None and not gate.left_out_any:
        return []
    snapshot, found = gate.snapshot, dict[int, ranking.Ranked]()
    for one in then:
        for hit in search.rank(one, lanes if lanes.over is None else lanes.over(one.choice)).ranked:
            node, seen, *_ = hit.passed
            if gate.seen(node) is None and seen.row.type != _TURN and not snapshot.hides(node, None):
                found.setdefault(node, hit._replace(parts={**hit.parts, THEN: 0.0}))
    return [hit for hit in found.values() if snapshot.body(hit.passed.seen.row) is not None]


_LOOKED_AT_THEN: Final = 64
"""The number of best hits among which states and events at a time in the question are searched."""


def _lift_asked_states(
    snapshot: visible.VisibleSnapshot,
    then: Sequence[candidates.Gate],
    ranked: list[ranking.Ranked],
    words: frozenset[str],
    telling: frozenset[str],
) -> list[ranking.Ranked]:
    """Put statements first that say of the person in the question what it asks for, and held at its time.

    Events of that time have more of its words: "what did Mira do in November" is not where she lived.
    """
    moment, said = snapshot.place.moment, dict[int, ranking.Ranked]()
    for hit in ranked[:_LOOKED_AT_THEN]:
        seen = hit.passed.seen
        body = None if seen.row.type == _TURN else snapshot.body(seen.row)
        if body is None or not any(gate.choice.admits(moment, seen.validity) for gate in then):
            continue
        if len(body.content) <= MAX_CHARACTERS and asked_terms.tells_state(body.content, words, telling):
            said[hit.passed.node] = hit
    best = ranked[0].score if ranked else 0.0
    lifted = [hit._replace(score=best, parts={**hit.parts, STATE: best - hit.score}) for hit in said.values()]
    return [*lifted, *(hit for hit in ranked if hit.passed.node not in said)]


def _merge_ended(search: _Search, ranked: list[ranking.Ranked]) -> list[ranking.Ranked]:
    """The hits with what came to its own end, by score; of what scores as much the present first, then the last to end.

    Retired worlds may never have been true, and are shown only if it is asked what was before; what was replaced is
    shown behind its replacement then.
    """
    snapshot, text = search.snapshot, search.lanes.text
    tables, moment = snapshot.tables, snapshot.place.moment
    up_to_now = valid_period.Choice(period=valid_period.Period(Interval(ALWAYS, moment.valid + 1), throughout=False))
    if isinstance(text, WorldTextLane):
        # Where all that ever held holds now, nothing is ranked again.
        ever = search.window.exact_lane(snapshot, up_to_now)
        if ever.counts(()).documents == text.counts(()).documents:
            return ranked
    asks_before, shown = search.request.choice.earlier, {hit.passed.node for hit in ranked}
    ever_shown = valid_period.Choice(include_superseded=True, earlier=True) if asks_before else up_to_now
    over = [
        hit._replace(parts={name: part for name, part in hit.parts.items() if name != THEN} | {OVER: 0.0})
        for hit in _find_ended(search, [search.gate_of(ever_shown)])
        if (hit.passed.node not in shown if asks_before else not has_ended(tables, hit.passed.node, moment.seq))
    ]
    over.sort(key=lambda hit: -hit.passed.seen.validity.end)
    return sorted([*ranked, *over], key=lambda hit: -round(hit.score, 6))


def _lift_predecessors(search: _Search, ranked: Sequence[ranking.Ranked]) -> list[ranking.Ranked]:
    """The hits, and before the first statement that names what the question does what held until that began.

    That is what it superseded, said before, or competes with by its words, whether that has ended or not.
    """
    snapshot, words = search.snapshot, wording.words_of(search.before)
    named = next((hit for hit in ranked[:LOOKED_AT] if _has_all_words(snapshot, hit, words)), None)
    if named is None or named.passed.seen.validity.start <= ALWAYS:
        return list(ranked)
    node, began = named.passed.node, named.passed.seen.validity.start
    just_before = valid_period.Period(Interval(began - 1, began), throughout=False)
    then = search.gate_of(valid_period.Choice(period=just_before))
    found = {hit.passed.node: hit for hit in [*ranked[:LOOKED_AT], *_find_ended(search, [then])]}
    said = {each: one for each, hit in found.items() if (one := _statement_of(snapshot, hit)) is not None}
    earlier = {pair.earlier for pair in _competing_pairs(snapshot, said) if pair.later == node}
    earlier |= {other for other, _ in _superseded(snapshot, then, node)} & found.keys()
    order = [node, *sorted(earlier, key=lambda each: _start_order(found[each].passed.seen))][::-1]
    if (own := then.seen(node)) is not None and snapshot.body(own.row) is not None:
        named = named._replace(passed=named.passed._replace(seen=own), parts={**named.parts, PRECEDED: 0.0})
    found[node] = named
    at = next(place for place, hit in enumerate(ranked) if hit.passed.node == node)
    above = [hit for hit in ranked[:at] if hit.passed.node not in earlier]
    until = [
        found[each]
        if each == node
        else found[each]._replace(
            score=named.score, parts={**found[each].parts, PRECEDED: named.score - found[each].score}
        )
        for each in order
    ]
    return [*above, *until, *(hit for hit in ranked[at + 1 :] if hit.passed.node not in earlier)]


def _lift_previous(search: _Search, ranked: list[ranking.Ranked]) -> list[ranking.Ranked]:
    """The hits, the first that was replaced, or competes with a later one, before what took its place.

    Of several the last is the first, or the first where the question asks for that. They come before hits that have no
    word for what is asked.
    """
    snapshot, question, last = search.snapshot, search.request.question.text, search.request.question.asks_previous
    hits = {hit.passed.node: hit for hit in ranked[:LOOKED_AT]}
    said = {node: one for node, hit in hits.items() if (one := _statement_of(snapshot, hit)) is not None}
    claims = _claims_of_turns(snapshot, list(hits.values()), question, alone=not said)
    asked = asked_terms.asked_stems(question)
    fitting = {
        node
        for node, hit in hits.items()
        if (body := snapshot.body(hit.passed.seen.row)) is not None
        and not asked.isdisjoint(analyze(f"{body.name} {body.content}").stems)
    }
    superseded = search.gate_of(valid_period.Choice(include_superseded=True))
    beside: dict[int, set[int]] = {}
    pairs = [(node, other) for node in hits for other, _ in _superseded(snapshot, superseded, node) if other in hits]
    rivals = _competing_pairs(snapshot, said | claims, snapshot.place.moment.valid, question=question)
    for later, earlier in [*pairs, *((pair.later, pair.earlier) for pair in rivals if not pair.is_plan)]:
        beside.setdefault(later, {later}).add(earlier)
        beside.setdefault(earlier, {earlier}).add(later)
    of_one = next((beside[node] for node in hits if not fitting.isdisjoint(beside.get(node, ()))), None)
    if of_one is None:
        return _show_previous_version(search, ranked, next((node for node in hits if node in fitting), None))
    order = sorted(of_one, key=lambda node: _start_order(hits[node].passed.seen))
    order = order if last == "first" else [*order[-2::-1], order[-1]]
    # What began no sooner than the last of them was not before, either.
    begun = hits[order[-1]].passed.seen.validity.start
    late = {node for node, hit in hits.items() if hit.passed.seen.validity.start >= begun} if last != "first" else set()
    at = next(place for place, node in enumerate(hits) if node in of_one | late or node not in fitting)
    score = ranked[at].score
    moved = [hits[node]._replace(score=score, parts={**hits[node].parts, BEFORE: 0.0}) for node in order[:-1]]
    rest = [hit for hit in ranked if hit.passed.node not in of_one]
    shown = [*moved, hits[order[-1]]._replace(score=score)]
    return [*rest[:at], *shown, *rest[at:]]


def _show_previous_version(search: _Search, ranked: list[ranking.Ranked], node: int | None) -> list[ranking.Ranked]:
    """The hits, of which one is shown as it was before it was changed, if it is a statement that was."""
    snapshot = search.snapshot
    if node is None:
        return ranked
    at = next(place for place, hit in enumerate(ranked) if hit.passed.node == node)
    shown = ranked[at].passed.seen
    ever = valid_period.Period(Interval(ALWAYS, shown.validity.start), throughout=False)
    held = [
        each
        for each in valid_period.versions_in(snapshot.tables, node, snapshot.place.moment, ever)
        if each.number != shown.number and snapshot.body(each.row) is not None
    ]
    if shown.row.type == _TURN or shown.validity.start <= ALWAYS or not held:
        return ranked
    pick = min if search.previous == "first" else max
    seen = pick(held, key=lambda each: each.validity.start)
    before = ranked[at]._replace(passed=ranked[at].passed._replace(seen=seen), parts={**ranked[at].parts, BEFORE: 0.0})
    return [*ranked[:at], before, *ranked[at + 1 :]]


def _has_all_words(snapshot: visible.VisibleSnapshot, hit: ranking.Ranked, words: frozenset[str]) -> bool:
    """True if a hit is a statement that has some words."""
    body = None if hit.passed.seen.row.type == _TURN else snapshot.body(hit.passed.seen.row)
    return body is not None and bool(words) and words <= wording.words_of(body.content)


def _find_guides(window: Window, gate: candidates.Gate, lanes: ranking.Lanes, request: Request) -> ranking.Guiding:
    """The worlds that say how to answer, for single hits."""
    text, fused = lanes.text, request.fusion == CONVEX and (lanes.vector is not None or lanes.entity)
    if text is None or not fused or request.group is not None or request.covers is not None:
        return ranking.NO_GUIDE
    rules = _standing_instructions(window, gate, text, request) if request.question.may_be_instructed else ()
    if not request.question.answer_form.taste:
        return ranking.Guiding(rules)
    wanted = f"{request.compared_text} {TASTE_WORDS}"
    search = partial(ranking.search_words, text, wanted, window.place.moment.seq, or_more=gate.is_open)
    return ranking.Guiding(rules, candidates.find_tastes(gate, search))


def _standing_instructions(window: Window, gate: candidates.Gate, text: TextLane, request: Request) -> Sequence[int]:
    """The worlds with standing instructions for every answer."""
    search = partial(ranking.search_words, text, STANDING_WORDS, window.place.moment.seq)
    if request.filters is not None:
        return candidates.find_standing_instructions(gate, search)
    # All questions about a world have the same.
    asked = gate.inside, gate.choice, request.least_trust, text.indexed
    return window.standing(gate.snapshot, asked, partial(candidates.find_standing_instructions, gate, search))


_Weighing = Callable[[ranking.Ranked], tuple[str, float]]
"""What is added to the score of a candidate, and under which name."""


def _weighings(snapshot: visible.VisibleSnapshot, request: Request) -> list[_Weighing]:
    """The weightings of scores beside the evidence: trust, decay, and the type of a hit."""
    weighings: list[_Weighing] = []
    if request.trust_weight and snapshot.has_trust_statements:
        trust_weight = request.trust_weight
        weighings.append(
            lambda each: (TRUST, -candidates.trust_penalty(snapshot, each.passed, each.score, trust_weight))
        )
    decay: Decay | None = request.decay
    if decay is not None:

        def faded(each: ranking.Ranked) -> tuple[str, float]:
            retained = snapshot.retained(each.passed.node, each.passed.seen, decay)
            return DECAY, 0.0 if retained.kept else -abs(each.score) * (1 - decay.factor(retained.retention))

        weighings.append(faded)
    if request.type_weights:
        worth = {type_digest(name): weight for name, weight in request.type_weights.items()}
        weighings.append(lambda each: (TYPED, abs(each.score) * (worth.get(each.passed.seen.row.type, 1.0) - 1.0)))
    return weighings


def _apply_weighing(found: Found, weighing: _Weighing) -> Found:
    """The hits in the order of their weighted scores."""

    def weighed(each: ranking.Ranked | None) -> ranking.Ranked | None:
        if each is None:
            return None
        name, more = weighing(each)
        return each._replace(score=each.score + more, parts=each.parts | {name: more}) if more else each

    ranked = [each for each in map(weighed, found.ranked) if each is not None]
    ranked.sort(key=lambda each: -round(each.score, 6))
    return found._replace(ranked=ranked, find=lambda node: weighed(found.find(node)))


def _drop_siblings(
    snapshot: visible.VisibleSnapshot, inside: int, ranked: Iterable[ranking.Ranked], least: float
) -> list[ranking.Ranked]:
    """The hits, of each world that contains them directly the best, and others as near in meaning as is asked for.

    What lies directly in the world that is searched has no siblings.
    """
    scope, begun, kept = snapshot.scope(inside), set[int](), []
    for hit in ranked:
        around = {each for each in snapshot.containers(hit.passed.node) if scope.holds(each)}
        if not around or not around <= begun or hit.parts.get(VECTOR, 0.0) >= least:
            kept.append(hit)
        begun |= around
    return kept


def _ranked(
    snapshot: visible.VisibleSnapshot,
    gate: candidates.Gate,
    request: Request,
    about: candidates.Named,
    lanes: ranking.Lanes,
    guiding: ranking.Guiding,
    first: int | None = None,
    statements: int = 0,
) -> Found:
    """The best candidates; what was inferred of one is no other, and stands for it.

    With ``first`` so many of them may be enough, where nothing was inferred. ``statements``: as many as for so many
    hits, where any candidate is a statement.
    """
    is_less = first is not None or statements > request.k
    if is_less and next(iter(snapshot.tables.typed(visible.ENRICHMENT_TYPE)), None) is not None:
        first, request = None, request._replace(k=max(request.k, statements))
    if request.fields is None:
        found = _by_lanes(snapshot, gate, request, about, lanes, guiding, first, statements)
        if all(hit.passed.seen.row.type != visible.ENRICHMENT_TYPE for hit in found.ranked):
            return found
    # Loaded where something was inferred; a recall from the shell waits for what it loads.
    from worlddb.query.enrichment import inferred

    def rank(k: int) -> Found:
        return _by_lanes(snapshot, gate, request._replace(k=k), about, lanes, guiding)

    if request.fields is None:
        shown: Found = inferred.folded(snapshot, gate, request, rank)
    else:
        shown = inferred.weighed(snapshot, gate, request, request.fields, rank)
    return shown


def _by_lanes(
    snapshot: visible.VisibleSnapshot,
    gate: candidates.Gate,
    request: Request,
    about: candidates.Named,
    lanes: ranking.Lanes,
    guiding: ranking.Guiding,
    first: int | None = None,
    statements: int = 0,
) -> Found:
    """The best candidates as lanes rank them, or the ``first`` of them. A lane alone is ranked by its own scores."""
    seq, k = snapshot.place.moment.seq, max(request.k, statements)
    of_one = k if request.group is None else ranking.depth_for(k)
    text, vector, entity = lanes[:3]
    if text is not None and vector is None and not entity and not request.neighbours:
        worded = partial(ranking.search_words, text, request.question.text, seq, or_more=gate.is_open)
        passing = gate.passing(worded, of_one, gate.first_fetch(of_one))
        return Found(_rank_hits(TEXT, islice(passing, of_one)), (TEXT,))
    if vector is not None and request.lanes == (VECTOR,) and not request.neighbours:
        near = partial(ranking.search_vectors, vector, wide=ranking.WIDE_ALONE)
        return Found(_rank_hits(VECTOR, islice(gate.passing(near, of_one), of_one)), (VECTOR,))
    names = tuple(lane for lane, asked in zip(LANES, (text, vector, entity), strict=True) if asked)
    best = ranking.fuse_lanes(snapshot, gate, lanes, request, about, guiding, statements)
    k = best.k
    if request.fusion != CONVEX or request.covers is not None:
        whole = request.group is not None or request.covers is not None
        return Found(list(best if whole else islice(best, k)), names, find=best.find)
    if request.group is not None:
        return Found(ranking.rescore_all(snapshot, request.question, best, k), names)
    rescored = partial(ranking.rescore, snapshot, request.question, best)
    find = partial(ranking.rescore_one, snapshot, request.question, best)
    if first is None or first >= k:
        return Found(rescored(k), names, find=find)
    return Found(rescored(first), names, find=find, whole=partial(rescored, k))


def _rank_hits(lane: str, passing: Iterator[candidates.Passed]) -> list[ranking.Ranked]:
    return [
        ranking.Ranked(passed, passed.score, {lane: rank}, {lane: passed.score})
        for rank, passed in enumerate(passing, 1)
    ]
