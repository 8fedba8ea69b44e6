# Two commands on a fresh machine: `make study` and `make test`. Python 3.11+, make and gcc are all they need.
# `make test PYTHON=python3.13` tests with another Python, in an environment of its own.
PYTHON ?= python3
VENV := .venv$(if $(filter-out python3,$(PYTHON)),-$(notdir $(PYTHON)))
BIN := $(VENV)/bin
EXTRAS := study,dask
STAMP := $(VENV)/.installed
STUDY := $(VENV)/.study
WARM := $(VENV)/.warmed
LOOPS := $(shell find src/didact -name '*_loops.py' -o -path 'src/didact/parts/*.py' -o -path 'src/didact/core/jit/*.py')

.PHONY: setup study wheel test test-portable compat fuzz smoke bench lint types docs clean

setup: $(STAMP) $(WARM)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit("didact needs Python 3.11 or later; try: make PYTHON=python3.11") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)

$(STAMP): pyproject.toml hatch_build.py Makefile | $(BIN)/python
	$(BIN)/python -m pip install -q --upgrade pip
	$(BIN)/python -m pip install -q -e '.[$(EXTRAS)]' --group test --group lint --group docs
	@touch $@ $(STUDY)

$(STUDY): pyproject.toml hatch_build.py | $(BIN)/python
	$(BIN)/python -m pip install -q -e '.[study]'
	@touch $@

$(WARM): $(STAMP) $(LOOPS)
	$(BIN)/didact warm
	@touch $@

study: $(STUDY)
	$(BIN)/didact study penguins --target Sex --out didact-study

# A wheel for this Python and this Numba that carries the loops, compiled for x86-64-v3.
wheel: $(STAMP)
	rm -rf build/compiled
	$(BIN)/didact warm --pack build/compiled
	DIDACT_COMPILED=build/compiled $(BIN)/python -m hatchling build -t wheel -d dist

test: setup
	$(BIN)/ruff check src tests benchmarks examples
	$(BIN)/ruff format --check src tests benchmarks examples
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/sphinx-build -q -W --keep-going -j 2 -t quick -b html docs docs/_build/quick
	SCIPY_ARRAY_API=1 $(BIN)/python -m pytest -n 2 --dist loadgroup -q --durations=15
	$(BIN)/python tests/portable.py --short

test-portable: setup
	$(BIN)/python tests/portable.py

compat: setup
	$(BIN)/python tests/compat/run.py --save

fuzz: setup
	SCIPY_ARRAY_API=1 $(BIN)/python tests/registry/fuzz_inputs.py
	SCIPY_ARRAY_API=1 $(BIN)/python tests/registry/fuzz_files.py

smoke: setup
	SCIPY_ARRAY_API=1 $(BIN)/python -m pytest -n 2 --dist loadgroup -q -m 'not slow and not cluster' tests/core tests/parts tests/engines tests/linear_model

bench: setup
	$(BIN)/python -m benchmarks setup
	$(BIN)/python -m benchmarks all

lint: setup
	$(BIN)/ruff check --fix src tests benchmarks examples
	$(BIN)/ruff format src tests benchmarks examples
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: setup
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html

clean:
	rm -rf .venv .venv-python* .venv-bench .cache build dist docs/_build docs/gallery didact-study
