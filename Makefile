# make demo and make test are all a newcomer needs: each makes .venv when it is missing.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test lint types tests docs bench bench-training bench-costs clean

demo: $(READY)
	$(BIN)/manyhands demo

test: lint types tests docs

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

tests: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/pytest -n auto

docs: $(READY)
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html

bench: $(READY)
	$(BIN)/python -m benchmarks.aggregation

bench-training: $(READY)
	$(BIN)/python -m benchmarks.training

bench-costs: $(READY)
	$(BIN)/python -m benchmarks.epoch_costs

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt torch
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[learn,dev]'
	touch $(READY)

clean:
	rm -rf $(VENV) docs/_build .mypy_cache .pytest_cache .ruff_cache
