"""What says a text word for word, or still tells what it said: now, or before it was retired.

Whoever ends, changes or erases a statement learns what tells it elsewhere: a code of it in any language, or a number, a
name and most of its words. They are found by their words alone, so no model runs, and nothing is written. Whoever says
again what was retired learns that.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from itertools import chain, islice
from threading import Lock
from typing import Any, Final, NamedTuple

from worlddb.log.model import errors, limits, times
from worlddb.log.model import events as ev
from worlddb.log.model.blobs import Body
from worlddb.projections.indexes import analysis
from worlddb.projections.tables.names.blocks import SESSION, TURN
from worlddb.projections.tables.names.canonical import type_digest
from worlddb.projections.tables.reads.asof import versions_as_of
from worlddb.projections.tables.storage.schema import CUT
from worlddb.query.claims import claim_frame, claim_pairs, claim_relation, wording
from worlddb.query.history import lineage
from worlddb.query.question.question import CONVEX, TEXT, Question, Request
from worlddb.query.reads import adjacency, build, world_lookup
from worlddb.query.reads.window import Window
from worlddb.query.recall import recall
from worlddb.query.recall.candidates import Gate
from worlddb.query.recall.near_claims import RECALLED, referred_to
from worlddb.query.records import records
from worlddb.query.snapshot import valid_period, visible
from worlddb.query.snapshot.snapshot import Snapshot

MAX_TOLD_OF: Final = 64
"""For how many worlds that are erased at once it is looked up what else tells their texts."""
MAX_TEXTS: Final = 4
"""The number of a world's texts that are looked for elsewhere, the latest ones."""
MAX_TEXTS_OF_ALL: Final = 96
"""The number of the texts of all of them."""
_TURN: Final = type_digest("Turn")


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
    lost = _Telling.of(text).without(_Telling.of(instead))
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
            is_same = not is_turn and wording.says_again(said, text)
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


def telling_elsewhere(window: Window, refs: Iterable[Any]) -> Iterator[tuple[str, list[str]]]:
    """Pairs of the reference of one of some worlds, and the others that may tell what it says or ever said.

    Also what has ended or is hidden: its text is there. Of ``MAX_TOLD_OF`` worlds, by their last few texts, the
    last one of each first, and by ``MAX_TEXTS_OF_ALL`` in all; of a session it is what its messages say.
    """
    everything = window.revealing(deprecated=True)

    def sought() -> Iterator[tuple[str, str]]:
        earlier = list[tuple[str, str]]()
        for found in islice(chain.from_iterable(_spoken_in(everything, ref) for ref in refs), MAX_TOLD_OF):
            texts = _texts_of(everything, found)
            yield from texts[:1]
            earlier += texts[1:MAX_TEXTS]
        yield from earlier

    for ref, text in islice(sought(), MAX_TEXTS_OF_ALL):
        telling = saying_the_same(everything, text, nobodys=False, of=ref, ended=True).telling
        yield ref, [other for other, _ in telling if other != ref]


def _spoken_in(window: Window, ref: Any) -> Iterable[records.World]:
    """A world; of a session its messages."""
    with window.snapshot() as snapshot:
        node = world_lookup.named_node(snapshot, window.spec, ref, unify=window.unify)
        found = build.world(snapshot, node, window.place.moment, window.spec, include_superseded=True)
    if found is not None and found.type == SESSION:
        return adjacency.members(window, found.ref, True, None)
    return () if found is None else (found,)


def _texts_of(window: Window, found: records.World) -> list[tuple[str, str]]:
    """Each different text of a world with its reference, the latest first, without the name of who speaks."""
    if not found.content:
        return []
    spoken = analysis.without_speaker if found.type == TURN else str
    with window.snapshot() as snapshot:
        node = world_lookup.named_node(snapshot, window.spec, found.ref, unify=window.unify)
        versions = reversed(lineage.history(snapshot, node))
        texts = dict.fromkeys(spoken(version.content) for version in versions)
    return [(found.ref, text) for text in texts if not limits.is_blank(text)]


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


# -- what was retired, and is said again

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
            if body is not None and wording.says_again(text, _statement_of(body)) and _is_retired(snapshot, node):
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
    return hash(wording.fold_blanks(text))
