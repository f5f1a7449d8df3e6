# Two commands do all the set-up: `make demo` shows Wavedex at work, `make test` runs the tests.
PYTHON ?= python3
comma := ,
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEMO_READY := $(VENV)/.ready-for-demo

# Hundreds of processes are started by the tests, and each would compile the library again.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help setup demo check rest test nightly lint format types docs newcomer bench bench-quick clean

help:
	@echo "make demo         set up and index a year of real flights"
	@echo "make check        lint, types, and every test that needs no Spark, server, browser or time"
	@echo "make test         set up and run the tests; make test T=tests/plan runs some"
	@echo "make rest         the tests that make check leaves out"
	@echo "make nightly      every test in every combination, many new examples"
	@echo "make setup        only set up $(VENV)"
	@echo "make lint         check style, formatting and the import layers"
	@echo "make format       format the code"
	@echo "make types        check the types"
	@echo "make docs         the pages as a site in build/site, with search and the API"
	@echo "make newcomer     what README and pages say, in a new environment, in order"
	@echo "make bench-quick  a small race against other stores, with checked answers"
	@echo "make bench        the race at full size, cycles, sweeps, promises, lifetimes, windows in memory, sets over time, cold windows, and what Spark adds"

setup: $(READY)

define install
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Wavedex needs Python 3.11 or later; try make PYTHON=python3.11"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[$(1)]'
	@java -version >/dev/null 2>&1 || \
	  echo "No Java found: everything works but Spark, which needs Java 17 or later."
	@touch $@
endef

$(READY): pyproject.toml constraints.txt
	$(call install,dev)
	@touch $(DEMO_READY)

# The demo needs Spark and its flights, and none of what the tests and the race need.
$(DEMO_READY): pyproject.toml constraints.txt
	$(call install,demo$(comma)spark)

demo: $(DEMO_READY)
	@$(BIN)/python demo/flights.py

# In memory where there is room: the tests sync thousands of files, and what a crash leaves is tested
# with disks that forget what was not synced.
define in_memory
	@free=$$(df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 { print $$4 }'); \
	test "$${free:-0}" -gt 8000000 && below=/dev/shm || below=$${TMPDIR:-/tmp}; \
	scratch=$$(mktemp -d "$$below/wavedex-XXXXXX") && chmod 755 "$$scratch" && \
	{ TMPDIR=$$scratch $(BIN)/python -m pytest -n 2 --dist worksteal $(1); status=$$?; \
	  rm -rf "$$scratch"; exit $$status; }
endef

check: lint types
	$(call in_memory,-m "not spark and not server and not crash and not slow and not browser" $(T))

rest: setup
	$(call in_memory,-m "spark or server or crash or slow or browser" $(T))

test: setup
	$(call in_memory,$(T))

nightly: export WAVEDEX_TESTS = all
nightly: setup
	$(call in_memory,$(T))

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

format: setup
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

types: setup
	$(BIN)/mypy

docs: setup
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs build/site
	@echo "build/site/index.html"

newcomer:
	$(PYTHON) tests/newcomer.py

bench-quick: setup
	$(BIN)/python -m bench --quick

bench: setup
	$(BIN)/python -m bench
	$(BIN)/python -m bench.plain
	$(BIN)/python -m bench.cycles
	$(BIN)/python -m bench.sweeps
	$(BIN)/python -m bench.promises
	$(BIN)/python -m bench.changing
	$(BIN)/python -m bench.hashes
	$(BIN)/python -m bench.hidden
	$(BIN)/python -m bench.joints
	$(BIN)/python -m bench.windows
	$(BIN)/python -m bench.sets
	$(BIN)/python -m bench.checks
	$(BIN)/python -m bench.upkeep
	$(BIN)/python -m bench.cold
	$(BIN)/python -m bench.afar
	$(BIN)/python -m bench.lifetimes --full --large
	$(BIN)/python -m bench.spark

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
