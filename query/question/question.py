"""A question, parsed once, and the request that carries it through a recall.

:class:`Question` finds times, names, participants, change intent and the form of the answer by forms of English, times
by those of nine other languages too.
:class:`Request` adds where it is asked, its lanes and its bounds.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from typing import Any, Final, NamedTuple

from worlddb.log.model import errors, limits
from worlddb.log.model.times import DAYS, FOREVER, MONTHS, Interval, lazy
from worlddb.projections.indexes.analysis import function_words, is_remark, language_of
from worlddb.projections.tables.apply.settings import TRUST_LEVELS
from worlddb.query.question.english_times import ASKS_WHEN, PLANNED, WILL, Tense
from worlddb.query.question.question_dates import Span, Time, Times, parse_times
from worlddb.query.snapshot.valid_period import Choice, Period

ASKERS: Final = ("user", "human", "me")
ASKED: Final = ("assistant", "ai", "agent", "bot")
"""Names of the two participants of a conversation with a machine."""
TO_MACHINES: Final = ("user", "human", *ASKED)
"""Whoever is called so talks to a machine, or is one."""

MAX_NAME_WORDS: Final = 4
_MAX_WORDS: Final = 200
_WORD: Final = lazy(r"[^\W_]+(?:['’-][^\W_]+)*", re.UNICODE)
_POSSESSIVE: Final = lazy(r"['’]s$")
_FIRST_PERSON: Final = lazy(r"\b(?:i|me|my|mine|myself|we|us|our|ours)\b", re.I)
_FIRST_ELSEWHERE: Final = tuple(
    (lazy(rf"\b(?:{asking})\b", re.I), lazy(rf"\b(?:{first})\b", re.I))
    for asking, first in (
        (
            "wo|was|wer|wem|wen|wie|wann|welche[rsnm]?|wohin|woher|warum|habe|bin|hatte|war",
            "ich|mich|mir|mein(?:e[nmrs]?)?|wir|uns|unsere?[nmrs]?",
        ),
        (
            r"dónde|qué|cuándo|cuál(?:es)?|quién(?:es)?|cómo|cuánt[oa]s?|por\s+qué|tengo|soy|estoy",
            "yo|mi|mis|mí|mío|mía|conmigo|nosotr[oa]s|nuestr[oa]s?",
        ),
        (
            "où|quand|quel(?:le)?s?|qui|comment|combien|pourquoi|est-ce",
            "je|moi|mon|ma|mes|nous|notre|nos",
        ),
    )
)
"""The same in German, Spanish and French, behind a word by which a question of that language is known."""
_FIRST_ELIDED: Final = lazy(r"\bj['’]", re.I)
_OF_ASKER: Final = lazy(
    r"\b(?:I|me|myself|we|us|ich|mich|mir|wir|uns|yo|nosotr[oa]s|je|moi|nous)\b|\bj['’]"
    r"|\b(?:my|our|mein[e]?|unsere?|mi|nuestr[oa]|mon|ma|notre)\s+(?:\w+\s+)?(?:job|work|employer|profession|occupation"
    r"|address|age|name|surname|salary|weight|height|size|birthday|nationality|type|pressure"
    r"|beruf|arbeit|adresse|alter|gehalt|gewicht|größe|geburtstag"
    r"|trabajo|edad|nombre|sueldo|peso|talla|dirección|cumpleaños|métier|travail|âge|nom"
    r"|adresse|taille|poids|anniversaire)\b",
    re.I,
)
FIRST_PERSON: Final = (
    "I",
    "my",
    "we",
    "our",
    "ich",
    "mein",
    "meine",
    "wir",
    "yo",
    "mi",
    "mis",
    "je",
    "mon",
    "ma",
    "mes",
)
"""How a statement begins that somebody makes of themselves."""
_WHAT_YOU_SAID: Final = lazy(
    r"\b(?:did|had|have) you\b"
    r"|\byou (?:\w+ )?(?:\w+ed|told|said|gave|made|wrote)\b"
    r"|\byour (?:\w+ )?(?:suggestion|recommendation|advice|answer|list)"
    r"|\b(?:our|my) (?:previous|last|earlier|past) (?:\w+ )?(?:conversation|chat|discussion)"
    r"|\bwe (?:\w+ )?(?:talked|discussed|spoke|chatted)",
    re.I,
)


def sides(question: str) -> tuple[str, ...]:
    """Names of the participant that a question is about, as far as its words tell.

    "Where did I park?" is about who asks, "what did you recommend?" about who is asked.
    """
    if _WHAT_YOU_SAID.search(question):
        return ASKED
    return ASKERS if _FIRST_PERSON.search(question) or _is_in_first_person_elsewhere(question) else ()


def _is_in_first_person_elsewhere(question: str) -> bool:
    # In one pattern this would look from each such word for all that is behind it: "was" is an English word, too.
    for asking, first in _FIRST_ELSEWHERE:
        asked = asking.search(question)
        if asked is not None and first.search(question, asked.end()) is not None:
            return True
    return _FIRST_ELIDED.search(question) is not None


def possible_names(question: str) -> Iterator[str]:
    """Every stretch of one to four words of the question that might be a name, longest first."""
    words = [_POSSESSIVE.sub("", word) for word in _WORD.findall(question)[:_MAX_WORDS]]
    for length in range(min(MAX_NAME_WORDS, len(words)), 0, -1):
        for start in range(len(words) - length + 1):
            yield " ".join(words[start : start + length])


def without_names(question: str, names: Sequence[str]) -> str:
    """The question without the names and their possessives; all of it, if nothing else is in it."""
    if not names:
        return question
    rest = _blank_names(question, names)
    return rest if _WORD.search(rest) else question


def names_beside(question: str, names: Sequence[str]) -> frozenset[str]:
    """What might be a name in a question without some names: of "Tom Baker" no "Tom" is left."""
    return frozenset(possible_names(_blank_names(question, names)))


def in_first_person(question: str, name: str) -> str:
    """A question about somebody by their name as they would ask it of themselves, but for the form of its verbs."""
    mine = re.sub(rf"(?<!\w){re.escape(name)}['’]s(?!\w)", "my", question, flags=re.I)
    return re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "I", mine, flags=re.I)


def _blank_names(question: str, names: Sequence[str]) -> str:
    longest_first = sorted(names, key=len, reverse=True)
    pattern = "|".join(re.escape(name) for name in longest_first)
    return re.sub(rf"(?<!\w)(?:{pattern})(?:['’]s)?(?!\w)", " ", question)


_TALK: Final = r"(?!\s+(?:conversations?|chats?|discussions?|sessions?|messages?|talks?|answers?|questions?))"
_TIME_UNIT: Final = (
    r"(?!\s+(?:day|night|week|weekend|month|quarter|year|season|decade|spring|summer|autumn|fall|winter)s?\b)"
)
_BE: Final = r"(?:am|is|are|was|were|be|been|being|get|gets|getting|got|gotten|become|became)(?:n['’]t)?"
_LASTING: Final = (
    r"(?:be|have|live|work|belong|cost|mean|look|own|like|love|hate|sound|taste|smell|weigh|earn|stay|reside"
    r"|think|believe"
    r"|prefer|call|hold|seem|study|sit|stand|meet|pay|charge|lead|run|manage|chair|teach|drive|rent|keep|go|come|know)"
)
"""Verbs of what lasts, or was done again and again."""
_SAID: Final = lazy(
    r"\b(?:formerly|former|originally|initially|erstwhile|historically|over\s+time|no\s+longer|any\s?more"
    r"|in\s+the\s+past"
    r"|at\s+first(?!\s+(?:sight|glance|light|hand|aid|base))|to\s+begin\s+with|in\s+the\s+(?:(?:good\s+)?old"
    r"|early)\s+days"
    r"|chang(?:ed?|es|ing)|evolved?|switch(?:ed|ing)\s+(?:from|to)|before\s+(?:that|this|now)"
    r"|(?:back|by|until|till|before)\s+then|in\s+those\s+days|at\s+that\s+time|at\s+the\s+time(?!\s+of)"
    r"|predecessors?|preceded"
    r"|took\s+over\s+(?:from|for)|always\s+(?:been|had)|ever\s+been"
    rf"|previous(?:ly)?{_TALK}{_TIME_UNIT})\b"
    # "The place she used to rent" is of what was, "is she used to cats?" of what is, "is it used to cut?" of a means.
    rf"|(?<!\w)(?P<be>\b{_BE}\s+(?:(?:the|a|an|this|that|these|those|my|your|our|his|her|its|their)\s+\w+"
    rf"|\w+(?:ly)?)??\s*)?"
    r"\bused\s+to\b"
    # "What did I use to clean it?" asks for a means, "Where did she use to live?" for what was.
    r"|(?:\A\W*|\b(?:where|when|who|how|why)\b[^.?!]{0,40}?\s)did(?:n['’]t)?\s+(?:\w+\s+){1,4}use\s+to\b"
    rf"|\bdid(?:n['’]t)?\s+(?:\w+\s+){{1,4}}use\s+to\s+(?:{_LASTING}\b|\w+\s*(?:\?|\Z)|\w+\s+(?:for|in|at|with"
    rf"|there|here)\b)"
    r"|\bbefore\s*\?\s*\Z"
    # "Where was it then?" asks what was, "What did you do then?" what came next.
    r"|\b(?:who|whose|where|which|what|how\s+much|how\s+many)\b[^.?!]{0,60}?\b(?:was|were)\b[^.?!]{0,60}?\bthen\s*\?"
    r"|\b(?:was|were)\s+(?:the|my|your|our|his|her|its|their)\s+(?:old|earlier|prior|original|initial)\b"
    r"|\b(?:who|what|which|where)\b[^.?!]{0,40}?\bonce\s+(?:\w+ed|was|were|led|ran|held|had|met|stood|kept|sold)\b"
    r"|\bwho(?:m|se)?\b[^.?!]{0,60}?\b(?:did|has|had)\b[^.?!]{0,60}?\b(?:replaced?|succeed(?:ed)?)\b"
    # "Is it still open?" is answered by what took its place.
    r"|\b(?:is|are|am|does|do|has|have|can)(?:n['’]t)?\s+(?:[\w'’-]+\s+){1,5}?still\b(?!\s*(?:[?.!]|\Z)"
    # What is still to be done was not so before.
    r"|\s+(?:(?:have|has|need|needs|want|wants|got|ought)\s+to|to\s+be|owes?|due|missing|open\s+issues?)\b"
    r"|\s+(?:life|lifes|water|images?"
    r"|wine|photos?|shots?|frames?)\b)"
    r"|\b(?:who|what|which|where)\b[^.?!]{0,30}?\bstill\s+(?!owes|(?:have|has|needs|wants)\s+to\b)"
    r"(?:\w+s|have|live|work|own)\b",
    re.I,
)
"""What says it in so many words."""
_NOCH: Final = r"(?:immer\s+)?noch\b"
_NAMED_IN_GERMAN: Final = r"(?:(?:(?:mein|dein|sein|ihr|unser|eure?)e?|der|die|das)\s+\w+|(?-i:[A-ZÄÖÜ])\w+)"
"""Somebody or something by name; a pronoun is none."""
_SAID_IN_GERMAN: Final = lazy(
    # "Kommt Tom früher?" is of what comes.
    r"(?P<comes>\A\W*(?:kommt?|kommst|kommen|geht?|gehst|gehen|fährt|fährst|fahren|fängt|fangen|beginnt|beginnen|öffnet"
    r"|schließt|soll\w*|kann\w*|können|darf\w*|dürfen|muss\w*|müssen|will|willst|wollen|wird|werden|würde\w*)\b"
    r"[^.?!]{0,60}?\bfrüher\b)"
    r"|\b(?:früher(?!\s+(?:oder|als|auf|dran|los|kommen|gehen))|ehemals|ehemalige[rsnm]?|ursprünglich(?:e[rsnm]?)?"
    r"|anfangs|vorherige[rsnm]?|vorig(?:e[rsnm]?)\s+(?!woche|monat|jahr|nacht|tag|quartal)|nicht\s+mehr"
    r"|geändert|gewechselt|zuvor|vorher(?=\s*(?:[?.!]|\Z)))\b"
    # "Wohnt Ana noch in Turin?" is answered by what took its place; "hast du noch Fragen?" asks of no state.
    r"|\A\W*(?:(?:gilt|gelten|gehört|heißt|kostet|nutzt|benutzt|spielt|trinkt|wohn\w+"
    r"|arbeite\w*|leb\w+|fähr\w+|fahr\w+)"
    rf"\s+(?!{_NOCH})\w[^.?!]{{0,40}}?|(?:ist|sind)\s+(?!{_NOCH}){_NAMED_IN_GERMAN}[^.?!]{{0,40}}?"
    rf"|(?:hat|haben)\s+(?!{_NOCH}){_NAMED_IN_GERMAN}[^.?!]{{0,40}}?"
    r"(?=\s(?:immer\s+)?noch\s+(?:d(?:en|ie|as)|(?:sein|ihr|mein|dein|unser)\w*)\s))"
    r"\s(?:immer\s+)?noch\b(?!\s*(?:[?.!]|\Z|zu\b|ein|etwas|was\b|mal\b|nicht\b|frei\b|offen\b|da\b))"
    r"(?![^.?!]*\b(?:diese[nrs]?\s+(?:woche|monat|jahr)|(?:nächste|kommende)[nrs]?|heute|morgen|übermorgen)\b)",
    re.I,
)
"""The same in German: "wo wohnte Ana früher?", "wohnt Ana noch in Turin?"."""
_PREVIOUSLY_IN_GERMAN: Final = lazy(
    r"\b(?P<before>früher|damals|vorher|zuvor|vorherige[rsnm]?|ehemals|ehemalige[rsnm]?|vorige[rsnm]?)\b", re.I
)
_SAID_IN_GERMAN_BY: Final = (
    *("früher", "ehemal", "ursprünglich", "anfangs", "vorher", "vorig", "nicht mehr", "geändert", "gewechselt"),
    *("zuvor", "noch"),
)
_SAID_BY: Final = frozenset(
    [
        *(
            "formerly",
            "former",
            "originally",
            "initially",
            "erstwhile",
            "historically",
            "time",
            "longer",
            "more",
            "anymore",
        ),
        *("past", "first", "begin", "days", "change", "changed", "changes", "changing", "chang", "evolve", "evolved"),
        *(
            "switched",
            "switching",
            "before",
            "then",
            "predecessor",
            "predecessors",
            "preceded",
            "took",
            "always",
            "ever",
        ),
        *("previous", "previously", "used", "use", "old", "earlier", "prior", "original", "initial", "once", "replace"),
        *("replaced", "succeed", "succeeded", "still"),
    ]
)
"""One of these is in all that :data:`_SAID` and the forms behind it find."""

_BEFORE_SOMEBODY: Final = lazy(
    r"\b(?i:who|whose|whom|which|what|where)\b[^.?!]{0,80}?(?P<said>\b(?:before|prior\s+to)\s+"
    r"(?P<whom>[^\W\d_a-z][\w.'’-]*(?:\s+[^\W\d_a-z][\w.'’-]*){0,3})"
    r"(?P<then>\s+(?:took\s+over|was\s+(?:in\s+charge|appointed|elected|hired|promoted)|did))?)\s*(?:[?,;]|\Z)"
)
"""Whoever or whatever was in the place of a name: "who led it before Leah?", "what did we use before Postgres?"."""
_BEFORE_WHOM: Final = lazy(
    r"\bwho(?:m|se)?\b[^.?!]{0,80}?\b(?:before|prior\s+to)\s+"
    r"(?:him|her|them|me|you|us|the\s+(?:present|current|new)\b[^.?!]{0,40}?)\s*(?:[?,;]|\Z)",
    re.I,
)
_BEFORE_THE_PRESENT: Final = lazy(
    r"\b(?:before|prior\s+to)\s+(?:(?:the|my|our|your|his|her|their)\s+(?:present|current|new)\b(?:\s+[\w'’-]+){0,2}"
    r"|(?:the\s+)?present\b|\w+(?:\s+\w+){0,2}\s+chang\w+)",
    re.I,
)
_HELD_BEFORE: Final = lazy(
    r"\bwho\s+(?:was|were|led|ran|owned|managed|headed|chaired|held|had|coached|directed|taught)\b[^.?!]{0,60}?"
    r"(?P<said>\b(?:before|prior\s+to)\s+(?!(?:the|a|an|my|your|our|his|her|its|their|this|that)\b)"
    r"(?P<whom>\w+(?:\s+\w+)?))\s*\?",
    re.I,
)
"""The same of a name in small letters, where the question asks who held something."""

_DID_BEFORE: Final = lazy(
    r"\b(?:where|what|which|who(?:m|se)?)\b[^.?!]{0,40}?\b(?:did(?:n['’]t)?\s+(?:\w+\s+){1,4}?"
    r"(?:have|live|work|belong|cost|own|reside|stay|weigh|earn|prefer|use|drive|rent|study|teach|play|format|deploy"
    r"|build|host|run|store|listen|lint|test|monitor|train|ship|park|lead|manage|maintain)\b"
    r"|(?:was|were)\s+(?:the\s+)?[\w'’-]+(?:['’]s?|\s+of)\s)[^.?!]{0,40}?"
    r"(?P<said>\b(?:before|prior\s+to)\s+"
    r"(?:(?:s?he|they|i|we|you|it)\s+(?:\w+ed|went|got|took|bought|began|became|came)\s+"
    r"(?:(?:to|at|in|for|with|on)\s+)?)?"
    r"(?!(?:the|a|an|my|your|our|his|her|its|their|this|that)\b)(?P<whom>[^\W\d_]\w*(?:\s+\w+){0,2}))\s*(?:\?|\Z)",
    re.I,
)
"""The same of what lasts: "where did she live before she moved to Porto?"."""

_BEFORE_NUMBER: Final = lazy(
    r"\b(?:who(?:se|m)?|which|what|where|how)\b[^.?!]{0,80}?\b(?:was|were|did)\b[^.?!]{0,80}?"
    r"(?P<said>\b(?:before|prior\s+to)\s+(?P<whom>"
    r"(?:port|version|release|room|number|code|size|line|bus|gate|platform|level|plan|ticket|build)\s+v?\d[\w.]*"
    r"|v\d[\w.]*|\d+(?:\.\d+){2,}|(?!(?:19|20)\d\d\b|0)(?:\d{1,3}(?:,\d{3})+|\d{3,}(?:\.\d+)?)"
    r"|\d[\d.,]*\s?(?:[€$£%]|euros?|dollars?|pounds|percent|m[gl]|k[gm]|[gmt]b|degrees|seconds|requests|people|users)))"
    r"\s*(?:[?,;]|\Z)",
    re.I,
)
"""What was in the place of a number that is no time: "which port did it use before 9090?"."""

_TIMES: Final = frozenset(
    [
        *DAYS,
        *MONTHS,
        *("today", "tonight", "yesterday", "tomorrow", "noon", "midday", "midnight", "dawn", "dusk", "sunrise"),
        *("sunset", "morning", "evening", "night", "spring", "summer", "autumn", "fall", "winter", "christmas"),
        *("easter", "thanksgiving", "halloween", "hanukkah", "ramadan", "diwali", "passover", "eid", "new"),
        *("breakfast", "brunch", "lunch", "dinner", "supper", "bed", "work", "school", "class", "last", "next"),
        *("going", "covid", "i", "we", "you", "he", "she", "it", "they"),
    ]
)
"""What stands after "before" and is a time, or begins a sentence of its own."""


_HELD: Final = lazy(
    r"\b(?:what|which|whose|who|whom|where|how)\b[^.?!]{0,80}?"
    r"\b(?:was|were|held|led|ran|owned|managed|headed|chaired|coached|directed|taught|lived|worked|cost|belonged"
    r"|had\s+(?:the|a|an|my|your|our|his|her|its|their))\b"
    r"|\bdid(?:n['’]t)?\s+(?:\w+\s+){1,4}?(?:have|live|work|belong|cost|own|reside|stay|weigh|earn|mean|prefer|like)\b",
    re.I,
)
"""What asks what held: behind "before May" that is what was, of what happened it is only when."""
_LASTED: Final = lazy(r"\A(?:until|till|up\s)", re.I)

_PRESENT: Final = lazy(
    r"\b(?:currently|at\s+present|presently|at\s+the\s+moment|nowadays|these\s+days|as\s+of\s+(?:now|today)"
    r"|as\s+things\s+stand"
    r"|(?<!\bby\s)(?<!\btill\s)(?<!\buntil\s)(?<!\bto\s)(?<!\bjust\s)(?<!\bfrom\s)(?<!\bbefore\s)(?<!\bevery\s)(?<!\A)"
    r"(?:right\s+|just\s+)?now(?!\s+(?:that|and\s+then)\b)"
    r"|jetzt|derzeit|zurzeit|zur\s+zeit|momentan|im\s+moment|aktuell(?:e[rsnm]?)?|gegenwärtig|ahora|actualmente"
    r"|maintenant|actuellement|en\s+ce\s+moment|adesso|attualmente|agora|atualmente|сейчас|теперь)\b",
    re.I,
)
_PRESENT_BY: Final = frozenset(
    (
        *("jetzt", "derzeit", "zurzeit", "zeit", "momentan", "aktuell", "aktuelle", "aktueller", "aktuelles"),
        *("aktuellen", "aktuellem", "gegenwärtig", "ahora", "actualmente", "maintenant", "actuellement", "adesso"),
        *("attualmente", "agora", "atualmente", "сейчас", "теперь"),
        *("currently", "present", "presently", "moment", "nowadays", "days", "now", "today", "things"),
    )
)


_STILL: Final = lazy(r"\bstill\b|\b(?:todav[ií]a|a[uú]n|encore|ancora|ainda|ещ[её])\b|まだ|还|還|아직", re.I)
_PAST_ELSEWHERE: Final = (
    # "Antes de mayo" names a time, and "prima di" too; "la prima volta" is the first.
    r"\b(?:antes(?!\s+d[eoa]s?\b|\s+que\b)|anteriormente|antiguamente|antigamente|en\s+aquel\s+entonces|naquela\s+época"
    r"|auparavant|autrefois|avant(?=\s*(?:[?.!,]|\Z))|prima(?=\s*(?:[?.!,]|\Z))|precedentemente|in\s+precedenza"
    r"|un\s+tempo|раньше|прежде)\b"
    r"|\b(?:anterior|antigu[oa]|antig[oa]|ancien(?:ne)?|précédente?|precedente|прежн\w+|предыдущ\w+|бывш\w+)"
    r"\s+(?!semana|mes|mês|ano|año|noche|semaine|mois|année|nuit|settimana|mese|anno|notte|недел|год|месяц)\w"
    r"|(?<!semana )(?<!mes )(?<!mês )(?<!año )(?<!ano )(?<!noche )(?<!día )(?<!dia )\banterior(?=\s*(?:[?.!,]|\Z))"
    r"|以前(?!から)|かつて|昔は"
    r"|前の(?![日週月年])(?<![日週月年]前の)|之前(?=[^?？]{0,20}[是在住做用])"
    r"|原来|原來|曾经|曾經|从前|從前"
    r"|예전|이전(?:에|의)\s|원래"
)
_NO_LONGER_ELSEWHERE: Final = (
    r"\b(?:ya\s+no|já\s+não|(?:ha|han|hanno|ont|a)\s+(?:cambiado|changé|cambiato)|cambió|mudou|больше\s+не)\b"
    r"|\bn(?:e\s+|['’])\w+\s+plus\b|\bnon\s+\w+\s+più\b|\bnão\s+\w+\s+mais\b"
    r"|もう.{1,40}(?:ない|ません)|不再|더\s?이상"
)
_STILL_ELSEWHERE: Final = (
    r"\b(?:todav[ií]a|aún|encore(?!\s+(?:une?|des?)\b)|ancora(?!\s+un[ao]?\b)|ainda|ещ[её](?!\s+раз))\s+\w"
    r"|まだ|还(?=[在是住用])|還(?=[在是住用])|아직"
)
_SAID_ELSEWHERE: Final = lazy(rf"(?P<before>{_PAST_ELSEWHERE})|{_NO_LONGER_ELSEWHERE}|{_STILL_ELSEWHERE}", re.I)
"""What asks what was before in the other languages; as in English, also whether something is still or no more so."""
_OF_A_VALUE_ELSEWHERE: Final = lazy(
    r"\b(?:wer|wen|wem|wessen|was|wo|wohin|wie|welche[rsnm]?|wann"
    r"|qui[eé]n(?:es)?|qu[eé]|cu[aá]l(?:es)?|d[oó]nde|cu[aá]nt[oa]s?|c[oó]mo"
    r"|qui|que|quelles?|quels?|où|combien|comment|chi|che|cosa|quale|quali|qual|quanto|quanta|dove|come"
    r"|quem|quais|quant[oa]s?|onde|кто|кого|что|где|куда|какой|какая|какое|какие|сколько|как)\b"
    r"|誰|何|どこ|どの|どれ|いくら|谁|誰|什么|什麼|哪|多少|누구|무엇|뭐|어디|얼마|어느",
    re.I,
)


def asks_for_change(text: str) -> bool:
    """True if a question asks what was before, who came before, or whether something changed; see :func:`wish`."""
    return bool(wish(text))


def wish(text: str) -> str:
    """The words by which a question asks what was before, who came before, or whether something changed.

    Empty if none do. To show something earlier where nobody asked costs a reader a line; not to show it costs the
    answer. What only puts two things in order ("what did I eat before the concert?") asks for no change.
    """
    small = text.lower()
    if any(word in small for word in _SAID_IN_GERMAN_BY):
        for found in _SAID_IN_GERMAN.finditer(text):
            if not found["comes"]:
                return _shorten(found[0])
    if (elsewhere := said_elsewhere(text)) is not None:
        return _shorten(elsewhere[0])
    if _SAID_BY.isdisjoint(_WORD_ALONE.findall(small)):
        return ""
    for found in _SAID.finditer(text):
        if not found["be"]:
            return _shorten(found[0])
    for form in (_BEFORE_WHOM, _BEFORE_THE_PRESENT):
        if (said := form.search(text)) is not None:
            return _shorten(said[0])
    named = _find_before_name(text)
    return "" if named is None else _shorten(named["said"])


def said_elsewhere(text: str) -> re.Match[str] | None:
    """What asks what was before in a question in another language than English and German."""
    is_elsewhere = "¿" in text or language_of(text) not in ("", "de")
    return _SAID_ELSEWHERE.search(text) if is_elsewhere else None


def _find_before_name(text: str) -> re.Match[str] | None:
    """What follows "before" in a question, if that names somebody or something."""
    for form in (_BEFORE_SOMEBODY, _HELD_BEFORE, _DID_BEFORE):
        for found in form.finditer(text):
            if found["whom"].split()[0].casefold() not in _TIMES and not found["whom"][0].isdigit():
                return found
    return _BEFORE_NUMBER.search(text)


_WORD_ALONE: Final = lazy(r"[^\W_]+")
_SHOWN_WORDS: Final = 6


def _shorten(words: str) -> str:
    """The last words of what was found, for a note."""
    return " ".join(words.strip(" ?,;.!").split()[-_SHOWN_WORDS:])


_OF_A_VALUE: Final = lazy(
    r"\W*(?:(?:and|so|at|in|on|for|to|from|with|by|of|about) )?"
    r"(?:who|whom|whose|what|which|where|when|how (?:much|many|often|long|old))\b",
    re.I,
)
"""What asks for a value."""
_OF_NOW: Final = lazy(
    r"\b(?:is|are|am|does|has|changes?|now(?<!before now)|still|instead)\b|\A(?!.*\bdid\b).*\b(?:do|have)\b",
    re.I | re.S,
)
_AT_FIRST: Final = lazy(
    r"\b(?:original(?:ly)?|initial(?:ly)?|at\s+first|to\s+begin\s+with|in\s+the\s+(?:(?:good\s+)?old|early)\s+days)\b",
    re.I,
)
_PREVIOUSLY: Final = lazy(
    r"\bbefore\W*\Z|\b(?:(?:before|prior\s+to)\s+(?:that|this|now|then|it|the|my|our|his|her|their|I|we|he|she|they"
    r"|him|them)\b"
    r"|previous(?:ly)?|former(?:ly)?|use[d]?\s+to|old|earlier|prior|back\s+then|in\s+the\s+past|until\s+then"
    r"|predecessors?|took\s+over\s+from|replaced?)\b",
    re.I,
)


_ASKS_NUMBER: Final = lazy(
    r"\bhow (?:many|much|old|long|often|far|tall|big|large)\b"
    r"|\bwhat (?:percentage|amount|time|age|number|total|average|price)"
    r"|\b(?:total|number of|percentage|age|cost|price)\b",
    re.I,
)
_ASKS_TIME: Final = lazy(
    r"\b(?:when|how long|how many (?:days|weeks|months|years|hours)|ago|first|before|after|order|date|day|since|last"
    r"|most recent)\b",
    re.I,
)
_ASKS_AGE: Final = lazy(
    r"\bhow old\b|\bages?\b|\bolder\b|\byounger\b|\bhow many years (?:old|will|would|am|is|are|older|younger)\b"
    r"|\bborn\b|\bbirthday\b",
    re.I,
)
_ASKS_MONEY: Final = lazy(
    r"\bhow much (?:money|cash)\b|\b(?:price|costs?|budget|salary|worth)\b"
    r"|\bhow much\b.*\b(?:pa(?:y|id)|spen[dt]|spending|saved?|raised?|earn(?:ed)?|ma(?:k|d)e|charged?|owed?|rent"
    r"|donated?|sell|sold|cheaper|expensive|discount)\b",
    re.I,
)


_ASKS_ADVICE: Final = lazy(
    r"\b(?:suggest(?:ions?)?|recommend(?:ations?)?|advise|advice|ideas?|tips|options?)\b"
    r"|\b(?:what|which|where|who|how|when)\b[^.?!]{0,60}?\bshould\s+(?:I|we)\b|\bshould\s+(?:I|we)\b"
    r"|\b(?:can|could|would|will)\s+you\s+(?:please\s+)?"
    r"(?:help|show|plan|walk|make|create|design|write|explain|give|find)\b"
    r"|\bhelp\s+(?:me|us)\b|\bhow\s+(?:would|can|do)\s+(?:you|I|we)\b|\bwhat\s+would\s+you\b"
    r"|\bwhat(?:['’]s|\s+is|\s+are)\s+(?:a\s+|the\s+|some\s+)?(?:good|best|great)\b",
    re.I,
)
_ASKS_WHAT_WAS: Final = lazy(
    r"\b(?:did|have|had|has|was|were)\s+(?:I|we|you|he|she|they)\b|\b(?:remind|summar\w+|list|recall(?:ed)?)\b"
    r"|\b(?:told|said|mentioned|discussed|suggested|recommended)\b",
    re.I,
)
"""Who asks what was advised wants that, and no advice."""
_ASKS_WHAT_HAPPENED: Final = lazy(
    r"\b(?:I|we)(?:['’](?:ve|d)|\s+have|\s+had)?\s+(?:\w+ly\s+|first\s+|last\s+)?(?!need|feed|speed|proceed|exceed)"
    r"(?:\w{2,}ed|made|got|went|spent|bought|met|began|started|took|chose|wrote|found|gave|saw|came|left|kept|held|paid"
    r"|sent)\b|\bhow\s+(?:many|long)\b[^.?!]*\b(?:between|passed|elapsed)\b",
    re.I,
)
"""What somebody did, or how long it took, is asked of the past."""


_OF_TWO: Final = lazy(r"\b(?:i|me|my|mine|we|us|our|you|your)\b", re.I)


def _asks_for_advice(question: str) -> bool:
    """True if somebody asks for advice for themselves."""
    return (
        _ASKS_ADVICE.search(question) is not None
        and _OF_TWO.search(question) is not None
        and not asks_what_was_said(question)
    )


def asks_what_was_said(question: str) -> bool:
    """True if a question asks what somebody said or did, and not for something new."""
    return _ASKS_WHAT_WAS.search(question) is not None


_OPENING: Final = lazy(
    r"\s*+(?:(?:hi|hey|hello|ok|okay|so|well|sorry|please|(?:a )?quick question|(?:just )?one (?:more )?question)\b"
    r"[\s,.!:–—-]*+)*"
    r"(?:(?:(?:can|could|would|will) you )?(?:please |kindly |quickly )?(?:tell|remind) me(?: again)?"
    r"|(?:(?:can|could|would|will) you )?(?:please |kindly |quickly )?(?:say|note)|I (?:just )?ask(?: you)?"
    r"|(?:let me|may I|can I|could I) ask(?: you)?|do you (?:still |happen to )?(?:remember|know|recall)"
    r"|I(?: just|['’]ve| have)? (?:forgot|forget|forgotten)|I (?:can['’]t|cannot|don['’]t|do not) (?:remember|recall)"
    r"|I (?:was wondering|wonder|want to know|need to know)|I(?:['’]d| would) (?:like|love) to know)?"
    r"[\s,:–—-]*+(?=(?:(?:in|at|on|for|to|from|with|by|of|about) )?"
    r"(?:who|whom|whose|what|when|where|which|why|how|if|whether)\b)",
    re.I,
)
"""How somebody asks to be told: of "can you tell me where I parked" it is not the subject."""


def without_opening(question: str) -> str:
    """A question without the words by which somebody asks to be told, before a question word."""
    opening = _OPENING.match(question)
    return question if opening is None else question[opening.end() :]


_SAYS: Final = lazy(
    r"\b(?:sa(?:y|id|ys)|tell|told|mention\w*|talk\w*|discuss\w*|write|wrote|chat\w*"
    # "Please note" and "I ask you" are of no saying; who noted or asked something did so.
    r"|did(?:n['’]t)?\s+(?:\w+\s+){1,3}(?:ask|note)|(?!as\b|please\b)\w+\s+(?:asked|noted)|(?:my|our|your|the)\s+notes"
    r"|gesagt|erzählt"
    r"|gesprochen|erwähnt|geschrieben|dij[eo]|dijimos|dit|parlé|detto|parlato|disse|falamos|сказал\w*|говорил\w*)\b"
    r"|说|說|言|話|말",
    re.I,
)
"""Verbs of saying: a time beside them is when something was said."""
_OF_DIARY: Final = """
    anything something everything nothing else happen happens happening happened plan plans planned scheduled schedule
    agenda calendar diary appointment appointments event events due doing do did done free busy available booked have
    has got get getting come comes coming go goes going take takes place up on there any already with us me my our let
    today s m re ve will shall would should can must be going ll

    los an steht stehen vor mache machen macht mach tun geplant plan termin termine kalender frei passiert kommt etwas
    irgendwas was gibt hab habe haben hast hat liegt fällig vorhaben unternehmen gemacht heute sonst noch so denn
    werde wirst wird werden muss müssen sein

    hay tengo tenemos tiene hago hacemos hace pasa pasó planeado planes previsto agenda cita citas algo libre evento
    eventos compromiso compromisos hicimos hice vamos voy va a hacer habrá

    faire fait fais faisons prévu prévue rendez vous agenda passe passé libre y quelque chose programme qu c l d n j ai
    avons a t on il sommes allons vais va aura

    facciamo faccio fare fatto previsto prevista programma appuntamenti appuntamento agenda succede successo ci libero
    libera cosa che qualcosa impegni

    temos tenho tem fazemos faço fazer previsto prevista agenda acontece aconteceu compromissos compromisso livre algo
    planejado vamos vou vai

    будет есть запланировано планах планы делаем делаю делать встречи встреча дела происходит назначено будем буду
"""
"""Beside function words what a question for whatever is on has."""
_OF_DIARY_UNSPACED: Final = lazy(
    r"[你您我们們有什么甚麼吗嗎呢的事情安排计劃划日程活动動要做干会會在哪里裡是]"
    r"|予定|あります|ありました|ある|しま(?:す|した)|する|何|なに|どんな|私|たち|達|[がのはをにもかで]"
    r"|뭐|무엇|무슨|일정|약속|예정|계획|우리|있(?:나요|어요|습니까|었나요)?|하(?:나요|지)|해요|했(?:나요|어요)|[일가이을를은는에도요]"
)


@cache
def _of_diary() -> frozenset[str]:
    return frozenset(_without_accents(_OF_DIARY).split())


def _without_accents(text: str) -> str:
    """A text whose letters have no accents; other scripts than Latin and Cyrillic are not to be in it."""
    if text.isascii():
        return text
    return "".join(each for each in unicodedata.normalize("NFD", text) if not unicodedata.combining(each))


class AnswerForm(NamedTuple):
    """What an answer must contain, as far as the words of a question say; ``taste`` is what its asker likes."""

    number: bool = False
    time: bool = False
    age: bool = False
    money: bool = False
    taste: bool = False


ANY_FORM: Final = AnswerForm()
"""The form for a text that asks nothing."""


def answer_form(question: str) -> AnswerForm:
    """What an answer to a question must contain: a number, a time, an age or a price."""
    return AnswerForm(
        number=_ASKS_NUMBER.search(question) is not None,
        time=_ASKS_TIME.search(question) is not None,
        age=_ASKS_AGE.search(question) is not None,
        money=_ASKS_MONEY.search(question) is not None,
        taste=_asks_for_advice(question),
    )


_LATEST: Final = lazy(r"\b(?:recent(?:ly)?|latest|newest)\b", re.I)
_UNTIL_NOW: Final = re.compile(r"^(?!.*\b(?:did|was|were|had|before|when|until)\b).*\b(?:have|has)\b", re.I | re.S)
"""The present perfect, of what is so until now: "how long have I been using it"."""


class Question:
    """A question, and when it is asked. Each part is parsed when it is first needed, then kept.

    Raises:
        InputError: the question is not text.
    """

    def __init__(self, text: str, asked: int) -> None:
        if not isinstance(text, str):
            raise errors.InputError(f"The query is {type(text).__name__}, not text", "Give it as str")
        self.text = text
        self.asked = asked
        """When it is asked, in microseconds: "last week" is understood by it."""

    @cached_property
    def _times(self) -> Times:
        return parse_times(self.text, self.asked)

    @cached_property
    def subject_text(self) -> str:
        """Its text without an opening such as "can you tell me", by which words and meaning are compared."""
        return without_opening(self.text)

    @property
    def times(self) -> tuple[Span, ...]:
        """The times that it names."""
        return self._times.spans

    @property
    def asks_of(self) -> Tense:
        """The time that its verbs ask about: past, present or ahead; empty if they do not tell.

        "Who owns it as of October?" asks of the past.
        """
        read, tense = self._times.read, self._times.tense
        is_bound = tense == "present" and bool(read) and all(time.is_bound for time in read)
        return "past" if is_bound and all(time.span.end <= self.asked for time in read) else tense

    @property
    def asks_when(self) -> bool:
        """True of "when is …?" and "when does …?"."""
        return ASKS_WHEN.search(self.text) is not None

    @property
    def asks_of_now(self) -> bool:
        """True if it may ask for what is so now, or until now."""
        return self.asks_of != "ahead" and (self.asks_of != "past" or _UNTIL_NOW.match(self.text) is not None)

    @property
    def asks_of_latest(self) -> bool:
        """True if it asks for the last of what happened: "where did she move in her recent relocation?"."""
        return _LATEST.search(self.text) is not None

    @property
    def words_of_now(self) -> str:
        """Its text if it may ask for what is so now; empty if not."""
        return "" if self.asks_of in ("past", "ahead") else self.text

    def asks_of_begun_times(self, now: int) -> bool:
        """True if it names times that have begun: "in May", of the past, or of now if that is in May."""
        if not self.times or self.is_remark:
            return False
        is_past = self.asks_of == "past"
        return all(span.start <= now and (is_past or now < span.end) for span in self.times)

    def horizon(self, now: int) -> int:
        """The time up to which statements answer it: now, the end of its times, or forever.

        Of a question about the past, what takes a place after its times answers it no more than a plan does.
        """
        if self.asks_of == "ahead":
            return FOREVER
        ends = [span.end - 1 for span in self.times]
        return max(ends) if ends and self.asks_of == "past" else max((now, *ends))

    @property
    def is_of_what_comes(self) -> bool:
        """True of "when is the next …?" and "when will …?", where "when is …?" may be of what is or of what comes."""
        return WILL.search(self.text) is not None or PLANNED.search(self.text) is not None

    @property
    def times_read(self) -> tuple[Time, ...]:
        """The same with the words that name each."""
        return self._times.read

    @property
    def unresolved_times(self) -> tuple[str, ...]:
        """The words that name a time which is not understood."""
        asked = self.wish.casefold() if said_elsewhere(self.text) is not None else ""
        return tuple(words for words in self._times.unresolved if words.casefold() != asked)

    @property
    def unlisted_times(self) -> int:
        """How many more such words there are than are listed."""
        return self._times.unlisted

    @property
    def without_times(self) -> str:
        """Its text without the times that it names; all of it if only scaffolding would be left."""
        return self._times.rest

    @cached_property
    def asks_only_for_time(self) -> bool:
        """True if it asks for whatever is at a time that it names: "what is on 4 December?", "was ist morgen?"."""
        if not self.times:
            return False
        asked = rest = " ".join(self.subject_text.split())
        for time in self.times_read:
            rest = rest.replace(time.words, " ")
        every, left = (
            _WORD_ALONE.findall(_without_accents(_OF_DIARY_UNSPACED.sub(" ", text.lower()))) for text in (asked, rest)
        )
        return _of_diary().union(function_words(every, asked)).issuperset(left)

    @cached_property
    def is_of_saying(self) -> bool:
        """True if it asks what was said or written: its time is when that was."""
        return _SAYS.search(self.subject_text) is not None

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Every stretch of its words that might be a name, each once, longer ones first."""
        return tuple(dict.fromkeys(possible_names(self.text)))

    @cached_property
    def sides(self) -> tuple[str, ...]:
        """Names of the participant that it is about; see :func:`sides`."""
        return sides(self.text)

    @property
    def is_of_asker(self) -> bool:
        """True if it is about who asks ("where do I work?", "what is my job?"), and not about somebody or something of
        theirs ("when is my sister's wedding?")."""
        return _OF_ASKER.search(self.text) is not None

    @cached_property
    def wish(self) -> str:
        """The words by which it asks what was before, empty if none do: "used to", "before Leah", see :func:`wish`.

        "Before May" names a time, as "in May" does.
        """
        return wish(self.text)

    @cached_property
    def asks_before(self) -> str:
        """The name after "before" in a question about an earlier state: "Hooli"; empty if it has none."""
        named = _find_before_name(self.text) if self.wish else None
        return "" if named is None else named["whom"]

    @cached_property
    def asks_previous(self) -> str:
        """``last`` if it asks only for what was before, ``first`` for what was at first; empty for others.

        "What was my rent before?" asks so, "has my rent changed?" and "where is it, and where was it before?" do not.
        """
        text = without_opening(self.text)
        if self.wish and language_of(text):
            found = said_elsewhere(text) or _PREVIOUSLY_IN_GERMAN.search(text)
            is_before = found is not None and bool(found["before"]) and self.asks_of == "past"
            return "last" if is_before and _OF_A_VALUE_ELSEWHERE.search(text) is not None else ""
        if not self.wish or self.asks_before or _OF_A_VALUE.match(text) is None or _OF_NOW.search(text) is not None:
            return ""
        return "first" if _AT_FIRST.search(text) is not None else "last" * (_PREVIOUSLY.search(text) is not None)

    @property
    def asks_only_of_still(self) -> bool:
        """True of "is it still open?", which asks of now: what was before is shown only beside that."""
        return _STILL.search(self.wish) is not None

    @cached_property
    def asks_what_held(self) -> bool:
        """True if it asks for what was so at some time, not for what happened."""
        if self.asks_of != "past":
            return False
        is_bound = any(time.is_bound and _LASTED.match(time.words) for time in self.times_read)
        return is_bound or bool(self.wish) or _HELD.search(self.text) is not None

    @property
    def asks_for_change(self) -> bool:
        """True if it asks what was before."""
        return bool(self.wish)

    @cached_property
    def asks_for_present(self) -> str:
        """The words by which it asks what holds now; empty if none do."""
        if _PRESENT_BY.isdisjoint(_WORD_ALONE.findall(self.text.lower())):
            return ""
        found = _PRESENT.search(self.text)
        return "" if found is None else " ".join(found[0].split())

    @cached_property
    def may_ask_for_all(self) -> bool:
        """True if it has a word by which questions ask for all of something."""
        return not _ALL_BY.isdisjoint(_WORD_ALONE.findall(self.text.lower()))

    @cached_property
    def is_remark(self) -> bool:
        """True if it says something of its speaker and asks nothing."""
        return is_remark(self.text)

    @cached_property
    def may_be_instructed(self) -> bool:
        """True if a standing instruction may say how to answer it: it asks for something, and not what was said."""
        text = self.text
        return not self.is_remark and not asks_what_was_said(text) and _ASKS_WHAT_HAPPENED.search(text) is None

    @cached_property
    def answer_form(self) -> AnswerForm:
        """What an answer must contain."""
        return ANY_FORM if self.is_remark else answer_form(self.text)


_ALL_BY: Final = frozenset(
    (
        *("order", "summary", "summarise", "summarize", "overview", "recap", "all", "every", "each", "what", "which"),
        *("list", "enumerate", "show", "give", "tell", "name", "get", "find", "display", "print", "return", "fetch"),
        "recall",
    )
)
"""One of these is in every question that asks for all of something."""

MAX_K: Final = 10_000
MAX_NEAR: Final = 5
"""How many near statements are given unless another number is asked for."""
DEFAULT_K: Final = 10

TEXT: Final = "text"
VECTOR: Final = "vector"
ENTITY: Final = "entity"
LANES: Final = (TEXT, VECTOR, ENTITY)
INFERRED: Final = "inferred"
"""No lane: what was inferred of a hit, where it was found by that, among its scores."""

CONVEX: Final = "convex"
RRF: Final = "rrf"
COMBMAX: Final = "combmax"
FUSIONS: Final = (CONVEX, RRF, COMBMAX)


def checked_trust(level: object) -> None:
    """See that it is a level of trust, or ``None``.

    Raises:
        InputError: it is not.
    """
    if level is not None and level not in TRUST_LEVELS:
        raise errors.InputError(
            f"There is no level of trust {errors.shown(level)}", f"Name one of: {', '.join(TRUST_LEVELS)}"
        )


def least_trust(level: str | None) -> int:
    """The number of the least level of trust that is let through."""
    return 0 if level is None else TRUST_LEVELS.index(level)


_WITH_EARLIER: Final = Choice(earlier=True)
"""What is shown where a question asks what was before."""


class Request(NamedTuple):
    """A recall with its options; see :meth:`worlddb.query.view.view.View.recall`."""

    question: Question
    world: Any
    k: int
    exact: bool
    choice: Choice
    lanes: tuple[str, ...]
    fusion: str
    group: int | None = None
    neighbours: int = 0
    min_trust: str | None = None
    trust_weight: float = 0.0
    min_confidence: float | None = None
    filters: Any = None
    """The :class:`~worlddb.query.recall.filters.Filters` that were asked for, if any."""
    prefer_summaries: bool = False
    decay: Any = None
    """How scores fade (:class:`~worlddb.projections.tables.dream.retention.Decay`), if they do."""
    in_order: bool = True
    """False if only which hits there are is asked for."""

    covers: Any = None
    """What it asks for all of, if it is answered so: ``Coverage`` or ``TypeCoverage`` of ``query.coverage``."""
    fields: Any = None
    """What each field is worth (:class:`~worlddb.query.enrichment.inferred.Weights`), if fields are weighed."""
    type_weights: Any = None
    """By type, what the score of a hit of it is multiplied by; 1 for any other."""
    siblings: float | None = None
    """The least likeness in meaning of those hits of a world that are not the best one of it."""

    @property
    def least_trust(self) -> int:
        """The number of the least level of trust that is let through."""
        return least_trust(self.min_trust)

    @property
    def compared_text(self) -> str:
        """The text that is compared by words and by meaning.

        Where evidence is added up, for groups all but the times that the question names, which are evidence of their
        own. Among turns, "three weeks ago" also brings near the one that tells a time. Of a question that asks for all
        of something it is what it is about.
        """
        if self.covers is not None:
            topic: str = self.covers.topic
            return topic
        by_several = len(set(self.lanes)) > 1 and self.fusion == CONVEX
        is_without = self.group is not None and by_several
        return without_opening(self.question.without_times) if is_without else self.question.subject_text

    def past_times(self, now: int) -> list[Period]:
        """The past times in the question, if only the present is shown.

        Of a time that includes now, the past part counts if the question is about the past: "where did she live in
        2026?", asked in 2026.
        """
        named = self.question.times
        if not named or self.choice != Choice():
            return []
        asks_past = self.question.asks_of == "past" and not self.question.is_remark
        past = (
            Interval(span[0], min(span[1], now)) for span in named if span[1] <= now or (asks_past and span[0] < now)
        )
        return [Period(span, throughout=False) for span in past]

    @property
    def asks_about_past(self) -> bool:
        """True if the question is one of the past that names no time, where only the present is shown."""
        question = self.question
        if self.choice not in (Choice(), _WITH_EARLIER) or question.asks_of != "past":
            return False
        return not (question.times or question.is_remark or question.asks_for_present)

    def check(self) -> None:
        """Refuse a request that cannot be answered.

        Raises:
            InputError: a number is out of bounds, or there is no such lane, fusion or level of trust.
        """
        limits.checked_number(self.k, "k", 1, MAX_K)
        if self.group is not None:
            limits.checked_number(self.group, "group", 1, MAX_K)
        limits.checked_number(self.neighbours, "neighbours", 0, MAX_K)
        if self.decay is not None:
            from worlddb.projections.tables.dream import retention

            retention.checked_decay(self.decay)
        for lane in self.lanes:
            if lane not in LANES:
                raise errors.InputError(f"There is no lane {errors.shown(lane)}", f"Name some of: {', '.join(LANES)}")
        if not self.lanes:
            raise errors.InputError("No lane was named", f"Name some of: {', '.join(LANES)}")
        if self.fusion not in FUSIONS:
            raise errors.InputError(
                f"There is no fusion {errors.shown(self.fusion)}", f"Name one of: {', '.join(FUSIONS)}"
            )
        checked_trust(self.min_trust)
        limits.checked_flag(self.prefer_summaries, "prefer_summaries")
        least = self.min_confidence
        if least is not None and (type(least) not in (int, float) or not 0 <= least <= 1):
            raise errors.InputError(
                f"min_confidence is {errors.shown(least)}, not a number from 0 to 1", "Give one, or leave it out"
            )
        if type(self.trust_weight) not in (int, float) or not 0 <= self.trust_weight <= 1:
            raise errors.InputError(
                f"trust_weight is {errors.shown(self.trust_weight)}, not a number from 0 to 1", "Give one"
            )
