# Every target makes what it needs. `make demo` needs only Python 3.11+ and its venv module.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
INSTALL := $(PIP) install --no-deps --require-hashes --no-compile
SOURCES := momo_cli daemon privacy parsers tests

# Python may keep what it has compiled: the tests and the demo start it hundreds of times.
unexport PYTHONDONTWRITEBYTECODE

# A stamp stands for "these requirements are installed"; it is older than the file it was made from
# exactly when they have changed.
RUNTIME := $(VENV)/.runtime
DEV := $(VENV)/.dev

.DEFAULT_GOAL := help
.PHONY: help demo man picture check test test-slow simulate soak bench format docs constraints clean

help: ## Say what there is to make
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

$(BIN)/python:
	@echo "making a virtual environment in $(VENV)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "momo needs Python 3.11 or newer; try: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV)

$(RUNTIME): requirements/runtime.txt pyproject.toml | $(BIN)/python
	@echo "installing what momo needs to run (about 40 packages, versions and hashes pinned)"
	@$(INSTALL) -r requirements/runtime.txt
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

$(DEV): requirements/dev.txt $(RUNTIME)
	@echo "installing what the tests and checks need"
	@$(INSTALL) -r requirements/dev.txt
	@touch $@

demo: $(RUNTIME) ## Watch a payment arrive: a throw-away shop with an emulated phone
	@$(BIN)/momo demo

check: $(DEV) ## Format, lint, types, floors, dependencies
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy $(SOURCES)
	$(BIN)/lint-imports --no-logo
	$(BIN)/deptry .

test: $(DEV) ## Everything that is quick (under three minutes on two cores)
	$(BIN)/python -m pytest -m "not slow" -n 3 --dist worksteal

test-slow: $(DEV) ## The full figures of the promises
	$(BIN)/python -m pytest -m slow

SEEDS ?= 1000
simulate: $(DEV) ## Play SEEDS mornings of a simulated shop (make simulate SEEDS=10000)
	@$(BIN)/python -m tests.simulation --seeds $(SEEDS)

PAYMENTS ?= 20000
soak: $(DEV) ## Let PAYMENTS come in to a real daemon, and see that nothing grows (make soak PAYMENTS=100000)
	@$(BIN)/python -m tests.acceptance.soak --payments $(PAYMENTS)

bench: $(DEV) ## Measure what docs/performance.md quotes
	@set -e; for script in bench/*.py; do \
	  case $$script in */_*) continue ;; esac; \
	  echo "== $$script"; $(BIN)/python $$script; \
	done

format: $(DEV) ## Let ruff write the format and the easy mends
	$(BIN)/ruff check --fix --exit-zero
	$(BIN)/ruff format

docs: $(DEV) ## Write the tables of the documents from the code
	$(BIN)/python -m tests.house.doc_tables

man: $(RUNTIME) ## Write the man pages into build/man
	@$(BIN)/momo help --man build/man --quiet > /dev/null

picture: $(DEV) ## Draw docs/img/*.svg from real runs: the demo, lines, today, watch
	@mkdir -p docs/img
	@$(BIN)/python -m daemon demo --picture docs/img/demo.svg
	@$(BIN)/python -m tests.house.pictures

# The hashes are of every platform's files; which index they came from is left out, it is not part of the pin.
COMPILE := uv pip compile pyproject.toml --quiet --generate-hashes --no-header --annotation-style=line \
  --no-emit-index-url --no-emit-find-links --universal --python-version 3.11 --group build

constraints: ## Pin the newest versions that pyproject.toml allows (needs uv)
	$(COMPILE) --upgrade --output-file requirements/runtime.txt
	$(COMPILE) --upgrade --group dev --constraint requirements/runtime.txt --output-file requirements/dev.txt

clean: ## Remove everything that was made
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
