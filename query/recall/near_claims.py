"""The valid statements that a new one may repeat, replace or contradict.

Candidates are what comes nearest to the text by its words and its meaning, and what refers to whom it is about.
Frames of statements about the same subject are compared; vectors add similar statements in other words, and leave out
long ones that share a few words by chance. Only the embedding model runs, and nothing is written (laws 11 and 12).
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice
from threading import Lock
from typing import Any, Final, NamedTuple

import msgspec

from worlddb.log.model import errors, limits, times
from worlddb.log.model import events as ev
from worlddb.log.model.blobs import Body
from worlddb.projections.indexes import analysis
from worlddb.projections.tables.names.blocks import TURN
from worlddb.projections.tables.names.canonical import normalise_name, type_digest
from worlddb.projections.tables.reads.asof import SeenVersion, edge_seen, versions_as_of
from worlddb.projections.tables.storage.schema import CUT, EDGE_TYPE_CODES
from worlddb.query.claims import claim_doubts, claim_frame, claim_pairs, claim_relation, wording
from worlddb.query.claims.claim_pairs import ClaimComparison, Relation
from worlddb.query.question.question import CONVEX, LANES, TEXT, Question, Request
from worlddb.query.question.question_dates import begin_named
from worlddb.query.reads import build, world_lookup
from worlddb.query.reads.window import Window
from worlddb.query.recall import recall
from worlddb.query.recall.candidates import Gate
from worlddb.query.records.records import Valid
from worlddb.query.snapshot import valid_period, visible
from worlddb.query.snapshot.snapshot import Snapshot

MAX_NEAR: Final = 5
"""How many near statements are given unless another number is asked for."""
ON_NEAR: Final = ("note", "propose", "supersede_same_subject")
"""What an agent's tools may do if a new statement is near others: only report it, or also link competing ones."""
RECALLED: Final = 32
"""How many of the worlds nearest to a text are compared."""
LATEST: Final = 64
"""How many of the latest statements that refer to a subject are compared."""
MOST_TOLD_OF: Final = 64
"""For how many worlds that are erased at once it is looked up what else tells their texts."""
MOST_TEXTS: Final = 4
"""The number of a world's texts that are looked for elsewhere, the latest ones."""
MOST_TEXTS_OF_ALL: Final = 96
"""The number of the texts of all of them."""
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
        if on_near not in ON_NEAR:
            raise errors.InputError(f"on_near is {errors.shown(on_near)}", f"Give one of: {', '.join(ON_NEAR)}")
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


class _Subject(NamedTuple):
    """The subject of a statement: the words of its names, and the worlds with these names."""

    words: frozenset[str]
    names: tuple[frozenset[int], ...]
    """The worlds that each of the names stands for."""

    @property
    def nodes(self) -> frozenset[int]:
        """All worlds with these names."""
        return frozenset().union(*self.names)

    def is_that_of(self, targets: Sequence[int]) -> bool:
        """True if a statement that refers to some worlds is about precisely these subjects."""
        return len(targets) == len(self.names) and all(not name.isdisjoint(targets) for name in self.names)


_Framed = tuple[claim_frame.Frame | None, str, str]
"""What a statement says by its words, the statement itself, and the same for comparing it letter by letter."""


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
        framed = claim_frame.frame(told, subject.words), told, wording.fold_blanks(text)
        linked = dict.fromkeys(_latest_about(snapshot, gate, subject.nodes))
        nodes = dict.fromkeys((*cosines, *linked))
        # A text in another script has a vector of zeros. What is about the subject and not among the nearest is far.
        is_meant = any(cosines.values())
        cosines = {node: cosines.get(node, 0.0) if is_meant else None for node in nodes}
        shown = {node: seen for node in nodes if (seen := gate.seen(node)) is not None and seen.row.type != _TURN}
        targets = _referred_to(snapshot, [node for node in shown if node not in linked])
        found = []
        for node, seen in shown.items():
            span = since, times.FOREVER if until is None else until
            one = _compare_claims(snapshot, gate.inside, subject, framed, node, seen, span, cosines, targets.get(node))
            if one is not None and not (nobodys and world_lookup.user_world_around(snapshot, node) is not None):
                if is_plan and one.is_of_one:
                    one = msgspec.structs.replace(one, is_of_one=False, doubt="the new one begins later, by its words")
                found.append((node, one, build.stated_start(seen.row) != "defaulted"))
        ordered, further = sorted(found, key=lambda each: (-each[1].likeness, each[0])), list[tuple[int, int, bool]]()
        if any(one.is_repeated for _, one, _ in found):
            for node in shown.keys() - {node for node, _, _ in found}:
                seen, is_linked = shown[node], targets.get(node) is None
                if _competes_later(snapshot, subject, framed[:2], seen, is_linked=is_linked):
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


class SaidElsewhere(NamedTuple):
    """References of what says a text word for word, and of what tells the same in other words, with its text.

    ``sure`` are those of both that surely say nothing else, of the same subjects.
    """

    same: list[str]
    telling: list[tuple[str, str]]
    sure: list[str]


def saying_the_same(
    window: Window, text: str, *, nobodys: bool, of: str = "", instead: str = "", user: str = "", ended: bool = False
) -> SaidElsewhere:
    """The valid statements that say a text word for word, but for blanks, and what tells it besides, in log order.

    A statement or a message tells it with a code of it, however its signs are grouped, or a number that few texts
    have, with a name and another word of it, or with a number or without one in most of its words; one that follows the
    text ``of`` a reference in a conversation also with any number or name of it.
    Only what the text has and ``instead`` has not counts. What begins with another name, denies the text or has
    another value does not tell it, but for a code or a number that few texts have. They are found by their words alone,
    so no model runs, and each of the searches gives at most ``RECALLED``; of ``nobodys`` none in a user's world.
    With ``ended`` it is also what holds no more.
    """
    now, choice = window.place.moment.valid, valid_period.Choice(include_superseded=ended)
    folded, lost = wording.fold_blanks(text), _Telling.of(text).without(_Telling.of(instead))
    codes = codes_of(text[:_TOLD_WITHIN]) - codes_of(instead[:_TOLD_WITHIN])
    coded, looked_at = code_pattern(codes), set[int]()

    def compare(snapshot: visible.VisibleSnapshot, gate: Gate, nearest: Iterable[int]) -> SaidElsewhere:
        found, replies, others = list[str](), list[tuple[str, str]](), list[tuple[str, str]]()
        told, sure = None, list[str]()
        with suppress(errors.UnknownReference):  # Of a user's several worlds it lies in one.
            told = world_lookup.named_node(snapshot, window.spec, of) if of else None
        for node in sorted({*nearest} - looked_at):
            looked_at.add(node)
            seen = None if node == told else gate.seen(node)
            body = None if seen is None else snapshot.body(seen.row)
            if seen is None or body is None or not body.content:
                continue
            ref, is_turn = snapshot.tables.node(node).lineage.hex(), seen.row.type == _TURN
            said = analysis.without_speaker(body.content) if is_turn else body.content
            is_same = not is_turn and wording.fold_blanks(said) == folded
            is_reply = is_turn and told is not None and _follows(snapshot, gate, node, told)
            has_code = coded is not None and coded.search(said[:_TOLD_WITHIN].casefold()) is not None
            if not (is_same or has_code or lost.is_in(said, is_reply=is_reply)):
                continue
            if nobodys and world_lookup.user_world_around(snapshot, node) is not None:
                continue
            if told is not None and _surely_says(snapshot, gate, (told, node), text, user):
                sure.append(ref)
            if is_same:
                found.append(ref)
            else:
                (replies if is_reply else others).append((ref, said))
        return SaidElsewhere(found, [*replies, *others], sure)

    sought = [text, _searched_words(codes), " ".join(sorted(lost.names & lost.lost))]
    said_in = [
        recall.compared(
            window,
            Request(Question(words, now), None, RECALLED, False, choice, (TEXT,), CONVEX, in_order=False),
            compare,
        )
        for words in filter(None, dict.fromkeys(sought))
    ]
    return SaidElsewhere(*(list(chain(*each)) for each in zip(*said_in, strict=True)))


def _surely_says(snapshot: visible.VisibleSnapshot, gate: Gate, pair: tuple[int, int], text: str, user: str) -> bool:
    """True if the second of two worlds says the text of the first in its words and their order, of the same subjects.

    "I" is the speaker of a message, and elsewhere the user, whose messages ``user`` speaks.
    """
    spoken, about = list[tuple[str, str]](), list[frozenset[int]]()
    for each in pair:
        seen = gate.seen(each)
        body = None if seen is None else snapshot.body(seen.row)
        if seen is None or body is None:
            return False
        is_turn = seen.row.type == _TURN
        speaker, said = analysis.split_speaker(body.content) if is_turn else ("", body.content)
        spoken.append(("user" if speaker in ("", user) else speaker, said))
        about.append(frozenset() if is_turn else frozenset(referred_to(snapshot, each)))
    if spoken[0][1] != text or (about[0] != about[1] and all(about)):
        return False
    if any(_POINTING.search(said) for _, said in spoken) and not (about[0] and about[0] == about[1]):
        return False
    if any(_FIRST.search(said) for _, said in spoken) and about[0] != about[1]:
        return False
    if any(_OF_SPEAKERS.search(said) for _, said in spoken) and spoken[0][0] != spoken[1][0]:
        return False
    if ("?" in spoken[0][1]) != ("?" in spoken[1][1]) or analysis.say_otherwise(spoken[0][1], spoken[1][1]):
        return False
    return _plain_words(*spoken[0]) == _plain_words(*spoken[1])


def _plain_words(speaker: str, text: str) -> list[str]:
    """The words of a text in their order, without what opens or closes it, "the phone of Ana" as "Ana phone"."""
    text = text.replace("phone number", "phone")
    plain = _OF_WHOM.sub(r"\2 \1", _ASIDE.sub("", wording.fold_blanks(text).casefold().replace("’", "'")))
    words, name, before = list[str](), speaker.casefold().split(), ""
    for word in plain.split():
        bare = word.strip('.,;:!?"“”()…').removesuffix("'s")
        if bare in {"i", "my", "i'm", "i've"}:
            words += [*name, *{"i'm": ["is"], "i've": ["have"]}.get(bare, [])]
        elif bare and bare != "the":
            # The user likes what "I" like.
            is_verb = before == "i" or (words == name and [before] == name[-1:])
            words.append(
                "is" if bare == "am" else bare.removesuffix("s") if is_verb and len(bare) > len("has") else bare
            )
        before = word
    return words


_ASIDE: Final = times.lazy(
    r"^(?:(?:so|well|oh|ok|okay|hey|hi|yes|btw|by the way)\b[,:]? ?)+|[,;]? (?:by the way|btw)(?=\W*$)"
)
"""What opens or closes a text and says nothing."""
_OF_WHOM: Final = times.lazy(r"^(?:the )?([^\W\d_]+) of ([^\W\d_]+)(?= )")
"""What is somebody's, at the beginning of a text."""
_POINTING: Final = times.lazy(r"(?i)\b(?:s?he|it|they|him|hers?|them|his|its|theirs?|this|that|these|those)\b")
"""Words for who or what is named elsewhere."""
_OF_SPEAKERS: Final = times.lazy(r"(?i)\b(?:we|us|ours?|you|yours?)\b")
"""Words for those who speak and listen."""
_FIRST: Final = times.lazy(r"(?i)\b(?:i|my)\b")
_REPLIED_WITHIN: Final = 10 * 60 * 1_000_000
"""The microseconds after a message within which another one of its conversation is taken for a reply."""


def _follows(snapshot: visible.VisibleSnapshot, gate: Gate, node: int, told: int) -> bool:
    """True if a message lies in a conversation with another one, and follows soon after it."""
    seen, versions = gate.seen(node), [*versions_as_of(snapshot.tables, told, snapshot.place.moment.seq)]
    if node < told or seen is None or not versions:
        return False
    passed = seen.validity.start - min(each.validity.start for each in versions)
    return passed <= _REPLIED_WITHIN and not set(snapshot.containers(node)).isdisjoint(snapshot.containers(told))


class _Telling(NamedTuple):
    """What would tell a text elsewhere: its numbers, its names and all of its words as stems, and what of it counts."""

    numbers: frozenset[str]
    names: frozenset[str]
    words: frozenset[str]
    lost: frozenset[str]
    text: str

    @property
    def titled(self) -> frozenset[str]:
        """The stems of names behind a title, by which few others are meant."""
        return analysis.query_stems(" ".join(_TITLED.findall(self.text))) - self.led

    @property
    def led(self) -> frozenset[str]:
        """The stems of whom the text begins with, which others have in common with it."""
        return analysis.query_stems(" ".join(wording.leading_subject(self.text)))

    @staticmethod
    def of(text: str) -> "_Telling":
        plain = text[:_TOLD_WITHIN]
        numbers = frozenset(_plain_number(number) for number in _NUMBER.findall(plain))
        words = frozenset(stem for stem in analysis.query_stems(_NUMBER.sub(" ", plain)) if stem.isalpha())
        named = (name for name in _NAMED_WITHIN.findall(plain) if name.casefold() not in _DATES | _TITLES)
        return _Telling(numbers, analysis.query_stems(" ".join(named)) & words, words, words, plain)

    def without(self, other: "_Telling") -> "_Telling":
        """The same, of which only what another text does not tell counts."""
        return self._replace(numbers=self.numbers - other.numbers, lost=self.lost - other.words)

    def is_in(self, said: str, *, is_reply: bool) -> bool:
        """True if a text tells what counts of this one; a reply does in fewer of its words."""
        theirs = _Telling.of(said)
        numbers, shared = self.numbers & theirs.numbers, self.words & theirs.words
        if not numbers and self.lost.isdisjoint(shared):
            return False
        half, named = 2 * len(shared) - len(self.words), self.names & shared
        if is_reply:
            return bool(numbers) or not self.lost.isdisjoint(named) or half >= 0
        if any(map(_is_rare, numbers)):
            return True
        if self._has_other_value(theirs):
            return False
        if not self.titled.isdisjoint(self.lost & shared):
            return True
        if _tells_of_another(self.text, theirs.text):
            return False
        besides = len(shared & self.lost - named - self.led - _DATES)
        if named & self.lost - self.led and besides >= (_TOLD_IN if self.numbers else 1):
            return True
        if self.numbers:
            return bool(numbers) and (half > 0 or len(named) >= _TOLD_IN)
        return len(named) >= _TOLD_IN or (len(shared) >= _TOLD_IN and 3 * len(shared) >= 2 * len(self.words))

    def _has_other_value(self, other: "_Telling") -> bool:
        """True if another text denies this one of its subject, or tells something else of it under the same verb."""
        leads = [wording.leading_subject(each.text) for each in (self, other)]
        if not wording.names_agree(*leads):
            return False
        if claim_relation.relation_of(self.text, other.text) in claim_pairs.COMPETING:
            return True
        one, two = (claim_frame.frame(each.text, wording.shared_subject(*leads)) for each in (self, other))
        is_one_verb = one is not None and two is not None and one.verb == two.verb
        return is_one_verb and self.words - other.words != frozenset() != other.words - self.words


def _tells_of_another(text: str, said: str) -> bool:
    """True if two texts begin with different names, and neither names whom the other begins with."""
    if not wording.begins_with_other_name(text, said):
        return False
    for one, other in ((text, said), (said, text)):
        lead = wording.leading_subject(one) - {"i"}
        first = wording.words_of(one.split(" ", 1)[0])
        if not lead or (one == text and first.isdisjoint(lead)) or not lead.isdisjoint(wording.words_of(other)):
            return False
    return True


_TOLD_IN: Final = 2
"""The fewest names, or words, that tell the same."""
_DATES: Final = frozenset((*times.MONTHS, *times.DAYS))
"""What is capitalised and no name."""
_TITLES: Final = frozenset(
    ["dr", "prof", "mr", "mrs", "ms", "mx", "frau", "herr", "herrn", "mme", "sr", "sra", "dra", "sig"]
)
_TITLED: Final = times.lazy(rf"\b(?i:{'|'.join(sorted(_TITLES))})\b\.? ([A-Z][\w'’-]+)")
"""A name behind a title: Dr. Kessler."""
_TOLD_WITHIN: Final = 4_000
"""How many characters of a text are looked at for what it tells."""
_NUMBER: Final = times.lazy(r"(?<![^\W_])[^\W_]*\d[\w.,:]*")
_COUNTED: Final = times.lazy(r"(\d[\d.:]*)[^\W\d_]{1,4}")
"""A number with its unit or its ending: 8am, 16th."""
_RARE: Final = times.lazy(r"(?!(?:19|20)\d\d$)(?:\d[\d.]{3,}|[^\W\d_]+\d{2,}\w*)")
"""A number that few other texts have, such as a code; no year and no time of day."""
_NAMED_WITHIN: Final = times.lazy(r"(?<=[\w,;:] )[A-Z][\w'’-]+")
"""A name within a sentence, where no other word is capitalised."""


def _plain_number(number: str) -> str:
    """A number without signs between its digits, its unit and its ending."""
    plain = number.casefold().replace(",", "").strip(".:")
    counted = _COUNTED.fullmatch(plain)
    return plain if counted is None else counted[1]


def _is_rare(number: str) -> bool:
    return _RARE.fullmatch(number) is not None


# -- codes, which tell a secret in any language: passwords, numbers of accounts, addresses


_MAX_CODES: Final = 16
"""How many codes of a text are looked for."""
_LONGEST_CODE: Final = 128
_ADDRESS: Final = times.lazy(
    rf"(?i)(?:[a-z][a-z0-9+.-]{{0,{_LONGEST_CODE}}}://|www\.)[^\s<>\"]+"
    rf"|(?<![\w.%+'-])[\w.%+'-]{{1,{_LONGEST_CODE}}}@[\w-]+(?:\.[\w-]+)+"
)
"""A URL or an e-mail address."""
_OF_ADDRESS: Final = ("@", "://", "www.")
"""Any address has one of them."""
_SECRET: Final = times.lazy(
    r"(?i)\b\w*(?:password|passwort|passphrase|passcode|passwd|kennwort|contraseña|mot de passe|senha|parola|пароль)\b"
    r"(?:\W+\w+){0,3}?\s*(?:(?:[:=]\s*[\"'“„«]?|(?:\b(?:is|was|now|to|ist|lautet|war|es|est|é|è)\b|[—-])\s*"
    r"(?:[\"'“„«]|(?=[^\s\"'”“»]*?(?:[\d#$%&+=^~|@]|(?-i:[A-ZÀ-ÖØ-ÞА-ЯЁ])|\w(?:[^\w\s\"'’.,-]|_)+\w|\w-\w+-\w))))"
    r"([^\s\"'”“»]{4,}))"
)
"""What is said to be a password.

An ordinary word is one behind a colon or in quotes: "my password was changed" tells none.
"""
_TOKEN: Final = times.lazy(r"[^\s,;()\[\]{}\"“”„«»]+")
_SIGNED: Final = times.lazy(r"[^\W_][#$%&*+=^~|@_\\]+[^\W_]")
"""A sign within a token that words do not have."""
_GROUPS: Final = times.lazy(
    r"(?<![\w.,])\+?\(?(?=[^\W\d_]*\d)[^\W_]+(?:[ /.()-]{1,3}(?=[^\W\d_]*\d)[^\W_]+)+(?![^\W_])"
)
"""A long number in groups."""
_NO_CODE: Final = times.lazy(
    r"(?i)(?<![\w.])(?:\d{4}-\d\d?-\d\d?(?:t[\d:.]+z?)?|\d{1,2}[./-]\d{1,2}[./-](?:\d{4}|\d\d)?"
    r"|\d{1,2}[:.]\d\d(?:[ap]m|h)?|(?:19|20)\d\d)(?![^\W_])"
)
"""A date, a time of day or a year."""
_NO_CODE_COUNTED: Final = times.lazy(
    r"\d{1,3}(?:[-–][^\W\d_]*)*[^\W\d_]*|(?:19|20)?\d\d(?:s|er|ern|ers)|\d+(?:[.,]\d+)?(?:k?[gmwb]|km²?|cm|mm|ml|l|kwh|"
    r"mah|rpm|eur|euros?|usd|chf|gbp|px|mb|gb|tb|ppm|hz|[mg]hz)"
)
"""What has a digit and is no code: 8am, 3-year-old, 1990s, 1500kg."""
_LEAST_SIGNS: Final = 5
"""The fewest signs of a code with letters; of digits alone it has ``_LEAST_DIGITS``."""
_LEAST_DIGITS: Final = 7
_OF_PHONE: Final = range(9, 16)
"""How many digits a number of a phone has: the first of them may be said or left out."""
_END_OF_PHONE: Final = 8


def codes_of(text: str) -> frozenset[str]:
    """The codes that a text has, without their signs and in lower case: ``fledermaus77``.

    A code is an address, what is said to be a password, letters with digits or signs among them, or a long number;
    no date, no time of day and nothing counted.
    """
    has_address = any(map(text.casefold().__contains__, _OF_ADDRESS))
    found = {_plain_code(match[0]): None for match in _ADDRESS.finditer(text)} if has_address else {}
    secrets = (match[1].strip(".,;:!?)'") for match in _SECRET.finditer(text))
    found |= {_plain_code(secret): None for secret in secrets if secret.casefold() not in analysis.STOP_WORDS}
    rest = _NO_CODE.sub(" ", _ADDRESS.sub(" ", text) if has_address else text)
    for match in _GROUPS.finditer(rest):
        plain = _plain_code(match[0])
        if sum(map(str.isdigit, plain)) >= _LEAST_DIGITS:
            found[plain] = None
    rest = _GROUPS.sub(lambda match: " " if _plain_code(match[0]) in found else match[0], rest)
    for match in _TOKEN.finditer(rest):
        if _is_code(token := match[0].strip(".:!?'…*_-–—")):
            found[_plain_code(token)] = None
    return frozenset([each for each in found if 4 <= len(each) <= _LONGEST_CODE][:_MAX_CODES])


def _is_code(token: str) -> bool:
    """True if a word is a code by its letters, digits and signs."""
    plain = _plain_code(token)
    if plain.isdigit():
        return len(plain) >= _LEAST_DIGITS
    if not _LEAST_SIGNS <= len(plain) <= _LONGEST_CODE or _NO_CODE_COUNTED.fullmatch(token.casefold()) is not None:
        return False
    digits = sum(map(str.isdigit, plain))
    return digits >= 2 or (bool(digits) and not plain[-1].isdigit()) or _SIGNED.search(token) is not None


def _plain_code(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))


def code_pattern(codes: Collection[str]) -> re.Pattern[str] | None:
    """What finds codes in a text in lower case, however they are grouped there; ``None`` for none."""
    if not codes:
        return None
    return re.compile("|".join(map(_grouped_code, sorted(codes))))


def _grouped_code(code: str) -> str:
    """A code with up to three signs between any two of its own. A phone's number may begin otherwise."""
    is_phone = code.isdigit() and len(code) in _OF_PHONE
    signs = code[-_END_OF_PHONE:] if is_phone else code
    gap = r"[\W_]{0,3}" if len(code) >= _LEAST_DIGITS else r"[\W_]?"
    return ("" if is_phone else r"(?<![^\W_])") + gap.join(map(re.escape, signs)) + r"(?![^\W_])"


def _searched_words(codes: Collection[str]) -> str:
    """The words by which texts with some of the codes are searched: a code, its parts, and how digits are grouped."""
    return " ".join(dict.fromkeys(word for code in sorted(codes) for word in _code_words(code)))


def _code_words(code: str) -> Iterator[str]:
    yield code
    parts = re.findall(r"\d+|[^\W\d_]+", code)
    yield from parts if len(parts) > 1 else ()
    if not code.isdigit() or len(code) not in _OF_PHONE:
        yield from (code[start : start + 4] for start in range(0, len(code), 4))
        return
    for size in range(min(8, len(code) - 1), 1, -1):
        yield from (code[start : start + size] for start in range(len(code) - size + 1))


# -- statements near a text


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
    words: set[str] = set()
    found: list[frozenset[int]] = []
    for name in names:
        if isinstance(name, str):
            nodes = frozenset(islice(world_lookup.nodes_named(snapshot, window.spec, name, inside), MAX_ABOUT))
            if nodes:
                words |= wording.words_of(name)
                found.append(nodes)
                continue
        try:
            node = world_lookup.named_node(snapshot, window.spec, name)
        except errors.InputError:
            if not isinstance(name, str):
                raise
            words |= wording.words_of(name)
            found.append(frozenset())
            continue
        found.append(frozenset([node]))
        words |= _name_words(snapshot, node)
    for place, nodes in enumerate(found):
        found[place] = world_lookup.expand_identities(snapshot, window.spec, nodes)
        for other in sorted(found[place] - nodes):
            words |= _name_words(snapshot, other)
    return _Subject(frozenset(words) if names else wording.leading_subject(text), tuple(found))


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
    framed: _Framed,
    node: int,
    seen: SeenVersion,
    span: tuple[int | None, int],
    cosines: dict[int, float | None],
    targets: Sequence[int] | None,
) -> Near | None:
    """A statement that is near a text; ``None`` if it is not near, or has another subject.

    ``span`` is since when and until when the text is to hold. ``targets`` are the worlds that it refers to; ``None`` if
    the subject is among them, and others are looked up when it is near.
    """
    body = snapshot.body(seen.row)
    said = "" if body is None else body.content
    if not said.strip():
        return None
    is_linked = targets is None or not subject.nodes.isdisjoint(targets)
    is_said = wording.fold_blanks(said) == framed[2]
    is_apart = bool(subject.names) and not (is_linked or is_said)
    is_apart = is_apart and _may_be_of_leading(snapshot, subject, said, framed[1], targets)
    if subject.names and not (is_linked or is_said or is_apart) and targets:
        # Whom the text is about may be no world yet: what refers to others is about them.
        return None
    if is_apart:
        subject = _Subject(wording.leading_subject(framed[1]), ())
        framed = claim_frame.frame(framed[1], subject.words), framed[1], framed[2]
    if (is_apart or "i" in subject.words) and not is_linked and inside not in snapshot.containers(node):
        # "I" is somebody else in another world.
        return None
    start, (since, until) = seen.validity.start, span
    begins_later = since is not None and start > since
    # A start that nobody stated yields to one that somebody did, of what has no end.
    is_stated = build.stated_start(seen.row) != "defaulted"
    is_later = begins_later and (until < times.FOREVER or is_stated)
    meets = snapshot.place.moment.valid if since is None else since
    told = wording.without_beginning(said) if is_stated else said
    told = said if told != said and _has_yet_to_begin(said, start, meets) else told
    cosine, began = cosines.get(node), 1970 + start // _YEAR
    alike = claim_pairs.REPEATED if is_said else None
    alike = alike or _likeness(subject, told, framed[:2], cosine, is_linked=is_linked, is_later=is_later, began=began)
    if alike is None or (is_apart and not (alike.is_single_valued and alike.relation in claim_pairs.COMPETING)):
        return None
    if is_apart:
        other = "they refer to different things" if targets else "it refers to nothing, and the new one does"
        alike = alike._replace(is_single_valued=False, doubt=other)
    if alike.relation == "replacement" and alike.is_single_valued and _has_yet_to_begin(said, start, meets):
        alike = alike._replace(is_single_valued=False, doubt="the earlier one begins later, by its words")
    targets = referred_to(snapshot, node) if targets is None else targets
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
        is_repeated=(not begins_later or start <= until)
        and (seen.validity.end == until or since in (None, start))
        and is_said
        and (not subject.names or not targets or subject.is_that_of(targets))
        and inside in snapshot.containers(node)
        and not (is_stated and since is not None and _are_two_acts(framed[0], start, since)),
    )


def _competes_later(
    snapshot: visible.VisibleSnapshot,
    subject: _Subject,
    framed: tuple[claim_frame.Frame | None, str],
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
    found = _likeness(subject, body.content, framed, None, is_linked=is_told, is_later=True, began=began)
    return found is not None and found.relation in claim_pairs.COMPETING and found.doubt in claim_doubts.PARTING


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
    framed: tuple[claim_frame.Frame | None, str],
    cosine: float | None,
    *,
    is_linked: bool,
    is_later: bool,
    began: int,
) -> ClaimComparison | None:
    given, text = framed
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


# -- what was said before, and retired

MAX_RETIRED: Final = 20_000
"""Of so many of the last worlds that were retired it is known what they said."""
_MAX_COMMITS: Final = 20_000
"""In so many of the last commits they are looked for, ..."""
_MAX_EVENTS: Final = 200_000
"""... and among so many events."""
_TELLING_WORDS: Final = 3
"""A text with fewer words, and without a digit, is said again and again, as "yes, please"."""


class RetiredTexts:
    """What the last worlds that were retired said, as hashes of this process; it follows the log. Thread-safe.

    It begins anew after an erasure, so that it has no hash of an erased text.
    """

    holds_texts: Final = True

    def __init__(self, _place: object) -> None:
        self._guard = Lock()
        self._erasures: object = None
        self._through = 0
        self._hashes: dict[int, int] = {}
        """By world the hash of its text, in the order in which they ended."""
        self._nodes: dict[int, dict[int, int]] = {}
        """By hash the worlds, each with the commit that ended it."""

    def write(self) -> None:
        """Write nothing to the disk."""

    def nodes(self, snapshot: Snapshot, asked: Iterable[int], erasures: object) -> list[int]:
        """The worlds that may have said texts with some hashes; ``erasures`` tells those of the store apart."""
        with self._guard:
            if erasures != self._erasures:
                self._hashes.clear()
                self._nodes.clear()
                self._erasures, self._through = erasures, 0
            head = snapshot.log.head().seq
            if head > self._through:
                self._follow(snapshot, head)
            return [node for each in asked for node, seq in self._nodes.get(each, {}).items() if seq <= head]

    def _follow(self, snapshot: Snapshot, head: int) -> None:
        ended, left = dict[int, int](), _MAX_EVENTS
        for seq in range(head, max(self._through, head - _MAX_COMMITS), -1):
            left -= snapshot.log.header(seq).event_count
            if left < 0 or len(ended) >= MAX_RETIRED:
                break
            for event in reversed(snapshot.log.some_events(seq, _ENDS)):
                node = snapshot.tables.node_of(event.lineage) if isinstance(event, ev.Ended) and not event.by else None
                if node is not None:
                    ended.setdefault(node, seq)
        self._through = head
        for node, seq in reversed([*islice(ended.items(), MAX_RETIRED)]):
            self._add(snapshot, node, seq)

    def _add(self, snapshot: Snapshot, node: int, seq: int) -> None:
        row = snapshot.tables.node(node)
        body = snapshot.body(snapshot.tables.version(node, row.versions)) if row.ended and row.versions else None
        if body is None or not _is_telling(said := _statement_of(body)):
            return
        self._drop(node)
        self._hashes[node] = told = _text_hash(said)
        self._nodes.setdefault(told, {})[node] = seq
        if len(self._hashes) > MAX_RETIRED:
            self._drop(next(iter(self._hashes)))

    def _drop(self, node: int) -> None:
        told = self._hashes.pop(node, None)
        if told is not None:
            del self._nodes[told][node]
            if not self._nodes[told]:
                del self._nodes[told]


_ENDS: Final[frozenset[type[ev.Event]]] = frozenset({ev.Ended})


def retired_saying(window: Window, texts: Iterable[str]) -> dict[str, list[str]]:
    """By each of some texts the worlds that said so word for word, blanks aside, and that were retired.

    What something else superseded is not among them, nor what holds again. Short texts are left out, such as answers.
    """
    asked = {_text_hash(text): text for text in texts if _is_telling(text)}
    found: dict[str, list[str]] = {}
    with window.snapshot() as snapshot:
        kept = snapshot.shared_cache(RetiredTexts) if asked else None
        erasures = window.reader.generation, snapshot.erasure_due()
        for node in () if kept is None else kept.nodes(snapshot.stored, asked, erasures):
            row = snapshot.store_tables.node(node)
            body = snapshot.stored.body(snapshot.store_tables.version(node, row.versions))
            text = "" if body is None else asked.get(_text_hash(_statement_of(body)), "")
            if body is not None and text.split() == _statement_of(body).split() and _is_retired(snapshot, node):
                found.setdefault(text, []).append(row.lineage.hex())
    return found


def _is_retired(snapshot: visible.VisibleSnapshot, node: int) -> bool:
    row = snapshot.store_tables.node(node)
    if row.ended in (0, CUT) or row.ended > snapshot.place.moment.seq:
        return False
    events = snapshot.stored.log.some_events(row.ended, _ENDS)
    return any(isinstance(event, ev.Ended) and event.lineage == row.lineage and not event.by for event in events)


def _statement_of(body: Body) -> str:
    return analysis.without_speaker(body.content) if body.type == TURN else body.content


def _is_telling(text: str) -> bool:
    return len(text.split(maxsplit=_TELLING_WORDS)) >= _TELLING_WORDS or any(map(str.isdigit, text))


def _text_hash(text: str) -> int:
    return hash(" ".join(text.split()))
