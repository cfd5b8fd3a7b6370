# Everything runs in .venv, which is made here; nothing else needs to be installed by hand.
#
#   make demo     train a Corso agent from nothing, measure it, and say how to play it
#   make test     all tests
#   make lint     formatting, lint and types
#   make bench    speed of the environments and of the search, beside peers

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt
SOURCES := pyproject.toml setup.py constraints.txt
PACKAGES := envs models training analysis cli configs
DEMO := runs/corso-demo

.PHONY: demo test lint format bench cuda-compile clean

demo: $(VENV)/.train
	$(BIN)/ludarium train corso --config corso/demo --folder $(DEMO)
	$(BIN)/ludarium evaluate $(DEMO) --games 200 --simulations 64
	@echo
	@echo "Play against it:  $(BIN)/ludarium play $(DEMO)"

test: $(VENV)/.dev
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal

lint: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	@# The folders become one namespace package for the type checker, as they do when installed.
	@mkdir -p build/types/ludarium
	@for package in $(PACKAGES); do ln -sfn ../../../$$package build/types/ludarium/$$package; done
	MYPYPATH=build/types $(BIN)/mypy $(PACKAGES:%=-p ludarium.%)

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.dev
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/environments.py
	$(BIN)/python benchmarks/networks.py
	$(BIN)/ludarium bench

# Lets a test compile the rules for CUDA, without a GPU.
cuda-compile: $(VENV)/.dev
	$(PIP) --editable '.[cuda-compile]'

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "ludarium needs Python 3.11 or newer: make PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.train: $(BIN)/python $(SOURCES)
	$(PIP) --editable '.[train]'
	@touch $@

$(VENV)/.dev: $(BIN)/python $(SOURCES)
	$(PIP) --editable '.[dev]'
	@touch $@ $(VENV)/.train

clean:
	rm -rf $(VENV) build dist *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
