# Everything a newcomer needs: `make demo`, `make test`, `make serve`. Needs git, make and Python 3.11 or newer.

# The first interpreter on the path that is new enough; `make PYTHON=... VENV=...` chooses another.
PYTHON ?= $(shell for candidate in python3 python python3.14 python3.13 python3.12 python3.11; do \
	$$candidate -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$candidate && break; done)
VENV ?= .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --constraint deploy/constraints.txt
SOURCES := ordsim_core workers service

.DEFAULT_GOAL := help
.PHONY: help demo serve test test-slow test-compose bench audit openapi lint format hooks clean

help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "ordsim needs Python 3.11 or newer; none was found. Try: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml deploy/constraints.txt | $(BIN)/python
	$(INSTALL) --editable .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(INSTALL) --editable '.[test,dev]'
	@touch $@

$(VENV)/.installed-bench: $(VENV)/.installed
	$(INSTALL) --editable '.[bench]'
	@touch $@

demo: $(VENV)/.installed ## start a service, compare two real embeddings, print the report, stop
	$(BIN)/python deploy/demo.py

serve: $(VENV)/.installed ## run the service on http://127.0.0.1:8000 until Ctrl-C
	@mkdir -p arrays
	$(BIN)/ordsim serve --root lab=arrays

test: $(VENV)/.installed-dev ## run the test suite (some 11 minutes on two cores)
	$(BIN)/python -m pytest -n 2 --dist loadfile tests/core tests/oracle tests/workers tests/service
	$(BIN)/python -m pytest tests/e2e

test-slow: $(VENV)/.installed-dev ## run the long statistical and fault tests (30 minutes at most)
	$(BIN)/python -m pytest -m slow -n 2 --dist loadfile tests/core
	$(BIN)/python -m pytest -m slow tests/workers tests/service tests/e2e

test-compose: $(VENV)/.installed-dev ## run the cluster of deploy/docker-compose.yml and kill parts of it (15 minutes at most)
	tests/compose/run $(abspath $(BIN))/python

bench: $(VENV)/.installed-bench ## measure how fast it is (15 minutes on two cores; BENCH=--help lists options)
	env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE $(BIN)/python tests/bench $(BENCH)

AUDIT ?= audit.md
audit: $(VENV)/.installed ## examine public similarity functions that are installed; AUDIT=FILE chooses the table
	$(BIN)/python deploy/audit.py $(AUDIT)

openapi: $(VENV)/.installed ## write deploy/docs/openapi.json anew, after a change of routes or models
	$(BIN)/python deploy/openapi.py

lint: $(VENV)/.installed-dev ## ruff, mypy and the import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.installed-dev ## let ruff format and mend what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

hooks: $(VENV)/.installed-dev ## run the same checks before every commit
	$(BIN)/prek install

clean: ## remove virtual environments and caches; jobs (.ordsim) and arrays stay
	rm -rf $(VENV) .venv-newest .mypy_cache .ruff_cache .pytest_cache .hypothesis build *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
