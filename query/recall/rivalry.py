"""Put the newer of two facts that contradict each other first, and the later of two statements that compete.

Statements about one subject compete by their words, without a recorded contradiction; so do claims that turns of a talk
make of what a question asks. People name a thing once, and tell in passing what became of it: such changes are looked
for among the turns, too. Where words do not decide, nearness in meaning may put a likely update first.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations, islice
from typing import Final, Literal, NamedTuple

from worlddb.log.model.times import FOREVER
from worlddb.projections.indexes import analysis
from worlddb.projections.tables.names.canonical import type_digest
from worlddb.projections.tables.reads.asof import SeenVersion, edge_seen, newest_version, versions_as_of
from worlddb.projections.tables.storage.schema import EDGE_TYPE_CODES
from worlddb.query.claims import (
    asked_terms,
    chat_changes,
    claim_frame,
    claim_pairs,
    claim_relation,
    foreign_statements,
    lexicon,
    wording,
)
from worlddb.query.claims.wording import MAX_CHARACTERS
from worlddb.query.lanes.text_lane import TextLane
from worlddb.query.lanes.vector_lane import VectorLane
from worlddb.query.question import question_dates
from worlddb.query.question.question import ASKED, CONVEX, Request
from worlddb.query.reads import build
from worlddb.query.recall import candidates, ranking, scoring
from worlddb.query.snapshot import edge_rules, provenance, valid_period, visible

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


class Statement(NamedTuple):
    """A hit that states something: whom it refers to, and its text; of a turn what it tells of the question, and of
    whom: of the speaker or of nobody."""

    seen: SeenVersion
    text: str
    about: frozenset[int]
    is_turn: bool = False

    @property
    def may_have_owner(self) -> bool:
        """False if it begins with nothing that belongs to somebody, which is quick to say."""
        may_be_foreign = analysis.may_be_foreign(self.text)
        plain = foreign_statements.in_english(self.text) if may_be_foreign else self.text
        return "'" in plain or "’" in plain or plain.casefold().startswith(("my ", "our "))


def statement_of(snapshot: visible.VisibleSnapshot, hit: ranking.Ranked) -> Statement | None:
    node, seen = hit.passed[:2]
    if seen.row.type == _TURN:
        return None
    body = snapshot.body(seen.row)
    if body is None or not 0 < len(body.content) <= MAX_CHARACTERS:
        return None
    return Statement(seen, body.content, frozenset(_referred_to(snapshot, node)))


def _referred_to(snapshot: visible.VisibleSnapshot, node: int) -> Iterator[int]:
    """The worlds that a hit refers to; a turn refers to who speaks."""
    tables, moment = snapshot.tables, snapshot.place.moment
    edges = tables.outgoing(node, _REFERS_TO, known_by=moment.seq)
    return (row.target for place, row in edges if edge_seen(tables, place, row, moment))


def start_order(seen: SeenVersion) -> tuple[int, int]:
    return seen.row.valid_from, seen.row.seq


def is_newer(one: SeenVersion, other: SeenVersion) -> bool:
    """By its valid time, then by its time of writing."""
    return start_order(one) > start_order(other)


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
            if seen is None or own_seen is None or not is_newer(seen, own_seen) or snapshot.body(seen.row) is None:
                continue
            own = hits.get(rival) or find(rival) or ranking.Ranked(candidates.Passed(rival, seen, 0.0), 0.0, {}, {})
            if (round(own.score, 6), level.get(rival, 0)) > (round(hit.score, 6), level[node]):
                continue
            lifted = {**own.parts, scoring.NEWER: own.parts.get(scoring.NEWER, 0.0) + hit.score - own.score}
            hits[rival] = own._replace(score=hit.score, parts=lifted)
            level[rival] = level[node] + 1
            pending.append(rival)
    # What was lifted stands in log order, all others keep their places among those that score as much.
    places = {each.passed.node: place for place, each in enumerate(ranked) if not level[each.passed.node]}
    last = len(ranked)
    order = sorted(hits, key=lambda node: (-round(hits[node].score, 6), -level[node], places.get(node, last), node))
    return [hits[node] for node in order]


def _contradicting_worlds(
    snapshot: visible.VisibleSnapshot, spec: edge_rules.Spec, node: int, period: valid_period.Period | None
) -> Iterator[int]:
    for place, row in build.conflicts_of(snapshot, node, snapshot.place.moment, spec, period):
        yield row.target if place.source == node else place.source


def lift_later_statements(
    snapshot: visible.VisibleSnapshot,
    ranked: Sequence[ranking.Ranked],
    said: dict[int, Statement],
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
    pairs = list(competing_pairs(snapshot, said, until, asked, question)) if len(said) > 1 else []
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
        if by_trust and is_trusted_less(snapshot, hits[before], hits[behind]):
            continue
        above.setdefault(behind, []).append(before)
    placed: dict[int, ranking.Ranked] = {}
    later = {pair.later for pair in pairs if not (pair.is_plan or pair.is_beside)}
    present = {pair.earlier for pair in pairs if pair.is_beside}
    begun = set[int]()

    def begin_order(node: int) -> tuple[int, int]:
        return start_order(hits[node].passed.seen)

    def place(node: int, score: float) -> None:
        """Put a hit after later ones, which get at least its score."""
        if node in placed or node in begun:
            return
        begun.add(node)
        own = hits[node]
        for better in sorted(above.get(node, ()), key=begin_order, reverse=True):
            place(better, max(score, own.score))
        part = scoring.LATER if node in later else scoring.NOW if node in present else scoring.UNTIL
        lifted = {**own.parts, part: score - own.score}
        placed[node] = own if own.score >= score else own._replace(score=score, parts=lifted)
        for other in sorted(below.get(node, ()), key=begin_order, reverse=True):
            place(other, max(score, own.score))

    for hit in ranked:
        place(hit.passed.node, hit.score)
    told = (pair for pair in pairs if not (pair.is_plan or pair.is_beside))
    return list(placed.values()), tuple(pair for pair in told if not _is_said_again(pair, said))


def _is_said_again(pair: Rivals, said: Mapping[int, Statement]) -> bool:
    """True if the words of the earlier of two statements were said once more after the later one: who moved back.

    A change that a turn tells in passing may be of a turn that is no statement.
    """
    if not {pair.earlier, pair.later} <= said.keys():
        return False
    words, after = said[pair.earlier].text, start_order(said[pair.later].seen)
    return any(start_order(one.seen) > after and wording.says_again(one.text, words) for one in said.values())


def has_replaced(snapshot: visible.VisibleSnapshot, node: int, seen: SeenVersion, text: str) -> bool:
    """True if a statement was made of one in the words of a text, as a correction does: who says it again goes back."""
    known = versions_as_of(snapshot.tables, node, snapshot.place.moment.seq)
    before = (snapshot.body(each.row) for each in known if each.number < seen.number)
    return any(body is not None and wording.says_again(body.content, text) for body in before)


def is_trusted_less(snapshot: visible.VisibleSnapshot, hit: ranking.Ranked, other: ranking.Ranked) -> bool:
    one, than = (provenance.trust_in(snapshot).share(each.passed.node, each.passed.seen.row) for each in (hit, other))
    return one < than


def competing_pairs(
    snapshot: visible.VisibleSnapshot,
    said: dict[int, Statement],
    until: int = FOREVER,
    asked: str = "",
    question: str = "",
) -> Iterator[Rivals]:
    """The pairs of statements that compete, the better hit first, and those that will after ``until``.

    Of ``asked``, a question of now, also those of which one alone tells what is so now. Those that compete only in
    sentences that ``question`` is not about are left out.
    """
    turns = [node for node, one in said.items() if one.is_turn]
    again = _starts_of_repeated(said)
    pairs = (pair for pair in combinations(said, 2) if pair[0] not in turns[1:])
    for (later, new), (earlier, old), subject in _pairs_of_a_subject(snapshot, said, pairs):
        is_loose = bool(old.about and new.about) and old.about.isdisjoint(new.about)
        told = rivalry_of(old.text, new.text, _starts(old, new), subject, until, asked)
        if told is None and later in again and _is_back(old, new, subject, again[later]):
            told = _BACK, "later"
        was_corrected = told is None and old.seen.number > 1
        if was_corrected and has_replaced(snapshot, earlier, old.seen, new.text):
            told = _CORRECTED_BACK, "later"
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
        if claim_relation.of_entities(alike, (old.text, new.text), (old.about, new.about)) is not alike:
            continue
        if is_loose and not (alike.is_single_valued or wording.held_words(old.text, new.text)):
            continue
        if order in ("beside", "swapped"):
            first, last = (later, earlier) if order == "swapped" else (earlier, later)
            yield Rivals(last, first, "compatible", "", is_beside=True)
        # What says of something what it was made of does not take its place.
        elif not provenance.is_derived_from(snapshot, later, new.seen.row, earlier):
            yield Rivals(later, earlier, alike.relation, alike.reason, order == "plan", doubt=alike.doubt)


def _starts_of_repeated(said: Mapping[int, Statement]) -> dict[int, tuple[int, int]]:
    """By each statement whose words were said before, when they were first."""
    by_words: dict[str, list[int]] = {}
    for node, one in said.items():
        by_words.setdefault(one.text.strip(" .!").casefold(), []).append(node)
    if len(by_words) == len(said):
        return {}
    starts = (sorted((start_order(said[node].seen), node) for node in each) for each in by_words.values() if each[1:])
    return {node: order[0][0] for order in starts for _, node in order[1:]}


def _is_back(old: Statement, new: Statement, subject: frozenset[str], first: tuple[int, int]) -> bool:
    """True if what was said ``first`` is so again, after the other one: "we use Poetry", behind "we use uv"."""
    known, given = claim_frame.frame(old.text, subject), claim_frame.frame(new.text, subject)
    if known is None or given is None or start_order(old.seen) <= first:
        return False
    return claim_pairs.may_take_turns(known, given)


def _are_of_others(old: Statement, new: Statement, question: str, doubt: str) -> bool:
    """True if a turn beside a statement or another turn says the same time, or what was not asked for.

    ``doubt`` is why the later one may be of another thing, which it is unless it tells what is asked.
    """
    if chat_changes.agree_in_times(question, old.text, new.text):
        return True
    asked = asked_terms.asked_of(question) if question and new.is_turn else None
    if asked is None:
        return False
    if chat_changes.lacks_value(question, old.text, new.text):
        return True
    if doubt and not chat_changes.may_answer(new.text, asked):
        return True
    return chat_changes.changes_another(question, asked, old.text, new.text)


def _are_long(earlier: str, later: str, subject: frozenset[str]) -> bool:
    known, given = claim_frame.frame(earlier, subject), claim_frame.frame(later, subject)
    return known is not None and given is not None and claim_pairs.are_long(known, given)


_Told = tuple[int, Statement]
"""The node of a statement, and the statement."""


def _pairs_of_a_subject(
    snapshot: visible.VisibleSnapshot, said: dict[int, Statement], pairs: Iterable[tuple[int, int]]
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
        if start_order(one.seen) == start_order(other.seen) or not is_one:
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
        yield (*(pair if is_newer(one.seen, other.seen) else pair[::-1]), subject)


def _may_be_of_one(snapshot: visible.VisibleSnapshot, one: Statement, other: Statement) -> bool:
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


def _containers_of(snapshot: visible.VisibleSnapshot, node: int) -> frozenset[int]:
    """The worlds that contain a statement directly."""
    return frozenset(snapshot.containers(node))


def _name_words(snapshot: visible.VisibleSnapshot, node: int) -> frozenset[str]:
    """The words of a world's name."""
    seen = newest_version(snapshot.tables, node, snapshot.place.moment.seq)
    body = None if seen is None else snapshot.body(seen.row)
    return frozenset() if body is None else wording.words_of(body.name)


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


def _starts(earlier: Statement, later: Statement) -> tuple[int, int]:
    return earlier.seen.row.valid_from, later.seen.row.valid_from


_BACK: Final = claim_pairs.ClaimComparison(
    0.5, "replacement", "same subject, it was said again after the other", doubt=claim_pairs.DOES_BOTH
)
_CORRECTED_BACK: Final = claim_pairs.ClaimComparison(
    0.5, "replacement", "what the earlier one took the place of was said again"
)
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


def lift_update(
    snapshot: visible.VisibleSnapshot,
    request: Request,
    vector: VectorLane | None,
    ranked: list[ranking.Ranked],
    said: dict[int, Statement],
    until: int,
) -> list[ranking.Ranked]:
    """The hits, the latest of those first that may be an update of the first: near it in meaning, and about as good.

    Of long statements only, since of short ones the words tell, and for questions of now, or of the latest, without a
    time. It decides nothing: the hit that was the first is the next.
    """
    first, asked = ranked[0], request.question
    top = first.passed.node
    if vector is None or top not in said or asked.times or not (asked.asks_of_now or asked.asks_of_latest):
        return ranked
    least = (1 - ABOUT_AS_GOOD) * first.score
    close = [hit.passed.node for hit in ranked[1 : ranking.LOOKED_AT] if hit.score >= least and hit.passed.node in said]
    pairs = [(top, node) for node in close if said[node].seen.row.valid_from > said[top].seen.row.valid_from]
    if not pairs:
        return ranked
    hits = {hit.passed.node: hit for hit in ranked[: ranking.LOOKED_AT]}
    own = vector.like((top, first.passed.seen.number), snapshot.vector)
    cosines = {} if own is None else own.scores([(node, said[node].seen.number) for _, node in pairs])
    updates = [
        node
        for (node, new), (_, old), subject in _pairs_of_a_subject(snapshot, said, pairs)
        if _is_update(old, new, subject, until, asked.text, cosines.get((node, new.seen.number)))
        and not provenance.is_derived_from(snapshot, node, new.seen.row, top)
        and not (request.trust_weight > 0 and is_trusted_less(snapshot, hits[node], first))
    ]
    if not updates:
        return ranked
    latest = max(updates, key=lambda node: start_order(said[node].seen))
    lifted = next(hit for hit in ranked if hit.passed.node == latest)
    parts = {**lifted.parts, scoring.UPDATED: first.score - lifted.score}
    rest = [hit for hit in ranked if hit.passed.node != latest]
    return [lifted._replace(score=first.score, parts=parts), *rest]


ABOUT_AS_GOOD: Final = 0.15
"""The share of the best hit's score by which another one may be behind and answer about as well."""


def _is_update(
    old: Statement, new: Statement, subject: frozenset[str], until: int, asked: str, cosine: float | None
) -> bool:
    """True if two statements are long and near in meaning, and their words put neither of them first."""
    known, given = claim_frame.frame(old.text, subject), claim_frame.frame(new.text, subject)
    if cosine is None or known is None or given is None or not claim_pairs.are_long(known, given):
        return False
    is_near = claim_pairs.nearness(known, given, cosine) >= claim_pairs.MEANT_FROM
    return is_near and rivalry_of(old.text, new.text, _starts(old, new), subject, until, asked) is None


def claims_of_turns(
    snapshot: visible.VisibleSnapshot, ranked: Sequence[ranking.Ranked], question: str, *, alone: bool
) -> dict[int, Statement]:
    """What the first turns among the hits state of what a question asks, from the first that answers it on.

    What is told of "I", or of the thing that is asked for, is about the speaker. ``alone``: no other hit states
    anything, so one turn has nothing to compete with.
    """
    said = dict[int, Statement]()
    turns = [hit for hit in ranked[: ranking.LOOKED_AT] if hit.passed.seen.row.type == _TURN]
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
        said[node] = Statement(seen, claim, about, is_turn=True)
    return said


def changes_told(
    gate: candidates.Gate,
    request: Request,
    lane: TextLane | None,
    ranked: Sequence[ranking.Ranked],
    stated: Mapping[int, Statement],
    *,
    of_plans: bool,
    by: int | None = None,
) -> tuple[list[Rivals], list[ranking.Ranked]]:
    """The later messages by which the first hit has changed, be it a message of the same speaker or a statement.

    ``of_plans``: only if it is a message of what was still to be, and no time is asked about; ``by``: only before it.
    People name a thing once, and tell in passing what became of it: see :func:`chat_changes.change_told`. They are
    among the first hits, or name what the first one says: those that were not found are given, too.
    """
    question = request.question.text
    if of_plans and (request.question.times or request.question.wish):
        return [], []
    hits = [
        hit for hit in ranked[: ranking.LOOKED_AT] if hit.passed.seen.row.type == _TURN or hit.passed.node in stated
    ]
    told = [each for hit in hits if (each := _Message.of(gate, hit, stated.get(hit.passed.node))).text]
    said = [each for each in told if not each.is_machine]
    if not said or all(not each.speaker for each in said):
        return [], []
    # Most questions of the past end here, before their words are read.
    if of_plans and not (said[0].speaker and chat_changes.is_planned(said[0].text)):
        return [], []
    if not (asked := asked_terms.asked_of(question)).all:
        return [], []
    known = {hit.passed.node for hit in ranked}
    added = dict[int, ranking.Ranked]()

    def later(first: _Message, messages: Iterable[_Message]) -> Iterator[tuple[Rivals, _Message]]:
        for each in messages:
            node, seen, *_ = each.hit.passed
            is_late = by is not None and seen.row.valid_from >= by
            if is_late or not each.speaker or not is_newer(seen, first.hit.passed.seen):
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
    for _ in range(_MAX_CHANGES):
        found = [*later(latest, said)]
        if all(pair.is_unsure for pair, _ in found):
            named = naming(gate, request, lane, chat_changes.old_value(question, asked, latest.text))
            found += later(latest, (_Message.of(gate, hit) for hit in named if hit.passed.node not in known))
        pairs += (pair for pair, _ in found)
        sure = [each for pair, each in found if not pair.is_unsure]
        if not sure:
            break
        latest = max(sure, key=lambda each: start_order(each.hit.passed.seen))
    return pairs, [*added.values()]


_MAX_CHANGES: Final = 3
"""How often what changed is followed: "back to the old one" changes what took its place."""


class _Message(NamedTuple):
    """A hit with who speaks in it and what they say; a statement has no speaker, and is about some worlds."""

    hit: ranking.Ranked
    speaker: str
    text: str
    about: frozenset[int] = frozenset()

    @staticmethod
    def of(gate: candidates.Gate, hit: ranking.Ranked, stated: Statement | None = None) -> "_Message":
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


def naming(gate: candidates.Gate, request: Request, lane: TextLane | None, words: str) -> Iterator[ranking.Ranked]:
    """The messages that have some words, as hits that nothing else speaks for."""
    if not words or lane is None or request.fusion != CONVEX or request.group is not None:
        return
    fetch = partial(ranking.search_words, lane, words, gate.snapshot.place.moment.seq)
    for passed in islice(gate.passing(fetch, _NAMING, _NAMING), _NAMING):
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
