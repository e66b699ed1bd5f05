"""Words, stems and characters that a text is searched by, and its first-person statements.

One analysis serves documents, queries and the list of words that matched, so the three cannot disagree:

* *words*: folded (compatibility forms, case, accents and vowel points removed), unstemmed;
* *stems*: the words under Tantivy's English stemmer; words in other alphabets also pass those stemmers that touch
  only their own script (Russian, Arabic, Greek), which needs no guess at the language;
* *runs*: stretches of Chinese, Japanese, Korean, Thai and other unspaced script, searched as overlapping pairs of
  characters and as single characters, which needs no dictionary.

Text never meets Tantivy's query parser, so no character of it is syntax.

A *statement* is a sentence in the first person that asks nothing. "Can you recommend a hotel? By the way, I moved to
Porto last week." is mostly about hotels, but the second sentence is worth remembering. A statement therefore gets a
vector of its own beside that of the whole text, and the share of a text that is statements tells how much of it is
likely to be worth remembering. This is English grammar and no more; a text in another language has its one vector.

Pure: the same text gives the same answer.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from worlddb.log.model.times import lazy

if TYPE_CHECKING:
    from tantivy import TextAnalyzer

FORMAT: Final = 9
"""Raised with any change to the words, texts or marker of an index: one made under another number is rebuilt."""

STEM: Final = "stem"
NAME: Final = "name"
PLAIN: Final = "plain"
GRAMS: Final = "grams"
TYPE: Final = "type"

MAX_TOKEN_BYTES: Final = 128
"""Longer words (UTF-8, unspaced scripts aside) are not indexed. 64 hexadecimal digits fit, encoded data does not."""
MAX_QUERY_CHARACTERS: Final = 20_000
MAX_QUERY_WORDS: Final = 128
"""Distinct words of a query that count; later ones are ignored."""
MAX_QUERY_GRAMS: Final = 256
"""Distinct characters and pairs of a query that count; later ones are ignored."""
MAX_MATCH_CHARACTERS: Final = 200_000
"""How far into a text :func:`matched_words` looks."""

NAME_BOOST: Final = 1.5
PLAIN_BOOST: Final = 0.5
"""Chosen on the questions of five LoCoMo conversations, with names that say much and names that say nothing."""
TYPE_BOOST: Final = 0.5
"""The word of a type in a question ("which task"): it finds worlds of the type, and outranks no equally rare word of a
text."""
CHARACTER_BOOST: Final = 0.2
"""One character of a longer run: enough to find, too little to outrank a pair."""

_STOP_WORDS: Final = """
    a an the and or but if as at by for from in into of on to with about
    is am are was were be been being do does did has have had would
    i me my mine we our ours you your yours he him his she her hers it its they them their theirs
    this that these those then there such
    what when where who whom whose which why how
    s t d ll m re ve don doesn didn isn aren wasn weren hasn hadn wouldn couldn shouldn
"""
STOP_WORDS: Final = frozenset(_STOP_WORDS.split())
"""Dropped from queries, never from documents, and only while other words are left: a question's scaffolding is rare
in what people say, so BM25 would weigh it as if it were the subject."""

_FUNCTION_WORDS: Final = {
    "de": """
        der die das den dem des ein eine einen einem einer eines und oder aber wenn weil dass ob als wie wo wer wen wem
        wessen was wann warum weshalb wieso wofur womit wovor wovon woruber worauf woran welche welcher welches welchen
        welchem ich du er sie es wir ihr mich dich ihn uns euch mir dir ihm ihnen mein meine meinen meinem meiner meines
        dein deine deinen sein seine seinen seinem seiner ihre ihren ihrem ihrer unser unsere unseren unserem unserer
        wohin woher wogegen wobei wodurch wozu
        euer eure bin bist ist sind seid war waren gewesen habe hast hat haben hatte hatten wird werden wurde wurden
        worden kann konnte konnen soll sollen muss mussen darf in im am an auf aus bei beim mit nach von vom vor zu zum
        zur uber unter um fur durch gegen ab bis nicht kein keine sich man noch nur auch so da dort dieser diese dieses
    """,
    "es": """
        el la los las un una unos unas lo al del de a en con por para sin sobre entre hasta desde y o u e pero si que
        cual cuales quien quienes cuyo como cuando cuanto cuanta cuantos cuantas donde adonde yo tu el ella nosotros
        ellos ellas usted me te se nos le les mi mis tus su sus nuestro nuestra nuestros nuestras este esta estos
        estas ese esa eso aquel es son era eran fue fueron ser esta estan estaba he has ha hemos han habia hay ya no muy
    """,
    "fr": """
        le la les l un une des du de d a au aux en dans avec par pour sans sur sous entre chez jusqu jusque depuis et ou
        mais si que qu qui quoi quel quelle quels quelles dont comment quand combien pourquoi je j tu il elle on nous
        vous ils elles me m te se s lui leur leurs y mon ma mes ton ta tes son sa ses notre nos votre vos ce c cet cette
        ces est sont etait etaient etre suis ai as avons avez ont avait eu fut t ne n pas plus
    """,
    "it": """
        il lo la i gli le l un uno una di del dello della dei degli delle d a al allo alla ai agli alle da dal dalla dai
        in nel nella nei nelle con col per tra fra su sul sulla e ed o ma se che chi cui cosa quale quali quanto quanta
        quanti quante come quando dove perche io tu lui lei noi voi loro mi ti si ci vi mio mia miei mie tuo tua suo sua
        suoi sue nostro nostra nostri nostre questo questa questi queste quello quella e sono era erano stato stata
        essere ho hai ha abbiamo hanno aveva non
    """,
    "pt": """
        o a os as um uma uns umas de do da dos das em no na nos nas ao aos com por pelo pela para sem sobre entre ate
        desde e ou mas se que qual quais quem cujo como quando quanto quanta quantos quantas onde porque eu tu ele ela
        nos eles elas voce me te lhe meu minha meus minhas seu sua seus suas nosso nossa nossos nossas este esta isto
        esse essa isso e sao era eram foi foram ser estar estao esta tem tenho ha nao
    """,
    "nl": """
        de het een en of maar als dat die dit deze wie wat waar wanneer waarom hoe welke welk ik jij je hij zij ze wij
        we jullie mij me hem haar ons onze mijn zijn hun is was waren ben bent heb hebt heeft hebben had wordt worden
        werd kan in op aan uit bij met naar van voor door over om te tot niet geen er
    """,
    "ru": """
        и а но или если что чтобы как где куда откуда когда почему зачем кто кого кому кем чем чего чему какой какая
        какое какие какого какую каком каким сколько чей я ты он она оно мы вы они меня мне мной тебя тебе его
        ему ее ей нас нам вас вам их им мой моя мое мои моего моей мою твой свой своя наш наша наше наши нашу нашей
        нашего этот эта это эти тот та то те в во на с со к ко у о об от до из за по при для без под над между не ни
        был была было были есть быть ли же бы так уже там
    """,
}
_FUNCTION: Final = {language: frozenset(words.split()) for language, words in _FUNCTION_WORDS.items()}
"""What :data:`STOP_WORDS` are to English: as :func:`plain_analyzer` has them, without accents."""
_FOREIGN: Final = frozenset().union(*_FUNCTION.values()) - STOP_WORDS
"""Without one of these a text is in none of those languages."""
_TIME_WORDS: Final = {
    "de": """
        gestern vorgestern heute letzte letzten letzter letztes vorige vorigen vergangene woche wochen wochenende monat
        monaten jahr jahren jahres januar februar marz april mai juni juli august september oktober november dezember
        montag dienstag mittwoch donnerstag freitag samstag sonntag seit ab sommer herbst fruhling morgen ubermorgen
        nachste nachsten nachster nachstes
    """,
    "es": """
        ayer anteayer anoche hoy pasado pasada semana semanas mes meses ano anos enero febrero marzo abril mayo junio
        julio agosto septiembre octubre noviembre diciembre lunes martes miercoles jueves viernes sabado domingo hace
        verano otono invierno primavera antes despues manana proximo proxima
    """,
    "fr": """
        hier avant aujourd dernier derniere semaine semaines mois annee an janvier fevrier mars avril mai juin juillet
        aout septembre octobre novembre decembre lundi mardi mercredi jeudi vendredi samedi dimanche ete hiver automne
        demain prochain prochaine
    """,
    "it": """
        ieri oggi scorso scorsa settimana settimane mese mesi anno anni gennaio febbraio marzo aprile maggio giugno
        luglio agosto settembre ottobre novembre dicembre lunedi martedi mercoledi giovedi venerdi sabato domenica fa
        estate autunno inverno prima dopo domani dopodomani prossimo prossima
    """,
    "pt": """
        ontem anteontem hoje passado passada semana semanas mes meses ano anos janeiro fevereiro marco abril maio junho
        julho agosto setembro outubro novembro dezembro sabado domingo verao outono inverno antes depois atras
        amanha proximo proxima
    """,
    "ru": "",
    "en": """
        yesterday today last ago week weeks month months year years january february march april may june july august
        september october november december monday tuesday wednesday thursday friday saturday sunday before after since
        spring summer autumn fall winter until between
    """,
}
_TIMES_OF: Final = {
    language: frozenset(words.split()) | (STOP_WORDS if language == "en" else _FUNCTION[language])
    for language, words in _TIME_WORDS.items()
}
"""Words that show the language of a question that may name a time, with that language's function words."""
_TIMES_ELSEWHERE: Final = frozenset().union(*(words for language, words in _TIMES_OF.items() if language != "en"))
_SCRIPTS: Final = (
    ("ja", re.compile("[\u3041-\u30ff]")),
    ("ko", re.compile("[\uac00-\ud7a3]")),
    ("zh", re.compile("[\u4e00-\u9fff]")),
    ("ru", re.compile("[\u0400-\u04ff]")),
)
_GERMAN_DAY: Final = lazy(
    r"\b(?:am|vom|zum|bis|ab|seit|den|dem)\s+\d{1,2}\.\s?\d{1,2}\."
    r"|\b\d{1,2}\.\s+(?:januar|februar|märz|april|mai|juni|juli|august|september|oktober|november|dezember)\b",
    re.I,
)
"""Counts as a German word more: in English a day has no point behind it, nor behind its month in figures."""
_GERMAN_DAY_ALONE: Final = lazy(r"\W*\d{1,2}\.\s?\d{1,2}\.\W*")
_GERMAN_ASKING: Final = frozenset(("was", "wer", "wen", "wem", "wo", "wie", "wann", "welche", "welches", "welchen"))
_DUTCH: Final = frozenset(("wat", "het", "een", "van", "waar", "hoe", "heeft", "zijn", "hij", "zij"))
_GERMAN_VERB: Final = lazy(
    r"\b(?![A-ZÄÖÜ]|dreamt\b|debt\b|doubt\b|feint\b|\w*yacht\b|learnt\b|burnt\b|\w*straight\b)"
    r"(?:\w+(?:[gkmz]t|bt|cht|[aeiouäöü]ht|[hr][lnr]t|sst|ßt|fft|nnt|llt|iert|ielt|eint|auft|eitet|dient|ält|äft)|liest"
    r"|darf|kann|muss|soll|mag|möchte|weiß|tut|ist|hat|hast|wog|nahm|kam|trank|\w+[bghkln]te"
    r"|(?<=[Ww]as )(?:will|plant)(?= (?:[A-ZÄÖÜ]|er\b|sie\b|ich\b|du\b|man\b))\w*|(?<=[Ww]e[rn] )(?:will|plant))\b"
)
"""In small letters, behind or before the word that asks ("Was wiegt Gerd?"), this counts as a German word more."""
_MARKS: Final = {"de": "ß", "es": "ñ¿¡", "fr": "œç", "pt": "ãõçê"}
"""Letters and signs that count as one such word more."""
LEAST_FUNCTION_WORDS: Final = 2
"""So many of them, and more than English ones, tell a question's language."""

_UNSPACED: Final = lazy(
    "["
    "\u0e00-\u0fff"  # Thai, Lao, Tibetan
    "\u1000-\u109f\u1780-\u17ff\u1950-\u19ff\u1a20-\u1b7f"  # Myanmar, Khmer, Tai, Balinese
    "\u1100-\u11ff\ua960-\ua97f\uac00-\ud7ff"  # Hangul: spaced, but particles cling to its words
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3038-\u303b"  # radicals, iteration marks, numerals
    "\u3040-\u30ff\u31f0-\u31ff\u3100-\u312f\u31a0-\u31bf"  # Kana, Bopomofo
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"  # Han
    "\ua000-\ua4cf\ua980-\ua9ff\uaa60-\uaa7f"  # Yi, Javanese, Myanmar
    "\U0001b000-\U0001b16f"  # old Kana
    "]+"
)
_LOWER_WORDS: Final = bytes(ord(chr(code).lower()) if chr(code).isalnum() else ord(" ") for code in range(256))
"""What each byte of a text in ASCII is for who looks for words: small letters, and spaces between them."""
_PARTS_OF_TYPE: Final = re.compile("(?<=[a-z])(?=[A-Z])|_")
_WIDE: Final = re.compile("[^\x00-\x7f]+")
_STEMMED_APART: Final = re.compile("[\u0370-\u052f\u0600-\u077f\u08a0-\u08ff\u1f00-\u1fff]")
"""Greek, Cyrillic, Arabic: the scripts of the stemmers beside the English one."""
_STRETCHING: Final = "\u0640"
"""Arabic stretching: inside a word, and no part of it. So is what shows nothing: soft hyphens, joiners, zero widths."""
_UNSEEN: Final = "Cf"
_APOSTROPHES: Final = "\u02bb\u02bc"
"""Apostrophes that Unicode counts as letters; the others, straight and curved, part words by themselves."""


class Prepared(NamedTuple):
    """A text by script: the part that Tantivy splits at spaces, and the unspaced runs."""

    spaced: str
    runs: tuple[str, ...]


class Analysis(NamedTuple):
    """All that a text is searched by, in its order; ``stems[i]`` is the stem of ``words[i]``."""

    words: tuple[str, ...]
    stems: tuple[str, ...]
    runs: tuple[str, ...]


class Term(NamedTuple):
    """One thing that a query looks for: a token of a field, and what finding it is worth.

    ``instead``: another form of a word of the query, which stands for that word.
    """

    field: str
    text: str
    weight: float
    instead: bool = False


_IRREGULAR: Final = """
    become became; begin began begun; bite bit bitten; blow blew blown; break broke broken; bring brought; build built;
    burn burnt; buy bought; catch caught; choose chose chosen; come came; deal dealt; dig dug; draw drew drawn;
    dream dreamt; drink drank drunk; drive drove driven; eat ate eaten; fall fell fallen; feed fed; feel felt;
    fight fought; find found; fly flew flown; forget forgot forgotten; forgive forgave forgiven; freeze froze frozen;
    get got gotten; give gave given; go went gone; grow grew grown; hang hung; hear heard; hide hid hidden; hold held;
    keep kept; know knew known; lead led; lean leant; learn learnt; leave left; lend lent; light lit; lose lost;
    make made; mean meant; meet met; pay paid; ride rode ridden; ring rang rung; run ran; say said; see saw seen;
    seek sought; sell sold; send sent; shake shook shaken; shine shone; shoot shot; sing sang sung; sink sank sunk;
    sit sat; sleep slept; slide slid; speak spoke spoken; spend spent; spin spun; stand stood; steal stole stolen;
    stick stuck; strike struck; swear swore sworn; sweep swept; swim swam swum; swing swung; take took taken;
    teach taught; tear tore torn; tell told; think thought; throw threw thrown; understand understood; wake woke woken;
    wear wore worn; weep wept; win won; withdraw withdrew withdrawn; write wrote written;
    arise arose arisen; awake awoke awoken; bend bent; bleed bled; cling clung; creep crept; flee fled;
    forbid forbade forbidden; foresee foresaw foreseen; kneel knelt; leap leapt; mistake mistook mistaken;
    outgrow outgrew outgrown; overcome overcame; overhear overheard; oversleep overslept; prove proven;
    rebuild rebuilt; repay repaid; resell resold; rewrite rewrote rewritten; shrink shrank shrunk; sneak snuck;
    spill spilt; spoil spoilt; swell swollen; undergo underwent undergone; undo undid undone; weave wove woven
"""
"""English verbs with a past that no stemmer leads back to them, each with its forms; none that is mostly something
else ("rose", "bore", "ground", "wound", "lay")."""


@cache
def _irregular_pasts() -> frozenset[str]:
    return frozenset(form for verb in _IRREGULAR.split(";") for form in verb.split()[1:])


@cache
def irregular_forms() -> dict[str, tuple[str, ...]]:
    """By each irregular verb its past, and its participle if that is another."""
    return {verb.split()[0]: tuple(verb.split()[1:]) for verb in _IRREGULAR.split(";")}


@cache
def other_forms() -> dict[str, tuple[str, ...]]:
    """The stem of each form of an irregular verb with those of its other forms."""
    found: dict[str, tuple[str, ...]] = {}
    for verb in _IRREGULAR.split(";"):
        stems = tuple(dict.fromkeys(stem_analyzer(every=False).analyze(verb)))
        found |= {stem: tuple(other for other in stems if other != stem) for stem in stems}
    return found


_OTHERWISE: Final = """
    job employer occupation profession > work; employer > job; car drive; boss manager supervisor; salary earn wage;
    birthday birthdate born; birthplace > born grew; email mail; mobile cellphone phone; movie film;
    holiday vacation trip; husband wife spouse married; mother mum mom; father dad; child kid; sibling brother sister;
    child kid > son daughter; flat apartment; bicycle bike cycle; medicine medication tablet; surgery operation;
    doctor gp; university college uni; allergy allergic; price cost; height tall; weight weigh; hometown > grew raised;
    diet > vegetarian vegan eat; sleep bed; gym workout; colour color; favourite favorite;
    nationality > citizen passport; address > live street road avenue lane; town city > live moved
"""
"""Everyday words for one thing in questions and in what answers: each for the others, or the first by the rest."""
_THINGS_OF: Final = """
    sport > tennis football soccer basketball volleyball squash badminton rugby cricket hockey golf swim run cycle
    climb ski surf row yoga padel karate judo;
    pet > dog cat puppy kitten hamster rabbit parrot tortoise goldfish greyhound guinea horse;
    instrument > piano guitar violin cello drum flute trumpet clarinet saxophone harp organ oboe viola ukulele;
    language > speak english german french spanish italian portuguese dutch polish welsh arabic turkish russian japanese
    chinese korean hindi swedish greek;
    commute > train bus bike tram cycle drive tube metro ferry; hobby pastime > enjoy weekend;
    activity hobby pastime > read write cook bake garden paint draw photograph knit sew pottery dance sing hike camp
    fish hunt cycle run swim climb yoga chess game collect travel volunteer;
    exercise > run jog walk hike swim cycle yoga pilates gym row; art craft > paint draw sculpt pottery photograph
    knit sew; place country > visit travel trip
"""
"""Words for a kind of things, each with words for things of that kind."""
OTHERWISE_BOOST: Final = 0.8
"""What finding such a word is worth, beside the word itself."""


@cache
def told_by() -> dict[str, tuple[str, ...]]:
    """The stem of each word that questions use with those by which answers tell it: a sport, and tennis."""
    return _told_in(_OTHERWISE) | _things_of()


@cache
def _things_of() -> dict[str, tuple[str, ...]]:
    return _told_in(_THINGS_OF)


def _told_in(entries: str) -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for entry in entries.split(";"):
        asked, _, told = entry.partition(">")
        stems = [stem_analyzer(every=False).analyze(part) for part in (asked, told)]
        for stem in stems[0]:
            others = (other for other in (stems[1] or stems[0]) if other != stem)
            found.setdefault(stem, {}).update(dict.fromkeys(others))
    return {stem: tuple(others) for stem, others in found.items()}


def prepare(text: str) -> Prepared:
    """The text normalised (NFKC), folded, and taken apart by script."""
    if text.isascii():
        return Prepared(text, ())
    text = unicodedata.normalize("NFKC", text.encode("utf-8", "replace").decode())
    found = _UNSPACED.findall(text)
    if found:
        text = _UNSPACED.sub(" ", text)
    runs = tuple(part for run in found for part in _letters(run))
    return Prepared(_WIDE.sub(lambda match: _folded(match[0]), text), runs)


def analyze(text: str) -> Analysis:
    """Words, stems and unspaced runs of a text of any language."""
    spaced, runs = prepare(text)
    words, stems = _words(spaced)
    return Analysis(tuple(words), tuple(stems), runs)


def _words(spaced: str) -> tuple[list[str], list[str]]:
    """The words of a prepared text, and the stem of each."""
    return plain_analyzer().analyze(spaced), stem_analyzer(needs_all_stemmers(spaced)).analyze(spaced)


def grams(runs: tuple[str, ...]) -> Iterator[str]:
    """Every character and every overlapping pair of characters of the runs."""
    for run in runs:
        yield from run
        yield from map("".join, pairwise(run))


@lru_cache(maxsize=4096)
def type_stems(type: str) -> tuple[str, ...]:
    """The stems of the words of a type, which capitals divide: ``KnownFact`` is known and a fact."""
    spaced = prepare(_PARTS_OF_TYPE.sub(" ", type)).spaced
    return tuple(stem_analyzer(needs_all_stemmers(spaced)).analyze(spaced))


_CODE: Final = re.compile(r"(?<![^\W_])([^\W\d_]{1,8}[-_/]|[A-Z]{1,8} )(\d{1,6})(?!\d)")
"""A code that may be written as one word elsewhere: HER-4."""
_NUMBER_OF_CODE: Final = re.compile(r"(?<![^\W_])[^\W\d_]{1,8}(\d{1,6})(?![^\W_])")
"""The number in one that is one word: HER4."""


_GROUPED: Final = re.compile(r"(?<![\w.,])\d{1,3}(?:[.,'’\s]\d{3})+(?!\w|[.,'’]\d{3})")
"""A number whose thousands are parted, as one language or another does: 1,100, 1.100, 1 100, 1'100."""
_UNGROUPED: Final = re.compile(r"(?<![\w.,])[1-9]\d{3,8}(?!\w)")
"""One of which they may be parted elsewhere."""
_YEAR_LIKE: Final = re.compile(r"(?:19|20)\d\d")
GROUP_BOOST: Final = 0.5
"""A few digits of a number are less than the number: as much as other words have here beside their stems."""


def _number_terms(text: str) -> list[Term]:
    """What the numbers of a query may be elsewhere: 1100 for 1,100, and 1 and 100 for 1100.

    Texts have parted numbers as several words. Of what may be a year the first digit is not looked for.
    """
    found = [Term(PLAIN, re.sub(r"\D", "", number), 1.0, instead=True) for number in _GROUPED.findall(text)]
    for number in _UNGROUPED.findall(text):
        parts = f"{int(number):,}".split(",")[_YEAR_LIKE.fullmatch(number) is not None :]
        found += [Term(PLAIN, part, GROUP_BOOST, instead=True) for part in parts]
    return found


def query_terms(text: str) -> tuple[Term, ...]:
    """The search terms of a query in plain words; empty if nothing in it can be searched."""
    found = analyze(text[:MAX_QUERY_CHARACTERS])
    stems: dict[str, str] = {}
    dropped = function_words(found.words, text[:MAX_QUERY_CHARACTERS])
    for word, stem in zip(found.words, found.stems, strict=True):
        if word not in dropped:
            stems[word] = stem
            if len(stems) == MAX_QUERY_WORDS:
                break
    if not stems and not found.runs:
        stems = dict(list(zip(found.words, found.stems, strict=True))[:MAX_QUERY_WORDS])
    terms = [Term(PLAIN, word, PLAIN_BOOST) for word in stems]
    for stem in dict.fromkeys(stems.values()):
        terms += (Term(STEM, stem, 1.0), Term(NAME, stem, NAME_BOOST), Term(TYPE, stem, TYPE_BOOST))
    codes = [f"{word[:-1]}{number}".lower() for word, number in _CODE.findall(text[:MAX_QUERY_CHARACTERS])]
    codes += _NUMBER_OF_CODE.findall(text[:MAX_QUERY_CHARACTERS])
    terms += [Term(STEM, code, 1.0, instead=True) for code in dict.fromkeys(codes) if code not in stems]
    numbers = _number_terms(text[:MAX_QUERY_CHARACTERS])
    terms += [term for term in dict.fromkeys(numbers) if term.text not in stems]
    if dropped is STOP_WORDS:
        others = (other for stem in {*stems.values()} for other in other_forms().get(stem, ()))
        terms += (Term(STEM, other, 1.0, instead=True) for other in sorted({*others} - {*stems.values()}))
        known = {term.text for term in terms if term.field == STEM}
        told = _told_otherwise(found, stems.values())
        terms += (Term(STEM, other, OTHERWISE_BOOST, instead=True) for other in sorted(told - known))
    return (*terms, *_gram_terms(found.runs))


_BEFORE_KINDS: Final = frozenset(("what", "which", "my", "our", "your", "his", "her", "its", "their", "s"))
"""Behind these a kind is asked for or is somebody's; "s" is what is left of "Mila's"."""


def _told_otherwise(found: Analysis, sought: Collection[str]) -> set[str]:
    """The stems by which answers may tell the ``sought`` ones of a question.

    A kind that only says what another word is about ("the sports events") asks for nothing of that kind, unless it is
    asked for ("what sports activity") or is somebody's ("how long does my commute take").
    """
    told: set[str] = set()
    before, after = ("", *found.words), (*found.words[1:], "")
    for stem, previous, following in zip(found.stems, before, after, strict=False):
        asks = not following or following in STOP_WORDS or previous in _BEFORE_KINDS
        if stem in sought and (asks or stem not in _things_of()):
            told.update(told_by().get(stem, ()))
    return told


def function_words(words: Sequence[str], text: str = "") -> frozenset[str]:
    """The words of a question's language that only hold it together: those of English unless it has more of another.

    A letter or a sign of ``text`` that one language alone has counts as one such word more.
    """
    if _FOREIGN.isdisjoint(words):
        return STOP_WORDS
    best, most = STOP_WORDS, max(LEAST_FUNCTION_WORDS - 1, sum(word in STOP_WORDS for word in words))
    for language, of_language in _FUNCTION.items():
        count = sum(word in of_language for word in words)
        count += not text.isascii() and any(sign in text for sign in _MARKS.get(language, ""))
        if count > most:
            best, most = of_language, count
    return best


def may_be_foreign(text: str) -> bool:
    """False if a text in ASCII has no function word of another language than English, which is quick to say."""
    return not text.isascii() or not _FOREIGN.isdisjoint(words_in(text))


def words_in(text: str) -> set[str]:
    """The words of a text in ASCII, in small letters: what parts them is no letter and no digit."""
    return set(text.encode().translate(_LOWER_WORDS).decode("latin-1").split())


def language_of(question: str) -> str:
    """The language in which a question may name times, by its script or its words; empty for English and unknown ones.

    English needs as many of its words as any other language has of its own.
    """
    if question.isascii():
        if "." in question and _GERMAN_DAY_ALONE.fullmatch(question):
            return "de"
        words = words_in(question)
    else:
        for language, script in _SCRIPTS:
            if script.search(question):
                return language
        words = set(plain_analyzer().analyze(prepare(question[:MAX_QUERY_CHARACTERS]).spaced))
    best, most = "", max(LEAST_FUNCTION_WORDS - 1, len(words & _TIMES_OF["en"]))
    if question.isascii() and len(words & _TIMES_ELSEWHERE) < most:
        return ""
    is_day = ("." in question and _GERMAN_DAY.search(question) is not None) + _asks_by_german_verb(question, words)
    if question.isascii() and len(words & _TIMES_ELSEWHERE) + is_day <= most:
        return ""
    for language, of_language in _TIMES_OF.items():
        count = len(words & of_language) + any(sign in question for sign in _MARKS.get(language, ""))
        count += is_day and language == "de"
        if count > most:
            best, most = language, count
    return best


def _asks_by_german_verb(question: str, words: set[str]) -> bool:
    """True of "Was wiegt Gerd?", whose "was" alone might be English."""
    if _GERMAN_ASKING.isdisjoint(words) or not _DUTCH.isdisjoint(words):
        return False
    return _GERMAN_VERB.search(question) is not None


def matched_words(text: str, terms: tuple[Term, ...]) -> list[str]:
    """Return the words of ``text`` by which a query with these terms finds it.

    They are folded, and in the text's order.
    """
    return sought(terms).matched(text)


class Sought(NamedTuple):
    """The words, stems and grams that a query looks for, and the two letters with which what it may find begins."""

    words: frozenset[str]
    stems: frozenset[str]
    grams: frozenset[str]
    beginnings: frozenset[str]

    def matched(self, text: str) -> list[str]:
        """As :func:`matched_words`."""
        spaced, runs = prepare(text[:MAX_MATCH_CHARACTERS])
        spaced = _without_signs(spaced)
        if spaced.isascii():
            matched = self._among(self._likely_words(spaced))
        else:
            told = zip(*_words(spaced), strict=True)
            found = (word for word, stem in told if stem in self.stems or word in self.words)
            matched = list(dict.fromkeys(found))
        if not runs:
            return matched
        stretches = [part for run in runs for part in _stretches(run, self.grams, 2)]
        if not stretches:
            stretches = [part for run in runs for part in _stretches(run, self.grams, 1)]
        return [*matched, *dict.fromkeys(stretches)]

    def stems_in(self, text: str) -> frozenset[str]:
        """The stems that a query looks for and a text has."""
        text = text[:MAX_MATCH_CHARACTERS]
        spaced = text if text.isascii() else _without_signs(prepare(text).spaced)
        if not spaced.isascii():
            return self.stems.intersection(_words(spaced)[1])
        likely = self._likely_words(spaced)
        return self.stems.intersection(_english_stems(likely)) if likely else frozenset()

    def _likely_words(self, spaced: str) -> list[str]:
        """The words of an ASCII text that may be found, in lower case, each once.

        Stemming changes the ends of words, so that most need not be stemmed to be told apart.
        """
        lowered = spaced.encode().translate(_LOWER_WORDS).decode("latin-1")
        beginnings = self.beginnings
        every = dict.fromkeys([word for word in lowered.split() if word[:2] in beginnings])
        return [word for word in every if len(word) < MAX_TOKEN_BYTES]

    def _among(self, words: list[str]) -> list[str]:
        """Those of some ASCII words in lower case that the query finds."""
        stems = zip(words, _english_stems(words), strict=True)
        return [word for word, stem in stems if stem in self.stems or word in self.words]


_SIGNS: Final = re.compile(
    "[\u00a0-\u00a9\u00ab-\u00b1\u00b4\u00b6-\u00b8\u00bb\u00bf\u2000-\u206f\u20a0-\u20bf\u2190-\u23ff"
    "\u2500-\u26ff\U0001f300-\U0001faff]"
)
"""Signs beyond ASCII that part words as any other sign does: quotes, dashes, arrows, pictures."""


def _without_signs(spaced: str) -> str:
    """A prepared text with spaces for signs beyond ASCII: most are in ASCII then, and their words are quick to find."""
    return spaced if spaced.isascii() else _SIGNS.sub(" ", spaced)


_MAX_STEMS: Final = 16_384
_STEMS: Final[dict[str, str]] = {}
"""The English stems of words that hits had, which one recall after the other looks at."""


def _english_stems(words: Sequence[str]) -> list[str]:
    known = list(map(_STEMS.get, words))
    if None in known:
        unknown = [word for word, stem in zip(words, known, strict=True) if stem is None]
        stems = dict(zip(unknown, stem_analyzer(every=False).analyze(" ".join(unknown)), strict=True))
        if len(_STEMS) > _MAX_STEMS:
            _STEMS.clear()
        _STEMS.update(stems)
        known = [stems[word] if stem is None else stem for word, stem in zip(words, known, strict=True)]
    return cast("list[str]", known)


def sought(terms: tuple[Term, ...]) -> Sought:
    """The terms that explain a hit of a query."""
    words, stems, some = (
        frozenset(term.text for term in terms if term.field == field) for field in (PLAIN, STEM, GRAMS)
    )
    return Sought(words, stems, some, _beginnings_of(words | stems, stems))


def sought_stems(stems: frozenset[str], words: frozenset[str] = frozenset()) -> Sought:
    """Some stems alone as what a query looks for, or some words beside them."""
    return Sought(words, stems, frozenset(), _beginnings_of(words | stems, stems))


def _beginnings_of(words: frozenset[str], stems: frozenset[str]) -> frozenset[str]:
    # The first two letters of a word are those of its stem, but for "dying" (die) and "oing" (o) and their like.
    beginnings = {word[:2] for word in words}
    beginnings |= {stem + vowel for stem in stems if len(stem) == 1 for vowel in "ei"}
    beginnings |= {two.replace("i", "y") for two in beginnings}
    return frozenset(beginnings)


@cache
def plain_analyzer() -> TextAnalyzer:
    """Splits at everything that is no letter or digit; lower case, no accents."""
    return _analyzer(())


def needs_all_stemmers(spaced: str) -> bool:
    """True if the text has letters that other stemmers than the English one are for."""
    return not spaced.isascii() and _STEMMED_APART.search(spaced) is not None


@cache
def stem_analyzer(every: bool) -> TextAnalyzer:
    """As :func:`plain_analyzer`, stemmed.

    In English, or by every stemmer at a third of the speed. Both give the same stem to a word that needs no other
    stemmer than the English one.
    """
    return _analyzer(("english", "russian", "arabic", "greek") if every else ("english",))


@cache
def gram_analyzer() -> TextAnalyzer:
    """Splits at spaces only: grams are joined by spaces."""
    from tantivy import TextAnalyzerBuilder, Tokenizer

    return TextAnalyzerBuilder(Tokenizer.whitespace()).build()


def _analyzer(languages: tuple[str, ...]) -> TextAnalyzer:
    from tantivy import Filter, TextAnalyzerBuilder, Tokenizer

    builder = TextAnalyzerBuilder(Tokenizer.simple()).filter(Filter.remove_long(MAX_TOKEN_BYTES))
    builder = builder.filter(Filter.lowercase()).filter(Filter.ascii_fold())
    for language in languages:
        builder = builder.filter(Filter.stemmer(language))
    return builder.build()


@lru_cache(maxsize=8192)
def _folded(run: str) -> str:
    """A stretch of non-ASCII text without case, accents and points.

    The breve of Cyrillic й stays: it makes another letter, and the Russian stemmer needs it.
    """
    kept: list[str] = []
    for character in unicodedata.normalize("NFD", run.casefold()):
        if character == _STRETCHING or unicodedata.category(character) == _UNSEEN:
            continue
        if unicodedata.combining(character) and not (character == "\u0306" and kept and kept[-1] == "и"):
            continue
        kept.append("'" if character in _APOSTROPHES else character)
    return unicodedata.normalize("NFC", "".join(kept))


def _letters(run: str) -> list[str]:
    """The run split at its punctuation: letters, marks and digits stay."""
    if run.isalpha():
        return [run]
    return "".join(c if unicodedata.category(c)[0] in "LMN" else " " for c in run).split()


_SCAFFOLDING: Final = lazy(
    "什么时候|什么|为什么|怎么样|怎么|怎样|哪里|哪儿|哪个|哪些|多少|多久|多远|吗$|呢$"
    "|何ですか|のですか|ですか|でしょうか|ましたか|ますか|ください|どうやって|どのくらい|どんな|どこ|どの|どれ|なぜ"
    "|(?<=[가-힣])(?:했나요|하나요|되나요|인가요|나요|까요|니까|에게서|에게|에서|부터|까지)$"
    "|^(?:무엇|어떤|무슨|어디|언제|누가|누구|어떻게|얼마나|우리)(?:은|는|이|가|을|를|의|에|인가요|일까요|이었나요)?$"
)
"""Function words of questions in Chinese, Japanese and Korean, as :data:`STOP_WORDS` are in English."""
_HIRAGANA: Final = re.compile("[\u3041-\u309f]+")
"""The script of Japanese grammar: a pair of its signs alone tells about as little as one sign of another script."""


def _without_scaffolding(runs: tuple[str, ...]) -> tuple[str, ...]:
    """The runs of a question without the words and endings that hold it together; all, if nothing else is there."""
    return tuple(part for run in runs for part in _SCAFFOLDING.split(run) if part) or runs


def _gram_terms(runs: tuple[str, ...]) -> list[Term]:
    runs = _without_scaffolding(runs)
    weights: dict[str, float] = {}
    for run in runs:
        for gram in grams((run,)):
            weight = 1.0 if len(gram) == len(run) or len(gram) > 1 else CHARACTER_BOOST
            if _HIRAGANA.fullmatch(gram) and len(gram) < len(run):
                weight = CHARACTER_BOOST
            weights[gram] = max(weight, weights.get(gram, 0.0))
        if len(weights) >= MAX_QUERY_GRAMS:
            break
    # Pairs first: a cap reached must not leave only single characters.
    ordered = sorted(weights.items(), key=lambda item: -item[1])
    return [Term(GRAMS, gram, weight) for gram, weight in ordered[:MAX_QUERY_GRAMS]]


def _stretches(run: str, sought: frozenset[str], size: int) -> Iterator[str]:
    """The longest parts of a run that consist of sought grams of one size."""
    start = end = -1
    for at in range(len(run) - size + 1):
        if run[at : at + size] not in sought:
            continue
        if at > end >= 0:
            yield run[start:end]
            start = -1
        if start < 0:
            start = at
        end = at + size
    if end >= 0:
        yield run[start:end]


MAX_STATEMENTS: Final = 12
"""Of one text; the first ones."""
MIN_WORDS: Final = 4
"""A shorter sentence says too little to be found by."""
MAX_CHARACTERS: Final = 32_000
"""How far into a text statements are looked for."""

_SPEAKER: Final = re.compile(r"([^:\n]{1,64}): ")
"""The beginning of a turn's content: the speaker, who is not part of the text."""


def split_speaker(text: str) -> tuple[str, str]:
    """The speaker in front of a text, if it names one, and the text without the speaker."""
    match = _SPEAKER.match(text)
    return ("", text) if match is None else (match[1], text[match.end() :])


def without_speaker(text: str) -> str:
    """A turn's content without the speaker."""
    return split_speaker(text)[1]


_SENTENCE_END: Final = re.compile(r"(?<=[.!?])[\"”)]*\s+|\n+")


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


_TITLES: Final = _listed("dr drs mr mrs ms mx prof rev fr hr gen col capt lt sgt st sen rep gov hon mt ft")
"""Short forms that end no sentence if a name follows."""
_COUNTING: Final = _listed(
    "no nos nr p pp ch fig vol tel art sec para ext apt jan feb mar apr jun jul aug sep sept oct nov dec"
)
"""The same, if a number follows."""
_SHORT: Final = _listed("e.g i.e z.b d.h u.a vs ca approx bzw cf incl viz")
"""The same, whatever follows."""
_LAST: Final = _listed("etc usw inc ltd co corp bros jr sr a.m p.m min max est dept")
"""The same, if no capital letter follows."""
_SHORTENED: Final = _TITLES | _COUNTING | _SHORT | _LAST
_HALVES: Final = {"e": "g", "i": "e", "z": "B", "d": "h", "u": "a"}
"""Abbreviations whose second letter follows a blank: "z. B."."""
_OF_LETTERS: Final = _listed("a an is vitamin plan hepatitis grade type option part section room gate class team")
"""Words behind which a letter is the name of one of a kind: "vitamin C." ends a sentence."""
_BEFORE_STOP: Final = lazy(r"(?:(?P<before>[^\W_]+)[^\w.!?]{1,3})?(?P<word>[^\W\d_]+(?:\.\s?[^\W\d_])*)\.$")
_BEHIND_STOP: Final = lazy(r"[^\w\n]*(\w+)(\.?)")
_BEFORE_WORDS: Final = "\"'(\n\t*-/[“‘„«–—"
_LONGEST_SHORT: Final = 8
"""No short form has as many characters with the blank before it."""
_ABBREVIATED_WITHIN: Final = 48
"""How many characters before a full stop may tell that it belongs to a short form."""


def sentences(text: str) -> list[str]:
    """The parts of a text up to full stops, question and exclamation marks and line ends, as they stand there.

    Behind "Dr.", "e.g.", "No. 5" or "J. Smith", and German "z. B." and "Nr. 5", a sentence goes on.
    """
    found, begin = list[str](), 0
    for end in _SENTENCE_END.finditer(text):
        if "\n" in end[0] or not _goes_on(text, begin, end):
            found.append(text[begin : end.start()])
            begin = end.end()
    return [*found, text[begin:]]


def _goes_on(text: str, begin: int, end: re.Match[str]) -> bool:
    """True if what seems to end a sentence is the full stop of a short form."""
    stop = end.start()
    if text[stop - 1 : stop] != ".":
        return False
    tail = text[max(begin, stop - _LONGEST_SHORT) : stop - 1]
    last = tail[tail.rfind(" ") + 1 :].lstrip(_BEFORE_WORDS)
    if len(last) > 1 and "." not in last and last.casefold() not in _SHORTENED:
        return False
    said = _BEFORE_STOP.search(text, max(begin, stop - _ABBREVIATED_WITHIN), stop)
    behind = _BEHIND_STOP.match(text, end.end())
    if said is None or behind is None:
        return False
    word, before, following = said["word"].replace(" ", ""), said["before"] or "", behind[1]
    short, is_letter = word.casefold(), len(following) == 1 and bool(behind[2])
    is_name = following[0].isupper() and (is_letter or following.casefold() not in STOP_WORDS)
    if short in _SHORT or (behind[2] and _HALVES.get(word) == following):
        return True
    if short in _COUNTING and following[0].isdecimal():
        return True
    if short in _TITLES:
        # "Main St." ends one, and "St. Mary" does not.
        is_street = short == "st" and before[:1].isupper()
        return not is_street and (is_name or (following.islower() and following not in STOP_WORDS))
    if short in _LAST:
        return following.islower()
    letters = word.split(".")
    if not all(len(each) == 1 and each.isupper() for each in letters) or word == "I":
        return False
    if len(letters) > 1 and following.islower():
        return True
    return before.casefold() not in _OF_LETTERS and is_name


_FIRST_PERSON: Final = re.compile(r"\b(?:I|[Mm]y|me|mine|[Ww]e|[Oo]ur)\b")
_WORD: Final = re.compile(r"\w+")


_ASKING: Final = lazy(
    r"(?:(?:and|so|but|also|ok|okay|hey|hi|hello|please|well),?\s+)*"
    r"(?:(?:what|which|who|whom|whose|why|how)(?:'s|’s)?\b(?!\s+(?:i|we|you|he|she|they|it|a|an)\b)"
    r"|(?:(?:when|where)\s+)?(?:did|do|does|is|are|am|was|were|have|has|had|can|could|should|would|will)(?:n't|n’t)?"
    r"\s+(?:i|you|we|he|she|it|they|my|our|the|there|this|that|any\w*)\b"
    r"|(?:can|could|would|will)\s+you\b"
    r"|(?:tell|remind|show|give|help)\s+(?:me|us)\b|(?:list|find|suggest|recommend|explain|describe|name)\b)",
    re.I,
)
"""How a sentence begins that asks something, in English."""
_ASKING_INSIDE: Final = lazy(
    r"\bremind me\b|\bwas wondering\b|\bhow many\b|\bdo you (?:remember|know)\b|\b(?:at|in|from|to|of) (?:which|whom)\b"
    r"|\b(?:any|some) (?:advice|suggestions?|recommendations?|ideas?|tips)\b",
    re.I,
)
"""Phrases that occur only in questions."""


class SpokenStatements(NamedTuple):
    """The statements of a text's speaker, each once, and the percentage of the text's words in them."""

    statements: list[str]
    percent: int


def extract_statements(text: str) -> SpokenStatements:
    """Extract the sentences in which a text's speaker says something about themselves, in order."""
    found: dict[str, None] = {}
    words = stated = 0
    for sentence in sentences(without_speaker(text[:MAX_CHARACTERS])):
        told = sentence.strip()
        found_words = _WORD.findall(told)
        length = len(found_words)
        words += length
        if length < MIN_WORDS or not _FIRST_PERSON.search(told) or told.rstrip('"”)').endswith("?"):
            continue
        # "I pomodori sono morti" is Italian, and "me" a word of five languages.
        if function_words([word.casefold() for word in found_words]) is STOP_WORDS:
            stated += length
            if len(found) < MAX_STATEMENTS:
                found[told] = None
    return SpokenStatements(list(found), round(100 * stated / words) if words else 0)


def is_remark(text: str) -> bool:
    """True if a text says something of its speaker and asks nothing.

    A question counts with a question mark or without.
    """
    return not is_asking(text) and bool(extract_statements(text).statements)


def is_asking(text: str) -> bool:
    """True if a text asks something, or asks for it, in English, or has a question mark."""
    if "?" in text or _ASKING_INSIDE.search(text):
        return True
    return any(_ASKING.match(sentence.strip()) for sentence in sentences(without_speaker(text[:MAX_CHARACTERS])))


STANDING_WORDS: Final = "always never whenever remember ask now future"
"""Words that find texts which may have a :func:`standing_instruction`."""
_WHENEVER: Final = (
    r"\b(?:when(?:ever)?|if|(?:every|any|each)\s?time(?:\s+that)?)\s+(?:(?:I|we)(?:['’]m|\s+am|['’]re|\s+are)?"
    r"\s+(?:\w+\s+)?"
    r"(?:ask(?:ing)?|request(?:ing)?|inquir(?:e|ing)|mention|bring\s+up|talk(?:ing)?\s+(?:about|of)|discuss(?:ing)?)"
    r"|(?:asking|answering|replying|responding)\s+(?:about|to|me))\b"
)
_FROM_NOW: Final = r"\b(?:from\s+now\s+on|from\s+here\s+on|going\s+forward|in\s+(?:the\s+|all\s+|your\s+)*future)\b"
_DO: Final = (
    r"(?:please|always|never|don['’]t|do\s+not|use|call|address|answer|reply|respond|give|include|format|write|keep"
    r"|provide|show|speak|explain|avoid|start|end|stop|mention|make\s+sure|be\s+sure|remember)\b"
)
_STANDING: Final = lazy(
    rf"{_WHENEVER}"
    rf"|{_FROM_NOW},?\s+(?:you\s+|I(?:['’]d|\s+would)\s+like\s+you\s+|I\s+want\s+you\s+|could\s+you\s+)?{_DO}"
    rf"|^{_DO}.*{_FROM_NOW}"
    r"|^(?:please,?\s+)?(?:always|never)\s+(?!mind\b)\w+\b.*\b(?:me|my)\b"
    r"|\bplease\s+(?:always|never|remember\s+(?:to|that|my)|(?:keep|bear)\s+in\s+mind)\b"
    r"|\b(?:I(?:['’]d|\s+would)\s+like|I\s+want|I\s+need)\s+you\s+to\s+(?:always|never)\b",
    re.I,
)
"""English forms of an instruction for all later answers."""
_ASKED_ABOUT: Final = lazy(
    rf"{_WHENEVER}(?:\s+(?:(?:you|me)\s+)?(?:about|for|on|to)\b)?(?P<subject>(?:[^,:;.!?]|[.:](?=\S))*)", re.I
)
_ANY_SUBJECT: Final = frozenset(["question", "anyth", "everyth", "someth", "thing", "you", "me", "again", "futur"])
"""Stems of what is no subject."""
_ANSWERING: Final = re.compile(r"^(?:assistant|ai|agent|bot): ", re.I)
TASTE_WORDS: Final = (
    "prefer rather favour favor favourite favorite love enjoy hate dislike avoid chosen chose decided opted prioritise"
    " prioritize allergic fan"
)
"""Words by which texts are searched for that say what somebody likes or has chosen."""
_INSTRUCTED_WITHIN: Final = 2_000
"""How many characters of a text may hold a standing instruction, which is short."""


def is_answering(text: str) -> bool:
    """True if a text is what an assistant said, by the name before it."""
    return _ANSWERING.match(text) is not None


@lru_cache(maxsize=64)
def standing_instruction(text: str) -> str:
    """The sentence of a text that instructs all later answers; empty if there is none.

    "Always name versions when I ask about libraries." Texts of an assistant have none.
    """
    if is_answering(text):
        return ""
    for sentence in sentences(without_speaker(text[:_INSTRUCTED_WITHIN])):
        told = sentence.strip()
        if not told.endswith("?") and _STANDING.search(told):
            return told
    return ""


@lru_cache(maxsize=64)
def instruction_stems(instruction: str) -> frozenset[str]:
    """The stems of a standing instruction's subject: "libraries" for "when I ask about libraries".

    An instruction without a condition has all of its stems.
    """
    when = _ASKED_ABOUT.search(instruction)
    rest = instruction if when is None else instruction[when.start("subject") :]
    return query_stems(rest) or query_stems(instruction)


def governed_stems(instruction: str) -> frozenset[str]:
    """The stems of what a standing instruction says it is for; none if it is for any question.

    "If I ask for recipes: no nuts" is for recipes, "when I ask a question, be brief" for any.
    """
    when = _ASKED_ABOUT.search(instruction)
    return frozenset() if when is None else query_stems(when["subject"]) - _ANY_SUBJECT


def query_stems(text: str) -> frozenset[str]:
    """The stems by which a text in plain words is searched for."""
    return frozenset(term.text for term in query_terms(text) if term.field == STEM and not term.instead)


# -- what tells two texts in nearly the same words apart


def say_otherwise(one: str, other: str) -> bool:
    """True if two texts in nearly the same words may say different things: then neither repeats the other.

    They differ in a letter ("vitamin C", "vitamin D"), a sign, a unit or a word such as "less", in voice or tense, or
    in who does what to whom. It is a list of signs, by English words: false means that none of them was found.
    """
    before, after = (_Wording(_SHORT_FORM.sub("", text.lower())) for text in (one, other))
    return (
        before.letters != after.letters
        or before.units_differ(after)
        or before.markers() != after.markers()
        or before.is_opposed(after)
        or before.differs_in_tense(after)
        or before.tells_of_act(after)
        or before.differs_in_voice(after)
        or before.roles_differ(after)
    )


class _Wording:
    """The words of a text in their order, and what of it is told by single characters."""

    def __init__(self, text: str) -> None:
        self.words: list[str] = _WORDING.findall(text)
        self.known = frozenset(self.words)
        self.letters = sorted(each.strip() for found in _LETTERS.finditer(text) for each in found.groups() if each)
        # Of a number with its unit: the currency before it, and the word behind.
        self.units = {
            (found["number"], unit)
            for found in _MEASURED.finditer(text)
            for unit in (_unit_of(found["sign"] or ""), _unit_of(found["unit"] or ""))
            if unit
        }

    def units_differ(self, other: _Wording) -> bool:
        """True if one number has one unit here, and another there."""
        mine, theirs = self.units - other.units, other.units - self.units
        return any(number == same for number, _ in mine for same, _ in theirs)

    def markers(self) -> list[str]:
        return sorted(word for word in self.words if word in _MARKERS)

    def is_opposed(self, other: _Wording) -> bool:
        mine, theirs = self.known - other.known, other.known - self.known
        for sides in _OPPOSITES:
            told, heard = ([side for side in sides if side & said] for said in (mine, theirs))
            if any(side != against for side in told for against in heard):
                return True
        return False

    def differs_in_tense(self, other: _Wording) -> bool:
        """True if one tells of the past what the other tells of now: has and had, works and worked."""
        for now, then in ((self.known, other.known), (other.known, self.known)):
            if not _HAS.isdisjoint(now) and "had" in then and "had" not in now and _HAS.isdisjoint(then):
                return True
            is_past = not _WAS.isdisjoint(then) and _BE.isdisjoint(then)
            if is_past and not _BE.isdisjoint(now) and _WAS.isdisjoint(now):
                # "Is written" says of now what "was written" says.
                return not (self if then is self.known else other).passives()
        past, present = self._pasts(), other._pasts()
        return bool(
            (past.keys() & (other._stems() - present.keys())) or (present.keys() & (self._stems() - past.keys()))
        )

    def tells_of_act(self, other: _Wording) -> bool:
        """True if only one tells what was done to a thing: "has a class", and "dropped her class"."""
        mine, theirs = self._acts(), other._acts()
        return not (mine and theirs) and not (mine <= other.known and theirs <= self.known)

    def _acts(self) -> set[str]:
        return {
            word
            for at, (word, behind) in enumerate(pairwise(self.words))
            if behind in _ARTICLES
            and (word.endswith("ed") or word in _irregular_pasts())
            and _AUXILIARY.isdisjoint(self.words[max(at - 2, 0) : at])
        }

    def _pasts(self) -> dict[str, str]:
        places = enumerate(self.words)
        return {
            stem: word
            for at, word in places
            if word.endswith("ed") and not _AUXILIARY & set(self.words[max(at - 2, 0) : at])
            for stem in analyze(word).stems
        }

    def _stems(self) -> frozenset[str]:
        """The stems of the words that may be verbs of the present or the future."""
        return frozenset(stem for word in self.words if not word.endswith("ed") for stem in analyze(word).stems)

    def passives(self) -> set[tuple[str, str]]:
        """What is done, each with the word for whom it is done to."""
        found = set()
        for at in range(1, len(self.words) - 1):
            if self.words[at] in _WAS | _BE:
                done = self.words[at + 2] if self.words[at + 1] in _PASSING and at + 2 < len(self.words) else ""
                for word in (self.words[at + 1], done):
                    if word.endswith("ed") or word in _DONE:
                        found.add((self.words[at - 1], word))
        return found

    def differs_in_voice(self, other: _Wording) -> bool:
        """True if one says of somebody that they did what was done to them by the other."""
        for passive, active in ((self, other), (other, self)):
            acts = set(pairwise(active.words))
            for whom, done in passive.passives() - active.passives():
                if any(who == whom and (did == done or did[:4] == done[:4] != "") for who, did in acts):
                    return True
        return False

    def roles_differ(self, other: _Wording) -> bool:
        """True if two words have changed places around another one, or stand behind "from" here and "to" there."""
        mine, theirs = self._roles(), other._roles()
        if any(mine[word] != theirs[word] for word in mine.keys() & theirs.keys()):
            return True
        one, two = self.words[:_MAX_ORDERED], other.words[:_MAX_ORDERED]
        if one == two or not _EITHER_WAY.isdisjoint(self.known | other.known):
            return False
        common = [word for word in dict.fromkeys(one) if word in other.known and word not in STOP_WORDS]
        place = {word: at for at, word in reversed(list(enumerate(two)))}
        kept = _common_length(one, two)
        if kept + 2 > min(len(one), len(two)):
            return False
        for at, first in enumerate(common):
            for second in common[at + 1 :]:
                if place.get(first, 0) <= place.get(second, 0) or _are_listed(one, first, second):
                    continue
                swapped = [second if word == first else first if word == second else word for word in one]
                if _common_length(swapped, two) >= kept + 2:
                    return True
        return False

    def _roles(self) -> dict[str, str]:
        """The words right behind a preposition that gives them a role, articles aside, each with it."""
        found: dict[str, str] = {}
        role = ""
        for word in self.words:
            if word in _ROLES:
                role = word
            elif role and word not in _ARTICLES:
                found[word], role = role, ""
        return found


def _are_listed(words: Sequence[str], first: str, second: str) -> bool:
    """True if only "and" or "or" is between two words: their order says nothing."""
    between = words[words.index(first) + 1 : words.index(second)]
    return bool(_LISTING.intersection(between)) and len(between) <= 2


def _common_length(one: Sequence[str], other: Sequence[str]) -> int:
    """The length of the longest sequence of words that both have in order."""
    row = [0] * (len(other) + 1)
    for word in one:
        before = 0
        for at, each in enumerate(other, 1):
            before, row[at] = row[at], before + 1 if word == each else max(row[at], row[at - 1])
    return row[-1]


def _unit_of(word: str) -> str:
    return next((unit for unit, words in _UNITS.items() if word in words), "")


_SHORT_FORM: Final = re.compile(r"n?['’](?:s|m|re|ve|ll|d|t)\b")
_WORDING: Final = re.compile(r"[^\W\d_]\+\+|[^\W\d_]#|\d+(?:[.,:]\d+)*|[^\W\d_]+")
_KINDS: Final = (
    "team|group|block|type|class|vitamin|hepatitis|section|gate|terminal|hall|wing|row|seat|building|grade|version"
    "|option|platform|zone|unit|series|appendix|exhibit|level|product|candidate|influenza"
)
_LETTERS: Final = re.compile(
    rf"(?<=\d)([^\W\d_])(?![^\W_])|(?<![^\W_])([^\W\d_])(?=\d)|(?<![^\W_])(?:(?:{_KINDS}) ([ai]))(?![^\W_])"
    r"|(?<![^\W_'’.])([^\W\d_][+-](?![\w+])|(?![ai]\b)[^\W\d_](?:\+\+|#)?|c\+\+|a(?=[^\w\s]|\s*$))(?![^\W_])"
    r"|(?:(?<=\s)|^)([-−–])(?=[$€£]?\d)|\b(m)inus (?=\d)"
)
"""Letters by themselves or at a number, "C++", and the signs of numbers; "a" and "I" are words but for "team A"."""
_MEASURED: Final = re.compile(
    r"(?P<sign>[$€£¥]|\b(?:usd|eur|gbp|chf) )?(?P<number>\d+(?:[.,:]\d+)*) ?(?:degrees? )?(?P<unit>[^\W\d_]+|[$€£¥%])?"
)
_UNITS: Final = {
    words.split()[0]: frozenset(words.split())
    for words in (
        "$ usd dollar dollars bucks", "€ eur euro euros", "£ gbp pound pounds quid", "¥ yen jpy", "chf franc francs",
        "k thousand", "million mn mio", "billion bn", "% percent", "celsius", "fahrenheit", "kelvin",
        "km kilometre kilometres kilometer kilometers", "mile miles mi", "metre metres meter meters",
        "cm centimetre centimetres centimeter centimeters", "mm millimetre millimetres millimeter millimeters",
        "inch inches", "foot feet ft", "kg kilo kilos kilogram kilograms", "gram grams", "mg milligram milligrams",
        "lb lbs", "stone stones", "ounce ounces oz", "litre litres liter liters", "ml millilitre millilitres",
        "second seconds", "minute minutes min mins", "hour hours hrs", "day days", "week weeks", "month months",
        "year years", "am", "pm", "kb", "mb", "gb", "tb", "kw", "kwh", "mw", "mhz", "ghz",
    )
}  # fmt: skip
_MARKERS: Final = _listed(
    "more less fewer over under above below before after without former formerly ex almost nearly except unless"
    " until least most may might should must would could hardly barely rarely seldom minus plus"
)
"""Words that change what the others say, wherever they are."""
_OPPOSITES: Final = tuple(
    tuple(frozenset(words.split()) for words in each.split("/"))
    for each in (
        "in/out", "on/off", "up/down", "left/right", "first/second/third/fourth/fifth", "first/last", "inside/outside",
        "always/never/sometimes", "all/some/none", "from/to", "open opens opened/close closes closed",
        "buy buys bought/sell sells sold", "lend lends lent/borrow borrows borrowed", "win wins won/lose loses lost",
        "love loves like likes/hate hates dislike dislikes", "older oldest/younger youngest", "old/new", "old/young",
        "long/short", "big large/small", "high/low", "good/bad", "strong/weak", "rich/poor", "full/empty", "light/dark",
        "wet/dry", "fast/slow", "cheap/expensive", "thick/thin", "easy/hard difficult", "clean/dirty", "public/private",
        "indoor/outdoor", "male/female", "warm hot/cold cool", "married/unmarried", "legal/illegal",
        "taller/shorter", "longer/shorter", "bigger larger/smaller", "faster/slower", "cheaper/dearer pricier",
        "better/worse", "best/worst", "higher/lower", "hotter warmer/colder cooler", "earlier/later", "early/late",
        "allowed/forbidden banned", "accepted/rejected refused declined", "increased rose/decreased fell",
        "start starts started begin begins began/stop stops stopped end ends ended quit quits", "passed/failed",
        "north/south/east/west", "northern/southern/eastern/western", "give gives gave/take takes took get gets got",
        "arrive arrives arrived/leave leaves left", "day/night", "morning/afternoon/evening",
        "his/her", "he/she", "mother/father", "son/daughter", "husband/wife", "teaches taught/learns learnt learned",
        "maximum/minimum", "single/married/divorced", "alive/dead", "true/false", "safe/unsafe dangerous",
        "hired/fired",
        "pay pays paid/earn earns earned", "send sends sent/receive receives received",
        "hundred/thousand/million/billion",
    )
)  # fmt: skip
"""Words of which one text has one and the other text another that is not beside it, so that they say the opposite."""
_HAS: Final = frozenset({"has", "have", "owns"})
_BE: Final = frozenset({"is", "are", "am"})
_WAS: Final = frozenset({"was", "were"})
_AUXILIARY: Final = _HAS | _BE | _WAS | {"be", "been", "being", "had", "get", "gets", "got"}
_PASSING: Final = _listed("recently just already also still once often not never currently now soon")
_DONE: Final = _listed(
    "taken given sent paid sold bought taught told made seen beaten bitten chosen known written left lost won"
    " built caught held shown thrown stolen driven hit hurt cut shot struck found fed led met lent brought fought"
    " born"
)
_ROLES: Final = _listed("from to by than into onto toward towards against")
_ARTICLES: Final = _listed("the a an his her their my our your its")
_LISTING: Final = frozenset({"and", "or"})
_EITHER_WAY: Final = _listed(
    "married spouse spouses brother brothers sister sisters sibling siblings twin twins cousin cousins friend"
    " friends neighbour neighbours neighbor neighbors colleague colleagues roommate roommates flatmate flatmates"
    " partner partners met equals same"
)
"""What one is to the other the other is to the one."""
_MAX_ORDERED: Final = 48
"""Of so many words the order is compared."""


def forget() -> None:
    """Forget all texts, types and questions, as an erasure asks for."""
    _STEMS.clear()
    _folded.cache_clear()
    standing_instruction.cache_clear()
    instruction_stems.cache_clear()
    type_stems.cache_clear()
