"""One root seed for a run, the Hypothesis profiles, and the selection of tests.

A plain run is repeatable: its root seed is fixed and Hypothesis derives its examples from the tests' own
text. With ``--seed N`` both follow N. A soak run (``-m soak``) draws a fresh seed unless one is given. The
seed stands in the header and under every failure.

A soak run has what is marked ``soak``, and every property again with more examples (``tests/support/examples.py``).

Temporary files lie in memory where the machine has a file system there with room, unless TMPDIR names another place.
A soak run needs more room.
"""

from __future__ import annotations

import gc
import hashlib
import os
import random
import shutil
import tempfile
from collections.abc import Generator, Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

from tests.support.faults import forge
from tests.support.faults.memory import ROOM_BYTES, SOAK_ROOM_BYTES, folder_in_memory, memory_with_room
from tests.support.faults.script import Run
from tests.support.running import LocalRunner, SmallRefs, small_store
from worlddb.log.model import limits
from worlddb.reconciler.diagnostics import installation

# What compares engine and model is no test file by its name, and should say what differed all the same.
pytest.register_assert_rewrite("tests.support.model", "tests.support.simulation")

PLAIN_SEED = 1
STEERING = ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "PYTHONIOENCODING", "WORLDDB_STORE", "WORLDDB_TRACEBACK")
"""What in the environment of whoever runs the tests would change what the programs under test do."""
ROOT_SEED = pytest.StashKey[int]()
COLLECTED_AFTER = 10000
"""How many objects are made before the collector looks through them."""

# No deadlines anywhere: a shared machine may stop a test for a second at any time.
settings.register_profile(
    "ci",
    derandomize=True,
    max_examples=10,
    stateful_step_count=30,
    deadline=None,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("seeded", parent=settings.get_profile("ci"), derandomize=False)
settings.register_profile("soak", parent=settings.get_profile("seeded"), max_examples=2000, stateful_step_count=100)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--seed", type=int, default=None, metavar="N", help="the root seed of this run")
    parser.addoption("--seeds", type=int, default=1000, metavar="N", help="how many seeds a soak run simulates")
    parser.addoption("--kills", type=int, default=1000, metavar="N", help="how often a soak run kills writers")


def _is_soak(config: pytest.Config) -> bool:
    return "soak" in str(config.getoption("-m"))


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    # Servers under test are on this machine, and no client of them is to go by a proxy that the environment names.
    os.environ.update(NO_PROXY="*", no_proxy="*")
    for name in STEERING:
        os.environ.pop(name, None)
    given: int | None = config.getoption("--seed")
    soak = _is_soak(config)
    if given is not None:
        root = given
    else:
        root = random.SystemRandom().randrange(2**32) if soak else PLAIN_SEED
    config.stash[ROOT_SEED] = root
    room = SOAK_ROOM_BYTES if soak else ROOM_BYTES
    if "TMPDIR" not in os.environ and (memory := memory_with_room(room)):
        os.environ["TMPDIR"] = tempfile.tempdir = str(memory)
    # Hypothesis reads its seed from its own option. A derandomised profile ignores it.
    if config.getoption("--hypothesis-seed") is None:
        config.option.hypothesis_seed = str(root)
    if soak:
        settings.load_profile("soak")
    else:
        settings.load_profile("ci" if given is None else "seeded")


def pytest_xdist_auto_num_workers() -> int:
    """Start two processes more than there are processors: tests that wait for another process leave theirs idle."""
    mine = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    return len(mine) + 2


def pytest_report_header(config: pytest.Config) -> str:
    return f"root seed: {config.stash[ROOT_SEED]} (replay with --seed {config.stash[ROOT_SEED]})"


def _import_from_another_place(config: pytest.Config) -> None:
    """Have each of several processes begin its imports elsewhere, so that what one has compiled the others read.

    In a fresh copy all of them would compile all tests, the same one at the same time.
    """
    worker: dict[str, Any] | None = getattr(config, "workerinput", None)
    if worker is None or config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
        return
    files = sorted(Path(__file__).parent.rglob("test_*.py"))
    first = len(files) * int(worker["workerid"].removeprefix("gw")) // int(worker["workercount"])
    for file in (*files[first:], *files[:first]):
        with suppress(Exception):  # The collection says what is wrong with it.
            import_module(".".join(file.relative_to(config.rootpath).with_suffix("").parts))


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Imports everything that the tests import. All of it stays, so no collection looks through it, now or later.

    Afterwards the collector looks less often than by default: with it come calls of whoever counts its time.
    """
    gc.disable()
    try:
        _import_from_another_place(session.config)
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(COLLECTED_AFTER)
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: [item.get_closest_marker(name) is None for name in ("long", "sources")])
    if _is_soak(config):
        for item in items:
            if is_hypothesis_test(getattr(item, "obj", None)):
                item.add_marker("soak")  # Every property is tried again, on more examples.
        return
    left_out = [item.get_closest_marker("soak") is not None for item in items]
    config.hook.pytest_deselected(items=[item for item, left in zip(items, left_out, strict=True) if left])
    items[:] = [item for item, left in zip(items, left_out, strict=True) if not left]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        root = item.config.stash[ROOT_SEED]
        report.sections.append(("root seed", f"{root}: replay with --seed {root}"))
    return report


@pytest.fixture
def root_seed(request: pytest.FixtureRequest) -> int:
    """The root seed itself, for tests that go through seeds and name the one that failed."""
    return request.config.stash[ROOT_SEED]


@pytest.fixture
def names_of_any_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow names and types with several lines and control characters, as earlier releases did."""
    monkeypatch.setattr(limits, "checked_line", limits.checked_text)


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, SmallRefs]:
    """The small store, for tests that only read it."""
    folder = tmp_path_factory.mktemp("cli") / "memory"
    return folder, small_store(folder)


@pytest.fixture
def small(made: tuple[Path, SmallRefs]) -> SmallRefs:
    """The references in it, and in its copies."""
    return made[1]


@pytest.fixture
def reading(capsys: pytest.CaptureFixture[str], made: tuple[Path, SmallRefs]) -> LocalRunner:
    """Runs commands that change nothing on the small store."""
    return LocalRunner(capsys, made[0])


@pytest.fixture
def writing(capsys: pytest.CaptureFixture[str], made: tuple[Path, SmallRefs], tmp_path: Path) -> LocalRunner:
    """Runs commands on a copy of the small store, which the test may change."""
    shutil.copytree(made[0], tmp_path / "memory")
    return LocalRunner(capsys, tmp_path / "memory")


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed store with events of every type, which nobody changes."""
    store = tmp_path_factory.mktemp("whole") / "store"
    Run(store, lambda line: None).whole()
    return store


@pytest.fixture
def store(whole: Path, tmp_path: Path) -> Path:
    """A copy of it to damage."""
    return forge.copy_store(whole, tmp_path / "store")


@pytest.fixture
def memory() -> Iterator[Path]:
    """A folder in memory, where there is one, for tests of processes and not of disks."""
    with folder_in_memory() as folder:
        yield folder


@pytest.fixture
def untried(monkeypatch: pytest.MonkeyPatch) -> None:
    """The doctor checks only the store; trying library imports in a process takes long."""
    monkeypatch.setattr(installation, "CHECKS", ())


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """The test's own seed, of the root seed and the file's and test's names, in any folder."""
    name = request.node.nodeid.rpartition("/")[2] if "/" not in request.node.name else request.node.nodeid
    material = f"{request.config.stash[ROOT_SEED]}:tests/{name}"
    return int.from_bytes(hashlib.sha256(material.encode()).digest()[:8], "big")
