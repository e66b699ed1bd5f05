"""Personal data in a text by rule: e-mail, phone, card, IBAN and postal address, and what takes its place.

A :class:`Redactor` gives a text without what it has found, and where that stood. The one here goes by rules that need
nothing beside the text: cards have a check digit (Luhn), IBANs a checksum (mod 97) and a length by country, e-mail
addresses a form. Phones and postal addresses have neither, so what the rules make of them is less sure: an address
needs the word for a street of its language beside a number, a phone a prefix or the groups of some country.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final, Protocol

from worlddb.log.redaction.credentials import Finding, require_text


class Redactor(Protocol):
    """Takes personal data out of a text."""

    def __call__(self, text: str) -> tuple[str, Sequence[Finding]]:
        """Return the text without it, and where in the given text it stood: in order, without overlap."""


def redact(text: str) -> tuple[str, list[Finding]]:
    """Replace what the rules find by ``[email]``, ``[phone]``, ``[card]``, ``[iban]`` or ``[address]``.

    Raises:
        InvalidText: it is no ``str``.
    """
    found = find_personal_data(text)
    return (replace_findings(text, found), found) if found else (text, found)


def replace_findings(text: str, found: Sequence[Finding]) -> str:
    """A text with the kind of each finding, in brackets, where it stood."""
    pieces, at = [], 0
    for each in found:
        pieces += [text[at : each.start], f"[{each.kind}]"]
        at = each.end
    return "".join((*pieces, text[at:]))


def find_personal_data(text: str) -> list[Finding]:
    """What the rules find in a text, in order; what has a check comes before what has none.

    Raises:
        InvalidText: it is no ``str``.
    """
    require_text(text)
    if not _MAY_HOLD.search(text):
        return []
    kept: list[Finding] = []
    for rule in _RULES:
        for each in rule(text):
            if all(each.end <= other.start or other.end <= each.start for other in kept):
                kept.append(each)
    return sorted(kept, key=lambda each: each.start)


_MAY_HOLD: Final = re.compile(r"[@\d]")

# -- e-mail

_DOMAIN: Final = re.compile(r"@(?:[^\W_](?:[\w-]{0,61}[^\W_])?\.){1,6}[^\W\d_]{2,24}(?![\w-]|\.\w*@)")
_LOCAL: Final = re.compile(r"[\w.%+'-]{1,64}$")


def _find_emails(text: str) -> Iterator[Finding]:
    for domain in _DOMAIN.finditer(text):
        local = _LOCAL.search(text, max(0, domain.start() - 64), domain.start())
        if local is None or (local[0] == "git" and text[domain.end() : domain.end() + 1] == ":"):
            continue  # An address of a repository has the form, too.
        start = local.start() + len(local[0]) - len(local[0].lstrip(".'%+-"))
        if start < domain.start():
            yield Finding("email", start, domain.end())


# -- cards

_LONG: Final = re.compile(r"\d[\d -]{11,40}")
"""What may hold the number of a card: there the digits are counted."""
_DIGITS: Final = re.compile(r"(?<![\d.,+])\d(?:[ -]?\d){12,18}(?!\d|[.,-]\d)")
_NETWORKS: Final = re.compile(
    r"4(?:\d{12}|\d{15}|\d{18})|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}|3[47]\d{13}"
    r"|3(?:0[0-5]|[68]\d)\d{11}|6(?:011|5\d\d|4[4-9]\d)\d{12}|35(?:2[89]|[3-8]\d)\d{12}"
    r"|62\d{14,17}|5[06-9]\d{14}|6[37]\d{14}"
)


def is_card(digits: str) -> bool:
    """Whether digits are a number of a card: one of a network, with its check digit (Luhn)."""
    if not _NETWORKS.fullmatch(digits) or len(set(digits)) < 2:
        return False
    doubled = (divmod(2 * int(each), 10) for each in digits[-2::-2])
    return (sum(map(int, digits[-1::-2])) + sum(map(sum, doubled))) % 10 == 0


def _find_cards(text: str) -> Iterator[Finding]:
    for run in _LONG.finditer(text):
        for match in _DIGITS.finditer(text, run.start(), run.end() + 2):
            if is_card(re.sub(r"\D", "", match[0])):
                yield Finding("card", *match.span())


# -- IBAN

_IBAN_LENGTHS: Final = {
    country: int(length)
    for length, countries in (
        *(("15", "NO"), ("16", "BE"), ("18", "DK FI FO GL NL SD"), ("19", "MK SI"), ("20", "AT BA EE KZ LT LU MN XK")),
        *(("21", "CH HR LI LV"), ("22", "BG BH CR DE GB GE IE ME RS VA"), ("23", "AE GI IL IQ OM SO TL")),
        *(
            ("24", "AD CZ ES MD PK RO SA SE SK TN VG"),
            ("25", "LY PT ST"),
            ("26", "IS TR"),
            ("27", "BI DJ FR GR IT MC MR SM"),
        ),
        *(("28", "AL AZ BY CY DO GT HU LB NI PL SV"), ("29", "BR EG PS QA UA"), ("30", "JO KW MU"), ("31", "MT SC")),
        *(("32", "LC"), ("33", "RU")),
    )
    for country in countries.split()
}
_IBAN: Final = re.compile(r"[A-Z]{2}\d{2}(?:[ -]?[A-Z0-9]){11,29}")


def is_iban(compact: str) -> bool:
    """Whether letters and digits are an IBAN of its country's length whose checksum is right (mod 97)."""
    if _IBAN_LENGTHS.get(compact[:2]) != len(compact):
        return False
    return int("".join(str(int(each, 36)) for each in compact[4:] + compact[:4])) % 97 == 1


def _find_ibans(text: str) -> Iterator[Finding]:
    for match in _IBAN.finditer(text):
        if match.start() and text[match.start() - 1].isalnum():
            continue
        length = _IBAN_LENGTHS.get(match[0][:2], 0)
        end, taken = match.start(), 0
        while end < match.end() and taken < length:
            taken += text[end].isalnum()
            end += 1
        follows = text[end : end + 1]
        if taken == length and not follows.isalnum() and is_iban(re.sub(r"[ -]", "", text[match.start() : end])):
            yield Finding("iban", match.start(), end)


# -- phones

_SEPARATOR: Final = r"[ .\-/\u00a0\u2009\u202f]"
_PHONES: Final = (
    # With a country's prefix, however it is grouped.
    re.compile(
        rf"(?<![\w+])(?:\+|00(?=[1-9]))[1-9]\d{{0,2}}(?:{_SEPARATOR}?\(0?\d{{0,4}}\))?"
        rf"(?:{_SEPARATOR}?\d){{6,13}}(?!\w|[.,:]\d)"
    ),
    # North America: an area, an exchange and four digits.
    re.compile(r"(?<![\w.+-])(?:1[ .-])?(?:\([2-9]\d{2}\) ?|[2-9]\d{2}[-. ])[2-9]\d{2}[-. ]\d{4}(?![\w-]|[.,]\d)"),
    # Two digits, four or five times, from a nought on: France, Belgium.
    re.compile(r"(?<![\w.+-])0[1-9](?:[ .]\d{2}){4}(?![\w-]|[.,]\d)"),
    # An area with its nought, and a number behind a sign or in groups: Germany, Italy, the Netherlands, Britain, Japan.
    re.compile(r"(?<![\w.,+/-])(?<!\d )\(?0[1-9]\d{0,4}\)?(?:[ /-]{1,3}\d{2,8}){1,4}(?![\w/]|[.,-]\d)"),
    # Nine digits by three, by 3-2-2-2 or by 2-3-2-2, or a mobile number of Italy.
    re.compile(
        r"(?<![\w.,+-])(?<!\d )(?:[2-9]\d{2} \d{3} \d{3}|[679]\d{2} \d{2} \d{2} \d{2}|[2-9]\d \d{3} \d{2} ?\d{2}"
        r"|3[2-9]\d \d{6,7})(?! ?\d|[\w-]|[.,]\d)"
    ),
    # A mobile number of China, or of India, written in one.
    re.compile(r"(?<![\w.,+-])1[3-9]\d[ -]?\d{4}[ -]?\d{4}(?![\w-]|[.,]\d)"),
)
_DATE: Final = re.compile(r"\d{1,2}[./-]\d{1,2}[./-]\d{2,4}|0\d[ ]\d{4}")


_RUN: Final = re.compile(r"[+(\d][\d ().\-/\u00a0\u2009\u202f]{6,40}\d")
"""What may hold a phone: there the six forms are looked for, and nowhere else."""


def _find_phones(text: str) -> Iterator[Finding]:
    for run in _RUN.finditer(text):
        for pattern in _PHONES:
            for match in pattern.finditer(text, run.start(), run.end() + 2):
                digits = sum(map(str.isdigit, match[0]))
                if 8 <= digits <= 15 and not _DATE.fullmatch(match[0]):
                    yield Finding("phone", *match.span())


# -- postal addresses

_ENDS: Final = (
    "straße|strasse|str\\.|weg|gasse|platz|allee|ring|damm|ufer|steig|straat|laan|plein|gracht|kade|singel|dijk"
)
"""Words for a street that end a name: German, Dutch."""
_APART: Final = "Straße|Strasse|Str\\.|Weg|Gasse|Platz|Allee|Ring|Damm|Ufer"
_BEGINS: Final = (
    "Calle|C/|Avenida|Avda|Av\\.|Paseo|Plaza|Carretera|Camino|Ronda|Travesía|Glorieta"
    "|Via|Viale|Piazza|Corso|Largo|Vicolo|Piazzale|Strada|Rua|R\\.|Travessa|Praça|Alameda|Estrada|Rodovia"
)
"""Those that begin one, and the number comes last: Spanish, Italian, Portuguese."""
_POLISH: Final = "[Uu]l\\.|[Aa]l\\.|[Pp]l\\.|[Oo]s\\.|[Uu]lic[ay]|[Aa]lej[ai]"
_ENGLISH: Final = (
    "Street|St|Avenue|Ave|Road|Rd|Lane|Ln|Drive|Dr|Boulevard|Blvd|Court|Ct|Place|Pl|Square|Sq|Way|Terrace|Close"
    "|Crescent|Highway|Parkway|Hill|Gardens|Row"
)
_FRENCH: Final = "rue|avenue|av\\.|boulevard|bd\\.?|place|chemin|allée|impasse|quai|route|cours|square|passage"
_PLACES: Final = "Markt|Anger|Wall|Graben|Linden|Kai|Steg"
"""What a German street is called by alone, behind where it lies: *Am Alten Markt*, *Unter den Linden*."""
_DUTCH: Final = "Lange|Korte|Nieuwe|Oude|Grote|Kleine"
"""How a Dutch name of a street begins that has no word for one: *Lange Voorhout*, *Oude Delft*."""
_STREET: Final = re.compile(
    rf"(?:{_ENDS})(?!\w)"
    rf"|\b(?:{_APART}|{_BEGINS}|{_POLISH}|{_ENGLISH}|{_FRENCH}|{_PLACES}|{_DUTCH})(?!\w)"
)

_NUMBER: Final = re.compile(
    r"(?<![\w.,:/-])\d{1,5}(?:[ -]?(?:bis|ter)\b|[A-Za-z](?!\w))?(?:[-/]\d{1,4}[A-Za-z]?)?(?![\w%])"
)
_WORD: Final = r"[^\W\d_][\w'’.-]{0,30}"
_NAME: Final = r"[A-ZÀ-ÖØ-ÞĄĆĘŁŃÓŚŹŻ][\w'’.-]{0,30}"
_TOWN: Final = rf"{_NAME}(?:[ -](?:{_NAME}|am|an|der|de|la|del|do|da|di|sur|en)){{0,3}}"
_CODE: Final = r"(?:\d{5}(?:-\d{4})?|\d{4} ?[A-Z]{2}|\d{4}-\d{3}|\d{2}-\d{3}|\d{4})"
_BEHIND: Final = re.compile(
    rf"(?:,? ?(?:\d\.? ?[º°ªa]\b|[Aa]pt\.? ?\w{{1,4}}|m\. ?\d+))?,? ?{_CODE} {_TOWN}"
    rf"|, {_TOWN}(?:, [A-Z]{{2}})?(?: \d{{5}}| [A-Z]{{1,2}}\d[A-Z\d]? ?\d[A-Z]{{2}})"
)
"""Code and town, or town and code, behind a street with its number."""
_STREET_FIRST: Final = re.compile(
    rf"(?:[^\W\d_][\w-]{{0,30}}(?:{_ENDS})"
    rf"|(?:(?:{_NAME}|Am|An|Auf|In|Zum|Zur|der|dem|den|alten) ){{1,4}}(?:{_APART})"
    rf"|\b(?:Am|An|Auf|Zum|Unter)(?: (?:der|dem|den))?(?: {_NAME})? (?:{_PLACES})"
    rf"|\b(?:{_DUTCH}) {_NAME}"
    rf"|\b(?:{_BEGINS})\.? ?(?:{_WORD} ?){{1,5}}?(?:,? ?(?:n\.?[º°o]\.? ?|núm\.? ?|nr\.? ?)?)?"
    rf"|(?<!et )\b(?:{_POLISH}) ?(?:{_NAME} ?){{1,4}}) ?$"
)
_NUMBER_FIRST: Final = re.compile(
    rf" (?:{_NAME} ){{1,4}}(?:{_ENGLISH})\b\.?"
    rf"|,? (?:{_FRENCH}) (?:d['’]|de la |de l['’]|des |du |de )?{_NAME}(?:[ -](?:{_NAME}|de|du|des|la|le|et)){{0,5}}"
)
_WINDOW: Final = 90
"""How far from a number its street may begin or end, and the town behind both."""


def _find_addresses(text: str) -> Iterator[Finding]:
    behind = near = 0
    for street in _STREET.finditer(text):
        near = max(near, behind, street.start() - _WINDOW)
        for number in _NUMBER.finditer(text, near, street.end() + _WINDOW):
            after = _NUMBER_FIRST.match(text, number.end(), number.end() + _WINDOW)
            before = None
            if after is None:
                before = _STREET_FIRST.search(text, max(behind, number.start() - _WINDOW), number.start())
                if before is None:
                    continue
            end = number.end() if after is None else after.end()
            town = _BEHIND.match(text, end, end + _WINDOW)
            behind = near = end if town is None else town.end()
            yield Finding("address", number.start() if before is None else before.start(), behind)
            break


_Rule = Callable[[str], Iterator[Finding]]
CHECKED: Final[tuple[_Rule, ...]] = (_find_emails, _find_ibans, _find_cards)
"""The rules that have a form or a checksum to go by."""
_RULES: Final = (*CHECKED, _find_addresses, _find_phones)
KINDS: Final = ("email", "phone", "card", "iban", "address")
