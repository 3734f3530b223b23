# Everything runs in a virtual environment of its own, made from nothing but Python and make.
PYTHON ?= python3

.DEFAULT_GOAL := help
.PHONY: help demo test corpus bench clean
.DELETE_ON_ERROR:

PIP_INSTALL = -m pip install -qq --disable-pip-version-check

# $(call environment,FOLDER,WHAT TO INSTALL)
define environment
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Penstock needs Python 3.11 or later; $(PYTHON) is `$(PYTHON) -V`. Name another: make PYTHON=python3.12" >&2; exit 1; }
	@echo "Making $(1) (once) ..."
	@$(PYTHON) -m venv --clear $(1)
	@$(1)/bin/python $(PIP_INSTALL) $(2)
	@touch $@
endef

help:  ## Show what can be made
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sort | sed -E 's/^([a-z]+):.*## /  make \1\t/' | expand -t 14

demo: .venv/made  ## Train on real digits under a memory budget, and show what each op held
	@.venv/bin/python examples/digits.py $(ARGS)

test: .venv-test/made  ## Check the style, the types, and run all tests
	.venv-test/bin/ruff check .
	.venv-test/bin/ruff format --check .
	.venv-test/bin/mypy
	.venv-test/bin/python -m pytest -q -m alone tests/test_imports.py tests/leak/test_flat.py
	.venv-test/bin/python -m pytest -n 2 --dist loadfile --max-worker-restart 0 -m "not alone" $(ARGS)

corpus: .venv-test/made  ## Run the doctor over its corpus of leaky and clean scripts; wants an idle machine
	.venv-test/bin/python -m pytest -q tests/leak/checks_corpus.py $(ARGS)

bench: .venv-bench/made  ## Measure against tf.data, DataLoader and Grain; writes benchmarks/RESULTS.md and docs/pictures
	.venv-bench/bin/python -m benchmarks $(ARGS)

clean:  ## Remove the environments and everything that was made
	rm -rf .venv .venv-test .venv-bench build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	rm -rf src/*.egg-info
	find src tests benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/made: pyproject.toml
	$(call environment,.venv,-e '.[demo]')

.venv-test/made: pyproject.toml
	$(call environment,.venv-test,-e '.[test$(comma)interop]')

.venv-bench/made: pyproject.toml benchmarks/requirements.txt
	$(call environment,.venv-bench,-e . -r benchmarks/requirements.txt)

comma := ,
