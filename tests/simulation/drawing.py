"""The scenario of a seed.

Each seed has some kinds of trouble and not the others (swarm testing; Groce et al., ISSTA 2012):
where everything happens a little, what takes two rare things at once hardly happens at all.
"""

from __future__ import annotations

import datetime as dt
import random
from dataclasses import dataclass, replace

from forerun.include.reports.spec import PartitionFolder
from forerun.include.state.expire import Retention
from tests.simulation.actors import CleanUp, Day, SecondAttempt
from tests.simulation.clock import HOUR
from tests.simulation.invariants import VANDAL, WAREHOUSE
from tests.simulation.outsiders import (
    Blow,
    Damage,
    Deliveries,
    Delivery,
    FolderReader,
    PointerReader,
)
from tests.simulation.plans import Style
from tests.simulation.policies import Rates
from tests.simulation.scenario import Scenario, make_spec, source_folder
from tests.simulation.scheduler import Steps

DAYS = (dt.date(2026, 3, 1), dt.date(2026, 3, 2))
_SKEWS = (0.0, 0.0, 60.0, -60.0, 49 * HOUR, -49 * HOUR, 200 * HOUR)
_SLEEPS = (0.0, 0.0, 0.0, 1.0, 60.0, HOUR, 5 * HOUR, 60 * HOUR)
_ROWS = tuple(((key, 10**number), (3, 2 * 10**number)) for number, key in enumerate((1, 2, 1, 2)))
"""What files hold. There are few, for it takes time to make Parquet; sums tell which they are."""
_TRIGGERS = ("first", "cleared", "cleared-again")


@dataclass(frozen=True, kw_only=True)
class Troubles:
    """What a scenario has of all that may happen. ``crowded``: nobody waits, so that all are at
    work at once; ``duel``: one report, which publishes often, and a clean-up that is always at it;
    ``hostile``: files of sources are changed or taken away; ``late``: early runs are left to second
    attempts."""

    duel: bool
    crowded: bool
    hostile: bool
    cleaned: bool
    damaged: bool
    read: bool
    late: bool
    table: bool
    skewed: bool

    @staticmethod
    def drawn(rng: random.Random) -> Troubles:
        duel, table = rng.random() < 0.2, rng.random() < 0.3
        return Troubles(
            duel=duel,
            crowded=duel or rng.random() < (0.7 if table else 0.5),
            hostile=rng.random() < 0.3,
            cleaned=duel or rng.random() < 0.5,
            damaged=rng.random() < 0.2,
            read=rng.random() < 0.4,
            late=rng.random() < 0.25,
            table=table,
            skewed=rng.random() < 0.5,
        )


def draw(seed: int) -> Scenario:
    """The scenario of a seed."""
    dice = _Dice(seed)
    rng, has = dice.rng, dice.has
    scenario = Scenario(
        seed=seed,
        kind=rng.choice(("disk", "s3")),
        tick=rng.choice((0.001, 1.0, 60.0, 600.0)),
        store_skew=dice.skew(),
        rates=_rates(dice),
        days=[],
        styles={},
        hostile=has.hostile,
        cleaned=has.cleaned,
        damaged=has.damaged,
        floor_hours=0.0 if has.crowded else rng.choice((0.0, 24.0)),
        probed=rng.random() < 0.9,
        calm=seed % 3 == 0,
    )
    _reports(scenario, dice)
    _deliveries(scenario, dice)
    _second_attempts(scenario, dice)
    _others(scenario, dice)
    return scenario


def _rates(dice: _Dice) -> Rates:
    """How wild it is; held most often where the trouble that there is has its windows."""
    rates = Rates.drawn(dice.rng)
    if dice.has.duel and dice.chance(0.5):
        return replace(rates, held="delete")
    if dice.has.table and dice.chance(0.5):
        op = dice.rng.choice(("put_if_match", "put"))
        return replace(rates, held=op, held_in=WAREHOUSE, held_often=0.7)
    return rates


class _Dice:
    """The dice of a scenario, and what they have said of it as a whole."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(f"scenario {seed}")
        self.has = Troubles.drawn(self.rng)

    def chance(self, of: float) -> bool:
        return self.rng.random() < of

    def skew(self) -> float:
        return self.rng.choice(_SKEWS) if self.has.skewed else 0.0

    def sleep(self) -> float:
        return 0.0 if self.has.crowded else self.rng.choice(_SLEEPS)

    def start(self, by: int = 250) -> float:
        """When somebody comes in who is not of a day itself: by how many calls of all, if nobody
        waits."""
        return Steps(self.rng.randint(0, by)) if self.has.crowded else self.rng.choice(_SLEEPS)

    def sleeps(self, number: int) -> tuple[float, ...]:
        return tuple(self.sleep() for _ in range(number))


def _reports(scenario: Scenario, dice: _Dice) -> None:
    rng, has = dice.rng, dice.has
    names = ["totals"] if has.duel or dice.chance(0.6) else ["totals", "others"]
    dates = DAYS if not has.duel and dice.chance(0.3) else DAYS[:1]
    for name in names:
        runs = rng.choice((2, 2, 3) if has.late else (1, 1, 2) if has.table else (1, 2, 2, 3))
        results_at = tuple(r for r in range(1, runs) if has.duel or dice.chance(0.4))
        spec = make_spec(name, runs, results_at=results_at, sink=has.table and dice.chance(0.7))
        scenario.styles[name] = Style(
            early=tuple(r for r in (1, 2) if dice.chance(0.8)),
            keep_final=dice.chance(0.6),
            buckets=2 * dice.chance(0.5),
        )
        for date in dates:
            for trigger in _TRIGGERS[: rng.choice((2, 3, 3) if has.table else (1, 1, 2, 2, 3))]:
                day = Day(
                    spec=spec,
                    day=date,
                    trigger=trigger,
                    skipped=tuple(r for r in range(1, runs) if dice.chance(0.6 * has.late)),
                    gaps=dice.sleeps(runs),
                    gives_up=dice.chance(0.15),
                )
                scenario.days.append(day)
                who = f"{name}-{date.day}-{trigger}"
                scenario.bodies.append((who, day, dice.skew()))


def _deliveries(scenario: Scenario, dice: _Dice) -> None:
    rng = dice.rng
    for date in sorted({day.day for day in scenario.days}):
        steps = [
            Delivery(min(5 * HOUR, dice.sleep()), f"f{number}.parquet", rng.choice(_ROWS))
            for number in range(rng.randint(1, 4))
        ]
        names = [step.name for step in steps]
        place = rng.randint(max(0, len(steps) - 1), len(steps))
        steps.insert(place, Delivery(0.0, "_SUCCESS", ()))
        if dice.chance(0.3):  # what comes bit by bit while the early runs are at work
            steps = [Delivery(dice.start(100), step.name, step.rows) for step in steps]
        body = Deliveries(folder=source_folder(date), steps=tuple(steps))
        scenario.bodies.append((f"source-{date.day}", body, 0.0))
        if scenario.hostile:
            changes = tuple(
                Delivery(
                    dice.start(), rng.choice(names), rng.choice(_ROWS) if dice.chance(0.8) else None
                )
                for _ in range(rng.randint(1, 4))
            )
            meddler = Deliveries(folder=source_folder(date), steps=changes)
            scenario.bodies.append((f"meddler-{date.day}", meddler, 0.0))


def _second_attempts(scenario: Scenario, dice: _Dice) -> None:
    rng = dice.rng
    for number in range(rng.choice((1, 2) if dice.has.late else (0, 0, 1, 2))):
        day = rng.choice([day for day in scenario.days if day.skipped] or scenario.days)
        run = rng.choice(day.skipped or range(1, day.spec.runs + 1))
        body = SecondAttempt(day=day, run=run, sleep=dice.start())
        scenario.bodies.append((f"zombie-{number + 1}", body, dice.skew()))


def _others(scenario: Scenario, dice: _Dice) -> None:
    rng, has = dice.rng, dice.has
    for name in sorted(scenario.styles) if has.cleaned else ():
        rounds = tuple(
            (dice.start(), _retention(dice)) for _ in range(6 if has.duel else rng.randint(1, 4))
        )
        body = CleanUp(report=name, rounds=rounds)
        scenario.bodies.append((f"expire-{name}", body, dice.skew()))
    if has.damaged:
        how = rng.choice(("gone", "replaced", "replaced", "garbled"))
        moments = ("new",) if how == "garbled" else ("new", "result", "sums")
        blows = tuple(
            Blow(sleep=dice.start(), how=how, back=0.0, pounces=rng.choice(moments))
            if dice.chance(0.75)
            else Blow(sleep=dice.start(), how=how, back=rng.random())
            for _ in range(rng.randint(1, 3))
        )
        scenario.bodies.append((VANDAL, Damage(blows=blows), 0.0))
    if has.read:
        scenario.bodies.append(("reader", _reader(scenario, dice), 0.0))


def _reader(scenario: Scenario, dice: _Dice) -> FolderReader | PointerReader:
    day = dice.rng.choice(scenario.days)
    sleeps = tuple(dice.start() for _ in range(5))
    if isinstance(day.spec.sink, PartitionFolder):
        return FolderReader(
            folder=f"warehouse/{day.spec.name}/ds={day.day.isoformat()}", sleeps=sleeps
        )
    return PointerReader(day=day, sleeps=sleeps, patience=scenario.floor_hours * HOUR)


def _retention(dice: _Dice) -> Retention:
    rng = dice.rng
    return Retention(
        days=rng.choice((0, 1, 1, 30)),
        generations=rng.choice((1, 1, 2)),
        versions=1 if dice.has.duel else rng.choice((1, 1, 2, 3)),
        orphan_hours=rng.choice((0.0, 0.0, 48.0) if dice.has.duel else (0.0, 1.0, 48.0)),
    )
