"""The result of planning: the plan, the query as it was read, and what the plan was compared
with."""

from __future__ import annotations

from dataclasses import dataclass

from forerun.planner.algebra.relational import Relation
from forerun.planner.contract.plan_v1 import Plan
from forerun.planner.materialize.artifacts import ArtifactFamilies
from forerun.planner.materialize.candidate import Candidate, PlanDecision
from forerun.planner.materialize.portfolio import ComparedPlans
from forerun.planner.request import PlanRequest
from forerun.planner.rules.normalize.driver import AppliedRewrite
from forerun.planner.search.engine import Trace
from forerun.planner.sql.frontend import Query
from forerun.planner.temporal.group_sizes import GroupSizes
from forerun.planner.temporal.space import Space
from forerun.planner.tvr.signed import ColumnIds


@dataclass(frozen=True, slots=True)
class Reading:
    """The query of a request, read and in normal form.

    ``request`` has what the query itself tells of its sources, and ``asked`` is what was given.
    ``relation`` is the normalized
    query, and ``rewrites`` how it came about, step by step. ``ids`` are where the column ids of a
    memo go on from. ``relied`` has the (source, column) pairs whose declared NOT NULL the normal
    form depends on.
    """

    asked: PlanRequest
    request: PlanRequest
    query: Query
    relation: Relation
    ids: ColumnIds
    rewrites: tuple[AppliedRewrite, ...]
    relied: frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class PlanResult:
    """A plan, and what explain shows of how it was found: the reading of the query, and the methods
    that were compared. The search space is that of the best method."""

    plan: Plan
    reading: Reading
    compared: ComparedPlans

    @property
    def decided(self) -> str:
        """``batch``, ``own-batch``, or the name of the method whose plan was chosen."""
        chosen = self.decision.chosen
        return chosen.kind if chosen.is_batch else self.compared.best.method.name

    def opened(self, one: Candidate) -> tuple[int, ...]:
        """Return which of the day's own runs a plan that was compared opens."""
        return tuple(map(self.request.own_run, one.opened))

    @property
    def request(self) -> PlanRequest:
        return self.reading.request

    @property
    def query(self) -> Query:
        return self.reading.query

    @property
    def relation(self) -> Relation:
        return self.reading.relation

    @property
    def rewrites(self) -> tuple[AppliedRewrite, ...]:
        return self.reading.rewrites

    @property
    def space(self) -> Space:
        return self.compared.best.space

    @property
    def group_sizes(self) -> GroupSizes:
        return self.compared.best.group_sizes

    @property
    def families(self) -> ArtifactFamilies:
        return self.compared.best.families

    @property
    def kept_now(self) -> tuple[Relation, ...]:
        """Return the relations of which the current run keeps the rows or states, as the query or a
        rule wrote them."""
        chosen, current = self.decision.chosen, self.request.current
        if chosen.extracted is None or current not in chosen.opened:
            return ()
        now = chosen.opened.index(current)
        kept = sorted(kept for kept, index in chosen.extracted.used if index == now)
        return tuple(self.families.relation(self.families.slot(one)) for one in kept)

    @property
    def decision(self) -> PlanDecision:
        return self.compared.best.decision

    @property
    def trace(self) -> Trace:
        return self.compared.best.explored.trace
