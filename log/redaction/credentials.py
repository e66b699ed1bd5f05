"""Credentials in a text: keys, tokens and private keys, by forms that nothing else has.

A log keeps all, so a credential is refused before it gets there. A false alarm is a write that somebody loses, so every
form here has a mark of its own (a prefix, a header, a name in front) and as many signs behind it as the real ones have.
What is plainly a placeholder (``AKIAIOSFODNN7EXAMPLE``, a row of x) is none. A finding has a kind and a place, and
never what was found.

The forms are looked for in two steps: their marks, as bytes, in all that a commit would write (:func:`may_hold`), and
only what has one is searched by :func:`find_credentials`. Signs that are not seen, letters of full width and line ends
within a token hide none.
"""

import base64
import binascii
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from worlddb.log.model import errors


class Finding(NamedTuple):
    """What kind of thing stands in a text, and where: from character ``start`` up to ``end``."""

    kind: str
    start: int
    end: int


class _Form(NamedTuple):
    """A form of credentials.

    The first group of ``pattern`` is the secret, if there is one. ``marks`` are expressions of which each occurrence of
    it has one; each begins with a letter that stands for itself, so that looking for it takes no time. ``holds`` is
    what must be so of the secret. ``is_whole``: nothing of a longer word may stand in front of it.
    """

    kind: str
    marks: tuple[str, ...]
    pattern: re.Pattern[str]
    holds: Callable[[str], bool]
    is_whole: bool


_PLACEHOLDER: Final = re.compile(
    r"example|sample|placeholder|dummy|redacted|changeme|replace|your[-_]?|insert|x{5}|\*{3}|\.{3}|0{8}|1{8}|"
    r"12345678|abcdefgh|deadbeef|test[-_]?key|my[-_]?pass|pass[-_]?w|<|\{|\$",
    re.IGNORECASE,
)
_BASE64: Final = re.compile(r"[A-Za-z0-9+/=]*")
_LEAST_DISTINCT: Final = 8
"""Random signs of a token's length have more different ones than that; words and rows of one sign have fewer."""


def _is_random(secret: str) -> bool:
    """Whether a text may be one that a machine drew: no placeholder, of many signs, none too often."""
    if _PLACEHOLDER.search(secret):
        return False
    counted = Counter(secret)
    return len(counted) >= _LEAST_DISTINCT and max(counted.values()) * 3 <= len(secret)


def _is_mixed(secret: str) -> bool:
    """Whether it is random, with digits and letters: words joined by hyphens are not."""
    letters = sum(map(str.isalpha, secret))
    return _is_random(secret) and any(map(str.isdigit, secret)) and 0 < letters < len(secret)


def _is_cased(secret: str) -> bool:
    """Whether it is random, with digits or with letters of both cases."""
    return _is_mixed(secret) or (_is_random(secret) and secret != secret.lower() and secret != secret.upper())


def _decode_part(part: str) -> bytes:
    try:
        return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
    except (binascii.Error, ValueError):
        return b""


def _is_jwt(secret: str) -> bool:
    """Whether the first part of three is a header that names an algorithm, and the second one a JSON object.

    The one that every tutorial shows, of John Doe, is no secret.
    """
    header, claims, _ = secret.split(".")
    said, claimed = _decode_part(header), _decode_part(claims)
    return said.startswith(b"{") and b'"alg"' in said and claimed.startswith(b"{") and b'"1234567890"' not in claimed


def _is_discord(secret: str) -> bool:
    """Whether the first part of three is a number, as the account's is."""
    return _decode_part(secret.split(".", maxsplit=1)[0]).isdigit()


def _is_pem(secret: str) -> bool:
    """Whether signs of base64 follow a header: the header alone, or with a sentence behind it, is no key.

    Hundreds of random signs spell a placeholder now and then ("yoUR"), so all of them but that have to be none.
    """
    body = re.sub(r"\\[rn]|\s", "", secret)
    drawn = _PLACEHOLDER.sub("", body) if _BASE64.fullmatch(body) else body
    return len(drawn) >= 40 and _is_mixed(drawn)


def _is_password(secret: str) -> bool:
    return not _PLACEHOLDER.search(secret) and secret.lower() not in {"password", "pass", "secret", "user", "token"}


_END: Final = r"(?![A-Za-z0-9_-])"


def _form(kind: str, marks: str, pattern: str, holds: Callable[[str], bool] = _is_random) -> _Form:
    is_whole = pattern.startswith("(") and not pattern.startswith(("(?", "((?<="))
    return _Form(kind, tuple(marks.split()), re.compile(pattern), holds, is_whole)


_FORMS: Final = (
    _form(
        "AWS access key",
        r"A(?:KIA|SIA|BIA|CCA)[A-Z2-7]",
        rf"(A(?:KIA|SIA|BIA|CCA)[A-Z2-7]{{16}}){_END}",
    ),
    _form(
        "AWS secret key",
        "_access_key _ACCESS_KEY retAccessKey",
        r"(?:ret_access_key|RET_ACCESS_KEY|retAccessKey)[\"']?\s{0,3}[=:]\s{0,3}[\"']?"
        r"([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
        _is_mixed,
    ),
    _form("Google API key", "AIza", rf"(AIza[A-Za-z0-9_-]{{35}}){_END}"),
    _form("Google OAuth token", r"ya29\.", r"(ya29\.[A-Za-z0-9_-]{30,2048})"),
    _form("Google client secret", "GOCSPX-", rf"(GOCSPX-[A-Za-z0-9_-]{{28}}){_END}"),
    _form(
        "Azure key", "AccessKey= AccountKey=", r"(?:AccountKey|AccessKey)=([A-Za-z0-9+/]{43}(?:[A-Za-z0-9+/]{43}=)?=)"
    ),
    _form("Azure client secret", "Q~", r"(?<=\d)Q~([A-Za-z0-9_~.-]{31,34})(?![A-Za-z0-9_~.-])"),
    _form(
        "GitHub token",
        "gh[pousr]_[A-Za-z0-9]{36} github_pat_[A-Za-z0-9_]{82}",
        rf"(gh[pousr]_[A-Za-z0-9]{{36,255}}|github_pat_[A-Za-z0-9_]{{82}}){_END}",
    ),
    _form("GitLab token", "gl(?:pat|dt|rt)-[A-Za-z0-9_.-]{20}", r"(gl(?:pat|dt|rt)-[A-Za-z0-9_.-]{20,300})", _is_cased),
    _form(
        "Slack token",
        r"xox[abeoprs]- xapp-\d xoxe\.xox",
        r"(xox[abeoprs](?:\.xox[bp])?-(?:[A-Za-z0-9]+-)*[A-Za-z0-9]{10,255}|xapp-\d-[A-Z0-9]+-\d+-[a-f0-9]{32,})",
        _is_cased,
    ),
    _form("Slack webhook", "hooks.slack.com/s", r"hooks\.slack\.com/services/(T\w{6,12}/B\w{6,12}/\w{20,28})"),
    _form(
        "Discord token",
        r"M[DTjz][A-Za-z0-9]{22} N[DTjz][A-Za-z0-9]{22} O[DT][A-Za-z0-9]{22}",
        rf"([MNO][DTjz][A-Za-z0-9]{{22,26}}\.[A-Za-z0-9_-]{{6}}\.[A-Za-z0-9_-]{{27,38}}){_END}",
        _is_discord,
    ),
    _form("Discord webhook", "/api/webhooks/", r"/api/webhooks/(\d{17,20}/[A-Za-z0-9_-]{60,80})"),
    _form("Telegram token", ":AA[A-Za-z0-9_-]{33}", rf"((?<=\d{{8}}):AA[A-Za-z0-9_-]{{33}}){_END}"),
    _form("Anthropic key", "sk-ant-", r"(sk-ant-[A-Za-z0-9_-]{32,255})", _is_cased),
    _form(
        "OpenAI key",
        "sk-(?:proj-|svcacct-|admin-|or-v1-|[A-Za-z0-9]{32})",
        rf"(sk-(?:(?:proj|svcacct|admin|or-v1)-[A-Za-z0-9_-]{{40,255}}|[A-Za-z0-9]{{32,64}}){_END})",
        _is_cased,
    ),
    _form("Stripe key", "k_live_[A-Za-z0-9]{24}", rf"((?<=[sr])k_live_[A-Za-z0-9]{{24,255}}){_END}", _is_cased),
    _form("SendGrid key", r"SG\.[A-Za-z0-9_-]{22}\.", rf"(SG\.[A-Za-z0-9_-]{{22}}\.[A-Za-z0-9_-]{{43}}){_END}"),
    _form("Hugging Face token", "hf_[A-Za-z]{34}", rf"(hf_[A-Za-z]{{34}}){_END}"),
    _form("npm token", "npm_[A-Za-z0-9]{36}", rf"(npm_[A-Za-z0-9]{{36}}){_END}", _is_cased),
    _form("PyPI token", "pypi-AgE", r"(pypi-AgE[A-Za-z0-9_-]{50,1024})"),
    _form(
        "JSON Web Token",
        r"eyJ[A-Za-z0-9_-]{10,4096}\.eyJ",
        r"(eyJ[A-Za-z0-9_-]{10,4096}\.eyJ[A-Za-z0-9_-]{8,16384}\.[A-Za-z0-9_-]{20,4096})",
        _is_jwt,
    ),
    _form(
        "private key",
        "PRIVATE\\x20KEY",
        r"PRIVATE KEY(?: BLOCK)?-----([^-]{40,20000})",
        _is_pem,
    ),
    _form(
        "bearer token",
        r"earer\x20{1,3}[A-Za-z0-9_~+/.-]{20} EARER\x20{1,3}[A-Za-z0-9_~+/.-]{20}",
        r"(?:earer|EARER)[ ]{1,3}([A-Za-z0-9_~+/.-]{20,2048}=*)",
        _is_mixed,
    ),
    _form(
        "password in an address",
        r"://[A-Za-z0-9._%+-]{1,64}:[^\s:/@]{6,128}@",
        r"://[A-Za-z0-9._%+-]{1,64}:([^\s:/@\"'<>{}$]{6,128})@[A-Za-z0-9.-]{3,}",
        _is_password,
    ),
)

KINDS: Final = tuple(form.kind for form in _FORMS)
_EXPRESSIONS: Final = tuple(dict.fromkeys(mark for form in _FORMS for mark in form.marks))
MARKS: Final = {
    sign.encode(): tuple(re.compile(mark.encode()) for mark in _EXPRESSIONS if mark.startswith(sign))
    for sign in dict.fromkeys(mark[0] for mark in _EXPRESSIONS)
}
"""What stands in all that :func:`find_credentials` may find, for the bytes of texts, by its first sign.

Many texts have no underscore and no capital Q at all, which is seen several times faster than by a search.
"""
ANY_MARK: Final = re.compile("|".join(_EXPRESSIONS).encode())
"""One search for all of them, which is quicker in what is short."""
_MARKED: Final = {mark: re.compile(mark) for mark in _EXPRESSIONS}
_ANY: Final = re.compile("|".join(_EXPRESSIONS))
SHORT_BYTES: Final = 512
"""Up to how many bytes are searched for all marks at once."""
_SHORT: Final = 1_024
"""Characters up to which one search for all marks is quicker than one for each."""


_JOINED_KINDS: Final = frozenset(form.kind for form in _FORMS if form.is_whole) | {"Stripe key"}
"""Forms of one token that a line end may break; the text before it is not part of it."""
_LINE_END: Final = re.compile(r"(?<=[A-Za-z0-9_.-])\\?[\r\n][\r\n \t]*(?=[A-Za-z0-9_.-])")
_INDENTED: Final = re.compile(rb"\n[ \t]+")
_BROKEN: Final = tuple(
    re.compile(mark.encode())
    for mark in dict.fromkeys(mark for form in _FORMS if form.kind in _JOINED_KINDS for mark in form.marks)
)
"""The marks of those forms, for the bytes of texts."""
_UNSEEN_BYTES: Final = (
    rb"(?<=\xc2)\xad|(?<=\xcd)\x8f|(?<=\xd8)\x9c|(?<=\xe1)(?:\x85[\x9f\xa0]|\x9e[\xb4\xb5]|\xa0[\x8b-\x8f])"
    rb"|(?<=\xe2)(?:\x80[\x8b-\x8f\xaa-\xae]|\x81[\xa0-\xaf])|(?<=\xe3)\x85\xa4"
    rb"|(?<=\xef)(?:\xb8[\x80-\x8f]|\xbb\xbf|\xbe\xa0|\xbf[\xb9-\xbb])|(?<=\xf3)\xa0"
)
_UNSEEN: Final = re.compile(rb"[\xc2\xcd\xd8\xe1-\xe3\xef\xf3](?:" + _UNSEEN_BYTES + rb")")
"""What is not seen, in UTF-8: see :func:`.errors.unhidden`."""
_DISGUISED: Final = re.compile(
    rb"[\xe2\xef\xf0](?:(?<=\xef)(?:\xbc[\xa1-\xba]|\xbd[\x81-\x9a]|\xbc[\x90-\x99](?=[A-Za-z]))"
    rb"|(?<=\xef)(?:\xbc[\x8d\x8e\xbf]|\xb9\xa3)(?=[A-Za-z0-9])|(?<=[A-Za-z]\xef)\xbc[\x90-\x99]"
    rb"|(?<=[A-Za-z0-9]\xef)(?:\xbc[\x8d\x8e\xbf]|\xb9\xa3|\xbc[\x8f\x9a\x9d](?=[A-Za-z0-9]))"
    rb"|(?<=\xe2)(?:\x92[\xb6-\xbf]|\x93[\x80-\xa9]|(?:\x80[\x90\x91]|\x88\x92)(?=[A-Za-z0-9]))"
    rb"|(?<=[A-Za-z0-9]\xe2)(?:\x80[\x90\x91]|\x88\x92)|(?<=\xf0)\x9d[\x90-\x9f])"
)
"""Letters outside ASCII that look like ASCII letters, and signs likewise."""
_ODD_BYTES: Final = (
    rb"(?<=\xef)[\xb9\xbc\xbd]|(?<=\xf0)\x9d|(?<=\xe2)(?:\x80[\x90\x91]|\x88\x92|[\x92\x93])|" + _UNSEEN_BYTES
)
_ODD: Final = re.compile(rb"[\xc2\xcd\xd8\xe1-\xe3\xef\xf0\xf3](?:" + _ODD_BYTES + rb")")
"""Signs that are not seen or look like others."""
_BREAKING_BYTES: Final = rb"(?:(?<=[A-Za-z0-9_.-][\r\n])|(?<=[A-Za-z0-9_.-]\\[\r\n]))[\r\n \t]*[A-Za-z0-9_.-]"
"""The end of a line within a token, as :data:`_LINE_END` has it; most bytes of line ends are numbers of msgpack."""
_BREAKING: Final = re.compile(rb"[\r\n]" + _BREAKING_BYTES)
HIDING: Final = re.compile(
    rb"[\r\n\xc2\xcd\xd8\xe1-\xe3\xef\xf0\xf3](?:" + _BREAKING_BYTES + rb"|" + _ODD_BYTES + rb")"
)
"""What stands in bytes of texts in which a credential is hidden, so that no mark of one is seen."""
_WITH_THEM: Final = (
    *(b"\xef\xbc", b"\xef\xbd", b"\xef\xb9\xa3", b"\xe2\x80\x90", b"\xe2\x80\x91", b"\xe2\x88\x92", b"\xe2\x92"),
    *(b"\xe2\x93", b"\xf0\x9d"),
)
"""What each of them begins with, which is looked for much quicker."""
_BEYOND_ASCII: Final = bytes(range(0x80, 0x100))


def may_hold(held: bytes) -> bool:
    """True if bytes of texts may hold what :func:`find_credentials` finds; nearly none do, and this is quick."""
    return _is_marked(held) or (HIDING.search(held) is not None and may_be_disguised(held))


def _is_marked(held: bytes) -> bool:
    """True if bytes of texts have the mark of a credential, as they stand."""
    if len(held) <= SHORT_BYTES:
        return ANY_MARK.search(held) is not None
    return any(mark.search(held) is not None for sign, marks in MARKS.items() if sign in held for mark in marks)


def may_be_disguised(held: bytes) -> bool:
    """True if there is a mark once signs are left out, or put back, that hide one: asked where :data:`HIDING` is."""
    if _ODD.search(held) is not None:
        is_disguised = any(each in held for each in _WITH_THEM) and _DISGUISED.search(held) is not None
        if is_disguised:
            text = unicodedata.normalize("NFKC", held.decode("utf-8", "replace"))
            held = text.replace("\u2010", "-").replace("\u2212", "-").encode()
        if is_disguised or _UNSEEN.search(held) is not None:
            held = held.translate(None, _BEYOND_ASCII)
            if _is_marked(held):
                return True
    return _BREAKING.search(held) is not None and _is_marked_if_joined(held)


def _is_marked_if_joined(held: bytes) -> bool:
    """Whether there would be a mark without the ends of lines."""
    joined = held.replace(b"\r\n", b"\n").replace(b"\r", b"\n").replace(b"\\\n", b"\n")
    if b"\n " in joined or b"\n\t" in joined:
        joined = _INDENTED.sub(b"\n", joined)
    joined = joined.replace(b"\n", b"")
    return any(mark.search(joined) is not None for mark in _BROKEN)


def require_text(text: object) -> None:
    """Raise :class:`InvalidText` for what is no text."""
    if not isinstance(text, str):
        raise errors.InvalidText(f"text is {type(text).__name__}, not text", "Give it as str")


def find_credentials(text: str) -> list[Finding]:
    """The credentials in a text, in their order; of two that overlap the one that begins first, then the longer.

    Raises:
        InvalidText: it is no ``str``.
    """
    require_text(text)
    found = [*_find_matches(text)]
    plain, places = errors.unhidden(text)
    if plain != text:
        found += [_map_finding(each, places) for each in _find_matches(plain)]
    if "\n" in plain or "\r" in plain:
        joined, spots = _join_broken_lines(plain)
        known = {place for each in found for place in range(each.start, each.end)}
        broken = (_map_finding(_map_finding(each, spots), places) for each in _find_matches(joined, plain, spots))
        found += [each for each in broken if known.isdisjoint(range(each.start, each.end))]
    found.sort(key=lambda each: (each.start, -each.end))
    kept: list[Finding] = []
    for each in found:
        if not kept or each.start >= kept[-1].end:
            kept.append(each)
    return kept


def _map_finding(found: Finding, places: Sequence[int]) -> Finding:
    """A finding with places in the original text."""
    return Finding(found.kind, places[found.start], places[found.end - 1] + 1)


def _join_broken_lines(text: str) -> tuple[str, Sequence[int]]:
    """A text without the line ends inside tokens, and the original position of each character."""
    pieces, places, at = [], list[int](), 0
    for end in _LINE_END.finditer(text):
        pieces.append(text[at : end.start()])
        places += range(at, end.start())
        at = end.end()
    return "".join((*pieces, text[at:])), [*places, *range(at, len(text))]


def _find_matches(text: str, broken: str = "", spots: Sequence[int] = ()) -> Iterator[Finding]:
    """What stands in a text; in one that was joined of lines, those forms alone that a line may break.

    ``broken`` is what it was joined of, and ``spots`` are the places in it.
    """
    if len(text) <= _SHORT and _ANY.search(text) is None:
        return
    marked = {mark for mark, expression in _MARKED.items() if expression.search(text) is not None}
    for form in _FORMS:
        if marked.isdisjoint(form.marks) or (broken and form.kind not in _JOINED_KINDS):
            continue
        for match in form.pattern.finditer(text):
            start = spots[match.start()] if broken else match.start()
            before = (broken or text)[start - 1] if start else ""
            if form.is_whole and (before.isalnum() or before in {"_", "-"}):
                continue
            if form.holds(match[1]):
                yield Finding(form.kind, *match.span(1))
