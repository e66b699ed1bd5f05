"""The default extractor: finds names, dates, amounts and addresses in turns.

What it finds becomes worlds that the turns refer to. It is deterministic and asks no model. Its answer depends on the
given turns alone: their texts, and the names of their speakers.

Names and other capitalised phrases are found by how they are written, English first; any script that has capitals is
read. A capital inside a sentence is evidence; one at its beginning is not, unless the word is written so elsewhere too,
or is followed by another, or has a form of its own (NASA, OpenAI, J.). A word that is mostly written small elsewhere is
no name. Where everything is written in capitals, or every word begins with one, capitals say nothing. Closed lists hold
the English words that a capital alone does not make a name.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple
from unicodedata import normalize

from worlddb.log.model.errors import InputError, shown
from worlddb.log.model.times import DAYS, MONTHS
from worlddb.reconciler.ingest.extraction import Extraction, Node, Relation, Turn, checked_turns
from worlddb.reconciler.ingest.mentions import surface_forms
from worlddb.reconciler.ingest.mentions.surface_forms import NAME, Mention

_FUNCTION = """
    a about above across actually after again against ago all almost alone along already also although always am
    among an and another any anybody anyone anything anyway are around as at away back basically be because been
    before behind being below beside besides between beyond both but by can cannot could dear definitely did do
    does doing done down during each either else enough especially etc even ever every everybody everyone
    everything except few finally first for from further generally given had has have having he hence her here
    hers herself him himself his how however i if in indeed instead into is it its itself just last lately later
    least less let like likely many may maybe me meanwhile might mine more moreover most much must my myself
    near nearly neither never nevertheless next no nobody none nor not nothing now nowhere of off often on once
    one only onto or other others otherwise our ours ourselves out over own per perhaps please possibly probably
    quite rather re really same second several shall she should since so some somebody someone something
    sometimes somewhere soon still such than that the their theirs them themselves then there therefore these
    they third this those though through throughout thus till to today together tomorrow too toward towards two
    three four under unless unlike until up upon us usually very via was we well were what whatever when
    whenever where wherever whether which while who whoever whole whom whose why will with within without would
    yes yesterday yet you your yours yourself yourselves
    """
_SPOKEN = """
    absolutely agreed ah aha amazing anyways aw awesome aww bravo btw bye cheers congrats congratulations cool
    damn exactly excellent fantastic fyi glad good goodbye gosh gotcha great haha hah hahaha happy hello hey hi
    hmm hooray hurray lol lmao lovely mhm mmm nah nice nope oh ok okay omg oops ouch perfect phew right sad
    sorry sounds sure sweet thank thanks totally ugh uh um wait welcome whoa woah wonderful wow yay yea yeah yep
    yikes yo yup
    """
_LABELS = """
    answer appendix chapter conclusion day example figure hour introduction item month note notes option
    overview page part question section stage step summary table tip tips total version week year
    """
FUNCTION: Final = frozenset(
    (*_FUNCTION.split(), *_SPOKEN.split(), *_LABELS.split(), *DAYS, *(day[:3] for day in DAYS), *MONTHS)
)
"""Words of grammar, interjections, labels, and what the calendar calls its days: no names when they stand alone, and
none at the beginning of one."""

ACRONYMS: Final = frozenset(("US",))
"""What is a name in capitals though it is a word of grammar in small letters."""

_JOINING = """
    of the de del della der den di da do dos du la le les van von bin ibn al el y und et
    """
JOINING: Final = frozenset(_JOINING.split())
"""Words in lower case that may stand inside a name: University of Lisbon, Ludwig van Beethoven."""

_HONORIFICS = """
    mr mrs ms miss mx dr prof professor sir dame lady lord captain capt sgt lt col gen rev fr sr st aunt uncle
    """
HONORIFICS: Final = frozenset(_HONORIFICS.split())
"""Titles before a person's name. Behind their short forms a full stop ends no sentence."""
NO_PERSON: Final = frozenset(("st",))
"""Of these, those that also begin the names of places."""


MAX_WORDS: Final = 8
"""Of one name; a longer run of capitals is a heading."""

_LETTER: Final = r"[^\W_][\u0300-\u036f]*"
_WORD: Final = re.compile(rf"(?:[^\W\d_]\.){{2,8}}(?![^\W_])|(?:{_LETTER})+(?:['’&-](?:{_LETTER})+)*")
_ENDING: Final = re.compile(r"['’](?:s|m|re|ve|ll|d)$", re.I)
_NEGATED: Final = re.compile(r"n['’]t$", re.I)
_BEGINNING: Final = re.compile(r"[.!?…\n\r:;\"“”«(\[{>•]")
"""Between two words: what lets a capital stand for nothing but a beginning."""
_SPACE: Final = frozenset((" ", "\u00a0", "\u202f"))
_STOPPED: Final = frozenset((". ", ".\u00a0"))
_HEADING: Final = 4
"""A sentence of so many words with a capital and none without is a heading, and so is a shorter one that does not begin
with a word of grammar or a greeting."""
_SHOUTED: Final = 3
"""A sentence of so many words in capitals, and hardly any other, is shouted."""
_QUOTED: Final = re.compile(r"[\"“«](?P<title>[^\"“”«»\n.!?]{2,100})[\"”»]")
_ARTICLES: Final = frozenset(("a", "an", "the"))
_SMALL_PREFIX: Final = 2
"""Letters in lower case with which a name like iPhone or eBay may begin."""


class Word(NamedTuple):
    """A word of a text without its possessive.

    ``key`` is it in lower case, ``initial`` whether it begins something.
    """

    text: str
    key: str
    start: int
    end: int
    initial: bool
    joined: bool
    """Only a space, or the full stop of a title or of an initial, is between it and the word before."""
    closed: bool
    """It had a possessive or another ending, so that no name goes on behind it."""
    possesses: bool


class Usage(NamedTuple):
    """How words are written in several texts: with a capital inside of sentences, and small."""

    capital: Counter[str]
    small: Counter[str]

    def is_name(self, key: str) -> bool:
        """True if a word is written with a capital at least as often as without.

        Only places where a capital means something are counted.
        """
        return self.capital[key] >= max(1, self.small[key])

    def is_small(self, key: str) -> bool:
        """True if a word is mostly written small."""
        return self.small[key] > self.capital[key]


def sentences(text: str) -> list[list[Word]]:
    """The words of a text by sentence, without what is between them."""
    found: list[list[Word]] = []
    at = 0
    for match in _WORD.finditer(text):
        gap, at = text[at : match.start()], match.end()
        before = found[-1][-1] if found else None
        # A title or an initial is followed by a full stop that ends nothing.
        stopped = before is not None and gap in _STOPPED and _is_abbreviated(before)
        begins = before is None or (not stopped and _BEGINNING.search(gap) is not None)
        joined = before is not None and not before.closed and (stopped or gap in _SPACE or gap == " & ")
        word = _word(match, begins, joined)
        if begins:
            found.append([word])
        else:
            found[-1].append(word)
    return found


def _word(match: re.Match[str], initial: bool, joined: bool) -> Word:
    said = match[0]
    if "'" not in said and "’" not in said:
        return Word(said, said.lower(), match.start(), match.end(), initial, joined, False, False)
    text = said if _NEGATED.search(said) else _ENDING.sub("", said)
    closed = len(text) < len(said)
    possesses = closed and said[-1] in "sS"
    return Word(text, text.lower(), match.start(), match.start() + len(text), initial, joined, closed, possesses)


def _is_abbreviated(word: Word) -> bool:
    return word.key in HONORIFICS or (len(word.text) == 1 and word.text.isupper() and word.key != "i")


def usage(texts: Iterable[Sequence[Sequence[Word]]], names: Iterable[str] = ()) -> Usage:
    """Count how words are written in some texts, and in ``names``, which are known to be names."""
    capital: Counter[str] = Counter()
    small: Counter[str] = Counter()
    for text in texts:
        for sentence in text:
            says = _has_mixed_case(sentence)
            for word in sentence:
                if word.text[0].islower() and not _looks_like_name(word):
                    small[word.key] += 1
                elif says and not word.initial and _is_capital(word):
                    capital[word.key] += 1
    for name in names:
        for match in _WORD.finditer(name):
            word = _word(match, False, False)
            if _is_capital(word):
                capital[word.key] += 1
    return Usage(capital, small)


def names_in(text: str, said: Sequence[Sequence[Word]], used: Usage) -> Iterator[Mention]:
    """The names in the sentences of a text."""
    for sentence in said:
        says = _has_mixed_case(sentence)
        for phrase in _capitalised_runs(sentence):
            yield from _name_in_phrase(text, phrase, used, says)


def titles(text: str) -> Iterator[Mention]:
    """Find titles: what stands in quotation marks and is written as titles are.

    They come without the article that they begin with.
    """
    for match in _QUOTED.finditer(text):
        words = [_word(found, False, True) for found in _WORD.finditer(text, *match.span("title"))]
        if words and words[0].key in _ARTICLES:
            words = words[1:]
        heavy = [word for word in words if word.key not in FUNCTION and word.key not in JOINING]
        is_title = len(heavy) >= 2 and len(words) <= MAX_WORDS and all(word.text[0].isupper() for word in heavy)
        if is_title and words[0].text[0].isupper() and not all(map(_is_all_capitals, heavy)):
            start, end = words[0].start, match.end("title")
            named = text[start:end].rstrip(" ,;:")
            form = normalize("NFC", " ".join(named.split())).replace("’", "'")
            yield Mention(NAME, "Entity", form, named, start, start + len(named))


def _is_capital(word: Word) -> bool:
    return word.text[0].isupper() and not _is_grammar(word)


def _is_grammar(word: Word) -> bool:
    return (word.key in FUNCTION and word.text not in ACRONYMS) or _NEGATED.search(word.text) is not None


def _is_all_capitals(word: Word) -> bool:
    return len(word.text) > 1 and word.text.isupper()


def _looks_like_name(word: Word) -> bool:
    """True if a word looks like a name wherever it stands: OpenAI, iPhone, GPT-4, J.K."""
    letters = word.text
    if letters.islower() or letters[1:].islower():
        return False
    inner = next((at for at, letter in enumerate(letters) if at and letter.isupper() and letters[at - 1] != "-"), None)
    if inner is None or not letters[0].isalpha():
        return False
    if letters[0].islower():
        return inner <= _SMALL_PREFIX and letters.isalnum()
    return not _is_grammar(word)


def _has_mixed_case(sentence: Sequence[Word]) -> bool:
    """True if a sentence has words in small letters, so that capitals are evidence."""
    shouted = sum(map(_is_all_capitals, sentence))
    small = sum(word.text[0].islower() and word.key not in JOINING for word in sentence)
    if shouted >= _SHOUTED and shouted > small:
        return False
    return small > 0 or (len(sentence) < _HEADING and sentence[0].key in FUNCTION)


def _capitalised_runs(sentence: Sequence[Word]) -> Iterator[list[Word]]:
    """Runs of capitalised words that only spaces and joining words part."""
    run: list[Word] = []
    held: list[Word] = []
    for word in sentence:
        if run and word.joined and not word.initial:
            if word.text[0].isupper() or _looks_like_name(word):
                run.extend((*held, word))
                held = []
                continue
            if word.key in JOINING and len(held) < 2:
                held.append(word)
                continue
        if run:
            yield run
        held = []
        run = [word] if word.text[0].isupper() or _looks_like_name(word) else []
    if run:
        yield run


def _name_in_phrase(text: str, phrase: list[Word], used: Usage, says: bool) -> Iterator[Mention]:
    """The name that a run of capitalised words is, if it is one."""
    if len(phrase) > 2 * MAX_WORDS:
        return
    while phrase and not _may_start_name(phrase, used):
        phrase = phrase[1:]
        while phrase and phrase[0].text[0].islower() and not _looks_like_name(phrase[0]):
            phrase = phrase[1:]
    while phrase and (_is_grammar(phrase[-1]) or phrase[-1].key in HONORIFICS):
        phrase = phrase[:-1]
        while phrase and phrase[-1].text[0].islower() and not _looks_like_name(phrase[-1]):
            phrase = phrase[:-1]
    if not phrase or len(phrase) > MAX_WORDS or not _is_name(phrase, used, says):
        return
    is_person = len(phrase) > 1 and phrase[0].key in HONORIFICS - NO_PERSON and phrase[1].key not in JOINING
    start, end = phrase[0].start, phrase[-1].end
    yield Mention(NAME, "Person" if is_person else "Entity", _tidy_name(text, phrase), text[start:end], start, end)


def _tidy_name(text: str, phrase: Sequence[Word]) -> str:
    """A name as written, tidied.

    It has plain apostrophes, single spaces, and no full stop behind a title.
    """
    parts = [phrase[0].text]
    for before, word in pairwise(phrase):
        gap = text[before.end : word.start]
        stop = "." if gap.startswith(".") and before.key not in HONORIFICS else ""
        parts.append(f"{stop} & {word.text}" if "&" in gap else f"{stop} {word.text}")
    return normalize("NFC", "".join(parts)).replace("’", "'")


def _may_start_name(phrase: Sequence[Word], used: Usage) -> bool:
    """True if a run may begin with its first word.

    The word is no word of grammar, and at the beginning of a sentence none that is otherwise written small.
    """
    first = phrase[0]
    if _is_grammar(first):
        return False
    return not first.initial or _looks_like_name(first) or first.key in HONORIFICS or not used.is_small(first.key)


def _is_name(phrase: Sequence[Word], used: Usage, says: bool) -> bool:
    telling = [word for word in phrase if _is_capital(word) or _looks_like_name(word)]
    if not telling:
        return False
    if len(phrase) > 1 and phrase[0].key in HONORIFICS and says:
        return True
    if says and any(_looks_like_name(word) or (word.possesses and not used.small[word.key]) for word in telling):
        return True
    if all(used.is_name(word.key) for word in telling):
        return len(telling) > 1 or len(telling[0].text) > 1
    if not says or len(telling) < 2:
        return False
    # Two capitals side by side, of which one stands inside the sentence, and not both are words of everyday.
    return not all(used.is_small(word.key) for word in telling)


_CODE: Final = re.compile(r"```.*?(?:```|\Z)|`[^`\n]{1,500}`", re.S)
_MAX_FORM: Final = 255
"""Characters of a form. It becomes a name, a label and a key, and is near the limit of none of them; nobody
calls anything by what is longer, a web address above all."""
_GONE: Final = "\ufffc"
"""Stands for what was found already: no letter, no space and no end of a sentence."""
_BY_FORM: Final[tuple[tuple[Callable[[str], Iterator[surface_forms.Mention]], re.Pattern[str]], ...]] = (
    (surface_forms.addresses, re.compile(r"@|://|www\.|\d", re.I)),
    (surface_forms.dates, re.compile(r"\d")),
    (surface_forms.amounts, re.compile(r"\d")),
    (titles, re.compile(r"[\"“«]")),
)
"""In this order: what one has found is not looked at by the next. Each with what a text has without fail if there is
something for it to find, which is the quicker question."""


class EntityExtractor:
    """Names, dates, amounts and addresses that turns mention.

    The extractor is for :meth:`worlddb.Database.ingest`. ``kinds`` says which of "name", "date", "amount" and "address"
    are looked for. Every mention of one form in one conversation is one world, which the turns refer to; whether two
    forms are one is for the resolver to propose and for somebody to decide. Names are found as English writes them.

    Raises:
        InputError: there is no such kind.
    """

    def __init__(self, *, kinds: Collection[str] = surface_forms.KINDS) -> None:
        given: object = kinds
        if (
            not isinstance(given, Collection)
            or isinstance(given, str)
            or any(kind not in surface_forms.KINDS for kind in given)
        ):
            raise InputError(f"kinds is {shown(kinds)}", f"Give a list of some of: {', '.join(surface_forms.KINDS)}")
        self._kinds = frozenset(kinds)

    def __call__(self, turns: Sequence[Turn]) -> Extraction:
        """The worlds that the turns mention, and an edge from each turn to each that it mentions."""
        nodes: dict[str, Node] = {}
        edges: list[Relation] = []
        for position, found in enumerate(self.mentions(turns)):
            first: dict[str, surface_forms.Mention] = {}
            for mention in found:
                first.setdefault(f"{mention.type} {mention.form}", mention)
            for label, mention in first.items():
                if label not in nodes:
                    exact = mention.kind == surface_forms.NAME
                    nodes[label] = Node(label=label, type=mention.type, name=mention.form, key=label, resolve=exact)
                where = {"role": "mention", "start": mention.start, "end": mention.end}
                edges.append(Relation(source=position, type="refers_to", target=label, key=label, properties=where))
        return Extraction(nodes=list(nodes.values()), edges=edges)

    def mentions(self, turns: Sequence[Turn | Mapping[str, Any]]) -> list[tuple[surface_forms.Mention, ...]]:
        """What each turn mentions, in the order of its text; turns are given as to ``ingest``.

        Raises:
            InputError: one of them is no turn.
        """
        found: list[list[surface_forms.Mention]] = []
        masked: list[str] = []
        given = checked_turns(turns)
        for turn in given:
            own, rest = _mentions_by_form(turn.text)
            found.append([mention for mention in own if mention.kind in self._kinds])
            masked.append(rest)
        if surface_forms.NAME in self._kinds:
            said = [sentences(text) for text in masked]
            used = usage(said, dict.fromkeys(turn.speaker for turn in given))
            for own, turn, text in zip(found, given, said, strict=True):
                own.extend(names_in(turn.text, text, used))
        return [tuple(sorted((each for each in own if _is_short(each)), key=_place)) for own in found]


def _place(mention: surface_forms.Mention) -> tuple[int, int]:
    return mention.start, mention.end


def _is_short(mention: surface_forms.Mention) -> bool:
    return len(mention.form) <= _MAX_FORM


def _mentions_by_form(text: str) -> tuple[list[surface_forms.Mention], str]:
    """Find mentions by form; returns them with the remaining text.

    That text is without what was found and without code, position for position.
    """
    rest = _blank_out(text, [match.span() for match in _CODE.finditer(text)])
    found: list[surface_forms.Mention] = []
    for finder, sign in _BY_FORM:
        if not sign.search(rest):
            continue
        own: list[surface_forms.Mention] = []
        end = 0
        for mention in sorted(finder(rest), key=lambda each: (each.start, -each.end)):
            if mention.start >= end:
                own.append(mention)
                end = mention.end
        rest = _blank_out(rest, [_place(mention) for mention in own])
        found.extend(own)
    return found, rest


def _blank_out(text: str, places: Sequence[tuple[int, int]]) -> str:
    """A text with some places, in order and disjoint, replaced by as many other characters."""
    parts: list[str] = []
    at = 0
    for start, end in places:
        parts += (text[at:start], _GONE * (end - start))
        at = end
    return "".join((*parts, text[at:]))
