"""Redaction: seeded secrets found in texts of eight languages, and the speed of scanning.

A thousand texts contain one secret each, of twelve kinds in turn. As many contain something similar: orders, hashes,
versions, dates, placeholders, numbers with a wrong check digit. The secrets follow their issuers' documentation, not
the engine's expressions. All texts are then written to a store that enforces both guards, and every file of the store
is searched for the secrets.
"""

import base64
import json
import random
import string
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any, Final, NamedTuple

import worlddb
from bench.measuring.report import ended, parser, report
from worlddb.log.redaction import credentials, personal_data

SECRETS: Final = 1_000
CHECKABLE: Final = ("aws", "github", "gitlab", "slack", "openai", "jwt", "private key", "email", "card", "iban")
"""The kinds that have a form or a checksum of their own."""
KINDS: Final = (*CHECKABLE, "phone", "address")
_CREDENTIALS: Final = {
    "aws": "AWS access key",
    "github": "GitHub token",
    "gitlab": "GitLab token",
    "slack": "Slack token",
    "openai": "OpenAI key",
    "jwt": "JSON Web Token",
    "private key": "private key",
}

FRAMES: Final = {
    "en": ("Please note that {} is what we talked about on Monday.", "She told me: {}. I wrote it down."),
    "de": ("Bitte notiere, dass {} das ist, worüber wir gesprochen haben.", "Er sagte mir: {}. Das habe ich notiert."),
    "fr": ("Merci de noter que {} est ce dont nous avons parlé.", "Elle m'a dit : {}. Je l'ai noté."),
    "es": ("Por favor, anota que {} es lo que hablamos el lunes.", "Me dijo: {}. Lo he apuntado."),
    "it": ("Per favore annota che {} è quello di cui abbiamo parlato.", "Mi ha detto: {}. L'ho scritto."),
    "pt": ("Por favor, anote que {} é aquilo de que falámos.", "Ele disse-me: {}. Tomei nota."),
    "nl": ("Noteer alsjeblieft dat {} is waar we het over hadden.", "Ze zei tegen me: {}. Ik heb het opgeschreven."),
    "pl": ("Proszę zanotować, że {} to jest to, o czym mówiliśmy.", "Powiedział mi: {}. Zapisałem to."),
}
_ALNUM: Final = string.ascii_letters + string.digits


def _draw_signs(draw: random.Random, signs: str, count: int) -> str:
    return "".join(draw.choices(signs, k=count))


def _url64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _jwt(draw: random.Random) -> str:
    claims = {"sub": _draw_signs(draw, _ALNUM, 12), "iat": draw.randrange(10**9, 2 * 10**9)}
    head = {"alg": draw.choice(("HS256", "RS256", "ES256")), "typ": "JWT"}
    return ".".join(
        (_url64(json.dumps(head).encode()), _url64(json.dumps(claims).encode()), _url64(draw.randbytes(32)))
    )


def _pem(draw: random.Random) -> str:
    kind = draw.choice(("RSA PRIVATE KEY", "EC PRIVATE KEY", "PRIVATE KEY", "OPENSSH PRIVATE KEY"))
    body = base64.b64encode(draw.randbytes(draw.randrange(120, 600))).decode()
    lines = "\n".join(body[at : at + 64] for at in range(0, len(body), 64))
    return f"-----BEGIN {kind}-----\n{lines}\n-----END {kind}-----"


def _slack(draw: random.Random) -> str:
    digits = f"{draw.randrange(10**11, 10**12)}-{draw.randrange(10**11, 10**12)}"
    return f"{draw.choice(('xoxb', 'xoxp'))}-{digits}-{_draw_signs(draw, _ALNUM, 24)}"


def _openai(draw: random.Random) -> str:
    if draw.random() < 0.5:
        return f"sk-{_draw_signs(draw, _ALNUM, 20)}T3BlbkFJ{_draw_signs(draw, _ALNUM, 20)}"
    return f"sk-proj-{_draw_signs(draw, _ALNUM + '-_', 74)}T3BlbkFJ{_draw_signs(draw, _ALNUM, 74)}"


def _check_digit(digits: str) -> str:
    total = 0
    for place, each in enumerate(reversed(digits)):
        value = int(each) * (2 if place % 2 == 0 else 1)
        total += value - 9 if value > 9 else value
    return str(-total % 10)


def _card(draw: random.Random) -> str:
    begin, length = draw.choice((("4", 16), ("51", 16), ("5412", 16), ("34", 15), ("37", 15), ("6011", 16)))
    digits = begin + _draw_signs(draw, string.digits, length - len(begin) - 1)
    digits += _check_digit(digits)
    if length == 15:
        groups = [digits[:4], digits[4:10], digits[10:]]
    else:
        groups = [digits[at : at + 4] for at in range(0, 16, 4)]
    return draw.choice((" ", "-", "")).join(groups)


_IBANS: Final = {"DE": 18, "FR": 23, "ES": 20, "IT": 23, "PT": 21, "NL": 14, "PL": 24, "GB": 18, "AT": 16}


def _iban(draw: random.Random) -> str:
    country = draw.choice(sorted(_IBANS))
    bank = {"NL": "INGB", "GB": "NWBK", "IT": "X"}.get(country, "")
    account = bank + _draw_signs(draw, string.digits, _IBANS[country] - len(bank))
    number = int("".join(str(int(each, 36)) for each in f"{account}{country}00"))
    whole = f"{country}{98 - number % 97:02}{account}"
    return whole if draw.random() < 0.5 else " ".join(whole[at : at + 4] for at in range(0, len(whole), 4))


_NAMES: Final = ("ana.silva", "j.kowalski", "marie-claire", "müller", "o.brien+lists", "r2", "sofia_rossi", "jan")
_DOMAINS: Final = ("example.org", "mail.example.co.uk", "uni-köln.de", "firma.pl", "posta.it", "correo.es", "x.nl")


def _email(draw: random.Random) -> str:
    return f"{draw.choice(_NAMES)}{draw.choice(('', '7', '1984'))}@{draw.choice(_DOMAINS)}"


_PHONES: Final = {
    "en": ("(415) 555-0###", "+1 212-555-0###", "020 7946 0###", "+44 20 7946 0###", "212.555.01##"),
    "de": ("030 90182###", "+49 30 901 82###", "0171/45678##", "089/123 45##", "+49 (0)89 12345##"),
    "fr": ("06 12 34 5# ##", "+33 6 12 34 5# ##", "01.42.68.5#.##"),
    "es": ("612 345 6##", "+34 912 34 5# ##", "91 234 56 ##"),
    "it": ("06 6982 1###", "+39 347 12345##", "347 12345##"),
    "pt": ("912 345 6##", "+351 21 234 56##", "21 234 56##"),
    "nl": ("06-123456##", "020 123 45##", "+31 6 123456##"),
    "pl": ("512 345 6##", "+48 22 123 45 ##", "22 123 45 ##"),
}

_STREETS: Final = {
    "en": ("{n} Baker Street, London NW1 6XE", "{n} Oak Avenue, Springfield, IL 62704", "{n} Mill Lane"),
    "de": ("Lindenstraße {n}, 10969 Berlin", "Am Alten Markt {n}, 50667 Köln", "Kurze Gasse {n}"),
    "fr": ("{n} rue de Rivoli, 75004 Paris", "{n}, avenue Jean Jaurès, 69007 Lyon", "{n} bis impasse des Lilas"),
    "es": ("Calle de Alcalá {n}, 28014 Madrid", "Avenida Diagonal, {n}, 08018 Barcelona", "Plaza Mayor, nº {n}"),
    "it": ("Via Garibaldi {n}, 16124 Genova", "Corso Vittorio Emanuele II, {n}, 00186 Roma", "Piazza Dante {n}"),
    "pt": ("Rua Augusta, {n}, 1100-053 Lisboa", "Avenida da Liberdade {n}", "Praça do Comércio, n.º {n}"),
    "nl": ("Keizersgracht {n}, 1016 EJ Amsterdam", "Lange Voorhout {n}", "Dorpsstraat {n}a, 3512 JK Utrecht"),
    "pl": ("ul. Długa {n}, 80-827 Gdańsk", "al. Jerozolimskie {n}/4, 00-697 Warszawa", "ulica Prosta {n}"),
}

_SECRETS: Final[dict[str, Callable[[random.Random], str]]] = {
    "aws": lambda draw: draw.choice(("AKIA", "ASIA")) + _draw_signs(draw, string.ascii_uppercase + "234567", 16),
    "github": lambda draw: draw.choice(("ghp_", "gho_", "ghs_")) + _draw_signs(draw, _ALNUM, 36),
    "gitlab": lambda draw: "glpat-" + _draw_signs(draw, _ALNUM + "-_", 20),
    "slack": _slack,
    "openai": _openai,
    "jwt": _jwt,
    "private key": _pem,
    "email": _email,
    "card": _card,
    "iban": _iban,
}


def _wrong_card(draw: random.Random) -> str:
    digits = _card(draw)
    return digits[:-1] + str((int(digits[-1]) + draw.randrange(1, 9)) % 10)


def _wrong_iban(draw: random.Random) -> str:
    whole = _iban(draw)
    return whole[:-1] + str((int(whole[-1]) + draw.randrange(1, 9)) % 10)


_LIKE_ONE: Final[tuple[Callable[[random.Random], str], ...]] = (
    _wrong_card,
    _wrong_iban,
    lambda draw: draw.randbytes(20).hex(),
    lambda draw: "-".join((draw.randbytes(4).hex(), "4a1c", "8b2e", draw.randbytes(6).hex())),
    lambda draw: f"{draw.randrange(1, 29)}.{draw.randrange(1, 13)}.{draw.randrange(1950, 2030)}",
    lambda draw: f"{draw.randrange(1990, 2030)}-{draw.randrange(1, 13):02}-{draw.randrange(1, 29):02} 14:05:00",
    lambda draw: f"v{draw.randrange(9)}.{draw.randrange(20)}.{draw.randrange(99)}",
    lambda draw: f"{draw.randrange(1, 999)},{draw.randrange(100, 999)}.{draw.randrange(10, 99)} EUR",
    lambda draw: f"10.{draw.randrange(256)}.{draw.randrange(256)}.{draw.randrange(256)}",
    lambda draw: f"order {draw.randrange(10**5, 10**6)}-{draw.randrange(10**3)}",
    lambda draw: draw.choice(("sk-your-key-here-goes-in-the-settings", "AKIAIOSFODNN7EXAMPLE", "ghp_" + "x" * 36)),
    lambda draw: draw.choice(("a task-force of 40 people", "room 214 on floor 3", "chapter 12, page 345")),
    lambda draw: f"https://example.org:8443/{_draw_signs(draw, string.ascii_lowercase, 8)}?page={draw.randrange(99)}",
    lambda draw: f"@{draw.choice(_NAMES)} in the channel",
    lambda draw: f"978-3-16-1484{draw.randrange(10)}-0",
    lambda draw: "-----BEGIN PUBLIC KEY-----" + _draw_signs(draw, _ALNUM, 60),
    lambda draw: f"{draw.randrange(100, 999)} {draw.randrange(100, 999)} inhabitants",
)


class Text(NamedTuple):
    """A text, and its secret if it has one: kind, start and end."""

    text: str
    language: str
    kind: str = ""
    start: int = 0
    end: int = 0


def texts(seed: int) -> list[Text]:
    """All of them, in a drawn order."""
    draw = random.Random(seed)
    found = []
    for number in range(SECRETS):
        language = draw.choice(sorted(FRAMES))
        kind, frame = KINDS[number % len(KINDS)], draw.choice(FRAMES[language])
        secret = _secret(draw, kind, language)
        at = frame.index("{}")
        found.append(Text(frame.replace("{}", secret), language, kind, at, at + len(secret)))
        like = _LIKE_ONE[number % len(_LIKE_ONE)](draw)
        found.append(Text(draw.choice(FRAMES[language]).replace("{}", like), language))
    draw.shuffle(found)
    return found


def _secret(draw: random.Random, kind: str, language: str) -> str:
    if kind == "phone":
        return "".join(draw.choice(string.digits) if each == "#" else each for each in draw.choice(_PHONES[language]))
    if kind == "address":
        return draw.choice(_STREETS[language]).format(n=draw.randrange(1, 300))
    return _SECRETS[kind](draw)


def precision_recall(given: list[Text]) -> dict[str, dict[str, Any]]:
    """Precision and recall of each kind.

    A secret is found if what stands for it hides it whole; of a credential, which is refused, some of it is enough.
    """
    right, wrong, missed = (dict.fromkeys(KINDS, 0) for _ in range(3))
    kind_of = {name: kind for kind, name in _CREDENTIALS.items()}
    for each in given:
        is_found = False
        for one in (*credentials.find_credentials(each.text), *personal_data.find_personal_data(each.text)):
            kind = kind_of.get(one.kind, one.kind)
            if kind not in wrong:
                raise KeyError(f"{kind}: {each.text}")
            whole = one.start <= each.start and each.end <= one.end
            if kind == each.kind and (
                whole or (kind in _CREDENTIALS and one.start < each.end and each.start < one.end)
            ):
                is_found = True
            elif kind != each.kind or one.end <= each.start or each.end <= one.start:
                wrong[kind] += 1
        if each.kind:
            (right if is_found else missed)[each.kind] += 1
    return {
        kind: {
            "secrets": right[kind] + missed[kind],
            "precision": round(right[kind] / max(1, right[kind] + wrong[kind]), 4),
            "recall": round(right[kind] / max(1, right[kind] + missed[kind]), 4),
        }
        for kind in KINDS
    }


def document(seed: int) -> str:
    """A long text in all the languages, with something that is like a secret in every tenth sentence."""
    draw = random.Random(seed)
    frames = sorted(FRAMES.values())
    return " ".join(
        draw.choice(draw.choice(frames)).replace("{}", "that" if number % 10 else draw.choice(_LIKE_ONE)(draw))
        for number in range(8_000)
    )


def mb_per_s(text: str, read: Callable[[str], object], repeats: int = 5) -> float:
    """Reading speed by CPU time, the best of some runs."""
    took = []
    for _ in range(repeats):
        begun = process_time()
        read(text)
        took.append(process_time() - begun)
    return round(len(text.encode()) / min(took) / 1e6, 1)


def _checkable(text: str) -> None:
    credentials.find_credentials(text)
    for rule in personal_data.CHECKED:
        list(rule(text))


def _all_rules(text: str) -> None:
    credentials.find_credentials(text)
    personal_data.find_personal_data(text)


def count_left(given: list[Text], folder: Path) -> tuple[int, int]:
    """The number of refused writes, and of secrets in any file of the store that took the others."""
    refused = 0
    with worlddb.open(folder, author="bench") as db:
        db.guard(credentials="enforce", personal="enforce")
        for number, each in enumerate(given):
            refused += not db.create("Note", f"note {number}", content=each.text)
        db.view().recall("Monday")
        files = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    written = (each for each in given if each.kind)
    return refused, sum(each.text[each.start : each.end].encode() in files for each in written)


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--no-store", action="store_true", help="do not write them to a store")
    given = arguments.parse_args()
    made = texts(given.seed)
    found = precision_recall(made)
    text = document(given.seed)
    speeds = {"checkable_mb_per_s": mb_per_s(text, _checkable), "all_mb_per_s": mb_per_s(text, _all_rules)}
    result: dict[str, Any] = {"texts": len(made), "kinds": found, **speeds}
    result |= {
        "checkable_precision": min(found[kind]["precision"] for kind in CHECKABLE),
        "checkable_recall": min(found[kind]["recall"] for kind in CHECKABLE),
    }
    notes = [
        f"credentials and data with a checksum: {speeds['checkable_mb_per_s']} MB/s, all rules {speeds['all_mb_per_s']}"
    ]
    if not given.no_store:
        with tempfile.TemporaryDirectory() as folder:
            result["refused"], result["left_in_files"] = count_left(made, Path(folder) / "store")
        notes.append(f"{result['refused']} writes were refused; {result['left_in_files']} secrets are in a file")
    rows = [(kind, *each.values(), "yes" if kind in CHECKABLE else "no") for kind, each in found.items()]
    report(given, "redaction", result, ("kind", "secrets", "precision", "recall", "has a check"), rows, notes)


if __name__ == "__main__":
    ended(main)
