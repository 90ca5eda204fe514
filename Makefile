# Two commands matter on a fresh machine: `make demo` and `make test`. Both install what they need.
PYTHON ?= python3
VENV   ?= .venv
RUN    := $(VENV)/bin

.PHONY: demo test coverage lint bench audit bounds pythons release-check docs clean install dev

demo: install  ## the main job end to end: a city, its riders, a private release, a report
	$(RUN)/wayveil demo --out demo

TESTS := $(RUN)/pytest -n 2 --dist worksteal -q -m "not audit"

test: dev lint  ## install, lint, type-check, import contracts, every test
	$(TESTS)

coverage: dev  ## the same tests, and which lines they reach; half as long again
	$(TESTS) --cov --cov-report=term:skip-covered --cov-fail-under=90

lint: dev  ## style, types, and who may import whom
	$(RUN)/ruff check src tests bench tuning pages tools
	$(RUN)/ruff format --check src tests bench tuning pages tools
	$(RUN)/mypy
	$(RUN)/lint-imports

bench: dev  ## performance, each figure a ratio to a baseline measured in the same run
	$(RUN)/python -m bench

audit: dev  ## attack every guarantee; deliberately broken variants must be caught
	HYPOTHESIS_PROFILE=exploring $(RUN)/pytest -n 2 -q -m "audit or reference"
	$(RUN)/wayveil lab audit --all

# Everything before the dev extra in pyproject.toml is ours to promise; test tools stay at their newest.
LOWEST := import re; text = open("pyproject.toml").read().split("\ndev = ")[0]; \
  print(*map("==".join, re.findall(r"\"([A-Za-z][\w-]*)(?:\[\w+\])?>=([\d.]+)\"", text)), sep="\n")

bounds:  ## every test with each dependency at its lower bound; wants PYTHON=python3.11, the lowest of all
	mkdir -p $(VENV)/bounds
	$(PYTHON) -c '$(LOWEST)' > $(VENV)/bounds/lowest.txt
	PIP_CONSTRAINT=$(VENV)/bounds/lowest.txt $(MAKE) dev VENV=$(VENV)/bounds
	$(VENV)/bounds/bin/pytest -n 2 -q -m "not audit"

pythons:  ## the tests on every supported Python that is on this machine, each in an environment of its own
	for version in 3.11 3.12 3.13 3.14; do \
	  if command -v python$$version > /dev/null; \
	  then $(MAKE) test PYTHON=python$$version VENV=$(VENV)/python$$version || exit 1; \
	  else echo "python$$version is not on this machine: skipped"; fi; done

docs: $(VENV)/installed-docs  ## the site, offline: docs/_build/html/index.html; warnings are errors, notebooks are run, links checked
	$(RUN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	$(RUN)/python -m tools.links docs/_build/html

records: dev  ## run every study anew, and write all pages about them and the results page: an hour, DATA=folder
	$(VENV)/bin/python -m wayveil.lab.studies.docs docs --remake $(or $(SCALE),quick) $(if $(DATA),--data $(DATA))
	$(VENV)/bin/python -m pages.results

release-check: dev  ## ready for a tag: version, changelog, wheel, sdist, metadata, licences, bill of materials
	$(RUN)/python -m tools.release_check --out dist

install: $(VENV)/installed
dev: $(VENV)/installed-dev

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: pyproject.toml | $(VENV)/bin/python
	$(RUN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(VENV)/installed-dev: pyproject.toml | $(VENV)/bin/python
	$(RUN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@ $(VENV)/installed

$(VENV)/installed-docs: pyproject.toml | $(VENV)/bin/python
	$(RUN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	touch $@

clean:
	rm -rf $(VENV) demo dist docs/_build .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage
