"""Krefs: readable references to items, their versions and their artifacts (Kumiho §6.3).

    kref://project/space[/sub]/item.kind[?r=N][&a=artifact]

``r`` is the number of a version; without it the kref means the one that holds. ``a`` is the name of an artifact. A text
is checked once, where it comes in, and is a value from then on. Of all spellings of a kref one is canonical: it is what
``str`` gives, and the keys of items are made of it.
"""

import unicodedata
from typing import Final, NamedTuple
from urllib.parse import quote, unquote_to_bytes

from worlddb.log.model import errors, ids, limits

FORM: Final = "kref://project/space[/sub]/item.kind[?r=N][&a=artifact]"
MAX_KREF_BYTES: Final = limits.MAX_KEY_BYTES
"""Of the canonical text, in which a character that is not ASCII takes up to twelve bytes."""
MAX_SPACES: Final = 16
"""How deep spaces may lie in one another."""
MAX_REVISION: Final = 2**31 - 1
_PLAIN: Final = "!$'()*+,;:@"
"""The characters that a part may hold unescaped beside letters, digits and ``-._~``; they mean nothing in a kref."""


class Kref(NamedTuple):
    """An item by its project, the spaces around it from the outermost, its name and its kind.

    ``revision`` is ``None`` for the version that holds, ``artifact`` empty for the item itself.
    """

    project: str
    spaces: tuple[str, ...]
    name: str
    kind: str
    revision: int | None = None
    artifact: str = ""

    def __str__(self) -> str:
        return self.item_key + self.suffix

    @property
    def suffix(self) -> str:
        """What the kref says beyond its item: ``?r=2&a=report``; empty if nothing."""
        asked = [] if self.revision is None else [f"r={self.revision}"]
        asked += [f"a={_encode(self.artifact)}"] if self.artifact else []
        return f"?{'&'.join(asked)}" if asked else ""

    @property
    def item_key(self) -> str:
        """The canonical kref of the item itself, which is the key of its world."""
        return f"{self.container_keys[-1]}/{_encode(self.name)}.{_encode(self.kind).replace('.', '%2E')}"

    @property
    def container_keys(self) -> tuple[str, ...]:
        """The keys of the worlds around the item: of its project first, of the innermost space last."""
        keys = [ids.KREF_SCHEME + _encode(self.project)]
        for space in limits.checked_list(self.spaces, "The spaces of a kref"):
            keys.append(f"{keys[-1]}/{_encode(space)}")
        return tuple(keys)

    @property
    def ref(self) -> str:
        """The canonical text, by which a kref stands wherever a reference does."""
        return str(self)


def parse_kref(text: object) -> Kref:
    """Check a kref.

    Raises:
        InvalidKref: it is none; the message says at which character and why.
        LimitExceeded: it is longer than ``MAX_KREF_BYTES``.
    """
    if type(text) is not str:
        raise errors.InvalidKref(f"A kref is text, and this is {type(text).__name__}", f"Give it as {FORM}")
    limits.checked_text(text, "The kref", MAX_KREF_BYTES)
    if not ids.is_kref(text):
        raise _invalid_error(text, 0, "does not begin with kref://")
    place, mark, query = text.partition("?")
    if "#" in text:
        raise _invalid_error(text, text.index("#"), "has a fragment", "Write # as %23")
    parts = place[len(ids.KREF_SCHEME) :].split("/")
    starts = [len(ids.KREF_SCHEME)]
    for part in parts[:-1]:
        starts.append(starts[-1] + len(part) + 1)
    if len(parts) < 3:
        raise _invalid_error(text, len(place), "does not name a project, a space and an item")
    if len(parts) > MAX_SPACES + 2:
        raise _invalid_error(text, starts[MAX_SPACES + 1], f"has more than {MAX_SPACES} spaces", "Name fewer")
    name, dot, kind = parts[-1].rpartition(".")
    if not dot:
        raise _invalid_error(
            text, starts[-1], "names an item without its kind", "Write it behind a dot: design.decision"
        )
    *around, last = (_decode(text, part, start) for part, start in zip([*parts[:-1], name], starts, strict=True))
    revision, artifact = _parse_query(text, query, len(place) + 1) if mark else (None, "")
    kind_start = starts[-1] + len(name) + 1
    found = Kref(around[0], tuple(around[1:]), last, _decode(text, kind, kind_start), revision, artifact)
    limits.checked_text(found.kind, "The kind of a kref", limits.MAX_TYPE_BYTES)
    limits.checked_text(str(found), "The kref, percent-encoded,", MAX_KREF_BYTES)
    return found


def item_of(text: object) -> Kref:
    """Check a kref that stands where a world is meant.

    Raises:
        InvalidKref: it is none, or names a version or an artifact.
    """
    found = parse_kref(text)
    if found.suffix:
        at = str(text).index("?")
        why = "names a version or an artifact, and an item is needed"
        raise _invalid_error(str(text), at, why, f"Leave out {found.suffix}, or use resolve_kref")
    return found


def _invalid_error(text: str, at: int, why: str, remedy: str = f"Write it as {FORM}") -> errors.InvalidKref:
    shown = errors.clipped(text, 80)
    return errors.InvalidKref(f"{shown!r} {why}, at character {at}", remedy, kref=text[:200], at=at)


def _encode(text: str) -> str:
    # Of the characters that may stand as they are, a space's or a name's may be "." or "..": a part never is.
    return quote(limits.checked_text(text, "A part of a kref", MAX_KREF_BYTES), safe=_PLAIN)


def _decode(text: str, written: str, start: int) -> str:
    """A part of a kref as it was meant."""
    at = written.find("%")
    while at >= 0:
        digits = written[at + 1 : at + 3]
        if len(digits) < 2 or not all(digit in "0123456789abcdefABCDEF" for digit in digits):
            raise _invalid_error(text, start + at, "has a % without two hex digits", "Write % as %25")
        at = written.find("%", at + 1)
    try:
        meant = unquote_to_bytes(written).decode()
    except UnicodeDecodeError:
        raise _invalid_error(text, start, "has percent-encoded bytes that are not UTF-8") from None
    return _check_part(text, meant, start)


def _check_part(text: str, meant: str, start: int) -> str:
    part = unicodedata.normalize("NFC", meant)
    if not part.strip():
        raise _invalid_error(text, start, "has an empty part")
    if part != part.strip():
        raise _invalid_error(text, start, "has a part that begins or ends with a blank", "Leave the blank out")
    if part in (".", ".."):
        raise _invalid_error(text, start, f"has the part {part!r}, which a path would resolve away", "Rename it")
    control = next((each for each in part if unicodedata.category(each) in ("Cc", "Cs", "Zl", "Zp")), None)
    if control is not None:
        raise _invalid_error(text, start, f"has the character {control!r}", "Leave it out")
    return part


def _parse_query(text: str, query: str, start: int) -> tuple[int | None, str]:
    """The version and the artifact that a kref asks for, in either order, each once at most."""
    revision: int | None = None
    artifact = ""
    for field in query.split("&"):
        name, equals, value = field.partition("=")
        if name == "r" and equals and revision is None:
            digits = value.isascii() and value.isdigit() and not value.startswith("0") and len(value) <= 10
            if not digits or int(value) > MAX_REVISION:
                raise _invalid_error(
                    text, start, f"has r={value[:20]}, which is not a version number", "Give a number from 1 up"
                )
            revision = int(value)
        elif name == "a" and equals and not artifact:
            artifact = _decode(text, value, start + 2)
        else:
            raise _invalid_error(
                text, start, f"has the parameter {field[:20]!r}", "Use r=N and a=NAME only, each at most once"
            )
        start += len(field) + 1
    return revision, artifact
