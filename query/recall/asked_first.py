"""Put what is of whom and what a question asks before what comes nearer by its words.

A statement about the person in the question comes before one about somebody or something of theirs, a statement before
the turn that it was made of, what is replied to before a machine's short reply, and what has the number that is asked
for before what has another. Of messages those come first that have a value of the asked kind, and were said by then.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from worlddb.log.model.times import Interval
from worlddb.projections.indexes.analysis import analyze, is_answering, is_asking
from worlddb.projections.tables.names.canonical import type_digest
from worlddb.projections.tables.reads.asof import edge_seen
from worlddb.projections.tables.storage.schema import EDGE_TYPE_CODES, VersionRow
from worlddb.query.claims import asked_terms, chat_changes, claim_frame, foreign_statements, lexicon, wording
from worlddb.query.claims.wording import MAX_CHARACTERS
from worlddb.query.lanes import text_lane
from worlddb.query.question import question_dates
from worlddb.query.question.question import Question, Request
from worlddb.query.recall import candidates, ranking, rivalry, scoring
from worlddb.query.recall.rivalry import Rivals, Statement
from worlddb.query.snapshot import provenance, valid_period, visible

_TURN: Final = type_digest("Turn")
_DERIVED_FROM: Final = EDGE_TYPE_CODES["derived_from"]


def lift_own_statements(
    snapshot: visible.VisibleSnapshot,
    ranked: list[ranking.Ranked],
    stated: Mapping[int, Statement],
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
    question = foreign_statements.in_english(question)
    asks_for_home = _OF_HOME.search(question) is not None
    has_others = (
        turns
        or (asks_for_home and len(stated) > 1)
        or reported
        or (asker and stated)
        or (len(stated) > 1 and any(one.may_have_owner for one in stated.values()))
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
    own = {
        node
        for node, one in said.items()
        if mine
        or (
            _says_what_is_asked(one, stated[node], telling)
            and chat_changes.tells_asked_kind(stated[node].text, question)
        )
    }
    if asks_for_home and not mine and (state := asked_terms.asked_state(question)) is not None:
        # "At which street does Ana live?" is answered by where she lives, and not by what else is told of her.
        at_home = {node for node, one in said.items() if _says_what_is_asked(one, stated[node], state[1])}
        own |= at_home
        theirs |= said.keys() - own if at_home else set()
    first = next((place for place, hit in enumerate(ranked[: ranking.LOOKED_AT]) if hit.passed.node in theirs), None)
    if first is None:
        return ranked
    best = ranked[first].score
    lifted = [hit for hit in ranked[first:] if hit.passed.node in own]
    return [
        *ranked[:first],
        *(hit._replace(score=best, parts={**hit.parts, scoring.OWN: best - hit.score}) for hit in lifted),
        *(hit for hit in ranked[first:] if hit.passed.node not in own),
    ]


_OF_HOME: Final = re.compile(r"\b(?:live|lives|living|lived|reside|resides)\b", re.I)


def _says_what_is_asked(told: claim_frame.Frame, one: Statement, telling: frozenset[str]) -> bool:
    """True if a statement says what is asked of the person that it begins with, and not of something of theirs."""
    if told.owned:
        return False
    return asked_terms.tells(told, telling) or (
        asked_terms.asks_for_work(telling) and _WORK.match(one.text) is not None
    )


_WORK: Final = re.compile(r"[^\W\d_][\w'’ -]{0,60}? (?:is|am) (?:an?|the) [a-z][a-z -]* (?:at|for|with) [A-Z]")
"""What says as what somebody works, and where."""


def _split_by_owner(
    stated: Mapping[int, Statement], telling: frozenset[str]
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
    for hit in ranked[: ranking.LOOKED_AT]:
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


def lift_derived_statements(
    snapshot: visible.VisibleSnapshot, ranked: list[ranking.Ranked], question: str
) -> list[ranking.Ranked]:
    """The hits, and before each turn of a talk among the first the statements among them that were made of it.

    Only those that have all words of the question that the turn has, and do not rest on what holds no more.
    """
    turns = {hit.passed.node: hit for hit in ranked[: ranking.LOOKED_AT] if hit.passed.seen.row.type == _TURN}
    others = [hit for hit in ranked[: ranking.LOOKED_AT] if hit.passed.node not in turns] if turns else []
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
            parts = {**hit.parts, scoring.MADE: best.score - hit.score}
            lifted.setdefault(best.passed.node, []).append(hit._replace(score=best.score, parts=parts))
    moved = {hit.passed.node for hits in lifted.values() for hit in hits}
    left = (hit for hit in ranked if hit.passed.node not in moved)
    return [each for hit in left for each in (*lifted.get(hit.passed.node, ()), hit)]


MAX_REPLY_WORDS: Final = 12
"""The words of a reply that tells no more than what it replies to; what a machine tells takes more."""


def put_replies_behind(
    snapshot: visible.VisibleSnapshot, ranked: list[ranking.Ranked], about: candidates.Named, question: str
) -> list[ranking.Ranked]:
    """The hits, and each short reply of a machine among the first behind what it replies to, if that tells as much.

    "Hope it goes smoothly for your mum." is nearer to a question about her operation than the long message that tells
    when it is. What is replied to is among the first hits too, has all words of the question that the reply has, and
    asks nothing: a short reply to a question is the answer. It takes the reply's place, unless what lies between has
    these words too: then that stays before it.
    """
    turns = [hit for hit in ranked[: ranking.LOOKED_AT] if hit.passed.seen.row.type == _TURN]
    bodies = ((hit.passed.node, snapshot.body(hit.passed.seen.row)) for hit in turns)
    said = {node: body.content for node, body in bodies if body is not None}
    short = {node for node, text in said.items() if text.count(" ") <= MAX_REPLY_WORDS}
    own = {node for node, _ in candidates.find_references(snapshot, said, about.user)} if short and about.user else ()
    replies = {node for node in short if (node not in own if own else is_answering(said[node]))}
    if not replies or len(replies) == len(said) or not (asked := text_lane.query_stems(question)):
        return ranked
    order = [hit.passed.node for hit in ranked[: ranking.LOOKED_AT]]
    hits = {hit.passed.node: hit for hit in ranked[: ranking.LOOKED_AT]}

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
    return [*(hits[node] for node in order), *ranked[ranking.LOOKED_AT :]]


def _with_score(hit: ranking.Ranked, score: float) -> ranking.Ranked:
    """A hit with the score of what it is put beside."""
    more = hit.parts.get(scoring.REPLIED, 0.0) + score - hit.score
    return hit._replace(score=score, parts={**hit.parts, scoring.REPLIED: more})


_NEAR_SHARE: Final = 0.5
"""The share of the score of a call from which what was said in words may answer instead of it."""
_ADVISES: Final = re.compile(
    r"\b(?:advi[sc]e[sd]?|recommend\w*|suggest\w*|propos\w+|explain\w*|answer\w*|repl(?:y|ied)|promis\w+)\b",
    re.I,
)
_OF_TOOLS: Final = re.compile(
    r"\b(?:tools?|functions?|calls?|called|calling|api|json|returns?|returned|results?)\b|_", re.I
)
_IS_CALL: Final = re.compile(r"[^:\n]{1,80}: \[calls [^\n]*\)\]\Z|(?:tool|function|ipython): ")
"""A message of nothing but a call of a tool, and what the tool gave back."""


def put_calls_behind(
    snapshot: visible.VisibleSnapshot, ranked: list[ranking.Ranked], question: Question
) -> list[ranking.Ranked]:
    """The hits, and before each call of a tool and its raw result what was said in words, where that is asked for.

    "What did the coach advise on 3 October?" asks for no call, unless it speaks of tools.
    """
    text = question.text
    if not (question.is_of_saying or _ADVISES.search(text)) or _OF_TOOLS.search(text) is not None:
        return ranked
    calls = set[int]()
    for hit in ranked[: ranking.LOOKED_AT]:
        body = snapshot.body(hit.passed.seen.row) if hit.passed.seen.row.type == _TURN else None
        if body is not None and _IS_CALL.match(body.content) is not None:
            calls.add(hit.passed.node)
    first = next((at for at, hit in enumerate(ranked) if hit.passed.node in calls), None) if calls else None
    if first is None:
        return ranked
    best = ranked[first].score
    said = [hit for hit in ranked[first:] if hit.passed.node not in calls and hit.score >= best * _NEAR_SHARE]
    moved = {hit.passed.node for hit in said}
    return [
        *ranked[:first],
        *(hit._replace(score=best, parts={**hit.parts, scoring.IN_WORDS: best - hit.score}) for hit in said),
        *(hit for hit in ranked[first:] if hit.passed.node not in moved),
    ]


def lift_asked_kind(
    snapshot: visible.VisibleSnapshot, ranked: list[ranking.Ranked], question: Question
) -> list[ranking.Ranked]:
    """The hits, before a first short message without a value of the asked kind those short ones near it that have one.

    "Who prints the labels?" is answered by "the printer is Taylor Brothers", though "labels go to print on Monday" has
    more of its words. The scores stay where they are, since what comes first answers no better than what did.
    """
    # When something was is told by when a message was written, too; of statements other rules tell what was.
    is_said = ranked[0].passed.seen.row.type == _TURN
    if question.asks_of == "past" and (not is_said or chat_changes.kind_asked(question.text) == "time"):
        return ranked
    first, thing = ranked[: ranking.LOOKED_AT], chat_changes.asked_thing(question.text)

    def message_of(hit: ranking.Ranked) -> str:
        body = snapshot.body(hit.passed.seen.row)
        if body is None:
            return ""
        return body.content.partition(": ")[2] if hit.passed.seen.row.type == _TURN else body.content

    def fit(message: str) -> int:
        is_short = message != "" and chat_changes.is_short(message)
        if not is_short or not chat_changes.tells_asked_kind(message, question.text):
            return 0
        return 1 + chat_changes.begins_with(message, thing)

    best = message_of(first[0]) if chat_changes.kind_asked(question.text) else ""
    # Of most questions the first hit has one, or is no short message, and no other text is read.
    if not best or not chat_changes.is_short(best) or fit(best) == (2 if thing else 1):
        return ranked
    least = first[0].score - _WITHOUT_VALUE
    shared = chat_changes.content_of(question.text) & chat_changes.content_of(best)

    def place(hit: ranking.Ranked) -> int:
        message = message_of(hit) if hit.score >= least else ""
        # A statement that lacks what the first one has of the question is of another thing.
        is_other = hit.passed.seen.row.type != _TURN and not shared <= chat_changes.content_of(message)
        return 0 if is_other else -fit(message)

    return [*_with_scores_of(first, sorted(first, key=place)), *ranked[ranking.LOOKED_AT :]]


_WITHOUT_VALUE: Final = 0.3
"""How far behind the first hit a message with a value comes before it; chosen on two chats and judged on a third."""


def lift_said_by_then(
    gate: candidates.Gate,
    request: Request,
    lane: text_lane.TextLane | None,
    ranked: list[ranking.Ranked],
    past: Sequence[valid_period.Period],
) -> list[ranking.Ranked]:
    """The hits, of the first ones the messages said after the time that a question of a state asks about behind others.

    That is the end of its times (``past``), or when the event behind "before" was first told of: "who ran it before
    Jasper?" was so before anybody spoke of Jasper. Hits that answer far worse than the best do not come before it, and
    a short message that itself tells of then ("in September it was 900 euros") stays where it is.
    """
    first = ranked[: ranking.LOOKED_AT]
    event = _event_of(request.question.text)
    by = max((period.span.end for period in past), default=None) or _first_told(gate, request, lane, first, event)
    if by is None:
        return ranked
    least, asked = _MAY_ANSWER * max(hit.score for hit in first), chat_changes.content_of(request.question.text)

    def is_behind(hit: ranking.Ranked) -> bool:
        row = hit.passed.seen.row
        if hit.score < least:
            return True
        if row.type != _TURN:
            return False
        body = gate.snapshot.body(row)
        # What has no word of the question was near it by chance.
        is_near = body is not None and not asked.isdisjoint(chat_changes.content_of(body.content))
        return not is_near or (row.valid_from >= by and not _tells_of_then(gate.snapshot, row, past, event))

    order = sorted(first, key=is_behind)
    return [*_with_scores_of(first, order), *ranked[ranking.LOOKED_AT :]]


_MAY_ANSWER: Final = 0.4
"""The share of the best hit's score from which what was said in time comes before what was said later."""


class _Event(NamedTuple):
    """What stands behind "before" in a text, and the stems of it."""

    text: str
    words: frozenset[str]


def _event_of(text: str) -> _Event:
    event = _BEFORE.search(text)
    return _Event("", frozenset()) if event is None else _Event(event[1], chat_changes.content_of(event[1]))


def _tells_of_then(
    snapshot: visible.VisibleSnapshot, row: VersionRow, past: Sequence[valid_period.Period], event: _Event
) -> bool:
    """True if a short message names a time that a question asks about, or tells of what was before the same event."""
    body = snapshot.body(row)
    if body is None or not chat_changes.is_short(body.content):
        return False
    if event.words and event.words <= _event_of(body.content).words:
        return True
    named = question_dates.parse_times(body.content.partition(": ")[2], row.valid_from).spans if past else ()
    return any(period.span.overlaps(Interval(span.start, span.end)) for span in named for period in past)


def _first_told(
    gate: candidates.Gate,
    request: Request,
    lane: text_lane.TextLane | None,
    ranked: Sequence[ranking.Ranked],
    event: _Event,
) -> int | None:
    """When what stands behind "before" in a question was first told of in a message; ``None`` if it was in none."""
    if not event.words:
        return None
    told = [hit.passed.seen.row for hit in (*ranked, *rivalry.naming(gate, request, lane, event.text))]
    bodies = ((row.valid_from, gate.snapshot.body(row)) for row in told if row.type == _TURN)
    return min(
        (at for at, body in bodies if body is not None and event.words <= chat_changes.content_of(body.content)),
        default=None,
    )


_BEFORE: Final = re.compile(
    r"\b(?:before|prior to|bevor"
    r"|vor(?! (?:\w+ ){1,2}?(?:tag|woche|monat|jahr|stunde|minute)\w*| (?:kurzem|langem|allem)\b)) ([^?!.]+)",
    re.I,
)
"""What an event is before; "vor drei Wochen" was three weeks ago."""


def _with_scores_of(ranked: Sequence[ranking.Ranked], order: Sequence[ranking.Ranked]) -> Iterator[ranking.Ranked]:
    """Some hits in another order, with the scores of those whose places they take."""
    for hit, place in zip(order, ranked, strict=True):
        more = hit.parts.get(scoring.FITS, 0.0) + place.score - hit.score
        yield hit._replace(score=place.score, parts={**hit.parts, scoring.FITS: more}) if more else hit


def lift_matching_numbers(
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
        *(hit._replace(score=best, parts={**hit.parts, scoring.EXACT: best - hit.score}) for hit in lifted),
        *(hit for hit in ranked[first:] if hit.passed.node not in moved),
    ]


def number_fit(snapshot: visible.VisibleSnapshot, hit: ranking.Ranked, wanted: dict[str, set[str]]) -> int:
    """How a hit's numbers match those of the question; see :func:`worlddb.query.recall.scoring.match_numbers`."""
    body = snapshot.body(hit.passed.seen.row)
    return 0 if body is None else scoring.match_numbers(wanted, f"{body.name}\n{body.content}")
