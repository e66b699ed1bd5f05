"""Tests the harness: a failure names its seed, and soak tests wait until asked for."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

CONFTEST = Path(__file__).parents[1] / "conftest.py"

SUITE = """
import pytest
from hypothesis import given, settings, strategies as st

def test_plain_seed(seed):
    print("drew the seed", seed)

@given(st.integers())
def test_plain_examples(value):
    print("drew", value)

@given(st.integers())
def test_canary(value):
    assert value < 100

@pytest.mark.soak
def test_soak():
    assert settings.get_current_profile_name() == "soak"
"""


@pytest.fixture
def suite(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makeconftest(CONFTEST.read_text("utf-8"))
    root = shlex.quote(str(CONFTEST.parents[1]))
    # As in pyproject.toml: LangSmith's plugin would take longer than the tests.
    pytester.makeini(f"[pytest]\nmarkers = soak: long\npythonpath = {root}\naddopts = -p no:langsmith_plugin\n")
    pytester.makepyfile(test_suite=SUITE)
    return pytester


def test_a_soak_run_has_a_fresh_seed_the_soak_tests_and_all_properties(suite: pytest.Pytester) -> None:
    result = suite.runpytest_subprocess("-m", "soak")
    result.assert_outcomes(passed=2, failed=1, deselected=1)
    result.stdout.fnmatch_lines(["root seed: *"])


def drawn(result: pytest.RunResult) -> list[str]:
    """What a run's tests drew, in their order, of those that never fail."""
    lines = result.outlines
    end = next((at for at, line in enumerate(lines) if "FAILURES" in line), len(lines))
    return [line[line.index("drew") :] for line in lines[:end] if "drew" in line]


def test_random_values_and_examples_follow_the_seed_which_a_failure_names_and_nothing_else(
    suite: pytest.Pytester,
) -> None:
    seeded = suite.runpytest_subprocess("-s", "--seed", "5")
    seeded.assert_outcomes(passed=2, failed=1, deselected=1)
    seeded.stdout.fnmatch_lines(["root seed: 5 *", "*test_canary*", "*root seed*", "5: replay with --seed 5"])
    plain, again = (drawn(suite.runpytest_subprocess("-s", "-k", "plain")) for _ in range(2))
    assert len(plain) > 8
    assert plain == again
    assert len(drawn(seeded)) > 8
    assert drawn(seeded) != plain
