"""A result that is not over the whole day says so for ever, and readers can refuse it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import pytest

from forerun.cli.app import run
from forerun.include.days.results import NoResultError, NotCompleteError, read_result
from forerun.include.runs.prepare import prepare_run, publish_result
from forerun.include.state.pointers import Pointer
from tests.include.days.day_cases import DAY, EARLY, NOW, DayCase

LACKS = (("orders", "3 of 24 files"),)


def publish(
    case: DayCase, incomplete: Sequence[tuple[str, str]] = (), trigger: str = "first"
) -> Pointer:
    """A day whose final run is planned although ``incomplete`` is missing."""
    case.deliver("1", (1, 2))
    generation = case.open(trigger)
    case.commit(case.prepare(generation, 1))
    case.commit(
        prepare_run(
            case.day(generation), 2, now=NOW, settings=EARLY, incomplete=incomplete
        )
    )  # fmt: skip
    return publish_result(case.day(generation), now=NOW)


@pytest.fixture
def case(tmp_path: Path) -> DayCase:
    return DayCase(tmp_path, (tmp_path / "store").as_uri())


def test_a_complete_result(case: DayCase) -> None:
    pointer = publish(case)
    assert (pointer.complete, pointer.incomplete) == (True, ())
    assert read_result(case.store_uri, "totals", DAY) == pointer


def test_what_was_missing_stays_with_the_result(case: DayCase) -> None:
    pointer = publish(case, LACKS)
    assert (pointer.complete, pointer.incomplete) == (False, LACKS)
    with pytest.raises(NotCompleteError, match="orders: 3 of 24 files"):
        read_result(case.store_uri, "totals", DAY)
    assert read_result(case.store_uri, "totals", DAY, require_complete=False) == pointer
    # Planned again after it has become complete, but over the pins of then; and published again.
    again = prepare_run(case.day("1"), 2, now=NOW, incomplete=())
    assert again.skip_reason.startswith("run 2 is committed already")
    assert publish_result(case.day("1"), now=NOW) == pointer
    assert publish(case, trigger="cleared").complete
    assert read_result(case.store_uri, "totals", DAY).generation == 2


def test_a_plan_that_is_made_again_over_the_same_pins_lacks_the_same(case: DayCase) -> None:
    case.deliver("1", (1, 2))
    generation = case.open()
    for incomplete in (LACKS, ()):
        planned = prepare_run(
            case.day(generation), 2, now=NOW, settings=EARLY, incomplete=incomplete
        )  # fmt: skip
        assert case.manifest(planned).incomplete == LACKS
    case.commit(planned)
    assert not publish_result(case.day(generation), now=NOW).complete


def test_an_early_result_is_not_complete(tmp_path: Path) -> None:
    case = DayCase(tmp_path, (tmp_path / "store").as_uri(), results_at=(1,))
    case.deliver("1", (1, 2))
    generation = case.open()
    case.commit(case.prepare(generation, 1))
    publish_result(case.day(generation), now=NOW, run=1)
    with pytest.raises(NotCompleteError, match="the early result of run 1"):
        read_result(case.store_uri, "totals", DAY)


def test_nothing_published(case: DayCase) -> None:
    with pytest.raises(NoResultError, match="nothing is published of totals for 2026-01-01"):
        read_result(case.store_uri, "totals", date(2026, 1, 1), require_complete=False)


def test_the_command_shows_it_and_can_refuse_it(
    case: DayCase, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["result", "totals", "--store", case.store_uri, "--date", DAY.isoformat()]
    assert run(asked) == 2
    assert "nothing is published" in capsys.readouterr().err
    publish(case, LACKS)
    assert run(asked) == 0
    assert "not complete: orders: 3 of 24 files\n" in capsys.readouterr().out
    assert run([*asked, "--require-complete"]) == 2
    assert "orders: 3 of 24 files" in capsys.readouterr().err
    assert run([*asked, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["complete"], record["incomplete"]) == (False, [["orders", "3 of 24 files"]])
    publish(case, trigger="cleared")
    assert run([*asked, "--require-complete"]) == 0
    assert capsys.readouterr().out.endswith("\ncomplete\n")
