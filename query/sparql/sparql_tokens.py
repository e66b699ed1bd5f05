"""Tokenise a query or an update, and find its prefixes and the graphs that it names. Pure.

Keywords are matched as tokens, never as substrings, so that texts, names and comments may contain any word.
"""

import re
from collections.abc import Iterator
from itertools import islice, pairwise, product
from typing import Final, NamedTuple

from worlddb.log.model import errors
from worlddb.log.statements.terms import MAX_NESTED, NAMESPACE, RDF, WORLD_URN, XSD

PREFIXES: Final = {
    "wdb": NAMESPACE,
    "rdf": RDF,
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "xsd": XSD,
    "owl": "http://www.w3.org/2002/07/owl#",
}
"""What every query may use without naming it first."""
MEMORY: Final = NAMESPACE + "memory"
"""The graph of the whole memory."""
SEARCH: Final = NAMESPACE + "search"
"""The graph of what a search finds, with ``?text=`` behind it."""
VOCABULARY: Final = (
    *("World", "Edge", "type", "name", "content", "alias", "label", "author", "version", "validFrom", "validTo"),
    *(
        "ingestedAt",
        "edgeType",
        "source",
        "target",
        "why",
        "confidence",
        "memory",
        "search",
        "score",
        "words",
        "likeness",
    ),
)
"""All names below ``wdb:`` that the graphs of the memory and of searches have, but for the types of edges."""
_NEAR: Final = 3
_MAX_TOLD: Final = 8
MAX_SPARQL_BYTES: Final = 1024 * 1024
MAX_TOKENS: Final = 500_000

_LONG: Final = (
    r"\"\"\"(?:\"{0,2}(?:[^\"\\]|\\.))*\"\"\"",
    r"\'\'\'(?:\'{0,2}(?:[^\'\\]|\\.))*\'\'\'",
)
"""Texts in three quotes, which may have several lines."""
_KINDS: Final = r"""(?P<space>\s+|\#[^\n\r]*)
    |(?P<text>LONG"(?:[^"\\\n\r]|\\.)*"|'(?:[^'\\\n\r]|\\.)*')
    |(?P<unended>["'][^\n\r]*)
    |(?P<iri><[^<>"{}|^`\\\x00-\x20]*>)
    |(?P<variable>[?$]\w+)
    |(?P<blank>_:[\w.-]*)
    |(?P<language>@[A-Za-z][A-Za-z0-9-]*)
    |(?P<name>(?:[^\W\d_][\w.\-\xb7]{0,200}+)?:(?:[\w:\-]|\.(?=[\w:.\-%\\])|%[0-9A-Fa-f]{2}|\\[-_~.!$&'()*+,;=/?\#@%])*)
    |(?P<word>[A-Za-z]\w*)
    |(?P<number>[+-]?(?:[0-9]+\.(?=[eE][+-]?[0-9])|[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    |(?P<other>\^\^|(?:[()\[\]*/=!|&,\\]|\+(?![0-9.]))+|[\s\S])"""
"""Each alternative takes time in proportion to what it matches, or is bounded: reading a text holds up all of this
process. What begins with a quote and does not end is no text, up to the end of its line; the engine refuses it. Those
in three quotes are looked for up to where the last of them can end (:func:`_ends`)."""
_PATTERNS: Final = {
    known: re.compile(
        _KINDS.replace("LONG", "".join(f"{each}|" for each, is_there in zip(_LONG, known, strict=True) if is_there)),
        re.VERBOSE | re.DOTALL,
    )
    for known in product((False, True), repeat=2)
}
"""The tokens, by whether a text in three double quotes can still end, and one in three single ones."""
_QUOTES: Final = re.compile(r"\\.|\"{3,}|\'{3,}", re.DOTALL)
_CLOSED: Final = {"SERVICE": "asks another server", "LOAD": "reads a file or a page"}
_QUERIES: Final = frozenset({"SELECT", "ASK", "CONSTRUCT", "DESCRIBE"})
_BEGINS: Final = _QUERIES | {"INSERT", "DELETE", "WITH", "CREATE", "DROP", "CLEAR", "ADD", "MOVE", "COPY"}
"""The words with which a query or an update begins, behind its prologue."""
_WORDS: Final = NAMESPACE + "words"
_BY_MEANING: Final = frozenset({NAMESPACE + "score", NAMESPACE + "likeness"})
_WHOLE: Final = frozenset({"DESCRIBE", "COPY", "MOVE", "ADD"})
_TERMS: Final = frozenset({"variable", "iri", "name", "blank", "text", "language", "number"})
_BEFORE_GRAPH: Final = frozenset({"FROM", "NAMED", "GRAPH", "USING", "WITH", "INTO", "TO", "COPY", "MOVE", "ADD"})


class Token(NamedTuple):
    """One token: its kind, its text, and where it begins and ends."""

    kind: str
    text: str
    start: int
    end: int


class Sparql(NamedTuple):
    """A text with its tokens, the prefixes that it declares, and the IRIs that stand where a graph is named."""

    text: str
    tokens: tuple[Token, ...]
    prefixes: dict[str, str]
    graphs: tuple[str, ...]

    def words(self) -> frozenset[str]:
        """The keywords, in upper case."""
        return frozenset(token.text.upper() for token in self.tokens if token.kind == "word")

    def iri(self, token: Token) -> str | None:
        """The IRI that a token stands for, if it is one."""
        if token.kind == "iri":
            return token.text[1:-1]
        if token.kind != "name":
            return None
        prefix, _, local = token.text.partition(":")
        begin = self.prefixes.get(prefix)
        return None if begin is None else begin + re.sub(r"\\(.)", r"\1", local)

    def worlds(self) -> list[str]:
        """The graphs that are worlds, or worlds at a moment, each once, in order."""
        return list(dict.fromkeys(each for each in self.graphs if each.startswith(WORLD_URN)))

    def memories(self) -> list[str]:
        """The graphs that are the whole memory, or a search of it, each at a moment or not, each once, in order."""
        return list(dict.fromkeys(each for each in self.graphs if each.partition("?")[0] in (MEMORY, SEARCH)))

    def needs_meaning(self) -> bool:
        """Whether what a search finds by meaning could be in the answer.

        It could not where ``wdb:words`` alone is asked of searches, and nothing stands for whatever else they have: no
        predicate or graph that is a variable, no path, no whole graph. Where that is unclear, it could.
        """
        iris = {self.iri(token) for token in self.tokens}
        if _WORDS not in iris or iris & _BY_MEANING or self.words() & _WHOLE:
            return True
        inside = [Token("other", "", 0, 0), *_in_groups(iter(self.tokens)), Token("other", "", 0, 0)]
        return any(map(_may_match_all, inside, inside[1:], inside[2:]))


def read_sparql(text: str) -> Sparql:
    """The tokens of a query or an update.

    Raises:
        InvalidSparql: it asks for what is closed: ``SERVICE`` or ``LOAD``.
        LimitExceeded: it is longer than a megabyte, has more than half a million tokens, or nests triples deeper than
            any that is stored.
        InvalidText: it is no text.
    """
    if not isinstance(text, str):
        raise errors.InvalidText(f"The query is {text.__class__.__name__}, not text", "Give it as str")
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise errors.InvalidText("The query is not valid Unicode", "Correct it at its source") from None
    if size > MAX_SPARQL_BYTES:
        raise errors.LimitExceeded(f"The query has {size:,} bytes, above {MAX_SPARQL_BYTES:,}", "Shorten it")
    tokens = tuple(islice(_tokens(text), MAX_TOKENS + 1))
    if len(tokens) > MAX_TOKENS:
        line, column = place_of(text, tokens[-1].start)
        raise errors.LimitExceeded(
            f"The query has more than {MAX_TOKENS:,} tokens: the limit is reached at line {line}, column {column}",
            "Shorten it, or split it into several",
        )
    for token in tokens:
        what = _CLOSED.get(token.text.upper()) if token.kind == "word" else None
        if what is not None:
            line, column = place_of(text, token.start)
            raise errors.InvalidSparql(
                f"{token.text.upper()} at line {line}, column {column} {what}, which is not allowed here",
                "Import the data first, and query it",
                line=line,
                column=column,
            )
    if text.count("<<(") > MAX_NESTED:
        _refuse_nested_triples(text, tokens)
    found = Sparql(text, tokens, PREFIXES | _prefixes(tokens), ())
    return found._replace(graphs=tuple(_graphs(found)))


def _refuse_nested_triples(text: str, tokens: tuple[Token, ...]) -> None:
    """Refuse triples that nest deeper than any may be stored; the engine takes time for their depth squared."""
    depth = 0
    for token, follower in pairwise(tokens):
        if token.text == "<" and text.startswith("<<(", token.start):
            depth += 1
        elif token.text.endswith(")") and follower.text == ">" and text.startswith(">>", token.end):
            depth -= 1
        if depth > MAX_NESTED:
            line, column = place_of(text, token.start)
            raise errors.LimitExceeded(
                f"A triple is nested too deep at line {line}, column {column}",
                f"Nest at most {MAX_NESTED} in one another",
            )


def unknown_names(sparql: Sparql) -> str:
    """What a query names below ``wdb:`` that is nothing there, each with the names that come near; else empty."""
    hints: dict[str, str] = {}
    for token in sparql.tokens:
        iri = sparql.iri(token) or ""
        name = iri.removeprefix(NAMESPACE).partition("?")[0]
        if not iri.startswith(NAMESPACE) or not name or "/" in name or name in VOCABULARY or name in hints:
            continue
        # Loaded for who has misspelled one.
        from difflib import get_close_matches

        folded = {each.casefold(): each for each in VOCABULARY}
        near = [f"wdb:{folded[each]}" for each in get_close_matches(name.casefold(), folded, n=_NEAR)]
        line, column = place_of(sparql.text, token.start)
        meant = f"did you mean {', '.join(near)}?" if near else "docs/sparql.md lists all names"
        hints[name] = f"line {line}, column {column}: the memory has no name wdb:{name[:80]}; {meant}"
        if len(hints) == _MAX_TOLD:
            break
    return "; ".join(hints.values())


def explain_error(error: errors.InvalidSparql, text: str, *, is_update: bool) -> errors.InvalidSparql:
    """The error of the engine, or one that says more plainly what is wrong with a text.

    The engine names what could stand at the place, also where a prefix is not declared, or the text is of the other
    kind. Only what it refused is looked at, so that nothing it takes is refused here.
    """
    tokens = tuple(_tokens(text))
    first = next((each for each in tokens if each.kind == "word" and each.text.upper() in _BEGINS), None)
    if first is not None and (first.text.upper() in _QUERIES) == is_update:
        query, update = "Send it as one, by view.sparql", "Send it as one, by sparql_update"
        kind, remedy = ("a query", query) if is_update else ("an update", update)
        line, column = place_of(text, first.start)
        return errors.InvalidSparql(
            f"{first.text.upper()} at line {line}, column {column} begins {kind}",
            remedy,
            line=line,
            column=column,
        )
    declared = PREFIXES | _prefixes(tokens)
    for token in tokens:
        prefix = token.text.partition(":")[0]
        if token.kind == "name" and prefix not in declared:
            line, column = place_of(text, token.start)
            return errors.InvalidSparql(
                f"Line {line}, column {column}: the prefix {prefix[:80]}: is not declared",
                f"Begin with PREFIX {prefix[:80]}: <…>, or write the full IRI in < >",
                line=line,
                column=column,
            )
    return error


def place_of(text: str, at: int) -> tuple[int, int]:
    """Line and column, from 1, of a character."""
    return text.count("\n", 0, at) + 1, at - (text.rfind("\n", 0, at) + 1) + 1


def _tokens(text: str) -> Iterator[Token]:
    at, ends = 0, _ends(text)
    while at < len(text):
        # Behind the last place at which one ends, a text in three quotes would be looked for up to the end, each time.
        until = min((each for each in ends if each > at), default=len(text))
        for found in _PATTERNS[ends[0] > at, ends[1] > at].finditer(text, at):
            if found.start() >= until:
                break
            at = found.end()
            kind = found.lastgroup or ""
            if kind != "space":
                yield Token(kind, found.group(), found.start(), at)


def _ends(text: str) -> tuple[int, int]:
    """The last places at which a text in three double quotes can end, and in three single ones; -1 if none can.

    A quote behind an odd number of backslashes ends nothing, wherever the text began: it began behind a quote.
    """
    last = {'"': -1, "'": -1}
    if '"""' in text or "'''" in text:
        for found in _QUOTES.finditer(text):
            if found.group()[0] != "\\":
                last[found.group()[0]] = found.end() - 3
    return last['"'], last["'"]


def _in_groups(tokens: Iterator[Token]) -> Iterator[Token]:
    depth = 0
    for token in tokens:
        depth += (token.text == "{") - (token.text == "}")
        if depth:
            yield token


def _may_match_all(before: Token, token: Token, after: Token) -> bool:
    """Whether a token may be a predicate, a path, a graph or a quoted triple that is not known from the text."""
    if token.kind == "variable":
        if before.kind == "word" and before.text.upper() == "GRAPH":
            return True
        follows = before.kind in _TERMS or before.text[-1:] in ("]", ")", ";", "[")
        begins = after.kind in _TERMS or after.text[:1] in ("[", "(", "<", "+", "-") or after.text in ("true", "false")
        return follows and begins
    # ``!`` begins a path of all predicates but some, ``*`` and ``?`` end one of any length, and ``<<`` a triple.
    return token.kind == "other" and (bool(set("!*?+") & set(token.text)) or token.text == after.text == "<")


def _prefixes(tokens: tuple[Token, ...]) -> dict[str, str]:
    found = {}
    for word, name, iri in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if word.kind == "word" and word.text.upper() == "PREFIX" and name.kind == "name" and iri.kind == "iri":
            found[name.text.rstrip(":")] = iri.text[1:-1]
    return found


def _graphs(sparql: Sparql) -> Iterator[str]:
    for before, token in zip(sparql.tokens, sparql.tokens[1:], strict=False):
        if before.kind == "word" and before.text.upper() in _BEFORE_GRAPH:
            named = sparql.iri(token)
            if named is not None:
                yield named
