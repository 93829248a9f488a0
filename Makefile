PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test check bench soak docs clean-venv

$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $(STAMP)

demo: $(STAMP)  ## A commit turns an agent's transcript into a recalled session, in a scratch repository
	$(BIN)/python scripts/demo.py

test: $(STAMP)  ## All tests
	$(BIN)/python -m pytest -n 2 -m "not soak"

check: $(STAMP)  ## Style, types, walls between rooms, fresh docs
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -n 0 tests/house

bench: $(STAMP)  ## Speed and size, as ratios
	for script in benchmarks/bench_*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

soak: $(STAMP)  ## Long-running tests: kill anywhere, many processes, fuzzing
	$(BIN)/python -m pytest -n 0 -m soak --timeout 3600

docs: $(STAMP)  ## Write the generated parts of docs/ anew
	$(BIN)/python scripts/write_docs.py
