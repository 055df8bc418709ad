"""Key-aware state: rows that have not matched yet are kept in place of all rows, where so few are
left alone that it pays; how many was counted."""

from __future__ import annotations

from dataclasses import replace

from forerun.planner.algebra.relational import Join, JoinKind
from forerun.planner.algebra.types import BIGINT, STRING
from forerun.planner.api import PlanResult, plan
from forerun.planner.request import (
    ColumnStats,
    Observed,
    PlanRequest,
    Settings,
    Source,
    SourceColumn,
    TimePoint,
)
from forerun.planner.rules.methods import only_partner
from forerun.planner.rules.methods.unmatched import UNMATCHED
from tests.planner.starts import CHEAP_RUNS

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


def planned(
    orphans: int,
    off: tuple[str, ...] = (),
    sql: str = ALONE,
    sources: tuple[Source, ...] = SOURCES,
) -> PlanResult:
    """The day, after one on which so many lines were alone at the first run."""
    request = PlanRequest(
        report="r",
        sql=sql,
        sources=sources,
        points=POINTS,
        settings=Settings(rules_off=off, prices=CHEAP_RUNS),
    )
    found = plan(request)
    slots = [s for s in found.space.slots if is_alone(found, s.index)]
    arrived = (("line", 34_800_000), ("orders", 8_700_000))
    counted = tuple(
        Observed(
            fingerprint=found.families.fingerprint((slot.index, key), 1),
            partitions=((arrived, orphans),),
        )
        for slot in slots
        for key in found.space.keys[slot.index]
    )
    return plan(replace(request, observed=counted))


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


MET = "SELECT count(*) AS n, sum(length(note)) AS s FROM line JOIN orders ON okey = lkey"
KEYED = (
    source("line", 60_000_000, "lkey", "note"),
    replace(source("orders", 15_000_000, "okey"), keys=(("okey",),)),
)


def test_of_a_join_with_a_declared_key_few_orphans_are_kept_in_place_of_all_rows() -> None:
    few = planned(100_000, sql=MET, sources=KEYED)
    without = planned(100_000, (only_partner.RULE.name,), MET, KEYED)
    assert any("without a match" in title for title in kept(few))
    assert not any(title.startswith("line rows") for title in kept(few) if "match" not in title)
    assert few.plan.estimated_cost < without.plan.estimated_cost
    assert few.decision.chosen.held[-1] < 0.3 * without.decision.chosen.held[-1]
    assert sum("raise_error" in stage.sql for stage in few.plan.runs[2].stages) == 1


def test_of_a_join_without_a_key_no_orphans_are_kept() -> None:
    found = planned(100_000, (), MET, tuple(replace(source, keys=()) for source in KEYED))
    assert kept(found)
    assert not any("without a match" in title for title in kept(found))
    stages = [stage for run in found.plan.runs for stage in run.stages]
    assert not any("raise_error" in stage.sql for stage in stages)
