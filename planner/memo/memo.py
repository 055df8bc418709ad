"""Groups of equal relations, and the time-varying relations that they are versions of.

Time is a parameter, not a copy. The memo describes one generic step, from the last committed run to
this one. A **group** holds expressions that give the same rows: operators whose inputs are
references to groups. There are two kinds of group:

* a *snapshot* is a function of the data at one instant. It can be asked for as of this run or
  (``Reference.before``) as of the last one, by the same expressions, one step earlier;
* a *step* depends on both: a delta, or a part of one.

A **TVR** is a time-varying relation: every snapshot group is the NEW version of one. Edges lead
from the TVR to the groups that are its other versions, by view (Tempura 3.1, 5.1):

* ``rows``, the multiset view: NEW, and DELTA, with signed weights if a row may be taken back;
* ``weighted``, the same before consolidation, where the delta is signed;
* ``states``, the keyed view of an aggregate: partial states that merge.

Roles lead from a TVR to others that it is made of (its positive part, its affected keys, ...).

Expressions, groups, TVRs and edges are deduplicated. Where a rule finds that two groups are equal,
they are merged, with all that follows: their TVRs are one, and so are expressions over them that
differed in nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from planner.algebra.relational import Project, Relation, Version
from planner.algebra.scalar import Ref
from planner.algebra.types import Column
from planner.memo.reference import Between, Reference, Stamped
from planner.props import repeatable
from planner.props.repeatable import Repeats

GroupId = int
ExprId = int
TvrId = int


class View(StrEnum):
    ROWS = "rows"
    WEIGHTED = "weighted"
    STATES = "states"
    LOSSES = "losses"
    """States that count what was taken back, where a function cannot follow."""
    SPLIT = "split"
    """The snapshot from what there was of an input and what came, each by itself."""
    SINGLES = "singles"
    """A delta as states of single rows: not grouped before they are merged with others."""


class Role(StrEnum):
    """What a TVR is of another one."""

    POSITIVE = "QP"
    NEGATIVE = "QN"
    DIRECT = "QD"
    INDIRECT = "QI"
    UNAFFECTED = "QU"
    INDEPENDENT = "M"
    DOMAIN = "DOM"


@dataclass(slots=True, eq=False)
class Expression:
    """An operator over references. ``origin`` is the rule that made it, empty for the query's own.
    ``dropped``: found to be equal to another one when groups were merged."""

    id: ExprId
    node: Relation
    group: GroupId
    origin: str
    dropped: bool = False

    @property
    def inputs(self) -> tuple[Reference, ...]:
        return tuple(i for i in self.node.inputs if isinstance(i, Reference))


@dataclass(slots=True, eq=False)
class Group:
    """``step``: it depends on the step, not on one instant alone."""

    id: GroupId
    columns: tuple[Column, ...]
    step: bool
    expressions: list[ExprId] = field(default_factory=list)
    parents: list[ExprId] = field(default_factory=list)
    tvr: TvrId | None = None
    merged_into: GroupId | None = None


@dataclass(slots=True, eq=False)
class Tvr:
    """``changing``: it reads a source that grows. ``weight``: the column of its signed delta; None
    if it takes nothing back, or has no delta (yet). ``roles``: what others are of it, some only
    with a view to the update of one relation. ``repeats``: whether it is the same where it is
    computed again."""

    id: TvrId
    new: GroupId
    changing: bool
    repeats: Repeats = Repeats.ALWAYS
    weight: Column | None = None
    edges: dict[tuple[Version, View], GroupId] = field(default_factory=dict)
    roles: dict[tuple[Role, TvrId | None], tuple[TvrId, ...]] = field(default_factory=dict)

    @property
    def has_delta(self) -> bool:
        return (Version.DELTA, View.ROWS) in self.edges


class Memo:
    """``changing``: names of the sources that grow; ``retracting``: of those among them whose
    deliveries take rows back. ``keys``: what authors declare to be unique, by source; not checked.
    """

    def __init__(
        self,
        changing: frozenset[str],
        retracting: frozenset[str] = frozenset(),
        keys: Mapping[str, tuple[tuple[str, ...], ...]] | None = None,
    ) -> None:
        self.changing = changing
        self.retracting = retracting
        self.keys = keys or {}
        self.groups: list[Group] = []
        self.expressions: list[Expression] = []
        self.tvrs: list[Tvr] = []
        self._interned: dict[Relation, ExprId] = {}
        self._references: dict[tuple[GroupId, bool], Reference] = {}
        self._new_expressions: list[ExprId] = []
        self._new_edges: list[tuple[TvrId, Version | Role]] = []

    # -- reading ------------------------------------------------------------------------------

    def leader(self, group: GroupId) -> GroupId:
        """The group that this one has become part of; mostly itself."""
        while True:
            into = self.groups[group].merged_into
            if into is None:
                return group
            group = into

    def group(self, group: GroupId) -> Group:
        return self.groups[self.leader(group)]

    def alternatives(self, group: GroupId) -> Iterator[Expression]:
        """The expressions of a group, in the order in which they were found."""
        for number in self.group(group).expressions:
            if not self.expressions[number].dropped:
                yield self.expressions[number]

    def tvr_of(self, group: GroupId) -> Tvr | None:
        tvr = self.group(group).tvr
        return None if tvr is None else self.tvrs[tvr]

    def reference(self, group: GroupId, *, before: bool = False) -> Reference:
        leader = self.leader(group)
        known = self._references.get((leader, before))
        if known is None:
            known = Reference(leader, self.groups[leader].columns, before)
            self._references[leader, before] = known
        return known

    def live_groups(self) -> Iterator[Group]:
        return (group for group in self.groups if group.merged_into is None)

    # -- writing ------------------------------------------------------------------------------

    def add(self, relation: Relation, origin: str = "", *, part: bool = False) -> GroupId:
        """The group of a tree whose leaves are sources, values or references. ``part``: it is made
        by a delta rule as a part of something, and its own changes are of no interest."""
        if isinstance(relation, Reference):
            if relation.before:
                raise ValueError("OLD is not a group of its own")
            return self.leader(relation.group)
        node = self._over_references(relation, origin, part)
        known = self._interned.get(node)
        if known is None:
            group = self._new_group(node)
            self._new_expression(node, group, origin)
        else:
            group = self.group(self.expressions[known].group)
        if not part and not group.step and group.tvr is None:
            tvr = Tvr(len(self.tvrs), group.id, self._is_changing(node), self._repeats(node))
            tvr.edges[Version.NEW, View.ROWS] = group.id
            group.tvr = tvr.id
            self.tvrs.append(tvr)
        return group.id

    def equate(
        self, group: GroupId, relation: Relation, origin: str, *, part: bool = False
    ) -> None:
        """Say that the tree gives the rows of the group. Its columns must be the group's."""
        target = self.group(group)
        if {c.id for c in relation.columns} != {c.id for c in target.columns}:
            raise ValueError(f"{origin}: the columns are not those of group {target.id}")
        if relation.columns != target.columns:
            relation = Project(relation, tuple((c, Ref(c)) for c in target.columns))
        if isinstance(relation, Reference):
            self._merge(target.id, self.leader(relation.group))
            return
        node = self._over_references(relation, origin, part)
        known = self._interned.get(node)
        if known is None:
            self._new_expression(node, self.group(target.id), origin)
        else:
            self._merge(self.leader(target.id), self.leader(self.expressions[known].group))

    def link(self, tvr: Tvr, version: Version, view: View, relation: Relation, origin: str) -> None:
        """Say that the tree is a version of the TVR. One that is there gets an alternative."""
        known = tvr.edges.get((version, view))
        if known is not None:
            self.equate(known, relation, origin, part=True)
            return
        tvr.edges[version, view] = self.add(relation, origin, part=True)
        self._new_edges.append((tvr.id, version))

    def relate(self, tvr: Tvr, role: Role, other: TvrId, updated: TvrId | None = None) -> None:
        """Say what another TVR is of this one, perhaps where only ``updated`` is updated."""
        known = tvr.roles.get((role, updated), ())
        if other not in known:
            tvr.roles[role, updated] = (*known, other)
            self._new_edges.append((tvr.id, role))

    def take_new_expressions(self) -> list[Expression]:
        """Expressions since the last call."""
        taken, self._new_expressions = self._new_expressions, []
        return [self.expressions[number] for number in taken]

    def take_new_edges(self) -> list[tuple[Tvr, Version | Role]]:
        """Edges since the last call."""
        taken, self._new_edges = self._new_edges, []
        return [(self.tvrs[tvr], kind) for tvr, kind in taken]

    # -- inside -------------------------------------------------------------------------------

    def _over_references(self, relation: Relation, origin: str, part: bool) -> Relation:
        given = relation.inputs
        inputs = tuple(self._as_input(child, origin, part) for child in given)
        if all(one is other for one, other in zip(inputs, given, strict=True)):
            return relation
        return relation.with_inputs(inputs)

    def _as_input(self, child: Relation, origin: str, part: bool) -> Relation:
        if isinstance(child, Reference):
            leader = self.leader(child.group)
            if leader == child.group:
                return child
            return Reference(leader, child.given, child.before)
        return self.reference(self.add(child, origin, part=part))

    def _is_step(self, node: Relation) -> bool:
        if isinstance(node, Stamped | Between) or getattr(node, "version", None) is Version.DELTA:
            return True
        return any(
            isinstance(i, Reference) and (i.before or self.group(i.group).step)
            for i in node.inputs
        )  # fmt: skip

    def _is_changing(self, node: Relation) -> bool:
        source = getattr(node, "source", None)
        if source is not None:
            return source in self.changing
        below = (self.tvr_of(i.group) for i in node.inputs if isinstance(i, Reference))
        return any(tvr is not None and tvr.changing for tvr in below)

    def _repeats(self, node: Relation) -> Repeats:
        given = [i for i in node.inputs if isinstance(i, Reference)]
        below = [tvr.repeats for i in given if (tvr := self.tvr_of(i.group)) is not None]
        return repeatable.of_node(
            node, below, [next(self.alternatives(i.group)).node for i in given]
        )

    def _new_group(self, node: Relation) -> Group:
        group = Group(len(self.groups), node.columns, self._is_step(node))
        self.groups.append(group)
        return group

    def _new_expression(self, node: Relation, group: Group, origin: str) -> None:
        expression = Expression(len(self.expressions), node, group.id, origin)
        self.expressions.append(expression)
        self._interned[node] = expression.id
        group.expressions.append(expression.id)
        for given in expression.inputs:
            self.group(given.group).parents.append(expression.id)
        self._new_expressions.append(expression.id)

    def _merge(self, one: GroupId, other: GroupId) -> None:
        """Two groups are equal: the older one takes in the younger one, and so do their parents."""
        waiting = [(one, other)]
        while waiting:
            pair = {self.leader(g) for g in waiting.pop()}
            if len(pair) < 2:
                continue
            kept, gone = self.groups[min(pair)], self.groups[max(pair)]
            if kept.step != gone.step:
                raise ValueError(f"groups {kept.id} and {gone.id} are of different kinds")
            gone.merged_into = kept.id
            for number in gone.expressions:
                self.expressions[number].group = kept.id
            kept.expressions.extend(gone.expressions)
            waiting.extend(self._merge_tvrs(kept, gone))
            for number in gone.parents:
                waiting.extend(self._readdress(self.expressions[number], gone.id, kept))
            kept.parents.extend(gone.parents)

    def _merge_tvrs(self, kept: Group, gone: Group) -> Iterator[tuple[GroupId, GroupId]]:
        if kept.tvr is None or gone.tvr is None or kept.tvr == gone.tvr:
            return
        into, out = self.tvrs[kept.tvr], self.tvrs[gone.tvr]
        into.weight = into.weight if into.weight is not None else out.weight
        for edge, group in out.edges.items():
            if edge not in into.edges:
                into.edges[edge] = group
                self._new_edges.append((into.id, edge[0]))
            elif edge[0] is Version.NEW and edge[1] is View.ROWS:
                yield into.edges[edge], group
        for role, others in out.roles.items():
            known = into.roles.get(role, ())
            into.roles[role] = (*known, *(other for other in others if other not in known))

    def _readdress(
        self, parent: Expression, gone: GroupId, kept: Group
    ) -> Iterator[tuple[GroupId, GroupId]]:
        """The parent reads the merged group; if it is another one then, so are their groups."""
        if parent.dropped:
            return
        inputs = tuple(
            Reference(kept.id, kept.columns, i.before)
            if isinstance(i, Reference) and i.group == gone
            else i
            for i in parent.node.inputs
        )
        if self._interned.get(parent.node) == parent.id:
            del self._interned[parent.node]
        parent.node = parent.node.with_inputs(inputs)
        twin = self._interned.get(parent.node)
        if twin is None:
            self._interned[parent.node] = parent.id
        elif twin != parent.id:
            parent.dropped = True
            yield self.leader(self.expressions[twin].group), self.leader(parent.group)
