"""The valid statements that a new one may repeat, replace or contradict.

Candidates are what comes nearest to the text by its words and its meaning, and what refers to whom it is about.
Frames of statements about the same subject are compared; vectors add similar statements in other words, and leave out
long ones that share a few words by chance. Only the embedding model runs, and nothing is written (laws 11 and 12).
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

import msgspec

from worlddb.log.model import errors, limits, times
from worlddb.projections.tables.names.canonical import normalise_name, type_digest
from worlddb.projections.tables.reads.asof import SeenVersion, edge_seen
from worlddb.projections.tables.storage.schema import EDGE_TYPE_CODES
from worlddb.query.claims import claim_doubts, claim_frame, claim_pairs, claim_relation, wording
from worlddb.query.claims.claim_pairs import ClaimComparison, Relation
from worlddb.query.question.question import CONVEX, LANES, MAX_NEAR, Question, Request
from worlddb.query.question.question_dates import begin_named
from worlddb.query.reads import build, world_lookup
from worlddb.query.reads.window import Window
from worlddb.query.recall import recall, rivalry
from worlddb.query.recall.candidates import Gate
from worlddb.query.records.records import Valid
from worlddb.query.snapshot import valid_period, visible

ON_NEAR: Final = ("note", "propose", "supersede_same_subject")
"""What an agent's tools may do if a new statement is near others: only report it, or also link competing ones."""
RECALLED: Final = 32
"""How many of the worlds nearest to a text are compared."""
LATEST: Final = 64
"""How many of the latest statements that refer to a subject are compared."""
MAX_ABOUT: Final = 64
"""How many subjects a statement may be about."""
ALIKE_FROM: Final = 0.35
"""The cosine from which two statements of one subject under one verb are of one kind: tea and coffee."""
OF_MEANING: Final = 0.6
"""The likeness of two compatible statements with a nearness of 1: what competes mostly comes before them."""
_REFERS_TO: Final = EDGE_TYPE_CODES["refers_to"]
_TURN: Final = type_digest("Turn")
_YEAR: Final = 31_556_952_000_000
"""The microseconds of a year."""


class Near(msgspec.Struct, frozen=True, kw_only=True):
    """A valid statement near a new one: how the new one relates to it, and why.

    ``relation``: the new one says the ``same``, would be a ``replacement`` or a ``contradiction``, or is
    ``compatible``: of the same attribute or near in meaning, and both may hold. ``likeness`` is from 0 to 1. ``about``
    are the references of the worlds that the statement refers to. ``is_later``: it began after the new one does, and
    somebody stated so, or the new one has an end.
    ``is_repeated``: the new one says it word for word, but for blanks, of the same subjects, or one of both names none,
    and it lies directly in the world that was looked in, holds when that begins or begins while that holds, and ends
    when that does or begins when that does; a new one without a stated start begins when it is said. Nothing that
    competes with them began between: who lives there again moved back. What was done on another day is no repetition.
    ``is_of_one``: the new one has another value of the one attribute of which the earlier one has a value, and the
    earlier one says nothing else, and the new one does not say that it begins later ("from March on"). ``doubt`` is why
    it has not, for a replacement.
    """

    ref: str
    text: str
    likeness: float
    relation: Relation
    reason: str
    valid: Valid
    about: tuple[str, ...] = ()
    is_later: bool = False
    is_repeated: bool = False
    is_of_one: bool = False
    doubt: str = ""

    def edge_type(self, on_near: str, subjects: int) -> str:
        """The type of the edge to link from a new statement to this one; empty for none.

        ``on_near`` is one of ``ON_NEAR``, ``subjects`` counts whom the new one is about. With ``note`` it is none; with
        ``propose`` ``contradicts``, if not both can be true; with ``supersede_same_subject`` ``supersedes``, if the new
        one is a later replacement, of the same attribute (``is_of_one``), and neither is about more than one subject.

        Raises:
            InputError: ``on_near`` is none of these.
        """
        check_on_near(on_near)
        if on_near == "propose" and self.relation in claim_pairs.COMPETING:
            return "contradicts"
        is_replaced = self.relation == "replacement" and self.is_of_one and not self.is_later
        is_of_one = subjects <= 1 and len(self.about) <= 1
        return "supersedes" if on_near == "supersede_same_subject" and is_replaced and is_of_one else ""

    def takes_place(self, on_near: str, subjects: int) -> bool:
        """True if this one, which began later, takes the place of a new statement that begins before it.

        It does where the new one would take its place if it were the later: see :meth:`edge_type`.
        """
        is_of_one = self.is_of_one and subjects <= 1 and len(self.about) <= 1
        return on_near == "supersede_same_subject" and self.is_later and self.relation == "replacement" and is_of_one


_BACK: Final = "what it took the place of is said again"
"""The reason of a statement that has the words of what a correction ended."""


def check_on_near(on_near: str) -> None:
    """Check what is to be done about what a statement is near.

    Raises:
        InputError: it is none of :data:`ON_NEAR`.
    """
    if on_near not in ON_NEAR:
        raise errors.InputError(f"on_near is {errors.shown(on_near)}", f"Give one of: {', '.join(ON_NEAR)}")


class _Subject(NamedTuple):
    """The subject of a statement: the words of its names, and the worlds with these names."""

    words: frozenset[str]
    names: tuple[frozenset[int], ...]
    """The worlds that each of the names stands for."""
    called: tuple[frozenset[str], ...] = ()
    """The words of each of the names."""

    @property
    def nodes(self) -> frozenset[int]:
        """All worlds with these names."""
        return frozenset().union(*self.names)

    def beside(self, targets: Sequence[int]) -> frozenset[int]:
        """A world for each of the names, one of some if it stands for one of these; below 0 if it stands for none."""
        found = (next((node for node in sorted(name) if node in targets), min(name, default=0)) for name in self.names)
        return frozenset(node or -1 - place for place, node in enumerate(found))

    def shared_with(self, targets: Sequence[int]) -> "_Subject":
        """These subjects, of which a statement that refers to some worlds has those alone for its own that are these.

        Whoever else is named is what is said: who Eva reports to, in a statement about her and him.
        """
        shared = [words for name, words in zip(self.names, self.called, strict=True) if not name.isdisjoint(targets)]
        return self._replace(words=frozenset[str]().union(*shared)) if shared else self

    def is_that_of(self, targets: Sequence[int]) -> bool:
        """True if a statement that refers to some worlds is about precisely these subjects."""
        return len(targets) == len(self.names) and all(not name.isdisjoint(targets) for name in self.names)


class _Told(NamedTuple):
    """A new statement: what it says by its words, itself without a stated beginning and as it was given, and when."""

    frame: claim_frame.Frame | None
    claim: str
    text: str
    since: int | None
    until: int

    def about(self, subject: frozenset[str]) -> "_Told":
        """The same, as it is said of another subject."""
        return self._replace(frame=claim_frame.frame(self.claim, subject))


class _Match(NamedTuple):
    """A statement that may be about the subject of a new one.

    ``is_said``: in the same words. ``is_linked``: by what it refers to, or as who has it now. ``is_apart``: though it
    refers to something else, so that it only competes.
    """

    subject: _Subject
    told: _Told
    is_said: bool
    is_linked: bool
    is_apart: bool


def near(
    window: Window,
    text: str,
    *,
    about: Any = None,
    world: Any = None,
    since: int | None = None,
    until: int | None = None,
    limit: int = MAX_NEAR,
    nobodys: bool = False,
) -> list[Near]:
    """The valid statements near a text, the nearest first, ties in log order; of ``nobodys`` none in a user's world.

    Raises:
        InputError: an argument is not what it should be.
    """
    limits.checked_number(limit, "limit", 1, LATEST)
    now = window.place.moment.valid
    question, names = Question(text, now), _names(about)
    # Who lives there "from March on" lives elsewhere until then.
    is_plan = _begins_later(question.text, since, now)
    told = text if since is None or is_plan else wording.without_beginning(text)
    request = Request(question, world, RECALLED, False, valid_period.Choice(), LANES, CONVEX, in_order=False)

    def compare(snapshot: visible.VisibleSnapshot, gate: Gate, cosines: dict[int, float | None]) -> list[Near]:
        subject = _subject(window, snapshot, gate.inside, told, names)
        end = times.FOREVER if until is None else until
        new = _Told(claim_frame.frame(told, subject.words), told, text, since, end)
        linked = dict.fromkeys(_latest_about(snapshot, gate, subject.nodes))
        nodes = dict.fromkeys((*cosines, *linked))
        # A text in another script has a vector of zeros. What is about the subject and not among the nearest is far.
        is_meant = any(cosines.values())
        cosines = {node: cosines.get(node, 0.0) if is_meant else None for node in nodes}
        shown = {node: seen for node in nodes if (seen := gate.seen(node)) is not None and seen.row.type != _TURN}
        targets = _referred_to(snapshot, [node for node in shown if node not in linked])
        found = []
        for node, seen in shown.items():
            one = _compare_claims(snapshot, gate.inside, subject, new, (node, seen), cosines[node], targets.get(node))
            if one is not None and not (nobodys and world_lookup.user_world_around(snapshot, node) is not None):
                if is_plan and one.is_of_one:
                    one = msgspec.structs.replace(one, is_of_one=False, doubt="the new one begins later, by its words")
                found.append((node, one, build.stated_start(seen.row) != "defaulted"))
        ordered, further = sorted(found, key=lambda each: (-each[1].likeness, each[0])), list[tuple[int, int, bool]]()
        if any(one.is_repeated for _, one, _ in found):
            known = {node for node, one, _ in found if one.relation != "compatible"}
            for node in shown.keys() - known:
                seen, is_linked = shown[node], targets.get(node) is None
                if _competes_later(snapshot, subject, new, seen, is_linked=is_linked):
                    further.append((seen.validity.start, node, build.stated_start(seen.row) != "defaulted"))
        return _without_overtaken(ordered, since, further)[:limit]

    return recall.compared(window, request, compare, _find_called(question, names))


def _without_overtaken(
    near: list[tuple[int, Near, bool]], since: int | None, further: Iterable[tuple[int, int, bool]]
) -> list[Near]:
    """The same without their nodes; what is repeated after something that competes with it is no longer told as such.

    That began before ``since``, or now, and after the statement with the same words. If its start was not stated, as
    the last of each tells, it was also said after that. What may hold beside both, as a value of another sort, parts
    none. ``further`` are the start and the node of
    others that compete only with what is earlier, and whether the start was stated.
    """
    rivals = [
        (one.valid.start, node, is_stated)
        for node, one, is_stated in near
        if one.relation in claim_pairs.COMPETING and one.doubt in claim_doubts.PARTING
    ]
    rivals = [each for each in (*rivals, *further) if since is None or each[0] < since]

    def is_overtaken(node: int, one: Near) -> bool:
        return any(start > one.valid.start and (is_stated or other > node) for start, other, is_stated in rivals)

    return [
        msgspec.structs.replace(one, is_repeated=False) if one.is_repeated and is_overtaken(node, one) else one
        for node, one, _ in near
    ]


def _find_called(question: Question, names: Sequence[Any]) -> list[str] | None:
    """The names in a text that match its subjects; ``None`` if it does not name all of them."""
    about = {normalise_name(name) if isinstance(name, str) else "" for name in names}
    called = {name: normalise_name(name) for name in question.names} if about else {}
    return [name for name, form in called.items() if form in about] if about and about <= {*called.values()} else None


def _names(about: Any) -> list[Any]:
    given = [] if about is None else [about] if isinstance(about, str | bytes) else about
    if not isinstance(given, Iterable):
        given = [given]
    listed = list(islice(given, MAX_ABOUT + 1))
    if len(listed) > MAX_ABOUT:
        raise errors.InputError(f"about has more than {MAX_ABOUT} subjects", "Give the subjects of the statement")
    return [each for each in listed if each not in ("", None)]


def _subject(
    window: Window, snapshot: visible.VisibleSnapshot, inside: int, text: str, names: Sequence[Any]
) -> _Subject:
    """The subject of a text: the named worlds with their identities, or else the name that it begins with."""
    called: list[frozenset[str]] = []
    found: list[frozenset[int]] = []
    for name in names:
        nodes = frozenset[int]()
        if isinstance(name, str):
            nodes = frozenset(islice(world_lookup.nodes_named(snapshot, window.spec, name, inside), MAX_ABOUT))
        if nodes:
            called.append(wording.words_of(name))
            found.append(nodes)
            continue
        try:
            node = world_lookup.named_node(snapshot, window.spec, name)
        except errors.InputError:
            if not isinstance(name, str):
                raise
            called.append(wording.words_of(name))
            found.append(frozenset())
            continue
        found.append(frozenset([node]))
        called.append(_name_words(snapshot, node))
    for place, nodes in enumerate(found):
        found[place] = world_lookup.expand_identities(snapshot, window.spec, nodes)
        called[place] = called[place].union(*(_name_words(snapshot, other) for other in sorted(found[place] - nodes)))
    words = frozenset[str]().union(*called) if names else wording.leading_subject(text)
    return _Subject(words, tuple(found), tuple(called))


def _name_words(snapshot: visible.VisibleSnapshot, node: int) -> frozenset[str]:
    """The words of a world's name."""
    seen = valid_period.Choice(include_superseded=True).version(snapshot.tables, node, snapshot.place.moment)
    body = None if seen is None else snapshot.body(seen.row)
    return frozenset() if body is None else wording.words_of(body.name)


def _latest_about(snapshot: visible.VisibleSnapshot, gate: Gate, subjects: Iterable[int]) -> Iterator[int]:
    """The latest statements that refer to some worlds, in log order for each."""
    tables, moment = snapshot.tables, snapshot.place.moment
    for subject in sorted(subjects):
        found = []
        for place, row in tables.latest_incoming(subject, _REFERS_TO, known_by=moment.seq):
            if edge_seen(tables, place, row, moment) and gate.seen(place.source) is not None:
                found.append(place.source)
            if len(found) == LATEST:
                break
        yield from sorted(found)


def referred_to(snapshot: visible.VisibleSnapshot, node: int) -> list[int]:
    """The worlds that a statement refers to at the moment."""
    tables, moment = snapshot.tables, snapshot.place.moment
    outgoing = tables.outgoing(node, _REFERS_TO, known_by=moment.seq)
    return [row.target for place, row in outgoing if edge_seen(tables, place, row, moment)]


def _referred_to(snapshot: visible.VisibleSnapshot, nodes: Sequence[int]) -> dict[int, list[int]]:
    """The same of several statements, in one pass over their edges."""
    tables, moment = snapshot.tables, snapshot.place.moment
    found: dict[int, list[int]] = {node: [] for node in nodes}
    for place, row in tables.between(sorted(nodes), _REFERS_TO, None, known_by=moment.seq):
        if edge_seen(tables, place, row, moment):
            found[place.source].append(row.target)
    return found


def _compare_claims(
    snapshot: visible.VisibleSnapshot,
    inside: int,
    subject: _Subject,
    told: _Told,
    old: tuple[int, SeenVersion],
    cosine: float | None,
    targets: Sequence[int] | None,
) -> Near | None:
    """A statement that is near a new one; ``None`` if it is not near, or has another subject.

    ``old`` is its world and version. ``targets`` are the worlds that it refers to; ``None`` if the subject is among
    them, and others are looked up when it is near.
    """
    node, seen = old
    body = snapshot.body(seen.row)
    said = "" if body is None else body.content
    match = _match_subject(snapshot, inside, subject, told, node, said, targets) if said.strip() else None
    if match is None:
        return None
    start, since, until = seen.validity.start, told.since, told.until
    # A start that nobody stated yields to one that somebody did, of what has no end.
    is_stated = build.stated_start(seen.row) != "defaulted"
    is_later = since is not None and start > since and (until < times.FOREVER or is_stated)
    meets = snapshot.place.moment.valid if since is None else since
    claim = wording.without_beginning(said) if is_stated else said
    claim = said if claim != said and _has_yet_to_begin(said, start, meets) else claim
    how: Any = {"is_linked": match.is_linked, "is_later": is_later, "began": 1970 + start // _YEAR}
    alike = claim_pairs.REPEATED if match.is_said else _likeness(match.subject, claim, match.told, cosine, **how)
    if alike is None or (match.is_apart and not (alike.is_single_valued and alike.relation in claim_pairs.COMPETING)):
        return None
    if match.is_apart:
        other = "they refer to different things" if targets else "it refers to nothing, and the new one does"
        alike = alike._replace(is_single_valued=False, doubt=other)
    elif not is_later and _takes_turn_back(snapshot, node, seen, told.text, alike):
        alike = alike._replace(relation="replacement", reason=_BACK, is_single_valued=True)
    alike = _doubt_of_plan(alike, is_plan=_has_yet_to_begin(said, start, meets)) if alike.is_single_valued else alike
    targets = referred_to(snapshot, node) if targets is None else targets
    alike = claim_relation.of_entities(
        alike, (said, match.told.claim), (frozenset(targets), match.subject.beside(targets))
    )
    return Near(
        ref=snapshot.tables.node(node).lineage.hex(),
        text=said,
        likeness=alike.likeness,
        relation=alike.relation,
        reason=alike.reason,
        valid=Valid(start, seen.validity.end),
        about=tuple(snapshot.tables.node(target).lineage.hex() for target in targets),
        is_later=is_later,
        is_of_one=alike.is_single_valued,
        doubt=alike.doubt if alike.relation == "replacement" else "",
        is_repeated=match.is_said
        and _meet(seen, since, until)
        and (not match.subject.names or not targets or match.subject.is_that_of(targets))
        and inside in snapshot.containers(node)
        and not (is_stated and since is not None and _are_two_acts(match.told.frame, start, since)),
    )


def _match_subject(
    snapshot: visible.VisibleSnapshot,
    inside: int,
    subject: _Subject,
    told: _Told,
    node: int,
    said: str,
    targets: Sequence[int] | None,
) -> _Match | None:
    """How a statement may be about the subject of a new one; ``None`` if it has another subject."""
    is_linked = targets is None or not subject.nodes.isdisjoint(targets)
    is_said = wording.says_again(said, told.text)
    held = frozenset[str]() if is_linked or is_said else wording.held_words(told.claim, said)
    is_named = bool(subject.names) and not (is_linked or is_said or held)
    is_apart = is_named and _may_be_of_leading(snapshot, subject, said, told.claim, targets)
    if is_named and not is_apart and targets:
        # Whom the text is about may be no world yet: what refers to others is about them.
        return None
    # Of what one has at a time each other one is told who has it.
    alone = _Subject(held or wording.leading_subject(told.claim), ()) if is_apart or held else None
    subject = alone or _with_shared_words(snapshot, subject, node, targets)
    told = told.about(subject.words)
    if (is_apart or held or "i" in subject.words) and not is_linked and inside not in snapshot.containers(node):
        # "I" is somebody else in another world.
        return None
    return _Match(subject, told, is_said, is_linked or bool(held), is_apart)


def _with_shared_words(
    snapshot: visible.VisibleSnapshot, subject: _Subject, node: int, targets: Sequence[int] | None
) -> _Subject:
    """The subjects of a text, of several with the words of those that a statement refers to, too."""
    if len(subject.names) <= 1:
        return subject
    return subject.shared_with(referred_to(snapshot, node) if targets is None else targets)


def _takes_turn_back(
    snapshot: visible.VisibleSnapshot, node: int, seen: SeenVersion, words: str, alike: ClaimComparison
) -> bool:
    """True if a text says again, in its words, what a statement took the place of, and would hold beside that."""
    may_be = alike.relation == "compatible" and seen.number > 1
    return may_be and rivalry.has_replaced(snapshot, node, seen, words)


def _doubt_of_plan(alike: ClaimComparison, *, is_plan: bool) -> ClaimComparison:
    """What is known of two statements, of which the earlier is not ended if it is a plan that is still to begin."""
    if not is_plan or alike.relation != "replacement":
        return alike
    return alike._replace(is_single_valued=False, doubt="the earlier one begins later, by its words")


def _meet(seen: SeenVersion, since: int | None, until: int) -> bool:
    """True if what holds in a span may be what a statement says: each begins while the other holds, or both end."""
    start, end = seen.validity.start, seen.validity.end
    return (since is None or start <= max(since, until)) and (end == until or since in (None, start))


def _competes_later(
    snapshot: visible.VisibleSnapshot,
    subject: _Subject,
    told: _Told,
    seen: SeenVersion,
    *,
    is_linked: bool,
) -> bool:
    """True if a statement competes with a text as the later of both, though it does not as the earlier one."""
    body = snapshot.body(seen.row)
    if body is None or not body.content.strip():
        return False
    is_told = is_linked and bool(subject.nodes)
    began = 1970 + seen.validity.start // _YEAR
    found = _likeness(subject, body.content, told, None, is_linked=is_told, is_later=True, began=began)
    if found is not None and found.relation in claim_pairs.COMPETING:
        return found.doubt in claim_doubts.PARTING
    if not (is_told or wording.names_agree(wording.leading_subject(body.content), subject.words)):
        return False
    other = claim_frame.frame(body.content, subject.words)
    return told.frame is not None and other is not None and claim_pairs.may_take_turns(told.frame, other)


def _are_two_acts(told: claim_frame.Frame | None, start: int, since: int) -> bool:
    """True if what was done on one day was done again on another: who took her pill on Monday and on Tuesday."""
    days = {at // times.DAY_MICROSECONDS for at in (start, since)}
    return len(days) > 1 and told is not None and claim_pairs.tells_of_repeatable_act(told)


def _may_be_of_leading(
    snapshot: visible.VisibleSnapshot, subject: _Subject, said: str, text: str, targets: Sequence[int] | None
) -> bool:
    """True if a statement that refers to none of a text's subjects may be of whom both begin with.

    Two worlds of that name are two; see also :func:`worlddb.query.claims.claim_frame.tell_of_person`.
    """
    name = wording.leading_subject(text)
    if not wording.begin_alike(said, text):
        return False
    if not targets:
        return not wording.names_agree(name, subject.words)
    told = wording.leading_subject(said)
    is_two = name <= subject.words and any(told <= _name_words(snapshot, each) for each in targets)
    return not is_two and claim_frame.tell_of_person(said, text)


def _begins_later(text: str, since: int | None, now: int) -> bool:
    """True if a statement begins after ``since`` by its words, whatever start it was given.

    "From March on" names each day of March. ``now`` is when it was said, or ``since`` if that is not known.
    """
    named = begin_named(text, now)
    if since is None:
        return named is not None
    day = since - since % times.DAY_MICROSECONDS
    if named is not None and named < day + times.DAY_MICROSECONDS:
        return False
    if now > since and _AS_OF_NOW.search(text) is not None:
        return named is not None
    named = begin_named(text, day - 1)
    if named is None or named < day + times.DAY_MICROSECONDS:
        return False
    if _MONTH_ALONE.search(text) is None:
        return True
    month = times.parse_time(f"{times.format_time(since)[:7]}-01", "since")
    named = begin_named(text, month - 1)
    return named is not None and named > month


_AS_OF_NOW: Final = times.lazy(r"(?i)\b(?:today|tomorrow|tonight|this|next)\b")
"""Words for a time that lies before or after the moment in which they are said."""
_MONTH_ALONE: Final = times.lazy(rf"(?i)\b(?:{'|'.join(times.MONTHS)})\b(?! \d{{1,2}}(?:st|nd|rd|th)?\b)")
"""A month without the day behind it."""


def _has_yet_to_begin(text: str, start: int, now: int) -> bool:
    """True if a statement with some start begins after ``now`` by its words."""
    return _begins_later(text, start, start) and _begins_later(text, max(start, now), start)


def _likeness(
    subject: _Subject,
    said: str,
    told: _Told,
    cosine: float | None,
    *,
    is_linked: bool,
    is_later: bool,
    began: int,
) -> ClaimComparison | None:
    given, text = told.frame, told.claim
    first = wording.leading_subject(said)
    leads = wording.names_agree(first, subject.words)
    if not is_linked and not leads and (given is None or not subject.words <= wording.words_of(said)):
        return None
    words = wording.shared_subject(subject.words, first) if leads else subject.words
    if is_linked and wording.names_agree(first, lead := wording.leading_subject(text)):
        # Who is told to be Ana may be "my" in what is said of her.
        words |= first | lead
    known = claim_frame.frame(said, words)
    given = given if words == subject.words else claim_frame.frame(text, words)
    if known is None or given is None:
        return None
    alike = relate_with_meaning(*((given, known) if is_later else (known, given)), cosine)
    if alike is None:
        return None
    if not is_linked and not leads and (alike.relation != "same" or "i" in first):
        # It is named in the statement, which may be about somebody else.
        return None
    if wording.share_family_name(said, text):
        return None
    if not (alike.is_single_valued or (alike.relation == "same" and len(subject.names) > 1)):
        return alike
    # Two of one family may be told of under its name, and what happened long before may be told now.
    # A trip that is called off is one of those whom it is linked to.
    is_other = wording.begins_with_other_name(said, text) and not (given.cancelled and is_linked)
    if alike.relation == "same":
        # Of Dev and Luis one says that Luis is Dev's helper, and of Dev and Marta the other that Marta is.
        apart = "they begin with different names"
        return alike._replace(relation="compatible", reason=apart) if is_other else alike
    other = "they begin with different names" if is_other else ""
    if not (other or subject.names) and first - {"i"} != subject.words - {"i"}:
        # Jonas Keller may be another one than Jonas.
        other = "they may be of two of one name"
    if not other and claim_pairs.names_only_earlier_years(given, began):
        other = "the new one tells of years before it began"
    return alike._replace(is_single_valued=False, doubt=other) if other else alike


def relate_with_meaning(
    earlier: claim_frame.Frame, later: claim_frame.Frame, cosine: float | None
) -> ClaimComparison | None:
    """How two statements relate by their words, and by their meaning if both have vectors; ``None`` if not near.

    Long statements have words in common by chance, so what these say of them counts only if they are near in meaning.
    """
    alike = claim_relation.relate(earlier, later)
    if cosine is None or (alike is not None and alike.relation == "same"):
        return alike
    nearness = claim_pairs.nearness(earlier, later, cosine)
    is_meant = nearness >= claim_pairs.MEANT_FROM
    if claim_pairs.are_long(earlier, later) and not is_meant:
        return None
    is_one_verb = earlier.verb == later.verb and bool(earlier.light & later.light)
    meant = claim_pairs.related_by_meaning(OF_MEANING * min(nearness, 1.0))
    if alike is None:
        return meant if is_meant or (is_one_verb and cosine >= ALIKE_FROM) else None
    return alike._replace(likeness=meant.likeness) if is_meant and alike.relation == "compatible" else alike
