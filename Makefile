# `make` lists the targets. Settings: PYTHON, PYTEST_ARGS, BENCH_ARGS, WHEEL_DIR, JOBS.

VENV := .venv
BIN := $(VENV)/bin
# What attacks the promises: mostly other processes at work, so coverage learns nothing there.
PROOF := tests/faults tests/planted tests/races tests/sim
JOBS ?= 2
WHEEL_DIR ?= dist

export PIP_DISABLE_PIP_VERSION_CHECK := 1

# Only this folder's environment and sources count.
unexport PYTHONPATH PYTHONHOME VIRTUAL_ENV

# The first interpreter that really runs: a name on PATH may be a shim with nothing behind it.
CANDIDATES = $(PYTHON) python3 python3.13 python3.12 python3.11 /usr/bin/python3
probe := import sys; assert sys.version_info >= (3, 11); print(sys.executable)
venv_probe := import ensurepip, venv; $(probe)
find = $(shell for c in $(CANDIDATES); do $$c -c '$(1)' 2>/dev/null && break; done)

NO_PYTHON = no working Python 3.11 or newer: install the package python3, or set PYTHON to one
NO_VENV = Python's venv module is missing: install the package python3-venv
PY = $(eval PY := $$(call find,$$(probe)))$(or $(PY),$(error $(NO_PYTHON)))
VENV_PY = $(eval VENV_PY := $$(call find,$$(venv_probe)))$(or $(VENV_PY),$(if $(PY),$(error $(NO_VENV))))

# A folder that was moved or copied gets a new environment: the old one imports the old sources.
STAMP := $(VENV)/made-for-$(shell printf %s '$(CURDIR)' | cksum | cut -d' ' -f1)

.DEFAULT_GOAL := help
.PHONY: help demo test lint types contracts format docs nightly bench wheel clean which-python

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## Show the board at work; needs Python alone, leaves nothing behind
	@scratch=$$(mktemp -d) && trap 'rm -rf "$$scratch"' EXIT && trap 'exit 130' INT TERM && \
	PYTHONPATH='$(CURDIR)/src' PYTHONPYCACHEPREFIX="$$scratch" '$(PY)' -m repokernel demo board

test: lint types contracts ## Check everything: lint, types, contracts, tests, coverage
	$(BIN)/python -m coverage run -m pytest $(PYTEST_ARGS) $(addprefix --ignore=,$(PROOF))
	$(BIN)/python -m pytest $(PYTEST_ARGS) --numprocesses $(JOBS) --dist loadgroup $(PROOF)
	$(BIN)/python -m coverage report
	$(BIN)/python -m coverage report --include='*/repokernel/core/*' --fail-under=100

lint: $(STAMP) ## Run ruff
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .

types: $(STAMP) ## Run mypy
	$(BIN)/python -m mypy

contracts: $(STAMP) ## Check who imports whom
	$(BIN)/lint-imports --no-logo

format: $(STAMP) ## Format, and fix what ruff can fix
	$(BIN)/python -m ruff format .
	$(BIN)/python -m ruff check --fix .

docs: $(STAMP) ## Rewrite the generated parts of the documentation
	$(BIN)/python docs/generate.py

nightly: $(STAMP) ## Run the tests with full counts; what they counted goes to docs/nightly.jsonl (then: make docs)
	@$(BIN)/python -m tests.figures > docs/nightly.jsonl
	HYPOTHESIS_PROFILE=nightly RK_NIGHTLY=1 RK_FIGURES='$(CURDIR)/docs/nightly.jsonl' \
	$(BIN)/python -m pytest --numprocesses $(JOBS) --dist loadgroup $(PYTEST_ARGS)

bench: $(STAMP) ## Measure speed
	$(BIN)/python -m bench $(BENCH_ARGS)

wheel: $(STAMP) ## Build the wheel into WHEEL_DIR (dist)
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir '$(WHEEL_DIR)' .

clean: ## Remove all that these targets made
	rm -rf $(VENV) dist .coverage .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find src tests bench -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

which-python:
	@echo '$(VENV_PY)'

$(STAMP): pyproject.toml
	@rm -rf $(VENV)
	@'$(VENV_PY)' -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@
