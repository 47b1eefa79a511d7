# Every target makes its own environment: on a fresh machine with Python 3.11+ and make, one command is enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# Tests start many processes: what Python compiles of the sources is kept for the next (in __pycache__).
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-all long-tests fuzz browser lint style types collected format bench docs screenshots notebook wheel clean

demo: $(VENV)/viewer
	$(BIN)/elbowroom demo --out out

# Some minutes; the long tests, marked `slow`, are left to test-all, which runs every test there is.
test: $(VENV)/dev browser
	$(BIN)/python -m pytest -n auto --dist worksteal -m "not slow" --hypothesis-profile quick

test-all: $(VENV)/dev browser
	$(BIN)/python -m pytest -n auto --dist worksteal

# Which tests `make test` leaves out because they are long, measured anew (tests/long_tests.txt).
long-tests: $(VENV)/dev
	$(BIN)/python tests/long_tests.py

# Inputs that nobody would send, for some minutes: SECONDS=600, or INPUTS=100000; SEED=1, TARGETS=urdf,scene.
fuzz: $(VENV)/dev
	$(BIN)/python tests/fuzz $(if $(INPUTS),--inputs $(INPUTS)) $(if $(SECONDS),--seconds $(SECONDS)) \
		$(if $(SEED),--seed $(SEED)) $(if $(TARGETS),--target $(TARGETS))

# Chromium for the tests of the page, where it is missing and may be installed; ELBOWROOM_BROWSER=no leaves it out.
browser:
	sh tests/chromium.sh

# `make -j2 lint`: types and test files at the same time.
lint: style types collected

style: $(VENV)/dev
	$(BIN)/ruff check src tests examples
	$(BIN)/ruff format --check src tests examples

types: $(VENV)/dev
	$(BIN)/mypy

collected: $(VENV)/dev
	@echo "pytest --collect-only: every test file imports what is there"
	@$(BIN)/python -m pytest --collect-only -qq >$(VENV)/collected || { cat $(VENV)/collected; exit 1; }

format: $(VENV)/dev
	$(BIN)/ruff format src tests examples
	$(BIN)/ruff check --fix src tests examples

bench: $(VENV)/bench
	$(BIN)/elbowroom bench dynamics
	$(BIN)/elbowroom bench batch
	$(BIN)/elbowroom bench chains
	$(BIN)/elbowroom bench distance
	$(BIN)/elbowroom bench avoidance

docs: $(VENV)/dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# The pictures of the live cell in README and docs, made in Chromium; some minutes.
screenshots: $(VENV)/dev browser
	$(BIN)/python docs/pictures/screenshots.py

# The outputs of examples/seven_experiments.ipynb, which is run from the first cell to the last.
notebook: $(VENV)/dev
	$(BIN)/python docs/pictures/notebook.py

wheel: $(VENV)/dev
	$(BIN)/python -m build

# The environment, and what is installed in it: a stamp per set of extras, renewed when pyproject.toml changes.
$(BIN)/python:
	@echo "making the environment $(VENV)"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/core: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet -e .
	touch $@

# Says what it installs; the arms are compiled when they are needed, the others while the page is looked at.
$(VENV)/viewer: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --disable-pip-version-check --progress-bar off -e '.[viewer,report]'
	touch $@

$(VENV)/dev: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet -e '.[dev]'
	touch $@

$(VENV)/bench: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet -e '.[bench]'
	touch $@

clean:
	rm -rf $(VENV) dist build site .mypy_cache .ruff_cache .pytest_cache .hypothesis
