"""What is kept, judged by itself: each family is the oracle's version of its sub-expression.

A wrong row in a family need not show in the result: a HAVING, a join or a later retraction can hide
it for years. So after a run, rows with their weights must sum up to the rows of the expression over
all that has arrived, and states must finish to its rows.
"""

from __future__ import annotations

from collections.abc import Mapping

from forerun.planner.algebra.relational import Relation, StateRead, Version
from forerun.planner.api import PlanResult
from forerun.planner.contract.plan_v1 import Family
from forerun.planner.memo.groups import View
from forerun.planner.rules.incremental.aggregate import AFFECTED, MERGED
from forerun.planner.rules.incremental.rule import KeyedState
from forerun.planner.temporal.extraction import start_of
from forerun.planner.temporal.space import Slot
from forerun.planner.tvr.signed import ColumnIds, Signed
from tests.oracles.bags import compare_bags
from tests.oracles.interpreter import FamilyData, Inputs, SourceData, evaluate
from tests.oracles.values import NotInterpretedError, Row, row_key
from tests.properties.cases import Case

Partitions = Mapping[str, list[tuple[int, Row]]]
_FIRST_ID = 1_000_000
STATES = (View.STATES, View.LOSSES)


def check_kept(case: Case, result: PlanResult, partitions: Partitions) -> tuple[int, int]:
    """Check every family that the current run wrote; how many of rows, and how many of states.

    ``partitions`` are the rows of each family with the run that wrote them, this run's included.
    Raises ``AssertionError`` naming family and run.
    """
    chosen, plan = result.decision.chosen.extracted, result.plan
    if chosen is None or not plan.run.opened:
        return 0, 0
    judge = _Judge(case, result, partitions)
    rows = states = 0
    for kept, index in chosen.partitions:
        if chosen.solution.spans[index].run != plan.current:
            continue  # of a later run
        slot = result.space.slots[kept[0]]
        start = start_of(chosen, kept, index) or result.families.committed_start(kept)
        assert start is not None
        family = plan.family(result.families.family(kept, start).id)
        if not judge.agrees(slot, family):
            continue
        rows += slot.view not in STATES
        states += slot.view in STATES
    return rows, states


class _Judge:
    """The interpreter over what has arrived by one run."""

    def __init__(self, case: Case, result: PlanResult, partitions: Partitions) -> None:
        self._result = result
        self._families = result.families
        self._partitions = partitions
        self._run = run = result.plan.current
        self._sources = {
            name: SourceData(tuple(n for n, _ in table.columns), table.rows(run))
            for name, table in case.tables.items()
        }

    def agrees(self, slot: Slot, family: Family) -> bool:
        """False where the interpreter does not know the expression; raises where they differ."""
        names = tuple(column.name for column in family.columns)
        held = self._partitions.get(family.id, [])
        inputs = Inputs(self._sources, {family.id: FamilyData(names, held)}, self._run)
        try:
            relation = self._families.relation(slot)
            expected = evaluate(relation, inputs)
            if slot.view in STATES:
                found = self._finished(slot, relation, family, names, inputs)
            else:
                found = _sum(family, [row for _, row in held])
        except NotInterpretedError:
            return False
        try:
            compare_bags(expected, found, magnitude=1e4)
        except AssertionError as error:
            what = f"{family.id} ({family.title}) after run {self._run}"
            raise AssertionError(f"{what} is not {relation}\n{error}") from error
        return True

    def _finished(
        self,
        slot: Slot,
        relation: Relation,
        family: Family,
        names: tuple[str, ...],
        inputs: Inputs,
    ) -> list[Row]:
        """The states of all runs, merged and finalized; what a rule recomputes for a group comes
        from the operator's input as it is, not from what else is kept."""
        view = (MERGED if slot.view is View.STATES else AFFECTED).method
        assert isinstance(view, KeyedState)
        states = StateRead(family.id, self._families.columns(slot), names, Version.NEW)
        (given,) = relation.inputs
        memo = self._result.space.memo
        tvr = memo.tvr_of(memo.add(given))
        assert tvr is not None
        signed = tvr.weight is not None
        merged = view.merge(relation, states, signed, Signed(given), ColumnIds(_FIRST_ID))
        return evaluate(merged, inputs)


def _sum(family: Family, held: list[Row]) -> list[Row]:
    """The plain bag that rows stand for; raises where a row is taken back that is not there."""
    if not family.signed:
        return held
    weights: dict[object, int] = {}
    rows: dict[object, Row] = {}
    for *values, weight in held:
        key = row_key(tuple(values))
        rows.setdefault(key, tuple(values))
        weights[key] = weights.get(key, 0) + weight
    if missing := [rows[key] for key, weight in weights.items() if weight < 0]:
        raise AssertionError(f"{family.id} takes back rows that it does not hold: {missing[:3]}")
    return [rows[key] for key, weight in weights.items() for _ in range(weight)]
