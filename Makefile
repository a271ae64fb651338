# The targets that people and CI share. `make` alone prints them.

VENV   ?= .venv
LISTEN ?= 127.0.0.1:50051
ARGS   ?=
PROFILES ?=

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# The locks are complete, so pip resolves nothing; their build group comes first, so it builds nothing in isolation.
INSTALL := $(PIP) install --no-deps --no-build-isolation
LOCKED  := $(INSTALL) --require-hashes
PROJECTS := pyproject.toml clients/python/pyproject.toml
# npm and the Node.js that the locks pin, in clients/typescript.
NPM := $(BIN)/python tools/node.py npm --silent
NODE_MODULES := clients/typescript/node_modules/.stamp

# For what looks its programs up: buf its plugins, the tests grpcurl.
export PATH := $(abspath $(BIN)):$(PATH)

COMPOSE = docker compose -f deploy/docker-compose.yml $(foreach each,$(PROFILES),--profile $(each))

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

## Use it

.PHONY: help
help: ## Print this list
	@awk 'BEGIN { FS = ":.*## " } \
	  /^## /            { printf "\n%s\n", substr($$0, 4) } \
	  /^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@printf '\nARGS="..." goes on to the program: make test ARGS="-k settle", make run ARGS="--data-dir /tmp/bus"\n'

.PHONY: run
run: $(VENV)/.run ## Install what is missing and start the server on LISTEN (127.0.0.1:50051)
	@exec $(BIN)/hbus serve --listen $(LISTEN) $(ARGS)

.PHONY: demo
demo: $(VENV)/.run ## Play two agents of one user against the running server
	@exec $(BIN)/hbus demo $(ARGS)

.PHONY: setup
setup: $(VENV)/.run ## Prepare .venv alone: the server, its client, grpcurl and buf

.PHONY: up
up: ## Start the services with Docker Compose: PROFILES="split observability"
	$(COMPOSE) up --detach --build $(if $(filter split,$(PROFILES)),--scale hbus=0)

.PHONY: down
down: ## Stop them, whatever the profile; the data stays in its volume
	$(COMPOSE) --profile '*' down

## Work on it

.PHONY: test
test: $(VENV)/.dev $(NODE_MODULES) ## Run every test but the long forms
	$(BIN)/pytest $(ARGS)

.PHONY: test-unit
test-unit: $(VENV)/.dev ## Run the tests that touch no I/O
	$(BIN)/pytest tests/unit $(ARGS)

.PHONY: test-faults
test-faults: $(VENV)/.dev ## Run the fault plan and the other long forms with their full figures
	$(BIN)/pytest -m long --timeout 7200 $(ARGS)

.PHONY: test-outside
test-outside: $(VENV)/.dev $(NODE_MODULES) ## Wheels installed from scratch, MCP hosts of others, dclint: what needs the registries
	$(NPM) exec --yes --package dclint@3.1.0 -- dclint --config $(CURDIR)/.dclintrc.yaml $(CURDIR)/deploy/docker-compose.yml
	$(BIN)/pytest -m long tests/e2e/test_wheels.py tests/e2e/test_mcp_hosts.py --timeout 1800 $(ARGS)

.PHONY: bench
bench: $(VENV)/.dev ## Measure, with a ratio to a limit measured in the same run, as JSON lines
	$(BIN)/python -m bench $(ARGS)

.PHONY: eval
eval: $(VENV)/.dev ## Measure how well it finds what it should, on the data sets in ../shared/data (ARGS="--quick")
	$(BIN)/python -m bench.eval $(ARGS)

.PHONY: check
check: lint type proto-check ## Check all that is checked without running the product
	$(BIN)/python -m pip --disable-pip-version-check check

.PHONY: fmt
fmt: $(VENV)/.dev $(NODE_MODULES) ## Format the code and mend what ruff can mend
	$(BIN)/ruff format
	$(BIN)/ruff check --fix
	$(NPM) run format

.PHONY: lint
lint: $(VENV)/.dev $(NODE_MODULES) ## Check format, lint, who imports whom, and the container files
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/lint-imports --no-logo --no-cache
	$(NPM) run lint
	$(BIN)/hadolint deploy/Dockerfile
	$(BIN)/compose-lint --fail-on medium deploy/docker-compose.yml

.PHONY: type
type: $(VENV)/.dev $(NODE_MODULES) ## Check types
	$(BIN)/mypy
	$(NPM) run type

## The contract and the locks

.PHONY: proto
proto: $(VENV)/.dev $(NODE_MODULES) ## Generate the code of both clients from proto/
	rm -rf clients/python/hbus/v1/*_pb2* clients/typescript/src/gen
	$(BIN)/buf generate
	$(BIN)/python tools/node.py generate

.PHONY: docs
docs: $(VENV)/.dev ## Write docs/reference anew from the contract, the settings, the command line and the metrics
	$(BIN)/python -m tools.reference

.PHONY: proto-check
proto-check: $(VENV)/.dev $(NODE_MODULES) ## Lint the contract and prove that generated code and reference match
	$(BIN)/pytest tests/proto

.PHONY: proto-breaking
proto-breaking: $(VENV)/.dev ## Compare the contract with that of another commit: AGAINST=v0.1.0
	$(BIN)/buf breaking --against '.git#ref=$(or $(AGAINST),HEAD)'

.PHONY: lock
lock: $(VENV)/.dev ## Pin the newest versions that pyproject.toml allows: ARGS=--upgrade
	$(INSTALL) uv
	$(COMPILE) --group build --output-file requirements/build.txt
	$(COMPILE) pyproject.toml --constraint requirements/build.txt --output-file requirements/run.txt
	$(COMPILE) --group tools --output-file requirements/tools.txt
	$(COMPILE) pyproject.toml --extra mcp --constraint requirements/run.txt --output-file requirements/mcp.txt
	$(COMPILE) pyproject.toml --extra mcp --group dev --constraint requirements/build.txt --constraint requirements/run.txt --output-file requirements/dev.txt

COMPILE = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --fork-strategy fewest --generate-hashes \
  --no-emit-package hbus --custom-compile-command 'make lock' $(ARGS)

.PHONY: clean
clean: ## Remove the environment and what the tools left; data directories stay
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis clients/typescript/node_modules clients/typescript/dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Stamps: each is as new as the last installation of what it depends on.

$(BIN)/python:
	@python="$(PYTHON)"; \
	for each in python3 python3.13 python3.12 python3.11 python3.14 python; do \
	  [ -n "$$python" ] || ! $$each -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || python=$$each; \
	done; \
	[ -n "$$python" ] || { echo "make: Python 3.11 or newer (with its venv module) is needed; name it with PYTHON=..." >&2; exit 1; }; \
	echo "Creating $(VENV) with $$($$python --version)"; \
	$$python -m venv --clear $(VENV)

$(VENV)/.build: requirements/build.txt | $(BIN)/python
	@$(LOCKED) -r requirements/build.txt
	@touch $@

$(VENV)/.run: requirements/run.txt requirements/tools.txt $(PROJECTS) $(VENV)/.build
	@echo "Installing the server and its tools: once, and it takes a minute"
	@$(LOCKED) -r requirements/run.txt -r requirements/tools.txt
	@$(INSTALL) --editable . --editable clients/python
	@touch $@

$(VENV)/.dev: requirements/dev.txt $(VENV)/.run
	@echo "Installing what the tests and checks need"
	@$(LOCKED) -r requirements/dev.txt
	@touch $@

$(NODE_MODULES): clients/typescript/package-lock.json $(VENV)/.dev
	@echo "Installing what the TypeScript client needs"
	@$(NPM) ci
	@touch $@
