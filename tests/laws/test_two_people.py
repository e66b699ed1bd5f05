"""Two people, thirty days: said, corrected, contradicted, moved, asked at several moments, and one of them forgotten.

The same life is lived by library, by command line, over MCP, and by all three in turn on one store. What has to be
answered is written down here by hand.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import pytest

import worlddb
from tests.support.running import LocalRunner, run_process
from worlddb.tools.mcp.catalogue import OPERATOR_TOOLS, TOOLS
from worlddb.tools.mcp.session import Call, Session


class Step(NamedTuple):
    """Something said or done on a day of October 2025; ``of`` names an earlier step."""

    day: int
    user: str
    does: str
    name: str = ""
    text: str = ""
    of: str = ""


LIFE: Final = (
    Step(1, "ana", "says", "home", "Ana lives in Lisbon."),
    Step(1, "ben", "says", "home", "Ben lives in Hamburg."),
    Step(2, "ana", "says", "dog", "Ana's dog is called Rex."),
    Step(3, "ben", "says", "nuts", "Ben is allergic to nuts."),
    Step(5, "ana", "says", "work", "Ana works at the harbour office."),
    Step(6, "ben", "says", "chess", "Ben plays chess on Tuesdays."),
    Step(9, "ana", "replaces", "porto", "Ana lives in Porto.", of="home"),
    Step(11, "ben", "says", "snack", "Ben eats walnuts every morning."),
    Step(11, "ben", "contradicts", of="nuts snack"),
    Step(14, "ana", "corrects", "rexo", "Ana's dog is called Rexo.", of="dog"),
    Step(16, "ben", "ends", of="chess"),
    Step(18, "ana", "says", "tea", "Ana drinks green tea."),
    Step(20, "ana", "repeats", text="Ana drinks green tea.", of="tea"),
    Step(22, "ben", "replaces", "kiel", "Ben lives in Kiel.", of="home"),
    Step(25, "ana", "replaces", "faro", "Ana lives in Faro.", of="porto"),
    Step(28, "ben", "says", "boat", "Ben bought a boat called Kormoran."),
)

HOLDS: Final = {
    "ana": (
        ("Ana lives in Lisbon.", 1, 9),
        ("Ana lives in Porto.", 9, 25),
        ("Ana lives in Faro.", 25, 99),
        ("Ana's dog is called Rexo.", 2, 99),
        ("Ana works at the harbour office.", 5, 99),
        ("Ana drinks green tea.", 18, 99),
    ),
    "ben": (
        ("Ben lives in Hamburg.", 1, 22),
        ("Ben lives in Kiel.", 22, 99),
        ("Ben is allergic to nuts.", 3, 99),
        ("Ben eats walnuts every morning.", 11, 99),
        ("Ben plays chess on Tuesdays.", 6, 16),
        ("Ben bought a boat called Kormoran.", 28, 99),
    ),
}
"""What is true from which day until before which, as it is known in the end."""

KNOWN: Final = {
    ("ana", 8): {"Ana lives in Lisbon.", "Ana's dog is called Rex.", "Ana works at the harbour office."},
    ("ana", 13): {"Ana lives in Porto.", "Ana's dog is called Rex.", "Ana works at the harbour office."},
    ("ben", 15): {
        "Ben lives in Hamburg.",
        "Ben is allergic to nuts.",
        "Ben eats walnuts every morning.",
        "Ben plays chess on Tuesdays.",
    },
}
"""What was taken for true on the last day by who knew what had been said by a day."""

ASKED: Final = (
    ("ana", "Where does Ana live?", 30, "Ana lives in Faro."),
    ("ana", "Where does Ana live?", 24, "Ana lives in Porto."),
    ("ana", "Where does Ana live?", 2, "Ana lives in Lisbon."),
    ("ana", "What is Ana's dog called?", 3, "Ana's dog is called Rexo."),
    ("ben", "Where does Ben live?", 30, "Ben lives in Kiel."),
    ("ben", "Which games does Ben play?", 15, "Ben plays chess on Tuesdays."),
    ("ben", "What boat did Ben buy?", 30, "Ben bought a boat called Kormoran."),
)
DAYS: Final = (1, 4, 8, 9, 15, 16, 21, 22, 24, 25, 30)
SECRETS: Final = ("Hamburg", "Kiel", "walnuts", "allergic", "Kormoran", "chess")
REASON: Final = "request 17"


def day(number: int) -> str:
    return f"2025-10-{number:02d}T08:00:00Z"


class Surface(ABC):
    """One way to write and to ask; ``ids`` are those of what was said, by user and name."""

    def __init__(self, store: Path, ids: dict[tuple[str, str], str]) -> None:
        self.store, self.ids = store, ids

    @abstractmethod
    def write(self, step: Step) -> str | None:
        """Do what a step says, and return the id of what it wrote, if it is a new one."""

    @abstractmethod
    def held(self, user: str, *, valid: int = 30, known: int | None = None) -> set[str]:
        """What holds of a user on a day, as known after a commit."""

    @abstractmethod
    def first(self, user: str, question: str, valid: int) -> str:
        """The best answer."""

    @abstractmethod
    def conflicts(self, user: str) -> set[frozenset[str]]:
        """The pairs that contradict each other."""

    @abstractmethod
    def forget(self, user: str) -> None:
        """Erase all of a user's."""


class Library(Surface):
    def write(self, step: Step) -> str | None:
        since = day(step.day)
        with worlddb.memory(self.store, user=step.user, agent="library", embedder=None) as mem:
            if step.does == "contradicts":
                mem.contradict(*(self.ids[step.user, name] for name in step.of.split()))
                return None
            known = self.ids.get((step.user, step.of), "")
            if step.does == "ends":
                mem.forget(known, since=since)
                return None
            if step.does == "corrects":
                return mem.correct(known, step.text, since=day(2)).id
            added = mem.add(step.text, about=step.user, since=since, replaces=known if step.does == "replaces" else ())
            assert (added.repeated == 1) is (step.does == "repeats")
            return added.id

    def _then(self, user: str, valid: int, known: int | None) -> tuple[worlddb.Memory, worlddb.Memory]:
        mem = worlddb.memory(self.store, user=user, embedder=None)
        return mem, mem.as_of(day(valid), known=known)

    def held(self, user: str, *, valid: int = 30, known: int | None = None) -> set[str]:
        mem, then = self._then(user, valid, known)
        with mem:
            return {world.content for worlds in then.profile().kinds.values() for world in worlds}

    def first(self, user: str, question: str, valid: int) -> str:
        mem, then = self._then(user, valid, None)
        with mem:
            assert then.context(question, max_tokens=500)
            return then.recall(question).hits[0].content

    def conflicts(self, user: str) -> set[frozenset[str]]:
        with worlddb.open(self.store, embedder=None) as db:
            (world,) = db.view().worlds_of_user(user)
            pairs = db.view().contradictions(world=world)
            return {frozenset((one.content, other.content)) for one, other in pairs}

    def forget(self, user: str) -> None:
        with worlddb.memory(self.store, user=user, embedder=None) as mem:
            receipt = mem.forget_user(reason=REASON)
            assert mem.db.check_erasure(mem.db.erasure_receipt(receipt)).ok


class Commands(Surface):
    def __init__(self, store: Path, ids: dict[tuple[str, str], str], run: LocalRunner) -> None:
        super().__init__(store, ids)
        self.run = run

    def write(self, step: Step) -> str | None:
        since, known = ("--since", day(step.day)), self.ids.get((step.user, step.of), "")
        if step.does == "contradicts":
            one, other = (self.ids[step.user, name] for name in step.of.split())
            self.run.json("link", one, "contradicts", other)
        elif step.does == "ends":
            self.run.json("retire", known, "--at", day(step.day))
        elif step.does == "corrects":
            return str(self.run.json("revise", known, "--content", step.text, "--valid-from", day(2))["ref"])
        else:
            more = ("--replaces", known) if step.does == "replaces" else ()
            words = ("remember", step.text, "--user", step.user, "--about", step.user, *since, *more)
            if step.day == 28:
                done = run_process("--store", self.store, *words, "--json", cwd=self.store.parent)
                assert done.code == 0, done
                return str(done.json["ref"])
            told = self.run.json(*words)
            assert (told["repeated"] == 1) is (step.does == "repeats")
            return str(told["ref"])
        return None

    def held(self, user: str, *, valid: int = 30, known: int | None = None) -> set[str]:
        by = () if known is None else ("--ingested", known)
        kinds = self.run.json("profile", "--user", user, "--valid", day(valid), *by)["kinds"]
        return {world["content"] for worlds in kinds.values() for world in worlds}

    def first(self, user: str, question: str, valid: int) -> str:
        hits = self.run.json("recall", question, "--user", user, "--valid", day(valid))["hits"]
        return str(next(hit["content"] for hit in hits if hit["content"]))

    def conflicts(self, user: str) -> set[frozenset[str]]:
        pairs = self.run.json("conflicts", "--user", user)["conflicts"]
        return {frozenset(pair[side]["content"] for side in ("first", "second")) for pair in pairs}

    def forget(self, user: str) -> None:
        receipt = self.store.parent / "receipt.json"
        self.run.json("forget-user", user, "--reason", REASON, "--yes", "--receipt", receipt)
        assert self.run("check-receipt", receipt).code == 0


class Served(Surface):
    def ask(self, name: str, /, **arguments: Any) -> Any:
        (tool,) = (tool for tool in (*TOOLS, *OPERATOR_TOOLS) if tool.name == name)
        with worlddb.open(self.store, author="mcp", embedder=None) as db:
            answer = tool.run(Session(db), msgspec.convert(arguments, tool.takes), Call("a client", name))
        return msgspec.to_builtins(answer)

    def write(self, step: Step) -> str | None:
        known, since = self.ids.get((step.user, step.of), ""), day(step.day)
        if step.does == "contradicts":
            # Over MCP only a new memory can contradict another; of two that are there, the program says so.
            one, other = (self.ids[step.user, name] for name in step.of.split())
            with worlddb.open(self.store, author="mcp", embedder=None) as db:
                db.link(one, "contradicts", other)
        elif step.does == "ends":
            self.ask("memory_retire", id=known, at=since)
        elif step.does == "corrects":
            self.ask("memory_amend", id=known, text=step.text, valid_from=day(2), replace_later=True)
            return known
        elif step.does == "replaces":
            return str(self.ask("memory_amend", id=known, text=step.text, valid_from=since)["id"])
        else:
            told = self.ask(
                "memory_write", text=step.text, user_id=step.user, about=[step.user], valid_from=since, why="said so"
            )
            assert any("says so already" in note for note in told["notes"]) is (step.does == "repeats"), told
            return str(told["id"])
        return None

    def held(self, user: str, *, valid: int = 30, known: int | None = None) -> set[str]:
        by = {} if known is None else {"known": known}
        found = self.ask("memory_as_of", query=user, user_id=user, valid=day(valid), limit=50, **by)["memories"]
        return {memory["text"] for memory in found}

    def first(self, user: str, question: str, valid: int) -> str:
        return str(self.ask("memory_as_of", query=question, user_id=user, valid=day(valid))["memories"][0]["text"])

    def conflicts(self, user: str) -> set[frozenset[str]]:
        pairs = self.ask("memory_conflicts", user_id=user)["conflicts"]
        return {frozenset(pair[side]["text"] for side in ("first", "second")) for pair in pairs}

    def forget(self, user: str) -> None:
        self.ask("memory_forget_user", user_id=user, reason=REASON, confirm=f"user:{user}")


class InTurn(Surface):
    """Each step and each question by another of the three."""

    def __init__(self, store: Path, ids: dict[tuple[str, str], str], run: LocalRunner) -> None:
        super().__init__(store, ids)
        self._all = (Library(store, ids), Commands(store, ids, run), Served(store, ids))
        self._calls = 0

    def _next(self) -> Surface:
        self._calls += 1
        return self._all[self._calls % 3]

    def write(self, step: Step) -> str | None:
        return self._next().write(step)

    def held(self, user: str, *, valid: int = 30, known: int | None = None) -> set[str]:
        return self._next().held(user, valid=valid, known=known)

    def first(self, user: str, question: str, valid: int) -> str:
        return self._next().first(user, question, valid)

    def conflicts(self, user: str) -> set[frozenset[str]]:
        found = [each.conflicts(user) for each in self._all]
        assert found[0] == found[1] == found[2]
        return found[0]

    def forget(self, user: str) -> None:
        self._next().forget(user)


MAKE: Final[dict[str, Callable[[Path, dict[tuple[str, str], str], LocalRunner], Surface]]] = {
    "library": lambda store, ids, run: Library(store, ids),
    "command line": Commands,
    "MCP": lambda store, ids, run: Served(store, ids),
    "in turn": InTurn,
}


@pytest.fixture
def surface(
    request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Surface]:
    monkeypatch.setattr("worlddb.tools.cli.base.stores.embedder_of", lambda args: None)
    yield MAKE[request.param](tmp_path / "store", {}, LocalRunner(capsys, tmp_path / "store"))


def lived(surface: Surface) -> dict[int, int]:
    """Live the thirty days; returns the last commit of each day."""
    last = {}
    for step in LIFE:
        made = surface.write(step)
        if made is not None and step.name:
            surface.ids[step.user, step.name] = made
        if step.does == "repeats":
            assert made == surface.ids[step.user, step.of]
        with worlddb.open(surface.store, embedder=None) as db:
            last[step.day] = db.head().seq
    return last


def check_answers(surface: Surface, last: dict[int, int], users: tuple[str, ...]) -> None:
    for user in users:
        for number in DAYS:
            true = {text for text, begins, ends in HOLDS[user] if begins <= number < ends}
            assert surface.held(user, valid=number) == true, (user, number)
    for (user, number), known in KNOWN.items():
        if user in users:
            assert surface.held(user, known=last[max(each for each in last if each <= number)]) == known, (user, number)
    for user, question, number, answer in ASKED:
        if user in users:
            assert surface.first(user, question, number) == answer, (user, question, number)


def written(store: Path) -> bytes:
    """All bytes of a store's files, in lower case."""
    return b"".join(file.read_bytes() for file in store.rglob("*") if file.is_file()).lower()


@pytest.mark.parametrize("surface", MAKE, indirect=True)
def test_two_people_live_for_thirty_days_and_one_of_them_is_forgotten(surface: Surface) -> None:
    last = lived(surface)
    check_answers(surface, last, ("ana", "ben"))
    assert surface.conflicts("ben") == {frozenset(("Ben is allergic to nuts.", "Ben eats walnuts every morning."))}
    assert surface.conflicts("ana") == set()
    with worlddb.open(surface.store, embedder=None) as db:
        db.rebuild()
    check_answers(surface, last, ("ana", "ben"))
    assert any(word.casefold().encode() in written(surface.store) for word in SECRETS)
    surface.forget("ben")
    assert not [word for word in SECRETS if word.casefold().encode() in written(surface.store)]
    check_answers(surface, last, ("ana",))
    with worlddb.open(surface.store, embedder=None) as db:
        assert db.verify(deep=True).ok
        assert not db.view().find(name="user:ben", include_superseded=True)
        assert REASON in str(list(db.log(last[28] + 1)))
