"""Choose the engine of a repair: one whose result is what Spark's would be.

A day whose runs were made by Spark may be repaired by the small engine, which starts in a second
and reads what Spark has kept as plain files, if all that its query does is known to be computed
there exactly as Spark does (:mod:`forerun.include.verify.sail_exact`).
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec

from forerun.include.engines import ENGINES, EngineSpec
from forerun.include.past.repair import LookedAt, Repair, plan_repair
from forerun.include.past.repair_plans import bytes_read
from forerun.include.runs.exact_engines import (
    NotExactError,
    refuse,
    settings_on,
    why_not_as_planned,
    why_not_exact,
)


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
    what, day = f"the repair of {looked.day.spec.name}", looked.day
    pins = {name: pin for name, (_, pin) in looked.pins.items()}
    refuse(engine, what, why_not_exact(engine, day, pins))
    repair = plan_repair(looked, settings_on(engine))
    size = bytes_read(repair.best, looked.pins)
    refuse(engine, what, why_not_as_planned(engine, day, repair.best.result.plan, size))
    return repair


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
