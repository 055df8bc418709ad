"""Key-aware state: rows that have not matched yet are kept in place of all rows, where so few are
left alone that it pays; how many was counted."""

from __future__ import annotations

from planner.algebra.relational import Join, JoinKind
from planner.algebra.types import BIGINT, STRING
from planner.api import PlanResult, plan
from planner.request import (
    ColumnStats,
    Observed,
    PlanRequest,
    Settings,
    Source,
    SourceColumn,
    TimePoint,
)
from planner.rules.methods.unmatched import UNMATCHED

POINTS = tuple(TimePoint(weight=w, arrived=a) for w, a in ((0.25, 0.58), (0.3, 0.79), (1.0, 1.0)))
OFF = tuple(rule.name for rule in UNMATCHED)
ALONE = """SELECT mode, count(*) AS n FROM line
WHERE NOT EXISTS (SELECT 1 FROM orders WHERE okey = lkey) GROUP BY mode"""


def source(name: str, rows: int, *columns: str) -> Source:
    keys = {"okey", "lkey"}
    return Source(
        name=name,
        columns=tuple(
            SourceColumn(name=column, type=BIGINT if column in keys else STRING)
            for column in columns
        ),
        changing=True,
        rows=rows,
        stats=tuple(
            (column, ColumnStats(distinct=15e6 if column in keys else 7.0)) for column in columns
        ),
    )


SOURCES = (source("line", 60_000_000, "lkey", "mode"), source("orders", 15_000_000, "okey"))


def planned(orphans: int | None, off: tuple[str, ...] = ()) -> PlanResult:
    """The day, after one on which so many lines were alone at the first run."""
    request = PlanRequest(
        report="r", sql=ALONE, sources=SOURCES, points=POINTS, settings=Settings(rules_off=off)
    )
    if orphans is None:
        return plan(request)
    found = plan(request)
    (slot,) = [s for s in found.space.slots if is_alone(found, s.index)]
    arrived = (("line", 34_800_000), ("orders", 8_700_000))
    counted = tuple(
        Observed(
            fingerprint=found.families.fingerprint((slot.index, key), 1),
            partitions=((arrived, orphans),),
        )
        for key in found.space.keys[slot.index]
    )
    return plan(
        PlanRequest(
            report="r",
            sql=ALONE,
            sources=SOURCES,
            points=POINTS,
            settings=Settings(rules_off=off),
            observed=counted,
        )
    )


def is_alone(found: PlanResult, slot: int) -> bool:
    relation = found.families.relation(found.space.slots[slot])
    return isinstance(relation, Join) and relation.kind is JoinKind.ANTI


def kept(found: PlanResult) -> set[str]:
    return {family.title for family in found.plan.families}


def test_few_orphans_are_kept_in_place_of_all_rows() -> None:
    few, without = planned(100_000), planned(100_000, OFF)
    assert any("without a match" in title for title in kept(few))
    assert not any(title.startswith("line rows") for title in kept(few) if "match" not in title)
    assert few.plan.estimated_cost < 0.8 * without.plan.estimated_cost
    assert few.decision.chosen.held[-1] < 200_000_000


def test_many_orphans_are_not() -> None:
    many, without = planned(30_000_000), planned(30_000_000, OFF)
    assert not any("without a match" in title for title in kept(many))
    assert many.plan.estimated_cost == without.plan.estimated_cost
