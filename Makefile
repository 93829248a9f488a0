PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

# The wheel of llama-cpp-python is built once and kept here: it takes minutes and does not depend on us.
WHEELS ?= $(HOME)/.cache/rekal-wheels
LLAMA_FLAGS := -DGGML_NATIVE=OFF -DLLAVA_BUILD=OFF -DLLAMA_BUILD_TOOLS=OFF -DLLAMA_BUILD_EXAMPLES=OFF \
	-DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_SERVER=OFF -DLLAMA_BUILD_APP=OFF -DLLAMA_OPENSSL=OFF

.PHONY: demo demo-documents test test-llama check coverage journeys bench soak docs

$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $(STAMP)

demo: $(STAMP)  ## A commit turns an agent's transcript into a recalled session, in a scratch repository
	$(BIN)/python scripts/demo.py

demo-documents: $(STAMP)  ## Notes, a chat and mails of an invented festival are asked
	$(BIN)/python scripts/demo_documents.py

test: $(STAMP)  ## All tests
	$(BIN)/python -m pytest -n 2 -m "not soak"

test-llama: $(STAMP)  ## The embedding engines give the same vectors; builds llama-cpp-python once
	ls $(WHEELS)/llama_cpp_python-*.whl >/dev/null 2>&1 || \
		CMAKE_ARGS="$(LLAMA_FLAGS)" $(BIN)/python -m pip wheel --no-deps --wheel-dir $(WHEELS) 'llama-cpp-python>=0.3.16,<0.4'
	$(BIN)/python -m pip install --quiet --find-links $(WHEELS) 'llama-cpp-python>=0.3.16,<0.4'
	$(BIN)/python -m pytest -n 0 tests/embed

check: $(STAMP)  ## Style, types, walls between rooms, fresh docs
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -n 0 tests/house

coverage: $(STAMP)  ## The tests, and the lines that none of them reaches
	$(BIN)/python -m pytest -n 2 -m "not soak" --cov --cov-report=term-missing:skip-covered

journeys: $(STAMP)  ## How many of our files a commit, a recall, a push and a receipt meet
	$(BIN)/python scripts/journeys.py

bench: export OPENBLAS_NUM_THREADS = 1  # as the program itself asks for
bench: $(STAMP)  ## Speed and size, as ratios; compiled first, as pip compiles what it installs
	$(BIN)/python -m compileall -q rekal
	for script in benchmarks/bench_*.py; do \
		echo "== $$script"; $(BIN)/python -m benchmarks.$$(basename $$script .py) || exit 1; done

soak: $(STAMP)  ## Long-running tests: kill anywhere, many processes, fuzzing
	$(BIN)/python -m pytest -n 0 -m soak --timeout 3600

docs: $(STAMP)  ## Write the generated parts of docs/ anew
	$(BIN)/python scripts/write_docs.py
	$(BIN)/python scripts/write_integrations.py
