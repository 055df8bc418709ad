"""What is kept, judged by itself: each family is the oracle's version of its sub-expression.

A wrong row in a family need not show in the result: a HAVING, a join or a later retraction can hide
it for years. So after a run, rows with their weights must sum up to the rows of the expression over
all that has arrived, and states must finish to its rows.
"""

from __future__ import annotations

from collections.abc import Mapping

from planner.algebra.relational import StateRead, Version
from planner.api import PlanResult
from planner.contract.plan_v1 import ArtifactOutput, Family
from planner.materialize.families import Families
from planner.materialize.runs import walk
from planner.request import PlanRequest, Settings, TimePoint
from planner.temporal.annotate import Operator
from planner.temporal.assign import Mode
from planner.tvr.signed import ColumnIds, Signed
from tests.oracles.bags import compare_bags
from tests.oracles.interpreter import FamilyData, Inputs, SourceData, evaluate
from tests.oracles.values import NotInterpretedError, Row, row_key
from tests.properties.cases import Case

Partitions = Mapping[str, list[tuple[int, Row]]]
_FIRST_ID = 1_000_000


def check_kept(case: Case, result: PlanResult, partitions: Partitions) -> tuple[int, int]:
    """Check every family that the current run wrote; how many of rows, and how many of states.

    ``partitions`` are the rows of each family with the run that wrote them, this run's included.
    Raises ``AssertionError`` naming family and run.
    """
    choice, plan = result.decision.chosen.choice, result.plan
    if choice is None:
        return 0, 0
    written = {s.output.family for s in plan.run.stages if isinstance(s.output, ArtifactOutput)}
    stored = {family.fingerprint: family for family in plan.families}
    families = _families(result)
    judge = _Judge(case, plan.current, families, partitions)
    rows = states = 0
    for part in walk(choice):
        if part.mode is not Mode.KEPT:
            continue
        family = stored.get(families.fingerprint(part.operator, part.key))
        if family is None or family.id not in written or not judge.agrees(part.operator, family):
            continue
        rows += part.operator.view is None
        states += part.operator.view is not None
    return rows, states


def _families(result: PlanResult) -> Families:
    """Only to name what is kept and its columns: what is stored is taken from the plan."""
    plan = result.plan
    request = PlanRequest(
        report=plan.report,
        sql=plan.sql,
        sources=(),
        points=tuple(TimePoint(weight=run.weight) for run in plan.runs),
        settings=Settings(session=plan.session),
    )
    return Families(result.root, result.sizes, request, ColumnIds(_FIRST_ID))


class _Judge:
    """The interpreter over what has arrived by one run."""

    def __init__(self, case: Case, run: int, families: Families, partitions: Partitions) -> None:
        self._families = families
        self._partitions = partitions
        self._run = run
        self._sources = {
            name: SourceData(tuple(n for n, _ in table.columns), table.rows(run))
            for name, table in case.tables.items()
        }

    def agrees(self, operator: Operator, family: Family) -> bool:
        """False where the interpreter does not know the expression; raises where they differ."""
        names = tuple(column.name for column in family.columns)
        held = self._partitions.get(family.id, [])
        inputs = Inputs(self._sources, {family.id: FamilyData(names, held)}, self._run)
        try:
            expected = evaluate(operator.relation, inputs)
            if operator.view is None:
                found = _sum(family, [row for _, row in held])
            else:
                found = self._finished(operator, family, names, inputs)
        except NotInterpretedError:
            return False
        try:
            compare_bags(expected, found, magnitude=1e4)
        except AssertionError as error:
            what = f"{family.id} ({family.title}) after run {self._run}"
            raise AssertionError(f"{what} is not {operator.relation}\n{error}") from error
        return True

    def _finished(
        self, operator: Operator, family: Family, names: tuple[str, ...], inputs: Inputs
    ) -> list[Row]:
        """The states of all runs, merged and finalized; what a rule recomputes for a group comes
        from the operator's input as it is, not from what else is kept."""
        view, relation = operator.view, operator.relation
        assert view is not None
        states = StateRead(family.id, self._families.layout(operator), names, Version.NEW)
        given = operator.inputs[0]
        whole = Signed(given.relation)
        merged = view.merge(relation, states, given.signed, whole, ColumnIds(2 * _FIRST_ID))
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
