# make demo and make test are all a newcomer needs: each makes .venv when it is missing.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test lint types tests docs test-slow fuzz kills bench bench-training bench-costs bench-scale lock clean

# What a test does must not hang on the locale or on the order of names in a set.
PYTEST := OMP_NUM_THREADS=1 PYTHONHASHSEED=0 PYTHONUTF8=1 $(BIN)/pytest -n auto --dist worksteal --rooms
MINUTES ?= 10

demo: $(READY)
	$(BIN)/manyhands demo

# Types and documentation have one process each, so they run at the same time.
test: lint
	$(MAKE) --no-print-directory -j 2 types docs
	$(MAKE) --no-print-directory tests

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

bench-scale: $(READY)
	$(BIN)/python -m benchmarks.scale

PIP := $(BIN)/pip install --quiet --disable-pip-version-check

# torch has no hash: its CPU build is another file than that of the package index.
$(READY): pyproject.toml constraints.txt requirements.lock
	$(PYTHON) -m venv $(VENV)
	$(PIP) --require-hashes --no-deps -r requirements.lock
	$(PIP) -c constraints.txt torch
	$(PIP) --no-deps --no-build-isolation -e .
	$(BIN)/pip check
	touch $(READY)

# After a change of constraints.txt: the hashes of the files of these versions, for every platform.
lock:
	$(PYTHON) -m venv $(VENV)
	$(PIP) uv
	$(BIN)/uv pip compile --quiet --no-deps --generate-hashes --no-header --no-annotate \
		--no-emit-package torch constraints.txt --output-file requirements.lock

clean:
	rm -rf $(VENV) docs/_build .mypy_cache .pytest_cache .ruff_cache
