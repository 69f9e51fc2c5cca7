# make demo and make test are all a newcomer needs: each makes .venv when it is missing.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test lint types tests docs test-slow fuzz kills bench bench-training bench-costs clean

# What a test does must not hang on the locale or on the order of names in a set.
PYTEST := OMP_NUM_THREADS=1 PYTHONHASHSEED=0 PYTHONUTF8=1 $(BIN)/pytest -n auto --dist worksteal --rooms
MINUTES ?= 10

demo: $(READY)
	$(BIN)/manyhands demo

test: lint types tests docs

lint: $(READY)
	@echo "== lint"
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	@echo "== types"
	$(BIN)/mypy

tests: $(READY)
	@echo "== tests: a line for every folder whose tests are over"
	$(PYTEST) -m "not slow"

docs: $(READY)
	@echo "== docs"
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html

# Tests that are necessarily slow; make test leaves them out.
test-slow: $(READY)
	@echo "== slow tests"
	$(PYTEST) -m slow

# At random, for MINUTES each: damaged files through every command, and new examples for the
# property tests.
fuzz: $(READY)
	$(BIN)/python tests/fuzz.py commands $(MINUTES)
	OMP_NUM_THREADS=1 $(BIN)/python tests/fuzz.py properties $(MINUTES)

# 100 kills of training, 50 of reproduce, and 20 pairs of writers; about half an hour.
kills: $(READY)
	$(BIN)/python tests/fuzz.py kills 0

bench: $(READY)
	$(BIN)/python -m benchmarks.aggregation

bench-training: $(READY)
	$(BIN)/python -m benchmarks.training

bench-costs: $(READY)
	$(BIN)/python -m benchmarks.epoch_costs

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt torch
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[all,dev]'
	touch $(READY)

clean:
	rm -rf $(VENV) docs/_build .mypy_cache .pytest_cache .ruff_cache
