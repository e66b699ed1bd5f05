"""Holds every file to the rules in tests/support/tidy/, and tests that each rule sees."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.support.tidy import effects, files, imports, shape
from tests.support.tidy.files import File
from tests.support.tidy.tree import ROOMS, ROOT, Source, entry_points, parsed_sources, repository_files

pytestmark = pytest.mark.sources

TABLE = "imports follow the table of rooms"
HOME = "clocks and randomness have one home"
PLACES = "no host and no folder of one machine is named"

SOURCE_RULES: dict[str, Callable[[Source], Iterator[str]]] = {
    TABLE: imports.wrong_imports,
    "imports can be read": imports.hidden_imports,
    HOME: effects.stray_effects,
    "functions are short": shape.long_functions,
    "lines are short": shape.long_lines,
    "nothing is unfinished": shape.unfinished_places,
}
FILE_RULES: dict[str, Callable[[File], Iterator[str]]] = {
    "files are light": files.heavy_files,
    PLACES: files.places,
}


def complaint(findings: list[str]) -> str:
    return "\n" + "\n".join(findings)


@pytest.mark.parametrize("rule", SOURCE_RULES)
def test_every_source_keeps_the_rule_that(rule: str) -> None:
    findings = [finding for source in parsed_sources() for finding in SOURCE_RULES[rule](source)]
    assert not findings, complaint(findings)


@pytest.mark.parametrize("rule", FILE_RULES)
def test_every_file_keeps_the_rule_that(rule: str) -> None:
    read = (File.read(ROOT, name) for name in repository_files())
    findings = [finding for file in read for finding in FILE_RULES[rule](file)]
    assert not findings, complaint(findings)


def test_a_long_file_is_asked_whether_it_holds_one_idea() -> None:
    """A warning and no failure: length is a question. It is printed with ``make house``."""
    assert not list(shape.long_files(Source("log/a.py", "x = 1\n" * 500)))
    (asked,) = shape.long_files(Source("log/a.py", "x = 1\n" * 501))
    assert "501 lines" in asked


def test_every_product_module_is_imported_by_another() -> None:
    findings = list(imports.orphans(parsed_sources(), entry_points()))
    assert not findings, complaint(findings)


def test_the_rules_see_every_room() -> None:
    assert {source.folder for source in parsed_sources()} >= {*ROOMS, "bench", "tests"}
    assert effects.OWNER in {source.path for source in parsed_sources()}


def test_type_checkers_find_every_room_and_every_file_of_the_facade() -> None:
    typed = {path.name: path.resolve() for path in (ROOT / ".typing" / "worlddb").iterdir()}
    rooms = {room: ROOT / room for room in ROOMS if room != "worlddb"}
    held = (ROOT / "worlddb").iterdir()
    facade = {path.name: path for path in held if path.suffix in (".py", ".typed") or any(path.glob("*.py"))}
    assert typed == rooms | facade, "run `make links`, and remove links to what is gone"


# Canaries: what each rule must see, and what it must leave alone. A bar in a word is taken out before a rule
# sees it, so that this file does not hold what the rule looks for.

BAD_SOURCES: list[tuple[str, str, str, str]] = [
    (TABLE, "log/store/a.py", "import worlddb.query", "may not import query/"),
    (TABLE, "log/a.py", "from worlddb import projections", "projections/"),
    (TABLE, "log/a.py", "from worlddb import open", "may not import worlddb/"),
    (TABLE, "query/lanes/a.py", "from ... import reconciler", "reconciler/"),
    (TABLE, "query/a.py", "def f():\n  import worlddb.reconciler", "py:2: "),
    (TABLE, "projections/a.py", "from worlddb.query.snapshot.edge_rules import S", "query/"),
    (TABLE, "reconciler/a.py", "from ..query import spec", "query/"),
    (TABLE, "worlddb/a.py", "from worlddb.tools import cli", "tools/"),
    (TABLE, "tools/cli/a.py", "from worlddb.log import model", "log/"),
    (TABLE, "tools/a.py", "__import__('worlddb.log.store')", "log/"),
    (TABLE, "worlddb/__init__.py", "from .tools import cli", "tools/"),
    (TABLE, "tools/a.py", "from bench import load", "may not import bench/"),
    (TABLE, "bench/a.py", "import tests.helpers", "may not import tests/"),
    (TABLE, "log/model/a.py", "from worlddb.log.store import b", "is pure"),
    (TABLE, "log/model/a.py", "from ..store import b", "is pure"),
    (TABLE, "log/a.py", "from log import model", "installed as worlddb.log"),
    (TABLE, "tests/a.py", "import query.plan", "installed as worlddb.query"),
    ("imports can be read", "tools/a.py", "import importlib\nimportlib.import_module(name)", "a.py:2"),
    (HOME, "log/a.py", "import time\nx = time.time()", "a.py:2: time.time "),
    (HOME, "log/a.py", "import time as t\nt.monotonic_ns", "monotonic_ns"),
    (HOME, "query/a.py", "from time import monotonic", "time.monotonic "),
    (HOME, "tools/a.py", "from time import time", "time.time "),
    (HOME, "log/a.py", "import datetime as d\nd.datetime.now(z)", "now"),
    (HOME, "log/a.py", "from datetime import datetime as D\nD.now()", "now"),
    (HOME, "log/a.py", "from datetime import date\ndate.today()", "today"),
    (HOME, "log/a.py", "import random", "random"),
    (HOME, "log/a.py", "from secrets import token_bytes", "secrets"),
    (HOME, "log/a.py", "import os\nos.urandom(8)", "os.urandom"),
    (HOME, "log/a.py", "from uuid import uuid4", "uuid"),
    (HOME, "log/a.py", "import numpy as np\nnp.random.rand()", "numpy.random"),
    ("functions are short", "bench/a.py", "def f():\n" + "    x = 1\n" * 70, "f has 71 lines"),
    ("functions are short", "log/a.py", "class C:\n  async def g(s):\n" + "    x = 1\n" * 70, "g has 71"),
    ("lines are short", "tests/a.py", "\n# " + "é" * 119, "a.py:2: 121 characters"),
    ("nothing is unfinished", "log/a.py", "pass  # TO|DO", "not finished"),
    ("nothing is unfinished", "log/a.py", "raise NotImplemented|Error", "not finished"),
]

GOOD_SOURCES: list[tuple[str, str]] = [
    ("log/model/a.py", "from worlddb.log.model import ids\nfrom .ids import Lineage\nimport os.path"),
    ("log/store/a.py", "from worlddb.log.model.clock import monotonic\nmonotonic()"),
    ("query/a.py", "from worlddb.projections.tables import nodes\nfrom worlddb.log import model"),
    ("worlddb/a.py", "from worlddb import open\nfrom worlddb.query import spec\nimport worlddb.reconciler"),
    ("worlddb/__main__.py", "from worlddb.tools.cli.main import main"),
    ("tools/cli/a.py", "import time\nimport worlddb\nfrom worlddb.tools import cli\ntime.perf_counter()"),
    ("bench/a.py", "import random\nfrom worlddb.log import store\nfrom bench import machine"),
    ("tests/a.py", "import bench.load\nimport worlddb.tools\nimport uuid"),
    ("log/a.py", "from datetime import datetime\ndatetime.fromtimestamp(0, z)\nself.time.time()"),
    ("log/a.py", "def f():\n" + "    x = 1\n" * 69 + "# " + "é" * 118 + "\n# TODOS are not for today"),
]

BAD_FILES: list[tuple[str, bytes, str]] = [
    ("files are light", b"x" * (files.MAX_FILE_BYTES + 1), "262145 bytes"),
    (PLACES, b"a\nhttps://py|pi.org/simple\n", "a:2: "),
    (PLACES, b"see (/ho|me/ada/notes)", "ada"),
    (PLACES, b"file:///op|t/wheels", "wheels"),
    (PLACES, b"\xff\x00 /wo|rk/main", "main"),
]

GOOD_FILE = b"#!/usr/bin/env bash\n# ../opt/ $HOME/opt/ a/home/b http://example.org/docs/opt/ /tmp/ /dev/shm\n"


@pytest.mark.parametrize(("rule", "path", "text", "expected"), BAD_SOURCES)
def test_a_rule_sees_a_bad_source(rule: str, path: str, text: str, expected: str) -> None:
    (finding,) = set(SOURCE_RULES[rule](Source(path, text.replace("|", ""))))
    assert expected in finding
    assert finding.startswith(path)


@pytest.mark.parametrize(("path", "text"), GOOD_SOURCES)
def test_the_rules_leave_a_good_source_alone(path: str, text: str) -> None:
    assert [found for rule in SOURCE_RULES.values() for found in rule(Source(path, text))] == []


@pytest.mark.parametrize(("rule", "data", "expected"), BAD_FILES)
def test_a_rule_sees_a_bad_file(rule: str, data: bytes, expected: str) -> None:
    (finding,) = FILE_RULES[rule](File("a", data.replace(b"|", b"")))
    assert expected in finding


def test_the_rules_leave_a_good_file_alone() -> None:
    assert [found for rule in FILE_RULES.values() for found in rule(File("a", GOOD_FILE))] == []


def test_a_module_that_only_tests_or_itself_import_is_an_orphan() -> None:
    seen = [
        Source("log/used.py", ""),
        Source("log/lonely.py", "import worlddb.log.lonely"),
        Source("query/__init__.py", "from worlddb.log.used import name"),
        Source("tests/test_lonely.py", "from worlddb.log import lonely"),
        Source("tools/cli/main.py", ""),
    ]
    assert list(imports.orphans(seen, {"worlddb.tools.cli.main"})) == [
        "log/lonely.py: nothing in the product imports it"
    ]


def test_every_rule_has_a_canary() -> None:
    assert {rule for rule, *_ in BAD_SOURCES} == set(SOURCE_RULES)
    assert {rule for rule, *_ in BAD_FILES} == set(FILE_RULES)
