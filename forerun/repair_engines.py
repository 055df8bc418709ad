"""On which engine a repair is computed: on one whose result is what Spark's would be.

A day whose runs were made by Spark may be repaired by the small engine, which starts in a second
and reads what Spark has kept as plain files, if all that its query does is known to be computed
there exactly as Spark does (:mod:`include.verify.sail_exact`).
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec

from include.days.day_request import sources_at, sql_of
from include.days.repair import LookedAt, Repair, plan_repair
from include.days.repair_plans import RepairPlan, bytes_read
from include.engines import ENGINES, EngineSpec
from include.machine.settings import allowed_functions
from planner.errors import ForerunError
from planner.request import Settings, TimePoint
from planner.sql.frontend import read_query

MOST_READ_BYTES = 4 << 30
"""Files of so many bytes an engine in this process may read for a repair: it keeps in memory what
it joins and groups, and does not give way when that is full."""


class NotExactError(ForerunError):
    """An engine is asked for whose result may not be what Spark's would be."""

    code = "engine-not-exact"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenEngine:
    """The engine of a repair and its plans at that engine's prices. ``passed_over``: engines that
    would have been tried, and why each is not used."""

    engine: EngineSpec
    repair: Repair
    passed_over: tuple[tuple[str, str], ...] = ()


def repair_on(engine: EngineSpec, looked: LookedAt) -> Repair:
    """Plan a repair for an engine. Raises :class:`NotExactError` if its result may differ from
    Spark's, or if all of it may be too much for this process."""
    reasons = _why_not(engine, looked)
    if not reasons:
        repair = plan_repair(looked, settings_on(engine))
        reasons = _why_not_planned(engine, looked, repair.best)
        if not reasons:
            return repair
    raise NotExactError(
        f"the repair of {looked.day.spec.name} cannot be computed by {engine.about}: "
        f"{'; '.join(reasons)}",
        hint="Use --engine spark.",
    )


def cheapest_engine(looked: LookedAt) -> ChosenEngine:
    """Plan a repair for the engine that is the cheapest of those that give what Spark gives."""
    found: list[ChosenEngine] = []
    passed_over: list[tuple[str, str]] = []
    for engine in sorted(_own_engines(), key=_start):
        if found and found[0].repair.best.cost <= _start(engine):
            break  # it costs more to start
        if find_spec(engine.package) is None:
            passed_over.append((engine.name, f"{engine.package} is not installed"))
            continue
        try:
            found.append(ChosenEngine(engine=engine, repair=repair_on(engine, looked)))
        except NotExactError as error:
            passed_over.append((engine.name, error.message))
    best = min(found, key=lambda one: one.repair.best.cost)
    return ChosenEngine(engine=best.engine, repair=best.repair, passed_over=tuple(passed_over))


def _own_engines() -> list[EngineSpec]:
    return [engine for engine in ENGINES.values() if not engine.endpoint]


def _start(engine: EngineSpec) -> float:
    return engine.prices.run_start + engine.prices.stage_start


def settings_on(engine: EngineSpec) -> Settings:
    """How a repair is planned for an engine: where the user's text may give other values than on
    Spark, in stages of our own in any case, in which quotients are exact."""
    if engine.why_not_exact is None:
        return Settings(prices=engine.prices)
    return Settings(
        prices=engine.prices, own_batch="always", exact_quotients=True, small_sides=False
    )


def _why_not(engine: EngineSpec, looked: LookedAt) -> list[str]:
    if engine.why_not_exact is None:
        return []
    day = looked.day
    sources = sources_at(
        day, {name: pin for name, (_, pin) in looked.pins.items()}, TimePoint(weight=1.0)
    )
    query = read_query(
        sql_of(day.spec),
        sources,
        allowed_functions=allowed_functions(),
        parameters=day.parameters,
    )
    reasons = list(engine.why_not_exact(query.relation, sources))
    if day.spec.expectations or any(source.expectations for source in day.spec.sources):
        reasons.append("its expectations are checked by Spark")
    return reasons


def _why_not_planned(engine: EngineSpec, looked: LookedAt, best: RepairPlan) -> list[str]:
    if engine.why_not_exact is None:
        return []
    text = sql_of(looked.day.spec)
    if any(stage.sql == text for stage in best.result.plan.run.stages):
        return ["its text would run as it is, in place of stages that are exact there"]
    size = bytes_read(best, looked.pins)
    if size > MOST_READ_BYTES:
        return [f"it reads {size >> 20} MB, and may read {MOST_READ_BYTES >> 20} in this process"]
    return []
