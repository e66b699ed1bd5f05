"""The English of times: words and forms by which questions name them. Tables alone, for :mod:`question_dates` to read.

Other languages are put into these words by :mod:`foreign_times`. A form of a point is matched where its first word
stands, a form of what stays unresolved anywhere; the names of their groups say what each part names.
"""

import re
from typing import Final, Literal, NamedTuple

from worlddb.log.model.times import DAYS, MONTH_NAME, MONTHS, lazy

SEASONS: Final = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
"""The month in which each begins in the northern hemisphere, as meteorologists have it; each has three months."""
COUNTED: Final = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty"),
)
NUMBERS: Final[dict[str, float]] = {word: number for number, word in enumerate(COUNTED)} | {
    "half a": 0.5,
    "half an": 0.5,
    "a": 1,
    "an": 1,
    "couple": 2,
    "few": 3,
    "several": 4,
}
VAGUE: Final = frozenset(("couple", "few", "several"))
ORDINALS: Final = (
    *("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh"),
    *("twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth", "nineteenth"),
    *("twentieth", "twenty-first", "twenty-second", "twenty-third", "twenty-fourth", "twenty-fifth", "twenty-sixth"),
    *("twenty-seventh", "twenty-eighth", "twenty-ninth", "thirtieth", "thirty-first"),
)
LAST_ONES: Final = ("last", "final")
UNIT_DAYS: Final = {
    "minute": 1 / 1440,
    "hour": 1 / 24,
    "day": 1.0,
    "night": 1.0,
    "week": 7.0,
    "fortnight": 14.0,
    "month": 30.44,
    "year": 365.25,
    "decade": 3652.5,
}
SLACK_DAYS: Final = {
    "minute": 1 / 1440,
    "hour": 1 / 24,
    "day": 0.5,
    "night": 0.5,
    "week": 3.5,
    "fortnight": 3.5,
    "month": 8.0,
    "year": 90.0,
    "decade": 730.0,
}
"""How far from "three months ago" a thing may be that somebody calls so."""
DAY_NAME: Final = "|".join(DAYS)
SEASON_NAME: Final = rf"(?P<season>{'|'.join(SEASONS)})"
UNIT: Final = rf"(?P<unit>{'|'.join(UNIT_DAYS)})s?"
COUNT: Final = rf"(?P<count>\d{{1,3}}|{'|'.join(sorted(NUMBERS, key=len, reverse=True))})(?: of)?"
FIRST: Final = COUNT.replace("count", "first") + r"\s+" + UNIT.replace("unit", "first_unit") + r"(?:\s+and|,)\s+"
NTH: Final = rf"(?P<nth>\d{{1,2}}(?:st|nd|rd|th)|{'|'.join(sorted((*ORDINALS, *LAST_ONES), key=len, reverse=True))})"
OF_A_YEAR: Final = r"(?:,?\s+(?:of\s+)?(?:(?P<year>\d{4})|(?P<relative>last|this)\s+year)\b)"
TO: Final = r"(?:and|to|until|till|through)"
COUNTABLE: Final = (
    r"(?!\s*%|[.,:/]?\d|\s+(?:words?|euros?|dollars?|pounds?|francs|people|men|women|children|pupils|students"
    r"|guests|users"
    r"|members|employees|visitors|pages?|lines|rows|files|items|pieces|copies|points?|votes|seats|steps|times|calories"
    r"|kcal|met(?:er|re)s|kilomet(?:er|re)s|miles|feet|square|km|m|kg|g|ml|l|watts?|hours|minutes|days|years"
    r"|tons|tonnes"
    r"|bc|b\.c\.|characters|tokens|degrees)\b)"
)
"""Not behind what is a year: "in 2000 words"."""
COMPOUND: Final = (
    r"(?!['’]s\b|-\w|\s+of\b(?!\s+(?:\d{4}|last|this)\b)|\s+(?:water|rolls?|onions?|mattress(?:es)?|coils?"
    r"|chickens?|lamb|steel|board|balance|loaded|cleaning"
    r"|house|camps?|jobs?|dress(?:es)?|hats?|coats?|boots?|jackets?|tyres?|tires?|gardens?|sports?|squash|guys?"
    r"|from|down"
    r"|over|off|out|asleep|apart|ill|through)\b)"
)
"""Not behind what is a season: "in the spring water", "in the fall from the roof"."""
AGO: Final = lazy(
    rf"(?:{FIRST})?{COUNT}(?P<half>\s+and\s+a\s+half)?\s+{UNIT}(?P<more>\s+and\s+a\s+half)?"
    r"\s+(?:ago|(?<!minute )(?<!minutes )(?<!hour )(?<!hours )(?:back|earlier))\b(?P<sharp>\s+today\b)?",
    re.I,
)
NAMED_AGO: Final = lazy(
    rf"{COUNT}\s+(?P<named>{'|'.join(SEASONS)}|{DAY_NAME}|{'|'.join(MONTHS)})s?\s+(?:ago|back)\b", re.I
)
PAST: Final = lazy(rf"(?:past|last)\s+(?:{COUNT}\s+)?(?P<unit>minute|hour|day|week|month|year|decade)s?\b", re.I)
LAST: Final = lazy(
    r"(?P<which>last|previous|past|this)\s+"
    rf"(?P<unit>week|weekend|month|quarter|year|{'|'.join((*DAYS, *MONTHS))})\b",
    re.I,
)
COMING_UNIT: Final = (
    rf"(?P<unit>week|weekend|month|quarter|year|{'|'.join((*DAYS, *MONTHS, *SEASONS))})\b(?!\s+\d|['’]s?\b)"
)
NEXT: Final = lazy(rf"next\s+{COMING_UNIT}", re.I)
COMING: Final = lazy(rf"(?:this\s+)?coming\s+{COMING_UNIT}", re.I)
BESIDE_THAT: Final = lazy(
    rf"(?P<unit>{DAY_NAME}|day|week|weekend|month|year)\s+(?P<side>before|after)(?P<next>\s+next)?"
    r"(?=\s*(?:[?.,;:!)]|\Z)|\s+and\b)",
    re.I,
)
"""Beside the time that was named before, or beside the next one: "this Friday and the Friday after"."""
BEFORE_LAST: Final = lazy(
    rf"(?P<unit>week|weekend|month|quarter|year|{'|'.join(SEASONS)}|{DAY_NAME})\s+before\s+last\b"
    rf"(?!\s+(?:week|month|quarter|year|{'|'.join(SEASONS)}|{DAY_NAME}|{'|'.join(MONTHS)}|christmas|easter))",
    re.I,
)
SAME_TIME: Final = lazy(r"(?:this|same)\s+(?P<same>time|day)\s+last\s+(?P<unit>week|month|year)\b", re.I)
MONTH: Final = lazy(
    rf"{MONTH_NAME}\b(?!['’]s\b|\s+\d{{1,2}}(?!\d)|\s+(?:be|not|hares?|poles?|queens?|day)\b){OF_A_YEAR}?", re.I
)
SHORT_MONTH: Final = lazy(rf"(?P<month>{'|'.join(name[:3] for name in MONTHS)}|sept)\b\.?{OF_A_YEAR}", re.I)
SEASON: Final = lazy(rf"(?:(?P<which>last|previous|past|this)\s+)?{SEASON_NAME}\b{COMPOUND}{OF_A_YEAR}?", re.I)
QUARTER: Final = lazy(r"Q(?P<quarter>\d)\b(?:[\s/-]+(?:of\s+)?(?P<year>\d{4})\b)?", re.I)
YEAR_QUARTER: Final = lazy(r"(?P<year>\d{4})[\s/-]?Q(?P<quarter>\d)\b", re.I)
NTH_QUARTER: Final = lazy(
    r"(?P<quarter>first|second|third|fourth|[1-4](?:st|nd|rd|th))\s+quarter\b(?!\s+(?:of|in)\b)", re.I
)
HALF: Final = lazy(r"H(?P<half>[12])[\s/-]+(?:of\s+)?(?P<year>\d{4})\b", re.I)
YEAR: Final = lazy(rf"(?P<year>1[5-9]\d\d|20\d\d)\b{COUNTABLE}", re.I)
YEARS: Final = lazy(rf"(?P<year>(?:19|20)\d\d)\s?[-–—]\s?(?P<last_year>(?:19|20)\d\d)\b{COUNTABLE}", re.I)
CALLED_YEAR: Final = lazy(r"year\s+(?P<year>\d{3,9})\b", re.I)
DECADE: Final = lazy(r"(?P<year>(?:1[5-9]|20)\d0)['’]?s\b", re.I)
ISO_MONTH: Final = lazy(r"(?P<year>(?:19|20)\d\d)-(?P<month>\d\d)\b(?!-)", re.I)
FIGURES: Final = lazy(
    r"(?P<one>\d{1,2})(?P<dot>[./-])(?P<two>\d{1,2})(?P=dot)(?P<year>\d{4}|\d\d)\b(?![./-]\d|:)", re.I
)
SHORT_FIGURES: Final = lazy(
    r"(?P<one>\d{1,2})(?:/(?P<two>\d{1,2})\b(?![./-]\d|:|\s*%)"
    # A number that ends a sentence may be a version.
    r"|\.(?P<month>\d{1,2})\.(?=\s*[?,;]|\s+(?-i:[a-z])))",
    re.I,
)
FIGURES_ALONE: Final = lazy(r"\W*(?!24/7)\d{1,2}/\d{1,2}\W*")
SHORT_LEADS: Final = frozenset(("on", "by", "until", "till", "since", "before", "after"))
"""Behind such a word two numbers are a day, and no ratio."""
DAYS_OF_MONTH: Final = lazy(
    rf"(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:\s?[-–—]\s?|\s+{TO}\s+(?:the\s+)?)(?P<last>\d{{1,2}})(?:st|nd|rd|th)?"
    rf"\s+(?:of\s+)?{MONTH_NAME}\b(?:,?\s+(?P<year>\d{{4}})\b)?",
    re.I,
)
MONTH_AND_DAYS: Final = lazy(
    rf"{MONTH_NAME}\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:\s?[-–—]\s?|\s+(?:to|until|till|through)\s+)"
    r"(?P<last>\d{1,2})(?:st|nd|rd|th)?\b(?![:%]|[.,]\d)(?:,?\s+(?P<year>\d{4})\b)?",
    re.I,
)
NTH_OF_MONTH: Final = lazy(
    rf"(?P<nth>{'|'.join(sorted(ORDINALS, key=len, reverse=True))})\s+of\s+{MONTH_NAME}\b(?:,?\s+(?P<year>\d{{4}})\b)?",
    re.I,
)
ENDED: Final = (
    r"(?=\s*(?:[?.,;:!)]|\Z)|\s+(?:and|or|to|until|till|through|did|was|were|had|when|if|at|with|who|what|where"
    r"|we|i|he|she|they)\b)"
)
"""Behind what names a time by itself, and is no attribute."""
NTH_DAY: Final = lazy(rf"(?P<nth>\d{{1,2}})(?:st|nd|rd|th)\b(?:\s+of\s+(?P<of>last|this|the)\s+month\b|{ENDED})", re.I)
WEEKEND: Final = lazy(rf"weekend\b{ENDED}", re.I)
AT_WEEKEND: Final = lazy(rf"(?<=\bat the )weekend\b{ENDED}", re.I)
IN_COUNT: Final = lazy(rf"(?:a\s+(?=couple|few))?{COUNT}\s+{UNIT}\b(?:(?:['’]s?)?\s+time\b)?{ENDED}", re.I)
"""Counted from now on in a question of the present or of what is to come."""
IS_LENGTH: Final = lazy(r"\bhow\s+(?!about\b|is\b|are\b)|\b(?:can|could)\b|\bthe\s+\Z", re.I)
"""In such a question "in four days" is how long something takes."""
ISO_WEEK: Final = lazy(r"(?:calendar\s+)?week\s+(?P<week>\d{1,2})\b(?:,?\s+(?:of\s+|in\s+)?(?P<year>\d{4})\b)", re.I)
NEAR: Final = lazy(
    r"(?P<which>day before yesterday|day after tomorrow|yesterday|today|tonight|tomorrow|last night"
    r"|this (?:morning|afternoon|evening))\b"
    r"(?:\s+(?:morning|afternoon|evening))?",
    re.I,
)
NEAR_DAYS: Final = {
    "day before yesterday": -2, "yesterday": -1, "last night": -1, "tomorrow": 1, "day after tomorrow": 2
}  # fmt: skip
"""How many days from today those days lie that have a name."""
WEEKDAY: Final = lazy(
    rf"(?P<unit>{DAY_NAME})\b(?!['’]s\b|\s+(?:mornings|afternoons|evenings|nights|file|man)\b)"
    r"(?:\s+(?:morning|afternoon|evening|night)\b)?",
    re.I,
)
WEEKDAY_ALONE: Final = lazy(rf"(?P<unit>{DAY_NAME})(?:\s+(?:morning|afternoon|evening|night))?\b{ENDED}", re.I)
"""Behind "for", which may be for whom: "the menu for Friday"."""
PART: Final = lazy(
    r"(?P<part>(?:early|mid|late)(?=[\s-]+(?:(?:of|in)\s+)?)|(?:middle|beginning|start|end|close)(?=\s+of\s))"
    r"[\s-]+(?:(?:of|in)\s+)?(?:the\s+(?:year\s+|month\s+of\s+)?)?",
    re.I,
)
NTH_UNIT: Final = lazy(
    rf"{NTH}\s+(?:{COUNT}\s+)?(?P<unit>day|week|weekend|month|quarter|half|{DAY_NAME})(?P<many>s?)\s+(?:of|in)\s+"
    r"(?:the\s+(?:year\s+|month\s+of\s+)?)?",
    re.I,
)
BESIDE_ANOTHER: Final = lazy(
    rf"(?:{COUNT}\s+|(?:last|first|next|previous)\s+)?(?P<unit>day|week|weekend|fortnight|month|year|{DAY_NAME})s?\s+"
    r"(?P<side>before|after|following|preceding|prior\s+to)\s+(?:the\s+)?",
    re.I,
)
UNIT_OF: Final = lazy(r"(?P<unit>day|week|weekend|month|quarter|year)\s+of\s+(?:the\s+)?", re.I)
ARTICLE: Final = lazy(r"(?:(?:about|around|roughly|circa)\s+)?(?:the\s+)?", re.I)
WORD_THERE: Final = lazy(r"\d+|[^\W\d_]+\d?", re.I)
BOUNDS: Final = (
    "before",
    "prior",
    "earlier",
    "until",
    "till",
    "up",
    "by",
    "no",
    "not",
    "after",
    "later",
    "since",
    "ever",
)
BETWEEN: Final = ("from", "between")
DATING: Final = frozenset(
    (*BOUNDS, *BETWEEN, "as", "in", "on", "of", "during", "through", "throughout", "starting", "part")
)
MONTH_LEADS: Final = DATING - {"from"} | {"around", "for"}
SEASON_LEADS: Final = DATING | {"around", "over"}
DAY_LEADS: Final = frozenset((*BOUNDS, *BETWEEN, "as", "on"))
WEEKEND_LEADS: Final = DAY_LEADS | {"over", "during", "for"}
COUNT_LEADS: Final = frozenset(("in",))
SINCE_LEADS: Final = frozenset(("since", "ever", "as"))
"""Behind such a word a day is the last one."""
BEFORE: Final = "before"
THROUGH: Final = "through"
AFTER: Final = "after"
SINCE: Final = "since"
AS_OF: Final = "as of"
WITHIN: Final = "within"
RELATIONS: Final[dict[str, tuple[tuple[re.Pattern[str], str], ...]]] = {
    first: tuple((lazy(form + r"\s+", re.I), relation) for form, relation in forms)
    for first, forms in {
        "before": (("before", BEFORE),),
        "prior": ((r"prior\s+to", BEFORE),),
        "earlier": ((r"earlier\s+than", BEFORE),),
        "until": (("until", BEFORE),),
        "till": (("till", BEFORE),),
        "up": ((r"up\s+to\s+and\s+including", THROUGH), (r"up\s+(?:to|until|till)", BEFORE)),
        "by": (("by", THROUGH),),
        "no": ((r"no\s+later\s+than", THROUGH),),
        "not": ((r"not\s+later\s+than", THROUGH),),
        "after": (("after", AFTER),),
        "later": ((r"later\s+than", AFTER),),
        "since": (("since", SINCE),),
        "ever": ((r"ever\s+since", SINCE),),
        "as": ((r"as\s+from", SINCE), (r"as\s+(?:of|at|on)", AS_OF)),
        "starting": ((r"starting\s+from", SINCE),),
        **{
            word: ((word, WITHIN),)
            for word in ("in", "on", "of", "during", "around", "over", "for", "through", "throughout")
        },
    }.items()
}
"""What stands before a point and says which stretch of time is meant."""
FROM: Final = lazy(r"(?:from|between)\s+", re.I)
BEGINS: Final = lazy(
    r"\b(?:(?<!away )(?<!apart )(?<!back )from|(?:starting|beginning|effective)(?:\s+(?:in|on|from))?"
    r"|as\s+(?:of|from))\s+",
    re.I,
)
"""Before the time from which on a statement says that something is so."""
ENDS: Final = lazy(
    rf"\b(?:(?:until|till|through|up\s+to)\s+(?:and\s+including\s+)?|(?:ends|expires)\s+(?:on\s+)?"
    rf"|(?<!\bback )from\s+(?P<from>[\w. ,]{{2,24}}?)(?:\s+{TO}\s+|\s?[–—]\s?))(?:the\s+(?=\d))?"
    rf"(?<!\b(?:mon|tue|wed|thu|fri|sat|sun)day until )(?<!day till )(?<!day through )",
    re.I,
)
"""Before the time with which a statement says that something ends."""
OF_RECORDS: Final = lazy(
    r"\b(?:data|figures|numbers|statistics|results|sales|receipts|invoices|bills|records|logs?|history|documents|files"
    r"|notes|letters|e?mails|messages|minutes|reports|entries|photos|pictures|backups?|payslips|statements)\s+\Z",
    re.I,
)
"""Before the times that what somebody keeps is of: they go on to have it."""
UP_TO: Final = lazy(rf"\s+{TO}\s+|\s?[–—]\s?", re.I)
NOW: Final = lazy(r"(?:now|today|the\s+present(?:\s+day)?)\b", re.I)
ONWARDS: Final = lazy(r"\s+(?:onwards?|forward|on)\b(?=\s*(?:[?.,;!]|\Z))", re.I)
STARTING: Final = frozenset(("starting", "as"))
"""Of those that lead to a time since which something is so, those that a plan may have, too."""
TELLS_NOW: Final = lazy(r"\b(?:I|we|he|she|they|you|it)\s+[a-z]|\b[A-Z]\w+\s+[a-z]+s\b")
"""Somebody does something: "from October on I work"."""
WAS_SO: Final = lazy(
    r"\b(?:was|were|had|did|used\s+to|lived|worked|stayed|studied|owned|belonged|smoked|taught|slept|wore|drove|drank"
    r"|ate|rained|snowed|rented|took|paid|ran|played|led|kept|spoke|weighed|earned"
    r"|(?:ha(?:s|ve|d)|['’]ve)\s+(?:had|been(?!\s+\w+ed\b)|lived|worked))\b",
    re.I,
)
"""What was so from a time on."""
WILL_BE_SO: Final = lazy(
    r"\b(?:told|asked|offered|promised|informed|agreed|is|are|am|will|shall|going\s+to)\b|['’](?:m|ll|re)\b", re.I
)
CLAUSE_END: Final = lazy(r"[;:.!?]|\b(?:and|but|that|because|so)\b", re.I)
GROWN: Final = lazy(
    r"\b(?:grew|grow|grown|rose|rise|fell|increas\w+|decreas\w+|drop\w*|rais\w+|up|down|cut|reduc\w+|went|go"
    r"|goes|count\w*)"
    r"[\s,]+\Z|(?:%|\bper ?cent|\bout|\d)\s+\Z",
    re.I,
)
"""Behind such a word "by 2000", "from 2000" and "of 2000" tell how much."""
IS_PAST: Final = lazy(
    r"\b(?:did(?:n['’]t)?|was(?:n['’]t)?|were(?:n['’]t)?|had(?:n['’]t)?|ha(?:s|ve)(?:n['’]t)?|\w+ed|came|went"
    r"|saw|got|gave|said"
    r"|told|met|left|took|made|bought|sold|wrote|spoke|held|led|ran|sat|stood|slept|rang|kept|lost|won|paid|sent|broke"
    r"|fell|grew|began|ate|drank|drove|flew|burnt|spent|built|felt|meant|dealt|wept|swept|lent|knew|found|fought"
    r"|brought|taught"
    r"|thought|caught|wore|hid|swam|sang|shut|set|put|let|cut|read|cost)\b|['’]ve\b",
    re.I,
)
HAPPENED: Final = lazy(
    r"\b(?:did(?:n['’]t)?|was(?:n['’]t)?|were(?:n['’]t)?|had(?:n['’]t)?"
    r"|(?!need\b|indeed\b|speed\b|feed\b|seed\b|exceed\b|proceed\b|succeed\b|shed\b|\w?breed\b|bleed\b|moped\b"
    r"|weed\b|sled\b|hundred\b|naked\b|sacred\b|(?:al|man|wilf|win|sieg)?f?red\b|(?:ah|mu?o?ham)med\b|jared\b)"
    r"\w{2,}ed|came|went|saw|got"
    r"|gave|said|told"
    r"|met|left|took|made|bought|sold|wrote|spoke|held|led|ran|sat|stood|slept|rang|kept|lost|won|paid|sent"
    r"|broke|fell|grew"
    r"|began|ate|drank|drove|flew|spent|built|felt|found|brought|taught|wore|swam|sang)\b"
    r"|\b(?:have|has)(?:n['’]t)?\s+(?:\w+\s+){1,3}?(?:\w{2,}ed|been|eaten|seen|met|done|had|read|heard|bought"
    r"|paid|got)\b"
    r"|['’]ve\s+\w+",
)
"""Verbs of what has been, in small letters: to search for capital ones as well takes three times as long."""
NAME_LIKE_VERB: Final = lazy(r"(?<=[\w,] )(?:[A-Z][a-z]+ed|Said|LED)\b")
"""Inside a sentence, a capital word that in small letters would be a verb of what has been."""
AHEAD: Final = lazy(
    r"\b(?:will|shall|going\s+to|plan(?:s|ned|ning)?|coming|upcoming|due|want\w*\s+to|need\s+to|have\s+an?"
    r"|has\s+an?|might|tomorrow)\b"
    r"|['’]ll\b",
    re.I,
)
"""In a sentence of what happened, and of nothing ahead, "on Monday" is the last one."""
WILL: Final = lazy(
    r"\bwill\b|\A\W*Will\b|\b[Ss]hall\b|\b[Ww]on['’]t\b|\bgoing\s+to\b|['’]ll\b|\bnext\b(?!\s+(?:to|door)\b)"
)
WAS: Final = lazy(r"\b(?:did|was|were|had)(?:n['’]t)?\b", re.I)
"""In a question of the first and not of the second, "in May" is the next one."""
PLANNED: Final = lazy(
    r"\b(?:plann(?:ed|ing)|(?<!\bwhich )plans|upcoming|scheduled|booked|coming|(?:want|need|hope)s?\s+to"
    r"|due(?!\s+(?:dates?|diligence|process|course|to\s+(?:the|an?|my|our|his|her|their))\b)"
    r"|(?:i|we|you|they|he|she)\s+(?:\w+ly\s+)?plan|(?<!\bthe )(?<!\bthis )plan\s+to"
    r"|(?:do|does|and)\s+(?-i:[A-Z])\w+\s+plan(?=\s*(?:[?.!,;]|\Z)|\s+(?:for|in|on|this|next|an?|the|any)\b))\b",
    re.I,
)
"""Words of what is still to be; "plan" where it is a verb."""
WILL_LETTERS: Final = ("ll", "next", "going", "on't", "on’t")
PLANNED_LETTERS: Final = ("plan", "coming", "schedul", "booked", "want", "need", "hope", "due")
"""What has none of these has no word of what will be, or of what is planned: by far quicker to see."""


def has_letters_of(some: tuple[str, ...], text: str) -> bool:
    """True if some letters are in a text."""
    return any(map(text.__contains__, some))


HAVE_GOT: Final = r"\b(?:have|has)(?:n['’]t)?\s+(?:\w+\s+){1,2}?got(?!\s+(?:from|off|out|into|rid|back|home|through))\b"
IS_DONE: Final = lazy(
    r"(?:\b(?:is|are|am|be|being)|\b(?:what|who|where|how)['’]s)\s+(?:[\w'’-]+\s+){0,4}?\w{2,}ed\b"
    rf"|(?<=[^\W_])['’](?:s|re|m)\s+\w{{2,}}ed\b|{HAVE_GOT}",
)
"""In small letters, what is being done, or how something is: "is named", which tells of no past; what somebody has
got they have."""
TOLD_OF: Final = lazy(r"(?<=\w )(?:who|that|which|i|we|you|he|she|they)\s+(?:\w+ly\s+)?\w{2,}ed\b", re.I)
"""What somebody did, in a question of the present: "is that the man who called on Monday?"."""
ASKS_WHEN: Final = lazy(r"\A\W*(?:and\s+|so\s+)?when(?:['’](?:s|re)|\s+(?:is|are|does|do|am))\b", re.I)
"""A question of when something is may be of what is to come."""
IS_NOW: Final = lazy(
    r"\A\W*(?:who|what|which|where|when|how)\b|\b(?:is|are|am|do|does|can|must|should|may|might)(?:n['’]t)?\b"
    r"|['’](?:re|m)\b|\b(?:who|what|where|when|how)['’]s\b"
    r"|\A\W*(?:(?:and|have|has)\s+(?:\w+\s+){0,2})?(?:any|some|no)thing\s+(?:else\s+)?"
    r"(?:on|for|in|at|happening|special|to)\b"
    rf"|{HAVE_GOT}|\A\W*(?:have|has)(?:n['’]t)?\s+\w+\s+(?:an?|any|the|to)\b",
)
"""In small letters, verbs of the present, and "anything on Friday?", which has none."""
DATED_BY: Final = frozenset(("in", "on", "for", "during", "over"))
"""Behind such a word a month without a year may be the coming one."""
UP_TO_LEADS: Final = frozenset(("between", "by", "until", "till"))
"""So it may behind these."""
OF_DAY: Final = DATED_BY | {"between", ""}
"""Behind such a word a question of the present names a day by its date; "from" and "of" tell of what a thing is."""
Tense = Literal["past", "present", "ahead", ""]
"""Of when a question asks, by its verbs."""
SENTENCE_END: Final = lazy(r"[.!?;]\s")
SIGN: Final = lazy(r"[.!?;](?=\s|\Z)")
NAME_BEHIND: Final = lazy(r"\s+[A-Z][a-z]")
BEHIND_DAY: Final = lazy(r",?\s+(?:of\s+)?", re.I)
IS_PERFECT: Final = lazy(r"\b(?:has|have|had)(?:n['’]t)?\b|['’]ve\b", re.I)
"""A "since" in such a question is of time: "since it rained, who swept?" gives a reason."""
NO_SIGN: Final = lazy(r"[\w\s'’-]*")
TOKEN: Final = lazy(r"[^\W_]+")
WORD: Final = lazy(r"\w+")
PAST_COUNT: Final = lazy(rf"(?:past|last)\s+{COUNT}\s", re.I)
VAGUE_UNIT: Final = r"(?:minute|hour|day|night|morning|evening|weekend|week|fortnight|month|quarter|year|decade)s?"
PERIOD: Final = (
    r"(?:day|night|morning|evening|weekend|week|month|quarter|year|decade|century|spring|summer|autumn|fall|winter)"
)
BESIDE: Final = r"(?:before|after|following|preceding)"
WHOSE: Final = r"(?:the |my |our |your |his |her |their |we |i |you |he |she |they )?"
FEAST: Final = (
    r"(?:easter|christmas|xmas|thanksgiving|halloween|hanukkah|ramadan|passover|diwali|pentecost|whitsun|carnival"
    r"|mardi gras|new year(?:['’]s)?(?: eve| day)?|(?:labou?r|memorial|independence|valentine['’]s|mother['’]s"
    r"|father['’]s) day|black friday)"
)
FEASTS: Final = frozenset(
    ("easter", "christmas", "xmas", "thanksgiving", "halloween", "hanukkah", "ramadan", "passover", "diwali")
) | {"pentecost", "whitsun", "carnival", "mardi", "new", "labor", "labour", "memorial", "independence", "valentine"}
EVENTS: Final = FEASTS | {"mother", "father", "black"}
HIS: Final = r"(?:the|my|our|your|his|her|its|their|(?-i:[A-Z])[\w-]+['’]s)"
NO_NOUN: Final = (
    r"(?:did|do|does|was|were|is|are|has|have|had|can|could|will|would|should|and|or|but|what|who|whom|which|where|when"
    r"|how|in|at|on|for|to|with|of|by|from|i|we|you|he|she|it|they|then|took|came|went|began)"
)
SUBJECT: Final = (
    rf"(?:i|we|you|he|she|it|they|there|{HIS}\s+[\w'’-]+(?:\s+[\w'’-]+)?"
    r"|(?-i:[A-Z])[\w'’.-]*(?:\s+(?-i:[A-Z])[\w'’.-]*)?)"
)
DID: Final = (
    r"(?:\w{2,}ed|was|were|had|came|went|got|gave|said|told|met|left|took|made|bought|sold|wrote|spoke|held|led|ran|sat"
    r"|stood|slept|kept|lost|won|paid|sent|broke|fell|grew|began|became|ate|drank|drove|flew|built|found|knew|saw|quit)"
)
TAIL: Final = rf"(?:\s+(?!{NO_NOUN}\b)[\w'’/-]+){{0,2}}"
PLACES: Final = (
    r"(?:doors?|gates?|windows?|house|home|church|altar|mirror|fire|fireplace|tv|television|judges?|court|jury"
    r"|bench|board"
    r"|committee|council|parliament|king|queen|throne|audience|crowd|cameras?|curtain|wall|bridge|corner"
    r"|crossing|stairs"
    r"|steps|entrance|desk|table|eyes|comma|colon|noun|verb|word|letter|number|name|colou?r|row|column|line|horse|cart"
    r"|others?|rest|same|present|current|one|two|three|next|last|first|end|fact|law)"
)


class Vague(NamedTuple):
    """A way to name a time that stays unresolved. It is looked for where one of its words occurs.

    ``past``: in questions of the past alone, ``perfect`` of what has been. ``event``: not where the question asks how
    long something took. ``again``: it means another time of the question, if that names one.
    """

    words: frozenset[str]
    pattern: re.Pattern[str]
    past: bool = False
    perfect: bool = False
    event: bool = False
    again: bool = False


def _vague(words: str, pattern: str, **kind: bool) -> Vague:
    return Vague(frozenset(words.split()), lazy(pattern, re.I), **kind)


VAGUE_FORMS: Final = (
    # "the week after Easter", "two days before my birthday"
    _vague(
        "before after following preceding of",
        rf"\b(?!many\b)[\w'’]{{1,20}} {VAGUE_UNIT} (?:{BESIDE}|of) {WHOSE}{FEAST}\b",
    ),
    _vague(
        "before after following preceding",
        rf"\b(?!many\b)[\w'’]{{1,20}} {VAGUE_UNIT} {BESIDE} (?!the {VAGUE_UNIT}['’]){WHOSE}[\w'’]{{1,40}}",
        past=True,
    ),
    Vague(
        EVENTS,
        lazy(
            r"\b(?:(?:on|at|over|around|before|after|since|by|until|during) (?:(?:last|this|next) )?"
            r"|(?:last|this|next) )"
            rf"{FEAST}\b",
            re.I,
        ),
    ),
    _vague(
        "recently lately other back once past child kid boy girl teenager student early childhood youth twenties"
        " thirties forties fifties sixties old ages age times era day days some one point",
        r"\b(?:recently|lately|the other (?:day|night|week|month)|some time back"
        r"|a while back|once upon a time|in the (?:distant )?past|as a (?:child|kid|boy|girl|teenager|student)"
        r"|in (?:my|our|your|his|her|their) (?:childhood|youth|early years|twenties|thirties|forties|fifties|sixties)"
        r"|in (?:the )?(?:middle|stone|bronze|iron|victorian|roman|ancient|medieval|olden) (?:ages?|times|era)"
        r"|in the (?:(?:good )?old|early) days|(?:some|one)\s?time in the past|at some point in the past)\b",
    ),
    # What lies in no one stretch: "the nineties" of which century?
    _vague(
        "in",
        r"\bin the (?:(?:early |mid[ -]|late )?"
        r"(?:['’]?(?:19|20)?\d0['’]?s|(?:twen|thir|for|fif|six|seven|eigh|nine)ties)"
        r"|(?:\d{1,2}(?:st|nd|rd|th)|\w+teenth|twentieth|twenty-first) century)\b",
    ),
    _vague(
        "beginning start middle end half part",
        rf"\b(?:the )?(?:beginning|start|middle|end|(?:first|second|last) (?:half|part)) of (?:the |this |last |next )?"
        rf"{VAGUE_UNIT}\b",
    ),
    # What is asked of the future is not about when something was said or began.
    _vague(
        "tomorrow next time from",
        r"\b(?:tomorrow|next (?:(?:few|couple of|two|three) )?"
        rf"(?:{VAGUE_UNIT}|spring|summer|autumn|fall|winter|\w+day)"
        rf"|in \w+ {VAGUE_UNIT}['’]? time|\w+ {VAGUE_UNIT} from (?:now|today))\b",
    ),
    # What hangs on an event: "in the year of the flood", "the day we met", "before we moved", "since the merger".
    _vague(
        "of when that which",
        r"\b(?:in|during|on|at|over|since|until|till|by|before|after|from|around) the (?:same )?"
        rf"(?:{PERIOD}|time|moment|age|days|years)\s+of\s+(?!(?:the )?{VAGUE_UNIT}\b)(?:{HIS} |an? )?[\w'’-]+",
        past=True,
        event=True,
    ),
    _vague(
        "day night morning evening weekend week month year spring summer autumn fall winter moment time",
        rf"\b(?:the|that) (?:very |same )?(?:(?:{PERIOD}|moment) (?:(?:when|that|in which|on which) )?|time when )"
        rf"{SUBJECT} {DID}\b{TAIL}",
        past=True,
        event=True,
    ),
    _vague(
        "first second third fourth fifth sixth last final",
        r"\b(?:in|during|on|since|until|till|by|before|after|from) (?:the|my|our|his|her|their)"
        rf" (?:first|second|third|fourth|fifth|sixth|last|final) (?:{PERIOD}|hour)s? of (?!(?:the )?{VAGUE_UNIT}\b)"
        rf"(?:{HIS} |an? )?[\w'’-]+",
        past=True,
        event=True,
    ),
    _vague(
        "before after until till while when by",
        r"(?:(?P<asks>\b(?:know|remember|tell|told|say|said|ask|asked|me|us|of|about|exactly|wonder|forget"
        r"|forgot|recall|sure)\s+)?"
        rf"\bwhen|\b(?:before|after|until|till|while|by the time))\s+{SUBJECT}\s+(?:\w+ly\s+|first\s+|last\s+|just\s+)?"
        rf"{DID}\b{TAIL}",
        past=True,
        event=True,
    ),
    _vague(
        "since",
        rf"\b(?:ever )?since\s+{SUBJECT}\s+(?:\w+ly\s+|first\s+|last\s+)?"
        rf"(?!had\b){DID}\b{TAIL}",
        perfect=True,
        event=True,
    ),
    # Last in a question it is of time, too: "What was the rent since we moved?"
    _vague(
        "since",
        rf"\b(?:ever\s+since\s+{SUBJECT}\s+{DID}\b{TAIL}|since\s+{SUBJECT}\s+{DID}\b{TAIL}(?=\s*[?.!]*\s*\Z))",
        past=True,
        event=True,
    ),
    _vague(
        "before after until till since",
        r"(?P<asks>\b(?:look\w*|named|called|tak\w+|took|ask\w*|r[ua]n|runs|chas\w+|goes?|went|comes?|came|seek"
        r"|st[oa]\w*d|stands|sat"
        r"|sits?|lies|lay|put|puts|bring|brought|appear\w*|rank\w*)\s+)?"
        rf"\b(?:before|after|until|till|since)\s+{HIS}\b(?!(?:\s+[\w'’-]+){{0,2}}\s+{PLACES}\b)"
        rf"(?:\s+(?!{NO_NOUN}\b)[\w'’/-]+){{1,3}}(?!\s+(?:is|are|was|were|has|have|can|will|does)\b)",
        past=True,
        event=True,
    ),
    _vague(
        "during",
        rf"\bduring\s+{HIS}\b(?!\s+(?:{VAGUE_UNIT}|course|daily|weekly|usual|regular)\b)"
        rf"(?:\s+(?!{NO_NOUN}\b)[\w'’/-]+){{1,3}}",
        past=True,
        event=True,
    ),
    # What means a time that was told before.
    _vague(
        "then since time point moment day week month year spring summer autumn fall winter those period era morning"
        " evening night weekend",
        r"\b(?:ever\s+since(?=\s*[?.!,;]|\s*\Z)|(?:back|by|ever since|since|until|till|before|around) then"
        r"|(?!at the same time\b)(?:at|around|by|since|before|after|until|from|in|during|on) (?:that|the same)"
        rf" (?:time|point|moment|period|era|{PERIOD})"
        rf"|at the time(?! of\b)|in those (?:days|years|times))\b",
        again=True,
    ),
    _vague(
        "that",
        rf"\bthat (?:very |same )?{PERIOD}(?=\s*[?.,;!]|\s*\Z|\s+(?:did|was|were|had|and)\b)",
        past=True,
        again=True,
    ),
    # Times of the day, and of a life.
    _vague(
        "at",
        r"\bat (?:about |around |exactly )?"
        r"(?:\d{1,2}(?::\d\d)?\s?(?:am|pm|a\.m\.?|p\.m\.?|o['’]?clock)(?!\w)|\d{1,2}:\d\d(?!\d)"
        r"|(?:half|quarter) (?:past|to) \w+|noon\b|midnight\b|midday\b|dawn\b|dusk\b|sunrise\b|sunset\b)",
        past=True,
    ),
    _vague(
        "turn eve run wake aftermath time end into noughties",
        rf"\b(?:at the turn of the (?:year|month|century|millennium)|(?:at|by|before|after|until) (?:the )?"
        rf"(?:year|month|quarter|week)(?:['’]s)?[ -]end|in the (?:early |mid |late )?noughties"
        rf"|(?:on|in|before|after|since) (?:the )?(?:eve|run-up|wake|aftermath) (?:of|to) (?:{HIS} )?[\w'’-]+"
        rf"|(?:at|around|about|from|since) the time (?:when |that )?{SUBJECT} {DID}\b{TAIL}"
        rf"|\w+ {VAGUE_UNIT} into [\w'’-]+)",
        past=True,
        event=True,
    ),
    _vague(
        "soon once whenever",
        rf"\b(?:as soon as|once|whenever) {SUBJECT} (?:\w+ly |first |last |just )?{DID}\b{TAIL}",
        past=True,
        event=True,
    ),
    _vague("after thereafter afterwards", r"\b(?:after that(?=\s*[?.!,;]|\s*\Z)|thereafter|afterwards)\b", again=True),
    # A year that is two, and what follows another time.
    _vague("in for during since", r"\b(?:in|for|during|since) (?:19|20)\d\d/\d\d\b"),
    _vague("following preceding", rf"\bthe (?:following|preceding) {PERIOD}\b", past=True, again=True),
    _vague("age aged", r"\b(?:at (?:the )?age (?:of )?\w+|aged \w+)", past=True, event=True),
)
ASKS_LENGTH: Final = lazy(
    r"\bhow (?:long|old|much time|many (?:\w+ )?(?:minutes|hours|days|weeks|months|years|times))\b"
    r"|\b(?:what|which) age\b|\bhappened first\b",
    re.I,
)
SAID_AGO: Final = lazy(r"\bago\b", re.I)
VAGUE_WORD: Final = lazy(r"[\w'’-]+")
COUNTING: Final = lazy(
    rf"\d+|{'|'.join(COUNTED)}|a|an|and|half|some|many|so|quite|very|of|about|few|couple|several|dozens?"
    rf"|hundreds?|\w*(?:ty|teen)",
    re.I,
)
"""What stands before the unit in "quite a few years ago"."""
