"""Terms of RDF as values, and as text: what a statement is made of. Pure.

The text of a term is its canonical N-Triples form (RDF 1.2 N-Triples, section 4): ``<https://a.example/>``, ``"tea"``,
``"thé"@fr``, ``"3"^^<http://www.w3.org/2001/XMLSchema#integer>``, ``_:b0`` and ``<<( s p o )>>``. A term has one text,
so terms compare by their texts.

A blank node is kept as the Skolem IRI of a UUID (RDF 1.1 Concepts, section 3.5), and comes out as a blank node again.
"""

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from worlddb.log.model import errors

NAMESPACE: Final = "https://worlddb.dev/ns#"
"""The vocabulary of the engine; its prefix is ``wdb:``."""
SKOLEM: Final = "https://worlddb.dev/.well-known/genid/"
"""What the Skolem IRI of a blank node begins with."""
WORLD_URN: Final = "urn:worlddb:world:"
EDGE_URN: Final = "urn:worlddb:edge:"
XSD: Final = "http://www.w3.org/2001/XMLSchema#"
RDF: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
STRING: Final = XSD + "string"
LANGUAGE_STRING: Final = RDF + "langString"
ERASED: Final = "(erased)"
"""What stands in a line for people in the place of a term whose text was erased; no term reads so."""
MAX_TERM_BYTES: Final = 1024 * 1024
"""The text of one term, in UTF-8."""
MAX_NESTED: Final = 8
"""How deep triples may be nested."""
_SHOWN: Final = 80

_NO_IRI = re.compile(r'[\x00-\x20<>"{}|^`\\]|%(?![0-9A-Fa-f]{2})')
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_LANGUAGE = re.compile(r"[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8})*(--(ltr|rtl))?")
_LABEL = re.compile(r"[0-9A-Za-z_\u00c0-\U000effff]([0-9A-Za-z_.\u00b7-\U000effff-]*[0-9A-Za-z_\u00b7-\U000effff-])?")
_UUID = re.compile(r"[0-9a-f]{32}")
_SKOLEMISED = re.compile(r"<" + re.escape(SKOLEM) + r"([0-9a-f]{32})>")
_PLAIN_IRI = re.compile(r'<[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>"{}|^`\\%\ud800-\udfff]*>')
_PLAIN_STRING = re.compile(r'"[^\x00-\x1f\x7f"\\\ud800-\udfff]*"')
_SPECIAL = re.compile(r'[\x00-\x1f\x7f"\\]')
_ESCAPES: Final = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\"}
_ESCAPED: Final = {escape[1]: character for character, escape in _ESCAPES.items()} | {"'": "'"}
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_TOKEN = re.compile(
    r"""\s*(?:(?P<iri><(?!<)[^>]*>)
    |(?P<blank>_:[^\s<>"()]+)
    |(?P<text>"(?:[^"\\]|\\.)*")(?:@(?P<language>[A-Za-z0-9-]+)|\^\^(?P<datatype><[^>]*>))?
    |(?P<open><<\()|(?P<close>\)>>))\s*""",
    re.VERBOSE | re.DOTALL,
)


class Iri(msgspec.Struct, frozen=True, order=True):
    """An absolute IRI.

    Raises:
        InputError: it has no scheme, or a character that no IRI has.
    """

    value: str

    def __post_init__(self) -> None:
        if not _is_text(self.value) or not _SCHEME.match(self.value) or _NO_IRI.search(self.value):
            raise errors.InputError(
                f"{errors.shown(self.value)} is not an absolute IRI",
                "Give one with its scheme, as https://example.org/a",
            )
        _check_text(self.value)

    def __str__(self) -> str:
        return f"<{self.value}>"


class Literal(msgspec.Struct, frozen=True, order=True):
    """A literal: its lexical form with the IRI of a datatype, or with a language tag, which is kept in lower case.

    A text with a language has the datatype ``rdf:langString``, whatever is given.

    Raises:
        InputError: the datatype is no absolute IRI, or the language no tag of BCP 47.
    """

    value: str
    datatype: str = STRING
    language: str | None = None

    def __post_init__(self) -> None:
        _check_text(self.value)
        if self.language is None:
            if self.datatype != STRING:
                Iri(self.datatype)
            return
        if not _is_text(self.language) or not _LANGUAGE.fullmatch(self.language):
            raise errors.InputError(
                f"{errors.shown(self.language)} is not a language tag", "Give one such as en or pt-BR"
            )
        msgspec.structs.force_setattr(self, "language", self.language.lower())
        msgspec.structs.force_setattr(self, "datatype", LANGUAGE_STRING)

    def __str__(self) -> str:
        text = f'"{_SPECIAL.sub(_escape, self.value)}"'
        if self.language is not None:
            return f"{text}@{self.language}"
        return text if self.datatype == STRING else f"{text}^^<{self.datatype}>"


class BlankNode(msgspec.Struct, frozen=True, order=True):
    """A blank node: in a store its ``id`` is the 32 digits of a UUID; before, any label of N-Triples.

    Raises:
        InputError: the id is no label.
    """

    id: str

    def __post_init__(self) -> None:
        if not _is_text(self.id) or not _LABEL.fullmatch(self.id):
            raise errors.InputError(f"{errors.shown(self.id)} is not a label of a blank node", "Give one such as b0")
        _check_text(self.id)

    def __str__(self) -> str:
        return f"_:{self.id}"


class Triple(msgspec.Struct, frozen=True, order=True):
    """A triple as a term (RDF 1.2): it may be an object, of ``rdf:reifies`` for one, without being stated."""

    subject: "Iri | BlankNode"
    predicate: Iri
    object: "Iri | Literal | BlankNode | Triple"

    def __str__(self) -> str:
        return f"<<( {self.subject} {self.predicate} {self.object} )>>"


Term = Iri | Literal | BlankNode | Triple
Node = Iri | BlankNode
"""What may be a subject, or name a graph."""


def _is_text(value: object) -> bool:
    """Whether a value is text: a struct does not look at what it is made of."""
    return isinstance(value, str)


def _check_text(text: object) -> None:
    if not isinstance(text, str):
        raise errors.InputError(f"A term is {type(text).__name__}, not text", "Give it as str")
    if text.isascii() and len(text) <= MAX_TERM_BYTES:
        return
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        raise errors.InvalidText(
            f"A term is not valid Unicode: {error.reason} at character {error.start}",
            "Decode the bytes with errors='replace' or correct them at their source",
        ) from None
    if size > MAX_TERM_BYTES:
        raise errors.LimitExceeded(
            f"A term has {size:,} bytes, above the limit of {MAX_TERM_BYTES:,}", "Keep long texts in worlds"
        )


def _escape(found: re.Match[str]) -> str:
    character = found.group()
    return _ESCAPES.get(character) or f"\\u{ord(character):04X}"


def _unescape(found: re.Match[str]) -> str:
    four, eight, one = found.groups()
    if one is None:
        code = int(four or eight, 16)
        if code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF:
            return chr(code)
    elif one in _ESCAPED:
        return _ESCAPED[one]
    raise errors.InputError(f"{found.group()!r} is not an escape of N-Triples", 'Use \\n, \\t, \\", \\\\ or \\uXXXX')


def term_of(text: str) -> Term:
    """The term that an N-Triples text stands for; a Skolem IRI of ours stands for a blank node.

    Raises:
        InputError: the text is no term.
        InvalidText, LimitExceeded: it has no UTF-8 form; it is too long.
    """
    _check_text(text)
    if _PLAIN_IRI.fullmatch(text):
        return node_of(text[1:-1])
    if _PLAIN_STRING.fullmatch(text):
        return Literal(text[1:-1])
    term, end = _parse_term(text, 0, 0)
    if end != len(text):
        raise _not_a_term(text)
    return term


def values_in(term: Term) -> Iterator[str]:
    """What a term says, without the signs around it; of a triple, what its parts do."""
    if isinstance(term, Triple):
        for part in (term.subject, term.predicate, term.object):
            yield from values_in(part)
    else:
        yield term.id if isinstance(term, BlankNode) else term.value


def _not_a_term(text: str) -> errors.InputError:
    return errors.InputError(
        f"{errors.shown(text[:_SHOWN])} is not a term of N-Triples",
        'Write an IRI as <https://example.org/a>, a text as "tea", "thé"@fr or "3"^^<…#integer>, a blank node as _:b0',
    )


def _parse_term(text: str, at: int, depth: int) -> tuple[Term, int]:
    found = _TOKEN.match(text, at)
    if depth > MAX_NESTED:
        raise errors.LimitExceeded(
            f"{errors.shown(text)} nests triples deeper than {MAX_NESTED}", "Name the inner ones by nodes of their own"
        )
    if found is None or found.lastgroup == "close":
        raise _not_a_term(text)
    if found["open"]:
        parts, end = [], found.end()
        for _ in range(3):
            part, end = _parse_term(text, end, depth + 1)
            parts.append(part)
        closed = _TOKEN.match(text, end)
        if closed is None or not closed["close"]:
            raise _not_a_term(text)
        return checked_triple(*parts), closed.end()
    if found["iri"]:
        return node_of(_iri(found["iri"])), found.end()
    if found["blank"]:
        return BlankNode(found["blank"][2:]), found.end()
    value = _ESCAPE.sub(_unescape, found["text"][1:-1])
    if found["language"]:
        return Literal(value, LANGUAGE_STRING, found["language"]), found.end()
    return Literal(value, _iri(found["datatype"]) if found["datatype"] else STRING), found.end()


def _iri(bracketed: str) -> str:
    return _ESCAPE.sub(_unescape, bracketed[1:-1])


def checked_triple(subject: Term, predicate: Term, object: Term) -> Triple:
    """The triple of three terms, each in a place where it may stand.

    Raises:
        InputError: one of them may not stand where it does.
    """
    if not isinstance(subject, Iri | BlankNode):
        raise errors.InputError(f"{str(subject)[:_SHOWN]} cannot be a subject", "Give an IRI or a blank node")
    if not isinstance(predicate, Iri):
        raise errors.InputError(f"{str(predicate)[:_SHOWN]} cannot be a predicate", "Give an IRI")
    return Triple(subject, predicate, object)


def node_of(value: str) -> Node:
    """The node that an IRI stands for: a blank node if it is a Skolem IRI of ours."""
    if value.startswith(SKOLEM) and _UUID.fullmatch(value, len(SKOLEM)):
        return BlankNode(value[len(SKOLEM) :])
    return Iri(value)


def is_uuid(label: str) -> bool:
    """Whether the id of a blank node is one that a store gives: the 32 digits of a UUID."""
    return _UUID.fullmatch(label) is not None


def skolem_iri(blank: BlankNode) -> Iri:
    """The IRI that a store keeps for a blank node.

    Raises:
        InputError: its id is not the 32 digits of a UUID: who takes it in gives it one first.
    """
    if not _UUID.fullmatch(blank.id):
        raise errors.InputError(
            f"{blank} is not a blank node of a store", "Give the 32 lower-case hex digits of a UUID as its id"
        )
    return Iri(SKOLEM + blank.id)


def stored_text(term: Term) -> str:
    """The text under which a store keeps a term: blank nodes are Skolem IRIs.

    Raises:
        InputError: a blank node has no UUID.
    """
    if isinstance(term, BlankNode):
        return str(skolem_iri(term))
    if isinstance(term, Triple):
        subject, object_ = stored_text(term.subject), stored_text(term.object)
        return f"<<( {subject} {term.predicate} {object_} )>>"
    return str(term)


def is_plain(text: str) -> bool:
    """True if a text is at first sight the canonical form of an IRI, or of a literal that is a plain string."""
    return (_PLAIN_IRI.fullmatch(text) or _PLAIN_STRING.fullmatch(text)) is not None and len(text) < _MAX_PLAIN


_MAX_PLAIN: Final = MAX_TERM_BYTES // 4


def with_blank_nodes(line: str) -> str:
    """A line of N-Quads with blank nodes in place of our Skolem IRIs outside of literals."""
    if SKOLEM not in line:
        return line
    parts = re.split(r'("(?:[^"\\]|\\.)*")', line)
    parts[::2] = [_SKOLEMISED.sub(r"_:\1", part) for part in parts[::2]]
    return "".join(parts)
