"""Triggers of runs as they are written: what is refused, and what people read of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from forerun.include.reports.cluster import Cluster, under_cluster
from forerun.include.reports.group import ReportGroup
from forerun.include.reports.run_policy import Choose, RunPolicy, RunTime
from forerun.include.reports.sources.start_when import start_text
from forerun.include.reports.spec import (
    AfterRows,
    AssetEvent,
    Every,
    PriceAtMost,
    WhenComplete,
    decode_report,
    encode_report,
)
from forerun.include.reports.values.fields import SpecError
from forerun.include.reports.values.hours import Hours
from forerun.planner.errors import ForerunError
from tests.airflow.reports import sales_report, sales_source

DAY_AND_NIGHT = (
    Hours(start="00:00", end="08:00", value=1.0),
    Hours(start="08:00", end="24:00", value=0.4),
)
ALL = (
    AfterRows(source="sales", rows=1000),
    Every(interval="+02:00"),
    PriceAtMost(price=0.4),
    WhenComplete(source="sales"),
    AssetEvent(uri="forerun://report/other"),
)


def policy(*triggers, **changes):
    """Early runs with these triggers and a final run."""
    early = (RunTime(at=f"{10 + place}:00", when=when) for place, when in enumerate(triggers))
    return RunPolicy(**{"runs": (*early, RunTime(at="24:00")), **changes})


def test_a_report_with_triggers_is_the_same_after_it_was_stored():
    spec = sales_report(policy=policy(*ALL, prices=DAY_AND_NIGHT))
    assert decode_report(encode_report(spec)) == spec
    assert [run.weight for run in spec.policy.runs] == [0.4] * 5 + [1.0]


def test_it_is_said_what_they_wait_for():
    assert [start_text(when) for when in ALL] == [
        "1,000 new rows of sales",
        "02:00 h after the last run",
        "a price of at most 0.4",
        "a complete sales",
        "an event of asset forerun://report/other",
    ]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: AfterRows(source="sales", rows=0), "0 rows are there at once"),
        (lambda: Every(interval="02:00"), "no length of time"),
        (lambda: Every(interval="+00:00"), "no length of time"),
        (lambda: Every(interval="soon"), "is not a length of time"),
        (lambda: RunTime(at="10:00", when="+02:00"), "when is '\\+02:00'"),
        (lambda: RunTime(at="10:00", when=Every), "the class Every"),
        (lambda: RunPolicy(runs=(RunTime(at="24:00", when=ALL[1]),)), "the final run at 24:00 has"),
        (lambda: policy(ALL[1], choose=Choose(at_most=2)), "chooses its times and has triggers"),
        (lambda: policy(PriceAtMost(price=0.3), prices=DAY_AND_NIGHT), "never costs less than 0.4"),
        (
            lambda: policy(PriceAtMost(price=float("nan")), prices=DAY_AND_NIGHT),
            "a price of at most nan",
        ),
        (
            lambda: sales_report(policy=policy(AfterRows(source="orders", rows=1))),
            "AfterRows names the source orders, which it has not",
        ),
        (
            lambda: sales_report(
                policy=policy(WhenComplete(source="sales")),
                sources=(sales_source("/d", arrival="static"),),
            ),
            "WhenComplete names the source sales, which is static",
        ),
        (
            lambda: sales_report(policy=policy(AssetEvent(uri="forerun://report/revenue"))),
            "waits for the report itself",
        ),
        (
            lambda: ReportGroup(
                name="all",
                reports=(
                    sales_report(policy=policy(ALL[0])),
                    sales_report(name="b", policy=replace(policy(None), results_at=(1,))),
                ),
            ),
            "b has an early result at .*, when another report has a trigger",
        ),
        (lambda: under_cluster(sales_report(policy=policy(ALL[2])), None), "waits for a price"),
    ],
)
def test_what_can_never_fire_is_refused_in_words(make, said):
    with pytest.raises(ForerunError, match=said):
        make()


def test_a_price_may_be_that_of_the_cluster():
    cluster = Cluster(
        name="night", ceiling=(Hours(start="00:00", end="24:00", value=8),), prices=DAY_AND_NIGHT
    )
    spec = sales_report(policy=policy(ALL[2]))
    assert under_cluster(spec, cluster).policy.prices == DAY_AND_NIGHT
    with pytest.raises(SpecError, match="waits for a price, and nothing says"):
        under_cluster(spec, replace(cluster, prices=()))


def test_a_wait_looks_for_the_assets_of_its_own_run():
    asset = AssetEvent(uri="s3://lake/sales")
    spec = sales_report(
        policy=policy(ALL[4], WhenComplete(source="sales"), ALL[0]),
        sources=(sales_source("/d", complete_when=asset),),
    )
    assert [spec.awaits(run) for run in (1, 2, 3, 4)] == [(ALL[4],), (asset,), (), (asset,)]
