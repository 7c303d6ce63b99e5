# Start with `make demo` and `make test`; `make help` lists all targets.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SPARK_MATRIX := 3.5.9 4.3.0
.DEFAULT_GOAL := help
.PHONY: help install demo standin test test-spark-matrix hostile check audit format docs bench bench-hostile bench-soak bench-search bench-walk bench-sync bench-autosys bench-agent bench-marquez bench-governance bench-spark bench-process lock clean

help: ## Show this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: $(VENV)/.installed ## Install into .venv, from the hash-pinned lock

$(VENV)/.installed: locks/dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "lineage-bridge needs Python 3.11 or newer as '$(PYTHON)'."; \
	  echo "Install it (Debian, Ubuntu: apt install python3 python3-venv) or run: make $(MAKECMDGOALS) PYTHON=/path/to/python3"; \
	  exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "This Python cannot make virtual environments. Debian, Ubuntu: apt install python3-venv"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r locks/dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

demo: install ## Run processes and a Spark job against a service and show their lineage; Ctrl-C stops it
	$(BIN)/python -m bridge.demo

test: install ## Run all tests
	$(BIN)/python -m pytest -n 2

test-spark-matrix: install ## Run the Spark tests on the oldest and the newest supported release
	@for version in $(SPARK_MATRIX); do \
	  place=$(VENV)-spark/$$version; \
	  test -x $$place/bin/spark-submit || { \
	    $(PYTHON) -m venv $$place && $$place/bin/python -m pip install --quiet pyspark==$$version; } || exit 1; \
	  echo "Spark $$version"; \
	  SPARK_MATRIX_PYTHON=$(CURDIR)/$$place/bin/python \
	    $(BIN)/python -m pytest -n 2 tests/system/spark/test_jobs.py || exit 1; \
	done

hostile: install ## Run randomized trials of events, targets, clocks and files, ten minutes each (HOSTILE_SECONDS=600)
	HOSTILE_SECONDS=$(or $(HOSTILE_SECONDS),600) $(BIN)/python -m pytest -n 2 \
	  tests/hostile tests/fuzz tests/system/test_disk_faults.py

check: install ## Run linter, format, type and import checks
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

audit: install ## Check the locked dependencies for known vulnerabilities (needs internet access)
	$(BIN)/python .ci/audit.py

format: install ## Format the code and apply safe lint fixes
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: install ## Write the generated reference pages and API examples
	PYTHONPATH=. $(BIN)/python docs/make_examples.py
	PYTHONPATH=. $(BIN)/python docs/make_reference.py

bench: install ## Measure the intake figures of docs/performance.md
	$(BIN)/python -m benchmarks.intake

bench-hostile: install ## Measure how the heaviest events affect other clients
	$(BIN)/python -m benchmarks.hostile

bench-soak: install ## Measure whether reads become slower while a store grows
	$(BIN)/python -m benchmarks.soak

bench-search: install ## Measure searches over 100,000 datasets
	$(BIN)/python -m benchmarks.search

bench-walk: install ## Measure walks through graphs of up to 1,000,000 edges
	$(BIN)/python -m benchmarks.walk --edges 1000000

bench-sync: install ## Measure sync to OpenMetadata, against a stand-in
	$(BIN)/python -m benchmarks.sync

bench-autosys: install ## Measure a scan of 10,000 Autosys jobs and check its result
	$(BIN)/python -m benchmarks.autosys

bench-agent: install ## Measure the overhead of the agent
	$(BIN)/python -m benchmarks.agent

bench-marquez: install ## Measure the import of Marquez history and its memory use
	$(BIN)/python -m benchmarks.marquez

bench-governance: install ## Measure plan and push of 1,000 asset files, against a stand-in
	$(BIN)/python -m benchmarks.governance

bench-spark: install ## Measure the overhead of the listener in a Spark job
	$(BIN)/python -m benchmarks.spark_overhead

bench-process: install ## Measure the overhead of a process over plain PySpark
	$(BIN)/python -m benchmarks.process

standin: install ## Run an OpenMetadata stand-in on port 8585; prints URL and tokens, Ctrl-C stops it
	$(BIN)/python -m tests.standins.openmetadata --port 8585

# The DB2 driver is not in the development lock: on ARM it is built from a download, and DDL does not need it.
# openmetadata-ingestion is locked without its dependencies: its models need only email-validator.
lock: install ## Update the lock files, with hashes and without registry hosts
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
	  --all-extras --group dev pyproject.toml -o locks/all.txt
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
	  --no-emit-package ibm-db --group dev -c locks/all.txt pyproject.toml -o locks/dev.txt
	echo openmetadata-ingestion | $(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --no-header --no-deps -c locks/all.txt - >> locks/dev.txt

clean: ## Remove installed and built files
	rm -rf $(VENV) $(VENV)-spark .demo .mypy_cache .pytest_cache .ruff_cache dist
