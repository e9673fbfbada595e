# Everything that is done to this repository.  Needs Python 3.11+ and make; node and go for its tests.

PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed
NODE_TESTS := $(wildcard tests/*/package.json tests/*/*/package.json)
NODE_INSTALLED := $(NODE_TESTS:package.json=node_modules/.installed)
GO_TESTS := $(wildcard tests/*/go.mod tests/*/*/go.mod)

.PHONY: all serve test check fmt bench fuzz wheel clean

all: check test

serve: $(INSTALLED)
	$(BIN)/policyd serve policies/

check: $(INSTALLED)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/policyd check --prove policies/
	$(BIN)/policyd test policies/

# the decision core must be covered to the last branch; the rest is only reported
test: $(INSTALLED) node go
	$(BIN)/pytest --cov --cov-report=
	$(BIN)/coverage report --skip-covered
	$(BIN)/coverage report --rcfile=tests/core.coveragerc --fail-under=100

fmt: $(INSTALLED)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# 20,000 random expressions, against Google's implementation of CEL: half a minute
fuzz: $(INSTALLED)
	POLICYD_FUZZ=20000 $(BIN)/pytest -q tests/expr/cel/test_oracle.py

bench: $(INSTALLED)
	$(BIN)/python benchmarks/decide.py
	$(BIN)/python benchmarks/chain.py
	$(BIN)/python benchmarks/deadline.py
	$(BIN)/python benchmarks/detectors.py
	$(BIN)/python benchmarks/redact.py

wheel: $(INSTALLED)
	$(BIN)/python -m build --outdir dist .

clean:
	rm -rf .venv dist .coverage .mypy_cache .pytest_cache .ruff_cache .hypothesis
	rm -rf tests/*/node_modules tests/*/*/node_modules

$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "policyd needs Python 3.11 or newer")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $@

# no lock file: it would record where the packages came from
.PHONY: node
node: $(if $(shell command -v npm),$(NODE_INSTALLED))

tests/%/node_modules/.installed: tests/%/package.json
	cd tests/$* && npm install --no-package-lock --no-audit --no-fund --loglevel=error
	touch $@

# vetting compiles what the tests build, so that no test waits for it
.PHONY: go $(GO_TESTS)
go: $(if $(shell command -v go),$(GO_TESTS))

$(GO_TESTS):
	cd $(@D) && go mod download && go vet -mod=readonly ./...
