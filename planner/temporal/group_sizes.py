"""Size estimates of every group over the day, kept beside a memo that is free of time (Tempura
5.4).

A snapshot has a size for each run, a step group one for each pair of runs that it leads from and
to. All expressions of a group give the same rows; its size is estimated from the first one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from forerun.planner.algebra.aggregates.functions import function
from forerun.planner.algebra.relational import Aggregate, Join, JoinKind, Relation, Scan, Version
from forerun.planner.algebra.type_kinds import kind_of
from forerun.planner.contract.plan_v1 import ReliedForeignKey
from forerun.planner.cost.operators import Size
from forerun.planner.cost.told_sizes import UNKNOWN_BYTES, Files, row_bytes
from forerun.planner.memo.groups import GroupId, Tvr, TvrId, View
from forerun.planner.memo.memo import Memo
from forerun.planner.memo.reference import Kept, Reference, Stamped, StepLeaf
from forerun.planner.request import Observed, PlanRequest, Source, TimePoint
from forerun.planner.stats.determined import Determined, Expand
from forerun.planner.stats.estimate import Estimator
from forerun.planner.stats.sample import Sample
from forerun.planner.stats.values import ColumnEstimate, Estimate, resized
from forerun.planner.temporal.as_of import AsOf
from forerun.planner.temporal.observed import ObservedSizes, touched_groups
from forerun.planner.temporal.space import Slot

_STATES = (View.STATES, View.LOSSES)


def estimator(
    sources: Iterable[Source], point: TimePoint, determined: Determined | None = None
) -> Estimator:
    """Return an estimator over the rows that have arrived from each source at a time point."""
    given = tuple(sources)
    rows = {s.name: s.rows * (point.fraction(s.name) if s.changing else 1.0) for s in given}
    return Estimator(given, rows, determined)


class GroupSizes:
    """Estimates how many rows, of which width, each group of a memo has. Runs are numbered from 1;
    run 0 is the beginning of the day, when every snapshot is empty."""

    def __init__(self, memo: Memo, request: PlanRequest) -> None:
        self._memo = memo
        self._versions = dict(_versions(memo.tvrs))
        self.runs = len(request.points)
        determined = Determined(request.sources, _standing_for(memo, self._versions))
        self._estimators = [estimator(request.sources, p, determined) for p in request.points]
        self._daily = request.days.daily if request.days else ()
        self._sources = {source.name: source for source in request.sources}
        self._fractions = [point.fraction for point in request.points]
        self._current, self._unchanged = request.current, frozenset(request.unchanged)
        self._observed = ObservedSizes(memo, request)
        self._snapshots: dict[tuple[GroupId, int], Estimate] = {}
        self._steps: dict[tuple[GroupId, int, int], Estimate] = {}
        self._lost: dict[tuple[TvrId, int, int], float] = {}
        self._withdrawn_of: dict[tuple[GroupId, int, int], float] = {}

    def is_added_up(self, source: str) -> bool:
        """Return whether the rows of a source have to be added up to know which are there: those of
        a changelog. Of a source that only grows, and of which files are taken back, they lie in the
        files that are left."""
        found = self._sources[source]
        return found.changing and found.change == "changelog" and not found.proven

    def learn(self, found: Iterable[tuple[Slot, Observed]]) -> None:
        """Replace estimates by what earlier runs counted. Call it before asking for any size, since
        sizes are cached."""
        for slot, observed in found:
            self._observed.learn(slot, observed)

    def is_counted(self, group: GroupId) -> bool:
        """Return whether the size of a snapshot comes from a count rather than an estimate."""
        return self._observed.knows(self._memo.leader(group))

    def snapshot(self, group: GroupId, run: int) -> Size:
        """Return the size of a snapshot as of a run."""
        return _size(self._snapshot(self._memo.leader(group), run))

    def step(self, group: GroupId, base: int, run: int) -> Size:
        """Return the size of a step group for the step from ``base`` to ``run``."""
        return _size(self._step(self._memo.leader(group), base, run))

    def at(self, group: GroupId, as_of: AsOf) -> Size:
        """Return the size of a snapshot at an instant, or of a step group in a step."""
        if as_of.is_instant:
            return self.snapshot(group, as_of.run)
        return self.step(group, as_of.base, as_of.run)

    def sample(self, group: GroupId, as_of: AsOf) -> Sample | None:
        """Return the sample of a group's rows, or None if it has none."""
        leader = self._memo.leader(group)
        if as_of.is_instant:
            return self._snapshot(leader, as_of.run).sample
        return self._step(leader, as_of.base, as_of.run).sample

    def of_source(self, name: str, columns: Sequence[str], base: int, run: int) -> Size:
        """Return the size of these columns of the rows of a source that come between two runs."""
        source = self._sources[name]
        before, after = (self._fractions[at - 1](name) if at else 0.0 for at in (base, run))
        known = dict(source.stats)
        width = sum(
            (known[c.name].width if c.name in known else 0.0) or float(c.type.width)
            for c in source.columns
            if c.name in columns
        )
        return Size(source.rows * (after - before), width)

    def is_unchanged(self, name: str, base: int, run: int) -> bool:
        """Return whether nothing comes of a source between two runs: as known up to the run that is
        planned, by forecast from there."""
        if not base or (base < self._current and name not in self._unchanged):
            return False
        before, after = (self._fractions[at - 1](name) for at in (max(base, self._current), run))
        return before == after

    def files(self, run: int) -> dict[str, Files]:
        """Return the files of each source as of a run. Where nobody has said how many bytes they
        have, they are taken to be as large as the rows. Of a table with a partition for each of
        several days, Spark is told nothing."""
        found = {}
        for source in self._sources.values():
            row = row_bytes(column.type for column in source.columns)
            whole = source.bytes or source.rows * row
            if source.name in self._daily:
                whole = UNKNOWN_BYTES
            there = self._fractions[run - 1](source.name) if source.changing else 1.0
            found[source.name] = Files(whole * there, row)
        return found

    def overlap(self, one: ReliedForeignKey) -> float:
        """Return the share of the children among which the keys of parents have to be looked up."""
        known = {given.key: given.overlap for given in self._sources[one.source].foreign_keys}
        return known[one.key]

    def taken_back(self, tvr: Tvr, base: int, run: int) -> float:
        """Estimate how many rows that a TVR had as of ``base`` are retracted by its delta to
        ``run``.

        An aggregate retracts the groups that existed and are touched; an outer or anti join the
        rows that had no partner and now have one. Retractions of inputs pass through in proportion.
        """
        known = self._lost.get((tvr.id, base, run))
        if known is None:
            lost = self._losses(tvr, base, run) if base and tvr.weight is not None else 0.0
            known = self._lost[tvr.id, base, run] = max(0.0, lost)
        return known

    def _losses(self, tvr: Tvr, base: int, run: int) -> float:
        """Compute :meth:`taken_back` by the kind of operator; never more than there was."""
        group = self._memo.leader(tvr.new)
        node = next(self._memo.alternatives(group)).node
        old = self._snapshot(group, base).rows
        if isinstance(node, Scan):
            return self._withdrawn(group, base, run)
        if isinstance(node, Aggregate):
            given = self._group(node.inputs[0])
            return min(old, self._touched(tvr, given, base, run))
        inputs = [self._group(i) for i in node.inputs]
        lost = 0.0
        for number in inputs:
            below = self._memo.tvr_of(number)
            if below is not None and below.changing:
                share = old / max(1.0, self._snapshot(number, base).rows)
                lost += share * self.taken_back(below, base, run)
        if isinstance(node, Join) and node.kind in (JoinKind.LEFT, JoinKind.ANTI, JoinKind.FULL):
            before, after = (self._alone(node, inputs, at) for at in (base, run))
            left = self._snapshot(inputs[0], base).rows
            lost += left * max(0.0, before - after)
        return min(old, lost)

    def _alone(self, join: Join, inputs: list[GroupId], run: int) -> float:
        """Return the share of the left rows that have no partner as of a run."""
        left, right = (self._snapshot(group, run) for group in inputs)
        anti = Join(JoinKind.ANTI, join.left, join.right, join.condition)
        return self._estimators[run - 1].of_node(anti, (left, right)).rows / max(1.0, left.rows)

    def _withdrawn(self, group: GroupId, base: int, run: int) -> float:
        """Estimate how many rows that a snapshot had as of ``base`` are gone by ``run`` because
        sources retract rows. Retractions pass through operators in proportion; an aggregate
        retracts the groups that they touch."""
        if not base or not self._memo.retracting:
            return 0.0
        group = self._memo.leader(group)
        known = self._withdrawn_of.get((group, base, run))
        if known is None:
            gone = self._withdrawals(group, base, run)
            known = min(self._snapshot(group, base).rows, gone)
            self._withdrawn_of[group, base, run] = known
        return known

    def _withdrawals(self, group: GroupId, base: int, run: int) -> float:
        node = next(self._memo.alternatives(group)).node
        if isinstance(node, Scan):
            if node.source not in self._memo.retracting:
                return 0.0
            source = self._sources[node.source]
            before, after = (self._fractions[at - 1](node.source) for at in (base, run))
            return source.retracted * source.rows * (after - before)
        old = self._snapshot(group, base).rows
        gone = 0.0
        for number in (self._group(i) for i in node.inputs):
            below = self._withdrawn(number, base, run)
            if isinstance(node, Aggregate):
                gone += old * -math.expm1(-below / max(1.0, old))
            else:
                gone += old * below / max(1.0, self._snapshot(number, base).rows)
        return gone

    # -- snapshots ----------------------------------------------------------------------------

    def _snapshot(self, group: GroupId, run: int) -> Estimate:
        if run == 0:
            return self._empty(group)
        known = self._snapshots.get((group, run))
        if known is None:
            known = self._snapshots[group, run] = self._estimate_snapshot(group, run)
        return known

    def _estimate_snapshot(self, group: GroupId, run: int) -> Estimate:
        version = self._versions.get(group)
        if version is not None and version[1] in _STATES and version[2] is Version.NEW:
            return self._states(group, 0, run)
        node = next(self._memo.alternatives(group)).node
        if not node.inputs:
            return self._estimators[run - 1].estimate(node)
        inputs = tuple(self._snapshot(self._group(i), run) for i in node.inputs)
        estimate = self._estimators[run - 1].of_node(node, inputs)
        rows = self._observed.rows(group, self._estimators[run - 1])
        if rows is None:
            return estimate
        return Estimate(rows=rows, columns=resized(estimate.columns, estimate.rows, rows))

    def _group(self, given: object) -> GroupId:
        if not isinstance(given, Reference):
            raise TypeError(f"{given} is no reference")
        return self._memo.leader(given.group)

    def _empty(self, group: GroupId) -> Estimate:
        columns = {c.id: ColumnEstimate(distinct=0.0) for c in self._memo.group(group).columns}
        return Estimate(rows=0.0, columns=columns)

    # -- steps --------------------------------------------------------------------------------

    def _step(self, group: GroupId, base: int, run: int) -> Estimate:
        known = self._steps.get((group, base, run))
        if known is None:
            known = self._steps[group, base, run] = self._estimate_step(group, base, run)
        return known

    def _estimate_step(self, group: GroupId, base: int, run: int) -> Estimate:
        version = self._versions.get(group)
        if version is not None and version[1] is View.SPLIT:
            return self._snapshot(self._memo.leader(version[0].new), run)
        if version is not None and version[2] is Version.DELTA:
            tvr, view, _ = version
            if view in _STATES:
                return self._states(group, base, run)
            if view is View.ROWS:
                return self._delta(group, tvr, base, run)
        node = next(self._memo.alternatives(group)).node
        if isinstance(node, Stamped):
            return self._stamped(node, run)
        if isinstance(node, Kept):
            return self._snapshot(self._memo.leader(node.group), base)
        if isinstance(node, Scan):
            tvr_of = self._memo.tvr_of(group)
            raise ValueError(f"{node} is no delta of {tvr_of}")
        inputs = []
        for given in node.inputs:
            below = self._memo.group(self._group(given))
            if below.step:
                inputs.append(self._step(below.id, base, run))
            else:
                before = isinstance(given, Reference) and given.before
                inputs.append(self._snapshot(below.id, base if before else run))
        return self._estimators[run - 1].of_node(node, tuple(inputs))

    def _delta(self, group: GroupId, tvr: Tvr, base: int, run: int) -> Estimate:
        """Estimate a delta of rows: the growth between the runs, plus two rows for each one that
        sources retract (the old row and its replacement). Retractions that only operators cause are
        not counted: where they are many, incremental work does not pay."""
        new = self._snapshot(self._memo.leader(tvr.new), run)
        old = self._snapshot(self._memo.leader(tvr.new), base)
        gone = self._withdrawn(tvr.new, base, run)
        rows = max(0.0, new.rows - old.rows) + 2.0 * gone
        columns = resized(new.columns, new.rows, rows)
        if tvr.weight is not None:
            columns[tvr.weight.id] = ColumnEstimate(distinct=2.0)
        missing = {c.id for c in self._memo.group(group).columns} - columns.keys()
        columns.update({id_: ColumnEstimate(distinct=max(1.0, rows)) for id_ in missing})
        return Estimate(rows=rows, columns=columns)

    def _states(self, group: GroupId, base: int, run: int) -> Estimate:
        """Estimate the partial states that a step adds to an aggregate: one per group that its
        delta touches."""
        tvr = self._versions[group][0]
        whole = self._snapshot(self._memo.leader(tvr.new), self.runs)
        aggregate, given = self._aggregated(tvr)
        count = self._touched(tvr, given, base, run)
        columns = {
            c.id: whole.columns.get(c.id, ColumnEstimate(distinct=max(1.0, count)))
            for c in self._memo.group(group).columns
        }
        gathered = [made.id for made, call in aggregate.calls if function(call.name).gathers]
        if gathered:
            come = self._snapshot(given, run).rows - self._snapshot(given, base).rows
            share = come / max(1.0, self._snapshot(given, self.runs).rows)
            longer = whole.rows * share / max(1.0, count)
            width = longer * sum(whole.columns[one].width for one in gathered) / len(gathered)
            for column in self._memo.group(group).columns:
                if kind_of(column.type) == "a":  # the part of a list that has come
                    columns[column.id] = columns[column.id]._replace(width=width)
        return Estimate(rows=count, columns=resized(columns, whole.rows, count))

    def _touched(self, tvr: Tvr, given: GroupId, base: int, run: int) -> float:
        """Estimate how many groups of an aggregate over ``given`` the rows of a step touch. It
        interpolates between rows of one group arriving independently and arriving together; without
        an observation, half and half."""
        rows = self._snapshot(given, run).rows - self._snapshot(given, base).rows
        rows += 2.0 * self._withdrawn(given, base, run)
        groups = max(1.0, self._snapshot(self._memo.leader(tvr.new), self.runs).rows)
        all_rows = self._snapshot(given, self.runs).rows
        apart, together = touched_groups(groups, rows, all_rows)
        apart_share = self._observed.apart_share(self._memo.leader(tvr.new))
        return apart_share * apart + (1.0 - apart_share) * together

    def _aggregated(self, tvr: Tvr) -> tuple[Aggregate, GroupId]:
        """Return the aggregate that the states of a TVR belong to, and its input group."""
        for expression in self._memo.alternatives(tvr.new):
            if isinstance(expression.node, Aggregate):
                return expression.node, self._memo.leader(expression.inputs[0].group)
        raise ValueError(f"TVR {tvr.id} has states but is no aggregate")

    def _stamped(self, node: Stamped, run: int) -> Estimate:
        below = self._snapshot(self._memo.leader(node.group), run)
        columns = dict(below.columns)
        columns[node.run.id] = ColumnEstimate(distinct=float(run), width=4.0)
        return replace(below, columns=columns)


_Versions = Mapping[GroupId, tuple[Tvr, View, Version]]
"""Which version of which TVR a group is."""


def _standing_for(memo: Memo, versions: _Versions) -> Expand:
    """Return what gives the operator of the group that a leaf refers to; for a delta of rows, the
    operator of the relation that it is the delta of. It knows no :class:`GroupSizes`: that would be
    a cycle, which keeps the memo of a plan that nobody has any more."""

    def operator(leaf: Relation) -> Relation | None:
        if not isinstance(leaf, Reference | StepLeaf):
            return None
        group = memo.leader(leaf.group)
        version = versions.get(group)
        if version is not None and version[2] is Version.DELTA and version[1] is View.ROWS:
            group = memo.leader(version[0].new)
        return next(memo.alternatives(group)).node

    return operator


def _versions(tvrs: Iterable[Tvr]) -> Iterable[tuple[GroupId, tuple[Tvr, View, Version]]]:
    for tvr in tvrs:
        for (version, view), group in tvr.edges.items():
            yield group, (tvr, view, version)


def _size(estimate: Estimate) -> Size:
    return Size(max(0.0, estimate.rows), max(1.0, estimate.width))
