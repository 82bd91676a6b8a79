# Thin wrappers of the two commands in README.md, and of the checks that CI runs.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin

.PHONY: plan test check long format clean

plan:  ## install and plan the quickstart scenario
	$(PYTHON) -m venv $(VENV) && $(BIN)/pip install -q . && $(BIN)/pdd-plan optimize quickstart

test:  ## install with the tools for development and run the tests
	$(PYTHON) -m venv $(VENV) && $(BIN)/pip install -q -e '.[dev]' && $(BIN)/pytest

check:  ## style, types and layers, in an environment made by `make test`
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/lint-imports

long:  ## the tests that take longer, in an environment made by `make test`
	$(BIN)/pytest -m long

format:  ## let ruff put the code into shape
	$(BIN)/ruff check --fix . && $(BIN)/ruff format .

clean:  ## remove the environment and what tools leave behind
	rm -rf $(VENV) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
