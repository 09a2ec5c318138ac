# Everything happens in .venv/, made on first use and made again when pyproject.toml changes.
#   make run        the window, or the same job on the command line where there is none
#   make test       the quick tests        make test-slow / test-gpu    the others
#   make lint       ruff, types, imports   make bench                   side by side with peers
#   make format     what `make lint` asks of the layout            make screenshots   the guide's pictures

PYTHON ?= python3
BIN := .venv/bin
USER_READY := .venv/.ready-user
DEV_READY := .venv/.ready-dev
PYTEST := $(BIN)/python -m pytest
# As pip does for what is not editable: a first start, or one that may not write any, else parses every module.
BYTE_CODE := @$(BIN)/python -m compileall -q -j 0 app compiler kernels profiler

.PHONY: run test test-slow test-gpu lint format bench screenshots clean
.DELETE_ON_ERROR:
# Tests start hundreds of processes, which would each compile every module again.
unexport PYTHONDONTWRITEBYTECODE

# `gui` ends with status 4 where no window can be had, after saying why in one line.
run: $(USER_READY)
	@$(BIN)/kernelglass gui sample:mlp || { status=$$?; [ $$status -eq 4 ] || exit $$status; \
	    $(BIN)/kernelglass compile sample:mlp && $(BIN)/kernelglass run sample:mlp --check; }

# The tests of one file share a window or a compilation, so a file stays in one process. In their own order the window's
# files, few and long, come early; the many short ones then fill both processes to the end.
test: $(DEV_READY)
	$(PYTEST) -n auto --dist loadfile --no-loadscope-reorder -m "not slow and not gpu"

# What Hypothesis tries a part of in the quick tests, it tries whole here.
test-slow: $(DEV_READY)
	$(PYTEST) -m "slow and not gpu"
	$(PYTEST) --hypothesis-profile=full -m "hypothesis and not slow and not gpu"

test-gpu: $(DEV_READY)
	$(PYTEST) -m gpu

lint: $(DEV_READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright
	$(BIN)/lint-imports

format: $(DEV_READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# A benchmark ends with status 75 where the machine was too busy to judge, after saying so.
bench: $(DEV_READY)
	@for file in benchmarks/[!_]*.py; do \
	    case $$file in *gpu.py) continue;; esac; echo "== $$file"; $(BIN)/python "$$file" || [ $$? -eq 75 ] || exit 1; done

screenshots: $(DEV_READY)
	QT_QPA_PLATFORM=offscreen $(BIN)/python tools/screenshots.py

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "Python 3.11 or newer is needed; $(PYTHON) is $$($(PYTHON) -V). Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv .venv

$(USER_READY): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable .
	$(BYTE_CODE)
	@touch $@

$(DEV_READY): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	$(BYTE_CODE)
	@touch $(USER_READY) $@

clean:
	rm -rf .venv build dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
