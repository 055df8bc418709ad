"""What the log of a failed run ends with: the reason and what to do, not a command line."""

from __future__ import annotations

import subprocess
import sys

import pytest

from forerun.airflow.tasks.last_words import LastWords
from forerun.include.machine.wall_clock import utc_now
from forerun.include.state.failure import failure_of

SAID = "Cannot execute: spark-submit --master local[2] --conf a=b run.py. Error code is: {}."
LINES = [
    "26/03/01 00:00:01 WARN Utils: a warning\n",
    "error: artifact: part-0.parquet of f_1 is gone\n",
    "  hint: Clear the day, or run batch.\n",
    "26/03/01 00:00:02 WARN ShutdownHookManager: the end\n",
]


def heard(*lines: str) -> LastWords:
    words = LastWords()
    assert list(words.listen(iter(lines))) == list(lines)
    return words


def test_the_reason_of_the_job_and_its_hint_are_all():
    why = heard(*LINES).why(SAID.format(2))
    assert why == ("[artifact] part-0.parquet of f_1 is gone\n  hint: Clear the day, or run batch.")
    failure = failure_of(why, task="run_3.run", run=3, at=utc_now(), tries=3)
    assert (failure.code, failure.hint) == ("artifact", "Clear the day, or run batch.")


def test_the_last_of_several_reasons_counts():
    why = heard(*LINES, "error: source-file: b.parquet is no Parquet file\n").why("")
    assert why == "[source-file] b.parquet is no Parquet file"


@pytest.mark.parametrize("number", [9, 15])
def test_an_application_that_is_killed_is_called_killed(number):
    code = f"import os; os.kill(os.getpid(), {number})"
    done = subprocess.run([sys.executable, "-c", code], check=False)
    for returned in (done.returncode, 128 + number):
        why = heard("26/03/01 00:00:01 WARN Utils: a warning").why(SAID.format(returned))
        assert why.startswith(f"[killed] the application was ended by signal {number} ")
        assert "hint:" in why


def test_one_that_says_nothing_is_shown_by_its_end():
    why = heard("Traceback", "ValueError: no").why(SAID.format(1))
    assert why.startswith("[run-failed] the application ended with 1 and gave no reason")
    assert why.endswith("Traceback\n  ValueError: no")
    assert "spark-submit --master" not in why
