"""Times that a question names in other languages, put into English for :mod:`question_dates` to read.

A table for each language has its words, without accents and in small letters, in the order of the English ones; forms
of one word are parted by a slash. One grammar reads German, Spanish, French, Italian, Portuguese and Russian, which
differ in what stands before and what behind; another reads Chinese, Japanese and Korean, where a relation stands behind
its point. Days stand before months in figures ("3.5.2024"). Pure, and imported only for a question in such a language.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from typing import Final, NamedTuple

from worlddb.log.model.times import DAYS, MONTHS
from worlddb.query.question.english_times import Tense

_SEASONS: Final = ("spring", "summer", "autumn", "winter")
_PARTS: Final = ("the beginning of", "the middle of", "the end of")
_ORDINAL_TOO: Final = frozenset(("segunda", "terca", "quarta", "quinta", "sexta"))
"""Days in Portuguese that are numbers too: beside "last" they are days."""
_COUNTED: Final = (
    r"(?:eur|usd|euros?|dollars?|dolares|dollari|francs?|pesos|reais|mal|veces|fois|volte|vezes|раз|руб|евро|персон"
    r"|person|mensch|leute|gente|gens|pessoas|km|kilom|met|kg|gram|worter|palabras|mots|parole|palavras|seiten|paginas)"
)
"""Before one of these four figures are no year."""
_UNITS: Final = ("day", "week", "weekend", "month", "year")
_YEAR: Final = r"(?P<year>(?:19|20)\d\d)"


_WILL: Final = {
    "de": r"\b(?:werde|wirst|wird|werden|werdet)\b",
    "fr": r"\b(?:va|vas|vont|allons|allez|\w{2,}(?:era|eras|erons|eront|irez|irons|iront)|aura|auront|ira|iront)\b",
    "es": r"\b(?:va|vas|vamos|van)\s+a\s+\w*[aeií]r(?:se|me|te|nos|l[aeo]s?)?\b|\b\w{2,}(?:rá|rás|rán|remos)\b",
    "pt": r"\b(?:vai|vão|vamos)\b|\b\w{2,}(?:rá|rás|rão|remos)\b",
    "it": r"\b\w{2,}(?:rà|rai|ranno|remo)\b",
    "ru": r"\b(?:буду|будешь|будет|будем|будете|будут)\b",
    "zh": r"打算|将要|将会|将来|將|计划|計劃",
    "ja": r"予定|つもり|計画|でしょう",
    "ko": r"예정|계획|[겠]|[할갈올될볼줄살을]\s?(?:거|것|게)",
}
"""The plain futures of some languages, and plans where a verb has none."""


_KOREAN_PAST: Final = "".join(
    chr(sign) for sign in range(0xAC00, 0xD7A4) if (sign - 0xAC00) % 28 == 20 and chr(sign) not in "있겠"
)
"""Syllables that end as the past of verbs does, but for "is" and the future."""
_WAS: Final = {
    "de": r"\b(?:war|warst|waren|hatte\w*|wurden?|gab|gaben|ging\w*|kam\w*|geschah\w*|passierte\w*|machte\w*"
    r"|sagte\w*|tat|taten|wollte\w*|wog|nahm|aß|trank|schlief|lief|fand|sprach|schrieb|traf|verlor|bekam|fuhr|trug"
    r"|hielt|blieb|wusste|brachte"
    r"|(?:was|wo|wer|wen|wem|wann|warum|viel|oft|lange)\s+(?!heute|bitte|möchte|könnte|sollte|dürfte|müsste|arbeite)"
    r"(?-i:[a-zäöüß]{3,}te(?:st)?)"
    r"|(?-i:ge)(?!hen|ben|gen|fallen|lten|plant|bucht|dacht|wicht|sicht|richt|schäft|biet|burt|halt|stalt"
    r"|rät|\w*(?:heit|keit|schaft)\b|hört|nießt|winnt|lingt|nügt|schieht|rade|nau)\w{3,}(?:t|en)"
    r"|(?:ha(?:t|be|st|ben|bt)|ist|sind|bin)\b[^.?!]*\s(?-i:(?:ver|be|er|ent|emp|zer)"
    r"(?!reit|kannt|rüh\w+t)\w{3,}(?:t|en)"
    r"|\w+iert|(?:ab|an|auf|aus|ein|mit|vor|zu|weg|um)ge\w{2,}(?:t|en))(?=\W*\Z))\b",
    "es": r"\b(?:fui|fue|fuimos|fueron|era|eran|estaba\w*|estuv\w+|hubo|hab[ií]a\w*|hice|hizo|hicimos|hicieron"
    r"|he|has|ha|hemos|han|\w{2,}(?:ó|aron|ieron|aste|iste)|(?!café|aqu|porqu)\w{3,}[éí]"
    r"|(?!(?:ac|gr|al|tr|h)aba)\w{2,}(?:aba[ns]?|ábamos)"
    r"|(?:viv|ten|quer|com|dec|hac|pod|sal|beb|prefer|conduc|le|ve|sab|cre|deb|pon|tra|sent|conoc|aprend|vend|escrib"
    r"|recib|perten|perd|serv|corr|part|sub|dorm|exist|parec|o|ca|pertenec|manten|volv|entend|suger)ía(?:s|n|mos)?)\b",
    "fr": r"\b(?:étai\w+|avai\w+|avion?s|eut|fut|furent|dit(?=\s+(?:Ana|hier))"
    r"|(?!jamais|mais|vais|fais|sais|fait|sait|plait|lait|portrait|souhait|extrait|parfait|français|anglais"
    r"|irlandais)\w{3,}(?:ait|aient|ais)"
    r"|(?:ai|as|a|avons|avez|ont)(?:-(?:t-)?\w+)?\s+(?:(?!le|la|les|une?|des|du)\w+\s+){0,2}?"
    r"(?:\w{2,}(?:é|ée|és|ées|i|is|ie)|\w+u|fait|dit|mis|pris|écrit|eu|été|vu|lu)"
    r"|(?:s['’]est|suis|es|est|sommes|êtes|sont)(?:-(?:t-)?\w+)?\s+(?:\w+\s+)?"
    r"(?:passé|arrivé|allé|venu|parti|né|mort|resté|tombé|sorti|entré|devenu|rentré|revenu)(?:e|s|es)?)\b",
    "it": r"\b(?:era|erano|ero|fu|furono|ebbe\w*|(?:av|\w{2,}[aei])ev[aoi]\w{0,3}"
    r"|\w{2,}(?:avano|evano|ivano|ava|eva|iva(?<!arriva)(?<!viva)(?<!scriva)(?<!attiva)(?<!sportiva))"
    r"|(?:ho|hai|ha|abbiamo|avete|hanno)\s+(?:\w+\s+)?\w+(?:at|ut|it|tt|st|rt|nt|s)[oaie]"
    r"|(?:è|sono|sei|siamo|siete)\s+(?:\w+\s+)?(?:stat|successo|accadut|andat|venut|arrivat|nat|mort|partit|tornat"
    r"|uscit|rimast|diventat|passat|entrat)[oaie]?)\b",
    "pt": r"\b(?:fui|foi|fomos|foram|era|eram|estava\w*|tive|teve|tivemos|tinha\w*|fiz|fez|fizemos|fizeram|houve"
    r"|havia|disse\w*|veio|vieram|(?!sou|vou|dou|estou|ou)\w{2,}ou|\w{2,}(?:aram|eram|iram)"
    r"|(?!(?:l|gr|escr|tr|c)ava)\w{2,}(?:ava[ms]?|ávamos)"
    r"|(?:viv|com|beb|prefer|quer|pod|sab|dev|vend|escrev|receb|conduz|dirig|faz|diz|traz|conhec|aprend"
    r"|dorm|pertenc)ia[ms]?"
    r"|(?!meu|seu|teu|museu|europeu)\w{2,}[ei]u|(?!lei|rei|sei)\w{3,}ei)\b",
    "ru": r"(?<!\w)(?!стол|школ|дел[аои]\b|зал\w?\b|футбол|канал|материал|мало\b|сел[ао]\b|весел|начал[ао]\b"
    r"|пол\b|угл|недел|цел|журнал|сигнал|отел)\w+[аеиыуояё]л(?:а|о|и|ась|ось|ись|ся)?(?!\w)",
    "zh": r"[了過曾]|过(?![年节生])|[当當]时|以前|那时",
    "ja": r"(?:まし|でし|だっ|かっ|[いしっえけべめねせげてちみりきぎび])"
    r"た(?=か|の|ん|っけ|人|時|[?？。]|\s*\Z)(?<!あした)"
    r"|[\u4e00-\u9fff]た(?=か|の|ん|人|[?？。]|\s*\Z)|[んい]だ(?=の[はが]|[?？]|\s*\Z)",
    "ko": rf"[{_KOREAN_PAST}]|던|있었",
}
"""Verbs of the past; what has none is of the present."""


_PLANNED: Final = re.compile(
    r"\b(?:ge)?plan(?:e|en|t|ea\w*)\b|\b(?:pre|pré)vist[oa]s?\b|\b(?:est|sont)\s+(?:prévu|planifié)\w{0,2}\b"
    r"|\bplanejad\w+\b|\bзапланирован\w*\b",
    re.I,
)


def tense_of(question: str, language: str) -> Tense:
    """Of when a question in a language asks, by its verbs."""
    will, was = _WILL.get(language), _WAS.get(language)
    if will is not None and re.search(will, question, re.I) is not None:
        return "ahead"
    if was is None or re.search(was, question, re.I) is not None:
        return "past"
    return "ahead" if _PLANNED.search(question) is not None else "present"


_SOON: Final = "in {{count}} {{unit}}s"
_WEEKEND: Final = "on the weekend"
_AHEAD: Final = {
    "de": (
        (r"in\s+{count}\s+{unit}(?!\w)", _SOON),
        (r"(?<=\bam )wochenende(?!\w)", _WEEKEND),
        (r"(?<=\bam )(?P<day>\d{{1,2}})\.(?=\s*(?:[?!,;]|\Z))", "on the {{day}}th"),
        (r"ubernachste\s+woche(?!\w)", "the week after next"),
    ),
    "es": (
        (r"(?:dentro\s+de|en)\s+{count}\s+{unit}(?!\w)", _SOON),
        (r"(?<=\bel )fin\s+de\s+semana(?!\w)", _WEEKEND),
        (r"(?:(?<=\bel )|(?<=\bdia ))(?P<day>\d{{1,2}})(?=\s*(?:[?!,;]|\Z))", "on the {{day}}th"),
    ),
    "fr": (
        (r"(?:dans|d'ici)\s+{count}\s+{unit}(?!\w)", _SOON),
        (r"(?<=\ble )week-?end(?!\w)", _WEEKEND),
        (r"(?<=\ble )(?P<day>\d{{1,2}})(?=\s*(?:[?!,;]|\Z))", "on the {{day}}th"),
    ),
    "it": (
        (r"(?:[tf]ra)\s+{count}\s+{unit}(?!\w)", _SOON),
        (r"(?:(?<=\bil )|(?<=\bnel ))(?:fine\s+settimana|weekend)(?!\w)", _WEEKEND),
        (r"(?<=\bil )(?P<day>\d{{1,2}})(?=\s*(?:[?!,;]|\Z))", "on the {{day}}th"),
    ),
    "pt": (
        (r"(?:daqui\s+a|dentro\s+de|em)\s+{count}\s+{unit}(?!\w)", _SOON),
        (r"(?:(?<=\bno )|(?<=\bo ))fim\s+de\s+semana(?!\w)", _WEEKEND),
        (r"(?<=\bdia )(?P<day>\d{{1,2}})(?=\s*(?:[?!,;]|\Z))", "on the {{day}}th"),
    ),
    "ru": (
        (r"через\s+{count}\s+{unit}(?!\w)", _SOON),
        (r"через\s+(?:{unit})(?!\w)", "in one {{unit}}"),
        (r"(?<=\bна )выходных(?!\w)|(?<=\bв )выходные(?!\w)", _WEEKEND),
    ),
}
"""Forms that the tense gives a meaning."""
_IN_FIGURES: Final = {
    **dict.fromkeys(("de", "ru"), r"(?P<day>\d{1,2})\.\s?(?P<number>1[0-2]|0?[1-9])(?:\.(?!\d)|(?=\s*(?:[?!,;]|\Z)))"),
    **dict.fromkeys(
        ("es", "fr", "it", "pt"),
        r"(?:(?<=\bel )|(?<=\ble )|(?<=\bil )|(?<=\bdia )|(?<=\bem )|(?<=\bal )|(?<=\bau )|(?<=\bdu )|(?<=\bdel ))"
        r"(?P<day>\d{1,2})[/.](?P<number>1[0-2]|0?[1-9])(?![\d/.%])",
    ),
}
"""A day without its year: behind a point in German and Russian, elsewhere behind what only a day has."""


class Phrase(NamedTuple):
    """The words of a question that name a time, by their characters, and the English for them.

    Empty if they name one that no English says. "Since or from" is for a word that says both: "da gennaio".
    """

    start: int
    end: int
    english: str


class _Spaced(NamedTuple):
    """The words of a language that parts words by spaces."""

    months: str
    days: str
    seasons: str
    units: str
    numbers: str
    """One to twelve."""
    last: str
    """Before its unit, or behind it; so are the next two."""
    this: str
    coming: str
    ago: str
    """Before the number, or behind its unit."""
    near: dict[str, str]
    relations: dict[str, str]
    between: tuple[tuple[str, str], ...]
    parts: str
    """The beginning, the middle and the end of a month or a year."""
    small: str
    """What may stand between a relation, a number, a month and a year and says nothing."""
    vague: str
    lasts: str
    """The last, of several: beside a number they are read, and else told."""
    several: str
    """Days, weeks, months and years."""
    told: tuple[str, ...]
    """Forms of what names a time and is not read: what hangs on an event, a feast, an ordinal. ``W`` is a word."""


_SPACED: Final = {
    "de": _Spaced(
        "januar/janner februar/feber marz april mai juni juli august september oktober november dezember",
        "montag dienstag mittwoch donnerstag freitag samstag/sonnabend sonntag",
        "fruhling/fruhjahr sommer herbst winter",
        "tag/tage/tagen/tages woche/wochen wochenende/wochenendes monat/monate/monaten/monats jahr/jahre/jahren/jahres",
        "ein/eine/einem/einer/einen zwei drei vier funf sechs sieben acht neun zehn elf zwolf",
        "letzte letzten letzter letztes letztem vorige vorigen voriger voriges vergangene vergangenen vergangenes",
        "diese diesen dieser dieses diesem",
        "nachste nachsten nachster nachstes kommende kommenden",
        "vor",
        {
            "gestern": "yesterday",
            "vorgestern": "day before yesterday",
            "heute": "today",
            "morgen": "tomorrow",
            "ubermorgen": "day after tomorrow",
        },
        {
            "since": "seit",
            "from": "ab",
            "before": "vor",
            "until": "bis/bis_zum/bis_zur",
            "after": "nach",
            "in": "im/in/am/an/um/von/vom/wahrend",
        },
        (("zwischen", "und"), ("von", "bis"), ("vom", "bis")),
        "anfang mitte ende",
        "der die das den dem des zum im jahr jahre",
        "neulich kurzlich damals letztens jungst bislang einst demnachst bald inzwischen"
        " in_letzter_zeit vor_kurzem vor_langem seit_kurzem seit_langem bis_dahin bis_jetzt bis_heute",
        "letzten vergangenen vorigen",
        "tage/tagen wochen monate/monaten jahre/jahren",
        (
            r"(?:bevor|ehe|nachdem|seitdem|sobald|solange)W{1,3}",
            r"seit(?!\s+wann)W{1,2}",
            r"bis\s+(?:ich|du|er|sie|es|wir|man|de[rmn]|die|das|zu[mr])W{1,2}",
            r"(?:vor|nach)\s+(?:de[rmn]|(?:mein|dein|sein|ihr|unser|eur)e[rmn])W",
            r"als\s+(?:ich|du|er|sie|es|wir|ihr|man)W{1,3}",
            r"(?:(?:an|zu|uber|vor|nach|seit|bis)\s+)?"
            r"(?:weihnachten|ostern|pfingsten|silvester|neujahr|heiligabend|karneval|fasching)(?!\w)",
            r"(?:(?:am|vom|zum|im|ab|in\s+de[rmn]|an\s+de[rmn]|bis\s+zu[mr])\s+)?"
            r"(?:(?:erste|zweite|dritte|vierte|funfte|sechste|siebe?n?te|achte|neunte|zehnte|elfte|zwolfte|\w+zehnte"
            r"|\w*zwanzigste|\w*drei(?:ss|ß)igste)[nrms]?|\d{1,2}\.)"
            r"\s+(?:month|\w*wochen?|quartals?|halbjahre?s?|halfte|jahrhunderts?|jahrzehnts?|tage?s?)(?!\w)",
            r"(?:in\s+den\s+)?(?:\w+(?:zig|ssig|ßig)er|(?:19|20)?\d0er)[\s-]?jahren?",
        ),
    ),
    "es": _Spaced(
        "enero febrero marzo abril mayo junio julio agosto septiembre/setiembre octubre noviembre diciembre",
        "lunes martes miercoles jueves viernes sabado domingo",
        "primavera verano otono invierno",
        "dia/dias semana/semanas fin_de_semana mes/meses ano/anos",
        "un/una dos tres cuatro cinco seis siete ocho nueve diez once doce",
        "ultimo ultima pasado pasada",
        "este esta",
        "proximo proxima que_viene",
        "hace",
        {
            "ayer": "yesterday",
            "anteayer": "day before yesterday",
            "hoy": "today",
            "anoche": "last night",
            "manana": "tomorrow",
            "pasado manana": "day after tomorrow",
        },
        {
            "since or from": "desde",
            "from": "a_partir",
            "before": "antes",
            "until": "hasta",
            "after": "despues",
            "in": "en/durante/el/de/del",
        },
        (("entre", "y"), ("desde", "hasta"), ("de", "a"), ("del", "al")),
        "principios/comienzos mediados finales/fines/final/fin",
        "el la los las de del ano dia",
        "recientemente ultimamente antiguamente hace_poco hace_mucho hace_tiempo desde_entonces hasta_entonces"
        " hasta_ahora en_aquel_entonces por_aquel_entonces",
        "ultimos ultimas pasados pasadas",
        "dias semanas meses anos",
        (
            r"(?:antes|despues)\s+de(?:l|W)(?:W){1,2}|antes(?!\s+de)(?!\w)",
            r"(?:desde|hasta|mientras|siempre)\s+queW{1,3}",
            r"(?:desde|hasta)\s+(?:el|la|mi|tu|su|nuestr[oa])W",
            r"(?<!desde )(?<!hasta )(?<!de )(?<!para )(?<=\w )cuandoW{1,3}",
            r"(?:(?:en|por|antes\s+de|despues\s+de|desde|hasta)\s+(?:la\s+|el\s+)?)?"
            r"(?:navidad(?:es)?|nochebuena|nochevieja|semana\s+santa|pascuas?|ano\s+nuevo)(?!\w)",
            r"(?:(?:en|de|del|desde|hasta)\s+)?(?:el\s+|la\s+)?(?:primer[oa]?|segund[oa]|tercer[oa]?|cuart[oa])"
            r"\s+(?:de\s+)?(?:month|semana|trimestre|semestre|mitad|siglo|quincena|dia)(?!\w)",
            r"(?:en\s+)?los\s+anos\s+(?:\w+enta|veinte|\d0)",
            r"los\s+(?:lunes|martes|miercoles|jueves|viernes)(?!\w)",
        ),
    ),
    "fr": _Spaced(
        "janvier fevrier mars avril mai juin juillet aout septembre octobre novembre decembre",
        "lundi mardi mercredi jeudi vendredi samedi dimanche",
        "printemps ete automne hiver",
        "jour/jours semaine/semaines week-end/weekend mois annee/an/ans/annees",
        "un/une deux trois quatre cinq six sept huit neuf dix onze douze",
        "dernier derniere passe passee",
        "ce cet cette",
        "prochain prochaine",
        "il_y_a",
        {
            "hier": "yesterday",
            "avant-hier": "day before yesterday",
            "aujourd'hui": "today",
            "demain": "tomorrow",
            "apres-demain": "day after tomorrow",
        },
        {
            "since": "depuis",
            "from": "a_partir/des",
            "before": "avant",
            "until": "jusqu'a/jusqu'en/jusqu'au",
            "after": "apres",
            "in": "en/au/le/pendant/durant/l'/de/du",
        },
        (("entre", "et"), ("de", "a"), ("du", "au")),
        "debut milieu/mi fin",
        "le la les l' de du d' des annee mois",
        "recemment naguere jadis autrefois bientot jusque-la jusqu'ici jusqu'alors a_l'epoque il_y_a_longtemps"
        " il_y_a_peu ces_derniers_temps depuis_peu depuis_longtemps",
        "derniers dernieres",
        "jours semaines mois annees/ans",
        (
            r"(?:avant|apres|depuis|pendant|tandis)\s+qu(?:'|eW)W{0,2}",
            r"(?:avant\s+de|apres\s+(?:avoir|etre))W{1,2}",
            r"(?:avant|apres|depuis)\s+(?:l'|(?:l[ea]s?|mon|ma|mes|son|sa|ses|notre|nos|leurs?|votre|vos|une?)\s+)"
            r"[\w-]+",
            r"lorsqu(?:'|eW)W{1,2}|avant(?=\s*(?:[?.!,]|\Z))",
            r"(?<!depuis )(?<!jusqu'a )quand\s+(?:il|elle|je|tu|nous|vous|ils|elles|on)W{1,2}",
            r"(?:(?:a|avant|apres|depuis)\s+)?(?:noel|paques|la\s+pentecote|la\s+toussaint|le\s+nouvel\s+an)(?!\w)",
            r"(?:(?:l[ea]|au|du|a\s+la|de\s+la|pendant\s+la|dans\s+la)\s+)?"
            r"(?:premiere?|deuxieme|seconde?|troisieme|quatrieme|[xvi]+e|\d{1,2}e)"
            r"\s+(?:month|semaine|trimestre|semestre|moitie|siecle|quinzaine|jour)(?!\w)",
            r"(?:dans\s+)?les\s+annees\s+(?:\d0|vingt|trente|quarante|cinquante|soixante|quatre-vingts?)",
        ),
    ),
    "it": _Spaced(
        "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
        "lunedi martedi mercoledi giovedi venerdi sabato domenica",
        "primavera estate autunno inverno",
        "giorno/giorni settimana/settimane fine_settimana/weekend mese/mesi anno/anni",
        "un/uno/una due tre quattro cinque sei sette otto nove dieci undici dodici",
        "scorso scorsa ultimo ultima passato passata",
        "questo questa quest'",
        "prossimo prossima",
        "fa",
        {
            "ieri": "yesterday",
            "l'altro ieri": "day before yesterday",
            "oggi": "today",
            "domani": "tomorrow",
            "dopodomani": "day after tomorrow",
        },
        {
            "since or from": "da/dal/dall'",
            "from": "a_partire_da/a_partire_dal/a_partire_dall'",
            "before": "prima",
            "until": "fino_a/fino_al/fino_alla/fino_all'/entro",
            "after": "dopo",
            "in": "in/a/nel/nell'/il/l'/durante/di/del/dell'",
        },
        (("tra", "e"), ("fra", "e"), ("da", "a"), ("dal", "al")),
        "inizio meta fine",
        "il lo la l' i gli le di del dell' dello della anno mese",
        "recentemente ultimamente poco_fa tempo_fa allora finora da_allora fino_ad_allora di_recente un_tempo"
        " da_poco da_tempo",
        "ultimi ultime scorsi scorse",
        "giorni settimane mesi anni",
        (
            r"(?:prima|dopo)\s+(?:che|d[ie]|aver|esser)W{1,3}|(?:prima|dopo)(?=\s*(?:[?.!,]|\Z))",
            r"(?:prima\s+del(?:l[ao'])?|dopo\s+(?:il|lo|la|l'|i|gli|le))\s*(?!\w+\s+(?:il|lo|la)\s)[\w-]+",
            r"(?:da\s+quando|fin\s+quando|finche|mentre|appena)W{1,3}",
            r"(?<!da )(?<!di )(?<!fino a )(?<=\w )quandoW{1,3}",
            r"(?:(?:a|per|prima\s+di|dopo|da|fino\s+a)\s+)?(?:natale|pasqua|capodanno|ferragosto|epifania)(?!\w)",
            r"(?:(?:il|la|nel|nella|del|della|dal|dalla)\s+)?(?:prim[oa]|second[oa]|terz[oa]|quart[oa])"
            r"\s+(?:month|settimana|trimestre|semestre|meta|secolo|giorno)(?!\w)",
            r"negli\s+anni\s+(?:'?\d0|\w+anta|venti|trenta)",
        ),
    ),
    "pt": _Spaced(
        "janeiro fevereiro marco abril maio junho julho agosto setembro outubro novembro dezembro",
        "segunda-feira/segunda terca-feira/terca quarta-feira/quarta quinta-feira/quinta sexta-feira/sexta sabado"
        " domingo",
        "primavera verao outono inverno",
        "dia/dias semana/semanas fim_de_semana mes/meses ano/anos",
        "um/uma dois/duas tres quatro cinco seis sete oito nove dez onze doze",
        "ultimo ultima passado passada",
        "este esta neste nesta",
        "proximo proxima",
        "ha atras",
        {
            "ontem": "yesterday",
            "anteontem": "day before yesterday",
            "hoje": "today",
            "amanha": "tomorrow",
            "depois de amanha": "day after tomorrow",
        },
        {
            "since": "desde",
            "from": "a_partir",
            "before": "antes",
            "until": "ate",
            "after": "depois/apos",
            "in": "em/no/na/durante/de/do/da",
        },
        (("entre", "e"), ("desde", "ate"), ("de", "a")),
        "inicio/comeco meados fim/final",
        "o a os as de do da no na ao ano dia",
        "recentemente ultimamente antigamente ha_pouco ha_muito ate_entao desde_entao ate_agora naquela_epoca",
        "ultimos ultimas passados passadas",
        "dias semanas meses anos",
        (
            r"(?:antes|depois)\s+(?:queW|d[aeo]s?W|deW)W{0,2}|antes(?!\s+d)(?!\w)",
            r"(?:apos|desde|ate)\s+(?:que|os?|as?)W{1,3}",
            r"(?:enquanto|assim\s+que|logo\s+que)W{1,3}",
            r"(?<!desde )(?<!ate )(?<!de )(?<=\w )quandoW{1,3}",
            r"(?:(?:no|na|em|antes\s+d[aeo]|depois\s+d[aeo])\s+)?(?:natal|pascoa|carnaval|ano\s+novo|reveillon)(?!\w)",
            r"(?:(?:o|a|no|na|em|do|da|de)\s+)?(?:primeir[oa]|segund[oa]|terceir[oa]|quart[oa])"
            r"\s+(?:de\s+)?(?:month|semana|trimestre|semestre|metade|seculo|dia)(?!\w)",
            r"nos\s+anos\s+(?:\w+enta|vinte|\d0)",
        ),
    ),
    "ru": _Spaced(
        "январь/января/январе/январем февраль/февраля/феврале/февралем март/марта/марте/мартом"
        " апрель/апреля/апреле/апрелем маи/мая/мае/маем"
        " июнь/июня/июне/июнем июль/июля/июле/июлем август/августа/августе/августом"
        " сентябрь/сентября/сентябре/сентябрем октябрь/октября/октябре/октябрем"
        " ноябрь/ноября/ноябре/ноябрем декабрь/декабря/декабре/декабрем",
        "понедельник/понедельника вторник/вторника среда/среду/среды четверг/четверга пятница/пятницу/пятницы"
        " суббота/субботу/субботы воскресенье/воскресенья",
        "весна/весны/веснои лето/лета/летом осень/осени/осенью зима/зимы/зимои",
        "день/дня/днеи неделя/неделю/недели/неделе/недель выходные/выходных месяц/месяца/месяцев/месяце"
        " год/года/году/лет",
        "один/одну/одна два/две три четыре пять шесть семь восемь девять десять одиннадцать двенадцать",
        "прошлыи прошлую прошлое прошлои прошлом прошлого прошлые прошлых прошлым",
        "этот эту это этои этом этого эти этих этим",
        "следующии следующую следующем следующеи",
        "назад",
        {
            "вчера": "yesterday",
            "позавчера": "day before yesterday",
            "сегодня": "today",
            "завтра": "tomorrow",
            "послезавтра": "day after tomorrow",
        },
        {
            "since or from": "с/со",
            "from": "начиная_с",
            "before": "до",
            "until": "вплоть_до",
            "after": "после",
            "in": "в/во/на/за/от",
        },
        (("между", "и"), ("с", "по"), ("с", "до")),
        "начале/начала середине/середины конце/конца",
        "года году г.",
        "недавно давно раньше прежде вскоре скоро тогда к_тому_времени в_то_время до_сих_пор до_тех_пор"
        " в_последнее_время",
        "последние последних прошлые прошлых",
        "дни/днеи недели/недель месяцы/месяцев/месяца годы/лет/года",
        (
            r"(?:до|после)\s+того,?\s+какW{1,3}",
            r"с\s+тех\s+пор(?:,?\s+какW{1,3})?",
            r"(?:прежде\s+чем|пока\s+не|как\s+только)W{1,3}",
            r"(?<=, )когдаW{1,3}",
            r"(?:после|перед)W",
            r"до\s+(?!скольки|какого)\w{4,}",
            r"(?:(?:на|в|до|после|перед|под|с)\s+)?(?:рождеств\w+|пасх\w+|масленниц\w+|новы[ий]\s+год|нового\s+года"
            r"|новым\s+годом)(?!\w)",
            r"(?:(?:в|во|с|до)\s+)?(?:перв|втор|трет|четверт|пят|шест|седьм|восьм|девят|десят|\w+надцат|двадцат"
            r"|тридцат)\w{1,4}\s+(?:month|квартал\w*|недел\w+|половин\w+|век\w*|полугоди\w+)(?!\w)",
            r"(?:в\s+)?(?:\w+десят|девянос|сороков)\w+\s+год(?:ы|ах|ов)(?!\w)",
        ),
    ),
}


_HAN: Final = r"\d{1,2}|十[一二]?|[一二三四五六七八九两兩]"
_HAN_DAY: Final = r"\d{1,2}|三十一?|二十[一二三四五六七八九]?|十[一二三四五六七八九]?|[一二三四五六七八九]"
_ONE_TO_TEN: Final = "一二三四五六七八九十"
_KOREAN_NUMBERS: Final = ["한", "두", "세", "네", "다섯", "여섯", "일곱", "여덟", "아홉", "열", "열한", "열두"]
_KOREAN_COUNTS: Final = ("석", "넉", *_KOREAN_NUMBERS)
_SINO_KOREAN: Final = ["일", "이", "삼", "사", "오", "육", "칠", "팔", "구", "십", "십일", "십이"]


class _Unspaced(NamedTuple):
    """The forms of a language without spaces between words, and the words behind a point that give its relation."""

    points: tuple[tuple[str, str], ...]
    behind: tuple[tuple[str, str], ...]
    to: str
    """Between two points."""
    vague: str
    """Phrases of time without one meaning; for an event, its keyword is reported."""


_DATE: Final = rf"(?P<year>\d{{4}})年(?P<month>{_HAN})月(?P<day>{_HAN_DAY})[日号號]"
_CHINESE_WEEK: Final = "(?:周|週|星期|礼拜|禮拜)"
_UNSPACED: Final = {
    "zh": _Unspaced(
        (
            (_DATE, "{year}-{month:0>2}-{day:0>2}"),
            (rf"(?P<year>\d{{4}})年(?P<month>{_HAN})月", "in {name} {year}"),
            (rf"(?P<relative>[今去])年(?P<month>{_HAN})月", "in {name} of {which} year"),
            (rf"(?P<month>{_HAN})月(?P<day>{_HAN_DAY})[日号號]", "on {day} {name}"),
            (r"(?:(?P<year>\d{4})|(?P<relative>[今去]))年的?(?P<season>[春夏秋冬])(?:天|季)?", "in {season} {of}"),
            (
                rf"(?P<relative>[上这這本下])[个個]?{_CHINESE_WEEK}(?P<weekday>[一二三四五六日天])",
                "on {weekday} of {which} week",
            ),
            (rf"(?P<relative>[上这這本下])[个個]?{_CHINESE_WEEK}末", "{which} weekend"),
            (rf"(?P<month>{_HAN})月[底末]", "in the end of {name}"),
            (r"(?P<relative>[上这這本下])[个個]?月[底末]", "in the end of {which} month"),
            ("月[底末]", "in the end of this month"),
            (rf"上上[个個]?{_CHINESE_WEEK}", "the week before last"),
            (r"上上[个個]?月", "the month before last"),
            (rf"(?P<relative>[上这這本下])[个個]?{_CHINESE_WEEK}", "{which} week"),
            (r"(?P<relative>[上这這本下])[个個]?月", "{which} month"),
            (r"(?P<relative>[去今明])年", "{which} year"),
            ("前年", "the year before last"),
            ("昨[天日晚]", "yesterday"),
            ("前天", "day before yesterday"),
            ("今[天日]", "today"),
            ("大后天|大後天", "in three days"),
            ("后天|後天", "day after tomorrow"),
            ("明[天日晚]", "tomorrow"),
            (
                rf"(?P<count>{_HAN})(?P<unit>天|日|[个個]?{_CHINESE_WEEK}|[个個]月|年)(?:[之以])?前",
                "{count} {unit}s ago",
            ),
            (
                rf"(?P<count>{_HAN})[个個]?(?P<unit>天|日|{_CHINESE_WEEK}|[个個]月|年)(?:[之以])?[后後]",
                "in {count} {unit}s",
            ),
            (
                rf"(?:最近|[过過]去)的?(?P<count>{_HAN})(?P<unit>天|[个個]?{_CHINESE_WEEK}|[个個]月|年)",
                "in the last {count} {unit}s",
            ),
            (rf"(?P<month>{_HAN})月", "in {name}"),
            (r"(?P<year>(?:19|20)\d\d)年", "in {year}"),
            (rf"{_CHINESE_WEEK}(?P<weekday>[一二三四五六日天])", "on {weekday}"),
        ),
        (
            ("(?:之|以)?前", "before"),
            ("(?:之|以)?[后後]", "after"),
            ("以来|以來", "since"),
            ("起|开始|開始", "since or from"),
        ),
        "到|至",
        "最近|前不久|[之以]前|[之以][后後]|以[来來]|[当當那]时|[当當那]時|的时候|的時候|小[时時]候|后来|後來|曾[经經]|[过過]去|将来|將來"
        "|[圣聖][诞誕][节節]?|春[节節]|中秋[节節]?|[国國][庆慶][节節]?|元旦|除夕|端午[节節]?|清明[节節]|元宵[节節]"
        "|第[一二三四1-4]季度|[上下]半年|(?:[一二三四五六七八九]十|\\d0)年代|世[纪紀]",
    ),
    "ja": _Unspaced(
        (
            (_DATE, "{year}-{month:0>2}-{day:0>2}"),
            (rf"(?P<year>\d{{4}})年(?P<month>{_HAN})月", "in {name} {year}"),
            (rf"(?P<relative>去|昨|今)年の?(?P<month>{_HAN})月", "in {name} of {which} year"),
            (rf"(?P<month>{_HAN})月(?P<day>{_HAN_DAY})日", "on {day} {name}"),
            (r"(?:(?P<year>\d{4})|(?P<relative>[今去昨]))年の?(?P<season>[春夏秋冬])", "in {season} {of}"),
            (r"(?P<relative>[先今来])週の?(?P<weekday>[月火水木金土日])曜日?", "on {weekday} of {which} week"),
            (r"(?P<relative>[先今来])週末", "{which} weekend"),
            (rf"(?P<month>{_HAN})月末", "in the end of {name}"),
            (r"(?P<relative>[先今来])月末", "in the end of {which} month"),
            ("月末", "in the end of this month"),
            ("先々週", "the week before last"),
            ("先々月", "the month before last"),
            (r"(?P<relative>[先今来])週", "{which} week"),
            (r"(?P<relative>[先今来])月", "{which} month"),
            (r"一昨年|おととし", "the year before last"),
            (r"一昨日|おととい", "day before yesterday"),
            (r"(?P<relative>[去昨今来])年", "{which} year"),
            ("昨日|きのう|昨夜|昨晩", "yesterday"),
            ("今日|きょう", "today"),
            ("明日|あした|明晩", "tomorrow"),
            ("明後日|あさって", "day after tomorrow"),
            (rf"(?P<count>{_HAN})(?P<unit>日|週間?|[かヶカケ箇]月|年)前", "{count} {unit}s ago"),
            (rf"(?P<count>{_HAN})(?P<unit>日|週間?|[かヶカケ箇]月|年)後", "in {count} {unit}s"),
            (
                rf"(?:[こそ]の|ここ|過去|直近の?)(?P<count>{_HAN})(?P<unit>日間?|週間|[かヶカケ箇]月間?|年間?)",
                "in the last {count} {unit}s",
            ),
            (rf"(?P<month>{_HAN})月", "in {name}"),
            (r"(?P<year>(?:19|20)\d\d)年", "in {year}"),
            (r"(?:この)?前の(?P<weekday>[月火水木金土日])曜日?", "last {weekday}"),
            (r"(?P<weekday>[月火水木金土日])曜日?", "on {weekday}"),
        ),
        (
            ("以前|より前|の?前", "before"),
            ("以来", "since"),
            ("以降|から", "since or from"),
            ("まで", "until"),
            ("以後|の?後", "after"),
        ),
        "から|〜|～",
        "最近|この間|先日|以前|以[来降]|当時|昔|これまで|今まで|その[前後]|あの頃|もうすぐ|将来|(?:の|[うくぐすつぬぶむる])前(?=[にのは])"
        "|(?:の|[ただ])後(?=[にのはで])|[ただるの](?:時|とき|頃|ころ)"
        "|クリスマス|正月|お盆|大晦日|元旦|ゴールデンウィーク|バレンタイン|ハロウィン"
        "|第?[1-4一二三四]四半期|[上下]半期|[前後]半|\\d0年代|世紀",
    ),
    "ko": _Unspaced(
        (
            (r"(?P<year>\d{4})년\s*(?P<month>\d{1,2})월\s*(?P<day>\d{1,2})일", "{year}-{month:0>2}-{day:0>2}"),
            (r"(?P<year>\d{4})년\s*(?P<month>\d{1,2})월", "in {name} {year}"),
            (r"(?P<relative>작년|지난해|올해)\s*(?P<month>\d{1,2})월", "in {name} of {which} year"),
            (r"(?P<month>\d{1,2})월\s*(?P<day>\d{1,2})일", "on {day} {name}"),
            (
                r"(?:(?P<year>\d{4})년|(?P<relative>작년|지난해|올해))\s*(?P<season>봄|여름|가을|겨울)",
                "in {season} {of}",
            ),
            (r"지난\s*(?P<season>봄|여름|가을|겨울)", "last {season}"),
            (
                r"(?P<relative>지난|저번|이번|다음)\s*주\s*(?P<weekday>[월화수목금토일])요일",
                "on {weekday} of {which} week",
            ),
            (r"(?P<relative>지난|저번|이번|다음)\s*주말", "{which} weekend"),
            (r"(?P<month>\d{1,2})월\s*말", "in the end of {name}"),
            (r"(?P<relative>지난|저번|이번|다음)\s*달\s*말", "in the end of {which} month"),
            ("월말", "in the end of this month"),
            (r"지지난\s*주", "the week before last"),
            (r"지지난\s*달", "the month before last"),
            (r"(?P<relative>지난|저번|이번|다음)\s*주", "{which} week"),
            (r"(?P<relative>지난|저번|이번|다음)\s*달", "{which} month"),
            (r"재작년", "the year before last"),
            (r"(?P<relative>작년|지난해|올해|내년)", "{which} year"),
            ("그저께|그제", "day before yesterday"),
            ("어제|어젯밤", "yesterday"),
            ("오늘", "today"),
            ("내일", "tomorrow"),
            ("모레(?![가-힣]{2})", "day after tomorrow"),
            (
                rf"(?P<count>\d{{1,2}}|{'|'.join(sorted((*_KOREAN_NUMBERS, *_SINO_KOREAN), key=len, reverse=True))})\s*"
                r"(?P<unit>일|주일|주|개월|달|년)\s*전",
                "{count} {unit}s ago",
            ),
            (
                rf"(?P<count>\d{{1,2}}|{'|'.join(sorted((*_KOREAN_NUMBERS, *_SINO_KOREAN), key=len, reverse=True))})\s*"
                r"(?P<unit>일|주일|주|개월|달|년)\s*[후뒤](?:에|의)?(?![가-힣])",
                "in {count} {unit}s",
            ),
            (
                r"(?:지난|최근|과거)\s*"
                rf"(?P<count>\d{{1,2}}|{'|'.join(sorted(_KOREAN_COUNTS, key=len, reverse=True))})\s*"
                r"(?P<unit>일|주일|주|개월|달|년)",
                "in the last {count} {unit}s",
            ),
            (r"지난\s*(?P<weekday>[월화수목금토일])요일", "last {weekday}"),
            (r"(?P<month>\d{1,2})월", "in {name}"),
            (r"(?P<year>(?:19|20)\d\d)년", "in {year}"),
            (r"(?P<weekday>[월화수목금토일])요일", "on {weekday}"),
        ),
        ((r"\s*이전|\s*전에", "before"), (r"\s*이후", "after"), ("부터", "since or from"), ("까지", "until")),
        r"부터\s*|에서\s*|~\s*",
        "최근|요즘|얼마 전|당시|예전|옛날|그때|지금까지|이[전후](?:에|로)?(?![가-힣])|이래로?(?![가-힣])"
        "|(?<=\\s)(?:전에?|[후뒤]에?|때에?)(?![가-힣])|크리스마스|성탄절|설날|추석|부활절|새해"
        "|[1-4]분기|[상하]반기|\\d0년대|세기",
    ),
}
_WHICH: Final = {
    **dict.fromkeys(("上", "先", "去", "昨", "지난", "저번", "작년", "지난해"), "last"),
    **dict.fromkeys(("这", "這", "本", "今", "이번", "올해"), "this"),
    **dict.fromkeys(("下", "明", "来", "다음", "내년"), "next"),
}
_WEEKDAYS: Final = {
    sign: DAYS[place]
    for days in ("一二三四五六日", "一二三四五六天", "月火水木金土日", "월화수목금토일")
    for place, sign in enumerate(days)
}
_SEASON_OF: Final = {
    sign: _SEASONS[place]
    for seasons in (tuple("春夏秋冬"), ("봄", "여름", "가을", "겨울"))
    for place, sign in enumerate(seasons)
}


def number_words(language: str) -> dict[str, str]:
    """The words for two to twelve in a language, each with its figure."""
    words = _SPACED[language].numbers.split()[1:]
    return {form: str(number) for number, forms in enumerate(words, 2) for form in forms.split("/")}


def words_of_days() -> tuple[frozenset[str], frozenset[str]]:
    """The words of days and weeks, and those of months, of the languages that are written in Latin letters."""
    alone, months = set[str](), set[str]()
    for table in (table for language, table in _SPACED.items() if language != "ru"):
        units = re.split("[ /]", " ".join(table.units.split()[:2]))
        near = (word for word, english in table.near.items() if english != "today")
        for word in (*re.split("[ /]", table.days), *near, *units):
            alone.add(re.split("[-_' ]", word)[-1])
        months.update(re.split("[ /]", table.months))
    return frozenset(alone), frozenset(months)


def phrases(question: str, language: str) -> list[Phrase]:
    """The times that a question in a language names, in their order; empty for a language that has no table."""
    # In Spanish and Portuguese "when" is a question with its accent, and none without.
    folded = _fold_text(question.replace("uándo", "u_ndo"))
    if language in _SPACED:
        return list(_scan(folded, _grammar(language)))
    return list(_scan_unspaced(folded, language)) if language in _UNSPACED else []


def _fold_text(question: str) -> str:
    """The question without accents and in small letters, character by character."""
    return "".join(_fold_character(character) for character in question)


@lru_cache(maxsize=1024)
def _fold_character(character: str) -> str:
    if character in "’ʼ‘":
        return "'"
    if not ("\u3000" < character < "\ua000" or character >= "\uac00"):
        character = unicodedata.normalize("NFD", character)[0]
    else:
        plain = unicodedata.normalize("NFKC", character)
        character = plain if len(plain) == 1 else character
    small = character.lower()
    return small if len(small) == 1 else character


class _Grammar(NamedTuple):
    """The forms of a language: points, what may stand before or behind one, and English words for its own."""

    points: tuple[tuple[re.Pattern[str], str], ...]
    relations: tuple[tuple[re.Pattern[str], str], ...]
    between: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]
    english: dict[str, str]
    told: re.Pattern[str]
    begins: re.Pattern[str]
    """Any of all these: where it finds nothing, nothing need be looked for."""


def _without_group_names(forms: Iterable[str]) -> str:
    """A pattern of any of some forms, without named groups."""
    return re.sub(r"\?P<\w+>", "?:", "|".join(forms))


def _map_forms(words: str, english: Iterable[str]) -> dict[str, str]:
    """The English for each form of each word."""
    return {
        form.replace("_", " "): word
        for word, entry in zip(english, words.split(), strict=True)
        for form in entry.split("/")
    }


def _any_of(words: Iterable[str]) -> str:
    """Any of some words, the longest first; ``_`` stands for a space."""
    return "|".join(re.escape(word).replace("_", r"\s+") for word in sorted(words, key=len, reverse=True))


@cache
def _grammar(language: str) -> _Grammar:
    table = _SPACED[language]
    months, days = _map_forms(table.months, MONTHS), _map_forms(table.days, DAYS)
    seasons, units = _map_forms(table.seasons, _SEASONS), _map_forms(table.units, _UNITS)
    numbers = _map_forms(table.numbers, map(str, range(1, 13)))
    relative_words = {which: f"(?:{_any_of(words.split())})" for which, words in zip(_WORDS, table[5:8], strict=True)}
    small = rf"(?:(?:{_any_of(table.small.split())})(?:(?<=')|\s+))*"
    month, unit = f"(?P<month>{_any_of(months)})", f"(?P<unit>{_any_of(units)})"
    named = f"(?P<unit>{_any_of(units | days | months | seasons)})"
    count = rf"(?P<count>\d{{1,3}}|{_any_of(numbers)})"
    a_year = f"(?:{_any_of(form for form, word in units.items() if word == 'year')})"
    last_year = rf"(?P<relative>{relative_words['last']}\s+{a_year}|{a_year}\s+{relative_words['last']})"
    of_a_year = rf"(?:,?\s+{small}(?:{_YEAR}|{last_year})(?:\s+год[ау])?(?!\w))"
    parts = _map_forms(table.parts, _PARTS)
    ends = _any_of(form for form, word in units.items() if word in ("month", "year"))
    part = rf"(?:(?P<part>{_any_of(parts)})\s+{small})?"
    ago = [rf"{word.replace('_', ' ')}" for word in table.ago.split()]
    lasts, several = f"(?:{_any_of(table.lasts.split())})", f"(?:{_any_of(re.split('[ /]', table.several))})"
    points = (
        *((rf"{form}(?!\w)", "in the last {count} {unit}s") for form in _word_orders(lasts, count, unit)),
        (r"(?P<iso>\d{4}-\d\d-\d\d)(?!\d)", "{iso}"),
        (r"(?P<day>\d{1,2})[./-](?P<number>\d{1,2})[./-](?P<year>\d{4})(?!\d)", "{year}-{number:0>2}-{day:0>2}"),
        *(((_IN_FIGURES[language], "on {day} {name}"),) if language in _IN_FIGURES else ()),
        (rf"(?P<day>\d{{1,2}})(?:\.|er|º|o|-?го|-?е)?\s+{small}{month}(?!\w){of_a_year}?", "on {day} {month} {of}"),
        (rf"{part}{month}{of_a_year}", "in {part} {month} {of}"),
        (rf"(?P<part>{_any_of(parts)})\s+{small}(?P<unit>{ends})(?!\w)", "in {part} this {unit}"),
        *((rf"{words}\s+{named}(?!\w)", f"{which} {{unit}}") for which, words in relative_words.items()),
        *((rf"{named}\s+{words}(?!\w)", f"{which} {{unit}}") for which, words in relative_words.items()),
        (rf"{part}{month}(?!\w)", "in {part} {month}"),
        (rf"(?P<season>{_any_of(seasons)})(?!\w){of_a_year}?", "in {season} {of}"),
        *((rf"{word}\s+{count}\s+{unit}(?!\w)", "{count} {unit}s ago") for word in ago),
        *((rf"{count}\s+{unit}\s+{word}(?!\w)", "{count} {unit}s ago") for word in ago),
        (rf"{_NO_MORNING.get(language, '')}(?P<near>{_any_of(table.near)})(?!\w)", "{near}"),
        *((rf"{unit}\s+{word}(?!\w)", "1 {unit}s ago") for word in ago if language == "ru"),
        *((form.format(count=count, unit=unit), into.format()) for form, into in _AHEAD.get(language, ())),
        (rf"(?<!\blos )(?P<weekday>{_any_of(set(days) - _ORDINAL_TOO)})(?!\w)", "on {weekday}"),
        (rf"{part}{_YEAR}(?![\w.,:%-]|\s+{_COUNTED})(?:\s+год[ау]?(?!\w))?", "in {part} {year}"),
    )
    relations = {
        relation: rf"(?:{_any_of(forms.split('/'))})(?:(?<=')|\s+){small}"
        for relation, forms in table.relations.items()
    }
    between = [(rf"{first}\s+{small}", rf"\s+{then}\s+{small}") for first, then in table.between]
    written = (form.replace("month", _any_of(months)).replace("W", r"(?:\s+[\w'-]+)") for form in table.told)
    keywords = "|".join(
        (
            rf"(?:{_any_of(table.vague.split())})(?!\w)",
            rf"{lasts}\s+{several}(?!\w)",
            rf"{several}\s+{lasts}(?!\w)",
            *written,
        )
    )
    begins = (keywords, *(form for form, _ in points), *relations.values(), *(first for first, _ in between))
    return _Grammar(
        tuple((re.compile(form), into) for form, into in points),
        tuple((re.compile(form), relation) for relation, form in relations.items()),
        tuple((re.compile(first), re.compile(then)) for first, then in between),
        months | days | seasons | units | numbers | parts | table.near,
        re.compile(keywords),
        re.compile(rf"(?<![\w-])(?:{_without_group_names(begins)})"),
    )


_MORNINGS: Final = {
    "de": "heute gestern vorgestern am jeden guten den dem der einen einem diesen diesem eines vom zum",
    "es": "la esta cada una de_la por_la",
}
"""Before the word for tomorrow, which there is the one for the morning, too."""
_NO_MORNING: Final = {
    language: "".join(rf"(?<!\b{word.replace('_', ' ')} )" for word in words.split())
    for language, words in _MORNINGS.items()
}


def _word_orders(lasts: str, count: str, unit: str) -> Iterator[str]:
    """The ways to say the last three months: which word stands where differs, within a language too."""
    for words in ((lasts, count, unit), (count, lasts, unit), (count, unit, lasts)):
        yield r"\s+".join(words)


_WORDS: Final = ("last", "this", "next")
_ALONE: Final = re.compile(r"in (?:[a-z]+|\d{4})$")


def _scan(text: str, grammar: _Grammar) -> Iterator[Phrase]:
    at = 0
    while (there := grammar.begins.search(text, at)) is not None:
        begin = there.start()
        found = _read_phrase(text, begin, grammar) or _read_unresolved(text, begin, grammar)
        if found is not None:
            yield found
        at = begin + 1 if found is None else found.end


def _read_phrase(text: str, begin: int, grammar: _Grammar) -> Phrase | None:
    return (
        _read_range(text, begin, grammar) or _read_relation(text, begin, grammar) or _read_point(text, begin, grammar)
    )


def _read_unresolved(text: str, begin: int, grammar: _Grammar) -> Phrase | None:
    """What names a time and is not read, up to what is."""
    match = grammar.told.match(text, begin)
    if match is None:
        return None
    end = match.end()
    for space in re.finditer(r"\s+", text[begin:end]):
        if _read_phrase(text, begin + space.end(), grammar) is not None:
            end = begin + space.start()
            break
    return Phrase(begin, end, "")


def _read_range(text: str, begin: int, grammar: _Grammar) -> Phrase | None:
    for first, then in grammar.between:
        opening = first.match(text, begin)
        one = None if opening is None else _parse_point(text, opening.end(), grammar)
        middle = None if one is None else then.match(text, one.end)
        other = None if middle is None else _parse_point(text, middle.end(), grammar)
        if one is not None and other is not None and one.english and other.english:
            return Phrase(begin, other.end, f"between {_with_year(one, other)} and {_without_preposition(other)}")
    return None


def _with_year(one: Phrase, other: Phrase) -> str:
    """The first of two days, with the year that stands with the second."""
    year = re.search(r" \d{4}$", other.english)
    has_none = one.english.startswith("on ") and not re.search(r" \d{4}$", one.english)
    return _without_preposition(one) + (year[0] if year and has_none else "")


def _read_relation(text: str, begin: int, grammar: _Grammar) -> Phrase | None:
    ago = _parse_point(text, begin, grammar)
    if ago is not None and ago.english.endswith((" ago", "after tomorrow", "before yesterday")):
        return ago
    for form, relation in grammar.relations:
        opening = form.match(text, begin)
        point = None if opening is None else _parse_point(text, opening.end(), grammar)
        if point is not None:
            return Phrase(begin, point.end, _relate(relation, point) if point.english else "")
    return None


def _relate(relation: str, point: Phrase) -> str:
    """The English for a point behind a relation."""
    if relation == "in":
        return point.english
    return f"{relation} {_without_preposition(point)}" + " on" * (relation == "from")


def _read_point(text: str, begin: int, grammar: _Grammar) -> Phrase | None:
    """A point without a relation; a month or a year alone is none, since it may be a name or a number."""
    point = _parse_point(text, begin, grammar)
    return None if point is None or _ALONE.match(point.english) else point


def _without_preposition(point: Phrase) -> str:
    """The English of a point, for another relation than "in" or "on"."""
    return re.sub("^(?:in|on) ", "", point.english)


def _parse_point(text: str, begin: int, grammar: _Grammar) -> Phrase | None:
    for form, into in grammar.points:
        match = form.match(text, begin)
        if match is None:
            continue
        said = {name: _translate(word, grammar.english) for name, word in match.groupdict("").items()}
        said["of"] = said.get("year") or ("of last year" if said.get("relative") else "")
        said["name"] = MONTHS[int(said["number"]) - 1] if said.get("number") and not said.get("year") else ""
        return Phrase(begin, match.end(), " ".join(into.format(**said).split()) if said.get("near", "-") else "")
    return None


def _translate(word: str, english: dict[str, str]) -> str:
    return english.get(" ".join(word.split()), word)


_Compiled = tuple[tuple[re.Pattern[str], str], ...]


@cache
def _unspaced(language: str) -> tuple[_Compiled, _Compiled, re.Pattern[str]]:
    table = _UNSPACED[language]
    points = tuple((re.compile(form), into) for form, into in (*table.points, (table.vague, "")))
    begins = re.compile(_without_group_names(form for form, _ in (*table.points, (table.vague, ""))))
    return points, tuple((re.compile(form), relation) for form, relation in table.behind), begins


def _scan_unspaced(text: str, language: str) -> Iterator[Phrase]:
    points, behind, begins = _unspaced(language)
    to = re.compile(_UNSPACED[language].to)
    position = 0
    while (there := begins.search(text, position)) is not None:
        begin = there.start()
        point = _parse_point_unspaced(text, begin, points)
        if point is None:
            position = begin + 1
            continue
        middle = to.match(text, point.end)
        other = None if middle is None else _parse_point_unspaced(text, middle.end(), points)
        if other is not None and other.english and point.english:
            point = Phrase(begin, other.end, f"between {_without_preposition(point)} and {_without_preposition(other)}")
        elif point.english:
            for form, relation in behind:
                said = form.match(text, point.end)
                if said is not None:
                    point = Phrase(begin, said.end(), _relate(relation, point))
                    break
            else:
                if language == "zh" and text[begin - 1 : begin] in ("到", "至"):
                    point = Phrase(begin - 1, point.end, _relate("until", point))
        yield point
        position = point.end


def _parse_point_unspaced(text: str, begin: int, points: tuple[tuple[re.Pattern[str], str], ...]) -> Phrase | None:
    if begin and text[begin].isdigit() and text[begin - 1].isdigit():
        return None
    for form, into in points:
        match = form.match(text, begin)
        if match is None:
            continue
        said = match.groupdict("")
        for name in ("month", "day", "count"):
            said[name] = _number(said.get(name, ""))
        said["name"] = MONTHS[int(said["month"]) - 1] if said["month"] in _MONTH_NUMBERS else said["month"]
        said["which"] = _WHICH.get(said.get("relative", ""), "")
        said["of"] = said.get("year") or f"of {said['which']} year"
        said["weekday"] = _WEEKDAYS.get(said.get("weekday", ""), "")
        said["season"] = _SEASON_OF.get(said.get("season", ""), "")
        said["unit"] = next((unit for signs, unit in _UNIT_SIGNS if re.search(signs, said.get("unit", ""))), "")
        return Phrase(begin, match.end(), into.format(**said))
    return None


_MONTH_NUMBERS: Final = frozenset(map(str, range(1, 13)))
_UNIT_SIGNS: Final = (
    ("[周週]|星期|礼拜|禮拜|주", "week"),
    ("月|달|개월", "month"),
    ("年|년", "year"),
    ("[天日]|일", "day"),
)


def _number(sign: str) -> str:
    """A number up to 31 in figures."""
    if not sign or sign[0].isdigit():
        return sign.lstrip("0") or sign
    if sign in _KOREAN_COUNTS[:2]:
        return str(_KOREAN_COUNTS.index(sign) + 3)
    for words in (_KOREAN_NUMBERS, _SINO_KOREAN):
        if sign in words:
            return str(words.index(sign) + 1)
    tens, has_ten, ones = sign.replace("两", "二").replace("兩", "二").rpartition("十")
    value = (10 * (_ONE_TO_TEN.index(tens) + 1 if tens else 1) if has_ten else 0) + (
        _ONE_TO_TEN.index(ones) + 1 if ones else 0
    )
    return str(value)
