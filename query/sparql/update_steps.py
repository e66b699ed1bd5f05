"""Split an update into steps; those that change single statements name the solutions that they need. Pure.

``INSERT DATA``, ``DELETE DATA``, ``DELETE WHERE`` and ``DELETE``/``INSERT`` with ``WHERE`` delete and add instances of
their templates for each solution of a pattern (SPARQL 1.1 Update, 3.1.3 and 4.3). Such an operation is therefore a
query for the solutions, and an update of its templates that is evaluated beside the dataset: only the solutions are
compared, however large the dataset is. Operations on whole graphs compare all of it before and after.

The engine normalises many literals: ``01`` to ``1``, ``"5"^^xsd:byte`` to ``5``. In a step, the literals of a template
therefore have a datatype that the engine does not know: ``WRITTEN`` followed by the IRI of their own.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from worlddb.log.model import errors
from worlddb.log.statements.terms import STRING, XSD
from worlddb.query.sparql.sparql_tokens import PREFIXES, Sparql, Token, place_of, read_sparql

WRITTEN: Final = "urn:worlddb:written:"
"""What the datatype of a literal begins with that is to be written as it stands in the update."""
_DATA: Final = ("INSERT DATA", "DELETE DATA")
_LONGEST: Final = 2
_MAX_TEXT: Final = 16 * 1024 * 1024
"""Of all steps, each of which has the prologue before it: what comes to more is compared as a whole."""
_ABSOLUTE: Final = re.compile(r"<[A-Za-z][A-Za-z0-9+.-]*:")


class Step(NamedTuple):
    """One operation: a query for its solutions (empty: there is one without variables), and updates without their
    pattern, ``… INSERT { template }``, of what it takes away and what it adds (empty: nothing).

    ``default`` and ``named`` are the graphs that the query looks at, ``None`` for those of the dataset. ``whole`` is
    the text of operations that are compared before and after, and stands alone; ``copied`` the verb and the graphs of
    one that copies from one to another, ``None`` being the default graph.
    """

    solutions: str = ""
    removed: str = ""
    added: str = ""
    default: list[str] | None = None
    named: list[str] | None = None
    whole: str = ""
    copied: tuple[str, str | None, str | None] | None = None


def steps(update: Sparql) -> list[Step]:
    """The steps of a valid update in their order, as much of it in one as has to be compared before and after."""
    found: list[Step] = []
    compared: list[str] = []
    """Operations that are compared together, with the prologue of the first."""
    prologue, labels, size = "", set[str](), 0
    for tokens in _operations(update.tokens):
        begins = _after_prologue(tokens)
        if begins:
            prologue += update.text[tokens[0].start : tokens[begins - 1].end] + "\n"
        if begins == len(tokens):
            continue
        here = {token.text for token in tokens if token.kind == "blank"}
        size += len(prologue) + tokens[-1].end - tokens[begins].start
        if here & labels or size > _MAX_TEXT:  # A label is scoped to the whole text.
            return [Step(whole=update.text)]
        labels |= here
        step = _step(update, tokens[begins:], prologue)
        text = update.text[tokens[begins].start : tokens[-1].end]
        copied = _copied(update, tokens[begins:], prologue) if step is None else None
        if step is None and copied is None:
            compared.append(text if compared else prologue + text)
            continue
        if compared:
            found.append(Step(whole="\n; ".join(compared)))
            compared = []
        found.append(Step(whole=prologue + text, copied=copied) if step is None else step)
    if compared:
        found.append(Step(whole="\n; ".join(compared)))
    return found


def without_later_prologues(update: Sparql) -> Sparql:
    """An update that says the same with what is declared before its first operation alone.

    SPARQL 1.1 Update lets each operation declare prefixes for itself and those behind it, which the engine refuses.
    They are written out here. A later BASE, or prefix that is relative to a base, stays and is refused.
    """
    known, texts, copied_to = update._replace(prefixes=dict(PREFIXES)), list[str](), 0
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
            texts.append(update.text[copied_to : tokens[0].start])
            copied_to = tokens[begins - 1].end
        for token in tokens[begins:] if texts else ():
            named = known.iri(token) if token.kind == "name" else None
            if named is not None:
                texts.append(f"{update.text[copied_to : token.start]}<{named}>")
                copied_to = token.end
    return read_sparql("".join(texts) + update.text[copied_to:]) if texts else update


def using(update: Sparql, default: Sequence[str], named: Sequence[str]) -> str:
    """The text of an update whose operations look at some graphs alone, as the SPARQL 1.1 protocol has it.

    ``default`` and ``named`` are absolute IRIs. They stand as USING and USING NAMED before each WHERE; an operation
    without one looks at nothing.

    Raises:
        InvalidSparql: the update says itself what it looks at, by USING or WITH.
    """
    clauses = " ".join((*(f"USING <{each}>" for each in default), *(f"USING NAMED <{each}>" for each in named)))
    text, copied_to = "", 0
    for tokens in _operations(update.tokens):
        begins, depth = _after_prologue(tokens), 0
        for place, token in enumerate(tokens[begins:], begins):
            depth += (token.text == "{") - (token.text == "}")
            word = token.text.upper() if token.kind == "word" and not depth else ""
            if word in ("USING", "WITH"):
                line, column = place_of(update.text, token.start)
                raise errors.InvalidSparql(
                    f"{word} at line {line}, column {column} conflicts with the graphs that were given with the update",
                    "Give the graphs in one of the two places only",
                    line=line,
                    column=column,
                )
            if word == "WHERE":
                text += update.text[copied_to : token.start]
                if place == begins + 1:  # DELETE WHERE, which has one pattern for both.
                    text += update.text[token.end : tokens[-1].end] + " "
                text, copied_to = f"{text}{clauses} ", token.start
    return text + update.text[copied_to:]


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


def _step(update: Sparql, tokens: list[Token], prologue: str) -> Step | None:
    graph, into = None, ""
    if tokens[0].text.upper() == "WITH":
        graph = _graph(update, tokens[1], prologue)
        if graph is None:
            return None
        into, tokens = f"WITH <{graph}> ", tokens[2:]
    looked_at = _parse_scope(update, tokens, prologue)
    parts = None if looked_at is None else _parts(looked_at.tokens)
    if looked_at is None or parts is None:
        return None
    names = [name for name, _ in parts]
    parts_by_word = dict(parts)
    templates = {name: f"{prologue}{into}INSERT {_template(update, group)}" for name, group in parts if name != "WHERE"}
    if len(names) == 1 and names[0] in _DATA:
        made = templates[names[0]]
        return Step(removed=made) if names[0] == "DELETE DATA" else Step(added=made)
    if names not in (["DELETE WHERE"], ["DELETE", "WHERE"], ["INSERT", "WHERE"], ["DELETE", "INSERT", "WHERE"]):
        return None
    group = parts_by_word[names[-1]]
    solutions = f"{prologue}SELECT * WHERE {update.text[group[0].start : group[-1].end]}"
    default, named = looked_at.default, looked_at.named
    if default is None and graph is not None:
        default = [graph]
    removed = templates.get("DELETE WHERE") or templates.get("DELETE", "")
    return Step(solutions, removed, templates.get("INSERT", ""), default, named)


def _copied(update: Sparql, tokens: list[Token], prologue: str) -> tuple[str, str | None, str | None] | None:
    verb, *rest = (token for token in tokens if token.text.upper() not in ("SILENT", "GRAPH", "TO"))
    graphs = [None if each.text.upper() == "DEFAULT" else _graph(update, each, prologue) or "" for each in rest]
    if verb.text.upper() not in ("ADD", "COPY", "MOVE") or "" in graphs or graphs[0] == graphs[-1]:
        return None
    return verb.text.upper(), graphs[0], graphs[1]


def _graph(update: Sparql, token: Token, prologue: str) -> str | None:
    """The IRI of a graph; ``None`` if it is relative, or the engine might write it otherwise."""
    named = None if "BASE" in prologue.upper() else update.iri(token)
    return named if named is not None and _ABSOLUTE.match(f"<{named}") else None


class _OperationScope(NamedTuple):
    """An operation without its USING, and the graphs that this names."""

    tokens: list[Token]
    default: list[str] | None
    named: list[str] | None


def _parse_scope(update: Sparql, tokens: list[Token], prologue: str) -> _OperationScope | None:
    """An operation by the graphs that it reads; ``None`` if only the engine can read their IRIs."""
    remaining: list[Token] = []
    graphs: tuple[list[str], list[str]] = ([], [])
    depth = position = 0
    while position < len(tokens):
        token = tokens[position]
        depth += (token.text == "{") - (token.text == "}")
        if depth or token.kind != "word" or token.text.upper() != "USING":
            remaining.append(token)
            position += 1
            continue
        is_named = tokens[position + 1].text.upper() == "NAMED"
        graph = _graph(update, tokens[position + 1 + is_named], prologue)
        if graph is None:
            return None
        graphs[is_named].append(graph)
        position += 2 + is_named
    return _OperationScope(remaining, *graphs) if any(graphs) else _OperationScope(remaining, None, None)


def _template(update: Sparql, group: list[Token]) -> str:
    """A template in which literals stand with a datatype that the engine leaves as it is."""
    texts, at = [], group[0].start
    for place, token in enumerate(group):
        begin, end, kind = "", token.end, ""
        if token.kind == "number":
            kind = "double" if "e" in token.text.lower() else "decimal" if "." in token.text else "integer"
            begin, kind = f'"{token.text}"', XSD + kind
        elif token.kind == "word" and token.text.lower() in ("true", "false"):
            begin, kind = f'"{token.text.lower()}"', XSD + "boolean"
        elif token.kind == "text" and group[place + 1].text == "^^":
            begin, end, kind = token.text, group[place + 2].end, update.iri(group[place + 2]) or ""
        if kind.startswith(XSD) and kind != STRING:
            texts.append(f"{update.text[at : token.start]}{begin}^^<{WRITTEN}{kind}>")
            at = end
    return "".join(texts) + update.text[at : group[-1].end]


def _parts(tokens: list[Token]) -> list[tuple[str, list[Token]]] | None:
    """The groups of an operation by the words before them; ``None`` if anything else stands between or behind."""
    found: list[tuple[str, list[Token]]] = []
    words: list[str] = []
    depth = start = 0
    for index, token in enumerate(tokens):
        if token.text == "{":
            start = start if depth else index
            depth += 1
        elif token.text == "}":
            depth -= 1
            if not depth:
                found.append((" ".join(words), tokens[start : index + 1]))
                words = []
        elif not depth:
            if token.kind != "word" or len(words) == _LONGEST:
                return None
            words.append(token.text.upper())
    return None if words else found
