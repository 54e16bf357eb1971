# Each target says after ## what it is for; `make` alone lists them.
SHELL := /bin/sh
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.setup-stamp
NODE_IMAGE := openshell/source-node:dev
# Nodes are the load: more of them at once than processors only makes each of them slow.
JOBS ?= 2
SHELL_FILES := $(wildcard deploy/docker/*.sh deploy/docker/lib/*.sh)
PYTHON_FILES := src tests tools benchmarks

.DEFAULT_GOAL := help

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: setup
setup: $(STAMP) ## Make .venv with the command and the tools

$(STAMP): pyproject.toml requirements-dev.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -r requirements-dev.txt
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

.PHONY: up
up: setup ## Bring up an engine and a gateway on it, and say how to use it
	tools/engine up
	$(BIN)/python tools/up.py

.PHONY: down
down: ## Stop the gateway and the engine, if make started it; the data stays
	-$(BIN)/openshell gateway stop
	tools/engine down

.PHONY: check
check: setup ## Format, lint, types, imports, shell and the unit tier: all that needs no engine
	$(BIN)/ruff format --check $(PYTHON_FILES)
	$(BIN)/ruff check $(PYTHON_FILES)
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/shellcheck $(SHELL_FILES)
	$(BIN)/shfmt -d -i 2 -ci $(SHELL_FILES)
	$(MAKE) -s unit
	$(BIN)/pytest -q -r fE --engine=off tests/shell

.PHONY: fmt
fmt: setup ## Format what can be formatted
	$(BIN)/ruff format $(PYTHON_FILES)
	$(BIN)/ruff check --fix $(PYTHON_FILES)
	$(BIN)/shfmt -w -i 2 -ci $(SHELL_FILES)

.PHONY: unit
unit: setup ## The unit and command line tiers, and the contract on the fakes
	$(BIN)/pytest -q -r fE -n $(JOBS) --engine=off tests/unit tests/cli tests/contract

.PHONY: node-image
node-image: ## Build the node image from package registries alone
	tools/node-image

.PHONY: test
test: setup ## Everything, on a real engine and a real node
	tools/engine up
	tools/node-image
	$(BIN)/pytest -n $(JOBS) --dist loadfile tests

SOAK_S ?= 600
SEED ?= 1
FAULTS ?= 60
.PHONY: soak
soak: setup ## Ten minutes of what may happen to a gateway, and many faults (SOAK_S, SEED, FAULTS)
	tools/engine up
	tools/node-image
	$(BIN)/pytest tests/faults/soak tests/faults/test_on_engine.py --engine=require \
	  --soak $(SOAK_S) --seed $(SEED) --faults $(FAULTS) --log-cli-level=INFO

.PHONY: bench
bench: setup ## Measure against the budgets, in one run
	tools/engine up
	tools/node-image
	$(BIN)/python -m benchmarks.bench
