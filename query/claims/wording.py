"""Bring a statement into one wording, and find whom or what it names.

Contractions, phrases and signs of money are spelt in one way. A note in few words becomes a sentence, what stands
before the subject goes behind it, and what somebody changed is told in the passive voice.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from worlddb.log.model import times
from worlddb.log.model.times import lazy
from worlddb.projections.indexes import analysis
from worlddb.query.claims import foreign_statements, lexicon, quantities

MAX_CHARACTERS: Final = 400
"""A longer text is more than one statement and gets no frame."""
LEADING: Final = 120
"""Within so many characters a statement names whom it begins with."""
_OF_NOBODY: Final = analysis.STOP_WORDS - {"i", "will"}
"""Words that name nobody though a statement begins with them."""
_PHRASES: Final = {
    "as well": "as-well",
    "blood type": "blood-type",
    "blood group": "blood-type",
    "as a child": "as-a-child",
    "as a kid": "as-a-child",
    "as a boy": "as-a-child",
    "as a girl": "as-a-child",
    "back then": "back-then",
    "about to": "about-to",
    "on the side": "on-the-side",
    "turned down": "refused",
    "off and on": "off-and-on",
    "on and off": "off-and-on",
    "part time": "part-time",
    "in addition": "in-addition",
    "no longer": "no-longer",
    "nicht mehr": "nicht",
    "switched off": "disabled",
    "switched on": "enabled",
    "turned off": "disabled",
    "turned on": "enabled",
    "any more": "any-more",
    "not any more": "any-more",
    "used to": "used-to",
    "is used to": "is accustomed",
    "are used to": "are accustomed",
    "got used to": "accustomed",
    "gets used to": "accustomed",
    "getting used to": "accustomed",
    "broke up a": "parted a",
    "broke up the": "parted the",
    "happy to say": "happy",
    "glad to say": "happy",
    "pleased to say": "happy",
    "proud to say": "happy",
    "sad to say": "sad",
    "sorry to say": "sad",
    "needless to say": "certainly",
    "thinking of": "considering",
    "thinking about": "considering",
    "called off": "cancelled",
    "canceled": "cancelled",
    "takes care of": "looks after",
    "take care of": "look after",
    "has a new job": "works now",
    "have a new job": "work now",
    "got a new job": "works now",
    "got a job at": "works now at",
    "found a job at": "works now at",
    "has a job at": "works now at",
    "came back fine": "was fine",
    "came back clear": "was fine",
    "came back normal": "was fine",
    "came back negative": "was negative",
    "came back positive": "was positive",
    "started a new job": "works now",
    "took over": "took-over",
    "gave up": "gave-up",
    "given up": "gave-up",
    "gives up": "gave-up",
    "broke off": "broke-off",
    "broke up": "broke-off",
    "from now on": "from-now-on",
    "these days": "these-days",
    "went up": "went-up",
    "has gone up": "went-up",
    "have gone up": "went-up",
    "has gone down": "went-down",
    "have gone down": "went-down",
    "is up": "went-up",
    "went down": "went-down",
    "is down": "went-down",
    "can not stand": "hates",
    "year old": "years-old",
    "years old": "years-old",
    "is staying at": "is at",
    "are staying at": "are at",
    "am staying at": "am at",
    "take place": "is",
    "takes place": "is",
    "took place": "was",
    "has to": "must",
    "have to": "must",
}
_BEGINNING: Final = lazy(
    r"(?i)^(?:from|as (?:of|from)|starting|effective|beginning)(?: on| from| in)? "
    r"(?:(?:the )?\d{1,2}(?:st|nd|rd|th)? (?:of )?)?(?:next |this )?"
    rf"(?:(?:{'|'.join(sorted(lexicon.TIMES))}|week|month|year)\b|\d{{4}}-\d\d-\d\d)"
    r"(?: \d{1,2}(?:st|nd|rd|th)?\b)?(?:,? \d{4})?(?: on(?:wards?)?)?,? (?=[^\W\d])(?!to\b|until\b|till\b|through\b)"
)
"""Words before a statement that tell when it begins: from 20 April on."""
_MY_NAMED: Final = lazy(
    r"^(?:[Mm]y|[Oo]ur) (?:(?:older|younger|elder|eldest|oldest|youngest|little|big|best|late) )?[a-z]+ (?=[A-Z][a-z])"
)
"""Words before a name that say whose it is: my sister Clara, our dog Rex."""
OF_ONE_HOLDER: Final = lexicon.word_set(
    "dentist doctor gp physio physiotherapist therapist psychologist psychiatrist gynaecologist gynecologist optician"
    " dermatologist cardiologist paediatrician pediatrician midwife vet plumber electrician mechanic gardener cleaner"
    " housekeeper caretaker landlord landlady hairdresser barber tailor babysitter nanny childminder accountant lawyer"
    " solicitor notary broker banker boss manager supervisor director president chairman chairwoman ceo cto cfo"
    " secretary treasurer editor principal headmaster headmistress teacher tutor coach trainer instructor mentor"
    " advisor adviser captain conductor husband wife spouse fiance fiancee boyfriend girlfriend"
)
"""The parts that somebody plays for somebody who has one of the kind: a dentist, a boss, but not a friend."""
_HOLDER: Final = lazy(
    r"^(?!(?:Who|Whose|What|Which|Where|When|Why|How|He|She|It|They|We|You|This|That|There|The|My|Our|His|Her|Their"
    r"|Its|Here|Today|Now)\b)(?P<who>(?:(?:Mr|Mrs|Ms|Dr|Prof)\.? )?[A-Z][\w'’-]*(?: [A-Z][\w'’-]*){0,2})"
    r"(?P<is>(?: (?:is|was|will be|has been|became|not|now|still|currently|again|also|no longer|the new))+)"
    r" (?P<part>(?:my|our|the(?= (?:[\w-]+ ){1,3}of )|(?:the [\w-]+|[A-Z][\w-]*(?: [A-Z][\w-]*){0,2})['’]s?)"
    rf"(?: (?!(?:former|old|previous|ex|first|second|other)\b)[\w-]+){{0,2}}?"
    rf" (?i:{'|'.join(sorted(OF_ONE_HOLDER))})(?: of (?:(?:the|my|our) )?[\w-]+(?: [A-Z][\w-]*){{0,2}})?)"
    r"(?P<rest>(?: (?:now|again|today|these days|since|from|until|till|for|at|in)\b.*|[.!?]*)?)$"
)
"""Who plays such a part for whom: it is told of whose it is."""
_HELD: Final = lazy(
    r"^(?:it(?: is|'s)(?: now| again)? (?P<whose>[^\W\d][\w-]*(?: [\w-]+)?)'s? (?P<turn>turn)"
    r"|(?P<who>(?!(?:nobody|no one|none|who|what|which|it|there|if|when)\b)[^\W\d][\w.'-]*(?: [\w.'-]+){0,2}?)"
    r"(?: (?:now|currently|still))? (?:(?P<does>own|lead|manage|maintain|chair|head|took over|take over)s?"
    r"|(?P<deed>reviews|handles|moderates|coordinates|oversees|runs)(?= the )"
    r"|(?:is|are|am)(?: (?:now|currently|still|again))?"
    r" (?:(?P<part>responsible for|in charge of|working on|on(?= call| duty| watch)"
    r"|the (?:owner|lead|leader|manager|maintainer|chair|head) of)|(?P<role>the)(?= (?:[\w-]+ ){0,4}[\w-]+$)"
    r"(?! (?:[\w-]+ )*(?:sister|brother|son|daughter|child|friend|cousin|aunt|uncle|neighbou?r|colleague|one)\b))))"
    r" (?P<what>(?!(?:an?|my|our|his|her|its|their|your|some|several|many|most|no|two|three|four|five|\d+)\b)\S.*?)"
    r"(?:,? (?:now|again|currently|instead|these days|today|(?:since|from|as of) .+))?$"
)
"""Who alone has what others may have at another time: the one who owns billing, or is on call, or whose turn it is."""
_GIFT: Final = lazy(
    r"^(?:(?:gift|present) idea for (?P<for>[\w-]+)(?::|,| is)? "
    r"|(?P<wisher>[\w-]+) (?:wishes for|would like|wants|asked for) "
    r"|(?:i|we|[\w-]+) (?:wants?|plans?|would like|(?:still )?needs?|am going|are going|intends?) to (?:give|buy|get)"
    r" (?P<whom>[\w-]+) |(?:i|we|[\w-]+) (?P<given>gave|bought|got) (?P<who>[\w-]+) )"
    r"(?:an?|the|some|another) (?P<what>[\w'-]+(?: [\w'-]+){0,2}?)(?: (?:for|as|at|on|from) .+)?$"
)
"""What somebody is to be given, or was given: one that was given is wished for no more."""
GIVEN: Final = "given"
_HOLDS: Final = {"lead": "head", "leader": "head", "in charge": "responsible for", "owner": "own", "take over": ""}
_DIGIT: Final = re.compile(r"\d")
_ADDRESS: Final = (
    r"\w[\w.+-]*@[\w-]+(?:\.[\w-]+)+|https?://[^\s<>\"]*[^\s<>\".,;:!?)]|[^\W\d_][\w-]+(?:\.[\w-]+)*\.[a-z]{2,}\b"
)
"""Addresses of mail, pages and machines, and names of files: each is one word, whatever words are in it."""
IDENTIFIER: Final = lazy(
    r"https?://\S+|--?[a-z][\w-]*|/\S*|[\w.-]+/\S*|[^\W\d]\+\+|[^\W\d_]#|#\d+|[^\W_]*_\w*"
    r"|[^\W\d_]\w*(?:\.[^\W\d]\w*)+(?:\(\))?|[a-z]+[A-Z]\w*|[A-Z][a-z]+(?:[A-Z][a-z]+)+|[A-Z]{2,}-?\d+|[a-z]+-?\d+"
    r"|GET|POST|PUT|PATCH|DELETE|HEAD"
)
"""What names one thing by its form: a path, a flag, a name in code, a number behind a sign or letters."""
TOKEN: Final = lazy(rf"{_ADDRESS}|\d+(?:\.\d+)*|['’]s?(?=\s)|[^\W_]+(?:-[^\W_]+)*")
TITLED: Final = lazy(r"\d+|[^\W_]+(?:[-.][^\W_]+)*|['’]s?(?=\s)")


def kept_search(pattern: str) -> Callable[[str], re.Match[str] | None]:
    """Return the search for a pattern that keeps what it found: each statement is compared with many others.

    Assign it in a module of this room, so that :func:`worlddb.query.claims.claim_relation.forget` clears it.
    """
    return lru_cache(maxsize=lexicon.MAX_FRAMES)(re.compile(pattern).search)


def identifiers_in(text: str) -> frozenset[str]:
    """The words of a text that name one thing by their form, in small letters."""
    words = (word.strip('"“”()*`').rstrip(",.;:!?") for word in text.split())
    return frozenset(word.casefold() for word in words if word and IDENTIFIER.fullmatch(word) is not None)


def fold_blanks(text: str) -> str:
    """A text in the form that is compared for repetition: NFC, blanks folded."""
    return " ".join((text if text.isascii() else unicodedata.normalize("NFC", text)).split())


def says_again(one: str, other: str) -> bool:
    """True if two texts are the same word for word: in NFC, blanks aside."""
    return one == other or fold_blanks(one) == fold_blanks(other)


_PHRASE: Final = lazy(rf"\b(?:{'|'.join(sorted(_PHRASES, key=len, reverse=True))})\b")
_HALTED: Final = lazy(
    r"\bstop(?:s|ped)? "
    r"(?=(?:(?:at|by|near|outside|off|over|in|on) |for (?:lunch|dinner|breakfast|water|coffee|fuel|a ))"
    rf"(?!(?:the )?(?:\d|last|this|next|order|time|while|early|late|{'|'.join(sorted(lexicon.TIMES))})\b))"
)
"""Who stops at a shop, or in Paris for lunch, goes on with whatever it was."""
_NOT: Final = re.compile(r"n't\b")
_AFTER_ALL: Final = lazy(r"\bafter all\b(?! (?:the|this|that|these|those|my|our|his|her|their|of)\b)")
_LASTED: Final = lazy(r"(?<![\d:.])(\d{1,2}):(\d\d):(\d\d)(?![\d:])")
_OVER: Final = lazy(r"(?<![\d/.])(3[2-9]|[4-9]\d|[12]\d\d)/(\d{2,3})(?![\d/%])")
"""One value of two numbers, of which no day has the first: a blood pressure of 145/92."""
_CLOCK: Final = lazy(r"(?<![\d:.])(\d{1,2}):(\d\d)(?![\d:])")
_I_AM: Final = lazy(r"\bi(?: am|'m)\b")
"""Which is no time of the day."""
_CODE: Final = lazy(r"(?<![\w.,:-])(?![23]d\b)(\d{1,3})([a-f])(?![\w-])")
"""A seat or a flat, 12A: a value by its letter."""
_LETTER_SIZE: Final = lazy(r"\b(is|are|size|in) (x*[sml])\b(?!')")
"""Sizes that are letters, some of which are also what is left of "is" and "am"."""
_LETTERED: Final = lazy(
    r"\b(?P<kind>type|group|grade|block|building|class|team|platform|gate|section|hall|terminal|row|wing|zone"
    r"|option|plan)(?P<is> is| are)? (?P<letter>[a-z])(?P<sign>[+-]?)(?=[.,;!?]|$| (?:at|in|on|of|for|to)\b)"
)
"""Values that are letters, some of which are also words: blood type A."""
_SCORE: Final = lazy(r"\b((?:score|result|won|lost|drew|leads?|led|beat)\b[^.]*? )(\d{1,3})-(\d{1,3})(?![\w-])")
"""A score is one value, and no two numbers."""
_SIGN_OF_MONEY: Final = re.compile(r"(?P<sign>[$€£])(?P<count>\d+(?:\.\d+)?)(?!\w)")
_WAY_BACK: Final = lazy(r"\b(flight|train|bus|ferry|boat|trip|journey|drive|ride) back\b(?! (?:on|to work)\b)")
_STUCK: Final = re.compile(r"(?<![^\W\d])(\d)(kg|km|cm|mm|mg|ml|lbs?|oz|ft|gb|mb|tb)\b")
_THOUSANDS: Final = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")


def normalise_text(text: str) -> str:
    """A text in small letters, with contractions, phrases, hours and amounts of money written in one way."""
    plain = text.casefold().replace("’", "'").replace("cannot", "can not")
    if _SECRET.search(plain) is not None:
        plain = _SECRET.sub(_as_one_value, plain)
    if plain.startswith("i") or " i" in plain:
        plain = _I_AM.sub("i is", plain)
    if "n't" in plain:
        plain = _NOT.sub(" not", plain)
    if "," in plain:
        plain = _THOUSANDS.sub("", plain)
    if ":" in plain:
        plain = _CLOCK.sub(r"\1.\2", _LASTED.sub(r"\1.\2.\3", plain))
    if "/" in plain:
        plain = _OVER.sub(r"\1.\2", plain)
    if " back" in plain:
        plain = _WAY_BACK.sub(r"return \1", plain)
    if "size" in plain:
        plain = _LETTER_SIZE.sub(r"\1 \2-sized", plain)
    if "-" in plain:
        plain = _SCORE.sub(r"\1s\2-\3", plain)
    if _DIGIT.search(plain) is not None:
        plain = _SIGN_OF_MONEY.sub(_as_money, _CODE.sub(r"n\1\2", _STUCK.sub(r"\1 \2", plain)))
    plain = _LETTERED.sub(_as_one_word, plain)
    if "degrees " in plain:
        plain = plain.replace("degrees celsius", "celsius").replace("degrees fahrenheit", "fahrenheit")
    plain = _PHRASE.sub(lambda found: _PHRASES[found[0]], plain)
    if "wi-fi" in plain:
        plain = plain.replace("wi-fi", "wifi")
    if "after all" in plain:
        plain = _AFTER_ALL.sub("after-all", plain)
    return _HALTED.sub("paused ", plain) if "stop" in plain else plain


_SECRET: Final = lazy(
    r"(?P<is>\b(?:password|passcode|passphrase|pin|code|token|key)\b[^.;:!?]*?(?: is(?: now)?|:) )"
    r"(?P<value>(?=\S*[^\W_])(?=\S*[^\w\s.'-]\S)\S+?)(?=[.,;]?(?:\s|$))"
    r"|(?P<iban>\biban\b[^.;:!?]*? )(?P<number>[a-z]{2}\d\d(?: ?[\da-z]{4}){2,7}(?: ?[\da-z]{1,4})?)\b"
)
"""A password with signs, or an account number in groups: one value."""


def _as_one_value(match: re.Match[str]) -> str:
    if match["iban"]:
        return f"{match['iban']}{match['number'].replace(' ', '')}"
    spelt = (each if each.isalnum() else f"-u{ord(each)}-" for each in match["value"])
    return f"{match['is']}v{''.join(spelt).replace('--', '-').rstrip('-')}"


def _as_one_word(match: re.Match[str]) -> str:
    sign = {"+": "plus", "-": "minus"}.get(match["sign"], "")
    return f"{match['kind']}{match['is'] or ''} {match['letter']}{sign}-lettered"


_MONEY: Final = {"$": "dollars", "€": "euros", "£": "pounds"}


def _as_money(match: re.Match[str]) -> str:
    return f"{match['count']} {_MONEY[match['sign']]}"


@lru_cache(maxsize=lexicon.MAX_FRAMES)
def without_beginning(text: str) -> str:
    """A statement without the words before it that tell when it begins, for one that holds from then on."""
    return _BEGINNING.sub("", text, 1)


def words_of(name: str) -> frozenset[str]:
    """The words of a name in the form that frames use."""
    return (
        frozenset(word for word in TOKEN.findall(normalise_text(fold_blanks(name))) if word[0] not in "'’")
        - lexicon.DETERMINERS
    )


@lru_cache(maxsize=lexicon.MAX_FRAMES)
def names_agree(one: frozenset[str], other: frozenset[str]) -> bool:
    """True if two sets of words may name one subject: one has all words of the other.

    "Ana" may be "Ana Silva", and "Ana Souza" is not; what begins with "in" or "it" names nobody by that.
    """
    first, second = one - _OF_NOBODY, other - _OF_NOBODY
    return bool(first) and bool(second) and (first <= second or second <= first)


@lru_cache(maxsize=lexicon.MAX_FRAMES)
def shared_subject(one: frozenset[str], other: frozenset[str]) -> frozenset[str]:
    """The words by which two statements name a subject, if their names agree.

    Of "my sister Clara" and "Clara" it is Clara; of "my sister Clara" and "my sister" it is who says so.
    """
    if "i" in one & other:
        return frozenset({"i"})
    return (one | other) - {"i"} if (one | other) - {"i"} else one | other


def begin_alike(one: str, other: str) -> bool:
    """True if two statements begin with one name, or with "I" or "my"; "the deadline" may be that of anything."""
    begins = {text.split(" ", 1)[0].casefold() for text in (one, other)}
    is_named = begins.isdisjoint((lexicon.DETERMINERS | lexicon.PRONOUNS) - lexicon.FIRST)
    return is_named and names_agree(leading_subject(one), leading_subject(other))


def begins_with_other_name(earlier: str, later: str) -> bool:
    """True if two statements begin with different names, whatever both refer to."""
    no_names = _OF_NOBODY | lexicon.LIGHT_WORDS | lexicon.attribute_words().keys() | set(lexicon.SINGLE_VERBS.split())
    one, other = (leading_subject(text) - no_names for text in (earlier, later))
    return bool(one) and bool(other) and not names_agree(one, other)


@lru_cache(maxsize=lexicon.MAX_FRAMES)
def share_family_name(one: str, other: str) -> bool:
    """True if two statements begin with names that share a word and have another one each: Ana Berger, Tom Berger."""
    first, second = leading_subject(one), leading_subject(other)
    both, attributes = first & second, lexicon.attribute_words()
    return (
        bool(both)
        and all(any(word.isalpha() and word not in attributes for word in names - both) for names in (first, second))
        and not (both | first | second) & lexicon.DETERMINERS
        and all(_begins_with_full_name(text) for text in (one, other))
    )


def _begins_with_full_name(text: str) -> bool:
    """True if a statement begins with at least two words of a name."""
    begin = TITLED.findall(fold_blanks(text[:LEADING]))[:2]
    return (
        len(begin) == 2 and all(word[0].isupper() for word in begin) and begin[0].casefold() not in lexicon.DETERMINERS
    )


class Holding(NamedTuple):
    """Who has something that one has at a time, in which way, and what that is, in small letters.

    Of a gift ``who`` is :data:`GIVEN`, or empty as long as it is only wished for.
    """

    who: str
    way: str
    """Empty if whoever it was took it over; ``gift`` for what somebody is given."""
    what: str

    def is_passed_on(self, other: "Holding | None") -> bool:
        """True if another one has the same, in the same way."""
        if other is None or self.what != other.what or names_agree(words_of(self.who), words_of(other.who)):
            return False
        if self.way == other.way == "gift":
            return GIVEN in (self.who, other.who)
        # Several may work on one thing.
        is_one = self.way == other.way != "working on"
        return is_one or ("" in (self.way, other.way) and "on" not in (self.way, other.way))


@lru_cache(maxsize=lexicon.MAX_FRAMES)
def holding(text: str) -> Holding | None:
    """Who a statement says to have what one has at a time: "Tomas owns billing", "Falk is on call"."""
    plain = fold_blanks(text[:LEADING]).rstrip(".!").casefold().replace("’", "'")
    told = _HELD.match(plain)
    if told is None:
        gift = _GIFT.match(plain)
        whom = gift and (gift["for"] or gift["wisher"] or gift["whom"] or gift["who"])
        return Holding(GIVEN if gift["given"] else "", "gift", f"{gift['what']} for {whom}") if gift else None
    part = (told["part"] or "").removeprefix("the ").removesuffix(" of")
    way = (
        told["turn"]
        or told["does"]
        or told["deed"]
        or told["role"]
        or {"manager": "manage", "maintainer": "maintain"}.get(part, part)
    )
    return Holding(told["whose"] or told["who"], "" if way == "took over" else _HOLDS.get(way, way), told["what"])


def held_words(one: str, other: str) -> frozenset[str]:
    """The words for what two statements say that one has now and another one had; empty if they say no such thing."""
    first = holding(one)
    return words_of(first.what) if first is not None and first.is_passed_on(holding(other)) else frozenset()


_PREFACE: Final = lazy(
    r"(?i)^(?:(?:big|good|bad) )?(?:news|update|note|fyi|reminder|btw|by the way)\s*[:,] (?=\S)"
    r"|^(?:(?:no|wait|no wait|sorry|oops|actually|correction|scratch that|my mistake|ok|oh)[,:.!] )+"
    r"|^actually |^(?:it )?turns out(?: that)?,? |^(?:i've |i |we've |we )?changed (?:my|our) minds?[,:;] "
)
_IN_FRONT: Final = lazy(
    r"^(?P<front>(?:[Ff]rom|[Ss]ince|[Aa]s (?:of|from)|[Ii]nstead of"
    r"|(?:[Ss]tarting|[Bb]eginning)(?: in| on| from| with)?)"
    r"(?: (?!(?:I|we|my|our|in|on|from|with|to|until|till)\b)[\w'’-]+){1,3}?(?: on(?:wards)?)?"
    r"|(?:[Ll]ast|[Tt]his|[Nn]ext) (?:week(?:end)?|month|year|spring|summer|autumn|winter|[A-Z][a-z]{2,5}day)),? "
    r"(?P<rest>(?:I|we|my|our|the)\b.*[^.!?]|[A-Z].*[^.!?])(?P<stop>[.!?]*)$"
)
"""What stands before the subject: when something is so, or in the place of what."""
_MOVES_TO: Final = lazy(
    r"(?i)^(?P<thing>(?:[Tt]he|[Mm]y|[Oo]ur) (?:[\w'’-]+ ){0,3}?[\w'’-]+) (?:has |have )?(?:now )?"
    r"(?:moves|moved|is moving|switches|switched|shifts|shifted|changes|changed) to "
    rf"(?=(?:the |next |every )?(?:(?:first|second|third|fourth|last) )?(?:\d|{'|'.join(sorted(lexicon.TIMES))}))"
)
"""What is at another time from now on."""
_PAST_OF: Final = {
    "cut": "cut",
    "quit": "quit",
    "sell": "sold",
    "cancel": "cancelled",
    "drop": "dropped",
    "stop": "stopped",
}
_HAD_TO: Final = lazy(
    r"\bhad to (move|change|postpone|reschedule|delay|push|switch|replace|cut|quit|sell|cancel|drop|stop)\b"
)
"""What somebody had to do they did."""
_TASTE: Final = lazy(
    r"^(?P<what>(?!(?:The|This|That|These|Those|It|He|She|They|We|You|Everything|All|Life|There|My|Our|His|Her|An?)\b)"
    r"[A-Z][a-z-]+(?: [a-z-]+)?) (?:is|are)(?P<now> now| actually)? (?:(?:really|so|quite|actually) )?"
    r"(?:(?P<good>great|delicious|fun|wonderful|awesome|tasty|lovely|fantastic|good|enjoyable)"
    r"|awful|horrible|disgusting|terrible|boring|gross)(?P<since> now| after all| these days| actually)?"
    r"(?:,? (?:says|thinks|finds) (?P<who>[A-Z][a-z]+))?[.!]*$"
)
"""What tastes or pleases now, told of the thing: it is whoever says so that likes it."""
_BY_SOMEBODY: Final = lazy(
    r"^(?P<agent>[\w.&'’-]+(?: [\w.&'’-]+){0,4}?)(?: has| have| had)?(?: just| now| already| finally)? "
    r"(?P<verb>moved|shifted|pushed|put (?:back|off)|postponed|rescheduled|delayed"
    r"|extended|brought forward|changed|reset|upgraded|downgraded|raised|increased|doubled|halved|lowered|reduced"
    r"|decreased|cut|renamed|cancell?ed|called off) (?P<thing>(?!down\b|back\b)[a-z]+(?= to\b)"
    r"|(?:my|our|the|[A-Z][\w-]+['’]s?)"
    r"(?: (?!to\b|from\b|until\b|by\b)[\w-]+){1,4}?(?: (?:to|from) [A-Z][\w-]+(?= to\b))?)"
    r"(?P<rest> (?:to|from|until|till|by|back|forward)\b.*|[,.;!].*|$)"
)
"""What somebody does to a thing: it tells of the thing, as in the passive voice."""
_PUT_UP: Final = lazy(r"\b(?:put|bumped) (?P<thing>(?:my|our|the) [\w-]+(?: [\w-]+)?) (?P<way>up|down)(?= (?:to|by)\b)")
_RAISED: Final = {"up": "raised", "down": "lowered"}
_SUPPLIERS: Final = lexicon.word_set("landlord landlady bank insurer insurance employer provider gym")
_CALLED_OFF: Final = frozenset({"cancelled", "canceled", "called off", "postponed", "put off"})
"""Those that say all by themselves; the others say to what."""


@lru_cache(maxsize=lexicon.MAX_FRAMES)
def _rephrase_change(text: str) -> str:
    """A statement that begins with its subject, without words like "Update:".

    "Last week I moved" is told as "I moved last week", "Luis is Dev's plumber" as "Dev's plumber is Luis", and of what
    somebody changed it tells in the passive voice: "Dr. Braun lowered my dose to 10 mg" says that my dose was lowered
    to 10 mg.
    """
    plain = fold_blanks(text)
    if (dated := _BEGINNING.match(plain)) is not None and _DIGIT.search(dated[0]) is not None:
        plain = f"{plain[dated.end() :].rstrip('.!')} {dated[0][:1].lower()}{dated[0][1:].rstrip(', ')}"
    plain = _complete(_IN_FRONT.sub(_put_behind, _PREFACE.sub("", plain)))
    if (taste := _TASTE.match(plain)) is not None and (taste["now"] or taste["since"]):
        verb = "like" if taste["good"] else "hate"
        likes = f"{taste['who']} {verb}s" if taste["who"] else f"I {verb}"
        return f"{likes} {taste['what'][0].lower()}{taste['what'][1:]} now"
    plain = _MOVES_TO.sub(r"\g<thing> was moved to ", plain)
    plain = _PUT_UP.sub(lambda put: f"{_RAISED[put['way']]} {put['thing']}", plain)
    plain = _HAD_TO.sub(lambda had: _PAST_OF.get(had[1], f"{had[1].rstrip('e')}ed"), plain)
    if (holds := _HOLDER.match(plain)) is not None:
        return f"{holds['part'][:1].upper()}{holds['part'][1:]}{holds['is']} {holds['who']}{holds['rest']}"
    told = _BY_SOMEBODY.match(plain)
    if told is None or not (told["rest"].startswith(" ") or told["verb"] in _CALLED_OFF):
        return plain
    thing, agent = told["thing"], told["agent"].split(" ", 1)
    if agent[0].casefold() in lexicon.FIRST and (" " not in thing or thing.startswith("the ")):
        if len(agent) == 1:
            return plain
        if agent[1] in _SUPPLIERS:
            # What my landlord does to the rent he does to mine.
            thing = f"my {thing.removeprefix('the ')}"
    return f"{thing[:1].upper()}{thing[1:]} was {told['verb']}{told['rest']}"


def _complete(plain: str) -> str:
    """A note in few words as a sentence: "movie night on Fridays" says that the movie night is on Fridays.

    "paid 640 for it" is said of who says so. What begins with no noun, or ends with it, stays as it is.
    """
    if (first := plain.partition(" ")[0]).casefold() in _BEGIN_SENTENCES:
        return plain
    if (
        first[:1].isupper()
        and (second := plain.split(" ", 2)[1:2])
        and (second[0] in lexicon.AUX or second[0] in _THIRD_PERSON)
    ):
        return plain
    if (none := _NONE_FOR_ME.match(plain)) is not None:
        return f"I want no {none['what']}{plain[none.end() :]}"
    if _TAKEN_BACK.match(plain) is not None:
        return f"I {plain[:1].lower()}{plain[1:]}"
    if (now := _FROM_NOW_ON.match(plain)) is not None:
        plain = f"{plain[now.end() :].rstrip('.!')} from now on"
    words = plain.split(" ", MAX_OF_NOUN + _BEHIND_NOUN)
    first = words[0].rstrip(":")
    if not first.replace("-", "").isalpha() or first.casefold() in _NO_NOUN or len(words) == 1:
        return plain
    if first.islower() and lexicon.is_past(first) and _OBJECT_BEHIND.match(words[1]) is not None:
        return f"I {plain}"
    phrase = _noun_phrase(words)
    noun, rest = " ".join(phrase), plain[len(" ".join(phrase)) + 1 :]
    if not phrase or len(phrase) > MAX_OF_NOUN or not rest:
        return plain
    is_listed, is_new = noun[-1] == ":", noun[:4].casefold() == "new "
    if is_listed and noun[0].isupper() and rest[0].isupper() and not is_new:
        return plain  # "Electricity: Nordstrom, 94 euros" is of both.
    noun = noun.rstrip(":")[4 * is_new :]
    return _as_sentence(noun, rest, is_listed=is_listed, is_new=is_new) or plain


def _noun_phrase(words: Sequence[str]) -> list[str]:
    """The words of the noun phrase that a note begins with, with a colon behind it."""
    phrase = list[str]()
    for place, word in enumerate(words):
        bare, after = word.rstrip(":").casefold(), (words[place + 1].casefold() if place + 1 < len(words) else "")
        is_verb = bare in _THIRD_PERSON or (bare[-1:] == "s" and bare[-2:] != "ss" and not _is_bare_value(after))
        is_over = not bare.replace("-", "").isalpha() or bare in _NO_NOUN or (phrase and is_verb and word[-1] != ":")
        if (
            is_over
            or bare in lexicon.COPULA
            or lexicon.is_past(bare)
            or bare in _DATED_WORDS
            or (phrase and word[0].isupper())
        ):
            break
        if phrase and bare in lexicon.COLOURS and after in ("", "and", "with", "please"):
            break
        if phrase and (bare in _NO_NOUN_BEHIND or bare.endswith("ly")):
            return []
        phrase.append(word)
        if word[-1] == ":":
            break
    return phrase


def _as_sentence(noun: str, rest: str, *, is_listed: bool, is_new: bool) -> str:
    """What is told of a noun as a sentence; empty if it is none, or begins with what may be a name."""
    begin = [word.casefold().rstrip(",.") for word in rest.split(" ", 2)[:2]]
    behind = rest.casefold().split(" ", _BEHIND_NOUN)[:_BEHIND_NOUN]
    has_verb = any(word in lexicon.COPULA or word in _THIRD_PERSON or lexicon.is_past(word) for word in behind)
    if is_listed:
        # "Shelf list: drawer D3 holds key 21".
        around = zip(behind, behind[1:], behind[2:], strict=False)
        has_verb |= any(
            word[-1:] == "s" and word.isalpha() and not before[:1].isdecimal() for before, word, _ in around
        )
    if not is_listed and (_NUMBERED_ONE.match(f"{noun} {rest}") is not None or _is_number_alone(noun, rest)):
        return ""
    is_bare = (is_listed or _is_bare_value(begin[0])) and not has_verb
    # "Atlas listens on 8080" tells of no day.
    is_day = begin[-1][:1].isdecimal() and (begin[0] != "on" or not begin[-1][:3].isdecimal() or len(begin[-1]) < 3)
    is_dated = begin[0] in lexicon.PREPOSITIONS and (is_day or begin[-1] in lexicon.TIMES)
    subject = f"The {noun[:1].lower() if noun[1:2].islower() else noun[:1]}{noun[1:]}"
    if noun[:1].isupper() and not (is_listed or is_new or is_dated or begin[0] in _DATED_WORDS):
        if " " not in noun:
            return f"{noun} is {rest}" if is_bare else ""
        # "Ana wohnt in Berlin" is a sentence of another language.
        is_bare = is_bare and begin[0] not in lexicon.PREPOSITIONS
    if is_bare:
        copula = "is on" if begin[0] in _DATED_WORDS and begin[0] not in _NO_DAYS else "is"
        return f"{subject} {copula} {rest.rstrip('.!')}{' now' if is_new else ''}"
    is_verb = begin[0] in lexicon.AUX or begin[0] in _THIRD_PERSON or lexicon.is_past(begin[0])
    is_verb = is_verb or (noun[:1].islower() and begin[0][-1:] == "s")
    return f"{subject} {rest}" if is_verb and rest[:1].islower() else ""


def _is_number_alone(noun: str, rest: str) -> bool:
    """True if a number is all that is behind a noun, and may tell one from others: "lease 5", but not "weight 72"."""
    *_, head = noun.casefold().split()
    is_measured = head in _OF_NUMBER or bool(lexicon.attributes_of([lexicon.stem(head)]))
    return rest.rstrip(".!").isdecimal() and len(rest) < _DIGITS_OF_CODE and not is_measured


_OF_NUMBER: Final = lexicon.word_set(
    "rent price cost fee salary wage deposit bill budget size pin code score level dose total"
)
_DIGITS_OF_CODE: Final = 4
_UNITS_BEHIND: Final = tuple(
    sorted({*quantities.OF_UNIT, *(unit for kind in quantities.KINDS_OF_UNITS for unit in kind)})
)
_NUMBERED_ONE: Final = lazy(
    r"(?:.* )?(?i:room|flat|floor|gate|platform|track|bus|tram|line|locker|seat|desk|table|drawer|shelf|box|jar|key"
    r"|door|class|group|team|grade|lane|ward|day|week|round|session|lesson|stage|phase|step|part|chapter|unit|page"
    r"|child|invoice|ticket|order|bin|bay|plot|house|apartment|building|court|hall|zone|pills?|tablets?)"
    r" \d+[a-z]? (?!(?i:now|from|since|until|again|instead|as of|an?|per|x|[ap]m|people|in|on|at)\b)"
    rf"(?!(?i:{'|'.join(_UNITS_BEHIND)})s?\b)(?![a-z]+s(?:$| (?:now|from|since|in|at)\b))[^\W\d]"
    rf"|.*[^\W\d] \d+[a-z]? (?!(?i:{'|'.join((*times.MONTHS, *times.DAYS, *_UNITS_BEHIND))})s?\b)[A-Z][a-z]"
)
"""What a note tells of one of a kind by its number: "gate 12 LX22" says what is at it, and no other number of it."""


def _is_bare_value(head: str) -> bool:
    """True if a word begins what a thing is without a verb: on Fridays, at nine, 12 euros."""
    return (
        head[:1].isdecimal()
        or head.rstrip(",") in lexicon.COLOURS
        or head[:1] in "€$£"
        or head in lexicon.TIMES
        or head in lexicon.PREPOSITIONS | {"with", "every", "each", "now"}
    )


def _put_behind(match: re.Match[str]) -> str:
    """The first sentence with what stands before its subject behind it."""
    first, *others = analysis.sentences(match["rest"])
    front = match["front"][0].casefold() + match["front"][1:]
    if not others:
        return f"{first} {front}{match['stop']}"
    return f"{first.rstrip('.!?')} {front}. {' '.join(others)}{match['stop']}"


@lru_cache(maxsize=lexicon.MAX_FRAMES)
def leading_subject(text: str) -> frozenset[str]:
    """The words of the name or noun phrase that a statement is about, which most begin with; empty if there is none.

    What somebody changed is about the thing. "My sister Clara" is Clara's, and "i", as what is mine.
    """
    plain = _rephrase_change(foreign_statements.in_english(text[:MAX_CHARACTERS]))[:LEADING].replace("’", "'")
    titled = TITLED.findall(plain)
    if not titled:
        return frozenset()
    first = titled[0].casefold()
    begin = plain.partition(" ")[0]
    if "_" in begin and IDENTIFIER.fullmatch(begin) is not None:
        return words_of(begin)
    if first in lexicon.FIRST:
        named = _MY_NAMED.match(plain)
        return frozenset({"i"}) if named is None else _leading_name(TITLED.findall(plain[named.end() :])) | {"i"}
    if first in lexicon.DETERMINERS:
        found: list[str] = []
        for place, word in enumerate(titled[1:6]):
            small = word.casefold()
            if small in lexicon.AUX or small in lexicon.COPULA or word[0] == "'" or small in lexicon.PREPOSITIONS:
                break
            is_verb = small.endswith(("s", "ed")) and not small.endswith("ss")
            # "The bike cost 799 euros", and "the drill set".
            is_verb = is_verb or (
                small in lexicon.OF_ONE_FORM and "".join(titled[place + 2 : place + 3])[:1].isdecimal()
            )
            if place and (is_verb or small in lexicon.attribute_words() or small in lexicon.PAST):
                break
            found.append(small)
        else:
            # No word ends the phrase: it is told by its first one.
            found = found[:1]
        return frozenset(found)
    return _leading_name(titled)


def _leading_name(titled: list[str]) -> frozenset[str]:
    named: list[str] = []
    for word in titled[:6]:
        if not (word[0].isupper() or (named and word[0].isdecimal())):
            break
        named.append(word.casefold())
    return frozenset(named)


def naming(subject: frozenset[str]) -> frozenset[str]:
    """The words by which a statement names its subject, with forms of the genitive and pronouns."""
    pronouns = lexicon.FIRST if "i" in subject else lexicon.PRONOUNS - lexicon.FIRST
    return subject | {f"{word}s" for word in subject if len(word) > 1} | pronouns


def resolve_subject(text: str, subject: frozenset[str]) -> tuple[str, frozenset[str]]:
    """What a statement tells of its subject, and the subject; by default the one that it is about."""
    told = leading_subject(text)
    is_led = not subject or names_agree(told, subject)
    plain = _rephrase_change(text) if is_led else fold_blanks(text)
    if subject and is_led and (holds := _HOLDER.match(fold_blanks(text))) is not None:
        # Whom it is linked to, too, is the value: Luis, of Dev and Luis.
        subject = subject - words_of(holds["who"]) | told
    subject = subject or (frozenset({"i"}) if "i" in told else told)
    return _MY_NAMED.sub("", plain) if told & subject and "i" in told - subject else plain, subject


MAX_OF_NOUN: Final = 3
"""The most words of a noun phrase with which a note begins."""
_BEHIND_NOUN: Final = 6
"""Among so many words behind it a verb tells that a note is a sentence."""
_NO_DAYS: Final = lexicon.word_set("today tomorrow yesterday tonight daily weekly monthly yearly")
_DATED_WORDS: Final = _NO_DAYS | lexicon.WEEKDAYS
_NO_NOUN_BEHIND: Final = (
    frozenset(lexicon.SINGLE_VERBS.split())
    | lexicon.LIGHT_WORDS - lexicon.word_set("time place")
    | lexicon.word_set("sometimes often seldom once twice both all alone herself himself themselves away there here")
)
_THIRD_PERSON: Final = frozenset(f"{verb}s" for verb in lexicon.SINGLE_VERBS.split()) | lexicon.word_set(
    "has goes gets wants takes makes gives needs comes moves works happens meets switches shifts changes eats plays"
    " keeps stays costs asks pays charges looks becomes"
)
_NO_NOUN: Final = (
    analysis.STOP_WORDS
    | lexicon.AUX
    | lexicon.DETERMINERS
    | lexicon.PRONOUNS
    | lexicon.FIRST
    | lexicon.NEGATIVE
    | lexicon.PREPOSITIONS
    | lexicon.BEHIND
    | lexicon.CHANGE
    | lexicon.UNSURE
    | lexicon.word_set(
        "please remember buy call ask tell get go let make take try see look don do there here yes ok okay what"
        " living working using driving buying paying eating drinking learning reading seeing going staying sleeping"
        " taking getting thinking looking planning trying hoping considering wondering feeling"
    )
)
"""Words with which no note begins that tells of a thing."""
_OBJECT_BEHIND: Final = lazy(r"(?i)(?:\d|the\b|an?\b|my\b|our\b|to\b|for\b|[a-z]{3,})")
_BEGIN_SENTENCES: Final = _NO_NOUN - {"no", "from"}
_TAKEN_BACK: Final = lazy(
    r"(?i)^(?:scrap|forget|ignore|disregard|strike|never mind) (?:what|everything|all) (?:that )?I (?:said|told you)\b"
)
_NONE_FOR_ME: Final = lazy(r"(?i)^no (?P<what>[\w-]+(?: [\w-]+)?) for me\b")
_FROM_NOW_ON: Final = lazy(r"(?i)^from (?:now|today|then) on,? (?=\S)")
