"""How often runs are ended: what the deployment says or the ledger has seen, whichever is more."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from forerun.airflow.tasks.application import _tries
from forerun.include.machine.settings import SettingsError, interruptions_an_hour
from forerun.include.runs.interruptions import interruptions
from forerun.include.state.attempts import attempt_token, tries_of
from forerun.include.state.ledger_entry import LedgerEntry
from tests.include.days.ledgers import ran

RUN = ran("2026-01-01", 2, 6.0, 0.0, process_cpu_s=40.0, wall_s=20.0)


def history(*tries: int) -> list[LedgerEntry]:
    return [replace(RUN, tries=times) for times in tries]


def test_without_a_word_and_without_ends_there_are_none() -> None:
    assert interruptions([], 0.0) == interruptions(history(1, 1, 1), 0.0) == 0.0
    odd = [replace(RUN, wall_s=1e308)] * 2  # the sum is no number any more
    assert interruptions(odd, 0.0) == 0.0


def test_an_hour_of_an_application_has_the_cpu_seconds_that_the_ledger_has_seen() -> None:
    assert interruptions([], 0.36) == pytest.approx(1e-4)
    assert interruptions(history(1, 1), 0.36) == pytest.approx(0.5e-4)  # two cores at work


def test_tries_that_were_lost_count_by_what_runs_took() -> None:
    assert interruptions(history(1, 3, 1, 1), 0.0) == pytest.approx(2 / 160)
    assert interruptions(history(1, 3, 1, 1), 0.36) == pytest.approx(2 / 160)
    assert interruptions(history(1, 2), 3600.0) == pytest.approx(0.5)


def test_what_took_nothing_known_does_not_count() -> None:
    """As runs of an engine that does not report its CPU."""
    unknown = replace(RUN, process_cpu_s=0.0, tries=5)
    assert interruptions([unknown], 0.0) == 0.0


def test_a_token_says_how_often_its_run_was_begun() -> None:
    tokens = [attempt_token(tries) for tries in (1, 2, 12)]
    assert [tries_of(token) for token in tokens] == [1, 2, 12]
    assert attempt_token(1) != attempt_token(1)
    assert [tries_of(other) for other in ("a1", "t0-00000000", "t2", "")] == [1, 1, 1, 1]


@pytest.mark.parametrize(
    ("number", "most", "retries", "tries"),
    [(1, 2, 2, 1), (3, 2, 2, 3), (4, 5, 2, 1), (5, 5, 2, 2), (1, 0, None, 1)],
    ids=["first", "last", "cleared", "cleared and lost", "no retries"],
)
def test_tries_count_from_the_last_clear(
    number: int, most: int, retries: int | None, tries: int
) -> None:
    """Airflow goes on counting, and raises what a task may be tried by its retries."""
    assert _tries(SimpleNamespace(try_number=number, max_tries=most), retries) == tries


@pytest.mark.parametrize(("said", "rate"), [(None, 0.0), ("", 0.0), ("0.05", 0.05), ("2", 2.0)])
def test_the_deployment_says_how_often_in_an_hour(said: str | None, rate: float) -> None:
    given = {} if said is None else {"FORERUN_INTERRUPTIONS": said}
    assert interruptions_an_hour(given) == rate


@pytest.mark.parametrize("said", ["-1", "often", "1/h", "nan"])
def test_anything_else_is_refused(said: str) -> None:
    with pytest.raises(SettingsError, match="FORERUN_INTERRUPTIONS is") as raised:
        interruptions_an_hour({"FORERUN_INTERRUPTIONS": said})
    assert "how often in an hour" in raised.value.hint
