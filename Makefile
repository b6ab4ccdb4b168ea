# Python 3.11 to 3.13 and make are all that is needed; everything else goes into .venv.
PYTHON ?= python3
ONCE ?=
# Rounds of each test that kills processes; make test takes one of each.
ROUNDS ?= 10
# More arguments for pytest: make test ARGS="-k schedule"
ARGS ?=

VENV := .venv
VNU := var/vnu/node_modules/vnu-jar/build/dist/vnu.jar
STANDARD_WEBHOOKS := var/standardwebhooks/node_modules/standardwebhooks/dist/index.js
OPENID_CLIENT := var/openid-client/node_modules/openid-client/build/index.js
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# Processes that tests start would read every module anew from its source.
unexport PYTHONDONTWRITEBYTECODE
# Two processes; one that has nothing left to do takes of what the other has.
PYTEST := $(BIN)/python -m pytest -n 2 --dist worksteal
# A lock names every file by its hash; nothing else is installed.
INSTALL := $(PIP) install --require-hashes

.PHONY: help setup demo test check check-types check-imports check-style check-size contract bench faults e2e lock clean
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

help:  ## this list
	@sed -n 's/^\([a-z0-9-]*\):.*  ## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "%-16s %s\n", $$1, $$2 }'

setup: $(VENV)/installed  ## install into .venv

demo: $(VENV)/installed  ## the life of seven claims, told as it happens (ONCE=1: and end)
	$(BIN)/python -m examples.demo $(if $(ONCE),--once)

test: $(VENV)/installed-dev  ## the tests, without the browser
	$(PYTEST) --ignore tests/browser $(ARGS)

# make -j 2 check asks two of them at a time.
check: check-types check-imports check-style check-size  ## types, imports, style, sizes

check-types: $(VENV)/installed-dev
	$(BIN)/mypy

check-imports: $(VENV)/installed-dev
	$(BIN)/python tools/check_imports.py

check-style: $(VENV)/installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

check-size: $(VENV)/installed-dev
	$(BIN)/python tools/check_size.py

# Schemathesis with 20 examples of each operation, Hypothesis with 150 of each property; make test
# takes two, few of the limits, and 40.
contract: $(VENV)/installed-dev  ## every operation of the API and every property, tried at length
	SCHEMATHESIS=full $(PYTEST) tests/api/test_api_schemathesis.py $(ARGS)
	PROPERTIES=full $(PYTEST) -m hypothesis --ignore tests/browser $(ARGS)

faults: $(VENV)/installed-dev  ## tests that kill processes (ROUNDS=10)
	FAULT_ROUNDS=$(ROUNDS) $(BIN)/python -m pytest -m faults --ignore tests/browser $(ARGS)

# Chromium, Java and npm come from the system (.ci/run). SCREENSHOTS=1: pictures of every page go to
# var/screenshots.
e2e: $(VENV)/installed-dev $(VNU) $(STANDARD_WEBHOOKS) $(OPENID_CLIENT)  ## the debtor's pages in Chromium
	$(PYTEST) tests/browser $(ARGS)

bench: $(VENV)/installed-bench  ## figures beside their references
	$(BIN)/python -m bench

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' || \
	  { echo "Dunwell needs Python 3.11 to 3.13; name one: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
	  { rm -rf $(VENV); echo "Python's venv module is missing; on Debian: apt-get install python3-venv" >&2; exit 1; }

$(VENV)/installed: $(VENV)/bin/python requirements.lock requirements-build.lock pyproject.toml
	$(INSTALL) -r requirements.lock -r requirements-build.lock
	$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/installed-dev: $(VENV)/installed requirements-dev.lock
	$(INSTALL) -r requirements-dev.lock
	@touch $@

$(VENV)/installed-bench: $(VENV)/installed requirements-bench.lock
	$(INSTALL) -r requirements-bench.lock
	@touch $@

# The Nu HTML checker.
$(VNU):
	npm install --silent --no-audit --no-fund --no-save --ignore-scripts --prefix var/vnu vnu-jar@26.9.27
	@test -f $@ && touch $@

# What receivers written in JavaScript verify webhooks with.
$(STANDARD_WEBHOOKS):
	npm install --silent --no-audit --no-fund --no-save --ignore-scripts --prefix var/standardwebhooks standardwebhooks@1.1.1
	@test -f $@ && touch $@

# What merchants' programs written in JavaScript ask for tokens with, and what it needs itself.
$(OPENID_CLIENT):
	npm install --silent --no-audit --no-fund --no-save --ignore-scripts --prefix var/openid-client openid-client@6.8.9 oauth4webapi@3.8.8 jose@6.2.15
	@test -f $@ && touch $@

# Every version anew, within what the .in files ask for.
LOCK := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
  --no-header --no-annotate --no-emit-index-url --no-emit-find-links --upgrade
lock: $(VENV)/bin/python  ## the lock files anew
	$(PIP) install uv
	$(LOCK) requirements.in -o requirements.lock
	$(LOCK) requirements-build.in -o requirements-build.lock
	$(LOCK) requirements-dev.in -o requirements-dev.lock
	$(LOCK) requirements-bench.in -o requirements-bench.lock

clean:  ## remove what was installed and built
	rm -rf $(VENV) build .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
