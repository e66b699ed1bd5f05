"""Find what a statement tells by its words: which attributes, of which sort, and where somebody or something is.

A word for an attribute may stand for something else: "takes the bus to work" tells no job, and "her dentist" not whose
trade that is.
"""

import re
from collections.abc import Set
from functools import cache
from itertools import pairwise
from typing import Final

from worlddb.log.model.times import lazy
from worlddb.query.claims import lexicon, quantities, wording

_HOUR: Final = re.compile(r"\d{1,2}\.\d\d")
_DYED: Final = lexicon.word_set("painted dyed coloured colored light dark bright")
_QUALITIES: Final = lexicon.word_set(
    "fast slow small big large bright heavy old young nice ugly beautiful pretty cheap expensive dear loud quiet noisy"
    " short long wide narrow warm cold hot cool cosy wet dry soft hard rough smooth strong weak sweet sour bitter great"
    " good bad awful lovely fun boring kind rude shy calm clever smart lazy busy tired sick ill happy sad angry fine"
    " hungry modern round square thick thin rich poor late early electric hybrid automatic fancy simple safe light dark"
    " tidy messy rusty sunny dusty shiny tasty spicy salty healthy lucky sturdy steep deep close far"
)
_QUALITY: Final = re.compile("[a-z]{3,}(?:ful|ous|ive|able|ible|less|ish|ing|ed)$")


def find_sort(rest: list[str], titled: Set[str], *, has_hours: bool) -> str:
    """The sort of the value stated of a thing; ``rest`` begins with the verb or the words before it."""
    if has_hours or not (lexicon.TIMES - _NO_TIMES).isdisjoint(rest):
        return "time"
    if rest[:1] in (["has"], ["have"]) and not (rest[1:2] and (rest[1] in lexicon.AUX or lexicon.is_past(rest[1]))):
        return "part"
    copula = next((index for index, word in enumerate(rest[:4]) if word in lexicon.COPULA), None)
    predicate = [] if copula is None else [word for word in rest[copula + 1 : copula + 6] if word not in _SAYING_LITTLE]
    if predicate[1:] and predicate[0] in _DYED and predicate[1] in lexicon.COLOURS:
        predicate = predicate[1:]
    first = predicate[0] if predicate else ""
    if copula is None or first[:1].isdecimal():
        return "amount" if any(word[0].isdecimal() for word in rest) else ""
    if first in lexicon.COLOURS:
        return "colour"
    if first in _LACKING:
        return "state"
    if first in ("due", "payable"):
        return "time"
    if "@" in first:
        return "kind"
    if first in lexicon.BEHIND or first in lexicon.PREPOSITIONS:
        return "place"
    if first in lexicon.OPPOSITE or first in lexicon.OPPOSITE.values():
        return "state"
    if first in lexicon.attribute_words() or first in ("called", "named"):
        return "name" if first in ("called", "named") else ""
    is_quality = first not in titled and (first in _QUALITIES or _QUALITY.match(first))
    return "kind" if first in ("a", "an") else "quality" if is_quality else ""


_LACKING: Final = lexicon.word_set("out low short empty down away")
"""Of what a thing has run out, or that it is not there."""
_NO_TIMES: Final = lexicon.word_set("today hour hours daily weekly monthly yearly")
_SAYING_LITTLE: Final = lexicon.word_set("very quite really rather so too now still always also just the")


def _is_article(tokens: list[str]) -> bool:
    """True if "die" is only the German article; the English verb follows "to", "will" or "not"."""
    before = {tokens[place - 1] for place, word in enumerate(tokens) if word == "die" and place}
    verbs = lexicon.MODALS | lexicon.AUX | lexicon.NEGATIVE | {"to"}
    return before.isdisjoint(verbs) and {"died", "dies", "death"}.isdisjoint(tokens)


def stated_attributes(tokens: list[str], rest: list[str], verb: str, passive: bool, owned: Set[str]) -> frozenset[str]:
    """The attributes that the words of a statement stand for, without those that only mention another thing."""
    known = lexicon.attribute_words()
    if rest[:1] and rest[0] in lexicon.MODALS:
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
            if lexicon.TIMES & set(behind) and "in" not in behind:
                found.add("schedule")
            elif not lexicon.DETERMINERS & set(behind[:1]) and _NO_HOMES.isdisjoint(tokens[place + 1 : place + 6]):
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
    if rest and rest[0] in lexicon.LIKING:
        # Who likes to cook is no cook.
        found -= {"job", "residence"}
    if len(rest) == 2 and rest[0] in lexicon.COPULA and _is_an_age(rest[1]):
        found.add("age")
    if "job" in found and rest and verb not in _work_stems() and _only_trades(tokens):
        found.discard("job")
    if "job" in found and verb != lexicon.plain_stem("work") and _is_at_work(tokens):
        found.discard("job")
    if rest and rest[0] in lexicon.COPULA and not _ATTITUDES.isdisjoint(rest[1:4]):
        # Who is interested in a vegan recipe is no vegan by that.
        found -= {"residence", "diet", "state", "level"} | (set() if "looking" in rest else {"job"})
    for attribute in {"state", "diet", "phone"} & found:
        if not _is_told(attribute, tokens, passive=passive):
            found.discard(attribute)
    if rest and rest[0] in lexicon.WISHES:
        # Somebody who wants to live by the sea lives elsewhere.
        found -= {"residence", "job", "marital state"}
    if owned and owned.isdisjoint(_OF_WORK) and any("job" in known.get(word, ()) for word in owned):
        # Who her dentist is, is not what she works as.
        found.discard("job")
    if "job" in found and _only_serves(rest):
        # Whose dentist he is, too.
        found.discard("job")
    if verb == lexicon.plain_stem("hired") and not passive and not lexicon.TRADES.isdisjoint(tokens):
        # Who hired a lawyer is none.
        found.discard("job")
    if "residence" in found and _is_at_a_home(tokens, verb):
        found.discard("residence")
    return frozenset(found)


def predicate_attributes(rest: list[str], plain: str, noun: str, owned: Set[str], sort: str) -> set[str]:
    """The attributes of what the subject is stated to be or do: red, in a place, due at an hour, for a living.

    ``noun`` is the thing that the statement begins with.
    """
    found = {"colour"} if sort == "colour" else set[str]()
    found |= {"job"} if _LIVELIHOOD.search(plain) is not None else set()
    rest = rest[1:] if rest and rest[0] in lexicon.MODALS else rest
    where = [word for word in rest[1:3] if word not in _IN_BETWEEN][:1] if rest and rest[0] in lexicon.COPULA else []
    if not where:
        return found
    if where[0] in ("abroad", "overseas"):
        found.add("place")
    if where[0] in lexicon.WEEKDAYS or (where[0] in ("on", "in", "at") and lexicon.TIMES & set(rest)):
        found.add("schedule")
    if where[0] in lexicon.PREPOSITIONS and not _NO_PLACES.isdisjoint(rest[2:5]):
        found.add("condition")
    elif where[0] in lexicon.PREPOSITIONS and not lexicon.TIMES & set(rest):
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
        for word in wording.TITLED.findall(plain)
        if word[0].isupper() and (not word.isupper() or word.casefold() in _ABBREVIATED_PLACES)
    )


def _is_spatial(noun: str, owned: Set[str]) -> bool:
    """True if a statement begins with a thing that is somewhere, and not with somebody, a body of people or a plan."""
    begins = owned | {noun} - {""}
    return bool(begins) and begins.isdisjoint(lexicon.PERSONS | _WITHOUT_PLACE)


def _whereabouts(way: str, behind: list[str], place_names: Set[str], is_spatial: bool) -> set[str]:
    """The attributes of what somebody or something is in, on or at: a ``place`` only if the words tell that it is one.

    All else is a ``condition``: insulin, therapy, leave. A ``stay`` ends where somebody is at home again.
    """
    phrase = list[str]()
    for word in behind:
        if word in _PHRASE_ENDS or (phrase and word in ("this", "next")):
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
    is_one = first in lexicon.DETERMINERS or first in place_names or is_numbered
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
    lexicon.PREPOSITIONS
    | lexicon.word_set("with for of from to as until till since and but or because while called named where who which")
    | lexicon.word_set(
        "now again currently still already just these-days today back since anymore any-more instead too"
    )
)
"""Words at which the phrase behind a preposition ends."""
_STREETS: Final = lexicon.word_set("street road avenue lane drive boulevard")
_PLACES: Final = _STREETS | lexicon.word_set(
    "alley square room floor storey hotel hostel motel guesthouse house flat"
    " apartment building bungalow cottage cabin villa castle tent studio dorm dormitory kitchen bathroom bedroom garden"
    " yard attic basement cellar garage lobby lounge corridor library cafe restaurant pub airport station terminal"
    " office lab ward hospice home village town city suburb suburbs countryside mountains park beach island campsite"
    " district neighbourhood neighborhood region province county coast seaside valley north south east west country"
    " shed barn farm harbour harbor port warehouse museum"
)
"""Words for places."""
_SIDES: Final = lexicon.word_set(
    "north south east west northern southern eastern western central downtown upstate greater"
)
_PLACES_WITH_ARTICLE: Final = lexicon.word_set(
    "alps netherlands us usa uk uae hague bronx highlands philippines states kingdom algarve ruhr midlands bahamas"
    " maldives balkans caribbean dolomites pyrenees tyrol vosges cotswolds hamptons hebrides azores congo gambia"
)
_ABBREVIATED_PLACES: Final = lexicon.word_set("us usa uk uae la nyc dc")
_BODIES: Final = lexicon.word_set(
    "choir band club orchestra union league society party association guild scouts cast jury committee council group"
    " team squad army navy marines police parliament congress senate cabinet government board church company class"
    " course program programme school university college academy mensa rotary lions freemasons nato amnesty"
    " greenpeace slack discord whatsapp year grade"
    " sales marketing finance accounting hr legal engineering operations procurement logistics"
    " maths mathematics physics chemistry biology medicine law history philosophy economics"
    " english french german italian spanish latin relationship stress trouble"
)
"""Words for what somebody is in that is no place, whatever name it has."""
_FIGURATIVE: Final = lexicon.word_set(
    "red black works making pipeline way offing cards agenda mend rise decline wane brink verge"
)
"""Words for that in or on which a thing is without being there."""
_STAYS: Final = lexicon.word_set("hospital prison jail rehab custody quarantine")
_WITHOUT_PLACE: Final = lexicon.word_set(
    "company firm team band club startup group choir project plan law proposal application visa deal idea party"
)
"""Words for what is in or on something as somebody is: a company in administration, a plan on hold."""
_OF_A_BIRTHDAY: Final = lexicon.word_set(
    "party parties cake cakes present presents gift gifts card cards dinner lunch brunch breakfast trip celebration"
    " celebrations wish wishes invitation invitations bash picnic weekend concert voucher"
)
_IN_BETWEEN: Final = lexicon.word_set("now still currently already just")
"""What may stand between "is" and where something is."""


def _is_told(attribute: str, tokens: list[str], *, passive: bool) -> bool:
    """True if a word for an attribute tells of it and not of a thing: is finished, but not finished a novel."""
    known = lexicon.attribute_words()
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
            is_object = after in lexicon.DETERMINERS or after in _OBJECTS or after[:1].isdecimal()
            is_told = passive or not _BECOMING.isdisjoint(before) or not (is_object or word in _BEFORE_NOUNS)
        if is_told:
            return True
    return False


_OF_A_PHONE: Final = lexicon.word_set(
    "case cases cover covers charger battery plan plans bill bills call calls screen holder 's"
)
_EATING: Final = lexicon.word_set("eat eats diet meat")
_BECOMING: Final = lexicon.COPULA | lexicon.word_set(
    "became become becomes got gets went goes go turned stays stayed remains"
)
_OBJECTS: Final = lexicon.word_set("some all both every each many several reading watching writing")
_BEFORE_NOUNS: Final = lexicon.word_set("online offline active available draft alpha beta ready")
_NO_PLACES: Final = lexicon.word_set("market process mood middle habit industry field")
_ATTITUDES: Final = lexicon.word_set(
    "interested excited curious keen glad happy thrilled grateful proud thinking planning trying looking considering"
    " wondering hoping eager ready sure"
)
_OLDEST: Final = 120
"""Years: "Elena is 35" tells an age."""


def _is_an_age(word: str) -> bool:
    return word in quantities.NUMBER_WORDS or (word.isdecimal() and int(word) < _OLDEST)


def _only_trades(tokens: list[str]) -> bool:
    """True if only the names of trades are about work: an appointment with a dentist, but not "as a dentist"."""
    return {"as", "be"}.isdisjoint(tokens) and all(
        word in lexicon.TRADES for word in tokens if "job" in lexicon.attribute_words().get(word, ())
    )


def _is_at_work(tokens: list[str]) -> bool:
    """True if work is only where somebody goes or does something: takes the bus to work, starts work at ten."""
    known = lexicon.attribute_words()
    padded = ["", *tokens, "", ""]
    around = zip(padded, padded[1:], padded[2:], padded[3:], strict=False)
    return all(
        word == "work"
        and before in _AROUND_WORK
        and not (before in _BEFORE_A_JOB and after in _OF_A_JOB and not next_but_one[:1].isdecimal())
        for before, word, after, next_but_one in around
        if "job" in known.get(word, ())
    )


_BEFORE_A_JOB: Final = lexicon.word_set("to start starts begin begins")
_AROUND_WORK: Final = _BEFORE_A_JOB | lexicon.word_set(
    "at from after before for during off with by about finish finishes leave leaves"
)
_OF_A_JOB: Final = lexicon.word_set("at for as in with on")


def _only_serves(rest: list[str]) -> bool:
    """True if the only words about work are what the subject is for somebody: Dev's plumber, my dentist."""
    known = lexicon.attribute_words()
    trades = [at for at, word in enumerate(rest) if "job" in known.get(word, ())]
    return all(
        rest[at] in _SERVING and any(word[0] in "'’" or word in ("my", "our") for word in rest[max(0, at - 3) : at])
        for at in trades
    )


_SERVING: Final = lexicon.word_set(
    "dentist doctor lawyer accountant plumber electrician carpenter nurse teacher driver cook"
)


@cache
def _work_stems() -> frozenset[str]:
    """The stems of verbs for what somebody is or becomes; the empty stem is "to be"."""
    return frozenset({""}) | lexicon.stems(
        lexicon.word_set("work became becomes become remains serves trained trains qualified started retired")
    )


_OF_WORK: Final = lexicon.word_set("job role position employer work career promoted hired")
_HOMES: Final = lexicon.word_set("home house flat apartment")
_DWELLING: Final = lexicon.word_set(
    "live lives living rent rents share shares stay stays move moves settle settles own owns buy"
)


def _is_at_a_home(tokens: list[str], verb: str) -> bool:
    """True if a home is only the place of something else: the password at her home."""
    known = lexicon.attribute_words()
    named = [at for at, word in enumerate(tokens) if "residence" in known.get(word, ())]
    if not named or verb in lexicon.stems(_DWELLING) or "moved" in tokens or "moves" in tokens:
        return False
    return all(
        tokens[at] in _HOMES
        and (not _AT_A_PLACE.isdisjoint(tokens[max(0, at - 3) : at]) or _is_before_noun(tokens, at))
        for at in named
    )


def _is_before_noun(tokens: list[str], at: int) -> bool:
    """True if a word only tells of what kind something is that somebody is in or on: the house band."""
    before, after = tokens[max(0, at - 3) : at], tokens[at + 1 : at + 2]
    is_in = any(word in lexicon.COPULA and behind in lexicon.PREPOSITIONS for word, behind in pairwise(before))
    is_noun = bool(after) and after[0].isalpha() and after[0] not in _PHRASE_ENDS | lexicon.DETERMINERS | {"share"}
    return is_in and is_noun


_AT_A_PLACE: Final = lexicon.word_set("at near behind outside around to from of opposite")
_NO_HOMES: Final = lexicon.word_set(
    "tears laughter anger pity team teams department division role position job project desk unit squad class"
    " plan tier subscription tariff package"
)
"""Words for that to which somebody may move who lives where they lived."""
_LANGUAGES: Final = lexicon.word_set("language languages tongue")
