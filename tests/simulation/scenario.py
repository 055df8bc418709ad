"""What a seed stands for: reports, days, who takes part, when they start and how clocks differ."""

from __future__ import annotations

import datetime as dt
import random
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from include.reports.spec import (
    MarkerFile,
    PartitionFolder,
    ReportSpec,
    RunPolicy,
    RunTime,
    SourceSpec,
    VersionedFolder,
)
from include.state.expire import Retention
from tests.simulation.actors import (
    Body,
    Day,
    Delivery,
    clean_up,
    damage,
    deliver,
    read_partition,
    read_published,
    second_attempt,
)
from tests.simulation.clock import HOUR
from tests.simulation.invariants import VANDAL
from tests.simulation.plans import COLUMNS, SOURCE, Style
from tests.simulation.scheduler import Rates, Steps

DAYS = (dt.date(2026, 3, 1), dt.date(2026, 3, 2))
_SKEWS = (0.0, 0.0, 60.0, -60.0, 49 * HOUR, -49 * HOUR, 200 * HOUR)
_SLEEPS = (0.0, 0.0, 0.0, 1.0, 60.0, HOUR, 5 * HOUR, 60 * HOUR)
_ROWS = tuple(((key, 10**number), (3, 2 * 10**number)) for number, key in enumerate((1, 2, 1, 2)))
"""What files hold. There are few, for it takes time to make Parquet; sums tell which they are."""


@dataclass
class Scenario:
    """Who takes part. ``hostile``: files of sources are changed or taken away; ``cleaned``: there
    is clean-up, so that state of a day may be gone, which must be said. ``floor_hours``: nothing
    younger is deleted; that clean-up is safe must not rest on it, so some scenarios have none.
    ``probed``: the store's conditional puts were proved before. ``calm``: afterwards every day is
    cleared and published once more, and clean-up must leave nothing over."""

    seed: int
    kind: Literal["disk", "s3"]
    tick: float
    store_skew: float
    rates: Rates
    days: list[Day]
    styles: dict[str, Style]
    hostile: bool = False
    cleaned: bool = False
    damaged: bool = False
    floor_hours: float = 24.0
    probed: bool = True
    calm: bool = True
    bodies: list[tuple[str, Body, float]] = field(default_factory=list)


def source_folder(day: dt.date) -> str:
    return f"tables/{SOURCE}/ds={day.isoformat()}"


def make_spec(name: str, runs: int, *, results_at: tuple[int, ...], sink: bool) -> ReportSpec:
    """A report over the one source."""
    orders = SourceSpec(
        name=SOURCE,
        path="s3://sim/tables/" + SOURCE + "/ds={ds}",
        columns=COLUMNS,
        complete_when=MarkerFile(),
    )
    times = tuple(RunTime(at=f"{8 + 4 * i}:00", weight=0.25 + i) for i in range(runs))
    return ReportSpec(
        name=name,
        sources=(orders,),
        policy=RunPolicy(runs=times, results_at=() if sink else results_at),
        sql="SELECT k, sum(v) AS v FROM orders GROUP BY k",
        sink=PartitionFolder(path=f"s3://sim/warehouse/{name}") if sink else VersionedFolder(),
    )


def draw(seed: int) -> Scenario:
    """The scenario of a seed."""
    dice = _Draw(seed)
    rng = dice.rng
    scenario = Scenario(
        seed=seed,
        kind=rng.choice(("disk", "s3")),
        tick=rng.choice((0.001, 1.0, 60.0, 600.0)),
        store_skew=rng.choice(_SKEWS),
        rates=Rates.drawn(rng),
        days=[],
        styles={},
        hostile=rng.random() < 0.2,
        cleaned=rng.random() < 0.6,
        damaged=rng.random() < 0.1,
        floor_hours=0.0 if dice.crowded else rng.choice((0.0, 24.0)),
        probed=rng.random() < 0.9,
        calm=seed % 3 == 0,
    )
    _reports(scenario, dice)
    _deliveries(scenario, dice)
    _others(scenario, dice)
    return scenario


class _Draw:
    """The dice of a scenario. ``crowded``: nobody waits, so that all are at work at once;
    ``duel``: one report, which publishes often, and a clean-up that is always at it."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(f"scenario {seed}")
        self.duel = self.chance(0.25)
        self.crowded = self.duel or self.chance(0.4)

    def chance(self, of: float) -> bool:
        return self.rng.random() < of

    def skew(self) -> float:
        return self.rng.choice(_SKEWS)

    def sleep(self) -> float:
        return 0.0 if self.crowded else self.rng.choice(_SLEEPS)

    def start(self) -> float:
        """When somebody comes in who is not of a day itself."""
        return Steps(self.rng.randint(0, 250)) if self.crowded else self.rng.choice(_SLEEPS)

    def sleeps(self, number: int) -> tuple[float, ...]:
        return tuple(self.sleep() for _ in range(number))


def _reports(scenario: Scenario, dice: _Draw) -> None:
    rng = dice.rng
    names = ["totals"] if dice.duel or rng.random() < 0.6 else ["totals", "others"]
    dates = DAYS if not dice.duel and rng.random() < 0.35 else DAYS[:1]
    for name in names:
        runs = rng.choice((1, 2, 2, 3))
        results_at = tuple(r for r in range(1, runs) if dice.duel or rng.random() < 0.4)
        spec = make_spec(name, runs, results_at=results_at, sink=rng.random() < 0.3)
        scenario.styles[name] = Style(
            early=tuple(r for r in (1, 2) if rng.random() < 0.8),
            keep_final=rng.random() < 0.6,
            buckets=2 * (rng.random() < 0.5),
        )
        for date in dates:
            triggers = ("first",) if rng.random() < 0.5 else ("first", "cleared")
            for trigger in triggers:
                day = Day(
                    spec=spec,
                    day=date,
                    trigger=trigger,
                    skipped=tuple(r for r in range(1, runs) if rng.random() < 0.15),
                    gaps=dice.sleeps(runs),
                )
                scenario.days.append(day)
                who = f"{name}-{date.day}-{trigger}"
                scenario.bodies.append((who, day, dice.skew()))


def _deliveries(scenario: Scenario, dice: _Draw) -> None:
    rng = dice.rng
    for date in sorted({day.day for day in scenario.days}):
        steps = []
        for number in range(rng.randint(1, 4)):
            rows = rng.choice(_ROWS)
            steps.append(Delivery(min(5 * HOUR, dice.sleep()), f"f{number}.parquet", rows))
        for _ in range(rng.randint(1, 3) if scenario.hostile else 0):
            name = rng.choice([step.name for step in steps])
            rows = rng.choice(_ROWS) if rng.random() < 0.7 else None
            place = rng.randint(1, len(steps))
            steps.insert(place, Delivery(dice.sleep(), name, rows))
        place = rng.randint(max(0, len(steps) - 1), len(steps))
        steps.insert(place, Delivery(0.0, "_SUCCESS", ()))
        body = partial(deliver, folder=source_folder(date), steps=tuple(steps))
        scenario.bodies.append((f"source-{date.day}", body, 0.0))


def _others(scenario: Scenario, dice: _Draw) -> None:
    rng = dice.rng
    bodies = scenario.bodies
    for number in range(rng.choice((0, 1, 1, 2))):
        day = rng.choice(scenario.days)
        run, sleep = rng.randint(1, day.spec.runs), dice.start()
        body = partial(second_attempt, day=day, run=run, sleep=sleep)
        bodies.append((f"zombie-{number + 1}", body, dice.skew()))
    for name in sorted(scenario.styles) if scenario.cleaned else ():
        rounds = tuple(
            (dice.start(), _retention(dice)) for _ in range(6 if dice.duel else rng.randint(1, 4))
        )
        bodies.append(
            (f"expire-{name}", partial(clean_up, report=name, rounds=rounds), dice.skew())
        )
    if scenario.damaged:
        body = partial(damage, sleep=dice.start(), place=rng.random(), gone=rng.random() < 0.5)
        bodies.append((VANDAL, body, 0.0))
    if rng.random() < 0.5:
        day = rng.choice(scenario.days)
        sleeps = tuple(dice.start() for _ in range(5))
        if isinstance(day.spec.sink, PartitionFolder):
            folder = f"warehouse/{day.spec.name}/ds={day.day.isoformat()}"
            body = partial(read_partition, folder=folder, sleeps=sleeps)
        else:
            body = partial(
                read_published, day=day, sleeps=sleeps, patience=scenario.floor_hours * HOUR
            )
        bodies.append(("reader", body, 0.0))


def _retention(dice: _Draw) -> Retention:
    rng = dice.rng
    return Retention(
        days=rng.choice((0, 1, 1, 30)),
        generations=rng.choice((1, 1, 2)),
        versions=1 if dice.duel else rng.choice((1, 1, 2, 3)),
        orphan_hours=rng.choice((0.0, 1.0, 48.0)),
    )
