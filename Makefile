# Every target makes its own environment: on a fresh machine with Python 3.11+ and make, one command is enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test lint format bench docs wheel clean

demo: $(VENV)/viewer
	$(BIN)/elbowroom demo

test: $(VENV)/dev
	$(BIN)/python -m pytest -n auto --dist worksteal

lint: $(VENV)/dev
	$(BIN)/ruff check src tests examples
	$(BIN)/ruff format --check src tests examples
	$(BIN)/mypy

format: $(VENV)/dev
	$(BIN)/ruff format src tests examples
	$(BIN)/ruff check --fix src tests examples

bench: $(VENV)/bench
	$(BIN)/elbowroom bench dynamics
	$(BIN)/elbowroom bench distance
	$(BIN)/elbowroom bench avoidance

docs: $(VENV)/dev
	$(BIN)/mkdocs build --strict

wheel: $(VENV)/dev
	$(BIN)/python -m build

# The environment, and what is installed in it: a stamp per set of extras, renewed when pyproject.toml changes.
$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/core: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet -e .
	touch $@

$(VENV)/viewer: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet -e '.[viewer]'
	touch $@

$(VENV)/dev: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet -e '.[dev]'
	touch $@

$(VENV)/bench: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet -e '.[bench]'
	touch $@

clean:
	rm -rf $(VENV) dist build site .mypy_cache .ruff_cache .pytest_cache .hypothesis
