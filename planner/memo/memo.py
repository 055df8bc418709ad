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

from collections.abc import Container, Iterator, Mapping

from forerun.planner.algebra.relational import Project, Relation, Version
from forerun.planner.algebra.scalar import Ref
from forerun.planner.algebra.types import ColumnId
from forerun.planner.contract.plan_v1 import ReliedForeignKey
from forerun.planner.memo.groups import (
    Edge,
    Expression,
    ExprId,
    Group,
    GroupId,
    Role,
    Tvr,
    TvrId,
    View,
)
from forerun.planner.memo.reference import Reference, StepLeaf
from forerun.planner.props import repeatable
from forerun.planner.props.repeatable import Repeated


class Memo:
    """Groups, expressions and TVRs of one query, deduplicated.

    ``changing`` names the sources that grow, ``retracting`` those of them whose deliveries take
    rows back. ``keys`` (by source) and ``foreign_keys`` are what authors declare; the memo does not
    check them. ``repairable``: states are kept in the form from which rows can be taken back, where
    there is one, whether deliveries do so or not. ``in_order``: columns in whose order the rows of
    their sources are declared to come.
    """

    def __init__(
        self,
        changing: frozenset[str],
        retracting: frozenset[str] = frozenset(),
        keys: Mapping[str, tuple[tuple[str, ...], ...]] | None = None,
        foreign_keys: tuple[ReliedForeignKey, ...] = (),
        *,
        repairable: bool = False,
        in_order: frozenset[ColumnId] = frozenset(),
    ) -> None:
        self.repairable = repairable
        self.in_order = in_order
        self.changing = changing
        self.retracting = retracting
        self.keys = keys or {}
        self.foreign_keys = foreign_keys
        self.groups: list[Group] = []
        self.expressions: list[Expression] = []
        self.tvrs: list[Tvr] = []
        self._interned: dict[Relation, ExprId] = {}
        self._references: dict[tuple[GroupId, bool], Reference] = {}
        self._new_expressions: list[ExprId] = []
        self._new_edges: list[tuple[TvrId, Edge]] = []

    # -- reading ------------------------------------------------------------------------------

    def leader(self, group: GroupId) -> GroupId:
        """Return the live group that a group was merged into, or the group itself."""
        return self.group(group).id

    def group(self, group: GroupId) -> Group:
        """Return the live group of an id."""
        found = self.groups[group]
        while found.merged_into is not None:
            found = self.groups[found.merged_into]
        return found

    def alternatives(self, group: GroupId) -> Iterator[Expression]:
        """Iterate over the live expressions of a group, in the order they were found."""
        for number in self.group(group).expressions:
            if not self.expressions[number].dropped:
                yield self.expressions[number]

    def tvr_of(self, group: GroupId) -> Tvr | None:
        """Return the TVR whose NEW version a group is; None for deltas and other parts."""
        tvr = self.group(group).tvr
        return None if tvr is None else self.tvrs[tvr]

    def parts(self, tvr: Tvr, roles: Container[Role]) -> dict[GroupId, Role]:
        """Return the snapshots that have one of the roles in a TVR for any update, by group."""
        return {
            self.leader(self.tvrs[other].new): role
            for (role, updated), others in tvr.roles.items()
            if updated is None and role in roles
            for other in others
        }

    def find(self, node: Relation) -> GroupId | None:
        """Return the group that holds an operator whose inputs are references, None if no group
        does. For readers of a memo: nothing is added."""
        inputs = []
        for given in node.inputs:
            if not isinstance(given, Reference):
                raise TypeError(f"{given} is no reference")
            inputs.append(self._led(given))
        known = self._interned.get(node.with_inputs(tuple(inputs)) if inputs else node)
        return None if known is None else self.leader(self.expressions[known].group)

    def reference(self, group: GroupId, *, before: bool = False) -> Reference:
        """Return a reference to a group as of this run, or as of the last one (``before``)."""
        leader = self.leader(group)
        known = self._references.get((leader, before))
        if known is None:
            known = Reference(leader, self.groups[leader].columns, before)
            self._references[leader, before] = known
        return known

    def live_groups(self) -> Iterator[Group]:
        """Iterate over the groups that were not merged into another one."""
        return (group for group in self.groups if group.merged_into is None)

    # -- writing ------------------------------------------------------------------------------

    def add(self, relation: Relation, origin: str = "", *, part: bool = False) -> GroupId:
        """Add a tree whose leaves are sources, values or references, and return its group.

        With ``part`` new groups get no TVR: a delta rule made them as parts of something else, so
        no deltas of theirs are looked for. Raises ValueError for a reference to OLD."""
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
            tvr = Tvr(len(self.tvrs), group.id, self._is_changing(node), self._repeated(node))
            tvr.edges[Version.NEW, View.ROWS] = group.id
            group.tvr = tvr.id
            self.tvrs.append(tvr)
        return group.id

    def equate(
        self, group: GroupId, relation: Relation, origin: str, *, part: bool = False
    ) -> None:
        """Record that a tree gives the rows of a group: add it as an alternative, or merge groups.

        The tree must have the columns of the group, in any order; ValueError otherwise."""
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
        """Record that a tree is a version of a TVR; if the version exists, as an alternative."""
        known = tvr.edges.get((version, view))
        if known is not None:
            self.equate(known, relation, origin, part=True)
            return
        tvr.edges[version, view] = self.add(relation, origin, part=True)
        self._new_edges.append((tvr.id, (version, view)))

    def relate(self, tvr: Tvr, role: Role, other: TvrId, updated: TvrId | None = None) -> None:
        """Record the role of another TVR in this one, for updates of ``updated`` alone if given."""
        known = tvr.roles.get((role, updated), ())
        if other not in known:
            tvr.roles[role, updated] = (*known, other)
            self._new_edges.append((tvr.id, role))

    def take_new_expressions(self) -> list[Expression]:
        """Return the expressions that were added since the last call, and those that a merge of
        groups gave other neighbours."""
        taken, self._new_expressions = self._new_expressions, []
        return [self.expressions[number] for number in taken]

    def take_new_edges(self) -> list[tuple[Tvr, Edge]]:
        """Return the edges of TVRs that were added since the last call."""
        taken, self._new_edges = self._new_edges, []
        return [(self.tvrs[tvr], edge) for tvr, edge in taken]

    # -- inside -------------------------------------------------------------------------------

    def _over_references(self, relation: Relation, origin: str, part: bool) -> Relation:
        given = relation.inputs
        inputs = tuple(self._as_input(child, origin, part) for child in given)
        if all(one is other for one, other in zip(inputs, given, strict=True)):
            return relation
        return relation.with_inputs(inputs)

    def _as_input(self, child: Relation, origin: str, part: bool) -> Relation:
        if isinstance(child, Reference):
            return self._led(child)
        return self.reference(self.add(child, origin, part=part))

    def _led(self, given: Reference) -> Reference:
        """Return the reference, redirected to the live group if its group was merged away."""
        leader = self.leader(given.group)
        return given if leader == given.group else Reference(leader, given.given, given.before)

    def _is_step(self, node: Relation) -> bool:
        if isinstance(node, StepLeaf) or getattr(node, "version", None) is Version.DELTA:
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

    def _repeated(self, node: Relation) -> Repeated:
        given = [i for i in node.inputs if isinstance(i, Reference)]
        below = [tvr.repeated for i in given if (tvr := self.tvr_of(i.group)) is not None]
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
        """Merge two equal groups into the older one, and then all parents that became equal."""
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
            self._new_expressions += (*kept.expressions, *kept.parents)

    def _merge_tvrs(self, kept: Group, gone: Group) -> Iterator[tuple[GroupId, GroupId]]:
        if kept.tvr is None or gone.tvr is None or kept.tvr == gone.tvr:
            return
        into, out = self.tvrs[kept.tvr], self.tvrs[gone.tvr]
        if not into.has_delta:
            into.weight = out.weight  # the weight is a column of the delta that is taken over below
        for edge, group in out.edges.items():
            if edge[1] is View.WEIGHTED and into.weight != out.weight:
                continue  # it has the weight of a delta that is not taken over
            if edge not in into.edges:
                into.edges[edge] = group
                self._new_edges.append((into.id, edge))
            elif edge[0] is Version.NEW and edge[1] is View.ROWS:
                yield into.edges[edge], group
        for role, others in out.roles.items():
            known = into.roles.get(role, ())
            into.roles[role] = (*known, *(other for other in others if other not in known))
            self._new_edges.append((into.id, role[0]))

    def _readdress(
        self, parent: Expression, gone: GroupId, kept: Group
    ) -> Iterator[tuple[GroupId, GroupId]]:
        """Let a parent read the merged group. If that makes it a duplicate of another expression,
        drop it and yield the two groups, which are now known to be equal."""
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
        parent.readdress(inputs)
        twin = self._interned.get(parent.node)
        if twin is None:
            self._interned[parent.node] = parent.id
        elif twin != parent.id:
            parent.dropped = True
            yield self.leader(self.expressions[twin].group), self.leader(parent.group)
