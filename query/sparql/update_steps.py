"""The operations of an update that change single statements, as steps of which each says what it looks at. Pure.

``INSERT DATA``, ``DELETE DATA``, ``DELETE WHERE`` and ``DELETE``/``INSERT`` with ``WHERE`` take away and add what their
templates come to for each solution of a pattern (SPARQL 1.1 Update, 3.1.3 and 4.3). So such an operation is a query for
the solutions, and an update of its templates that is evaluated beside the dataset: nothing but the solutions is looked
at, however large the dataset is. Operations on whole graphs and those with ``USING`` are no steps.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from worlddb.log.model import errors
from worlddb.query.sparql.sparql_tokens import PREFIXES, Sparql, Token, place_of, read_sparql

_DATA: Final = ("INSERT DATA", "DELETE DATA")
_LONGEST: Final = 2
_ABSOLUTE: Final = re.compile(r"<[A-Za-z][A-Za-z0-9+.-]*:")


class Step(NamedTuple):
    """One operation: a query for its solutions (empty: there is one without variables), and updates without their
    pattern, ``… INSERT { template }``, of what it takes away and what it adds (empty: nothing).

    ``graph`` is what the query has as its default graph, ``None`` for that of the dataset.
    """

    solutions: str
    removed: str
    added: str
    graph: str | None = None


def steps(update: Sparql) -> list[Step] | None:
    """The steps of a valid update in their order; ``None`` if it has an operation that is no step."""
    found, prologue = [], ""
    labelled = 0
    for tokens in _operations(update.tokens):
        begins = _after_prologue(tokens)
        if begins:
            prologue += update.text[tokens[0].start : tokens[begins - 1].end] + "\n"
        if begins == len(tokens):
            continue
        labelled += any(token.kind == "blank" for token in tokens)
        step = _step(update.text, tokens[begins:], prologue)
        if step is None or labelled > 1:  # A label is scoped to the whole text.
            return None
        found.append(step)
    return found


def without_later_prologues(update: Sparql) -> Sparql:
    """An update that says the same with what is declared before its first operation alone.

    SPARQL 1.1 Update lets each operation declare prefixes for itself and those behind it, which the engine refuses.
    They are written out here. A later BASE, or prefix that is relative to a base, stays and is refused.
    """
    known, text, at = update._replace(prefixes=dict(PREFIXES)), "", 0
    for number, tokens in enumerate(_operations(update.tokens)):
        begins = _after_prologue(tokens)
        for word, name, iri in zip(tokens[:begins], tokens[1:], tokens[2:], strict=False):
            if word.text.upper() == "PREFIX" and _ABSOLUTE.match(iri.text):
                known.prefixes[name.text[:-1]] = iri.text[1:-1]
            elif number and word.kind == "word":
                return update
            elif word.kind == "word":  # What the engine makes of it stands before all operations.
                known.prefixes.pop(name.text[:-1], None)
        if number and begins:
            text, at = text + update.text[at : tokens[0].start], tokens[begins - 1].end
        for token in tokens[begins:] if text else ():
            named = known.iri(token) if token.kind == "name" else None
            if named is not None:
                text, at = f"{text}{update.text[at : token.start]}<{named}>", token.end
    return read_sparql(text + update.text[at:]) if text else update


def using(update: Sparql, default: Sequence[str], named: Sequence[str]) -> str:
    """The text of an update whose operations look at some graphs alone, as the SPARQL 1.1 protocol has it.

    ``default`` and ``named`` are absolute IRIs. They stand as USING and USING NAMED before each WHERE; an operation
    without one looks at nothing.

    Raises:
        InvalidSparql: the update says itself what it looks at, by USING or WITH.
    """
    said = " ".join((*(f"USING <{each}>" for each in default), *(f"USING NAMED <{each}>" for each in named)))
    text, at = "", 0
    for tokens in _operations(update.tokens):
        begins, depth = _after_prologue(tokens), 0
        for place, token in enumerate(tokens[begins:], begins):
            depth += (token.text == "{") - (token.text == "}")
            word = token.text.upper() if token.kind == "word" and not depth else ""
            if word in ("USING", "WITH"):
                line, column = place_of(update.text, token.start)
                raise errors.InvalidSparql(
                    f"{word} at line {line}, column {column} stands beside graphs that were given with the update",
                    "Say what it looks at in one of the two",
                    line=line,
                    column=column,
                )
            if word == "WHERE":
                text += update.text[at : token.start]
                if place == begins + 1:  # DELETE WHERE, which has one pattern for both.
                    text += update.text[token.end : tokens[-1].end] + " "
                text, at = f"{text}{said} ", token.start
    return text + update.text[at:]


def _operations(tokens: tuple[Token, ...]) -> list[list[Token]]:
    """The tokens between semicolons that lie in no group."""
    found: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        depth += (token.text == "{") - (token.text == "}")
        if token.text == ";" and depth == 0:
            found.append([])
        else:
            found[-1].append(token)
    return [each for each in found if each]


def _after_prologue(tokens: list[Token]) -> int:
    """Where the operation begins behind declarations of prefixes and bases."""
    at = 0
    while at < len(tokens) and tokens[at].kind == "word":
        word = tokens[at].text.upper()
        if word not in ("PREFIX", "BASE"):
            break
        at += 3 if word == "PREFIX" else 2
    return min(at, len(tokens))


def _step(text: str, tokens: list[Token], prologue: str) -> Step | None:
    graph, into = None, ""
    if tokens[0].text.upper() == "WITH" and _ABSOLUTE.match(tokens[1].text) and "BASE" not in prologue.upper():
        graph, into, tokens = tokens[1].text[1:-1], f"WITH {tokens[1].text} ", tokens[2:]
    parts = _parts(text, tokens)
    if parts is None:
        return None
    names = [name for name, _ in parts]
    said = dict(parts)
    if len(names) == 1 and names[0] in _DATA:
        made = f"{prologue}INSERT {said[names[0]]}"
        return Step("", made, "") if names[0] == "DELETE DATA" else Step("", "", made)
    if names == ["DELETE WHERE"]:
        pattern = said["DELETE WHERE"]
        return Step(f"{prologue}SELECT * WHERE {pattern}", f"{prologue}INSERT {pattern}", "")
    if names not in (["DELETE", "WHERE"], ["INSERT", "WHERE"], ["DELETE", "INSERT", "WHERE"]):
        return None
    removed, added = (f"{prologue}{into}INSERT {said[name]}" if name in said else "" for name in ("DELETE", "INSERT"))
    return Step(f"{prologue}SELECT * WHERE {said['WHERE']}", removed, added, graph)


def _parts(text: str, tokens: list[Token]) -> list[tuple[str, str]] | None:
    """The groups of an operation by the words before them; ``None`` if anything else stands between or behind."""
    found: list[tuple[str, str]] = []
    words: list[str] = []
    depth = start = 0
    for token in tokens:
        if token.text == "{":
            start = start if depth else token.start
            depth += 1
        elif token.text == "}":
            depth -= 1
            if not depth:
                found.append((" ".join(words), text[start : token.end]))
                words = []
        elif not depth:
            if token.kind != "word" or len(words) == _LONGEST:
                return None
            words.append(token.text.upper())
    return None if words else found
