"""Parse a short English statement into a frame: its subject, the attribute and the value.

A frame is a bag of stems with a few features: the words that name the subject, what belongs to the subject ("Sofia's
favourite colour"), the attributes that the words stand for (a home, an age, a deadline), numbers with their units,
negation, and words of change ("now", "no longer", "moved"). Word lists find it, not a grammar, so it is sometimes
wrong; every decision based on it says so and can be undone.

Pure: the same text gives the same frame (laws 11 and 12).
"""

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from functools import cache, lru_cache
from itertools import pairwise
from typing import Final, Literal, NamedTuple

from worlddb.log.model import times
from worlddb.log.model.times import DAYS, lazy
from worlddb.projections.indexes import analysis


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_MAX_FRAMES: Final = 4_096
"""How many frames are cached, since recalls return the same memories repeatedly."""
_MAX_QUESTIONS: Final = 64
"""How many parsed questions are cached."""
MAX_CHARACTERS: Final = 400
"""A longer text is more than one statement and gets no frame."""

CURRENT: Final = "current"
"""An attribute that has one value at a time: a later one takes its place."""
ONCE: Final = "once"
"""An attribute that has one value for good: another one contradicts it."""
MANY: Final = "many"
"""An attribute that may have several values at a time."""

_ATTRIBUTES: Final = {
    CURRENT: {
        "residence": "live lives living lived reside resides resided residing home house flat apartment relocate"
        " relocated resettled tenant",
        "job": "work works working job employ employs employed employer hire hired position role career promoted"
        " unemployed retire retired resign resigned fired analyst engineer engineering lead manager director teacher"
        " dentist doctor nurse lawyer baker designer developer consultant professor chef cook editor journalist"
        " accountant clerk president ceo cto vp assistant secretary driver pilot waiter waitress intern apprentice"
        " head programmer architect scientist researcher carpenter plumber electrician librarian freelancer freelance"
        " student trainee teaches phd candidate",
        "marital state": "single married engaged engagement divorced divorce widow widowed widower wife husband spouse"
        " fiance fiancee marry marries wed separated partner boyfriend girlfriend dating",
        "age": "aged",
        "weight": "weigh weighs weighed weight",
        "diet": "vegetarian vegan meat diet pescatarian eats eat food",
        "pregnancy": "pregnant pregnancy expecting baby",
        "schedule": "planned scheduled postponed rescheduled deadline due ships ship slipped delayed rebooked"
        " brought-forward",
        "state": "beta alpha available released finished complete completed broken repaired fixed cancelled canceled"
        " draft active inactive online offline operational healed recovered ready",
        "phone": "phone iphone smartphone pixel handset mobile android",
        "leader": "lead leads leader led heads headed",
        "name": "surname name renamed called",
        "owner": "belongs belong owner owned",
        "wish for answers": "answers summaries replies responses",
        "level": "beginner novice intermediate advanced expert proficient",
        "colour": "",
    },
    ONCE: {
        "birth": "born birthday birthplace",
        "death": "die died death dies",
        "founder": "founded founder established",
        "beginning": "started",
        "building": "built constructed erected",
        "graduation": "graduated graduate",
        "cause": "caused cause",
        "origin": "found bought adopted rescued",
        "thesis": "thesis dissertation",
        "sex": "male female",
        "blood type": "blood-type",
        "measure": "deep depth tall high height",
        "nationality": "french belgian german italian spanish portuguese english british scottish irish welsh dutch"
        " swedish norwegian danish finnish polish czech russian ukrainian greek turkish american canadian mexican"
        " brazilian chinese japanese korean indian australian swiss austrian hungarian romanian egyptian nigerian",
    },
    MANY: {
        "language": "speak speaks spoke fluent",
        "allergy": "allergic allergy allergies",
        "fear": "afraid fear fears scared scares scare terrified",
        "interest": "interested interest",
        "instrument": "play plays",
        "journey": "visit visits visited travelled traveled trip",
        "subject": "teach taught teaches",
        "acquaintance": "met friends friend",
        "publication": "published",
        "support": "support supports supported",
        "hosting": "host hosts hosted",
        "stop": "stops",
        "reading": "read reads",
    },
}
_SINGLE_VERBS: Final = (
    "live reside work drive drives study studies lead train trains coach coaches manage manages prefer prefers weigh"
    " earn earns cost costs belong attend attends sleep sleeps park parks report reports date sit sits ship ships store"
    " stores close closes open opens run runs set employ live see sees use uses write written"
    " stand stands bank banks vote votes host hosted deploy deployed end ends start starts begin begins expire"
    " expires last lasts"
)
_LIGHT: Final = (
    "have has had having get gets got go goes went going want wants wanted like likes liked use uses used make makes"
    " made take takes took taken do does did done be been being keep keeps put give gave given"
    " own owns need needs say says know knows plan plans planned will would can could may might must should shall let"
    " lets come comes coming see sees suffer suffers place old new small big people person thing things man woman"
    " high long good really very quite rather also too just still yet already always often usually stand stands"
    " serve year years month months week weeks day days time times hour hours minute minutes who whom whose"
    " there here both all some any each every other another more most decided"
)
_NEGATIVE: Final = _words(
    "not no never nobody none nothing neither nor cannot without hardly"
    # A denial in German, Spanish, French or Portuguese is not the same as what it denies.
    " nicht kein keine keinen keinem keiner keines nie niemals nunca jamás pas jamais não"
)
_ENDING: Final = _words(
    "stopped stop quit ceased gave-up no-longer any-more anymore broke-off lost removed cancelled ditched"
    " outgrew outgrown overcame"
)
"""Words that say that something is so no more."""
_ALMOST: Final = _words("almost nearly")
_ANY_MORE: Final = frozenset({"any-more", "anymore"})
"""Those that deny nothing beside a denial: who does not play any more plays no more."""
_CHANGE: Final = _words(
    "now nowadays currently today since again instead anymore no-longer any-more switched changed moved replaced became"
    " become becomes upgraded updated increased decreased raised reduced cut postponed rescheduled rebooked slipped"
    " ditched outgrew outgrown overcame reset lowered delayed extended pushed shifted doubled halved downgraded"
    " took-over quit stopped gave-up started turned converted promoted rewritten repaired fixed healed recovered"
    " finished sold broke-off back used-to formerly from-now-on these-days went-up went-down down given"
    " renamed after-all"
)
ADDING: Final = _words("also too as-well besides additionally in-addition likewise")
"""Words that say that something is so beside what was before."""
APART: Final = _words(
    "return outbound outward inbound connecting other another second third spare work home office private personal"
    " business professional emergency mobile landline morning afternoon evening night weekend weekday summer winter"
    " left right front back upper lower upstairs downstairs old former previous"
)
"""Words before a thing that tell it from another one, of which nothing of the kind is said."""
_ONLY: Final = _words("only solely exclusively")
"""Words that leave nothing beside what is said."""
_FURTHER: Final = _words(
    "another other second third fourth further additional elder older younger private personal business professional"
    " spare backup emergency"
)
"""Words that tell a thing from the one that was spoken of, unless a word of change says that it took its place."""
OF_ONE_VALUE: Final = _words(
    "password passcode passphrase pin code address price budget nickname number colour color size venue location"
    " version capital winner score temperature limit"
)
"""Words for what has one value at a time."""
OF_SEVERAL: Final = _words(
    "hobby pet friend brother sister sibling cousin uncle aunt nephew niece son daughter child colleague neighbour"
    " neighbor skill language interest passion client customer project instrument allergy fear medicine medication"
)
"""Words for what somebody may have several of: one that is told of does not take the place of another."""
SORTING: Final = _words("favourite favorite best worst main first last")
"""Words that pick one of a kind: the kind is what is spoken of."""
_RANKS: Final = _words("first second third fourth fifth last next only best worst main favourite favorite most least")
"""Words that single out one of a kind, beside superlatives."""
_MOST: Final = re.compile("[a-z]{3,}est$")
_NO_RANKS: Final = _words(
    "interest request forest harvest honest protest contest conquest tempest modest invest digest suggest arrest priest"
    " bequest inquest northwest southwest midwest manifest earnest guest chest quest"
)
"""Words that end as superlatives do and are none."""
_LIKING: Final = _words("likes like enjoys enjoy loves love hates hate dislikes adores")
_SAME_WORD: Final = {
    "kilo": "kg", "kilos": "kg", "kilogram": "kg", "kilograms": "kg", "kilometre": "km", "kilometres": "km",
    "kilometer": "km", "kilometers": "km", "metre": "m", "metres": "m", "meter": "m", "meters": "m", "euros": "euro",
    "dollars": "dollar", "degrees": "degree", "pounds": "pound", "percent": "per-cent", "employed": "work",
    "employs": "employees", "employ": "employees", "works": "work", "working": "work", "worked": "work",
    "brother": "sibling", "sister": "sibling", "brothers": "sibling", "sisters": "sibling", "siblings": "sibling",
    "wife": "married", "husband": "married", "spouse": "married", "marry": "married", "married": "married",
    "birthday": "born", "owns": "has", "own": "has", "possesses": "has", "enjoys": "likes", "enjoy": "likes",
    "loves": "likes", "love": "likes", "adores": "likes", "like": "likes", "quit": "stopped", "ceased": "stopped",
    "height": "high", "tall": "high", "depth": "deep", "width": "wide", "length": "long", "weight": "weigh",
    "allergy": "allergic", "allergies": "allergic", "teaches": "teach", "teacher": "teach", "scares": "afraid",
    "scared": "afraid", "fears": "afraid", "fear": "afraid", "frightened": "afraid", "rewritten": "written",
    "writes": "written", "wrote": "wrote", "favorite": "favourite", "color": "colour", "resides": "lives",
    "house": "flat", "apartment": "flat", "leader": "leads", "lead": "leads", "led": "leads", "cellphone": "phone",
    "children": "child", "kids": "child", "kid": "child",
    "hates": "hates", "dislikes": "hates", "detests": "hates", "loathes": "hates", "hate": "hates", "dislike": "hates",
    "cost": "price", "costs": "price",  "turned": "turned", "vp": "vp", "purchased": "bought",
}  # fmt: skip
_OPPOSITE: Final = {
    "hates": "likes", "broken": "work", "closed": "open", "shut": "open", "disabled": "enabled", "absent": "present",
    "empty": "full", "unsafe": "safe", "dirty": "clean", "fake": "genuine", "forgery": "genuine",
    "unavailable": "available", "inactive": "active", "invalid": "valid", "impossible": "possible",
    "illegal": "legal", "false": "true", "unhappy": "happy", "innocent": "guilty", "unlimited": "limited",
    "optional": "mandatory", "disagrees": "agrees", "refuses": "agrees",
}  # fmt: skip
"""Words that deny another one."""
_UNITS: Final = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen"
)
_TENS: Final = "twenty thirty forty fifty sixty seventy eighty ninety"
_NUMBER_WORDS: Final = {
    **{word: value for value, word in enumerate(_UNITS.split())},
    **{word: 10 * value for value, word in enumerate(_TENS.split(), 2)},
    **{
        f"{tens}-{ones}": 10 * at + value
        for at, tens in enumerate(_TENS.split(), 2)
        for value, ones in enumerate(_UNITS.split()[1:10], 1)
    },
}
_MEASURES: Final[dict[str, Mapping[str, float]]] = {
    "minutes": {"min": 1, "mins": 1, "minute": 1, "minutes": 1, "hour": 60, "hours": 60, "hrs": 60},
    "days": {"week": 7, "weeks": 7, "fortnight": 14, "fortnights": 14},
    "mg": dict.fromkeys(("microgram", "micrograms", "mcg", "µg", "μg"), 0.001)
    | {"milligram": 1, "milligrams": 1}
    | dict.fromkeys(("g", "gram", "grams", "gramme", "grammes"), 1_000)
    | dict.fromkeys(("kg", "kilo", "kilos", "kilogram", "kilograms"), 1_000_000)
    | {"oz": 28_349.5, "ounce": 28_349.5, "ounces": 28_349.5, "lb": 453_592, "lbs": 453_592},
    "cm": {"mm": 0.1, "centimetre": 1, "centimetres": 1, "centimeter": 1, "centimeters": 1}
    | dict.fromkeys(("m", "metre", "metres", "meter", "meters"), 100)
    | dict.fromkeys(("km", "kilometre", "kilometres", "kilometer", "kilometers"), 100_000)
    | {"inch": 2.54, "inches": 2.54, "foot": 30.48, "feet": 30.48, "ft": 30.48, "mile": 160_934, "miles": 160_934},
    "sqm": dict.fromkeys(("square metre", "square metres", "square meter", "square meters", "m2"), 1)
    | dict.fromkeys(("square foot", "square feet", "sq ft"), 0.0929),
    "ml": {"dl": 100, "cl": 10} | dict.fromkeys(("l", "litre", "litres", "liter", "liters"), 1_000),
}
"""By the unit that quantities are compared in, how much of it the others are."""
_OF_UNIT: Final = {unit: (base, much) for base, units in _MEASURES.items() for unit, much in units.items()}
KINDS_OF_UNITS: Final = tuple(
    frozenset(units.split())
    for units in (
        "second minute day month year years-old",
        "euro eur dollar usd pound gbp franc chf yen",
        "mg ml tablet pill drop puff",
        "ml glass cup bottle can pint gallon",
        "celsius fahrenheit",
        "mb gb tb mbit gbit",
    )
)
"""Units, in the singular, in which one thing may be told that is not converted: another one is another amount."""
_FURTHER_UNITS: Final = _words("cm sqm per-year per-cent percent degree")


def are_of_other_kinds(unit: str, other: str) -> bool:
    """True if two units measure different things: a rate in per cent, and years."""
    both = {unit, other}
    is_known = all(each in _FURTHER_UNITS or any(each in units for units in KINDS_OF_UNITS) for each in both)
    return len(both) == 2 and is_known and not any(both <= units for units in KINDS_OF_UNITS)


_IMPERIAL: Final = re.compile(r"\d ?(?:miles?|feet|foot|ft|inch(?:es)?|lbs?|ounces?|oz|sq(?:uare)? f)\b")


def is_imperial(one: "Frame") -> bool:
    """True if a statement measures in feet, miles or pounds: what is converted from them is rounded."""
    return _IMPERIAL.search(one.key) is not None


OFTEN: Final = "per-year"
"""The unit of how often something is so."""
_A_YEAR: Final = {"day": 365, "week": 52, "month": 12, "year": 1}
_TIMES: Final = _words(
    "monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays"
    " sundays am pm o'clock january february march april may june july august september october november december"
    " morning noon afternoon evening night midnight spring summer autumn winter weekend daily weekly monthly yearly"
    " tomorrow yesterday today hour hours weekday weekdays weekends"
)
_AUX: Final = _words(
    "is are was were am be been being has have had does do did will would can could may might must should shall not"
    " never now still always also no-longer currently already really just recently finally usually often"
    " going to"
)
PARTS_OF_DAY: Final = _words("morning noon afternoon evening night midnight")
_COPULA: Final = _words("is are was were am be been")
_PREPOSITIONS: Final = _words("in on at near by above below behind under opposite inside outside beside")
_DETERMINERS: Final = _words("the a an my our your his her its their this that these those")
_FIRST: Final = _words("i me my mine we us our ours")
_PRONOUNS: Final = _words("i we he she it they you")
_LEADING: Final = 120
"""Within so many characters a statement names whom it begins with."""
_WISHES: Final = _words("wants want wanted hopes hope plans plan wishes wish dreams would")

_UNSURE: Final = _words(
    "might maybe perhaps probably possibly likely presumably if unless whether"
    " provided assuming suppose imagine says say said saying thinks think thought believes"
    " believe believed claims claim claimed hears hear heard tells tell told suggests suggested suspects suspect"
    " suspected assumes assume assumed guesses guess guessed reckons reckon doubts doubt wonders wonder pretends"
    " reportedly allegedly apparently supposedly rumoured rumored according considers considering dreams dreamt"
    " dreamed dream fiction hopes hope hoping wishes"
)
"""Words by which something is said as possible, under a condition, or as what somebody says or thinks."""
_MOODS: Final = {
    "will": _words("will shall ll starts starting begins about-to"),
    "ought": _words("must should ought"),
    "may": _words("may could would"),
    "can": _words("can able"),
    "while": _words("when whenever while until till temporarily meanwhile"),
    "used": _words("accustomed"),
    "wish": _words(
        "wants want wanted plans plan planning intends intend aims wishing applied offered refused declined rejected"
    ),
}
"""By its name, the words of a mood that is none of the plain present."""
_MODALS: Final = _words("will shall must should can may might could would")
_RECURRING: Final = _words(
    "mondays tuesdays wednesdays thursdays fridays saturdays sundays weekends weekdays mornings afternoons evenings"
    " nights summers winters holidays sometimes occasionally seldom rarely partly part-time off-and-on on-the-side"
)
"""Words that say that something is so at times that come again."""
_EACH: Final = _words("every each some most alternate")
_SEASONS: Final = _words("spring summer autumn winter night weekend")
_DURING: Final = _words("in at during over")
_STATES_BEFORE: Final = _words(
    "was were did lived resided worked studied weighed owned belonged liked loved preferred stayed served taught"
    " played smoked drove used ate spoke wore knew kept led stood cost slept earned managed dated"
)
"""The past of verbs that tell a state: it says nothing of the present, as "married" and "moved" do."""
_BEFORE: Final = _words("used-to formerly previously originally childhood youth as-a-child back-then")
"""Words that say that something was so before."""
_OF_NOBODY: Final = analysis.STOP_WORDS - {"i", "will"}
"""Words that name nobody though a statement begins with them."""

_OLDEST: Final = 120
"""Years: "Elena is 35" tells an age."""

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
_PHRASE: Final = lazy(rf"\b(?:{'|'.join(sorted(_PHRASES, key=len, reverse=True))})\b")
_HALTED: Final = lazy(
    r"\bstop(?:s|ped)? "
    r"(?=(?:(?:at|by|near|outside|off|over|in|on) |for (?:lunch|dinner|breakfast|water|coffee|fuel|a ))"
    rf"(?!(?:the )?(?:\d|last|this|next|order|time|while|early|late|{'|'.join(sorted(_TIMES))})\b))"
)
"""Who stops at a shop, or in Paris for lunch, goes on with whatever it was."""
_FOR_A_WHILE: Final = lazy(
    r"\b(?:left|leaves|quit|stopped)\b[^,;.]*\b(?:at (?:\d|noon|midnight|dawn)|early(?! in| this| last)"
    r"|for (?:an?|the|two|three) (?:moment|minute|hour|few|day|weekend|night|week|break|while|holiday|lunch|meeting))"
)
"""Who leaves at five, or for a week, comes back."""
_AT_A_TIME: Final = lazy(
    r"\b(?:at|after|before|during|in the|by|until|till) (?:\d+ ?)?"
    r"(?:am|pm|o'clock|night|midnight|noon|(?:morn|even)ings?|afternoons?)\b"
)
"""What is so no more at one time of the day may be so at others."""
_CLAUSE_ENDS: Final = lazy(
    r"[,;:()]|\b(?:and|but|when|while|because|since|after|before|so|which|who|though|although|until|if)\b"
)
_OWN_CLAUSES: Final = lazy(r"(?i)\s[-–—]+\s|; |, (?:so|and|but) (?=(?:i|we|he|she|they|my|our|his|her|their)\b)")
"""What stands between clauses of which each says whom it tells of."""
_PREFACE: Final = lazy(
    r"(?i)^(?:(?:big|good|bad) )?(?:news|update|note|fyi|reminder|btw|by the way)\s*[:,] (?=\S)"
    r"|^(?:(?:no|wait|no wait|sorry|oops|actually|correction|scratch that|my mistake|ok|oh)[,:.!] )+"
    r"|^actually |^(?:it )?turns out(?: that)?,? |^(?:i've |i |we've |we )?changed (?:my|our) minds?[,:;] "
)
_BEGINNING: Final = lazy(
    r"(?i)^(?:from|as (?:of|from)|starting|effective|beginning)(?: on| from| in)? "
    r"(?:(?:the )?\d{1,2}(?:st|nd|rd|th)? (?:of )?)?(?:next |this )?"
    rf"(?:(?:{'|'.join(sorted(_TIMES))}|week|month|year)\b|\d{{4}}-\d\d-\d\d)"
    r"(?: \d{1,2}(?:st|nd|rd|th)?\b)?(?:,? \d{4})?(?: on(?:wards?)?)?,? (?=[^\W\d])(?!to\b|until\b|till\b|through\b)"
)
"""Words before a statement that tell when it begins: from 20 April on."""
_IN_FRONT: Final = lazy(
    r"^(?P<front>(?:[Ff]rom|[Ss]ince|[Aa]s (?:of|from)|[Ii]nstead of"
    r"|(?:[Ss]tarting|[Bb]eginning)(?: in| on| from| with)?)"
    r"(?: (?!(?:I|we|my|our|in|on|from|with)\b)[\w'’-]+){1,3}?(?: on(?:wards)?)?"
    r"|(?:[Ll]ast|[Tt]his|[Nn]ext) (?:week(?:end)?|month|year|spring|summer|autumn|winter|[A-Z][a-z]{2,5}day)),? "
    r"(?P<rest>(?:I|we|my|our)\b.*[^.!?]|[A-Z].*[^.!?])(?P<stop>[.!?]*)$"
)
"""What stands before the subject: when something is so, or in the place of what."""
_MARKED: Final = lazy(
    r"(?i)n['’]t\b|\b(?:not|no longer|never|instead|rather than|back|home|again|after all|now|up to|down to|cancell?ed"
    r"|terminated|repaired|fixed|found|turned up|reappeared|takes? place|from [\w ]{2,20} on|I (?:said|told you))\b"
)
"""Words by which something is told to be otherwise than before."""
_MOVES_TO: Final = lazy(
    r"(?i)^(?P<thing>(?:[Tt]he|[Mm]y|[Oo]ur) (?:[\w'’-]+ ){0,3}?[\w'’-]+) (?:has |have )?(?:now )?"
    r"(?:moves|moved|is moving|switches|switched|shifts|shifted|changes|changed) to "
    rf"(?=(?:the |next |every )?(?:(?:first|second|third|fourth|last) )?(?:\d|{'|'.join(sorted(_TIMES))}))"
)
"""What is at another time from now on."""
_MY_NAMED: Final = lazy(
    r"^(?:[Mm]y|[Oo]ur) (?:(?:older|younger|elder|eldest|oldest|youngest|little|big|best|late) )?[a-z]+ (?=[A-Z][a-z])"
)
"""Words before a name that say whose it is: my sister Clara, our dog Rex."""
OF_ONE_HOLDER: Final = _words(
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
_SUPPLIERS: Final = _words("landlord landlady bank insurer insurance employer provider gym")
_CALLED_OFF: Final = frozenset({"cancelled", "canceled", "called off", "postponed", "put off"})
"""Those that say all by themselves; the others say to what."""
_NOT: Final = re.compile(r"n't\b")
_AFTER_ALL: Final = lazy(r"\bafter all\b(?! (?:the|this|that|these|those|my|our|his|her|their|of)\b)")
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
_MONEY: Final = {"$": "dollars", "€": "euros", "£": "pounds"}
_DIGIT: Final = re.compile(r"\d")
_WAY_BACK: Final = lazy(r"\b(flight|train|bus|ferry|boat|trip|journey|drive|ride) back\b(?! (?:on|to work)\b)")
_STUCK: Final = re.compile(r"(?<![^\W\d])(\d)(kg|km|cm|mm|mg|ml|lbs?|oz|ft|gb|mb|tb)\b")
_THOUSANDS: Final = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_ADDRESS: Final = (
    r"\w[\w.+-]*@[\w-]+(?:\.[\w-]+)+|https?://[^\s<>\"]*[^\s<>\".,;:!?)]|[^\W\d_][\w-]+(?:\.[\w-]+)*\.[a-z]{2,}\b"
)
"""Addresses of mail, pages and machines, and names of files: each is one word, whatever words are in it."""
_TOKEN: Final = lazy(rf"{_ADDRESS}|\d+(?:\.\d+)*|['’]s?(?=\s)|[^\W_]+(?:-[^\W_]+)*")
_TITLED: Final = lazy(r"\d+|[^\W_]+(?:[-.][^\W_]+)*|['’]s?(?=\s)")


class Thing(NamedTuple):
    """The thing with which a statement begins, in words: what it is, and which of its kind."""

    noun: str
    which: frozenset[str]
    """The words before the noun: return, blue."""
    names: frozenset[str]
    """Its name: my son Max."""
    place: str
    """The preposition behind it."""
    behind: frozenset[str]
    """What follows that: "my flight to Rome"."""


ANYTHING: Final = Thing("", frozenset(), frozenset(), "", frozenset())
"""What a statement speaks of that begins with no thing."""


class Frame(NamedTuple):
    """The parsed parts of a statement, for comparison with another one."""

    key: str
    """Its text with blanks folded, in small letters and without the last full stop."""
    subject: frozenset[str]
    """The words that name the subject."""
    head: frozenset[str]
    """The stems of a possession of the subject that the statement is about: "Ana's rent"."""
    content: frozenset[str]
    """The stems of its other words, without those that mean little."""
    light: frozenset[str]
    """The stems of words that mean little by themselves: to have, to want, to use."""
    attributes: frozenset[str]
    """The attributes that its words stand for: a home, an age, a deadline."""
    verb: str
    """The stem of its verb; empty for "to be" or none."""
    numbers: frozenset[tuple[str, str]]
    """Its numbers, each with the next word."""
    times: frozenset[str]
    """Days, months and times of day that it names."""
    negated: bool
    change: str
    """The word that indicates a change; empty if there is none."""
    past: bool
    """It is in the past tense."""
    passive: bool
    wish: bool
    adds: frozenset[str]
    """The words that add to what was before, or name another thing of the kind: also, second."""
    only: bool = False
    """It says that nothing else holds: only."""
    verb_preposition: str = ""
    """The preposition after its verb, if it changes the meaning: to live with, to work on."""
    singled_out: frozenset[str] = frozenset()
    """Its topic, if a word singles that out: "the oldest tree in the garden is", "Mira's first car was"."""
    ranks: frozenset[str] = frozenset()
    """The words that single the topic out: first, oldest, only; and numbers: room 12."""
    indefinite: frozenset[str] = frozenset()
    """The stems of things with an indefinite article: "a taxi"."""
    owned: frozenset[str] = frozenset()
    """The words of the subject's possession as written, without those of change and rank: sister, rent."""
    names: frozenset[str] = frozenset()
    """The stems of its proper names besides the subject."""
    mood: str = ""
    """Empty for a plain fact; ``unsure`` for what is possible, conditional or reported; else may, will, …"""
    recurs: bool = False
    """It names recurring times: on Sundays, sometimes."""
    former: bool = False
    """It describes a past state, and nothing of the present."""
    denied: frozenset[str] = frozenset()
    """The stems and numbers of what it denies or ends; empty if it denies nothing."""
    in_part: bool = False
    """Its denial is limited to a time of the day."""
    kin: frozenset[str] = frozenset()
    """Brothers and sisters that it names; both are siblings."""
    place_preposition: str = ""
    """The preposition after a verb for living: in a town, on a street, at a number."""
    thing: "Thing" = ANYTHING
    """The thing that it begins with, if there is one: "my return flight to Rome"."""
    sort: str = ""
    """The sort of its value: a colour, a time, a place, …; empty if unknown."""
    hours: frozenset[str] = frozenset()
    """The numbers that are times of the day."""
    measured: frozenset[tuple[str, str]] = frozenset()
    """The units of its numbers, each with the thing measured: GB of storage."""
    plain_clause: str = ""
    """Its clauses that state a number or a present fact, without plans and denials that name no value; else empty."""
    numbered: frozenset[tuple[str, str]] = frozenset()
    """The numbered objects of its verb: keeps jar 3."""
    cancelled: frozenset[str] = frozenset()
    """The stems of what was cancelled."""
    times_a_year: float = 0.0
    """How many times a year it happens; 0 if it does not say."""
    sentences: tuple[str, ...] = ()
    """Its sentences about the subject, the first ones, if it has several."""
    opposed: frozenset[str] = frozenset()
    """The stems of what it denies by an opposite alone: who says closed denies open."""
    is_marked: bool = False
    """It has a word by which something is told to be otherwise than before: now, again, back, not."""


@lru_cache(maxsize=_MAX_FRAMES)
def _stem(word: str) -> str:
    found = analysis.analyze(word).stems
    return found[0] if len(found) == 1 else word


def stem(word: str) -> str:
    """The stem of a word, as a frame has it for its verb."""
    return _stem(_SAME_WORD.get(word, word))


def stems(words: Iterable[str]) -> frozenset[str]:
    """The stems of some words."""
    return frozenset(map(_stem, words))


@cache
def _attribute_words() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for kinds in _ATTRIBUTES.values():
        for attribute, words in kinds.items():
            for word in words.split():
                found[word] = (*found.get(word, ()), attribute)
    return found


@cache
def _attribute_stems() -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for word, attributes in _attribute_words().items():
        for each in {_stem(word), _stem(_SAME_WORD.get(word, word))}:
            found[each] = found.get(each, frozenset()).union(attributes)
    return found


@cache
def stems_of(attribute: str) -> frozenset[str]:
    """The stems of the words that stand for an attribute."""
    return frozenset(stem for stem, attributes in _attribute_stems().items() if attribute in attributes)


def attributes_of(stemmed: Iterable[str]) -> frozenset[str]:
    """The attributes that some stems stand for: a home, an age, a deadline."""
    return frozenset().union(*(_attribute_stems().get(stem, ()) for stem in stemmed))


KIND_OF: Final = {attribute: kind for kind, kinds in _ATTRIBUTES.items() for attribute in kinds}
"""Whether an attribute has one value at a time, one for good, or many."""
_LIGHT_WORDS: Final = frozenset((*_LIGHT.split(), OFTEN))


@cache
def single_verbs() -> frozenset[str]:
    """The stems of verbs whose object is one at a time: to live in, to drive, to prefer."""
    return stems(_SINGLE_VERBS.split())


def fold_blanks(text: str) -> str:
    """A text in the form that is compared for repetition: NFC, blanks folded."""
    return " ".join((text if text.isascii() else unicodedata.normalize("NFC", text)).split())


_COUNT: Final = rf"(?:\d+(?:\.\d+)?|{'|'.join(sorted(_NUMBER_WORDS, key=len, reverse=True))})"
_MEASURED: Final = rf"(?P<unit>{'|'.join(sorted(_OF_UNIT, key=len, reverse=True))})\b"
_CLOCK_WORDS: Final = lazy(rf"\b(?P<part>half|quarter) (?P<side>past|to) (?P<hour>{_COUNT})\b")
_HALF_DAY: Final = lazy(
    r"(?<=\b(?:at|by) )(?P<hour>1[0-2]|[1-9])(?P<minute>\.\d\d)? ?"
    r"(?:(?P<half>am|pm)|(?:o'clock )?in the (?P<part>morning|afternoon|evening))\b"
)
_DOZENS: Final = lazy(rf"\b(?:(?P<half>half a)|an?|(?P<count>{_COUNT})) dozen\b")
_OFTEN: Final = lazy(
    rf"\b(?:(?P<word>once|twice)|(?P<count>{_COUNT}) times) (?:an?|per|each|every) (?P<unit>{'|'.join(_A_YEAR)})\b"
)
_REGULARLY: Final = lazy(
    r"\b(?:(?:every|each) (?:(?P<gap>other|second|two|third|three|four|six|\d+) )?"
    r"(?P<unit>(?:mon|tues|wednes|thurs|fri|satur|sun)?day|morning|afternoon|evening|night|weekend|week|month|year"
    r"|summer|winter)s?"
    r"|(?P<adverb>daily|nightly|weekly|fortnightly|monthly|yearly|annually))\b"
)
"""How often something is so where no word counts it."""
_GAPS: Final = {"other": 2, "second": 2, "third": 3}
_ADVERBS: Final = {"nightly": 365.0, "daily": 365.0, "weekly": 52.0, "fortnightly": 26.0, "monthly": 12.0}
_IN_A_YEAR: Final = {**_A_YEAR, "summer": 1, "winter": 1} | dict.fromkeys(PARTS_OF_DAY, 365)
_AMOUNT: Final = lazy(
    r"\b(?:(?P<parts>(?:an?|three) quarters? of an|half an?)|(?P<one>an?)"
    rf"|(?P<count>{_COUNT})(?P<half> and a half)?)[ -]{_MEASURED}(?P<more> and a half\b)?"
)
_QUANTIFYING: Final = lazy(
    rf"\d ?[ap]m\b|\d (?:o'clock )?in the|\bdozen|\btimes?\b|\bonce\b|\btwice\b|\bhalf\b|\b(?:year|day)\b|\bquarter"
    rf"|\b{_MEASURED}"
)
_RATE: Final = lazy(
    r"\b(?P<count>\d+(?:\.\d+)?) (?P<money>euros?|eur|dollars?|usd|pounds?|gbp|francs?|chf) (?:a|per|each|every)"
    r" (?P<per>day|week|year)\b"
)
_PARTS_OF_ONE: Final = {"h": 0.5, "a": 0.25, "t": 0.75}


def _parse_number(word: str) -> float:
    return float(_NUMBER_WORDS[word]) if word in _NUMBER_WORDS else float(word)


def _format_number(value: float) -> str:
    return str(int(value)) if value == int(value) else str(round(value, 4))


def _clock_time(match: re.Match[str]) -> str:
    """Half past seven: 7.30; a quarter to eight: 7.45."""
    hour = int(_parse_number(match["hour"])) - (match["side"] == "to")
    minute = 30 if match["part"] == "half" else 15 if match["side"] == "past" else 45
    return f"{hour or 12}.{minute}"


def _replace_dozens(match: re.Match[str]) -> str:
    return "6" if match["half"] else _format_number(12 * _parse_number(match["count"] or "1"))


def _replace_frequency(match: re.Match[str]) -> str:
    times = {"once": 1.0, "twice": 2.0}.get(match["word"] or "") or _parse_number(match["count"])
    return f"{_format_number(times * _A_YEAR[match['unit']])} {OFTEN}"


def _times_a_year(plain: str) -> float:
    """How many times a year the fact of a statement happens; 0 if it does not say."""
    if (counted := _OFTEN.search(plain)) is not None:
        return float(_replace_frequency(counted).split()[0])
    if (said := _REGULARLY.search(plain)) is None:
        return 0.0
    if said["adverb"]:
        return _ADVERBS.get(said["adverb"], 1.0)
    gap = said["gap"] or "1"
    every = _GAPS.get(gap) or _parse_number(gap)
    return _IN_A_YEAR.get(said["unit"], _A_YEAR["week"]) / max(every, 1.0)


def _replace_amount(match: re.Match[str]) -> str:
    """An amount in the unit in which such are compared; "80 km an hour" tells of no hour."""
    base, much = _OF_UNIT[match["unit"]]
    before = match.string[max(0, match.start() - _BEFORE_AMOUNT) : match.start()].split()[-2:] if match["one"] else ()
    if any(word[0].isdecimal() or word in _NUMBER_WORDS for word in before):
        return match[0]
    value = (
        _PARTS_OF_ONE[match["parts"][0]] if match["parts"] else _parse_number(match["count"]) if match["count"] else 1.0
    )
    value += 0.5 * bool(match["half"] or match["more"])
    return f"{_format_number(value * much)} {base}"


_BEFORE_AMOUNT: Final = 120
"""How many characters before an amount are read."""


def _normalise_quantities(plain: str) -> str:
    """A text with amounts and how often in one unit each: half an hour is 30 minutes, once a week 52 times a year.

    What is paid is by the month.
    """
    if _QUANTIFYING.search(plain) is None:
        return plain
    plain = _RATE.sub(_as_monthly_amount, plain)
    plain = _DOZENS.sub(_replace_dozens, _CLOCK_WORDS.sub(_clock_time, _HALF_DAY.sub(_as_24_hour_time, plain)))
    return _AMOUNT.sub(_replace_amount, _OFTEN.sub(_replace_frequency, plain).replace("twice", "2 times"))


def _as_monthly_amount(match: re.Match[str]) -> str:
    """What is paid in a day, a week or a year by the month: 14,400 euros a year are 1,200 a month."""
    amount = float(match["count"]) * _A_YEAR[match["per"]] / _A_YEAR["month"]
    return f"{_format_number(amount)} {match['money']} a month"


def _as_24_hour_time(match: re.Match[str]) -> str:
    """A time of the day by 24 hours: 7 pm is 19.00."""
    hour, minute = int(match["hour"]) % _NOON, match["minute"] or ".00"
    is_later = match["half"] == "pm" or match["part"] in ("afternoon", "evening")
    return f"{hour + _NOON * is_later}{minute}"


_NOON: Final = 12


def _normalise_text(text: str) -> str:
    plain = text.casefold().replace("’", "'").replace("cannot", "can not")
    if plain.startswith("i") or " i" in plain:
        plain = _I_AM.sub("i is", plain)
    if "n't" in plain:
        plain = _NOT.sub(" not", plain)
    if "," in plain:
        plain = _THOUSANDS.sub("", plain)
    if ":" in plain:
        plain = _CLOCK.sub(r"\1.\2", plain)
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


def _as_one_word(match: re.Match[str]) -> str:
    sign = {"+": "plus", "-": "minus"}.get(match["sign"], "")
    return f"{match['kind']}{match['is'] or ''} {match['letter']}{sign}-lettered"


def _as_money(match: re.Match[str]) -> str:
    return f"{match['count']} {_MONEY[match['sign']]}"


@lru_cache(maxsize=_MAX_FRAMES)
def without_beginning(text: str) -> str:
    """A statement without the words before it that tell when it begins, for one that holds from then on."""
    return _BEGINNING.sub("", text, 1)


def words_of(name: str) -> frozenset[str]:
    """The words of a name in the form that frames use."""
    return (
        frozenset(word for word in _TOKEN.findall(_normalise_text(fold_blanks(name))) if word[0] not in "'’")
        - _DETERMINERS
    )


@lru_cache(maxsize=_MAX_FRAMES)
def names_agree(one: frozenset[str], other: frozenset[str]) -> bool:
    """True if two sets of words may name one subject: one has all words of the other.

    "Ana" may be "Ana Silva", and "Ana Souza" is not; what begins with "in" or "it" names nobody by that.
    """
    first, second = one - _OF_NOBODY, other - _OF_NOBODY
    return bool(first) and bool(second) and (first <= second or second <= first)


@lru_cache(maxsize=_MAX_FRAMES)
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
    is_named = begins.isdisjoint((_DETERMINERS | _PRONOUNS) - _FIRST)
    return is_named and names_agree(leading_subject(one), leading_subject(other))


def tell_of_person(one: str, other: str) -> bool:
    """True if two statements tell what a person has one of, whatever else they are about: a home, but not a dose."""
    told = [frame(text) for text in (one, other)]
    common = [each.attributes if each is not None and not each.owned else frozenset[str]() for each in told]
    return not _OF_PERSONS.isdisjoint(frozenset.intersection(*common))


_OF_PERSONS: Final = frozenset({"residence", "job", "marital state", "age", "weight", "diet", "pregnancy"})


def begins_with_other_name(earlier: str, later: str) -> bool:
    """True if two statements begin with different names, whatever both refer to."""
    no_names = _OF_NOBODY | _LIGHT_WORDS | _attribute_words().keys() | set(_SINGLE_VERBS.split())
    one, other = (leading_subject(text) - no_names for text in (earlier, later))
    return bool(one) and bool(other) and not names_agree(one, other)


@lru_cache(maxsize=_MAX_QUESTIONS)
def question_terms(question: str) -> tuple[frozenset[str], frozenset[str]] | None:
    """The words of a question and its significant stems; ``None`` without any, or with a possessive ("Ana's")."""
    tokens = _TOKEN.findall(_normalise_text(fold_blanks(question)))
    telling = [] if any(word[0] in "'’" for word in tokens) else _significant_words(question, tokens)
    return (frozenset(tokens), stems(telling)) if telling else None


def asks_for_home(telling: frozenset[str]) -> bool:
    """True if the significant stems of a question ask where somebody lives."""
    return not telling.isdisjoint(_asking_stems()["residence"])


def asks_for_work(telling: frozenset[str]) -> bool:
    """True if the significant stems of a question ask for nothing but somebody's work."""
    return telling <= _asking_stems()["job"]


@lru_cache(maxsize=_MAX_QUESTIONS)
def asked_state(question: str) -> tuple[frozenset[str], frozenset[str]] | None:
    """The words of a question about a state with one value, such as a home, and its significant stems; else ``None``.

    Of "which car did I drive?" the value need not have the word for its kind.
    """
    plain = _POSSESSIVE.sub("", question)
    asked = question_terms(_KIND_ASKED.sub(r"\1 ", plain)) or question_terms(plain)
    of_states = single_verbs().union(*_asking_stems().values())
    return None if asked is None or asked[1].isdisjoint(of_states) else asked


_KIND_ASKED: Final = re.compile(r"\b(which|what) (?:[\w-]+ ){1,2}(?=(?:did|do|does|was|were|is|are|am) )", re.I)
_POSSESSIVE: Final = re.compile(r"['’]s?(?= )")


def tells(one: Frame, telling: frozenset[str]) -> bool:
    """True if a statement has all significant stems of a question but its subject; who moved to a town lives there."""
    left = telling - stems(one.subject) - one.content - one.light
    # Who cleaned a flat may live anywhere.
    names_home = "place" not in one.attributes and not one.content.isdisjoint(stems(("home", "flat")))
    states = one.attributes - ({"residence"} if names_home else set()) if not one.negated and not one.mood else ()
    return not left or any(left <= _asking_stems().get(each, frozenset()) for each in states)


@lru_cache(maxsize=_MAX_FRAMES)
def tells_state(text: str, words: frozenset[str], telling: frozenset[str]) -> bool:
    """True if a statement says of a person in a question, and of nothing else of theirs, what :func:`asked_state` asks.

    ``words`` and ``telling`` are what that gives. "Living in Brno" and "Tom and I live in Brno" are said of the asker.
    """
    is_mine = not words.isdisjoint(_FIRST)
    begin = [word for word in _TOKEN.findall(text[:_LEADING].casefold()) if word not in _CHANGE][:1]
    is_of_asker = is_mine and (_WITH_ME.match(text) is not None or not single_verbs().isdisjoint(stems(begin)))
    one = frame(text, frozenset({"i"}) if is_of_asker else frozenset())
    if one is None or one.subject.isdisjoint(words | {"i"} if is_mine else words):
        return False
    is_at_home = asks_for_home(telling) and "place" in one.attributes
    return stems(one.owned) <= (telling | _asking_stems()["residence"] if is_at_home else telling) and tells(
        one, telling
    )


_WITH_ME: Final = re.compile(r"(?:my )?[\w'’-]+ and I\b", re.I)


@cache
def _asking_stems() -> dict[str, frozenset[str]]:
    """The stems by which a question asks for an attribute that other words state, too."""
    return {"residence": stems((*_LIVING, "home")), "job": stems(("work", "job", "employer", "employed"))}


class Asked(NamedTuple):
    """What a question asks for: its significant stems, and those of words for the attributes that they stand for."""

    telling: frozenset[str]
    all: frozenset[str]


@lru_cache(maxsize=_MAX_QUESTIONS)
def asked_of(question: str) -> Asked:
    """The stems of what a question asks for: of "where do I live", also those of a home and of moves."""
    tokens = _TOKEN.findall(_normalise_text(fold_blanks(question)))
    telling = stems(_significant_words(question, tokens)) - _how_many()
    told = telling.union(*map(stems_of, attributes_of(telling)))
    told = told.union(*(analysis.told_by().get(each, ()) for each in telling))
    return Asked(telling, told | stems(("moved",)) if asks_for_home(telling) else told)


def asked_stems(question: str) -> frozenset[str]:
    """The stems of which what a question asks for has one.

    Of "where do I work" those of trades are among them, and of "who is our lawyer" no other trade's.
    """
    asked = asked_of(question)
    is_of_trade = "job" in attributes_of(asked.telling) and asked.telling.isdisjoint(_asking_stems()["job"])
    return asked.telling if is_of_trade else asked.all


def claims_in(message: str, asked: Asked, question: str = "") -> str:
    """The clauses of a message that tell of what a question asks, one of each sentence; empty without any.

    "Hey, so I moved to Porto, boxes everywhere" says "I moved to Porto". Of sentences about several people only those
    are given that are about the people in ``question``, if some are.
    """
    return _claims_in(message[:_READ], asked, _people_in(question))


@lru_cache(maxsize=_MAX_FRAMES)
def _claims_in(beginning: str, asked: Asked, people: frozenset[str]) -> str:
    found = []
    for each in analysis.sentences(beginning):
        words = _stems_in(each)
        if asked.all.isdisjoint(words):
            continue
        clauses = [_GREETING.sub("", clause, 1) for clause in _CLAIM_ENDS.split(each)]
        told = _GREETING.sub("", each, 1)
        # What is added by "also" or "too" must not lose the word.
        if ADDING.isdisjoint(words) and len(clauses) > 1:
            told = max(clauses, key=lambda clause: (_fit(clause, asked), len(clause)))
        told = _BY_ME.sub(_with_me, _GUESS.sub("", _SAID.sub("", told, 1), 1), 1)
        if told and _ASKING.search(told) is None:
            found.append(_IS_MINE.sub(r"\2 \3 is \1", f"{told[:1].upper()}{told[1:].rstrip('.!')}."))
    return " ".join(_of_named(found, people)[:_MOST_SENTENCES])


def _of_named(claims: list[str], people: frozenset[str]) -> list[str]:
    """The claims, without those of others if some are of these people: of Mila's allergy, not of Theo's."""
    told = [stems(leading_subject(claim)) for claim in claims]
    if all(people.isdisjoint(each) for each in told):
        return claims
    known = people | stems(_PRONOUNS)
    return [claim for claim, about in zip(claims, told, strict=True) if not about or not about.isdisjoint(known)]


def _with_me(verb: re.Match[str]) -> str:
    return f"{'I' if verb[1] else 'I am'} {verb[0].casefold()}"


def _stems_in(text: str) -> frozenset[str]:
    return frozenset(map(stem, _TOKEN.findall(text.casefold())))


def _fit(clause: str, asked: Asked) -> tuple[int, int]:
    words = _stems_in(clause)
    return len(asked.telling & words), len(asked.all & words)


def answers(claim: str, asked: Asked) -> bool:
    """True if a claim has at least half of the significant words of a question."""
    return 2 * len(asked.telling & _stems_in(claim)) >= len(asked.telling)


def names_asked(claim: str, asked: Asked) -> bool:
    """True if a claim has more than half of a question's words, but for "day", "take" and the like."""
    telling = _telling_of(asked)
    return 2 * len(telling & _stems_in(claim)) > len(telling)


def name_other_things(one: str, other: str, asked: Asked) -> bool:
    """True if two claims put another word before a noun that is asked for: the alarm code, the door code."""
    before, after = (_before_asked(claim, asked) for claim in (one, other))
    return any(before[noun].isdisjoint(after[noun]) for noun in before.keys() & after.keys())


def _before_asked(claim: str, asked: Asked) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for word, noun in pairwise(_TOKEN.findall(claim[:1].casefold() + claim[1:])):
        is_named = noun.islower() and stem(noun) in asked.telling
        if is_named and word.isalpha() and word.islower() and word not in _LITTLE and not word.endswith(("ing", "th")):
            found[stem(noun)] = found.get(stem(noun), frozenset()) | {stem(word)}
    return found


_LITTLE: Final = frozenset().union(
    *(
        _DETERMINERS,
        _FIRST,
        _LIGHT_WORDS,
        _AUX,
        _PREPOSITIONS,
        _CHANGE,
        _NUMBER_WORDS,
        ("new", "old", "first", "second", "third", "last"),
    )
)
"""Words before a noun that do not tell which one it is."""


def is_of_speaker(claim: str, asked: Asked) -> bool:
    """True if what somebody says is of themselves, or of the thing that is asked for: "my rent", "the rent"."""
    told = leading_subject(claim)
    return "i" in told or (bool(told) and stems(told) <= asked.all and _OF_OTHERS.match(claim) is None)


Change = Literal["", "perhaps", "sure"]
"""How likely a later message changes what an earlier one says of what a question asks."""


def change_told(
    question: str, asked: Asked, earlier: str, later: str, around: Callable[[], Collection[str]], *, is_soon: bool
) -> Change:
    """How likely a message tells in passing that what an earlier one of its speaker says, and a question asks, changed.

    It has another value of the kind that is asked for, shares words with the question or names the old value, and
    mostly has a word of change ("they pushed me to the 16th"). ``around`` is what was said just before and after it,
    which may tell what "it" is; ``is_soon``: it was said within two days, and may correct what it does not name. What
    asks, was only considered, is over, or is told of somebody or something else changes nothing.
    """
    # Of two long messages words tell little.
    if not 0 < len(later) <= (_SHORT if len(earlier) > _SHORT else MAX_CHARACTERS):
        return ""
    before = _asked_part(earlier[:MAX_CHARACTERS], asked)
    if not before:
        return ""
    if len(later) > _SHORT:
        # What is told at length is of several things, so that a sentence stands for itself, and is less sure.
        changes = (_change_in(question, asked, before, each) for each in analysis.sentences(later))
        return "perhaps" if "sure" in changes else ""
    change = _change_in(question, asked, before, later)
    return change or _change_of_unnamed(question, asked, before, later, around, is_soon=is_soon)


@lru_cache(maxsize=_MAX_FRAMES)
def _asked_part(message: str, asked: Asked) -> str:
    """What of a message tells of a question: a short one as a whole, or a sentence with half of the words."""
    if len(message) <= _SHORT:
        return message
    telling = _telling_of(asked)
    best = max(analysis.sentences(message), key=lambda one: len(_content_of(one) & telling))
    return best if 2 * len(_content_of(best) & telling) >= len(telling) else ""


@lru_cache(maxsize=_MAX_FRAMES)
def _change_in(question: str, asked: Asked, earlier: str, later: str) -> Change:
    """The same for what shares words with the question, or names the old value."""
    telling, named, new = _telling_of(asked), _content_of(question), _content_of(later)
    old = _old_in(earlier, telling) - named
    kind, before, behind = _kind_of(question), _values_of(earlier), _values_of(later)
    shared, has_old = telling & new, not (old - _of_any_thing()).isdisjoint(new)
    is_off = _sign_of(_told_in(later)) == _REPLACED if has_old or kind == "place" else False
    if kind == "place":
        # A name may be who was there, unless it is said to be off.
        has_old = not ((before.places | (before.names if is_off else frozenset())) - telling - named).isdisjoint(new)
    elif not kind and not is_off and before.names - telling - named:
        # Of "Dune, the slow one" Dune is the value.
        has_old = not (before.names - telling - named).isdisjoint(new | behind.names | _stems_in(later))
    is_measured = kind in ("time", "number")
    is_dated = not _values_of(question).dates.isdisjoint(behind.dates)
    # "New number" may be of a phone, or of a locker.
    is_loose = not asked.telling.isdisjoint(new)
    if not (is_loose or has_old or is_dated) or not (told := _told_of(question, earlier, later, telling)):
        return ""
    # "Ravi walks" names no walks.
    if any(name_other_things(f" {earlier}", f" {clause}", asked) for clause in _CLAIM_ENDS.split(told) if clause):
        return ""
    if _asks_for_contrary(telling, _stems_in(told)) or not (has_old or _may_be_of(_people_in(question), told)):
        return ""
    sign = _sign_of(told)
    fits = _value_fits(question, earlier, told, sign, has_old=has_old or bool(shared))
    known = _content_of(earlier) | named | telling
    if not fits or _is_of_another(told, known, telling, is_called=kind == "name"):
        return ""
    topic = (_topic_of(question, earlier, told, shared, telling) or is_loose) + is_dated
    if fits == _FITS:
        is_moved = sign >= _CHANGED and _MOVING.search(told) is not None and _says_exactly(question, told, shared)
        is_instead = sign == _REPLACED and topic > 0 and kind != "name"
        # Who "has a new assistant" still does what was asked.
        is_gone = has_old and not is_measured and (topic > 0 or kind != "name" or _ONLY_NEW.search(told) is None)
        is_close = topic > 1 or is_moved or is_instead or is_gone
        if sign and is_close:
            return "sure" if has_old or not _is_of_other_thing(told, known, telling, kind) else "perhaps"
        return "perhaps" if sign or (topic > 1 and is_measured) or (topic > 0 and has_old) else ""
    is_close = topic > 1 or has_old
    if sign == _REPLACED and is_close:
        return "sure" if has_old or not _is_of_other_thing(told, known, telling, kind) else "perhaps"
    is_told = sign >= _CHANGED or (sign and _NOW.search(told) is not None)
    return "perhaps" if is_told and is_close else ""


def _is_of_other_thing(told: str, known: frozenset[str], telling: frozenset[str], kind: str) -> bool:
    """True if a sentence begins with a thing of which nothing was said, or that only is named after one.

    "My suitcase weighs 23 kilos", "the printer paper moved", "piano lessons", if asked for swimming lessons. What is
    told of "it", "us" or "the rent" behind that may still be what changed.
    """
    return any(_begins_with_other_thing(one, known, telling, kind) for one in analysis.sentences(told))


def _begins_with_other_thing(sentence: str, known: frozenset[str], telling: frozenset[str], kind: str) -> bool:
    first, *others = _CLAIM_ENDS.split(_GREETING.sub("", sentence, 1))
    if any(not telling.isdisjoint(_stems_in(each)) for each in others if each):
        return False
    words = [word.casefold() for word in _WORD.findall(_BESIDE_THING.sub(" ", first))]
    is_begun = words[:1] != [] and words[0] in _OURS
    nouns = words[1:] if is_begun else words
    around = enumerate(zip(nouns, [*nouns[1:], ""], strict=True))
    end = next((at for at, (word, after) in around if at and _ends_noun(word, after)), None)
    if end is None or end > _MOST_OF_NOUN:
        return False
    phrase, rest = [word.removesuffix("'s").removesuffix("’s") for word in nouns[:end]], nouns[end:]
    of_phrase = [stem(_SAME_WORD.get(word, word)) if _may_tell(word) else "" for word in phrase]
    if not any(of_phrase) or not _REFERRED.isdisjoint(_words_of(sentence)):
        return False
    if any(word in _ITS_OR_OURS and stem(noun) in telling for word, noun in pairwise(rest)):
        return False
    if not known.intersection(of_phrase):
        return is_begun
    *which, head = of_phrase
    if head in known:
        return any(each and each not in known and word not in _DATED for each, word in zip(which, phrase, strict=False))
    return bool(head) and kind != "name" and phrase[-1] not in _OF_WHAT_IS_ASKED


def _ends_noun(word: str, after: str) -> bool:
    """True if a word is behind the noun that a sentence begins with: lessons are, but not the lessons before that."""
    return word in _NOT_IN_NOUN or (_may_be_verb(word) and not (word[-1] == "s" and (after in _AUX or is_past(after))))


_BESIDE_THING: Final = lazy(
    r"(?i) (?:next (?:to|door)|opposite|beside|near|behind|across from)(?: (?:the|my|our) [\w-]+)?\b"
)
_ITS_OR_OURS: Final = _words("the my our its their his her")
_REFERRED: Final = _FIRST - {"my", "our"} | _PRONOUNS | _words("that them this those him her it")
_NOT_IN_NOUN: Final = _AUX | _PREPOSITIONS | _words("now to for from with and or the a an my our has have again")
_OF_WHAT_IS_ASKED: Final = _words(
    "class lesson lessons appointment session meeting practice training rehearsal match course group club party trip"
    " slot date time day price cost fee rent rate bill charge salary pay membership subscription number address guy"
    " man woman person"
)
"""Nouns behind the name of a thing that say nothing of another one: the guitar lesson is the guitar."""


@lru_cache(maxsize=_MAX_FRAMES)
def _told_of(question: str, earlier: str, later: str, telling: frozenset[str]) -> str:
    """The sentences that a message tells, without those of what somebody else did, or of another thing.

    "Lea moved her trial" changes nothing of Noah's, "the school changed its password" nothing of ours, "they moved the
    printer to desk 3" nothing of my desk, and who gives up football is as allergic as before. What is so today does not
    say what usually is.
    """
    known = _content_of(earlier) | _content_of(question) | telling
    told = [one for one in analysis.sentences(_told_in(later)) if not _is_by_another(question, one, known)]
    clauses = [each for one in told for each in _CLAIM_ENDS.split(one) if each]
    kept = [each for each in clauses if not _leaves_another(question, each, known, telling)]
    if len(kept) < len(clauses):
        told = [", ".join(each for each in kept if not _content_of(each).isdisjoint(known))]
    is_once = _USUALLY.search(question) is not None and _ONCE_ONLY.search(later) is not None
    return "" if is_once and _FROM_NOW.search(later) is None else " ".join(told)


def changes_another(question: str, asked: Asked, earlier: str, later: str) -> bool:
    """True if what a message says for sure is of somebody or something else than was asked, or of today only."""
    told = _told_in(later)
    return bool(told) and not _told_of(question, earlier, later, _telling_of(asked))


def agree_in_times(question: str, one: str, other: str) -> bool:
    """True if a question asks for a time, and two claims name the same one, of which neither denies or ends anything.

    One of them may leave out the day, or the hour.
    """
    if _kind_of(question) != "time" or any(
        _sign_of(text) == _REPLACED or _DENIAL.search(text) for text in (one, other)
    ):
        return False
    pairs = [*zip(_values_of(one)[:3], _values_of(other)[:3], strict=True)]
    is_same = any(mine and mine == theirs for mine, theirs in pairs[:2])
    return is_same and all(mine == theirs or not (mine and theirs) for mine, theirs in pairs)


def _is_by_another(question: str, sentence: str, known: frozenset[str]) -> bool:
    """True if somebody does something of their own who was not named: "Lea moved her", "Paul switched to"."""
    found = _BY_ANOTHER.match(_GREETING.sub("", sentence, 1))
    if found is None or not (_WHOSE.search(question) or _people_in(question)):
        return False
    who = found["who"]
    if not _content_of(who).isdisjoint(known) or not _content_of(who):
        return False
    return bool(found["own"]) or who[0].isupper()


def _leaves_another(question: str, clause: str, known: frozenset[str], telling: frozenset[str]) -> bool:
    """True if a clause says that something is moved, given up or denied of which nothing was said."""
    if _kind_of(question) not in ("time", "number"):
        moved = _MOVED_THING.search(clause)
        if moved is not None and (thing := _content_of(moved["thing"])) and thing.isdisjoint(known):
            return True
    elif any(stem(group.casefold()) not in known for group in _NUMBERED_GROUP.findall(clause)):
        return True
    given = _GIVEN_UP.search(clause)
    if given is not None and (thing := _content_of(given["thing"])) and thing.isdisjoint(known):
        return _kind_of(question) not in ("time", "number", "name") and _content_of(clause[given.end() :]) <= thing
    denied = _DENIED.search(clause)
    if denied is None or stem(denied["is"].casefold()) not in telling:
        return False
    thing = _content_of(denied["thing"]) - telling
    return bool(thing) and thing.isdisjoint(known)


def _asks_for_contrary(telling: frozenset[str], told: frozenset[str]) -> bool:
    """True if what is told is the contrary of what is asked for: when something opens, instead of when it closes."""
    return any(
        one in telling and other in told and one not in told
        for pair in _contraries()
        for one, other in (pair, pair[::-1])
    )


@cache
def _contraries() -> tuple[tuple[str, str], ...]:
    pairs = "open close, start end, start finish, begin end, arrive leave, arrive depart, buy sell, win lose"
    return tuple((stem(one), stem(other)) for one, other in (pair.split() for pair in pairs.split(", ")))


def _change_of_unnamed(
    question: str, asked: Asked, earlier: str, later: str, around: Callable[[], Collection[str]], *, is_soon: bool
) -> Change:
    """The same for what has no word of the question, nor of the earlier message."""
    telling = _telling_of(asked)
    told = _told_of(question, earlier, later, telling)
    is_anew, is_correction = _ANEW.search(told) is not None, _CORRECTING.search(told) is not None
    sign = _sign_of(told) if is_anew or is_correction or _REFERRING.search(told) else 0
    if not sign or _value_fits(question, earlier, told, sign, has_old=False) < _FITS:
        return ""
    people = _content_of(question) - asked.telling
    is_called = _kind_of(question) == "name"
    if _is_of_another(told, _content_of(earlier) | people | telling, telling, is_called=is_called):
        return ""
    if is_anew and not people.isdisjoint(_content_of(told)):
        return "perhaps"
    if is_correction and is_soon and len(_content_of(told)) <= _FEW:
        return "sure" if earlier in around() else "perhaps"
    if not is_correction and sign < _CHANGED:
        return ""
    is_near = any(2 * len(telling & _content_of(each)) >= len(telling) for each in around())
    return "perhaps" if is_near else ""


def old_value(question: str, asked: Asked, earlier: str) -> str:
    """The words of a short message by which a later one would name what the earlier one answers a question with.

    Of "Birte conducts us, arms like windmills", that is Birte. Empty for a long one, for what asks or was only
    considered, and if a time, an amount, or yes or no is asked for.
    """
    is_named = _kind_of(question) in ("name", "place", "")
    if not (is_named and 0 < len(earlier) <= _SHORT and _told_in(earlier)):
        return ""
    old = _old_in(earlier, _telling_of(asked)) - _content_of(question)
    names = old & _values_of(earlier).names
    words = dict.fromkeys(word.casefold() for word in _WORD.findall(earlier))
    wanted = [word for word in words if stem(word.removesuffix("'s").removesuffix("’s")) in (names or old)]
    return " ".join(wanted[:_FEW])


@lru_cache(maxsize=_MAX_FRAMES)
def _old_in(earlier: str, telling: frozenset[str]) -> frozenset[str]:
    """The stems of names in a message, and of the clause that tells of a question, without those of the question."""
    return (_content_of(_clause_of(earlier, telling)) | _values_of(earlier).names) - telling


def _telling_of(asked: Asked) -> frozenset[str]:
    return asked.telling - _of_any_thing() or asked.telling


_SHORT: Final = 200
"""The characters of a message that is about one thing."""
_SHIFTED_A_LITTLE, _CHANGED, _REPLACED = 1, 2, 3
"""How plainly a message says that something is otherwise: by "now", by what happened to it, by what replaced it."""
_FITS: Final = 2
"""A value of precisely the kind that is asked for."""
_FEW: Final = 3


@lru_cache(maxsize=_MAX_FRAMES)
def _told_in(message: str) -> str:
    """The clauses of a message that neither ask nor tell of what was only considered, or is over."""
    found = []
    for one in analysis.sentences(message):
        if one and not one.endswith("?"):
            clauses = (clause for clause in _CLAIM_ENDS.split(one) if clause)
            told = [each for each in clauses if _CONSIDERED.search(each) is None and _ASKING.search(each) is None]
            found.append(", ".join(told))
    return " ".join(filter(None, found))


@lru_cache(maxsize=_MAX_FRAMES)
def _sign_of(told: str) -> int:
    if _REPLACING.search(told):
        return _REPLACED
    if _CHANGING.search(told):
        return _CHANGED
    return _SHIFTED_A_LITTLE if _OF_LATE.search(told) else 0


@lru_cache(maxsize=_MAX_FRAMES)
def _content_of(text: str) -> frozenset[str]:
    """The stems of the words that tell what a message is about."""
    return stems(_SAME_WORD.get(word, word) for word in _words_of(text) if _may_tell(word))


def _may_tell(word: str) -> bool:
    return len(word) > 2 and word not in _telling_nothing() and (word[0].isalpha() or word[:3].isdecimal())


@cache
def _telling_nothing() -> frozenset[str]:
    return analysis.STOP_WORDS | _WITHOUT_CONTENT | _AUX | _MODALS | _IN_CHATS


@cache
def _of_any_thing() -> frozenset[str]:
    words = "name called date day time get have going take use new currently pay cost price charge off number code"
    return stems(words.split())


def _topic_of(question: str, earlier: str, told: str, shared: frozenset[str], telling: frozenset[str]) -> int:
    """2 if a message has most words of a question, or the noun that it asks for, 1 if it has any, else 0."""
    kind, new = _kind_of(question), _values_of(told)
    # "My guitar lesson" is "guitar" when a time or a price is told of it.
    is_measured = kind in ("time", "number") or (not kind and bool(_values_of(earlier).amounts))
    is_exact = _says_exactly(question, told, shared)
    is_most = 2 * len(shared) > len(telling) or (is_measured and is_exact and 2 * len(shared) == len(telling))
    is_head = is_exact and _head_of(question, telling) in shared
    topic = 2 if shared and (is_most or is_head) else int(bool(shared))
    if shared and kind == "time" and not _values_of(earlier).dates.isdisjoint(new.dates):
        return 2
    return topic


def _says_exactly(question: str, told: str, shared: frozenset[str]) -> bool:
    """True if one of the shared words is the same in both: "rates" are not "my rate"."""
    return not shared.isdisjoint(stems(_words_of(question) & _words_of(told)))


def _words_of(text: str) -> frozenset[str]:
    return frozenset(word.removesuffix("'s").removesuffix("’s") for word in _WORD.findall(text.casefold()))


def _clause_of(message: str, telling: frozenset[str]) -> str:
    """The clause of a message that has most words of a question; the first if none has any."""
    clauses = [clause for each in analysis.sentences(message) for clause in _CLAIM_ENDS.split(each) if clause]
    return max(clauses, key=lambda clause: len(_content_of(clause) & telling), default="")


class _Values(NamedTuple):
    """What a text has of what may be asked for."""

    dates: frozenset[str]
    hours: frozenset[str]
    amounts: frozenset[str]
    names: frozenset[str]
    places: frozenset[str]


@lru_cache(maxsize=_MAX_FRAMES)
def _values_of(text: str) -> _Values:
    dates, hours, amounts = set[str](), set[str](), set[str]()
    plain = _SINCE.sub(" ", text)
    for found in _VALUE.finditer(plain):
        if found["date"]:
            dates |= {each.removesuffix("s") for each in _DATE_PART.findall(found[0].casefold())}
        elif found["past"]:
            hour = int(_NUMBER_WORDS.get(found["hour"].casefold(), 0) or found["hour"])
            way = found["past"].casefold()
            hours.add(f"{hour - 1}:45" if "to" in way else f"{hour}:{'30' if 'half' in way else '15'}")
        elif found["clock"]:
            hours.add(found["clock"].replace(".", ":"))
            if "." in found["clock"]:
                amounts.add(found["clock"])
        else:
            number = found["number"].casefold().rstrip(".,").replace(",", "")
            number = (
                _format_number(_NUMBER_WORDS[number]) if number in _NUMBER_WORDS else _TIMES_OVER.get(number, number)
            )
            may_be_hour = not found["of"] and number.isdecimal() and int(number) <= _HOURS
            if found["at"] is None or not (may_be_hour and _AT.match(found["at"])):
                amounts.add(number)
            if found["at"] is not None and may_be_hour:
                hours.add(number)
    names = (name[1] or name[2] for name in _NAME.finditer(text))
    called = {stem(low) for name in names if (low := name.casefold()) not in _telling_nothing()} - _related()
    placed = {place.casefold() for place in _PLACED.findall(plain)}
    places = {stem(each) for each in placed if each not in _telling_nothing()}
    return _Values(*map(frozenset, (dates, hours, amounts, called, places)))


def _value_fits(question: str, earlier: str, told: str, sign: int, *, has_old: bool) -> int:
    """:data:`_FITS` if what is told has another value of the kind that is asked for, 1 if it may have one, else 0."""
    kind = _kind_of(question)
    old, new = _values_of(earlier[:MAX_CHARACTERS]), _values_of(told)
    known = _stems_in(earlier[:MAX_CHARACTERS]) | _stems_in(question)
    names = {each for each in new.names if each not in known}
    if kind == "polar":
        return _FITS if sign >= _CHANGED else 0
    if kind == "time":
        has_one = (old.dates and new.dates - old.dates) or (old.hours and new.hours - old.hours)
        return _FITS if has_one or ((old.dates or old.hours) and _PUT_OFF.search(told)) else 0
    if kind == "number":
        return _FITS if old.amounts and new.amounts - old.amounts else 0
    if kind == "name":
        return _FITS if names else int(_SOMEBODY.search(told) is not None)
    if kind == "place":
        return _FITS if any(each not in known for each in new.places) else 0
    if (new.dates or new.hours) and not (old.dates or old.hours or has_old) and sign < _REPLACED:
        return 0
    if old.amounts and new.amounts - old.amounts:
        return _FITS
    if old.names - stems(_content_of(question)):
        return _FITS if names else int(sign >= _CHANGED and has_old)
    if (new.amounts or new.dates or new.hours) and sign < _REPLACED:
        return 0
    return int(any(each not in known for each in _content_of(told)))


def _kind_of(question: str) -> str:
    found = _KIND.match(question)
    if found is None:
        return ""
    return "name" if found["called"] else next((kind for kind, said in found.groupdict().items() if said), "")


def _head_of(question: str, telling: frozenset[str]) -> str:
    """The stem of the noun behind "what", "which" or "whose"; empty without one."""
    phrase = _ASKED_NOUN.match(question)
    words = [] if phrase is None else [stem(word) for word in _WORD.findall(phrase[1].casefold())]
    return next((word for word in reversed(words) if word in telling), "")


def _is_of_another(told: str, known: frozenset[str], telling: frozenset[str], *, is_called: bool) -> bool:
    """True if a sentence is about somebody or something of which nothing was said.

    ``is_called``: a name is asked for, so that "Stig's captain" says who it is.
    """
    return any(_begins_with_another(one, known, telling, is_called=is_called) for one in analysis.sentences(told))


@lru_cache(maxsize=_MAX_QUESTIONS)
def _people_in(question: str) -> frozenset[str]:
    """The stems of the people whom a question is about: relatives, and names that are no place."""
    names = stems(name.casefold() for name in _PERSON.findall(question)) - stems((*_DATED, "i"))
    return names | (_related() & _stems_in(question))


def _may_be_of(people: frozenset[str], told: str) -> bool:
    """True if what is told names one of some people, or says "she"."""
    return not people or _OF_SOMEBODY.search(told) is not None or not people.isdisjoint(_stems_in(told))


def _begins_with_another(sentence: str, known: frozenset[str], telling: frozenset[str], *, is_called: bool) -> bool:
    begin = _GREETING.sub("", sentence, 1)
    words = _WORD.findall(begin)
    other = _OF_ANOTHER.match(begin)
    if other is not None and _content_of(other["who"] or other["whose"] or other[0]).isdisjoint(known):
        said = pairwise(word.casefold() for word in _WORD.findall(begin[other.end() :]))
        is_ours = _GOES_OVER.match(begin, other.end()) is None and any(
            word in _OURS and stem(noun) in telling for word, noun in said
        )
        if not is_ours and _OF_ME.search(begin, other.end()) is None:
            return True
    for before, noun in pairwise(words):
        if stem(noun.casefold()) not in telling:
            continue
        if before.casefold() in ("other", "another"):
            return True
        whose = (
            not is_called
            and before.endswith(("'s", "’s"))
            and before.casefold()[:-2] not in _PRONOUNS | {"that", "there", "what"}
        )
        is_name = not is_called and before[0].isupper() and before != words[0]
        if (whose or is_name) and (called := _content_of(before)) and called.isdisjoint(known):
            return True
    return False


@cache
def _related() -> frozenset[str]:
    return stems(_RELATED.replace("neighbou?r", "neighbour|neighbor").split("|"))


_OURS: Final = _words("the my our")
_HOURS: Final = 31
"""The greatest number that may be an hour, or a day of a month."""
_IN_CHATS: Final = _words(
    "new old got get gets getting put went goes going gone said says told called call calls found find make made makes"
    " take took taken takes taking come came comes coming thing things something someone somebody people place good bad"
    " great nice finally though anyway guess apparently thank thanks god lol haha ugh actually instead turns turned out"
    " end back off left ended moved switch like really much lot lots bit way still even ever never let have having omg"
    " okay yeah week weeks month months year years day days time times today yesterday next last half past quarter"
    " until till i'm i've i'll we're we've we'll it's that's they're they've he's she's can't don't isn't aren't won't"
    " didn't doesn't there's street road lane avenue bought booked joined signed ends move moves moving"
    " over onto through after before during without within along around about against between under up down percent"
    " euros pounds dollars kilos metres meters minutes hours square"
)
"""Words of a chat that do not tell what it is about."""
_DAY: Final = f"(?:{'|'.join(times.DAYS)})s?"
_REPLACING: Final = lazy(
    r"(?i)\b(?:instead|(?:switch|swap|replac|renam)\w*|chang(?:ed|ing) (?:it |that |them |him |her )?(?:to|for)"
    r"|in the end|(?:went|gone|going) with|settled on|opted|ended up|back (?:to|on)(?! \d)|meant|scrap"
    rf"|ma[dk]e (?:that|it) (?:\d|half|quarter|noon|{_DAY}|{'|'.join(_UNITS.split()[1:])})"
    r"|scratch that|g[ai]ven? up|sold|reset|no longer|any ?more|no more|taking over|took over|takes over|stepp\w+ in"
    r"|went bust|fell through|is off|['’]s off|packed in|cancell?ed|quit|died|passed away|let \w+ go|wants? out"
    r"|(?:dropped|pulled|backed) out|called off|traded)\b"
)
"""What says that one thing is so no more, or took the place of another."""
_CHANGING: Final = lazy(
    r"(?i)\b(?:from (?:now on|(?:this|next) (?:week|month|year)|today|tomorrow)|as of|after all|turn(?:s|ed) out"
    r"|(?:moved|moving|push|shift|bump|chang|cancel|postpon|reschedul|rebook|delay|upgrad|downgrad|rais|lower|increas"
    r"|reduc|dropp|ditch|binn|retir|bail|upped|slipp|renew|correct|convert|reassign|assign)\w*"
    r"|(?:day|week|month|hour)s? (?:later|earlier)|put (?:\w+ ){0,3}(?:back|up|down|off|forward)"
    r"|(?:went|gone|going|goes|knocked|cut) (?:\w+ )?(?:up|down)|(?:up|down|gone|over) to|over (?:at|on|with)"
    r"|(?:call|pull|stepp|fell|fall|brought|bring|hand|gave|give|pack|ripp)\w* (?:\w+ ){0,2}"
    r"(?:off|out|down|up|through|in|back|forward|over)|off until|until further|went under|closed|broken?|leaving"
    r"|another (?:week|day|month|hour)|has left|['’]s left|can['’]?t (?:do|make|come|begin|start)|grew out)\b"
)
"""What says that something happened to what was so."""
_OF_LATE: Final = lazy(
    r"(?i)\b(?:now|new|since|actually|found|started|stopped|gave|these days|today|this week|again|for now|wait|sorry"
    r"|left|till|until|made it|got (?:a|an|myself)"
    r"|so (?:it|we|i|now|that|the|they|he|she|my|our|from|\w+(?:['’]s|['’]ll| is| will)))\b"
)
"""What says that something is so since a short while ago, perhaps beside what was before."""
_CONSIDERED: Final = lazy(
    r"(?i)\b(?:(?:thought|think(?:ing)?) (?:of|about)|consider\w*|might|maybe|perhaps|looked at|tried|test drove"
    r"|offered|suggest\w*|asked (?:me )?(?:whether|if)|asked to"
    r"|(?:asks?|asked|wants?|wanted) (?:me|us|him|her|them) to"
    r"|turned (?:it|that|them|him|her) down|(?:I|we) (?:refused|declined)|wants? to|wanted to|would|could|should"
    r"|used to|ages ago"
    r"|back in the day|years? ago|(?<!since )(?<!from )last (?:year|month|time|night|week|weekend)|for once|said no"
    r"|the whole (?:weekend|week|day)|for a moment|no way|not happening|recommend\w*|swears by|applied"
    r"|if (?:I|we|they|he|she))\b"
)
"""What only may be, or is over."""
_USUALLY: Final = lazy(r"(?i)\b(?:usual|usually|normally|typically|generally|regularly|as a rule)\b")
_ONCE_ONLY: Final = lazy(r"(?i)\b(?:this (?:week|time|once|month)|next week|today|tonight|tomorrow|for once)\b")
_FROM_NOW: Final = lazy(r"(?i)\b(?:from|as of|starting|since) (?:now|this|next|today|tomorrow)\b|\bfor good\b")
_WHOSE: Final = lazy(r"(?i)\b(?:my|our|I|we|home|his|her)\b|['’]s\b(?! the\b)")
"""What says of a question whose the thing is that it asks about."""
_BY_ANOTHER: Final = lazy(
    r"(?i)(?:the |my |our )?(?P<who>[\w-]+)(?:(?:['’]s| has| have| had)? (?:just |finally )?)(?:"
    r"(?P<own>\w+(?:ed|t|d|ut) (?:her|his|its|their)\b)|(?:switched|swapped|changed|moved|went) (?:over |back )?to\b)"
)
"""Somebody who did something with what is theirs, or went over to something."""
_MOVED_THING: Final = lazy(
    r"(?i)\b(?:mov(?:ed|ing)|shift(?:ed|ing)|switched|relocated|put) (?:the|my|our|their|his|her|that|a) "
    r"(?P<thing>(?:(?!to\b)[\w'’-]+ ){1,3})(?:in)?to\b"
)
_NUMBERED_GROUP: Final = lazy(r"(?i)\b(year|grade|class|form|group|team) \d+\b")
"""One of several groups, each of which has times of its own."""
_GIVEN_UP: Final = lazy(r"(?i)\b(?:g[ai]ven? up|quit|stopped|dropped) (?P<thing>(?:(?!for\b|and\b)[\w'’-]+ ?){1,3})")
_DENIAL: Final = lazy(r"(?i)\b(?:not|never|no)\b|n['’]t\b")
_DENIED: Final = lazy(r"(?i)\b(?:not|never|isn['’]t|aren['’]t|don['’]t|doesn['’]t) (?P<is>\w+) (?P<thing>.+)")
_CORRECTING: Final = lazy(
    r"(?i)\b(?:wait|meant|(?:was|(?:got|read|had) it) wrong|scratch that|sorry|correction|actually|make that"
    r"|my mistake)\b"
)
"""What takes back what was just said."""
_REFERRING: Final = lazy(r"(?i)\b(?:it|that|they|them|this|those|she|he)\b")
"""What refers to something that was said before."""
_MOVING: Final = lazy(
    r"(?i)\b(?:mov(?:ed|ing)|push|shift|postpon|reschedul|rebook|delay|slipp|brought forward|rais|lower|increas|reduc"
    r"|upped|put (?:\w+ ){0,3}(?:back|off|up|forward|down)|(?:went|gone|going|up|down) (?:up|down|to))"
)
"""What happens to times and amounts."""
_PUT_OFF: Final = lazy(
    r"(?i)\b(?:(?:back|by|out|forward|up) (?:a|an|another|one|two|three|\d+) (?:day|week|month|hour|year)s?|postponed"
    r"|(?:another|one more) (?:day|week|month|hour)|(?:day|week|month|hour|minutes?)s? (?:later|earlier)|cancell?ed"
    r"|called off|is off|['’]s off|fell through)\b"
)
"""What moves something without a new time, or calls it off."""
_NOW: Final = lazy(r"(?i)\b(?:now|new|since|these days|for now)\b")
_ONLY_NEW: Final = lazy(r"(?i)\b(?:has|have|had|got|['’]s got|there['’]s|there is) (?:a|an|another|the) new\b")
_ANEW: Final = lazy(r"(?i)\b(?:new|instead|chang|switch|moved?|moving)")
_SOMEBODY: Final = lazy(r"(?i)\b(?:somebody|someone|new (?:one|guy|girl|woman|man|person|boss|teacher))\b")
_SINCE: Final = lazy(r"(?i)\b(?:since|last|this) (?:the )?\w+")
"""From when on something is so, which is not when it takes place."""
_WORD: Final = lazy(r"\d[\d.,:]*\w*|[^\W\d_][\w'’-]*")
_TIMES_OVER: Final = {"once": "1", "twice": "2"}
_MONTH: Final = "|".join((*(each for each in times.MONTHS if each != "may"), "(?-i:May)"))
_DATE_PART: Final = lazy(rf"\d+|{'|'.join(times.MONTHS)}|{_DAY}|tomorrow|tonight|next \w+")
_VALUE: Final = lazy(
    rf"(?i)(?<![\w.,])(?:(?P<date>(?:{_MONTH}) \d{{1,2}}(?:st|nd|rd|th)?\b"
    rf"|\d{{1,2}}(?:st|nd|rd|th)?(?: of)? (?:{_MONTH})|\d{{1,2}}(?:st|nd|rd|th)\b"
    rf"|(?:{_MONTH})\b|{_DAY}\b|tomorrow\b|tonight\b|next (?:week|month)\b)"
    rf"|(?P<past>half past|quarter past|quarter to) (?P<hour>\d{{1,2}}|{'|'.join(_UNITS.split()[1:13])})\b"
    r"|(?P<clock>\d{1,2}[:.][0-5]\d)(?!\d)"
    r"|(?P<at>(?:at|to|till|until|by|from|before|around|about|that|it|is|are|now|so|it['’]s) )?"
    rf"(?P<number>\d[\d.,]*(?![\d:]|-[a-z]|(?:st|nd|rd|th)\b|(?: of)? (?:{_MONTH})\b)"
    rf"|(?:{'|'.join((*_NUMBER_WORDS, *_TIMES_OVER))})\b(?!-))"
    r"(?P<of> (?!days|weeks|months|mins|minutes|sharp|in|on|at|now|instead)[a-z]+s\b)?)"
)
"""A date, a time of day, or another number, with what it counts."""
_AT: Final = lazy(r"(?i)(?:at|till|until|by|before) ")
_PLACED: Final = lazy(
    r"(?i:\b(?:at|in|to|near|round|around|on|into|from) (?:the |a |an |our |my |his |her )?(?:\d+\w? )?)"
    r"([^\W\d_][\w'’-]+)"
)
_NAME: Final = lazy(
    r"(?:(?<=[\w,;:)] )|(?<=[(\"“]))([A-Z][\w-]+)"
    r"|(?:^|(?<=[.!?] ))([A-Z][\w-]+)(?=['’]s|['’]ll| (?:is|has|will|from|can|takes|took|and)\b)"
)
"""A name within a sentence, or what begins one and does or is something."""
_KIND: Final = lazy(
    r"(?i)\W*(?:\w+[,:] )?(?:(?P<time>when|(?:what|which) (?:time|day|date|month|week)\b)"
    r"|(?P<number>how (?:much|many|often|long|old|far|big|tall|high)\b)|(?P<name>who|whom)|(?P<place>where)"
    r"|(?P<called>what(?:['’]s| is| are| was) (?:.*\b(?:name|called)\b))"
    r"|(?P<polar>am|is|are|do|does|did|can|will|have|has|was|were)\b)"
)
"""The kind of value that a question asks for."""
_ASKED_NOUN: Final = lazy(
    r"(?i)\W*(?:what|which|whose)(?:['’]s| is| are)? "
    r"((?:(?!(?:do|does|did|am|is|are|at|in|on|of|for|from|to)\b)[\w'’-]+ ?)+)"
)
_RELATED: Final = (
    "mum|mom|mother|dad|father|parents|brother|sister|cousin|uncle|aunt|friend|mate|colleague|neighbou?r|flatmate"
    "|roommate|pupil|student|boss|classmate|teammate|coworker|grandma|grandpa|gran|nephew|niece|son|daughter|husband"
    "|wife|boyfriend|girlfriend|guy|woman|man|kids?|boy|girl|other people|some people"
)
_NO_VERB: Final = r"(?!(?:\w+ing|now|the|an?|been|got|on|in|at|back|moved|left|gone|not|so|too|very)\b)"
_OF_ANOTHER: Final = lazy(
    r"(?i:(?:(?:my|our|his|her|their|a|an|the|some|another)\b ?)?(?:[\w'’-]+ )??"
    rf"(?P<who>(?:{_RELATED})s?)\b(?:['’]s?(?: [\w-]+)?)?)|(?-i:(?P<whose>[A-Z][\w-]+)['’]s {_NO_VERB}[a-z][\w-]+)"
    r"|(?i:next door|someone|somebody|everyone|some of|the \w+ (?:across|opposite|next to|down) )"
)
"""Somebody, or something of theirs, at the beginning of a sentence."""
_GOES_OVER: Final = lazy(
    r"(?i)\s*(?:has |have |is |are )?(?:switch|swapp|chang|mov|go)(?:ed|ing|es|s)? (?:over |back )?to\b"
)
"""What somebody does who changes only what is theirs."""
_PERSON: Final = lazy(r"(?<!\bin )(?<!\bat )(?<!\bto )(?<!\bfor )(?<!\bfrom )(?<!\bof )(?<!\bon )(?<=\w )([A-Z]\w+)")
_DATED: Final = (*times.MONTHS, *times.DAYS, *(f"{day}s" for day in times.DAYS))
_OF_SOMEBODY: Final = lazy(r"(?i)\b(?:he|she|they|his|her|hers|him|their|them)\b")
_OF_ME: Final = lazy(r"(?i)\b(?:me|us|we|we['’]re|we['’]ve|I|I['’]m|I['’]ve|our|ours|mine)\b")


@cache
def little_stems() -> frozenset[str]:
    """The stems of words that tell little of what a question asks for: to have, to use, now."""
    return stems(_LIGHT_WORDS | _AUX | _CHANGE | _MODALS)


@cache
def _how_many() -> frozenset[str]:
    return stems(("many", "much"))


_READ: Final = 1200
"""The characters of a message in which claims are looked for."""
_CLAIM_ENDS: Final = lazy(r"[,;:–—] +| +- +| but | so (?=(?:I|my|we|our|now)\b)")
"""What stands between the claims of a sentence in a chat."""
_GREETING: Final = lazy(
    r"(?i)^(?:(?:hey|hi|hello|oh|ok|okay|so|well|btw|by the way|and|but|also|actually|anyway|guess what|yes|yeah|no"
    r"|wait|sorry|haha|lol|thanks|great|because|since|now|then)\b[\s,:;.!–—-]*)+(?=\S)"
)
"""How people begin in a chat. Of a statement :data:`_PREFACE` takes away less: "no" and "now" tell something there."""
_ASKING: Final = lazy(
    r"(?i)[?]$|\b(?:looking|planning|hoping|trying|thinking|considering|wondering|interested|curious)\b"
    r"|\b(?:I'll|I['’]d|we'll|we['’]d|would|could|can you|should|want|wish)\b"
)
"""What states nothing that is so: a question, a wish, a plan."""
_OF_OTHERS: Final = lazy(r"(?:His|Her|Their|Its)\b")
_BY_ME: Final = lazy(
    r"(?i)^(?:(changed|moved|switched|started|stopped|quit|sold|bought|got|joined|left|dropped|cancell?ed|upgraded"
    r"|adopted|booked|rebooked|rescheduled|cut|gave up)|(?:getting|taking|working|living|using|driving|buying|paying"
    r"|eating"
    r"|drinking|learning|reading|seeing|going|staying|sleeping))\b(?= \S)"
)
"""A verb that begins a clause of a chat: who speaks did it, or does it."""
_IS_MINE: Final = lazy(r"^((?:[A-Z][\w.'’-]+ ?){1,4})(?<! )(?= ) is (my|our) ([a-z][a-z -]*)(?=[.])")
"""What says whose somebody is: "Emma is my manager"."""
_SAID: Final = lazy(r"(?i)^(?:(?:the|my|our) )?[\w.]+ (?:says|said|told me|confirmed|thinks)(?: that)? (?=\S)")
"""Who says so."""
_GUESS: Final = lazy(r"(?i)^I (?:think|guess|believe|suppose)(?: that)? (?=\S)")
"""What makes a fact a guess, which is the latest that is known all the same."""


@lru_cache(maxsize=_MAX_QUESTIONS)
def has_only_light_words(question: str) -> bool:
    """True if a question has only names and words that mean little."""
    return not _significant_words(question, _TOKEN.findall(_normalise_text(fold_blanks(question))))


def _significant_words(question: str, tokens: list[str]) -> list[str]:
    little = analysis.STOP_WORDS | _LIGHT_WORDS | _AUX | _TIMES | _CHANGE | _MODALS
    titled = {word.casefold() for word in _TITLED.findall(fold_blanks(question))[1:] if word[0].isupper()}
    little |= titled
    said = (word for word in tokens if word not in little and word[0] not in "'’" and not word[0].isdecimal())
    return [_SAME_WORD.get(word, word) for word in said]


@lru_cache(maxsize=_MAX_FRAMES)
def share_family_name(one: str, other: str) -> bool:
    """True if two statements begin with names that share a word and have another one each: Ana Berger, Tom Berger."""
    first, second = leading_subject(one), leading_subject(other)
    both, attributes = first & second, _attribute_words()
    return (
        bool(both)
        and all(any(word.isalpha() and word not in attributes for word in names - both) for names in (first, second))
        and not (both | first | second) & _DETERMINERS
        and all(_begins_with_full_name(text) for text in (one, other))
    )


def _begins_with_full_name(text: str) -> bool:
    """True if a statement begins with at least two words of a name."""
    begin = _TITLED.findall(fold_blanks(text[:_LEADING]))[:2]
    return len(begin) == 2 and all(word[0].isupper() for word in begin) and begin[0].casefold() not in _DETERMINERS


@lru_cache(maxsize=_MAX_FRAMES)
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
    plain = _MOVES_TO.sub(r"\g<thing> was moved to ", plain)
    plain = _PUT_UP.sub(lambda put: f"{_RAISED[put['way']]} {put['thing']}", plain)
    plain = _HAD_TO.sub(lambda had: _PAST_OF.get(had[1], f"{had[1].rstrip('e')}ed"), plain)
    if (holds := _HOLDER.match(plain)) is not None:
        return f"{holds['part'][:1].upper()}{holds['part'][1:]}{holds['is']} {holds['who']}{holds['rest']}"
    told = _BY_SOMEBODY.match(plain)
    if told is None or not (told["rest"].startswith(" ") or told["verb"] in _CALLED_OFF):
        return plain
    thing, agent = told["thing"], told["agent"].split(" ", 1)
    if agent[0].casefold() in _FIRST and (" " not in thing or thing.startswith("the ")):
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
        and (second[0] in _AUX or second[0] in _THIRD_PERSON)
    ):
        return plain
    if (none := _NONE_FOR_ME.match(plain)) is not None:
        return f"I want no {none['what']}{plain[none.end() :]}"
    if _TAKEN_BACK.match(plain) is not None:
        return f"I {plain[:1].lower()}{plain[1:]}"
    if (now := _FROM_NOW_ON.match(plain)) is not None:
        plain = f"{plain[now.end() :].rstrip('.!')} from now on"
    words = plain.split(" ", _MOST_OF_NOUN + _BEHIND_NOUN)
    first = words[0].rstrip(":")
    if not first.replace("-", "").isalpha() or first.casefold() in _NO_NOUN or len(words) == 1:
        return plain
    if first.islower() and is_past(first) and _OBJECT_BEHIND.match(words[1]) is not None:
        return f"I {plain}"
    phrase = _noun_phrase(words)
    noun, rest = " ".join(phrase), plain[len(" ".join(phrase)) + 1 :]
    if not phrase or len(phrase) > _MOST_OF_NOUN or not rest:
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
        if is_over or bare in _COPULA or is_past(bare) or bare in _DATED_WORDS or (phrase and word[0].isupper()):
            break
        if phrase and bare in COLOURS and after in ("", "and", "with", "please"):
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
    has_verb = any(word in _COPULA or word in _THIRD_PERSON or is_past(word) for word in behind)
    if is_listed:
        # "Shelf list: drawer D3 holds key 21".
        around = zip(behind, behind[1:], behind[2:], strict=False)
        has_verb |= any(
            word[-1:] == "s" and word.isalpha() and not before[:1].isdecimal() for before, word, _ in around
        )
    if not is_listed and (_NUMBERED_ONE.match(f"{noun} {rest}") is not None or _is_number_alone(noun, rest)):
        return ""
    is_bare = (is_listed or _is_bare_value(begin[0])) and not has_verb
    is_dated = begin[0] in _PREPOSITIONS and (begin[-1][:1].isdecimal() or begin[-1] in _TIMES)
    subject = f"The {noun[:1].lower() if noun[1:2].islower() else noun[:1]}{noun[1:]}"
    if noun[:1].isupper() and not (is_listed or is_new or is_dated or begin[0] in _DATED_WORDS):
        if " " not in noun:
            return f"{noun} is {rest}" if is_bare else ""
        # "Ana wohnt in Berlin" is a sentence of another language.
        is_bare = is_bare and begin[0] not in _PREPOSITIONS
    if is_bare:
        copula = "is on" if begin[0] in _DATED_WORDS and begin[0] not in _NO_DAYS else "is"
        return f"{subject} {copula} {rest.rstrip('.!')}{' now' if is_new else ''}"
    is_verb = begin[0] in _AUX or begin[0] in _THIRD_PERSON or is_past(begin[0])
    is_verb = is_verb or (noun[:1].islower() and begin[0][-1:] == "s")
    return f"{subject} {rest}" if is_verb and rest[:1].islower() else ""


def _is_number_alone(noun: str, rest: str) -> bool:
    """True if a number is all that is behind a noun, and may tell one from others: "lease 5", but not "weight 72"."""
    *_, head = noun.casefold().split()
    is_measured = head in _OF_NUMBER or bool(attributes_of([stem(head)]))
    return rest.rstrip(".!").isdecimal() and len(rest) < _DIGITS_OF_CODE and not is_measured


_OF_NUMBER: Final = _words("rent price cost fee salary wage deposit bill budget size pin code score level dose total")
_DIGITS_OF_CODE: Final = 4
_UNITS_BEHIND: Final = tuple(sorted({*_OF_UNIT, *(unit for kind in KINDS_OF_UNITS for unit in kind)}))
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
        or head.rstrip(",") in COLOURS
        or head[:1] in "€$£"
        or head in _TIMES
        or head in _PREPOSITIONS | {"with", "every", "each", "now"}
    )


def _put_behind(match: re.Match[str]) -> str:
    """The first sentence with what stands before its subject behind it."""
    first, *others = analysis.sentences(match["rest"])
    front = match["front"][0].casefold() + match["front"][1:]
    if not others:
        return f"{first} {front}{match['stop']}"
    return f"{first.rstrip('.!?')} {front}. {' '.join(others)}{match['stop']}"


@lru_cache(maxsize=_MAX_FRAMES)
def leading_subject(text: str) -> frozenset[str]:
    """The words of the name or noun phrase that a statement is about, which most begin with; empty if there is none.

    What somebody changed is about the thing. "My sister Clara" is Clara's, and "i", as what is mine.
    """
    plain = _rephrase_change(text[:MAX_CHARACTERS])[:_LEADING].replace("’", "'")
    titled = _TITLED.findall(plain)
    if not titled:
        return frozenset()
    first = titled[0].casefold()
    if first in _FIRST:
        named = _MY_NAMED.match(plain)
        return frozenset({"i"}) if named is None else _leading_name(_TITLED.findall(plain[named.end() :])) | {"i"}
    if first in _DETERMINERS:
        found: list[str] = []
        for place, word in enumerate(titled[1:6]):
            small = word.casefold()
            if small in _AUX or small in _COPULA or word[0] == "'" or small in _PREPOSITIONS:
                break
            is_verb = small.endswith(("s", "ed")) and not small.endswith("ss")
            # "The bike cost 799 euros", and "the drill set".
            is_verb = is_verb or (small in _OF_ONE_FORM and "".join(titled[place + 2 : place + 3])[:1].isdecimal())
            if place and (is_verb or small in _attribute_words() or small in _PAST):
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


def _naming(subject: frozenset[str]) -> frozenset[str]:
    """The words by which a statement names its subject, with forms of the genitive and pronouns."""
    pronouns = _FIRST if "i" in subject else _PRONOUNS - _FIRST
    return subject | {f"{word}s" for word in subject if len(word) > 1} | pronouns


def _resolve_subject(text: str, subject: frozenset[str]) -> tuple[str, frozenset[str]]:
    """What a statement tells of its subject, and the subject; by default the one that it is about."""
    told = leading_subject(text)
    is_led = not subject or names_agree(told, subject)
    plain = _rephrase_change(text) if is_led else fold_blanks(text)
    if subject and is_led and (holds := _HOLDER.match(fold_blanks(text))) is not None:
        # Whom it is linked to, too, is the value: Luis, of Dev and Luis.
        subject = subject - words_of(holds["who"]) | told
    subject = subject or (frozenset({"i"}) if "i" in told else told)
    return _MY_NAMED.sub("", plain) if told & subject and "i" in told - subject else plain, subject


@lru_cache(maxsize=_MAX_FRAMES)
def frame(text: str, subject: frozenset[str] = frozenset()) -> Frame | None:
    """Parse a statement about a subject; by default about the name that it begins with.

    ``None`` for a text that is too long for one statement, has no words, or begins with no name.
    """
    if len(text) > MAX_CHARACTERS:
        return None
    plain, subject = _resolve_subject(text, subject)
    simple = _normalise_text(plain)
    tokens = _TOKEN.findall(unfolded := _normalise_quantities(simple))
    if not tokens or not subject:
        return None
    naming = _naming(subject)
    rest, head, owned = _split_subject(tokens, naming)
    verb, passive = _find_verb(rest)
    joined = _join_number_words(tokens)
    bare = [_SAME_WORD.get(word, word) for word in joined if word not in naming and word[0] not in "'’"]
    denied, opposed = _count_denials(tokens, bare)
    bare = [_OPPOSITE.get(word, word) for word in bare]
    content_words = [word for word in bare if word not in analysis.STOP_WORDS and word not in _NEGATIVE]
    heavy = [word for word in content_words if word not in _WITHOUT_CONTENT and not word[0].isdecimal()]
    goes_on = _negated_endings(tokens)
    denies = frozenset() if goes_on else _denied_stems(unfolded, naming)
    titled = frozenset(word.casefold() for word in _TITLED.findall(plain) if word[0].isupper())
    thing, end = _leading_thing(tokens, titled)
    hours = _clock_hours(joined)
    sort = _find_sort(_join_number_words(tokens[end:]), titled, has_hours=bool(hours)) if end else ""
    change = next((_SAME_WORD.get(word, word) for word in tokens if word in _CHANGE and word not in goes_on), "")
    return Frame(
        plain.rstrip(".!").casefold(),
        subject,
        head,
        stems(heavy),
        stems(word for word in content_words if word in _LIGHT_WORDS),
        _attributes(tokens, rest, verb, passive, owned) | _predicate_attributes(rest, plain, thing.noun, owned, sort),
        verb,
        _numbers_with_units(bare),
        frozenset(word for word in tokens if word in _TIMES),
        denied % 2 == 1,
        change.replace("-", " "),
        _is_past(tokens, verb),
        passive,
        bool(rest) and rest[0] in _WISHES,
        frozenset(tokens) & ADDING
        | frozenset(tokens[-1:]) & {"too"}
        | (_distinguishing_words(tokens) if not change else set()),
        not _ONLY.isdisjoint(tokens),
        _verb_preposition(rest, verb),
        *_find_singled_out(tokens, naming),
        stems(_SAME_WORD.get(word, word) for word in _indefinite_words(tokens)),
        owned,
        _proper_names(plain, naming),
        "unsure" if plain.endswith("?") or _is_temporary(unfolded, tokens) else _find_mood(tokens, naming),
        _is_recurring(tokens),
        _is_former(rest, passive),
        denies,
        _AT_A_TIME.search(unfolded) is not None,
        frozenset(word.rstrip("s") for word in tokens if word in _KIN),
        next((after for word, after in pairwise(tokens) if word in _LIVING and after in _PREPOSITIONS), ""),
        thing,
        sort,
        hours,
        frozenset((_singular_unit(unit), _stem(what)) for unit, what in _measured_things(tokens)),
        *(_find_plain_clause(plain, tokens, naming), _numbered_objects(rest, verb)),
        denies or stems(heavy) - {_stem("cancelled")} if _is_cancelled(tokens, goes_on) else frozenset(),
        _times_a_year(simple),
        _sentences_about(plain, subject),
        opposed,
        bool(change) or _MARKED.search(plain) is not None,
    )


def _count_denials(tokens: list[str], bare: list[str]) -> tuple[int, frozenset[str]]:
    """How often a statement denies, and the stems of what it denies by an opposite alone, without likings."""
    denied = sum(word in _NEGATIVE or word in _ENDING for word in set(tokens))
    denied -= not (_NEGATIVE.isdisjoint(tokens) or _ANY_MORE.isdisjoint(tokens))
    opposed = [_OPPOSITE[word] for word in bare if word in _OPPOSITE]
    return denied + len(opposed), stems(word for word in opposed if not denied and word not in _LIKING)


_WITHOUT_CONTENT: Final = _LIGHT_WORDS | _TIMES | _CHANGE | _ONLY | frozenset(_NUMBER_WORDS)


_MOST_SENTENCES: Final = 3


def _split_sentences(text: str) -> list[str]:
    """The sentences of a text, and their parts between semicolons."""
    if text.find(". ", 1, -1) < 0 and "; " not in text and "! " not in text:
        return [text]
    return [part for each in analysis.sentences(text) for part in each.split("; ")]


def _is_about(sentence: str, subject: frozenset[str]) -> bool:
    """True if a sentence of a text about a subject begins with that, or a pronoun for it."""
    others = frozenset[str]() if "i" in subject else _THEIR | _PRONOUNS - _FIRST
    return names_agree(leading_subject(sentence), subject) or sentence.split(" ", 1)[0].casefold() in others


def _sentences_about(plain: str, subject: frozenset[str]) -> tuple[str, ...]:
    """Those of the first sentences of a text that are about its subject; none of a text of one sentence."""
    told = _split_sentences(plain)
    return tuple(each for each in told[:_MOST_SENTENCES] if _is_about(each, subject)) if len(told) > 1 else ()


@lru_cache(maxsize=_MAX_FRAMES)
def split_clauses(text: str, subject: frozenset[str], *, at_and: bool = True) -> dict[str, bool]:
    """The clauses of a statement, between full stops and semicolons, and whether each is about a subject.

    ``at_and``: between "and" and "but", too. What follows these without a name is about the same as what stands before.
    """
    found = dict[str, bool]()
    for sentence in _split_sentences(fold_blanks(text)):
        first, *others = _JOINED.split(sentence) if at_and else [sentence]
        found[first] = _is_about(first, subject)
        found |= {each: found[first] and (not leading_subject(each) or _is_about(each, subject)) for each in others}
    return found


_JOINED: Final = re.compile(r",? (?:and|but) ")


def _is_cancelled(tokens: list[str], goes_on: Set[str]) -> bool:
    """True if a statement says that something was cancelled, without a denial."""
    return "cancelled" in tokens and not goes_on and _NEGATIVE.isdisjoint(tokens)


def _find_plain_clause(text: str, tokens: list[str], naming: Set[str]) -> str:
    """The clauses without those that only plan or deny, if one of them states a number or a present fact.

    Where somebody lives or works is so now.

    "I plan to bake on Sunday - I have 12 tins now" is no plan of tins, and who is not fond of small talk, but works at
    a bank now, does not deny that. What is possible, a condition or hearsay may
    be so of all clauses.
    """
    is_of_value = _has_number(tokens) or not (_AT_PRESENT | _single_words()).isdisjoint(tokens)
    told = [] if _ASIDE.isdisjoint(tokens) or not is_of_value else analysis.sentences(text)
    clauses = [clause for sentence in told for clause in _OWN_CLAUSES.split(sentence)]
    if len(clauses) <= 1:
        return ""
    words = [_TOKEN.findall(_normalise_text(clause)) for clause in clauses]
    kept = [index for index, clause_words in enumerate(words) if not _is_aside(clause_words)]
    is_mine = "i" in naming or any(
        not _FIRST.isdisjoint(clause_words) for clause_words in words if _is_aside(clause_words)
    )
    own = naming | (_FIRST if is_mine else _THEIR)
    if len(kept) == len(clauses) or not any(_states_value(words[index], own) for index in kept):
        return ""
    return "; ".join(clauses[index] for index in kept)


def _is_aside(tokens: list[str]) -> bool:
    """True if a clause plans or denies something, and names no value that another clause may refer to."""
    is_own = (_ENDING | _POINTING | (_UNSURE - _INTENDED)).isdisjoint(tokens)
    is_of_value = _has_number(tokens) or not _attribute_words().keys().isdisjoint(tokens)
    return is_own and not is_of_value and not _ASIDE.isdisjoint(tokens)


def _states_value(tokens: list[str], own: Set[str]) -> bool:
    """True if a clause states an amount or a present fact of its subject."""
    is_of_another = own.isdisjoint(tokens[:1]) or (
        tokens[0] in _DETERMINERS and not (OF_SEVERAL | PEOPLE).isdisjoint(tokens)
    )
    if is_of_another or any(word in _STATES_BEFORE or is_past(word) for word in tokens):
        return False
    is_now = not _AT_PRESENT.isdisjoint(tokens) or not _single_words().isdisjoint(tokens[1:2])
    is_of_value = _has_number(tokens) or is_now
    return is_of_value and not _find_mood(tokens, own) and (_POINTING | _BEFORE).isdisjoint(tokens)


@cache
def _single_words() -> frozenset[str]:
    return frozenset(_SINGLE_VERBS.split()) | frozenset(f"{verb}s" for verb in _SINGLE_VERBS.split())


def _has_number(tokens: list[str]) -> bool:
    return any(word[0].isdecimal() or word in _NUMBER_WORDS for word in tokens)


_INTENDED: Final = _words("considers considering hopes hope hoping") | _MOODS["wish"]
_ASIDE: Final = _INTENDED | _NEGATIVE
_POINTING: Final = _words("it that this those these them there then one ones anymore any-more yet else instead")
"""Words for what another clause tells."""
_THEIR: Final = _words("her his their its")
_AT_PRESENT: Final = _words("now nowadays currently these-days")
ANIMALS: Final = _words("dog cat horse pony hamster rabbit bird parrot tortoise puppy kitten")
PEOPLE: Final = _words(
    "husband wife partner boyfriend girlfriend mother father mum dad parents boss grandmother grandfather"
)
"""Those who belong to somebody, and of whom something else is so."""


def _is_temporary(plain: str, tokens: list[str]) -> bool:
    """True if a statement is about something temporary: who leaves at nine comes back, but a flight does not."""
    return _FOR_A_WHILE.search(plain) is not None and _VEHICLES.isdisjoint(tokens)


def _distinguishing_words(tokens: list[str]) -> frozenset[str]:
    """The words that distinguish a thing from an earlier one; ordinals of floors and streets do not.

    "Every other week" tells of no further one.
    """
    around = zip(["", *tokens], tokens, [*tokens[1:], ""], strict=False)
    return frozenset(
        word
        for before, word, after in around
        if word in _FURTHER and after not in _COUNTED and before not in ("every", "each")
    )


def _leading_thing(tokens: list[str], titled: Set[str]) -> tuple[Thing, int]:
    """The thing that a statement begins with, and the position after it."""
    owner = next((index for index, word in enumerate(tokens[:4]) if word[0] in "'\u2019"), 0)
    if tokens[0] not in _DETERMINERS and not owner:
        return ANYTHING, 0
    position, phrase = owner + 1, list[str]()

    def is_over(position: int) -> bool:
        word, after = tokens[position], [*tokens[position + 1 : position + 3], "", ""]
        if word in _AUX or word in _BEHIND:
            return True
        is_verb = is_past(word) or (word.endswith("s") and not word.endswith("ss"))
        # "My keys to the flat", and "my lease runs for 12 months".
        is_lasting = after[0] == "for" and after[1][:1].isdecimal()
        is_noun = after[0] in _AUX or (after[0] in _BEHIND - {"at"} and not is_lasting)
        return is_verb and word not in titled and not is_noun

    while (
        position < len(tokens)
        and len(phrase) < _LONGEST
        and not (is_over(position) and (phrase or tokens[position] in _AUX))
    ):
        phrase.append(tokens[position])
        position += 1
    names = frozenset(word for word in phrase if word in titled)
    at = next((at for at in range(len(phrase) - 1, -1, -1) if phrase[at] not in titled), None)
    noun, which = ("", list[str]()) if at is None else (phrase[at], phrase[:at])
    place, behind = "", list[str]()
    if position < len(tokens) and tokens[position] in _BEHIND:
        place, to = tokens[position], position + 1
        while to < len(tokens) and len(behind) < _LONGEST and not (behind and is_over(to)):
            if tokens[to] not in _DETERMINERS:
                behind.append(tokens[to])
            to += 1
        place, behind, position = (place, behind, to) if to < len(tokens) else ("", [], position)
    told = frozenset(which) - (RENEWED - _FORMER) - _CHANGE - SORTING
    return Thing(_SPELT.get(noun, noun), told, names, place, frozenset(behind)), position


_FORMER: Final = _words("old former previous")
_LONGEST: Final = 5
_BEHIND: Final = _words("with for to of from in on at about by near")
"""Prepositions behind a thing that say which one it is."""
_MOST_OF_NOUN: Final = 3
"""The most words of a noun phrase with which a note begins."""
_BEHIND_NOUN: Final = 6
"""Among so many words behind it a verb tells that a note is a sentence."""
_NO_DAYS: Final = _words("today tomorrow yesterday tonight daily weekly monthly yearly")
_DATED_WORDS: Final = _NO_DAYS | frozenset(DAYS) | frozenset(f"{day}s" for day in DAYS)
_NO_NOUN_BEHIND: Final = (
    frozenset(_SINGLE_VERBS.split())
    | _LIGHT_WORDS - _words("time place")
    | _words("sometimes often seldom once twice both all alone herself himself themselves away there here")
)
_THIRD_PERSON: Final = frozenset(f"{verb}s" for verb in _SINGLE_VERBS.split()) | _words(
    "has goes gets wants takes makes gives needs comes moves works happens meets switches shifts changes eats plays"
    " keeps stays costs asks pays charges looks becomes"
)
_NO_NOUN: Final = (
    analysis.STOP_WORDS
    | _AUX
    | _DETERMINERS
    | _PRONOUNS
    | _FIRST
    | _NEGATIVE
    | _PREPOSITIONS
    | _BEHIND
    | _CHANGE
    | _UNSURE
    | _words(
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
_COUNTED: Final = _words(
    "floor floors storey street avenue row grade line place class version edition draft quarter gear"
)
_VEHICLES: Final = _words("flight train bus ferry plane coach boat tram flights trains ship bus shuttle metro taxi")
"""What leaves at an hour for good."""
_HALVES: Final = _words("am pm o'clock noon midnight")
_AT_HOURS: Final = _words("at by until till from around before after")


def _clock_hours(tokens: list[str]) -> frozenset[str]:
    """The numbers of a statement that are times of day."""
    found = set[str]()
    for before, word, after in zip(["", *tokens], tokens, [*tokens[1:], ""], strict=False):
        if not word[0].isdecimal() or not word.replace(".", "").isdecimal() or word.count(".") > 1:
            continue
        is_hour = float(word) < _HOURS_OF_A_DAY and (before in _AT_HOURS or (before == "for" and "." in word))
        if after in _HALVES or (is_hour and (not after or after in _BEHIND or after in _TIMES)):
            found.add(str(float(word)))
    return frozenset(found)


_HOURS_OF_A_DAY: Final = 25
_HOUR: Final = re.compile(r"\d{1,2}\.\d\d")


def _measured_things(tokens: list[str]) -> Iterator[tuple[str, str]]:
    """Each unit after a number with the thing measured."""
    for at, word in enumerate(tokens[:-3]):
        if word[0].isdecimal() and tokens[at + 2] == "of":
            behind = [each for each in tokens[at + 3 : at + 5] if each not in _DETERMINERS]
            if behind:
                yield tokens[at + 1], behind[0]


COLOURS: Final = _words(
    "red blue green yellow black white grey gray brown pink purple orange violet turquoise beige silver gold golden"
    " blond blonde navy cyan magenta maroon ivory cream teal bronze crimson scarlet lilac"
)
_DYED: Final = _words("painted dyed coloured colored light dark bright")
_QUALITIES: Final = _words(
    "fast slow small big large bright heavy old young nice ugly beautiful pretty cheap expensive dear loud quiet noisy"
    " short long wide narrow warm cold hot cool cosy wet dry soft hard rough smooth strong weak sweet sour bitter great"
    " good bad awful lovely fun boring kind rude shy calm clever smart lazy busy tired sick ill happy sad angry fine"
    " hungry modern round square thick thin rich poor late early electric hybrid automatic fancy simple safe light dark"
    " tidy messy rusty sunny dusty shiny tasty spicy salty healthy lucky sturdy steep deep close far"
)
_QUALITY: Final = re.compile("[a-z]{3,}(?:ful|ous|ive|able|ible|less|ish|ing|ed)$")
ANTONYMS: Final = [
    frozenset(pair.split("-"))
    for pair in _words(
        "fast-slow small-big small-large bright-dark heavy-light old-young cheap-expensive loud-quiet noisy-quiet"
        " short-long wide-narrow warm-cold hot-cold wet-dry soft-hard rough-smooth strong-weak good-bad happy-sad"
        " healthy-ill healthy-sick thick-thin rich-poor late-early tidy-messy far-close"
    )
]
"""Qualities of which a thing has one at a time."""


def _find_sort(rest: list[str], titled: Set[str], *, has_hours: bool) -> str:
    """The sort of the value stated of a thing; ``rest`` begins with the verb or the words before it."""
    if has_hours or not (_TIMES - _NO_TIMES).isdisjoint(rest):
        return "time"
    if rest[:1] in (["has"], ["have"]) and not (rest[1:2] and (rest[1] in _AUX or is_past(rest[1]))):
        return "part"
    copula = next((index for index, word in enumerate(rest[:4]) if word in _COPULA), None)
    predicate = [] if copula is None else [word for word in rest[copula + 1 : copula + 6] if word not in _SAYING_LITTLE]
    if predicate[1:] and predicate[0] in _DYED and predicate[1] in COLOURS:
        predicate = predicate[1:]
    first = predicate[0] if predicate else ""
    if copula is None or first[:1].isdecimal():
        return "amount" if any(word[0].isdecimal() for word in rest) else ""
    if first in COLOURS:
        return "colour"
    if first in _LACKING:
        return "state"
    if first in ("due", "payable"):
        return "time"
    if "@" in first:
        return "kind"
    if first in _BEHIND or first in _PREPOSITIONS:
        return "place"
    if first in _OPPOSITE or first in _OPPOSITE.values():
        return "state"
    if first in _attribute_words() or first in ("called", "named"):
        return "name" if first in ("called", "named") else ""
    is_quality = first not in titled and (first in _QUALITIES or _QUALITY.match(first))
    return "kind" if first in ("a", "an") else "quality" if is_quality else ""


_LACKING: Final = _words("out low short empty down away")
"""Of what a thing has run out, or that it is not there."""
_NO_TIMES: Final = _words("today hour hours daily weekly monthly yearly")
_SAYING_LITTLE: Final = _words("very quite really rather so too now still always also just the")


def _negated_endings(tokens: list[str]) -> frozenset[str]:
    """The words for an end that are themselves denied: who never stopped smoking smokes."""
    return frozenset(
        word
        for place, word in enumerate(tokens)
        if word in _ENDING - _ANY_MORE and not _NEGATIVE.isdisjoint(tokens[max(place - 2, 0) : place])
    )


def _denied_stems(plain: str, naming: Set[str]) -> frozenset[str]:
    """The stems and the numbers (dates excepted) that a denial or an end covers, up to the end of its clause."""
    for clause in _CLAUSE_ENDS.split(plain):
        tokens = _TOKEN.findall(clause)
        place = next((at for at, word in enumerate(tokens) if word in _NEGATIVE or word in _ENDING), None)
        if place is None:
            continue
        said = [word for word in _join_number_words(tokens[place + 1 :]) if word not in naming and word[0] not in "'’"]
        dated = {word for word, behind in pairwise([*said, ""]) if behind in _TIMES | _LIGHT_TIMES}
        found = {_OPPOSITE.get(each, each) for word in said if (each := _SAME_WORD.get(word, word))}
        found -= dated | analysis.STOP_WORDS | _NEGATIVE | _LIGHT_WORDS | _TIMES | _CHANGE | _ONLY
        return stems(word for word in found if not (word.isdecimal() and len(word) == _DIGITS_OF_A_YEAR))
    return frozenset()


_DIGITS_OF_A_YEAR: Final = 4


def _proper_names(plain: str, naming: Set[str]) -> frozenset[str]:
    """The stems of capitalised words, without the first one and those of the subject."""
    found = (each[0].casefold() for each in _TITLED.finditer(plain) if each.start() and each[0][0].isupper())
    return stems(_SAME_WORD.get(word, word) for word in found if word not in naming and word not in _TIMES)


def _find_mood(tokens: list[str], naming: Set[str]) -> str:
    """The mood of a statement; empty for a plain fact."""
    said = {
        word
        for place, word in enumerate(tokens)
        if word not in naming and not (word == "may" and _is_month(tokens, place))
    }
    if not _UNSURE.isdisjoint(said):
        return "unsure"
    if any(word in _ALMOST and behind in _ENDING | {"left"} for word, behind in pairwise(tokens)):
        return "unsure"
    if "going" in said and tokens[tokens.index("going") + 1 :][:1] == ["to"]:
        return "will"
    return next((mood for mood, words in _MOODS.items() if not words.isdisjoint(said)), "")


def _is_month(tokens: list[str], place: int) -> bool:
    """True if "may" at a position is a month: on 5 May, in May, May 2025."""
    beside = [*tokens[max(place - 1, 0) : place], *tokens[place + 1 : place + 2]]
    before = tokens[place - 1] if place else ""
    return any(word[0].isdecimal() for word in beside) or before in _BEFORE_MONTHS or place + 1 == len(tokens)


_BEFORE_MONTHS: Final = _words("in on by of until till since from last next this to before after early late")


def _is_recurring(tokens: list[str]) -> bool:
    """True if a statement names recurring times."""
    if not _RECURRING.isdisjoint(tokens):
        return True
    for place, word in enumerate(tokens):
        behind = tokens[place + 1 : place + 3]
        if word in _EACH and not (_TIMES | _LIGHT_TIMES).isdisjoint(behind[:1]):
            return True
        if word in _DURING and not _SEASONS.isdisjoint(behind):
            return True
    return False


_LIGHT_TIMES: Final = _words("year years month months week weeks day days time other second third")


def _is_former(rest: list[str], passive: bool) -> bool:
    """True if a statement describes a past state, or says that it is about the past."""
    if not _BEFORE.isdisjoint(rest):
        return True
    if rest[:1] in (["has"], ["have"]):
        # Who has lived there since spring lives there; who has lived there before does not.
        return rest[-1:] == ["before"]
    if rest[:1] == ["had"]:
        # Who had her baby tells what happened; who had lived, or had 16 of them, what was.
        return rest[1:2] == ["been"] or any(word in _STATES_BEFORE or word[0].isdecimal() for word in rest[1:2])
    verb = next((word for word in rest[:4] if word in _STATES_BEFORE or word not in _AUX | {"once"}), "")
    is_done = passive and not any(word.endswith("ing") for word in rest[1:4])
    return verb in _STATES_BEFORE and not is_done and _CHANGE.isdisjoint(rest)


def _find_singled_out(tokens: list[str], naming: Set[str]) -> tuple[frozenset[str], frozenset[str]]:
    """The topic before "is" or "was" if a word singles it out, and those words and numbers; else no topic."""
    place = next((at for at, word in enumerate(tokens) if word in _COPULA), 0)
    phrase = tokens[:place]
    ranks = frozenset(
        _SPELT.get(word, word) for word in phrase if word in _RANKS or (_MOST.match(word) and word not in _NO_RANKS)
    )
    numbered = _identifying_numbers(tokens)
    if not ranks:
        return frozenset(), numbered
    named = (word for word in phrase if word not in naming and word not in analysis.STOP_WORDS and word[0] not in "'’")
    return stems(_SAME_WORD.get(word, word) for word in named) | ranks, ranks | numbered


_FIRST_WORDS: Final = 8
"""Among so many a statement says of which one of a kind it tells."""
_OF_ONE_FORM: Final = _words("put set cut hit let shut cost hurt split spread bet cast read")
"""Verbs whose past is as their present."""
_SIGNED: Final = re.compile(r"[a-z]+-?\d+[a-z]?$")


def _identifying_numbers(tokens: list[str]) -> frozenset[str]:
    """The numbers and codes before the verb that identify one of a kind: room 12, bug HER-17.

    "Drives 3 cars" has none: what is counted is no name, nor is a value behind the verb.
    """
    found = set[str]()
    # "Python 3.9 is the current release": the number is what is new.
    first = tokens[:_FIRST_WORDS] if RENEWED.isdisjoint(tokens) else []
    for at, (word, after) in enumerate(pairwise(first)):
        before = tokens[at - 1] if at else ""
        begins = not before or before in _DETERMINERS or before[0] in "'’"
        is_verb = not (begins or word[0] in "'’") and (
            _may_be_verb(word) or word in _LIGHT_WORDS or word in _OF_ONE_FORM
        )
        if word in _PRONOUNS or word in _AUX or word in ("and", "or") or is_verb:
            break
        is_named = not (before in analysis.STOP_WORDS or before in _TIMES or before in _PREPOSITIONS)
        is_number = word[0].isdecimal() and not begins
        if is_named and (is_number or _SIGNED.match(word)) and (after == "of" or _may_be_verb(after)):
            found.add(word if before in _DETERMINERS else f"{before} {word}".strip())
    return frozenset(found)


def _may_be_verb(word: str) -> bool:
    return word in _AUX or is_past(word) or (word.endswith(("s", "ed")) and not word.endswith("ss"))


def _indefinite_words(tokens: list[str]) -> list[str]:
    """The words after "a" or "an" that may belong to its noun phrase."""
    found: list[str] = []
    for place, word in enumerate(tokens):
        if word in ("a", "an"):
            for behind in tokens[place + 1 : place + 4]:
                if behind in analysis.STOP_WORDS or behind[0].isdecimal():
                    break
                found.append(behind)
    return found


def forget() -> None:
    """Clear all caches of this module, since most hold texts, after an erasure."""
    for cached in [each for each in globals().values() if hasattr(each, "cache_clear")]:
        cached.cache_clear()


def _split_subject(
    tokens: list[str], naming: frozenset[str] | set[str]
) -> tuple[list[str], frozenset[str], frozenset[str]]:
    """The words after the subject, and its possession if the statement is about that, as stems and as words."""
    place = next((at for at, word in enumerate(tokens) if word in naming), None)
    if place is None:
        return tokens, frozenset(), frozenset()
    first = tokens[place]
    while place < len(tokens) and tokens[place] in naming:
        first = tokens[place]
        place += 1
    owns = first in ("my", "our") or (place < len(tokens) and tokens[place][0] in "'’")
    if not owns:
        return tokens[place:], frozenset(), frozenset()
    place += place < len(tokens) and tokens[place][0] in "'’"
    head, owners = list[str](), list[str]()
    while place < len(tokens) and tokens[place] not in _AUX and tokens[place] not in _PREPOSITIONS and len(head) < 3:
        if head and tokens[place][0] in "'’":
            # The statement is about her mother's operation, not about her mother.
            owners, head, place = [*owners, *head], [], place + 1
            continue
        is_plural = tokens[place + 1 : place + 2] and tokens[place + 1] in _COPULA
        if head and tokens[place].endswith(("s", "ed", "went-up")) and not (tokens[place].endswith("ss") or is_plural):
            break
        if head and (tokens[place] in _PAST or (tokens[place] in _plural_verbs() and _is_plural(head[-1]))):
            break
        head.append(tokens[place])
        place += 1
    kind = [word for word in head if word not in SORTING] or head
    owned = frozenset(_SPELT.get(word, word) for word in kind if word not in _CHANGE and word not in RENEWED)
    stemmed = stems(word if word in _KIN else _SAME_WORD.get(word, word) for word in kind)
    return tokens[place:], stemmed | {f"{_stem(word)}'s" for word in owners}, owned | frozenset(owners)


@cache
def _plural_verbs() -> frozenset[str]:
    return frozenset(_SINGLE_VERBS.split()) | _words("go play like love hate eat speak come have own")


def _is_plural(word: str) -> bool:
    return word in ("children", "people") or (word.endswith("s") and not word.endswith("ss"))


_KIN: Final = _words("brother brothers sister sisters")
"""Words for those who belong to somebody that are not one and the same, though either is a sibling."""
_SPELT: Final = {"favorite": "favourite", "color": "colour", "house": "home", "flat": "home", "apartment": "home"}
RENEWED: Final = _words("new current present latest old former")
"""Words that tell a thing from the one before it, and not from another."""


def _find_verb(rest: list[str]) -> tuple[str, bool]:
    """The stem of the verb, and whether it is passive."""
    was = False
    for word in rest[:8]:
        if word in _COPULA:
            was = True
        elif word in _AUX or word in _NEGATIVE or word in _CHANGE - {"moved", "switched", "replaced", "became"}:
            continue
        elif was:
            is_participle = word.endswith("ed") or word in _PARTICIPLES
            return (_stem(_SAME_WORD.get(word, word)), True) if is_participle or word.endswith("ing") else ("", False)
        else:
            return _stem(_SAME_WORD.get(word, word)), False
    return "", False


def _numbered_objects(rest: list[str], verb: str) -> frozenset[tuple[str, str]]:
    """The objects of a verb that a number identifies: "keeps jar 3", but not "weighs 70 kg"."""
    after = next((at for at, word in enumerate(rest[:6]) if verb and _stem(_SAME_WORD.get(word, word)) == verb), None)
    place = next((at + 1 for at, pair in enumerate(pairwise(rest[:6])) if pair in _IN_CARE), after)
    if place is None:
        return frozenset()
    what = [word for word in rest[place + 1 : place + 5] if word not in _DETERMINERS]
    is_thing = (
        len(what) > 1
        and _BEHIND_NAMES.issuperset(what[2:3])
        and what[0].isalpha()
        and what[0] not in _AUX
        and what[1][0].isdecimal()
        and what[0] not in _OF_ONE_NUMBER
    )
    return frozenset({(_stem(what[0]), what[1])}) if is_thing else frozenset()


_IN_CARE: Final = frozenset(
    tuple(pair.split())
    for pair in (
        *("looks after", "look after", "looking after", "watches over", "cares for", "charge of"),
        *("responsible for", "accountable for"),
    )
)
"""Words behind which stands what somebody looks after."""
_OF_ONE_NUMBER: Final = (
    OF_ONE_VALUE
    | _PREPOSITIONS
    | _LIGHT_WORDS
    | _words(
        "level page chapter grade class size step stage phase port channel round week lesson gear rank row lane"
        " about rent salary wage fee fare bill for over under from until till only just almost nearly exactly"
        " approximately around with by to of than up"
    )
)
"""Words before a number that is a value, or how many, and not the name of one of several things."""
_BEHIND_NAMES: Final = analysis.STOP_WORDS | _PREPOSITIONS | _BEHIND | _TIMES | _CHANGE | {"every"}
"""What may follow a number that is a name: behind other words it counts them."""
OF_SHIFTS: Final = _words("shift shifts hours minutes nights weekends overtime")
"""Words behind a verb for working that tell when, and not as what or where."""
_WAYS: Final = {"live": _words("with"), "work": _words("with on from") | OF_SHIFTS, "move": _words("with")}
"""By the stem of a verb, prepositions behind which something else is told than behind all others."""


def _verb_preposition(rest: list[str], verb: str) -> str:
    apart = _WAYS.get(verb)
    place = next((at for at, word in enumerate(rest[:8]) if apart and _stem(_SAME_WORD.get(word, word)) == verb), None)
    return (
        "" if not apart or place is None else next((word for word in rest[place + 1 : place + 3] if word in apart), "")
    )


_LIVING: Final = _words("live lives living lived reside resides residing resided")
_PARTICIPLES: Final = _words(
    "born built found bought written made given taken sold held kept led run set paid put sent shown told won lost cut"
    " known seen driven stolen broken drawn flown grown"
)
_PAST: Final = _words(
    "put hit shut beat "
    "was were had did came went paid wrote ran met died built found bought took gave made said saw left sold won lost"
    " began grew flew drove spoke taught ate slept rode swam sang sank froze blew broke fell rose woke wore chose shook"
    " stole threw tore bit hid stood stuck struck swung knew drew hung kept led lent felt held heard sent spent thought"
    " caught brought drank fed fled fought forgot lit rang shot sought swore swept wept withdrew understood"
)


def _is_past(tokens: list[str], verb: str) -> bool:
    """True if a statement is about the past, and not about a present result of it."""
    if {"is", "are", "has", "be", "now", "these-days"} & set(tokens[:8]):
        return False
    return any(map(is_past, tokens[:8]))


def is_past(word: str) -> bool:
    """True if a word may be a past form of a verb."""
    return word in _PAST or (word.endswith("ed") and len(word) > 4)


def _is_article(tokens: list[str]) -> bool:
    """True if "die" is only the German article; the English verb follows "to", "will" or "not"."""
    before = {tokens[place - 1] for place, word in enumerate(tokens) if word == "die" and place}
    verbs = _MODALS | _AUX | _NEGATIVE | {"to"}
    return before.isdisjoint(verbs) and {"died", "dies", "death"}.isdisjoint(tokens)


def _attributes(tokens: list[str], rest: list[str], verb: str, passive: bool, owned: Set[str]) -> frozenset[str]:
    known = _attribute_words()
    if rest[:1] and rest[0] in _MODALS:
        rest = rest[1:]
    # A name is no word for an attribute: a cat called Pixel.
    told = [word for before, word in pairwise(["", *tokens]) if before not in ("called", "named")]
    found = {attribute for word in told for attribute in known.get(word, ())}
    if "years-old" in tokens or "age" in tokens or (rest and "turned" in rest[:2]):
        found.add("age")
    for place, word in enumerate(tokens):
        if word in ("moved", "moves"):
            # A meeting moves to Thursday; somebody moves to Porto, in March, or a desk, or to another team.
            behind = tokens[place + 1 : place + 4]
            if _TIMES & set(behind) and "in" not in behind:
                found.add("schedule")
            elif not _DETERMINERS & set(behind[:1]) and _NO_HOMES.isdisjoint(tokens[place + 1 : place + 6]):
                found |= {"residence", "place"}
    if "die" in tokens and _is_article(tokens):
        found.discard("death")
    if any(word == "birthday" and after in _OF_A_BIRTHDAY for word, after in pairwise(tokens)):
        # When the party is, is not when somebody was born.
        found.discard("birth")
    if "best" in tokens:
        # Of friends there are many, and one is the best.
        found.discard("acquaintance")
    found -= {"hosting"} if passive else {"origin"}
    is_done = passive and not any(word.endswith("ing") for word in rest[1:3])
    if (verb and not is_done) or not _LANGUAGES.isdisjoint(tokens):
        # Who speaks or is learning Dutch, or drives a German car, is of any nationality.
        found.discard("nationality")
    told = [before for before, word in pairwise(tokens) if "nationality" in known.get(word, ())]
    if any("nationality" in known.get(word, ()) for word in owned) or (told and set(told) <= {"in", "into", "from"}):
        # So is whose German lesson is on Monday, or who is good in German.
        found.discard("nationality")
    if rest and rest[0] in _LIKING:
        # Who likes to cook is no cook.
        found -= {"job", "residence"}
    if len(rest) == 2 and rest[0] in _COPULA and _is_an_age(rest[1]):
        found.add("age")
    if "job" in found and rest and verb not in _work_stems() and _only_trades(tokens):
        found.discard("job")
    if "job" in found and verb != _stem("work") and _is_at_work(tokens):
        found.discard("job")
    if rest and rest[0] in _COPULA and not _ATTITUDES.isdisjoint(rest[1:4]):
        # Who is interested in a vegan recipe is no vegan by that.
        found -= {"residence", "diet", "state", "level"} | (set() if "looking" in rest else {"job"})
    for attribute in {"state", "diet", "phone"} & found:
        if not _is_told(attribute, tokens, passive=passive):
            found.discard(attribute)
    if rest and rest[0] in _WISHES:
        # Somebody who wants to live by the sea lives elsewhere.
        found -= {"residence", "job", "marital state"}
    if owned and owned.isdisjoint(_OF_WORK) and any("job" in known.get(word, ()) for word in owned):
        # Who her dentist is, is not what she works as.
        found.discard("job")
    if "job" in found and _only_serves(rest):
        # Whose dentist he is, too.
        found.discard("job")
    if verb == _stem("hired") and not passive and not _TRADES.isdisjoint(tokens):
        # Who hired a lawyer is none.
        found.discard("job")
    if "residence" in found and _is_at_a_home(tokens, verb):
        found.discard("residence")
    return frozenset(found)


def _predicate_attributes(rest: list[str], plain: str, noun: str, owned: Set[str], sort: str) -> set[str]:
    """The attributes of what the subject is stated to be or do: red, in a place, due at an hour, for a living.

    ``noun`` is the thing that the statement begins with.
    """
    found = {"colour"} if sort == "colour" else set[str]()
    found |= {"job"} if _LIVELIHOOD.search(plain) is not None else set()
    rest = rest[1:] if rest and rest[0] in _MODALS else rest
    where = [word for word in rest[1:3] if word not in _IN_BETWEEN][:1] if rest and rest[0] in _COPULA else []
    if not where:
        return found
    if where[0] in ("abroad", "overseas"):
        found.add("place")
    if where[0] in ("on", "in", "at") and _TIMES & set(rest):
        found.add("schedule")
    if where[0] in _PREPOSITIONS and not _NO_PLACES.isdisjoint(rest[2:5]):
        found.add("condition")
    elif where[0] in _PREPOSITIONS and not _TIMES & set(rest):
        behind = rest[rest.index(where[0]) + 1 :]
        is_hour = any(_HOUR.fullmatch(word) for word in behind[:1])
        is_spatial = _is_spatial(noun, owned)
        found |= {"schedule"} if is_hour else _whereabouts(where[0], behind, _possible_places(plain), is_spatial)
    return found


_LIVELIHOOD: Final = lazy(
    r"\bfor a living\b|\bdrives? an? (?:[\w-]+ )?(?:taxi|cab|truck|lorry|tram|ambulance|bus|forklift|digger|crane)"
    r"(?! (?:to|home)\b)|\b(?:is|am|['’]m) an? (?:[\w-]+ ){0,2}?"
    r"(?!(?:member|guest|patient|customer|client|fan|volunteer|speaker|visitor|regular|pupil|donor|friend)\b)"
    r"[a-z-]+ (?:at|for) (?:the )?[A-Z]"
    r"|\b(?:runs?|has|owns?) (?:an?|the|her|his|their) (?:own )?(?:[\w-]+ )?"
    r"(?:bookshop|bakery|shop|café|cafe|restaurant|salon|garage|kiosk|practice|agency|workshop|bar|pub|farm)\b"
)
"""What somebody lives by, told by what they do."""


def _possible_places(plain: str) -> frozenset[str]:
    """The capitalised words of a statement in small letters, without abbreviations: in Leeds, but not in AA."""
    return frozenset(
        word.casefold()
        for word in _TITLED.findall(plain)
        if word[0].isupper() and (not word.isupper() or word.casefold() in _ABBREVIATED_PLACES)
    )


def _is_spatial(noun: str, owned: Set[str]) -> bool:
    """True if a statement begins with a thing that is somewhere, and not with somebody, a body of people or a plan."""
    begins = owned | {noun} - {""}
    return bool(begins) and begins.isdisjoint(PERSONS | _WITHOUT_PLACE)


def _whereabouts(way: str, behind: list[str], place_names: Set[str], is_spatial: bool) -> set[str]:
    """The attributes of what somebody or something is in, on or at: a ``place`` only if the words tell that it is one.

    All else is a ``condition``: insulin, therapy, leave. A ``stay`` ends where somebody is at home again.
    """
    phrase = list[str]()
    for word in behind:
        if word in _PHRASE_ENDS:
            break
        phrase.append(word)
    if way == "at" and phrase == ["home"]:
        return {"place", "stay"}
    if _is_place(way, phrase, place_names, is_spatial):
        return {"place"}
    return {"condition"} | ({"stay"} if phrase and phrase[-1] in _STAYS else set())


def _is_place(way: str, phrase: list[str], place_names: Set[str], is_spatial: bool) -> bool:
    if not phrase or not _BODIES.isdisjoint(phrase):
        return False
    first, is_numbered = phrase[0], any(word[0].isdecimal() for word in phrase)
    is_one = first in _DETERMINERS or first in place_names or is_numbered
    called = [word for word in phrase if word in _PLACES or (word not in place_names and not word[0].isdecimal())]
    if called and called[-1] in _STREETS and not is_spatial:
        # Who is on the road is nowhere yet.
        return is_numbered or not place_names.isdisjoint(phrase)
    if called and called[-1] in _PLACES:
        return is_one
    if is_spatial:
        return is_one and phrase[-1] not in _FIGURATIVE
    names = phrase[1:] if first == "the" else phrase
    if not names or not all(word in place_names or word in _SIDES for word in names) or way not in ("in", "near"):
        return False
    return first != "the" or names[-1] in _PLACES_WITH_ARTICLE


_PHRASE_ENDS: Final = (
    _PREPOSITIONS
    | _words("with for of from to as until till since and but or because while called named where who which")
    | _words("now again currently still already just these-days today back since anymore any-more instead too")
)
"""Words at which the phrase behind a preposition ends."""
_STREETS: Final = _words("street road avenue lane drive boulevard")
_PLACES: Final = _STREETS | _words(
    "alley square room floor storey hotel hostel motel guesthouse house flat"
    " apartment building bungalow cottage cabin villa castle tent studio dorm dormitory kitchen bathroom bedroom garden"
    " yard attic basement cellar garage lobby lounge corridor library cafe restaurant pub airport station terminal"
    " office lab ward hospice home village town city suburb suburbs countryside mountains park beach island campsite"
    " district neighbourhood neighborhood region province county coast seaside valley north south east west country"
    " shed barn farm harbour harbor port warehouse museum"
)
"""Words for places."""
_SIDES: Final = _words("north south east west northern southern eastern western central downtown upstate greater")
_PLACES_WITH_ARTICLE: Final = _words(
    "alps netherlands us usa uk uae hague bronx highlands philippines states kingdom algarve ruhr midlands bahamas"
    " maldives balkans caribbean dolomites pyrenees tyrol vosges cotswolds hamptons hebrides azores congo gambia"
)
_ABBREVIATED_PLACES: Final = _words("us usa uk uae la nyc dc")
_BODIES: Final = _words(
    "choir band club orchestra union league society party association guild scouts cast jury committee council group"
    " team squad army navy marines police parliament congress senate cabinet government board church company class"
    " course program programme school university college academy mensa rotary lions freemasons nato amnesty"
    " greenpeace slack discord whatsapp year grade"
    " sales marketing finance accounting hr legal engineering operations procurement logistics"
    " maths mathematics physics chemistry biology medicine law history philosophy economics"
    " english french german italian spanish latin relationship stress trouble"
)
"""Words for what somebody is in that is no place, whatever name it has."""
_FIGURATIVE: Final = _words(
    "red black works making pipeline way offing cards agenda mend rise decline wane brink verge"
)
"""Words for that in or on which a thing is without being there."""
_STAYS: Final = _words("hospital prison jail rehab custody quarantine")
_WITHOUT_PLACE: Final = _words(
    "company firm team band club startup group choir project plan law proposal application visa deal idea party"
)
"""Words for what is in or on something as somebody is: a company in administration, a plan on hold."""
_OF_A_BIRTHDAY: Final = _words(
    "party parties cake cakes present presents gift gifts card cards dinner lunch brunch breakfast trip celebration"
    " celebrations wish wishes invitation invitations bash picnic weekend concert voucher"
)
_IN_BETWEEN: Final = _words("now still currently already just")
"""What may stand between "is" and where something is."""


def _is_told(attribute: str, tokens: list[str], *, passive: bool) -> bool:
    """True if a word for an attribute tells of it and not of a thing: is finished, but not finished a novel."""
    known = _attribute_words()
    padded = [*tokens, "", ""]
    for at, word in enumerate(tokens):
        if attribute not in known.get(word, ()) or tokens[max(0, at - 1) : at] in (["called"], ["named"]):
            continue
        before, after = tokens[max(0, at - 3) : at], padded[at + 1]
        if attribute == "phone":
            is_told = after not in _OF_A_PHONE
        elif attribute == "diet":
            is_told = word in _EATING or (word != "food" and not _BECOMING.isdisjoint(before))
        else:
            is_object = after in _DETERMINERS or after in _OBJECTS or after[:1].isdecimal()
            is_told = passive or not _BECOMING.isdisjoint(before) or not (is_object or word in _BEFORE_NOUNS)
        if is_told:
            return True
    return False


_OF_A_PHONE: Final = _words("case cases cover covers charger battery plan plans bill bills call calls screen holder 's")
_EATING: Final = _words("eat eats diet meat")
_BECOMING: Final = _COPULA | _words("became become becomes got gets went goes go turned stays stayed remains")
_OBJECTS: Final = _words("some all both every each many several reading watching writing")
_BEFORE_NOUNS: Final = _words("online offline active available draft alpha beta ready")
_NO_PLACES: Final = _words("market process mood middle habit industry field")
_ATTITUDES: Final = _words(
    "interested excited curious keen glad happy thrilled grateful proud thinking planning trying looking considering"
    " wondering hoping eager ready sure"
)


def _is_an_age(word: str) -> bool:
    return word in _NUMBER_WORDS or (word.isdecimal() and int(word) < _OLDEST)


def _only_trades(tokens: list[str]) -> bool:
    """True if only the names of trades are about work: an appointment with a dentist, but not "as a dentist"."""
    return {"as", "be"}.isdisjoint(tokens) and all(
        word in _TRADES for word in tokens if "job" in _attribute_words().get(word, ())
    )


def _is_at_work(tokens: list[str]) -> bool:
    """True if work is only where somebody goes or does something: takes the bus to work, starts work at ten."""
    known = _attribute_words()
    padded = ["", *tokens, "", ""]
    around = zip(padded, padded[1:], padded[2:], padded[3:], strict=False)
    return all(
        word == "work"
        and before in _AROUND_WORK
        and not (before in _BEFORE_A_JOB and after in _OF_A_JOB and not next_but_one[:1].isdecimal())
        for before, word, after, next_but_one in around
        if "job" in known.get(word, ())
    )


_BEFORE_A_JOB: Final = _words("to start starts begin begins")
_AROUND_WORK: Final = _BEFORE_A_JOB | _words(
    "at from after before for during off with by about finish finishes leave leaves"
)
_OF_A_JOB: Final = _words("at for as in with on")


def _only_serves(rest: list[str]) -> bool:
    """True if the only words about work are what the subject is for somebody: Dev's plumber, my dentist."""
    known = _attribute_words()
    trades = [at for at, word in enumerate(rest) if "job" in known.get(word, ())]
    return all(
        rest[at] in _SERVING and any(word[0] in "'’" or word in ("my", "our") for word in rest[max(0, at - 3) : at])
        for at in trades
    )


_SERVING: Final = _words("dentist doctor lawyer accountant plumber electrician carpenter nurse teacher driver cook")


@cache
def _work_stems() -> frozenset[str]:
    """The stems of verbs for what somebody is or becomes; the empty stem is "to be"."""
    return frozenset({""}) | stems(
        _words("work became becomes become remains serves trained trains qualified started retired")
    )


_TRADES: Final = _words(
    "analyst engineer manager director teacher dentist doctor nurse lawyer baker designer developer consultant chef"
    " professor cook editor journalist accountant clerk president assistant secretary driver pilot waiter waitress"
    " intern apprentice programmer architect scientist researcher carpenter plumber electrician librarian candidate"
    " freelancer student trainee"
)
PERSONS: Final = (
    PEOPLE
    | ANIMALS
    | _TRADES
    | _words(
        "mom mam granny grandma grandpa nan baby kid family roommate flatmate manager man woman guy girl boy friend"
        " brother sister sibling cousin uncle aunt nephew niece son daughter child colleague neighbour neighbor client"
        " customer pet"
    )
)
"""Words for whoever may be in therapy, on leave or on insulin."""
_OF_WORK: Final = _words("job role position employer work career promoted hired")
_HOMES: Final = _words("home house flat apartment")
_DWELLING: Final = _words("live lives living rent rents share shares stay stays move moves settle settles own owns buy")


def _is_at_a_home(tokens: list[str], verb: str) -> bool:
    """True if a home is only the place of something else: the password at her home."""
    known = _attribute_words()
    named = [at for at, word in enumerate(tokens) if "residence" in known.get(word, ())]
    if not named or verb in stems(_DWELLING) or "moved" in tokens or "moves" in tokens:
        return False
    return all(
        tokens[at] in _HOMES
        and (not _AT_A_PLACE.isdisjoint(tokens[max(0, at - 3) : at]) or _is_before_noun(tokens, at))
        for at in named
    )


def _is_before_noun(tokens: list[str], at: int) -> bool:
    """True if a word only tells of what kind something is that somebody is in or on: the house band."""
    before, after = tokens[max(0, at - 3) : at], tokens[at + 1 : at + 2]
    is_in = any(word in _COPULA and behind in _PREPOSITIONS for word, behind in pairwise(before))
    is_noun = bool(after) and after[0].isalpha() and after[0] not in _PHRASE_ENDS | _DETERMINERS | {"share"}
    return is_in and is_noun


_AT_A_PLACE: Final = _words("at near behind outside around to from of opposite")


_NO_HOMES: Final = _words(
    "tears laughter anger pity team teams department division role position job project desk unit squad class"
)
"""Words for that to which somebody may move who lives where they lived."""
_LANGUAGES: Final = _words("language languages tongue")


def _join_number_words(tokens: list[str]) -> list[str]:
    """Number words as digits: "two hundred" is 200."""
    found: list[str] = []
    for word in tokens:
        value = _NUMBER_WORDS.get(word)
        if word in ("hundred", "thousand") and found and found[-1].isdecimal():
            found[-1] = str(int(found[-1]) * (100 if word == "hundred" else 1000))
        else:
            found.append(word if value is None else str(value))
    return found


def _singular_unit(unit: str) -> str:
    """The singular of a unit: one hour, two hours."""
    if unit.endswith("sses"):
        return unit[:-2]
    return unit[:-1] if len(unit) > 3 and unit[-1] == "s" and unit[-2] != "s" else unit


def _numbers_with_units(words: list[str]) -> frozenset[tuple[str, str]]:
    """Each number with the next word, which is usually its unit, or with what a "follower count" counts."""
    following = [*words[1:], ""][: len(words)]
    found = [
        (
            str(float(word)) if word.count(".") <= 1 else word,
            "" if unit in _BEHIND | _HALVES | _STILL else _singular_unit(unit),
        )
        for word, unit in zip(words, following, strict=True)
        if word[0].isdecimal() and word.replace(".", "").isdecimal()
    ]
    if len(found) == 1 and not found[0][1] and "count" in words[1:]:
        counted = words[words.index("count", 1) - 1]
        return frozenset({(found[0][0], "" if counted in _ANY else _singular_unit(counted))})
    return frozenset(found)


_STILL: Final = _words("now today already yet currently")
"""Behind a number such a word is no unit."""
_ANY: Final = _DETERMINERS | _PRONOUNS | _MODALS | _words("current total new latest to and")
"""Before "count" such a word says nothing of what is counted."""
