"""Compares the engine with a plain model: all commands, refusals, reads and moments."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import hypothesis
import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

import worlddb
from tests.support.model import strategies as draw
from tests.support.model.erasing import reaches_erased
from tests.support.model.rules.edge_rules import TYPES
from tests.support.model.session import Session
from tests.support.model.strategies import CommandTemplate
from worlddb.log.model.times import FOREVER, Interval
from worlddb.projections.tables.reads import asof
from worlddb.projections.tables.storage.rows import Tables
from worlddb.reconciler.background import reclustering
from worlddb.reconciler.transaction import windows

pytestmark = pytest.mark.long

SEEN: Counter[str] = Counter()
"""What the whole run did, so that it can be asserted that it did something."""


class EngineAndModel(RuleBasedStateMachine):
    """Two handles on one store beside the model."""

    @initialize(seed=st.integers(0, 2**32), recipes=st.lists(draw.create, min_size=2, max_size=6))
    def begin(self, seed: int, recipes: list[CommandTemplate]) -> None:
        self.top = Path(tempfile.mkdtemp(prefix="worlddb-model-"))
        self.session = Session(self.top / "store", seed, SEEN)
        self.requests = 0
        self.replays = 0
        self.held: worlddb.Head | None = None
        for made in recipes:
            self._write([made], handle=0, keyed=False)

    def teardown(self) -> None:
        if hasattr(self, "session"):
            try:
                SEEN["commits"] += self.session.head
                self._look(self.session.db().view())
                for view in self.session.pinned:
                    self._look(view)
                found = self.session.db().verify(deep=True)
                assert found.ok, found
                assert found.commits == self.session.head
            finally:
                self.session.close()
                shutil.rmtree(self.top)

    def _look(self, view: worlddb.View) -> None:
        compared = self.session.compared(view)
        compared.everything()
        compared.unknown(self.session.state)
        SEEN["views compared"] += 1

    def _write(self, recipes: list[CommandTemplate], *, handle: int, keyed: bool, batch: bool = False) -> None:
        if not all(made.is_possible(self.session.state) for made in recipes):
            return
        self.requests += 1
        key = f"request {self.requests}" if keyed else None
        commands = [made.to_command(self.session.state, position) for position, made in enumerate(recipes)]
        self.session.write(commands, batch=batch, key=key, handle=handle)

    # -- writing

    @rule(recipe=draw.create, handle=st.integers(0, 1), keyed=st.booleans())
    def create(self, recipe: CommandTemplate, handle: int, keyed: bool) -> None:
        self._write([recipe], handle=handle, keyed=keyed)

    @rule(
        recipe=st.one_of(draw.links, draw.links, draw.again_edges, draw.again_members),
        handle=st.integers(0, 1),
        keyed=st.booleans(),
    )
    def link(self, recipe: CommandTemplate, handle: int, keyed: bool) -> None:
        self._write([recipe], handle=handle, keyed=keyed)

    @rule(recipe=st.one_of(draw.revise, draw.retire, draw.reassert), handle=st.integers(0, 1), keyed=st.booleans())
    def change(self, recipe: CommandTemplate, handle: int, keyed: bool) -> None:
        self._write([recipe], handle=handle, keyed=keyed)

    @rule(
        recipe=st.one_of(draw.unlink, draw.retire_edge, draw.move, draw.move_both_ends),
        handle=st.integers(0, 1),
        keyed=st.booleans(),
    )
    def rearrange(self, recipe: CommandTemplate, handle: int, keyed: bool) -> None:
        self._write([recipe], handle=handle, keyed=keyed)

    @rule(
        recipe=st.one_of(draw.identities, draw.again_identities, draw.accept, draw.reject, draw.undo),
        handle=st.integers(0, 1),
        keyed=st.booleans(),
    )
    def identify(self, recipe: CommandTemplate, handle: int, keyed: bool) -> None:
        self._write([recipe], handle=handle, keyed=keyed)

    @rule(
        recipe=st.one_of(draw.alias, draw.unalias, draw.unalias, draw.restate, draw.marks, draw.marks, draw.stating),
        handle=st.integers(0, 1),
        keyed=st.booleans(),
    )
    def mark(self, recipe: CommandTemplate, handle: int, keyed: bool) -> None:
        self._write([recipe], handle=handle, keyed=keyed)

    @rule(recipe=draw.given_for_a_while, handle=st.integers(0, 1))
    def mark_for_a_while(self, recipe: CommandTemplate, handle: int) -> None:
        """Taking off what was never given is refused, and two draws seldom name the same."""
        self._write([recipe], handle=handle, keyed=False)
        self._write([draw.reversal_of(recipe)], handle=1 - handle, keyed=False)

    @rule(recipe=draw.accessed, handle=st.integers(0, 1))
    def use(self, recipe: CommandTemplate, handle: int) -> None:
        self._write([recipe], handle=handle, keyed=False)

    @rule(recipe=st.one_of(draw.tune, draw.tune, draw.untune), handle=st.integers(0, 1), keyed=st.booleans())
    def set_thresholds(self, recipe: CommandTemplate, handle: int, keyed: bool) -> None:
        self._write([recipe], handle=handle, keyed=keyed)

    @rule(handle=st.integers(0, 1))
    def look_again(self, handle: int) -> None:
        """Recluster; the proposals are then accepted, rejected and undone like all others."""
        self.session.look_again(handle)
        SEEN["look again"] += 1

    @rule(recipe=draw.commands, handle=st.integers(0, 1), keyed=st.booleans())
    def anything(self, recipe: CommandTemplate, handle: int, keyed: bool) -> None:
        self._write([recipe], handle=handle, keyed=keyed)

    @rule(recipes=st.lists(draw.commands, max_size=5), handle=st.integers(0, 1), keyed=st.booleans())
    def batch(self, recipes: list[CommandTemplate], handle: int, keyed: bool) -> None:
        self._write(recipes, handle=handle, keyed=keyed, batch=True)
        SEEN["batch"] += 1

    @rule(recipe=draw.erase, handle=st.integers(0, 1), keyed=st.booleans(), which=st.integers(0, 3))
    def erase(self, recipe: CommandTemplate, handle: int, keyed: bool, which: int) -> None:
        """Erase now and then, and only what has text: whether reasons are left is not modelled."""
        command = recipe.to_command(self.session.state)
        known = getattr(command.arguments["refs"], "number", -1)
        if which == 0 and not reaches_erased(self.session.state, known, command.arguments.get("members")):
            self._write([recipe], handle=handle, keyed=keyed)

    @rule(stated=draw.stating, erased=draw.erase_literal, handle=st.integers(0, 1), which=st.integers(0, 3))
    def erase_literal(self, stated: CommandTemplate, erased: CommandTemplate, handle: int, which: int) -> None:
        """What the world may have stated just now; a retry, which nobody can compare, has a test of its own."""
        if which == 0:
            self._write([stated], handle=handle, keyed=False)
            world = {"world": stated.arguments["world"]}
            self._write([CommandTemplate("erase_literal", erased.arguments | world)], handle=1 - handle, keyed=False)

    # -- time

    @rule(ticks=st.integers(-3, 6))
    def pass_time(self, ticks: int) -> None:
        self.session.clock.advance(ticks * draw.TICK)

    # -- reading

    @rule(which=st.integers(0, 999), valid=draw.moments, axis=st.integers(0, 2))
    def look_back(self, which: int, valid: int, axis: int) -> None:
        """Read any earlier commit, by its number, its ingest time, or just before the next."""
        session, seq = self.session, 1 + which % self.session.head
        following = session.times[seq + 1] if seq < session.head else session.times[seq] + 1
        if axis == 0:
            view = session.db().view(seq=seq, valid=valid)
        else:
            view = session.db().view(ingested=session.times[seq] if axis == 1 else following - 1, valid=valid)
        assert (view.seq, view.valid) == (seq, valid)
        self._look(view)

    @rule(which=st.integers(0, 999))
    def look_inside(self, which: int) -> None:
        """Lookups confined to one world, and one world's edges by type and direction."""
        number = list(self.session.state.worlds)[which % len(self.session.state.worlds)]
        compared = self.session.compared(self.session.db(1).view())
        compared.lookups(number)
        for type_name in TYPES:
            compared.sides(number, type_name)

    @rule(valid=st.none() | draw.moments)
    def pin(self, valid: int | None) -> None:
        """A view that is kept until the end, whatever happens meanwhile."""
        self.session.pinned.append(self.session.db().view(valid=valid))

    # -- keeping

    @rule(
        what=st.sampled_from(["retry", "retry", "reopen", "rebuild", "replay"]),
        which=st.integers(0, 999),
        valid=draw.moments,
    )
    def keep(self, what: str, which: int, valid: int) -> None:
        if what != "retry":
            SEEN[what] += 1
        getattr(self, f"_{what}")(which, valid)

    def _retry(self, which: int, valid: int) -> None:
        keys = list(self.session.retries)
        if keys:
            self.session.retry(keys[which % len(keys)], which % 2)

    def _reopen(self, which: int, valid: int) -> None:
        pins = [(view.seq, view.valid) for view in self.session.pinned]
        self.held = None
        self.session.close()
        self.session.open()
        self.session.pinned = [self.session.db().view(seq=seq, valid=valid) for seq, valid in pins]

    def _rebuild(self, which: int, valid: int) -> None:
        self.held = None
        names = ("tables",) if which % 3 else ()
        assert self.session.db().rebuild(*names).root == self.session.hashes[-1][0]

    def _replay(self, which: int, valid: int) -> None:
        """A store replayed to a commit answers as this one does as of that commit (law 9)."""
        seq = 1 + which % self.session.head
        self.replays += 1
        into = self.top / f"replay-{self.replays}"
        replayed = self.session.db().replay(into, seq=seq)
        assert replayed[:3] == (seq, self.session.hashes[seq][0], True)
        with worlddb.open(into, create=False, clock=self.session.clock) as then:
            # What was erased later is told by one commit more.
            self._look(then.view(valid=valid, seq=seq))
            if then.head().seq != seq:
                assert {entry.event for entry in then.log(seq + 1)} <= {"erased_elsewhere", "struck_elsewhere"}
            self._look(then.view(seq=seq))

    @invariant()
    def the_present_is_as_the_model_says(self) -> None:
        """After each step that wrote, or derived again what is read; any other leaves the head as it was."""
        if hasattr(self, "session") and (head := self.session.db(1).head()) != self.held:
            self.session.check_present()
            self.held = head


METHODS = [
    *("create", "revise", "retire", "reassert", "link", "unlink"),
    *("expire", "unexpire", "refresh", "sweep", "label", "unlabel", "pin", "unpin"),
    *("tag", "untag", "deprecate", "undeprecate", "accessed", "state", "unstate"),
    *("move", "alias", "restate", "unalias", "erase", "erase_literal", "accept", "reject", "undo", "tune", "untune"),
]
REFUSALS = [
    *("ended", "empty_window", "root_is_permanent", "not_ended", "already_member", "containment_cycle"),
    *("self_reference", "already_decided", "already_unlinked", "last_container", "already_in_conflict"),
    *("already_proposed", "supersedes_cycle", "precedes_cycle", "causes_cycle", "derived_from_cycle"),
    *("subtype_of_cycle", "not_a_member", "is_a_proposal", "already_same", "rejected_before", "root_is_unique"),
    *("erased", "not_tuned", "literal_not_stated"),
]
NOTES = [
    *("proposal_staged", "already_closed", "adopted_by_root", "nothing_reopened", "not_revived"),
    *("edges_left_behind", "edges_carried", "never_valid", "not_restored", "outside_before"),
    *("revision_never_valid", "later_never_valid", "members_remain", "members_ended", "now_stale"),
]
CORRECTING = ["conflict_left", "ends_earlier", "until_successor", "begun_anew", "ends_unreplaced"]
"""Notes that histories have in which statements correct one another, and hardly any other."""
KEEPING = ["batch", "retry", "reopen", "rebuild", "replay", "look again", "proposed by another look"]


LIVES, MORE_LIVES = 15, 5
LIVES_TO_CATCH = 400
"""Within how many each canary has to be caught.

What is drawn follows the modules that are loaded: the rarest, often caught within ten, has taken a hundred too."""
MORE_ROUNDS = 40
ERRORS = ["InvalidInterval", "UnknownReference", "UnknownEdgeType"]


def seen(prefix: str, names: Iterable[str], times: int = 1) -> set[str]:
    """Those of the names that the run has counted so often."""
    return {name for name in names if SEEN[f"{prefix}{name}"] >= times}


def run(examples: int, steps: int, *, shrink: bool = True, machine: type[EngineAndModel] = EngineAndModel) -> None:
    phases = [Phase.generate, Phase.shrink] if shrink else [Phase.generate]
    run_state_machine_as_test(
        machine,
        settings=settings(max_examples=examples, stateful_step_count=steps, phases=phases, report_multiple_bugs=False),
    )


def further(seed: int) -> type[EngineAndModel]:
    """The machine with a seed, for examples beside those of a run before."""
    machine: type[EngineAndModel] = hypothesis.seed(seed)(type("Further", (EngineAndModel,), {}))
    return machine


def left_out() -> list[str]:
    """What the run has not done, of all that it should have."""
    enough = {
        # Undoing and taking a label or a tag off need what was done before, so a run may do without.
        "methods": set(METHODS) - seen("", METHODS) <= {"undo", "unlabel", "untag"},
        "batches and keeping": seen("", [*KEEPING, "refused in a batch"]) == {*KEEPING, "refused in a batch"},
        "errors": seen("error ", ERRORS) == set(ERRORS),
        "links": len(seen("link ", TYPES)) >= 8,
        "refusals": len(seen("refused ", REFUSALS)) >= 12,
        "notes": len(seen("note ", NOTES)) >= 4,
        "commits and views": SEEN["commits"] >= 500 and SEEN["views compared"] >= 200,
    }
    return [what for what, found in enough.items() if not found]


def test_the_engine_answers_as_the_model_says_at_every_moment_of_both_axes(root_seed: int) -> None:
    """The run counts what it did. Which of the rare things happen depends on the seed and on the library that draws, so
    most of them will do, and there are further examples until they have."""
    SEEN.clear()
    run(LIVES, 40)
    for number in range(MORE_ROUNDS):
        if not left_out():
            break
        run(MORE_LIVES, 40, machine=further(root_seed + number))
    assert not left_out(), (left_out(), sorted(set(METHODS) - seen("", METHODS)), SEEN)


FEW = st.integers(0, 6).map(lambda number: draw.Pick("world", 52 + 64 * number))
"""One of the first worlds, and not the root."""
STATED = draw.recipe("create", {"type": st.just("Note"), "name": st.just(""), "valid_from": draw.moments}, {})
SUPERSEDED = draw.recipe("link", {"source": FEW, "target": FEW, "type": st.just("supersedes")}, {})
CORRECTIONS = st.one_of(
    *(SUPERSEDED, SUPERSEDED, SUPERSEDED),
    draw.recipe(
        "link",
        {"source": FEW, "target": FEW, "type": st.just("supersedes"), "valid_from": draw.moments},
        {"valid_to": draw.ends},
    ),
    draw.recipe("link", {"source": FEW, "target": FEW, "type": st.sampled_from(["contradicts", "derived_from"])}, {}),
    draw.recipe("revise", {"ref": FEW, "content": draw.contents, "valid_from": draw.moments}, {"valid_to": draw.ends}),
    draw.recipe("retire", {"ref": FEW, "at": draw.moments}, {"valid_to": draw.ends}),
    draw.recipe("reassert", {"ref": FEW, "valid_from": draw.moments}, {"valid_to": draw.ends}),
    draw.recipe("unlink", {"edge": draw.picks("edge")}, {}),
    draw.recipe(
        "create", {"type": st.just("Note"), "name": st.just("k"), "key": st.just("k"), "anew": st.just(True)}, {}
    ),
)


MEMBER = st.builds(
    lambda ends, start, ticks: CommandTemplate(
        "link",
        {"source": ends[0], "target": ends[1], "type": "contains", "valid_from": start, "valid_to": start + ticks},
    ),
    st.lists(FEW, min_size=2, max_size=2, unique=True).map(lambda ends: sorted(ends, key=lambda each: each.draw)),
    draw.moments,
    st.integers(0, 9).map(lambda ticks: ticks * draw.TICK),
)
MOVED = {"refs": FEW.map(lambda each: [each]), "to": FEW}
MEMBERSHIPS = st.one_of(
    *(MEMBER, MEMBER, draw.again_members, draw.again_members, draw.again_members),
    draw.recipe("retire", {"ref": draw.picks("edge"), "at": draw.moments}, {"valid_to": draw.ends}),
    draw.recipe("move", MOVED, {"out_of": FEW, **draw.TIMES}),
    draw.recipe("retire", {"ref": FEW, "at": draw.moments}, {"valid_to": draw.ends, "members": st.just(True)}),
    draw.recipe("link", {"source": FEW, "target": FEW, "type": st.just("refers_to")}, {"home": FEW}),
    draw.recipe("unlink", {"edge": draw.picks("edge")}, {}),
    draw.recipe("revise", {"ref": FEW, "content": draw.contents, "valid_from": draw.moments}, {}),
)
ROUNDS = pytest.mark.parametrize("rounds", [25, pytest.param(1_500, marks=pytest.mark.soak)])


def run_histories(changes: st.SearchStrategy[CommandTemplate], rounds: int, seed: int) -> None:
    """Let six statements be changed in many ways."""
    SEEN.clear()

    @hypothesis.seed(seed)
    @settings(max_examples=rounds, phases=[Phase.generate])
    @hypothesis.given(
        st.lists(STATED, min_size=6, max_size=6),
        st.lists(changes, min_size=10, max_size=20),
        st.tuples(st.integers(0, 999), draw.moments),
    )
    def histories(stated: list[CommandTemplate], changed: list[CommandTemplate], earlier: tuple[int, int]) -> None:
        state = EngineAndModel()
        try:
            state.begin(seed=0, recipes=[*stated, *changed])
            state.the_present_is_as_the_model_says()
            state.look_back(*earlier, axis=0)
        finally:
            state.teardown()

    histories()


@ROUNDS
def test_histories_of_corrections_are_as_the_model_says(rounds: int, root_seed: int) -> None:
    run_histories(CORRECTIONS, rounds, root_seed)
    assert len(seen("note ", CORRECTING)) >= (3 if rounds < 100 else len(CORRECTING)), SEEN


@ROUNDS
def test_histories_of_memberships_that_come_back_are_as_the_model_says(rounds: int, root_seed: int) -> None:
    run_histories(MEMBERSHIPS, rounds, root_seed)
    assert SEEN["a second membership"] >= rounds // 5, SEEN


def test_of_two_that_come_to_have_one_name_the_one_that_is_new_by_it_is_looked_at() -> None:
    """The model took the later world of a pair for the one that was looked at, whichever of them had changed."""
    state, ada = EngineAndModel(), CommandTemplate("create", {"type": "Person", "name": "Ada"})
    try:
        state.begin(seed=0, recipes=[ada, ada, CommandTemplate("create", {"type": "Person", "name": "Bob"})])
        state.look_again(handle=0)
        state.change(
            handle=0, keyed=False, recipe=CommandTemplate("revise", {"ref": draw.Pick("world", 0), "name": "Bob"})
        )
        before = SEEN["proposed by another look"]
        state.look_again(handle=0)
        assert SEEN["proposed by another look"] == before + 1
        state.the_present_is_as_the_model_says()
    finally:
        state.teardown()


def unseen() -> set[str]:
    """What a long run has not done often enough, of all that there is."""
    often = {*METHODS, *KEEPING, "refused in a batch"}
    wanted = (
        ("", often, 20),
        ("error ", ERRORS, 1),
        ("link ", TYPES, 5),
        ("refused ", REFUSALS, 1),
        ("note ", NOTES, 1),
    )
    return {f"{prefix}{name}" for prefix, names, times in wanted for name in set(names) - seen(prefix, names, times)}


@pytest.mark.soak
def test_the_engine_answers_as_the_model_says_through_long_lives(root_seed: int) -> None:
    """All of it happens in the end: some refusals are rare, so there are further lives until they have come."""
    SEEN.clear()
    run(400, 100)
    for number in range(MORE_ROUNDS):
        if not unseen():
            break
        run(100, 100, machine=further(root_seed + number))
    assert not unseen(), (unseen(), SEEN)


def _ends_are_included(interval: Interval, moment: int) -> bool:
    return interval.start <= moment <= interval.end


def _nothing_is_inside(tables: Tables, node: int) -> list[int]:
    return []


CANARIES = {
    "a view that still shows a fact at the instant at which it ended": (Interval, "contains", _ends_are_included),
    "hashes that no longer climb to the root": (Tables, "containers", _nothing_is_inside),
    "a view of an earlier commit that sees what was closed since": (
        asof,
        "version_validity",
        lambda tables, node, number, row, seq: Interval(row.valid_from, row.valid_to),
    ),
    "a late statement that takes all that was stated to follow": (
        windows,
        "window_of",
        lambda draft, node, begins: Interval(begins, FOREVER),
    ),
    "another look that looks at nothing that is new": (reclustering, "_worlds_in_event", lambda ctx, event: ((), ())),
    "a proposal that forgets earlier decisions": (
        asof,
        "decision_at",
        lambda tables, proposal, row, seq: (row.status, row.decided),
    ),
}


RARE = {"a proposal that forgets earlier decisions", "another look that looks at nothing that is new"}
"""These take hundreds of lives to meet, so a soak run has them."""


@pytest.mark.parametrize(
    "broken", [pytest.param(each, marks=pytest.mark.soak) if each in RARE else each for each in CANARIES]
)
def test_canary_the_model_sees(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of these is broken on purpose: a run that does not notice could not be trusted with anything else."""
    where, name, replacement = CANARIES[broken]
    monkeypatch.setattr(where, name, replacement)
    with pytest.raises((AssertionError, worlddb.WorldDBError)):
        run(LIVES_TO_CATCH, 40, shrink=False)
