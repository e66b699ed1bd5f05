"""The English words that statements are read by, in sets by what they do, and the stems of words.

The words that stand for attributes (a home, an age, a deadline) are here, too. All is written as words; stems are made
of them when they are first needed.
"""

from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Final

from worlddb.log.model.times import DAYS, MONTHS
from worlddb.projections.indexes import analysis


def word_set(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


MAX_FRAMES: Final = 4_096
"""How many frames are cached, since recalls return the same memories repeatedly."""
MAX_QUESTIONS: Final = 64
"""How many parsed questions are cached."""
CURRENT: Final = "current"
"""An attribute that has one value at a time: a later one takes its place."""
ONCE: Final = "once"
"""An attribute that has one value for good: another one contradicts it."""
MANY: Final = "many"
"""An attribute that may have several values at a time."""
_TRADES: Final = (
    "analyst engineer manager director teacher dentist doctor nurse lawyer baker designer developer"
    " consultant chef professor cook editor journalist accountant clerk president assistant secretary driver"
    " pilot waiter waitress intern apprentice programmer architect scientist researcher carpenter plumber"
    " electrician librarian candidate freelancer student trainee"
)
_ATTRIBUTES: Final = {
    CURRENT: {
        "residence": "live lives living lived reside resides resided residing home house flat apartment relocate"
        " relocated resettled tenant",
        "job": "work works working job employ employs employed employer hire hired position role career promoted"
        " unemployed retire retired resign resigned fired engineering lead ceo cto vp head freelance teaches phd"
        f" {_TRADES}",
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
KIND_OF: Final = {attribute: kind for kind, kinds in _ATTRIBUTES.items() for attribute in kinds}
"""Whether an attribute has one value at a time, one for good, or many."""
SINGLE_VERBS: Final = (
    "live reside work drive drives study studies lead train trains coach coaches manage manages prefer prefers weigh"
    " earn earns cost costs belong attend attends sleep sleeps park parks report reports date sit sits ship ships store"
    " stores close closes open opens run runs set employ live see sees use uses write written"
    " stand stands bank banks vote votes host hosted deploy deployed end ends start starts begin begins expire"
    " expires last lasts"
)
OFTEN: Final = "per-year"
"""The unit of how often something is so."""
_LIGHT: Final = (
    "have has had having get gets got go goes went going want wants wanted like likes liked use uses used make makes"
    " made take takes took taken do does did done be been being keep keeps put give gave given"
    " own owns need needs say says know knows plan plans planned will would can could may might must should shall let"
    " lets come comes coming see sees suffer suffers place old new small big people person thing things man woman"
    " high long good really very quite rather also too just still yet already always often usually stand stands"
    " serve year years month months week weeks day days time times hour hours minute minutes who whom whose"
    " there here both all some any each every other another more most decided"
)
LIGHT_WORDS: Final = frozenset((*_LIGHT.split(), OFTEN))
SAME_WORD: Final = {
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
    "children": "child", "kids": "child", "kid": "child", "goes": "go",
    "hates": "hates", "dislikes": "hates", "detests": "hates", "loathes": "hates", "hate": "hates", "dislike": "hates",
    "cost": "price", "costs": "price",  "turned": "turned", "vp": "vp", "purchased": "bought",
}  # fmt: skip
OPPOSITE: Final = {
    "hates": "likes", "broken": "work", "closed": "open", "shut": "open", "disabled": "enabled", "absent": "present",
    "empty": "full", "unsafe": "safe", "dirty": "clean", "fake": "genuine", "forgery": "genuine",
    "unavailable": "available", "inactive": "active", "invalid": "valid", "impossible": "possible",
    "illegal": "legal", "false": "true", "unhappy": "happy", "innocent": "guilty", "unlimited": "limited",
    "optional": "mandatory", "disagrees": "agrees", "refuses": "agrees",
}  # fmt: skip
"""Words that deny another one."""
NEGATIVE: Final = word_set(
    "not no never nobody none nothing neither nor cannot without hardly"
    # A denial in German, Spanish, French or Portuguese is not the same as what it denies.
    " nicht kein keine keinen keinem keiner keines nie niemals nunca jamás pas jamais não"
)
CHANGE: Final = word_set(
    "now nowadays currently today since again instead anymore no-longer any-more switched changed moved replaced became"
    " become becomes upgraded updated increased decreased raised reduced cut postponed rescheduled rebooked slipped"
    " ditched outgrew outgrown overcame reset lowered delayed extended pushed shifted doubled halved downgraded"
    " took-over quit stopped gave-up started turned converted promoted rewritten repaired fixed healed recovered"
    " finished sold broke-off back used-to formerly from-now-on these-days went-up went-down down given"
    " renamed after-all"
)
ADDING: Final = word_set("also too as-well besides additionally in-addition likewise")
"""Words that say that something is so beside what was before."""
ONLY: Final = word_set("only solely exclusively")
"""Words that leave nothing beside what is said."""
LIKING: Final = word_set("likes like enjoys enjoy loves love hates hate dislikes adores")
WISHES: Final = word_set("wants want wanted hopes hope plans plan wishes wish dreams would")
UNSURE: Final = word_set(
    "might maybe perhaps probably possibly likely presumably if unless whether"
    " provided assuming suppose imagine says say said saying thinks think thought believes"
    " believe believed claims claim claimed hears hear heard tells tell told suggests suggested suspects suspect"
    " suspected assumes assume assumed guesses guess guessed reckons reckon doubts doubt wonders wonder pretends"
    " reportedly allegedly apparently supposedly rumoured rumored according considers considering dreams dreamt"
    " dreamed dream fiction hopes hope hoping wishes"
)
"""Words by which something is said as possible, under a condition, or as what somebody says or thinks."""
AUX: Final = word_set(
    "is are was were am be been being has have had does do did will would can could may might must should shall not"
    " never now still always also no-longer currently already really just recently finally usually often"
    " going to"
)
MODALS: Final = word_set("will shall must should can may might could would")
COPULA: Final = word_set("is are was were am be been")
PREPOSITIONS: Final = word_set("in on at near by above below behind under opposite inside outside beside")
BEHIND: Final = word_set("with for to of from in on at about by near")
"""Prepositions behind a thing that say which one it is."""
DETERMINERS: Final = word_set("the a an my our your his her its their this that these those")
FIRST: Final = word_set("i me my mine we us our ours")
PRONOUNS: Final = word_set("i we he she it they you")
CALENDAR: Final = frozenset((*MONTHS, *DAYS))
WEEKDAYS: Final = frozenset(DAYS) | {f"{day}s" for day in DAYS}
PARTS_OF_DAY: Final = word_set("morning noon afternoon evening night midnight")
TIMES: Final = (
    CALENDAR
    | WEEKDAYS
    | PARTS_OF_DAY
    | word_set(
        "am pm o'clock spring summer autumn winter weekend daily weekly monthly yearly tomorrow yesterday today hour"
        " hours weekday weekdays weekends"
    )
)
OF_ONE_FORM: Final = word_set("put set cut hit let shut cost hurt split spread bet cast read")
"""Verbs whose past is as their present."""
PAST: Final = word_set(
    "put hit shut beat "
    "was were had did came went paid wrote ran met died built found bought took gave made said saw left sold won lost"
    " began grew flew drove spoke taught ate slept rode swam sang sank froze blew broke fell rose woke wore chose shook"
    " stole threw tore bit hid stood stuck struck swung knew drew hung kept led lent felt held heard sent spent thought"
    " caught brought drank fed fled fought forgot lit rang shot sought swore swept wept withdrew understood"
)
LIVING: Final = word_set("live lives living lived reside resides residing resided")
OF_SHIFTS: Final = word_set("shift shifts hours minutes nights weekends overtime")
"""Words behind a verb for working that tell when, and not as what or where."""
RENEWED: Final = word_set("new current present latest old former")
"""Words that tell a thing from the one before it, and not from another."""
SORTING: Final = word_set("favourite favorite best worst main first last")
"""Words that pick one of a kind: the kind is what is spoken of."""
OF_ONE_VALUE: Final = word_set(
    "password passcode passphrase pin code address price budget nickname number colour color size venue location"
    " version capital winner score temperature limit iban"
)
"""Words for what has one value at a time."""
OF_SEVERAL: Final = word_set(
    "hobby pet friend brother sister sibling cousin uncle aunt nephew niece son daughter child colleague neighbour"
    " neighbor skill language interest passion client customer project instrument allergy fear medicine medication"
)
"""Words for what somebody may have several of: one that is told of does not take the place of another."""
ANIMALS: Final = word_set("dog cat horse pony hamster rabbit bird parrot tortoise puppy kitten")
PEOPLE: Final = word_set(
    "husband wife partner boyfriend girlfriend mother father mum dad parents boss grandmother grandfather"
)
"""Those who belong to somebody, and of whom something else is so."""
TRADES: Final = word_set(_TRADES)
PERSONS: Final = (
    PEOPLE
    | ANIMALS
    | TRADES
    | word_set(
        "mom mam granny grandma grandpa nan baby kid family roommate flatmate manager man woman guy girl boy friend"
        " brother sister sibling cousin uncle aunt nephew niece son daughter child colleague neighbour neighbor client"
        " customer pet"
    )
)
"""Words for whoever may be in therapy, on leave or on insulin."""
COLOURS: Final = word_set(
    "red blue green yellow black white grey gray brown pink purple orange violet turquoise beige silver gold golden"
    " blond blonde navy cyan magenta maroon ivory cream teal bronze crimson scarlet lilac"
)


@lru_cache(maxsize=MAX_FRAMES)
def plain_stem(word: str) -> str:
    """The stem of a word as it is written; a word that has several stems, or none, stands for itself."""
    found = analysis.analyze(word).stems
    return found[0] if len(found) == 1 else word


def stem(word: str) -> str:
    """The stem of a word, as a frame has it for its verb."""
    return plain_stem(SAME_WORD.get(word, word))


def stems(words: Iterable[str]) -> frozenset[str]:
    """The stems of some words."""
    return frozenset(map(plain_stem, words))


@cache
def stem_set(words: str) -> frozenset[str]:
    """The stems of the words of a table."""
    return stems(words.split())


@cache
def single_verbs() -> frozenset[str]:
    """The stems of verbs whose object is one at a time: to live in, to drive, to prefer."""
    return stem_set(SINGLE_VERBS)


@cache
def attribute_words() -> dict[str, tuple[str, ...]]:
    """By each word, the attributes that it stands for."""
    found: dict[str, tuple[str, ...]] = {}
    for kinds in _ATTRIBUTES.values():
        for attribute, words in kinds.items():
            for word in words.split():
                found[word] = (*found.get(word, ()), attribute)
    return found


@cache
def _attribute_stems() -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for word, attributes in attribute_words().items():
        for each in {plain_stem(word), plain_stem(SAME_WORD.get(word, word))}:
            found[each] = found.get(each, frozenset()).union(attributes)
    return found


@cache
def stems_of(attribute: str) -> frozenset[str]:
    """The stems of the words that stand for an attribute."""
    return frozenset(stem for stem, attributes in _attribute_stems().items() if attribute in attributes)


def attributes_of(stemmed: Iterable[str]) -> frozenset[str]:
    """The attributes that some stems stand for: a home, an age, a deadline."""
    return frozenset().union(*(_attribute_stems().get(stem, ()) for stem in stemmed))


def is_past(word: str) -> bool:
    """True if a word may be a past form of a verb."""
    return word in PAST or (word.endswith("ed") and len(word) > 4)


def may_be_verb(word: str) -> bool:
    """True if the form of a word may be that of a verb."""
    return word in AUX or is_past(word) or (word.endswith(("s", "ed")) and not word.endswith("ss"))


IN_GERMAN: Final = word_set(
    "der die das den dem des ein eine einen einem einer eines und oder aber wenn weil dass als wie wer wen wem"
    " was wann welche welcher welches welchen welchem ich du sie wir ihr mich dich ihn uns mir dir ihm ihnen mein"
    " meine meinen meinem meiner meines dein deine sein seine seinen seinem seiner ihre ihren ihrem ihrer unser"
    " unsere unseren unserem unserer bin bist ist sind war waren habe hab haben hatte hatten hat wird werde werden"
    " wurde wurden kann kannst können konnte soll sollen muss müssen darf dürfen auf aus bei beim mit nach von vom"
    " vor zum zur über unter für durch gegen bis nicht nichts kein keine keinen man noch nur auch dort dieser"
    " diese dieses jetzt neu neue neuer neues neuen nun doch mehr statt stattdessen heute gestern morgen immer"
    " wieder schon mal eigentlich halt eben ganz sehr echt gar nix ja nee nein gut heißt heißen gibt geht gehen"
    " gehe geh macht machen mache machst kommt kommen sagt sagen uhr euro tag tage woche monat jahr zeit nächste"
    " nächsten letzte letzter letzten steht findet bekommt bekomme kriegt kriege nimmt nehme nehmen wohin woher"
    " warum übrigens inzwischen mittlerweile außerdem hier heim mag mögen gern gerne heisst heissen ausserdem wo"
    " um ab viel viele vielen beginnt seit teuer grade im am an ans ins zu dann lautet lauten"
)
"""German words that do not tell what a message or a question is about."""
ONLY_GERMAN: Final = IN_GERMAN - word_set("bin man die war halt gut tag mag hat grade nun was um heim im am an ins")
"""Those of them that are no English words."""
GERMAN: Final = word_set(
    "der das dem ein eine einen ich wir ihr mich mir uns ist sind habe hab haben hatte wird werden kann nicht kein"
    " keine auf aus bei mit nach von vom zum zur für über und oder aber jetzt noch nur auch wie wer wann wo mein"
    " meine sie doch heißt heisst"
)
"""Words by which a text is German, none of which is an English one that tells something."""
