"""Reports that read another one, as a store knows them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from forerun.include.oncall.catalogue import KnownReport, readers_of
from forerun.include.reports.run_policy import Retries
from forerun.include.reports.sources.source import SourceSpec
from forerun.include.runs.prepare import open_generation
from forerun.include.state.records import OpenedBy
from tests.include.days.day_cases import COLUMNS, DAY
from tests.include.oncall.dag_days import at, dag_day


def test_readers_are_those_whose_newest_day_reads_it(tmp_path: Path) -> None:
    case = dag_day(tmp_path)
    case.begin()
    by = OpenedBy(
        dag_id="", run_id="r1", mode="auto", group="", retries=Retries(count=0, pauses_s=0.0)
    )
    path = "forerun://report/totals/{ds}"
    source = SourceSpec(name="orders", path=path, format="report", columns=COLUMNS)
    for name in ("after", "opened_by_nobody"):
        opened_by = replace(by, dag_id=f"dag_{name}")
        spec = replace(case.spec, name=name, sources=(source,))
        open_generation(
            case.store_uri, spec, DAY, trigger="r1", now=at(0),
            opened_by=opened_by if name == "after" else None,
        )  # fmt: skip
    assert readers_of(case.store, "totals") == (KnownReport("after", "dag_after"),)
    assert readers_of(case.store, "after") == ()
