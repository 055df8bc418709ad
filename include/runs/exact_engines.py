"""Choose an engine that may compute what readers are given: one whose result is what Spark's would
be.

The small engine starts in a second, and knows no other way than its own for what it computes
otherwise than Spark. So all that a query does is looked at
(:mod:`forerun.include.verify.sail_exact`), it is planned in stages of our own, and what may be too
much for this process is left to Spark.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from forerun.include.days.handle import Day
from forerun.include.engines import EngineSpec
from forerun.include.machine.settings import allowed_functions
from forerun.include.runs.day_request import sources_at, sql_of
from forerun.include.sources.formats import format_of
from forerun.include.sources.parquet.old_times import why_not_by_files
from forerun.include.state.records import Pin
from forerun.planner.contract import Plan
from forerun.planner.errors import ForerunError
from forerun.planner.request import Settings, TimePoint
from forerun.planner.sql.frontend import read_query

MOST_READ_BYTES = 4 << 30
"""Files of so many bytes an engine in this process may read for a run: it keeps in memory what
it joins and groups, and does not give way when that is full."""


class NotExactError(ForerunError):
    """An engine is asked for whose result may not be what Spark's would be."""

    code = "engine-not-exact"


def refuse(engine: EngineSpec, what: str, reasons: Iterable[str]) -> None:
    """Raise :class:`NotExactError` if there are reasons why an engine is not to compute something,
    which ``what`` names."""
    if said := "; ".join(reasons):
        raise NotExactError(
            f"{what} cannot be computed by {engine.about}: {said}", hint="Use --engine spark."
        )


def settings_on(engine: EngineSpec) -> Settings:
    """Return how a run is planned for an engine: where the user's text may give other values than
    on Spark, in stages of our own in any case, in which it does not."""
    if engine.why_not_exact is None:
        return Settings(prices=engine.prices)
    return Settings(prices=engine.prices, own_batch="always", small_sides=False)


def why_not_exact(engine: EngineSpec, day: Day, pins: Mapping[str, Pin]) -> list[str]:
    """Say why an engine may compute other values for a day over these pins than Spark would."""
    if engine.why_not_exact is None:
        return []
    sources = sources_at(day, pins, TimePoint(weight=1.0))
    query = read_query(
        sql_of(day.spec),
        sources,
        allowed_functions=allowed_functions(),
        parameters=day.parameters,
    )
    reasons = [*engine.why_not_exact(query.relation, sources), *why_not_on_day(day, pins)]
    if day.spec.expectations:
        reasons.append("what is expected of its result is checked by Spark")
    return reasons


def why_not_on_day(day: Day, pins: Mapping[str, Pin]) -> list[str]:
    """Say why an engine may read other values on a day than Spark would, whatever it computes."""
    reasons = [said for pin in pins.values() if (said := why_not_by_files(pin.name, pin.files))]
    reasons += [
        f"the files of {source.name} are read by Spark's reader of {read_as}"
        for source in day.spec.sources
        if (read_as := format_of(source.format).engine_format) != "parquet"
    ]
    reasons += [
        f"the column {column.name} of {source.name} has a collation"
        for source in day.spec.sources
        for column in source.columns
        if "COLLATE" in column.type.upper()
    ]
    if not day.spec.session.ansi:
        reasons.append("its session is without ANSI mode")
    if any(source.expectations for source in day.spec.sources):
        reasons.append("what is expected of its sources is checked by Spark")
    return reasons


def why_not_as_planned(engine: EngineSpec, day: Day, plan: Plan, size: int) -> list[str]:
    """Say why an engine is not to execute a plan that reads files of ``size`` bytes."""
    if engine.why_not_exact is None:
        return []
    text = sql_of(day.spec)
    if any(stage.sql == text for stage in plan.run.stages):
        return ["its text would run as it is, in place of stages that are exact there"]
    if size > MOST_READ_BYTES:
        return [f"it reads {size >> 20} MB, and may read {MOST_READ_BYTES >> 20} in this process"]
    return []
