# Everything runs in .venv, which this file makes; nothing needs to be installed by hand.
#
#   make demo         train a Corso agent from nothing, measure it, and say how to play it
#   make test         the quick tests: a few minutes the first time, while games are compiled
#   make test-all     all tests: the quick ones, then the slow ones
#   make test-lowest  the environments' tests at the lowest versions that pyproject.toml allows
#   make test-page    builds the page, and tests it in a browser (Chromium or Chrome must be there)
#   make test-cluster the tests that need Ray, which it installs
#   make lint         formatting, lint, the direction of imports, and types
#   make modules      the games as WebAssembly modules, in build/modules (docs/guide/wasm.md)
#   make page         the page to play in a browser, in play/built (docs/guide/page.md)
#   make site         these documents as a site, in build/site; a warning is an error
#   make pages        the pages of docs/guide that are made from code
#   make without-obsidio  the sources without that game, in build/without-obsidio (RELEASING.md)
#   make libraries    machine code of all games for this system, in machine/shipped: nothing compiles
#   make dist         wheels for all systems, and an sdist, from a copy of git's files, in build/dist
#   make cpu          to be called first, on Linux: torch's build without 3 GB for GPUs
#   make reports      reports on all games, in docs/reports; takes half an hour
#   make bench        speed of the environments and of the search, beside other libraries
#   make bench-quick  checks that the benchmarks still run
#   make bench-peers  writes docs/results/peers.md: Connect Four and Hex here and in other libraries; 15 minutes
#   make lines        lines of code of each package and the tests; more than .ci/lines.toml is an error
#   make fuzz         many hostile files for every reader, many killed and damaged runs
#   make clean        removes all results; compiled games are in the cache folder, docs/guide/install.md

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt
SOURCES := pyproject.toml setup.py constraints.txt
PACKAGES := $(patsubst %/py.typed,%,$(wildcard */py.typed))
PYTEST := -m pytest --numprocesses auto --dist loadgroup
LOWEST := .venv-lowest
PEERS := .venv-peers
DEMO := runs/corso-demo
REPORTS := docs/reports
BENCHMARKS := startup environments memory networks moves analysis wasm
LONG_BENCHMARKS := ppo ablations strength exact_moves

.PHONY: types demo test test-all test-lowest test-page test-cluster lint format libraries modules page pages site dist cpu reports bench bench-quick bench-peers lines fuzz clean
.PHONY: without-obsidio

demo: $(VENV)/.train
	$(BIN)/ludarium train corso --config corso/demo --folder $(DEMO)
	$(BIN)/ludarium evaluate $(DEMO) --games 200 --simulations 64
	@echo
	@echo "Play against it:  $(BIN)/ludarium play $(DEMO)"

test: $(VENV)/.dev
	$(BIN)/python $(PYTEST) -m "not slow"

test-all: test
	$(BIN)/python $(PYTEST) -m slow

test-lowest: $(LOWEST)/.ready
	$(LOWEST)/bin/python $(PYTEST) -m "not slow" tests/base tests/envs

test-page: page
	$(PIP) --group browser
	$(BIN)/python $(PYTEST) tests/play/test_page*.py \
		tests/play/test_site.py::test_the_built_page_is_whole_and_current

test-cluster: $(VENV)/.dev
	$(PIP) --editable '.[cluster]'
	$(BIN)/python -m pytest tests/cluster

fuzz: $(VENV)/.dev
	SURVIVAL_TIMES=100 $(BIN)/python -m pytest --timeout 0 tests/survival

lint: $(VENV)/.dev types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	PYTHONPATH=build/types $(BIN)/lint-imports --no-logo --no-cache
	MYPYPATH=build/types $(BIN)/mypy $(PACKAGES:%=-p ludarium.%)
	cd benchmarks && MYPYPATH=../build/types ../$(BIN)/mypy *.py
	cd examples && MYPYPATH=../build/types ../$(BIN)/mypy *.py native/*.py language/*.py
	cd examples/classics && MYPYPATH=../../build/types ../../$(BIN)/mypy classics test_classics.py
	cd docs/tools && MYPYPATH=../../build/types ../../$(BIN)/mypy *.py

# The folders as one namespace package, as when installed, for tools that read sources.
types:
	@mkdir -p build/types/ludarium
	@for package in $(PACKAGES); do ln -sfn ../../../$$package build/types/ludarium/$$package; done

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

modules: $(VENV)/.dev
	$(BIN)/python -m ludarium.play.build --output build/modules

libraries: $(VENV)/.dev
	$(BIN)/python -m ludarium.play.shipping

page: $(VENV)/.dev
	rm -rf play/built.new
	$(BIN)/ludarium page play/built.new
	rm -rf play/built
	mv play/built.new play/built

pages: $(VENV)/.train
	$(BIN)/python docs/tools/generate.py

site: $(VENV)/.pip types
	$(PIP) --group docs --editable .
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

without-obsidio:
	$(PYTHON) .ci/without_obsidio.py build/without-obsidio

dist: $(VENV)/.dev
	@test -f play/built/site.json || { echo "play/built has no page: make page"; exit 1; }
	@git diff --quiet || { echo "the working folder differs from what git has: git add, or commit"; exit 1; }
	@others="$$(git ls-files --others -- $(PACKAGES:%='%/*.py'))"; test -z "$$others" || \
		{ echo "git does not have $$others: sources that the machine code would be made of"; exit 1; }
	$(BIN)/python -m pytest -q tests/play/test_site.py::test_the_built_page_is_whole_and_current
	$(PIP) build check-wheel-contents twine
	rm -rf build/copy build/dist
	git checkout-index --all --prefix=build/copy/
	cp -r play/built build/copy/play/
	$(BIN)/python -m build --outdir build/dist build/copy
	$(BIN)/python -m ludarium.play.shipping --platform all --output build/shipped
	$(BIN)/python .ci/wheels.py build/dist/*.whl build/shipped
	$(BIN)/twine check --strict build/dist/*
	$(BIN)/check-wheel-contents build/dist/*.whl

cpu: $(VENV)/.pip
	$(PIP) uv
	$(BIN)/uv pip install --quiet --python $(BIN)/python --torch-backend cpu \
		--constraint constraints.txt torch

reports: $(VENV)/.train
	@mkdir -p $(REPORTS)
	$(BIN)/ludarium report corso --compare size=5,6 --output $(REPORTS)/corso.html
	$(BIN)/ludarium report onyx --compare start=standard,open --output $(REPORTS)/onyx.html
	$(BIN)/ludarium report osiron --compare movement=basic,advanced --output $(REPORTS)/osiron.html
	$(BIN)/ludarium report obsidio --compare diagonal_adjacency=true,false --output $(REPORTS)/obsidio.html
	$(BIN)/ludarium report obelisk --compare scoring=points,topple --output $(REPORTS)/obelisk.html

bench: $(VENV)/.dev
	set -e; for each in $(BENCHMARKS); do $(BIN)/python benchmarks/$$each.py; done
	$(BIN)/ludarium bench

bench-quick: $(VENV)/.dev
	set -e; for each in $(BENCHMARKS) $(LONG_BENCHMARKS); do \
		$(BIN)/python benchmarks/$$each.py --quick; done
	$(BIN)/ludarium bench corso --seconds 0.1

bench-peers: libraries $(PEERS)/.ready
	$(PEERS)/bin/python benchmarks/peers.py --output docs/results/peers.md

# Lines of code, which .ci/lines.toml limits.
lines:
	@$(PYTHON) .ci/lines.py

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "ludarium needs Python 3.11 or newer: make PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.pip: $(BIN)/python constraints.txt
	$(PIP) pip  # the one that Python brings may not know dependency groups
	@touch $@

$(VENV)/.train: $(VENV)/.pip $(SOURCES)
	$(PIP) --editable '.[train]'
	@touch $@

$(VENV)/.dev: $(VENV)/.pip $(SOURCES)
	$(PIP) --group dev --editable '.[export,hub,plugs,tune,wasm]'
	@touch $@ $(VENV)/.train

$(LOWEST)/.ready: pyproject.toml tests/lowest_versions.py
	$(PYTHON) -m venv --clear $(LOWEST)
	$(PYTHON) tests/lowest_versions.py > $(LOWEST)/lowest.txt
	$(LOWEST)/bin/python -m pip --disable-pip-version-check install --quiet \
		--constraint $(LOWEST)/lowest.txt \
		--editable '.[compile,render]' hypothesis 'pytest<9.2' pytest-timeout pytest-xdist
	@touch $@

$(PEERS)/.ready: pyproject.toml constraints.txt examples/classics/pyproject.toml
	$(PYTHON) -m venv --clear $(PEERS)
	$(PIP:$(BIN)/%=$(PEERS)/bin/%) pip
	$(PIP:$(BIN)/%=$(PEERS)/bin/%) --group peers --editable '.[train]' --editable examples/classics
	@touch $@

clean:
	rm -rf $(VENV) $(LOWEST) $(PEERS) build dist machine/shipped play/built play/built.new *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
