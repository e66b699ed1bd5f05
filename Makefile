# WorldDB. Needs Python 3.11 or newer and make, nothing else: every target makes its own .venv when there is none.
#
#   make demo                 the story of one conversation; installs only what running needs
#   make test                 the tests, in parallel; installs what developing needs    (TESTS=FILE…, in one process)
#   make check                formatting, lint and types
#   make bench                the benchmark programs in turn       (SEED=N, BENCHES="load replay")
#   make house                the size and shape of the code: modules, imports, circles, files that a call enters
#   make soak                 the tests that take minutes, some two hours in all    (SEED=N, SEEDS=N, KILLS=N, TESTS=FILE…)
#   make frameworks           the pages of agent frameworks, run; makes an environment of 500 MB, .venv/frameworks
#   make conformance          the MCP server before the protocol's own tools; needs npm, and fetches them into .venv/npm
#   make format               write the code as `make check` wants it
#   make site                 the documentation as pages for a browser, in build/site/
#   make links                the links that type checkers follow, after adding, renaming or removing a file in worlddb/
#   make clean                remove caches and builds; `rm -rf .venv` starts the environment over
#
# Another Python than python3:  make PYTHON=python3.12 test

PYTHON ?= python3
SEED ?=
SEEDS ?=
TESTS ?=

# The environment is the project's own, whatever else is active in the caller's shell: an optimised Python asserts
# nothing, and one that writes no bytecode compiles every module again at each of the hundreds of starts of a test run.
unexport VIRTUAL_ENV PYTHONHOME PYTHONPATH PYTHONOPTIMIZE PYTHONDONTWRITEBYTECODE
export PIP_USER := 0
export PIP_DISABLE_PIP_VERSION_CHECK := 1

BIN := .venv/bin
PY := $(BIN)/python

# What has been installed so far; each of the others stands on the first.
STAMP := .venv/worlddb-installed
DEV_STAMP := .venv/worlddb-dev-installed
DOCS_STAMP := .venv/worlddb-docs-installed
BENCH_STAMP := .venv/worlddb-bench-installed
FRAMEWORKS := .venv/frameworks

# pip warns of much that no user can mend, so its output is shown only when it fails. Python compiles what it imports.
comma := ,
install = @said=$$($(or $(2),$(PY)) -m pip install --quiet --no-compile --editable '.$(1)' 2>&1) || { printf '%s\n' "$$said" >&2; exit 1; }

# These read a file that is not in the repository and are run by hand.
BENCHES_OF_FILES := beam confidence decay latency locomo locomo_plus longmemeval reranking vectors
BENCHES ?= $(sort $(filter-out _% $(BENCHES_OF_FILES),$(basename $(notdir $(wildcard bench/*.py)))))

.DEFAULT_GOAL := help
.PHONY: help demo test check bench house soak frameworks conformance format site links clean anew

help:
	@awk '!/^#/ { exit } { sub(/^# ?/, ""); print }' Makefile

demo: $(STAMP)
	@$(BIN)/worlddb demo

test: $(DEV_STAMP)
	@$(PY) -m pytest $(if $(TESTS),$(TESTS),-n auto --maxprocesses 4 --dist worksteal)

soak: $(DEV_STAMP)
	@$(PY) -m pytest -m soak $(if $(SEED),--seed $(SEED)) $(if $(SEEDS),--seeds $(SEEDS)) \
		$(if $(KILLS),--kills $(KILLS)) $(TESTS)

# Warnings and what is left open are the frameworks' own.
frameworks: $(FRAMEWORKS)/worlddb-installed
	@$(FRAMEWORKS)/bin/python -c 'import agents, llama_index.core, pydantic_ai'
	@$(FRAMEWORKS)/bin/python -m pytest -rs -p no:unraisableexception tests/tools/test_frameworks.py

# By version: a newer suite has further scenarios, and what is expected of them is a change of its own.
conformance: $(DEV_STAMP)
	@npm install --prefix .venv/npm --no-audit --no-fund --loglevel error \
		node@22 @modelcontextprotocol/inspector@2.12.0 @modelcontextprotocol/conformance@0.2.0-alpha.12
	@$(PY) -m pytest -m "soak or not soak" -rs tests/tools/mcp/test_mcp_conformance.py

check: $(DEV_STAMP)
	@$(PY) -m ruff format --check .
	@$(PY) -m ruff check .
	@$(PY) -m mypy

format: $(DEV_STAMP)
	@$(PY) -m ruff format .
	@$(PY) -m ruff check --fix .

bench: $(BENCH_STAMP)
	@set -e; for name in $(BENCHES); do \
		echo "== bench.$$name"; $(PY) -m bench.$$name $(if $(SEED),--seed $(SEED)); \
	done

house: $(STAMP)
	@$(PY) -m bench.house

site: $(DOCS_STAMP)
	@NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --quiet --strict --config-file docs/site/mkdocs.yml
	@echo "Open build/site/index.html; its search needs a server: $(PYTHON) -m http.server --bind 127.0.0.1 --directory build/site"

links:
	@for link in .typing/worlddb/*; do [ -e "$$link" ] || rm -f "$$link"; done
	@for file in worlddb/*.py worlddb/py.typed; do ln -sfn "../../$$file" ".typing/$$file"; done
	@for folder in worlddb/*/; do test -z "$$(ls $$folder*.py 2>/dev/null)" || ln -sfn "../../$${folder%/}" ".typing/$${folder%/}"; done
	@for room in log projections reconciler query tools; do ln -sfn "../../$$room" ".typing/worlddb/$$room"; done

clean:
	@rm -rf build dist *.egg-info .hypothesis .mypy_cache .pytest_cache .ruff_cache
	@find . -path ./.venv -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamp holds the folder's own path: an environment that was moved or copied with the folder still points at the
# old one, and is made again.
ifneq ($(shell cat $(STAMP) 2>/dev/null),$(CURDIR))
$(STAMP): anew
endif

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("WorldDB needs Python 3.11 or newer, \
	and $(PYTHON) is %s. Name another one: make PYTHON=python3.12 ..." % sys.version.split()[0])'
	@if [ -e $@ ] && [ "$$(cat $@)" != "$(CURDIR)" ] || ! $(PY) -c '' 2>/dev/null; then rm -rf .venv; fi
	@$(PY) -m pip --version >/dev/null 2>&1 || { echo "Making .venv ..."; $(PYTHON) -m venv .venv; }
	@echo "Installing WorldDB into .venv ..."
	$(call install,)
	@printf '%s\n' "$(CURDIR)" > $@

# Everything that the whole suite needs, the documentation's libraries too.
$(DEV_STAMP): $(STAMP)
	@echo "Installing the tests, the checkers and what they need into .venv ..."
	$(call install,[dev])
	@touch $@

$(FRAMEWORKS)/worlddb-installed: $(STAMP)
	@echo "Installing agent frameworks into $(FRAMEWORKS) ..."
	@$(PYTHON) -m venv $(FRAMEWORKS)
	$(call install,[frameworks],$(FRAMEWORKS)/bin/python)
	@touch $@

$(DOCS_STAMP): $(STAMP)
	@echo "Installing what the documentation is built with into .venv ..."
	$(call install,[docs])
	@touch $@

# Public data sets, and libraries to compare with: only the benchmarks need them.
$(BENCH_STAMP): $(STAMP)
	@echo "Installing what the benchmarks compare with into .venv ..."
	$(call install,[bench$(comma)bench-peers])
	@touch $@
