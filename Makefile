# Everything a person runs. `make help` lists it.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STORE ?= demo-store
SERVE ?= 1
PORT ?= 8899
TRACE ?=

.PHONY: help setup setup-aws demo test test-deep sanitize check synth gen bench screenshots clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

setup: ## make the virtual environment, build the recorder and the app (done by demo and test)
	@PYTHON=$(PYTHON) tools/setup.sh

setup-aws:
	@PYTHON=$(PYTHON) tools/setup.sh aws

setup-test:
	@PYTHON=$(PYTHON) tools/setup.sh test

demo: setup ## record a real training, process it, print the verdict, serve the app (SERVE=0: stop before; TRACE=path: import that too)
	@BIN=$(BIN) STORE=$(STORE) SERVE=$(SERVE) PORT=$(PORT) TRACE="$(TRACE)" tools/demo.sh

test: setup-test ## run all tests
	@tools/system_packages.sh
	$(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder -m 'not deep' --durations=10

test-deep: setup-aws ## run the tests that take minutes (sanitizers)
	$(BIN)/python -m pytest -m deep

sanitize: setup ## run the recorder's tests under the address and the thread sanitizer (SANITIZERS=thread: that one)
	tools/sanitize.sh $(SANITIZERS)

test-readers: setup ## read real profiles with DuckDB, pyarrow and PySpark (installs 300 MB into build/; needs Java 17)
	$(BIN)/python tools/check_readers.py

check: setup-aws ## formatting, lint, types, import rules, generated files
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy schema/src analysis/src store_s3/src simulate/src cli/src sdk/src ui_app/server/src tools infra lambdas app.py
	$(BIN)/lint-imports --no-cache
	$(BIN)/python tools/gen.py --check
	cd ui_app/web && npm run --silent check

synth: setup-aws ## write the CloudFormation templates to cdk.out; needs no credentials and no network
	CDK_OUTDIR=cdk.out $(BIN)/python app.py
	$(BIN)/cfn-lint cdk.out/*.template.json

gen: setup ## rewrite the files derived from schema/
	$(BIN)/python tools/gen.py

bench: setup ## print figures beside those of peers, measured in the same run
	$(BIN)/python benchmarks/run.py

screenshots: setup ## pictures of the app and the report, light and dark, into artifacts/
	@tools/system_packages.sh
	$(BIN)/python tools/screenshots.py --store $(STORE) --out artifacts

clean: ## remove everything that was built, and the demo's store
	rm -rf $(VENV) $(VENV)-jupyter build dist cdk.out demo-store artifacts ui_app/web/node_modules ui_app/server/src/tracemill_ui/static
	find . -name '*.egg-info' -o -name __pycache__ -type d | xargs rm -rf
