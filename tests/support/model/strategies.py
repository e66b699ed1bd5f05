"""Draw commands with Hypothesis; references are numbers modulo the number of targets."""

from __future__ import annotations

from typing import Any, NamedTuple

from hypothesis import strategies as st

from tests.support.model.commands import Command, Known, Nobody, Nth, Reference
from tests.support.model.rules.edge_rules import TYPES
from tests.support.model.state import ROOT, Edge, Proposal, State
from worlddb import Thresholds
from worlddb.log.model.clock import RELEASED_AT

TICK = 1_000
"""Microseconds between the few moments that everything happens at, so that boundaries meet often."""


class Pick(NamedTuple):
    """A reference to choose later: ``kind`` is its kind, ``draw`` its number."""

    kind: str
    draw: int


class TypeOf(NamedTuple):
    """The type of the edge that ``draw`` stands for."""

    draw: int


class AnyType(NamedTuple):
    """Edge types in turn from ``draw`` on; Hypothesis by itself repeats too much."""

    draw: int


class CommandTemplate(NamedTuple):
    """A command without its targets."""

    method: str
    arguments: dict[str, Any]

    def to_command(self, state: State, position: int = 0) -> Command:
        """The command for a state, as the ``position``-th of its batch."""
        arguments = {name: _chosen(value, state, position) for name, value in self.arguments.items()}
        if self.method == "link" and "key" in arguments:
            arguments = _under_its_key(arguments)
        if arguments.get("replace_later") and arguments.get("valid_to") is not None:
            del arguments["replace_later"]
        if self.method == "link" and arguments["type"] == "same_as":
            arguments.pop("valid_to", None)
        if self.method == "create" and arguments.get("key") is None:
            arguments = {name: value for name, value in arguments.items() if name not in ("revive", "anew")}
        return Command(self.method, arguments)

    def is_possible(self, state: State) -> bool:
        """Whether the state has a target for it."""
        kinds = {value.kind for value in self.arguments.values() if isinstance(value, Pick)}
        if "edge's source" in kinds and not _related(state, 0):
            return False
        if any("proposal" in kind for kind in kinds) and not state.proposals:
            return False
        return bool(state.edges) or "edge" not in kinds


def _under_its_key(arguments: dict[str, Any]) -> dict[str, Any]:
    """A link under a key of its own: another one under the same key is refused, which other tests look at."""
    told = {name: arguments[name] for name in ("source", "type", "target")}
    ends = [arguments["source"], arguments["target"]]
    if not all(isinstance(end, Known) for end in ends) or arguments["type"] == "same_as":
        return {name: value for name, value in arguments.items() if name != "key"}
    numbers = "-".join(str(end.number) for end in ends)
    return told | {"key": f"{arguments['key']}-{told['type']}-{numbers}", "why": arguments.get("why", "")}


def _chosen(value: Any, state: State, position: int) -> Any:
    if isinstance(value, AnyType):
        return TYPES[(value.draw + len(state.edges) + len(state.unlinked)) % len(TYPES)]
    if isinstance(value, TypeOf):
        return state.edges[_related(state, value.draw)].type if _related(state, value.draw) else "implies"
    if isinstance(value, Pick):
        return _reference(value, state, position)
    if isinstance(value, list) and value and isinstance(value[0], Pick):
        return [_reference(pick, state, position) for pick in value]
    return value


def _related(state: State, draw: int) -> int:
    """An edge other than of containment, which says something of two worlds; 0 if there is none."""
    said = [number for number, edge in state.edges.items() if edge.type != "contains"]
    return said[draw % len(said)] if said else 0


def _end(pick: Pick, state: State) -> Known:
    """One end of such an edge, of a membership in another world than the root, or of a proposal."""
    members = [edge for _, edge in state.edges_of("contains") if edge.source != ROOT]
    about: dict[str, Edge | Proposal | None] = {
        "membership": members[pick.draw % len(members)] if members else None,
        "edge": state.edges.get(_related(state, pick.draw)),
        "proposal": list(state.proposals.values())[pick.draw % len(state.proposals)] if state.proposals else None,
    }
    of, side = pick.kind.split("'s ")
    found = about[of]
    return Known(ROOT) if found is None else Known(found.source if side == "source" else found.target)


def _proposals(state: State, status: str) -> list[int]:
    """Those of a status first, each counted so often that they are most of them."""
    found = list(state.proposals)[::-1]
    return [number for number in found if state.proposals[number].status == status] * 2 + found


def _reference(pick: Pick, state: State, position: int) -> Reference:
    """Mostly a reference of the right kind, else one made earlier in the batch, or nothing."""
    if "'s " in pick.kind:
        return _end(pick, state)
    which, rest = pick.draw % 64, pick.draw // 64
    if position and which < 20:
        return Nth(rest % position)
    if which == 63:
        return Nobody()
    # The root is one of many things that something can be about, and most often the wrong one.
    worlds = [number for number in state.worlds if number != ROOT or which % 8 == 5] or [ROOT]
    of_kind = {
        "world": worlds,
        # The newest come first: what was made last is what the next command is most often about.
        "edge": sorted(state.edges, key=lambda number: (state.edges[number].type == "contains", -number))
        + list(state.unlinked),
        "proposal": _proposals(state, ""),
        "pending proposal": _proposals(state, "pending"),
        "accepted proposal": _proposals(state, "accepted"),
    }
    if pick.kind == "world" and which < 52:
        # A few worlds that much happens to: what was linked is linked again, the other way round, or to itself.
        return Known(worlds[rest % min(len(worlds), 4)])
    candidates = of_kind[pick.kind if which != 62 else "edge" if pick.kind == "world" else "world"]
    if not candidates:
        return Nobody()
    return Known(candidates[rest % len(candidates)], 12 if which in (60, 61) else 0)


def picks(kind: str) -> st.SearchStrategy[Pick]:
    return st.builds(Pick, st.just(kind), st.integers(0, 64 * 48 - 1))


worlds = picks("world")
names = st.sampled_from(["Ada", "ada", "ＡＤＡ", " Ada  ", "Bob", "Lovelace", "Tool", ""])
types = st.sampled_from(["Person", "Person", "Type", "Tool", "Summary"])
contents = st.sampled_from(["", "one", "two", "grün 東京"])
reasons = st.sampled_from(["", "", "because"])
records = st.sampled_from([{}, {}, {"page": 7}, {"said": ["a", {"b": None}]}])
moments = st.integers(-12, 24).map(lambda ticks: RELEASED_AT + ticks * TICK)
alias_lists = st.lists(st.sampled_from(["Ada", "Lovelace", "lovelace", "Bob"]), min_size=1, max_size=2).map(tuple)


def recipe(method: str, needed: dict[str, Any], optional: dict[str, Any]) -> st.SearchStrategy[CommandTemplate]:
    arguments = st.fixed_dictionaries(needed, optional=optional)
    return st.builds(CommandTemplate, st.just(method), arguments)


# Mostly after the beginning, but not always.
ends = st.none() | st.none() | st.integers(0, 48).map(lambda ticks: RELEASED_AT + ticks * TICK)
TIMES = {"valid_from": st.none() | moments, "valid_to": ends}
WHY = {"why": reasons}

create = recipe(
    "create",
    {"type": types, "name": names},
    {
        "content": contents,
        "aliases": alias_lists,
        "world": worlds,
        "key": st.sampled_from(["k1", "k2"]),
        "source": records,
        "properties": records,
        "resolve": st.booleans(),
        "revive": st.booleans(),
        "anew": st.booleans(),
        **TIMES,
        **WHY,
    },
)
revise = recipe(
    "revise",
    {"ref": worlds},
    {
        "type": types,
        "name": names,
        "content": contents,
        "replace_later": st.booleans(),
        "source": records,
        "properties": records,
        **TIMES,
        **WHY,
    },
)
ENDING = {"at": st.none() | moments, "valid_to": ends}
retire = recipe("retire", {"ref": worlds}, {**ENDING, "members": st.booleans(), **WHY})
retire_edge = recipe("retire", {"ref": picks("edge")}, {**ENDING, **WHY})
reassert = recipe("reassert", {"ref": worlds}, {"content": contents, **TIMES, **WHY})
unlink = recipe("unlink", {"edge": picks("edge")}, WHY)
move = recipe(
    "move",
    {"refs": st.lists(worlds, min_size=1, max_size=3), "to": worlds},
    {"out_of": worlds, **TIMES, **WHY},
)
alias = recipe("alias", {"ref": worlds, "aliases": alias_lists}, WHY)
restate = recipe("restate", {"ref": worlds}, {"source": records, **WHY})
unalias = recipe("unalias", {"ref": worlds, "aliases": alias_lists}, WHY)
label_lists = st.lists(st.sampled_from(["home", "HOME", "work"]), min_size=1, max_size=2).map(tuple)
tags = st.sampled_from(["published", "Published", "initial"])
marks = st.one_of(
    recipe("expire", {"ref": worlds, "expires_at": moments}, WHY),
    recipe("expire", {"ref": worlds, "ttl": st.sampled_from([0.002, 0.01])}, WHY),
    recipe("unexpire", {"ref": worlds}, WHY),
    recipe("refresh", {"refs": worlds}, {"at": moments}),
    recipe("sweep", {"refs": worlds}, WHY),
    recipe("label", {"ref": worlds, "labels": label_lists}, WHY),
    recipe("unlabel", {"ref": worlds, "labels": label_lists}, WHY),
    recipe("pin", {"ref": worlds}, WHY),
    recipe("unpin", {"ref": worlds}, WHY),
    recipe("tag", {"ref": worlds, "tag": tags}, {"version": st.integers(1, 3), **WHY}),
    recipe("untag", {"ref": worlds, "tag": tags}, WHY),
    recipe("deprecate", {"ref": worlds}, WHY),
    recipe("undeprecate", {"ref": worlds}, WHY),
)


def reversal_of(given: CommandTemplate) -> CommandTemplate:
    """The command that takes back an alias, labels, a tag or a pin."""
    kept = {name: value for name, value in given.arguments.items() if name in ("ref", "aliases", "labels", "tag")}
    return CommandTemplate(f"un{given.method}", kept)


given_for_a_while = st.one_of(
    alias,
    recipe("label", {"ref": worlds, "labels": label_lists}, {}),
    recipe("pin", {"ref": worlds}, {}),
    recipe("tag", {"ref": worlds, "tag": tags}, {}),
)
statements = st.lists(
    st.tuples(
        st.sampled_from(["<urn:x:a>", "<urn:x:b>"]),
        st.just("<urn:x:p>"),
        st.sampled_from(["<urn:x:a>", '"one"', '"1"@en']),
    ),
    min_size=1,
    max_size=3,
)
stating = st.one_of(
    recipe("state", {"world": worlds, "statements": statements}, TIMES),
    recipe("state", {"world": worlds, "statements": statements}, TIMES),
    recipe("unstate", {"world": worlds, "statements": statements}, {"at": moments}),
)
accessed = recipe("accessed", {"ref": worlds, "at": moments}, {})
erase = recipe(
    "erase",
    {"refs": worlds, "reason": st.just("request 114")},
    {"everywhere": st.booleans(), "derived": st.booleans(), "members": st.sampled_from([None, False, True, True])},
)
erase_literal = recipe(
    "erase_literal",
    {"world": worlds, "literal": st.sampled_from(['"one"', '"1"@en']), "reason": st.just("request 115")},
    {},
)
accept = recipe("accept", {"proposal": picks("pending proposal")}, WHY)
reject = recipe("reject", {"proposal": picks("pending proposal")}, WHY)
undo = recipe("undo", {"proposal": picks("accepted proposal")}, WHY)

_tuned = {"world": worlds, "type": st.sampled_from(["Person", "Tool"]), **WHY}
tune = recipe("tune", {"thresholds": st.sampled_from([Thresholds(fuzzy=0.95), Thresholds(fuzzy=0.97)])}, _tuned)
untune = recipe("untune", {}, _tuned)


def link(type_names: st.SearchStrategy[Any]) -> st.SearchStrategy[CommandTemplate]:
    optional = {"home": worlds, "key": st.sampled_from(["e1", "e2"]), "properties": records, **TIMES, **WHY}
    return recipe("link", {"source": worlds, "type": type_names, "target": worlds}, optional)


links = link(st.builds(AnyType, st.integers(0, len(TYPES) - 1)))
# A ``same_as`` has no end of its own: it holds until it is undone.
identities = recipe(
    "link", {"source": worlds, "type": st.just("same_as"), "target": worlds}, {"properties": records, **WHY}
)


def repeat_edge(of: str, type_name: Any) -> st.SearchStrategy[CommandTemplate]:
    """An edge between the ends of another edge or of a proposal, in either direction."""

    def turned(drawn: int, back: bool) -> CommandTemplate:
        one, other = Pick(f"{of}'s source", drawn), Pick(f"{of}'s target", drawn)
        given = type_name(drawn)
        ends = {"source": other, "target": one} if back else {"source": one, "target": other}
        return CommandTemplate("link", {**ends, "type": given})

    return st.builds(turned, st.integers(0, 99), st.booleans())


def repeat_membership(drawn: int, valid_from: int, ticks: int) -> CommandTemplate:
    """A membership in a present or former container, in a window or from its beginning on."""
    ends = {"source": Pick("membership's source", drawn), "target": Pick("membership's target", drawn)}
    until = {"valid_to": valid_from + ticks * TICK} if ticks < 9 else {}
    return CommandTemplate("link", {**ends, "type": "contains", "valid_from": valid_from, **until})


def _both_ends(drawn: int, to: Pick) -> CommandTemplate:
    return CommandTemplate("move", {"refs": [Pick("edge's source", drawn), Pick("edge's target", drawn)], "to": to})


again_edges = repeat_edge("edge", TypeOf)
again_members = st.builds(repeat_membership, st.integers(0, 99), moments, st.integers(0, 10))
again_identities = repeat_edge("proposal", lambda drawn: "same_as")
move_both_ends = st.builds(_both_ends, st.integers(0, 99), worlds)
unknown_links = link(st.just("knows"))

commands = st.one_of(
    create,
    create,
    revise,
    retire,
    retire_edge,
    reassert,
    links,
    links,
    identities,
    again_edges,
    again_members,
    again_identities,
    move_both_ends,
    unlink,
    move,
    alias,
    restate,
    marks,
    stating,
    unalias,
    accept,
    reject,
    undo,
    unknown_links,
)
