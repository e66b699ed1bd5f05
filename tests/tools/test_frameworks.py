"""Runs the pages of agent frameworks with scripted models; `make frameworks` installs the frameworks.

They are no part of `make test`: importing them takes seconds each.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.house.test_docs import FRAMEWORK_PAGES, run, text_of
from tests.support import frameworks

MODELS: dict[str, Callable[[], Any]] = {
    "agents": frameworks.openai_model,
    "pydantic_ai": frameworks.pydantic_ai_model,
    "llama_index": frameworks.llama_index_model,
}


# A framework warns of what it does itself, which nobody here can mend.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("page", FRAMEWORK_PAGES)
def test_a_page_of_a_framework_prints_what_it_says(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = FRAMEWORK_PAGES[page]
    if find_spec(module) is None:
        pytest.skip(f"{module} is not installed: `make frameworks` installs it and runs {page}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_AGENTS_DISABLE_TRACING", "1")
    findings = list(run(text_of(page), page, model=MODELS[module]()))
    assert not findings, "\n".join(findings)
