# Every target does the set-up it needs: `make demo` on a fresh machine is enough. `make help`.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

FORERUN_HOME ?= $(CURDIR)/.forerun
export FORERUN_HOME
export PATH := $(CURDIR)/.venv/bin:$(PATH)
# Container images like to set it. Then every process compiles our sources again, and the tests start
# dozens: to collect them alone takes twice as long.
export PYTHONDONTWRITEBYTECODE :=
STAMPS := $(CURDIR)/.forerun/stamps
STORE ?= file
SCALE ?=

.PHONY: help setup jars s3-server kafka registry postgres cds lock format check docs unit test test-all matrix mutate demo up bench-smoke bench-tpch bench-analysts bench-tpcds bench-plan bench-methods bench-scale bench-night bench-backfill bench-repair bench-rolling bench-prices bench-samples bench-sources bench-wrong bench-late bench-schedule bench-choosing bench-streaming clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# -- set-up: each step once, again when what it is made from changes ------------------------------
$(STAMPS)/venv: requirements.lock pyproject.toml scripts/venv.sh scripts/uv.sh
	@mkdir -p $(STAMPS)
	scripts/venv.sh
	@touch $@

$(STAMPS)/java:
	@mkdir -p $(STAMPS)
	scripts/java.sh
	@touch $@

.PHONY: tools
tools: $(STAMPS)/venv $(STAMPS)/java

setup: tools cds ## everything that runs and tests need, except what only an S3 store needs

cds: tools ## class-data archives: Spark drivers start in half the time
	@.venv/bin/python -m forerun setup

jars: tools ## the S3A jars for Spark on S3 (Maven, 13 MB), and the archive that fits them
	@ls $(FORERUN_HOME)/jars/s3a/*.complete >/dev/null 2>&1 || command -v mvn >/dev/null || scripts/apt.sh maven
	@.venv/bin/python -m forerun setup --s3

s3-server: ## a local S3 server (VersityGW) where Go is installed
	@scripts/s3_server.sh

kafka: $(STAMPS)/java ## a broker of Kafka for the tests (Maven, 43 MB)
	@scripts/kafka.sh

registry: $(STAMPS)/java ## a schema registry for the long tests of topics with Avro (Maven, 104 MB)
	@scripts/registry.sh

postgres: ## the PostgreSQL server of the distribution, if there is none: for make up and the tests
	@scripts/postgres.sh

lock: ## requirements.lock anew from pyproject.toml (UPGRADE=1: newest versions)
	scripts/lock.sh $(if $(UPGRADE),--upgrade)

# -- work -----------------------------------------------------------------------------------------
format: $(STAMPS)/venv ## format the code
	ruff check --fix --quiet .
	ruff format .

check: $(STAMPS)/venv ## ruff, mypy strict, import layers, secrets, unit tests: two minutes
	ruff check .
	ruff format --check .
	mypy
	.venv/bin/python -m pytest -q -m "not slow and not spark" tests/meta
	$(MAKE) --no-print-directory unit

docs: $(STAMPS)/venv ## the pages of docs/ as a site, .forerun/site/index.html; a dead link ends it
	NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build --strict --clean

UNIT := tests/planner tests/plans tests/properties/test_aggregate_states.py
unit: $(STAMPS)/venv ## the planner's tests, without the long comparisons: under a minute
	.venv/bin/python -m pytest -q -n 2 --dist loadfile -m "not slow and not spark and not search" $(UNIT)

test: setup jars s3-server kafka postgres ## all tests but the long suites: 15 minutes
test: WHICH := and not slow
test: CHECKED := $(if $(filter check,$(MAKECMDGOALS)),$(addprefix --checked=,tests/meta $(UNIT)))

test-all: setup jars s3-server kafka registry postgres ## every test

# A process has one Spark session, with a JVM or through Spark Connect (as the cluster's tests have).
# Tests without a JVM run three files at a time; beside them, one after the other, those that start
# applications or have a JVM in their process, which go first where all want a core: when they are
# through, the others have both. So many at a time leave two cores no idle second.
# What they say is shown at the end. What `make check test` has checked it does not test again.
test test-all: SPARK := .venv/bin/python -m pytest -q -m "spark $(WHICH)"
test test-all: OTHERS = $(filter-out tests/spark/% tests/properties/%,$(shell grep -rl --include='test_*.py' 'mark\.spark' tests))
test test-all:
	@{ status=0; $(SPARK) $(OTHERS) || status=$$?; \
	  $(SPARK) --ignore=tests/spark/test_cluster.py tests/spark || status=$$?; \
	  $(SPARK) tests/spark/test_cluster.py || status=$$?; \
	  $(SPARK) tests/properties || status=$$?; exit $$status; } \
	  >$(STAMPS)/spark.log 2>&1 & beside=$$!; \
	nice -n 10 .venv/bin/python -m pytest -q -n 3 --dist loadfile --no-loadscope-reorder \
	  -m "not spark $(WHICH)" $(CHECKED) tests; status=$$?; \
	wait $$beside || status=$$?; cat $(STAMPS)/spark.log; exit $$status

matrix: tools ## the installed package on other versions of Airflow, Spark and Python (CELL=spark-4.0)
	scripts/matrix.sh $(CELL)

mutate: setup ## break rules and stages on purpose: every break must turn the suite red
	.venv/bin/python -m scripts.mutate

demo: setup $(if $(filter s3,$(STORE)),jars s3-server) ## a night of three reports through Airflow and Spark (STORE=s3, MODE=progressive)
	forerun demo --store $(STORE) $(if $(SCALE),--scale $(SCALE)) $(if $(MODE),--mode $(MODE))

up: setup postgres $(if $(filter s3,$(STORE)),jars s3-server) ## Airflow's UI on the demo, on a PostgreSQL of its own
	forerun demo --up --store $(STORE) --scale $(or $(SCALE),0.4)

bench-smoke: setup ## planning time, fixed cost of a run, four TPC-H queries: docs/lab/benchmarks.md
	.venv/bin/python -m tests.benchmarks smoke

bench-plan: setup ## planning time of TPC-H's and TPC-DS's queries (fetched): docs/lab/benchmarks.md
	.venv/bin/python -m tests.benchmarks planning
	.venv/bin/python -m tests.benchmarks exploration

bench-methods: setup ## cost of all methods against each alone, estimated or EXECUTED=1 (SF=1): docs/lab/benchmarks.md
	.venv/bin/python -m tests.benchmarks $(if $(EXECUTED),methods_executed --scale $(or $(SF),1),methods)

bench-scale: setup ## throughput by deliveries a day and by workers, resumable (SF=1): docs/lab/benchmarks.md
	.venv/bin/python -m tests.benchmarks scale --scale $(or $(SF),1)

bench-tpch: setup ## TPC-H's 22 queries executed against batch, resumable (SF=10, IN=sail or early): docs/lab/benchmarks.md
	.venv/bin/python -m tests.benchmarks executed tpch --scale $(or $(SF),10) $(if $(IN),--in $(IN))

bench-analysts: setup ## analysts' constructs over TPC-H's tables, the last hundredth arriving at the end (SF=3.5): docs/lab/benchmarks.md
	.venv/bin/python -m tests.benchmarks executed analysts --scale $(or $(SF),3.5) --in session --arrivals hundredth

bench-tpcds: setup ## TPC-DS's 99 queries (fetched) executed against batch (SF=1, IN=session): docs/lab/benchmarks.md
	.venv/bin/python -m tests.benchmarks executed tpcds --scale $(or $(SF),1) $(if $(IN),--in $(IN))

bench-night: setup ## a suite's queries as one night, against batch, executed (SF=3, SUITE=tpch): docs/lab/benchmarks.md
	.venv/bin/python -m tests.benchmarks night $(or $(SUITE),tpch) --scale $(or $(SF),3)

bench-prices: setup ## a suite's queries as batch and early, and how well prices fit them (SF=3): docs/lab/planning.md
	.venv/bin/python -m tests.benchmarks prices $(or $(SUITE),tpch) --scale $(or $(SF),3)

bench-repair: setup ## published days of TPC-H repaired after late rows, against batch anew (SF=1): docs/lab/benchmarks.md
	.venv/bin/python -m tests.benchmarks repair --scale $(or $(SF),1)

bench-rolling: setup ## reports over the last 28 days, day after day, against batch, resumable (SF=10): docs/lab/benchmarks.md
	.venv/bin/python -m tests.benchmarks rolling --scale $(or $(SF),10)

bench-backfill: setup ## thirty days as a backfill, against one wide batch, resumable (SF=1): docs/lab/benchmarks.md
	.venv/bin/python -m tests.benchmarks backfill --scale $(or $(SF),1)

bench-samples: setup ## filters that would be guessed, by the guess and by a sample (SF=1): docs/lab/samples.md
	.venv/bin/python -m tests.benchmarks samples --scale $(or $(SF),1)

bench-sources: setup kafka postgres ## what it costs to copy a topic, a table, JSON lines: docs/lab/sources.md
	.venv/bin/python -m tests.benchmarks sources

bench-wrong: setup ## days planned with wrong estimates, by all methods and each: docs/lab/benchmarks.md
	.venv/bin/python -m tests.benchmarks wrong

bench-late: setup ## results over late and dirty data, and wrong forecasts, executed (SF=1): docs/lab/late.md
	.venv/bin/python -m tests.benchmarks late --scale $(or $(SF),1)

bench-schedule: setup ## deadlines by strategy, and nights under a ceiling, simulated: docs/lab/schedule.md
	.venv/bin/python -m tests.benchmarks schedule
	.venv/bin/python -m tests.benchmarks night_sweep
	.venv/bin/python -m tests.benchmarks deciding

bench-choosing: setup ## times chosen among a dozen, against all subsets, and how long planning takes: docs/lab/schedule.md
	.venv/bin/python -m tests.benchmarks choosing

bench-streaming: setup ## a day by Forerun and by Spark Structured Streaming, resumable (SF=1): docs/lab/schedule.md
	.venv/bin/python -m tests.benchmarks streaming --scale $(or $(SF),1)

clean: ## remove what the set-up and the tests made (not the code, not your stores)
	find dags forerun include planner plugins scripts spark_jobs tests -name __pycache__ -prune -exec rm -rf {} +
	rm -rf .venv .forerun build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis *.egg-info
