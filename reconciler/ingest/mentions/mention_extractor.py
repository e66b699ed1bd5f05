"""The default extractor: it finds names, dates, amounts and addresses in turns.

What it finds becomes worlds that the turns refer to. It is deterministic and asks no model. Its answer depends on the
given turns alone: their texts, and the names of their speakers.
"""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Final

from worlddb.log.model.errors import InputError, shown
from worlddb.reconciler.ingest.extraction import Extraction, Node, Relation, Turn
from worlddb.reconciler.ingest.mentions import proper_names, surface_forms

_CODE: Final = re.compile(r"```.*?(?:```|\Z)|`[^`\n]{1,500}`", re.S)
_MAX_FORM: Final = 255
"""Characters of a form. It becomes a name, a label and a key, and is near the limit of none of them; nobody
calls anything by what is longer, a web address above all."""
_GONE: Final = "\ufffc"
"""Stands for what was found already: no letter, no space and no end of a sentence."""
_BY_FORM: Final[tuple[tuple[Callable[[str], Iterator[surface_forms.Mention]], re.Pattern[str]], ...]] = (
    (surface_forms.addresses, re.compile(r"@|://|www\.|\d", re.I)),
    (surface_forms.dates, re.compile(r"\d")),
    (surface_forms.amounts, re.compile(r"\d")),
    (proper_names.titles, re.compile(r"[\"“«]")),
)
"""In this order: what one has found is not looked at by the next. Each with what a text has without fail if there is
something for it to find, which is the quicker question."""


class EntityExtractor:
    """Names, dates, amounts and addresses that turns mention.

    The extractor is for :meth:`worlddb.Database.ingest`. ``kinds`` says which of "name", "date", "amount" and "address"
    are looked for. Every mention of one form in one conversation is one world, which the turns refer to; whether two
    forms are one is for the resolver to propose and for somebody to decide. Names are found as English writes them.

    Raises:
        InputError: there is no such kind.
    """

    def __init__(self, *, kinds: Collection[str] = surface_forms.KINDS) -> None:
        given: object = kinds
        if (
            not isinstance(given, Collection)
            or isinstance(given, str)
            or any(kind not in surface_forms.KINDS for kind in given)
        ):
            raise InputError(f"kinds is {shown(kinds)}", f"Give a list with some of: {', '.join(surface_forms.KINDS)}")
        self._kinds = frozenset(kinds)

    def __call__(self, turns: Sequence[Turn]) -> Extraction:
        """The worlds that the turns mention, and an edge from a turn to each of those that it does."""
        nodes: dict[str, Node] = {}
        edges: list[Relation] = []
        for position, found in enumerate(self.mentions(turns)):
            first: dict[str, surface_forms.Mention] = {}
            for mention in found:
                first.setdefault(f"{mention.type} {mention.form}", mention)
            for label, mention in first.items():
                if label not in nodes:
                    exact = mention.kind == surface_forms.NAME
                    nodes[label] = Node(label=label, type=mention.type, name=mention.form, key=label, resolve=exact)
                where = {"role": "mention", "start": mention.start, "end": mention.end}
                edges.append(Relation(source=position, type="refers_to", target=label, key=label, properties=where))
        return Extraction(nodes=list(nodes.values()), edges=edges)

    def mentions(self, turns: Sequence[Turn]) -> list[tuple[surface_forms.Mention, ...]]:
        """What each turn mentions, in the order of its text."""
        found: list[list[surface_forms.Mention]] = []
        masked: list[str] = []
        for turn in turns:
            own, rest = _by_form(turn.text)
            found.append([mention for mention in own if mention.kind in self._kinds])
            masked.append(rest)
        if surface_forms.NAME in self._kinds:
            said = [proper_names.sentences(text) for text in masked]
            used = proper_names.usage(said, dict.fromkeys(turn.speaker for turn in turns))
            for own, turn, text in zip(found, turns, said, strict=True):
                own.extend(proper_names.names_in(turn.text, text, used))
        return [tuple(sorted((each for each in own if _is_short(each)), key=_place)) for own in found]


def _place(mention: surface_forms.Mention) -> tuple[int, int]:
    return mention.start, mention.end


def _is_short(mention: surface_forms.Mention) -> bool:
    return len(mention.form) <= _MAX_FORM


def _by_form(text: str) -> tuple[list[surface_forms.Mention], str]:
    """Find what has a form of its own, and give it with the text that is left.

    That text is without what was found and without code, position for position.
    """
    rest = _without(text, [match.span() for match in _CODE.finditer(text)])
    found: list[surface_forms.Mention] = []
    for finder, sign in _BY_FORM:
        if not sign.search(rest):
            continue
        own: list[surface_forms.Mention] = []
        end = 0
        for mention in sorted(finder(rest), key=lambda each: (each.start, -each.end)):
            if mention.start >= end:
                own.append(mention)
                end = mention.end
        rest = _without(rest, [_place(mention) for mention in own])
        found.extend(own)
    return found, rest


def _without(text: str, places: Sequence[tuple[int, int]]) -> str:
    """A text with other characters, as many, in some places, which are in order and apart."""
    parts: list[str] = []
    at = 0
    for start, end in places:
        parts += (text[at:start], _GONE * (end - start))
        at = end
    return "".join((*parts, text[at:]))
