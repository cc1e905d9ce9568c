# Two commands do everything on a machine with python3.11, pip, git and make:
#   make run     sets up and runs the main job
#   make test    sets up and runs all tests
# `make help` lists the rest.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
INSTALL := $(PYTHON) -m pip --python $(BIN)/python install --quiet --disable-pip-version-check
# What running needs, and with it what testing needs.
RUNS   := $(VENV)/.runs
READY  := $(VENV)/.ready
# Tests of processes and browsers wait half of their time: some more workers than there are cores keep all of them busy.
WORKERS := $(shell echo $$(( $$(nproc) + 3 )))
# The end-to-end tests use the real kubectl: the machine's own, or else one that is put beside our Python.
KUBECTL_READY := $(if $(or $(KUBECTL),$(shell command -v kubectl)),,$(BIN)/kubectl)
KUBECTL_USED := $(or $(KUBECTL),$(shell command -v kubectl),$(CURDIR)/$(BIN)/kubectl)

# The chart of `attach install` is tested with a real helm, beside our Python; without one those tests are skipped.
HELM_READY := $(if $(wildcard $(BIN)/helm),,install-helm)

# The dashboard is tested in a real Chromium: the machine's own, or else Debian's package, where root may install it.
CHROMIUM_READY := $(if $(or $(CHROMIUM),$(shell command -v chromium chromium-browser google-chrome)),,install-chromium)

.DEFAULT_GOAL := help
.PHONY: help setup run install-chromium install-helm test test-slow test-interop test-attach test-faults check style types package screenshots docs format lock bench bench-e2e bench-controllers clean

help: ## what can be made
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "  make %-17s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# --without-pip: Debian ships python3 without ensurepip, so the machine's own pip installs into the new environment.
$(RUNS): pyproject.toml requirements-run.lock
	@echo "Installing Moorage and the libraries it runs with into $(VENV) …"
	@$(PYTHON) -m venv --without-pip --clear $(VENV)
	@$(INSTALL) --require-hashes -r requirements-run.lock
	@$(INSTALL) --no-build-isolation --no-deps --editable .
	@touch $@

$(READY): $(RUNS) requirements.lock
	@echo "Installing the development tools into $(VENV) …"
	@$(INSTALL) --require-hashes -r requirements.lock
	@touch $@

$(BIN)/kubectl: $(READY) tests/e2e/install_kubectl.py
	$(PYTHON) tests/e2e/install_kubectl.py $@

install-chromium:
	@$(PYTHON) tests/browser/install_chromium.py

install-helm: $(READY)
	-@$(PYTHON) tests/e2e/install_helm.py $(BIN)/helm

setup: $(READY) ## make .venv with the package and the development tools

# One coherent cluster in which every workload lands where it says; it is gone when it is stopped.
run: $(RUNS) ## set up and start an example cluster with its dashboard, all gates on: spot, on-demand and GPU pools, versions, tenants
	@printf "Starting examples/cluster: 8 nodes, and workloads that say where they land and why.\nOpen the dashboard's address below; or, in another terminal after the export, try three things:\n\n"
	@sed 's|^moorage|$(BIN)/moorage|' examples/cluster/TRY.txt
	@$(BIN)/moorage up --ephemeral --nodes 0 --feature-gates=AllAlpha=true,AllBeta=true --load examples/cluster --dashboard $(if $(PORT),--port $(PORT))

# Files are taken in the order that tests/conftest.py puts them in, long ones first. Types, layers and the package are
# checked beside the tests, since those wait for processes now and then.
test: $(READY) $(KUBECTL_READY) $(HELM_READY) $(CHROMIUM_READY) ## set up and run all tests
	@$(MAKE) --no-print-directory style
	$(BIN)/python tests/run.py --beside "$(MAKE) --no-print-directory --jobs 2 --output-sync=target types package" \
	  -n $(WORKERS) --dist loadfile --no-loadscope-reorder -m "not slow"

test-slow: $(READY) $(KUBECTL_READY) ## the long fuzzing runs, full-size inputs and all examples of every law
	MOORAGE_LAWS=thorough $(BIN)/python tests/run.py -n auto --dist loadfile --timeout 0 -m slow
	MOORAGE_LAWS=thorough $(BIN)/python tests/run.py -n auto --timeout 0 -m "not slow" tests/laws

test-interop: $(READY) ## run with real Kubernetes programs; docs/contributing/interoperability.md says how they are named
	$(BIN)/python tests/run.py -rs --timeout 0 tests/interop

# Not in parallel: each file has one cluster, of which its tests use all nodes.
test-attach: $(READY) $(KUBECTL_READY) ## test attach beside Kubernetes; MOORAGE_TEST_KUBECONFIG=FILE names any cluster whose API server reaches this machine
	KUBECTL="$(KUBECTL_USED)" $(BIN)/python tests/run.py -rs -n 0 --timeout 0 tests/interop/attached

# Real etcd members, API servers and components, under load, in namespaces of their own where root allows it.
test-faults: $(READY) ## kill, pause, cut, fill and slow down real processes; FAULTS=500 SEED=… STORE=sqlite, see tests/faults
	$(BIN)/python -m tests.faults $(or $(FAULTS),500) --promise 5 $(if $(SEED),--seed $(SEED)) $(if $(STORE),--store $(STORE))

check: style types ## formatting, lints, types, layers

style: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(READY)
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY) ## format, and mend what can be mended
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Libraries have the same versions in requirements-run.lock as in requirements.lock, of which it is a part.
lock: ## resolve the dependencies again into requirements.lock, requirements-run.lock and requirements-docs.lock (needs uv)
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --group dev \
	  --custom-compile-command "make lock" -o requirements.lock pyproject.toml
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --group build \
	  --constraint requirements.lock --custom-compile-command "make lock" -o requirements-run.lock pyproject.toml
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --group docs \
	  --custom-compile-command "make lock" -o requirements-docs.lock

# The wheel is made from the sdist. The environment it is installed into has nothing else in it.
package: $(READY) $(KUBECTL_READY) ## build sdist and wheel, install the wheel into an empty environment, play a story there
	rm -rf build/dist build/package
	$(BIN)/python -m build --no-isolation --outdir build/dist . >/dev/null
	$(PYTHON) -m venv --without-pip --clear build/package
	$(PYTHON) -m pip --python build/package/bin/python install --quiet --disable-pip-version-check build/dist/*.whl
	cd build/package && bin/moorage version && PATH=$(CURDIR)/build/package/bin:$$PATH $(KUBECTL_USED) moorage version >/dev/null && KUBECTL=$(KUBECTL_USED) bin/moorage demo spot-protection >/dev/null && bin/moorage lint --explain rejected >/dev/null
	@echo "build/dist: $$(cd build/dist && ls | tr '\n' ' ')"

screenshots: $(READY) $(CHROMIUM_READY) ## update the screenshots in docs/images; look at them before you commit them
	$(BIN)/python -m tests.browser.screenshots

DOCS := build/docs-env/.ready
$(DOCS): requirements-docs.lock
	$(PYTHON) -m venv --without-pip --clear build/docs-env
	$(PYTHON) -m pip --python build/docs-env/bin/python install --quiet --disable-pip-version-check --require-hashes -r requirements-docs.lock
	@touch $@

docs: $(DOCS) ## build the documentation site into build/site, every link checked
	NO_MKDOCS_2_WARNING=1 build/docs-env/bin/mkdocs build --strict

# Without anything chosen: what single calls cost, then a short selection of scheduler workloads.
bench: $(READY) ## measure; WORKLOADS='Case/Name …' SUITE=folder JSON=file, see bench/README.md
	$(if $(strip $(WORKLOADS)$(SUITE)$(LABELS)),,$(BIN)/python -m bench)
	$(BIN)/python -m bench.perf $(if $(SUITE),--suite '$(SUITE)') $(if $(WORKLOADS),--workloads '$(WORKLOADS)') \
	  $(if $(LABELS),--labels='$(LABELS)') $(if $(REPEAT),--repeat $(REPEAT)) \
	  $(if $(JSON),--json '$(JSON)') $(if $(OUTPUT),--output '$(OUTPUT)')

# Without anything chosen: the workloads that the real one was measured with.
bench-e2e: $(READY) ## measure `moorage up` from outside, over HTTPS; the same variables, and STORE='sqlite etcd kubernetes'
	$(BIN)/python -m bench.e2e $(foreach store,$(STORE),--store $(store)) $(if $(SUITE),--suite '$(SUITE)') $(if $(WORKLOADS),--workloads '$(WORKLOADS)') \
	  $(if $(LABELS),--labels='$(LABELS)') $(if $(REPEAT),--repeat $(REPEAT)) \
	  $(if $(JSON),--json '$(JSON)') $(if $(OUTPUT),--output '$(OUTPUT)')

# Without SIZES a small run; SIZES=--full, or SIZES='--nodes 500 --pods 5000 …'.
bench-controllers: $(READY) ## measure controllers: Deployments created, rolled, evicted and deleted
	$(BIN)/python -m bench.controllers $(SIZES) $(if $(JSON),--json '$(JSON)') $(if $(OUTPUT),--output '$(OUTPUT)')

clean: ## remove what was made
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
