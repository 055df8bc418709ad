"""Stages of one run: what is kept first, inputs before what reads them, then the result.

A kept output becomes a stage that writes this run's partition of its family; whatever else reads
that output in this run reads the partition, so nothing that is kept is computed twice. An output
that is only read whole in the final run, and is not distributed, is not written there any more: it
is read as what earlier runs wrote plus what this run computes in place.
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.algebra.relational import (
    Project,
    Relation,
    Scan,
    StateRead,
    UnionAll,
    Version,
    walk,
)
from planner.algebra.scalar import Ref
from planner.algebra.types import INT, Column, ColumnId
from planner.contract.plan_v1 import (
    RUN_COLUMN,
    WEIGHT_COLUMN,
    ArtifactOutput,
    Family,
    FamilyInput,
    ResultOutput,
    SourceInput,
    Stage,
)
from planner.materialize.families import Families
from planner.rules.incremental.rule import Stamped
from planner.sql.frontend import Query
from planner.sql.printer import to_sql
from planner.stages.hints import delta_join_hints, final_join_hint
from planner.temporal.assign import Choice, Mode, takes_weights
from planner.tvr.signed import ColumnIds, Signed, consolidate, plus, with_weight


@dataclass(frozen=True, slots=True)
class Span:
    """The run that is built and the run it goes on from (0: the day begins with this run)."""

    run: int
    base: int
    final: bool


class StageBuilder:
    """Builds the stages of one run of one choice."""

    def __init__(self, span: Span, families: Families, ids: ColumnIds) -> None:
        self._span = span
        self._sizes = families.sizes
        self._hints: dict[Relation, str] = {}
        self._families = families
        self._ids = ids
        self._stages: list[Stage] = []
        self._written: dict[int, Family] = {}
        self._whole: dict[int, Relation] = {}
        self.used: dict[str, Family] = {}

    def build(self, choice: Choice, query: Query) -> tuple[Stage, ...]:
        """All stages of the run, in order."""
        for kept in _kept_inputs_first(choice):
            if not self._stays_in_place(kept, choice):
                self._write(kept)
        if self._span.final:
            relation = self.snapshot(choice)
            self._stages.append(
                Stage(
                    id="result",
                    title="the report",
                    sql=to_sql(relation, run=self._span.run, names=query.names, hints=self._hints),
                    inputs=_inputs(relation),
                    output=ResultOutput(columns=query.names, ordered=query.ordered),
                    estimated_cost=round(choice.own[-1]),
                )
            )
        return tuple(self._stages)

    # -- what an operator gives in this run ---------------------------------------------------

    def delta(self, choice: Choice) -> Signed:
        """The change since the base; at base 0 the snapshot. Read back where it was written."""
        operator = choice.operator
        if choice.mode is Mode.STATIC:
            if self._span.base:
                raise ValueError("a static input has no delta after the first run")
            return Signed(operator.relation)
        if operator.view is not None:
            # The states are kept either way; a rule that needs the output reads them as well.
            return self._view_delta(choice if choice.mode is Mode.KEPT else choice.inputs[0])
        if choice.mode is Mode.KEPT and operator.index in self._written:
            return self._read(choice, Version.DELTA)
        return self._computed(choice)

    def snapshot(self, choice: Choice) -> Relation:
        """The whole output in the final run, as a plain bag."""
        operator = choice.operator
        if choice.mode is Mode.STATIC:
            return operator.relation
        if choice.mode is Mode.KEPT:
            return self._kept_whole(choice)
        if choice.mode is Mode.EARLY:
            raise ValueError(f"{operator.relation} flows early but its whole is asked for")
        given = choice.inputs[0] if choice.inputs else None
        if given is not None and _is_signed_rows(given) and takes_weights(operator):
            return self._from_signed_rows(choice, given)
        inputs = tuple(self.snapshot(i) for i in choice.inputs)
        self._hints |= final_join_hint(choice, inputs, self._sizes, self._span.run)
        return operator.relation.with_inputs(inputs) if inputs else operator.relation

    def _from_signed_rows(self, choice: Choice, given: Choice) -> Relation:
        """An aggregate over a kept signed bag follows the weights; no need for a plain bag."""
        operator, view = choice.operator, choice.operator.view
        if view is None:
            raise ValueError("only a keyed view follows weights")
        columns = self._families.layout(operator)
        rows = self._rows_whole(given)
        states = view.partial(operator.relation, rows, True, columns, self._ids)
        return view.merge(operator.relation, states, True, None, self._ids)

    def _computed(self, choice: Choice) -> Signed:
        """The delta by the operator's rule, in place."""
        operator = choice.operator
        relation = operator.relation
        if isinstance(relation, Scan):
            version = Version.DELTA if self._span.base else Version.NEW
            return Signed(Scan(relation.source, relation.scanned, version))
        inputs = choice.inputs
        if self._span.base == 0:
            return self._first(choice)
        if operator.rule is None or not callable(operator.rule.method):
            raise ValueError(f"{relation} has no delta rule")
        versions = tuple(_InputVersions(self, i) for i in inputs)
        delta = operator.rule.method(relation, versions, self._ids)
        largest = max(self._delta_bytes(i) for i in inputs)
        self._hints |= delta_join_hints(delta.relation, largest)
        return delta

    def _delta_bytes(self, choice: Choice) -> float:
        return self._sizes.delta(choice.operator, self._span.base, self._span.run).bytes

    def _first(self, choice: Choice) -> Signed:
        """In the first run every delta is the snapshot, and takes nothing back."""
        inputs = []
        for given in choice.inputs:
            delta = self.delta(given)
            relation = delta.relation
            if delta.weight is not None:  # read back from a signed family: each row counts once
                relation = Project(relation, tuple((c, Ref(c)) for c in delta.columns))
            inputs.append(relation)
        return Signed(choice.operator.relation.with_inputs(tuple(inputs)))

    def _view_delta(self, kept: Choice) -> Signed:
        """The change of a keyed view's output, from its states, which are written by now."""
        operator, view = kept.operator, kept.operator.view
        if view is None or view.delta is None:
            raise ValueError("the view gives no delta")
        if self._span.base == 0:
            return Signed(self._merged(kept, self._read(kept, Version.NEW).relation))
        versions = _InputVersions(self, kept)
        return view.delta(operator.relation, versions, operator.inputs[0].signed, self._ids)

    # -- kept outputs -------------------------------------------------------------------------

    def _stays_in_place(self, kept: Choice, root: Choice) -> bool:
        """In the final run, an output without distribution that is only read whole."""
        if not self._span.final or kept.key:
            return False
        return all(reader.mode is Mode.FINAL for reader in _readers(root, kept))

    def _write(self, kept: Choice) -> None:
        operator = kept.operator
        family = self._families.family(operator, kept.key)
        if any(family.id == other.id for other in self._written.values()):
            self._written[operator.index] = family  # a common sub-plan: kept once, read twice
            return
        rows = self._states(kept) if operator.view is not None else self._computed(kept)
        relation = self._in_stored_shape(rows, family)
        self._stages.append(
            Stage(
                id=f"keep-{len(self._stages) + 1}",
                title=family.title,
                sql=to_sql(
                    relation,
                    run=self._span.run,
                    names=tuple(column.name for column in family.columns),
                    hints=self._hints,
                ),
                inputs=_inputs(relation),
                output=ArtifactOutput(family=family.id),
                estimated_cost=round(kept.own[0]),
            )
        )
        self._written[operator.index] = family
        self.used[family.id] = family

    def _states(self, kept: Choice) -> Signed:
        operator, view = kept.operator, kept.operator.view
        if view is None:
            raise ValueError("only keyed views have states")
        columns = self._families.layout(operator)
        delta = self.delta(kept.inputs[0])
        signed = operator.inputs[0].signed
        return Signed(view.partial(operator.relation, delta, signed, columns, self._ids))

    def _in_stored_shape(self, rows: Signed, family: Family) -> Relation:
        """The family's columns in order; the weight last and by its own type."""
        if not family.signed:
            if rows.weight is not None:
                raise ValueError(f"family {family.id} is not signed, but its rows are")
            return rows.relation
        explicit = with_weight(rows, self._ids)
        if explicit.weight is None:
            raise ValueError("with_weight made no weight")
        order = (*explicit.columns, explicit.weight)
        return Project(explicit.relation, tuple((c, Ref(c)) for c in order))

    def _read(self, kept: Choice, version: Version) -> Signed:
        """Rows (or states) of the family, under the ids of the operator's columns."""
        operator = kept.operator
        family = self._families.family(operator, kept.key)
        self.used[family.id] = family
        columns = self._families.layout(operator)
        names = tuple(column.name for column in family.columns)
        if not family.signed:
            return Signed(StateRead(family.id, columns, names, version))
        weight = self._ids.weight()
        if names[-1] != WEIGHT_COLUMN:
            raise ValueError(f"family {family.id} has its weight in the wrong place")
        return Signed(StateRead(family.id, (*columns, weight), names, version), weight)

    def stamped(self, kept: Choice) -> Stamped:
        operator = kept.operator
        family = self._families.family(operator, kept.key)
        self.used[family.id] = family
        run = Column(ColumnId(self._ids.next_id()), RUN_COLUMN, INT)
        columns = (*self._families.layout(operator), run)
        names = (*(c.name for c in family.columns if c.name != WEIGHT_COLUMN), RUN_COLUMN)
        return Stamped(StateRead(family.id, columns, names, Version.NEW), run, self._span.run)

    def rows(self, kept: Choice, version: Version) -> Signed:
        """OLD or NEW of an input that a rule needs."""
        if kept.mode is Mode.STATIC:
            return Signed(kept.operator.relation)
        if kept.operator.view is not None:
            states = self._read(kept, version).relation
            return Signed(self._merged(kept, states))
        return self._read(kept, version)

    def _rows_whole(self, kept: Choice) -> Signed:
        if kept.operator.index in self._written:
            return self._read(kept, Version.NEW)
        now = self._computed(kept)
        if self._span.base == 0:
            return now
        before = self._read(kept, Version.OLD)
        return plus((before, now), kept.operator.relation.columns, self._ids)

    def _kept_whole(self, kept: Choice) -> Relation:
        operator = kept.operator
        if operator.index not in self._whole:
            if operator.view is None:
                relation = consolidate(self._rows_whole(kept), self._ids)
            else:
                relation = self._merged(kept, self._states_whole(kept))
            self._whole[operator.index] = relation
        return self._whole[operator.index]

    def _states_whole(self, kept: Choice) -> Relation:
        if kept.operator.index in self._written:
            return self._read(kept, Version.NEW).relation
        now = self._states(kept).relation
        if self._span.base == 0:
            return now
        before = self._read(kept, Version.OLD).relation
        return UnionAll((before, now), self._families.layout(kept.operator))

    def _merged(self, kept: Choice, states: Relation) -> Relation:
        operator, view = kept.operator, kept.operator.view
        if view is None or operator.applies is None:
            raise ValueError("only keyed views are merged")
        given = self._rows_whole(kept.inputs[0]) if operator.applies.needs else None
        signed = operator.inputs[0].signed
        return view.merge(operator.relation, states, signed, given, self._ids)


class _InputVersions:
    """What a rule sees of one input (:class:`planner.rules.incremental.rule.Versions`)."""

    def __init__(self, builder: StageBuilder, choice: Choice) -> None:
        self._builder = builder
        self._choice = choice

    @property
    def changing(self) -> bool:
        return self._choice.operator.changing

    def delta(self) -> Signed:
        return self._builder.delta(self._choice)

    def old(self) -> Signed:
        return self._builder.rows(self._choice, Version.OLD)

    def new(self) -> Signed:
        return self._builder.rows(self._choice, Version.NEW)

    def stamped(self) -> Stamped:
        return self._builder.stamped(self._choice)


def _kept_inputs_first(choice: Choice) -> list[Choice]:
    """All kept outputs, in the order in which they can be written, each once."""
    found: dict[int, Choice] = {}
    stack: list[tuple[Choice, bool]] = [(choice, False)]
    while stack:
        part, ready = stack.pop()
        if not ready:
            stack.append((part, True))
            stack.extend((i, False) for i in reversed(part.inputs))
        elif part.mode is Mode.KEPT:
            found.setdefault(part.operator.index, part)
    return list(found.values())


def _readers(root: Choice, kept: Choice) -> list[Choice]:
    readers = []
    stack = [root]
    while stack:
        part = stack.pop()
        if any(i.operator is kept.operator and i.mode is Mode.KEPT for i in part.inputs):
            readers.append(part)
        stack.extend(part.inputs)
    return readers


def _is_signed_rows(choice: Choice) -> bool:
    operator = choice.operator
    return choice.mode is Mode.KEPT and operator.view is None and operator.signed


def _inputs(relation: Relation) -> tuple[SourceInput | FamilyInput, ...]:
    """What the text of a stage reads, in a fixed order."""
    views: dict[str, SourceInput | FamilyInput] = {}
    for node in walk(relation):
        if isinstance(node, Scan):
            delta = node.version is Version.DELTA
            view = f"{node.source}__delta" if delta else node.source
            views[view] = SourceInput(
                view=view, source=node.source, version="delta" if delta else "snapshot"
            )
        elif isinstance(node, StateRead):
            views[node.family] = FamilyInput(family=node.family)
    return tuple(views[name] for name in sorted(views))
