"""Is the suite itself any good? Breaks rules and stages on purpose; each break must turn it red.

Every mutation of :mod:`scripts.mutations` is applied alone to a copy of the tree. Then the suite
that it names runs on the copy; for those that name none, the delta laws and some hundreds of
generated days, a few of them with files, pins and commits through the executor. A mutation that
survives is printed and makes the exit code 1.

    python -m scripts.mutate [--only NAME]
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from scripts.mutations import MUTATIONS
from scripts.mutations.mutation import Mutation

ROOT = Path(__file__).resolve().parent.parent
COPIED = ("planner", "include", "spark_jobs", "plugins", "forerun", "tests", "pyproject.toml")
_LAWS = "tests/properties/test_delta_laws.py"
_VALUES = "tests/properties/test_rule_values.py"
_JOINS = "tests/properties/test_memo_values.py"
_DAYS = "tests/properties/test_differential.py"
_ON_SAIL = "tests/properties/test_days_on_sail.py"
_STORED = "tests/spark/test_stored_days.py::test_every_run_of_a_stored_day_equals_batch_on_sail"
_COMPLETE = "tests/include/sources/test_completeness.py"
_RESULTS = "tests/include/days/test_results.py"
_FRONT = "tests/planner/sql"
_SETTINGS = "tests/include/reports/test_spark_conf.py"
SUITES = (
    (f"{_FRONT}/test_functions.py", f"{_FRONT}/test_parameters.py"),
    (_LAWS, _VALUES, "tests/properties/test_aggregate_states.py"),
    (_JOINS, "tests/properties/test_aggregate_days.py"),
    (_COMPLETE, _RESULTS, _SETTINGS, "tests/include/machine/test_deployment.py"),
    ("tests/spark/test_job_archive.py", "tests/spark/test_changelog.py"),
    (f"{_DAYS}::test_equals_batch_without_an_engine[10000]",),
    tuple(f"{_ON_SAIL}::test_equals_batch_on_sail[{start}]" for start in range(0, 100, 25)),
    (f"{_ON_SAIL}::test_grouping_sets_equal_batch_on_sail",),
    (f"{_STORED}[61000]",),
    (f"{_DAYS}::test_equals_batch_without_an_engine[10100]",),
    tuple(f"{_ON_SAIL}::test_equals_batch_on_sail[{start}]" for start in range(100, 200, 25)),
    (f"{_STORED}[61010]",),
    ("tests/spark/test_deployment.py",),
)
"""The fast ones first: the next is only run where the ones before it saw nothing."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="mutations whose name contains this")
    only = parser.parse_args().only
    survivors = []
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        tree = Path(folder)
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(
                    source, tree / name, ignore=shutil.ignore_patterns("__pycache__"), symlinks=True
                )
            else:
                shutil.copy(source, tree / name)
        for mutation in MUTATIONS:
            if only in mutation.name:
                started = time.monotonic()
                red = _is_noticed(mutation, tree)
                seconds = time.monotonic() - started
                print(
                    f"{'red ' if red else 'GREEN'}  {mutation.name}  ({seconds:.0f} s)", flush=True
                )
                survivors += [] if red else [mutation.name]
    if survivors:
        print(f"{len(survivors)} mutations were not noticed: {'; '.join(survivors)}")
    return 1 if survivors else 0


def _is_noticed(mutation: Mutation, tree: Path) -> bool:
    """Return whether a suite fails on the mutated copy; the copy is put back afterwards."""
    path = tree / mutation.path
    text = path.read_text()
    if text.count(mutation.old) != 1:
        raise SystemExit(f"{mutation.name}: {mutation.path} has changed, adapt the mutation")
    path.write_text(text.replace(mutation.old, mutation.new))
    try:
        suites = (mutation.suite,) if mutation.suite else SUITES
        return any(_fails(suite, tree) for suite in suites)
    finally:
        path.write_text(text)


def _fails(suite: tuple[str, ...], tree: Path) -> bool:
    # NO_SHRINK: a mutant's failing cases are expected, nobody wants them small.
    environment = {**os.environ, "PYTHONPATH": str(tree), "FORERUN_NO_SHRINK": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *suite]
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"the suite did not run:\n{done.stdout + done.stderr!r}")
    return done.returncode == 1


if __name__ == "__main__":
    sys.exit(main())
